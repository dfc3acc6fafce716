//! WGSL in, a validated module out. The front end proper is naga's; around it stand bounds before anything recursive (`scan`), repairs of what it
//! folds wrongly or refuses although the language allows it (`fold`, `lets`, `parts`, `attributes`, `swizzles`, `wide`), and the search for everything else that is wrong once
//! something is (`recover`).

mod attributes;
mod cut;
mod fold;
mod invalid;
mod lets;
mod messages;
pub(crate) mod overrides;
mod parts;
mod recover;
mod suggest;
mod swizzles;
mod wide;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use naga::front::wgsl::ParseError;
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{Expression, Literal};

use crate::diagnostics::{self, Diagnostics, Finding};
use crate::edits::Edited;
use crate::entry::Values;
use crate::parse::{self, Origin, Parsed};
use crate::print::{self, Rewritten};
use crate::scan::{self, Scanned};
use crate::text::Text;
use crate::{bitcast, limits, pointers, reflect, subgroups, support};

pub(crate) use fold::count;
pub(crate) use invalid::type_text;

/// Parses and validates WGSL. Call on a large stack.
pub(crate) fn parse(source: Text) -> Result<Parsed, Diagnostics> {
    let mut text = Edited::new(source);
    let prints = print::rewrite(text.as_str()).map_err(|findings| parse::refuse(&text, findings))?;
    text.apply(prints.edits.clone());
    let findings = scan::check(text.as_str());
    if !findings.is_empty() {
        return Err(parse::refuse(&text, findings));
    }
    let (edits, wrong) = swizzles::check(&Scanned::new(text.as_str()), text.as_str());
    let mut findings = text.written_findings(wrong);
    if !edits.is_empty() {
        text.apply(edits);
        let over = scan::check(text.as_str());
        if !over.is_empty() {
            return Err(parse::refuse(&text, over));
        }
    }
    let scanned = Scanned::new(text.as_str());
    let (mut edits, wrong) = fold::check(&scanned);
    findings.extend(text.written_findings(wrong));
    edits.extend(attributes::check(&scanned));
    text.apply(edits);
    let mut found = if findings.is_empty() { whole(&mut text, &prints) } else { None };
    let casts = if found.is_none() { bitcast::edits(&Scanned::new(text.as_str())) } else { Vec::new() };
    if !casts.is_empty() {
        text.apply(casts);
        found = if findings.is_empty() { whole(&mut text, &prints) } else { None };
    }
    if let Some((Read { module, wide, .. }, info)) = found {
        let overrides = reflect::overrides(wide.as_deref().unwrap_or(&module));
        return Ok(Parsed {
            text: Arc::new(text),
            module,
            wide,
            info,
            overrides,
            origin: Origin::Wgsl,
            // The language has no word for it.
            precise: false,
            prints: prints.prints,
            print_prefix: prints.prefix,
        });
    }
    if findings.is_empty() {
        return Err(recover::everything(text, findings, &prints));
    }
    // The front end fails over some of what was just refused, as infinite halves: then that is all there is to tell.
    let more = catch_unwind(AssertUnwindSafe(|| recover::everything(text.clone(), findings.clone(), &prints)));
    Err(more.unwrap_or_else(|_| diagnostics::refuse(text.written(), findings)))
}

/// The module of a source without mistakes.
fn whole(text: &mut Edited, prints: &Rewritten) -> Option<(Read, ModuleInfo)> {
    let mut made = read(text.as_str()).ok()?;
    if !(made.findings.is_empty() && refused(&made.module, text.as_str(), prints).is_empty()) {
        return None;
    }
    let mut info = valid(&mut made.module).ok();
    if info.is_none() {
        let edits = lets::check(&made.module, text.as_str());
        if !edits.is_empty() {
            text.apply(edits);
            made = read(text.as_str()).ok()?;
            info = valid(&mut made.module).ok();
        }
    }
    let info = info.filter(|info| !bitcast::differ(&made.module, info, text.as_str()))?;
    if limits::check(&made.module, &info).is_empty() { Some((made, info)) } else { None }
}

/// What the front end proper makes of a text.
struct Read {
    module: naga::Module,
    /// What is wrong in it that the validator does not look for.
    findings: Vec<Finding>,
    /// The module with its override constants of 64 bits, which the other one hides.
    wide: Option<Box<naga::Module>>,
}

/// Reads a text. Every byte keeps its place.
fn read(text: &str) -> Result<Read, ParseError> {
    let mut module = naga::front::wgsl::parse_str(&subgroups::prepare(text))?;
    let mut findings = bitcast::resolve(&mut module);
    findings.extend(subgroups::normalise(&mut module));
    parts::hide(&mut module);
    findings.extend(pointers::check(&module));
    findings.extend(pointers::aliases::check(&module));
    let wide = wide::any(&module).then(|| Box::new(module.clone()));
    if wide.is_some() {
        wide::hide(&mut module);
    }
    Ok(Read { module, findings, wide })
}

/// A module with values for its override constants of 64 bits, where it has some. The error is the key of one that needs a value.
pub(crate) fn settled(parsed: &Parsed, values: &Values) -> Result<Option<naga::Module>, String> {
    let Some(wide) = &parsed.wide else { return Ok(None) };
    let mut module = naga::Module::clone(wide);
    wide::settle(&mut module, values)?;
    // The copy that was validated went through the same.
    Ok(pointers::resolve(&mut module).ok().map(|()| module))
}

/// Makes a module one that devices take, and validates it.
fn valid(module: &mut naga::Module) -> Result<ModuleInfo, Vec<Finding>> {
    pointers::resolve(module)?;
    parse::validator().validate(module).map_err(|error| vec![invalid::finding(module, &error)])
}

/// What is wrong with a module before it is validated.
fn refused(module: &naga::Module, text: &str, prints: &Rewritten) -> Vec<Finding> {
    let mut findings = support::check(module, text);
    findings.extend(print::check(module, prints));
    findings.extend(infinite_halves(module));
    findings
}

/// Whole numbers that have become halves and are too large for it, outside of what `fold` looks at: neither the front end nor the validator looks.
fn infinite_halves(module: &naga::Module) -> Vec<Finding> {
    let functions = module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
    let expressions = functions.map(|f| &f.expressions).chain([&module.global_expressions]);
    let wrong = |(handle, expression): (_, &Expression)| match *expression {
        Expression::Literal(Literal::F16(x)) if !x.is_finite() => Some(handle),
        _ => None,
    };
    let message = "this number is not a value of f16, which holds at most 65504";
    let all = expressions.flat_map(|arena| arena.iter().filter_map(wrong).map(|handle| arena.get_span(handle)));
    let mut findings: Vec<Finding> = all.map(|span| Finding::span(message, span)).collect();
    findings.dedup_by(|a, b| a.at == b.at);
    findings
}

/// What is over a bound in a valid module, or the first thing that the validator finds. What is not supported was told already: then it is valid here.
fn judge(module: &naga::Module, unsupported: bool) -> Result<Vec<Finding>, Box<naga::WithSpan<ValidationError>>> {
    let mut validator =
        if unsupported { Validator::new(ValidationFlags::all(), Capabilities::all()) } else { parse::validator() };
    if !support::can_be_validated(module) {
        return Ok(Vec::new());
    }
    match validator.validate(module) {
        Ok(info) => Ok(limits::check(module, &info)),
        Err(error) => Err(Box::new(error)),
    }
}

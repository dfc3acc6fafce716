//! WGSL in, a validated module out. The front end proper is naga's; around it stand bounds before anything recursive (`scan`), repairs of what it
//! folds wrongly or refuses although the language allows it (`fold`, `lets`, `parts`, `attributes`), and the search for everything else that is wrong once
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

use std::sync::Arc;

use naga::front::wgsl::ParseError;
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};

use crate::diagnostics::{Diagnostics, Finding};
use crate::edits::Edited;
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
    let scanned = Scanned::new(text.as_str());
    let (mut edits, findings) = fold::check(&scanned);
    edits.extend(attributes::check(&scanned));
    text.apply(edits);
    let mut found = if findings.is_empty() { whole(&mut text, &prints) } else { None };
    let casts = if found.is_none() { bitcast::edits(&Scanned::new(text.as_str())) } else { Vec::new() };
    if !casts.is_empty() {
        text.apply(casts);
        found = if findings.is_empty() { whole(&mut text, &prints) } else { None };
    }
    if let Some((module, info)) = found {
        let overrides = reflect::overrides(&module);
        return Ok(Parsed {
            text: Arc::new(text),
            module,
            info,
            overrides,
            origin: Origin::Wgsl,
            prints: prints.prints,
            print_prefix: prints.prefix,
        });
    }
    let findings = findings.into_iter().map(|f| f.moved(|range| text.edited(range))).collect();
    Err(recover::everything(text, findings, &prints))
}

/// The module of a source without mistakes.
fn whole(text: &mut Edited, prints: &Rewritten) -> Option<(naga::Module, ModuleInfo)> {
    let (mut module, findings) = read(text.as_str()).ok()?;
    if !(findings.is_empty() && refused(&module, text.as_str(), prints).is_empty()) {
        return None;
    }
    let mut info = valid(&mut module).ok();
    if info.is_none() {
        let edits = lets::check(&module, text.as_str());
        if !edits.is_empty() {
            text.apply(edits);
            module = read(text.as_str()).ok()?.0;
            info = valid(&mut module).ok();
        }
    }
    let info = info.filter(|info| !bitcast::differ(&module, info, text.as_str()))?;
    if limits::check(&module, &info).is_empty() { Some((module, info)) } else { None }
}

/// What the front end proper makes of a text, and what is wrong in it that the validator does not look for. Every byte keeps its place.
fn read(text: &str) -> Result<(naga::Module, Vec<Finding>), ParseError> {
    let mut module = naga::front::wgsl::parse_str(&subgroups::prepare(text))?;
    let mut findings = bitcast::resolve(&mut module);
    findings.extend(subgroups::normalise(&mut module));
    parts::hide(&mut module);
    findings.extend(pointers::check(&module));
    Ok((module, findings))
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

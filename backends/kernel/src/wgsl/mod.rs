//! WGSL in, a validated module out. The front end proper is naga's; around it stand bounds before anything recursive (`scan`), repairs of what it
//! folds wrongly or refuses although the language allows it (`fold`, `lets`, `attributes`), and the search for everything else that is wrong once
//! something is (`recover`).

mod attributes;
mod cut;
mod fold;
mod invalid;
mod lets;
mod messages;
pub(crate) mod overrides;
mod recover;
mod suggest;

use std::sync::Arc;

use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};

use crate::diagnostics::{Diagnostics, Finding};
use crate::edits::{Edit, Edited};
use crate::parse::{self, Parsed};
use crate::scan::{self, Scanned};
use crate::{limits, support};

pub(crate) use fold::count;

/// Parses and validates WGSL. Call on a large stack.
pub(crate) fn parse(source: &str) -> Result<Parsed, Diagnostics> {
    let mut text = Edited::new(source);
    if source.starts_with('\u{feff}') {
        text.apply(vec![Edit::new(0..'\u{feff}'.len_utf8(), "")]);
    }
    let findings = scan::check(text.as_str());
    if !findings.is_empty() {
        return Err(parse::refuse(&text, findings));
    }
    let scanned = Scanned::new(text.as_str());
    let (mut edits, findings) = fold::check(&scanned);
    edits.extend(attributes::check(&scanned));
    text.apply(edits);
    if findings.is_empty()
        && let Some((module, info)) = whole(&mut text)
    {
        return Ok(Parsed { text: Arc::new(text), module, info });
    }
    let findings = findings.into_iter().map(|f| f.moved(|range| text.edited(range))).collect();
    Err(recover::everything(text, findings))
}

/// The module of a source without mistakes.
fn whole(text: &mut Edited) -> Option<(naga::Module, ModuleInfo)> {
    let mut module = naga::front::wgsl::parse_str(text.as_str()).ok()?;
    if !support::check(&module, text.as_str()).is_empty() {
        return None;
    }
    let mut info = parse::validator().validate(&module);
    if info.is_err() {
        let edits = lets::check(&module, text.as_str());
        if !edits.is_empty() {
            text.apply(edits);
            module = naga::front::wgsl::parse_str(text.as_str()).ok()?;
            info = parse::validator().validate(&module);
        }
    }
    let info = info.ok()?;
    if limits::check(&module, &info).is_empty() { Some((module, info)) } else { None }
}

/// What is over a bound in a valid module, or the first thing that the validator finds. What is not supported was told already: then it is valid here.
fn judge(module: &naga::Module, unsupported: bool) -> Result<Vec<Finding>, Box<naga::WithSpan<ValidationError>>> {
    let mut validator =
        if unsupported { Validator::new(ValidationFlags::all(), Capabilities::all()) } else { parse::validator() };
    match validator.validate(module) {
        Ok(info) => Ok(limits::check(module, &info)),
        Err(error) => Err(Box::new(error)),
    }
}

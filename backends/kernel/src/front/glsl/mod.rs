//! GLSL 4.50 and 4.60 for Vulkan, compute only: preprocessor, parser, and translation to IR, all of our own.
//!
//! naga's front end for GLSL evaluates what must not be evaluated, evaluates other things twice, lays out `std140` wrongly and knows no atomics, and its
//! preprocessor has no bounds. Repairing all that from outside would be more than this is.
//!
//! Specialization constants are replaced by their values when an entry point is made: the translation from the tree is repeated with them.

pub(crate) mod arithmetic;
mod ast;
mod condition;
mod extensions;
mod lexer;
mod lower;
mod macros;
mod parser;
mod part;
mod preprocess;
mod types;
mod words;
mod wrong;

pub(crate) use lexer::At;
pub(crate) use lower::prints::PREFIX;
pub(crate) use lower::{Output, Specialization};
pub(crate) use preprocess::{Preprocessed, run as preprocess};

use crate::diagnostics::{Diagnostics, Finding};
use crate::{parse, subgroups, uniformity};

/// Translates a source with values for its specialization constants. Call on a large stack.
pub(crate) fn translate(source: &Preprocessed, values: &Specialization) -> Result<Output, Diagnostics> {
    let unit = parser::unit(source);
    let mut findings = source.findings.clone();
    findings.extend(unit.findings.clone());
    let (mut made, wrong) = lower::lower(&unit, source, values);
    findings.extend(wrong);
    if findings.is_empty() {
        return Ok(made);
    }
    findings.extend(barriers(&mut made.module, source));
    Err(crate::diagnostics::refuse(&source.text, findings))
}

/// Barriers that only a part of a workgroup reaches, in a source that is refused for other reasons: as far as what is left of it makes sense.
fn barriers(module: &mut naga::Module, source: &Preprocessed) -> Vec<Finding> {
    subgroups::normalise(module);
    if parse::validator().validate(module).is_err() {
        return Vec::new();
    }
    uniformity::check(module, 0, source.text.len())
}

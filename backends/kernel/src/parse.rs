//! Source text in, validated IR out, whatever the bytes. Everything that may recurse or panic runs on a thread of its own with a large stack, which
//! is gone before the call returns.

use std::any::Any;
use std::error::Error as _;
use std::sync::Arc;
use std::thread;

use naga::valid::{ModuleInfo, ValidationError, ValidationFlags, Validator};

use crate::diagnostics::{self, Diagnostics, Finding};
use crate::print::{self, Dialect};
use crate::{limits, scan, support};

/// Address space only: pages that are not touched cost nothing. The bounds of `scan` keep the deepest recursion far below it.
const STACK: usize = 128 << 20;

/// A validated module, overrides still open.
pub(crate) struct Parsed {
    pub(crate) source: Arc<str>,
    pub(crate) module: naga::Module,
    pub(crate) info: ModuleInfo,
    /// See [`crate::EntryPoint`].
    pub(crate) prints: Arc<[crate::lower::Print]>,
    pub(crate) print_prefix: Option<Arc<str>>,
}

/// Runs `work` with a stack that is large enough whatever the caller's is. A panic in it is an internal failure, not a crash.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Diagnostics> + Send) -> Result<T, Diagnostics> {
    let spawned = thread::scope(|scope| {
        let builder = thread::Builder::new().name("compute-parse".into()).stack_size(STACK);
        builder.spawn_scoped(scope, work).map(thread::ScopedJoinHandle::join)
    });
    match spawned {
        Ok(Ok(answer)) => answer,
        Ok(Err(payload)) => Err(diagnostics::internal(format!("the kernel front end failed: {}", panic_text(payload.as_ref())))),
        Err(error) => Err(diagnostics::internal(format!("no thread for the kernel front end could be started: {error}"))),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("for no known reason")
}

/// Parses and validates WGSL. Call on a large stack.
pub(crate) fn wgsl(source: &str) -> Result<Parsed, Diagnostics> {
    let rewritten = print::rewrite(source, Dialect::Wgsl).map_err(|findings| diagnostics::refuse(source, findings))?;
    let text = rewritten.text.as_str();
    let refuse = |mut findings: Vec<Finding>| {
        for finding in &mut findings {
            finding.at = finding.at.take().map(|at| rewritten.original(at));
        }
        Err(diagnostics::refuse(source, findings))
    };
    let findings = scan::check(text);
    if !findings.is_empty() {
        return refuse(findings);
    }
    let module = match naga::front::wgsl::parse_str(text) {
        Ok(module) => module,
        Err(error) => return refuse(vec![parse_error(text, &error)]),
    };
    let mut findings = support::check(&module, text);
    findings.extend(print::check(&module, &rewritten, Dialect::Wgsl));
    if !findings.is_empty() {
        return refuse(findings);
    }
    let info = match validator().validate(&module) {
        Ok(info) => info,
        Err(error) => return refuse(vec![validation_error(&error)]),
    };
    let findings = limits::check(&module, &info);
    if !findings.is_empty() {
        return refuse(findings);
    }
    Ok(Parsed { source: source.into(), module, info, prints: rewritten.prints, print_prefix: rewritten.prefix })
}

pub(crate) fn validator() -> Validator {
    Validator::new(ValidationFlags::all(), support::CAPABILITIES)
}

fn parse_error(source: &str, error: &naga::front::wgsl::ParseError) -> Finding {
    let mut labels = error.labels();
    let (span, label) = labels.next().unwrap_or_default();
    let word = span.to_range().and_then(|r| source.get(r)).unwrap_or_default().trim();
    if let Some(construct) = support::unsupported_word(word) {
        return Finding::span(support::not_supported(construct), span).note(error.message());
    }
    let mut finding = Finding::span(plain(error.message()), span).label(label);
    for (span, label) in labels {
        if let Some(range) = span.to_range() {
            let place = diagnostics::location(source, range.start);
            finding = finding.note(format!("line {}, column {}: {label}", place.line, place.column));
        }
    }
    error.notes().fold(finding, Finding::note)
}

/// The innermost cause is the message; what it happened in follows. Of the places the narrowest is the closest to it.
pub(crate) fn validation_error(error: &naga::WithSpan<ValidationError>) -> Finding {
    let mut causes = vec![plain(&error.as_inner().to_string())];
    let mut cause = error.as_inner().source();
    while let Some(next) = cause {
        causes.push(plain(&next.to_string()));
        cause = next.source();
    }
    let narrowest = error.spans().filter_map(|(span, text)| Some((span.to_range()?, text))).min_by_key(|(range, _)| range.len());
    let message = causes.pop().unwrap_or_default();
    let mut finding = Finding::new(message, narrowest.as_ref().map(|(range, _)| range.clone()));
    if let Some((_, text)) = narrowest {
        finding = finding.label(plain(text));
    }
    causes.into_iter().rev().fold(finding, Finding::note)
}

/// Numbers of the IR mean nothing to a reader: "Expression [3] is invalid" becomes "Expression is invalid".
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(" [") {
        let (before, tail) = rest.split_at(open);
        let digits = tail.get(2..).unwrap_or_default().find(']').map(|n| n + 2);
        match digits {
            Some(close) if close > 2 && tail.get(2..close).is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit())) => {
                out.push_str(before);
                rest = tail.get(close + 1..).unwrap_or_default();
            }
            _ => {
                out.push_str(before);
                out.push_str(" [");
                rest = tail.get(2..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_of_the_front_end_is_an_answer_and_no_refusal() {
        let Err(d) = on_large_stack(|| -> Result<(), Diagnostics> { panic!("the {} gave way", "floor") }) else {
            panic!("no error")
        };
        assert!(!d.refusal);
        assert_eq!(d.list.len(), 1);
        assert!(d.text.contains("the floor gave way"), "{d}");
    }

    #[test]
    fn the_large_stack_is_large() {
        fn deep(left: u32) -> u64 {
            let pad = [u64::from(left); 128];
            if left == 0 { 0 } else { deep(left - 1) + std::hint::black_box(pad).iter().sum::<u64>() % 7 }
        }
        assert!(on_large_stack(|| Ok(deep(std::hint::black_box(40_000)))).is_ok());
    }

    #[test]
    fn numbers_of_the_ir_are_left_out_of_messages() {
        assert_eq!(plain("Expression [3] is [12] bad [x] [] [4"), "Expression is bad [x] [] [4");
    }
}

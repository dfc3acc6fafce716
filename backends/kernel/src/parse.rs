//! A source in, validated IR out, whatever the bytes. Everything that may recurse or panic runs on a thread of its own with a large stack, which
//! is gone before the call returns.

use std::any::Any;
use std::error::Error as _;
use std::sync::{Arc, Once};
use std::{panic, thread};

use naga::valid::{ModuleInfo, ValidationError, ValidationFlags, Validator};

use crate::diagnostics::{self, Diagnostics, Finding};
use crate::edits::Edited;
use crate::front::glsl::Specialization;
use crate::front::{glsl, spirv};
use crate::lower::Print;
use crate::lower::format::Format;
use crate::reflection::OverrideInfo;
use crate::text::Text;
use crate::{limits, pointers, subgroups, support};

/// Address space only: pages that are not touched cost nothing. The bounds of `scan` keep the deepest recursion far below it.
const STACK: usize = 128 << 20;

/// A validated module, overrides still open.
pub(crate) struct Parsed {
    /// The spans of the module are bytes of its edited text.
    pub(crate) text: Arc<Edited>,
    pub(crate) module: naga::Module,
    /// The same with override constants of 64 bits, which `module` hides.
    pub(crate) wide: Option<Box<naga::Module>>,
    pub(crate) info: ModuleInfo,
    /// What an entry point may be given values for.
    pub(crate) overrides: Vec<OverrideInfo>,
    pub(crate) origin: Origin,
    /// See [`crate::EntryPoint`].
    pub(crate) precise: bool,
    /// See [`crate::EntryPoint`].
    pub(crate) prints: Arc<[Print]>,
    pub(crate) print_prefix: Option<Arc<str>>,
}

/// What a module was made from, for another pass with other constants.
pub(crate) enum Origin {
    /// The overrides of the IR are its constants.
    Wgsl,
    Glsl(glsl::Preprocessed),
    Spirv(spirv::Words),
}

/// The threads whose panics are answers.
const THREAD: &str = "compute-parse";

/// A front end that panics is told of in the answer, not on the host's error output: the process's hook is asked only about other threads.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some(THREAD) {
                others(info);
            }
        }));
    });
}

impl Parsed {
    /// Shows findings where the caller wrote what they are about.
    pub(crate) fn refuse(&self, findings: Vec<Finding>) -> Diagnostics {
        refuse(&self.text, findings)
    }
}

/// The same without a module.
pub(crate) fn refuse(text: &Edited, findings: Vec<Finding>) -> Diagnostics {
    diagnostics::refuse(text.written(), findings.into_iter().map(|f| f.moved(|range| text.original(range))).collect())
}

/// Runs `work` with a stack that is large enough whatever the caller's is. A panic in it is an internal failure, not a crash.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Diagnostics> + Send) -> Result<T, Diagnostics> {
    silence();
    let spawned = thread::scope(|scope| {
        let builder = thread::Builder::new().name(THREAD.into()).stack_size(STACK);
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

/// Parses and validates GLSL. Call on a large stack.
pub(crate) fn glsl(read: glsl::Preprocessed) -> Result<Parsed, Diagnostics> {
    let made = glsl::translate(&read, &Specialization::default())?;
    let prints = prints(&read.text, &made.prints);
    let parsed = validate(read.text.clone(), made.module, made.overrides, Origin::Glsl(read))?;
    Ok(beside(parsed, prints, made.precise))
}

/// The prints of a GLSL source with the places of their formats.
fn prints(text: &Text, made: &[(glsl::At, Format)]) -> Arc<[Print]> {
    let print =
        |(at, format): &(glsl::At, Format)| Print { location: text.place(at.0 as usize).location, format: format.clone() };
    made.iter().map(print).collect()
}

/// What the IR does not hold.
fn beside(parsed: Parsed, prints: Arc<[Print]>, precise: bool) -> Parsed {
    let print_prefix = (!prints.is_empty()).then(|| glsl::PREFIX.into());
    Parsed { prints, print_prefix, precise, ..parsed }
}

/// Parses and validates a SPIR-V module. Call on a large stack.
pub(crate) fn spirv(bytes: &[u8]) -> Result<Parsed, Diagnostics> {
    let words = spirv::read(bytes)?;
    let made = spirv::translate(&words, &Specialization::default())?;
    let parsed = validate(made.text, made.module, made.overrides, Origin::Spirv(words))?;
    Ok(beside(parsed, made.prints.into(), made.precise))
}

/// A module with values for its specialization constants; `None` when those are overrides of the IR. Call on a large stack.
pub(crate) fn specialize(parsed: &Parsed, values: &Specialization) -> Result<Option<Parsed>, Diagnostics> {
    match &parsed.origin {
        Origin::Wgsl => Ok(None),
        _ if values.is_empty() => Ok(None),
        Origin::Glsl(read) => {
            let made = glsl::translate(read, values)?;
            let prints = prints(&read.text, &made.prints);
            let parsed = validate(read.text.clone(), made.module, made.overrides, Origin::Wgsl)?;
            Ok(Some(beside(parsed, prints, made.precise)))
        }
        Origin::Spirv(words) => {
            let made = spirv::translate(words, values)?;
            let parsed = validate(made.text, made.module, made.overrides, Origin::Wgsl)?;
            Ok(Some(beside(parsed, made.prints.into(), made.precise)))
        }
    }
}

/// What the IR has to pass that our own front ends make.
fn validate(source: Text, mut module: naga::Module, overrides: Vec<OverrideInfo>, origin: Origin) -> Result<Parsed, Diagnostics> {
    let mut findings = subgroups::normalise(&mut module);
    findings.extend(support::check(&module, &source));
    if !findings.is_empty() {
        return Err(diagnostics::refuse(&source, findings));
    }
    pointers::resolve(&mut module).map_err(|findings| diagnostics::refuse(&source, findings))?;
    let info = match validator().validate(&module) {
        Ok(info) => info,
        Err(error) => return Err(diagnostics::refuse(&source, vec![validation_error(&error)])),
    };
    let findings = limits::check(&module, &info);
    if !findings.is_empty() {
        return Err(diagnostics::refuse(&source, findings));
    }
    Ok(Parsed {
        text: Arc::new(Edited::new(source)),
        module,
        wide: None,
        info,
        overrides,
        origin,
        precise: false,
        prints: Arc::new([]),
        print_prefix: None,
    })
}

pub(crate) fn validator() -> Validator {
    Validator::new(ValidationFlags::all(), support::CAPABILITIES)
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
pub(crate) fn plain(text: &str) -> String {
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

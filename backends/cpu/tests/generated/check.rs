//! One kernel on the device and in the interpreter: every byte must be the same, and what the analyses promise must hold.

use std::sync::Arc;

use compute_interpreter::{Outcome, Stop};
use compute_kernel::EntryPoint;
use compute_kernel::reflection::{Access, Bounds};

use crate::bench::Bench;
use crate::program::Setup;

/// How a kernel fared.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Device and interpreter agree in everything.
    Same { whole: bool, out_of_range: bool },
    /// The front end does not take it: its words.
    Refused(String),
    /// It runs too long to be interpreted.
    TooLong,
    /// Something is wrong: in a few words, and in detail.
    Wrong(&'static str, String),
}

/// Launches whose functions were compared with and without pointers as parameters.
pub(crate) static POINTERS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Statements and expressions of one launch.
pub(crate) const STEPS: u64 = 400_000;

/// Checks a source with one setup. `bounds` is tried beside the checked mode where the kernel allows it.
pub(crate) fn check(bench: &mut Bench, source: &str, setup: &Setup, bounds: Bounds) -> Verdict {
    let module = match crate::bench::parse(source) {
        Ok(module) => module,
        Err(d) => return Verdict::Refused(d.to_string()),
    };
    match module.entry_point(None, &setup.constants) {
        Ok(entry) => match check_entry(bench, &entry, setup, bounds) {
            Verdict::Same { .. } if with_pointers(source, &entry, setup) == Some(false) => {
                Verdict::Wrong("functions with pointers are made into others", String::new())
            }
            verdict => verdict,
        },
        Err(d) => Verdict::Refused(d.to_string()),
    }
}

/// Whether the IR as the front end proper makes it, in which functions have pointers to shared memory as parameters, means the same as the
/// entry point's, in which they do not. `None` for what it refuses, which is mostly constants that it cannot evaluate.
fn with_pointers(source: &str, entry: &EntryPoint, setup: &Setup) -> Option<bool> {
    let value = |key: &str| setup.constants.iter().find(|c| c.key == key).map(|c| c.value);
    // Constants that it would evaluate by its own rules are variables.
    let source = source
        .replace("override k0: u32 = 3u;", &format!("var<private> k0: u32 = {}u;", value("k0")?))
        .replace("@id(7) override k1: f32 = 2.5f;", &format!("var<private> k1: f32 = {}f;", value("7")?))
        .replace("override k2: i32;", &format!("var<private> k2: i32 = {}i;", value("k2")?))
        .replace("override elements", "const elements");
    let module = compute_kernel::naga::front::wgsl::parse_str(&source).ok()?;
    let (given, immediates) = (bindings(entry, setup), immediates(entry, setup));
    let launch = || compute_interpreter::Launch {
        grid: setup.grid,
        bindings: given.clone(),
        immediates: &immediates,
        steps: 2 * STEPS,
        reversed: false,
    };
    let expected = compute_interpreter::run(entry, launch()).ok()?;
    let found = compute_interpreter::run_other(entry, &module, launch()).ok()?;
    POINTERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Some(data(&found) == data(&expected) && found.out_of_range == expected.out_of_range)
}

/// The bytes of each binding in the order of the reflection.
pub(crate) fn bindings(entry: &EntryPoint, setup: &Setup) -> Vec<Vec<u8>> {
    let of = |b: &compute_kernel::reflection::BindingInfo| {
        let mut bytes = setup.bindings.get(b.slot as usize).cloned().unwrap_or_default();
        bytes.resize(bytes.len().max(b.min_size as usize), 0x11);
        if b.name == "cells" {
            let enough = setup.cells * b.tail_stride as usize;
            bytes = bytes.iter().copied().cycle().take(enough.max(bytes.len())).collect();
        }
        bytes
    };
    entry.reflection().bindings.iter().map(of).collect()
}

pub(crate) fn immediates(entry: &EntryPoint, setup: &Setup) -> Vec<u8> {
    let mut bytes = setup.immediates.clone();
    bytes.resize(entry.reflection().immediate_size as usize, 0);
    bytes
}

/// The same for an entry point, wherever it comes from: kernels that went through another language and back are checked here too.
pub(crate) fn check_entry(bench: &mut Bench, entry: &Arc<EntryPoint>, setup: &Setup, bounds: Bounds) -> Verdict {
    let (given, immediates) = (bindings(entry, setup), immediates(entry, setup));
    let interpret = |reversed| {
        let launch = compute_interpreter::Launch {
            grid: setup.grid,
            bindings: given.clone(),
            immediates: &immediates,
            steps: STEPS,
            reversed,
        };
        compute_interpreter::run(entry, launch)
    };
    let expected = match interpret(false) {
        Ok(outcome) => outcome,
        Err(Stop::Steps) => return Verdict::TooLong,
        Err(Stop::Barrier(what)) => return Verdict::Wrong("a barrier that not all reach was let through", what),
        Err(stop) => return Verdict::Wrong("interpreter", stop.to_string()),
    };
    let mut modes = vec![Bounds::Checked];
    if bounds == Bounds::Validate || (bounds == Bounds::Unchecked && !expected.out_of_range) {
        modes.push(bounds);
    }
    for mode in modes {
        let ran = match bench.run(entry, mode, setup.grid, &given, &immediates) {
            Ok(ran) => ran,
            Err(wrong) => return Verdict::Wrong("the device failed", wrong),
        };
        if let Some(difference) = difference(entry, &expected, &ran.bindings) {
            // A kernel whose result depends on the order says nothing: that is a fault of the generator.
            return match interpret(true) {
                Ok(other) if data(&other) != data(&expected) => Verdict::Wrong("the kernel depends on the order", difference),
                _ => Verdict::Wrong("other bytes", format!("{mode:?}: {difference}")),
            };
        }
        let reported = !ran.late.is_empty();
        if reported != (mode == Bounds::Validate && expected.out_of_range) {
            let what = format!("{mode:?}: out of range: {}, reported: {:?}", expected.out_of_range, ran.late);
            return Verdict::Wrong("violations", what);
        }
    }
    match analyses(entry, setup, &given, &immediates, &expected) {
        Ok(whole) => Verdict::Same { whole, out_of_range: expected.out_of_range },
        Err(wrong) => Verdict::Wrong("analysis", wrong),
    }
}

fn data(outcome: &Outcome) -> Vec<&[u8]> {
    outcome.bindings.iter().map(|b| b.data.as_slice()).collect()
}

fn difference(entry: &EntryPoint, expected: &Outcome, got: &[Vec<u8>]) -> Option<String> {
    for (i, (expected, got)) in expected.bindings.iter().zip(got).enumerate() {
        if expected.data == *got {
            continue;
        }
        let at = expected.data.iter().zip(got).position(|(a, b)| a != b).unwrap_or_default() & !3;
        let word = |bytes: &[u8]| bytes.get(at..at + 4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        let name = &entry.reflection().bindings[i].name;
        return Some(format!("{name} at byte {at}: expected {:x?}, got {:x?}", word(&expected.data), word(got)));
    }
    None
}

/// T6 and T6a: what is said to be unused, read or written wholly, against what happened. Whether anything was said to be whole.
fn analyses(entry: &EntryPoint, setup: &Setup, given: &[Vec<u8>], immediates: &[u8], outcome: &Outcome) -> Result<bool, String> {
    let mut any = false;
    for (i, (info, bytes)) in entry.reflection().bindings.iter().zip(&outcome.bindings).enumerate() {
        let (read, written) = (bytes.read.contains(&true), bytes.written.contains(&true));
        if (read && !info.access.reads()) || (written && !info.access.writes()) || (read && info.access == Access::Unused) {
            return Err(format!("{} is {:?}, but read: {read}, written: {written}", info.name, info.access));
        }
        let Some(store) = &entry.coverage().stores[i] else { continue };
        if store.covers(entry.reflection(), setup.grid, given[i].len() as u64, immediates, &|_| None) {
            any = true;
            // The tail that is too short for an element counts.
            let whole = bytes.written.len() / store.stride as usize * store.stride as usize;
            if let Some(at) = bytes.written[..whole].iter().position(|w| !w) {
                return Err(format!("{} is said to be written wholly, but byte {at} is not: {store:?}", info.name));
            }
        }
    }
    Ok(any)
}

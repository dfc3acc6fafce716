//! Generated kernels written as SPIR-V by naga and read back by the front end for SPIR-V: they must do to the bit what the interpreter says of the IR that
//! was written.
//!
//! Not every module comes back: [`Trip`] tells why not, and the test counts.

use std::panic;
use std::sync::Arc;

use compute_interpreter::Stop;
use compute_kernel::reflection::Bounds;
use compute_kernel::{EntryPoint, Module, Source};
use naga::back::spv;
use naga::{Expression, TypeInner};

use crate::bench::Bench;
use crate::check::{STEPS, bindings, immediates};
use crate::program::{Program, Setup};

/// How a kernel fared on its way.
pub(crate) enum Trip {
    Same,
    /// The writer does not take it: its words.
    NotWritten(String),
    /// What was written is refused: in our words.
    NotRead(String),
    /// The interpreter has no answer.
    NoAnswer,
    /// SPIR-V says nothing about an index past the end of a vector that is a value: naga reads some component.
    LeftOpen,
    Wrong(String),
}

/// The entry point as a module.
fn written(entry: &EntryPoint) -> Result<Vec<u8>, String> {
    // Nothing beyond the core: packed bytes then go through words, and not through types of 8 bits that are refused.
    let options = spv::Options {
        lang_version: (1, 3),
        capabilities: Some([spv::Capability::Shader].into_iter().collect()),
        use_storage_input_output_16: false,
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: entry.function().name.clone() };
    // naga's writer panics where a pointer to a part of a local variable is handed to a function.
    let write = || spv::write_vec(entry.module(), entry.info(), &options, Some(&pipeline)).map_err(|error| error.to_string());
    let mut words =
        panic::catch_unwind(panic::AssertUnwindSafe(write)).unwrap_or_else(|_| Err("the writer panics".to_owned()))?;
    unordered(&mut words);
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// The writer has OpFOrdNotEqual for `!=`, which is true of NaN: that is OpFUnordNotEqual.
fn unordered(words: &mut [u32]) {
    let mut at = 5;
    while let Some(word) = words.get_mut(at) {
        if *word & 0xffff == 182 {
            *word += 1;
        }
        at += (*word >> 16).max(1) as usize;
    }
}

fn read_back(bytes: &[u8], name: &str) -> Result<Arc<EntryPoint>, String> {
    Module::parse(&Source::spirv(bytes)).and_then(|module| module.entry_point(Some(name), &[])).map_err(|d| d.to_string())
}

/// Whether a vector that is no variable is indexed by a number that is known only when the kernel runs.
fn indexes_vectors(entry: &EntryPoint) -> bool {
    let module = entry.module();
    let any = |function: &naga::Function, info: &naga::valid::FunctionInfo| {
        function.expressions.iter().any(|(_, expression)| match *expression {
            Expression::Access { base, .. } => matches!(info[base].ty.inner_with(&module.types), TypeInner::Vector { .. }),
            _ => false,
        })
    };
    let functions = module.functions.iter().any(|(handle, function)| any(function, &entry.info()[handle]));
    functions || any(&entry.function().function, entry.info().get_entry_point(entry.index()))
}

/// Sends an entry point there and back, and compares what it does.
pub(crate) fn round_trip(bench: &mut Bench, entry: &Arc<EntryPoint>, setup: &Setup) -> Trip {
    let bytes = match written(entry) {
        Ok(bytes) => bytes,
        Err(why) => return Trip::NotWritten(why),
    };
    let back = match read_back(&bytes, &entry.function().name) {
        Ok(back) => back,
        Err(why) => return Trip::NotRead(why),
    };
    let (given, immediates) = (bindings(entry, setup), immediates(entry, setup));
    let launch = compute_interpreter::Launch {
        grid: setup.grid,
        bindings: given.clone(),
        immediates: &immediates,
        steps: STEPS,
        reversed: false,
    };
    let expected = match compute_interpreter::run(entry, launch) {
        Ok(outcome) => outcome,
        Err(Stop::Steps | Stop::Barrier(_)) => return Trip::NoAnswer,
        Err(stop) => return Trip::Wrong(stop.to_string()),
    };
    if expected.out_of_range && indexes_vectors(entry) {
        return Trip::LeftOpen;
    }
    // The order of the bindings may be another.
    let slots: Vec<usize> = back
        .reflection()
        .bindings
        .iter()
        .filter_map(|b| entry.reflection().bindings.iter().position(|a| (a.group, a.slot) == (b.group, b.slot)))
        .collect();
    if slots.len() != back.reflection().bindings.len() {
        return Trip::Wrong("a binding that was not there".to_owned());
    }
    let moved: Vec<Vec<u8>> = slots.iter().map(|&slot| given[slot].clone()).collect();
    let ran = match bench.run(&back, Bounds::Checked, setup.grid, &moved, &immediates) {
        Ok(ran) => ran,
        Err(wrong) => return Trip::Wrong(wrong),
    };
    for (got, &slot) in ran.bindings.iter().zip(&slots) {
        let wanted = &expected.bindings[slot].data;
        if let Some(at) = wanted.iter().zip(got).position(|(a, b)| a != b) {
            let name = &entry.reflection().bindings[slot].name;
            return Trip::Wrong(
                format!("{name} at byte {at}: expected {:x?}, got {:x?}", &wanted[at & !3..], &got[at & !3..])
                    .chars()
                    .take(160)
                    .collect(),
            );
        }
    }
    Trip::Same
}

/// What is wrong with a program that comes back another one.
pub(crate) fn goes_wrong(bench: &mut Bench, program: &Program, setup: &Setup) -> Option<String> {
    let module = crate::bench::parse(&program.source()).ok()?;
    let entry = module.entry_point(None, &setup.constants).ok()?;
    match round_trip(bench, &entry, setup) {
        Trip::Wrong(why) => Some(why),
        _ => None,
    }
}

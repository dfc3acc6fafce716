//! Kernels as CUDA C++ and HIP C++: what the texts look like, that the compilers take them, and that they mean what the interpreter says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod compilers;
mod corpus;
mod meaning;
mod refusals;
mod snapshots;
mod tools;

/// The generator of kernels of the cpu device's tests.
#[path = "../../../cpu/tests/generated/expressions.rs"]
#[allow(dead_code, reason = "a part is used")]
mod expressions;
#[path = "../../../cpu/tests/generated/program.rs"]
#[allow(dead_code, reason = "a part is used")]
mod program;
#[path = "../../../cpu/tests/generated/random.rs"]
#[allow(dead_code, reason = "a part is used")]
mod random;
#[path = "../../../cpu/tests/generated/statements.rs"]
#[allow(dead_code, reason = "a part is used")]
mod statements;
#[path = "../../../cpu/tests/generated/tree.rs"]
#[allow(dead_code, reason = "a part is used")]
mod tree;
#[path = "../../../cpu/tests/generated/types.rs"]
#[allow(dead_code, reason = "a part is used")]
mod types;

use std::sync::Arc;

use compute_kernel::cxx::{self, Dialect, Options, Text};
use compute_kernel::lower::{Lowering, PRINT_ROOM};
use compute_kernel::reflection::Bounds;
use compute_kernel::{Constant, EntryPoint, Module, Source};

fn entry(source: &str) -> Arc<EntryPoint> {
    entry_with(source, &[])
}

fn entry_with(source: &str, constants: &[Constant]) -> Arc<EntryPoint> {
    let module = Module::parse(&Source::new(source.as_bytes())).unwrap_or_else(|e| panic!("{e}\n{source}"));
    module.entry_point(None, constants).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

fn options(dialect: &Dialect) -> Options<'_> {
    Options { dialect, checked: true, strict: false, cancellable: false, indirect: false, subgroup_size: None }
}

fn translate(entry: &Arc<EntryPoint>, bounds: Bounds, options: &Options<'_>) -> Text {
    let lowering = Lowering { bounds, deferred: true, print_room: PRINT_ROOM, names: None };
    let lowered = entry.lower(&lowering).unwrap_or_else(|e| panic!("{e}"));
    cxx::translate(&lowered, options).unwrap_or_else(|e| panic!("{e}"))
}

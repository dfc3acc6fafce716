//! Kernels as CUDA C++ and HIP C++: what the texts look like, that the compilers take them, and that they mean what the interpreter says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod compilers;
mod corpus;
mod meaning;
mod snapshots;
mod tools;

use std::sync::Arc;

use compute_kernel::cxx::{self, Dialect, Options, Text};
use compute_kernel::lower::{Lowering, PRINT_ROOM};
use compute_kernel::reflection::Bounds;
use compute_kernel::{EntryPoint, Module, Source};

fn entry(source: &str) -> Arc<EntryPoint> {
    let module = Module::parse(&Source::new(source.as_bytes())).unwrap_or_else(|e| panic!("{e}\n{source}"));
    module.entry_point(None, &[]).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

fn options(dialect: &Dialect) -> Options<'_> {
    Options { dialect, checked: true, strict: false, subgroup_size: None }
}

fn translate(entry: &Arc<EntryPoint>, bounds: Bounds, options: &Options<'_>) -> Text {
    let lowering = Lowering { bounds, deferred: true, print_room: PRINT_ROOM, names: None };
    let lowered = entry.lower(&lowering).unwrap_or_else(|e| panic!("{e}"));
    cxx::translate(&lowered, options).unwrap_or_else(|e| panic!("{e}"))
}

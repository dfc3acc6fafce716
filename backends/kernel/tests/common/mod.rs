//! What the tests of this crate share.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]
#![allow(clippy::expect_used, clippy::panic, reason = "tests end that way")]

pub mod interpreter;
pub mod mutate;
pub mod random;

use std::sync::Arc;

use compute_kernel::reflection::Access;
use compute_kernel::{Constant, Diagnostics, EntryPoint, Module, Source};

pub fn constant(key: &str, value: f64) -> Constant {
    Constant { key: key.into(), value: value.into() }
}

/// The only entry point of a source.
pub fn kernel(source: &str) -> Arc<EntryPoint> {
    try_kernel(source, &[]).unwrap_or_else(|d| panic!("{d}\n{source}"))
}

pub fn try_kernel(source: &str, constants: &[Constant]) -> Result<Arc<EntryPoint>, Diagnostics> {
    Module::parse(&Source::wgsl(source))?.entry_point(None, constants)
}

/// The refusal of a source.
pub fn refusal(source: &str) -> Diagnostics {
    match try_kernel(source, &[]) {
        Ok(_) => panic!("was accepted:\n{source}"),
        Err(d) => {
            assert!(d.refusal, "not the fault of the source: {d}");
            assert!(!d.list.is_empty() && !d.text.is_empty());
            d
        }
    }
}

/// Line and column of the first diagnostic.
pub fn place(d: &Diagnostics) -> (u32, u32) {
    d.list[0].location.as_ref().map_or((0, 0), |l| (l.line, l.column))
}

pub fn access(kernel: &EntryPoint, slot: u32) -> Access {
    let reflection = kernel.reflection();
    reflection.bindings[reflection.find(0, slot).expect("the binding")].access
}

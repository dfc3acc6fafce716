//! A plain, slow interpreter of portable kernels: the oracle that devices and analyses are tested against. Nothing that is shipped uses it.
//!
//! It is written from the WGSL specification, and shares no code with any translation: that independence is all its worth. Where the specification
//! leaves a choice, this is the choice of libcompute (`docs/kernels.md`): round to nearest even, keep subnormal numbers and the sign of zero, fuse
//! nothing, evaluate "inherited" formulas as they are written, from left to right. Payloads of NaN are not part of the meaning.
//!
//! One invocation runs at a time, up to the next barrier; workgroups run one after the other. So a kernel whose result depends on the order of
//! invocations gives another one with [`Launch::reversed`].
#![forbid(unsafe_code)]

mod builtin;
mod convert;
mod expression;
mod group;
mod invocation;
mod math;
mod memory;
mod operator;
mod pack;
mod scalar;
mod transcendental;
mod value;

use std::fmt;

use compute_kernel::EntryPoint;

pub use memory::Bytes;
pub use scalar::Scalar;

/// What a kernel is run with.
pub struct Launch<'a> {
    /// Workgroups on each axis.
    pub grid: [u32; 3],
    /// The bytes of each binding, in the order of the reflection. Those that the kernel does not use may be empty.
    pub bindings: Vec<Vec<u8>>,
    /// The immediate block.
    pub immediates: &'a [u8],
    /// How many statements and expressions may be executed, all invocations together.
    pub steps: u64,
    /// Runs the last workgroup and the last invocation first.
    pub reversed: bool,
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// Each binding, in the order of the reflection: its bytes, and which of them were read and written.
    pub bindings: Vec<Bytes>,
    /// Whether any access was out of range.
    pub out_of_range: bool,
    /// Statements and expressions executed.
    pub steps: u64,
}

/// Why a run gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It took more steps than allowed.
    Steps,
    /// Invocations of one workgroup came to different barriers, or some ended before one.
    Barrier(String),
    /// The interpreter does not know this construct.
    Unsupported(String),
    /// The IR is not what validation promises.
    Invalid(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => f.write_str("too many steps"),
            Self::Barrier(what) => write!(f, "barrier in non-uniform control flow: {what}"),
            Self::Unsupported(what) => write!(f, "the interpreter does not know {what}"),
            Self::Invalid(what) => write!(f, "invalid IR: {what}"),
        }
    }
}

impl std::error::Error for Stop {}

/// The arithmetic of binary16, for its own tests.
pub mod rounding {
    use naga::ScalarKind;

    use crate::{Scalar, math, scalar};

    /// The nearest half, as bits.
    pub fn half_bits(value: f64) -> u16 {
        scalar::float_bits(2, value) as u16
    }

    /// The value of a half.
    pub fn half_value(bits: u16) -> f64 {
        half(bits).float()
    }

    /// `a * b + c`, rounded once.
    pub fn half_fused(a: u16, b: u16, c: u16) -> u16 {
        math::fused(half(a), half(b), half(c)).bits as u16
    }

    fn half(bits: u16) -> Scalar {
        Scalar { kind: ScalarKind::Float, width: 2, bits: bits.into() }
    }
}

type Result<T> = std::result::Result<T, Stop>;

fn invalid<T>(what: impl fmt::Debug) -> Result<T> {
    Err(Stop::Invalid(format!("{what:?}")))
}

fn unsupported<T>(what: impl fmt::Debug) -> Result<T> {
    Err(Stop::Unsupported(format!("{what:?}")))
}

/// Runs an entry point over a grid.
pub fn run(entry: &EntryPoint, launch: Launch<'_>) -> Result<Outcome> {
    group::run(entry, entry.module(), launch)
}

/// The same of other IR of its source, with the same variables, entry point and bindings: to see whether a pass over the IR changed what it means.
pub fn run_other(entry: &EntryPoint, module: &naga::Module, launch: Launch<'_>) -> Result<Outcome> {
    group::run(entry, module, launch)
}

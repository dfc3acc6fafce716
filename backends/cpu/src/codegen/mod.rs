//! From a portable kernel's IR to machine code that runs one whole workgroup.
//!
//! What lives here: translation, and the layout of what the generated code reads ([`Context`]). What must not: threads, queues, memory
//! management of buffers.
//!
//! The way of a kernel: `program` inlines all calls into one tree; `plan` cuts the tree into barrier-free runs and the uniform control
//! flow around them (`usage`: what lives across runs; `uniform`: what is computed once; `range`: which indices need no check); an
//! `emitter` makes code of the plan: `outer` around runs, `nodes` inside them (`control`: the shapes that both share), `expr` and its rooms
//! (`ops`, `convert`, `math`, `matrix`, `bits`, `numbers`, `atomics`, `data`) for values, `memory` and `bounds` for addresses, `subgroups` (with `lanes`) for what
//! crosses invocations; `symbols` names what it refers to; `artifact` is the result, also as bytes; `jit` makes it executable.

mod artifact;
mod atomics;
mod bits;
mod bounds;
mod control;
mod convert;
mod data;
mod emitter;
mod expr;
mod jit;
mod lanes;
mod layout;
mod math;
mod matrix;
mod memory;
mod nodes;
mod numbers;
mod ops;
mod outer;
mod plan;
mod program;
mod range;
mod shims;
mod stop;
mod subgroups;
mod symbols;
#[cfg(test)]
mod tests;
mod uniform;
mod usage;
mod value;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use compute_hal::DeviceError;
use compute_kernel::lower::{Lowered, Reports};
use compute_kernel::reflection::Bounds;

use emitter::Options;
pub(crate) use jit::identity;
pub(crate) use subgroups::SUBGROUP_SIZE;

/// What the generated code is given besides the workgroup's id. One per (launch, worker).
#[repr(C)]
pub(crate) struct Context {
    /// [`CompiledKernel::scratch_size`] bytes, aligned to 64, this worker's own. Contents unspecified: the generated code zeroes
    /// workgroup memory and initialises whatever else it reads.
    pub(crate) scratch: *mut u8,
    /// One per binding of the reflection, in its order. Unused bindings may be null and empty.
    pub(crate) bindings: *const BoundRange,
    /// The immediate block, aligned to 16; null when the kernel has none.
    pub(crate) immediates: *const u8,
    /// The record of a kernel that has one (see [`Reports::record`]), shared by all workers of a launch; else null.
    pub(crate) record: *mut u8,
    /// Read at loop back-edges of cancellable kernels: non-zero means return now; else null.
    pub(crate) cancel: *const AtomicU32,
    /// Workgroups of the grid.
    pub(crate) workgroups: [u32; 3],
}

/// A bound view. `pointer` is aligned to the binding's alignment.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct BoundRange {
    pub(crate) pointer: *mut u8,
    pub(crate) size: u64,
}

/// Bytes of stack that the code of a kernel takes at most. Whoever runs it has as much again, for itself and for the functions that the code calls.
pub(crate) const MOST_FRAME: u32 = 2 << 20;

/// Machine code for one entry point. Dropping it frees the code; nothing may be running it.
pub(crate) struct CompiledKernel {
    code: jit::Code,
    scratch_size: usize,
    cost: Option<u64>,
    frame: u32,
    reports: Arc<Reports>,
}

/// Stack of the thread that translates: the recursion over statements and calls is bounded, but deep.
const STACK_SIZE: usize = 64 << 20;

impl CompiledKernel {
    /// Translates. Whatever of WGSL is not done yet is refused with the construct, line and column.
    pub(crate) fn compile(lowered: Lowered, bounds: Bounds, cancellable: bool) -> Result<Self, DeviceError> {
        Self::compile_to_keep(lowered, bounds, cancellable, false).map(|(kernel, _)| kernel)
    }

    /// As [`Self::compile`]; if it is to be kept, also as bytes for [`Self::restore`], unless that is impossible.
    pub(crate) fn compile_to_keep(
        lowered: Lowered,
        bounds: Bounds,
        cancellable: bool,
        keep: bool,
    ) -> Result<(Self, Option<Vec<u8>>), DeviceError> {
        on_large_stack(move || {
            let locate = |span| lowered.entry().location(span);
            let source = jit::Source::new(&lowered);
            let made = jit::translate(source, Options { bounds, cancellable }).map_err(|stop| stop.into_error(locate))?;
            let bytes = if keep { made.to_bytes() } else { None };
            let bytes = bytes.map(|bytes| [&artifact::of(&lowered, bounds, cancellable)[..], &bytes].concat());
            Ok((Self::load(made, &source.reflection.entry, lowered.reports()).map_err(|stop| stop.into_error(locate))?, bytes))
        })
    }

    /// What [`Self::compile_to_keep`] gave for the same kernel in a process of the same [`identity`].
    pub(crate) fn restore(lowered: &Lowered, bounds: Bounds, cancellable: bool, bytes: &[u8]) -> Result<Self, DeviceError> {
        let Some(bytes) = bytes.strip_prefix(&artifact::of(lowered, bounds, cancellable)) else {
            return Err(DeviceError::Internal("these bytes are not of this kernel".into()));
        };
        let made = artifact::Artifact::from_bytes(bytes);
        let made = made.ok_or_else(|| DeviceError::Internal("these bytes are not a kernel of the cpu device".into()))?;
        let locate = |span| lowered.entry().location(span);
        Self::load(made, &lowered.reflection().entry, lowered.reports()).map_err(|stop| stop.into_error(locate))
    }

    fn load(made: artifact::Artifact, name: &str, reports: &Arc<Reports>) -> stop::Result<Self> {
        let scratch_size = usize::try_from(made.scratch_size).unwrap_or(usize::MAX);
        let (cost, frame) = (made.cost, made.frame);
        Ok(Self { code: jit::load(made, name)?, scratch_size, cost, frame, reports: Arc::clone(reports) })
    }

    /// Bytes of scratch that one worker needs: workgroup memory, spilled values and large locals of all invocations.
    pub(crate) fn scratch_size(&self) -> usize {
        self.scratch_size
    }

    /// A static upper bound on the work of one workgroup, in simple instructions over all its invocations; `None` when some loop's trip
    /// count is not known. Decides whether a grid runs on the calling thread.
    pub(crate) fn cost(&self) -> Option<u64> {
        self.cost
    }

    /// Bytes of stack that the code takes, [`MOST_FRAME`] at most.
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    /// Bytes of machine code.
    pub(crate) fn code_size(&self) -> usize {
        self.code.size
    }

    /// What it reports, and the record that it does so in.
    pub(crate) fn reports(&self) -> &Arc<Reports> {
        &self.reports
    }

    /// Runs the workgroup `group`. Returns early when cancelled.
    ///
    /// # Safety
    /// `context` and all that it points to is valid as its fields say, for this kernel, until the call returns; its bindings and immediates
    /// meet the kernel's reflection (sizes, alignment). Only this call uses its scratch.
    pub(crate) unsafe fn run(&self, context: &Context, group: [u32; 3]) {
        // SAFETY: the code was made for this context layout; the rest is the caller's promise.
        unsafe { (self.code.entry)(context, group[0], group[1], group[2]) }
    }
}

/// Runs `work` on a thread of its own, so that the caller's stack does not matter, and turns a panic into an error.
fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, DeviceError> + Send) -> Result<T, DeviceError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("compute-translate".into()).stack_size(STACK_SIZE);
        let thread =
            builder.spawn_scoped(scope, work).map_err(|e| DeviceError::Internal(format!("no thread to translate on: {e}")))?;
        thread.join().unwrap_or_else(|_| {
            let log = "the translator crashed; this is a bug, please report it with the kernel".into();
            Err(DeviceError::Compile { log, location: None, refusal: false })
        })
    })
}

//! Compiled kernels as the queues see them: code, what must hold at a launch, and how long a workgroup takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::kernel::EntryPoint;
use compute_hal::kernel::lower::{Lowered, Lowering, Reports};
use compute_hal::kernel::reflection::Reflection;
use compute_hal::{CompileRequest, CompileSource, DeviceError, KernelFacts};

use crate::codegen::{CompiledKernel, Context};
use crate::scratch::{Class, Lease, Scratches, Seat};
use parking_lot::Mutex;

/// What a simple instruction takes at most, in eighths of a nanosecond; measured, see `examples/latency.rs`.
const INSTRUCTION_EIGHTHS: u64 = 4;
/// Bytes of stack that a kernel may take of a host thread, whose stack nobody knows. Kernels that take more run on workers only.
pub(crate) const GUEST_FRAME: u32 = 16 << 10;

#[cfg_attr(test, allow(clippy::large_enum_variant, reason = "the small one is for tests"))]
pub(crate) enum Code {
    Compiled(CompiledKernel),
    #[cfg(test)]
    Test(crate::tests::TestCode),
}

pub(crate) struct Kernel {
    pub(crate) reflection: Reflection,
    pub(crate) cancellable: bool,
    code: Code,
    scratch: Option<Arc<Class>>,
    /// Bound on the time of one workgroup in nanoseconds, when its work is known beforehand.
    bound: Option<u64>,
    /// Nanoseconds that a workgroup took lately, 0 before the first launch. A guess for the next launch, never a bound.
    measured: AtomicU64,
    /// The code as bytes, until somebody asks.
    artifact: Mutex<Option<Vec<u8>>>,
}

/// What a request asks for, lowered.
fn lower<'a>(request: &'a CompileRequest<'_>) -> Result<(&'a Arc<EntryPoint>, Lowered), DeviceError> {
    let CompileSource::Portable(entry) = &request.source else {
        return Err(DeviceError::Unsupported("kernels other than portable ones on the cpu device"));
    };
    // Violations are reported at once: code that is never reached costs less here than a variable that is looked at in the end.
    let lowering = Lowering { bounds: request.bounds, deferred: false, print_room: request.print_room, names: None };
    let lowered = entry.lower(&lowering).map_err(|found| DeviceError::Internal(found.text))?;
    Ok((entry, lowered))
}

impl Kernel {
    /// `keep`: somebody will ask for the artifact.
    pub(crate) fn compile(request: &CompileRequest<'_>, scratches: &Scratches, keep: bool) -> Result<Self, DeviceError> {
        let (entry, lowered) = lower(request)?;
        let (code, artifact) = CompiledKernel::compile_to_keep(lowered, request.bounds, request.cancellable, keep)?;
        let kernel = Self::new(Code::Compiled(code), entry.reflection().clone(), request.cancellable, scratches)?;
        *kernel.artifact.lock() = artifact;
        Ok(kernel)
    }

    pub(crate) fn restore(request: &CompileRequest<'_>, scratches: &Scratches, artifact: &[u8]) -> Result<Self, DeviceError> {
        let (entry, lowered) = lower(request)?;
        let code = CompiledKernel::restore(&lowered, request.bounds, request.cancellable, artifact)?;
        Self::new(Code::Compiled(code), entry.reflection().clone(), request.cancellable, scratches)
    }

    pub(crate) fn take_artifact(&self) -> Option<Vec<u8>> {
        self.artifact.lock().take()
    }

    pub(crate) fn new(code: Code, reflection: Reflection, cancellable: bool, scratches: &Scratches) -> Result<Self, DeviceError> {
        let scratch = scratches.class(code.scratch_size())?;
        let bound = code.cost().map(|cost| (cost.saturating_mul(INSTRUCTION_EIGHTHS) / 8).max(1));
        Ok(Self { reflection, cancellable, code, scratch, bound, measured: AtomicU64::new(0), artifact: Mutex::new(None) })
    }

    /// An upper bound on one thread's time for `groups` workgroups, in nanoseconds.
    pub(crate) fn bound(&self, groups: u64) -> Option<u64> {
        self.bound?.checked_mul(groups)
    }

    /// A guess at one thread's time for `groups` workgroups, in nanoseconds.
    pub(crate) fn estimate(&self, groups: u64) -> Option<u64> {
        let measured = Some(self.measured.load(Ordering::Relaxed)).filter(|&time| time > 0);
        // Measurements include the times in which the thread did not run; the bound does not.
        let one = [measured, self.bound].into_iter().flatten().min()?;
        Some(one.saturating_mul(groups))
    }

    /// Remembers that `groups` workgroups took one thread `time` nanoseconds.
    pub(crate) fn observe(&self, groups: u64, time: u64) {
        if let Some(each) = time.checked_div(groups) {
            self.measured.store(each.max(1), Ordering::Relaxed);
        }
    }

    /// Whether guests run it without being asked for scratch, on what stack they have.
    pub(crate) fn takes_any_guest(&self) -> bool {
        self.scratch.is_none() && self.takes_guests()
    }

    /// Whether a host thread has the stack for it.
    fn takes_guests(&self) -> bool {
        self.code.frame() <= GUEST_FRAME
    }

    /// Scratch for a run by `seat`. `Err` to a guest when all that guests may use is taken, or the kernel is for workers only.
    pub(crate) fn lease(&self, seat: Seat) -> Result<Option<Lease>, ()> {
        if matches!(seat, Seat::Waiter | Seat::Caller) && !self.takes_guests() {
            return Err(());
        }
        match &self.scratch {
            None => Ok(None),
            Some(class) => class.lease(seat).map(Some).ok_or(()),
        }
    }

    pub(crate) fn facts(&self) -> KernelFacts {
        KernelFacts {
            registers: None,
            max_invocations: None,
            workgroup_memory: self.reflection.workgroup_memory,
            code_size: self.code.size() as u64,
        }
    }

    /// What it reports, and the record that it does so in.
    pub(crate) fn reports(&self) -> &Arc<Reports> {
        match &self.code {
            Code::Compiled(code) => code.reports(),
            #[cfg(test)]
            Code::Test(code) => &code.reports,
        }
    }

    /// Runs one workgroup.
    ///
    /// # Safety
    /// As for [`CompiledKernel::run`].
    pub(crate) unsafe fn run(&self, context: &Context, group: [u32; 3]) {
        match &self.code {
            // SAFETY: the caller's promise.
            Code::Compiled(code) => unsafe { code.run(context, group) },
            #[cfg(test)]
            Code::Test(code) => (code.run)(context, group),
        }
    }
}

impl Code {
    fn scratch_size(&self) -> usize {
        match self {
            Self::Compiled(code) => code.scratch_size(),
            #[cfg(test)]
            Self::Test(code) => code.scratch,
        }
    }

    fn cost(&self) -> Option<u64> {
        match self {
            Self::Compiled(code) => code.cost(),
            #[cfg(test)]
            Self::Test(code) => code.cost,
        }
    }

    fn frame(&self) -> u32 {
        match self {
            Self::Compiled(code) => code.frame(),
            #[cfg(test)]
            Self::Test(code) => code.frame,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Compiled(code) => code.code_size(),
            #[cfg(test)]
            Self::Test(_) => 0,
        }
    }
}

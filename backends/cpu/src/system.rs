//! What the device asks of the operating system: processors, memory, pages, quiet threads, the floating point mode.
//!
//! [`os`] has the calls of one family of systems each, and is the only place that makes any. No knowledge of kernels or queues.

use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

#[cfg(unix)]
#[path = "system/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "system/windows.rs"]
mod os;

pub(crate) use os::{map_pages, memory_available, memory_size, spawn_quiet, unmap_pages};

/// Processors that this process may run on.
pub(crate) fn processors() -> u32 {
    thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1))
}

/// The processor's name for people.
pub(crate) fn processor_name() -> String {
    os::processor_name().unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// The target that code is generated for, with the widest vector extension present.
pub(crate) fn target() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let level = if is_x86_feature_detected!("avx512f") {
            "avx512"
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            "avx2"
        } else if is_x86_feature_detected!("avx") {
            "avx"
        } else if is_x86_feature_detected!("sse4.2") {
            "sse4.2"
        } else {
            "sse2"
        };
        format!("x86_64-{level}")
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::env::consts::ARCH.to_owned()
}

/// Nanoseconds of a clock that never goes back, from a moment early in the process.
pub(crate) fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    // One more, so that no stamp is 0, which some readers take for "none".
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

/// While it lives, this thread computes in the default floating point mode (round to nearest, no flush to zero, no traps), whatever the host set.
/// Kernels give the same bits on the host's thread as on a worker.
pub(crate) struct DefaultFloats {
    before: mode::Control,
}

impl DefaultFloats {
    pub(crate) fn enter() -> Self {
        let before = mode::get();
        if before & mode::RULES != mode::DEFAULT {
            mode::set(mode::DEFAULT);
        }
        Self { before }
    }
}

impl Drop for DefaultFloats {
    fn drop(&mut self) {
        if self.before & mode::RULES != mode::DEFAULT {
            mode::set(self.before);
        }
    }
}

/// The control register of floating point.
#[cfg(target_arch = "x86_64")]
mod mode {
    pub(super) type Control = u32;
    /// All but the low six bits, which only record what happened.
    pub(super) const RULES: Control = !0x3f;
    pub(super) const DEFAULT: Control = 0x1f80;

    pub(super) fn get() -> Control {
        let mut control = 0_u32;
        // SAFETY: stores the control register into a local.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
        control
    }

    pub(super) fn set(value: Control) {
        // SAFETY: loads a valid control word. Generated code is reached through an opaque call, so no arithmetic moves across this.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags)) };
    }
}

/// The control register of floating point.
#[cfg(target_arch = "aarch64")]
mod mode {
    pub(super) type Control = u64;
    /// What happened is recorded elsewhere.
    pub(super) const RULES: Control = !0;
    pub(super) const DEFAULT: Control = 0;

    pub(super) fn get() -> Control {
        let control;
        // SAFETY: reads the control register, which every program may.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
        control
    }

    pub(super) fn set(value: Control) {
        // SAFETY: a value that was there, or the one that programs start with. Generated code is reached through an opaque call, so no arithmetic moves across this.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the floating point mode of this processor has to be set here, or its kernels depend on the host's");

//! What the device asks of the operating system: processors, memory, pages, quiet threads, the floating point mode.
//!
//! The only file that calls libc. No knowledge of kernels or queues.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Processors that this process may run on.
pub(crate) fn processors() -> u32 {
    thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1))
}

/// Bytes of memory that this process may use: the machine's, or less where a control group says so.
pub(crate) fn memory_size() -> u64 {
    // SAFETY: sysconf only reads its argument.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let physical = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page).unwrap_or(0));
    let physical = if physical == 0 { 1 << 30 } else { physical };
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
        .filter(|&limit| limit > 0)
        .fold(physical, u64::min)
}

/// Bytes that can be had now without swapping; `None` where the system does not tell.
pub(crate) fn memory_available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The processor's name for people.
pub(crate) fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'))
        .map_or_else(|| format!("{} processor", std::env::consts::ARCH), |(_, name)| name.trim().to_owned())
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

/// Maps `size` bytes of zero pages; `None` when the system has none.
pub(crate) fn map_pages(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: a fresh anonymous mapping at an address of the system's choice touches nothing that exists.
    let pointer = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if pointer == libc::MAP_FAILED {
        return None;
    }
    const HUGE: usize = 2 << 20;
    if size >= 2 * HUGE {
        // Far fewer page faults on first touch. Refusal costs speed only.
        // SAFETY: the range is the mapping made above; this advice changes no contents.
        unsafe { libc::madvise(pointer, size, libc::MADV_HUGEPAGE) };
    }
    NonNull::new(pointer.cast())
}

/// Unmaps what [`map_pages`] gave.
///
/// # Safety
/// `pointer` and `size` are a mapping made by [`map_pages`], not unmapped before, and nobody uses it any more.
pub(crate) unsafe fn unmap_pages(pointer: NonNull<u8>, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(pointer.as_ptr().cast(), size) };
}

/// Starts a thread that no signal of the host is ever delivered to.
pub(crate) fn spawn_quiet(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    // A new thread inherits the mask, so blocking here, not in the thread, leaves no moment in which it could be chosen.
    // SAFETY: the sets are plain data filled in by the calls; only this thread's own mask changes, and is put back.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        // Faults of the thread itself must still kill the process rather than be lost.
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGTRAP] {
            libc::sigdelset(&raw mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let spawned = thread::Builder::new().name(name).spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        spawned
    }
}

/// While it lives, this thread computes in the default floating point mode (round to nearest, no flush to zero, no traps), whatever the host set.
/// Kernels give the same bits on the host's thread as on a worker.
pub(crate) struct DefaultFloats {
    #[cfg(target_arch = "x86_64")]
    before: u32,
}

#[cfg(target_arch = "x86_64")]
impl DefaultFloats {
    const DEFAULT: u32 = 0x1f80;

    pub(crate) fn enter() -> Self {
        let mut before = 0_u32;
        // SAFETY: stores the control register into a local.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack, preserves_flags)) };
        // The low six bits only record what happened.
        if before & !0x3f != Self::DEFAULT {
            Self::set(Self::DEFAULT);
        }
        Self { before }
    }

    fn set(value: u32) {
        // SAFETY: loads a valid control word. Generated code is reached through an opaque call, so no arithmetic moves across this.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for DefaultFloats {
    fn drop(&mut self) {
        if self.before & !0x3f != Self::DEFAULT {
            Self::set(self.before);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl DefaultFloats {
    pub(crate) fn enter() -> Self {
        Self {}
    }
}

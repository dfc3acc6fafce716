//! Linux, macOS and other systems of their family.

use std::io;
use std::ptr::{self, NonNull};
use std::thread::{self, JoinHandle};

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

/// The processor's name, where the system tells one.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn processor_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

/// The processor's name, where the system tells one.
#[cfg(target_vendor = "apple")]
pub(super) fn processor_name() -> Option<String> {
    let mut text = [0_u8; 256];
    let mut size = text.len();
    let name = c"machdep.cpu.brand_string".as_ptr();
    // SAFETY: the place has `size` bytes, and nothing is set.
    let failed = unsafe { libc::sysctlbyname(name, text.as_mut_ptr().cast(), &raw mut size, ptr::null_mut(), 0) };
    let name = std::ffi::CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().into_owned();
    (failed == 0 && !name.is_empty()).then_some(name)
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
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if size >= 4 << 20 {
        // Two huge pages or more: far fewer page faults on first touch. Refusal costs speed only.
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
pub(crate) fn spawn_quiet(name: String, stack: usize, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
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
        let spawned = thread::Builder::new().name(name).stack_size(stack).spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        spawned
    }
}

//! Windows.

use std::io;
use std::mem::size_of;
use std::ptr::{self, NonNull};
use std::thread::{self, JoinHandle};

use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::w;

fn memory() -> Option<MEMORYSTATUSEX> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the place is ours and says how large it is.
    (unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0).then_some(status)
}

/// Bytes of memory of the machine. A limit of the process's job needs no look: it counts what is mapped, so mapping fails then.
pub(crate) fn memory_size() -> u64 {
    memory().map_or(1 << 30, |status| status.ullTotalPhys)
}

/// Bytes that can be had now without swapping; `None` where the system does not tell.
pub(crate) fn memory_available() -> Option<u64> {
    memory().map(|status| status.ullAvailPhys)
}

/// The processor's name, where the system tells one.
pub(super) fn processor_name() -> Option<String> {
    let mut text = [0_u16; 256];
    let mut bytes = size_of_val(&text) as u32;
    let (key, value) = (w!(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"), w!("ProcessorNameString"));
    let into = text.as_mut_ptr().cast();
    // SAFETY: the names end with a zero, and the place has `bytes` bytes.
    let failed = unsafe { RegGetValueW(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_SZ, ptr::null_mut(), into, &raw mut bytes) };
    let letters: Vec<u16> = text.into_iter().take_while(|letter| *letter != 0).collect();
    let name = String::from_utf16_lossy(&letters).trim().to_owned();
    (failed == 0 && !name.is_empty()).then_some(name)
}

/// Maps `size` bytes of zero pages; `None` when the system has none.
pub(crate) fn map_pages(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: fresh pages at an address of the system's choice touch nothing that exists.
    NonNull::new(unsafe { VirtualAlloc(ptr::null(), size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) }.cast())
}

/// Unmaps what [`map_pages`] gave.
///
/// # Safety
/// `pointer` is a mapping made by [`map_pages`], not unmapped before, and nobody uses it any more.
pub(crate) unsafe fn unmap_pages(pointer: NonNull<u8>, _size: usize) {
    // SAFETY: the caller's promise. A size of 0 means all that was mapped at once.
    unsafe { VirtualFree(pointer.as_ptr().cast(), 0, MEM_RELEASE) };
}

/// Starts a thread. There are no signals that the host's would have to be kept from.
pub(crate) fn spawn_quiet(name: String, stack: usize, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).stack_size(stack).spawn(body)
}

//! What this layer asks of the operating system: forks, staying loaded, descriptors for a host's own loop, the rights of the process.
//!
//! Each question has an answer for every system, and one that a system has no answer to is refused with words. Nothing here knows devices.

#[cfg(unix)]
use std::path::Path;

use super::boundary::*;
use super::status::*;
use crate::runtime::Process;

// ---- forks ----

/// Has `child` called in every child that this process forks. Whether that can be promised.
///
/// # Safety
/// `child` does not unwind, does only what may be done there, and stays where it is as long as the process lives.
#[cfg(unix)]
pub(super) unsafe fn watch_forks(child: unsafe extern "C" fn()) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::pthread_atfork(None, None, Some(child)) == 0 }
}

/// Windows has no forks.
///
/// # Safety
/// None.
#[cfg(windows)]
pub(super) unsafe fn watch_forks(_: unsafe extern "C" fn()) -> bool {
    true
}

// ---- staying loaded ----

/// Keeps the library that this is part of loaded until the process ends, whatever its host does: it has threads, and handlers that the system calls.
/// That is the plugin it is linked into, where it is linked statically. In a program, which is never unloaded, the loader finds nothing by that name.
///
/// (Where it is linked by the Makefile, Linux's loader knows from the library itself: `-z nodelete`.)
#[cfg(unix)]
pub(super) fn stay_loaded() {
    // SAFETY: the place is ours; the name that comes back is the loader's, and what has it is loaded already, so nothing of it runs.
    unsafe {
        let mut own = std::mem::zeroed::<libc::Dl_info>();
        if libc::dladdr((stay_loaded as *const ()).cast(), &raw mut own) != 0 && !own.dli_fname.is_null() {
            libc::dlopen(own.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}

#[cfg(windows)]
pub(super) fn stay_loaded() {
    use windows_sys::Win32::System::LibraryLoader::{
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleHandleExW,
    };

    let mut module = std::ptr::null_mut();
    let how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    // SAFETY: with this flag the name is an address in the library, and the place is ours.
    unsafe { GetModuleHandleExW(how, (stay_loaded as *const ()).cast(), &raw mut module) };
}

// ---- descriptors ----

/// A descriptor for the caller, who closes it, and what makes it readable.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn descriptor() -> Result<(i32, impl FnOnce() + Send + 'static), Complaint> {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd};

    // SAFETY: takes numbers, gives a new descriptor or -1.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        let why = std::io::Error::last_os_error();
        return refuse!(COMPUTE_ERROR_OUT_OF_MEMORY, "no eventfd could be made: {why}");
    }
    // SAFETY: the descriptor is new and ours.
    let theirs = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut ours = match theirs.try_clone() {
        Ok(ours) => File::from(ours),
        Err(why) => return refuse!(COMPUTE_ERROR_OUT_OF_MEMORY, "no second descriptor could be made: {why}"),
    };
    // A counter that is full is readable already.
    Ok((theirs.into_raw_fd(), move || drop(ours.write(&1_u64.to_ne_bytes()))))
}

/// A descriptor for the caller, who closes it, and what makes it readable: two ends of a pipe.
#[cfg(target_vendor = "apple")]
pub(super) fn descriptor() -> Result<(i32, impl FnOnce() + Send + 'static), Complaint> {
    use std::io::Write as _;
    use std::os::fd::{AsRawFd as _, IntoRawFd as _};

    let (theirs, mut ours) = match std::io::pipe() {
        Ok(ends) => ends,
        Err(why) => return refuse!(COMPUTE_ERROR_OUT_OF_MEMORY, "no pipe could be made: {why}"),
    };
    // SAFETY: both descriptors are ours; a read must not wait, as one of an eventfd does not, and a write to a pipe whose reader is gone must raise no signal.
    let failed = unsafe {
        libc::fcntl(theirs.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) < 0
            || libc::fcntl(ours.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) < 0
    };
    if failed {
        let why = std::io::Error::last_os_error();
        return refuse!(COMPUTE_ERROR_OUT_OF_MEMORY, "a pipe could not be set up: {why}");
    }
    // A reader that is gone needs to hear nothing.
    Ok((theirs.into_raw_fd(), move || drop(ours.write(&1_u64.to_ne_bytes()))))
}

/// There are no descriptors that a loop could wait for, or none that anybody has tried.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn descriptor() -> Result<(i32, fn()), Complaint> {
    refuse!(
        COMPUTE_ERROR_UNSUPPORTED,
        "events have no file descriptors on this system; have compute_event_on_complete call a function of yours on a worker \
         (COMPUTE_CALLBACK_ON_WORKER), which may do SetEvent or PostQueuedCompletionStatus"
    )
}

// ---- the rights of the process ----

#[cfg(unix)]
pub(super) fn process() -> Process {
    // SAFETY: it has no conditions.
    let user = unsafe { libc::geteuid() };
    Process { user, largest_file, has_list, lists_exceed_modes: !cfg!(any(target_os = "linux", target_os = "android")) }
}

/// No user has a number here, and `runtime::disk` keeps nothing.
#[cfg(windows)]
pub(super) fn process() -> Process {
    Process { user: 0, largest_file: || u64::MAX, has_list: |_| true, lists_exceed_modes: true }
}

#[cfg(unix)]
fn largest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the place is ours.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    if told && limit.rlim_cur != libc::RLIM_INFINITY { limit.rlim_cur } else { u64::MAX }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_list(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;

    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return true };
    // SAFETY: both are texts that end with a zero, and nothing is written: only the size is asked for.
    let size = unsafe { libc::lgetxattr(path.as_ptr(), c"system.posix_acl_access".as_ptr(), std::ptr::null_mut(), 0) };
    let none = [libc::ENODATA, libc::ENOTSUP];
    size >= 0 || !std::io::Error::last_os_error().raw_os_error().is_some_and(|error| none.contains(&error))
}

/// Every home has lists there that take rights away (nobody may delete the folder of documents), so only those that give some count.
#[cfg(target_vendor = "apple")]
fn has_list(path: &Path) -> bool {
    use std::ffi::{c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt as _;

    // sys/acl.h, of which the libc crate has nothing.
    unsafe extern "C" {
        fn acl_get_link_np(path: *const c_char, kind: c_int) -> *mut c_void;
        fn acl_get_entry(list: *mut c_void, which: c_int, entry: *mut *mut c_void) -> c_int;
        fn acl_get_tag_type(entry: *mut c_void, tag: *mut c_int) -> c_int;
        fn acl_free(list: *mut c_void) -> c_int;
    }
    const ACL_TYPE_EXTENDED: c_int = 0x100;
    const ACL_FIRST_ENTRY: c_int = 0;
    const ACL_NEXT_ENTRY: c_int = -1;
    const ACL_EXTENDED_DENY: c_int = 2;

    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return true };
    // SAFETY: the path ends with a zero; the list is freed once, after its last entry was looked at.
    unsafe {
        let list = acl_get_link_np(path.as_ptr(), ACL_TYPE_EXTENDED);
        if list.is_null() {
            // The answer where there is none, or where the file system has none at all.
            let none = [libc::ENOENT, libc::ENOTSUP];
            return !std::io::Error::last_os_error().raw_os_error().is_some_and(|error| none.contains(&error));
        }
        let (mut entry, mut which, mut gives) = (std::ptr::null_mut(), ACL_FIRST_ENTRY, false);
        while acl_get_entry(list, which, &raw mut entry) == 0 {
            let mut tag = 0;
            gives |= acl_get_tag_type(entry, &raw mut tag) != 0 || tag != ACL_EXTENDED_DENY;
            which = ACL_NEXT_ENTRY;
        }
        acl_free(list);
        gives
    }
}

/// Lists of other systems are not asked for, so nothing is kept there.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
fn has_list(_: &Path) -> bool {
    true
}

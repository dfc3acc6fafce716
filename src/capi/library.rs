//! The library itself: version, interface number, names of status codes, logging.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use super::boundary::{guard, refuse};
use super::status::*;
use super::types::*;
use crate::runtime::log;

/// The version of the library, "major.minor.patch". Never NULL; never freed. From any thread, and in a forked child too.
#[unsafe(no_mangle)]
pub extern "C" fn compute_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"unknown",
    };
    VERSION.as_ptr()
}

/// Whether this library has the interface that the caller's header has: pass `COMPUTE_ABI`. Otherwise `COMPUTE_ERROR_ABI`.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_check_abi(abi: u32, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || check_abi(abi).map(|()| COMPUTE_OK))
}

/// Refuses headers of another interface.
pub(crate) fn check_abi(abi: u32) -> Result<(), super::boundary::Complaint> {
    if abi == COMPUTE_ABI {
        return Ok(());
    }
    let version = env!("CARGO_PKG_VERSION");
    refuse!(
        COMPUTE_ERROR_ABI,
        "the header has interface {abi}, this library ({version}) has {COMPUTE_ABI}: use the header that belongs to it"
    )
}

macro_rules! names {
    ($($name:ident)*) => {
        /// Every status code of this version with its name.
        pub(crate) const NAMES: &[(compute_status, &CStr)] = &[$(($name, {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            }
        })),*];
    };
}

names! {
    COMPUTE_OK COMPUTE_NOT_READY COMPUTE_TIMEOUT COMPUTE_INCOMPLETE COMPUTE_SKIPPED
    COMPUTE_ERROR_INVALID_ARGUMENT COMPUTE_ERROR_INVALID_HANDLE COMPUTE_ERROR_FOREIGN_HANDLE COMPUTE_ERROR_INVALID_STRUCT
    COMPUTE_ERROR_INVALID_ENUM COMPUTE_ERROR_INVALID_UTF8 COMPUTE_ERROR_OUT_OF_RANGE COMPUTE_ERROR_OVERLAP COMPUTE_ERROR_BUSY
    COMPUTE_ERROR_FORKED COMPUTE_ERROR_LIMIT COMPUTE_ERROR_MISALIGNED COMPUTE_ERROR_UNSUPPORTED COMPUTE_ERROR_BINDING
    COMPUTE_ERROR_ABI COMPUTE_ERROR_NOT_FOUND
    COMPUTE_ERROR_OUT_OF_MEMORY COMPUTE_ERROR_TOO_LARGE COMPUTE_ERROR_POOLS_IN_USE COMPUTE_ERROR_BUDGET COMPUTE_ERROR_INVALID_LAYOUT
    COMPUTE_ERROR_NOT_BACKED COMPUTE_ERROR_POOLS_FROZEN COMPUTE_ERROR_POOL_FULL
    COMPUTE_ERROR_UNSUPPORTED_STRIDES
    COMPUTE_ERROR_RECORDING
    COMPUTE_ERROR_CAPTURE
    COMPUTE_ERROR_ALREADY_OWNED COMPUTE_ERROR_READ_ONLY
    COMPUTE_ERROR_NO_DEVICE COMPUTE_ERROR_DEVICE_POISONED COMPUTE_ERROR_DRIVER COMPUTE_ERROR_TARGET COMPUTE_ERROR_STILL_BORROWED
    COMPUTE_ERROR_COMPILE COMPUTE_ERROR_KERNEL_FAULT COMPUTE_ERROR_TIME_LIMIT COMPUTE_ERROR_GRID_LIMIT
    COMPUTE_ERROR_UNWRITTEN COMPUTE_ERROR_SEVERAL COMPUTE_ERROR_NEVER_WRITTEN COMPUTE_ERROR_ABANDONED
    COMPUTE_ERROR_INTERNAL
}

fn status_name(status: compute_status) -> &'static CStr {
    if let Some((_, name)) = NAMES.iter().find(|(code, _)| *code == status) {
        return name;
    }
    match status {
        1.. => c"COMPUTE_UNKNOWN",
        -199..=-100 => c"COMPUTE_ERROR_UNKNOWN_CALLER",
        -299..=-200 => c"COMPUTE_ERROR_UNKNOWN_RESOURCE",
        -399..=-300 => c"COMPUTE_ERROR_UNKNOWN_DEVICE",
        -499..=-400 => c"COMPUTE_ERROR_UNKNOWN_KERNEL",
        -599..=-500 => c"COMPUTE_ERROR_UNKNOWN_TRUST",
        -699..=-600 => c"COMPUTE_ERROR_UNKNOWN_INTERNAL",
        _ => c"COMPUTE_ERROR_UNKNOWN",
    }
}

/// The same for messages.
pub(crate) fn status_text(status: compute_status) -> &'static str {
    status_name(status).to_str().unwrap_or("COMPUTE_ERROR_UNKNOWN")
}

/// The name of a status, such as "COMPUTE_OK"; of one that this version does not know, the name of its class, such as
/// "COMPUTE_ERROR_UNKNOWN_DEVICE". Never NULL; never freed. From any thread, and in a forked child too.
#[unsafe(no_mangle)]
pub extern "C" fn compute_status_name(status: compute_status) -> *const c_char {
    status_name(status).as_ptr()
}

struct Listener {
    callback: unsafe extern "C" fn(user: *mut c_void, level: u32, text: *const c_char, length: usize),
    user: *mut c_void,
}

// SAFETY: the caller of `compute_log_set` promises that the callback may be called from any thread.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    fn hear(&self, level: u32, text: &str) {
        // SAFETY: the caller of `compute_log_set` gave the callback for this; the text lives for the call.
        unsafe { (self.callback)(self.user, level, text.as_ptr().cast(), text.len()) }
    }
}

/// Sends log lines up to `level` (`COMPUTE_LOG_...`) to `callback`, from any thread and with no lock held; NULL or `COMPUTE_LOG_OFF` ends that.
/// Lines that kernels print come at every level but `COMPUTE_LOG_OFF`; kernels made while nobody listens do not print at all.
/// For the whole library; silent by default. A line that is under way on another thread may still arrive just after this returned, and nothing tells when the last one has:
/// let `user`, and the code of `callback`, live as long as other threads use the library.
///
/// # Safety
/// `callback` may be called with `user` from any thread until another one has been set. `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_log_set(
    callback: compute_log_callback,
    user: *mut c_void,
    level: u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        if level > COMPUTE_LOG_LAUNCHES && level != COMPUTE_LOG_PRINT {
            return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{level} is not a COMPUTE_LOG_");
        }
        let sink = callback.map(|callback| -> log::Sink {
            let listener = Listener { callback, user };
            Arc::new(move |level, text| listener.hear(level, text))
        });
        log::set(level, sink);
        Ok(COMPUTE_OK)
    })
}

//! The cache of compiled kernels on disk: where it is, and what it has done.

#[cfg(target_os = "linux")]
use std::ffi::CString;
#[cfg(unix)]
use std::path::Path;

use super::boundary::*;
use super::objects::find;
use super::status::*;
use super::types::*;
use crate::runtime::{DiskOptions, DiskReport, Process};

/// Where kernels are kept.
///
/// # Safety
/// What `desc` points to is valid.
pub(crate) unsafe fn read_cache(desc: &compute_cache_desc) -> Result<DiskOptions, Complaint> {
    // SAFETY: as our own caller says.
    let folder = unsafe { read_text(desc.folder, desc.folder_length, MOST_NAME, "folder") }?;
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(DiskOptions { folder: folder.into(), limit: desc.max_bytes, process: process() }),
        None => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the folder of a compute_cache_desc is NULL or empty"),
    }
}

#[cfg(unix)]
fn process() -> Process {
    // SAFETY: it has no conditions.
    Process { user: unsafe { libc::geteuid() }, largest_file, has_list }
}

#[cfg(unix)]
fn largest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the place is ours.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    if told && limit.rlim_cur != libc::RLIM_INFINITY { limit.rlim_cur } else { u64::MAX }
}

#[cfg(target_os = "linux")]
fn has_list(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;

    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return true };
    // SAFETY: both are texts that end with a zero, and nothing is written: only the size is asked for.
    let size = unsafe { libc::lgetxattr(path.as_ptr(), c"system.posix_acl_access".as_ptr(), std::ptr::null_mut(), 0) };
    let none = [libc::ENODATA, libc::ENOTSUP];
    size >= 0 || !std::io::Error::last_os_error().raw_os_error().is_some_and(|error| none.contains(&error))
}

/// Lists of other systems are not asked for.
#[cfg(all(unix, not(target_os = "linux")))]
fn has_list(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn process() -> Process {
    Process { user: 0, largest_file: || u64::MAX, has_list: |_| false }
}

/// What a device's cache of kernels on disk has done since the device was opened. Kernels that the process had anyway are not counted. Answers on a poisoned device too.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_cache_info(
    device: compute_device,
    info: *mut compute_cache_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        out.set(&info_of(find(device)?.device.disk_report()));
        Ok(COMPUTE_OK)
    })
}

fn info_of(report: Option<DiskReport>) -> compute_cache_info {
    let state = match &report {
        None => COMPUTE_CACHE_NONE,
        Some(report) if report.refused.is_none() => COMPUTE_CACHE_ON,
        Some(_) => COMPUTE_CACHE_REFUSED,
    };
    let report = report.unwrap_or_default();
    compute_cache_info {
        struct_size: size_of::<compute_cache_info>() as u32,
        state,
        hits: report.hits,
        misses: report.misses,
        rejected: report.rejected,
        stored: report.stored,
        failed: report.failed,
        evicted: report.evicted,
        bytes_read: report.bytes_read,
        bytes_written: report.bytes_written,
        max_bytes: report.limit,
        reason: field(&report.refused.unwrap_or_default()),
    }
}

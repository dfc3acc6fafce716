//! The cache of compiled kernels on disk: where it is, and what it has done.

use super::boundary::*;
use super::objects::find;
use super::status::*;
use super::system;
use super::types::*;
use crate::runtime::{DiskOptions, DiskReport};

/// Where kernels are kept.
///
/// # Safety
/// What `desc` points to is valid.
pub(crate) unsafe fn read_cache(desc: &compute_cache_desc) -> Result<DiskOptions, Complaint> {
    // SAFETY: as our own caller says.
    let folder = unsafe { read_text(desc.folder, desc.folder_length, MOST_NAME, "folder") }?;
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(DiskOptions { folder: folder.into(), limit: desc.max_bytes, process: system::process() }),
        None => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the folder of a compute_cache_desc is NULL or empty"),
    }
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

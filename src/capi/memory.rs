//! Memory: what is in use, pools and their layouts, giving pages back.

use std::sync::Arc;

use super::boundary::*;
use super::objects::{Noun, find};
use super::status::*;
use super::types::*;
use crate::runtime::{Buffer, PoolKind, PoolLayout, PoolReport, PoolSpec};

/// Memory of a device in use, over all streams (M4). Answers on a poisoned device too.
///
/// # Safety
/// `usage` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_memory_usage(
    device: compute_device,
    usage: *mut compute_memory_usage,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(usage) }?;
        let now = find(device)?.device.usage();
        out.set(&compute_memory_usage {
            struct_size: size_of::<compute_memory_usage>() as u32,
            reserved: 0,
            buffers: now.buffers,
            bytes_in_use: now.bytes_in_use,
            bytes_reserved: now.bytes_reserved,
            bytes_in_use_peak: now.bytes_in_use_peak,
            bytes_reserved_peak: now.bytes_reserved_peak,
            bytes_pending: now.bytes_pending,
            bytes_idle: now.bytes_idle,
            largest_free: now.largest_free,
            bytes_staging: now.bytes_staging,
            bytes_imported: now.bytes_imported,
        });
        Ok(COMPUTE_OK)
    })
}

/// Gives every page of a device back to the driver that holds no buffer and is not in use (M1), over all streams. Does not wait for work.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_cleanup(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(device)?.device.cleanup()?;
        Ok(COMPUTE_OK)
    })
}

/// As `compute_device_cleanup`, for the pools of one stream.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_cleanup(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(stream)?.cleanup()?;
        Ok(COMPUTE_OK)
    })
}

/// Moves buffers so that whole pages become idle, and gives these back to the driver (M1): of the stream's pools, and of the device's buffers of no stream.
/// Moved are buffers whose every use is over, but for those with `COMPUTE_BUFFER_FLAG_FIXED`; their bytes, and what is known of these, stay the same, and so do
/// handles and views. Later work waits for the moves on the device, and this call waits for them. Frozen pools are left alone. `info` may be NULL.
///
/// Errors leave every buffer with its bytes, wherever it is.
///
/// # Safety
/// `info` is NULL or points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_compact(
    stream: compute_stream,
    info: *mut compute_compaction_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = if info.is_null() { None } else { Some(unsafe { OutStruct::new(info) }?) };
        let stream = find(stream)?;
        let done = stream.compact(&live_buffers()?)?;
        if let Some(out) = out {
            out.set(&compute_compaction_info {
                struct_size: size_of::<compute_compaction_info>() as u32,
                reserved: 0,
                buffers: done.buffers,
                bytes: done.bytes,
                bytes_freed: done.freed,
            });
        }
        Ok(COMPUTE_OK)
    })
}

/// Every buffer that has a handle, of whatever device.
fn live_buffers() -> Result<Vec<Arc<Buffer>>, Complaint> {
    let (mut all, mut full) = (Vec::new(), false);
    compute_buffer_s::table().each(|buffer| match all.try_reserve(1) {
        Ok(()) => all.push(Arc::clone(buffer)),
        Err(_) => full = true,
    });
    if full { Err(Complaint::NoMemory) } else { Ok(all) }
}

fn report_of(report: &PoolReport) -> compute_pool_report {
    compute_pool_report {
        struct_size: size_of::<compute_pool_report>() as u32,
        kind: match report.kind {
            PoolKind::Sliced => COMPUTE_POOL_SLICED,
            PoolKind::Exclusive => COMPUTE_POOL_EXCLUSIVE,
        },
        persistent: report.persistent.into(),
        reserved: 0,
        largest: report.largest,
        page_size: report.page_size,
        cap: report.cap,
        pages: report.pages,
        allocations: report.allocations,
        bytes_in_use: report.in_use,
        bytes_pending: report.pending,
        bytes_reserved: report.reserved,
        largest_free: report.largest_free,
        bytes_in_use_peak: report.peak_in_use,
        bytes_reserved_peak: report.peak_reserved,
        pages_peak: report.peak_pages,
    }
}

/// The pools of a stream at one moment (M4): the main ones in the order in which sizes are routed to them, then the persistent ones. None for a stream
/// that never allocated. `*count` is told how many there are; the first `capacity` of them are written to `reports`, `report_stride` bytes apart (0:
/// `sizeof(compute_pool_report)`), each as large as the `struct_size` of the first one says. With a capacity of 0 `reports` may be NULL. Answers
/// `COMPUTE_INCOMPLETE` when `reports` was given and could not take all. Answers on a poisoned device too.
///
/// # Safety
/// The pointers are valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_memory_report(
    stream: compute_stream,
    reports: *mut compute_pool_report,
    report_stride: usize,
    capacity: usize,
    count: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let count = unsafe { Out::new(count, "count", 0) }?;
        let pools = find(stream)?.memory_report().unwrap_or_default();
        count.set(pools.len());
        // SAFETY: as our own caller says.
        unsafe { write_structs(pools.iter().map(report_of), reports, report_stride, capacity, "reports") }?;
        Ok(if capacity > 0 && capacity < pools.len() { COMPUTE_INCOMPLETE } else { COMPUTE_OK })
    })
}

/// Sets how many bytes of scratch buffers (`COMPUTE_BUFFER_FLAG_SCRATCH`) a stream may have at once; at first there is no limit. What exists stays. A buffer beyond it
/// is refused with `COMPUTE_ERROR_LIMIT` and the numbers. A buffer counts until its handle ends: what a capture window or a graph keeps of it does not count.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_set_scratch_limit(
    stream: compute_stream,
    bytes: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        find(stream)?.set_scratch_limit(bytes);
        Ok(COMPUTE_OK)
    })
}

fn spec_of(desc: &compute_pool_desc) -> Result<PoolSpec, Complaint> {
    check_zero(desc.reserved.into(), "reserved")?;
    let kind = match desc.kind {
        COMPUTE_POOL_SLICED => PoolKind::Sliced,
        COMPUTE_POOL_EXCLUSIVE => PoolKind::Exclusive,
        kind => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{kind} is not a COMPUTE_POOL_"),
    };
    let page_most = if desc.page_most == 0 { desc.page } else { desc.page_most };
    let cap = if desc.cap == 0 { u64::MAX } else { desc.cap };
    Ok(PoolSpec { kind, largest: desc.largest, page: desc.page, page_most, cap })
}

/// Replaces the main pools (M4) by `pool_count` pools in routing order, `pool_stride` bytes apart (0: `sizeof(compute_pool_desc)`): an allocation goes to
/// the first pool whose `largest` it does not exceed. The stream's own pools are replaced at once if nothing is live in them, their marks
/// starting over; every later stream of the device starts with this layout in either case. Persistent pools stay.
///
/// Errors: `INVALID_LAYOUT` with the reason, nothing changed; `POOLS_IN_USE`, nothing of this stream disturbed.
///
/// # Safety
/// `pools` is readable for `pool_count` structs; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_set_pools(
    stream: compute_stream,
    pools: *const compute_pool_desc,
    pool_count: usize,
    pool_stride: usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let stream = find(stream)?;
        // SAFETY: as our own caller says.
        let pools = unsafe { Strided::new(pools, pool_count, pool_stride, PoolLayout::MOST_POOLS, "pools") }?;
        let pools = pools.iter().map(|desc| spec_of(&desc)).collect::<Result<Vec<_>, _>>()?;
        stream.set_pools(PoolLayout { pools })?;
        Ok(COMPUTE_OK)
    })
}

//! Planning memory ahead: dry runs, plans, frozen pools.

use super::boundary::*;
use super::objects::find;
use super::status::*;
use super::types::*;
use crate::runtime::{PoolKind, PoolSpec};

/// Starts a dry run of a stream (M5): what its work takes is measured, and nothing is paid for. Until `compute_stream_end_dry_run`
///
/// - buffers made from the stream's pools are deferred: they get memory at their first use after the dry run, as with
///   `COMPUTE_BUFFER_FLAG_DEFERRED`, or never;
/// - launches are checked and compiled, and touch no buffer;
/// - writes, fills and copies are checked and do nothing: what they would have written stays as it was;
/// - reads are refused with `COMPUTE_ERROR_BUSY`, as there is nothing to read;
/// - `compute_stream_memory_report` tells what the pools would have, with the peaks.
///
/// What is measured is the stream by itself: memory that other streams still use when it is released makes the real run wait, or take more. Budgets are not
/// charged. `COMPUTE_ERROR_BUSY`: it is in a dry run already.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_begin_dry_run(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(stream)?.begin_dry_run()?;
        Ok(COMPUTE_OK)
    })
}

/// Ends the dry run of a stream. `COMPUTE_ERROR_BUSY`: it is in none.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_end_dry_run(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(stream)?.end_dry_run()?;
        Ok(COMPUTE_OK)
    })
}

/// The layout that the dry run of a stream measured, the one that goes on or else the last one: its main pools, each capped at its peak, for
/// `compute_stream_set_pools`. A pool that was not used keeps room for one page. `*count` is told how many pools there are; the first `capacity` of them are
/// written to `pools`, `pool_stride` bytes apart (0: `sizeof(compute_pool_desc)`). With a capacity of 0 `pools` may be NULL. Answers `COMPUTE_INCOMPLETE`
/// when `pools` was given and could not take all. `COMPUTE_ERROR_BUSY`: there was no dry run.
///
/// # Safety
/// The pointers are valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_get_plan(
    stream: compute_stream,
    pools: *mut compute_pool_desc,
    pool_stride: usize,
    capacity: usize,
    count: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let count = unsafe { Out::new(count, "count", 0) }?;
        let plan = find(stream)?.plan()?;
        count.set(plan.pools.len());
        // SAFETY: as our own caller says.
        unsafe { write_array(plan.pools.iter().map(desc_of), pools, pool_stride, capacity, "pools") }?;
        Ok(if capacity > 0 && capacity < plan.pools.len() { COMPUTE_INCOMPLETE } else { COMPUTE_OK })
    })
}

fn desc_of(spec: &PoolSpec) -> compute_pool_desc {
    let kind = match spec.kind {
        PoolKind::Sliced => COMPUTE_POOL_SLICED,
        PoolKind::Exclusive => COMPUTE_POOL_EXCLUSIVE,
    };
    let PoolSpec { largest, page, page_most, cap, .. } = *spec;
    compute_pool_desc { kind, reserved: 0, largest, page, page_most, cap }
}

/// Freezes the pools of a stream, or with 0 thaws them. Frozen pools take no page from the device and give none back, so no allocation calls the driver;
/// one that they have no room for is refused with `COMPUTE_ERROR_POOLS_FROZEN`, which says how much is missing. They cannot be replaced meanwhile.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_freeze_pools(
    stream: compute_stream,
    frozen: u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let stream = find(stream)?;
        if frozen > 1 {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`frozen` is {frozen}; it is 1 to freeze the pools, 0 to thaw them");
        }
        stream.freeze_pools(frozen == 1)?;
        Ok(COMPUTE_OK)
    })
}

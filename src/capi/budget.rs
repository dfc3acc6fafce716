//! Budgets (M6): ceilings on memory that streams share.

use std::ptr;
use std::sync::Arc;

use super::boundary::*;
use super::objects::{add, destroy, find, release, retain};
use super::status::*;
use super::types::*;
use crate::runtime::Budget;

/// Makes a budget of `limit` bytes, more than 0. The caller releases it. Streams of any devices may share it.
///
/// # Safety
/// `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_budget_create(
    limit: u64,
    out: *mut compute_budget,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        if limit == 0 {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "a budget of 0 bytes allows nothing");
        }
        out.set(add(Arc::new(Budget::new(limit)))?);
        Ok(COMPUTE_OK)
    })
}

/// Counts one more reference to a budget.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_budget_retain(budget: compute_budget, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(budget))
}

/// Gives one reference to a budget back; with the last one its handle ends as by `compute_budget_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_budget_release(budget: compute_budget) {
    guard_void(|| release(budget));
}

/// Ends a budget's handle at once, whatever its references. Streams that have it keep it.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_budget_destroy(budget: compute_budget, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(budget))
}

/// Ceiling and charges of a budget, as far as is known now: the charge of an ended buffer goes when a later call sees that its last use is over.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_budget_get_info(
    budget: compute_budget,
    info: *mut compute_budget_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let budget = find(budget)?;
        out.set(&compute_budget_info {
            struct_size: size_of::<compute_budget_info>() as u32,
            reserved: 0,
            limit: budget.limit(),
            charged: budget.charged(),
            charged_peak: budget.peak(),
        });
        Ok(COMPUTE_OK)
    })
}

/// From now on buffers made from this stream's pools are charged to a budget, or with NULL to none. An allocation that does not fit waits once for what was
/// released, and is then refused with `COMPUTE_ERROR_BUDGET`. A charge stays until the work that uses the buffer is over, not merely
/// until its handle is gone; so long its memory is not handed out again. What was charged before stays charged where it was.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_set_budget(
    stream: compute_stream,
    budget: compute_budget,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let stream = find(stream)?;
        let budget = if budget.is_null() { None } else { Some(Arc::clone(&*find(budget)?)) };
        stream.set_budget(budget);
        Ok(COMPUTE_OK)
    })
}

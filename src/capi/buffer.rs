//! Buffers, and the questions about the bytes of views.

use std::ptr;

use smallvec::SmallVec;

use super::boundary::*;
use super::objects::{Live, add, destroy, find, release_buffer, retain, revive};
use super::status::*;
use super::types::*;
use crate::runtime::{self, AllocationMode, Buffer, BufferOptions, LARGEST_KEPT, View};

/// More views in one call are a mistake, or garbage for a number.
pub(crate) const MOST_VIEWS: usize = 1 << 20;

const BUFFER_FLAGS: u64 = COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN
    | COMPUTE_BUFFER_FLAG_PERSISTENT
    | COMPUTE_BUFFER_FLAG_ZEROED
    | COMPUTE_BUFFER_FLAG_HOST_VISIBLE
    | COMPUTE_BUFFER_FLAG_DEFERRED
    | COMPUTE_BUFFER_FLAG_FIXED
    | COMPUTE_BUFFER_FLAG_SCRATCH;
/// These say the opposite.
const ONE_OF: u64 = COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN | COMPUTE_BUFFER_FLAG_ZEROED;

/// Makes a buffer. The caller releases it. No byte counts as written: what is read of it is zeros, or with `COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN` refused.
///
/// Errors: `OUT_OF_MEMORY` and `POOL_FULL` (reclaimable: asked again after the library has reclaimed what it can), `POOLS_FROZEN`, `BUDGET`, `TOO_LARGE` (can never work), `FOREIGN_HANDLE` (a stream of another device),
/// `UNSUPPORTED` (host-visible memory where there is none), `DEVICE_POISONED`.
///
/// # Safety
/// `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_create(
    device: compute_device,
    desc: *const compute_buffer_desc,
    out: *mut compute_buffer,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        if let Some(handle) = again(device, &desc) {
            out.set(handle);
            return Ok(COMPUTE_OK);
        }
        check_zero(desc.reserved.into(), "reserved")?;
        check_zero(desc.next.addr() as u64, "next")?;
        check_flags(desc.flags, BUFFER_FLAGS, "buffer")?;
        if desc.flags & ONE_OF == ONE_OF {
            return refuse!(
                COMPUTE_ERROR_INVALID_ARGUMENT,
                "a buffer whose never-written bytes are zeros and refused at the same time: give one of the flags ZEROED and STRICT_UNWRITTEN"
            );
        }
        // SAFETY: as our own caller says.
        let label = unsafe { read_text(desc.label, desc.label_length, MOST_NAME, "label") }?;
        let stream = if desc.stream.is_null() { None } else { Some(find(desc.stream)?) };
        let long = desc.flags & COMPUTE_BUFFER_FLAG_PERSISTENT != 0;
        let options = BufferOptions {
            size: desc.size,
            label: label.unwrap_or_default(),
            strict_unwritten: desc.flags & COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN != 0,
            zeroed: desc.flags & COMPUTE_BUFFER_FLAG_ZEROED != 0,
            host_visible: desc.flags & COMPUTE_BUFFER_FLAG_HOST_VISIBLE != 0,
            stream: stream.as_deref(),
            mode: if long { AllocationMode::Persistent } else { AllocationMode::Auto },
            deferred: desc.flags & COMPUTE_BUFFER_FLAG_DEFERRED != 0,
            scratch: desc.flags & COMPUTE_BUFFER_FLAG_SCRATCH != 0,
            fixed: desc.flags & COMPUTE_BUFFER_FLAG_FIXED != 0,
        };
        out.set(add(Buffer::new(&find(device)?.device, &options)?)?);
        Ok(COMPUTE_OK)
    })
}

/// A buffer like one that the stream had before, where the descriptor asks for nothing but a size: most buffers of most programs.
fn again(device: compute_device, desc: &compute_buffer_desc) -> Option<compute_buffer> {
    let plain = desc.flags == 0 && desc.label.is_null() && desc.label_length == 0 && desc.next.is_null() && desc.reserved == 0;
    if plain && desc.size <= LARGEST_KEPT && !desc.stream.is_null() { revive(device, desc.stream, desc.size) } else { None }
}

/// Counts one more reference to a buffer.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_retain(buffer: compute_buffer, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(buffer))
}

/// Gives one reference to a buffer back; with the last one its handle ends as by `compute_buffer_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_buffer_release(buffer: compute_buffer) {
    guard_void(|| release_buffer(buffer));
}

/// Ends a buffer's handle at once, whatever its references. Its memory goes when the work that uses it is over (F7).
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_destroy(buffer: compute_buffer, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(buffer))
}

/// The size of a buffer in bytes, as it was asked for.
///
/// # Safety
/// `size` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_get_size(
    buffer: compute_buffer,
    size: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(size, "size", 0) }?;
        out.set(find(buffer)?.size());
        Ok(COMPUTE_OK)
    })
}

/// The number of a buffer, unique in the process and never used again; errors name buffers by it.
///
/// # Safety
/// `id` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_get_id(
    buffer: compute_buffer,
    id: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(id, "id", 0) }?;
        out.set(find(buffer)?.id());
        Ok(COMPUTE_OK)
    })
}

/// The view of a looked-up buffer.
pub(crate) fn view_of(buffer: &Live<compute_buffer_s>, view: &compute_view) -> Result<View, Complaint> {
    Ok(buffer.view(view.offset, view.size)?)
}

/// A caller's array of views, each looked up and inside its buffer.
///
/// # Safety
/// As [`Strided::new`].
pub(crate) unsafe fn read_views(
    views: *const compute_view,
    count: usize,
    stride: usize,
) -> Result<SmallVec<[View; 4]>, Complaint> {
    // SAFETY: as our own caller says.
    let views = unsafe { Strided::new(views, count, stride, MOST_VIEWS, "views") }?;
    let mut all = SmallVec::new();
    if all.try_reserve(views.len()).is_err() {
        return Err(Complaint::NoMemory);
    }
    for view in views.iter() {
        all.push(view_of(&find(view.buffer)?, &view)?);
    }
    Ok(all)
}

/// A single view.
///
/// # Safety
/// When not NULL, `view` is readable.
pub(crate) unsafe fn read_view(view: *const compute_view, name: &str) -> Result<compute_view, Complaint> {
    if view.is_null() {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`{name}` is NULL; it must point to a compute_view");
    }
    // SAFETY: as our own caller says; the place need not be aligned.
    Ok(unsafe { view.read_unaligned() })
}

/// Whether the bytes of views can be trusted, as far as is known now (T8): `COMPUTE_OK`, `COMPUTE_ERROR_UNWRITTEN` with the failure that claims some of them,
/// `COMPUTE_ERROR_SEVERAL`, or `COMPUTE_ERROR_NEVER_WRITTEN`. Instant: does not wait for work in flight, whose failures `compute_stream_sync` would
/// find. Views are `view_stride` bytes apart (0: `sizeof(compute_view)`), of any devices.
///
/// # Safety
/// `views` is readable for `view_count` views; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_check(
    views: *const compute_view,
    view_count: usize,
    view_stride: usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let views = unsafe { read_views(views, view_count, view_stride) }?;
        runtime::check(&views)?;
        Ok(COMPUTE_OK)
    })
}

/// Lifts the claim of a failure that reached no device (`untouched` in its info) from those bytes of the view that were trusted when it began (T2), so
/// that the caller can, say, release memory and try again. `*lifted_bytes` (may be NULL) is told how many: none where another failure had claimed them before,
/// so of work that is refused twice in a row lift the first failure's claim before the second try. `COMPUTE_ERROR_NOT_FOUND`: the failure
/// claims none of these bytes. `COMPUTE_ERROR_BUSY`: it may have touched the bytes, so they have to be written anew.
///
/// # Safety
/// `view` is readable; `lifted_bytes` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_reinstate(
    view: *const compute_view,
    failure: u64,
    lifted_bytes: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(lifted_bytes, 0) };
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(view, "view") }?;
        let lifted = runtime::reinstate(&view_of(&find(view.buffer)?, &view)?, failure)?;
        // SAFETY: as our own caller says.
        unsafe { set_optional(lifted_bytes, lifted) };
        Ok(COMPUTE_OK)
    })
}

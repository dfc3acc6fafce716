//! Bytes that the host looks at in place: lazy readbacks (M8) and mapped buffers (M7, T14).

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::boundary::*;
use super::buffer::{read_view, view_of};
use super::objects::{add, destroy, find, release, retain};
use super::status::*;
use super::stream::{Asked, timeout_of};
use super::types::*;
use crate::runtime::{Access, Mapping, Readback, Wait};

/// Promises the bytes of a view without copying them: that happens at the first access, and then what is there at that moment is given. Keeps the view's memory
/// alive. The caller releases the readback.
///
/// # Safety
/// `from` is readable; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_read_lazy(
    stream: compute_stream,
    from: *const compute_view,
    out: *mut compute_readback,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, from, "from") }?;
        out.set(add(Readback::new(asked.stream(), asked.place(), None)?)?);
        Ok(COMPUTE_OK)
    })
}

/// Counts one more reference to a readback.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_readback_retain(readback: compute_readback, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(readback))
}

/// Gives one reference to a readback back; with the last one its handle ends as by `compute_readback_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_readback_release(readback: compute_readback) {
    guard_void(|| release(readback));
}

/// Ends a readback's handle and the bytes that it gave, whatever its references.
///
/// # Safety
/// `out_error` is writable, or NULL; nobody uses the bytes any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_readback_destroy(readback: compute_readback, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(readback))
}

/// Starts the copy, unless an access has, and gives the event that tells how it ends. The caller releases the event.
///
/// # Safety
/// `out_event` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_readback_start(
    readback: compute_readback,
    out_event: *mut compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_event, "out_event", ptr::null_mut()) }?;
        out.set(add(find(readback)?.start()?)?);
        Ok(COMPUTE_OK)
    })
}

/// The bytes: starts the copy unless an access has, and waits for it. `*bytes` is the library's memory, the same at every access, readable until the readback's handle
/// has ended. Bytes that a failure claims answer as by `compute_stream_read` (T8); the next access then tries anew, so that they can be repaired in between.
///
/// # Safety
/// `bytes` is writable; `size` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_readback_get(
    readback: compute_readback,
    bytes: *mut *const c_void,
    size: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(bytes, "bytes", ptr::null()) }?;
        // SAFETY: as our own caller says.
        unsafe { set_optional(size, 0) };
        let readback = Arc::clone(&*find(readback)?);
        let memory = readback.get()?;
        out.set(memory.pointer().cast_const().cast());
        // SAFETY: as our own caller says.
        unsafe { set_optional(size, readback.size()) };
        Ok(COMPUTE_OK)
    })
}

/// Maps a view of a buffer that was made with `COMPUTE_BUFFER_FLAG_HOST_VISIBLE` (T14). Waits for the work that uses the buffer, and zeroes in memory what is neither
/// trusted nor reinstatable; claims stay. The caller releases the mapping, which keeps the buffer's memory alive; its address stays the same until then.
///
/// The order is the caller's: `compute_mapping_acquire` before the host reads or writes through the address, `compute_mapping_flush` after it has written and before
/// work uses the bytes, and no access by the host while work that writes there (or for writing, reads) is under way.
///
/// # Safety
/// `view` is readable; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_map(
    view: *const compute_view,
    out: *mut compute_mapping,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(view, "view") }?;
        // Not held while it waits.
        let view = view_of(&find(view.buffer)?, &view)?;
        out.set(add(Mapping::new(view)?)?);
        Ok(COMPUTE_OK)
    })
}

/// Counts one more reference to a mapping.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_mapping_retain(mapping: compute_mapping, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(mapping))
}

/// Gives one reference to a mapping back; with the last one its handle ends as by `compute_mapping_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_mapping_release(mapping: compute_mapping) {
    guard_void(|| release(mapping));
}

/// Ends a mapping, whatever its references. Its address is no longer the caller's to use.
///
/// # Safety
/// `out_error` is writable, or NULL; nobody uses the address any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_mapping_destroy(mapping: compute_mapping, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(mapping))
}

/// The address of a mapping's first byte, and how many bytes there are.
///
/// # Safety
/// `pointer` is writable; `size` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_mapping_get_pointer(
    mapping: compute_mapping,
    pointer: *mut *mut c_void,
    size: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(pointer, "pointer", ptr::null_mut()) }?;
        let mapping = find(mapping)?;
        out.set(mapping.memory().pointer().cast());
        // SAFETY: as our own caller says.
        unsafe { set_optional(size, mapping.memory().size() as u64) };
        Ok(COMPUTE_OK)
    })
}

pub(crate) fn access_of(access: u32) -> Result<Access, Complaint> {
    Ok(match access {
        COMPUTE_ACCESS_READ => Access { reads: true, writes: false },
        COMPUTE_ACCESS_WRITE => Access { reads: false, writes: true },
        COMPUTE_ACCESS_READ_WRITE => Access { reads: true, writes: true },
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_ACCESS_ with which memory is accessed"),
    })
}

/// Waits until the host may access bytes of a mapping (`access`: `COMPUTE_ACCESS_READ`, `_WRITE` or `_READ_WRITE`), counted from its start; `size` may be `COMPUTE_WHOLE`. For reading,
/// the device's writes to the buffer are over then, and the bytes can be trusted, or the answer is that of `compute_stream_read` (T8). For writing, its reads are over, too.
/// `timeout_ns` of 0 polls; `COMPUTE_TIMEOUT` when the time ran out.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_mapping_acquire(
    mapping: compute_mapping,
    offset: u64,
    size: u64,
    access: u32,
    timeout_ns: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let mapping = Arc::clone(&*find(mapping)?);
        let access = access_of(access)?;
        match mapping.acquire(offset, size, access, timeout_of(timeout_ns))? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => Ok(COMPUTE_TIMEOUT),
        }
    })
}

/// Says that the host has written all of these bytes of a mapping: work that is enqueued later sees them, and their claims are released (T4).
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_mapping_flush(
    mapping: compute_mapping,
    offset: u64,
    size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        find(mapping)?.flush(offset, size)?;
        Ok(COMPUTE_OK)
    })
}

//! Capture windows of streams (G1 to G3).

use std::ptr;
use std::sync::Arc;

use super::boundary::*;
use super::graph::options_of;
use super::graph_types::*;
use super::objects::{add, find};
use super::status::*;
use super::types::*;

/// Opens a capture window on a stream (G1): waits for its work. From now on buffers that are made from the stream's pools come from the persistent ones, and their
/// memory is held until `compute_stream_begin_capture`, even where they are released: the recording will want all of it at once. Run the work that is to be captured
/// once now, to warm up, then begin.
///
/// `COMPUTE_ERROR_BUSY`: a window is open already, or the stream is in a dry run.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_prepare_capture(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(stream)?.prepare_capture()?;
        Ok(COMPUTE_OK)
    })
}

/// Begins to record what is asked of a stream whose capture was prepared. `*out_capture` is the number by which its caller shows to
/// `compute_stream_end_capture` who it is. Whatever failed or was skipped on the stream since it was prepared is told here, with
/// `COMPUTE_ERROR_CAPTURE`, and then the window is closed. `desc` may be NULL. `COMPUTE_ERROR_BUSY`: the capture was not prepared.
///
/// Until it ends, launches, copies (with strides, too) and fills of the stream are checked and recorded, and nothing runs: no claim changes, and no byte. Everything else is refused, in general
/// with `COMPUTE_ERROR_RECORDING`: writes and reads of the host, syncs, events, waits for events that are not over, memory clean-up, replays, buffers that the memory at hand
/// has no room for. Such a call, a call that fails, a launch that would be skipped, and one that needs unfinished work of another stream doom the window: it
/// gives no graph. Other streams do not notice. Buffers that belong to other streams or to none are made as always.
///
/// # Safety
/// `desc` and what it points to are valid, or it is NULL; `out_capture` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_begin_capture(
    stream: compute_stream,
    desc: *const compute_graph_desc,
    out_capture: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_capture, "out_capture", 0) }?;
        // SAFETY: as our own caller says.
        let options = unsafe { options_of(desc) }?;
        out.set(find(stream)?.begin_capture(options)?);
        Ok(COMPUTE_OK)
    })
}

/// Closes a stream's window, from any caller and whatever it answers; the stream is usable as before. Gives the graph to the caller who shows the number that
/// `compute_stream_begin_capture` gave, and releases it.
///
/// `COMPUTE_ERROR_CAPTURE`: the window was doomed; the message names the call that did it first, and why. `COMPUTE_ERROR_ABANDONED`: `capture` is not the number. Both at once:
/// `COMPUTE_ERROR_SEVERAL`, with both as members. In all of these what the recorded nodes would have written is claimed by the failure that the error names; nothing
/// reached the device, so `compute_reinstate` gives the bytes back. `COMPUTE_ERROR_BUSY`: no window was open, or it was prepared and never begun; it is
/// closed then.
///
/// # Safety
/// `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_end_capture(
    stream: compute_stream,
    capture: u64,
    out: *mut compute_graph,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let stream = find(stream)?;
        // Closed in any case; so without a place for the graph there is none.
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) };
        let graph = stream.end_capture(if out.is_ok() { capture } else { 0 });
        let out = out?;
        let graph = graph?;
        // The window is closed: nobody can ask for the graph again.
        let handle = add(Arc::clone(&graph));
        out.set(handle.map_err(|complaint| complaint.claiming(|code, message| graph.given_up(code, message)))?);
        Ok(COMPUTE_OK)
    })
}

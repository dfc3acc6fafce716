//! Streams: launching, moving bytes, waiting.
//!
//! A call that writes looks up what it can of its outputs before it looks at anything that could be wrong, because a refused call claims them (T2). So
//! complaints are collected, and told after the outputs are known.

use std::ffi::c_void;
use std::hint::cold_path;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use compute_hal::{HostSource, HostTarget, TensorMap};
use smallvec::SmallVec;

use super::boundary::*;
use super::buffer::{read_view, read_views};
use super::objects::{Live, add, destroy, find, guard_call, peek, release, retain, told_if_refused};
use super::status::*;
use super::tensor_map;
use super::types::*;
use crate::runtime::{self, Binding, Event, Grid, Input, Launch, Mode, Outcome, Place, Source, Stream, Wait, put, room_for};

/// More bindings in one launch than any device has.
const MOST_BINDINGS: usize = 4096;
/// Inline bytes of one binding, or of the immediate block: far above what any device takes.
const MOST_INLINE: u64 = 1 << 20;

/// A time-out in nanoseconds: `None` is for ever.
pub(crate) fn timeout_of(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != COMPUTE_FOREVER).then(|| Duration::from_nanos(nanoseconds))
}

/// Makes a stream. The caller releases it. `desc` may be NULL.
///
/// # Safety
/// `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_create(
    device: compute_device,
    desc: *const compute_stream_desc,
    out: *mut compute_stream,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let desc = unsafe { read_optional_struct(desc) }?;
        check_zero(desc.reserved.into(), "reserved")?;
        check_zero(desc.next.addr() as u64, "next")?;
        // SAFETY: as our own caller says.
        let label = unsafe { read_text(desc.label, desc.label_length, MOST_NAME, "label") }?;
        let stream = Stream::new(&find(device)?.device, label.unwrap_or_default())?;
        let handle: compute_stream = add(Arc::clone(&stream))?;
        stream.set_handle(handle.addr() as u64);
        out.set(handle);
        Ok(COMPUTE_OK)
    })
}

/// Counts one more reference to a stream.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_retain(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(stream))
}

/// Gives one reference to a stream back; with the last one its handle ends as by `compute_stream_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_stream_release(stream: compute_stream) {
    guard_void(|| release(stream));
}

/// Ends a stream's handle at once, whatever its references. Its work goes on.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_destroy(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(stream))
}

type Buffers = SmallVec<[Option<Live<compute_buffer_s>>; 8]>;

/// A view as asked for, over a buffer that was looked up.
pub(crate) fn place<'a>(buffer: Option<&'a Live<compute_buffer_s>>, offset: u64, size: u64) -> Place<'a> {
    match buffer {
        Some(buffer) => Place::View { buffer, offset, size },
        None => Place::BadHandle,
    }
}

/// The stream and the view of a call, as far as their handles are good.
pub(crate) struct Asked {
    stream: Option<Live<compute_stream_s>>,
    buffer: Option<Live<compute_buffer_s>>,
    view: compute_view,
}

impl Asked {
    /// Refused where there is no view at all.
    ///
    /// # Safety
    /// When not NULL, `view` is readable.
    pub(crate) unsafe fn new(stream: compute_stream, view: *const compute_view, name: &str) -> Result<Self, Complaint> {
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(view, name) }?;
        Ok(Self { stream: peek(stream), buffer: peek(view.buffer), view })
    }

    /// The stream.
    pub(crate) fn stream(&self) -> Option<&Arc<Stream>> {
        self.stream.as_deref()
    }

    /// The view, not checked yet.
    pub(crate) fn place(&self) -> Place<'_> {
        place(self.buffer.as_ref(), self.view.offset, self.view.size)
    }

    /// A complaint about a call that would write there, which claims it (T2).
    pub(crate) fn refused(&self, complaint: Complaint) -> Complaint {
        complaint.claiming(|code, message| runtime::refuse_write(code, message, &self.place()))
    }
}

fn plain(stream: Option<&Arc<Stream>>) -> Option<&Stream> {
    stream.map(|stream| &**stream)
}

pub(crate) fn outcome(outcome: Outcome) -> compute_status {
    match outcome {
        Outcome::Enqueued => COMPUTE_OK,
        Outcome::Skipped => COMPUTE_SKIPPED,
    }
}

/// The view of a binding, as most have one.
fn viewed<'a>(binding: &compute_binding, buffer: Option<&'a Live<compute_buffer_s>>) -> Binding<'a> {
    Binding {
        group: binding.group,
        slot: binding.slot,
        given: Input::Place(place(buffer, binding.offset, binding.size)),
        write_all: binding.flags & COMPUTE_BINDING_FLAG_WRITE_ALL != 0,
    }
}

/// Whether there is more to a binding than its view: inline bytes, a tensor map, a mistake.
fn has_more(binding: &compute_binding) -> bool {
    !binding.data.is_null() || binding.data_size != 0 || binding.flags & !COMPUTE_BINDING_FLAG_WRITE_ALL != 0
}

/// What is given to a binding besides its view, or instead of it. Of bindings with a tensor map the next one is taken.
///
/// # Safety
/// `binding.data` is readable as it says.
unsafe fn read_more<'a>(
    binding: &compute_binding,
    made: &mut Binding<'a>,
    maps: &mut slice::Iter<'a, TensorMap>,
) -> Result<(), Complaint> {
    let compute_binding { group, slot, flags, .. } = *binding;
    let map = if flags & COMPUTE_BINDING_FLAG_TENSOR_MAP != 0 { maps.next() } else { None };
    if let (Some(map), Input::Place(view)) = (map, made.given) {
        made.given = Input::Tensor(view, map);
    }
    check_flags(flags, COMPUTE_BINDING_FLAG_WRITE_ALL | COMPUTE_BINDING_FLAG_TENSOR_MAP, "binding")?;
    if map.is_some() || binding.data.is_null() && binding.data_size == 0 {
        return Ok(());
    }
    if !binding.buffer.is_null() {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "@group({group}) @binding({slot}) is given both a buffer and inline bytes"
        );
    }
    if binding.data_size > MOST_INLINE {
        let size = binding.data_size;
        return refuse!(
            COMPUTE_ERROR_LIMIT,
            "@group({group}) @binding({slot}): {size} inline bytes, at most {MOST_INLINE} are allowed"
        );
    }
    // SAFETY: as our own caller says.
    made.given = Input::Inline(unsafe { read_bytes(binding.data.cast(), binding.data_size, "data") }?);
    Ok(())
}

fn mode_of(mode: u32) -> Result<Mode, Complaint> {
    Ok(match mode {
        COMPUTE_LAUNCH_EXECUTE => Mode::Execute,
        COMPUTE_LAUNCH_COMPILE_ONLY => Mode::CompileOnly,
        COMPUTE_LAUNCH_QUEUE_COMPILATION => Mode::QueueCompilation,
        mode => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{mode} is not a COMPUTE_LAUNCH_"),
    })
}

/// Enqueues a kernel over a grid of workgroups, or with another `mode` gets it ready (L6).
///
/// Answers `COMPUTE_OK`; `COMPUTE_SKIPPED` when it reads bytes that a failure claims: it does not run, and its outputs take the same failure (T5). Errors
/// leave the outputs claimed by the failure that the error names (T2): `BINDING`, `LIMIT`, `MISALIGNED`, `OUT_OF_RANGE`, `OVERLAP`, `READ_ONLY`,
/// `INVALID_ARGUMENT`, `INVALID_STRUCT`, `INVALID_HANDLE`, `FOREIGN_HANDLE`, `COMPILE`, `UNSUPPORTED`, `NOT_BACKED`, `RECORDING`, `OUT_OF_MEMORY`, `DRIVER`,
/// `DEVICE_POISONED`, and what later versions add. All that the call points to may be changed or freed when it returns. From any thread.
///
/// # Safety
/// `desc` and what it points to are valid; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_launch(
    stream: compute_stream,
    desc: *const compute_launch_desc,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a launch", out_error, || {
        // SAFETY: as our own caller says.
        let mut place = MaybeUninit::uninit();
        // SAFETY: as our own caller says.
        let (desc, known) = unsafe { read_known(desc, &mut place) }?;
        let stream = peek(stream);
        // SAFETY: as our own caller says.
        let answer = unsafe {
            launch_of(desc, known, |launch, wrong| {
                if let Err(wrong) = wrong {
                    return Err(wrong.claiming(|code, message| runtime::refuse_launch(code, message, launch)));
                }
                Ok(outcome(runtime::launch(stream.as_deref().map(|stream| &**stream), launch)?))
            })
        };
        match answer {
            Ok(status) => Ok(status),
            // SAFETY: as our own caller says.
            Err(complaint) => Err(unsafe { refused_as_a_whole(desc, complaint) }),
        }
    })
}

/// A complaint about a launch that was never looked at as a whole, for want of host memory: its outputs are made out one after another, which needs none (T2).
///
/// # Safety
/// What `desc` points to is valid.
#[cold]
unsafe fn refused_as_a_whole(desc: &compute_launch_desc, complaint: Complaint) -> Complaint {
    if !matches!(complaint, Complaint::NoMemory) {
        return complaint;
    }
    // SAFETY: as our own caller says.
    let given = unsafe { Strided::new(desc.bindings, desc.binding_count, desc.binding_stride, MOST_BINDINGS, "bindings") };
    let Ok(given) = given else { return complaint };
    let kernel = peek(desc.kernel);
    let launch = Launch {
        kernel: kernel.as_deref(),
        grid: if desc.indirect.buffer.is_null() { Grid::Direct(desc.grid) } else { Grid::Indirect(Place::BadHandle) },
        bindings: &[],
        immediates: &[],
        label: "",
        mode: mode_of(desc.mode).unwrap_or_default(),
    };
    complaint.claiming(|code, message| {
        runtime::refuse_launch_of_each(code, message, &launch, |each| {
            given.iter().for_each(|binding| each(&viewed(&binding, peek(binding.buffer).as_ref())));
        })
    })
}

/// Makes a launch of its descriptor and hands it on with what is wrong with it, if anything is. `wrong` is what is known of that already.
///
/// # Safety
/// What `desc` points to is valid.
pub(super) unsafe fn launch_of(
    desc: &compute_launch_desc,
    mut wrong: Result<(), Complaint>,
    then: impl FnOnce(&Launch<'_>, Result<(), Complaint>) -> Answer,
) -> Answer {
    let kernel = peek(desc.kernel);
    let grid_buffer = if desc.indirect.buffer.is_null() { None } else { peek(desc.indirect.buffer) };
    // SAFETY: as our own caller says.
    let given = unsafe { Strided::new(desc.bindings, desc.binding_count, desc.binding_stride, MOST_BINDINGS, "bindings") }?;
    let (mut more, mut maps) = (false, Vec::new());
    let mut buffers = Buffers::new();
    let mut bindings: SmallVec<[Binding<'_>; 8]> = SmallVec::new();
    if room_for(&mut buffers, given.len()).is_err() || room_for(&mut bindings, given.len()).is_err() {
        cold_path();
        return Err(Complaint::NoMemory);
    }
    for binding in given.iter() {
        more |= has_more(&binding);
        put(&mut buffers, peek(binding.buffer));
    }
    for (binding, buffer) in given.iter().zip(&buffers) {
        put(&mut bindings, viewed(&binding, buffer.as_ref()));
    }
    if more {
        // SAFETY: as our own caller says.
        wrong = wrong.and(unsafe { read_all_more(&given, &mut bindings, &mut maps) });
    }
    let mut launch = Launch {
        kernel: kernel.as_deref(),
        grid: match desc.indirect.buffer.is_null() {
            true => Grid::Direct(desc.grid),
            false => Grid::Indirect(place(grid_buffer.as_ref(), desc.indirect.offset, desc.indirect.size)),
        },
        bindings: &bindings,
        immediates: &[],
        label: "",
        // Known first, because only one that executes claims anything (T11).
        mode: mode_of(desc.mode).unwrap_or_default(),
    };
    if wrong.is_ok() && has_rest(desc) {
        // SAFETY: as our own caller says.
        wrong = unsafe { read_rest(desc, &mut launch) };
    }
    then(&launch, wrong)
}

/// The same for all bindings; tells what is wrong with the first that is wrong, of tensor maps before all else.
///
/// # Safety
/// What the bindings point to is valid for `'a`.
#[inline(never)]
unsafe fn read_all_more<'a>(
    given: &Strided<compute_binding>,
    made: &mut [Binding<'a>],
    maps: &'a mut Vec<TensorMap>,
) -> Result<(), Complaint> {
    // SAFETY: as our own caller says.
    let (read, mut wrong) = unsafe { tensor_map::read_maps(given) };
    *maps = read;
    let mut maps = maps.iter();
    for (binding, made) in given.iter().zip(made).filter(|(binding, _)| has_more(binding)) {
        // SAFETY: as our own caller says.
        wrong = wrong.and(unsafe { read_more(&binding, made, &mut maps) });
    }
    wrong
}

/// Whether a launch's descriptor has anything besides handles and bindings. Immediates and labels of no bytes are none.
fn has_rest(desc: &compute_launch_desc) -> bool {
    desc.mode != COMPUTE_LAUNCH_EXECUTE
        || desc.reserved != 0
        || !desc.next.is_null()
        || desc.immediate_size != 0
        || !desc.label.is_null()
        || !matches!(desc.label_length, 0 | COMPUTE_NUL_TERMINATED)
}

/// What a launch's descriptor has besides handles and bindings.
///
/// # Safety
/// What `desc` points to is valid for `'a`.
#[inline(never)]
unsafe fn read_rest<'a>(desc: &compute_launch_desc, launch: &mut Launch<'a>) -> Result<(), Complaint> {
    mode_of(desc.mode)?;
    check_zero(desc.reserved.into(), "reserved")?;
    check_zero(desc.next.addr() as u64, "next")?;
    if desc.immediate_size > MOST_INLINE {
        return refuse!(COMPUTE_ERROR_LIMIT, "{} bytes of immediates, at most {MOST_INLINE} are allowed", desc.immediate_size);
    }
    // SAFETY: as our own caller says.
    launch.immediates = unsafe { read_bytes(desc.immediates.cast(), desc.immediate_size, "immediates") }?;
    // SAFETY: as our own caller says.
    launch.label = unsafe { read_text(desc.label, desc.label_length, MOST_NAME, "label") }?.unwrap_or_default();
    Ok(())
}

/// Writes host bytes into a view of the same size. The bytes are copied before this returns. Repairs what it covers (T4).
///
/// # Safety
/// `to` is readable; `bytes` is readable for `size` bytes; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_write(
    stream: compute_stream,
    to: *const compute_view,
    bytes: *const c_void,
    size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a write of the host", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let bytes = unsafe { read_bytes(bytes.cast(), size, "bytes") };
        let bytes = bytes.map_err(|complaint| asked.refused(complaint))?;
        runtime::write(plain(asked.stream()), asked.place(), Source::Copied(bytes))?;
        Ok(COMPUTE_OK)
    })
}

/// As `compute_stream_write`, but the bytes are borrowed until `*out_event` is over. The caller releases the event.
///
/// # Safety
/// `to` is readable; `bytes` is readable for `size` bytes, and nobody writes there, until the event is over; `out_event` is writable; `out_error` is
/// writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_write_borrowed(
    stream: compute_stream,
    to: *const compute_view,
    bytes: *const c_void,
    size: u64,
    out_event: *mut compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a write of the host", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_event, "out_event", ptr::null_mut()) };
        let checked = out.and_then(|out| Ok((out, check_host(bytes, size, "bytes")?)));
        let (out, size) = checked.map_err(|complaint| asked.refused(complaint))?;
        // SAFETY: as our own caller says.
        let source = Source::Borrowed(unsafe { HostSource::new(bytes.cast(), size) });
        let event = runtime::write(plain(asked.stream()), asked.place(), source)?;
        give_event(out, event)
    })
}

/// Hands an event out. Without room for a handle, borrowed memory must not be left borrowed: waits for it.
pub(crate) fn give_event(out: Out<compute_event>, event: Option<std::sync::Arc<Event>>) -> Answer {
    let Some(event) = event else {
        return refuse!(COMPUTE_ERROR_INTERNAL, "a borrowing call gave no event");
    };
    match add(event.clone()) {
        Ok(handle) => {
            out.set(handle);
            Ok(COMPUTE_OK)
        }
        Err(complaint) => {
            // The answer is that there is no memory, whatever the wait says.
            let _ = event.wait_for_lent();
            Err(complaint)
        }
    }
}

/// Reads a view into host memory of the same size, and waits for it. Bytes that a failure claims answer `COMPUTE_ERROR_UNWRITTEN` or
/// `COMPUTE_ERROR_SEVERAL` (T8), and then `bytes` is left alone.
///
/// # Safety
/// `from` is readable; `bytes` is writable for `size` bytes; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_read(
    stream: compute_stream,
    from: *const compute_view,
    bytes: *mut c_void,
    size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a read of the host", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, from, "from") }?;
        let size = check_host(bytes, size, "bytes")?;
        // SAFETY: as our own caller says; the read is over when this returns.
        let into = unsafe { HostTarget::new(bytes.cast(), size) };
        runtime::read(plain(asked.stream()), asked.place(), into)?;
        Ok(COMPUTE_OK)
    })
}

/// As `compute_stream_read`, without waiting: `bytes` is borrowed until a poll, wait or callback of `*out_event` gives the answer (`COMPUTE_NOT_READY`, `COMPUTE_TIMEOUT` and
/// `COMPUTE_ERROR_STILL_BORROWED` are none); that the stream is known to be done by other means does not end it. The caller releases the event; doing so early
/// does not end the borrowing before the work is over.
///
/// # Safety
/// `from` is readable; `bytes` is writable for `size` bytes, and nobody else touches it, until the event is over; `out_event` is writable; `out_error`
/// is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_read_async(
    stream: compute_stream,
    from: *const compute_view,
    bytes: *mut c_void,
    size: u64,
    out_event: *mut compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a read of the host", out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_event, "out_event", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, from, "from") }?;
        let size = check_host(bytes, size, "bytes")?;
        // SAFETY: as our own caller says.
        let into = unsafe { HostTarget::new(bytes.cast(), size) };
        let event = runtime::read_async(plain(asked.stream()), asked.place(), into)?;
        give_event(out, Some(event))
    })
}

/// Copies a view into another of the same size on the same device; they must not overlap (L9). Claimed bytes in the source skip the copy
/// (`COMPUTE_SKIPPED`), and the destination takes their failure.
///
/// # Safety
/// `from` and `to` are readable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_copy(
    stream: compute_stream,
    from: *const compute_view,
    to: *const compute_view,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a copy", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let source = unsafe { read_view(from, "from") }.map_err(|complaint| asked.refused(complaint))?;
        let buffer = peek(source.buffer);
        let from = place(buffer.as_ref(), source.offset, source.size);
        Ok(outcome(runtime::copy(plain(asked.stream()), from, asked.place())?))
    })
}

/// Copies a view into another of the same size on another device (C1), behind the earlier work of both streams. Between devices of one driver that can reach each
/// other it is only enqueued, goes straight, and later work of both streams follows it. Otherwise it goes through the host, in pieces that take a bounded amount of
/// memory, and the call returns when the bytes have left their device. Then other threads are not to write the source meanwhile. Where the source derives from
/// work that may still fail (T13), the call waits for that first, on any devices. On one device it is `compute_stream_copy` on `to_stream`.
///
/// Claimed bytes in the source skip the copy (`COMPUTE_SKIPPED`), and the whole destination takes their failure, across devices. Errors, of either device,
/// claim the destination only. While one of the streams records a graph: `COMPUTE_ERROR_RECORDING`, and the graph is doomed, as by any call that cannot be part
/// of it. In a dry run of either nothing is copied.
///
/// # Safety
/// `from` and `to` are readable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_copy_between(
    from_stream: compute_stream,
    from: *const compute_view,
    to_stream: compute_stream,
    to: *const compute_view,
    out_error: *mut compute_error,
) -> compute_status {
    const NAME: &str = "a copy between devices";
    guard_call(to_stream, NAME, out_error, || {
        // A capture of either stream is no longer whole.
        told_if_refused(from_stream, NAME, || {
            // SAFETY: as our own caller says.
            let asked = unsafe { Asked::new(to_stream, to, "to") }?;
            // SAFETY: as our own caller says.
            let source = unsafe { Asked::new(from_stream, from, "from") }.map_err(|complaint| asked.refused(complaint))?;
            Ok(outcome(runtime::copy_between(plain(source.stream()), source.place(), plain(asked.stream()), asked.place())?))
        })
    })
}

/// The pattern of a fill. A wrong size is refused without the pattern being touched.
///
/// # Safety
/// `pattern` is readable for `size` bytes, for `'a`.
pub(super) unsafe fn pattern_of<'a>(pattern: *const c_void, size: u64) -> Result<&'a [u8], Complaint> {
    match (check_host(pattern, size, "pattern")?, size) {
        // SAFETY: checked, and readable as our own caller says.
        (size, 1 | 2 | 4 | 8 | 16) => Ok(unsafe { slice::from_raw_parts(pattern.cast::<u8>(), size) }),
        (_, size) => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "a fill pattern has 1, 2, 4, 8 or 16 bytes, not {size}"),
    }
}

/// Fills a view with a pattern of 1, 2, 4, 8 or 16 bytes, repeated from its start; the last repetition may be cut. Repairs what it covers (T4).
///
/// # Safety
/// `to` is readable; `pattern` is readable for `pattern_size` bytes; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_fill(
    stream: compute_stream,
    to: *const compute_view,
    pattern: *const c_void,
    pattern_size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a fill", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let pattern = unsafe { pattern_of(pattern, pattern_size) }.map_err(|complaint| asked.refused(complaint))?;
        runtime::fill(plain(asked.stream()), asked.place(), pattern)?;
        Ok(COMPUTE_OK)
    })
}

/// Records the moment after all that was enqueued on the stream so far (S2). The caller releases the event.
///
/// # Safety
/// `out_event` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_record(
    stream: compute_stream,
    out_event: *mut compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "recording an event", out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_event, "out_event", ptr::null_mut()) }?;
        out.set(add(Event::record(&*find(stream)?)?)?);
        Ok(COMPUTE_OK)
    })
}

/// Makes later work of the stream wait for an event of the same device, on the device (S2). An event of another device is
/// `COMPUTE_ERROR_FOREIGN_HANDLE`: wait for it on the host.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_wait_event(
    stream: compute_stream,
    event: compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a wait for an event", out_error, || {
        let stream = find(stream)?;
        find(event)?.hold(&stream)?;
        Ok(COMPUTE_OK)
    })
}

/// Sends what is collected to the device. On wgpu a thread of the library's does that, unless the host shares its queue: at once, or as soon as it is done waiting for work that is under
/// way. Reports only a fault of the device itself (T10).
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_flush(stream: compute_stream, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(stream)?.flush()?;
        Ok(COMPUTE_OK)
    })
}

/// Waits for all that was enqueued on the stream so far, then tells whether the bytes of the views can be trusted (T8), as `compute_check` does but with
/// late failures heard. Over no views (`views` may be NULL then) it reports only a fault of the device itself. `view_stride` of 0 is `sizeof(compute_view)`. `timeout_ns` of 0
/// polls; `COMPUTE_TIMEOUT` when the time ran out.
///
/// # Safety
/// `views` is readable for `view_count` views, `view_stride` bytes apart; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_sync(
    stream: compute_stream,
    views: *const compute_view,
    view_count: usize,
    view_stride: usize,
    timeout_ns: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let stream = find(stream)?;
        // SAFETY: as our own caller says.
        let views = unsafe { read_views(views, view_count, view_stride) }?;
        match stream.sync(&views, timeout_of(timeout_ns))? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => Ok(COMPUTE_TIMEOUT),
        }
    })
}

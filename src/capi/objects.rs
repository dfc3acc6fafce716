//! The tables behind the handles of devices, streams, buffers, kernels and events, and what is the same for all nouns: find, retain, release, destroy.

use std::ptr;
use std::sync::Arc;

use super::boundary::{Answer, Complaint, guard, refuse};
use super::graph_types::*;
use super::handle::{Counted, GivenUp, Guard, Table, Tag};
use super::status::*;
use super::types::*;
use crate::registry::Faults;
use crate::runtime::{Budget, Buffer, Device, Event, Graph, GraphBuilder, Kernel, Mapping, Readback, Seat, Stream, take_kept};

/// What a C handle type stands for.
pub(crate) trait Noun: Sized + 'static {
    /// The object.
    type Object: Send + Sync + 'static;
    /// For messages.
    const NAME: &'static str;
    /// Where its handles are looked up.
    fn table() -> &'static Table<Arc<Self::Object>>;
    /// Whether that table is busy.
    const BUSY: bool = false;
    /// Called once when the handle has ended, with the object still alive. `None`: nothing is to be done, and releasing need not keep it alive.
    const ENDED: Option<fn(&Arc<Self::Object>)> = None;
}

/// A looked-up object, alive as long as this is.
pub(crate) type Live<N> = Guard<'static, Arc<<N as Noun>::Object>>;

/// A device as the C side knows it.
pub(crate) struct Opened {
    /// The device.
    pub(crate) device: Arc<Device>,
    /// The driver that it was opened by.
    pub(crate) backend: &'static str,
    /// Its index in the list.
    pub(crate) index: u32,
    /// When it was opened to fail.
    pub(crate) faults: Option<Faults>,
}

impl Noun for compute_device_s {
    type Object = Opened;
    const NAME: &'static str = "device";
    fn table() -> &'static Table<Arc<Opened>> {
        static TABLE: Table<Arc<Opened>> = Table::new(Tag::Device);
        &TABLE
    }
    const ENDED: Option<fn(&Arc<Opened>)> = Some(|opened| opened.device.end());
}

impl Noun for compute_stream_s {
    type Object = Stream;
    const NAME: &'static str = "stream";
    fn table() -> &'static Table<Arc<Stream>> {
        static TABLE: Table<Arc<Stream>> = Table::new(Tag::Stream);
        &TABLE
    }
    // Nobody can end its capture any more.
    const ENDED: Option<fn(&Arc<Stream>)> = Some(|stream| stream.abandon_capture());
}

impl Noun for compute_buffer_s {
    type Object = Buffer;
    const NAME: &'static str = "buffer";
    fn table() -> &'static Table<Arc<Buffer>> {
        static TABLE: Table<Arc<Buffer>> = Table::new(Tag::Buffer);
        &TABLE
    }
    // Windows and graphs may keep it.
    const ENDED: Option<fn(&Arc<Buffer>)> = Some(|buffer| buffer.handle_ended());
}

impl Noun for compute_kernel_s {
    type Object = Kernel;
    const NAME: &'static str = "kernel";
    fn table() -> &'static Table<Arc<Kernel>> {
        static TABLE: Table<Arc<Kernel>> = Table::busy(Tag::Kernel);
        &TABLE
    }
    const BUSY: bool = true;
}

impl Noun for compute_event_s {
    type Object = Event;
    const NAME: &'static str = "event";
    fn table() -> &'static Table<Arc<Event>> {
        static TABLE: Table<Arc<Event>> = Table::new(Tag::Event);
        &TABLE
    }
}

impl Noun for compute_budget_s {
    type Object = Budget;
    const NAME: &'static str = "budget";
    fn table() -> &'static Table<Arc<Budget>> {
        static TABLE: Table<Arc<Budget>> = Table::new(Tag::Budget);
        &TABLE
    }
}

impl Noun for compute_readback_s {
    type Object = Readback;
    const NAME: &'static str = "readback";
    fn table() -> &'static Table<Arc<Readback>> {
        static TABLE: Table<Arc<Readback>> = Table::new(Tag::Readback);
        &TABLE
    }
}

impl Noun for compute_mapping_s {
    type Object = Mapping;
    const NAME: &'static str = "mapping";
    fn table() -> &'static Table<Arc<Mapping>> {
        static TABLE: Table<Arc<Mapping>> = Table::new(Tag::Mapping);
        &TABLE
    }
}

impl Noun for compute_graph_builder_s {
    type Object = GraphBuilder;
    const NAME: &'static str = "graph builder";
    fn table() -> &'static Table<Arc<GraphBuilder>> {
        static TABLE: Table<Arc<GraphBuilder>> = Table::new(Tag::GraphBuilder);
        &TABLE
    }
}

impl Noun for compute_graph_s {
    type Object = Graph;
    const NAME: &'static str = "graph";
    fn table() -> &'static Table<Arc<Graph>> {
        static TABLE: Table<Arc<Graph>> = Table::new(Tag::Graph);
        &TABLE
    }
}

/// The frame of exports that ask a stream for something: a capture window of it hears of every refusal (G2).
pub(crate) fn guard_call(
    stream: compute_stream,
    what: &str,
    out_error: *mut compute_error,
    body: impl FnOnce() -> Answer,
) -> compute_status {
    guard(out_error, || told_if_refused(stream, what, body))
}

/// Has a stream know that a call failed which was to be part of it.
pub(crate) fn told_if_refused(stream: compute_stream, what: &str, body: impl FnOnce() -> Answer) -> Answer {
    let answer = body();
    if let Err(complaint) = &answer {
        told(stream, what, complaint);
    }
    answer
}

#[cold]
fn told(stream: compute_stream, what: &str, complaint: &Complaint) {
    if let Some(stream) = peek(stream) {
        stream.call_failed(what, complaint.status(), complaint.message());
    }
}

/// The object of a handle, or nothing where the handle is no good.
#[inline]
pub(crate) fn peek<N: Noun>(handle: *mut N) -> Option<Live<N>> {
    let (table, handle) = (N::table(), handle.addr() as u64);
    if N::BUSY { table.get_busy(handle) } else { table.get_plain(handle) }
}

/// The object of a handle.
pub(crate) fn find<N: Noun>(handle: *mut N) -> Result<Live<N>, Complaint> {
    peek(handle).ok_or_else(|| bad::<N>(handle))
}

fn bad<N: Noun>(handle: *mut N) -> Complaint {
    let name = N::NAME;
    if handle.is_null() {
        return Complaint::new(COMPUTE_ERROR_INVALID_HANDLE, format_args!("the {name} handle is NULL"));
    }
    let text = format_args!("{handle:p} is not a live {name}: it was destroyed, or is of another type or copy of the library");
    Complaint::new(COMPUTE_ERROR_INVALID_HANDLE, text)
}

/// A new handle with one reference.
pub(crate) fn add<N: Noun>(object: Arc<N::Object>) -> Result<*mut N, Complaint> {
    let handle = N::table().insert(object)?;
    Ok(ptr::without_provenance_mut(handle as usize))
}

/// A new buffer with its handle, out of one of the stream that has ended. `None`: one has to be made, or something is wrong.
pub(crate) fn revive(device: compute_device, stream: compute_stream, size: u64) -> Option<compute_buffer> {
    let (device, stream) = (device.addr() as u64, stream.addr() as u64);
    // Nothing of them is touched, so their handles have only to be good.
    if !compute_stream_s::table().is_live(stream) || !compute_device_s::table().is_live(device) {
        return None;
    }
    let (buffer, seat) = take_kept(stream, device, size)?;
    // SAFETY: the seat is a slot that `give_up` left to `release_buffer`, and nobody has taken it since.
    let handle = unsafe { compute_buffer_s::table().insert_at(seat.take(), buffer) }?;
    Some(ptr::without_provenance_mut(handle as usize))
}

/// As [`release`]; the stream may keep a buffer that ends for its next one.
pub(crate) fn release_buffer(handle: compute_buffer) {
    match compute_buffer_s::table().give_up(handle.addr() as u64) {
        GivenUp::Taken(buffer, Some(number)) => buffer.end(Seat::new(number, |number| compute_buffer_s::table().vacate(number))),
        GivenUp::Taken(buffer, None) => buffer.handle_ended(),
        // Somebody is at work with it, and it goes with that; its handle is gone now.
        GivenUp::Ended(buffer) => buffer.handle_ended(),
        GivenUp::Kept | GivenUp::Invalid => {}
    }
}

/// One more reference.
pub(crate) fn retain<N: Noun>(handle: *mut N) -> Answer {
    match N::table().retain(handle.addr() as u64) {
        Counted::Kept | Counted::Ended => Ok(COMPUTE_OK),
        Counted::Full => refuse!(COMPUTE_ERROR_LIMIT, "the {} has too many references", N::NAME),
        Counted::Invalid => Err(bad(handle)),
    }
}

/// One reference less. Handles that are no good are let pass: there is nobody to tell.
pub(crate) fn release<N: Noun>(handle: *mut N) {
    let live = N::ENDED.and_then(|ended| Some((ended, peek(handle)?)));
    if N::table().release(handle.addr() as u64) == Counted::Ended
        && let Some((ended, live)) = live
    {
        ended(&live);
    }
}

/// Ends the handle at once.
pub(crate) fn destroy<N: Noun>(handle: *mut N) -> Answer {
    let live = find(handle)?;
    if !N::table().destroy(handle.addr() as u64) {
        // Somebody else was faster.
        return Err(bad(handle));
    }
    if let Some(ended) = N::ENDED {
        ended(&live);
    }
    Ok(COMPUTE_OK)
}

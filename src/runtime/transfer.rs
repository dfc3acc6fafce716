//! Bytes in, out and across: write, read, copy, fill.
//!
//! Each is checked here in full, refuses with a claim on what it would have written (T2), and goes through a
//! [section](super::section) like a launch.

use std::cell::Cell;
use std::hint::cold_path;
use std::sync::{Arc, LazyLock};

use compute_hal::{DeviceError, HostSource, HostTarget};
use compute_memory::Footprint;
use compute_trust::{Error, Watch};

use super::buffer::View;
use super::device::Device;
use super::error::{Checked, Failed, Result, error, refusal};
use super::event::{Event, Read};
use super::graph::{Request, record, watched};
use super::memory::Charge;
use super::place::{Place, Span};
use super::section::{Outcome, Performed, Step, Subject, Touch, Write, perform, refuse, region};
use super::stream::{Stream, Wait, wait};
use super::{code, late, rows, trust};

/// The host's side of a write.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Copied before the call returns.
    Copied(&'a [u8]),
    /// Read until the event that the call gives.
    Borrowed(HostSource),
}

impl Source<'_> {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Copied(bytes) => bytes.len() as u64,
            Self::Borrowed(source) => source.size() as u64,
        }
    }
}

pub(super) struct Names {
    pub(super) write: Arc<str>,
    pub(super) read: Arc<str>,
    pub(super) copy: Arc<str>,
    pub(super) fill: Arc<str>,
    pub(super) replay: Arc<str>,
    pub(super) export: Arc<str>,
    pub(super) none: Arc<str>,
}

pub(super) static NAMES: LazyLock<Names> = LazyLock::new(|| Names {
    write: "write".into(),
    read: "read".into(),
    copy: "copy".into(),
    fill: "fill".into(),
    replay: "replay".into(),
    export: "export".into(),
    none: "".into(),
});

/// A name for what is done, as many calls of the device as it takes.
pub(super) fn subject<'a>(stream: &Stream, name: &'a Arc<str>) -> Subject<'a> {
    Subject { name, label: "", fails_late: stream.device.capabilities().fails_late, calls: 1, parts: None }
}

fn refused(made: Error, to: &Place<'_>) -> Arc<Failed> {
    refuse(made, to.reachable())
}

/// Refuses a write, fill or copy for a reason that only the caller of the runtime knows (a bad pointer), and claims its destination (T2).
pub fn refuse_write(code: i32, message: String, to: &Place<'_>) -> Arc<Failed> {
    refused(error(code, message), to)
}

fn same_size(role: &str, span: &Span<'_>, size: u64) -> Checked<()> {
    if span.size == size {
        return Ok(());
    }
    refusal(code::OUT_OF_RANGE, || format!("the {role} has {size} bytes, the view {}; they must be equal", span.size))
}

/// The stream, if there is one and its device is usable.
pub(super) fn usable(stream: Option<&Stream>) -> Checked<&Stream> {
    let Some(stream) = stream else {
        return refusal(code::INVALID_HANDLE, || "the stream handle is not a live stream".into());
    };
    match stream.device.check() {
        Ok(()) => Ok(stream),
        Err(failed) => {
            cold_path();
            Err(Box::new((*failed.error).clone()))
        }
    }
}

/// Enqueues a write. Answers the position at which borrowed bytes are no longer needed. `stream` is `None` when its handle was no good.
pub fn write(stream: Option<&Stream>, to: Place<'_>, source: Source<'_>) -> Result<Option<Arc<Event>>> {
    watched(stream, || "a write of the host".into(), || write_now(stream, to, source))
}

fn write_now(stream: Option<&Stream>, to: Place<'_>, source: Source<'_>) -> Result<Option<Arc<Event>>> {
    let checked = (|| {
        let stream = usable(stream)?;
        let span = to.check(&stream.device, || "destination".into())?;
        same_size("source", &span, source.size())?;
        Ok((stream, span))
    })();
    let (stream, span) = checked.map_err(|made: Box<Error>| refused(*made, &to))?;
    let position = if span.size == 0 {
        stream.not_recording(&NAMES.write).map_err(|made| Failed::of(*made))?;
        stream.queue.last()
    } else {
        enqueue_write(stream, span, source)?
    };
    Ok(matches!(source, Source::Borrowed(_)).then(|| Event::at(stream, position, None)))
}

/// Memory of the caller's that a piece of work lends to the device. Where the work fails half way, or panics, no event answers for what the device was given of
/// it already: then that is waited for here.
pub(super) struct Lent<'a> {
    stream: &'a Stream,
    until: Cell<Option<u64>>,
}

impl<'a> Lent<'a> {
    pub(super) fn by(stream: &'a Stream) -> Self {
        Self { stream, until: Cell::new(None) }
    }

    /// From now on the device may reach it, until the last of `calls` positions is over. They complete, whatever becomes of the calls.
    pub(super) fn begin(&self, step: &Step<'_>, calls: u64) {
        self.until.set(Some(step.at.saturating_add(calls.saturating_sub(1))));
    }

    /// An event answers for it.
    pub(super) fn end(&self) {
        self.until.set(None);
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(position) = self.until.get() {
            Event::at(self.stream, position, None).outlast();
        }
    }
}

pub(super) fn enqueue_write(stream: &Stream, span: Span<'_>, source: Source<'_>) -> Result<u64> {
    let touches = [Touch { span, reads: false, write: Write::Whole, rows: None }];
    let subject = subject(stream, &NAMES.write);
    let charge = charge(stream, &source, span.size);
    let lent = Lent::by(stream);
    let performed = perform(stream, &subject, &touches, None, |step| {
        let to = region(&span)?;
        match source {
            Source::Copied(bytes) => step.queue.write(step.at, to, bytes),
            Source::Borrowed(bytes) => {
                lent.begin(step, 1);
                step.queue.write_borrowed(step.at, to, bytes)
            }
        }
    })?;
    lent.end();
    Ok(written(stream, &performed, charge))
}

/// What the bytes of a write are charged that the device may have to keep for a while (M6).
pub(super) fn charge(stream: &Stream, source: &Source<'_>, bytes: u64) -> Option<Charge> {
    match source {
        Source::Copied(_) => stream.charge_upload(bytes),
        Source::Borrowed(_) => None,
    }
}

/// The position at which a write is over; until then it stays charged.
pub(super) fn written(stream: &Stream, performed: &Performed, charge: Option<Charge>) -> u64 {
    let Performed::Enqueued(position) = *performed else { return stream.queue.last() };
    if let Some(charge) = charge {
        stream.charge_until(position, charge);
    }
    position
}

/// What is wrong with a fill, if anything is.
pub(super) fn check_fill<'a>(device: &Arc<Device>, to: &Place<'a>, pattern: &[u8]) -> Checked<Span<'a>> {
    let span = to.check(device, || "destination".into())?;
    if !matches!(pattern.len(), 1 | 2 | 4 | 8 | 16) {
        let message = || format!("a fill pattern has 1, 2, 4, 8 or 16 bytes, not {}", pattern.len());
        return refusal(code::INVALID_ARGUMENT, message);
    }
    Ok(span)
}

/// What is wrong with a copy, if anything is (L9).
pub(super) fn check_copy<'a>(device: &Arc<Device>, from: &Place<'a>, to: &Place<'a>) -> Checked<(Span<'a>, Span<'a>)> {
    let to = to.check(device, || "destination".into())?;
    let from = from.check(device, || "source".into())?;
    same_size("source", &to, from.size)?;
    if from.overlaps(&to) {
        let (source, destination, label) = (from.range(), to.range(), to.buffer.label());
        let message = || format!("source {source:?} and destination {destination:?} of the copy overlap in buffer `{label}`");
        return refusal(code::OVERLAP, message);
    }
    Ok((from, to))
}

/// Enqueues a fill with a pattern of 1, 2, 4, 8 or 16 bytes, repeated; the last repetition may be cut short.
pub fn fill(stream: Option<&Stream>, to: Place<'_>, pattern: &[u8]) -> Result<()> {
    watched(stream, || "`fill`".into(), || fill_now(stream, to, pattern))
}

fn fill_now(stream: Option<&Stream>, to: Place<'_>, pattern: &[u8]) -> Result<()> {
    let checked = (|| {
        let stream = usable(stream)?;
        Ok((stream, check_fill(&stream.device, &to, pattern)?))
    })();
    let (stream, span) = checked.map_err(|made: Box<Error>| refused(*made, &to))?;
    if stream.window.is_recording()
        && record(stream, &Request::Fill { to, pattern, label: "" }).map_err(|made| refused(*made, &to))?.is_some()
    {
        return Ok(());
    }
    if span.size == 0 {
        return Ok(());
    }
    let touches = [Touch { span, reads: false, write: Write::Whole, rows: None }];
    let subject = subject(stream, &NAMES.fill);
    perform(stream, &subject, &touches, None, |step| step.queue.fill(step.at, region(&span)?, pattern)).map(drop)
}

/// Enqueues a copy between two views of equal size that do not overlap (L9).
pub fn copy(stream: Option<&Stream>, from: Place<'_>, to: Place<'_>) -> Result<Outcome> {
    watched(stream, || "`copy`".into(), || copy_now(stream, from, to))
}

fn copy_now(stream: Option<&Stream>, from: Place<'_>, to: Place<'_>) -> Result<Outcome> {
    let checked = (|| {
        let stream = usable(stream)?;
        let (from, to) = check_copy(&stream.device, &from, &to)?;
        Ok((stream, from, to))
    })();
    let (asked, as_asked) = (to, Request::Copy { from, to, label: "" });
    let (stream, from, to) = checked.map_err(|made: Box<Error>| refused(*made, &to))?;
    if stream.window.is_recording()
        && let Some(outcome) = record(stream, &as_asked).map_err(|made| refused(*made, &asked))?
    {
        return Ok(outcome);
    }
    if to.size == 0 {
        return Ok(Outcome::Enqueued);
    }
    let touches = [
        Touch { span: from, reads: true, write: Write::No, rows: None },
        Touch { span: to, reads: false, write: Write::Whole, rows: None },
    ];
    let subject = subject(stream, &NAMES.copy);
    let performed = perform(stream, &subject, &touches, None, |step| step.queue.copy(step.at, region(&from)?, region(&to)?))?;
    Ok(performed.into())
}

/// Reads into host memory and waits for it (T8). Host memory is left alone unless the bytes can be trusted.
pub fn read(stream: Option<&Stream>, from: Place<'_>, into: HostTarget) -> Result<()> {
    let event = watched(stream, || "a read of the host".into(), || read_now(stream, from, into, true))?;
    match event.wait_for_lent()? {
        Wait::Done => Ok(()),
        Wait::TimedOut => super::error::fail(code::INTERNAL, "a wait without a time limit ended before its time"),
    }
}

/// Enqueues a read into host memory that stays valid until the event it gives is over.
pub fn read_async(stream: Option<&Stream>, from: Place<'_>, into: HostTarget) -> Result<Arc<Event>> {
    watched(stream, || "a read of the host".into(), || read_now(stream, from, into, false))
}

/// `waits`: the caller does nothing else until the bytes are there.
fn read_now(stream: Option<&Stream>, from: Place<'_>, into: HostTarget, waits: bool) -> Result<Arc<Event>> {
    let checked = (|| {
        let stream = usable(stream)?;
        let span = from.check(&stream.device, || "source".into())?;
        same_size("host memory", &span, into.size() as u64)?;
        Ok((stream, span))
    })();
    let (stream, span) = checked.map_err(|made: Box<Error>| Failed::of(*made))?;
    if span.size == 0 {
        stream.not_recording(&NAMES.read).map_err(|made| Failed::of(*made))?;
        return Ok(Event::at(stream, stream.queue.last(), None));
    }
    if waits {
        wait_for_writes(stream, &span);
    }
    enqueue_read(stream, span, into, waits || span.size <= AT_ONCE)
}

/// Bytes that an asynchronous read copies within the call at most: the call is not to take longer than one that enqueues.
const AT_ONCE: u64 = 64 << 10;

fn enqueue_read(stream: &Stream, span: Span<'_>, into: HostTarget, at_once: bool) -> Result<Arc<Event>> {
    let touches = [Touch { span, reads: true, write: Write::No, rows: None }];
    let subject = subject(stream, &NAMES.read);
    let landing = Landing { view: span.view(), into, rows: None, at_once };
    perform_read(stream, &subject, &touches, landing, |step, into| step.queue.read(step.at, region(&span)?, into))
}

/// Where the host reaches the device's memory, and reads go aside all the same because all work can fail late: waits for the work that the bytes come from before the read
/// rather than after it, so that nothing is left that they have to go aside for. Whatever goes wrong the read finds again.
fn wait_for_writes(stream: &Stream, span: &Span<'_>) {
    let can = stream.device.capabilities();
    if !can.host_visible || !can.fails_late || stream.is_dry() || stream.window.is_recording() {
        return;
    }
    let Some(write) = span.buffer.uses.last_write() else { return };
    if let Some(queue) = stream.device.queue(write.queue)
        && queue.native.completed() < write.position
    {
        let _ = wait(&stream.device, &queue, write.position, None);
    }
}

/// Where the bytes of a read go.
pub(super) struct Landing {
    /// What is read.
    pub(super) view: View,
    pub(super) into: HostTarget,
    /// Of the host memory, only these rows; none: all of it.
    pub(super) rows: Option<Box<Footprint>>,
    /// The whole of the one range that is touched may be copied within the call.
    pub(super) at_once: bool,
}

/// Enqueues a read by `work`, which is told where the bytes go.
pub(super) fn perform_read(
    stream: &Stream,
    subject: &Subject<'_>,
    touches: &[Touch<'_>],
    landing: Landing,
    work: impl FnOnce(&Step<'_>, HostTarget) -> std::result::Result<(), DeviceError>,
) -> Result<Arc<Event>> {
    let Landing { view, into, rows, at_once } = landing;
    let watch = Watch::new();
    let (mut waiting, mut refused, mut there) = (None, None, false);
    let lent = Lent::by(stream);
    let performed = perform(stream, subject, touches, Some(&watch), |step| {
        // The mark is held: nothing joins what the bytes derive from.
        if let Some(touch) = touches.first().filter(|_| at_once && step.journaled)
            && late::is_settled(touch.span.buffer.id, touch.span.range())
        {
            there = step.queue.read_at_once(step.at, region(&touch.span)?, &into)?;
            if there {
                return Ok(());
            }
        }
        // What may still fail must not reach the caller's memory: it waits aside until all that it derives from has retired (T13).
        if step.journaled && !into.is_ours() {
            let size = into.size() as u64;
            let staged = stream.stage(size);
            waiting = Some(staged.map_err(|failed| {
                refused = Some(failed);
                DeviceError::OutOfMemory { asked: size, free: 0 }
            })?);
        }
        if waiting.is_none() && !into.is_ours() {
            lent.begin(step, subject.calls);
        }
        work(step, waiting.clone().unwrap_or_else(|| into.clone()))
    });
    let performed = performed.map_err(|failed| refused.take().unwrap_or(failed))?;
    lent.end();
    match performed {
        Performed::Skipped(failure) => {
            // All failures that claim some of the bytes, unless they were repaired this very moment.
            trust::check(&rows::claimed(touches))?;
            Err(trust::unwritten(&failure, view.buffer.id))
        }
        Performed::Enqueued(_) if there => Ok(Event::at(stream, 0, None)),
        Performed::Enqueued(position) => {
            let watch = (waiting.is_some() || into.is_ours()).then_some(watch);
            let read = Read { aside: waiting.is_some(), staging: waiting, target: into, rows, view, watch, done: None };
            Ok(Event::at(stream, position, Some(read)))
        }
    }
}

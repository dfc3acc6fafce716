//! Capture windows of streams (G1 to G3): prepared, then recording, then closed again, whatever happens.
//!
//! A window is a list of nodes and nothing else. Nothing is enqueued while one records; each call leaves a node, or else dooms the window: the first such
//! call is what `end` tells, and everything that the nodes would have written is claimed then.
//!
//! While a window is prepared, the stream's buffers come from the persistent pools and are held: the recording takes at once what the warm-up took one after another.
//! When it begins they are let go, and the pools are frozen. Lock order: the list of dry runs before a window before marks; no lock but those of maps and pools is taken under both.

use std::hint::cold_path;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use compute_trust::{About, Error, Failure, Skip};
use parking_lot::Mutex;

use super::super::buffer::Buffer;
use super::super::error::{Checked, Failed, Result, error, fail, refusal};
use super::super::memory::{AllocationMode, CAPTURING};
use super::super::section::{Outcome, Write, alone, claim, refuse, refused_operation};
use super::super::stream::Stream;
use super::super::transfer::usable;
use super::super::{code, late, log, trust};
use super::builder::{GraphOptions, List};
use super::effects::{Touched, Tracker};
use super::instance::Graph;
use super::node::{Node, Request, Touches, Work};

const CLOSED: u8 = 0;
const PREPARED: u8 = 1;
const RECORDING: u8 = 2;

/// A stream's window.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Window {
    /// Which of [`Phase`] it is in, to be asked by every call: written under the lock.
    now: AtomicU8,
    phase: Mutex<Phase>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Closed,
    Prepared(Prepared),
    Recording(Box<Recording>),
}

struct Prepared {
    number: u64,
    /// The buffers of the warm-up.
    held: Vec<Arc<Buffer>>,
    failed: Option<Failing>,
}

struct Recording {
    number: u64,
    options: GraphOptions,
    list: List,
    doom: Option<Failing>,
    /// Whether the pools were frozen before.
    frozen: bool,
}

/// The first call that failed.
struct Failing {
    /// Which it was.
    what: String,
    failed: Arc<Failed>,
}

impl Window {
    /// Whether it is prepared or recording. One load.
    pub(crate) fn is_open(&self) -> bool {
        self.now.load(Ordering::Acquire) != CLOSED
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.now.load(Ordering::Acquire) == RECORDING
    }

    /// Where a buffer of the stream comes from.
    pub(crate) fn mode(&self, asked: AllocationMode) -> AllocationMode {
        if self.is_open() { AllocationMode::Persistent } else { asked }
    }

    /// Holds a buffer of the warm-up, so that its memory is not handed out twice before the recording wants it.
    pub(crate) fn hold(&self, buffer: &Arc<Buffer>) {
        if let Phase::Prepared(prepared) = &mut *self.phase.lock()
            && prepared.held.try_reserve(1).is_ok()
        {
            prepared.held.push(Arc::clone(buffer));
        }
    }

    /// A call failed: that of the warm-up which `begin` tells, or that which dooms the recording.
    pub(crate) fn failed(&self, what: impl FnOnce() -> String, failed: &Arc<Failed>) {
        let mut phase = self.phase.lock();
        let first = match &mut *phase {
            Phase::Closed => return,
            Phase::Prepared(prepared) => &mut prepared.failed,
            Phase::Recording(recording) => &mut recording.doom,
        };
        if first.is_none() {
            *first = Some(Failing { what: what(), failed: Arc::clone(failed) });
        }
    }
}

/// Makes a call of a stream that an open window hears of. One that panics has failed, too.
pub(crate) fn watched<T>(stream: Option<&Stream>, what: impl Fn() -> String, call: impl FnOnce() -> Result<T>) -> Result<T> {
    struct Panicked<'a, F: Fn() -> String>(&'a Stream, &'a F);
    impl<F: Fn() -> String> Drop for Panicked<'_, F> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.window.failed(self.1, &Failed::of(error(code::INTERNAL, "the call panicked")));
            }
        }
    }
    let Some(stream) = stream.filter(|stream| stream.window.is_open()) else { return call() };
    cold_path();
    let _panicked = Panicked(stream, &what);
    let answer = call();
    if let Err(failed) = &answer {
        stream.window.failed(&what, failed);
    }
    answer
}

/// Records a node, if the stream records. `None`: it does not, or not any more.
pub(crate) fn record(stream: &Stream, request: &Request<'_>) -> Checked<Option<Outcome>> {
    usable(Some(stream))?;
    let mut touches = Touches::new();
    let work = Work::new(&stream.device, request, &mut touches)?;
    let node = Node { work, label: request.label() };
    for touched in &touches {
        back(touched.span.buffer)?;
        not_scratch_of_another(stream, touched.span.buffer)?;
        free_of_others(stream, touched.span.buffer, touched.write != Write::No)?;
    }
    let mut phase = stream.window.phase.lock();
    let Phase::Recording(recording) = &mut *phase else { return Ok(None) };
    let Some((failure, needed)) = first_claim(&recording.list, &touches) else {
        recording.list.add(node, &touches, &[])?;
        return Ok(Some(Outcome::Enqueued));
    };
    let outputs = touches.iter().filter(|touched| touched.write != Write::No).map(|touched| touched.span.buffer.id).collect();
    recording.list.add(node, &touches, &[])?;
    let label = request.label().unwrap_or_else(|| "".into());
    let about = About { operation: refused_operation(), label, kernel: request.name(), stream: stream.id };
    failure.note(Skip { about, needed: needed.name(), outputs, used: false });
    if recording.doom.is_none() {
        let what = format!("{}, which was skipped as it needs buffer `{}`", named(request), needed.label());
        recording.doom = Some(Failing { what, failed: trust::unwritten(&failure, needed.id) });
    }
    Ok(Some(Outcome::Skipped))
}

/// What a request is called in messages.
pub(crate) fn named(request: &Request<'_>) -> String {
    let kind = match request {
        Request::Launch(_) => "the launch of ",
        Request::Copy { .. } | Request::CopyRows { .. } | Request::Fill { .. } | Request::Join => "",
    };
    match request.label() {
        Some(label) => format!("{kind}`{}` `{label}`", request.name()),
        None => format!("{kind}`{}`", request.name()),
    }
}

/// A deferred buffer gets its memory now: a replay allocates nothing (G4).
fn back(buffer: &Arc<Buffer>) -> Checked<()> {
    buffer.back().map_err(|failed| {
        let (label, cause) = (buffer.label(), &failed.error);
        let message = format!("the deferred allocation of buffer `{label}` could not be made inside a capture window: {cause}");
        Box::new(Error { code: code::NOT_BACKED, message, ..(**cause).clone() })
    })
}

/// Refuses a buffer that no replay on the stream could use.
fn not_scratch_of_another(stream: &Stream, buffer: &Buffer) -> Checked<()> {
    if !buffer.is_scratch_of_another(stream.id) {
        return Ok(());
    }
    let (label, stream) = (buffer.label(), &stream.label);
    let message = || format!("buffer `{label}` is scratch of another stream than `{stream}`, which alone may use it");
    refusal(code::FOREIGN_HANDLE, message)
}

/// Refuses a buffer that unfinished work of another queue still uses in a way that the node would have to wait for (G2).
fn free_of_others(stream: &Stream, buffer: &Arc<Buffer>, writes: bool) -> Checked<()> {
    if !buffer.uses.elsewhere(stream.queue.index, writes) {
        return Ok(());
    }
    let mut free = true;
    let mut look = |other: compute_trust::Use| free &= other.queue == stream.queue.index || stream.device.over([other]);
    buffer.uses.last_write().into_iter().for_each(&mut look);
    if writes {
        buffer.uses.each_read(&mut look);
    }
    if free {
        return Ok(());
    }
    refusal(code::RECORDING, || {
        let (label, stream) = (buffer.label(), &stream.label);
        format!(
            "buffer `{label}` is still used by work of another stream, which a graph of stream `{stream}` cannot wait for; sync first"
        )
    })
}

/// The first claim on bytes that the node would read and no earlier node has written wholly (T5, G5).
fn first_claim(list: &List, touches: &[Touched<'_>]) -> Option<(Arc<Failure>, Arc<Buffer>)> {
    touches.iter().filter(|touched| touched.reads).find_map(|touched| {
        let buffer = touched.span.buffer;
        if !buffer.mark.glance().dirty {
            return None;
        }
        // Mostly it is what an earlier node wrote, and nobody else has to be waited for.
        let mut parts = list.tracker.outside(touched.span).peekable();
        parts.peek()?;
        let found = alone(buffer, |map| {
            let map = map.lock();
            parts.find_map(|part| map.first_claim(part).map(|(_, failure)| Arc::clone(failure)))
        });
        found.map(|failure| (failure, Arc::clone(buffer)))
    })
}

impl Stream {
    /// Refuses what cannot be done while a window records (G2).
    pub(crate) fn not_recording(&self, what: &str) -> Checked<()> {
        if !self.window.is_recording() {
            return Ok(());
        }
        let label = &self.label;
        refusal(code::RECORDING, || {
            format!("{what} is not possible while stream `{label}` records a graph: nothing runs then; end the capture first")
        })
    }

    /// The same, and the window hears of it.
    pub(crate) fn refused_recording(&self, what: &'static str) -> Result<()> {
        self.not_recording(what).map_err(|made| {
            let failed = Failed::of(*made);
            self.window.failed(|| what.to_owned(), &failed);
            failed
        })
    }

    /// A call of this stream was refused for a reason that only the caller of the runtime knows: an open window hears of it.
    pub fn call_failed(&self, what: &str, code: i32, message: &str) {
        if self.window.is_open() {
            self.window.failed(|| what.to_owned(), &Failed::of(error(code, message)));
        }
    }

    /// Opens a window (G1): waits for the stream's work, and from now on takes its buffers from the persistent pools.
    pub fn prepare_capture(&self) -> Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.must_be(CLOSED, "prepare")?;
        if self.is_dry() {
            return fail(code::BUSY, format!("stream `{}` is in a dry run; end that first", self.label));
        }
        self.sync(&[], None)?;
        // Held until the window is open, so that no dry run can begin meanwhile.
        let runs = self.dry_runs.lock();
        if runs.is_running() {
            return fail(code::BUSY, format!("another thread has just begun a dry run of stream `{}`", self.label));
        }
        let mut phase = self.window.phase.lock();
        if !matches!(&*phase, Phase::Closed) {
            return fail(code::BUSY, format!("another thread has just prepared a capture of stream `{}`", self.label));
        }
        late::listen(self.id);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        *phase = Phase::Prepared(Prepared { number, held: Vec::new(), failed: None });
        // The window has to hear of every buffer.
        self.keeper.shut(CAPTURING);
        self.window.now.store(PREPARED, Ordering::Release);
        drop(phase);
        drop(runs);
        self.keeper.let_go();
        Ok(())
    }

    /// Begins to record (G1), and gives the number that shows its opener to [`Stream::end_capture`]. Tells what failed in the warm-up run, and then closes the window.
    pub fn begin_capture(&self, options: GraphOptions) -> Result<u64> {
        self.must_be(PREPARED, "begin")?;
        // Quietly: another thread may have begun meanwhile, which this must not doom.
        let drained = self.sync_quietly(&[], None);
        let set = self.pool_set().map(Arc::clone);
        let mut phase = self.window.phase.lock();
        let Phase::Prepared(prepared) = &mut *phase else {
            return fail(code::BUSY, format!("the capture of stream `{}` was closed by another thread", self.label));
        };
        let heard = late::heard(self.id);
        let failing = prepared.failed.take().or_else(|| heard.map(late_failing));
        let failing = failing.or_else(|| drained.err().map(|failed| Failing { what: "the wait for it".into(), failed }));
        let (number, held) = (prepared.number, std::mem::take(&mut prepared.held));
        let set = match (set, failing) {
            (Ok(set), None) => set,
            (set, failing) => {
                *phase = Phase::Closed;
                self.keeper.open(CAPTURING);
                self.window.now.store(CLOSED, Ordering::Release);
                drop(phase);
                drop(held);
                let failing = failing.map_or_else(|| set.map(drop), |failing| Err(self.warm_up_failed(&failing)));
                return failing.and_then(|()| fail(code::INTERNAL, "a window was closed for no reason"));
            }
        };
        // First frozen, then let go: what the warm-up took stays in the pools.
        let frozen = set.swap_frozen(true);
        *phase = Phase::Recording(Box::new(Recording { number, options, list: List::new(), doom: None, frozen }));
        self.window.now.store(RECORDING, Ordering::Release);
        drop(phase);
        drop(held);
        Ok(number)
    }

    /// Closes the window, whatever else happens, and gives the graph if `number` shows the one who began it and nothing went wrong (G3).
    pub fn end_capture(&self, number: u64) -> Result<Arc<Graph>> {
        let label = &self.label;
        match self.close() {
            Phase::Closed => fail(code::BUSY, format!("no capture is open on stream `{label}`; prepare one first")),
            Phase::Prepared(_) => {
                fail(code::BUSY, format!("the capture of stream `{label}` was prepared, but never begun; it is closed now"))
            }
            Phase::Recording(recording) => self.finish(*recording, Some(number)),
        }
    }

    /// Closes the window of a stream that goes.
    pub(crate) fn abandon_capture(&self) {
        if self.window.is_open()
            && let Phase::Recording(recording) = self.close()
        {
            // There is nobody to tell but those who use the bytes.
            let _ = self.finish(*recording, None);
        }
    }

    fn close(&self) -> Phase {
        let mut phase = self.window.phase.lock();
        let closed = std::mem::take(&mut *phase);
        self.keeper.open(CAPTURING);
        // Before anybody can prepare the next window.
        if let (Phase::Recording(recording), Some(set)) = (&closed, self.pools.get()) {
            set.swap_frozen(recording.frozen);
        }
        self.window.now.store(CLOSED, Ordering::Release);
        let heard = late::heard(self.id);
        drop(phase);
        drop(heard);
        closed
    }

    fn finish(&self, recording: Recording, number: Option<u64>) -> Result<Arc<Graph>> {
        let Recording { options, mut list, doom, number: opened, .. } = recording;
        let doom = doom.map(|doom| self.doomed(&doom));
        let abandoned = (number != Some(opened)).then(|| self.abandoned(number, opened));
        match (doom, abandoned) {
            (None, None) => Graph::of(&self.device, &options, &mut list)
                .map_err(|failed| refuse((*failed.error).clone(), written(&list.tracker))),
            (Some(made), None) | (None, Some(made)) => Err(refuse(made, written(&list.tracker))),
            (Some(doom), Some(abandoned)) => {
                let group = Failure::untouched_group(&[doom, abandoned].map(|made| Failure::new(Arc::new(made), true)));
                claim(&group, written(&list.tracker));
                log::failure(&group);
                Err(trust::unwritten(&group, 0))
            }
        }
    }

    fn doomed(&self, doom: &Failing) -> Error {
        let (label, what, cause) = (&self.label, &doom.what, &doom.failed.error);
        let text = format!("the capture of stream `{label}` gives no graph, because of {what}: {cause}");
        about(code::CAPTURE, text, doom)
    }

    fn warm_up_failed(&self, failing: &Failing) -> Arc<Failed> {
        let (label, what, cause) = (&self.label, &failing.what, &failing.failed.error);
        let text = format!("the warm-up run of the capture of stream `{label}` failed: {what}: {cause}; the window is closed");
        Failed::of(about(code::CAPTURE, text, failing))
    }

    fn abandoned(&self, number: Option<u64>, opened: u64) -> Error {
        let label = &self.label;
        error(
            code::ABANDONED,
            match number {
                Some(number) => format!(
                    "the capture of stream `{label}` was ended by a caller that did not begin it: its number is {opened}, not {number}"
                ),
                None => format!("stream `{label}` was destroyed while it recorded a graph"),
            },
        )
    }

    /// Calls out of order are refused (G1).
    fn must_be(&self, phase: u8, call: &str) -> Result<()> {
        self.device.check()?;
        let now = self.window.now.load(Ordering::Acquire);
        if now == phase {
            return Ok(());
        }
        let state = match now {
            CLOSED => "has no capture that is prepared",
            PREPARED => "has a capture that is prepared already (compute_stream_end_capture closes it)",
            _ => "records a graph",
        };
        fail(code::BUSY, format!("stream `{}` {state}; the order is prepare, begin, end, and this is {call}", self.label))
    }
}

/// What the nodes would have written.
fn written(tracker: &Tracker) -> impl Iterator<Item = (&Arc<Buffer>, Range<u64>)> {
    tracker.writes().map(|(buffer, range, _)| (buffer, range))
}

fn late_failing(failure: Arc<Failure>) -> Failing {
    let made = failure.error();
    let what = made.about.as_ref().map_or_else(
        || "work of it".to_owned(),
        |about| match &*about.label {
            "" => format!("`{}`", about.kernel),
            label => format!("`{}` `{label}`", about.kernel),
        },
    );
    Failing { what, failed: Failed::claiming(&failure) }
}

/// The error of a window, with the answers of what went wrong in it.
fn about(number: i32, text: String, failing: &Failing) -> Error {
    let cause = &failing.failed;
    let answers = cause.answers();
    Error { about: cause.error.about.clone(), answers, driver: cause.error.driver.clone(), ..error(number, text) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use std::time::Duration;

    use super::super::super::device::{Device, DeviceOptions};
    use super::*;

    /// Otherwise what is over would end the listening of what has begun.
    #[test]
    fn g1_a_window_is_closed_to_others_until_it_listens_no_more() {
        let (native, _) = crate::registry::open(Some("null"), 0, &compute_hal::OpenOptions::default()).unwrap().unwrap();
        let device = Device::new(native, &DeviceOptions::default()).unwrap();
        let stream = Arc::new(Stream::new(&device, "closed").unwrap());
        stream.prepare_capture().unwrap();
        let listeners = late::listeners();
        let closing = std::thread::spawn({
            let stream = Arc::clone(&stream);
            move || stream.end_capture(0)
        });
        while stream.window.is_open() {
            std::thread::yield_now();
        }
        // By now it waits for the list of those who listen.
        std::thread::sleep(Duration::from_millis(100));
        let is_kept = stream.window.phase.try_lock().is_none();
        drop(listeners);
        assert!(is_kept);
        assert!(closing.join().unwrap().is_err(), "it was never begun");
        stream.prepare_capture().unwrap();
    }
}

//! A queue's stream and what is put into it, in order. What cannot be put there yet is held back, with all that follows.
//!
//! | held back until | |
//! |---|---|
//! | another queue has enqueued what is waited for | `Held::Edge` |
//! | the counts of an indirect grid are on the host | `Held::Launch` |
//! | there is room for the next piece of a long read | `Held::Read` |
//! | there is room for the next piece of a write that was itself held back | `Held::Write` |
//!
//! Only a call that enqueues waits for room in pinned memory. Those who go on with what is held back come from questions and waits with an end, so they never do.
//!
//! Locks: of several queues' `submit` locks a thread holds one at most. `submit` comes before those of `flight`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use compute_hal::{DeviceError, HostTarget, LateCause, LateFailure, Position, QueueId};
use parking_lot::{Mutex, MutexGuard};

use crate::api::{Garbage, Inside, Object};
use crate::device::Shared;
use crate::driver::Failure;
use crate::flight::{Counts, Landing, Load, Progress, Wake};
use crate::launch::pinned_size;
use crate::limit::Began;
use crate::op::{Call, Groups, Op, Ready, Rect};
use crate::staging::{ALIGNMENT, CHUNK, Pinned, Slice};

/// Operations after which an event is recorded although nobody asks, so that memory comes back.
const OPERATIONS: u32 = 64;
/// Bytes of pinned memory that a queue may have under way.
pub(crate) const BUDGET: usize = 16 * CHUNK;
/// Bytes of a piece of a long read.
const PIECE: u64 = CHUNK as u64;
/// Bytes of a fill that come from the host, where the driver cannot fill by itself.
const FILL: usize = CHUNK / 64;

/// What is held back, oldest first.
enum Held {
    Edge(Weak<Lane>, Position),
    Launch(Place, Call<'static>, Arc<Counts>),
    Read(Place, Reading),
    Write(Place, Reading, Cow<'static, [u8]>),
    Work(Place, Op<'static>, u64),
}

/// The position of an operation, and whether its end is stamped.
#[derive(Clone, Copy)]
struct Place {
    at: Position,
    stamp: bool,
}

/// A long read, and how far it is. Of a write, which has no target.
struct Reading {
    rect: Rect,
    into: HostTarget,
    row: u64,
    column: u64,
}

/// What a queue's lock holds.
#[derive(Default)]
pub(crate) struct Submit {
    /// The highest position in the stream.
    last: Position,
    /// Operations behind the last marker.
    operations: u32,
    pub(crate) load: Load,
    /// The chunk that slices are cut from, and how much of it is used.
    chunk: Option<(Pinned, usize)>,
    /// Blocks that the stream has waited for.
    ready: u64,
    /// Where launches with a time limit note when they began; made for the first.
    pub(crate) began: Option<Began>,
    held: VecDeque<Held>,
    /// Somebody is at the held ones; `again`: somebody else wanted to be.
    draining: bool,
    again: bool,
    /// Queues that wait for positions of this one that are not in its stream.
    dependents: Vec<(Position, Weak<Lane>)>,
    stamp: bool,
}

pub(crate) struct Lane {
    pub(crate) id: QueueId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stream: Object,
    submit: Mutex<Submit>,
    /// The highest position accepted, in the stream or not.
    accepted: AtomicU64,
    pub(crate) progress: Progress,
    /// No more work will come.
    closing: AtomicBool,
    /// When somebody last looked at the events and none was reached, in nanoseconds since `birth`.
    looked: AtomicU64,
    birth: Instant,
}

/// How a step went.
enum Step {
    Done,
    /// It goes on when something has happened.
    Blocked(Box<Held>),
}

/// Whether it went well. What failed can be done without, unless it is the end of the device.
fn unless_lost(answer: Result<(), DeviceError>) -> Result<bool, DeviceError> {
    match answer {
        Ok(()) => Ok(true),
        Err(error @ DeviceError::Lost(_)) => Err(error),
        Err(_) => Ok(false),
    }
}

pub(crate) fn wake_all(due: Vec<Wake>) {
    due.into_iter().for_each(|wake| wake());
}

impl Lane {
    pub(crate) fn new(id: QueueId, shared: Arc<Shared>) -> Result<Self, DeviceError> {
        let calls = shared.enter()?;
        let mut stream = Object(std::ptr::null_mut());
        let progress = Progress::default();
        // SAFETY: the place is ours.
        unsafe { calls.stream_create(&mut stream.0, shared.api.vendor.flags.stream) }.map_err(|f| shared.fail(f))?;
        let base = crate::flight::new_event(&calls, shared.api.vendor.flags.event_timed);
        if let Ok(event) = base {
            // SAFETY: event and stream live.
            match unsafe { calls.event_record(event.0, stream.0) } {
                Ok(()) => progress.start_clock(event),
                Err(_) => shared.reclaim.throw(Garbage::Event(event)),
            }
        }
        drop(calls);
        let birth = Instant::now();
        let (submit, closing, looked) = (Mutex::default(), AtomicBool::new(false), AtomicU64::new(0));
        Ok(Self { id, shared, stream, submit, accepted: AtomicU64::new(0), progress, closing, looked, birth })
    }

    /// Enqueues an operation, or keeps it behind what is held back.
    pub(crate) fn run(self: &Arc<Self>, at: Position, work: Ready<'_>) -> Result<(), DeviceError> {
        let mut submit = self.submit.lock();
        // Behind the lock, which whoever ends the queue after a fault has: nothing may follow.
        self.shared.well()?;
        self.accepted.fetch_max(at, Ordering::AcqRel);
        let place = Place { at, stamp: std::mem::take(&mut submit.stamp) };
        if submit.draining || !submit.held.is_empty() {
            submit.held.push_back(Held::Work(place, work.op.into_owned(), work.ready));
            return Ok(());
        }
        let step = self.execute(&mut submit, place, work.op, work.ready)?;
        self.settle(submit, step);
        Ok(())
    }

    /// After a step: keeps what is not over, and lets go of queues that waited for it.
    fn settle(self: &Arc<Self>, mut submit: MutexGuard<'_, Submit>, step: Step) {
        if let Step::Blocked(held) = step {
            submit.held.push_front(*held);
            drop(submit);
            // What it waits for may be there already.
            return self.shared.attendant.ring();
        }
        let due = self.due_dependents(&mut submit);
        drop(submit);
        self.let_go(&due);
    }

    /// Queues that waited for this one go on, as far as they can.
    fn let_go(&self, due: &[Weak<Self>]) {
        due.iter().filter_map(Weak::upgrade).for_each(|lane| lane.drain());
        if !due.is_empty() {
            // What they wait for next may be nobody's business but the attendant's.
            self.shared.attendant.ring();
        }
    }

    fn due_dependents(&self, submit: &mut Submit) -> Vec<Weak<Self>> {
        if submit.dependents.is_empty() {
            return Vec::new();
        }
        let last = submit.last;
        submit.dependents.extract_if(.., |(position, _)| *position <= last).map(|(_, lane)| lane).collect()
    }

    /// Completes `at` without work.
    pub(crate) fn mark(self: &Arc<Self>, at: Position) {
        if self.shared.fault().is_some() {
            return;
        }
        let mut submit = self.submit.lock();
        self.accepted.fetch_max(at, Ordering::AcqRel);
        let idle = submit.held.is_empty() && !submit.draining && submit.operations == 0 && !submit.stamp;
        if idle && submit.load.is_empty() && self.progress.completed() == submit.last {
            submit.last = submit.last.max(at);
            self.progress.skip_to(at);
            let watched = self.progress.has_watchers();
            self.settle(submit, Step::Done);
            if watched {
                self.shared.attendant.ring();
            }
            return;
        }
        drop(submit);
        let refused = self.run(at, Ready { op: Op::Mark, ready: 0 }).is_err();
        if refused && self.shared.fault().is_none() {
            // Not even the driver could be entered. Nobody would hear of it, so it is tried once more.
            self.submit.lock().held.push_back(Held::Work(Place { at, stamp: false }, Op::Mark, 0));
            self.shared.attendant.ring();
        }
    }

    pub(crate) fn stamp(&self, at: Position) {
        let _ = at;
        self.submit.lock().stamp = true;
    }

    /// Puts an operation into the stream.
    fn execute(self: &Arc<Self>, submit: &mut Submit, place: Place, op: Op<'_>, ready: u64) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        self.begin(submit, &calls, ready)?;
        let step = match op {
            Op::Mark => Step::Done,
            Op::Launch(call) => self.launch(submit, &calls, place, call)?,
            Op::Replay(replay) => {
                self.replay(submit, &calls, place.at, &replay)?;
                Step::Done
            }
            Op::Move(rows) => {
                crate::moves::rows(&calls, self.stream, &rows, self.shared.pitch).map_err(|f| self.shared.fail(f))?;
                Step::Done
            }
            Op::Fill { to, size, pattern } => {
                self.fill(submit, &calls, to, size, &pattern)?;
                Step::Done
            }
            Op::Write(rect, bytes) => {
                self.write(submit, &calls, &rect, &bytes)?;
                Step::Done
            }
            Op::Send(to, from, size) => {
                // SAFETY: the source is pinned, that long, and stays as it is until this position completes; the destination is inside the region.
                unsafe { calls.write_async(to, from.pointer().cast(), size, self.stream.0) }.map_err(|f| self.shared.fail(f))?;
                Step::Done
            }
            Op::Read(rect, into) => {
                let reading = Reading { rect, into, row: 0, column: 0 };
                self.read(submit, &calls, place, reading)?
            }
        };
        if let Step::Done = step {
            self.finish(submit, &calls, place)?;
        }
        Ok(step)
    }

    /// An operation that touches blocks up to `ready` is about to be put into the stream.
    fn begin(&self, submit: &mut Submit, calls: &Inside<'_>, ready: u64) -> Result<(), DeviceError> {
        // Also when it fails: a part of it may be in the stream.
        submit.operations += 1;
        self.follow(submit, calls, ready)
    }

    /// Has the stream wait for the making of blocks up to `ready`.
    pub(crate) fn follow(&self, submit: &mut Submit, calls: &Inside<'_>, ready: u64) -> Result<(), DeviceError> {
        if ready > submit.ready {
            submit.ready = self.shared.memory.order(calls, self.stream).map_err(|f| self.shared.fail(f))?;
        }
        Ok(())
    }

    /// As [`Self::execute`] for what was held back, without waiting for room.
    fn execute_held(
        self: &Arc<Self>,
        submit: &mut Submit,
        place: Place,
        op: Op<'static>,
        ready: u64,
    ) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        if !self.has_room(submit, &calls, pinned(&op))? {
            return Ok(Step::Blocked(Box::new(Held::Work(place, op, ready))));
        }
        match op {
            Op::Write(rect, bytes) if rect.width.saturating_mul(rect.rows) > PIECE => {
                self.begin(submit, &calls, ready)?;
                self.go_on_writing(submit, place, Reading::of_write(rect)?, bytes)
            }
            op => self.execute(submit, place, op, ready),
        }
    }

    /// Whether slices of so many bytes in all are there without waiting. If not, a marker sees to it that they will be.
    fn has_room(&self, submit: &mut Submit, calls: &Inside<'_>, size: usize) -> Result<bool, DeviceError> {
        let kept = submit.chunk.as_ref().map_or(0, |(chunk, _)| chunk.size);
        let pending: usize = submit.load.chunks.iter().map(|chunk| chunk.size).sum();
        let out = self.progress.out.load(Ordering::Relaxed);
        // What is too large for all room there is gets it when nothing else is under way.
        let room = size == 0 || pending + kept + out + size < BUDGET || pending + out == 0;
        // Early, so that some comes back while the rest is on its way.
        if pending >= BUDGET / 4 || (pending > 0 && !room) {
            // A failure is no matter: whoever found no room comes back.
            unless_lost(self.place_marker(submit, calls))?;
        }
        Ok(room)
    }

    /// Everything of `at` is in the stream.
    fn finish(self: &Arc<Self>, submit: &mut Submit, calls: &Inside<'_>, place: Place) -> Result<(), DeviceError> {
        let Place { at, stamp } = place;
        // First of all: what is in the stream is not refused any more. What fails below is done without, or again.
        submit.last = submit.last.max(at);
        self.progress.enqueued.store(submit.last, Ordering::SeqCst);
        if stamp {
            let stamped = self.progress.stamp(calls, self.stream, at, &mut submit.load);
            unless_lost(stamped.map_err(|f| self.shared.fail(f)))?;
        }
        if submit.operations >= OPERATIONS || self.progress.is_wanted(submit.last) {
            let placed = unless_lost(self.place_marker(submit, calls))?;
            if placed {
                self.look_and_owe();
            }
            if !placed || self.progress.has_watchers() {
                self.shared.attendant.ring();
            }
        }
        Ok(())
    }

    /// Records an event behind what is in the stream.
    pub(crate) fn place_marker(&self, submit: &mut Submit, calls: &Inside<'_>) -> Result<(), DeviceError> {
        self.progress.mark(calls, self.stream, submit.last, &mut submit.load).map_err(|f| self.shared.fail(f))?;
        submit.operations = 0;
        Ok(())
    }

    /// Ends what is over, from within a call that enqueues: those who want to know are told by the attendant.
    pub(crate) fn look_and_owe(&self) {
        let due = self.progress.end_markers(&self.shared);
        if !due.is_empty() {
            self.progress.owe(due);
            self.shared.attendant.ring();
        }
    }

    /// Pinned memory for one call of the driver, until that is made: the next slice may give this one's chunk away.
    pub(crate) fn slice(&self, submit: &mut Submit, calls: &Inside<'_>, size: usize) -> Result<Slice, DeviceError> {
        if let Some((chunk, used)) = &mut submit.chunk {
            let start = used.next_multiple_of(ALIGNMENT);
            if start.checked_add(size).is_some_and(|end| end <= chunk.size) {
                *used = start + size;
                return Ok(Slice::of(chunk, start, size));
            }
        }
        self.retire_chunk(submit, calls)?;
        let chunk = self.shared.chunks.take(calls, &self.shared.reclaim, size)?;
        let slice = Slice::of(&chunk, 0, size);
        submit.chunk = Some((chunk, size));
        Ok(slice)
    }

    /// Lets go of the chunk when what is in the stream is over; waits when too many are on their way.
    fn retire_chunk(&self, submit: &mut Submit, calls: &Inside<'_>) -> Result<(), DeviceError> {
        if let Some((chunk, _)) = submit.chunk.take() {
            submit.load.chunks.push(chunk);
        }
        let pending: usize = submit.load.chunks.iter().map(|chunk| chunk.size).sum();
        if pending + self.progress.out.load(Ordering::Relaxed) < BUDGET {
            return Ok(());
        }
        self.place_marker(submit, calls)?;
        while self.progress.out.load(Ordering::Relaxed) >= BUDGET / 2 {
            self.shared.well()?;
            self.look_and_owe();
            std::thread::yield_now();
        }
        Ok(())
    }

    fn launch(&self, submit: &mut Submit, calls: &Inside<'_>, place: Place, mut call: Call<'_>) -> Result<Step, DeviceError> {
        let groups = match call.groups {
            Groups::Direct(groups) => groups,
            Groups::At(address) => {
                let slice = self.slice(submit, calls, 12)?;
                // SAFETY: the slice has 12 bytes, and so has the region.
                unsafe { calls.read_async(slice.pointer().cast(), address, 12, self.stream.0) }
                    .map_err(|f| self.shared.fail(f))?;
                let counts = Arc::new(Counts::default());
                submit.load.landings.push(Landing::Counts { from: slice, into: Arc::clone(&counts) });
                self.place_marker(submit, calls)?;
                let Op::Launch(call) = Op::Launch(call).into_owned() else { return Ok(Step::Done) };
                return Ok(Step::Blocked(Box::new(Held::Launch(place, call, counts))));
            }
        };
        let mut arguments = std::mem::take(&mut call.arguments);
        self.launch_direct(submit, calls, place.at, (&call, groups), &mut arguments)?;
        Ok(Step::Done)
    }

    /// A launch whose counts are there.
    fn launch_counted(
        self: &Arc<Self>,
        submit: &mut Submit,
        place: Place,
        call: Call<'static>,
        counts: Arc<Counts>,
    ) -> Result<Step, DeviceError> {
        let Some(asked) = counts.get() else { return Ok(Step::Blocked(Box::new(Held::Launch(place, call, counts)))) };
        let allowed = self.shared.limits.grid;
        if asked.iter().zip(allowed).any(|(asked, allowed)| *asked > allowed) {
            submit.load.late.push(LateFailure { position: place.at, cause: LateCause::GridLimit { asked, allowed } });
            return self.execute(submit, place, Op::Mark, 0);
        }
        if asked.contains(&0) {
            return self.execute(submit, place, Op::Mark, 0);
        }
        self.execute_held(submit, place, Op::Launch(Call { groups: Groups::Direct(asked), ..call }), 0)
    }

    /// Puts as much of a read into the stream as there is room for.
    fn read(&self, submit: &mut Submit, calls: &Inside<'_>, place: Place, mut reading: Reading) -> Result<Step, DeviceError> {
        if reading.rect.rows == 1 && self.shared.is_pinned(reading.into.pointer().addr(), reading.rect.width) {
            let Rect { address, width, .. } = reading.rect;
            let (to, size) = (reading.into.pointer().cast(), usize::try_from(width).unwrap_or(0));
            // SAFETY: the target is pinned, that long, and nobody else's until its position completes.
            unsafe { calls.read_async(to, address, size, self.stream.0) }.map_err(|f| self.shared.fail(f))?;
            submit.load.landings.push(Landing::Kept(reading.into));
            return Ok(Step::Done);
        }
        let whole = reading.rect.width.saturating_mul(reading.rect.rows);
        let long = whole > PIECE;
        while let Some(piece) = reading.next() {
            if long && self.progress.out.load(Ordering::Relaxed) >= BUDGET {
                reading.back(&piece);
                return Ok(Step::Blocked(Box::new(Held::Read(place, reading))));
            }
            let slice = self.slice(submit, calls, piece.size())?;
            let width = usize::try_from(piece.width).unwrap_or(usize::MAX);
            crate::moves::to_host(calls, self.stream, &piece, slice, self.shared.pitch).map_err(|f| self.shared.fail(f))?;
            let offset = usize::try_from(piece.host).unwrap_or(usize::MAX);
            let pitch = usize::try_from(reading.rect.host_pitch).unwrap_or(usize::MAX);
            submit.load.landings.push(Landing::Rows { from: slice, into: reading.into.clone(), offset, width, pitch });
            if long {
                // The chunk goes with the marker, so that the piece lands while later ones are on their way.
                submit.load.chunks.extend(submit.chunk.take().map(|(chunk, _)| chunk));
                self.place_marker(submit, calls)?;
            }
        }
        Ok(Step::Done)
    }

    pub(crate) fn fill(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        to: u64,
        size: u64,
        pattern: &[u8],
    ) -> Result<(), DeviceError> {
        if crate::moves::fill(calls, self.stream, to, size, pattern).map_err(|f| self.shared.fail(f))? {
            return Ok(());
        }
        // The first repetitions from the host, then what is there as often as it takes.
        let first = (FILL as u64).min(size);
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(usize::try_from(first).unwrap_or(0)).collect();
        let slice = self.slice(submit, calls, bytes.len())?;
        slice.put(0, &bytes);
        let put = || {
            // SAFETY: the slice holds as many bytes; the destination is inside the region.
            unsafe { calls.write_async(to, slice.pointer().cast_const().cast(), bytes.len(), self.stream.0) }?;
            let mut done = first;
            while done < size {
                let more = done.min(size - done);
                // SAFETY: both are inside the region and do not overlap.
                unsafe { calls.copy_async(to + done, to, usize::try_from(more).unwrap_or(0), self.stream.0) }?;
                done += more;
            }
            Ok(())
        };
        put().map_err(|f: Failure| self.shared.fail(f))
    }

    fn write(&self, submit: &mut Submit, calls: &Inside<'_>, rect: &Rect, bytes: &[u8]) -> Result<(), DeviceError> {
        if rect.is_empty() {
            return Ok(());
        }
        if rect.rows == 1 && rect.width >= crate::upload::FROM && self.upload(submit, calls, rect.address, bytes)? {
            return Ok(());
        }
        let mut pieces = Reading::of_write(*rect)?;
        while let Some(piece) = pieces.next() {
            self.write_piece(submit, calls, &piece, bytes, rect.host_pitch)?;
        }
        Ok(())
    }

    fn write_piece(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        piece: &Piece,
        bytes: &[u8],
        host_pitch: u64,
    ) -> Result<(), DeviceError> {
        let slice = self.slice(submit, calls, piece.size())?;
        crate::moves::gather(&slice, bytes, piece, host_pitch)?;
        crate::moves::to_device(calls, self.stream, piece, slice, self.shared.pitch).map_err(|f| self.shared.fail(f))
    }

    /// Puts as much of a write that was held back into the stream as there is room for.
    fn go_on_writing(
        self: &Arc<Self>,
        submit: &mut Submit,
        place: Place,
        mut pieces: Reading,
        bytes: Cow<'static, [u8]>,
    ) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        while let Some(piece) = pieces.next() {
            if !self.has_room(submit, &calls, piece.size())? {
                pieces.back(&piece);
                return Ok(Step::Blocked(Box::new(Held::Write(place, pieces, bytes))));
            }
            self.write_piece(submit, &calls, &piece, &bytes, pieces.rect.host_pitch)?;
        }
        self.finish(submit, &calls, place)?;
        Ok(Step::Done)
    }

    /// Makes later work wait for a position of another queue.
    pub(crate) fn wait_for(self: &Arc<Self>, other: &Arc<Self>, position: Position) -> Result<(), DeviceError> {
        self.shared.well()?;
        if other.progress.completed() >= position {
            return Ok(());
        }
        if Arc::ptr_eq(self, other) {
            let past = self.accepted.load(Ordering::Acquire) >= position;
            return if past { Ok(()) } else { Err(DeviceError::Internal("a queue that waits for its own future".into())) };
        }
        let mut submit = self.submit.lock();
        // As in `run`.
        self.shared.well()?;
        if submit.held.is_empty() && !submit.draining {
            drop(submit);
            // Nothing is before it, so that a refusal is one of this call alone.
            let passed = other.wait_in(position, self)?;
            submit = self.submit.lock();
            if passed {
                submit.operations += 1;
                return Ok(());
            }
        }
        submit.held.push_back(Held::Edge(Arc::downgrade(other), position));
        drop(submit);
        // Also when it was not there just now: it may be by now.
        self.drain();
        self.shared.well()
    }

    /// Makes a stream wait for a position of this queue; false when it is not in its stream yet: then `waiter` is told.
    fn wait_in(&self, position: Position, waiter: &Arc<Self>) -> Result<bool, DeviceError> {
        let mut submit = self.submit.lock();
        if self.progress.completed() >= position {
            return Ok(true);
        }
        if submit.last < position {
            submit.dependents.push((position, Arc::downgrade(waiter)));
            return Ok(false);
        }
        let calls = self.shared.enter()?;
        if !self.progress.is_covered(position) {
            self.place_marker(&mut submit, &calls)?;
        }
        // An event is recorded again only under this lock, so it still means that position.
        // SAFETY: event and stream live.
        let waited = self.progress.with_event(position, |event| unsafe { calls.stream_wait(waiter.stream.0, event.0, 0) });
        waited.unwrap_or(Ok(())).map_err(|f| self.shared.fail(f))?;
        Ok(true)
    }

    /// Goes on with what is held back, as far as it can.
    pub(crate) fn drain(self: &Arc<Self>) {
        let mut submit = self.submit.lock();
        if submit.draining {
            submit.again = true;
            return;
        }
        while let Some(held) = submit.held.pop_front() {
            submit.draining = true;
            submit.again = false;
            let step = match held {
                Held::Edge(other, position) => {
                    drop(submit);
                    let edge = self.pass_edge(&other, position);
                    submit = self.submit.lock();
                    submit.operations += 1;
                    edge
                }
                Held::Launch(place, call, counts) => self.launch_counted(&mut submit, place, call, counts),
                Held::Read(place, reading) => self.go_on_reading(&mut submit, place, reading),
                Held::Write(place, pieces, bytes) => self.go_on_writing(&mut submit, place, pieces, bytes),
                Held::Work(place, op, ready) => self.execute_held(&mut submit, place, op, ready),
            };
            submit.draining = false;
            match step {
                Ok(Step::Done) => {
                    let due = self.due_dependents(&mut submit);
                    if !due.is_empty() {
                        drop(submit);
                        self.let_go(&due);
                        submit = self.submit.lock();
                        if submit.draining {
                            return;
                        }
                    }
                }
                Ok(Step::Blocked(held)) => {
                    submit.held.push_front(*held);
                    if !submit.again {
                        return;
                    }
                }
                Err(error) => {
                    // It was accepted, and what follows may depend on it: there is no honest way on.
                    self.shared.lose("HELD", format!("work that had to wait could not be enqueued: {error}"));
                    return;
                }
            }
        }
    }

    fn pass_edge(self: &Arc<Self>, other: &Weak<Self>, position: Position) -> Result<Step, DeviceError> {
        let passed = match other.upgrade() {
            // Its queue is gone, and with it whatever it was to do.
            None => true,
            Some(lane) => lane.wait_in(position, self)?,
        };
        Ok(if passed { Step::Done } else { Step::Blocked(Box::new(Held::Edge(Weak::clone(other), position))) })
    }

    fn go_on_reading(self: &Arc<Self>, submit: &mut Submit, place: Place, reading: Reading) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        let step = self.read(submit, &calls, place, reading)?;
        if let Step::Done = step {
            self.finish(submit, &calls, place)?;
        }
        Ok(step)
    }

    /// Sees to it that a marker covers `at`, if that is in the stream and nobody is just enqueueing. Who is may have looked before somebody wanted it: ask again.
    pub(crate) fn cover(&self, at: Position) -> Result<(), DeviceError> {
        if self.progress.is_covered(at) {
            return Ok(());
        }
        let Some(mut submit) = self.submit.try_lock() else { return Ok(()) };
        if submit.last < at || self.progress.is_covered(at) {
            return Ok(());
        }
        let calls = self.shared.enter()?;
        self.place_marker(&mut submit, &calls)
    }

    /// Records an event behind whatever is in the stream, so that its end is seen.
    fn flush(&self) {
        if let Some(mut submit) = self.submit.try_lock()
            && submit.operations > 0
            && let Ok(calls) = self.shared.enter()
        {
            // What fails is tried again at the next look.
            let _ = self.place_marker(&mut submit, &calls);
        }
    }

    /// Ends what is over and goes on with what waited for it. Whoever wants to know is in the answer: to be called with no lock held.
    #[must_use]
    pub(crate) fn look(self: &Arc<Self>) -> Vec<Wake> {
        let due = self.progress.end_markers(&self.shared);
        let held = self.submit.try_lock().is_some_and(|submit| !submit.held.is_empty() && !submit.draining);
        if held {
            self.drain();
        }
        due
    }

    /// As [`Self::look`] for those who only ask how far it is: not more often than it is worth.
    pub(crate) fn glance(self: &Arc<Self>) {
        const OFTEN: u64 = 5_000;
        let now = u64::try_from(self.birth.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if now.saturating_sub(self.looked.load(Ordering::Relaxed)) < OFTEN {
            return;
        }
        self.looked.store(now, Ordering::Relaxed);
        if !self.progress.has_markers() {
            let _ = self.cover(self.progress.enqueued.load(Ordering::Acquire));
        }
        let due = self.look();
        if !due.is_empty() {
            self.progress.owe(due);
            self.shared.attendant.ring();
        }
    }

    /// Whether something that was enqueued may not be over.
    pub(crate) fn is_behind(&self) -> bool {
        self.progress.completed() < self.accepted.load(Ordering::Acquire)
    }

    /// Nothing will run again. While something still does, as it may after a cause that is not the driver's, nothing changes, and the attendant comes back.
    #[must_use]
    pub(crate) fn abandon(&self) -> Vec<Wake> {
        // Under the lock, so that nobody who was already inside enqueues after the look.
        let mut submit = self.submit.lock();
        if self.shared.is_running(self.stream) {
            return Vec::new();
        }
        let held = std::mem::take(&mut submit.held);
        let load = std::mem::take(&mut submit.load);
        submit.last = Position::MAX;
        let dependents = std::mem::take(&mut submit.dependents);
        drop(submit);
        let due = self.progress.abandon();
        // Events belong to the lane, which gives them back.
        self.progress.keep(load.timed().collect());
        drop((held, load.landings, load.chunks, dependents));
        due
    }

    /// Nothing can follow any more.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.shared.attendant.ring();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// What the attendant has to do for this queue; false: nothing is left to be done soon.
    pub(crate) fn attend(self: &Arc<Self>, due: &mut Vec<Wake>) -> Attended {
        if self.shared.fault().is_some() {
            if self.progress.completed() != Position::MAX {
                due.append(&mut self.abandon());
            }
            due.append(&mut self.progress.take_owed());
            if self.progress.completed() != Position::MAX {
                return Attended::Busy;
            }
            return if self.is_closing() { Attended::Over } else { Attended::Idle };
        }
        let closing = self.is_closing();
        let enqueued = self.progress.enqueued.load(Ordering::SeqCst);
        if closing {
            self.flush();
        } else if self.progress.is_wanted(enqueued) {
            let _ = self.cover(enqueued);
        }
        due.append(&mut self.look());
        due.append(&mut self.progress.take_owed());
        let (held, behind) = self
            .submit
            .try_lock()
            .map_or((true, true), |submit| (submit.draining || !submit.held.is_empty(), submit.operations > 0));
        let markers = self.progress.has_markers();
        if closing && !held && !behind && !markers {
            due.append(&mut self.progress.abandon());
            return Attended::Over;
        }
        // Those whose position is not in the stream yet are told by whoever puts it there.
        let watched = self.progress.has_watchers() && markers;
        // Those whose position is in the stream, and that no marker covers: the queue was busy when they were to get one.
        let wanted = self.progress.is_wanted(self.progress.enqueued.load(Ordering::SeqCst));
        if held || watched || wanted || closing { Attended::Busy } else { Attended::Idle }
    }
}

/// What is left to do for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attended {
    /// Something will happen without anybody asking.
    Busy,
    /// Somebody rings when there is.
    Idle,
    /// Its last user is gone and its work is done.
    Over,
}

const NO_MEMORY: DeviceError = DeviceError::OutOfMemory { asked: 0, free: 0 };

impl Drop for Lane {
    fn drop(&mut self) {
        // All of it while the device still takes things back: a field would be dropped after it.
        let Submit { load, chunk, held, began, .. } = std::mem::take(self.submit.get_mut());
        for event in self.progress.take_events().into_iter().chain(load.timed()) {
            self.shared.reclaim.throw(Garbage::Event(event));
        }
        if let Some(began) = began {
            self.shared.free(began.memory);
        }
        self.shared.reclaim.throw(Garbage::Stream(self.stream));
        if let Some((chunk, _)) = chunk {
            self.shared.chunks.give(chunk);
        }
        drop((load, held));
    }
}

/// Rows that go through one slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    /// Where they begin in host memory.
    pub(crate) host: u64,
    pub(crate) width: u64,
    pub(crate) rows: u64,
    pub(crate) pitch: u64,
}

impl Piece {
    fn size(&self) -> usize {
        usize::try_from(self.width * self.rows).unwrap_or(usize::MAX)
    }
}

impl Reading {
    fn of_write(rect: Rect) -> Result<Self, DeviceError> {
        Ok(Self { rect, into: HostTarget::staging(0).ok_or(NO_MEMORY)?, row: 0, column: 0 })
    }

    /// The next rows, or the next part of one that is longer than a piece.
    fn next(&mut self) -> Option<Piece> {
        let rect = &self.rect;
        if rect.is_empty() || self.row >= rect.rows {
            return None;
        }
        let (start, host) = (self.row * rect.pitch + self.column, self.row * rect.host_pitch + self.column);
        let at = |width, rows| Piece { address: rect.address + start, host, width, rows, pitch: rect.pitch };
        if rect.width > PIECE {
            let width = (rect.width - self.column).min(PIECE);
            let piece = at(width, 1);
            self.column += width;
            if self.column == rect.width {
                (self.row, self.column) = (self.row + 1, 0);
            }
            return Some(piece);
        }
        let rows = (PIECE / rect.width).min(rect.rows - self.row);
        let piece = at(rect.width, rows);
        self.row += rows;
        Some(piece)
    }

    /// Undoes the last `next`.
    fn back(&mut self, piece: &Piece) {
        if self.rect.width <= PIECE {
            self.row -= piece.rows;
        } else if self.column == 0 {
            (self.row, self.column) = (self.row - 1, self.rect.width - piece.width);
        } else {
            self.column -= piece.width;
        }
    }
}

/// Bytes of pinned memory for an operation, or for its first piece.
fn pinned(op: &Op<'_>) -> usize {
    let piece = |rect: &Rect| usize::try_from(rect.width.saturating_mul(rect.rows).min(PIECE)).unwrap_or(usize::MAX);
    match op {
        Op::Mark | Op::Move(_) | Op::Send(..) => 0,
        Op::Launch(call) if matches!(call.groups, Groups::At(_)) => 12,
        Op::Launch(call) => pinned_size(call),
        Op::Replay(replay) => replay.launches().map(pinned_size).max().unwrap_or(0),
        Op::Fill { .. } => FILL,
        Op::Write(rect, _) | Op::Read(rect, _) => piece(rect),
    }
}

//! A queue's stream and what is put into it, in order. What cannot be put there yet is kept by `held`, with all that follows.
//!
//! Locks: of several queues' `submit` locks a thread holds one at most. `submit` comes before those of `flight`.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use compute_hal::{DeviceError, Position, QueueId};
use parking_lot::Mutex;

use crate::api::{Garbage, Inside, Object, STREAM, made_for};
use crate::device::Shared;
use crate::doubt::Doubt;
use crate::driver::Failure;
use crate::flight::{Counts, Landing, Load, Progress, Wake};
use crate::held::{Held, Step};
use crate::launch::Playing;
use crate::limit::Began;
use crate::op::{Call, Groups, Op, Ready, Rect};
use crate::pieces::{FILL, PIECE, Piece, Reading, is_direct};
use crate::staging::{ALIGNMENT, CHUNK, Pinned, Slice};

/// Operations after which an event is recorded although nobody asks, so that memory comes back. To look whether it is reached takes about 1.4 us, and each is
/// looked at twice.
pub(crate) const OPERATIONS: u32 = 256;
/// Bytes of pinned memory that a queue may have under way.
pub(crate) const BUDGET: usize = 16 * CHUNK;

/// The position of an operation, and whether its end is stamped.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) at: Position,
    pub(crate) stamp: bool,
}

/// What a queue's lock holds. In this order: what a plain launch looks at lies together at the beginning.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Submit {
    /// The highest position in the stream.
    pub(crate) last: Position,
    /// Blocks that the stream has waited for.
    pub(crate) ready: u64,
    /// Operations behind the last marker; a part of one counts as one. Where it is 0 the stream does nothing that no marker covers.
    pub(crate) operations: u32,
    /// Somebody is at the held ones; `again`: somebody else wanted to be.
    pub(crate) draining: bool,
    pub(crate) again: bool,
    pub(crate) stamp: bool,
    pub(crate) held: VecDeque<Held>,
    /// Queues that wait for positions of this one that are not in its stream.
    pub(crate) dependents: Vec<(Position, Weak<Lane>)>,
    pub(crate) load: Load,
    /// The chunk that slices are cut from, and how much of it is used.
    pub(crate) chunk: Option<(Pinned, usize)>,
    /// Where launches with a time limit note when they began; made for the first.
    pub(crate) began: Option<Began>,
    /// Whether the driver tells that the stream does nothing any more, after the end of the device.
    pub(crate) ending: Doubt,
}

// With the lock's own word before it, and behind what of the lane a launch looks at.
const _: () = assert!(offset_of!(Lane, submit) + size_of::<Position>() + offset_of!(Submit, load) <= 128);

impl Submit {
    /// Holds back what comes behind all else that is. There is room for a position behind it, which cannot be refused.
    pub(crate) fn hold(&mut self, held: Held) -> Result<(), DeviceError> {
        let asked = 2 * size_of::<Held>() as u64;
        self.held.try_reserve(2).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        self.held.push_back(held);
        Ok(())
    }

    /// Holds back a position with nothing to do; it stands for those before it. Needs no memory where something is held back.
    fn hold_mark(&mut self, at: Position) -> Result<(), DeviceError> {
        if let Some(Held::Work(place, Op::Mark, _)) = self.held.back_mut()
            && !place.stamp
        {
            place.at = at;
            return Ok(());
        }
        let mark = Held::Work(Place { at, stamp: false }, Op::Mark, 0);
        if self.held.len() < self.held.capacity() {
            self.held.push_back(mark);
            return Ok(());
        }
        self.hold(mark)
    }

    /// The chunk goes with the next marker.
    pub(crate) fn retire_chunk(&mut self) {
        self.load.chunks.extend(self.chunk.take().map(|(chunk, _)| chunk));
    }
}

/// Two cache lines, which processors fetch together, are what it is aligned to: of two queues that different threads launch on neither is to write where the other
/// reads. In this order, as of [`Submit`].
#[repr(C, align(128))]
pub(crate) struct Lane {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stream: Object,
    /// The highest position accepted, in the stream or not.
    pub(crate) accepted: AtomicU64,
    pub(crate) submit: Mutex<Submit>,
    pub(crate) id: QueueId,
    pub(crate) progress: Progress,
    /// No more work will come.
    pub(crate) closing: AtomicBool,
    /// When somebody last looked at the events and none was reached, in nanoseconds since `birth`.
    pub(crate) looked: AtomicU64,
    pub(crate) birth: Instant,
}

/// Whether it went well. What failed can be done without, unless it is the end of the device.
pub(crate) fn unless_lost(answer: Result<(), DeviceError>) -> Result<bool, DeviceError> {
    match answer {
        Ok(()) => Ok(true),
        Err(error @ DeviceError::Lost(_)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// One that panics takes no other with it.
pub(crate) fn wake_all(shared: &Shared, due: Vec<Wake>) {
    for wake in due {
        let _ = shared.contain(wake);
    }
}

impl Lane {
    pub(crate) fn new(id: QueueId, shared: Arc<Shared>) -> Result<Self, DeviceError> {
        let failed = |failure| made_for(STREAM, failure, shared.fail(failure));
        let calls = shared.try_enter().map_err(failed)?;
        let mut stream = Object(std::ptr::null_mut());
        let progress = Progress::default();
        // SAFETY: the place is ours.
        unsafe { calls.stream_create(&mut stream.0, shared.api.vendor.flags.stream) }.map_err(failed)?;
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

    /// Notes a position, under the lock.
    #[inline]
    pub(crate) fn accept(&self, at: Position) {
        self.accepted.store(at.max(self.accepted.load(Ordering::Relaxed)), Ordering::Release);
    }

    /// Enqueues an operation, or keeps it behind what is held back.
    pub(crate) fn run(self: &Arc<Self>, at: Position, work: &mut Ready<'_>) -> Result<(), DeviceError> {
        let mut submit = self.submit.lock();
        // Behind the lock, which whoever ends the queue after a fault has: nothing may follow.
        self.shared.well()?;
        self.accept(at);
        // What is held back must not find out later that there is no memory.
        if work.op.is_limited() && submit.began.is_none() {
            self.make_word(&mut submit)?;
        }
        let place = Place { at, stamp: std::mem::take(&mut submit.stamp) };
        if submit.draining || !submit.held.is_empty() {
            let held = Held::Work(place, work.take()?, work.ready);
            return submit.hold(held);
        }
        let step = self.execute(&mut submit, place, &mut work.op, work.ready)?;
        self.settle(submit, step);
        Ok(())
    }

    /// Completes `at` without work.
    pub(crate) fn mark(self: &Arc<Self>, at: Position) {
        if self.shared.fault().is_some() {
            return;
        }
        let mut submit = self.submit.lock();
        self.accept(at);
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
        let refused = self.run(at, &mut Ready { op: Op::Mark, ready: 0 }).is_err();
        if refused && self.shared.fault().is_none() {
            // Not even the driver could be entered. Nobody would hear of it, so it is tried once more.
            // Without memory even for that, waits end with the device.
            if let Err(error) = self.submit.lock().hold_mark(at) {
                self.shared.lose("HELD", format!("a position could not be kept: {error}"));
            }
            self.shared.attendant.ring();
        }
    }

    pub(crate) fn stamp(&self, at: Position) {
        let _ = at;
        self.submit.lock().stamp = true;
    }

    /// Puts an operation into the stream. Only a launch is left as it was.
    pub(crate) fn execute(
        self: &Arc<Self>,
        submit: &mut Submit,
        place: Place,
        op: &mut Op<'_>,
        ready: u64,
    ) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        self.begin(submit, &calls, ready)?;
        if let Op::Launch(call) = op
            && let Groups::Direct(groups) = call.groups
        {
            self.launch_direct(submit, &calls, place.at, (call, groups), None)?;
            self.finish(submit, &calls, place)?;
            return Ok(Step::Done);
        }
        let step = match std::mem::replace(op, Op::Mark) {
            Op::Mark => Step::Done,
            Op::Launch(call) => self.read_counts(submit, &calls, place, call)?,
            Op::Replay(replay) => {
                self.replay(submit, &calls, place.at, replay)?;
                Step::Done
            }
            Op::Move(rows) => {
                crate::moves::rows(&calls, self.stream, &rows, self.shared.pitch).map_err(|f| self.shared.fail(f))?;
                Step::Done
            }
            Op::Fetch(fetch) => {
                self.put_fetch(submit, &calls, place.at, &fetch)?;
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
    pub(crate) fn begin(&self, submit: &mut Submit, calls: &Inside<'_>, ready: u64) -> Result<(), DeviceError> {
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

    /// Everything of `at` is in the stream.
    pub(crate) fn finish(self: &Arc<Self>, submit: &mut Submit, calls: &Inside<'_>, place: Place) -> Result<(), DeviceError> {
        let Place { at, stamp } = place;
        // First of all: what is in the stream is not refused any more. What fails below is done without, or again.
        self.note(submit, at);
        if stamp {
            let stamped = self.progress.stamp(calls, self.stream, at, &mut submit.load);
            unless_lost(stamped.map_err(|f| self.shared.fail(f)))?;
        }
        if self.wants_marker(submit) {
            let placed = self.place_marker(submit, calls);
            self.after_marker(placed)?;
        }
        Ok(())
    }

    /// Notes that `at` is in the stream.
    #[inline]
    pub(crate) fn note(&self, submit: &mut Submit, at: Position) {
        submit.last = submit.last.max(at);
        // Who wants a position says so (`is_wanted`) and tries the queue's lock then. Either it gets that behind whoever has it here, and sees this, or before, and is seen; or it does not
        // get it, and comes back.
        self.progress.enqueued.store(submit.last, Ordering::Release);
    }

    /// Whether a marker is due behind what is in the stream.
    #[inline]
    pub(crate) fn wants_marker(&self, submit: &Submit) -> bool {
        submit.operations >= OPERATIONS || self.progress.is_wanted(submit.last)
    }

    /// Has those told who want to know what a marker covers.
    pub(crate) fn after_marker(&self, placed: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let placed = unless_lost(placed)?;
        if placed {
            self.look_and_owe();
        }
        if !placed || self.progress.has_watchers() {
            self.shared.attendant.ring();
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
        self.reserve(submit, calls, size)?;
        let Some((chunk, used)) = &mut submit.chunk else {
            return Err(DeviceError::Internal("no chunk after one was made".into()));
        };
        let start = used.next_multiple_of(ALIGNMENT);
        *used = start + size;
        let slice = Slice::of(chunk, start, size);
        // What it is for lies behind the marker that may just have made room.
        submit.operations = submit.operations.max(1);
        Ok(slice)
    }

    /// Sees to it that the chunk has room for a slice.
    pub(crate) fn reserve(&self, submit: &mut Submit, calls: &Inside<'_>, size: usize) -> Result<(), DeviceError> {
        if let Some((chunk, used)) = &submit.chunk
            && used.next_multiple_of(ALIGNMENT).checked_add(size).is_some_and(|end| end <= chunk.size)
        {
            return Ok(());
        }
        self.retire_chunk(submit, calls)?;
        submit.chunk = Some((self.chunk(submit, calls, size)?, 0));
        Ok(())
    }

    /// A chunk, for which a call that enqueues waits as it does for room: where the driver has no memory now, but some is under way.
    pub(crate) fn chunk(&self, submit: &mut Submit, calls: &Inside<'_>, size: usize) -> Result<Pinned, DeviceError> {
        let take = || self.shared.chunk_now(calls, size);
        if submit.draining {
            return take();
        }
        // No slice of it waits for its call, and whoever waits here has it.
        submit.retire_chunk();
        self.shared.insist(|| self.mark_chunks(submit, calls), take)
    }

    /// Sees to it that the chunks come back that what is in the stream is the last to use. False: not now, whoever wants them comes back.
    pub(crate) fn mark_chunks(&self, submit: &mut Submit, calls: &Inside<'_>) -> Result<bool, DeviceError> {
        if submit.load.chunks.is_empty() { Ok(true) } else { unless_lost(self.place_marker(submit, calls)) }
    }

    /// Lets go of the chunk when what is in the stream is over; waits when too many are on their way.
    fn retire_chunk(&self, submit: &mut Submit, calls: &Inside<'_>) -> Result<(), DeviceError> {
        submit.retire_chunk();
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

    /// A launch whose counts are in memory: they are read, and it is held back until they are there.
    fn read_counts(&self, submit: &mut Submit, calls: &Inside<'_>, place: Place, call: Call<'_>) -> Result<Step, DeviceError> {
        let Groups::At(address) = call.groups else { return Err(DeviceError::Internal("counts that are known".into())) };
        // First of all: it is kept until the counts are there.
        let Op::Launch(call) = Op::Launch(call).into_owned()? else { return Ok(Step::Done) };
        let slice = self.slice(submit, calls, 12)?;
        // SAFETY: the slice has 12 bytes, and so has the region.
        unsafe { calls.read_async(slice.pointer().cast(), address, 12, self.stream.0) }.map_err(|f| self.shared.fail(f))?;
        let counts = Arc::new(Counts::default());
        submit.load.landings.push(Landing::Counts { from: slice, into: Arc::clone(&counts) });
        self.place_marker(submit, calls)?;
        Ok(Step::Blocked(Box::new(Held::Launch(place, call, counts))))
    }

    /// Puts as much of a read into the stream as there is room for.
    pub(crate) fn read(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        place: Place,
        mut reading: Reading,
    ) -> Result<Step, DeviceError> {
        if is_direct(&self.shared, &reading.rect, &reading.into) {
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
            // It was accepted long ago: only a read that is just being enqueued can still be refused.
            if submit.draining && !self.reserve_held(submit, calls, piece.size())? {
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
                submit.retire_chunk();
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

    pub(crate) fn write_piece(
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

    /// Sees to it that its pinned memory comes back, for others that find none.
    pub(crate) fn let_chunks_go(&self) {
        let Some(mut submit) = self.submit.try_lock() else { return };
        submit.retire_chunk();
        if !submit.load.chunks.is_empty()
            && let Ok(calls) = self.shared.enter()
        {
            // As in `flush`: whoever finds none asks again.
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
        if self.shared.is_running(self.stream, &mut submit.ending) {
            return Vec::new();
        }
        let held = std::mem::take(&mut submit.held);
        let load = std::mem::take(&mut submit.load);
        submit.last = Position::MAX;
        let dependents = std::mem::take(&mut submit.dependents);
        drop(submit);
        let due = self.progress.abandon();
        // Events belong to the lane, which gives them back.
        let playing = held.iter().filter_map(|held| if let Held::Replay(_, playing) = held { Some(playing) } else { None });
        self.progress.keep(load.timed().chain(playing.flat_map(Playing::timed)).collect());
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
    /// `short`: others find no pinned memory.
    pub(crate) fn attend(self: &Arc<Self>, due: &mut Vec<Wake>, short: bool) -> Attended {
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
        let enqueued = self.progress.enqueued.load(Ordering::Acquire);
        if closing {
            self.flush();
        } else if self.progress.is_wanted(enqueued) {
            let _ = self.cover(enqueued);
        }
        if short {
            self.let_chunks_go();
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
        // Those whose position is in the stream, and that no marker covers: the queue was busy when they were to get one. Asked behind the lock, as `note` wants it.
        let wanted = self.progress.is_wanted(self.progress.enqueued.load(Ordering::Acquire));
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

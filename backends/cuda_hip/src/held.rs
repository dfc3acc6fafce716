//! What cannot be put into a queue's stream yet is held back, with all that follows.
//!
//! | held back until | |
//! |---|---|
//! | another queue has enqueued what is waited for | `Held::Edge` |
//! | the counts of an indirect grid are on the host | `Held::Launch` |
//! | there is room for the next piece of a long read | `Held::Read` |
//! | there is room for the next piece of a write that was itself held back | `Held::Write` |
//! | there is room for the next node of a replay that was itself held back | `Held::Replay` |
//!
//! Where the driver has no pinned memory for a piece of what was accepted, queues let go of what they keep, and that waits for what is under way to come back; only
//! when nothing is does the device end.
//!
//! Only a call that enqueues waits for room in pinned memory, or for the memory itself. Those who go on with what is held back come from questions and waits with
//! an end, so they never do.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use compute_hal::{DeviceError, LateCause, LateFailure, Position};
use parking_lot::MutexGuard;

use crate::api::Inside;
use crate::flight::Counts;
use crate::lane::{BUDGET, Lane, Place, Submit, unless_lost};
use crate::launch::Playing;
use crate::op::{Call, Groups, Op};
use crate::pieces::{PIECE, Reading, pinned, step_size};

/// How long a queue that others wait for may be busy: longer than a call takes that waits for nothing.
const BRIEF: Duration = Duration::from_micros(200);

/// What is held back, oldest first.
pub(crate) enum Held {
    Edge(Weak<Lane>, Position),
    Launch(Place, Call<'static>, Arc<Counts>),
    Read(Place, Reading),
    Write(Place, Reading, Cow<'static, [u8]>),
    Replay(Place, Playing),
    Work(Place, Op<'static>, u64),
}

/// How a step went.
pub(crate) enum Step {
    Done,
    /// It goes on when something has happened.
    Blocked(Box<Held>),
}

/// Why a launch that was accepted did not come about, though its device goes on.
fn refused_late(error: DeviceError) -> LateCause {
    match error {
        DeviceError::Driver { code, name, message, .. } => LateCause::Driver { code, name, message },
        other => LateCause::Driver { code: 0, name: "REFUSED".into(), message: other.to_string() },
    }
}

impl Submit {
    /// Has a queue go on once a position is in the stream. It may ask as often as it likes.
    fn tell_later(&mut self, position: Position, waiter: &Arc<Lane>) {
        let is_known = |(at, lane): &(Position, Weak<Lane>)| *at == position && std::ptr::eq(lane.as_ptr(), Arc::as_ptr(waiter));
        if !self.dependents.iter().any(is_known) {
            self.dependents.push((position, Arc::downgrade(waiter)));
        }
    }
}

impl Lane {
    /// After a step: keeps what is not over, and lets go of queues that waited for it.
    pub(crate) fn settle(self: &Arc<Self>, mut submit: MutexGuard<'_, Submit>, step: Step) {
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

    /// As [`Self::execute`] for what was held back, without waiting for room.
    fn execute_held(
        self: &Arc<Self>,
        submit: &mut Submit,
        place: Place,
        op: Op<'static>,
        ready: u64,
    ) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        if !self.has_room(submit, &calls, pinned(&self.shared, &op))? {
            return Ok(Step::Blocked(Box::new(Held::Work(place, op, ready))));
        }
        match op {
            Op::Write(rect, bytes) if rect.width.saturating_mul(rect.rows) > PIECE => {
                self.begin(submit, &calls, ready)?;
                self.go_on_writing(submit, place, Reading::of_write(rect)?, bytes)
            }
            Op::Replay(replay) => {
                self.begin(submit, &calls, ready)?;
                self.go_on_playing(submit, place, Playing::new(replay))
            }
            mut op => self.execute(submit, place, &mut op, ready),
        }
    }

    /// Whether slices of so many bytes in all are there without waiting. If not, a marker sees to it that they will be.
    fn has_room(&self, submit: &mut Submit, calls: &Inside<'_>, size: usize) -> Result<bool, DeviceError> {
        let kept = submit.chunk.as_ref().map_or(0, |(chunk, _)| chunk.size);
        let sum = |submit: &Submit| submit.load.chunks.iter().map(|chunk| chunk.size).sum::<usize>();
        let used = sum(submit) + kept + self.progress.out.load(Ordering::Relaxed);
        // What is too large for all room there is gets it when nothing else is under way, nor kept, which may be as large.
        let room = size == 0 || used.saturating_add(size) < BUDGET || used == 0;
        if !room {
            submit.retire_chunk();
        }
        let pending = sum(submit);
        // Early, so that some comes back while the rest is on its way.
        if pending >= BUDGET / 4 || (pending > 0 && !room) {
            // A failure is no matter: whoever found no room comes back.
            unless_lost(self.place_marker(submit, calls))?;
        }
        if room && size > 0 { self.reserve_held(submit, calls, size) } else { Ok(room) }
    }

    /// As [`Self::reserve`] for what was accepted long ago. False: the driver has no memory, but some will come back.
    pub(crate) fn reserve_held(&self, submit: &mut Submit, calls: &Inside<'_>, size: usize) -> Result<bool, DeviceError> {
        match self.reserve(submit, calls, size) {
            Err(DeviceError::OutOfMemory { .. }) => {}
            reserved => return reserved.map(|()| true),
        }
        self.mark_chunks(submit, calls)?;
        if self.shared.gets_memory_back() {
            return Ok(false);
        }
        // It may have come back between the try and the look.
        self.reserve(submit, calls, size).map(|()| true)
    }

    /// A launch whose counts are there.
    pub(crate) fn launch_counted(
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
            return self.execute(submit, place, &mut Op::Mark, 0);
        }
        if asked.contains(&0) {
            return self.execute(submit, place, &mut Op::Mark, 0);
        }
        match self.execute_held(submit, place, Op::Launch(Call { groups: Groups::Direct(asked), ..call }), 0) {
            // Still one whose failure can be told late.
            Ok(Step::Blocked(held)) => Ok(Step::Blocked(Box::new(match *held {
                Held::Work(place, Op::Launch(call), _) => Held::Launch(place, call, counts),
                held => held,
            }))),
            Err(error) if !matches!(error, DeviceError::Lost(_)) => {
                submit.load.late.push(LateFailure { position: place.at, cause: refused_late(error) });
                self.execute(submit, place, &mut Op::Mark, 0)
            }
            step => step,
        }
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

    /// Puts as many nodes of a replay that was held back into the stream as there is room for.
    fn go_on_playing(self: &Arc<Self>, submit: &mut Submit, place: Place, mut playing: Playing) -> Result<Step, DeviceError> {
        let calls = self.shared.enter()?;
        let whole =
            self.play(submit, &calls, place.at, &mut playing, |submit, step| self.has_room(submit, &calls, step_size(step)));
        match whole {
            Ok(false) => return Ok(Step::Blocked(Box::new(Held::Replay(place, playing)))),
            outcome => playing.end(submit, outcome)?,
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
        submit.hold(Held::Edge(Arc::downgrade(other), position))?;
        drop(submit);
        // Also when it was not there just now: it may be by now.
        self.drain();
        self.shared.well()
    }

    /// Makes a stream wait for a position of this queue; false when it is not in its stream yet: then `waiter` is told.
    fn wait_in(&self, position: Position, waiter: &Arc<Self>) -> Result<bool, DeviceError> {
        let elsewhere = !Arc::ptr_eq(&self.shared, &waiter.shared);
        match self.hold_back(position, waiter) {
            // Of another device that is beyond use nothing will run any more, which is no end of the one that waits.
            Err(_) if elsewhere && self.shared.fault().is_some() => waiter.shared.well().map(|()| true),
            answer => answer,
        }
    }

    fn hold_back(&self, position: Position, waiter: &Arc<Self>) -> Result<bool, DeviceError> {
        let Some(mut submit) = self.submit.try_lock_for(BRIEF) else { return self.hold_back_busy(position, waiter) };
        if self.progress.completed() >= position {
            return Ok(true);
        }
        if submit.last < position {
            submit.tell_later(position, waiter);
            return Ok(false);
        }
        let calls = self.shared.enter()?;
        if !self.progress.is_covered(position) {
            self.place_marker(&mut submit, &calls)?;
        }
        self.wait_on_marker(position, waiter, &calls)?;
        Ok(true)
    }

    /// As [`Self::hold_back`] while somebody enqueues a long write here, say, and waits for room: that is no business of the one that waits.
    fn hold_back_busy(&self, position: Position, waiter: &Arc<Self>) -> Result<bool, DeviceError> {
        if self.progress.completed() >= position {
            return Ok(true);
        }
        if self.progress.is_covered(position) {
            let calls = self.shared.enter()?;
            self.wait_on_marker(position, waiter, &calls)?;
            return Ok(true);
        }
        // Nobody will tell, so it is asked for again.
        waiter.shared.attendant.ring();
        Ok(false)
    }

    /// Has a stream wait for the marker that covers a position; where there is none any more, it is over.
    fn wait_on_marker(&self, position: Position, waiter: &Arc<Self>, calls: &Inside<'_>) -> Result<(), DeviceError> {
        // The stream may be another device's; the event may be of any.
        let elsewhere = !Arc::ptr_eq(&self.shared, &waiter.shared);
        let _there = if elsewhere { Some(waiter.shared.enter()?) } else { None };
        // SAFETY: event and stream live.
        let waited = self.progress.with_event(position, |event| unsafe { calls.stream_wait(waiter.stream.0, event.0, 0) });
        waited
            .unwrap_or(Ok(()))
            .map_err(|f| if elsewhere { waiter.shared.fail_between(f, &self.shared) } else { self.shared.fail(f) })
    }

    /// Goes on with what is held back, as far as it can. A panic on the way ends the device: nobody would ever go on with what is left, as somebody seems to be at it.
    pub(crate) fn drain(self: &Arc<Self>) {
        self.shared.contain(|| self.go_on());
    }

    fn go_on(self: &Arc<Self>) {
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
                Held::Replay(place, playing) => self.go_on_playing(&mut submit, place, playing),
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
}

//! How far a queue is: events that were recorded in its stream, what the host does when each is reached, and who wants to know.
//!
//! Nothing is enqueued here. Locks: `ending`, then `flight`; a queue's `submit` comes before both.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use compute_hal::kernel::lower::{Reports, Violation};
use compute_hal::movers::{Movers, Run};
use compute_hal::{HostTarget, KernelId, LateCause, LateFailure, Position, Printed};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use crate::api::{Inside, Object};
use crate::device::Shared;
use crate::doubt::Doubt;
use crate::driver::Failure;
use crate::graph::Times;
use crate::peer::Origin;
use crate::staging::{Pinned, Slice};
use crate::suspects::Recent;

/// Stamps that are kept for those who ask later.
const STAMPS: usize = 4096;
/// Milliseconds after which times are measured from a later event: they come as f32.
const REBASE: f32 = 1000.0;

pub(crate) type Wake = Box<dyn FnOnce() + Send>;

/// Counts of an indirect grid, once they are read.
#[derive(Default)]
pub(crate) struct Counts {
    words: [AtomicU32; 3],
    there: AtomicBool,
}

impl Counts {
    pub(crate) fn get(&self) -> Option<[u32; 3]> {
        let words = || [0, 1, 2].map(|n: usize| self.words.get(n).map_or(0, |word| word.load(Ordering::Relaxed)));
        self.there.load(Ordering::Acquire).then(words)
    }

    fn set(&self, bytes: &[u8]) {
        for (word, bytes) in self.words.iter().zip(bytes.chunks_exact(4)) {
            word.store(u32::from_le_bytes(bytes.try_into().unwrap_or_default()), Ordering::Relaxed);
        }
        self.there.store(true, Ordering::Release);
    }
}

/// Where read bytes go.
pub(crate) enum Landing {
    /// Rows of `width` bytes, one behind the other in the slice, `pitch` bytes apart from `offset` on in the target.
    Rows {
        from: Slice,
        into: HostTarget,
        offset: usize,
        width: usize,
        pitch: usize,
    },
    Counts {
        from: Slice,
        into: Arc<Counts>,
    },
    /// They went there by themselves.
    Kept(HostTarget),
}

/// What a launch reports into.
pub(crate) struct Told {
    pub(crate) position: Position,
    pub(crate) kernel: KernelId,
    /// Of a replay.
    pub(crate) node: Option<u32>,
    pub(crate) record: Option<Slice>,
    pub(crate) reports: Arc<Reports>,
    /// The word that says that it was stopped, and its limit in nanoseconds.
    pub(crate) stopped: Option<(Slice, u64)>,
    /// The words that say that its counts are over the limits, and those limits.
    pub(crate) counts: Option<(Slice, [u32; 3])>,
}

impl Told {
    /// Of the node, where there is one.
    fn cause(&self, cause: LateCause) -> LateCause {
        if let Some(node) = self.node { cause.of_node(node) } else { cause }
    }
}

/// Events of a replay whose nodes are measured: one before the first, and one behind each that does something.
pub(crate) struct Laps {
    pub(crate) times: Arc<Times>,
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// Events and the nodes that end there.
    pub(crate) marks: Vec<(Option<usize>, Object)>,
    /// All of it is in the stream.
    pub(crate) whole: bool,
}

/// What the host does when the operations since the last marker are over.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) landings: Vec<Landing>,
    /// Of a marker's load: see [`Flight`].
    pub(crate) told: Vec<Told>,
    pub(crate) late: Vec<LateFailure>,
    /// Copies from other devices.
    pub(crate) fetches: Vec<(Position, Origin)>,
    /// Positions and timed events.
    pub(crate) stamps: Vec<(Position, Object)>,
    pub(crate) laps: Vec<Laps>,
    /// Memory that these operations are the last to use.
    pub(crate) chunks: Vec<Pinned>,
}

impl Load {
    pub(crate) fn is_empty(&self) -> bool {
        let tells = !self.late.is_empty() || !self.fetches.is_empty();
        self.landings.is_empty() && !tells && self.timed().next().is_none()
    }

    /// Its timed events.
    pub(crate) fn timed(&self) -> impl Iterator<Item = Object> {
        let laps = self.laps.iter().flat_map(Laps::timed);
        self.stamps.iter().map(|(_, event)| *event).chain(laps)
    }
}

/// An event in the stream.
struct Marker {
    event: Object,
    /// The highest position that it covers.
    through: Position,
    load: Load,
}

#[derive(Default)]
struct Flight {
    markers: VecDeque<Marker>,
    /// What launches behind the last marker report into. Here rather than with what else is behind it, so that whoever is told of a fault can look.
    told: Vec<Told>,
    /// By position, as of the sleepers: there may be tens of thousands behind one long kernel.
    watchers: BTreeMap<Position, SmallVec<[Wake; 1]>>,
    /// Positions that threads wait for, and how many do.
    sleepers: BTreeMap<Position, u32>,
    /// To be called by the attendant.
    owed: Vec<Wake>,
    /// Events that nobody uses.
    events: Vec<Object>,
    timed: Vec<Object>,
    /// The position up to which there are markers.
    covered: Position,
}

impl Flight {
    /// The lowest position that somebody wants and no marker covers.
    fn earliest(&self) -> Position {
        let open = (Bound::Excluded(self.covered), Bound::Unbounded);
        let (watched, slept) = (self.watchers.range(open).next(), self.sleepers.range(open).next());
        let wanted = watched.map(|(at, _)| *at).into_iter().chain(slept.map(|(at, _)| *at));
        wanted.min().unwrap_or(Position::MAX)
    }
}

/// Times of a queue, as differences to an event.
struct Clock {
    base: Option<Object>,
    /// Nanoseconds at `base`.
    time: u64,
    stamps: VecDeque<(Position, u64)>,
}

/// How far a queue is.
pub(crate) struct Progress {
    completed: AtomicU64,
    /// The highest position in the stream.
    pub(crate) enqueued: AtomicU64,
    /// See [`Flight::earliest`].
    earliest: AtomicU64,
    /// Bytes of chunks in markers' loads.
    pub(crate) out: AtomicUsize,
    flight: Mutex<Flight>,
    told: Condvar,
    /// Held by the one who ends markers, so that they end in order; whether the driver tells how far they are.
    ending: Mutex<Doubt>,
    late: Mutex<Vec<LateFailure>>,
    printed: Mutex<Vec<Printed>>,
    clock: Mutex<Clock>,
    pub(crate) recent: Recent,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            completed: AtomicU64::new(0),
            enqueued: AtomicU64::new(0),
            earliest: AtomicU64::new(Position::MAX),
            out: AtomicUsize::new(0),
            flight: Mutex::default(),
            told: Condvar::new(),
            ending: Mutex::default(),
            late: Mutex::default(),
            printed: Mutex::default(),
            clock: Mutex::new(Clock { base: None, time: 1, stamps: VecDeque::new() }),
            recent: Recent::default(),
        }
    }
}

impl Progress {
    pub(crate) fn completed(&self) -> Position {
        self.completed.load(Ordering::Acquire)
    }

    /// Whether somebody wants a position up to `at` that no marker covers.
    pub(crate) fn is_wanted(&self, at: Position) -> bool {
        self.earliest.load(Ordering::Acquire) <= at
    }

    pub(crate) fn take_late(&self) -> Vec<LateFailure> {
        std::mem::take(&mut self.late.lock())
    }

    pub(crate) fn take_printed(&self) -> Vec<Printed> {
        std::mem::take(&mut self.printed.lock())
    }

    pub(crate) fn has_markers(&self) -> bool {
        !self.flight.lock().markers.is_empty()
    }

    pub(crate) fn is_covered(&self, at: Position) -> bool {
        self.flight.lock().covered >= at
    }

    pub(crate) fn has_watchers(&self) -> bool {
        let flight = self.flight.lock();
        !flight.watchers.is_empty() || !flight.owed.is_empty()
    }

    /// Records an event behind what is in the stream. On failure nothing has changed and `load` is as it was.
    pub(crate) fn mark(&self, calls: &Inside<'_>, stream: Object, through: Position, load: &mut Load) -> Result<(), Failure> {
        let spare = self.flight.lock().events.pop();
        let event = match spare {
            Some(event) => event,
            None => new_event(calls, calls.api.vendor.flags.event)?,
        };
        // SAFETY: event and stream live.
        let recorded = unsafe { calls.event_record(event.0, stream.0) };
        let mut flight = self.flight.lock();
        if let Err(failure) = recorded {
            flight.events.push(event);
            return Err(failure);
        }
        let load = Load { told: std::mem::take(&mut flight.told), ..std::mem::take(load) };
        self.out.fetch_add(load.chunks.iter().map(|chunk| chunk.size).sum(), Ordering::Relaxed);
        flight.markers.push_back(Marker { event, through, load });
        flight.covered = flight.covered.max(through);
        self.earliest.store(flight.earliest(), Ordering::Release);
        Ok(())
    }

    /// Keeps what a launch reports into, until the next marker takes it.
    pub(crate) fn tell(&self, told: Told) {
        self.flight.lock().told.push(told);
    }

    /// The first violation that a launch has recorded of which nobody has been told, and its kernel. After a fault of the device's own, when nothing writes there any more. The place is
    /// written first: the numbers may not have been, as the launch was ended meanwhile.
    pub(crate) fn violation(&self) -> Option<(KernelId, Violation)> {
        let flight = self.flight.lock();
        let all = flight.markers.iter().flat_map(|marker| &marker.load.told).chain(&flight.told);
        all.filter_map(|told| {
            let record = told.record?;
            // SAFETY: no kernel of this device's runs after its fault, and the record's chunk is kept until what is told of it here is taken.
            let found = told.reports.violation(unsafe { record.bytes() })?;
            (found.location.line > 0).then_some((told.kernel, found))
        })
        .next()
    }

    /// Records an event with a time, which is part of `load`. On failure `load` is as it was.
    pub(crate) fn stamp(&self, calls: &Inside<'_>, stream: Object, at: Position, load: &mut Load) -> Result<(), Failure> {
        let event = self.timed_event(calls)?;
        // SAFETY: event and stream live.
        let recorded = unsafe { calls.event_record(event.0, stream.0) };
        match recorded {
            Ok(()) => load.stamps.push((at, event)),
            Err(_) => self.flight.lock().timed.push(event),
        }
        recorded
    }

    fn timed_event(&self, calls: &Inside<'_>) -> Result<Object, Failure> {
        let spare = self.flight.lock().timed.pop();
        spare.map_or_else(|| new_event(calls, calls.api.vendor.flags.event_timed), Ok)
    }

    /// Records an event with a time behind a node of a replay, or before the first.
    pub(crate) fn lap(&self, calls: &Inside<'_>, stream: Object, node: Option<usize>, laps: &mut Laps) -> Result<(), Failure> {
        let event = self.timed_event(calls)?;
        laps.marks.push((node, event));
        // SAFETY: event and stream live.
        unsafe { calls.event_record(event.0, stream.0) }
    }

    /// Calls `wait` with an event that covers `at`, if there is one. Under the lock, as only an event that no marker has is recorded again: so it means that position.
    pub(crate) fn with_event(
        &self,
        at: Position,
        wait: impl FnOnce(Object) -> Result<(), Failure>,
    ) -> Option<Result<(), Failure>> {
        let flight = self.flight.lock();
        flight.markers.iter().find(|marker| marker.through >= at).map(|marker| wait(marker.event))
    }

    /// Completes what needs no marker: everything up to `at` is done. Whoever wants to know is told by the attendant.
    pub(crate) fn skip_to(&self, at: Position) {
        let mut flight = self.flight.lock();
        self.enqueued.fetch_max(at, Ordering::AcqRel);
        flight.covered = flight.covered.max(at);
        let mut due = self.reach(&mut flight, at);
        flight.owed.append(&mut due);
    }

    fn reach(&self, flight: &mut Flight, at: Position) -> Vec<Wake> {
        self.completed.fetch_max(at, Ordering::AcqRel);
        let mut due = Vec::new();
        // Not split off: that counts those that stay.
        while let Some(first) = flight.watchers.first_entry().filter(|first| *first.key() <= at) {
            due.extend(first.remove());
        }
        self.earliest.store(flight.earliest(), Ordering::Release);
        self.told.notify_all();
        due
    }

    /// Leaves wakes to the attendant.
    pub(crate) fn owe(&self, mut due: Vec<Wake>) {
        if !due.is_empty() {
            self.flight.lock().owed.append(&mut due);
        }
    }

    pub(crate) fn take_owed(&self) -> Vec<Wake> {
        std::mem::take(&mut self.flight.lock().owed)
    }

    /// Calls `wake` at once, or later. Says whether it was at once.
    pub(crate) fn watch(&self, at: Position, wake: Wake) -> bool {
        let mut flight = self.flight.lock();
        if self.completed() >= at {
            drop(flight);
            wake();
            return true;
        }
        flight.watchers.entry(at).or_default().push(wake);
        self.earliest.store(flight.earliest(), Ordering::Release);
        false
    }

    /// Notes that somebody waits for `at`, until [`Self::leave`].
    pub(crate) fn expect(&self, at: Position) {
        let mut flight = self.flight.lock();
        *flight.sleepers.entry(at).or_default() += 1;
        self.earliest.store(flight.earliest(), Ordering::Release);
    }

    pub(crate) fn leave(&self, at: Position) {
        let mut flight = self.flight.lock();
        if let Entry::Occupied(mut others) = flight.sleepers.entry(at) {
            *others.get_mut() -= 1;
            if *others.get() == 0 {
                others.remove();
            }
        }
        self.earliest.store(flight.earliest(), Ordering::Release);
    }

    /// Sleeps until somebody completes something, for that long at most.
    pub(crate) fn listen(&self, at: Position, most: std::time::Duration) {
        let mut flight = self.flight.lock();
        if self.completed() < at {
            self.told.wait_for(&mut flight, most);
        }
    }

    /// Does the host's part of every marker that is reached, in order. Who wants to know is in the answer: to be called with no lock held.
    #[must_use]
    pub(crate) fn end_markers(&self, shared: &Shared) -> Vec<Wake> {
        let mut doubt = self.ending.lock();
        let mut due = Vec::new();
        let Some(calls) = shared.enter_to_look(Some(&mut doubt)) else { return due };
        let reached = self.reached(shared, &calls, &mut doubt);
        // Nobody else may get a turn between a panic here and the end of the device: markers whose loads were taken would count as landed.
        let _ = shared.contain(|| self.end_reached(shared, &calls, reached, &mut due));
        due
    }

    /// Whether nobody ends markers now. Waits for whoever does until then.
    pub(crate) fn is_left(&self, deadline: Instant) -> bool {
        self.ending.try_lock_until(deadline).is_some()
    }

    fn end_reached(&self, shared: &Shared, calls: &Inside<'_>, reached: usize, due: &mut Vec<Wake>) {
        // Only the holder of `ending` takes markers away, so these are the oldest still.
        let mut loads = SmallVec::<[Load; 1]>::new();
        // Without memory for all of them the others' turn is at the next look.
        let most = if loads.try_reserve(reached).is_ok() { reached } else { reached.min(1) };
        loads.extend(self.flight.lock().markers.iter_mut().take(most).map(|marker| std::mem::take(&mut marker.load)));
        land_all(&shared.movers, &loads);
        for load in loads {
            let timed = self.land(shared, calls, load);
            let mut flight = self.flight.lock();
            flight.timed.extend(timed);
            let Some(marker) = flight.markers.pop_front() else { return };
            flight.events.push(marker.event);
            due.append(&mut self.reach(&mut flight, marker.through));
        }
    }

    /// Asks for the oldest markers, as far as they are reached, whether the driver has a fault to tell of them. Ends nothing, so it needs no turn: a queue of another device asks, which has
    /// its own.
    pub(crate) fn find_fault(&self, shared: &Shared) {
        if !self.has_markers() {
            return;
        }
        let Some(calls) = shared.enter_to_look(None) else { return };
        let flight = self.flight.lock();
        let asked = flight.markers.iter().map(|marker| {
            // SAFETY: the event is one of this queue's, which gets it back under the lock alone.
            unsafe { calls.event_query(marker.event.0) }
        });
        let fault = asked.take_while(|answer| !is_ahead(shared, answer)).find_map(Result::err);
        drop(flight);
        if let Some(failure) = fault {
            shared.condemn(failure);
        }
    }

    /// How many markers are reached, from the oldest on.
    fn reached(&self, shared: &Shared, calls: &Inside<'_>, doubt: &mut Doubt) -> usize {
        let errors = &shared.api.vendor.errors;
        let mut count = 0;
        loop {
            let next = self.flight.lock().markers.get(count).map(|marker| marker.event);
            let Some(event) = next else { return count };
            // SAFETY: the event is one of this queue's, and only the holder of `ending` gives it back.
            match unsafe { calls.event_query(event.0) } {
                Ok(()) => {
                    doubt.clear();
                    count += 1;
                }
                Err(failure) if failure.code == errors.not_ready => {
                    doubt.clear();
                    return count;
                }
                Err(failure) if errors.is_capturing(failure.code) => {
                    if doubt.lasts(errors.patience) {
                        shared.give_up(failure);
                    }
                    return count;
                }
                Err(failure) => {
                    shared.condemn(failure);
                    return count;
                }
            }
        }
    }

    /// Brings everything to its place. Gives timed events back.
    fn land(&self, shared: &Shared, calls: &Inside<'_>, load: Load) -> Vec<Object> {
        let Load { landings, told, mut late, fetches, stamps, laps, chunks } = load;
        drop(landings);
        late.extend(crate::peer::lost(&fetches, &shared.attendant));
        for told in &told {
            if let Some((word, limit)) = told.stopped {
                // SAFETY: the launch is over, and the word is its own until its chunk is given back below.
                let stopped = unsafe { word.bytes() }.iter().any(|byte| *byte != 0);
                let cause = told.cause(LateCause::TimeLimit { limit });
                late.extend(stopped.then_some(LateFailure { position: told.position, cause }));
            }
            if let Some((words, allowed)) = told.counts {
                // SAFETY: as above.
                let mut words =
                    unsafe { words.bytes() }.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()));
                if words.next().is_some_and(|refused| refused != 0) {
                    let asked = [(); 3].map(|()| words.next().unwrap_or(0));
                    late.push(LateFailure {
                        position: told.position,
                        cause: told.cause(LateCause::GridLimit { asked, allowed }),
                    });
                }
            }
            let Some(record) = told.record else { continue };
            // SAFETY: as of the word.
            let bytes = unsafe { record.bytes() };
            if let Some(violation) = told.reports.violation(bytes) {
                late.push(LateFailure { position: told.position, cause: told.cause(out_of_bounds(violation)) });
            }
            let output = told.reports.printed(bytes);
            if !output.lines.is_empty() || output.lost > 0 {
                self.printed.lock().push(Printed { position: told.position, node: told.node, output });
            }
        }
        if !late.is_empty() {
            late.sort_by_key(|failure| failure.position);
            // Of a replay the first node that failed is told.
            late.dedup_by_key(|failure| failure.position);
            let mut all = self.late.lock();
            let last = all.last().map(|failure| failure.position);
            all.extend(late.into_iter().filter(|failure| Some(failure.position) != last));
        }
        self.out.fetch_sub(chunks.iter().map(|chunk| chunk.size).sum(), Ordering::Relaxed);
        chunks.into_iter().for_each(|chunk| shared.chunks.give(chunk));
        let mut timed = self.clock.lock().read(calls, stamps);
        for laps in &laps {
            laps.read(calls);
            timed.extend(laps.timed());
        }
        timed
    }

    /// Starts the clock at an event that was recorded in the stream.
    pub(crate) fn start_clock(&self, event: Object) {
        self.clock.lock().base = Some(event);
    }

    pub(crate) fn timestamp(&self, at: Position) -> Option<u64> {
        let clock = self.clock.lock();
        clock.stamps.iter().rev().find(|(position, _)| *position == at).map(|(_, time)| *time)
    }

    /// Nothing will run again: everything counts as completed.
    pub(crate) fn abandon(&self) -> Vec<Wake> {
        let _one = self.ending.lock();
        let mut flight = self.flight.lock();
        let (markers, told) = (std::mem::take(&mut flight.markers), std::mem::take(&mut flight.told));
        self.enqueued.store(Position::MAX, Ordering::Release);
        let mut due = self.reach(&mut flight, Position::MAX);
        due.append(&mut flight.owed);
        flight.events.extend(markers.iter().map(|marker| marker.event));
        flight.timed.extend(markers.iter().flat_map(|marker| marker.load.timed()));
        drop(flight);
        drop((markers, told));
        due
    }

    /// Timed events that were not reached.
    pub(crate) fn keep(&self, mut events: Vec<Object>) {
        self.flight.lock().timed.append(&mut events);
    }

    /// All events of a queue that is over.
    pub(crate) fn take_events(&self) -> Vec<Object> {
        let mut flight = self.flight.lock();
        let mut events = std::mem::take(&mut flight.events);
        events.append(&mut flight.timed);
        events.extend(self.clock.lock().base.take());
        events
    }
}

/// Whether the answer about a marker is that it is not reached.
fn is_ahead(shared: &Shared, answer: &Result<(), Failure>) -> bool {
    answer.as_ref().is_err_and(|failure| shared.api.vendor.errors.is_not_yet(failure.code))
}

pub(crate) fn new_event(calls: &Inside<'_>, flags: u32) -> Result<Object, Failure> {
    let mut event = std::ptr::null_mut();
    // SAFETY: the place is ours.
    unsafe { calls.event_create(&mut event, flags) }?;
    Ok(Object(event))
}

fn out_of_bounds(found: Violation) -> LateCause {
    let Violation { location, index, length, invocation, what } = found;
    LateCause::OutOfBounds { location, index, length, invocation, what }
}

/// Moves all read bytes to their places.
fn land_all(movers: &Arc<Movers>, loads: &[Load]) {
    let mut runs = Vec::new();
    for landing in loads.iter().flat_map(|load| &load.landings) {
        match landing {
            Landing::Kept(into) => _ = into,
            Landing::Counts { from, into } => {
                // SAFETY: the copy into the slice is over, and it is this operation's.
                into.set(unsafe { from.bytes() });
            }
            Landing::Rows { from, into, offset, width, pitch } => {
                // SAFETY: as above.
                let bytes = unsafe { from.bytes() };
                let rows = bytes.len().checked_div(*width).unwrap_or(0);
                let last = rows.checked_sub(1).and_then(|last| last.checked_mul(*pitch));
                let end = last.and_then(|last| last.checked_add(*offset)?.checked_add(*width));
                if end.is_some_and(|end| end <= into.size()) {
                    // SAFETY: the target is writable for its size until the read's position completes, which is after this; the rows end within it. The
                    // chunk is given back later, too.
                    let run = unsafe { Run::new(bytes, into.pointer().wrapping_add(*offset), *width, *pitch) };
                    if runs.try_reserve(1).is_ok() {
                        runs.push(run);
                    } else {
                        movers.copy(&[run]);
                    }
                }
            }
        }
    }
    movers.copy(&runs);
}

impl Laps {
    pub(crate) fn timed(&self) -> impl Iterator<Item = Object> {
        self.marks.iter().map(|(_, event)| *event)
    }

    /// Takes the times of events that are all reached.
    fn read(&self, calls: &Inside<'_>) {
        let mut times = Vec::new();
        // Without memory for them they are not told.
        if times.try_reserve_exact(self.nodes).is_err() {
            return;
        }
        times.resize(self.nodes, 0);
        for pair in self.marks.windows(2) {
            let [(_, before), (Some(node), behind)] = pair else { return };
            let mut elapsed = 0.0;
            // SAFETY: both events were recorded and reached; the place is ours.
            if unsafe { calls.event_elapsed(&mut elapsed, before.0, behind.0) }.is_err() {
                return;
            }
            if let Some(time) = times.get_mut(*node) {
                *time = (f64::from(elapsed.max(0.0)) * 1e6) as u64;
            }
        }
        if self.whole {
            *self.times.lock() = Some(times);
        }
    }
}

impl Clock {
    /// Notes the times of stamps; gives the events that are not needed any more.
    fn read(&mut self, calls: &Inside<'_>, stamps: Vec<(Position, Object)>) -> Vec<Object> {
        let mut free = Vec::with_capacity(stamps.len());
        for (position, event) in stamps {
            let mut elapsed = 0.0;
            let Some(base) = self.base else {
                free.push(event);
                continue;
            };
            // SAFETY: both events were recorded and reached; the place is ours.
            if unsafe { calls.event_elapsed(&mut elapsed, base.0, event.0) }.is_err() {
                free.push(event);
                continue;
            }
            let time = self.time + (f64::from(elapsed.max(0.0)) * 1e6) as u64;
            self.stamps.push_back((position, time));
            if self.stamps.len() > STAMPS {
                self.stamps.pop_front();
            }
            if elapsed < REBASE {
                free.push(event);
                continue;
            }
            free.push(base);
            (self.base, self.time) = (Some(event), time);
        }
        free
    }
}

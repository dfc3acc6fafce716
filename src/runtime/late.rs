//! Failures that come after their work was accepted (T13): the process's one journal, and its settlement with the devices.
//!
//! Idle, and free of cost but for one load, unless something that can fail late is unretired. Lock order: marks → journal → maps.

use std::collections::{HashMap, VecDeque};
use std::ops::{Range, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use compute_hal::{self as hal, LateCause, LateFailure};
use compute_trust::{About, Entry, Error, Failure, Found, Ids, Journal, NoMemory, Part, Touch as Touched, Watch};
use once_cell::sync::Lazy;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::buffer::Buffer;
use super::error::{Failed, from_late};
use super::event::watcher;
use super::queue::Queue;
use super::section::{Touch, Write, no_memory};
use super::{log, prints};

/// A queue, and how far it is known that its work did not fail, or how.
struct Told {
    queue: Weak<Queue>,
    until: u64,
}

static ACTIVE: AtomicBool = AtomicBool::new(false);
static STATE: Lazy<Mutex<State>> = Lazy::new(Mutex::default);

#[derive(Default)]
struct State {
    journal: Journal,
    /// Queues with work in the journal.
    queues: Ids<Told>,
    /// Buffers that the journal may mention.
    buffers: Ids<Weak<Buffer>>,
    /// Told by devices, not applied yet.
    told: VecDeque<(u64, LateFailure)>,
}

/// Streams that want to know whether their work failed late, and the first failure of each.
static LISTENING: Lazy<Mutex<HashMap<u64, Option<Arc<Failure>>>>> = Lazy::new(Mutex::default);

/// From now on the first late failure of a stream's work is kept for [`heard`].
pub(crate) fn listen(stream: u64) {
    LISTENING.lock().insert(stream, None);
}

/// Ends that, and gives the failure.
pub(crate) fn heard(stream: u64) -> Option<Arc<Failure>> {
    LISTENING.lock().remove(&stream).flatten()
}

/// Keeps everybody from beginning and ending that.
#[cfg(test)]
pub(crate) fn listeners() -> impl Drop {
    LISTENING.lock()
}

fn tell(failure: &Arc<Failure>) {
    let about = failure.error();
    let stream = about.about.as_ref().map_or(0, |about| about.stream);
    if let Some(first) = LISTENING.lock().get_mut(&stream) {
        first.get_or_insert_with(|| Arc::clone(failure));
    }
}

/// Whether anything is in the journal.
pub(crate) fn active() -> bool {
    ACTIVE.load(Ordering::Acquire)
}

/// What the journal is told of a piece of work for those who ask later.
pub(crate) struct Who {
    pub(crate) about: About,
    pub(crate) parts: Option<Arc<Vec<Part>>>,
    /// It can fail late.
    pub(crate) can_fail: bool,
}

/// Writes down a piece of work whose marks the caller holds, before the device hears of it. Without host memory for it nothing is written
/// down, and the work must not go to the device.
pub(crate) fn record<'a>(
    queue: &Arc<Queue>,
    positions: RangeInclusive<u64>,
    Who { about, parts, can_fail }: Who,
    touches: &[Touch<'_>],
    fills: impl ExactSizeIterator<Item = (&'a Arc<Buffer>, &'a Range<u64>)> + Clone,
    watch: Option<&Arc<Watch>>,
) -> Result<(), NoMemory> {
    let touched = |buffer: &Buffer, range: &Range<u64>, whole| Touched { buffer: buffer.name(), range: range.clone(), whole };
    let (mut reads, mut writes) = (SmallVec::new(), SmallVec::new());
    reads.try_reserve(touches.len()).map_err(|_| NoMemory)?;
    writes.try_reserve(fills.len() + touches.len()).map_err(|_| NoMemory)?;
    let seen = |touch: &Touch<'_>| touch.write == (Write::Padded { seen: true });
    let mut sorted = Vec::new();
    if touches.iter().any(seen) {
        sorted.try_reserve_exact(fills.len()).map_err(|_| NoMemory)?;
        sorted.extend(fills.clone().map(|(buffer, range)| (buffer.id, range.clone())));
        sorted.sort_unstable_by_key(|(id, range)| (*id, range.start));
    }
    for touch in touches {
        let buffer = touch.span.buffer;
        if touch.reads {
            reads.push(touched(buffer, &touch.span.range(), false));
        } else if seen(touch) {
            // What is not filled was left by others. Where fills overlap this may take some for theirs, which errs on the safe side.
            let range = touch.span.range();
            let first = sorted.partition_point(|(id, fill)| (*id, fill.end) <= (buffer.id, range.start));
            let inside = sorted.iter().skip(first).take_while(|(id, fill)| *id == buffer.id && fill.start < range.end);
            let mut start = range.start;
            for (at, end) in inside.map(|(_, fill)| (fill.start, fill.end)).chain([(range.end, range.end)]) {
                if start < at {
                    reads.try_reserve(1).map_err(|_| NoMemory)?;
                    reads.push(touched(buffer, &(start..at), false));
                }
                start = start.max(end);
            }
        }
    }
    // A fill is part of the operation: should it fail, the bytes that it was to fill are not zeros.
    let filled = fills.len();
    writes.extend(fills.clone().map(|(buffer, range)| touched(buffer, range, true)));
    let write = touches.iter().filter(|touch| touch.write != Write::No);
    // Of many rows it is not known here which bytes lie between them, so that older failures keep their claims on all. Padding that was trusted holds what older work
    // left there, so that the failure of that claims it; where it was not, there is a fill.
    let whole = |touch: &Touch<'_>| touch.write == Write::Whole && touch.rows.is_none();
    writes.extend(write.map(|touch| touched(touch.span.buffer, &touch.span.range(), whole(touch))));

    let mut state = STATE.lock();
    state.reserve(reads.len() + writes.len())?;
    let (first, last) = (*positions.start(), *positions.end());
    let (queue_id, watch) = (queue.id, watch.cloned());
    state.journal.record(Entry { queue: queue_id, first, last, can_fail, reads, writes, fills: filled, about, parts, watch });
    state.know(queue);
    // What the journal does not keep it never tells to be gone either.
    for buffer in touches.iter().map(|touch| touch.span.buffer).chain(fills.map(|(buffer, _)| buffer)) {
        if state.journal.is_pending(buffer.id) {
            state.buffers.insert(buffer.id, Arc::downgrade(buffer));
        }
    }
    ACTIVE.store(!state.journal.is_idle(), Ordering::Release);
    Ok(())
}

impl State {
    /// So that one `record` or that many claims need no memory: nothing may fail between the journal and the device.
    fn reserve(&mut self, touches: usize) -> Result<(), NoMemory> {
        self.journal.reserve(touches)?;
        self.queues.try_reserve(1).map_err(|_| NoMemory)?;
        self.buffers.try_reserve(touches).map_err(|_| NoMemory)
    }

    /// Has a queue among those with work in the journal; room was made. Each that comes takes the place of those that are gone, with all of their work.
    fn know(&mut self, queue: &Arc<Queue>) {
        if !self.queues.contains_key(&queue.id) {
            self.forget_queues();
            self.queues.insert(queue.id, Told { queue: Arc::downgrade(queue), until: 0 });
        }
    }

    fn forget_queues(&mut self) {
        let Self { journal, queues, .. } = self;
        queues.retain(|id, told| told.queue.strong_count() > 0 || journal.has_work_of(*id));
    }
}

/// Whether nothing that can still fail is behind the bytes of a range, of a buffer whose mark the caller holds: then they may go to the host (T13).
pub(crate) fn is_settled(buffer: u64, range: Range<u64>) -> bool {
    if !active() {
        return true;
    }
    let state = STATE.lock();
    let told = |queue: &u64| state.queues.get(queue).map_or(0, |told| told.until);
    state.journal.derives(buffer, range).iter().all(|(queue, position)| told(queue) >= *position)
}

/// Whether the journal mentions a buffer, whose exclusive mark the caller holds.
pub(crate) fn is_pending(buffer: u64) -> bool {
    STATE.lock().journal.is_pending(buffer)
}

/// Tells that a range was claimed just now, by a caller that holds the buffer's mark. Without memory it is not noted, and a late failure of
/// earlier work takes the claim over.
pub(crate) fn claimed(buffer: u64, range: &Range<u64>, failure: &Failure) {
    if !active() {
        return;
    }
    let mut state = STATE.lock();
    if state.journal.reserve(1).is_ok() {
        state.journal.claimed(buffer, range.clone(), failure);
    }
}

/// Tells that a range is about to be reinstated, by a caller that holds the buffer's mark and reinstates nothing if this fails.
pub(crate) fn reinstating(buffer: u64, range: &Range<u64>) -> Result<(), NoMemory> {
    if active() {
        let mut state = STATE.lock();
        state.journal.reserve(1)?;
        state.journal.reinstated(buffer, range.clone());
    }
    Ok(())
}

/// Late failures that were applied, and that the log has not been told of.
#[derive(Default)]
pub(crate) struct Unlogged(Vec<Arc<Failure>>);

impl Unlogged {
    /// Calls the host.
    pub(crate) fn tell(&self) {
        self.0.iter().for_each(log::failure);
    }
}

/// Hears what devices have to tell, applies late failures, and retires what is over. The caller holds no lock and no mark. Without host memory for
/// a failure it and those after it are not applied and nothing retires, so that bytes which wait for them go on waiting: whoever wanted them is refused,
/// and may ask again.
pub(crate) fn settle() -> super::error::Result<()> {
    let mut unlogged = Unlogged::default();
    let settled = settle_unlogged(&mut unlogged);
    unlogged.tell();
    settled
}

/// The same for a caller inside whom the host must not be called: what the log has to be told is added to `unlogged`.
pub(crate) fn settle_unlogged(unlogged: &mut Unlogged) -> super::error::Result<()> {
    try_settle(unlogged).map_err(|none| Failed::of(no_memory(none)))
}

fn try_settle(unlogged: &mut Unlogged) -> Result<(), NoMemory> {
    loop {
        let mut state = STATE.lock();
        // The queues must outlive the lock: the last reference to one ends the device's own, which is nothing to wait for here.
        let heard = hear(&mut state);
        let told = heard.as_ref().map_err(|none| *none).and_then(|_| room_to_apply(&state));
        if let Ok((completed, _)) = &heard
            && told == Ok(false)
        {
            let freed = retire(&mut state, completed);
            drop(state);
            unpend(freed);
            return Ok(());
        }
        // Claims change maps, and nobody may decide on a mentioned buffer in between: so all of their marks first, then the journal.
        let mentioned = told.map(|_| state.buffers.values().filter_map(Weak::upgrade).collect::<Vec<_>>());
        drop(state);
        let mut buffers = mentioned?;
        buffers.sort_unstable_by_key(|buffer| buffer.id);
        let found = take_all(&buffers);
        let mut state = STATE.lock();
        if covers(&state, &buffers) {
            apply(&mut state, &buffers, unlogged);
        }
        drop(state);
        release_all(&buffers, &found);
    }
}

/// The last handle of a device that is well goes, while work of one of its queues goes on. If it may still fail, or print, a thread of the library's asks for that when
/// all of it is over, so that the log is told. Where no thread can be had, nobody is told.
pub(crate) fn outlive(device: &Arc<dyn hal::Device>, queue: &Arc<Queue>) {
    let can_fail = active() && STATE.lock().queues.contains_key(&queue.id);
    if !can_fail && !prints::expects(queue.id) {
        return;
    }
    let Ok(watcher) = watcher() else { return };
    // The queue is kept until then, and what is only collected so far would never end.
    if !matches!(catch_unwind(AssertUnwindSafe(|| queue.native.submit())), Ok(Ok(()))) {
        return;
    }
    let (device, kept) = (Arc::clone(device), Arc::clone(queue));
    let job = move || {
        let inside = device.inside();
        let printed = prints::collect();
        let mut unlogged = Unlogged::default();
        // Without memory for them they are told by whoever settles next.
        let _ = settle_unlogged(&mut unlogged);
        drop(kept);
        drop(device);
        drop(inside);
        printed.tell();
        unlogged.tell();
    };
    // Off the thread of the device, which may not be the one to end the device.
    let wake = move || drop(watcher.send(Box::new(job)));
    queue.native.notify(queue.last(), Box::new(wake));
}

/// How far each queue has come, and the queues.
type Heard = (Ids<u64>, Vec<Arc<Queue>>);

/// Collects late failures, and how far each queue had come before it was asked for them.
fn hear(state: &mut State) -> Result<Heard, NoMemory> {
    let (mut completed, mut queues) = (Ids::default(), Vec::new());
    completed.try_reserve(state.queues.len()).map_err(|_| NoMemory)?;
    queues.try_reserve(state.queues.len()).map_err(|_| NoMemory)?;
    for (id, told) in &state.queues {
        let Some(queue) = told.queue.upgrade() else {
            completed.insert(*id, u64::MAX);
            continue;
        };
        completed.insert(*id, queue.native.completed());
        state.told.extend(queue.native.take_late().into_iter().map(|failure| (*id, failure)));
        queues.push(queue);
    }
    Ok((completed, queues))
}

/// Bytes that applying a failure may take by itself, for each buffer in the journal whose mark is taken, and for each range that the failure may reach: the
/// sets of bytes and the lists of claims while they grow.
const TO_APPLY: usize = 4096;
const TO_MARK: usize = 64;
const TO_REACH: usize = 1024;
/// Host memory is asked for in pieces of so many bytes: a set or a list is seldom larger.
const PIECE: usize = 64 << 10;

/// Whether a failure is to be applied, and if so, whether there is host memory for the first of them. How much it takes depends on what derives from what, and
/// between its claims there is no way back; so more than enough is asked for and given back.
fn room_to_apply(state: &State) -> Result<bool, NoMemory> {
    let Some((queue, told)) = state.told.front() else { return Ok(false) };
    let reach = state.journal.reach(*queue, told.position).saturating_mul(TO_REACH);
    let wanted = reach.saturating_add(state.buffers.len().saturating_mul(TO_MARK)).saturating_add(TO_APPLY);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    pieces.try_reserve_exact(wanted.div_ceil(PIECE)).map_err(|_| NoMemory)?;
    let mut left = wanted;
    while left > 0 {
        let mut piece = Vec::new();
        piece.try_reserve_exact(left.min(PIECE)).map_err(|_| NoMemory)?;
        left -= left.min(PIECE);
        pieces.push(piece);
    }
    // Else the compiler may leave both the asking and the giving back out.
    std::hint::black_box(&pieces);
    Ok(true)
}

fn retire(state: &mut State, completed: &Ids<u64>) -> Vec<Weak<Buffer>> {
    for (id, told) in &mut state.queues {
        told.until = completed.get(id).copied().unwrap_or(0).max(told.until);
    }
    let gone = state.journal.retire(|queue| completed.get(&queue).copied().unwrap_or(0));
    let idle = state.journal.is_idle();
    let mut freed: Vec<Weak<Buffer>> = Vec::new();
    // Without memory for the list they keep their flag, and whoever finds it asks the journal in vain.
    let listed = freed.try_reserve(if idle { state.buffers.len() } else { gone.len() }).is_ok();
    let left = gone.iter().filter_map(|id| state.buffers.remove(id));
    if listed {
        freed.extend(left)
    } else {
        left.for_each(drop)
    }
    if idle {
        state.queues.clear();
        let left = state.buffers.drain().map(|(_, buffer)| buffer);
        if listed {
            freed.extend(left)
        } else {
            left.for_each(drop)
        }
        ACTIVE.store(false, Ordering::Release);
    }
    freed
}

/// Takes the pending flag off buffers that the journal no longer mentions.
fn unpend(freed: Vec<Weak<Buffer>>) {
    for buffer in freed.iter().filter_map(Weak::upgrade) {
        let now = buffer.mark.glance();
        // While somebody holds it exclusively, it looks dirty, and what they found pending comes back with the mark.
        if !now.pending && !now.dirty {
            continue;
        }
        let found = take_all(std::slice::from_ref(&buffer));
        let pending = is_pending(buffer.id);
        for found in found {
            if buffer.mark.release_exclusive(Found { pending, ..found }) {
                buffer.device.gate.wake();
            }
        }
    }
}

/// Whether `buffers` are all that the journal mentions.
fn covers(state: &MutexGuard<'_, State>, buffers: &[Arc<Buffer>]) -> bool {
    let held = |id: &u64| buffers.binary_search_by_key(id, |buffer| buffer.id).is_ok();
    state.buffers.iter().all(|(id, buffer)| held(id) || buffer.strong_count() == 0)
}

/// A node of a replay failed: the failure is about the node, and says of which graph.
fn of_node(cause: LateCause, part: Part, replay: About) -> Error {
    let Part { number, kernel, label, .. } = part;
    let graph = Arc::clone(&replay.label);
    let named = if label.is_empty() { String::new() } else { format!(" `{label}`") };
    let made = from_late(cause, About { kernel, label, ..replay });
    let message = format!("{}; this was node {number}{named} of graph `{graph}`", made.message);
    Error { message, ..made }
}

/// Applies what was told, as far as there is host memory for it; for the first there is.
fn apply(state: &mut State, buffers: &[Arc<Buffer>], unlogged: &mut Unlogged) {
    while let Some((queue, told)) = state.told.pop_front() {
        if let Some(failure) = apply_one(state, queue, told, buffers) {
            unlogged.0.push(failure);
        }
        if room_to_apply(state) != Ok(true) {
            return;
        }
    }
}

fn apply_one(state: &mut State, queue: u64, told: LateFailure, buffers: &[Arc<Buffer>]) -> Option<Arc<Failure>> {
    // Work that is not in the journal any more, or never was: nothing derives from it.
    let about = state.journal.about(queue, told.position)?;
    let (node, cause) = match told.cause {
        LateCause::Node { node, cause } => (Some(node), *cause),
        cause => (None, cause),
    };
    let made = match state.journal.part(queue, told.position, node) {
        Some(part) => of_node(cause, part, about),
        None => from_late(cause, about),
    };
    let failure = Failure::new(Arc::new(made), false);
    for claim in state.journal.fail(queue, told.position, &failure) {
        if let Ok(index) = buffers.binary_search_by_key(&claim.buffer, |buffer| buffer.id) {
            claim.apply(&mut buffers[index].map.lock());
        }
    }
    tell(&failure);
    Some(failure)
}

/// Takes the exclusive marks of buffers sorted by id, all or none.
fn take_all(buffers: &[Arc<Buffer>]) -> Vec<Found> {
    loop {
        let mut found = Vec::with_capacity(buffers.len());
        let busy = buffers.iter().find(|buffer| match buffer.mark.try_exclusive() {
            Ok(now) => {
                found.push(now);
                false
            }
            Err(_) => true,
        });
        let Some(busy) = busy else { return found };
        release_all(&buffers[..found.len()], &found);
        busy.device.gate.wait(&busy.mark, true);
    }
}

fn release_all(buffers: &[Arc<Buffer>], found: &[Found]) {
    for (buffer, found) in buffers.iter().zip(found) {
        let dirty = !buffer.map.lock().is_clean();
        if buffer.mark.release_exclusive(Found { dirty, ..*found }) {
            buffer.device.gate.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t9_queues_that_are_gone_are_forgotten_with_their_work() {
        let mut state = State::default();
        let about = || About { operation: 1, label: "".into(), kernel: "".into(), stream: 1 };
        for queue in [1, 2] {
            let (reads, writes) = (SmallVec::new(), SmallVec::new());
            let (first, last, can_fail, fills, parts, watch) = (1, 1, true, 0, None, None);
            state.journal.record(Entry { queue, first, last, can_fail, reads, writes, fills, about: about(), parts, watch });
        }
        for queue in 1..100 {
            state.queues.insert(queue, Told { queue: Weak::new(), until: 0 });
        }
        state.forget_queues();
        let mut left: Vec<u64> = state.queues.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [1, 2]);
        let _ = state.journal.retire(|queue| u64::from(queue == 1));
        state.forget_queues();
        assert_eq!(state.queues.keys().collect::<Vec<_>>(), [&2]);
    }
}

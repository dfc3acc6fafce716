//! T13: accepted work that can still fail, in one order over streams and devices, and what may derive from it.

use crate::ranges::Bytes;
use crate::{About, Buffer, Failure, Ids, Map, NoMemory, Skip};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A byte range of an allocation that an operation reads or writes.
#[derive(Clone, Debug)]
pub struct Touch {
    /// The allocation; its id is never used again.
    pub buffer: Buffer,
    /// In bytes.
    pub range: Range<u64>,
    /// Of a write: it is known to write every byte (T6a).
    pub whole: bool,
}

/// One operation that was enqueued.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Unique in the process.
    pub queue: u64,
    /// Its first position on the queue.
    pub first: u64,
    /// Its last position on the queue, inclusive.
    pub last: u64,
    /// It can fail after it was accepted.
    pub can_fail: bool,
    /// What it reads, in the order of the slots.
    pub reads: SmallVec<[Touch; 4]>,
    /// What it may write.
    pub writes: SmallVec<[Touch; 4]>,
    /// How many of the writes, the first ones, are zero-fills ahead of it. They are part of it, but read nothing.
    pub fills: usize,
    /// For the chain of the failure.
    pub about: About,
    /// Those parts that can fail by themselves.
    pub parts: Option<Arc<Vec<Part>>>,
    /// Told if the operation used claimed bytes.
    pub watch: Option<Arc<Watch>>,
}

impl Entry {
    fn is_at(&self, queue: u64, position: u64) -> bool {
        self.queue == queue && (self.first..=self.last).contains(&position)
    }

    /// The writes that derive from what it reads.
    fn outputs(&self) -> &[Touch] {
        self.writes.get(self.fills..).unwrap_or_default()
    }

    /// The zero-fills ahead of it.
    fn filled(&self) -> &[Touch] {
        self.writes.get(..self.fills).unwrap_or(&self.writes)
    }
}

/// A part of an operation: a node of a replay.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its number in the operation.
    pub number: u32,
    /// Where it has positions of its own: how far those are from the last.
    pub back: Option<Range<u64>>,
    /// Entry point of the kernel, or what is done.
    pub kernel: Arc<str>,
    /// The caller's label, may be empty.
    pub label: Arc<str>,
}

/// Tells a reader, such as a readback in flight, whether it used claimed bytes.
#[derive(Debug, Default)]
pub struct Watch {
    failure: OnceLock<Arc<Failure>>,
}

impl Watch {
    /// Nothing is known yet.
    pub fn new() -> Arc<Watch> {
        Arc::default()
    }

    /// The failure whose bytes were used.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.failure.get().cloned()
    }
}

/// What a late failure does to the map of one allocation.
#[derive(Clone, Debug)]
pub struct LateClaim {
    /// The allocation, which may be gone.
    pub buffer: u64,
    /// In bytes.
    pub range: Range<u64>,
    /// The failure.
    pub failure: Arc<Failure>,
    /// A newer claim of an untouched failure lies over the bytes and stays, but nothing reinstates them any more.
    pub beneath: bool,
}

impl LateClaim {
    /// Brings the map of the allocation up to date.
    pub fn apply(&self, map: &mut Map) {
        if self.beneath { map.spoil(self.range.clone()) } else { map.claim_late(self.range.clone(), &self.failure) }
    }
}

/// The operations of the process that have not retired and matter to late failures: those that can fail, and those that may read,
/// overwrite or replace what such an operation wrote. One per process; the caller holds its lock.
#[derive(Default)]
pub struct Journal {
    slots: VecDeque<Slot>,
    next: u64,
    /// In how many slots a buffer occurs.
    mentions: Ids<u32>,
    /// The bytes that a late failure could claim. May hold more for a while after operations retire, never less.
    possible: Bytes,
    /// Number of slots that mattered when they were last looked through.
    settled_len: usize,
    /// Number of slots since. Those that have gone meanwhile count too: what they have left in `possible` is dropped by looking through only.
    appended: usize,
    /// Marks since those that newer ones overtake were last dropped.
    new_marks: usize,
    /// Buffers that a look-through dropped, for the next `retire` to tell.
    unmentioned: Vec<u64>,
}

// Nearly every slot is work, so a box would only add an allocation to each.
#[allow(clippy::large_enum_variant)]
enum Slot {
    Work { entry: Entry, state: State },
    Mark { buffer: u64, range: Range<u64>, kind: Mark },
}

/// What has become of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing yet.
    Live,
    /// It used claimed bytes: its outputs are claimed, and stay so. The zeros that it filled in before stand, unless it fails itself.
    Used,
    /// It failed, or used claimed bytes and can fail no more: what it may have written is claimed, and stays so.
    Over,
}

/// What else happens to claims in the one order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Bytes were claimed and may have been overwritten.
    Claim,
    /// Bytes were claimed by an untouched failure: they still hold what earlier work wrote, and may be reinstated.
    Cover,
    /// They were reinstated.
    Uncover,
}

impl Slot {
    fn buffers(&self) -> impl Iterator<Item = u64> + '_ {
        let (touches, claim) = match self {
            Slot::Work { entry, .. } => (entry.reads.iter().chain(&entry.writes), None),
            Slot::Mark { buffer, .. } => ([].iter().chain(&[]), Some(*buffer)),
        };
        touches.map(|touch| touch.buffer.id).chain(claim)
    }

    /// Takes the set of bytes that a late failure of earlier work could claim past this slot. Tells whether the slot makes any difference.
    fn pass(&self, possible: &mut Bytes, can_fail: bool) -> bool {
        let (entry, state) = match self {
            Slot::Mark { buffer, range, kind } => {
                let hit = possible.intersects(*buffer, range);
                if *kind == Mark::Claim {
                    possible.remove(*buffer, range);
                }
                return hit;
            }
            Slot::Work { entry, state } => (entry, *state),
        };
        let hit = |touch: &Touch| possible.intersects(touch.buffer.id, &touch.range);
        let used = state == State::Live && entry.reads.iter().any(hit);
        if state == State::Live && (can_fail || used) {
            entry.writes.iter().for_each(|write| possible.add(write.buffer.id, &write.range));
            return can_fail || !entry.writes.is_empty() || entry.watch.is_some();
        }
        let replaces = |write: &&Touch| state != State::Live || write.whole;
        let matters = entry.writes.iter().filter(replaces).any(hit);
        entry.writes.iter().filter(replaces).for_each(|write| possible.remove(write.buffer.id, &write.range));
        if state == State::Used && can_fail {
            entry.filled().iter().for_each(|write| possible.add(write.buffer.id, &write.range));
            entry.outputs().iter().for_each(|write| possible.remove(write.buffer.id, &write.range));
            return true;
        }
        matters
    }
}

impl Journal {
    /// An empty journal.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// Nothing is left that can fail late.
    pub fn is_idle(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many operations and marks are in it.
    pub fn entries(&self) -> usize {
        self.slots.len()
    }

    /// Whether work of a queue is in it.
    pub fn has_work_of(&self, queue: u64) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Work { entry, .. } if entry.queue == queue))
    }

    /// Makes sure that one `record` with this many reads and writes, or that many calls of `claimed`, find their memory.
    pub fn reserve(&mut self, touches: usize) -> Result<(), NoMemory> {
        self.slots.try_reserve(touches.max(1)).map_err(|_| NoMemory)?;
        self.mentions.try_reserve(touches).map_err(|_| NoMemory)?;
        // As many as may be told to be gone.
        self.unmentioned.try_reserve(self.mentions.len().saturating_add(touches)).map_err(|_| NoMemory)?;
        self.possible.reserve(touches)
    }

    /// Appends an operation to the one order and tells its number there. Whatever reads or writes bytes while the journal is not idle is
    /// recorded, zero-fills and host writes too; what cannot matter to a late failure is not kept.
    pub fn record(&mut self, entry: Entry) -> u64 {
        let can_fail = entry.can_fail;
        self.append(Slot::Work { entry, state: State::Live }, can_fail)
    }

    /// What the unretired operation at a position is, for the error of its late failure.
    pub fn about(&self, queue: u64, position: u64) -> Option<About> {
        self.entry(queue, position).map(|entry| entry.about.clone())
    }

    /// The part of an operation that has this number, or else this position.
    pub fn part(&self, queue: u64, position: u64, number: Option<u32>) -> Option<Part> {
        let entry = self.entry(queue, position)?;
        let is_it = |part: &&Part| match number {
            Some(number) => part.number == number,
            None => part.back.as_ref().is_some_and(|back| back.contains(&(entry.last - position))),
        };
        entry.parts.as_ref()?.iter().find(is_it).cloned()
    }

    /// How many ranges a failure of the operation at a position can claim, replace or mark at most: the host memory that `fail` takes is in proportion.
    pub fn reach(&self, queue: u64, position: u64) -> usize {
        let is_it = |slot: &Slot| matches!(slot, Slot::Work { entry, .. } if entry.is_at(queue, position));
        let ranges = |slot: &Slot| match slot {
            Slot::Work { entry, .. } => entry.writes.len(),
            Slot::Mark { .. } => 1,
        };
        let place = self.slots.iter().position(is_it).unwrap_or(self.slots.len());
        self.slots.range(place..).map(ranges).sum()
    }

    fn entry(&self, queue: u64, position: u64) -> Option<&Entry> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Work { entry, .. } if entry.is_at(queue, position) => Some(entry),
            _ => None,
        })
    }

    /// Bytes were claimed just now because of an immediate failure or a skip: newer than every operation so far, so that late failures of
    /// those leave the claim alone (T3).
    pub fn claimed(&mut self, buffer: u64, range: Range<u64>, failure: &Failure) {
        let kind = if failure.is_untouched() { Mark::Cover } else { Mark::Claim };
        self.mark(buffer, range, kind);
    }

    /// Bytes were reinstated just now (T2): to be called for each range that `Map::reinstatable` told.
    pub fn reinstated(&mut self, buffer: u64, range: Range<u64>) {
        self.mark(buffer, range, Mark::Uncover);
    }

    fn append(&mut self, slot: Slot, can_fail: bool) -> u64 {
        self.next += 1;
        if slot.pass(&mut self.possible, can_fail) {
            for buffer in slot.buffers() {
                *self.mentions.entry(buffer).or_default() += 1;
            }
            self.slots.push_back(slot);
            self.appended += 1;
        }
        self.next
    }

    fn mark(&mut self, buffer: u64, range: Range<u64>, kind: Mark) {
        self.append(Slot::Mark { buffer, range, kind }, false);
        self.new_marks += 1;
        // Not more often, so that the cost of each mark is constant.
        if self.new_marks > self.slots.len() / 2 + 64 {
            self.drop_overtaken();
            self.new_marks = 0;
        }
    }

    /// An operation that was recorded as one that can fail did fail. Walks forward from it: claims all that it may have written, then, in
    /// order, the outputs of every operation that read claimed bytes, which the failure notes as used; only whole writes and
    /// claims that came later replace. Operations that failed or used before keep theirs. The caller applies each result to the map of
    /// its buffer, if that is still there. Call it before the position counts as completed in `retire`.
    pub fn fail(&mut self, queue: u64, position: u64, failure: &Arc<Failure>) -> Vec<LateClaim> {
        let failed = |slot: &Slot| match slot {
            Slot::Work { entry, state } => *state != State::Over && entry.is_at(queue, position),
            Slot::Mark { .. } => false,
        };
        let Some(place) = self.slots.iter().position(failed) else { return Vec::new() };
        let mut reached = Reached::default();
        for (index, slot) in self.slots.iter_mut().enumerate().skip(place) {
            reached.walk(slot, index == place, failure);
        }
        self.look_through(|_| 0);
        let late = |bytes: Bytes, beneath| {
            let claim = move |(buffer, range)| LateClaim { buffer, range, failure: failure.clone(), beneath };
            bytes.into_sorted().into_iter().map(claim)
        };
        late(reached.claimed, false).chain(late(reached.beneath, true)).collect()
    }

    /// Drops what no late failure can reach any more, given the highest completed position of each queue. Tells the buffers that do not
    /// occur in the journal any more.
    pub fn retire(&mut self, completed: impl Fn(u64) -> u64) -> Vec<u64> {
        while let Some(slot) = self.slots.front() {
            if slot.may_fail(&completed) {
                break;
            }
            if let Some(slot) = self.slots.pop_front() {
                unmention(&slot, &mut self.mentions, &mut self.unmentioned);
            }
        }
        // Looking through all of it only after about as many new ones keeps the cost of each entry constant.
        if self.slots.is_empty() {
            self.possible.clear();
            (self.settled_len, self.appended) = (0, 0);
        } else if self.appended > self.settled_len + 64 {
            self.look_through(completed);
        }
        // Else the room that was made for them would go with each call.
        if self.unmentioned.is_empty() {
            return Vec::new();
        }
        let mut gone = std::mem::take(&mut self.unmentioned);
        gone.sort_unstable();
        gone.dedup();
        gone.retain(|buffer| !self.mentions.contains_key(buffer));
        gone
    }

    /// Passes through the slots with what is known now, and drops those that make no difference.
    fn look_through(&mut self, completed: impl Fn(u64) -> u64) {
        let Journal { slots, mentions, possible, unmentioned, .. } = self;
        possible.clear();
        slots.retain(|slot| {
            let stays = slot.pass(possible, slot.may_fail(&completed));
            if !stays {
                unmention(slot, mentions, unmentioned);
            }
            stays
        });
        (self.settled_len, self.appended) = (self.slots.len(), 0);
    }

    /// Drops the marks that newer ones of their bytes overtake, with no work on the buffer between them: a loop of refusals while some work
    /// cannot retire must not take more memory with every round (T3). Without memory to look they stay.
    fn drop_overtaken(&mut self) {
        // Of each byte the newest mark counts, but that only a claim overtakes a claim.
        let (mut newer, mut claims) = (Bytes::default(), Bytes::default());
        for slot in self.slots.iter_mut().rev() {
            match slot {
                Slot::Work { entry, .. } => {
                    for touch in entry.reads.iter().chain(&entry.writes) {
                        newer.forget(touch.buffer.id);
                        claims.forget(touch.buffer.id);
                    }
                }
                Slot::Mark { buffer, range, kind } => {
                    let overtaking = if *kind == Mark::Claim { &mut claims } else { &mut newer };
                    if overtaking.contains(*buffer, range) {
                        *range = 0..0;
                        continue;
                    }
                    // What cannot be remembered overtakes nothing.
                    let _ = newer.add_exactly(*buffer, range);
                    if *kind == Mark::Claim {
                        let _ = claims.add_exactly(*buffer, range);
                    }
                }
            }
        }
        let Journal { slots, mentions, unmentioned, .. } = self;
        slots.retain(|slot| {
            let stays = !matches!(slot, Slot::Mark { range, .. } if range.is_empty());
            if !stays {
                unmention(slot, mentions, unmentioned);
            }
            stays
        });
    }

    /// Some operation in the journal reads or writes the buffer.
    pub fn is_pending(&self, buffer: u64) -> bool {
        self.mentions.contains_key(&buffer)
    }

    /// What bytes on their way to the host or another device wait for: the last position, per queue, of the operations that can
    /// still fail and that the bytes derive from, directly or through others.
    pub fn derives(&self, buffer: u64, range: Range<u64>) -> SmallVec<[(u64, u64); 4]> {
        let mut waits = SmallVec::new();
        if !self.possible.intersects(buffer, &range) {
            return waits;
        }
        let mut wanted = Bytes::default();
        wanted.add(buffer, &range);
        for slot in self.slots.iter().rev() {
            if wanted.is_empty() {
                break;
            }
            trace(slot, &mut wanted, &mut waits);
        }
        waits
    }
}

/// A slot is dropped: buffers that occur in no other one are added to `gone`.
fn unmention(slot: &Slot, mentions: &mut Ids<u32>, gone: &mut Vec<u64>) {
    for buffer in slot.buffers() {
        if let Some(count) = mentions.get_mut(&buffer) {
            *count -= 1;
            if *count == 0 {
                mentions.remove(&buffer);
                gone.push(buffer);
            }
        }
    }
}

impl Slot {
    fn may_fail(&self, completed: impl Fn(u64) -> u64) -> bool {
        match self {
            Slot::Work { entry, state } => entry.can_fail && *state != State::Over && completed(entry.queue) < entry.last,
            Slot::Mark { .. } => false,
        }
    }
}

/// The bytes that a late failure spoiled, as far as its walk has come.
#[derive(Default)]
struct Reached {
    /// Those that it claims.
    claimed: Bytes,
    /// Those that a newer claim of an untouched failure covers.
    beneath: Bytes,
}

impl Reached {
    fn mark(&mut self, buffer: u64, range: &Range<u64>, kind: Mark) {
        match kind {
            Mark::Claim => self.replace(buffer, range),
            Mark::Cover => self.claimed.transfer(buffer, range, &mut self.beneath),
            Mark::Uncover => self.beneath.transfer(buffer, range, &mut self.claimed),
        }
    }

    fn replace(&mut self, buffer: u64, range: &Range<u64>) {
        self.claimed.remove(buffer, range);
        self.beneath.remove(buffer, range);
    }

    /// One step of the walk forward from a failed operation.
    fn walk(&mut self, slot: &mut Slot, failed: bool, failure: &Arc<Failure>) {
        let (entry, state) = match slot {
            Slot::Mark { buffer, range, kind } => return self.mark(*buffer, range, *kind),
            Slot::Work { entry, state } => (entry, state),
        };
        let live = *state == State::Live;
        let read = entry.reads.iter().find(|read| live && self.claimed.intersects(read.buffer.id, &read.range));
        if failed || read.is_some() {
            *state = if !failed && entry.can_fail && entry.fills > 0 { State::Used } else { State::Over };
            if let Some(watch) = &entry.watch {
                let _ = watch.failure.set(failure.clone());
            }
            if let Some(read) = read.filter(|_| !failed && !entry.outputs().is_empty()) {
                let outputs = entry.outputs().iter().map(|write| write.buffer.id).collect();
                failure.note(Skip { about: entry.about.clone(), needed: read.buffer.clone(), outputs, used: true });
            }
            // What it filled with zeros before it read anything is zeros all the same.
            let spoiled = match failed {
                true if live => &entry.writes[..],
                true => entry.filled(),
                false => entry.outputs(),
            };
            spoiled.iter().for_each(|write| self.claimed.add(write.buffer.id, &write.range));
            if failed && !live {
                // What it wrote over its zeros is the earlier failure's already.
                entry.outputs().iter().for_each(|write| self.claimed.remove(write.buffer.id, &write.range));
            }
            return;
        }
        let replaces = |write: &&Touch| !live || write.whole;
        entry.writes.iter().filter(replaces).for_each(|write| self.replace(write.buffer.id, &write.range));
    }
}

/// One step of the walk backward from bytes that somebody wants.
fn trace(slot: &Slot, wanted: &mut Bytes, waits: &mut SmallVec<[(u64, u64); 4]>) {
    let (entry, state) = match slot {
        Slot::Mark { buffer, range, kind: Mark::Claim } => return wanted.remove(*buffer, range),
        Slot::Mark { .. } => return,
        Slot::Work { entry, state } => (entry, *state),
    };
    let outputs = entry.outputs().iter().any(|write| wanted.intersects(write.buffer.id, &write.range));
    if state == State::Used {
        // These are claimed, also where it had filled them with zeros.
        entry.outputs().iter().for_each(|write| wanted.remove(write.buffer.id, &write.range));
    }
    let filled = entry.filled().iter().any(|write| wanted.intersects(write.buffer.id, &write.range));
    let (written, derived) = match state {
        State::Live => (filled || outputs, outputs),
        State::Used => (filled, false),
        State::Over => (false, false),
    };
    let replaces = |write: &&Touch| state != State::Live || write.whole;
    entry.writes.iter().filter(replaces).for_each(|write| wanted.remove(write.buffer.id, &write.range));
    if !written {
        return;
    }
    if derived {
        entry.reads.iter().for_each(|read| wanted.add(read.buffer.id, &read.range));
    }
    if entry.can_fail {
        match waits.iter_mut().find(|(queue, _)| *queue == entry.queue) {
            Some((_, position)) => *position = entry.last.max(*position),
            None => waits.push((entry.queue, entry.last)),
        }
    }
}

#[cfg(test)]
mod tests;

//! Which bytes of one allocation are never written, trusted or claimed (T1 to T4). Byte arithmetic only: what a failure is and says lives
//! in `failure.rs`, and when to claim or release is the caller's business.

use crate::carried::Carried;
use crate::room::{granted, room, scratch};
use crate::{Failure, NoMemory};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// How many ranges a map keeps (T3); past that it is [`Map::overflowing`] and wants to be compacted.
pub const MAX_RANGES: usize = 1024;

/// Without compaction a map has at most this many times the ranges, and what the last call for which room was reserved added.
const SLACK: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unwritten,
    /// `restores`: the failure is untouched and the bytes were trusted when it began, so `reinstate` makes them trusted again.
    Claimed {
        failure: u64,
        restores: bool,
    },
}

impl State {
    fn failure(self) -> Option<u64> {
        match self {
            State::Unwritten => None,
            State::Claimed { failure, .. } => Some(failure),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u64,
    end: u64,
    state: State,
}

impl Span {
    fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// The trust of every byte of one allocation. Bytes in no span are trusted. Ranges are in bytes; what lies outside of the allocation
/// is ignored. Belongs to whoever holds the lock of the allocation.
pub struct Map {
    size: u64,
    /// Sorted, disjoint, not empty, and neighbours that touch differ in state.
    spans: SmallVec<[Span; 1]>,
    carried: Carried,
    /// The hard bound on the number of spans until the next `reserve`.
    ceiling: usize,
    #[cfg(test)]
    pub(crate) limit: usize,
}

impl Map {
    fn filled_with(size: u64, state: Option<State>) -> Map {
        // Both failures that a map may need when there is no memory exist from here on.
        let _ = (Failure::no_memory(), Failure::never_written());
        let spans = state.filter(|_| size > 0).map(|state| Span { start: 0, end: size, state }).into_iter().collect();
        Map {
            size,
            spans,
            carried: Carried::default(),
            ceiling: SLACK * MAX_RANGES,
            #[cfg(test)]
            limit: MAX_RANGES,
        }
    }

    /// A fresh allocation: every byte is never written.
    pub fn unwritten(size: u64) -> Map {
        Map::filled_with(size, Some(State::Unwritten))
    }

    /// A fresh allocation under `strict_unwritten`: every byte is claimed by `failure` (see [`Failure::never_written`]).
    pub fn claimed(size: u64, failure: &Arc<Failure>) -> Map {
        let mut map = Map::trusted(size);
        map.claim_late(0..size, failure);
        map
    }

    /// Imported memory (T14): the caller vouches for every byte.
    pub fn trusted(size: u64) -> Map {
        Map::filled_with(size, None)
    }

    /// Makes it the map of a fresh allocation of the same size: every byte is never written. False: a failure claims some of its bytes, and nothing has changed.
    pub fn renew(&mut self) -> bool {
        if !self.carried.is_empty() {
            return false;
        }
        let fresh = Span { start: 0, end: self.size, state: State::Unwritten };
        if self.size > 0 && *self.spans != [fresh] {
            self.spans = SmallVec::from_buf([fresh]);
        }
        self.ceiling = SLACK * MAX_RANGES;
        true
    }

    /// In bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many ranges are not trusted.
    pub fn ranges(&self) -> usize {
        self.spans.len()
    }

    /// Every byte is trusted.
    pub fn is_clean(&self) -> bool {
        self.spans.is_empty()
    }

    fn limit(&self) -> usize {
        #[cfg(test)]
        return self.limit;
        #[cfg(not(test))]
        MAX_RANGES
    }

    /// Makes sure that the next `more` claims, writes and fills need no memory, and that none of them has to merge claims: called before
    /// anything is decided on the bytes, so that the decision holds. A call that covers the whole allocation needs no memory anyway.
    /// Never-written gaps are left for [`Map::compact`], which has them filled: claimed here, they would take what was written between them along.
    pub fn reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        let hard = SLACK * self.limit();
        if self.spans.len().saturating_add(more.saturating_mul(2)) > hard && self.spans.len() > self.limit() {
            let claims = self.spans.iter().filter(|span| span.state != State::Unwritten).count();
            let chosen = self.nearest(claims.saturating_sub(self.limit()), |_| 1)?;
            self.merge(&chosen)?;
        }
        // Each call adds at most two boundaries between pieces, and claims may fill the gaps between spans.
        let added = more.saturating_mul(2);
        let spans = if self.spans.is_empty() { added.saturating_sub(1) } else { self.spans.len().saturating_add(added) };
        room(&mut self.spans, spans)?;
        self.carried.reserve(more)?;
        self.ceiling = hard.max(self.spans.len().saturating_add(spans).saturating_add(1));
        Ok(())
    }

    fn clip(&self, range: Range<u64>) -> Range<u64> {
        range.start.min(self.size)..range.end.min(self.size)
    }

    /// The spans that have bytes in a range, which is not empty.
    fn overlap(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.spans.partition_point(|span| span.end <= range.start);
        let rest = self.spans.get(first..).unwrap_or_default();
        first..first + rest.partition_point(|span| span.start < range.end)
    }

    fn within(&self, range: Range<u64>) -> &[Span] {
        let range = self.clip(range);
        if range.is_empty() { &[] } else { self.spans.get(self.overlap(&range)).unwrap_or_default() }
    }

    /// T3: the bytes are claimed by `failure` from now on, whatever they were; those that it claims already stay as they are. Bytes that
    /// were trusted can be reinstated later if the failure is untouched. Never panics. Takes memory only where [`Map::reserve`] was
    /// not called; if there is none, the whole map becomes claimed by [`Failure::no_memory`].
    pub fn claim(&mut self, range: Range<u64>, failure: &Arc<Failure>) {
        let range = self.clip(range);
        if range.is_empty() {
            return;
        }
        let dirty = !self.overlap(&range).is_empty();
        if !failure.is_untouched() || (dirty && self.claim_in_pieces(&range, failure).is_err()) {
            self.claim_whole(range, failure, false);
        } else if !dirty {
            self.claim_whole(range, failure, true);
        }
        self.bound();
    }

    /// As [`Map::claim`], for work that has run already: the bytes were overwritten, so nothing reinstates them (T13).
    pub fn claim_late(&mut self, range: Range<u64>, failure: &Arc<Failure>) {
        let range = self.clip(range);
        if !range.is_empty() {
            self.claim_whole(range, failure, false);
            self.bound();
        }
    }

    fn claim_whole(&mut self, range: Range<u64>, failure: &Arc<Failure>, restores: bool) {
        let state = State::Claimed { failure: failure.id(), restores };
        if self.carried.reserve_for(failure).is_err() {
            return self.exhausted();
        }
        // Holds the entry of the failure while its spans are exchanged.
        self.carried.add(failure);
        let result = self.replace(range, Some(state));
        self.carried.remove(failure.id());
        if result.is_err() {
            self.exhausted();
        }
    }

    /// An untouched failure takes over a range that is not all trusted: its claim on each part remembers what that part was.
    fn claim_in_pieces(&mut self, range: &Range<u64>, failure: &Arc<Failure>) -> Result<(), NoMemory> {
        let id = failure.id();
        let touched = self.overlap(range);
        self.carried.reserve_for(failure)?;
        room(&mut self.spans, 2 * touched.len() + 3)?;
        let old = self.spans.len();
        let push = |map: &mut Map, start: u64, end: u64, state: State| {
            let fresh = map.spans.len() > old;
            match map.spans.last_mut() {
                Some(last) if fresh && last.end == start && last.state == state => last.end = end,
                _ if start < end => map.spans.push(Span { start, end, state }),
                _ => {}
            }
        };
        let claimed = |restores| State::Claimed { failure: id, restores };
        let mut at = range.start;
        for index in touched.clone() {
            let Some(span) = self.spans.get(index).copied() else { break };
            let (start, end) = (span.start.max(range.start), span.end.min(range.end));
            push(self, span.start, start, span.state);
            push(self, at, start, claimed(true));
            let state = if span.state.failure() == Some(id) { span.state } else { claimed(false) };
            push(self, start, end, state);
            at = end;
            if span.end > end {
                push(self, end, span.end, span.state);
            }
        }
        push(self, at, range.end, claimed(true));
        self.install(touched, old, failure);
        Ok(())
    }

    /// Moves the spans that were pushed behind the first `old` ones to the place of those that they replace.
    fn install(&mut self, replaced: Range<usize>, old: usize, failure: &Arc<Failure>) {
        let fresh = self.spans.len() - old;
        for index in old..self.spans.len() {
            match self.spans.get(index).and_then(|span| span.state.failure()) {
                Some(id) if id == failure.id() => self.carried.add(failure),
                Some(id) => self.carried.again(id),
                None => {}
            }
        }
        for index in replaced.clone() {
            if let Some(id) = self.spans.get(index).and_then(|span| span.state.failure()) {
                self.carried.remove(id);
            }
        }
        if let Some(tail) = self.spans.get_mut(replaced.end..) {
            tail.rotate_right(fresh);
        }
        self.spans.drain(replaced.clone());
        self.join(replaced.start + fresh);
        self.join(replaced.start);
    }

    /// Makes one of the spans on both sides of a place if they touch and agree.
    fn join(&mut self, place: usize) {
        let Some(before) = place.checked_sub(1) else { return };
        let (Some(left), Some(right)) = (self.spans.get(before).copied(), self.spans.get(place).copied()) else { return };
        if left.end == right.start && left.state == right.state {
            self.spans.remove(place);
            if let Some(span) = self.spans.get_mut(before) {
                span.end = right.end;
            }
            right.state.failure().into_iter().for_each(|id| self.carried.remove(id));
        }
    }

    /// Gives a range, which is not empty, a state (none: trusted). The failure of the state is carried already.
    fn replace(&mut self, range: Range<u64>, state: Option<State>) -> Result<(), NoMemory> {
        let Range { mut start, mut end } = range;
        let Range { start: mut first, end: mut last } = self.overlap(&range);
        let before = first.checked_sub(1).and_then(|index| self.spans.get(index)).copied();
        let after = self.spans.get(last).copied();
        let mut head = self.spans.get(first).copied().filter(|span| first < last && span.start < start);
        let mut tail = last.checked_sub(1).and_then(|index| self.spans.get(index)).copied();
        tail = tail.filter(|span| first < last && span.end > end);
        if let Some(span) = head.take_if(|span| Some(span.state) == state) {
            start = span.start;
        } else if let Some(span) = before.filter(|span| head.is_none() && span.end == start && Some(span.state) == state) {
            (start, first) = (span.start, first - 1);
        }
        if let Some(span) = tail.take_if(|span| Some(span.state) == state) {
            end = span.end;
        } else if let Some(span) = after.filter(|span| tail.is_none() && span.start == end && Some(span.state) == state) {
            (end, last) = (span.end, last + 1);
        }
        let pieces: SmallVec<[Span; 4]> = [
            head.map(|span| Span { end: range.start, ..span }),
            state.map(|state| Span { start, end, state }),
            tail.map(|span| Span { start: range.end, ..span }),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.exchange(first..last, &pieces)
    }

    fn exchange(&mut self, replaced: Range<usize>, pieces: &[Span]) -> Result<(), NoMemory> {
        if pieces.len() > replaced.len() {
            room(&mut self.spans, pieces.len() - replaced.len())?;
        }
        for id in pieces.iter().filter_map(|piece| piece.state.failure()) {
            self.carried.again(id);
        }
        for index in replaced.clone() {
            if let Some(id) = self.spans.get(index).and_then(|span| span.state.failure()) {
                self.carried.remove(id);
            }
        }
        self.spans.drain(replaced.clone());
        self.spans.insert_from_slice(replaced.start, pieces);
        Ok(())
    }

    /// No memory to be exact: the whole map is claimed by the failure made in advance. Needs none.
    fn exhausted(&mut self) {
        self.spans.clear();
        self.carried.clear();
        if self.size > 0 {
            let failure = Failure::no_memory();
            self.carried.add(failure);
            self.spans.push(Span { start: 0, end: self.size, state: State::Claimed { failure: failure.id(), restores: false } });
        }
    }

    /// T4: a write that landed and covers these bytes wholly. They are trusted from now on.
    pub fn written(&mut self, range: Range<u64>) {
        let range = self.clip(range);
        if !range.is_empty() && !self.spans.is_empty() {
            if self.replace(range, None).is_err() {
                self.exhausted();
            }
            self.bound();
        }
    }

    /// The never-written parts of a range, sorted: what is zero-filled before somebody reads it or writes a part of it (T1, T6a).
    pub fn unwritten_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        self.parts(range, State::Unwritten)
    }

    /// The parts of a range, sorted, that hold nothing which could ever be trusted again as it is: never written, or claimed for good.
    pub fn untrusted_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let range = self.clip(range);
        let restores = |span: &&Span| !matches!(span.state, State::Claimed { restores: true, .. });
        let spans = self.within(range.clone()).iter().filter(restores);
        spans.map(move |span| span.start.max(range.start)..span.end.min(range.end))
    }

    /// The parts of a range, sorted, that are not trusted, and of each whether it is claimed; else it was never written.
    pub fn gaps_in(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, bool)> + '_ {
        let range = self.clip(range);
        let spans = self.within(range.clone()).iter();
        spans.map(move |span| (span.start.max(range.start)..span.end.min(range.end), span.state != State::Unwritten))
    }

    fn parts(&self, range: Range<u64>, state: State) -> impl Iterator<Item = Range<u64>> + '_ {
        let range = self.clip(range);
        let spans = self.within(range.clone()).iter().filter(move |span| span.state == state);
        spans.map(move |span| span.start.max(range.start)..span.end.min(range.end))
    }

    /// A zero-fill of the never-written parts of a range was enqueued: these become trusted, claims stay.
    pub fn filled(&mut self, range: Range<u64>) {
        if self.lift(range, |state| state == State::Unwritten).is_err() {
            self.exhausted();
        }
        self.bound();
    }

    /// T2: lifts the claims of an untouched failure from those bytes of a range that were trusted when it began. Tells how many bytes
    /// became trusted. Lifts nothing if there is no memory for it.
    pub fn reinstate(&mut self, range: Range<u64>, failure: &Failure) -> u64 {
        let state = State::Claimed { failure: failure.id(), restores: true };
        let lifted = self.lift(range, |other| other == state).unwrap_or(0);
        self.bound();
        lifted
    }

    /// What [`Map::reinstate`] would lift, sorted.
    pub fn reinstatable(&self, range: Range<u64>, failure: &Failure) -> impl Iterator<Item = Range<u64>> + '_ {
        self.parts(range, State::Claimed { failure: failure.id(), restores: true })
    }

    /// The bytes turned out not to hold what they should (T13): claims on them stay, but can not be reinstated any more.
    pub(crate) fn spoil(&mut self, range: Range<u64>) {
        let range = self.clip(range);
        let mut at = range.start;
        while let Some(&Span { start, end, state }) = self.within(at..range.end).first() {
            at = end.min(range.end);
            let State::Claimed { failure, restores: true } = state else { continue };
            if self.replace(start.max(range.start)..at, Some(State::Claimed { failure, restores: false })).is_err() {
                return self.exhausted();
            }
        }
        self.bound();
    }

    /// Makes those bytes of a range trusted that are in a certain state. All or nothing; tells how many bytes.
    fn lift(&mut self, range: Range<u64>, matches: impl Fn(State) -> bool) -> Result<u64, NoMemory> {
        let range = self.clip(range);
        if range.is_empty() || !self.within(range.clone()).iter().any(|span| matches(span.state)) {
            return Ok(0);
        }
        room(&mut self.spans, 2)?;
        let mut lifted = 0;
        // Spans that reach out of the range are cut; after that only whole spans go.
        for edge in [range.start, range.end] {
            let across = |span: &&Span| span.start < edge && edge < span.end && matches(span.state);
            if let Some(span) = self.within(range.clone()).iter().find(across).copied() {
                let part = span.start.max(range.start)..span.end.min(range.end);
                lifted += part.end - part.start;
                self.replace(part, None)?;
            }
        }
        let touched = self.overlap(&range);
        let mut kept = touched.start;
        for index in touched.clone() {
            let Some(span) = self.spans.get(index).copied() else { break };
            if matches(span.state) {
                lifted += span.len();
                span.state.failure().into_iter().for_each(|id| self.carried.remove(id));
            } else {
                self.spans.swap(kept, index);
                kept += 1;
            }
        }
        self.spans.drain(kept..touched.end);
        Ok(lifted)
    }

    /// The first claim in a range: where it begins (within the range) and whose it is.
    pub fn first_claim(&self, range: Range<u64>) -> Option<(u64, &Arc<Failure>)> {
        let at = range.start;
        let mut claims = self.within(range).iter().filter_map(|span| Some((span.start.max(at), span.state.failure()?)));
        claims.next().and_then(|(start, id)| Some((start, self.carried.get(id)?)))
    }

    /// The claims that have bytes in a range, whole and rising, and whose they are.
    pub fn claims(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &Arc<Failure>)> {
        self.within(range).iter().filter_map(|span| Some((span.start..span.end, self.carried.get(span.state.failure()?)?)))
    }

    /// The distinct failures that claim bytes of a range, in the order found. A group counts as one; [`Failure::group`] flattens.
    pub fn failures(&self, range: Range<u64>) -> SmallVec<[Arc<Failure>; 2]> {
        let mut found = SmallVec::new();
        let mut seen: SmallVec<[u64; 4]> = SmallVec::new();
        for id in self.within(range).iter().filter_map(|span| span.state.failure()) {
            if let Err(place) = seen.binary_search(&id) {
                seen.insert(place, id);
                found.extend(self.carried.get(id).cloned());
            }
        }
        found
    }

    /// The first byte of a range that is not trusted: never written, or claimed.
    pub fn first_untrusted(&self, range: Range<u64>) -> Option<u64> {
        let at = range.start;
        self.within(range).first().map(|span| span.start.max(at))
    }

    /// Every byte of a range is trusted: neither claimed nor never written.
    pub fn is_trusted(&self, range: Range<u64>) -> bool {
        self.within(range).is_empty()
    }

    /// More than [`MAX_RANGES`] ranges: call [`Map::compact`] when fills can be enqueued.
    pub fn overflowing(&self) -> bool {
        self.spans.len() > self.limit()
    }

    /// T3: brings an overflowing map back to [`MAX_RANGES`]. The ranges returned were never written; they count as written from now on,
    /// and the caller zero-fills them on the device, ordered as any write. Only if there are no more of them, the nearest
    /// claims merge into their hull under a group of their failures.
    pub fn compact(&mut self) -> Vec<Range<u64>> {
        if !self.overflowing() {
            return Vec::new();
        }
        let gaps = self.fill_smallest_gaps().unwrap_or_default();
        if self.overflowing() {
            // Without memory the map stays as it is, within its hard bound.
            let _ = self.squeeze(self.limit());
        }
        gaps
    }

    fn fill_smallest_gaps(&mut self) -> Result<Vec<Range<u64>>, NoMemory> {
        // Half of the room, so that the next call is not due at once. Fills change nothing that anybody can read.
        let wanted = self.spans.len() - self.limit() / 2;
        let mut gaps = scratch(self.spans.len())?;
        gaps.extend(self.spans.iter().filter(|span| span.state == State::Unwritten).map(|span| span.start..span.end));
        gaps.sort_unstable_by_key(|gap| (gap.end - gap.start, gap.start));
        gaps.truncate(wanted);
        gaps.sort_unstable_by_key(|gap| gap.start);
        let mut next = gaps.iter().map(|gap| gap.start).peekable();
        self.spans.retain(|span| span.state != State::Unwritten || next.next_if_eq(&span.start).is_none());
        Ok(gaps)
    }

    /// The bound that holds whatever the caller does.
    fn bound(&mut self) {
        if self.spans.len() > self.ceiling && self.squeeze(self.limit()).is_err() {
            self.exhausted();
        }
    }

    /// Merges the nearest claims until at most `limit` spans are left, and what is left over then whatever it is: only ever claims more.
    fn squeeze(&mut self, limit: usize) -> Result<(), NoMemory> {
        let chosen = self.nearest(self.spans.len().saturating_sub(limit), |pair| pair.len())?;
        self.merge(&chosen)?;
        if self.spans.len() > limit {
            // Too many never-written gaps, and a caller who does not compact: they are claimed as under `strict_unwritten`.
            let all = scratch(self.spans.len())?;
            let mut all: Vec<Range<usize>> = all;
            all.push(0..self.spans.len() - (limit - 1));
            self.merge(&all)?;
        }
        Ok(())
    }

    /// Runs of spans to merge, sorted and disjoint: the pairs of neighbouring claims with the fewest bytes between them, as many as it takes until
    /// what each of them is worth comes to `over`.
    fn nearest(&self, mut over: usize, worth: impl Fn(&Range<usize>) -> usize) -> Result<Vec<Range<usize>>, NoMemory> {
        struct Pair {
            gap: u64,
            hull: u64,
            spans: Range<usize>,
        }
        let mut pairs: Vec<Pair> = scratch(self.spans.len())?;
        let mut previous: Option<(usize, Span)> = None;
        for (index, span) in self.spans.iter().enumerate().filter(|(_, span)| span.state != State::Unwritten) {
            if let Some((before, left)) = previous {
                pairs.push(Pair { gap: span.start - left.end, hull: span.end - left.start, spans: before..index });
            }
            previous = Some((index, *span));
        }
        pairs.sort_unstable_by_key(|pair| (pair.gap, pair.hull, pair.spans.start));
        pairs.retain(|pair| {
            let needed = over > 0;
            over = over.saturating_sub(worth(&pair.spans));
            needed
        });
        pairs.sort_unstable_by_key(|pair| pair.spans.start);
        let mut runs: Vec<Range<usize>> = scratch(pairs.len())?;
        for Pair { spans, .. } in pairs {
            match runs.last_mut() {
                Some(run) if run.end == spans.start + 1 => run.end = spans.end + 1,
                _ => runs.push(spans.start..spans.end + 1),
            }
        }
        Ok(runs)
    }

    /// Each run of spans becomes its hull, claimed by the group of the failures in it.
    fn merge(&mut self, runs: &[Range<usize>]) -> Result<(), NoMemory> {
        for run in runs.iter().rev() {
            let spans = self.spans.get(run.clone()).unwrap_or_default();
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else { continue };
            let hull = first.start..last.end;
            let mut failures = self.failures(hull.clone());
            if failures.is_empty() {
                failures.push(Failure::never_written().clone());
            }
            let restores =
                failures.len() == 1 && spans.iter().all(|span| matches!(span.state, State::Claimed { restores: true, .. }));
            granted()?;
            let group = Failure::group(&failures);
            self.carried.reserve_for(&group)?;
            self.claim_whole(hull, &group, restores);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

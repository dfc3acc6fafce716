//! Sets of bytes, as the journal's walks need them. Where memory for an exact set cannot be had they become larger, never smaller.

use crate::room::{granted, room};
use crate::{Ids, NoMemory};
use smallvec::SmallVec;
use std::ops::Range;

/// Ranges of one allocation that [`Bytes::add_exactly`] keeps apart: a few tensors of 256 rows.
const MOST_EXACT: usize = 1024;

/// Bytes of one allocation: sorted, disjoint ranges that do not touch.
#[derive(Default)]
struct Ranges {
    ranges: SmallVec<[(u64, u64); 2]>,
}

impl Ranges {
    /// The ranges that overlap or touch.
    fn near(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.ranges.partition_point(|&(_, end)| end < range.start);
        let rest = self.ranges.get(first..).unwrap_or_default();
        first..first + rest.partition_point(|&(start, _)| start <= range.end)
    }

    fn add(&mut self, mut range: Range<u64>) {
        let mut near = self.near(&range);
        if near.is_empty() && room(&mut self.ranges, 1).is_err() {
            // The hull with a neighbour.
            near = near.start.saturating_sub(1)..(near.start.saturating_sub(1) + 1).min(self.ranges.len());
        }
        for &(start, end) in self.ranges.get(near.clone()).unwrap_or_default() {
            range = range.start.min(start)..range.end.max(end);
        }
        self.ranges.drain(near.clone());
        self.ranges.insert(near.start, (range.start, range.end));
    }

    fn contains(&self, range: &Range<u64>) -> bool {
        let first = self.ranges.partition_point(|&(_, end)| end < range.end);
        self.ranges.get(first).is_some_and(|&(start, _)| start <= range.start)
    }

    fn remove(&mut self, range: &Range<u64>) {
        let near = self.near(range);
        let touched = self.ranges.get(near.clone()).unwrap_or_default();
        let (Some(&first), Some(&last)) = (touched.first(), touched.last()) else { return };
        let left = (first.0, first.1.min(range.start));
        let right = (last.0.max(range.end), last.1);
        let rest: SmallVec<[(u64, u64); 2]> = [left, right].into_iter().filter(|(start, end)| start < end).collect();
        if rest.len() > near.len() && room(&mut self.ranges, 1).is_err() {
            return;
        }
        self.ranges.drain(near.clone());
        self.ranges.insert_from_slice(near.start, &rest);
    }

    fn intersects(&self, range: &Range<u64>) -> bool {
        let first = self.ranges.partition_point(|&(_, end)| end <= range.start);
        self.ranges.get(first).is_some_and(|&(start, _)| start < range.end)
    }
}

/// Bytes of any number of allocations.
#[derive(Default)]
pub(crate) struct Bytes {
    buffers: Ids<Ranges>,
}

impl Bytes {
    pub(crate) fn reserve(&mut self, buffers: usize) -> Result<(), NoMemory> {
        self.buffers.try_reserve(buffers).map_err(|_| NoMemory)
    }

    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
    }

    /// Of how many allocations there are any.
    #[cfg(test)]
    pub(crate) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    pub(crate) fn add(&mut self, buffer: u64, range: &Range<u64>) {
        if !range.is_empty() {
            self.buffers.entry(buffer).or_default().add(range.clone());
        }
    }

    /// As [`Self::add`], but nothing where there is no memory for exactly that, or so much is there already that it would take long.
    pub(crate) fn add_exactly(&mut self, buffer: u64, range: &Range<u64>) -> Result<(), NoMemory> {
        granted()?;
        self.buffers.try_reserve(1).map_err(|_| NoMemory)?;
        let ranges = self.buffers.entry(buffer).or_default();
        if ranges.ranges.len() >= MOST_EXACT {
            return Err(NoMemory);
        }
        room(&mut ranges.ranges, 1)?;
        ranges.add(range.clone());
        Ok(())
    }

    pub(crate) fn contains(&self, buffer: u64, range: &Range<u64>) -> bool {
        self.buffers.get(&buffer).is_some_and(|ranges| ranges.contains(range))
    }

    /// Takes out all of an allocation.
    pub(crate) fn forget(&mut self, buffer: u64) {
        self.buffers.remove(&buffer);
    }

    pub(crate) fn remove(&mut self, buffer: u64, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        if let Some(ranges) = self.buffers.get_mut(&buffer) {
            ranges.remove(range);
            if ranges.ranges.is_empty() {
                self.buffers.remove(&buffer);
            }
        }
    }

    /// Moves what lies in a range to another set.
    pub(crate) fn transfer(&mut self, buffer: u64, range: &Range<u64>, to: &mut Bytes) {
        let Some(ranges) = self.buffers.get(&buffer).filter(|_| !range.is_empty()) else { return };
        for &(start, end) in &ranges.ranges {
            to.add(buffer, &(start.max(range.start)..end.min(range.end)));
        }
        self.remove(buffer, range);
    }

    pub(crate) fn intersects(&self, buffer: u64, range: &Range<u64>) -> bool {
        !range.is_empty() && self.buffers.get(&buffer).is_some_and(|ranges| ranges.intersects(range))
    }

    /// Every range, by buffer and offset.
    pub(crate) fn into_sorted(self) -> Vec<(u64, Range<u64>)> {
        let of_buffer = |(buffer, ranges): (u64, Ranges)| ranges.ranges.into_iter().map(move |(start, end)| (buffer, start..end));
        let mut all: Vec<(u64, Range<u64>)> = self.buffers.into_iter().flat_map(of_buffer).collect();
        all.sort_unstable_by_key(|(buffer, range)| (*buffer, range.start));
        all
    }
}

//! Sets of bytes of one buffer: sorted ranges that neither overlap nor touch. Every operation takes the steps of a search, and one for each range that it joins or
//! finds, however many there are: a graph may have as many as it has nodes.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    all: BTreeMap<u64, u64>,
    /// What was added last, with what it joined: most nodes of a long graph use the same bytes again.
    last: Range<u64>,
}

impl Ranges {
    /// Adds a range.
    pub(crate) fn add(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = *range;
        if self.covers(range) {
            return;
        }
        // The one before, if it reaches here, and all that begin inside.
        let before = self.all.range(..start).next_back().filter(|&(_, &last)| last >= start).map(|(&first, _)| first);
        start = before.unwrap_or(start);
        while let Some((&first, &last)) = self.all.range(start..=end).next() {
            end = end.max(last);
            self.all.remove(&first);
        }
        self.all.insert(start, end);
        self.last = start..end;
    }

    /// Whether all of a range is in it.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        if self.last.start <= range.start && range.end <= self.last.end {
            return true;
        }
        self.all.range(..=range.start).next_back().is_some_and(|(_, &last)| last >= range.end)
    }

    /// Whether some byte of a range is in it.
    pub(crate) fn overlaps(&self, range: &Range<u64>) -> bool {
        !self.all.is_empty() && self.overlapping(range).next().is_some()
    }

    /// The members that share bytes with a range.
    fn overlapping<'a>(&'a self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'a> {
        let Range { start, end } = range.clone();
        let before = self.all.range(..start).next_back().filter(move |&(_, &last)| last > start && start < end);
        let inside = self.all.range(start..end.max(start));
        before.into_iter().chain(inside).map(|(&first, &last)| first..last)
    }

    /// The parts of a range that are not in the set, sorted. There may be as many as the set has ranges, so they are given one by one.
    pub(crate) fn missing<'a>(&'a self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'a> {
        let (mut at, end) = (range.start, range.end);
        // What is in front of each part, and what is behind the last.
        self.overlapping(range).chain(std::iter::once(end..end)).filter_map(move |part| {
            let gap = at..part.start.min(end);
            at = at.max(part.end);
            (!gap.is_empty()).then_some(gap)
        })
    }

    /// All of it, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.all.iter().map(|(&start, &end)| start..end)
    }

    /// How many bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_ranges_holds_what_a_set_of_bytes_holds() {
        let (mut ranges, mut bytes, mut state) = (Ranges::default(), [false; 64], 1_u32);
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u64::from((state >> 8) % below)
        };
        for round in 0..5000 {
            if round % 50 == 0 {
                (ranges, bytes) = (Ranges::default(), [false; 64]);
            }
            let start = random(64);
            let range = start..start + random(65 - start as u32);
            let missing: Vec<u64> = ranges.missing(&range).flatten().collect();
            let expected: Vec<u64> = range.clone().filter(|at| !bytes[*at as usize]).collect();
            assert_eq!(missing, expected);
            // Short ones, so that there are gaps for a while.
            let range = start..range.end.min(start + 4);
            ranges.add(&range);
            range.for_each(|at| bytes[at as usize] = true);
            let held: Vec<u64> = ranges.iter().flatten().collect();
            let expected: Vec<u64> = (0..64).filter(|at| bytes[*at as usize]).collect();
            assert_eq!((held.len() as u64, held), (ranges.bytes(), expected));
            let all: Vec<_> = ranges.iter().collect();
            assert!(all.windows(2).all(|pair| pair[0].end < pair[1].start), "{all:?}");
        }
    }
}

//! Sets of bytes of one buffer: sorted ranges that neither overlap nor touch. Every operation takes the steps of a search, and one for each range that it joins or
//! finds, however many there are: a graph may have as many as it has nodes.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range.
    pub(crate) fn add(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = *range;
        // The one before, if it reaches here, and all that begin inside.
        let before = self.0.range(..start).next_back().filter(|&(_, &last)| last >= start).map(|(&first, _)| first);
        start = before.unwrap_or(start);
        while let Some((&first, &last)) = self.0.range(start..=end).next() {
            end = end.max(last);
            self.0.remove(&first);
        }
        self.0.insert(start, end);
    }

    /// Takes a range away.
    pub(crate) fn remove(&mut self, range: &Range<u64>) {
        let parts: Vec<Range<u64>> = self.overlapping(range).collect();
        for part in parts {
            self.0.remove(&part.start);
            if part.start < range.start {
                self.0.insert(part.start, range.start);
            }
            if part.end > range.end {
                self.0.insert(range.end, part.end);
            }
        }
    }

    /// The members that share bytes with a range.
    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let Range { start, end } = range.clone();
        let before = self.0.range(..start).next_back().filter(move |&(_, &last)| last > start && start < end);
        let inside = self.0.range(start..end.max(start));
        before.into_iter().chain(inside).map(|(&first, &last)| first..last)
    }

    /// The parts of a range that are not in the set.
    pub(crate) fn missing(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (mut at, mut missing) = (range.start, Vec::new());
        for part in self.overlapping(range) {
            if part.start > at {
                missing.push(at..part.start);
            }
            at = at.max(part.end);
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// All of it, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|(&start, &end)| start..end)
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
        for _ in 0..5000 {
            let start = random(64);
            let range = start..start + random(65 - start as u32);
            let missing: Vec<u64> = ranges.missing(&range).into_iter().flatten().collect();
            let expected: Vec<u64> = range.clone().filter(|at| !bytes[*at as usize]).collect();
            assert_eq!(missing, expected);
            let add = random(3) > 0;
            if add {
                ranges.add(&range)
            } else {
                ranges.remove(&range)
            }
            range.for_each(|at| bytes[at as usize] = add);
            let held: Vec<u64> = ranges.iter().flatten().collect();
            let expected: Vec<u64> = (0..64).filter(|at| bytes[*at as usize]).collect();
            assert_eq!((held.len() as u64, held), (ranges.bytes(), expected));
            let all: Vec<_> = ranges.iter().collect();
            assert!(all.windows(2).all(|pair| pair[0].end < pair[1].start), "{all:?}");
        }
    }
}

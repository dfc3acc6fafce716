//! An index of free blocks by size: rows of powers of two, each cut into sixteen bins, with a bit for every bin that holds something.
//!
//! Sizes are in granules. Finding the next bin in use takes two bit scans. The lists themselves live in the slices ([`crate::pool`]).

/// Bins in a row: a bin spans at most a sixteenth of its sizes.
const PER_ROW: usize = 16;
/// A row for the sizes below 16, one for each power of two above.
const ROWS: usize = 61;

/// No slice, no page.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) struct Bins {
    rows: u64,
    used: [u16; ROWS],
    heads: [u32; ROWS * PER_ROW],
}

/// The bin that holds blocks of `granules`, at least 1.
pub(crate) fn bin_of(granules: u64) -> usize {
    if granules < PER_ROW as u64 {
        return granules as usize;
    }
    let octave = 63 - granules.leading_zeros() as usize;
    let part = (granules >> (octave - 4)) as usize & (PER_ROW - 1);
    (octave - 3) * PER_ROW + part
}

impl Bins {
    pub(crate) fn new() -> Self {
        Self { rows: 0, used: [0; ROWS], heads: [NONE; ROWS * PER_ROW] }
    }

    pub(crate) fn head(&self, bin: usize) -> u32 {
        self.heads[bin]
    }

    /// Makes `slice` the first of a bin; `NONE` empties the bin.
    pub(crate) fn set_head(&mut self, bin: usize, slice: u32) {
        let (row, bit) = (bin / PER_ROW, 1u16 << (bin % PER_ROW));
        self.heads[bin] = slice;
        if slice == NONE {
            self.used[row] &= !bit;
        } else {
            self.used[row] |= bit;
        }
        let any = u64::from(self.used[row] != 0);
        self.rows = (self.rows & !(1 << row)) | (any << row);
    }

    /// The first bin from `bin` on that holds something.
    pub(crate) fn from(&self, bin: usize) -> Option<usize> {
        let (row, part) = (bin / PER_ROW, bin % PER_ROW);
        if row >= ROWS {
            return None;
        }
        let here = self.used[row] & (u16::MAX << part);
        if here != 0 {
            return Some(row * PER_ROW + here.trailing_zeros() as usize);
        }
        let above = self.rows & u64::MAX.checked_shl(row as u32 + 1).unwrap_or(0);
        let row = (above != 0).then(|| above.trailing_zeros() as usize)?;
        Some(row * PER_ROW + self.used[row].trailing_zeros() as usize)
    }

    /// The last bin that holds something.
    pub(crate) fn last(&self) -> Option<usize> {
        let row = (self.rows != 0).then(|| 63 - self.rows.leading_zeros() as usize)?;
        Some(row * PER_ROW + 15 - self.used[row].leading_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_with_sizes_and_span_at_most_a_sixteenth() {
        let mut last = (0, 1);
        for granules in
            (1..5000).chain((13..64).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1])).chain([u64::MAX])
        {
            let bin = bin_of(granules);
            assert!(bin < ROWS * PER_ROW, "{granules}");
            assert!(bin >= last.0, "{granules}");
            if bin == last.0 {
                assert!(granules - last.1 <= last.1 / 16, "{granules} and {} in one bin", last.1);
            } else {
                last = (bin, granules);
            }
        }
    }

    #[test]
    fn the_next_and_the_last_bin_in_use_are_found_from_anywhere() {
        let mut bins = Bins::new();
        assert_eq!((bins.from(0), bins.last()), (None, None));
        let all = [1, 15, 16, 47, 48, 500, ROWS * PER_ROW - 1];
        for bin in all {
            bins.set_head(bin, 7);
        }
        for start in 0..ROWS * PER_ROW {
            assert_eq!(bins.from(start), all.iter().copied().find(|bin| *bin >= start), "{start}");
        }
        assert_eq!(bins.from(ROWS * PER_ROW), None);
        for bin in all.iter().rev() {
            assert_eq!(bins.last(), Some(*bin));
            bins.set_head(*bin, NONE);
        }
        assert_eq!((bins.from(0), bins.last()), (None, None));
    }
}

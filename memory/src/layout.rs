//! Layouts: which pools there are, and which sizes go to which (M4).

use std::fmt;

use crate::report::PoolReport;

/// How a pool uses its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A page holds many allocations.
    Sliced,
    /// A page holds one allocation, and the next one of about its size when that is gone.
    Exclusive,
}

/// One pool of a layout. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// How it uses its pages.
    pub kind: Kind,
    /// Larger allocations go to a later pool. `u64::MAX`: takes all.
    pub largest: u64,
    /// Size of its first page. 0 in an exclusive pool, whose pages are as large as what they hold.
    pub page: u64,
    /// Pages grow with the pool up to this. The same as `page`: they do not grow.
    pub page_most: u64,
    /// The most bytes in pages. `u64::MAX`: no cap.
    pub cap: u64,
}

impl PoolSpec {
    /// A pool with pages of one size.
    pub fn sliced(largest: u64, page: u64) -> Self {
        Self { kind: Kind::Sliced, largest, page, page_most: page, cap: u64::MAX }
    }

    /// With pages that grow with the pool.
    fn growing(self, page_most: u64) -> Self {
        Self { page_most: page_most.max(self.largest).max(self.page), ..self }
    }

    /// The sliced pool for sizes up to a mebibyte, or less where the page rule says so.
    pub(crate) fn medium(exclusive_above: u64) -> Self {
        let largest = exclusive_above.clamp(128 << 10, 1 << 20).next_power_of_two();
        Self::sliced(largest, largest).growing(32 << 20)
    }

    /// A pool with a page for each allocation.
    pub fn exclusive(largest: u64) -> Self {
        Self { kind: Kind::Exclusive, largest, page: 0, page_most: 0, cap: u64::MAX }
    }
}

/// The pools of a stream in routing order: an allocation goes to the first that takes its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In routing order.
    pub pools: Vec<PoolSpec>,
}

/// Why a layout cannot be used. Pools are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// It has no pool.
    Empty,
    /// More pools than [`Layout::MOST_POOLS`].
    TooMany(usize),
    /// Takes no size at all.
    TakesNothing(usize),
    /// Takes no size that an earlier pool does not take.
    Unreachable(usize),
    /// Sizes that fill no page: zero, or no multiple of the alignment.
    PageSize(usize, u64, u64),
    /// Pages are to grow to less than they start with.
    PageGrowth(usize),
    /// The largest allocation does not fit a page.
    LargerThanPage(usize, u64, u64),
    /// An exclusive pool with a page size.
    ExclusivePage(usize),
    /// A cap below one page.
    Cap(usize, u64, u64),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => write!(f, "the layout has no pool"),
            Self::TooMany(count) => write!(f, "the layout has {count} pools, at most {} are possible", Layout::MOST_POOLS),
            Self::TakesNothing(pool) => write!(f, "pool {pool} takes allocations of at most 0 bytes, so none"),
            Self::Unreachable(pool) => write!(f, "pool {pool} takes no size that pool {} does not take before it", pool - 1),
            Self::PageSize(pool, page, alignment) => {
                write!(
                    f,
                    "pool {pool} has pages of {page} bytes; pages are multiples of the alignment of {alignment}, and not empty"
                )
            }
            Self::PageGrowth(pool) => write!(f, "the pages of pool {pool} would grow to less than they start with"),
            Self::LargerThanPage(pool, largest, page) => {
                write!(f, "pool {pool} takes allocations of {largest} bytes, which its pages of {page} cannot hold")
            }
            Self::ExclusivePage(pool) => {
                write!(f, "pool {pool} is exclusive: its pages are as large as what they hold, so `page` is 0")
            }
            Self::Cap(pool, cap, least) => {
                write!(f, "pool {pool} is capped at {cap} bytes, which is below the {least} that it needs")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// More pools make no sense, and every pool has some kilobytes of index.
    pub const MOST_POOLS: usize = 64;
    /// The standard layout cuts no larger slices.
    pub const LARGEST_SLICE: u64 = 64 << 20;

    /// What a stream starts with: sliced pools whose pages grow, each for sizes of its own so that long-lived small slices do not break up large
    /// runs, and exclusive pages above `exclusive_above` bytes.
    ///
    /// `exclusive_above` is the device's page rule: where usage is tracked per page, large allocations must have pages of their own.
    pub fn standard(exclusive_above: u64) -> Self {
        let medium = PoolSpec::medium(exclusive_above);
        let mut pools = vec![PoolSpec::sliced(16 << 10, 64 << 10).growing(1 << 20), medium];
        let largest = exclusive_above.min(Self::LARGEST_SLICE).next_power_of_two();
        if largest > medium.largest {
            pools.push(PoolSpec::sliced(largest, 4 << 20).growing(64 << 20));
        }
        pools.push(PoolSpec::exclusive(u64::MAX));
        Self { pools }
    }

    /// This layout with every pool capped at what a dry run of the same work took (M5). `reports` are the main pools' in routing order.
    pub fn capped(&self, reports: &[PoolReport]) -> Self {
        let capped = self.pools.iter().zip(reports).map(|(spec, report)| {
            // A pool that the work did not use keeps what a cap may not go below.
            let least = spec.page.max(1);
            PoolSpec { cap: report.peak_reserved.max(least), ..*spec }
        });
        Self { pools: capped.collect() }
    }

    /// Whether pools can be made of it, for a device whose slices are aligned to `alignment`.
    pub fn check(&self, alignment: u64) -> Result<(), LayoutError> {
        if self.pools.is_empty() {
            return Err(LayoutError::Empty);
        }
        if self.pools.len() > Self::MOST_POOLS {
            return Err(LayoutError::TooMany(self.pools.len()));
        }
        let mut before = 0;
        for (index, spec) in self.pools.iter().enumerate() {
            spec.check(index, alignment)?;
            if spec.largest <= before {
                return Err(LayoutError::Unreachable(index));
            }
            before = spec.largest;
        }
        Ok(())
    }
}

impl PoolSpec {
    fn check(&self, index: usize, alignment: u64) -> Result<(), LayoutError> {
        if self.largest == 0 {
            return Err(LayoutError::TakesNothing(index));
        }
        if self.kind == Kind::Exclusive {
            if self.page != 0 || self.page_most != 0 {
                return Err(LayoutError::ExclusivePage(index));
            }
            return if self.cap == 0 { Err(LayoutError::Cap(index, 0, 1)) } else { Ok(()) };
        }
        for page in [self.page, self.page_most] {
            if page == 0 || !page.is_multiple_of(alignment) {
                return Err(LayoutError::PageSize(index, page, alignment));
            }
        }
        if self.page_most < self.page {
            return Err(LayoutError::PageGrowth(index));
        }
        if self.largest > self.page_most {
            return Err(LayoutError::LargerThanPage(index, self.largest, self.page_most));
        }
        // What is larger than the cap is too large for ever, and told so by the allocation.
        if self.cap < self.page {
            return Err(LayoutError::Cap(index, self.cap, self.page));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pools: &[PoolSpec]) -> Result<(), LayoutError> {
        Layout { pools: pools.to_vec() }.check(256)
    }

    #[test]
    fn m4_the_standard_layouts_are_valid_whatever_the_page_rule() {
        for above in [0, 1, 128 << 10, 1 << 20, (1 << 20) + 1, 1 << 40, u64::MAX] {
            Layout::standard(above).check(256).unwrap();
        }
    }

    #[test]
    fn m4_an_invalid_layout_is_refused_with_the_reason() {
        let good = PoolSpec::sliced(1024, 4096);
        check(&[good, PoolSpec::exclusive(u64::MAX)]).unwrap();
        let bad = [
            (vec![], LayoutError::Empty),
            (vec![good; 65], LayoutError::TooMany(65)),
            (vec![PoolSpec { largest: 0, ..good }], LayoutError::TakesNothing(0)),
            (vec![PoolSpec::exclusive(0)], LayoutError::TakesNothing(0)),
            (vec![good, good], LayoutError::Unreachable(1)),
            (vec![good, PoolSpec::exclusive(1000)], LayoutError::Unreachable(1)),
            (vec![PoolSpec::sliced(1024, 0)], LayoutError::PageSize(0, 0, 256)),
            (vec![PoolSpec::sliced(1024, 4097)], LayoutError::PageSize(0, 4097, 256)),
            (vec![PoolSpec::sliced(1024, u64::MAX)], LayoutError::PageSize(0, u64::MAX, 256)),
            (vec![PoolSpec { page_most: 2048, ..good }], LayoutError::PageGrowth(0)),
            (vec![PoolSpec::sliced(4097, 4096)], LayoutError::LargerThanPage(0, 4097, 4096)),
            (vec![PoolSpec { page: 256, ..PoolSpec::exclusive(9) }], LayoutError::ExclusivePage(0)),
            (vec![PoolSpec { cap: 4095, ..good }], LayoutError::Cap(0, 4095, 4096)),
            (vec![PoolSpec { cap: 0, ..PoolSpec::exclusive(9) }], LayoutError::Cap(0, 0, 1)),
        ];
        for (pools, error) in bad {
            assert_eq!(check(&pools), Err(error), "{pools:?}");
            assert!(error.to_string().len() > 20, "{error}");
        }
    }
}

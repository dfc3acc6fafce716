//! What is told of a pool (M4).

use crate::layout::Kind;
use crate::pool::Pool;

/// One pool. Bytes, as its pages are cut: an allocation counts with what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReport {
    /// How it uses its pages.
    pub kind: Kind,
    /// Whether it is for long-lived allocations.
    pub persistent: bool,
    /// The largest allocation that goes here.
    pub largest: u64,
    /// The size that its next page would have at least; 0 in an exclusive pool.
    pub page_size: u64,
    /// Pages.
    pub pages: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Bytes in them.
    pub in_use: u64,
    /// Bytes released that are still in use on other queues.
    pub pending: u64,
    /// Bytes in pages.
    pub reserved: u64,
    /// The largest run of free bytes.
    pub largest_free: u64,
    /// The most bytes in use and pending at once.
    pub peak_in_use: u64,
    /// The most bytes in pages at once.
    pub peak_reserved: u64,
    /// The most pages at once.
    pub peak_pages: u64,
    /// The most bytes that it may have in pages.
    pub cap: u64,
}

impl PoolReport {
    pub(crate) fn of(pool: &Pool) -> Self {
        let counters = pool.counters;
        Self {
            kind: pool.spec.kind,
            persistent: pool.persistent,
            largest: pool.spec.largest,
            page_size: if pool.spec.kind == Kind::Exclusive { 0 } else { pool.page_for(0) },
            pages: counters.pages,
            allocations: counters.slices,
            in_use: counters.in_use,
            pending: counters.pending,
            reserved: counters.reserved,
            largest_free: pool.largest_free(),
            peak_in_use: counters.peak_in_use,
            peak_reserved: counters.peak_reserved,
            peak_pages: counters.peak_pages,
            cap: pool.spec.cap,
        }
    }
}

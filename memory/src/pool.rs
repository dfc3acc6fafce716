//! One pool: its pages, their slices, and the index of what is free.
//!
//! A page is a chain of slices from its start to its end; two neighbours are never both free. Free slices are in the lists of [`Bins`], pages with
//! nothing live are in the list of idle pages, oldest first. All links are indices into two tables, which only grow, and
//! only in [`Pool::reserve`] and [`Pool::add_page`]: nothing else in here needs memory.

use crate::bins::{Bins, NONE, bin_of};
use crate::layout::{Kind, PoolSpec};

/// Free slices of the first bin that are looked at for the best fit: each may be a miss of the caches.
const SCAN: usize = 2;
/// An exclusive page serves sizes down to eight ninths of its own.
const EXCLUSIVE_WASTE: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The entry is not in use.
    Vacant,
    Free,
    Live,
    /// Released, and still used by somebody else's queue.
    Pending,
    /// Free, but kept out of the index for a while.
    HeldOut,
}

/// A range of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The last position of the pool's own queue at which its bytes were used.
    pub(crate) after: u64,
    pub(crate) page: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    /// Links of the list of its bin; of a vacant entry, `next` is the next vacant one.
    back: u32,
    next: u32,
    pub(crate) state: State,
    /// Power of two that its offset was asked to be a multiple of.
    pub(crate) alignment: u8,
}

/// A page of a driver's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) memory: u64,
    /// 0 when the entry is not in use.
    pub(crate) size: u64,
    pub(crate) first: u32,
    /// Slices that are live or pending.
    pub(crate) live: u32,
    pub(crate) in_use: u64,
    back: u32,
    next: u32,
}

/// What is counted of a pool, in bytes and pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) pages: u64,
    pub(crate) reserved: u64,
    pub(crate) slices: u64,
    pub(crate) in_use: u64,
    pub(crate) pending: u64,
    pub(crate) idle: u64,
    pub(crate) peak_in_use: u64,
    pub(crate) peak_reserved: u64,
    pub(crate) peak_pages: u64,
}

pub(crate) struct Pool {
    pub(crate) spec: PoolSpec,
    pub(crate) persistent: bool,
    /// Slices start and end at multiples of it.
    pub(crate) granule: u64,
    pub(crate) slices: Vec<Slice>,
    vacant_slices: u32,
    vacant_count: usize,
    pub(crate) pages: Vec<Page>,
    vacant_pages: u32,
    bins: Bins,
    pub(crate) idle_first: u32,
    idle_last: u32,
    pub(crate) counters: Counters,
}

/// There is no host memory for the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoHostMemory;

impl Pool {
    pub(crate) fn new(spec: PoolSpec, persistent: bool, granule: u64) -> Self {
        Self {
            spec,
            persistent,
            granule,
            slices: Vec::new(),
            vacant_slices: NONE,
            vacant_count: 0,
            pages: Vec::new(),
            vacant_pages: NONE,
            bins: Bins::new(),
            idle_first: NONE,
            idle_last: NONE,
            counters: Counters::default(),
        }
    }

    /// Room for `more` slices.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), NoHostMemory> {
        let missing = more.saturating_sub(self.vacant_count);
        if self.slices.capacity() - self.slices.len() >= missing {
            return Ok(());
        }
        // The last index is no slice.
        if self.slices.len() + missing >= NONE as usize {
            return Err(NoHostMemory);
        }
        self.slices.try_reserve(missing).map_err(|_| NoHostMemory)
    }

    /// A live slice of `size` bytes, a multiple of the granule, at a multiple of `alignment`, a power of two. Room for two slices is reserved.
    pub(crate) fn place(&mut self, size: u64, alignment: u64) -> Option<u32> {
        let index = self.find(size, alignment)?;
        self.take(index);
        Some(self.carve(index, size, alignment))
    }

    fn find(&self, size: u64, alignment: u64) -> Option<u32> {
        let needed = self.needed(size, alignment)?;
        let first = bin_of(needed / self.granule);
        let last = match self.spec.kind {
            Kind::Sliced => usize::MAX,
            Kind::Exclusive => bin_of(needed.saturating_add(needed / EXCLUSIVE_WASTE) / self.granule),
        };
        let mut from = first;
        while let Some(bin) = self.bins.from(from).filter(|bin| *bin <= last) {
            // All of a later bin are large enough.
            let looks = if bin == first { SCAN } else { 1 };
            if let Some(best) = self.best_in(bin, needed, looks) {
                return Some(best);
            }
            from = bin + 1;
        }
        None
    }

    /// Free bytes that are certain to hold `size` at a multiple of `alignment`.
    pub(crate) fn needed(&self, size: u64, alignment: u64) -> Option<u64> {
        match self.spec.kind {
            // Wherever a slice starts, it starts at a granule.
            Kind::Sliced => size.checked_add(alignment.saturating_sub(self.granule)),
            Kind::Exclusive => Some(size),
        }
    }

    fn best_in(&self, bin: usize, needed: u64, looks: usize) -> Option<u32> {
        let mut at = self.bins.head(bin);
        let mut best: Option<(u64, u32)> = None;
        for _ in 0..looks {
            let Some(slice) = self.slices.get(at as usize) else { break };
            let fits =
                slice.size >= needed && (self.spec.kind == Kind::Sliced || slice.size - needed <= needed / EXCLUSIVE_WASTE);
            if fits && best.is_none_or(|(size, _)| slice.size < size) {
                best = Some((slice.size, at));
            }
            if best.is_some_and(|(size, _)| size == needed) {
                break;
            }
            at = slice.next;
        }
        best.map(|(_, index)| index)
    }

    /// Cuts the live slice out of a free one that was taken from its bin.
    fn carve(&mut self, index: u32, size: u64, alignment: u64) -> u32 {
        let mut index = index;
        let offset = self.slices[index as usize].offset;
        // The find left room for it.
        let lead = offset.next_multiple_of(alignment) - offset;
        if lead > 0 {
            let rest = self.split(index, lead);
            self.give(index);
            index = rest;
        }
        if self.spec.kind == Kind::Sliced && self.slices[index as usize].size > size {
            let rest = self.split(index, size);
            self.give(rest);
        }
        let slice = &mut self.slices[index as usize];
        (slice.state, slice.alignment) = (State::Live, alignment.trailing_zeros() as u8);
        let (page, size) = (slice.page, slice.size);
        self.page_in_use(page, size);
        self.counters.slices += 1;
        self.counters.in_use += size;
        self.counters.peak_in_use = self.counters.peak_in_use.max(self.counters.in_use + self.counters.pending);
        index
    }

    fn page_in_use(&mut self, page: u32, size: u64) {
        if self.pages[page as usize].live == 0 {
            self.leave_idle(page);
        }
        let page = &mut self.pages[page as usize];
        page.live += 1;
        page.in_use += size;
    }

    /// The handle is gone, but a use elsewhere goes on.
    pub(crate) fn suspend(&mut self, index: u32, after: u64) {
        let slice = &mut self.slices[index as usize];
        slice.state = State::Pending;
        slice.after = slice.after.max(after);
        self.counters.slices -= 1;
        self.counters.in_use -= slice.size;
        self.counters.pending += slice.size;
    }

    /// A pending slice is live again.
    pub(crate) fn resume(&mut self, index: u32) {
        let slice = &mut self.slices[index as usize];
        slice.state = State::Live;
        self.counters.slices += 1;
        self.counters.in_use += slice.size;
        self.counters.pending -= slice.size;
    }

    /// Whether an allocation of `size` bytes, a multiple of the granule, could have been given this slice.
    pub(crate) fn could_serve(&self, index: u32, size: u64) -> bool {
        let spare = self.slices[index as usize].size.checked_sub(size);
        spare.is_some_and(|spare| spare == 0 || self.spec.kind == Kind::Exclusive && spare <= size / EXCLUSIVE_WASTE)
    }

    /// Puts a live or pending slice back into the index, merged with free neighbours.
    pub(crate) fn release(&mut self, index: u32, after: u64) {
        let slice = &mut self.slices[index as usize];
        let (page, size, was) = (slice.page, slice.size, slice.state);
        slice.after = slice.after.max(after);
        slice.state = State::HeldOut;
        if was == State::Pending {
            self.counters.pending -= size;
        } else {
            self.counters.slices -= 1;
            self.counters.in_use -= size;
        }
        let merged = self.merge(index);
        self.give(merged);
        let entry = &mut self.pages[page as usize];
        entry.live -= 1;
        entry.in_use -= size;
        if entry.live == 0 {
            self.join_idle(page);
        }
    }

    fn merge(&mut self, index: u32) -> u32 {
        let Slice { left, right, .. } = self.slices[index as usize];
        if self.is_free(right) {
            self.take(right);
            self.absorb(index, right);
        }
        if self.is_free(left) {
            self.take(left);
            self.absorb(left, index);
            return left;
        }
        index
    }

    fn is_free(&self, index: u32) -> bool {
        self.slices.get(index as usize).is_some_and(|slice| slice.state == State::Free)
    }

    /// Joins `right` to its neighbour `left`. Both are out of the index.
    fn absorb(&mut self, left: u32, right: u32) {
        let gone = self.slices[right as usize];
        let kept = &mut self.slices[left as usize];
        kept.size += gone.size;
        kept.after = kept.after.max(gone.after);
        kept.right = gone.right;
        if let Some(next) = self.slices.get_mut(gone.right as usize) {
            next.left = left;
        }
        self.vacate(right);
    }

    /// Cuts a slice that is out of the index at `size`; the new one is behind it.
    fn split(&mut self, index: u32, size: u64) -> u32 {
        let whole = self.slices[index as usize];
        let rest = Slice { offset: whole.offset + size, size: whole.size - size, left: index, ..whole };
        let new = self.new_slice(rest);
        self.slices[index as usize].size = size;
        self.slices[index as usize].right = new;
        if let Some(next) = self.slices.get_mut(whole.right as usize) {
            next.left = new;
        }
        new
    }

    fn new_slice(&mut self, slice: Slice) -> u32 {
        let index = self.vacant_slices;
        if let Some(vacant) = self.slices.get_mut(index as usize) {
            self.vacant_slices = vacant.next;
            self.vacant_count -= 1;
            *vacant = slice;
            return index;
        }
        self.slices.push(slice);
        (self.slices.len() - 1) as u32
    }

    fn vacate(&mut self, index: u32) {
        let slice = &mut self.slices[index as usize];
        (slice.state, slice.next) = (State::Vacant, self.vacant_slices);
        self.vacant_slices = index;
        self.vacant_count += 1;
    }

    /// Into the list of its bin.
    pub(crate) fn give(&mut self, index: u32) {
        let bin = bin_of(self.slices[index as usize].size / self.granule);
        let head = self.bins.head(bin);
        let slice = &mut self.slices[index as usize];
        (slice.state, slice.back, slice.next) = (State::Free, NONE, head);
        if let Some(next) = self.slices.get_mut(head as usize) {
            next.back = index;
        }
        self.bins.set_head(bin, index);
    }

    /// Out of the list of its bin.
    pub(crate) fn take(&mut self, index: u32) {
        let slice = &mut self.slices[index as usize];
        slice.state = State::HeldOut;
        let (back, next, size) = (slice.back, slice.next, slice.size);
        if let Some(after) = self.slices.get_mut(next as usize) {
            after.back = back;
        }
        match self.slices.get_mut(back as usize) {
            Some(before) => before.next = next,
            None => self.bins.set_head(bin_of(size / self.granule), next),
        }
    }

    fn join_idle(&mut self, index: u32) {
        let last = self.idle_last;
        let page = &mut self.pages[index as usize];
        (page.back, page.next) = (last, NONE);
        self.counters.idle += page.size;
        match self.pages.get_mut(last as usize) {
            Some(before) => before.next = index,
            None => self.idle_first = index,
        }
        self.idle_last = index;
    }

    fn leave_idle(&mut self, index: u32) {
        let Page { back, next, size, .. } = self.pages[index as usize];
        self.counters.idle -= size;
        match self.pages.get_mut(back as usize) {
            Some(before) => before.next = next,
            None => self.idle_first = next,
        }
        match self.pages.get_mut(next as usize) {
            Some(after) => after.back = back,
            None => self.idle_last = back,
        }
    }

    /// The idle page behind another in the list.
    pub(crate) fn idle_after(&self, page: u32) -> u32 {
        self.pages.get(page as usize).map_or(NONE, |page| page.next)
    }

    /// The last use of an idle page on the pool's own queue.
    pub(crate) fn idle_used(&self, page: u32) -> u64 {
        self.pages.get(page as usize).and_then(|page| self.slices.get(page.first as usize)).map_or(0, |slice| slice.after)
    }

    /// Takes over a page of `size` bytes, a multiple of the granule. It is idle.
    pub(crate) fn add_page(&mut self, memory: u64, size: u64) -> Result<(), NoHostMemory> {
        self.reserve(3)?;
        self.pages.try_reserve(1).map_err(|_| NoHostMemory)?;
        let new = Page { memory, size, first: NONE, live: 0, in_use: 0, back: NONE, next: NONE };
        let index = match self.pages.get_mut(self.vacant_pages as usize) {
            Some(vacant) => {
                let index = self.vacant_pages;
                self.vacant_pages = vacant.next;
                *vacant = new;
                index
            }
            None => {
                self.pages.push(new);
                (self.pages.len() - 1) as u32
            }
        };
        let whole = Slice {
            offset: 0,
            size,
            after: 0,
            page: index,
            left: NONE,
            right: NONE,
            back: NONE,
            next: NONE,
            state: State::HeldOut,
            alignment: 0,
        };
        let first = self.new_slice(whole);
        self.pages[index as usize].first = first;
        self.give(first);
        self.join_idle(index);
        let counters = &mut self.counters;
        counters.pages += 1;
        counters.reserved += size;
        counters.peak_pages = counters.peak_pages.max(counters.pages);
        counters.peak_reserved = counters.peak_reserved.max(counters.reserved);
        Ok(())
    }

    /// Lets go of an idle page: its memory and size.
    pub(crate) fn remove_page(&mut self, index: u32) -> (u64, u64) {
        self.leave_idle(index);
        let Page { memory, size, first, .. } = self.pages[index as usize];
        self.take(first);
        self.vacate(first);
        self.counters.pages -= 1;
        self.counters.reserved -= size;
        let page = &mut self.pages[index as usize];
        (page.size, page.next) = (0, self.vacant_pages);
        self.vacant_pages = index;
        (memory, size)
    }

    /// How large a new page for `size` bytes would be, before any cap.
    pub(crate) fn page_for(&self, size: u64) -> u64 {
        if self.spec.kind == Kind::Exclusive {
            return size;
        }
        // A new page is a thirty-second of the pool, so what is unused of the newest one stays small beside the rest.
        let grown = (self.counters.reserved / 32).checked_next_power_of_two().unwrap_or(u64::MAX);
        let page = grown.clamp(self.spec.page, self.spec.page_most);
        // The largest size is at most the largest page.
        page.max(size)
    }

    /// The largest free slice in bytes. Looks at all free slices of about this size.
    pub(crate) fn largest_free(&self) -> u64 {
        let mut at = self.bins.last().map_or(NONE, |bin| self.bins.head(bin));
        let mut largest = 0;
        while let Some(slice) = self.slices.get(at as usize) {
            largest = largest.max(slice.size);
            at = slice.next;
        }
        largest
    }

    /// Free bytes in its pages.
    pub(crate) fn free(&self) -> u64 {
        self.counters.reserved - self.counters.in_use - self.counters.pending
    }
}

#[cfg(test)]
impl Pool {
    pub(crate) fn head(&self, bin: usize) -> u32 {
        self.bins.head(bin)
    }

    pub(crate) fn after_in_bin(&self, index: u32) -> u32 {
        self.slices[index as usize].next
    }
}

//! The pools beside a plain model: a map of ranges. Over a million random operations, looked at after each.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::bins::{NONE, bin_of};
use crate::layout::{Kind, Layout, PoolSpec};
use crate::pool::{Pool, State};
use crate::pools::{Answer, Mode, Placement, Pools, Progress, Settings};
use crate::refusal::Reason;

pub(crate) const SETTINGS: Settings = Settings { granule: 256, page_limit: 1 << 40, exclusive_above: 1 << 20, idle_cap: 4 << 20 };

/// Two clocks: of the own queue, and of another.
#[derive(Default)]
pub(crate) struct Clocks {
    pub(crate) own: Cell<u64>,
    pub(crate) other: Cell<u64>,
}

impl Progress<u64> for Clocks {
    fn is_over(&self, uses: &u64) -> bool {
        *uses <= self.other.get()
    }

    fn is_past(&self, position: u64) -> bool {
        position <= self.own.get()
    }
}

/// A generator of random numbers: splitmix.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Small numbers as likely as large ones.
    pub(crate) fn size(&mut self, most_bits: u64) -> u64 {
        let bits = self.below(most_bits) + 1;
        self.below(1 << bits) + 1
    }
}

struct Used {
    offset: u64,
    end: u64,
    memory: u64,
    until: u64,
}

struct World {
    pools: Pools<u64>,
    clocks: Clocks,
    random: Random,
    live: Vec<Placement>,
    /// Live ranges by page and offset: their ends.
    ranges: BTreeMap<(u64, u64), u64>,
    pages: HashMap<u64, u64>,
    next_page: u64,
    in_use: u64,
    reserved: u64,
    peak_reserved: u64,
    /// Released, by when the other queue is done with them; and by when the own queue is.
    elsewhere: Vec<Used>,
    here: Vec<Used>,
}

impl World {
    fn new(layout: Layout, seed: u64) -> Self {
        Self {
            pools: Pools::new(layout, SETTINGS).unwrap(),
            clocks: Clocks::default(),
            random: Random(seed),
            live: Vec::new(),
            ranges: BTreeMap::new(),
            pages: HashMap::new(),
            next_page: 1,
            in_use: 0,
            reserved: 0,
            peak_reserved: 0,
            elsewhere: Vec::new(),
            here: Vec::new(),
        }
    }

    /// In the pages that there are, as the caller does first who keeps buffers that have ended. Without a new mark where the pools said so.
    fn allocate_in_pages(&mut self, size: u64, alignment: u64, mode: Mode) -> Option<Placement> {
        let marks = |pools: &Pools<u64>| pools.pools.iter().map(|pool| pool.counters.peak_in_use).collect::<Vec<_>>();
        let (before, below) = (marks(&self.pools), self.pools.is_below_peak(size, mode));
        let placed = self.pools.allocate_in_pages(size, alignment, mode, &self.clocks);
        assert!(!below || marks(&self.pools) == before, "{size} bytes: a new mark");
        placed
    }

    /// In the place of one that was released, before the other queue is done with that.
    fn take_back(&mut self, size: u64, mode: Mode) -> bool {
        let Some((placed, until)) = self.pools.take_back(size, mode, |until| until % 2 == 0) else { return false };
        assert!(until % 2 == 0);
        // Whoever takes it is ordered behind that use.
        self.elsewhere.retain(|used| (used.memory, used.offset) != (placed.memory, placed.offset));
        self.took(placed, size, 1);
        true
    }

    fn allocate(&mut self, size: u64, alignment: u64, mode: Mode) {
        if alignment == 1 && self.random.below(4) == 0 && self.take_back(size, mode) {
            return;
        }
        if self.random.below(2) == 0
            && let Some(placed) = self.allocate_in_pages(size, alignment, mode)
        {
            return self.took(placed, size, alignment);
        }
        let answer = match self.pools.allocate(size, alignment, mode, &self.clocks) {
            Ok(answer) => answer,
            Err(refusal) => {
                assert!(matches!(refusal.reason, Reason::Capped(_) | Reason::TooLarge(_)), "{refusal}");
                return;
            }
        };
        let placed = match answer {
            Answer::Placed(placed) => placed,
            Answer::NeedPage(request) => {
                self.take_pages();
                let bytes = if self.random.below(4) == 0 { request.least } else { request.size };
                let name = self.next_page;
                self.next_page += 1;
                self.pages.insert(name, bytes);
                self.reserved += bytes;
                self.peak_reserved = self.peak_reserved.max(self.reserved);
                let placed = self.pools.add_page(&request, name, bytes).unwrap();
                assert_eq!(placed.memory, name);
                placed
            }
        };
        self.took(placed, size, alignment);
    }

    fn took(&mut self, placed: Placement, size: u64, alignment: u64) {
        self.inspect(&placed, size, alignment);
        self.in_use += placed.capacity;
        self.live.push(placed);
    }

    /// A new placement: inside its page, aligned, over nothing that is in use, and after all that was.
    fn inspect(&mut self, placed: &Placement, size: u64, alignment: u64) {
        let end = placed.offset.checked_add(placed.capacity).unwrap();
        assert!(end <= self.pages[&placed.memory], "past the end of its page");
        assert!(placed.offset.is_multiple_of(alignment.max(256)), "not aligned");
        let rounded = size.next_multiple_of(256);
        assert!(placed.capacity >= rounded && placed.capacity - rounded <= rounded / 8, "{size} takes {}", placed.capacity);
        let before = self.ranges.range(..(placed.memory, placed.offset)).next_back();
        assert!(before.is_none_or(|((memory, _), other)| *memory != placed.memory || *other <= placed.offset), "overlap");
        let after = self.ranges.range((placed.memory, placed.offset)..).next();
        assert!(after.is_none_or(|((memory, start), _)| *memory != placed.memory || *start >= end), "overlap");
        let over = |used: &&Used| used.memory == placed.memory && used.offset < end && placed.offset < used.end;
        assert!(self.elsewhere.iter().find(over).is_none_or(|used| used.until <= self.clocks.other.get()), "in use elsewhere");
        let latest = self.here.iter().filter(over).map(|used| used.until).max().unwrap_or(0);
        assert!(placed.after >= latest, "handed out as of {}, used until {latest}", placed.after);
        self.ranges.insert((placed.memory, placed.offset), end);
    }

    fn release(&mut self, index: usize) {
        let placed = self.live.swap_remove(index);
        let end = self.ranges.remove(&(placed.memory, placed.offset)).unwrap();
        self.in_use -= placed.capacity;
        let (memory, offset) = (placed.memory, placed.offset);
        let after = self.clocks.own.get() + self.random.below(20);
        self.here.push(Used { memory, offset, end, until: after });
        let uses = (self.random.below(4) == 0).then(|| self.clocks.other.get() + self.random.below(50));
        if let Some(until) = uses {
            self.elsewhere.push(Used { memory, offset, end, until });
        }
        self.pools.release(placed, after, uses, &self.clocks);
    }

    fn tick(&mut self) {
        let (own, other) = (&self.clocks.own, &self.clocks.other);
        own.set(own.get() + self.random.below(5));
        other.set(other.get() + self.random.below(5));
        if self.here.len() + self.elsewhere.len() > 200 {
            self.here.retain(|used| used.until > self.clocks.own.get());
            self.elsewhere.retain(|used| used.until > self.clocks.other.get());
        }
    }

    fn take_pages(&mut self) {
        while let Some(page) = self.pools.take_released(&self.clocks) {
            assert_eq!(self.pages.remove(&page.memory), Some(page.size));
            self.reserved -= page.size;
            let inside = self.ranges.range((page.memory, 0)..=(page.memory, u64::MAX)).next();
            assert_eq!(inside, None, "a page with live allocations went back");
            let used = |used: &&Used| used.memory == page.memory;
            assert!(self.here.iter().filter(used).all(|used| used.until <= self.clocks.own.get()), "still in use");
            assert!(self.elsewhere.iter().filter(used).all(|used| used.until <= self.clocks.other.get()), "still in use");
        }
    }

    fn compact(&mut self) {
        let picky = self.random.next();
        let moves = self.pools.compact(|memory, offset| !(memory ^ offset ^ picky).is_multiple_of(31)).unwrap();
        let targets: HashSet<_> = moves.iter().map(|planned| (planned.to.memory, planned.to.offset)).collect();
        assert!(moves.iter().all(|planned| !targets.contains(&(planned.memory, planned.offset))), "moved twice");
        for planned in moves {
            let index = self.live.iter().position(|live| live.memory == planned.memory && live.offset == planned.offset).unwrap();
            let (capacity, alignment) = (planned.to.capacity, 1 << planned.to.offset.trailing_zeros().min(8));
            assert_eq!(capacity, self.live[index].capacity);
            self.inspect(&planned.to, capacity, alignment);
            self.in_use += capacity;
            self.live.push(planned.to);
            self.release(index);
        }
    }

    /// What is cheap to look at after every operation.
    fn look(&self) {
        let pending = self.pools.pending();
        assert_eq!(self.pools.in_use(), self.in_use);
        assert_eq!(self.pools.reserved(), self.reserved);
        assert_eq!(self.pools.peak_reserved(), self.peak_reserved);
        assert!(self.in_use + pending + self.pools.idle() <= self.reserved);
    }

    /// Every link, list and counter.
    fn audit(&self) {
        let reserved: u64 = self.pools.pools.iter().map(audit_pool).sum();
        assert!(reserved <= self.reserved);
        let reports = self.pools.report();
        assert_eq!(reports.iter().map(|report| report.in_use).sum::<u64>(), self.in_use);
        assert_eq!(reports.iter().map(|report| report.allocations).sum::<u64>(), self.live.len() as u64);
        assert!(reports.iter().all(|report| report.reserved <= report.cap && report.reserved <= report.peak_reserved));
    }

    fn finish(mut self) {
        while !self.live.is_empty() {
            self.release(self.live.len() - 1);
        }
        self.clocks.own.set(u64::MAX);
        self.clocks.other.set(u64::MAX);
        self.pools.cleanup(&self.clocks);
        self.take_pages();
        self.look();
        assert_eq!((self.pools.reserved(), self.pools.pending(), self.pages.len()), (0, 0, 0), "a page was lost");
        assert!(self.pools.is_empty());
        self.audit();
    }
}

/// Walks all pages of a pool, and all of its lists: its bytes in pages.
fn audit_pool(pool: &Pool) -> u64 {
    let (mut free, mut live, mut in_use, mut pending, mut reserved, mut idle) = (0, 0, 0, 0, 0, 0);
    for (index, page) in pool.pages.iter().enumerate().filter(|(_, page)| page.size > 0) {
        let (mut at, mut offset, mut left, mut busy, mut was_free) = (page.first, 0, NONE, 0, false);
        while at != NONE {
            let slice = pool.slices[at as usize];
            assert_eq!((slice.page as usize, slice.offset, slice.left), (index, offset, left));
            assert!(slice.size > 0 && slice.size.is_multiple_of(pool.granule));
            assert!(!(was_free && slice.state == State::Free), "two free neighbours");
            match slice.state {
                State::Free => free += 1,
                State::Live => (live, in_use, busy) = (live + 1, in_use + slice.size, busy + 1),
                State::Pending => (pending, busy) = (pending + slice.size, busy + 1),
                State::Vacant | State::HeldOut => panic!("{:?} in a page", slice.state),
            }
            was_free = slice.state == State::Free;
            (offset, left, at) = (offset + slice.size, at, slice.right);
        }
        assert_eq!((offset, busy), (page.size, page.live), "the slices of a page are its bytes");
        reserved += page.size;
        idle += if busy == 0 { page.size } else { 0 };
    }
    assert_eq!(free, pool.free_list_length(), "every free slice is in the list of its size");
    let counters = pool.counters;
    let counted = (counters.slices, counters.in_use, counters.pending, counters.reserved, counters.idle);
    assert_eq!(counted, (live, in_use, pending, reserved, idle));
    let mut listed = 0;
    let mut page = pool.idle_first;
    while page != NONE {
        listed += pool.pages[page as usize].size;
        page = pool.idle_after(page);
    }
    assert_eq!(listed, idle);
    reserved
}

impl Pool {
    fn free_list_length(&self) -> usize {
        let mut count = 0;
        for bin in 0..976 {
            let mut at = self.head(bin);
            while at != NONE {
                let slice = self.slices[at as usize];
                assert_eq!((slice.state, bin_of(slice.size / self.granule)), (State::Free, bin));
                count += 1;
                at = self.after_in_bin(at);
            }
        }
        count
    }
}

fn run(layout: Layout, seed: u64, steps: u64, most_live: usize, most_bits: u64) {
    let mut world = World::new(layout, seed);
    for step in 0..steps {
        // Grows and shrinks in waves.
        let growing = (step / 20_000).is_multiple_of(2);
        match world.random.below(100) {
            0..=89 => {
                let full = world.live.len() >= most_live;
                if world.live.is_empty() || !full && world.random.below(100) < if growing { 60 } else { 40 } {
                    let size = world.random.size(most_bits);
                    let alignment = if world.random.below(8) == 0 { 1 << world.random.below(14) } else { 1 };
                    let mode = if world.random.below(10) == 0 { Mode::Persistent } else { Mode::Auto };
                    world.allocate(size, alignment, mode);
                } else {
                    let index = world.random.below(world.live.len() as u64) as usize;
                    world.release(index);
                }
            }
            90..=96 => world.tick(),
            97 | 98 => world.take_pages(),
            _ if world.random.below(50) == 0 => world.pools.cleanup(&world.clocks),
            _ if world.random.below(20) == 0 => world.compact(),
            _ => {}
        }
        world.look();
        if step % 4096 == 0 {
            world.audit();
        }
    }
    world.audit();
    world.finish();
}

#[test]
fn m1_m9_a_million_random_operations_agree_with_a_plain_model() {
    run(Layout::standard(1 << 20), 1, 500_000, 3000, 22);
    run(Layout::standard(Layout::LARGEST_SLICE), 6, 100_000, 1000, 25);
    run(Layout::standard(128 << 10), 2, 200_000, 10_000, 18);
}

#[test]
fn m1_m9_random_operations_on_small_fixed_and_capped_pools_agree_with_a_plain_model() {
    let small = PoolSpec { cap: 1 << 20, ..PoolSpec::sliced(4096, 16 << 10) };
    let growing = PoolSpec { page_most: 256 << 10, cap: 3 << 20, ..PoolSpec::sliced(64 << 10, 64 << 10) };
    let rest = PoolSpec { cap: 8 << 20, ..PoolSpec::exclusive(4 << 20) };
    run(Layout { pools: vec![small, growing, rest] }, 3, 200_000, 2000, 20);
    run(Layout { pools: vec![PoolSpec { kind: Kind::Exclusive, ..PoolSpec::exclusive(u64::MAX) }] }, 4, 100_000, 300, 24);
    run(Layout { pools: vec![PoolSpec::sliced(1 << 20, 1 << 20)] }, 5, 100_000, 3000, 16);
}

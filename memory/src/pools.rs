//! The pools of one stream: routing, releases that wait for uses elsewhere, pages that come and go.

use std::collections::VecDeque;
use std::fmt;

use crate::bins::NONE;
use crate::layout::{Kind, Layout, LayoutError, PoolSpec};
use crate::pool::{NoHostMemory, Pool, State};
use crate::refusal::{Reason, Refusal, Room};
use crate::report::PoolReport;

/// Pending releases that every allocation looks at, so that they come back by themselves.
const SWEEP: usize = 4;
/// Pending releases that are looked at for one that can serve again as it is.
const TAKE_LOOKS: usize = 32;
/// Pending releases that are looked at before a page is asked for.
const SWEEP_MORE: usize = 1024;
/// Idle pages that a release looks at.
const IDLE_LOOKS: usize = 16;
/// Idle pages may add this part to what is in use before they are given back for a new one.
const TOLERATED: u64 = 12;
/// The persistent pools come first, so that the main pools can be replaced behind them.
const PERSISTENT: usize = 2;

/// Which pools serve an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// The main pools.
    #[default]
    Auto,
    /// The persistent pools: for what lives long, so that it does not keep the main pools' pages from going back.
    Persistent,
}

/// How far the device is: answered by the caller, without blocking.
pub trait Progress<U: ?Sized> {
    /// Whether uses on other queues are over.
    fn is_over(&self, uses: &U) -> bool;
    /// Whether the pools' own queue has passed a position.
    fn is_past(&self, position: u64) -> bool;
}

/// What the pools have to know of their device. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Slices start and end at multiples of this power of two; pages are aligned to at least as much.
    pub granule: u64,
    /// The largest page that the driver gives.
    pub page_limit: u64,
    /// From here on long-lived allocations get pages of their own; for [`Layout::standard`] likewise.
    pub exclusive_above: u64,
    /// Pages with nothing in them are kept up to this many bytes.
    pub idle_cap: u64,
}

/// A live allocation. Not to be copied: it is released once.
#[derive(Debug, PartialEq, Eq)]
pub struct Placement {
    /// The page, by the caller's name for it.
    pub memory: u64,
    /// Where in the page.
    pub offset: u64,
    /// How many bytes: what was asked for, rounded up.
    pub capacity: u64,
    /// The position of the pools' own queue at which these bytes were last used. Work on another queue has to wait for it; 0: for nothing.
    pub after: u64,
    pool: u32,
    slice: u32,
}

impl Placement {
    /// Whether it is in a persistent pool.
    pub fn is_persistent(&self) -> bool {
        (self.pool as usize) < PERSISTENT
    }
}

/// A page that is missing. The caller asks the driver and answers with [`Pools::add_page`], or drops this.
#[derive(Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Bytes that the page should have. An allocation that just fits [`Settings::page_limit`] is rounded up to a granule like any other, so
    /// this may be above the limit by less than one: then the limit is enough, and the rest is never used.
    pub size: u64,
    /// Bytes that are enough, where the driver has no more.
    pub least: u64,
    slice: u64,
    alignment: u64,
    pool: usize,
    epoch: u64,
}

/// The answer to an allocation.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Here it is.
    Placed(Placement),
    /// No page has room.
    NeedPage(PageRequest),
}

/// A page that is no longer the pools': to be given back to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// The caller's name for it.
    pub memory: u64,
    /// Bytes.
    pub size: u64,
    after: u64,
}

/// A page that the pools did not take: they were replaced meanwhile, it is too small, or there is no host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwanted;

/// The main pools cannot be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolsInUse {
    /// Live or pending allocations, and their bytes.
    Live {
        /// Allocations, with those whose last use goes on.
        allocations: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The layout is not valid.
    Invalid(LayoutError),
    /// The host has no memory for the tables.
    NoHostMemory,
}

impl fmt::Display for PoolsInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live { allocations, bytes } => {
                write!(
                    f,
                    "the pools are in use: {allocations} allocations of {bytes} bytes; release them and what uses them first"
                )
            }
            Self::Invalid(error) => error.fmt(f),
            Self::NoHostMemory => write!(f, "no host memory for the pools' tables"),
        }
    }
}

impl std::error::Error for PoolsInUse {}

struct Pending<U> {
    pool: u32,
    slice: u32,
    uses: U,
}

/// The pools of one stream, or of a device's allocations that belong to no stream. `U` is what the caller knows of uses on other queues.
pub struct Pools<U> {
    pub(crate) settings: Settings,
    layout: Layout,
    pub(crate) pools: Vec<Pool>,
    pending: VecDeque<Pending<U>>,
    released: Vec<Released>,
    released_bytes: u64,
    live: usize,
    pages: usize,
    peak_reserved: u64,
    frozen: bool,
    epoch: u64,
}

impl<U> Pools<U> {
    /// Empty pools.
    pub fn new(layout: Layout, settings: Settings) -> Result<Self, LayoutError> {
        debug_assert!(settings.granule.is_power_of_two(), "the device's alignment");
        layout.check(settings.granule)?;
        let sliced = PoolSpec::medium(settings.exclusive_above);
        let persistent = [sliced, PoolSpec::exclusive(u64::MAX)].map(|spec| (spec, true));
        let main = layout.pools.iter().map(|spec| (*spec, false));
        let pools = persistent.into_iter().chain(main).map(|(spec, long)| Pool::new(spec, long, settings.granule)).collect();
        Ok(Self {
            settings,
            layout,
            pools,
            pending: VecDeque::new(),
            released: Vec::new(),
            released_bytes: 0,
            live: 0,
            pages: 0,
            peak_reserved: 0,
            frozen: false,
            epoch: 0,
        })
    }

    /// The layout of the main pools.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether they are frozen.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// While frozen, no page is asked for or given back: a graph is being recorded, or the caller wants no call of the driver.
    pub fn freeze(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    /// Bytes in pages, with those that wait to be given back.
    pub fn reserved(&self) -> u64 {
        self.total(|pool| pool.counters.reserved) + self.released_bytes
    }

    /// Bytes in live allocations, as rounded.
    pub fn in_use(&self) -> u64 {
        self.total(|pool| pool.counters.in_use)
    }

    /// Bytes released that are still in use on other queues.
    pub fn pending(&self) -> u64 {
        self.total(|pool| pool.counters.pending)
    }

    /// Bytes in pages with nothing in them.
    pub fn idle(&self) -> u64 {
        self.total(|pool| pool.counters.idle)
    }

    /// The most that [`Self::reserved`] was.
    pub fn peak_reserved(&self) -> u64 {
        self.peak_reserved
    }

    /// The largest run of free bytes in any pool.
    pub fn largest_free(&self) -> u64 {
        self.pools.iter().map(Pool::largest_free).max().unwrap_or(0)
    }

    /// Looks at all that is pending, so that the figures are those of now.
    pub fn look(&mut self, progress: &impl Progress<U>) {
        self.sweep(usize::MAX, progress);
    }

    /// Whether anything is live. What is pending is not.
    pub fn has_live(&self) -> bool {
        self.live > 0
    }

    /// Whether a main pool may not have as many pages as it likes.
    pub fn is_capped(&self) -> bool {
        self.pools[PERSISTENT..].iter().any(|pool| pool.spec.cap != u64::MAX)
    }

    /// Whether nothing is live or pending.
    pub fn is_empty(&self) -> bool {
        self.live == 0 && self.pending.is_empty()
    }

    fn total(&self, of: impl Fn(&Pool) -> u64) -> u64 {
        self.pools.iter().map(of).sum()
    }

    /// Every pool: the main ones in routing order, then the persistent ones.
    pub fn report(&self) -> Vec<PoolReport> {
        let (persistent, main) = self.pools.split_at(PERSISTENT);
        main.iter().chain(persistent).map(PoolReport::of).collect()
    }

    /// Whether an allocation could be made without a new mark of the most bytes in use.
    pub fn is_below_peak(&self, size: u64, mode: Mode) -> bool {
        let rounded = size.checked_next_multiple_of(self.settings.granule);
        let pool = self.route(size, mode).and_then(|index| self.pools.get(index));
        pool.zip(rounded).is_some_and(|(pool, size)| {
            let counters = &pool.counters;
            // An exclusive page may be larger than what it is for.
            pool.spec.kind == Kind::Sliced
                && counters.in_use.saturating_add(counters.pending).saturating_add(size) <= counters.peak_in_use
        })
    }

    /// As [`Self::allocate`], but where a page is missing it only says so.
    pub fn allocate_in_pages(&mut self, size: u64, alignment: u64, mode: Mode, progress: &impl Progress<U>) -> Option<Placement> {
        let rounded =
            size.checked_next_multiple_of(self.settings.granule).filter(|_| size > 0 && size <= self.settings.page_limit)?;
        let index = self.route(size, mode).filter(|_| alignment.is_power_of_two())?;
        self.reserve(index).ok()?;
        self.try_place(index, rounded, alignment, progress)
    }

    /// Finds a place for `size` bytes at a multiple of `alignment`, or says which page it takes.
    pub fn allocate(&mut self, size: u64, alignment: u64, mode: Mode, progress: &impl Progress<U>) -> Result<Answer, Refusal> {
        let refuse = |reason| Refusal { asked: size, reason, room: Room::default() };
        if size == 0 {
            return Err(refuse(Reason::Empty));
        }
        if !alignment.is_power_of_two() {
            return Err(refuse(Reason::Alignment(alignment)));
        }
        let rounded = size.checked_next_multiple_of(self.settings.granule).filter(|_| size <= self.settings.page_limit);
        let Some((rounded, index)) = rounded.zip(self.route(size, mode)) else {
            return Err(refuse(Reason::TooLarge(self.most(mode))));
        };
        self.reserve(index).map_err(|NoHostMemory| refuse(Reason::NoHostMemory))?;
        if let Some(placed) = self.try_place(index, rounded, alignment, progress) {
            return Ok(Answer::Placed(placed));
        }
        self.request(index, rounded, alignment, progress).map(Answer::NeedPage).map_err(|reason| match reason {
            Reason::TooLarge(_) => refuse(Reason::TooLarge(self.most(mode))),
            reason => Refusal { asked: size, reason, room: self.room(index) },
        })
    }

    /// The most that an allocation can have, ever.
    pub fn most(&self, mode: Mode) -> u64 {
        let most = self.range(mode).map(|index| self.pools[index].spec).map(|spec| spec.largest.min(spec.cap)).max().unwrap_or(0);
        most.min(self.settings.page_limit)
    }

    fn range(&self, mode: Mode) -> std::ops::Range<usize> {
        match mode {
            Mode::Auto => PERSISTENT..self.pools.len(),
            Mode::Persistent => 0..PERSISTENT,
        }
    }

    fn route(&self, size: u64, mode: Mode) -> Option<usize> {
        self.range(mode).find(|index| self.pools[*index].spec.largest >= size)
    }

    /// Room in the tables for this allocation and for its release.
    fn reserve(&mut self, index: usize) -> Result<(), NoHostMemory> {
        self.pools[index].reserve(2)?;
        let wanted = self.live + 1;
        if self.pending.capacity() - self.pending.len() < wanted {
            self.pending.try_reserve(wanted).map_err(|_| NoHostMemory)?;
        }
        Ok(())
    }

    /// A place in the pages that there are, also where something has to come back first.
    fn try_place(&mut self, index: usize, size: u64, alignment: u64, progress: &impl Progress<U>) -> Option<Placement> {
        self.sweep(SWEEP, progress);
        let placed = self.place(index, size, alignment);
        if placed.is_some() || self.pending.is_empty() {
            return placed;
        }
        self.sweep(SWEEP_MORE, progress);
        self.place(index, size, alignment)
    }

    fn place(&mut self, index: usize, size: u64, alignment: u64) -> Option<Placement> {
        let pool = self.pools.get_mut(index)?;
        let slice = pool.place(size, alignment)?;
        self.live += 1;
        Some(self.placement(index, slice))
    }

    pub(crate) fn placement(&self, index: usize, slice: u32) -> Placement {
        let pool = &self.pools[index];
        let placed = pool.slices[slice as usize];
        let memory = pool.pages[placed.page as usize].memory;
        Placement { memory, offset: placed.offset, capacity: placed.size, after: placed.after, pool: index as u32, slice }
    }

    /// The page for an allocation that no page has room for.
    fn request(&mut self, index: usize, size: u64, alignment: u64, progress: &impl Progress<U>) -> Result<PageRequest, Reason> {
        let (limit, granule) = (self.settings.page_limit, self.settings.granule);
        let spec = self.pools[index].spec;
        let whole = match spec.kind {
            Kind::Sliced => limit - limit % granule,
            Kind::Exclusive => limit.checked_next_multiple_of(granule).unwrap_or(u64::MAX),
        };
        let fixed = spec.cap.min(whole);
        let least = self.pools[index].needed(size, alignment).filter(|least| *least <= fixed);
        let least = least.ok_or(Reason::TooLarge(fixed))?;
        if self.frozen {
            return Err(Reason::Frozen(least));
        }
        let mut page = self.pools[index].page_for(least).min(whole).max(least);
        // Beyond the last peak idle pages pay for the new one, but for a twelfth of what is in use: that much they may be too small or too large. First, as it would be
        // without a cap: what fits into one goes through the same pages then, and a cap that was measured without one holds.
        let allowed = self.in_use().saturating_add(self.pending()).saturating_add(page);
        let allowed = self.peak_reserved.max(allowed.saturating_add(allowed / TOLERATED));
        self.give_back(0..self.pools.len(), progress, |pools| pools.reserved().saturating_add(page) <= allowed);
        // Pages of other sizes make room under a cap.
        self.give_back(index..index + 1, progress, |pools| pools.pools[index].counters.reserved.saturating_add(page) <= spec.cap);
        let left = spec.cap.saturating_sub(self.pools[index].counters.reserved);
        page = page.min(left - left % self.settings.granule);
        if page < least {
            return Err(Reason::Capped(spec.cap));
        }
        Ok(PageRequest { size: page, least, slice: size, alignment, pool: index, epoch: self.epoch })
    }

    fn room(&self, index: usize) -> Room {
        let pool = &self.pools[index];
        Room {
            pool: if index < PERSISTENT { self.pools.len() - PERSISTENT + index } else { index - PERSISTENT },
            reserved: pool.counters.reserved,
            free: pool.free(),
            largest_free: pool.largest_free(),
            pending: pool.counters.pending,
        }
    }

    /// Takes over a page of at least `least` bytes and places the allocation that asked for it.
    pub fn add_page(&mut self, request: &PageRequest, memory: u64, size: u64) -> Result<Placement, Unwanted> {
        let size = size - size % self.settings.granule;
        let fits = self.epoch == request.epoch && size >= request.least && request.pool < self.pools.len();
        let room = self.released.len() + self.pages + 1;
        if !fits || self.released.try_reserve(room - self.released.len()).is_err() {
            return Err(Unwanted);
        }
        self.reserve(request.pool).map_err(|NoHostMemory| Unwanted)?;
        let pool = &mut self.pools[request.pool];
        // Beside the slices of the page itself.
        pool.reserve(5).map_err(|NoHostMemory| Unwanted)?;
        pool.add_page(memory, size).map_err(|NoHostMemory| Unwanted)?;
        self.pages += 1;
        self.peak_reserved = self.peak_reserved.max(self.reserved());
        self.place(request.pool, request.slice, request.alignment).ok_or(Unwanted)
    }

    /// Gives an allocation back. `after` is the last position of the pools' own queue that used it, `uses` what other queues do with it:
    /// it is handed out again once that is over. Needs no memory.
    pub fn release(&mut self, placement: Placement, after: u64, uses: Option<U>, progress: &impl Progress<U>) {
        let Placement { pool, slice, memory, offset, .. } = placement;
        let known = self.pools.get(pool as usize).and_then(|pool| {
            let live = pool.slices.get(slice as usize).filter(|slice| slice.state == State::Live)?;
            Some(live.offset == offset && pool.pages[live.page as usize].memory == memory)
        });
        if known != Some(true) {
            debug_assert!(false, "a placement of other pools");
            return;
        }
        self.live -= 1;
        match uses.filter(|uses| !progress.is_over(uses)) {
            Some(uses) => {
                self.pools[pool as usize].suspend(slice, after);
                self.pending.push_back(Pending { pool, slice, uses });
            }
            None => self.put_back(pool as usize, slice, after, progress),
        }
    }

    /// Hands a pending allocation out again before its uses are over, to a caller who orders the next use behind them: of the latest ones, the last one that an
    /// allocation of `size` bytes could have been given, and whose uses are `usable`. They are the caller's again.
    pub fn take_back(&mut self, size: u64, mode: Mode, usable: impl Fn(&U) -> bool) -> Option<(Placement, U)> {
        let rounded = size.checked_next_multiple_of(self.settings.granule).filter(|_| size > 0)?;
        let index = self.route(size, mode)?;
        let fits = |pending: &Pending<U>| {
            pending.pool as usize == index && self.pools[index].could_serve(pending.slice, rounded) && usable(&pending.uses)
        };
        let found = self.pending.iter().rev().take(TAKE_LOOKS).position(fits)?;
        self.reserve(index).ok()?;
        let Pending { slice, uses, .. } = self.pending.remove(self.pending.len() - 1 - found)?;
        self.pools[index].resume(slice);
        self.live += 1;
        Some((self.placement(index, slice), uses))
    }

    fn put_back(&mut self, index: usize, slice: u32, after: u64, progress: &impl Progress<U>) {
        let idle = self.pools[index].counters.idle;
        self.pools[index].release(slice, after);
        if self.pools[index].counters.idle > idle && !self.frozen {
            let cap = self.settings.idle_cap;
            self.give_back(index..index + 1, progress, |pools| pools.idle() <= cap);
        }
    }

    /// Puts back what is no longer used elsewhere, looking at no more than `most` pending releases.
    fn sweep(&mut self, most: usize, progress: &impl Progress<U>) -> bool {
        let mut any = false;
        for _ in 0..most.min(self.pending.len()) {
            let Some(first) = self.pending.pop_front() else { break };
            if progress.is_over(&first.uses) {
                self.put_back(first.pool as usize, first.slice, 0, progress);
                any = true;
            } else {
                self.pending.push_back(first);
            }
        }
        any
    }

    /// Lets go of idle pages that nobody uses, the longest idle first, until there is enough.
    fn give_back(&mut self, pools: std::ops::Range<usize>, progress: &impl Progress<U>, enough: impl Fn(&Self) -> bool) {
        for index in pools {
            let mut page = self.pools[index].idle_first;
            for _ in 0..IDLE_LOOKS {
                if page == NONE || enough(self) {
                    break;
                }
                let next = self.pools[index].idle_after(page);
                if progress.is_past(self.pools[index].idle_used(page)) {
                    self.let_go(index, page);
                }
                page = next;
            }
        }
    }

    fn let_go(&mut self, index: usize, page: u32) {
        let after = self.pools[index].idle_used(page);
        let (memory, size) = self.pools[index].remove_page(page);
        self.pages -= 1;
        self.released_bytes += size;
        self.released.push(Released { memory, size, after });
    }

    /// Looks at all that is pending and lets go of every idle page, but for those that are still in use.
    pub fn cleanup(&mut self, progress: &impl Progress<U>) {
        self.cleanup_after(usize::MAX, progress);
    }

    /// As [`Self::cleanup`], with a look at so many of what is pending: the next ones in turn.
    pub fn cleanup_after(&mut self, looks: usize, progress: &impl Progress<U>) {
        self.sweep(looks, progress);
        if self.frozen {
            return;
        }
        for index in 0..self.pools.len() {
            let mut page = self.pools[index].idle_first;
            while page != NONE {
                let next = self.pools[index].idle_after(page);
                if progress.is_past(self.pools[index].idle_used(page)) {
                    self.let_go(index, page);
                }
                page = next;
            }
        }
    }

    /// The next page to give back to the driver, if any.
    pub fn take_released(&mut self, progress: &impl Progress<U>) -> Option<Released> {
        let index = self.released.iter().rposition(|page| progress.is_past(page.after))?;
        let page = self.released.swap_remove(index);
        self.released_bytes -= page.size;
        Some(page)
    }

    /// The uses that pending releases wait for.
    pub fn pending_uses(&self) -> impl Iterator<Item = &U> {
        self.pending.iter().map(|pending| &pending.uses)
    }

    /// The last position of the own queue that used a page which could go back.
    pub fn idle_position(&self) -> u64 {
        let pages = self.pools.iter().flat_map(|pool| {
            std::iter::successors(Some(pool.idle_first), |page| Some(pool.idle_after(*page)))
                .take_while(|page| *page != NONE)
                .map(|page| pool.idle_used(page))
        });
        pages.chain(self.released.iter().map(|page| page.after)).max().unwrap_or(0)
    }

    /// Replaces the main pools if nothing is live in them (M4). Their pages are let go, their marks start over.
    pub fn replace(&mut self, layout: Layout, progress: &impl Progress<U>) -> Result<(), PoolsInUse> {
        layout.check(self.settings.granule).map_err(PoolsInUse::Invalid)?;
        self.sweep(usize::MAX, progress);
        let pending = self.pending.iter().filter(|pending| pending.pool as usize >= PERSISTENT).count() as u64;
        let main = &self.pools[PERSISTENT..];
        let allocations = main.iter().map(|pool| pool.counters.slices).sum::<u64>() + pending;
        if allocations > 0 {
            let bytes = main.iter().map(|pool| pool.counters.in_use + pool.counters.pending).sum();
            return Err(PoolsInUse::Live { allocations, bytes });
        }
        let more = layout.pools.len();
        self.pools.try_reserve(more).map_err(|_| PoolsInUse::NoHostMemory)?;
        for index in PERSISTENT..self.pools.len() {
            while self.pools[index].idle_first != NONE {
                self.let_go(index, self.pools[index].idle_first);
            }
        }
        self.pools.truncate(PERSISTENT);
        let granule = self.settings.granule;
        self.pools.extend(layout.pools.iter().map(|spec| Pool::new(*spec, false, granule)));
        self.layout = layout;
        self.epoch += 1;
        self.peak_reserved = self.reserved();
        Ok(())
    }

    /// Whether [`Self::take_released`] may have a page.
    pub fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Tells all pages, in use or not: for a device that goes.
    pub fn each_page(&self, mut each: impl FnMut(u64)) {
        let pages = self.pools.iter().flat_map(|pool| &pool.pages).filter(|page| page.size > 0).map(|page| page.memory);
        pages.chain(self.released.iter().map(|page| page.memory)).for_each(&mut each);
    }

    pub(crate) fn forget(&mut self, placement: Placement) {
        self.live -= 1;
        self.pools[placement.pool as usize].release(placement.slice, placement.after);
    }

    pub(crate) fn place_elsewhere(&mut self, index: usize, size: u64, alignment: u64) -> Option<Placement> {
        self.reserve(index).ok()?;
        self.place(index, size, alignment)
    }
}

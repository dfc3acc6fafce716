//! Device memory for buffers: a set of pools for each stream and one for the device, pages from the driver, and what happens when memory is short.
//!
//! Where bytes lie is arithmetic of the crate `compute_memory`; here its answers meet the driver. No lock is held while the driver makes or frees a
//! page, or while anything waits. Lock order: list of sets → pools of a set → queues of the device.

mod budget;
mod compaction;
mod dry_run;
mod home;
mod ready;
mod report;
mod scratch;
mod staging;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use compute_hal::{Capabilities, DeviceError, Limits, MemoryId, Region};
use compute_memory::{Answer, Layout, PageRequest, Placement, Pools, Progress, Reason, Refusal, Room, Settings};
use compute_trust::{LastUses, Use};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use smallvec::SmallVec;

pub use compaction::Compacted;
pub use compute_memory::{Budget, Kind as PoolKind, Layout as PoolLayout, Mode as AllocationMode, PoolReport, PoolSpec};
pub use ready::{LARGEST_KEPT, Seat, take_kept};
pub use report::Usage;
pub(crate) use scratch::{ScratchLease, ScratchUse, of_no_stream};

pub(crate) use budget::Charge;
pub(crate) use dry_run::DryRuns;
pub(crate) use home::{Deferral, Home, Left};
pub(crate) use ready::{BUDGETED, CAPPED, CAPTURING, DRY, Keeper, keep};

use super::code;
use super::device::Device;
use super::error::{Failed, Result, error, fail};
use super::queue::Queue;
use super::stream::Stream;

/// Idle pages of one set are kept up to this many bytes, where the caller does not say otherwise.
const IDLE_BYTES: u64 = 64 << 20;
/// Where the page rule holds, larger allocations get blocks of their own.
const TRACKED_ABOVE: u64 = 1 << 20;
/// Slices are aligned to this, or to what the device requires if that is more.
const ALIGNMENT: u32 = 256;
/// So many sets of streams that are gone are looked at whenever a page is needed: more than a stream leaves.
const ENDED_AT_ONCE: usize = 4;
/// How many releases of a set that has ended are looked at whenever one more comes or a page is made: all of them each time would take the square of their number.
const ENDED_LOOKS: usize = 64;
/// How often a page that came too late is tried again: pools are replaced seldom.
const TRIES: u32 = 4;

/// What a release waits for, and what it gives back then.
struct Elsewhere {
    uses: LastUses,
    charge: Option<Charge>,
}

/// The pools of one stream, or those of a device for buffers that belong to no stream.
pub(crate) struct PoolSet {
    /// Its stream's.
    keeper: Option<Arc<Keeper>>,
    /// Index of the queue whose order makes released memory usable at once.
    queue: Option<u16>,
    pools: Mutex<Pools<Elsewhere>>,
    /// Its stream is gone: nothing is kept in it.
    ended: AtomicBool,
}

/// The memory of a buffer: a range of a page.
pub(crate) struct Block {
    set: Arc<PoolSet>,
    placement: Placement,
    charge: Option<Charge>,
}

impl PoolSet {
    /// Whether buffers are kept that count as live in its pools.
    fn keeps_any(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.keeps_any())
    }

    /// Ends them. The caller holds no lock.
    fn let_go(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.let_go();
        }
    }
}

impl Block {
    /// Who may keep a buffer with this block for the next of its size.
    fn keeper(&self) -> Option<Arc<Keeper>> {
        let plain = self.charge.is_none() && self.placement.capacity <= ready::LARGEST_KEPT && !self.placement.is_persistent();
        self.set.keeper.clone().filter(|_| plain)
    }

    /// Part of it. The caller has checked the range.
    pub(crate) fn region(&self, offset: u64, size: u64) -> Region {
        Region { memory: MemoryId(self.placement.memory), offset: self.placement.offset + offset, size }
    }

    /// The last use of these bytes by what they were before: work on other queues waits for it.
    pub(crate) fn inherited(&self) -> Option<Use> {
        let queue = self.set.queue.filter(|_| self.placement.after > 0)?;
        Some(Use { queue, position: self.placement.after })
    }
}

/// The memory of one device.
pub(crate) struct Store {
    settings: Settings,
    /// What the main pools of later streams look like.
    layout: Mutex<Layout>,
    own: OnceCell<Arc<PoolSet>>,
    sets: Mutex<Vec<Arc<PoolSet>>>,
    /// How many of them are those of streams that are gone, whose work was still going on, and where the next look at these begins.
    ended: AtomicUsize,
    next_ended: AtomicUsize,
    buffers: AtomicU64,
    bytes: AtomicU64,
    bytes_peak: AtomicU64,
    imported: AtomicU64,
    reserved: AtomicU64,
    reserved_peak: AtomicU64,
    staging: Arc<staging::Staging>,
    /// Held by the one that moves buffers.
    compacting: Mutex<()>,
}

impl PoolSet {
    /// Freezes or thaws; what it was before.
    pub(crate) fn swap_frozen(&self, frozen: bool) -> bool {
        let mut pools = self.pools.lock();
        let before = pools.is_frozen();
        pools.freeze(frozen);
        before
    }
}

/// How far the queues of a device are, for a set of pools.
struct Seen<'a> {
    device: &'a Device,
    queue: Option<u16>,
}

impl Progress<Elsewhere> for Seen<'_> {
    fn is_over(&self, elsewhere: &Elsewhere) -> bool {
        self.device.over(elsewhere.uses.iter())
    }

    fn is_past(&self, position: u64) -> bool {
        self.queue.is_none_or(|queue| self.device.over([Use { queue, position }]))
    }
}

fn no_host_memory(size: u64) -> Arc<Failed> {
    Failed::of(error(code::OUT_OF_MEMORY, format!("{size} bytes asked for: no host memory for the bookkeeping")))
}

fn refused(refusal: &Refusal) -> Arc<Failed> {
    let code = match refusal.reason {
        Reason::TooLarge(_) => code::TOO_LARGE,
        Reason::Capped(_) => code::POOL_FULL,
        Reason::NoHostMemory => code::OUT_OF_MEMORY,
        Reason::Frozen(_) => code::POOLS_FROZEN,
        Reason::Empty | Reason::Alignment(_) => code::INVALID_ARGUMENT,
    };
    Failed::of(error(code, refusal.to_string()))
}

impl Store {
    pub(crate) fn new(limits: &Limits, capabilities: &Capabilities, idle_bytes: u64) -> Self {
        let granule = ALIGNMENT.max(limits.storage_alignment).max(limits.uniform_alignment).next_power_of_two();
        let exclusive_above = if capabilities.tracks_blocks { TRACKED_ABOVE } else { Layout::LARGEST_SLICE };
        let settings = Settings {
            granule: u64::from(granule),
            page_limit: limits.allocation_size,
            exclusive_above,
            idle_cap: if idle_bytes == 0 { IDLE_BYTES } else { idle_bytes },
        };
        Self {
            settings,
            layout: Mutex::new(Layout::standard(exclusive_above)),
            own: OnceCell::new(),
            sets: Mutex::new(Vec::new()),
            ended: AtomicUsize::new(0),
            next_ended: AtomicUsize::new(0),
            buffers: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bytes_peak: AtomicU64::new(0),
            imported: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            reserved_peak: AtomicU64::new(0),
            staging: staging::Staging::new(),
            compacting: Mutex::new(()),
        }
    }

    fn new_set(&self, queue: Option<u16>, keeper: Option<Arc<Keeper>>) -> Result<Arc<PoolSet>> {
        let mut sets = self.sets.lock();
        sets.try_reserve(1).map_err(|_| no_host_memory(0))?;
        let layout = match queue {
            Some(_) => self.layout.lock().clone(),
            None => Layout::standard(self.settings.exclusive_above),
        };
        let pools = Pools::new(layout, self.settings);
        let pools = pools.map_err(|invalid| Failed::of(error(code::INTERNAL, invalid.to_string())))?;
        let set = Arc::new(PoolSet { keeper, queue, pools: Mutex::new(pools), ended: AtomicBool::new(false) });
        sets.push(Arc::clone(&set));
        Ok(set)
    }

    /// Calls `each` with every set, holding no lock. The last one first, so that sets that are forgotten meanwhile move none that is still to come; one that
    /// is made meanwhile may be missed.
    fn each_set(&self, mut each: impl FnMut(&Arc<PoolSet>)) {
        let mut index = self.sets.lock().len();
        while index > 0 {
            index -= 1;
            let next = self.sets.lock().get(index).cloned();
            if let Some(set) = next {
                each(&set);
            }
        }
    }

    /// Lets go of what any set keeps. False: none does.
    fn let_go(&self) -> bool {
        let any = self.sets.lock().iter().any(|set| set.keeps_any());
        if any {
            self.each_set(|set| set.let_go());
        }
        any
    }

    /// Forgets a set that has ended.
    fn forget(&self, over: &Arc<PoolSet>) {
        let mut sets = self.sets.lock();
        let before = sets.len();
        sets.retain(|set| !Arc::ptr_eq(set, over));
        self.ended.fetch_sub(before - sets.len(), Ordering::Relaxed);
    }

    /// The next few sets that have ended, in turns.
    fn some_ended(&self) -> SmallVec<[Arc<PoolSet>; ENDED_AT_ONCE]> {
        let mut some = SmallVec::new();
        if self.ended.load(Ordering::Relaxed) == 0 {
            return some;
        }
        let sets = self.sets.lock();
        let first = self.next_ended.load(Ordering::Relaxed) % sets.len().max(1);
        for (index, set) in sets.iter().enumerate().cycle().skip(first).take(sets.len()) {
            if some.len() == ENDED_AT_ONCE {
                self.next_ended.store(index, Ordering::Relaxed);
                break;
            }
            if set.ended.load(Ordering::Acquire) {
                some.push(Arc::clone(set));
            }
        }
        some
    }

    /// Every page of every set, for a device that goes.
    pub(crate) fn each_page(&self, mut each: impl FnMut(MemoryId)) {
        for set in self.sets.lock().iter() {
            set.pools.lock().each_page(|memory| each(MemoryId(memory)));
        }
    }
}

impl Device {
    fn seen(&self, set: &PoolSet) -> Seen<'_> {
        Seen { device: self, queue: set.queue }
    }

    fn own_set(&self) -> Result<&Arc<PoolSet>> {
        self.memory.own.get_or_try_init(|| self.memory.new_set(None, None))
    }

    /// Memory for a buffer of `size` bytes, more than 0, from the pools of `stream`, or else from the device's own.
    pub(crate) fn allocate(&self, stream: Option<&Stream>, size: u64, mode: AllocationMode) -> Result<Block> {
        let _guard = self.guard();
        let set = match stream {
            Some(stream) => stream.pool_set()?,
            None => self.own_set()?,
        };
        if let Some(block) = stream.and_then(|stream| self.take_over_charged(stream, set, size, mode)) {
            return Ok(block);
        }
        let mut reclaimed = false;
        let mut charge = self.charge(stream, size, &mut reclaimed)?;
        for attempt in 1..=TRIES {
            let Some(placement) = self.place(set, size, mode, &mut reclaimed)? else { continue };
            match self.charge_rest(set, placement, &mut charge) {
                Ok(placement) => return Ok(Block { set: Arc::clone(set), placement, charge }),
                Err(over) if attempt == TRIES => return Err(over),
                // An idle page that is larger than needed: without it there will be one that is not.
                Err(_) if attempt == 1 => self.clean(set),
                // Its last use goes on.
                Err(_) if !reclaimed => {
                    self.reclaim();
                    reclaimed = true;
                }
                Err(_) => self.clean(set),
            }
        }
        Err(no_host_memory(size))
    }

    /// A place for `size` bytes; `None` when something was reclaimed and it may be tried again.
    fn place(&self, set: &Arc<PoolSet>, size: u64, mode: AllocationMode, reclaimed: &mut bool) -> Result<Option<Placement>> {
        if set.keeps_any() {
            let mut pools = set.pools.lock();
            let placed =
                if pools.is_below_peak(size, mode) { pools.allocate_in_pages(size, 1, mode, &self.seen(set)) } else { None };
            drop(pools);
            if placed.is_some() {
                return Ok(placed);
            }
            // A new page, and a new mark, are for what is live.
            set.let_go();
        }
        let answer = set.pools.lock().allocate(size, 1, mode, &self.seen(set));
        let request = match answer {
            Ok(Answer::Placed(placement)) => return Ok(Some(placement)),
            Ok(Answer::NeedPage(request)) => request,
            Err(refusal) if refusal.is_reclaimable() && !*reclaimed => {
                self.reclaim();
                *reclaimed = true;
                return Ok(None);
            }
            Err(refusal) => return Err(refused(&refusal)),
        };
        self.give_back(set);
        // Nobody else comes to what streams left whose work went on: neither a buffer nor a stream of theirs ends any more.
        self.memory.some_ended().iter().for_each(|ended| self.clean_after(ended, ENDED_LOOKS));
        self.reap();
        match self.new_page(&request) {
            Ok((memory, page)) => Ok(self.take_over(set, &request, memory, page)),
            Err(DeviceError::OutOfMemory { .. }) if !*reclaimed => {
                self.reclaim();
                *reclaimed = true;
                Ok(None)
            }
            Err(failed) => Err(self.no_page(size, failed)),
        }
    }

    /// A page of the driver's; of the smaller size when it has no larger one.
    fn new_page(&self, request: &PageRequest) -> std::result::Result<(MemoryId, u64), DeviceError> {
        let limit = self.memory.settings.page_limit;
        let (memory, size) = match self.native.allocate(request.size.min(limit)) {
            Err(DeviceError::OutOfMemory { .. }) if request.least < request.size => {
                (self.native.allocate(request.least.min(limit))?, request.least)
            }
            other => (other?, request.size),
        };
        let before = self.memory.reserved.fetch_add(size, Ordering::Relaxed);
        self.memory.reserved_peak.fetch_max(before.saturating_add(size), Ordering::Relaxed);
        Ok((memory, size))
    }

    fn take_over(&self, set: &PoolSet, request: &PageRequest, memory: MemoryId, size: u64) -> Option<Placement> {
        let placed = set.pools.lock().add_page(request, memory.0, size);
        if placed.is_err() {
            self.free_page(memory, size);
        }
        placed.ok()
    }

    fn free_page(&self, memory: MemoryId, size: u64) {
        self.memory.reserved.fetch_sub(size, Ordering::Relaxed);
        self.native.free(memory);
    }

    /// What to say of a page that cannot be had: what was asked for here, not how large the page would have been.
    fn no_page(&self, size: u64, failed: DeviceError) -> Arc<Failed> {
        match failed {
            DeviceError::OutOfMemory { free, .. } => {
                let (held, used) = (self.memory.reserved.load(Ordering::Relaxed), self.memory.bytes.load(Ordering::Relaxed));
                let text = DeviceError::OutOfMemory { asked: size, free };
                Failed::of(error(
                    code::OUT_OF_MEMORY,
                    format!("{text}; the pools of this device hold {held} bytes, for buffers of {used} bytes"),
                ))
            }
            failed => self.broken(failed),
        }
    }

    /// Where the bytes of a new buffer will be. Under a dry run, or where the caller wants it so, nothing is allocated yet (M5).
    pub(crate) fn find_home(&self, stream: Option<&Arc<Stream>>, size: u64, mode: AllocationMode, defer: bool) -> Result<Home> {
        if size == 0 {
            return Ok(Home::nowhere());
        }
        let dry_run = stream.and_then(|stream| stream.running_dry());
        if dry_run.is_none() && !defer {
            return Ok(Home::in_block(self.allocate(stream.map(Arc::as_ref), size, mode)?));
        }
        self.never_too_large(stream, size, mode)?;
        let measured = dry_run.map(|run| run.allocate(size, mode)).transpose()?;
        Ok(Home::deferred(Deferral { stream: stream.cloned(), mode, _measured: measured }))
    }

    /// What can never work is refused at once, also where the allocation is deferred.
    fn never_too_large(&self, stream: Option<&Arc<Stream>>, size: u64, mode: AllocationMode) -> Result<()> {
        let set = match stream {
            Some(stream) => stream.pools.get(),
            None => self.memory.own.get(),
        };
        let most = match set {
            Some(set) => set.pools.lock().most(mode),
            None => self.memory.settings.page_limit,
        };
        if size <= most {
            return Ok(());
        }
        Err(refused(&Refusal { asked: size, reason: Reason::TooLarge(most), room: Room::default() }))
    }

    /// What every buffer begins at a multiple of.
    pub(crate) fn alignment(&self) -> u64 {
        self.memory.settings.granule
    }

    /// Counts a new buffer.
    pub(crate) fn buffer_made(&self) {
        self.memory.buffers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes of somebody else's memory: they are in no pool, and of no budget.
    pub(crate) fn import_made(&self, size: u64) {
        self.memory.imported.fetch_add(size, Ordering::Relaxed);
    }

    /// Counts a buffer's bytes, now that there is memory for them.
    pub(crate) fn buffer_backed(&self, size: u64) {
        let store = &self.memory;
        let now = store.bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        // Most of the time there is nothing to change, and looking costs next to nothing.
        if now > store.bytes_peak.load(Ordering::Relaxed) {
            // What is kept for the next is no longer in use.
            let now = if store.let_go() { store.bytes.load(Ordering::Relaxed) } else { now };
            store.bytes_peak.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Counts a buffer out and gives its memory back, to be used again when its last uses on other queues are over. Needs no memory, never blocks.
    pub(crate) fn buffer_gone(&self, size: u64, left: Left, uses: LastUses) {
        self.memory.buffers.fetch_sub(1, Ordering::Relaxed);
        match left {
            Left::Block(block) => {
                self.memory.bytes.fetch_sub(size, Ordering::Relaxed);
                self.block_gone(block, uses);
            }
            Left::Import(import) => {
                self.memory.imported.fetch_sub(size, Ordering::Relaxed);
                self.let_go(import, &uses);
            }
            Left::Nothing | Left::Deferral(_) => {}
        }
    }

    /// Gives a block back, whose bytes were last used so.
    pub(crate) fn block_gone(&self, block: Block, mut uses: LastUses) {
        let Block { set, placement, charge } = block;
        let own = |last: &Use| Some(last.queue) == set.queue;
        let after = uses.iter().filter(own).map(|last| last.position).max().unwrap_or(0);
        if let Some(queue) = set.queue.filter(|_| charge.is_none()) {
            uses.forget(queue);
        }
        // What is charged stays so until every use is over (M6), on the own queue too, and so long it is not handed out.
        let used = uses.iter().next().is_some();
        let elsewhere = used.then_some(Elsewhere { uses, charge });
        let mut pools = set.pools.lock();
        pools.release(placement, after, elsewhere, &self.seen(&set));
        let (pages, more) = (pools.has_released(), pools.has_live());
        drop(pools);
        if pages {
            self.give_back(&set);
        }
        if set.ended.load(Ordering::Acquire) {
            self.clean_after(&set, if more { ENDED_LOOKS } else { usize::MAX });
        }
    }

    /// Looks at what was released: where its uses are over its charge ends. Waits for nothing, and may be called with locks of work held.
    fn look_at_releases(&self) {
        self.memory.each_set(|set| set.pools.lock().look(&self.seen(set)));
    }

    /// Frees the pages that a set has let go of.
    fn give_back(&self, set: &PoolSet) {
        loop {
            let page = set.pools.lock().take_released(&self.seen(set));
            let Some(page) = page else { return };
            self.free_page(MemoryId(page.memory), page.size);
        }
    }

    /// Gives every idle page of a set back. A set whose stream is gone is forgotten once it is empty.
    fn clean(&self, set: &Arc<PoolSet>) {
        self.clean_after(set, usize::MAX);
    }

    /// As [`Self::clean`], with a look at so many releases whose uses may be over.
    fn clean_after(&self, set: &Arc<PoolSet>, looks: usize) {
        set.let_go();
        set.pools.lock().cleanup_after(looks, &self.seen(set));
        self.give_back(set);
        let pools = set.pools.lock();
        let over = set.ended.load(Ordering::Acquire) && pools.is_empty() && pools.reserved() == 0;
        drop(pools);
        if over {
            self.memory.forget(set);
        }
    }

    /// The stream of a set is gone.
    pub(crate) fn set_ended(&self, set: &Arc<PoolSet>) {
        if let Some(keeper) = &set.keeper {
            keeper.end();
        }
        self.memory.ended.fetch_add(1, Ordering::Relaxed);
        set.ended.store(true, Ordering::Release);
        self.clean(set);
    }

    /// Gives every page back that holds nothing (M1). Does not wait for work.
    pub fn cleanup(&self) -> Result<()> {
        self.check()?;
        let _guard = self.guard();
        self.clean_all();
        self.reap();
        self.native.trim();
        Ok(())
    }

    pub(crate) fn clean_all(&self) {
        self.memory.each_set(|set| self.clean(set));
        let _ = self.memory.staging.clean();
    }

    /// Waits for what has been released and gives it back (M2): memory is short.
    fn reclaim(&self) {
        // Kernels that are kept for nobody take memory on some devices.
        self.kernels.forget();
        let mut newest = Newest::of(self);
        self.memory.each_set(|set| {
            set.let_go();
            let pools = set.pools.lock();
            pools.pending_uses().flat_map(|elsewhere| elsewhere.uses.iter()).for_each(|one| newest.note(one));
            if let Some(queue) = set.queue {
                newest.note(Use { queue, position: pools.idle_position() });
            }
        });
        self.each_retired(|one| newest.note(one));
        // Where there was no memory for that list, for all that has been enqueued.
        self.each_queue(|queue| {
            if let Some(position) = newest.of_queue(&queue) {
                // A device that fails meanwhile is found by the allocation that follows.
                let _ = queue.native.wait(position, None);
            }
        });
        // A wait may fail, and then the device may still be at it: cleaning up asks again.
        self.clean_all();
        self.reap();
    }
}

/// The latest of some uses on each queue of a device, by its index. `None`: there was no memory for a number per queue.
struct Newest(Option<SmallVec<[u64; 8]>>);

impl Newest {
    fn of(device: &Device) -> Self {
        let mut count = 0;
        device.each_queue(|_| count += 1);
        let mut all = SmallVec::new();
        if all.try_reserve(count).is_err() {
            return Self(None);
        }
        all.resize(count, 0);
        Self(Some(all))
    }

    /// What a queue that was made meanwhile does is newer than all that can be waited for.
    fn note(&mut self, one: Use) {
        if let Some(known) = self.0.as_mut().and_then(|all| all.get_mut(usize::from(one.queue))) {
            *known = one.position.max(*known);
        }
    }

    /// The latest use on a queue: the last that there is, where nothing could be noted.
    fn of_queue(&self, queue: &Queue) -> Option<u64> {
        let noted = |all: &SmallVec<[u64; 8]>| all.get(usize::from(queue.index)).copied();
        self.0.as_ref().map_or_else(|| Some(queue.last()), noted).filter(|position| *position > 0)
    }
}

impl Stream {
    /// Gives every page of the stream's pools back that holds nothing (M1). Does not wait for work.
    pub fn cleanup(&self) -> Result<()> {
        self.device.check()?;
        self.refused_recording("memory clean-up")?;
        let _guard = self.device.guard();
        if let Some(set) = self.pools.get() {
            self.device.clean(set);
        }
        Ok(())
    }

    /// Each pool of the stream in routing order, the persistent ones last (M4). `None` if it never allocated.
    /// Under a dry run, the pools that measure it (M5).
    pub fn memory_report(&self) -> Option<Vec<PoolReport>> {
        self.dry_report().or_else(|| {
            let set = self.pools.get()?;
            set.let_go();
            Some(set.pools.lock().report())
        })
    }

    /// While frozen, its pools take no page from the device and give none back: an allocation that they have no room for is refused.
    pub fn freeze_pools(&self, frozen: bool) -> Result<()> {
        self.device.check()?;
        self.refused_recording("freezing pools")?;
        self.pool_set()?.pools.lock().freeze(frozen);
        Ok(())
    }

    pub(crate) fn pool_set(&self) -> Result<&Arc<PoolSet>> {
        let keeper = || (!self.device.strict).then(|| Arc::clone(&self.keeper));
        self.pools.get_or_try_init(|| {
            let set = self.device.memory.new_set(Some(self.queue.index), keeper())?;
            if set.pools.lock().is_capped() {
                self.keeper.shut(CAPPED);
            }
            Ok(set)
        })
    }

    /// Replaces the main pools (M4): of this stream at once if nothing is live in them, of every later stream in any case.
    pub fn set_pools(&self, layout: Layout) -> Result<()> {
        self.device.check()?;
        self.refused_recording("replacing pools")?;
        let store = &self.device.memory;
        if let Err(invalid) = layout.check(store.settings.granule) {
            return fail(code::INVALID_LAYOUT, invalid.to_string());
        }
        let _guard = self.device.guard();
        // A stream that has had no memory yet has pools from here on, or it would get what another one sets until then.
        let set = self.pool_set()?;
        *store.layout.lock() = layout.clone();
        set.let_go();
        if set.pools.lock().is_frozen() {
            return fail(
                code::POOLS_FROZEN,
                format!("the pools of stream `{}` are frozen; thaw them before they are replaced", self.label),
            );
        }
        let mut pools = set.pools.lock();
        let replaced = pools.replace(layout, &self.device.seen(set));
        let capped = pools.is_capped();
        drop(pools);
        self.device.give_back(set);
        if capped {
            self.keeper.close(CAPPED)
        } else {
            self.keeper.open(CAPPED)
        }
        replaced.map_err(|in_use| Failed::of(error(code::POOLS_IN_USE, in_use.to_string())))
    }
}

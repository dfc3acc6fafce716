//! Handles: 64-bit values that C holds instead of addresses, and the tables that they are looked up in. Nothing here knows what the values are.
//!
//! ```text
//! 63  62..59  58..46  45..24      23..0
//! [ 1 | tag  | salt  | generation | slot ]
//! ```
//!
//! A handle is looked up, never dereferenced: stale, garbage, of another type, of another copy of the library all answer "none".
//! - The top bit keeps every address of user space out. Tag 0 and 15 are not used, so neither NULL nor -1 is ever a handle.
//! - The salt is random per table and copy of the library. Each slot counts its generations from a number of its own, random too, so that a
//!   handle of another copy, or a guess, has 35 bits to get right.
//! - A slot whose generations are used up is retired rather than reused.
//!
//! Looking up takes no lock ([`word`]; [`lanes`] for what many threads look up at once). Making and ending a handle takes a short one. Slots live in chunks that never move and are never given back, each
//! chunk twice the one before. A value is dropped outside the lock, by whoever ends the handle or lets go of the last guard.

mod lanes;
mod sync;
mod word;

use std::alloc::{Layout, alloc_zeroed};
use std::cell::UnsafeCell;
use std::hash::{BuildHasher, RandomState};
use std::hint::cold_path;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{self, NonNull};

use parking_lot::Mutex;
use sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use word::{GENERATION_BITS, Held, LAST_GENERATION, Word};

const SLOT_BITS: u32 = 24;
const TAG_SHIFT: u32 = 59;
const SALT_SHIFT: u32 = SLOT_BITS + GENERATION_BITS;
const SALT_BITS: u32 = TAG_SHIFT - SALT_SHIFT;
const MARK: u64 = 1 << 63;

const FIRST_CHUNK_BITS: u32 = 6;
const CHUNKS: usize = (SLOT_BITS - FIRST_CHUNK_BITS) as usize;
/// How many slots a table can have. The 64 numbers above are never slots.
const MAX_SLOTS: u32 = (1 << SLOT_BITS) - (1 << FIRST_CHUNK_BITS);
/// The slot number of handles that stand for something made in advance.
const RESERVED_SLOT: u32 = (1 << SLOT_BITS) - 1;
/// No slot, in the free list.
const NONE: u32 = u32::MAX;

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tag {
    /// A device.
    Device = 1,
    /// A stream.
    Stream = 2,
    /// A buffer.
    Buffer = 3,
    /// A kernel.
    Kernel = 4,
    /// An event.
    Event = 5,
    /// An error.
    Error = 6,
    /// A budget.
    Budget = 7,
    /// A readback.
    Readback = 8,
    /// A mapping.
    Mapping = 9,
    /// A graph builder.
    GraphBuilder = 10,
    /// A graph.
    Graph = 11,
}

const _: () = assert!((Tag::Graph as u64) < (MARK >> TAG_SHIFT) - 1, "the tag has room in a handle, and is not all ones");

/// Why no handle could be made: memory, or all 16 million are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// What a change to the number of references came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Done; the handle goes on.
    Kept,
    /// That was the last one; the handle has ended.
    Ended,
    /// The handle is not good.
    Invalid,
    /// There are 4 billion references already.
    Full,
}

/// What giving up a reference came to.
pub(crate) enum GivenUp<'t, T> {
    /// The handle goes on.
    Kept,
    /// That was the last one; the handle has ended, and the object goes with the last guard, of which this is one.
    Ended(Guard<'t, T>),
    /// That was the last one, and nobody looks at the object: it is the caller's, and so is the slot, unless that is used up.
    Taken(T, Option<u32>),
    /// The handle is not good.
    Invalid,
}

/// What a slot has whatever its value is: looking up is the same code for all tables.
#[repr(C)]
struct Head {
    word: Word,
    /// The caller's references, from 1. Counted apart from the guards.
    references: AtomicU32,
    /// The next free slot. Touched under the lock of the free list only.
    next: AtomicU32,
    /// Which slot it is, and what its generations count from. Never change once the slot is used.
    number: AtomicU32,
    first: AtomicU32,
}

/// A slot has a cache line of its own, so that threads at work on different objects do not disturb each other.
#[repr(C, align(64))]
struct Slot<T> {
    head: Head,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Bytes of a slot.
const SLOT: usize = 64;

impl<T> Deref for Slot<T> {
    type Target = Head;
    fn deref(&self) -> &Head {
        &self.head
    }
}

impl<T> Slot<T> {
    fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The word has given this thread the value: the slot is dead, no guard is left, and nobody else was given it.
    unsafe fn take_value(&self) -> T {
        // SAFETY: as our own caller says.
        unsafe { (*self.value.get()).assume_init_read() }
    }
}

struct Free {
    head: u32,
    tail: u32,
    /// Slots below this number have been used.
    used: u32,
}

/// All objects of one type. Made to be a `static`: a table is never dropped, nor are its chunks.
pub(crate) struct Table<T> {
    tag: Tag,
    /// Its objects are looked up by many threads at once, and end seldom.
    busy: bool,
    /// 0 until the first handle is made.
    secret: AtomicU64,
    index: Index,
    free: Mutex<Free>,
    values: PhantomData<T>,
}

/// What looking up needs.
struct Index {
    /// What all handles of the table have above their generation; before any is made, a guess at it.
    mine: AtomicU64,
    /// Rows of slots, [`SLOT`] bytes each.
    chunks: [AtomicPtr<Head>; CHUNKS],
}

/// What came of a look-up.
enum Look {
    /// The slot is held.
    Held(NonNull<Head>),
    /// The handle is not good.
    No,
    /// The handle is not good, and the caller now owns the value of the dead slot.
    Last(NonNull<Head>),
}

impl Index {
    /// Slot and generation of a handle that could be of this table.
    #[inline]
    fn find(&self, handle: u64) -> Option<(NonNull<Head>, u32)> {
        if (handle ^ self.mine.load(Ordering::Relaxed)) >> SALT_SHIFT != 0 {
            cold_path();
            return None;
        }
        let head = self.slot((handle & ((1 << SLOT_BITS) - 1)) as u32)?;
        // SAFETY: `slot` gives what was allocated as a slot, and never goes.
        let first = unsafe { head.as_ref() }.first.load(Ordering::Relaxed);
        let counted = (handle >> SLOT_BITS) as u32;
        Some((head, counted.wrapping_sub(first) & LAST_GENERATION))
    }

    /// The slot of that number, if its chunk exists.
    #[inline]
    fn slot(&self, number: u32) -> Option<NonNull<Head>> {
        let (chunk, index) = place(number);
        let first = NonNull::new(self.chunks.get(chunk)?.load(Ordering::Acquire))?;
        // SAFETY: a chunk that is not null has 64 << chunk slots of that size, and `place` stays below that.
        Some(unsafe { first.byte_add(index * SLOT) })
    }

    /// Looks a handle up and holds its slot by the count.
    #[inline(never)]
    fn hold(&self, handle: u64) -> Look {
        let Some((head, generation)) = self.find(handle) else { return Look::No };
        // SAFETY: `find` gives what was allocated as a slot, and never goes.
        match unsafe { head.as_ref() }.word.acquire(generation) {
            Held::Yes => Look::Held(head),
            Held::No => Look::No,
            Held::NoAndLast => Look::Last(head),
        }
    }
}

// SAFETY: values are moved in by one thread, shared by guards and dropped by whichever is last, and all of that is ordered by the slot's word.
unsafe impl<T: Send + Sync> Sync for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Table<T> {}

/// Keeps one object alive, also past the end of its handle.
pub(crate) struct Guard<'t, T> {
    table: &'t Table<T>,
    slot: &'t Slot<T>,
    /// Where it is written that the slot is held; `None`: in the slot's count.
    place: Option<lanes::Place>,
}

/// Where a slot is: its chunk, and its place there.
fn place(slot: u32) -> (usize, usize) {
    let n = slot + (1 << FIRST_CHUNK_BITS);
    let top = 31 - n.leading_zeros();
    ((top - FIRST_CHUNK_BITS) as usize, (n - (1 << top)) as usize)
}

fn salt(secret: u64) -> u64 {
    secret >> (64 - SALT_BITS)
}

/// What a slot's generations count from.
fn first_generation(secret: u64, slot: u32) -> u32 {
    let mixed = (u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ secret).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> (64 - GENERATION_BITS)) as u32
}

impl<T> Table<T> {
    /// An empty table.
    pub(crate) const fn new(tag: Tag) -> Self {
        const { assert!(size_of::<Slot<T>>() == SLOT, "a value has room in a slot") };
        Self {
            tag,
            busy: false,
            secret: AtomicU64::new(0),
            index: Index {
                mine: AtomicU64::new(MARK | (tag as u64) << TAG_SHIFT),
                chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            },
            free: Mutex::new(Free { head: NONE, tail: NONE, used: 0 }),
            values: PhantomData,
        }
    }

    /// A table for objects that many threads look up at once, and that end seldom.
    pub(crate) const fn busy(tag: Tag) -> Self {
        Self { busy: true, ..Self::new(tag) }
    }

    /// Makes a handle with one reference. The value is dropped where there is no room for it.
    pub(crate) fn insert(&self, value: T) -> Result<u64, NoMemory> {
        let number = self.take_slot().ok_or(NoMemory)?;
        let slot = self.slot(number).ok_or(NoMemory)?;
        // SAFETY: a slot that comes from the free list has no value, and is this thread's.
        Ok(unsafe { self.fill(slot, number, value) })
    }

    /// Makes a handle with one reference, in a slot that [`Self::give_up`] has left to the caller.
    ///
    /// # Safety
    /// The slot is the caller's: it was left by `give_up` of this table, and has been neither filled nor given back since.
    pub(crate) unsafe fn insert_at(&self, number: u32, value: T) -> Option<u64> {
        let slot = self.slot(number)?;
        // SAFETY: as our own caller says.
        Some(unsafe { self.fill(slot, number, value) })
    }

    /// # Safety
    /// The slot is the caller's, and has no value.
    unsafe fn fill(&self, slot: &Slot<T>, number: u32, value: T) -> u64 {
        // SAFETY: a slot that is neither live nor full is touched by its owner only.
        unsafe { (*slot.value.get()).write(value) };
        slot.references.store(1, Ordering::Relaxed);
        let handle = self.compose(self.secret(), slot.first.load(Ordering::Relaxed), number, slot.word.generation());
        slot.word.publish();
        handle
    }

    /// Whether a handle is good at this moment. It may not be at the next.
    pub(crate) fn is_live(&self, handle: u64) -> bool {
        let found = self.find(handle);
        found.is_some_and(|(slot, generation)| slot.word.is_live_now(generation))
    }

    /// Looks a handle up and keeps its object alive, in one step.
    pub(crate) fn get(&self, handle: u64) -> Option<Guard<'_, T>> {
        if self.busy { self.get_busy(handle) } else { self.get_plain(handle) }
    }

    /// [`Self::get`] for whoever knows that the table is not busy.
    #[inline]
    pub(crate) fn get_plain(&self, handle: u64) -> Option<Guard<'_, T>> {
        debug_assert!(!self.busy);
        match self.index.hold(handle) {
            // SAFETY: the index of this table holds slots of this table.
            Look::Held(head) => Some(Guard { table: self, slot: unsafe { head.cast().as_ref() }, place: None }),
            Look::No => {
                cold_path();
                None
            }
            Look::Last(head) => {
                cold_path();
                // SAFETY: as above.
                self.dispose(unsafe { head.cast().as_ref() });
                None
            }
        }
    }

    /// [`Self::get`] for whoever knows that the table is busy.
    pub(crate) fn get_busy(&self, handle: u64) -> Option<Guard<'_, T>> {
        let (slot, generation) = self.find(handle)?;
        if let Some(place) = lanes::publish(ptr::from_ref(slot).addr()) {
            // Dropped where the handle turns out to be no good, which gives the place back and does the last one's duty.
            let guard = Guard { table: self, slot, place: Some(place) };
            if slot.word.is_live_now(generation) {
                return Some(guard);
            }
            cold_path();
            return None;
        }
        cold_path();
        if slot.word.hold(generation) {
            return Some(Guard { table: self, slot, place: None });
        }
        self.dispose_if_last(slot);
        None
    }

    /// Drops the value of a dead slot of a busy table if nobody holds it any more.
    #[inline]
    fn dispose_if_last(&self, slot: &Slot<T>) {
        if let Some(seen) = slot.word.dead() {
            self.dispose_if_unheld(slot, seen);
        }
    }

    #[cold]
    fn dispose_if_unheld(&self, slot: &Slot<T>, seen: u64) {
        if !lanes::holds(ptr::from_ref(slot).addr()) && slot.word.take(seen) {
            self.dispose(slot);
        }
    }

    /// Calls `each` with every object that has a handle. One that is made or ended meanwhile may be missed.
    pub(crate) fn each(&self, mut each: impl FnMut(&T)) {
        let used = self.free.lock().used;
        for number in 0..used {
            let handle =
                |slot: &Slot<T>| self.compose(self.secret(), slot.first.load(Ordering::Relaxed), number, slot.word.generation());
            let live = self.slot(number).and_then(|slot| self.get(handle(slot)));
            if let Some(live) = live {
                each(&live);
            }
        }
    }

    /// Adds a reference.
    pub(crate) fn retain(&self, handle: u64) -> Counted {
        let Some(guard) = self.get(handle) else { return Counted::Invalid };
        let count = |n: u32| if n == 0 { None } else { n.checked_add(1) };
        match guard.slot.references.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) {
            Ok(_) => Counted::Kept,
            Err(0) => Counted::Invalid,
            Err(_) => Counted::Full,
        }
    }

    /// Takes a reference away, and ends the handle with the last one.
    pub(crate) fn release(&self, handle: u64) -> Counted {
        match self.give_up(handle) {
            GivenUp::Kept => Counted::Kept,
            GivenUp::Ended(_) => Counted::Ended,
            GivenUp::Invalid => Counted::Invalid,
            GivenUp::Taken(value, slot) => {
                // The slot first: what the value's end does may take long.
                if let Some(number) = slot {
                    self.vacate(number);
                }
                drop(value);
                Counted::Ended
            }
        }
    }

    /// As [`Self::release`], and leaves the object and its slot to the caller where nobody else looks at the object.
    pub(crate) fn give_up(&self, handle: u64) -> GivenUp<'_, T> {
        let Some((slot, generation)) = self.find(handle) else { return GivenUp::Invalid };
        // Who has the only reference need not hold the slot while it goes. Should the slot be in another life already, its word says so.
        if !self.busy && slot.references.load(Ordering::Acquire) == 1 {
            return match slot.word.end_or_hold(generation) {
                None => GivenUp::Invalid,
                Some(false) => GivenUp::Ended(Guard { table: self, slot, place: None }),
                // SAFETY: the word has just given this thread the value.
                Some(true) => GivenUp::Taken(unsafe { slot.take_value() }, (!slot.word.is_retired()).then_some(slot.number())),
            };
        }
        let Some(guard) = self.get(handle) else { return GivenUp::Invalid };
        match guard.slot.references.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)) {
            Ok(1) if self.destroy(handle) => GivenUp::Ended(guard),
            Ok(1) | Err(_) => GivenUp::Invalid,
            Ok(_) => GivenUp::Kept,
        }
    }

    /// Gives a slot back that was left to the caller.
    pub(crate) fn vacate(&self, number: u32) {
        if let Some(slot) = self.slot(number) {
            self.give_slot(slot, number);
        }
    }

    /// Ends a handle at once, whatever its references. The object goes with the last guard. False: the handle is not good.
    pub(crate) fn destroy(&self, handle: u64) -> bool {
        let Some((slot, generation)) = self.find(handle) else { return false };
        if self.busy {
            let ended = slot.word.end_only(generation);
            if ended {
                self.dispose_if_last(slot);
            }
            return ended;
        }
        match slot.word.end(generation) {
            None => false,
            Some(last) => {
                if last {
                    self.dispose(slot);
                }
                true
            }
        }
    }

    /// A handle that no slot has: for an object made in advance. Needs no memory.
    pub(crate) fn reserved(&self) -> u64 {
        let secret = self.secret();
        self.compose(secret, first_generation(secret, RESERVED_SLOT), RESERVED_SLOT, 0)
    }

    /// Takes the value out of a dead slot, frees the slot, and then drops the value. For the one who was told to by the slot's word.
    #[cold]
    fn dispose(&self, slot: &Slot<T>) {
        // SAFETY: the word gave this thread the value and nobody else: the slot is dead and no guard is left.
        let value = unsafe { slot.take_value() };
        if !slot.word.is_retired() {
            self.give_slot(slot, slot.number());
        }
        drop(value);
    }

    /// The secret, made at first use.
    fn secret(&self) -> u64 {
        // What was stored before it is seen with it.
        match self.secret.load(Ordering::Acquire) {
            0 => self.make_secret(),
            secret => secret,
        }
    }

    #[cold]
    fn make_secret(&self) -> u64 {
        // The address tells two copies of the library apart even where randomness is poor.
        let made = RandomState::new().hash_one(ptr::from_ref(self).addr()) | 1;
        let _alone = self.free.lock();
        match self.secret.load(Ordering::Relaxed) {
            0 => {
                self.set_secret(made);
                made
            }
            secret => secret,
        }
    }

    fn set_secret(&self, secret: u64) {
        self.index.mine.store(self.compose(secret, 0, 0, 0), Ordering::Relaxed);
        self.secret.store(secret, Ordering::Release);
    }

    fn compose(&self, secret: u64, first: u32, number: u32, generation: u32) -> u64 {
        let counted = first.wrapping_add(generation) & LAST_GENERATION;
        MARK | (self.tag as u64) << TAG_SHIFT | salt(secret) << SALT_SHIFT | u64::from(counted) << SLOT_BITS | u64::from(number)
    }

    /// Slot and generation of a handle that could be of this table.
    #[inline]
    fn find(&self, handle: u64) -> Option<(&Slot<T>, u32)> {
        let (head, generation) = self.index.find(handle)?;
        // SAFETY: the index of this table finds slots of this table; zeroed memory is a valid row of slots, and chunks are never freed.
        Some((unsafe { head.cast().as_ref() }, generation))
    }

    /// The slot of that number, if its chunk exists.
    fn slot(&self, number: u32) -> Option<&Slot<T>> {
        // SAFETY: as in `find`.
        Some(unsafe { self.index.slot(number)?.cast().as_ref() })
    }

    fn take_slot(&self) -> Option<u32> {
        let secret = self.secret();
        let mut free = self.free.lock();
        if free.head != NONE {
            let number = free.head;
            free.head = self.slot(number)?.next.load(Ordering::Relaxed);
            if free.head == NONE {
                free.tail = NONE;
            }
            return Some(number);
        }
        let number = free.used;
        if number >= MAX_SLOTS {
            return None;
        }
        let (chunk, index) = place(number);
        if index == 0 {
            self.add_chunk(chunk)?;
        }
        let slot = self.slot(number)?;
        slot.number.store(number, Ordering::Relaxed);
        slot.first.store(first_generation(secret, number), Ordering::Relaxed);
        free.used += 1;
        Some(number)
    }

    /// Queues a slot behind the free ones: the longer it rests, the longer a stale handle is told from a new one by its generation.
    fn give_slot(&self, slot: &Slot<T>, number: u32) {
        let mut free = self.free.lock();
        slot.next.store(NONE, Ordering::Relaxed);
        let last = if free.tail == NONE { None } else { self.slot(free.tail) };
        match last {
            Some(last) => last.next.store(number, Ordering::Relaxed),
            None => free.head = number,
        }
        free.tail = number;
    }

    fn add_chunk(&self, chunk: usize) -> Option<()> {
        let entry = self.index.chunks.get(chunk)?;
        if !entry.load(Ordering::Relaxed).is_null() {
            return Some(());
        }
        let layout = Layout::array::<Slot<T>>(1_usize << (chunk + FIRST_CHUNK_BITS as usize)).ok()?;
        // SAFETY: a slot is not of size zero, so neither is the layout.
        let first = unsafe { alloc_zeroed(layout) }.cast::<Head>();
        entry.store(first, Ordering::Release);
        if first.is_null() { None } else { Some(()) }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the word held the slot in the generation of a published value, and the value stays until the last hold is given back.
        unsafe { (*self.slot.value.get()).assume_init_ref() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if !self.table.busy {
            if self.slot.word.release() {
                cold_path();
                self.table.dispose(self.slot);
            }
            return;
        }
        match &self.place {
            Some(place) => place.clear(),
            None => {
                cold_path();
                self.slot.word.release_only();
            }
        }
        self.table.dispose_if_last(self.slot);
    }
}

#[cfg(test)]
mod tests;

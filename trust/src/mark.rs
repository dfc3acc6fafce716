//! Marks of allocations that calls in flight hold, and when each allocation was last used.
//!
//! A call marks everything that it touches, all or none, in the order of the allocations' ids, decides, and keeps the marks until it has settled.
//! So **no call decides on bytes whose writer has not settled, and the order in which the marks are taken is the order of the world.** A call that
//! holds all of its marks never waits for another mark, so nothing can deadlock; one that finds a mark taken gives back what it holds
//! and sleeps until that mark is released.
//!
//! A clean allocation that is only read is marked shared; everything else exclusively. So whoever may look at or change an
//! allocation's byte map is alone with it, and the common case (clean inputs, whole outputs) never looks at a map at all.
//!
//! Readers overlap, so a mark that they keep taking may never be free by itself. **Who sleeps for the exclusive mark reserves it:** no reader
//! comes in until somebody has had it exclusively. A call that has reserved a mark tries it exclusively until it has it. It waits meanwhile only
//! for marks before that one, in the order of ids, so that nobody waits in a ring.

use std::fmt;
use std::hint::cold_path;
use std::time::Instant;

use smallvec::SmallVec;

use crate::NoMemory;
use crate::sync::{AtomicU64, Condvar, Mutex, Ordering, wait};

const EXCLUSIVE: u64 = 1 << 63;
const AWAITED: u64 = 1 << 62;
const DIRTY: u64 = 1 << 61;
const PENDING: u64 = 1 << 60;
const RESERVED: u64 = 1 << 59;
const READERS: u64 = (1 << 32) - 1;

/// The in-flight mark of one allocation, with what a call must know before it looks any further.
pub struct Mark {
    word: AtomicU64,
}

/// Why a mark could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Somebody who excludes the caller holds it: wait for them to settle.
    Busy,
    /// Not every byte is trusted, or some derive from work that may still fail: only an exclusive mark may look.
    Unclean,
}

/// What an exclusive mark found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Some byte is not trusted.
    pub dirty: bool,
    /// Some byte derives from work that may still fail (T13).
    pub pending: bool,
}

/// Where calls sleep until a mark is released; one per device.
#[derive(Default)]
pub struct Gate {
    lock: Mutex<()>,
    released: Condvar,
}

impl Gate {
    /// A gate with nobody waiting.
    pub fn new() -> Self {
        Self { lock: Mutex::new(()), released: Condvar::new() }
    }

    /// Sleeps until `mark` is no longer held in a way that refused the caller. The caller holds no mark. After an exclusive wait it tries
    /// this mark exclusively until it has it, as no reader does before.
    pub fn wait(&self, mark: &Mark, exclusive: bool) {
        let _ = self.wait_until(mark, exclusive, None);
    }

    /// As [`Self::wait`], until a deadline at most. False: it has passed, and nothing is reserved for the caller.
    #[must_use]
    pub fn wait_until(&self, mark: &Mark, exclusive: bool, deadline: Option<Instant>) -> bool {
        let mut guard = self.lock.lock();
        // The flag is raised under the lock, and a releaser that sees it takes the lock before it notifies: no wake-up is lost.
        while mark.announce(exclusive) {
            let in_time;
            (guard, in_time) = wait(&self.released, guard, deadline);
            if in_time {
                continue;
            }
            if exclusive {
                // Another who sleeps for it reserves it again when they wake; readers may have nobody else to wake them.
                mark.cancel();
                self.released.notify_all();
            }
            return false;
        }
        true
    }

    /// Wakes sleepers. Called after a release that said that somebody waits.
    pub fn wake(&self) {
        drop(self.lock.lock());
        self.released.notify_all();
    }
}

impl Mark {
    /// A mark that nobody holds.
    pub fn new(dirty: bool) -> Self {
        Self { word: AtomicU64::new(if dirty { DIRTY } else { 0 }) }
    }

    /// Takes a shared mark: for an allocation that is only read and wholly trusted.
    #[inline]
    pub fn try_shared(&self) -> Result<(), Refused> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & (EXCLUSIVE | DIRTY | PENDING | RESERVED) != 0 {
                cold_path();
                let unclean = word & EXCLUSIVE == 0 && word & (DIRTY | PENDING) != 0;
                return Err(if unclean { Refused::Unclean } else { Refused::Busy });
            }
            match self.word.compare_exchange_weak(word, word + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Takes the exclusive mark.
    #[inline]
    pub fn try_exclusive(&self) -> Result<Found, Refused> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & (EXCLUSIVE | READERS) != 0 {
                cold_path();
                return Err(Refused::Busy);
            }
            match self.word.compare_exchange_weak(word, word | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(Found { dirty: word & DIRTY != 0, pending: word & PENDING != 0 }),
                Err(now) => word = now,
            }
        }
    }

    /// Gives a shared mark back; true: call [`Gate::wake`].
    #[must_use]
    #[inline]
    pub fn release_shared(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            // Only the last reader wakes: a writer cannot go on before. What it has reserved stays so until it has come.
            let last = word & READERS == 1;
            let next = if last { (word - 1) & !AWAITED } else { word - 1 };
            match self.word.compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return last && word & AWAITED != 0,
                Err(now) => word = now,
            }
        }
    }

    /// Gives the exclusive mark back and says how the allocation is now; true: call [`Gate::wake`]. Nothing is reserved from then on: readers who
    /// have slept meanwhile get as good a chance as the next writer.
    #[must_use]
    #[inline]
    pub fn release_exclusive(&self, now: Found) -> bool {
        let flags = if now.dirty { DIRTY } else { 0 } | if now.pending { PENDING } else { 0 };
        self.word.swap(flags, Ordering::Release) & AWAITED != 0
    }

    /// How the allocation is, as far as it can be known without holding a mark.
    #[inline]
    pub fn glance(&self) -> Found {
        let word = self.word.load(Ordering::Acquire);
        Found { dirty: word & (DIRTY | EXCLUSIVE) != 0, pending: word & PENDING != 0 }
    }

    /// Whether some call is at it exclusively: what earlier ones have written is noted, and seen by the caller, once none is.
    #[inline]
    pub fn is_exclusive(&self) -> bool {
        self.word.load(Ordering::Acquire) & EXCLUSIVE != 0
    }

    /// Raises the flag that somebody waits, if there is still something to wait for.
    fn announce(&self, exclusive: bool) -> bool {
        let (refuses, raised) =
            if exclusive { (EXCLUSIVE | READERS, AWAITED | RESERVED) } else { (EXCLUSIVE | RESERVED, AWAITED) };
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & refuses == 0 {
                return false;
            }
            match self.word.compare_exchange_weak(word, word | raised, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Whoever reserved it does not come.
    fn cancel(&self) {
        self.word.fetch_and(!RESERVED, Ordering::Relaxed);
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mark({:#x})", self.word.load(Ordering::Relaxed))
    }
}

/// Highest queue index that [`Uses`] can hold.
pub const MAX_QUEUES: u16 = u16::MAX - 1;
/// Highest position that [`Uses`] can hold: 2^48 - 1, three thousand years at a launch per microsecond on one queue.
pub const MAX_POSITION: u64 = (1 << 48) - 1;

const INLINE: usize = 4;

/// A position on a queue of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Index of the queue on its device.
    pub queue: u16,
    /// Position on that queue.
    pub position: u64,
}

impl Use {
    #[inline]
    const fn pack(self) -> u64 {
        ((self.queue as u64 + 1) << 48) | self.position
    }
    #[inline]
    const fn unpack(word: u64) -> Option<Self> {
        if word == 0 { None } else { Some(Self { queue: (word >> 48) as u16 - 1, position: word & MAX_POSITION }) }
    }
}

/// When an allocation was last used, per queue: what later work, and its release, wait for.
///
/// Changed only by calls that hold the allocation's mark: `note_write` exclusively, `note_read` shared or exclusively and under the submission
/// lock of the queue that it names.
#[derive(Default)]
#[repr(C)] // What every launch looks at comes first, and lies together.
pub struct Uses {
    write: AtomicU64,
    /// Direct-mapped by queue; queues that meet an occupied place go to `more`.
    reads: [AtomicU64; INLINE],
    spilled: AtomicU64,
    more: Mutex<SmallVec<[Use; 1]>>,
}

impl Uses {
    /// Never used.
    pub fn new() -> Self {
        Self {
            write: AtomicU64::new(0),
            reads: std::array::from_fn(|_| AtomicU64::new(0)),
            spilled: AtomicU64::new(0),
            more: Mutex::new(SmallVec::new()),
        }
    }

    /// The last write.
    #[inline]
    pub fn last_write(&self) -> Option<Use> {
        Use::unpack(self.write.load(Ordering::Acquire))
    }

    /// Whether work on a queue has anything to wait for on other queues: the last write, and if it writes itself, the reads since. May say so when there is nothing.
    #[inline]
    pub fn elsewhere(&self, queue: u16, writes: bool) -> bool {
        let mine = Use { queue, position: 0 }.pack();
        // Nobody waits for position 0: there is nothing, or a place that is kept for a read.
        let elsewhere = |word: u64| word & MAX_POSITION != 0 && word ^ mine > MAX_POSITION;
        let mut any = elsewhere(self.write.load(Ordering::Acquire));
        if writes {
            any |= self.spilled.load(Ordering::Acquire) != 0;
            let reads = self.reads.each_ref().map(|place| place.load(Ordering::Acquire));
            // Most of what is written has not been read since the last write.
            if reads.iter().fold(0, |all, read| all | read) != 0 {
                any |= reads.into_iter().any(elsewhere);
            }
        }
        any
    }

    /// Calls `each` with the reads since that write.
    #[inline]
    pub fn each_read(&self, mut each: impl FnMut(Use)) {
        for place in &self.reads {
            // Position 0 is a place that is kept for a read.
            if let Some(read) = Use::unpack(place.load(Ordering::Acquire)).filter(|read| read.position > 0) {
                each(read);
            }
        }
        if self.spilled.load(Ordering::Acquire) != 0 {
            self.more.lock().iter().filter(|read| read.position > 0).for_each(|read| each(*read));
        }
    }

    /// Keeps a place for a read on this queue, so that noting it needs no memory (F2). Called as [`Self::note_read`] is.
    #[inline]
    pub fn expect_read(&self, queue: u16) -> Result<(), NoMemory> {
        let place = &self.reads[usize::from(queue) % INLINE];
        let kept = Use { queue, position: 0 };
        match Use::unpack(place.load(Ordering::Relaxed)) {
            Some(held) if held.queue == queue => Ok(()),
            None if place.compare_exchange(0, kept.pack(), Ordering::Release, Ordering::Relaxed).is_ok() => Ok(()),
            _ => self.expect_more(kept),
        }
    }

    #[cold]
    fn expect_more(&self, kept: Use) -> Result<(), NoMemory> {
        let mut more = self.more.lock();
        if !more.iter().any(|held| held.queue == kept.queue) {
            more.try_reserve(1).map_err(|_| NoMemory)?;
            more.push(kept);
            self.spilled.store(1, Ordering::Release);
        }
        Ok(())
    }

    /// All of them, for what comes after the allocation. Needs no memory (F2).
    pub fn take(&mut self) -> LastUses {
        let words = std::array::from_fn(|index| match index {
            0 => self.write.load(Ordering::Relaxed),
            index => self.reads[index - 1].load(Ordering::Relaxed),
        });
        LastUses { words, more: std::mem::take(&mut *self.more.lock()) }
    }

    /// Makes one use of all of them, the last, if they are all on one queue: for memory that serves again in that queue's order. False: they are
    /// not, and nothing has changed.
    pub fn join(&mut self, queue: u16) -> bool {
        let mut last = self.write.load(Ordering::Relaxed);
        let mut elsewhere = self.spilled.load(Ordering::Relaxed) != 0 || last != 0 && last >> 48 != u64::from(queue) + 1;
        for place in &self.reads {
            let word = place.load(Ordering::Relaxed);
            elsewhere |= word != 0 && word >> 48 != u64::from(queue) + 1;
            last = last.max(word);
        }
        if elsewhere {
            return false;
        }
        // A place that is only kept for a read is no use.
        self.write.store(if last & MAX_POSITION == 0 { 0 } else { last }, Ordering::Relaxed);
        for place in &self.reads {
            place.store(0, Ordering::Relaxed);
        }
        true
    }

    /// Notes a write: everything before it is ordered before it, so it alone remains.
    #[inline]
    pub fn note_write(&self, write: Use) {
        self.write.store(write.pack(), Ordering::Release);
        for place in &self.reads {
            place.store(0, Ordering::Release);
        }
        if self.spilled.load(Ordering::Acquire) != 0 {
            self.forget_more();
        }
    }

    #[cold]
    fn forget_more(&self) {
        self.more.lock().clear();
        self.spilled.store(0, Ordering::Release);
    }

    /// Notes a read, for which [`Self::expect_read`] has kept a place. Queues that find their inline place taken are kept aside, one entry each.
    #[inline]
    pub fn note_read(&self, read: Use) {
        let place = &self.reads[usize::from(read.queue) % INLINE];
        let found = place.load(Ordering::Relaxed);
        match Use::unpack(found) {
            // Only calls under this queue's submission lock touch a place that holds this queue.
            Some(held) if held.queue == read.queue => place.store(read.pack(), Ordering::Release),
            None if place.compare_exchange(0, read.pack(), Ordering::Release, Ordering::Relaxed).is_ok() => {}
            _ => self.note_more(read),
        }
    }

    #[cold]
    fn note_more(&self, read: Use) {
        let mut more = self.more.lock();
        match more.iter_mut().find(|held| held.queue == read.queue) {
            Some(held) => held.position = read.position,
            None => more.push(read),
        }
        self.spilled.store(1, Ordering::Release);
    }
}

/// The last uses of an allocation that is gone, one for each queue.
#[derive(Clone, Debug, Default)]
pub struct LastUses {
    /// Packed; 0 is none.
    words: [u64; 1 + INLINE],
    more: SmallVec<[Use; 1]>,
}

impl LastUses {
    /// Every one.
    pub fn iter(&self) -> impl Iterator<Item = Use> + '_ {
        let inline = self.words.iter().filter_map(|word| Use::unpack(*word));
        inline.chain(self.more.iter().copied()).filter(|last| last.position > 0)
    }

    /// Forgets those on one queue.
    pub fn forget(&mut self, queue: u16) {
        for word in &mut self.words {
            if Use::unpack(*word).is_some_and(|last| last.queue == queue) {
                *word = 0;
            }
        }
        self.more.retain(|last| last.queue != queue);
    }
}

impl From<Use> for LastUses {
    fn from(last: Use) -> Self {
        let mut uses = Self::default();
        uses.words[0] = last.pack();
        uses
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    const CLEAN: Found = Found { dirty: false, pending: false };

    #[test]
    fn readers_share_a_clean_allocation_and_a_writer_excludes_them() {
        let mark = Mark::new(false);
        assert_eq!(mark.try_shared(), Ok(()));
        assert_eq!(mark.try_shared(), Ok(()));
        assert_eq!(mark.try_exclusive(), Err(Refused::Busy));
        assert!(!mark.release_shared());
        assert!(!mark.release_shared());
        assert_eq!(mark.try_exclusive(), Ok(CLEAN));
        assert_eq!(mark.try_shared(), Err(Refused::Busy));
        assert!(!mark.release_exclusive(CLEAN));
        assert_eq!(mark.try_shared(), Ok(()));
    }

    #[test]
    fn an_unclean_allocation_is_never_shared() {
        let mark = Mark::new(true);
        assert_eq!(mark.try_shared(), Err(Refused::Unclean));
        assert_eq!(mark.try_exclusive(), Ok(Found { dirty: true, pending: false }));
        assert!(!mark.release_exclusive(Found { dirty: false, pending: true }));
        assert_eq!(mark.try_shared(), Err(Refused::Unclean));
    }

    #[test]
    fn a_release_tells_of_a_sleeper_once() {
        let mark = Mark::new(false);
        assert!(mark.try_exclusive().is_ok());
        assert!(mark.announce(false));
        assert!(mark.release_exclusive(CLEAN));
        assert!(!mark.announce(true));
        assert!(mark.try_exclusive().is_ok());
        assert!(!mark.release_exclusive(CLEAN));
    }

    #[test]
    fn l8_no_reader_comes_in_before_a_writer_who_sleeps() {
        let mark = Mark::new(false);
        assert_eq!([mark.try_shared(), mark.try_shared()], [Ok(()); 2]);
        assert!(mark.announce(true));
        assert_eq!(mark.try_shared(), Err(Refused::Busy));
        assert!(mark.announce(false), "who is refused has something to wait for");
        assert!(!mark.release_shared());
        assert_eq!(mark.try_shared(), Err(Refused::Busy));
        assert!(mark.release_shared());
        // It is free, but not for readers, however fast they are.
        assert_eq!(mark.try_shared(), Err(Refused::Busy));
        assert!(mark.announce(false));
        assert!(!mark.announce(true));
        assert_eq!(mark.try_exclusive(), Ok(CLEAN));
        assert!(mark.release_exclusive(CLEAN), "readers who waited for it are woken");
        assert_eq!(mark.try_shared(), Ok(()));
    }

    #[test]
    fn s2_who_gives_up_leaves_nothing_reserved() {
        let (mark, gate) = (Mark::new(false), Gate::new());
        assert_eq!(mark.try_shared(), Ok(()));
        assert!(!gate.wait_until(&mark, true, Some(Instant::now())));
        assert_eq!(mark.try_shared(), Ok(()));
        assert!(gate.wait_until(&mark, false, Some(Instant::now())));
    }

    fn reads(uses: &Uses) -> Vec<Use> {
        let mut all = Vec::new();
        uses.each_read(|read| all.push(read));
        all
    }

    #[test]
    fn l8_work_that_has_something_to_wait_for_is_always_told_so() {
        let mut random = 7_u64;
        let mut next = move |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let (mut some, mut none) = (0, 0);
        for _ in 0..500 {
            let uses = Uses::new();
            for position in 1..=next(8) {
                let queue = next(6) as u16;
                match next(3) {
                    0 => uses.note_write(Use { queue, position }),
                    1 => uses.note_read(Use { queue, position }),
                    _ => uses.expect_read(queue).unwrap(),
                }
                for queue in 0..6 {
                    let write = uses.last_write().is_some_and(|write| write.queue != queue);
                    let read = reads(&uses).iter().any(|read| read.queue != queue);
                    assert_eq!(uses.elsewhere(queue, false), write);
                    assert!(uses.elsewhere(queue, true) || !(write || read));
                    if uses.elsewhere(queue, true) { some += 1 } else { none += 1 }
                }
            }
        }
        assert!(some > 100 && none > 100, "{some} and {none}");
    }

    #[test]
    fn l8_every_queue_that_read_since_the_last_write_is_remembered() {
        let uses = Uses::new();
        assert_eq!(uses.last_write(), None);
        for queue in 0..11_u16 {
            uses.note_read(Use { queue, position: 1 });
            uses.note_read(Use { queue, position: 7 + u64::from(queue) });
        }
        let mut all = reads(&uses);
        all.sort_by_key(|read| read.queue);
        let expected: Vec<Use> = (0..11).map(|queue| Use { queue, position: 7 + u64::from(queue) }).collect();
        assert_eq!(all, expected);
        let mut uses = uses;
        uses.note_write(Use { queue: 3, position: MAX_POSITION });
        assert_eq!(uses.last_write(), Some(Use { queue: 3, position: MAX_POSITION }));
        assert!(reads(&uses).is_empty());
        assert_eq!(uses.take().iter().collect::<Vec<_>>(), [Use { queue: 3, position: MAX_POSITION }]);
    }

    #[test]
    fn l8_uses_on_one_queue_become_one_and_others_stay_as_they_are() {
        let mut uses = Uses::new();
        assert!(uses.join(3));
        uses.expect_read(3).unwrap();
        assert!(uses.join(3));
        assert_eq!((uses.last_write(), reads(&uses)), (None, vec![]));
        uses.note_write(Use { queue: 3, position: 5 });
        uses.note_read(Use { queue: 3, position: 9 });
        assert!(uses.join(3));
        assert_eq!((uses.last_write(), reads(&uses)), (Some(Use { queue: 3, position: 9 }), vec![]));
        assert!(!uses.join(2));
        for other in [4, 7] {
            uses.note_read(Use { queue: 3, position: 10 });
            uses.note_read(Use { queue: other, position: 1 });
            assert!(!uses.join(3));
            assert_eq!(uses.last_write(), Some(Use { queue: 3, position: 9 }));
            assert_eq!(reads(&uses).len(), 2);
            uses.note_write(Use { queue: 3, position: 9 });
        }
        uses.note_write(Use { queue: 4, position: 20 });
        assert!(!uses.join(3));
        assert_eq!(uses.last_write(), Some(Use { queue: 4, position: 20 }));
    }

    #[test]
    fn f2_a_place_that_is_kept_for_a_read_is_no_use_until_the_read_is_noted() {
        let mut uses = Uses::new();
        uses.note_write(Use { queue: 1, position: 5 });
        for queue in 0..9 {
            uses.expect_read(queue).unwrap();
            uses.expect_read(queue).unwrap();
        }
        assert!(reads(&uses).is_empty());
        for queue in [2, 6, 7] {
            uses.note_read(Use { queue, position: 8 });
        }
        let mut last = uses.take();
        let all = |last: &LastUses| last.iter().map(|one| (one.queue, one.position)).collect::<Vec<_>>();
        assert_eq!(all(&last), [(1, 5), (2, 8), (6, 8), (7, 8)]);
        last.forget(6);
        last.forget(1);
        assert_eq!(all(&last), [(2, 8), (7, 8)]);
        last.forget(2);
        last.forget(7);
        assert_eq!(last.iter().count(), 0);
    }
}

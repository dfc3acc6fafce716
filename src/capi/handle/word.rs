//! The state of one slot in one atomic word, so that "is it still this object?" and "keep it alive" are a single step. No memory, no values:
//! the table owns those and asks here when it may touch them.
//!
//! ```text
//! 56      55        34 33   32   31         0
//! [ retired | generation | full | live | count ]
//! ```
//!
//! - `count`: guards, and for a moment look-ups that will find out that they came with an old handle.
//! - `live`: the handle of this generation is good.
//! - `full`: the slot holds a value. Whoever takes this bit away owns the value, and that happens once per generation, when `live` has gone and
//!   `count` is zero. In the same step the slot enters its next generation, or is retired when there is none.
//!
//! A look-up adds to `count` first and judges what it saw after. When it came too late it takes its count back, and if it was in the way of the last
//! guard it does the last guard's duty. So no thread ever waits for another.

use std::hint::cold_path;

use super::sync::{AtomicU64, Ordering};

const COUNT: u64 = (1 << 32) - 1;
const LIVE: u64 = 1 << 32;
const FULL: u64 = 1 << 33;
const GENERATION_SHIFT: u32 = 34;
const RETIRED: u64 = 1 << 56;

/// Bits of a generation.
pub(super) const GENERATION_BITS: u32 = 22;
/// The last generation; a slot that has used it up is retired.
pub(super) const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

/// What became of an attempt to hold a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// The slot is held until [`Word::release`].
    Yes,
    /// The handle is not good. Nothing is held.
    No,
    /// The handle is not good, and the caller now owns the value of the dead slot ([`Word::release`] would have said true).
    NoAndLast,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Word(AtomicU64);

fn is_live(word: u64, generation: u32) -> bool {
    word & LIVE != 0 && word >> GENERATION_SHIFT == u64::from(generation)
}

/// The word of the emptied slot: in its next generation, or retired.
fn emptied(word: u64) -> u64 {
    let empty = word & !(LIVE | FULL);
    let last = word >> GENERATION_SHIFT == u64::from(LAST_GENERATION);
    if last { empty | RETIRED } else { empty + (1 << GENERATION_SHIFT) }
}

impl Word {
    /// A slot that was never used. All zero bits, so that zeroed memory is a row of these. (For the thread models.)
    #[cfg(test)]
    #[allow(dead_code)]
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The generation that the slot is in. Only its owner may rely on it.
    pub(super) fn generation(&self) -> u32 {
        // Truncation is meant: the field has 22 bits.
        (self.0.load(Ordering::Relaxed) >> GENERATION_SHIFT) as u32
    }

    /// Makes the slot live. The caller owns the slot and has written its value.
    pub(super) fn publish(&self) {
        self.0.fetch_or(LIVE | FULL, Ordering::Release);
    }

    /// Holds the slot if it is live in this generation.
    pub(super) fn acquire(&self, generation: u32) -> Held {
        // Spares the two writes for handles that are plainly stale.
        if !is_live(self.0.load(Ordering::Relaxed), generation) {
            cold_path();
            return Held::No;
        }
        if is_live(self.0.fetch_add(1, Ordering::Acquire), generation) {
            return Held::Yes;
        }
        cold_path();
        if self.release() { Held::NoAndLast } else { Held::No }
    }

    /// Gives a hold back. True: the caller now owns the value and the slot.
    #[must_use]
    pub(super) fn release(&self) -> bool {
        let left = self.0.fetch_sub(1, Ordering::Release) - 1;
        self.claim(left)
    }

    /// Ends the handle of this generation. `None`: it was not live. Otherwise as [`Self::release`].
    #[must_use]
    pub(super) fn end(&self, generation: u32) -> Option<bool> {
        self.end_and(generation, 0)
    }

    /// Ends the handle of this generation, and holds the slot where others do, in one step. `None`: it was not live. True: the caller now owns the value and the
    /// slot. False: the slot is held until [`Self::release`].
    #[must_use]
    pub(super) fn end_or_hold(&self, generation: u32) -> Option<bool> {
        self.end_and(generation, 1)
    }

    /// `holds`: how many the caller gets where it is not the last.
    #[inline]
    fn end_and(&self, generation: u32, holds: u64) -> Option<bool> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if !is_live(seen, generation) {
                return None;
            }
            let left = seen & !LIVE;
            let last = left & COUNT == 0;
            let next = if last { emptied(left) } else { left + holds };
            // What others did with the value comes before it is dropped, and so does what this thread did before another drops it.
            match self.0.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(last),
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the slot is live in this generation, for look-ups that have said elsewhere that they hold it.
    pub(super) fn is_live_now(&self, generation: u32) -> bool {
        is_live(self.0.load(Ordering::SeqCst), generation)
    }

    /// Ends the handle of this generation, and leaves the value to [`Self::dead`] and [`Self::take`]. False: it was not live.
    pub(super) fn end_only(&self, generation: u32) -> bool {
        let end = |seen| is_live(seen, generation).then_some(seen & !LIVE);
        self.0.fetch_update(Ordering::SeqCst, Ordering::Relaxed, end).is_ok()
    }

    /// Holds the slot by its count if it is live in this generation, and leaves the value to [`Self::dead`] and [`Self::take`].
    pub(super) fn hold(&self, generation: u32) -> bool {
        let held = is_live(self.0.fetch_add(1, Ordering::SeqCst), generation);
        if !held {
            self.release_only();
        }
        held
    }

    /// Gives a hold back, and leaves the value to [`Self::dead`] and [`Self::take`].
    pub(super) fn release_only(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// What to take the value of a dead slot by, if no count holds it.
    pub(super) fn dead(&self) -> Option<u64> {
        let seen = self.0.load(Ordering::SeqCst);
        (seen & (COUNT | LIVE | FULL) == FULL).then_some(seen)
    }

    /// Takes the duty to drop the value that [`Self::dead`] told of. One of several that try gets it: what was seen has the generation in
    /// it, so that nobody mistakes the slot's next life for this one.
    #[must_use]
    pub(super) fn take(&self, seen: u64) -> bool {
        self.0.compare_exchange(seen, emptied(seen), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the duty to drop the value, if `seen` says that nobody holds the dead slot. One of several that try gets it: the generation
    /// keeps a late one from mistaking the slot's next life for this one.
    fn claim(&self, seen: u64) -> bool {
        seen & (COUNT | LIVE | FULL) == FULL
            && self.0.compare_exchange(seen, emptied(seen), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether the slot's generations are used up: it must never be used again. For its owner.
    pub(super) fn is_retired(&self) -> bool {
        self.0.load(Ordering::Relaxed) & RETIRED != 0
    }

    /// Puts an unused slot into a late generation, so that a test need not live through all of them.
    #[cfg(test)]
    pub(super) fn age(&self, generation: u32) {
        self.0.store(u64::from(generation) << GENERATION_SHIFT, Ordering::Relaxed);
    }
}

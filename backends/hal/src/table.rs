//! Ids to things: what devices keep their blocks, kernels and graphs in. A growing table whose look-ups take no lock and write to no memory that threads
//! share: eight threads that launch one kernel would pass a count or a lock's word around between them.
//!
//! An id is a slot and a generation, so that an id outlives its thing harmlessly.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

use crate::DeviceError;

/// Slots of the first segment; each next segment has twice as many, so that slots never move.
const FIRST: u64 = 64;
/// As many as slots can be told apart in an id.
const SEGMENTS: usize = 27;

/// What a table holds.
pub trait Thing {
    /// What look-ups want to know of a thing without holding it. It never changes.
    fn numbers(&self) -> [u64; 3] {
        [0; 3]
    }
}

impl<T> Thing for Arc<T> {}

struct Entry<T> {
    id: u64,
    value: T,
}

/// On a cache line of its own.
#[repr(align(64))]
struct Slot<T> {
    /// Of the thing whose numbers these are; 0: of none.
    id: AtomicU64,
    numbers: [AtomicU64; 3],
    entry: ArcSwapOption<Entry<T>>,
    /// Of a free slot: the id that is given out after its own; 0: none. Changes under the lock of what is free.
    after: AtomicU64,
}

impl<T> Slot<T> {
    fn empty() -> Self {
        Self {
            id: AtomicU64::new(0),
            numbers: [const { AtomicU64::new(0) }; 3],
            entry: ArcSwapOption::empty(),
            after: AtomicU64::new(0),
        }
    }
}

/// See the module.
pub struct Table<T> {
    segments: [OnceLock<Box<[Slot<T>]>>; SEGMENTS],
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    /// The id to give out again first, its generation already raised; 0: none. The others follow from slot to slot, so that taking a thing out needs no memory.
    again: u64,
    next: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS], free: Mutex::default() }
    }
}

impl<T: Thing> Table<T> {
    /// Puts a thing in. 0 when the table is full (billions of things), which names nothing.
    pub fn insert(&self, value: T) -> u64 {
        let Some(id) = self.free_id() else { return 0 };
        if let Some(slot) = self.slot(id) {
            // Whoever sees one of these numbers sees with it that the id of the former thing has gone.
            fence(Ordering::Release);
            for (place, number) in slot.numbers.iter().zip(value.numbers()) {
                place.store(number, Ordering::Relaxed);
            }
            slot.entry.store(Some(Arc::new(Entry { id, value })));
            slot.id.store(id, Ordering::Release);
        }
        id
    }

    /// Asks for the host memory of the next slot, before what goes there is made. 4 KiB for the first, and for the others more and more.
    pub fn reserve(&self) -> Result<(), DeviceError> {
        let free = self.free.lock();
        let Ok(next) = u32::try_from(free.next) else { return Ok(()) };
        let (segment, _) = place(next);
        let Some(place) = self.segments.get(segment).filter(|place| free.again == 0 && place.get().is_none()) else {
            return Ok(());
        };
        let slots = (FIRST << segment) as usize;
        let mut made = Vec::new();
        let asked = slots.saturating_mul(size_of::<Slot<T>>()) as u64;
        made.try_reserve_exact(slots).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        made.resize_with(slots, Slot::empty);
        place.get_or_init(|| made.into_boxed_slice());
        Ok(())
    }

    fn free_id(&self) -> Option<u64> {
        let mut free = self.free.lock();
        let id = free.again;
        if id != 0 {
            free.again = self.slot(id).map_or(0, |slot| slot.after.load(Ordering::Relaxed));
            return Some(id);
        }
        let (segment, _) = place(u32::try_from(free.next).ok()?);
        self.segments.get(segment)?.get_or_init(|| (0..FIRST << segment).map(|_| Slot::empty()).collect());
        // Generations start at 1: no id is 0.
        let id = (1 << 32) | free.next;
        free.next += 1;
        Some(id)
    }
}

impl<T> Table<T> {
    /// The numbers of a thing ([`Thing::numbers`]), which need no hold on it.
    #[inline]
    pub fn numbers(&self, id: u64) -> Option<[u64; 3]> {
        let slot = self.slot(id)?;
        if slot.id.load(Ordering::Acquire) != id {
            return None;
        }
        let [a, b, c] = &slot.numbers;
        let numbers = [a, b, c].map(|number| number.load(Ordering::Relaxed));
        // Another thing's, if the slot was emptied and filled in between: an id is used once.
        fence(Ordering::Acquire);
        (slot.id.load(Ordering::Relaxed) == id).then_some(numbers)
    }

    /// Looks at a thing in place. It stays while it is looked at, also when it is taken out meanwhile.
    pub fn with<R>(&self, id: u64, look: impl FnOnce(&T) -> R) -> Option<R> {
        let entry = self.slot(id)?.entry.load();
        entry.as_ref().filter(|entry| entry.id == id).map(|entry| look(&entry.value))
    }

    fn slot(&self, id: u64) -> Option<&Slot<T>> {
        let (segment, offset) = place((id & u64::from(u32::MAX)) as u32);
        self.segments.get(segment)?.get()?.get(offset)
    }
}

impl<T: Clone> Table<T> {
    /// A copy of a thing.
    pub fn get(&self, id: u64) -> Option<T> {
        self.with(id, T::clone)
    }

    /// Takes a thing out; `None` when it is not there. Needs no memory.
    pub fn remove(&self, id: u64) -> Option<T> {
        let slot = self.slot(id)?;
        let mut free = self.free.lock();
        if slot.entry.load().as_ref()?.id != id {
            return None;
        }
        slot.id.store(0, Ordering::Relaxed);
        let entry = slot.entry.swap(None)?;
        // A slot whose generations are used up retires.
        if let Some(next) = id.checked_add(1 << 32) {
            slot.after.store(free.again, Ordering::Relaxed);
            free.again = next;
        }
        Some(entry.value.clone())
    }

    /// Takes all of them out.
    pub fn drain(&self) -> Vec<T> {
        let slots = self.segments.iter().filter_map(OnceLock::get).flat_map(|segment| segment.iter());
        let taken = slots.filter_map(|slot| {
            slot.id.store(0, Ordering::Relaxed);
            slot.entry.swap(None)
        });
        taken.map(|entry| entry.value.clone()).collect()
    }
}

/// The segment of a slot, and its place there.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + FIRST;
    let top = shifted.ilog2();
    ((top - FIRST.ilog2()) as usize, (shifted - (1 << top)) as usize)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Table, Thing};

    impl Thing for u64 {
        fn numbers(&self) -> [u64; 3] {
            [*self; 3]
        }
    }

    #[test]
    fn an_id_is_dead_after_removal_and_its_slot_comes_back_under_another_id() {
        let table = Table::<u64>::default();
        let first = table.insert(1);
        assert_eq!((table.get(first), table.numbers(first)), (Some(1), Some([1; 3])));
        assert_eq!(table.remove(first), Some(1));
        let second = table.insert(2);
        assert_ne!(first, second);
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff);
        assert_eq!((table.get(second), table.get(first), table.remove(first)), (Some(2), None, None));
        assert_eq!((table.numbers(second), table.numbers(first)), (Some([2; 3]), None));
        assert_eq!(table.drain(), [2]);
        assert_eq!((table.get(second), table.numbers(second)), (None, None));
    }

    #[test]
    fn a_thing_that_is_taken_out_while_somebody_looks_at_it_stays_until_then() {
        let table = Table::default();
        let kept = Arc::new(());
        let id = table.insert(kept.clone());
        table.with(id, |_| {
            drop(table.remove(id));
            assert_eq!(Arc::strong_count(&kept), 2);
        });
        assert_eq!(Arc::strong_count(&kept), 1);
    }

    #[test]
    fn ids_never_handed_out_name_nothing() {
        let table = Table::<u64>::default();
        for id in [0, 1, 63, 64, 1 << 32, u64::MAX, u64::from(u32::MAX)] {
            assert!(table.get(id).is_none() && table.numbers(id).is_none());
            assert!(table.remove(id).is_none());
        }
    }

    #[test]
    fn thousands_of_things_keep_their_ids_apart() {
        let table = Table::<u64>::default();
        let ids: Vec<u64> = (0..5000).map(|n| table.insert(n)).collect();
        for (n, id) in (0..).zip(&ids) {
            assert_eq!((table.get(*id), table.numbers(*id)), (Some(n), Some([n; 3])));
        }
        // The last that went comes back first; then there are new ones again.
        assert!(ids.iter().all(|id| table.remove(*id).is_some()));
        let again: Vec<u64> = (0..5001).map(|n| table.insert(n)).collect();
        for (old, new) in ids.iter().rev().zip(&again) {
            assert_eq!(old + (1 << 32), *new);
        }
        assert_eq!(again.last(), Some(&((1 << 32) | 5000)));
        for (n, id) in (0..).zip(&again) {
            assert_eq!(table.get(*id), Some(n));
        }
    }

    #[test]
    fn numbers_are_those_of_one_thing_while_others_come_and_go_in_its_slot() {
        let table = Table::<u64>::default();
        let newest = AtomicU64::new(table.insert(0));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut found = 0;
                while newest.load(Ordering::Acquire) != 0 {
                    let id = newest.load(Ordering::Acquire);
                    if let Some([a, b, c]) = table.numbers(id) {
                        // What is in there says in which life of the slot it was put there.
                        assert!(a == b && b == c && a == (id >> 32) - 1, "{a} {b} {c} of {id:#x}");
                        found += 1;
                    }
                }
                found
            });
            for n in 1..100_000 {
                table.remove(newest.load(Ordering::Relaxed));
                newest.store(table.insert(n), Ordering::Release);
            }
            newest.store(0, Ordering::Release);
            assert!(reader.join().is_ok_and(|found| found > 0));
        });
    }
}

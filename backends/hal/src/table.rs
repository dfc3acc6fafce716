//! Ids to things: what devices keep their blocks, kernels and graphs in. A growing table whose look-ups take no lock and write to no memory that threads
//! share: eight threads that launch one kernel would pass a count or a lock's word around between them.
//!
//! An id is a slot and a generation, so that an id outlives its thing harmlessly.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

/// Slots of the first segment; each next segment has twice as many, so that slots never move.
const FIRST: u64 = 64;
/// As many as slots can be told apart in an id.
const SEGMENTS: usize = 27;

struct Entry<T> {
    id: u64,
    value: T,
}

type Segment<T> = Box<[ArcSwapOption<Entry<T>>]>;

/// See the module.
pub struct Table<T> {
    segments: [OnceLock<Segment<T>>; SEGMENTS],
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    /// Ids to give out again, their generation already raised.
    again: Vec<u64>,
    next: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS], free: Mutex::default() }
    }
}

impl<T> Table<T> {
    /// Puts a thing in. 0 when the table is full (billions of things), which names nothing.
    pub fn insert(&self, value: T) -> u64 {
        let Some(id) = self.free_id() else { return 0 };
        if let Some(slot) = self.slot(id) {
            slot.store(Some(Arc::new(Entry { id, value })));
        }
        id
    }

    fn free_id(&self) -> Option<u64> {
        let mut free = self.free.lock();
        if let Some(id) = free.again.pop() {
            return Some(id);
        }
        let (segment, _) = place(u32::try_from(free.next).ok()?);
        self.segments.get(segment)?.get_or_init(|| (0..FIRST << segment).map(|_| ArcSwapOption::empty()).collect());
        // Generations start at 1: no id is 0.
        let id = (1 << 32) | free.next;
        free.next += 1;
        Some(id)
    }

    /// Looks at a thing in place. It stays while it is looked at, also when it is taken out meanwhile.
    pub fn with<R>(&self, id: u64, look: impl FnOnce(&T) -> R) -> Option<R> {
        let entry = self.slot(id)?.load();
        entry.as_ref().filter(|entry| entry.id == id).map(|entry| look(&entry.value))
    }

    fn slot(&self, id: u64) -> Option<&ArcSwapOption<Entry<T>>> {
        let (segment, offset) = place((id & u64::from(u32::MAX)) as u32);
        self.segments.get(segment)?.get()?.get(offset)
    }
}

impl<T: Clone> Table<T> {
    /// A copy of a thing.
    pub fn get(&self, id: u64) -> Option<T> {
        self.with(id, T::clone)
    }

    /// Takes a thing out; `None` when it is not there.
    pub fn remove(&self, id: u64) -> Option<T> {
        let slot = self.slot(id)?;
        let mut free = self.free.lock();
        if slot.load().as_ref()?.id != id {
            return None;
        }
        let entry = slot.swap(None)?;
        // A slot whose generations are used up retires.
        if let Some(next) = id.checked_add(1 << 32) {
            free.again.push(next);
        }
        Some(entry.value.clone())
    }

    /// Takes all of them out.
    pub fn drain(&self) -> Vec<T> {
        let slots = self.segments.iter().filter_map(OnceLock::get).flat_map(|segment| segment.iter());
        slots.filter_map(|slot| slot.swap(None)).map(|entry| entry.value.clone()).collect()
    }
}

/// The segment of a slot, and its place there.
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + FIRST;
    let top = shifted.ilog2();
    ((top - FIRST.ilog2()) as usize, (shifted - (1 << top)) as usize)
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn an_id_is_dead_after_removal_and_its_slot_comes_back_under_another_id() {
        let table = Table::default();
        let first = table.insert(1);
        assert_eq!(table.get(first), Some(1));
        assert_eq!(table.remove(first), Some(1));
        let second = table.insert(2);
        assert_ne!(first, second);
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff);
        assert_eq!((table.get(second), table.get(first), table.remove(first)), (Some(2), None, None));
        assert_eq!(table.drain(), [2]);
        assert_eq!(table.get(second), None);
    }

    #[test]
    fn a_thing_that_is_taken_out_while_somebody_looks_at_it_stays_until_then() {
        let table = Table::default();
        let kept = std::sync::Arc::new(());
        let id = table.insert(kept.clone());
        table.with(id, |_| {
            drop(table.remove(id));
            assert_eq!(std::sync::Arc::strong_count(&kept), 2);
        });
        assert_eq!(std::sync::Arc::strong_count(&kept), 1);
    }

    #[test]
    fn ids_never_handed_out_name_nothing() {
        let table = Table::<u8>::default();
        for id in [0, 1, 63, 64, 1 << 32, u64::MAX, u64::from(u32::MAX)] {
            assert!(table.get(id).is_none());
            assert!(table.remove(id).is_none());
        }
    }

    #[test]
    fn thousands_of_things_keep_their_ids_apart() {
        let table = Table::default();
        let ids: Vec<u64> = (0..5000).map(|n| table.insert(n)).collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(table.get(*id), Some(n));
        }
    }
}

//! Ids to objects: a growing table whose look-ups take no lock.
//!
//! An id is a slot and a generation, so that an id outlives its object harmlessly. What is in the table is shared; an object that
//! somebody still holds lives on after its removal.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

/// Slots of the first segment; each next segment has twice as many, so that slots never move.
const FIRST: u64 = 64;
const SEGMENTS: usize = 26;

struct Entry<T> {
    id: u64,
    value: Arc<T>,
}

type Segment<T> = Box<[ArcSwapOption<Entry<T>>]>;

pub(crate) struct Table<T> {
    segments: [OnceLock<Segment<T>>; SEGMENTS],
    free: Mutex<Free>,
}

struct Free {
    /// Ids to give out again, their generation already raised.
    again: Vec<u64>,
    next: u64,
}

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS], free: Mutex::new(Free { again: Vec::new(), next: 0 }) }
    }

    /// Puts `value` in; `None` when the table is full (billions of objects).
    pub(crate) fn insert(&self, value: Arc<T>) -> Option<u64> {
        let id = {
            let mut free = self.free.lock();
            match free.again.pop() {
                Some(id) => id,
                None => {
                    let (segment, _) = Self::place(free.next)?;
                    self.segments.get(segment)?.get_or_init(|| (0..FIRST << segment).map(|_| ArcSwapOption::empty()).collect());
                    // Generations start at 1: no id is 0.
                    let id = (1 << 32) | free.next;
                    free.next += 1;
                    id
                }
            }
        };
        self.slot(id)?.store(Some(Arc::new(Entry { id, value })));
        Some(id)
    }

    /// The object, kept alive by the answer.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<T>> {
        let entry = self.slot(id)?.load();
        let entry = entry.as_ref()?;
        (entry.id == id).then(|| Arc::clone(&entry.value))
    }

    /// Takes the object out; `None` when it is not there.
    pub(crate) fn remove(&self, id: u64) -> Option<Arc<T>> {
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
        Some(Arc::clone(&entry.value))
    }

    fn slot(&self, id: u64) -> Option<&ArcSwapOption<Entry<T>>> {
        let (segment, offset) = Self::place(id & u64::from(u32::MAX))?;
        self.segments.get(segment)?.get()?.get(offset)
    }

    fn place(index: u64) -> Option<(usize, usize)> {
        let shifted = index.checked_add(FIRST)?;
        let segment = usize::try_from(shifted.ilog2() - FIRST.ilog2()).ok()?;
        let offset = usize::try_from(shifted - (FIRST << segment)).ok()?;
        (segment < SEGMENTS).then_some((segment, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_dead_after_removal_and_its_slot_comes_back_under_another_id() {
        let table = Table::new();
        let first = table.insert(Arc::new(1)).unwrap();
        assert_eq!(table.get(first).as_deref(), Some(&1));
        assert_eq!(table.remove(first).as_deref(), Some(&1));
        let second = table.insert(Arc::new(2)).unwrap();
        assert_ne!(first, second);
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff);
        assert!(table.get(first).is_none());
        assert!(table.remove(first).is_none());
        assert_eq!(table.get(second).as_deref(), Some(&2));
    }

    #[test]
    fn ids_never_handed_out_name_nothing() {
        let table = Table::<u8>::new();
        for id in [0, 1, 63, 64, 1 << 32, u64::MAX, u64::from(u32::MAX)] {
            assert!(table.get(id).is_none());
            assert!(table.remove(id).is_none());
        }
    }

    #[test]
    fn thousands_of_objects_keep_their_ids_apart() {
        let table = Table::new();
        let ids: Vec<u64> = (0..5000).map(|n| table.insert(Arc::new(n)).unwrap()).collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(table.get(*id).as_deref(), Some(&n));
        }
    }
}

//! Things by number. A number is used once: looking up one whose thing is gone finds nothing.

use parking_lot::RwLock;

const SLOT_BITS: u32 = 32;

/// A table that is read by everybody and changed rarely.
pub(crate) struct Table<T> {
    slots: RwLock<Slots<T>>,
}

struct Slots<T> {
    /// Generation and thing.
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: RwLock::new(Slots { entries: Vec::new(), free: Vec::new() }) }
    }
}

impl<T: Clone> Table<T> {
    pub(crate) fn insert(&self, thing: T) -> u64 {
        let mut slots = self.slots.write();
        if let Some(slot) = slots.free.pop()
            && let Some((generation, entry)) = slots.entries.get_mut(slot as usize)
        {
            *entry = Some(thing);
            return u64::from(*generation) << SLOT_BITS | u64::from(slot);
        }
        let slot = slots.entries.len() as u64;
        slots.entries.push((1, Some(thing)));
        1 << SLOT_BITS | slot
    }

    pub(crate) fn get(&self, id: u64) -> Option<T> {
        self.with(id, T::clone)
    }

    /// Looks at a thing in place.
    pub(crate) fn with<R>(&self, id: u64, look: impl FnOnce(&T) -> R) -> Option<R> {
        let slots = self.slots.read();
        let (generation, entry) = slots.entries.get((id & u64::from(u32::MAX)) as usize)?;
        if u64::from(*generation) != id >> SLOT_BITS {
            return None;
        }
        entry.as_ref().map(look)
    }

    pub(crate) fn remove(&self, id: u64) -> Option<T> {
        let mut slots = self.slots.write();
        let slot = (id & u64::from(u32::MAX)) as u32;
        let (generation, entry) = slots.entries.get_mut(slot as usize)?;
        if u64::from(*generation) != id >> SLOT_BITS {
            return None;
        }
        let thing = entry.take()?;
        // A slot whose generations are used up is not used again.
        if let Some(next) = generation.checked_add(1) {
            *generation = next;
            slots.free.push(slot);
        }
        Some(thing)
    }

    /// Takes all of them.
    pub(crate) fn drain(&self) -> Vec<T> {
        self.slots.write().entries.iter_mut().filter_map(|(_, entry)| entry.take()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_number_finds_its_own_thing_and_nothing_after_it() {
        let table = Table::default();
        let (a, b) = (table.insert('a'), table.insert('b'));
        assert_eq!((table.get(a), table.get(b)), (Some('a'), Some('b')));
        assert_eq!(table.remove(a), Some('a'));
        let c = table.insert('c');
        assert_eq!((table.get(a), table.get(c), table.remove(a)), (None, Some('c'), None));
        assert_eq!(table.get(u64::MAX), None);
        let mut left = table.drain();
        left.sort_unstable();
        assert_eq!(left, ['b', 'c']);
    }
}

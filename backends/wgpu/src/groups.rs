//! Bind groups by what they bind: making one is most of the cost of a launch.

use crate::memory::Ids;

/// Groups that are kept; at more, all go.
const MOST: usize = 4096;
/// Notes of who is in which that are kept: those of groups that are gone pile up.
const MOST_NOTES: usize = 16 * MOST;

/// What a group binds: the kernel, then block, offset and size of each binding.
pub(crate) type Key = Vec<u64>;

#[derive(Default)]
pub(crate) struct Groups {
    made: Ids<Key, wgpu::BindGroup>,
    /// The keys that a block or kernel is in.
    by_block: Ids<u64, Vec<Key>>,
    notes: usize,
    /// How many were made.
    #[cfg(test)]
    pub(crate) made_in_all: usize,
}

impl Groups {
    pub(crate) fn get(&self, key: &[u64]) -> Option<&wgpu::BindGroup> {
        self.made.get(key)
    }

    #[cfg(test)]
    pub(crate) fn count_for_test(&self) -> usize {
        self.made.len()
    }

    #[cfg(test)]
    pub(crate) fn holds_for_test(&self, id: u64) -> bool {
        self.by_block.contains_key(&id)
    }

    /// `holds`: the ids of the blocks and of the kernel.
    pub(crate) fn put(&mut self, key: Key, holds: impl Iterator<Item = u64>, group: wgpu::BindGroup) {
        if self.made.len() >= MOST || self.notes >= MOST_NOTES {
            *self = Self::default();
        }
        for id in holds {
            self.by_block.entry(id).or_default().push(key.clone());
            self.notes += 1;
        }
        self.made.insert(key, group);
        #[cfg(test)]
        {
            self.made_in_all += 1;
        }
    }

    /// Lets go of everything that holds a block, or a kernel.
    pub(crate) fn forget(&mut self, id: u64) {
        let keys = self.by_block.remove(&id).unwrap_or_default();
        self.notes -= keys.len();
        for key in keys {
            self.made.remove(&key);
        }
    }
}

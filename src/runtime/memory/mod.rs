//! Device memory for buffers: blocks of the driver's, kept for a while when they are given back.
//!
//! Never sees a pointer, never waits: whoever gives a block back has seen its last use complete. One block per buffer for now; pools that cut
//! pages up belong behind this same interface.

use std::collections::HashMap;

use compute_hal::{Device, DeviceError, MemoryId, Region};

/// Blocks up to this many bytes in all are kept for reuse.
const KEPT_BYTES: u64 = 64 << 20;
/// Blocks of one size kept for reuse.
const KEPT_BLOCKS: usize = 256;

/// A block that a buffer owns: the region is what it may use, the block may be larger.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) memory: MemoryId,
    pub(crate) capacity: u64,
}

impl Block {
    /// Part of the block. The caller has checked the range.
    pub(crate) fn region(&self, offset: u64, size: u64) -> Region {
        Region { memory: self.memory, offset, size }
    }
}

/// The blocks of one device.
#[derive(Default)]
pub(crate) struct Pool {
    kept: HashMap<u64, Vec<MemoryId>>,
    kept_bytes: u64,
    reserved: u64,
}

/// The size of block that serves `size` bytes: wasted space stays below a quarter.
fn class(size: u64) -> Option<u64> {
    let step = match size {
        0..=4096 => 256,
        4097..=65_536 => 4096,
        _ => size.checked_next_power_of_two()?.max(8) / 8,
    };
    size.checked_add(step - 1).map(|padded| padded / step * step)
}

impl Pool {
    /// Bytes taken from the driver.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// A block of at least `size` bytes, more than 0. Out of memory is tried again once after giving back what is kept (M2).
    pub(crate) fn allocate(&mut self, device: &dyn Device, size: u64) -> Result<Block, DeviceError> {
        let limit = device.limits().allocation_size;
        let capacity =
            class(size).filter(|_| size <= limit).ok_or(DeviceError::TooLarge { asked: size, limit })?.min(limit.max(size));
        if let Some(memory) = self.kept.get_mut(&capacity).and_then(Vec::pop) {
            self.kept_bytes -= capacity;
            return Ok(Block { memory, capacity });
        }
        let memory = match device.allocate(capacity) {
            Err(DeviceError::OutOfMemory { .. }) if self.kept_bytes > 0 => {
                self.trim(device);
                device.allocate(capacity)?
            }
            other => other?,
        };
        self.reserved = self.reserved.saturating_add(capacity);
        Ok(Block { memory, capacity })
    }

    /// Takes a block back whose last use has completed.
    pub(crate) fn release(&mut self, device: &dyn Device, block: Block) {
        let shelf = self.kept.entry(block.capacity).or_default();
        if shelf.len() < KEPT_BLOCKS && self.kept_bytes.saturating_add(block.capacity) <= KEPT_BYTES {
            shelf.push(block.memory);
            self.kept_bytes += block.capacity;
        } else {
            self.reserved = self.reserved.saturating_sub(block.capacity);
            device.free(block.memory);
        }
    }

    /// Gives everything that is kept back to the driver.
    pub(crate) fn trim(&mut self, device: &dyn Device) {
        for (capacity, shelf) in self.kept.drain() {
            for memory in shelf {
                self.reserved = self.reserved.saturating_sub(capacity);
                device.free(memory);
            }
        }
        self.kept_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn m9_a_size_near_the_end_of_the_address_space_has_no_class() {
        assert_eq!(class(u64::MAX), None);
        assert_eq!(class(u64::MAX - 100), None);
    }

    #[test]
    fn a_class_holds_its_sizes_and_wastes_less_than_a_quarter_of_a_large_one() {
        for size in [1, 255, 256, 257, 4096, 4097, 65_536, 65_537, 1_000_000, (1 << 33) + 1] {
            let capacity = class(size).unwrap();
            assert!(capacity >= size && (size < 65_536 || capacity - size <= size / 4), "{size} in {capacity}");
            assert_eq!(class(capacity), Some(capacity), "{size}");
        }
    }
}

//! The stand-in's memory: blocks of the host's, which are there from when work makes them until work takes them away.

use super::{Mock, State, with};

/// Bytes of all blocks at most.
pub(super) const MEMORY: usize = 1 << 30;

pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) ready: bool,
}

impl State {
    pub(super) fn add_block(&mut self, size: usize, ready: bool) -> Option<u64> {
        let used: usize = self.blocks.values().map(|block| block.bytes.len()).sum();
        if used + size > MEMORY {
            return None;
        }
        // Room before it, so that it is aligned like a device's.
        let bytes = vec![0; size + 256];
        let address = (bytes.as_ptr() as u64).next_multiple_of(256);
        self.blocks.insert(address, Block { bytes, ready });
        Some(address)
    }

    /// Where the block begins that an address lies in, and how long it is.
    pub(super) fn block_at(&self, address: u64) -> Option<(u64, usize)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        let length = block.bytes.len() - 256;
        (address < start + length as u64).then_some((*start, length))
    }

    /// Where bytes are: of a device's or pinned block, or ordinary host memory.
    pub(super) fn place(&self, address: u64, size: usize, device: bool) -> *mut u8 {
        let found = self
            .blocks
            .range(..=address)
            .next_back()
            .filter(|(start, block)| address + size as u64 <= *start + block.bytes.len() as u64 - 256);
        match found {
            Some((_, block)) => assert!(block.ready, "{address:#x} is touched before it is there"),
            None => assert!(!device, "{size} bytes at {address:#x} are in no block"),
        }
        address as *mut u8
    }

    /// Pinned memory, if there may be so much.
    pub(super) fn add_pinned(&mut self, size: usize) -> Option<u64> {
        if self.pinned_most.is_some_and(|most| self.pinned.values().sum::<usize>() + size > most) {
            return None;
        }
        let found = self.add_block(size, true)?;
        self.pinned.insert(found, size);
        Some(found)
    }
}

impl Mock {
    /// Has no more than so many bytes of pinned memory.
    pub(crate) fn limit_pinned(&self, bytes: usize) {
        with(|state| state.pinned_most = Some(bytes));
    }

    /// Memory of somebody else's, until the next test.
    pub(crate) fn foreign(&self, size: usize) -> u64 {
        with(|state| state.add_block(size, true).expect("there is memory"))
    }
}

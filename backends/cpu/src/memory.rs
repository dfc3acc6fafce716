//! Blocks of memory, and ranges of them that somebody is about to touch.
//!
//! Nothing here knows queues. Blocks are shared: a block freed while work still holds it goes when that work is done.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::{DeviceError, Foreign, ImportRefusal, Owned, Region, Space};
use parking_lot::Mutex;

use crate::system;
use crate::table::Table;

/// Blocks are aligned to this, or to pages.
pub(crate) const ALIGNMENT: usize = 256;
/// From this size on, blocks are mappings of their own: they come zeroed at no cost and go back to the system when freed.
const MAPPED_FROM: u64 = 256 << 10;
/// From this size on, the system is asked first whether it has that much; below, asking costs more than it is worth.
const ASK_FROM: u64 = 16 << 20;

enum Owner {
    Heap(Layout),
    Mapping,
    /// Somebody else, who vouched for it (T14). It can be imported again once the runtime has given it back, whoever still holds the block.
    Foreign(Mutex<Option<Owned>>),
}

pub(crate) struct Block {
    pointer: NonNull<u8>,
    size: usize,
    owner: Owner,
    _charge: Option<Charge>,
    /// Nobody imports what is the library's; none for what was imported itself.
    _owned: Option<Owned>,
}

/// Bytes given out by a device. Linux gives out far more than there is, and kills somebody when it is touched; so a device gives out
/// no more than the machine has.
pub(crate) struct Account {
    held: AtomicU64,
    limit: u64,
}

/// A block's part of an account; given back when dropped.
struct Charge {
    account: Arc<Account>,
    size: u64,
}

impl Account {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { held: AtomicU64::new(0), limit })
    }

    fn charge(self: &Arc<Self>, size: u64) -> Result<Charge, DeviceError> {
        let add = |held: u64| held.checked_add(size).filter(|&sum| sum <= self.limit);
        match self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(Charge { account: Arc::clone(self), size }),
            Err(held) => Err(DeviceError::OutOfMemory { asked: size, free: self.limit.saturating_sub(held) }),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.held.fetch_sub(self.size, Ordering::Relaxed);
    }
}

// SAFETY: a block is an address range; who may touch which bytes when is the order of the queues, kept by the runtime.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates `size` bytes, of unspecified contents.
    pub(crate) fn allocate(size: u64, limit: u64) -> Result<Self, DeviceError> {
        if size == 0 {
            return Err(DeviceError::Internal("an empty allocation".into()));
        }
        if size > limit {
            return Err(DeviceError::TooLarge { asked: size, limit });
        }
        let bytes = usize::try_from(size).map_err(|_| DeviceError::TooLarge { asked: size, limit })?;
        let refuse = |free| DeviceError::OutOfMemory { asked: size, free };
        if size >= ASK_FROM {
            // The kernel promises pages that it does not have and kills somebody when they are touched.
            if let Some(free) = system::memory_available().filter(|&free| free < size) {
                return Err(refuse(free));
            }
        }
        let (pointer, owner) = if size >= MAPPED_FROM {
            (system::map_pages(bytes), Owner::Mapping)
        } else {
            let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| DeviceError::TooLarge { asked: size, limit })?;
            // SAFETY: the layout's size is not 0.
            (NonNull::new(unsafe { std::alloc::alloc(layout) }), Owner::Heap(layout))
        };
        let pointer = pointer.ok_or_else(|| refuse(system::memory_available().unwrap_or(0)))?;
        let _owned = Some(Owned::allocated(Space::Host, pointer.addr().get() as u64, size));
        Ok(Self { pointer, size: bytes, owner, _charge: None, _owned })
    }

    /// As `allocate`, on the account of a device, whose limit is that of a single block, too.
    pub(crate) fn charged(account: &Arc<Account>, size: u64) -> Result<Self, DeviceError> {
        if size > account.limit {
            return Err(DeviceError::TooLarge { asked: size, limit: account.limit });
        }
        let charge = account.charge(size)?;
        let mut block = Self::allocate(size, account.limit)?;
        block._charge = Some(charge);
        Ok(block)
    }

    /// Foreign memory, which the caller vouches for.
    pub(crate) fn foreign(foreign: &Foreign) -> Result<Self, DeviceError> {
        let Foreign { handle, offset, size, .. } = *foreign;
        let bytes = usize::try_from(size).ok().filter(|bytes| *bytes > 0 && isize::try_from(*bytes).is_ok());
        let start = handle.checked_add(offset).filter(|start| start.checked_add(size).is_some());
        let start = start.and_then(|start| usize::try_from(start).ok());
        let pointer = start.and_then(|start| NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(start)));
        let (Some(pointer), Some(size)) = (pointer, bytes) else {
            return Err(ImportRefusal::NotMemory.because(format!("{size} bytes at {handle:#x} and {offset} more")));
        };
        let owned = Owned::imported(Space::Host, pointer.addr().get() as u64, size as u64)?;
        let owner = Owner::Foreign(Mutex::new(Some(owned)));
        Ok(Self { pointer, size, owner, _charge: None, _owned: None })
    }

    /// The runtime has given it back.
    pub(crate) fn let_go(&self) {
        if let Owner::Foreign(owned) = &self.owner {
            drop(owned.lock().take());
        }
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // Whoever is given these addresses next may import them.
        drop(self._owned.take());
        match self.owner {
            // SAFETY: made by `alloc` with this very layout, and nobody holds the block any more.
            Owner::Heap(layout) => unsafe { std::alloc::dealloc(self.pointer.as_ptr(), layout) },
            // SAFETY: made by `map_pages` with this very size, and nobody holds the block any more.
            Owner::Mapping => unsafe { system::unmap_pages(self.pointer, self.size) },
            Owner::Foreign(_) => {}
        }
    }
}

/// A range inside a block, which it keeps alive.
#[derive(Clone)]
pub(crate) struct Span {
    block: Arc<Block>,
    offset: usize,
    size: usize,
}

impl Span {
    /// Looks a region up; one that is not inside a living block is a bug of the runtime.
    pub(crate) fn resolve(memory: &Table<Arc<Block>>, region: Region) -> Result<Self, DeviceError> {
        let Some(block) = memory.get(region.memory.0) else {
            return Err(DeviceError::Internal(format!("no such memory: {:?}", region.memory)));
        };
        let end = region.offset.checked_add(region.size).and_then(|end| usize::try_from(end).ok());
        if end.is_none_or(|end| end > block.size()) {
            return Err(DeviceError::Internal(format!(
                "bytes {} to {}+{} of a block of {}",
                region.offset,
                region.offset,
                region.size,
                block.size()
            )));
        }
        // Both fit: their sum does.
        let (offset, size) = (region.offset as usize, region.size as usize);
        Ok(Self { block, offset, size })
    }

    /// The first byte.
    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: `resolve` saw that the offset is inside the block.
        unsafe { self.block.pointer().add(self.offset) }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compute_hal::MemoryId;

    #[test]
    fn blocks_of_every_size_class_are_aligned_and_writable_to_their_last_byte() {
        for size in [1, 255, 256, 4096, MAPPED_FROM - 1, MAPPED_FROM, MAPPED_FROM + 1, 5 << 20, ASK_FROM] {
            let block = Block::allocate(size, u64::MAX).unwrap();
            assert_eq!(block.pointer() as usize % ALIGNMENT, 0);
            // SAFETY: the block is ours and has `size` bytes.
            unsafe { block.pointer().write_bytes(0xa5, block.size()) };
        }
    }

    #[test]
    fn m2_too_big_for_ever_and_too_big_now_are_different_answers() {
        assert!(matches!(Block::allocate(1 << 20, 1000), Err(DeviceError::TooLarge { asked: 1_048_576, limit: 1000 })));
        let all = system::memory_size().saturating_mul(16);
        assert!(matches!(Block::allocate(all, u64::MAX), Err(DeviceError::OutOfMemory { .. })));
        assert!(matches!(
            Block::allocate(u64::MAX, u64::MAX),
            Err(DeviceError::OutOfMemory { .. } | DeviceError::TooLarge { .. })
        ));
    }

    #[test]
    fn mem03_blocks_together_never_exceed_the_account_and_freed_bytes_come_back() {
        let account = Account::new(100 << 20);
        let first = Block::charged(&account, 60 << 20).unwrap();
        assert!(matches!(
            Block::charged(&account, 50 << 20),
            Err(DeviceError::OutOfMemory { asked: 52_428_800, free: 41_943_040 })
        ));
        let second = Block::charged(&account, 40 << 20).unwrap();
        assert!(Block::charged(&account, 1).is_err());
        drop(first);
        Block::charged(&account, 60 << 20).unwrap();
        assert!(matches!(Block::charged(&account, (100 << 20) + 1), Err(DeviceError::TooLarge { .. })));
        drop(second);
        Block::charged(&account, 100 << 20).unwrap();
    }

    #[test]
    fn m9_regions_that_leave_their_block_are_refused_without_wrapping() {
        let table = Table::default();
        let id = MemoryId(table.insert(Arc::new(Block::allocate(100, u64::MAX).unwrap())));
        let at = |offset, size| Span::resolve(&table, Region { memory: id, offset, size }).map(|span| span.size());
        assert_eq!(at(0, 100).unwrap(), 100);
        assert_eq!(at(100, 0).unwrap(), 0);
        for (offset, size) in [(0, 101), (1, 100), (101, 0), (u64::MAX, 1), (u64::MAX, u64::MAX), (50, u64::MAX - 49)] {
            assert!(at(offset, size).is_err(), "{offset}+{size}");
        }
        let gone = Region { memory: MemoryId(id.0 + (1 << 32)), offset: 0, size: 0 };
        assert!(Span::resolve(&table, gone).is_err());
    }
}

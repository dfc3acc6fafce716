//! Host memory on its way to or from a device: a pointer and a length whose validity somebody vouched for.
//!
//! Made by `capi` (for the caller's memory) and by devices; the safe runtime only carries it.

use std::alloc::{self, Layout};
use std::any::Any;
use std::sync::Arc;

use crate::{Owned, Space, movers};

/// What staging memory is aligned to: a line of a processor's cache.
const LINE: usize = 64;

/// Host bytes to read from.
#[derive(Clone, Copy, Debug)]
pub struct HostSource {
    pointer: *const u8,
    size: usize,
}

/// Host bytes to write to. A clone is the same bytes.
#[derive(Clone, Debug)]
pub struct HostTarget {
    pointer: *mut u8,
    size: usize,
    /// Keeps staging memory alive for as long as a device may write there.
    #[allow(dead_code, reason = "held, never looked at")]
    staging: Option<Arc<Staging>>,
    /// Told, by being dropped, when the last clone is gone.
    #[allow(dead_code, reason = "held, never looked at")]
    lease: Option<Arc<dyn Any + Send + Sync>>,
}

/// Memory of ours, or of a driver's, that a readback waits in.
#[derive(Debug)]
struct Staging {
    base: *mut u8,
    /// How it was allocated; none: its owner frees it.
    layout: Option<Layout>,
    #[allow(dead_code, reason = "held, never looked at")]
    owner: Option<Box<dyn Any + Send + Sync>>,
    /// Callers are shown such memory (lazy readbacks), and must not import it.
    owned: Option<Owned>,
}

fn own(pointer: *mut u8, size: usize) -> Option<Owned> {
    (size > 0).then(|| Owned::allocated(Space::Host, pointer.addr() as u64, size as u64))
}

// SAFETY: it is memory that only its targets' operations touch, and that goes with the last of them.
unsafe impl Send for Staging {}
// SAFETY: as above.
unsafe impl Sync for Staging {}

impl Drop for Staging {
    fn drop(&mut self) {
        // Whoever is given these addresses next may import them.
        drop(self.owned.take());
        if let Some(layout) = self.layout {
            // SAFETY: it was allocated with this layout in `HostTarget::staging`, and nothing refers to it any more.
            unsafe { alloc::dealloc(self.base, layout) }
        }
    }
}

// SAFETY: these are an address and a length; whoever made one promised that access from any thread is fine until the stated moment.
unsafe impl Send for HostSource {}
// SAFETY: as above.
unsafe impl Sync for HostSource {}
// SAFETY: as above.
unsafe impl Send for HostTarget {}
// SAFETY: as above.
unsafe impl Sync for HostTarget {}

impl HostSource {
    /// Wraps caller memory.
    ///
    /// # Safety
    /// `pointer` is readable for `size` bytes, and nobody writes there, from any thread, until the position that the source is used
    /// for has completed.
    pub const unsafe fn new(pointer: *const u8, size: usize) -> Self {
        Self { pointer, size }
    }
    /// The address.
    pub const fn pointer(self) -> *const u8 {
        self.pointer
    }
    /// The length in bytes.
    pub const fn size(self) -> usize {
        self.size
    }
    /// A part of it, if it is inside.
    pub fn part(self, offset: u64, size: u64) -> Option<Self> {
        let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
        // `wrapping_add` does not wrap here: the sum is inside, or one behind.
        (offset.checked_add(size)? <= self.size).then(|| Self { pointer: self.pointer.wrapping_add(offset), size })
    }
    /// The bytes.
    ///
    /// # Safety
    /// The position that it is used for has not completed before the last use of them.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: whoever made it vouched for it until then.
        unsafe { std::slice::from_raw_parts(self.pointer, self.size) }
    }
}

impl HostTarget {
    /// Wraps caller memory.
    ///
    /// # Safety
    /// `pointer` is writable for `size` bytes, and nobody else reads or writes there, from any thread, until the operation that the
    /// target is used for has told that it is over.
    pub const unsafe fn new(pointer: *mut u8, size: usize) -> Self {
        Self { pointer, size, staging: None, lease: None }
    }
    /// Zeroed memory of our own, for a readback that may not reach the caller's memory yet. `None`: there is not enough.
    pub fn staging(size: usize) -> Option<Self> {
        // Aligned by hand: what is aligned by the allocator is made of zeros by writing all of it, while the system has pages of zeros that cost nothing until
        // somebody touches them. A reader may ask for elements terabytes apart.
        let layout = Layout::from_size_align(size.checked_add(LINE)?, align_of::<u128>()).ok()?;
        // SAFETY: the layout's size is not zero.
        let base = unsafe { alloc::alloc_zeroed(layout) };
        if base.is_null() {
            return None;
        }
        let pointer = base.map_addr(|address| address.next_multiple_of(LINE));
        let staging = Staging { base, layout: Some(layout), owner: None, owned: own(pointer, size) };
        Some(Self { pointer, size, staging: Some(Arc::new(staging)), lease: None })
    }
    /// Memory of a driver's for the same, pinned say.
    ///
    /// # Safety
    /// `pointer` is writable for `size` bytes, by nobody else, until `owner` is dropped.
    pub unsafe fn owned(pointer: *mut u8, size: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        let staging = Staging { base: pointer, layout: None, owner: Some(owner), owned: own(pointer, size) };
        Self { pointer, size, staging: Some(Arc::new(staging)), lease: None }
    }
    /// The first `size` bytes of memory that [`Self::staging`] or [`Self::owned`] made. `lease` is dropped with the last clone of what this gives, which is
    /// when nobody writes there any more. `None`: it has fewer bytes, or is the caller's.
    pub fn lend(&self, size: usize, lease: Arc<dyn Any + Send + Sync>) -> Option<Self> {
        let staging = self.staging.clone().filter(|_| size <= self.size)?;
        Some(Self { pointer: self.pointer, size, staging: Some(staging), lease: Some(lease) })
    }
    /// The address.
    pub const fn pointer(&self) -> *mut u8 {
        self.pointer
    }
    /// The length in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }
    /// Whether it is memory of our own, which lives as long as somebody may write there.
    pub const fn is_ours(&self) -> bool {
        self.staging.is_some()
    }
    /// A part of it, if it is inside.
    pub fn part(&self, offset: u64, size: u64) -> Option<Self> {
        let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
        if offset.checked_add(size)? > self.size {
            return None;
        }
        // `wrapping_add` does not wrap here: the sum is inside, or one behind.
        Some(Self { pointer: self.pointer.wrapping_add(offset), size, staging: self.staging.clone(), lease: self.lease.clone() })
    }
    /// Makes all of it zeros. It has no operation under way.
    pub fn clear(&self) {
        // SAFETY: it is valid for its size, and whoever calls this has seen to it that nobody else touches it.
        unsafe { std::ptr::write_bytes(self.pointer, 0, self.size) }
    }
    /// Looks at what a finished readback left in it. It has no operation under way.
    pub fn look<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: it is valid for its size, and whoever calls this has seen to it that nobody writes there.
        look(unsafe { std::slice::from_raw_parts(self.pointer, self.size) })
    }
    /// Copies what a finished readback left in `staged` to it, as much as fits. Neither has an operation under way.
    pub fn store(&self, staged: &Self) {
        let size = staged.size.min(self.size);
        // SAFETY: both are valid for their sizes until their operations have told that they are over, which the caller is about to do.
        unsafe { movers::copy(staged.pointer, self.pointer, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_memory_that_is_lent_comes_back_with_the_last_clone_and_only_ours_is_lent() {
        let piece = HostTarget::staging(64).unwrap();
        let lease = Arc::new(());
        let told = Arc::downgrade(&lease);
        let lent = piece.lend(10, lease).unwrap();
        assert_eq!((lent.size(), lent.pointer()), (10, piece.pointer()));
        let again = lent.clone();
        drop(lent);
        assert_eq!(told.strong_count(), 1);
        drop(again);
        assert_eq!(told.strong_count(), 0);
        assert!(piece.lend(65, Arc::new(())).is_none());
        let mut mine = [0_u8; 8];
        // SAFETY: `mine` outlives it, and nobody writes there.
        let mine = unsafe { HostTarget::new(mine.as_mut_ptr(), mine.len()) };
        assert!(mine.lend(8, Arc::new(())).is_none());
    }

    #[test]
    fn staging_memory_is_aligned_zeros_and_untouched_until_somebody_does() {
        for size in [0, 1, 63, 64, 65, 4096, 100_000] {
            let piece = HostTarget::staging(size).unwrap();
            assert_eq!((piece.size(), piece.pointer().addr() % LINE), (size, 0));
            piece.look(|bytes| assert!(bytes.iter().all(|&byte| byte == 0)));
        }
        assert!(HostTarget::staging(usize::MAX).is_none());
    }

    #[test]
    fn memory_of_a_driver_goes_with_its_owner() {
        let owner = Arc::new([0_u8; 16]);
        let told = Arc::downgrade(&owner);
        let pointer = owner.as_ptr().cast_mut();
        // SAFETY: nobody writes there, and the owner goes with the last clone.
        let pinned = unsafe { HostTarget::owned(pointer, 16, Box::new(owner)) };
        let lent = pinned.lend(16, Arc::new(())).unwrap();
        drop(pinned);
        assert_eq!(told.strong_count(), 1);
        drop(lent);
        assert_eq!(told.strong_count(), 0);
    }
}

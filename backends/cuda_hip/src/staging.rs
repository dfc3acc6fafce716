//! Pinned host memory that bytes pass through.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::api::{Garbage, Inside};
use crate::driver::Failure;
use crate::reclaim::Reclaim;

/// Bytes of a chunk.
pub(crate) const CHUNK: usize = 1 << 20;
/// Chunks that are kept while nothing uses them.
const KEPT: usize = 64;

/// Slices are aligned to this.
pub(crate) const ALIGNMENT: usize = 256;

/// Pinned memory; given back by the reclaim thread.
pub(crate) struct Pinned {
    pointer: *mut u8,
    /// The device's address of it.
    pub(crate) address: u64,
    pub(crate) size: usize,
    reclaim: Arc<Reclaim>,
    /// Of a chunk: where it is counted.
    counted: Option<Arc<AtomicUsize>>,
}

// SAFETY: it is memory that belongs to whoever holds this.
unsafe impl Send for Pinned {}
// SAFETY: shared, it is only an address.
unsafe impl Sync for Pinned {}

impl Pinned {
    pub(crate) fn new(calls: &Inside<'_>, reclaim: &Arc<Reclaim>, size: usize) -> Result<Self, Failure> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the place is ours.
        unsafe { calls.host_allocate(&mut pointer, size, calls.api.vendor.flags.host) }?;
        let mut made = Self { pointer: pointer.cast(), address: 0, size, reclaim: Arc::clone(reclaim), counted: None };
        // SAFETY: the memory was just allocated.
        unsafe { calls.host_address(&mut made.address, pointer, 0) }?;
        Ok(made)
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.reclaim.throw(Garbage::Host(self.pointer.expose_provenance()));
        // Behind that: whoever does not find it here any more finds it there.
        if let Some(counted) = &self.counted {
            counted.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// A part of a chunk, for one operation. The chunk outlives it: a queue lets go of chunks when the operations that use them are over.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pointer: *mut u8,
    pub(crate) address: u64,
    pub(crate) size: usize,
}

// SAFETY: as of `Pinned`; one operation uses it.
unsafe impl Send for Slice {}
// SAFETY: shared, it is only an address; `bytes` says who may look.
unsafe impl Sync for Slice {}

impl Slice {
    pub(crate) fn of(chunk: &Pinned, offset: usize, size: usize) -> Self {
        debug_assert!(offset + size <= chunk.size);
        // `wrapping_add` does not wrap: the chunk is longer.
        Self { pointer: chunk.pointer.wrapping_add(offset), address: chunk.address + offset as u64, size }
    }

    /// Bytes of it.
    pub(crate) fn part(&self, offset: usize, size: usize) -> Self {
        debug_assert!(offset + size <= self.size);
        Self { pointer: self.pointer.wrapping_add(offset), address: self.address + offset as u64, size }
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Its bytes.
    ///
    /// # Safety
    /// Nobody else, the device included, writes there while they are looked at.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: inside its chunk, which lives; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(self.pointer, self.size) }
    }

    /// Fills it from its beginning, as far as it goes.
    pub(crate) fn put(&self, offset: usize, bytes: &[u8]) {
        let size = bytes.len().min(self.size.saturating_sub(offset));
        // SAFETY: inside the chunk; the operation that the slice is for has not been enqueued, so nobody else uses it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.pointer.add(offset), size) }
    }

    /// Makes it zeros.
    pub(crate) fn clear(&self) {
        // SAFETY: as in `put`.
        unsafe { std::ptr::write_bytes(self.pointer, 0, self.size) }
    }
}

/// Chunks that nobody uses.
#[derive(Default)]
pub(crate) struct Chunks {
    free: Mutex<Vec<Pinned>>,
    /// How many there are, used or not.
    count: Arc<AtomicUsize>,
}

impl Chunks {
    /// A chunk of at least `size` bytes.
    pub(crate) fn take(&self, calls: &Inside<'_>, reclaim: &Arc<Reclaim>, size: usize) -> Result<Pinned, Failure> {
        if size <= CHUNK
            && let Some(chunk) = self.free.lock().pop()
        {
            return Ok(chunk);
        }
        let size = size.max(CHUNK);
        // Before it is made: whoever finds no memory because of it is to know that it will come back.
        self.count.fetch_add(1, Ordering::AcqRel);
        match Pinned::new(calls, reclaim, size) {
            Ok(mut chunk) => {
                chunk.counted = Some(Arc::clone(&self.count));
                Ok(chunk)
            }
            Err(failure) => {
                self.count.fetch_sub(1, Ordering::AcqRel);
                Err(failure)
            }
        }
    }

    pub(crate) fn give(&self, chunk: Pinned) {
        let mut free = self.free.lock();
        if chunk.size == CHUNK && free.len() < KEPT {
            return free.push(chunk);
        }
        drop(free);
        drop(chunk);
    }

    /// Gives all that nobody uses to the driver.
    pub(crate) fn clear(&self) {
        let free = std::mem::take(&mut *self.free.lock());
        drop(free);
    }

    /// Whether there are any, as those that somebody uses after [`Self::clear`].
    pub(crate) fn are_there(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }
}

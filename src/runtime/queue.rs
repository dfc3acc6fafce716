//! A device's native queue with the runtime's side of it: the submission lock and the positions.
//!
//! Streams share queues (S1). Positions are counted here, and everything that waits, waits on one.

use std::hint::cold_path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use compute_hal as hal;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::device::Device;
use super::error::Result;

/// A native queue.
#[repr(C)] // What every launch looks at comes first, and lies together.
pub(crate) struct Queue {
    /// The device's own.
    pub(crate) native: Arc<dyn hal::Queue>,
    /// Its index on its device, as in [`compute_trust::Use`].
    pub(crate) index: u16,
    /// `Submit::last`, to be read without the lock.
    last: AtomicU64,
    submit: Mutex<Submit>,
    /// Its number in the process, as in the journal.
    pub(crate) id: u64,
    /// How many streams use it.
    pub(crate) streams: AtomicU32,
}

/// What the submission lock guards. Held through the driver's calls, so that they reach the queue in the order of their positions.
#[repr(C)]
pub(crate) struct Submit {
    /// The last position given out.
    pub(crate) last: u64,
    /// Per queue of the device: the highest position that this one already waits for.
    pub(crate) awaited: SmallVec<[u64; 8]>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Queue {
    pub(crate) fn new(native: Arc<dyn hal::Queue>, index: u16) -> Self {
        let submit = Mutex::new(Submit { last: 0, awaited: SmallVec::new() });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { native, index, id, streams: AtomicU32::new(0), submit, last: AtomicU64::new(0) }
    }

    /// Takes the submission lock, when nobody else holds the device exclusively (S1) and the device is usable.
    pub(crate) fn lock(&self, device: &Device) -> Result<MutexGuard<'_, Submit>> {
        loop {
            device.check()?;
            let guard = self.submit.lock();
            if device.exclusive.admits() {
                return Ok(guard);
            }
            cold_path();
            drop(guard);
            device.exclusive.wait(|| device.fault().is_some());
        }
    }

    /// As [`Self::lock`], without waiting for anybody.
    pub(crate) fn try_lock(&self, device: &Device) -> Option<MutexGuard<'_, Submit>> {
        let guard = self.submit.try_lock()?;
        device.exclusive.admits().then_some(guard)
    }

    /// Waits until no call holds the submission lock.
    pub(crate) fn pass(&self) {
        drop(self.submit.lock());
    }

    /// Gives out `count` positions and returns the last.
    pub(crate) fn advance(&self, submit: &mut Submit, count: u64) -> u64 {
        submit.last = submit.last.saturating_add(count);
        self.last.store(submit.last, Ordering::Release);
        submit.last
    }

    /// Gives a wait that was just enqueued a position: whoever waits for the last one is behind the wait, too.
    pub(crate) fn mark_wait(&self, submit: &mut Submit) {
        let at = self.advance(submit, 1);
        self.native.mark(at);
    }

    /// The last position given out. Work at it may not have reached the device yet, if a call holds the submission lock.
    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }
}

//! What is told of a device's memory (M4).

use std::sync::atomic::Ordering;

use super::super::device::Device;

/// Memory in use, in bytes, over all streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Live buffers.
    pub buffers: u64,
    /// Their sizes as asked for.
    pub bytes_in_use: u64,
    /// Bytes taken from the driver.
    pub bytes_reserved: u64,
    /// The most that `bytes_in_use` has been.
    pub bytes_in_use_peak: u64,
    /// The most that `bytes_reserved` has been.
    pub bytes_reserved_peak: u64,
    /// Bytes of destroyed buffers that work still uses, and that are not handed out again before it is over.
    pub bytes_pending: u64,
    /// Bytes in pages that hold nothing.
    pub bytes_idle: u64,
    /// The largest run of free bytes in any page.
    pub largest_free: u64,
    /// Host memory for bytes on their way from the device, in use or kept for the next.
    pub bytes_staging: u64,
    /// Bytes of live buffers in somebody else's memory, in none of the above.
    pub bytes_imported: u64,
}

impl Device {
    /// What is in use.
    pub fn usage(&self) -> Usage {
        let (mut pending, mut idle, mut largest) = (0_u64, 0_u64, 0);
        self.memory.each_set(|set| {
            set.let_go();
            let seen = self.seen(set);
            set.pools.lock().look(&seen);
            // Before it is counted: pages that go back now are not reserved any more.
            self.give_back(set);
            if set.ended.load(Ordering::Acquire) {
                self.clean(set);
            }
            let pools = set.pools.lock();
            pending = pending.saturating_add(pools.pending());
            idle = idle.saturating_add(pools.idle());
            largest = pools.largest_free().max(largest);
        });
        self.reap();
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Usage {
            buffers: read(&self.memory.buffers),
            bytes_in_use: read(&self.memory.bytes),
            bytes_reserved: read(&self.memory.reserved),
            bytes_in_use_peak: read(&self.memory.bytes_peak),
            bytes_reserved_peak: read(&self.memory.reserved_peak),
            bytes_pending: pending,
            bytes_idle: idle,
            largest_free: largest,
            bytes_staging: self.memory.staging.bytes(),
            bytes_imported: read(&self.memory.imported),
        }
    }
}

//! Exclusive sections on a device (S1): one thread has it to itself, to measure. Others wait before they enqueue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::code;
use super::error::{Result, fail};

/// Who has the device to itself.
#[derive(Default)]
pub(crate) struct Exclusive {
    /// Number of the thread, 0: nobody. Written under `depth`.
    owner: AtomicU64,
    depth: Mutex<u64>,
    freed: Condvar,
}

// Out of line, or its address is found for every call that asks whether anybody has the device.
#[cold]
#[inline(never)]
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    // While the thread's locals are being destroyed it has no number of its own and holds nothing.
    MINE.try_with(|mine| *mine).unwrap_or(u64::MAX)
}

impl Exclusive {
    /// Whether the calling thread may enqueue.
    pub(crate) fn admits(&self) -> bool {
        let owner = self.owner.load(Ordering::SeqCst);
        owner == 0 || owner == this_thread()
    }

    /// Sleeps while somebody else has the device, and there is sense in waiting.
    pub(crate) fn wait(&self, hopeless: impl Fn() -> bool) {
        let mut depth = self.depth.lock();
        self.sleep(&mut depth, hopeless);
    }

    fn sleep(&self, depth: &mut MutexGuard<'_, u64>, hopeless: impl Fn() -> bool) {
        while !self.admits() && !hopeless() {
            // Nobody tells when the device is lost.
            self.freed.wait_for(depth, Duration::from_millis(20));
        }
    }

    /// Takes the device, after whoever has it; false: it was hopeless to wait any longer.
    pub(crate) fn acquire(&self, hopeless: impl Fn() -> bool) -> bool {
        let mut depth = self.depth.lock();
        self.sleep(&mut depth, hopeless);
        if !self.admits() {
            return false;
        }
        self.owner.store(this_thread(), Ordering::SeqCst);
        *depth = depth.saturating_add(1);
        true
    }

    /// Gives it back; every `acquire` needs its own.
    pub(crate) fn release(&self) -> Result<()> {
        let mut depth = self.depth.lock();
        if *depth == 0 || self.owner.load(Ordering::SeqCst) != this_thread() {
            return fail(code::BUSY, "this thread does not hold the device; unlock it from the thread that locked it");
        }
        *depth -= 1;
        if *depth == 0 {
            self.owner.store(0, Ordering::SeqCst);
            self.freed.notify_all();
        }
        Ok(())
    }
}

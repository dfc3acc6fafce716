//! The end of the process, which may come while a thread of a device is inside a driver. Drivers take themselves down then, and a thread that is still in one
//! crashes (PKG-02).
//!
//! Each kind of driver has an [`Exit`] of its own: what one registers has to come behind the loading of its own driver, and one that does not come out must not
//! keep the end of the process from waiting for another.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};

/// How long the end of the process waits for a call that is under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// A thread that is inside a driver.
pub type Inside = RwLockReadGuard<'static, ()>;

/// Who is inside a driver.
pub struct Exit {
    /// Held shared by threads of devices that are inside, and for good by the end of the process.
    drivers: RwLock<()>,
    once: Once,
    /// The process that has threads: a child of it has none.
    process: AtomicU32,
}

impl Exit {
    /// Nobody.
    #[allow(clippy::new_without_default, reason = "it is made for a static")]
    pub const fn new() -> Self {
        Self { drivers: parking_lot::const_rwlock(()), once: Once::new(), process: AtomicU32::new(0) }
    }

    /// To be held while a thread of a device is inside a driver. Once the process ends, it never comes.
    pub fn inside(&self) -> RwLockReadGuard<'_, ()> {
        self.drivers.read()
    }

    /// To be called with the driver loaded: what is registered later runs earlier. `end` calls [`Self::keep_out`] of this.
    pub fn register(&self, end: extern "C" fn()) {
        self.once.call_once(|| {
            self.process.store(std::process::id(), Ordering::Relaxed);
            at_exit(end);
        });
    }

    /// Waits for those who are inside, and lets nobody in any more.
    pub fn keep_out(&self) {
        if self.process.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        if let Some(guard) = self.drivers.try_write_for(PATIENCE) {
            std::mem::forget(guard);
        }
    }
}

#[cfg(not(windows))]
fn at_exit(end: extern "C" fn()) {
    // SAFETY: the handler is a function of this library, which is never unloaded while its threads run, and it does not unwind.
    unsafe { libc::atexit(end) };
}

/// Windows ends all other threads before it tells any library, a driver among them, that the process ends. So nobody is inside a driver that takes itself down, and whoever
/// waited for those who were would wait in vain.
#[cfg(windows)]
fn at_exit(_: extern "C" fn()) {}

//! The end of the process, which may come while a thread of a device is inside a driver. Drivers take themselves down then, and a thread that is still in one
//! crashes (PKG-02). One lock for the drivers of all devices: the end waits for whichever is at work.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};

/// Held shared by threads of devices that are inside a driver, and for good by the end of the process.
static DRIVERS: RwLock<()> = RwLock::new(());
static REGISTER: Once = Once::new();
/// The process that has threads: a child of it has none.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// How long the end of the process waits for a call that is under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// To be held while a thread of a device is inside a driver. Once the process ends, it never comes.
pub fn inside() -> RwLockReadGuard<'static, ()> {
    DRIVERS.read()
}

/// To be called with drivers loaded: what is registered later runs earlier.
pub fn register() {
    REGISTER.call_once(|| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: the handler is a function of this library, which is never unloaded while its threads run, and it does not unwind.
        unsafe { libc::atexit(keep_out) };
    });
}

extern "C" fn keep_out() {
    if PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    if let Some(guard) = DRIVERS.try_write_for(PATIENCE) {
        std::mem::forget(guard);
    }
}

//! Threads of this crate's devices that are inside a driver, and the end of the process; see [`compute_hal::exit`].

use compute_hal::exit::Exit;
use parking_lot::RwLockReadGuard;

static EXIT: Exit = Exit::new();

extern "C" fn end() {
    EXIT.keep_out();
}

/// To be held by a thread of a device's while it is inside a driver.
pub(crate) fn inside() -> RwLockReadGuard<'static, ()> {
    EXIT.inside()
}

/// To be called with the driver loaded.
pub(crate) fn register() {
    EXIT.register(end);
}

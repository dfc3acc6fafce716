//! One at a time: instances and devices are made and destroyed by one thread of the process, whoever asks for it. Vulkan allows it to several, and NVIDIA's driver for Linux
//! and Windows crashes now and then (gfx-rs/wgpu 5930 and 10234, kvark/blade 336). No caller could keep to it: a queue's thread may be the one that closes a device.
//!
//! A device that is the host program's own is opened and closed by nobody here.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard, const_rwlock};

static DRIVERS: RwLock<()> = const_rwlock(());

/// To be held while instances and devices are made, looked for and destroyed. Nothing of the host's may be called, and no device waited for.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    DRIVERS.write()
}

/// To be held, once by a thread, while a pipeline is made by a driver that must not make a device meanwhile. Whoever waits for a turn alone goes first.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    DRIVERS.read()
}

//! The contexts that devices work in. One is shared by all that have the same GPU open, and by what is still to be ended of those that are closed: from when it is
//! retained until nobody names anything of it, or somebody else in the process resets it. Whoever retains it then gets one of the same name, which is another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use compute_hal::FaultCause;
use parking_lot::Mutex;

use crate::api::{Api, Home, Inside, Object};
use crate::device::Shared;
use crate::driver::{DeviceNumber, Failure, Handle};
use crate::reclaim::PATIENCE;

/// One life of a device's context.
pub(crate) struct Context {
    api: Arc<Api>,
    pub(crate) home: Home,
    device: DeviceNumber,
    /// Set once all that was made in it is gone. Nothing of that may be named to the driver any more, not even to be ended: in the next context of the same name these things
    /// are not, or are somebody else's.
    gone: AtomicBool,
}

/// The newest context of each device of a driver.
#[derive(Default)]
pub(crate) struct Contexts(Mutex<HashMap<DeviceNumber, Arc<Mutex<Weak<Context>>>>>);

impl Contexts {
    fn of(&self, device: DeviceNumber) -> Arc<Mutex<Weak<Context>>> {
        Arc::clone(self.0.lock().entry(device).or_default())
    }
}

impl Context {
    /// The context of a device: the one that is there, or another. If somebody has reset that, those that have it open are told now: on what they name in the next one the
    /// driver crashes. Where it does not tell, there is none.
    pub(crate) fn of(api: &Arc<Api>, device: DeviceNumber) -> Result<Arc<Self>, Failure> {
        // Of each device by itself: making one takes long.
        let newest = api.contexts.of(device);
        let mut newest = newest.lock();
        if let Some(context) = newest.upgrade() {
            match context.find() {
                Ok(()) => return Ok(context),
                Err(failure) if failure.code == api.vendor.errors.context_gone => {
                    api.cause(failure).iter().for_each(|cause| context.lose(cause));
                    if !context.is_left() {
                        return Err(failure);
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
        let made = Arc::new(Self::retain(api, device)?);
        *newest = Arc::downgrade(&made);
        Ok(made)
    }

    fn retain(api: &Arc<Api>, device: DeviceNumber) -> Result<Self, Failure> {
        let home = if api.calls.context_push.is_some() {
            let mut context: Handle = std::ptr::null_mut();
            // SAFETY: the place is ours.
            unsafe { api.calls.primary_retain(&mut context, device) }?;
            Home::Context(Object(context))
        } else {
            Home::Device(device)
        };
        Ok(Self { api: Arc::clone(api), home, device, gone: AtomicBool::new(false) })
    }

    /// As [`Api::enter`], for as long as there is something to enter.
    pub(crate) fn enter(&self) -> Result<Inside<'_>, Failure> {
        self.is_there()?;
        self.api.enter(self.home)
    }

    /// As far as is known.
    fn is_there(&self) -> Result<(), Failure> {
        if self.is_gone() { Err(Failure { call: "enter", code: self.api.vendor.errors.context_gone }) } else { Ok(()) }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Whether it is there, by a call that waits for nothing and leaves nothing. That it becomes the thread's says nothing.
    pub(crate) fn find(&self) -> Result<(), Failure> {
        let Home::Context(_) = self.home else { return self.is_there() };
        let calls = self.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the place is ours, and what was made is ended once.
        unsafe {
            calls.event_create(&mut event, self.api.vendor.flags.event)?;
            calls.event_destroy(event)
        }
    }

    /// It is gone, and with it all devices that are open in it. One that is being opened finds that for itself.
    pub(crate) fn lose(&self, cause: &FaultCause) {
        self.gone.store(true, Ordering::Release);
        self.for_each_device(|device| drop(device.end_by(cause.clone())));
    }

    /// Whether the calls about queues of open devices have returned that were on their way into it when it was found to be gone, and those that end what these devices had: in the next
    /// one they would be about things that are not there. Waits for them. Called with no lock of a queue held.
    fn is_left(&self) -> bool {
        let (deadline, mut left) = (Instant::now() + PATIENCE, true);
        self.for_each_device(|device| left &= device.is_left(deadline));
        left
    }

    fn for_each_device(&self, mut then: impl FnMut(&Shared)) {
        for device in self.api.peers.open() {
            if std::ptr::eq(&raw const *device.context, self) {
                then(&device);
            }
            // The caller may hold locks, and this may be the device's last user.
            Arc::clone(&device.attendant).let_go([device]);
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Home::Context(_) = self.home {
            // SAFETY: it was retained by `retain`.
            let _ = unsafe { self.api.calls.primary_release(self.device) };
        }
    }
}

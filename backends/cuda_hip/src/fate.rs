//! The end of a device (T12), and of all of a process's devices with it where a driver's fault ends them all: whoever finds out first tells the others, so that they
//! have one cause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use compute_hal::FaultCause;
use parking_lot::Mutex;

use crate::attendant::Attendant;

/// Whether a device has ended, and why. Apart from the device, so that others can end it whatever they hold.
pub(crate) struct Fate {
    number: i32,
    over: AtomicBool,
    cause: OnceLock<FaultCause>,
    /// It has ended the others, or they have ended it: that is not done twice, as there may be new ones by now.
    told: AtomicBool,
    attendant: Arc<Attendant>,
}

/// The devices of a driver, and what has ended them.
#[derive(Default)]
pub(crate) struct Fates {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    devices: Vec<Weak<Fate>>,
    /// The first cause that ended them all, as those are told that come later.
    ended: Option<FaultCause>,
    /// How often that has happened.
    count: u64,
}

impl Fate {
    /// Whether the device has ended.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Whether the others are told of its end, or it of theirs.
    pub(crate) fn has_told(&self) -> bool {
        self.told.load(Ordering::Acquire)
    }

    /// Why the device has ended, if it has.
    pub(crate) fn cause(&self) -> Option<FaultCause> {
        if self.is_over() { self.cause.get().cloned() } else { None }
    }

    /// Ends the device; the first cause stays.
    pub(crate) fn end(&self, cause: FaultCause) -> FaultCause {
        let cause = self.cause.get_or_init(|| cause).clone();
        self.over.store(true, Ordering::Release);
        self.attendant.ring();
        cause
    }
}

impl Fates {
    /// How often all devices have ended.
    pub(crate) fn count(&self) -> u64 {
        self.state.lock().count
    }

    /// A device that was found to work after so many ends of all. If that were all there have been, the driver has recovered from them; else it has ended with the others.
    pub(crate) fn add(&self, number: i32, attendant: &Arc<Attendant>, ends: u64) -> Arc<Fate> {
        let (over, cause, attendant) = (AtomicBool::new(false), OnceLock::new(), Arc::clone(attendant));
        let fate = Arc::new(Fate { number, over, cause, told: AtomicBool::new(false), attendant });
        let mut state = self.state.lock();
        if state.count == ends {
            state.ended = None;
        } else if let Some(cause) = state.ended.clone() {
            drop(state);
            fate.told.store(true, Ordering::Release);
            fate.end(cause);
            return fate;
        }
        state.devices.retain(|device| device.strong_count() > 0);
        state.devices.push(Arc::downgrade(&fate));
        fate
    }

    /// What has ended all devices, if something has.
    pub(crate) fn ended(&self) -> Option<FaultCause> {
        self.state.lock().ended.clone()
    }

    /// Ends a device by a cause that the driver told, and with it all others, unless one can be opened again.
    pub(crate) fn end(&self, fate: &Fate, cause: FaultCause) -> FaultCause {
        if cause.reopen {
            return fate.end(cause);
        }
        let mut state = self.state.lock();
        if fate.told.swap(true, Ordering::AcqRel) || state.ended.is_some() {
            // Another was quicker, and is about to tell this one, which may have come here with words of its own.
            return fate.end(state.ended.clone().unwrap_or(cause));
        }
        let kept = fate.end(cause.clone());
        let message = format!("device {} of this process ended, and all others with it: {}", fate.number, cause.message);
        let told = FaultCause { message: message.into(), ..cause };
        state.ended = Some(told.clone());
        state.count += 1;
        let others: Vec<_> = std::mem::take(&mut state.devices).iter().filter_map(Weak::upgrade).collect();
        // Before a new one may come, which none of them is to end.
        others.iter().for_each(|other| other.told.store(true, Ordering::Release));
        drop(state);
        others.iter().for_each(|other| drop(other.end(told.clone())));
        kept
    }
}

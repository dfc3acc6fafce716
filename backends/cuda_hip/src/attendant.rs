//! A device's thread: it does what has to happen while nobody calls. Callbacks, work that is held back, queues whose last user is gone, the end after a fault.
//!
//! It asks rather than waits, since no wait of a driver has an end that somebody else can bring about. Those who wait for a position ask for themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use compute_hal::DeviceError;
use parking_lot::{Condvar, Mutex};

use crate::exit;
use crate::lane::{Attended, Lane, wake_all};
use crate::reclaim::spawn;

/// The first and the longest pause between two looks: a part of the time since something last happened.
const SHORTEST: Duration = Duration::from_micros(10);
const LONGEST: Duration = Duration::from_millis(5);
const PART: u32 = 64;

#[derive(Default)]
struct State {
    lanes: Vec<Arc<Lane>>,
    /// To be dropped.
    gone: Vec<Box<dyn Send>>,
    rung: bool,
    closing: bool,
}

#[derive(Default)]
pub(crate) struct Attendant {
    state: Mutex<State>,
    bell: Condvar,
    /// Work that was held back finds no pinned memory.
    short: AtomicBool,
}

impl Attendant {
    pub(crate) fn start() -> Result<Arc<Self>, DeviceError> {
        let attendant = Arc::new(Self::default());
        let own = Arc::clone(&attendant);
        spawn("compute-queues", move || own.live())?;
        Ok(attendant)
    }

    /// Has every queue looked at.
    pub(crate) fn ring(&self) {
        let mut state = self.state.lock();
        if !state.rung {
            state.rung = true;
            self.bell.notify_one();
        }
    }

    /// Has queues let go of pinned memory at the next look. Not at once: whoever finds none may be in the midst of a look, and would keep this thread from pausing.
    pub(crate) fn want_chunks(&self) {
        self.short.store(true, Ordering::Release);
    }

    pub(crate) fn add(&self, lane: Arc<Lane>) {
        self.state.lock().lanes.push(lane);
    }

    /// Stops using queues or devices. What nobody else uses ends on the thread that holds no lock, which is not woken for less.
    pub(crate) fn let_go<T: Send + 'static>(&self, used: impl IntoIterator<Item = Arc<T>>) {
        let gone: Vec<Box<dyn Send>> = used.into_iter().filter_map(Arc::into_inner).map(|last| Box::new(last) as _).collect();
        if !gone.is_empty() {
            self.state.lock().gone.extend(gone);
            self.ring();
        }
    }

    /// The device is gone; its queues were its users, so there are none.
    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.ring();
    }

    fn live(&self) {
        let mut quiet = Duration::ZERO;
        let mut busy = false;
        loop {
            let (lanes, gone, over) = {
                let mut state = self.state.lock();
                if !state.rung {
                    if busy {
                        let pause = (quiet / PART).clamp(SHORTEST, LONGEST);
                        self.bell.wait_for(&mut state, pause);
                        quiet += pause;
                    } else {
                        self.bell.wait(&mut state);
                    }
                }
                if std::mem::take(&mut state.rung) {
                    quiet = Duration::ZERO;
                }
                let over = state.closing && state.lanes.is_empty();
                (state.lanes.clone(), std::mem::take(&mut state.gone), over)
            };
            if !gone.is_empty() {
                let _inside = exit::inside();
                drop(gone);
            }
            if over {
                return;
            }
            let told;
            (busy, told) = self.attend(lanes);
            if told {
                quiet = Duration::ZERO;
            }
        }
    }

    /// Looks at every queue. Says whether to look again soon, and whether somebody was told something.
    fn attend(&self, lanes: Vec<Arc<Lane>>) -> (bool, bool) {
        let (mut busy, mut told) = (false, false);
        let short = self.short.swap(false, Ordering::AcqRel);
        for lane in lanes {
            let mut due = Vec::new();
            let inside = exit::inside();
            // This thread is the only one of the device that tells those who do not ask, so it goes on.
            let attended = lane.shared.contain(|| lane.attend(&mut due, short)).unwrap_or(Attended::Busy);
            told |= !due.is_empty();
            // Who is woken may give things back to the driver.
            wake_all(&lane.shared, due);
            drop(inside);
            busy |= attended == Attended::Busy;
            if attended == Attended::Over {
                self.state.lock().lanes.retain(|other| !Arc::ptr_eq(other, &lane));
                // It may be the device's last user.
                let _inside = exit::inside();
                drop(lane);
            }
        }
        (busy, told)
    }
}

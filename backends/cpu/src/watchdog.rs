//! Time limits: a thread that raises cancel flags when their time is over. Started with the first kernel that can be cancelled.
//!
//! It holds flags only, never a queue or the device, so that it can always be joined.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use compute_hal::DeviceError;
use parking_lot::{Condvar, Mutex};

use crate::system;

/// Of the thread, which only raises flags.
const STACK: usize = 512 << 10;

#[derive(Default)]
pub(crate) struct Watchdog {
    core: Arc<Core>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Core {
    state: Mutex<State>,
    signal: Condvar,
}

#[derive(Default)]
struct State {
    stop: bool,
    next: u64,
    timers: BTreeMap<(Instant, u64), Arc<AtomicU32>>,
}

/// Names a running timer.
pub(crate) struct Timer(Instant, u64);

impl Watchdog {
    /// Sees to it that the thread runs.
    pub(crate) fn start(&self) -> Result<(), DeviceError> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let core = Arc::clone(&self.core);
            let spawned = system::spawn_quiet("compute-timer".into(), STACK, move || core.run());
            *thread = Some(spawned.map_err(|error| crate::pool::no_thread(&error))?);
        }
        Ok(())
    }

    /// Raises `flag` after `limit` nanoseconds, unless disarmed.
    pub(crate) fn arm(&self, limit: u64, flag: &Arc<AtomicU32>) -> Option<Timer> {
        // A time that the clock cannot express never comes.
        let when = Instant::now().checked_add(Duration::from_nanos(limit))?;
        let mut state = self.core.state.lock();
        let timer = Timer(when, state.next);
        state.next += 1;
        let first = state.timers.first_key_value().is_none_or(|(&(first, _), _)| when < first);
        state.timers.insert((timer.0, timer.1), Arc::clone(flag));
        drop(state);
        if first {
            self.core.signal.notify_one();
        }
        Some(timer)
    }

    /// Takes a timer back; too late is fine.
    pub(crate) fn disarm(&self, timer: &Timer) {
        self.core.state.lock().timers.remove(&(timer.0, timer.1));
    }
}

impl Core {
    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stop {
            let Some(entry) = state.timers.first_entry() else {
                self.signal.wait(&mut state);
                continue;
            };
            let when = entry.key().0;
            if when <= Instant::now() {
                entry.remove().store(1, Ordering::Relaxed);
            } else {
                self.signal.wait_until(&mut state, when);
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.core.state.lock().stop = true;
        self.core.signal.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // A panic in it is long over.
            let _ = thread.join();
        }
    }
}

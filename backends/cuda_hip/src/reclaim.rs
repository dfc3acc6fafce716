//! A thread that ends what may wait for the device when it is ended: pinned memory, code, streams, memory where there are no pools.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compute_hal::DeviceError;
use parking_lot::{Condvar, Mutex};

use crate::api::Garbage;
use crate::context::Context;
use crate::exit;

/// How long an allocation that found no memory waits for what is being given back.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The same with locks held that others want, and where there is another answer than memory.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

/// Pieces of garbage that there is room for from the beginning.
const ROOM: usize = 64;

#[derive(Default)]
struct State {
    queue: VecDeque<Garbage>,
    /// The thread is at some.
    busy: bool,
    /// Somebody has waited in vain for the thread to come to an end of what it is at: nobody else waits for that.
    stuck: bool,
    /// How long somebody has waited in vain for all to be ended, since the thread came to what it is at: that may wait for the device.
    in_vain: Duration,
    closing: bool,
}

/// Where garbage is thrown. The last one out closes.
#[derive(Default)]
pub(crate) struct Reclaim {
    state: Mutex<State>,
    /// To the thread: something to do.
    work: Condvar,
    /// From the thread: nothing left.
    empty: Condvar,
    /// From the thread: one less.
    room: Condvar,
}

impl Reclaim {
    /// Starts the thread. It keeps the device's context until it is closed and everything has been ended.
    pub(crate) fn start(context: Arc<Context>) -> Result<Arc<Self>, DeviceError> {
        let reclaim = Arc::new(Self::default());
        let asked = (ROOM * size_of::<Garbage>()) as u64;
        reclaim.state.lock().queue.try_reserve(ROOM).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        let own = Arc::clone(&reclaim);
        spawn("compute-reclaim", move || own.live(context))?;
        Ok(reclaim)
    }

    /// Without host memory for a longer list it waits until the thread has made room; what it does not come to in all that time is never ended.
    pub(crate) fn throw(&self, garbage: Garbage) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        while state.queue.try_reserve(1).is_err() {
            if state.stuck {
                return;
            }
            state.stuck = self.room.wait_until(&mut state, deadline).timed_out();
        }
        state.queue.push_back(garbage);
        drop(state);
        self.work.notify_one();
    }

    /// Whether something is still to be ended.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.busy || !state.queue.is_empty()
    }

    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.work.notify_one();
    }

    /// Waits until all that was thrown so far has been ended, for that long at most; not at all where somebody else has just waited so long in vain. Whether it has.
    pub(crate) fn flush(&self, most: Duration) -> bool {
        let deadline = Instant::now() + most;
        let mut state = self.state.lock();
        while (state.busy || !state.queue.is_empty()) && state.in_vain < most {
            if self.empty.wait_until(&mut state, deadline).timed_out() {
                state.in_vain = state.in_vain.max(most);
            }
        }
        !state.busy && state.queue.is_empty()
    }

    fn live(&self, context: Arc<Context>) {
        loop {
            let garbage = {
                let mut state = self.state.lock();
                loop {
                    if let Some(garbage) = state.queue.pop_front() {
                        (state.busy, state.stuck, state.in_vain) = (true, false, Duration::ZERO);
                        self.room.notify_all();
                        break garbage;
                    }
                    (state.busy, state.in_vain) = (false, Duration::ZERO);
                    self.empty.notify_all();
                    if state.closing {
                        drop(state);
                        let _inside = exit::inside();
                        drop(context);
                        return;
                    }
                    self.work.wait(&mut state);
                }
            };
            let _inside = exit::inside();
            if let Ok(calls) = context.enter() {
                garbage.end(&calls);
            }
        }
    }
}

pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), DeviceError> {
    let thread = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(body);
    thread.map(|_| ()).map_err(|error| DeviceError::Driver {
        call: "spawn",
        code: error.raw_os_error().unwrap_or_default().into(),
        name: "THREAD".into(),
        message: error.to_string(),
    })
}

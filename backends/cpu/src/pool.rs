//! The worker threads of a device: who runs what next.
//!
//! Workers sleep when there is nothing to do. They hold the pool's core only; a queue is alive while it is in a list or being run.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use compute_hal::DeviceError;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::fifo::Fifo;
use crate::graph::Replay;
use crate::scratch::Seat;
use crate::system;
use crate::team::Team;

/// Of a worker: what a kernel takes, and as much again for us, the functions that kernels call, and callbacks. Address space only: pages that are not touched cost nothing.
const STACK: usize = 2 * crate::codegen::MOST_FRAME as usize;

type Call = Box<dyn FnOnce() + Send>;

pub(crate) struct Pool {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
}

struct Core {
    state: Mutex<State>,
    signal: Condvar,
    /// Told when a worker ends or starts a call, once the pool stops.
    ended: Condvar,
    /// Queues and calls that wait; read without the lock.
    waiting: AtomicUsize,
    /// Workers with nothing to do; read without the lock.
    idle: AtomicUsize,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<Fifo>>,
    teams: VecDeque<Arc<Team>>,
    /// Replays of graphs with nodes to run.
    replays: VecDeque<Arc<Replay>>,
    calls: VecDeque<Call>,
    idle: usize,
    stop: bool,
    places: Vec<Place>,
}

/// Where a worker is, as far as stopping is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Working,
    /// Inside foreign code, which may take any time.
    Calling,
    Ended,
}

pub(crate) fn no_thread(error: &io::Error) -> DeviceError {
    DeviceError::Driver {
        call: "pthread_create",
        code: i64::from(error.raw_os_error().unwrap_or(0)),
        name: format!("{:?}", error.kind()),
        message: error.to_string(),
    }
}

impl Pool {
    pub(crate) fn start(workers: u32) -> Result<Self, DeviceError> {
        let core = Arc::new(Core {
            state: Mutex::new(State { places: vec![Place::Working; workers as usize], ..State::default() }),
            signal: Condvar::new(),
            ended: Condvar::new(),
            waiting: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
        });
        let mut pool = Self { core, threads: Vec::new() };
        for index in 0..workers as usize {
            let core = Arc::clone(&pool.core);
            match system::spawn_quiet(format!("compute-cpu-{index}"), STACK, move || core.work(index)) {
                Ok(thread) => pool.threads.push(thread),
                Err(error) => {
                    // Those that never started count as ended, or the drop below would wait for them.
                    pool.core.state.lock().places.iter_mut().skip(index).for_each(|place| *place = Place::Ended);
                    return Err(no_thread(&error));
                }
            }
        }
        Ok(pool)
    }

    pub(crate) fn workers(&self) -> u32 {
        u32::try_from(self.threads.len()).unwrap_or(u32::MAX)
    }

    /// Whether something waits that a worker inside a long job should make way for.
    pub(crate) fn busy(&self) -> bool {
        self.core.waiting.load(Ordering::Relaxed) > 0
    }

    /// Queues a queue that has something to run.
    pub(crate) fn submit(&self, fifo: Arc<Fifo>) {
        self.add(|state| state.ready.push_back(fifo));
    }

    /// Has `call` called by some worker soon, with no lock held.
    pub(crate) fn call(&self, call: Call) {
        self.add(|state| state.calls.push_back(call));
    }

    fn add(&self, put: impl FnOnce(&mut State)) {
        let mut state = self.core.state.lock();
        put(&mut state);
        self.core.count(&state);
        let wake = state.idle > 0;
        drop(state);
        if wake {
            self.core.signal.notify_one();
        }
    }

    /// Shows a team to the other workers.
    pub(crate) fn share(&self, team: &Arc<Team>) {
        if team.shared.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut state = self.core.state.lock();
        // Under the lock, so that whoever finishes it later finds it in the list: no last reference may go inside `next`.
        if team.left() == 0 {
            return;
        }
        state.teams.push_back(Arc::clone(team));
        let wake = state.idle.min(usize::try_from(team.left()).unwrap_or(usize::MAX));
        drop(state);
        for _ in 0..wake {
            self.core.signal.notify_one();
        }
    }

    /// Whether a worker has nothing to do, as far as can be known without the lock.
    pub(crate) fn has_idle(&self) -> bool {
        self.core.idle.load(Ordering::Relaxed) > 0
    }

    /// Shows a replay that has nodes to run to the workers.
    pub(crate) fn share_replay(&self, replay: &Arc<Replay>) {
        let mut state = self.core.state.lock();
        if !replay.shared.swap(true, Ordering::Relaxed) {
            state.replays.push_back(Arc::clone(replay));
        }
        let wake = state.idle.min(replay.waiting());
        drop(state);
        for _ in 0..wake {
            self.core.signal.notify_one();
        }
    }

    /// Forgets a replay that is over.
    pub(crate) fn retire_replay(&self, replay: &Arc<Replay>) {
        let mut state = self.core.state.lock();
        if replay.shared.swap(false, Ordering::Relaxed) {
            state.replays.retain(|other| !Arc::ptr_eq(other, replay));
        }
    }

    /// Forgets a finished team.
    pub(crate) fn retire(&self, team: &Arc<Team>) {
        if team.shared.load(Ordering::Relaxed) {
            self.core.state.lock().teams.retain(|other| !Arc::ptr_eq(other, team));
        }
    }
}

enum Next {
    Fifo(Arc<Fifo>),
    Team(Arc<Team>),
    Replay(Arc<Replay>),
    Call(Call),
}

impl Core {
    fn count(&self, state: &State) {
        self.waiting.store(state.ready.len() + state.calls.len(), Ordering::Relaxed);
    }

    fn work(&self, index: usize) {
        // Alternates, so that neither many small jobs nor one huge one keeps the other waiting.
        let mut team_first = false;
        while let Some(next) = self.next(team_first) {
            team_first = !matches!(next, Next::Team(_) | Next::Replay(_));
            match next {
                Next::Fifo(fifo) => fifo.run_ready(Seat::Worker(index)),
                Next::Team(team) => {
                    if team.participate(Seat::Worker(index), None) {
                        let fifo = Arc::clone(&team.fifo);
                        fifo.team_done(&team, Seat::Worker(index));
                    }
                }
                Next::Replay(replay) => replay.fifo.help(&replay, Seat::Worker(index)),
                Next::Call(call) => self.call(index, call),
            }
        }
        self.enter(index, Place::Ended);
    }

    fn next(&self, team_first: bool) -> Option<Next> {
        let mut state = self.state.lock();
        loop {
            state.teams.retain(|team| team.left() > 0);
            let next = if let Some(call) = state.calls.pop_front() {
                Some(Next::Call(call))
            } else if team_first && !state.teams.is_empty() {
                Self::team(&mut state)
            } else if let Some(fifo) = state.ready.pop_front() {
                fifo.taken_from_pool();
                Some(Next::Fifo(fifo))
            } else {
                Self::team(&mut state)
            };
            let next = next.or_else(|| Self::replay(&mut state));
            if next.is_some() {
                self.count(&state);
                return next;
            }
            if state.stop {
                return None;
            }
            state.idle += 1;
            self.idle.store(state.idle, Ordering::Relaxed);
            self.signal.wait(&mut state);
            state.idle -= 1;
            self.idle.store(state.idle, Ordering::Relaxed);
        }
    }

    /// Teams take turns.
    fn team(state: &mut MutexGuard<'_, State>) -> Option<Next> {
        let team = state.teams.pop_front()?;
        state.teams.push_back(Arc::clone(&team));
        Some(Next::Team(team))
    }

    /// A replay with nodes to run; those without any are forgotten until they are shared again. Somebody is at them, so no last reference goes here.
    fn replay(state: &mut MutexGuard<'_, State>) -> Option<Next> {
        while let Some(replay) = state.replays.pop_front() {
            if replay.waiting() > 0 {
                state.replays.push_back(Arc::clone(&replay));
                return Some(Next::Replay(replay));
            }
            replay.shared.store(false, Ordering::Relaxed);
        }
        None
    }

    fn call(&self, index: usize, call: Call) {
        self.enter(index, Place::Calling);
        // A callback that panics has nobody to tell. It ran, which is all that was promised to it.
        let _ = catch_unwind(AssertUnwindSafe(call));
        self.enter(index, Place::Working);
    }

    fn enter(&self, index: usize, place: Place) {
        let mut state = self.state.lock();
        if let Some(slot) = state.places.get_mut(index) {
            *slot = place;
        }
        if state.stop {
            self.ended.notify_all();
        }
    }
}

impl Drop for Pool {
    /// Ends the workers. One that is inside a callback is not waited for, nor is the calling thread itself: these end by themselves.
    fn drop(&mut self) {
        let me = thread::current().id();
        let mut state = self.core.state.lock();
        state.stop = true;
        self.core.signal.notify_all();
        let own = self.threads.iter().position(|thread| thread.thread().id() == me);
        while state.places.iter().enumerate().any(|(index, place)| *place == Place::Working && Some(index) != own) {
            self.core.ended.wait(&mut state);
        }
        let places = state.places.clone();
        drop(state);
        for (thread, place) in self.threads.drain(..).zip(places) {
            if place == Place::Ended {
                // It is past its last step; a panic in it has been dealt with.
                let _ = thread.join();
            }
        }
    }
}

//! The state of a queue: its jobs, who runs them, what is done.
//!
//! One thread at a time owns a queue (`Status::Running`) and runs its jobs in order with no lock held. A job that several threads share
//! hands the ownership to whoever finishes it last. A queue at an edge is owned by nobody.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use compute_hal::{DeviceError, LateCause, LateFailure, Position, Printed, QueueId, Waited};
use parking_lot::Mutex;

use crate::device::Shared;
use crate::graph::Replay;
use crate::launch::{Prepared, Run, Size};
use crate::scratch::{Lease, Seat};
use crate::system;
use crate::team::{Shareable, Team};
use crate::watch::{Watch, Watcher};
use crate::work::{Job, Work};

/// Bytes up to which a copy is done by whoever enqueues it, when nothing is ahead of it.
pub(crate) const INLINE_BYTES: usize = 32 << 10;
/// Bytes from which a copy is worth several threads.
pub(crate) const SHARED_BYTES: usize = 2 << 20;
/// Nanoseconds up to which a kernel runs on the thread that enqueues it, when nothing is ahead of it: what waking a worker costs the caller anyway.
pub(crate) const INLINE_TIME: u64 = 10_000;
/// Jobs that a worker runs before it looks whether other queues wait.
const TURN: u32 = 16;
/// Time stamps kept for those who ask.
const STAMPS: usize = 65_536;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    /// No jobs.
    Idle,
    /// Has jobs; whoever comes first may own it. The pool has been told.
    Ready,
    /// Owned.
    Running,
    /// At an edge.
    Parked,
}

struct State {
    jobs: VecDeque<Job>,
    status: Status,
    last: Position,
    /// The device is lost: nothing is taken any more.
    dead: bool,
}

pub(crate) struct Fifo {
    pub(crate) id: QueueId,
    pub(crate) shared: Arc<Shared>,
    state: Mutex<State>,
    pub(crate) watch: Watch,
    in_pool: AtomicBool,
    late: Mutex<Vec<LateFailure>>,
    printed: Mutex<Vec<Printed>>,
    stamps: Mutex<Stamps>,
    stamps_asked: AtomicUsize,
}

#[derive(Default)]
struct Stamps {
    asked: VecDeque<Position>,
    taken: VecDeque<(Position, u64)>,
}

/// Whether a job may run inside the call that enqueues it.
pub(crate) enum Fit {
    AtOnce(Option<Lease>),
    Later,
}

/// How a job went.
enum Step {
    Done,
    /// Somebody else goes on.
    Handed,
}

impl Fifo {
    pub(crate) fn new(id: QueueId, shared: Arc<Shared>) -> Self {
        Self {
            id,
            shared,
            state: Mutex::new(State { jobs: VecDeque::new(), status: Status::Idle, last: 0, dead: false }),
            watch: Watch::new(),
            in_pool: AtomicBool::new(false),
            late: Mutex::default(),
            printed: Mutex::default(),
            stamps: Mutex::default(),
            stamps_asked: AtomicUsize::new(0),
        }
    }

    fn lost(&self) -> DeviceError {
        match self.shared.fault() {
            Some(cause) => DeviceError::Lost(cause),
            None => DeviceError::Internal("a queue is closed on a device that is well".into()),
        }
    }

    /// Takes a job, and runs it before it returns when that was found fitting and nothing is ahead of it.
    pub(crate) fn enqueue(self: &Arc<Self>, at: Position, work: Work, fit: Fit) -> Result<(), DeviceError> {
        let mut state = self.state.lock();
        if state.dead {
            return Err(self.lost());
        }
        if !matches!(work, Work::Edge(..)) && at <= state.last {
            return Err(DeviceError::Internal(format!("position {at} after {}", state.last)));
        }
        let last = state.last.max(at);
        if let Fit::AtOnce(lease) = fit
            && state.status == Status::Idle
        {
            (state.last, state.status) = (last, Status::Running);
            drop(state);
            self.run_at_once(Job { at, work }, lease);
            return Ok(());
        }
        // A mark cannot be refused, as somebody waits for it: there is room for one behind whatever else is there, and it stands for those that follow it.
        let mark = matches!(work, Work::Mark);
        if let (true, Some(Job { at: marked, work: Work::Mark })) = (mark, state.jobs.back_mut()) {
            *marked = at;
            state.last = last;
            return Ok(());
        }
        if (!mark || state.jobs.is_empty()) && state.jobs.try_reserve(2).is_err() {
            return Err(DeviceError::OutOfMemory { asked: 2 * size_of::<Job>() as u64, free: 0 });
        }
        state.last = last;
        state.jobs.push_back(Job { at, work });
        if state.status == Status::Idle {
            state.status = Status::Ready;
            drop(state);
            self.tell_pool();
        }
        Ok(())
    }

    fn run_at_once(self: &Arc<Self>, job: Job, lease: Option<Lease>) {
        self.guarded(Seat::Caller, || {
            let at = job.at;
            if matches!(self.execute(job, Seat::Caller, lease), Step::Done) && !self.finish(at, Seat::Caller) {
                self.release();
            }
        });
    }

    /// Sees to it that a queue whose owner panics is not owned for ever.
    fn guarded(self: &Arc<Self>, seat: Seat, run: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            self.shared.poison_by_panic(&*panic);
            self.bury(seat);
        }
    }

    /// Whether a job may run inside the call that enqueues it, and the scratch that it needs for that.
    pub(crate) fn fit(&self, work: &Work) -> Fit {
        if !self.idle() || !self.short(work) {
            return Fit::Later;
        }
        match work {
            Work::Kernel(prepared) => prepared.kernel.lease(Seat::Caller).map_or(Fit::Later, Fit::AtOnce),
            Work::Graph(replay) if !replay.takes_any_guest() => Fit::Later,
            _ => Fit::AtOnce(None),
        }
    }

    /// Whether nothing is ahead of the next job. Exact for the thread that enqueues.
    pub(crate) fn idle(&self) -> bool {
        self.state.lock().status == Status::Idle
    }

    /// The last position enqueued.
    pub(crate) fn last(&self) -> Position {
        self.state.lock().last
    }

    fn tell_pool(self: &Arc<Self>) {
        if !self.in_pool.swap(true, Ordering::AcqRel) {
            self.shared.pool.submit(Arc::clone(self));
        }
    }

    /// The pool's list has it no longer. What became ready before this is seen by whoever took it; what becomes ready later is told anew.
    pub(crate) fn taken_from_pool(&self) {
        self.in_pool.store(false, Ordering::Release);
    }

    fn own(&self) -> bool {
        let mut state = self.state.lock();
        let free = state.status == Status::Ready;
        if free {
            state.status = Status::Running;
        }
        free
    }

    /// A worker's turn with a queue that was ready.
    pub(crate) fn run_ready(self: &Arc<Self>, seat: Seat) {
        if self.own() {
            self.drive(seat, None, true);
        }
    }

    /// Gives the ownership up.
    fn release(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.dead {
            drop(state);
            self.bury(Seat::Caller);
        } else if state.jobs.is_empty() {
            state.status = Status::Idle;
        } else {
            state.status = Status::Ready;
            drop(state);
            self.tell_pool();
        }
    }

    /// Runs jobs while owning the queue: all of them, or up to `until`, or for a worker's turn; only short ones unless `long`.
    pub(crate) fn drive(self: &Arc<Self>, seat: Seat, until: Option<Position>, long: bool) {
        self.guarded(seat, || self.run_jobs(seat, until, long));
    }

    fn run_jobs(self: &Arc<Self>, seat: Seat, until: Option<Position>, long: bool) {
        let mut turn = 0;
        loop {
            let mut state = self.state.lock();
            if state.dead {
                drop(state);
                return self.bury(seat);
            }
            let Some(job) = state.jobs.front() else {
                state.status = Status::Idle;
                return;
            };
            let lease = match self.admit(&job.work, seat, long) {
                Ok(lease) => lease,
                Err(()) => {
                    drop(state);
                    return self.release();
                }
            };
            let Some(job) = state.jobs.pop_front() else { return };
            drop(state);
            let at = job.at;
            if matches!(self.execute(job, seat, lease), Step::Handed) || self.finish(at, seat) {
                return;
            }
            turn += 1;
            let make_way = matches!(seat, Seat::Worker(_)) && turn >= TURN && self.shared.pool.busy();
            if make_way || until.is_some_and(|until| self.watch.completed() >= until) {
                return self.release();
            }
        }
    }

    /// Whether this thread may run this job, and the scratch for it where a guest needs some.
    fn admit(&self, work: &Work, seat: Seat, long: bool) -> Result<Option<Lease>, ()> {
        if !long && !self.short(work) {
            return Err(());
        }
        match (work, seat) {
            (Work::Kernel(prepared), Seat::Waiter | Seat::Caller) => prepared.kernel.lease(seat),
            (Work::Graph(replay), Seat::Waiter | Seat::Caller) if !replay.takes_any_guest() => Err(()),
            _ => Ok(None),
        }
    }

    /// Whether a job is known to be over soon.
    pub(crate) fn short(&self, work: &Work) -> bool {
        match work {
            Work::Kernel(prepared) => match prepared.size(&self.shared.limits) {
                Size::Groups(_, groups) => prepared.kernel.bound(groups).is_some_and(|time| time <= INLINE_TIME),
                Size::Nothing | Size::OverLimit(_) => true,
            },
            Work::Graph(replay) => replay.is_short(),
            Work::Move(bytes) => bytes.size() <= INLINE_BYTES,
            Work::Rows(rows) => rows.size() <= INLINE_BYTES,
            Work::Fill(fill) => fill.size() <= INLINE_BYTES,
            Work::Edge(..) | Work::Mark => true,
        }
    }

    /// Runs one job. A panic in it is ours, and poisons the device.
    fn execute(self: &Arc<Self>, job: Job, seat: Seat, lease: Option<Lease>) -> Step {
        let run = AssertUnwindSafe(|| match job.work {
            Work::Kernel(prepared) => self.kernel(job.at, prepared, seat, lease),
            Work::Graph(replay) if replay.begin(seat) => {
                self.settle_replay(&replay);
                Step::Done
            }
            Work::Graph(_) => Step::Handed,
            Work::Move(bytes) if bytes.size() >= SHARED_BYTES => {
                let size = bytes.size();
                self.team(Team::bytes(self, job.at, Shareable::Move(Arc::new(bytes)), size), seat, None)
            }
            Work::Rows(rows) if rows.size() >= SHARED_BYTES => {
                let size = rows.size();
                self.team(Team::bytes(self, job.at, Shareable::Rows(rows), size), seat, None)
            }
            Work::Fill(fill) if fill.size() >= SHARED_BYTES => {
                let size = fill.size();
                self.team(Team::bytes(self, job.at, Shareable::Fill(Arc::new(fill)), size), seat, None)
            }
            Work::Move(bytes) => {
                bytes.part(0, bytes.size());
                Step::Done
            }
            Work::Fill(fill) => {
                fill.part(0, fill.size());
                Step::Done
            }
            Work::Rows(rows) => {
                rows.part(0, rows.size());
                Step::Done
            }
            Work::Edge(other, position) => self.edge(&other, position),
            Work::Mark => Step::Done,
        });
        catch_unwind(run).unwrap_or_else(|panic| {
            self.shared.poison_by_panic(&*panic);
            Step::Done
        })
    }

    fn kernel(self: &Arc<Self>, at: Position, prepared: Arc<Prepared>, seat: Seat, lease: Option<Lease>) -> Step {
        match prepared.size(&self.shared.limits) {
            Size::Nothing => Step::Done,
            Size::OverLimit(asked) => {
                let cause = LateCause::GridLimit { asked, allowed: self.shared.limits.grid };
                self.late.lock().push(LateFailure { position: at, cause });
                Step::Done
            }
            // Short, and no other worker is wanted.
            Size::Groups(grid, groups) if seat == Seat::Caller => {
                let run = Run::new(prepared, grid);
                run.groups(0, groups, lease.as_ref());
                self.tell(run.failure(at), run.printed(at));
                Step::Done
            }
            Size::Groups(grid, groups) => self.team(Team::kernel(self, at, Run::new(prepared, grid), groups), seat, lease),
        }
    }

    fn team(self: &Arc<Self>, team: Team, seat: Seat, lease: Option<Lease>) -> Step {
        if self.work_together(team, seat, lease) { Step::Done } else { Step::Handed }
    }

    /// Has a team do a node of a graph. True when it is done; else whoever ends it goes on with the graph.
    pub(crate) fn run_team(self: &Arc<Self>, team: Team, seat: Seat) -> bool {
        self.work_together(team, seat, None)
    }

    fn work_together(self: &Arc<Self>, team: Team, seat: Seat, lease: Option<Lease>) -> bool {
        let team = Arc::new(team.timed(&self.shared.watchdog));
        if team.worth_sharing() {
            self.shared.pool.share(&team);
        }
        let done = team.participate(seat, lease);
        if done {
            self.settle(&team);
        }
        done
    }

    /// What follows a shared job that this worker finished: it owns the queue now, or goes on with the graph that the job is a node of.
    pub(crate) fn team_done(self: &Arc<Self>, team: &Arc<Team>, seat: Seat) {
        self.guarded(seat, || {
            self.settle(team);
            match team.node() {
                None => self.go_on(team.at, seat),
                Some((replay, node)) => self.replay_done(replay, replay.go_on(*node, seat), seat),
            }
        });
    }

    /// A worker's turn with a graph that has nodes to run.
    pub(crate) fn help(self: &Arc<Self>, replay: &Arc<Replay>, seat: Seat) {
        self.guarded(seat, || self.replay_done(replay, replay.help(seat), seat));
    }

    fn replay_done(self: &Arc<Self>, replay: &Arc<Replay>, over: bool, seat: Seat) {
        if over {
            self.settle_replay(replay);
            self.go_on(replay.at, seat);
        }
    }

    /// The job at a position, which several threads shared, is over, and this thread owns the queue.
    fn go_on(self: &Arc<Self>, at: Position, seat: Seat) {
        if !self.finish(at, seat) {
            self.run_jobs(seat, None, true);
        }
    }

    fn settle_replay(&self, replay: &Arc<Replay>) {
        if replay.shared.load(Ordering::Relaxed) {
            self.shared.pool.retire_replay(replay);
        }
        let (failure, printed) = replay.outcome();
        self.tell(failure, None);
        printed.into_iter().for_each(|printed| self.tell(None, Some(printed)));
    }

    fn settle(&self, team: &Arc<Team>) {
        self.shared.pool.retire(team);
        if let Some(timer) = &team.timer {
            self.shared.watchdog.disarm(timer);
        }
        let (failure, printed) = team.outcome();
        match team.node() {
            None => self.tell(failure, printed),
            Some((replay, node)) => replay.tell(*node, failure, printed),
        }
    }

    /// Keeps what a kernel has to tell, before its position completes.
    fn tell(&self, failure: Option<LateFailure>, printed: Option<Printed>) {
        if let Some(failure) = failure {
            self.late.lock().push(failure);
        }
        if let Some(printed) = printed {
            self.printed.lock().push(printed);
        }
    }

    fn edge(self: &Arc<Self>, other: &Arc<Self>, position: Position) -> Step {
        if other.watch.completed() >= position {
            return Step::Done;
        }
        self.state.lock().status = Status::Parked;
        match other.watch.add(position, Watcher::Resume(Arc::clone(self))) {
            None => Step::Handed,
            Some(_) => {
                let mut state = self.state.lock();
                if state.status != Status::Parked {
                    // The device was lost meanwhile, and this queue buried.
                    return Step::Handed;
                }
                state.status = Status::Running;
                Step::Done
            }
        }
    }

    /// The edge is reached.
    pub(crate) fn resume(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.status != Status::Parked {
            return;
        }
        state.status = Status::Ready;
        drop(state);
        self.tell_pool();
    }

    /// Completes a job. True when that was the last one: then the ownership is given up, and was before anybody could see the completion, so that
    /// whoever saw it finds the queue idle.
    fn finish(&self, at: Position, seat: Seat) -> bool {
        if self.stamps_asked.load(Ordering::Acquire) > 0 {
            self.record_stamps(at);
        }
        let mut state = self.state.lock();
        let last = state.jobs.is_empty() && !state.dead;
        if last {
            state.status = Status::Idle;
        }
        drop(state);
        // An edge has no position.
        if at > 0 {
            self.fire(self.watch.reach(at), seat);
        }
        last
    }

    fn fire(&self, watchers: Vec<Watcher>, seat: Seat) {
        for watcher in watchers {
            match watcher {
                Watcher::Resume(fifo) => fifo.resume(),
                // The caller is inside the runtime and may hold what the callback wants.
                Watcher::Wake(wake) if seat == Seat::Caller => self.shared.pool.call(wake),
                Watcher::Wake(wake) => {
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(wake)) {
                        self.shared.poison_by_panic(&*panic);
                    }
                }
            }
        }
    }

    /// The device is lost. A queue that somebody owns is buried by its owner, when nothing of it runs any more.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        state.dead = true;
        if state.status != Status::Running {
            state.status = Status::Running;
            drop(state);
            self.bury(Seat::Caller);
        }
    }

    /// Drops all jobs and says that nothing is in flight. Called by the owner, or by whoever took the ownership to do this.
    fn bury(&self, seat: Seat) {
        let mut state = self.state.lock();
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        drop(jobs);
        self.fire(self.watch.reach(Position::MAX), seat);
    }

    pub(crate) fn wait(self: &Arc<Self>, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        // A time beyond the clock is for ever.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let forever = deadline.is_none();
        let mut done = self.watch.completed() >= at;
        if !done && timeout != Some(Duration::ZERO) {
            if self.own() {
                self.drive(Seat::Waiter, Some(at), forever);
            }
            done = self.watch.sleep(at, deadline);
        }
        if self.shared.faulted() {
            return Err(self.lost());
        }
        Ok(if done { Waited::Done } else { Waited::TimedOut })
    }

    pub(crate) fn take_late(&self) -> Vec<LateFailure> {
        std::mem::take(&mut *self.late.lock())
    }

    pub(crate) fn take_printed(&self) -> Vec<Printed> {
        std::mem::take(&mut *self.printed.lock())
    }

    pub(crate) fn notify(&self, at: Position, wake: Box<dyn FnOnce() + Send>) {
        if let Some(watcher) = self.watch.add(at, Watcher::Wake(wake)) {
            self.fire(vec![watcher], Seat::Waiter);
        }
    }

    /// Asks for a stamp when `at` completes.
    pub(crate) fn stamp(&self, at: Position) {
        self.stamps.lock().asked.push_back(at);
        self.stamps_asked.fetch_add(1, Ordering::Release);
    }

    fn record_stamps(&self, at: Position) {
        let mut stamps = self.stamps.lock();
        while stamps.asked.front().is_some_and(|&asked| asked <= at)
            && let Some(asked) = stamps.asked.pop_front()
        {
            if stamps.taken.len() == STAMPS {
                stamps.taken.pop_front();
            }
            stamps.taken.push_back((asked, system::nanoseconds()));
            self.stamps_asked.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn timestamp(&self, at: Position) -> Option<u64> {
        let stamps = self.stamps.lock();
        let index = stamps.taken.binary_search_by_key(&at, |&(position, _)| position).ok()?;
        stamps.taken.get(index).map(|&(_, time)| time)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        self.shared.queues.lock().remove(&self.id);
    }
}

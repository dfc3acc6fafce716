//! One large piece of work that several threads share.
//!
//! Ranges are taken by an atomic counter. Whoever finishes the last range owns the queue again: nobody waits for anybody.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use compute_hal::{LateFailure, Position, Printed};

use crate::fifo::Fifo;
use crate::graph::Replay;
use crate::launch::Run;
use crate::scratch::{Lease, Seat};
use crate::watchdog::{Timer, Watchdog};
use crate::work::{Copies, Fill, Move, PART, Rows};

/// Work expected to take less than this is not offered to other workers: waking them would take as long.
pub(crate) const SHARE_FROM: u64 = 20_000;
/// Nanoseconds that a range should take: long against the cost of taking one, short for a worker that should make way for other work.
const RANGE_TIME: u64 = 50_000;

#[allow(clippy::large_enum_variant, reason = "kernels are the common case, and lie in the team's one allocation")]
pub(crate) enum Shareable {
    Kernel(Run),
    Move(Arc<Move>),
    Rows(Rows),
    Copies(Arc<Copies>),
    Fill(Arc<Fill>),
}

pub(crate) struct Team {
    pub(crate) at: Position,
    pub(crate) fifo: Arc<Fifo>,
    work: Shareable,
    /// Units: workgroups, or parts of [`PART`] bytes.
    total: u64,
    /// Units of a thread's first range; it goes on from there by the time that they take.
    first: u64,
    next: AtomicU64,
    done: AtomicU64,
    /// Whether other workers can see it.
    pub(crate) shared: AtomicBool,
    pub(crate) timer: Option<Timer>,
    /// Whose node it is, if it is one of a graph's.
    node: Option<(Arc<Replay>, u32)>,
}

impl Team {
    pub(crate) fn kernel(fifo: &Arc<Fifo>, at: Position, run: Run, groups: u64) -> Self {
        let first = run.kernel().estimate(1).map_or(1, |one| RANGE_TIME / one.max(1));
        Self::new(fifo, at, Shareable::Kernel(run), groups, first.max(1))
    }

    pub(crate) fn bytes(fifo: &Arc<Fifo>, at: Position, work: Shareable, size: usize) -> Self {
        Self::new(fifo, at, work, size.div_ceil(PART) as u64, 1)
    }

    fn new(fifo: &Arc<Fifo>, at: Position, work: Shareable, total: u64, first: u64) -> Self {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let shared = AtomicBool::new(false);
        Self { at, fifo: Arc::clone(fifo), work, total, first, next, done, shared, timer: None, node: None }
    }

    /// It does a node of a graph.
    pub(crate) fn of_node(self, replay: &Arc<Replay>, node: u32) -> Self {
        Self { node: Some((Arc::clone(replay), node)), ..self }
    }

    /// Whose node it does.
    pub(crate) fn node(&self) -> Option<&(Arc<Replay>, u32)> {
        self.node.as_ref()
    }

    /// Starts its time limit, if it has one.
    pub(crate) fn timed(mut self, watchdog: &Watchdog) -> Self {
        if let Shareable::Kernel(run) = &self.work
            && run.time_limit() > 0
            && let Some(flag) = &run.cancel
        {
            self.timer = watchdog.arm(run.time_limit(), flag);
        }
        self
    }

    /// Whether it should be offered to other workers right away.
    pub(crate) fn worth_sharing(&self) -> bool {
        let estimate = match &self.work {
            Shareable::Kernel(run) => run.kernel().estimate(self.total),
            Shareable::Move(_) | Shareable::Rows(_) | Shareable::Copies(_) | Shareable::Fill(_) => None,
        };
        self.total > 1 && estimate.is_none_or(|time| time >= SHARE_FROM)
    }

    /// How many units nobody has taken.
    pub(crate) fn left(&self) -> u64 {
        self.total.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// Takes about `wanted` units, fewer near the end so that all workers end together.
    fn take(&self, wanted: u64) -> Option<(u64, u64)> {
        let workers = u64::from(self.fifo.shared.pool.workers()).max(1);
        let count = wanted.min(self.left() / (workers * 2)).max(1);
        let begin = self.next.fetch_add(count, Ordering::Relaxed);
        if begin >= self.total {
            // Late comers must not wrap the counter round.
            self.next.fetch_sub(count, Ordering::Relaxed);
            return None;
        }
        Some((begin, begin.saturating_add(count).min(self.total)))
    }

    /// Takes ranges until none are left, or, for a worker, until other work waits. True when this call finished the last range: then the caller
    /// owns the queue. A guest brings the scratch that it was promised.
    pub(crate) fn participate(self: &Arc<Self>, seat: Seat, lease: Option<Lease>) -> bool {
        let lease = match (&self.work, seat) {
            (Shareable::Kernel(run), Seat::Worker(_)) => match run.kernel().lease(seat) {
                Ok(lease) => lease,
                // A worker's scratch is its own: only a worker inside itself could find it gone.
                Err(()) => return false,
            },
            _ => lease,
        };
        let start = Instant::now();
        let (mut mine, mut spent, mut wanted) = (0, 0, self.first);
        let finished = loop {
            let Some((begin, end)) = self.take(wanted) else { break false };
            self.range(begin, end, lease.as_ref());
            mine += end - begin;
            let before = std::mem::replace(&mut spent, elapsed(start));
            wanted = match spent - before {
                ..=RANGE_TIME if end - begin >= wanted => wanted.saturating_mul(2),
                time if time > 4 * RANGE_TIME => (wanted / 2).max(1),
                _ => wanted,
            };
            // Release: whoever sees the total sees all that was written. Acquire: the last one sees it all.
            if self.done.fetch_add(end - begin, Ordering::AcqRel) + (end - begin) == self.total {
                break true;
            }
            if self.make_way(seat, spent) {
                break false;
            }
        };
        if let Shareable::Kernel(run) = &self.work {
            run.kernel().observe(mine, spent);
        }
        finished
    }

    /// Between two ranges: shares work that turns out long, and says whether to leave for other work.
    fn make_way(self: &Arc<Self>, seat: Seat, spent: u64) -> bool {
        let pool = &self.fifo.shared.pool;
        let leave = matches!(seat, Seat::Worker(_)) && pool.busy();
        if !self.shared.load(Ordering::Relaxed) && (leave || spent > SHARE_FROM) {
            pool.share(self);
        }
        leave
    }

    fn range(&self, begin: u64, end: u64, lease: Option<&Lease>) {
        if self.fifo.shared.faulted() {
            return;
        }
        let run = AssertUnwindSafe(|| match &self.work {
            Shareable::Kernel(run) => run.groups(begin, end, lease),
            // Units are parts of a size that fits.
            Shareable::Move(bytes) => bytes.part(begin as usize * PART, end as usize * PART),
            Shareable::Rows(bytes) => bytes.part(begin as usize * PART, end as usize * PART),
            Shareable::Copies(bytes) => bytes.part(begin as usize * PART, end as usize * PART),
            Shareable::Fill(bytes) => bytes.part(begin as usize * PART, end as usize * PART),
        });
        if let Err(panic) = catch_unwind(run) {
            self.fifo.shared.poison_by_panic(&*panic);
        }
    }

    /// What went wrong and what was printed, once it is finished.
    pub(crate) fn outcome(&self) -> (Option<LateFailure>, Option<Printed>) {
        match &self.work {
            Shareable::Kernel(run) => (run.failure(self.at), run.printed(self.at)),
            Shareable::Move(_) | Shareable::Rows(_) | Shareable::Copies(_) | Shareable::Fill(_) => (None, None),
        }
    }
}

fn elapsed(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

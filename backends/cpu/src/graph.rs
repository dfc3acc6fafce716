//! Graphs: lists of prepared jobs, and their replays. Who finishes a node goes on with those that it lets begin, and leaves some to the pool where there is enough to share.
//!
//! A replay is one job of its queue. As with a [`Team`], nobody waits for anybody: whoever finishes the last node owns the queue again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use compute_hal::{DeviceError, GraphRequest, LateCause, LateFailure, NodeWork, Pitched, Position, Printed, for_change};
use parking_lot::Mutex;

use crate::device::Shared;
use crate::fifo::{Fifo, INLINE_BYTES, INLINE_TIME, SHARED_BYTES};
use crate::launch::{Prepared, Run, Size};
use crate::memory::Span;
use crate::scratch::Seat;
use crate::system;
use crate::team::{SHARE_FROM, Shareable, Team};
use crate::work::{Copies, Fill, Move};

/// Nodes of a graph that may run inside the call that replays it.
const INLINE_NODES: usize = 64;
/// What a node is taken to need whose kernel never ran.
const UNKNOWN: u64 = 10_000;
/// Nodes that a thread takes from the common list at once.
const BATCH: usize = 32;

/// What a node does.
#[derive(Clone)]
enum Node {
    Kernel(Arc<Prepared>),
    Move(Arc<Move>),
    Copies(Arc<Copies>),
    Fill(Arc<Fill>),
    Join,
}

/// A graph that is ready.
pub(crate) struct Graph {
    /// Replaced by updates; a replay keeps the one that it found.
    nodes: Mutex<Arc<Vec<Node>>>,
    /// How many nodes each one follows.
    waits: Box<[u32]>,
    /// Those that follow each one: where they end in `next`.
    ends: Box<[u32]>,
    next: Box<[u32]>,
    /// Launches of kernels that report.
    reporting: Box<[u32]>,
    /// Whether any host thread may run any of its kernels.
    takes_any_guest: bool,
    /// Nanoseconds of each node in the last replay that is over; only of a timed graph.
    times: Option<Mutex<Option<Vec<u64>>>>,
}

/// A replay.
pub(crate) struct Replay {
    pub(crate) at: Position,
    pub(crate) fifo: Arc<Fifo>,
    graph: Arc<Graph>,
    nodes: Arc<Vec<Node>>,
    /// Launches of kernels that report have records of their own, in the order of nodes.
    own: Vec<(u32, Arc<Prepared>)>,
    /// How many nodes each one still waits for.
    pending: Vec<AtomicU32>,
    left: AtomicUsize,
    /// Those that wait for none, the first one last, with room for all nodes: for whoever begins.
    roots: Mutex<Vec<u32>>,
    /// Nodes that whoever comes first may run; room for all.
    ready: Mutex<Vec<u32>>,
    ready_count: AtomicUsize,
    /// Whether the pool has it in its list. Written under the pool's lock.
    pub(crate) shared: AtomicBool,
    /// Begin, then duration, of each node of a timed graph.
    times: Vec<AtomicU64>,
    told: Mutex<Told>,
}

/// What nodes had to tell.
#[derive(Default)]
struct Told {
    failure: Option<(u32, LateFailure)>,
    printed: Vec<(u32, Printed)>,
}

fn no_memory<T>(_: T) -> DeviceError {
    DeviceError::OutOfMemory { asked: 0, free: 0 }
}

fn reserved<T>(count: usize) -> Result<Vec<T>, DeviceError> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(no_memory)?;
    Ok(all)
}

impl Node {
    fn new(shared: &Shared, work: &NodeWork<'_>) -> Result<Self, DeviceError> {
        let span = |region| Span::resolve(&shared.memory, region);
        Ok(match work {
            NodeWork::Launch(launch) => Self::Kernel(Arc::new(Prepared::new(shared, launch)?)),
            NodeWork::Copy { from, to } => Self::Move(Arc::new(Move::within(span(*from)?, span(*to)?)?)),
            NodeWork::CopyRows(rows) => {
                let spans = |copy: &Pitched| Ok([span(copy.from)?, span(copy.to)?]);
                Self::Copies(Arc::new(Copies::within(rows.iter().map(|copy| (copy, spans(copy))))?))
            }
            NodeWork::Fill { to, pattern } => Self::Fill(Arc::new(Fill::new(span(*to)?, pattern)?)),
            NodeWork::Join => Self::Join,
        })
    }

    /// A bound on one thread's time, where it is known beforehand.
    fn bound(&self, shared: &Shared) -> Option<u64> {
        match self {
            Self::Kernel(prepared) if prepared.is_indirect() || prepared.time_limit > 0 => None,
            Self::Kernel(prepared) => match prepared.size(&shared.limits) {
                Size::Groups(_, groups) => prepared.kernel.bound(groups),
                Size::Nothing | Size::OverLimit(_) => Some(0),
            },
            Self::Move(bytes) => (bytes.size() <= INLINE_BYTES).then_some(bytes.size() as u64 / 8),
            Self::Copies(bytes) => (bytes.size() <= INLINE_BYTES).then_some(bytes.size() as u64 / 2),
            Self::Fill(fill) => (fill.size() <= INLINE_BYTES).then_some(fill.size() as u64 / 8),
            Self::Join => Some(0),
        }
    }

    /// A guess at one thread's time.
    fn estimate(&self, shared: &Shared) -> u64 {
        match self {
            Self::Kernel(prepared) if prepared.is_indirect() => UNKNOWN,
            Self::Kernel(prepared) => match prepared.size(&shared.limits) {
                Size::Groups(_, groups) => prepared.kernel.estimate(groups).unwrap_or(UNKNOWN),
                Size::Nothing | Size::OverLimit(_) => 0,
            },
            Self::Move(bytes) => bytes.size() as u64 / 8,
            Self::Copies(bytes) => bytes.size() as u64 / 2,
            Self::Fill(fill) => fill.size() as u64 / 8,
            Self::Join => 0,
        }
    }
}

impl Graph {
    pub(crate) fn new(shared: &Shared, request: &GraphRequest<'_>) -> Result<Self, DeviceError> {
        let count = request.nodes.len();
        let bug = || DeviceError::Internal("an edge of a graph that leads to no earlier node".into());
        let (mut nodes, mut waits, mut ends) = (reserved(count)?, reserved(count)?, reserved::<u32>(count)?);
        ends.resize(count, 0);
        for (index, node) in request.nodes.iter().enumerate() {
            nodes.push(Node::new(shared, &node.work)?);
            waits.push(u32::try_from(node.after.len()).map_err(no_memory)?);
            for before in node.after {
                let end = ends.get_mut(*before as usize).filter(|_| (*before as usize) < index).ok_or_else(bug)?;
                *end = end.checked_add(1).ok_or_else(bug)?;
            }
        }
        let mut all = 0_u32;
        for end in &mut ends {
            all = all.checked_add(*end).ok_or_else(|| no_memory(()))?;
            *end = all;
        }
        let mut next = reserved(all as usize)?;
        next.resize(all as usize, 0);
        // From behind, so that those that follow a node are in the order of the list, and each end ends up as a start.
        for (index, node) in request.nodes.iter().enumerate().rev() {
            for before in node.after {
                if let Some(end) = ends.get_mut(*before as usize)
                    && let Some(place) = next.get_mut(*end as usize - 1)
                {
                    *place = index as u32;
                    *end -= 1;
                }
            }
        }
        // Starts to ends again.
        ends.rotate_left(1.min(count));
        if let Some(last) = ends.last_mut() {
            *last = all;
        }
        let kernel = |node: &Node| if let Node::Kernel(prepared) = node { Some(Arc::clone(prepared)) } else { None };
        let reports = |(_, node): &(u32, &Node)| kernel(node).is_some_and(|prepared| prepared.reports());
        let mut reporting = reserved((0_u32..).zip(&nodes).filter(reports).count())?;
        reporting.extend((0_u32..).zip(&nodes).filter(reports).map(|(index, _)| index));
        let takes_any_guest = nodes.iter().filter_map(kernel).all(|prepared| prepared.kernel.takes_any_guest());
        let (times, waits, ends, next) = (request.timed.then(Mutex::default), waits.into(), ends.into(), next.into());
        Ok(Self { nodes: Mutex::new(Arc::new(nodes)), waits, ends, next, reporting: reporting.into(), takes_any_guest, times })
    }

    pub(crate) fn update(&self, shared: &Shared, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        let new = Node::new(shared, work)?;
        let mut nodes = self.nodes.lock();
        match for_change(&mut nodes)?.get_mut(node as usize) {
            Some(place) => *place = new,
            None => return Err(DeviceError::Internal(format!("no node {node} in the graph"))),
        }
        Ok(())
    }

    pub(crate) fn times(&self) -> Option<Vec<u64>> {
        self.times.as_ref()?.lock().clone()
    }

    fn followers(&self, node: u32) -> &[u32] {
        let end = |index: usize| self.ends.get(index).copied().unwrap_or(0) as usize;
        let start = (node as usize).checked_sub(1).map_or(0, end);
        self.next.get(start..end(node as usize)).unwrap_or_default()
    }
}

impl Replay {
    pub(crate) fn new(graph: Arc<Graph>, fifo: &Arc<Fifo>, at: Position) -> Result<Self, DeviceError> {
        let nodes = Arc::clone(&graph.nodes.lock());
        let mut pending = reserved(nodes.len())?;
        pending.extend(graph.waits.iter().map(|waits| AtomicU32::new(*waits)));
        let mut times = Vec::new();
        if graph.times.is_some() {
            times = reserved(nodes.len())?;
            times.resize_with(nodes.len(), AtomicU64::default);
        }
        let mut own = reserved(graph.reporting.len())?;
        for index in &graph.reporting {
            if let Some(Node::Kernel(prepared)) = nodes.get(*index as usize) {
                own.push((*index, Arc::new(prepared.again()?)));
            }
        }
        let left = AtomicUsize::new(nodes.len());
        let (mut roots, ready) = (reserved(nodes.len())?, Mutex::new(reserved(nodes.len())?));
        // There are fewer nodes than that.
        roots.extend(graph.waits.iter().enumerate().rev().filter(|(_, waits)| **waits == 0).map(|(node, _)| node as u32));
        let roots = Mutex::new(roots);
        Ok(Self {
            at,
            fifo: Arc::clone(fifo),
            graph,
            nodes,
            own,
            pending,
            left,
            roots,
            ready,
            ready_count: AtomicUsize::new(0),
            shared: AtomicBool::new(false),
            times,
            told: Mutex::default(),
        })
    }

    /// Whether it is known to be over soon.
    pub(crate) fn is_short(&self) -> bool {
        let shared = &self.fifo.shared;
        let add = |sum: u64, node: &Node| node.bound(shared)?.checked_add(sum).filter(|sum| *sum <= INLINE_TIME);
        self.nodes.len() <= INLINE_NODES && self.nodes.iter().try_fold(0, add).is_some()
    }

    /// Whether threads may run it that have no scratch of their own, and a stack that nobody knows.
    pub(crate) fn takes_any_guest(&self) -> bool {
        self.graph.takes_any_guest
    }

    /// How many nodes wait for somebody.
    pub(crate) fn waiting(&self) -> usize {
        self.ready_count.load(Ordering::Relaxed)
    }

    /// Runs it from its beginning. True: it is over, and the caller owns the queue.
    pub(crate) fn begin(self: &Arc<Self>, seat: Seat) -> bool {
        let mine = std::mem::take(&mut *self.roots.lock());
        self.nodes.is_empty() || self.run(mine, seat)
    }

    /// Helps with it. As [`Self::begin`].
    pub(crate) fn help(self: &Arc<Self>, seat: Seat) -> bool {
        self.run(Vec::new(), seat)
    }

    /// Goes on behind a node that a team has done.
    pub(crate) fn go_on(self: &Arc<Self>, node: u32, seat: Seat) -> bool {
        let mut mine = Vec::new();
        self.complete(node, &mut mine) || self.run(mine, seat)
    }

    /// Runs nodes, the last of `mine` first, while there are any. True when this call finished the last node of all.
    fn run(self: &Arc<Self>, mut mine: Vec<u32>, seat: Seat) -> bool {
        let each = self.estimate();
        loop {
            if mine.len() > 1 && seat != Seat::Caller && each.saturating_mul(mine.len() as u64) >= SHARE_FROM {
                self.share(&mut mine);
            }
            let Some(node) = mine.pop() else {
                if !self.take(&mut mine) {
                    return false;
                }
                continue;
            };
            if self.run_node(node, seat) && self.complete(node, &mut mine) {
                return true;
            }
        }
    }

    /// A guess at the time of a node, from the first few.
    fn estimate(&self) -> u64 {
        let few = self.nodes.len().clamp(1, BATCH);
        let sum: u64 = self.nodes.iter().take(few).map(|node| node.estimate(&self.fifo.shared)).fold(0, u64::saturating_add);
        (sum / few as u64).max(1)
    }

    /// Leaves half of what could be run now to others, if somebody is idle.
    fn share(self: &Arc<Self>, mine: &mut Vec<u32>) {
        let pool = &self.fifo.shared.pool;
        if !pool.has_idle() || self.waiting() > 0 {
            return;
        }
        let kept = mine.len().div_ceil(2);
        let mut ready = self.ready.lock();
        // The oldest, which are at the bottom.
        let given = mine.len() - kept;
        ready.extend(mine.drain(..given));
        self.ready_count.store(ready.len(), Ordering::Relaxed);
        drop(ready);
        pool.share_replay(self);
    }

    /// Takes some of what others have left.
    fn take(&self, mine: &mut Vec<u32>) -> bool {
        if self.waiting() == 0 {
            return false;
        }
        let mut ready = self.ready.lock();
        let kept = ready.len() - ready.len().div_ceil(2).min(BATCH);
        mine.extend(ready.drain(kept..));
        self.ready_count.store(ready.len(), Ordering::Relaxed);
        !mine.is_empty()
    }

    /// Counts a node as done, and collects those that may begin. True when it was the last.
    fn complete(&self, node: u32, mine: &mut Vec<u32>) -> bool {
        if let Some(time) = self.times.get(node as usize) {
            time.store(system::nanoseconds().saturating_sub(time.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
        // Release: whoever begins sees all that was written. Acquire: the one that lets it begin has seen the others' writes.
        for next in self.graph.followers(node).iter().rev() {
            if let Some(pending) = self.pending.get(*next as usize)
                && pending.fetch_sub(1, Ordering::AcqRel) == 1
            {
                mine.push(*next);
            }
        }
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Runs a node; false when somebody else goes on with it. A panic in it is ours, and poisons the device.
    fn run_node(self: &Arc<Self>, node: u32, seat: Seat) -> bool {
        if let Some(time) = self.times.get(node as usize) {
            time.store(system::nanoseconds(), Ordering::Relaxed);
        }
        if self.fifo.shared.faulted() {
            return true;
        }
        catch_unwind(AssertUnwindSafe(|| self.work(node, seat))).unwrap_or_else(|panic| {
            self.fifo.shared.poison_by_panic(&*panic);
            true
        })
    }

    fn work(self: &Arc<Self>, node: u32, seat: Seat) -> bool {
        let team = match self.nodes.get(node as usize) {
            None | Some(Node::Join) => return true,
            Some(Node::Move(bytes)) if bytes.size() < SHARED_BYTES || seat == Seat::Caller => {
                bytes.part(0, bytes.size());
                return true;
            }
            Some(Node::Copies(bytes)) if bytes.size() < SHARED_BYTES || seat == Seat::Caller => {
                bytes.part(0, bytes.size());
                return true;
            }
            Some(Node::Fill(fill)) if fill.size() < SHARED_BYTES || seat == Seat::Caller => {
                fill.part(0, fill.size());
                return true;
            }
            Some(Node::Move(bytes)) => Team::bytes(&self.fifo, self.at, Shareable::Move(Arc::clone(bytes)), bytes.size()),
            Some(Node::Copies(bytes)) => Team::bytes(&self.fifo, self.at, Shareable::Copies(Arc::clone(bytes)), bytes.size()),
            Some(Node::Fill(fill)) => Team::bytes(&self.fifo, self.at, Shareable::Fill(Arc::clone(fill)), fill.size()),
            Some(Node::Kernel(prepared)) => match self.kernel(node, prepared, seat) {
                Some(team) => team,
                None => return true,
            },
        };
        self.fifo.run_team(team.of_node(self, node), seat)
    }

    /// Runs a launch, or gives the team that is to.
    fn kernel(self: &Arc<Self>, node: u32, prepared: &Arc<Prepared>, seat: Seat) -> Option<Team> {
        let own = self.own.binary_search_by_key(&node, |(node, _)| *node).ok().and_then(|place| self.own.get(place));
        let prepared = own.map_or(prepared, |(_, prepared)| prepared);
        let (grid, groups) = match prepared.size(&self.fifo.shared.limits) {
            Size::Nothing => return None,
            Size::OverLimit(asked) => {
                let cause = LateCause::GridLimit { asked, allowed: self.fifo.shared.limits.grid };
                self.tell(node, Some(LateFailure { position: self.at, cause }), None);
                return None;
            }
            Size::Groups(grid, groups) => (grid, groups),
        };
        let kernel = &prepared.kernel;
        let estimate = kernel.estimate(groups);
        let run = Run::new(Arc::clone(prepared), grid);
        let large = prepared.time_limit > 0 || groups > 1 && estimate.is_none_or(|time| time >= SHARE_FROM);
        if large && seat != Seat::Caller {
            return Some(Team::kernel(&self.fifo, self.at, run, groups));
        }
        // Those that may have none were not let in.
        let lease = kernel.lease(seat).ok().flatten();
        if estimate.is_none() {
            let start = system::nanoseconds();
            run.groups(0, groups, lease.as_ref());
            kernel.observe(groups, system::nanoseconds().saturating_sub(start));
        } else {
            run.groups(0, groups, lease.as_ref());
        }
        if prepared.reports() {
            self.tell(node, run.failure(self.at), run.printed(self.at));
        }
        None
    }

    /// Keeps what a node has to tell.
    pub(crate) fn tell(&self, node: u32, failure: Option<LateFailure>, printed: Option<Printed>) {
        let mut told = self.told.lock();
        if let Some(failure) = failure
            && told.failure.as_ref().is_none_or(|(first, _)| node < *first)
        {
            told.failure = Some((node, failure));
        }
        told.printed.extend(printed.map(|printed| (node, printed)));
    }

    /// What it has to tell once it is over: the first failure and all prints, in the order of nodes.
    pub(crate) fn outcome(&self) -> (Option<LateFailure>, Vec<Printed>) {
        if let Some(times) = &self.graph.times {
            let nodes = self.nodes.iter().zip(&self.times);
            let time = |(node, time): (&Node, &AtomicU64)| match node {
                Node::Join => 0,
                _ => time.load(Ordering::Relaxed).max(1),
            };
            *times.lock() = Some(nodes.map(time).collect());
        }
        let mut told = self.told.lock();
        let mut printed = std::mem::take(&mut told.printed);
        printed.sort_by_key(|(node, _)| *node);
        let failure = told.failure.take().map(|(node, LateFailure { position, cause })| {
            let cause = cause.of_node(node);
            LateFailure { position, cause }
        });
        (failure, printed.into_iter().map(|(node, printed)| Printed { node: Some(node), ..printed }).collect())
    }
}

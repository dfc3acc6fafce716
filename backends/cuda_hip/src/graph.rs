//! Graphs that are kept ready, in one of two forms:
//!
//! | | what a replay is |
//! |---|---|
//! | a graph of the driver's (`native`) | one call |
//! | a list, where kernels report or may be stopped, nodes are measured, or one copies many rows | its nodes one after another in the queue's stream, at one position |
//!
//! So each launch that reports has a record of its own, and an event lies between any two nodes that are measured. Nothing is enqueued here: see `launch`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use compute_hal::{DeviceError, GraphRequest, Grid, Node, NodeWork, Pitched, Position, for_change};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::api::{Inside, Object};
use crate::device::Shared;
use crate::kernel::Kernel;
use crate::lane::Lane;
use crate::native::{self, Native};
use crate::op::{self, Call, Groups, Move, Op, Ready};

/// Nanoseconds of each node in the last replay that is over.
pub(crate) type Times = Mutex<Option<Vec<u64>>>;

/// What a node does, after ids have become addresses.
#[allow(clippy::large_enum_variant, reason = "as of `Op`")]
pub(crate) enum Step<'a> {
    /// Its counts are known.
    Launch(Call<'a>),
    /// One row.
    Copy(Move),
    /// One behind the other.
    Rows(Box<[Move]>),
    Fill {
        to: u64,
        size: u64,
        pattern: SmallVec<[u8; 16]>,
    },
    Nothing,
}

/// Where replays are over: the last position of each queue that had any.
#[derive(Clone, Default)]
pub(crate) struct Uses(SmallVec<[(Weak<Lane>, Position); 2]>);

/// A list, replaced by updates: a replay keeps the one that it found.
#[derive(Clone)]
pub(crate) struct Listed {
    pub(crate) steps: Arc<Vec<Arc<Step<'static>>>>,
    pub(crate) times: Option<Arc<Times>>,
}

enum Form {
    /// Locked while it is launched or changed: the driver lets one thread at a time do either.
    Driver(Mutex<Native>),
    List(Mutex<Listed>),
}

/// A graph that is ready.
pub(crate) struct Graph {
    form: Form,
    /// The newest block that it touches, as [`Ready::ready`].
    ready: AtomicU64,
    /// Replays that were accepted and are not in a stream yet.
    waiting: AtomicU32,
    uses: Mutex<Uses>,
}

/// A replay that was accepted.
pub(crate) struct Replay {
    graph: Arc<Graph>,
    /// `None`: a graph of the driver's.
    pub(crate) list: Option<Listed>,
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.graph.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Replay {
    /// Those that go into a stream by themselves.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step<'static>> {
        self.list.iter().flat_map(|list| list.steps.iter().map(|step| &**step))
    }

    /// The launches of [`Self::steps`].
    pub(crate) fn launches(&self) -> impl Iterator<Item = &Call<'static>> {
        self.steps().filter_map(|step| if let Step::Launch(call) = step { Some(call) } else { None })
    }

    /// Hands a graph of the driver's to a stream.
    pub(crate) fn launch(&self, calls: &Inside<'_>, stream: Object) -> Result<(), crate::driver::Failure> {
        match &self.graph.form {
            Form::Driver(native) => native.lock().launch(calls, stream),
            Form::List(_) => Ok(()),
        }
    }
}

impl Uses {
    fn note(&mut self, lane: &Arc<Lane>, at: Position) {
        self.0.retain(|(lane, _)| lane.strong_count() > 0);
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(lane))) {
            Some((_, last)) => *last = at.max(*last),
            None => self.0.push((Arc::downgrade(lane), at)),
        }
    }

    /// Whether none is on its way any more.
    pub(crate) fn are_over(&self) -> bool {
        // A queue that is gone did what it had to.
        self.0.iter().all(|(lane, at)| lane.upgrade().is_none_or(|lane| lane.progress.completed() >= *at))
    }
}

/// The kernel of a launch, kept for as long as a node of it lives.
pub(crate) fn kernel_of(shared: &Shared, work: &NodeWork<'_>) -> Result<Option<Arc<Kernel>>, DeviceError> {
    let NodeWork::Launch(launch) = work else { return Ok(None) };
    if let Grid::Indirect(_) = launch.grid {
        shared.prepare_indirect(launch.kernel, None)?;
    }
    shared.with_kernel(launch.kernel, |kernel| Ok(Some(Arc::clone(kernel))))
}

impl<'a> Step<'a> {
    /// A node with the newest block that it touches. `kernel` is what [`kernel_of`] gives for it.
    pub(crate) fn new(shared: &Shared, work: &NodeWork<'a>, kernel: Option<&'a Arc<Kernel>>) -> Result<(Self, u64), DeviceError> {
        let none = || DeviceError::Internal("a node that is none".into());
        let Ready { op, ready } = match work {
            NodeWork::Join => return Ok((Self::Nothing, 0)),
            NodeWork::Launch(launch) => op::launch(shared, kernel.ok_or_else(none)?, launch)?,
            NodeWork::Copy { from, to } => op::copy(shared, *from, *to)?,
            NodeWork::CopyRows(rows) => return Self::rows(shared, rows),
            NodeWork::Fill { to, pattern } => op::fill(shared, *to, pattern)?,
        };
        let step = match op {
            // A kernel that cannot look at its counts by itself: only the host can.
            Op::Launch(Call { groups: Groups::At(_), .. }) => {
                return Err(DeviceError::Unsupported("graphs with a grid from memory"));
            }
            Op::Launch(Call { groups: Groups::Direct(groups), .. }) if groups.contains(&0) => Self::Nothing,
            Op::Launch(call) => Self::Launch(call),
            Op::Move(Move { width: 0, .. }) | Op::Fill { size: 0, .. } => Self::Nothing,
            Op::Move(rows) => Self::Copy(rows),
            Op::Fill { to, size, pattern } => Self::Fill { to, size, pattern },
            _ => return Err(none()),
        };
        Ok((step, ready))
    }

    /// As one of a list.
    fn listed(self) -> Result<Arc<Step<'static>>, DeviceError> {
        Ok(Arc::new(match self {
            Self::Launch(call) => Step::Launch(call.into_owned()?),
            Self::Copy(rows) => Step::Copy(rows),
            Self::Rows(rows) => Step::Rows(rows),
            Self::Fill { to, size, pattern } => Step::Fill { to, size, pattern },
            Self::Nothing => Step::Nothing,
        }))
    }

    fn rows(shared: &Shared, copies: &[Pitched]) -> Result<(Self, u64), DeviceError> {
        let (mut rows, mut newest) = (Vec::new(), 0);
        let asked = size_of_val(copies) as u64;
        rows.try_reserve_exact(copies.len()).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        for copy in copies {
            let Ready { op: Op::Move(moved), ready } = op::copy_2d(shared, copy)? else { continue };
            newest = newest.max(ready);
            rows.push(moved);
        }
        Ok((Self::Rows(rows.into()), newest))
    }

    pub(crate) fn reports(&self) -> bool {
        let Self::Launch(call) = self else { return false };
        call.limit.is_some() || call.counts.is_some() || call.record.is_some() && call.kernel.reports.record().is_some()
    }
}

/// An empty list with room for something of every node.
pub(crate) fn reserved<T>(nodes: usize) -> Result<Vec<T>, DeviceError> {
    let asked = nodes.saturating_mul(size_of::<T>()) as u64;
    let mut all = Vec::new();
    all.try_reserve_exact(nodes).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
    Ok(all)
}

/// The nodes of a list, and the newest block that any of them touches.
fn list(shared: &Shared, nodes: &[Node<'_>]) -> Result<(Vec<Arc<Step<'static>>>, u64), DeviceError> {
    let (mut steps, mut newest) = (reserved(nodes.len())?, 0);
    for node in nodes {
        let kernel = kernel_of(shared, &node.work)?;
        let (step, ready) = Step::new(shared, &node.work, kernel.as_ref())?;
        newest = newest.max(ready);
        steps.push(step.listed()?);
    }
    Ok((steps, newest))
}

impl Graph {
    pub(crate) fn new(shared: &Shared, calls: &Inside<'_>, request: &GraphRequest<'_>) -> Result<Self, DeviceError> {
        let room = if request.timed { None } else { native::room(shared, calls, request.nodes)? };
        let (form, newest) = match room {
            Some(room) => {
                let (native, newest) = Native::new(shared, calls, request.nodes, room)?;
                (Form::Driver(Mutex::new(native)), newest)
            }
            None => {
                let (steps, newest) = list(shared, request.nodes)?;
                (Form::List(Mutex::new(Listed { steps: Arc::new(steps), times: request.timed.then(Arc::default) })), newest)
            }
        };
        Ok(Self { form, ready: AtomicU64::new(newest), waiting: AtomicU32::new(0), uses: Mutex::default() })
    }

    /// Gives a node other work. The runtime sees to it that nobody asks for a replay meanwhile.
    pub(crate) fn update(&self, shared: &Shared, calls: &Inside<'_>, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        let kernel = kernel_of(shared, work)?;
        let (step, ready) = Step::new(shared, work, kernel.as_ref())?;
        match &self.form {
            Form::Driver(native) => {
                // What is held back would find the node as it is then, not as it was.
                if self.waiting.load(Ordering::Acquire) > 0 {
                    return Err(DeviceError::Unsupported("an update while a replay is held back"));
                }
                // Where its report goes is known at each launch of a list only.
                if step.reports() {
                    return Err(DeviceError::Unsupported("an update to what reports"));
                }
                native.lock().update(shared, calls, node, step, &self.uses.lock())?;
            }
            Form::List(list) => match for_change(&mut list.lock().steps)?.get_mut(node as usize) {
                Some(place) => *place = step.listed()?,
                None => return Err(DeviceError::Internal(format!("no node {node} in the graph"))),
            },
        }
        self.ready.fetch_max(ready, Ordering::AcqRel);
        Ok(())
    }

    /// A replay as the graph is now, for a position of a queue.
    pub(crate) fn replay(self: &Arc<Self>, lane: &Arc<Lane>, at: Position) -> Ready<'static> {
        let list = match &self.form {
            Form::Driver(_) => {
                self.uses.lock().note(lane, at);
                None
            }
            Form::List(list) => Some(list.lock().clone()),
        };
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Ready { op: Op::Replay(Replay { graph: Arc::clone(self), list }), ready: self.ready.load(Ordering::Acquire) }
    }

    pub(crate) fn times(&self) -> Option<Vec<u64>> {
        match &self.form {
            Form::Driver(_) => None,
            Form::List(list) => list.lock().times.as_ref()?.lock().clone(),
        }
    }
}

//! A graph that is ready: nodes, edges, what it does to bytes that were there before, and the device's graph where there is one. Replaying it is one section.
//!
//! The nodes change only by updates, which never happen at the same time as anything that looks at them: whoever does is counted in and out, and an update that
//! finds somebody inside is refused rather than made to wait, since that may be a callback of its own caller.

use std::ops::Range;
use std::sync::Arc;

use compute_hal::{self as hal, DeviceError, GraphId};
use compute_trust::{About, Error, NoMemory, Part, Use};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::super::buffer::Buffer;
use super::super::device::{Device, Gone};
use super::super::error::{Checked, Failed, Result, error, fail, refusal};
use super::super::launch::Launch;
use super::super::place::Span;
use super::super::prints::{self, Expected};
use super::super::section::{Outcome, Performed, Subject, Touch, Write, alone, perform, refuse, refused_operation, room};
use super::super::stream::Stream;
use super::super::transfer::{NAMES, usable};
use super::super::{code, log};
use super::builder::{Edges, GraphOptions, List, NodeId, copied};
use super::effects::Effect;
use super::node::{Node, Parts, Request, Touches, Work};
use super::playback;
use super::window::watched;

/// A graph. Dropping it lets replays in flight finish; its buffers and kernels go when these are over (G4).
pub struct Graph {
    pub(crate) device: Arc<Device>,
    pub(crate) number: u32,
    pub(crate) label: Arc<str>,
    timed: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    plan: Arc<Plan>,
    native: Option<Native>,
    /// How many look at the plan.
    entered: u32,
    /// Where replays of which only a part was submitted are over.
    partial: SmallVec<[Use; 1]>,
}

/// What is replayed.
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Edges,
    /// Of the edges, those that the caller wants.
    given: Edges,
    pub(crate) bytes: u64,
    effects: Vec<Effect>,
    kept: Kept,
    fails_late: bool,
    /// Calls of the device that its nodes are where that keeps no graphs.
    calls: u64,
    /// Nodes that print.
    printing: Vec<u32>,
    /// Nodes that can fail late, or print, by themselves.
    parts: Option<Arc<Vec<Part>>>,
}

/// Buffers that stay where they are.
struct Kept(Vec<Arc<Buffer>>);

/// The device's graph; goes back when nothing uses it.
struct Native {
    device: Arc<Device>,
    id: GraphId,
}

/// Somebody looks at the plan, so that it does not change.
pub(crate) struct Entered<'a> {
    pub(crate) plan: Arc<Plan>,
    pub(crate) native: Option<GraphId>,
    /// Behind the plan: fields are dropped in their order, and an update that finds nobody inside has the only plan.
    _inside: Inside<'a>,
}

/// Counts somebody in.
struct Inside<'a>(&'a Graph);

/// Numbers of a graph.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphFacts {
    /// Nodes, joins included.
    pub nodes: usize,
    /// Edges, those that the caller gave and those between nodes that conflict.
    pub edges: usize,
    /// Distinct buffers that it keeps.
    pub buffers: usize,
    /// Distinct bytes that it references (G6).
    pub bytes: u64,
    /// Whether its replays measure their nodes.
    pub timed: bool,
    /// Whether the device keeps it; the runtime plays it back otherwise.
    pub native: bool,
}

/// What of the effects is written.
fn written(effects: &[Effect]) -> impl Iterator<Item = (&Arc<Buffer>, Range<u64>)> {
    let written = effects.iter().filter(|effect| effect.write != Write::No);
    written.map(|effect| (&effect.view.buffer, effect.view.range()))
}

impl Kept {
    /// Keeps buffers in place, and gives those memory that have none yet: a replay allocates nothing (G4).
    fn new<'a>(buffers: impl ExactSizeIterator<Item = &'a Arc<Buffer>>) -> Result<Self> {
        Self::all(buffers.len(), buffers)
    }

    /// The same for those of one node.
    fn of(work: &Work) -> Result<Self> {
        Self::all(work.touches().count(), work.touches().map(|touched| touched.span.buffer))
    }

    fn all<'a>(count: usize, buffers: impl Iterator<Item = &'a Arc<Buffer>>) -> Result<Self> {
        let mut kept = Self(Vec::new());
        let no_memory = |_| Failed::of(error(code::OUT_OF_MEMORY, "no host memory for the buffers of a graph"));
        kept.0.try_reserve_exact(count).map_err(no_memory)?;
        for buffer in buffers {
            buffer.home.fix();
            kept.0.push(Arc::clone(buffer));
            buffer.back()?;
            // Whoever is moving it just now ends first.
            alone(buffer, |_| ());
        }
        Ok(kept)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.iter().for_each(|buffer| buffer.home.loosen());
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.device.gone(Gone::Graph(self.id));
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().entered -= 1;
    }
}

impl Plan {
    /// Takes nodes and edges of a list over. After an error they are still the list's.
    fn new(list: &mut List) -> Result<Self> {
        let kept = Kept::new(list.tracker.buffers())?;
        list.whole().map_err(|made| Failed::of(*made))?;
        let effects = list.tracker.effects().map_err(|none| Failed::of(error(code::OUT_OF_MEMORY, none.to_string())))?;
        let bytes = list.tracker.bytes();
        let (mut fails_late, mut calls, mut printing) = (false, 0_u64, Vec::new());
        for (index, Node { work, .. }) in (0_u32..).zip(&list.nodes) {
            fails_late |= work.fails_late();
            calls = calls.saturating_add(work.calls());
            if work.prints().is_some() {
                let no_memory = |_| Failed::of(error(code::OUT_OF_MEMORY, "no host memory for the names of a graph's nodes"));
                printing.try_reserve(1).map_err(no_memory)?;
                printing.push(index);
            }
        }
        let (nodes, edges) = (std::mem::take(&mut list.nodes), std::mem::take(&mut list.edges));
        let given = std::mem::take(&mut list.given);
        Ok(Self { nodes, edges, given, bytes, effects, kept, fails_late, calls, printing, parts: None })
    }

    /// What a replay does, for its section.
    fn touches(&self) -> std::result::Result<Vec<Touch<'_>>, DeviceError> {
        let mut touches = Vec::new();
        let asked = size_of_val(&*self.effects) as u64;
        touches.try_reserve_exact(self.effects.len()).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        touches.extend(self.effects.iter().map(|effect| {
            let span = Span { buffer: &effect.view.buffer, offset: effect.view.offset, size: effect.view.size };
            Touch { span, reads: effect.reads, write: effect.write, rows: None }
        }));
        Ok(touches)
    }

    /// What it writes, to be claimed.
    fn outputs(&self) -> impl Iterator<Item = (&Arc<Buffer>, Range<u64>)> {
        written(&self.effects)
    }

    /// Room for what the nodes print. The device's graph prints at one position, a played one at that of each node.
    fn expect_prints<'a>(&self, stream: &'a Stream, native: bool, label: &str) -> Result<SmallVec<[Expected<'a>; 1]>> {
        let mut expected = SmallVec::new();
        let printing = self.printing.iter().filter_map(|index| self.nodes.get(*index as usize));
        let printing = printing.filter_map(|node| node.work.prints().map(|kernel| (node, kernel)));
        let no_memory = || Failed::of(error(code::OUT_OF_MEMORY, NoMemory.to_string()));
        for (node, kernel) in printing.take(if native { 1 } else { usize::MAX }) {
            let label = node.label.as_deref().unwrap_or(label);
            let made = prints::expect(&stream.queue, &kernel.name, label).map_err(|_| no_memory())?;
            room(&mut expected).map_err(|_| no_memory())?;
            expected.push(if native { made.of_nodes(self.parts.as_ref()) } else { made });
        }
        Ok(expected)
    }

    /// Notes which nodes a late failure may be about. A node of the device's graph is told by its index, of a played one by its position.
    fn name_parts(&mut self, device: &Device, native: bool) -> Result<()> {
        let all = !native && device.capabilities().fails_late;
        if !all && !self.fails_late && self.printing.is_empty() {
            self.parts = None;
            return Ok(());
        }
        let mut parts = Vec::new();
        let mut left = self.calls;
        for (number, node) in (0_u32..).zip(&self.nodes) {
            let behind = left;
            left = left.saturating_sub(node.work.calls());
            if !(all || node.work.is_heard_of()) {
                continue;
            }
            let no_memory = |_| Failed::of(error(code::OUT_OF_MEMORY, "no host memory for the names of a graph's nodes"));
            parts.try_reserve(1).map_err(no_memory)?;
            let label = node.label.clone().unwrap_or_else(|| Arc::clone(&NAMES.none));
            let kernel = node.work.shared_name();
            // Each of its calls has a position, but all of a graph that the device keeps have one.
            parts.push(Part { number, back: (!native).then_some(left..behind), kernel, label });
        }
        self.parts = (!parts.is_empty()).then(|| Arc::new(parts));
        Ok(())
    }

    fn instantiate(&self, device: &Arc<Device>, label: &str, timed: bool) -> Result<Option<Native>> {
        if !device.capabilities().native_graphs {
            return Ok(None);
        }
        let _guard = device.guard();
        let made = native_graph(self, device, label, timed);
        match made {
            Ok(id) => Ok(Some(Native { device: Arc::clone(device), id })),
            // It does not keep graphs with such nodes. A timed one has to be refused: only the device can measure.
            Err(DeviceError::Unsupported(_)) if !timed => Ok(None),
            Err(failed) => Err(device.broken(failed)),
        }
    }
}

/// Asks the device for the graph.
fn native_graph(plan: &Plan, device: &Device, label: &str, timed: bool) -> std::result::Result<GraphId, DeviceError> {
    let out_of_memory = |_| DeviceError::OutOfMemory { asked: 0, free: 0 };
    let mut nodes = Vec::new();
    nodes.try_reserve_exact(plan.nodes.len()).map_err(out_of_memory)?;
    let parts = Parts::of(plan.nodes.iter().map(|node| &node.work))?;
    let mut rest = parts.rest();
    for (index, node) in plan.nodes.iter().enumerate() {
        nodes.push(hal::Node { work: node.work.seen(&mut rest)?, after: plan.edges.after(index) });
    }
    device.expect_one()?;
    let made = device.native.instantiate(&hal::GraphRequest { nodes: &nodes, timed, label });
    if made.is_err() {
        device.none_made();
    }
    made
}

impl Graph {
    /// Makes nodes ready.
    pub(crate) fn new(
        device: &Arc<Device>,
        options: &GraphOptions,
        number: u32,
        nodes: Vec<Node>,
        given: Edges,
    ) -> Result<Arc<Self>> {
        Self::of(device, options, &mut List::of(number, nodes, given).map_err(|made| Failed::of(*made))?)
    }

    /// Makes a list ready.
    pub(crate) fn of(device: &Arc<Device>, options: &GraphOptions, list: &mut List) -> Result<Arc<Self>> {
        device.check()?;
        let can = device.capabilities();
        if options.timed && !(can.native_graphs && can.timestamps) {
            return fail(code::UNSUPPORTED, "this device cannot measure the nodes of a graph; its capabilities say so");
        }
        let number = list.number;
        let mut plan = Plan::new(list)?;
        let native = plan.instantiate(device, &options.label, options.timed)?;
        plan.name_parts(device, native.is_some())?;
        let plan = Arc::new(plan);
        Ok(Arc::new(Self {
            device: Arc::clone(device),
            number,
            label: options.label.as_str().into(),
            timed: options.timed,
            inner: Mutex::new(Inner { plan, native, entered: 0, partial: SmallVec::new() }),
        }))
    }

    /// The plan, which stays as it is while the answer lives.
    pub(crate) fn enter(&self) -> Entered<'_> {
        let mut inner = self.inner.lock();
        inner.entered += 1;
        let (plan, native) = (Arc::clone(&inner.plan), inner.native.as_ref().map(|native| native.id));
        Entered { plan, native, _inside: Inside(self) }
    }

    /// It was captured and cannot be handed out, for a reason that only the caller of the runtime knows: what it would have written is claimed (G3).
    pub fn given_up(&self, code: i32, message: String) -> Arc<Failed> {
        refuse(error(code, message), self.enter().plan.outputs())
    }

    /// Numbers of it.
    pub fn facts(&self) -> GraphFacts {
        let entered = self.enter();
        let plan = &entered.plan;
        GraphFacts {
            nodes: plan.nodes.len(),
            edges: plan.edges.count(),
            buffers: plan.kept.0.len(),
            bytes: plan.bytes,
            timed: self.timed,
            native: entered.native.is_some(),
        }
    }

    /// Device time of each node in nanoseconds in the last replay that is over, joins included with zero. `None`: none is over.
    pub fn times(&self) -> Result<Option<Vec<u64>>> {
        self.device.check()?;
        if !self.timed {
            return fail(code::UNSUPPORTED, format!("graph `{}` was not made to be timed", self.label));
        }
        let entered = self.enter();
        // Of a graph that does nothing the device never hears.
        if entered.plan.calls == 0 {
            return Ok(Some(vec![0; entered.plan.nodes.len()]));
        }
        Ok(entered.native.and_then(|id| self.device.native.graph_times(id)))
    }

    /// Gives a node other buffers, inline bytes, patterns or counts, for replays from now on (G6). Its kind and its kernel stay; a launch without a kernel takes the node's.
    /// Claims nothing.
    pub fn update(&self, node: NodeId, request: &Request<'_>) -> Result<()> {
        self.device.check()?;
        let (index, mut work) = self.checked(node, request).map_err(|made| Failed::of(*made))?;
        // One that is refused gives nothing memory and waits for nothing.
        drop(self.between_replays()?);
        // What its buffers have to wait for (M5) is waited for here, with no lock held: in the plan they are in place already.
        let _kept = Kept::of(&work)?;
        let mut inner = self.between_replays()?;
        let old = self.exchange(&mut inner, index, &mut work)?;
        drop(inner);
        // Buffers, kernels and the device's graph go with no lock held, and so does what the node did.
        drop((old, work));
        Ok(())
    }

    /// The graph for a change, as nobody is inside.
    fn between_replays(&self) -> Result<MutexGuard<'_, Inner>> {
        let inner = self.inner.lock();
        if inner.entered > 0 {
            drop(inner);
            let label = &self.label;
            return fail(code::BUSY, format!("another call is using graph `{label}` this moment; update it between its replays"));
        }
        Ok(inner)
    }

    /// The place of a node, and what it is to do.
    fn checked(&self, node: NodeId, request: &Request<'_>) -> Checked<(usize, Work)> {
        let entered = self.enter();
        let index = node.index_in(self.number, entered.plan.nodes.len())? as usize;
        let Some(Node { work: old, .. }) = entered.plan.nodes.get(index) else {
            return refusal(code::INVALID_ARGUMENT, || format!("{:#x} is not a node", node.0));
        };
        let other = |kind: &str| refusal(code::INVALID_ARGUMENT, || format!("node {index} is a {}, not a {kind}", old.kind()));
        let new = match (old, request) {
            (Work::Launch(old), Request::Launch(launch)) => {
                let kernel = &old.kernel;
                if launch.kernel.is_some_and(|given| !Arc::ptr_eq(given, kernel)) {
                    let message = || format!("node {index} launches `{}`; an update keeps the kernel", kernel.name);
                    return refusal(code::INVALID_ARGUMENT, message);
                }
                Work::new(&self.device, &Request::Launch(Launch { kernel: Some(kernel), ..*launch }), &mut Touches::new())?
            }
            (Work::Copy { .. } | Work::CopyRows(_), Request::Copy { .. } | Request::CopyRows { .. })
            | (Work::Fill { .. }, Request::Fill { .. }) => Work::new(&self.device, request, &mut Touches::new())?,
            (_, Request::Launch(_)) => return other("launch"),
            (_, Request::Copy { .. } | Request::CopyRows { .. }) => return other("copy"),
            (_, Request::Fill { .. }) => return other("fill"),
            (_, Request::Join) => return refusal(code::INVALID_ARGUMENT, || "a join has nothing to update".into()),
        };
        Ok((index, new))
    }

    /// Puts a node's new work in its place, here and on the device, and the old one into `work`. After an error nothing has changed.
    fn exchange(&self, inner: &mut Inner, index: usize, work: &mut Work) -> Result<(Option<Arc<Plan>>, Option<Native>)> {
        let Some(plan) = Arc::get_mut(&mut inner.plan) else {
            return fail(code::INTERNAL, "somebody looks at a graph that nobody has entered");
        };
        let Some(node) = plan.nodes.get_mut(index) else { return Ok((None, None)) };
        // Where it can fail late and could not before, replays have to be written down, and its name with them.
        let as_before = |known: fn(&Work) -> bool| known(work) == known(&node.work);
        let alike = [Work::is_nothing, Work::fails_late, Work::is_heard_of].into_iter().all(as_before);
        let alike = alike && work.calls() == node.work.calls();
        if alike && work.touches_as(&node.work) {
            let updated = match &inner.native {
                Some(native) => self.update_native(native, index, work)?,
                None => true,
            };
            std::mem::swap(&mut node.work, work);
            if updated {
                return Ok((None, None));
            }
            let made = plan.instantiate(&self.device, &self.label, self.timed).and_then(|made| {
                // Played back, each node has a position of its own to fail at.
                if made.is_none() {
                    plan.name_parts(&self.device, false)?;
                }
                Ok(made)
            });
            return match made {
                Ok(made) => Ok((None, std::mem::replace(&mut inner.native, made))),
                Err(failed) => {
                    // The device's graph still does the old work.
                    if let Some(node) = plan.nodes.get_mut(index) {
                        std::mem::swap(&mut node.work, work);
                    }
                    Err(failed)
                }
            };
        }
        let mut nodes = copied(&plan.nodes)?;
        if let Some(node) = nodes.get_mut(index) {
            node.work = work.clone();
        }
        let mut list = List::of(self.number, nodes, plan.given.copied()?).map_err(|made| Failed::of(*made))?;
        let mut new = Plan::new(&mut list)?;
        let native = inner.native.is_some();
        // First: once the device's graph has been changed nothing may fail.
        new.name_parts(&self.device, native)?;
        let made = self.exchange_native(inner.native.as_ref(), &inner.plan, &new, index)?;
        if let Some(other) = made.as_ref().map(Option::is_some).filter(|other| *other != native) {
            new.name_parts(&self.device, other)?;
        }
        let old = std::mem::replace(&mut inner.plan, Arc::new(new));
        let old_native = made.and_then(|made| std::mem::replace(&mut inner.native, made));
        Ok((Some(old), old_native))
    }

    /// The device's graph for a plan in which one node is another: none, if it could be updated.
    #[allow(clippy::option_option, reason = "whether there is another, and whether the device has graphs")]
    fn exchange_native(&self, native: Option<&Native>, old: &Plan, new: &Plan, index: usize) -> Result<Option<Option<Native>>> {
        let Some(native) = native else { return Ok(None) };
        let node = |plan: &Plan| plan.nodes.get(index).map(|node| node.work.is_nothing());
        if old.edges.same_as(&new.edges)
            && node(old) == node(new)
            && let Some(node) = new.nodes.get(index)
            && self.update_native(native, index, &node.work)?
        {
            return Ok(None);
        }
        new.instantiate(&self.device, &self.label, self.timed).map(Some)
    }

    /// Whether the device could update the node.
    fn update_native(&self, native: &Native, index: usize, work: &Work) -> Result<bool> {
        let _guard = self.device.guard();
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let updated = Parts::of(std::iter::once(work))
            .and_then(|parts| self.device.native.update_graph(native.id, index, &work.seen(&mut parts.rest())?));
        match updated {
            Ok(()) => Ok(true),
            Err(DeviceError::Unsupported(_)) => Ok(false),
            Err(failed) => Err(self.device.broken(failed)),
        }
    }
}

/// Replays a graph on a stream (G5), which is `None` when its handle was no good.
pub fn replay(stream: Option<&Stream>, graph: &Graph) -> Result<Outcome> {
    watched(stream, || format!("the replay of graph `{}`", graph.label), || replay_now(stream, graph))
}

fn replay_now(stream: Option<&Stream>, graph: &Graph) -> Result<Outcome> {
    let label = &graph.label;
    let entered = graph.enter();
    let plan = &entered.plan;
    let refused = |made: Error| {
        let about =
            About { operation: refused_operation(), label: Arc::clone(label), kernel: Arc::clone(&NAMES.replay), stream: 0 };
        refuse(Error { about: Some(about), ..made }, plan.outputs())
    };
    let stream = check_replay(stream, graph).map_err(|made| refused(*made))?;
    if plan.calls == 0 {
        return Ok(Outcome::Enqueued);
    }
    let touches = plan.touches().map_err(|failed| refused(super::super::error::from_device(failed)))?;
    let calls = if entered.native.is_some() { 1 } else { plan.calls };
    let fails_late = plan.fails_late || graph.device.capabilities().fails_late;
    let subject = Subject { name: &NAMES.replay, label, fails_late, calls, parts: plan.parts.as_ref() };
    let prints = plan.expect_prints(stream, entered.native.is_some(), label);
    let mut prints = prints.map_err(|failed| refused((*failed.error).clone()))?;
    let mut reached = None;
    let performed = perform(stream, &subject, &touches, None, |step| {
        reached = Some(step.at + (calls - 1));
        match entered.native {
            Some(id) => {
                prints.iter_mut().for_each(|expected| expected.note(step.at));
                step.queue.replay(step.at, id)
            }
            None => playback::play(plan, step, &mut prints),
        }
    });
    match performed {
        Ok(Performed::Enqueued(_)) => {
            log::line(log::LAUNCHES, || format!("replayed graph `{label}` on stream {}", stream.id));
            Ok(Outcome::Enqueued)
        }
        Ok(Performed::Skipped(_)) => Ok(Outcome::Skipped),
        Err(failed) => {
            // Nobody knows how much of it the device has.
            if let Some(position) = reached {
                note_partial(&mut graph.inner.lock().partial, Use { queue: stream.queue.index, position });
            }
            Err(failed)
        }
    }
}

/// What keeps a graph from being replayed on a stream.
fn check_replay<'a>(stream: Option<&'a Stream>, graph: &Graph) -> Checked<&'a Stream> {
    let stream = usable(stream)?;
    stream.not_recording("a replay")?;
    let label = &graph.label;
    if !Arc::ptr_eq(&stream.device, &graph.device) {
        let message = || format!("graph `{label}` was made for another device than that of stream `{}`", stream.label);
        return refusal(code::FOREIGN_HANDLE, message);
    }
    let mut inner = graph.inner.lock();
    inner.partial.retain(|partial| !stream.device.over([*partial]));
    if !inner.partial.is_empty() {
        let message = || {
            format!("a replay of graph `{label}` failed when a part of it was submitted already; wait until that part is over")
        };
        return refusal(code::BUSY, message);
    }
    Ok(stream)
}

/// Keeps the last position of each queue.
fn note_partial(partial: &mut SmallVec<[Use; 1]>, new: Use) {
    match partial.iter_mut().find(|known| known.queue == new.queue) {
        Some(known) => known.position = known.position.max(new.position),
        None => partial.push(new),
    }
}

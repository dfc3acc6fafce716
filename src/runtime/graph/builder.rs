//! A list of nodes that grows: what a capture window records into, and what an explicit graph is made of.

use std::collections::TryReserveError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::super::code;
use super::super::device::Device;
use super::super::error::{Checked, Failed, Result, error, refusal};
use super::effects::{Touched, Tracker};
use super::instance::Graph;
use super::node::{Node, Request, Touches, Work};

/// Nodes of one graph.
pub(crate) const MOST_NODES: usize = 1 << 24;
/// Earlier nodes that an edge is left out for when another of them follows it already.
const FEW: usize = 8;

/// How to make a graph.
#[derive(Clone, Debug, Default)]
pub struct GraphOptions {
    /// For messages.
    pub label: String,
    /// Each replay measures its nodes.
    pub timed: bool,
}

/// Names a node: the number of its list, unique in the process, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub u64);

impl NodeId {
    pub(crate) fn new(list: u32, index: u32) -> Self {
        Self(u64::from(list) << 32 | u64::from(index))
    }

    /// Its place in `list` of `count` nodes.
    pub(crate) fn index_in(self, list: u32, count: usize) -> Checked<u32> {
        let index = self.0 as u32;
        match (self.0 >> 32) as u32 {
            0 => refusal(code::INVALID_ARGUMENT, || format!("{:#x} is not a node", self.0)),
            other if other != list => {
                refusal(code::FOREIGN_HANDLE, || format!("node {:#x} belongs to another graph or builder", self.0))
            }
            _ if index as usize >= count => refusal(code::INVALID_ARGUMENT, || format!("{:#x} is not a node", self.0)),
            _ => Ok(index),
        }
    }
}

/// Edges, by the node that they lead to. Nodes behind the last that has some need not be known here.
#[derive(Default)]
pub(crate) struct Edges {
    ends: Vec<u32>,
    list: Vec<u32>,
}

impl Edges {
    /// The nodes that a node follows, rising.
    pub(crate) fn after(&self, node: usize) -> &[u32] {
        let end = |index: usize| self.ends.get(index).copied().unwrap_or(0) as usize;
        let start = node.checked_sub(1).map_or(0, end);
        self.list.get(start..end(node)).unwrap_or_default()
    }

    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn same_as(&self, other: &Self) -> bool {
        (&self.ends, &self.list) == (&other.ends, &other.list)
    }

    /// Room for one more node with so many edges.
    fn reserve(&mut self, edges: usize) -> std::result::Result<(), TryReserveError> {
        self.list.try_reserve(edges)?;
        self.ends.try_reserve(1)
    }

    /// Whether one of these leads to a node.
    fn leads_to(&self, node: u32, others: &[u32]) -> bool {
        others.iter().any(|other| self.after(*other as usize).binary_search(&node).is_ok())
    }

    /// Adds the edges of the next node, which are rising, but for those that another of them stands for.
    fn push(&mut self, after: &[u32]) -> Checked<()> {
        let end = self.list.len().checked_add(after.len()).and_then(|end| u32::try_from(end).ok());
        if end.is_none() || self.reserve(after.len()).is_err() {
            return refusal(code::OUT_OF_MEMORY, || format!("no host memory for {} more edges", after.len()));
        }
        let few = 2..=FEW;
        for node in after {
            if !few.contains(&after.len()) || !self.leads_to(*node, after) {
                self.list.push(*node);
            }
        }
        // No more than fit, as was checked.
        self.ends.push(self.list.len() as u32);
        Ok(())
    }

    /// Sets the edges of the last node; there are none yet but such as were set for a node that came to nothing.
    fn put(&mut self, node: usize, after: &[u32]) -> Checked<()> {
        if after.is_empty() && self.ends.len() <= node {
            return Ok(());
        }
        let no_memory = || refusal(code::OUT_OF_MEMORY, || format!("no host memory for {} edges", after.len()));
        let end = self.list.len().checked_add(after.len()).and_then(|end| u32::try_from(end).ok());
        let missing = (node + 1).saturating_sub(self.ends.len());
        if end.is_none() || self.list.try_reserve(after.len()).is_err() || self.ends.try_reserve(missing).is_err() {
            return no_memory();
        }
        let start = self.ends.get(..node).unwrap_or(&self.ends).last().copied().unwrap_or(0);
        self.ends.resize(node, start);
        self.list.truncate(start as usize);
        self.list.extend_from_slice(after);
        self.ends.push(self.list.len() as u32);
        Ok(())
    }

    /// The same once more.
    pub(crate) fn copied(&self) -> Result<Self> {
        Ok(Self { ends: copied(&self.ends)?, list: copied(&self.list)? })
    }
}

/// Nodes with their edges, and what they do.
pub(crate) struct List {
    pub(crate) number: u32,
    pub(crate) nodes: Vec<Node>,
    /// Those that the caller wants. More follow from what the nodes touch.
    pub(crate) given: Edges,
    /// All.
    pub(crate) edges: Edges,
    pub(crate) tracker: Tracker,
    /// There was no memory in the midst of a node: nobody knows what the tracker has noted of it.
    broken: bool,
}

impl List {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // After four billion lists numbers come again: a node of one that old may then be taken for another's.
        let number = NEXT.fetch_add(1, Ordering::Relaxed).max(1);
        let (given, edges, tracker) = (Edges::default(), Edges::default(), Tracker::default());
        Self { number, nodes: Vec::new(), given, edges, tracker, broken: false }
    }

    /// A list of nodes that were checked, with the edges that the caller wants.
    pub(crate) fn of(number: u32, nodes: Vec<Node>, given: Edges) -> Checked<Self> {
        let mut list = Self { number, ..Self::new() };
        for (index, node) in nodes.into_iter().enumerate() {
            let touches = node.work.all_touches()?;
            list.note(&touches, given.after(index))?;
            drop(touches);
            list.nodes.push(node);
        }
        list.given = given;
        Ok(list)
    }

    /// Refuses a list that ran out of memory in the midst of a node.
    pub(crate) fn whole(&self) -> Checked<()> {
        if !self.broken {
            return Ok(());
        }
        refusal(code::OUT_OF_MEMORY, || {
            format!("there was no host memory in the midst of node {}; begin the graph anew", self.nodes.len())
        })
    }

    /// Adds a node, which does that to bytes, behind those that the caller names, rising, and behind all that it conflicts with.
    pub(crate) fn add(&mut self, node: Node, touches: &[Touched<'_>], given: &[u32]) -> Checked<NodeId> {
        let index = self.nodes.len() as u32;
        self.given.put(self.nodes.len(), given)?;
        self.note(touches, given)?;
        self.nodes.push(node);
        Ok(NodeId::new(self.number, index))
    }

    /// Makes room for the next node, and notes what it does and follows.
    fn note(&mut self, touches: &[Touched<'_>], given: &[u32]) -> Checked<()> {
        if self.nodes.len() >= MOST_NODES {
            return refusal(code::LIMIT, || format!("the graph has {MOST_NODES} nodes, which is the most that is allowed"));
        }
        self.whole()?;
        let no_memory = |index| move || format!("no host memory for node {index}");
        let index = self.nodes.len();
        // What most nodes need first: without that nothing has changed.
        let room = self.nodes.try_reserve(1).is_ok() && self.edges.reserve(FEW + given.len()).is_ok();
        let Some(places) = room.then(|| self.tracker.reserve(touches).ok()).flatten() else {
            return refusal(code::OUT_OF_MEMORY, no_memory(index));
        };
        self.broken = true;
        // At most MOST_NODES.
        let Ok(mut after) = self.tracker.add(index as u32, touches, &places) else {
            return refusal(code::OUT_OF_MEMORY, no_memory(index));
        };
        if !given.is_empty() {
            if after.try_reserve(given.len()).is_err() {
                return refusal(code::OUT_OF_MEMORY, no_memory(index));
            }
            after.extend_from_slice(given);
            after.sort_unstable();
            after.dedup();
        }
        self.edges.push(&after)?;
        self.broken = false;
        Ok(())
    }
}

/// An explicit graph that is being made (G6).
pub struct GraphBuilder {
    device: Arc<Device>,
    options: GraphOptions,
    list: Mutex<List>,
}

impl GraphBuilder {
    /// Without nodes.
    pub fn new(device: &Arc<Device>, options: GraphOptions) -> Result<Arc<Self>> {
        device.check()?;
        super::super::section::prepare();
        Ok(Arc::new(Self { device: Arc::clone(device), options, list: Mutex::new(List::new()) }))
    }

    /// Adds a node that follows those of `after`, in any order and however often each is named. Claims nothing, whatever it answers: nothing runs yet.
    pub fn add(&self, request: &Request<'_>, after: &[NodeId]) -> Result<NodeId> {
        self.device.check()?;
        // Compiles, perhaps, so with no lock held.
        let mut touches = Touches::new();
        let work = Work::new(&self.device, request, &mut touches).map_err(|made| Failed::of(*made))?;
        let node = Node { work, label: request.label() };
        let mut list = self.list.lock();
        let added = given(&list, after).and_then(|given| list.add(node, &touches, &given));
        added.map_err(|made| Failed::of(*made))
    }

    /// Makes the nodes so far ready to be replayed. The builder may go on to grow and be instantiated again; nodes have the same ids in all of its graphs.
    pub fn instantiate(&self) -> Result<Arc<Graph>> {
        self.device.check()?;
        let (number, nodes, given) = {
            let list = self.list.lock();
            list.whole().map_err(|made| Failed::of(*made))?;
            (list.number, copied(&list.nodes)?, list.given.copied()?)
        };
        Graph::new(&self.device, &self.options, number, nodes, given)
    }
}

/// Nodes or edges once more.
pub(crate) fn copied<T: Clone>(these: &[T]) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let no_memory = |_| Failed::of(error(code::OUT_OF_MEMORY, format!("no host memory for {} nodes or edges", these.len())));
    all.try_reserve_exact(these.len()).map_err(no_memory)?;
    all.extend(these.iter().cloned());
    Ok(all)
}

/// The places of nodes that the caller names, rising, each once.
fn given(list: &List, after: &[NodeId]) -> Checked<Vec<u32>> {
    let mut given = Vec::new();
    if given.try_reserve_exact(after.len()).is_err() {
        return refusal(code::OUT_OF_MEMORY, || format!("no host memory for {} edges", after.len()));
    }
    for node in after {
        given.push(node.index_in(list.number, list.nodes.len())?);
    }
    given.sort_unstable();
    given.dedup();
    Ok(given)
}

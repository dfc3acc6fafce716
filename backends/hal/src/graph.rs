//! Graphs as plain data: what the runtime hands to a device that keeps whole graphs ready.
//!
//! A graph is a finished list. There is no recording mode of a queue that something else could break, or that could be left on: the runtime resolves and
//! checks every node, and asks for all of them at once.

use std::sync::Arc;

use crate::{DeviceError, Launch, Pitched, Region};

/// Names a graph that a device keeps ready.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GraphId(pub u64);

/// What a node does. As of the methods of [`Queue`](crate::Queue) of these names.
#[derive(Clone, Copy, Debug)]
pub enum NodeWork<'a> {
    /// A launch; its grid may be indirect.
    Launch(Launch<'a>),
    /// A copy of equal sizes, never overlapping, not empty.
    Copy {
        /// Source.
        from: Region,
        /// Destination.
        to: Region,
    },
    /// Copies of rows, at least one, none empty; no byte of a source is one of a destination. Each has one row on a device without
    /// [`Capabilities::pitched`](crate::Capabilities::pitched).
    CopyRows(&'a [Pitched]),
    /// A fill with a pattern of 1, 2, 4, 8 or 16 bytes, not empty.
    Fill {
        /// Destination.
        to: Region,
        /// Repeated; the last repetition may be cut short.
        pattern: &'a [u8],
    },
    /// Nothing: it ends when what it comes after has ended.
    Join,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// What it does.
    pub work: NodeWork<'a>,
    /// The nodes that have to be over before it begins: indices of nodes before it in the list, rising. So the list is in an order that may be run as it is,
    /// and there are no cycles. Nodes without a path between them touch no common bytes that one of them writes: they may run at once.
    pub after: &'a [u32],
}

/// A graph to be made ready. What it points to lives for the call.
#[derive(Clone, Copy, Debug)]
pub struct GraphRequest<'a> {
    /// All nodes, at most `u32::MAX` of them.
    pub nodes: &'a [Node<'a>],
    /// Each replay measures its nodes, for [`Device::graph_times`](crate::Device::graph_times).
    pub timed: bool,
    /// The caller's label, for messages.
    pub label: &'a str,
}

/// A list of a graph's nodes for a change. Replays on their way keep the one that they found: where there are any, the change is made to a copy, for which there may be
/// no host memory.
pub fn for_change<T: Clone>(list: &mut Arc<Vec<T>>) -> Result<&mut [T], DeviceError> {
    if Arc::get_mut(list).is_none() {
        let mut copy = Vec::new();
        let asked = size_of_val(&***list) as u64;
        copy.try_reserve_exact(list.len()).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        copy.extend_from_slice(list);
        *list = Arc::new(copy);
    }
    let shared = || DeviceError::Internal("a list of a graph's nodes that two change at once".into());
    Arc::get_mut(list).map(Vec::as_mut_slice).ok_or_else(shared)
}

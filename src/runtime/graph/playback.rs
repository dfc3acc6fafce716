//! Replays on devices that keep no graphs: node by node, in the order of the list, which follows all edges.

use compute_hal::{DeviceError, NodeWork};

use super::super::prints::Expected;
use super::super::section::Step;
use super::super::strided::enqueue_rows;
use super::instance::Plan;
use super::node::Parts;

/// Enqueues every node that does something, each call of the device at a position of its own. An error leaves those before it enqueued.
pub(super) fn play(plan: &Plan, step: &Step<'_>, prints: &mut [Expected<'_>]) -> Result<(), DeviceError> {
    let mut prints = prints.iter_mut();
    let mut at = step.at;
    for node in plan.nodes.iter().filter(|node| !node.work.is_nothing()) {
        let parts = Parts::of(std::iter::once(&node.work))?;
        if node.work.prints().is_some()
            && let Some(expected) = prints.next()
        {
            expected.note(at);
        }
        match node.work.seen(&mut parts.rest())? {
            NodeWork::Launch(launch) => step.queue.launch(at, &launch)?,
            NodeWork::Copy { from, to } => step.queue.copy(at, from, to)?,
            NodeWork::CopyRows(rows) => rows.iter().zip(at..).try_for_each(|(copy, at)| enqueue_rows(step.queue, at, copy))?,
            NodeWork::Fill { to, pattern } => step.queue.fill(at, to, pattern)?,
            NodeWork::Join => step.queue.mark(at),
        }
        at += node.work.calls();
    }
    Ok(())
}

//! Replays on devices that keep no graphs: node by node, in the order of the list, which follows all edges.

use compute_hal::{self as hal, DeviceError, NodeWork};
use smallvec::SmallVec;

use super::super::prints::Expected;
use super::super::section::Step;
use super::instance::Plan;

/// Enqueues every node that does something, each at a position of its own. An error leaves those before it enqueued.
pub(super) fn play(plan: &Plan, step: &Step<'_>, prints: &mut [Expected<'_>]) -> Result<(), DeviceError> {
    let mut prints = prints.iter_mut();
    let working = plan.nodes.iter().filter(|node| !node.work.is_nothing());
    for (node, at) in working.zip(step.at..) {
        let mut bindings: SmallVec<[hal::Binding<'_>; 8]> = SmallVec::new();
        let asked = node.work.binding_count();
        bindings
            .try_reserve(asked)
            .map_err(|_| DeviceError::OutOfMemory { asked: (asked * size_of::<hal::Binding<'_>>()) as u64, free: 0 })?;
        node.work.bind(&mut bindings)?;
        if node.work.prints().is_some()
            && let Some(expected) = prints.next()
        {
            expected.note(at);
        }
        match node.work.with_bindings(&bindings)? {
            NodeWork::Launch(launch) => step.queue.launch(at, &launch)?,
            NodeWork::Copy { from, to } => step.queue.copy(at, from, to)?,
            NodeWork::Fill { to, pattern } => step.queue.fill(at, to, pattern)?,
            NodeWork::Join => step.queue.mark(at),
        }
    }
    Ok(())
}

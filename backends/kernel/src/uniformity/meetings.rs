//! Where the whole workgroup has to arrive together: whether a kernel has such a place at all.

use naga::{Block, Function, Handle, Module, Span, Statement};

use super::Steps;
use crate::subgroups::is_elect;

/// A barrier, subgroup operation or uniform load that an entry point reaches, if there is one. What begins at `source_size` is not of the source.
/// All of it is looked at, whatever steps are left: the source bounds how much that is.
pub(super) fn first(module: &Module, entry: &Function, source_size: usize, steps: &mut Steps) -> Option<Span> {
    let mut seen = vec![false; module.functions.len()];
    let mut open = vec![entry];
    let mut calls = Vec::new();
    while let Some(function) = open.pop() {
        if let Some(found) = meeting(&function.body, &mut calls, steps) {
            return Some(found);
        }
        for (callee, span) in calls.drain(..) {
            if is_elect(module, callee, source_size) {
                return Some(span);
            }
            if let Some(flag) = seen.get_mut(callee.index()).filter(|seen| !**seen) {
                *flag = true;
                open.push(&module.functions[callee]);
            }
        }
    }
    None
}

/// The first one in a block, and which functions are called up to there.
fn meeting(block: &Block, calls: &mut Vec<(Handle<Function>, Span)>, steps: &mut Steps) -> Option<Span> {
    steps.spend(block.len());
    block.span_iter().find_map(|(statement, &span)| match statement {
        Statement::ControlBarrier(_)
        | Statement::WorkGroupUniformLoad { .. }
        | Statement::SubgroupBallot { .. }
        | Statement::SubgroupCollectiveOperation { .. }
        | Statement::SubgroupGather { .. } => Some(span),
        Statement::Call { function, .. } => {
            calls.push((*function, span));
            None
        }
        Statement::Block(inner) => meeting(inner, calls, steps),
        Statement::If { accept, reject, .. } => meeting(accept, calls, steps).or_else(|| meeting(reject, calls, steps)),
        Statement::Switch { cases, .. } => cases.iter().find_map(|case| meeting(&case.body, calls, steps)),
        Statement::Loop { body, continuing, .. } => meeting(body, calls, steps).or_else(|| meeting(continuing, calls, steps)),
        _ => None,
    })
}

//! What a read over claimed bytes answers (T8). Built only when somebody asks, immutable, plain data: it holds no allocation alive.

use crate::{Answers, Error, Failure, Skip};
use std::sync::Arc;

/// One failure as seen from one buffer.
#[derive(Clone, Debug)]
pub struct Report {
    /// Id of the failure, unique in the process.
    pub failure: u64,
    /// The root error; of a group, one of code SEVERAL.
    pub root: Arc<Error>,
    /// In how many buffers it claims bytes now.
    pub buffers: u64,
    /// Nothing of the operation reached the device: `reinstate` may lift the claim.
    pub untouched: bool,
    /// The kept skips that lead from the buffer back to the root, newest first.
    pub chain: Vec<Skip>,
    /// How many skips the failure caused in all.
    pub skips_total: u64,
    /// How many of them are no longer kept.
    pub dropped: u64,
    /// The members of a group, in the order found.
    pub members: Vec<Report>,
    /// How many members the group could not keep.
    pub dropped_members: u64,
    reached_by_skip: bool,
}

impl Report {
    /// What there is to say of `failure`, which claims bytes of the buffer with the id `from_buffer`.
    pub fn of(failure: &Failure, from_buffer: u64) -> Report {
        Report::inside(failure, None, from_buffer)
    }

    /// The same for one that claims the bytes as a member of `group`: whoever was skipped since claims were merged is noted there.
    pub fn inside(failure: &Failure, group: Option<&Failure>, from_buffer: u64) -> Report {
        let (mut skips, mut total) = failure.skips();
        if let Some((newer, count)) = group.map(Failure::skips) {
            skips.extend(newer);
            total = total.saturating_add(count);
        }
        let forgot = |failure: &Failure| failure.forgot_skip_into(from_buffer);
        let dropped = total.saturating_sub(skips.len() as u64);
        let chain = chain(skips, from_buffer);
        Report {
            failure: failure.id(),
            root: failure.error(),
            buffers: failure.buffers(),
            untouched: failure.is_untouched(),
            reached_by_skip: !chain.is_empty() || forgot(failure) || group.is_some_and(forgot),
            chain,
            skips_total: total,
            dropped,
            members: failure.members().iter().map(|member| Report::inside(member, Some(failure), from_buffer)).collect(),
            dropped_members: failure.dropped_members(),
        }
    }

    /// The four questions. For a chain the root decides; for a group, refusal and reclaimable need every root, poisoned and skip any.
    pub fn answers(&self) -> Answers {
        let skip = self.reached_by_skip || self.members.iter().any(|member| member.answers().skip);
        Answers { skip, ..self.root.answers }
    }
}

/// The skips that lead to the buffer, newest first: those that would have written it, and those that would have written what these needed.
fn chain(skips: Vec<Skip>, from_buffer: u64) -> Vec<Skip> {
    let mut wanted = vec![from_buffer];
    let mut chain = Vec::new();
    for skip in skips.into_iter().rev() {
        if skip.outputs.iter().any(|output| wanted.contains(output)) {
            wanted.push(skip.needed.id);
            chain.push(skip);
        }
    }
    chain
}

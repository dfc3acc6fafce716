//! Budgets of streams (M6): what allocations are charged, and when that is given back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use compute_memory::{Budget, Mode, OverBudget, Placement};
use compute_trust::{Answers, Error};

use super::super::code;
use super::super::device::Device;
use super::super::error::{Failed, Result, error};
use super::super::stream::Stream;
use super::{BUDGETED, Block, Elsewhere, PoolSet};

/// Bytes that a buffer is charged. Given back when dropped: by whoever sees its last use over.
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    /// Charges, or tells why not. Does not wait.
    pub(super) fn new(budget: Arc<Budget>, bytes: u64) -> std::result::Result<Self, OverBudget> {
        budget.charge(bytes)?;
        Ok(Self { budget, bytes })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.refund(self.bytes);
    }
}

pub(super) fn over_budget(over: &OverBudget) -> Arc<Failed> {
    let answers = Answers { reclaimable: !over.is_for_ever(), ..Answers::default() };
    Failed::of(Error { answers, ..error(code::BUDGET, over.to_string()) })
}

impl Device {
    /// A block of the stream's that was released and is charged until its uses are over, with its charge: where these are on the stream's own queue the next
    /// use is ordered behind them, so neither has anybody to wait nor is more charged.
    pub(super) fn take_over_charged(&self, stream: &Stream, set: &Arc<PoolSet>, size: u64, mode: Mode) -> Option<Block> {
        let (budget, queue) = (stream.charged_to()?, set.queue?);
        let usable = |waiting: &Elsewhere| {
            let same = waiting.charge.as_ref().is_some_and(|charge| Arc::ptr_eq(&charge.budget, &budget));
            same && waiting.uses.iter().all(|one| one.queue == queue)
        };
        let (placement, waiting) = set.pools.lock().take_back(size, mode, usable)?;
        Some(Block { set: Arc::clone(set), placement, charge: waiting.charge })
    }

    /// Charges the budget of a stream, if it has one, with what `size` bytes take at least. Where that does not fit, waits once for what was released.
    pub(super) fn charge(&self, stream: Option<&Stream>, size: u64, reclaimed: &mut bool) -> Result<Option<Charge>> {
        let Some(budget) = stream.and_then(Stream::charged_to) else { return Ok(None) };
        let bytes = size.checked_next_multiple_of(self.memory.settings.granule).unwrap_or(u64::MAX);
        let mut answer = budget.charge(bytes);
        if answer.is_err_and(|over| !over.is_for_ever()) {
            self.reclaim();
            *reclaimed = true;
            answer = budget.charge(bytes);
        }
        match answer {
            Ok(()) => Ok(Some(Charge { budget, bytes })),
            Err(over) => Err(over_budget(&over)),
        }
    }

    /// Charges what the pool gave beyond what is charged already. Where that does not fit, the place is given back.
    pub(super) fn charge_rest(&self, set: &PoolSet, placement: Placement, charge: &mut Option<Charge>) -> Result<Placement> {
        let Some(charge) = charge else { return Ok(placement) };
        let more = placement.capacity.saturating_sub(charge.bytes);
        if let Err(over) = charge.budget.charge(more) {
            set.pools.lock().release(placement, 0, None, &self.seen(set));
            // Of the whole, a part of which is charged.
            let (asked, charged) = (charge.bytes.saturating_add(more), over.charged.saturating_sub(charge.bytes));
            return Err(over_budget(&OverBudget { asked, charged, ..over }));
        }
        charge.bytes += more;
        Ok(placement)
    }
}

impl Stream {
    /// What its allocations are charged to.
    fn charged_to(&self) -> Option<Arc<Budget>> {
        if self.budgeted.load(Ordering::Acquire) { self.budget.lock().clone() } else { None }
    }

    /// From now on the stream's allocations are charged to this budget, or to none. What was charged before stays where it is.
    pub fn set_budget(&self, budget: Option<Arc<Budget>>) {
        // The old one is dropped after unlocking.
        let mut held = self.budget.lock();
        let budgeted = budget.is_some();
        self.budgeted.store(budgeted, Ordering::Release);
        let _old = std::mem::replace(&mut *held, budget);
        if !budgeted {
            self.keeper.open(BUDGETED);
        }
        drop(held);
        if budgeted {
            self.keeper.close(BUDGETED);
        }
    }
}

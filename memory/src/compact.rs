//! The plan of a compaction: which allocations to move so that whole pages become idle.

use std::cmp::Reverse;
use std::collections::TryReserveError;

use crate::bins::NONE;
use crate::layout::Kind;
use crate::pool::State;
use crate::pools::{Placement, Pools};

/// An allocation to be moved. The caller copies it, takes `to` as its place and releases the old one after the copy; or releases `to`.
#[derive(Debug, PartialEq, Eq)]
pub struct Move {
    /// The page that it leaves, by the caller's name.
    pub memory: u64,
    /// Where it is in that page.
    pub offset: u64,
    /// Its new place, of the same capacity.
    pub to: Placement,
}

/// Pages of a pool whose contents may find no room before no more are tried.
const FAILURES: u32 = 16;

impl<U> Pools<U> {
    /// Plans to empty the least used pages into free space of others. `movable` is asked by page and offset. Pages that cannot be emptied
    /// wholly are left alone, and so are those that would need a page to be emptied into, and frozen pools. Without host memory for the plan nothing is planned.
    pub fn compact(&mut self, mut movable: impl FnMut(u64, u64) -> bool) -> Result<Vec<Move>, TryReserveError> {
        let mut moves = Vec::new();
        if self.is_frozen() {
            return Ok(moves);
        }
        for index in 0..self.pools.len() {
            if self.pools[index].spec.kind == Kind::Sliced
                && let Err(none) = self.compact_pool(index, &mut movable, &mut moves)
            {
                self.unplan(&mut moves, 0);
                return Err(none);
            }
        }
        Ok(moves)
    }

    /// Gives up the places of the moves from the `first` on.
    fn unplan(&mut self, moves: &mut Vec<Move>, first: usize) {
        for planned in moves.drain(first..) {
            self.forget(planned.to);
        }
    }

    fn compact_pool(
        &mut self,
        index: usize,
        movable: &mut impl FnMut(u64, u64) -> bool,
        moves: &mut Vec<Move>,
    ) -> Result<(), TryReserveError> {
        let mut held = Vec::new();
        let planned = self.plan_pool(index, movable, moves, &mut held);
        for slice in held {
            if self.pools[index].slices[slice as usize].state == State::HeldOut {
                self.pools[index].give(slice);
            }
        }
        planned
    }

    /// `held`: free slices that nothing may move into, which are the caller's to give back.
    fn plan_pool(
        &mut self,
        index: usize,
        movable: &mut impl FnMut(u64, u64) -> bool,
        moves: &mut Vec<Move>,
        held: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        let pool = &self.pools[index];
        let mut candidates = Vec::new();
        candidates.try_reserve_exact(pool.pages.len())?;
        let used = pool.pages.iter().enumerate().filter(|(_, page)| page.size > 0 && page.live > 0);
        candidates.extend(used.map(|(page, entry)| (entry.in_use, Reverse(entry.size), page as u32)));
        candidates.sort_unstable();
        // Nothing moves into an idle page, nor into one that was emptied or could not be.
        let mut page = pool.idle_first;
        while page != NONE {
            self.hold_out(index, page, held)?;
            page = self.pools[index].idle_after(page);
        }
        let mut failures = 0;
        for (in_use, _, page) in candidates {
            if self.pools[index].pages[page as usize].in_use != in_use {
                // Allocations move here.
                continue;
            }
            if !self.may_leave(index, page, movable) {
                // It stays, so others may move here.
                continue;
            }
            self.hold_out(index, page, held)?;
            let before = moves.len();
            if !self.plan_page(index, page, moves)? {
                self.unplan(moves, before);
                // What is in this one finds no room; what is in a fuller one may be in smaller pieces.
                failures += 1;
                if failures == FAILURES {
                    break;
                }
            }
        }
        Ok(())
    }

    fn hold_out(&mut self, index: usize, page: u32, held: &mut Vec<u32>) -> Result<(), TryReserveError> {
        let mut at = self.pools[index].pages[page as usize].first;
        while at != NONE {
            if self.pools[index].slices[at as usize].state == State::Free {
                held.try_reserve(1)?;
                self.pools[index].take(at);
                held.push(at);
            }
            at = self.pools[index].slices[at as usize].right;
        }
        Ok(())
    }

    /// Whether all that is in a page can leave it.
    fn may_leave(&self, index: usize, page: u32, movable: &mut impl FnMut(u64, u64) -> bool) -> bool {
        let pool = &self.pools[index];
        let entry = &pool.pages[page as usize];
        let mut at = entry.first;
        while at != NONE {
            let slice = &pool.slices[at as usize];
            match slice.state {
                State::Live if movable(entry.memory, slice.offset) => {}
                State::Live | State::Pending => return false,
                State::Free | State::HeldOut | State::Vacant => {}
            }
            at = slice.right;
        }
        true
    }

    /// Finds places for all that is in a page. False: there is no room.
    fn plan_page(&mut self, index: usize, page: u32, moves: &mut Vec<Move>) -> Result<bool, TryReserveError> {
        let memory = self.pools[index].pages[page as usize].memory;
        let mut at = self.pools[index].pages[page as usize].first;
        while at != NONE {
            let slice = self.pools[index].slices[at as usize];
            if slice.state == State::Live {
                moves.try_reserve(1)?;
                let Some(to) = self.place_elsewhere(index, slice.size, 1 << slice.alignment) else { return Ok(false) };
                moves.push(Move { memory, offset: slice.offset, to });
            }
            at = slice.right;
        }
        Ok(true)
    }
}

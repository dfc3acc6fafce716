//! The plan of a compaction: which allocations to move so that whole pages become idle.

use std::cmp::Reverse;

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

impl<U> Pools<U> {
    /// Plans to empty the least used pages into free space of others. `movable` is asked by page and offset. Pages that cannot be emptied
    /// wholly are left alone, and so are those that would need a page to be emptied into, and frozen pools.
    pub fn compact(&mut self, mut movable: impl FnMut(u64, u64) -> bool) -> Vec<Move> {
        let mut moves = Vec::new();
        if self.is_frozen() {
            return moves;
        }
        for index in 0..self.pools.len() {
            if self.pools[index].spec.kind == Kind::Sliced {
                self.compact_pool(index, &mut movable, &mut moves);
            }
        }
        moves
    }

    fn compact_pool(&mut self, index: usize, movable: &mut impl FnMut(u64, u64) -> bool, moves: &mut Vec<Move>) {
        let pool = &self.pools[index];
        let used = pool.pages.iter().enumerate().filter(|(_, page)| page.size > 0 && page.live > 0);
        let mut candidates: Vec<_> = used.map(|(page, entry)| (entry.in_use, Reverse(entry.size), page as u32)).collect();
        candidates.sort_unstable();
        // Nothing moves into an idle page, nor into one that was emptied or could not be.
        let mut held = Vec::new();
        let mut page = pool.idle_first;
        while page != NONE {
            self.hold_out(index, page, &mut held);
            page = self.pools[index].idle_after(page);
        }
        for (in_use, _, page) in candidates {
            if self.pools[index].pages[page as usize].in_use != in_use {
                // Allocations move here.
                continue;
            }
            if !self.may_leave(index, page, movable) {
                // It stays, so others may move here.
                continue;
            }
            self.hold_out(index, page, &mut held);
            let before = moves.len();
            if !self.plan_page(index, page, moves) {
                for planned in moves.drain(before..) {
                    self.forget(planned.to);
                }
                break;
            }
        }
        for slice in held {
            if self.pools[index].slices[slice as usize].state == State::HeldOut {
                self.pools[index].give(slice);
            }
        }
    }

    fn hold_out(&mut self, index: usize, page: u32, held: &mut Vec<u32>) {
        let mut at = self.pools[index].pages[page as usize].first;
        while at != NONE {
            if self.pools[index].slices[at as usize].state == State::Free {
                self.pools[index].take(at);
                held.push(at);
            }
            at = self.pools[index].slices[at as usize].right;
        }
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
    fn plan_page(&mut self, index: usize, page: u32, moves: &mut Vec<Move>) -> bool {
        let memory = self.pools[index].pages[page as usize].memory;
        let mut at = self.pools[index].pages[page as usize].first;
        while at != NONE {
            let slice = self.pools[index].slices[at as usize];
            if slice.state == State::Live {
                let Some(to) = self.place_elsewhere(index, slice.size, 1 << slice.alignment) else { return false };
                moves.push(Move { memory, offset: slice.offset, to });
            }
            at = slice.right;
        }
        true
    }
}

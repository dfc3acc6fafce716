//! Where the bytes of a buffer are: nowhere, in a block that is to be had at their first use (M5), in a block, which may be moved while nobody uses it, or in
//! somebody else's memory.
//!
//! A call that holds the buffer's mark may ask where they are; only a call that holds it alone changes that. So what is asked often is two
//! atomics, ordered by the mark, and the lock is for the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::{MemoryId, Region};
use compute_memory::Mode;
use compute_trust::Use;
use parking_lot::Mutex;

use super::super::import::Import;
use super::super::stream::Stream;
use super::dry_run::Measured;
use super::ready::Keeper;
use super::{Block, PoolSet};

/// As an offset: there is no block.
const NOWHERE: u64 = u64::MAX;

/// The place of a buffer's bytes.
#[repr(C)] // What every launch looks at comes last, where the buffer's own begins.
pub(crate) struct Home {
    held: Mutex<Held>,
    /// How many rely on the place, so that it is not moved.
    fixed: AtomicU64,
    /// Who may keep the buffer for the next of its size.
    keeper: Option<Arc<Keeper>>,
    memory: AtomicU64,
    offset: AtomicU64,
}

enum Held {
    /// An empty buffer.
    Nothing,
    Deferred(Deferral),
    Block(Block),
    /// Somebody else's memory.
    Import(Import),
}

/// An allocation that is still to be made.
pub(crate) struct Deferral {
    /// From whose pools; none: from the device's.
    pub(crate) stream: Option<Arc<Stream>>,
    pub(crate) mode: Mode,
    /// What a dry run counts for it, until it goes.
    pub(crate) _measured: Option<Measured>,
}

/// What a change of the place leaves over: to be dropped, or given back, with no mark held.
pub(crate) enum Left {
    Nothing,
    Deferral(#[allow(dead_code, reason = "dropped by the caller, who holds nothing")] Deferral),
    Block(Block),
    /// To be let go of once its last uses are over.
    Import(Import),
}

impl Home {
    fn new(held: Held) -> Self {
        let (memory, offset) = match &held {
            Held::Block(block) => (block.placement.memory, block.placement.offset),
            Held::Nothing | Held::Deferred(_) | Held::Import(_) => (0, NOWHERE),
        };
        let keeper = match &held {
            Held::Block(block) => block.keeper(),
            Held::Nothing | Held::Deferred(_) | Held::Import(_) => None,
        };
        let (memory, offset) = (AtomicU64::new(memory), AtomicU64::new(offset));
        Self { held: Mutex::new(held), fixed: AtomicU64::new(0), keeper, memory, offset }
    }

    /// For an empty buffer.
    pub(crate) fn nowhere() -> Self {
        Self::new(Held::Nothing)
    }

    pub(crate) fn in_block(block: Block) -> Self {
        Self::new(Held::Block(block))
    }

    pub(crate) fn deferred(deferral: Deferral) -> Self {
        Self::new(Held::Deferred(deferral))
    }

    /// Somebody else's memory, from `offset` on. It is where it is.
    pub(crate) fn imported(import: Import, offset: u64) -> Self {
        let memory = import.memory();
        let home = Self::new(Held::Import(import));
        home.memory.store(memory.0, Ordering::Relaxed);
        home.offset.store(offset, Ordering::Release);
        home.fix();
        home
    }

    fn show(&self, block: &Block) {
        let whole = block.region(0, 0);
        self.memory.store(whole.memory.0, Ordering::Relaxed);
        self.offset.store(whole.offset, Ordering::Release);
    }

    /// A part of it, if it has a block. The caller holds the buffer's mark and has checked the range.
    pub(crate) fn region(&self, offset: u64, size: u64) -> Option<Region> {
        match self.offset.load(Ordering::Acquire) {
            NOWHERE => None,
            start => Some(Region { memory: MemoryId(self.memory.load(Ordering::Relaxed)), offset: start + offset, size }),
        }
    }

    /// Whether it has one. As [`Self::region`].
    pub(crate) fn has_block(&self) -> bool {
        self.offset.load(Ordering::Acquire) != NOWHERE
    }

    /// What the bytes of a new buffer were last used for, by what they were before.
    pub(crate) fn inherited(&mut self) -> Option<Use> {
        match self.held.get_mut() {
            Held::Block(block) => block.inherited(),
            Held::Nothing | Held::Deferred(_) | Held::Import(_) => None,
        }
    }

    /// Who may keep the buffer for the next of its size, if its block can serve one.
    pub(super) fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    /// What is to be allocated before the bytes can be used.
    pub(crate) fn deferral(&self) -> Option<(Option<Arc<Stream>>, Mode)> {
        match &*self.held.lock() {
            Held::Deferred(deferral) => Some((deferral.stream.clone(), deferral.mode)),
            Held::Nothing | Held::Block(_) | Held::Import(_) => None,
        }
    }

    /// Backs a deferred allocation. The caller holds the mark alone. The block comes back when somebody else was faster.
    pub(crate) fn back(&self, block: Block) -> Left {
        let mut held = self.held.lock();
        if !matches!(&*held, Held::Deferred(_)) {
            return Left::Block(block);
        }
        self.show(&block);
        match std::mem::replace(&mut *held, Held::Block(block)) {
            Held::Deferred(deferral) => Left::Deferral(deferral),
            Held::Nothing | Held::Block(_) | Held::Import(_) => Left::Nothing,
        }
    }

    /// It is not moved until a [`Self::loosen`] for every one of these. A move that has begun ends first: who wants to know the place takes the mark once.
    pub(crate) fn fix(&self) {
        self.fixed.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes one [`Self::fix`] back.
    pub(crate) fn loosen(&self) {
        self.fixed.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed.load(Ordering::Acquire) > 0
    }

    /// Page and offset, if it has a block of these pools.
    pub(super) fn place_in(&self, set: &Arc<PoolSet>) -> Option<(u64, u64)> {
        match &*self.held.lock() {
            Held::Block(block) if Arc::ptr_eq(&block.set, set) => Some((block.placement.memory, block.placement.offset)),
            Held::Nothing | Held::Deferred(_) | Held::Block(_) | Held::Import(_) => None,
        }
    }

    /// Another block instead of its own, which takes over what that was charged. The caller holds the mark alone, and gives the old one back.
    pub(super) fn move_to(&self, mut to: Block) -> Block {
        let mut held = self.held.lock();
        let Held::Block(from) = &mut *held else { return to };
        std::mem::swap(&mut to.charge, &mut from.charge);
        self.show(&to);
        std::mem::replace(from, to)
    }

    /// Its block, at the end of the buffer.
    pub(crate) fn end(&mut self) -> Left {
        match std::mem::replace(self.held.get_mut(), Held::Nothing) {
            Held::Nothing => Left::Nothing,
            Held::Deferred(deferral) => Left::Deferral(deferral),
            Held::Block(block) => Left::Block(block),
            Held::Import(import) => Left::Import(import),
        }
    }
}

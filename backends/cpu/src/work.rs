//! What waits in a queue, and how bytes are moved. No threads here, no order.

use std::ptr;
use std::sync::Arc;

use compute_hal::{DeviceError, HostTarget, Pitched, Position};

use crate::fifo::Fifo;
use crate::launch::Prepared;
use crate::memory::{Block, Span};

/// One entry of a queue.
pub(crate) struct Job {
    /// What completes with it; 0 for an edge, which completes nothing.
    pub(crate) at: Position,
    pub(crate) work: Work,
}

pub(crate) enum Work {
    Kernel(Box<Prepared>),
    Move(Move),
    Rows(Rows),
    Fill(Fill),
    /// Go on only when the other queue is there.
    Edge(Arc<Fifo>, Position),
    Mark,
}

/// Bytes to copy; holds what its addresses need.
pub(crate) struct Move {
    from: *const u8,
    to: *mut u8,
    size: usize,
    _held: Held,
}

/// What the addresses of a [`Move`] lie in, as far as it is ours.
#[allow(dead_code, reason = "held, never looked at")]
enum Held {
    Both(Span, Span),
    Target(Span),
    Bytes(Block, Span),
    /// The host's memory may be staging that lives by this.
    Source(Span, HostTarget),
}

// SAFETY: its addresses lie in blocks or bytes that it holds, or in host memory that its caller vouched for until the job is done.
unsafe impl Send for Move {}
// SAFETY: as above; `part` of one range from two threads at once never happens, as ranges are handed out once.
unsafe impl Sync for Move {}

impl Move {
    pub(crate) fn within(from: Span, to: Span) -> Result<Self, DeviceError> {
        if from.size() != to.size() {
            return Err(DeviceError::Internal(format!("a copy of {} bytes to {}", from.size(), to.size())));
        }
        Ok(Self { from: from.pointer(), to: to.pointer(), size: to.size(), _held: Held::Both(from, to) })
    }

    /// From host bytes that live until the job is done.
    pub(crate) fn borrowed(from: *const u8, size: usize, to: Span) -> Result<Self, DeviceError> {
        Self::check(size, &to)?;
        Ok(Self { from, to: to.pointer(), size, _held: Held::Target(to) })
    }

    /// From a copy of `bytes`.
    pub(crate) fn owned(bytes: &[u8], to: Span) -> Result<Self, DeviceError> {
        Self::check(bytes.len(), &to)?;
        // A block, since large ones come in large pages, which the first touch is far faster on.
        let copy = Block::allocate((bytes.len() as u64).max(1), u64::MAX)?;
        // SAFETY: the block is fresh and at least that large.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), copy.pointer(), bytes.len()) };
        Ok(Self { from: copy.pointer(), to: to.pointer(), size: bytes.len(), _held: Held::Bytes(copy, to) })
    }

    fn check(size: usize, to: &Span) -> Result<(), DeviceError> {
        if size != to.size() {
            return Err(DeviceError::Internal(format!("a write of {size} bytes to {}", to.size())));
        }
        Ok(())
    }

    /// Into host memory that lives until the job is done.
    pub(crate) fn read(from: Span, into: HostTarget) -> Result<Self, DeviceError> {
        let size = into.size();
        if size != from.size() {
            return Err(DeviceError::Internal(format!("a read of {} bytes into {size}", from.size())));
        }
        Ok(Self { from: from.pointer(), to: into.pointer(), size, _held: Held::Source(from, into) })
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Copies bytes `begin` to `end`, both inside.
    pub(crate) fn part(&self, begin: usize, end: usize) {
        let end = end.min(self.size);
        if begin < end {
            // SAFETY: both ranges were checked when this was made and are alive; `copy` allows overlap, which is a bug but not ours to crash on.
            unsafe { ptr::copy(self.from.add(begin), self.to.add(begin), end - begin) };
        }
    }
}

/// A copy of rows.
pub(crate) struct Rows {
    from: Span,
    to: Span,
    width: usize,
    rows: u64,
    pitches: [u64; 2],
}

impl Rows {
    pub(crate) fn new(from: Span, to: Span, copy: &Pitched) -> Result<Self, DeviceError> {
        let needed =
            |pitch: u64| copy.rows.checked_sub(1).map_or(Some(0), |last| last.checked_mul(pitch)?.checked_add(copy.width));
        let fits = |span: &Span, pitch| needed(pitch).is_some_and(|bytes| bytes <= span.size() as u64);
        let width = usize::try_from(copy.width).ok().filter(|_| fits(&from, copy.from_pitch) && fits(&to, copy.to_pitch));
        match width {
            Some(width) => Ok(Self { from, to, width, rows: copy.rows, pitches: [copy.from_pitch, copy.to_pitch] }),
            None => Err(DeviceError::Internal(format!("rows that leave their region: {copy:?}"))),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.from.size().max(self.to.size())
    }

    pub(crate) fn run(&self) {
        if self.width == 0 {
            return;
        }
        let [from_pitch, to_pitch] = self.pitches;
        for row in 0..self.rows {
            // `new` saw that the last row ends inside both regions, so no product here overflows.
            let (from, to) = ((row * from_pitch) as usize, (row * to_pitch) as usize);
            // SAFETY: as said, inside regions that the spans keep alive.
            unsafe { ptr::copy(self.from.pointer().add(from), self.to.pointer().add(to), self.width) };
        }
    }
}

/// A fill with a repeated pattern.
pub(crate) struct Fill {
    to: Span,
    pattern: [u8; 16],
}

/// Ranges of a fill or copy that is split start at multiples of this, so that patterns keep their phase.
pub(crate) const PART: usize = 256 << 10;

impl Fill {
    pub(crate) fn new(to: Span, pattern: &[u8]) -> Result<Self, DeviceError> {
        if !matches!(pattern.len(), 1 | 2 | 4 | 8 | 16) {
            return Err(DeviceError::Internal(format!("a fill pattern of {} bytes", pattern.len())));
        }
        let mut whole = [0; 16];
        for (to, from) in whole.iter_mut().zip(pattern.iter().cycle()) {
            *to = *from;
        }
        Ok(Self { to, pattern: whole })
    }

    pub(crate) fn size(&self) -> usize {
        self.to.size()
    }

    /// Fills bytes `begin` to `end`; `begin` is a multiple of 16.
    pub(crate) fn part(&self, begin: usize, end: usize) {
        let end = end.min(self.to.size());
        let uniform = self.pattern.iter().all(|byte| *byte == self.pattern[0]);
        if begin >= end {
            return;
        }
        if uniform {
            // SAFETY: inside the span.
            unsafe { self.to.pointer().add(begin).write_bytes(self.pattern[0], end - begin) };
            return;
        }
        let mut tile = [0_u8; 1024];
        for (to, from) in tile.iter_mut().zip(self.pattern.iter().cycle()) {
            *to = *from;
        }
        for start in (begin..end).step_by(tile.len()) {
            // SAFETY: inside the span, and no longer than the tile.
            unsafe { ptr::copy_nonoverlapping(tile.as_ptr(), self.to.pointer().add(start), tile.len().min(end - start)) };
        }
    }
}

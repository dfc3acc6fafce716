//! Long reads and writes in pieces, each through one slice of pinned memory.

use compute_hal::{DeviceError, HostTarget};

use crate::device::Shared;
use crate::graph::Step;
use crate::launch::pinned_size;
use crate::op::{Groups, Op, Rect};
use crate::staging::CHUNK;

/// Bytes of a piece.
pub(crate) const PIECE: u64 = CHUNK as u64;
/// Bytes of a fill that come from the host, where the driver cannot fill by itself.
pub(crate) const FILL: usize = CHUNK / 64;
const NO_MEMORY: DeviceError = DeviceError::OutOfMemory { asked: 0, free: 0 };

/// A long read, and how far it is. Of a write, which has no target.
pub(crate) struct Reading {
    pub(crate) rect: Rect,
    pub(crate) into: HostTarget,
    pub(crate) row: u64,
    pub(crate) column: u64,
}

/// Rows that go through one slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    /// Where they begin in host memory.
    pub(crate) host: u64,
    pub(crate) width: u64,
    pub(crate) rows: u64,
    pub(crate) pitch: u64,
}

impl Piece {
    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.width * self.rows).unwrap_or(usize::MAX)
    }
}

impl Reading {
    pub(crate) fn of_write(rect: Rect) -> Result<Self, DeviceError> {
        Ok(Self { rect, into: HostTarget::staging(0).ok_or(NO_MEMORY)?, row: 0, column: 0 })
    }

    /// The next rows, or the next part of one that is longer than a piece.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        let rect = &self.rect;
        if rect.is_empty() || self.row >= rect.rows {
            return None;
        }
        let (start, host) = (self.row * rect.pitch + self.column, self.row * rect.host_pitch + self.column);
        let at = |width, rows| Piece { address: rect.address + start, host, width, rows, pitch: rect.pitch };
        if rect.width > PIECE {
            let width = (rect.width - self.column).min(PIECE);
            let piece = at(width, 1);
            self.column += width;
            if self.column == rect.width {
                (self.row, self.column) = (self.row + 1, 0);
            }
            return Some(piece);
        }
        let rows = (PIECE / rect.width).min(rect.rows - self.row);
        let piece = at(rect.width, rows);
        self.row += rows;
        Some(piece)
    }

    /// Undoes the last `next`.
    pub(crate) fn back(&mut self, piece: &Piece) {
        if self.rect.width <= PIECE {
            self.row -= piece.rows;
        } else if self.column == 0 {
            (self.row, self.column) = (self.row - 1, self.rect.width - piece.width);
        } else {
            self.column -= piece.width;
        }
    }
}

/// Whether a read goes to its place by itself, as that is pinned memory that the device gave out.
pub(crate) fn is_direct(shared: &Shared, rect: &Rect, into: &HostTarget) -> bool {
    rect.rows == 1 && shared.is_pinned(into.pointer().addr(), rect.width)
}

/// Bytes of pinned memory for a fill: none where the driver fills by itself.
fn fill_size(to: u64, size: u64, pattern: &[u8]) -> usize {
    if crate::moves::even(to, size, pattern).is_some() {
        return 0;
    }
    usize::try_from(size).unwrap_or(FILL).min(FILL)
}

/// Bytes of pinned memory for a node of a replay.
pub(crate) fn step_size(step: &Step) -> usize {
    match step {
        Step::Launch(call) => pinned_size(call),
        Step::Fill { to, size, pattern } => fill_size(*to, *size, pattern),
        Step::Copy(_) | Step::Rows(_) | Step::Nothing => 0,
    }
}

/// Bytes of pinned memory for an operation, or for its first piece.
pub(crate) fn pinned(shared: &Shared, op: &Op<'_>) -> usize {
    let piece = |rect: &Rect| usize::try_from(rect.width.saturating_mul(rect.rows).min(PIECE)).unwrap_or(usize::MAX);
    match op {
        // Of a replay it is asked for each node.
        Op::Mark | Op::Move(_) | Op::Fetch(_) | Op::Send(..) | Op::Replay(_) => 0,
        Op::Launch(call) if matches!(call.groups, Groups::At(_)) => 12,
        Op::Launch(call) => pinned_size(call),
        Op::Fill { to, size, pattern } => fill_size(*to, *size, pattern),
        Op::Read(rect, into) if is_direct(shared, rect, into) => 0,
        Op::Write(rect, _) | Op::Read(rect, _) => piece(rect),
    }
}

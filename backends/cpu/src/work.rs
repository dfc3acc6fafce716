//! What waits in a queue, and how bytes are moved. No threads here, no order.

use std::ptr;
use std::sync::Arc;

use compute_hal::{DeviceError, HostRows, HostTarget, Pitched, Position};

use crate::fifo::Fifo;
use crate::graph::Replay;
use crate::launch::Prepared;
use crate::memory::{Block, Span};

/// One entry of a queue.
pub(crate) struct Job {
    /// What completes with it; 0 for an edge, which completes nothing.
    pub(crate) at: Position,
    pub(crate) work: Work,
}

pub(crate) enum Work {
    Kernel(Arc<Prepared>),
    Graph(Arc<Replay>),
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

/// What the addresses of a [`Move`] or of [`Rows`] lie in, as far as it is ours.
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

/// A copy of rows, between two blocks or between a block and the host.
pub(crate) struct Rows {
    from: *const u8,
    to: *mut u8,
    width: usize,
    rows: u64,
    pitches: [u64; 2],
    _held: Held,
}

// SAFETY: its addresses lie in blocks that it holds, or in host memory that its caller vouched for until the job is done.
unsafe impl Send for Rows {}
// SAFETY: as above; `part` of one range from two threads at once never happens, as ranges are handed out once.
unsafe impl Sync for Rows {}

/// The width, if rows at these pitches lie inside places of these sizes and do not reach into each other.
fn fitting(width: u64, rows: u64, pitches: [u64; 2], sizes: [usize; 2]) -> Result<usize, DeviceError> {
    let fits = |(pitch, size): (u64, usize)| match rows.checked_sub(1) {
        None => true,
        Some(last) => {
            let span = last.checked_mul(pitch).and_then(|start| start.checked_add(width));
            span.is_some_and(|span| span <= size as u64) && (last == 0 || pitch >= width)
        }
    };
    let inside = pitches.into_iter().zip(sizes).all(fits);
    let width = usize::try_from(width).ok().filter(|_| inside);
    width.ok_or_else(|| DeviceError::Internal(format!("{rows} rows, {pitches:?} bytes apart, leave their {sizes:?} bytes")))
}

impl Rows {
    pub(crate) fn within(from: Span, to: Span, copy: &Pitched) -> Result<Self, DeviceError> {
        let pitches = [copy.from_pitch, copy.to_pitch];
        let width = fitting(copy.width, copy.rows, pitches, [from.size(), to.size()])?;
        Ok(Self { from: from.pointer(), to: to.pointer(), width, rows: copy.rows, pitches, _held: Held::Both(from, to) })
    }

    /// From host bytes that live until the job is done.
    pub(crate) fn borrowed(from: *const u8, size: usize, to: Span, copy: &HostRows) -> Result<Self, DeviceError> {
        let pitches = [copy.host_pitch, copy.pitch];
        let width = fitting(copy.width, copy.rows, pitches, [size, to.size()])?;
        Ok(Self { from, to: to.pointer(), width, rows: copy.rows, pitches, _held: Held::Target(to) })
    }

    /// From a copy of the rows, without what lies between them.
    pub(crate) fn owned(bytes: &[u8], to: Span, copy: &HostRows) -> Result<Self, DeviceError> {
        let pitches = [copy.host_pitch, copy.pitch];
        let width = fitting(copy.width, copy.rows, pitches, [bytes.len(), to.size()])?;
        // Rows do not reach into each other, so that together they are no longer than `bytes`.
        let packed = Block::allocate(copy.rows.saturating_mul(copy.width).max(1), u64::MAX)?;
        let gathered = [copy.host_pitch, copy.width];
        move_rows(bytes.as_ptr(), packed.pointer(), width, gathered, 0..copy.rows.saturating_mul(copy.width));
        let pitches = [copy.width, copy.pitch];
        let (from, target) = (packed.pointer().cast_const(), to.pointer());
        Ok(Self { from, to: target, width, rows: copy.rows, pitches, _held: Held::Bytes(packed, to) })
    }

    /// Into host memory that lives until the job is done.
    pub(crate) fn read(from: Span, into: HostTarget, copy: &HostRows) -> Result<Self, DeviceError> {
        let pitches = [copy.pitch, copy.host_pitch];
        let width = fitting(copy.width, copy.rows, pitches, [from.size(), into.size()])?;
        Ok(Self { from: from.pointer(), to: into.pointer(), width, rows: copy.rows, pitches, _held: Held::Source(from, into) })
    }

    /// Bytes to move, without what lies between the rows.
    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.rows).map_or(usize::MAX, |rows| rows.saturating_mul(self.width))
    }

    /// Moves bytes `begin` to `end`, counted without what lies between the rows.
    pub(crate) fn part(&self, begin: usize, end: usize) {
        move_rows(self.from, self.to, self.width, self.pitches, begin as u64..end.min(self.size()) as u64);
    }
}

/// Copies of rows that do not touch each other, their bytes counted one behind the other.
pub(crate) struct Copies {
    /// Each with the number of bytes up to its end.
    all: Box<[(usize, Rows)]>,
}

impl Copies {
    /// The copies, each with its span at both ends.
    pub(crate) fn within<'a>(
        copies: impl ExactSizeIterator<Item = (&'a Pitched, Result<[Span; 2], DeviceError>)>,
    ) -> Result<Self, DeviceError> {
        let (mut all, mut end) = (Vec::new(), 0_usize);
        let asked = copies.len().saturating_mul(size_of::<(usize, Rows)>()) as u64;
        all.try_reserve_exact(copies.len()).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        for (copy, spans) in copies {
            let [from, to] = spans?;
            let rows = Rows::within(from, to, copy)?;
            end = end.saturating_add(rows.size());
            all.push((end, rows));
        }
        Ok(Self { all: all.into() })
    }

    pub(crate) fn size(&self) -> usize {
        self.all.last().map_or(0, |(end, _)| *end)
    }

    /// Moves bytes `begin` to `end`.
    pub(crate) fn part(&self, begin: usize, end: usize) {
        let first = self.all.partition_point(|(behind, _)| *behind <= begin);
        for (behind, rows) in self.all.get(first..).unwrap_or_default() {
            let start = behind - rows.size();
            if start >= end {
                return;
            }
            rows.part(begin.saturating_sub(start), end - start);
        }
    }
}

/// Moves a range of the bytes of rows, counted without what lies between them. The rows are `fitting` at both ends.
fn move_rows(from: *const u8, to: *mut u8, width: usize, pitches: [u64; 2], range: std::ops::Range<u64>) {
    if range.is_empty() || width == 0 {
        return;
    }
    let row = range.start / width as u64;
    let (mut skip, mut left) = ((range.start % width as u64) as usize, range.end - range.start);
    let [mut from_at, mut to_at] = pitches.map(|pitch| (row * pitch) as usize);
    while left > 0 {
        let length = (width - skip).min(usize::try_from(left).unwrap_or(usize::MAX));
        // SAFETY: `fitting` saw that every row lies inside what is held or was vouched for, so no offset of one wraps either. The lengths are
        // constants where they can be, since moving a word is otherwise mostly the call.
        unsafe {
            let (from, to) = (from.add(from_at + skip), to.add(to_at + skip));
            match length {
                4 => ptr::copy(from, to, 4),
                8 => ptr::copy(from, to, 8),
                16 => ptr::copy(from, to, 16),
                length => ptr::copy(from, to, length),
            }
        }
        (skip, left) = (0, left - length as u64);
        // Behind the last row this is outside, and not used.
        from_at = from_at.wrapping_add(pitches[0] as usize);
        to_at = to_at.wrapping_add(pitches[1] as usize);
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

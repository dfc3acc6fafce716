//! Where a caller wants something read or written: a view as asked for, before anything about it is known to be right.
//!
//! Requests carry these rather than checked views, because a refused call has to claim the outputs that it can still make out (T2).

use std::ops::Range;
use std::sync::Arc;

use super::buffer::{Buffer, View};
use super::code;
use super::device::Device;
use super::error::{Checked, refusal};

/// What every buffer's first byte is at a multiple of, unless it was imported.
pub(crate) const ALIGNED: u64 = 256;

/// A view as the caller gave it.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A range of a buffer, not checked yet.
    View {
        /// The buffer.
        buffer: &'a Arc<Buffer>,
        /// Start in bytes.
        offset: u64,
        /// Bytes; `u64::MAX`: to the end.
        size: u64,
    },
    /// The buffer's handle was no good.
    BadHandle,
}

/// A view that is known to be inside its buffer. Holds no reference of its own, so that making one is free.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) buffer: &'a Arc<Buffer>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Span<'_> {
    /// The range in the buffer.
    pub(crate) fn range(&self) -> Range<u64> {
        // `Place::check` has seen that this cannot wrap.
        self.offset..self.offset + self.size
    }

    /// What alignments are told from: its offset, counted from a multiple of [`ALIGNED`] for the device.
    pub(crate) fn place(&self) -> u64 {
        self.offset.wrapping_add(self.buffer.beyond)
    }

    /// Whether it shares a byte with another.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.buffer, other.buffer)
            && self.offset < other.offset + other.size
            && other.offset < self.offset + self.size
    }

    /// The same, to keep.
    pub(crate) fn view(&self) -> View {
        View { buffer: Arc::clone(self.buffer), offset: self.offset, size: self.size }
    }
}

impl<'a> Place<'a> {
    /// The span, if it is inside its buffer and the buffer is on `device`. `role` names it in the error.
    pub(crate) fn check(&self, device: &Arc<Device>, role: impl Fn() -> String) -> Checked<Span<'a>> {
        let Self::View { buffer, offset, size } = *self else {
            return refusal(code::INVALID_HANDLE, || format!("the buffer handle of the {} is not a live buffer", role()));
        };
        let Some(size) = buffer.part(offset, size) else {
            return refusal(code::OUT_OF_RANGE, || format!("{}: {}", role(), buffer.no_part(offset, size)));
        };
        if !Arc::ptr_eq(&buffer.device, device) {
            let message = || format!("buffer `{}` of the {} belongs to another device than the stream", buffer.label(), role());
            return refusal(code::FOREIGN_HANDLE, message);
        }
        Ok(Span { buffer, offset, size })
    }

    /// As much of it as lies inside its buffer: what a refused write claims.
    pub(crate) fn reachable(&self) -> Option<(&'a Arc<Buffer>, Range<u64>)> {
        let Self::View { buffer, offset, size } = *self else { return None };
        let start = offset.min(buffer.size);
        let end = offset.saturating_add(size).min(buffer.size);
        Some((buffer, start..end.max(start)))
    }
}

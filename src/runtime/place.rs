//! Where a caller wants something read or written: a view as asked for, before anything about it is known to be right.
//!
//! Requests carry these rather than checked views, because a refused call has to claim the outputs that it can still make out (T2).

use std::ops::Range;
use std::sync::Arc;

use compute_trust::Error;

use super::buffer::{Buffer, View};
use super::code;
use super::device::Device;
use super::error::error;

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

impl<'a> Place<'a> {
    /// The view, if it is inside its buffer and the buffer is on `device`. `role` names it in the error.
    pub(crate) fn check(&self, device: &Arc<Device>, role: impl Fn() -> String) -> Result<(View, &'a Arc<Buffer>), Error> {
        let Self::View { buffer, offset, size } = *self else {
            return Err(error(code::INVALID_HANDLE, format!("the buffer handle of the {} is not a live buffer", role())));
        };
        let view = buffer
            .view(offset, size)
            .map_err(|failed| Error { message: format!("{}: {}", role(), failed.error), ..(*failed.error).clone() })?;
        if !Arc::ptr_eq(&buffer.device, device) {
            return Err(error(
                code::FOREIGN_HANDLE,
                format!("buffer `{}` of the {} belongs to another device than the stream", buffer.label, role()),
            ));
        }
        Ok((view, buffer))
    }

    /// As much of it as lies inside its buffer: what a refused write claims.
    pub(crate) fn reachable(&self) -> Option<(Arc<Buffer>, Range<u64>)> {
        let Self::View { buffer, offset, size } = *self else { return None };
        let start = offset.min(buffer.size);
        let end = offset.saturating_add(size).min(buffer.size);
        Some((Arc::clone(buffer), start..end.max(start)))
    }
}

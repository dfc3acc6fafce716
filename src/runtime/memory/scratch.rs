//! Scratch: buffers that one stream uses for a moment (M7). The memory is that of the stream's pools, which hand it out again in stream order; here is how much
//! of it may be in use at once, and whose it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::code;
use super::super::error::{Failed, Result, error, fail};
use super::super::stream::Stream;
use compute_trust::{Answers, Error};

/// How much scratch a stream has in use, and may have.
pub(crate) struct ScratchUse {
    limit: AtomicU64,
    used: AtomicU64,
}

impl Default for ScratchUse {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX), used: AtomicU64::new(0) }
    }
}

/// A buffer's part of that. Given back when dropped, if it has not been before.
pub(crate) struct ScratchLease {
    stream: u64,
    bytes: AtomicU64,
    of: Arc<ScratchUse>,
}

impl ScratchLease {
    /// The number of the only stream that may use it.
    pub(crate) fn stream(&self) -> u64 {
        self.stream
    }

    /// The buffer's handle has ended: nobody can use it for anything new, so that what keeps its memory (a capture window, a graph) does not count.
    pub(crate) fn give_back(&self) {
        self.of.used.fetch_sub(self.bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Drop for ScratchLease {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Stream {
    /// The most bytes of scratch that this stream may have in use at once. What is in use stays.
    pub fn set_scratch_limit(&self, bytes: u64) {
        self.scratch.limit.store(bytes, Ordering::Relaxed);
    }

    /// Room for a scratch buffer, or how much there is.
    pub(crate) fn take_scratch(&self, bytes: u64) -> Result<ScratchLease> {
        let limit = self.scratch.limit.load(Ordering::Relaxed);
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        match self.scratch.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(ScratchLease { stream: self.id, bytes: AtomicU64::new(bytes), of: Arc::clone(&self.scratch) }),
            Err(used) => {
                let (label, free) = (&self.label, limit.saturating_sub(used));
                let text = format!(
                    "{bytes} bytes of scratch asked for on stream `{label}`, {free} of its {limit} are free; release some, or raise the limit"
                );
                let answers = Answers { reclaimable: bytes <= limit, ..Answers::default() };
                Err(Failed::of(Error { answers, ..error(code::LIMIT, text) }))
            }
        }
    }
}

/// What to say of scratch without a stream.
pub(crate) fn of_no_stream<T>(label: &str) -> Result<T> {
    fail(code::INVALID_ARGUMENT, format!("scratch buffer `{label}` belongs to no stream; say which one is to use it"))
}

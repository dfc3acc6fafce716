//! Events of the driver's own that somebody else has made (T14): to wait for on the device, and to record.

use compute_hal::DeviceError;

use crate::api::Object;
use crate::lane::Lane;

/// Somebody else's event, by the number that it is passed around as.
fn named(event: u64) -> Object {
    Object(std::ptr::with_exposed_provenance_mut(usize::try_from(event).unwrap_or(0)))
}

impl Lane {
    /// Makes later work wait for somebody else's event as it has been recorded until now. Work that is held back waits, too, though it is earlier: what the event stands
    /// for was enqueued before this call, and nothing of it can be waiting for work that the driver does not have yet.
    pub(crate) fn wait_native(&self, event: u64) -> Result<(), DeviceError> {
        let mut submit = self.submit.lock();
        self.shared.well()?;
        let calls = self.shared.enter()?;
        // Also when it fails: nobody knows.
        submit.operations += 1;
        // SAFETY: the stream lives, and the caller vouches for the event.
        unsafe { calls.stream_wait(self.stream.0, named(event).0, 0) }.map_err(|f| self.shared.fail(f))
    }

    /// Records somebody else's event behind all work of the queue. False: some of that is held back.
    pub(crate) fn record_native(&self, event: u64) -> Result<bool, DeviceError> {
        let submit = self.submit.lock();
        self.shared.well()?;
        if submit.draining || !submit.held.is_empty() {
            return Ok(false);
        }
        let calls = self.shared.enter()?;
        // SAFETY: the stream lives, and the caller vouches for the event.
        unsafe { calls.event_record(named(event).0, self.stream.0) }.map_err(|f| self.shared.fail(f))?;
        Ok(true)
    }
}

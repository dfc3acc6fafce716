//! Events of the driver's own that somebody else has made (T14): to wait for on the device, and to record.

use compute_hal::DeviceError;

use crate::api::{Inside, Object};
use crate::lane::Lane;

/// What calls fail about.
const EVENT: &str = "the event";

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
        self.refuse_captured(&calls, named(event))?;
        // Also when it fails: nobody knows.
        submit.operations += 1;
        // SAFETY: the stream lives, and the caller vouches for the event.
        unsafe { calls.stream_wait(self.stream.0, named(event).0, 0) }.map_err(|f| self.shared.fail_given(f, EVENT))?;
        self.end_if_captured(&calls)
    }

    /// A stream that waits for an event which was recorded in a capture becomes a part of that graph: nothing of it would run any more. Whoever asks how far such an event is
    /// is told what it is; that spoils the capture, by the driver's rules, as the caller's own question would.
    fn refuse_captured(&self, calls: &Inside<'_>, event: Object) -> Result<(), DeviceError> {
        // SAFETY: the caller vouches for the event.
        match unsafe { calls.event_query(event.0) } {
            Err(failure) if self.shared.api.vendor.errors.is_capturing(failure.code) => Err(DeviceError::Driver {
                call: failure.call,
                code: failure.code.into(),
                name: self.shared.api.vendor.error_name(Some(calls), failure.code),
                message: "the event was last recorded while a graph was captured, and a stream of the library's cannot become a part of that graph; record it outside of \
                          the capture, or launch the graph and record an event behind it"
                    .into(),
            }),
            Err(failure) if !self.shared.api.vendor.errors.is_not_yet(failure.code) => Err(self.shared.fail_given(failure, EVENT)),
            _ => Ok(()),
        }
    }

    /// Somebody may have recorded the event in a capture since it was asked.
    fn end_if_captured(&self, calls: &Inside<'_>) -> Result<(), DeviceError> {
        let mut status = 0;
        // SAFETY: the stream lives, and the place is ours.
        let asked = unsafe { calls.stream_capturing(self.stream.0, &mut status) };
        if asked.is_ok() && status != 0 {
            let message = "an event was recorded in the capture of a graph while a stream was made to wait for it, so that the stream has become a part of that graph, and \
                           nothing of what was enqueued behind it will run";
            self.shared.lose("CAPTURED", message.into());
        }
        self.shared.well()
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
        unsafe { calls.event_record(named(event).0, self.stream.0) }.map_err(|f| self.shared.fail_given(f, EVENT))?;
        Ok(true)
    }
}

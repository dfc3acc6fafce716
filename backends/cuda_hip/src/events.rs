//! Events of the driver's own that somebody else has made (T14): to wait for on the device, and to record.

use std::sync::Arc;

use compute_hal::DeviceError;

use crate::api::{Garbage, Inside, Object};
use crate::flight::new_event;
use crate::held::Held;
use crate::lane::Lane;
use crate::reclaim::Reclaim;

/// An event of ours, ended with this.
pub(crate) struct OwnEvent {
    pub(crate) event: Object,
    reclaim: Arc<Reclaim>,
}

impl Drop for OwnEvent {
    fn drop(&mut self) {
        self.reclaim.throw(Garbage::Event(self.event));
    }
}

/// A stream that is used once, ended with this. What is in it goes on.
struct Passing<'a>(Object, &'a Reclaim);

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.1.throw(Garbage::Stream(self.0));
    }
}

/// Somebody else's event, by the number that it is passed around as.
pub(crate) fn named(event: u64) -> Object {
    Object(std::ptr::with_exposed_provenance_mut(usize::try_from(event).unwrap_or(0)))
}

impl Lane {
    /// Makes later work wait for somebody else's event as it has been recorded until now.
    pub(crate) fn wait_native(&self, event: Object) -> Result<(), DeviceError> {
        let mut submit = self.submit.lock();
        self.shared.well()?;
        let calls = self.shared.enter()?;
        if submit.draining || !submit.held.is_empty() {
            let own = self.own_event(&calls, event)?;
            submit.held.push_back(Held::Event(own));
            return Ok(());
        }
        // Also when it fails: nobody knows.
        submit.operations += 1;
        self.pass_event(&calls, event)
    }

    /// Has the stream wait for an event.
    pub(crate) fn pass_event(&self, calls: &Inside<'_>, event: Object) -> Result<(), DeviceError> {
        // SAFETY: the stream lives; the event is ours, or the caller vouches for it.
        unsafe { calls.stream_wait(self.stream.0, event.0, 0) }.map_err(|f| self.shared.fail(f))
    }

    /// One of ours that comes about when theirs does, as that is now: it may be recorded again, or be gone, when its turn comes.
    fn own_event(&self, calls: &Inside<'_>, theirs: Object) -> Result<OwnEvent, DeviceError> {
        let flags = &self.shared.api.vendor.flags;
        let fail = |f| self.shared.fail(f);
        let mut stream = std::ptr::null_mut();
        // SAFETY: the place is ours.
        unsafe { calls.stream_create(&mut stream, flags.stream) }.map_err(fail)?;
        let passing = Passing(Object(stream), &self.shared.reclaim);
        let event = new_event(calls, flags.event).map_err(fail)?;
        let own = OwnEvent { event, reclaim: Arc::clone(&self.shared.reclaim) };
        // SAFETY: stream and event were just made; the caller vouches for the other event.
        unsafe {
            calls.stream_wait(passing.0.0, theirs.0, 0).map_err(fail)?;
            calls.event_record(own.event.0, passing.0.0).map_err(fail)?;
        }
        Ok(own)
    }

    /// Records somebody else's event behind all work of the queue. False: some of that is held back.
    pub(crate) fn record_native(&self, event: Object) -> Result<bool, DeviceError> {
        let submit = self.submit.lock();
        self.shared.well()?;
        if submit.draining || !submit.held.is_empty() {
            return Ok(false);
        }
        let calls = self.shared.enter()?;
        // SAFETY: the stream lives, and the caller vouches for the event.
        unsafe { calls.event_record(event.0, self.stream.0) }.map_err(|f| self.shared.fail(f))?;
        Ok(true)
    }
}

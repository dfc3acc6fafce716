//! Events of the driver's own that the caller has made (T14): how the library's work and the caller's come one behind the other on the device.
//!
//! They say nothing about bytes: what may be read is for exports and reads to tell.

use compute_hal::NativeKind;

use super::code;
use super::error::{Result, fail};
use super::stream::{Stream, wait};

impl Stream {
    /// Makes later work wait, on the device, for an event as it has been recorded until now. `driver` is the kind of the driver's pointers.
    pub fn wait_native(&self, driver: NativeKind, event: u64) -> Result<()> {
        self.check_native(driver, event)?;
        self.refused_recording("a wait for an event of the driver's own")?;
        let _guard = self.device.guard();
        let mut submit = self.queue.lock(&self.device)?;
        let waited = self.queue.native.wait_native(event);
        if waited.is_ok() {
            self.queue.mark_wait(&mut submit);
        }
        drop(submit);
        waited.map_err(|failed| self.device.broken(failed))
    }

    /// Records an event behind all work of the stream. Where some of that is not in the driver's hands yet, waits for it.
    pub fn record_native(&self, driver: NativeKind, event: u64) -> Result<()> {
        self.check_native(driver, event)?;
        self.refused_recording("recording an event of the driver's own")?;
        loop {
            let _guard = self.device.guard();
            let submit = self.queue.lock(&self.device)?;
            let recorded = self.queue.native.record_native(event);
            let last = submit.last;
            drop(submit);
            if recorded.map_err(|failed| self.device.broken(failed))? {
                return Ok(());
            }
            wait(&self.device, &self.queue, last, None)?;
        }
    }

    fn check_native(&self, driver: NativeKind, event: u64) -> Result<()> {
        self.device.check()?;
        if driver != self.device.native.native_kind() {
            let name = &self.device.properties().name;
            return fail(code::UNSUPPORTED, format!("the event is of a driver that device `{name}` does not work with"));
        }
        if event == 0 {
            return fail(code::INVALID_ARGUMENT, "the event is 0, which names none");
        }
        Ok(())
    }
}

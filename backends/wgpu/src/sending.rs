//! When batches go and when they are over. Whoever waits for a batch sends it, and so does who fills it faster than the queue's thread comes to it. All others, those of
//! callers that go on or flush, go by the queue's thread: to send is most of the cost of a launch, and the next batch is made ready while the device works on one.
//! Who waits without a time limit waits inside wgpu and ends what is over. For all that nobody waits for there is the queue's thread. It looks around every `AGE` while
//! there is work, so that the next launch does not have to wake it, and sleeps when there has been none for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use compute_hal::{DeviceError, Position, Waited};
use parking_lot::MutexGuard;

use crate::batch::{Batch, Recorder};
use crate::device::Shared;
use crate::errors::survive;
use crate::exit;
use crate::flight::{Sent, Wake, poll, submit};
use crate::queue::{Held, Lane};

/// Batches under way while an operation of many batches goes on.
pub(crate) const PARTS: usize = 8;
/// How long a batch stays open that nobody waits for.
pub(crate) const AGE: Duration = Duration::from_micros(300);
/// Looks around without anything to do before the thread sleeps.
const LOOKS: u32 = 64;
/// How long a thread that waits sleeps before it looks again whether it was told.
const SLICE: Duration = Duration::from_millis(20);

/// One that panics ends the device, and takes no other with it (F2).
pub(crate) fn wake_all(shared: &Shared, due: Vec<Wake>) {
    for wake in due {
        if let Err(panic) = survive(wake) {
            let _ = shared.lose("PANIC", format!("somebody panicked who was told that work is over: {panic}"));
        }
    }
}

fn is_overdue(recorder: &Recorder) -> bool {
    recorder.opened.is_some_and(|opened| opened.elapsed() > AGE)
}

impl Lane {
    /// The thread. It may hold the last handle of the device, which goes inside a driver, too.
    pub(crate) fn live(self: Arc<Self>) {
        if let Err(panic) = survive(|| self.attend()) {
            let _ = self.shared.lose("PANIC", format!("the thread of a queue panicked: {panic}"));
            // What is left to do for a device that has ended. Others wait for it.
            let _ = survive(|| self.attend());
        }
        let host = self.shared.gpu.host();
        let inside = exit::inside();
        drop(self);
        drop(inside);
        // Told with no lock held.
        drop(host);
    }

    /// The thread's work: sends batches that nobody else does, ends those that are over.
    fn attend(&self) {
        let mut looks = 0;
        while self.shared.fault().is_none() {
            // Before waiting for what is under way, so that the device has the next when it is done with that. Whoever has the recorder may be waiting for the device,
            // which those whom this thread tells do not: it never waits for the recorder.
            let due = self.progress.is_due();
            if due && let Some(recorder) = self.try_lock() {
                let _inside = exit::inside();
                let _ = self.send_off(recorder);
                looks = 0;
                continue;
            }
            if let Some(oldest) = self.progress.left_alone() {
                let inside = exit::inside();
                let _ = poll(&self.shared, Some(oldest));
                let due = self.progress.end_batches(&self.shared);
                self.send_if(|recorder| self.progress.under_way() == 0 || is_overdue(recorder));
                drop(inside);
                wake_all(&self.shared, due);
                looks = 0;
                continue;
            }
            // A fault is seen by somebody who tells this thread, or at the next look.
            let Some(open) = self.progress.rest(looks < LOOKS, due) else { break };
            looks = if open { 0 } else { looks.saturating_add(1) };
            if self.progress.under_way() == 0 {
                let _inside = exit::inside();
                self.send_if(is_overdue);
            }
        }
        let inside = exit::inside();
        self.outlast();
        let due = self.progress.abandon();
        drop(inside);
        wake_all(&self.shared, due);
    }

    /// Of a device that has ended and that may go on running: waits until it has done what it was given. Memory is let go of next (T12).
    fn outlast(&self) {
        if self.shared.fault().is_some_and(|cause| !self.shared.rests(&cause)) {
            // Who found the device well may be sending one more.
            drop(self.sending.lock());
            let all = wgpu::PollType::Wait { submission_index: None, timeout: None };
            if !matches!(survive(|| self.shared.gpu.device().poll(all)), Ok(Ok(_))) {
                // Nobody else has the queue meanwhile.
                let _turn = self.sending.lock();
                let _ = survive(|| crate::vulkan::wait_idle(&self.shared.gpu.queue()));
            }
        }
    }

    /// Sends what is recorded, if nobody has the recorder and it is time to.
    fn send_if(&self, is_time: impl FnOnce(&Recorder) -> bool) {
        if let Some(recorder) = self.try_lock()
            && is_time(&recorder)
        {
            let _ = self.send_off(recorder);
        }
    }

    /// Sends what is recorded.
    pub(crate) fn flush(&self) -> Result<(), DeviceError> {
        self.send_off(self.lock())
    }

    /// Sends what is recorded. Others may record meanwhile.
    pub(crate) fn send_off(&self, mut recorder: Held<'_>) -> Result<(), DeviceError> {
        self.let_go(&mut recorder);
        let Some((batch, turn)) = self.take(&mut recorder) else {
            drop(recorder);
            if self.shared.gpu.host().is_some() {
                // Another may be about to send what was recorded, and whoever shares the queue sends work of its own behind this call.
                drop(self.sending.lock());
            }
            return self.shared.well();
        };
        drop(recorder);
        let sent = self.send(batch)?;
        self.progress.sent(sent);
        drop(turn);
        Ok(())
    }

    /// Sends what is recorded, in the midst of what somebody records.
    pub(crate) fn submit_batch(&self, recorder: &mut Recorder) -> Result<(), DeviceError> {
        let Some((batch, _turn)) = self.take(recorder) else { return self.shared.well() };
        let sent = self.send(batch)?;
        self.progress.sent(sent);
        Ok(())
    }

    /// Takes what is recorded, if there is anything, and the turn to send it. From here on it counts as under way.
    pub(crate) fn take(&self, recorder: &mut Recorder) -> Option<(Box<Batch>, MutexGuard<'_, ()>)> {
        recorder.opened.take()?;
        // Batches go in the order in which they are taken.
        let turn = self.sending.lock();
        // Without memory for it there are no times to tell.
        let _ = recorder.tell(&self.shared);
        let batch = Box::new(std::mem::take(&mut recorder.batch));
        recorder.batch.commands = self.shared.staging.list();
        // In the midst of an operation the next batch is not behind this one.
        recorder.batch.last = batch.last;
        self.progress.expect(batch.last);
        Some((batch, turn))
    }

    /// To be called by whoever has the turn. A device that has ended is given nothing more: what it had is waited for, and then everything counts as over.
    pub(crate) fn send(&self, batch: Box<Batch>) -> Result<Sent, DeviceError> {
        self.shared.well()?;
        submit(&self.shared, batch).inspect_err(|_| self.look())
    }

    /// Waits for the oldest batch that is under way; whether there is one. To be called with more to come: who wants to know is told with a later batch.
    pub(crate) fn end_oldest(&self) -> Result<bool, DeviceError> {
        // One that is just being sent has no name yet.
        if self.progress.oldest().is_none() {
            drop(self.sending.lock());
        }
        let Some(oldest) = self.progress.oldest() else { return Ok(false) };
        poll(&self.shared, Some(oldest)).map_err(DeviceError::Lost)?;
        let due = self.progress.end_batches(&self.shared);
        // Not from here, where a lock is held: the queue's thread takes them along.
        self.progress.owe(due);
        Ok(true)
    }

    /// Submits in the midst of an operation that is many batches long, once few enough are under way.
    pub(crate) fn submit_part(&self, recorder: &mut Recorder, at: Position) -> Result<(), DeviceError> {
        self.submit_batch(recorder)?;
        self.touch(recorder, at);
        while self.progress.under_way() > PARTS && self.end_oldest()? {}
        Ok(())
    }

    /// Waits for a position, and sends what that needs.
    pub(crate) fn wait_for(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        // With a time limit the queue's thread is inside wgpu, and tells: see `poll`.
        let inside = deadline.is_none().then(|| self.progress.inside());
        if !self.progress.is_under_way(at) {
            // Whoever has the recorder may be waiting for the device, for longer than this wait may take; and a driver may keep whoever sends until it is done with what
            // it was sent before.
            let recorder = match deadline {
                None => Some(self.lock()),
                Some(_) if self.progress.under_way() == 0 => self.try_lock(),
                Some(_) => None,
            };
            match recorder {
                Some(recorder) => _ = self.send_off(recorder),
                None => self.progress.hand_over(),
            }
        }
        // Whoever sends has what wgpu wants for a look.
        if timeout.is_some_and(|timeout| timeout.is_zero()) && self.sending.try_lock().is_some() {
            let _ = poll(&self.shared, None);
        }
        let waited = self.wait_until(at, deadline);
        drop(inside);
        waited
    }

    fn wait_until(&self, at: Position, deadline: Option<Instant>) -> Result<Waited, DeviceError> {
        loop {
            if let Some(cause) = self.shared.fault() {
                // Else the queue's thread does, as this wait has to end.
                if deadline.is_none() || self.shared.rests(&cause) {
                    self.outlast();
                    wake_all(&self.shared, self.progress.abandon());
                }
                return Err(DeviceError::Lost(cause));
            }
            wake_all(&self.shared, self.progress.end_batches(&self.shared));
            if self.progress.completed() >= at {
                // The device may have been lost since, and with it everything counts as completed.
                return self.shared.well().map(|()| Waited::Done);
            }
            // Not for the last that this needs: others want to hear of those before it.
            if deadline.is_none()
                && let Some(oldest) = self.progress.oldest()
            {
                let _ = poll(&self.shared, Some(oldest));
                continue;
            }
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()).min(SLICE));
            if left.is_zero() {
                return Ok(Waited::TimedOut);
            }
            self.progress.listen(left, at);
        }
    }
}

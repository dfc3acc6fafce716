//! Straight from one device to another, where the driver can, without the host waiting.
//!
//! The copy is a piece of work of the destination's queue. It waits there for what is ahead on the source's queue, and the source's queue then waits for it, at a
//! position of its own, which counts as a read of the source (L8): so the source is neither written nor given back before the copy is over. Both queues' locks and
//! both buffers' marks are held for that moment. Those of the destination come first, and as any work waits for them; those of the source are only tried, as
//! somebody may hold them who wants the destination's.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use compute_hal::{DeviceError, PeerId, Region};
use compute_trust::{Found, Use};
use parking_lot::MutexGuard;

use super::super::device::Device;
use super::super::error::Result;
use super::super::queue::{Queue, Submit};
use super::super::section::{Outcome, Performed, Step, Touch, Write, perform, perform_beside, region};
use super::super::stream::wait;
use super::super::transfer::subject;
use super::super::{late, section};
use super::{Job, NAME};

/// After so many attempts it goes through the host.
const ATTEMPTS: u32 = 32;

/// Why the source cannot be had this moment.
#[derive(Clone, Copy, Debug)]
enum NotYet {
    /// Somebody else is at it.
    Busy,
    /// Some of its bytes are never written, or claimed.
    Untrusted,
    /// It derives from work that may still fail (T13).
    Pending,
    /// It has been moved since it was asked whether it can be reached.
    Moved,
}

/// Whether copies from one device to another go straight.
pub(super) fn reaches(from: &Device, to: &Device) -> bool {
    from.native.peer().is_some_and(|name| to.native.can_reach(name, None))
}

/// Enqueues the copy. `None`: it cannot be made this way.
pub(super) fn copy(job: &Job<'_>) -> Result<Option<Outcome>> {
    let (Some(source), Some(target)) = (job.source.device.native.peer(), job.target.device.native.peer()) else {
        return Ok(None);
    };
    // Where there is no memory for the destination, it is a write's business to say so (M5).
    if job.to.buffer.back().is_err() {
        return Ok(None);
    }
    let mut waited = false;
    for _ in 0..ATTEMPTS {
        // Before any byte is written it may have no memory yet.
        let Some(Region { memory, .. }) = job.from.buffer.region(&job.from.range()) else {
            if let Some(outcome) = prepare(job)? {
                return Ok(Some(outcome));
            }
            continue;
        };
        if !job.target.device.native.can_reach(source, Some(memory)) {
            return Ok(None);
        }
        let why = Cell::new(NotYet::Busy);
        let borrow = || Loan::take(job, source, memory).map_err(|not_yet| why.set(not_yet)).ok();
        let touches = [Touch { span: job.to, reads: false, write: Write::Whole, rows: None }];
        // A source that ends before the copy's turn takes what was to be copied with it (T13).
        let subject = section::Subject { fails_late: true, ..subject(job.target, &NAME) };
        let performed = perform_beside(job.target, &subject, &touches, None, borrow, |step, loan| loan.fetch(step, job, target))?;
        match (performed, why.get()) {
            (Some(performed), _) => return Ok(Some(performed.into())),
            (None, NotYet::Moved) => {}
            (None, NotYet::Busy) => pass(job)?,
            (None, NotYet::Untrusted) => {
                if let Some(outcome) = prepare(job)? {
                    return Ok(Some(outcome));
                }
            }
            (None, NotYet::Pending) if waited => return Ok(None),
            (None, NotYet::Pending) => {
                outlast(job)?;
                waited = true;
            }
        }
    }
    Ok(None)
}

/// Has memory made for the source and its never-written bytes filled, or finds that the copy is to be skipped.
fn prepare(job: &Job<'_>) -> Result<Option<Outcome>> {
    let touches = [Touch { span: job.from, reads: true, write: Write::No, rows: None }];
    let performed = perform(job.source, &subject(job.source, &NAME), &touches, None, |step| {
        step.queue.mark(step.at);
        Ok(())
    });
    match performed.map_err(|failed| job.fail((*failed.error).clone(), false))? {
        Performed::Enqueued(_) => Ok(None),
        Performed::Skipped(failure) => Ok(Some(job.skip(&failure))),
    }
}

/// Sleeps, with nothing held, until whoever was at the source is done.
fn pass(job: &Job<'_>) -> Result<()> {
    let locked = job.source.queue.lock(&job.source.device).map(drop);
    locked.map_err(|failed| job.fail((*failed.error).clone(), false))?;
    section::alone(job.from.buffer, |_| ());
    Ok(())
}

/// Waits until what the source derives from has retired.
fn outlast(job: &Job<'_>) -> Result<()> {
    let device = &job.source.device;
    let last = section::alone(job.from.buffer, |_| job.from.buffer.uses.last_write());
    if let Some((queue, last)) = last.and_then(|last| Some((device.queue(last.queue)?, last))) {
        wait(device, &queue, last.position, None).map_err(|failed| job.fail((*failed.error).clone(), false))?;
    }
    late::settle().map_err(|failed| job.fail((*failed.error).clone(), false))
}

/// The source, held for the moment in which the copy is enqueued.
struct Loan<'a> {
    job: &'a Job<'a>,
    name: PeerId,
    region: Region,
    found: Found,
    submit: MutexGuard<'a, Submit>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if self.job.from.buffer.mark.release_exclusive(self.found) {
            self.job.source.device.gate.wake();
        }
    }
}

impl<'a> Loan<'a> {
    fn take(job: &'a Job<'a>, name: PeerId, memory: compute_hal::MemoryId) -> std::result::Result<Self, NotYet> {
        let (stream, buffer) = (job.source, job.from.buffer);
        let submit = stream.queue.try_lock(&stream.device).ok_or(NotYet::Busy)?;
        let found = buffer.mark.try_exclusive().map_err(|_| NotYet::Busy)?;
        let nowhere = Region { memory, offset: 0, size: 0 };
        // From here on the mark is given back whatever happens.
        let mut loan = Self { job, name, region: nowhere, found, submit };
        let region = buffer.region(&job.from.range()).filter(|region| region.memory == memory);
        loan.region = region.ok_or(NotYet::Moved)?;
        // A buffer stays pending until the journal forgets what is over, which may be later than that.
        if found.pending && !late::is_settled(buffer.id, job.from.range()) {
            return Err(NotYet::Pending);
        }
        if found.dirty && !buffer.map.lock().is_trusted(job.from.range()) {
            return Err(NotYet::Untrusted);
        }
        buffer.uses.expect_read(stream.queue.index).map_err(|_| NotYet::Busy)?;
        Ok(loan)
    }

    /// The driver's calls, on both queues.
    fn fetch(mut self, step: &Step<'_>, job: &Job<'_>, target: PeerId) -> std::result::Result<(), DeviceError> {
        let (queue, device, uses) = (&job.source.queue, &job.source.device, &job.from.buffer.uses);
        self.wait_there(step, queue, self.submit.last)?;
        // Work of the source's own queue is behind it already.
        let elsewhere = uses.last_write().filter(|write| write.queue != queue.index);
        if let Some((other, write)) = elsewhere.and_then(|write| Some((device.queue(write.queue)?, write))) {
            self.wait_there(step, &other, write.position)?;
        }
        step.queue.copy_peer(step.at, (self.name, self.region), region(&job.to)?)?;
        let at = queue.advance(&mut self.submit, 1);
        // A panic of the source's device is not one of the destination's, whose section this is (F2).
        let held = catch_unwind(AssertUnwindSafe(|| {
            let held = queue.native.wait_for_peer(target, step.queue.id(), step.at);
            if held.is_err() {
                // No memory for an event, say. Until the copy is over nobody may touch the source: there is nothing left but to wait.
                let _ = step.queue.wait(step.at, None);
            }
            queue.native.mark(at);
            held
        }));
        match held {
            Err(_) => device.condemn_after_panic(),
            Ok(Err(DeviceError::Lost(cause))) => device.condemn(cause),
            Ok(_) => {}
        }
        uses.note_read(Use { queue: queue.index, position: at });
        device.fault().map_or(Ok(()), |cause| {
            let (name, message) = (cause.name.to_string(), cause.message.to_string());
            Err(DeviceError::Driver { call: "a copy from a device that is beyond use", code: cause.code, name, message })
        })
    }

    /// Has the copy wait for a position of a queue of the source's device.
    fn wait_there(&self, step: &Step<'_>, other: &Arc<Queue>, position: u64) -> std::result::Result<(), DeviceError> {
        if other.native.completed() >= position {
            return Ok(());
        }
        step.queue.wait_for_peer(self.name, other.native.id(), position)
    }
}

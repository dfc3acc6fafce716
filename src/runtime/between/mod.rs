//! Copies between buffers of two devices (C1): what is checked of them, and what becomes of the destination when there is none. How bytes go is decided here:
//! straight from device to device ([`direct`]), or in pieces through the host ([`staged`]). Within one device it is a copy like any other.

mod direct;
mod staged;

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use compute_trust::{About, Error, Failure, Skip};
use smallvec::smallvec;

use super::buffer::Buffer;
use super::device::Device;
use super::error::{Checked, Failed, Result, error, refusal};
use super::graph::watched;
use super::place::{Place, Span};
use super::section::{Outcome, claim, refuse, refused_operation};
use super::stream::Stream;
use super::transfer::{copy, usable};
use super::{code, log};

static NAME: LazyLock<Arc<str>> = LazyLock::new(|| "copy between devices".into());

/// A copy that has been checked: both views have the same size, which is not 0, and are on two devices.
#[derive(Clone, Copy)]
struct Job<'a> {
    source: &'a Stream,
    from: Span<'a>,
    target: &'a Stream,
    to: Span<'a>,
}

/// Copies a view into one of another device's, behind the earlier work of both streams. Straight from device to device it is only enqueued. Through the host
/// it returns when the bytes have left their device.
pub fn copy_between(source: Option<&Stream>, from: Place<'_>, target: Option<&Stream>, to: Place<'_>) -> Result<Outcome> {
    let what = || NAME.to_string();
    watched(source, what, || watched(target, what, || copy_now(source, from, target, to)))
}

/// Whether copies from one device to another go straight, or through the host. Within one they never leave it. The first question about two devices may take a while.
pub fn reaches(from: &Arc<Device>, to: &Arc<Device>) -> Result<bool> {
    from.check()?;
    to.check()?;
    Ok(Arc::ptr_eq(from, to) || direct::reaches(from, to))
}

fn copy_now(source: Option<&Stream>, from: Place<'_>, target: Option<&Stream>, to: Place<'_>) -> Result<Outcome> {
    let job = check(source, from, target, to).map_err(|made| refuse(*made, to.reachable()))?;
    if Arc::ptr_eq(&job.source.device, &job.target.device) {
        return copy(target, from, to);
    }
    let recording = job.source.not_recording(&NAME).and_then(|()| job.target.not_recording(&NAME));
    recording.map_err(|made| refuse(*made, job.outputs()))?;
    // In a dry run nothing is read or written (M5).
    if job.to.size == 0 || job.source.is_dry() || job.target.is_dry() {
        return Ok(Outcome::Enqueued);
    }
    let unsettled = Unsettled { job: &job, armed: Cell::new(true) };
    let moved = match direct::copy(&job) {
        Ok(None) => staged::copy(&job),
        Ok(Some(outcome)) => Ok(outcome),
        Err(failed) => Err(failed),
    };
    unsettled.armed.set(false);
    moved
}

fn check<'a>(source: Option<&'a Stream>, from: Place<'a>, target: Option<&'a Stream>, to: Place<'a>) -> Checked<Job<'a>> {
    let (source, target) = (usable(source)?, usable(target)?);
    let to = to.check(&target.device, || "destination".into())?;
    let from = from.check(&source.device, || "source".into())?;
    if from.size != to.size {
        let message = || format!("the source has {} bytes, the destination {}; they must be equal", from.size, to.size);
        return refusal(code::OUT_OF_RANGE, message);
    }
    for (span, stream) in [(from, source), (to, target)] {
        if span.buffer.is_scratch_of_another(stream.id) {
            let (label, stream) = (span.buffer.label(), &stream.label);
            let message = || format!("buffer `{label}` is scratch of another stream than `{stream}`, which alone may use it");
            return refusal(code::FOREIGN_HANDLE, message);
        }
    }
    Ok(Job { source, from, target, to })
}

/// Claims the destination when a copy ends without having said how, in a panic say (T2).
struct Unsettled<'a> {
    job: &'a Job<'a>,
    armed: Cell<bool>,
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        if self.armed.get() {
            let text = "a copy between devices ended before it could tell whether it had written these bytes";
            self.job.fail(error(code::ABANDONED, text), true);
        }
    }
}

impl Job<'_> {
    fn outputs(&self) -> [(&Arc<Buffer>, Range<u64>); 1] {
        [(self.to.buffer, self.to.range())]
    }

    fn about(&self) -> About {
        About { operation: refused_operation(), label: "".into(), kernel: Arc::clone(&NAME), stream: self.target.id }
    }

    /// It does not come about: the destination takes the failure of the source (T5), across devices.
    fn skip(&self, failure: &Arc<Failure>) -> Outcome {
        let outputs = smallvec![self.to.buffer.id];
        failure.note(Skip { about: self.about(), needed: self.from.buffer.name(), outputs, used: false });
        claim(failure, self.outputs());
        log::line(log::WARNING, || format!("`{}` was skipped: it needs buffer `{}`", *NAME, self.from.buffer.label()));
        Outcome::Skipped
    }

    /// It fails: the destination is claimed, and nothing else. `begun`: some of it may have been written.
    fn fail(&self, made: Error, begun: bool) -> Arc<Failed> {
        let failure = Failure::new(Arc::new(Error { about: Some(self.about()), ..made }), !begun);
        claim(&failure, self.outputs());
        log::failure(&failure);
        Failed::claiming(&failure)
    }
}

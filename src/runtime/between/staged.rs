//! Through the host, in pieces: one is read while the one before it is written. A piece leaves the host only once all that it derives from has retired (T13). What
//! is under way is bounded on both sides, whatever the size of the copy.

use std::sync::Arc;

use compute_hal::HostTarget;
use compute_trust::Failure;

use super::super::code;
use super::super::error::{Failed, Result, error};
use super::super::event::Event;
use super::super::place::{Place, Span};
use super::super::section::{Outcome, alone, claim};
use super::super::stream::{Wait, wait};
use super::super::transfer::{Source, enqueue_write, read_async};
use super::Job;

/// Bytes of a piece. Two are on their way from the source, and two to the destination.
const PIECE: u64 = 4 << 20;

/// A piece on its way to the host.
struct Piece {
    start: u64,
    bytes: HostTarget,
    read: Arc<Event>,
}

pub(super) fn copy(job: &Job<'_>) -> Result<Outcome> {
    let mut begun = false;
    match move_pieces(job, &mut begun) {
        Ok(()) => Ok(Outcome::Enqueued),
        Err(failed) => match claimed(job, &failed) {
            Some(failure) => Ok(job.skip(&failure)),
            None => Err(job.fail((*failed.error).clone(), begun)),
        },
    }
}

/// The failure that claims bytes of the source, when that is why a read failed.
fn claimed(job: &Job<'_>, failed: &Failed) -> Option<Arc<Failure>> {
    if !matches!(failed.error.code, code::UNWRITTEN | code::SEVERAL) {
        return None;
    }
    alone(job.from.buffer, |map| map.lock().first_claim(job.from.range()).map(|(_, failure)| Arc::clone(failure)))
}

fn part<'a>(span: &Span<'a>, start: u64, size: u64) -> Span<'a> {
    // Inside the span, which was checked.
    Span { offset: span.offset.saturating_add(start), size, ..*span }
}

fn begin(job: &Job<'_>, start: u64) -> Result<Option<Piece>> {
    let size = job.from.size.saturating_sub(start).min(PIECE);
    if size == 0 {
        return Ok(None);
    }
    let bytes = job.source.stage(size)?;
    let Span { buffer, offset, size } = part(&job.from, start, size);
    let read = read_async(Some(job.source), Place::View { buffer, offset, size }, bytes.clone())?;
    Ok(Some(Piece { start, bytes, read }))
}

fn move_pieces(job: &Job<'_>, begun: &mut bool) -> Result<()> {
    let mut next = begin(job, 0)?;
    let mut behind = [0; 2];
    while let Some(Piece { start, bytes, read }) = next {
        next = begin(job, start.saturating_add(PIECE))?;
        if read.wait(None)? == Wait::TimedOut {
            return super::super::error::fail(code::INTERNAL, "a wait without a time limit ended before its time");
        }
        if !*begun && next.is_some() {
            take(job);
        }
        *begun = true;
        let [earlier, last] = behind;
        if earlier > 0 {
            wait(&job.target.device, &job.target.queue, earlier, None)?;
        }
        let to = part(&job.to, start, bytes.size() as u64);
        behind = [last, bytes.look(|bytes| enqueue_write(job.target, to, Source::Copied(bytes)))?];
    }
    Ok(())
}

/// Nobody is to take what is there between two pieces for the old bytes or for the new: each is trusted when it is written.
fn take(job: &Job<'_>) {
    let text = "a copy between devices is under way, or ended before it had written these bytes";
    let made = error(code::ABANDONED, text);
    claim(&Failure::new(Arc::new(compute_trust::Error { about: Some(job.about()), ..made }), false), job.outputs());
}

//! Work that does not come about: refused before anything reached the device, or skipped. What it would have written is claimed (T2), and whoever listens is told.
//!
//! No launch that is right comes through here. The caller holds no lock and no mark.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_trust::{Error, Failure, NoMemory};

use super::buffer::Buffer;
use super::error::{Failed, Result, error, fail};
use super::section::{Performed, Subject, Touch, Write, alone};
use super::stream::Stream;
use super::{code, import, late, log, rows, trust};

/// Numbers of operations that never got a position.
pub(crate) fn refused_operation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What only some work may do with some buffers.
#[cold]
pub(super) fn admit(stream: &Stream, subject: &Subject<'_>, touches: &[Touch<'_>]) -> Result<()> {
    if let Some(touch) = touches.iter().find(|touch| touch.span.buffer.is_scratch_of_another(stream.id)) {
        let label = touch.span.buffer.label();
        let text = format!("buffer `{label}` is scratch of another stream than `{}`, which alone may use it", stream.label);
        return Err(refuse(error(code::FOREIGN_HANDLE, text), outputs(touches)));
    }
    if let Some(touch) = touches.iter().find(|touch| touch.write != Write::No && touch.span.buffer.read_only) {
        return Err(refuse(import::read_only(touch.span.buffer, subject.name), outputs(touches)));
    }
    Ok(())
}

/// Under a dry run nothing is enqueued (M5); a host read has nothing to answer with.
#[cold]
pub(super) fn dry(stream: &Stream, touches: &[Touch<'_>]) -> Result<Performed> {
    if touches.iter().any(|touch| touch.write != Write::No) {
        return Ok(Performed::Enqueued(stream.queue.last()));
    }
    let label = &stream.label;
    fail(
        code::BUSY,
        format!("stream `{label}` is in a dry run, which computes nothing that could be read; end the dry run first"),
    )
}

/// Tells whoever listens that work was skipped. The caller holds no lock and no mark.
#[cold]
pub(super) fn told_skipped(
    stream: &Stream,
    subject: &Subject<'_>,
    touches: &[Touch<'_>],
    failure: &Arc<Failure>,
    needed: &Buffer,
) {
    if stream.window.is_open() {
        let skipped = || format!("`{}` was skipped, as it needs buffer `{}`", subject.name, needed.label());
        stream.window.failed(skipped, &trust::unwritten(failure, needed.id));
    }
    // A host read is told itself.
    if touches.iter().any(|touch| touch.write != Write::No) {
        log::line(log::WARNING, || format!("`{}` was skipped: it needs buffer `{}`", subject.name, needed.label()));
    }
}

/// Claims ranges for work that was refused before anything reached the device (T2), and makes the answer.
#[cold]
pub(crate) fn refuse<'a>(made: Error, outputs: impl IntoIterator<Item = (&'a Arc<Buffer>, Range<u64>)>) -> Arc<Failed> {
    let mut outputs = outputs.into_iter().filter(can_be_claimed).peekable();
    if outputs.peek().is_none() {
        return Failed::of(made);
    }
    let failure = Failure::new(Arc::new(made), true);
    claim(&failure, outputs);
    log::failure(&failure);
    Failed::claiming(&failure)
}

/// The same where outputs are at hand only one after another: `all` calls what it is given with each of them.
pub(super) fn refuse_each(made: Error, all: impl FnOnce(&mut dyn FnMut(&Arc<Buffer>, Range<u64>))) -> Arc<Failed> {
    let failure = Failure::new(Arc::new(made), true);
    let mut any = false;
    all(&mut |buffer, range| {
        any |= can_be_claimed(&(buffer, range.clone()));
        claim(&failure, [(buffer, range)]);
    });
    if !any {
        return Failed::of((*failure.error()).clone());
    }
    log::failure(&failure);
    Failed::claiming(&failure)
}

/// What nothing writes is nobody's output: a claim there could not be repaired.
fn can_be_claimed((buffer, range): &(&Arc<Buffer>, Range<u64>)) -> bool {
    !range.is_empty() && !buffer.read_only
}

/// Claims ranges.
pub(crate) fn claim<'a>(failure: &Arc<Failure>, outputs: impl IntoIterator<Item = (&'a Arc<Buffer>, Range<u64>)>) {
    for (buffer, range) in outputs.into_iter().filter(can_be_claimed) {
        alone(buffer, |map| {
            map.lock().claim(range.clone(), failure);
            late::claimed(buffer.id, &range, failure);
        });
    }
}

/// Claims what a piece of work would have written on a device that was lost, or held exclusively and lost meanwhile, before it began.
#[cold]
pub(super) fn refuse_all(failed: &Failed, stream: &Stream, subject: &Subject<'_>, touches: &[Touch<'_>]) -> Arc<Failed> {
    let about = Some(subject.about(refused_operation(), stream.id));
    refuse(Error { about, ..(*failed.error).clone() }, outputs(touches))
}

pub(super) fn outputs<'a>(touches: &'a [Touch<'_>]) -> impl Iterator<Item = (&'a Arc<Buffer>, Range<u64>)> {
    let written = touches.iter().filter(|touch| touch.write != Write::No);
    written.flat_map(|touch| rows::ranges(touch).map(|range| (touch.span.buffer, range)))
}

/// What a call answers that has no host memory for its bookkeeping.
#[cold]
pub(crate) fn no_memory(none: NoMemory) -> Error {
    error(code::OUT_OF_MEMORY, none.to_string())
}

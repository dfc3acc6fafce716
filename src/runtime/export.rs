//! The driver's own name of a view's memory, for programs that use the driver themselves (T14): what they may be shown, and what they have written.

use compute_hal::NativeKind;
use compute_trust::Error;

use super::buffer::View;
use super::error::{Failed, Result, fail, refusal};
use super::mapping::{Access, uses};
use super::place::{Place, Span};
use super::section::{Performed, Touch, Write, alone, no_memory, perform};
use super::stream::{Stream, wait};
use super::transfer::{NAMES, subject, usable};
use super::{code, late, trust};

/// Where a view is for the driver.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    /// What `handle` is.
    pub kind: NativeKind,
    /// The driver's own name of the memory.
    pub handle: u64,
    /// Where the view begins in it, in bytes.
    pub offset: u64,
    /// Bytes of the view.
    pub size: u64,
}

/// Tells where a view is. For reading, its bytes have to be trusted (T8); for writing, claims stay until [`written`]. Either way what was never written is
/// zeroed first, all work that uses the buffer is over, and the buffer stays in place from then on.
pub fn export(stream: Option<&Stream>, from: Place<'_>, access: Access) -> Result<Native> {
    let checked = (|| {
        let stream = usable(stream)?;
        let span = from.check(&stream.device, || "view".into())?;
        if span.size == 0 {
            return refusal(code::INVALID_ARGUMENT, || "an empty view has no memory that could be exported".into());
        }
        Ok((stream, span))
    })();
    let (stream, span) = checked.map_err(|made: Box<Error>| Failed::of(*made))?;
    stream.refused_recording("an export")?;
    if stream.is_dry() {
        return fail(code::BUSY, format!("stream `{}` is in a dry run, in which buffers have no memory", stream.label));
    }
    span.buffer.back()?;
    let home = alone(span.buffer, |_| {
        span.buffer.home.fix();
        span.buffer.region(&span.range())
    });
    let Some(region) = home else { return fail(code::INTERNAL, "a buffer with bytes, but without memory") };
    let handle = stream.device.native.export(region.memory).map_err(|failed| stream.device.broken(failed))?;
    if access.reads {
        settle(stream, span, Touch { span, reads: true, write: Write::No, rows: None })?;
    }
    if access.writes {
        settle(stream, span, Touch { span, reads: false, write: Write::Part, rows: None })?;
    }
    Ok(Native { kind: stream.device.native.native_kind(), handle, offset: region.offset, size: span.size })
}

/// Fills what was never written, in order, and waits until the buffer is nobody's.
fn settle(stream: &Stream, span: Span<'_>, touch: Touch<'_>) -> Result<()> {
    let (touches, subject) = ([touch], subject(stream, &NAMES.export));
    let performed = perform(stream, &subject, &touches, None, |step| {
        step.queue.mark(step.at);
        Ok(())
    })?;
    let views = if touch.reads { vec![span.view()] } else { Vec::new() };
    if let Performed::Skipped(failure) = performed {
        trust::check(&views)?;
        return Err(trust::unwritten(&failure, span.buffer.id));
    }
    let uses = alone(span.buffer, |_| uses(span.buffer, true)).map_err(|none| Failed::of(no_memory(none)))?;
    for last in uses {
        if let Some(queue) = stream.device.queue(last.queue) {
            wait(&stream.device, &queue, last.position, None)?;
        }
    }
    stream.sync(&views, None).map(drop)
}

/// Others have written all of a view, through what [`export`] told: its claims are released (T14). The caller vouches for it.
pub fn written(view: &View) -> Result<()> {
    view.buffer.device.check()?;
    // Bytes that count as written are somewhere.
    view.buffer.back()?;
    // As for mapped memory: failures of work that ran before come first, and one that is told later claims more than it must.
    if late::active() {
        late::settle()?;
    }
    alone(&view.buffer, |map| map.lock().written(view.range()));
    Ok(())
}

//! Rows of a tensor in a buffer, as the trust of its bytes sees them.
//!
//! Few rows are ranges of their own, exact to the byte in everything, where anything else is known of the buffer than that all of it is trusted.
//! Otherwise a [`Touch`] names the range around them and the rows in it: what is read is still looked up by row, what lands is marked by row, and few
//! rows are claimed by row. Of many, a failed write claims the whole range, never-written bytes between them are filled rather than remembered, and
//! to the journal (T13) the range is read, or written in part. Each takes a bounded number of steps, whatever the number of rows.

use std::ops::Range;
use std::sync::Arc;

use compute_memory::Footprint;
use compute_trust::{Failure, MAX_RANGES, Map};
use smallvec::SmallVec;

use super::buffer::View;
use super::late;
use super::place::Span;
use super::section::{Touch, Write};

/// Up to so many rows are ranges of their own: a few tensors of that many leave a buffer within its number of ranges (T3).
pub(crate) const EXACT: usize = 256;

/// What a transfer of tensors touches: room for one range at each end, which takes no memory.
pub(crate) type Touches<'a> = SmallVec<[Touch<'a>; 2]>;

/// What work does to a tensor whose first byte is that of `span`. A clean buffer has nothing to look up or to fill, so that one range does there unless
/// late failures are about (T13). Should it get dirty before the work has its mark, more is filled than has to be.
pub(crate) fn touch<'a>(touches: &mut Touches<'a>, span: Span<'a>, rows: &'a Footprint, reads: bool, write: Write) {
    let exact = span.buffer.device.capabilities().fails_late || late::active() || span.buffer.mark.glance().dirty;
    // Without memory for a range each, they are one.
    if !exact || rows.rows() > EXACT as u64 || touches.try_reserve(rows.rows() as usize + 1).is_err() {
        return touches.push(Touch { span, reads, write, rows: Some(rows) });
    }
    for row in rows.each() {
        let span = Span { offset: span.offset + row.start, size: row.end - row.start, ..span };
        touches.push(Touch { span, reads, write, rows: None });
    }
}

/// What is claimed when the work fails: its rows, or the range around them when there are too many.
pub(crate) fn ranges<'a>(touch: &'a Touch<'_>) -> impl Iterator<Item = Range<u64>> + 'a {
    let offset = touch.span.offset;
    let rows = touch.rows.filter(|rows| rows.rows() <= EXACT as u64);
    let whole = rows.is_none().then(|| touch.span.range());
    let each = rows.into_iter().flat_map(Footprint::each);
    whole.into_iter().chain(each.map(move |row| offset + row.start..offset + row.end))
}

/// The first claim on bytes that are read.
pub(crate) fn first_claim(touch: &Touch<'_>, map: &Map) -> Option<Arc<Failure>> {
    let Range { mut start, end } = touch.span.range();
    loop {
        let (at, failure) = map.first_claim(start..end)?;
        let Some(rows) = touch.rows else { return Some(Arc::clone(failure)) };
        start = next(touch, rows, at)?.start;
        if start == at {
            return Some(Arc::clone(failure));
        }
    }
}

/// The parts that are read and claimed, at least those of the first ranges: for whoever asks which failures there are.
pub(crate) fn claimed(touches: &[Touch<'_>]) -> Vec<View> {
    let mut views = Vec::new();
    for touch in touches.iter().filter(|touch| touch.reads) {
        if views.try_reserve(1).is_err() {
            break;
        }
        let Some(rows) = touch.rows else {
            views.push(touch.span.view());
            continue;
        };
        let map = touch.span.buffer.map.lock();
        let Range { mut start, end } = touch.span.range();
        while views.len() < 2 * MAX_RANGES
            && views.try_reserve(1).is_ok()
            && let Some((at, _)) = map.first_claim(start..end)
            && let Some(part) = next(touch, rows, at)
        {
            if part.start == at {
                views.push(View { buffer: Arc::clone(touch.span.buffer), offset: at, size: part.end - at });
            }
            start = if part.start == at { part.end } else { part.start };
        }
    }
    views
}

/// The first part of a row at or behind a byte of the buffer.
fn next(touch: &Touch<'_>, rows: &Footprint, at: u64) -> Option<Range<u64>> {
    let offset = touch.span.offset;
    let part = rows.first_in(at - offset..touch.span.size)?;
    Some(offset + part.start..offset + part.end)
}

/// Whether never-written bytes have to be filled before the work runs: those that it reads or may leave unwritten, and those of which it would leave many
/// pieces to be remembered.
pub(crate) fn wants_filled(touch: &Touch<'_>, gap: &Range<u64>) -> bool {
    let Some(rows) = touch.rows else { return true };
    let part = next(touch, rows, gap.start).filter(|part| part.start < gap.end);
    part.is_some_and(|part| touch.reads || touch.write == Write::Part || part.start > gap.start || part.end < gap.end)
}

/// The work has written what it was to write.
pub(crate) fn written(touch: &Touch<'_>, map: &mut Map) {
    let Some(rows) = touch.rows else { return map.written(touch.span.range()) };
    let Range { mut start, end } = touch.span.range();
    // What was never written and is not filled (`wants_filled`) lies in one row or in none. There is no safe side here: zeros would go over what lands.
    loop {
        let gap = map.unwritten_in(start..end).next();
        let Some(gap) = gap else { break };
        start = gap.end;
        if next(touch, rows, gap.start).is_some_and(|part| part.start == gap.start && part.end >= gap.end) {
            map.filled(gap);
        }
    }
    let Range { mut start, end } = touch.span.range();
    // More rows than that lie in claimed bytes: what a map can hold is full by then (T3), and claims that stay are on the safe side.
    for _ in 0..4 * MAX_RANGES {
        let part = map.first_untrusted(start..end).and_then(|at| Some((at, next(touch, rows, at)?)));
        let Some((at, part)) = part else { return };
        start = part.start;
        if part.start == at {
            start = part.end;
            map.written(part);
        }
    }
}

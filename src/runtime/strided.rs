//! Tensors with strides in, out and across (M3), and where several of them lie in one buffer.
//!
//! A transfer is cut into pieces of rows at one pitch, which is what devices move in one call; a device that cannot do even that gets every row by
//! itself. All pieces are one piece of work: one section, decided once, with a position for each call.

use std::ops::Range;
use std::sync::Arc;

use compute_hal::{self as hal, DeviceError, HostRows, HostTarget, Pitched, Region};
use compute_memory::{Footprint, MOST_DIMENSIONS, Piece, TensorError, TensorPlace, TensorSpec, Transfer, carve, packed};
use compute_trust::Error;

use super::device::Device;
use super::error::{Checked, Failed, Result, error, refusal};
use super::event::Event;
use super::graph::{Request, record, watched};
use super::place::{Place, Span};
use super::rows::Touches;
use super::section::{Outcome, Step, Subject, Write, perform, refuse, region};
use super::stream::Stream;
use super::transfer::{Landing, Lent, NAMES, Source, charge, perform_read, refuse_write, subject, usable, written};
use super::{code, rows};

/// More calls of the device than this for one transfer: packing on the host, or a kernel, would be the better way.
const MOST_CALLS: u64 = 1 << 20;

/// A box of elements on its way, with the slowest dimension first.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Elements of each dimension. No dimension: a single element.
    pub shape: &'a [u64],
    /// Bytes of an element.
    pub element_size: u64,
    /// Strides in bytes at its source; none: without gaps.
    pub from: Option<&'a [i64]>,
    /// Strides in bytes at its destination.
    pub to: Option<&'a [i64]>,
}

fn told(wrong: TensorError) -> Error {
    let number = match wrong {
        TensorError::ElementSize | TensorError::Rank(..) => code::INVALID_ARGUMENT,
        TensorError::Alignment(_) => code::MISALIGNED,
        TensorError::TooLarge => code::TOO_LARGE,
        TensorError::Dimensions(_) => code::LIMIT,
        TensorError::NegativeStride(..) => code::UNSUPPORTED_STRIDES,
        TensorError::Overlap { .. } => code::OVERLAP,
        TensorError::NoMemory(_) => code::OUT_OF_MEMORY,
    };
    error(number, wrong.to_string())
}

impl Tensor<'_> {
    fn transfer(&self) -> Checked<Transfer> {
        let made = (|| {
            let gapless = packed(self.shape, self.element_size)?;
            let gapless = gapless.get(..self.shape.len()).unwrap_or_default();
            Transfer::new(self.shape, [self.from.unwrap_or(gapless), self.to.unwrap_or(gapless)], self.element_size)
        })();
        made.map_err(|wrong| Box::new(told(wrong)))
    }
}

/// Refuses a write or copy of a tensor, and claims what can be made out of its destination (T2): its rows, or the view around them where it is not
/// known how they lie or there are too many.
fn refused(made: Error, to: &Place<'_>, tensor: &Tensor<'_>) -> Arc<Failed> {
    let Some((buffer, range)) = to.reachable() else { return refuse(made, []) };
    let rows = tensor.transfer().ok().map(|transfer| transfer.ends[1]);
    let rows = rows.filter(|rows| rows.rows() <= rows::EXACT as u64 && rows.span() <= range.end - range.start);
    let Some(rows) = rows else { return refuse(made, [(buffer, range)]) };
    refuse(made, rows.each().map(|row| (buffer, range.start + row.start..range.start + row.end)))
}

/// Refuses a write or copy of a tensor for a reason that only the caller of the runtime knows, and claims its destination (T2).
pub fn refuse_strided(code: i32, message: String, to: &Place<'_>, tensor: Option<&Tensor<'_>>) -> Arc<Failed> {
    match tensor {
        Some(tensor) => refused(error(code, message), to, tensor),
        None => refuse_write(code, message, to),
    }
}

/// How many calls a transfer takes.
fn calls(device: &Device, transfer: &Transfer) -> Checked<u64> {
    let pitched = device.capabilities().pitched;
    let calls = if pitched { transfer.pieces() } else { transfer.rows() };
    if calls <= MOST_CALLS {
        return Ok(calls);
    }
    let what = if pitched { "pieces of rows at one pitch" } else { "rows, each on its own" };
    refusal(code::UNSUPPORTED_STRIDES, || {
        format!(
            "with these strides the device would move {calls} {what}, at most {MOST_CALLS} are allowed; pack the elements on the host, or use a kernel"
        )
    })
}

/// The part of a view that a tensor covers.
fn inside<'a>(view: Span<'a>, tensor: &Footprint, role: &str) -> Checked<Span<'a>> {
    if tensor.span() <= view.size {
        return Ok(Span { size: tensor.span(), ..view });
    }
    let (span, size, label) = (tensor.span(), view.size, view.buffer.label());
    refusal(code::OUT_OF_RANGE, || {
        format!("the tensor spans {span} bytes of the {role}, a view of {size} bytes of buffer `{label}`")
    })
}

fn host_fits(size: u64, tensor: &Footprint) -> Checked<()> {
    if tensor.span() <= size {
        return Ok(());
    }
    refusal(code::OUT_OF_RANGE, || format!("the tensor spans {} bytes of host memory, which has {size}", tensor.span()))
}

/// What a call of the device moves: each piece, or each row where it moves none at a pitch.
pub(super) fn calls_of(transfer: &Transfer, pitched: bool) -> impl Iterator<Item = Piece> + '_ {
    transfer.each().flat_map(move |piece| {
        let (apart, rows) = if pitched { (1, piece.rows) } else { (piece.rows, 1) };
        let [from, to] = piece.offsets;
        let [from_pitch, to_pitch] = piece.pitches;
        (0..apart).map(move |row| Piece { offsets: [from + row * from_pitch, to + row * to_pitch], rows, ..piece })
    })
}

/// Each call with its position.
fn each_call(
    step: &Step<'_>,
    device: &Device,
    transfer: &Transfer,
    mut call: impl FnMut(hal::Position, Piece) -> std::result::Result<(), DeviceError>,
) -> std::result::Result<(), DeviceError> {
    calls_of(transfer, device.capabilities().pitched).zip(step.at..).try_for_each(|(piece, at)| call(at, piece))
}

/// The part of a region that one end of a piece spans.
fn part(of: Region, piece: &Piece, end: usize) -> Region {
    Region { offset: of.offset + piece.offsets[end], size: piece.span(end), ..of }
}

/// The host's bytes that a piece of a write spans.
fn host_part<'a>(source: Source<'a>, piece: &Piece) -> std::result::Result<Source<'a>, DeviceError> {
    let (offset, size) = (piece.offsets[0], piece.span(0));
    let part = match source {
        Source::Copied(bytes) => {
            let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
            range.and_then(|(start, size)| bytes.get(start..start.checked_add(size)?)).map(Source::Copied)
        }
        Source::Borrowed(bytes) => bytes.part(offset, size).map(Source::Borrowed),
    };
    part.ok_or_else(|| DeviceError::Internal("a piece of a tensor outside of its host memory".into()))
}

/// Enqueues a write of the elements of a tensor. Bytes between them are left alone at both ends. The event is over when borrowed bytes are no longer needed.
pub fn write_strided(
    stream: Option<&Stream>,
    to: Place<'_>,
    tensor: &Tensor<'_>,
    source: Source<'_>,
) -> Result<Option<Arc<Event>>> {
    watched(stream, || "a strided write".into(), || write_now(stream, to, tensor, source))
}

fn write_now(stream: Option<&Stream>, to: Place<'_>, tensor: &Tensor<'_>, source: Source<'_>) -> Result<Option<Arc<Event>>> {
    let checked = (|| {
        let stream = usable(stream)?;
        let span = to.check(&stream.device, || "destination".into())?;
        let transfer = tensor.transfer()?;
        host_fits(source.size(), &transfer.ends[0])?;
        let calls = calls(&stream.device, &transfer)?;
        Ok((stream, inside(span, &transfer.ends[1], "destination")?, transfer, calls))
    })();
    let (stream, span, transfer, calls) = checked.map_err(|made: Box<Error>| refused(*made, &to, tensor))?;
    let borrowed = |position| matches!(source, Source::Borrowed(_)).then(|| Event::at(stream, position, None));
    if calls == 0 {
        stream.not_recording(&NAMES.write).map_err(|made| Failed::of(*made))?;
        return Ok(borrowed(stream.queue.last()));
    }
    let mut touches = Touches::new();
    rows::touch(&mut touches, span, &transfer.ends[1], false, Write::Whole);
    let subject = Subject { calls, ..subject(stream, &NAMES.write) };
    let lent = Lent::by(stream);
    let enqueue = |step: &Step<'_>| {
        let to = region(&span)?;
        if matches!(source, Source::Borrowed(_)) {
            lent.begin(step, calls);
        }
        each_call(step, &stream.device, &transfer, |at, piece| {
            let to = part(to, &piece, 1);
            let [host_pitch, pitch] = piece.pitches;
            let rows = HostRows { region: to, width: piece.width, rows: piece.rows, pitch, host_pitch };
            match (host_part(source, &piece)?, piece.rows) {
                (Source::Copied(bytes), 1) => step.queue.write(at, to, bytes),
                (Source::Copied(bytes), _) => step.queue.write_2d(at, &rows, bytes),
                (Source::Borrowed(bytes), 1) => step.queue.write_borrowed(at, to, bytes),
                (Source::Borrowed(bytes), _) => step.queue.write_borrowed_2d(at, &rows, bytes),
            }
        })
    };
    let charge = charge(stream, &source, transfer.bytes());
    let performed = perform(stream, &subject, &touches, None, enqueue)?;
    lent.end();
    Ok(borrowed(written(stream, &performed, charge)))
}

/// A copy that passed the checks.
pub(super) struct Moved<'a> {
    pub(super) from: Span<'a>,
    pub(super) to: Span<'a>,
    pub(super) transfer: Transfer,
    /// How many calls of the device it takes.
    pub(super) calls: u64,
}

/// What is wrong with a copy of the elements of a tensor, if anything is.
pub(super) fn check_rows<'a>(device: &Arc<Device>, from: &Place<'a>, to: &Place<'a>, tensor: &Tensor<'_>) -> Checked<Moved<'a>> {
    let to = to.check(device, || "destination".into())?;
    let from = from.check(device, || "source".into())?;
    let transfer = tensor.transfer()?;
    let calls = calls(device, &transfer)?;
    let [source, destination] = &transfer.ends;
    let (from, to) = (inside(from, source, "source")?, inside(to, destination, "destination")?);
    apart([from, to], &transfer.ends)?;
    Ok(Moved { from, to, transfer, calls })
}

/// What one of its calls moves between two regions.
pub(super) fn pitched(from: Region, to: Region, piece: &Piece) -> Pitched {
    let [from_pitch, to_pitch] = piece.pitches;
    let (from, to) = (part(from, piece, 0), part(to, piece, 1));
    Pitched { from, to, width: piece.width, rows: piece.rows, from_pitch, to_pitch }
}

/// Enqueues what [`pitched`] gives.
pub(super) fn enqueue_rows(queue: &dyn hal::Queue, at: hal::Position, copy: &Pitched) -> std::result::Result<(), DeviceError> {
    if copy.rows == 1 { queue.copy(at, copy.from, copy.to) } else { queue.copy_2d(at, copy) }
}

/// Enqueues a copy of the elements of a tensor within the device (L9: no byte of the source may be one of the destination).
pub fn copy_strided(stream: Option<&Stream>, from: Place<'_>, to: Place<'_>, tensor: &Tensor<'_>) -> Result<Outcome> {
    watched(stream, || "a strided copy".into(), || copy_now(stream, from, to, tensor))
}

fn copy_now(stream: Option<&Stream>, from: Place<'_>, to: Place<'_>, tensor: &Tensor<'_>) -> Result<Outcome> {
    let asked = (from, to);
    let checked = (|| {
        let stream = usable(stream)?;
        Ok((stream, check_rows(&stream.device, &from, &to, tensor)?))
    })();
    let (stream, Moved { from, to, transfer, calls }) = checked.map_err(|made: Box<Error>| refused(*made, &asked.1, tensor))?;
    if stream.window.is_recording() {
        let request = Request::CopyRows { from: asked.0, to: asked.1, tensor: *tensor, label: "" };
        if let Some(outcome) = record(stream, &request).map_err(|made| refused(*made, &asked.1, tensor))? {
            return Ok(outcome);
        }
    }
    if calls == 0 {
        return Ok(Outcome::Enqueued);
    }
    let mut touches = Touches::new();
    rows::touch(&mut touches, from, &transfer.ends[0], true, Write::No);
    rows::touch(&mut touches, to, &transfer.ends[1], false, Write::Whole);
    let subject = Subject { calls, ..subject(stream, &NAMES.copy) };
    let performed = perform(stream, &subject, &touches, None, |step| {
        let (from, to) = (region(&from)?, region(&to)?);
        each_call(step, &stream.device, &transfer, |at, piece| enqueue_rows(step.queue, at, &pitched(from, to, &piece)))
    })?;
    Ok(performed.into())
}

/// L9, by row: tensors whose rows lie between each other's do not overlap.
fn apart(spans: [Span<'_>; 2], ends: &[Footprint; 2]) -> Checked<()> {
    let [from, to] = spans;
    if !from.overlaps(&to) {
        return Ok(());
    }
    let (few, many) = if ends[0].rows() <= ends[1].rows() { (0, 1) } else { (1, 0) };
    let [first, second] = [spans[few].offset, spans[many].offset];
    let hits = |row: Range<u64>| {
        let (start, end) = ((first + row.start).max(second), (first + row.end).max(second));
        ends[many].first_in(start - second..end - second).is_some()
    };
    let rows = ends[few].rows();
    let meet = if rows <= MOST_CALLS {
        ends[few].each().any(hits)
    } else {
        let met = ends[few].meets(&ends[many], i128::from(second) - i128::from(first));
        let Some(met) = met else {
            return refusal(code::UNSUPPORTED_STRIDES, || {
                format!(
                    "of {rows} rows that lie between each other's it is only found out whether they overlap where all of both tensors are at one pitch; at most \
                     {MOST_CALLS} may be at several"
                )
            });
        };
        met
    };
    if !meet {
        return Ok(());
    }
    let (source, destination, label) = (from.range(), to.range(), to.buffer.label());
    refusal(code::OVERLAP, || {
        format!(
            "the tensor of the source in {source:?} and that of the destination in {destination:?} overlap in buffer `{label}`"
        )
    })
}

/// Enqueues a read of the elements of a tensor into host memory that stays valid until the event it gives is over. Bytes between them are left alone.
pub fn read_strided(stream: Option<&Stream>, from: Place<'_>, tensor: &Tensor<'_>, into: HostTarget) -> Result<Arc<Event>> {
    watched(stream, || "a strided read".into(), || read_now(stream, from, tensor, into))
}

fn read_now(stream: Option<&Stream>, from: Place<'_>, tensor: &Tensor<'_>, into: HostTarget) -> Result<Arc<Event>> {
    let checked = (|| {
        let stream = usable(stream)?;
        let span = from.check(&stream.device, || "source".into())?;
        let transfer = tensor.transfer()?;
        host_fits(into.size() as u64, &transfer.ends[1])?;
        let calls = calls(&stream.device, &transfer)?;
        Ok((stream, inside(span, &transfer.ends[0], "source")?, transfer, calls))
    })();
    let (stream, span, transfer, calls) = checked.map_err(|made: Box<Error>| Failed::of(*made))?;
    let into = into.part(0, transfer.ends[1].span()).unwrap_or(into);
    if calls == 0 {
        stream.not_recording(&NAMES.read).map_err(|made| Failed::of(*made))?;
        return Ok(Event::at(stream, stream.queue.last(), None));
    }
    let mut touches = Touches::new();
    rows::touch(&mut touches, span, &transfer.ends[0], true, Write::No);
    let subject = Subject { calls, ..subject(stream, &NAMES.read) };
    let landing = Landing { view: span.view(), into, rows: Some(Box::new(transfer.ends[1])), at_once: false };
    perform_read(stream, &subject, &touches, landing, |step, into| {
        let from = region(&span)?;
        each_call(step, &stream.device, &transfer, |at, piece| {
            let (from, target) = (part(from, &piece, 0), into.part(piece.offsets[1], piece.span(1)));
            let target = target.ok_or_else(|| DeviceError::Internal("a piece of a tensor outside of its host memory".into()))?;
            if piece.rows == 1 {
                return step.queue.read(at, from, target);
            }
            let [pitch, host_pitch] = piece.pitches;
            step.queue.read_2d(at, &HostRows { region: from, width: piece.width, rows: piece.rows, pitch, host_pitch }, target)
        })
    })
}

/// How many bytes of host memory a read of a tensor from this place spans, and whether there are any between its elements; refused as the read would be.
pub(super) fn check_read(stream: &Stream, from: &Place<'_>, tensor: &Tensor<'_>) -> Checked<(u64, bool)> {
    let span = from.check(&stream.device, || "source".into())?;
    let transfer = tensor.transfer()?;
    calls(&stream.device, &transfer)?;
    inside(span, &transfer.ends[0], "source")?;
    let size = transfer.ends[1].span();
    Ok((size, size > transfer.bytes()))
}

/// Where tensors lie in one buffer of a device, each at a multiple of `alignment` (0: what views of any kind need), and how many bytes it takes.
pub fn layout(device: &Device, tensors: &[TensorSpec<'_>], alignment: u64) -> Result<(Vec<TensorPlace>, u64)> {
    let (limits, most) = (device.limits(), device.alignment());
    let alignment = if alignment == 0 { most } else { alignment };
    let row_alignment = match device.capabilities().row_alignment {
        0 => limits.storage_alignment,
        rows => rows,
    };
    let placed = carve(tensors, alignment, u64::from(row_alignment.max(1)));
    let (places, size) = placed.map_err(|wrong| Failed::of(told(wrong)))?;
    if alignment > most {
        let message = format!("an alignment of {alignment} bytes: buffers of this device begin at multiples of {most}");
        return super::error::fail(code::LIMIT, message);
    }
    Ok((places, size))
}

const _: () = assert!(MOST_DIMENSIONS == 8, "the interface has strides for that many");

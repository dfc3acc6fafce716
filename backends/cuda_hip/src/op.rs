//! Operations of a queue after ids and regions have become addresses. Most are executed at once; one that has to be kept for later owns its bytes.

use std::borrow::Cow;
use std::sync::Arc;

use compute_hal::kernel::cxx::Parameter;
use compute_hal::{Binding, DeviceError, Grid, HostRows, HostSource, HostTarget, KernelId, Launch, Pitched, Region};
use smallvec::SmallVec;

use crate::device::Shared;
use crate::graph::Replay;
use crate::kernel::Kernel;
use crate::memory::Span;
use crate::peer::Fetch;
use crate::tensor_map;

/// Rows on the device and where they are in host memory; a run of bytes is one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    pub(crate) address: u64,
    pub(crate) width: u64,
    pub(crate) rows: u64,
    pub(crate) pitch: u64,
    pub(crate) host_pitch: u64,
}

impl Rect {
    /// Rows without gaps on either side are one.
    fn joined(self) -> Self {
        if self.rows > 1 && self.pitch == self.width && self.host_pitch == self.width {
            return Self { width: self.width * self.rows, rows: 1, ..self };
        }
        self
    }

    fn of(span: Span) -> Self {
        Self { address: span.address, width: span.size, rows: 1, pitch: span.size, host_pitch: span.size }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.rows == 0
    }
}

/// Rows within the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) width: u64,
    pub(crate) rows: u64,
    pub(crate) from_pitch: u64,
    pub(crate) to_pitch: u64,
}

/// A launch's number of workgroups.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Groups {
    Direct([u32; 3]),
    /// Three words at this address.
    At(u64),
}

/// As many as most blocks of arguments have.
static ZEROS: [u8; 256] = [0; 256];

/// Bytes for uniform bindings and where their address goes among the arguments.
pub(crate) type Inline<'a> = SmallVec<[(u32, Cow<'a, [u8]>); 2]>;

/// A launch.
pub(crate) struct Call<'a> {
    /// Borrowed from the device's table while the call is on its way: a count would be one word that all threads write.
    pub(crate) kernel: Cow<'a, Arc<Kernel>>,
    pub(crate) id: KernelId,
    pub(crate) groups: Groups,
    /// The block of arguments, as far as it is known.
    pub(crate) arguments: SmallVec<[u8; 256]>,
    pub(crate) inline: Inline<'a>,
    /// Where the record's address goes.
    pub(crate) record: Option<u32>,
    /// Where what stops it goes, and after how many nanoseconds that is; 0: never.
    pub(crate) limit: Option<(u32, u64)>,
    /// Where it goes that the kernel tells of counts over the limits.
    pub(crate) counts: Option<u32>,
}

/// One operation.
#[allow(clippy::large_enum_variant, reason = "launches are what there is most of, and a box for each would cost more")]
pub(crate) enum Op<'a> {
    Mark,
    Launch(Call<'a>),
    Replay(Replay),
    Move(Move),
    Fill {
        to: u64,
        size: u64,
        pattern: SmallVec<[u8; 16]>,
    },
    Write(Rect, Cow<'a, [u8]>),
    Fetch(Fetch),
    /// From pinned memory that stays as it is: address on the device, there, size.
    Send(u64, HostSource, usize),
    Read(Rect, HostTarget),
}

/// An operation and the newest block that it touches, as [`Span::ready`] counts.
pub(crate) struct Ready<'a> {
    pub(crate) op: Op<'a>,
    pub(crate) ready: u64,
}

impl Ready<'_> {
    /// Takes the operation, to be kept. It is lost when there is no memory for its bytes.
    pub(crate) fn take(&mut self) -> Result<Op<'static>, DeviceError> {
        std::mem::replace(&mut self.op, Op::Mark).into_owned()
    }
}

impl Call<'_> {
    /// As one that owns its bytes.
    pub(crate) fn into_owned(self) -> Result<Call<'static>, DeviceError> {
        let Self { kernel, id, groups, arguments, inline, record, limit, counts } = self;
        let inline = inline.into_iter().map(|(at, bytes)| Ok((at, kept(bytes)?))).collect::<Result<_, DeviceError>>()?;
        Ok(Call { kernel: Cow::Owned(kernel.into_owned()), id, groups, arguments, inline, record, limit, counts })
    }
}

impl Op<'_> {
    /// Whether it has launches that may be stopped.
    pub(crate) fn is_limited(&self) -> bool {
        match self {
            Self::Launch(call) => call.limit.is_some(),
            Self::Replay(replay) => replay.launches().any(|call| call.limit.is_some()),
            _ => false,
        }
    }

    /// As one that owns its bytes, for which there may be no memory (F1).
    pub(crate) fn into_owned(self) -> Result<Op<'static>, DeviceError> {
        Ok(match self {
            Self::Mark => Op::Mark,
            Self::Launch(call) => Op::Launch(call.into_owned()?),
            Self::Replay(replay) => Op::Replay(replay),
            Self::Move(rows) => Op::Move(rows),
            Self::Fetch(fetch) => Op::Fetch(fetch),
            Self::Fill { to, size, pattern } => Op::Fill { to, size, pattern },
            Self::Write(rect, bytes) => Op::Write(rect, kept(bytes)?),
            Self::Send(to, from, size) => Op::Send(to, from, size),
            Self::Read(rect, into) => Op::Read(rect, into),
        })
    }
}

/// Bytes that stay. The host's memory is what it may be short of, however much the device has.
fn kept(bytes: Cow<'_, [u8]>) -> Result<Cow<'static, [u8]>, DeviceError> {
    let bytes = match bytes {
        Cow::Owned(bytes) => return Ok(Cow::Owned(bytes)),
        Cow::Borrowed(bytes) => bytes,
    };
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| DeviceError::OutOfMemory { asked: bytes.len() as u64, free: 0 })?;
    copy.extend_from_slice(bytes);
    Ok(Cow::Owned(copy))
}

fn wrong(what: &str) -> DeviceError {
    DeviceError::Internal(what.into())
}

pub(crate) fn copy<'a>(shared: &Shared, from: Region, to: Region) -> Result<Ready<'a>, DeviceError> {
    let (from, to) = (shared.memory.span(from)?, shared.memory.span(to)?);
    if from.size != to.size {
        return Err(wrong("a copy of unequal sizes"));
    }
    let rows = Move { from: from.address, to: to.address, width: from.size, rows: 1, from_pitch: from.size, to_pitch: from.size };
    Ok(Ready { op: Op::Move(rows), ready: from.ready.max(to.ready) })
}

/// Whether so many rows lie within so many bytes.
fn fits(size: u64, width: u64, rows: u64, pitch: u64) -> bool {
    let Some(last) = rows.checked_sub(1) else { return true };
    width == 0 || last.checked_mul(pitch).and_then(|start| start.checked_add(width)).is_some_and(|end| end <= size)
}

pub(crate) fn copy_2d(shared: &Shared, copy: &Pitched) -> Result<Ready<'static>, DeviceError> {
    let (from, to) = (shared.memory.span(copy.from)?, shared.memory.span(copy.to)?);
    let Pitched { width, rows, from_pitch, to_pitch, .. } = *copy;
    if !fits(from.size, width, rows, from_pitch) || !fits(to.size, width, rows, to_pitch) {
        return Err(wrong("rows outside their region"));
    }
    let rows = Move { from: from.address, to: to.address, width, rows, from_pitch, to_pitch };
    Ok(Ready { op: Op::Move(rows), ready: from.ready.max(to.ready) })
}

pub(crate) fn fill<'a>(shared: &Shared, to: Region, pattern: &[u8]) -> Result<Ready<'a>, DeviceError> {
    let to = shared.memory.span(to)?;
    if !matches!(pattern.len(), 1 | 2 | 4 | 8 | 16) {
        return Err(wrong("a pattern of an odd size"));
    }
    Ok(Ready { op: Op::Fill { to: to.address, size: to.size, pattern: SmallVec::from_slice(pattern) }, ready: to.ready })
}

pub(crate) fn write<'a>(shared: &Shared, to: Region, bytes: &'a [u8]) -> Result<Ready<'a>, DeviceError> {
    let to = shared.memory.span(to)?;
    if to.size != bytes.len() as u64 {
        return Err(wrong("a write of unequal sizes"));
    }
    Ok(Ready { op: Op::Write(Rect::of(to), Cow::Borrowed(bytes)), ready: to.ready })
}

pub(crate) fn send(shared: &Shared, to: Region, bytes: HostSource) -> Result<Ready<'static>, DeviceError> {
    let to = shared.memory.span(to)?;
    if to.size != bytes.size() as u64 {
        return Err(wrong("a write of unequal sizes"));
    }
    Ok(Ready { op: Op::Send(to.address, bytes, bytes.size()), ready: to.ready })
}

fn rect(shared: &Shared, rows: &HostRows, host: u64) -> Result<(Rect, u64), DeviceError> {
    let span = shared.memory.span(rows.region)?;
    let HostRows { width, rows, pitch, host_pitch, .. } = *rows;
    if !fits(span.size, width, rows, pitch) || !fits(host, width, rows, host_pitch) {
        return Err(wrong("rows outside their region"));
    }
    Ok((Rect { address: span.address, width, rows, pitch, host_pitch }.joined(), span.ready))
}

pub(crate) fn write_2d<'a>(shared: &Shared, rows: &HostRows, bytes: &'a [u8]) -> Result<Ready<'a>, DeviceError> {
    let (rect, ready) = rect(shared, rows, bytes.len() as u64)?;
    Ok(Ready { op: Op::Write(rect, Cow::Borrowed(bytes)), ready })
}

pub(crate) fn read(shared: &Shared, from: Region, into: HostTarget) -> Result<Ready<'static>, DeviceError> {
    let from = shared.memory.span(from)?;
    if from.size > into.size() as u64 {
        return Err(wrong("a read into too little memory"));
    }
    Ok(Ready { op: Op::Read(Rect::of(from), into), ready: from.ready })
}

pub(crate) fn read_2d(shared: &Shared, rows: &HostRows, into: HostTarget) -> Result<Ready<'static>, DeviceError> {
    let (rect, ready) = rect(shared, rows, into.size() as u64)?;
    Ok(Ready { op: Op::Read(rect, into), ready })
}

/// Puts bytes into the block of arguments.
pub(crate) fn put(arguments: &mut [u8], offset: u32, bytes: &[u8]) -> Result<(), DeviceError> {
    let start = offset as usize;
    let place = start.checked_add(bytes.len()).and_then(|end| arguments.get_mut(start..end));
    place.map(|place| place.copy_from_slice(bytes)).ok_or_else(|| wrong("an argument outside the block of arguments"))
}

/// A launch of a kernel that was looked up.
pub(crate) fn launch<'a>(shared: &Shared, kernel: &'a Arc<Kernel>, launch: &Launch<'a>) -> Result<Ready<'a>, DeviceError> {
    let (mut kernel, mut grid) = (Cow::Borrowed(kernel), None);
    if let Grid::Indirect(region) = launch.grid {
        kernel = kernel.counted().map_or(kernel, Cow::Owned);
        grid = Some(shared.memory.span(region)?);
    }
    if launch.time_limit != 0 && !kernel.cancellable {
        return Err(wrong("a time limit for a kernel that was not compiled to be cancelled"));
    }
    let mut arguments: SmallVec<[u8; 256]> = SmallVec::new();
    // Much quicker than one byte after another, where it is of the usual size.
    arguments.extend_from_slice(ZEROS.get(..kernel.parameters.size as usize).unwrap_or_default());
    arguments.resize(kernel.parameters.size as usize, 0);
    let (mut inline, mut record, mut limit, mut counts) = (Inline::new(), None, None, None);
    let (mut ready, mut calls) = (0, None);
    for field in &kernel.parameters.fields {
        match field.parameter {
            Parameter::Address { binding } => match launch.bindings.get(binding) {
                Some(Binding::Buffer(region)) => {
                    let span = shared.memory.span(*region)?;
                    ready = ready.max(span.ready);
                    put(&mut arguments, field.offset, &span.address.to_le_bytes())?;
                }
                Some(Binding::Inline(bytes)) => inline.push((field.offset, Cow::Borrowed(*bytes))),
                Some(Binding::Tensor(..)) => return Err(wrong("a tensor map where an address goes")),
                None => return Err(wrong("a launch with too few bindings")),
            },
            Parameter::Elements { binding, start, stride } => {
                let size = match launch.bindings.get(binding) {
                    Some(Binding::Buffer(region)) => region.size,
                    _ => 0,
                };
                let count = size.saturating_sub(start.into()).checked_div(stride.into()).unwrap_or(0);
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                put(&mut arguments, field.offset, &count.to_le_bytes())?;
            }
            Parameter::Value { binding, size } => match launch.bindings.get(binding) {
                Some(Binding::Inline(bytes)) if bytes.len() == size as usize => put(&mut arguments, field.offset, bytes)?,
                _ => return Err(wrong("a value of another size than its parameter")),
            },
            Parameter::TensorMap { binding } => match launch.bindings.get(binding) {
                Some(Binding::Tensor(region, map)) => {
                    let span = shared.memory.span(*region)?;
                    ready = ready.max(span.ready);
                    put(&mut arguments, field.offset, &tensor_map::encode(shared, &mut calls, map, span.address)?)?;
                }
                _ => return Err(wrong("a tensor map of nothing")),
            },
            Parameter::Record => record = Some(field.offset),
            Parameter::Indirect => {
                counts = Some(field.offset);
                let address = grid.as_ref().map_or(0, |span| span.address);
                put(&mut arguments, field.offset, &address.to_le_bytes())?;
                for (place, most) in (field.offset + 16..).step_by(4).zip(shared.limits.grid) {
                    put(&mut arguments, place, &most.to_le_bytes())?;
                }
            }
            Parameter::TimeLimit => limit = Some((field.offset, launch.time_limit)),
            Parameter::Immediates { size } => {
                let bytes = launch.immediates.get(..launch.immediates.len().min(size as usize)).unwrap_or_default();
                put(&mut arguments, field.offset, bytes)?;
            }
        }
    }
    let groups = match (launch.grid, &grid) {
        (Grid::Direct(groups), _) => Groups::Direct(groups),
        (_, Some(span)) if counts.is_none() => Groups::At(span.address),
        // It finds out by itself how many there are.
        _ => Groups::Direct([shared.resident(&kernel), 1, 1]),
    };
    ready = ready.max(grid.map_or(0, |span| span.ready));
    Ok(Ready { op: Op::Launch(Call { kernel, id: launch.kernel, groups, arguments, inline, record, limit, counts }), ready })
}

#[cfg(test)]
mod tests {
    use super::{Rect, fits};

    #[test]
    fn rows_without_gaps_are_one_and_rows_that_end_outside_are_none() {
        let rect = Rect { address: 0, width: 4, rows: 3, pitch: 4, host_pitch: 4 };
        assert_eq!(rect.joined().width, 12);
        assert_eq!(Rect { pitch: 5, ..rect }.joined().rows, 3);
        assert!(fits(14, 4, 3, 5) && !fits(13, 4, 3, 5) && fits(0, 0, 7, 1 << 60) && fits(0, 9, 0, 9));
        assert!(!fits(u64::MAX, 4, u64::MAX, u64::MAX));
    }
}

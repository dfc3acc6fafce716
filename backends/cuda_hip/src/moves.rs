//! Copies and fills as calls of the driver. Nothing is kept.

use compute_hal::DeviceError;

use crate::api::{Inside, Object};
use crate::driver::{Copy2d, Failure, FillNode};
use crate::op::Move;
use crate::pieces::Piece;
use crate::staging::Slice;

/// Sizes are within a block, which the driver allocated, so they fit.
fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Where the rows of a copy are.
#[derive(Clone, Copy)]
enum Way {
    /// From the host.
    Write,
    /// To the host.
    Read,
    /// Within the device.
    Copy,
}

/// Rows that lie a pitch apart, at addresses of the kind that their way says.
struct Rows {
    to: u64,
    to_pitch: u64,
    from: u64,
    from_pitch: u64,
    width: u64,
    rows: u64,
}

impl Rows {
    /// Enqueues the copy in the form that the vendor has.
    ///
    /// # Safety
    /// All rows are inside what their addresses belong to, until the copy is over.
    unsafe fn enqueue(&self, calls: &Inside<'_>, stream: Object, way: Way) -> Result<(), Failure> {
        let flags = &calls.api.vendor.flags;
        let (to_pitch, from_pitch, width, rows) =
            (bytes(self.to_pitch), bytes(self.from_pitch), bytes(self.width), bytes(self.rows));
        if calls.copy_2d_async.is_none() {
            let [write, read, copy] = flags.ways;
            let way = match way {
                Way::Write => write,
                Way::Read => read,
                Way::Copy => copy,
            };
            // SAFETY: the caller's.
            return unsafe { calls.copy_rows_async(self.to, to_pitch, self.from, from_pitch, width, rows, way, stream.0) };
        }
        let (from_host, to_host) = (matches!(way, Way::Write), matches!(way, Way::Read));
        let kind = |host: bool| if host { flags.memory_host } else { flags.memory_device };
        let copy = Copy2d {
            from_x: 0,
            from_y: 0,
            from_kind: kind(from_host),
            from_host: std::ptr::with_exposed_provenance(if from_host { bytes(self.from) } else { 0 }),
            from_device: if from_host { 0 } else { self.from },
            from_array: std::ptr::null_mut(),
            from_pitch,
            to_x: 0,
            to_y: 0,
            to_kind: kind(to_host),
            to_host: std::ptr::with_exposed_provenance_mut(if to_host { bytes(self.to) } else { 0 }),
            to_device: if to_host { 0 } else { self.to },
            to_array: std::ptr::null_mut(),
            to_pitch,
            width,
            height: rows,
        };
        // SAFETY: the caller's.
        unsafe { calls.copy_2d_async(&copy, stream.0) }
    }
}

/// Copies rows within the device; one by one where the driver does not take their pitch.
pub(crate) fn rows(calls: &Inside<'_>, stream: Object, rows: &Move, most: u64) -> Result<(), Failure> {
    if rows.width == 0 || rows.rows == 0 {
        return Ok(());
    }
    let one = |row: u64, width: u64| {
        let (to, from) = (rows.to + row * rows.to_pitch, rows.from + row * rows.from_pitch);
        // SAFETY: the row is inside both regions.
        unsafe { calls.copy_async(to, from, bytes(width), stream.0) }
    };
    if rows.from_pitch == rows.width && rows.to_pitch == rows.width {
        return one(0, rows.width * rows.rows);
    }
    if rows.rows == 1 || rows.from_pitch.max(rows.to_pitch) > most || rows.from_pitch.min(rows.to_pitch) < rows.width {
        return (0..rows.rows).try_for_each(|row| one(row, rows.width));
    }
    let Move { to, to_pitch, from, from_pitch, width, rows } = *rows;
    // SAFETY: all rows are inside both regions.
    unsafe { Rows { to, to_pitch, from, from_pitch, width, rows }.enqueue(calls, stream, Way::Copy) }
}

/// Rows from a slice, where they lie one behind the other, to the device.
pub(crate) fn to_device(calls: &Inside<'_>, stream: Object, piece: &Piece, slice: Slice, most: u64) -> Result<(), Failure> {
    let from = |row: u64| slice.pointer().wrapping_add(bytes(row * piece.width)).cast_const().cast();
    if piece.rows > 1 && piece.pitch <= most && piece.pitch > piece.width {
        let (from, from_pitch) = (slice.pointer().expose_provenance() as u64, piece.width);
        let rows = Rows { to: piece.address, to_pitch: piece.pitch, from, from_pitch, width: piece.width, rows: piece.rows };
        // SAFETY: the slice has all rows, and they are inside the region.
        return unsafe { rows.enqueue(calls, stream, Way::Write) };
    }
    let (width, rows) = joined(piece);
    // SAFETY: as above.
    (0..rows)
        .try_for_each(|row| unsafe { calls.write_async(piece.address + row * piece.pitch, from(row), bytes(width), stream.0) })
}

/// Rows from the device to a slice, one behind the other.
pub(crate) fn to_host(calls: &Inside<'_>, stream: Object, piece: &Piece, slice: Slice, most: u64) -> Result<(), Failure> {
    let to = |row: u64| slice.pointer().wrapping_add(bytes(row * piece.width)).cast();
    if piece.rows > 1 && piece.pitch <= most && piece.pitch > piece.width {
        let (to, to_pitch) = (slice.pointer().expose_provenance() as u64, piece.width);
        let rows = Rows { to, to_pitch, from: piece.address, from_pitch: piece.pitch, width: piece.width, rows: piece.rows };
        // SAFETY: the slice has room for all rows, and they are inside the region.
        return unsafe { rows.enqueue(calls, stream, Way::Read) };
    }
    let (width, rows) = joined(piece);
    // SAFETY: as above.
    (0..rows).try_for_each(|row| unsafe { calls.read_async(to(row), piece.address + row * piece.pitch, bytes(width), stream.0) })
}

/// Width and number of rows; rows without gaps are one.
fn joined(piece: &Piece) -> (u64, u64) {
    if piece.pitch == piece.width { (piece.width * piece.rows, 1) } else { (piece.width, piece.rows) }
}

/// Puts the host's rows into a slice, one behind the other.
pub(crate) fn gather(slice: &Slice, from: &[u8], piece: &Piece, pitch: u64) -> Result<(), DeviceError> {
    for row in 0..piece.rows {
        let start = bytes(piece.host + row * pitch);
        let Some(line) = start.checked_add(bytes(piece.width)).and_then(|end| from.get(start..end)) else {
            return Err(DeviceError::Internal("rows outside the host's bytes".into()));
        };
        slice.put(bytes(row * piece.width), line);
    }
    Ok(())
}

/// A fill that the driver does by itself: elements, and then the bytes of one that is cut short.
pub(crate) struct Even<'a> {
    pub(crate) value: u32,
    /// Bytes of it: 1, 2 or 4.
    pub(crate) element: u32,
    pub(crate) count: usize,
    end: u64,
    pub(crate) rest: &'a [u8],
}

impl Even<'_> {
    /// The elements as a node of a graph.
    pub(crate) fn node(&self, to: u64) -> FillNode {
        FillNode { to, value: self.value, element: self.element, count: self.count }
    }

    /// The bytes behind them likewise.
    pub(crate) fn rest(&self) -> impl Iterator<Item = FillNode> {
        (self.end..).zip(self.rest).map(|(to, byte)| FillNode { to, value: (*byte).into(), element: 1, count: 1 })
    }
}

/// A fill of bytes as the driver does it; `None`: it cannot, with this pattern at this address.
pub(crate) fn even(to: u64, size: u64, pattern: &[u8]) -> Option<Even<'_>> {
    let first = pattern.first().copied()?;
    if pattern.iter().all(|byte| *byte == first) {
        return Some(Even { value: first.into(), element: 1, count: bytes(size), end: to + size, rest: &[] });
    }
    let (element, value) = match pattern {
        [low, high] => (2, u16::from_le_bytes([*low, *high]).into()),
        // Longer ones may repeat within themselves.
        [a, b, c, d, ..] if pattern.chunks(4).all(|word| word == [*a, *b, *c, *d]) => (4, u32::from_le_bytes([*a, *b, *c, *d])),
        _ => return None,
    };
    let step = u64::from(element);
    let rest = pattern.get(..bytes(size % step))?;
    to.is_multiple_of(step).then(|| Even { value, element, count: bytes(size / step), end: to + size / step * step, rest })
}

/// Fills where the driver can with this pattern at this address; false: it cannot, and nothing has happened.
pub(crate) fn fill(calls: &Inside<'_>, stream: Object, to: u64, size: u64, pattern: &[u8]) -> Result<bool, Failure> {
    if size == 0 {
        return Ok(true);
    }
    let Some(even) = even(to, size, pattern) else { return Ok(false) };
    let Even { value, element, count, .. } = even;
    let [low, high, ..] = value.to_le_bytes();
    if count > 0 {
        // SAFETY: inside the region, and aligned.
        unsafe {
            match element {
                1 => calls.fill_8_async(to, low, count, stream.0),
                2 => calls.fill_16_async(to, u16::from_le_bytes([low, high]), count, stream.0),
                _ => calls.fill_32_async(to, value, count, stream.0),
            }
        }?;
    }
    for (at, byte) in (even.end..).zip(even.rest) {
        // SAFETY: as above.
        unsafe { calls.fill_8_async(at, *byte, 1, stream.0) }?;
    }
    Ok(true)
}

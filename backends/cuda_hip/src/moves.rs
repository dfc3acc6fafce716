//! Copies and fills as calls of the driver. Nothing is kept.

use compute_hal::DeviceError;

use crate::api::{Inside, Object};
use crate::driver::{Copy2d, Failure};
use crate::lane::Piece;
use crate::op::Move;
use crate::staging::Slice;

/// Sizes are within a block, which the driver allocated, so they fit.
fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

fn blank(calls: &Inside<'_>) -> Copy2d {
    let device = calls.api.vendor.flags.memory_device;
    let none = std::ptr::null_mut();
    Copy2d {
        from_x: 0,
        from_y: 0,
        from_kind: device,
        from_host: none,
        from_device: 0,
        from_array: none,
        from_pitch: 0,
        to_x: 0,
        to_y: 0,
        to_kind: device,
        to_host: none,
        to_device: 0,
        to_array: none,
        to_pitch: 0,
        width: 0,
        height: 0,
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
    let copy = Copy2d {
        from_device: rows.from,
        from_pitch: bytes(rows.from_pitch),
        to_device: rows.to,
        to_pitch: bytes(rows.to_pitch),
        width: bytes(rows.width),
        height: bytes(rows.rows),
        ..blank(calls)
    };
    // SAFETY: all rows are inside both regions.
    unsafe { calls.copy_2d_async(&copy, stream.0) }
}

/// Rows from a slice, where they lie one behind the other, to the device.
pub(crate) fn to_device(calls: &Inside<'_>, stream: Object, piece: &Piece, slice: Slice, most: u64) -> Result<(), Failure> {
    let from = |row: u64| slice.pointer().wrapping_add(bytes(row * piece.width)).cast_const().cast();
    if piece.rows > 1 && piece.pitch <= most && piece.pitch > piece.width {
        let copy = Copy2d {
            from_kind: calls.api.vendor.flags.memory_host,
            from_host: from(0),
            from_pitch: bytes(piece.width),
            to_device: piece.address,
            to_pitch: bytes(piece.pitch),
            width: bytes(piece.width),
            height: bytes(piece.rows),
            ..blank(calls)
        };
        // SAFETY: the slice has all rows, and they are inside the region.
        return unsafe { calls.copy_2d_async(&copy, stream.0) };
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
        let copy = Copy2d {
            from_device: piece.address,
            from_pitch: bytes(piece.pitch),
            to_kind: calls.api.vendor.flags.memory_host,
            to_host: to(0),
            to_pitch: bytes(piece.width),
            width: bytes(piece.width),
            height: bytes(piece.rows),
            ..blank(calls)
        };
        // SAFETY: the slice has room for all rows, and they are inside the region.
        return unsafe { calls.copy_2d_async(&copy, stream.0) };
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

/// Fills where the driver can with this pattern at this address; false: it cannot, and nothing has happened.
pub(crate) fn fill(calls: &Inside<'_>, stream: Object, to: u64, size: u64, pattern: &[u8]) -> Result<bool, Failure> {
    if size == 0 {
        return Ok(true);
    }
    let Some(first) = pattern.first().copied() else { return Ok(false) };
    if pattern.iter().all(|byte| *byte == first) {
        // SAFETY: inside the region.
        return unsafe { calls.fill_8_async(to, first, bytes(size), stream.0) }.map(|()| true);
    }
    let step = match pattern.len() {
        2 => 2,
        // Longer ones may repeat within themselves.
        _ if pattern.chunks(4).all(|word| word == pattern.get(..4).unwrap_or_default()) => 4,
        _ => return Ok(false),
    };
    if !to.is_multiple_of(step) {
        return Ok(false);
    }
    let (count, end) = (bytes(size / step), to + size / step * step);
    let word = pattern.get(..4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes);
    let half = pattern.get(..2).and_then(|half| half.try_into().ok()).map_or(0, u16::from_le_bytes);
    if count > 0 {
        // SAFETY: inside the region, and aligned.
        unsafe {
            if step == 2 {
                calls.fill_16_async(to, half, count, stream.0)?;
            } else {
                calls.fill_32_async(to, word, count, stream.0)?;
            }
        }
    }
    for (at, byte) in (end..to + size).zip(pattern) {
        // SAFETY: as above.
        unsafe { calls.fill_8_async(at, *byte, 1, stream.0) }?;
    }
    Ok(true)
}

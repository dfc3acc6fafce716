//! Blocks, and moving bytes in, out and between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bench::{Bench, ensure, part, pattern, same, whole};
use super::{Failed, Outcome, Subject};
use crate::{DeviceError, Foreign, HostRows, HostSource, HostTarget, ImportRefusal, NativeKind, Pitched};

/// Around the sizes at which devices change their ways.
const SIZES: [u64; 8] = [1, 3, 256, 4096, 65_536, 65_537, 1 << 20, (4 << 20) + 5];

pub(super) fn m7_what_was_written_is_read_back(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for size in SIZES {
        let bytes = pattern(size, size);
        let block = bench.block(&bytes)?;
        same(&bench.read(block)?, &bytes, &format!("{size} bytes"))?;
        bench.device.free(block.memory);
    }
    Ok(())
}

pub(super) fn m7_a_write_has_copied_its_bytes_when_it_returns(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for size in SIZES {
        let block = bench.block(&pattern(size, 1))?;
        // Work ahead, so that the write is likely to be queued.
        for _ in 0..20 {
            bench.queue.fill(bench.at(), block, &[1])?;
        }
        let (mut bytes, expected) = (pattern(size, 2), pattern(size, 2));
        bench.queue.write(bench.at(), block, &bytes)?;
        bytes.fill(0xDD);
        same(&bench.read(block)?, &expected, &format!("{size} bytes"))?;
        bench.device.free(block.memory);
    }
    Ok(())
}

pub(super) fn m7_a_borrowed_write_arrives(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for size in SIZES {
        let (block, bytes) = (bench.block(&pattern(size, 3))?, pattern(size, 4));
        // SAFETY: `bytes` is neither changed nor dropped before the read below has waited for later work.
        let source = unsafe { HostSource::new(bytes.as_ptr(), bytes.len()) };
        bench.queue.write_borrowed(bench.at(), block, source)?;
        let read = bench.read(block);
        if read.is_err() {
            // The device may still read there.
            std::mem::forget(bytes);
            return read.map(drop);
        }
        same(&read?, &bytes, &format!("{size} bytes"))?;
        bench.device.free(block.memory);
    }
    Ok(())
}

pub(super) fn m7_a_read_lands_in_staging_memory_that_is_held_until_it_is_over(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for size in SIZES {
        let (bytes, room) = (pattern(size, 8), usize::try_from(size).unwrap_or(usize::MAX));
        let block = bench.block(&bytes)?;
        let piece = bench.device.allocate_staging(room.next_power_of_two())?;
        ensure!(piece.size() >= room, "{} bytes of staging memory for {room}", piece.size());
        let lease = Arc::new(());
        let told = Arc::downgrade(&lease);
        let lent = piece.lend(room, lease).ok_or_else(|| Failed("staging memory that cannot be lent".into()))?;
        let at = bench.at();
        bench.queue.read(at, block, lent.clone())?;
        bench.wait()?;
        // SAFETY: `lent` keeps the memory, and the read is over.
        let landed = unsafe { std::slice::from_raw_parts(lent.pointer(), room) };
        same(landed, &bytes, &format!("{size} bytes"))?;
        ensure!(told.strong_count() > 0, "the lease ended before its memory was given back");
        drop(lent);
        // Whoever finished the read may be about to let go of its clone.
        let patience = Instant::now() + Duration::from_secs(5);
        while told.strong_count() > 0 && Instant::now() < patience {
            std::thread::yield_now();
        }
        ensure!(told.strong_count() == 0, "the device kept staging memory after its read");
        bench.device.free(block.memory);
    }
    Ok(())
}

pub(super) fn tx01_copies_of_odd_sizes_and_offsets_touch_nothing_else(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let (source, size) = (pattern(100_000, 5), 100_000);
    let from = bench.block(&source)?;
    for (offset, to_offset, length) in [(0, 0, 1), (1, 2, 3), (5, 7, 4097), (0, 4, 65_536), (3, 1, 99_001)] {
        let mut expected = pattern(size, 6);
        let to = bench.block(&expected)?;
        bench.queue.copy(bench.at(), part(from, offset, length), part(to, to_offset, length))?;
        replace(&mut expected, to_offset, source.iter().skip(offset as usize).take(length as usize))?;
        same(&bench.read(to)?, &expected, &format!("{length} bytes from {offset} to {to_offset}"))?;
        // And within one block.
        bench.queue.copy(bench.at(), part(to, 0, 1001), part(to, 50_001, 1001))?;
        let head: Vec<u8> = expected.iter().take(1001).copied().collect();
        replace(&mut expected, 50_001, head.iter())?;
        same(&bench.read(to)?, &expected, "a copy within one block")?;
        bench.device.free(to.memory);
    }
    Ok(())
}

fn replace<'a>(bytes: &mut [u8], at: u64, with: impl Iterator<Item = &'a u8>) -> Outcome {
    let at = usize::try_from(at).map_err(|_| Failed("offset".into()))?;
    bytes.iter_mut().skip(at).zip(with).for_each(|(to, from)| *to = *from);
    Ok(())
}

pub(super) fn m7_fills_repeat_patterns_of_every_size(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for size in [1_u64, 16, 1000, 65_539, (4 << 20) + 3] {
        for length in [1, 2, 4, 8, 16] {
            let mut expected = pattern(size + 7, 7);
            let block = bench.block(&expected)?;
            let motif: Vec<u8> = (0..length).map(|n| 200 - n).collect();
            bench.queue.fill(bench.at(), part(block, 4, size), &motif)?;
            let length = usize::try_from(size).map_err(|_| Failed("size".into()))?;
            replace(&mut expected, 4, motif.iter().cycle().take(length))?;
            same(&bench.read(block)?, &expected, &format!("{size} bytes of a pattern of {}", motif.len()))?;
            bench.device.free(block.memory);
        }
    }
    Ok(())
}

/// Width, rows, pitch, pitch of the other side; around the sizes at which devices change their ways.
const ROWS: [(u64, u64, u64, u64); 8] = [
    (100, 37, 128, 300),
    (1, 1000, 3, 2),
    (4, 3000, 4, 12),
    (8, 1, 0, 0),
    (16, 500, 64, 16),
    (333, 9001, 400, 1024),
    (70_000, 40, 70_001, 80_000),
    (0, 5, 8, 8),
];

fn span(width: u64, rows: u64, pitch: u64) -> u64 {
    (rows - 1) * pitch + width
}

/// The bytes of `to` after the rows of `from` were moved there.
fn move_rows(from: &[u8], to: &mut [u8], width: u64, rows: u64, pitches: [u64; 2], starts: [u64; 2]) -> Outcome {
    for row in 0..rows {
        let [start, to_start] = [0, 1].map(|end: usize| starts[end] + row * pitches[end]);
        let length = usize::try_from(width).map_err(|_| Failed("width".into()))?;
        replace(to, to_start, from.iter().skip(start as usize).take(length))?;
    }
    Ok(())
}

pub(super) fn m3_rows_are_copied_between_different_pitches(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().pitched {
        return Ok(());
    }
    for (width, rows, from_pitch, to_pitch) in ROWS {
        let (from_size, to_size) = (span(width, rows, from_pitch), span(width, rows, to_pitch));
        let source = pattern(from_size + 8, 8);
        let mut expected = pattern(to_size + 16, 9);
        let (from, to) = (bench.block(&source)?, bench.block(&expected)?);
        let copy = Pitched { from: part(from, 4, from_size), to: part(to, 8, to_size), width, rows, from_pitch, to_pitch };
        bench.queue.copy_2d(bench.at(), &copy)?;
        move_rows(&source, &mut expected, width, rows, [from_pitch, to_pitch], [4, 8])?;
        same(&bench.read(to)?, &expected, &format!("{rows} rows of {width} bytes"))?;
        bench.device.free(from.memory);
        bench.device.free(to.memory);
    }
    Ok(())
}

pub(super) fn m3_rows_come_from_the_host_and_go_there_at_any_pitch(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().pitched {
        return Ok(());
    }
    for (width, rows, pitch, host_pitch) in ROWS {
        let (size, host_size) = (span(width, rows, pitch), span(width, rows, host_pitch));
        let mut expected = pattern(size + 16, 10);
        let block = bench.block(&expected)?;
        let moved = HostRows { region: part(block, 8, size), width, rows, pitch, host_pitch };
        for busy in [false, true] {
            if busy {
                // Work ahead, so that the write is likely to be queued.
                for _ in 0..20 {
                    bench.queue.fill(bench.at(), part(block, 0, 4), &[1])?;
                }
                replace(&mut expected, 0, [1; 4].iter())?;
            }
            let mut bytes = pattern(host_size, if busy { 12 } else { 11 });
            move_rows(&bytes, &mut expected, width, rows, [host_pitch, pitch], [0, 8])?;
            bench.queue.write_2d(bench.at(), &moved, &bytes)?;
            bytes.fill(0xDD);
            same(&bench.read(block)?, &expected, &format!("{rows} rows of {width} bytes written"))?;
            let bytes = pattern(host_size, if busy { 14 } else { 13 });
            move_rows(&bytes, &mut expected, width, rows, [host_pitch, pitch], [0, 8])?;
            // SAFETY: `bytes` is neither changed nor dropped before the read below has waited.
            bench.queue.write_borrowed_2d(bench.at(), &moved, unsafe { HostSource::new(bytes.as_ptr(), bytes.len()) })?;
            let read = bench.read(block);
            if read.is_err() {
                // The device may still read there.
                std::mem::forget(bytes);
                return read.map(drop);
            }
            same(&read?, &expected, &format!("{rows} rows of {width} borrowed bytes written"))?;
        }
        let mut wanted = vec![0xEE; usize::try_from(host_size).map_err(|_| Failed("size".into()))?];
        let mut got = wanted.clone();
        move_rows(&expected, &mut wanted, width, rows, [pitch, host_pitch], [8, 0])?;
        // SAFETY: `got` is neither touched nor dropped before the wait is over.
        let into = unsafe { HostTarget::new(got.as_mut_ptr(), got.len()) };
        bench.queue.read_2d(bench.at(), &moved, into)?;
        let waited = bench.wait();
        if waited.is_err() {
            // The device may still write there.
            std::mem::forget(got);
            return waited;
        }
        same(&got, &wanted, &format!("{rows} rows of {width} bytes read"))?;
        bench.device.free(block.memory);
    }
    Ok(())
}

pub(super) fn m2_too_big_for_ever_is_told_from_out_of_memory(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let limit = bench.device.limits().allocation_size;
    if let Some(beyond) = limit.checked_add(1) {
        let answer = bench.device.allocate(beyond);
        ensure!(
            matches!(answer, Err(DeviceError::TooLarge { asked, .. }) if asked == beyond),
            "one byte above the limit: {answer:?}"
        );
    }
    match bench.device.allocate(limit) {
        Ok(memory) => bench.device.free(memory),
        Err(DeviceError::OutOfMemory { .. }) => {}
        Err(other) => return Err(other.into()),
    }
    let block = bench.block(&[1, 2, 3])?;
    same(&bench.read(block)?, &[1, 2, 3], "a block after a refusal")
}

pub(super) fn mem07_memory_given_back_can_be_had_again(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    // Together far more than any machine has.
    let size = 256 << 20;
    for round in 0..2000 {
        let memory = bench.device.allocate(size)?;
        if round % 500 == 0 {
            bench.queue.fill(bench.at(), part(whole(memory, size), size - 64, 64), &[7])?;
            bench.wait()?;
        }
        bench.device.free(memory);
    }
    Ok(())
}

pub(super) fn blocks_are_aligned(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().host_visible {
        return Ok(());
    }
    for size in 1..300 {
        let address = bench.device.map(bench.device.allocate(size)?)?.pointer().addr();
        ensure!(address.is_multiple_of(256), "a block of {size} bytes at {address:#x}");
    }
    Ok(())
}

pub(super) fn a_mapped_block_shows_what_the_queue_did(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let block = bench.block(&[9; 64])?;
    bench.wait()?;
    let mapped = bench.device.map(block.memory);
    if !bench.device.capabilities().host_visible {
        ensure!(matches!(mapped, Err(DeviceError::Unsupported(_))), "mapped although not host-visible: {mapped:?}");
        return Ok(());
    }
    let mapped = mapped?;
    ensure!(mapped.size() >= 64, "{} bytes of 64 are mapped", mapped.size());
    // SAFETY: the block is alive, that large, and nothing on it is in flight.
    let bytes = unsafe { std::slice::from_raw_parts_mut(mapped.pointer(), 64) };
    same(bytes, &[9; 64], "what was written by the queue")?;
    bytes.fill(8);
    same(&bench.read(block)?, &[8; 64], "what was written through the mapping")
}

fn already_owned(bench: &Bench, handle: u64, offset: u64, size: u64) -> Outcome {
    let foreign = Foreign { kind: bench.device.native_kind(), handle, offset, size };
    match bench.device.import(&foreign) {
        Err(DeviceError::NotImportable { reason: ImportRefusal::AlreadyOwned, .. } | DeviceError::Unsupported(_)) => Ok(()),
        other => Err(Failed(format!("{size} bytes at offset {offset} of what is the library's: {other:?}"))),
    }
}

pub(super) fn t14_memory_of_the_library_s_is_not_imported(subject: &Subject<'_>) -> Outcome {
    let (bench, beside) = (Bench::new(subject)?, Bench::new(subject)?);
    for size in [256_u64, 1 << 20, 5 << 20] {
        let block = bench.block(&pattern(size, 9))?;
        let handle = match bench.device.export(block.memory) {
            Ok(handle) => handle,
            Err(DeviceError::Unsupported(_)) => return Ok(()),
            Err(other) => return Err(other.into()),
        };
        for (offset, length) in [(0, size), (0, 4), (size - 16, 16), (64, 64)] {
            already_owned(&bench, handle, offset, length)?;
        }
        // Names of another API's objects mean nothing on another device.
        if bench.device.native_kind() != NativeKind::VulkanBuffer {
            already_owned(&beside, handle, 16, 16)?;
        }
        same(&bench.read(block)?, &pattern(size, 9), "after it was refused")?;
        bench.device.free(block.memory);
    }
    Ok(())
}

pub(super) fn t14_imported_memory_of_the_host_s_is_worked_on_in_place(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if bench.device.native_kind() != NativeKind::Address {
        return Ok(());
    }
    let mut own = vec![[7_u64; 2]; 64];
    let handle = own.as_mut_ptr().expose_provenance() as u64;
    let foreign = Foreign { kind: NativeKind::Address, handle, offset: 16, size: 512 };
    for _ in 0..2 {
        let region = bench.device.import(&foreign)?;
        already_owned(&bench, handle, 0, 32)?;
        bench.queue.fill(bench.at(), part(region, 16, 32), &[1, 2])?;
        let mut expected = [7_u8, 0, 0, 0, 0, 0, 0, 0].repeat(64);
        replace(&mut expected, 16, [1_u8, 2].repeat(16).iter())?;
        same(&bench.read(region)?, &expected, "imported memory")?;
        bench.device.free(region.memory);
        let zeros = own.iter().flatten().filter(|word| **word == 7).count();
        ensure!(zeros == 124, "{zeros} of 124 words are left alone");
        own.fill([7; 2]);
    }
    Ok(())
}

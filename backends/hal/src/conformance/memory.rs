//! Blocks, and moving bytes in, out and between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bench::{Bench, ensure, part, pattern, same, whole};
use super::{Failed, Outcome, Subject};
use crate::{DeviceError, HostSource, Pitched};

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
        same(&bench.read(block)?, &bytes, &format!("{size} bytes"))?;
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

pub(super) fn m3_rows_are_copied_between_different_pitches(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let (width, rows, from_pitch, to_pitch) = (100_u64, 37_u64, 128, 300);
    let source = pattern(rows * from_pitch, 8);
    let mut expected = pattern(rows * to_pitch + 8, 9);
    let (from, to) = (bench.block(&source)?, bench.block(&expected)?);
    let spread = |pitch| (rows - 1) * pitch + width;
    let copy =
        Pitched { from: part(from, 4, spread(from_pitch)), to: part(to, 8, spread(to_pitch)), width, rows, from_pitch, to_pitch };
    bench.queue.copy_2d(bench.at(), &copy)?;
    for row in 0..rows {
        let start = usize::try_from(4 + row * from_pitch).map_err(|_| Failed("offset".into()))?;
        replace(&mut expected, 8 + row * to_pitch, source.iter().skip(start).take(100))?;
    }
    same(&bench.read(to)?, &expected, "rows")
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

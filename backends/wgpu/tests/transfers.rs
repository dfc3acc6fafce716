//! Bytes in, out and about, where wgpu has rules of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "ends at the first thing that is wrong"
)]

mod common;

use common::{Bench, pattern};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::{Binding, Grid, HostTarget, Launch, Pitched, Region};
use compute_wgpu::{StagingWgpuDriver, WgpuDriver};

fn part(of: Region, offset: u64, size: u64) -> Region {
    Region { offset: of.offset + offset, size, ..of }
}

/// Runs a test on every adapter, with memory that it shares with the host if it has such, and without.
fn everywhere(test: impl Fn(&mut Bench)) {
    for (index, name) in common::adapters() {
        eprintln!("on {name}");
        test(&mut Bench::open(&WgpuDriver, index));
        test(&mut Bench::open(&StagingWgpuDriver, index));
    }
}

#[test]
fn tx01_every_small_offset_and_size_is_written_copied_filled_and_read_exactly() {
    everywhere(|bench| {
        for offset in 0..8 {
            for size in 0..10 {
                let (mut a, mut b) = (vec![0xAA; 64], vec![0xBB; 64]);
                let (here, there) = (bench.block(&a), bench.block(&b));
                let bytes = pattern(size, offset + 3);
                let at = bench.at();
                bench.queue.write(at, part(here, offset + 8, size), &bytes).unwrap();
                a[offset as usize + 8..][..size as usize].copy_from_slice(&bytes);
                for to in 0..8 {
                    let at = bench.at();
                    bench.queue.copy(at, part(here, offset + 8, size), part(there, to + 16, size)).unwrap();
                    b[to as usize + 16..][..size as usize].copy_from_slice(&bytes);
                    // And within the block.
                    let at = bench.at();
                    bench.queue.copy(at, part(here, offset + 8, size), part(here, to + 40, size)).unwrap();
                    a[to as usize + 40..][..size as usize].copy_from_slice(&bytes);
                }
                let at = bench.at();
                bench.queue.fill(at, part(there, offset + 48, size), &[1, 2]).unwrap();
                (0..size as usize).for_each(|n| b[offset as usize + 48 + n] = 1 + (n % 2) as u8);
                assert_eq!(bench.read(here), a, "{size} bytes at {offset}");
                assert_eq!(bench.read(there), b, "{size} bytes at {offset}");
                assert_eq!(bench.read(part(here, offset + 8, size)), bytes);
            }
        }
    });
}

#[test]
fn m3_rows_that_share_words_with_their_neighbours_keep_apart() {
    everywhere(|bench| {
        for (width, from_pitch, to_pitch, start) in
            [(1, 1, 2, 0), (3, 5, 5, 1), (5, 6, 7, 3), (7, 9, 7, 2), (4, 4, 5, 1), (64, 71, 65, 6)]
        {
            let rows = 29;
            let (source, mut expected) = (pattern(4096, 1), pattern(4096, 2));
            let (from, to) = (bench.block(&source), bench.block(&expected));
            let spread = |pitch: u64| (rows - 1) * pitch + width;
            let copy = Pitched {
                from: part(from, 3, spread(from_pitch)),
                to: part(to, start, spread(to_pitch)),
                width,
                rows,
                from_pitch,
                to_pitch,
            };
            let at = bench.at();
            bench.queue.copy_2d(at, &copy).unwrap();
            for row in 0..rows {
                let (a, b) = ((3 + row * from_pitch) as usize, (start + row * to_pitch) as usize);
                expected[b..b + width as usize].copy_from_slice(&source[a..a + width as usize]);
            }
            assert!(bench.read(to) == expected, "rows of {width} from {from_pitch} to {to_pitch}");
        }
    });
}

#[test]
fn transfers_larger_than_their_chunks_arrive_whole() {
    everywhere(|bench| {
        // More than all memory for writes, and several chunks of reads.
        let bytes = pattern((70 << 20) + 5, 9);
        let block = bench.block(&bytes);
        assert!(bench.read(block) == bytes);
        let other = bench.block(&[0; 1 << 20]);
        let at = bench.at();
        bench.queue.copy(at, part(block, (64 << 20) + 1, 1 << 20), other).unwrap();
        assert!(bench.read(other) == bytes[(64 << 20) + 1..][..1 << 20]);
    });
}

#[test]
fn l9_slices_of_one_block_are_input_and_output_of_one_launch() {
    everywhere(|bench| {
        let source = "@group(3) @binding(7) var<storage, read> a: array<u32>;
            @group(1) @binding(2) var<storage, read_write> o: array<u32>;
            var<immediate> add: vec2<u32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) { o[g.x] = a[g.x] + add.y; }";
        let kernel = bench.compile(source, Bounds::Checked).unwrap();
        let words: Vec<u8> = (0..256_u32).flat_map(u32::to_le_bytes).collect();
        let block = bench.block(&words);
        // Bindings in the order of group and slot: o, then a.
        let bindings = [Binding::Buffer(part(block, 512, 256)), Binding::Buffer(part(block, 0, 256))];
        let immediates = [0, 0, 0, 0, 0xe8, 3, 0, 0];
        let launch =
            Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings: &bindings, immediates: &immediates, time_limit: 0 };
        let at = bench.at();
        bench.queue.launch(at, &launch).unwrap();
        let mut expected = words;
        for n in 0..64_u32 {
            expected[512 + n as usize * 4..][..4].copy_from_slice(&(n + 1000).to_le_bytes());
        }
        assert_eq!(bench.read(block), expected);
    });
}

#[test]
fn l8_what_the_host_does_in_shared_memory_comes_behind_the_work_that_uses_it() {
    everywhere(|bench| {
        let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
            @compute @workgroup_size(1) fn main() { for (var i = 0u; i < 20000u; i++) { o[0] = o[0] + 1u; } }";
        let kernel = bench.compile(source, Bounds::Checked).unwrap();
        for (wait, first) in [(false, 20_000_u32), (true, 20_000)] {
            let block = bench.block(&0_u32.to_le_bytes());
            let bindings = [Binding::Buffer(block)];
            let at = bench.at();
            let grid = Grid::Direct([1, 1, 1]);
            bench.queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
            if wait {
                assert_eq!(bench.queue.wait(at, None).unwrap(), compute_hal::Waited::Done);
            }
            let seen = HostTarget::staging(4).unwrap();
            let at = bench.at();
            bench.queue.read(at, block, seen.clone()).unwrap();
            let at = bench.at();
            bench.queue.write(at, block, &7_u32.to_le_bytes()).unwrap();
            let at = bench.at();
            bench.queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
            let at = bench.at();
            bench.queue.fill(at, part(block, 0, 1), &[1]).unwrap();
            let last = bench.read(block);
            // SAFETY: the staging memory is 4 bytes, and the read is over.
            let seen = unsafe { std::slice::from_raw_parts(seen.pointer(), 4) };
            assert_eq!(seen, first.to_le_bytes());
            assert_eq!(last, [&[1], &(7 + first).to_le_bytes()[1..]].concat());
        }
    });
}

//! Memory that writes take. It is the process's that is measured, so that this test is alone in its program: others would be counted, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{Bench, pattern};
use compute_wgpu::{StagingWgpuDriver, WgpuDriver};

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn mem09_writes_without_a_wait_use_bounded_memory() {
    let bounded = |bench: &mut Bench| {
        let size = 64 << 10;
        let block = bench.block(&pattern(size, 0));
        let (mut bytes, before) = (pattern(size, 1), resident());
        for n in 0..100_000_u32 {
            bytes[..4].copy_from_slice(&n.to_le_bytes());
            let at = bench.at();
            bench.queue.write(at, block, &bytes).unwrap();
        }
        assert!(bench.read(block) == bytes);
        let grown = resident().saturating_sub(before);
        assert!(grown < 256 << 20, "6 GiB of writes grew the process by {grown} bytes");
    };
    for (index, name) in common::adapters() {
        eprintln!("on {name}");
        bounded(&mut Bench::open(&WgpuDriver, index));
        bounded(&mut Bench::open(&StagingWgpuDriver, index));
    }
}

//! Memory that work ahead of the device takes. It is the process's that is measured, so that these tests run one at a time, and alone in their program: others would be
//! counted, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Bench, pattern};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::{Binding, Grid, HostTarget, Launch, Waited};
use compute_wgpu::{StagingWgpuDriver, WgpuDriver};

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// The most resident memory that this process had since it was last asked to forget that.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

#[test]
fn mem09_writes_without_a_wait_use_bounded_memory() {
    let _alone = alone();
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

/// Turns of one invocation stay below 65,535, at which Mesa's software driver leaves a loop.
const SLOW: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
    @group(0) @binding(1) var<uniform> u: array<vec4<u32>, 4096>;
    @compute @workgroup_size(1) fn slow(@builtin(workgroup_id) id: vec3<u32>) {
        var x = id.x;
        for (var n = 0u; n < 60000u; n++) { x = x * 1664525u + 1013904223u; }
        if x == 0xffffffffu { o[0] = x; }
        o[1] = u[4095].w;
    }";

#[test]
fn mem09_launches_without_a_wait_use_bounded_memory() {
    let _alone = alone();
    for (index, name) in common::adapters() {
        eprintln!("on {name}");
        let mut bench = Bench::open(&WgpuDriver, index);
        let (block, kernel) = (bench.block(&[0; 64]), bench.compile(SLOW, Bounds::Checked).unwrap());
        let mut uniform = vec![0_u8; 64 << 10];
        let before = resident();
        let mut most = 0;
        for n in 0..6000_u32 {
            uniform[65_532..].copy_from_slice(&n.to_le_bytes());
            let (at, bindings) = (bench.at(), [Binding::Buffer(block), Binding::Inline(&uniform)]);
            let grid = Grid::Direct([4, 1, 1]);
            bench.queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
            if n % 100 == 0 {
                most = most.max(resident().saturating_sub(before));
            }
        }
        assert_eq!(bench.read(block)[4..8], 5999_u32.to_le_bytes());
        assert!(most < 128 << 20, "375 MiB of uniform bytes grew the process by {most} bytes");
    }
}

#[test]
fn mem09_reads_use_bounded_memory() {
    let _alone = alone();
    for (index, name) in common::adapters() {
        eprintln!("on {name}");
        let size = 256 << 20;
        let mut bench = Bench::open(&StagingWgpuDriver, index);
        let block = bench.block(&pattern(size, 3));
        assert_eq!(bench.queue.wait(bench.last, None).unwrap(), Waited::Done);
        let target = HostTarget::staging(usize::try_from(size).unwrap()).unwrap();
        // SAFETY: nobody else has the memory yet.
        unsafe { target.pointer().write_bytes(1, target.size()) };
        forget_peak();
        let before = peak();
        let at = bench.at();
        bench.queue.read(at, block, target.clone()).unwrap();
        assert_eq!(bench.queue.wait(at, None).unwrap(), Waited::Done);
        let grown = peak().saturating_sub(before);
        assert!(grown < 128 << 20, "a read of {size} bytes grew the process by {grown} bytes");
        let few = pattern(4096, 3);
        target.look(|bytes| assert!(bytes[..4096] == few && bytes.len() as u64 == size));
        // Many that each fit a chunk.
        forget_peak();
        let before = peak();
        for n in 0..32 {
            let (at, part) = (bench.at(), compute_hal::Region { offset: n << 23, size: 1 << 23, ..block });
            bench.queue.read(at, part, target.part(n << 23, 1 << 23).unwrap()).unwrap();
        }
        assert_eq!(bench.queue.wait(bench.last, None).unwrap(), Waited::Done);
        let grown = peak().saturating_sub(before);
        assert!(grown < 128 << 20, "32 reads of 8 MiB grew the process by {grown} bytes");
        let all = pattern(size, 3);
        target.look(|bytes| assert!(bytes == all));
    }
}

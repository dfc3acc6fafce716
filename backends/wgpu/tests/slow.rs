//! What other threads may do while the device is busy and one of them waits for it. Software drivers are so fast that these calls hardly ever meet work under way
//! by themselves, so there is a kernel here that takes its time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::Bench;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::{Binding, Grid, HostTarget, KernelId, Launch, Queue, Region, Waited};
use compute_wgpu::{StagingWgpuDriver, WgpuDriver};

/// Turns of one invocation stay below 65,535, at which Mesa's software driver leaves a loop.
const SLOW: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
    @compute @workgroup_size(1) fn slow(@builtin(workgroup_id) id: vec3<u32>) {
        var x = id.x;
        for (var n = 0u; n < 60000u; n++) { x = x * 1664525u + 1013904223u; }
        if x == 0xffffffffu { o[0] = x; }
    }";
/// 64 KiB of uniform bytes.
const WIDE: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
    @group(0) @binding(1) var<uniform> u: array<vec4<u32>, 4096>;
    @compute @workgroup_size(1) fn wide() { o[0] = u[4095].w; }";
const SMALL: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
    @compute @workgroup_size(1) fn small() { o[1] = o[1] + 1u; }";
/// How long slow work is to take at least: many times what a call takes on a machine with other work.
const LONG: Duration = Duration::from_millis(800);

/// A device with a kernel of which `turns` launches take long.
struct Slow {
    bench: Bench,
    block: Region,
    kernel: KernelId,
    turns: u32,
}

impl Slow {
    fn new(driver: &dyn compute_hal::Driver, index: u32) -> Self {
        let mut bench = Bench::open(driver, index);
        let (block, kernel) = (bench.block(&[0; 64]), bench.compile(SLOW, Bounds::Checked).unwrap());
        let mut slow = Self { bench, block, kernel, turns: 1 };
        loop {
            let start = Instant::now();
            let at = slow.launch();
            assert_eq!(slow.bench.queue.wait(at, None).unwrap(), Waited::Done);
            if start.elapsed() > LONG {
                return slow;
            }
            slow.turns *= 2;
        }
    }

    /// Sends the slow work; its position.
    fn launch(&mut self) -> u64 {
        for _ in 0..self.turns {
            let (at, bindings) = (self.bench.at(), [Binding::Buffer(self.block)]);
            self.bench.queue.launch(at, &launch(self.kernel, &bindings, 500)).unwrap();
        }
        self.bench.queue.submit().unwrap();
        self.bench.last
    }
}

fn launch<'a>(kernel: KernelId, bindings: &'a [Binding<'a>], groups: u32) -> Launch<'a> {
    Launch { kernel, grid: Grid::Direct([groups, 1, 1]), bindings, immediates: &[], time_limit: 0 }
}

fn everywhere(test: impl Fn(&mut Slow)) {
    for (index, name) in common::adapters() {
        eprintln!("testing {name}");
        test(&mut Slow::new(&WgpuDriver, index));
        test(&mut Slow::new(&StagingWgpuDriver, index));
    }
}

/// Everything that a thread does beside one that waits. None of it may take until the work that is waited for is over.
fn others_go_on(slow: &mut Slow) {
    let small = slow.bench.compile(SMALL, Bounds::Checked).unwrap();
    let at = slow.launch();
    let queue = Arc::clone(&slow.bench.queue);
    let waiter = std::thread::spawn(move || queue.wait(at, None).unwrap());
    std::thread::sleep(Duration::from_millis(50));
    let bench = &mut slow.bench;
    let under_way =
        |bench: &Bench, what: &str| assert!(bench.queue.completed() < at, "{what} took until the other's work was over");
    assert_eq!(bench.queue.wait(at, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    under_way(bench, "a look");
    assert_eq!(bench.queue.wait(at, Some(Duration::from_millis(5))).unwrap(), Waited::TimedOut);
    under_way(bench, "a short wait");
    let block = bench.block(&[1, 0, 0, 0, 2, 0, 0, 0]);
    under_way(bench, "memory and a write");
    let bindings = [Binding::Buffer(block)];
    for _ in 0..100 {
        let at = bench.at();
        bench.queue.launch(at, &launch(small, &bindings, 1)).unwrap();
        bench.queue.submit().unwrap();
    }
    under_way(bench, "launches");
    let target = HostTarget::staging(8).unwrap();
    let read = bench.at();
    bench.queue.read(read, block, target.clone()).unwrap();
    under_way(bench, "a read that nobody waits for");
    let another = bench.compile(SMALL, Bounds::Unchecked).unwrap();
    bench.device.drop_kernel(another);
    let gone = bench.block(&[0; 64]);
    bench.device.free(gone.memory);
    under_way(bench, "a kernel and memory that come and go");
    assert_eq!(waiter.join().unwrap(), Waited::Done);
    assert_eq!(bench.queue.wait(read, None).unwrap(), Waited::Done);
    // SAFETY: the staging memory is 8 bytes, and the read is over.
    assert_eq!(unsafe { std::slice::from_raw_parts(target.pointer(), 8) }, [1, 0, 0, 0, 102, 0, 0, 0]);
    assert!(bench.queue.take_late().is_empty());
}

#[test]
fn thr_01_a_thread_that_waits_for_long_work_holds_up_no_other() {
    everywhere(others_go_on);
}

#[test]
fn thr_01_nor_does_it_when_more_uniform_bytes_were_in_use_than_are_kept() {
    everywhere(|slow| {
        let wide = slow.bench.compile(WIDE, Bounds::Checked).unwrap();
        // All of it in batches that are under way at once.
        slow.launch();
        let (bytes, block) = ([7; 64 << 10], slow.block);
        let bindings = [Binding::Buffer(block), Binding::Inline(&bytes)];
        for _ in 0..300 {
            let at = slow.bench.at();
            slow.bench.queue.launch(at, &launch(wide, &bindings, 1)).unwrap();
        }
        assert_eq!(slow.bench.read(block)[..4], [7; 4]);
        others_go_on(slow);
    });
}

/// Nor one that records more than there may be memory for, and waits for work in front.
fn long_transfers_go_on_alone(slow: &mut Slow, size: usize, transfer: fn(&dyn Queue, u64, Region, &HostTarget)) {
    let memory = slow.bench.device.allocate(size as u64).unwrap();
    let block = Region { memory, offset: 0, size: size as u64 };
    let target = HostTarget::staging(size).unwrap();
    // SAFETY: nobody else has the memory yet.
    unsafe { target.pointer().write_bytes(7, size) };
    let fill = slow.bench.at();
    slow.bench.queue.fill(fill, block, &[7]).unwrap();
    assert_eq!(slow.bench.queue.wait(fill, None).unwrap(), Waited::Done);
    let first = slow.launch();
    // The block is in use, so that the host does none of it by itself.
    let fill = slow.bench.at();
    slow.bench.queue.fill(fill, block, &[7]).unwrap();
    let (at, queue) = (slow.bench.at(), Arc::clone(&slow.bench.queue));
    std::thread::scope(|scope| {
        let transfers = scope.spawn(|| transfer(&*queue, at, block, &target));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!transfers.is_finished(), "it had room, and has not waited");
        assert_eq!(slow.bench.queue.wait(at, Some(Duration::from_millis(1))).unwrap(), Waited::TimedOut);
        assert!(slow.bench.queue.completed() < first, "others have waited along");
        transfers.join().unwrap();
    });
    assert_eq!(slow.bench.queue.wait(at, None).unwrap(), Waited::Done);
    assert!(slow.bench.queue.take_late().is_empty());
    target.look(|bytes| assert!(bytes.iter().all(|byte| *byte == 7)));
    assert!(slow.bench.read(block).iter().all(|byte| *byte == 7));
    slow.bench.device.free(memory);
}

#[test]
fn thr_01_a_long_read_holds_up_no_other() {
    everywhere(|slow| {
        long_transfers_go_on_alone(slow, 160 << 20, |queue, at, block, target| queue.read(at, block, target.clone()).unwrap());
    });
}

#[test]
fn thr_01_a_long_write_holds_up_no_other() {
    everywhere(|slow| {
        long_transfers_go_on_alone(slow, 160 << 20, |queue, at, block, target| {
            target.look(|bytes| queue.write(at, block, bytes).unwrap());
        });
    });
}

#[test]
fn t13_looks_from_several_threads_make_no_read_fail() {
    for (index, name) in common::adapters() {
        eprintln!("testing {name}");
        let mut bench = Bench::open(&StagingWgpuDriver, index);
        let (block, over) = (bench.block(&[0; 4096]), Arc::new(std::sync::atomic::AtomicBool::new(false)));
        let lookers: Vec<_> = (0..3)
            .map(|_| {
                let (queue, over) = (Arc::clone(&bench.queue), Arc::clone(&over));
                std::thread::spawn(move || {
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        let _ = queue.wait(u64::MAX, Some(Duration::ZERO)).unwrap();
                    }
                })
            })
            .collect();
        let start = Instant::now();
        let mut rounds = 0;
        while start.elapsed() < Duration::from_secs(2) {
            rounds += 1;
            let bytes = common::pattern(4096, rounds);
            let at = bench.at();
            bench.queue.write(at, block, &bytes).unwrap();
            let read = bench.read(block);
            assert!(bench.queue.take_late().is_empty(), "round {rounds}");
            assert!(read == bytes, "round {rounds}");
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        lookers.into_iter().for_each(|looker| looker.join().unwrap());
        eprintln!("{rounds} rounds");
    }
}

//! What the cpu device costs by itself: medians of the paths that the thresholds in `fifo.rs`, `team.rs` and `kernel.rs` stand on.
//!
//! `cargo run --release -p compute-cpu --example latency`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use compute_cpu::CpuDriver;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver, Grid, HostTarget, KernelId, Launch, OpenOptions, Position, Queue,
    Region,
};

/// Its cost is known when it is compiled.
const STRAIGHT: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
    @compute @workgroup_size(64) fn f(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = id.x * 3u; }";
/// It is not.
const LOOPING: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
    @compute @workgroup_size(64) fn f(@builtin(global_invocation_id) id: vec3<u32>) {
        var n = o[0];
        while (n > 1u) { n = n / 2u; }
        o[id.x] = n;
    }";
/// One multiply-add of three vectors.
const SAXPY: &str = "@group(0) @binding(0) var<storage, read_write> o: array<vec4<f32>>;
    @compute @workgroup_size(64) fn f(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = o[id.x] * 1.5 + vec4<f32>(1.0); }";

fn compile(device: &dyn Device, source: &str) -> KernelId {
    let entry = Module::parse(&Source::wgsl(source)).and_then(|module| module.entry_point(None, &[]));
    let entry = entry.unwrap_or_else(|diagnostics| panic!("{}", diagnostics.text));
    let request = CompileRequest {
        source: CompileSource::Portable(&entry),
        bounds: Bounds::Checked,
        cancellable: false,
        print_room: 0,
        strict: false,
        label: "",
    };
    device.compile(&request).unwrap_or_else(|error| panic!("{error}"))
}

struct Bench {
    queue: Arc<dyn Queue>,
    view: Region,
    at: Position,
}

impl Bench {
    fn next(&mut self) -> Position {
        self.at += 1;
        self.at
    }

    fn launch(&mut self, kernel: KernelId, groups: u32) -> Position {
        let (at, bindings) = (self.next(), [Binding::Buffer(self.view)]);
        let launch = Launch { kernel, grid: Grid::Direct([groups, 1, 1]), bindings: &bindings, immediates: &[], time_limit: 0 };
        self.queue.launch(at, &launch).unwrap_or_else(|error| panic!("{error}"));
        at
    }

    fn wait(&self, timeout: Option<Duration>) {
        let _ = self.queue.wait(self.at, timeout);
    }
}

/// Median of what `run` measures, printed in microseconds.
fn report(name: &str, rounds: usize, mut run: impl FnMut() -> Duration) -> f64 {
    for _ in 0..rounds / 10 {
        run();
    }
    let mut times: Vec<Duration> = (0..rounds).map(|_| run()).collect();
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    println!("{name:<58} {:>9.3} us   (10 %: {:.3}, 90 %: {:.3})", at(50), at(10), at(90));
    at(50)
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn main() {
    let device = CpuDriver.open(0, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let queue = device.create_queue().unwrap_or_else(|error| panic!("{error}"));
    let size = 64_u64 << 20;
    let memory = device.allocate(size).unwrap_or_else(|error| panic!("{error}"));
    let mut bench = Bench { queue, view: Region { memory, offset: 0, size }, at: 0 };
    let (straight, looping, saxpy) = (compile(&*device, STRAIGHT), compile(&*device, LOOPING), compile(&*device, SAXPY));
    println!("{} workers", device.properties().units);
    launches(&mut bench, straight, looping);
    copies(&mut bench, size);
    let rate =
        |name: &str, bytes: u64, time: f64| println!("{:<58} {:>9.2} GB/s", format!("  {name}"), bytes as f64 / time / 1e3);
    let time = report("64 MiB vec4 multiply-add, launch and wait", 20, || {
        timed(|| {
            bench.launch(saxpy, (size / 16 / 64) as u32);
            bench.wait(None);
        })
    });
    rate("read and written", size * 2, time);
}

fn launches(bench: &mut Bench, straight: KernelId, looping: KernelId) {
    report("mark", 20_000, || {
        let at = bench.next();
        timed(|| bench.queue.mark(at))
    });
    report("launch of one workgroup, cost known (runs inline)", 20_000, || timed(|| _ = bench.launch(straight, 1)));
    report("launch and wait, cost known", 20_000, || {
        timed(|| {
            bench.launch(straight, 1);
            bench.wait(None);
        })
    });
    report("launch and wait, cost unknown (the waiter runs it)", 20_000, || {
        timed(|| {
            bench.launch(looping, 1);
            bench.wait(None);
        })
    });
    report("launch and wait at most 1 s, cost unknown (a worker runs it)", 5_000, || {
        timed(|| {
            bench.launch(looping, 1);
            bench.wait(Some(Duration::from_secs(1)));
        })
    });
    report("launch call alone, cost unknown, idle queue (wakes a worker)", 2_000, || {
        let time = timed(|| _ = bench.launch(looping, 1));
        bench.wait(None);
        std::thread::sleep(Duration::from_micros(100));
        time
    });
    report("  from that call to its completion, polled", 2_000, || {
        let start = Instant::now();
        let at = bench.launch(looping, 1);
        while bench.queue.completed() < at {
            std::hint::spin_loop();
        }
        let time = start.elapsed();
        std::thread::sleep(Duration::from_micros(100));
        time
    });
    report("launch call, cost unknown, busy queue (per launch of 1000)", 200, || {
        let time = timed(|| {
            for _ in 0..1000 {
                bench.launch(looping, 1);
            }
        });
        bench.wait(None);
        time / 1000
    });
    report("1000 such launches, end to end, each", 200, || {
        timed(|| {
            for _ in 0..1000 {
                bench.launch(looping, 1);
            }
            bench.wait(None);
        }) / 1000
    });
}

fn copies(bench: &mut Bench, size: u64) {
    let rate =
        |name: &str, bytes: u64, time: f64| println!("{:<58} {:>9.2} GB/s", format!("  {name}"), bytes as f64 / time / 1e3);
    let small = Region { size: 4096, ..bench.view };
    let mut bytes = vec![1_u8; size as usize];
    report("write 4 KiB", 20_000, || {
        let at = bench.next();
        timed(|| _ = bench.queue.write(at, small, &bytes[..4096]))
    });
    // SAFETY: the vector lives until the waits below are over, and nobody touches it meanwhile.
    let target = |bytes: &mut [u8]| unsafe { HostTarget::new(bytes.as_mut_ptr(), bytes.len()) };
    report("read 4 KiB and wait", 20_000, || {
        let into = target(&mut bytes[..4096]);
        let at = bench.next();
        timed(|| {
            _ = bench.queue.read(at, small, into);
            bench.wait(None);
        })
    });
    let whole = bench.view;
    let time = report("write 64 MiB", 30, || {
        let at = bench.next();
        timed(|| _ = bench.queue.write(at, whole, &bytes))
    });
    rate("uploaded", size, time);
    let time = report("read 64 MiB and wait", 30, || {
        let (at, into) = (bench.next(), target(&mut bytes));
        timed(|| {
            _ = bench.queue.read(at, whole, into);
            bench.wait(None);
        })
    });
    rate("read back", size, time);
    let mut copy = vec![0_u8; size as usize];
    let time = report("plain copy of 64 MiB on this thread, to compare", 30, || timed(|| copy.copy_from_slice(&bytes)));
    rate("copied", size, time);
    let time = report("fill 64 MiB and wait", 30, || {
        let at = bench.next();
        timed(|| {
            _ = bench.queue.fill(at, whole, &[1, 2, 3, 4]);
            bench.wait(None);
        })
    });
    rate("filled", size, time);
}

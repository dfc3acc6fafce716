//! What a launch costs inside the runtime, on the device that does nothing: `cargo bench --bench runtime`.
//!
//! The C programs beside it measure through the C ABI; this one leaves handles and structs out, so the difference is the boundary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::sync::Arc;
use std::time::Instant;

use compute::registry;
use compute::runtime::{
    self, Binding, Buffer, BufferOptions, Device, DeviceOptions, Grid, Input, Kernel, KernelOptions, Launch, Mode, Place, Stream,
};
use compute_kernel::Language;
use compute_kernel::reflection::Bounds;

const SOURCE: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read> c: array<u32>;
@group(0) @binding(3) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&o)) { return; }
    o[id.x] = a[id.x] + b[id.x] + c[id.x];
}";

struct Lane {
    stream: Arc<Stream>,
    buffers: Vec<Arc<Buffer>>,
}

fn lane(device: &Arc<Device>) -> Lane {
    let stream = Stream::new(device, "").unwrap();
    let buffers: Vec<_> =
        (0..4).map(|_| Buffer::new(device, &BufferOptions { size: 4096, ..Default::default() }).unwrap()).collect();
    for buffer in &buffers {
        runtime::fill(Some(&stream), Place::View { buffer, offset: 0, size: u64::MAX }, &[0]).unwrap();
    }
    Lane { stream, buffers }
}

fn run(lane: &Lane, kernel: &Arc<Kernel>, count: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        let bindings: [Binding<'_>; 4] = std::array::from_fn(|slot| Binding {
            group: 0,
            slot: slot as u32,
            given: Input::Place(Place::View { buffer: &lane.buffers[slot], offset: 0, size: u64::MAX }),
            write_all: false,
        });
        let grid = Grid::Direct([16, 1, 1]);
        let launch = Launch { kernel: Some(kernel), grid, bindings: &bindings, immediates: &[], label: "", mode: Mode::Execute };
        runtime::launch(Some(&lane.stream), &launch).unwrap();
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn main() {
    let (native, _) = registry::open(Some("null"), 0, &Default::default()).unwrap().unwrap();
    let device = Device::new(native, &DeviceOptions::default()).unwrap();
    let options = KernelOptions {
        print_size: 0,
        strict: false,
        language: Some(Language::Wgsl),
        source: SOURCE.into(),
        native: None,
        entry: None,
        label: String::new(),
        constants: Vec::new(),
        bounds: Bounds::Checked,
        compile: compute::runtime::Compile::Now,
        time_limit: 0,
    };
    let kernel = Kernel::new(&device, &options).unwrap();
    let one = lane(&device);
    // For counting instructions: COMPUTE_BENCH_LAUNCHES=10000 valgrind --tool=callgrind.
    if let Some(count) = std::env::var("COMPUTE_BENCH_LAUNCHES").ok().and_then(|count| count.parse().ok()) {
        run(&one, &kernel, count);
        return;
    }
    run(&one, &kernel, 100_000);
    let single = median((0..11).map(|_| run(&one, &kernel, 200_000)).collect());
    println!("launch with four bindings, one thread: {single:.0} ns");
    for threads in [2, 4, 8, 16] {
        let lanes: Vec<_> = (0..threads).map(|_| lane(&device)).collect();
        let rates = (0..5).map(|_| {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for lane in &lanes {
                    scope.spawn(|| run(lane, &kernel, 200_000));
                }
            });
            f64::from(threads) * 200_000.0 / start.elapsed().as_nanos() as f64 * 1000.0
        });
        let rate = median(rates.collect());
        println!(
            "{threads} threads on {threads} streams: {rate:.2} M launches/s, {:.2} times one thread",
            rate * single / 1000.0
        );
    }
}

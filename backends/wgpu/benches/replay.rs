//! What a replay, and the same launches one by one, cost beside wgpu by hand: the same chain of launches, encoded each time with bind groups that are kept, submitted and
//! waited for. All in one run, taking turns; medians and the fastest run of wall clock, of processor time of the whole process, and of processor time of the caller until its
//! last call returned, and their ratios. By adapter.
//!
//! ```text
//! cargo bench -p compute-wgpu --bench replay [-- LAUNCHES [RUNS]]     (default 1000, 41)
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::borrow::Cow;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use common::Bench;
use compute_hal::kernel::lower::Lowering;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{Binding, CompileRequest, CompileSource, GraphRequest, Grid, KernelId, Launch, Node, NodeWork, Waited};
use compute_wgpu::WgpuDriver;

const KERNEL: &str = "@group(0) @binding(0) var<storage, read_write> old: array<u32>;
@group(0) @binding(1) var<storage, read_write> sum: array<u32>;
@compute @workgroup_size(1) fn tiny() { sum[0] = old[0] + 1u; }";

/// By hand.
struct Raw {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    groups: [wgpu::BindGroup; 2],
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

impl Raw {
    fn open(name: &str) -> Self {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.flags = wgpu::InstanceFlags::empty();
        let adapters = ready(wgpu::Instance::new(descriptor).enumerate_adapters(wgpu::Backends::all()));
        let adapter = adapters.into_iter().find(|adapter| adapter.get_info().name == name).unwrap();
        let (device, queue) = ready(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap();
        let lowering = Lowering { bounds: Bounds::Unchecked, deferred: false, print_room: 0, names: None };
        let entry = Module::parse(&Source::wgsl(KERNEL)).unwrap().entry_point(None, &[]).unwrap();
        let source = wgpu::ShaderSource::Naga(Cow::Owned(entry.lower(&lowering).unwrap().module().clone()));
        let module = wgpu::ShaderModuleDescriptor { label: None, source };
        // SAFETY: the kernel stays inside its buffers.
        let module = unsafe { device.create_shader_module_trusted(module, wgpu::ShaderRuntimeChecks::unchecked()) };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let usage = wgpu::BufferUsages::STORAGE;
        let buffers = [0; 2]
            .map(|_| device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 256, usage, mapped_at_creation: false }));
        let groups = [[0, 1], [1, 0]].map(|[from, to]| {
            let entry = |binding, index: usize| wgpu::BindGroupEntry { binding, resource: buffers[index].as_entire_binding() };
            let entries = [entry(0, from), entry(1, to)];
            let layout = pipeline.get_bind_group_layout(0);
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries })
        });
        Self { device, queue, pipeline, groups }
    }

    fn run(&self, launches: usize) -> f64 {
        let before = caller_time();
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        for index in 0..launches {
            pass.set_bind_group(0, &self.groups[index % 2], &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        drop(pass);
        let index = self.queue.submit([encoder.finish()]);
        let called = caller_time() - before;
        self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None }).unwrap();
        called
    }
}

/// A chain as a graph, and as launches.
struct Ours {
    bench: Bench,
    graph: compute_hal::GraphId,
    kernel: KernelId,
    bindings: [[Binding<'static>; 2]; 2],
    first: compute_hal::Region,
}

impl Ours {
    fn open(index: u32, launches: usize) -> Self {
        let mut bench = Bench::open(&WgpuDriver, index);
        let blocks = [0; 2].map(|_| bench.block(&[0; 256]));
        let entry = Module::parse(&Source::wgsl(KERNEL)).unwrap().entry_point(None, &[]).unwrap();
        let source = CompileSource::Portable(&entry);
        let request =
            CompileRequest { source, bounds: Bounds::Unchecked, cancellable: false, print_room: 0, strict: false, label: "tiny" };
        let kernel = bench.device.compile(&request).unwrap();
        let bindings = [[0, 1], [1, 0]].map(|pair| pair.map(|index: usize| Binding::Buffer(blocks[index])));
        let after: Vec<u32> = (0..launches as u32).collect();
        let nodes: Vec<Node<'_>> = (0..launches)
            .map(|index| {
                let (grid, bindings) = (Grid::Direct([1, 1, 1]), &bindings[index % 2][..]);
                let launch = Launch { kernel, grid, bindings, immediates: &[], time_limit: 0 };
                Node { work: NodeWork::Launch(launch), after: &after[index.saturating_sub(1)..index] }
            })
            .collect();
        let graph = bench.device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "chain" }).unwrap();
        Self { bench, graph, kernel, bindings, first: blocks[launches % 2] }
    }

    fn replay(&mut self) -> f64 {
        let before = caller_time();
        let at = self.bench.at();
        self.bench.queue.replay(at, self.graph).unwrap();
        self.bench.queue.submit().unwrap();
        let called = caller_time() - before;
        assert_eq!(self.bench.queue.wait(at, None).unwrap(), Waited::Done);
        called
    }

    fn launch(&mut self, launches: usize) -> f64 {
        let before = caller_time();
        for index in 0..launches {
            let (kernel, bindings) = (self.kernel, &self.bindings[index % 2][..]);
            let launch = Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings, immediates: &[], time_limit: 0 };
            self.bench.queue.launch(self.bench.last + 1, &launch).unwrap();
            self.bench.last += 1;
        }
        self.bench.queue.submit().unwrap();
        let called = caller_time() - before;
        assert_eq!(self.bench.queue.wait(self.bench.last, None).unwrap(), Waited::Done);
        called
    }
}

fn clock(which: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is writable.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds that this thread has used.
fn caller_time() -> f64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Wall clock, processor time of the whole process, and what the work says of its calls.
fn measure(work: impl FnOnce() -> f64) -> [f64; 3] {
    let (wall, processor) = (Instant::now(), clock(libc::CLOCK_PROCESS_CPUTIME_ID));
    let called = work();
    [wall.elapsed().as_nanos() as f64, clock(libc::CLOCK_PROCESS_CPUTIME_ID) - processor, called]
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What nothing else on the machine was in the way of.
fn fastest(values: &mut [f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let (launches, runs) = (numbers.next().unwrap_or(1000), numbers.next().unwrap_or(41));
    for (index, name) in common::adapters() {
        let (raw, mut ours) = (Raw::open(&name), Ours::open(index, launches));
        let mut found: [[Vec<f64>; 3]; 3] = Default::default();
        for run in 0..runs + 5 {
            let times = [measure(|| raw.run(launches)), measure(|| ours.replay()), measure(|| ours.launch(launches))];
            if run >= 5 {
                times.iter().flatten().zip(found.iter_mut().flatten()).for_each(|(time, all)| all.push(*time));
            }
        }
        // An odd number of launches leaves the sum in the other block.
        let word = ours.bench.read(ours.first)[..4].try_into().map(u32::from_le_bytes).unwrap();
        let expected = 2 * launches * (runs + 5);
        assert!(word as usize == expected || !launches.is_multiple_of(2), "{word} instead of {expected}");
        println!(
            "{name}, {launches} launches of a chain, waited for, ns each, {runs} runs: wall clock, (processor time), [the caller's until its last call returned]"
        );
        for (kind, pick) in [("median", median as fn(&mut [f64]) -> f64), ("fastest", fastest)] {
            let [raw, replay, launch] = found.each_mut().map(|kinds| kinds.each_mut().map(|all| pick(all) / launches as f64));
            println!("  {kind}: by hand {:.0} ({:.0}) [{:.0}]", raw[0], raw[1], raw[2]);
            for (what, [wall, processor, called]) in [("replayed", replay), ("launched", launch)] {
                let ratios = [wall / raw[0], processor / raw[1], called / raw[2]];
                println!(
                    "    {what} {wall:.0} ({processor:.0}) [{called:.0}], ratios {:.2} ({:.2}) [{:.2}]; target 1.2",
                    ratios[0], ratios[1], ratios[2]
                );
            }
        }
    }
}

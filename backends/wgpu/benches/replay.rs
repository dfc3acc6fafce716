//! What a replay costs beside wgpu by hand: the same chain of launches, encoded each time with bind groups that are kept, submitted and waited for. Both in one run, taking
//! turns; medians and the fastest run of wall clock and of processor time of the whole process, and their ratios. By adapter.
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
use compute_hal::{Binding, CompileRequest, CompileSource, GraphRequest, Grid, Launch, Node, NodeWork, Waited};
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

    fn run(&self, launches: usize) {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        for index in 0..launches {
            pass.set_bind_group(0, &self.groups[index % 2], &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        drop(pass);
        let index = self.queue.submit([encoder.finish()]);
        self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None }).unwrap();
    }
}

/// A chain as a graph.
struct Ours {
    bench: Bench,
    graph: compute_hal::GraphId,
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
        Self { bench, graph, first: blocks[launches % 2] }
    }

    fn run(&mut self) {
        let at = self.bench.at();
        self.bench.queue.replay(at, self.graph).unwrap();
        assert_eq!(self.bench.queue.wait(at, None).unwrap(), Waited::Done);
    }
}

/// Nanoseconds that the whole process has used.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn measure(work: impl FnOnce()) -> [f64; 2] {
    let (wall, processor) = (Instant::now(), processor_time());
    work();
    [wall.elapsed().as_nanos() as f64, processor_time() - processor]
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
        let mut found = [[vec![], vec![]], [vec![], vec![]]];
        for run in 0..runs + 5 {
            let both = [measure(|| raw.run(launches)), measure(|| ours.run())];
            if run >= 5 {
                both.iter()
                    .zip(&mut found)
                    .for_each(|(times, all)| times.iter().zip(all).for_each(|(time, all)| all.push(*time)));
            }
        }
        // An odd number of launches leaves the sum in the other block.
        let word = ours.bench.read(ours.first)[..4].try_into().map(u32::from_le_bytes).unwrap();
        let expected = if launches.is_multiple_of(2) { launches * (runs + 5) } else { launches };
        assert!(word as usize == expected || !launches.is_multiple_of(2), "{word} instead of {expected}");
        println!("{name}, {launches} launches of a chain, waited for, ns each, {runs} runs; processor time in brackets:");
        for (kind, pick) in [("median", median as fn(&mut [f64]) -> f64), ("fastest", fastest)] {
            let [[raw_wall, raw_processor], [our_wall, our_processor]] =
                found.each_mut().map(|kinds| kinds.each_mut().map(|all| pick(all) / launches as f64));
            let ratios = (our_wall / raw_wall, our_processor / raw_processor);
            println!(
                "  {kind}: by hand {raw_wall:.0} ({raw_processor:.0}), replayed {our_wall:.0} ({our_processor:.0}), ratio {:.2} ({:.2}); target 1.2",
                ratios.0, ratios.1
            );
        }
    }
}

//! What the cuda device costs over the driver itself, as ratios in one run: launches, launches that are waited for, graphs, launches from eight threads,
//! copies.
//!
//! `cargo bench -p compute-cuda --bench raw`. Needs a GPU; says so where there is none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a benchmark ends at the first thing that is wrong"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use compute_cuda_hip::driver::{Calls, CompilerCalls, Handle, Status};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver, GraphRequest, Grid, HostSource, KernelId, Launch, Node, NodeWork,
    OpenOptions, Queue, Region, Waited,
};
use libloading::Library;

const LAUNCHES: u64 = 20_000;
const ROUNDS: usize = 7;
const THREADS: usize = 8;
/// Nodes of a graph, one behind the other.
const NODES: usize = 1000;
const BYTES: usize = 256 << 20;

/// The driver without us.
struct Raw {
    calls: Calls,
    compiler: CompilerCalls,
    library: Library,
    context: usize,
}

fn find(library: &Library, symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: only the address is taken.
    unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok().map(|address| *address)
}

impl Raw {
    fn open() -> Self {
        let vendor = &compute_cuda::VENDOR;
        // SAFETY: these are the vendor's libraries, and stay loaded.
        let (library, compiler) = unsafe {
            let first = |names: &[&str]| names.iter().find_map(|name| Library::new(name).ok()).unwrap();
            (first(vendor.libraries), &*Box::leak(Box::new(first(vendor.compilers))))
        };
        let mut context: Handle = std::ptr::null_mut();
        // SAFETY: the tables are those of these libraries; the places are ours.
        let (calls, compiler) = unsafe {
            let calls = Calls::load(vendor.names, &|symbol| find(&library, symbol)).unwrap();
            calls.init(0).unwrap();
            calls.primary_retain(&mut context, 0).unwrap();
            (calls, CompilerCalls::load(vendor.compiler_names, &|symbol| find(compiler, symbol)).unwrap())
        };
        let raw = Self { calls, compiler, library, context: context as usize };
        raw.enter();
        raw
    }

    fn enter(&self) {
        // SAFETY: the context was retained.
        unsafe { self.calls.context_push(self.context as Handle).unwrap() }
    }

    /// A function of the driver that the table does not have.
    fn more<F: Copy>(&self, symbol: &str) -> F {
        // SAFETY: the caller names the type that the driver documents.
        unsafe { *self.library.get::<F>(symbol.as_bytes()).unwrap() }
    }

    fn stream(&self) -> usize {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the place is ours.
        unsafe { self.calls.stream_create(&mut stream, 1).unwrap() }
        stream as usize
    }

    fn function(&self, text: &str, name: &str, target: &str) -> usize {
        let (source, name) = (CString::new(text).unwrap(), CString::new(name).unwrap());
        let option = CString::new(format!("--gpu-architecture={target}")).unwrap();
        let options: [*const c_char; 1] = [option.as_ptr()];
        let (mut program, mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        let (mut size, none) = (0, std::ptr::null());
        // SAFETY: texts end with zeros, places are ours and as long as said.
        unsafe {
            self.compiler.create(&mut program, source.as_ptr(), c"raw".as_ptr(), 0, none, none).unwrap();
            self.compiler.compile(program, 1, options.as_ptr()).unwrap();
            self.compiler.code_size(program, &mut size).unwrap();
            let mut code = vec![0_u8; size];
            self.compiler.code(program, code.as_mut_ptr().cast()).unwrap();
            let none = std::ptr::null_mut();
            self.calls.module_load(&mut module, code.as_ptr().cast(), 0, none, none.cast()).unwrap();
            self.calls.module_function(&mut function, module, name.as_ptr()).unwrap();
        }
        function as usize
    }

    /// A chain of launches, ready to run.
    fn chain(&self, function: usize, mut address: u64) -> usize {
        let mut arguments = [(&raw mut address).cast::<c_void>()];
        let none: Handle = std::ptr::null_mut();
        let launch = compute_cuda::nodes::KernelParameters {
            function: function as Handle,
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            arguments: arguments.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kernel: none,
            context: none,
        };
        let (mut graph, mut executable, mut last) = (none, none, none);
        // SAFETY: the function has one parameter, an address; the places are ours, and nodes are of the graph.
        unsafe {
            self.calls.graph_create(&mut graph, 0).unwrap();
            for n in 0..NODES {
                let before = last;
                self.calls.graph_add_kernel(&mut last, graph, &before, n.min(1), (&raw const launch).cast()).unwrap();
            }
            self.calls.graph_instantiate(&mut executable, graph, 0).unwrap();
        }
        executable as usize
    }

    fn launch(&self, function: usize, stream: usize, mut address: u64) {
        let mut arguments = [(&raw mut address).cast::<c_void>()];
        let none = std::ptr::null_mut();
        // SAFETY: the function has one parameter, an address.
        unsafe {
            self.calls.launch(function as Handle, 1, 1, 1, 1, 1, 1, 0, stream as Handle, arguments.as_mut_ptr(), none).unwrap()
        }
    }
}

/// The median of so many runs.
fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| run()).collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn line(what: &str, ours: f64, raw: f64, unit: &str, ratio: f64) {
    println!("| {what} | {ours:.2} {unit} | {raw:.2} {unit} | {ratio:.2} |");
}

fn compile(device: &dyn Device) -> KernelId {
    let source =
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>; @compute @workgroup_size(1) fn one() { o[0] = 1u; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    device.compile(&CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, label: "one" }).unwrap()
}

fn launches(queue: &dyn Queue, kernel: KernelId, region: Region, first: u64) {
    let bindings = [Binding::Buffer(region)];
    for at in first..first + LAUNCHES {
        queue
            .launch(at, &Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 })
            .unwrap();
    }
}

fn wait(queue: &dyn Queue, at: u64) {
    assert_eq!(queue.wait(at, None).unwrap(), Waited::Done);
}

fn main() {
    let driver = &compute_cuda::DRIVER;
    let probe = driver.probe();
    let Some(properties) = probe.devices.first() else {
        println!("NOT MEASURED: no device: {}", probe.tried.join("; "));
        return;
    };
    println!("{} ({}), {}; medians of {ROUNDS}", properties.name, properties.target, properties.driver);
    println!("| | libcompute's device | driver | ratio |\n|---|---|---|---|");
    let device = driver.open(0, &OpenOptions::default()).unwrap();
    let raw = Raw::open();
    let text = "extern \"C\" __global__ void one(unsigned* o) { o[0] = 1u; }";
    let function = raw.function(text, "one", &properties.target);
    launch_costs(&raw, &device, function);
    graphs(&raw, &*device, function);
    threads(&raw, &device, function);
    copies(&raw, &*device);
}

fn launch_costs(raw: &Raw, device: &Arc<dyn Device>, function: usize) {
    let synchronize: unsafe extern "C" fn(Handle) -> Status = raw.more("cuStreamSynchronize");
    let (queue, stream, kernel) = (device.create_queue().unwrap(), raw.stream(), compile(&**device));
    let region = Region { memory: device.allocate(256).unwrap(), offset: 0, size: 256 };
    let address = device.export(region.memory).unwrap();
    // SAFETY: the stream lives.
    let rest = || unsafe { assert_eq!(synchronize(stream as Handle), 0) };
    let mut at = 1;
    let mut enqueue = |current: bool| {
        median(|| {
            let start = Instant::now();
            launches(&*queue, kernel, region, at);
            let took = start.elapsed();
            at += LAUNCHES;
            wait(&*queue, at - 1);
            let _ = current;
            took
        })
    };
    let ours_current = enqueue(true);
    let theirs = median(|| {
        let start = Instant::now();
        (0..LAUNCHES).for_each(|_| raw.launch(function, stream, address));
        let took = start.elapsed();
        rest();
        took
    });
    let mut none: Handle = std::ptr::null_mut();
    // SAFETY: the place is ours.
    unsafe { raw.calls.context_pop(&mut none).unwrap() };
    let ours = enqueue(false);
    raw.enter();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / LAUNCHES as f64;
    line(
        "launch, enqueued; the device's context is current",
        each(ours_current),
        each(theirs),
        "us",
        each(ours_current) / each(theirs),
    );
    line("launch, enqueued; no context is current", each(ours), each(theirs), "us", each(ours) / each(theirs));
    let bindings = [Binding::Buffer(region)];
    let ours = median(|| {
        let start = Instant::now();
        for _ in 0..2000 {
            let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
            queue.launch(at, &launch).unwrap();
            wait(&*queue, at);
            at += 1;
        }
        start.elapsed() / 2000
    });
    let theirs = median(|| {
        let start = Instant::now();
        for _ in 0..2000 {
            raw.launch(function, stream, address);
            rest();
        }
        start.elapsed() / 2000
    });
    let each = |time: Duration| time.as_secs_f64() * 1e6;
    line("launch and wait", each(ours), each(theirs), "us", each(ours) / each(theirs));
}

/// Replays of a chain of launches, against the same chain made with the driver's calls.
fn graphs(raw: &Raw, device: &dyn Device, function: usize) {
    let synchronize: unsafe extern "C" fn(Handle) -> Status = raw.more("cuStreamSynchronize");
    let (queue, stream, kernel) = (device.create_queue().unwrap(), raw.stream(), compile(device));
    let region = Region { memory: device.allocate(256).unwrap(), offset: 0, size: 256 };
    let address = device.export(region.memory).unwrap();
    let bindings = [Binding::Buffer(region)];
    let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
    let before: Vec<[u32; 1]> = (0..NODES as u32).map(|n| [n]).collect();
    let after = |n: usize| n.checked_sub(1).map_or(&[][..], |last| &before[last]);
    let nodes: Vec<Node<'_>> = (0..NODES).map(|n| Node { work: NodeWork::Launch(launch), after: after(n) }).collect();
    let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "chain" }).unwrap();
    let executable = raw.chain(function, address);
    // SAFETY: graph and stream live.
    let theirs = || unsafe { raw.calls.graph_launch(executable as Handle, stream as Handle).unwrap() };
    // SAFETY: the stream lives.
    let rest = || unsafe { assert_eq!(synchronize(stream as Handle), 0) };
    let mut at = 0;
    let mut ours = || {
        at += 1;
        queue.replay(at, graph).unwrap();
        at
    };
    // The first one of each uploads it.
    wait(&*queue, ours());
    theirs();
    rest();
    let each = |time: Duration| time.as_secs_f64() * 1e6;
    let mine = median(|| {
        let start = Instant::now();
        wait(&*queue, ours());
        start.elapsed()
    });
    let raws = median(|| {
        let start = Instant::now();
        theirs();
        rest();
        start.elapsed()
    });
    line("a graph of 1000 launches in a chain, replayed and waited for", each(mine), each(raws), "us", each(mine) / each(raws));
    let mine = median(|| {
        let start = Instant::now();
        let at = ours();
        let took = start.elapsed();
        wait(&*queue, at);
        took
    });
    let raws = median(|| {
        let start = Instant::now();
        theirs();
        let took = start.elapsed();
        rest();
        took
    });
    line("the same, enqueued", each(mine), each(raws), "us", each(mine) / each(raws));
    device.drop_graph(graph);
}

fn threads(raw: &Raw, device: &Arc<dyn Device>, function: usize) {
    let synchronize: unsafe extern "C" fn(Handle) -> Status = raw.more("cuStreamSynchronize");
    let kernel = compile(&**device);
    let lanes: Vec<_> = (0..THREADS)
        .map(|_| {
            (device.create_queue().unwrap(), raw.stream(), Region { memory: device.allocate(256).unwrap(), offset: 0, size: 256 })
        })
        .collect();
    let mut first = 1;
    let together = |work: &(dyn Fn(usize) + Sync)| {
        let start = Instant::now();
        std::thread::scope(|scope| (0..THREADS).for_each(|n| _ = scope.spawn(move || work(n))));
        start.elapsed()
    };
    let ours = median(|| {
        let took = together(&|n| {
            let (queue, _, region) = &lanes[n];
            launches(&**queue, kernel, *region, first);
            wait(&**queue, first + LAUNCHES - 1);
        });
        first += LAUNCHES;
        took
    });
    let theirs = median(|| {
        together(&|n| {
            raw.enter();
            let (_, stream, region) = &lanes[n];
            let address = device.export(region.memory).unwrap();
            (0..LAUNCHES).for_each(|_| raw.launch(function, *stream, address));
            // SAFETY: the stream lives.
            unsafe { assert_eq!(synchronize(*stream as Handle), 0) };
        })
    });
    let rate = |time: Duration| (LAUNCHES * THREADS as u64) as f64 / time.as_secs_f64() / 1e6;
    line("launches from 8 threads on 8 queues", rate(ours), rate(theirs), "M/s", rate(ours) / rate(theirs));
}

fn copies(raw: &Raw, device: &dyn Device) {
    let synchronize: unsafe extern "C" fn(Handle) -> Status = raw.more("cuStreamSynchronize");
    let write: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int = raw.more("cuMemcpyHtoD_v2");
    let read: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int = raw.more("cuMemcpyDtoH_v2");
    let (queue, stream) = (device.create_queue().unwrap(), raw.stream());
    let region = Region { memory: device.allocate(BYTES as u64).unwrap(), offset: 0, size: BYTES as u64 };
    let address = device.export(region.memory).unwrap();
    let bytes: Vec<u8> = (0..BYTES).map(|n| n as u8).collect();
    let mut landed = vec![0_u8; BYTES];
    let pinned = device.allocate_staging(BYTES).unwrap();
    let mut at = 1;
    let mut ours = |enqueue: &mut dyn FnMut(u64)| {
        median(|| {
            let start = Instant::now();
            enqueue(at);
            wait(&*queue, at);
            at += 1;
            start.elapsed()
        })
    };
    let theirs = |call: &mut dyn FnMut()| {
        median(|| {
            let start = Instant::now();
            call();
            // SAFETY: the stream lives.
            unsafe { assert_eq!(synchronize(stream as Handle), 0) };
            start.elapsed()
        })
    };
    let rate = |time: Duration| BYTES as f64 / time.as_secs_f64() / 1e9;
    let row = |what, ours, theirs| line(what, rate(ours), rate(theirs), "GB/s", rate(ours) / rate(theirs));
    // SAFETY: all of this memory is that long and lives until the end, and each copy is waited for.
    unsafe {
        let mine = ours(&mut |at| queue.write(at, region, &bytes).unwrap());
        row(
            "write 256 MiB from ordinary memory",
            mine,
            theirs(&mut || assert_eq!(write(address, bytes.as_ptr().cast(), BYTES), 0)),
        );
        let target = compute_hal::HostTarget::new(landed.as_mut_ptr(), BYTES);
        let mine = ours(&mut |at| queue.read(at, region, target.clone()).unwrap());
        assert!(landed == bytes, "what was read is not what was written");
        row(
            "read 256 MiB into ordinary memory",
            mine,
            theirs(&mut || assert_eq!(read(landed.as_mut_ptr().cast(), address, BYTES), 0)),
        );
        let source = HostSource::new(pinned.pointer(), BYTES);
        let mine = ours(&mut |at| queue.write_borrowed(at, region, source).unwrap());
        let (pointer, stream) = (pinned.pointer().cast::<c_void>(), stream as Handle);
        row(
            "write 256 MiB from pinned memory",
            mine,
            theirs(&mut || raw.calls.write_async(address, pointer, BYTES, stream).unwrap()),
        );
        let mine = ours(&mut |at| queue.read(at, region, pinned.clone()).unwrap());
        row(
            "read 256 MiB into pinned memory",
            mine,
            theirs(&mut || raw.calls.read_async(pointer, address, BYTES, stream).unwrap()),
        );
    }
}

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

mod common;

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Function, Raw, median};
use compute_cuda_hip::driver::{Handle, Status};
use compute_hal::kernel::cxx::{self, Options, Parameter};
use compute_hal::kernel::lower::Lowering;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{EntryPoint, Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver, GraphRequest, Grid, HostSource, KernelId, Launch, Node, NodeWork,
    OpenOptions, Queue, Region, Waited,
};

const LAUNCHES: u64 = 20_000;
const ROUNDS: usize = 7;
const THREADS: usize = 8;
/// Nodes of a graph, one behind the other.
const NODES: usize = 1000;
const BYTES: usize = 256 << 20;

/// The kernel that everything here launches, in a form that the driver takes from us as well: the text that the device compiles, and its one parameter.
struct Tiny {
    entry: Arc<EntryPoint>,
    function: Function,
}

/// As the device lays it out: an address, the number of elements, and nothing.
type Parameters = [u64; 2];

impl Tiny {
    fn new(raw: &Raw, target: &str) -> Self {
        let source =
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>; @compute @workgroup_size(1) fn one() { o[0] = 1u; }";
        let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
        let lowered = entry.lower(&Lowering { bounds: Bounds::Checked, deferred: true, print_room: 0, names: None }).unwrap();
        let options = Options {
            dialect: &cxx::CUDA,
            checked: true,
            strict: false,
            cancellable: false,
            indirect: false,
            subgroup_size: Some(32),
        };
        let text = cxx::translate(&lowered, &options).unwrap();
        let fields = &text.parameters.fields;
        assert!(fields[0].offset == 0 && matches!(fields[0].parameter, Parameter::Address { .. }) && text.parameters.size == 16);
        Self { entry, function: raw.function(&text.source, &text.entry, target, &text.options) }
    }

    fn compile(&self, device: &dyn Device) -> KernelId {
        let source = CompileSource::Portable(&self.entry);
        device
            .compile(&CompileRequest {
                source,
                bounds: Bounds::Checked,
                cancellable: false,
                print_room: 0,
                strict: false,
                label: "one",
            })
            .unwrap()
    }
}

impl Raw {
    /// A chain of launches made of nodes, ready to run.
    fn chain(&self, function: Function, mut parameters: Parameters) -> usize {
        let mut arguments = [(&raw mut parameters).cast::<c_void>()];
        let none: Handle = std::ptr::null_mut();
        let launch = compute_cuda::nodes::KernelParameters {
            function: function.handle(),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            arguments: arguments.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kernel: none,
            context: none,
        };
        let (mut graph, mut executable, mut last) = (none, none, none);
        // SAFETY: the function has one parameter, as given; the places are ours, and nodes are of the graph.
        unsafe {
            self.calls.graph_create(&mut graph, 0).unwrap();
            for n in 0..NODES {
                let before = last;
                self.calls.graph_add_kernel(&mut last, graph, &before, n.min(1), (&raw const launch).cast()).unwrap();
            }
            self.calls.graph_instantiate(&mut executable, graph, 0).unwrap();
            self.calls.graph_destroy(graph).unwrap();
        }
        executable as usize
    }

    /// The same by capture.
    fn captured(&self, function: Function, parameters: Parameters, stream: usize) -> usize {
        let begin: unsafe extern "C" fn(Handle, c_int) -> Status = self.more("cuStreamBeginCapture_v2");
        let end: unsafe extern "C" fn(Handle, *mut Handle) -> Status = self.more("cuStreamEndCapture");
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream lives and nobody else uses it; the places are ours.
        unsafe {
            assert_eq!(begin(stream as Handle, 1), 0);
            (0..NODES).for_each(|_| self.launch_one(function, stream, parameters));
            assert_eq!(end(stream as Handle, &mut graph), 0);
            self.calls.graph_instantiate(&mut executable, graph, 0).unwrap();
            self.calls.graph_destroy(graph).unwrap();
        }
        executable as usize
    }

    fn end_chain(&self, executable: usize) {
        // SAFETY: it was made by one of the above, and nothing of it runs.
        unsafe { self.calls.graph_executable_destroy(executable as Handle).unwrap() }
    }
}

/// The medians of so many runs of two things that are compared, in turns.
fn both(mut ours: impl FnMut() -> Duration, mut theirs: impl FnMut() -> Duration) -> (Duration, Duration) {
    let (mut mine, mut raws) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        mine.push(ours());
        raws.push(theirs());
    }
    (median(mine), median(raws))
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn line(what: &str, ours: f64, raw: f64, unit: &str, ratio: f64) {
    println!("| {what} | {ours:.2} {unit} | {raw:.2} {unit} | {ratio:.2} |");
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
    let tiny = Tiny::new(&raw, &properties.target);
    launch_costs(&raw, &device, &tiny);
    graphs(&raw, &*device, &tiny);
    threads(&raw, &device, &tiny);
    copies(&raw, &*device);
    calls(&raw, &*device, &tiny);
}

const MICRO: f64 = 1e6;

fn row(what: &str, times: (Duration, Duration), count: f64) {
    let (ours, raw) = (times.0.as_secs_f64() * MICRO / count, times.1.as_secs_f64() * MICRO / count);
    line(what, ours, raw, "us", ours / raw);
}

fn launch_costs(raw: &Raw, device: &Arc<dyn Device>, tiny: &Tiny) {
    let rest = raw.synchronize();
    let (queue, stream, kernel) = (device.create_queue().unwrap(), raw.stream(), tiny.compile(&**device));
    let region = Region { memory: device.allocate(256).unwrap(), offset: 0, size: 256 };
    let parameters = [device.export(region.memory).unwrap(), 64];
    let mut at = 1;
    for (what, current) in
        [("launch, enqueued; the device's context is current", true), ("launch, enqueued; no context is current", false)]
    {
        let ours = || {
            if !current {
                raw.leave();
            }
            let took = timed(|| launches(&*queue, kernel, region, at));
            at += LAUNCHES;
            wait(&*queue, at - 1);
            if !current {
                raw.enter();
            }
            took
        };
        let theirs = || {
            let took = timed(|| (0..LAUNCHES).for_each(|_| raw.launch_one(tiny.function, stream, parameters)));
            rest(stream);
            took
        };
        row(what, both(ours, theirs), LAUNCHES as f64);
    }
    let bindings = [Binding::Buffer(region)];
    let ours = || {
        raw.leave();
        let took = timed(|| {
            for _ in 0..2000 {
                let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
                queue.launch(at, &launch).unwrap();
                wait(&*queue, at);
                at += 1;
            }
        });
        raw.enter();
        took
    };
    let theirs = || {
        timed(|| {
            for _ in 0..2000 {
                raw.launch_one(tiny.function, stream, parameters);
                rest(stream);
            }
        })
    };
    row("launch and wait", both(ours, theirs), 2000.0);
}

/// Replays of a chain of launches, against the same chain of the same kernel made with the driver's calls.
fn graphs(raw: &Raw, device: &dyn Device, tiny: &Tiny) {
    let rest = raw.synchronize();
    let (queue, stream, kernel) = (device.create_queue().unwrap(), raw.stream(), tiny.compile(device));
    let region = Region { memory: device.allocate(256).unwrap(), offset: 0, size: 256 };
    let parameters = [device.export(region.memory).unwrap(), 64];
    let bindings = [Binding::Buffer(region)];
    let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
    let before: Vec<[u32; 1]> = (0..NODES as u32).map(|n| [n]).collect();
    let after = |n: usize| n.checked_sub(1).map_or(&[][..], |last| &before[last]);
    let nodes: Vec<Node<'_>> = (0..NODES).map(|n| Node { work: NodeWork::Launch(launch), after: after(n) }).collect();
    let instantiate = || device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "chain" }).unwrap();
    let (graph, executable) = (instantiate(), raw.chain(tiny.function, parameters));
    // SAFETY: graph and stream live.
    let theirs = || unsafe { raw.calls.graph_launch(executable as Handle, stream as Handle).unwrap() };
    let mut at = 0;
    let mut ours = || {
        at += 1;
        queue.replay(at, graph).unwrap();
        at
    };
    // The first ones upload it.
    for _ in 0..3 {
        wait(&*queue, ours());
        theirs();
        rest(stream);
    }
    let whole = both(
        || timed(|| wait(&*queue, ours())),
        || {
            timed(|| {
                theirs();
                rest(stream);
            })
        },
    );
    row("a graph of 1000 launches in a chain, replayed and waited for", whole, 1.0);
    let enqueued = both(
        || {
            let start = Instant::now();
            let at = ours();
            let took = start.elapsed();
            wait(&*queue, at);
            took
        },
        || {
            let took = timed(theirs);
            rest(stream);
            took
        },
    );
    row("the same, enqueued", enqueued, 1.0);
    let made = both(
        || {
            let start = Instant::now();
            let graph = instantiate();
            let took = start.elapsed();
            device.drop_graph(graph);
            took
        },
        || {
            let start = Instant::now();
            let executable = raw.chain(tiny.function, parameters);
            let took = start.elapsed();
            raw.end_chain(executable);
            took
        },
    );
    row("a graph of 1000 launches made of nodes until it is ready", made, 1.0);
    let captured = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let executable = raw.captured(tiny.function, parameters, stream);
        let took = start.elapsed();
        raw.end_chain(executable);
        took
    });
    row("the same; the driver captures it", (made.0, median(captured.collect())), 1.0);
    device.drop_graph(graph);
    raw.end_chain(executable);
}

fn threads(raw: &Raw, device: &Arc<dyn Device>, tiny: &Tiny) {
    let rest = raw.synchronize();
    let kernel = tiny.compile(&**device);
    let lanes: Vec<_> = (0..THREADS)
        .map(|_| {
            (device.create_queue().unwrap(), raw.stream(), Region { memory: device.allocate(256).unwrap(), offset: 0, size: 256 })
        })
        .collect();
    let mut first = 1;
    let together = |work: &(dyn Fn(usize) + Sync)| {
        timed(|| std::thread::scope(|scope| (0..THREADS).for_each(|n| _ = scope.spawn(move || work(n)))))
    };
    let times = both(
        || {
            let took = together(&|n| {
                let (queue, _, region) = &lanes[n];
                launches(&**queue, kernel, *region, first);
                wait(&**queue, first + LAUNCHES - 1);
            });
            first += LAUNCHES;
            took
        },
        || {
            together(&|n| {
                raw.enter();
                let (_, stream, region) = &lanes[n];
                let parameters = [device.export(region.memory).unwrap(), 64];
                (0..LAUNCHES).for_each(|_| raw.launch_one(tiny.function, *stream, parameters));
                rest(*stream);
            })
        },
    );
    let rate = |time: Duration| (LAUNCHES * THREADS as u64) as f64 / time.as_secs_f64() / MICRO;
    line("launches from 8 threads on 8 queues", rate(times.0), rate(times.1), "M/s", rate(times.0) / rate(times.1));
}

fn copies(raw: &Raw, device: &dyn Device) {
    let rest = raw.synchronize();
    let write: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int = raw.more("cuMemcpyHtoD_v2");
    let read: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int = raw.more("cuMemcpyDtoH_v2");
    let (queue, stream) = (device.create_queue().unwrap(), raw.stream());
    let region = Region { memory: device.allocate(BYTES as u64).unwrap(), offset: 0, size: BYTES as u64 };
    let address = device.export(region.memory).unwrap();
    let bytes: Vec<u8> = (0..BYTES).map(|n| (n ^ n >> 8) as u8).collect();
    let (mut landed, mut other) = (vec![1_u8; BYTES], vec![1_u8; BYTES]);
    let pinned = device.allocate_staging(BYTES).unwrap();
    let mut at = 0;
    let mut compare = |what, enqueue: &mut dyn FnMut(u64), call: &mut dyn FnMut()| {
        let (ours, theirs) = both(
            || {
                at += 1;
                timed(|| {
                    enqueue(at);
                    wait(&*queue, at);
                })
            },
            || {
                timed(|| {
                    call();
                    rest(stream);
                })
            },
        );
        let rate = |time: Duration| BYTES as f64 / time.as_secs_f64() / 1e9;
        line(what, rate(ours), rate(theirs), "GB/s", rate(ours) / rate(theirs));
    };
    // SAFETY: all of this memory is that long and lives until the end, and each copy is waited for.
    unsafe {
        compare("write 256 MiB from ordinary memory", &mut |at| queue.write(at, region, &bytes).unwrap(), &mut || {
            assert_eq!(write(address, bytes.as_ptr().cast(), BYTES), 0);
        });
        let target = compute_hal::HostTarget::new(landed.as_mut_ptr(), BYTES);
        let into = other.as_mut_ptr().cast();
        compare("read 256 MiB into ordinary memory", &mut |at| queue.read(at, region, target.clone()).unwrap(), &mut || {
            assert_eq!(read(into, address, BYTES), 0);
        });
        assert!(landed == bytes, "what was read is not what was written");
        let fresh = |at| {
            // Pages that nobody has touched: the system makes them while bytes arrive.
            let mut fresh = Vec::<u8>::with_capacity(BYTES);
            queue.read(at, region, compute_hal::HostTarget::new(fresh.as_mut_ptr(), BYTES)).unwrap();
            wait(&*queue, at);
            fresh.set_len(BYTES);
            assert!(fresh[BYTES - 4096..] == bytes[BYTES - 4096..]);
        };
        compare("read 256 MiB into memory that is touched for the first time", &mut |at| fresh(at), &mut || {
            let mut fresh = Vec::<u8>::with_capacity(BYTES);
            assert_eq!(read(fresh.as_mut_ptr().cast(), address, BYTES), 0);
        });
        let source = HostSource::new(pinned.pointer(), BYTES);
        let (pointer, lane) = (pinned.pointer().cast::<c_void>(), stream as Handle);
        compare("write 256 MiB from pinned memory", &mut |at| queue.write_borrowed(at, region, source).unwrap(), &mut || {
            raw.calls.write_async(address, pointer, BYTES, lane).unwrap();
        });
        compare("read 256 MiB into pinned memory", &mut |at| queue.read(at, region, pinned.clone()).unwrap(), &mut || {
            raw.calls.read_async(pointer, address, BYTES, lane).unwrap();
        });
    }
}

/// What single calls of the driver cost on the host, to see where a launch's time goes.
fn calls(raw: &Raw, device: &dyn Device, tiny: &Tiny) {
    let rest = raw.synchronize();
    let (stream, event) = (raw.stream(), raw.event(false));
    let parameters: Parameters = [device.export(device.allocate(256).unwrap()).unwrap(), 64];
    let bytes: Vec<u8> = parameters.iter().flat_map(|word| word.to_le_bytes()).collect();
    let calls = &raw.calls;
    let each = |what: &str, count: u32, call: &mut dyn FnMut()| {
        let times = (0..ROUNDS).map(|_| {
            let took = timed(|| (0..count).for_each(|_| call()));
            rest(stream);
            took
        });
        println!("| {what} | {:.0} ns |", median(times.collect()).as_secs_f64() * 1e9 / f64::from(count));
    };
    println!("\n| one call of the driver | |\n|---|---|");
    let mut handle: Handle = std::ptr::null_mut();
    // SAFETY: the places are ours.
    unsafe {
        each("ask which context is current", 100_000, &mut || calls.context_current(&mut handle).unwrap());
        let mut mode = 2;
        each("exchange the mode of captures", 100_000, &mut || calls.capture_mode(&mut mode).unwrap());
    }
    each("push and pop the context that is current", 100_000, &mut || {
        raw.enter();
        raw.leave();
    });
    raw.leave();
    each("push and pop the context where none is current", 100_000, &mut || {
        raw.enter();
        raw.leave();
    });
    let shape = ([1; 3], [1; 3]);
    let taken = raw.try_launch(tiny.function, shape, stream, &bytes);
    println!("| a launch where no context is current | {} |", if taken { "is taken" } else { "is refused" });
    if taken {
        each("such a launch", 20_000, &mut || raw.launch(tiny.function, shape, stream, &bytes));
    }
    // SAFETY: event and stream live.
    let recorded = unsafe { calls.event_record(event as Handle, stream as Handle) };
    println!("| an event recorded where no context is current | {recorded:?} |");
    raw.enter();
    each("a launch, arguments as a list", 20_000, &mut || raw.launch_one(tiny.function, stream, parameters));
    each("a launch, arguments as a block", 20_000, &mut || raw.launch(tiny.function, shape, stream, &bytes));
    each("record an event", 20_000, &mut || raw.record(event, stream));
    // SAFETY: event and stream live.
    each("look whether an event is reached", 100_000, &mut || unsafe { calls.event_query(event as Handle).unwrap() });
}

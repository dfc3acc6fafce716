//! Every call of the driver that a piece of work makes fails once: at once, and for good. Nothing hangs, nothing wrong is read, nothing is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver, FaultCause, GraphRequest, Grid, HostRows, HostSource,
    HostTarget, KernelId, Launch, Node, NodeWork, OpenOptions, Pitched, Position, Queue, Region, Waited,
};
use mock::scene::{Gate, thread};
use parking_lot::Mutex;

const PATIENCE: Duration = Duration::from_secs(30);
/// More than one piece of a read, and more than writes in one piece.
const LONG: u64 = (4 << 20) + 5;

fn bytes(size: u64, seed: u64) -> Vec<u8> {
    (0..size).map(|n| (n.wrapping_mul(31) ^ (n >> 8) ^ seed) as u8).collect()
}

/// Reads, and says what is there; a failure of the call or of the wait is one of the work.
fn read(queue: &dyn Queue, at: Position, from: Region) -> Result<Vec<u8>, DeviceError> {
    let target = HostTarget::staging(from.size as usize).unwrap();
    queue.read(at, from, target.clone())?;
    assert_eq!(queue.wait(at, Some(PATIENCE))?, Waited::Done, "a read does not end");
    // SAFETY: the read is over.
    Ok(unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec())
}

/// Some of everything. What it reads is looked at; its first failure ends it.
fn work(device: &Arc<dyn Device>, woken: &Arc<AtomicU32>) -> Result<(), DeviceError> {
    let (a, b) = (device.create_queue()?, device.create_queue()?);
    let region = |size| device.allocate(size).map(|memory| Region { memory, offset: 0, size });
    let (small, long) = (region(4096)?, region(LONG)?);
    static SECOND: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| bytes(LONG, 2));
    let (first, second) = (bytes(4096, 1), &*SECOND);
    a.write(1, small, &first)?;
    a.stamp(2)?;
    a.write(2, long, second)?;
    let count = Arc::clone(woken);
    a.notify(2, Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
    b.wait_for(a.id(), 2)?;
    let part = Region { offset: 100, size: 4096, ..long };
    b.copy(1, part, small)?;
    b.copy_2d(
        2,
        &Pitched {
            from: Region { size: 300, ..long },
            to: Region { size: 600, ..small },
            width: 100,
            rows: 3,
            from_pitch: 100,
            to_pitch: 250,
        },
    )?;
    let got = read(&*b, 3, small)?;
    assert_eq!(got[600..], second[700..4196], "what the other queue wrote");
    assert_eq!(got[250..350], second[100..200], "rows");
    a.wait_for(b.id(), 3)?;
    a.fill(3, Region { offset: 3, size: 4001, ..small }, &[1, 2, 3, 4, 5, 6, 7, 8])?;
    let rows = HostRows { region: Region { size: 64, ..small }, width: 8, rows: 4, pitch: 16, host_pitch: 8 };
    a.write_2d(4, &rows, &bytes(32, 9))?;
    let got = read(&*a, 5, small)?;
    assert_eq!((&got[16..24], got[67], &got[4004..]), (&bytes(32, 9)[8..16], 1, &second[4104..4196]), "a fill and rows over it");
    let got = read(&*a, 6, long)?;
    assert!(got == *second, "a long read");
    let pinned = device.allocate_staging(4096)?;
    a.read(7, small, pinned.clone())?;
    // SAFETY: it is read behind the read that fills it, and lives until both are over.
    a.write_borrowed(8, Region { offset: 4096, size: 4096, ..long }, unsafe { HostSource::new(pinned.pointer(), 4096) })?;
    assert_eq!(
        read(&*a, 9, Region { offset: 4096, size: 4096, ..long })?[4004..],
        second[4104..4196],
        "what went through pinned memory"
    );
    device.free(small.memory);
    device.free(long.memory);
    Ok(())
}

/// Graphs with a node of each kind, changed between replays.
fn graphs(device: &Arc<dyn Device>, _: &Arc<AtomicU32>) -> Result<(), DeviceError> {
    let queue = &*device.create_queue()?;
    let region = |size| device.allocate(size).map(|memory| Region { memory, offset: 0, size });
    let (small, long) = (region(1000)?, region(20_001)?);
    let part = |of: Region, offset, size| Region { offset, size, ..of };
    let (long_pattern, word) = ([1, 2, 3, 4, 5, 6, 7, 8], [9, 8, 7, 6]);
    let fill = |pattern| NodeWork::Fill { to: part(small, 0, 402), pattern };
    let copy = |offset| NodeWork::Copy { from: part(long, offset, 16), to: part(small, 500, 16) };
    let nodes = [
        Node { work: NodeWork::Fill { to: part(long, 0, 20_001), pattern: &long_pattern }, after: &[] },
        Node { work: fill(&[3]), after: &[] },
        Node { work: NodeWork::Join, after: &[0, 1] },
        Node { work: copy(16_000), after: &[2] },
        Node { work: NodeWork::Fill { to: part(small, 600, 7), pattern: &word }, after: &[2] },
    ];
    let mut at = 1;
    for timed in [false, true] {
        let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed, label: "failures" })?;
        queue.replay(at, graph)?;
        device.update_graph(graph, 1, &fill(&[4]))?;
        queue.replay(at + 1, graph)?;
        device.update_graph(graph, 3, &copy(16_001))?;
        queue.replay(at + 2, graph)?;
        let got = read(queue, at + 3, small)?;
        assert_eq!((&got[..402], &got[500..508]), (&[4; 402][..], &[2, 3, 4, 5, 6, 7, 8, 1][..]), "what replays left");
        assert_eq!(got[600..607], [9, 8, 7, 6, 9, 8, 7], "a fill that is cut short");
        let times = device.graph_times(graph);
        // The times themselves may fail to be taken.
        assert!(times.is_none() || timed && times.is_some_and(|times| times.len() == nodes.len() && times[2] == 0));
        device.drop_graph(graph);
        at += 4;
    }
    device.free(small.memory);
    device.free(long.memory);
    Ok(())
}

/// What a test does while calls fail.
type Work = fn(&Arc<dyn Device>, &Arc<AtomicU32>) -> Result<(), DeviceError>;

/// What its work has to call, so that each of them fails.
const GRAPH_CALLS: [&str; 10] = [
    "graph_create",
    "graph_destroy",
    "graph_instantiate",
    "graph_launch",
    "graph_executable_destroy",
    "graph_add_empty",
    "graph_add_fill_in",
    "graph_add_copy_in",
    "graph_set_fill_in",
    "graph_set_copy_in",
];

/// Runs the work while the `call`-th call whose name begins with `only` fails, and names it. `None`: there are fewer.
fn fail_once(mock: &mock::Mock, work: Work, only: &'static str, call: u64, code: i32) -> Option<&'static str> {
    let woken = Arc::new(AtomicU32::new(0));
    mock.arm(only, call, code);
    let outcome = mock.driver.open(0, &OpenOptions::default()).and_then(|device| work(&device, &woken));
    let deadline = Instant::now() + PATIENCE;
    // The context is the last thing that a device gives back.
    while mock.left()[4] > 0 {
        let failed = mock.failed();
        assert!(Instant::now() < deadline, "after {failed:?} answered {code}, the context is left behind");
        std::thread::sleep(Duration::from_micros(200));
    }
    let failed = mock.disarm();
    let Some(failed) = failed else {
        outcome.unwrap();
        return None;
    };
    let sticky = code == mock::STICKY;
    match outcome {
        Ok(()) => {}
        Err(DeviceError::Lost(cause)) if sticky => {
            assert!(!cause.reopen && cause.message.contains("new process"), "{}", cause.message)
        }
        Err(DeviceError::OutOfMemory { .. } | DeviceError::NoMemoryFor { .. }) if code == mock::OUT_OF_MEMORY => {}
        // The runtime makes such a graph anew.
        Err(DeviceError::Unsupported(_)) if code == mock::REFUSED && failed.starts_with("graph_set") => {}
        // A code that says that the call was wrong where work has to be asked for ends the device.
        Err(DeviceError::Driver { .. } | DeviceError::Lost(_)) if !sticky => {}
        // Nothing answers any more, not even who it is.
        Err(DeviceError::Driver { .. } | DeviceError::Internal(_)) if sticky => {}
        Err(other) => panic!("{failed} answered {code}: {other}"),
    }
    // What the driver itself refused to end stays; after a sticky error it ends nothing at all.
    let ends = failed.contains("free")
        || failed.contains("destroy")
        || failed.contains("release")
        || failed.contains("context")
        || sticky;
    assert!(ends || mock.left() == [0; 6], "after {failed} answered {code}, left behind: {:?}", mock.left());
    Some(failed)
}

fn each_call_fails(work: Work, only: &'static str, code: i32, must: &[&str]) {
    mock::POOLS.store(true, Ordering::Relaxed);
    let (tell, told) = mpsc::channel();
    // On a thread of its own, so that a hang is seen.
    std::thread::spawn(move || {
        let mut call = 1;
        loop {
            let mock = mock::Mock::new();
            let failed = fail_once(&mock, work, only, call, code);
            drop(mock);
            tell.send((call, failed)).unwrap();
            if failed.is_none() {
                return;
            }
            // The first calls are all different; later ones repeat themselves, as events are asked for again and again.
            call += if call < 150 || !only.is_empty() { 1 } else { 13 };
        }
    });
    let (mut last, mut names) = (0, Vec::new());
    loop {
        match told.recv_timeout(PATIENCE * 3) {
            Ok((call, Some(failed))) => {
                names.push(failed);
                last = call;
            }
            Ok((call, None)) => {
                assert!(call > 100 || !only.is_empty(), "the work made {call} calls only");
                assert!(must.iter().all(|name| names.contains(name)), "failed: {names:?}");
                return;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs when a call after the {last}-th answers {code}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("ended when a call after the {last}-th answered {code}"),
        }
    }
}

#[test]
fn every_call_runs_out_of_memory_once() {
    each_call_fails(work, "", mock::OUT_OF_MEMORY, &[]);
    each_call_fails(graphs, "graph_", mock::OUT_OF_MEMORY, &GRAPH_CALLS);
}

#[test]
fn every_call_is_refused_once() {
    each_call_fails(work, "", mock::REFUSED, &[]);
    each_call_fails(graphs, "graph_", mock::REFUSED, &GRAPH_CALLS);
}

#[test]
fn t12_every_call_finds_the_device_dead_once() {
    each_call_fails(work, "", mock::STICKY, &[]);
    each_call_fails(graphs, "graph_", mock::STICKY, &GRAPH_CALLS);
}

#[test]
fn t12_a_fault_completes_every_position_and_wakes_everybody_once() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::new();
    let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let (a, b) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let memory = device.allocate(100).unwrap();
    let woken = Arc::new(AtomicU32::new(0));
    for (queue, at) in [(&a, 1), (&a, 1000), (&b, 7)] {
        let count = Arc::clone(&woken);
        queue.notify(at, Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
    }
    mock.arm("", 1, mock::STICKY);
    let answer = a.fill(1, Region { memory, offset: 0, size: 100 }, &[1]);
    assert!(matches!(&answer, Err(DeviceError::Lost(_))), "{answer:?}");
    let deadline = Instant::now() + PATIENCE;
    while woken.load(Ordering::SeqCst) < 3 || a.completed() != Position::MAX || b.completed() != Position::MAX {
        assert!(
            Instant::now() < deadline,
            "{} of 3 were told; {} and {} completed",
            woken.load(Ordering::SeqCst),
            a.completed(),
            b.completed()
        );
        std::thread::yield_now();
    }
    assert!(device.fault().is_some_and(|cause| !cause.reopen && &*cause.name == "STICKY"));
    assert!(matches!(b.fill(8, Region { memory, offset: 0, size: 1 }, &[1]), Err(DeviceError::Lost(_))));
    assert!(matches!(device.allocate(1), Err(DeviceError::Lost(_))));
    drop((a, b, device));
    while mock.left()[4] > 0 {
        assert!(Instant::now() < deadline, "the context is left behind");
        std::thread::yield_now();
    }
    assert_eq!(woken.load(Ordering::SeqCst), 3, "somebody was told twice");
}

#[test]
fn t12_a_fault_ends_all_devices_of_the_process_at_once_with_the_first_cause() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::new();
    mock.set_devices(2, &[]);
    let [first, other] = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
    let (a, b) = (first.create_queue().unwrap(), other.create_queue().unwrap());
    let [memory, theirs] = [&first, &other].map(|device| device.allocate(100).unwrap());
    let woken = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&woken);
    b.notify(7, Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
    mock.arm("", 1, mock::STICKY);
    assert!(matches!(a.fill(1, Region { memory, offset: 0, size: 100 }, &[1]), Err(DeviceError::Lost(_))));
    // Nobody has called the other one.
    let (mut cause, mut told) = (first.fault().unwrap(), other.fault().unwrap());
    // A thread of the other one may have made the call that failed.
    let finder = if told.message.starts_with("device") { 0 } else { 1 };
    if finder == 1 {
        std::mem::swap(&mut cause, &mut told);
    }
    assert_eq!((cause.code, &*cause.name, cause.reopen), (told.code, &*told.name, told.reopen));
    let begins = told.message.starts_with(&format!("device {finder} of this process ended"));
    assert!(begins && told.message.ends_with(&*cause.message), "{told:?}");
    assert!(matches!(b.fill(1, Region { memory: theirs, offset: 0, size: 1 }, &[1]), Err(DeviceError::Lost(_))));
    let deadline = Instant::now() + PATIENCE;
    while woken.load(Ordering::SeqCst) < 1 || b.completed() != Position::MAX {
        assert!(Instant::now() < deadline, "nobody was told, or {} completed", b.completed());
        std::thread::yield_now();
    }
    // Nor can another one be opened, for the same reason.
    match mock.driver.open(1, &OpenOptions::default()).map(|_| ()) {
        Err(DeviceError::Lost(again)) => assert_eq!(again.message, told.message),
        other => panic!("{other:?}"),
    }
    drop((a, b, first, other));
    while mock.left()[4] > 0 {
        assert!(Instant::now() < deadline, "the context is left behind");
        std::thread::yield_now();
    }
}

/// A kernel that copies two views behind one another.
fn kernel(device: &dyn Device, cancellable: bool) -> Result<KernelId, DeviceError> {
    let source = "@group(0) @binding(0) var<storage> a: array<vec4<u32>, 1>;
        @group(0) @binding(1) var<storage> b: array<vec4<u32>, 1>;
        @group(0) @binding(2) var<storage, read_write> o: array<vec4<u32>, 2>;
        @compute @workgroup_size(1) fn stray() { o[0] = a[0]; o[1] = b[0]; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    device.compile(&CompileRequest {
        source,
        bounds: Bounds::Unchecked,
        cancellable,
        print_room: 0,
        strict: false,
        label: "fault",
    })
}

/// Two devices, and on the first a kernel that can be stopped.
struct Pair {
    devices: [Arc<dyn Device>; 2],
    queue: Arc<dyn Queue>,
    stoppable: KernelId,
    views: [Region; 3],
}

impl Pair {
    fn launch(&self, at: Position, kernel: KernelId, time_limit: u64) -> Result<(), DeviceError> {
        let bindings = self.views.map(Binding::Buffer);
        self.queue.launch(at, &Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit })
    }
}

/// What a device's end is, that somebody has found.
fn cause(device: &dyn Device) -> FaultCause {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match device.fault() {
            Some(cause) => return cause,
            None => assert!(Instant::now() < deadline, "it has not ended"),
        }
        std::thread::yield_now();
    }
}

/// A call that finds a fault; anything for what it answers besides.
type First = fn(&Pair) -> Result<(), DeviceError>;

#[test]
fn t12_whichever_call_is_the_first_to_find_a_fault_names_the_kernel_and_ends_the_other_devices() {
    let allocates: First = |pair| pair.devices[0].allocate(1 << 20).map(drop);
    let compiles: First = |pair| kernel(&*pair.devices[0], false).map(drop);
    let cases: [(&str, u64, First); 10] = [
        ("pool_allocate", 1, allocates),
        ("event_record", 1, allocates),
        ("host_allocate", 1, |pair| pair.queue.write(4, pair.views[0], &[1; 16])),
        ("host_allocate", 1, |pair| pair.devices[0].allocate_staging(100).map(drop)),
        ("module_load", 1, compiles),
        ("module_function", 1, compiles),
        // The word of the queue, for a launch that may be stopped.
        ("pool_allocate", 1, |pair| pair.launch(4, pair.stoppable, 1_000_000_000)),
        // Memory to try the way with, behind that of the other device.
        ("pool_allocate", 2, |pair| {
            let [device, other] = &pair.devices;
            assert!(!device.can_reach(other.peer().unwrap(), None));
            Err(DeviceError::Lost(cause(&**device)))
        }),
        // A device with no work of its own is the first that is told of a fault of the other's.
        ("pool_allocate", 1, |pair| pair.devices[1].allocate(100).map(drop)),
        ("stream_create", 1, |pair| pair.devices[1].create_queue().map(drop)),
    ];
    for (n, (call, times, first)) in cases.into_iter().enumerate() {
        mock::POOLS.store(true, Ordering::Relaxed);
        let mock = mock::Mock::launching();
        mock.set_devices(2, &[]);
        let devices = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
        let device = &*devices[0];
        let views = [16, 16, 32].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
        let (queue, stoppable) = (device.create_queue().unwrap(), kernel(device, true).unwrap());
        let stray = kernel(device, false).unwrap();
        let pair = Pair { queue, stoppable, views, devices };
        mock.stall(true);
        pair.launch(1, stray, 0).unwrap();
        mock.arm(call, times, mock::STICKY);
        let Err(DeviceError::Lost(answer)) = first(&pair) else { panic!("{n}: {call} was to find a fault") };
        let whose = if n < 8 { "this device" } else { "device 0" };
        let words = format!("The only launch of {whose} that was not known to be over was `stray`");
        assert!(!answer.reopen && answer.message.contains(&words), "{n}: {answer:?}");
        let causes = pair.devices.each_ref().map(|device| cause(&**device));
        assert!(causes.iter().all(|cause| cause.message.contains(&words)), "{n}: {causes:?}");
        let told = causes.iter().filter(|cause| cause.message.contains("of this process ended, and all others with it"));
        assert_eq!(told.count(), 1, "{n}: {causes:?}");
        drop(pair);
    }
}

#[test]
fn t12_a_fault_that_opening_a_device_is_the_first_to_find_ends_those_that_are_open() {
    for call in ["device_name", "primary_retain", "context_push", "stream_create"] {
        mock::POOLS.store(true, Ordering::Relaxed);
        let mock = mock::Mock::launching();
        mock.set_devices(2, &[]);
        let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
        let views = [16, 16, 32].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
        let queue = device.create_queue().unwrap();
        let stray = kernel(&*device, false).unwrap();
        mock.stall(true);
        let bindings = views.map(Binding::Buffer);
        let launch = Launch { kernel: stray, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        queue.launch(1, &launch).unwrap();
        mock.arm(call, 1, mock::STICKY);
        let Err(DeviceError::Lost(answer)) = mock.driver.open(1, &OpenOptions::default()) else {
            panic!("{call} was to find a fault")
        };
        let words = "was not known to be over was `stray`";
        assert!(!answer.reopen && answer.message.contains(words), "{call}: {answer:?}");
        assert!(cause(&*device).message.contains(words));
    }
}

/// A call that is told of a fault, with a device that has ended and memory of it.
type Told = fn(&mock::Mock, &dyn Device, Region);

#[test]
fn t12_a_fault_that_a_device_is_told_of_which_has_ended_already_names_the_kernel_to_the_others() {
    let cases: [(&str, Told); 2] = [
        ("context_push", |_, ended, region| ended.free(region.memory)),
        // One that is opened has any of the others look for what may have been it.
        ("primary_retain", |mock, _, _| {
            assert!(matches!(mock.driver.open(2, &OpenOptions::default()).map(drop), Err(DeviceError::Lost(_))));
        }),
    ];
    for (call, first) in cases {
        mock::POOLS.store(true, Ordering::Relaxed);
        let mock = mock::Mock::launching();
        mock.set_devices(3, &[]);
        let [ended, device] = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
        let region = Region { memory: ended.allocate(64).unwrap(), offset: 0, size: 64 };
        let queue = ended.create_queue().unwrap();
        mock.spoil_next_record();
        queue.fill(1, region, &[1]).unwrap();
        let _ = queue.wait(1, Some(PATIENCE));
        let own = cause(&*ended);
        assert!(own.reopen && &*own.name == "REFUSED" && device.fault().is_none(), "{own:?}");
        let views = [16, 16, 32].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
        let (working, stray) = (device.create_queue().unwrap(), kernel(&*device, false).unwrap());
        mock.stall(true);
        let bindings = views.map(Binding::Buffer);
        let launch = Launch { kernel: stray, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        working.launch(1, &launch).unwrap();
        // Whoever of the device's own makes the call meanwhile would name the kernel, too, but not as another device's.
        let caller = std::thread::current().id();
        mock.hook(move |name| {
            if name == call && std::thread::current().id() == caller {
                mock::fail_next(call, mock::STICKY);
            }
        });
        first(&mock, &*ended, region);
        let found = cause(&*device);
        let words = "launch of device 1 that was not known to be over was `stray`";
        let own_words = "launch of this device that was not known to be over was `stray`";
        assert!(!found.reopen && (found.message.contains(words) || found.message.contains(own_words)), "{call}: {found:?}");
        // The first cause stays.
        assert_eq!(ended.fault().unwrap().message, own.message, "{call}");
        mock.hook(|_| {});
        mock.stall(false);
    }
}

#[test]
fn t12_a_context_that_somebody_else_has_reset_is_the_end_of_its_device_alone() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::launching();
    mock.set_devices(2, &[]);
    let [device, twin, other] = [0, 0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
    let [queue, beside, theirs] = [&device, &twin, &other].map(|device| device.create_queue().unwrap());
    let [memory, far] = [&device, &other].map(|device| Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 });
    let stray = kernel(&*device, false).unwrap();
    mock.arm_named("fill_8_async", mock::GONE);
    let Err(DeviceError::Lost(cause)) = queue.fill(1, memory, &[1]) else { panic!("it was to find that all is gone") };
    assert!(cause.reopen && cause.message.contains("reset"), "{cause:?}");
    // No work of ours has done it.
    assert!(!cause.message.contains("Every context") && !cause.message.contains("known to be over"), "{cause:?}");
    // The same GPU, opened once more, had it in the same context.
    assert!(twin.fault().is_some_and(|cause| cause.reopen));
    // Whoever retains the context next gets one of the same name, in which the names of what there was mean nothing, or something else.
    let again = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let touched = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&touched);
    mock.hook(move |call| {
        let harmless = ["context_", "capture_mode", "last_error", "primary_release"].iter().any(|name| call.starts_with(name));
        if !harmless {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    // The two had one context.
    let retained = mock.left()[4] - 1;
    device.free(memory.memory);
    drop(device.allocate_staging(100));
    device.drop_kernel(stray);
    device.trim();
    drop((queue, device, beside, twin));
    let deadline = Instant::now() + PATIENCE;
    while mock.left()[4] > retained {
        assert!(Instant::now() < deadline, "what is left of the device does not end");
        std::thread::yield_now();
    }
    assert_eq!(touched.load(Ordering::SeqCst), 0, "calls about what was gone");
    mock.hook(|_| {});
    assert!(other.fault().is_none() && again.fault().is_none());
    assert_eq!(read(&*theirs, 1, far).unwrap().len(), 64);
    assert!(again.allocate(64).is_ok());
}

/// Resets the first device before the next call of that name, so that nobody else finds it first.
fn reset_at(mock: &mock::Mock, at: &'static str) {
    mock.hook(move |call| {
        if call == at {
            mock::reset(0);
        }
    });
}

/// Two devices of which the first is reset by somebody else, and what the call of the second one that names something of the first leaves of them.
fn reset_meanwhile(what: &str, call: impl FnOnce(&mock::Mock, &[Arc<dyn Device>; 2], &dyn Queue)) {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::launching();
    mock.set_devices(2, &[]);
    let devices = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
    let twin = mock.driver.open(1, &OpenOptions::default()).unwrap();
    let queue = devices[1].create_queue().unwrap();
    let far = Region { memory: devices[1].allocate(64).unwrap(), offset: 0, size: 64 };
    queue.fill(1, far, &[7]).unwrap();
    call(&mock, &devices, &*queue);
    mock.hook(|_| {});
    let [device, other] = &devices;
    assert!(device.fault().is_some_and(|cause| cause.reopen && cause.message.contains("reset")), "{what}: {:?}", device.fault());
    assert!(other.fault().is_none() && twin.fault().is_none(), "{what}: the one that works has ended: {:?}", other.fault());
    mock.stall(false);
    assert_eq!(read(&*queue, 9, far).unwrap(), [7; 64], "{what}");
    assert!(
        other.allocate(64).is_ok() && mock.driver.open(0, &OpenOptions::default()).is_ok_and(|again| again.allocate(64).is_ok())
    );
}

#[test]
fn t12_a_device_whose_context_is_gone_ends_before_the_same_one_is_opened_again() {
    reset_meanwhile("another device", |mock, [device, _], _| {
        mock::reset(0);
        let again = mock.driver.open(0, &OpenOptions::default()).unwrap();
        assert!(device.fault().is_some() && again.fault().is_none());
        assert!(device.allocate(64).is_err() && again.allocate(64).is_ok());
    });
}

#[test]
fn t12_a_context_that_is_found_to_be_gone_from_another_device_is_the_end_of_its_own() {
    // For a position that a marker covers already: only the event is named.
    reset_meanwhile("a wait", |mock, [device, other], queue| {
        mock.stall(true);
        let source = device.create_queue().unwrap();
        let near = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        source.fill(1, near, &[1]).unwrap();
        let (peer, first) = (device.peer().unwrap(), other.create_queue().unwrap());
        first.wait_for_peer(peer, source.id(), 1).unwrap();
        reset_at(mock, "stream_wait");
        queue.wait_for_peer(peer, source.id(), 1).unwrap();
    });
    reset_meanwhile("a way", |mock, [device, other], _| {
        reset_at(mock, "peer_enable_context");
        assert!(!other.can_reach(device.peer().unwrap(), None));
    });
    // The way is open in the driver already, which says so before it looks at the context; then its pool, which is gone, would be named.
    reset_meanwhile("a way that is open", |mock, [device, other], _| {
        mock::reset(0);
        mock.arm_named("peer_enable_context", mock::PEER_ENABLED);
        assert!(!other.can_reach(device.peer().unwrap(), None));
    });
    // Nobody but the copy has a reason to ask a device that has nothing to do.
    reset_meanwhile("a copy", |_, [device, other], queue| {
        let near = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        let to = Region { memory: other.allocate(64).unwrap(), offset: 0, size: 64 };
        let peer = device.peer().unwrap();
        assert!(other.can_reach(peer, None));
        mock::reset(0);
        queue.copy_peer(2, (peer, near), to).unwrap();
        assert_eq!(queue.wait(2, Some(PATIENCE)).unwrap(), Waited::Done);
        let failures = queue.take_late();
        assert!(failures.iter().any(|failure| failure.position == 2), "the copy has not been: {failures:?}");
    });
}

#[test]
fn t12_what_a_closed_device_has_left_is_not_named_in_the_context_that_comes_after_a_reset() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::launching();
    let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let queue = device.create_queue().unwrap();
    let pinned = device.allocate_staging(100).unwrap();
    let [entered, left] = [(); 2].map(|()| Arc::new(Gate::default()));
    let touched = Arc::new(Mutex::new(Vec::new()));
    let (inside, free, names) = (Arc::clone(&entered), Arc::clone(&left), Arc::clone(&touched));
    mock.hook(move |call| {
        if !thread("compute-reclaim") {
            return;
        }
        if call == "host_free" {
            inside.open();
            free.wait();
            return;
        }
        let harmless = ["context_", "capture_mode", "last_error", "primary_release"].iter().any(|name| call.starts_with(name));
        if !harmless && free.is_open() {
            names.lock().push(call);
        }
    });
    drop(pinned);
    entered.wait();
    drop((queue, device));
    let deadline = Instant::now() + PATIENCE;
    // The last thing that its other threads do; what is left is the stream and events.
    while mock.left()[3] > 0 {
        assert!(Instant::now() < deadline, "the device does not end");
        std::thread::yield_now();
    }
    mock::reset(0);
    let again = mock.driver.open(0, &OpenOptions::default()).unwrap();
    assert!(again.fault().is_none() && again.allocate(64).is_ok());
    left.open();
    while mock.left()[4] > 1 {
        assert!(Instant::now() < deadline, "what is left of the device does not end");
        std::thread::yield_now();
    }
    assert!(touched.lock().is_empty(), "calls about what was gone: {:?}", touched.lock());
    mock.hook(|_| {});
    assert!(again.fault().is_none() && again.allocate(64).is_ok());
}

#[test]
fn t12_no_context_is_retained_while_a_call_is_on_its_way_into_the_one_before() {
    // The plain way, the general one, and a look.
    for on_its_way in ["launch", "fill_8_async", "event_query"] {
        mock::POOLS.store(true, Ordering::Relaxed);
        let mock = mock::Mock::launching();
        let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
        let (queue, stray) = (device.create_queue().unwrap(), kernel(&*device, false).unwrap());
        let regions = [16, 16, 32].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
        let bindings = regions.map(Binding::Buffer);
        let launch = Launch { kernel: stray, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        queue.launch(1, &launch).unwrap();
        assert_eq!(queue.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
        mock.stall(true);
        queue.launch(2, &launch).unwrap();
        let [entered, left] = [(); 2].map(|()| Arc::new(Gate::default()));
        let (inside, go_on) = (Arc::clone(&entered), Arc::clone(&left));
        let order = Arc::new(Mutex::new(Vec::new()));
        let calls = Arc::clone(&order);
        mock.hook(move |call| {
            if call == on_its_way && thread("caller") {
                inside.open();
                go_on.wait();
            }
            if call == on_its_way && thread("caller") || call == "primary_retain" {
                calls.lock().push(call);
            }
        });
        let opened = std::thread::scope(|scope| {
            let work = || match on_its_way {
                "launch" => queue.launch(3, &launch),
                "fill_8_async" => queue.fill(3, regions[0], &[1]),
                _ => queue.wait(2, Some(PATIENCE)).map(drop),
            };
            let caller = std::thread::Builder::new().name("caller".into()).spawn_scoped(scope, work).unwrap();
            entered.wait();
            mock::reset(0);
            let opener = scope.spawn(|| mock.driver.open(0, &OpenOptions::default()));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!opener.is_finished() && order.lock().is_empty(), "{on_its_way}: the next context is there");
            left.open();
            let answer = caller.join().unwrap();
            assert!(matches!(&answer, Err(DeviceError::Lost(cause)) if cause.reopen), "{on_its_way}: {answer:?}");
            opener.join().unwrap().unwrap()
        });
        assert_eq!(order.lock().last(), Some(&"primary_retain"), "{on_its_way}: {:?}", order.lock());
        mock.hook(|_| {});
        mock.stall(false);
        assert!(opened.fault().is_none() && opened.allocate(64).is_ok());
    }
}

#[test]
fn t12_a_device_that_ended_with_its_context_ends_no_device_of_the_next_one() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::launching();
    let [device, twin] = [0, 0].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
    let beside = device.create_queue().unwrap();
    let region = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
    mock::reset(0);
    mock.arm_named("fill_8_async", mock::GONE);
    assert!(matches!(beside.fill(1, region, &[1]), Err(DeviceError::Lost(_))));
    assert!(device.fault().is_some() && twin.fault().is_some());
    let again = mock.driver.open(0, &OpenOptions::default()).unwrap();
    // Told once more.
    assert!(device.allocate(64).is_err() && twin.allocate(64).is_err());
    device.free(region.memory);
    drop((beside, device, twin));
    assert!(again.fault().is_none() && again.allocate(64).is_ok());
}

#[test]
fn t12_a_fault_that_comes_while_another_device_is_opened_ends_that_one_with_its_cause() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::launching();
    mock.set_devices(2, &[]);
    let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let views = [16, 16, 32].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
    let queue = device.create_queue().unwrap();
    let stray = kernel(&*device, false).unwrap();
    mock.stall(true);
    let bindings = views.map(Binding::Buffer);
    let launch = Launch { kernel: stray, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
    queue.launch(1, &launch).unwrap();
    // Behind the question whether the other one's context works.
    let own = Arc::clone(&device);
    let once = AtomicU32::new(0);
    mock.hook(move |call| {
        if call == "pool_create" && once.fetch_add(1, Ordering::SeqCst) == 0 {
            mock::fail_next("stream_create", mock::STICKY);
            assert!(own.create_queue().is_err());
        }
    });
    let Err(DeviceError::Lost(told)) = mock.driver.open(1, &OpenOptions::default()) else { panic!("it is dead") };
    mock.hook(|_| {});
    assert!(told.message.contains("launch of this device that was not known to be over was `stray`"), "{told:?}");
    assert!(told.message.contains("device 0 of this process ended, and all others with it"), "{told:?}");
    assert!(cause(&*device).message.contains("`stray`"));
    // One that is opened later finds the driver well again.
    mock.stall(false);
    assert!(mock.driver.open(1, &OpenOptions::default()).is_ok_and(|again| again.fault().is_none()));
}

#[test]
fn t12_l5_what_a_launch_had_recorded_before_a_fault_is_told_with_it() {
    // Nobody has looked whether it is over; with an event behind it, and with none.
    for marked in [true, false] {
        mock::POOLS.store(true, Ordering::Relaxed);
        let mock = mock::Mock::launching();
        let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
        let source = "@group(0) @binding(0) var<storage> a: array<vec4<u32>, 1>;
            @group(0) @binding(1) var<storage> b: array<vec4<u32>, 1>;
            @group(0) @binding(2) var<storage, read_write> o: array<vec4<u32>, 2>;
            @compute @workgroup_size(1) fn careful() {
                o[a[0].x] = b[0];
            }";
        let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
        let careful = CompileRequest {
            source: CompileSource::Portable(&entry),
            bounds: Bounds::Validate,
            cancellable: false,
            print_room: 0,
            strict: false,
            label: "careful",
        };
        let (careful, stray) = (device.compile(&careful).unwrap(), kernel(&*device, false).unwrap());
        let queue = device.create_queue().unwrap();
        let bindings = [16, 16, 32].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
        let bindings = bindings.map(Binding::Buffer);
        let launch = |at, kernel| {
            queue.launch(at, &Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 })
        };
        mock.stall(true);
        launch(1, careful).unwrap();
        mock.record_violation(77, 2);
        if marked {
            assert_eq!(queue.wait(1, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
        }
        mock.arm("launch", 1, mock::STICKY);
        let Err(DeviceError::Lost(cause)) = launch(2, stray) else { panic!("it was to find a fault") };
        assert!(cause.message.contains("`careful`, `stray`"), "{cause:?}");
        assert!(cause.message.contains("`careful` had an index into `o` out of range at 5:17"), "{cause:?}");
    }
}

/// A call about somebody else's event.
type Native = fn(&dyn Queue, u64) -> Result<(), DeviceError>;

#[test]
fn t14_an_event_of_a_context_that_is_gone_is_refused_and_ends_nothing() {
    let calls: [(&str, Native); 3] = [
        ("event_query", |queue, event| queue.wait_native(event)),
        ("stream_wait", |queue, event| queue.wait_native(event)),
        ("event_record", |queue, event| queue.record_native(event).map(drop)),
    ];
    for (call, refused) in calls {
        let mock = mock::Mock::new();
        let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
        let queue = device.create_queue().unwrap();
        let event = mock.event_gone(1);
        if call == "stream_wait" {
            // Between the question and the wait.
            mock.arm_named(call, mock::GONE);
        }
        let event = if call == "stream_wait" { mock.event(false) } else { event };
        match refused(&*queue, event) {
            Err(DeviceError::Driver { code, message, .. }) => {
                assert!(code == i64::from(mock::GONE) && message.contains("the event's context"), "{call}: {message}")
            }
            other => panic!("{call}: {other:?}"),
        }
        assert!(device.fault().is_none(), "{call}: {:?}", device.fault());
        let region = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        queue.fill(1, region, &[3]).unwrap();
        assert_eq!(read(&*queue, 2, region).unwrap(), [3; 64], "{call}");
        // Its own context's end is still one.
        mock::reset(0);
        assert!(matches!(refused(&*queue, mock.event(false)), Err(DeviceError::Lost(cause)) if cause.reopen), "{call}");
    }
}

#[test]
fn t12_where_a_vendor_does_not_say_that_a_fault_ends_all_devices_it_ends_its_own() {
    let mock = mock::Mock::amd();
    mock.set_devices(2, &[]);
    let [device, other] = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
    let (queue, theirs) = (device.create_queue().unwrap(), other.create_queue().unwrap());
    let [memory, far] = [&device, &other].map(|device| Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 });
    mock.arm_named("fill_8_async", mock::STICKY);
    let Err(DeviceError::Lost(cause)) = queue.fill(1, memory, &[1]) else { panic!("it was to find a fault") };
    assert!(cause.reopen && !cause.message.contains("new process") && !cause.message.contains("Every context"), "{cause:?}");
    assert!(device.fault().is_some() && other.fault().is_none());
    assert_eq!(read(&*theirs, 1, far).unwrap().len(), 64);
    assert!(mock.driver.open(0, &OpenOptions::default()).unwrap().allocate(64).is_ok());
}

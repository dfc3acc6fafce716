//! Every call of HIP that a piece of work makes fails once: at once, or late, which is when the turn of what it enqueued has come. Nothing hangs, nothing wrong is
//! read, nothing is left behind. Unlike the tests of `compute-cuda-hip`, these run kernels, on streams that are really asynchronous.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]
#![allow(dead_code, reason = "a part of `common` is used")]

mod common;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{Control, KINDS};
use compute_cuda_hip::GpuDriver;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver as _, GraphRequest, Grid, HostTarget, KernelId,
    LateCause, LateFailure, Launch, Node, NodeWork, OpenOptions, Position, Queue, Region, Waited,
};

const PATIENCE: Duration = Duration::from_secs(30);
const OUT_OF_MEMORY: i32 = 2;
const REFUSED: i32 = 1;
const DEAD: i32 = 719;

/// The stand-in counts the calls of everybody.
static ONE: Mutex<()> = Mutex::new(());

const ADD: &str = "@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&o)) { o[id.x] = o[id.x] * 3u + a[id.x]; }
}";

/// It has a record of its own, and meets at a barrier.
const TURN: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
var<workgroup> w: array<u32, 64>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    w[l] = o[id.x];
    workgroupBarrier();
    o[id.x] = w[63u - l];
}";

fn compile(device: &dyn Device, source: &str, bounds: Bounds) -> Result<KernelId, DeviceError> {
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    device.compile(&CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "failures" })
}

/// One queue with its positions.
struct Lane {
    queue: Arc<dyn Queue>,
    last: Position,
}

impl Lane {
    fn at(&mut self) -> Position {
        self.last += 1;
        self.last
    }

    fn launch(&mut self, kernel: KernelId, grid: Grid, views: &[Region]) -> Result<(), DeviceError> {
        let bindings: Vec<Binding<'_>> = views.iter().map(|view| Binding::Buffer(*view)).collect();
        let at = self.at();
        self.queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 })
    }

    /// What is there. `None`: the device has ended, and what is there means nothing.
    fn read(&mut self, device: &dyn Device, from: Region) -> Result<Option<Vec<u32>>, DeviceError> {
        let target = device.allocate_staging(from.size as usize)?;
        let at = self.at();
        self.queue.read(at, from, target.clone())?;
        self.finish(at)?;
        Ok(device.fault().is_none().then(|| words(&target, from.size as usize)))
    }

    fn finish(&self, at: Position) -> Result<(), DeviceError> {
        assert_eq!(self.queue.wait(at, Some(PATIENCE))?, Waited::Done, "position {at} does not complete");
        assert!(self.queue.completed() >= at);
        Ok(())
    }
}

fn words(target: &HostTarget, size: usize) -> Vec<u32> {
    // SAFETY: what was read into it is over, and it has so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(target.pointer(), size) };
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

const COUNT: u32 = 1000;

/// Some of everything. What it reads is looked at; its first failure ends it.
fn work(device: &Arc<dyn Device>) -> Result<(), DeviceError> {
    let mut lanes = [Lane { queue: device.create_queue()?, last: 0 }, Lane { queue: device.create_queue()?, last: 0 }];
    let [first, second] = &mut lanes;
    let (add, turn) = (compile(&**device, ADD, Bounds::Checked)?, compile(&**device, TURN, Bounds::Validate)?);
    let block = |words: u32| {
        let size = u64::from(words) * 4;
        device.allocate(size).map(|memory| Region { memory, offset: 0, size })
    };
    let (a, o, grid) = (block(COUNT)?, block(COUNT)?, block(3)?);
    let bytes = |words: &mut dyn Iterator<Item = u32>| words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let at = first.at();
    first.queue.write(at, a, &bytes(&mut (0..COUNT)))?;
    let at = first.at();
    first.queue.fill(at, o, &1_u32.to_le_bytes())?;
    let at = first.at();
    first.queue.write(at, grid, &bytes(&mut [16, 1, 1].into_iter()))?;
    first.launch(add, Grid::Direct([16, 1, 1]), &[a, o])?;
    second.queue.wait_for(first.queue.id(), first.last)?;
    second.launch(add, Grid::Indirect(grid), &[a, o])?;
    // The first 960 words are whole workgroups.
    let whole = Region { size: 960 * 4, ..o };
    second.launch(turn, Grid::Direct([15, 1, 1]), &[whole])?;
    let mut expected: Vec<u32> = (0..COUNT).map(|n| (3 + n) * 3 + n).collect();
    expected[..960].chunks_exact_mut(64).for_each(<[u32]>::reverse);
    let got = second.read(&**device, o)?;
    // Counts that the host reads are there after the launch was accepted, so that its failure is told late.
    if let Some(LateFailure { cause: LateCause::Driver { code, name, message }, .. }) = second.queue.take_late().pop() {
        return Err(DeviceError::Driver { call: "launch", code, name, message });
    }
    if let Some(got) = got {
        assert_eq!(got, expected, "what two queues computed");
    }
    first.queue.wait_for(second.queue.id(), second.last)?;
    let at = first.at();
    let (low, high) = (Region { size: 400, ..o }, Region { offset: 2000, size: 400, ..o });
    first.queue.copy(at, low, high)?;
    if let Some(got) = first.read(&**device, high)? {
        assert_eq!(got, expected[..100], "a copy");
    }
    replays(device, first, add, [a, o, whole])?;
    for lane in &lanes {
        assert!(lane.queue.take_late().is_empty(), "nothing of this fails late by itself");
        lane.finish(lane.last)?;
    }
    device.drop_kernel(add);
    device.drop_kernel(turn);
    [a, o, grid].into_iter().for_each(|block| device.free(block.memory));
    Ok(())
}

const SCALE: &str = "@group(0) @binding(0) var<uniform> by: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = o[id.x] * by.y; }";

/// A graph with a node of each kind, each of them changed between replays.
fn replays(device: &Arc<dyn Device>, lane: &mut Lane, add: KernelId, [a, o, whole]: [Region; 3]) -> Result<(), DeviceError> {
    let scale = compile(&**device, SCALE, Bounds::Unchecked)?;
    let [by, later] = [[0, 10, 0, 0], [0, 100, 0, 0]].map(|by: [u32; 4]| by.map(u32::to_le_bytes).concat());
    let views = [Binding::Buffer(a), Binding::Buffer(o)];
    let launch = |kernel, x, bindings| {
        NodeWork::Launch(Launch { kernel, grid: Grid::Direct([x, 1, 1]), bindings, immediates: &[], time_limit: 0 })
    };
    let (one, two) = (1_u32.to_le_bytes(), 2_u32.to_le_bytes());
    let fill = |pattern| NodeWork::Fill { to: o, pattern };
    let (scaled, rescaled) = ([Binding::Inline(&by), Binding::Buffer(whole)], [Binding::Inline(&later), Binding::Buffer(whole)]);
    let part = |offset| Region { offset, size: 160, ..o };
    let copy = |from| NodeWork::Copy { from: part(from), to: part(3840) };
    let nodes = [
        Node { work: fill(&one), after: &[] },
        Node { work: launch(add, 16, &views), after: &[0] },
        Node { work: launch(scale, 15, &scaled), after: &[1] },
        Node { work: NodeWork::Join, after: &[1, 2] },
        Node { work: copy(0), after: &[3] },
    ];
    let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "failures" })?;
    let expected = |start: u32, by: u32, from: u32| {
        let mut words: Vec<u32> = (0..COUNT).map(|n| (start * 3 + n) * if n < 960 { by } else { 1 }).collect();
        words.copy_within(from as usize..from as usize + 40, 960);
        words
    };
    let at = lane.at();
    lane.queue.replay(at, graph)?;
    if let Some(got) = lane.read(&**device, o)? {
        assert_eq!(got, expected(1, 10, 0), "a replay");
    }
    let updates = [(0, fill(&two)), (2, launch(scale, 15, &rescaled)), (4, copy(400))];
    updates.iter().try_for_each(|(node, work)| device.update_graph(graph, *node, work))?;
    let at = lane.at();
    lane.queue.replay(at, graph)?;
    if let Some(got) = lane.read(&**device, o)? {
        assert_eq!(got, expected(2, 100, 100), "a replay after updates");
    }
    device.drop_graph(graph);
    device.drop_kernel(scale);
    Ok(())
}

/// What a failure may look like.
fn expected(error: &DeviceError, code: i32, late: bool, failed: &str) -> bool {
    match error {
        // A device of which a part is in doubt ends, too. No end says anything about other devices.
        DeviceError::Lost(cause) => cause.reopen && (code == DEAD) == cause.message.contains("wrong with other devices"),
        DeviceError::OutOfMemory { .. } | DeviceError::NoMemoryFor { .. } => code == OUT_OF_MEMORY,
        // The runtime makes such a graph anew.
        DeviceError::Unsupported(_) => code == REFUSED && failed.contains("SetParams"),
        // The compiler has codes of its own.
        DeviceError::Compile { .. } => failed.starts_with("hiprtc"),
        // A driver that answers nothing any more cannot be opened either.
        DeviceError::Driver { .. } | DeviceError::Internal(_) => !late,
        _ => false,
    }
}

/// Runs the work while the `n`-th call fails. `None`: there are fewer calls.
fn fail_once(control: &Control, path: &str, n: u64, code: i32, late: bool) -> Option<String> {
    let before = control.living();
    control.fail(n, code, late);
    let driver = GpuDriver::with_libraries(&compute_hip::VENDOR, path, path);
    let outcome = driver.open(0, &OpenOptions::default()).and_then(|device| work(&device));
    drop(driver);
    // What goes back on a thread of the device's may be what fails.
    let deadline = Instant::now() + PATIENCE;
    let left = || control.living().iter().zip(&before).any(|(now, before)| now > before);
    while control.failed().is_none() && left() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    let failed = control.failed();
    let Some(failed) = failed else {
        outcome.unwrap_or_else(|error| panic!("nothing failed, and yet: {error}"));
        return None;
    };
    if let Err(error) = &outcome {
        assert!(expected(error, code, late, &failed), "{failed} answered {code}: {error:?}");
    }
    // What the driver refused to end stays, or to go where it is ended, and so does everything after the end of the device.
    let ends = ["Free", "Destroy", "Unload", "GetDevice", "SetDevice"].iter().any(|end| failed.ends_with(end));
    let ends = ends || failed == "hiprtcDestroyProgram" || late || code == DEAD;
    let deadline = Instant::now() + PATIENCE;
    // Fewer may live than before: what a former round left to be ended may have ended only now.
    while !ends && left() {
        assert!(
            Instant::now() < deadline,
            "after {failed} answered {code}, left of {KINDS:?}: {:?}, before: {before:?}",
            control.living()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    if ends {
        // What is still to be ended shall find the end of the device, not the next round.
        std::thread::sleep(Duration::from_millis(20));
    }
    control.heal();
    Some(failed)
}

fn each_call_fails(only: &'static str, code: i32, late: bool) -> Vec<String> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = common::library() else { return Vec::new() };
    let (tell, told) = channel();
    // On a thread of its own, so that a hang is seen.
    std::thread::spawn(move || {
        let control = Control::new(&path);
        control.set("wave", 64);
        control.only(only);
        let mistakes = control.mistakes();
        let mut n = 1;
        while let Some(failed) = fail_once(&control, path.to_str().unwrap(), n, code, late) {
            tell.send(Some(failed)).unwrap();
            n += 1;
        }
        assert_eq!(control.mistakes(), mistakes, "the standard error says what was wrong");
        control.only("");
        tell.send(None).unwrap();
    });
    let mut failed: Vec<String> = Vec::new();
    loop {
        match told.recv_timeout(PATIENCE * 2) {
            Ok(Some(name)) => failed.push(name),
            Ok(None) => break,
            Err(RecvTimeoutError::Timeout) => {
                panic!("hangs when the call after {:?} (the {}-th) answers {code}", failed.last(), failed.len())
            }
            Err(RecvTimeoutError::Disconnected) => {
                panic!("ended when the call after {:?} (the {}-th) answered {code}", failed.last(), failed.len())
            }
        }
    }
    let mut kinds = failed.clone();
    kinds.sort_unstable();
    kinds.dedup();
    println!("{} calls failed, of {} kinds", failed.len(), kinds.len());
    kinds
}

fn everything_fails(code: i32, late: bool) {
    let kinds = each_call_fails("", code, late);
    assert!(kinds.is_empty() || kinds.len() > 25, "{kinds:?}");
    // Among all calls those of graphs are few, and where they come depends on how often the device was asked for its events.
    let graphs = each_call_fails("hipGraph", code, late);
    assert!(graphs.is_empty() || graphs.len() == 12, "{graphs:?}");
}

#[test]
fn t2_every_call_runs_out_of_memory_once() {
    everything_fails(OUT_OF_MEMORY, false);
}

#[test]
fn t2_every_call_is_refused_once() {
    everything_fails(REFUSED, false);
}

#[test]
fn t12_every_call_finds_the_device_dead_once() {
    everything_fails(DEAD, false);
}

#[test]
fn t12_everything_enqueued_ends_the_device_once() {
    everything_fails(DEAD, true);
}

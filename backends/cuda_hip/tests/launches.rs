//! What a launch asks of the driver, and that the short way of plain launches (`plain`) leaves what the general one leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver, Grid, HostTarget, Kept, KernelId, LateCause,
    LateFailure, Launch, NativeInterface, NativeLanguage, NativeSource, OpenOptions, Position, Queue, Region, Waited,
};

use mock::scene::thread;

const PATIENCE: Duration = Duration::from_secs(10);
/// The context that the device has.
const CONTEXT: usize = 0x1000;

/// A device, a queue, and a kernel that copies the first 16 bytes of two views behind one another.
struct World {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    kernel: KernelId,
    views: [Region; 3],
}

fn kernel(device: &dyn Device) -> KernelId {
    let source = "@group(0) @binding(0) var<storage> a: array<vec4<u32>, 1>;
        @group(0) @binding(1) var<storage> b: array<vec4<u32>, 1>;
        @group(0) @binding(2) var<storage, read_write> o: array<vec4<u32>, 2>;
        @compute @workgroup_size(1) fn main() { o[0] = a[0]; o[1] = b[0]; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request =
        CompileRequest { source, bounds: Bounds::Unchecked, cancellable: false, print_room: 0, strict: false, label: "plain" };
    device.compile(&request).unwrap()
}

impl World {
    /// With one launch made, as the first of a kernel goes the general way.
    fn new(mock: &mock::Mock, pools: bool) -> Self {
        mock::POOLS.store(pools, Ordering::Relaxed);
        let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
        let region = |size| Region { memory: device.allocate(size).unwrap(), offset: 0, size };
        let views = [region(16), region(16), region(32)];
        let (queue, kernel) = (device.create_queue().unwrap(), kernel(&*device));
        let world = Self { device, queue, kernel, views };
        world.queue.fill(1, world.views[0], &[1]).unwrap();
        world.queue.fill(2, world.views[1], &[2]).unwrap();
        world.launch(3).unwrap();
        world.wait(3);
        world
    }

    fn launch(&self, at: Position) -> Result<(), DeviceError> {
        self.launch_on(&*self.queue, at, self.views)
    }

    fn launch_on(&self, queue: &dyn Queue, at: Position, views: [Region; 3]) -> Result<(), DeviceError> {
        let (kernel, bindings) = (self.kernel, views.map(Binding::Buffer));
        queue.launch(at, &Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 })
    }

    fn wait(&self, at: Position) {
        assert_eq!(self.queue.wait(at, Some(PATIENCE)).unwrap(), Waited::Done);
    }

    /// What the launches have left, seen at `at`.
    fn output(&self, at: Position) -> Vec<u8> {
        let target = HostTarget::staging(32).unwrap();
        self.queue.read(at, self.views[2], target.clone()).unwrap();
        self.wait(at);
        // SAFETY: the read is over.
        unsafe { std::slice::from_raw_parts(target.pointer(), 32) }.to_vec()
    }
}

/// What the work calls on this thread, and on one that compiles for it.
fn calls_of(mock: &mock::Mock, work: impl FnOnce()) -> Vec<&'static str> {
    let (calls, own) = (Arc::new(Mutex::new(Vec::new())), std::thread::current().id());
    let list = Arc::clone(&calls);
    mock.hook(move |name| {
        if std::thread::current().id() == own || thread("compute-compile") {
            list.lock().unwrap().push(name);
        }
    });
    work();
    mock.hook(|_| {});
    std::mem::take(&mut *calls.lock().unwrap())
}

#[test]
fn a_plain_launch_asks_the_driver_for_the_context_and_for_the_launch_and_nothing_else() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, true);
    mock.set_current(CONTEXT);
    let calls = calls_of(&mock, || (4..104).for_each(|at| world.launch(at).unwrap()));
    assert_eq!(calls, ["context_current", "launch"].repeat(100));
    mock.set_current(0x9999);
    let calls = calls_of(&mock, || (104..204).for_each(|at| world.launch(at).unwrap()));
    assert_eq!(calls, ["context_current", "context_push", "launch", "context_pop"].repeat(100));
    assert_eq!(mock.current(), 0x9999, "FFI-03");
    assert_eq!(world.output(204), [[1; 16], [2; 16]].concat());
}

#[test]
fn an_event_is_recorded_behind_256_launches_or_when_somebody_waits() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, false);
    mock.set_current(CONTEXT);
    let records = |calls: Vec<&str>| calls.into_iter().filter(|name| *name == "event_record").count();
    assert_eq!(records(calls_of(&mock, || (4..4 + 512).for_each(|at| world.launch(at).unwrap()))), 2);
    world.wait(4 + 511);
    let (tell, told) = std::sync::mpsc::channel();
    world.queue.notify(2000, Box::new(move || _ = tell.send(())));
    assert_eq!(records(calls_of(&mock, || world.launch(2000).unwrap())), 1);
    assert!(told.recv_timeout(PATIENCE).is_ok(), "nobody is told that it is over");
}

#[test]
fn g3_launches_leave_a_capture_of_the_hosts_alone_and_the_mode_of_the_thread_as_it_was() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, true);
    mock.capture();
    // With a marker among them, whose event is asked for.
    (4..304).for_each(|at| world.launch(at).unwrap());
    world.wait(303);
    assert_eq!(mock.captured(), (true, 0));
}

#[test]
fn the_first_launch_of_a_kernel_is_made_whatever_others_capture_as_the_driver_may_load_code_then() {
    let mock = mock::Mock::launching();
    let mut world = World::new(&mock, true);
    world.kernel = kernel(&*world.device);
    mock.set_current(CONTEXT);
    let calls = calls_of(&mock, || world.launch(4).unwrap());
    assert_eq!(calls, ["context_current", "capture_mode", "launch", "capture_mode"]);
}

#[test]
fn a_launch_follows_the_making_of_its_blocks_and_what_its_queue_holds_back() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, true);
    let (ahead, size) = (world.device.create_queue().unwrap(), 32);
    // The stream has not waited for it.
    let new = Region { memory: world.device.allocate(size).unwrap(), offset: 0, size };
    let [a, b, out] = world.views;
    let calls = calls_of(&mock, || world.launch_on(&*world.queue, 4, [a, b, new]).unwrap());
    assert!(calls.contains(&"stream_wait"), "{calls:?}");
    world.wait(4);
    world.queue.wait_for(ahead.id(), 1).unwrap();
    let held = Region { size: 16, ..new };
    let calls = calls_of(&mock, || world.launch_on(&*world.queue, 5, [b, held, out]).unwrap());
    assert!(!calls.contains(&"launch"), "{calls:?}");
    ahead.fill(1, held, &[7]).unwrap();
    assert_eq!(world.output(6), [[2; 16], [7; 16]].concat());
}

#[test]
fn a_plain_launch_that_the_driver_refuses_is_refused_and_the_next_one_is_not() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, false);
    mock.set_current(CONTEXT);
    for call in ["context_current", "launch"] {
        mock.arm_named(call, mock::REFUSED);
        let mut answer = Ok(());
        let calls = calls_of(&mock, || answer = world.launch(4));
        assert!(matches!(answer, Err(DeviceError::Driver { .. })), "{call}: {answer:?}");
        assert_eq!(mock.disarm(), Some(call));
        assert_eq!(calls.last(), Some(&"last_error"), "FFI-03: {calls:?}");
    }
    mock.set_current(0x9999);
    mock.arm_named("launch", mock::OUT_OF_MEMORY);
    assert!(matches!(world.launch(4), Err(DeviceError::OutOfMemory { .. })));
    assert_eq!((mock.disarm(), mock.current()), (Some("launch"), 0x9999));
    world.launch(4).unwrap();
    world.wait(4);
    mock.arm_named("launch", mock::STICKY);
    let lost = world.launch(5);
    assert!(matches!(&lost, Err(DeviceError::Lost(cause)) if cause.message.contains("`main`")), "{lost:?}");
    assert!(matches!(world.launch(6), Err(DeviceError::Lost(_))));
}

#[test]
fn mistakes_in_a_plain_launch_are_told_and_nothing_is_launched() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, false);
    let [a, b, out] = world.views;
    let wrong = [[Region { offset: 8, ..a }, b, out], [a, Region { offset: u64::MAX, ..b }, out]];
    for views in wrong {
        let mut answer = Ok(());
        let calls = calls_of(&mock, || answer = world.launch_on(&*world.queue, 4, views));
        assert!(matches!(answer, Err(DeviceError::Internal(_))) && calls.is_empty(), "{answer:?} {calls:?}");
    }
    let launch = Launch { kernel: world.kernel, grid: Grid::Direct([1; 3]), bindings: &[], immediates: &[], time_limit: 0 };
    assert!(matches!(world.queue.launch(4, &launch), Err(DeviceError::Internal(_))));
    assert!(matches!(world.queue.launch(4, &Launch { time_limit: 1, ..launch }), Err(DeviceError::Internal(_))));
}

#[test]
fn l2_of_a_counted_grid_as_many_workgroups_are_launched_as_the_device_has_at_once() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, false);
    let (kernel, bindings) = (world.kernel, world.views.map(Binding::Buffer));
    let counts = Region { size: 12, ..world.views[0] };
    world.device.prepare_indirect(kernel, None).unwrap();
    world
        .queue
        .launch(4, &Launch { kernel, grid: Grid::Indirect(counts), bindings: &bindings, immediates: &[], time_limit: 0 })
        .unwrap();
    world.wait(4);
    // Ten units, and three workgroups on each, as the driver says.
    assert_eq!(mock.grid(), 30);
    mock.arm_named("resident", mock::REFUSED);
    let kernel = self::kernel(&*world.device);
    world.device.prepare_indirect(kernel, None).unwrap();
    assert_eq!(mock.disarm(), Some("resident"));
    world
        .queue
        .launch(5, &Launch { kernel, grid: Grid::Indirect(counts), bindings: &bindings, immediates: &[], time_limit: 0 })
        .unwrap();
    world.wait(5);
    assert_eq!(mock.grid(), 320, "what invocations allow, where the driver does not say");
}

#[test]
fn t13_a_launch_of_counts_that_the_host_read_fails_late_where_the_driver_refuses_it_and_the_device_goes_on() {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, false);
    let (kernel, bindings) = (world.kernel, world.views.map(Binding::Buffer));
    let counts = Region { size: 12, ..world.views[0] };
    world.queue.fill(4, world.views[0], &[1, 0, 0, 0]).unwrap();
    world.wait(4);
    for (at, armed) in [(5, mock::OUT_OF_MEMORY), (7, mock::REFUSED)] {
        mock.arm_named("launch", armed);
        // Its form that reads the counts on the device was never made.
        let launch = Launch { kernel, grid: Grid::Indirect(counts), bindings: &bindings, immediates: &[], time_limit: 0 };
        world.queue.launch(at, &launch).unwrap();
        world.wait(at);
        assert_eq!(mock.disarm(), Some("launch"));
        let late = world.queue.take_late();
        assert!(matches!(&late[..], [LateFailure { position, cause: LateCause::Driver { .. } }] if *position == at), "{late:?}");
        world.launch(at + 1).unwrap();
        world.wait(at + 1);
    }
}

/// Takes about a MiB of the thread's stack, as compilers do.
#[inline(never)]
fn go_deep(left: usize) -> usize {
    let frame = std::hint::black_box([left; 512]);
    if left == 0 { 0 } else { go_deep(left - 1) + frame.len() }
}

#[test]
fn f1_the_vendors_compilers_have_a_large_stack_whatever_the_callers_is() {
    let mock = mock::Mock::launching();
    mock::POOLS.store(false, Ordering::Relaxed);
    let device = mock.driver.open(0, &OpenOptions { artifacts: true, ..OpenOptions::default() }).unwrap();
    // A driver compiles text while it loads it.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    mock.hook(move |name| {
        if ["compile", "module_load"].contains(&name) {
            assert!(go_deep(256) > 0);
            list.lock().unwrap().push(name);
        }
    });
    let source =
        "@group(0) @binding(0) var<storage, read_write> o: array<u32, 4>; @compute @workgroup_size(1) fn main() { o[0] = 1; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let request = |source| CompileRequest {
        source,
        bounds: Bounds::Unchecked,
        cancellable: false,
        print_room: 0,
        strict: false,
        label: "deep",
    };
    let portable = request(CompileSource::Portable(&entry));
    let (language, name) = (NativeLanguage::Ptx, "main".to_owned());
    let (options, headers, target) = (Vec::new(), Vec::new(), String::new());
    let text = NativeSource {
        language,
        code: b".version 8.0\n.target sm_70\n.address_size 64\n".to_vec(),
        entry: name,
        options,
        headers,
        target,
    };
    let interface = NativeInterface { parameters: Vec::new(), workgroup_size: [1; 3], workgroup_memory: 0 };
    let native = request(CompileSource::Native { source: &text, interface: &interface });
    std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let work = || {
            let kernel = device.compile(&portable).unwrap();
            device.prepare_indirect(kernel, None).unwrap();
            let kept = device.artifact(kernel).unwrap();
            device.restore(&portable, &kept).unwrap();
            device.compile(&native).unwrap();
        };
        small.spawn_scoped(scope, work).unwrap().join().unwrap();
    });
    mock.hook(|_| {});
    let loads = ["compile", "module_load", "compile", "module_load", "module_load", "module_load"];
    assert_eq!(*asked.lock().unwrap(), loads);
}

/// What is kept on disk, but in memory.
#[derive(Default)]
struct Shelf(Mutex<Option<Vec<u8>>>);

impl Kept for Shelf {
    fn restore(&self, restore: &mut dyn FnMut(&[u8]) -> Result<(), DeviceError>) -> Result<bool, DeviceError> {
        let kept = self.0.lock().unwrap().clone();
        kept.map_or(Ok(false), |bytes| match restore(&bytes) {
            Err(lost @ DeviceError::Lost(_)) => Err(lost),
            answer => Ok(answer.is_ok()),
        })
    }

    fn keep(&self, artifact: &[u8]) {
        *self.0.lock().unwrap() = Some(artifact.to_vec());
    }
}

/// Has a process that has compiled nothing yet launch a kernel with a grid from memory; how often that called the compiler.
fn compilations_of_a_counted_launch(shelf: &Shelf) -> usize {
    let mock = mock::Mock::launching();
    let world = World::new(&mock, false);
    let (kernel, bindings) = (world.kernel, world.views.map(Binding::Buffer));
    let counts = Region { size: 12, ..world.views[0] };
    let calls = calls_of(&mock, || world.device.prepare_indirect(kernel, Some(shelf)).unwrap());
    let launch = Launch { kernel, grid: Grid::Indirect(counts), bindings: &bindings, immediates: &[], time_limit: 0 };
    world.queue.launch(4, &launch).unwrap();
    world.wait(4);
    assert_eq!(mock.grid(), 30, "in the form that reads its counts");
    calls.iter().filter(|call| **call == "compile").count()
}

#[test]
fn l7_the_form_of_a_kernel_that_reads_its_counts_is_compiled_once_for_all_processes() {
    let shelf = Shelf::default();
    assert_eq!(compilations_of_a_counted_launch(&shelf), 1);
    assert_eq!(compilations_of_a_counted_launch(&shelf), 0);
    // Of another text, or cut short: it is compiled, and kept again.
    for spoil in [|bytes: &mut Vec<u8>| bytes[0] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(32)] {
        shelf.0.lock().unwrap().as_mut().map(spoil).unwrap();
        assert_eq!(compilations_of_a_counted_launch(&shelf), 1);
        assert_eq!(compilations_of_a_counted_launch(&shelf), 0);
    }
}

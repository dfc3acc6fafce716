//! What goes wrong only in one order of events: over a driver that is held up, and fails, at exactly that place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver, Fit, GraphRequest, Grid, HostRows, HostTarget, KernelId,
    LateCause, LateFailure, Launch, NativeInterface, NativeLanguage, NativeParameter, NativeSource, Node, NodeWork, OpenOptions,
    Position, Queue, Region, Waited,
};
use parking_lot::{Condvar, Mutex};

const PATIENCE: Duration = Duration::from_secs(10);

/// A device without pools, whose calls are then those of its queues alone.
fn open(mock: &mock::Mock) -> Arc<dyn Device> {
    mock::POOLS.store(false, Ordering::Relaxed);
    mock.driver.open(0, &OpenOptions::default()).unwrap()
}

fn region(device: &dyn Device, size: u64) -> Region {
    Region { memory: device.allocate(size).unwrap(), offset: 0, size }
}

fn read(queue: &dyn Queue, at: Position, from: Region) -> Vec<u8> {
    let target = HostTarget::staging(from.size as usize).unwrap();
    queue.read(at, from, target.clone()).unwrap();
    assert_eq!(queue.wait(at, Some(PATIENCE)).unwrap(), Waited::Done);
    // SAFETY: the read is over.
    unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec()
}

/// Two uniforms, whose first 16 bytes go to the output.
fn kernel(device: &dyn Device) -> KernelId {
    let source = "@group(0) @binding(0) var<uniform> a: vec4<u32>;
        @group(0) @binding(1) var<uniform> b: vec4<u32>;
        @group(0) @binding(2) var<storage, read_write> o: array<vec4<u32>, 2>;
        @compute @workgroup_size(1) fn main() { o[0] = a; o[1] = b; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request =
        CompileRequest { source, bounds: Bounds::Unchecked, cancellable: false, print_room: 0, strict: false, label: "order" };
    device.compile(&request).unwrap()
}

#[test]
fn uniforms_of_a_launch_stay_when_memory_for_the_next_one_has_to_be_waited_for() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let (kernel, out) = (kernel(&*device), region(&*device, 64 * 32));
    // So that the memory that may be under way is used up between the two uniforms of a launch, rather than between two launches.
    queue.write(1, region(&*device, 512 << 10), &[0xEE; 512 << 10]).unwrap();
    for n in 0..64_u8 {
        let (a, b) = (vec![n; 600 << 10], vec![0x80 | n; 600 << 10]);
        let to = Region { offset: u64::from(n) * 32, size: 32, ..out };
        let bindings = [Binding::Inline(&a), Binding::Inline(&b), Binding::Buffer(to)];
        let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        queue.launch(2 + u64::from(n), &launch).unwrap();
    }
    let expected: Vec<u8> = (0..64_u8).flat_map(|n| [[n; 16], [0x80 | n; 16]]).flatten().collect();
    assert_eq!(read(&*queue, 100, out), expected);
}

#[test]
fn a_mark_completes_though_its_time_cannot_be_kept() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    queue.fill(1, region(&*device, 64), &[1]).unwrap();
    queue.stamp(2).unwrap();
    mock.arm_named("event_create", mock::OUT_OF_MEMORY);
    queue.mark(2);
    assert_eq!(mock.disarm(), Some("event_create"));
    assert_eq!(queue.wait(2, Some(PATIENCE)).unwrap(), Waited::Done, "the mark is lost");
    assert!(queue.timestamp(2).is_none() && device.fault().is_none());
}

#[test]
fn work_that_is_in_the_stream_is_not_refused_for_an_event_that_tells_its_end() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let (tell, told) = mpsc::channel();
    queue.notify(1, Box::new(move || _ = tell.send(())));
    let out = region(&*device, 64);
    mock.arm_named("event_create", mock::OUT_OF_MEMORY);
    queue.fill(1, out, &[1]).unwrap();
    assert!(told.recv_timeout(PATIENCE).is_ok(), "nobody is told that it is over");
    assert!(mock.disarm() == Some("event_create") && device.fault().is_none());
}

#[test]
fn a_mark_that_was_held_back_does_not_end_the_device_when_its_time_cannot_be_kept() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let out = region(&*device, 64);
    // From then on the first queue has an event, so the stamp's is the next that is made.
    first.fill(1, out, &[1]).unwrap();
    first.wait(1, None).unwrap();
    second.wait_for(first.id(), 2).unwrap();
    second.stamp(1).unwrap();
    second.mark(1);
    mock.arm_named("event_create", mock::OUT_OF_MEMORY);
    first.fill(2, out, &[1]).unwrap();
    assert_eq!(mock.disarm(), Some("event_create"));
    assert!(device.fault().is_none(), "{:?}", device.fault());
    assert_eq!(second.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
}

/// Where threads of a test meet threads inside the driver.
#[derive(Default)]
struct Gate {
    reached: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.reached.lock() = true;
        self.changed.notify_all();
    }

    fn is_open(&self) -> bool {
        *self.reached.lock()
    }

    fn wait(&self) {
        let mut reached = self.reached.lock();
        while !*reached {
            assert!(!self.changed.wait_for(&mut reached, PATIENCE).timed_out(), "a thread does not come");
        }
    }
}

fn thread(name: &str) -> bool {
    std::thread::current().name() == Some(name)
}

fn on_thread<R: Send + 'static>(name: &str, body: impl FnOnce() -> R + Send + 'static) -> std::thread::JoinHandle<R> {
    std::thread::Builder::new().name(name.into()).spawn(body).unwrap()
}

#[test]
fn somebody_who_asks_while_another_thread_has_just_enqueued_is_told() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let out = region(&*device, 64);
    // The queue's thread has found its lock taken, goes on, and finds it free again.
    let gates: [Arc<Gate>; 3] = Default::default();
    let [enqueued, passed, gone] = gates.clone();
    let asked = Arc::new(AtomicBool::new(false));
    let after = Arc::clone(&asked);
    mock.hook(move |name| {
        if thread("enqueues") && name == "context_pop" {
            enqueued.open();
            passed.wait();
        }
        if thread("compute-queues") && name == "context_current" && after.load(Ordering::SeqCst) && !passed.is_open() {
            passed.open();
            gone.wait();
        }
    });
    let [enqueued, _, gone] = gates;
    let (lane, over) = (Arc::clone(&queue), Arc::clone(&gone));
    let enqueues = on_thread("enqueues", move || {
        let answer = lane.fill(1, out, &[1]);
        over.open();
        answer
    });
    enqueued.wait();
    let (tell, told) = mpsc::channel();
    asked.store(true, Ordering::SeqCst);
    queue.notify(1, Box::new(move || _ = tell.send(())));
    assert!(told.recv_timeout(Duration::from_secs(5)).is_ok(), "nobody is told");
    enqueues.join().unwrap().unwrap();
}

#[test]
fn t12_nothing_gets_into_a_stream_after_the_end_of_its_device() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let (queue, other) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let out = region(&*device, 64);
    let gates: [Arc<Gate>; 2] = Default::default();
    let [inside, lost] = gates.clone();
    mock.hook(move |name| {
        if thread("first") && name.starts_with("fill") {
            inside.open();
            lost.wait();
        }
    });
    let [inside, lost] = gates;
    let fill = |name, at| {
        let lane = Arc::clone(&queue);
        on_thread(name, move || lane.fill(at, out, &[1]))
    };
    let first = fill("first", 1);
    inside.wait();
    // It is there before the device ends, and gets its turn after that. If it comes late, it is refused at once.
    let second = fill("second", 2);
    std::thread::sleep(Duration::from_millis(100));
    other.fill(1, region(&*device, 64), &[1]).unwrap();
    mock.arm_named("event_query", mock::REFUSED);
    assert!(other.wait(1, Some(PATIENCE)).is_err());
    lost.open();
    let (_, second) = (first.join().unwrap(), second.join().unwrap());
    assert!(matches!(&second, Err(DeviceError::Lost(_))), "{second:?}");
}

#[test]
fn a_wait_for_another_queue_that_is_refused_is_no_more_than_that() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let out = region(&*device, 64);
    first.fill(1, out, &[7]).unwrap();
    mock.arm_named("stream_wait", mock::OUT_OF_MEMORY);
    let answer = second.wait_for(first.id(), 1);
    assert!(matches!(answer, Err(DeviceError::OutOfMemory { .. })), "{answer:?}");
    assert!(mock.disarm() == Some("stream_wait") && device.fault().is_none(), "{:?}", device.fault());
    second.wait_for(first.id(), 1).unwrap();
    assert_eq!(read(&*second, 1, out), [7; 64]);
}

#[test]
fn a_graph_that_the_host_captures_elsewhere_is_not_spoiled() {
    let mock = mock::Mock::new();
    mock.capture();
    {
        let device = open(&mock);
        let queue = device.create_queue().unwrap();
        let out = region(&*device, 64);
        let (tell, told) = mpsc::channel();
        queue.notify(1, Box::new(move || _ = tell.send(())));
        queue.fill(1, out, &[1]).unwrap();
        assert!(told.recv_timeout(PATIENCE).is_ok());
        assert_eq!(read(&*queue, 2, out), [1; 64]);
        let pinned = device.allocate_staging(64).unwrap();
        drop((queue, device, pinned));
    }
    assert_eq!(mock.captured(), (true, 0), "whether the capture is good, and this thread's mode");
}

#[test]
fn t14_an_event_that_is_being_captured_is_refused_and_the_queue_goes_on() {
    let mock = mock::Mock::new();
    mock.capture();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let out = region(&*device, 64);
    let (own, captured) = (mock.event(false), mock.event(true));
    queue.wait_native(own).unwrap();
    let answer = queue.wait_native(captured);
    assert!(
        matches!(&answer, Err(DeviceError::Driver { code: 907, message, .. }) if message.contains("outside of the capture")),
        "{answer:?}"
    );
    assert!(device.fault().is_none() && !mock.has_captured_streams());
    queue.fill(1, out, &[1]).unwrap();
    assert_eq!(read(&*queue, 2, out), [1; 64]);
}

#[test]
fn t14_an_event_that_is_captured_at_the_very_moment_ends_the_device_with_a_cause() {
    let mock = mock::Mock::new();
    mock.capture();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let out = region(&*device, 64);
    let event = mock.event(false);
    mock.hook(move |name| {
        if name == "stream_wait" {
            mock::capture_event(event);
        }
    });
    let answer = queue.wait_native(event);
    assert!(matches!(&answer, Err(DeviceError::Lost(cause)) if &*cause.name == "CAPTURED" && cause.reopen), "{answer:?}");
    assert!(queue.fill(1, out, &[1]).is_err(), "what would never run is not accepted");
}

#[test]
fn an_answer_about_a_capture_is_none_about_the_work() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    queue.fill(1, region(&*device, 64), &[1]).unwrap();
    mock.arm_named("event_query", mock::CAPTURING);
    assert_eq!(queue.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
    assert!(mock.disarm() == Some("event_query") && device.fault().is_none());
}

#[test]
fn pinned_memory_outlives_the_device_that_gave_it_out() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let pinned = device.allocate_staging(64).unwrap();
    drop(device);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(mock.left()[4], 1, "the context, and with it the memory, is gone");
    drop(pinned);
    let deadline = Instant::now() + PATIENCE;
    while mock.left() != [0; 6] {
        assert!(Instant::now() < deadline, "left behind: {:?}", mock.left());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Work that was held back, and needs more room than there is, goes on while streams do nothing; somebody asks how far it is.
fn ask_while_there_is_no_room(long_first: bool) {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let (out, long, kernel) = (region(&*device, 40 << 20), region(&*device, 40 << 20), kernel(&*device));
    second.wait_for(first.id(), 1).unwrap();
    let fill = |n: u64| vec![n as u8; 600 << 10];
    let bytes: Vec<u8> = (0..long.size).map(|n| (n ^ (n >> 11)) as u8).collect();
    if long_first {
        second.write(1, long, &bytes).unwrap();
    }
    for n in 0..40 {
        second.write(2 + n, Region { offset: n << 20, size: 600 << 10, ..out }, &fill(n)).unwrap();
    }
    for n in 0..40 {
        let (a, b) = (fill(n), fill(100 + n));
        let to = Region { offset: n << 20, size: 32, ..out };
        let bindings = [Binding::Inline(&a), Binding::Inline(&b), Binding::Buffer(to)];
        let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        second.launch(42 + n, &launch).unwrap();
    }
    if !long_first {
        second.write(82, long, &bytes).unwrap();
    }
    second.mark(83);
    mock.stall(true);
    let (tell, told) = mpsc::channel();
    let (other, asked) = (Arc::clone(&first), Arc::clone(&second));
    on_thread("asks", move || {
        // It lets the second queue go on.
        other.fill(1, out, &[0xEE]).unwrap();
        _ = tell.send((asked.completed(), asked.wait(83, Some(Duration::from_millis(50))).unwrap()));
    });
    let answer = told.recv_timeout(PATIENCE);
    mock.stall(false);
    assert_eq!(answer, Ok((0, Waited::TimedOut)), "whoever asks has to wait");
    assert_eq!(second.wait(83, Some(PATIENCE)).unwrap(), Waited::Done);
    assert!(read(&*second, 84, long) == bytes, "the long write");
    let got = read(&*second, 85, out);
    for n in 0..40_u8 {
        let part = &got[usize::from(n) << 20..][..600 << 10];
        let expected = [n, 100 + n, n].map(|byte| [byte; 16]).concat();
        assert!(part[..48] == expected && part[48..].iter().all(|byte| *byte == n), "write and launch {n}: {:?}", &part[..48]);
    }
}

#[test]
fn nobody_who_asks_waits_for_room_that_held_back_work_needs() {
    ask_while_there_is_no_room(false);
}

#[test]
fn nobody_who_asks_waits_for_room_that_a_long_write_needs_that_was_held_back() {
    ask_while_there_is_no_room(true);
}

#[test]
fn held_back_work_goes_on_though_only_a_queue_behind_it_is_waited_for() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queues = [(); 3].map(|()| device.create_queue().unwrap());
    let [first, second, third] = &queues;
    let out = region(&*device, 40 << 20);
    // Let the device's thread find nothing to do.
    std::thread::sleep(Duration::from_millis(20));
    second.wait_for(first.id(), 1).unwrap();
    second.write(1, out, &vec![7; 40 << 20]).unwrap();
    third.wait_for(second.id(), 1).unwrap();
    third.mark(1);
    first.fill(1, out, &[0xEE]).unwrap();
    assert_eq!(third.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
}

#[test]
fn l11_text_suits_only_where_it_is_compiled_and_tensor_maps_only_where_there_are_some() {
    let source = NativeSource {
        language: NativeLanguage::CudaCpp,
        code: b"text".to_vec(),
        entry: "k".into(),
        options: Vec::new(),
        headers: Vec::new(),
        target: String::new(),
    };
    let interface = |parameters| NativeInterface { parameters, workgroup_size: [1; 3], workgroup_memory: 0 };
    {
        let mock = mock::Mock::launching();
        let device = open(&mock);
        assert_eq!(device.fit(&source, &interface(Vec::new())), Ok(Fit::Text { named: false }));
        let why = device.fit(&source, &interface(vec![NativeParameter::TensorMap])).unwrap_err();
        assert!(why.contains("tensor map") && why.contains("only CUDA has"), "{why}");
        assert!(!device.capabilities().tensor_maps);
    }
    let mock = mock::Mock::new();
    let why = open(&mock).fit(&source, &interface(Vec::new())).unwrap_err();
    assert!(why.contains("a mock runs nothing"), "{why}");
}

#[test]
fn t13_a_copy_whose_source_had_ended_before_its_turn_fails_late_though_nobody_knew_of_it() {
    let mock = mock::Mock::new();
    let (one, two) = (open(&mock), open(&mock));
    let (from, to) = (one.create_queue().unwrap(), two.create_queue().unwrap());
    let (source, copy, peer) = (region(&*one, 64), region(&*two, 64), one.peer().unwrap());
    assert!(two.can_reach(peer, Some(source.memory)));
    mock.stall(true);
    from.fill(1, source, &[1]).unwrap();
    mock.spoil_next_record();
    to.wait_for_peer(peer, from.id(), 1).unwrap();
    to.copy_peer(1, (peer, source), copy).unwrap();
    mock.stall(false);
    assert_eq!(to.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
    let late = to.take_late();
    assert!(
        matches!(&late[..], [LateFailure { position: 1, cause: LateCause::Driver { message, .. } }] if message.contains("has ended")),
        "{late:?}"
    );
    assert!(one.fault().is_some() && two.fault().is_none(), "only the source has ended");
}

#[test]
fn a_copy_whose_source_is_well_does_not_fail() {
    let mock = mock::Mock::new();
    let (one, two) = (open(&mock), open(&mock));
    let (from, to) = (one.create_queue().unwrap(), two.create_queue().unwrap());
    let (source, copy, peer) = (region(&*one, 64), region(&*two, 64), one.peer().unwrap());
    mock.stall(true);
    from.fill(1, source, &[1]).unwrap();
    to.wait_for_peer(peer, from.id(), 1).unwrap();
    to.copy_peer(1, (peer, source), copy).unwrap();
    mock.stall(false);
    assert_eq!(read(&*to, 2, copy), [1; 64]);
    assert!(to.take_late().is_empty() && one.fault().is_none());
}

#[test]
fn f2_who_panics_when_told_ends_the_device_and_takes_nobody_with_it() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let (queue, other) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let (tell, told) = mpsc::channel();
    mock.stall(true);
    queue.fill(1, region(&*device, 64), &[1]).unwrap();
    other.fill(1, region(&*device, 64), &[1]).unwrap();
    queue.notify(1, Box::new(|| panic!("on purpose")));
    for queue in [&queue, &other] {
        let tell = tell.clone();
        queue.notify(1, Box::new(move || _ = tell.send(())));
    }
    mock.stall(false);
    for _ in 0..2 {
        assert!(told.recv_timeout(PATIENCE).is_ok(), "the thread of the device has ended");
    }
    let fault = device.fault().unwrap();
    assert!(&*fault.name == "PANIC" && fault.message.contains("on purpose"), "{fault:?}");
}

#[test]
fn f2_a_panic_while_reads_are_brought_to_their_places_leaves_none_of_them_done() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let from = region(&*device, 64);
    mock.stall(true);
    queue.fill(1, from, &[1]).unwrap();
    queue.read(2, from, HostTarget::staging(64).unwrap().lend(64, Arc::new(Panics)).unwrap()).unwrap();
    queue.fill(3, from, &[2]).unwrap();
    mock.stall(false);
    let answer = queue.wait(3, Some(PATIENCE));
    assert!(matches!(&answer, Err(DeviceError::Lost(cause)) if &*cause.name == "PANIC"), "{answer:?}");
}

#[test]
fn work_that_was_held_back_waits_for_pinned_memory_that_is_under_way() {
    const LONG: u64 = (4 << 20) + 5;
    let bytes: Vec<u8> = (0..LONG).map(|n| (n ^ (n >> 9)) as u8).collect();
    for n in 1..=5 {
        for writes in [false, true] {
            let mock = mock::Mock::new();
            let device = open(&mock);
            let (a, b) = (device.create_queue().unwrap(), device.create_queue().unwrap());
            let (long, out) = (region(&*device, LONG), region(&*device, LONG));
            b.write(1, long, &bytes).unwrap();
            assert_eq!(b.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
            // What is kept is not to serve: an allocation that finds no memory gives it back.
            mock.arm_named("allocate", mock::OUT_OF_MEMORY);
            let _ = device.allocate(64);
            mock.stall(true);
            let (target, other) = (HostTarget::staging(LONG as usize).unwrap(), HostTarget::staging(LONG as usize).unwrap());
            a.read(1, long, other).unwrap();
            b.wait_for(a.id(), 2).unwrap();
            if writes {
                b.write(2, out, &bytes).unwrap();
            } else {
                b.read(2, long, target.clone()).unwrap();
            }
            mock.arm("host_allocate", n, mock::OUT_OF_MEMORY);
            a.fill(2, region(&*device, 64), &[1]).unwrap();
            mock.stall(false);
            let waited = b.wait(2, Some(PATIENCE));
            assert!(matches!(waited, Ok(Waited::Done)), "{n} {writes}: {waited:?}");
            mock.disarm();
            let got = if writes {
                read(&*b, 3, out)
            } else {
                // SAFETY: the read is over.
                unsafe { std::slice::from_raw_parts(target.pointer(), LONG as usize) }.to_vec()
            };
            assert!(got == bytes, "{n} {writes}");
        }
    }
}

/// Drops a queue while the last pieces of a long write, behind a marker that made room for them, are still on their way.
fn close_behind_a_long_write(held: bool) {
    const PIECES: u32 = 20;
    let mock = mock::Mock::new();
    let device = open(&mock);
    let (first, queue) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    // Rows with gaps go through pieces in any case.
    let (width, rows) = (1 << 10, u64::from(PIECES) << 10);
    let rows = HostRows { region: region(&*device, rows * 2 * width), width, rows, pitch: 2 * width, host_pitch: width };
    let (sent, writes) = (Arc::new(Gate::default()), AtomicU32::new(0));
    let last = Arc::clone(&sent);
    mock.hook(move |name| {
        if name == "copy_2d_async" && writes.fetch_add(1, Ordering::SeqCst) + 1 == PIECES {
            mock::finish_and_stall();
            last.open();
        }
    });
    if held {
        queue.wait_for(first.id(), 1).unwrap();
    }
    queue.write_2d(1, &rows, &vec![7; (rows.width * rows.rows) as usize]).unwrap();
    // Of a position that never comes one is told when the queue is over.
    let (tell, told) = mpsc::channel();
    queue.notify(2, Box::new(move || _ = tell.send(())));
    first.fill(1, region(&*device, 64), &[1]).unwrap();
    sent.wait();
    drop(queue);
    let early = told.recv_timeout(Duration::from_millis(200)).is_ok();
    mock.stall(false);
    assert!(!early, "the queue counts as over while its stream still reads pinned memory");
    assert!(told.recv_timeout(PATIENCE).is_ok());
}

#[test]
fn a_queue_that_is_closed_behind_a_long_write_is_not_over_before_its_last_pieces_are() {
    close_behind_a_long_write(false);
}

#[test]
fn a_queue_that_is_closed_behind_a_held_back_write_is_not_over_before_its_last_pieces_are() {
    close_behind_a_long_write(true);
}

#[test]
fn md_01_a_trial_of_the_way_between_devices_that_ends_half_way_gives_no_memory_back_that_a_stream_still_touches() {
    for refused in ["read_async", "stream_query"] {
        let mock = mock::Mock::new();
        mock.set_devices(2, &[]);
        mock::POOLS.store(true, Ordering::Relaxed);
        let [one, two] = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
        let (stalled, early, trial) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), refused);
        let (now, freed) = (Arc::clone(&stalled), Arc::clone(&early));
        mock.hook(move |name| {
            if name == "copy_peer_contexts" {
                mock::finish_and_stall();
                now.store(true, Ordering::SeqCst);
                mock::fail_next(trial, mock::REFUSED);
                let now = Arc::clone(&now);
                on_thread("goes on", move || {
                    std::thread::sleep(Duration::from_millis(50));
                    now.store(false, Ordering::SeqCst);
                    mock::stall(false);
                });
            }
            if name == "pool_free" && now.load(Ordering::SeqCst) {
                freed.store(true, Ordering::SeqCst);
            }
        });
        assert!(!two.can_reach(one.peer().unwrap(), None), "it was not tried out");
        assert_eq!(mock.disarm(), Some(refused));
        assert!(!early.load(Ordering::SeqCst), "memory is given back while it is written to");
        // The next try finds out.
        while stalled.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        mock.hook(|_| {});
        assert!(two.can_reach(one.peer().unwrap(), None) && two.fault().is_none());
    }
}

#[test]
fn held_back_work_gets_pinned_memory_of_queues_that_nobody_asks() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [full, queue, other] = [(); 3].map(|()| device.create_queue().unwrap());
    let (long, out) = (region(&*device, 12 << 20), region(&*device, 2 << 20));
    mock.limit_pinned(12 << 20);
    for n in 0..12 {
        full.write(1 + n, Region { offset: n << 20, size: 1 << 20, ..long }, &vec![n as u8; 1 << 20]).unwrap();
    }
    queue.wait_for(other.id(), 1).unwrap();
    let bytes = vec![9; 2 << 20];
    queue.write(1, out, &bytes).unwrap();
    other.mark(1);
    let waited = queue.wait(1, Some(PATIENCE));
    assert!(matches!(waited, Ok(Waited::Done)), "{waited:?}");
    mock.limit_pinned(64 << 20);
    assert!(read(&*queue, 2, out) == bytes);
}

#[test]
fn held_back_work_gets_pinned_memory_that_a_queue_keeps_for_its_next_work() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [idle, queue, other] = [(); 3].map(|()| device.create_queue().unwrap());
    let out = region(&*device, 64);
    mock.limit_pinned(1 << 20);
    idle.write(1, out, &[3; 64]).unwrap();
    assert_eq!(idle.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
    queue.wait_for(other.id(), 1).unwrap();
    queue.write(1, out, &[4; 64]).unwrap();
    other.mark(1);
    let waited = queue.wait(1, Some(PATIENCE));
    assert!(matches!(waited, Ok(Waited::Done)), "{waited:?}");
    mock.limit_pinned(64 << 20);
    assert_eq!(read(&*queue, 2, out), [4; 64]);
}

#[test]
fn held_back_work_gets_pinned_memory_that_is_kept_in_pieces_of_another_size() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let (queue, other) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let (long, out, kernel) = (region(&*device, 3 << 20), region(&*device, 32), kernel(&*device));
    for n in 0..3 {
        other.write(1 + n, Region { offset: n << 20, size: 1 << 20, ..long }, &vec![1; 1 << 20]).unwrap();
    }
    assert_eq!(other.wait(3, Some(PATIENCE)).unwrap(), Waited::Done);
    mock.limit_pinned(3 << 20);
    queue.wait_for(other.id(), 4).unwrap();
    let (a, b) = (vec![7; 600 << 10], vec![8; 600 << 10]);
    let bindings = [Binding::Inline(&a), Binding::Inline(&b), Binding::Buffer(out)];
    queue.launch(1, &Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
    other.mark(4);
    let waited = queue.wait(1, Some(PATIENCE));
    assert!(matches!(waited, Ok(Waited::Done)), "{waited:?}");
    mock.limit_pinned(64 << 20);
    assert_eq!(read(&*queue, 2, out), [[7; 16], [8; 16]].concat());
}

#[test]
fn held_back_work_that_waits_for_pinned_memory_keeps_no_processor_busy() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [full, queue, other] = [(); 3].map(|()| device.create_queue().unwrap());
    let (a, b) = (region(&*device, 1 << 20), region(&*device, 1 << 20));
    mock.limit_pinned(1 << 20);
    mock.stall(true);
    full.write(1, a, &vec![1; 1 << 20]).unwrap();
    queue.wait_for(other.id(), 1).unwrap();
    queue.write(1, b, &vec![2; 1 << 20]).unwrap();
    let tries = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tries);
    mock.hook(move |name| _ = (name == "host_allocate").then(|| count.fetch_add(1, Ordering::SeqCst)));
    other.mark(1);
    std::thread::sleep(Duration::from_millis(500));
    // Of pauses that begin with 10 us and are a part of what was waited so far there are no more.
    let tried = tries.load(Ordering::SeqCst);
    assert!((2..2000).contains(&tried), "{tried} tries");
    mock.stall(false);
    assert_eq!(queue.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
}

#[test]
fn held_back_work_for_which_there_will_be_no_pinned_memory_ends_the_device() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [queue, other] = [(); 2].map(|()| device.create_queue().unwrap());
    let out = region(&*device, 1 << 20);
    mock.limit_pinned(0);
    queue.wait_for(other.id(), 1).unwrap();
    queue.write(1, out, &vec![2; 1 << 20]).unwrap();
    other.mark(1);
    let waited = queue.wait(1, Some(PATIENCE));
    assert!(matches!(&waited, Err(DeviceError::Lost(cause)) if &*cause.name == "HELD"), "{waited:?}");
}

#[test]
fn held_back_work_that_takes_no_pinned_memory_asks_for_none() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [full, queue, other] = [(); 3].map(|()| device.create_queue().unwrap());
    let (from, out) = (region(&*device, 64), region(&*device, 64));
    let pinned = device.allocate_staging(64).unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    full.write(1, from, &[5; 64]).unwrap();
    let count = Arc::clone(&asked);
    mock.hook(move |name| _ = (name == "host_allocate").then(|| count.fetch_add(1, Ordering::SeqCst)));
    queue.wait_for(other.id(), 1).unwrap();
    queue.wait_for(full.id(), 1).unwrap();
    queue.fill(1, out, &[1]).unwrap();
    queue.fill(2, out, &[1, 2, 3, 4, 1, 2, 3, 4]).unwrap();
    queue.read(3, out, pinned.clone()).unwrap();
    queue.copy(4, from, out).unwrap();
    other.mark(1);
    assert_eq!(queue.wait(4, Some(PATIENCE)).unwrap(), Waited::Done);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    // SAFETY: the read is over.
    assert_eq!(unsafe { std::slice::from_raw_parts(pinned.pointer(), 64) }, [1, 2, 3, 4].repeat(16));
    // One that does takes some.
    queue.wait_for(other.id(), 2).unwrap();
    queue.fill(5, out, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    other.mark(2);
    assert_eq!(read(&*queue, 6, out), [1, 2, 3, 4, 5, 6, 7, 8].repeat(8));
    assert!(asked.load(Ordering::SeqCst) > 0);
}

#[test]
fn a_replay_that_was_held_back_begins_when_there_is_pinned_memory_for_all_of_it() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let [full, queue, other] = [(); 3].map(|()| device.create_queue().unwrap());
    let (out, small, kernel) = (region(&*device, 64), region(&*device, 24), kernel(&*device));
    let bytes: Vec<Vec<u8>> = (1..=4).map(|n| vec![n; 600 << 10]).collect();
    let to = |offset| Binding::Buffer(Region { offset, size: 32, ..out });
    let bindings = [
        [Binding::Inline(&bytes[0]), Binding::Inline(&bytes[1]), to(0)],
        [Binding::Inline(&bytes[2]), Binding::Inline(&bytes[3]), to(32)],
    ];
    let [first, second] = bindings.each_ref().map(|bindings| Launch {
        kernel,
        grid: Grid::Direct([1; 3]),
        bindings,
        immediates: &[],
        time_limit: 0,
    });
    let pattern = [1, 2, 3, 4, 5, 6, 7, 8];
    let nodes = [
        Node { work: NodeWork::Launch(first), after: &[] },
        Node { work: NodeWork::Fill { to: small, pattern: &pattern }, after: &[0] },
        Node { work: NodeWork::Launch(second), after: &[1] },
    ];
    let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed: true, label: "order" }).unwrap();
    // Room for one launch beside what the other queue has, and for both without it.
    mock.limit_pinned(3 << 20);
    mock.stall(true);
    full.write(1, region(&*device, 1 << 20), &vec![1; 1 << 20]).unwrap();
    queue.wait_for(other.id(), 1).unwrap();
    queue.replay(1, graph).unwrap();
    other.mark(1);
    assert_eq!(queue.wait(1, Some(Duration::from_millis(50))).unwrap(), Waited::TimedOut);
    mock.stall(false);
    let waited = queue.wait(1, Some(PATIENCE));
    assert!(matches!(waited, Ok(Waited::Done)), "{waited:?}");
    mock.limit_pinned(64 << 20);
    assert_eq!(read(&*queue, 2, out), [[1; 16], [2; 16], [3; 16], [4; 16]].concat());
    assert_eq!(read(&*queue, 3, small), pattern.repeat(3));
}

#[test]
fn a_device_is_asked_once_for_all_copies_from_it_that_end_together() {
    const COPIES: u64 = 200;
    let mock = mock::Mock::new();
    let (one, two) = (open(&mock), open(&mock));
    let (from, idle, to) = (one.create_queue().unwrap(), one.create_queue().unwrap(), two.create_queue().unwrap());
    let (source, copy, peer) = (region(&*one, 64), region(&*two, 64), one.peer().unwrap());
    // An event that nobody looks at, and a queue that has none.
    from.fill(1, source, &[1]).unwrap();
    idle.fill(1, region(&*one, 64), &[1]).unwrap();
    to.wait_for_peer(peer, from.id(), 1).unwrap();
    for n in 0..COPIES {
        to.copy_peer(1 + n, (peer, source), copy).unwrap();
    }
    mock::finish();
    let (asked, entered) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (questions, entries) = (Arc::clone(&asked), Arc::clone(&entered));
    mock.hook(move |name| {
        _ = (name == "event_query").then(|| questions.fetch_add(1, Ordering::SeqCst));
        _ = (name == "context_current").then(|| entries.fetch_add(1, Ordering::SeqCst));
    });
    assert_eq!(to.wait(COPIES, Some(PATIENCE)).unwrap(), Waited::Done);
    let (asked, entered) = (asked.load(Ordering::SeqCst), entered.load(Ordering::SeqCst));
    assert!(asked < 100 && entered < 100, "{asked} questions, {entered} entries");
    assert!(to.take_late().is_empty());
}

#[test]
fn a_device_whose_last_user_is_a_look_at_a_copy_ends() {
    let mock = mock::Mock::new();
    mock::POOLS.store(true, Ordering::Relaxed);
    let [one, two] = [(); 2].map(|()| mock.driver.open(0, &OpenOptions::default()).unwrap());
    let (from, to) = (one.create_queue().unwrap(), two.create_queue().unwrap());
    let (source, copy, peer) = (region(&*one, 64), region(&*two, 64), one.peer().unwrap());
    from.fill(1, source, &[1]).unwrap();
    to.wait_for_peer(peer, from.id(), 1).unwrap();
    to.copy_peer(1, (peer, source), copy).unwrap();
    // With an event that is reached and that nobody has looked at since.
    mock.stall(true);
    assert_eq!(to.wait(1, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    mock::finish();
    let gates: [Arc<Gate>; 2] = Default::default();
    let [inside, gone] = gates.clone();
    let (questions, ended) = (AtomicU32::new(0), Arc::new(Mutex::new(None)));
    let end = Arc::clone(&ended);
    mock.hook(move |name| {
        // The second question of this thread is one about the source.
        if thread("looks") && name == "event_query" && questions.fetch_add(1, Ordering::SeqCst) == 1 {
            inside.open();
            gone.wait();
        }
        if name == "pool_destroy" {
            *end.lock() = std::thread::current().name().map(String::from);
        }
    });
    let [inside, gone] = gates;
    let queue = Arc::clone(&to);
    let looks = on_thread("looks", move || queue.wait(1, Some(PATIENCE)));
    inside.wait();
    mock.stall(false);
    drop((from, one));
    // Its queue is over meanwhile.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(*ended.lock(), None);
    gone.open();
    assert_eq!(looks.join().unwrap().unwrap(), Waited::Done);
    let deadline = Instant::now() + PATIENCE;
    while mock.left()[4] > 1 {
        assert!(Instant::now() < deadline, "the device is left behind");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ended.lock().as_deref(), Some("compute-queues"));
}

#[test]
fn nobody_who_asks_waits_for_room_that_replays_need_which_take_more_than_there_is() {
    const LAUNCHES: u64 = 15;
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let (out, kernel, bytes) = (region(&*device, 32 * LAUNCHES), kernel(&*device), vec![7; 600 << 10]);
    let to = |n| Binding::Buffer(Region { offset: 32 * n, size: 32, ..out });
    let bindings: Vec<_> = (0..LAUNCHES).map(|n| [Binding::Inline(&bytes), Binding::Inline(&bytes), to(n)]).collect();
    let launch = |bindings| Launch { kernel, grid: Grid::Direct([1; 3]), bindings, immediates: &[], time_limit: 0 };
    let nodes: Vec<_> = bindings.iter().map(|one| Node { work: NodeWork::Launch(launch(one)), after: &[] }).collect();
    let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed: true, label: "order" }).unwrap();
    second.wait_for(first.id(), 1).unwrap();
    for at in 1..=3 {
        second.replay(at, graph).unwrap();
    }
    mock.stall(true);
    let (tell, told) = mpsc::channel();
    let (other, asked) = (Arc::clone(&first), Arc::clone(&second));
    on_thread("asks", move || {
        other.mark(1);
        _ = tell.send((asked.completed(), asked.wait(3, Some(Duration::from_millis(50))).unwrap()));
    });
    let answer = told.recv_timeout(PATIENCE);
    mock.stall(false);
    assert_eq!(answer, Ok((0, Waited::TimedOut)), "whoever asks has to wait");
    assert_eq!(second.wait(3, Some(PATIENCE)).unwrap(), Waited::Done);
    assert!(read(&*second, 4, out).iter().all(|byte| *byte == 7));
}

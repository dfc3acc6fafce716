//! What goes wrong only in one order of events: over a driver that is held up, and fails, at exactly that place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use compute_hal::{
    Binding, DeviceError, Driver, Fit, Grid, HostTarget, LateCause, LateFailure, Launch, NativeInterface, NativeLanguage,
    NativeParameter, NativeSource, OpenOptions, Region, Waited,
};
use mock::Damage;
use mock::scene::{Gate, PATIENCE, kernel, on_thread, open, read, region, thread};
use parking_lot::Mutex;

#[test]
fn l8_who_waits_for_a_queue_whose_write_waits_for_room_is_not_kept() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let (long, small) = (region(&*device, 40 << 20), region(&*device, 64));
    first.fill(1, Region { size: 64, ..long }, &[3]).unwrap();
    mock.stall(true);
    // More than a queue may have under way, so that this call lasts until streams go on.
    let writer = Arc::clone(&first);
    let writing = on_thread("writes", move || writer.write(2, long, &vec![7; 40 << 20]));
    let (waiter, other) = (Arc::clone(&second), Arc::clone(&first));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::sleep(Duration::from_millis(300));
    on_thread("waits", move || {
        waiter.wait_for(other.id(), 2).unwrap();
        waiter.copy(1, Region { size: 64, ..long }, small).unwrap();
        tell.send(()).unwrap();
    });
    let kept = told.recv_timeout(PATIENCE).is_err();
    let finished = writing.is_finished();
    mock.stall(false);
    writing.join().unwrap().unwrap();
    assert!(!kept && !finished, "a call is kept: {kept}; the write did not wait for room: {finished}");
    assert_eq!(read(&*second, 2, small), [7; 64], "the copy is behind the write");
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
fn md_01_a_way_between_devices_that_does_not_deliver_what_was_sent_is_not_taken() {
    for damage in [Damage::Bit, Damage::Nothing, Damage::Pages] {
        let mock = mock::Mock::new();
        mock.set_devices(2, &[]);
        mock::POOLS.store(true, Ordering::Relaxed);
        let [one, two] = [0, 1].map(|index| mock.driver.open(index, &OpenOptions::default()).unwrap());
        mock.damage_copies_from(0, damage);
        let tries = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&tries);
        mock.hook(move |name| _ = count.fetch_add(u32::from(name == "copy_peer_contexts"), Ordering::SeqCst));
        let before = mock::blocks();
        let names = [&one, &two].map(|device| device.peer().unwrap());
        for _ in 0..3 {
            assert!(!two.can_reach(names[0], None), "{damage:?}");
        }
        assert_eq!(tries.load(Ordering::SeqCst), 1, "it is asked once");
        // Each way is judged by itself.
        assert!(one.can_reach(names[1], None), "{damage:?}");
        assert!(one.fault().is_none() && two.fault().is_none());
        let deadline = Instant::now() + PATIENCE;
        while mock::blocks() > before {
            assert!(Instant::now() < deadline, "memory of a try is left");
            mock::finish();
        }
    }
}

#[test]
fn who_wants_to_know_of_a_position_is_no_matter_to_the_many_who_want_to_know_of_others() {
    const WAITING: u64 = 60_000;
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    mock.stall(true);
    let far = region(&*device, 64);
    queue.fill(1, far, &[1]).unwrap();
    let told = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    // Backwards, so that the next is never the last.
    for at in (2..2 + WAITING).rev() {
        let told = Arc::clone(&told);
        queue.notify(at, Box::new(move || _ = told.fetch_add(1, Ordering::SeqCst)));
    }
    let (noted, start) = (start.elapsed(), Instant::now());
    mock.stall(false);
    for at in 2..2 + WAITING {
        queue.mark(at);
        if at % 1000 == 0 {
            assert_eq!(queue.wait(at, Some(PATIENCE)).unwrap(), Waited::Done);
        }
    }
    while told.load(Ordering::SeqCst) < WAITING as u32 {
        assert!(start.elapsed() < 2 * PATIENCE, "{} are told", told.load(Ordering::SeqCst));
        std::thread::yield_now();
    }
    // A second is plenty for either, unless each looks at all the others.
    assert!(noted < Duration::from_secs(4) && start.elapsed() < PATIENCE, "{noted:?}, {:?}", start.elapsed());
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
    while ended.lock().is_none() {
        assert!(Instant::now() < deadline, "the device is left behind");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ended.lock().as_deref(), Some("compute-queues"));
}

//! What a queue holds back: it goes on when there is room, whoever asks meanwhile does not wait, and nothing is given back too early.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use compute_hal::{
    Binding, Device, DeviceError, GraphId, GraphRequest, Grid, HostRows, HostTarget, KernelId, Launch, Node, NodeWork, Region,
    Waited,
};
use mock::scene::{Gate, PATIENCE, kernel, on_thread, open, read, region};

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

/// A replay of `nodes` launches whose bytes and output are their own, and what it leaves.
fn replay_of_launches(device: &dyn Device, kernel: KernelId, out: Region, nodes: u8) -> (GraphId, Vec<u8>) {
    let bytes: Vec<_> = (0..nodes).map(|n| [vec![2 * n + 1; 600 << 10], vec![2 * n + 2; 600 << 10]]).collect();
    let to = |n: u64| Binding::Buffer(Region { offset: 32 * n, size: 32, ..out });
    let bindings: Vec<_> = (0..).zip(&bytes).map(|(n, [a, b])| [Binding::Inline(a), Binding::Inline(b), to(n)]).collect();
    let launch = |bindings| Launch { kernel, grid: Grid::Direct([1; 3]), bindings, immediates: &[], time_limit: 0 };
    let nodes: Vec<_> = bindings.iter().map(|one| Node { work: NodeWork::Launch(launch(one)), after: &[] }).collect();
    let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed: true, label: "room" }).unwrap();
    (graph, bytes.iter().flatten().flat_map(|bytes| bytes[..16].to_vec()).collect())
}

#[test]
fn a_replay_that_was_held_back_goes_on_node_by_node_where_there_is_pinned_memory_for_one_only() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let [queue, other] = [(); 2].map(|()| device.create_queue().unwrap());
    let (out, kernel) = (region(&*device, 128), kernel(&*device));
    let (graph, left) = replay_of_launches(&*device, kernel, out, 4);
    mock.limit_pinned(2 << 20);
    queue.wait_for(other.id(), 1).unwrap();
    queue.replay(1, graph).unwrap();
    other.mark(1);
    let waited = queue.wait(1, Some(PATIENCE));
    assert!(matches!(waited, Ok(Waited::Done)), "{waited:?}");
    assert!(device.graph_times(graph).is_some_and(|times| times.len() == 4));
    mock.limit_pinned(64 << 20);
    assert_eq!(read(&*queue, 2, out), left);
}

#[test]
fn a_held_back_replay_that_is_half_in_its_stream_when_its_device_ends_leaves_nothing_behind() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let [queue, other] = [(); 2].map(|()| device.create_queue().unwrap());
    let (out, kernel) = (region(&*device, 128), kernel(&*device));
    let (graph, _) = replay_of_launches(&*device, kernel, out, 4);
    mock.limit_pinned(2 << 20);
    mock.stall(true);
    queue.wait_for(other.id(), 1).unwrap();
    queue.replay(1, graph).unwrap();
    other.mark(1);
    assert_eq!(queue.wait(1, Some(Duration::from_millis(50))).unwrap(), Waited::TimedOut);
    assert_eq!(mock.grid(), 1, "its first node was launched");
    mock.arm("event_query", 1, mock::STICKY);
    assert!(matches!(queue.wait(1, Some(PATIENCE)), Err(DeviceError::Lost(_))));
    mock.disarm();
    drop((queue, other, device));
    let deadline = Instant::now() + PATIENCE;
    while mock.left()[4] > 0 {
        assert!(Instant::now() < deadline, "the context is left behind");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_replay_that_was_held_back_goes_on_when_pinned_memory_comes_back_that_another_queue_has() {
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
fn nobody_who_asks_waits_for_room_that_replays_need_which_take_more_than_there_is() {
    const LAUNCHES: u64 = 15;
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let (out, kernel, bytes) = (region(&*device, 32 * LAUNCHES), kernel(&*device), vec![7; 600 << 10]);
    let to = |n: u64| Binding::Buffer(Region { offset: 32 * n, size: 32, ..out });
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

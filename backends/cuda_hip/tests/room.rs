//! Where the driver has no pinned memory just now: a call that enqueues waits for what is under way, as it does for room, and is refused only where none will come back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use compute_hal::{
    Binding, Device, DeviceError, Driver, GraphRequest, Grid, Launch, Node, NodeWork, OpenOptions, Queue, Region, Waited,
};
use mock::scene::{Gate, PATIENCE, kernel, on_thread, open, read, region};

/// Takes all pinned memory there is for writes on a queue whose stream does nothing; the region that they go to.
fn take_all(mock: &mock::Mock, device: &dyn Device, full: &dyn Queue, chunks: u64) -> Region {
    let out = region(device, chunks << 20);
    mock.limit_pinned((chunks << 20) as usize);
    mock.stall(true);
    for n in 0..chunks {
        full.write(1 + n, Region { offset: n << 20, size: 1 << 20, ..out }, &vec![n as u8; 1 << 20]).unwrap();
    }
    out
}

/// Lets streams go on when a call has been refused pinned memory for the third time.
fn go_on_after_three_tries(mock: &mock::Mock) -> Arc<AtomicU32> {
    let tries = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tries);
    mock.hook(move |name| {
        if name == "host_allocate" && count.fetch_add(1, Ordering::SeqCst) == 2 {
            mock::stall(false);
        }
    });
    tries
}

#[test]
fn a_write_waits_for_pinned_memory_that_another_queue_has() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [full, queue] = [(); 2].map(|()| device.create_queue().unwrap());
    let out = region(&*device, 1 << 20);
    take_all(&mock, &*device, &*full, 2);
    let tries = go_on_after_three_tries(&mock);
    let bytes = vec![9; 1 << 20];
    queue.write(1, out, &bytes).unwrap();
    assert!(tries.load(Ordering::SeqCst) > 2);
    mock.limit_pinned(64 << 20);
    assert!(read(&*queue, 2, out) == bytes);
}

#[test]
fn a_write_waits_for_pinned_memory_that_its_own_queue_has() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let out = take_all(&mock, &*device, &*queue, 3);
    go_on_after_three_tries(&mock);
    queue.write(4, Region { size: 1 << 20, ..out }, &vec![9; 1 << 20]).unwrap();
    mock.limit_pinned(64 << 20);
    let got = read(&*queue, 5, out);
    assert!([9, 1, 2].iter().zip(got.chunks(1 << 20)).all(|(byte, part)| part.iter().all(|found| found == byte)));
}

#[test]
fn a_long_write_goes_through_as_little_pinned_memory_as_there_is() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [full, queue] = [(); 2].map(|()| device.create_queue().unwrap());
    let long = region(&*device, 9 << 20);
    let bytes: Vec<u8> = (0..long.size).map(|n| (n ^ (n >> 11)) as u8).collect();
    take_all(&mock, &*device, &*full, 2);
    go_on_after_three_tries(&mock);
    queue.write(1, long, &bytes).unwrap();
    assert_eq!(queue.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
    mock.limit_pinned(64 << 20);
    assert!(read(&*queue, 2, long) == bytes);
}

#[test]
fn a_long_write_gets_the_pinned_memory_that_its_own_queue_keeps_for_later() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let (small, long) = (region(&*device, 64), region(&*device, 5 << 20));
    mock.limit_pinned(1 << 20);
    queue.write(1, small, &[1; 64]).unwrap();
    queue.wait(1, None).unwrap();
    queue.write(2, long, &vec![2; 5 << 20]).unwrap();
    assert!(read(&*queue, 3, long) == vec![2; 5 << 20]);
}

#[test]
fn staging_memory_does_not_wait() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let full = device.create_queue().unwrap();
    take_all(&mock, &*device, &*full, 2);
    assert!(matches!(device.allocate_staging(1 << 20), Err(DeviceError::OutOfMemory { .. })));
    mock.stall(false);
    full.wait(2, None).unwrap();
}

#[test]
fn staging_memory_does_not_wait_for_what_the_driver_takes_back_only_when_the_device_is_done() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let first = device.allocate_staging(1 << 20).unwrap();
    let [entered, left] = [(); 2].map(|()| Arc::new(Gate::default()));
    let (inside, free) = (Arc::clone(&entered), Arc::clone(&left));
    mock.hook(move |name| {
        if name == "host_free" {
            inside.open();
            free.wait();
        }
    });
    mock.limit_pinned(1 << 20);
    drop(first);
    entered.wait();
    let start = Instant::now();
    for _ in 0..20 {
        assert!(matches!(device.allocate_staging(1 << 20), Err(DeviceError::OutOfMemory { .. })));
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    // Once it goes on, it is waited for again: by the first that needs it, though nothing was thrown away in between.
    left.open();
    let deadline = Instant::now() + PATIENCE;
    let mut size = 1 << 20;
    while device.allocate_staging(size).is_err() {
        assert!(Instant::now() < deadline, "it does not come back");
    }
    mock.hook(|name| {
        if name == "host_free" {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    for _ in 0..8 {
        // What was just given back is kept, and of the wrong size.
        size /= 2;
        assert!(device.allocate_staging(size).is_ok(), "{size}");
    }
    mock.hook(|_| {});
}

#[test]
fn m2_memory_that_has_come_back_by_itself_is_asked_for_again() {
    // Nothing is on its way back when somebody looks: it may have come in between, from here or from another process.
    let mock = mock::Mock::new();
    for pools in [false, true] {
        mock::POOLS.store(pools, Ordering::Relaxed);
        let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
        mock.arm_named("host_allocate", mock::OUT_OF_MEMORY);
        assert!(device.allocate_staging(100).is_ok());
        mock.arm_named(if pools { "pool_allocate" } else { "allocate" }, mock::OUT_OF_MEMORY);
        device.free(device.allocate(100).unwrap());
    }
}

#[test]
fn m2_opening_a_device_or_a_queue_without_memory_says_what_there_was_none_for() {
    let mock = mock::Mock::new();
    // None is open before: one that is would be looked at first.
    let mut device = None;
    let opened = [
        ("device_count", "list of devices"),
        ("device_name", "list of devices"),
        ("primary_retain", "context"),
        ("context_push", "context"),
        ("stream_create", "stream"),
    ];
    let made = [("context_push", "stream"), ("stream_create", "stream")];
    for (n, (call, what)) in opened.into_iter().chain(made).enumerate() {
        if n >= opened.len() {
            device.get_or_insert_with(|| open(&mock));
        }
        mock.arm_named(call, mock::OUT_OF_MEMORY);
        let answer = match n {
            0..5 => mock.driver.open(0, &OpenOptions::default()).map(drop),
            _ => device.get_or_insert_with(|| open(&mock)).create_queue().map(drop),
        };
        let Err(error) = answer else { panic!("{call} failed") };
        let words = error.to_string();
        assert!(
            words.contains("out of memory") && words.contains(what) && words.contains(call) && !words.contains("0 bytes"),
            "{words}"
        );
        assert!(matches!(error, DeviceError::NoMemoryFor { .. }), "{error:?}");
    }
}

/// Has `want` make a call on a device whose pinned memory another queue has all taken.
fn want_the_last(want: impl FnOnce(&Arc<dyn Device>, &dyn Queue)) {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let [full, queue] = [(); 2].map(|()| device.create_queue().unwrap());
    take_all(&mock, &*device, &*full, 2);
    let tries = go_on_after_three_tries(&mock);
    want(&device, &*queue);
    assert!(tries.load(Ordering::SeqCst) > 2);
}

#[test]
fn a_launch_waits_for_pinned_memory() {
    want_the_last(|device, queue| {
        let (out, kernel) = (region(&**device, 32), kernel(&**device));
        let bindings = [Binding::Inline(&[7; 16]), Binding::Inline(&[8; 16]), Binding::Buffer(out)];
        let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        queue.launch(1, &launch).unwrap();
        assert_eq!(read(queue, 2, out), [[7; 16], [8; 16]].concat());
    });
}

#[test]
fn a_read_waits_for_pinned_memory() {
    want_the_last(|device, queue| {
        let out = region(&**device, 64);
        queue.fill(1, out, &[5]).unwrap();
        assert_eq!(read(queue, 2, out), [5; 64]);
    });
}

#[test]
fn what_graphs_keep_waits_for_pinned_memory() {
    want_the_last(|device, queue| {
        let out = region(&**device, 64);
        let nodes = [Node { work: NodeWork::Fill { to: out, pattern: &[1, 2, 3, 4, 5, 6, 7, 8] }, after: &[] }];
        let graph = device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "room" }).unwrap();
        queue.replay(1, graph).unwrap();
        assert_eq!(read(queue, 2, out), [1, 2, 3, 4, 5, 6, 7, 8].repeat(8));
    });
}

#[test]
fn a_call_for_which_no_pinned_memory_will_come_back_is_refused_and_the_device_goes_on() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let (small, long) = (region(&*device, 64), region(&*device, 5 << 20));
    mock.limit_pinned(0);
    for (at, to) in [(1, small), (2, long)] {
        let refused = queue.write(at, to, &vec![1; to.size as usize]);
        assert!(matches!(refused, Err(DeviceError::OutOfMemory { .. })), "{refused:?}");
    }
    assert!(matches!(device.allocate_staging(64), Err(DeviceError::OutOfMemory { .. })));
    mock.limit_pinned(64 << 20);
    queue.write(3, small, &[2; 64]).unwrap();
    assert_eq!(read(&*queue, 4, small), [2; 64]);
}

#[test]
fn of_two_calls_that_wait_for_the_same_pinned_memory_each_gets_it_in_turn() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let queues = [(); 3].map(|()| device.create_queue().unwrap());
    let outs = [(); 2].map(|()| region(&*device, 3 << 20));
    take_all(&mock, &*device, &*queues[2], 1);
    let threads: Vec<_> = queues[..2]
        .iter()
        .zip(outs)
        .map(|(queue, out)| {
            let queue = Arc::clone(queue);
            on_thread("writes", move || {
                for n in 0..3 {
                    queue.write(1 + n, Region { offset: n << 20, size: 1 << 20, ..out }, &vec![n as u8; 1 << 20]).unwrap();
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(20));
    mock.stall(false);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    mock.limit_pinned(64 << 20);
    for (queue, out) in queues.iter().zip(outs) {
        let got = read(&**queue, 4, out);
        assert!((0..3).zip(got.chunks(1 << 20)).all(|(byte, part)| part.iter().all(|found| *found == byte)));
    }
}

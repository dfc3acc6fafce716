//! What needs no kernel of the suite that every device runs, over a driver that does everything as late as it can.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use compute_hal::OpenOptions;
use compute_hal::conformance::{Subject, run};

/// Waits until a device that was dropped has given everything back.
fn assert_nothing_left(mock: &mock::Mock) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while mock.left() != [0; 5] {
        assert!(Instant::now() < deadline, "left behind: {:?} blocks, streams, events, pools, contexts", mock.left());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_device_with_pools_conforms_and_leaves_nothing_behind() {
    let mock = mock::Mock::new();
    mock::POOLS.store(true, Ordering::Relaxed);
    run(&Subject { driver: &mock.driver, index: 0, options: &OpenOptions::default() }, &[])
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_nothing_left(&mock);
}

#[test]
fn a_device_without_pools_conforms_and_leaves_nothing_behind() {
    let mock = mock::Mock::new();
    mock::POOLS.store(false, Ordering::Relaxed);
    run(&Subject { driver: &mock.driver, index: 0, options: &OpenOptions::default() }, &[])
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_nothing_left(&mock);
}

#[test]
fn ffi03_the_context_of_the_thread_is_the_same_after_every_call() {
    let mock = mock::Mock::new();
    mock::POOLS.store(true, Ordering::Relaxed);
    mock.set_current(0x9999);
    {
        let options = OpenOptions::default();
        let device = compute_hal::Driver::open(&mock.driver, 0, &options).unwrap();
        assert_eq!(mock.current(), 0x9999);
        let queue = device.create_queue().unwrap();
        let memory = device.allocate(1000).unwrap();
        queue.write(1, compute_hal::Region { memory, offset: 0, size: 1000 }, &[1; 1000]).unwrap();
        queue.wait(1, None).unwrap();
        device.free(memory);
        assert_eq!(mock.current(), 0x9999);
    }
    assert_eq!(mock.current(), 0x9999);
    assert_nothing_left(&mock);
}

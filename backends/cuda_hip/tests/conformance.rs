//! What needs no kernel of the suite that every device runs, over a driver that does everything as late as it can.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use compute_hal::conformance::{Subject, run};
use compute_hal::{Driver, OpenOptions};

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
        let device = mock.driver.open(0, &options).unwrap();
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

#[test]
fn devices_that_answer_nothing_do_not_hide_the_others() {
    let mock = mock::Mock::new();
    let units = |probe: &compute_hal::Probe| probe.devices.iter().map(|device| device.units).collect::<Vec<_>>();
    mock.set_devices(3, &[]);
    let all = mock.driver.probe();
    assert_eq!(units(&all), [10, 11, 12]);
    mock.set_devices(3, &[0, 2]);
    let some = mock.driver.probe();
    assert_eq!((units(&some), some.tried.len()), (vec![11], 2), "{:?}", some.tried);
    let options = OpenOptions::default();
    assert_eq!(mock.driver.open(0, &options).unwrap().properties().units, 11);
    let answer = mock.driver.open(1, &options).map(|_| ());
    assert!(matches!(answer, Err(compute_hal::DeviceError::Driver { .. })), "{answer:?}");
}

#[test]
fn invocations_of_a_launch_are_fewer_than_two_to_the_32() {
    let mock = mock::Mock::new();
    let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let limits = device.limits();
    let most = u64::from(limits.grid[0]) * u64::from(limits.workgroup_invocations);
    assert!(most <= u64::from(u32::MAX) && limits.grid[0] == (1 << 22) - 1, "{limits:?}");
}

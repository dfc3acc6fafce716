//! What needs no kernel of the suite that every device runs, over a driver that does everything as late as it can.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use compute_hal::conformance::{Subject, run};
use compute_hal::{
    Device, DeviceError, Driver, Foreign, GraphId, GraphRequest, HostTarget, ImportRefusal, NativeKind, Node, NodeWork,
    OpenOptions, Region,
};

/// Waits until a device that was dropped has given everything back.
fn assert_nothing_left(mock: &mock::Mock) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while mock.left() != [0; 6] {
        assert!(Instant::now() < deadline, "left behind: {:?} blocks, streams, events, pools, contexts, graphs", mock.left());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn m1_a_trim_gives_to_the_system_what_was_freed_just_before() {
    let mock = mock::Mock::new();
    mock::POOLS.store(true, Ordering::Relaxed);
    let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let memory = device.allocate(1 << 20).unwrap();
    device.free(memory);
    let trimmed = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&trimmed);
    mock.hook(move |call| {
        if call == "pool_trim" {
            seen.lock().unwrap().push(mock::blocks());
        }
    });
    device.trim();
    assert_eq!(*trimmed.lock().unwrap(), [0], "blocks that are there when the pool is trimmed");
    // Of one that has ended nothing is asked any more.
    mock.arm("", 1, mock::STICKY);
    assert!(device.allocate(1).is_err());
    let calls = mock.calls();
    device.trim();
    assert_eq!((mock.calls(), trimmed.lock().unwrap().len()), (calls, 1));
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

/// The bytes of a block, by a queue of its own.
fn bytes(device: &Arc<dyn Device>, from: Region) -> Vec<u8> {
    let (queue, target) = (device.create_queue().unwrap(), HostTarget::staging(from.size as usize).unwrap());
    queue.read(1, from, target.clone()).unwrap();
    queue.wait(1, None).unwrap();
    // SAFETY: the read is over.
    unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec()
}

/// A device and a block of so many bytes.
fn with_block(mock: &mock::Mock, size: u64) -> (Arc<dyn Device>, Region) {
    mock::POOLS.store(true, Ordering::Relaxed);
    let device = Driver::open(&mock.driver, 0, &OpenOptions::default()).unwrap();
    let memory = device.allocate(size).unwrap();
    (device, Region { memory, offset: 0, size })
}

fn instantiate(device: &Arc<dyn Device>, nodes: &[Node<'_>], timed: bool) -> GraphId {
    device.instantiate(&GraphRequest { nodes, timed, label: "mock" }).unwrap()
}

#[test]
fn g6_a_replay_that_is_held_back_does_what_the_graph_did_when_it_was_asked_for() {
    let mock = mock::Mock::new();
    {
        let (device, all) = with_block(&mock, 256);
        let (ahead, queue) = (device.create_queue().unwrap(), device.create_queue().unwrap());
        let fill = |pattern| NodeWork::Fill { to: all, pattern };
        for timed in [false, true] {
            let graph = instantiate(&device, &[Node { work: fill(&[7]), after: &[] }], timed);
            let first = ahead.completed() + 1;
            // Not enqueued yet, so the replay cannot be either.
            queue.wait_for(ahead.id(), first).unwrap();
            queue.replay(first, graph).unwrap();
            let updated = device.update_graph(graph, 0, &fill(&[9]));
            // A list keeps the old one for the replay; a graph of the driver's has to be made anew.
            assert_eq!(matches!(updated, Err(DeviceError::Unsupported(_))), !timed, "{updated:?}");
            ahead.fill(first, all, &[1]).unwrap();
            queue.wait(first, None).unwrap();
            assert_eq!(bytes(&device, all), [7; 256]);
            device.update_graph(graph, 0, &fill(&[11])).unwrap();
            queue.replay(first + 1, graph).unwrap();
            queue.wait(first + 1, None).unwrap();
            assert_eq!(bytes(&device, all), [11; 256]);
            ahead.mark(first + 1);
            ahead.wait(first + 1, None).unwrap();
            device.drop_graph(graph);
        }
    }
    assert_nothing_left(&mock);
}

#[test]
fn g6_nodes_of_a_graph_run_as_their_edges_say() {
    let mock = mock::Mock::new();
    {
        let (device, all) = with_block(&mock, 16 * 64);
        let slot = |n: u64| Region { offset: n * 64, size: 64, ..all };
        let queue = device.create_queue().unwrap();
        let mut nodes = vec![Node { work: NodeWork::Fill { to: slot(0), pattern: &[5] }, after: &[] }];
        let after: Vec<[u32; 1]> = (0..15).map(|n| [n]).collect();
        nodes.extend(after.iter().zip(0..).map(|(after, n)| {
            let work = NodeWork::Copy { from: slot(n), to: slot(n + 1) };
            Node { work, after }
        }));
        for at in 1..=20 {
            queue.fill(2 * at - 1, all, &[0]).unwrap();
            let graph = instantiate(&device, &nodes, false);
            queue.replay(2 * at, graph).unwrap();
            queue.wait(2 * at, None).unwrap();
            assert_eq!(bytes(&device, all), [5; 16 * 64]);
            device.drop_graph(graph);
        }
    }
    assert_nothing_left(&mock);
}

#[test]
fn t14_imported_memory_is_what_the_driver_says_it_is_and_stays_there() {
    let mock = mock::Mock::new();
    let (address, device) = (mock.foreign(4096), Driver::open(&mock.driver, 0, &OpenOptions::default()).unwrap());
    let foreign = |offset, size| Foreign { kind: NativeKind::CudaPointer, handle: address, offset, size };
    let refusal = |foreign: Foreign| match device.import(&foreign) {
        Err(DeviceError::NotImportable { reason, .. }) => reason,
        other => panic!("{foreign:?}: {other:?}"),
    };
    let part = device.import(&foreign(1024, 3072)).unwrap();
    let queue = device.create_queue().unwrap();
    queue.fill(1, part, &[7]).unwrap();
    queue.wait(1, None).unwrap();
    assert_eq!(bytes(&device, part), [7; 3072]);
    assert_eq!((device.export(part.memory).unwrap(), part.offset), (address + 1024, 0));
    assert_eq!(refusal(foreign(4080, 16)), ImportRefusal::AlreadyOwned);
    assert_eq!(refusal(foreign(1024, 3073)), ImportRefusal::OutOfRange);
    assert_eq!(refusal(foreign(0, u64::MAX >> 1)), ImportRefusal::OutOfRange);
    assert_eq!(refusal(Foreign { handle: 0x100, ..foreign(0, 16) }), ImportRefusal::NotMemory);
    device.free(part.memory);
    // Of a call that fails nothing is left, and it is not taken for a refusal.
    for call in ["pointer_attribute", "address_range"] {
        mock.arm_named(call, mock::REFUSED);
        let answer = device.import(&foreign(0, 4096));
        assert!(matches!(answer, Err(DeviceError::Driver { .. })), "{call}: {answer:?}");
    }
    let again = device.import(&foreign(0, 4096)).unwrap();
    assert_eq!(bytes(&device, Region { offset: 1024, size: 3072, ..again }), [7; 3072]);
    device.free(again.memory);
    drop((queue, device));
    // When the device's threads have ended, what was somebody else's is still there.
    let deadline = Instant::now() + Duration::from_secs(30);
    while mock.left()[4] > 0 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(mock.left()[0], 1);
}

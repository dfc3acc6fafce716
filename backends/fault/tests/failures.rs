//! A wrapped cpu device fails as the plan says, and is honest about it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use compute_cpu::CpuDriver;
use compute_fault::{Calls, FaultPlan, How, wrap};
use compute_hal::{Device, DeviceError, Driver, HostTarget, LateCause, MemoryId, OpenOptions, Position, Queue, Region, Waited};

fn open(plan: &Arc<FaultPlan>) -> Arc<dyn Device> {
    wrap(CpuDriver.open(0, &OpenOptions { threads: 2, ..OpenOptions::default() }).unwrap(), Arc::clone(plan))
}

fn view(memory: MemoryId, size: u64) -> Region {
    Region { memory, offset: 0, size }
}

fn first_word(queue: &dyn Queue, at: Position, memory: MemoryId) -> u32 {
    let target = HostTarget::staging(4).unwrap();
    queue.read(at, view(memory, 4), target.clone()).unwrap();
    assert_eq!(queue.wait(at, None).unwrap(), Waited::Done);
    // SAFETY: four aligned bytes that live with `target`; the read is over.
    unsafe { target.pointer().cast::<u32>().read() }
}

#[test]
fn a_refused_call_did_nothing_and_the_next_one_works() {
    let plan = Arc::new(FaultPlan::new(Calls::FILL | Calls::ALLOCATE));
    let device = open(&plan);
    let queue = device.create_queue().unwrap();
    plan.arm(1, How::OutOfMemory).unwrap();
    assert!(matches!(device.allocate(64), Err(DeviceError::OutOfMemory { asked: 64, .. })));
    let memory = device.allocate(64).unwrap();
    queue.fill(1, view(memory, 64), &[1]).unwrap();
    plan.arm(1, How::Driver).unwrap();
    let error = queue.fill(2, view(memory, 64), &[2]).unwrap_err();
    assert!(matches!(&error, DeviceError::Driver { call: "fill", name, .. } if name == "INJECTED"));
    queue.mark(2);
    assert_eq!(first_word(&*queue, 3, memory), 0x0101_0101);
    assert!(queue.take_late().is_empty());
    assert!(device.fault().is_none());
    assert_eq!((plan.calls(), plan.fired()), (4, 2));
}

#[test]
fn t13_a_late_failure_is_told_when_its_position_completes_and_the_work_is_not_done() {
    for (how, expected) in [(How::Late, 0x0101_0101), (How::LateDone, 0x0202_0202)] {
        let plan = Arc::new(FaultPlan::new(Calls::WORK));
        let device = open(&plan);
        assert!(device.capabilities().fails_late);
        let queue = device.create_queue().unwrap();
        let memory = device.allocate(64).unwrap();
        queue.fill(1, view(memory, 64), &[1]).unwrap();
        plan.arm(1, how).unwrap();
        queue.fill(2, view(memory, 64), &[2]).unwrap();
        queue.wait(2, None).unwrap();
        let late = queue.take_late();
        assert_eq!(late.len(), 1);
        assert_eq!(late[0].position, 2);
        assert!(matches!(&late[0].cause, LateCause::Driver { name, .. } if name == "INJECTED_LATE"));
        assert_eq!(first_word(&*queue, 3, memory), expected);
        assert!(queue.take_late().is_empty());
    }
}

#[test]
fn t12_a_lost_device_says_so_everywhere_and_hangs_nobody() {
    let plan = Arc::new(FaultPlan::new(Calls::FILL));
    let device = open(&plan);
    let (queue, other) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let memory = device.allocate(64 << 20).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    for queue in [&queue, &other] {
        let told = Arc::clone(&told);
        queue.notify(
            99,
            Box::new(move || {
                told.fetch_add(1, Ordering::SeqCst);
            }),
        );
    }
    other.fill(7, view(memory, 64 << 20), &[1]).unwrap();
    plan.arm(1, How::Lost).unwrap();
    assert!(matches!(queue.fill(1, view(memory, 64), &[1]), Err(DeviceError::Lost(_))));
    let cause = device.fault().unwrap();
    assert_eq!((&*cause.name, cause.reopen), ("INJECTED_LOSS", true));
    assert!(matches!(queue.fill(2, view(memory, 64), &[1]), Err(DeviceError::Lost(_))));
    assert!(matches!(other.submit(), Err(DeviceError::Lost(_))));
    assert!(matches!(other.wait_for(queue.id(), 5), Err(DeviceError::Lost(_))));
    assert!(matches!(device.allocate(1), Err(DeviceError::Lost(_))));
    assert!(matches!(device.create_queue(), Err(DeviceError::Lost(_))));
    for queue in [&queue, &other] {
        assert!(matches!(queue.wait(1000, None), Err(DeviceError::Lost(_))));
        assert_eq!(queue.completed(), Position::MAX);
    }
    other.mark(8);
    queue.notify(
        5,
        Box::new({
            let told = Arc::clone(&told);
            move || {
                told.fetch_add(1, Ordering::SeqCst);
            }
        }),
    );
    let start = Instant::now();
    while told.load(Ordering::SeqCst) < 3 {
        assert!(start.elapsed() < Duration::from_secs(10), "{} callbacks of 3", told.load(Ordering::SeqCst));
        std::thread::yield_now();
    }
    device.free(memory);
    drop((queue, other, device));
    assert_eq!(told.load(Ordering::SeqCst), 3);
}

#[test]
fn f2_a_panic_inside_a_call_leaves_the_device_usable() {
    let plan = Arc::new(FaultPlan::default());
    let device = open(&plan);
    let queue = device.create_queue().unwrap();
    let memory = device.allocate(64).unwrap();
    plan.arm(1, How::Panic).unwrap();
    let call = AssertUnwindSafe(|| queue.fill(1, view(memory, 64), &[1]));
    let message = catch_unwind(call).unwrap_err();
    assert!(message.downcast_ref::<String>().unwrap().contains("panic in fill"));
    queue.fill(1, view(memory, 64), &[1]).unwrap();
    assert_eq!(first_word(&*queue, 2, memory), 0x0101_0101);
}

#[test]
fn every_call_of_a_scenario_can_be_made_to_fail_in_turn() {
    let scenario = |device: &dyn Device| -> Result<u32, DeviceError> {
        let queue = device.create_queue()?;
        let other = device.create_queue()?;
        let (a, b) = (device.allocate(64)?, device.allocate(64)?);
        queue.write(1, view(a, 64), &[3; 64])?;
        queue.fill(2, view(b, 64), &[4])?;
        queue.copy(3, view(a, 32), view(b, 32))?;
        queue.submit()?;
        other.wait_for(queue.id(), 3)?;
        let target = HostTarget::staging(4).ok_or(DeviceError::Unsupported("memory"))?;
        other.stamp(1)?;
        other.read(1, view(b, 4), target.clone())?;
        other.wait(1, None)?;
        // SAFETY: as in `first_word`.
        Ok(unsafe { target.pointer().cast::<u32>().read() })
    };
    let mut failures = 0;
    for n in 1.. {
        let plan = Arc::new(FaultPlan::never_late(Calls::ALL));
        let device = open(&plan);
        plan.arm(n, How::Driver).unwrap();
        let answer = scenario(&*device);
        if plan.fired() == 0 {
            assert_eq!(answer.unwrap(), 0x0303_0303);
            assert_eq!(plan.calls(), n - 1);
            break;
        }
        assert!(matches!(answer, Err(DeviceError::Driver { code: -1, .. })), "call {n}: {answer:?}");
        failures += 1;
    }
    assert_eq!(failures, 12);
}

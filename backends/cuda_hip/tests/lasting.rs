//! Answers of the driver's that keep coming: no wait hangs on them, and a device that ends by them gives nothing back that may still be in use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use compute_hal::{Device, DeviceError, Position, Queue, Waited};
use mock::scene::{PATIENCE, on_thread, open, region};

/// A queue with work that is not over, behind a marker.
fn busy(mock: &mock::Mock) -> (Arc<dyn Device>, Arc<dyn Queue>) {
    let device = open(mock);
    let queue = device.create_queue().unwrap();
    let memory = region(&*device, 64);
    mock.stall(true);
    queue.fill(1, memory, &[1]).unwrap();
    assert_eq!(queue.wait(1, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    (device, queue)
}

/// Has every call of a name fail.
fn fail_all(mock: &mock::Mock, name: &'static str, code: i32) {
    mock.hook(move |call| {
        if call == name {
            mock::fail_next(name, code);
        }
    });
}

/// What a wait without an end comes to.
fn wait(queue: &Arc<dyn Queue>) -> Result<Waited, DeviceError> {
    let (tell, told) = mpsc::channel();
    let queue = Arc::clone(queue);
    on_thread("waits", move || tell.send(queue.wait(1, None)));
    told.recv_timeout(PATIENCE).expect("the wait hangs")
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn t12_a_home_that_cannot_be_entered_any_more_ends_waits_and_closed_queues() {
    for code in [mock::REFUSED, mock::OUT_OF_MEMORY] {
        let mock = mock::Mock::new();
        let (device, queue) = busy(&mock);
        fail_all(&mock, "context_current", code);
        match wait(&queue) {
            Err(DeviceError::Lost(cause)) => assert!(cause.code == code.into() && cause.reopen, "{cause:?}"),
            other => panic!("{other:?}"),
        }
        drop((device, queue));
        until("the context is left behind", || mock.left()[4] == 0);
    }
}

#[test]
fn t12_what_a_device_may_still_touch_is_kept_when_the_driver_cannot_be_asked_once() {
    let mock = mock::Mock::new();
    let (device, queue) = busy(&mock);
    mock.arm_named("event_query", mock::REFUSED);
    until("the device does not end", || {
        queue.completed();
        device.fault().is_some()
    });
    mock.arm_named("context_current", mock::REFUSED);
    until("nobody asks", || {
        queue.completed();
        mock.failed().is_some()
    });
    std::thread::sleep(Duration::from_millis(20));
    assert_ne!(queue.completed(), Position::MAX, "what is in the stream may still run");
    mock.stall(false);
    until("the queue does not end", || queue.completed() == Position::MAX);
}

#[test]
fn t10_a_capture_that_is_never_ended_does_not_keep_waits_for_ever() {
    let mock = mock::Mock::new();
    let (_device, queue) = busy(&mock);
    fail_all(&mock, "event_query", mock::CAPTURING);
    match wait(&queue) {
        Err(DeviceError::Lost(cause)) => assert!(cause.reopen && cause.message.contains("captures a graph"), "{cause:?}"),
        other => panic!("{other:?}"),
    }
    mock.stall(false);
}

#[test]
fn a_capture_that_passes_is_waited_out() {
    let mock = mock::Mock::new();
    let (_device, queue) = busy(&mock);
    fail_all(&mock, "event_query", mock::CAPTURING);
    assert_eq!(queue.wait(1, Some(Duration::from_millis(50))).unwrap(), Waited::TimedOut);
    mock.hook(|_| {});
    mock.disarm();
    mock.stall(false);
    assert_eq!(wait(&queue).unwrap(), Waited::Done);
}

#[test]
fn ffi03_what_failed_in_a_call_of_ours_is_not_what_the_driver_tells_the_host_of_last() {
    let mock = mock::Mock::new();
    let (_device, queue) = busy(&mock);
    let (own, calls) = (std::thread::current().id(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&calls);
    mock.hook(move |call| {
        if std::thread::current().id() == own {
            seen.lock().unwrap().push(call);
        }
    });
    assert_eq!(queue.wait(1, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    let calls = std::mem::take(&mut *calls.lock().unwrap());
    let last = |name| calls.iter().rposition(|call| *call == name);
    assert!(last("event_query").is_some() && last("last_error") > last("event_query"), "{calls:?}");
    mock.stall(false);
}

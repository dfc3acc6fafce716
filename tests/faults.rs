//! The runtime over a cpu device whose calls fail on demand: single failures in the worst places.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::*;
use compute::registry::{self, How};
use compute::runtime::{
    self, Device, DeviceOptions, Event, GraphBuilder, GraphOptions, KernelOptions, Place, Request, Source, Stream, Wait, code,
    log,
};
use compute_fault::{Calls, FaultPlan};
use compute_hal::HostTarget;
use compute_kernel::reflection::Bounds;

#[test]
fn t10_a_sync_after_a_skip_does_not_hang() {
    in_time("a sync after a skip", || {
        let device = device();
        let stream = Stream::new(&device, "s").unwrap();
        let (a, b) = (buffer(&device, 64, "a"), buffer(&device, 64, "b"));
        runtime::copy(Some(&stream), Place::BadHandle, whole(&a)).unwrap_err();
        assert_eq!(runtime::copy(Some(&stream), whole(&a), whole(&b)).unwrap(), runtime::Outcome::Skipped);
        assert_eq!(stream.sync(&[], None).unwrap(), Wait::Done);
    });
}

/// Work that takes a while, on `stream`, over `buffer`.
fn busy(stream: &Stream, buffer: &Arc<runtime::Buffer>, value: u8) {
    for round in 0..8 {
        runtime::fill(Some(stream), whole(buffer), &[if round == 7 { value } else { !value }, value, value, value]).unwrap();
    }
}

#[test]
fn l8_work_that_could_not_wait_for_another_queue_does_not_stand_for_what_it_did_not_wait_for() {
    in_time("a write after a failed wait", || {
        for _ in 0..3 {
            let (device, faults) = faulty();
            let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
            let big = buffer(&device, 32 << 20, "big");
            busy(&one, &big, 1);
            // The next call of the device is the wait of the second queue for the first.
            faults.inject(1, How::Error);
            runtime::fill(Some(&two), whole(&big), &[2]).unwrap_err();
            // This has to wait for the fills on the first queue all the same.
            runtime::fill(Some(&two), part(&big, 0, 32 << 20), &[3]).unwrap();
            let bytes = read(&two, whole(&big), 32 << 20).unwrap();
            one.sync(&[], None).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 3), "bytes of a write that came before");
            assert!(
                read(&two, whole(&big), 32 << 20).unwrap().iter().all(|byte| *byte == 3),
                "a write that came before landed after"
            );
        }
    });
}

#[test]
fn f4_a_log_line_about_a_skip_or_a_failure_is_sent_with_no_lock_held() {
    in_time("a log callback that calls back in", || {
        let (device, faults) = faulty();
        let stream = Stream::new(&device, "s").unwrap();
        let (a, b) = (buffer(&device, 64, "a"), buffer(&device, 64, "b"));
        let lines = Arc::new(AtomicU32::new(0));
        let (seen, theirs, view) = (Arc::clone(&lines), Arc::clone(&stream), b.view(0, 64).unwrap());
        log::set(
            log::WARNING,
            Some(Arc::new(move |_, _| {
                theirs.flush().unwrap();
                let _ = runtime::check(std::slice::from_ref(&view));
                seen.fetch_add(1, Ordering::Relaxed);
            })),
        );
        faults.inject(1, How::Error);
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap_err();
        assert_eq!(runtime::copy(Some(&stream), whole(&a), whole(&b)).unwrap(), runtime::Outcome::Skipped);
        log::set(0, None);
        assert!(lines.load(Ordering::Relaxed) >= 2, "one line each");
    });
}

#[test]
fn f1_a_read_whose_wait_fails_does_not_return_while_the_device_writes_to_its_memory() {
    in_time("a read whose wait fails", || {
        for how in [compute_fault::How::Driver, compute_fault::How::Panic] {
            let (device, plan) = faulty_at_once();
            let stream = Stream::new(&device, "s").unwrap();
            let size = 64 << 20;
            let big = buffer(&device, size as u64, "big");
            busy(&stream, &big, 1);
            let mut bytes = vec![0xEE_u8; size];
            // SAFETY: the vector lives on after the read has returned.
            let target = unsafe { HostTarget::new(bytes.as_mut_ptr(), size) };
            // The read itself, then the wait for it.
            plan.arm(2, how).unwrap();
            let answer = catch_unwind(AssertUnwindSafe(|| runtime::read(Some(&stream), whole(&big), target)));
            let arrived = bytes[size - 1];
            assert_eq!(answer.is_err(), how == compute_fault::How::Panic);
            assert_eq!(plan.fired(), 1);
            // It was under way, so it is waited for. Not freed before: this test must not write to freed memory when it fails.
            if arrived != 1 {
                std::mem::forget(bytes);
            }
            assert_eq!(arrived, 1, "{how:?}: the device still writes to memory that the caller has back");
        }
    });
}

#[test]
fn t12_memory_that_a_failed_wait_leaves_with_the_device_is_still_borrowed() {
    in_time("an event whose wait fails", || {
        let (device, faults) = faulty();
        let stream = Stream::new(&device, "s").unwrap();
        let big = buffer(&device, 64 << 20, "big");
        // Leaked, so that a test that fails early leaves the device memory to read from.
        let bytes: &'static [u8] = vec![7_u8; 64 << 20].leak();
        busy(&stream, &big, 1);
        // SAFETY: the memory lives for ever.
        let source = unsafe { compute_hal::HostSource::new(bytes.as_ptr(), bytes.len()) };
        let event = runtime::write(Some(&stream), whole(&big), Source::Borrowed(source)).unwrap().unwrap();
        faults.inject(1, How::Error);
        assert_eq!(event.wait(None).unwrap_err().error.code, code::STILL_BORROWED);
        assert_eq!(event.wait(None).unwrap(), Wait::Done);
    });
}

#[test]
fn t12_an_event_whose_device_panics_neither_hangs_the_stream_nor_leaves_the_device_in_use() {
    in_time("a wait after a panic in `Event::record`", || {
        let (device, faults) = faulty();
        let stream = Stream::new(&device, "s").unwrap();
        let event = Event::record(&stream).unwrap();
        faults.inject(1, How::Panic);
        assert!(catch_unwind(AssertUnwindSafe(|| Event::record(&stream))).is_err());
        assert_eq!(stream.sync(&[], None).unwrap_err().error.code, code::DEVICE_POISONED);
        assert_eq!(event.wait(None).unwrap_err().error.code, code::DEVICE_POISONED);
    });
}

#[test]
fn f2_a_panic_in_any_call_of_a_device_poisons_it() {
    in_time("calls that panic", || {
        type Call = fn(&Arc<runtime::Device>, &Stream);
        let calls: [(&str, Call); 6] = [
            ("allocate", |device, _| drop(buffer(device, 1 << 30, "b"))),
            ("compile", |device, _| drop(kernel(device, "@compute @workgroup_size(1) fn f() {}"))),
            ("create_queue", |device, _| drop(Stream::new(device, "t"))),
            ("submit", |_, stream| drop(stream.flush())),
            ("wait", |_, stream| drop(stream.sync(&[], None))),
            ("stamp", |_, stream| drop(Event::record(stream))),
        ];
        for (name, call) in calls {
            let (device, faults) = faulty();
            let stream = Stream::new(&device, "s").unwrap();
            faults.inject(1, How::Panic);
            assert!(catch_unwind(AssertUnwindSafe(|| call(&device, &stream))).is_err(), "{name} did not panic");
            assert_eq!(device.check().unwrap_err().error.code, code::DEVICE_POISONED, "{name}");
        }
    });
}

#[test]
fn f4_a_callback_that_panics_does_not_take_the_others_with_it() {
    in_time("callbacks", || {
        let device = device();
        let stream = Stream::new(&device, "s").unwrap();
        let big = buffer(&device, 64 << 20, "big");
        busy(&stream, &big, 1);
        let event = Event::record(&stream).unwrap();
        let called = Arc::new(AtomicU32::new(0));
        for index in 0..3 {
            let called = Arc::clone(&called);
            let callback = move |answer: runtime::Result<()>| {
                answer.unwrap();
                called.fetch_add(1, Ordering::Relaxed);
                assert_ne!(index, 0, "the first one panics");
            };
            event.on_poll(Box::new(callback)).unwrap();
        }
        assert_eq!(event.wait(None).unwrap(), Wait::Done);
        assert_eq!(called.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn t10_a_sync_over_a_view_of_another_device_that_is_lost_leaves_this_one_alone() {
    in_time("a sync over two devices", || {
        let here = device();
        let (there, faults) = faulty();
        let (stream, other) = (Stream::new(&here, "here").unwrap(), Stream::new(&there, "there").unwrap());
        let b = buffer(&there, 64, "b");
        runtime::fill(Some(&other), whole(&b), &[1]).unwrap();
        faults.inject(1, How::Lost);
        other.flush().unwrap_err();
        let answer = stream.sync(&[b.view(0, 64).unwrap()], None).unwrap_err();
        assert_eq!(answer.error.code, code::DEVICE_POISONED);
        here.check().unwrap();
    });
}

#[test]
fn t8_a_failure_that_claims_alone_and_as_part_of_a_group_is_one_member() {
    in_time("a check over a group", || {
        let device = device();
        let stream = Stream::new(&device, "s").unwrap();
        let (a, b) = (buffer(&device, 64 << 10, "a"), buffer(&device, 64, "b"));
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
        runtime::fill(Some(&stream), whole(&b), &[1]).unwrap();
        // More claims than a map keeps, by failures of their own: neighbours merge into groups.
        let mut last = 0;
        for piece in 0..3000 {
            last = runtime::write(Some(&stream), part(&a, piece * 16, 8), Source::Copied(&[0; 3])).unwrap_err().failure;
        }
        assert_ne!(last, 0);
        let all = runtime::check(&[a.view(0, u64::MAX).unwrap()]).unwrap_err();
        assert_eq!(all.error.code, code::SEVERAL);
        let report = all.report.as_ref().unwrap();
        let mut ids: Vec<u64> = report.members.iter().map(|member| member.failure).collect();
        assert!(report.members.iter().all(|member| member.members.is_empty()), "a group is a member");
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "a failure appears twice");
    });
}

#[test]
fn s2_a_wait_for_one_of_no_events_is_refused() {
    in_time("a wait for nothing", || {
        assert_eq!(runtime::wait_several(&[], false, None).unwrap_err().error.code, code::INVALID_ARGUMENT);
    });
}

#[test]
fn l8_memory_of_a_failed_drain_is_not_handed_out_while_it_is_in_use() {
    in_time("an allocation that drains", || {
        for _ in 0..5 {
            let (device, plan) = faulty_at_once();
            let stream = Stream::new(&device, "s").unwrap();
            let size = 16 << 20;
            let old = buffer(&device, size, "old");
            busy(&stream, &old, 1);
            drop(old);
            let under_way = Event::record(&stream).unwrap();
            // Memory is out, and then the wait for what is retired fails.
            plan.arm(1, compute_fault::How::OutOfMemory).unwrap();
            plan.arm(2, compute_fault::How::Driver).unwrap();
            let fresh = buffer(&device, size, "fresh");
            assert_eq!(plan.fired(), 2);
            if under_way.poll().unwrap() == Wait::TimedOut {
                assert!(device.usage().bytes_reserved > size, "memory in use went back to the driver");
            }
            let other = Stream::new(&device, "o").unwrap();
            runtime::fill(Some(&other), whole(&fresh), &[9]).unwrap();
            stream.sync(&[], None).unwrap();
            assert!(read(&other, whole(&fresh), size as usize).unwrap().iter().all(|byte| *byte == 9));
        }
    });
}

#[test]
fn g6_a_graph_that_the_device_does_not_keep_is_played_back_and_a_timed_one_is_refused() {
    let plan = Arc::new(FaultPlan::never_late(Calls::GRAPH | Calls::REPLAY));
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    let device = Device::new(compute_fault::wrap(native, Arc::clone(&plan)), &DeviceOptions::default()).unwrap();
    let stream = Stream::new(&device, "s").unwrap();
    let (a, b) = (buffer(&device, 64, "a"), buffer(&device, 64, "b"));
    let fill = |pattern| Request::Fill { to: whole(&a), pattern, label: "fill" };
    for timed in [false, true] {
        let options = GraphOptions { label: "graph".into(), timed };
        let builder = GraphBuilder::new(&device, options).unwrap();
        let node = builder.add(&fill(&[5]), &[]).unwrap();
        builder.add(&Request::Copy { from: whole(&a), to: whole(&b), label: "copy" }, &[node]).unwrap();
        plan.arm(1, compute_fault::How::Unsupported).unwrap();
        let graph = builder.instantiate();
        if timed {
            // Only the device can measure.
            assert_eq!(graph.map(drop).unwrap_err().error.code, code::UNSUPPORTED);
            continue;
        }
        let (graph, calls) = (graph.unwrap(), plan.calls());
        for pattern in [&[5], &[7]] {
            graph.update(node, &fill(pattern)).unwrap();
            runtime::replay(Some(&stream), &graph).unwrap();
            assert_eq!(read(&stream, whole(&b), 64).unwrap(), pattern.repeat(64));
        }
        assert_eq!(plan.calls(), calls, "the device was asked for a graph that it does not have");
    }
    assert_eq!(plan.fired(), 2);
}

#[test]
fn t13_nodes_that_are_played_back_since_an_update_are_named_in_their_late_failures() {
    const BEYOND: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn beyond(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x + 1000u] = 1u; }";
    in_time("a graph that is played back since an update", || {
        for same_buffer in [true, false] {
            let plan = Arc::new(FaultPlan::never_late(Calls::GRAPH));
            let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
            let device = Device::new(compute_fault::wrap(native, Arc::clone(&plan)), &DeviceOptions::default()).unwrap();
            let stream = Stream::new(&device, "s").unwrap();
            let [a, other, o] = ["a", "other", "o"].map(|label| buffer(&device, 64, label));
            let kernel = KernelOptions { bounds: Bounds::Validate, ..options(BEYOND) };
            let kernel = runtime::Kernel::new(&device, &kernel).unwrap();
            let builder = GraphBuilder::new(&device, GraphOptions { label: "graph".into(), timed: false }).unwrap();
            let fill = |to, pattern| Request::Fill { to, pattern, label: "fill" };
            let node = builder.add(&fill(whole(&a), &[5]), &[]).unwrap();
            builder.add(&fill(whole(&o), &[1]), &[node]).unwrap();
            let bindings = [bind(0, whole(&o))];
            let launch = runtime::Launch { label: "second", ..launch_of(&kernel, 1, &bindings) };
            builder.add(&Request::Launch(launch), &[]).unwrap();
            let graph = builder.instantiate().unwrap();
            let named = || {
                runtime::replay(Some(&stream), &graph).unwrap();
                let failed = read(&stream, whole(&o), 64).unwrap_err();
                let root = &failed.report.as_ref().unwrap().root;
                assert_eq!(root.code, code::KERNEL_FAULT);
                assert!(root.message.ends_with("this was node 2 `second` of graph `graph`"), "{}", root.message);
            };
            assert!(graph.facts().native);
            named();
            // Neither updated nor made anew by the device.
            plan.arm(1, compute_fault::How::Unsupported).unwrap();
            plan.arm(2, compute_fault::How::Unsupported).unwrap();
            graph.update(node, &fill(whole(if same_buffer { &a } else { &other }), &[6])).unwrap();
            assert_eq!((plan.fired(), graph.facts().native), (2, false));
            named();
        }
    });
}

//! What holds at the edges of a device's life: exclusive sections, poison, sizes at the end of the address space, compilation on demand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use compute::registry::How;
use compute::runtime::{self, BufferOptions, Event, Kernel, KernelOptions, Mode, Outcome, Place, Source, Stream, Wait, code};

const COPY: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64) fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&o)) { o[id.x] = a[id.x]; }
}";

#[test]
fn s1_other_threads_wait_for_whoever_holds_the_device_and_are_told_when_it_is_lost_meanwhile() {
    in_time("an exclusive section", || {
        let (device, faults) = faulty();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let a = buffer(&device, 64, "a");
        let entered = AtomicBool::new(false);
        std::thread::scope(|scope| {
            device.lock().unwrap();
            device.lock().unwrap();
            let other = scope.spawn(|| {
                runtime::fill(Some(&two), whole(&a), &[1]).unwrap();
                entered.store(true, Ordering::SeqCst);
            });
            runtime::fill(Some(&one), whole(&a), &[2]).unwrap();
            assert_eq!(read(&one, whole(&a), 64).unwrap(), vec![2; 64]);
            device.unlock().unwrap();
            std::thread::sleep(Duration::from_millis(50));
            assert!(!entered.load(Ordering::SeqCst), "a thread enqueued on a device that another one holds");
            device.unlock().unwrap();
            other.join().unwrap();
            assert_eq!(device.unlock().unwrap_err().error.code, code::BUSY);
            assert_eq!(read(&one, whole(&a), 64).unwrap(), vec![1; 64]);
        });
        std::thread::scope(|scope| {
            device.lock().unwrap();
            let write = scope.spawn(|| runtime::fill(Some(&two), whole(&a), &[1]).unwrap_err());
            let lock = scope.spawn(|| device.lock().unwrap_err());
            std::thread::sleep(Duration::from_millis(20));
            faults.inject(1, How::Lost);
            one.flush().unwrap_err();
            // Nobody unlocks.
            for answer in [write.join().unwrap(), lock.join().unwrap()] {
                assert_eq!(answer.error.code, code::DEVICE_POISONED);
            }
        });
    });
}

#[test]
fn t12_every_call_on_a_lost_device_answers_with_the_first_cause_and_queries_go_on() {
    in_time("calls on a lost device", || {
        let (device, faults) = faulty();
        let (stream, other) = (Stream::new(&device, "s").unwrap(), Stream::new(&device, "o").unwrap());
        let (a, b) = (buffer(&device, 256, "a"), buffer(&device, 256, "b"));
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
        let copy = kernel(&device, COPY);
        let event = Event::record(&stream).unwrap();
        stream.sync(&[], None).unwrap();
        faults.inject(1, How::Lost);
        stream.flush().unwrap_err();
        let bindings = [bind(0, whole(&a)), bind(1, whole(&b))];
        let launch = launch_of(&copy, 1, &bindings);
        let view = a.view(0, 256).unwrap();
        let answers = [
            ("write", runtime::write(Some(&stream), whole(&a), Source::Copied(&[1; 256])).map(drop)),
            ("fill", runtime::fill(Some(&stream), whole(&a), &[1])),
            ("copy", runtime::copy(Some(&stream), whole(&a), whole(&b)).map(drop)),
            ("read", read(&stream, whole(&a), 256).map(drop)),
            ("launch", runtime::launch(Some(&stream), &launch).map(drop)),
            ("compile only", runtime::launch(Some(&stream), &runtime::Launch { mode: Mode::CompileOnly, ..launch }).map(drop)),
            ("record", Event::record(&stream).map(drop)),
            ("hold", event.hold(&other)),
            ("wait", event.wait(None).map(drop)),
            ("poll", event.poll().map(drop)),
            ("wait for one", runtime::wait_several(&[Arc::clone(&event)], false, None).map(drop)),
            ("wait for all", runtime::wait_several(&[Arc::clone(&event)], true, None).map(drop)),
            ("flush", stream.flush()),
            ("sync", stream.sync(&[], None).map(drop)),
            ("check", runtime::check(std::slice::from_ref(&view))),
            ("reinstate", runtime::reinstate(&view, 1).map(drop)),
            ("buffer", runtime::Buffer::new(&device, &BufferOptions { size: 64, ..Default::default() }).map(drop)),
            ("kernel", Kernel::new(&device, &options(COPY)).map(drop)),
            ("stream", Stream::new(&device, "n").map(drop)),
            ("lock", device.lock()),
            ("queues", device.set_queues(1)),
            ("compile queued", runtime::compile_queued(&device)),
        ];
        for (call, answer) in answers {
            let failed = answer.expect_err(call);
            assert_eq!(failed.error.code, code::DEVICE_POISONED, "{call}");
            assert!(failed.answers().poisoned && failed.error.message.contains("lost in submit"), "{call}: {failed:?}");
        }
        assert_eq!(device.usage().buffers, 2);
        // T2: what was refused claims all the same.
        drop((a, b, view));
        assert_eq!(device.usage().buffers, 0);
    });
}

#[test]
fn m9_offsets_and_sizes_at_the_end_of_the_address_space_are_refused_and_claim_what_can_be_reached() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let a = buffer(&device, 64, "a");
    for size in [u64::MAX, u64::MAX - 1, u64::MAX - 255, 1 << 63] {
        let failed = runtime::Buffer::new(&device, &BufferOptions { size, ..Default::default() }).unwrap_err();
        assert!([code::TOO_LARGE, code::OUT_OF_MEMORY].contains(&failed.error.code), "{failed:?}");
    }
    for (offset, size, claimed) in [
        (u64::MAX, u64::MAX, 64),
        (u64::MAX - 8, 16, 64),
        (65, 0, 64),
        (48, u64::MAX - 48, 48),
        (48, u64::MAX - 1, 48),
        (16, 1 << 63, 16),
        (60, 5, 60),
    ] {
        runtime::fill(Some(&stream), whole(&a), &[3]).unwrap();
        let failed = runtime::fill(Some(&stream), part(&a, offset, size), &[4]).unwrap_err();
        assert_eq!(failed.error.code, code::OUT_OF_RANGE);
        assert_eq!(read(&stream, part(&a, 0, claimed), claimed as usize).unwrap(), vec![3; claimed as usize]);
        let rest = (64 - claimed) as usize;
        assert!(rest == 0 || read(&stream, part(&a, claimed, u64::MAX), rest).is_err(), "{offset}, {size}");
        assert!(a.view(offset, size).is_err());
    }
    let empty = buffer(&device, 0, "empty");
    runtime::fill(Some(&stream), whole(&empty), &[1]).unwrap();
    runtime::copy(Some(&stream), whole(&empty), part(&a, 64, 0)).unwrap();
    assert_eq!(read(&stream, whole(&empty), 0).unwrap(), vec![0; 0]);
}

#[test]
fn t7_a_kernel_that_does_not_compile_at_its_launch_claims_its_outputs_and_compiles_at_the_next() {
    in_time("a lazy kernel", || {
        let (device, faults) = faulty();
        let stream = Stream::new(&device, "s").unwrap();
        let (a, b) = (buffer(&device, 256, "a"), buffer(&device, 256, "b"));
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
        runtime::fill(Some(&stream), whole(&b), &[2]).unwrap();
        let lazy = Kernel::new(&device, &KernelOptions { compile: runtime::Compile::Lazily, ..options(COPY) }).unwrap();
        let bindings = [bind(0, whole(&a)), bind(1, whole(&b))];
        let launch = launch_of(&lazy, 1, &bindings);
        // T11: a compilation alone claims nothing, whatever it comes to.
        faults.inject(1, How::Error);
        let only = runtime::Launch { mode: Mode::CompileOnly, ..launch };
        assert_eq!(runtime::launch(Some(&stream), &only).unwrap_err().failure, 0);
        assert_eq!(read(&stream, whole(&b), 256).unwrap(), vec![2; 256]);
        faults.inject(1, How::Error);
        let failed = runtime::launch(Some(&stream), &launch).unwrap_err();
        assert!(failed.untouched);
        assert_eq!(read(&stream, whole(&b), 256).unwrap_err().failure, failed.failure);
        assert_eq!(read(&stream, whole(&a), 256).unwrap(), vec![1; 256]);
        assert_eq!(runtime::reinstate(&b.view(0, 256).unwrap(), failed.failure).unwrap(), 256);
        assert_eq!(read(&stream, whole(&b), 256).unwrap(), vec![2; 256]);
        assert_eq!(runtime::launch(Some(&stream), &launch).unwrap(), Outcome::Enqueued);
        assert_eq!(read(&stream, whole(&b), 256).unwrap(), vec![1; 256]);
    });
}

#[test]
fn t2_work_that_failed_before_it_reached_the_device_says_so_and_can_be_reinstated() {
    in_time("work that could not wait", || {
        let (device, plan) = faulty_at_once();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let size = 16 << 20;
        let a = buffer(&device, size, "a");
        for value in 0..8 {
            runtime::fill(Some(&one), whole(&a), &[value, 1, 2, 3]).unwrap();
        }
        // The wait of the second queue for the first.
        plan.arm(1, compute_fault::How::Driver).unwrap();
        let failed = runtime::fill(Some(&two), part(&a, 0, 64), &[9]).unwrap_err();
        assert!(failed.untouched);
        assert_eq!(runtime::reinstate(&a.view(0, u64::MAX).unwrap(), failed.failure).unwrap(), 64);
        assert_eq!(read(&two, part(&a, 0, 64), 64).unwrap(), [7, 1, 2, 3].repeat(16));
        // A call that did reach it does not.
        plan.arm(1, compute_fault::How::Driver).unwrap();
        assert!(!runtime::fill(Some(&one), part(&a, 0, 64), &[9]).unwrap_err().untouched);
    });
}

#[test]
fn s1_a_writer_gets_its_turn_among_readers_that_never_pause() {
    in_time("a writer among readers", || {
        let device = device();
        let weights = buffer(&device, 4096, "weights");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let stream = Stream::new(&device, "reader").unwrap();
                    let own = buffer(&device, 4096, "own");
                    while !done.load(Ordering::SeqCst) {
                        runtime::copy(Some(&stream), whole(&weights), whole(&own)).unwrap();
                    }
                });
            }
            let stream = Stream::new(&device, "writer").unwrap();
            for round in 0..500_u32 {
                runtime::fill(Some(&stream), whole(&weights), &round.to_le_bytes()).unwrap();
            }
            done.store(true, Ordering::SeqCst);
            assert_eq!(stream.sync(&[], None).unwrap(), Wait::Done);
        });
    });
}

#[test]
fn t2_a_launch_without_a_kernel_claims_whatever_it_was_given_and_one_with_no_work_claims_nothing() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let (a, b) = (buffer(&device, 256, "a"), buffer(&device, 256, "b"));
    runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
    let bindings = [bind(0, Place::BadHandle), bind(1, whole(&a))];
    let copy = kernel(&device, COPY);
    let launch = launch_of(&copy, 1, &bindings);
    // L1: no work, so nothing is claimed even though it is refused.
    assert_eq!(
        runtime::launch(Some(&stream), &runtime::Launch { grid: runtime::Grid::Direct([0, 1, 1]), ..launch })
            .unwrap_err()
            .failure,
        0
    );
    assert_eq!(read(&stream, whole(&a), 256).unwrap(), vec![1; 256]);
    assert_ne!(runtime::launch(Some(&stream), &runtime::Launch { kernel: None, ..launch }).unwrap_err().failure, 0);
    assert!(read(&stream, whole(&a), 256).is_err());
    // A good input is no output of a kernel that is known.
    let bindings = [bind(0, whole(&b)), bind(1, Place::BadHandle)];
    runtime::fill(Some(&stream), whole(&b), &[2]).unwrap();
    assert_eq!(runtime::launch(None, &launch_of(&copy, 1, &bindings)).unwrap_err().error.code, code::INVALID_HANDLE);
    assert_eq!(read(&stream, whole(&b), 256).unwrap(), vec![2; 256]);
}

/// A kernel whose text differs by `number`, so that none is found compiled.
fn numbered(number: u32) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>; @compute @workgroup_size(1) fn f() {{ o[0] = {number}u; }}"
    )
}

#[test]
fn l6_many_kernels_compile_in_the_background_and_whoever_needs_one_waits_for_it() {
    in_time("kernels in the background", || {
        let device = device();
        let stream = Stream::new(&device, "s").unwrap();
        let out = buffer(&device, 4, "out");
        let make = |number| {
            let options = KernelOptions { compile: runtime::Compile::InBackground, ..options(&numbered(number)) };
            Kernel::new(&device, &options).unwrap()
        };
        let kernels: Vec<_> = (0..200).map(make).collect();
        // The last in the queue, needed first.
        let bindings = [bind(0, whole(&out))];
        runtime::launch(Some(&stream), &launch_of(&kernels[199], 1, &bindings)).unwrap();
        assert_eq!(read(&stream, whole(&out), 4).unwrap(), 199_u32.to_ne_bytes());
        for kernel in &kernels {
            assert_eq!(kernel.wait(Some(Duration::from_secs(60))).unwrap(), Wait::Done);
            assert_eq!(kernel.poll().unwrap(), Wait::Done);
        }
    });
}

#[test]
fn l6_a_background_compilation_that_fails_is_told_to_those_who_wait_and_tried_again_by_the_launch() {
    in_time("a failing compilation", || {
        let (device, plan) = faulty_at_once();
        let stream = Stream::new(&device, "s").unwrap();
        let out = buffer(&device, 4, "out");
        runtime::fill(Some(&stream), whole(&out), &[9]).unwrap();
        let lazy = Kernel::new(&device, &KernelOptions { compile: runtime::Compile::Lazily, ..options(&numbered(7)) }).unwrap();
        assert_eq!(lazy.poll().unwrap(), Wait::TimedOut);
        plan.arm(1, compute_fault::How::Driver).unwrap();
        let failed = lazy.wait(Some(Duration::from_secs(60))).unwrap_err();
        assert_eq!(failed.error.code, code::DRIVER);
        // T11: nothing was claimed.
        assert_eq!(read(&stream, whole(&out), 4).unwrap(), [9; 4]);
        runtime::launch(Some(&stream), &launch_of(&lazy, 1, &[bind(0, whole(&out))])).unwrap();
        assert_eq!(read(&stream, whole(&out), 4).unwrap(), 7_u32.to_ne_bytes());
        // A crash of the compiler ends the device, and the wait with it (F2).
        let other = Kernel::new(&device, &KernelOptions { compile: runtime::Compile::Lazily, ..options(&numbered(8)) }).unwrap();
        plan.arm(1, compute_fault::How::Panic).unwrap();
        assert_eq!(other.wait(Some(Duration::from_secs(60))).unwrap_err().error.code, code::DEVICE_POISONED);
    });
}

#[test]
fn l7_a_kernel_made_again_is_found_compiled_and_what_is_kept_is_bounded() {
    let (device, faults) = faulty();
    let make = |number| Kernel::new(&device, &options(&numbered(number))).unwrap();
    drop(make(0));
    let before = faults.calls();
    drop(make(0));
    assert_eq!(faults.calls(), before, "compiled again although nothing changed");
    for number in 1..=64 {
        drop(make(number));
    }
    let before = faults.calls();
    drop(make(64));
    assert_eq!(faults.calls(), before);
    drop(make(0));
    assert!(faults.calls() > before, "kept for ever");
}

#[test]
fn f7_a_device_goes_although_kernels_wait_to_be_compiled() {
    in_time("a device that is dropped", || {
        for round in 0..20 {
            let device = device();
            let make = |number| {
                let options = KernelOptions { compile: runtime::Compile::InBackground, ..options(&numbered(number)) };
                Kernel::new(&device, &options).unwrap()
            };
            drop((0..10).map(|number| make(round * 100 + number)).collect::<Vec<_>>());
            let gone = Arc::downgrade(&device);
            drop(device);
            let deadline = std::time::Instant::now() + Duration::from_secs(30);
            while gone.strong_count() > 0 {
                assert!(std::time::Instant::now() < deadline, "the queue keeps its device alive");
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn l6_a_wait_with_a_time_out_never_waits_for_a_thread_that_has_just_left() {
    in_time("kernels one by one", || {
        let device = device();
        // Each is queued about when the thread of the one before finds nothing more to do.
        for number in 10_000..10_400 {
            let options = KernelOptions { compile: runtime::Compile::InBackground, ..options(&numbered(number)) };
            let kernel = Kernel::new(&device, &options).unwrap();
            assert_eq!(kernel.wait(Some(Duration::from_secs(20))).unwrap(), Wait::Done, "{number}");
        }
    });
}

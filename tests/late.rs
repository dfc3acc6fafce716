//! Failures that come after their work was accepted (T13): kernels that validate, kernels under a time limit, and a device that fails late.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use common::*;
use compute::registry::{self, How};
use compute::runtime::{
    self, Buffer, Device, DeviceOptions, Event, Failed, Kernel, KernelOptions, Readback, Source, Stream, Wait, code, log,
};
use compute_fault::{Calls, FaultPlan};
use compute_hal::HostTarget;
use compute_kernel::reflection::Bounds;
use parking_lot::{Mutex, RwLock};

/// Writes its own index everywhere, and far behind the end in one invocation.
const BEYOND: &str = "
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64) fn beyond(@builtin(global_invocation_id) id: vec3<u32>) {
    o[id.x] = id.x;
    if (id.x == 17u) { o[id.x + 1000000u] = 1u; }
}";

const FOREVER: &str = "
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn forever() {
    var i = 0u;
    loop { i = i + 1u; if (o[0] == 12345u) { break; } }
    o[0] = i;
}";

const WORDS: u32 = 256;
const BYTES: u64 = WORDS as u64 * 4;

fn validating(device: &Arc<Device>) -> Arc<Kernel> {
    Kernel::new(device, &KernelOptions { bounds: Bounds::Validate, ..options(BEYOND) }).unwrap()
}

fn limited(device: &Arc<Device>, time: Duration) -> Arc<Kernel> {
    Kernel::new(device, &KernelOptions { time_limit: time.as_nanos() as u64, ..options(FOREVER) }).unwrap()
}

fn root(failed: &Failed) -> &compute_trust::Error {
    &failed.report.as_ref().unwrap().root
}

/// `from` to `to` on `stream`.
fn copy(stream: &Stream, from: &Arc<Buffer>, to: &Arc<Buffer>) {
    runtime::copy(Some(stream), whole(from), whole(to)).unwrap();
}

#[test]
fn t13_a_violation_found_by_a_validating_kernel_reaches_everything_that_derives_from_it_and_no_host() {
    in_time("a violation", || {
        let device = device();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let buffers: Vec<_> = ["a", "b", "c", "other"].iter().map(|label| buffer(&device, BYTES, label)).collect();
        let [a, b, c, other] = &buffers[..] else { unreachable!() };
        let kernel = validating(&device);
        runtime::launch(Some(&one), &launch_of(&kernel, WORDS / 64, &[bind(0, whole(a))])).unwrap();
        copy(&two, a, b);
        copy(&one, b, c);
        runtime::fill(Some(&two), whole(other), &[5]).unwrap();
        let mut bytes = vec![0xEE; BYTES as usize];
        // SAFETY: the vector lives until the read has returned.
        let target = unsafe { HostTarget::new(bytes.as_mut_ptr(), bytes.len()) };
        let failed = runtime::read(Some(&two), whole(c), target).unwrap_err();
        assert!(bytes.iter().all(|byte| *byte == 0xEE), "host memory was touched");
        assert_eq!(failed.error.code, code::UNWRITTEN);
        let cause = root(&failed);
        assert_eq!(cause.code, code::KERNEL_FAULT);
        assert_eq!(cause.location.unwrap().line, 5);
        assert!(cause.message.contains("1000017") && cause.message.contains("(17, 0, 0)"), "{}", cause.message);
        let report = failed.report.as_ref().unwrap();
        let needed: Vec<&str> = report.chain.iter().map(|skip| &*skip.needed.label).collect();
        assert_eq!((needed, report.buffers), (vec!["b", "a"], 3));
        // T10: what does not derive from it is not touched. T4: what is written anew is repaired.
        assert_eq!(read(&one, part(other, 0, 8), 8).unwrap(), vec![5; 8]);
        runtime::write(Some(&two), part(a, 0, 8), Source::Copied(&[1; 8])).unwrap();
        assert_eq!(read(&one, part(a, 0, 8), 8).unwrap(), vec![1; 8]);
        assert_eq!(root(&read(&one, part(a, 8, 8), 8).unwrap_err()).code, code::KERNEL_FAULT);
        one.sync(&[], None).unwrap();
    });
}

#[test]
fn t13_a_whole_write_that_came_later_is_not_claimed_by_a_failure_that_comes_later_still() {
    in_time("a later write", || {
        let device = device();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let a = buffer(&device, BYTES, "a");
        let kernel = validating(&device);
        runtime::launch(Some(&one), &launch_of(&kernel, WORDS / 64, &[bind(0, whole(&a))])).unwrap();
        runtime::fill(Some(&two), part(&a, 0, 512), &[9]).unwrap();
        assert_eq!(read(&two, part(&a, 0, 512), 512).unwrap(), vec![9; 512]);
        assert!(read(&two, part(&a, 512, 512), 512).is_err());
    });
}

#[test]
fn t13_a_kernel_past_its_time_limit_is_stopped_and_what_waits_for_it_is_told() {
    in_time("a kernel without end", || {
        let device = device();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let (a, b) = (buffer(&device, BYTES, "a"), buffer(&device, BYTES, "b"));
        let kernel = limited(&device, Duration::from_millis(50));
        runtime::launch(Some(&one), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        let event = Event::record(&one).unwrap();
        copy(&two, &a, &b);
        // A read on its way while nobody knows yet.
        let bytes: &'static mut [u8] = vec![0xEE; BYTES as usize].leak();
        // SAFETY: it lives for ever.
        let target = unsafe { HostTarget::new(bytes.as_mut_ptr(), bytes.len()) };
        let reading = runtime::read_async(Some(&two), whole(&b), target).unwrap();
        // T10: events report faults of the device only.
        assert_eq!(event.wait(None).unwrap(), Wait::Done);
        for _ in 0..2 {
            let failed = reading.wait(None).unwrap_err();
            assert_eq!((failed.error.code, root(&failed).code), (code::UNWRITTEN, code::TIME_LIMIT));
            let chain = &failed.report.as_ref().unwrap().chain;
            assert!(chain.len() == 1 && chain[0].used, "the copy ran before anybody knew: {chain:?}");
        }
        assert!(bytes.iter().all(|byte| *byte == 0xEE), "host memory was touched");
        let failed = one.sync(&[b.view(0, u64::MAX).unwrap()], None).unwrap_err();
        assert_eq!(root(&failed).code, code::TIME_LIMIT);
        // The device is well.
        runtime::fill(Some(&one), whole(&a), &[1]).unwrap();
        assert_eq!(read(&two, part(&a, 0, 16), 16).unwrap(), vec![1; 16]);
    });
}

#[test]
fn t3_a_refusal_over_bytes_that_fail_late_afterwards_reinstates_none_of_them() {
    in_time("a reinstatement", || {
        let device = device();
        let stream = Stream::new(&device, "s").unwrap();
        let a = buffer(&device, BYTES, "a");
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
        let kernel = limited(&device, Duration::from_millis(100));
        runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        let refused = runtime::write(Some(&stream), part(&a, 0, 64), Source::Copied(&[0; 3])).unwrap_err();
        stream.sync(&[], None).unwrap();
        let view = a.view(0, u64::MAX).unwrap();
        assert_eq!(runtime::reinstate(&view, refused.failure).unwrap(), 0);
        assert!(read(&stream, part(&a, 0, 64), 64).is_err());
        // Reinstated before the failure is known, they are claimed when it is.
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
        runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        let refused = runtime::write(Some(&stream), part(&a, 0, 64), Source::Copied(&[0; 3])).unwrap_err();
        assert_eq!(runtime::reinstate(&view, refused.failure).unwrap(), 64);
        let failed = read(&stream, part(&a, 0, 64), 64).unwrap_err();
        assert_eq!(root(&failed).code, code::TIME_LIMIT);
    });
}

#[test]
fn f7_buffers_kernels_streams_and_the_device_may_go_while_their_work_is_in_flight() {
    in_time("the end of everything", || {
        for round in 0..4 {
            let device = device();
            let stream = Stream::new(&device, "s").unwrap();
            let a = buffer(&device, BYTES, "a");
            let kernel = limited(&device, Duration::from_millis(50));
            runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
            runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
            device.end();
            // In any order.
            if round % 2 == 0 {
                drop(a);
                drop(kernel);
                drop(stream);
                drop(device);
            } else {
                drop(device);
                drop(stream);
                drop(kernel);
                drop(a);
            }
        }
    });
}

#[test]
fn t3_gaps_that_a_map_counts_as_written_are_claimed_when_their_fill_fails() {
    in_time("a fill of gaps", || {
        for how in [How::Error, How::OutOfMemory, How::Late] {
            for call in [1, 5, 200] {
                let (device, faults) = faulty();
                let stream = Stream::new(&device, "s").unwrap();
                // Memory that was used before, so that bytes which were not filled show.
                let used = buffer(&device, 64 * 3000, "used");
                runtime::fill(Some(&stream), whole(&used), &[0xAB]).unwrap();
                stream.sync(&[], None).unwrap();
                drop(used);
                let a = buffer(&device, 64 * 3000, "a");
                let mut told = Vec::new();
                let mut expected = vec![0_u8; 64 * 3000];
                for piece in 0..3000_u64 {
                    // The map overflows somewhere past a thousand pieces: the calls from here on are writes and then many fills.
                    if piece == 1020 {
                        faults.inject(call, how);
                    }
                    match runtime::write(Some(&stream), part(&a, piece * 64, 8), Source::Copied(&[9; 8])) {
                        Ok(_) => expected[piece as usize * 64..][..8].fill(9),
                        Err(failed) => told.push(failed),
                    }
                }
                assert_eq!(told.len(), usize::from(how != How::Late));
                let mut claimed = 0;
                for piece in 0..3000_u64 {
                    match read(&stream, part(&a, piece * 64, 64), 64) {
                        Ok(bytes) => {
                            assert!(bytes == expected[piece as usize * 64..][..64], "{how:?} in call {call}: piece {piece}")
                        }
                        Err(_) => claimed += 1,
                    }
                }
                assert!(claimed > 0, "{how:?} in call {call}: nothing is claimed");
            }
        }
    });
}

/// One test at a time hears the log.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn t13_a_late_failure_is_logged_though_every_handle_was_gone_before_it_came() {
    let _turn = TURN.lock();
    in_time("a failure that nobody asks for", || {
        for late in [true, false] {
            let (heard, lines) = mpsc::channel();
            let hear = move |_, line: &str| {
                if line.contains("`orphan`") {
                    heard.send(line.to_owned()).unwrap();
                }
            };
            log::set(log::ERROR, Some(Arc::new(hear)));
            let device = if late { faulty().0 } else { device() };
            let stream = Stream::new(&device, "s").unwrap();
            let a = buffer(&device, BYTES, "a");
            let source = FOREVER.replace("forever", "orphan");
            let kernel = Kernel::new(&device, &KernelOptions { time_limit: 50_000_000, ..options(&source) }).unwrap();
            runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
            device.end();
            drop((kernel, a, stream, device));
            assert!(lines.recv_timeout(Duration::from_secs(20)).unwrap().contains("time"));
            log::set(0, None);
            assert!(lines.try_recv().is_err(), "it was told twice");
        }
    });
}

#[test]
fn f4_a_log_line_about_a_late_failure_is_sent_by_no_thread_that_is_inside_a_driver() {
    static DRIVERS: RwLock<()> = parking_lot::const_rwlock(());
    let _turn = TURN.lock();
    in_time("a log line from a worker", || {
        let plan = Arc::new(FaultPlan::new(Calls::ALL).with_drivers(&DRIVERS));
        let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
        let device = Device::new(compute_fault::wrap(native, plan), &DeviceOptions::default()).unwrap();
        let stream = Stream::new(&device, "s").unwrap();
        let a = buffer(&device, BYTES, "a");
        let (heard, lines) = mpsc::channel();
        let hear = move |_, line: &str| {
            if line.contains("`inner`") {
                heard.send(DRIVERS.try_write().is_some()).unwrap();
            }
        };
        log::set(log::ERROR, Some(Arc::new(hear)));
        let source = FOREVER.replace("forever", "inner");
        let kernel = Kernel::new(&device, &KernelOptions { time_limit: 200_000_000, ..options(&source) }).unwrap();
        runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        let bytes: &'static mut [u8] = vec![0xEE; BYTES as usize].leak();
        // SAFETY: it lives for ever.
        let target = unsafe { HostTarget::new(bytes.as_mut_ptr(), bytes.len()) };
        let event = runtime::read_async(Some(&stream), whole(&a), target).unwrap();
        let (ended, end) = mpsc::channel();
        event.on_worker(Box::new(move |answer| drop(ended.send(answer)))).unwrap();
        let failed = end.recv().unwrap().unwrap_err();
        assert_eq!(root(&failed).code, code::TIME_LIMIT);
        assert_eq!(lines.try_iter().collect::<Vec<_>>(), [true], "the host was called inside a driver, or not once");
        log::set(0, None);
    });
}

#[test]
fn m8_a_readback_whose_event_has_failed_is_read_anew_until_it_has_given_its_bytes() {
    in_time("a readback that failed", || {
        for call in ["its event", "its bytes"] {
            let (device, faults) = faulty();
            let stream = Stream::new(&device, "s").unwrap();
            let (a, other) = (buffer(&device, 64, "a"), buffer(&device, 64, "other"));
            runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
            let kernel = limited(&device, Duration::from_millis(30));
            let readback = Readback::new(Some(&stream), whole(&a), None).unwrap();
            for round in 0..3 {
                // So that the read is under way when the failure comes.
                runtime::fill(Some(&stream), whole(&other), &[0]).unwrap();
                runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&other))])).unwrap();
                faults.inject(1, How::Late);
                runtime::fill(Some(&stream), whole(&a), &[9]).unwrap();
                let failed = if call == "its event" {
                    readback.start().unwrap().wait(None).unwrap_err()
                } else {
                    readback.get().map(drop).unwrap_err()
                };
                assert_eq!(failed.error.code, code::UNWRITTEN, "{call}, round {round}");
            }
            runtime::fill(Some(&stream), whole(&a), &[7]).unwrap();
            let event = readback.start().unwrap();
            assert_eq!(event.wait(None).unwrap(), Wait::Done, "{call}: it was not read anew");
            assert_eq!(readback.get().unwrap().look(<[u8]>::to_vec), vec![7; 64]);
            // From now on it is what it was at the first access, whatever becomes of the source.
            faults.inject(1, How::Late);
            runtime::fill(Some(&stream), whole(&a), &[9]).unwrap();
            stream.sync(&[], None).unwrap();
            assert_eq!(readback.get().unwrap().look(<[u8]>::to_vec), vec![7; 64]);
            assert!(Arc::ptr_eq(&readback.start().unwrap(), &event));
        }
    });
}

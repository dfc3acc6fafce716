//! What the bookkeeping costs: a loop that fails for ever stays in the same memory (T9), and memory that is out is an answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use common::*;
use compute::runtime::{self, Event, Kernel, KernelOptions, Outcome, Place, Source, Stream, code};

/// Counts live bytes, and refuses large requests of a thread that asked for it.
struct Counting;

static LIVE: AtomicI64 = AtomicI64::new(0);
thread_local!(static MOST: Cell<usize> = const { Cell::new(usize::MAX) });

fn refused(size: usize) -> bool {
    MOST.try_with(|most| size > most.get()).unwrap_or(false)
}

// SAFETY: passes everything on to the system's allocator, or answers that there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time, as the count is of the whole process.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// How many bytes more are live after 100000 rounds than after 1000.
fn growth(mut round: impl FnMut(u32)) -> i64 {
    (0..1000).for_each(&mut round);
    let before = LIVE.load(Ordering::Relaxed);
    (1000..100_000).for_each(&mut round);
    LIVE.load(Ordering::Relaxed) - before
}

#[test]
fn t9_a_loop_of_failures_and_skips_stays_in_the_same_memory() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(120), "a loop of failures", || {
        let device = device();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let (a, b, c) = (buffer(&device, 4096, "a"), buffer(&device, 4096, "b"), buffer(&device, 4096, "c"));
        let grown = growth(|round| {
            let offset = u64::from(round % 64) * 32;
            runtime::write(Some(&one), part(&a, offset, 32), Source::Copied(&[1; 7])).unwrap_err();
            assert_eq!(runtime::copy(Some(&two), whole(&a), whole(&b)).unwrap(), Outcome::Skipped);
            assert_eq!(runtime::copy(Some(&one), whole(&b), whole(&c)).unwrap(), Outcome::Skipped);
            runtime::copy(Some(&one), Place::BadHandle, whole(&c)).unwrap_err();
        });
        assert!(grown < 256 << 10, "{grown} bytes more");
    });
}

#[test]
fn t9_a_loop_of_driver_errors_on_a_device_that_fails_late_stays_in_the_same_memory() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(120), "a loop of driver errors", || {
        let (device, faults) = faulty();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let (a, b) = (buffer(&device, 4096, "a"), buffer(&device, 4096, "b"));
        let grown = growth(|round| {
            let how = if round % 2 == 0 { compute::registry::How::Error } else { compute::registry::How::Late };
            faults.inject(1, how);
            let _ = runtime::fill(Some(&one), part(&a, u64::from(round % 7) * 32, 32), &[1]);
            let _ = runtime::copy(Some(&two), whole(&a), whole(&b));
            let _ = runtime::fill(Some(&two), whole(&b), &[1]);
            if round % 100 == 0 {
                let fresh = buffer(&device, 64, "fresh");
                let _ = runtime::copy(Some(&two), part(&b, 0, 64), whole(&fresh));
                two.sync(&[], None).unwrap();
            }
        });
        assert!(grown < 1 << 20, "{grown} bytes more");
    });
}

const FOREVER: &str = "
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn forever() {
    loop { if (o[0] == 12345u) { break; } }
}";

#[test]
fn t9_a_loop_of_refusals_while_a_kernel_may_still_fail_stays_in_the_same_memory() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(120), "a loop of refusals", || {
        let device = device();
        let stream = Stream::new(&device, "s").unwrap();
        let a = buffer(&device, 4096, "a");
        let kernel = Kernel::new(&device, &KernelOptions { time_limit: 8_000_000_000, ..options(FOREVER) }).unwrap();
        runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        let before = LIVE.load(Ordering::Relaxed);
        let view = a.view(0, u64::MAX).unwrap();
        for round in 0..20_000 {
            // Each time the same bytes, then bytes that are given back each time.
            let offset = if round < 10_000 { round % 16 * 32 } else { 2048 };
            let refused = runtime::write(Some(&stream), part(&a, offset, 32), Source::Copied(&[1; 7])).unwrap_err();
            if round >= 10_000 {
                assert_eq!(runtime::reinstate(&view, refused.failure).unwrap(), 32);
            }
        }
        let grown = LIVE.load(Ordering::Relaxed) - before;
        assert!(grown < 256 << 10, "{grown} bytes more");
    });
}

#[test]
fn t9_a_loop_of_waits_that_run_out_of_time_stays_in_the_same_memory() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(60), "a loop of waits", || {
        let device = device();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let a = buffer(&device, 4096, "a");
        let kernel = Kernel::new(&device, &KernelOptions { time_limit: 4_000_000_000, ..options(FOREVER) }).unwrap();
        runtime::launch(Some(&one), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        let never = Event::record(&one).unwrap();
        let before = LIVE.load(Ordering::Relaxed);
        for _ in 0..5000 {
            let pair = [Arc::clone(&never), Arc::clone(&never)];
            assert_eq!(runtime::wait_several(&pair, false, Some(Duration::from_micros(20))).unwrap(), None);
        }
        let grown = LIVE.load(Ordering::Relaxed) - before;
        assert!(grown < 64 << 10, "{grown} bytes more");
        // Whoever sleeps is woken all the same, by either.
        let b = buffer(&device, 64 << 20, "b");
        runtime::fill(Some(&two), whole(&b), &[1, 2]).unwrap();
        let soon = Event::record(&two).unwrap();
        let events = [never, soon];
        std::thread::scope(|scope| {
            let waits: Vec<_> = (0..3).map(|_| scope.spawn(|| runtime::wait_several(&events, false, None).unwrap())).collect();
            waits.into_iter().for_each(|wait| assert_eq!(wait.join().unwrap(), Some(1)));
        });
        assert_eq!(runtime::wait_several(&events[..1], false, None).unwrap(), Some(0));
    });
}

#[test]
fn t3_work_that_cannot_be_written_down_for_want_of_host_memory_is_refused_and_claims() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(60), "work without memory", || {
        let (device, _faults) = faulty();
        let big = buffer(&device, 16 << 20, "big");
        let a = buffer(&device, 1 << 20, "a");
        // Once the journal has no memory; once it keeps some from before, and the device's list of jobs has none.
        for kept in [false, true] {
            let stream = Stream::new(&device, "s").unwrap();
            runtime::fill(Some(&stream), whole(&a), &[7]).unwrap();
            // Keeps a queue busy, so that what follows is unretired, and the journal grows.
            let busy =
                |stream: &Arc<Stream>| (0..16).for_each(|_| runtime::fill(Some(stream), whole(&big), &[1, 2, 3, 4]).unwrap());
            if kept {
                let other = Stream::new(&device, "other").unwrap();
                busy(&other);
                (0..8000_u64).for_each(|piece| runtime::fill(Some(&other), part(&a, piece * 64, 64), &[7]).unwrap());
            }
            busy(&stream);
            MOST.set(16 << 10);
            let mut failed = None;
            for piece in 0..4000_u64 {
                if let Err(found) = runtime::fill(Some(&stream), part(&a, piece * 64, 64), &[8]) {
                    failed = Some((piece, found));
                    break;
                }
            }
            MOST.set(usize::MAX);
            let (piece, failed) = failed.expect("4000 pieces of work were written down in 16 KiB");
            assert_eq!(failed.error.code, code::OUT_OF_MEMORY);
            assert!(failed.answers().reclaimable);
            let answer = read(&stream, part(&a, piece * 64, 64), 64).unwrap_err();
            assert_eq!(answer.failure, failed.failure);
            assert_eq!(read(&stream, part(&a, piece * 64 - 64, 64), 64).unwrap(), vec![8; 64]);
        }
    });
}

#[test]
fn f2_releasing_a_buffer_that_many_queues_still_use_needs_no_memory() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(60), "a release without memory", || {
        let device = device();
        let shared = buffer(&device, 4096, "shared");
        let streams: Vec<_> = (0..9).map(|_| Stream::new(&device, "s").unwrap()).collect();
        runtime::fill(Some(&streams[8]), whole(&shared), &[5]).unwrap();
        let outs: Vec<_> = streams.iter().map(|_| buffer(&device, 32 << 20, "out")).collect();
        for (stream, out) in streams.iter().zip(&outs) {
            runtime::fill(Some(stream), whole(out), &[1, 2]).unwrap();
            runtime::copy(Some(stream), whole(&shared), part(out, 64, 4096)).unwrap();
        }
        MOST.set(0);
        drop(shared);
        MOST.set(usize::MAX);
        for (stream, out) in streams.iter().zip(&outs) {
            assert_eq!(read(stream, part(out, 64, 4096), 4096).unwrap(), vec![5; 4096]);
        }
        drop(outs);
        for stream in &streams {
            stream.sync(&[], None).unwrap();
        }
        device.cleanup().unwrap();
        let usage = device.usage();
        assert_eq!((usage.bytes_pending, usage.bytes_reserved), (0, 0));
    });
}

#[test]
fn t13_a_late_failure_asks_for_memory_for_what_derives_from_it_alone_and_in_pieces() {
    let _alone = ALONE.lock();
    within(Duration::from_secs(60), "a late failure in a long journal", || {
        let (device, faults) = faulty();
        let (one, two) = (Stream::new(&device, "one").unwrap(), Stream::new(&device, "two").unwrap());
        let (a, b) = (buffer(&device, 1 << 20, "a"), buffer(&device, 64, "b"));
        let kernel = Kernel::new(&device, &KernelOptions { time_limit: 2_000_000_000, ..options(FOREVER) }).unwrap();
        runtime::launch(Some(&one), &launch_of(&kernel, 1, &[bind(0, whole(&a))])).unwrap();
        for piece in 0..4000_u64 {
            runtime::fill(Some(&one), part(&a, piece * 64, 64), &[8]).unwrap();
        }
        faults.inject(1, compute::registry::How::Late);
        runtime::fill(Some(&two), whole(&b), &[1]).unwrap();
        let read_in = |most: usize, stream: &Stream, place: Place<'_>| {
            MOST.set(most);
            let answer = read(stream, place, 64);
            MOST.set(usize::MAX);
            let failed = answer.unwrap_err();
            (failed.error.code, failed.report.as_ref().map(|report| report.root.code))
        };
        // Nothing but the bytes of `b` derives from that, so a piece is all it takes.
        assert_eq!(read_in(256 << 10, &two, whole(&b)), (code::UNWRITTEN, Some(code::DRIVER)));
        // All of the work so far comes after this one, which takes many.
        assert_eq!(read_in(256 << 10, &one, part(&a, 4000 * 64, 64)), (code::UNWRITTEN, Some(code::TIME_LIMIT)));
        assert_eq!(read(&one, part(&a, 0, 64), 64).unwrap(), vec![8; 64]);
    });
}

//! Asking again and again how far work is takes no memory, and none ends no more than a call. In a program of its own, which counts what is allocated, and refuses some.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use compute_hal::{DeviceError, Region, Waited};
use mock::scene::{PATIENCE, open, read, region};

/// Counts bytes that are not given back.
struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);
thread_local! {
    /// What is as large is refused, on this thread alone: what runs tests allocates for them, too, and ends the process where it cannot.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: all of it is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= MOST.get() {
            return std::ptr::null_mut();
        }
        BYTES.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn l8_asking_for_a_position_that_waits_for_another_queue_takes_no_memory() {
    const TIMES: usize = 20_000;
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [first, second] = [(); 2].map(|()| device.create_queue().unwrap());
    let memory = region(&*device, 64);
    second.wait_for(first.id(), 1).unwrap();
    second.fill(1, memory, &[1]).unwrap();
    let ask = || assert_eq!(second.wait(1, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    (0..100).for_each(|_| ask());
    let before = BYTES.load(Ordering::Relaxed);
    (0..TIMES).for_each(|_| ask());
    let more = BYTES.load(Ordering::Relaxed) - before;
    assert!(more < TIMES.cast_signed(), "{more} bytes for {TIMES} questions");
    first.fill(1, memory, &[2]).unwrap();
    assert_eq!(second.wait(1, Some(PATIENCE)).unwrap(), Waited::Done);
}

#[test]
fn l8_a_position_of_work_that_there_was_no_memory_to_hold_back_still_completes() {
    // More than the device's threads take at once.
    const LEAST: usize = 4096;
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [first, second] = [(); 2].map(|()| device.create_queue().unwrap());
    let memory = region(&*device, 64);
    second.wait_for(first.id(), 1).unwrap();
    let long = 64;
    (1..=long).for_each(|at| second.fill(at, memory, &[1]).unwrap());
    MOST.set(LEAST);
    let refused = (long + 1..long + 1000).find(|at| second.fill(*at, memory, &[2]).is_err());
    let at = refused.unwrap();
    // As whoever enqueues does for each position that was refused. Of several behind one another the last stands for all.
    (at..at + 100).for_each(|at| second.mark(at));
    MOST.set(usize::MAX);
    assert!(device.fault().is_none() && second.completed() == 0);
    first.mark(1);
    assert_eq!(second.wait(at + 99, Some(PATIENCE)).unwrap(), Waited::Done);
    second.fill(at + 100, memory, &[3]).unwrap();
    assert_eq!(read(&*second, at + 101, memory), [3; 64]);
}

#[test]
fn f1_a_write_that_would_be_held_back_without_memory_for_its_bytes_is_refused() {
    let mock = mock::Mock::new();
    let device = open(&mock);
    let [first, second] = [(); 2].map(|()| device.create_queue().unwrap());
    let memory = region(&*device, 8 << 20);
    let bytes = vec![1; 8 << 20];
    second.wait_for(first.id(), 1).unwrap();
    MOST.set(8 << 20);
    let answer = second.write(1, memory, &bytes);
    MOST.set(usize::MAX);
    assert!(matches!(answer, Err(DeviceError::OutOfMemory { asked: 0x80_0000, .. })), "{answer:?}");
    let small = Region { size: 64, ..memory };
    second.write(2, small, &[2; 64]).unwrap();
    first.mark(1);
    assert_eq!(read(&*second, 3, small), [2; 64]);
    assert!(device.fault().is_none());
}

//! Asking again and again how far work is takes no memory. In a program of its own, which counts what is allocated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use compute_hal::Waited;
use mock::scene::{PATIENCE, open, region};

/// Counts bytes that are not given back.
struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: all of it is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
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

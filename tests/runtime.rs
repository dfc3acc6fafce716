//! The runtime over the cpu device, without the C boundary: bytes in, out and across, and what may be read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::*;
use compute::runtime::{self, Binding, Input, Outcome, Place, Source, Stream, Wait, code};

#[test]
fn t1_never_written_bytes_read_as_zeros_also_from_memory_that_was_used_before() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    for _ in 0..3 {
        let dirty = buffer(&device, 1000, "dirty");
        runtime::fill(Some(&stream), whole(&dirty), &[7]).unwrap();
        assert_eq!(read(&stream, whole(&dirty), 1000).unwrap(), vec![7; 1000]);
        drop(dirty);
        let fresh = buffer(&device, 1000, "fresh");
        runtime::write(Some(&stream), part(&fresh, 10, 5), Source::Copied(&[1; 5])).unwrap();
        let mut expected = vec![0; 1000];
        expected[10..15].fill(1);
        assert_eq!(read(&stream, whole(&fresh), 1000).unwrap(), expected);
    }
}

#[test]
fn t2_a_refused_copy_claims_its_destination_and_reinstate_lifts_the_claim() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let a = buffer(&device, 64, "a");
    runtime::fill(Some(&stream), whole(&a), &[3]).unwrap();
    let failed = runtime::copy(Some(&stream), part(&a, 0, 16), part(&a, 8, 16)).unwrap_err();
    assert_eq!(failed.error.code, code::OVERLAP);
    assert!(failed.untouched && failed.failure != 0);
    let answer = read(&stream, whole(&a), 64).unwrap_err();
    assert_eq!(answer.error.code, code::UNWRITTEN);
    assert_eq!(answer.failure, failed.failure);
    assert_eq!(read(&stream, part(&a, 24, 40), 40).unwrap(), vec![3; 40]);
    let view = a.view(0, u64::MAX).unwrap();
    assert_eq!(runtime::reinstate(&view, failed.failure).unwrap(), 16);
    assert_eq!(read(&stream, whole(&a), 64).unwrap(), vec![3; 64]);
}

#[test]
fn t5_a_copy_from_claimed_bytes_is_skipped_and_its_destination_takes_the_same_failure() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let (a, b, c) = (buffer(&device, 64, "a"), buffer(&device, 64, "b"), buffer(&device, 64, "c"));
    let root = runtime::copy(Some(&stream), Place::BadHandle, whole(&a)).unwrap_err();
    assert_eq!(runtime::copy(Some(&stream), whole(&a), whole(&b)).unwrap(), runtime::Outcome::Skipped);
    assert_eq!(runtime::copy(Some(&stream), whole(&b), whole(&c)).unwrap(), runtime::Outcome::Skipped);
    let answer = read(&stream, whole(&c), 64).unwrap_err();
    let report = answer.report.as_ref().unwrap();
    assert_eq!(report.failure, root.failure);
    assert_eq!(report.root.code, code::INVALID_HANDLE);
    assert_eq!(report.buffers, 3);
    let needed: Vec<&str> = report.chain.iter().map(|skip| &*skip.needed.label).collect();
    assert_eq!(needed, ["b", "a"]);
    assert!(answer.answers().skip);
    // T4: a write that lands repairs what it covers.
    runtime::write(Some(&stream), part(&c, 0, 32), Source::Copied(&[1; 32])).unwrap();
    assert_eq!(read(&stream, part(&c, 0, 32), 32).unwrap(), vec![1; 32]);
    assert!(read(&stream, whole(&c), 64).is_err());
}

#[test]
fn l8_work_on_other_streams_waits_for_the_last_use_of_a_buffer() {
    let device = device();
    let streams: Vec<_> = (0..4).map(|_| Stream::new(&device, "s").unwrap()).collect();
    let buffers: Vec<_> = (0..4).map(|_| buffer(&device, 1 << 20, "b")).collect();
    for round in 0..100_u8 {
        runtime::fill(Some(&streams[0]), whole(&buffers[0]), &[round]).unwrap();
        for next in 1..4 {
            runtime::copy(Some(&streams[next]), whole(&buffers[next - 1]), whole(&buffers[next])).unwrap();
        }
    }
    assert_eq!(read(&streams[1], whole(&buffers[3]), 1 << 20).unwrap(), vec![99; 1 << 20]);
}

#[test]
fn threads_that_share_buffers_never_see_bytes_of_a_write_that_has_not_been_ordered() {
    let device = device();
    let shared = buffer(&device, 4096, "shared");
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (device, shared) = (&device, &shared);
            scope.spawn(move || {
                let stream = Stream::new(device, "s").unwrap();
                for _ in 0..500 {
                    runtime::fill(Some(&stream), whole(shared), &[thread]).unwrap();
                    let seen = read(&stream, whole(shared), 4096).unwrap();
                    assert!(seen.iter().all(|byte| *byte == seen[0]), "a torn read");
                }
            });
        }
    });
    assert_eq!(device.usage().buffers, 1);
}

#[test]
fn s2_an_event_is_over_after_the_work_before_it_and_a_wait_without_time_is_a_poll() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let big = buffer(&device, 256 << 20, "big");
    runtime::fill(Some(&stream), whole(&big), &[1, 2, 3, 4]).unwrap();
    let event = runtime::Event::record(&stream).unwrap();
    let _ = event.poll().unwrap();
    assert_eq!(event.wait(Some(Duration::from_secs(60))).unwrap(), Wait::Done);
    assert_eq!(event.poll().unwrap(), Wait::Done);
}

const ADD: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@group(0) @binding(2) var<uniform> n: u32;
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&o)) { return; }
    o[id.x] = a[id.x] + n;
}";

#[test]
fn a_kernel_adds_and_a_launch_that_reads_claimed_bytes_is_skipped() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let add = kernel(&device, ADD);
    let (a, o) = (buffer(&device, 4000, "a"), buffer(&device, 4000, "o"));
    let input: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    runtime::write(Some(&stream), whole(&a), Source::Copied(&input)).unwrap();
    let n = 5_u32.to_le_bytes();
    let uniform = Binding { group: 0, slot: 2, given: Input::Inline(&n), write_all: false };
    let bindings = [bind(1, whole(&o)), bind(0, whole(&a)), uniform];
    let launch = launch_of(&add, 16, &bindings);
    assert_eq!(runtime::launch(Some(&stream), &launch).unwrap(), Outcome::Enqueued);
    let expected: Vec<u8> = (5..1005_u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(read(&stream, whole(&o), 4000).unwrap(), expected);
    // A refused write of one byte of the input, and the launch does not run.
    let refused = runtime::write(Some(&stream), part(&a, 100, 1), Source::Copied(&[1; 2])).unwrap_err();
    assert_eq!(runtime::launch(Some(&stream), &launch).unwrap(), Outcome::Skipped);
    let answer = read(&stream, whole(&o), 4000).unwrap_err();
    assert_eq!(answer.failure, refused.failure);
    assert_eq!(&*answer.report.as_ref().unwrap().chain[0].about.kernel, "add");
    // Repaired.
    runtime::write(Some(&stream), whole(&a), Source::Copied(&input)).unwrap();
    assert_eq!(runtime::launch(Some(&stream), &launch).unwrap(), Outcome::Enqueued);
    assert_eq!(read(&stream, whole(&o), 4000).unwrap(), expected);
}

#[test]
fn t3_a_buffer_written_in_thousands_of_small_pieces_reads_back_as_written() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let pieces = buffer(&device, 64 * 5000, "pieces");
    let mut expected = vec![0; 64 * 5000];
    for piece in 0..5000 {
        runtime::write(Some(&stream), part(&pieces, piece * 64, 8), Source::Copied(&[9; 8])).unwrap();
        expected[piece as usize * 64..][..8].fill(9);
    }
    assert!(read(&stream, whole(&pieces), 64 * 5000).unwrap() == expected, "no piece is lost, and the rest reads as zeros");
}

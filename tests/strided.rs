//! M3 through the runtime: the same transfers on a device that moves rows at a pitch and on one that cannot.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::*;
use compute::registry;
use compute::runtime::{self, Device, DeviceOptions, Source, Stream, Tensor, code};
use compute_fault::{Calls, FaultPlan, How};
use compute_hal::HostTarget;

const SIZE: usize = 1 << 14;

fn without_pitches() -> (Arc<Device>, Arc<FaultPlan>) {
    let plan = Arc::new(FaultPlan::never_late(Calls::WORK).without_pitches());
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    (Device::new(compute_fault::wrap(native, Arc::clone(&plan)), &DeviceOptions::default()).unwrap(), plan)
}

/// Shapes with strides at two ends; some contiguous, some of one row, some turned.
const FORMS: [(&[u64], &[i64], &[i64]); 7] = [
    (&[20, 30], &[64, 1], &[40, 1]),
    (&[5, 6, 7], &[500, 70, 2], &[42, 7, 1]),
    (&[9, 11], &[1, 9], &[11, 1]),
    (&[100], &[1], &[1]),
    (&[100], &[3], &[5]),
    (&[], &[], &[]),
    (&[4, 3, 2, 5], &[1000, 200, 50, 9], &[1, 4, 12, 24]),
];

fn run(device: &Arc<Device>) -> Vec<Vec<u8>> {
    let stream = Stream::new(device, "rows").unwrap();
    let (a, b) = (buffer(device, SIZE as u64, "a"), buffer(device, SIZE as u64, "b"));
    let given: Vec<u8> = (0..SIZE).map(|at| (at * 31 + at / 256) as u8).collect();
    let mut seen = Vec::new();
    for (shape, from, to) in FORMS {
        let tensor = |from, to| Tensor { shape, element_size: 1, from: Some(from), to: Some(to) };
        runtime::write_strided(Some(&stream), part(&a, 16, u64::MAX), &tensor(to, from), Source::Copied(&given)).unwrap();
        runtime::copy_strided(Some(&stream), part(&a, 16, u64::MAX), whole(&b), &tensor(from, to)).unwrap();
        let mut got = vec![0xEE; SIZE];
        // SAFETY: the vector lives until the read has returned.
        let into = unsafe { HostTarget::new(got.as_mut_ptr(), SIZE) };
        runtime::read_strided(Some(&stream), whole(&b), &tensor(to, from), into).unwrap().wait(None).unwrap();
        seen.extend([got, read(&stream, whole(&a), SIZE).unwrap(), read(&stream, whole(&b), SIZE).unwrap()]);
    }
    seen
}

#[test]
fn m3_a_device_without_pitches_gets_every_row_by_itself_and_ends_up_with_the_same_bytes() {
    let (device, plan) = without_pitches();
    assert!(!device.capabilities().pitched);
    assert!(run(&device) == run(&common::device()));
    assert!(plan.calls() > 1000, "{} calls", plan.calls());
}

#[test]
fn m3_more_rows_than_a_device_without_pitches_can_be_asked_for_are_unsupported() {
    let (device, plan) = without_pitches();
    let stream = Stream::new(&device, "rows").unwrap();
    let (a, bytes) = (buffer(&device, 8 << 20, "a"), vec![0; 8 << 20]);
    let before = plan.calls();
    let many = |count| {
        let shape = [count, 1];
        let tensor = Tensor { shape: &shape, element_size: 1, from: Some(&[2, 1]), to: Some(&[2, 1]) };
        runtime::write_strided(Some(&stream), whole(&a), &tensor, Source::Copied(&bytes))
    };
    let refused = many((1 << 20) + 1).unwrap_err();
    assert_eq!(refused.error.code, code::UNSUPPORTED_STRIDES);
    assert!(refused.error.message.contains("1048577 rows"), "{}", refused.error.message);
    assert_eq!(plan.calls(), before, "nothing reached the device");
    many(1 << 10).unwrap();
}

#[test]
fn t2_a_strided_write_that_a_driver_fails_claims_its_rows_and_leaves_what_lies_between_them() {
    let plan = Arc::new(FaultPlan::never_late(Calls::WORK));
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    let device = Device::new(compute_fault::wrap(native, Arc::clone(&plan)), &DeviceOptions::default()).unwrap();
    let stream = Stream::new(&device, "rows").unwrap();
    let a = buffer(&device, 4096, "a");
    let tensor = Tensor { shape: &[50, 8], element_size: 1, from: None, to: Some(&[64, 1]) };
    // Clean, and with a claim elsewhere.
    for claimed_elsewhere in [false, true] {
        runtime::fill(Some(&stream), whole(&a), &[1]).unwrap();
        if claimed_elsewhere {
            runtime::refuse_write(code::INVALID_ARGUMENT, String::new(), &part(&a, 4000, 96));
        }
        plan.arm(1, How::Driver).unwrap();
        let refused = runtime::write_strided(Some(&stream), whole(&a), &tensor, Source::Copied(&[7; 400])).unwrap_err();
        assert_eq!(refused.error.code, code::DRIVER);
        for row in 0..50_u64 {
            let claimed = |offset, size| runtime::check(&[a.view(row * 64 + offset, size).unwrap()]).is_err();
            assert!(claimed(0, 1) && claimed(7, 1) && !claimed(8, 50), "row {row}");
        }
        runtime::write_strided(Some(&stream), whole(&a), &tensor, Source::Copied(&[7; 400])).unwrap();
        runtime::check(&[a.view(0, 4000).unwrap()]).unwrap();
    }
}

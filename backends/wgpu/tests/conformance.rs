//! The wgpu device against the suite that every device runs, on every adapter that this machine has.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use compute_hal::conformance::{Exception, Subject, run};
use compute_hal::{Driver, OpenOptions};
use compute_wgpu::{StagingWgpuDriver, WgpuDriver};

/// What no adapter can do, and why.
const EXCEPTIONS: &[Exception] = &[Exception {
    check: "kt01_kt02_kt03_kt22_numbers_of_64_bits_keep_the_same_rules",
    reason: "it uses atan2 of f64, which no graphics API has: the kernel is refused",
}];

/// What Mesa's software driver does wrong (22.3).
const LLVMPIPE: &[Exception] = &[Exception {
    check: "l12_subgroup_operations_are_those_of_the_lanes_that_are_there",
    reason: "num_subgroups leaves out the last subgroup when it is not full",
}];

/// What NVIDIA's driver does not do (580).
const NVIDIA: &[Exception] =
    &[Exception { check: "halves_round_after_every_operation", reason: "a division of f16 is one step off, as Vulkan allows" }];

fn conform(driver: &dyn Driver, options: &OpenOptions) {
    for (index, name) in common::adapters() {
        eprintln!("testing {name}");
        let mut exceptions = EXCEPTIONS.to_vec();
        if name.starts_with("llvmpipe") {
            exceptions.extend_from_slice(LLVMPIPE);
        }
        if name.starts_with("NVIDIA") {
            exceptions.extend_from_slice(NVIDIA);
        }
        run(&Subject { driver, index, options }, &exceptions).unwrap_or_else(|wrong| panic!("{name}:\n{wrong}"));
    }
}

#[test]
fn every_adapter_conforms() {
    conform(&WgpuDriver, &OpenOptions { timestamps: true, ..OpenOptions::default() });
}

#[test]
fn every_adapter_conforms_when_launches_are_sliced_and_bytes_are_staged() {
    conform(&StagingWgpuDriver, &OpenOptions { slice_groups: 100, ..OpenOptions::default() });
}

//! The cpu device against the suite that every device runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use compute_cpu::CpuDriver;
use compute_hal::OpenOptions;
use compute_hal::conformance::{Exception, Subject, run};

/// What the cpu device cannot do, and why.
const EXCEPTIONS: &[Exception] = &[];

fn conforms(threads: u32) {
    let options = OpenOptions { threads, ..OpenOptions::default() };
    run(&Subject { driver: &CpuDriver, index: 0, options: &options }, EXCEPTIONS).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn the_cpu_device_conforms_with_as_many_workers_as_processors() {
    conforms(0);
}

#[test]
fn the_cpu_device_conforms_with_one_worker() {
    conforms(1);
}

#[test]
fn the_cpu_device_conforms_with_more_workers_than_processors() {
    conforms(5);
}

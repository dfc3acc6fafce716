//! HIP's devices against the suite that every device runs: through `backends/hip` on the stand-in, with wavefronts of 64 and of 32.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]
#![allow(dead_code, reason = "a part of `common` is used")]

mod common;

use std::sync::Mutex;

use compute_cuda_hip::GpuDriver;
use compute_hal::OpenOptions;
use compute_hal::conformance::{Exception, Subject, run_some};

/// What cannot pass, and why.
const EXCEPTIONS: &[Exception] = &[];

/// The stand-in has one kind of device at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Runs the suite, or with `COMPUTE_CHECK` those checks that have it in their names.
fn conforms(wave: u64) {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(path) = common::library() else { return };
    let control = common::Control::new(&path);
    control.set("wave", wave);
    let (path, before) = (path.to_str().unwrap(), control.mistakes());
    let driver = GpuDriver::with_libraries(&compute_hip::VENDOR, path, path);
    let options = OpenOptions::default();
    let only = std::env::var("COMPUTE_CHECK").unwrap_or_default();
    let outcome = run_some(&Subject { driver: &driver, index: 0, options: &options }, EXCEPTIONS, &|name| name.contains(&only));
    outcome.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(control.mistakes(), before, "the standard error says what was wrong");
}

#[test]
fn a_device_with_wavefronts_of_64_conforms() {
    conforms(64);
}

#[test]
fn a_device_with_wavefronts_of_32_conforms() {
    conforms(32);
}

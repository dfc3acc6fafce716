//! HIP's devices against the suite that every device runs: through `backends/hip` on the stand-in, with wavefronts of 64 and of 32.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]
#![allow(dead_code, reason = "a part of `common` is used")]

mod common;

use std::sync::Mutex;

use compute_cuda_hip::GpuDriver;
use compute_hal::OpenOptions;
use compute_hal::conformance::{CHECKS, Exception, Subject, run_some};

/// What cannot pass, and why.
const EXCEPTIONS: &[Exception] = &[];

/// The stand-in has one kind of device at a time.
static ONE: Mutex<()> = Mutex::new(());

/// What is looked at in wavefronts of both sizes with every commit: what depends on the size.
const CORE: &[&str] = &["l12_", "dl06_", "kt10_", "a_launch_computes", "t13_l5_a_validated"];

/// Whether a check runs: with `COMPUTE_CHECK` those that have it in their names; with `COMPUTE_SHARD`, a number that changes with the commit, all in wavefronts of
/// one size and the core in those of the other; else all.
fn is_chosen(name: &str, wave: u64) -> bool {
    let shard: Option<u64> = std::env::var("COMPUTE_SHARD").ok().and_then(|shard| shard.parse().ok());
    let whole = shard.is_none_or(|shard| (shard % 2 == 0) == (wave == 64));
    let only = std::env::var("COMPUTE_CHECK").unwrap_or_default();
    name.contains(&only) && (whole || CORE.iter().any(|core| name.starts_with(core)))
}

fn conforms(wave: u64) {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(path) = common::library() else { return };
    let control = common::Control::new(&path);
    control.set("wave", wave);
    let (path, before) = (path.to_str().unwrap(), control.mistakes());
    let driver = GpuDriver::with_libraries(&compute_hip::VENDOR, path, path);
    let options = OpenOptions::default();
    let count = CHECKS.iter().filter(|check| is_chosen(check.name, wave)).count();
    let again = std::env::var("COMPUTE_SHARD").map(|shard| format!(", again with COMPUTE_SHARD={shard}")).unwrap_or_default();
    println!("wavefronts of {wave}: {count} of {} checks{again}", CHECKS.len());
    let chosen = |name: &str| is_chosen(name, wave);
    run_some(&Subject { driver: &driver, index: 0, options: &options }, EXCEPTIONS, &chosen)
        .unwrap_or_else(|wrong| panic!("{wrong}"));
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

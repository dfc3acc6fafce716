//! The cuda device against the suite that every device runs, on every GPU that this machine has.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use compute_hal::conformance::{Exception, Subject, run};
use compute_hal::{Driver, OpenOptions};

/// What no device can do, and why.
const EXCEPTIONS: &[Exception] = &[];

#[test]
fn every_gpu_conforms() {
    let (options, driver) = (OpenOptions::default(), &compute_cuda::DRIVER);
    let probe = driver.probe();
    if probe.devices.is_empty() {
        println!("NOT TESTED: no device: {}", probe.tried.join("; "));
        return;
    }
    for (index, device) in probe.devices.iter().enumerate() {
        println!("testing {} ({})", device.name, device.target);
        let index = u32::try_from(index).unwrap();
        run(&Subject { driver, index, options: &options }, EXCEPTIONS)
            .unwrap_or_else(|wrong| panic!("{}:\n{wrong}", device.name));
    }
}

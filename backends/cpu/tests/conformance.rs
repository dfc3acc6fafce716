//! The cpu device against the suite that every device runs.

use compute_cpu::CpuDriver;
use compute_hal::OpenOptions;
use compute_hal::conformance::{Exception, Subject, run};

/// What the cpu device cannot do, and why.
const EXCEPTIONS: &[Exception] = &[];

#[test]
fn the_cpu_device_conforms_with_any_number_of_workers() {
    for threads in [0, 1, 5] {
        run(&Subject { driver: &CpuDriver, index: 0, options: &OpenOptions { threads } }, EXCEPTIONS)
            .unwrap_or_else(|wrong| panic!("with {threads} workers:\n{wrong}"));
    }
}

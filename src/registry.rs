//! The devices that there are. The only file that names the device crates.

use std::sync::Arc;

use compute_hal::{Device, DeviceError, Driver, OpenOptions, Probe};

/// The drivers that make results, in the order in which devices are listed.
static DRIVERS: &[&(dyn Driver + 'static)] = &[&compute_cpu::CpuDriver];

/// What one driver found, or why it found nothing (F5).
#[derive(Clone, Debug)]
pub struct Found {
    /// The driver's name.
    pub backend: &'static str,
    /// Its answer.
    pub probe: Probe,
}

/// The drivers of that name, or all that make results.
fn drivers(backend: Option<&str>) -> impl Iterator<Item = &'static dyn Driver> + '_ {
    DRIVERS.iter().copied().filter(move |driver| backend.is_none_or(|name| name == driver.name()))
}

/// Asks the drivers for devices. Initialises no more than each needs for its answer (F6).
pub fn probe(backend: Option<&str>) -> Vec<Found> {
    drivers(backend).map(|driver| Found { backend: driver.name(), probe: driver.probe() }).collect()
}

/// Opens the device with that index in the list that [`probe`] of the same `backend` gives. `None`: there is none.
pub fn open(
    backend: Option<&str>,
    index: u32,
    options: &OpenOptions,
) -> Option<Result<(Arc<dyn Device>, &'static str), DeviceError>> {
    let mut left = index as usize;
    for driver in drivers(backend) {
        let count = driver.probe().devices.len();
        if left < count {
            let index = u32::try_from(left).ok()?;
            return Some(driver.open(index, options).map(|device| (device, driver.name())));
        }
        left -= count;
    }
    None
}

//! The devices that there are. The only file that names the device crates.

use std::sync::Arc;

use compute_fault::{Calls, FaultPlan, NullDriver};
use compute_hal::{Device, DeviceError, Driver, OpenOptions, Probe};

/// The drivers that make results, in the order in which devices are listed.
static DRIVERS: &[&(dyn Driver + 'static)] = &[
    &compute_cpu::CpuDriver,
    #[cfg(feature = "cuda")]
    &compute_cuda::DRIVER,
    #[cfg(feature = "hip")]
    &compute_hip::DRIVER,
    #[cfg(feature = "wgpu")]
    &compute_wgpu::WgpuDriver,
];

/// Found only by name: the device that does nothing, to measure what the host's side of a call costs.
static NULL: &(dyn Driver + 'static) = &NullDriver;

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
    let named = DRIVERS.iter().copied().filter(move |driver| backend.is_none_or(|name| name == driver.name()));
    named.chain(std::iter::once(NULL).filter(move |null| backend == Some(null.name())))
}

/// The names of all drivers, `null` included.
pub fn names() -> impl Iterator<Item = &'static str> {
    DRIVERS.iter().map(|driver| driver.name()).chain(std::iter::once(NULL.name()))
}

/// Asks the drivers for devices. Initialises no more than each needs for its answer (F6).
pub fn probe(backend: Option<&str>) -> Vec<Found> {
    drivers(backend).map(|driver| Found { backend: driver.name(), probe: driver.probe() }).collect()
}

/// An opened device and the name of its driver.
pub type Opened = (Arc<dyn Device>, &'static str);

/// Opens the device with that index in the list that [`probe`] of the same `backend` gives. `None`: there is none.
pub fn open(backend: Option<&str>, index: u32, options: &OpenOptions) -> Option<Result<Opened, DeviceError>> {
    let mut left = index;
    for driver in drivers(backend) {
        match driver.open_if_listed(left, options) {
            Ok(opened) => return Some(opened.map(|device| (device, driver.name()))),
            Err(count) => left = left.checked_sub(u32::try_from(count).ok()?)?,
        }
    }
    None
}

/// Opens a device on the Vulkan device that the options name. `None`: this build cannot.
pub fn open_on_host(options: &OpenOptions) -> Option<Result<Opened, DeviceError>> {
    let driver = drivers(Some("wgpu")).next()?;
    Some(driver.open(0, options).map(|device| (device, driver.name())))
}

/// How an injected fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Not at all: calls are only counted.
    None,
    /// The call answers a driver error.
    Error,
    /// The call answers that memory is out.
    OutOfMemory,
    /// The device is lost from the call on.
    Lost,
    /// The call succeeds, its work is not done, and the device says so later.
    Late,
    /// The call panics.
    Panic,
}

/// Faults to inject into a device that was opened for it.
#[derive(Clone)]
pub struct Faults(Arc<FaultPlan>);

impl Faults {
    /// Nothing is armed.
    pub fn new() -> Self {
        Self(Arc::new(FaultPlan::new(Calls::ALL)))
    }

    /// A device that fails as this says and is `device` otherwise.
    pub fn wrap(&self, device: Arc<dyn Device>) -> Arc<dyn Device> {
        compute_fault::wrap(device, Arc::clone(&self.0))
    }

    /// Makes the `call`-th call from now fail, in place of what was armed before; 0 only disarms.
    pub fn inject(&self, call: u64, how: How) {
        use compute_fault::How as Native;
        self.0.disarm();
        let how = match how {
            How::None => return,
            How::Error => Native::Driver,
            How::OutOfMemory => Native::OutOfMemory,
            How::Lost => Native::Lost,
            How::Late => Native::Late,
            How::Panic => Native::Panic,
        };
        if call > 0 {
            // Only plans that were made without late failures refuse any.
            let _ = self.0.arm(call, how);
        }
    }

    /// Calls of the device so far.
    pub fn calls(&self) -> u64 {
        self.0.calls()
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

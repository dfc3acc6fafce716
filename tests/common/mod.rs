//! What the tests of the runtime share: devices with and without injected faults, buffers, reads, and a watchdog.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use compute::registry::{self, Faults};
use compute::runtime::{
    self, Binding, Buffer, BufferOptions, Compile, Device, DeviceOptions, Grid, Input, Kernel, KernelOptions, Launch, Mode,
    Place, Stream,
};
use compute_fault::{Calls, FaultPlan};
use compute_hal::HostTarget;
use compute_kernel::Language;
use compute_kernel::reflection::Bounds;

pub(crate) fn device() -> Arc<Device> {
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    Device::new(native, &DeviceOptions::default()).unwrap()
}

/// A cpu device that fails as `Faults` says.
pub(crate) fn faulty() -> (Arc<Device>, Faults) {
    let faults = Faults::new();
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    (Device::new(faults.wrap(native), &DeviceOptions::default()).unwrap(), faults)
}

/// A cpu device whose `plan` has failures at once only, so that reads go straight to the caller's memory.
pub(crate) fn faulty_at_once() -> (Arc<Device>, Arc<FaultPlan>) {
    let plan = Arc::new(FaultPlan::never_late(Calls::ALL));
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    (Device::new(compute_fault::wrap(native, Arc::clone(&plan)), &DeviceOptions::default()).unwrap(), plan)
}

pub(crate) fn buffer(device: &Arc<Device>, size: u64, label: &str) -> Arc<Buffer> {
    Buffer::new(device, &BufferOptions { size, label, ..Default::default() }).unwrap()
}

pub(crate) fn whole(buffer: &Arc<Buffer>) -> Place<'_> {
    part(buffer, 0, u64::MAX)
}

pub(crate) fn part(buffer: &Arc<Buffer>, offset: u64, size: u64) -> Place<'_> {
    Place::View { buffer, offset, size }
}

pub(crate) fn read(stream: &Stream, place: Place<'_>, size: usize) -> runtime::Result<Vec<u8>> {
    let mut bytes = vec![0xEE; size];
    // SAFETY: the vector lives until the read has returned.
    let target = unsafe { HostTarget::new(bytes.as_mut_ptr(), size) };
    runtime::read(Some(stream), place, target).map(|()| bytes)
}

pub(crate) fn options(source: &str) -> KernelOptions {
    KernelOptions {
        print_size: 0,
        strict: false,
        language: Some(Language::Wgsl),
        source: source.into(),
        native: None,
        entry: None,
        label: String::new(),
        constants: Vec::new(),
        bounds: Bounds::Checked,
        compile: Compile::Now,
        time_limit: 0,
    }
}

pub(crate) fn kernel(device: &Arc<Device>, source: &str) -> Arc<Kernel> {
    Kernel::new(device, &options(source)).unwrap()
}

pub(crate) fn bind(slot: u32, place: Place<'_>) -> Binding<'_> {
    Binding { group: 0, slot, given: Input::Place(place), write_all: false }
}

/// A launch over so many workgroups.
pub(crate) fn launch_of<'a>(kernel: &'a Arc<Kernel>, groups: u32, bindings: &'a [Binding<'a>]) -> Launch<'a> {
    Launch { kernel: Some(kernel), grid: Grid::Direct([groups, 1, 1]), bindings, immediates: &[], label: "", mode: Mode::Execute }
}

/// Runs `body` on a thread of its own, and fails if it is not over in time: a hang must fail the test, not stop it.
pub(crate) fn within<T: Send + 'static>(time: Duration, what: &str, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = sender.send(body());
    });
    match receiver.recv_timeout(time) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: not over after {time:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

/// [`within`] a time that is plenty for anything but a hang.
pub(crate) fn in_time<T: Send + 'static>(what: &str, body: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(30), what, body)
}

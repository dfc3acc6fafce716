//! Adapters to test on, and a device with its queue.
#![allow(dead_code, reason = "not every test uses everything")]

use std::sync::Arc;

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    CompileRequest, CompileSource, Device, DeviceError, Driver, HostTarget, KernelId, OpenOptions, Queue, Region, Waited,
};
use compute_wgpu::WgpuDriver;

/// Index and name of every adapter. With no driver installed there may be none, which is said; with one installed there must be some.
pub(crate) fn adapters() -> Vec<(u32, String)> {
    let found = WgpuDriver.probe();
    let installed = std::path::Path::new("/usr/share/vulkan/icd.d").read_dir().is_ok_and(|mut files| files.next().is_some());
    if found.devices.is_empty() {
        assert!(!installed, "Vulkan drivers are installed, but no adapter was found: {:?}", found.tried);
        eprintln!("NOT TESTED: there is no adapter on this machine: {:?}", found.tried);
    }
    (0..).zip(found.devices.into_iter().map(|device| device.name)).collect()
}

/// An open device with its queue.
pub(crate) struct Bench {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) last: u64,
}

impl Bench {
    pub(crate) fn open(driver: &dyn Driver, index: u32) -> Self {
        let device = driver.open(index, &OpenOptions::default()).unwrap();
        let queue = device.create_queue().unwrap();
        Self { device, queue, last: 0 }
    }

    pub(crate) fn at(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(crate) fn block(&mut self, bytes: &[u8]) -> Region {
        let memory = self.device.allocate(bytes.len() as u64).unwrap();
        let region = Region { memory, offset: 0, size: bytes.len() as u64 };
        let at = self.at();
        self.queue.write(at, region, bytes).unwrap();
        region
    }

    pub(crate) fn read(&mut self, from: Region) -> Vec<u8> {
        let size = usize::try_from(from.size).unwrap();
        let target = HostTarget::staging(size).unwrap();
        let at = self.at();
        self.queue.read(at, from, target.clone()).unwrap();
        assert_eq!(self.queue.wait(at, None).unwrap(), Waited::Done);
        // SAFETY: the staging memory lives as long as `target`, has `size` bytes, and the read is over.
        unsafe { std::slice::from_raw_parts(target.pointer(), size) }.to_vec()
    }

    /// A kernel of a source that is right.
    pub(crate) fn compile(&self, source: &str, bounds: Bounds) -> Result<KernelId, DeviceError> {
        let entry = Module::parse(&Source::wgsl(source)).unwrap_or_else(|found| panic!("{}", found.text));
        let entry = entry.entry_point(None, &[]).unwrap_or_else(|found| panic!("{}", found.text));
        let source = CompileSource::Portable(&entry);
        self.device.compile(&CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "test" })
    }
}

/// Bytes that differ from their neighbours and from call to call.
pub(crate) fn pattern(size: u64, seed: u64) -> Vec<u8> {
    (0..size).map(|n| (n.wrapping_mul(31) ^ (n >> 8) ^ seed.wrapping_mul(77)) as u8).collect()
}

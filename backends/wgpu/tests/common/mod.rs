//! Adapters to test on.

use compute_hal::Driver;
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

//! What only Vulkan tells, and wgpu does not: who a device is, how much memory it has, why there is none; and the handles of buffers.

use ash::vk::{self, Handle as _};
use wgpu::hal::api::Vulkan;

/// What Vulkan says of an adapter.
pub(crate) struct Facts {
    /// `deviceUUID`; zeros where the version of Vulkan has none.
    pub(crate) uuid: [u8; 16],
    /// Bytes of the heaps that are the device's own.
    pub(crate) memory: u64,
}

pub(crate) fn facts(adapter: &wgpu::Adapter) -> Option<Facts> {
    // SAFETY: nothing of the adapter is destroyed.
    let native = unsafe { adapter.as_hal::<Vulkan>() }?;
    let (shared, physical) = (native.shared_instance(), native.raw_physical_device());
    let instance = shared.raw_instance();
    let mut identity = vk::PhysicalDeviceIDProperties::default();
    let version = shared.instance_api_version().min(native.physical_device_capabilities().properties().api_version);
    if version >= vk::API_VERSION_1_1 {
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut identity);
        // SAFETY: instance and device are of a version that has this function.
        unsafe { instance.get_physical_device_properties2(physical, &mut all) };
    }
    // SAFETY: the device is of this instance.
    let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
    let own = memory.memory_heaps_as_slice().iter().filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
    Some(Facts { uuid: identity.device_uuid, memory: own.fold(0, |all, heap| all.saturating_add(heap.size)) })
}

/// Why Vulkan has no adapter, for people.
pub(crate) fn why_none() -> String {
    let mut why = ask();
    for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Some(value) = std::env::var_os(name) {
            why.push_str(&format!("; {name} is {}", value.display()));
        }
    }
    why
}

fn ask() -> String {
    // SAFETY: a Vulkan loader may be loaded into any process.
    let entry = match unsafe { ash::Entry::load() } {
        Ok(entry) => entry,
        Err(error) => return format!("no loader: {error}"),
    };
    // SAFETY: everything is left to its defaults.
    let instance = match unsafe { entry.create_instance(&vk::InstanceCreateInfo::default(), None) } {
        Ok(instance) => instance,
        Err(error) => return format!("the loader found no driver that it could use: {error:?}"),
    };
    // SAFETY: the instance was just made, and is not used after it is destroyed.
    let devices = unsafe {
        let devices = instance.enumerate_physical_devices();
        instance.destroy_instance(None);
        devices
    };
    match devices {
        Ok(devices) => format!("no adapter; the drivers have {} devices, none of them with graphics and compute", devices.len()),
        Err(error) => format!("the drivers cannot list their devices: {error:?}"),
    }
}

/// The `VkBuffer` of a buffer.
pub(crate) fn export(buffer: &wgpu::Buffer) -> Option<u64> {
    // SAFETY: the handle is only told; whoever uses it keeps the buffer alive.
    let native = unsafe { buffer.as_hal::<Vulkan>() }?;
    // SAFETY: as above.
    Some(unsafe { native.raw_handle() }.as_raw())
}

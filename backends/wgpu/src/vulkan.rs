//! What only Vulkan tells, and wgpu does not: who a device is, how much memory it has, why there is none; the handles of buffers, and buffers in memory of our own:
//! memory that host and device share, and what others may hold handles of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ash::vk::{self, Handle as _};
use compute_hal::{DeviceError, HostTarget, ImportRefusal, Space};
use wgpu::hal;
use wgpu::hal::api::Vulkan;

use crate::errors::{device_error, scoped};

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

/// Memory that blocks have of Vulkan itself rather than of wgpu, which destroys all of its own when it gives the device up, and would not ask who looks at it.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    /// Its kinds, as bits.
    kinds: u32,
    /// It is the host's, too.
    pub(crate) shared: bool,
    /// Whether the host has to be shown what the device wrote. Not by a processor: its caches are the host's, and its drivers wait for all that is under way at each barrier.
    pub(crate) shows: bool,
    /// Allocations that there may be at once. The driver counts those of all who use the device, a host with objects of its own among them.
    most: u32,
    living: Arc<AtomicU32>,
}

/// One of the allocations that there may be.
struct Place(Arc<AtomicU32>);

impl OwnMemory {
    /// The same memory, of which there may be so many allocations.
    #[cfg(test)]
    pub(crate) fn at_most(&self, most: u32) -> Self {
        Self { most, living: Arc::default(), ..*self }
    }

    fn place(&self) -> Option<Place> {
        let more = |living: u32| living.checked_add(1).filter(|living| *living <= self.most);
        let taken = self.living.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Place(Arc::clone(&self.living)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Cached, as the host reads there; coherent, as it is told of nothing but the end of work.
const SHARED: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::DEVICE_LOCAL.as_raw()
        | vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
        | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw()
        | vk::MemoryPropertyFlags::HOST_CACHED.as_raw(),
);

/// What such memory may be besides: anything else is of an extension that has to be asked for.
const SHARED_MORE: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::LAZILY_ALLOCATED;

/// The kinds of memory of an adapter whose properties suit.
fn kinds(adapter: &wgpu::Adapter, suits: impl Fn(vk::MemoryPropertyFlags) -> bool) -> Option<u32> {
    // SAFETY: nothing of the adapter is destroyed.
    let native = unsafe { adapter.as_hal::<Vulkan>() }?;
    // SAFETY: the device is of this instance.
    let memory =
        unsafe { native.shared_instance().raw_instance().get_physical_device_memory_properties(native.raw_physical_device()) };
    let kinds = memory.memory_types_as_slice().iter().enumerate().filter(|(_, kind)| suits(kind.property_flags));
    let bits = kinds.fold(0, |bits, (index, _)| bits | 1 << index);
    (bits != 0).then_some(bits)
}

/// Where an adapter that has no memory of its own, or is no GPU at all, shares the host's.
pub(crate) fn shared_memory(adapter: &wgpu::Adapter) -> Option<OwnMemory> {
    let kind = adapter.get_info().device_type;
    if !matches!(kind, wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::Cpu) {
        return None;
    }
    let kinds = kinds(adapter, |flags| flags.contains(SHARED) && (SHARED | SHARED_MORE).contains(flags))?;
    // Nearly all, as what wgpu packs has no address: what it needs for transfers has to find some, or it gives the device up.
    let all = allocations(adapter)?;
    let most = all - all / 16;
    Some(OwnMemory { kinds, shared: true, shows: kind != wgpu::DeviceType::Cpu, most, living: Arc::default() })
}

/// Allocations that the driver allows at once.
fn allocations(adapter: &wgpu::Adapter) -> Option<u32> {
    // SAFETY: nothing of the adapter is destroyed.
    let native = unsafe { adapter.as_hal::<Vulkan>() }?;
    Some(native.physical_device_capabilities().properties().limits.max_memory_allocation_count)
}

/// What a device's own memory may be besides: most kinds that the host reaches are scarcer, and come behind the others.
const DEVICE_MORE: vk::MemoryPropertyFlags =
    vk::MemoryPropertyFlags::from_raw(SHARED.as_raw() | vk::MemoryPropertyFlags::LAZILY_ALLOCATED.as_raw());

/// Memory of the device's own, for blocks that others are told of.
pub(crate) fn device_memory(adapter: &wgpu::Adapter) -> Option<OwnMemory> {
    let own = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    let kinds = kinds(adapter, |flags| flags.contains(own) && DEVICE_MORE.contains(flags))?;
    let most = allocations(adapter)? / 4;
    Some(OwnMemory { kinds, shared: false, shows: false, most, living: Arc::default() })
}

/// Addresses of blocks are multiples of this; Vulkan promises 64.
const HOST_ALIGNMENT: u64 = 256;

/// A buffer in memory of our own, as a block holds it.
pub(crate) struct Made {
    pub(crate) buffer: wgpu::Buffer,
    /// The memory stays as long as this does and wgpu uses it.
    pub(crate) parts: Arc<Parts>,
    /// Its bytes where they are the host's, too: it may access them until the memory goes.
    pub(crate) host: Option<HostTarget>,
}

/// `None`: there are as many as there may be, and memory of wgpu's own, which packs many buffers into few allocations, would do. Where it is to be the host's, it would not.
pub(crate) fn allocate(
    device: &wgpu::Device,
    own: &OwnMemory,
    descriptor: &wgpu::BufferDescriptor<'_>,
) -> Result<Option<Made>, DeviceError> {
    let size = descriptor.size;
    let Some(place) = own.place() else {
        return if own.shared { Err(DeviceError::OutOfMemory { asked: size, free: 0 }) } else { Ok(None) };
    };
    let made = {
        // SAFETY: nothing of the device is destroyed but what is made here.
        let native = unsafe { device.as_hal::<Vulkan>() };
        let native = native.ok_or_else(|| DeviceError::Internal("memory of our own on an API other than Vulkan".into()))?;
        // SAFETY: wgpu's device is alive.
        unsafe { Parts::make(native.raw_device(), own, place, size) }
    };
    // Not out of memory of wgpu's where the driver allows no more: wgpu would give the device up for that.
    let (parts, pointer) = made.map_err(|error| refused(size, error))?;
    let bytes = usize::try_from(size).map_err(|_| DeviceError::TooLarge { asked: size, limit: usize::MAX as u64 })?;
    let parts = Arc::new(parts);
    let held = Arc::clone(&parts);
    // SAFETY: the buffer is of this device, and as the descriptor says. It stays until wgpu has dropped this one.
    let buffer = scoped(|| unsafe {
        let native = hal::vulkan::Buffer::from_raw_externally_owned(parts.buffer, Box::new(move || drop(held)));
        device.create_buffer_from_hal::<Vulkan>(native, descriptor)
    });
    let buffer = buffer.map_err(|error| device_error("create_buffer_from_hal", size, &error))?;
    // SAFETY: the memory stays mapped until it goes; who may access it when is for the caller to see to.
    let host = pointer.map(|pointer| unsafe { HostTarget::new(pointer, bytes) });
    Ok(Some(Made { buffer, parts, host }))
}

fn refused(size: u64, error: vk::Result) -> DeviceError {
    match error {
        // Too many allocations are as bad as too large ones, and giving some back helps.
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
        | vk::Result::ERROR_OUT_OF_HOST_MEMORY
        | vk::Result::ERROR_TOO_MANY_OBJECTS
        | vk::Result::ERROR_MEMORY_MAP_FAILED => DeviceError::OutOfMemory { asked: size, free: 0 },
        error => DeviceError::Driver {
            call: "vkAllocateMemory",
            code: error.as_raw().into(),
            name: format!("{error:?}"),
            message: format!("a buffer of {size} bytes in memory of its own"),
        },
    }
}

/// A buffer of Vulkan's with memory of its own, mapped for good where it is the host's. Both go with this, so that must not outlive the device: wgpu holds it within its
/// buffer, and whoever else does holds that buffer, too.
pub(crate) struct Parts {
    device: vk::Device,
    destroy: vk::PFN_vkDestroyBuffer,
    free: vk::PFN_vkFreeMemory,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    _place: Place,
}

impl Drop for Parts {
    fn drop(&mut self) {
        // SAFETY: the device is alive, as said above. Whoever used these has let go: wgpu does so when no submission uses the buffer any more.
        unsafe {
            (self.destroy)(self.device, self.buffer, std::ptr::null());
            (self.free)(self.device, self.memory, std::ptr::null());
        }
    }
}

/// Memory that was bound to a buffer, and the buffer's address where it is mapped.
type Bound = (vk::DeviceMemory, Option<*mut u8>);

impl Parts {
    /// # Safety
    /// The device is alive.
    unsafe fn make(
        device: &ash::Device,
        own: &OwnMemory,
        place: Place,
        size: u64,
    ) -> Result<(Self, Option<*mut u8>), vk::Result> {
        let usage =
            vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage).sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: as our own caller says.
        let buffer = unsafe { device.create_buffer(&info, None) }?;
        // SAFETY: the buffer was just made.
        match unsafe { Self::back(device, own, buffer) } {
            Ok((memory, pointer)) => {
                let calls = device.fp_v1_0();
                let (destroy, free) = (calls.destroy_buffer, calls.free_memory);
                Ok((Self { device: device.handle(), destroy, free, buffer, memory, _place: place }, pointer))
            }
            Err(error) => {
                // SAFETY: nothing uses the buffer.
                unsafe { device.destroy_buffer(buffer, None) };
                Err(error)
            }
        }
    }

    /// # Safety
    /// The buffer is the device's, and has no memory.
    unsafe fn back(device: &ash::Device, own: &OwnMemory, buffer: vk::Buffer) -> Result<Bound, vk::Result> {
        // SAFETY: as our own caller says.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        let kinds = needs.memory_type_bits & own.kinds;
        // Not out of memory: nothing that is given back helps.
        let mut refused = vk::Result::ERROR_FEATURE_NOT_PRESENT;
        for kind in (0..u32::BITS).filter(|kind| kinds >> kind & 1 == 1) {
            // More only where the driver maps at odd addresses: the largest block is as large as one allocation may be.
            for more in [0, HOST_ALIGNMENT] {
                // SAFETY: as our own caller says; the kind is one that the buffer can have.
                match unsafe { Self::try_back(device, buffer, &needs, (kind, own.shared), more) } {
                    Ok(Some(bound)) => return Ok(bound),
                    Ok(None) => {}
                    Err(error) => {
                        refused = error;
                        break;
                    }
                }
            }
        }
        Err(refused)
    }

    /// `None`: where the driver maps it there is no place for the buffer with an address that suits.
    ///
    /// # Safety
    /// As of `back`; the buffer can have memory of the kind, which can be mapped if it is shared.
    unsafe fn try_back(
        device: &ash::Device,
        buffer: vk::Buffer,
        needs: &vk::MemoryRequirements,
        (kind, shared): (u32, bool),
        more: u64,
    ) -> Result<Option<Bound>, vk::Result> {
        let whole = needs.size.checked_add(more).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        let info = vk::MemoryAllocateInfo::default().allocation_size(whole).memory_type_index(kind);
        // SAFETY: as our own caller says.
        let memory = unsafe { device.allocate_memory(&info, None) }?;
        // SAFETY: the memory was just made, and can be mapped if it is shared.
        let bound = unsafe {
            if shared {
                device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).and_then(|base| {
                    let base: *mut u8 = base.cast();
                    let offset = (base.addr() as u64).next_multiple_of(HOST_ALIGNMENT) - base.addr() as u64;
                    if offset > more || !offset.is_multiple_of(needs.alignment.max(1)) {
                        return Ok(None);
                    }
                    device.bind_buffer_memory(buffer, memory, offset)?;
                    Ok(Some((memory, Some(base.add(offset as usize)))))
                })
            } else {
                device.bind_buffer_memory(buffer, memory, 0).map(|()| Some((memory, None)))
            }
        };
        if !matches!(bound, Ok(Some(_))) {
            // SAFETY: the buffer that it may be bound to is destroyed by the caller, and not used before.
            unsafe { device.free_memory(memory, None) };
        }
        bound
    }
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

/// A buffer of the host's (T14), which wgpu uses and never destroys. That it was made for what the descriptor says, and is as long, is for the host to vouch for.
pub(crate) fn import(
    device: &wgpu::Device,
    handle: u64,
    descriptor: &wgpu::BufferDescriptor<'_>,
) -> Result<wgpu::Buffer, DeviceError> {
    let buffer = vk::Buffer::from_raw(handle);
    let room = {
        // SAFETY: nothing of the device is destroyed.
        let native = unsafe { device.as_hal::<Vulkan>() };
        let native = native.ok_or_else(|| DeviceError::Internal("an import on an API other than Vulkan".into()))?;
        // SAFETY: the host vouches that it is a buffer of this device.
        unsafe { native.raw_device().get_buffer_memory_requirements(buffer) }.size
    };
    // Vulkan does not tell how long a buffer is, but that it is no longer than its memory.
    if descriptor.size > room {
        let text = format!("bytes up to {} were named, and the VkBuffer takes {room} bytes of memory", descriptor.size);
        return Err(ImportRefusal::OutOfRange.because(text));
    }
    // SAFETY: as the host vouches: it is a buffer of this device, made for these usages, whose bytes are there, and it stays until wgpu has dropped this one.
    let made = scoped(|| unsafe {
        let native = hal::vulkan::Buffer::from_raw_externally_owned(buffer, Box::new(|| {}));
        device.create_buffer_from_hal::<Vulkan>(native, descriptor)
    });
    made.map_err(|error| device_error("create_buffer_from_hal", descriptor.size, &error))
}

/// Where the bytes of a buffer are, as the process tells them apart; `None`: on another API.
pub(crate) fn space(device: &wgpu::Device, buffer: u64) -> Option<Space> {
    // SAFETY: the handle is only told.
    let native = unsafe { device.as_hal::<Vulkan>() }?;
    Some(Space::Vulkan { device: native.raw_device().handle().as_raw(), buffer })
}

/// The `VkBuffer` of a buffer.
pub(crate) fn export(buffer: &wgpu::Buffer) -> Option<u64> {
    // SAFETY: the handle is only told; whoever uses it keeps the buffer alive.
    let native = unsafe { buffer.as_hal::<Vulkan>() }?;
    // SAFETY: as above.
    Some(unsafe { native.raw_handle() }.as_raw())
}

/// Waits until a queue has nothing to do, where wgpu cannot wait for what it has submitted. The caller has the queue for itself.
pub(crate) fn wait_idle(queue: &wgpu::Queue) {
    // SAFETY: nothing of the queue is destroyed.
    if let Some(native) = unsafe { queue.as_hal::<Vulkan>() } {
        // SAFETY: the queue is alive, and nobody else uses it. An error is the end of a device that is at an end: there is nothing left to ask.
        let _ = unsafe { hal::Queue::wait_for_idle(&*native) };
    }
}

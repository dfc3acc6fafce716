//! A device of our own on the Vulkan device of the host program.
//!
//! wgpu asks a physical device what it supports and takes that for what is enabled. On a device that somebody else has made only a part of it is, so
//! while wgpu asks, a few functions of the host's instance are ours and answer with what the host says that it has enabled: features, extensions, the version
//! of the API, and its queue family as the first.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use ash::vk::{self, Handle as _};
use compute_hal::{DeviceError, HostVulkan};
use wgpu::hal;
use wgpu::hal::api::Vulkan;

use crate::driver::{MOST_BYTES, driver_error};
use crate::errors::chain;
use crate::turns;

/// A device on the host's, and what it was made from.
pub(crate) struct Made {
    pub(crate) adapter: wgpu::Adapter,
    pub(crate) opened: (wgpu::Device, wgpu::Queue),
    pub(crate) features: wgpu::Features,
}

/// Opens a device with those of the `wanted` features that the host has enabled. `usable` judges the adapter.
pub(crate) fn open(
    host: &HostVulkan,
    wanted: wgpu::Features,
    usable: impl Fn(&wgpu::Adapter) -> bool,
) -> Result<Made, DeviceError> {
    if host.instance == 0 || host.physical_device == 0 || host.device == 0 {
        return Err(unsuitable("one of its handles is null"));
    }
    let physical = vk::PhysicalDevice::from_raw(host.physical_device);
    let shown = Shown::new(host);
    // To the end: what is made of the device asks once more.
    let _asked = Asked::begin(&shown);
    let (instance, exposed) = expose(&shown, physical)?;
    let features = exposed.features & wanted;
    let native = exposed.capabilities.limits.clone();
    let device = raw_device(host, exposed.adapter.shared_instance().raw_instance());
    // What wgpu has use for of what is enabled, in words of its own.
    let extensions: Vec<&'static CStr> =
        exposed.adapter.required_device_extensions(features).into_iter().filter(|name| enabled(host, name)).collect();
    let descriptor = crate::driver::descriptor(features, native);
    // SAFETY: the host vouches for the device, which was made from this physical device with these extensions; features that are not enabled were not shown.
    let made = unsafe {
        exposed.adapter.device_from_raw(
            device,
            Some(guard(host)),
            &extensions,
            features,
            &descriptor.required_limits,
            &descriptor.memory_hints,
            host.queue_family,
            host.queue_index,
        )
    };
    let device = made.map_err(|error| driver_error("device_from_raw", chain(&error)))?;
    // SAFETY: the adapter is of this instance.
    let adapter = unsafe { instance.create_adapter_from_hal::<Vulkan>(exposed) };
    if !usable(&adapter) {
        return Err(unsuitable("it cannot run kernels"));
    }
    // wgpu makes pipelines of its own for an instance that it has not made. None of the host's functions is called meanwhile.
    let turn = (adapter.get_info().vendor == crate::driver::NVIDIA).then(turns::beside_others);
    // SAFETY: the device is of this adapter, and has these features.
    let opened = unsafe { adapter.create_device_from_hal::<Vulkan>(device, &descriptor) };
    drop(turn);
    let opened = opened.map_err(|error| driver_error("create_device_from_hal", chain(&error)))?;
    Ok(Made { adapter, opened, features })
}

fn unsuitable(why: &str) -> DeviceError {
    driver_error("open", format!("the host's Vulkan device cannot be shared: {why}"))
}

/// Keeps the host's objects until wgpu lets go of this.
fn guard(host: &HostVulkan) -> hal::DropCallback {
    let held = host.host.clone();
    Box::new(move || drop(held))
}

fn enabled(host: &HostVulkan, name: &CStr) -> bool {
    host.device_extensions.iter().any(|other| other.as_c_str() == name)
}

fn version(host: &HostVulkan) -> u32 {
    host.api_version.max(vk::API_VERSION_1_0)
}

/// The adapter as wgpu is to see it.
fn expose(shown: &Shown<'_>, physical: vk::PhysicalDevice) -> Result<(wgpu::Instance, hal::ExposedAdapter<Vulkan>), DeviceError> {
    let host = shown.host;
    // SAFETY: the host vouches for the loader; what it does not know is not called.
    let (entry, instance) = unsafe {
        let entry = ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr: load });
        let handle = vk::Instance::from_raw(host.instance);
        (entry, ash::Instance::load_with(|name| address(load(handle, name.as_ptr())), handle))
    };
    shown.check_queue(physical)?;
    // With it, or with Vulkan 1.1, wgpu may ask for more than the core features.
    let asks = ash::khr::get_physical_device_properties2::NAME;
    let can_ask = version(host) >= vk::API_VERSION_1_1 || host.instance_extensions.iter().any(|other| other.as_c_str() == asks);
    let extensions = if can_ask { vec![asks] } else { Vec::new() };
    // SAFETY: the host vouches for the instance, which stays alive until the guard is dropped.
    let instance = unsafe {
        hal::vulkan::Instance::from_raw(
            entry,
            instance,
            version(host),
            0,
            None,
            extensions,
            wgpu::InstanceFlags::empty(),
            wgpu::MemoryBudgetThresholds::default(),
            false,
            Some(guard(host)),
        )
    };
    let instance = instance.map_err(|error| driver_error("Instance::from_raw", chain(&error)))?;
    let mut exposed = instance.expose_adapter(physical).ok_or_else(|| unsuitable("wgpu cannot work with its driver"))?;
    if !shown.features.has(SUBGROUP_SIZES) {
        // wgpu does not look at this one, but uses it in every kernel of a device with subgroups.
        exposed.features.remove(wgpu::Features::SUBGROUP | wgpu::Features::SUBGROUP_BARRIER);
    }
    // With an instance that it has not made wgpu checks indirect grids itself, in 32 bits, and relies on these limits, which Vulkan 1.0 does not have.
    let limits = &mut exposed.capabilities.limits;
    limits.max_buffer_size = limits.max_buffer_size.min(MOST_BYTES);
    limits.max_storage_buffer_binding_size = limits.max_storage_buffer_binding_size.min(MOST_BYTES);
    limits.max_uniform_buffer_binding_size = limits.max_uniform_buffer_binding_size.min(MOST_BYTES);
    // SAFETY: the instance is whole. It is not destroyed with this, as it has a guard.
    Ok((unsafe { wgpu::Instance::from_hal::<Vulkan>(instance) }, exposed))
}

fn raw_device(host: &HostVulkan, instance: &ash::Instance) -> ash::Device {
    // SAFETY: the host vouches for the device, which is of this instance.
    unsafe { ash::Device::load(instance.fp_v1_0(), vk::Device::from_raw(host.device)) }
}

/// Structs of flags that matter to kernels, and how many flags each has.
const KNOWN: [(vk::StructureType, usize); 9] = [
    (vk::StructureType::PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, 4),
    (vk::StructureType::PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, 2),
    (vk::StructureType::PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES, 2),
    (vk::StructureType::PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, 1),
    (vk::StructureType::PHYSICAL_DEVICE_ZERO_INITIALIZE_WORKGROUP_MEMORY_FEATURES, 1),
    (vk::StructureType::PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, 1),
    (vk::StructureType::PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, 2),
    (vk::StructureType::PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT, 12),
    (vk::StructureType::PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT, 3),
];
const STORAGE_16: usize = 0;
const SMALL_TYPES: usize = 1;
const ATOMICS_64: usize = 2;
const TIMELINE: usize = 3;
const ZEROING: usize = 4;
const DOT_PRODUCT: usize = 5;
const SUBGROUP_SIZES: usize = 6;

/// Features that the host's device was made with.
#[derive(Default)]
struct Features {
    core: vk::PhysicalDeviceFeatures,
    known: [[vk::Bool32; 12]; KNOWN.len()],
}

fn known(kind: vk::StructureType) -> Option<(usize, usize)> {
    KNOWN.iter().position(|(known, _)| *known == kind).map(|index| (index, KNOWN[index].1))
}

impl Features {
    /// # Safety
    /// `next` is null or the head of a chain of Vulkan's structs.
    unsafe fn read(mut next: *const c_void) -> Self {
        let mut all = Self::default();
        while !next.is_null() {
            let at: *const vk::BaseInStructure<'_> = next.cast();
            // SAFETY: as our own caller says; a struct of flags has them behind what all structs begin with.
            unsafe {
                match (*at).s_type {
                    vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 => {
                        all.core = (*at.cast::<vk::PhysicalDeviceFeatures2<'_>>()).features;
                    }
                    vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES => all.add_1_1(&*at.cast()),
                    vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => all.add_1_2(&*at.cast()),
                    vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => all.add_1_3(&*at.cast()),
                    kind => {
                        if let Some((index, count)) = known(kind) {
                            all.add(index, std::slice::from_raw_parts(at.add(1).cast(), count));
                        }
                    }
                }
                next = (*at).p_next.cast();
            }
        }
        all
    }

    fn add(&mut self, index: usize, flags: &[vk::Bool32]) {
        self.known[index].iter_mut().zip(flags).for_each(|(mine, flag)| *mine |= flag);
    }

    fn add_1_1(&mut self, more: &vk::PhysicalDeviceVulkan11Features<'_>) {
        self.add(
            STORAGE_16,
            &[
                more.storage_buffer16_bit_access,
                more.uniform_and_storage_buffer16_bit_access,
                more.storage_push_constant16,
                more.storage_input_output16,
            ],
        );
    }

    fn add_1_2(&mut self, more: &vk::PhysicalDeviceVulkan12Features<'_>) {
        self.add(SMALL_TYPES, &[more.shader_float16, more.shader_int8]);
        self.add(ATOMICS_64, &[more.shader_buffer_int64_atomics, more.shader_shared_int64_atomics]);
        self.add(TIMELINE, &[more.timeline_semaphore]);
    }

    fn add_1_3(&mut self, more: &vk::PhysicalDeviceVulkan13Features<'_>) {
        self.add(ZEROING, &[more.shader_zero_initialize_workgroup_memory]);
        self.add(DOT_PRODUCT, &[more.shader_integer_dot_product]);
        self.add(SUBGROUP_SIZES, &[more.subgroup_size_control, more.compute_full_subgroups]);
    }

    /// # Safety
    /// `into` is the head of a chain of Vulkan's structs that may be written.
    unsafe fn write(&self, into: *mut vk::PhysicalDeviceFeatures2<'_>) {
        // SAFETY: as our own caller says. What is not known stays as wgpu made it: not supported.
        unsafe {
            (*into).features = self.core;
            let mut next = (*into).p_next.cast::<vk::BaseOutStructure<'_>>();
            while !next.is_null() {
                if let Some((index, count)) = known((*next).s_type) {
                    ptr::copy_nonoverlapping(self.known[index].as_ptr(), next.add(1).cast(), count);
                }
                next = (*next).p_next;
            }
        }
    }

    fn has(&self, index: usize) -> bool {
        self.known[index].iter().any(|flag| *flag != 0)
    }
}

/// What wgpu is shown of the host's device.
struct Shown<'a> {
    host: &'a HostVulkan,
    features: Features,
    extensions: Vec<CString>,
}

impl<'a> Shown<'a> {
    fn new(host: &'a HostVulkan) -> Self {
        // SAFETY: the host vouches for the chain.
        let mut shown = Self { host, features: unsafe { Features::read(host.features) }, extensions: Vec::new() };
        shown.extensions = shown.visible();
        shown
    }

    /// What is enabled, and extensions that a newer Vulkan has taken in and whose features are: wgpu asks for these by the extension.
    fn visible(&self) -> Vec<CString> {
        let taken_in = [
            (vk::API_VERSION_1_1, STORAGE_16, ash::khr::_16bit_storage::NAME),
            (vk::API_VERSION_1_2, TIMELINE, ash::khr::timeline_semaphore::NAME),
            (vk::API_VERSION_1_2, ATOMICS_64, ash::khr::shader_atomic_int64::NAME),
        ];
        let taken_in = taken_in.iter().filter(|(since, index, _)| version(self.host) >= *since && self.features.has(*index));
        self.host.device_extensions.iter().cloned().chain(taken_in.map(|(_, _, name)| (*name).to_owned())).collect()
    }

    fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        let instance = ptr::with_exposed_provenance_mut(usize::try_from(self.host.instance).ok()?);
        // SAFETY: the host vouches for its loader and its instance.
        let found = unsafe { (self.host.loader)(instance, name.as_ptr()) }?;
        const { assert!(size_of::<F>() == size_of::<unsafe extern "system" fn()>()) };
        // SAFETY: the function of that name has this type.
        Some(unsafe { std::mem::transmute_copy(&found) })
    }

    /// The physical device's queue families, the host's first.
    fn families(&self, physical: vk::PhysicalDevice) -> Vec<vk::QueueFamilyProperties> {
        let ask: Option<vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties> =
            self.function(c"vkGetPhysicalDeviceQueueFamilyProperties");
        let Some(ask) = ask else { return Vec::new() };
        let mut count = 0;
        // SAFETY: a null pointer asks for the number, and then there is room for as many.
        unsafe { ask(physical, &mut count, ptr::null_mut()) };
        let mut all = vec![vk::QueueFamilyProperties::default(); count as usize];
        // SAFETY: as above.
        unsafe { ask(physical, &mut count, all.as_mut_ptr()) };
        all.truncate(count as usize);
        let mine = self.host.queue_family as usize;
        if mine < all.len() {
            all.swap(0, mine);
        }
        all
    }

    fn check_queue(&self, physical: vk::PhysicalDevice) -> Result<(), DeviceError> {
        let families = self.families(physical);
        let HostVulkan { queue_family, queue_index, .. } = *self.host;
        if queue_family as usize >= families.len() {
            return Err(unsuitable(&format!("there is no queue family {queue_family}; it has {}", families.len())));
        }
        let Some(family) = families.first() else { return Ok(()) };
        if queue_index >= family.queue_count {
            return Err(unsuitable(&format!("queue {queue_index} of a family of {} queues", family.queue_count)));
        }
        // Barriers of wgpu's name stages of graphics.
        if !family.queue_flags.contains(vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE) {
            return Err(unsuitable(&format!("queue family {queue_family} is not one for graphics and compute")));
        }
        Ok(())
    }
}

thread_local! {
    /// What functions of ours answer from, while wgpu asks on this thread.
    static ASKED: Cell<*const Shown<'static>> = const { Cell::new(ptr::null()) };
}

/// While it lives, functions of ours answer on this thread.
struct Asked<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> Asked<'a> {
    fn begin(shown: &'a Shown<'a>) -> Self {
        ASKED.set(ptr::from_ref(shown).cast());
        Self(std::marker::PhantomData)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        ASKED.set(ptr::null());
    }
}

/// `None`: wgpu asks when it was thought to be done with that. Places that are to be filled get zeros then.
fn asked<T>(answer: impl FnOnce(&Shown<'_>) -> T) -> Option<T> {
    // SAFETY: the pointer is there for as long as what it points to is borrowed.
    unsafe { ASKED.get().as_ref() }.map(answer)
}

fn address(function: vk::PFN_vkVoidFunction) -> *const c_void {
    function.map_or(ptr::null(), |function| function as *const c_void)
}

/// `vkGetInstanceProcAddr` as wgpu has it.
unsafe extern "system" fn load(_: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: callers of this function give it a name.
    let name = unsafe { CStr::from_ptr(name) };
    // SAFETY: a function pointer of any type passes as one of this type.
    let own = |function: *const ()| Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(function) });
    match name.to_bytes() {
        b"vkGetPhysicalDeviceFeatures" => return own(features as *const ()),
        b"vkGetPhysicalDeviceFeatures2" | b"vkGetPhysicalDeviceFeatures2KHR" => return own(features_2 as *const ()),
        b"vkGetPhysicalDeviceProperties" => return own(properties as *const ()),
        b"vkEnumerateDeviceExtensionProperties" => return own(extensions as *const ()),
        b"vkGetPhysicalDeviceQueueFamilyProperties" => return own(queue_families as *const ()),
        _ => {}
    }
    let found = asked(|shown| shown.function::<unsafe extern "system" fn()>(name)).flatten();
    // What an extension had, and Vulkan has taken in.
    let core = || {
        let core = CString::new(name.to_bytes().strip_suffix(b"KHR")?).ok()?;
        asked(|shown| shown.function(&core)).flatten()
    };
    found.or_else(core)
}

unsafe extern "system" fn features(_: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceFeatures) {
    let found = asked(|shown| shown.features.core).unwrap_or_default();
    // SAFETY: wgpu gives a place for them.
    unsafe { into.write(found) };
}

unsafe extern "system" fn features_2(_: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceFeatures2<'_>) {
    // SAFETY: wgpu gives a chain to be filled.
    asked(|shown| unsafe { shown.features.write(into) });
}

unsafe extern "system" fn properties(physical: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceProperties) {
    // SAFETY: wgpu gives a place for them.
    unsafe { into.write(vk::PhysicalDeviceProperties::default()) };
    asked(|shown| {
        let ask: Option<vk::PFN_vkGetPhysicalDeviceProperties> = shown.function(c"vkGetPhysicalDeviceProperties");
        let Some(ask) = ask else { return };
        // SAFETY: as above. What the instance was not made for must not be used of the device.
        unsafe {
            ask(physical, into);
            (*into).api_version = (*into).api_version.min(version(shown.host));
        }
    });
}

unsafe extern "system" fn extensions(
    physical: vk::PhysicalDevice,
    _: *const c_char,
    count: *mut u32,
    into: *mut vk::ExtensionProperties,
) -> vk::Result {
    let found = asked(|shown| {
        shown
            .extensions
            .iter()
            .map(|name| vk::ExtensionProperties::default().extension_name(name))
            .filter_map(Result::ok)
            .collect::<Vec<_>>()
    });
    let _ = physical;
    // SAFETY: wgpu gives places as Vulkan wants them.
    unsafe { give(&found.unwrap_or_default(), count, into) }
}

unsafe extern "system" fn queue_families(physical: vk::PhysicalDevice, count: *mut u32, into: *mut vk::QueueFamilyProperties) {
    let found = asked(|shown| shown.families(physical)).unwrap_or_default();
    // SAFETY: as above.
    let _ = unsafe { give(&found, count, into) };
}

/// Answers as Vulkan does: how many there are, or as many as there is room for.
///
/// # Safety
/// `count` is readable and writable; `into` is null or has room for as many as it says.
unsafe fn give<T: Copy>(all: &[T], count: *mut u32, into: *mut T) -> vk::Result {
    // SAFETY: as our own caller says.
    unsafe {
        let room = *count as usize;
        let given = if into.is_null() { all.len() } else { room.min(all.len()) };
        *count = u32::try_from(given).unwrap_or_default();
        if into.is_null() {
            return vk::Result::SUCCESS;
        }
        ptr::copy_nonoverlapping(all.as_ptr(), into, given);
        if given < all.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
    }
}

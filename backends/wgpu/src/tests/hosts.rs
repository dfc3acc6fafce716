//! Devices that are the host program's own.

use super::*;

/// A host that has a Vulkan device of its own.
struct Engine {
    loaded: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    physical: vk::PhysicalDevice,
    family: u32,
}

/// A host that has its queue for itself.
struct Alone;

impl VulkanHost for Alone {
    fn lock_queue(&self) {}
    fn unlock_queue(&self) {}
}

/// What loads functions of the loader's, for those that say something else in a test.
static LOADER: OnceLock<ash::StaticFn> = OnceLock::new();

unsafe extern "system" fn load(instance: *mut c_void, name: *const c_char) -> VulkanFunction {
    let instance = vk::Instance::from_raw(instance.expose_provenance() as u64);
    // SAFETY: as our own caller says, who has a name.
    unsafe {
        if CStr::from_ptr(name) == c"vkGetPhysicalDeviceProperties" {
            ASKED_OF.get_or_init(|| instance.as_raw());
            return Some(std::mem::transmute::<vk::PFN_vkGetPhysicalDeviceProperties, unsafe extern "system" fn()>(of_nvidia));
        }
        (LOADER.get().unwrap().get_instance_proc_addr)(instance, name)
    }
}

static ASKED_OF: OnceLock<u64> = OnceLock::new();

/// Whatever it is, it says that NVIDIA has made it.
unsafe extern "system" fn of_nvidia(physical: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceProperties) {
    let instance = vk::Instance::from_raw(*ASKED_OF.get().unwrap());
    // SAFETY: the function of that name has this type, and its caller gives a place.
    unsafe {
        let ask = (LOADER.get().unwrap().get_instance_proc_addr)(instance, c"vkGetPhysicalDeviceProperties".as_ptr()).unwrap();
        std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkGetPhysicalDeviceProperties>(ask)(physical, into);
        (*into).vendor_id = driver::NVIDIA;
    }
}

impl Engine {
    /// `None`: there is no Vulkan device that draws and computes.
    fn new() -> Option<Self> {
        // Other tests make devices, too.
        let _turn = turns::alone();
        // SAFETY: a Vulkan loader may be loaded into any process; what is made here is used as Vulkan has it.
        unsafe {
            let loaded = ash::Entry::load().ok()?;
            LOADER.get_or_init(|| loaded.static_fn().clone());
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
            let instance = loaded.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None).ok()?;
            let both = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
            let (physical, family) = instance.enumerate_physical_devices().ok()?.into_iter().find_map(|physical| {
                let families = instance.get_physical_device_queue_family_properties(physical);
                families.iter().position(|family| family.queue_flags.contains(both)).map(|family| (physical, family as u32))
            })?;
            let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let device =
                instance.create_device(physical, &vk::DeviceCreateInfo::default().queue_create_infos(&queues), None).ok()?;
            Some(Self { loaded, instance, device, physical, family })
        }
    }

    fn shared(&self) -> HostVulkan {
        HostVulkan {
            loader: load,
            instance: self.instance.handle().as_raw(),
            physical_device: self.physical.as_raw(),
            device: self.device.handle().as_raw(),
            api_version: vk::API_VERSION_1_1,
            instance_extensions: Vec::new(),
            device_extensions: Vec::new(),
            features: std::ptr::null(),
            queue_family: self.family,
            queue_index: 0,
            host: Arc::new(Alone),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _turn = turns::alone();
        // SAFETY: devices on it are closed by now. The loader stays: drivers have handlers for the end of the process.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
        std::mem::forget(self.loaded.clone());
    }
}

#[test]
fn a_host_s_device_of_nvidia_s_is_opened_while_nobody_makes_a_device() {
    let Some(engine) = Engine::new() else { return };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let turn = turns::alone();
        let (engine, done) = (&engine, &done);
        scope.spawn(move || {
            let options = OpenOptions { vulkan: Some(engine.shared()), ..OpenOptions::default() };
            let device = driver::open_device(0, &options, true).unwrap();
            assert_eq!(device.properties().vendor, "NVIDIA");
            done.store(true, Ordering::Release);
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!done.load(Ordering::Acquire), "out of turn");
        drop(turn);
    });
    assert!(done.into_inner());
}

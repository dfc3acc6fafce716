//! A Vulkan device of the host program's, to be worked on beside the host. Numbers and names only: what they mean is the wgpu device's to know.

use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::sync::Arc;

/// `PFN_vkVoidFunction`
pub type VulkanFunction = Option<unsafe extern "system" fn()>;
/// `PFN_vkGetInstanceProcAddr`
pub type VulkanLoader = unsafe extern "system" fn(instance: *mut c_void, name: *const c_char) -> VulkanFunction;

/// The host's objects. Whoever makes one vouches that they are what they are said to be, belong together, and stay alive until the last clone of `host`
/// is gone.
#[derive(Clone)]
pub struct HostVulkan {
    /// `vkGetInstanceProcAddr`
    pub loader: VulkanLoader,
    /// `VkInstance`
    pub instance: u64,
    /// `VkPhysicalDevice`
    pub physical_device: u64,
    /// `VkDevice`
    pub device: u64,
    /// `VkApplicationInfo::apiVersion` of the instance; 0 is Vulkan 1.0.
    pub api_version: u32,
    /// Extensions that the instance was made with.
    pub instance_extensions: Vec<CString>,
    /// Extensions that the device was made with.
    pub device_extensions: Vec<CString>,
    /// The head of a chain of `VkPhysicalDevice...Features` structs that the device was made with, or null. Only read while the device is opened.
    pub features: *const c_void,
    /// Family of the queue.
    pub queue_family: u32,
    /// The queue's index in its family.
    pub queue_index: u32,
    /// The host.
    pub host: Arc<dyn VulkanHost>,
}

/// The host that shares its queue. Its last clone is dropped when nothing here uses the host's objects any more.
pub trait VulkanHost: Send + Sync {
    /// Called before the queue is used, on any thread; the caller then has it for itself. Calls nothing of ours (F4).
    fn lock_queue(&self);
    /// Called by the same thread when the queue is no longer used.
    fn unlock_queue(&self);
}

impl fmt::Debug for HostVulkan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostVulkan(device {:#x}, queue {} of family {})", self.device, self.queue_index, self.queue_family)
    }
}

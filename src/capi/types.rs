//! The handle types of `compute.h`, and the structs and constants of devices and streams; those of other nouns are in the files of `types/`. No functions.
//!
//! Every struct begins with `struct_size` (what the caller's header says the size is). Input: older and smaller is accepted, what is missing is
//! zero; larger is accepted when the unknown tail is zero. Output: nothing past the caller's size is written. Zero means the default, except
//! for sizes: a length is a length, and `COMPUTE_WHOLE` means "to the end".
//!
//! Elements of arrays (bindings, native sources and parameters, constants) carry no size: the struct that points to them has their stride. Should an element grow, that
//! struct grows with it, so that its own `struct_size` says what a stride of 0 stands for.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

use super::status::compute_status;

mod buffers;
mod caches;
mod errors;
mod kernels;
mod natives;
mod tensor_maps;

pub use buffers::*;
pub use caches::*;
pub use errors::*;
pub use kernels::*;
pub use natives::*;
pub use tensor_maps::*;

#[doc(hidden)]
pub struct compute_device_s {
    _private: [u8; 0],
}
/// A device: owns memory and streams. Not an address; NULL is none.
pub type compute_device = *mut compute_device_s;

#[doc(hidden)]
pub struct compute_stream_s {
    _private: [u8; 0],
}
/// An ordered lane of work on a device.
pub type compute_stream = *mut compute_stream_s;

#[doc(hidden)]
pub struct compute_buffer_s {
    _private: [u8; 0],
}
/// An allocation on a device.
pub type compute_buffer = *mut compute_buffer_s;

#[doc(hidden)]
pub struct compute_kernel_s {
    _private: [u8; 0],
}
/// One entry point, made for a device.
pub type compute_kernel = *mut compute_kernel_s;

#[doc(hidden)]
pub struct compute_event_s {
    _private: [u8; 0],
}
/// A moment in a stream's work, or the completion of an asynchronous read.
pub type compute_event = *mut compute_event_s;

#[doc(hidden)]
pub struct compute_budget_s {
    _private: [u8; 0],
}
/// A ceiling on memory that any number of streams share.
pub type compute_budget = *mut compute_budget_s;

#[doc(hidden)]
pub struct compute_readback_s {
    _private: [u8; 0],
}
/// Bytes of a view that are copied to the host when they are asked for.
pub type compute_readback = *mut compute_readback_s;

#[doc(hidden)]
pub struct compute_mapping_s {
    _private: [u8; 0],
}
/// A host-visible buffer in the host's memory.
pub type compute_mapping = *mut compute_mapping_s;

#[doc(hidden)]
pub struct compute_error_s {
    _private: [u8; 0],
}
/// What went wrong: immutable, usable from any thread, released by the caller.
pub type compute_error = *mut compute_error_s;

/// As a size: to the end of the buffer.
pub const COMPUTE_WHOLE: u64 = u64::MAX;
/// As a string's length: it is NUL-terminated.
pub const COMPUTE_NUL_TERMINATED: usize = usize::MAX;
/// As a time-out: wait for ever. Zero polls.
pub const COMPUTE_FOREVER: u64 = u64::MAX;

/// The version of this header, for the preprocessor; that of the library tells `compute_version`.
pub const COMPUTE_VERSION_MAJOR: u32 = 0;
/// As above.
pub const COMPUTE_VERSION_MINOR: u32 = 1;
/// As above.
pub const COMPUTE_VERSION_PATCH: u32 = 0;
/// The number of this interface: what a header passes to `compute_check_abi` and must match the library's.
pub const COMPUTE_ABI: u32 = 1;

/// Device kinds.
pub const COMPUTE_DEVICE_CPU: u32 = 1;
/// A GPU that shares the host's memory.
pub const COMPUTE_DEVICE_INTEGRATED_GPU: u32 = 2;
/// A GPU with memory of its own.
pub const COMPUTE_DEVICE_DISCRETE_GPU: u32 = 3;
/// Anything else.
pub const COMPUTE_DEVICE_OTHER: u32 = 4;

/// Capabilities, in `compute_device_info.capabilities`.
pub const COMPUTE_CAPABILITY_PORTABLE: u64 = 1 << 0;
/// Grids from memory.
pub const COMPUTE_CAPABILITY_INDIRECT: u64 = 1 << 1;
/// Over-limit indirect grids are reported as a failure of the outputs.
pub const COMPUTE_CAPABILITY_INDIRECT_REPORTS: u64 = 1 << 2;
/// `COMPUTE_BOUNDS_VALIDATE`.
pub const COMPUTE_CAPABILITY_VALIDATE: u64 = 1 << 3;
/// Kernels can be given a time limit.
pub const COMPUTE_CAPABILITY_TIME_LIMIT: u64 = 1 << 4;
/// Event timestamps.
pub const COMPUTE_CAPABILITY_TIMESTAMPS: u64 = 1 << 5;
/// Memory can be host-visible.
pub const COMPUTE_CAPABILITY_HOST_VISIBLE: u64 = 1 << 6;
/// Native kernels can take tensor maps (L13).
pub const COMPUTE_CAPABILITY_TENSOR_MAPS: u64 = 1 << 7;
/// `COMPUTE_KERNEL_FLAG_STRICT`.
pub const COMPUTE_CAPABILITY_STRICT: u64 = 1 << 8;
/// A grid from memory of a kernel that runs a native source is read by the host before the launch, so that what follows in the stream waits for a round trip (L2).
/// Those of portable kernels stay on the device.
pub const COMPUTE_CAPABILITY_NATIVE_INDIRECT_BY_HOST: u64 = 1 << 9;

/// What portable kernels may use beyond the core of the language, in `compute_device_info.features`. 16-bit floats.
pub const COMPUTE_FEATURE_F16: u64 = 1 << 0;
/// 64-bit floats.
pub const COMPUTE_FEATURE_F64: u64 = 1 << 1;
/// 64-bit integers.
pub const COMPUTE_FEATURE_INT64: u64 = 1 << 2;
/// Atomics on 64-bit integers.
pub const COMPUTE_FEATURE_ATOMIC_INT64: u64 = 1 << 3;
/// Atomics on 32-bit floats.
pub const COMPUTE_FEATURE_ATOMIC_F32: u64 = 1 << 4;
/// Subgroup operations.
pub const COMPUTE_FEATURE_SUBGROUPS: u64 = 1 << 5;

/// What a device is and allows. Filled by `compute_device_get_info` and `compute_devices_list`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_device_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_DEVICE_...`
    pub kind: u32,
    /// The driver: `cpu`, `wgpu`, `cuda`, `hip`.
    pub backend: [c_char; 16],
    /// For people, NUL-terminated, cut to fit.
    pub name: [c_char; 128],
    /// For people.
    pub vendor: [c_char; 64],
    /// Driver name and version, for people.
    pub driver: [c_char; 64],
    /// The exact target that code is made for.
    pub target: [c_char; 128],
    /// Stable identity; zeros when the driver gives none.
    pub uuid: [u8; 16],
    /// The index to open it by, in the order of the list.
    pub index: u32,
    /// Processors or multiprocessors.
    pub units: u32,
    /// Smallest subgroup.
    pub subgroup_min: u32,
    /// Largest subgroup.
    pub subgroup_max: u32,
    /// `COMPUTE_CAPABILITY_...`
    pub capabilities: u64,
    /// Bytes of memory in all.
    pub memory_size: u64,
    /// Invocations per workgroup, per axis.
    pub max_workgroup_size: [u32; 3],
    /// Invocations per workgroup in all.
    pub max_workgroup_invocations: u32,
    /// Workgroups per launch, per axis.
    pub max_grid: [u32; 3],
    /// Bindings per launch.
    pub max_bindings: u32,
    /// Bytes of workgroup memory.
    pub max_workgroup_memory: u64,
    /// Bytes of one storage binding.
    pub max_binding_size: u64,
    /// Bytes of one uniform binding.
    pub max_uniform_size: u64,
    /// Bytes of one buffer.
    pub max_buffer_size: u64,
    /// Bytes of the immediate block.
    pub max_immediate_size: u32,
    /// Alignment of a storage view's offset, in bytes.
    pub storage_alignment: u32,
    /// Alignment of a uniform view's offset, in bytes.
    pub uniform_alignment: u32,
    /// Bytes of the widest load that one invocation makes at once; 0: unknown.
    pub load_width: u32,
    /// `COMPUTE_FEATURE_...`
    pub features: u64,
    /// Place on the PCI bus as Linux writes it, `0000:3b:00.0`, NUL-terminated; empty where there is none or the driver does not tell. One card has the same place,
    /// and mostly the same `uuid`, on every backend.
    pub pci_address: [c_char; 24],
}

/// How to list devices.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_list_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Only this driver (`cpu`, `wgpu`, ...); NULL: all that make results (`null` is listed only by name).
    pub backend: *const c_char,
    /// Its length, or `COMPUTE_NUL_TERMINATED`. 0 with a `backend` is refused: it was forgotten.
    pub backend_length: usize,
    /// Zero.
    pub next: *const c_void,
}

/// How to open a device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_device_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Index in the list of the same `backend`.
    pub index: u32,
    /// As in `compute_list_desc`.
    pub backend: *const c_char,
    /// Its length.
    pub backend_length: usize,
    /// When not NULL: opens only if the device's `target` is exactly this (S1), else `COMPUTE_ERROR_TARGET`.
    pub exact_target: *const c_char,
    /// Its length.
    pub exact_target_length: usize,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Worker threads of the cpu device; 0: as many as processors.
    pub threads: u32,
    /// Native queues that streams share (S1); 0: the device's own number.
    pub queues: u32,
    /// `COMPUTE_DEVICE_FLAG_...`
    pub flags: u64,
    /// Compiled kernels on disk: `compute_cache_desc`; the host's own GPU: `compute_vulkan_desc`; fault injection for tests of error paths: `compute_fault_desc`;
    /// else NULL.
    pub next: *const c_void,
    /// Bytes of pages with nothing in them that the pools of each stream, and the device's own, keep for later (M6); 0: the library's choice (64 MiB).
    pub idle_bytes: u64,
    /// The most workgroups that the device is given at once, on devices that a system may stop when they take too long (`wgpu`; desktops allow some seconds). A launch of more is
    /// sent in slices, whose workgroups have the ids and counts of the whole. Grids from memory are sent whole, fills and copies are not counted. 0: no limit.
    pub slice_groups: u64,
}

/// Never-written bytes are claimed by NEVER_WRITTEN rather than read as zeros (T1), in all buffers of the device.
pub const COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN: u64 = 1 << 0;

/// Events have times (`compute_event_get_time`) on devices where that is not for free (`wgpu`: each recorded event ends a pass).
pub const COMPUTE_DEVICE_FLAG_TIMESTAMPS: u64 = 1 << 1;

/// In `compute_chained.kind`.
pub const COMPUTE_CHAINED_FAULT: u32 = 1;
/// `compute_include_desc`
pub const COMPUTE_CHAINED_INCLUDE: u32 = 2;

/// `compute_vulkan_desc`
pub const COMPUTE_CHAINED_VULKAN: u32 = 3;
/// `compute_cache_desc`
pub const COMPUTE_CHAINED_CACHE: u32 = 5;

/// `compute_native_desc`
pub const COMPUTE_CHAINED_NATIVE: u32 = 4;

/// What every struct in a `next` chain begins with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_chained {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CHAINED_...`
    pub kind: u32,
    /// The next one, or NULL.
    pub next: *const c_void,
}

/// How an injected fault shows. `NONE` only counts calls.
pub const COMPUTE_FAULT_NONE: u32 = 0;
/// The call answers a driver error.
pub const COMPUTE_FAULT_ERROR: u32 = 1;
/// The call answers that memory is out.
pub const COMPUTE_FAULT_OUT_OF_MEMORY: u32 = 2;
/// The device is lost from the call on.
pub const COMPUTE_FAULT_LOST: u32 = 3;
/// The call succeeds, its work is not done, and the device says so later.
pub const COMPUTE_FAULT_LATE: u32 = 4;
/// The call panics inside the library.
pub const COMPUTE_FAULT_PANIC: u32 = 5;

/// Chained to `compute_device_desc`: wraps the device so that its n-th call fails. For tests of a host's own error paths.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_fault_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CHAINED_FAULT`
    pub kind: u32,
    /// The next one, or NULL.
    pub next: *const c_void,
    /// Which call of the device fails, from 1, counted from opening; 0: none until `compute_device_inject_fault`.
    pub call: u64,
    /// `COMPUTE_FAULT_...`
    pub how: u32,
    /// Zero.
    pub reserved: u32,
}

/// Any function of Vulkan: `(compute_vulkan_function)vkGetInstanceProcAddr`.
pub type compute_vulkan_function = Option<unsafe extern "C" fn()>;

/// Called when the library begins or ends to use a queue that it shares with its host, and when it no longer uses anything of the host's.
pub type compute_vulkan_callback = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Chained to `compute_device_desc`: the device works on a Vulkan device that the host has made, so that both use the same memory (`compute_stream_export`). `backend` is
/// then NULL or `wgpu`, and `index` 0. Named types are Vulkan's.
///
/// The host vouches that all of this is true. Instance, physical device, device and the loader stay alive until `released` is called; that may be after the device and all
/// that was made from it has been released, as work that is under way is waited for elsewhere. Everything else here is copied before the call returns.
///
/// The queue is used by threads of the library, too. Where the host uses it as well, it gives `lock` and `unlock`, and takes the same lock around its own
/// calls with that queue. While that lock is held, by whomever, nothing of the library may be called.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_vulkan_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CHAINED_VULKAN`
    pub kind: u32,
    /// The next one, or NULL.
    pub next: *const c_void,
    /// `vkGetInstanceProcAddr`, cast.
    pub get_instance_proc_addr: compute_vulkan_function,
    /// `VkInstance`
    pub instance: *mut c_void,
    /// `VkPhysicalDevice`
    pub physical_device: *mut c_void,
    /// `VkDevice`
    pub device: *mut c_void,
    /// The `apiVersion` of the `VkApplicationInfo` that the instance was made with; 0: Vulkan 1.0, which needs the device extensions
    /// `VK_KHR_maintenance1` and `VK_KHR_storage_buffer_storage_class`.
    pub api_version: u32,
    /// Family of the queue: one for graphics and compute.
    pub queue_family: u32,
    /// Index of the queue in its family.
    pub queue_index: u32,
    /// Zero.
    pub reserved: u32,
    /// `ppEnabledExtensionNames` that the instance was made with.
    pub instance_extensions: *const *const c_char,
    /// How many.
    pub instance_extension_count: usize,
    /// `ppEnabledExtensionNames` that the device was made with.
    pub device_extensions: *const *const c_char,
    /// How many.
    pub device_extension_count: usize,
    /// The head of the chain of features that the device was made with: `VkPhysicalDeviceFeatures2`, which also takes what `pEnabledFeatures` said,
    /// `VkPhysicalDeviceVulkan12Features` and so on; NULL: none. Kernels can use what is enabled, `features` of the device's info says what that comes to.
    pub features: *const c_void,
    /// Called before the queue is used; the thread then has it for itself. NULL: nobody else uses it. Any thread.
    pub lock: compute_vulkan_callback,
    /// Called by the same thread when it no longer uses the queue. NULL where `lock` is.
    pub unlock: compute_vulkan_callback,
    /// Called once, after opening has succeeded, when nothing of the host's is used any more; may be NULL. Any thread, no lock held.
    pub released: compute_vulkan_callback,
    /// Handed to them.
    pub user: *mut c_void,
}

/// What a `compute_native_info` or a `compute_import_desc` names: an address of the host's memory.
pub const COMPUTE_NATIVE_ADDRESS: u32 = 1;
/// A `VkBuffer`, of the device that `compute_vulkan_desc` named or of one of the library's own.
pub const COMPUTE_NATIVE_VULKAN_BUFFER: u32 = 2;
/// A `CUdeviceptr`.
pub const COMPUTE_NATIVE_CUDA_POINTER: u32 = 3;
/// A `hipDeviceptr_t`.
pub const COMPUTE_NATIVE_HIP_POINTER: u32 = 4;

/// What `compute_stream_wait_native` and `compute_stream_record_native` take: a `CUevent`.
pub const COMPUTE_NATIVE_CUDA_EVENT: u32 = 5;
/// A `hipEvent_t`.
pub const COMPUTE_NATIVE_HIP_EVENT: u32 = 6;

/// Called once when the library no longer uses what it was lent. From a thread of the library, with no lock held; any call is allowed. It must not unwind.
pub type compute_released_callback = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Memory of the caller's (`compute_buffer_import`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_import_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// What `handle` is: `COMPUTE_NATIVE_...`
    pub kind: u32,
    /// The driver's name of the memory: an address, a `CUdeviceptr`, a `hipDeviceptr_t`, a `VkBuffer`. Not 0.
    pub handle: u64,
    /// Where the bytes begin in it.
    pub offset: u64,
    /// Bytes, more than 0.
    pub size: u64,
    /// `COMPUTE_ACCESS_READ`: nothing may write there; or `COMPUTE_ACCESS_READ_WRITE`.
    pub access: u32,
    /// Zero.
    pub reserved: u32,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Told when the memory is no longer used; may be NULL.
    pub released: compute_released_callback,
    /// Handed to it.
    pub user: *mut c_void,
    /// Zero.
    pub next: *const c_void,
}

/// Where a view is for the driver (`compute_stream_export`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_native_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_NATIVE_...`
    pub kind: u32,
    /// The driver's name of the memory that the view lies in, other buffers too.
    pub handle: u64,
    /// Where the view begins in it, in bytes.
    pub offset: u64,
    /// Bytes of the view.
    pub size: u64,
}

/// How to make a stream.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_stream_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Zero.
    pub next: *const c_void,
}

/// Called exactly once: with `COMPUTE_OK`, or with the error that the event's own wait would give (for the call's duration; retain it to keep it).
/// No lock of the library is held; any call is allowed. It must not unwind.
pub type compute_event_callback = Option<unsafe extern "C" fn(user: *mut c_void, status: compute_status, error: compute_error)>;

/// Called for every log line at or below the level, and at every level but `COMPUTE_LOG_OFF` for what kernels print (`COMPUTE_LOG_PRINT`). `text` is UTF-8 of `length` bytes,
/// **not** NUL-terminated, and lives for the call. On any thread, on several at once; no lock of the library is held, and it may call the library. It must return: no
/// `longjmp`, no C++ exception.
pub type compute_log_callback = Option<unsafe extern "C" fn(user: *mut c_void, level: u32, text: *const c_char, length: usize)>;

/// Nothing (the default).
pub const COMPUTE_LOG_OFF: u32 = 0;
/// Failures, each with the number that `compute_error_get_info` and `compute_check` tell, and devices that are lost, once each.
pub const COMPUTE_LOG_ERROR: u32 = 1;
/// Skips too, and folders in which no kernels can be kept.
pub const COMPUTE_LOG_WARNING: u32 = 2;
/// Launches too.
pub const COMPUTE_LOG_LAUNCHES: u32 = 3;
/// The level of lines that kernels print (`debugPrintf`). They come whatever level was set, unless it is off; set as a level: prints and nothing else.
pub const COMPUTE_LOG_PRINT: u32 = 64;

/// Call from the thread that polls or waits (the default).
pub const COMPUTE_CALLBACK_ON_POLL: u32 = 0;
/// Call from a thread of the library, as soon as it is known. All devices share that thread: a callback that takes long holds up the other callbacks, though no
/// wait, poll or call of anybody's.
pub const COMPUTE_CALLBACK_ON_WORKER: u32 = 1;

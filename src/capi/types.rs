//! The structs, constants and handle types of `compute.h`. No functions.
//!
//! Every struct begins with `struct_size` (what the caller's header says the size is). Input: older and smaller is accepted, what is missing is
//! zero; larger is accepted when the unknown tail is zero. Output: nothing past the caller's size is written. Zero means the default, except
//! for sizes: a length is a length, and `COMPUTE_WHOLE` means "to the end".

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

use super::status::compute_status;

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
}

/// How to list devices.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_list_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Only this driver (`cpu`, `null`, ...); NULL: all that make results (`null` is listed only by name).
    pub backend: *const c_char,
    /// Its length.
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
    /// Fault injection for tests of error paths: `compute_fault_desc`; else NULL.
    pub next: *const c_void,
    /// Bytes of pages with nothing in them that the pools of each stream, and the device's own, keep for later (M6); 0: the library's choice (64 MiB).
    pub idle_bytes: u64,
    /// The most workgroups that the device is given at once, on devices that a system may stop when they take too long (`wgpu`; desktops allow some seconds). A launch of more is
    /// sent in slices, whose workgroups have the ids and counts of the whole. Grids from memory are sent whole. 0: no limit.
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

/// What a `compute_native_info` names: an address of the host's memory.
pub const COMPUTE_NATIVE_ADDRESS: u32 = 1;
/// A `VkBuffer`, of the device that `compute_vulkan_desc` named or of one of the library's own.
pub const COMPUTE_NATIVE_VULKAN_BUFFER: u32 = 2;
/// A `CUdeviceptr`.
pub const COMPUTE_NATIVE_CUDA_POINTER: u32 = 3;
/// A `hipDeviceptr_t`.
pub const COMPUTE_NATIVE_HIP_POINTER: u32 = 4;

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

/// Never-written bytes of this buffer are claimed by NEVER_WRITTEN rather than read as zeros (T1).
pub const COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN: u64 = 1 << 0;

/// This buffer lives long: it comes from the persistent pools, so that it does not keep pages of short-lived buffers from going back.
pub const COMPUTE_BUFFER_FLAG_PERSISTENT: u64 = 1 << 1;

/// Memory is taken at the first use (M5). A use for which there is none fails with `COMPUTE_ERROR_NOT_BACKED`, and that failure claims the buffer.
pub const COMPUTE_BUFFER_FLAG_DEFERRED: u64 = 1 << 4;

/// `compute_stream_compact` leaves this buffer where it is.
pub const COMPUTE_BUFFER_FLAG_FIXED: u64 = 1 << 5;
/// Never-written bytes of this buffer read as zeros, on a device with `COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN` too. Costs nothing: bytes are zeroed when
/// something would read them.
pub const COMPUTE_BUFFER_FLAG_ZEROED: u64 = 1 << 2;

/// This buffer can be mapped (`compute_buffer_map`). Refused on devices without `COMPUTE_CAPABILITY_HOST_VISIBLE`.
pub const COMPUTE_BUFFER_FLAG_HOST_VISIBLE: u64 = 1 << 3;

/// Scratch: only the buffer's stream may use it, for a moment; it counts towards the stream's limit (`compute_stream_set_scratch_limit`). Released, its memory is
/// there again at once for what the stream does next; under a budget, when its use is over.
pub const COMPUTE_BUFFER_FLAG_SCRATCH: u64 = 1 << 6;

/// How to make a buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_buffer_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Bytes; 0 makes an empty buffer.
    pub size: u64,
    /// `COMPUTE_BUFFER_FLAG_...`
    pub flags: u64,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Zero.
    pub next: *const c_void,
    /// The stream whose pools it comes from (M1), or NULL: the device's own. Any stream may use the buffer. Memory that was released and used on that
    /// stream only is there again at once, without waiting for the work.
    pub stream: compute_stream,
}

/// A byte range of a buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_view {
    /// The buffer.
    pub buffer: compute_buffer,
    /// Start in bytes.
    pub offset: u64,
    /// Bytes, or `COMPUTE_WHOLE`.
    pub size: u64,
}

/// Most dimensions of a tensor.
pub const COMPUTE_MOST_DIMENSIONS: u32 = 8;

/// The rows of a tensor follow each other without gaps.
pub const COMPUTE_ARRANGEMENT_CONTIGUOUS: u32 = 0;
/// Each row (of the last dimension) starts at a multiple of what the device likes best; what is between rows is padding.
pub const COMPUTE_ARRANGEMENT_OPTIMIZED: u32 = 1;

/// A tensor to be placed in a buffer, by `compute_device_layout_tensors`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_tensor_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Number of dimensions, at most `COMPUTE_MOST_DIMENSIONS`; 0: a single element.
    pub rank: u32,
    /// Elements of each dimension, the slowest first. A 0 makes an empty tensor.
    pub shape: *const u64,
    /// Bytes of an element, more than 0.
    pub element_size: u64,
    /// `COMPUTE_ARRANGEMENT_...`
    pub arrangement: u32,
    /// Zero.
    pub reserved: u32,
}

/// Where a tensor lies in a buffer. All in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_tensor_place {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Number of dimensions.
    pub rank: u32,
    /// Of its first element.
    pub offset: u64,
    /// From its first to behind its last element; 0 for an empty tensor.
    pub size: u64,
    /// From the start of a row to that of the next.
    pub pitch: u64,
    /// Of each dimension, for `compute_strided_desc`; 0 beyond the rank.
    pub strides: [i64; 8],
}

/// The elements that a strided transfer moves, and how they lie at both ends. Strides are in bytes, one for each dimension, not negative, and such that
/// no elements overlap or interleave: sorted by size, each is at least what the dimensions inside it span.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_strided_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Number of dimensions, at most `COMPUTE_MOST_DIMENSIONS`; 0: a single element.
    pub rank: u32,
    /// Elements of each dimension, the slowest first. A 0: there is nothing to move.
    pub shape: *const u64,
    /// Bytes of an element, more than 0.
    pub element_size: u64,
    /// Strides at the source (host memory of a write, the view of a read); NULL: without gaps.
    pub from_strides: *const i64,
    /// Strides at the destination; NULL: without gaps.
    pub to_strides: *const i64,
}

/// What the source is: SPIR-V begins with its magic number, GLSL with `#version` (after comments and blanks); the rest is WGSL.
pub const COMPUTE_LANGUAGE_AUTO: u32 = 0;
/// WGSL source text.
pub const COMPUTE_LANGUAGE_WGSL: u32 = 1;
/// GLSL 4.50 or 4.60 for Vulkan, a compute shader. Its entry point is `main`.
pub const COMPUTE_LANGUAGE_GLSL: u32 = 2;
/// A SPIR-V module, of either endianness.
pub const COMPUTE_LANGUAGE_SPIRV: u32 = 3;

/// L5: an out-of-range read gives zero, an out-of-range write is dropped.
pub const COMPUTE_BOUNDS_CHECKED: u32 = 0;
/// L5: the caller vouches that there are none.
pub const COMPUTE_BOUNDS_UNCHECKED: u32 = 1;
/// L5: as checked, and the first violation becomes a failure of the launch's outputs.
pub const COMPUTE_BOUNDS_VALIDATE: u32 = 2;

/// Compile at creation.
pub const COMPUTE_COMPILE_NOW: u32 = 0;
/// Compile at the first launch, or by `compute_device_compile_queued`.
pub const COMPUTE_COMPILE_LAZY: u32 = 1;
/// Compile from creation on, on a thread of the library; `compute_kernel_wait` waits for it, and so does a launch.
pub const COMPUTE_COMPILE_BACKGROUND: u32 = 2;

/// The value of an override constant.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_constant {
    /// Name, or `@id` in decimal.
    pub name: *const c_char,
    /// Its length.
    pub name_length: usize,
    /// The value; must be representable in the constant's type.
    pub value: f64,
}

/// How to make a kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_kernel_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_LANGUAGE_...`
    pub language: u32,
    /// The source: text, or the words of a module.
    pub source: *const c_void,
    /// Its length in bytes.
    pub source_length: usize,
    /// Entry point; NULL when the source has just one.
    pub entry: *const c_char,
    /// Its length.
    pub entry_length: usize,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Override constants.
    pub constants: *const compute_constant,
    /// How many.
    pub constant_count: usize,
    /// Distance in bytes between them; 0: `sizeof(compute_constant)`.
    pub constant_stride: usize,
    /// `COMPUTE_BOUNDS_...`
    pub bounds: u32,
    /// `COMPUTE_COMPILE_...`
    pub compile: u32,
    /// Nanoseconds after which a launch is stopped and its outputs fail; 0: never.
    pub time_limit: u64,
    /// Where the text of `#include`s comes from: `compute_include_desc`; else NULL.
    pub next: *const c_void,
    /// Bytes of room for what one launch prints, at most 64 MiB; 0: 65536. A line takes 16 bytes and 4 or 8 for each number.
    pub print_size: u64,
}

/// `#include "path"`
pub const COMPUTE_INCLUDE_QUOTE: u32 = 0;
/// `#include <path>`
pub const COMPUTE_INCLUDE_ANGLE: u32 = 1;

/// What an `#include` asks for. The strings end in a NUL byte and live for the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_include_request {
    /// Size of the library's struct.
    pub struct_size: u32,
    /// `COMPUTE_INCLUDE_...`
    pub style: u32,
    /// The path between the quotes or angle brackets.
    pub path: *const c_char,
    /// Its length.
    pub path_length: usize,
    /// The name of the file that asks: the label of the kernel, or the name of an included file.
    pub from: *const c_char,
    /// Its length.
    pub from_length: usize,
}

/// The answer to an `#include`, all zeros at first. What it points to must stay as it is until the callback is called again, or creation returns; it is copied
/// before that.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_include_answer {
    /// Size of the library's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The text of the file, UTF-8.
    pub text: *const c_char,
    /// Its length.
    pub text_length: usize,
    /// What the file is called in messages, and known by to `#pragma once`; NULL: the path that was asked for.
    pub name: *const c_char,
    /// Its length.
    pub name_length: usize,
    /// Why there is no such file; for the error's message; may be NULL.
    pub message: *const c_char,
    /// Its length.
    pub message_length: usize,
}

/// Gives an included file: fills `answer` and returns `COMPUTE_OK`, or anything else when there is none. Called on the thread that makes the kernel, before
/// that call returns, with no lock of the library held; any call is allowed. It must not unwind.
pub type compute_include_callback = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        request: *const compute_include_request,
        answer: *mut compute_include_answer,
    ) -> compute_status,
>;

/// Chained to `compute_kernel_desc`: where the text of `#include`s comes from. In GLSL, and in WGSL where a line is `#include "path"` or `#include <path>`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_include_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CHAINED_INCLUDE`
    pub kind: u32,
    /// The next one, or NULL.
    pub next: *const c_void,
    /// Called for each `#include`.
    pub callback: compute_include_callback,
    /// Handed to it.
    pub user: *mut c_void,
}

/// Storage buffer.
pub const COMPUTE_BINDING_STORAGE: u32 = 1;
/// Uniform block.
pub const COMPUTE_BINDING_UNIFORM: u32 = 2;

/// Declared, never touched.
pub const COMPUTE_ACCESS_UNUSED: u32 = 0;
/// Only read.
pub const COMPUTE_ACCESS_READ: u32 = 1;
/// Only written.
pub const COMPUTE_ACCESS_WRITE: u32 = 2;
/// Both; atomics too.
pub const COMPUTE_ACCESS_READ_WRITE: u32 = 3;

/// What a kernel is (L10).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_kernel_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// How many bindings.
    pub binding_count: u32,
    /// Name of the entry point, NUL-terminated, cut to fit.
    pub entry: [c_char; 128],
    /// Invocations per workgroup.
    pub workgroup_size: [u32; 3],
    /// Bytes of the immediate block.
    pub immediate_size: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u64,
    /// How many override constants.
    pub override_count: u32,
    /// Zero.
    pub reserved: u32,
}

/// One binding of a kernel (L10).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_binding_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `@group`
    pub group: u32,
    /// `@binding`
    pub slot: u32,
    /// `COMPUTE_BINDING_...`
    pub kind: u32,
    /// `COMPUTE_ACCESS_...`
    pub access: u32,
    /// Required alignment of the view's offset in bytes, device's included.
    pub alignment: u32,
    /// Fewest bytes.
    pub min_size: u64,
    /// Name in the source, NUL-terminated, cut to fit.
    pub name: [c_char; 128],
}

/// `bool`
pub const COMPUTE_OVERRIDE_BOOL: u32 = 1;
/// `i32`
pub const COMPUTE_OVERRIDE_I32: u32 = 2;
/// `u32`
pub const COMPUTE_OVERRIDE_U32: u32 = 3;
/// `f32`
pub const COMPUTE_OVERRIDE_F32: u32 = 4;
/// `f16`
pub const COMPUTE_OVERRIDE_F16: u32 = 5;
/// `f64`
pub const COMPUTE_OVERRIDE_F64: u32 = 6;
/// `i16`
pub const COMPUTE_OVERRIDE_I16: u32 = 7;
/// `u16`
pub const COMPUTE_OVERRIDE_U16: u32 = 8;

/// One override constant of a kernel (L10).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_override_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `@id`, or -1.
    pub id: i32,
    /// `COMPUTE_OVERRIDE_...`
    pub ty: u32,
    /// 1 when the source gives a default.
    pub has_default: u32,
    /// The default where it is a number known before other constants, else 0.
    pub default_value: f64,
    /// Name in the source, NUL-terminated, cut to fit.
    pub name: [c_char; 128],
}

/// The caller vouches that this launch writes every byte of the view (T6a).
pub const COMPUTE_BINDING_FLAG_WRITE_ALL: u64 = 1 << 0;

/// What a launch gives one binding of its kernel: a view, or inline bytes (L4).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_binding {
    /// `@group`
    pub group: u32,
    /// `@binding`
    pub slot: u32,
    /// The view's buffer, or NULL when `data` is given.
    pub buffer: compute_buffer,
    /// The view's start in bytes.
    pub offset: u64,
    /// The view's bytes, or `COMPUTE_WHOLE`.
    pub size: u64,
    /// Inline bytes of a uniform block, copied before the call returns; else NULL.
    pub data: *const c_void,
    /// How many.
    pub data_size: u64,
    /// `COMPUTE_BINDING_FLAG_...`
    pub flags: u64,
}

/// L6: enqueue the kernel.
pub const COMPUTE_LAUNCH_EXECUTE: u32 = 0;
/// L6: check and compile, touch no buffer.
pub const COMPUTE_LAUNCH_COMPILE_ONLY: u32 = 1;
/// L6: queue the compilation; `compute_device_compile_queued` finishes all that is queued.
pub const COMPUTE_LAUNCH_QUEUE_COMPILATION: u32 = 2;

/// One launch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_launch_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_LAUNCH_...`
    pub mode: u32,
    /// The kernel.
    pub kernel: compute_kernel,
    /// Workgroups per axis; a zero is no work (L1). Ignored when `indirect.buffer` is given.
    pub grid: [u32; 3],
    /// Zero.
    pub reserved: u32,
    /// Where the grid is read from instead: three u32 (L2), offset a multiple of 4; or `buffer` NULL.
    pub indirect: compute_view,
    /// One per binding that the kernel uses, in any order.
    pub bindings: *const compute_binding,
    /// How many.
    pub binding_count: usize,
    /// Distance in bytes between them; 0: `sizeof(compute_binding)`.
    pub binding_stride: usize,
    /// The immediate block (L4), copied before the call returns.
    pub immediates: *const c_void,
    /// Its size in bytes.
    pub immediate_size: u64,
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

/// Called for every log line at or below the level. No lock of the library is held.
pub type compute_log_callback = Option<unsafe extern "C" fn(user: *mut c_void, level: u32, text: *const c_char, length: usize)>;

/// Nothing (the default).
pub const COMPUTE_LOG_OFF: u32 = 0;
/// Failures.
pub const COMPUTE_LOG_ERROR: u32 = 1;
/// Skips and repairs too.
pub const COMPUTE_LOG_WARNING: u32 = 2;
/// Launches too.
pub const COMPUTE_LOG_LAUNCHES: u32 = 3;
/// The level of lines that kernels print (`debugPrintf`). They come whatever level was set, unless it is off; set as a level: prints and nothing else.
pub const COMPUTE_LOG_PRINT: u32 = 64;

/// Call from the thread that polls or waits (the default).
pub const COMPUTE_CALLBACK_ON_POLL: u32 = 0;
/// Call from a thread of the library, as soon as it is known.
pub const COMPUTE_CALLBACK_ON_WORKER: u32 = 1;

/// Memory of a device in use.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_memory_usage {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Live buffers.
    pub buffers: u64,
    /// Their bytes as asked for.
    pub bytes_in_use: u64,
    /// Bytes taken from the driver.
    pub bytes_reserved: u64,
    /// The most that `bytes_in_use` has been.
    pub bytes_in_use_peak: u64,
    /// The most that `bytes_reserved` has been.
    pub bytes_reserved_peak: u64,
    /// Bytes of ended buffers that work still uses on another stream than theirs; not handed out again before it is over.
    pub bytes_pending: u64,
    /// Bytes in pages that hold nothing: what `compute_device_cleanup` gives back, once it is not in use.
    pub bytes_idle: u64,
    /// The largest run of free bytes in any page.
    pub largest_free: u64,
    /// Host memory for bytes on their way from the device, in use or kept for the next; `compute_device_cleanup` lets go of what is kept.
    pub bytes_staging: u64,
}

/// A budget (M6). Bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_budget_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The ceiling.
    pub limit: u64,
    /// Charged now: live buffers, and ended ones that work still uses, as the pools round them; and bytes on their way to or from the device.
    pub charged: u64,
    /// The most that was charged at once.
    pub charged_peak: u64,
}

/// A pool whose pages hold many allocations.
pub const COMPUTE_POOL_SLICED: u32 = 1;
/// A pool whose pages hold one allocation each.
pub const COMPUTE_POOL_EXCLUSIVE: u32 = 2;

/// One pool of a layout. Bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_pool_desc {
    /// `COMPUTE_POOL_...`
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// Larger allocations go to a later pool. `COMPUTE_WHOLE`: takes all.
    pub largest: u64,
    /// Size of the first page, a multiple of 256 and of the device's alignments. 0 in an exclusive pool.
    pub page: u64,
    /// Pages grow with the pool up to this. 0: they do not grow.
    pub page_most: u64,
    /// The most bytes in pages. 0: no cap.
    pub cap: u64,
}

/// What a compaction came to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_compaction_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Buffers moved.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes in pages given back to the driver.
    pub bytes_freed: u64,
}

/// One pool of a stream (M4). Bytes, as pages are cut: an allocation counts with what it takes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_pool_report {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_POOL_...`
    pub kind: u32,
    /// 1 for a pool of long-lived buffers.
    pub persistent: u32,
    /// Zero.
    pub reserved: u32,
    /// The largest allocation that goes here.
    pub largest: u64,
    /// The size of its next page, at least; 0 in an exclusive pool.
    pub page_size: u64,
    /// The most bytes that it may have in pages; `COMPUTE_WHOLE`: no cap.
    pub cap: u64,
    /// Pages.
    pub pages: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Bytes in them.
    pub bytes_in_use: u64,
    /// Bytes released that other streams still use.
    pub bytes_pending: u64,
    /// Bytes in pages.
    pub bytes_reserved: u64,
    /// The largest run of free bytes.
    pub largest_free: u64,
    /// The most that `bytes_in_use` and `bytes_pending` have been together.
    pub bytes_in_use_peak: u64,
    /// The most that `bytes_reserved` has been.
    pub bytes_reserved_peak: u64,
    /// The most that `pages` has been.
    pub pages_peak: u64,
}

/// As the form of `compute_error_format`: for people.
pub const COMPUTE_FORMAT_TEXT: u32 = 0;
/// As the form of `compute_error_format`: a JSON object.
pub const COMPUTE_FORMAT_JSON: u32 = 1;

/// What an error says about itself, all but its text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_error_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Its status.
    pub status: compute_status,
    /// 1: this kernel or configuration can never run here, drop the candidate.
    pub refusal: u32,
    /// 1: drop the device.
    pub poisoned: u32,
    /// 1: could succeed after memory is reclaimed.
    pub reclaimable: u32,
    /// 1: reached through at least one skip.
    pub skip: u32,
    /// Id of the failure that claims the bytes, unique in the process; 0: none.
    pub failure: u64,
    /// How many buffers that failure still claims.
    pub claimed_buffers: u64,
    /// 1: the failure happened before anything reached the device, so `compute_reinstate` can lift its claims.
    pub untouched: u32,
    /// Line in the kernel's source, from 1; 0: unknown.
    pub line: u32,
    /// Column in bytes, from 1; 0: unknown.
    pub column: u32,
    /// Entries of the chain that can be asked for, newest first.
    pub chain_count: u32,
    /// Skips in all that the failure caused.
    pub chain_total: u64,
    /// Members, when several failures claim the bytes.
    pub member_count: u32,
    /// 1: there is a root error besides this one.
    pub has_root: u32,
    /// The driver's own code; see `compute_error_driver_name`.
    pub driver_code: i64,
    /// Number of the operation that it is about, unique in the process; 0: none.
    pub operation: u64,
    /// Id of the stream that it is about; 0: none.
    pub stream: u64,
}

/// One entry of an error's chain: work that was skipped because it needed bytes that had failed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_chain_entry {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// 1: the work ran and used the bytes before their failure was known; 0: it was skipped.
    pub used: u32,
    /// Number of the operation.
    pub operation: u64,
    /// Id of its stream.
    pub stream: u64,
    /// Id of the buffer that it needed.
    pub buffer: u64,
    /// Entry point, or the name of the operation; NUL-terminated, cut to fit.
    pub kernel: [c_char; 64],
    /// Its label.
    pub label: [c_char; 64],
    /// Label of the buffer.
    pub buffer_label: [c_char; 64],
}

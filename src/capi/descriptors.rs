//! How large the sized structs of `types.rs` have to be at least, and their init functions.
//!
//! The init functions are for callers that cannot use the INIT macros of the header (anything but C and C++).

use std::mem::offset_of;

use super::boundary::{Sized32, guard_void, init_struct};
use super::graph_types::*;
use super::types::*;

/// Declares that a struct begins with its size, and up to which field it must reach.
macro_rules! sized {
    ($($name:ident up to $last:ident: $ty:ty;)*) => {$(
        // SAFETY: it is repr(C), begins with the u32 struct_size, and holds integers, floats, pointers and arrays of them only.
        unsafe impl Sized32 for $name {
            const NAME: &'static str = stringify!($name);
            const LEAST: usize = (offset_of!($name, $last) + size_of::<$ty>()).next_multiple_of(8);
        }
        const _: () = assert!(offset_of!($name, struct_size) == 0 && size_of::<$name>().is_multiple_of(8));
    )*};
}

sized! {
    compute_list_desc up to reserved: u32;
    compute_device_desc up to index: u32;
    compute_chained up to next: *const u8;
    compute_fault_desc up to how: u32;
    compute_vulkan_desc up to user: *mut u8;
    compute_cache_desc up to folder_length: usize;
    compute_cache_info up to hits: u64;
    compute_native_info up to size: u64;
    compute_stream_desc up to reserved: u32;
    compute_buffer_desc up to size: u64;
    compute_import_desc up to access: u32;
    compute_kernel_desc up to source_length: usize;
    compute_include_desc up to user: *mut u8;
    compute_native_desc up to workgroup_memory: u32;
    compute_launch_desc up to grid: [u32; 3];
    compute_tensor_map_desc up to element_strides: [u32; 5];
    compute_device_info up to kind: u32;
    compute_kernel_info up to binding_count: u32;
    compute_binding_info up to group: u32;
    compute_override_info up to id: i32;
    compute_memory_usage up to reserved: u32;
    compute_pool_report up to kind: u32;
    compute_budget_info up to reserved: u32;
    compute_compaction_info up to reserved: u32;
    compute_tensor_desc up to element_size: u64;
    compute_tensor_place up to rank: u32;
    compute_strided_desc up to to_strides: *const i64;
    compute_graph_desc up to reserved: u32;
    compute_graph_info up to reserved: u32;
    compute_node_info up to kind: u32;
    compute_error_info up to status: i32;
    compute_chain_entry up to used: u32;
}

/// Makes `*desc` a `compute_list_desc` with every default.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_list_desc_init(desc: *mut compute_list_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_device_desc` with every default.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_desc_init(desc: *mut compute_device_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_graph_desc` with every default.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_desc_init(desc: *mut compute_graph_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_fault_desc` of its kind that makes nothing fail.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_fault_desc_init(desc: *mut compute_fault_desc) {
    guard_void(|| {
        // SAFETY: as our own caller says.
        unsafe { init_struct(desc) };
        if !desc.is_null() {
            // SAFETY: as above; the place need not be aligned.
            unsafe { (&raw mut (*desc).kind).write_unaligned(COMPUTE_CHAINED_FAULT) };
        }
    });
}

/// Makes `*desc` a `compute_vulkan_desc` of its kind that names nothing.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_vulkan_desc_init(desc: *mut compute_vulkan_desc) {
    guard_void(|| {
        // SAFETY: as our own caller says.
        unsafe { init_struct(desc) };
        if !desc.is_null() {
            // SAFETY: as above; the place need not be aligned.
            unsafe { (&raw mut (*desc).kind).write_unaligned(COMPUTE_CHAINED_VULKAN) };
        }
    });
}

/// Makes `*desc` a `compute_cache_desc` of its kind that names no folder.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_cache_desc_init(desc: *mut compute_cache_desc) {
    guard_void(|| {
        // SAFETY: as our own caller says.
        unsafe { init_struct(desc) };
        if !desc.is_null() {
            // SAFETY: as above; the place need not be aligned.
            unsafe { (&raw mut (*desc).kind).write_unaligned(COMPUTE_CHAINED_CACHE) };
        }
    });
}

/// Makes `*desc` a `compute_stream_desc` with every default.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_desc_init(desc: *mut compute_stream_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_buffer_desc` with every default, for an empty buffer.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_desc_init(desc: *mut compute_buffer_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_import_desc` that names nothing.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_import_desc_init(desc: *mut compute_import_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_kernel_desc` with every default and no source.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_desc_init(desc: *mut compute_kernel_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_include_desc` of its kind without a callback.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_include_desc_init(desc: *mut compute_include_desc) {
    guard_void(|| {
        // SAFETY: as our own caller says.
        unsafe { init_struct(desc) };
        if !desc.is_null() {
            // SAFETY: as above; the place need not be aligned.
            unsafe { (&raw mut (*desc).kind).write_unaligned(COMPUTE_CHAINED_INCLUDE) };
        }
    });
}

/// Makes `*desc` a `compute_native_desc` of its kind without sources and parameters.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_native_desc_init(desc: *mut compute_native_desc) {
    guard_void(|| {
        // SAFETY: as our own caller says.
        unsafe { init_struct(desc) };
        if !desc.is_null() {
            // SAFETY: as above; the place need not be aligned.
            unsafe { (&raw mut (*desc).kind).write_unaligned(COMPUTE_CHAINED_NATIVE) };
        }
    });
}

/// Makes `*desc` a `compute_launch_desc` with every default and no kernel.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_launch_desc_init(desc: *mut compute_launch_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_tensor_desc` of a single element without bytes.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_tensor_desc_init(desc: *mut compute_tensor_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_strided_desc` of a single element without bytes.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_strided_desc_init(desc: *mut compute_strided_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

/// Makes `*desc` a `compute_tensor_map_desc` without dimensions.
///
/// # Safety
/// `desc` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_tensor_map_desc_init(desc: *mut compute_tensor_map_desc) {
    // SAFETY: as our own caller says.
    guard_void(|| unsafe { init_struct(desc) });
}

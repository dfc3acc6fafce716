//! Kernels, includes and launches: structs and constants. See `types.rs` for what holds for all of them.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

use super::super::status::compute_status;
use super::buffers::compute_view;
use super::{compute_buffer, compute_kernel};

/// What the source is: SPIR-V begins with its magic number, GLSL with `#version` (after comments and blanks); the rest is WGSL.
pub const COMPUTE_LANGUAGE_AUTO: u32 = 0;
/// WGSL source text.
pub const COMPUTE_LANGUAGE_WGSL: u32 = 1;
/// GLSL for Vulkan, `#version` 430 to 460 and not `es`, a compute shader. Its entry point is `main`.
pub const COMPUTE_LANGUAGE_GLSL: u32 = 2;
/// A SPIR-V module, of either endianness.
pub const COMPUTE_LANGUAGE_SPIRV: u32 = 3;

/// L5: an out-of-range read gives zero, an out-of-range write is dropped.
pub const COMPUTE_BOUNDS_CHECKED: u32 = 0;
/// L5: the caller vouches that there are none.
pub const COMPUTE_BOUNDS_UNCHECKED: u32 = 1;
/// L5: as checked, and the first violation becomes a failure of the launch's outputs. `COMPUTE_ERROR_UNSUPPORTED` without `COMPUTE_CAPABILITY_VALIDATE`.
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
    /// What is meant instead of `value`: `COMPUTE_CONSTANT_...`, 0 for none.
    pub kind: u32,
    /// The value of a `COMPUTE_CONSTANT_I64` or `_U64`, in two's complement: a double does not hold them all.
    pub integer: u64,
}

/// The value of the constant is its `value`.
pub const COMPUTE_CONSTANT_VALUE: u32 = 0;
/// The value of the constant is its `integer`, as an `int64_t`.
pub const COMPUTE_CONSTANT_I64: u32 = 1;
/// The value of the constant is its `integer`.
pub const COMPUTE_CONSTANT_U64: u32 = 2;

/// How to make a kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_kernel_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_LANGUAGE_...`
    pub language: u32,
    /// The portable source: text, or the words of a module; NULL where only native ones are given.
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
    /// Nanoseconds after which a launch is stopped and its outputs fail; 0: never. `COMPUTE_ERROR_UNSUPPORTED` without `COMPUTE_CAPABILITY_TIME_LIMIT`.
    pub time_limit: u64,
    /// Where the text of `#include`s comes from: `compute_include_desc`; native sources: `compute_native_desc`; else NULL.
    pub next: *const c_void,
    /// Bytes of room for what one launch prints, at most 64 MiB; 0: 65536. A line takes 16 bytes and 4 or 8 for each number.
    pub print_size: u64,
    /// `COMPUTE_KERNEL_FLAG_...`
    pub flags: u64,
}

/// The portable source gives the same bits on every device with `COMPUTE_CAPABILITY_STRICT`: nothing is contracted, and functions are those of the cpu device. What that
/// excludes is refused with its place (`docs/kernels.md`). Native sources are passed over, as nobody can look into them.
/// `COMPUTE_ERROR_UNSUPPORTED` without that capability.
pub const COMPUTE_KERNEL_FLAG_STRICT: u64 = 1 << 0;

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
/// Parameter of a native kernel by value: exactly `min_size` bytes, given inline.
pub const COMPUTE_BINDING_VALUE: u32 = 3;
/// Parameter of a native kernel that is a tensor map (L13): given as a view with `COMPUTE_BINDING_FLAG_TENSOR_MAP`.
pub const COMPUTE_BINDING_TENSOR_MAP: u32 = 4;

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
    /// Which of the native sources the device has taken (L11), by its index; `COMPUTE_NATIVE_NONE`: the portable one.
    pub native_source: u32,
    /// The native source's `COMPUTE_LANGUAGE_...`; 0: the portable one runs.
    pub language: u32,
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
/// `i64`
pub const COMPUTE_OVERRIDE_I64: u32 = 9;
/// `u64`
pub const COMPUTE_OVERRIDE_U64: u32 = 10;

/// One override constant of a kernel (L10).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_override_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `@id`, or -1.
    pub id: i32,
    /// `COMPUTE_OVERRIDE_...`
    pub kind: u32,
    /// 1 when the source gives a default.
    pub has_default: u32,
    /// The default where it is a number known before other constants, else 0.
    pub default_value: f64,
    /// Name in the source, NUL-terminated, cut to fit.
    pub name: [c_char; 128],
    /// The same default for `i64` and `u64`, exactly, in two's complement; else 0.
    pub default_integer: u64,
}

/// The caller vouches that this launch writes every byte of the view (T6a).
pub const COMPUTE_BINDING_FLAG_WRITE_ALL: u64 = 1 << 0;
/// The view is given as a tensor (L13): `data` points to a `compute_tensor_map_desc`, which is copied before the call returns, and `data_size` is zero.
pub const COMPUTE_BINDING_FLAG_TENSOR_MAP: u64 = 1 << 1;

/// What a launch gives one binding of its kernel: a view, inline bytes (L4), or a view as a tensor (L13).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_binding {
    /// `@group`
    pub group: u32,
    /// `@binding`
    pub slot: u32,
    /// The view's buffer, or NULL when inline bytes are given.
    pub buffer: compute_buffer,
    /// The view's start in bytes.
    pub offset: u64,
    /// The view's bytes, or `COMPUTE_WHOLE`.
    pub size: u64,
    /// Inline bytes of a uniform block, copied before the call returns; what `COMPUTE_BINDING_FLAG_TENSOR_MAP` says; else NULL.
    pub data: *const c_void,
    /// How many inline bytes.
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

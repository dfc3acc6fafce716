//! Native sources of kernels: structs and constants. See `types.rs` for what holds for all of them.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

/// CUDA C++, compiled by NVRTC for the exact device (`cuda`).
pub const COMPUTE_LANGUAGE_CUDA: u32 = 16;
/// PTX, compiled by CUDA's driver (`cuda`).
pub const COMPUTE_LANGUAGE_PTX: u32 = 17;
/// Machine code of NVIDIA GPUs: a cubin, or a fat binary (`cuda`).
pub const COMPUTE_LANGUAGE_CUBIN: u32 = 18;
/// HIP C++, compiled by hiprtc for the exact device (`hip`).
pub const COMPUTE_LANGUAGE_HIP: u32 = 19;
/// Machine code of AMD GPUs: a code object, or a bundle of them (`hip`).
pub const COMPUTE_LANGUAGE_CODE_OBJECT: u32 = 20;
/// In a `compute_native_source`: Metal's language, handed to Metal as it is (`wgpu` on Metal).
pub const COMPUTE_LANGUAGE_MSL: u32 = 21;
/// In a `compute_native_source`: HLSL, handed to Direct3D 12's compiler as it is (`wgpu` on Direct3D 12).
pub const COMPUTE_LANGUAGE_HLSL: u32 = 22;
/// In a `compute_native_source`: SPIR-V, handed to Vulkan as it is, without being understood (`wgpu` on Vulkan).
pub const COMPUTE_LANGUAGE_NATIVE_SPIRV: u32 = 23;

/// In `compute_kernel_info.native_source`: the kernel runs its portable source.
pub const COMPUTE_NATIVE_NONE: u32 = u32::MAX;

/// A file that a native source may include.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_native_header {
    /// The path as `#include` names it.
    pub name: *const c_char,
    /// Its length.
    pub name_length: usize,
    /// Its text.
    pub text: *const c_char,
    /// Its length.
    pub text_length: usize,
}

/// One form of a native kernel: code in a vendor's own language or format, which runs as it is. Nothing checks what it does.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_native_source {
    /// `COMPUTE_LANGUAGE_CUDA` and following.
    pub language: u32,
    /// Zero.
    pub reserved: u32,
    /// Text, or code.
    pub code: *const c_void,
    /// Its length in bytes; of text, `COMPUTE_NUL_TERMINATED` too.
    pub code_length: usize,
    /// The function to launch, by its name in the code: of C++, declare it `extern "C"`.
    pub entry: *const c_char,
    /// Its length.
    pub entry_length: usize,
    /// The architecture that it is for (`sm_90`, `gfx942`): it is passed over on others. That of a generation alone (`sm_90a`) has C++ compiled for it. NULL: any, or what the code says of itself.
    pub target: *const c_char,
    /// Its length.
    pub target_length: usize,
    /// What its compiler is told besides the architecture, which no option may name: strings that end in a NUL byte.
    pub options: *const *const c_char,
    /// How many.
    pub option_count: usize,
    /// Files that it includes, for C++.
    pub headers: *const compute_native_header,
    /// How many.
    pub header_count: usize,
    /// Distance in bytes between them; 0: `sizeof(compute_native_header)`.
    pub header_stride: usize,
}

/// The address of a view's first byte.
pub const COMPUTE_PARAMETER_BUFFER: u32 = 1;
/// `int8_t`, by value.
pub const COMPUTE_PARAMETER_I8: u32 = 2;
/// `uint8_t`, by value.
pub const COMPUTE_PARAMETER_U8: u32 = 3;
/// `int16_t`, by value.
pub const COMPUTE_PARAMETER_I16: u32 = 4;
/// `uint16_t`, by value.
pub const COMPUTE_PARAMETER_U16: u32 = 5;
/// `int32_t`, by value.
pub const COMPUTE_PARAMETER_I32: u32 = 6;
/// `uint32_t`, by value.
pub const COMPUTE_PARAMETER_U32: u32 = 7;
/// `int64_t`, by value.
pub const COMPUTE_PARAMETER_I64: u32 = 8;
/// `uint64_t`, by value.
pub const COMPUTE_PARAMETER_U64: u32 = 9;
/// A float of 16 bits, by value.
pub const COMPUTE_PARAMETER_F16: u32 = 10;
/// `float`, by value.
pub const COMPUTE_PARAMETER_F32: u32 = 11;
/// `double`, by value.
pub const COMPUTE_PARAMETER_F64: u32 = 12;
/// A structure of `size` bytes with an `alignment`, by value.
pub const COMPUTE_PARAMETER_BYTES: u32 = 13;

/// A tensor map of a view (L13): `const __grid_constant__ CUtensorMap`, 128 bytes at a multiple of 64. A portable source has a storage buffer there.
pub const COMPUTE_PARAMETER_TENSOR_MAP: u32 = 14;

/// In `compute_native_parameter.access`: written, and every launch writes every byte of the view (T6a), which the caller vouches for.
pub const COMPUTE_ACCESS_WRITE_ALL: u32 = 4;

/// One parameter of a native kernel: group 0, its index as the slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_native_parameter {
    /// For messages and `compute_kernel_find_binding`; may be NULL.
    pub name: *const c_char,
    /// Its length.
    pub name_length: usize,
    /// `COMPUTE_PARAMETER_...`
    pub kind: u32,
    /// What is done with a buffer, or through a tensor map with the view behind it: `COMPUTE_ACCESS_...`. Unused: a null pointer is passed (a tensor map is used).
    /// Zero for values.
    pub access: u32,
    /// The fewest bytes of a buffer's or tensor map's view; the bytes of `COMPUTE_PARAMETER_BYTES`; else zero.
    pub size: u64,
    /// What the offset of such a view has to be a multiple of, or 0; the alignment of `COMPUTE_PARAMETER_BYTES`; else zero. A power of two.
    pub alignment: u32,
    /// Buffers and tensor maps with the same number but 0 may overlap although they are written (L9). Not beside a portable source.
    pub alias: u32,
}

/// Chained to `compute_kernel_desc`: native sources, and what the caller declares of them. The declaration holds on every device and for every source, the portable
/// one of the `compute_kernel_desc` included, if there is one; each device takes the source that suits it best (L11). Giving this struct is how the caller vouches that
/// native code does what is declared: nothing checks its accesses, whatever `bounds` says.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_native_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CHAINED_NATIVE`
    pub kind: u32,
    /// The next one, or NULL.
    pub next: *const c_void,
    /// The sources.
    pub sources: *const compute_native_source,
    /// How many.
    pub source_count: usize,
    /// Distance in bytes between them; 0: `sizeof(compute_native_source)`.
    pub source_stride: usize,
    /// The parameters, in order.
    pub parameters: *const compute_native_parameter,
    /// How many.
    pub parameter_count: usize,
    /// Distance in bytes between them; 0: `sizeof(compute_native_parameter)`.
    pub parameter_stride: usize,
    /// Invocations of a workgroup on each axis; 0 means 1 on the second and third.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory that launches ask for beyond what the code declares (`extern __shared__`); more than 48 KiB is asked for as CUDA wants it.
    pub workgroup_memory: u32,
}

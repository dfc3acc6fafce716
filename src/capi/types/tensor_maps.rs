//! Tensor maps: struct and constants. See `types.rs` for what holds for all of them.

#![allow(non_camel_case_types)]

/// `uint8_t`
pub const COMPUTE_ELEMENT_U8: u32 = 1;
/// `uint16_t`
pub const COMPUTE_ELEMENT_U16: u32 = 2;
/// `uint32_t`
pub const COMPUTE_ELEMENT_U32: u32 = 3;
/// `int32_t`
pub const COMPUTE_ELEMENT_I32: u32 = 4;
/// `uint64_t`
pub const COMPUTE_ELEMENT_U64: u32 = 5;
/// `int64_t`
pub const COMPUTE_ELEMENT_I64: u32 = 6;
/// A float of 16 bits.
pub const COMPUTE_ELEMENT_F16: u32 = 7;
/// `float`
pub const COMPUTE_ELEMENT_F32: u32 = 8;
/// `double`
pub const COMPUTE_ELEMENT_F64: u32 = 9;
/// The upper half of a `float`.
pub const COMPUTE_ELEMENT_BF16: u32 = 10;
/// `float`, of which subnormal values are taken for zero.
pub const COMPUTE_ELEMENT_F32_FTZ: u32 = 11;
/// `float`, rounded to TF32.
pub const COMPUTE_ELEMENT_TF32: u32 = 12;
/// `float`, rounded to TF32, of which subnormal values are taken for zero.
pub const COMPUTE_ELEMENT_TF32_FTZ: u32 = 13;

/// Elements of dimension 0 lie side by side.
pub const COMPUTE_INTERLEAVE_NONE: u32 = 0;
/// Channels in slices of 16 bytes (NC/8HWC8 of 16-bit elements).
pub const COMPUTE_INTERLEAVE_16B: u32 = 1;
/// Channels in slices of 32 bytes (NC/16HWC16 of 16-bit elements).
pub const COMPUTE_INTERLEAVE_32B: u32 = 2;

/// Boxes lie in workgroup memory as they are.
pub const COMPUTE_SWIZZLE_NONE: u32 = 0;
/// Chunks of 16 bytes change places within 32 bytes.
pub const COMPUTE_SWIZZLE_32B: u32 = 1;
/// Within 64 bytes.
pub const COMPUTE_SWIZZLE_64B: u32 = 2;
/// Within 128 bytes.
pub const COMPUTE_SWIZZLE_128B: u32 = 3;

/// The second-level cache fetches what is asked for.
pub const COMPUTE_L2_PROMOTION_NONE: u32 = 0;
/// In pieces of 64 bytes.
pub const COMPUTE_L2_PROMOTION_64B: u32 = 1;
/// In pieces of 128 bytes.
pub const COMPUTE_L2_PROMOTION_128B: u32 = 2;
/// In pieces of 256 bytes.
pub const COMPUTE_L2_PROMOTION_256B: u32 = 3;

/// Outside the tensor there are zeros.
pub const COMPUTE_OUTSIDE_ZERO: u32 = 0;
/// Outside the tensor there is a NaN that multiply-adds of tensor cores take for zero. Of floats only.
pub const COMPUTE_OUTSIDE_NAN: u32 = 1;

/// How a view looks as a tensor, for `cp.async.bulk.tensor` of NVIDIA's GPUs from sm_90 on: tiled mode (there is no im2col). Dimension 0 is the innermost; of each
/// array the first `rank` numbers count. The numbers mean what they mean to `cuTensorMapEncodeTiled`. All limits are checked, and the tensor lies inside its view; of
/// an interleaved one only its first slice is looked at.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_tensor_map_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_ELEMENT_...`
    pub element: u32,
    /// Dimensions: 1 to 5, interleaved 3 to 5.
    pub rank: u32,
    /// `COMPUTE_INTERLEAVE_...`; 32 bytes need the swizzle of 32 bytes.
    pub interleave: u32,
    /// `COMPUTE_SWIZZLE_...`; without interleave a box's side on axis 0 has at most as many bytes.
    pub swizzle: u32,
    /// `COMPUTE_L2_PROMOTION_...`
    pub l2_promotion: u32,
    /// What is read outside the tensor: `COMPUTE_OUTSIDE_...`
    pub outside: u32,
    /// Zero.
    pub reserved: u32,
    /// Elements on each axis, 1 to 2^32.
    pub shape: [u64; 5],
    /// Bytes from one element to the next on each axis, below 2^40 and a multiple of 16 (32 with an interleave of 32 bytes); 0: without gaps behind the axis before.
    /// On axis 0 the size of an element, or 0.
    pub strides: [u64; 5],
    /// Elements of a box on each axis, 1 to 256, those that are stepped over included. On axis 0 a multiple of 16 bytes, unless interleaved.
    pub box_shape: [u32; 5],
    /// Of how many elements in a box one is taken, 1 to 8; 0: 1. On axis 0 it is 1, unless interleaved.
    pub element_strides: [u32; 5],
}

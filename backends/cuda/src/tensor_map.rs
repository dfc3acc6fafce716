//! Tensor maps in the numbers of CUDA's driver, which the tests compare.

use compute_cuda_hip::driver::{Calls, Failure, TensorMapBytes, TensorMaps};
use compute_hal::{Interleave, L2Promotion, OutsideFill, Swizzle, TENSOR_MAP_SIZE, TensorElement, TensorMap};

pub(crate) const TENSOR_MAPS: TensorMaps = TensorMaps { first: 90, driver: "12.0", encode };

/// `CU_TENSOR_MAP_DATA_TYPE_*`.
pub const fn element(element: TensorElement) -> u32 {
    match element {
        TensorElement::U8 => 0,
        TensorElement::U16 => 1,
        TensorElement::U32 => 2,
        TensorElement::I32 => 3,
        TensorElement::U64 => 4,
        TensorElement::I64 => 5,
        TensorElement::F16 => 6,
        TensorElement::F32 => 7,
        TensorElement::F64 => 8,
        TensorElement::Bf16 => 9,
        TensorElement::F32Flushed => 10,
        TensorElement::Tf32 => 11,
        TensorElement::Tf32Flushed => 12,
    }
}

/// `CU_TENSOR_MAP_INTERLEAVE_*`.
pub const fn interleave(interleave: Interleave) -> u32 {
    match interleave {
        Interleave::None => 0,
        Interleave::Bytes16 => 1,
        Interleave::Bytes32 => 2,
    }
}

/// `CU_TENSOR_MAP_SWIZZLE_*`.
pub const fn swizzle(swizzle: Swizzle) -> u32 {
    match swizzle {
        Swizzle::None => 0,
        Swizzle::Bytes32 => 1,
        Swizzle::Bytes64 => 2,
        Swizzle::Bytes128 => 3,
    }
}

/// `CU_TENSOR_MAP_L2_PROMOTION_*`.
pub const fn promotion(promotion: L2Promotion) -> u32 {
    match promotion {
        L2Promotion::None => 0,
        L2Promotion::Bytes64 => 1,
        L2Promotion::Bytes128 => 2,
        L2Promotion::Bytes256 => 3,
    }
}

/// `CU_TENSOR_MAP_FLOAT_OOB_FILL_*`.
pub const fn fill(fill: OutsideFill) -> u32 {
    match fill {
        OutsideFill::Zero => 0,
        OutsideFill::Nan => 1,
    }
}

fn encode(calls: &Calls, map: &TensorMap, address: u64) -> Result<TensorMapBytes, Failure> {
    let mut made = TensorMapBytes([0; TENSOR_MAP_SIZE as usize]);
    let [_, strides @ ..] = &map.strides;
    let at = std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(usize::MAX));
    // SAFETY: the driver writes the 128 bytes of a map, which is aligned to 64 bytes, and reads as many numbers of each list as there are dimensions: five at most, and
    // one stride fewer. It does not touch the address.
    unsafe {
        calls.tensor_map(
            (&raw mut made).cast(),
            element(map.element),
            map.rank,
            at,
            map.shape.as_ptr(),
            strides.as_ptr(),
            map.box_shape.as_ptr(),
            map.steps.as_ptr(),
            interleave(map.interleave),
            swizzle(map.swizzle),
            promotion(map.promotion),
            fill(map.fill),
        )
    }?;
    Ok(made)
}

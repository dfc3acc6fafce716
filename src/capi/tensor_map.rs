//! Tensor maps of a launch's bindings (L13): from the caller's structs to what the runtime takes. Numbers are checked there.

use compute_hal::{Interleave, L2Promotion, OutsideFill, Swizzle, TensorElement, TensorMap};

use super::boundary::*;
use super::status::*;
use super::types::*;

/// The maps of those bindings that have one, in their order, and what is wrong with the first that is wrong.
///
/// # Safety
/// What the bindings point to is valid.
pub(super) unsafe fn read_maps(given: &Strided<compute_binding>) -> (Vec<TensorMap>, Result<(), Complaint>) {
    let (mut maps, mut wrong) = (Vec::new(), Ok(()));
    for binding in given.iter().filter(|binding| binding.flags & COMPUTE_BINDING_FLAG_TENSOR_MAP != 0) {
        if maps.try_reserve(1).is_err() {
            return (maps, wrong.and(Err(Complaint::NoMemory)));
        }
        // SAFETY: as our own caller says.
        match unsafe { read_map(&binding) } {
            Ok(map) => maps.push(map),
            Err(complaint) => {
                maps.push(NONE);
                wrong = wrong.and(Err(complaint));
            }
        }
    }
    (maps, wrong)
}

/// Of a launch that is refused.
const NONE: TensorMap = TensorMap {
    element: TensorElement::U8,
    rank: 0,
    shape: [0; 5],
    strides: [0; 5],
    box_shape: [0; 5],
    steps: [0; 5],
    interleave: Interleave::None,
    swizzle: Swizzle::None,
    promotion: L2Promotion::None,
    fill: OutsideFill::Zero,
};

/// # Safety
/// What the binding points to is valid.
unsafe fn read_map(binding: &compute_binding) -> Result<TensorMap, Complaint> {
    let compute_binding { group, slot, .. } = *binding;
    if binding.data.is_null() || binding.data_size != 0 || binding.buffer.is_null() {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "@group({group}) @binding({slot}) is given as a tensor: a buffer, a compute_tensor_map_desc as `data`, and no `data_size`"
        );
    }
    // SAFETY: as our own caller says: the flag says what it is.
    let desc = unsafe { read_struct(binding.data.cast::<compute_tensor_map_desc>()) }?;
    check_zero(desc.reserved.into(), "reserved")?;
    let mut map = TensorMap {
        element: choose(desc.element.wrapping_sub(COMPUTE_ELEMENT_U8), desc.element, &ELEMENTS, "ELEMENT")?,
        rank: desc.rank,
        shape: desc.shape,
        strides: desc.strides,
        box_shape: desc.box_shape,
        steps: desc.element_strides.map(|step| step.max(1)),
        interleave: choose(desc.interleave, desc.interleave, &INTERLEAVES, "INTERLEAVE")?,
        swizzle: choose(desc.swizzle, desc.swizzle, &SWIZZLES, "SWIZZLE")?,
        promotion: choose(desc.l2_promotion, desc.l2_promotion, &PROMOTIONS, "L2_PROMOTION")?,
        fill: choose(desc.outside, desc.outside, &FILLS, "OUTSIDE")?,
    };
    map.fill_strides();
    Ok(map)
}

/// In the order of `COMPUTE_ELEMENT_U8` and following.
const ELEMENTS: [TensorElement; 13] = [
    TensorElement::U8,
    TensorElement::U16,
    TensorElement::U32,
    TensorElement::I32,
    TensorElement::U64,
    TensorElement::I64,
    TensorElement::F16,
    TensorElement::F32,
    TensorElement::F64,
    TensorElement::Bf16,
    TensorElement::F32Flushed,
    TensorElement::Tf32,
    TensorElement::Tf32Flushed,
];
const INTERLEAVES: [Interleave; 3] = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32];
const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
const PROMOTIONS: [L2Promotion; 4] = [L2Promotion::None, L2Promotion::Bytes64, L2Promotion::Bytes128, L2Promotion::Bytes256];
const FILLS: [OutsideFill; 2] = [OutsideFill::Zero, OutsideFill::Nan];

fn choose<T: Copy>(index: u32, given: u32, all: &[T], name: &str) -> Result<T, Complaint> {
    match all.get(index as usize) {
        Some(found) => Ok(*found),
        None => refuse!(COMPUTE_ERROR_INVALID_ENUM, "{given} is not a COMPUTE_{name}_ (of a tensor map)"),
    }
}

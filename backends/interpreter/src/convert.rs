//! Conversions and reinterpretations.

use naga::ScalarKind;

use crate::scalar::{Scalar, float_bits, mask, power, precision};
use crate::value::{Value, each};
use crate::{Result, invalid};

/// `As`: a conversion when it names a width, else the same bits as another type.
pub(crate) fn cast(value: &Value, kind: ScalarKind, width: Option<u8>) -> Result<Value> {
    each(std::slice::from_ref(value), &|s| match width {
        Some(width) => Ok(convert(s[0], kind, width)),
        None if s[0].kind == ScalarKind::Bool || kind == ScalarKind::Bool => invalid(("bitcast of", s)),
        None => Ok(Scalar { kind, ..s[0] }),
    })
}

pub(crate) fn convert(from: Scalar, kind: ScalarKind, width: u8) -> Scalar {
    let to = |bits| Scalar { kind, width, bits };
    match (from.is_float(), kind) {
        (true, ScalarKind::Bool) => Scalar::bool(from.float() != 0.0),
        (false, ScalarKind::Bool) => Scalar::bool(from.bits != 0),
        (true, ScalarKind::Float) if from.width == width => from,
        (true, ScalarKind::Float) => to(float_bits(width, from.float())),
        (false, ScalarKind::Float) => to(integer_to_float(from.int(), width)),
        (true, _) => to(float_to_integer(from, kind, width)),
        (false, _) => to(from.int() as u64 & mask(width)),
    }
}

/// Rounded once, to the nearest, ties to even.
fn integer_to_float(value: i128, width: u8) -> u64 {
    match width {
        4 => (value as f32).to_bits().into(),
        // Whatever binary64 cannot hold exactly is far beyond what binary16 can.
        _ => float_bits(width, value as f64),
    }
}

/// Clamped to the closest integers that the float type can hold too; NaN gives 0.
fn float_to_integer(from: Scalar, kind: ScalarKind, width: u8) -> u64 {
    let value = from.float();
    if value.is_nan() {
        return 0;
    }
    let bits = i32::from(width) * 8;
    let exponent = if kind == ScalarKind::Sint { bits - 1 } else { bits };
    let mut high = power(exponent) - power((exponent - precision(from.width) as i32).max(0));
    let mut low = if kind == ScalarKind::Sint { -power(exponent) } else { 0.0 };
    if from.width == 2 {
        (high, low) = (high.min(65504.0), low.max(-65504.0));
    }
    value.trunc().clamp(low, high) as i128 as u64 & mask(width)
}

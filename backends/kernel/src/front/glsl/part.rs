//! Scalar constants and their conversions, which are those of run time, bit for bit.

use half::f16;
use naga::Literal;

use super::types::Scalar;
use crate::math::{f16_bits, f16_from_f64};
use crate::reflection::Number as Value;

/// A scalar; floats by their bits, so that they can be compared and hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    Bool(bool),
    Int16(i16),
    Uint16(u16),
    Int(i32),
    Uint(u32),
    Int64(i64),
    Uint64(u64),
    Half(u16),
    Float(u32),
    Double(u64),
}

/// The same as a number of which every type is a part.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Part {
    pub(super) fn scalar(self) -> Scalar {
        match self {
            Self::Bool(_) => Scalar::Bool,
            Self::Int16(_) => Scalar::Int16,
            Self::Uint16(_) => Scalar::Uint16,
            Self::Int(_) => Scalar::Int,
            Self::Uint(_) => Scalar::Uint,
            Self::Int64(_) => Scalar::Int64,
            Self::Uint64(_) => Scalar::Uint64,
            Self::Half(_) => Scalar::Half,
            Self::Float(_) => Scalar::Float,
            Self::Double(_) => Scalar::Double,
        }
    }

    /// The value of a specialization constant.
    pub(super) fn value(self) -> Value {
        match self {
            Self::Int64(v) => Value::Int(v),
            Self::Uint64(v) => Value::Uint(v),
            _ => match self.number() {
                Number::Whole(value) => Value::Float(value as f64),
                Number::Real(value) => Value::Float(value),
            },
        }
    }

    /// The number, of an integer that is not too large.
    pub(super) fn integer(self) -> Option<i64> {
        self.whole().and_then(|value| i64::try_from(value).ok())
    }

    fn number(self) -> Number {
        match self {
            Self::Bool(v) => Number::Whole(v.into()),
            Self::Int16(v) => Number::Whole(v.into()),
            Self::Uint16(v) => Number::Whole(v.into()),
            Self::Int(v) => Number::Whole(v.into()),
            Self::Uint(v) => Number::Whole(v.into()),
            Self::Int64(v) => Number::Whole(v.into()),
            Self::Uint64(v) => Number::Whole(v.into()),
            Self::Half(v) => Number::Real(f16::from_bits(v).to_f64()),
            Self::Float(v) => Number::Real(f32::from_bits(v).into()),
            Self::Double(v) => Number::Real(f64::from_bits(v)),
        }
    }

    /// As another type; `None` where that is no number of the type.
    pub(super) fn convert(self, to: Scalar) -> Option<Self> {
        if self.scalar() == to {
            return Some(self);
        }
        let whole = match self.number() {
            Number::Whole(value) => value,
            Number::Real(value) if to.is_integer() => truncated(value, self.scalar(), to),
            Number::Real(value) => return Self::real(value, to),
        };
        match to {
            Scalar::Float => Some(Self::Float((whole as f32).to_bits())),
            Scalar::Double => Some(Self::Double((whole as f64).to_bits())),
            // Those that a half can hold are exact in between.
            Scalar::Bool | Scalar::Half => Self::real(whole as f64, to),
            _ => Self::wrapped(whole, to),
        }
    }

    fn real(value: f64, to: Scalar) -> Option<Self> {
        let (part, finite) = match to {
            Scalar::Bool => (Self::Bool(value != 0.0), true),
            Scalar::Half => (Self::Half(f16_bits(f16_from_f64(value))), f16_from_f64(value).is_finite()),
            Scalar::Float => (Self::Float((value as f32).to_bits()), (value as f32).is_finite()),
            _ => (Self::Double(value.to_bits()), value.is_finite()),
        };
        finite.then_some(part)
    }

    /// A whole number cut to a type of integers.
    pub(super) fn wrapped(value: i128, to: Scalar) -> Option<Self> {
        Some(match to {
            Scalar::Int16 => Self::Int16(value as i16),
            Scalar::Uint16 => Self::Uint16(value as u16),
            Scalar::Int => Self::Int(value as i32),
            Scalar::Uint => Self::Uint(value as u32),
            Scalar::Int64 => Self::Int64(value as i64),
            Scalar::Uint64 => Self::Uint64(value as u64),
            _ => return None,
        })
    }

    /// The number, of an integer.
    pub(super) fn whole(self) -> Option<i128> {
        match self.number() {
            Number::Whole(value) if self.scalar().is_integer() => Some(value),
            _ => None,
        }
    }

    /// `None` of the abstract ones, which no IR has that is whole.
    pub(super) fn of(literal: Literal) -> Option<Self> {
        Some(match literal {
            Literal::Bool(v) => Self::Bool(v),
            Literal::I16(v) => Self::Int16(v),
            Literal::U16(v) => Self::Uint16(v),
            Literal::I32(v) => Self::Int(v),
            Literal::U32(v) => Self::Uint(v),
            Literal::I64(v) => Self::Int64(v),
            Literal::U64(v) => Self::Uint64(v),
            Literal::F16(v) => Self::Half(v.to_bits()),
            Literal::F32(v) => Self::Float(v.to_bits()),
            Literal::F64(v) => Self::Double(v.to_bits()),
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return None,
        })
    }

    pub(super) fn literal(self) -> Literal {
        match self {
            Self::Bool(v) => Literal::Bool(v),
            Self::Int16(v) => Literal::I16(v),
            Self::Uint16(v) => Literal::U16(v),
            Self::Int(v) => Literal::I32(v),
            Self::Uint(v) => Literal::U32(v),
            Self::Int64(v) => Literal::I64(v),
            Self::Uint64(v) => Literal::U64(v),
            Self::Half(v) => Literal::F16(f16::from_bits(v)),
            Self::Float(v) => Literal::F32(f32::from_bits(v)),
            Self::Double(v) => Literal::F64(f64::from_bits(v)),
        }
    }
}

/// Towards zero, and to the nearest number that both types have.
fn truncated(value: f64, from: Scalar, to: Scalar) -> i128 {
    if value.is_nan() {
        return 0;
    }
    let digits = match from {
        Scalar::Half => 11,
        Scalar::Float => 24,
        _ => 53,
    };
    let bits = u32::try_from(to.bytes() * 8).unwrap_or(64) - u32::from(to.is_signed());
    let most = (1i128 << bits) - 1;
    let most = if bits > digits { most & !((1i128 << (bits - digits)) - 1) } else { most };
    let least = if to.is_signed() { -(1i128 << bits) } else { 0 };
    let (most, least) = if from == Scalar::Half { (most.min(65504), least.max(-65504)) } else { (most, least) };
    (value as i128).clamp(least, most)
}

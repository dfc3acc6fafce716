//! Packed formats: four bytes or two halves in a u32.

use naga::{MathFunction, ScalarKind};

use crate::convert::convert;
use crate::scalar::{Scalar, float_bits};
use crate::value::Value;
use crate::{Result, unsupported};

/// Packs, unpacks and dot products of packed vectors.
pub(crate) fn packed(fun: MathFunction, arguments: &[Value]) -> Result<Value> {
    use MathFunction as M;
    let first = arguments[0].components()?;
    Ok(match fun {
        M::Pack4x8snorm => pack(&first, 8, |x| normal(x, -1.0, 127.0)),
        M::Pack4x8unorm => pack(&first, 8, |x| normal(x, 0.0, 255.0)),
        M::Pack2x16snorm => pack(&first, 16, |x| normal(x, -1.0, 32767.0)),
        M::Pack2x16unorm => pack(&first, 16, |x| normal(x, 0.0, 65535.0)),
        M::Pack2x16float => pack(&first, 16, |x| float_bits(2, x.float()).into()),
        M::Pack4xI8 | M::Pack4xU8 => pack(&first, 8, Scalar::int),
        M::Pack4xI8Clamp => pack(&first, 8, |x| x.int().clamp(-128, 127)),
        M::Pack4xU8Clamp => pack(&first, 8, |x| x.int().clamp(0, 255)),
        M::Unpack4x8snorm => fields(first[0], ScalarKind::Sint, 1).map(|v| signed(v, 127.0)).collect(),
        M::Unpack4x8unorm => fields(first[0], ScalarKind::Uint, 1).map(|v| single(v.int() as f64 / 255.0)).collect(),
        M::Unpack2x16snorm => fields(first[0], ScalarKind::Sint, 2).map(|v| signed(v, 32767.0)).collect(),
        M::Unpack2x16unorm => fields(first[0], ScalarKind::Uint, 2).map(|v| single(v.int() as f64 / 65535.0)).collect(),
        M::Unpack2x16float => fields(first[0], ScalarKind::Float, 2).map(|v| convert(v, ScalarKind::Float, 4)).collect(),
        M::Unpack4xI8 => fields(first[0], ScalarKind::Sint, 1).map(|v| convert(v, ScalarKind::Sint, 4)).collect(),
        M::Unpack4xU8 => fields(first[0], ScalarKind::Uint, 1).map(|v| convert(v, ScalarKind::Uint, 4)).collect(),
        M::Dot4I8Packed => dot(first[0], arguments[1].scalar()?, ScalarKind::Sint),
        M::Dot4U8Packed => dot(first[0], arguments[1].scalar()?, ScalarKind::Uint),
        other => return unsupported(other),
    })
}

fn pack(components: &[Scalar], bits: u32, field: impl Fn(Scalar) -> i128) -> Value {
    let word = components.iter().rev().fold(0, |word: u32, &c| word << bits | field(c) as u32 & ((1 << bits) - 1));
    Scalar::u32(word).into()
}

/// The nearest integer to a number scaled from [low, 1], by the language's formula: the product is rounded, then the sum with a half.
fn normal(x: Scalar, low: f64, scale: f64) -> i128 {
    let value = x.float();
    let value = if value.is_nan() { 0.0 } else { value.clamp(low, 1.0) };
    let product = x.round(scale * value).float();
    x.round(0.5 + product).float().floor() as i128
}

fn single(value: f64) -> Scalar {
    Scalar { kind: ScalarKind::Float, width: 4, bits: float_bits(4, value) }
}

fn signed(v: Scalar, scale: f64) -> Scalar {
    single((v.int() as f64 / scale).max(-1.0))
}

/// The parts of a word from the low end, each of `width` bytes.
fn fields(word: Scalar, kind: ScalarKind, width: u8) -> impl Iterator<Item = Scalar> {
    let bits = u32::from(width) * 8;
    (0..32 / bits).map(move |i| Scalar { kind, width, bits: word.bits >> (i * bits) & ((1 << bits) - 1) })
}

fn dot(a: Scalar, b: Scalar, kind: ScalarKind) -> Value {
    let sum: i128 = fields(a, kind, 1).zip(fields(b, kind, 1)).map(|(a, b)| a.int() * b.int()).sum();
    Scalar { kind, width: 4, bits: 0 }.wrap(sum).into()
}

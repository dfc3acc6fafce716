//! Builtin functions of single numbers.

use naga::{BinaryOperator, MathFunction, ScalarKind};

use crate::operator::scalar as operate;
use crate::scalar::{Scalar, power};
use crate::transcendental::transcendental;
use crate::{Result, unsupported};

/// Functions that work component by component.
pub(crate) fn component(fun: MathFunction, a: &[Scalar]) -> Result<Scalar> {
    if a[0].is_float() { float(fun, a) } else { integer(fun, a) }
}

fn float(fun: MathFunction, a: &[Scalar]) -> Result<Scalar> {
    use MathFunction as M;
    let (first, x) = (a[0], a[0].float());
    // What is one function with an accuracy or a constant of its own is evaluated as f32 for halves, and then rounded.
    if first.width == 2 && matches!(fun, M::InverseSqrt | M::Radians | M::Degrees) {
        let single = Scalar { width: 4, ..first }.round(x);
        return Ok(first.round(float(fun, &[single])?.float()));
    }
    Ok(match fun {
        M::Abs => Scalar { bits: first.bits & !(1 << (first.size() - 1)), ..first },
        M::Min => smaller(first, a[1]),
        M::Max => larger(first, a[1]),
        M::Clamp => smaller(larger(first, a[1]), a[2]),
        M::Saturate => smaller(larger(first, first.round(0.0)), first.round(1.0)),
        M::Ceil => first.round(x.ceil()),
        M::Floor => first.round(x.floor()),
        M::Round => first.round(x.round_ties_even()),
        M::Trunc => first.round(x.trunc()),
        M::Fract => operate(BinaryOperator::Subtract, first, first.round(x.floor()))?,
        M::Sign => first.round(if x > 0.0 {
            1.0
        } else if x < 0.0 {
            -1.0
        } else {
            0.0
        }),
        M::Sqrt => first.round(x.sqrt()),
        M::InverseSqrt => operate(BinaryOperator::Divide, first.round(1.0), first.round(x.sqrt()))?,
        M::Fma => fused(a[0], a[1], a[2]),
        M::Step => first.round(if x <= a[1].float() { 1.0 } else { 0.0 }),
        M::Mix => mix(a[0], a[1], a[2])?,
        M::SmoothStep => smoothstep(a[0], a[1], a[2])?,
        M::Radians => operate(BinaryOperator::Multiply, first, first.round(0.017_453_292_519_943_295))?,
        M::Degrees => operate(BinaryOperator::Multiply, first, first.round(57.295_779_513_082_32))?,
        M::Ldexp => ldexp(first, a[1]),
        M::QuantizeToF16 => first.round(Scalar { width: 2, ..first }.round(x).float()),
        other => match transcendental(other, a) {
            Some(value) => value,
            None => return unsupported(other),
        },
    })
}

/// The second where it is less, else the first.
fn smaller(a: Scalar, b: Scalar) -> Scalar {
    if b.float() < a.float() { b } else { a }
}

/// The second where the first is less, else the first.
fn larger(a: Scalar, b: Scalar) -> Scalar {
    if a.float() < b.float() { b } else { a }
}

/// Rounded once.
pub(crate) fn fused(a: Scalar, b: Scalar, c: Scalar) -> Scalar {
    match a.width {
        // The product is exact in binary64; the sum is made odd where it is not exact, so that the last rounding is the only one.
        2 => a.round(odd_sum(a.float() * b.float(), c.float())),
        4 => {
            let [x, y, z] = [a, b, c].map(|s| f32::from_bits(s.bits as u32));
            a.round(x.mul_add(y, z).into())
        }
        _ => a.round(a.float().mul_add(b.float(), c.float())),
    }
}

/// The sum in binary64, rounded to odd: of the two neighbours of an inexact sum the one whose last bit is set.
fn odd_sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() {
        return sum;
    }
    // The rounding error, exactly (Knuth's two-sum).
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

fn mix(a: Scalar, b: Scalar, t: Scalar) -> Result<Scalar> {
    use BinaryOperator::{Add, Multiply, Subtract};
    let rest = operate(Subtract, t.round(1.0), t)?;
    operate(Add, operate(Multiply, a, rest)?, operate(Multiply, b, t)?)
}

fn smoothstep(low: Scalar, high: Scalar, x: Scalar) -> Result<Scalar> {
    use BinaryOperator::{Divide, Multiply, Subtract};
    let t = operate(Divide, operate(Subtract, x, low)?, operate(Subtract, high, low)?)?;
    let t = smaller(larger(t, x.round(0.0)), x.round(1.0));
    let bend = operate(Subtract, x.round(3.0), operate(Multiply, x.round(2.0), t)?)?;
    operate(Multiply, operate(Multiply, t, t)?, bend)
}

/// Times a power of two, rounded once: an exponent beyond any finite product acts like the last one that matters.
fn ldexp(x: Scalar, exponent: Scalar) -> Scalar {
    let (mut value, mut left) = (x.float(), exponent.int().clamp(-2400, 2400) as i32);
    if x.width == 8 {
        return x.round(scale(value, left));
    }
    // Exact in binary64 for all that does not end in zero or infinity anyway.
    while left != 0 {
        let step = left.clamp(-300, 300);
        value *= power(step);
        left -= step;
    }
    x.round(value)
}

/// Times a power of two in binary64 with one rounding.
fn scale(value: f64, exponent: i32) -> f64 {
    let (fraction, own) = split(value);
    if fraction == 0.0 || !fraction.is_finite() {
        return value;
    }
    let exponent = own + exponent;
    match exponent {
        1025.. => fraction * f64::INFINITY,
        -1021..=1024 => fraction * 2.0 * power(exponent - 1),
        // Below the normal numbers the last multiplication rounds, and only that one.
        -1080..=-1022 => fraction * power(-1000) * power(exponent + 1000),
        _ => fraction * 0.0,
    }
}

/// Fraction in [0.5, 1) and exponent of a finite number; others are their own fraction.
pub(crate) fn split(value: f64) -> (f64, i32) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    let (mut value, mut exponent) = (value, 0);
    if value.abs() < f64::MIN_POSITIVE {
        (value, exponent) = (value * power(54), -54);
    }
    let bits = value.to_bits();
    exponent += (bits >> 52 & 0x7ff) as i32 - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

fn integer(fun: MathFunction, a: &[Scalar]) -> Result<Scalar> {
    use MathFunction as M;
    let (first, x, size) = (a[0], a[0].int(), a[0].size());
    let unsigned = Scalar { kind: ScalarKind::Uint, ..first }.int() as u128;
    Ok(match fun {
        M::Abs => first.wrap(x.abs()),
        M::Min => first.wrap(x.min(a[1].int())),
        M::Max => first.wrap(x.max(a[1].int())),
        M::Clamp => first.wrap(x.max(a[1].int()).min(a[2].int())),
        M::Sign => first.wrap(x.signum()),
        M::CountOneBits => first.wrap(unsigned.count_ones().into()),
        M::CountLeadingZeros => first.wrap((unsigned.leading_zeros() - (128 - size)).into()),
        M::CountTrailingZeros => first.wrap(unsigned.trailing_zeros().min(size).into()),
        M::FirstTrailingBit => first.wrap((0..size).find(|&bit| unsigned >> bit & 1 == 1).map_or(-1, i128::from)),
        M::FirstLeadingBit => {
            let other = if x < 0 { !unsigned } else { unsigned };
            first.wrap((0..size).rev().find(|&bit| other >> bit & 1 == 1).map_or(-1, i128::from))
        }
        M::ReverseBits => first.wrap((0..size).fold(0, |out, bit| out << 1 | (unsigned >> bit & 1) as i128)),
        M::ExtractBits => extract(first, a[1], a[2]),
        M::InsertBits => insert(first, a[1], a[2], a[3]),
        other => return unsupported((other, first)),
    })
}

/// Offset and count as far as they fit.
fn field(size: u32, offset: Scalar, count: Scalar) -> (u32, u32) {
    let offset = offset.bits.min(size.into()) as u32;
    (offset, count.bits.min((size - offset).into()) as u32)
}

fn extract(e: Scalar, offset: Scalar, count: Scalar) -> Scalar {
    let (offset, count) = field(e.size(), offset, count);
    if count == 0 {
        return e.wrap(0);
    }
    let low = i128::from(e.bits >> offset) & ((1 << count) - 1);
    let negative = e.kind == ScalarKind::Sint && low >> (count - 1) & 1 == 1;
    e.wrap(if negative { low - (1 << count) } else { low })
}

fn insert(e: Scalar, new: Scalar, offset: Scalar, count: Scalar) -> Scalar {
    let (offset, count) = field(e.size(), offset, count);
    let mask = ((1_i128 << count) - 1) << offset;
    e.wrap(i128::from(e.bits) & !mask | i128::from(new.bits) << offset & mask)
}

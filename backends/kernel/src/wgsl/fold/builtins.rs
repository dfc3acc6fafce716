//! Builtin functions of constant values. Formulas and roundings are those of the devices' code, so that a constant has the bits that the same
//! expression has at run time (KT-24).

use std::rc::Rc;

use half::f16;

use crate::math::{self, wide};

use super::operators::{Operator as O, dot, scalars};
use super::value::{Kind, No, Result, Scalar, Value, common};

/// The functions that the front end does not fold, or not to the bits that they have at run time.
pub(super) fn replaced(name: &str) -> bool {
    matches!(
        name,
        "acos"
            | "acosh"
            | "asin"
            | "asinh"
            | "atan"
            | "atan2"
            | "atanh"
            | "bitcast"
            | "cos"
            | "cosh"
            | "cross"
            | "determinant"
            | "distance"
            | "dot"
            | "exp"
            | "exp2"
            | "extractBits"
            | "faceForward"
            | "fma"
            | "frexp"
            | "insertBits"
            | "inverseSqrt"
            | "ldexp"
            | "length"
            | "log"
            | "log2"
            | "max"
            | "min"
            | "mix"
            | "modf"
            | "normalize"
            | "pack2x16float"
            | "pack2x16snorm"
            | "pack2x16unorm"
            | "pack4x8snorm"
            | "pack4x8unorm"
            | "pack4xI8"
            | "pack4xI8Clamp"
            | "pack4xU8"
            | "pack4xU8Clamp"
            | "pow"
            | "quantizeToF16"
            | "reflect"
            | "refract"
            | "saturate"
            | "sin"
            | "sinh"
            | "smoothstep"
            | "sqrt"
            | "tan"
            | "tanh"
            | "transpose"
            | "unpack2x16float"
            | "unpack2x16snorm"
            | "unpack2x16unorm"
            | "unpack4x8snorm"
            | "unpack4x8unorm"
            | "unpack4xI8"
            | "unpack4xU8"
    )
}

/// The value of a call.
pub(super) fn call(name: &str, a: &[Value]) -> Result<Value> {
    match (name, a) {
        ("all" | "any", [v]) => truths(name, v),
        ("select", [no, yes, which]) => select(no, yes, which),
        ("transpose" | "determinant", [Value::Matrix(m)]) => matrix(name, m),
        ("frexp" | "modf", [x]) => parts(name, x),
        ("ldexp", [x, e]) => ldexp(x, e),
        ("dot" | "cross" | "length" | "distance" | "normalize" | "reflect" | "refract" | "faceForward", _) => geometry(name, a),
        ("extractBits" | "insertBits", _) => field(name, a),
        ("mix" | "smoothstep", [x, y, t]) => blend(name, x, y, t),
        (_, [x]) if name.starts_with("pack") => pack(name, x),
        (_, [x]) if name.starts_with("unpack") => unpack(name, x.scalar()?),
        (_, [x]) if bits_of(name).is_some() => each(x, |s| count(name, s)),
        _ => componentwise(name, a),
    }
}

fn each(x: &Value, f: impl Fn(Scalar) -> Result<Scalar>) -> Result<Value> {
    Ok(Value::of(x.lanes()?.iter().map(|s| f(*s)).collect::<Result<_>>()?))
}

fn wrong<T>(message: impl Into<String>) -> Result<T> {
    Err(No::Wrong(message.into()))
}

/// A float of either kind through the functions of both. Those of halves are computed in f32 and rounded.
fn float(s: Scalar, single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> Result<Scalar> {
    match s {
        Scalar::F16(x) => Ok(Scalar::F16(math::round_to_f16(single(x)))),
        Scalar::F32(x) => Ok(Scalar::F32(single(x))),
        Scalar::AbstractFloat(x) => Ok(Scalar::AbstractFloat(double(x))),
        Scalar::AbstractInt(n) => Ok(Scalar::AbstractFloat(double(n as f64))),
        _ => Err(No::Unknown),
    }
}

/// A function whose results of halves are rounded once, from f64.
fn transcendental(s: Scalar, single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> Result<Scalar> {
    match s {
        Scalar::F16(x) => Ok(Scalar::F16(math::f16_from_f64(double(x.into())))),
        _ => float(s, single, double),
    }
}

fn truths(name: &str, v: &Value) -> Result<Value> {
    let truths =
        v.lanes()?.iter().map(|s| if let Scalar::Bool(b) = s { Ok(*b) } else { Err(No::Unknown) }).collect::<Result<Vec<_>>>()?;
    let mut truths = truths.into_iter();
    Ok(Value::Scalar(Scalar::Bool(if name == "all" { truths.all(|b| b) } else { truths.any(|b| b) })))
}

fn select(no: &Value, yes: &Value, which: &Value) -> Result<Value> {
    let kind = common(no.scalars().iter().chain(&yes.scalars()).map(|s| s.kind()))?;
    let (no, yes) = (no.to_kind(kind)?, yes.to_kind(kind)?);
    match which {
        Value::Scalar(Scalar::Bool(b)) => Ok(if *b { yes } else { no }),
        Value::Vector(b) if b.len() == no.lanes()?.len() && b.len() == yes.lanes()?.len() => {
            let picked =
                no.lanes()?.iter().zip(yes.lanes()?).zip(b).map(|((n, y), b)| if *b == Scalar::Bool(true) { *y } else { *n });
            Ok(Value::of(picked.collect()))
        }
        _ => Err(No::Unknown),
    }
}

/// Functions of one to three scalars, applied to each component.
fn componentwise(name: &str, a: &[Value]) -> Result<Value> {
    let lanes = a.iter().map(Value::lanes).collect::<Result<Vec<_>>>()?;
    let count = lanes.iter().map(|l| l.len()).max().ok_or(No::Unknown)?;
    if lanes.iter().any(|l| l.len() != count) {
        return Err(No::Unknown);
    }
    let kind = common(lanes.iter().flat_map(|l| l.iter()).map(|s| s.kind()))?;
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let operands = lanes.iter().filter_map(|l| l.get(i)).map(|s| s.convert(kind)).collect::<Result<Vec<_>>>()?;
        out.push(match operands[..] {
            [x] => one(name, x)?,
            [x, y] => two(name, x, y)?,
            [x, y, z] => three(name, x, y, z)?,
            _ => return Err(No::Unknown),
        });
    }
    Ok(Value::of(out))
}

fn one(name: &str, x: Scalar) -> Result<Scalar> {
    match name {
        "abs" => match x {
            Scalar::I32(n) => Ok(Scalar::I32(n.wrapping_abs())),
            Scalar::U32(_) => Ok(x),
            Scalar::AbstractInt(n) => Ok(Scalar::AbstractInt(n.checked_abs().ok_or(No::Unknown)?)),
            _ => float(x, f32::abs, f64::abs),
        },
        "sign" => match x {
            Scalar::I32(n) => Ok(Scalar::I32(n.signum())),
            Scalar::AbstractInt(n) => Ok(Scalar::AbstractInt(n.signum())),
            _ => float(x, |x| if x == 0.0 { 0.0 } else { x.signum() }, |x| if x == 0.0 { 0.0 } else { x.signum() }),
        },
        "saturate" => float(x, |x| clamped(x, 0.0, 1.0), |x| if 0.0 > x { 0.0 } else { x.min(1.0) }),
        "ceil" => float(x, f32::ceil, f64::ceil),
        "floor" => float(x, f32::floor, f64::floor),
        "round" => float(x, f32::round_ties_even, f64::round_ties_even),
        "trunc" => float(x, f32::trunc, f64::trunc),
        "fract" => float(x, |x| x - x.floor(), |x| x - x.floor()),
        "quantizeToF16" => quantized(x),
        "radians" => float(x, f32::to_radians, f64::to_radians),
        "degrees" => float(x, f32::to_degrees, f64::to_degrees),
        "sqrt" => float(x, f32::sqrt, f64::sqrt),
        "inverseSqrt" => float(x, |x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt()),
        "exp" => transcendental(x, math::exp, wide::exp),
        "exp2" => transcendental(x, math::exp2, wide::exp2),
        "log" => transcendental(x, math::log, wide::log),
        "log2" => transcendental(x, math::log2, wide::log2),
        "sin" => transcendental(x, math::sin, wide::sin),
        "cos" => transcendental(x, math::cos, wide::cos),
        "tan" => transcendental(x, math::tan, wide::tan),
        "asin" => transcendental(x, math::asin, wide::asin),
        "acos" => transcendental(x, math::acos, wide::acos),
        "atan" => transcendental(x, math::atan, wide::atan),
        "sinh" => transcendental(x, math::sinh, wide::sinh),
        "cosh" => transcendental(x, math::cosh, wide::cosh),
        "tanh" => transcendental(x, math::tanh, wide::tanh),
        "asinh" => transcendental(x, math::asinh, wide::asinh),
        "acosh" => transcendental(x, math::acosh, wide::acosh),
        "atanh" => transcendental(x, math::atanh, wide::atanh),
        _ => Err(No::Unknown),
    }
}

/// As a device does it: `min(max(x, low), high)`.
fn clamped(x: f32, low: f32, high: f32) -> f32 {
    let x = if low > x { low } else { x };
    if high < x { high } else { x }
}

fn quantized(x: Scalar) -> Result<Scalar> {
    let (Scalar::F32(_) | Scalar::AbstractFloat(_) | Scalar::AbstractInt(_)) = x else { return Err(No::Unknown) };
    let Scalar::F32(single) = x.convert(Kind::F32)? else { return Err(No::Unknown) };
    let half = f16::from_f32(single);
    if !half.is_finite() {
        return wrong(format!("quantizeToF16 of {single:?} has no value: a 16-bit float holds at most 65504"));
    }
    Ok(Scalar::F32(half.to_f32()))
}

fn two(name: &str, x: Scalar, y: Scalar) -> Result<Scalar> {
    let less = |x, y| scalars(O::Less, x, y).map(|b| b == Scalar::Bool(true));
    match name {
        "min" => Ok(if less(y, x)? { y } else { x }),
        "max" => Ok(if less(x, y)? { y } else { x }),
        "step" => {
            let reached = scalars(O::LessEqual, x, y)? == Scalar::Bool(true);
            float(x, |_| if reached { 1.0 } else { 0.0 }, |_| if reached { 1.0 } else { 0.0 })
        }
        "pow" | "atan2" => match (x, y) {
            (Scalar::F32(x), Scalar::F32(y)) => Ok(Scalar::F32(if name == "pow" { math::pow(x, y) } else { math::atan2(x, y) })),
            (Scalar::F16(x), Scalar::F16(y)) => {
                let (x, y) = (x.into(), y.into());
                Ok(Scalar::F16(math::f16_from_f64(if name == "pow" { wide::pow(x, y) } else { wide::atan2(x, y) })))
            }
            _ => {
                let (Scalar::AbstractFloat(x), Scalar::AbstractFloat(y)) =
                    (x.convert(Kind::AbstractFloat)?, y.convert(Kind::AbstractFloat)?)
                else {
                    return Err(No::Unknown);
                };
                Ok(Scalar::AbstractFloat(if name == "pow" { wide::pow(x, y) } else { wide::atan2(x, y) }))
            }
        },
        _ => Err(No::Unknown),
    }
}

fn three(name: &str, x: Scalar, y: Scalar, z: Scalar) -> Result<Scalar> {
    match (name, x, y, z) {
        ("clamp", ..) => two("min", two("max", x, y)?, z),
        ("fma", Scalar::F16(x), Scalar::F16(y), Scalar::F16(z)) => Ok(Scalar::F16(math::fma_f16(x, y, z))),
        ("fma", Scalar::F32(x), Scalar::F32(y), Scalar::F32(z)) => Ok(Scalar::F32(x.mul_add(y, z))),
        _ => Err(No::Unknown),
    }
}

/// Floats of one kind, abstract integers among them made floats; scalars spread where a vector is beside them.
fn floats(a: &[&Value]) -> Result<Vec<Vec<Scalar>>> {
    let kind = common(a.iter().flat_map(|v| v.scalars()).map(Scalar::kind))?;
    let kind = if kind == Kind::AbstractInt { Kind::AbstractFloat } else { kind };
    if !matches!(kind, Kind::AbstractFloat | Kind::F16 | Kind::F32) {
        return Err(No::Unknown);
    }
    a.iter().map(|v| v.to_kind(kind)?.lanes().map(<[Scalar]>::to_vec)).collect()
}

/// A small whole number of a kind of float.
fn number(like: Scalar, x: f32) -> Scalar {
    match like.kind() {
        Kind::F16 => Scalar::F16(x),
        Kind::F32 => Scalar::F32(x),
        _ => Scalar::AbstractFloat(f64::from(x)),
    }
}

fn zip(operator: O, x: &[Scalar], y: &[Scalar]) -> Result<Vec<Scalar>> {
    if x.len() != y.len() {
        return Err(No::Unknown);
    }
    x.iter().zip(y).map(|(x, y)| scalars(operator, *x, *y)).collect()
}

fn blend(name: &str, x: &Value, y: &Value, t: &Value) -> Result<Value> {
    let [x, y, mut t] = <[_; 3]>::try_from(floats(&[x, y, t])?).map_err(|_| No::Unknown)?;
    if name == "mix" && t.len() == 1 {
        t = vec![*t.first().ok_or(No::Unknown)?; x.len()];
    }
    let one = vec![number(*x.first().ok_or(No::Unknown)?, 1.0); x.len()];
    if name == "mix" {
        let (x, y) = (zip(O::Multiply, &x, &zip(O::Subtract, &one, &t)?)?, zip(O::Multiply, &y, &t)?);
        return Ok(Value::of(zip(O::Add, &x, &y)?));
    }
    if zip(O::Equal, &x, &y)?.contains(&Scalar::Bool(true)) {
        return wrong("smoothstep has no value where its two edges are equal");
    }
    let t = zip(O::Divide, &zip(O::Subtract, &t, &x)?, &zip(O::Subtract, &y, &x)?)?;
    let t = t.into_iter().map(|t| self::one("saturate", t)).collect::<Result<Vec<_>>>()?;
    let constant = |x: f32| t.iter().map(|t| number(*t, x)).collect::<Vec<_>>();
    let rest = zip(O::Subtract, &constant(3.0), &zip(O::Multiply, &constant(2.0), &t)?)?;
    Ok(Value::of(zip(O::Multiply, &zip(O::Multiply, &t, &t)?, &rest)?))
}

fn geometry(name: &str, a: &[Value]) -> Result<Value> {
    if let ("dot", [x, y]) = (name, a) {
        let kind = common(x.scalars().iter().chain(&y.scalars()).map(|s| s.kind()))?;
        return Ok(Value::Scalar(dot(x.to_kind(kind)?.lanes()?, y.to_kind(kind)?.lanes()?)?));
    }
    let a = floats(&a.iter().collect::<Vec<_>>())?;
    let root = |s| float(s, f32::sqrt, f64::sqrt);
    let length = |x: &[Scalar]| if let [x] = x { one("abs", *x) } else { root(dot(x, x)?) };
    let scaled = |x: &[Scalar], by: Scalar| x.iter().map(|x| scalars(O::Multiply, by, *x)).collect::<Result<Vec<_>>>();
    Ok(match (name, &a[..]) {
        ("length", [x]) => Value::Scalar(length(x)?),
        ("distance", [x, y]) => Value::Scalar(length(&zip(O::Subtract, x, y)?)?),
        ("normalize", [x]) => {
            let length = length(x)?;
            Value::of(x.iter().map(|x| scalars(O::Divide, *x, length)).collect::<Result<_>>()?)
        }
        ("cross", [x, y]) => cross(x, y)?,
        ("faceForward", [x, i, n]) => {
            let side = dot(i, n)?;
            let facing = scalars(O::Less, side, number(side, 0.0))? == Scalar::Bool(true);
            if facing { Value::of(x.clone()) } else { super::operators::unary("-", &Value::of(x.clone()))? }
        }
        ("reflect", [x, n]) => {
            let dot = dot(n, x)?;
            Value::of(zip(O::Subtract, x, &scaled(n, scalars(O::Multiply, dot, number(dot, 2.0))?)?)?)
        }
        ("refract", [x, n, eta]) => {
            let [eta] = eta[..] else { return Err(No::Unknown) };
            let (dot, one) = (dot(n, x)?, number(eta, 1.0));
            let sine = scalars(O::Subtract, one, scalars(O::Multiply, dot, dot)?)?;
            let k = scalars(O::Subtract, one, scalars(O::Multiply, scalars(O::Multiply, eta, eta)?, sine)?)?;
            if scalars(O::Less, k, number(eta, 0.0))? == Scalar::Bool(true) {
                return Ok(Value::of(vec![number(eta, 0.0); x.len()]));
            }
            let along = scalars(O::Add, scalars(O::Multiply, eta, dot)?, root(k)?)?;
            Value::of(zip(O::Subtract, &scaled(x, eta)?, &scaled(n, along)?)?)
        }
        _ => return Err(No::Unknown),
    })
}

fn cross(x: &[Scalar], y: &[Scalar]) -> Result<Value> {
    let (&[x0, x1, x2], &[y0, y1, y2]) = (x, y) else { return Err(No::Unknown) };
    let part = |a, b, c, d| scalars(O::Subtract, scalars(O::Multiply, a, b)?, scalars(O::Multiply, c, d)?);
    Ok(Value::Vector(vec![part(x1, y2, y1, x2)?, part(x2, y0, y2, x0)?, part(x0, y1, y0, x1)?]))
}

fn matrix(name: &str, columns: &[Vec<Scalar>]) -> Result<Value> {
    let rows = columns.first().map_or(0, Vec::len);
    if name == "transpose" {
        return Ok(Value::Matrix((0..rows).map(|r| columns.iter().filter_map(|c| c.get(r).copied()).collect()).collect()));
    }
    if rows != columns.len() {
        return Err(No::Unknown);
    }
    Ok(Value::Scalar(determinant(&columns.concat(), rows)?))
}

/// By minors along the first column.
fn determinant(x: &[Scalar], size: usize) -> Result<Scalar> {
    if let &[a, b, c, d] = x {
        return scalars(O::Subtract, scalars(O::Multiply, a, d)?, scalars(O::Multiply, c, b)?);
    }
    let mut sum = None;
    for row in 0..size {
        let minor: Vec<Scalar> = (size..size * size).filter(|i| i % size != row).filter_map(|i| x.get(i).copied()).collect();
        let factor = x.get(row).copied().ok_or(No::Unknown)?;
        let term = scalars(O::Multiply, factor, determinant(&minor, size - 1)?)?;
        sum = Some(match sum {
            None => term,
            Some(sum) => scalars(if row % 2 == 1 { O::Subtract } else { O::Add }, sum, term)?,
        });
    }
    sum.ok_or(No::Unknown)
}

/// The fraction, zero or at least a half and below one, and the exponent.
fn split(x: f64) -> (f64, i64) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    // A subnormal is scaled up first.
    let (scaled, shift) = if x.is_normal() { (x, 0) } else { (x * f64::exp2(64.0), 64) };
    let bits = scaled.to_bits();
    let exponent = ((bits >> 52) & 0x7ff).cast_signed() - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | (1022 << 52)), exponent - shift)
}

fn parts(name: &str, x: &Value) -> Result<Value> {
    let [x] = <[_; 1]>::try_from(floats(&[x])?).map_err(|_| No::Unknown)?;
    let wide = |s: &Scalar| match *s {
        Scalar::F16(x) | Scalar::F32(x) => f64::from(x),
        Scalar::AbstractFloat(x) => x,
        _ => 0.0,
    };
    // Exact: what is taken apart has no more digits than the whole.
    let narrow = |like: &Scalar, x: f64| match like.kind() {
        Kind::F16 => Scalar::F16(x as f32),
        Kind::F32 => Scalar::F32(x as f32),
        _ => Scalar::AbstractFloat(x),
    };
    let first: Vec<Scalar>;
    let second: Vec<Scalar>;
    if name == "modf" {
        second = x.iter().map(|s| narrow(s, wide(s).trunc())).collect();
        first = zip(O::Subtract, &x, &second)?;
    } else {
        first = x.iter().map(|s| narrow(s, split(wide(s)).0)).collect();
        let exponent = |s: &Scalar| {
            let e = split(wide(s)).1;
            if s.kind() == Kind::F32 { Scalar::AbstractInt(e).convert(Kind::I32) } else { Ok(Scalar::AbstractInt(e)) }
        };
        second = x.iter().map(exponent).collect::<Result<_>>()?;
    }
    if name == "frexp" && x.iter().any(|s| s.kind() == Kind::F16) {
        // The front end gives the exponent 16 bits, of which there are no constants here.
        return Ok(Value::Struct("".into(), Rc::new([(Rc::from("fract"), Value::of(first))])));
    }
    let names = if name == "modf" { "whole" } else { "exp" };
    Ok(Value::Struct("".into(), Rc::new([(Rc::from("fract"), Value::of(first)), (Rc::from(names), Value::of(second))])))
}

fn ldexp(x: &Value, exponents: &Value) -> Result<Value> {
    let [x] = <[_; 1]>::try_from(floats(&[x])?).map_err(|_| No::Unknown)?;
    let exponents = exponents.lanes()?;
    if exponents.len() != x.len() {
        return Err(No::Unknown);
    }
    let scaled = x.iter().zip(exponents).map(|(x, e)| {
        let Scalar::I32(e) = e.convert(Kind::I32)? else { return Err(No::Unknown) };
        let most = match x.kind() {
            Kind::F16 => 16,
            Kind::F32 => 128,
            _ => 1024,
        };
        if e > most {
            return wrong(format!("ldexp has no value for the exponent {e}: at most {most} is allowed"));
        }
        if let Scalar::F16(x) = *x {
            return Ok(Scalar::F16(math::ldexp_f16(x, e)));
        }
        let power = f64::exp2(f64::from(e.max(-400)));
        float(*x, |x| (f64::from(x) * power) as f32, |x| x * power)
    });
    Ok(Value::of(scaled.collect::<Result<_>>()?))
}

/// Functions that count or move bits.
fn bits_of(name: &str) -> Option<fn(u32) -> u32> {
    Some(match name {
        "countOneBits" => u32::count_ones,
        "countLeadingZeros" => u32::leading_zeros,
        "countTrailingZeros" => u32::trailing_zeros,
        "reverseBits" => u32::reverse_bits,
        "firstTrailingBit" => |x| if x == 0 { u32::MAX } else { x.trailing_zeros() },
        "firstLeadingBit" => |x| 31u32.wrapping_sub(x.leading_zeros()),
        _ => return None,
    })
}

fn count(name: &str, x: Scalar) -> Result<Scalar> {
    let (Some(f), Scalar::I32(_) | Scalar::U32(_) | Scalar::AbstractInt(_)) = (bits_of(name), x) else { return Err(No::Unknown) };
    let kind = if x.kind() == Kind::U32 { Kind::U32 } else { Kind::I32 };
    let mut bits = x.bits()?;
    if name == "firstLeadingBit" && kind == Kind::I32 && bits >> 31 == 1 {
        bits = !bits;
    }
    Scalar::from_bits(f(bits), kind)
}

fn field(name: &str, a: &[Value]) -> Result<Value> {
    let u32_of = |v: &Value| v.scalar()?.convert(Kind::U32)?.bits();
    let range = |offset: &Value, count: &Value| {
        let offset = u32_of(offset)?.min(32);
        Ok((offset, u32_of(count)?.min(32 - offset)))
    };
    let integer = |s: Scalar| match s.kind() {
        Kind::AbstractInt => Ok((s.convert(Kind::I32)?.bits()?, Kind::I32)),
        Kind::I32 | Kind::U32 => Ok((s.bits()?, s.kind())),
        _ => Err(No::Unknown),
    };
    match (name, a) {
        ("extractBits", [x, offset, count]) => {
            let (offset, count) = range(offset, count)?;
            each(x, |s| {
                let (bits, kind) = integer(s)?;
                if count == 0 {
                    return Scalar::from_bits(0, kind);
                }
                let top = bits << (32 - count - offset);
                let down = 32 - count;
                let bits = if kind == Kind::I32 { (top.cast_signed() >> down).cast_unsigned() } else { top >> down };
                Scalar::from_bits(bits, kind)
            })
        }
        ("insertBits", [x, new, offset, count]) => {
            let (offset, count) = range(offset, count)?;
            let kind = common(x.scalars().iter().chain(&new.scalars()).map(|s| s.kind()))?;
            let (x, new) = (x.to_kind(kind)?, new.to_kind(kind)?);
            if x.lanes()?.len() != new.lanes()?.len() {
                return Err(No::Unknown);
            }
            let mask = if count == 0 { 0 } else { (u32::MAX >> (32 - count)) << offset };
            let both = x.lanes()?.iter().zip(new.lanes()?).map(|(x, new)| {
                let ((x, kind), (new, _)) = (integer(*x)?, integer(*new)?);
                Scalar::from_bits(x & !mask | new.checked_shl(offset).unwrap_or(0) & mask, kind)
            });
            Ok(Value::of(both.collect::<Result<_>>()?))
        }
        _ => Err(No::Unknown),
    }
}

/// What 1.0 becomes when it is packed: sign, bits, scale.
fn normal(name: &str) -> Option<(bool, u32, f32)> {
    let (signed, bits) = match name.trim_start_matches("un") {
        "pack4x8snorm" => (true, 8),
        "pack4x8unorm" => (false, 8),
        "pack2x16snorm" => (true, 16),
        "pack2x16unorm" => (false, 16),
        _ => return None,
    };
    Some((signed, bits, ((1u32 << (bits - u32::from(signed))) - 1) as f32))
}

fn pack(name: &str, x: &Value) -> Result<Value> {
    let lanes = x.lanes()?;
    let bits = if name.starts_with("pack2x16") { 16 } else { 8 };
    if lanes.len() != 32 / bits {
        return Err(No::Unknown);
    }
    let mut word = 0u32;
    for (i, s) in lanes.iter().enumerate() {
        let part = if let Some((signed, _, scale)) = normal(name) {
            let Scalar::F32(x) = s.convert(Kind::F32)? else { return Err(No::Unknown) };
            let x = clamped(x, if signed { -1.0 } else { 0.0 }, 1.0);
            ((x * scale + 0.5).floor() as i32).cast_unsigned()
        } else if name == "pack2x16float" {
            let Scalar::F32(x) = s.convert(Kind::F32)? else { return Err(No::Unknown) };
            let half = f16::from_f32(x);
            if !half.is_finite() {
                return wrong(format!("pack2x16float of {x:?} has no value: a 16-bit float holds at most 65504"));
            }
            half.to_bits().into()
        } else {
            integer_part(name, *s)?
        };
        word |= (part & (u32::MAX >> (32 - bits))) << (i * bits);
    }
    Ok(Value::Scalar(Scalar::U32(word)))
}

fn integer_part(name: &str, s: Scalar) -> Result<u32> {
    match name {
        "pack4xI8" => s.convert(Kind::I32)?.bits(),
        "pack4xI8Clamp" => {
            let Scalar::I32(n) = s.convert(Kind::I32)? else { return Err(No::Unknown) };
            Ok(n.clamp(-128, 127).cast_unsigned())
        }
        "pack4xU8" => s.convert(Kind::U32)?.bits(),
        "pack4xU8Clamp" => Ok(s.convert(Kind::U32)?.bits()?.min(255)),
        _ => Err(No::Unknown),
    }
}

fn unpack(name: &str, word: Scalar) -> Result<Value> {
    let word = word.convert(Kind::U32)?.bits()?;
    let bits = if name.starts_with("unpack2x16") { 16 } else { 8 };
    let signed = |i: u32| (word << (32 - bits - i * bits)).cast_signed() >> (32 - bits);
    let unsigned = |i: u32| (word << (32 - bits - i * bits)) >> (32 - bits);
    let part = |i: u32| {
        Ok(match (name, normal(name)) {
            (_, Some((true, _, scale))) => Scalar::F32((signed(i) as f32 / scale).max(-1.0)),
            (_, Some((false, _, scale))) => Scalar::F32(unsigned(i) as f32 / scale),
            ("unpack2x16float", _) => Scalar::F32(f16::from_bits(unsigned(i) as u16).to_f32()),
            ("unpack4xI8", _) => Scalar::I32(signed(i)),
            ("unpack4xU8", _) => Scalar::U32(unsigned(i)),
            _ => return Err(No::Unknown),
        })
    };
    Ok(Value::Vector((0..32 / bits).map(part).collect::<Result<_>>()?))
}

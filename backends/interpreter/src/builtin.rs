//! Builtin functions of whole vectors, matrices and structures, and the way to those of single numbers.

use naga::{BinaryOperator, MathFunction, RelationalFunction, ScalarKind};

use crate::math::{component, split};
use crate::operator::{binary, dot, scalar};
use crate::pack;
use crate::scalar::Scalar;
use crate::value::{Value, each};
use crate::{Result, invalid, unsupported};

pub(crate) fn relational(fun: RelationalFunction, argument: &Value) -> Result<Value> {
    let components = argument.components()?;
    Ok(match fun {
        RelationalFunction::All => Scalar::bool(components.iter().all(|s| s.is_true())).into(),
        RelationalFunction::Any => Scalar::bool(components.iter().any(|s| s.is_true())).into(),
        RelationalFunction::IsNan => each(std::slice::from_ref(argument), &|s| Ok(Scalar::bool(s[0].float().is_nan())))?,
        RelationalFunction::IsInf => each(std::slice::from_ref(argument), &|s| Ok(Scalar::bool(s[0].float().is_infinite())))?,
    })
}

pub(crate) fn math(fun: MathFunction, arguments: &[Value]) -> Result<Value> {
    use MathFunction as M;
    let a = |i: usize| arguments.get(i).map_or_else(|| invalid((fun, arguments.len())), Ok);
    match fun {
        M::Dot => dot(a(0)?, a(1)?).map(Value::Scalar),
        M::Cross => cross(a(0)?, a(1)?),
        M::Length => length(a(0)?).map(Value::Scalar),
        M::Distance => length(&binary(BinaryOperator::Subtract, a(0)?, a(1)?)?).map(Value::Scalar),
        M::Normalize => binary(BinaryOperator::Divide, a(0)?, &length(a(0)?)?.into()),
        M::FaceForward => face_forward(a(0)?, a(1)?, a(2)?),
        M::Reflect => reflect(a(0)?, a(1)?),
        M::Refract => refract(a(0)?, a(1)?, a(2)?.scalar()?),
        M::Transpose => transpose(a(0)?),
        M::Determinant => determinant(a(0)?),
        M::Modf => modf(a(0)?),
        M::Frexp => frexp(a(0)?),
        M::Pack4x8snorm
        | M::Pack4x8unorm
        | M::Pack2x16snorm
        | M::Pack2x16unorm
        | M::Pack2x16float
        | M::Pack4xI8
        | M::Pack4xU8
        | M::Pack4xI8Clamp
        | M::Pack4xU8Clamp
        | M::Unpack4x8snorm
        | M::Unpack4x8unorm
        | M::Unpack2x16snorm
        | M::Unpack2x16unorm
        | M::Unpack2x16float
        | M::Unpack4xI8
        | M::Unpack4xU8
        | M::Dot4I8Packed
        | M::Dot4U8Packed => pack::packed(fun, arguments),
        _ => each(arguments, &|s| component(fun, s)),
    }
}

fn times(a: Scalar, b: Scalar) -> Result<Scalar> {
    scalar(BinaryOperator::Multiply, a, b)
}

fn minus(a: Scalar, b: Scalar) -> Result<Scalar> {
    scalar(BinaryOperator::Subtract, a, b)
}

fn cross(a: &Value, b: &Value) -> Result<Value> {
    let (a, b) = (a.components()?, b.components()?);
    let component = |(i, j): (usize, usize)| minus(times(a[i], b[j])?, times(a[j], b[i])?).map(Value::Scalar);
    [(1, 2), (2, 0), (0, 1)].into_iter().map(component).collect::<Result<Vec<_>>>().map(|v| v.into_iter().collect())
}

/// The root of the sum of squares; of a scalar its size.
fn length(a: &Value) -> Result<Scalar> {
    match a {
        Value::Scalar(x) => component(MathFunction::Abs, &[*x]),
        _ => component(MathFunction::Sqrt, &[dot(a, a)?]),
    }
}

fn face_forward(n: &Value, i: &Value, reference: &Value) -> Result<Value> {
    if dot(reference, i)?.float() < 0.0 { Ok(n.clone()) } else { crate::operator::unary(naga::UnaryOperator::Negate, n) }
}

fn reflect(incident: &Value, normal: &Value) -> Result<Value> {
    let d = dot(normal, incident)?;
    let factor: Value = times(d.round(2.0), d)?.into();
    binary(BinaryOperator::Subtract, incident, &binary(BinaryOperator::Multiply, &factor, normal)?)
}

fn refract(incident: &Value, normal: &Value, ratio: Scalar) -> Result<Value> {
    let d = dot(normal, incident)?;
    let one = d.round(1.0);
    let k = minus(one, times(times(ratio, ratio)?, minus(one, times(d, d)?)?)?)?;
    if k.float() < 0.0 {
        return Ok(incident.zeroed());
    }
    let along = scalar(BinaryOperator::Add, times(ratio, d)?, component(MathFunction::Sqrt, &[k])?)?;
    let (kept, bent) =
        (binary(BinaryOperator::Multiply, &ratio.into(), incident)?, binary(BinaryOperator::Multiply, &along.into(), normal)?);
    binary(BinaryOperator::Subtract, &kept, &bent)
}

fn transpose(matrix: &Value) -> Result<Value> {
    let columns = matrix.list()?.iter().map(Value::components).collect::<Result<Vec<_>>>()?;
    Ok((0..columns[0].len()).map(|row| columns.iter().map(|c| c[row]).collect::<Value>()).collect())
}

/// By the first column, its cofactors with alternating signs added from the top.
fn determinant(matrix: &Value) -> Result<Value> {
    let columns = matrix.list()?.iter().map(Value::components).collect::<Result<Vec<_>>>()?;
    expand(&columns).map(Value::Scalar)
}

fn expand(columns: &[Vec<Scalar>]) -> Result<Scalar> {
    if let [a, b] = columns {
        return minus(times(a[0], b[1])?, times(b[0], a[1])?);
    }
    unsupported("determinants of larger matrices")
}

fn modf(value: &Value) -> Result<Value> {
    let one = std::slice::from_ref(value);
    let whole = each(one, &|s| component(MathFunction::Trunc, s))?;
    let fraction = each(one, &|s| minus(s[0], component(MathFunction::Trunc, s)?))?;
    Ok([fraction, whole].into_iter().collect())
}

fn frexp(value: &Value) -> Result<Value> {
    let one = std::slice::from_ref(value);
    let fraction = each(one, &|s| Ok(s[0].round(split(s[0].float()).0)))?;
    let exponent = each(one, &|s| {
        // The front end gives the exponent the width of the float, which for 16 bits holds all of them too.
        let exponent = Scalar { kind: ScalarKind::Sint, width: s[0].width, bits: 0 };
        Ok(exponent.wrap(split(s[0].float()).1.into()))
    })?;
    Ok([fraction, exponent].into_iter().collect())
}

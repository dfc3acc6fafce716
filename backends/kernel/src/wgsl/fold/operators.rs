//! Operators on constant values, as the front end folds them: integers wrap, and what has no value is left to it to refuse.

use crate::math::round_to_f16;

use super::value::{Kind, No, Result, Scalar, Value, common};

/// Operators that a token or two stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    pub(super) fn strength(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::BitOr => 3,
            Self::BitXor => 4,
            Self::BitAnd => 5,
            Self::Equal | Self::NotEqual | Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 6,
            Self::ShiftLeft | Self::ShiftRight => 7,
            Self::Add | Self::Subtract => 8,
            Self::Multiply | Self::Divide | Self::Remainder => 9,
        }
    }
}

pub(super) fn unary(operator: &str, value: &Value) -> Result<Value> {
    let one = |s: &Scalar| {
        Ok(match (operator, *s) {
            ("-", Scalar::AbstractInt(n)) => Scalar::AbstractInt(n.checked_neg().ok_or(No::Unknown)?),
            ("-", Scalar::AbstractFloat(x)) => Scalar::AbstractFloat(-x),
            ("-", Scalar::I32(n)) => Scalar::I32(n.wrapping_neg()),
            ("-", Scalar::F64(x)) => Scalar::F64(-x),
            ("-", Scalar::I64(n)) => Scalar::I64(n.wrapping_neg()),
            ("-", Scalar::F16(x)) => Scalar::F16(-x),
            ("-", Scalar::F32(x)) => Scalar::F32(-x),
            ("!", Scalar::Bool(b)) => Scalar::Bool(!b),
            ("~", Scalar::AbstractInt(n)) => Scalar::AbstractInt(!n),
            ("~", Scalar::I32(n)) => Scalar::I32(!n),
            ("~", Scalar::U32(n)) => Scalar::U32(!n),
            _ => return Err(No::Unknown),
        })
    };
    if let (Value::Matrix(columns), "-") = (value, operator) {
        return Ok(Value::Matrix(columns.iter().map(|c| c.iter().map(one).collect()).collect::<Result<_>>()?));
    }
    Ok(Value::of(value.lanes()?.iter().map(one).collect::<Result<_>>()?))
}

pub(super) fn binary(operator: Operator, left: &Value, right: &Value) -> Result<Value> {
    if matches!(left, Value::Matrix(_)) || matches!(right, Value::Matrix(_)) {
        return matrix(operator, left, right);
    }
    let (x, y) = (left.lanes()?, right.lanes()?);
    let count = x.len().max(y.len());
    let fits = |n: usize| n == count || (n == 1 && arithmetic(operator));
    if !fits(x.len()) || !fits(y.len()) {
        return Err(No::Unknown);
    }
    let shift = matches!(operator, Operator::ShiftLeft | Operator::ShiftRight);
    let kind = if shift { None } else { Some(common(x.iter().chain(y).map(|s| s.kind()))?) };
    let at = |lanes: &[Scalar], i: usize| lanes.get(if lanes.len() == 1 { 0 } else { i }).copied().ok_or(No::Unknown);
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let (x, y) = (at(x, i)?, at(y, i)?);
        out.push(match kind {
            None => shifted(operator, x, y.convert(Kind::U32)?)?,
            Some(kind) => scalars(operator, x.convert(kind)?, y.convert(kind)?)?,
        });
    }
    Ok(Value::of(out))
}

/// The operators that take a vector and a scalar.
fn arithmetic(operator: Operator) -> bool {
    matches!(operator, Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder)
}

/// Two scalars of one kind.
pub(super) fn scalars(operator: Operator, x: Scalar, y: Scalar) -> Result<Scalar> {
    if let Some(truth) = compare(operator, x, y) {
        return Ok(Scalar::Bool(truth));
    }
    match (x, y) {
        (Scalar::Bool(x), Scalar::Bool(y)) => Ok(Scalar::Bool(match operator {
            Operator::Or | Operator::BitOr => x || y,
            Operator::And | Operator::BitAnd => x && y,
            _ => return Err(No::Unknown),
        })),
        (Scalar::AbstractInt(x), Scalar::AbstractInt(y)) => {
            abstract_int(operator, x, y).map(Scalar::AbstractInt).ok_or(No::Unknown)
        }
        (Scalar::I32(x), Scalar::I32(y)) => signed(operator, x, y).map(Scalar::I32).ok_or(No::Unknown),
        (Scalar::U32(x), Scalar::U32(y)) => unsigned(operator, x, y).map(Scalar::U32).ok_or(No::Unknown),
        (Scalar::F16(x), Scalar::F16(y)) => {
            let z = round_to_f16(single(operator, x, y)?);
            if z.is_finite() { Ok(Scalar::F16(z)) } else { Err(No::infinite()) }
        }
        (Scalar::F32(x), Scalar::F32(y)) => {
            let z = single(operator, x, y)?;
            if z.is_finite() { Ok(Scalar::F32(z)) } else { Err(No::infinite()) }
        }
        (Scalar::AbstractFloat(x), Scalar::AbstractFloat(y)) => {
            let z = match operator {
                Operator::Add => x + y,
                Operator::Subtract => x - y,
                Operator::Multiply => x * y,
                Operator::Divide => x / y,
                Operator::Remainder => x % y,
                _ => return Err(No::Unknown),
            };
            if z.is_finite() { Ok(Scalar::AbstractFloat(z)) } else { Err(No::infinite()) }
        }
        _ => Err(No::Unknown),
    }
}

fn single(operator: Operator, x: f32, y: f32) -> Result<f32> {
    Ok(match operator {
        Operator::Add => x + y,
        Operator::Subtract => x - y,
        Operator::Multiply => x * y,
        Operator::Divide => x / y,
        Operator::Remainder => x % y,
        _ => return Err(No::Unknown),
    })
}

fn compare(operator: Operator, x: Scalar, y: Scalar) -> Option<bool> {
    let order = match (x, y) {
        (Scalar::AbstractInt(x), Scalar::AbstractInt(y)) => x.partial_cmp(&y),
        (Scalar::I32(x), Scalar::I32(y)) => x.partial_cmp(&y),
        (Scalar::U32(x), Scalar::U32(y)) => x.partial_cmp(&y),
        (Scalar::F16(x), Scalar::F16(y)) | (Scalar::F32(x), Scalar::F32(y)) => x.partial_cmp(&y),
        (Scalar::AbstractFloat(x), Scalar::AbstractFloat(y)) => x.partial_cmp(&y),
        (Scalar::Bool(x), Scalar::Bool(y)) if matches!(operator, Operator::Equal | Operator::NotEqual) => x.partial_cmp(&y),
        _ => return None,
    }?;
    Some(match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
        _ => return None,
    })
}

fn abstract_int(operator: Operator, x: i64, y: i64) -> Option<i64> {
    match operator {
        Operator::Add => x.checked_add(y),
        Operator::Subtract => x.checked_sub(y),
        Operator::Multiply => x.checked_mul(y),
        Operator::Divide => x.checked_div(y),
        Operator::Remainder => x.checked_rem(y),
        Operator::BitAnd => Some(x & y),
        Operator::BitOr => Some(x | y),
        Operator::BitXor => Some(x ^ y),
        _ => None,
    }
}

fn signed(operator: Operator, x: i32, y: i32) -> Option<i32> {
    match operator {
        Operator::Add => Some(x.wrapping_add(y)),
        Operator::Subtract => Some(x.wrapping_sub(y)),
        Operator::Multiply => Some(x.wrapping_mul(y)),
        Operator::Divide => x.checked_div(y),
        Operator::Remainder => x.checked_rem(y),
        Operator::BitAnd => Some(x & y),
        Operator::BitOr => Some(x | y),
        Operator::BitXor => Some(x ^ y),
        _ => None,
    }
}

fn unsigned(operator: Operator, x: u32, y: u32) -> Option<u32> {
    match operator {
        Operator::Add => Some(x.wrapping_add(y)),
        Operator::Subtract => Some(x.wrapping_sub(y)),
        Operator::Multiply => Some(x.wrapping_mul(y)),
        Operator::Divide => x.checked_div(y),
        Operator::Remainder => x.checked_rem(y),
        Operator::BitAnd => Some(x & y),
        Operator::BitOr => Some(x | y),
        Operator::BitXor => Some(x ^ y),
        _ => None,
    }
}

/// Bits that are shifted out and count make it an error, which is the front end's to find.
fn shifted(operator: Operator, x: Scalar, by: Scalar) -> Result<Scalar> {
    let Scalar::U32(by) = by else { return Err(No::Unknown) };
    let left = operator == Operator::ShiftLeft;
    let found = match x {
        Scalar::AbstractInt(n) if left => n.checked_shl(by).filter(|m| by < 64 && m >> by == n).map(Scalar::AbstractInt),
        Scalar::AbstractInt(n) => n.checked_shr(by).map(Scalar::AbstractInt),
        Scalar::I32(n) if left => n.checked_shl(by).filter(|m| m >> by == n).map(Scalar::I32),
        Scalar::I32(n) => n.checked_shr(by).map(Scalar::I32),
        Scalar::U32(n) if left => n.checked_shl(by).filter(|m| m >> by == n).map(Scalar::U32),
        Scalar::U32(n) => n.checked_shr(by).map(Scalar::U32),
        _ => None,
    };
    found.ok_or(No::Unknown)
}

fn matrix(operator: Operator, left: &Value, right: &Value) -> Result<Value> {
    let kind = common(left.scalars().iter().chain(&right.scalars()).map(|s| s.kind()))?;
    // There are no matrices of integers: abstract ones become floats.
    let kind = if kind == Kind::AbstractInt { Kind::AbstractFloat } else { kind };
    let (left, right) = (left.to_kind(kind)?, right.to_kind(kind)?);
    let column = |m: &[Vec<Scalar>], v: &[Scalar]| -> Result<Vec<Scalar>> {
        let rows = m.first().map_or(0, Vec::len);
        (0..rows).map(|r| dot(&m.iter().filter_map(|c| c.get(r).copied()).collect::<Vec<_>>(), v)).collect()
    };
    match (&left, &right, operator) {
        (Value::Matrix(x), Value::Matrix(y), Operator::Add | Operator::Subtract) if x.len() == y.len() => {
            let columns = x.iter().zip(y).map(|(x, y)| {
                if x.len() == y.len() {
                    x.iter().zip(y).map(|(x, y)| scalars(operator, *x, *y)).collect()
                } else {
                    Err(No::Unknown)
                }
            });
            Ok(Value::Matrix(columns.collect::<Result<_>>()?))
        }
        (Value::Matrix(x), Value::Matrix(y), Operator::Multiply) if y.iter().all(|c| c.len() == x.len()) => {
            Ok(Value::Matrix(y.iter().map(|v| column(x, v)).collect::<Result<_>>()?))
        }
        (Value::Matrix(x), Value::Vector(v), Operator::Multiply) if v.len() == x.len() => Ok(Value::Vector(column(x, v)?)),
        (Value::Vector(v), Value::Matrix(y), Operator::Multiply) if y.iter().all(|c| c.len() == v.len()) => {
            Ok(Value::Vector(y.iter().map(|c| dot(v, c)).collect::<Result<_>>()?))
        }
        (Value::Matrix(m), Value::Scalar(s), Operator::Multiply) | (Value::Scalar(s), Value::Matrix(m), Operator::Multiply) => {
            let scaled = |c: &Vec<Scalar>| c.iter().map(|x| scalars(operator, *x, *s)).collect();
            Ok(Value::Matrix(m.iter().map(scaled).collect::<Result<_>>()?))
        }
        _ => Err(No::Unknown),
    }
}

/// The sum of products, from the first on.
pub(super) fn dot(x: &[Scalar], y: &[Scalar]) -> Result<Scalar> {
    if x.len() != y.len() {
        return Err(No::Unknown);
    }
    let mut sum = None;
    for (x, y) in x.iter().zip(y) {
        let product = scalars(Operator::Multiply, *x, *y)?;
        sum = Some(match sum {
            None => product,
            Some(sum) => scalars(Operator::Add, sum, product)?,
        });
    }
    sum.ok_or(No::Unknown)
}

//! Unary and binary operators.

use naga::{BinaryOperator, ScalarKind, UnaryOperator};

use crate::scalar::Scalar;
use crate::value::{Value, each};
use crate::{Result, invalid};

pub(crate) fn unary(op: UnaryOperator, value: &Value) -> Result<Value> {
    each(std::slice::from_ref(value), &|a| {
        let a = a[0];
        match (op, a.kind) {
            (UnaryOperator::Negate, ScalarKind::Float) => Ok(Scalar { bits: a.bits ^ 1 << (a.size() - 1), ..a }),
            (UnaryOperator::Negate, ScalarKind::Sint) => Ok(a.wrap(-a.int())),
            (UnaryOperator::LogicalNot, ScalarKind::Bool) => Ok(Scalar::bool(!a.is_true())),
            (UnaryOperator::BitwiseNot, ScalarKind::Sint | ScalarKind::Uint) => Ok(a.wrap(!a.int())),
            other => invalid(other),
        }
    })
}

pub(crate) fn binary(op: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    if op == BinaryOperator::Multiply && (left.is_matrix() || right.is_matrix()) {
        return product(left, right);
    }
    each(&[left.clone(), right.clone()], &|s| scalar(op, s[0], s[1]))
}

pub(crate) fn scalar(op: BinaryOperator, a: Scalar, b: Scalar) -> Result<Scalar> {
    use BinaryOperator as B;
    match op {
        B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual => compare(op, a, b).map(Scalar::bool),
        B::ShiftLeft | B::ShiftRight => Ok(shift(op, a, b)),
        _ if a.kind != b.kind || a.width != b.width => invalid((op, a, b)),
        _ if a.is_float() => float(op, a, b),
        _ => integer(op, a, b),
    }
}

fn compare(op: BinaryOperator, a: Scalar, b: Scalar) -> Result<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = if a.is_float() { a.float().partial_cmp(&b.float()) } else { Some(a.int().cmp(&b.int())) };
    Ok(match op {
        BinaryOperator::Equal => order == Some(Equal),
        BinaryOperator::NotEqual => order != Some(Equal),
        BinaryOperator::Less => order == Some(Less),
        BinaryOperator::LessEqual => matches!(order, Some(Less | Equal)),
        BinaryOperator::Greater => order == Some(Greater),
        BinaryOperator::GreaterEqual => matches!(order, Some(Greater | Equal)),
        other => return invalid(other),
    })
}

/// By the count modulo the width; to the right with the sign where there is one.
fn shift(op: BinaryOperator, a: Scalar, b: Scalar) -> Scalar {
    let count = (b.bits % u64::from(a.size())) as u32;
    a.wrap(if op == BinaryOperator::ShiftLeft { a.int() << count } else { a.int() >> count })
}

/// In binary64, which holds enough bits that rounding again to 32 or 16 bits gives the correctly rounded result.
fn float(op: BinaryOperator, a: Scalar, b: Scalar) -> Result<Scalar> {
    let (x, y) = (a.float(), b.float());
    Ok(a.round(match op {
        BinaryOperator::Add => x + y,
        BinaryOperator::Subtract => x - y,
        BinaryOperator::Multiply => x * y,
        BinaryOperator::Divide => x / y,
        BinaryOperator::Modulo => x % y,
        other => return invalid((other, a, b)),
    }))
}

fn integer(op: BinaryOperator, a: Scalar, b: Scalar) -> Result<Scalar> {
    let (x, y) = (a.int(), b.int());
    Ok(a.wrap(match op {
        BinaryOperator::Add => x + y,
        BinaryOperator::Subtract => x - y,
        // Two of 64 bits without a sign may not fit; the lowest bits are right all the same.
        BinaryOperator::Multiply => x.wrapping_mul(y),
        BinaryOperator::Divide if y == 0 => x,
        BinaryOperator::Divide => x / y,
        BinaryOperator::Modulo if y == 0 => 0,
        BinaryOperator::Modulo => x % y,
        BinaryOperator::And | BinaryOperator::LogicalAnd => x & y,
        BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => x | y,
        BinaryOperator::ExclusiveOr => x ^ y,
        other => return invalid((other, a, b)),
    }))
}

/// Products with a matrix: each component is the dot product of a row and a column, from the first to the last.
fn product(left: &Value, right: &Value) -> Result<Value> {
    match (left.is_matrix(), right.is_matrix()) {
        (true, true) => right.list()?.iter().map(|column| times_vector(left, column)).collect::<Result<Vec<_>>>().map(list),
        (true, false) if matches!(right, Value::List(_)) => times_vector(left, right),
        (false, true) if matches!(left, Value::List(_)) => {
            right.list()?.iter().map(|column| dot(left, column).map(Value::Scalar)).collect::<Result<Vec<_>>>().map(list)
        }
        _ => each(&[left.clone(), right.clone()], &|s| scalar(BinaryOperator::Multiply, s[0], s[1])),
    }
}

fn list(values: Vec<Value>) -> Value {
    values.into_iter().collect()
}

fn times_vector(matrix: &Value, vector: &Value) -> Result<Value> {
    let columns = matrix.list()?;
    let rows = columns.first().map_or(Ok(0), |c| c.list().map(<[Value]>::len))?;
    let row =
        |r: usize| -> Result<Value> { columns.iter().map(|c| Ok(c.list()?[r].clone())).collect::<Result<Vec<_>>>().map(list) };
    (0..rows).map(|r| dot(&row(r)?, vector).map(Value::Scalar)).collect::<Result<Vec<_>>>().map(list)
}

/// The sum of products, from the first to the last.
pub(crate) fn dot(a: &Value, b: &Value) -> Result<Scalar> {
    let (a, b) = (a.components()?, b.components()?);
    let mut sum: Option<Scalar> = None;
    for (x, y) in a.into_iter().zip(b) {
        let term = scalar(BinaryOperator::Multiply, x, y)?;
        sum = Some(match sum {
            Some(sum) => scalar(BinaryOperator::Add, sum, term)?,
            None => term,
        });
    }
    sum.map_or_else(|| invalid("dot of nothing"), Ok)
}

//! Operators on scalar constants, as they are at run time, bit for bit.

use naga::{BinaryOperator, Literal, UnaryOperator};

use super::ast::{Binary, Unary};
use super::part::Part;
use super::types::Scalar;

/// An operator of the IR on two literals. `None` where there is no finite result, or none that a constant may have: the divisor is zero, or bits are
/// shifted by more than there are.
pub(crate) fn binary(operator: BinaryOperator, left: Literal, right: Literal) -> Option<Literal> {
    use BinaryOperator as Op;
    let operator = match operator {
        Op::Add => Binary::Add,
        Op::Subtract => Binary::Subtract,
        Op::Multiply => Binary::Multiply,
        Op::Divide => Binary::Divide,
        Op::Modulo => Binary::Modulo,
        Op::Equal => Binary::Equal,
        Op::NotEqual => Binary::NotEqual,
        Op::Less => Binary::Less,
        Op::LessEqual => Binary::LessEqual,
        Op::Greater => Binary::Greater,
        Op::GreaterEqual => Binary::GreaterEqual,
        Op::And => Binary::And,
        Op::ExclusiveOr => Binary::Xor,
        Op::InclusiveOr => Binary::Or,
        Op::LogicalAnd => Binary::LogicalAnd,
        Op::LogicalOr => Binary::LogicalOr,
        Op::ShiftLeft => Binary::ShiftLeft,
        Op::ShiftRight => Binary::ShiftRight,
    };
    if let (Literal::F64(a), Literal::F64(b), Binary::Modulo) = (left, right, operator) {
        return Some(a % b).filter(|made| made.is_finite()).map(Literal::F64);
    }
    let (left, right) = (Part::of(left)?, Part::of(right)?);
    let wrong = match operator {
        Binary::Divide | Binary::Modulo => right.whole() == Some(0),
        Binary::ShiftLeft | Binary::ShiftRight => right.whole()? >= i128::from(left.scalar().bytes()) * 8,
        _ => false,
    };
    if wrong { None } else { apply(operator, left, right).map(Part::literal) }
}

/// The same of one.
pub(crate) fn unary(operator: UnaryOperator, value: Literal) -> Option<Literal> {
    let operator = match operator {
        UnaryOperator::Negate => Unary::Minus,
        UnaryOperator::LogicalNot => Unary::Not,
        UnaryOperator::BitwiseNot => Unary::Complement,
    };
    negate(operator, Part::of(value)?).map(Part::literal)
}

/// A literal as another scalar, as conversions are at run time.
pub(crate) fn convert(value: Literal, to: naga::Scalar) -> Option<Literal> {
    Part::of(value)?.convert(Scalar::from_naga(to)?).map(Part::literal)
}

/// An operator with one operand.
pub(super) fn negate(operator: Unary, part: Part) -> Option<Part> {
    Some(match (operator, part) {
        (Unary::Plus, part) if part.scalar() != Scalar::Bool => part,
        (Unary::Not, Part::Bool(v)) => Part::Bool(!v),
        // The sign is a bit.
        (Unary::Minus, Part::Half(v)) => Part::Half(v ^ 0x8000),
        (Unary::Minus, Part::Float(v)) => Part::Float(v ^ 0x8000_0000),
        (Unary::Minus, Part::Double(v)) => Part::Double(v ^ 1 << 63),
        (Unary::Minus, part) => Part::wrapped(-part.whole()?, part.scalar())?,
        (Unary::Complement, part) => Part::wrapped(!part.whole()?, part.scalar())?,
        _ => return None,
    })
}

/// An operator with two.
pub(super) fn apply(operator: Binary, left: Part, right: Part) -> Option<Part> {
    if matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
        return shift(operator, left, right);
    }
    match (left, right) {
        (Part::Half(a), Part::Half(b)) => {
            // An f32 has more than twice the bits: rounding twice is as good as once.
            let (a, b) = (half::f16::from_bits(a).to_f32(), half::f16::from_bits(b).to_f32());
            match floats(operator, a, b)? {
                Part::Float(bits) => Part::Float(bits).convert(Scalar::Half),
                other => Some(other),
            }
        }
        (Part::Float(a), Part::Float(b)) => floats(operator, f32::from_bits(a), f32::from_bits(b)),
        (Part::Double(a), Part::Double(b)) => doubles(operator, f64::from_bits(a), f64::from_bits(b)),
        (Part::Bool(a), Part::Bool(b)) => Some(Part::Bool(match operator {
            Binary::LogicalAnd => a && b,
            Binary::LogicalOr => a || b,
            Binary::LogicalXor | Binary::NotEqual => a != b,
            Binary::Equal => a == b,
            _ => return None,
        })),
        _ if left.scalar() == right.scalar() => integers(operator, left.whole()?, right.whole()?, left.scalar()),
        _ => None,
    }
}

fn shift(operator: Binary, left: Part, right: Part) -> Option<Part> {
    let value = left.whole()?;
    let width = i128::from(left.scalar().bytes()) * 8;
    let by = right.whole()?.rem_euclid(width);
    let made = if operator == Binary::ShiftLeft { value << by } else { value >> by };
    Part::wrapped(made, left.scalar())
}

fn order<T: PartialOrd>(operator: Binary, a: &T, b: &T) -> Option<Part> {
    Some(Part::Bool(match operator {
        Binary::Equal => a == b,
        Binary::NotEqual => a != b,
        Binary::Less => a < b,
        Binary::LessEqual => a <= b,
        Binary::Greater => a > b,
        Binary::GreaterEqual => a >= b,
        _ => return None,
    }))
}

/// Of numbers that are exact here, and wrap only at the end. That also makes the least number divided by -1 itself.
fn integers(operator: Binary, a: i128, b: i128, scalar: Scalar) -> Option<Part> {
    let made = match operator {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide if b == 0 => a,
        Binary::Divide => a / b,
        Binary::Modulo if b == 0 => 0,
        Binary::Modulo => a % b,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        _ => return order(operator, &a, &b),
    };
    Part::wrapped(made, scalar)
}

/// A constant that is no number is left to the device: the IR holds finite literals only.
fn floats(operator: Binary, a: f32, b: f32) -> Option<Part> {
    let made = match operator {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        _ => return order(operator, &a, &b),
    };
    made.is_finite().then(|| Part::Float(made.to_bits()))
}

fn doubles(operator: Binary, a: f64, b: f64) -> Option<Part> {
    let made = match operator {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        _ => return order(operator, &a, &b),
    };
    made.is_finite().then(|| Part::Double(made.to_bits()))
}

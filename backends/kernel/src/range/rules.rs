//! What operators do to upper bounds: one set of rules for the IR and for what a device has made of it.

use naga::{BinaryOperator, BuiltIn, Expression, Handle, Literal, MathFunction, Module, Scalar, ScalarKind};

/// Operators that a bound is followed through.
const DEPTH: u32 = 8;
/// Below this a number has no sign, however it is read.
pub(super) const SIGNLESS: u64 = 1 << 31;

/// Code that computes indices.
pub trait Code {
    /// An expression of it.
    type At: Copy;
    /// The module of its expressions.
    fn module(&self) -> &Module;
    /// The expression that an operand is, wherever it was handed from.
    fn origin(&self, at: Self::At) -> Self::At;
    /// The expression itself.
    fn expression(&self, at: Self::At) -> &Expression;
    /// An operand of an expression.
    fn operand(&self, of: Self::At, operand: Handle<Expression>) -> Self::At;
    /// The type of an expression that is a number.
    fn scalar(&self, at: Self::At) -> Option<Scalar>;
    /// The built-in input that an expression is.
    fn built_in(&self, at: Self::At) -> Option<BuiltIn>;
    /// A bound that follows from where an expression stands: of a loop's counter, or from what all callers give.
    fn known(&self, at: Self::At) -> Option<u64>;
    /// Invocations of a workgroup on each axis.
    fn workgroup_size(&self) -> [u32; 3];
}

/// The exclusive upper bound of an index, read as a number without a sign.
pub fn bound<C: Code>(code: &C, index: C::At) -> Option<u64> {
    follow(code, index, DEPTH)
}

/// Whether an expression is a `u32`.
pub fn is_unsigned<C: Code>(code: &C, at: C::At) -> bool {
    code.scalar(at) == Some(Scalar::U32)
}

/// A constant that is an integer and not negative.
pub fn number<C: Code>(code: &C, at: C::At) -> Option<u64> {
    let at = code.origin(at);
    let literal = match *code.expression(at) {
        Expression::Literal(literal) => literal,
        Expression::ZeroValue(_) => return matches!(code.scalar(at)?.kind, ScalarKind::Sint | ScalarKind::Uint).then_some(0),
        Expression::Constant(handle) => match code.module().global_expressions[code.module().constants[handle].init] {
            Expression::Literal(literal) => literal,
            _ => return None,
        },
        _ => return None,
    };
    match literal {
        Literal::U32(v) => Some(u64::from(v)),
        Literal::I32(v) => u64::try_from(v).ok(),
        _ => None,
    }
}

/// Only numbers of 32 bits have bounds: what is known here of wrapping and signs is known of them.
fn follow<C: Code>(code: &C, index: C::At, depth: u32) -> Option<u64> {
    let depth = depth.checked_sub(1)?;
    if !matches!(code.scalar(index), Some(Scalar::U32 | Scalar::I32)) {
        return None;
    }
    if let Some(bound) = code.known(index) {
        return Some(bound);
    }
    let at = code.origin(index);
    let operand = |expression| code.operand(at, expression);
    match *code.expression(at) {
        Expression::Binary { op, left, right } => binary(code, op, operand(left), operand(right), depth),
        Expression::AccessIndex { base, index } => match (code.built_in(at), code.built_in(operand(base))) {
            (Some(BuiltIn::LocalInvocationIndex), _) => Some(invocations(code)),
            (_, Some(BuiltIn::LocalInvocationId)) => code.workgroup_size().get(index as usize).map(|n| u64::from(*n)),
            _ => None,
        },
        Expression::FunctionArgument(_) => match code.built_in(at)? {
            BuiltIn::LocalInvocationIndex => Some(invocations(code)),
            _ => None,
        },
        // Reinterpretation, and conversion between integers of one size, change nothing.
        Expression::As { expr, kind: ScalarKind::Sint | ScalarKind::Uint, .. } => follow(code, operand(expr), depth),
        Expression::Select { accept, reject, .. } => {
            Some(follow(code, operand(accept), depth)?.max(follow(code, operand(reject), depth)?))
        }
        Expression::Math { fun, arg, arg1, arg2, .. } => {
            let bound = |argument: Option<Handle<Expression>>| follow(code, operand(argument?), depth);
            math(fun, is_unsigned(code, at), [&|| bound(Some(arg)), &|| bound(arg1), &|| bound(arg2)])
        }
        _ => number(code, at)?.checked_add(1),
    }
}

fn invocations<C: Code>(code: &C) -> u64 {
    code.workgroup_size().iter().map(|n| u64::from(*n)).product()
}

fn math(fun: MathFunction, unsigned: bool, bounds: [&dyn Fn() -> Option<u64>; 3]) -> Option<u64> {
    let [first, second, third] = bounds;
    match fun {
        MathFunction::Min if unsigned => [first(), second()].into_iter().flatten().min(),
        MathFunction::Max if unsigned => first().zip(second()).map(|(a, b)| a.max(b)),
        // The larger of a number and one without a sign has none either.
        MathFunction::Clamp => {
            let (low, high) = (second()?, third()?);
            (low <= SIGNLESS && high <= SIGNLESS).then_some(low.max(high))
        }
        _ => None,
    }
}

fn binary<C: Code>(code: &C, op: BinaryOperator, left: C::At, right: C::At, depth: u32) -> Option<u64> {
    let (a, b) = (follow(code, left, depth), follow(code, right, depth));
    let most = |bound: u64| (bound <= SIGNLESS).then_some(bound);
    match op {
        // What is masked with a number that has no sign has none.
        BinaryOperator::And => a.and_then(most).into_iter().chain(b.and_then(most)).min(),
        BinaryOperator::Add => most((a?.checked_sub(1)?).checked_add(b?.checked_sub(1)?)? + 1),
        BinaryOperator::Multiply => most((a?.checked_sub(1)?).checked_mul(b?.checked_sub(1)?)? + 1),
        BinaryOperator::Modulo => {
            let divisor = number(code, right).filter(|d| *d > 0)?;
            let fits = is_unsigned(code, left) || a.and_then(most).is_some();
            fits.then(|| a.map_or(divisor, |a| a.min(divisor)))
        }
        BinaryOperator::Divide => {
            let divisor = number(code, right).filter(|d| *d > 0)?;
            Some(dividend(code, left, a)?.checked_sub(1)? / divisor + 1)
        }
        BinaryOperator::ShiftRight => {
            let count = number(code, right).filter(|c| *c < 32)?;
            Some((dividend(code, left, a)?.checked_sub(1)? >> count) + 1)
        }
        _ => None,
    }
}

/// The bound of something that is divided or shifted down: known, or that of its type; never negative.
fn dividend<C: Code>(code: &C, at: C::At, bound: Option<u64>) -> Option<u64> {
    if is_unsigned(code, at) {
        return Some(bound.unwrap_or(1 << 32));
    }
    bound.filter(|b| *b <= SIGNLESS)
}

//! Operators and selection, on the scalars of a value.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value};
use naga::{BinaryOperator, RelationalFunction, UnaryOperator};

use super::emitter::Emitter;
use super::layout::{Scalar, Shape};
use super::program::ValueRef;
use super::shims;
use super::stop::{Result, Stop};
use super::value::{Parts, Val};

impl Emitter<'_> {
    /// Applies `f` to each pair; a single scalar stands for a whole vector.
    pub(super) fn zip(&mut self, a: &[Value], b: &[Value], mut f: impl FnMut(&mut Self, Value, Value) -> Value) -> Result<Parts> {
        let count = a.len().max(b.len());
        let mut out = Parts::new();
        for i in 0..count {
            let pick = |parts: &[Value]| parts.get(if parts.len() == 1 { 0 } else { i }).copied();
            let (Some(x), Some(y)) = (pick(a), pick(b)) else { return Err(Stop::bug("operands of different sizes")) };
            out.push(f(self, x, y));
        }
        Ok(out)
    }

    pub(super) fn map(&mut self, a: &[Value], mut f: impl FnMut(&mut Self, Value) -> Value) -> Parts {
        a.iter().map(|x| f(self, *x)).collect()
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: ValueRef) -> Result<Val> {
        let scalar = self.shape_of(operand)?.scalar()?;
        let parts = self.value(operand)?.parts()?;
        Ok(Val::Parts(self.map(&parts, |e, x| match (op, scalar) {
            (UnaryOperator::Negate, scalar) if scalar.is_float() => e.b.ins().fneg(x),
            (UnaryOperator::Negate, _) => e.b.ins().ineg(x),
            (UnaryOperator::LogicalNot, _) => e.b.ins().bxor_imm_u(x, 1),
            (UnaryOperator::BitwiseNot, _) => e.b.ins().bnot(x),
        })))
    }

    pub(super) fn binary(&mut self, op: BinaryOperator, left: ValueRef, right: ValueRef) -> Result<Val> {
        let (a, b) = (self.value(left)?.parts()?, self.value(right)?.parts()?);
        let (left, right) = (self.shape_of(left)?, self.shape_of(right)?);
        if op == BinaryOperator::Multiply
            && let Some(product) = self.matrix_product(&a, left, &b, right)?
        {
            return Ok(Val::Parts(product));
        }
        let scalar = left.scalar()?;
        let mut failed = None;
        let parts = self.zip(&a, &b, |e, x, y| {
            let result = match scalar {
                Scalar::F16 | Scalar::F32 | Scalar::F64 => e.float_binary(op, scalar, x, y),
                Scalar::Bool => e.bool_binary(op, x, y),
                _ => e.int_binary(op, scalar, x, y),
            };
            result.unwrap_or_else(|stop| {
                failed = Some(stop);
                x
            })
        })?;
        failed.map_or(Ok(Val::Parts(parts)), Err)
    }

    fn float_binary(&mut self, op: BinaryOperator, scalar: Scalar, x: Value, y: Value) -> Result<Value> {
        let compare = match op {
            BinaryOperator::Equal => FloatCC::Equal,
            BinaryOperator::NotEqual => FloatCC::NotEqual,
            BinaryOperator::Less => FloatCC::LessThan,
            BinaryOperator::LessEqual => FloatCC::LessThanOrEqual,
            BinaryOperator::Greater => FloatCC::GreaterThan,
            BinaryOperator::GreaterEqual => FloatCC::GreaterThanOrEqual,
            BinaryOperator::Add => return Ok(self.add(scalar, x, y)),
            BinaryOperator::Subtract => return Ok(self.subtract(scalar, x, y)),
            BinaryOperator::Multiply => return Ok(self.multiply(scalar, x, y)),
            BinaryOperator::Divide => return Ok(self.divide(scalar, x, y)),
            // Exact, so of halves a half.
            BinaryOperator::Modulo => return self.call_float(scalar, shims::remainder(scalar), &[x, y]),
            _ => return Err(Stop::bug("a bit operation on floats")),
        };
        Ok(self.b.ins().fcmp(compare, x, y))
    }

    fn int_binary(&mut self, op: BinaryOperator, scalar: Scalar, x: Value, y: Value) -> Result<Value> {
        let signed = scalar.is_signed();
        let pick = |s, u| if signed { s } else { u };
        let compare = match op {
            BinaryOperator::Equal => IntCC::Equal,
            BinaryOperator::NotEqual => IntCC::NotEqual,
            BinaryOperator::Less => pick(IntCC::SignedLessThan, IntCC::UnsignedLessThan),
            BinaryOperator::LessEqual => pick(IntCC::SignedLessThanOrEqual, IntCC::UnsignedLessThanOrEqual),
            BinaryOperator::Greater => pick(IntCC::SignedGreaterThan, IntCC::UnsignedGreaterThan),
            BinaryOperator::GreaterEqual => pick(IntCC::SignedGreaterThanOrEqual, IntCC::UnsignedGreaterThanOrEqual),
            _ => return self.int_arithmetic(op, scalar, x, y),
        };
        Ok(self.b.ins().icmp(compare, x, y))
    }

    fn int_arithmetic(&mut self, op: BinaryOperator, scalar: Scalar, x: Value, y: Value) -> Result<Value> {
        let signed = scalar.is_signed();
        Ok(match op {
            BinaryOperator::Add => self.b.ins().iadd(x, y),
            BinaryOperator::Subtract => self.b.ins().isub(x, y),
            BinaryOperator::Multiply => self.b.ins().imul(x, y),
            BinaryOperator::Divide | BinaryOperator::Modulo => {
                let y = self.safe_divisor(scalar, x, y);
                match (op, signed) {
                    (BinaryOperator::Divide, true) => self.b.ins().sdiv(x, y),
                    (BinaryOperator::Divide, false) => self.b.ins().udiv(x, y),
                    (_, true) => self.b.ins().srem(x, y),
                    (_, false) => self.b.ins().urem(x, y),
                }
            }
            BinaryOperator::And => self.b.ins().band(x, y),
            BinaryOperator::ExclusiveOr => self.b.ins().bxor(x, y),
            BinaryOperator::InclusiveOr => self.b.ins().bor(x, y),
            // The instructions take the count modulo the width of the type, as the language does (KT-02).
            BinaryOperator::ShiftLeft => self.b.ins().ishl(x, y),
            BinaryOperator::ShiftRight if signed => self.b.ins().sshr(x, y),
            BinaryOperator::ShiftRight => self.b.ins().ushr(x, y),
            _ => return Err(Stop::bug("a logical operation on integers")),
        })
    }

    /// By zero, and the least number by -1: dividing by one gives what the language wants of both (KT-01).
    fn safe_divisor(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        let zero = self.integer(scalar, 0);
        let mut bad = self.b.ins().icmp(IntCC::Equal, y, zero);
        if scalar.is_signed() {
            let (least, minus_one) = (self.integer(scalar, i64::MIN >> (64 - scalar.bits())), self.integer(scalar, -1));
            let least = self.b.ins().icmp(IntCC::Equal, x, least);
            let minus_one = self.b.ins().icmp(IntCC::Equal, y, minus_one);
            let overflow = self.b.ins().band(least, minus_one);
            bad = self.b.ins().bor(bad, overflow);
        }
        let one = self.integer(scalar, 1);
        self.b.ins().select(bad, one, y)
    }

    fn bool_binary(&mut self, op: BinaryOperator, x: Value, y: Value) -> Result<Value> {
        Ok(match op {
            BinaryOperator::Equal => self.b.ins().icmp(IntCC::Equal, x, y),
            BinaryOperator::NotEqual | BinaryOperator::ExclusiveOr => self.b.ins().bxor(x, y),
            // Both operands have been evaluated; the front end makes control flow where that matters.
            BinaryOperator::And | BinaryOperator::LogicalAnd => self.b.ins().band(x, y),
            BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => self.b.ins().bor(x, y),
            _ => return Err(Stop::bug("arithmetic on booleans")),
        })
    }

    /// Products with a matrix that are not by component.
    fn matrix_product(&mut self, a: &Parts, left: Shape, b: &Parts, right: Shape) -> Result<Option<Parts>> {
        let (columns, rows, inner) = match (left, right) {
            (Shape::Matrix { columns: inner, rows, .. }, Shape::Matrix { columns, .. }) => (columns, rows, inner),
            (Shape::Matrix { columns: inner, rows, .. }, Shape::Vector(..)) => (1, rows, inner),
            (Shape::Vector(inner, _), Shape::Matrix { columns, .. }) => (columns, 1, inner),
            _ => return Ok(None),
        };
        let scalar = left.scalar()?;
        let (rows, inner) = (rows as usize, inner as usize);
        let mut out = Parts::new();
        for column in 0..columns as usize {
            for row in 0..rows {
                let mut sum = None;
                for k in 0..inner {
                    let pair = a.get(k * rows + row).zip(b.get(column * inner + k));
                    let (x, y) = pair.ok_or_else(|| Stop::bug("matrices of different sizes"))?;
                    let product = self.multiply(scalar, *x, *y);
                    sum = Some(sum.map_or(product, |s| self.add(scalar, s, product)));
                }
                out.extend(sum);
            }
        }
        Ok(Some(out))
    }

    pub(super) fn select(&mut self, condition: ValueRef, accept: ValueRef, reject: ValueRef) -> Result<Val> {
        let conditions = self.value(condition)?.parts()?;
        let (accept, reject) = (self.value(accept)?.parts()?, self.value(reject)?.parts()?);
        let mut out = Parts::new();
        for (i, (x, y)) in accept.iter().zip(&reject).enumerate() {
            let condition = conditions.get(if conditions.len() == 1 { 0 } else { i });
            let condition = *condition.ok_or_else(|| Stop::bug("a selection of another size"))?;
            out.push(self.b.ins().select(condition, *x, *y));
        }
        Ok(Val::Parts(out))
    }

    pub(super) fn relational(&mut self, function: RelationalFunction, argument: ValueRef) -> Result<Val> {
        let scalar = self.shape_of(argument)?.scalar()?;
        let parts = self.value(argument)?.parts()?;
        let all = match function {
            RelationalFunction::All => true,
            RelationalFunction::Any => false,
            RelationalFunction::IsNan => {
                return Ok(Val::Parts(self.map(&parts, |e, x| e.b.ins().fcmp(FloatCC::Unordered, x, x))));
            }
            RelationalFunction::IsInf => {
                let infinity = self.number(scalar, f64::INFINITY);
                return Ok(Val::Parts(self.map(&parts, |e, x| {
                    let size = e.b.ins().fabs(x);
                    e.b.ins().fcmp(FloatCC::Equal, size, infinity)
                })));
            }
        };
        let combine = |e: &mut Self, x, y| if all { e.b.ins().band(x, y) } else { e.b.ins().bor(x, y) };
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or_else(|| Stop::bug("an empty vector"))?;
        Ok(Val::one(parts.fold(first, |sum, x| combine(self, sum, x))))
    }
}

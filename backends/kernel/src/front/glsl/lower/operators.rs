//! Operators on values: which types they take, and what they are made of where the IR has no such operator.

use naga::{BinaryOperator as Op, Expression, RelationalFunction, UnaryOperator};

use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::ast::{Binary, Unary};
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::{BOOL, Scalar, Ty};

/// Elements of arrays that `==` compares.
const MAX_COMPARED: u32 = 4096;

fn operator(operator: Binary) -> Op {
    match operator {
        Binary::Add => Op::Add,
        Binary::Subtract => Op::Subtract,
        Binary::Multiply => Op::Multiply,
        Binary::Divide => Op::Divide,
        Binary::Modulo => Op::Modulo,
        Binary::ShiftLeft => Op::ShiftLeft,
        Binary::ShiftRight => Op::ShiftRight,
        Binary::And => Op::And,
        Binary::Or => Op::InclusiveOr,
        Binary::Xor => Op::ExclusiveOr,
        Binary::Equal => Op::Equal,
        Binary::NotEqual | Binary::LogicalXor => Op::NotEqual,
        Binary::Less => Op::Less,
        Binary::LessEqual => Op::LessEqual,
        Binary::Greater => Op::Greater,
        Binary::GreaterEqual => Op::GreaterEqual,
        Binary::LogicalAnd => Op::LogicalAnd,
        Binary::LogicalOr => Op::LogicalOr,
    }
}

impl Lower<'_> {
    pub(super) fn unary(&mut self, operator: Unary, value: Value, at: At) -> Lowered<Value> {
        let wrong = Wrong::new(format!("this operator does not take `{}`", self.spell(&value.ty)), at);
        let Some(scalar) = value.ty.scalar() else { return Err(wrong) };
        match operator {
            Unary::Plus if scalar != Scalar::Bool => Ok(value),
            Unary::Minus if scalar != Scalar::Bool => Ok(self.negate(&value, scalar, at)),
            Unary::Not if value.ty == BOOL => Ok(self.not(&value, at)),
            Unary::Complement if value.ty.is_integer() => {
                let unary = Expression::Unary { op: UnaryOperator::BitwiseNot, expr: value.handle };
                Ok(self.value(unary, value.ty, at))
            }
            _ => Err(wrong),
        }
    }

    /// Of a bool, or of each component of a vector of them.
    pub(super) fn not(&mut self, value: &Value, at: At) -> Value {
        let unary = Expression::Unary { op: UnaryOperator::LogicalNot, expr: value.handle };
        self.value(unary, value.ty.clone(), at)
    }

    fn negate(&mut self, value: &Value, scalar: Scalar, at: At) -> Value {
        if let Ty::Matrix(..) = value.ty {
            let columns = self.columns(value, at);
            let columns = columns.iter().map(|c| self.negate(c, scalar, at)).collect();
            return self.matrix(columns, &value.ty, at);
        }
        if scalar.kind() == naga::ScalarKind::Uint {
            let zero = self.small(scalar, 0, at);
            let zero = self.splat(zero, value.ty.width().unwrap_or(1), at);
            return self.op(Op::Subtract, &zero, value, value.ty.clone(), at);
        }
        self.value(Expression::Unary { op: UnaryOperator::Negate, expr: value.handle }, value.ty.clone(), at)
    }

    fn columns(&mut self, matrix: &Value, at: At) -> Vec<Value> {
        let Ty::Matrix(scalar, c, r) = matrix.ty else { return Vec::new() };
        (0..u32::from(c)).map(|index| self.extract(matrix, index, Ty::Vector(scalar, r), at)).collect()
    }

    fn matrix(&mut self, columns: Vec<Value>, ty: &Ty, at: At) -> Value {
        let handle = self.value_type(ty);
        let components = columns.into_iter().map(|c| c.handle).collect();
        self.value(Expression::Compose { ty: handle, components }, ty.clone(), at)
    }

    pub(super) fn binary(&mut self, op: Binary, left: Value, right: Value, at: At) -> Lowered<Value> {
        match op {
            Binary::Equal | Binary::NotEqual => self.equality(op == Binary::Equal, left, right, at),
            Binary::LogicalXor => {
                let left = self.expect_bool(left, "the left side", at)?;
                let right = self.expect_bool(right, "the right side", at)?;
                Ok(self.op(Op::NotEqual, &left, &right, BOOL, at))
            }
            Binary::LogicalAnd | Binary::LogicalOr => {
                let left = self.expect_bool(left, "the left side", at)?;
                let right = self.expect_bool(right, "the right side", at)?;
                Ok(self.op(operator(op), &left, &right, BOOL, at))
            }
            Binary::ShiftLeft | Binary::ShiftRight => self.shift(operator(op), left, right, at),
            Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => {
                let (left, right) = self.unify(left, right, at)?;
                if !matches!(left.ty, Ty::Scalar(s) if s != Scalar::Bool) || left.ty != right.ty {
                    return Err(self.no_operator(&left, &right, at));
                }
                Ok(self.op(operator(op), &left, &right, BOOL, at))
            }
            Binary::And | Binary::Or | Binary::Xor | Binary::Modulo => {
                let (left, right) = self.unify(left, right, at)?;
                if !left.ty.is_integer() || left.ty != right.ty {
                    return Err(self.no_operator(&left, &right, at));
                }
                let right = self.unjudged(operator(op), right, at);
                let ty = left.ty.clone();
                Ok(self.op(operator(op), &left, &right, ty, at))
            }
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide => self.arithmetic(op, left, right, at),
        }
    }

    fn shift(&mut self, op: Op, left: Value, right: Value, at: At) -> Lowered<Value> {
        let (Some(a), Some(b)) = (left.ty.width(), right.ty.width()) else { return Err(self.no_operator(&left, &right, at)) };
        if !left.ty.is_integer() || !right.ty.is_integer() || (a != b && b != 1) {
            return Err(self.no_operator(&left, &right, at));
        }
        let by = self.cast(&right, Scalar::Uint, at);
        let by = self.splat(by, a, at);
        let by = self.unjudged(op, by, at);
        let ty = left.ty.clone();
        Ok(self.op(op, &left, &by, ty, at))
    }

    fn arithmetic(&mut self, op: Binary, left: Value, right: Value, at: At) -> Lowered<Value> {
        if left.ty.scalar() == Some(Scalar::Bool) || right.ty.scalar() == Some(Scalar::Bool) {
            return Err(self.no_operator(&left, &right, at));
        }
        if matches!(left.ty, Ty::Matrix(..)) || matches!(right.ty, Ty::Matrix(..)) {
            return self.matrix_arithmetic(op, left, right, at);
        }
        let (left, right) = self.unify(left, right, at)?;
        let right = self.unjudged(operator(op), right, at);
        let ty = left.ty.clone();
        Ok(self.op(operator(op), &left, &right, ty, at))
    }

    /// The right side of an operator, hidden behind a cast to its own type where it is a constant that the validator would refuse: what a division by zero or a shift by
    /// too much gives is decided here, for all languages, and specialization constants are often zero until they have values.
    fn unjudged(&mut self, op: Op, right: Value, at: At) -> Value {
        let Some(scalar) = right.ty.scalar().filter(|s| s.is_integer()) else { return right };
        let kind = scalar.kind();
        let judged = match op {
            Op::Divide | Op::Modulo => self.is_constant_where(right.handle, &|n| n == 0),
            Op::ShiftLeft | Op::ShiftRight => self.is_constant_where(right.handle, &|n| n >= 16),
            _ => false,
        };
        if !judged {
            return right;
        }
        let handle = self.add(Expression::As { expr: right.handle, kind, convert: None }, at);
        Value { handle, ty: right.ty }
    }

    /// Whether a component of a constant is a number of that kind, as bits.
    fn is_constant_where(&self, handle: naga::Handle<Expression>, wanted: &dyn Fn(u64) -> bool) -> bool {
        fn any(
            arena: &naga::Arena<Expression>,
            module: &naga::Module,
            handle: naga::Handle<Expression>,
            wanted: &dyn Fn(u64) -> bool,
        ) -> bool {
            match &arena[handle] {
                Expression::Literal(naga::Literal::I16(n)) => wanted(n.cast_unsigned().into()),
                Expression::Literal(naga::Literal::U16(n)) => wanted((*n).into()),
                Expression::Literal(naga::Literal::I32(n)) => wanted(n.cast_unsigned().into()),
                Expression::Literal(naga::Literal::U32(n)) => wanted((*n).into()),
                Expression::Literal(naga::Literal::I64(n)) => wanted(n.cast_unsigned()),
                Expression::Literal(naga::Literal::U64(n)) => wanted(*n),
                Expression::ZeroValue(_) => wanted(0),
                Expression::Splat { value: inner, .. } | Expression::As { expr: inner, convert: Some(_), .. } => {
                    any(arena, module, *inner, wanted)
                }
                Expression::Compose { components, .. } => components.iter().any(|c| any(arena, module, *c, wanted)),
                Expression::Constant(constant) => {
                    any(&module.global_expressions, module, module.constants[*constant].init, wanted)
                }
                _ => false,
            }
        }
        any(&self.func.function.expressions, &self.module, handle, wanted)
    }

    fn matrix_arithmetic(&mut self, op: Binary, left: Value, right: Value, at: At) -> Lowered<Value> {
        let common = left.ty.scalar().zip(right.ty.scalar()).and_then(|(a, b)| a.common(b)).filter(|s| s.is_float());
        let Some(scalar) = common else { return Err(self.no_operator(&left, &right, at)) };
        let (left, right) = (self.cast(&left, scalar, at), self.cast(&right, scalar, at));
        let vector = |n: u8| Ty::Vector(scalar, n);
        let product = match (&left.ty, &right.ty) {
            (Ty::Matrix(_, c, r), Ty::Matrix(_, d, s)) if c == s => Some(Ty::Matrix(scalar, *d, *r)),
            (Ty::Matrix(_, c, r), Ty::Vector(_, n)) if c == n => Some(vector(*r)),
            (Ty::Vector(_, n), Ty::Matrix(_, c, r)) if n == r => Some(vector(*c)),
            (Ty::Matrix(..), Ty::Scalar(_)) => Some(left.ty.clone()),
            (Ty::Scalar(_), Ty::Matrix(..)) => Some(right.ty.clone()),
            _ => None,
        };
        if op == Binary::Multiply {
            return match product {
                Some(ty) => Ok(self.op(Op::Multiply, &left, &right, ty, at)),
                None => Err(self.no_operator(&left, &right, at)),
            };
        }
        let ty = match (&left.ty, &right.ty) {
            (a, b) if a == b => left.ty.clone(),
            (Ty::Matrix(..), Ty::Scalar(_)) => left.ty.clone(),
            (Ty::Scalar(_), Ty::Matrix(..)) => right.ty.clone(),
            _ => return Err(self.no_operator(&left, &right, at)),
        };
        let Ty::Matrix(_, count, rows) = ty else { return Err(self.no_operator(&left, &right, at)) };
        let side = |lower: &mut Self, value: &Value| match value.ty {
            Ty::Matrix(..) => lower.columns(value, at),
            _ => vec![lower.splat(value.clone(), rows, at); usize::from(count)],
        };
        let (a, b) = (side(self, &left), side(self, &right));
        let columns = a.iter().zip(&b).map(|(a, b)| self.op(operator(op), a, b, vector(rows), at)).collect();
        Ok(self.matrix(columns, &ty, at))
    }

    fn equality(&mut self, equal: bool, left: Value, right: Value, at: At) -> Lowered<Value> {
        let (left, right) = match (left.ty.scalar(), right.ty.scalar()) {
            (Some(a), Some(b)) => match a.common(b) {
                Some(common) => (self.cast(&left, common, at), self.cast(&right, common, at)),
                None => (left, right),
            },
            _ => (left, right),
        };
        if left.ty != right.ty {
            return Err(self.no_operator(&left, &right, at));
        }
        let same = self.same(&left, &right, at)?;
        Ok(if equal { same } else { self.not(&same, at) })
    }

    pub(super) fn same(&mut self, left: &Value, right: &Value, at: At) -> Lowered<Value> {
        self.check_size(at)?;
        let parts: Vec<(Value, Value)> = match &left.ty {
            Ty::Scalar(_) => return Ok(self.op(Op::Equal, left, right, BOOL, at)),
            Ty::Vector(_, n) => {
                let each = self.op(Op::Equal, left, right, Ty::Vector(Scalar::Bool, *n), at);
                let all = Expression::Relational { fun: RelationalFunction::All, argument: each.handle };
                return Ok(self.value(all, BOOL, at));
            }
            Ty::Matrix(..) => self.columns(left, at).into_iter().zip(self.columns(right, at)).collect(),
            Ty::Array(base, Some(length)) if *length <= MAX_COMPARED => {
                let base = (**base).clone();
                let pair = |index| (self.extract(left, index, base.clone(), at), self.extract(right, index, base.clone(), at));
                (0..*length).map(pair).collect()
            }
            Ty::Struct(index) => {
                let members: Vec<Ty> =
                    self.structs.get(*index).into_iter().flat_map(|s| &s.members).map(|m| m.ty.clone()).collect();
                let pair =
                    |(index, ty): (u32, Ty)| (self.extract(left, index, ty.clone(), at), self.extract(right, index, ty, at));
                (0..).zip(members).map(pair).collect()
            }
            ty => return Err(Wrong::new(format!("two `{}` cannot be compared", self.spell(ty)), at)),
        };
        let mut all: Option<Value> = None;
        for (a, b) in &parts {
            let same = self.same(a, b, at)?;
            all = Some(match all {
                Some(before) => self.op(Op::LogicalAnd, &before, &same, BOOL, at),
                None => same,
            });
        }
        Ok(all.unwrap_or_else(|| self.boolean(true, at)))
    }
}

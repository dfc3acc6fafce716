//! Conversions: those that the language makes by itself, and those that are written.

use naga::{BinaryOperator, Expression, ScalarKind, SwizzleComponent};

use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::{BOOL, Scalar, Ty, vector_size};

/// How far an implicit conversion goes; `None`: there is none.
pub(super) fn distance(from: &Ty, to: &Ty) -> Option<u32> {
    if from == to {
        return Some(0);
    }
    let (inner, outer) = (from.scalar()?, to.scalar()?);
    if from.with(outer) == *to { inner.distance(outer) } else { None }
}

impl Lower<'_> {
    /// A value as another type, when the language converts it by itself.
    pub(super) fn implicit(&mut self, value: Value, to: &Ty, at: At) -> Lowered<Value> {
        match (distance(&value.ty, to), to.scalar()) {
            (Some(0), _) => Ok(value),
            (Some(_), Some(scalar)) => Ok(self.cast(&value, scalar, at)),
            _ => Err(self.no_conversion(&value.ty, to, at)),
        }
    }

    pub(super) fn no_conversion(&self, from: &Ty, to: &Ty, at: At) -> Wrong {
        let wrong =
            Wrong::new(format!("`{}` is no `{}` and does not become one by itself", self.spell(from), self.spell(to)), at);
        let hint = (from.width().is_some() && from.width() == to.width()).then(|| format!("write `{}(...)`", self.spell(to)));
        wrong.note(hint)
    }

    /// A scalar, vector or matrix in another scalar.
    pub(super) fn cast(&mut self, value: &Value, to: Scalar, at: At) -> Value {
        let ty = value.ty.with(to);
        let naga::Scalar { kind, width } = to.to_naga();
        match value.ty.scalar() {
            Some(from) if from == to => return value.clone(),
            // From int and back is nothing: so a length stays one that bounds can be proved from.
            Some(Scalar::Int) if to == Scalar::Uint => {
                if let Expression::As { expr, kind: ScalarKind::Sint, .. } = self.func.function.expressions[value.handle]
                    && self.is_unsigned(expr)
                {
                    return Value { handle: expr, ty };
                }
            }
            _ => {}
        }
        self.value(Expression::As { expr: value.handle, kind, convert: Some(width) }, ty, at)
    }

    /// Of the expressions that casts are made of, whether one is a u32 for sure.
    fn is_unsigned(&self, handle: naga::Handle<Expression>) -> bool {
        matches!(self.func.function.expressions[handle], Expression::ArrayLength(_))
    }

    pub(super) fn bool_to(&mut self, value: &Value, scalar: Scalar, at: At) -> Value {
        self.cast(value, scalar, at)
    }

    /// The bits of a value as another scalar.
    pub(super) fn bitcast(&mut self, value: &Value, to: Scalar, at: At) -> Value {
        let ty = value.ty.with(to);
        if ty == value.ty {
            return value.clone();
        }
        self.value(Expression::As { expr: value.handle, kind: to.kind(), convert: None }, ty, at)
    }

    /// A scalar as a vector of so many; anything else as it is.
    pub(super) fn splat(&mut self, value: Value, width: u8, at: At) -> Value {
        match value.ty {
            Ty::Scalar(scalar) if width > 1 => {
                let splat = Expression::Splat { size: vector_size(width), value: value.handle };
                self.value(splat, Ty::Vector(scalar, width), at)
            }
            _ => value,
        }
    }

    /// Components of a vector, or of a scalar that counts as one.
    pub(super) fn choose_components(&mut self, vector: &Value, components: &[u8], at: At) -> Lowered<Value> {
        let Ty::Vector(scalar, _) = vector.ty else { return Err(Wrong::new("no vector".to_owned(), at)) };
        if let [one] = components {
            let index = (*one).into();
            return Ok(self.value(Expression::AccessIndex { base: vector.handle, index }, Ty::Scalar(scalar), at));
        }
        let mut pattern = [SwizzleComponent::X; 4];
        for (slot, component) in pattern.iter_mut().zip(components) {
            *slot = SwizzleComponent::from_index((*component).into());
        }
        let width = u8::try_from(components.len()).unwrap_or(4);
        let swizzle = Expression::Swizzle { size: vector_size(width), vector: vector.handle, pattern };
        Ok(self.value(swizzle, Ty::Vector(scalar, width), at))
    }

    /// Part of a value by a known index.
    pub(super) fn extract(&mut self, base: &Value, index: u32, ty: Ty, at: At) -> Value {
        self.value(Expression::AccessIndex { base: base.handle, index }, ty, at)
    }

    pub(super) fn op(&mut self, op: BinaryOperator, left: &Value, right: &Value, ty: Ty, at: At) -> Value {
        self.value(Expression::Binary { op, left: left.handle, right: right.handle }, ty, at)
    }

    /// Conditions are `bool`, nothing else.
    pub(super) fn expect_bool(&mut self, value: Value, what: &str, at: At) -> Lowered<Value> {
        if value.ty == BOOL {
            return Ok(value);
        }
        Err(Wrong::new(format!("{what} must be `bool`; this is `{}`", self.spell(&value.ty)), at))
    }

    /// Two values in one scalar type, and scalars as vectors beside vectors.
    pub(super) fn unify(&mut self, left: Value, right: Value, at: At) -> Lowered<(Value, Value)> {
        let (Some(a), Some(b)) = (left.ty.scalar(), right.ty.scalar()) else { return Err(self.no_operator(&left, &right, at)) };
        let Some(common) = a.common(b) else { return Err(self.no_operator(&left, &right, at)) };
        let (left, right) = (self.cast(&left, common, at), self.cast(&right, common, at));
        let (Some(c), Some(d)) = (left.ty.width(), right.ty.width()) else { return Ok((left, right)) };
        if c != d && c != 1 && d != 1 {
            return Err(self.no_operator(&left, &right, at));
        }
        let width = c.max(d);
        Ok((self.splat(left, width, at), self.splat(right, width, at)))
    }

    pub(super) fn no_operator(&self, left: &Value, right: &Value, at: At) -> Wrong {
        Wrong::new(format!("`{}` and `{}` do not go together here", self.spell(&left.ty), self.spell(&right.ty)), at)
    }
}

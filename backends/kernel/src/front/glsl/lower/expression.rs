//! Expressions: names, members, indices, assignments, choices. Each operand is evaluated once, in the order of the source.

use naga::{Block, Expression, Literal, Statement};

use super::storage::{Index, Place};
use super::{Lower, Lowered, Symbol, Value, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{BOOL, Scalar, Ty};

/// What an expression has been evaluated to.
pub(super) enum Operand {
    Place(Place),
    Value(Value),
}

impl Operand {
    fn ty(&self) -> &Ty {
        match self {
            Self::Place(place) => &place.ty,
            Self::Value(value) => &value.ty,
        }
    }
}

/// The components that letters name.
pub(super) fn components(name: &str, width: u8) -> Option<Vec<u8>> {
    for letters in ["xyzw", "rgba", "stpq"] {
        let found: Option<Vec<u8>> =
            name.chars().map(|c| letters.find(c).and_then(|i| u8::try_from(i).ok()).filter(|i| *i < width)).collect();
        if let Some(found) = found.filter(|f| (1..=4).contains(&f.len())) {
            return Some(found);
        }
    }
    None
}

impl Lower<'_> {
    /// The value of an expression.
    pub(super) fn rvalue(&mut self, expr: &Expr) -> Lowered<Value> {
        let operand = self.operand(expr)?;
        let made = self.loaded(operand, expr.at)?;
        if made.ty == Ty::Void {
            return Err(Wrong::new("this has no value".to_owned(), expr.at));
        }
        Ok(made)
    }

    fn loaded(&mut self, operand: Operand, at: At) -> Lowered<Value> {
        match operand {
            Operand::Place(place) => self.load(&place, at),
            Operand::Value(value) => Ok(value),
        }
    }

    /// An expression for what it does; its value may be none.
    pub(super) fn effect(&mut self, expr: &Expr) -> Lowered<()> {
        match &expr.kind {
            ExprKind::Comma(left, right) => {
                let first = self.effect(left);
                let second = self.effect(right);
                self.both(first, second).map(|_| ())
            }
            _ => self.operand(expr).map(|_| ()),
        }
    }

    /// Evaluates an expression as far as to the place or value that it is.
    pub(super) fn operand(&mut self, expr: &Expr) -> Lowered<Operand> {
        let at = expr.at;
        Ok(Operand::Value(match &expr.kind {
            ExprKind::Name(name) => return self.named(*name, at),
            ExprKind::Member(base, name) => return self.select(base, *name, at),
            ExprKind::Index(base, index) => return self.index(base, index, at),
            ExprKind::Number(part) => {
                let ty = Ty::Scalar(part.scalar());
                Value { handle: self.literal(part.literal(), at), ty }
            }
            ExprKind::Unary(operator, inner) => {
                let value = self.rvalue(inner)?;
                self.unary(*operator, value, at)?
            }
            ExprKind::Step { target, increment, after } => self.step(target, *increment, *after, at)?,
            ExprKind::Binary(operator, left, right) => self.binary_expression(*operator, left, right, at)?,
            ExprKind::Assign(operator, target, value) => self.assignment(*operator, target, value, at)?,
            ExprKind::Choose(condition, accept, reject) => self.choice(condition, accept, reject, at)?,
            ExprKind::Comma(left, right) => {
                let first = self.effect(left);
                let second = self.rvalue(right);
                self.both(first, second)?.1
            }
            ExprKind::Call(name, arguments) => self.call(*name, arguments, at)?,
            ExprKind::Construct(ty, arguments) => self.construct(ty, arguments, at)?,
            ExprKind::List(_) => {
                return Err(Wrong::new("a list in braces stands only where a variable is declared".to_owned(), at));
            }
            ExprKind::Length(inner) => self.length(inner, at)?,
            ExprKind::Lost => return Err(Wrong::told()),
            ExprKind::Text(_) => return Err(Wrong::new("a text in quotes stands only as the format of a print".to_owned(), at)),
        }))
    }

    fn named(&mut self, name: Name, at: At) -> Lowered<Operand> {
        match self.find(name).cloned() {
            Some(Symbol::Constant(constant)) => Ok(Operand::Value(self.constant_value(&constant, at))),
            Some(Symbol::Value(value)) => Ok(Operand::Value(value)),
            Some(Symbol::Variable(place)) => Ok(Operand::Place(place)),
            Some(Symbol::Global(global)) => {
                let mut pointer = self.global(global.variable, at);
                if let Some(index) = global.member {
                    pointer = self.add(Expression::AccessIndex { base: pointer, index }, at);
                }
                Ok(Operand::Place(Place::new(pointer, global.ty, global.layout, global.rights)))
            }
            Some(Symbol::Struct(_)) => Err(Wrong::new(format!("`{}` is a type", self.names.get(name)), at)),
            Some(Symbol::Lost) => Err(Wrong::told()),
            None => self.input(name, at),
        }
    }

    /// The type of a chain of names, members and indices, without evaluating any of it.
    pub(super) fn static_type(&self, expr: &Expr) -> Option<Ty> {
        match &expr.kind {
            ExprKind::Name(name) => match self.find(*name)? {
                Symbol::Constant(constant) => Some(constant.ty.clone()),
                Symbol::Value(value) => Some(value.ty.clone()),
                Symbol::Variable(place) => Some(place.ty.clone()),
                Symbol::Global(global) => Some(global.ty.clone()),
                Symbol::Struct(_) | Symbol::Lost => None,
            },
            ExprKind::Index(base, _) => match self.static_type(base)? {
                Ty::Array(element, _) => Some((*element).clone()),
                Ty::Matrix(scalar, _, r) => Some(Ty::Vector(scalar, r)),
                Ty::Vector(scalar, _) => Some(Ty::Scalar(scalar)),
                _ => None,
            },
            ExprKind::Member(base, name) => match self.static_type(base)? {
                Ty::Struct(index) => self.structs.get(index)?.members.iter().find(|m| m.name == *name).map(|m| m.ty.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn select(&mut self, base: &Expr, name: Name, at: At) -> Lowered<Operand> {
        let operand = self.operand(base)?;
        let text = self.names.get(name);
        let unknown = |lower: &Self, ty: &Ty| Err(Wrong::new(format!("`{}` has no member `{text}`", lower.spell(ty)), at));
        match operand.ty().clone() {
            Ty::Vector(_, width) => {
                let Some(components) = components(text, width) else { return unknown(self, operand.ty()) };
                Ok(match operand {
                    Operand::Place(place) => Operand::Place(self.swizzle(&place, &components, at)?),
                    Operand::Value(value) => Operand::Value(self.choose_components(&value, &components, at)?),
                })
            }
            // A number counts as a vector of one.
            Ty::Scalar(_) => {
                let Some(components) = components(text, 1) else { return unknown(self, operand.ty()) };
                match operand {
                    Operand::Place(place) if components.len() == 1 => Ok(Operand::Place(place)),
                    operand => {
                        let value = self.loaded(operand, at)?;
                        let width = u8::try_from(components.len()).unwrap_or(1);
                        Ok(Operand::Value(self.splat(value, width, at)))
                    }
                }
            }
            Ty::Struct(structure) => {
                let found = self.structs.get(structure).and_then(|s| s.members.iter().position(|m| m.name == name));
                let Some(index) = found else { return unknown(self, operand.ty()) };
                Ok(match operand {
                    Operand::Place(place) => Operand::Place(self.member(&place, index, at)?),
                    Operand::Value(value) => {
                        let ty = self.structs.get(structure).and_then(|s| s.members.get(index)).map(|m| m.ty.clone());
                        Operand::Value(self.extract(&value, u32::try_from(index).unwrap_or(0), ty.unwrap_or(Ty::Void), at))
                    }
                })
            }
            ty => unknown(self, &ty),
        }
    }

    fn index(&mut self, base: &Expr, index: &Expr, at: At) -> Lowered<Operand> {
        let operand = match self.operand(base) {
            Ok(operand) => operand,
            Err(wrong) => {
                let index = self.rvalue(index);
                self.attempt(index);
                return Err(wrong);
            }
        };
        let (length, element) = match operand.ty() {
            Ty::Array(element, length) => (*length, (**element).clone()),
            Ty::Matrix(scalar, c, r) => (Some(u32::from(*c)), Ty::Vector(*scalar, *r)),
            Ty::Vector(scalar, n) => (Some(u32::from(*n)), Ty::Scalar(*scalar)),
            ty => return Err(Wrong::new(format!("`{}` has no elements", self.spell(ty)), at)),
        };
        let place = self.index_value(index, length)?;
        Ok(match (operand, place) {
            (Operand::Place(base), place) => Operand::Place(self.element(&base, place, at)?),
            (Operand::Value(base), Index::Known(index)) => Operand::Value(self.extract(&base, index, element, at)),
            (Operand::Value(base), Index::Computed(index)) if matches!(base.ty, Ty::Vector(..)) => {
                Operand::Value(self.value(Expression::Access { base: base.handle, index }, element, at))
            }
            (Operand::Value(base), place) => {
                let copy = self.spill(&base, at);
                Operand::Place(self.element(&copy, place, at)?)
            }
        })
    }

    fn index_value(&mut self, index: &Expr, length: Option<u32>) -> Lowered<Index> {
        if let Some(known) = self.fold(index)?.and_then(|c| c.integer()) {
            let fits = u32::try_from(known).ok().filter(|&i| length.is_none_or(|n| i < n));
            return match fits {
                Some(index) => Ok(Index::Known(index)),
                None => {
                    let there = length.map(|n| format!("; there are {n} elements")).unwrap_or_default();
                    Err(Wrong::new(format!("the index {known} is out of range{there}"), index.at))
                }
            };
        }
        let value = self.rvalue(index)?;
        if !matches!(value.ty, Ty::Scalar(scalar) if scalar.is_integer()) {
            return Err(Wrong::new(format!("an index is an integer; this is `{}`", self.spell(&value.ty)), index.at));
        }
        Ok(Index::Computed(value.handle))
    }

    fn length(&mut self, inner: &Expr, at: At) -> Lowered<Value> {
        let known = match self.static_type(inner) {
            Some(Ty::Array(_, Some(length))) => Some(length),
            Some(Ty::Vector(_, n) | Ty::Matrix(_, n, _)) => Some(n.into()),
            _ => None,
        };
        if let Some(known) = known {
            return Ok(self.int(known.cast_signed(), at));
        }
        let operand = self.operand(inner)?;
        match (&operand, operand.ty()) {
            (_, Ty::Array(_, Some(length))) => Ok(self.int(length.cast_signed(), at)),
            (_, Ty::Vector(_, n) | Ty::Matrix(_, n, _)) => Ok(self.int((*n).into(), at)),
            (Operand::Place(place), Ty::Array(_, None)) => {
                let length = self.array_length(&place.clone(), at);
                Ok(self.cast(&length, Scalar::Int, at))
            }
            (_, ty) => Err(Wrong::new(format!("`{}` has no length", self.spell(ty)), at)),
        }
    }

    /// The place that is assigned to.
    pub(super) fn target(&mut self, expr: &Expr) -> Lowered<Place> {
        let place = match self.operand(expr)? {
            Operand::Place(place) => place,
            Operand::Value(_) => return Err(Wrong::new("this cannot be assigned to".to_owned(), expr.at)),
        };
        match place.rights.no_write {
            Some(why) => Err(Wrong::new(format!("this is {why} and cannot be written"), expr.at)),
            None => Ok(place),
        }
    }

    fn assignment(&mut self, operator: Option<Binary>, target: &Expr, value: &Expr, at: At) -> Lowered<Value> {
        let place = self.target(target);
        let old = match (operator, &place) {
            (Some(_), Ok(place)) => self.load(place, target.at).map(Some),
            _ => Ok(None),
        };
        let new = self.rvalue(value);
        let (place, new) = self.both(place, new)?;
        let (mut new, old) = (new, old?);
        if let (Some(operator), Some(old)) = (operator, old) {
            new = self.binary(operator, old, new, at)?;
        }
        let new = self.implicit(new, &place.ty.clone(), value.at)?;
        self.assign(&place, &new, at)?;
        Ok(new)
    }

    fn step(&mut self, target: &Expr, increment: bool, after: bool, at: At) -> Lowered<Value> {
        let place = self.target(target)?;
        let old = self.load(&place, target.at)?;
        let Some(scalar) = old.ty.scalar().filter(|s| *s != Scalar::Bool) else {
            return Err(Wrong::new(format!("`{}` is no number", self.spell(&old.ty)), at));
        };
        let one = self.small(scalar, 1, at);
        let operator = if increment { Binary::Add } else { Binary::Subtract };
        let new = self.binary(operator, old.clone(), one, at)?;
        self.assign(&place, &new, at)?;
        Ok(if after { old } else { new })
    }

    fn binary_expression(&mut self, operator: Binary, left: &Expr, right: &Expr, at: At) -> Lowered<Value> {
        if matches!(operator, Binary::LogicalAnd | Binary::LogicalOr) {
            return self.short_circuit(operator == Binary::LogicalAnd, left, right, at);
        }
        let left = self.rvalue(left);
        let right = self.rvalue(right);
        let (left, right) = self.both(left, right)?;
        self.binary(operator, left, right, at)
    }

    /// `&&` and `||`: the right side is evaluated only when the left does not decide.
    fn short_circuit(&mut self, and: bool, left: &Expr, right: &Expr, at: At) -> Lowered<Value> {
        let value = self.rvalue(left);
        let condition = value.and_then(|value| self.expect_bool(value, "the left side", left.at));
        let result = self.local(None, &BOOL, at);
        let taken = self.block(|lower| {
            let value = lower.rvalue(right)?;
            let value = lower.expect_bool(value, "the right side", right.at)?;
            lower.store(result, value.handle, right.at);
            Ok(())
        });
        let (condition, (taken, ())) = self.both(condition, taken)?;
        let (decided, ()) = self.block(|lower| {
            let known = lower.literal(Literal::Bool(!and), at);
            lower.store(result, known, at);
            Ok(())
        })?;
        let (accept, reject) = if and { (taken, decided) } else { (decided, taken) };
        self.push(Statement::If { condition: condition.handle, accept, reject }, at);
        Ok(self.value(Expression::Load { pointer: result }, BOOL, at))
    }

    /// `?:`: only the side that is chosen is evaluated.
    fn choice(&mut self, condition: &Expr, accept: &Expr, reject: &Expr, at: At) -> Lowered<Value> {
        let value = self.rvalue(condition);
        let condition_value = value.and_then(|value| self.expect_bool(value, "the condition", condition.at));
        let yes = self.block(|lower| lower.rvalue(accept));
        let no = self.block(|lower| lower.rvalue(reject));
        let sides = self.both(yes, no);
        let (condition_value, ((mut yes, mut first), (mut no, mut second))) = self.both(condition_value, sides)?;
        let common = match (first.ty.scalar(), second.ty.scalar()) {
            (Some(a), Some(b)) if a != b => a.common(b),
            _ => None,
        };
        if let Some(common) = common {
            (yes, first) = self.continue_block(yes, |lower| lower.cast(&first, common, accept.at))?;
            (no, second) = self.continue_block(no, |lower| lower.cast(&second, common, reject.at))?;
        }
        if first.ty != second.ty {
            return Err(self.no_operator(&first, &second, at));
        }
        let result = self.local(None, &first.ty, at);
        yes.push(Statement::Store { pointer: result, value: first.handle }, super::span(accept.at));
        no.push(Statement::Store { pointer: result, value: second.handle }, super::span(reject.at));
        self.push(Statement::If { condition: condition_value.handle, accept: yes, reject: no }, at);
        Ok(self.value(Expression::Load { pointer: result }, first.ty, at))
    }

    fn continue_block(&mut self, mut block: Block, work: impl FnOnce(&mut Self) -> Value) -> Lowered<(Block, Value)> {
        let (more, value) = self.block(|lower| Ok(work(lower)))?;
        block.extend_block(more);
        Ok((block, value))
    }

    /// The number of an index or a label: an integer that is known.
    pub(super) fn known_integer(&mut self, expr: &Expr, what: &str) -> Lowered<i64> {
        match self.fold(expr)?.and_then(|c| c.integer()) {
            Some(value) => Ok(value),
            None => Err(Wrong::new(format!("{what} must be a constant integer"), expr.at)),
        }
    }
}

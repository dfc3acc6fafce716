//! Constant expressions: what array lengths, labels and `const` variables are made of. The arithmetic is that of run time, bit for bit.
//!
//! An expression that is constant by the language but not computed here (a square root, say) is no error: it is computed when the kernel runs.

use std::sync::Arc;

use naga::{Expression, Handle, Literal, Span};

use super::{Lower, Lowered, Symbol, Value, Wrong};
use crate::front::glsl::arithmetic::{apply, negate};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::At;
pub(super) use crate::front::glsl::part::Part;
use crate::front::glsl::types::{Scalar, Ty};

/// Components of all array and structure constants of a source, counted as often as they are copied.
pub(super) const MAX_PARTS: usize = 1 << 18;

/// A constant: its components in the order of memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Const {
    pub(super) ty: Ty,
    pub(super) parts: Arc<[Part]>,
}

impl Const {
    fn scalar(part: Part) -> Self {
        Self { ty: Ty::Scalar(part.scalar()), parts: [part].into() }
    }

    /// A whole number, when it is one.
    pub(super) fn integer(&self) -> Option<i64> {
        match (&self.ty, self.parts.first()) {
            (Ty::Scalar(_), Some(part)) => part.integer(),
            _ => None,
        }
    }

    /// The same in another scalar, where that has it; for scalars, vectors and matrices.
    pub(super) fn convert(&self, to: Scalar) -> Option<Self> {
        Some(Self { ty: self.ty.with(to), parts: self.parts.iter().map(|p| p.convert(to)).collect::<Option<_>>()? })
    }
}

impl Lower<'_> {
    /// Components of a value; `None` for types without a size, or too large for a constant.
    pub(super) fn part_count(&self, ty: &Ty) -> Option<usize> {
        match ty {
            Ty::Void | Ty::Array(_, None) => None,
            Ty::Scalar(_) => Some(1),
            Ty::Vector(_, n) => Some(usize::from(*n)),
            Ty::Matrix(_, c, r) => Some(usize::from(*c) * usize::from(*r)),
            Ty::Array(base, Some(n)) => self.part_count(base)?.checked_mul(*n as usize).filter(|&n| n <= MAX_PARTS),
            Ty::Struct(index) => self.structs.get(*index)?.parts,
        }
    }

    /// The value of an expression that is constant here; `None` when it is not.
    pub(super) fn fold(&mut self, expr: &Expr) -> Lowered<Option<Const>> {
        Ok(match &expr.kind {
            ExprKind::Number(part) => Some(Const::scalar(*part)),
            ExprKind::Name(name) => match self.find(*name) {
                Some(Symbol::Constant(constant)) => Some(constant.clone()),
                Some(Symbol::Lost) => return Err(Wrong::told()),
                None if self.names.get(*name) == "gl_WorkGroupSize" => Some(self.group.constant()),
                None if !self.names.get(*name).starts_with("gl_") => return Err(self.unknown(*name, expr.at)),
                _ => None,
            },
            ExprKind::Unary(operator, inner) => self.fold(inner)?.and_then(|v| unary(*operator, &v)),
            ExprKind::Binary(operator, left, right) => {
                let Some(left) = self.fold(left)? else { return Ok(None) };
                let Some(right) = self.fold(right)? else { return Ok(None) };
                binary(*operator, &left, &right)
            }
            ExprKind::Choose(condition, accept, reject) => self.fold_choice(condition, accept, reject)?,
            ExprKind::Construct(ty, arguments) => return self.fold_construct(ty, arguments, expr.at),
            ExprKind::Call(name, arguments) if !self.overloads.contains_key(name) => {
                let name = self.names.get(*name);
                if !matches!(name, "min" | "max" | "abs" | "clamp") {
                    return Ok(None);
                }
                let mut list = Vec::new();
                for argument in arguments {
                    let Some(value) = self.fold(argument)? else { return Ok(None) };
                    list.push(value);
                }
                builtin(name, &list)
            }
            ExprKind::Length(inner) => match self.static_type(inner) {
                Some(Ty::Array(_, Some(length))) => i32::try_from(length).ok().map(|n| Const::scalar(Part::Int(n))),
                Some(Ty::Vector(_, n) | Ty::Matrix(_, n, _)) => Some(Const::scalar(Part::Int(n.into()))),
                _ => None,
            },
            ExprKind::Member(base, name) => match self.fold(base)? {
                Some(base) => self.constant_member(&base, self.names.get(*name)),
                None => None,
            },
            ExprKind::Index(base, index) => {
                let Some(base) = self.fold(base)? else { return Ok(None) };
                let Some(index) = self.fold(index)?.and_then(|i| i.integer()) else { return Ok(None) };
                self.constant_element(&base, index)
            }
            ExprKind::Step { .. }
            | ExprKind::Assign(..)
            | ExprKind::Comma(..)
            | ExprKind::Call(..)
            | ExprKind::List(_)
            | ExprKind::Text(_)
            | ExprKind::Lost => None,
        })
    }

    fn fold_choice(&mut self, condition: &Expr, accept: &Expr, reject: &Expr) -> Lowered<Option<Const>> {
        let Some(condition) = self.fold(condition)? else { return Ok(None) };
        let (Some(accept), Some(reject)) = (self.fold(accept)?, self.fold(reject)?) else { return Ok(None) };
        let common = accept.ty.scalar().zip(reject.ty.scalar()).and_then(|(a, b)| a.common(b));
        let (accept, reject) = match common {
            Some(common) => match (accept.convert(common), reject.convert(common)) {
                (Some(accept), Some(reject)) => (accept, reject),
                _ => return Ok(None),
            },
            None => (accept, reject),
        };
        Ok(match condition.parts.first() {
            Some(Part::Bool(value)) if accept.ty == reject.ty => Some(if *value { accept } else { reject }),
            _ => None,
        })
    }

    fn fold_construct(&mut self, name: &TypeName, arguments: &[Expr], at: At) -> Lowered<Option<Const>> {
        let mut list = Vec::new();
        for argument in arguments {
            let Some(value) = self.fold(argument)? else { return Ok(None) };
            list.push(value);
        }
        let ty = self.constructed_type(name, arguments.len())?;
        self.constant_of(&ty, &list, at)
    }

    fn constant_of(&mut self, ty: &Ty, list: &[Const], at: At) -> Lowered<Option<Const>> {
        let Some(count) = self.part_count(ty) else { return Ok(None) };
        let parts: Option<Vec<Part>> = match ty {
            Ty::Array(base, _) => {
                let elements = vec![(**base).clone(); list.len()];
                self.charge(count, at)?;
                aggregate(&elements, list)
            }
            Ty::Struct(index) => {
                let members: Vec<Ty> =
                    self.structs.get(*index).into_iter().flat_map(|s| &s.members).map(|m| m.ty.clone()).collect();
                self.charge(count, at)?;
                aggregate(&members, list)
            }
            Ty::Scalar(scalar) | Ty::Vector(scalar, _) => {
                let all: Option<Vec<Part>> = list.iter().flat_map(|c| c.parts.iter()).map(|p| p.convert(*scalar)).collect();
                let Some(all) = all else { return Ok(None) };
                let numbers = list.iter().all(|c| c.ty.scalar().is_some());
                match list {
                    [one] if numbers && matches!(one.ty, Ty::Scalar(_)) => all.first().map(|&p| vec![p; count]),
                    _ if numbers && all.len() >= count => Some(all.into_iter().take(count).collect()),
                    _ => None,
                }
            }
            _ => None,
        };
        Ok(parts.filter(|p| p.len() == count).map(|parts| Const { ty: ty.clone(), parts: parts.into() }))
    }

    /// Keeps the constants of a source bounded.
    pub(super) fn charge(&mut self, parts: usize, at: At) -> Lowered<()> {
        self.constant_parts = self.constant_parts.saturating_add(parts);
        if self.constant_parts > MAX_PARTS {
            let message = format!("the constants are too large: at most {MAX_PARTS} numbers are allowed in all");
            return Err(Wrong::new(message, at).once());
        }
        Ok(())
    }

    fn constant_member(&self, base: &Const, name: &str) -> Option<Const> {
        if let Ty::Vector(scalar, n) = base.ty {
            let components = super::expression::components(name, n)?;
            let parts: Option<Vec<Part>> = components.iter().map(|&c| base.parts.get(usize::from(c)).copied()).collect();
            let width = u8::try_from(components.len()).ok()?;
            return Some(Const { ty: Ty::of(scalar, width), parts: parts?.into() });
        }
        if let (Ty::Scalar(scalar), Some(part)) = (&base.ty, base.parts.first()) {
            let width = u8::try_from(super::expression::components(name, 1)?.len()).ok()?;
            return Some(Const { ty: Ty::of(*scalar, width), parts: vec![*part; usize::from(width)].into() });
        }
        let Ty::Struct(index) = base.ty else { return None };
        let mut from = 0;
        for member in &self.structs.get(index)?.members {
            let count = self.part_count(&member.ty)?;
            if self.names.get(member.name) == name {
                return Some(Const { ty: member.ty.clone(), parts: base.parts.get(from..from + count)?.into() });
            }
            from += count;
        }
        None
    }

    fn constant_element(&self, base: &Const, index: i64) -> Option<Const> {
        let ty = match &base.ty {
            Ty::Vector(scalar, _) => Ty::Scalar(*scalar),
            Ty::Matrix(scalar, _, r) => Ty::Vector(*scalar, *r),
            Ty::Array(element, _) => (**element).clone(),
            _ => return None,
        };
        let count = self.part_count(&ty)?;
        let from = usize::try_from(index).ok()?.checked_mul(count)?;
        Some(Const { ty, parts: base.parts.get(from..from.checked_add(count)?)?.into() })
    }

    /// A constant as a value of the function.
    pub(super) fn constant_value(&mut self, constant: &Const, at: At) -> Value {
        if let (Ty::Scalar(_), Some(part)) = (&constant.ty, constant.parts.first()) {
            let handle = self.literal(part.literal(), at);
            return Value { handle, ty: constant.ty.clone() };
        }
        let handle = self.constant(constant);
        self.value(Expression::Constant(handle), constant.ty.clone(), at)
    }

    /// A constant of the module, once for each that is the same.
    pub(super) fn constant(&mut self, constant: &Const) -> Handle<naga::Constant> {
        if let Some(&known) = self.constants.get(constant) {
            return known;
        }
        let mut parts = constant.parts.iter();
        let init = self.global_expression(&constant.ty, &mut parts);
        let ty = self.value_type(&constant.ty);
        let handle = self.module.constants.append(naga::Constant { name: None, ty, init }, Span::UNDEFINED);
        self.constants.insert(constant.clone(), handle);
        handle
    }

    fn global_expression(&mut self, ty: &Ty, parts: &mut std::slice::Iter<'_, Part>) -> Handle<Expression> {
        let inner: Vec<Ty> = match ty {
            Ty::Vector(scalar, n) => vec![Ty::Scalar(*scalar); usize::from(*n)],
            Ty::Matrix(scalar, c, r) => vec![Ty::Vector(*scalar, *r); usize::from(*c)],
            Ty::Array(base, Some(n)) => vec![(**base).clone(); *n as usize],
            Ty::Struct(index) => self.structs.get(*index).into_iter().flat_map(|s| &s.members).map(|m| m.ty.clone()).collect(),
            _ => {
                let literal = parts.next().map_or(Literal::U32(0), |part| part.literal());
                return self.module.global_expressions.append(Expression::Literal(literal), Span::UNDEFINED);
            }
        };
        let components = inner.iter().map(|ty| self.global_expression(ty, parts)).collect();
        let ty = self.value_type(ty);
        self.module.global_expressions.append(Expression::Compose { ty, components }, Span::UNDEFINED)
    }
}

fn aggregate(types: &[Ty], list: &[Const]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for (ty, value) in types.iter().zip(list) {
        let value = match (ty.scalar(), value.ty.scalar()) {
            (Some(to), Some(from)) if from != to && from.distance(to).is_some() => value.convert(to)?,
            _ => value.clone(),
        };
        if value.ty != *ty {
            return None;
        }
        parts.extend_from_slice(&value.parts);
    }
    (types.len() == list.len()).then_some(parts)
}

fn unary(operator: Unary, value: &Const) -> Option<Const> {
    value.ty.scalar()?;
    Some(Const { ty: value.ty.clone(), parts: value.parts.iter().map(|part| negate(operator, *part)).collect::<Option<_>>()? })
}

fn binary(operator: Binary, left: &Const, right: &Const) -> Option<Const> {
    let (left_width, right_width) = (left.ty.width()?, right.ty.width()?);
    if left_width != right_width && left_width != 1 && right_width != 1 {
        return None;
    }
    let width = left_width.max(right_width);
    let shift = matches!(operator, Binary::ShiftLeft | Binary::ShiftRight);
    let common = left.ty.scalar()?.common(right.ty.scalar()?);
    let (left, right) = if shift { (left.clone(), right.clone()) } else { (left.convert(common?)?, right.convert(common?)?) };
    let pick = |c: &Const, width: u8, i: u8| c.parts.get(if width == 1 { 0 } else { usize::from(i) }).copied();
    let compares = matches!(operator, Binary::Equal | Binary::NotEqual);
    let mut parts = Vec::new();
    for i in 0..width {
        parts.push(apply(operator, pick(&left, left_width, i)?, pick(&right, right_width, i)?)?);
    }
    if compares && width > 1 {
        let all = operator == Binary::Equal;
        let value = parts.iter().all(|p| *p == Part::Bool(true)) == all && (all || parts.contains(&Part::Bool(true)));
        let value = if all { value } else { parts.contains(&Part::Bool(true)) };
        return Some(Const::scalar(Part::Bool(value)));
    }
    let scalar = parts.first()?.scalar();
    Some(Const { ty: Ty::of(scalar, width), parts: parts.into() })
}

fn builtin(name: &str, list: &[Const]) -> Option<Const> {
    match (name, list) {
        ("abs", [value]) => {
            let one = |part: &Part| match *part {
                Part::Half(v) => Some(Part::Half(v & 0x7fff)),
                Part::Float(v) => Some(Part::Float(v & 0x7fff_ffff)),
                Part::Double(v) => Some(Part::Double(v & (u64::MAX >> 1))),
                part if part.scalar().is_signed() => Part::wrapped(part.whole()?.abs(), part.scalar()),
                _ => None,
            };
            value.ty.width()?;
            Some(Const { ty: value.ty.clone(), parts: value.parts.iter().map(one).collect::<Option<_>>()? })
        }
        // The second where it is less (greater), else the first: that decides between zeros of both signs.
        ("min" | "max", [a, b]) => {
            let holds = binary(if name == "min" { Binary::Less } else { Binary::Greater }, b, a)?;
            let common = a.ty.scalar()?.common(b.ty.scalar()?)?;
            let (a, b) = (a.convert(common)?, b.convert(common)?);
            let pick = |c: &Const, i: usize| c.parts.get(i).or(c.parts.first()).copied();
            let parts = holds.parts.iter().enumerate().map(|(i, h)| pick(if *h == Part::Bool(true) { &b } else { &a }, i));
            let width = u8::try_from(holds.parts.len()).ok()?;
            Some(Const { ty: Ty::of(common, width), parts: parts.collect::<Option<_>>()? })
        }
        ("clamp", [value, low, high]) => builtin("min", &[builtin("max", &[value.clone(), low.clone()])?, high.clone()]),
        _ => None,
    }
}

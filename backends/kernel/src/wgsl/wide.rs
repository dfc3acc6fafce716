//! Override constants of 64-bit integers. naga reads them, but its validator refuses them, and it computes nothing with 64 bits. So a module is validated
//! without them, and when their values are known they, and all that is made of them and literals, are replaced before naga resolves the rest.

use std::collections::HashMap;

use naga::{Expression, Function, Handle, Literal, Module, Override, Scalar, Span, Type, TypeInner, UniqueArena, VectorSize};

use crate::entry::Values;
use crate::front::glsl::arithmetic;
use crate::{reflect, remap};

/// Whether a type has 64 bits.
fn wide(module: &Module, ty: Handle<Type>) -> bool {
    matches!(module.types[ty].inner, TypeInner::Scalar(Scalar::I64 | Scalar::U64))
}

/// Whether a module has override constants that only this module knows.
pub(super) fn any(module: &Module) -> bool {
    module.overrides.iter().any(|(_, o)| wide(module, o.ty))
}

/// Hides them from the validator: each becomes one of 32 bits without a default, and a cast of that; zero in functions, where
/// nobody looks at values. What the module means is known only once they are settled.
pub(super) fn hide(module: &mut Module) {
    let word = module.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
    let all: Vec<_> = module.overrides.iter().filter(|(_, o)| wide(module, o.ty)).map(|(h, o)| (h, o.ty)).collect();
    let old = std::mem::take(&mut module.global_expressions);
    let mut hidden = HashMap::new();
    for (handle, ty) in all {
        let known = &mut module.overrides[handle];
        (known.ty, known.init) = (word, None);
        let TypeInner::Scalar(Scalar { kind, width }) = module.types[ty].inner else { continue };
        let expr = module.global_expressions.append(Expression::Override(handle), Span::UNDEFINED);
        let cast = Expression::As { expr, kind, convert: Some(width) };
        hidden.insert(handle, (ty, module.global_expressions.append(cast, Span::UNDEFINED)));
    }
    let mut moved: Vec<Handle<Expression>> = Vec::with_capacity(old.len());
    for (handle, expression) in old.iter() {
        let mut copy = expression.clone();
        remap::expression(&mut copy, &mut |operand| *operand = moved.get(operand.index()).copied().unwrap_or(*operand));
        let stands = if let Expression::Override(o) = copy { hidden.get(&o).map(|(_, cast)| *cast) } else { None };
        moved.push(stands.unwrap_or_else(|| module.global_expressions.append(copy, old.get_span(handle))));
    }
    move_initials(module, &moved);
    let functions = module.functions.iter_mut().map(|(_, f)| f).chain(module.entry_points.iter_mut().map(|e| &mut e.function));
    for function in functions {
        hide_in(function, word, &hidden);
    }
}

/// In functions they are zeros: the validator looks at no values there, but at indices, which must be of 32 bits where they are constant.
fn hide_in(function: &mut Function, word: Handle<Type>, hidden: &HashMap<Handle<Override>, (Handle<Type>, Handle<Expression>)>) {
    let mut zeros = Vec::new();
    for (handle, expression) in function.expressions.iter_mut() {
        if let Expression::Override(o) = expression
            && let Some((ty, _)) = hidden.get(o)
        {
            *expression = Expression::ZeroValue(*ty);
            zeros.push(handle);
        }
    }
    let indexes = |e: &Expression| matches!(e, Expression::Access { index, .. } if zeros.contains(index));
    if !function.expressions.iter().any(|(_, e)| indexes(e)) {
        return;
    }
    let olds: Vec<bool> = function.expressions.iter().map(|(_, e)| indexes(e)).collect();
    remap::rewrite(function, &[Expression::ZeroValue(word)], &mut |(handle, mut expression, span), constants, out| {
        if let (Expression::Access { index, .. }, Some(true), [zero]) = (&mut expression, olds.get(handle.index()), constants) {
            *index = *zero;
        }
        out.append(expression, span)
    });
}

/// Everything in a module that leads to its expressions.
fn move_initials(module: &mut Module, moved: &[Handle<Expression>]) {
    let go = |handle: &mut Handle<Expression>| *handle = moved.get(handle.index()).copied().unwrap_or(*handle);
    module.constants.iter_mut().for_each(|(_, constant)| go(&mut constant.init));
    module.overrides.iter_mut().filter_map(|(_, o)| o.init.as_mut()).for_each(go);
    module.global_variables.iter_mut().filter_map(|(_, v)| v.init.as_mut()).for_each(go);
    let sizes = module.entry_points.iter_mut().filter_map(|e| e.workgroup_size_overrides.as_mut());
    sizes.flatten().flatten().for_each(go);
}

/// The same with their values, given or by default. The error is the key of a constant that has neither.
pub(super) fn settle(module: &mut Module, values: &Values) -> Result<(), String> {
    let mut settled = HashMap::new();
    for (handle, o) in module.overrides.iter() {
        let given = key(o).and_then(|key| values.iter().find(|(k, _)| *k == key));
        let literal = given.and_then(|(_, value)| value.literal(reflect::override_type(module, o.ty)?));
        if let Some(literal) = literal {
            settled.insert(handle, literal);
        } else if o.init.is_none() && wide(module, o.ty) {
            return Err(key(o).unwrap_or_default());
        }
    }
    let mut known: Vec<Option<Known>> = Vec::with_capacity(module.global_expressions.len());
    for (_, expression) in module.global_expressions.iter() {
        let of = |handle: Handle<Expression>| known.get(handle.index()).cloned().flatten();
        known.push(value(module, expression, &settled, &of));
    }
    let finals = Finals { settled: &settled, known: &known };
    let functions: Vec<_> = module.functions.iter().map(|(handle, _)| handle).collect();
    for handle in functions {
        let mut function = std::mem::take(&mut module.functions[handle]);
        finals.function(module, &mut function);
        module.functions[handle] = function;
    }
    let mut entries = std::mem::take(&mut module.entry_points);
    entries.iter_mut().for_each(|entry| finals.function(module, &mut entry.function));
    module.entry_points = entries;
    for ((_, expression), known) in module.global_expressions.iter_mut().zip(&known) {
        if let Some(Known { parts, size: None, wide: true }) = known
            && let [one] = parts[..]
        {
            *expression = Expression::Literal(one);
        }
    }
    forget(module, &settled, &known);
    Ok(())
}

/// What a resolved module has no use for. Without a name they are nobody's, and naga drops them. Those whose value is not known here are naga's to find, or to refuse.
fn forget(module: &mut Module, settled: &HashMap<Handle<Override>, Literal>, known: &[Option<Known>]) {
    let computed = |o: &Override| o.init.is_some_and(|init| known.get(init.index()).is_some_and(Option::is_some));
    let unused = |handle, o: &Override| wide(module, o.ty) && (settled.contains_key(&handle) || computed(o));
    let wide: Vec<_> = module.overrides.iter().filter(|(handle, o)| unused(*handle, o)).map(|(handle, _)| handle).collect();
    let init = module.global_expressions.append(Expression::Literal(Literal::U32(0)), Span::UNDEFINED);
    let ty = module.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
    for handle in wide {
        module.overrides[handle] = Override { name: None, id: None, ty, init: Some(init) };
    }
}

/// What values are given by.
fn key(o: &Override) -> Option<String> {
    o.id.map(|id| id.to_string()).or_else(|| o.name.clone())
}

/// A scalar, or a vector of a size.
#[derive(Clone)]
struct Known {
    parts: Vec<Literal>,
    size: Option<VectorSize>,
    /// Whether 64 bits had a part in it.
    wide: bool,
}

impl Known {
    fn one(literal: Literal) -> Self {
        let wide = matches!(literal, Literal::I64(_) | Literal::U64(_) | Literal::F64(_));
        Self { parts: vec![literal], size: None, wide }
    }

    fn all<'a>(of: impl Iterator<Item = &'a Self>, size: Option<VectorSize>, parts: Option<Vec<Literal>>) -> Option<Self> {
        let parts = parts?;
        let wide = of.into_iter().any(|k| k.wide) || parts.iter().any(|p| Self::one(*p).wide);
        Some(Self { parts, size, wide })
    }

    fn part(&self, i: usize) -> Option<Literal> {
        self.parts.get(if self.size.is_none() { 0 } else { i }).copied()
    }
}

/// The value of an expression whose operands have one.
fn value(
    module: &Module,
    expression: &Expression,
    settled: &HashMap<Handle<Override>, Literal>,
    of: &dyn Fn(Handle<Expression>) -> Option<Known>,
) -> Option<Known> {
    match expression {
        Expression::Literal(literal) => Some(Known::one(*literal)),
        Expression::ZeroValue(ty) => match module.types[*ty].inner {
            TypeInner::Scalar(scalar) => arithmetic::convert(Literal::U32(0), scalar).map(Known::one),
            _ => None,
        },
        Expression::Override(o) => settled.get(o).map(|literal| Known::one(*literal)).or_else(|| of(module.overrides[*o].init?)),
        Expression::Splat { size, value } => {
            let value = of(*value)?;
            let parts = value.part(0).map(|part| vec![part; *size as usize]);
            Known::all(std::iter::once(&value), Some(*size), parts)
        }
        Expression::Compose { ty, components } => {
            let TypeInner::Vector { size, .. } = module.types[*ty].inner else { return None };
            let components: Vec<Known> = components.iter().map(|c| of(*c)).collect::<Option<_>>()?;
            let parts = components.iter().flat_map(|c| c.parts.clone()).collect();
            Known::all(components.iter(), Some(size), Some(parts))
        }
        Expression::Unary { op, expr } => {
            let value = of(*expr)?;
            let parts = value.parts.iter().map(|p| arithmetic::unary(*op, *p)).collect();
            Known::all(std::iter::once(&value), value.size, parts)
        }
        Expression::As { expr, kind, convert: Some(width) } => {
            let value = of(*expr)?;
            let to = Scalar { kind: *kind, width: *width };
            let parts = value.parts.iter().map(|p| arithmetic::convert(*p, to)).collect();
            Known::all(std::iter::once(&value), value.size, parts)
        }
        Expression::Binary { op, left, right } => {
            let (left, right) = (of(*left)?, of(*right)?);
            let size = left.size.or(right.size);
            let part = |i| arithmetic::binary(*op, left.part(i)?, right.part(i)?);
            let parts = (0..size.map_or(1, |size| size as usize)).map(part).collect();
            Known::all([&left, &right].into_iter(), size, parts)
        }
        Expression::Select { condition, accept, reject } => {
            let (condition, accept, reject) = (of(*condition)?, of(*accept)?, of(*reject)?);
            let part = |i| match condition.part(i)? {
                Literal::Bool(true) => accept.part(i),
                _ => reject.part(i),
            };
            let parts = (0..accept.parts.len()).map(part).collect();
            Known::all([&condition, &accept, &reject].into_iter(), accept.size, parts)
        }
        _ => None,
    }
}

struct Finals<'a> {
    settled: &'a HashMap<Handle<Override>, Literal>,
    /// Of the module's expressions.
    known: &'a [Option<Known>],
}

impl Finals<'_> {
    /// Replaces whatever 64 bits had a part in. naga would give up where it had to compute it.
    fn function(&self, module: &mut Module, function: &mut Function) {
        let mut known: Vec<Option<Known>> = Vec::with_capacity(function.expressions.len());
        for (_, expression) in function.expressions.iter() {
            let of = |handle: Handle<Expression>| known.get(handle.index()).cloned().flatten();
            let found = match expression {
                Expression::Constant(c) => self.known.get(module.constants[*c].init.index()).cloned().flatten(),
                Expression::Override(o) if !self.settled.contains_key(o) => {
                    module.overrides[*o].init.and_then(|init| self.known.get(init.index()).cloned().flatten())
                }
                _ => value(module, expression, self.settled, &of),
            };
            known.push(found);
        }
        let (mut constants, mut wide) = (Vec::new(), Vec::new());
        let mut at = HashMap::new();
        for ((handle, expression), known) in function.expressions.iter().zip(known) {
            let plain = matches!(expression, Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_));
            if let Some(known) = known.filter(|known| known.wide && !plain) {
                at.insert(handle, constants.len());
                constants.push(Expression::Constant(constant(module, &known)));
                wide.push(known);
            }
        }
        let mut indices = HashMap::new();
        for (handle, expression) in function.expressions.iter() {
            if let Expression::Access { index, .. } = expression
                && let Some(literal) = at.get(index).and_then(|i| index_of(wide.get(*i)?))
            {
                indices.insert(handle, constants.len());
                constants.push(Expression::Literal(literal));
            }
        }
        if constants.is_empty() {
            return;
        }
        remap::rewrite(function, &constants, &mut |(handle, mut expression, span), constants, out| {
            let of = |i: &usize| constants.get(*i).copied();
            if let (Expression::Access { index, .. }, Some(narrow)) = (&mut expression, indices.get(&handle).and_then(of)) {
                *index = narrow;
            }
            at.get(&handle).and_then(of).unwrap_or_else(|| out.append(expression, span))
        });
    }
}

/// A constant index is one of 32 bits. No array is so long that a larger one would be in range.
fn index_of(known: &Known) -> Option<Literal> {
    match known.parts[..] {
        [Literal::I64(v)] if v < 0 => Some(Literal::I32(i32::try_from(v).unwrap_or(i32::MIN))),
        [Literal::I64(v)] => Some(Literal::U32(u32::try_from(v).unwrap_or(u32::MAX))),
        [Literal::U64(v)] => Some(Literal::U32(u32::try_from(v).unwrap_or(u32::MAX))),
        _ => None,
    }
}

fn constant(module: &mut Module, known: &Known) -> Handle<naga::Constant> {
    let parts: Vec<_> =
        known.parts.iter().map(|p| module.global_expressions.append(Expression::Literal(*p), Span::UNDEFINED)).collect();
    let scalar = known.parts.first().map_or(Scalar::U32, Literal::scalar);
    let make = |types: &mut UniqueArena<Type>, inner| types.insert(Type { name: None, inner }, Span::UNDEFINED);
    let (ty, init) = match (known.size, parts.first()) {
        (None, Some(one)) => (make(&mut module.types, TypeInner::Scalar(scalar)), *one),
        (size, _) => {
            let inner = size.map_or(TypeInner::Scalar(scalar), |size| TypeInner::Vector { size, scalar });
            let ty = make(&mut module.types, inner);
            (ty, module.global_expressions.append(Expression::Compose { ty, components: parts }, Span::UNDEFINED))
        }
    };
    module.constants.append(naga::Constant { name: None, ty, init }, Span::UNDEFINED)
}

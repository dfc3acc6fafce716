//! Literals and constant expressions.

use naga::{Arena, Expression, Handle, Literal, Module, TypeInner};

use super::types::{self, Types};
use super::{Refusal, Result};

/// A literal, in parentheses where an operator beside it could take a part of it.
pub(super) fn literal(literal: Literal) -> Result<String> {
    Ok(match literal {
        Literal::Bool(v) => v.to_string(),
        Literal::U32(v) => format!("{v}u"),
        Literal::I32(i32::MIN) => "(-2147483647 - 1)".to_owned(),
        Literal::I32(v) => signed(v, ""),
        Literal::U64(v) => format!("{v}ull"),
        Literal::I64(i64::MIN) => "(-9223372036854775807ll - 1)".to_owned(),
        Literal::I64(v) => signed(v, "ll"),
        Literal::U16(v) => format!("u16({v})"),
        Literal::I16(v) => format!("i16({v})"),
        Literal::F16(v) => format!("f16{{{:#06x}}}", v.to_bits()),
        Literal::F32(v) if !v.is_finite() => format!("c_bits_as<f32>({:#010x}u)", v.to_bits()),
        Literal::F32(v) => signed(format!("{v:?}"), "f"),
        Literal::F64(v) if !v.is_finite() => format!("c_bits_as<f64>({:#018x}ull)", v.to_bits()),
        Literal::F64(v) => signed(format!("{v:?}"), ""),
        Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return Err(Refusal::bug("an abstract number")),
    })
}

fn signed(number: impl ToString, suffix: &str) -> String {
    let number = number.to_string();
    if number.starts_with('-') { format!("({number}{suffix})") } else { format!("{number}{suffix}") }
}

/// The name of a constant that is a table.
pub(super) fn table(module: &Module, handle: Handle<naga::Constant>) -> Option<String> {
    let constant = &module.constants[handle];
    matches!(module.types[constant.ty].inner, TypeInner::Array { .. })
        .then(|| types::name("k", handle.index(), constant.name.as_deref()))
}

/// A constant expression of the module or of a function.
pub(super) fn expression(
    module: &Module,
    types: &Types<'_>,
    arena: &Arena<Expression>,
    at: Handle<Expression>,
) -> Result<String> {
    match arena[at] {
        Expression::Literal(value) => literal(value),
        Expression::Constant(handle) => constant(module, types, handle),
        Expression::ZeroValue(ty) => Ok(format!("{}{{}}", types.name(ty)?)),
        Expression::Compose { ty, ref components } => {
            let parts = components.iter().map(|part| expression(module, types, arena, *part)).collect::<Result<Vec<_>>>()?;
            let sizes: Vec<usize> = components.iter().map(|part| width(module, arena, *part)).collect();
            types.braces(ty, &flattened(types.inner(ty), parts, &sizes))
        }
        Expression::Splat { size, value } => {
            let value = expression(module, types, arena, value)?;
            Ok(format!("c_splat{}({value})", size as u8))
        }
        _ => Err(Refusal::bug("a constant that is not evaluated").at(arena.get_span(at))),
    }
}

/// The value of a constant: its name if it has one in the text.
pub(super) fn constant(module: &Module, types: &Types<'_>, handle: Handle<naga::Constant>) -> Result<String> {
    if let Some(name) = table(module, handle) {
        return Ok(name);
    }
    expression(module, types, &module.global_expressions, module.constants[handle].init)
}

/// A vector may be made of vectors: then of their components. `widths` has those of the parts.
pub(super) fn flattened(inner: &TypeInner, parts: Vec<String>, widths: &[usize]) -> Vec<String> {
    if !matches!(inner, TypeInner::Vector { .. }) {
        return parts;
    }
    let mut out = Vec::new();
    for (part, width) in parts.into_iter().zip(widths) {
        match width {
            0 | 1 => out.push(part),
            width => out.extend("xyzw".chars().take(*width).map(|component| format!("{part}.{component}"))),
        }
    }
    out
}

/// Components of a constant vector, 1 for anything else.
fn width(module: &Module, arena: &Arena<Expression>, at: Handle<Expression>) -> usize {
    let ty = match arena[at] {
        Expression::Compose { ty, .. } | Expression::ZeroValue(ty) => ty,
        Expression::Constant(handle) => module.constants[handle].ty,
        Expression::Splat { size, .. } => return size as usize,
        _ => return 1,
    };
    match module.types[ty].inner {
        TypeInner::Vector { size, .. } => size as usize,
        _ => 1,
    }
}

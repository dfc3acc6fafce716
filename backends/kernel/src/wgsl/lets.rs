//! The value of a `let` is no constant for the language, whatever it was made of: an index past the end, a division by zero or a shift by too much
//! are decided at run time then. The front end looks through the name and refuses them. Here such values are hidden behind a cast to their own
//! type, which it does not look through.

use std::collections::BTreeSet;

use naga::{BinaryOperator, Expression, Function, Handle, Module, ScalarKind, TypeInner, VectorSize};

use crate::text::Edit;

/// Edits that hide the values of `let`s wherever the front end would judge them.
pub(super) fn check(module: &Module, text: &str) -> Vec<Edit> {
    let mut places = BTreeSet::new();
    let functions = module.functions.iter().map(|f| f.1).chain(module.entry_points.iter().map(|e| &e.function));
    for function in functions {
        for (_, expression) in function.expressions.iter() {
            if let Some((start, end, ty)) = judged(expression).and_then(|h| named(module, function, h)) {
                places.insert((start, end, ty));
            }
        }
    }
    let edit = |(start, end, ty): (usize, usize, String)| {
        let value = text.get(start..end)?;
        Some(Edit::new(start..end, format!("bitcast<{ty}>({ty}({value}))")))
    };
    places.into_iter().filter_map(edit).collect()
}

/// The operand that the validator judges by its value.
fn judged(expression: &Expression) -> Option<Handle<Expression>> {
    match *expression {
        Expression::Binary {
            op: BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight,
            right,
            ..
        } => Some(right),
        Expression::Access { index, .. } => Some(index),
        _ => None,
    }
}

/// Where the value of a `let` is written, and its type, if it is a number or a vector of them.
fn named(module: &Module, function: &Function, handle: Handle<Expression>) -> Option<(usize, usize, String)> {
    // A vector that a scalar is spread to has no name, the scalar does.
    let handle = match function.expressions[handle] {
        Expression::Splat { value, .. } if !function.named_expressions.contains_key(&handle) => value,
        _ => handle,
    };
    if !function.named_expressions.contains_key(&handle) {
        return None;
    }
    let ty = ty(module, function, handle)?;
    let range = function.expressions.get_span(handle).to_range()?;
    Some((range.start, range.end, ty))
}

fn ty(module: &Module, function: &Function, handle: Handle<Expression>) -> Option<String> {
    match &function.expressions[handle] {
        Expression::Literal(literal) => scalar(literal.scalar()).map(str::to_owned),
        Expression::ZeroValue(ty) | Expression::Compose { ty, .. } => inner(&module.types[*ty].inner),
        Expression::Constant(constant) => inner(&module.types[module.constants[*constant].ty].inner),
        Expression::Splat { size, value } => match function.expressions[*value] {
            Expression::Literal(literal) => Some(vector(*size, scalar(literal.scalar())?)),
            _ => None,
        },
        _ => None,
    }
}

fn inner(inner: &TypeInner) -> Option<String> {
    match inner {
        TypeInner::Scalar(s) => scalar(*s).map(str::to_owned),
        TypeInner::Vector { size, scalar: s } => Some(vector(*size, scalar(*s)?)),
        _ => None,
    }
}

fn vector(size: VectorSize, scalar: &str) -> String {
    format!("vec{}<{scalar}>", size as u8)
}

fn scalar(scalar: naga::Scalar) -> Option<&'static str> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Sint, 4) => Some("i32"),
        (ScalarKind::Uint, 4) => Some("u32"),
        _ => None,
    }
}

//! The value of a `let` is no constant for the language, whatever it was made of: an index past the end, a division by zero or a shift by too much
//! are decided at run time then. The front end looks through the name and refuses them. Here such values are hidden behind a cast to their own
//! type, which it does not look through.

use std::collections::BTreeSet;
use std::ops::Range;

use naga::{BinaryOperator, Expression, Function, Handle, Module, ScalarKind, TypeInner, VectorSize};

use crate::edits::Edit;
use crate::scan::Scanned;

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
    let scanned = Scanned::new(text);
    let mut edits = Vec::new();
    for (start, end, ty) in places {
        for range in written(&scanned, start..end) {
            let Some(value) = text.get(range.clone()) else { continue };
            edits.push(Edit::new(range, format!("bitcast<{ty}>({ty}({value}))")));
        }
    }
    edits
}

/// Where the values of `let`s are written that stand for the value written at a place. A local constant shares its value with the `let`s that are
/// made of it: then it is they that are no constants.
fn written(scanned: &Scanned<'_>, value: Range<usize>) -> Vec<Range<usize>> {
    let mut keyword = scanned.at_byte(value.start);
    while keyword > 0 && !matches!(scanned.text(keyword), "const" | "let" | ";" | "{" | "}") {
        keyword -= 1;
    }
    if scanned.text(keyword) != "const" {
        return vec![value];
    }
    let name = scanned.text(keyword + 1);
    let alone = |at: &usize| scanned.text(*at) == name && scanned.text(at + 1) == ";" && scanned.text(at.wrapping_sub(1)) == "=";
    let of_let = |at: &usize| {
        let before = (0..*at).rev().find(|i| matches!(scanned.text(*i), ";" | "{" | "}"));
        scanned.text(before.map_or(0, |i| i + 1)) == "let"
    };
    (keyword..scanned.len()).filter(alone).filter(of_let).filter_map(|at| scanned.range(at)).collect()
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

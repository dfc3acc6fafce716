//! A divisor or shift count is judged before the kernel runs only where all of it is constant: `v / vec2(x, 0u)` has a value for the language.
//! The validator judges each component. So constant components beside others are hidden behind a cast to their own type, which it does not
//! look through.

use std::collections::HashMap;

use naga::{BinaryOperator, Expression, Function, Handle, Module, ScalarKind, TypeInner};

use crate::remap;

/// Hides the constant parts of operands that are not constant.
pub(super) fn hide(module: &mut Module) {
    let kinds: Vec<_> = module.types.iter().map(|(_, ty)| kind(&ty.inner)).collect();
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter_mut().map(|entry| &mut entry.function)) {
        let mut parts = HashMap::new();
        for (_, expression) in function.expressions.iter() {
            if let Expression::Binary {
                op: BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight,
                right,
                ..
            } = *expression
            {
                note(function, right, &kinds, &mut parts);
            }
        }
        apply(function, &parts);
    }
}

fn kind(inner: &TypeInner) -> Option<ScalarKind> {
    match inner {
        TypeInner::Vector { scalar, .. } if matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint) => Some(scalar.kind),
        _ => None,
    }
}

/// By expression that is made of components: which of them are to be hidden, and their kind.
type Parts = HashMap<Handle<Expression>, (Vec<bool>, ScalarKind)>;

fn note(function: &Function, at: Handle<Expression>, kinds: &[Option<ScalarKind>], parts: &mut Parts) {
    let Expression::Compose { ty, components } = &function.expressions[at] else { return };
    let Some(kind) = kinds.get(ty.index()).copied().flatten() else { return };
    // The value of a `let` is no constant for the language.
    let constant = |at: &Handle<Expression>| is_value(function, *at) && !function.named_expressions.contains_key(at);
    if components.iter().all(constant) || parts.contains_key(&at) {
        return;
    }
    parts.insert(at, (components.iter().map(|at| is_value(function, *at)).collect(), kind));
    for component in components {
        note(function, *component, kinds, parts);
    }
}

/// Whether an expression is a value that is written in the IR.
fn is_value(function: &Function, at: Handle<Expression>) -> bool {
    match &function.expressions[at] {
        Expression::Literal(_) | Expression::ZeroValue(_) | Expression::Constant(_) => true,
        Expression::Splat { value, .. } => is_value(function, *value),
        Expression::Compose { components, .. } => components.iter().all(|at| is_value(function, *at)),
        _ => false,
    }
}

fn apply(function: &mut Function, parts: &Parts) {
    if parts.is_empty() {
        return;
    }
    remap::rewrite(function, &[], &mut |(handle, mut expression, span), _, out| {
        if let (Some((hidden, kind)), Expression::Compose { components, .. }) = (parts.get(&handle), &mut expression) {
            for (component, _) in components.iter_mut().zip(hidden).filter(|(_, hidden)| **hidden) {
                *component = out.append(Expression::As { expr: *component, kind: *kind, convert: None }, span);
            }
        }
        out.append(expression, span)
    });
}

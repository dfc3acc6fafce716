//! What expressions and statements refer to.

use std::collections::HashSet;

use naga::{AtomicFunction, Block, Expression, Function, Handle, Statement};

use crate::subgroups;

type Set = HashSet<Handle<Expression>>;

/// The expressions that an expression is made of.
pub(super) fn operands(expression: &Expression, f: &mut dyn FnMut(Handle<Expression>)) {
    match *expression {
        Expression::Access { base, index } => [base, index].into_iter().for_each(f),
        Expression::AccessIndex { base, .. } => f(base),
        Expression::Splat { value, .. } => f(value),
        Expression::Swizzle { vector, .. } => f(vector),
        Expression::Compose { ref components, .. } => components.iter().copied().for_each(f),
        Expression::Load { pointer } => f(pointer),
        Expression::ArrayLength(pointer) => f(pointer),
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => f(expr),
        Expression::Binary { left, right, .. } => [left, right].into_iter().for_each(f),
        Expression::Select { condition, accept, reject } => [condition, accept, reject].into_iter().for_each(f),
        Expression::Relational { argument, .. } => f(argument),
        Expression::Math { arg, arg1, arg2, arg3, .. } => [Some(arg), arg1, arg2, arg3].into_iter().flatten().for_each(f),
        _ => {}
    }
}

/// The expressions that a statement uses by itself.
fn direct(statement: &Statement, f: &mut dyn FnMut(Handle<Expression>)) {
    match *statement {
        Statement::If { condition, .. } => f(condition),
        Statement::Switch { selector, .. } => f(selector),
        Statement::Loop { break_if, .. } => break_if.into_iter().for_each(f),
        Statement::Return { value } => value.into_iter().for_each(f),
        Statement::Store { pointer, value } => [pointer, value].into_iter().for_each(f),
        Statement::Atomic { pointer, fun, value, .. } => {
            let compare = if let AtomicFunction::Exchange { compare } = fun { compare } else { None };
            [Some(pointer), Some(value), compare].into_iter().flatten().for_each(f);
        }
        Statement::WorkGroupUniformLoad { pointer, .. } => f(pointer),
        Statement::Call { ref arguments, .. } => arguments.iter().copied().for_each(f),
        Statement::SubgroupBallot { predicate, .. } => predicate.into_iter().for_each(f),
        Statement::SubgroupGather { mode, argument, .. } => {
            subgroups::index(mode).into_iter().chain([argument]).for_each(f);
        }
        Statement::SubgroupCollectiveOperation { argument, .. } => f(argument),
        _ => {}
    }
}

/// The expression that a statement gives its value to.
pub(crate) fn result(statement: &Statement) -> Option<Handle<Expression>> {
    match *statement {
        Statement::Call { result, .. } | Statement::Atomic { result, .. } => result,
        Statement::WorkGroupUniformLoad { result, .. }
        | Statement::SubgroupBallot { result, .. }
        | Statement::SubgroupGather { result, .. }
        | Statement::SubgroupCollectiveOperation { result, .. } => Some(result),
        _ => None,
    }
}

/// Notes an expression, and whatever it is a pointer to: pointers have no variable, so what they are made of is used in their place.
fn note(function: &Function, at: Handle<Expression>, set: &mut Set) {
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if set.insert(at) {
            operands(&function.expressions[at], &mut |operand| open.push(operand));
        }
    }
}

/// Everything that a block refers to, directly or by way of other expressions.
pub(crate) fn used(function: &Function, block: &Block, set: &mut Set) {
    crate::walk::statements(block, &mut |statement| {
        if let Statement::Emit(range) = statement {
            range.clone().for_each(|at| note(function, at, set));
        }
        direct(statement, &mut |at| note(function, at, set));
    });
}

/// As [`used`], of one expression.
pub(crate) fn used_by(function: &Function, at: Handle<Expression>, set: &mut Set) {
    note(function, at, set);
}

/// Everything that gets its value in a block, in the order of the statements.
pub(super) fn given(block: &Block) -> Vec<Handle<Expression>> {
    let mut out = Vec::new();
    crate::walk::statements(block, &mut |statement| {
        if let Statement::Emit(range) = statement {
            out.extend(range.clone());
        }
        out.extend(result(statement));
    });
    out
}

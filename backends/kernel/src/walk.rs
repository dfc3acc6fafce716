//! Going through the statements of a function, for passes to which their nesting does not matter.

use naga::{Block, Expression, Function, Handle, Module, Span, Statement};

/// Calls `f` for every statement of a block and of the blocks in it, in their order.
pub(crate) fn statements(block: &[Statement], f: &mut dyn FnMut(&Statement)) {
    for statement in block {
        f(statement);
        match statement {
            Statement::Block(inner) => statements(inner, f),
            Statement::If { accept, reject, .. } => {
                statements(accept, f);
                statements(reject, f);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| statements(&case.body, f)),
            Statement::Loop { body, continuing, .. } => {
                statements(body, f);
                statements(continuing, f);
            }
            _ => {}
        }
    }
}

/// The same, to change them: a statement before those inside of it.
pub(crate) fn statements_mut(block: &mut Block, f: &mut dyn FnMut(&mut Statement)) {
    for statement in block.iter_mut() {
        f(statement);
        match statement {
            Statement::Block(inner) => statements_mut(inner, f),
            Statement::If { accept, reject, .. } => {
                statements_mut(accept, f);
                statements_mut(reject, f);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| statements_mut(&mut case.body, f)),
            Statement::Loop { body, continuing, .. } => {
                statements_mut(body, f);
                statements_mut(continuing, f);
            }
            _ => {}
        }
    }
}

/// Whether a block may go on with the next pass of the loop that it is the body of.
pub(crate) fn continues(block: &[Statement]) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Continue => true,
        Statement::Block(inner) => continues(inner),
        Statement::If { accept, reject, .. } => continues(accept) || continues(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| continues(&case.body)),
        _ => false,
    })
}

/// Calls `f` for every call in a block: what is called, with which arguments.
pub(crate) fn calls(block: &Block, mut f: impl FnMut(Handle<Function>, &[Handle<Expression>])) {
    statements(block, &mut |statement| {
        if let Statement::Call { function, arguments, .. } = statement {
            f(*function, arguments);
        }
    });
}

/// What is called, with which arguments, where.
type Called<'a> = dyn FnMut(Handle<Function>, &[Handle<Expression>], Span) + 'a;

/// The same with the place of each call.
pub(crate) fn calls_with_places(block: &Block, f: &mut Called<'_>) {
    for (statement, span) in block.span_iter() {
        match statement {
            Statement::Call { function, arguments, .. } => f(*function, arguments, *span),
            Statement::Block(inner) => calls_with_places(inner, f),
            Statement::If { accept, reject, .. } => {
                calls_with_places(accept, f);
                calls_with_places(reject, f);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| calls_with_places(&case.body, f)),
            Statement::Loop { body, continuing, .. } => {
                calls_with_places(body, f);
                calls_with_places(continuing, f);
            }
            _ => {}
        }
    }
}

/// By function: whether it is called from a block, however far. A function is declared before its callers, so one pass backwards finds all.
pub(crate) fn reached(module: &Module, from: &Block) -> Vec<bool> {
    let mut reached = vec![false; module.functions.len()];
    calls(from, |callee, _| reached[callee.index()] = true);
    for (handle, function) in module.functions.iter().collect::<Vec<_>>().into_iter().rev() {
        if reached[handle.index()] {
            calls(&function.body, |callee, _| reached[callee.index()] = true);
        }
    }
    reached
}

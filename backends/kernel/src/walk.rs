//! Going through the statements of a function, for passes to which their nesting does not matter.

use naga::{Block, Expression, Function, Handle, Module, Statement};

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

/// Calls `f` for every call in a block: what is called, with which arguments.
pub(crate) fn calls(block: &Block, mut f: impl FnMut(Handle<Function>, &[Handle<Expression>])) {
    statements(block, &mut |statement| {
        if let Statement::Call { function, arguments, .. } = statement {
            f(*function, arguments);
        }
    });
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

//! Which inputs of an invocation expressions are.

use naga::{Binding, BuiltIn, Expression, Handle, TypeInner};

use super::flow::Subject;

/// The built-in input that an expression is.
pub(super) fn built_in(subject: Subject<'_>, at: Handle<Expression>) -> Option<BuiltIn> {
    let function = subject.function;
    let binding = match function.expressions[at] {
        Expression::FunctionArgument(index) => function.arguments.get(index as usize)?.binding.as_ref()?,
        Expression::AccessIndex { base, index } => {
            let Expression::FunctionArgument(argument) = function.expressions[base] else { return None };
            let ty = function.arguments.get(argument as usize)?.ty;
            let TypeInner::Struct { ref members, .. } = subject.module.types[ty].inner else { return None };
            members.get(index as usize)?.binding.as_ref()?
        }
        _ => return None,
    };
    match *binding {
        Binding::BuiltIn(built_in) => Some(built_in),
        Binding::Location { .. } => None,
    }
}

//! Words for why a value is not uniform. Only messages come from here.

use naga::{Binding, BuiltIn, Expression, Handle, TypeInner};

use super::flow::Walk;
use super::values::{composed, operands};
use crate::access::root;

/// Steps from a value to what it comes from. What is further away goes by the name of the last step.
const MAX_STEPS: usize = 64;

impl Walk<'_, '_> {
    /// What `expression` depends on that differs between the invocations of a workgroup.
    pub(super) fn explain(&self, mut expression: Handle<Expression>) -> String {
        for _ in 0..MAX_STEPS {
            match &self.function.expressions[expression] {
                Expression::Load { pointer } if self.values.get(*pointer) => return self.place(*pointer),
                Expression::Load { pointer } => expression = *pointer,
                Expression::FunctionArgument(index) => return self.argument_name(*index, None),
                Expression::AccessIndex { base, index } => match self.function.expressions[*base] {
                    Expression::FunctionArgument(argument) => return self.argument_name(argument, Some(*index)),
                    _ => expression = *base,
                },
                Expression::CallResult(callee) => {
                    let name = self.analysis.module.functions[*callee].name.clone().unwrap_or_default();
                    return format!("the result of `{name}`");
                }
                Expression::AtomicResult { .. } => return "the result of an atomic operation".to_owned(),
                Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. } => {
                    return "the result of a subgroup operation".to_owned();
                }
                other => match self.differing(other) {
                    Some(next) => expression = next,
                    None => break,
                },
            }
        }
        "a value that differs between invocations".to_owned()
    }

    fn differing(&self, expression: &Expression) -> Option<Handle<Expression>> {
        let few = operands(expression).unwrap_or_default();
        let many = composed(expression).iter().copied();
        few.into_iter().flatten().chain(many).find(|&e| !self.values.get(e))
    }

    fn place(&self, pointer: Handle<Expression>) -> String {
        match self.function.expressions[root(self.function, pointer)] {
            Expression::LocalVariable(local) => {
                let name = || format!("`{}`", self.function.local_variables[local].name.as_deref().unwrap_or("a variable"));
                self.causes.get(local.index()).cloned().flatten().unwrap_or_else(name)
            }
            Expression::GlobalVariable(global) => {
                let name = self.analysis.module.global_variables[global].name.clone().unwrap_or_default();
                format!("`{name}`, which invocations can write")
            }
            Expression::FunctionArgument(index) => self.argument_name(index, None),
            _ => "a variable".to_owned(),
        }
    }

    fn argument_name(&self, index: u32, member: Option<u32>) -> String {
        let Some(argument) = self.function.arguments.get(index as usize) else { return "an argument".to_owned() };
        let binding = match (&self.analysis.module.types[argument.ty].inner, member) {
            (TypeInner::Struct { members, .. }, Some(m)) => members.get(m as usize).and_then(|m| m.binding.as_ref()),
            _ => argument.binding.as_ref(),
        };
        if let Some(Binding::BuiltIn(builtin)) = binding {
            return format!("`{}`", builtin_name(*builtin));
        }
        match self.arguments.get(index as usize).map(|a| a.name.as_str()) {
            Some(from) if !from.is_empty() => from.to_owned(),
            _ => format!("`{}`", argument.name.as_deref().unwrap_or("an argument")),
        }
    }
}

fn builtin_name(builtin: BuiltIn) -> &'static str {
    match builtin {
        BuiltIn::GlobalInvocationId => "global_invocation_id",
        BuiltIn::LocalInvocationId => "local_invocation_id",
        BuiltIn::LocalInvocationIndex => "local_invocation_index",
        BuiltIn::WorkGroupId => "workgroup_id",
        BuiltIn::NumWorkGroups => "num_workgroups",
        BuiltIn::SubgroupId => "subgroup_id",
        BuiltIn::SubgroupInvocationId => "subgroup_invocation_id",
        _ => "a builtin",
    }
}

//! Which expressions of a function have the same value for a whole workgroup, given what its variables and arguments hold.

use naga::{BuiltIn, Expression, Function, Handle, Module, TypeInner};

use super::{Analysis, Argument, subgroup};
use crate::access::root;

/// What is known inside one function in one context. Flags only ever go from true to false.
pub(super) struct Values {
    /// Per expression.
    pub(super) uniform: Vec<bool>,
    /// Per local variable.
    pub(super) locals: Vec<bool>,
    /// Per argument: what it points to.
    pub(super) contents: Vec<bool>,
    /// Per expression: results of calls that are known not to be uniform.
    pub(super) results: Vec<bool>,
    /// Per expression: results of subgroup operations that are the same for a whole subgroup.
    pub(super) reduced: Vec<bool>,
}

impl Values {
    pub(super) fn new(function: &Function, arguments: &[Argument]) -> Self {
        Self {
            uniform: vec![true; function.expressions.len()],
            locals: vec![true; function.local_variables.len()],
            contents: arguments.iter().map(|a| a.content).collect(),
            results: vec![true; function.expressions.len()],
            reduced: subgroup::reduced(function),
        }
    }

    pub(super) fn get(&self, expression: Handle<Expression>) -> bool {
        self.uniform.get(expression.index()).copied().unwrap_or(false)
    }

    /// Operands come before what uses them in the arena, so one pass in order settles all.
    pub(super) fn update(&mut self, analysis: &Analysis<'_>, function: &Function, arguments: &[Argument]) {
        for (handle, expression) in function.expressions.iter() {
            let uniform = self.expression(analysis, function, arguments, handle, expression);
            if let Some(flag) = self.uniform.get_mut(handle.index()) {
                *flag = uniform;
            }
        }
    }

    fn expression(
        &self,
        analysis: &Analysis<'_>,
        function: &Function,
        arguments: &[Argument],
        handle: Handle<Expression>,
        expression: &Expression,
    ) -> bool {
        match expression {
            Expression::FunctionArgument(index) => arguments.get(*index as usize).is_some_and(|a| a.value),
            Expression::AccessIndex { base, index } => match function.expressions[*base] {
                Expression::FunctionArgument(argument) => member(arguments, argument, *index).unwrap_or_else(|| self.get(*base)),
                _ => self.get(*base),
            },
            Expression::Load { pointer } => self.get(*pointer) && self.content(analysis, function, *pointer),
            Expression::CallResult(_) => self.results.get(handle.index()).copied().unwrap_or(false),
            Expression::AtomicResult { .. } => false,
            // Another for each subgroup.
            Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. } => false,
            // It is refused where it is not reached by all together.
            Expression::WorkGroupUniformLoadResult { .. } => true,
            // The length of a binding, whoever asks.
            Expression::ArrayLength(_) => true,
            other => match operands(other) {
                Some(operands) => operands.iter().flatten().all(|&e| self.get(e)) && composed(other).iter().all(|&e| self.get(e)),
                None => false,
            },
        }
    }

    /// Whether what `pointer` leads into is uniform as a whole.
    pub(super) fn content(&self, analysis: &Analysis<'_>, function: &Function, pointer: Handle<Expression>) -> bool {
        match function.expressions[root(function, pointer)] {
            Expression::GlobalVariable(global) => analysis.global(global),
            Expression::LocalVariable(local) => self.locals.get(local.index()).copied().unwrap_or(false),
            Expression::FunctionArgument(index) => self.contents.get(index as usize).copied().unwrap_or(false),
            _ => false,
        }
    }
}

fn member(arguments: &[Argument], argument: u32, index: u32) -> Option<bool> {
    arguments.get(argument as usize)?.members.get(index as usize).copied()
}

/// The operands of an expression that computes from nothing else; `None` for expressions that do not, or that are not known here.
pub(super) fn operands(expression: &Expression) -> Option<[Option<Handle<Expression>>; 4]> {
    Some(match *expression {
        Expression::Literal(_)
        | Expression::Constant(_)
        | Expression::Override(_)
        | Expression::ZeroValue(_)
        | Expression::GlobalVariable(_)
        | Expression::LocalVariable(_)
        | Expression::Compose { .. } => [None; 4],
        Expression::Access { base, index } => [Some(base), Some(index), None, None],
        Expression::AccessIndex { base, .. } => [Some(base), None, None, None],
        Expression::Splat { value, .. } => [Some(value), None, None, None],
        Expression::Swizzle { vector, .. } => [Some(vector), None, None, None],
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => [Some(expr), None, None, None],
        Expression::Binary { left, right, .. } => [Some(left), Some(right), None, None],
        Expression::Select { condition, accept, reject } => [Some(condition), Some(accept), Some(reject), None],
        Expression::Relational { argument, .. } => [Some(argument), None, None, None],
        Expression::Math { arg, arg1, arg2, arg3, .. } => [Some(arg), arg1, arg2, arg3],
        _ => return None,
    })
}

/// The operands of a composition, which may be many.
pub(super) fn composed(expression: &Expression) -> &[Handle<Expression>] {
    match expression {
        Expression::Compose { components, .. } => components,
        _ => &[],
    }
}

/// The arguments of an entry point: builtins, or structures of them.
pub(super) fn builtins(module: &Module, function: &Function) -> Vec<Argument> {
    let argument = |a: &naga::FunctionArgument| {
        let members: Vec<bool> = match &module.types[a.ty].inner {
            TypeInner::Struct { members, .. } => members.iter().map(|m| uniform(m.binding.as_ref())).collect(),
            _ => Vec::new(),
        };
        let value = if members.is_empty() { uniform(a.binding.as_ref()) } else { members.iter().all(|&m| m) };
        Argument { value, content: value, name: a.name.clone().unwrap_or_default(), members }
    };
    function.arguments.iter().map(argument).collect()
}

fn uniform(binding: Option<&naga::Binding>) -> bool {
    let same = [BuiltIn::WorkGroupId, BuiltIn::NumWorkGroups, BuiltIn::SubgroupSize, BuiltIn::NumSubgroups];
    matches!(binding, Some(naga::Binding::BuiltIn(builtin)) if same.contains(builtin))
}

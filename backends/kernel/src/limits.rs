//! Bounds on a validated module that its tokens do not show: what one invocation needs, how far calls expand, how deep types nest. They keep every
//! device's translation bounded in time, memory and depth. What validation leaves out beside them is asked for here, too (`skipped`).
//!
//! The bounds are listed in `docs/kernels.md`; change both together.

use std::ops::Range;

use naga::valid::ModuleInfo;
use naga::{AddressSpace, Expression, Function, Handle, Module, Statement, Type, TypeInner};

use crate::diagnostics::Finding;
use crate::skipped;

/// Bytes of variables that one invocation may have alive at once, over the deepest chain of calls.
const MAX_VARIABLES: u64 = 64 << 10;
/// Bytes of arrays and structures that the expressions of one function may produce as values.
const MAX_VALUES: u64 = 1 << 20;
/// Functions that may be active inside each other.
const MAX_CALLS: u32 = 64;
/// Expressions and statements of an entry point when every call is replaced by the function.
const MAX_EXPANDED: u64 = 1 << 20;
/// Structures, arrays, matrices and vectors inside each other.
const MAX_NESTING: u32 = 15;

/// Everything in `module` that is over a bound.
pub(crate) fn check(module: &Module, info: &ModuleInfo) -> Vec<Finding> {
    let mut findings = nesting(module);
    findings.extend(skipped::check(module));
    let mut costs: Vec<Cost> = Vec::new();
    for (handle, function) in module.functions.iter() {
        let cost = Cost::of(module, &info[handle], function, &costs);
        let at = module.functions.get_span(handle).to_range();
        cost.check(function.name.as_deref().unwrap_or_default(), at, &mut findings);
        costs.push(cost);
    }
    let private: u64 =
        module.global_variables.iter().filter(|(_, v)| v.space == AddressSpace::Private).map(|(_, v)| size(module, v.ty)).sum();
    for (index, entry) in module.entry_points.iter().enumerate() {
        let mut cost = Cost::of(module, info.get_entry_point(index), &entry.function, &costs);
        cost.variables = cost.variables.saturating_add(private);
        let at = entry.function.body.span_iter().next().and_then(|(_, span)| span.to_range());
        cost.check(&entry.name, at.clone(), &mut findings);
        workgroup_size(entry, at, &mut findings);
    }
    findings
}

/// Invocations of a workgroup, when their number is already known.
pub(crate) fn workgroup_size(entry: &naga::EntryPoint, at: Option<Range<usize>>, findings: &mut Vec<Finding>) {
    let [x, y, z] = entry.workgroup_size;
    let product = u64::from(x).checked_mul(u64::from(y)).and_then(|p| p.checked_mul(u64::from(z)));
    if product.is_none_or(|p| p > u64::from(u32::MAX)) {
        let message = format!("the workgroup size {x} x {y} x {z} of `{}` has more than {} invocations", entry.name, u32::MAX);
        findings.push(Finding::new(message, at));
    }
}

fn nesting(module: &Module) -> Vec<Finding> {
    let mut depths: Vec<u32> = Vec::with_capacity(module.types.len());
    let mut findings = Vec::new();
    for (handle, ty) in module.types.iter() {
        let of = |inner: Handle<Type>| depths.get(inner.index()).copied().unwrap_or(0);
        let depth = match &ty.inner {
            TypeInner::Vector { .. } => 1,
            TypeInner::Matrix { .. } => 2,
            TypeInner::Array { base, .. } => of(*base).saturating_add(1),
            TypeInner::Struct { members, .. } => members.iter().map(|m| of(m.ty)).max().unwrap_or(0).saturating_add(1),
            _ => 0,
        };
        depths.push(depth);
        if depth == MAX_NESTING + 1 {
            let message = format!(
                "this type is nested too deeply: at most {MAX_NESTING} structures, arrays and vectors may be inside each other"
            );
            findings.push(Finding::span(message, module.types.get_span(handle)));
        }
    }
    findings
}

fn size(module: &Module, ty: Handle<Type>) -> u64 {
    module.types[ty].inner.try_size(module.to_ctx()).map_or(u64::MAX >> 16, u64::from)
}

/// What a function costs, its callees included.
#[derive(Clone, Copy)]
struct Cost {
    variables: u64,
    values: u64,
    calls: u32,
    expanded: u64,
}

impl Cost {
    fn of(module: &Module, info: &naga::valid::FunctionInfo, function: &Function, callees: &[Self]) -> Self {
        let variables =
            function.local_variables.iter().map(|(_, v)| size(module, v.ty).saturating_add(15)).fold(0, u64::saturating_add);
        let mut cost = Self { variables, values: 0, calls: 1, expanded: function.expressions.len() as u64 };
        for (handle, expression) in function.expressions.iter() {
            cost.values = cost.values.saturating_add(value_size(module, info, handle, expression));
        }
        let mut called = Called { deepest: 0, variables: 0 };
        cost.block(&function.body, callees, &mut called);
        cost.calls += called.deepest;
        cost.variables = cost.variables.saturating_add(called.variables);
        cost
    }

    fn block(&mut self, block: &naga::Block, callees: &[Self], called: &mut Called) {
        for statement in block {
            self.expanded = self.expanded.saturating_add(1);
            match statement {
                Statement::Block(inner) => self.block(inner, callees, called),
                Statement::If { accept, reject, .. } => {
                    self.block(accept, callees, called);
                    self.block(reject, callees, called);
                }
                Statement::Switch { cases, .. } => cases.iter().for_each(|case| self.block(&case.body, callees, called)),
                Statement::Loop { body, continuing, .. } => {
                    self.block(body, callees, called);
                    self.block(continuing, callees, called);
                }
                Statement::Call { function, .. } => {
                    if let Some(callee) = callees.get(function.index()) {
                        self.expanded = self.expanded.saturating_add(callee.expanded);
                        called.deepest = called.deepest.max(callee.calls);
                        called.variables = called.variables.max(callee.variables);
                    }
                }
                _ => {}
            }
        }
    }

    fn check(&self, name: &str, at: Option<Range<usize>>, findings: &mut Vec<Finding>) {
        let mut refuse = |over: bool, message: String| {
            if over {
                findings.push(Finding::new(message, at.clone()));
            }
        };
        refuse(
            self.variables > MAX_VARIABLES,
            format!("`{name}` needs {} bytes of variables per invocation; at most {MAX_VARIABLES} are allowed", self.variables),
        );
        refuse(
            self.values > MAX_VALUES,
            format!(
                "`{name}` handles {} bytes of arrays and structures as values; at most {MAX_VALUES} are allowed: use pointers or references",
                self.values
            ),
        );
        refuse(
            self.calls > MAX_CALLS,
            format!("calls in `{name}` are nested too deeply: at most {MAX_CALLS} may be inside each other"),
        );
        refuse(
            self.expanded > MAX_EXPANDED,
            format!("`{name}` is too large: with its calls expanded it has more than {MAX_EXPANDED} operations"),
        );
    }
}

struct Called {
    deepest: u32,
    variables: u64,
}

/// Bytes of an array or structure that an expression makes anew. A constant is one copy of its own, a part of a value none.
fn value_size(module: &Module, info: &naga::valid::FunctionInfo, handle: Handle<Expression>, expression: &Expression) -> u64 {
    let inner = info[handle].ty.inner_with(&module.types);
    match (expression, inner) {
        (Expression::Access { .. } | Expression::AccessIndex { .. } | Expression::FunctionArgument(_), _) => 0,
        (_, TypeInner::Array { .. } | TypeInner::Struct { .. }) => {
            inner.try_size(module.to_ctx()).map_or(MAX_VALUES + 1, u64::from)
        }
        _ => 0,
    }
}

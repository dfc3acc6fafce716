//! Upper bounds of index expressions that are known when the code is made, so that their checks can be left out.
//!
//! What conditions prove, and what operators do to bounds, is `compute_kernel::range`'s. Here is what the inlined program says of its loops: a bound is exclusive and holds for the index read as an
//! unsigned number, and whoever needs proof of more keeps the check.

use std::collections::HashMap;

use compute_kernel::range::{self, Code, ModuleRanges};
use naga::{BinaryOperator, BuiltIn, Expression, Handle, Statement};

use super::program::{Kind, LocalId, Node, Program, Resolved, TargetId, ValueRef};

/// What is known of an index.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// What it is below.
    pub(super) bound: Option<u64>,
    /// Whether it is in range where the access stands.
    pub(super) here: bool,
}

/// Bounds that follow from where an expression stands.
pub(super) struct Ranges<'a> {
    /// What is known of functions before they are inlined.
    functions: ModuleRanges<'a>,
    /// By value number: loads of loop counters behind the loop's condition.
    counters: HashMap<u32, u64>,
    /// By the end of a loop: passes that it makes at most.
    passes: HashMap<TargetId, u64>,
}

impl<'a> Ranges<'a> {
    pub(super) fn find(program: &Program<'a>, index: usize) -> Self {
        let functions = ModuleRanges::find(program.module, program.module_info, index);
        let mut ranges = Self { functions, counters: HashMap::new(), passes: HashMap::new() };
        ranges.loops(program, &program.body);
        ranges
    }

    fn loops(&mut self, program: &Program<'_>, nodes: &[Node<'_>]) {
        for node in nodes {
            match node.kind {
                Kind::If { ref accept, ref reject, .. } => {
                    self.loops(program, accept);
                    self.loops(program, reject);
                }
                Kind::Switch { ref cases, .. } => cases.iter().for_each(|c| self.loops(program, &c.body)),
                Kind::Call { ref body, .. } => self.loops(program, body),
                Kind::Loop { exit, ref body, ref continuing, .. } => {
                    if let Some((local, bound)) = guard(program, exit, body)
                        && !writes(program, body, local)
                    {
                        // A body that never runs may claim what it likes, but a bound is never below one.
                        self.counted(program, body, local, bound.max(1));
                        if counts_up(program, continuing, local, bound) {
                            self.passes.insert(exit, bound);
                        }
                    }
                    self.loops(program, body);
                    self.loops(program, continuing);
                }
                _ => {}
            }
        }
    }

    /// Notes the loads of a counter in a loop's body behind its condition.
    fn counted(&mut self, program: &Program<'_>, body: &[Node<'_>], local: LocalId, bound: u64) {
        let start = body.iter().position(|n| matches!(n.kind, Kind::If { .. })).map_or(body.len(), |i| i + 1);
        for_each_emit(&body[start..], &mut |at| {
            if load_of(program, at) == Some(local) {
                self.counters.insert(program.number(at), bound);
            }
        });
    }

    /// How many passes a loop makes at most.
    pub(super) fn passes(&self, exit: TargetId) -> Option<u64> {
        self.passes.get(&exit).copied()
    }

    /// What is known of the index of an access.
    pub(super) fn known(&self, program: &Program<'_>, access: ValueRef, index: ValueRef) -> Known {
        let bound = range::bound(&Tree { program, ranges: Some(self) }, index);
        Known { bound, ..self.known_here(program, access) }
    }

    /// The same of an index that is a constant.
    pub(super) fn known_here(&self, program: &Program<'_>, access: ValueRef) -> Known {
        let function = self.functions.of(program.frame(access.frame).handle);
        Known { bound: None, here: function.is_some_and(|function| function.in_range(access.expr)) }
    }
}

/// The program with what is known of its loops.
struct Tree<'r, 'p> {
    program: &'r Program<'p>,
    /// Nothing for constants, to which it does not matter.
    ranges: Option<&'r Ranges<'p>>,
}

impl Code for Tree<'_, '_> {
    type At = ValueRef;

    fn module(&self) -> &naga::Module {
        self.program.module
    }
    fn origin(&self, at: ValueRef) -> ValueRef {
        self.program.origin(at)
    }
    fn expression(&self, at: ValueRef) -> &Expression {
        self.program.expression(at)
    }
    fn operand(&self, of: ValueRef, operand: Handle<Expression>) -> ValueRef {
        ValueRef { expr: operand, ..of }
    }
    fn scalar(&self, at: ValueRef) -> Option<naga::Scalar> {
        scalar(self.program, at)
    }
    fn built_in(&self, at: ValueRef) -> Option<BuiltIn> {
        built_in(self.program, at)
    }
    fn known(&self, at: ValueRef) -> Option<u64> {
        match self.program.resolve(at) {
            Resolved::Value(number) => self.ranges?.counters.get(&number).copied(),
            _ => None,
        }
    }
    fn workgroup_size(&self) -> [u32; 3] {
        self.program.entry.workgroup_size
    }
}

/// A constant that is an integer and not negative.
fn number(program: &Program<'_>, at: ValueRef) -> Option<u64> {
    range::number(&Tree { program, ranges: None }, at)
}

/// The counter and bound of a loop whose body begins with `if (counter < bound) {} else { break; }`, for an unsigned counter that is
/// loaded there: a condition from before the loop says nothing about later passes.
fn guard(program: &Program<'_>, exit: TargetId, body: &[Node<'_>]) -> Option<(LocalId, u64)> {
    let first = body.iter().find(|n| !matches!(n.kind, Kind::Emit(..)))?;
    let Kind::If { condition, ref accept, ref reject } = first.kind else { return None };
    if !accept.is_empty() || !matches!(reject[..], [Node { kind: Kind::Jump(to), .. }] if to == exit) {
        return None;
    }
    let Expression::Binary { op: BinaryOperator::Less, left, right } = *program.expression(condition) else { return None };
    let (left, right) = (ValueRef { expr: left, ..condition }, ValueRef { expr: right, ..condition });
    let mut fresh = false;
    for node in body.iter().take_while(|n| matches!(n.kind, Kind::Emit(..))) {
        for_each_emit(std::slice::from_ref(node), &mut |at| fresh |= at == left);
    }
    let local = load_of(program, left).filter(|_| fresh && is_unsigned(program, left))?;
    Some((local, number(program, right)?))
}

/// Whether a continuing block does nothing to a counter but add a constant, once, without wrapping.
fn counts_up(program: &Program<'_>, continuing: &[Node<'_>], local: LocalId, bound: u64) -> bool {
    let (mut loads, mut steps, mut others) = (Vec::new(), 0, 0);
    for node in continuing {
        match node.kind {
            Kind::Emit(..) => for_each_emit(std::slice::from_ref(node), &mut |at| {
                if load_of(program, at) == Some(local) {
                    loads.push(at);
                }
            }),
            Kind::Plain(frame, &Statement::Store { pointer, value }) => {
                let at = |expr| ValueRef { frame, expr };
                if program.root(at(pointer)).is_none_or(|(to, _)| to != local) {
                    continue;
                }
                let Expression::Binary { op: BinaryOperator::Add, left, right } = *program.expression(at(value)) else {
                    return false;
                };
                let step = number(program, at(right)).is_some_and(|s| s > 0 && bound.saturating_add(s) <= 1 << 32);
                if loads.contains(&at(left)) && step {
                    steps += 1;
                } else {
                    return false;
                }
            }
            _ => others += usize::from(writes(program, std::slice::from_ref(node), local)),
        }
    }
    steps == 1 && others == 0
}

/// The variable that an expression loads, all of it.
fn load_of(program: &Program<'_>, at: ValueRef) -> Option<LocalId> {
    let Expression::Load { pointer } = *program.expression(at) else { return None };
    program.root(ValueRef { expr: pointer, ..at }).filter(|(_, whole)| *whole).map(|(local, _)| local)
}

fn writes(program: &Program<'_>, nodes: &[Node<'_>], local: LocalId) -> bool {
    nodes.iter().any(|node| match node.kind {
        Kind::Init(to) | Kind::SetResult(to, _) => to == local,
        Kind::Plain(frame, &Statement::Store { pointer, .. }) => {
            program.root(ValueRef { frame, expr: pointer }).is_some_and(|(to, _)| to == local)
        }
        Kind::If { ref accept, ref reject, .. } => writes(program, accept, local) || writes(program, reject, local),
        Kind::Switch { ref cases, .. } => cases.iter().any(|c| writes(program, &c.body, local)),
        Kind::Loop { ref body, ref continuing, .. } => writes(program, body, local) || writes(program, continuing, local),
        Kind::Call { ref body, .. } => writes(program, body, local),
        _ => false,
    })
}

fn for_each_emit(nodes: &[Node<'_>], f: &mut dyn FnMut(ValueRef)) {
    for node in nodes {
        match node.kind {
            Kind::Emit(frame, range) => range.clone().for_each(|expr| f(ValueRef { frame, expr })),
            Kind::If { ref accept, ref reject, .. } => {
                for_each_emit(accept, f);
                for_each_emit(reject, f);
            }
            Kind::Switch { ref cases, .. } => cases.iter().for_each(|c| for_each_emit(&c.body, f)),
            Kind::Loop { ref body, ref continuing, .. } => {
                for_each_emit(body, f);
                for_each_emit(continuing, f);
            }
            Kind::Call { ref body, .. } => for_each_emit(body, f),
            _ => {}
        }
    }
}

/// Whether an expression is a u32, or a vector of them.
fn is_unsigned(program: &Program<'_>, at: ValueRef) -> bool {
    scalar(program, at) == Some(naga::Scalar::U32)
}

fn scalar(program: &Program<'_>, at: ValueRef) -> Option<naga::Scalar> {
    program.frame(at.frame).info[at.expr].ty.inner_with(&program.module.types).scalar()
}

/// The built-in input that an expression is.
fn built_in(program: &Program<'_>, at: ValueRef) -> Option<BuiltIn> {
    let at = program.origin(at);
    let Expression::FunctionArgument(index) = *program.expression(at) else { return None };
    match program.frame(at.frame).function.arguments.get(index as usize)?.binding {
        Some(naga::Binding::BuiltIn(built_in)) => Some(built_in),
        _ => None,
    }
}

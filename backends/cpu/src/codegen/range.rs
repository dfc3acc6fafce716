//! Upper bounds of index expressions that are known when the code is made, so that their checks can be left out.
//!
//! A bound is exclusive and holds for the index read as an unsigned number. Whoever needs proof of more keeps the check. Only numbers of 32 bits have
//! bounds: what is known here of wrapping and signs is known of them.

use std::collections::HashMap;

use naga::{BinaryOperator, BuiltIn, Expression, Literal, MathFunction, ScalarKind, Statement};

use super::program::{Kind, LocalId, Node, Program, Resolved, TargetId, ValueRef};

/// Operators that a bound is followed through.
const DEPTH: u32 = 8;

/// Bounds that follow from where an expression stands.
pub(super) struct Ranges {
    /// By value number: loads of loop counters behind the loop's condition.
    counters: HashMap<u32, u64>,
    /// By the end of a loop: passes that it makes at most.
    passes: HashMap<TargetId, u64>,
    workgroup_size: [u32; 3],
}

impl Ranges {
    pub(super) fn find(program: &Program<'_>, workgroup_size: [u32; 3]) -> Self {
        let mut ranges = Self { counters: HashMap::new(), passes: HashMap::new(), workgroup_size };
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

    /// The exclusive bound of an index.
    pub(super) fn bound(&self, program: &Program<'_>, index: ValueRef) -> Option<u64> {
        self.follow(program, index, DEPTH)
    }

    fn follow(&self, program: &Program<'_>, value: ValueRef, depth: u32) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        if !is_word(program, value) {
            return None;
        }
        if let Resolved::Value(number) = program.resolve(value)
            && let Some(bound) = self.counters.get(&number)
        {
            return Some(*bound);
        }
        let at = program.origin(value);
        let operand = |expr| ValueRef { expr, ..at };
        match *program.expression(at) {
            Expression::Binary { op, left, right } => self.binary(program, op, operand(left), operand(right), depth),
            Expression::AccessIndex { base, index } => match built_in(program, operand(base))? {
                BuiltIn::LocalInvocationId => self.workgroup_size.get(index as usize).map(|n| u64::from(*n)),
                _ => None,
            },
            Expression::FunctionArgument(_) => match built_in(program, at)? {
                BuiltIn::LocalInvocationIndex => Some(self.workgroup_size.iter().map(|n| u64::from(*n)).product()),
                _ => None,
            },
            // Reinterpretation and conversion between integers change nothing.
            Expression::As { expr, kind: ScalarKind::Sint | ScalarKind::Uint, .. } => {
                let from = program.frame(at.frame).info[expr].ty.inner_with(&program.module.types).scalar_kind()?;
                matches!(from, ScalarKind::Sint | ScalarKind::Uint).then(|| self.follow(program, operand(expr), depth))?
            }
            Expression::Select { accept, reject, .. } => {
                let (a, b) = (self.follow(program, operand(accept), depth)?, self.follow(program, operand(reject), depth)?);
                Some(a.max(b))
            }
            Expression::Math { fun: MathFunction::Min, arg, arg1: Some(other), .. } if is_unsigned(program, at) => {
                let bounds = [arg, other].map(|expr| self.follow(program, operand(expr), depth));
                bounds.into_iter().flatten().min()
            }
            _ => number(program, at)?.checked_add(1),
        }
    }

    fn binary(&self, program: &Program<'_>, op: BinaryOperator, left: ValueRef, right: ValueRef, depth: u32) -> Option<u64> {
        let (a, b) = (self.follow(program, left, depth), self.follow(program, right, depth));
        let most = |bound: u64| (bound <= 1 << 31).then_some(bound);
        match op {
            // A number below 2^31 has no sign, and what is masked with it neither.
            BinaryOperator::And => a.and_then(most).into_iter().chain(b.and_then(most)).min(),
            BinaryOperator::Add => most((a? - 1).checked_add(b? - 1)? + 1),
            BinaryOperator::Multiply => most((a? - 1).checked_mul(b? - 1)? + 1),
            BinaryOperator::Modulo => {
                let divisor = number(program, right).filter(|d| *d > 0)?;
                let fits = is_unsigned(program, left) || a.and_then(most).is_some();
                fits.then(|| a.map_or(divisor, |a| a.min(divisor)))
            }
            BinaryOperator::Divide => {
                let divisor = number(program, right).filter(|d| *d > 0)?;
                Some((dividend(program, left, a)? - 1) / divisor + 1)
            }
            BinaryOperator::ShiftRight => {
                let count = number(program, right).filter(|c| *c < 32)?;
                Some(((dividend(program, left, a)? - 1) >> count) + 1)
            }
            _ => None,
        }
    }
}

/// The bound of something that is divided or shifted down: known, or that of its type; never negative.
fn dividend(program: &Program<'_>, at: ValueRef, bound: Option<u64>) -> Option<u64> {
    if is_unsigned(program, at) {
        return Some(bound.unwrap_or(1 << 32));
    }
    bound.filter(|b| *b <= 1 << 31)
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

/// A constant that is an integer and not negative.
fn number(program: &Program<'_>, at: ValueRef) -> Option<u64> {
    let literal = match *program.expression(program.origin(at)) {
        Expression::Literal(literal) => literal,
        Expression::Constant(handle) => match program.module.global_expressions[program.module.constants[handle].init] {
            Expression::Literal(literal) => literal,
            _ => return None,
        },
        _ => return None,
    };
    match literal {
        Literal::U32(v) => Some(u64::from(v)),
        Literal::I32(v) => u64::try_from(v).ok(),
        _ => None,
    }
}

/// Whether an expression is a u32, or a vector of them.
fn is_unsigned(program: &Program<'_>, at: ValueRef) -> bool {
    scalar(program, at) == Some(naga::Scalar::U32)
}

/// Whether an expression is an integer of 32 bits, or a vector of them.
fn is_word(program: &Program<'_>, at: ValueRef) -> bool {
    matches!(scalar(program, at), Some(naga::Scalar::U32 | naga::Scalar::I32))
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

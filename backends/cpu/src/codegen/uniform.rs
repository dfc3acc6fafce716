//! State of the whole workgroup: variables and values that the outer control flow depends on and that are computed once, outside of runs.
//!
//! That a condition around a barrier is uniform is known already; this finds those whose way to a value is made of nothing but uniform
//! inputs and outer statements, so that no run is needed to compute them. Where in doubt, a condition is computed by all
//! invocations and the first one's value is taken.

use naga::{AddressSpace, BuiltIn, Expression, Statement, StorageAccess};

use super::layout::Layout;
use super::program::{FrameId, Kind, LocalId, Node, Program, Resolved, TargetId, ValueRef};
use super::usage::for_each_operand;

/// Values and writes that are looked at until variables are settled; then none is computed once. A kernel takes a few passes over what it has.
const STEPS: usize = 1 << 23;

/// What is computed once.
pub(super) struct Uniform {
    /// By variable.
    pub(super) locals: Vec<bool>,
    /// By value number.
    pub(super) values: Vec<bool>,
}

/// A write of a variable: its value, unless constant.
struct Write {
    local: LocalId,
    value: Option<ValueRef>,
}

struct Finder<'p, 'a> {
    program: &'p Program<'a>,
    /// By value number: evaluated at the outer level.
    outer_values: Vec<bool>,
    /// By variable: may still be uniform.
    candidates: Vec<bool>,
    writes: Vec<Write>,
    conditions: Vec<ValueRef>,
    /// Outer constructs around the current place, and whether an invocation may have left them early.
    constructs: Vec<(TargetId, bool)>,
}

impl Uniform {
    pub(super) fn find(program: &Program<'_>, layout: &Layout<'_>, body: &[Node<'_>]) -> Self {
        let direct = |l: &super::program::Local| !l.indexed && layout.is_small(l.shape);
        let mut finder = Finder {
            program,
            outer_values: vec![false; program.values()],
            candidates: program.locals.iter().map(direct).collect(),
            writes: Vec::new(),
            conditions: Vec::new(),
            constructs: vec![(program.exit, false)],
        };
        finder.outer(body);
        let known = finder.settle();
        finder.needed(&known)
    }
}

impl<'a> Finder<'_, 'a> {
    /// Collects what happens in a list at the outer level.
    fn outer(&mut self, nodes: &[Node<'a>]) {
        for node in nodes {
            let before = self.constructs.len();
            match node.kind {
                Kind::Emit(frame, range) => {
                    for expr in range.clone() {
                        self.outer_values[self.program.number(ValueRef { frame, expr }) as usize] = true;
                    }
                }
                Kind::UniformLoad { pointer, result } => {
                    self.conditions.push(pointer);
                    self.outer_values[self.program.number(result) as usize] = true;
                }
                // A distance that is the same for all is passed as it is.
                Kind::Exchange(ref exchange) => self.conditions.extend(exchange.index),
                Kind::Init(local) => self.write(local, None),
                Kind::SetResult(local, value) => self.write(local, Some(value)),
                Kind::Plain(frame, &Statement::Store { pointer, value }) => {
                    match self.program.root(ValueRef { frame, expr: pointer }) {
                        Some((local, true)) => self.write(local, Some(ValueRef { frame, expr: value })),
                        Some((local, false)) => self.candidates[local.0 as usize] = false,
                        None => {}
                    }
                }
                _ if !node.outer => self.inside(node),
                Kind::If { condition, ref accept, ref reject } => {
                    self.conditions.push(condition);
                    self.outer(accept);
                    self.outer(reject);
                }
                Kind::Switch { exit, selector, ref cases } => {
                    self.conditions.push(selector);
                    self.constructs.push((exit, false));
                    cases.iter().for_each(|c| self.outer(&c.body));
                }
                Kind::Call { exit, ref body } => {
                    self.constructs.push((exit, false));
                    self.outer(body);
                }
                Kind::Loop { exit, next, ref body, ref continuing, break_if } => {
                    self.conditions.extend(break_if);
                    self.constructs.extend([(exit, false), (next, false)]);
                    self.outer(body);
                    self.constructs.pop();
                    self.outer(continuing);
                }
                _ => {}
            }
            self.constructs.truncate(before);
        }
    }

    fn write(&mut self, local: LocalId, value: Option<ValueRef>) {
        // Those that have left a construct do not take part in what is written in the rest of it.
        if self.constructs.iter().any(|(_, left)| *left) {
            self.candidates[local.0 as usize] = false;
        }
        self.writes.push(Write { local, value });
    }

    /// Inside a run nothing uniform is written; jumps out of it leave constructs early.
    fn inside(&mut self, node: &Node<'a>) {
        let mut all = |nodes: &[Node<'a>]| nodes.iter().for_each(|n| self.inside(n));
        match node.kind {
            Kind::If { ref accept, ref reject, .. } => {
                all(accept);
                all(reject);
            }
            Kind::Switch { ref cases, .. } => cases.iter().for_each(|c| all(&c.body)),
            Kind::Call { ref body, .. } => all(body),
            Kind::Loop { ref body, ref continuing, .. } => {
                all(body);
                all(continuing);
            }
            Kind::Jump(to) => {
                self.constructs.iter_mut().filter(|(target, _)| *target == to).for_each(|(_, left)| *left = true);
            }
            Kind::Init(local) | Kind::SetResult(local, _) => self.candidates[local.0 as usize] = false,
            Kind::Plain(frame, &Statement::Store { pointer, .. }) => {
                if let Some((local, _)) = self.program.root(ValueRef { frame, expr: pointer }) {
                    self.candidates[local.0 as usize] = false;
                }
            }
            _ => {}
        }
    }

    /// Drops variables that are written with something not uniform, until none is left. Says by value number which values are uniform then.
    fn settle(&mut self) -> Vec<bool> {
        let mut steps = 0;
        loop {
            let known = self.known();
            let before = self.candidates.iter().filter(|is| **is).count();
            for write in &self.writes {
                if write.value.is_some_and(|value| !self.is_known(value, &known)) {
                    self.candidates[write.local.0 as usize] = false;
                }
            }
            if self.candidates.iter().filter(|is| **is).count() == before {
                return known;
            }
            // One pass may drop one variable only. Without any, the next pass is the last.
            steps += known.len() + self.writes.len();
            if steps > STEPS {
                self.candidates.fill(false);
            }
        }
    }

    /// Callers' values have lower numbers than those of their callees, and operands lower ones than their uses: one pass settles all, whatever the
    /// length of a chain.
    fn known(&self) -> Vec<bool> {
        let mut known = Vec::with_capacity(self.program.values());
        for (frame, id) in self.program.frames.iter().zip(0..) {
            for (expr, _) in frame.function.expressions.iter() {
                let value = ValueRef { frame: FrameId(id), expr };
                let uniform = match self.program.resolve(value) {
                    Resolved::Value(number) if number == self.program.number(value) => {
                        self.outer_values[number as usize] && self.is_uniform_expression(value, &known)
                    }
                    Resolved::Anywhere(origin) if origin == value => self.is_uniform_expression(value, &known),
                    // An argument is what the caller gives.
                    _ => self.is_known(value, &known),
                };
                known.push(uniform);
            }
        }
        known
    }

    fn is_known(&self, value: ValueRef, known: &[bool]) -> bool {
        let number = match self.program.resolve(value) {
            Resolved::Anywhere(origin) => self.program.number(origin),
            Resolved::Value(number) => number,
        };
        known.get(number as usize) == Some(&true)
    }

    fn is_uniform_expression(&self, at: ValueRef, known: &[bool]) -> bool {
        let inputs = match *self.program.expression(at) {
            Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => true,
            Expression::GlobalVariable(handle) => match self.program.module.global_variables[handle].space {
                AddressSpace::Uniform | AddressSpace::Immediate | AddressSpace::WorkGroup => true,
                AddressSpace::Storage { .. } => true,
                _ => self.program.private(handle).is_some(),
            },
            Expression::LocalVariable(_) | Expression::WorkGroupUniformLoadResult { .. } => true,
            Expression::FunctionArgument(index) => self.is_uniform_input(at, index),
            Expression::Load { pointer } => self.is_uniform_load(ValueRef { expr: pointer, ..at }),
            Expression::CallResult(_) | Expression::AtomicResult { .. } => false,
            Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. } => false,
            _ => true,
        };
        let mut all = inputs;
        for_each_operand(self.program.expression(at), &mut |expr| all = all && self.is_known(ValueRef { expr, ..at }, known));
        all
    }

    fn is_uniform_input(&self, at: ValueRef, index: u32) -> bool {
        let argument = self.program.frame(at.frame).function.arguments.get(index as usize);
        let Some(Some(naga::Binding::BuiltIn(built_in))) = argument.map(|a| &a.binding) else { return false };
        let same =
            [BuiltIn::WorkGroupId, BuiltIn::NumWorkGroups, BuiltIn::WorkGroupSize, BuiltIn::SubgroupSize, BuiltIn::NumSubgroups];
        same.contains(built_in)
    }

    /// Whether what a pointer leads to is the same for all, and is changed at the outer level only. The pointer's indices are operands.
    fn is_uniform_load(&self, pointer: ValueRef) -> bool {
        if let Some((local, _)) = self.program.root(pointer) {
            return self.candidates[local.0 as usize];
        }
        let mut at = self.program.origin(pointer);
        loop {
            let base = match *self.program.expression(at) {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => base,
                Expression::GlobalVariable(handle) => {
                    return match self.program.module.global_variables[handle].space {
                        AddressSpace::Uniform | AddressSpace::Immediate => true,
                        AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
                        _ => false,
                    };
                }
                _ => return false,
            };
            at = self.program.origin(ValueRef { expr: base, ..at });
        }
    }

    /// What the conditions need, so that no more than that is computed outside of runs.
    fn needed(&self, known: &[bool]) -> Uniform {
        let program = self.program;
        let mut uniform = Uniform { locals: vec![false; program.locals.len()], values: vec![false; program.values()] };
        let mut writes: Vec<Vec<ValueRef>> = vec![Vec::new(); program.locals.len()];
        for write in &self.writes {
            writes[write.local.0 as usize].extend(write.value);
        }
        let mut seen = vec![false; program.values()];
        let mut open: Vec<ValueRef> = self.conditions.iter().copied().filter(|c| self.is_known(*c, known)).collect();
        while let Some(value) = open.pop() {
            let origin = program.origin(value);
            if std::mem::replace(&mut seen[program.number(origin) as usize], true) {
                continue;
            }
            if let Resolved::Value(number) = program.resolve(value) {
                uniform.values[number as usize] = true;
            }
            for_each_operand(program.expression(origin), &mut |expr| open.push(ValueRef { expr, ..origin }));
            let Expression::Load { pointer } = *program.expression(origin) else { continue };
            let Some((local, _)) = program.root(ValueRef { expr: pointer, ..origin }) else { continue };
            if !std::mem::replace(&mut uniform.locals[local.0 as usize], true) {
                open.append(&mut writes[local.0 as usize]);
            }
        }
        uniform
    }
}

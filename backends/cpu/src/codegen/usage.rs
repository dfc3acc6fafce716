//! Which run defines, uses, reads and writes what. Pure analysis for the plan.

use std::collections::{BTreeMap, BTreeSet};

use naga::{Expression, Handle, Statement};

use super::plan::{Run, Step, jumps_to};
use super::program::{FrameId, Kind, LocalId, Node, Program, Resolved, ValueRef};
use super::uniform::Uniform;

/// A run's place: its number, and how many outer loops surround it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) run: u32,
    pub(super) depth: u32,
}

/// A run that uses a variable in another way than to give it its first value.
pub(super) struct User {
    pub(super) run: u32,
    pub(super) depth: u32,
    /// Whether what the variable held when the run began can matter.
    pub(super) exposed: bool,
}

/// What a run does with a variable.
pub(super) struct LocalAccess {
    pub(super) local: LocalId,
    pub(super) exposed: bool,
    pub(super) written: bool,
    /// Whether the variable gets its first value in this run.
    pub(super) initialised: bool,
}

#[derive(Default)]
pub(super) struct RunUsage {
    /// Numbers of the values of earlier runs that it uses.
    pub(super) values: Vec<u32>,
    pub(super) locals: Vec<LocalAccess>,
    /// Whether an invocation can leave it before its end.
    pub(super) leaves: bool,
}

pub(super) struct Usage<'p, 'a> {
    program: &'p Program<'a>,
    uniform: &'p Uniform,
    /// By value number: the run that defines it, or [`OUTER`].
    defined: Vec<u32>,
    pub(super) spilled: Vec<bool>,
    pub(super) users: Vec<Vec<User>>,
    pub(super) runs: Vec<RunUsage>,
}

const OUTER: u32 = u32::MAX;

impl<'p, 'a> Usage<'p, 'a> {
    pub(super) fn new(program: &'p Program<'a>, uniform: &'p Uniform) -> Self {
        Self {
            program,
            uniform,
            defined: vec![OUTER; program.values()],
            spilled: vec![false; program.values()],
            users: (0..program.locals.len()).map(|_| Vec::new()).collect(),
            runs: Vec::new(),
        }
    }

    pub(super) fn steps(&mut self, steps: &[Step<'a>]) {
        self.define_all(steps);
        self.use_all(steps);
    }

    fn define_all(&mut self, steps: &[Step<'a>]) {
        for step in steps {
            match step {
                Step::Run(run) => self.define_nodes(&run.nodes, run.index),
                Step::If { accept, reject, .. } => {
                    self.define_all(accept);
                    self.define_all(reject);
                }
                Step::Switch { cases, .. } => cases.iter().for_each(|c| self.define_all(&c.body)),
                Step::Loop { body, continuing, .. } => {
                    self.define_all(body);
                    self.define_all(continuing);
                }
                Step::Call { body, .. } => self.define_all(body),
                Step::Exchange(exchange, run) => self.define(exchange.result, *run),
                Step::UniformLoad { .. } | Step::Evaluate(..) | Step::Set(_) | Step::Jump(_) => {}
            }
        }
    }

    fn define(&mut self, value: ValueRef, run: u32) {
        let number = self.program.number(value) as usize;
        if !self.uniform.values[number] {
            self.defined[number] = run;
        }
    }

    fn define_nodes(&mut self, nodes: &[Node<'a>], run: u32) {
        for node in nodes {
            match node.kind {
                Kind::Emit(frame, range) => range.clone().for_each(|expr| self.define(ValueRef { frame, expr }, run)),
                Kind::Plain(frame, &Statement::Atomic { result: Some(expr), .. }) => {
                    self.define(ValueRef { frame, expr }, run);
                }
                Kind::TakeResult(_, value) => self.define(value, run),
                Kind::If { ref accept, ref reject, .. } => {
                    self.define_nodes(accept, run);
                    self.define_nodes(reject, run);
                }
                Kind::Switch { ref cases, .. } => cases.iter().for_each(|c| self.define_nodes(&c.body, run)),
                Kind::Loop { ref body, ref continuing, .. } => {
                    self.define_nodes(body, run);
                    self.define_nodes(continuing, run);
                }
                Kind::Call { ref body, .. } => self.define_nodes(body, run),
                _ => {}
            }
        }
    }

    fn use_all(&mut self, steps: &[Step<'a>]) {
        for step in steps {
            match step {
                Step::Run(run) => self.use_run(run),
                Step::UniformLoad { pointer, .. } => self.use_outside(*pointer),
                Step::Exchange(exchange, _) => exchange.operands().for_each(|operand| self.use_outside(operand)),
                Step::If { condition, accept, reject } => {
                    self.use_outside(*condition);
                    self.use_all(accept);
                    self.use_all(reject);
                }
                Step::Switch { selector, cases, .. } => {
                    self.use_outside(*selector);
                    cases.iter().for_each(|c| self.use_all(&c.body));
                }
                Step::Loop { body, continuing, break_if, .. } => {
                    self.use_all(body);
                    self.use_all(continuing);
                    if let Some(condition) = break_if {
                        self.use_outside(*condition);
                    }
                }
                Step::Call { body, .. } => self.use_all(body),
                // These use nothing but what is computed outside of runs.
                Step::Evaluate(..) | Step::Set(_) | Step::Jump(_) => {}
            }
        }
    }

    fn use_outside(&mut self, value: ValueRef) {
        let mut numbers = BTreeSet::new();
        value_uses(self.program, value, &mut |n| {
            numbers.insert(n);
        });
        for n in numbers {
            if self.defined[n as usize] != OUTER {
                self.spilled[n as usize] = true;
            }
        }
    }

    fn use_run(&mut self, run: &Run<'a>) {
        let place = run.place();
        let mut scan = Scan {
            program: self.program,
            uniform: self.uniform,
            values: BTreeSet::new(),
            locals: BTreeMap::new(),
            results: BTreeSet::new(),
        };
        let mut killed = Killed::none(self.program);
        scan.nodes(&run.nodes, &mut killed);
        let mut found = RunUsage { leaves: run.leaves(), ..RunUsage::default() };
        for n in scan.values {
            let defined = self.defined[n as usize];
            if defined != OUTER && defined != place.run {
                self.spilled[n as usize] = true;
                found.values.push(n);
            }
        }
        for (local, seen) in scan.locals {
            // What is saved at the end is read there, unless it has surely been written by then.
            let exposed = seen.exposed || (seen.written && !killed.contains(local));
            if seen.used {
                self.users[local.0 as usize].push(User { run: place.run, depth: place.depth, exposed: seen.exposed });
            }
            found.locals.push(LocalAccess { local, exposed, written: seen.written, initialised: seen.initialised });
        }
        let index = place.run as usize;
        if self.runs.len() <= index {
            self.runs.resize_with(index + 1, RunUsage::default);
        }
        self.runs[index] = found;
    }
}

#[derive(Default)]
struct Seen {
    used: bool,
    exposed: bool,
    written: bool,
    initialised: bool,
}

/// One run's accesses. `killed` below are the variables that have surely been written since the run began.
struct Scan<'p, 'a> {
    program: &'p Program<'a>,
    uniform: &'p Uniform,
    values: BTreeSet<u32>,
    locals: BTreeMap<LocalId, Seen>,
    /// Results of calls that are set in this run.
    results: BTreeSet<LocalId>,
}

/// A set of variables as bits: it is copied at every branch, and a kernel may have many of both.
#[derive(Clone)]
struct Killed(Vec<u64>);

impl Killed {
    fn none(program: &Program<'_>) -> Self {
        Self(vec![0; program.locals.len().div_ceil(64)])
    }

    fn contains(&self, local: LocalId) -> bool {
        self.0.get(local.0 as usize / 64).is_some_and(|word| word >> (local.0 % 64) & 1 == 1)
    }

    fn insert(&mut self, local: LocalId) {
        if let Some(word) = self.0.get_mut(local.0 as usize / 64) {
            *word |= 1 << (local.0 % 64);
        }
    }

    fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }
}

impl<'a> Scan<'_, 'a> {
    fn nodes(&mut self, nodes: &[Node<'a>], killed: &mut Killed) {
        for node in nodes {
            self.node(node, killed);
        }
    }

    fn node(&mut self, node: &Node<'a>, killed: &mut Killed) {
        match node.kind {
            Kind::Emit(frame, range) => range.clone().for_each(|expr| self.emit(frame, expr, killed)),
            Kind::Plain(frame, statement) => self.plain(frame, statement, killed),
            Kind::Init(local) => {
                let seen = self.locals.entry(local).or_default();
                seen.written = true;
                seen.initialised = true;
                killed.insert(local);
            }
            Kind::SetResult(local, value) => {
                self.operand(value);
                self.results.insert(local);
                self.write(local, true, killed);
            }
            Kind::TakeResult(local, _) => {
                // A call that is wholly inside the run has set its result on every path.
                if self.results.contains(&local) {
                    killed.insert(local);
                }
                self.read(local, killed);
            }
            Kind::If { condition, ref accept, ref reject } => {
                self.operand(condition);
                self.branches(accept, reject, killed);
            }
            Kind::Switch { selector, ref cases, .. } => {
                self.operand(selector);
                cases.iter().for_each(|c| self.nodes(&c.body, &mut killed.clone()));
            }
            Kind::Loop { next, ref body, ref continuing, break_if, .. } => {
                let mut inside = killed.clone();
                self.nodes(body, &mut inside);
                if jumps_to(body, next) {
                    inside = killed.clone();
                }
                self.nodes(continuing, &mut inside);
                if let Some(condition) = break_if {
                    self.operand(condition);
                }
            }
            Kind::Call { exit, ref body } => {
                let mut inside = killed.clone();
                self.nodes(body, &mut inside);
                if !jumps_to(body, exit) {
                    *killed = inside;
                }
            }
            Kind::UniformLoad { .. } | Kind::Exchange(_) | Kind::Barrier | Kind::Jump(_) => {}
        }
    }

    fn branches(&mut self, accept: &[Node<'a>], reject: &[Node<'a>], killed: &mut Killed) {
        let mut other = killed.clone();
        self.nodes(accept, killed);
        self.nodes(reject, &mut other);
        match (ends(accept), ends(reject)) {
            (true, _) => *killed = other,
            (false, true) => {}
            (false, false) => killed.intersect(&other),
        }
    }

    fn operand(&mut self, value: ValueRef) {
        let Self { program, values, .. } = self;
        value_uses(program, value, &mut |n| {
            values.insert(n);
        });
    }

    fn emit(&mut self, frame: FrameId, expr: Handle<Expression>, killed: &mut Killed) {
        let at = ValueRef { frame, expr };
        if self.uniform.values[self.program.number(at) as usize] {
            return;
        }
        let expression = self.program.expression(at);
        for_each_operand(expression, &mut |operand| self.operand(ValueRef { frame, expr: operand }));
        if let Expression::Load { pointer } = *expression
            && let Some((local, _)) = self.program.root(ValueRef { frame, expr: pointer })
        {
            self.read(local, killed);
        }
    }

    fn plain(&mut self, frame: FrameId, statement: &Statement, killed: &mut Killed) {
        let at = |expr| ValueRef { frame, expr };
        match *statement {
            Statement::Store { pointer, value } => {
                self.operand(at(pointer));
                self.operand(at(value));
                if let Some((local, whole)) = self.program.root(at(pointer)) {
                    self.write(local, whole, killed);
                }
            }
            Statement::Atomic { pointer, value, fun, .. } => {
                self.operand(at(pointer));
                self.operand(at(value));
                if let naga::AtomicFunction::Exchange { compare: Some(compare) } = fun {
                    self.operand(at(compare));
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, local: LocalId, killed: &Killed) {
        let seen = self.locals.entry(local).or_default();
        seen.used = true;
        seen.exposed |= !killed.contains(local);
    }

    fn write(&mut self, local: LocalId, whole: bool, killed: &mut Killed) {
        let seen = self.locals.entry(local).or_default();
        seen.used = true;
        seen.written = true;
        if whole {
            killed.insert(local);
        } else {
            seen.exposed |= !killed.contains(local);
        }
    }
}

/// Calls `f` for every variable that a node reads.
pub(super) fn for_each_read(program: &Program<'_>, node: &Node<'_>, f: &mut dyn FnMut(LocalId)) {
    let mut all = |nodes: &[Node<'_>]| nodes.iter().for_each(|node| for_each_read(program, node, f));
    match node.kind {
        Kind::Emit(frame, range) => range.clone().for_each(|expr| {
            let Expression::Load { pointer } = *program.expression(ValueRef { frame, expr }) else { return };
            if let Some((local, _)) = program.root(ValueRef { frame, expr: pointer }) {
                f(local);
            }
        }),
        Kind::TakeResult(from, _) => f(from),
        Kind::If { ref accept, ref reject, .. } => {
            all(accept);
            all(reject);
        }
        Kind::Switch { ref cases, .. } => cases.iter().for_each(|c| all(&c.body)),
        Kind::Loop { ref body, ref continuing, .. } => {
            all(body);
            all(continuing);
        }
        Kind::Call { ref body, .. } => all(body),
        _ => {}
    }
}

/// Whether a list of nodes surely does not reach its end.
fn ends(nodes: &[Node<'_>]) -> bool {
    matches!(nodes.last(), Some(Node { kind: Kind::Jump(_), .. }))
}

/// The numbers of the values that an operand needs.
fn value_uses(program: &Program<'_>, value: ValueRef, f: &mut dyn FnMut(u32)) {
    match program.resolve(value) {
        Resolved::Value(number) => f(number),
        Resolved::Anywhere(origin) => {
            for_each_operand(program.expression(origin), &mut |expr| value_uses(program, ValueRef { expr, ..origin }, f));
        }
    }
}

/// Calls `f` for every operand of an expression, statements' results excepted.
pub(super) fn for_each_operand(expression: &Expression, f: &mut dyn FnMut(Handle<Expression>)) {
    match *expression {
        Expression::Compose { ref components, .. } => components.iter().for_each(|c| f(*c)),
        Expression::Access { base, index } => {
            f(base);
            f(index);
        }
        Expression::AccessIndex { base, .. } => f(base),
        Expression::Splat { value, .. } => f(value),
        Expression::Swizzle { vector, .. } => f(vector),
        Expression::Load { pointer } | Expression::ArrayLength(pointer) => f(pointer),
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => f(expr),
        Expression::Binary { left, right, .. } => {
            f(left);
            f(right);
        }
        Expression::Select { condition, accept, reject } => [condition, accept, reject].into_iter().for_each(f),
        Expression::Relational { argument, .. } => f(argument),
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            f(arg);
            [arg1, arg2, arg3].into_iter().flatten().for_each(f);
        }
        _ => {}
    }
}

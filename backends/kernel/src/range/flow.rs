//! Going through a function in the order in which it runs: which values variables hold, which comparisons have come out how, and so which
//! accesses are surely in range.
//!
//! What is known of a value never has to be taken back while it stands in scope, for a value does not change. What a variable holds is
//! forgotten where branches meet that set it to different values, and at both ends of a loop that writes it.

use std::collections::{HashMap, HashSet};

use naga::valid::FunctionInfo;
use naga::{
    BinaryOperator, Block, Expression, Function, GlobalVariable, Handle, Literal, LocalVariable, Module, Scalar, Statement,
    SwitchCase, TypeInner,
};

use super::facts::{Fact, Facts, Goal, Question};
use super::values::{Id, Kind, Made, Values};
use crate::walk;

/// Steps for one function. Beyond them nothing is known of it.
const STEPS: u64 = 1 << 21;
/// How often a function is gone through until what was assumed of its variables holds.
const ROUNDS: u32 = 4;
/// Conditions that one comparison is made of.
const CONDITIONS: u32 = 32;
/// Arrays that arguments are compared with.
const ARRAYS: usize = 8;

/// What all callers of a function give for a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given {
    pub(super) low: i64,
    pub(super) high: i64,
    /// How far above the length of an array at most.
    above: Vec<(Handle<GlobalVariable>, i64)>,
}

impl Given {
    /// What holds of both.
    pub(super) fn join(&mut self, other: &Self) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.above.retain_mut(|(array, above)| {
            let found = other.above.iter().find(|(of, _)| of == array);
            found.inspect(|(_, more)| *above = (*above).max(*more)).is_some()
        });
    }
}

/// What was found out about a function.
#[derive(Default)]
pub(super) struct Found {
    /// Accesses whose index is in range whenever they are evaluated.
    pub(super) proven: HashSet<Handle<Expression>>,
    /// Calls that may run, with their arguments; `None` for those that are no numbers.
    pub(super) calls: Vec<(Handle<Function>, Vec<Option<Given>>)>,
    /// Whether the calls are all that may run.
    pub(super) complete: bool,
}

/// A function and what surrounds it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) info: &'a FunctionInfo,
    pub(super) workgroup_size: [u32; 3],
}

/// What a variable is assumed to stay within, all the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Within {
    pub(super) low: i64,
    pub(super) high: i64,
}

enum Undo {
    Fact(Id),
    Variable(Handle<LocalVariable>, Option<Id>),
}

/// Finds what is surely in range in a function. `given` is by parameter, and empty where nothing is known.
pub(super) fn find(subject: Subject<'_>, given: &[Option<Given>]) -> Found {
    let mut assumed = assumptions(subject);
    for round in 0..ROUNDS {
        if round + 1 == ROUNDS {
            assumed.clear();
        }
        let mut flow = Flow::new(subject, given, &assumed);
        flow.block(&subject.function.body);
        if flow.steps > STEPS {
            return Found::default();
        }
        if flow.broken.is_empty() {
            return Found { proven: flow.proven, calls: flow.calls, complete: true };
        }
        let broken = flow.broken;
        for (local, within) in broken {
            match within {
                Some(within) => assumed.insert(local, within),
                None => assumed.remove(&local),
            };
        }
    }
    Found::default()
}

/// What may hold of number variables from the beginning to the end: they stay between the smallest and the largest constant that they are
/// set to. It is tried on the whole function, and what does not stand that is dropped.
fn assumptions(subject: Subject<'_>) -> HashMap<Handle<LocalVariable>, Within> {
    let Subject { module, function, .. } = subject;
    let mut assumed = HashMap::new();
    for (local, variable) in function.local_variables.iter() {
        let kind = Kind::of(module.types[variable.ty].inner.scalar());
        let scalar = matches!(module.types[variable.ty].inner, TypeInner::Scalar(_));
        let initial = variable.init.map_or(Some(0), |init| literal(module, function, init));
        if let (true, true, Some(number)) = (scalar, kind.is_number(), initial) {
            assumed.insert(local, Within { low: number, high: number });
        }
    }
    walk::statements(&function.body, &mut |statement| match statement {
        Statement::Store { pointer, value } => {
            if let Expression::LocalVariable(local) = function.expressions[*pointer]
                && let Some(within) = assumed.get_mut(&local)
                && let Some(number) = literal(module, function, *value)
            {
                *within = Within { low: within.low.min(number), high: within.high.max(number) };
            }
        }
        Statement::Call { arguments, .. } => arguments.iter().filter_map(|at| root(function, *at)).for_each(|local| {
            assumed.remove(&local);
        }),
        _ => {}
    });
    assumed
}

/// A constant that is a number of 32 bits.
pub(super) fn literal(module: &Module, function: &Function, at: Handle<Expression>) -> Option<i64> {
    let literal = match function.expressions[at] {
        Expression::Literal(literal) => literal,
        Expression::Constant(handle) => match module.global_expressions[module.constants[handle].init] {
            Expression::Literal(literal) => literal,
            _ => return None,
        },
        Expression::ZeroValue(ty) => {
            return matches!(module.types[ty].inner, TypeInner::Scalar(Scalar::U32 | Scalar::I32)).then_some(0);
        }
        _ => return None,
    };
    match literal {
        Literal::U32(number) => Some(number.into()),
        Literal::I32(number) => Some(number.into()),
        _ => None,
    }
}

/// The variable that a pointer leads into.
pub(super) fn root(function: &Function, mut pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
    loop {
        match function.expressions[pointer] {
            Expression::LocalVariable(local) => return Some(local),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => pointer = base,
            _ => return None,
        }
    }
}

pub(super) struct Flow<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) assumed: &'a HashMap<Handle<LocalVariable>, Within>,
    /// Assumptions that do not hold, with what may hold instead.
    broken: HashMap<Handle<LocalVariable>, Option<Within>>,
    pub(super) values: Values,
    pub(super) facts: Facts,
    pub(super) by_expression: HashMap<Handle<Expression>, Id>,
    pub(super) variables: HashMap<Handle<LocalVariable>, Id>,
    trail: Vec<Undo>,
    /// Expressions in the order in which they are evaluated.
    pub(super) evaluated: Vec<Handle<Expression>>,
    pub(super) proven: HashSet<Handle<Expression>>,
    /// Accesses that were once evaluated without proof.
    pub(super) doubtful: HashSet<Handle<Expression>>,
    calls: Vec<(Handle<Function>, Vec<Option<Given>>)>,
    /// Runtime-sized arrays whose length was compared with something.
    arrays: Vec<Handle<GlobalVariable>>,
    pub(super) steps: u64,
}

impl<'a> Flow<'a> {
    fn new(subject: Subject<'a>, given: &[Option<Given>], assumed: &'a HashMap<Handle<LocalVariable>, Within>) -> Self {
        let mut flow = Self {
            subject,
            assumed,
            broken: HashMap::new(),
            values: Values::default(),
            facts: Facts::default(),
            by_expression: HashMap::new(),
            variables: HashMap::new(),
            trail: Vec::new(),
            evaluated: Vec::new(),
            proven: HashSet::new(),
            doubtful: HashSet::new(),
            calls: Vec::new(),
            arrays: Vec::new(),
            steps: 0,
        };
        flow.parameters(given);
        flow.variables();
        flow
    }

    fn parameters(&mut self, given: &[Option<Given>]) {
        for (index, given) in (0..).zip(given) {
            let Some(given) = given else { continue };
            let kind = self.kind_of_parameter(index);
            let id = self.values.share_within(kind, Made::Argument(index), given.low, given.high);
            for (array, above) in &given.above {
                let length = self.length(*array);
                self.facts.add(id, Fact::AtMost(Some(length), *above));
            }
        }
    }

    fn kind_of_parameter(&self, index: u32) -> Kind {
        let ty = self.subject.function.arguments.get(index as usize).map(|argument| argument.ty);
        match ty.map(|ty| &self.subject.module.types[ty].inner) {
            Some(TypeInner::Scalar(scalar)) => Kind::of(Some(*scalar)),
            _ => Kind::Other,
        }
    }

    /// What variables hold at the beginning.
    fn variables(&mut self) {
        for (local, variable) in self.subject.function.local_variables.iter() {
            let id = match (variable.init, &self.subject.module.types[variable.ty].inner) {
                (Some(init), _) => self.value(init),
                (None, TypeInner::Scalar(Scalar::BOOL)) => self.values.share(Kind::Truth, Made::Truth(false)),
                (None, TypeInner::Scalar(scalar)) if Kind::of(Some(*scalar)).is_number() => {
                    self.values.share(Kind::of(Some(*scalar)), Made::Number(0))
                }
                (None, _) => continue,
            };
            self.variables.insert(local, id);
        }
    }

    pub(super) fn length(&mut self, array: Handle<GlobalVariable>) -> Id {
        if !self.arrays.contains(&array) && self.arrays.len() < ARRAYS {
            self.arrays.push(array);
        }
        self.values.share_within(Kind::Unsigned, Made::Length(array), 1, Kind::Unsigned.highest())
    }

    pub(super) fn ask<T>(&mut self, question: impl FnOnce(&mut Question<'_>) -> T) -> T {
        let mut open = Question::new(&self.values, &self.facts);
        let answer = question(&mut open);
        self.steps += u64::from(open.looks);
        answer
    }

    /// Goes through a block. Whether what follows it may run.
    fn block(&mut self, block: &Block) -> bool {
        self.statements(block)
    }

    fn statements(&mut self, statements: &[Statement]) -> bool {
        statements.iter().all(|statement| self.steps <= STEPS && self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        self.steps += 1;
        match statement {
            Statement::Emit(range) => range.clone().for_each(|at| self.evaluate(at)),
            Statement::Block(inner) => return self.block(inner),
            Statement::If { condition, accept, reject } => return self.branch(*condition, accept, reject),
            Statement::Switch { cases, .. } => self.switch(cases),
            Statement::Loop { body, continuing, .. } => self.repeat(body, continuing),
            Statement::Break | Statement::Continue | Statement::Return { .. } | Statement::Kill => return false,
            Statement::Store { pointer, value } => self.store(*pointer, *value),
            Statement::Call { function, arguments, .. } => self.call(*function, arguments),
            Statement::Atomic { .. }
            | Statement::WorkGroupUniformLoad { .. }
            | Statement::ControlBarrier(_)
            | Statement::MemoryBarrier(_)
            | Statement::ImageStore { .. }
            | Statement::ImageAtomic { .. }
            | Statement::SubgroupBallot { .. }
            | Statement::SubgroupGather { .. }
            | Statement::SubgroupCollectiveOperation { .. } => {}
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) | Statement::CooperativeStore { .. } => {
                let all: Vec<_> = self.variables.keys().copied().collect();
                self.forget(&all);
            }
        }
        true
    }

    pub(super) fn set(&mut self, local: Handle<LocalVariable>, id: Option<Id>) {
        let before = match id {
            Some(id) => self.variables.insert(local, id),
            None => self.variables.remove(&local),
        };
        self.trail.push(Undo::Variable(local, before));
    }

    fn forget(&mut self, locals: &[Handle<LocalVariable>]) {
        self.steps += locals.len() as u64;
        locals.iter().for_each(|local| self.set(*local, None));
    }

    /// Takes back what was found since, and says what variables held.
    fn undo(&mut self, mark: usize) -> HashMap<Handle<LocalVariable>, Option<Id>> {
        let mut held = HashMap::new();
        for undo in self.trail.split_off(mark).into_iter().rev() {
            self.steps += 1;
            match undo {
                Undo::Fact(id) => self.facts.pop(id),
                Undo::Variable(local, before) => {
                    held.entry(local).or_insert_with(|| self.variables.get(&local).copied());
                    match before {
                        Some(id) => self.variables.insert(local, id),
                        None => self.variables.remove(&local),
                    };
                }
            }
        }
        held
    }

    fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) {
        let Some(local) = root(self.subject.function, pointer) else { return };
        if !matches!(self.subject.function.expressions[pointer], Expression::LocalVariable(_)) {
            return self.set(local, None);
        }
        let id = self.value(value);
        self.set(local, Some(id));
        if let Some(within) = self.assumed.get(&local).copied() {
            let (least, most) = self.ask(|question| (question.least(id), question.most(id)));
            if least < within.low || most > within.high {
                let kind = self.values.get(id).kind;
                let slot = self.broken.entry(local).or_insert(Some(within));
                // The other bound may still hold.
                let left = slot.map(|left| Within {
                    low: if least < within.low { kind.lowest() } else { left.low },
                    high: if most > within.high { kind.highest() } else { left.high },
                });
                *slot = left.filter(|left| left.low > kind.lowest() || left.high < kind.highest());
            }
        }
    }

    fn call(&mut self, function: Handle<Function>, arguments: &[Handle<Expression>]) {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            if let Some(local) = root(self.subject.function, *argument) {
                self.set(local, None);
            }
            given.push(self.given(*argument));
        }
        self.calls.push((function, given));
    }

    fn given(&mut self, argument: Handle<Expression>) -> Option<Given> {
        let id = self.value(argument);
        self.values.get(id).kind.is_number().then(|| {
            let arrays = self.arrays.clone();
            self.ask(|question| Given {
                low: question.least(id),
                high: question.most(id),
                above: arrays.into_iter().filter_map(|at| Some((at, question.above(id, Goal::Length(at))?))).collect(),
            })
        })
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &Block, reject: &Block) -> bool {
        let condition = self.value(condition);
        let side = |flow: &mut Self, block: &Block, truth: bool| {
            let mark = flow.trail.len();
            flow.assume(condition, truth);
            let goes_on = flow.block(block);
            (goes_on, flow.undo(mark))
        };
        let (accepted, rejected) = (side(self, accept, true), side(self, reject, false));
        match (accepted, rejected) {
            ((true, ours), (true, theirs)) => self.meet(condition, &ours, &theirs),
            ((true, held), (false, _)) => self.go_on(condition, true, held),
            ((false, _), (true, held)) => self.go_on(condition, false, held),
            ((false, _), (false, _)) => return false,
        }
        true
    }

    /// Goes on as after one side of a branch.
    fn go_on(&mut self, condition: Id, truth: bool, held: HashMap<Handle<LocalVariable>, Option<Id>>) {
        held.into_iter().for_each(|(local, id)| self.set(local, id));
        self.assume(condition, truth);
    }

    fn meet(
        &mut self,
        condition: Id,
        ours: &HashMap<Handle<LocalVariable>, Option<Id>>,
        theirs: &HashMap<Handle<LocalVariable>, Option<Id>>,
    ) {
        let locals: HashSet<_> = ours.keys().chain(theirs.keys()).copied().collect();
        for local in locals {
            let before = self.variables.get(&local).copied();
            let [a, b] = [ours, theirs].map(|held| held.get(&local).copied().unwrap_or(before));
            let id = match (a, b) {
                (Some(a), Some(b)) if a == b => Some(a),
                // `&&` and `||` are branches that set a variable.
                (Some(a), Some(b)) if self.values.get(a).kind == Kind::Truth => {
                    Some(self.values.share(Kind::Truth, Made::Select(condition, a, b)))
                }
                _ => None,
            };
            self.set(local, id);
        }
    }

    /// A case may be entered from the one before it.
    fn switch(&mut self, cases: &[SwitchCase]) {
        let mut written = Vec::new();
        cases.iter().for_each(|case| self.note_writes(&case.body, &mut written));
        self.forget(&written);
        for case in cases {
            let mark = self.trail.len();
            self.block(&case.body);
            self.undo(mark);
        }
    }

    fn repeat(&mut self, body: &Block, continuing: &Block) {
        let mut written = Vec::new();
        self.note_writes(body, &mut written);
        self.note_writes(continuing, &mut written);
        self.forget(&written);
        let start = self.trail.len();
        // What is known before the first `continue` is known behind all of them; what comes later may not even be computed.
        let all = body.iter().as_slice();
        let certain = all.iter().position(|statement| walk::continues(std::slice::from_ref(statement))).unwrap_or(all.len());
        let (before, after) = all.split_at(certain);
        if self.statements(before) && !after.is_empty() {
            let (mark, first) = (self.trail.len(), self.evaluated.len());
            self.statements(after);
            self.undo(mark);
            let mut written = Vec::new();
            self.note_writes(after, &mut written);
            self.forget(&written);
            self.distrust(first, continuing);
        }
        self.block(continuing);
        self.undo(start);
    }

    /// Forgets values that a `continue` may have led past, in the continuing part of a loop.
    fn distrust(&mut self, first: usize, continuing: &Block) {
        let body: Vec<_> = self.evaluated[first..].to_vec();
        self.steps += body.len() as u64;
        for at in &body {
            let kind = self.kind(*at);
            let id = self.values.fresh(kind);
            self.by_expression.insert(*at, id);
        }
        let body: HashSet<_> = body.into_iter().collect();
        let mut used = Vec::new();
        let expressions = &self.subject.function.expressions;
        walk::statements(continuing, &mut |statement| match statement {
            Statement::Emit(range) => used.extend(range.clone().filter_map(|at| match expressions[at] {
                Expression::Load { pointer } => Some(pointer),
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => Some(base),
                _ => None,
            })),
            Statement::Store { pointer, .. }
            | Statement::Atomic { pointer, .. }
            | Statement::WorkGroupUniformLoad { pointer, .. } => used.push(*pointer),
            Statement::Call { arguments, .. } => used.extend(arguments),
            _ => {}
        });
        for mut at in used {
            while let Expression::Access { base, .. } | Expression::AccessIndex { base, .. } = expressions[at] {
                self.steps += 1;
                if body.contains(&at) {
                    self.doubt(at);
                }
                at = base;
            }
        }
    }

    /// Never proven from here on, whatever is found elsewhere.
    pub(super) fn doubt(&mut self, access: Handle<Expression>) {
        self.proven.remove(&access);
        self.doubtful.insert(access);
    }

    fn note_writes(&mut self, block: &[Statement], written: &mut Vec<Handle<LocalVariable>>) {
        let (function, mut steps) = (self.subject.function, 0);
        let mut all = false;
        walk::statements(block, &mut |statement| {
            steps += 1;
            match statement {
                Statement::Store { pointer, .. } => written.extend(root(function, *pointer)),
                Statement::Call { arguments, .. } => written.extend(arguments.iter().filter_map(|at| root(function, *at))),
                Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) | Statement::CooperativeStore { .. } => all = true,
                _ => {}
            }
        });
        if all {
            written.extend(self.variables.keys());
        }
        self.steps += steps;
    }

    /// Notes that a condition has come out. Of two that hold, the one that the other was looked at after comes first.
    fn assume(&mut self, condition: Id, truth: bool) {
        let mut open = vec![(condition, truth)];
        let mut seen = 0;
        while let Some((condition, truth)) = open.pop() {
            seen += 1;
            if seen > CONDITIONS {
                return;
            }
            self.steps += 1;
            match self.values.get(condition).made {
                Made::Not(of) => open.push((of, !truth)),
                Made::Binary(BinaryOperator::LogicalAnd | BinaryOperator::And, a, b) if truth => {
                    open.extend([(b, true), (a, true)]);
                }
                Made::Binary(BinaryOperator::LogicalOr | BinaryOperator::InclusiveOr, a, b) if !truth => {
                    open.extend([(b, false), (a, false)]);
                }
                // If one side of a choice cannot be, it was the other.
                Made::Select(by, a, b) => {
                    let not = |id: Id| matches!(self.values.get(id).made, Made::Truth(known) if known != truth);
                    match (not(a), not(b)) {
                        (true, false) => open.extend([(b, truth), (by, false)]),
                        (false, true) => open.extend([(a, truth), (by, true)]),
                        _ => {}
                    }
                }
                Made::Binary(op, a, b) => self.compared(op, (a, b), truth),
                _ => {}
            }
        }
    }

    fn compared(&mut self, op: BinaryOperator, (a, b): (Id, Id), truth: bool) {
        if !self.values.get(a).kind.is_number() || !self.values.get(b).kind.is_number() {
            return;
        }
        match (op, truth) {
            (BinaryOperator::Less, true) | (BinaryOperator::GreaterEqual, false) => self.at_most(a, b, -1),
            (BinaryOperator::LessEqual, true) | (BinaryOperator::Greater, false) => self.at_most(a, b, 0),
            (BinaryOperator::Greater, true) | (BinaryOperator::LessEqual, false) => self.at_most(b, a, -1),
            (BinaryOperator::GreaterEqual, true) | (BinaryOperator::Less, false) => self.at_most(b, a, 0),
            (BinaryOperator::Equal, true) | (BinaryOperator::NotEqual, false) => {
                self.at_most(a, b, 0);
                self.at_most(b, a, 0);
            }
            (BinaryOperator::NotEqual, true) | (BinaryOperator::Equal, false) => {
                self.is_not(a, b);
                self.is_not(b, a);
            }
            _ => {}
        }
    }

    /// A value that is not its smallest is larger.
    fn is_not(&mut self, a: Id, b: Id) {
        if let Made::Number(number) = self.values.get(b).made
            && self.ask(|question| question.least(a)) == number
        {
            self.add_fact(a, Fact::AtLeast(number.saturating_add(1)));
        }
    }

    /// Notes that `low <= high + more`.
    fn at_most(&mut self, low: Id, high: Id, more: i64) {
        let (least, sum) = self.ask(|question| (question.least(low), question.sum(low)));
        match self.values.get(high).made {
            Made::Number(number) => self.add_fact(low, Fact::AtMost(None, number.saturating_add(more))),
            _ => {
                self.add_fact(low, Fact::AtMost(Some(high), more));
                self.add_fact(high, Fact::AtLeast(least.saturating_sub(more)));
            }
        }
        if let Some((part, number)) = sum {
            self.add_fact(part, Fact::AtMost(Some(high), more.saturating_sub(number)));
        }
    }

    fn add_fact(&mut self, id: Id, fact: Fact) {
        self.steps += 1;
        self.facts.add(id, fact);
        self.trail.push(Undo::Fact(id));
    }
}

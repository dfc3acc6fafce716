//! Loop fission: how a workgroup whose invocations meet at barriers and subgroup operations is run by one thread.
//!
//! The tree of an entry point is cut into *runs*, barrier-free pieces that are each executed for all invocations in turn, and the
//! *outer* control flow around barriers, which is uniform (creation has checked that) and executed once. What lives across runs is
//! found here; no code is emitted.
//!
//! A jump out of a run is either outer itself (every invocation takes it), or it is taken by some invocations only: then no barrier
//! may follow inside the construct that it leaves, and a flag per invocation makes the later runs of that construct skip it.

use std::collections::HashSet;

use naga::{Expression, Statement};

use super::layout::Layout;
use super::program::{Case, FrameId, Kind, LocalId, Node, Program, TargetId, ValueRef};
use super::range::Ranges;
use super::stop::{Result, Stop};
use super::subgroups::Exchange;
use super::uniform::Uniform;
use super::usage::{self, Usage};

/// A barrier-free piece.
pub(super) struct Run<'a> {
    pub(super) index: u32,
    pub(super) nodes: Vec<Node<'a>>,
    /// How many outer loops surround it.
    depth: u32,
    /// The outer constructs around it that a flag may exclude an invocation from.
    pub(super) inside: Vec<TargetId>,
    /// Values of earlier runs that it uses, by number.
    pub(super) values: Vec<u32>,
    /// Variables to load from the frame before, and to store to it after.
    pub(super) reload: Vec<LocalId>,
    pub(super) save: Vec<LocalId>,
    /// Variables of this run only that get their first value here.
    pub(super) inits: Vec<LocalId>,
}

/// Outer control flow.
pub(super) enum Step<'a> {
    Run(Run<'a>),
    UniformLoad {
        pointer: ValueRef,
        result: ValueRef,
    },
    /// A subgroup operation, with a number as if it were a run.
    Exchange(Exchange, u32),
    /// Evaluates those of the expressions that [`Plan::uniform`] names.
    Evaluate(FrameId, &'a naga::Range<Expression>),
    /// A statement about a variable of the workgroup.
    Set(Node<'a>),
    If {
        condition: ValueRef,
        accept: Vec<Step<'a>>,
        reject: Vec<Step<'a>>,
    },
    Switch {
        exit: TargetId,
        selector: ValueRef,
        cases: Vec<OuterCase<'a>>,
    },
    Loop {
        exit: TargetId,
        next: TargetId,
        body: Vec<Step<'a>>,
        continuing: Vec<Step<'a>>,
        break_if: Option<ValueRef>,
    },
    Call {
        exit: TargetId,
        body: Vec<Step<'a>>,
    },
    Jump(TargetId),
}

pub(super) struct OuterCase<'a> {
    pub(super) value: Option<u32>,
    pub(super) body: Vec<Step<'a>>,
    pub(super) fall_through: bool,
}

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// Never used.
    Nowhere,
    /// One for the whole workgroup, set outside of runs.
    Workgroup,
    /// Only inside this run.
    Run(u32),
    /// In a frame per invocation.
    Frame,
}

pub(super) struct Plan<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// By variable.
    pub(super) homes: Vec<Home>,
    /// By value number: whether later runs or the outer level use it.
    pub(super) spilled: Vec<bool>,
    /// By target: whether it needs a flag.
    pub(super) flags: Vec<bool>,
    pub(super) uniform: Uniform,
    pub(super) ranges: Ranges<'a>,
}

impl<'a> Plan<'a> {
    pub(super) fn build(program: &mut Program<'a>, layout: &Layout<'a>, index: usize) -> Result<Self> {
        let ranges = Ranges::find(program, index);
        let mut body = std::mem::take(&mut program.body);
        let targets = program.targets as usize;
        let exit = program.exit;
        while mark(&mut body, &[Follow { target: exit, outer: false }]).changed {}
        let uniform = Uniform::find(program, layout, &body);
        let mut splitter = Splitter {
            program,
            uniform: &uniform,
            runs: 0,
            depth: 0,
            inside: vec![exit],
            partial: vec![None; targets],
            last: vec![0; targets],
            pending: Vec::new(),
            read: HashSet::new(),
        };
        collect_partial(&body, true, &mut vec![exit], &mut splitter.partial);
        let mut steps = splitter.steps(body)?;
        splitter.close(exit);
        let flags = splitter.partial.iter().zip(&splitter.last).map(|(first, last)| first.is_some_and(|f| f < *last)).collect();
        let mut plan = Plan { steps: Vec::new(), homes: Vec::new(), spilled: Vec::new(), flags, uniform, ranges };
        plan.assign_homes(program, &mut steps);
        plan.steps = steps;
        Ok(plan)
    }

    /// Decides which values and variables live in frames, and what each run loads and saves.
    fn assign_homes(&mut self, program: &Program<'a>, steps: &mut [Step<'a>]) {
        let mut usage = Usage::new(program, &self.uniform);
        usage.steps(steps);
        self.spilled = usage.spilled;
        self.homes = vec![Home::Nowhere; program.locals.len()];
        for ((home, users), uniform) in self.homes.iter_mut().zip(&usage.users).zip(&self.uniform.locals) {
            *home = match users[..] {
                _ if *uniform => Home::Workgroup,
                [] => Home::Nowhere,
                [ref only] if only.depth == 0 || !only.exposed => Home::Run(only.run),
                _ => Home::Frame,
            };
        }
        let homes = &self.homes;
        for_each_run(steps, &mut |run| {
            let Some(found) = usage.runs.get_mut(run.index as usize) else { return };
            run.values = std::mem::take(&mut found.values);
            for access in &found.locals {
                match homes[access.local.0 as usize] {
                    Home::Frame => {
                        if access.exposed || (access.written && found.leaves) {
                            run.reload.push(access.local);
                        }
                        if access.written {
                            run.save.push(access.local);
                        }
                    }
                    // A variable that an outer loop does not carry, yet is read first, has its first value here.
                    Home::Run(_) if access.exposed && !access.initialised => run.inits.push(access.local),
                    Home::Run(_) | Home::Workgroup | Home::Nowhere => {}
                }
            }
        });
    }
}

/// Calls `f` for every run, in the order of the source.
pub(super) fn for_each_run<'a>(steps: &mut [Step<'a>], f: &mut dyn FnMut(&mut Run<'a>)) {
    for step in steps {
        match step {
            Step::Run(run) => f(run),
            Step::If { accept, reject, .. } => {
                for_each_run(accept, f);
                for_each_run(reject, f);
            }
            Step::Switch { cases, .. } => cases.iter_mut().for_each(|c| for_each_run(&mut c.body, f)),
            Step::Loop { body, continuing, .. } => {
                for_each_run(body, f);
                for_each_run(continuing, f);
            }
            Step::Call { body, .. } => for_each_run(body, f),
            Step::UniformLoad { .. } | Step::Exchange(..) | Step::Evaluate(..) | Step::Set(_) | Step::Jump(_) => {}
        }
    }
}

/// Whether something outer may follow, before the end of this construct is reached.
#[derive(Clone, Copy)]
struct Follow {
    target: TargetId,
    outer: bool,
}

/// What a pass has found in some nodes.
#[derive(Clone, Copy, Default)]
struct Marked {
    any: bool,
    changed: bool,
}

impl Marked {
    fn and(self, other: Self) -> Self {
        Self { any: self.any | other.any, changed: self.changed | other.changed }
    }
}

/// Marks the outer nodes: those with a barrier or a subgroup operation, and those with a jump that something outer may follow. Such a jump is uniform: where
/// only some invocations took it, the barrier that makes the other node outer would not be reached by all.
///
/// Goes backwards, so that what follows is known; what a loop's next pass holds is known from the pass before, so this is repeated until
/// nothing changes.
fn mark(nodes: &mut [Node<'_>], follows: &[Follow]) -> Marked {
    let mut follows = follows.to_vec();
    let mut all = Marked::default();
    for node in nodes.iter_mut().rev() {
        let inside = match node.kind {
            Kind::Jump(to) => Marked { any: follows.iter().any(|f| f.target == to && f.outer), changed: false },
            Kind::If { ref mut accept, ref mut reject, .. } => mark(accept, &follows).and(mark(reject, &follows)),
            Kind::Switch { exit, ref mut cases, .. } => mark_switch(exit, cases, &follows),
            Kind::Call { exit, ref mut body } => mark(body, &with(&follows, exit, false)),
            Kind::Loop { exit, next, ref mut body, ref mut continuing, .. } => {
                mark_loop([exit, next], body, continuing, node.outer || node.barrier, &follows)
            }
            _ => Marked::default(),
        };
        let outer = node.barrier || inside.any;
        all = all.and(Marked { any: outer, changed: inside.changed || outer != node.outer });
        node.outer = outer;
        if outer {
            follows.iter_mut().for_each(|f| f.outer = true);
        }
    }
    all
}

fn with(follows: &[Follow], target: TargetId, outer: bool) -> Vec<Follow> {
    let mut inner = follows.to_vec();
    inner.push(Follow { target, outer });
    inner
}

fn mark_switch(exit: TargetId, cases: &mut [Case<'_>], follows: &[Follow]) -> Marked {
    let mut all = Marked::default();
    let mut below = false;
    for case in cases.iter_mut().rev() {
        let mut inner = with(follows, exit, false);
        let falls_on = case.fall_through && below;
        if falls_on {
            inner.iter_mut().for_each(|f| f.outer = true);
        }
        let marked = mark(&mut case.body, &inner);
        all = all.and(marked);
        below = marked.any || falls_on;
    }
    all
}

/// `outer`: whether something in the loop is known to be outer.
fn mark_loop(
    [exit, next]: [TargetId; 2],
    body: &mut [Node<'_>],
    continuing: &mut [Node<'_>],
    outer: bool,
    follows: &[Follow],
) -> Marked {
    let repeats = !matches!(body.last(), Some(Node { kind: Kind::Jump(to), .. }) if *to != next) || jumps_to(body, next);
    let mut inner = with(follows, exit, false);
    if outer && repeats {
        inner.iter_mut().for_each(|f| f.outer = true);
    }
    let in_continuing = mark(continuing, &inner);
    // Everybody meets at the continuing block, so only what is left of the body counts for `continue`.
    mark(body, &with(&inner, next, false)).and(in_continuing)
}

/// Whether some node jumps to `target`.
pub(super) fn jumps_to(nodes: &[Node<'_>], target: TargetId) -> bool {
    nodes.iter().any(|node| match node.kind {
        Kind::Jump(to) => to == target,
        Kind::If { ref accept, ref reject, .. } => jumps_to(accept, target) || jumps_to(reject, target),
        Kind::Switch { ref cases, .. } => cases.iter().any(|c| jumps_to(&c.body, target)),
        Kind::Loop { ref body, ref continuing, .. } => jumps_to(body, target) || jumps_to(continuing, target),
        Kind::Call { ref body, .. } => jumps_to(body, target),
        _ => false,
    })
}

/// Finds (as `u32::MAX`: the runs have no numbers yet) the outer constructs that some invocations may leave early: those with a jump from inside a run's control flow.
fn collect_partial(nodes: &[Node<'_>], outer: bool, constructs: &mut Vec<TargetId>, partial: &mut [Option<u32>]) {
    for node in nodes {
        let enters = outer && node.outer;
        let before = constructs.len();
        match node.kind {
            Kind::Jump(to) if !outer && constructs.contains(&to) => partial[to.0 as usize] = Some(u32::MAX),
            Kind::If { ref accept, ref reject, .. } => {
                collect_partial(accept, enters, constructs, partial);
                collect_partial(reject, enters, constructs, partial);
            }
            Kind::Switch { exit, ref cases, .. } => {
                constructs.extend(enters.then_some(exit));
                cases.iter().for_each(|c| collect_partial(&c.body, enters, constructs, partial));
            }
            Kind::Call { exit, ref body } => {
                constructs.extend(enters.then_some(exit));
                collect_partial(body, enters, constructs, partial);
            }
            Kind::Loop { exit, next, ref body, ref continuing, .. } => {
                constructs.extend(enters.then_some(exit));
                constructs.extend(enters.then_some(next));
                collect_partial(body, enters, constructs, partial);
                collect_partial(continuing, enters, constructs, partial);
            }
            _ => {}
        }
        constructs.truncate(before);
    }
}

/// Cuts the marked tree into runs and outer steps.
struct Splitter<'p, 'a> {
    program: &'p Program<'a>,
    uniform: &'p Uniform,
    runs: u32,
    depth: u32,
    /// Outer constructs around the current place, outermost first.
    inside: Vec<TargetId>,
    /// By target: the first run that some invocations may leave early to it.
    partial: Vec<Option<u32>>,
    /// By target: the last run inside.
    last: Vec<u32>,
    /// Nodes of the run that is being collected, and the variables that they read.
    pending: Vec<Node<'a>>,
    read: HashSet<LocalId>,
}

impl<'a> Splitter<'_, 'a> {
    fn steps(&mut self, nodes: Vec<Node<'a>>) -> Result<Vec<Step<'a>>> {
        let mut steps = Vec::new();
        for node in nodes {
            let outer = match node.kind {
                Kind::Jump(to) => node.outer || self.is_taken_by_all(to),
                _ => node.outer,
            };
            if !outer {
                self.plain(node, &mut steps);
                continue;
            }
            self.flush(&mut steps);
            if let Some(step) = self.outer(node)? {
                steps.push(step);
            }
        }
        self.flush(&mut steps);
        Ok(steps)
    }

    /// A statement of a run, or about the state of the workgroup: then it goes ahead of the run that is being collected, unless that
    /// reads the variable that it writes.
    fn plain(&mut self, node: Node<'a>, steps: &mut Vec<Step<'a>>) {
        let written = match node.kind {
            Kind::Emit(frame, range) => {
                let is_uniform = |expr| self.uniform.values[self.program.number(ValueRef { frame, expr }) as usize];
                if range.clone().any(is_uniform) {
                    steps.push(Step::Evaluate(frame, range));
                }
                if !range.clone().all(is_uniform) {
                    self.collect(node);
                }
                return;
            }
            Kind::Init(local) | Kind::SetResult(local, _) => Some(local),
            Kind::Plain(frame, &Statement::Store { pointer, .. }) => {
                self.program.root(ValueRef { frame, expr: pointer }).map(|(local, _)| local)
            }
            _ => None,
        };
        match written.filter(|local| self.uniform.locals[local.0 as usize]) {
            Some(local) => {
                if self.read.contains(&local) {
                    self.flush(steps);
                }
                steps.push(Step::Set(node));
            }
            None => self.collect(node),
        }
    }

    fn collect(&mut self, node: Node<'a>) {
        usage::for_each_read(self.program, &node, &mut |local| {
            self.read.insert(local);
        });
        self.pending.push(node);
    }

    /// Whether a jump at the outer level is taken by everybody: no invocation has left a construct between here and its target.
    fn is_taken_by_all(&self, to: TargetId) -> bool {
        let skipped = self.inside.iter().rev().take_while(|t| **t != to);
        self.inside.contains(&to) && skipped.into_iter().all(|t| self.partial[t.0 as usize].is_none())
    }

    fn flush(&mut self, steps: &mut Vec<Step<'a>>) {
        if self.pending.is_empty() {
            return;
        }
        let index = self.runs;
        self.runs += 1;
        let nodes = std::mem::take(&mut self.pending);
        self.read.clear();
        for target in &self.inside {
            if jumps_to(&nodes, *target) {
                let first = &mut self.partial[target.0 as usize];
                *first = Some(first.map_or(index, |f| f.min(index)));
            }
        }
        steps.push(Step::Run(Run {
            index,
            nodes,
            depth: self.depth,
            inside: self.inside.clone(),
            values: Vec::new(),
            reload: Vec::new(),
            save: Vec::new(),
            inits: Vec::new(),
        }));
    }

    fn close(&mut self, target: TargetId) {
        self.last[target.0 as usize] = self.runs.saturating_sub(1);
    }

    /// Steps inside a construct that can be jumped to the end of.
    fn within(&mut self, target: TargetId, nodes: Vec<Node<'a>>) -> Result<Vec<Step<'a>>> {
        self.inside.push(target);
        let steps = self.steps(nodes);
        self.inside.pop();
        self.close(target);
        steps
    }

    fn outer(&mut self, node: Node<'a>) -> Result<Option<Step<'a>>> {
        Ok(Some(match node.kind {
            // Everything is finished by all invocations when a run ends.
            Kind::Barrier => return Ok(None),
            Kind::UniformLoad { pointer, result } => Step::UniformLoad { pointer, result },
            Kind::Exchange(exchange) => {
                self.runs += 1;
                Step::Exchange(exchange, self.runs - 1)
            }
            Kind::If { condition, accept, reject } => {
                Step::If { condition, accept: self.steps(accept)?, reject: self.steps(reject)? }
            }
            Kind::Switch { exit, selector, cases } => {
                let mut out = Vec::with_capacity(cases.len());
                for case in cases {
                    let body = self.within(exit, case.body)?;
                    out.push(OuterCase { value: case.value, body, fall_through: case.fall_through });
                }
                Step::Switch { exit, selector, cases: out }
            }
            Kind::Loop { exit, next, body, continuing, break_if } => {
                self.depth += 1;
                self.inside.push(exit);
                let body = self.within(next, body);
                let continuing = self.steps(continuing);
                self.inside.pop();
                self.close(exit);
                self.depth -= 1;
                Step::Loop { exit, next, body: body?, continuing: continuing?, break_if }
            }
            Kind::Call { exit, body } => Step::Call { exit, body: self.within(exit, body)? },
            Kind::Jump(to) => Step::Jump(to),
            _ => return Err(Stop::bug("a plain statement at the outer level")),
        }))
    }
}

impl Run<'_> {
    /// What `usage` needs to know.
    pub(super) fn place(&self) -> usage::Place {
        usage::Place { run: self.index, depth: self.depth }
    }

    /// Whether an invocation can leave it before its end.
    pub(super) fn leaves(&self) -> bool {
        self.inside.iter().any(|t| jumps_to(&self.nodes, *t))
    }
}

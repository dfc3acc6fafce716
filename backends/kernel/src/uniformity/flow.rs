//! The walk over the statements of one function in one context: where control flow splits, what is stored while it is split, and which barriers
//! are met then.

use std::rc::Rc;

use naga::{Block, Expression, Function, Handle, Span, Statement};

use super::values::Values;
use super::{Analysis, Argument, Context, Control, MAX_ROUNDS, Outcome, Split};
use crate::access::root;
use crate::diagnostics::Finding;
use crate::subgroups::is_elect;

/// Jumps that only some invocations took, by what they leave.
#[derive(Clone, Default)]
struct Left {
    function: Option<Rc<Split>>,
    /// A loop.
    round: Option<Rc<Split>>,
    /// One pass of a loop: all meet again where it continues.
    pass: Option<Rc<Split>>,
    switch: Option<Rc<Split>>,
}

impl Left {
    fn any(&self) -> Option<&Rc<Split>> {
        self.function.as_ref().or(self.round.as_ref()).or(self.pass.as_ref()).or(self.switch.as_ref())
    }

    fn merge(&mut self, other: Self) {
        let Self { function, round, pass, switch } = other;
        self.function = self.function.take().or(function);
        self.round = self.round.take().or(round);
        self.pass = self.pass.take().or(pass);
        self.switch = self.switch.take().or(switch);
    }
}

/// What `break` leaves here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Function,
    Loop,
    Switch,
}

pub(super) struct Walk<'w, 'a> {
    pub(super) analysis: &'w mut Analysis<'a>,
    pub(super) function: &'a Function,
    pub(super) arguments: Vec<Argument>,
    pub(super) values: Values,
    control: Control,
    /// Whether every `return` so far gave a uniform result, all together.
    result: bool,
    changed: bool,
    /// Per local variable, for messages: what made it differ.
    pub(super) causes: Vec<Option<String>>,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(analysis: &'w mut Analysis<'a>, function: &'a Function, context: Context) -> Self {
        let values = Values::new(function, &context.arguments);
        let causes = vec![None; function.local_variables.len()];
        let Context { arguments, control } = context;
        Self { analysis, function, arguments, values, control, result: true, changed: false, causes }
    }

    /// Walks until nothing changes any more, then once more is not needed: findings of earlier rounds hold in later ones.
    pub(super) fn run(mut self) -> Outcome {
        let function = self.function;
        for round in 0.. {
            // Expressions are looked at one after another, which is quick.
            if !self.analysis.steps.spend(function.expressions.len() / 8) {
                break;
            }
            self.changed = false;
            self.values.update(self.analysis, function, &self.arguments);
            let control = self.control.clone();
            self.block(&function.body, control, Inside::Function);
            if !self.changed {
                break;
            }
            if round > MAX_ROUNDS {
                self.values.locals.fill(false);
                self.values.contents.fill(false);
                self.values.results.fill(false);
            }
        }
        Outcome { result: self.result, contents: self.values.contents }
    }

    fn block(&mut self, block: &'a Block, mut control: Control, inside: Inside) -> Left {
        let mut left = Left::default();
        for (statement, &span) in block.span_iter() {
            left.merge(self.statement(statement, span, &control, inside));
            if let (Control::Uniform, Some(split)) = (&control, left.any()) {
                control = Control::Split(Rc::clone(split));
            }
        }
        left
    }

    fn statement(&mut self, statement: &'a Statement, span: Span, control: &Control, inside: Inside) -> Left {
        if !self.analysis.steps.spend(1) {
            return Left::default();
        }
        match statement {
            Statement::Block(block) => return self.block(block, control.clone(), inside),
            Statement::If { condition, accept, reject } => {
                let control = self.under(control, *condition, span);
                let mut left = self.block(accept, control.clone(), inside);
                left.merge(self.block(reject, control, inside));
                return left;
            }
            Statement::Switch { selector, cases } => return self.switch(*selector, cases, span, control),
            Statement::Loop { body, continuing, break_if } => return self.round(body, continuing, *break_if, span, control),
            Statement::Break | Statement::Continue | Statement::Return { .. } | Statement::Kill => {
                return self.jump(statement, control, inside);
            }
            Statement::ControlBarrier(naga::Barrier::SUB_GROUP) => self.barrier("`subgroupBarrier`", span, control),
            Statement::ControlBarrier(_) => self.barrier("this barrier", span, control),
            Statement::SubgroupBallot { .. }
            | Statement::SubgroupCollectiveOperation { .. }
            | Statement::SubgroupGather { .. } => self.subgroup(statement, span, control),
            Statement::WorkGroupUniformLoad { pointer, .. } => self.uniform_load(*pointer, span, control),
            Statement::Store { pointer, value } => self.store(*pointer, self.values.get(*value), Some(*value), control),
            Statement::Call { function, result, .. } if is_elect(self.analysis.module, *function, self.analysis.source_size) => {
                self.elect(*result, span, control);
            }
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result, control),
            _ => {}
        }
        Left::default()
    }

    /// Control flow behind a condition.
    fn under(&self, control: &Control, condition: Handle<Expression>, span: Span) -> Control {
        if !control.is_uniform() || self.values.get(condition) {
            return control.clone();
        }
        let at = self.function.expressions.get_span(condition);
        let at = if at.is_defined() { at } else { span };
        Control::Split(Rc::new(Split { at, because: self.explain(condition) }))
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &'a [naga::SwitchCase], span: Span, control: &Control) -> Left {
        let mut control = self.under(control, selector, span);
        let mut left = Left::default();
        for case in cases {
            left.merge(self.block(&case.body, control.clone(), Inside::Switch));
            if let (true, Control::Uniform, Some(split)) = (case.fall_through, &control, left.any()) {
                control = Control::Split(Rc::clone(split));
            }
        }
        left.switch = None;
        left
    }

    /// A loop is walked as if all stay together; if some may leave earlier, again as if split from the start. Those that skip the rest of a pass meet
    /// the others where the loop continues.
    fn round(
        &mut self,
        body: &'a Block,
        continuing: &'a Block,
        break_if: Option<Handle<Expression>>,
        span: Span,
        control: &Control,
    ) -> Left {
        let mut left = self.block(body, control.clone(), Inside::Loop);
        left.pass = None;
        left.merge(self.block(continuing, control.clone(), Inside::Loop));
        let mut split = left.any().cloned();
        if let Some(Control::Split(own)) = break_if.map(|condition| self.under(control, condition, span)) {
            split = split.or(Some(own));
        }
        if let (true, Some(split)) = (control.is_uniform(), split) {
            let control = Control::Split(split);
            left.merge(self.block(body, control.clone(), Inside::Loop));
            left.merge(self.block(continuing, control, Inside::Loop));
        }
        left.round = None;
        left.pass = None;
        left.switch = None;
        left
    }

    fn jump(&mut self, statement: &Statement, control: &Control, inside: Inside) -> Left {
        if let Statement::Return { value: Some(value) } = statement
            && !(control.is_uniform() && self.values.get(*value))
        {
            self.result = false;
        }
        let Control::Split(split) = control else { return Left::default() };
        let split = Some(Rc::clone(split));
        match (statement, inside) {
            (Statement::Break, Inside::Switch) => Left { switch: split, ..Left::default() },
            (Statement::Break, _) => Left { round: split, ..Left::default() },
            (Statement::Continue, _) => Left { pass: split, ..Left::default() },
            _ => Left { function: split, ..Left::default() },
        }
    }

    pub(super) fn barrier(&mut self, what: &str, span: Span, control: &Control) {
        let Control::Split(split) = control else { return };
        let mut finding = Finding::span(
            format!("{what} may be reached by a part of the workgroup only: control flow depends on {}", split.because),
            span,
        );
        finding.related = split.at.to_range().map(|at| Box::new((at, "control flow is not uniform from here".to_owned())));
        self.analysis.findings.add(finding);
    }

    fn uniform_load(&mut self, pointer: Handle<Expression>, span: Span, control: &Control) {
        self.barrier("`workgroupUniformLoad`", span, control);
        if !self.values.get(pointer) {
            let message = format!(
                "`workgroupUniformLoad` must load the same place for the whole workgroup, but it depends on {}",
                self.explain(pointer)
            );
            self.analysis.findings.add(Finding::span(message, span));
        }
    }

    /// A store keeps a variable uniform if the value, the place and the control flow are.
    fn store(&mut self, pointer: Handle<Expression>, value: bool, from: Option<Handle<Expression>>, control: &Control) {
        if value && control.is_uniform() && self.values.get(pointer) {
            return;
        }
        let slot = match self.function.expressions[root(self.function, pointer)] {
            Expression::LocalVariable(local) => {
                self.blame(local, pointer, from.filter(|_| !value), control);
                self.values.locals.get_mut(local.index())
            }
            Expression::FunctionArgument(index) => self.values.contents.get_mut(index as usize),
            Expression::GlobalVariable(global) => {
                self.changed |= self.analysis.private.get(global.index()).copied().unwrap_or(false);
                self.analysis.spoil_private(global);
                None
            }
            _ => None,
        };
        if let Some(flag) = slot {
            self.changed |= *flag;
            *flag = false;
        }
    }

    /// Notes why a variable is no longer uniform, once.
    fn blame(
        &mut self,
        local: Handle<naga::LocalVariable>,
        pointer: Handle<Expression>,
        value: Option<Handle<Expression>>,
        control: &Control,
    ) {
        if self.causes.get(local.index()).is_none_or(Option::is_some) {
            return;
        }
        let cause = match (value, control) {
            (Some(value), _) => self.explain(value),
            (None, Control::Split(split)) => split.because.clone(),
            (None, Control::Uniform) => self.explain(pointer),
        };
        if let Some(slot) = self.causes.get_mut(local.index()) {
            *slot = Some(cause);
        }
    }

    fn call(
        &mut self,
        callee: Handle<Function>,
        pointers: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        control: &Control,
    ) {
        // Each may be an alias of each.
        if !self.analysis.steps.spend(pointers.len().saturating_mul(pointers.len()) / 8) {
            return;
        }
        let arguments = pointers.iter().map(|&p| self.argument(p, pointers)).collect();
        let outcome = self.analysis.call(callee, arguments, control.clone());
        for (&pointer, &content) in pointers.iter().zip(&outcome.contents) {
            if !content && self.is_pointer(pointer) {
                self.store(pointer, false, None, control);
            }
        }
        if !(outcome.result && control.is_uniform()) {
            self.differs(result);
        }
    }

    /// Notes that the result of a call is not uniform.
    pub(super) fn differs(&mut self, result: Option<Handle<Expression>>) {
        if let Some(flag) = result.and_then(|result| self.values.results.get_mut(result.index())) {
            self.changed |= *flag;
            *flag = false;
        }
    }

    fn is_pointer(&self, expression: Handle<Expression>) -> bool {
        match self.function.expressions[root(self.function, expression)] {
            Expression::LocalVariable(_) | Expression::GlobalVariable(_) => true,
            Expression::FunctionArgument(index) => {
                let ty = self.function.arguments.get(index as usize).map(|a| &self.analysis.module.types[a.ty].inner);
                matches!(ty, Some(naga::TypeInner::Pointer { .. } | naga::TypeInner::ValuePointer { .. }))
            }
            _ => false,
        }
    }

    fn argument(&mut self, expression: Handle<Expression>, all: &[Handle<Expression>]) -> Argument {
        let value = self.values.get(expression);
        let mut content = value;
        if self.is_pointer(expression) {
            let own = root(self.function, expression);
            let place = &self.function.expressions[own];
            let aliases = all.iter().filter(|&&other| self.function.expressions[root(self.function, other)] == *place).count();
            // Two names for one place, or one that the callee may also reach by itself: nothing is known of it.
            if let Expression::GlobalVariable(global) = *place
                && self.analysis.module.global_variables[global].space == naga::AddressSpace::Private
            {
                self.changed |= self.analysis.private.get(global.index()).copied().unwrap_or(false);
                self.analysis.spoil_private(global);
            }
            content = aliases == 1 && self.values.content(self.analysis, self.function, expression);
        }
        let name = if value && content { String::new() } else { self.explain(expression) };
        Argument { value, content, name, members: Vec::new() }
    }
}

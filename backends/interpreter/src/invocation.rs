//! One invocation: its calls, where each stands in its blocks, and how it goes on to the next barrier.

use naga::{
    AtomicFunction, BinaryOperator, Block, Expression, Function, Handle, MathFunction, Module, Statement, SwitchCase, SwitchValue,
};

use crate::group::{Ids, Shared};
use crate::memory::{self, Bytes, Pointer, Root};
use crate::scalar::Scalar;
use crate::value::Value;
use crate::{Result, Stop, expression, invalid, math, operator, unsupported};

/// A function that has been called and has not returned.
pub(crate) struct Frame<'a> {
    pub(crate) function: &'a Function,
    pub(crate) arguments: Vec<Value>,
    /// By the index of the expression; `None` until it is evaluated.
    pub(crate) values: Vec<Option<Value>>,
    /// Where its variables begin on the stack.
    pub(crate) first_local: usize,
    cursors: Vec<Cursor<'a>>,
    /// Where the caller wants the result.
    result: Option<Handle<Expression>>,
}

/// The place in a block, and what comes after it.
struct Cursor<'a> {
    block: &'a Block,
    next: usize,
    after: After<'a>,
}

#[derive(Clone, Copy)]
struct Loop<'a> {
    body: &'a Block,
    continuing: &'a Block,
    break_if: Option<Handle<Expression>>,
}

#[derive(Clone, Copy)]
enum After<'a> {
    Leave,
    /// The body of a loop: its continuing block comes next.
    Body(Loop<'a>),
    /// The continuing block: `break if`, or the body again.
    Continuing(Loop<'a>),
    /// A case of a switch: those after it come next when it falls through.
    Case(&'a [SwitchCase]),
}

/// Why an invocation stands still.
#[derive(Clone, Copy)]
pub(crate) enum Halt<'a> {
    Done,
    /// At a barrier: the statement.
    Barrier(&'a Statement),
    /// At a uniform load, which all have to reach before any loads: the statement, from where, into what.
    UniformLoad(&'a Statement, Pointer, Handle<Expression>),
}

enum Step<'a> {
    On,
    Halt(Halt<'a>),
}

pub(crate) struct Invocation<'a> {
    pub(crate) module: &'a Module,
    frames: Vec<Frame<'a>>,
    /// Variables of all functions that are active.
    stack: Vec<Bytes>,
    /// Private variables by the index of the global variable; those of other spaces are empty.
    private: Vec<Bytes>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn new(module: &'a Module, function: &'a Function, ids: &Ids, shared: &mut Shared) -> Result<Self> {
        let mut invocation = Self { module, frames: Vec::new(), stack: Vec::new(), private: Vec::new() };
        for (_, variable) in module.global_variables.iter() {
            let private = variable.space == naga::AddressSpace::Private;
            let size = if private { memory::size(module, variable.ty)? } else { 0 };
            invocation.private.push(Bytes::zeroed(size));
        }
        for (handle, variable) in module.global_variables.iter() {
            if let (naga::AddressSpace::Private, Some(init)) = (variable.space, variable.init) {
                let target = memory::Target::Type(variable.ty);
                let pointer = Pointer { root: Root::Private(handle.index()), offset: 0, target, inside: true };
                invocation.store(shared, pointer, &expression::constant(module, init)?)?;
            }
        }
        let arguments = function.arguments.iter().map(|a| ids.argument(module, a)).collect::<Result<Vec<_>>>()?;
        invocation.call(shared, function, arguments, None)?;
        Ok(invocation)
    }

    /// Runs to the end, or to the next barrier.
    pub(crate) fn run(&mut self, shared: &mut Shared) -> Result<Halt<'a>> {
        while !self.frames.is_empty() {
            if let Step::Halt(halt) = self.step(shared)? {
                return Ok(halt);
            }
        }
        Ok(Halt::Done)
    }

    pub(crate) fn frame(&self) -> Result<&Frame<'a>> {
        self.frames.last().ok_or_else(|| Stop::Invalid("no function is active".into()))
    }

    fn frame_mut(&mut self) -> Result<&mut Frame<'a>> {
        self.frames.last_mut().ok_or_else(|| Stop::Invalid("no function is active".into()))
    }

    pub(crate) fn set(&mut self, handle: Handle<Expression>, value: Value) -> Result<()> {
        match self.frame_mut()?.values.get_mut(handle.index()) {
            Some(slot) => *slot = Some(value),
            None => return invalid(("no such expression", handle)),
        }
        Ok(())
    }

    pub(crate) fn memory<'m>(&'m mut self, shared: &'m mut Shared, root: Root) -> Result<&'m mut Bytes> {
        let found = match root {
            Root::Buffer(i) => shared.buffers.get_mut(i),
            Root::Workgroup(i) => shared.workgroup.get_mut(i),
            Root::Private(i) => self.private.get_mut(i),
            Root::Function(i) => self.stack.get_mut(i),
        };
        found.ok_or_else(|| Stop::Invalid(format!("no memory {root:?}")))
    }

    fn call(
        &mut self,
        shared: &mut Shared,
        function: &'a Function,
        arguments: Vec<Value>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let (module, first_local) = (self.module, self.stack.len());
        for (_, variable) in function.local_variables.iter() {
            self.stack.push(Bytes::zeroed(memory::size(module, variable.ty)?));
        }
        let values = vec![None; function.expressions.len()];
        let cursors = vec![Cursor { block: &function.body, next: 0, after: After::Leave }];
        self.frames.push(Frame { function, arguments, values, first_local, cursors, result });
        for (handle, variable) in function.local_variables.iter() {
            if let Some(init) = variable.init {
                let target = memory::Target::Type(variable.ty);
                let pointer = Pointer { root: Root::Function(first_local + handle.index()), offset: 0, target, inside: true };
                let value = self.value(shared, init)?;
                self.store(shared, pointer, &value)?;
            }
        }
        Ok(())
    }

    fn give_back(&mut self, value: Option<Value>) -> Result<()> {
        let Some(frame) = self.frames.pop() else { return invalid("a return from nothing") };
        self.stack.truncate(frame.first_local);
        match (frame.result, value) {
            (Some(result), Some(value)) => self.set(result, value),
            (Some(_), None) => invalid("a function without its result"),
            (None, _) => Ok(()),
        }
    }

    fn step(&mut self, shared: &mut Shared) -> Result<Step<'a>> {
        shared.step()?;
        let frame = self.frame_mut()?;
        let Some(cursor) = frame.cursors.last_mut() else {
            self.give_back(None)?;
            return Ok(Step::On);
        };
        let block: &'a Block = cursor.block;
        let Some(statement) = block.get(cursor.next) else {
            let after = cursor.after;
            frame.cursors.pop();
            self.after(shared, after)?;
            return Ok(Step::On);
        };
        cursor.next += 1;
        self.statement(shared, statement)
    }

    fn enter(&mut self, block: &'a Block, after: After<'a>) -> Result<()> {
        self.frame_mut()?.cursors.push(Cursor { block, next: 0, after });
        Ok(())
    }

    fn after(&mut self, shared: &mut Shared, after: After<'a>) -> Result<()> {
        match after {
            After::Leave => Ok(()),
            After::Body(l) => self.enter(l.continuing, After::Continuing(l)),
            After::Continuing(l) => {
                let stop = match l.break_if {
                    Some(condition) => self.value(shared, condition)?.scalar()?.is_true(),
                    None => false,
                };
                if stop { Ok(()) } else { self.enter(l.body, After::Body(l)) }
            }
            After::Case(cases) => self.case(cases, cases.first().is_some_and(|c| c.fall_through)),
        }
    }

    /// After the first of `cases`: the next one when it falls through.
    fn case(&mut self, cases: &'a [SwitchCase], falls: bool) -> Result<()> {
        match cases.get(1..) {
            Some(rest @ [next, ..]) if falls => self.enter(&next.body, After::Case(rest)),
            _ => Ok(()),
        }
    }

    fn statement(&mut self, shared: &mut Shared, statement: &'a Statement) -> Result<Step<'a>> {
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    shared.step()?;
                    self.evaluate(shared, handle)?;
                }
            }
            Statement::Block(block) => self.enter(block, After::Leave)?,
            Statement::If { condition, accept, reject } => {
                let taken = if self.value(shared, *condition)?.scalar()?.is_true() { accept } else { reject };
                self.enter(taken, After::Leave)?;
            }
            Statement::Switch { selector, cases } => self.switch(shared, *selector, cases)?,
            Statement::Loop { body, continuing, break_if } => {
                self.enter(body, After::Body(Loop { body, continuing, break_if: *break_if }))?;
            }
            Statement::Break => self.unwind(|after| !matches!(after, After::Leave))?,
            Statement::Continue => self.next_round()?,
            Statement::Return { value } => {
                let value = value.map(|v| self.value(shared, v)).transpose()?;
                self.give_back(value)?;
            }
            Statement::ControlBarrier(_) => return Ok(Step::Halt(Halt::Barrier(statement))),
            Statement::MemoryBarrier(_) => {}
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let pointer = self.value(shared, *pointer)?.pointer()?;
                return Ok(Step::Halt(Halt::UniformLoad(statement, pointer, *result)));
            }
            Statement::Store { pointer, value } => {
                let (pointer, value) = (self.value(shared, *pointer)?.pointer()?, self.value(shared, *value)?);
                self.store(shared, pointer, &value)?;
            }
            Statement::Call { function, arguments, result } => {
                let arguments = arguments.iter().map(|&a| self.value(shared, a)).collect::<Result<Vec<_>>>()?;
                self.call(shared, &self.module.functions[*function], arguments, *result)?;
            }
            Statement::Atomic { pointer, fun, value, result } => self.atomic(shared, *pointer, fun, *value, *result)?,
            other => return unsupported(other),
        }
        Ok(Step::On)
    }

    fn switch(&mut self, shared: &mut Shared, selector: Handle<Expression>, cases: &'a [SwitchCase]) -> Result<()> {
        let selector = self.value(shared, selector)?.scalar()?.int();
        let is = |case: &SwitchCase| match case.value {
            SwitchValue::I32(v) => i128::from(v) == selector,
            SwitchValue::U32(v) => i128::from(v) == selector,
            SwitchValue::Default => false,
        };
        let hit = cases.iter().position(is).or_else(|| cases.iter().position(|c| c.value == SwitchValue::Default));
        match hit {
            Some(hit) => self.enter(&cases[hit].body, After::Case(&cases[hit..])),
            None => Ok(()),
        }
    }

    /// Leaves blocks up to and with the first of which `last` holds.
    fn unwind(&mut self, last: impl Fn(After<'a>) -> bool) -> Result<()> {
        loop {
            match self.frame_mut()?.cursors.pop() {
                Some(cursor) if last(cursor.after) => return Ok(()),
                Some(_) => {}
                None => return invalid("a break or continue from nothing"),
            }
        }
    }

    fn next_round(&mut self) -> Result<()> {
        loop {
            match self.frame_mut()?.cursors.pop() {
                Some(Cursor { after: After::Body(l), .. }) => return self.enter(l.continuing, After::Continuing(l)),
                Some(_) => {}
                None => return invalid("a continue from nothing"),
            }
        }
    }

    fn atomic(
        &mut self,
        shared: &mut Shared,
        pointer: Handle<Expression>,
        fun: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let pointer = self.value(shared, pointer)?.pointer()?;
        let old = self.load(shared, pointer)?.scalar()?;
        let value = self.value(shared, value)?.scalar()?;
        let (new, exchanged) = match fun {
            AtomicFunction::Exchange { compare: Some(compare) } => {
                // Out of range nothing is exchanged, also where 0 is compared with the 0 that was read there.
                let equal = self.value(shared, *compare)?.scalar()? == old && pointer.inside;
                (equal.then_some(value), Some(equal))
            }
            other => (Some(combine(other, old, value)?), None),
        };
        if let Some(new) = new {
            self.store(shared, pointer, &new.into())?;
        }
        match (result, exchanged) {
            (Some(result), Some(exchanged)) => self.set(result, [old, Scalar::bool(exchanged)].into_iter().collect()),
            (Some(result), None) => self.set(result, old.into()),
            (None, _) => Ok(()),
        }
    }
}

/// What an atomic operation leaves in memory.
fn combine(fun: &AtomicFunction, old: Scalar, value: Scalar) -> Result<Scalar> {
    let operate = |op| operator::scalar(op, old, value);
    match fun {
        AtomicFunction::Add => operate(BinaryOperator::Add),
        AtomicFunction::Subtract => operate(BinaryOperator::Subtract),
        AtomicFunction::And => operate(BinaryOperator::And),
        AtomicFunction::ExclusiveOr => operate(BinaryOperator::ExclusiveOr),
        AtomicFunction::InclusiveOr => operate(BinaryOperator::InclusiveOr),
        AtomicFunction::Min => math::component(MathFunction::Min, &[old, value]),
        AtomicFunction::Max => math::component(MathFunction::Max, &[old, value]),
        AtomicFunction::Exchange { .. } => Ok(value),
    }
}

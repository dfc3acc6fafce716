//! What is not there, as code of the kernel, for targets that leave it open: an access whose index may be out of range is only made when it is in
//! range; else a read gives zero and a write is dropped (L5). What comes from a lane that is not there is zero (`lanes`, L12). And functions are handed pointers to
//! whole variables only, for naga's writers do not know any others.
//!
//! Expressions keep their handles, since what uses them comes after them. So the value of an access that is cut off takes the place of the access by way of a
//! function that gives back its argument: the result of a call depends on no other expression.

use std::collections::HashMap;

use naga::{
    AddressSpace, AtomicFunction, Barrier, BinaryOperator, Block, Expression, Function, FunctionArgument, FunctionResult,
    GlobalVariable, Handle, LocalVariable, MemoryDecorations, Module, Range, Span, Statement, Type, TypeInner,
};

use super::build::Writer;
use super::check::{Chain, View, in_range};
use super::{Lowered, lanes, parameter, spell};
use crate::diagnostics::{self, Diagnostics};
use crate::parse;
use crate::range::ModuleRanges;

/// Cuts off what may not be there: lanes, and indices if asked for.
pub(super) fn run(lowered: Lowered, indices: bool) -> Result<Lowered, Diagnostics> {
    let (module, info, index) = (lowered.module(), lowered.info(), lowered.index());
    let ranges = ModuleRanges::find(module, info, index);
    let mut out = module.clone();
    out.functions = naga::Arena::new();
    let mut entry = out.entry_points.swap_remove(index);
    let lane = lanes::are_looked_at(module, &entry.function).then(|| lanes::variable(&mut out));
    let mut cut = Cut { out, moved: vec![None; module.functions.len()], givers: HashMap::new(), indices, lane };
    for (handle, before) in module.functions.iter() {
        let view = View::new(module, (info, index), &ranges, Some(handle));
        let after = cut.function(view, before.clone());
        cut.moved[handle.index()] = Some(cut.out.functions.append(after, module.functions.get_span(handle)));
    }
    let view = View::new(module, (info, index), &ranges, None);
    entry.function = cut.function(view, entry.function);
    let Cut { mut out, moved, .. } = cut;
    if let Some(lane) = lane {
        lanes::store_own(&mut out, &mut entry.function, lane);
    }
    out.entry_points = vec![entry];
    spell::run(&mut out);
    let info = parse::validator().validate(&out).map_err(|error| {
        diagnostics::internal(format!("a kernel that was cut off is not valid: {}", error.emit_to_string("")))
    })?;
    let reporter = lowered.reporter.and_then(|reporter| moved.get(reporter.index()).copied().flatten());
    Ok(Lowered { made: Some((out, info)), reporter, ..lowered })
}

/// What the pass knows about the whole module.
pub(super) struct Cut {
    pub(super) out: Module,
    /// By function of the source module: its new handle.
    moved: Vec<Option<Handle<Function>>>,
    /// By type: the function that gives back its argument.
    givers: HashMap<Handle<Type>, Handle<Function>>,
    /// Whether indices are cut off.
    indices: bool,
    /// Where an invocation's lane is kept, when anything asks for another's value.
    pub(super) lane: Option<Handle<GlobalVariable>>,
}

impl Cut {
    fn function(&mut self, view: Option<View<'_>>, mut function: Function) -> Function {
        for (_, expression) in function.expressions.iter_mut() {
            if let Expression::CallResult(callee) = expression
                && let Some(moved) = self.moved[callee.index()]
            {
                *callee = moved;
            }
        }
        let Some(view) = view else { return never_called(function) };
        let body = std::mem::take(&mut function.body);
        let mut rewriter = Rewriter { cut: self, view: Some(view), out: function };
        let body = rewriter.block(&body);
        Function { body, ..rewriter.out }
    }

    pub(super) fn giver(&mut self, ty: Handle<Type>) -> Handle<Function> {
        let functions = &mut self.out.functions;
        *self.givers.entry(ty).or_insert_with(|| {
            let mut function = Function {
                name: Some(format!("compute_given_{}", ty.index())),
                arguments: vec![parameter("value", ty)],
                result: Some(FunctionResult { ty, binding: None }),
                ..Function::default()
            };
            let value = function.expressions.append(Expression::FunctionArgument(0), Span::UNDEFINED);
            function.body.push(Statement::Return { value: Some(value) }, Span::UNDEFINED);
            functions.append(function, Span::UNDEFINED)
        })
    }

    /// Memory that is no part of a function, for what is handed to a parameter that asks for it.
    fn private(&mut self, ty: Handle<Type>) -> Handle<GlobalVariable> {
        let variable = GlobalVariable {
            name: Some("compute_aside".into()),
            space: AddressSpace::Private,
            binding: None,
            ty,
            init: None,
            memory_decorations: MemoryDecorations::empty(),
        };
        self.out.global_variables.append(variable, Span::UNDEFINED)
    }
}

/// What stands for a function that nothing calls: its calls need not be rewritten.
fn never_called(function: Function) -> Function {
    let Function { name, arguments, result, .. } = function;
    let mut out = Function { name, arguments, result, ..Function::default() };
    let zero = out.result.as_ref().map(|result| Expression::ZeroValue(result.ty));
    let value = zero.map(|zero| out.expressions.append(zero, Span::UNDEFINED));
    out.body.push(Statement::Return { value }, Span::UNDEFINED);
    out
}

/// Rewrites the body of one function.
pub(super) struct Rewriter<'a, 'c> {
    pub(super) cut: &'c mut Cut,
    pub(super) view: Option<View<'a>>,
    /// The function after the pass.
    pub(super) out: Function,
}

impl Rewriter<'_, '_> {
    fn block(&mut self, block: &Block) -> Block {
        let mut out = Block::with_capacity(block.len());
        for (statement, &span) in block.span_iter() {
            self.statement(statement, span, &mut out);
        }
        out
    }

    fn statement(&mut self, statement: &Statement, span: Span, out: &mut Block) {
        let rewritten = match statement {
            Statement::Emit(range) => return self.emit(range, span, out),
            Statement::Block(inner) => Statement::Block(self.block(inner)),
            Statement::If { condition, accept, reject } => {
                Statement::If { condition: *condition, accept: self.block(accept), reject: self.block(reject) }
            }
            Statement::Switch { selector, cases } => {
                let case = |case: &naga::SwitchCase| naga::SwitchCase {
                    value: case.value,
                    body: self.block(&case.body),
                    fall_through: case.fall_through,
                };
                let mut cases: Vec<_> = cases.iter().map(case).collect();
                // naga's SPIR-V writer does not count cases of which nothing is written, and goes on from one that falls into the next with a wrong one.
                if cases.iter().any(|case| case.fall_through && !case.body.is_empty()) {
                    for case in cases.iter_mut().filter(|case| case.body.is_empty()) {
                        case.body.push(Statement::Block(Block::new()), span);
                    }
                }
                Statement::Switch { selector: *selector, cases }
            }
            Statement::Loop { body, continuing, break_if } => {
                Statement::Loop { body: self.block(body), continuing: self.block(continuing), break_if: *break_if }
            }
            Statement::Store { pointer, .. } => match self.condition(*pointer, span, out) {
                Some(condition) => {
                    let accept = Block::from_vec(vec![statement.clone()]);
                    Statement::If { condition, accept, reject: Block::new() }
                }
                None => statement.clone(),
            },
            Statement::Atomic { pointer, fun, value, result } => {
                return match self.condition(*pointer, span, out) {
                    Some(condition) => self.atomic((*pointer, *fun, *value, *result), condition, span, out),
                    None => out.push(statement.clone(), span),
                };
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                return match self.condition(*pointer, span, out) {
                    Some(condition) => self.uniform_load(*pointer, *result, condition, span, out),
                    None => out.push(statement.clone(), span),
                };
            }
            Statement::SubgroupGather { mode, argument, result } => {
                return self.gather((*mode, *argument, *result), span, out);
            }
            Statement::Call { function, arguments, result } => {
                return self.call(*function, arguments, *result, span, out);
            }
            _ => statement.clone(),
        };
        out.push(rewritten, span);
    }

    /// What is evaluated, in pieces around what is cut off.
    fn emit(&mut self, range: &Range<Expression>, span: Span, out: &mut Block) {
        let mut open: Option<(Handle<Expression>, Handle<Expression>)> = None;
        let end = |open: &mut Option<_>, out: &mut Block| {
            if let Some((first, last)) = open.take() {
                out.push(Statement::Emit(Range::new_from_bounds(first, last)), span);
            }
        };
        for at in range.clone() {
            let checked = self.view.as_ref().and_then(|view| view.checked_at(at)).filter(|pointer| self.is_in_doubt(*pointer));
            let Some(pointer) = checked else {
                open = Some((open.map_or(at, |(first, _)| first), at));
                continue;
            };
            end(&mut open, out);
            let access = self.out.expressions[at].clone();
            if let (Some(condition), Some(ty)) = (self.condition(pointer, span, out), self.ty(at)) {
                let aside = self.aside(ty);
                self.set_aside(aside, ty, condition, span, out, |writer| writer.add(access));
                self.give(aside, ty, at, span, out);
            }
        }
        end(&mut open, out);
    }

    fn is_in_doubt(&self, pointer: Handle<Expression>) -> bool {
        self.chain(pointer).is_some()
    }

    /// The checks that a pointer or value needs, if it needs any.
    fn chain(&self, pointer: Handle<Expression>) -> Option<Chain> {
        let view = self.view.as_ref().filter(|_| self.cut.indices)?;
        Some(view.chain(pointer)).filter(|chain| !chain.checks.is_empty())
    }

    /// Whether everything that a pointer goes through is in range; `None` when that is known.
    fn condition(&mut self, pointer: Handle<Expression>, span: Span, out: &mut Block) -> Option<Handle<Expression>> {
        let chain = self.chain(pointer)?;
        let view = self.view.as_ref()?;
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let conditions: Vec<_> = chain.checks.iter().map(|check| in_range(&mut writer, view, check)).collect();
        let all = conditions.into_iter().reduce(|a, b| writer.binary(BinaryOperator::LogicalAnd, a, b));
        out.append(&mut writer.block);
        all
    }

    /// The type of an expression, as a type of the module.
    pub(super) fn ty(&mut self, at: Handle<Expression>) -> Option<Handle<Type>> {
        let view = self.view.as_ref()?;
        Some(match &view.info[at].ty {
            naga::proc::TypeResolution::Handle(handle) => *handle,
            naga::proc::TypeResolution::Value(inner) => {
                self.cut.out.types.insert(Type { name: None, inner: inner.clone() }, Span::UNDEFINED)
            }
        })
    }

    /// A variable of the function, as a pointer.
    fn aside(&mut self, ty: Handle<Type>) -> Handle<Expression> {
        let variable = self.out.local_variables.append(LocalVariable { name: None, ty, init: None }, Span::UNDEFINED);
        self.out.expressions.append(Expression::LocalVariable(variable), Span::UNDEFINED)
    }

    /// Stores what `value` makes, or zero where the condition does not hold.
    fn set_aside(
        &mut self,
        aside: Handle<Expression>,
        ty: Handle<Type>,
        condition: Handle<Expression>,
        span: Span,
        out: &mut Block,
        value: impl FnOnce(&mut Writer<'_>) -> Handle<Expression>,
    ) {
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let accept = writer.nested(|writer| {
            let value = value(writer);
            writer.store(aside, value);
        });
        let reject = writer.nested(|writer| {
            let zero = writer.add(Expression::ZeroValue(ty));
            writer.store(aside, zero);
        });
        writer.if_(condition, accept, reject);
        out.append(&mut writer.block);
    }

    /// Makes an expression the value that was set aside.
    fn give(&mut self, aside: Handle<Expression>, ty: Handle<Type>, at: Handle<Expression>, span: Span, out: &mut Block) {
        let function = self.cut.giver(ty);
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let value = writer.load(aside);
        writer.push(Statement::Call { function, arguments: vec![value], result: Some(at) });
        out.append(&mut writer.block);
        self.out.expressions[at] = Expression::CallResult(function);
    }

    fn atomic(
        &mut self,
        (pointer, fun, value, result): (Handle<Expression>, AtomicFunction, Handle<Expression>, Option<Handle<Expression>>),
        condition: Handle<Expression>,
        span: Span,
        out: &mut Block,
    ) {
        let Some(result) = result else {
            let accept = Block::from_vec(vec![Statement::Atomic { pointer, fun, value, result: None }]);
            return out.push(Statement::If { condition, accept, reject: Block::new() }, span);
        };
        let Some(ty) = self.ty(result) else { return };
        let made = self.out.expressions[result].clone();
        let aside = self.aside(ty);
        self.set_aside(aside, ty, condition, span, out, |writer| {
            let result = writer.add(made);
            writer.push(Statement::Atomic { pointer, fun, value, result: Some(result) });
            result
        });
        self.give(aside, ty, result, span, out);
    }

    /// The barriers of such a load stay, whether it is cut off or not.
    fn uniform_load(
        &mut self,
        pointer: Handle<Expression>,
        result: Handle<Expression>,
        condition: Handle<Expression>,
        span: Span,
        out: &mut Block,
    ) {
        let Some(ty) = self.ty(result) else { return };
        let aside = self.aside(ty);
        out.push(Statement::ControlBarrier(Barrier::WORK_GROUP), span);
        self.set_aside(aside, ty, condition, span, out, |writer| writer.load(pointer));
        out.push(Statement::ControlBarrier(Barrier::WORK_GROUP), span);
        self.give(aside, ty, result, span, out);
    }

    /// A pointer to a part of a variable is handed on as one to a copy, which goes back when it is in range. Nothing else leads to that part meanwhile:
    /// the language forbids aliases.
    fn call(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
        out: &mut Block,
    ) {
        let mut arguments = arguments.to_vec();
        let mut back = Vec::new();
        for (position, argument) in arguments.iter_mut().enumerate() {
            let Some((ty, space)) = self.handed(callee, position, *argument) else { continue };
            let condition = self.condition(*argument, span, out);
            if condition.is_none() && !self.is_part(*argument) {
                continue;
            }
            let aside = match space {
                AddressSpace::Private => {
                    let variable = self.cut.private(ty);
                    self.out.expressions.append(Expression::GlobalVariable(variable), Span::UNDEFINED)
                }
                _ => self.aside(ty),
            };
            let pointer = *argument;
            match condition {
                Some(condition) => self.set_aside(aside, ty, condition, span, out, |writer| writer.load(pointer)),
                None => self.copy(pointer, aside, span, out),
            }
            back.push((condition, aside, pointer));
            *argument = aside;
        }
        let function = self.cut.moved.get(callee.index()).copied().flatten().unwrap_or(callee);
        out.push(Statement::Call { function, arguments, result }, span);
        for (condition, aside, pointer) in back {
            let mut accept = Block::new();
            self.copy(aside, pointer, span, &mut accept);
            match condition {
                Some(condition) => out.push(Statement::If { condition, accept, reject: Block::new() }, span),
                None => out.append(&mut accept),
            }
        }
    }

    fn copy(&mut self, from: Handle<Expression>, to: Handle<Expression>, span: Span, out: &mut Block) {
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let value = writer.load(from);
        writer.store(to, value);
        out.append(&mut writer.block);
    }

    fn is_part(&self, pointer: Handle<Expression>) -> bool {
        matches!(self.out.expressions[pointer], Expression::Access { .. } | Expression::AccessIndex { .. })
    }

    /// Type and place of what a pointer that is handed on leads to, if it can be copied.
    fn handed(
        &self,
        callee: Handle<Function>,
        position: usize,
        argument: Handle<Expression>,
    ) -> Option<(Handle<Type>, AddressSpace)> {
        let view = self.view.as_ref()?;
        if !view.is_pointer(argument) {
            return None;
        }
        let FunctionArgument { ty, .. } = view.module.functions[callee].arguments.get(position)?;
        match view.module.types[*ty].inner {
            TypeInner::Pointer { base, space: space @ (AddressSpace::Function | AddressSpace::Private) } => Some((base, space)),
            _ => None,
        }
    }
}

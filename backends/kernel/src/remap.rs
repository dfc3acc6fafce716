//! Every handle in an expression or statement that leads to another expression, so that a function can be copied with its expressions moved.
//! Without a wildcard: a construct that is new must be looked at.

use naga::{Arena, AtomicFunction, Block, Expression, Function, GatherMode, Handle, Range, Span, Statement};

type Visit<'a> = dyn FnMut(&mut Handle<Expression>) + 'a;

fn all<const N: usize>(handles: [&mut Handle<Expression>; N], f: &mut Visit<'_>) {
    handles.into_iter().for_each(f);
}

fn some<const N: usize>(handles: [&mut Option<Handle<Expression>>; N], f: &mut Visit<'_>) {
    handles.into_iter().flatten().for_each(f);
}

/// Calls `f` for every operand of an expression.
pub(crate) fn expression(expression: &mut Expression, f: &mut Visit<'_>) {
    match expression {
        Expression::Literal(_)
        | Expression::Constant(_)
        | Expression::Override(_)
        | Expression::ZeroValue(_)
        | Expression::FunctionArgument(_)
        | Expression::GlobalVariable(_)
        | Expression::LocalVariable(_)
        | Expression::CallResult(_)
        | Expression::AtomicResult { .. }
        | Expression::WorkGroupUniformLoadResult { .. }
        | Expression::SubgroupBallotResult
        | Expression::SubgroupOperationResult { .. } => {}
        Expression::Compose { components, .. } => components.iter_mut().for_each(f),
        Expression::Access { base, index } => all([base, index], f),
        Expression::AccessIndex { base: one, .. }
        | Expression::Splat { value: one, .. }
        | Expression::Swizzle { vector: one, .. }
        | Expression::Load { pointer: one }
        | Expression::Unary { expr: one, .. }
        | Expression::Derivative { expr: one, .. }
        | Expression::Relational { argument: one, .. }
        | Expression::As { expr: one, .. }
        | Expression::ArrayLength(one) => f(one),
        Expression::Binary { left, right, .. } => all([left, right], f),
        Expression::Select { condition, accept, reject } => all([condition, accept, reject], f),
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            f(arg);
            some([arg1, arg2, arg3], f);
        }
        // Refused before: see `support`.
        Expression::ImageSample { .. }
        | Expression::ImageLoad { .. }
        | Expression::ImageQuery { .. }
        | Expression::CooperativeLoad { .. }
        | Expression::CooperativeMultiplyAdd { .. }
        | Expression::RayQueryVertexPositions { .. }
        | Expression::RayQueryGetIntersection { .. }
        | Expression::RayQueryProceedResult => {}
    }
}

/// Calls `f` for every expression that a statement mentions, and `emit` for those that it evaluates; the same for the statements inside.
pub(crate) fn statement(statement: &mut Statement, f: &mut Visit<'_>, emit: &mut dyn FnMut(&mut Range<Expression>)) {
    match statement {
        Statement::Emit(range) => emit(range),
        Statement::Block(inner) => block(inner, f, emit),
        Statement::If { condition, accept, reject } => {
            f(condition);
            block(accept, f, emit);
            block(reject, f, emit);
        }
        Statement::Switch { selector, cases } => {
            f(selector);
            cases.iter_mut().for_each(|case| block(&mut case.body, f, emit));
        }
        Statement::Loop { body, continuing, break_if } => {
            block(body, f, emit);
            block(continuing, f, emit);
            some([break_if], f);
        }
        Statement::Break | Statement::Continue | Statement::Kill | Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => {
        }
        Statement::Return { value } => some([value], f),
        Statement::Store { pointer, value } => all([pointer, value], f),
        Statement::Atomic { pointer, fun, value, result } => {
            all([pointer, value], f);
            some([result], f);
            atomic(fun, f);
        }
        Statement::WorkGroupUniformLoad { pointer, result } => all([pointer, result], f),
        Statement::Call { arguments, result, .. } => {
            arguments.iter_mut().for_each(&mut *f);
            some([result], f);
        }
        Statement::SubgroupBallot { result, predicate } => {
            f(result);
            some([predicate], f);
        }
        Statement::SubgroupGather { mode, argument, result } => {
            all([argument, result], f);
            gather(mode, f);
        }
        Statement::SubgroupCollectiveOperation { argument, result, .. } => all([argument, result], f),
        // Refused before: see `support`.
        Statement::ImageStore { .. }
        | Statement::ImageAtomic { .. }
        | Statement::RayQuery { .. }
        | Statement::RayPipelineFunction(_)
        | Statement::CooperativeStore { .. } => {}
    }
}

/// The same for every statement of a block.
pub(crate) fn block(statements: &mut Block, f: &mut Visit<'_>, emit: &mut dyn FnMut(&mut Range<Expression>)) {
    statements.iter_mut().for_each(|inner| statement(inner, f, emit));
}

fn atomic(fun: &mut AtomicFunction, f: &mut Visit<'_>) {
    if let AtomicFunction::Exchange { compare } = fun {
        some([compare], f);
    }
}

fn gather(mode: &mut GatherMode, f: &mut Visit<'_>) {
    match mode {
        GatherMode::Broadcast(index)
        | GatherMode::Shuffle(index)
        | GatherMode::ShuffleDown(index)
        | GatherMode::ShuffleUp(index)
        | GatherMode::ShuffleXor(index)
        | GatherMode::QuadBroadcast(index) => f(index),
        GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => {}
    }
}

/// An expression to be rewritten: its handle, what it is with its operands moved, its place.
pub(crate) type Old = (Handle<Expression>, Expression, Span);

/// Appends an expression, or others in its place, and answers with the one that stands for it. What it appends must be evaluated where the
/// expression was. It also gets the constants that were asked for.
type Make<'a> = dyn FnMut(Old, &[Handle<Expression>], &mut Arena<Expression>) -> Handle<Expression> + 'a;

/// Rewrites the expressions of a function, in their order. `constants`, which need not be evaluated, come before all others.
pub(crate) fn rewrite(function: &mut Function, constants: &[Expression], make: &mut Make<'_>) {
    let old = std::mem::take(&mut function.expressions);
    let out = &mut function.expressions;
    let constants: Vec<_> = constants.iter().map(|constant| out.append(constant.clone(), Span::UNDEFINED)).collect();
    let mut moved: Vec<Handle<Expression>> = Vec::with_capacity(old.len());
    let mut first: Vec<u32> = Vec::with_capacity(old.len() + 1);
    for (handle, old_expression) in old.iter() {
        let mut copy = old_expression.clone();
        expression(&mut copy, &mut |operand| *operand = moved.get(operand.index()).copied().unwrap_or(*operand));
        first.push(out.len() as u32);
        moved.push(make((handle, copy, old.get_span(handle)), &constants, out));
    }
    first.push(out.len() as u32);
    let at = |handle: Handle<Expression>| moved.get(handle.index()).copied().unwrap_or(handle);
    for (_, variable) in function.local_variables.iter_mut() {
        variable.init = variable.init.map(at);
    }
    let named = std::mem::take(&mut function.named_expressions);
    function.named_expressions.extend(named.into_iter().map(|(handle, name)| (at(handle), name)));
    let place = |index: u32| first.get(index as usize).copied().unwrap_or_default();
    let out = &function.expressions;
    block(&mut function.body, &mut |operand| *operand = at(*operand), &mut |range| {
        let old = range.index_range();
        *range = Range::from_index_range(place(old.start)..place(old.end), out);
    });
}

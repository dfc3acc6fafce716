//! Every handle in an expression or statement that leads to another expression, so that a function can be copied with its expressions moved.
//! Without a wildcard: a construct that is new must be looked at.

use naga::{AtomicFunction, Block, Expression, GatherMode, Handle, Range, Statement};

type Visit<'a> = dyn FnMut(&mut Handle<Expression>) + 'a;

fn all<const N: usize>(handles: [&mut Handle<Expression>; N], f: &mut Visit<'_>) {
    handles.into_iter().for_each(f);
}

fn some<const N: usize>(handles: [&mut Option<Handle<Expression>>; N], f: &mut Visit<'_>) {
    handles.into_iter().flatten().for_each(f);
}

/// Calls `f` for every operand of an expression.
pub(super) fn expression(expression: &mut Expression, f: &mut Visit<'_>) {
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
pub(super) fn statement(statement: &mut Statement, f: &mut Visit<'_>, emit: &mut dyn FnMut(&mut Range<Expression>)) {
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
pub(super) fn block(statements: &mut Block, f: &mut Visit<'_>, emit: &mut dyn FnMut(&mut Range<Expression>)) {
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

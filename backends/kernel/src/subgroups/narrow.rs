//! `subgroupAnd`, `Or` and `Xor` of integers of 16 bits, which the IR has for 32 bits and more: of wider ones, of which the lower half is the result.

use std::collections::HashMap;

use naga::{
    Arena, Block, Expression, Function, Handle, Module, Range, Scalar, ScalarKind, Span, Statement, SubgroupOperation, Type,
    TypeInner, UniqueArena,
};

use crate::remap;

/// Spells all of them.
pub(super) fn widen(module: &mut Module) {
    let mut functions = std::mem::take(&mut module.functions);
    functions.iter_mut().for_each(|(_, function)| widen_in(function, &mut module.types));
    module.functions = functions;
    module.entry_points.iter_mut().for_each(|entry| widen_in(&mut entry.function, &mut module.types));
}

fn widen_in(function: &mut Function, types: &mut UniqueArena<Type>) {
    // By their results: the wider type, and whether it has a sign.
    let mut found = HashMap::new();
    collect(&function.body, &mut |result| {
        if let Ok(Expression::SubgroupOperationResult { ty }) = function.expressions.try_get(result)
            && let Some((inner, kind)) = wider(&types[*ty].inner)
        {
            found.insert(result, (types.insert(Type { name: None, inner }, Span::UNDEFINED), kind));
        }
    });
    if found.is_empty() {
        return;
    }
    // By what stands for the result now: the wider one.
    let mut results = HashMap::new();
    remap::rewrite(function, &[], &mut |(handle, expression, span), _, out| {
        let Some(&(ty, kind)) = found.get(&handle) else { return out.append(expression, span) };
        let wide = out.append(Expression::SubgroupOperationResult { ty }, span);
        let narrow = out.append(Expression::As { expr: wide, kind, convert: Some(2) }, span);
        results.insert(narrow, (wide, kind));
        narrow
    });
    respell(&mut function.body, &mut function.expressions, &results);
}

fn wider(inner: &TypeInner) -> Option<(TypeInner, ScalarKind)> {
    let wide = |scalar: Scalar| {
        let narrow = matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint) && scalar.width == 2;
        narrow.then_some(Scalar { width: 4, ..scalar })
    };
    match *inner {
        TypeInner::Scalar(scalar) => Some((TypeInner::Scalar(wide(scalar)?), scalar.kind)),
        TypeInner::Vector { size, scalar } => Some((TypeInner::Vector { size, scalar: wide(scalar)? }, scalar.kind)),
        _ => None,
    }
}

/// Calls `f` for the result of every operation on bits.
fn collect(block: &Block, f: &mut dyn FnMut(Handle<Expression>)) {
    for statement in block.iter() {
        match statement {
            Statement::SubgroupCollectiveOperation {
                op: SubgroupOperation::And | SubgroupOperation::Or | SubgroupOperation::Xor,
                result,
                ..
            } => f(*result),
            Statement::Block(inner) => collect(inner, f),
            Statement::If { accept, reject, .. } => {
                collect(accept, f);
                collect(reject, f);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| collect(&case.body, f)),
            Statement::Loop { body, continuing, .. } => {
                collect(body, f);
                collect(continuing, f);
            }
            _ => {}
        }
    }
}

/// Evaluates the wider argument before each of them, and the narrow result behind.
fn respell(
    block: &mut Block,
    expressions: &mut Arena<Expression>,
    results: &HashMap<Handle<Expression>, (Handle<Expression>, ScalarKind)>,
) {
    let old = std::mem::take(block);
    for (mut statement, span) in old.span_into_iter() {
        let mut behind = None;
        match &mut statement {
            Statement::SubgroupCollectiveOperation { argument, result, .. } => {
                if let Some(&(wide, kind)) = results.get(result) {
                    *argument = expressions.append(Expression::As { expr: *argument, kind, convert: Some(4) }, span);
                    block.push(Statement::Emit(Range::new_from_bounds(*argument, *argument)), span);
                    behind = Some(Statement::Emit(Range::new_from_bounds(*result, *result)));
                    *result = wide;
                }
            }
            Statement::Block(inner) => respell(inner, expressions, results),
            Statement::If { accept, reject, .. } => {
                respell(accept, expressions, results);
                respell(reject, expressions, results);
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| respell(&mut case.body, expressions, results));
            }
            Statement::Loop { body, continuing, .. } => {
                respell(body, expressions, results);
                respell(continuing, expressions, results);
            }
            _ => {}
        }
        block.push(statement, span);
        if let Some(behind) = behind {
            block.push(behind, span);
        }
    }
}

//! Loops that surely end, because of a counter.

use naga::{AddressSpace, BinaryOperator, Block, Expression, Handle, LocalVariable, Scalar, Statement, TypeInner};

use super::flow::{self, Subject};
use crate::walk;

/// The condition at the top of a loop.
struct Guard {
    counter: Handle<LocalVariable>,
    /// What the counter stays below, if it is a constant.
    bound: Option<i64>,
    scalar: Scalar,
}

impl Guard {
    /// Whether a step up from below the bound does not wrap.
    fn allows(&self, step: i64) -> bool {
        let most = if self.scalar == Scalar::I32 { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        // Below a bound that is a number itself there is always one more.
        step >= 1 && self.bound.map_or(step == 1, |bound| bound + step - 1 <= most)
    }
}

/// What the passes of a loop stay below, when its counter goes up in every pass and ends it at a constant.
pub(super) fn passes_below(subject: Subject<'_>, body: &Block, continuing: &Block) -> Option<u64> {
    let guard = guard(subject, body)?;
    // From a negative number it takes longer.
    (guard.scalar == Scalar::U32 || never_negative(subject, guard.counter)).then_some(())?;
    let bound = u64::try_from(guard.bound?).ok()?;
    steps_up(subject, continuing, &guard).then_some(bound)
}

/// Whether a loop has a counter that goes up in every pass until it is no longer below something that stays the same.
pub(super) fn ends(subject: Subject<'_>, body: &Block, continuing: &Block) -> bool {
    guard(subject, body).is_some_and(|guard| steps_up(subject, continuing, &guard))
}

/// What a loop sets its counter to for the next pass, where that is unsigned and surely larger than what it was.
pub(super) fn next(subject: Subject<'_>, body: &Block, continuing: &Block) -> Option<Handle<Expression>> {
    let guard = guard(subject, body).filter(|guard| guard.scalar == Scalar::U32)?;
    steps_up(subject, continuing, &guard).then_some(())?;
    continuing.iter().find_map(|statement| match statement {
        Statement::Store { pointer, value } if flow::root(subject.function, *pointer) == Some(guard.counter) => Some(*value),
        _ => None,
    })
}

/// The condition of a loop whose body begins with `if (counter < bound) {} else { break; }`, for a counter that is loaded there and not
/// written by the body: a condition from before the loop says nothing about later passes.
fn guard(subject: Subject<'_>, body: &Block) -> Option<Guard> {
    let Subject { module, function, .. } = subject;
    let position = body.iter().position(|statement| !matches!(statement, Statement::Emit(_)))?;
    let Some(Statement::If { condition, accept, reject }) = body.get(position) else { return None };
    if !accept.is_empty() || !matches!(reject.iter().as_slice(), [Statement::Break]) {
        return None;
    }
    let Expression::Binary { op, left, right } = function.expressions[*condition] else { return None };
    let more = match op {
        BinaryOperator::Less => 0,
        BinaryOperator::LessEqual => 1,
        _ => return None,
    };
    let mut evaluated = Vec::new();
    for_each_emitted(body.get(..position)?, &mut |at| evaluated.push(at));
    let bound = flow::literal(module, function, right).map(|bound| bound + more);
    // A number that is at most the largest one stays so forever.
    let stays = more == 0 && (!evaluated.contains(&right) || is_fixed(subject, right));
    let counter = load_of(subject, left).filter(|_| evaluated.contains(&left) && (bound.is_some() || stays))?;
    let scalar = match *subject.info[left].ty.inner_with(&module.types) {
        TypeInner::Scalar(scalar @ (Scalar::U32 | Scalar::I32)) => scalar,
        _ => return None,
    };
    (!writes(subject, body, counter)).then_some(Guard { counter, bound, scalar })
}

/// Whether an expression is the same wherever it is evaluated: a length, or a part of the immediate block.
fn is_fixed(subject: Subject<'_>, at: Handle<Expression>) -> bool {
    match subject.function.expressions[at] {
        Expression::ArrayLength(_) => true,
        Expression::Load { mut pointer } => loop {
            match subject.function.expressions[pointer] {
                Expression::AccessIndex { base, .. } => pointer = base,
                Expression::GlobalVariable(global) => {
                    break subject.module.global_variables[global].space == AddressSpace::Immediate;
                }
                _ => break false,
            }
        },
        _ => false,
    }
}

/// Whether a signed variable holds no negative number at any time: it starts at none, is set to none, and is counted up only at the
/// end of loops that keep it below a bound.
fn never_negative(subject: Subject<'_>, local: Handle<LocalVariable>) -> bool {
    let Subject { module, function, .. } = subject;
    let positive = |at| flow::literal(module, function, at).is_some_and(|number| number >= 0);
    let starts = function.local_variables[local].init.is_none_or(positive);
    let (mut stores, mut fitting) = (0, 0);
    walk::statements(&function.body, &mut |statement| match statement {
        Statement::Loop { body, continuing, .. } => {
            let guard = guard(subject, body).filter(|guard| guard.counter == local);
            fitting += usize::from(guard.is_some_and(|guard| steps_up(subject, continuing, &guard)));
        }
        Statement::Store { pointer, value } if flow::root(function, *pointer) == Some(local) => {
            stores += 1;
            fitting += usize::from(positive(*value));
        }
        Statement::Call { arguments, .. } if arguments.iter().any(|at| flow::root(function, *at) == Some(local)) => {
            // Whatever it stores.
            stores += 1;
        }
        _ => {}
    });
    starts && stores == fitting
}

/// Whether a continuing block stores to a counter once, and then a load of its own plus a constant that cannot wrap.
fn steps_up(subject: Subject<'_>, continuing: &Block, guard: &Guard) -> bool {
    let Subject { module, function, .. } = subject;
    let local = guard.counter;
    let mut loads = Vec::new();
    let mut steps = false;
    for statement in continuing.iter() {
        match statement {
            Statement::Emit(_) if !steps => for_each_emitted(std::slice::from_ref(statement), &mut |at| {
                if load_of(subject, at) == Some(local) {
                    loads.push(at);
                }
            }),
            Statement::Store { pointer, value } if flow::root(function, *pointer) == Some(local) => {
                let Expression::Binary { op: BinaryOperator::Add, left, right } = function.expressions[*value] else {
                    return false;
                };
                let fits = flow::literal(module, function, right).is_some_and(|step| guard.allows(step));
                if steps || !fits || !loads.contains(&left) {
                    return false;
                }
                steps = true;
            }
            _ => {
                if writes(subject, std::slice::from_ref(statement), local) {
                    return false;
                }
            }
        }
    }
    steps
}

/// The variable that an expression loads, all of it.
fn load_of(subject: Subject<'_>, at: Handle<Expression>) -> Option<Handle<LocalVariable>> {
    let Expression::Load { pointer } = subject.function.expressions[at] else { return None };
    match subject.function.expressions[pointer] {
        Expression::LocalVariable(local) => Some(local),
        _ => None,
    }
}

/// Whether anything in a block may change a variable.
fn writes(subject: Subject<'_>, block: &[Statement], local: Handle<LocalVariable>) -> bool {
    let leads = |pointer| flow::root(subject.function, pointer) == Some(local);
    let mut found = false;
    walk::statements(block, &mut |statement| {
        found |= match statement {
            Statement::Store { pointer, .. } | Statement::Atomic { pointer, .. } => leads(*pointer),
            Statement::Call { arguments, .. } => arguments.iter().any(|argument| leads(*argument)),
            _ => false,
        };
    });
    found
}

fn for_each_emitted(statements: &[Statement], f: &mut dyn FnMut(Handle<Expression>)) {
    walk::statements(statements, &mut |statement| {
        if let Statement::Emit(range) = statement {
            range.clone().for_each(&mut *f);
        }
    });
}

//! The walk over an entry point, and the functions that it calls, that finds its stores and what must hold for an invocation to reach them.
//!
//! A store counts only where the walk can say so of every invocation: outside loops and switches, and behind conditions that are comparisons. What
//! leaves the function early on any other condition ends the search in that function.

use std::collections::HashMap;

use naga::{BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Range, Statement, UnaryOperator};

use super::eval::{Kernel, Value, Values};
use super::place::Place;
use super::poly::Poly;
use crate::access::root;

/// Stores of one block that are kept. A kernel has a few.
const MAX_STORES: usize = 64;
/// Guards of one store.
const MAX_GUARDS: usize = 8;
/// Conditions that one is made of; a condition that is used twice is followed twice.
const MAX_CONDITIONS: u32 = 64;
/// Expressions of all calls that are followed, those inside each other counted each time.
const MAX_FOLLOWED: usize = 1 << 16;

/// The least number that is negative when it has a sign.
pub(super) const NEGATIVE: u32 = 1 << 31;

/// `left < right` holds: enough for an invocation to get here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Less {
    pub(super) left: Poly,
    pub(super) right: Poly,
    /// It only asks that `left` is not negative.
    pub(super) sign: bool,
}

/// A store that every invocation makes for which all of `guards` hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) guards: Vec<Less>,
}

/// Whether an invocation goes on behind a block.
#[derive(Debug)]
enum Exit {
    /// All that enter go on for which these hold.
    Onward(Vec<Less>),
    /// None does.
    Returned,
    /// Some may not.
    Unknown,
}

struct Flow {
    stores: Vec<Found>,
    exit: Exit,
}

pub(super) struct Walk<'a> {
    function: &'a Function,
    values: Values<'a>,
    /// How often each variable is stored to, or may be through a pointer.
    stored: Vec<u32>,
    /// What variables with a single store hold from here on.
    held: HashMap<Handle<LocalVariable>, Value>,
    /// Those of `held`, in the order in which they came, so that a block can take its own away.
    order: Vec<Handle<LocalVariable>>,
    /// What is left of [`MAX_FOLLOWED`].
    budget: usize,
}

/// The stores of an entry point.
pub(super) fn stores<'a>(kernel: Kernel<'a>, function: &'a Function) -> Vec<Found> {
    let arguments = kernel.arguments(function);
    let mut walk = Walk::new(kernel, function, &arguments, MAX_FOLLOWED);
    walk.block(&function.body).stores
}

impl<'a> Walk<'a> {
    fn new(kernel: Kernel<'a>, function: &'a Function, arguments: &[Option<Value>], budget: usize) -> Self {
        let mut stored = vec![0; function.local_variables.len()];
        count_stores(function, &function.body, &mut stored);
        let values = Values::new(kernel, function, arguments);
        Self { function, values, stored, held: HashMap::new(), order: Vec::new(), budget }
    }

    /// What a call stores, for every invocation that makes it. When the function returns in one place, the value of that is known behind the call.
    fn call(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Vec<Found> {
        let kernel = self.values.kernel;
        let function = &kernel.module.functions[callee];
        let Some(left) = self.budget.checked_sub(function.expressions.len() + 1) else { return Vec::new() };
        // Conditions are expressions of this function.
        let arguments: Vec<_> =
            arguments.iter().map(|a| self.values.get(*a).filter(|v| !matches!(v, Value::Either { .. })).cloned()).collect();
        let mut walk = Walk::new(kernel, function, &arguments, left);
        let stores = walk.block(&function.body).stores;
        self.budget = walk.budget;
        if let (Some(result), Some((Statement::Return { value: Some(value) }, before))) = (result, function.body.split_last())
            && !before.iter().any(returns)
        {
            let value = walk.values.get(*value).filter(|v| !matches!(v, Value::Either { .. })).cloned();
            self.values.set(result, value);
        }
        stores
    }

    fn block(&mut self, block: &'a Block) -> Flow {
        let mut stores: Vec<Found> = Vec::new();
        let mut guards: Vec<Less> = Vec::new();
        for statement in block {
            let flow = match statement {
                Statement::Emit(range) => {
                    self.emit(range);
                    continue;
                }
                Statement::Store { pointer, value } => {
                    self.store(*pointer, *value);
                    let place = Place::of(self.function, &self.values, *pointer);
                    let stores = place.map(|place| Found { place, guards: Vec::new() }).into_iter().collect();
                    Flow { stores, exit: Exit::Onward(Vec::new()) }
                }
                Statement::Call { function, arguments, result } => {
                    Flow { stores: self.call(*function, arguments, *result), exit: Exit::Onward(Vec::new()) }
                }
                Statement::Block(inner) => self.scoped(inner),
                Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject),
                Statement::Return { .. } => return Flow { stores, exit: Exit::Returned },
                Statement::Loop { .. } | Statement::Switch { .. } if returns(statement) => {
                    return Flow { stores, exit: Exit::Unknown };
                }
                Statement::Break | Statement::Continue | Statement::Kill => return Flow { stores, exit: Exit::Unknown },
                _ => continue,
            };
            for mut found in flow.stores {
                found.guards.extend(guards.iter().cloned());
                if stores.len() < MAX_STORES && found.guards.len() <= MAX_GUARDS {
                    stores.push(found);
                }
            }
            match flow.exit {
                Exit::Onward(more) if guards.len() + more.len() <= MAX_GUARDS => guards.extend(more),
                Exit::Returned => return Flow { stores, exit: Exit::Returned },
                Exit::Onward(_) | Exit::Unknown => return Flow { stores, exit: Exit::Unknown },
            }
        }
        Flow { stores, exit: Exit::Onward(guards) }
    }

    /// A block whose variables are not known to hold anything behind it.
    fn scoped(&mut self, block: &'a Block) -> Flow {
        let before = self.order.len();
        let flow = self.block(block);
        for variable in self.order.drain(before..) {
            self.held.remove(&variable);
        }
        flow
    }

    fn hold(&mut self, variable: Handle<LocalVariable>, value: Value) {
        if self.held.insert(variable, value).is_none() {
            self.order.push(variable);
        }
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &'a Block, reject: &'a Block) -> Flow {
        let (yes, no) = (self.scoped(accept), self.scoped(reject));
        // Only behind the statement does the variable hold that.
        self.short_circuit(condition, accept, reject);
        let when = |this: &Self, wanted: bool| {
            let mut left = MAX_CONDITIONS;
            this.condition(condition, wanted, &mut left)
        };
        let exit = match (&yes.exit, &no.exit) {
            (Exit::Onward(a), Exit::Onward(b)) if a.is_empty() && b.is_empty() => Exit::Onward(Vec::new()),
            (Exit::Returned, Exit::Onward(b)) if b.is_empty() => when(self, false).map_or(Exit::Unknown, Exit::Onward),
            (Exit::Onward(a), Exit::Returned) if a.is_empty() => when(self, true).map_or(Exit::Unknown, Exit::Onward),
            (Exit::Returned, Exit::Returned) => Exit::Returned,
            _ => Exit::Unknown,
        };
        let mut stores = Self::on_both_sides(&yes.stores, &no.stores);
        for (side, wanted) in [(yes.stores, true), (no.stores, false)] {
            if side.is_empty() {
                continue;
            }
            if let Some(guards) = when(self, wanted) {
                stores.extend(side.into_iter().map(|mut found| {
                    found.guards.extend(guards.iter().cloned());
                    found
                }));
            }
        }
        stores.truncate(MAX_STORES);
        Flow { stores, exit }
    }

    /// Stores to the same place under the same guards on both sides of a condition: then the condition does not matter.
    fn on_both_sides(yes: &[Found], no: &[Found]) -> Vec<Found> {
        yes.iter().filter(|a| no.contains(a)).cloned().collect()
    }

    fn emit(&mut self, range: &Range<Expression>) {
        for handle in range.clone() {
            let expression = &self.function.expressions[handle];
            let value = match *expression {
                Expression::Load { pointer } => self.variable(pointer).or_else(|| self.values.evaluate(expression)),
                _ => self.values.evaluate(expression),
            };
            self.values.set(handle, value);
        }
    }

    /// The value of a variable, or of a component of it.
    fn variable(&self, pointer: Handle<Expression>) -> Option<Value> {
        match self.function.expressions[pointer] {
            Expression::LocalVariable(local) => self.holds(local),
            Expression::AccessIndex { base, index } => match (&self.function.expressions[base], index) {
                (Expression::LocalVariable(local), index) => match self.holds(*local)? {
                    Value::Vector(parts) => parts.get(index as usize).cloned().flatten().map(Value::Scalar),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn holds(&self, local: Handle<LocalVariable>) -> Option<Value> {
        if let Some(value) = self.held.get(&local) {
            return Some(value.clone());
        }
        match (self.stored.get(local.index()), self.function.local_variables[local].init) {
            // Never stored to: what it begins with.
            (Some(0), Some(init)) => self.values.get(init).cloned(),
            _ => None,
        }
    }

    fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) {
        if let Expression::LocalVariable(local) = self.function.expressions[pointer]
            && self.stored.get(local.index()) == Some(&1)
            && let Some(value) = self.values.get(value).cloned()
        {
            self.hold(local, value);
        }
    }

    /// The front end spells `a && b` as a branch that stores `b` or `false` to a variable of its own, and `||` alike.
    fn short_circuit(&mut self, condition: Handle<Expression>, accept: &'a Block, reject: &'a Block) {
        let (Some(Statement::Store { pointer, value: then }), [Statement::Store { pointer: other, value }]) =
            (accept.last(), &reject[..])
        else {
            return;
        };
        let (Expression::LocalVariable(local), Expression::LocalVariable(same)) =
            (&self.function.expressions[*pointer], &self.function.expressions[*other])
        else {
            return;
        };
        let Expression::Literal(Literal::Bool(otherwise)) = self.function.expressions[*value] else { return };
        if local == same && self.stored.get(local.index()) == Some(&2) {
            self.hold(*local, Value::Either { condition, then: *then, otherwise });
        }
    }

    /// Guards that are enough for `condition` to be `wanted`. `left`: how many more conditions are looked at for this.
    fn condition(&self, condition: Handle<Expression>, wanted: bool, left: &mut u32) -> Option<Vec<Less>> {
        *left = left.checked_sub(1)?;
        if let Some(&Value::Either { condition, then, otherwise }) = self.values.get(condition) {
            return if wanted == otherwise {
                self.condition(condition, false, left)
            } else {
                self.both(self.condition(condition, true, left)?, self.condition(then, wanted, left)?)
            };
        }
        match self.function.expressions[condition] {
            Expression::Literal(Literal::Bool(value)) => (value == wanted).then(Vec::new),
            Expression::Constant(constant) => (self.values.truth(constant)? == wanted).then(Vec::new),
            Expression::Unary { op: UnaryOperator::LogicalNot, expr } => self.condition(expr, !wanted, left),
            Expression::Binary { op: BinaryOperator::And, left: a, right: b } if wanted => {
                self.both(self.condition(a, true, left)?, self.condition(b, true, left)?)
            }
            Expression::Binary { op: BinaryOperator::InclusiveOr, left: a, right: b } if !wanted => {
                self.both(self.condition(a, false, left)?, self.condition(b, false, left)?)
            }
            Expression::Binary { op, left: a, right: b } => self.comparison(op, a, b, wanted),
            _ => None,
        }
    }

    fn both(&self, mut left: Vec<Less>, right: Vec<Less>) -> Option<Vec<Less>> {
        left.extend(right);
        (left.len() <= MAX_GUARDS).then_some(left)
    }

    fn comparison(
        &self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
        wanted: bool,
    ) -> Option<Vec<Less>> {
        let (left, right) = (self.values.scalar(left)?.clone(), self.values.scalar(right)?.clone());
        let (left, right, sign) = match (op, wanted) {
            (BinaryOperator::Less, true) | (BinaryOperator::GreaterEqual, false) => (left, right, false),
            (BinaryOperator::Greater, true) | (BinaryOperator::LessEqual, false) => (right, left, false),
            (BinaryOperator::LessEqual, true) | (BinaryOperator::Greater, false) => (left, right.add(&Poly::constant(1))?, false),
            // That no number is negative is asked of a launch where numbers have a sign; others never are.
            (BinaryOperator::GreaterEqual, true) | (BinaryOperator::Less, false) if right.as_constant() == Some(0) => {
                (left, Poly::constant(NEGATIVE), true)
            }
            // Below one is zero.
            (BinaryOperator::Equal, true) | (BinaryOperator::NotEqual, false) if right.as_constant() == Some(0) => {
                (left, Poly::constant(1), false)
            }
            _ => return None,
        };
        Some(vec![Less { left, right, sign }])
    }
}

/// Counts what may change each variable. Parts, and pointers that are handed on, count twice: then nothing is known of it.
fn count_stores(function: &Function, block: &Block, stored: &mut [u32]) {
    let mut add = |pointer: Handle<Expression>, times: u32| {
        if let Expression::LocalVariable(local) = function.expressions[root(function, pointer)]
            && let Some(count) = stored.get_mut(local.index())
        {
            *count = count.saturating_add(times);
        }
    };
    for statement in block {
        match statement {
            Statement::Store { pointer, .. } => {
                let whole = matches!(function.expressions[*pointer], Expression::LocalVariable(_));
                add(*pointer, if whole { 1 } else { 3 });
            }
            Statement::Call { arguments, .. } => arguments.iter().for_each(|&a| add(a, 3)),
            Statement::Atomic { pointer, .. } => add(*pointer, 3),
            _ => {}
        }
    }
    for inner in blocks(block) {
        count_stores(function, inner, stored);
    }
}

fn returns(statement: &Statement) -> bool {
    match statement {
        Statement::Return { .. } | Statement::Kill => true,
        other => inner_blocks(other).into_iter().any(|block| block.iter().any(returns)),
    }
}

fn blocks(block: &Block) -> impl Iterator<Item = &Block> {
    block.iter().flat_map(inner_blocks)
}

fn inner_blocks(statement: &Statement) -> Vec<&Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => Vec::new(),
    }
}

//! Upper bounds of index expressions that are known before a kernel runs, so that checks which cannot fail are left out.
//!
//! A bound is exclusive and holds for the index read as an unsigned number. Whoever needs proof of more keeps the check. Nothing here
//! looks at memory, and nothing depends on a device.

use std::collections::HashMap;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    BinaryOperator, Block, BuiltIn, Expression, Function, Handle, Literal, LocalVariable, MathFunction, ScalarKind, Statement,
};

use crate::walk;

/// Operators that a bound is followed through.
const DEPTH: u32 = 8;
/// Below this a number has no sign, however it is read.
const SIGNLESS: u64 = 1 << 31;

/// Bounds of one function's expressions.
pub(crate) struct Ranges<'a> {
    module: &'a naga::Module,
    function: &'a Function,
    info: &'a FunctionInfo,
    workgroup_size: [u32; 3],
    /// By parameter: what every caller stays below.
    arguments: Vec<Option<u64>>,
    /// Loads of loop counters behind the loop's condition.
    counters: HashMap<Handle<Expression>, u64>,
}

/// The bounds of an entry point and of all functions, whose callers it takes into account.
pub(crate) struct ModuleRanges<'a> {
    /// By function.
    functions: Vec<Option<Ranges<'a>>>,
    entry: Ranges<'a>,
}

impl<'a> ModuleRanges<'a> {
    /// Of an entry point and what it calls, however far.
    pub(crate) fn find(module: &'a naga::Module, info: &'a ModuleInfo, index: usize) -> Self {
        let point = &module.entry_points[index];
        let size = point.workgroup_size;
        let entry = Ranges::find(module, &point.function, info.get_entry_point(index), size, Vec::new());
        let mut calls = Calls { bounds: vec![None; module.functions.len()] };
        calls.note(&entry, &point.function.body);
        let mut functions: Vec<_> = module.functions.iter().map(|_| None).collect();
        // A function is declared before its callers, so going backwards all callers are known.
        for (handle, function) in module.functions.iter().collect::<Vec<_>>().into_iter().rev() {
            // Without a caller among those that are reached, it is not reached itself.
            let Some(arguments) = calls.bounds[handle.index()].take() else { continue };
            let ranges = Ranges::find(module, function, &info[handle], size, arguments);
            calls.note(&ranges, &function.body);
            functions[handle.index()] = Some(ranges);
        }
        Self { functions, entry }
    }

    /// The bounds inside a function, or inside the entry point for `None`. Nothing for a function that is not reached.
    pub(crate) fn of(&self, function: Option<Handle<Function>>) -> Option<&Ranges<'a>> {
        match function {
            Some(handle) => self.functions.get(handle.index())?.as_ref(),
            None => Some(&self.entry),
        }
    }
}

/// By function and parameter: the bound over the calls seen so far.
struct Calls {
    bounds: Vec<Option<Vec<Option<u64>>>>,
}

impl Calls {
    fn note(&mut self, ranges: &Ranges<'_>, block: &Block) {
        walk::calls(block, |function, arguments| {
            let found: Vec<_> = arguments.iter().map(|argument| ranges.bound(*argument)).collect();
            match &mut self.bounds[function.index()] {
                slot @ None => *slot = Some(found),
                Some(known) => {
                    for (known, found) in known.iter_mut().zip(found) {
                        *known = known.zip(found).map(|(a, b)| a.max(b));
                    }
                }
            }
        });
    }
}

impl<'a> Ranges<'a> {
    fn find(
        module: &'a naga::Module,
        function: &'a Function,
        info: &'a FunctionInfo,
        workgroup_size: [u32; 3],
        arguments: Vec<Option<u64>>,
    ) -> Self {
        let mut ranges = Self { module, function, info, workgroup_size, arguments, counters: HashMap::new() };
        let mut counters = HashMap::new();
        walk::statements(&function.body, &mut |statement| {
            if let Statement::Loop { body, .. } = statement {
                ranges.counted(body, &mut counters);
            }
        });
        ranges.counters = counters;
        ranges
    }

    /// Notes the loads of a counter in a loop's body behind its condition.
    fn counted(&self, body: &Block, counters: &mut HashMap<Handle<Expression>, u64>) {
        let Some(guard) = self.guard(body) else { return };
        if self.writes(body, guard.counter) {
            return;
        }
        if !guard.unsigned && !self.never_negative(guard.counter) {
            return;
        }
        for statement in body.iter().skip(guard.position + 1) {
            for_each_emitted(std::slice::from_ref(statement), &mut |at| {
                if self.load_of(at) == Some(guard.counter) {
                    counters.insert(at, guard.bound);
                }
            });
        }
    }

    /// The exclusive bound of an index.
    pub(crate) fn bound(&self, index: Handle<Expression>) -> Option<u64> {
        self.follow(index, DEPTH)
    }

    fn follow(&self, at: Handle<Expression>, depth: u32) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        if let Some(bound) = self.counters.get(&at) {
            return Some(*bound);
        }
        match self.function.expressions[at] {
            Expression::Binary { op, left, right } => self.binary(op, left, right, depth),
            Expression::AccessIndex { base, index } => match self.built_in(base)? {
                BuiltIn::LocalInvocationId => self.workgroup_size.get(index as usize).map(|n| u64::from(*n)),
                _ => None,
            },
            Expression::FunctionArgument(index) => match self.built_in(at) {
                Some(BuiltIn::LocalInvocationIndex) => Some(self.workgroup_size.iter().map(|n| u64::from(*n)).product()),
                Some(_) => None,
                None => self.arguments.get(index as usize).copied().flatten(),
            },
            Expression::As { expr, kind: ScalarKind::Sint | ScalarKind::Uint, convert } => {
                // Reinterpretation, and conversion between integers of the same size, change nothing.
                let from = self.scalar(expr)?;
                let integer = matches!(from.kind, ScalarKind::Sint | ScalarKind::Uint);
                let bound = (integer && convert.is_none_or(|width| width == from.width)).then(|| self.follow(expr, depth))??;
                (from.width == 4).then_some(bound)
            }
            Expression::Select { accept, reject, .. } => Some(self.follow(accept, depth)?.max(self.follow(reject, depth)?)),
            Expression::Math { fun, arg, arg1, arg2, .. } => self.math(at, fun, [Some(arg), arg1, arg2], depth),
            _ => self.number(at)?.checked_add(1),
        }
    }

    fn math(
        &self,
        at: Handle<Expression>,
        fun: MathFunction,
        arguments: [Option<Handle<Expression>>; 3],
        depth: u32,
    ) -> Option<u64> {
        let bound = |n: usize| arguments.get(n).copied().flatten().and_then(|at| self.follow(at, depth));
        match fun {
            MathFunction::Min if self.is_unsigned(at) => [bound(0), bound(1)].into_iter().flatten().min(),
            MathFunction::Max if self.is_unsigned(at) => bound(0).zip(bound(1)).map(|(a, b)| a.max(b)),
            // The larger of a number and one without a sign has none either.
            MathFunction::Clamp => {
                let (low, high) = (bound(1)?, bound(2)?);
                (low <= SIGNLESS && high <= SIGNLESS).then_some(low.max(high))
            }
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOperator, left: Handle<Expression>, right: Handle<Expression>, depth: u32) -> Option<u64> {
        if self.scalar(left)?.width != 4 {
            return None;
        }
        let (a, b) = (self.follow(left, depth), self.follow(right, depth));
        let most = |bound: u64| (bound <= SIGNLESS).then_some(bound);
        match op {
            // What is masked with a number that has no sign has none.
            BinaryOperator::And => a.and_then(most).into_iter().chain(b.and_then(most)).min(),
            BinaryOperator::Add => most((a?.checked_sub(1)?).checked_add(b?.checked_sub(1)?)? + 1),
            BinaryOperator::Multiply => most((a?.checked_sub(1)?).checked_mul(b?.checked_sub(1)?)? + 1),
            BinaryOperator::Modulo => {
                let divisor = self.number(right).filter(|d| *d > 0)?;
                let fits = self.is_unsigned(left) || a.and_then(most).is_some();
                fits.then(|| a.map_or(divisor, |a| a.min(divisor)))
            }
            BinaryOperator::Divide => {
                let divisor = self.number(right).filter(|d| *d > 0)?;
                Some(self.dividend(left, a)?.checked_sub(1)? / divisor + 1)
            }
            BinaryOperator::ShiftRight => {
                let count = self.number(right).filter(|c| *c < 32)?;
                Some((self.dividend(left, a)?.checked_sub(1)? >> count) + 1)
            }
            _ => None,
        }
    }

    /// The bound of something that is divided or shifted down: known, or that of its type; never negative.
    fn dividend(&self, at: Handle<Expression>, bound: Option<u64>) -> Option<u64> {
        if self.is_unsigned(at) {
            return Some(bound.unwrap_or(1 << 32));
        }
        bound.filter(|b| *b <= SIGNLESS)
    }

    /// The counter and bound of a loop whose body begins with `if (counter < bound) {} else { break; }`, for a counter that is
    /// loaded there: a condition from before the loop says nothing about later passes.
    fn guard(&self, body: &Block) -> Option<Guard> {
        let position = body.iter().position(|statement| !matches!(statement, Statement::Emit(_)))?;
        let Some(Statement::If { condition, accept, reject }) = body.get(position) else { return None };
        if !accept.is_empty() || !matches!(reject.iter().as_slice(), [Statement::Break]) {
            return None;
        }
        let Expression::Binary { op, left, right } = self.function.expressions[*condition] else { return None };
        let bound = match op {
            BinaryOperator::Less => self.number(right)?,
            BinaryOperator::LessEqual => self.number(right)?.checked_add(1)?,
            _ => return None,
        };
        let mut fresh = false;
        for_each_emitted(body.get(..position)?, &mut |at| fresh |= at == left);
        let counter = self.load_of(left).filter(|_| fresh && self.scalar(left).is_some_and(|s| s.width == 4))?;
        let unsigned = self.is_unsigned(left);
        Some(Guard { counter, bound, unsigned, position })
    }

    /// Whether a signed variable holds no negative number at any time: it starts at none, is set to none, and is counted up only at the
    /// end of loops that keep it below a bound.
    fn never_negative(&self, local: Handle<LocalVariable>) -> bool {
        let starts = self.function.local_variables[local].init.is_none_or(|init| self.number(init).is_some_and(|n| n < SIGNLESS));
        let (mut stores, mut fitting) = (0, 0);
        walk::statements(&self.function.body, &mut |statement| match statement {
            Statement::Loop { body, continuing, .. } => {
                let bound = self.guard(body).filter(|guard| guard.counter == local && !self.writes(body, local));
                if let Some(guard) = bound {
                    fitting += usize::from(self.steps_up(continuing, local, guard.bound));
                }
            }
            Statement::Store { pointer, value } if self.root(*pointer) == Some(local) => {
                stores += 1;
                fitting += usize::from(self.number(*value).is_some_and(|n| n < SIGNLESS));
            }
            Statement::Call { arguments, .. } if arguments.iter().any(|argument| self.root(*argument) == Some(local)) => {
                // Whatever it stores.
                stores += 1;
            }
            _ => {}
        });
        starts && stores == fitting
    }

    /// Whether a continuing block stores to a counter once, and then a load of its own plus a constant that cannot wrap.
    fn steps_up(&self, continuing: &Block, local: Handle<LocalVariable>, bound: u64) -> bool {
        let mut loads = Vec::new();
        let mut steps = false;
        for statement in continuing.iter() {
            match statement {
                Statement::Emit(_) if !steps => for_each_emitted(std::slice::from_ref(statement), &mut |at| {
                    if self.load_of(at) == Some(local) {
                        loads.push(at);
                    }
                }),
                Statement::Store { pointer, value } if self.root(*pointer) == Some(local) => {
                    let Expression::Binary { op: BinaryOperator::Add, left, right } = self.function.expressions[*value] else {
                        return false;
                    };
                    let fits = self.number(right).is_some_and(|s| s > 0 && bound.saturating_add(s) <= SIGNLESS);
                    if steps || !fits || !loads.contains(&left) {
                        return false;
                    }
                    steps = true;
                }
                _ => {
                    if self.writes(std::slice::from_ref(statement), local) {
                        return false;
                    }
                }
            }
        }
        steps
    }

    /// The variable that an expression loads, all of it.
    fn load_of(&self, at: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        let Expression::Load { pointer } = self.function.expressions[at] else { return None };
        match self.function.expressions[pointer] {
            Expression::LocalVariable(local) => Some(local),
            _ => None,
        }
    }

    /// The variable that a pointer leads into.
    fn root(&self, mut pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        loop {
            match self.function.expressions[pointer] {
                Expression::LocalVariable(local) => return Some(local),
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => pointer = base,
                _ => return None,
            }
        }
    }

    /// Whether anything in a block may change a variable.
    fn writes(&self, block: &[Statement], local: Handle<LocalVariable>) -> bool {
        let mut found = false;
        walk::statements(block, &mut |statement| {
            found |= match statement {
                Statement::Store { pointer, .. } | Statement::Atomic { pointer, .. } => self.root(*pointer) == Some(local),
                Statement::Call { arguments, .. } => arguments.iter().any(|argument| self.root(*argument) == Some(local)),
                _ => false,
            };
        });
        found
    }

    /// A constant that is an integer and not negative.
    fn number(&self, at: Handle<Expression>) -> Option<u64> {
        let literal = match self.function.expressions[at] {
            Expression::Literal(literal) => literal,
            Expression::ZeroValue(_) => return matches!(self.scalar(at)?.kind, ScalarKind::Sint | ScalarKind::Uint).then_some(0),
            Expression::Constant(handle) => match self.module.global_expressions[self.module.constants[handle].init] {
                Expression::Literal(literal) => literal,
                _ => return None,
            },
            _ => return None,
        };
        match literal {
            Literal::U32(v) => Some(u64::from(v)),
            Literal::I32(v) => u64::try_from(v).ok(),
            _ => None,
        }
    }

    fn scalar(&self, at: Handle<Expression>) -> Option<naga::Scalar> {
        match *self.info[at].ty.inner_with(&self.module.types) {
            naga::TypeInner::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    fn is_unsigned(&self, at: Handle<Expression>) -> bool {
        self.scalar(at) == Some(naga::Scalar::U32)
    }

    /// The built-in input that an expression is.
    fn built_in(&self, at: Handle<Expression>) -> Option<BuiltIn> {
        let binding = match self.function.expressions[at] {
            Expression::FunctionArgument(index) => self.function.arguments.get(index as usize)?.binding.as_ref()?,
            Expression::AccessIndex { base, index } => {
                let Expression::FunctionArgument(argument) = self.function.expressions[base] else { return None };
                let ty = self.function.arguments.get(argument as usize)?.ty;
                let naga::TypeInner::Struct { ref members, .. } = self.module.types[ty].inner else { return None };
                members.get(index as usize)?.binding.as_ref()?
            }
            _ => return None,
        };
        match *binding {
            naga::Binding::BuiltIn(built_in) => Some(built_in),
            naga::Binding::Location { .. } => None,
        }
    }
}

/// The condition at the top of a loop.
struct Guard {
    counter: Handle<LocalVariable>,
    bound: u64,
    unsigned: bool,
    /// Of the condition among the statements of the body.
    position: usize,
}

fn for_each_emitted(statements: &[Statement], f: &mut dyn FnMut(Handle<Expression>)) {
    walk::statements(statements, &mut |statement| {
        if let Statement::Emit(range) = statement {
            range.clone().for_each(&mut *f);
        }
    });
}

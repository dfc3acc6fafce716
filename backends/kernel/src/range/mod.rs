//! Upper bounds of index expressions that are known before a kernel runs, so that checks which cannot fail are left out.
//!
//! A bound is exclusive and holds for the index read as an unsigned number. Whoever needs proof of more keeps the check. Nothing here
//! looks at memory, and nothing depends on a device.

mod rules;

use std::collections::HashMap;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{BinaryOperator, Block, BuiltIn, Expression, Function, Handle, LocalVariable, Statement};

use crate::walk;
use rules::SIGNLESS;
pub use rules::{Code, bound, is_unsigned, number};

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
        rules::bound(self, index)
    }

    /// What the passes of a loop stay below, when its counter goes up in every pass and ends it at a constant: then it ends.
    pub(crate) fn passes_below(&self, body: &Block, continuing: &Block) -> Option<u64> {
        let guard = self.guard(body).filter(|guard| !self.writes(body, guard.counter))?;
        (guard.unsigned || self.never_negative(guard.counter)).then_some(())?;
        self.steps_up(continuing, guard.counter, guard.bound).then_some(guard.bound)
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

    fn number(&self, at: Handle<Expression>) -> Option<u64> {
        rules::number(self, at)
    }

    fn is_unsigned(&self, at: Handle<Expression>) -> bool {
        rules::is_unsigned(self, at)
    }
}

impl Code for Ranges<'_> {
    type At = Handle<Expression>;

    fn module(&self) -> &naga::Module {
        self.module
    }
    fn origin(&self, at: Self::At) -> Self::At {
        at
    }
    fn expression(&self, at: Self::At) -> &Expression {
        &self.function.expressions[at]
    }
    fn operand(&self, _: Self::At, operand: Handle<Expression>) -> Self::At {
        operand
    }
    fn scalar(&self, at: Self::At) -> Option<naga::Scalar> {
        match *self.info[at].ty.inner_with(&self.module.types) {
            naga::TypeInner::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
    fn known(&self, at: Self::At) -> Option<u64> {
        match self.function.expressions[at] {
            Expression::FunctionArgument(index) => self.arguments.get(index as usize).copied().flatten(),
            _ => self.counters.get(&at).copied(),
        }
    }
    fn workgroup_size(&self) -> [u32; 3] {
        self.workgroup_size
    }
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

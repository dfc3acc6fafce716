//! WGSL's rule on aliases: memory that a function writes through a pointer parameter must not be reached in that call through another parameter, or as a
//! variable of the module. What matters is which variable a pointer is of, not which part. Other languages have no such rule.

use std::collections::HashMap;

use naga::{Expression, Function, FunctionArgument, GlobalVariable, Handle, LocalVariable, Module, Span, Statement, TypeInner};

use crate::access::root;
use crate::diagnostics::{Finding, MOST};
use crate::walk;

/// The variable that a pointer is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Origin {
    Global(Handle<GlobalVariable>),
    Local(Handle<LocalVariable>),
    Parameter(u32),
}

/// Where memory is first read and written.
#[derive(Clone, Copy, Default)]
struct Uses {
    read: Option<Span>,
    write: Option<Span>,
}

impl Uses {
    fn add(&mut self, other: Self) {
        self.read = self.read.or(other.read);
        self.write = self.write.or(other.write);
    }

    fn any(self) -> Option<Span> {
        self.write.or(self.read)
    }
}

/// What a function does, with all that it calls: to variables of the module, a bit for each, and to what its parameters point to.
#[derive(Default)]
struct Summary {
    read: Vec<u64>,
    written: Vec<u64>,
    parameters: HashMap<u32, Uses>,
}

impl Summary {
    fn add(&mut self, origin: Origin, uses: Uses) {
        match origin {
            Origin::Global(global) => {
                for (bits, used) in [(&mut self.read, uses.read), (&mut self.written, uses.write)] {
                    let (word, bit) = (global.index() / 64, global.index() % 64);
                    if let (Some(word), Some(_)) = (bits.get_mut(word), used) {
                        *word |= 1 << bit;
                    }
                }
            }
            Origin::Parameter(index) => self.parameters.entry(index).or_default().add(uses),
            Origin::Local(_) => {}
        }
    }

    fn has(bits: &[u64], global: Handle<GlobalVariable>) -> bool {
        bits.get(global.index() / 64).is_some_and(|word| word >> (global.index() % 64) & 1 != 0)
    }
}

/// A call and its arguments.
type Call = (Handle<Function>, Vec<Handle<Expression>>, Span);

/// Calls that break the rule; as many as anybody is told of.
pub(crate) fn check(module: &Module) -> Vec<Finding> {
    let pointer = |argument: &FunctionArgument| matches!(module.types[argument.ty].inner, TypeInner::Pointer { .. });
    if !module.functions.iter().any(|(_, function)| function.arguments.iter().any(pointer)) {
        return Vec::new();
    }
    let mut check = Check { module, summaries: Vec::with_capacity(module.functions.len()), findings: Vec::new() };
    // Callees come before their callers.
    for (_, function) in module.functions.iter() {
        let calls = calls(function);
        check.calls(function, &calls);
        let summary = check.summary(function, &calls);
        check.summaries.push(summary);
    }
    for entry in &module.entry_points {
        check.calls(&entry.function, &calls(&entry.function));
    }
    check.findings
}

fn of(function: &Function, pointer: Handle<Expression>) -> Option<Origin> {
    match function.expressions[root(function, pointer)] {
        Expression::GlobalVariable(global) => Some(Origin::Global(global)),
        Expression::LocalVariable(local) => Some(Origin::Local(local)),
        Expression::FunctionArgument(index) => Some(Origin::Parameter(index)),
        _ => None,
    }
}

fn calls(function: &Function) -> Vec<Call> {
    let mut found = Vec::new();
    walk::calls_with_places(&function.body, &mut |callee, arguments, span| found.push((callee, arguments.to_vec(), span)));
    found
}

/// What a function does itself, access by access.
fn own(function: &Function, add: &mut dyn FnMut(Origin, Uses)) {
    let mut add = |pointer, uses| {
        if let Some(origin) = of(function, pointer) {
            add(origin, uses);
        }
    };
    let at = |handle: Handle<Expression>| Some(function.expressions.get_span(handle));
    for (handle, expression) in function.expressions.iter() {
        if let Expression::Load { pointer } = *expression {
            add(pointer, Uses { read: at(handle), write: None });
        }
    }
    walk::statements(&function.body, &mut |statement| match statement {
        Statement::Store { pointer, .. } => add(*pointer, Uses { read: None, write: at(*pointer) }),
        Statement::Atomic { pointer, .. } => add(*pointer, Uses { read: at(*pointer), write: at(*pointer) }),
        Statement::WorkGroupUniformLoad { pointer, .. } => add(*pointer, Uses { read: at(*pointer), write: None }),
        _ => {}
    });
}

struct Check<'a> {
    module: &'a Module,
    /// Of the functions so far.
    summaries: Vec<Summary>,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn summary(&self, function: &Function, calls: &[Call]) -> Summary {
        let words = vec![0; self.module.global_variables.len().div_ceil(64)];
        let mut summary = Summary { read: words.clone(), written: words, parameters: HashMap::new() };
        own(function, &mut |origin, uses| summary.add(origin, uses));
        for (callee, arguments, _) in calls {
            let Some(called) = self.summaries.get(callee.index()) else { continue };
            for (bits, more) in [(&mut summary.read, &called.read), (&mut summary.written, &called.written)] {
                bits.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
            }
            for (index, uses) in &called.parameters {
                if let Some(origin) = arguments.get(*index as usize).and_then(|argument| of(function, *argument)) {
                    summary.add(origin, *uses);
                }
            }
        }
        summary
    }

    fn calls(&mut self, function: &Function, calls: &[Call]) {
        for (callee, arguments, call) in calls {
            let Some(summary) = self.summaries.get(callee.index()) else { continue };
            if summary.parameters.is_empty() {
                continue;
            }
            let uses = |index: usize| u32::try_from(index).ok().and_then(|i| summary.parameters.get(&i)).copied();
            for (index, argument) in arguments.iter().enumerate() {
                let (Some(origin), Some(mine)) = (of(function, *argument), uses(index)) else { continue };
                let place = Some(function.expressions.get_span(*argument)).filter(Span::is_defined).unwrap_or(*call);
                let alias = Alias { module: self.module, function, callee: *callee, origin, index, place };
                for (other, second) in arguments.iter().enumerate().skip(index + 1) {
                    let same = of(function, *second) == Some(origin);
                    let theirs = uses(other).filter(|_| same).unwrap_or_default();
                    if let (Some(write), Some(_), Some(_)) = (mine.write.or(theirs.write), mine.any(), theirs.any()) {
                        self.findings.push(alias.of_parameters(other, write));
                    }
                }
                let Origin::Global(global) = origin else { continue };
                let (read, written) = (Summary::has(&summary.read, global), Summary::has(&summary.written, global));
                if mine.any().is_some() && (written || (read && mine.write.is_some())) {
                    self.findings.push(alias.of_variable(self.place(*callee, global)));
                }
            }
            if self.findings.len() >= MOST {
                return;
            }
        }
    }

    /// Where a function, or one that it calls, uses a variable of the module; where it is called for that, when no place is known.
    fn place(&self, function: Handle<Function>, global: Handle<GlobalVariable>) -> Span {
        let function = &self.module.functions[function];
        let mut found = Uses::default();
        own(function, &mut |origin, uses| {
            if origin == Origin::Global(global) {
                found.add(uses);
            }
        });
        let uses = |callee: &Handle<Function>| {
            let summary = self.summaries.get(callee.index());
            summary.is_some_and(|s| Summary::has(&s.read, global) || Summary::has(&s.written, global))
        };
        found.any().or_else(|| calls(function).iter().find(|call| uses(&call.0)).map(|call| call.2)).unwrap_or_default()
    }
}

/// A pointer that is an argument of a call.
struct Alias<'a> {
    module: &'a Module,
    function: &'a Function,
    callee: Handle<Function>,
    origin: Origin,
    index: usize,
    place: Span,
}

impl Alias<'_> {
    fn of_parameters(&self, other: usize, write: Span) -> Finding {
        let message = format!(
            "`{}` is given two pointers to `{}`, as `{}` and `{}`, and writes through one of them",
            self.called(),
            self.variable(),
            self.parameter(self.index),
            self.parameter(other)
        );
        self.finding(message, write, "written here")
    }

    fn of_variable(&self, used: Span) -> Finding {
        let (called, variable) = (self.called(), self.variable());
        let parameter = self.parameter(self.index);
        let message = format!(
            "`{called}` is given a pointer to `{variable}`, as `{parameter}`, and also uses `{variable}` itself; one of the two is written"
        );
        self.finding(message, used, "used here")
    }

    fn finding(&self, message: String, related: Span, label: &str) -> Finding {
        let mut finding = Finding::span(message, self.place);
        finding.related = related.to_range().map(|range| Box::new((range, label.to_owned())));
        finding
            .note("a variable that is written through a pointer must have no other name in that call: pass a copy, or an index")
    }

    fn called(&self) -> &str {
        self.module.functions[self.callee].name.as_deref().unwrap_or("?")
    }

    fn parameter(&self, index: usize) -> &str {
        let argument = self.module.functions[self.callee].arguments.get(index);
        argument.and_then(|argument| argument.name.as_deref()).unwrap_or("?")
    }

    fn variable(&self) -> &str {
        let name = match self.origin {
            Origin::Global(global) => &self.module.global_variables[global].name,
            Origin::Local(local) => &self.function.local_variables[local].name,
            Origin::Parameter(index) => {
                return self.function.arguments.get(index as usize).and_then(|a| a.name.as_deref()).unwrap_or("?");
            }
        };
        name.as_deref().unwrap_or("?")
    }
}

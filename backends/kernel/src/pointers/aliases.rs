//! WGSL's rule on aliases: memory that a function writes through a pointer parameter must not be reached in that call through another parameter, or as a
//! variable of the module. What matters is which variable a pointer is of, not which part. Other languages have no such rule.

use std::collections::HashMap;

use naga::{Expression, Function, GlobalVariable, Handle, LocalVariable, Module, Span, Statement};

use crate::access::root;
use crate::diagnostics::Finding;
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

/// What a function does to variables of the module and to what its parameters point to, with all that it calls.
type Summary = HashMap<Origin, Uses>;

/// A call and its arguments.
type Call = (Handle<Function>, Vec<Handle<Expression>>, Span);

/// Every call of a valid or invalid module that breaks the rule.
pub(crate) fn check(module: &Module) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Callees come before their callers.
    let mut summaries: Vec<Summary> = Vec::with_capacity(module.functions.len());
    for (_, function) in module.functions.iter() {
        let calls = calls(function);
        let mut summary = own(function);
        for (callee, arguments, _) in &calls {
            let Some(called) = summaries.get(callee.index()) else { continue };
            for (origin, uses) in called {
                let here = match origin {
                    Origin::Global(_) => Some(*origin),
                    Origin::Parameter(index) => arguments.get(*index as usize).and_then(|a| of(function, *a)),
                    Origin::Local(_) => None,
                };
                if let Some(here) = here {
                    summary.entry(here).or_default().add(*uses);
                }
            }
        }
        check_calls(module, function, &calls, &summaries, &mut findings);
        summaries.push(summary);
    }
    for entry in &module.entry_points {
        check_calls(module, &entry.function, &calls(&entry.function), &summaries, &mut findings);
    }
    findings
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

/// What a function does itself.
fn own(function: &Function) -> Summary {
    let mut summary = Summary::new();
    let mut add = |pointer, uses| {
        if let Some(origin) = of(function, pointer) {
            summary.entry(origin).or_default().add(uses);
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
    summary
}

fn check_calls(module: &Module, function: &Function, calls: &[Call], summaries: &[Summary], findings: &mut Vec<Finding>) {
    for (callee, arguments, call) in calls {
        let Some(summary) = summaries.get(callee.index()) else { continue };
        let uses = |index: usize| u32::try_from(index).ok().and_then(|i| summary.get(&Origin::Parameter(i))).copied();
        for (index, argument) in arguments.iter().enumerate() {
            let (Some(origin), Some(mine)) = (of(function, *argument), uses(index)) else { continue };
            let place = Some(function.expressions.get_span(*argument)).filter(Span::is_defined).unwrap_or(*call);
            let alias = Alias { module, function, callee: *callee, origin, index, place };
            for (other, second) in arguments.iter().enumerate().skip(index + 1) {
                let same = of(function, *second) == Some(origin);
                let theirs = uses(other).filter(|_| same).unwrap_or_default();
                if let (Some(write), Some(_), Some(_)) = (mine.write.or(theirs.write), mine.any(), theirs.any()) {
                    findings.push(alias.of_parameters(other, write));
                }
            }
            let direct = summary.get(&origin).copied().filter(|_| matches!(origin, Origin::Global(_))).unwrap_or_default();
            if let (Some(_), Some(used), true) = (mine.any(), direct.any(), mine.write.is_some() || direct.write.is_some()) {
                findings.push(alias.of_variable(used));
            }
        }
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

//! What is known of indices before a kernel runs, so that checks which cannot fail are left out.
//!
//! Accesses are proven by going through a function with its conditions (`flow`); the passes of loops are counted here. Whoever needs proof
//! of more keeps the check. Nothing here looks at memory, and nothing depends on a device.

mod evaluate;
mod facts;
mod flow;
mod inputs;
mod loops;
mod rules;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashSet;

use naga::valid::ModuleInfo;
use naga::{Block, Expression, Function, Handle};

use crate::walk;
use flow::{Given, Subject};
pub use rules::{Code, bound, is_unsigned, number};

/// What is known of one function.
pub struct Ranges<'a> {
    subject: Subject<'a>,
    proven: HashSet<Handle<Expression>>,
}

/// The same of an entry point and of all functions that it reaches, whose callers it takes into account.
pub struct ModuleRanges<'a> {
    /// By function.
    functions: Vec<Option<Ranges<'a>>>,
    entry: Ranges<'a>,
}

impl<'a> ModuleRanges<'a> {
    /// Of an entry point and what it calls, however far. Takes time and stack with the size of the module.
    pub fn find(module: &'a naga::Module, info: &'a ModuleInfo, index: usize) -> Self {
        let point = &module.entry_points[index];
        let workgroup_size = point.workgroup_size;
        let mut calls = Calls { given: vec![Callers::None; module.functions.len()] };
        let (function, info_of_entry) = (&point.function, info.get_entry_point(index));
        let entry = calls.go_through(Subject { module, function, info: info_of_entry, workgroup_size }, &[]);
        let mut functions: Vec<_> = module.functions.iter().map(|_| None).collect();
        // A function is declared before its callers, so going backwards all callers are known.
        for (handle, function) in module.functions.iter().collect::<Vec<_>>().into_iter().rev() {
            let given = match std::mem::take(&mut calls.given[handle.index()]) {
                // Without a caller among those that are reached, it is not reached itself.
                Callers::None => continue,
                Callers::Unknown => Vec::new(),
                Callers::Known(given) => given,
            };
            let subject = Subject { module, function, info: &info[handle], workgroup_size };
            functions[handle.index()] = Some(calls.go_through(subject, &given));
        }
        Self { functions, entry }
    }

    /// What is known inside a function, or inside the entry point for `None`. Nothing for a function that is not reached.
    pub fn of(&self, function: Option<Handle<Function>>) -> Option<&Ranges<'a>> {
        match function {
            Some(handle) => self.functions.get(handle.index())?.as_ref(),
            None => Some(&self.entry),
        }
    }
}

/// What is known of a function's arguments.
#[derive(Clone, Default)]
enum Callers {
    /// Nothing calls it.
    #[default]
    None,
    /// Something does.
    Unknown,
    /// Over the calls seen so far.
    Known(Vec<Option<Given>>),
}

struct Calls {
    /// By function.
    given: Vec<Callers>,
}

impl Calls {
    /// Finds what is known of a function, and notes what it hands to others.
    fn go_through<'a>(&mut self, subject: Subject<'a>, given: &[Option<Given>]) -> Ranges<'a> {
        let found = flow::find(subject, given);
        for (function, given) in found.calls {
            self.note(function, given);
        }
        // Calls in code that is never reached, or of a function that was given up.
        walk::calls(&subject.function.body, |function, _| {
            let callers = &mut self.given[function.index()];
            if !found.complete || matches!(callers, Callers::None) {
                *callers = Callers::Unknown;
            }
        });
        Ranges { subject, proven: found.proven }
    }

    fn note(&mut self, function: Handle<Function>, found: Vec<Option<Given>>) {
        match &mut self.given[function.index()] {
            callers @ Callers::None => *callers = Callers::Known(found),
            Callers::Unknown => {}
            Callers::Known(known) => {
                for (known, found) in known.iter_mut().zip(found) {
                    match (known.as_mut(), found) {
                        (Some(known), Some(found)) => known.join(&found),
                        _ => *known = None,
                    }
                }
            }
        }
    }
}

impl Ranges<'_> {
    /// Whether the index of an access is in range whenever the access is evaluated, whatever the kernel is given.
    pub fn in_range(&self, access: Handle<Expression>) -> bool {
        self.proven.contains(&access)
    }

    /// What the passes of a loop stay below, when its counter goes up in every pass and ends it at a constant.
    pub(crate) fn passes_below(&self, body: &Block, continuing: &Block) -> Option<u64> {
        loops::passes_below(self.subject, body, continuing)
    }

    /// What a loop sets its counter to for the next pass, where that is unsigned and surely larger than what it was: never zero.
    pub(crate) fn next(&self, body: &Block, continuing: &Block) -> Option<Handle<Expression>> {
        loops::next(self.subject, body, continuing)
    }

    /// Whether a loop surely ends, if what is in it does.
    pub(crate) fn ends(&self, body: &Block, continuing: &Block) -> bool {
        loops::ends(self.subject, body, continuing)
    }
}

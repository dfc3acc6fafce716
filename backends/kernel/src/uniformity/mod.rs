//! Barriers and subgroup operations only where the whole workgroup arrives together. The front end does not check this, and devices rely on it: a
//! barrier that only a part of a workgroup reaches is undefined on a GPU, and would be translated wrongly by a device that splits loops at barriers.
//!
//! The analysis follows the IR through calls, once per distinct context of a call. A value is *uniform* when all invocations of a workgroup that
//! compute it get the same; control flow is uniform when all of them take it together. Where it is in doubt, it is not uniform:
//!
//! - A variable is uniform only if everything ever stored to it is, and is stored in uniform control flow, whatever the order.
//! - What can be written during the launch (workgroup memory, read-write storage, atomics) is never uniform. `workgroupUniformLoad` is.
//! - A `break` or `return` that only some take makes everything that they skip, and the whole loop around, not uniform; a `continue` only the rest of
//!   that pass. After the loop, or after the call, all are together again.

mod explain;
mod flow;
mod meetings;
mod subgroup;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use naga::{AddressSpace, GlobalVariable, Handle, Module, Span};

use crate::diagnostics::{Finding, MOST};
use flow::Walk;

/// A variable that changes its mind more often than this is taken for not uniform.
const MAX_ROUNDS: usize = 48;

/// Steps in all contexts and rounds together, some times what the largest kernels take.
const MAX_STEPS: usize = 1 << 22;

/// Some times as many as are shown, so that the number of the others says how bad it is.
const MAX_FINDINGS: usize = 4 * MOST;

/// Steps that may still be taken: one for a statement, for eight expressions, and for eight pairs of arguments of a call.
pub(crate) struct Steps(usize);

impl Steps {
    /// As many as an entry point may take.
    pub(crate) fn new() -> Self {
        Self(MAX_STEPS)
    }

    /// Takes some. False: there are none left, and what has been found does not count.
    fn spend(&mut self, steps: usize) -> bool {
        self.0 = self.0.saturating_sub(steps);
        !self.is_spent()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// Refuses every barrier and subgroup operation of an entry point that is not in uniform control flow. What begins at `source_size` is not of the
/// source.
pub(crate) fn check(module: &Module, index: usize, source_size: usize) -> Vec<Finding> {
    check_within(module, index, source_size, &mut Steps::new())
}

/// The same within the steps that others have left. Where these are too few, nothing is told.
pub(crate) fn check_within(module: &Module, index: usize, source_size: usize, steps: &mut Steps) -> Vec<Finding> {
    let Some(entry) = module.entry_points.get(index) else { return Vec::new() };
    let alone = steps.0 == MAX_STEPS;
    // Most kernels have nothing that the workgroup must reach together.
    let Some(first) = meetings::first(module, &entry.function, source_size, steps) else { return Vec::new() };
    let private = vec![true; module.global_variables.len()];
    let mut analysis = Analysis { module, source_size, private, memo: HashMap::new(), findings: Findings::default(), steps };
    for round in 0.. {
        let before = analysis.private.clone();
        analysis.memo.clear();
        analysis.findings.0.clear();
        if round > MAX_ROUNDS {
            analysis.private.fill(false);
        }
        let arguments = values::builtins(module, &entry.function);
        let context = Context { arguments, control: Control::Uniform };
        Walk::new(&mut analysis, &entry.function, context).run();
        if analysis.steps.is_spent() {
            // In doubt, it is not uniform.
            return if alone { vec![too_many(first)] } else { Vec::new() };
        }
        if analysis.private == before {
            break;
        }
    }
    analysis.findings.0.into_values().collect()
}

fn too_many(first: Span) -> Finding {
    let text = format!(
        "whether the whole workgroup reaches the barriers and subgroup operations of this kernel together takes too many steps to find out: its functions \
         are called with arguments that differ between invocations in too many ways; at most {MAX_STEPS} steps are taken"
    );
    Finding::span(text, first).note(
        "a function is followed anew for each way in which its arguments differ, and all of them for each private variable that turns out to: \
         give it fewer arguments (a structure counts as one), keep fewer private variables, or give what has barriers a kernel of its own",
    )
}

/// What is wrong, by place and words, each told once: the walk comes by in every context and round.
#[derive(Default)]
struct Findings(BTreeMap<(Option<(usize, usize)>, String), Finding>);

impl Findings {
    /// Of more than are ever shown, those that come last in the source are left out.
    fn add(&mut self, finding: Finding) {
        let at = finding.at.as_ref().map(|at| (at.start, at.end));
        self.0.entry((at, finding.message.clone())).or_insert(finding);
        if self.0.len() > MAX_FINDINGS {
            self.0.pop_last();
        }
    }
}

/// Why control flow is not uniform: the condition that first split it.
#[derive(Debug)]
pub(crate) struct Split {
    /// Where.
    at: Span,
    /// What the condition depends on.
    because: String,
}

#[derive(Clone, Debug)]
enum Control {
    Uniform,
    Split(Rc<Split>),
}

impl Control {
    fn is_uniform(&self) -> bool {
        matches!(self, Self::Uniform)
    }
}

/// What a function is given: a value, or a pointer.
#[derive(Clone, Debug)]
struct Argument {
    /// The value; of a pointer, where it points.
    value: bool,
    /// What it points to.
    content: bool,
    /// For messages: what the value depends on.
    name: String,
    /// The members of a structure of builtins.
    members: Vec<bool>,
}

struct Context {
    arguments: Vec<Argument>,
    control: Control,
}

/// What a call does, in one context.
#[derive(Clone, Debug)]
struct Outcome {
    /// Whether the result is uniform.
    result: bool,
    /// Per pointer argument: whether what it points to still is.
    contents: Vec<bool>,
}

/// A context that has been followed: the function, value and content of each argument, and whether control flow is uniform. Small, as there may be many.
type Key = (Handle<naga::Function>, Box<[(bool, bool)]>, bool);

struct Analysis<'a> {
    module: &'a Module,
    source_size: usize,
    /// Per global: whether a private variable is uniform.
    private: Vec<bool>,
    memo: HashMap<Key, Outcome>,
    findings: Findings,
    steps: &'a mut Steps,
}

impl<'a> Analysis<'a> {
    /// Whether what a global holds is the same for the whole workgroup.
    fn global(&self, handle: Handle<GlobalVariable>) -> bool {
        match self.module.global_variables[handle].space {
            AddressSpace::Uniform | AddressSpace::Immediate => true,
            AddressSpace::Storage { access } => !access.intersects(naga::StorageAccess::STORE | naga::StorageAccess::ATOMIC),
            AddressSpace::Private => self.private.get(handle.index()).copied().unwrap_or(false),
            _ => false,
        }
    }

    fn spoil_private(&mut self, handle: Handle<GlobalVariable>) {
        if let Some(flag) = self.private.get_mut(handle.index()) {
            *flag = false;
        }
    }

    fn call(&mut self, function: Handle<naga::Function>, arguments: Vec<Argument>, control: Control) -> Outcome {
        let flags = arguments.iter().map(|argument| (argument.value, argument.content)).collect();
        let key = (function, flags, control.is_uniform());
        if let Some(outcome) = self.memo.get(&key) {
            return outcome.clone();
        }
        let callee: &'a naga::Function = &self.module.functions[function];
        let outcome = Walk::new(self, callee, Context { arguments, control }).run();
        self.memo.insert(key, outcome.clone());
        outcome
    }
}

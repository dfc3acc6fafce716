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

use std::collections::HashMap;
use std::rc::Rc;

use naga::{AddressSpace, GlobalVariable, Handle, Module, Span};

use crate::diagnostics::Finding;
use flow::Walk;

/// A variable that changes its mind more often than this is taken for not uniform.
const MAX_ROUNDS: usize = 48;

/// Statements that are looked at in all contexts and rounds together, some times what the largest kernels take.
const MAX_STEPS: usize = 1 << 22;

/// Refuses every barrier and subgroup operation of an entry point that is not in uniform control flow. What begins at `source_size` is not of the
/// source.
pub(crate) fn check(module: &Module, index: usize, source_size: usize) -> Vec<Finding> {
    let Some(entry) = module.entry_points.get(index) else { return Vec::new() };
    // Most kernels have nothing that the workgroup must reach together.
    let Some(first) = meetings::first(module, &entry.function, source_size) else { return Vec::new() };
    let private = vec![true; module.global_variables.len()];
    let mut analysis = Analysis { module, source_size, private, memo: HashMap::new(), findings: Vec::new(), left: MAX_STEPS };
    for round in 0.. {
        let before = analysis.private.clone();
        analysis.memo.clear();
        analysis.findings.clear();
        if round > MAX_ROUNDS {
            analysis.private.fill(false);
        }
        let arguments = values::builtins(module, &entry.function);
        let context = Context { arguments, control: Control::Uniform };
        Walk::new(&mut analysis, &entry.function, context).run();
        if analysis.is_spent() {
            // In doubt, it is not uniform.
            let text = "whether the whole workgroup reaches the barriers and subgroup operations of this kernel together takes too many steps to find out: its \
                functions are called with arguments that differ between invocations in too many ways";
            return vec![Finding::span(text, first)];
        }
        if analysis.private == before {
            break;
        }
    }
    let mut findings = analysis.findings;
    findings.sort_by_key(|f| f.at.as_ref().map_or(0, |r| r.start));
    findings.dedup_by(|a, b| a.at == b.at && a.message == b.message);
    findings
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Argument {
    /// The value; of a pointer, where it points.
    value: bool,
    /// What it points to.
    content: bool,
    /// For messages: what the value depends on. No part of the context.
    name: Hidden,
    /// The members of a structure of builtins.
    members: Vec<bool>,
}

/// Text that never makes two contexts differ.
#[derive(Clone, Debug)]
struct Hidden(String);

impl PartialEq for Hidden {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Hidden {}
impl std::hash::Hash for Hidden {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
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

struct Analysis<'a> {
    module: &'a Module,
    source_size: usize,
    /// Per global: whether a private variable is uniform.
    private: Vec<bool>,
    memo: HashMap<(Handle<naga::Function>, Vec<Argument>, bool), Outcome>,
    findings: Vec<Finding>,
    /// Steps that may still be taken.
    left: usize,
}

impl<'a> Analysis<'a> {
    /// Takes steps. False: there are none left, and what has been found does not count.
    fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.saturating_sub(steps);
        !self.is_spent()
    }

    fn is_spent(&self) -> bool {
        self.left == 0
    }

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
        let key = (function, arguments.clone(), control.is_uniform());
        if let Some(outcome) = self.memo.get(&key) {
            return outcome.clone();
        }
        let callee: &'a naga::Function = &self.module.functions[function];
        let outcome = Walk::new(self, callee, Context { arguments, control }).run();
        self.memo.insert(key, outcome.clone());
        outcome
    }
}

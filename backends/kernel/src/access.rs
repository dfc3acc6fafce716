//! T6: how an entry point uses the bytes of each of its resources, through function calls and pointer arguments.
//!
//! A load counts as a read whether or not its result is used, and code that never runs counts as run: both only ever claim more. Asking for a length
//! reads no byte, but the resource must be bound, so alone it counts as [`Access::Read`]. Every operation on an atomic reads and writes.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, GlobalVariable, Handle, Module, Statement};

use crate::reflection::Access;

const READ: u8 = 1;
const WRITE: u8 = 2;
const LENGTH: u8 = 4;

/// The uses of one entry point.
pub(crate) struct Uses {
    globals: Vec<u8>,
}

impl Uses {
    /// Whether the entry point mentions it in any way.
    pub(crate) fn uses(&self, global: Handle<GlobalVariable>) -> bool {
        self.globals.get(global.index()).is_some_and(|&u| u != 0)
    }

    /// The use of one resource.
    pub(crate) fn access(&self, global: Handle<GlobalVariable>) -> Access {
        match self.globals.get(global.index()).copied().unwrap_or(0) {
            0 => Access::Unused,
            uses if uses & WRITE == 0 => Access::Read,
            uses if uses & READ == 0 => Access::Write,
            _ => Access::ReadWrite,
        }
    }
}

/// Analyses one entry point. Callees come before their callers in the IR, so one pass in order is enough.
pub(crate) fn analyse(module: &Module, info: &ModuleInfo, index: usize) -> Uses {
    let mut summaries: Vec<Summary> = Vec::with_capacity(module.functions.len());
    for (handle, function) in module.functions.iter() {
        let summary = Summary::of(module, &info[handle], function, &summaries);
        summaries.push(summary);
    }
    let entry = Summary::of(module, info.get_entry_point(index), &module.entry_points[index].function, &summaries);
    Uses { globals: entry.globals }
}

/// What a function does to globals, and to what its pointer arguments point to.
struct Summary {
    globals: Vec<u8>,
    arguments: Vec<u8>,
}

impl Summary {
    fn of(module: &Module, info: &FunctionInfo, function: &Function, callees: &[Self]) -> Self {
        let mut summary = Self { globals: vec![0; module.global_variables.len()], arguments: vec![0; function.arguments.len()] };
        for (_, expression) in function.expressions.iter() {
            match *expression {
                Expression::Load { pointer } => summary.add(function, pointer, READ | atomic(module, info, pointer)),
                Expression::ArrayLength(pointer) => summary.add(function, pointer, LENGTH),
                _ => {}
            }
        }
        Walk { module, info, function, callees }.block(&mut summary, &function.body);
        summary
    }

    fn add(&mut self, function: &Function, pointer: Handle<Expression>, uses: u8) {
        let slot = match function.expressions[root(function, pointer)] {
            Expression::GlobalVariable(global) => self.globals.get_mut(global.index()),
            Expression::FunctionArgument(index) => self.arguments.get_mut(index as usize),
            _ => None,
        };
        if let Some(slot) = slot {
            *slot |= uses;
        }
    }

    fn call(&mut self, function: &Function, callee: Option<&Self>, arguments: &[Handle<Expression>]) {
        let Some(callee) = callee else { return };
        for (own, theirs) in self.globals.iter_mut().zip(&callee.globals) {
            *own |= theirs;
        }
        for (&argument, &uses) in arguments.iter().zip(&callee.arguments) {
            if uses != 0 {
                self.add(function, argument, uses);
            }
        }
    }
}

fn atomic(module: &Module, info: &FunctionInfo, pointer: Handle<Expression>) -> u8 {
    if info[pointer].ty.inner_with(&module.types).is_atomic_pointer(&module.types) { READ | WRITE } else { 0 }
}

struct Walk<'a> {
    module: &'a Module,
    info: &'a FunctionInfo,
    function: &'a Function,
    callees: &'a [Summary],
}

impl Walk<'_> {
    fn block(&self, summary: &mut Summary, block: &naga::Block) {
        for statement in block {
            self.statement(summary, statement);
        }
    }

    fn statement(&self, summary: &mut Summary, statement: &Statement) {
        let function = self.function;
        match statement {
            Statement::Block(block) => self.block(summary, block),
            Statement::If { accept, reject, .. } => {
                self.block(summary, accept);
                self.block(summary, reject);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| self.block(summary, &case.body)),
            Statement::Loop { body, continuing, .. } => {
                self.block(summary, body);
                self.block(summary, continuing);
            }
            Statement::Store { pointer, .. } => summary.add(function, *pointer, WRITE | atomic(self.module, self.info, *pointer)),
            Statement::Atomic { pointer, .. } => summary.add(function, *pointer, READ | WRITE),
            Statement::WorkGroupUniformLoad { pointer, .. } => summary.add(function, *pointer, READ),
            Statement::Call { function: callee, arguments, .. } => {
                summary.call(function, self.callees.get(callee.index()), arguments)
            }
            _ => {}
        }
    }
}

/// Where a chain of accesses begins.
pub(crate) fn root(function: &Function, mut pointer: Handle<Expression>) -> Handle<Expression> {
    while let Expression::Access { base, .. } | Expression::AccessIndex { base, .. } = function.expressions[pointer] {
        pointer = base;
    }
    pointer
}

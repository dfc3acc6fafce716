//! Subgroup operations: reached by the whole workgroup, like barriers, since a device may run a workgroup as one with all its invocations or none
//! in an operation. Their results differ between the subgroups of a workgroup, whatever the operation, so none is uniform here.
//!
//! Distances and masks of shuffles only have to be the same within each subgroup. That much is followed through operators, not through variables.

use naga::{
    Binding, Block, BuiltIn, CollectiveOperation, Expression, Function, GatherMode, Handle, Span, Statement, SubgroupOperation,
};

use super::Control;
use super::flow::Walk;
use super::values::{composed, operands};
use crate::diagnostics::Finding;
use crate::subgroups::{gather_name, index};

/// Operators that a value is followed through.
const MAX_STEPS: u32 = 64;

impl Walk<'_, '_> {
    /// Checks a statement that is a subgroup operation; others pass.
    pub(super) fn subgroup(&mut self, statement: &Statement, span: Span, control: &Control) {
        let name = match *statement {
            Statement::SubgroupBallot { .. } => "subgroupBallot",
            Statement::SubgroupCollectiveOperation { op, collective_op, .. } => collective_name(op, collective_op),
            Statement::SubgroupGather { mode, .. } => gather_name(mode).0,
            _ => return,
        };
        self.barrier(&format!("`{name}`"), span, control);
        if let Statement::SubgroupGather { mode, .. } = *statement {
            self.distance(mode, span);
        }
    }

    /// A call of the function that stands for `subgroupElect`, which has no place in the source.
    pub(super) fn elect(&mut self, result: Option<Handle<Expression>>, span: Span, control: &Control) {
        self.barrier("`subgroupElect`", span, control);
        self.differs(result);
    }

    fn distance(&mut self, mode: GatherMode, span: Span) {
        let (GatherMode::ShuffleUp(_) | GatherMode::ShuffleDown(_) | GatherMode::ShuffleXor(_)) = mode else { return };
        let Some(value) = index(mode) else { return };
        let mut steps = MAX_STEPS;
        if !self.same_in_subgroup(value, &mut steps) {
            let (name, what) = gather_name(mode);
            let message = format!(
                "the {what} of `{name}` must be the same for a whole subgroup, but it depends on {}; `subgroupShuffle` takes any id",
                self.explain(value)
            );
            self.analysis.findings.add(Finding::span(message, span));
        }
    }

    /// Whether an expression is surely the same for all invocations of a subgroup.
    fn same_in_subgroup(&self, at: Handle<Expression>, steps: &mut u32) -> bool {
        if self.values.get(at) {
            return true;
        }
        let Some(left) = steps.checked_sub(1) else { return false };
        *steps = left;
        match self.function.expressions[at] {
            Expression::SubgroupBallotResult => true,
            Expression::SubgroupOperationResult { .. } => self.values.reduced.get(at.index()).copied().unwrap_or(false),
            Expression::FunctionArgument(argument) => {
                let argument = self.function.arguments.get(argument as usize);
                // Only arguments of entry points are bound.
                matches!(argument.and_then(|a| a.binding.as_ref()), Some(Binding::BuiltIn(BuiltIn::SubgroupId)))
            }
            ref expression => operands(expression).is_some_and(|operands| {
                let all = operands.into_iter().flatten().chain(composed(expression).iter().copied());
                all.into_iter().all(|operand| self.same_in_subgroup(operand, steps))
            }),
        }
    }
}

/// Per expression of a function: whether it is the result of an operation that gives the same to all invocations of a subgroup.
pub(super) fn reduced(function: &Function) -> Vec<bool> {
    let mut reduced = vec![false; function.expressions.len()];
    if function.expressions.iter().any(|(_, e)| matches!(e, Expression::SubgroupOperationResult { .. })) {
        mark(&function.body, &mut reduced);
    }
    reduced
}

fn mark(block: &Block, reduced: &mut [bool]) {
    for statement in block {
        let result = match statement {
            Statement::SubgroupCollectiveOperation { collective_op: CollectiveOperation::Reduce, result, .. } => *result,
            Statement::SubgroupGather { mode: GatherMode::BroadcastFirst | GatherMode::Broadcast(_), result, .. } => *result,
            Statement::Block(inner) => {
                mark(inner, reduced);
                continue;
            }
            Statement::If { accept, reject, .. } => {
                mark(accept, reduced);
                mark(reject, reduced);
                continue;
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| mark(&case.body, reduced));
                continue;
            }
            Statement::Loop { body, continuing, .. } => {
                mark(body, reduced);
                mark(continuing, reduced);
                continue;
            }
            _ => continue,
        };
        if let Some(flag) = reduced.get_mut(result.index()) {
            *flag = true;
        }
    }
}

fn collective_name(op: SubgroupOperation, collective: CollectiveOperation) -> &'static str {
    match (op, collective) {
        (SubgroupOperation::All, _) => "subgroupAll",
        (SubgroupOperation::Any, _) => "subgroupAny",
        (SubgroupOperation::Add, CollectiveOperation::Reduce) => "subgroupAdd",
        (SubgroupOperation::Add, CollectiveOperation::InclusiveScan) => "subgroupInclusiveAdd",
        (SubgroupOperation::Add, CollectiveOperation::ExclusiveScan) => "subgroupExclusiveAdd",
        (SubgroupOperation::Mul, CollectiveOperation::Reduce) => "subgroupMul",
        (SubgroupOperation::Mul, CollectiveOperation::InclusiveScan) => "subgroupInclusiveMul",
        (SubgroupOperation::Mul, CollectiveOperation::ExclusiveScan) => "subgroupExclusiveMul",
        (SubgroupOperation::Min, _) => "subgroupMin",
        (SubgroupOperation::Max, _) => "subgroupMax",
        (SubgroupOperation::And, _) => "subgroupAnd",
        (SubgroupOperation::Or, _) => "subgroupOr",
        (SubgroupOperation::Xor, _) => "subgroupXor",
    }
}

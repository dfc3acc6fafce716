//! Statements and control flow.

use std::collections::HashSet;

use naga::{
    Barrier, Block, CollectiveOperation, Direction, Expression, GatherMode, Handle, Statement, SubgroupOperation, SwitchValue,
};

use super::dialect::Part;
use super::functions::Writer;
use super::{Refusal, Result, uses};
use crate::walk;

/// A loop of at most so many passes is unrolled, as long as its code is not repeated more often than that in all.
const UNROLLED: u64 = 32;
const MOST_COPIES: u64 = 256;

impl Writer<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Result<()> {
        for (statement, span) in block.span_iter() {
            self.statement(statement).map_err(|refusal| refusal.at(*span))?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match *statement {
            Statement::Emit(ref range) => range.clone().try_for_each(|at| self.emit(at)),
            Statement::Block(ref block) => {
                self.line("{");
                self.inside(|writer| writer.block(block))?;
                self.line("}");
                Ok(())
            }
            Statement::If { condition, ref accept, ref reject } => self.branch(condition, accept, reject),
            Statement::Switch { selector, ref cases } => self.switch(selector, cases),
            Statement::Loop { ref body, ref continuing, break_if } => self.repeat(body, continuing, break_if),
            Statement::Break => {
                self.line("break;");
                Ok(())
            }
            Statement::Continue => {
                let label = self.labels.last().copied().ok_or_else(|| Refusal::bug("a `continue` outside of loops"))?;
                self.line(format!("goto next{label};"));
                Ok(())
            }
            Statement::Return { value } => {
                let value = value.map(|value| self.value(value)).transpose()?;
                self.line(value.map_or_else(|| "return;".to_owned(), |value| format!("return {value};")));
                Ok(())
            }
            Statement::Store { pointer, value } => self.store(pointer, value),
            Statement::Atomic { pointer, fun, value, result } => self.atomic(pointer, fun, value, result),
            Statement::Call { function, ref arguments, result } => self.call(function, arguments, result),
            Statement::ControlBarrier(flags) => {
                let subgroup = flags.contains(Barrier::SUB_GROUP) && !flags.intersects(Barrier::STORAGE | Barrier::WORK_GROUP);
                self.line(if subgroup { "c_subgroup_barrier();" } else { "c_barrier();" });
                Ok(())
            }
            Statement::MemoryBarrier(flags) => {
                self.line(if flags.contains(Barrier::STORAGE) { "c_fence_device();" } else { "c_fence_workgroup();" });
                Ok(())
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.line("c_barrier();");
                let value = self.load(pointer)?;
                self.define(result, &value)?;
                self.line("c_barrier();");
                Ok(())
            }
            Statement::SubgroupBallot { result, predicate } => {
                let predicate = predicate.map_or(Ok("true".to_owned()), |predicate| self.value(predicate))?;
                self.subgroup(result, &format!("c_subgroup_ballot({predicate})"))
            }
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let argument = self.value(argument)?;
                let call = collective(op, collective_op, &argument)?;
                self.subgroup(result, &call)
            }
            Statement::SubgroupGather { mode, argument, result } => self.gather(mode, argument, result),
            Statement::Kill => Err(Refusal::unsupported("`discard`")),
            Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => Err(Refusal::unsupported("a texture")),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => Err(Refusal::unsupported("a ray query")),
            Statement::CooperativeStore { .. } => Err(Refusal::unsupported("a cooperative matrix")),
        }
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &Block, reject: &Block) -> Result<()> {
        let condition = self.value(condition)?;
        if accept.is_empty() {
            self.line(format!("if (!({condition})) {{"));
            self.inside(|writer| writer.block(reject))?;
        } else {
            self.line(format!("if ({condition}) {{"));
            self.inside(|writer| writer.block(accept))?;
            if !reject.is_empty() {
                self.line("} else {");
                self.inside(|writer| writer.block(reject))?;
            }
        }
        self.line("}");
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &[naga::SwitchCase]) -> Result<()> {
        let selector = self.value(selector)?;
        self.line(format!("switch ({selector}) {{"));
        for case in cases {
            let label = match case.value {
                SwitchValue::I32(i32::MIN) => "case -2147483647 - 1:".to_owned(),
                SwitchValue::I32(value) => format!("case {value}:"),
                SwitchValue::U32(value) => format!("case {value}u:"),
                SwitchValue::Default => "default:".to_owned(),
            };
            if case.fall_through && case.body.is_empty() {
                self.line(label);
                continue;
            }
            self.line(format!("{label} {{"));
            self.inside(|writer| {
                writer.block(&case.body)?;
                let left = matches!(case.body.last(), Some(Statement::Break | Statement::Continue | Statement::Return { .. }));
                if !case.fall_through && !left {
                    writer.line("break;");
                }
                Ok(())
            })?;
            self.line("}");
        }
        self.line("}");
        Ok(())
    }

    /// A loop is endless but for its jumps: `continue` goes to the continuing part, which stands outside of the body's block.
    fn repeat(&mut self, body: &Block, continuing: &Block, break_if: Option<Handle<Expression>>) -> Result<()> {
        self.declare_shared(body, continuing, break_if)?;
        let passes = self.ranges.and_then(|ranges| ranges.passes_below(body, continuing));
        let ends = self.ranges.is_some_and(|ranges| ranges.ends(body, continuing));
        let next = self.ranges.and_then(|ranges| ranges.next(body, continuing));
        let unrolled = passes.filter(|passes| *passes <= UNROLLED && self.copies.saturating_mul(*passes) <= MOST_COPIES);
        if unrolled.is_some() {
            self.line("#pragma unroll");
        }
        let label = self.next_label;
        self.next_label += 1;
        self.labels.push(label);
        let copies = self.copies;
        self.copies = copies.saturating_mul(unrolled.unwrap_or(1));
        self.line("for (;;) {");
        self.inside(|writer| {
            if !ends {
                writer.line("C_ENDLESS");
            }
            if writer.context.options.cancellable && unrolled.is_none() {
                writer.line("c_pass(c.limit, t);");
            }
            writer.line("{");
            writer.inside(|writer| writer.block(body))?;
            writer.line("}");
            if walk::continues(body) {
                writer.line(format!("next{label}:;"));
            }
            if continuing.is_empty() && break_if.is_none() {
                return Ok(());
            }
            writer.line("{");
            writer.inside(|writer| {
                writer.block(continuing)?;
                if let Some(next) = next {
                    // Compilers do not see this through a load of constant memory, and would add to each index by itself.
                    let next = writer.value(next)?;
                    writer.line(format!("if ({next} == 0u) __builtin_unreachable();"));
                }
                if let Some(condition) = break_if {
                    let condition = writer.value(condition)?;
                    writer.line(format!("if ({condition}) break;"));
                }
                Ok(())
            })?;
            writer.line("}");
            Ok(())
        })?;
        self.line("}");
        self.copies = copies;
        self.labels.pop();
        Ok(())
    }

    /// The continuing part may use values of the body, which are out of its scope: their variables are declared before the loop.
    fn declare_shared(&mut self, body: &Block, continuing: &Block, break_if: Option<Handle<Expression>>) -> Result<()> {
        let mut used = HashSet::new();
        uses::used(self.function, continuing, &mut used);
        if let Some(condition) = break_if {
            uses::used_by(self.function, condition, &mut used);
        }
        for at in uses::given(body) {
            if used.contains(&at) && !self.is_pointer(at) && self.info[at].ref_count > 0 && self.declared.insert(at) {
                let ty = self.context.types.of(&self.info[at].ty)?;
                self.line(format!("{ty} e{};", at.index()));
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        function: Handle<naga::Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let mut passed = self.hidden_arguments(function);
        for argument in arguments {
            passed.push(if self.is_pointer(*argument) { self.address(*argument)? } else { self.value(*argument)? });
        }
        let call = format!("{}({})", self.function_name(function), passed.join(", "));
        match result.filter(|result| self.info[*result].ref_count > 0) {
            Some(result) => self.define(result, &call),
            None => {
                self.line(format!("{call};"));
                Ok(())
            }
        }
    }

    fn subgroup(&mut self, result: Handle<Expression>, call: &str) -> Result<()> {
        self.parts.insert(Part::Subgroup);
        self.define(result, call)
    }

    fn gather(&mut self, mode: GatherMode, argument: Handle<Expression>, result: Handle<Expression>) -> Result<()> {
        let argument = self.value(argument)?;
        let index = crate::subgroups::index(mode).map(|index| self.value(index)).transpose()?.unwrap_or_default();
        let call = match mode {
            GatherMode::BroadcastFirst => format!("c_shuffle({argument}, 0u)"),
            GatherMode::Broadcast(_) | GatherMode::Shuffle(_) => format!("c_shuffle({argument}, {index})"),
            GatherMode::ShuffleDown(_) => format!("c_shuffle_down({argument}, {index})"),
            GatherMode::ShuffleUp(_) => format!("c_shuffle_up({argument}, {index})"),
            GatherMode::ShuffleXor(_) => format!("c_shuffle_xor({argument}, {index})"),
            GatherMode::QuadBroadcast(_) => format!("c_quad_broadcast({argument}, {index})"),
            GatherMode::QuadSwap(Direction::X) => format!("c_shuffle_xor({argument}, 1u)"),
            GatherMode::QuadSwap(Direction::Y) => format!("c_shuffle_xor({argument}, 2u)"),
            GatherMode::QuadSwap(Direction::Diagonal) => format!("c_shuffle_xor({argument}, 3u)"),
        };
        self.subgroup(result, &call)
    }
}

fn collective(op: SubgroupOperation, scan: CollectiveOperation, argument: &str) -> Result<String> {
    let by = match op {
        SubgroupOperation::All => return Ok(format!("c_subgroup_all({argument})")),
        SubgroupOperation::Any => return Ok(format!("c_subgroup_any({argument})")),
        SubgroupOperation::Add => "c_by_add",
        SubgroupOperation::Mul => "c_by_mul",
        SubgroupOperation::Max => "c_by_max",
        SubgroupOperation::Min => "c_by_min",
        SubgroupOperation::And => "c_by_and",
        SubgroupOperation::Or => "c_by_or",
        SubgroupOperation::Xor => "c_by_xor",
    };
    Ok(match (scan, op) {
        (CollectiveOperation::Reduce, _) => format!("c_reduce<{by}>({argument})"),
        (CollectiveOperation::InclusiveScan, _) => format!("c_inclusive<{by}>({argument})"),
        (CollectiveOperation::ExclusiveScan, SubgroupOperation::Add | SubgroupOperation::Mul) => {
            format!("c_exclusive<{by}>({argument})")
        }
        (CollectiveOperation::ExclusiveScan, _) => return Err(Refusal::unsupported("this exclusive scan")),
    })
}

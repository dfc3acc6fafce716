//! Inside a run: the statements of one invocation.

use cranelift_codegen::ir::InstBuilder;
use naga::Statement;

use super::control::{CaseLabel, LoopParts};
use super::emitter::{Emitter, Storage, trusted};
use super::expr::Constant;
use super::plan::{Home, jumps_to};
use super::program::{Case, FrameId, Initial, Kind, LocalId, Node, TargetId, ValueRef, within_bounds};
use super::stop::{Result, Stop};
use super::value::{Pointer, Root, Val};

impl<'e> Emitter<'e> {
    /// Emits a list of nodes; whether its end can be reached.
    pub(super) fn nodes(&mut self, nodes: &'e [Node<'e>]) -> Result<bool> {
        for node in nodes {
            if !self.node(node).map_err(|stop| stop.at(node.span))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evaluates the expressions that are computed outside of runs, or the others.
    pub(super) fn evaluate_range(&mut self, frame: FrameId, range: &naga::Range<naga::Expression>, uniform: bool) -> Result<()> {
        for expr in range.clone() {
            let at = ValueRef { frame, expr };
            if self.plan.uniform.values[self.program.number(at) as usize] == uniform {
                self.emit_value(at)?;
            }
        }
        Ok(())
    }

    pub(super) fn node(&mut self, node: &'e Node<'e>) -> Result<bool> {
        within_bounds(self.b.func.dfg.num_insts())?;
        match node.kind {
            Kind::Emit(frame, range) => {
                self.evaluate_range(frame, range, false)?;
                Ok(true)
            }
            Kind::Plain(frame, statement) => self.plain(frame, statement),
            Kind::Init(local) => self.initialise(local).map(|()| true),
            Kind::SetResult(local, value) => {
                let value = self.value(value)?;
                self.store_local(local, value).map(|()| true)
            }
            Kind::TakeResult(local, result) => {
                let pointer = self.local_pointer(local)?;
                let number = self.program.number(result);
                let value = self.load(&pointer, Some(number))?;
                self.set_value(number, value).map(|()| true)
            }
            Kind::If { condition, ref accept, ref reject } => {
                let condition = self.value(condition)?.scalar()?;
                self.emit_if(condition, &mut |e| e.nodes(accept), &mut |e| e.nodes(reject))
            }
            Kind::Switch { exit, selector, ref cases } => self.switch(exit, selector, cases),
            Kind::Loop { exit, next, ref body, ref continuing, break_if } => {
                let work = self.work();
                let mut condition = |e: &mut Self| break_if.map_or_else(|| Err(no_condition()), |c| e.value(c)?.scalar());
                let reached = self.emit_loop(LoopParts {
                    exit,
                    next,
                    continues: jumps_to(body, next),
                    breaks: jumps_to(body, exit) || jumps_to(continuing, exit),
                    body: &mut |e| e.nodes(body),
                    continuing: &mut |e| e.nodes(continuing),
                    break_if: break_if.is_some().then_some(&mut condition),
                })?;
                self.count_passes(exit, work);
                Ok(reached)
            }
            Kind::Call { exit, ref body } => {
                if self.program.cold.contains(&exit)
                    && let Some(block) = self.b.current_block()
                {
                    self.b.set_cold_block(block);
                }
                self.emit_block(exit, jumps_to(body, exit), &mut |e| e.nodes(body))
            }
            Kind::Jump(to) => self.jump(to).map(|()| false),
            Kind::Barrier | Kind::UniformLoad { .. } | Kind::Exchange(_) => Err(Stop::bug("a barrier inside a run")),
        }
    }

    /// Work of one invocation so far.
    pub(super) fn work(&self) -> u64 {
        (self.b.func.dfg.num_insts() as u64).saturating_add(self.extra)
    }

    /// After a loop inside a run: what was made since `before` runs once per pass.
    fn count_passes(&mut self, exit: TargetId, before: u64) {
        let once = self.work() - before;
        match self.plan.ranges.passes(exit) {
            // The condition is evaluated once more than the body.
            Some(passes) => self.extra = self.extra.saturating_add(once.saturating_mul(passes)),
            None => self.cost = None,
        }
    }

    fn switch(&mut self, exit: TargetId, selector: ValueRef, cases: &'e [Case<'e>]) -> Result<bool> {
        let selector = self.value(selector)?.scalar()?;
        let labels: Vec<_> = cases.iter().map(|c| CaseLabel { value: c.value, fall_through: c.fall_through }).collect();
        let breaks = cases.iter().any(|c| jumps_to(&c.body, exit));
        self.emit_switch(exit, selector, &labels, breaks, &mut |e, i| e.nodes(&cases[i].body))
    }

    fn plain(&mut self, frame: FrameId, statement: &Statement) -> Result<bool> {
        let at = |expr| ValueRef { frame, expr };
        match *statement {
            Statement::Store { pointer, value } => {
                let pointer = self.value(at(pointer))?.pointer()?;
                let value = self.value(at(value))?;
                self.store(&pointer, value)?;
            }
            Statement::Atomic { pointer, fun, value, result } => self.atomic(frame, pointer, fun, value, result)?,
            _ => return Err(Stop::bug("not a plain statement")),
        }
        Ok(true)
    }

    /// Inside a run to a target of the same run, or out of it: then the rest of the construct is skipped by this invocation.
    fn jump(&mut self, to: TargetId) -> Result<()> {
        if let Some(block) = self.targets[to.0 as usize] {
            self.b.ins().jump(block, &[]);
            return Ok(());
        }
        let end = self.run_end.ok_or_else(|| Stop::bug("a jump to nowhere"))?;
        if let Some(place) = self.flags[to.0 as usize] {
            let address = self.place_address(place);
            let one = self.bool(true);
            self.b.ins().store(trusted(), one, address, place.offset as i32);
        }
        self.b.ins().jump(end, &[]);
        Ok(())
    }

    /// Gives a variable its first value, if this is where it lives.
    pub(super) fn initialise(&mut self, local: LocalId) -> Result<()> {
        let index = local.0 as usize;
        let here = match self.plan.homes[index] {
            Home::Nowhere => false,
            Home::Workgroup => self.run.is_none(),
            Home::Run(run) => self.run == Some(run),
            Home::Frame => true,
        };
        if !here {
            return Ok(());
        }
        let info = &self.program.locals[index];
        let value = match info.initial {
            Initial::Local(value) => self.constant(Constant::Local(value))?,
            Initial::Global(expr) => self.constant(Constant::Global(expr))?,
            Initial::Zero => match self.local_storage(local)? {
                Storage::Registers(_) => Val::Parts(self.zero_parts(info.shape)?),
                Storage::Memory(place) => {
                    let address = self.place_address(place);
                    let address = self.b.ins().iadd_imm_s(address, i64::from(place.offset));
                    self.zero_memory(address, self.layout.size(info.shape));
                    return Ok(());
                }
            },
        };
        self.store_local(local, value)
    }

    fn store_local(&mut self, local: LocalId, value: Val) -> Result<()> {
        let pointer = self.local_pointer(local)?;
        self.store(&pointer, value)
    }

    pub(super) fn local_pointer(&self, local: LocalId) -> Result<Pointer> {
        let info = &self.program.locals[local.0 as usize];
        Ok(Pointer::new(Root::Local(local), info.shape, false))
    }
}

pub(super) fn no_condition() -> Stop {
    Stop::bug("a loop condition that is not there")
}

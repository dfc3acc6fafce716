//! Around runs: the control flow that the whole workgroup takes together, and the loops over its invocations.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};

use super::control::{CaseLabel, LoopParts};
use super::emitter::{Emitter, Invocation, Storage, trusted};
use super::nodes::no_condition;
use super::plan::{OuterCase, Run, Step};
use super::program::{LocalId, TargetId, ValueRef};
use super::stop::{Result, Stop};

/// The open loops over the invocations.
pub(super) struct Sweep {
    /// From the innermost: the axis (`None`: all at once), its loop's start, and its counter.
    loops: Vec<(Option<usize>, Block, Value)>,
}

impl<'e> Emitter<'e> {
    /// Emits a list of steps; whether its end can be reached.
    pub(super) fn steps(&mut self, steps: &'e [Step<'e>]) -> Result<bool> {
        for step in steps {
            if !self.step(step)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn step(&mut self, step: &'e Step<'e>) -> Result<bool> {
        match *step {
            Step::Run(ref run) => self.run(run).map(|()| true),
            Step::Evaluate(frame, range) => self.evaluate_range(frame, range, true).map(|()| true),
            Step::Set(ref node) => self.node(node).map_err(|stop| stop.at(node.span)),
            Step::UniformLoad { pointer, result } => self.uniform_load(pointer, result).map(|()| true),
            Step::Exchange(ref exchange, run) => self.exchange(exchange, run).map(|()| true),
            Step::If { condition, ref accept, ref reject } => {
                let condition = self.value(condition)?.scalar()?;
                self.emit_if(condition, &mut |e| e.steps(accept), &mut |e| e.steps(reject))
            }
            Step::Switch { exit, selector, ref cases } => self.outer_switch(exit, selector, cases),
            Step::Loop { exit, next, ref body, ref continuing, break_if } => {
                let before = self.cost;
                self.reset_flags(exit)?;
                let mut condition = |e: &mut Self| break_if.map_or_else(|| Err(no_condition()), |c| e.value(c)?.scalar());
                let reached = self.emit_loop(LoopParts {
                    exit,
                    next,
                    continues: leads_to(body, next),
                    breaks: leads_to(body, exit) || leads_to(continuing, exit),
                    body: &mut |e| {
                        e.reset_flags(next)?;
                        e.steps(body)
                    },
                    continuing: &mut |e| e.steps(continuing),
                    break_if: break_if.is_some().then_some(&mut condition),
                })?;
                let passes = self.plan.ranges.passes(exit).and_then(|p| p.checked_add(1));
                self.cost = before
                    .zip(self.cost)
                    .zip(passes)
                    .and_then(|((before, after), passes)| before.checked_add((after - before).checked_mul(passes)?));
                Ok(reached)
            }
            Step::Call { exit, ref body } => {
                self.reset_flags(exit)?;
                self.emit_block(exit, leads_to(body, exit), &mut |e| e.steps(body))
            }
            Step::Jump(to) => {
                let block = self.targets[to.0 as usize].ok_or_else(|| Stop::bug("an outer jump to nowhere"))?;
                self.b.ins().jump(block, &[]);
                Ok(false)
            }
        }
    }

    fn outer_switch(&mut self, exit: TargetId, selector: ValueRef, cases: &'e [OuterCase<'e>]) -> Result<bool> {
        let selector = self.value(selector)?.scalar()?;
        self.reset_flags(exit)?;
        let labels: Vec<_> = cases.iter().map(|c| CaseLabel { value: c.value, fall_through: c.fall_through }).collect();
        let breaks = cases.iter().any(|c| leads_to(&c.body, exit));
        self.emit_switch(exit, selector, &labels, breaks, &mut |e, i| e.steps(&cases[i].body))
    }

    /// All invocations have arrived, so one load serves them all.
    fn uniform_load(&mut self, pointer: ValueRef, result: ValueRef) -> Result<()> {
        let pointer = self.value(pointer)?.pointer()?;
        let number = self.program.number(result);
        let value = self.load(&pointer, Some(number))?;
        self.values[number as usize] = Some(value);
        Ok(())
    }

    /// At the entry of a construct: nobody has left it yet.
    pub(super) fn reset_flags(&mut self, target: TargetId) -> Result<()> {
        if !self.plan.flags[target.0 as usize] {
            return Ok(());
        }
        let place = match self.flags[target.0 as usize] {
            Some(place) => place,
            None => self.place(1, true)?,
        };
        self.flags[target.0 as usize] = Some(place);
        let start = self.b.ins().iadd_imm_s(self.entry.scratch, i64::from(place.offset));
        let size = u32::try_from(self.invocations()).map_err(|_| Stop::bug("too many invocations"))?;
        self.zero_memory(start, size);
        Ok(())
    }

    fn run(&mut self, run: &'e Run<'e>) -> Result<()> {
        let before = self.work();
        let outside = self.invocation;
        // Jumps to outer constructs leave the run; their blocks are not for it to jump to.
        let outer_targets: Vec<_> = run.inside.iter().map(|t| (*t, self.targets[t.0 as usize].take())).collect();
        let sweep = self.open_sweep()?;
        let [end, skip] = [0; 2].map(|_| self.b.create_block());
        self.run_end = Some(end);
        self.run = Some(run.index);
        self.skip_flagged(run, skip);
        self.load_frames(run)?;
        for local in &run.inits {
            self.initialise(*local)?;
        }
        if self.nodes(&run.nodes)? {
            self.b.ins().jump(end, &[]);
        }
        self.b.switch_to_block(end);
        for local in &run.save {
            self.save_local(*local)?;
        }
        self.b.ins().jump(skip, &[]);
        self.b.switch_to_block(skip);
        self.close_sweep(sweep);
        self.run_end = None;
        self.run = None;
        self.invocation = outside;
        for (target, block) in outer_targets {
            self.targets[target.0 as usize] = block;
        }
        let instructions = self.work() - before;
        let invocations = self.invocations();
        self.cost = self.cost.and_then(|c| c.checked_add(instructions.checked_mul(invocations)?));
        Ok(())
    }

    /// An invocation that has left a construct does not take part in the rest of it, and has nothing to save.
    fn skip_flagged(&mut self, run: &Run<'_>, skip: Block) {
        for target in &run.inside {
            let Some(place) = self.flags[target.0 as usize] else { continue };
            let address = self.place_address(place);
            let left = self.b.ins().load(types::I8, trusted(), address, place.offset as i32);
            let on = self.b.create_block();
            self.b.ins().brif(left, skip, &[], on, &[]);
            self.b.switch_to_block(on);
            self.b.seal_block(on);
        }
    }

    fn load_frames(&mut self, run: &Run<'_>) -> Result<()> {
        for number in &run.values {
            let value = self.reload(*number)?;
            self.values[*number as usize] = Some(value);
        }
        for local in &run.reload {
            let Storage::Registers(variables) = self.local_storage(*local)? else { continue };
            for (variable, (ty, place)) in variables.iter().zip(self.frames[local.0 as usize].clone()) {
                let address = self.place_address(place);
                let value = self.b.ins().load(ty, trusted(), address, place.offset as i32);
                self.b.def_var(*variable, value);
            }
        }
        Ok(())
    }

    fn save_local(&mut self, local: LocalId) -> Result<()> {
        let Storage::Registers(variables) = self.local_storage(local)? else { return Ok(()) };
        for (variable, (_, place)) in variables.iter().zip(self.frames[local.0 as usize].clone()) {
            let value = self.b.use_var(*variable);
            let address = self.place_address(place);
            self.b.ins().store(trusted(), value, address, place.offset as i32);
        }
        Ok(())
    }

    /// Opens loops over all invocations, in the order of their index.
    pub(super) fn open_sweep(&mut self) -> Result<Sweep> {
        let size = self.reflection.workgroup_size;
        let mut loops = Vec::new();
        if size[1] == 1 && size[2] == 1 {
            let start = self.long(0);
            let index = self.open_axis(start);
            loops.push((None, index.0, index.1));
            let zero = self.int(0);
            let x = self.b.ins().ireduce(types::I32, index.1);
            self.invocation = Invocation { index: index.1, local: [x, zero, zero] };
            return Ok(Sweep { loops });
        }
        let start = self.int(0);
        let mut local = [start; 3];
        for axis in [2, 1, 0] {
            if size[axis] > 1 {
                let (head, counter) = self.open_axis(start);
                loops.insert(0, (Some(axis), head, counter));
                local[axis] = counter;
            }
        }
        let row = self.b.ins().imul_imm_u(local[2], i64::from(size[1]));
        let row = self.b.ins().iadd(row, local[1]);
        let row = self.b.ins().imul_imm_u(row, i64::from(size[0]));
        let index = self.b.ins().iadd(row, local[0]);
        let index = self.b.ins().uextend(types::I64, index);
        self.invocation = Invocation { index, local };
        Ok(Sweep { loops })
    }

    fn open_axis(&mut self, start: Value) -> (Block, Value) {
        let head = self.b.create_block();
        let counter = self.b.append_block_param(head, self.b.func.dfg.value_type(start));
        self.b.ins().jump(head, &[start.into()]);
        self.b.switch_to_block(head);
        (head, counter)
    }

    pub(super) fn close_sweep(&mut self, sweep: Sweep) {
        for (axis, head, counter) in sweep.loops {
            let count = axis.map_or(self.invocations(), |axis| u64::from(self.reflection.workgroup_size[axis]));
            let next = self.b.ins().iadd_imm_s(counter, 1);
            let more = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, next, count as i64);
            let exit = self.b.create_block();
            self.b.ins().brif(more, head, &[next.into()], exit, &[]);
            self.b.seal_block(head);
            self.b.switch_to_block(exit);
            self.b.seal_block(exit);
        }
    }
}

/// Whether an outer jump leads to `target`. Those out of runs do not count: they end the run only.
fn leads_to(steps: &[Step<'_>], target: TargetId) -> bool {
    steps.iter().any(|step| match step {
        Step::Jump(to) => *to == target,
        Step::If { accept, reject, .. } => leads_to(accept, target) || leads_to(reject, target),
        Step::Switch { cases, .. } => cases.iter().any(|c| leads_to(&c.body, target)),
        Step::Loop { body, continuing, .. } => leads_to(body, target) || leads_to(continuing, target),
        Step::Call { body, .. } => leads_to(body, target),
        Step::Run(_) | Step::UniformLoad { .. } | Step::Exchange(..) | Step::Evaluate(..) | Step::Set(_) => false,
    })
}

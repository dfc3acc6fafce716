//! The shapes of control flow, once for both levels: inside a run and around runs. What the branches contain is the caller's.
//!
//! Everything that emits control flow answers whether its end can be reached; after a `false` nothing more may be emitted in the list.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Switch;

use super::emitter::{Emitter, trusted};
use super::program::TargetId;
use super::stop::Result;

/// Emits one part of a construct.
pub(super) type Part<'p, 'e> = &'p mut dyn FnMut(&mut Emitter<'e>) -> Result<bool>;

/// Evaluates a condition.
pub(super) type Condition<'p, 'e> = &'p mut dyn FnMut(&mut Emitter<'e>) -> Result<Value>;

/// The parts of a loop.
pub(super) struct LoopParts<'p, 'e> {
    pub(super) exit: TargetId,
    pub(super) next: TargetId,
    /// Whether something jumps to `next`, and to `exit`.
    pub(super) continues: bool,
    pub(super) breaks: bool,
    pub(super) body: Part<'p, 'e>,
    pub(super) continuing: Part<'p, 'e>,
    /// The condition that ends the loop.
    pub(super) break_if: Option<Condition<'p, 'e>>,
}

/// A case of a switch: its value (`None`: default), and whether its end falls into the next one.
#[derive(Clone, Copy)]
pub(super) struct CaseLabel {
    pub(super) value: Option<u32>,
    pub(super) fall_through: bool,
}

impl<'e> Emitter<'e> {
    pub(super) fn emit_if<'p>(&mut self, condition: Value, accept: Part<'p, 'e>, reject: Part<'p, 'e>) -> Result<bool> {
        let [yes, no, join] = [0; 3].map(|_| self.b.create_block());
        self.b.ins().brif(condition, yes, &[], no, &[]);
        let mut reachable = false;
        for (block, part) in [(yes, accept), (no, reject)] {
            self.b.switch_to_block(block);
            self.b.seal_block(block);
            if part(self)? {
                self.b.ins().jump(join, &[]);
                reachable = true;
            }
        }
        if reachable {
            self.b.switch_to_block(join);
            self.b.seal_block(join);
        }
        Ok(reachable)
    }

    pub(super) fn emit_loop(&mut self, parts: LoopParts<'_, 'e>) -> Result<bool> {
        let [head, next, exit] = [0; 3].map(|_| self.b.create_block());
        self.open(parts.next, next);
        self.open(parts.exit, exit);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let mut repeats = parts.continues;
        if (parts.body)(self)? {
            self.b.ins().jump(next, &[]);
            repeats = true;
        }
        let mut breaks = parts.breaks;
        if repeats {
            self.b.switch_to_block(next);
            self.b.seal_block(next);
            if (parts.continuing)(self)? {
                self.emit_cancel_check();
                match parts.break_if {
                    Some(condition) => {
                        let condition = condition(self)?;
                        self.b.ins().brif(condition, exit, &[], head, &[]);
                        breaks = true;
                    }
                    None => {
                        self.b.ins().jump(head, &[]);
                    }
                }
            }
        }
        self.b.seal_block(head);
        if breaks {
            self.b.switch_to_block(exit);
            self.b.seal_block(exit);
        }
        Ok(breaks)
    }

    /// `body(emitter, i)` emits the i-th case. `breaks`: whether something jumps to `exit`.
    pub(super) fn emit_switch(
        &mut self,
        exit: TargetId,
        selector: Value,
        cases: &[CaseLabel],
        breaks: bool,
        body: &mut dyn FnMut(&mut Self, usize) -> Result<bool>,
    ) -> Result<bool> {
        let end = self.b.create_block();
        self.open(exit, end);
        let blocks: Vec<_> = cases.iter().map(|_| self.b.create_block()).collect();
        let mut switch = Switch::new();
        let mut otherwise = end;
        let mut reachable = breaks || !cases.iter().any(|c| c.value.is_none());
        for (case, block) in cases.iter().zip(&blocks) {
            match case.value {
                Some(value) => switch.set_entry(u128::from(value), *block),
                None => otherwise = *block,
            }
        }
        switch.emit(&mut self.b, selector, otherwise);
        for (i, (case, block)) in cases.iter().zip(&blocks).enumerate() {
            self.b.switch_to_block(*block);
            if body(self, i)? {
                let to = blocks.get(i + 1).filter(|_| case.fall_through);
                reachable |= to.is_none();
                self.b.ins().jump(*to.unwrap_or(&end), &[]);
            }
        }
        blocks.iter().for_each(|block| self.b.seal_block(*block));
        if reachable {
            self.b.switch_to_block(end);
            self.b.seal_block(end);
        }
        Ok(reachable)
    }

    /// Code that `body` emits and that jumps to `exit` leave. `breaks`: whether something jumps there.
    pub(super) fn emit_block(&mut self, exit: TargetId, breaks: bool, body: Part<'_, 'e>) -> Result<bool> {
        let end = self.b.create_block();
        self.open(exit, end);
        let reached = body(self)?;
        if reached {
            self.b.ins().jump(end, &[]);
        }
        if reached || breaks {
            self.b.switch_to_block(end);
            self.b.seal_block(end);
        }
        Ok(reached || breaks)
    }

    /// At a back-edge: returns from the function when the launch has been cancelled.
    fn emit_cancel_check(&mut self) {
        if !self.options.cancellable {
            return;
        }
        // Atomic, or it would be merged with the check of another loop, or taken out of this one.
        let cancelled = self.b.ins().atomic_load(types::I32, trusted(), self.entry.cancel);
        let on = self.b.create_block();
        self.b.ins().brif(cancelled, self.leave, &[], on, &[]);
        self.b.switch_to_block(on);
        self.b.seal_block(on);
    }

    /// Emits `body` for each index below `count`, as i64. `count` is not 0.
    pub(super) fn emit_count(&mut self, count: u32, body: &mut dyn FnMut(&mut Self, Value) -> Result<()>) -> Result<()> {
        let (head, exit) = (self.b.create_block(), self.b.create_block());
        let index = self.b.append_block_param(head, types::I64);
        let zero = self.long(0);
        self.b.ins().jump(head, &[zero.into()]);
        self.b.switch_to_block(head);
        let before = self.work();
        body(self, index)?;
        self.extra = self.extra.saturating_add((self.work() - before).saturating_mul(u64::from(count)));
        let next = self.b.ins().iadd_imm_s(index, 1);
        let more = self.b.ins().icmp_imm_u(cranelift_codegen::ir::condcodes::IntCC::UnsignedLessThan, next, i64::from(count));
        self.b.ins().brif(more, head, &[next.into()], exit, &[]);
        self.b.seal_block(head);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        Ok(())
    }
}

//! Atomic operations.
//!
//! Those on storage are the processor's. Workgroup memory belongs to one thread, so there plain operations are atomic enough.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, Value};
use naga::{AtomicFunction, Expression, Handle};
use smallvec::SmallVec;

use super::emitter::{Emitter, trusted};
use super::layout::{Scalar, Shape};
use super::memory::{Address, Purpose};
use super::program::{FrameId, ValueRef};
use super::stop::{Result, Stop};
use super::value::{Pointer, Root, Val};

impl Emitter<'_> {
    pub(super) fn atomic(
        &mut self,
        frame: FrameId,
        pointer: Handle<Expression>,
        function: AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let at = |expr| ValueRef { frame, expr };
        let pointer = self.value(at(pointer))?.pointer()?;
        let value = self.value(at(value))?.scalar()?;
        let Shape::Atomic(scalar) = pointer.shape else { return Err(Stop::bug("an atomic operation on something else")) };
        let (address, start) = self.atomic_address(&pointer, Purpose::Write)?;
        if let AtomicFunction::Exchange { compare: Some(compare) } = function {
            let expected = self.value(at(compare))?.scalar()?;
            let old = self.compare_exchange(&pointer, start, expected, value);
            let same = self.b.ins().icmp(IntCC::Equal, old, expected);
            // Out of range nothing has changed, and what was read there does not count.
            let old = self.zero_unless(pointer.ok, old, scalar);
            let exchanged = self.zero_unless(pointer.ok, same, Scalar::Bool);
            return self.set_result(frame, result, Val::Parts(SmallVec::from_slice(&[old, exchanged])));
        }
        let operation = operation(function, scalar == Scalar::I32)?;
        let old = if is_shared(&pointer) {
            self.b.ins().atomic_rmw(scalar.register(), trusted(), operation, start, value)
        } else {
            let old = self.b.ins().load(scalar.register(), trusted(), address.base, address.offset);
            let new = self.apply(operation, old, value)?;
            self.b.ins().store(trusted(), new, address.base, address.offset);
            old
        };
        let old = self.zero_unless(pointer.ok, old, scalar);
        self.set_result(frame, result, Val::one(old))
    }

    fn set_result(&mut self, frame: FrameId, result: Option<Handle<Expression>>, value: Val) -> Result<()> {
        match result {
            Some(expr) => self.set_value(self.program.number(ValueRef { frame, expr }), value),
            None => Ok(()),
        }
    }

    /// The address, and the same as one register.
    fn atomic_address(&mut self, pointer: &Pointer, purpose: Purpose) -> Result<(Address, Value)> {
        let address = self.address(pointer, purpose)?;
        let start = self.b.ins().iadd_imm_s(address.base, i64::from(address.offset));
        Ok((address, start))
    }

    fn compare_exchange(&mut self, pointer: &Pointer, start: Value, expected: Value, new: Value) -> Value {
        if is_shared(pointer) {
            return self.b.ins().atomic_cas(trusted(), start, expected, new);
        }
        let ty = self.b.func.dfg.value_type(new);
        let old = self.b.ins().load(ty, trusted(), start, 0);
        let same = self.b.ins().icmp(IntCC::Equal, old, expected);
        let kept = self.b.ins().select(same, new, old);
        self.b.ins().store(trusted(), kept, start, 0);
        old
    }

    fn apply(&mut self, operation: AtomicRmwOp, old: Value, value: Value) -> Result<Value> {
        Ok(match operation {
            AtomicRmwOp::Add => self.b.ins().iadd(old, value),
            AtomicRmwOp::Sub => self.b.ins().isub(old, value),
            AtomicRmwOp::And => self.b.ins().band(old, value),
            AtomicRmwOp::Or => self.b.ins().bor(old, value),
            AtomicRmwOp::Xor => self.b.ins().bxor(old, value),
            AtomicRmwOp::Smin => self.b.ins().smin(old, value),
            AtomicRmwOp::Smax => self.b.ins().smax(old, value),
            AtomicRmwOp::Umin => self.b.ins().umin(old, value),
            AtomicRmwOp::Umax => self.b.ins().umax(old, value),
            AtomicRmwOp::Xchg => value,
            _ => return Err(Stop::bug("an atomic operation that does not exist")),
        })
    }

    pub(super) fn atomic_load(&mut self, pointer: &Pointer, scalar: Scalar) -> Result<Val> {
        let (address, start) = self.atomic_address(pointer, Purpose::Read)?;
        let value = if is_shared(pointer) {
            self.b.ins().atomic_load(scalar.register(), trusted(), start)
        } else {
            self.b.ins().load(scalar.register(), trusted(), address.base, address.offset)
        };
        Ok(Val::one(value))
    }

    pub(super) fn atomic_store(&mut self, pointer: &Pointer, value: Value) -> Result<()> {
        let (address, start) = self.atomic_address(pointer, Purpose::Write)?;
        if is_shared(pointer) {
            self.b.ins().atomic_store(trusted(), value, start);
        } else {
            self.b.ins().store(trusted(), value, address.base, address.offset);
        }
        Ok(())
    }
}

/// Whether other threads may use it at the same time.
fn is_shared(pointer: &Pointer) -> bool {
    matches!(pointer.root, Root::Binding(_))
}

fn operation(function: AtomicFunction, signed: bool) -> Result<AtomicRmwOp> {
    Ok(match function {
        AtomicFunction::Add => AtomicRmwOp::Add,
        AtomicFunction::Subtract => AtomicRmwOp::Sub,
        AtomicFunction::And => AtomicRmwOp::And,
        AtomicFunction::ExclusiveOr => AtomicRmwOp::Xor,
        AtomicFunction::InclusiveOr => AtomicRmwOp::Or,
        AtomicFunction::Min if signed => AtomicRmwOp::Smin,
        AtomicFunction::Min => AtomicRmwOp::Umin,
        AtomicFunction::Max if signed => AtomicRmwOp::Smax,
        AtomicFunction::Max => AtomicRmwOp::Umax,
        AtomicFunction::Exchange { compare: None } => AtomicRmwOp::Xchg,
        AtomicFunction::Exchange { compare: Some(_) } => return Err(Stop::bug("a comparison that was handled before")),
    })
}

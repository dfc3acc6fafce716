//! Atomic operations.
//!
//! Those on storage are the processor's. Workgroup memory belongs to one thread, so there plain operations are atomic enough.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, Value, types};
use naga::{AtomicFunction, Expression, Handle};
use smallvec::SmallVec;

use super::emitter::{Emitter, trusted};
use super::layout::{Scalar, Shape};
use super::memory::{Address, Purpose};
use super::program::{FrameId, ValueRef};
use super::shims;
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
        if scalar.is_float() {
            let old = self.atomic_float(function, &pointer, start, value)?;
            let old = self.zero_unless(pointer.ok, old, scalar);
            return self.set_result(frame, result, Val::one(old));
        }
        let operation = operation(function, scalar.is_signed())?;
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

    /// On an f32. No processor adds them in one step.
    fn atomic_float(&mut self, function: AtomicFunction, pointer: &Pointer, start: Value, value: Value) -> Result<Value> {
        let value = if function == AtomicFunction::Subtract { self.b.ins().fneg(value) } else { value };
        match (function, is_shared(pointer)) {
            (AtomicFunction::Add | AtomicFunction::Subtract, true) => {
                self.call_float(Scalar::F32, shims::atomic_add as *const () as usize, &[start, value])
            }
            (AtomicFunction::Add | AtomicFunction::Subtract, false) => {
                let old = self.b.ins().load(types::F32, trusted(), start, 0);
                let new = self.b.ins().fadd(old, value);
                self.b.ins().store(trusted(), new, start, 0);
                Ok(old)
            }
            (AtomicFunction::Exchange { compare: None }, true) => {
                let bits = self.bitcast_to(types::I32, value);
                let old = self.b.ins().atomic_rmw(types::I32, trusted(), AtomicRmwOp::Xchg, start, bits);
                Ok(self.bitcast_to(types::F32, old))
            }
            (AtomicFunction::Exchange { compare: None }, false) => {
                let old = self.b.ins().load(types::F32, trusted(), start, 0);
                self.b.ins().store(trusted(), value, start, 0);
                Ok(old)
            }
            _ => Err(Stop::unsupported("this atomic operation on f32")),
        }
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
        let value = if is_shared(pointer) && scalar == Scalar::F32 {
            let bits = self.b.ins().atomic_load(types::I32, trusted(), start);
            self.bitcast_to(types::F32, bits)
        } else if is_shared(pointer) {
            self.b.ins().atomic_load(scalar.register(), trusted(), start)
        } else {
            self.b.ins().load(scalar.register(), trusted(), address.base, address.offset)
        };
        Ok(Val::one(value))
    }

    pub(super) fn atomic_store(&mut self, pointer: &Pointer, value: Value) -> Result<()> {
        let (address, start) = self.atomic_address(pointer, Purpose::Write)?;
        if is_shared(pointer) {
            let float = self.b.func.dfg.value_type(value) == types::F32;
            let value = if float { self.bitcast_to(types::I32, value) } else { value };
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

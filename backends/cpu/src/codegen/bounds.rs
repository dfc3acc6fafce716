//! Indices that are known only when the code runs, and their checks. Reports of those out of range are code of the kernel already.

use compute_kernel::reflection::Bounds;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::emitter::Emitter;
use super::layout::{Elements, Shape};
use super::program::ValueRef;
use super::range::Known;
use super::stop::{Result, Stop};
use super::value::{Parts, Pointer, Val};

impl Emitter<'_> {
    /// A pointer to an element.
    pub(super) fn index_pointer(&mut self, base: &Pointer, index: Value, signed: bool, known: Known) -> Result<Pointer> {
        let elements = self.layout.elements(base.shape)?;
        let wide = self.widened(index, signed);
        let step = self.b.ins().imul_imm_u(wide, i64::from(elements.stride));
        let dynamic = match base.dynamic {
            Some(before) => self.b.ins().iadd(before, step),
            None => step,
        };
        let mut pointer = Pointer { shape: elements.shape, dynamic: Some(dynamic), ..base.clone() };
        let surely = known.bound.zip(elements.count).is_some_and(|(bound, count)| bound <= u64::from(count));
        pointer.placed |= known.here && !surely;
        if surely || known.here || self.options.bounds == Bounds::Unchecked {
            return Ok(pointer);
        }
        let ok = self.in_range(base, elements, index, wide)?;
        pointer.ok = Some(match base.ok {
            Some(before) => self.b.ins().band(before, ok),
            None => ok,
        });
        Ok(pointer)
    }

    fn in_range(&mut self, base: &Pointer, elements: Elements, index: Value, wide: Value) -> Result<Value> {
        match elements.count {
            // Negative numbers are large as unsigned ones. A count may need more than 16 bits.
            Some(count) => {
                let index = if self.b.func.dfg.value_type(index) == types::I16 { wide } else { index };
                Ok(self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(count)))
            }
            None => {
                let length = self.runtime_length(base)?;
                Ok(self.b.ins().icmp(IntCC::UnsignedLessThan, wide, length))
            }
        }
    }

    /// An element of a value in registers: the one whose number matches, else zero.
    pub(super) fn index_parts(&mut self, parts: &Parts, shape: Shape, index: Value) -> Result<Val> {
        let elements = self.layout.elements(shape)?;
        let width = self.layout.leaf_count(elements.shape) as usize;
        let mut result = self.zero_parts(elements.shape)?;
        for (i, element) in parts.chunks(width.max(1)).enumerate() {
            let this = self.b.ins().icmp_imm_u(IntCC::Equal, index, i as i64);
            for (to, from) in result.iter_mut().zip(element) {
                *to = self.b.ins().select(this, *from, *to);
            }
        }
        Ok(Val::Parts(result))
    }

    /// Whether an index is signed.
    pub(super) fn is_signed(&self, index: ValueRef) -> Result<bool> {
        match self.shape_of(index)? {
            Shape::Scalar(scalar) if scalar.is_integer() => Ok(scalar.is_signed()),
            _ => Err(Stop::bug("an index that is not an integer")),
        }
    }

    /// An index as i64. That of 64 bits without a sign stays what it is as an unsigned number.
    fn widened(&mut self, index: Value, signed: bool) -> Value {
        if self.b.func.dfg.value_type(index) == types::I64 {
            return index;
        }
        if signed { self.b.ins().sextend(types::I64, index) } else { self.b.ins().uextend(types::I64, index) }
    }
}

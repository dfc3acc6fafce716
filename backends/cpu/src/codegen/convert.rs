//! Conversions between scalar types, and reinterpretation of bits.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use naga::ScalarKind;

use super::emitter::Emitter;
use super::layout::Scalar;
use super::program::ValueRef;
use super::shims;
use super::stop::Result;
use super::value::{Parts, Val};

impl Emitter<'_> {
    pub(super) fn convert(&mut self, operand: ValueRef, kind: ScalarKind, width: Option<u8>) -> Result<Val> {
        let from = self.shape_of(operand)?.scalar()?;
        let parts = self.value(operand)?.parts()?;
        // Only reinterpretation has no width; it keeps it.
        let Some(width) = width else {
            let to = Scalar::from_ir(naga::Scalar { kind, width: from.size() as u8 })?;
            return Ok(Val::Parts(self.map(&parts, |e, x| e.reinterpret(from, to, x))));
        };
        let to = Scalar::from_ir(naga::Scalar { kind, width })?;
        let mut converted = Parts::new();
        for x in parts {
            converted.push(self.convert_scalar(from, to, x)?);
        }
        Ok(Val::Parts(converted))
    }

    /// Between types of the same size.
    fn reinterpret(&mut self, from: Scalar, to: Scalar, x: Value) -> Value {
        if from == to || from.register() == to.register() {
            return x;
        }
        match (from, to) {
            (Scalar::F16, _) => {
                let bits = self.half_bits(x);
                self.b.ins().ireduce(types::I16, bits)
            }
            (_, Scalar::F16) => {
                let bits = self.b.ins().uextend(types::I32, x);
                self.half_from_bits(bits)
            }
            _ => self.bitcast_to(to.register(), x),
        }
    }

    fn convert_scalar(&mut self, from: Scalar, to: Scalar, x: Value) -> Result<Value> {
        Ok(match (from, to) {
            _ if from == to => x,
            (_, Scalar::Bool) => self.is_not_zero(from, x),
            (Scalar::Bool, _) => self.bool_to_number(to, x),
            _ if from.is_float() && to.is_float() => return self.float_to_float(from, to, x),
            _ if from.is_float() => self.float_to_int(from, to, x),
            _ if to.is_float() => self.int_to_float(from, to, x),
            _ => self.int_to_int(from, to, x),
        })
    }

    fn is_not_zero(&mut self, from: Scalar, x: Value) -> Value {
        let zero = self.zero_scalar(from);
        if from.is_float() {
            return self.b.ins().fcmp(FloatCC::NotEqual, x, zero);
        }
        self.b.ins().icmp(IntCC::NotEqual, x, zero)
    }

    fn bool_to_number(&mut self, to: Scalar, x: Value) -> Value {
        if to.is_integer() {
            return self.b.ins().uextend(to.register(), x);
        }
        let (one, zero) = (self.number(to, 1.0), self.number(to, 0.0));
        self.b.ins().select(x, one, zero)
    }

    fn float_to_float(&mut self, from: Scalar, to: Scalar, x: Value) -> Result<Value> {
        Ok(match (from, to) {
            // By way of f32 it would be rounded twice.
            (Scalar::F64, Scalar::F16) => return self.call_float(to, shims::to_half as *const () as usize, &[x]),
            (Scalar::F64, _) => self.b.ins().fdemote(types::F32, x),
            (_, Scalar::F64) => self.b.ins().fpromote(types::F64, x),
            (_, to) => self.rounded(to, x),
        })
    }

    /// Towards zero, to the nearest number that both types have; NaN becomes 0 (KT-03).
    pub(super) fn float_to_int(&mut self, from: Scalar, to: Scalar, x: Value) -> Value {
        let most = self.number(from, largest_common(from, to));
        let above = self.b.ins().fcmp(FloatCC::GreaterThan, x, most);
        let mut x = self.b.ins().select(above, most, x);
        // The least integer of a type is a float, but infinity may be closer to another than that; and there is no conversion to 16 bits.
        if from == Scalar::F16 || to.size() == 2 {
            let least = self.number(from, least_common(from, to));
            let below = self.b.ins().fcmp(FloatCC::LessThan, x, least);
            x = self.b.ins().select(below, least, x);
        }
        let register = if to.size() == 8 { types::I64 } else { types::I32 };
        let whole =
            if to.is_signed() { self.b.ins().fcvt_to_sint_sat(register, x) } else { self.b.ins().fcvt_to_uint_sat(register, x) };
        if to.size() == 2 { self.b.ins().ireduce(types::I16, whole) } else { whole }
    }

    fn int_to_float(&mut self, from: Scalar, to: Scalar, x: Value) -> Value {
        let x = match from {
            Scalar::I16 => self.b.ins().sextend(types::I32, x),
            Scalar::U16 => self.b.ins().uextend(types::I32, x),
            _ => x,
        };
        let register = to.register();
        let number =
            if from.is_signed() { self.b.ins().fcvt_from_sint(register, x) } else { self.b.ins().fcvt_from_uint(register, x) };
        // What an f32 cannot hold exactly is far past the largest half.
        self.rounded(to, number)
    }

    /// The lowest bits, or with copies of the sign, if there is one, above.
    fn int_to_int(&mut self, from: Scalar, to: Scalar, x: Value) -> Value {
        if to.size() == from.size() {
            return x;
        }
        if to.size() < from.size() {
            return self.b.ins().ireduce(to.register(), x);
        }
        if from.is_signed() { self.b.ins().sextend(to.register(), x) } else { self.b.ins().uextend(to.register(), x) }
    }
}

/// The largest number that is one of both types.
fn largest_common(from: Scalar, to: Scalar) -> f64 {
    let bits = to.bits() - u32::from(to.is_signed());
    let (digits, most) = match from {
        Scalar::F16 => (11, 65_504.0),
        Scalar::F32 => (24, f64::INFINITY),
        _ => (53, f64::INFINITY),
    };
    let dropped = bits.saturating_sub(digits);
    // Exact: no more digits than the type has.
    let integer = (u64::MAX >> (64 - bits) >> dropped << dropped) as f64;
    integer.min(most)
}

/// The least number that is one of both types.
fn least_common(from: Scalar, to: Scalar) -> f64 {
    if !to.is_signed() {
        return 0.0;
    }
    let integer = -(2f64.powi(to.bits() as i32 - 1));
    if from == Scalar::F16 { integer.max(-65_504.0) } else { integer }
}

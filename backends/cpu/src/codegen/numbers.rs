//! Arithmetic on one scalar of any type, and how scalars get into memory and back.
//!
//! Halves are f32 in registers, rounded after every operation; sums, products, quotients and square roots of them are right that way, because f32
//! has more than twice their bits. Products and sums are never contracted.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};

use smallvec::SmallVec;

use super::emitter::Emitter;
use super::layout::Scalar;
use super::stop::{Result, Stop};

/// The bits of an f32's exponent, of the least half that has all its bits, and of 2^16.
const EXPONENT: i64 = 0x7f80_0000;
const MIN_NORMAL_HALF: i64 = 0x3880_0000;
const TWO_TO_16: i64 = 0x4780_0000;

impl Emitter<'_> {
    /// A constant of a type of floats.
    pub(super) fn number(&mut self, scalar: Scalar, value: f64) -> Value {
        match scalar {
            Scalar::F64 => self.b.ins().f64const(value),
            _ => self.float(value as f32),
        }
    }

    /// A constant of a type of integers.
    pub(super) fn integer(&mut self, scalar: Scalar, value: i64) -> Value {
        let unused = 64 - scalar.bits();
        self.b.ins().iconst(scalar.register(), ((value as u64) << unused >> unused) as i64)
    }

    pub(super) fn zero_scalar(&mut self, scalar: Scalar) -> Value {
        if scalar.is_float() {
            return self.number(scalar, 0.0);
        }
        self.integer(scalar, 0)
    }

    /// What was computed in the register's precision, in the type's.
    pub(super) fn rounded(&mut self, scalar: Scalar, x: Value) -> Value {
        if scalar == Scalar::F16 { self.round_half(x) } else { x }
    }

    pub(super) fn add(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        if !scalar.is_float() {
            return self.b.ins().iadd(x, y);
        }
        let sum = self.b.ins().fadd(x, y);
        self.rounded(scalar, sum)
    }

    pub(super) fn subtract(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        if !scalar.is_float() {
            return self.b.ins().isub(x, y);
        }
        let difference = self.b.ins().fsub(x, y);
        self.rounded(scalar, difference)
    }

    pub(super) fn multiply(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        if !scalar.is_float() {
            return self.b.ins().imul(x, y);
        }
        let product = self.b.ins().fmul(x, y);
        self.rounded(scalar, product)
    }

    /// Of floats.
    pub(super) fn divide(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        let quotient = self.b.ins().fdiv(x, y);
        self.rounded(scalar, quotient)
    }

    pub(super) fn square_root(&mut self, scalar: Scalar, x: Value) -> Value {
        let root = self.b.ins().sqrt(x);
        self.rounded(scalar, root)
    }

    /// The half nearest to an f32, of two that of even bits; past the largest, infinity.
    pub(super) fn round_half(&mut self, x: Value) -> Value {
        let bits = self.bitcast_to(types::I32, x);
        let exponent = self.b.ins().band_imm_u(bits, EXPONENT);
        let (least, most) = (self.int(MIN_NORMAL_HALF), self.int(TWO_TO_16));
        let exponent = self.b.ins().umax(exponent, least);
        let exponent = self.b.ins().umin(exponent, most);
        // 2^13 times the power of two below x: its last bit is the last bit of a half of that size, so adding it rounds.
        let coarse = self.b.ins().iadd_imm_u(exponent, 13 << 23);
        let coarse = self.bitcast_to(types::F32, coarse);
        let size = self.b.ins().fabs(x);
        let sum = self.b.ins().fadd(size, coarse);
        let rounded = self.b.ins().fsub(sum, coarse);
        // Times 2^112, 65536 is infinite, and 65504 is not.
        let (up, down) = (self.power_of_two(112), self.power_of_two(-112));
        let rounded = self.b.ins().fmul(rounded, up);
        let rounded = self.b.ins().fmul(rounded, down);
        self.b.ins().fcopysign(rounded, x)
    }

    /// The bits of a half, as i32 without sign.
    pub(super) fn half_bits(&mut self, x: Value) -> Value {
        let bits = self.bitcast_to(types::I32, x);
        let sign = self.b.ins().ushr_imm_u(bits, 16);
        let sign = self.b.ins().band_imm_u(sign, 0x8000);
        // The other bias, also where it leads below the normal range. Exact.
        let (size, down) = (self.b.ins().fabs(x), self.power_of_two(-112));
        let size = self.b.ins().fmul(size, down);
        let size = self.bitcast_to(types::I32, size);
        let size = self.b.ins().ushr_imm_u(size, 13);
        let infinity = self.int(0x7c00);
        let size = self.b.ins().umin(size, infinity);
        let not_a_number = self.b.ins().fcmp(FloatCC::Unordered, x, x);
        let payload = self.b.ins().ushr_imm_u(bits, 13);
        let payload = self.b.ins().band_imm_u(payload, 0x3ff);
        let payload = self.b.ins().bor_imm_u(payload, 0x7e00);
        let size = self.b.ins().select(not_a_number, payload, size);
        self.b.ins().bor(sign, size)
    }

    /// The half with the lowest 16 bits of an i32.
    pub(super) fn half_from_bits(&mut self, bits: Value) -> Value {
        let sign = self.b.ins().band_imm_u(bits, 0x8000);
        let sign = self.b.ins().ishl_imm_u(sign, 16);
        let size = self.b.ins().band_imm_u(bits, 0x7fff);
        let size = self.b.ins().ishl_imm_u(size, 13);
        let (number, up) = (self.bitcast_to(types::F32, size), self.power_of_two(112));
        let number = self.b.ins().fmul(number, up);
        let number = self.bitcast_to(types::I32, number);
        let endless = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, size, 0x7c00 << 13);
        let beyond = self.b.ins().bor_imm_u(size, EXPONENT);
        let size = self.b.ins().select(endless, beyond, number);
        let all = self.b.ins().bor(sign, size);
        self.bitcast_to(types::F32, all)
    }

    fn power_of_two(&mut self, exponent: i32) -> Value {
        self.float(f32::from_bits(((exponent + 127) as u32) << 23))
    }

    pub(super) fn bitcast_to(&mut self, ty: Type, x: Value) -> Value {
        self.b.ins().bitcast(ty, MemFlagsData::new(), x)
    }

    pub(super) fn load_scalar(&mut self, scalar: Scalar, flags: MemFlagsData, base: Value, offset: i32) -> Value {
        if scalar == Scalar::F16 {
            let bits = self.b.ins().uload16(types::I32, flags, base, offset);
            return self.half_from_bits(bits);
        }
        self.b.ins().load(scalar.register(), flags, base, offset)
    }

    pub(super) fn store_scalar(&mut self, scalar: Scalar, flags: MemFlagsData, value: Value, base: Value, offset: i32) {
        if scalar == Scalar::F16 {
            let bits = self.half_bits(value);
            self.b.ins().istore16(flags, bits, base, offset);
            return;
        }
        self.b.ins().store(flags, value, base, offset);
    }

    /// Calls a shim that takes and gives f64, for floats of any type.
    pub(super) fn call_wide(&mut self, scalar: Scalar, function: usize, arguments: &[Value]) -> Result<Value> {
        if scalar == Scalar::F64 {
            return self.call_float(scalar, function, arguments);
        }
        let wide: SmallVec<[Value; 2]> = arguments.iter().map(|x| self.b.ins().fpromote(types::F64, *x)).collect();
        let result = self.call_float(Scalar::F64, function, &wide)?;
        let result = self.b.ins().fdemote(types::F32, result);
        Ok(self.rounded(scalar, result))
    }

    /// Calls a shim that takes floats of a type and gives one; those of halves take and give f32.
    pub(super) fn call_float(&mut self, scalar: Scalar, function: usize, arguments: &[Value]) -> Result<Value> {
        self.call(function, arguments, Some(scalar.register())).ok_or_else(|| Stop::bug("a call without a result"))
    }
}

//! Built-in functions on bits: counting, fields, packing.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use naga::MathFunction as F;

use super::emitter::Emitter;
use super::layout::Scalar;
use super::math::Arguments;
use super::stop::{Result, Stop};
use super::value::{Parts, Val};

/// How floats are packed into fixed-point numbers.
#[derive(Clone, Copy)]
struct Normal {
    signed: bool,
    bits: u32,
}

impl Normal {
    fn of(function: F) -> Option<Self> {
        let (signed, bits) = match function {
            F::Pack4x8snorm | F::Unpack4x8snorm => (true, 8),
            F::Pack4x8unorm | F::Unpack4x8unorm => (false, 8),
            F::Pack2x16snorm | F::Unpack2x16snorm => (true, 16),
            F::Pack2x16unorm | F::Unpack2x16unorm => (false, 16),
            _ => return None,
        };
        Some(Self { signed, bits })
    }

    /// What 1.0 becomes.
    fn scale(self) -> f32 {
        ((1u32 << (self.bits - u32::from(self.signed))) - 1) as f32
    }
}

impl Emitter<'_> {
    pub(super) fn bit_function(&mut self, function: F, a: &Arguments) -> Result<Val> {
        match function {
            F::CountOneBits => self.each(a, |e, x| Ok(e.b.ins().popcnt(x))),
            F::CountLeadingZeros => self.each(a, |e, x| Ok(e.b.ins().clz(x))),
            F::CountTrailingZeros => self.each(a, |e, x| Ok(e.b.ins().ctz(x))),
            F::ReverseBits => self.each(a, |e, x| Ok(e.b.ins().bitrev(x))),
            F::FirstLeadingBit => {
                let scalar = a.scalar()?;
                self.each(a, |e, x| Ok(e.first_leading_bit(scalar, x)))
            }
            F::FirstTrailingBit => {
                let scalar = a.scalar()?;
                self.each(a, |e, x| Ok(e.first_trailing_bit(scalar, x)))
            }
            F::ExtractBits => self.extract_bits(a),
            F::InsertBits => self.insert_bits(a),
            F::Dot4I8Packed | F::Dot4U8Packed => self.packed_dot(function == F::Dot4I8Packed, a),
            F::Pack4x8snorm | F::Pack4x8unorm | F::Pack2x16snorm | F::Pack2x16unorm => self.pack_normal(function, a),
            F::Unpack4x8snorm | F::Unpack4x8unorm | F::Unpack2x16snorm | F::Unpack2x16unorm => self.unpack_normal(function, a),
            F::Pack4xI8 | F::Pack4xU8 | F::Pack4xI8Clamp | F::Pack4xU8Clamp => self.pack_bytes(function, a),
            F::Unpack4xI8 | F::Unpack4xU8 => {
                let fields = self.fields(a.one(0)?, 8, function == F::Unpack4xI8);
                Ok(Val::Parts(fields))
            }
            F::Pack2x16float => self.pack_halves(a),
            F::Unpack2x16float => self.unpack_halves(a),
            other => Err(Stop::unsupported(format_args!("the function {other:?}"))),
        }
    }

    fn first_leading_bit(&mut self, scalar: Scalar, x: Value) -> Value {
        let last = i64::from(scalar.bits()) - 1;
        let mut x = x;
        if scalar.is_signed() {
            // Of a negative number the highest bit that is 0.
            let sign = self.b.ins().sshr_imm_u(x, last);
            x = self.b.ins().bxor(x, sign);
        }
        let zeros = self.b.ins().clz(x);
        let last = self.integer(scalar, last);
        self.b.ins().isub(last, zeros)
    }

    fn first_trailing_bit(&mut self, scalar: Scalar, x: Value) -> Value {
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, x, 0);
        let (minus_one, zeros) = (self.integer(scalar, -1), self.b.ins().ctz(x));
        self.b.ins().select(none, minus_one, zeros)
    }

    /// Offset and count of a bit field, kept inside the type, as i32.
    fn field(&mut self, scalar: Scalar, offset: Value, count: Value) -> (Value, Value) {
        let width = self.int(i64::from(scalar.bits()));
        let offset = self.b.ins().umin(offset, width);
        let rest = self.b.ins().isub(width, offset);
        (offset, self.b.ins().umin(count, rest))
    }

    fn extract_bits(&mut self, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
        let (offset, count) = self.field(scalar, a.one(1)?, a.one(2)?);
        let (zero, width) = (self.integer(scalar, 0), self.int(i64::from(scalar.bits())));
        let empty = self.b.ins().icmp_imm_u(IntCC::Equal, count, 0);
        let down = self.b.ins().isub(width, count);
        let up = self.b.ins().isub(down, offset);
        self.each(a, |e, x| {
            let x = e.b.ins().ishl(x, up);
            let x = if scalar.is_signed() { e.b.ins().sshr(x, down) } else { e.b.ins().ushr(x, down) };
            Ok(e.b.ins().select(empty, zero, x))
        })
    }

    fn insert_bits(&mut self, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
        let (offset, count) = self.field(scalar, a.one(2)?, a.one(3)?);
        let (ones, width) = (self.integer(scalar, -1), self.int(i64::from(scalar.bits())));
        let empty = self.b.ins().icmp_imm_u(IntCC::Equal, count, 0);
        let down = self.b.ins().isub(width, count);
        let mask = self.b.ins().ushr(ones, down);
        let mask = self.b.ins().ishl(mask, offset);
        let parts = self.zip(a.parts(0)?, a.parts(1)?, |e, x, new| {
            let new = e.b.ins().ishl(new, offset);
            let new = e.b.ins().band(new, mask);
            let old = e.b.ins().band_not(x, mask);
            let both = e.b.ins().bor(old, new);
            e.b.ins().select(empty, x, both)
        })?;
        Ok(Val::Parts(parts))
    }

    /// The fields of a word from the lowest, extended to 32 bits.
    fn fields(&mut self, word: Value, bits: u32, signed: bool) -> Parts {
        let rest = i64::from(32 - bits);
        (0..32 / bits)
            .map(|i| {
                let up = self.b.ins().ishl_imm_u(word, rest - i64::from(i * bits));
                if signed { self.b.ins().sshr_imm_u(up, rest) } else { self.b.ins().ushr_imm_u(up, rest) }
            })
            .collect()
    }

    /// The lowest bits of each part, the first lowest.
    fn join(&mut self, parts: &[Value], bits: u32) -> Value {
        let mut word = self.int(0);
        for (i, part) in parts.iter().enumerate() {
            let field = self.b.ins().band_imm_u(*part, (1 << bits) - 1);
            let field = self.b.ins().ishl_imm_u(field, i as i64 * i64::from(bits));
            word = self.b.ins().bor(word, field);
        }
        word
    }

    fn packed_dot(&mut self, signed: bool, a: &Arguments) -> Result<Val> {
        let (x, y) = (self.fields(a.one(0)?, 8, signed), self.fields(a.one(1)?, 8, signed));
        Ok(Val::one(self.dot(Scalar::I32, &x, &y)?))
    }

    fn pack_normal(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let normal = Normal::of(function).ok_or_else(|| Stop::bug("not a packing"))?;
        let parts = self.map(a.parts(0)?, |e, x| {
            let x = e.clamp_float(Scalar::F32, x, if normal.signed { -1.0 } else { 0.0 }, 1.0);
            let (scale, half) = (e.float(normal.scale()), e.float(0.5));
            let x = e.b.ins().fmul(x, scale);
            let x = e.b.ins().fadd(x, half);
            let x = e.b.ins().floor(x);
            e.float_to_int(Scalar::F32, Scalar::I32, x)
        });
        Ok(Val::one(self.join(&parts, normal.bits)))
    }

    fn unpack_normal(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let normal = Normal::of(function).ok_or_else(|| Stop::bug("not a packing"))?;
        let fields = self.fields(a.one(0)?, normal.bits, normal.signed);
        Ok(Val::Parts(self.map(&fields, |e, x| {
            let x = e.b.ins().fcvt_from_sint(types::F32, x);
            let scale = e.float(normal.scale());
            let x = e.b.ins().fdiv(x, scale);
            if !normal.signed {
                return x;
            }
            let least = e.float(-1.0);
            e.maximum(Scalar::F32, x, least)
        })))
    }

    fn pack_bytes(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let parts = self.map(a.parts(0)?, |e, x| match function {
            F::Pack4xI8Clamp => {
                let (low, high) = (e.int(-128), e.int(127));
                let x = e.b.ins().smax(x, low);
                e.b.ins().smin(x, high)
            }
            F::Pack4xU8Clamp => {
                let high = e.int(255);
                e.b.ins().umin(x, high)
            }
            _ => x,
        });
        Ok(Val::one(self.join(&parts, 8)))
    }

    fn pack_halves(&mut self, a: &Arguments) -> Result<Val> {
        let mut halves = Parts::new();
        for x in a.parts(0)? {
            let half = self.round_half(*x);
            halves.push(self.half_bits(half));
        }
        Ok(Val::one(self.join(&halves, 16)))
    }

    fn unpack_halves(&mut self, a: &Arguments) -> Result<Val> {
        let halves = self.fields(a.one(0)?, 16, false);
        Ok(Val::Parts(self.map(&halves, |e, half| e.half_from_bits(half))))
    }
}

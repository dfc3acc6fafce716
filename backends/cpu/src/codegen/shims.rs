//! What generated code calls: the functions of the language that are no instructions, and rare work.
//!
//! All have the C calling convention, take and give plain numbers, and neither allocate nor unwind.

use naga::MathFunction;

/// Bytes that out-of-range reads read.
#[repr(align(16))]
pub(super) struct Zeros([u8; FALLBACK_SIZE as usize]);

/// Size of the memory that out-of-range accesses are led to.
pub(super) const FALLBACK_SIZE: u32 = 256;

pub(super) static ZEROS: Zeros = Zeros([0; FALLBACK_SIZE as usize]);

impl Zeros {
    pub(super) fn address(&'static self) -> usize {
        self.0.as_ptr() as usize
    }
}

pub(super) type Unary = extern "C" fn(f32) -> f32;
pub(super) type Binary = extern "C" fn(f32, f32) -> f32;

/// Defines a shim for a method of f32.
macro_rules! unary {
    ($($name:ident)*) => { $(extern "C" fn $name(x: f32) -> f32 { x.$name() })* };
}

unary!(cos cosh sin sinh tan tanh acos asin atan asinh acosh atanh exp exp2 ln log2);

/// The functions of one number that are calls.
pub(super) fn unary(function: MathFunction) -> Option<Unary> {
    Some(match function {
        MathFunction::Cos => cos,
        MathFunction::Cosh => cosh,
        MathFunction::Sin => sin,
        MathFunction::Sinh => sinh,
        MathFunction::Tan => tan,
        MathFunction::Tanh => tanh,
        MathFunction::Acos => acos,
        MathFunction::Asin => asin,
        MathFunction::Atan => atan,
        MathFunction::Asinh => asinh,
        MathFunction::Acosh => acosh,
        MathFunction::Atanh => atanh,
        MathFunction::Exp => exp,
        MathFunction::Exp2 => exp2,
        MathFunction::Log => ln,
        MathFunction::Log2 => log2,
        MathFunction::QuantizeToF16 => quantize_to_f16,
        _ => return None,
    })
}

/// The functions of two numbers that are calls.
pub(super) fn binary(function: MathFunction) -> Option<Binary> {
    Some(match function {
        MathFunction::Atan2 => atan2,
        MathFunction::Pow => pow,
        _ => return None,
    })
}

extern "C" fn atan2(y: f32, x: f32) -> f32 {
    y.atan2(x)
}

extern "C" fn pow(x: f32, y: f32) -> f32 {
    x.powf(y)
}

pub(super) extern "C" fn remainder(x: f32, y: f32) -> f32 {
    x % y
}

/// Rounded once, on every machine.
pub(super) extern "C" fn fma(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}

extern "C" fn quantize_to_f16(x: f32) -> f32 {
    half::f16::from_f32(x).to_f32()
}

pub(super) extern "C" fn to_f16(x: f32) -> u32 {
    u32::from(half::f16::from_f32(x).to_bits())
}

pub(super) extern "C" fn from_f16(bits: u32) -> f32 {
    half::f16::from_bits(bits as u16).to_f32()
}

/// `x * 2^exponent`, rounded once: the product is exact in f64, whose range holds that of f32 doubled.
pub(super) extern "C" fn ldexp(x: f32, exponent: i32) -> f32 {
    (f64::from(x) * f64::exp2(f64::from(exponent.clamp(-400, 400)))) as f32
}

/// The fraction of frexp: zero, or at least a half and below one.
pub(super) extern "C" fn frexp_fraction(x: f32) -> f32 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    (f64::from(x) * f64::exp2(-f64::from(frexp_exponent(x)))) as f32
}

pub(super) extern "C" fn frexp_exponent(x: f32) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    // Every f32 is a normal f64, so the exponent can be read from its bits.
    let exponent = (f64::from(x).to_bits() >> 52) & 0x7ff;
    exponent as i32 - 1022
}

/// # Safety
/// `to` is valid for writes of `size` bytes.
pub(super) unsafe extern "C" fn zero(to: *mut u8, size: u64) {
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::write_bytes(to, 0, size as usize) }
}

/// # Safety
/// `from` is valid for reads and `to` for writes of `size` bytes; they may overlap.
pub(super) unsafe extern "C" fn copy(to: *mut u8, from: *const u8, size: u64) {
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::copy(from, to, size as usize) }
}

//! What generated code calls: the functions of the language that are no instructions, and rare work.
//!
//! All have the C calling convention, take and give plain numbers, and neither allocate nor unwind. None is inlined: a function that may be has an address in each unit
//! of code generation, and artifacts know them by theirs (`symbols`).

use std::sync::atomic::{AtomicU32, Ordering};

use compute_kernel::math;
use naga::MathFunction;

use super::layout::Scalar;

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

/// Defines shims for functions of one number, of f32 and of f64, and a table of their addresses. All take and give f64.
macro_rules! unary {
    ($($function:ident = $name:ident,)*) => {
        mod single {
            $(#[inline(never)] pub(super) extern "C" fn $name(x: f64) -> f64 { compute_kernel::math::wide::$name(x) })*
        }
        mod double {
            $(#[inline(never)] pub(super) extern "C" fn $name(x: f64) -> f64 { compute_kernel::math::double::$name(x) })*
        }

        const UNARY: &[MathFunction] = &[$(MathFunction::$function,)*];

        /// The functions of one number that are calls. The caller rounds what it gets for f32 and halves.
        pub(super) fn unary(function: MathFunction, scalar: Scalar) -> Option<usize> {
            Some(match (function, scalar) {
                $((MathFunction::$function, Scalar::F64) => double::$name as *const () as usize,
                (MathFunction::$function, _) => single::$name as *const () as usize,)*
                _ => return None,
            })
        }
    };
}

unary! {
    Cos = cos,
    Cosh = cosh,
    Sin = sin,
    Sinh = sinh,
    Tan = tan,
    Tanh = tanh,
    Acos = acos,
    Asin = asin,
    Atan = atan,
    Asinh = asinh,
    Acosh = acosh,
    Atanh = atanh,
    Exp = exp,
    Exp2 = exp2,
    Log = log,
    Log2 = log2,
}

/// Every function of this file. Their order is part of what artifacts of one version of the library mean.
pub(super) fn all() -> Vec<usize> {
    let scalars = [Scalar::F16, Scalar::F32, Scalar::F64];
    let each = |function: &dyn Fn(Scalar) -> Option<usize>| scalars.map(function).into_iter().flatten().collect::<Vec<_>>();
    let mut all = vec![to_half as *const () as usize, atomic_add as *const () as usize];
    all.extend([zero as *const () as usize, copy as *const () as usize]);
    UNARY.iter().for_each(|function| all.extend(each(&|scalar| unary(*function, scalar))));
    [MathFunction::Atan2, MathFunction::Pow].iter().for_each(|f| all.extend(each(&|scalar| binary(*f, scalar))));
    for function in [remainder, fma, ldexp] {
        all.extend(each(&|scalar| Some(function(scalar))));
    }
    all.extend(scalars.map(frexp).into_iter().flat_map(|(fraction, exponent)| [fraction, exponent]));
    all
}

/// The functions of two numbers that are calls, as [`unary`].
pub(super) fn binary(function: MathFunction, scalar: Scalar) -> Option<usize> {
    Some(match (function, scalar) {
        (MathFunction::Atan2, Scalar::F64) => atan2_double as *const () as usize,
        (MathFunction::Atan2, _) => atan2 as *const () as usize,
        (MathFunction::Pow, Scalar::F64) => pow_double as *const () as usize,
        (MathFunction::Pow, _) => pow as *const () as usize,
        _ => return None,
    })
}

#[inline(never)]
extern "C" fn atan2(y: f64, x: f64) -> f64 {
    math::wide::atan2(y, x)
}

#[inline(never)]
extern "C" fn atan2_double(y: f64, x: f64) -> f64 {
    math::double::atan2(y, x)
}

#[inline(never)]
extern "C" fn pow(x: f64, y: f64) -> f64 {
    math::wide::pow(x, y)
}

#[inline(never)]
extern "C" fn pow_double(x: f64, y: f64) -> f64 {
    math::double::pow(x, y)
}

/// What is left of a division by trunc, exactly. That of halves is that of f32.
pub(super) fn remainder(scalar: Scalar) -> usize {
    match scalar {
        Scalar::F64 => remainder_double as *const () as usize,
        _ => remainder_single as *const () as usize,
    }
}

#[inline(never)]
extern "C" fn remainder_single(x: f32, y: f32) -> f32 {
    math::remainder(x, y)
}

#[inline(never)]
extern "C" fn remainder_double(x: f64, y: f64) -> f64 {
    math::double::remainder(x, y)
}

/// `x * y + z`, rounded once, for machines without such an instruction, and of halves.
pub(super) fn fma(scalar: Scalar) -> usize {
    match scalar {
        Scalar::F16 => fma_half as *const () as usize,
        Scalar::F64 => fma_double as *const () as usize,
        _ => fma_single as *const () as usize,
    }
}

#[inline(never)]
extern "C" fn fma_half(x: f32, y: f32, z: f32) -> f32 {
    math::fma_f16(x, y, z)
}

#[inline(never)]
extern "C" fn fma_single(x: f32, y: f32, z: f32) -> f32 {
    math::fma(x, y, z)
}

#[inline(never)]
extern "C" fn fma_double(x: f64, y: f64, z: f64) -> f64 {
    math::double::fma(x, y, z)
}

/// Whether this machine has an instruction that multiplies and adds, rounding once.
pub(super) fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

#[inline(never)]
pub(super) extern "C" fn to_half(x: f64) -> f32 {
    math::f16_from_f64(x)
}

pub(super) fn ldexp(scalar: Scalar) -> usize {
    match scalar {
        Scalar::F16 => ldexp_half as *const () as usize,
        Scalar::F64 => ldexp_double as *const () as usize,
        _ => ldexp_single as *const () as usize,
    }
}

#[inline(never)]
extern "C" fn ldexp_half(x: f32, exponent: i32) -> f32 {
    math::ldexp_f16(x, exponent)
}

#[inline(never)]
extern "C" fn ldexp_single(x: f32, exponent: i32) -> f32 {
    math::ldexp(x, exponent)
}

#[inline(never)]
extern "C" fn ldexp_double(x: f64, exponent: i32) -> f64 {
    math::double::ldexp(x, exponent)
}

/// The two results of frexp. Those of halves are those of f32.
pub(super) fn frexp(scalar: Scalar) -> (usize, usize) {
    match scalar {
        Scalar::F64 => (frexp_fraction_double as *const () as usize, frexp_exponent_double as *const () as usize),
        _ => (frexp_fraction as *const () as usize, frexp_exponent as *const () as usize),
    }
}

#[inline(never)]
extern "C" fn frexp_fraction(x: f32) -> f32 {
    math::frexp(x).0
}

#[inline(never)]
extern "C" fn frexp_exponent(x: f32) -> i32 {
    math::frexp(x).1
}

#[inline(never)]
extern "C" fn frexp_fraction_double(x: f64) -> f64 {
    math::double::frexp(x).0
}

#[inline(never)]
extern "C" fn frexp_exponent_double(x: f64) -> i32 {
    math::double::frexp(x).1
}

/// Adds to an f32 that other threads may change at the same time; gives what was there.
///
/// # Safety
/// `at` is aligned and valid, and everybody else uses it atomically.
#[inline(never)]
pub(super) unsafe extern "C" fn atomic_add(at: *const AtomicU32, x: f32) -> f32 {
    // SAFETY: by the caller's promise.
    let at = unsafe { &*at };
    let sum = |bits| Some((f32::from_bits(bits) + x).to_bits());
    let (Ok(old) | Err(old)) = at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    f32::from_bits(old)
}

/// # Safety
/// `to` is valid for writes of `size` bytes.
#[inline(never)]
pub(super) unsafe extern "C" fn zero(to: *mut u8, size: u64) {
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::write_bytes(to, 0, size as usize) }
}

/// # Safety
/// `from` is valid for reads and `to` for writes of `size` bytes; they may overlap.
#[inline(never)]
pub(super) unsafe extern "C" fn copy(to: *mut u8, from: *const u8, size: u64) {
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::copy(from, to, size as usize) }
}

//! The functions of the language that no processor has as an instruction, with one meaning on every machine.
//!
//! Built from additions, multiplications, divisions and square roots, which every machine rounds alike, and from `libm`, which is too; never from the C
//! library of the machine. Functions of f32 are evaluated in f64 and rounded once, so they are within 0.501 units in the last place of the
//! exact result, well inside the language's accuracy table. Those of f64 are in [`double`], they are `libm`'s and within one unit, `pow` excepted. For f16 evaluate in f32
//! and round with [`round_to_f16`].
//!
//! Out of its domain a function gives NaN, past the largest number infinity. Zeros keep their sign, numbers below the normal range are neither
//! read nor given as zero. No code for a device lives here.

pub mod double;
mod exponential;
mod half;
mod trigonometric;
pub mod wide;

pub(crate) use exponential::{LOGARITHMS, POWERS};
pub use half::{f16_bits, f16_from_bits, f16_from_f64, fma_f16, ldexp_f16, round_to_f16};

/// Defines functions of one f32 by those in [`wide`].
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident)*) => { $($(#[$doc])* pub fn $name(x: f32) -> f32 { wide::$name(x.into()) as f32 })* };
}

unary! {
    /// The sine of an angle in radians.
    sin
    /// The cosine of an angle in radians.
    cos
    /// The tangent of an angle in radians.
    tan
    /// The angle of this sine, between -π/2 and π/2; NaN beyond 1.
    asin
    /// The angle of this cosine, between 0 and π; NaN beyond 1.
    acos
    /// The angle of this tangent, between -π/2 and π/2.
    atan
    /// The hyperbolic sine.
    sinh
    /// The hyperbolic cosine.
    cosh
    /// The hyperbolic tangent.
    tanh
    /// The inverse of the hyperbolic sine.
    asinh
    /// The inverse of the hyperbolic cosine; NaN below 1.
    acosh
    /// The inverse of the hyperbolic tangent; NaN beyond 1.
    atanh
    /// `e^x`
    exp
    /// `2^x`
    exp2
    /// The natural logarithm; NaN of negative numbers.
    log
    /// The logarithm to base 2; NaN of negative numbers.
    log2
}

/// The angle of the point (x, y), between -π and π.
pub fn atan2(y: f32, x: f32) -> f32 {
    wide::atan2(y.into(), x.into()) as f32
}

/// `x^y`. Anything to the power 0 is 1, and 1 to any power. A negative number has powers only of whole numbers.
pub fn pow(x: f32, y: f32) -> f32 {
    wide::pow(x.into(), y.into()) as f32
}

/// `x * y + z`, rounded once.
pub fn fma(x: f32, y: f32, z: f32) -> f32 {
    libm::fmaf(x, y, z)
}

/// `x - y * trunc(x / y)`, exactly; it has the sign of `x`.
pub fn remainder(x: f32, y: f32) -> f32 {
    libm::fmodf(x, y)
}

/// `x * 2^exponent`, rounded once.
pub fn ldexp(x: f32, exponent: i32) -> f32 {
    // Exact in f64, whose range holds that of f32 doubled; 400 leads past both ends of f32 from anywhere.
    (f64::from(x) * power_of_two(exponent.clamp(-400, 400))) as f32
}

/// The fraction and exponent of `x`: `fraction * 2^exponent` with the fraction at least a half and below one. Of zero, infinity and NaN the
/// fraction is the number itself and the exponent 0.
pub fn frexp(x: f32) -> (f32, i32) {
    let (fraction, exponent) = double::frexp(x.into());
    (fraction as f32, exponent)
}

/// `2^exponent` for a normal result.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((i64::from(exponent) + 1023) as u64) << 52)
}

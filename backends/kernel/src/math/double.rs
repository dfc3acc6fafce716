//! The functions of f64.

/// Defines functions of one number by name.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $of:path;)*) => { $($(#[$doc])* pub fn $name(x: f64) -> f64 { $of(x) })* };
}

unary! {
    /// The sine of an angle in radians.
    sin = libm::sin;
    /// The cosine of an angle in radians.
    cos = libm::cos;
    /// The tangent of an angle in radians.
    tan = libm::tan;
    /// The angle of this sine, between -π/2 and π/2.
    asin = libm::asin;
    /// The angle of this cosine, between 0 and π.
    acos = libm::acos;
    /// The angle of this tangent, between -π/2 and π/2.
    atan = libm::atan;
    /// The hyperbolic sine.
    sinh = libm::sinh;
    /// The hyperbolic cosine.
    cosh = libm::cosh;
    /// The hyperbolic tangent.
    tanh = libm::tanh;
    /// The inverse of the hyperbolic sine.
    asinh = libm::asinh;
    /// The inverse of the hyperbolic cosine; NaN below 1.
    acosh = libm::acosh;
    /// The inverse of the hyperbolic tangent; NaN beyond 1.
    atanh = libm::atanh;
    /// `e^x`
    exp = libm::exp;
    /// `2^x`
    exp2 = libm::exp2;
    /// The natural logarithm.
    log = libm::log;
    /// The logarithm to base 2.
    log2 = libm::log2;
}

/// The angle of the point (x, y), between -π and π.
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// `x^y`
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// `x * y + z`, rounded once.
pub fn fma(x: f64, y: f64, z: f64) -> f64 {
    libm::fma(x, y, z)
}

/// `x - y * trunc(x / y)`, exactly; it has the sign of `x`.
pub fn remainder(x: f64, y: f64) -> f64 {
    libm::fmod(x, y)
}

/// `x * 2^exponent`, rounded once.
pub fn ldexp(x: f64, exponent: i32) -> f64 {
    libm::ldexp(x, exponent)
}

/// The fraction and exponent of `x`, as [`super::frexp`].
pub fn frexp(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    // A number below the normal range has no leading one.
    let (x, shift) = if x.abs() < f64::MIN_POSITIVE { (x * super::power_of_two(64), 64) } else { (x, 0) };
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32;
    let fraction = f64::from_bits((x.to_bits() & !(0x7ff << 52)) | (1022 << 52));
    (fraction, exponent - 1022 - shift)
}

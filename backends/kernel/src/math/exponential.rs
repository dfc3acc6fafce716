//! Powers, logarithms and hyperbolic functions of f32, in f64. Arguments are f32, so none is below the normal range.

use core::f64::consts::{LN_2, LOG2_E};

use super::power_of_two;

/// Steps that the range from one power of two to the next is cut into.
pub(crate) const STEPS: usize = 32;

/// `2^(i / STEPS)`
pub(crate) const POWERS: [f64; STEPS] = {
    let mut table = [1.0; STEPS];
    let mut i = 1;
    while i < STEPS {
        table[i] = series_exp(i as f64 / STEPS as f64 * LN_2);
        i += 1;
    }
    table
};

/// Where logarithms cut the numbers: the bits of an f32 just below 0.7, so that numbers near 1 need no other power of two.
const CUT: u32 = 0x3f33_0000;

/// For each step behind [`CUT`] a number `c` of few bits near the inverse of the step's middle, and `-ln(c)`.
pub(crate) const LOGARITHMS: [(f64, f64); STEPS] = {
    let mut table = [(1.0, 0.0); STEPS];
    let mut i = 0;
    while i < STEPS {
        let middle = f32::from_bits(CUT + ((i as u32) << 18) + (1 << 17));
        // The step that holds 1 has c = 1, so that logarithms near 0 are exact in all their digits.
        let middle = if middle >= 2.0 * f32::from_bits(CUT) { middle as f64 / 2.0 } else { middle as f64 };
        let c = ((128.0 / middle + 0.5) as u32) as f64 / 128.0;
        table[i] = (c, -series_log(c));
        i += 1;
    }
    table
};

/// `e^x` for small x.
const fn series_exp(x: f64) -> f64 {
    let mut sum = 1.0;
    let mut n = 22.0;
    while n >= 1.0 {
        sum = 1.0 + sum * x / n;
        n -= 1.0;
    }
    sum
}

/// `ln(x)` for x near 1, by the series of `2 atanh((x - 1) / (x + 1))`.
const fn series_log(x: f64) -> f64 {
    let s = (x - 1.0) / (x + 1.0);
    let mut sum = 0.0;
    let mut n = 39.0;
    while n >= 1.0 {
        sum = sum * s * s + 1.0 / n;
        n -= 2.0;
    }
    2.0 * s * sum
}

/// `2^x` within 2^-48, for anything that an f32 can hold the result of; beyond that, what rounds to 0 or infinity as an f32.
fn exp2_wide(x: f64) -> f64 {
    /// Added to a number, it rounds it to a multiple of 1/32 and leaves that in the lowest bits.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64 / STEPS as f64;
    // NaN stays NaN.
    let x = x.clamp(-200.0, 200.0);
    let rounded = x + ROUND;
    let steps = rounded.to_bits() as i32;
    let r = (x - (rounded - ROUND)) * LN_2;
    // |r| is below 0.011, so the first term that is left out is below 2^-54.
    let square = r * r;
    let low = 1.0 + r;
    let high = (1.0 / 2.0 + r * (1.0 / 6.0)) + square * ((1.0 / 24.0 + r * (1.0 / 120.0)) + square * (1.0 / 720.0));
    let scale = POWERS[(steps & (STEPS as i32 - 1)) as usize] * power_of_two(steps >> 5);
    scale * (low + square * high)
}

/// Exponent and logarithm of the rest: `x = 2^k * z` with z near 1 gives `(k, ln(z))`, within 2^-52 of the result. x is positive and finite.
fn log_wide(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    let above = bits.wrapping_sub(f64::from(f32::from_bits(CUT)).to_bits());
    let z = f64::from_bits(bits.wrapping_sub(above & (0xfff << 52)));
    let (c, log_c) = LOGARITHMS[(above >> 47) as usize % STEPS];
    // Exact: z has 24 bits and c at most 8.
    let r = z * c - 1.0;
    let square = r * r;
    let low = -1.0 / 2.0 + r * (1.0 / 3.0);
    let middle = -1.0 / 4.0 + r * (1.0 / 5.0);
    let high = (-1.0 / 6.0 + r * (1.0 / 7.0)) + square * (-1.0 / 8.0 + r * (1.0 / 9.0));
    let k = above as i64 >> 52;
    (k as f64, log_c + (r + square * (low + square * (middle + square * high))))
}

/// What a logarithm gives for numbers that have none, or none that is finite.
fn log_edge(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 { f64::NAN } else { x }
}

fn has_log(x: f64) -> bool {
    x > 0.0 && x < f64::INFINITY
}

/// `e^x`
pub fn exp(x: f64) -> f64 {
    exp2_wide(x * LOG2_E)
}

/// `2^x`
pub fn exp2(x: f64) -> f64 {
    exp2_wide(x)
}

/// The natural logarithm.
pub fn log(x: f64) -> f64 {
    if !has_log(x) {
        return log_edge(x);
    }
    let (k, log) = log_wide(x);
    k * LN_2 + log
}

/// The logarithm to base 2.
pub fn log2(x: f64) -> f64 {
    if !has_log(x) {
        return log_edge(x);
    }
    let (k, log) = log_wide(x);
    k + log * LOG2_E
}

/// `x^y`. Anything to the power 0 is 1, and 1 to any power. A negative number has powers only of whole numbers.
pub fn pow(x: f64, y: f64) -> f64 {
    if x > 0.0 && x < f64::INFINITY && y.is_finite() {
        let (k, log) = log_wide(x);
        return exp2_wide((k + log * LOG2_E) * y);
    }
    if x == 1.0 || y == 0.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let size = x.abs();
    let negative = x.is_sign_negative() && is_odd(y);
    let power = if size == 0.0 || size == f64::INFINITY {
        if (size == 0.0) == (y > 0.0) { 0.0 } else { f64::INFINITY }
    } else if x < 0.0 && y.is_finite() && y.trunc() != y {
        return f64::NAN;
    } else {
        let (k, log) = log_wide(size);
        let exponent = (k + log * LOG2_E) * y;
        // (-1) to the power of infinity: 0 times infinity.
        if exponent.is_nan() { 1.0 } else { exp2_wide(exponent) }
    };
    if negative { -power } else { power }
}

/// Whether a number is whole and odd.
fn is_odd(y: f64) -> bool {
    y.abs() < 16_777_216.0 && y.trunc() == y && (y as i32) & 1 == 1
}

/// The hyperbolic sine.
pub fn sinh(x: f64) -> f64 {
    if x.abs() < 0.5 {
        let square = x * x;
        let terms = square * (1.0 / 6.0 + square * (1.0 / 120.0 + square * (1.0 / 5_040.0 + square * (1.0 / 362_880.0))));
        return x + x * (terms + square * square * square * square * square * (1.0 / 39_916_800.0));
    }
    let power = exp2_wide(x.abs() * LOG2_E);
    (0.5 * (power - 1.0 / power)).copysign(x)
}

/// The hyperbolic cosine.
pub fn cosh(x: f64) -> f64 {
    let power = exp2_wide(x.abs() * LOG2_E);
    0.5 * (power + 1.0 / power)
}

/// The hyperbolic tangent.
pub fn tanh(x: f64) -> f64 {
    if x.abs() < 0.55 {
        // The continued fraction up to its seventh level.
        let s = x * x;
        let above = 135_135.0 + s * (17_325.0 + s * (378.0 + s));
        let below = 135_135.0 + s * (62_370.0 + s * (3_150.0 + s * 28.0));
        return x * (above / below);
    }
    let power = exp2_wide(x.abs() * (2.0 * LOG2_E));
    (1.0 - 2.0 / (power + 1.0)).copysign(x)
}

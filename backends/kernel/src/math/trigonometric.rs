//! Sines and tangents of f32, in f64.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Below this, multiples of π/2 are subtracted in two steps; from here on, with as many digits of 2/π as it takes.
const LARGE: f64 = 1_048_576.0;

/// π/2 to 25 bits, so that its product with a number below 2^28 is exact, and the rest of it.
const QUARTER_HIGH: f64 = 1.570_796_310_901_641_8;
const QUARTER_LOW: f64 = 1.589_325_477_352_819_6e-8;

/// The first 256 bits of 2/π behind the point.
const INVERSE_QUARTER: [u64; 4] = [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// The number of quarter turns nearest to x, modulo 4 in its two lowest bits, and what is left, between -π/4 and π/4.
fn reduce(x: f64) -> (u32, f64) {
    /// Added to a number, it rounds it to a whole one and leaves that in the lowest bits.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    if !x.is_finite() {
        return (0, f64::NAN);
    }
    if x.abs() >= LARGE {
        return reduce_large(x as f32);
    }
    let rounded = x * FRAC_2_PI + ROUND;
    let quarters = rounded - ROUND;
    (rounded.to_bits() as u32, (x - quarters * QUARTER_HIGH) - quarters * QUARTER_LOW)
}

fn reduce_large(x: f32) -> (u32, f64) {
    let bits = x.to_bits();
    let mantissa = u128::from(bits & 0x7f_ffff | 0x80_0000);
    let exponent = ((bits >> 23) & 0xff) as i32 - 150;
    // x is mantissa * 2^exponent. Digits of 2/π that this moves to 4 and above give whole turns: 96 digits from there on.
    let start = u32::try_from(exponent - 2).unwrap_or(0);
    let missing = u32::try_from(2 - exponent).unwrap_or(0);
    let digits = (window(start) >> 32 >> missing) & ((1 << 96) - 1);
    // In units of 2^-94 quarter turns, modulo 4 of them.
    let product = (mantissa * digits) & ((1 << 96) - 1);
    let quarters = (product + (1 << 93)) >> 94;
    let rest = product as i128 - ((quarters as i128) << 94);
    let rest = rest as f64 * (1.0 / (1u128 << 94) as f64) * FRAC_PI_2;
    if x < 0.0 { ((quarters as u32).wrapping_neg(), -rest) } else { (quarters as u32, rest) }
}

/// 128 digits of 2/π from this one on.
fn window(start: u32) -> u128 {
    let word = |i: u32| INVERSE_QUARTER.get(i as usize).copied().unwrap_or(0);
    let (first, shift) = (start / 64, start % 64);
    let high = u128::from(word(first)) << 64 | u128::from(word(first + 1));
    if shift == 0 { high } else { high << shift | u128::from(word(first + 2) >> (64 - shift)) }
}

/// The sine between -π/4 and π/4.
fn sine(r: f64) -> f64 {
    let s = r * r;
    let low = -1.0 / 6.0 + s * (1.0 / 120.0);
    let middle = -1.0 / 5_040.0 + s * (1.0 / 362_880.0);
    let high = -1.0 / 39_916_800.0 + s * (1.0 / 6_227_020_800.0);
    let fourth = s * s;
    r + r * s * (low + fourth * (middle + fourth * high))
}

/// The cosine between -π/4 and π/4.
fn cosine(r: f64) -> f64 {
    let s = r * r;
    let low = 1.0 / 24.0 + s * (-1.0 / 720.0);
    let middle = 1.0 / 40_320.0 + s * (-1.0 / 3_628_800.0);
    let high = 1.0 / 479_001_600.0 + s * (-1.0 / 87_178_291_200.0);
    let fourth = s * s;
    (1.0 - 0.5 * s) + fourth * (low + fourth * (middle + fourth * high))
}

/// The sine of an angle in radians.
pub fn sin(x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    let (quarters, rest) = reduce(x);
    let size = if quarters & 1 == 0 { sine(rest) } else { cosine(rest) };
    if quarters & 2 == 0 { size } else { -size }
}

/// The cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    let (quarters, rest) = reduce(x);
    let size = if quarters & 1 == 0 { cosine(rest) } else { sine(rest) };
    if quarters.wrapping_add(1) & 2 == 0 { size } else { -size }
}

/// The tangent of an angle in radians.
pub fn tan(x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    let (quarters, rest) = reduce(x);
    let (sine, cosine) = (sine(rest), cosine(rest));
    if quarters & 1 == 0 { sine / cosine } else { -cosine / sine }
}

//! The binary16 arithmetic of the interpreter is its own; here it is compared with another.
#![allow(clippy::unwrap_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use compute_interpreter::rounding;
use half::f16;

#[test]
fn every_half_has_its_value() {
    for bits in 0..=u16::MAX {
        let (ours, theirs) = (rounding::half_value(bits), f16::from_bits(bits).to_f64());
        assert!(ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()), "{bits:x}: {ours} for {theirs}");
    }
}

#[test]
fn numbers_at_and_around_every_half_and_every_middle_of_two_round_to_the_nearest() {
    for bits in 0..0x7c00_u16 {
        let (value, next) = (f16::from_bits(bits).to_f64(), f16::from_bits(bits + 1).to_f64());
        // Past the largest there is the one that would come next.
        let next = if next.is_infinite() { 65536.0 } else { next };
        let middle = f64::midpoint(value, next);
        let (below, above) = (f64::from_bits(middle.to_bits() - 1), f64::from_bits(middle.to_bits() + 1));
        for x in [value, middle, below, above] {
            let expected = match x {
                x if x < middle => bits,
                x if x > middle => bits + 1,
                _ => bits + (bits & 1),
            };
            assert_eq!(rounding::half_bits(x), expected, "{x:e}");
            assert_eq!(rounding::half_bits(-x), expected | 0x8000, "-{x:e}");
        }
    }
    assert_eq!(rounding::half_bits(f64::INFINITY), 0x7c00);
    assert_eq!(rounding::half_bits(1e300), 0x7c00);
    assert!(f16::from_bits(rounding::half_bits(f64::NAN)).is_nan());
}

/// Exact integers in units of 2^-48, which all products and sums of halves are.
fn exact_fused(a: f16, b: f16, c: f16) -> u16 {
    let units = |x: f16| (x.to_f64() * 2f64.powi(24)) as i128;
    let sum = units(a) * units(b) + (units(c) << 24);
    if sum == 0 {
        let negative = (a.is_sign_negative() != b.is_sign_negative()) && c.is_sign_negative();
        return if negative { 0x8000 } else { 0 };
    }
    let size = sum.unsigned_abs();
    // 11 bits, or as many as there are above 2^-24.
    let drop = (128 - size.leading_zeros()).saturating_sub(11).max(24);
    let (kept, rest) = (size >> drop, size & ((1 << drop) - 1));
    let half = 1_u128 << (drop - 1);
    let rounded = kept + u128::from(rest > half || (rest == half && kept & 1 == 1));
    let sign = if sum < 0 { 0x8000 } else { 0 };
    sign | rounding::half_bits(rounded as f64 * 2f64.powi(drop as i32 - 48))
}

#[test]
fn fused_products_of_halves_are_rounded_once() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f16::from_bits((state >> 40) as u16 & 0xbfff | ((state >> 60) as u16 & 1) << 14)
    };
    let mut compared = 0;
    for _ in 0..200_000 {
        let [a, b, c] = [random(), random(), random()];
        if !(a.is_finite() && b.is_finite() && c.is_finite()) || (a.to_f64() * b.to_f64() + c.to_f64()).abs() > 65000.0 {
            continue;
        }
        compared += 1;
        assert_eq!(rounding::half_fused(a.to_bits(), b.to_bits(), c.to_bits()), exact_fused(a, b, c), "{a:e} * {b:e} + {c:e}");
    }
    assert!(compared > 50_000, "{compared}");
}

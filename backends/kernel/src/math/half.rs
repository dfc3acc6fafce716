//! Numbers of 16 bits: a half has a sign, 5 bits of exponent and 10 of fraction, and is exact as an f32.
//!
//! Sums, differences, products, quotients and square roots of halves are right when they are computed in f32 and rounded with [`round_to_f16`]: f32
//! has more than twice the bits, so rounding twice is as good as once. That does not hold for [`fma_f16`].

/// The largest half, and the smallest number that rounds past it.
const OVERFLOW: f32 = 65_520.0;

/// The smallest half that has all its bits.
const MIN_NORMAL: f32 = f32::from_bits((127 - 14) << 23);

/// The half nearest to `x`, of two that of even bits; 65520 and more become infinity.
pub fn round_to_f16(x: f32) -> f32 {
    let size = x.abs();
    if size.is_nan() {
        return x;
    }
    if size >= OVERFLOW {
        return f32::INFINITY.copysign(x);
    }
    if size < MIN_NORMAL {
        // Halves are multiples of 2^-24 here, as f32 are between a half and one.
        return ((size + 0.5) - 0.5).copysign(x);
    }
    let bits = x.to_bits();
    f32::from_bits((bits + 0xfff + ((bits >> 13) & 1)) & !0x1fff)
}

/// The bits of the half nearest to `x`.
pub fn f16_bits(x: f32) -> u16 {
    let x = round_to_f16(x);
    let sign = (x.to_bits() >> 16) as u16 & 0x8000;
    if x.is_nan() {
        return sign | 0x7e00;
    }
    if x.is_infinite() {
        return sign | 0x7c00;
    }
    // The other bias, also where it leads below the normal range. Exact.
    let moved = x.abs() * f32::from_bits((127 - 112) << 23);
    sign | (moved.to_bits() >> 13) as u16
}

/// The half with these bits.
pub fn f16_from_bits(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let rest = u32::from(bits & 0x7fff);
    let size = if rest >= 0x7c00 {
        0x7f80_0000 | (rest & 0x3ff) << 13
    } else {
        (f32::from_bits(rest << 13) * f32::from_bits((127 + 112) << 23)).to_bits()
    };
    f32::from_bits(sign | size)
}

/// The half nearest to `x`.
pub fn f16_from_f64(x: f64) -> f32 {
    round_to_f16(to_odd(x))
}

/// `x` as an f32; when it is none, of its two neighbours the one with odd bits. Then rounding to fewer bits than that gives what rounding `x` would.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    if x.is_nan() || back == x || near.to_bits() & 1 == 1 {
        return near;
    }
    // Even and not exact: the neighbour on the other side of x. Past the largest f32 it does not matter.
    if back.abs() > x.abs() { f32::from_bits(near.to_bits() - 1) } else { f32::from_bits(near.to_bits() + 1) }
}

/// `x * y + z` of halves, rounded once.
pub fn fma_f16(x: f32, y: f32, z: f32) -> f32 {
    let (product, z) = (f64::from(x) * f64::from(y), f64::from(z));
    let sum = product + z;
    if !sum.is_finite() {
        return sum as f32;
    }
    // The product is exact; what the sum lost says on which side of it the exact one lies.
    let taken = sum - product;
    let lost = (product - (sum - taken)) + (z - taken);
    let sum = if lost == 0.0 || sum.to_bits() & 1 == 1 {
        sum
    } else if (lost > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    };
    f16_from_f64(sum)
}

/// `x * 2^exponent` of a half, rounded once.
pub fn ldexp_f16(x: f32, exponent: i32) -> f32 {
    f16_from_f64(f64::from(x) * super::power_of_two(exponent.clamp(-100, 100)))
}

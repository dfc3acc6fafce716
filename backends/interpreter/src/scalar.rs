//! One number or truth value of any type, and what a type can hold.

use naga::ScalarKind;

/// A scalar: its type, and its bits in the low end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Bool, signed, unsigned, float.
    pub kind: ScalarKind,
    /// Bytes.
    pub width: u8,
    /// The bits; those above the width are zero.
    pub bits: u64,
}

impl Scalar {
    pub(crate) const fn bool(value: bool) -> Self {
        Self { kind: ScalarKind::Bool, width: naga::BOOL_WIDTH, bits: value as u64 }
    }

    pub(crate) fn u32(value: u32) -> Self {
        Self { kind: ScalarKind::Uint, width: 4, bits: value.into() }
    }

    pub(crate) fn is_float(self) -> bool {
        self.kind == ScalarKind::Float
    }

    pub(crate) fn is_true(self) -> bool {
        self.bits != 0
    }

    /// Bits of the type.
    pub(crate) fn size(self) -> u32 {
        u32::from(self.width) * 8
    }

    /// An integer of the same type, from whatever it is modulo the width.
    pub(crate) fn wrap(self, value: i128) -> Self {
        Self { bits: value as u64 & mask(self.width), ..self }
    }

    /// A float of the same type, rounded to the nearest, ties to even.
    pub(crate) fn round(self, value: f64) -> Self {
        Self { bits: float_bits(self.width, value), ..self }
    }

    /// The value of an integer or bool.
    pub(crate) fn int(self) -> i128 {
        let unused = 64 - self.size().min(64);
        match self.kind {
            ScalarKind::Sint => i128::from(((self.bits << unused) as i64) >> unused),
            _ => i128::from(self.bits),
        }
    }

    /// The value of a float, exactly.
    pub(crate) fn float(self) -> f64 {
        match self.width {
            2 => half_value(self.bits as u16),
            4 => f64::from(f32::from_bits(self.bits as u32)),
            _ => f64::from_bits(self.bits),
        }
    }
}

pub(crate) fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width) * 8).min(63)
}

/// Bits of significand of a float, the hidden one included.
pub(crate) fn precision(width: u8) -> u32 {
    match width {
        2 => 11,
        4 => 24,
        _ => 53,
    }
}

/// Rounds to a float of `width` bytes.
pub(crate) fn float_bits(width: u8, value: f64) -> u64 {
    match width {
        2 => half_bits(value).into(),
        4 if value.is_nan() => 0x7fc0_0000,
        4 => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    }
}

/// Rounds to binary16.
fn half_bits(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    if size.is_nan() {
        return 0x7e00;
    }
    // Halfway between the largest finite number and what would be the next.
    if size >= 65520.0 {
        return sign | 0x7c00;
    }
    // The exponent of the number, or of the smallest normal number for those below it.
    let mut exponent = 15;
    while exponent > -14 && size < power(exponent) {
        exponent -= 1;
    }
    let units = (size / power(exponent - 10)).round_ties_even() as u16;
    // 1024 units are the hidden bit; 2048 carry into the exponent.
    sign | ((((exponent + 14) as u16) << 10) + units)
}

fn half_value(bits: u16) -> f64 {
    let (exponent, units) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => units * power(-24),
        31 if units == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + units) * power(exponent - 25),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

/// Two to a power within the range of normal binary64 numbers.
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

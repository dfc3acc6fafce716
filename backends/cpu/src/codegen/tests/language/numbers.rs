//! Numbers of every type as tests see them, and what arithmetic on them must give.

use compute_kernel::math;

/// A scalar type of the language.
pub(super) trait Number: Copy + PartialEq + std::fmt::Debug {
    const NAME: &'static str;
    const SIZE: usize;
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! number {
    ($($ty:ident $(, $nan:ident)?;)*) => { $(
        impl Number for $ty {
            const NAME: &'static str = stringify!($ty);
            const SIZE: usize = size_of::<$ty>();
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().unwrap())
            }
            $(fn is_nan(self) -> bool {
                $ty::$nan(self)
            })?
        }
    )* };
}

number! { i16; u16; i32; u32; i64; u64; f32, is_nan; f64, is_nan; }

/// A half, by its value.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub(super) struct Half(pub(super) f32);

impl Number for Half {
    const NAME: &'static str = "f16";
    const SIZE: usize = 2;
    fn bytes(self) -> Vec<u8> {
        math::f16_bits(self.0).to_ne_bytes().to_vec()
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        Self(math::f16_from_bits(u16::from_ne_bytes(bytes.try_into().unwrap())))
    }
    fn is_nan(self) -> bool {
        self.0.is_nan()
    }
}

/// Integers, with the arithmetic of the language.
pub(super) trait Integer: Number + Ord {
    const BITS: u32;
    const SIGNED: bool;
    /// The corners, and some between.
    fn samples() -> Vec<Self>;
    /// Of the lowest bits.
    fn of(wide: i128) -> Self;
    fn wide(self) -> i128;
    /// All bits, without sign.
    fn bits(self) -> u128 {
        self.wide() as u128 & ((1 << Self::BITS) - 1)
    }
}

macro_rules! integer {
    ($($ty:ident $signed:expr;)*) => { $(
        impl Integer for $ty {
            const BITS: u32 = $ty::BITS;
            const SIGNED: bool = $signed;
            fn samples() -> Vec<Self> {
                let middle = $ty::MAX / 2;
                let wide = [0i64, 1, 2, 3, 7, -7, -1, 0x5555_5555_5555_5555, 0x0123_4567_89ab_cdef].map(|n| n as $ty);
                wide.into_iter().chain([$ty::MIN, $ty::MIN + 1, $ty::MAX, $ty::MAX - 1, middle, middle + 1]).collect()
            }
            fn of(wide: i128) -> Self {
                wide as $ty
            }
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )* };
}

integer! { i16 true; u16 false; i32 true; u32 false; i64 true; u64 false; }

/// Floats, with the arithmetic of the language.
pub(super) trait Float: Number + PartialOrd {
    /// Numbers of all kinds.
    fn samples() -> Vec<Self>;
    /// The nearest.
    fn of(wide: f64) -> Self;
    fn wide(self) -> f64;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    /// A function that is computed in f32 for halves, and rounded.
    fn apply(self, single: fn(f32) -> f32, double: fn(f64) -> f64) -> Self;
    fn apply2(self, other: Self, single: fn(f32, f32) -> f32, double: fn(f64, f64) -> f64) -> Self;
}

/// Samples for any float, by its largest and smallest normal number and the distance from 1 to the next.
fn samples(most: f64, least: f64, step: f64) -> Vec<f64> {
    let some = [
        0.0,
        1.0,
        1.0 + step,
        1.0 - step / 2.0,
        0.1,
        0.5,
        2.0,
        3.0,
        1.0 / 3.0,
        7.5,
        100.0,
        1234.5,
        most,
        least,
        least * step,
        least / 3.0,
    ];
    let signed = some.into_iter().flat_map(|x| [x, -x]);
    signed.chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]).collect()
}

impl Float for Half {
    fn samples() -> Vec<Self> {
        samples(65_504.0, 2f64.powi(-14), 2f64.powi(-10)).into_iter().map(Self::of).collect()
    }
    fn of(wide: f64) -> Self {
        Self(math::f16_from_f64(wide))
    }
    fn wide(self) -> f64 {
        self.0.into()
    }
    // Exact in f64, or with more than twice the bits.
    fn add(self, other: Self) -> Self {
        Self::of(self.wide() + other.wide())
    }
    fn sub(self, other: Self) -> Self {
        Self::of(self.wide() - other.wide())
    }
    fn mul(self, other: Self) -> Self {
        Self::of(self.wide() * other.wide())
    }
    fn div(self, other: Self) -> Self {
        Self::of(self.wide() / other.wide())
    }
    fn sqrt(self) -> Self {
        Self::of(self.wide().sqrt())
    }
    fn apply(self, single: fn(f32) -> f32, _: fn(f64) -> f64) -> Self {
        Self(math::round_to_f16(single(self.0)))
    }
    fn apply2(self, other: Self, single: fn(f32, f32) -> f32, _: fn(f64, f64) -> f64) -> Self {
        Self(math::round_to_f16(single(self.0, other.0)))
    }
}

macro_rules! float {
    ($($ty:ident($single:ident, $double:ident, $used:ident);)*) => { $(
        impl Float for $ty {
            fn samples() -> Vec<Self> {
                samples($ty::MAX.into(), $ty::MIN_POSITIVE.into(), $ty::EPSILON.into()).into_iter().map(Self::of).collect()
            }
            fn of(wide: f64) -> Self {
                wide as $ty
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn sub(self, other: Self) -> Self {
                self - other
            }
            fn mul(self, other: Self) -> Self {
                self * other
            }
            fn div(self, other: Self) -> Self {
                self / other
            }
            fn sqrt(self) -> Self {
                $ty::sqrt(self)
            }
            fn apply(self, $single: fn(f32) -> f32, $double: fn(f64) -> f64) -> Self {
                $used(self)
            }
            fn apply2(self, other: Self, $single: fn(f32, f32) -> f32, $double: fn(f64, f64) -> f64) -> Self {
                $used(self, other)
            }
        }
    )* };
}

float! { f32(single, _double, single); f64(_single, double, double); }

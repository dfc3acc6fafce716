//! The pure functions against f64, and bit patterns that pin them on every machine.

use compute_kernel::math;

/// Numbers of all sizes and both signs, evenly over their bits, and those at the edges.
fn numbers() -> impl Iterator<Item = f32> {
    let edges = [
        0.0,
        1.0,
        0.5,
        2.0,
        0.7,
        1.4,
        f32::MIN_POSITIVE,
        f32::MAX,
        1e-45,
        65_504.0,
        1_048_576.0,
        std::f32::consts::PI,
        88.72,
        89.0,
    ];
    let near = edges.into_iter().flat_map(|x: f32| [x, x.next_up(), x.next_down(), -x, -x.next_up()]);
    near.chain((0..200_000u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761) ^ i)))
}

/// Numbers between these, evenly.
fn between(low: f32, high: f32) -> impl Iterator<Item = f32> {
    (0..100_000u32).map(move |i| low + (high - low) * (i as f32 / 100_000.0))
}

/// How far `got` is from `exact`, in units of the last place of an f32 of that size.
fn distance(got: f32, exact: f64) -> f64 {
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if f64::from(got) == exact || got == exact as f32 && got.is_infinite() {
        return 0.0;
    }
    let size = (exact.abs().min(f64::from(f32::MAX)) as f32).max(f32::MIN_POSITIVE);
    let unit = 2f64.powi(((size.to_bits() >> 23) & 0xff) as i32 - 150);
    (f64::from(got) - exact).abs() / unit
}

/// A name, the function and what it is compared with.
type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64);

fn agree(name: &str, f: fn(f32) -> f32, exact: fn(f64) -> f64, inputs: impl Iterator<Item = f32>) {
    for x in inputs {
        let (got, exact) = (f(x), exact(x.into()));
        assert!(distance(got, exact) < 0.501, "{name}({x:e}) is {got:e}, exactly {exact:e}");
        assert!(got != 0.0 || exact == 0.0 || got.is_sign_negative() == exact.is_sign_negative(), "{name}({x:e}): sign of zero");
    }
}

#[test]
fn functions_of_f32_are_right_to_half_a_unit_in_the_last_place() {
    let functions: [Function; 16] = [
        ("sin", math::sin, libm::sin),
        ("cos", math::cos, libm::cos),
        ("tan", math::tan, libm::tan),
        ("asin", math::asin, libm::asin),
        ("acos", math::acos, libm::acos),
        ("atan", math::atan, libm::atan),
        ("sinh", math::sinh, libm::sinh),
        ("cosh", math::cosh, libm::cosh),
        ("tanh", math::tanh, libm::tanh),
        ("asinh", math::asinh, libm::asinh),
        ("acosh", math::acosh, libm::acosh),
        ("atanh", math::atanh, libm::atanh),
        ("exp", math::exp, libm::exp),
        ("exp2", math::exp2, libm::exp2),
        ("log", math::log, libm::log),
        ("log2", math::log2, libm::log2),
    ];
    for (name, f, exact) in functions {
        agree(name, f, exact, numbers().chain(between(-1.5, 1.5)).chain(between(-110.0, 140.0)));
    }
}

#[test]
fn powers_are_right_to_half_a_unit_in_the_last_place() {
    let exponents =
        [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, 1.0 / 3.0, 7.25, 16_777_216.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for y in exponents {
        for x in numbers().step_by(7).chain(between(0.0, 4.0).step_by(5)).chain(between(-8.0, 0.0).step_by(11)) {
            let (got, exact) = (math::pow(x, y), libm::pow(x.into(), y.into()));
            assert!(distance(got, exact) < 0.501, "pow({x:e}, {y:e}) is {got:e}, exactly {exact:e}");
            assert!(got != 0.0 || got.is_sign_negative() == exact.is_sign_negative(), "pow({x:e}, {y:e}): sign of zero");
        }
    }
}

#[test]
fn angles_of_points_are_right_in_every_quarter() {
    let edges = [0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, 3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for y in edges.into_iter().chain(between(-4.0, 4.0).step_by(997)) {
        for x in edges.into_iter().chain(between(-4.0, 4.0).step_by(991)) {
            let (got, exact) = (math::atan2(y, x), libm::atan2(y.into(), x.into()));
            assert!(distance(got, exact) < 0.501, "atan2({y:e}, {x:e}) is {got:e}, exactly {exact:e}");
        }
    }
}

#[test]
fn large_angles_keep_all_their_digits() {
    // From 200 digits of π.
    for (x, sine, cosine) in LARGE_ANGLES {
        let x = f32::from_bits(x);
        assert_eq!((math::sin(x).to_bits(), math::cos(x).to_bits()), (sine, cosine), "{x:e}");
    }
}

/// Bits of an angle, its sine and its cosine.
const LARGE_ANGLES: [(u32, u32, u32); 14] = [
    (0x49800000, 0x3ea93666, 0x3f719d6d),
    (0x49800001, 0x3ee42388, 0x3f652e79),
    (0x4a123456, 0xbf176a87, 0x3f4e6b7c),
    (0x4d000000, 0xbf436e65, 0x3f255b29),
    (0x4f800001, 0x3ec7ae0c, 0x3f6bba88),
    (0x5a5a5a5a, 0x3f5657f0, 0xbf0bf978),
    (0x60000001, 0x3f7fa3f8, 0xbd58ff12),
    (0x6f7fffff, 0x3e9b0932, 0xbf73fb43),
    (0x77777777, 0x3f1a5de5, 0xbf4c3901),
    (0x7f7fffff, 0xbf0599b3, 0x3f5a5f96),
    (0xff7fffff, 0x3f0599b3, 0x3f5a5f96),
    (0xc9abcdef, 0xbf4d9b2f, 0x3f1884e8),
    (0x7e967699, 0x3f7d39e2, 0x3e1655cd),
    (0x4b5aa1c2, 0x3f048486, 0x3f5b0839),
];

#[test]
fn halves_go_to_bits_and_back() {
    for bits in 0..=u16::MAX {
        let x = math::f16_from_bits(bits);
        let same = if x.is_nan() { bits & 0x8000 | 0x7e00 } else { bits };
        assert_eq!(math::f16_bits(x), same, "{bits:#x}");
        assert_eq!(math::round_to_f16(x).to_bits(), x.to_bits(), "{bits:#x}");
    }
}

/// The half nearest to `x` by trying: all halves between -2^17 and 2^17 in order, with what would come after the largest.
fn nearest_half(x: f64) -> f32 {
    if x.abs() >= 65_520.0 {
        return f32::INFINITY.copysign(x as f32);
    }
    // Steps of halves of this size; a tie goes to the even multiple, which is the one with even bits.
    let step = 2f64.powi(((x.abs().to_bits() >> 52) as i32 - 1023).max(-14) - 10);
    ((x / step).round_ties_even() * step) as f32
}

#[test]
fn rounding_to_halves_is_to_the_nearest_even() {
    for x in numbers().chain(between(-1e-4, 1e-4)).chain(between(65_000.0, 66_000.0)).filter(|x| !x.is_nan()) {
        assert_eq!(math::round_to_f16(x).to_bits(), nearest_half(x.into()).to_bits(), "{x:e}");
    }
    // Just above the middle between two halves, by less than an f32 tells.
    for x in [1.0 + 2f64.powi(-11) + 2f64.powi(-40), 1.0 + 2f64.powi(-11) - 2f64.powi(-40), 1.0 + 2f64.powi(-11), 65_520.0 - 1e-9]
    {
        assert_eq!(math::f16_from_f64(x).to_bits(), nearest_half(x).to_bits(), "{x:e}");
        assert_eq!(math::f16_from_f64(-x).to_bits(), nearest_half(-x).to_bits(), "-{x:e}");
    }
}

#[test]
fn multiply_and_add_of_halves_rounds_once() {
    // 2049 * 2^-11 and 2^-24: the sum in f32 falls on the middle between two halves, the exact one beside it.
    let half = |bits: u16| math::f16_from_bits(bits);
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        half((seed >> 16) as u16)
    };
    let mut told = 0;
    for _ in 0..300_000 {
        let (x, y, z) = (next(), next(), next());
        let got = math::fma_f16(x, y, z);
        // In units of 2^-48 everything is a whole number of less than 2^81.
        let whole = |v: f64| (v * 2f64.powi(48)) as i128;
        if [x, y, z].iter().all(|v| v.is_finite()) {
            let exact = whole(f64::from(x) * f64::from(y)) + whole(f64::from(z));
            let expected = nearest_half_of(exact);
            assert_eq!(got, expected, "{x:e} * {y:e} + {z:e}");
            told += usize::from(math::round_to_f16(x * y + z) != expected);
        }
    }
    assert!(told > 0, "no case in which rounding twice would show");
}

/// The half nearest to a number in units of 2^-48.
fn nearest_half_of(exact: i128) -> f32 {
    let size = exact.unsigned_abs();
    let digits = 128 - size.leading_zeros();
    let step = digits.saturating_sub(11).max(24);
    let (whole, rest) = (size >> step, size & ((1 << step) - 1));
    let middle = 1u128 << (step - 1);
    let up = rest > middle || rest == middle && whole & 1 == 1;
    let value = (whole + u128::from(up)) as f64 * 2f64.powi(step as i32 - 48);
    let value = if value >= 65_520.0 { f32::INFINITY } else { value as f32 };
    if exact < 0 { -value } else { value }
}

#[test]
fn scaling_rounds_once_and_reaches_every_exponent() {
    assert_eq!(math::ldexp(1.0, -149), f32::from_bits(1));
    assert_eq!(math::ldexp(1.0, -150), 0.0);
    assert_eq!(math::ldexp(1.5, -149), f32::from_bits(2));
    assert_eq!(math::ldexp(f32::from_bits(1), 276), 2f32.powi(127));
    assert_eq!(math::ldexp(1.0, i32::MAX), f32::INFINITY);
    assert_eq!(math::ldexp(-1.0, i32::MIN).to_bits(), (-0.0f32).to_bits());
    assert_eq!(math::ldexp_f16(1.5, -25), 2f32.powi(-24));
    assert_eq!(math::ldexp_f16(1.0, 16), f32::INFINITY);
    assert_eq!(math::double::ldexp(1.0, -1074), f64::from_bits(1));
}

#[test]
fn fraction_and_exponent_make_the_number() {
    for x in numbers().filter(|x| x.is_finite() && *x != 0.0) {
        let (fraction, exponent) = math::frexp(x);
        assert!((0.5..1.0).contains(&fraction.abs()), "{x:e}: {fraction}");
        assert_eq!(math::ldexp(fraction, exponent), x);
    }
    for x in [f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX, -3.0, 1e-320] {
        let (fraction, exponent) = math::double::frexp(x);
        assert!((0.5..1.0).contains(&fraction.abs()), "{x:e}: {fraction}");
        assert_eq!(math::double::ldexp(fraction, exponent), x);
    }
    assert_eq!(math::frexp(0.0), (0.0, 0));
    assert_eq!(math::frexp(f32::INFINITY), (f32::INFINITY, 0));
}

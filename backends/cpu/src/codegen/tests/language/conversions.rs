//! Conversions, literals and reinterpretation.

use super::numbers::{Float, Integer};
use super::*;

/// Calls a function for every type of integers.
macro_rules! integers {
    ($f:ident $(::<$first:ty>)?) => {
        $f::<$($first,)? i16>();
        $f::<$($first,)? u16>();
        $f::<$($first,)? i32>();
        $f::<$($first,)? u32>();
        $f::<$($first,)? i64>();
        $f::<$($first,)? u64>();
    };
}

/// A conversion, in scalars and vectors.
fn convert<T: Number, U: Number>(inputs: &[T], f: impl Fn(T) -> U) {
    let expected: Vec<U> = inputs.iter().map(|x| f(*x)).collect();
    let what = format!("{}(x)", U::NAME);
    let got = evaluate::<T, U>(&what, 1, inputs);
    assert_same(&format!("{what} of {}", T::NAME), &got, &expected, |i| format!("{:?}", inputs[i]));
    let vectors = evaluate::<T, U>(&format!("vec3<{}>(vec3(x, x, x)).y", U::NAME), 1, inputs);
    assert_same("vectors", &vectors, &expected, |i| format!("{:?}", inputs[i]));
}

/// Digits of a float type, and the largest that is finite.
fn precision<T: Float>() -> (u32, f64) {
    match T::SIZE {
        2 => (11, 65_504.0),
        4 => (24, f32::MAX.into()),
        _ => (53, f64::MAX),
    }
}

/// The integer between the bounds of both types that is nearest, towards zero.
fn nearest_common<F: Float, I: Integer>(x: f64) -> I {
    let (digits, most_float) = precision::<F>();
    let bits = I::BITS - u32::from(I::SIGNED);
    let drop = bits.saturating_sub(digits);
    let most = (((1i128 << bits) - 1) >> drop << drop).min(if most_float > 1e20 { i128::MAX } else { most_float as i128 });
    let least = if I::SIGNED { -(1i128 << bits) } else { 0 };
    let least = if most_float > 1e20 { least } else { least.max(-(most_float as i128)) };
    I::of(if x.is_nan() { 0 } else { (x.trunc() as i128).clamp(least, most) })
}

pub(super) const NAMES: &[&str] = names![
    kt_03_floats_out_of_range_become_the_closest_integer_that_both_types_have,
    integers_become_the_nearest_float,
    integers_keep_their_lowest_bits_or_their_sign,
    floats_become_floats_with_one_rounding,
    booleans_become_numbers_and_back,
    bits_are_reinterpreted_between_types_of_one_size,
    bits_are_reinterpreted_between_types_of_other_widths,
    literals_have_their_type_and_value,
    kt_24_what_is_folded_is_what_is_computed,
];

#[test]
fn kt_03_floats_out_of_range_become_the_closest_integer_that_both_types_have() {
    fn check<F: Float, I: Integer>() {
        let edges = [15, 16, 31, 32, 63, 64].map(|n| 2f64.powi(n)).into_iter();
        let around =
            edges.flat_map(|x| [x, x * (1.0 - f64::EPSILON), x * (1.0 + f64::EPSILON), -x, x - 1.0, -x - 1.0, x * (1.0 - 6e-8)]);
        let some = [1e20, -1e20, 3.99, -3.99, 3e9, 0.99, -0.99, 2_147_483_520.0, 65_504.0, 32_752.0].into_iter();
        let inputs: Vec<F> = F::samples().into_iter().chain(some.chain(around).map(F::of)).collect();
        convert::<F, I>(&inputs, |x| nearest_common::<F, I>(x.wide()));
    }
    integers!(check::<Half>);
    integers!(check::<f32>);
    integers!(check::<f64>);
    assert_eq!(evaluate::<f32, i64>("i64(x)", 1, &[1e30, -1e30]), [0x7fff_ff80_0000_0000, i64::MIN]);
    assert_eq!(evaluate::<f64, u64>("u64(x)", 1, &[1e30, -1.0]), [0xffff_ffff_ffff_f800, 0]);
    assert_eq!(evaluate::<f32, i32>("i32(x)", 1, &[1e20]), [2_147_483_520]);
}

#[test]
fn integers_become_the_nearest_float() {
    fn check<F: Float, I: Integer>() {
        let edges =
            [(1i128 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, (1 << 53) + 3, (1 << 62) + 1, 2049, 2051, 65_519, 65_520, 65_535];
        let inputs: Vec<I> = I::samples().into_iter().chain(edges.into_iter().map(I::of)).collect();
        convert::<I, F>(&inputs, |x| match F::SIZE {
            // Rust rounds an i128 once.
            4 => F::of(f64::from(x.wide() as f32)),
            _ => F::of(x.wide() as f64),
        });
    }
    integers!(check::<Half>);
    integers!(check::<f32>);
    integers!(check::<f64>);
}

#[test]
fn integers_keep_their_lowest_bits_or_their_sign() {
    fn from<T: Integer>() {
        fn to<T: Integer, U: Integer>() {
            convert::<T, U>(&T::samples(), |x| U::of(x.wide()));
        }
        integers!(to::<T>);
    }
    integers!(from);
}

#[test]
fn floats_become_floats_with_one_rounding() {
    fn check<T: Float, U: Float>() {
        let middle = 1.0 + 2f64.powi(-11);
        let edges =
            [65_519.99, 65_520.0, 1e39, -1e39, middle, middle + 2f64.powi(-40), middle - 2f64.powi(-40), 1e-46, 2f64.powi(-25)];
        let inputs: Vec<T> = T::samples().into_iter().chain(edges.into_iter().map(T::of)).collect();
        convert::<T, U>(&inputs, |x| U::of(x.wide()));
    }
    check::<Half, f32>();
    check::<Half, f64>();
    check::<f32, Half>();
    check::<f32, f64>();
    check::<f64, Half>();
    check::<f64, f32>();
}

#[test]
fn booleans_become_numbers_and_back() {
    fn check<T: Number>(zero: T, one: T, others: &[T]) {
        let to = format!("{}(x != x || x == y)", T::NAME);
        assert_eq!(evaluate::<T, T>(&to, 2, &[zero, one, one, one]), [zero, one], "{}", T::NAME);
        assert!(
            evaluate::<T, u32>("u32(bool(x)) + u32(vec2<bool>(vec2(x, x)).y)", 1, others).iter().all(|n| *n == 2),
            "{}",
            T::NAME
        );
        assert_eq!(evaluate::<T, u32>("u32(bool(x))", 1, &[zero]), [0], "{}", T::NAME);
    }
    check(0i16, 1, &[1, -1, i16::MIN]);
    check(0u16, 1, &[1, u16::MAX]);
    check(0i32, 1, &[1, -1, i32::MIN]);
    check(0u32, 1, &[1, u32::MAX]);
    check(0i64, 1, &[1, -1, i64::MIN, 1 << 32]);
    check(0u64, 1, &[1, u64::MAX, 1 << 32]);
    check(Half(0.0), Half(1.0), &[Half(1.0), Half(2f32.powi(-24)), Half(f32::INFINITY), Half(f32::NAN)]);
    check(0f32, 1.0, &[-1.0, 1e-45, f32::NAN]);
    check(0f64, 1.0, &[-1.0, 5e-324, f64::NAN]);
    assert_eq!(evaluate::<f64, u32>("u32(bool(x))", 1, &[-0.0]), [0]);
}

#[test]
fn bits_are_reinterpreted_between_types_of_one_size() {
    fn check<T: Number, U: Number>(inputs: &[T]) {
        let expected: Vec<U> = inputs.iter().map(|x| U::from_bytes(&x.bytes())).collect();
        let got = evaluate::<T, U>(&format!("bitcast<{}>(x)", U::NAME), 1, inputs);
        assert_same("bitcast", &got, &expected, |i| format!("{:?}", inputs[i]));
        let got = evaluate::<T, U>(&format!("bitcast<vec2<{}>>(vec2(x, x)).y", U::NAME), 1, inputs);
        assert_same("bitcast of vectors", &got, &expected, |i| format!("{:?}", inputs[i]));
    }
    check::<Half, u16>(&Half::samples());
    check::<u16, Half>(&u16::samples());
    check::<i16, Half>(&i16::samples());
    check::<i16, u16>(&i16::samples());
    check::<f32, u32>(&<f32 as Float>::samples());
    check::<i32, f32>(&i32::samples());
    check::<u32, i32>(&u32::samples());
    check::<f64, u64>(&<f64 as Float>::samples());
    check::<i64, f64>(&i64::samples());
    check::<u64, i64>(&u64::samples());
}

#[test]
fn bits_are_reinterpreted_between_types_of_other_widths() {
    // Halves of every class but NaN, in words.
    let halves = [0x3c00_8001_u32, 0x7bff_0001, 0x7c00_fc00, 0x0000_8000, 0x0400_03ff, 0xc500_3555];
    let body =
        "let x = A[2u * w.x]; let y = A[2u * w.x + 1u]; let h = bitcast<vec2<f16>>(x); let l = bitcast<vec4<f16>>(vec2(x, y));
        let r = vec4<u32>(bitcast<u32>(h), bitcast<vec2<u32>>(l), bitcast<u32>(bitcast<i32>(vec2h(l.zw))));
        for (var i = 0u; i < 4u; i++) { R[4u * w.x + i] = r[i]; }";
    let got = run_typed::<u32, u32>("", body, 3, &halves, 12);
    let expected: Vec<u32> = halves.chunks(2).flat_map(|p| [p[0], p[0], p[1], p[1]]).collect();
    assert_eq!(got, expected);
    // The first component is in the lowest bits.
    assert_eq!(
        evaluate::<u32, f32>("f32(bitcast<vec2<f16>>(x).x) + 10.0 * f32(bitcast<vec2h>(bitcast<f32>(x)).y)", 1, &[0x4000_3c00]),
        [21.0]
    );
    assert_eq!(
        evaluate::<u32, i32>("i32(bitcast<vec2<i16>>(i32(x)).x) * 10i + i32(bitcast<vec2<i16>>(x).y)", 1, &[0xffff_0003]),
        [29]
    );
    let ints = "bitcast<u32>(bitcast<vec2<u16>>(x)) ^ bitcast<vec2<u32>>(bitcast<vec4<i16>>(vec2(7u, x))).y ^ bitcast<u32>(vec2<i16>(i16(-1), i16(2)))";
    assert_eq!(evaluate::<u32, u32>(ints, 1, &[0xffff_8001]), [0x0002_ffff]);
    // 64 bits and two words, four halves.
    let wide = [0x0123_4567_89ab_cdef_u64, u64::MAX - 5, 1 << 63];
    assert_eq!(evaluate::<u64, u64>("bitcast<u64>(bitcast<vec2<u32>>(x))", 1, &wide), wide);
    assert_eq!(evaluate::<u64, u32>("bitcast<vec2<u32>>(x).y", 1, &wide), [0x0123_4567, u32::MAX, 0x8000_0000]);
    assert_eq!(evaluate::<u64, i64>("bitcast<i64>(bitcast<vec2<i32>>(bitcast<f64>(x)))", 1, &wide), wide.map(|x| x as i64));
    assert_eq!(evaluate::<f64, f64>("bitcast<f64>(bitcast<vec2<f32>>(x))", 1, &[1.5, -1e300]), [1.5, -1e300]);
    assert_eq!(
        evaluate::<u64, u64>(
            "bitcast<u64>(bitcast<vec4<u16>>(x)) - bitcast<u64>(vec4<u16>(u16(1), u16(0), u16(1), u16(0)))",
            1,
            &[0x0005_0007_0009_0003]
        ),
        [0x0005_0006_0009_0002]
    );
    assert_eq!(evaluate::<f32, f32>("f32(bitcast<vec4<f16>>(bitcast<f64>(0x3c00400042004400lu)).w) + x", 1, &[0.5]), [1.5]);
    // Constants, names for types, operands with effects, places where something else follows.
    let declarations = "alias Pair = vec2<f16>; alias Word = u32; var<private> n: u32; fn next() -> u32 { n += 1u; return n; }";
    let body = "const C = 0x40003c00u; let h: Pair = bitcast<Pair>(C); let l = bitcast<Word>(Pair(1h, 2h)); R[0] = u32(h.x + h.y); R[1] = l;
        R[2] = bitcast<Word>(bitcast<Pair>(next())) + n * 100u; if (all(bitcast<vec2<u32>>(vec4h(1h, 2h, 1h, 2h)) == vec2(C))) { R[3] = 4u; }
        for (var i = 0u; i < bitcast<vec2<u32>>(2lu).x; i++) { R[4] += bitcast<u32>(vec2<f16>(0h, h.x)) >> 16u; } let same = bitcast<vec2<i32>>(vec2(7u)); R[5] = u32(same.y);";
    assert_eq!(run_typed::<u32, u32>(declarations, body, 1, &[0], 6), [3, 0x4000_3c00, 101, 4, 2 * 0x3c00, 7]);
}

#[test]
fn literals_have_their_type_and_value() {
    let body = "R[0] = u64(f32(1.5h * 2.0h)); R[1] = u64(-7li); R[2] = 0xffffffffffffffflu; R[3] = u64(1.0lf / 3.0lf * 3e3lf);
        R[4] = u64(0x1p4f + 0x1.8p1); R[5] = u64(i16(-3) + i16(5)); R[6] = u64(u16(65535));";
    let got = run_typed::<u32, u64>("", body, 1, &[0], 7);
    assert_eq!(got, [3, -7i64 as u64, 0x0fff_ffff_ffff_ffff, 1000, 19, 2, 65_535]);
}

#[test]
fn kt_24_what_is_folded_is_what_is_computed() {
    fn check<T: Number>(expression: &str, values: &[(&str, T)]) {
        let name = T::NAME;
        let inputs: Vec<T> = values.iter().map(|(_, value)| *value).collect();
        let computed = evaluate::<T, T>(expression, values.len(), &inputs);
        let named = |n: usize| values.get(n).or(values.last()).map_or("0", |(text, _)| *text);
        let body = format!(
            "const x = {name}({}); const y = {name}({}); const z = {name}({}); R[0] = {expression};",
            named(0),
            named(1),
            named(2)
        );
        let folded = run_typed::<T, T>("", &body, 1, &inputs, 1);
        assert_same(expression, &folded, &computed, |_| format!("{values:?}"));
    }
    check::<u32>("x * x", &[("0x7fffffffu", 0x7fff_ffff)]);
    check::<u32>("x + y", &[("0xffffffffu", u32::MAX), ("2u", 2)]);
    check::<i32>("dot(vec2(x, y), vec2(z, y))", &[("0x7fffffff", i32::MAX), ("1", 1), ("0", 0)]);
    check::<i32>("clamp(x, y, z)", &[("46", 46), ("3", 3), ("6", 6)]);
    check::<u32>("countLeadingZeros(x) + countTrailingZeros(x) + reverseBits(y)", &[("0u", 0), ("1u", 1)]);
    check::<i32>("firstTrailingBit(x) + firstLeadingBit(y) * 7", &[("0", 0), ("-1", -1)]);
    check::<i64>("x / y + x % y", &[("-7li", -7), ("2li", 2)]);
    check::<u64>("x * y", &[("0x100000001lu", 0x1_0000_0001), ("7lu", 7)]);
    check::<f32>("x / y", &[("1.0f", 1.0), ("3.0f", 3.0)]);
    check::<f32>("degrees(x) + radians(y)", &[("1.75f", 1.75), ("0.3f", 0.3)]);
    check::<f32>("inverseSqrt(x) + round(y) + fract(z)", &[("3.0f", 3.0), ("2.5f", 2.5), ("-1.25f", -1.25)]);
    check::<f32>("fma(x, y, z)", &[("0.1f", 0.1), ("10.0f", 10.0), ("-1.0f", -1.0)]);
    check::<f32>("length(vec3(x, y, z))", &[("0.1f", 0.1), ("10.5f", 10.5), ("-1.0f", -1.0)]);
    check::<Half>("x * y + z", &[("1.001h", Half::of(1.001)), ("3.003h", Half::of(3.003)), ("0.1h", Half::of(0.1))]);
    check::<Half>(
        "dot(vec2(x, y), vec2(y, z))",
        &[("1.001h", Half::of(1.001)), ("3.003h", Half::of(3.003)), ("0.1h", Half::of(0.1))],
    );
    check::<Half>("x / y", &[("1.0h", Half(1.0)), ("3.0h", Half(3.0))]);
}

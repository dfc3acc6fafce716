//! Built-in functions on every type that they take.

use compute_kernel::math::{self, double};

use super::numbers::{Float, Integer};
use super::*;

/// A function of three floats, on a choice of triples, in scalars and vectors.
fn check_ternary<T: Float>(expression: &str, inputs: &[f64], f: impl Fn(T, T, T) -> T) {
    let all = || inputs.iter().map(|x| T::of(*x));
    let triples: Vec<T> = all().flat_map(|x| all().flat_map(move |y| all().flat_map(move |z| [x, y, z]))).collect();
    let expected: Vec<T> = triples.chunks(3).map(|t| f(t[0], t[1], t[2])).collect();
    let got = evaluate_with_vectors::<T, T>(expression, 3, &triples);
    assert_same(expression, &got, &expected, |i| format!("{:?}", &triples[3 * i..3 * i + 3]));
}

const SOME: [f64; 7] = [0.0, 1.0, -1.0, 0.1, -2.5, 3.0, 300.0];

fn dot<T: Float>(x: &[T], y: &[T]) -> T {
    let products: Vec<T> = x.iter().zip(y).map(|(x, y)| x.mul(*y)).collect();
    products[1..].iter().fold(products[0], |sum, p| sum.add(*p))
}

/// Runs a body that fills `R` from `A`, whose type it names by `T`.
fn fill<T: Float>(body: &str, inputs: &[f64], outputs: usize) -> Vec<T> {
    let inputs: Vec<T> = inputs.iter().map(|x| T::of(*x)).collect();
    run_typed::<T, T>(&format!("alias T = {};", T::NAME), body, 1, &inputs, outputs)
}

/// A check of floats, for each of their types.
macro_rules! floats {
    ($f:ident) => {
        $f::<Half>();
        $f::<f32>();
        $f::<f64>();
    };
}

macro_rules! integers {
    ($f:ident) => {
        $f::<i16>();
        $f::<u16>();
        $f::<i32>();
        $f::<u32>();
        $f::<i64>();
        $f::<u64>();
    };
}

pub(super) const NAMES: &[&str] = names![
    numbers_are_compared_and_clamped,
    floats_become_whole_numbers,
    transcendental_functions_are_those_of_the_math_module,
    kt_22_powers_and_angles_of_points_are_those_of_the_math_module,
    square_roots_and_scales_round_once,
    floats_are_blended,
    multiply_and_add_rounds_once,
    numbers_are_taken_apart_and_put_together,
    geometry_follows_the_formulas_of_the_language,
    matrices_are_transposed_and_have_determinants,
    bits_are_counted_and_moved,
    kt_14_numbers_are_packed_into_words,
    kt_14_words_are_unpacked_into_numbers,
    floats_are_cut_to_halves,
    values_are_selected,
];

#[test]
fn numbers_are_compared_and_clamped() {
    fn ints<T: Integer>() {
        check_unary::<T, T>("abs(x)", &T::samples(), |x| T::of(x.wide().abs()));
        check_binary::<T, T>("min(x, y)", &T::samples(), |x, y| x.min(y));
        check_binary::<T, T>("max(x, y)", &T::samples(), |x, y| x.max(y));
        check_binary::<T, T>("clamp(x, y, y)", &T::samples(), |x, y| x.max(y).min(y));
        if T::SIGNED {
            check_unary::<T, T>("sign(x)", &T::samples(), |x| T::of(x.wide().signum()));
        }
    }
    integers!(ints);
    fn floats<T: Float>() {
        let finite: Vec<T> = T::samples().into_iter().filter(|x| !x.is_nan()).collect();
        check_unary::<T, T>("abs(x)", &T::samples(), |x| T::of(x.wide().abs()));
        check_unary::<T, T>("sign(x)", &finite, |x| T::of(if x.wide() == 0.0 { 0.0 } else { x.wide().signum() }));
        check_unary::<T, T>("saturate(x) + T(0)".replace("T", T::NAME).as_str(), &finite, |x| {
            T::of(x.wide().clamp(0.0, 1.0) + 0.0)
        });
        let zeros_apart: Vec<T> = finite.into_iter().filter(|x| x.wide() != 0.0).collect();
        check_binary::<T, T>("min(x, y)", &zeros_apart, |x, y| if x < y { x } else { y });
        check_binary::<T, T>("max(x, y)", &zeros_apart, |x, y| if x > y { x } else { y });
        check_ternary::<T>("clamp(x, y, z)", &[1.0, 2.0, -3.0, 0.5], |x, y, z| T::of(x.wide().max(y.wide()).min(z.wide())));
    }
    floats!(floats);
}

#[test]
fn floats_become_whole_numbers() {
    fn check<T: Float>() {
        let halves = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49, 1023.5, 4194303.5].map(T::of);
        let inputs: Vec<T> = T::samples().into_iter().chain(halves).collect();
        check_unary::<T, T>("floor(x)", &inputs, |x| T::of(x.wide().floor()));
        check_unary::<T, T>("ceil(x)", &inputs, |x| T::of(x.wide().ceil()));
        check_unary::<T, T>("trunc(x)", &inputs, |x| T::of(x.wide().trunc()));
        check_unary::<T, T>("round(x)", &inputs, |x| T::of(x.wide().round_ties_even()));
        check_unary::<T, T>("fract(x)", &inputs, |x| x.sub(T::of(x.wide().floor())));
    }
    floats!(check);
}

#[test]
fn transcendental_functions_are_those_of_the_math_module() {
    type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64);
    const FUNCTIONS: [Function; 16] = [
        ("sin(x)", math::sin, double::sin),
        ("cos(x)", math::cos, double::cos),
        ("tan(x)", math::tan, double::tan),
        ("asin(x)", math::asin, double::asin),
        ("acos(x)", math::acos, double::acos),
        ("atan(x)", math::atan, double::atan),
        ("sinh(x)", math::sinh, double::sinh),
        ("cosh(x)", math::cosh, double::cosh),
        ("tanh(x)", math::tanh, double::tanh),
        ("asinh(x)", math::asinh, double::asinh),
        ("acosh(x)", math::acosh, double::acosh),
        ("atanh(x)", math::atanh, double::atanh),
        ("exp(x)", math::exp, double::exp),
        ("exp2(x)", math::exp2, double::exp2),
        ("log(x)", math::log, double::log),
        ("log2(x)", math::log2, double::log2),
    ];
    fn check<T: Float>() {
        for (expression, single, double) in FUNCTIONS {
            check_unary::<T, T>(expression, &T::samples(), |x| x.apply(single, double));
        }
    }
    floats!(check);
}

#[test]
fn kt_22_powers_and_angles_of_points_are_those_of_the_math_module() {
    fn check<T: Float>() {
        check_binary::<T, T>("pow(x, y)", &T::samples(), |x, y| x.apply2(y, math::pow, double::pow));
        check_binary::<T, T>("atan2(x, y)", &T::samples(), |x, y| x.apply2(y, math::atan2, double::atan2));
    }
    floats!(check);
    assert_eq!(evaluate::<f64, f64>("atan2(x, y)", 2, &[1.0, -1.0]), [2.356194490192345]);
}

#[test]
fn square_roots_and_scales_round_once() {
    fn check<T: Float>() {
        check_unary::<T, T>("sqrt(x)", &T::samples(), T::sqrt);
        // Of halves the root is kept in f32.
        let inverse =
            |x: T| if T::SIZE == 2 { T::of(f64::from(1.0 / (x.wide() as f32).sqrt())) } else { T::of(1.0).div(x.sqrt()) };
        check_unary::<T, T>("inverseSqrt(x)", &T::samples(), inverse);
        let scaled = |x: T, by: f64| match T::SIZE {
            8 => T::of(x.wide() * by),
            _ => T::of(f64::from(x.wide() as f32 * by as f32)),
        };
        check_unary::<T, T>("degrees(x)", &T::samples(), |x| scaled(x, 1f64.to_degrees()));
        check_unary::<T, T>("radians(x)", &T::samples(), |x| scaled(x, 1f64.to_radians()));
    }
    floats!(check);
}

#[test]
fn floats_are_blended() {
    fn check<T: Float>() {
        let one = T::of(1.0);
        check_ternary::<T>("mix(x, y, z)", &SOME, |x, y, z| x.mul(one.sub(z)).add(y.mul(z)));
        check_binary::<T, T>("step(x, y)", &T::samples(), |edge, x| T::of(if edge <= x { 1.0 } else { 0.0 }));
        check_ternary::<T>("smoothstep(x, y, z)", &[1.0, 2.0, -3.0, 0.5, 1.7], |low, high, x| {
            let t = x.sub(low).div(high.sub(low));
            // Zeros divided are NaN, which the clamp leaves as it is.
            let t = if T::of(0.0) > t { T::of(0.0) } else { t };
            let t = if one < t { one } else { t };
            t.mul(t).mul(T::of(3.0).sub(T::of(2.0).mul(t)))
        });
        let body = "let v = mix(vec2(A[0], A[1]), vec2(A[1], A[0]), A[2]); R[0] = v.x; R[1] = v.y;";
        assert_eq!(fill::<T>(body, &[1.0, 3.0, 0.25], 2), [1.5, 2.5].map(T::of), "{}", T::NAME);
    }
    floats!(check);
}

#[test]
fn multiply_and_add_rounds_once() {
    fn fused<T: Float>(x: T, y: T, z: T) -> T {
        match T::SIZE {
            2 => T::of(math::fma_f16(x.wide() as f32, y.wide() as f32, z.wide() as f32).into()),
            4 => T::of((x.wide() as f32).mul_add(y.wide() as f32, z.wide() as f32).into()),
            _ => T::of(x.wide().mul_add(y.wide(), z.wide())),
        }
    }
    fn check<T: Float>() {
        let step = 1.0 + f64::from(f32::EPSILON);
        check_ternary::<T>("fma(x, y, z)", &[0.0, 1.0, step, -step * step, 0.1, -2.5, 2049.0, 6e-8], fused);
    }
    floats!(check);
    // Rounded by way of f32, this is 1.
    assert_eq!(evaluate::<Half, Half>("fma(x, y, z)", 3, &[Half(1.0), Half(2f32.powi(-24)), Half(1.0)]), [Half(1.0)]);
}

#[test]
fn numbers_are_taken_apart_and_put_together() {
    fn check<T: Float>() {
        let finite: Vec<T> = T::samples().into_iter().filter(|x| x.wide().is_finite()).collect();
        check_unary::<T, T>("modf(x).whole", &finite, |x| T::of(x.wide().trunc()));
        check_unary::<T, T>("modf(x).fract", &finite, |x| T::of(x.wide() - x.wide().trunc()));
        check_unary::<T, T>("frexp(x).fract", &finite, |x| T::of(double::frexp(x.wide()).0));
        // The front end gives the exponent the size of the float.
        let exponents: Vec<i32> = finite.iter().map(|x| double::frexp(x.wide()).1).collect();
        assert_eq!(evaluate::<T, i32>("i32(frexp(x).exp)", 1, &finite), exponents, "{}", T::NAME);
        assert_eq!(evaluate::<T, i32>("i32(frexp(vec3(x, x, x)).exp.y)", 1, &finite), exponents, "{}", T::NAME);
        for exponent in [0, 1, -1, 10, -10, 20, -24, 100, 127, -149, 200, 1000, -1074, 2000, i32::MAX, i32::MIN] {
            let what = format!("ldexp(x, {exponent})").replace("-2147483648", "i32(-2147483648)");
            let by = 2f64.powi(exponent.clamp(-600, 600) / 2);
            let rest = 2f64.powi(exponent.clamp(-600, 600) - exponent.clamp(-600, 600) / 2);
            // Wide enough for all but f64.
            let expected =
                |x: T| if T::SIZE == 8 { T::of(double::ldexp(x.wide(), exponent)) } else { T::of(x.wide() * by * rest) };
            let got = evaluate::<T, T>(&what, 1, &finite);
            let expected: Vec<T> = finite.iter().map(|x| expected(*x)).collect();
            assert_same(&what, &got, &expected, |i| format!("{:?}", finite[i]));
        }
    }
    floats!(check);
    assert_eq!(evaluate::<f64, f64>("ldexp(x, 1)", 1, &[f64::from_bits(1), 1e308]), [f64::from_bits(2), f64::INFINITY]);
}

#[test]
fn geometry_follows_the_formulas_of_the_language() {
    fn check<T: Float>() {
        let input = [0.6, -1.5, 2.25, 0.1, 0.7, -0.3, 1.3];
        let x: Vec<T> = input.iter().map(|x| T::of(*x)).collect();
        let (a, b, eta, zero, one) = (&x[..3], &x[3..6], x[6], T::of(0.0), T::of(1.0));
        let body = "let a = vec3(A[0], A[1], A[2]); let b = vec3(A[3], A[4], A[5]); let e = A[6];
            R[0] = dot(a, b); R[1] = length(a); R[2] = distance(a, b); let n = normalize(a); R[3] = n.x; R[4] = n.z;
            let c = cross(a, b); R[5] = c.x; R[6] = c.y; R[7] = c.z; R[8] = faceForward(a, b, a).y; R[9] = faceForward(a, -b, a).y;
            let l = reflect(a, b); R[10] = l.x; R[11] = l.z; let r = refract(a, b, T(0.4)); R[12] = r.x; R[13] = refract(a, b, e).y;
            R[14] = length(A[1]); R[15] = distance(A[0], A[1]);";
        let minus = |x: &[T], y: &[T]| x.iter().zip(y).map(|(x, y)| x.sub(*y)).collect::<Vec<T>>();
        let cross = |i: usize, k: usize| a[i].mul(b[k]).sub(b[i].mul(a[k]));
        let along = dot(b, a);
        let reflect = |i: usize| a[i].sub(T::of(2.0).mul(along).mul(b[i]));
        let refract = |i: usize, eta: T| {
            let k = one.sub(eta.mul(eta).mul(one.sub(along.mul(along))));
            if k < zero { zero } else { eta.mul(a[i]).sub(eta.mul(along).add(k.sqrt()).mul(b[i])) }
        };
        let between = minus(a, b);
        let length = dot(a, a).sqrt();
        let expected = [
            along,
            length,
            dot(&between, &between).sqrt(),
            a[0].div(length),
            a[2].div(length),
            cross(1, 2),
            cross(2, 0),
            cross(0, 1),
            if dot(b, a) < zero { a[1] } else { T::of(-a[1].wide()) },
            if dot(b, a) < zero { T::of(-a[1].wide()) } else { a[1] },
            reflect(0),
            reflect(2),
            refract(0, T::of(0.4)),
            refract(1, eta),
            T::of(1.5),
            T::of(x[0].sub(x[1]).wide().abs()),
        ];
        let got = fill::<T>(body, &input, 16);
        assert_same("geometry", &got, &expected, |i| format!("R[{i}]"));
    }
    floats!(check);
    fn whole<T: Integer>() {
        let samples = T::samples();
        let pairs: Vec<T> = samples.iter().flat_map(|x| samples.iter().flat_map(move |y| [*x, *y])).collect();
        let expected: Vec<T> = pairs
            .chunks(2)
            .map(|p| (p[0].wide(), p[1].wide()))
            .map(|(x, y)| T::of(x.wrapping_mul(y).wrapping_add(y.wrapping_mul(y)).wrapping_add(x.wrapping_mul(x))))
            .collect();
        let got = evaluate::<T, T>("dot(vec3(x, y, x), vec3(y, y, x))", 2, &pairs);
        assert_same("dot", &got, &expected, |i| format!("{:?}", &pairs[2 * i..2 * i + 2]));
    }
    integers!(whole);
}

#[test]
fn matrices_are_transposed_and_have_determinants() {
    fn check<T: Float>() {
        let body = "let m = mat3x2<T>(A[0], A[1], A[2], A[3], A[4], A[5]); let t = transpose(m);
            R[0] = t[0].y; R[1] = t[1].z; R[2] = t[0].z;
            R[3] = determinant(mat2x2<T>(A[0], A[1], A[2], A[3]));
            R[4] = determinant(mat3x3<T>(A[0], A[1], A[2], A[3], A[4], A[5], A[6], A[7], A[8]));
            R[5] = determinant(mat4x4<T>(A[0], A[1], A[2], A[3], A[1], A[3], A[0], A[2], A[2], A[0], A[3], A[4], A[5], A[1], A[8], A[0]));";
        let got = fill::<T>(body, &[2.0, 1.0, 3.0, 4.0, -1.0, 5.0, 6.0, 7.0, 0.5], 6);
        // By hand: whole numbers and halves, exact in every type.
        let m4 = [[2.0, 1.0, 3.0, 4.0], [1.0, 4.0, 2.0, 3.0], [3.0, 2.0, 4.0, -1.0], [5.0, 1.0, 0.5, 2.0]];
        let expected = [
            3.0,
            5.0,
            -1.0,
            5.0,
            determinant(&[vec![2.0, 1.0, 3.0], vec![4.0, -1.0, 5.0], vec![6.0, 7.0, 0.5]]),
            determinant(&m4.map(|c| c.to_vec())),
        ];
        assert_eq!(got, expected.map(T::of), "{}", T::NAME);
    }
    floats!(check);
}

#[test]
fn bits_are_counted_and_moved() {
    fn check<T: Integer>() {
        let samples = T::samples();
        let of = |n: u32| T::of(n.into());
        check_unary::<T, T>("countOneBits(x)", &samples, |x| of(x.bits().count_ones()));
        check_unary::<T, T>("countLeadingZeros(x)", &samples, |x| of(x.bits().leading_zeros() - (128 - T::BITS)));
        check_unary::<T, T>("countTrailingZeros(x)", &samples, |x| of(x.bits().trailing_zeros().min(T::BITS)));
        check_unary::<T, T>("reverseBits(x)", &samples, |x| T::of((x.bits().reverse_bits() >> (128 - T::BITS)) as i128));
        check_unary::<T, T>("firstTrailingBit(x)", &samples, |x| {
            if x.wide() == 0 { T::of(-1) } else { of(x.bits().trailing_zeros()) }
        });
        check_unary::<T, T>("firstLeadingBit(x)", &samples, |x| {
            let bits = if x.wide() < 0 { !x.wide() as u128 } else { x.bits() };
            T::of(127 - i128::from(bits.leading_zeros()))
        });
        for (offset, count) in [(0u32, 0u32), (0, 200), (3, 5), (30, 10), (35, 4), (200, 3), (15, 1), (0, 16), (5, 60), (63, 1)] {
            let (o, c) = (offset.min(T::BITS), count.min(T::BITS - offset.min(T::BITS)));
            let mask: i128 = (1 << c) - 1;
            let extract = |x: T| {
                let field = (x.bits() as i128 >> o) & mask;
                let negative = T::SIGNED && c > 0 && field >> (c - 1) & 1 == 1;
                T::of(if negative { field - (1 << c) } else { field })
            };
            check_unary::<T, T>(&format!("extractBits(x, {offset}u, {count}u)"), &samples, extract);
            let insert = |x: T, new: T| T::of(x.wide() & !(mask << o) | (new.wide() & mask) << o);
            check_binary::<T, T>(&format!("insertBits(x, y, {offset}u, {count}u)"), &samples[..6], insert);
        }
    }
    integers!(check);
}

#[test]
fn kt_14_numbers_are_packed_into_words() {
    let v = "vec4(x, y, z, -0.25f)";
    let floats = [1.0f32, -1.0, 0.25, 2.0, f32::NEG_INFINITY, 0.5];
    let norm = |x: f32, low: f32, scale: f32| ((x.clamp(low, 1.0) * scale + 0.5).floor() as i32) as u32;
    let pack =
        |xs: &[u32], bits: u32| xs.iter().enumerate().fold(0, |word, (i, x)| word | (x & ((1 << bits) - 1)) << (i as u32 * bits));
    let triples: Vec<[f32; 4]> = floats.chunks(3).map(|c| [c[0], c[1], c[2], -0.25]).collect();
    let words = |expression: &str| evaluate::<f32, u32>(expression, 3, &floats);
    let expected = |low: f32, scale: f32, n: usize, bits: u32| -> Vec<u32> {
        triples.iter().map(|t| pack(&t[..n].iter().map(|x| norm(*x, low, scale)).collect::<Vec<_>>(), bits)).collect()
    };
    assert_eq!(words(&format!("pack4x8snorm({v})")), expected(-1.0, 127.0, 4, 8));
    assert_eq!(words(&format!("pack4x8unorm({v})")), expected(0.0, 255.0, 4, 8));
    assert_eq!(words(&format!("pack2x16snorm({v}.xy)")), expected(-1.0, 32_767.0, 2, 16));
    assert_eq!(words(&format!("pack2x16unorm({v}.xy)")), expected(0.0, 65_535.0, 2, 16));
    let halves: Vec<u32> =
        triples.iter().map(|t| pack(&[math::f16_bits(t[0]).into(), math::f16_bits(t[1]).into()], 16)).collect();
    assert_eq!(words(&format!("pack2x16float({v}.xy)")), halves);
    assert_eq!(words("pack2x16float(vec2(x * 65520.0, y * 1e-7))")[0], 0x8002_7c00);
    let body = "let a = vec4<i32>(bitcast<i32>(A[0]), 127, -1, bitcast<i32>(A[1])); let b = bitcast<vec4<u32>>(a);
        R[0] = pack4xI8(a); R[1] = pack4xU8(b); R[2] = pack4xI8Clamp(a); R[3] = pack4xU8Clamp(b);
        R[4] = u32(dot4I8Packed(A[2], A[3])); R[5] = dot4U8Packed(A[2], A[3]);";
    let got = run_typed::<u32, u32>("", body, 1, &[-129i32 as u32, 300, 0x80ff_7f01, 0x8002_7f03], 6);
    let signed = 3 + 127 * 127 - 2 + 128 * 128;
    assert_eq!(got, [0x2cff_7f7f, 0x2cff_7f7f, 0x7fff_7f80, 0xffff_7fff, signed as u32, 3 + 127 * 127 + 255 * 2 + 128 * 128]);
}

#[test]
fn kt_14_words_are_unpacked_into_numbers() {
    let words = [0x8120_817fu32, 0, 0xffff_ffff, 0x8000_7fff, 0x7c00_0001, 0x03ff_fe00];
    let floats = |expression: &str, components: usize, f: &dyn Fn(u32, usize) -> f32| {
        for component in 0..components {
            let expected: Vec<f32> = words.iter().map(|w| f(*w, component)).collect();
            let got = evaluate::<u32, f32>(&format!("{expression}[{component}]"), 1, &words);
            assert_same(expression, &got, &expected, |i| format!("{:#x}", words[i]));
        }
    };
    floats("unpack4x8snorm(x)", 4, &|w, i| ((w >> (8 * i)) as i8 as f32 / 127.0).max(-1.0));
    floats("unpack4x8unorm(x)", 4, &|w, i| (w >> (8 * i)) as u8 as f32 / 255.0);
    floats("unpack2x16snorm(x)", 2, &|w, i| ((w >> (16 * i)) as i16 as f32 / 32_767.0).max(-1.0));
    floats("unpack2x16unorm(x)", 2, &|w, i| (w >> (16 * i)) as u16 as f32 / 65_535.0);
    floats("unpack2x16float(x)", 2, &|w, i| math::f16_from_bits((w >> (16 * i)) as u16));
    floats("vec4<f32>(unpack4xI8(x))", 4, &|w, i| (w >> (8 * i)) as i8 as f32);
    floats("vec4<f32>(unpack4xU8(x))", 4, &|w, i| (w >> (8 * i)) as u8 as f32);
}

#[test]
fn floats_are_cut_to_halves() {
    let inputs: Vec<f32> =
        <f32 as Float>::samples().into_iter().chain([65_519.0, 65_520.0, 2049.0, 2051.0, 1e-7, 2e-8]).collect();
    check_unary::<f32, f32>("quantizeToF16(x)", &inputs, math::round_to_f16);
}

#[test]
fn values_are_selected() {
    fn check<T: Number>(a: T, b: T) {
        let got = evaluate::<T, T>("select(x, y, w.x == 1u)", 2, &[a, b, a, b]);
        assert_eq!(got, [a, b], "{}", T::NAME);
        let body = "let v = select(vec2(A[0], A[1]), vec2(A[1], A[0]), vec2(w.y == 0u, w.y == 1u)); R[0] = v.x; R[1] = v.y;";
        assert_eq!(run_typed::<T, T>("", body, 1, &[a, b], 2), [b, b], "{}", T::NAME);
    }
    check(1i16, -2);
    check(1u16, 2);
    check(1i32, -2);
    check(1u32, 2);
    check(1i64, -2);
    check(1u64, 2);
    check(Half(1.5), Half(-2.0));
    check(1.5f32, -2.0);
    check(1.5f64, -2.0);
    assert_eq!(
        evaluate::<u32, u32>(
            "u32(all(vec3(x > 0u, y > 0u, true))) + 2u * u32(any(vec3(x > 0u, y > 0u, false)))",
            2,
            &[0, 1, 1, 1, 0, 0]
        ),
        [2, 3, 0]
    );
}

/// Exact for small whole numbers.
fn determinant(m: &[Vec<f64>]) -> f64 {
    if m.len() == 1 {
        return m[0][0];
    }
    let minor = |row: usize| -> Vec<Vec<f64>> {
        m[1..].iter().map(|c| c.iter().enumerate().filter(|(i, _)| *i != row).map(|(_, x)| *x).collect()).collect()
    };
    (0..m.len()).map(|row| if row % 2 == 0 { 1.0 } else { -1.0 } * m[0][row] * determinant(&minor(row))).sum()
}

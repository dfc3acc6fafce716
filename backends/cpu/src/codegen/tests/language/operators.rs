//! Operators on every type.

use super::numbers::{Float, Integer};
use super::*;

pub(super) const NAMES: &[&str] = names![
    arithmetic_of_integers_wraps,
    kt_01_division_has_an_answer_in_every_corner_of_every_integer,
    constant_components_beside_others_are_decided_at_run_time,
    kt_02_shift_counts_are_taken_modulo_every_width,
    bits_of_integers_are_combined,
    comparisons_hold_for_every_number,
    arithmetic_of_floats_rounds_once,
    halves_round_after_every_operation,
    booleans_combine,
    the_right_side_of_a_short_circuit_runs_only_when_it_matters,
    numbers_and_vectors_mix,
    matrices_multiply_columns_by_rows,
    assignments_combine_with_every_operator,
];

#[test]
fn arithmetic_of_integers_wraps() {
    fn check<T: Integer>() {
        check_binary::<T, T>("x + y", &T::samples(), |x, y| T::of(x.wide() + y.wide()));
        check_binary::<T, T>("x - y", &T::samples(), |x, y| T::of(x.wide() - y.wide()));
        check_binary::<T, T>("x * y", &T::samples(), |x, y| T::of(x.wide().wrapping_mul(y.wide())));
        if T::SIGNED {
            check_unary::<T, T>("-x", &T::samples(), |x| T::of(-x.wide()));
        }
    }
    check::<i16>();
    check::<u16>();
    check::<i32>();
    check::<u32>();
    check::<i64>();
    check::<u64>();
}

#[test]
fn kt_01_division_has_an_answer_in_every_corner_of_every_integer() {
    fn check<T: Integer>() {
        // By zero the dividend, and 0 is left; the least number by -1 wraps.
        check_binary::<T, T>("x / y", &T::samples(), |x, y| if y.wide() == 0 { x } else { T::of(x.wide() / y.wide()) });
        check_binary::<T, T>("x % y", &T::samples(), |x, y| T::of(if y.wide() == 0 { 0 } else { x.wide() % y.wide() }));
    }
    check::<i16>();
    check::<u16>();
    check::<i32>();
    check::<u32>();
    check::<i64>();
    check::<u64>();
}

#[test]
fn constant_components_beside_others_are_decided_at_run_time() {
    // All of the right side must be constant to be judged before.
    let body = "let v = vec2(A[0], A[1]); let z = 0u; let a = v / vec2(A[2], 0u); let b = v % vec2(0u, A[2]); let c = v << vec2(A[2], 33u); let d = v / vec2(1u, z);
        let e = vec4(v, v) / vec4(vec2(A[2], 0u), 0u, 2u); let f = vec3<i32>(v.xyx) / vec3(i32(A[2]), vec2(0i)); let g = vec2<u32>(v.x) >> vec2(32u, z); var h = v; h %= vec2(A[2], 0u);
        R[0] = a.x * 100u + a.y; R[1] = b.x * 100u + b.y; R[2] = c.x * 100u + c.y; R[3] = d.x * 100u + d.y; R[4] = e.x + e.y * 10u + e.z * 100u + e.w * 1000u;
        R[5] = u32(f.x + f.y * 10 + f.z * 100); R[6] = g.x * 100u + g.y; R[7] = h.x * 100u + h.y;";
    assert_eq!(run_typed::<u32, u32>("", body, 1, &[7, 9, 2], 8), [309, 1, 2818, 709, 4793, 793, 707, 100]);
}

#[test]
fn kt_02_shift_counts_are_taken_modulo_every_width() {
    fn check<T: Integer>() {
        let samples = T::samples();
        for count in [0u32, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0xffff_ffff] {
            let places = count % T::BITS;
            for (expression, left) in
                [(format!("x << (u32(w.y) + {count}u)"), true), (format!("x >> (u32(w.y) + {count}u)"), false)]
            {
                let expected: Vec<T> =
                    samples.iter().map(|x| T::of(if left { x.wide() << places } else { x.wide() >> places })).collect();
                let got = evaluate::<T, T>(&expression, 1, &samples);
                assert_same(&expression, &got, &expected, |i| format!("{:?}", samples[i]));
            }
        }
    }
    check::<i16>();
    check::<u16>();
    check::<i32>();
    check::<u32>();
    check::<i64>();
    check::<u64>();
}

#[test]
fn bits_of_integers_are_combined() {
    fn check<T: Integer>() {
        check_binary::<T, T>("x & y", &T::samples(), |x, y| T::of(x.wide() & y.wide()));
        check_binary::<T, T>("x | y", &T::samples(), |x, y| T::of(x.wide() | y.wide()));
        check_binary::<T, T>("x ^ y", &T::samples(), |x, y| T::of(x.wide() ^ y.wide()));
        check_unary::<T, T>("~x", &T::samples(), |x| T::of(!x.wide()));
    }
    check::<i16>();
    check::<u16>();
    check::<i32>();
    check::<u32>();
    check::<i64>();
    check::<u64>();
}

#[test]
fn comparisons_hold_for_every_number() {
    fn check<T: Number + PartialOrd>(samples: &[T]) {
        let pairs: Vec<T> = samples.iter().flat_map(|x| samples.iter().flat_map(move |y| [*x, *y])).collect();
        let expression =
            "u32(x == y) | u32(x != y) << 1u | u32(x < y) << 2u | u32(x <= y) << 3u | u32(x > y) << 4u | u32(x >= y) << 5u";
        let got = evaluate::<T, u32>(expression, 2, &pairs);
        let vector = "u32(all(vec2(x, x) == vec2(y, y))) | u32(any(vec2(x, x) != vec2(y, y))) << 1u | u32((vec2(x, x) < vec2(y, y)).y) << 2u
            | u32((vec2(x, x) <= vec2(y, y)).x) << 3u | u32((vec2(x, x) > vec2(y, y)).x) << 4u | u32((vec2(x, x) >= vec2(y, y)).x) << 5u";
        assert_eq!(evaluate::<T, u32>(vector, 2, &pairs), got, "vectors of {}", T::NAME);
        for (pair, got) in pairs.chunks(2).zip(got) {
            let (x, y) = (pair[0], pair[1]);
            let expected = [x == y, x != y, x < y, x <= y, x > y, x >= y];
            let expected: u32 = expected.iter().enumerate().map(|(i, b)| u32::from(*b) << i).sum();
            assert_eq!(got, expected, "{x:?} and {y:?}");
        }
    }
    check(&i16::samples());
    check(&u16::samples());
    check(&i32::samples());
    check(&u32::samples());
    check(&i64::samples());
    check(&u64::samples());
    check(&Half::samples());
    check(&<f32 as Float>::samples());
    check(&<f64 as Float>::samples());
}

#[test]
fn arithmetic_of_floats_rounds_once() {
    fn check<T: Float>() {
        check_binary::<T, T>("x + y", &T::samples(), T::add);
        check_binary::<T, T>("x - y", &T::samples(), T::sub);
        check_binary::<T, T>("x * y", &T::samples(), T::mul);
        check_binary::<T, T>("x / y", &T::samples(), T::div);
        // Exact.
        check_binary::<T, T>("x % y", &T::samples(), |x, y| T::of(x.wide() % y.wide()));
        check_unary::<T, T>("-x", &T::samples(), |x| T::of(-x.wide()));
    }
    check::<Half>();
    check::<f32>();
    check::<f64>();
}

#[test]
fn halves_round_after_every_operation() {
    // 2048 + 1 is no half and rounds to 2048, each time; kept in f32 it would be 2050.
    assert_eq!(evaluate::<Half, Half>("x + y + z", 3, &[Half(2048.0), Half(1.0), Half(1.0)]), [Half(2048.0)]);
    // Past 65504 is infinity, and stays.
    assert_eq!(evaluate::<Half, Half>("x * y / z", 3, &[Half(65504.0), Half(2.0), Half(4.0)]), [Half(f32::INFINITY)]);
    // Every pair of a wide choice of bit patterns, against f64.
    let inputs: Vec<Half> = (0..4000u32).map(|i| Half::from_bytes(&(i.wrapping_mul(40_503) as u16).to_ne_bytes())).collect();
    for (expression, f) in
        [("x + y", Half::add as fn(Half, Half) -> Half), ("x * y", Half::mul), ("x / y", Half::div), ("x - y", Half::sub)]
    {
        let expected: Vec<Half> = inputs.chunks(2).map(|p| f(p[0], p[1])).collect();
        let got = evaluate::<Half, Half>(expression, 2, &inputs);
        assert_same(expression, &got, &expected, |i| format!("{:?}", &inputs[2 * i..2 * i + 2]));
    }
}

#[test]
fn booleans_combine() {
    let inputs: Vec<u32> = (0..4).flat_map(|n| [n & 1, n >> 1]).collect();
    let expression =
        "u32(bool(x) && bool(y)) | u32(bool(x) || bool(y)) << 1u | u32(bool(x) & bool(y)) << 2u | u32(bool(x) | bool(y)) << 3u
        | u32(!bool(x)) << 4u | u32(bool(x) == bool(y)) << 5u | u32(bool(x) != bool(y)) << 6u
        | u32(all(vec2(bool(x), bool(y)))) << 7u | u32(any(!vec2(bool(x), bool(y)))) << 8u
        | u32((vec2(bool(x), true) & vec2(bool(y), false)).x) << 9u | u32((vec2(bool(x), true) | vec2(bool(y), false)).x) << 10u";
    let got = evaluate::<u32, u32>(expression, 2, &inputs);
    for (pair, got) in inputs.chunks(2).zip(got) {
        let (x, y) = (pair[0] == 1, pair[1] == 1);
        let bits = [x && y, x || y, x & y, x | y, !x, x == y, x != y, x && y, !x || !y, x & y, x | y];
        assert_eq!(got, bits.iter().enumerate().map(|(i, b)| u32::from(*b) << i).sum::<u32>(), "{x} and {y}");
    }
}

#[test]
fn the_right_side_of_a_short_circuit_runs_only_when_it_matters() {
    let declarations = "var<private> calls: u32; fn count(b: bool) -> bool { calls += 1u; return b; }";
    let body = "let x = A[w.x] != 0u; let y = x && count(true); let z = x || count(false);
        R[w.x] = u32(y) | u32(z) << 1u | calls << 2u;";
    assert_eq!(run_typed::<u32, u32>(declarations, body, 2, &[0, 1], 2), [1 << 2, 3 | 1 << 2]);
}

#[test]
fn numbers_and_vectors_mix() {
    fn check<T: Number>(two: T, three: T, results: [T; 5]) {
        let body = "let x = A[0]; let v = vec2(A[1], x);
            R[0] = (x + v).x; R[1] = (v - x).x; R[2] = (v * x).x; R[3] = (x * v).y; R[4] = (v / x).y;";
        assert_eq!(run_typed::<T, T>("", body, 1, &[two, three], 5), results, "{}", T::NAME);
    }
    check(2i16, 3, [5, 1, 6, 4, 1]);
    check(2u16, 3, [5, 1, 6, 4, 1]);
    check(2i32, 3, [5, 1, 6, 4, 1]);
    check(2u32, 3, [5, 1, 6, 4, 1]);
    check(2i64, 3, [5, 1, 6, 4, 1]);
    check(2u64, 3, [5, 1, 6, 4, 1]);
    check(Half(2.0), Half(3.0), [Half(5.0), Half(1.0), Half(6.0), Half(4.0), Half(1.0)]);
    check(2f32, 3.0, [5.0, 1.0, 6.0, 4.0, 1.0]);
    check(2f64, 3.0, [5.0, 1.0, 6.0, 4.0, 1.0]);
}

#[test]
fn matrices_multiply_columns_by_rows() {
    fn check<T: Float>() {
        // Three columns of two rows, and two of three.
        let name = T::NAME;
        let body = format!(
            "let m = mat3x2<{name}>(A[0], A[1], A[2], A[3], A[4], A[5]); let n = transpose(m);
            let p = m * n; R[0] = p[0].x; R[1] = p[0].y; R[2] = p[1].x; R[3] = p[1].y;
            let v = m * vec3(A[0], A[1], A[2]); R[4] = v.x; R[5] = v.y;
            let u = vec2(A[0], A[1]) * m; R[6] = u.x; R[7] = u.y; R[8] = u.z;
            let s = m * A[1]; R[9] = s[2].y; let q = A[1] * m; R[10] = q[2].x;
            let a = m + m; R[11] = a[1].y; let d = a - m; R[12] = d[1].y;"
        );
        let x: Vec<T> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5].into_iter().map(T::of).collect();
        let expected = [35.0, 46.5, 46.5, 62.25, 22.0, 29.5, 5.0, 11.0, 18.0, 13.0, 10.0, 8.0, 4.0].map(T::of);
        assert_eq!(run_typed::<T, T>("", &body, 1, &x, 13), expected, "{name}");
    }
    check::<Half>();
    check::<f32>();
    check::<f64>();
}

#[test]
fn assignments_combine_with_every_operator() {
    let body = "var n = A[0]; n += 5u; n -= 1u; n *= 3u; n /= 2u; n %= 100u; n <<= 2u; n >>= 1u; n &= 0xffu; n |= 0x100u; n ^= 1u; n++; n--;
        var v = vec2(n); v.y += 1u; R[0] = v.x; R[1] = v.y;";
    let n = (((110 + 5 - 1) * 3 / 2 % 100) << 2 >> 1 & 0xff | 0x100) ^ 1;
    assert_eq!(run_typed::<u32, u32>("", body, 1, &[110], 2), [n, n + 1]);
}

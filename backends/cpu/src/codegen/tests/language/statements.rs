//! Statements and declarations.

use super::*;

pub(super) const NAMES: &[&str] = names![
    switches_take_one_case_wherever_the_default_stands,
    kt_05_loops_continue_and_break_where_they_say,
    a_return_leaves_from_anywhere,
    if_and_else_pick_one_side_kt_22,
    declarations_and_assertions_hold,
    pointers_to_members_and_elements_are_arguments,
    constant_arrays_are_indexed_when_the_kernel_runs,
    indices_may_be_integers_of_every_size,
    indices_that_are_cut_or_widened_keep_their_checks,
];

#[test]
fn switches_take_one_case_wherever_the_default_stands() {
    let body = "var r = 0u;
        switch A[w.x] { default: { r = 9u; } case 1u, 2u: { r = 1u; } case 3u: { if (w.y == 0u) { r = 3u; break; } r = 30u; } case 4u, default_case: { r = 4u; } }
        switch i32(A[w.x]) { case 7: { switch A[w.x] { case 7u: { r += 100u; } default: { r += 200u; } } r += 1000u; } case 0, default: { r += 10000u; } }
        R[w.x] = r;";
    let body = body.replace("case 4u, default_case: ", "case 4u: ");
    let got = run_typed::<u32, u32>("", &body, 8, &(0..8).collect::<Vec<u32>>(), 8);
    assert_eq!(got, [10009, 10001, 10001, 10003, 10004, 10009, 10009, 1109]);
}

#[test]
fn kt_05_loops_continue_and_break_where_they_say() {
    let body = "var c = 0u; var sum = 0u;
        loop { if (c == 3u) { continue; } sum += c; continuing { c++; break if c >= A[w.x]; } }
        for (var i = 0u; i < 10u; i++) { if (i == 2u) { continue; } if (i == A[w.x]) { break; } sum += 100u; }
        var n = A[w.x]; while n > 0u { n -= 1u; sum += 10000u; }
        R[w.x] = sum;";
    assert_eq!(run_typed::<u32, u32>("", body, 2, &[5, 1], 2), [1 + 2 + 4 + 400 + 50_000, 100 + 10_000]);
}

#[test]
fn a_return_leaves_from_anywhere() {
    let declarations = "fn find(n: u32) -> u32 { for (var i = 0u; i < 10u; i++) { switch i { case 4u: { if (n > 4u) { return i + 100u; } } default: {} } if (i * i >= n) { return i; } } return 99u; }";
    assert_eq!(run_typed::<u32, u32>(declarations, "R[w.x] = find(A[w.x]);", 4, &[0, 4, 9, 200], 4), [0, 2, 3, 104]);
}

#[test]
fn if_and_else_pick_one_side_kt_22() {
    let body = "let x = A[w.x * 2u]; let y = A[w.x * 2u + 1u]; var r: u32; if (x != y) { r = x * 2u; } else if (x == 5u) { r = 99u; } else { r = 7u; }
        R[w.x] = r * 1000u + select(0u, 1u, x < y);";
    assert_eq!(run_typed::<u32, u32>("", body, 3, &[5, 6, 5, 5, 4, 4], 3), [10_001, 99_000, 7000]);
}

#[test]
fn declarations_and_assertions_hold() {
    let declarations = "const K = 3u; const_assert K == 3u; alias Word = u32; override N: u32 = K * 2u;";
    let body = "const_assert K < 4u; let a: Word = A[0]; var b = a; _ = A[0]; { let a = 7u; b += a; } R[0] = b + N;";
    assert_eq!(run_typed::<u32, u32>(declarations, body, 1, &[1], 1), [14]);
}

#[test]
fn pointers_to_members_and_elements_are_arguments() {
    let declarations = "struct S { a: array<vec3<f16>, 3>, d: f64, n: array<i64, 2> }
        var<private> p: S; var<workgroup> g: S;
        fn add(n: ptr<function, i64>, by: i64) { *n += by; }
        fn half(h: ptr<private, vec3<f16>>) { (*h).y = 2.5h; }
        fn whole(s: ptr<function, S>) -> i64 { (*s).d *= 2.0lf; return i64((*s).d) + (*s).n[1]; }
        fn copy(to: ptr<private, S>, source: ptr<function, S>) { *to = *source; }";
    let body = "var s: S; s.d = 3.5lf; add(&s.n[1], A[0]); add(&s.n[u32(A[1])], 100li); half(&p.a[2]); let n = &g.n; (*n)[1] = 40li; let first = &A[0];
        R[0] = whole(&s); R[1] = s.n[0]; R[2] = i64(p.a[2].y * 2.0h); R[3] = g.n[1]; R[4] = i64(s.d); R[5] = *first; copy(&p, &s); R[6] = i64(p.d) + p.n[0];";
    assert_eq!(run_typed::<i64, i64>(declarations, body, 1, &[5, 0], 7), [12, 100, 5, 40, 7, 5, 107]);
}

#[test]
fn constant_arrays_are_indexed_when_the_kernel_runs() {
    fn check<T: Number>(elements: &str, expected: &[T]) {
        let count = expected.len() as u32;
        let declarations = format!("const K = array<{}, {count}>({elements});", T::NAME);
        let indices: Vec<u32> = (0..count).collect();
        let got = run_typed::<u32, T>(&declarations, "R[w.x] = K[A[w.x]];", count as usize, &indices, count as usize);
        assert_eq!(got, expected, "{}", T::NAME);
    }
    check("1.5h, -2.0h, 65504.0h", &[Half(1.5), Half(-2.0), Half(65_504.0)]);
    check("1.5f, -2.0f, 1e38f", &[1.5f32, -2.0, 1e38]);
    check("1.5lf, -2.0lf, 1e300lf", &[1.5f64, -2.0, 1e300]);
    check("i16(-1), i16(300)", &[-1i16, 300]);
    check("u16(65535), u16(300)", &[65_535u16, 300]);
    check("-1i, 300i", &[-1i32, 300]);
    check("1u, 4000000000u", &[1u32, 4_000_000_000]);
    check("-1li, 0x7fffffffffffffffli", &[-1i64, i64::MAX]);
    check("1lu, 0xfffffffffffffffflu", &[1u64, u64::MAX]);
    let vectors = "const K = array(vec3<f16>(1.0h, 2.0h, 3.0h), vec3<f16>(4.0h, 5.0h, 6.0h)); const M = array(mat2x2<f64>(1lf, 2lf, 3lf, 4lf), mat2x2<f64>());";
    let got = run_typed::<u32, f64>(vectors, "R[w.x] = f64(K[A[w.x]].z) * 10lf + M[A[w.x]][1].x;", 2, &[0, 1], 2);
    assert_eq!(got, [33.0, 60.0]);
}

#[test]
fn indices_may_be_integers_of_every_size() {
    fn check<T: Number>(inputs: &[T]) {
        let body =
            "var a = array<u32, 4>(10u, 11u, 12u, 13u); let v = vec4(20u, 21u, 22u, 23u); R[w.x] = a[A[w.x]] + v[A[w.x]] * 100u;";
        let source = format!(
            "{ENABLES} @group(0) @binding(0) var<storage, read> A: array<{}>; @group(0) @binding(1) var<storage, read_write> R: array<u32>;
            @compute @workgroup_size(1) fn main(@builtin(workgroup_id) w: vec3<u32>) {{ {body} }}",
            T::NAME
        );
        let kernel = Kernel::new(&source, Bounds::Checked);
        let mut output = vec![0; inputs.len()];
        kernel.run([inputs.len() as u32, 1, 1], &mut [&mut words_of(inputs), &mut output]);
        assert_eq!(output[..2], [2313, 2111], "{}", T::NAME);
        assert!(output[2..].iter().all(|n| *n == 0), "out of range is zero: {output:?} for {inputs:?}");
        let validating = Kernel::new(&source, Bounds::Validate);
        validating.run([inputs.len() as u32, 1, 1], &mut [&mut words_of(inputs), &mut output]);
        assert!(validating.violated());
    }
    check::<i16>(&[3, 1, 4, -1, i16::MIN]);
    check::<u16>(&[3, 1, 4, u16::MAX]);
    check::<i32>(&[3, 1, 4, -1, i32::MIN]);
    check::<u32>(&[3, 1, 4, u32::MAX]);
    check::<i64>(&[3, 1, 4, -1, i64::MIN, 1 << 32]);
    check::<u64>(&[3, 1, 4, u64::MAX, 1 << 32, 1 << 63]);
}

#[test]
fn indices_that_are_cut_or_widened_keep_their_checks() {
    // Each index is in range before it is cut or multiplied, not after, or the other way round.
    let body = "var a: array<u32, 4>; a[0] = 1u; a[3] = 7u; let n = A[0];
        R[0] = a[u32(n & 3lu)]; R[1] = a[u32(n >> 32u)]; R[2] = a[u32(n) % 4u]; R[3] = a[(n % 4lu) * 0x100000000lu];
        R[4] = a[u32(u16(n)) / 0x4000u]; R[5] = a[i32(n & 0xffffffffffff0003lu)];";
    let source = format!(
        "{ENABLES} @group(0) @binding(0) var<storage, read> A: array<u64>; @group(0) @binding(1) var<storage, read_write> R: array<u32>;
        @compute @workgroup_size(1) fn main() {{ {body} }}"
    );
    let mut output = vec![0; 6];
    let n = 0x0000_0005_ffff_ffffu64;
    Kernel::new(&source, Bounds::Checked).run([1, 1, 1], &mut [&mut words_of(&[n]), &mut output]);
    assert_eq!(output, [7, 0, 7, 0, 7, 0]);
    // Below 40000 as a u32, negative as an i16; and an array with more elements than 16 bits count.
    let body = "L[i16(I[0] % 40000u)] = 9u; O[0] = L[i16(I[0] % 40000u)]; O[1] = L[u16(I[1])]; O[2] = L[i16(I[2] % 40000u)];";
    let source = format!(
        "{ENABLES} {HEAD} @group(0) @binding(2) var<storage, read_write> L: array<u32, 70000>; @compute @workgroup_size(1) fn main() {{ {body} }}"
    );
    let (mut output, mut large) = (vec![5; 3], vec![0; 70_000]);
    (large[65_535], large[7]) = (3, 4);
    Kernel::new(&source, Bounds::Checked).run([1, 1, 1], &mut [&mut [39_999, 65_535, 7], &mut output, &mut large]);
    assert_eq!(output, [0, 3, 4]);
    assert_eq!(large.iter().filter(|n| **n != 0).count(), 2);
}

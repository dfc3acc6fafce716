//! What a source says, in the corners where front ends differ: scopes, order, constants, and values that are no constants.

use super::*;

#[test]
fn l5_an_index_that_a_let_holds_is_a_run_time_index() {
    let source = one("let past = 5u; let below = -1; let inside = 2u;
        var a = array<u32, 4>(1, 2, 3, 4); a[past] = 9u; a[inside] = 7u;
        O[0] = a[past]; O[1] = a[below]; O[2] = a[inside]; O[3] = a[3];
        let v = vec4<u32>(5, 6, 7, I[0]); O[4] = v[inside];");
    let kernel = Kernel::new(&source, Bounds::Checked);
    let (mut input, mut output) = (vec![8], vec![0xff; 5]);
    kernel.run([1, 1, 1], &mut [&mut input, &mut output]);
    assert_eq!(output, [0, 0, 7, 4, 7]);
    let kernel = Kernel::new(&source, Bounds::Validate);
    kernel.run([1, 1, 1], &mut [&mut input, &mut output]);
    assert!(kernel.violated(), "the index is past the end");
}

#[test]
fn kt01_a_divisor_or_a_count_that_a_let_holds_has_its_run_time_answer() {
    let source = one("let zero = 0u; let minus = 0; let s = 40u; let v = vec2(0, 2); const N = 0u; let n = N;
        O[0] = I[0] / zero; O[1] = I[0] % zero; O[2] = bitcast<u32>(bitcast<i32>(I[0]) / minus); O[3] = I[0] << s;
        let q = vec2<i32>(7, 8) / v; O[4] = bitcast<u32>(q.x); O[5] = bitcast<u32>(q.y); O[6] = 5u / n;");
    assert_eq!(run_words(&source, 1, &[3], 7), [3, 0, 3, 3 << 8, 7, 4, 5]);
}

#[test]
fn kt24_the_cases_of_the_report_hold_as_constants() {
    let source = format!(
        "const A = dot(vec2<i32>(0x7fffffff, 1), vec2(2, 1)); const B = 0x7fffffffu * 0x7fffffffu; const C = extractBits(~0u, 30, 10);
         const D = extractBits(~0u, 35, 10); const E = extractBits(-1i, 30, 10); const F = insertBits(0u, ~0u, 30, 10);
         const G = insertBits(0x55u, ~0u, 3, 0); const H = countLeadingZeros(0u); const J = countTrailingZeros(0u);
         const K = firstTrailingBit(0u); const L = firstLeadingBit(-1i); const M = reverseBits(1u); {}",
        one("O[0] = bitcast<u32>(A); O[1] = B; O[2] = C; O[3] = D; O[4] = bitcast<u32>(E); O[5] = F; O[6] = G; O[7] = H; O[8] = J; O[9] = K;
            O[10] = bitcast<u32>(L); O[11] = M;")
    );
    let ones = u32::MAX;
    assert_eq!(run_words(&source, 1, &[0], 12), [ones, 1, 3, 0, ones, 0xc000_0000, 0x55, 32, 32, ones, ones, 0x8000_0000]);
}

#[test]
fn constants_of_every_kind_reach_the_code() {
    let source = format!(
        "struct S {{ a: u32, b: vec2<f32> }} const T = array(1.5, mix(2.0, 4.0, 0.5), 8.0); const s = S(3, vec2(T[1], smoothstep(0, 1, 0.5)));
         const m = transpose(mat2x2<f32>(1, 2, 3, 4)); const n = m * vec2<f32>(1.0, mix(0.0, 2.0, 0.5));
         const N = extractBits(0xf5u, 0, 3); var<workgroup> w: array<u32, N>; var<private> p = bitcast<u32>(1.5f);
         override R = 2u; override Q: u32 = R + 1u; {HEAD}
         @compute @workgroup_size(insertBits(0u, 1u, 1, 1)) fn main(@builtin(local_invocation_index) li: u32) {{
            if li == 0u {{ O[0] = u32(s.b.x); O[1] = bitcast<u32>(s.b.y); O[2] = u32(n.x); O[3] = u32(n.y); O[4] = p; O[5] = Q; }}
            w[4u - li] = 7u; workgroupBarrier(); if li == 1u {{ O[6] = w[4] + w[3]; }}
            switch I[0] {{ case bitcast<u32>(1.0f): {{ O[7] = 1u; }} default: {{ O[7] = 2u; }} }}
         }}"
    );
    let expected = [3, 0.5f32.to_bits(), 3, 7, 1.5f32.to_bits(), 3, 14, 1];
    assert_eq!(run_words(&source, 1, &[1.0f32.to_bits()], 8), expected);
}

#[test]
fn loop_variables_and_blocks_hide_what_is_outside() {
    let source = format!(
        "const N = 5u; fn f(i: u32) -> u32 {{ var s = 0u; for (var i = 0u; i < 4u; i++) {{ let i = i * 10u; s += i; }} return s + i; }}
         fn max(a: u32, b: u32) -> u32 {{ return a - b; }} {}",
        one("O[0] = f(I[0]); O[1] = max(9u, 2u);
            let N = N + I[0]; O[2] = N; { let N = N * 2u; O[3] = N; } O[4] = N;
            var a = 1u; if a == 1u { var a = 2u; a++; O[5] = a; } O[6] = a;
            for (var i = 0u; i < 2u; i++) { var i = 7u; i += 1u; O[7] += i; }")
    );
    assert_eq!(run_words(&source, 1, &[3], 8), [63, 7, 8, 16, 8, 3, 1, 16]);
}

#[test]
fn declarations_may_stand_in_any_order() {
    let source = format!(
        "{} fn f() -> u32 {{ return g() + C; }} fn g() -> u32 {{ D.x += 1u; return D.x; }} const C = E + 1u; const E = 2u;
         var<private> D: S; struct S {{ x: T }} alias T = u32;",
        one("O[0] = f() + f();")
    );
    assert_eq!(run_words(&source, 1, &[0], 1), [9]);
}

#[test]
fn assignments_take_every_shape() {
    let source = one("var v = vec4<u32>(1, 2, 3, 4); v.x += 10u; v[1] <<= 3u; v.z++; v[3]--; v ^= vec4(I[0]);
        var m = mat2x2<f32>(1, 2, 3, 4); m[0].y += 1.0; m[1] *= 2.0; m *= 2.0; m *= m;
        var a = array<u32, 2>(5, 6); let p = &a; (*p)[1]++; p[0] -= 2u; _ = p[0]; O[7]++;
        O[0] = v.x; O[1] = v.y; O[2] = v.z; O[3] = v.w; O[4] = u32(m[0].x); O[5] = a[0]; O[6] = a[1];");
    assert_eq!(run_words(&source, 1, &[1], 8), [10, 17, 5, 2, 76, 3, 7, 1]);
}

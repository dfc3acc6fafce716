//! Arithmetic, memory layout, locals, functions and control flow without barriers.

use super::*;

const SAXPY: &str = "
    struct Parameters { a: f32, n: u32 }
    @group(0) @binding(0) var<uniform> p: Parameters;
    @group(0) @binding(1) var<storage, read> x: array<f32>;
    @group(0) @binding(2) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
        let i = gid.x;
        if (i >= p.n) { return; }
        y[i] = p.a * x[i] + y[i];
    }
";

#[test]
fn saxpy_matches_plain_arithmetic() {
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        let n = 1000;
        let mut p = [2.5f32.to_bits(), n as u32, 0, 0];
        let mut x = bits(&(0..n).map(|i| i as f32 * 0.25).collect::<Vec<_>>());
        let mut y = bits(&(0..n).map(|i| 7.0 - i as f32).collect::<Vec<_>>());
        let expected: Vec<f32> = (0..n).map(|i| 2.5 * (i as f32 * 0.25) + (7.0 - i as f32)).collect();
        Kernel::new(SAXPY, bounds).run([16, 1, 1], &mut [&mut p, &mut x, &mut y]);
        assert_eq!(floats(&y), expected);
    }
}

#[test]
fn invocation_ids_of_three_axes_cover_the_grid() {
    let source = format!(
        "{HEAD} @compute @workgroup_size(3, 2, 4) fn main(@builtin(global_invocation_id) g: vec3<u32>,
            @builtin(num_workgroups) n: vec3<u32>, @builtin(local_invocation_index) li: u32,
            @builtin(local_invocation_id) l: vec3<u32>, @builtin(workgroup_id) w: vec3<u32>) {{
            let width = n.x * 3u; let height = n.y * 2u;
            let i = (g.z * height + g.y) * width + g.x;
            O[i] = li + 100u * (l.x + 3u * l.y + 6u * l.z) + 10000u * (w.x + w.y + w.z) + I[0];
        }}"
    );
    let groups = [2, 3, 2];
    let mut output = vec![0; 24 * 12];
    Kernel::new(&source, Bounds::Checked).run(groups, &mut [&mut [1], &mut output]);
    for z in 0..8 {
        for y in 0..6 {
            for x in 0..6 {
                let li = (x % 3) + 3 * (y % 2) + 6 * (z % 4);
                let w = x / 3 + y / 2 + z / 4;
                assert_eq!(output[((z * 6 + y) * 6 + x) as usize], li + 100 * li + 10000 * w + 1);
            }
        }
    }
}

#[test]
fn kt05_break_if_reads_the_variable_on_each_pass() {
    let source = one("var c = I[0]; loop { c += 1u; continuing { break if c == I[1]; } } O[0] = c;");
    assert_eq!(run_words(&source, 1, &[0, 5], 1), [5]);
}

#[test]
fn kt11_the_length_of_an_array_is_that_of_what_is_bound() {
    let source = "
        struct S { head: vec2<u32>, tail: array<vec2<u32>> }
        @group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;
        @group(0) @binding(1) var<storage, read> b: S;
        @group(0) @binding(2) var<storage, read_write> O: array<u32>;
        @compute @workgroup_size(1) fn main() {
            O[0] = arrayLength(&a); O[1] = a[1].y; O[2] = arrayLength(&b.tail); O[3] = arrayLength(&O);
        }";
    let mut a: Vec<u32> = (64..64 + 25).collect();
    let mut b: Vec<u32> = (128..128 + 25).collect();
    let mut output = [0; 4];
    Kernel::new(source, Bounds::Checked).run([1, 1, 1], &mut [&mut a, &mut b, &mut output]);
    assert_eq!(output, [6, 69, 11, 4]);
}

#[test]
fn kt12_structs_have_the_layout_of_the_language_and_padding_is_left_alone() {
    let source = "
        struct S { a: f32, b: vec3<f32>, c: f32, d: vec2<f32>, m: mat3x3<f32>, z: f32 }
        @group(0) @binding(0) var<storage, read> I: array<f32>;
        @group(0) @binding(1) var<storage, read_write> s: array<S>;
        @group(0) @binding(2) var<storage, read_write> v: array<vec3<u32>>;
        @compute @workgroup_size(1) fn main() {
            s[1].a = I[0]; s[1].b = vec3(I[1], I[2], I[3]); s[1].c = I[4]; s[1].d = vec2(I[5], I[6]);
            s[1].m = mat3x3(I[7], I[8], I[9], I[10], I[11], I[12], I[13], I[14], I[15]); s[1].z = I[16];
            v[1] = vec3(1u, 2u, 3u);
            s[2] = s[1];
        }";
    let mut input = bits(&(1..=17).map(|i| i as f32).collect::<Vec<_>>());
    let (mut s, mut v) = (vec![9; 28 * 3], [9; 8]);
    Kernel::new(source, Bounds::Checked).run([1, 1, 1], &mut [&mut input, &mut s, &mut v]);
    let places = [0, 4, 5, 6, 7, 8, 9, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24];
    for element in [1, 2] {
        for word in 0..28 {
            let expected = places.iter().position(|p| *p == word).map_or(9, |i| (i as f32 + 1.0).to_bits());
            assert_eq!(s[element * 28 + word], expected, "word {word} of element {element}");
        }
    }
    assert_eq!(s[..28], [9; 28]);
    assert_eq!(v, [9, 9, 9, 9, 1, 2, 3, 9]);
}

#[test]
fn switches_fall_through_nothing_and_continue_the_loop_around() {
    let source = one("
        var log = 0u;
        for (var i = 0u; i < 8u; i++) {
            switch (I[i]) {
                case 0u: { log += 1u; }
                case 1u, 2u: { log += 10u; if (i > 3u) { break; } log += 100u; }
                case 3u: { continue; }
                default: { log += 1000u; }
                case 4u: { if (i == 7u) { log += 5u; break; } log += 10000u; }
            }
            log += 100000u;
        }
        O[0] = log;
    ");
    let input = [0, 1, 2, 3, 9, 2, 4, 4];
    assert_eq!(run_words(&source, 1, &input, 1), [1 + 110 + 110 + 1000 + 10 + 10000 + 5 + 700000]);
}

#[test]
fn pointers_to_locals_reach_through_calls() {
    let source = format!(
        "{HEAD} struct S {{ a: u32, v: vec4<u32>, t: array<u32, 3> }}
        var<private> count: u32;
        fn bump(x: ptr<function, u32>) -> u32 {{ count += 1u; *x += 1u; return *x; }}
        fn fill(t: ptr<function, array<u32, 3>>, from_: u32) {{ for (var i = 0u; i < 3u; i++) {{ (*t)[i] = from_ + i; }} }}
        fn both(s: ptr<function, S>) -> S {{ var z = (*s).v.z; (*s).a = bump(&(*s).a) + bump(&z); (*s).v.z = z; fill(&(*s).t, (*s).a); return *s; }}
        fn priv_(p: ptr<private, u32>) {{ *p *= 10u; }}
        @compute @workgroup_size(2) fn main(@builtin(local_invocation_index) li: u32) {{
            var s: S;
            s.a = I[li]; s.v = vec4(I[li]);
            let copy = both(&s);
            s.t[1] = 0u;
            priv_(&count);
            let o = li * 8u;
            O[o] = copy.a; O[o + 1u] = copy.v.z; O[o + 2u] = copy.t[1]; O[o + 3u] = s.t[1]; O[o + 4u] = s.t[2]; O[o + 5u] = count; O[o + 6u] = s.v.w;
        }}"
    );
    let of = |x: u32| [2 * x + 2, x + 1, 2 * x + 3, 0, 2 * x + 4, 20, x, 0];
    let expected: Vec<u32> = of(5).into_iter().chain(of(9)).collect();
    assert_eq!(run_words(&source, 1, &[5, 9], 16), expected);
}

#[test]
fn large_arrays_are_copied_compared_and_indexed_as_values() {
    let source = format!(
        "{HEAD} struct Big {{ head: vec3<u32>, t: array<vec3<u32>, 40>, flags: array<bool, 40> }}
        @group(0) @binding(2) var<storage, read_write> T: array<array<vec3<u32>, 40>>;
        const squares = array<u32, 64>(0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100,
            121, 144, 169, 196, 225, 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144,
            169, 196, 225);
        fn make(seed: u32) -> Big {{
            var b: Big;
            for (var i = 0u; i < 40u; i++) {{ b.t[i] = vec3(seed + i, i, 1u); b.flags[i] = i % 3u == 0u; }}
            b.head = b.t[seed];
            return b;
        }}
        @compute @workgroup_size(2) fn main(@builtin(local_invocation_index) li: u32) {{
            let a = make(I[li]);
            var b = a;
            b.t[3].y = 1000u;
            T[li] = b.t;
            let c = T[li];
            T[I[2]] = c;
            let zero = T[I[2] + 5u];
            let o = li * 8u;
            O[o] = a.head.x; O[o + 1u] = a.t[3].y; O[o + 2u] = b.t[3].y; O[o + 3u] = u32(a.flags[I[li]]); O[o + 4u] = c[I[li]].x; O[o + 5u] = c[3].y;
            O[o + 6u] = squares[I[li] + 16u]; O[o + 7u] = zero[1].x;
        }}"
    );
    for bounds in [Bounds::Checked, Bounds::Validate] {
        let (mut output, mut table) = (vec![0; 16], vec![9; 2 * 40 * 4]);
        Kernel::new(&source, bounds).run([1, 1, 1], &mut [&mut [5, 9, 1_000_000], &mut output, &mut table]);
        assert_eq!(output, [10, 3, 1000, 0, 10, 1000, 25, 0, 18, 3, 1000, 1, 18, 1000, 81, 0]);
        for li in 0..2 {
            for i in 0..40 {
                let word = (li * 40 + i) * 4;
                let y = if i == 3 { 1000 } else { i };
                assert_eq!(table[word..word + 4], [[5, 9][li] + i as u32, y as u32, 1, 9]);
            }
        }
    }
}

#[test]
fn locals_in_loops_start_anew_and_shadowing_works() {
    let source = one("
        var sum = 0u;
        for (var i = 0u; i < 4u; i++) {
            var x: u32; var y = i;
            x += I[0]; y += x;
            { var x = 100u; x += y; sum += x; }
            sum += x;
        }
        O[0] = sum;
        var a = vec4(I[0]); a[I[1]] = 5u; a.y += 2u; let b = a; a.x = 0u; O[1] = b.x + b.y * 10u + b.z * 100u + b[I[1]] * 1000u + a.x;
        var m: mat2x2<f32>; m[I[1] - 1u] = vec2(1.0, 2.0); m[0][I[1] - 1u] = 3.0; O[2] = u32(m[0].x + 10.0 * m[0].y + 100.0 * m[1].x + 1000.0 * m[1].y);
        let short = I[0] == 3u && (I[1] / (I[0] - 3u)) > 0u || I[0] > 100u; O[3] = u32(short);
    ");
    let first = (0..4).map(|i| 100 + i + 3 + 3).sum::<u32>();
    assert_eq!(run_words(&source, 1, &[3, 2], 4), [first, 3 + 50 + 500 + 5000, 2130, 1]);
}

#[test]
fn immediates_and_uniforms_are_read() {
    let source = "
        struct U { m: mat4x2<f32>, v: vec3<f32>, n: i32 }
        var<immediate> im: U;
        @group(0) @binding(3) var<uniform> u: U;
        @group(0) @binding(5) var<storage, read_write> O: array<f32>;
        @compute @workgroup_size(1) fn main() {
            O[0] = im.m[u.n].y; O[1] = u.m[im.n].x; O[2] = u.v.z; O[3] = im.v.y; O[4] = f32(im.n + u.n);
        }";
    let mut kernel = Kernel::new(source, Bounds::Checked);
    kernel.immediates = bits(&(0..12).map(|i| i as f32).collect::<Vec<_>>());
    kernel.immediates[11] = 2;
    let mut u = bits(&(100..112).map(|i| i as f32).collect::<Vec<_>>());
    u[11] = 3;
    let mut output = [0; 5];
    kernel.run([1, 1, 1], &mut [&mut u, &mut output]);
    assert_eq!(floats(&output), [7.0, 104.0, 110.0, 9.0, 5.0]);
}

#[test]
fn constant_tables_are_indexed_where_they_are() {
    let numbers: Vec<String> = (0..256).map(|i| format!("{}u", i * i)).collect();
    let source = format!(
        "{HEAD} struct E {{ a: vec3<f32>, b: bool, c: array<i32, 2> }}
        const squares = array<u32, 256>({});
        const mixed = array<E, 3>(E(vec3(1.0), true, array(1, 2)), E(), E(vec3(2.0, 3.0, 4.0), false, array(-1, 7)));
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {{
            let e = mixed[li % 3u];
            O[li] = squares[I[li]] + squares[li] + u32(e.a.z) * 100000u + u32(e.b) * 1000000u + u32(e.c[li % 2u] + 1) * 10000000u;
        }}",
        numbers.join(",")
    );
    let input: Vec<u32> = (0..64).map(|i| i * 4 + 3).collect();
    let expected: Vec<u32> = (0..64u32)
        .map(|i| {
            let (z, b, c) = [(1, 1, [1, 2]), (0, 0, [0, 0]), (4, 0, [-1, 7])][i as usize % 3];
            (i * 4 + 3) * (i * 4 + 3) + i * i + z * 100_000 + b * 1_000_000 + (c[i as usize % 2] + 1) as u32 * 10_000_000
        })
        .collect();
    assert_eq!(run_words(&source, 1, &input, 64), expected);
    let size = |bounds| Kernel::new(&source, bounds).compiled.code_size();
    assert!(size(Bounds::Checked) < 1500, "the tables are in the code: {} bytes", size(Bounds::Checked));
    let mut output = [0; 64];
    Kernel::new(&source, Bounds::Checked).run([1, 1, 1], &mut [&mut [256; 64], &mut output]);
    assert_eq!(output[3], 9 + 1_100_000 + 30_000_000);
}

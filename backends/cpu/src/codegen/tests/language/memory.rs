//! Layout, address spaces, atomics.

use super::numbers::Integer;
use super::*;

/// Bytes by name, for every numeric type.
const SCALARS: [(&str, usize); 9] =
    [("f16", 2), ("i16", 2), ("u16", 2), ("f32", 4), ("i32", 4), ("u32", 4), ("f64", 8), ("i64", 8), ("u64", 8)];

/// A number of a type as its bytes.
fn bytes_of(name: &str, n: i64) -> Vec<u8> {
    match name {
        "f16" => Half(n as f32).bytes(),
        "f32" => (n as f32).bytes(),
        "f64" => (n as f64).bytes(),
        "i16" | "u16" => (n as i16).bytes(),
        "i32" | "u32" => (n as i32).bytes(),
        _ => n.bytes(),
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().unwrap())
}

/// Runs one invocation over raw bytes at binding 0 (read, or uniform) and 1.
fn run_bytes(source: &str, input: &[u8], output: usize) -> Vec<u8> {
    let words = |bytes: &[u8]| bytes.chunks(4).map(word).collect::<Vec<u32>>();
    run_words(&format!("{ENABLES}{source}"), 1, &words(input), output / 4).iter().flat_map(|w| w.to_ne_bytes()).collect()
}

pub(super) const NAMES: &[&str] = names![
    kt_12_vectors_arrays_and_structures_have_the_layout_of_the_language,
    matrices_of_every_size_have_the_layout_of_the_language,
    kt_10_every_type_lives_in_every_address_space_and_begins_with_zero,
    workgroup_values_of_every_type_pass_a_barrier,
    kt_11_lengths_count_elements_of_every_size,
    kt_21_indices_out_of_range_read_zero_and_write_nothing,
    kt_07_atomics_of_integers_give_what_was_there,
    atomics_of_floats_add_and_exchange,
    override_constants_have_every_type_that_fits_an_f64,
    override_constants_of_64_bits_keep_every_bit,
    override_constants_of_64_bits_that_are_not_computed_here_are_right_or_refused,
    sizes_and_indices_of_64_bit_override_constants_are_refused_or_right,
    several_components_are_assigned_at_once,
];

#[test]
fn kt_12_vectors_arrays_and_structures_have_the_layout_of_the_language() {
    for (name, size) in SCALARS {
        // Members a, b: vec3, c, d: vec2, e: array of vec3, f.
        let source = format!(
            "struct S {{ a: {name}, b: vec3<{name}>, c: {name}, d: vec2<{name}>, e: array<vec3<{name}>, 2>, f: {name} }}
            @group(0) @binding(0) var<storage, read> A: array<S, 2>;
            @group(0) @binding(1) var<storage, read_write> R: array<S, 2>;
            @compute @workgroup_size(1) fn main() {{
                var s: S; s.a = {name}(1); s.b = vec3({name}(2), {name}(3), {name}(4)); s.c = {name}(5); s.d = vec2({name}(6), {name}(7));
                s.e[0] = vec3({name}(8), {name}(9), {name}(10)); s.e[1] = A[1].e[1]; s.f = A[0].f; R[1] = s;
            }}"
        );
        // In units of the scalar: b at 4, c right behind it, d at 8, e at 12 with a stride of 4, f at 20, all rounded up to 24.
        let stride = 24 * size;
        let at = |element: usize, place: usize| element * stride + place * size;
        let mut input = vec![0xee; 2 * stride];
        let put = |to: &mut [u8], place: usize, n: i64| to[place..place + size].copy_from_slice(&bytes_of(name, n));
        for (place, n) in [(16, 11), (17, 12), (18, 13)] {
            put(&mut input, at(1, place), n);
        }
        put(&mut input, at(0, 20), 14);
        let mut expected = vec![0; 2 * stride];
        let order = [
            (0, 1),
            (4, 2),
            (5, 3),
            (6, 4),
            (7, 5),
            (8, 6),
            (9, 7),
            (12, 8),
            (13, 9),
            (14, 10),
            (16, 11),
            (17, 12),
            (18, 13),
            (20, 14),
        ];
        for (place, n) in order {
            put(&mut expected, at(1, place), n);
        }
        // Padding is left as it was.
        assert_eq!(run_bytes(&source, &input, 2 * stride), expected, "{name}");
    }
}

#[test]
fn matrices_of_every_size_have_the_layout_of_the_language() {
    for (name, size) in [("f16", 2), ("f32", 4), ("f64", 8)] {
        for columns in 2..=4usize {
            for rows in 2..=4usize {
                let ty = format!("mat{columns}x{rows}<{name}>");
                let column = rows.next_power_of_two() * size;
                let align = column.max(16);
                let bytes = (columns * column).next_multiple_of(align);
                for space in ["storage, read", "uniform"] {
                    let source = format!(
                        "struct S {{ @align({align}) m: {ty}, @align({align}) n: {name} }}
                        @group(0) @binding(0) var<{space}> A: S;
                        @group(0) @binding(1) var<storage, read_write> R: S;
                        @compute @workgroup_size(1) fn main() {{ var m = A.m; let c = u32(A.n); m[c][1] += {name}(50); R.m = m; R.n = A.m[c].y; }}"
                    );
                    let all = bytes + align;
                    let mut input = vec![0u8; all];
                    let mut expected = vec![0u8; all];
                    for c in 0..columns {
                        for r in 0..rows {
                            let (at, n) = (c * column + r * size, (c * 4 + r + 1) as i64);
                            input[at..at + size].copy_from_slice(&bytes_of(name, n));
                            let n = if (c, r) == (1, 1) { n + 50 } else { n };
                            expected[at..at + size].copy_from_slice(&bytes_of(name, n));
                        }
                    }
                    input[bytes..bytes + size].copy_from_slice(&bytes_of(name, 1));
                    expected[bytes..bytes + size].copy_from_slice(&bytes_of(name, 6));
                    assert_eq!(run_bytes(&source, &input, all), expected, "{ty} in {space}");
                }
            }
        }
    }
}

#[test]
fn kt_10_every_type_lives_in_every_address_space_and_begins_with_zero() {
    for (name, size) in SCALARS {
        let source = format!(
            "struct S {{ x: {name}, v: vec3<{name}>, a: array<{name}, 40>, b: bool }}
            var<private> p: S; var<workgroup> g: S; var<private> q = vec2({name}(3), {name}(4));
            @group(0) @binding(0) var<storage, read> A: array<{name}>;
            @group(0) @binding(1) var<storage, read_write> R: array<{name}>;
            fn sum(s: S) -> {name} {{ var n = s.x + s.v.z; for (var i = 0u; i < 40u; i++) {{ n += s.a[i]; }} if (s.b) {{ n += {name}(1); }} return n; }}
            @compute @workgroup_size(1) fn main() {{
                var f: S;
                R[0] = sum(p) + sum(g) + sum(f);
                p.a[u32(A[0])] = A[0]; g.v.z = A[1]; g.b = true; f.a[7] = {name}(9); f.x = q.y;
                let copy = f; f.x = {name}(1);
                R[1] = sum(p); R[2] = sum(g); R[3] = sum(copy); R[4] = workgroupUniformLoad(&g).v.z; R[5] = workgroupUniformLoad(&g.a[39]);
            }}"
        );
        let input: Vec<u8> = [2, 5, 0, 0].into_iter().flat_map(|n| bytes_of(name, n)).collect();
        let expected: Vec<u8> = [0, 2, 6, 13, 5, 0, 0, 0].into_iter().flat_map(|n| bytes_of(name, n)).collect();
        assert_eq!(run_bytes(&source, &input, 8 * size), expected, "{name}");
    }
}

#[test]
fn workgroup_values_of_every_type_pass_a_barrier() {
    for (name, size) in SCALARS {
        // Values live across the barrier in frames, one of each size.
        let source = format!(
            "@group(0) @binding(0) var<storage, read> A: array<{name}>;
            @group(0) @binding(1) var<storage, read_write> R: array<{name}>;
            var<workgroup> g: array<{name}, 8>; var<workgroup> m: array<vec3<{name}>, 8>;
            @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {{
                let own = A[i]; let pair = vec2(own, own + {name}(1)); var kept = own * {name}(2); let odd = (i & 1u) == 1u;
                g[i] = own; m[i] = vec3(own, pair.y, kept);
                workgroupBarrier();
                kept += g[7u - i] + pair.y + m[(i + 1u) % 8u].z;
                workgroupBarrier();
                R[i] = select(kept, kept + own, odd);
            }}"
        );
        let input: Vec<u8> = (0..8).flat_map(|n| bytes_of(name, n)).collect();
        let expected = |n: i64| 2 * n + (7 - n) + (n + 1) + 2 * ((n + 1) % 8) + if n % 2 == 1 { n } else { 0 };
        let expected: Vec<u8> = (0..8).flat_map(|n| bytes_of(name, expected(n))).collect();
        assert_eq!(run_bytes(&source, &input, 8 * size), expected, "{name}");
    }
}

#[test]
fn kt_11_lengths_count_elements_of_every_size() {
    for (name, size) in SCALARS {
        let source = format!(
            "struct S {{ n: {name}, a: array<vec2<{name}>> }} @group(0) @binding(0) var<storage, read> A: S;
            @group(0) @binding(1) var<storage, read_write> R: array<u32>;
            @compute @workgroup_size(1) fn main() {{ R[0] = arrayLength(&A.a); R[1] = arrayLength(&R); R[2] = u32(A.a[1].y); R[3] = u32(A.a[100].y); }}"
        );
        // 22 words: whole pairs behind a header of one pair.
        let mut input = vec![0u8; 88];
        input[5 * size..6 * size].copy_from_slice(&bytes_of(name, 7));
        let got: Vec<u32> = run_bytes_checked(&source, &input, 16).chunks(4).map(word).collect();
        assert_eq!(got, [(88 - 2 * size as u32) / (2 * size as u32), 4, 7, 0], "{name}");
    }
}

#[test]
fn kt_21_indices_out_of_range_read_zero_and_write_nothing() {
    for (name, size) in SCALARS {
        let source = format!(
            "@group(0) @binding(0) var<storage, read> A: array<{name}>; @group(0) @binding(1) var<storage, read_write> R: array<{name}>;
            @compute @workgroup_size(1) fn main() {{
                let n = u32(A[0]); var l: array<{name}, 4>; l[n] = {name}(5); l[1] = {name}(1);
                R[0] = A[n] + l[n] + l[n - 76u]; R[n] = {name}(9); R[8] = {name}(9); R[n * 1000003u] = {name}(9);
            }}"
        );
        let mut input = vec![0u8; 8 * size];
        input[..size].copy_from_slice(&bytes_of(name, 77));
        let mut expected = vec![0u8; 8 * size];
        expected[..size].copy_from_slice(&bytes_of(name, 1));
        assert_eq!(run_bytes_checked(&source, &input, 8 * size), expected, "{name}");
    }
}

#[test]
fn kt_07_atomics_of_integers_give_what_was_there() {
    fn check<T: Integer>() {
        let name = T::NAME;
        for shared in [false, true] {
            let declaration = if shared {
                format!(
                    "var<workgroup> S: array<atomic<{name}>, 32>; @group(0) @binding(1) var<storage, read_write> R: array<{name}>;"
                )
            } else {
                format!("@group(0) @binding(1) var<storage, read_write> S: array<atomic<{name}>>;")
            };
            let body = format!(
                "atomicStore(&S[20], {name}(5)); let a = atomicCompareExchangeWeak(&S[20], {name}(5), {name}(9));
                O(0, a.old_value); O(1, {name}(a.exchanged)); let b = atomicCompareExchangeWeak(&S[20], {name}(5), {name}(1));
                O(2, b.old_value); O(3, {name}(b.exchanged)); O(4, atomicLoad(&S[20]));
                atomicStore(&S[21], A[0]); O(5, atomicMax(&S[21], {name}(3))); O(6, atomicMin(&S[21], A[1])); O(7, atomicExchange(&S[21], {name}(4)));
                O(8, atomicSub(&S[21], {name}(10))); O(9, atomicAdd(&S[21], A[1])); O(10, atomicAnd(&S[21], {name}(0xff)));
                O(11, atomicOr(&S[21], {name}(0x100))); O(12, atomicXor(&S[21], {name}(0x3))); O(13, atomicLoad(&S[21]));
                atomicAdd(&S[21], {name}(1)); atomicMax(&S[22], {name}(2)); O(14, atomicLoad(&S[21]) + atomicLoad(&S[22]));"
            );
            let store = if shared { "R[i] = v;" } else { "atomicStore(&S[i], v);" };
            let source = format!(
                "@group(0) @binding(0) var<storage, read> A: array<{name}>; {declaration}
                fn O(i: u32, v: {name}) {{ {store} }}
                @compute @workgroup_size(1) fn main() {{ {body} }}"
            );
            let (minus_five, minus_nine) = (T::of(-5), T::of(-9));
            let input: Vec<u8> = [minus_five, minus_nine].into_iter().flat_map(Number::bytes).collect();
            let got = numbers_of::<T>(&run_bytes(&source, &input, 24 * T::SIZE).chunks(4).map(word).collect::<Vec<_>>(), 15);
            let top = minus_five.max(T::of(3));
            let low = top.min(minus_nine);
            let sum = T::of(-6 - 9);
            let rest = (sum.bits() as i128 & 0xff | 0x100) ^ 3;
            let expected = [
                5,
                1,
                9,
                0,
                9,
                minus_five.wide(),
                top.wide(),
                low.wide(),
                4,
                -6,
                sum.wide(),
                sum.wide() & 0xff,
                sum.wide() & 0xff | 0x100,
                rest,
                rest + 3,
            ];
            assert_eq!(got, expected.map(T::of), "{name}, workgroup: {shared}");
        }
    }
    check::<i32>();
    check::<u32>();
    check::<i64>();
    check::<u64>();
}

#[test]
fn atomics_of_floats_add_and_exchange() {
    let source = "@group(0) @binding(0) var<storage, read> A: array<f32>; @group(0) @binding(1) var<storage, read_write> S: array<atomic<f32>>;
        @compute @workgroup_size(4) fn main() {
            atomicAdd(&S[0], A[0]); atomicSub(&S[1], 0.5); let old = atomicExchange(&S[2], A[1]); atomicStore(&S[3], atomicLoad(&S[2]) + old);
            atomicAdd(&S[u32(A[0]) + 100u], 1.0);
        }";
    let input: Vec<u8> = [1.25f32, 7.0].into_iter().flat_map(Number::bytes).collect();
    let got = numbers_of::<f32>(&run_bytes_checked(source, &input, 16).chunks(4).map(word).collect::<Vec<_>>(), 4);
    assert_eq!(got, [5.0, -2.0, 7.0, 14.0]);
}

#[test]
fn override_constants_have_every_type_that_fits_an_f64() {
    let source = format!(
        "{ENABLES} override h: f16 = 0.1h; override d: f64 = 0.1lf; override s: i16 = -3; override t: u16; override b: bool = true; override n: u32 = 2u + 3u;
        var<workgroup> g: array<vec2<f16>, n * 2u>;
        @group(0) @binding(0) var<storage, read> A: array<u32>; @group(0) @binding(1) var<storage, read_write> R: array<f64>;
        @compute @workgroup_size(1) fn main() {{ g[A[0]].y = h; R[0] = f64(g[9].y); R[1] = d; R[2] = f64(s); R[3] = f64(t); R[4] = f64(b); R[5] = f64(g[3].x); }}"
    )
    .replace("f64(b)", "select(0.0lf, 1.0lf, b)");
    let module = Module::parse(&Source::wgsl(&source)).unwrap_or_else(|e| panic!("{}", e.text));
    let given =
        [("h", 0.3), ("t", 65_535.0)].map(|(key, value)| compute_kernel::Constant { key: key.into(), value: value.into() });
    let entry = module.entry_point(None, &given).unwrap_or_else(|e| panic!("{}", e.text));
    let kernel = Kernel::of_entry(&entry, Bounds::Checked, false);
    let mut output = vec![0; 12];
    kernel.run([1, 1, 1], &mut [&mut [9], &mut output]);
    let half = f64::from(compute_kernel::math::f16_from_f64(0.3));
    assert_eq!(numbers_of::<f64>(&output, 6), [half, 0.1, -3.0, 65_535.0, 1.0, 0.0]);
    for (key, value) in [("h", 65_505.0), ("h", f64::NAN), ("s", -32_769.0), ("t", -1.0), ("t", 0.5), ("d", f64::INFINITY)] {
        let given =
            [("t", 1.0), (key, value)].map(|(key, value)| compute_kernel::Constant { key: key.into(), value: value.into() });
        let given = if key == "t" { &given[1..] } else { &given[..] };
        assert!(module.entry_point(None, given).is_err(), "{key} = {value}");
    }
}

#[test]
fn several_components_are_assigned_at_once() {
    let source = "requires swizzle_assignment;
        struct S { v: vec4<f32>, n: array<vec3<u32>, 2> }
        @group(0) @binding(0) var<storage, read> A: array<u32>; @group(0) @binding(1) var<storage, read_write> R: array<vec4<u32>>;
        var<private> calls = 0u; var<workgroup> shared_one: vec4<u32>; var<private> own: S;
        fn next() -> u32 { calls += 1u; return calls - 1u; }
        fn through(p: ptr<function, vec3<i32>>, by: vec2<i32>) { (*p).zx -= by; p.yx = p.xy; }
        @compute @workgroup_size(1) fn main() {
            var v = vec4<f32>(1, 2, 3, 4); v.yx = v.xy; v.wz += vec2(10, 20); own.v = v;
            own.n[next()].bg = vec2(A[0], 8u); own.n[A[0] - 4u].xyz = vec3(1, 2, 3) * 2; own.n[1].zy *= 3u;
            const pair = vec2(100, 200); own.v.xw = pair; if (A[0] == 5u) { own.v.xw /= vec2<f32>(f32(A[0])); }
            var i = vec3<i32>(7, 8, 9); through(&i, vec2(1, 2)); i.yz <<= vec2(1u, 2u);
            shared_one.zwxy = vec4(A[0], A[0] + 1u, 2u, 3u);
            R[0] = vec4<u32>(own.v); R[1] = vec4(own.n[0], calls); R[2] = vec4(own.n[1], 0u); R[3] = vec4(bitcast<vec3<u32>>(i), 0u); R[4] = shared_one;
            R[5].wy = vec2(1u, 2u); R[5].xz = R[5].wy + 1u; R[next() + 5u].xy = vec2(next(), next());
            let before = R[5].xyz.xy; if (before.xy.x == 2u) { R[7].xyzw = R[5].wzyx; }
        }";
    let got = numbers_of::<u32>(&run_bytes(source, &5u32.to_ne_bytes(), 128).chunks(4).map(word).collect::<Vec<_>>(), 32);
    let want =
        [[20, 1, 23, 40], [0, 8, 5, 1], [2, 12, 18, 0], [8, 10, 32, 0], [2, 3, 5, 6], [2, 2, 3, 1], [2, 3, 0, 0], [1, 3, 2, 2]];
    assert_eq!(got, want.concat());
}

#[test]
fn override_constants_of_64_bits_that_are_not_computed_here_are_right_or_refused() {
    let kernel = |rest: &str| {
        let source = format!(
            "{ENABLES} override a: u64 = 5lu; {rest}
            @group(0) @binding(1) var<storage, read_write> R: array<u64>;
            @compute @workgroup_size(1) fn main() {{ R[0] = b; }}"
        );
        Module::parse(&Source::wgsl(&source)).and_then(|module| module.entry_point(None, &[]))
    };
    match kernel("override b: u64 = max(a, 9lu);") {
        Ok(entry) => {
            let mut output = vec![0; 2];
            Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut output]);
            assert_eq!(numbers_of::<u64>(&output, 1), [9]);
        }
        Err(refused) => assert!(!refused.text.contains("front end failed"), "{}", refused.text),
    }
    let refused = kernel("override z: u64 = 0lu; override b: u64 = a / z;").err().map(|e| e.text).unwrap_or_default();
    assert!(!refused.is_empty() && !refused.contains("front end failed"), "{refused}");
}

#[test]
fn override_constants_of_64_bits_keep_every_bit() {
    let source = format!(
        "{ENABLES} override a: i64 = -5; @id(3) override b: u64; override c: u64 = b / 3lu + 1lu; override d: f64 = f64(a) * 0.5lf; override w: u32 = 2u;
        override n = u32(b % 7lu) + w; var<private> p: u64 = c << 1u; var<private> v = vec2<i64>(a, -a); var<workgroup> g: array<u32, n * u32(a * a)>;
        fn twice(x: u64) -> u64 {{ return x * 2lu + b; }}
        @group(0) @binding(0) var<storage, read> A: array<u32>; @group(0) @binding(1) var<storage, read_write> R: array<i64>;
        @compute @workgroup_size(u32(a + 6li) + 1u) fn main(@builtin(local_invocation_index) i: u32) {{
            g[A[0]] = 9u; if (i > 0u) {{ return; }}
            R[0] = a; R[1] = i64(b); R[2] = i64(c); R[3] = i64(d * 2.0lf); R[4] = i64(p); R[5] = i64(twice(c + u64(w)));
            R[6] = i64(n); R[7] = i64(g[A[0]]); R[8] = i64(f32(b >> 40u)) + i64(u32(a)); R[9] = v.x - v.y; var l = b; l ^= c; R[10] = i64(l);
            R[11] = i64(dot(vec2<f32>(vec2<i64>(a, a)), vec2<f32>(1.0, 2.0))); R[12] = select(a, min(a, -7li), b > 5lu); R[13] = i64(~b);
        }}"
    );
    let module = Module::parse(&Source::wgsl(&source)).unwrap_or_else(|e| panic!("{}", e.text));
    let run = |a: Option<i64>, b: u64| {
        let mut given = vec![compute_kernel::Constant { key: "3".into(), value: b.into() }];
        given.extend(a.map(|a| compute_kernel::Constant { key: "a".into(), value: a.into() }));
        let entry = module.entry_point(None, &given).unwrap_or_else(|e| panic!("{}", e.text));
        let mut output = vec![0; 28];
        Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut [1], &mut output]);
        (entry.reflection().workgroup_size[0], entry.reflection().workgroup_memory, numbers_of::<i64>(&output, 14))
    };
    for (a, b) in [(None, 0x8123_4567_89ab_cdef), (Some(-3i64), u64::MAX), (Some(-4), 1), (Some(-2), (1 << 53) + 1)] {
        let given = a;
        let a = a.unwrap_or(-5);
        let (c, n) = (b / 3 + 1, b % 7 + 2);
        let want = [
            a,
            b.cast_signed(),
            c.cast_signed(),
            a,
            (c << 1).cast_signed(),
            ((c + 2).wrapping_mul(2).wrapping_add(b)).cast_signed(),
            n.cast_signed(),
            9,
            (b >> 40).cast_signed() + i64::from(a as u32),
            2 * a,
            (b ^ c).cast_signed(),
            3 * a,
            if b > 5 { -7 } else { a },
            !b.cast_signed(),
        ];
        let (size, memory, got) = run(given, b);
        assert_eq!(got, want, "{a} {b}");
        assert_eq!((i64::from(size), memory), (a + 7, n * (a * a).cast_unsigned() * 4), "{a} {b}");
    }
    let refused = |key: &str, value: compute_kernel::Number| {
        let given = [compute_kernel::Constant { key: key.into(), value }];
        module.entry_point(None, &given).err().unwrap_or_else(|| panic!("{key} = {value} was taken")).text
    };
    assert!(refused("a", 4i64.into()).contains("the override constant `b` has no default"));
    assert!(refused("b", (-1i64).into()).contains("-1 is not a value of the override constant `b`, which is u64"));
    assert!(
        refused("a", u64::MAX.into()).contains("18446744073709551615 is not a value of the override constant `a`, which is i64")
    );
    assert!(refused("a", 0.5.into()).contains("0.5 is not a value"));
    assert!(refused("w", (1i64 << 32).into()).contains("which is u32"));
}

#[test]
fn sizes_and_indices_of_64_bit_override_constants_are_refused_or_right() {
    let head = "@group(0) @binding(0) var<storage, read_write> R: array<u32>; override n: u64 = 3lu; override z: i64 = 0li;";
    let try_source = |source: &str| {
        Module::parse(&Source::wgsl(source)).and_then(|m| {
            m.entry_point(None, &[]).map(|entry| {
                let mut output = vec![7; 4];
                Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut output]);
                output
            })
        })
    };
    let main = |module: &str, body: &str| format!("{head} {module}\n@compute @workgroup_size(1) fn main() {{ {body} }}");
    assert_eq!(try_source(&main("", "R[n] = 1u;")).expect("runs"), [7, 7, 7, 1]);
    assert_eq!(try_source(&main("", "R[0] = u32(n / u64(z + 1li));")).expect("runs"), [3, 7, 7, 7]);
    for (module, body) in [
        ("var<workgroup> g: array<u32, n>;", "g[0] = 1u; R[0] = g[0];"),
        ("var<private> g = n / u64(z);", "R[0] = u32(g);"),
        ("var<private> g = n << 64u;", "R[0] = u32(g);"),
    ] {
        let refused = try_source(&main(module, body)).expect_err(module);
        assert!(refused.refusal && !refused.text.contains("front end failed"), "{}", refused.text);
    }
}

/// As [`run_bytes`], of a kernel that may read and write out of range.
fn run_bytes_checked(source: &str, input: &[u8], output: usize) -> Vec<u8> {
    let mut input: Vec<u32> = input.chunks(4).map(word).collect();
    let mut words = vec![0; output / 4];
    Kernel::new(&format!("{ENABLES}{source}"), Bounds::Checked).run([1, 1, 1], &mut [&mut input, &mut words]);
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

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
    let given = [("h", 0.3), ("t", 65_535.0)].map(|(key, value)| compute_kernel::Constant { key: key.into(), value });
    let entry = module.entry_point(None, &given).unwrap_or_else(|e| panic!("{}", e.text));
    let kernel = Kernel::of_entry(&entry, Bounds::Checked, false);
    let mut output = vec![0; 12];
    kernel.run([1, 1, 1], &mut [&mut [9], &mut output]);
    let half = f64::from(compute_kernel::math::f16_from_f64(0.3));
    assert_eq!(numbers_of::<f64>(&output, 6), [half, 0.1, -3.0, 65_535.0, 1.0, 0.0]);
    for (key, value) in [("h", 65_505.0), ("h", f64::NAN), ("s", -32_769.0), ("t", -1.0), ("t", 0.5), ("d", f64::INFINITY)] {
        let given = [("t", 1.0), (key, value)].map(|(key, value)| compute_kernel::Constant { key: key.into(), value });
        let given = if key == "t" { &given[1..] } else { &given[..] };
        assert!(module.entry_point(None, given).is_err(), "{key} = {value}");
    }
}

/// As [`run_bytes`], of a kernel that may read and write out of range.
fn run_bytes_checked(source: &str, input: &[u8], output: usize) -> Vec<u8> {
    let mut input: Vec<u32> = input.chunks(4).map(word).collect();
    let mut words = vec![0; output / 4];
    Kernel::new(&format!("{ENABLES}{source}"), Bounds::Checked).run([1, 1, 1], &mut [&mut input, &mut words]);
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

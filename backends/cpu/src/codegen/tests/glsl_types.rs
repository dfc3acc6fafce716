//! Numbers of 16 and 64 bits in GLSL: literals, conversions, arithmetic, layouts and atomics.

use compute_kernel::reflection::Bounds;
use compute_kernel::{Constant, Module, Source};

use super::{Kernel, run_words};

const EXTENSIONS: &str = "#version 460
    #extension GL_EXT_shader_explicit_arithmetic_types : require
    #extension GL_ARB_gpu_shader_int64 : enable
    #extension GL_EXT_shader_16bit_storage : require
    #extension GL_EXT_shader_atomic_float : require
    #extension GL_EXT_shader_atomic_int64 : require
    #extension GL_EXT_scalar_block_layout : require
";

fn glsl(group: u32, body: &str) -> String {
    format!(
        "{EXTENSIONS}layout(local_size_x = {group}) in;
         layout(std430, binding = 0) readonly buffer In {{ uint I[]; }};
         layout(std430, binding = 1) buffer Out {{ uint O[]; }};
         void put(int at, double v) {{ uvec2 w = unpackDouble2x32(v); O[2 * at] = w.x; O[2 * at + 1] = w.y; }}
         void put(int at, uint64_t v) {{ uvec2 w = unpackUint2x32(v); O[2 * at] = w.x; O[2 * at + 1] = w.y; }}
         {body}"
    )
}

/// Runs one invocation; what was put, as words of 64 bits.
fn put(body: &str, input: &[u32], count: usize) -> Vec<u64> {
    let words = run_words(&glsl(1, body), 1, input, 2 * count);
    words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect()
}

fn refusal(source: &str) -> String {
    match Module::parse(&Source::glsl(source)).and_then(|m| m.entry_point(None, &[]).map(|_| ())) {
        Ok(()) => panic!("was accepted: {source}"),
        Err(found) => {
            assert!(found.refusal, "{found}");
            found.text
        }
    }
}

#[test]
fn doubles_their_vectors_and_matrices_compute_in_glsl() {
    let body = "void main() {
        double x = double(I[0]) / 3.0lf;
        put(0, x); put(1, sqrt(x)); put(2, fma(x, x, -0.1LF)); put(3, mod(-x, 2.0)); put(4, I[0] + 0.5lf); put(5, float(x));
        dvec3 v = dvec3(x, 2, 3.5f); put(6, dot(v, v.zyx)); put(7, length(v)); put(8, mix(v, dvec3(1), 0.25lf).z);
        dmat2 m = dmat2(x, 2, 3, 4); put(9, (m * dvec2(1, x)).y); put(10, determinant(m)); put(11, (inverse(m) * m)[1][1]);
        put(12, transpose(m)[0][1]); put(13, dmat2(mat2(0.1))[0][0]); put(14, mat2(m)[0][0] * 2); put(15, (m / 2)[1][0]);
        int e; put(16, frexp(x, e)); put(17, e); put(18, ldexp(x, 70)); double w; put(19, modf(x, w)); put(20, w);
        put(21, isnan(x) || isinf(x) || !isinf(x / (x - x)) ? 1.0 : 2.0); put(22, max(x, 3)); put(23, float(0.1lf));
        put(24, uint64_t(x * 1e18lf)); put(25, doubleBitsToUint64(-x)); put(26, packDouble2x32(uvec2(1u, 2u)));
        put(27, outerProduct(dvec2(x, 2), dvec2(3, 4))[1][0]); put(28, dvec2(v).y + double(true)); put(29, -m[0][0] * m[1]. x);
        const double third = 1.0lf / 3.0lf; put(30, third);
        const int64_t big = -(1l << 62) * 3 / 7; put(31, uint64_t(big)); const float16_t h = 0.1hf * 3.0hf; put(32, h == x ? 0.0 : double(h));
        const uint16_t small = 0us - 1us; put(33, uint64_t(small >> 3)); put(34, uint64_t((5l % -3l) + int64_t(~7s)));
    }";
    let x = 10.0 / 3.0f64;
    let f = |v: f64| v.to_bits();
    let expected = [
        f(x),
        f(x.sqrt()),
        f(x.mul_add(x, -0.1)),
        f(-x - 2.0 * (-x / 2.0).floor()),
        f(10.5),
        f((x as f32).into()),
        f(x * 3.5 + 4.0 + 3.5 * x),
        f((x * x + 4.0 + 3.5 * 3.5).sqrt()),
        f(3.5 * 0.75 + 0.25),
        f(2.0 + 4.0 * x),
        f(x * 4.0 - 3.0 * 2.0),
        0,
        f(3.0),
        f(0.1f32.into()),
        f(((x as f32) * 2.0).into()),
        f(1.5),
        f(x / 4.0),
        2,
        f(x * 70f64.exp2()),
        f(x - 3.0),
        f(3.0),
        f(2.0),
        f(x),
        f(0.1f32.into()),
        (x * 1e18) as u64,
        f(-x),
        0x2_0000_0001,
        f(x * 4.0),
        f(3.0),
        f(-x * 3.0),
        f(1.0 / 3.0),
        (-(1i64 << 62)).wrapping_mul(3).wrapping_div(7).cast_unsigned(),
        f(half::f16::from_f32(half::f16::from_f32(0.1).to_f32() * 3.0).to_f64()),
        0x1fff,
        (2 - 8i64).cast_unsigned(),
    ];
    let found = put(body, &[10], expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        // The inverse rounds several times.
        let near = at == 11 && (f64::from_bits(*found) - 1.0).abs() < 1e-15;
        assert!(*found == expected || near, "{at}: {} and {}", f64::from_bits(*found), f64::from_bits(expected));
    }
}

#[test]
fn halves_round_after_every_operation_in_glsl() {
    let half = |v: f32| u64::from(half::f16::from_f32(v).to_bits());
    let body = "void bits(int at, float16_t v) { put(at, uint64_t(float16BitsToUint16(v))); }
        void main() {
            float16_t x = float16_t(I[0]) / 3.0hf;
            bits(0, x); bits(1, x * x); bits(2, x + 0.1HF); bits(3, sqrt(x)); bits(4, -x); bits(5, float16_t(1e6)); bits(6, exp2(x));
            f16vec3 v = f16vec3(x, 2, 3.5); bits(7, dot(v, v)); bits(8, max(v, f16vec3(3.0)).x); bits(9, mix(x, 1.0hf, 0.5hf));
            f16mat2 m = f16mat2(x, 2, 3, 4); bits(10, (m * f16vec2(1, x)).y); bits(11, determinant(m));
            float f = x; bits(12, float16_t(f * 2)); bits(13, int16_t(7) * x); put(14, double(x)); put(15, x + 1.5f);
            put(16, uint64_t(packFloat2x16(f16vec2(1, x)))); bits(17, unpackFloat2x16(0x3c004000u).y);
            put(18, isnan(x - x) || !isinf(float16_t(1e6)) ? 1.0 : 2.0); put(19, uint64_t(int16_t(x * 100.0hf))); bits(20, 65504.0hf);
        }";
    let found = put(body, &[10], 21);
    let h = |v: f32| half::f16::from_f32(v).to_f32();
    let x = h(10.0 / 3.0);
    let dot = h(h(h(x * x) + h(4.0)) + h(3.5 * 3.5));
    let expected = [
        half(x),
        half(x * x),
        half(x + h(0.1)),
        half(x.sqrt()),
        half(-x),
        half(f32::INFINITY),
        half(x.exp2()),
        half(dot),
        half(x),
        half(h(h(x * 0.5)) + 0.5),
        half(h(2.0) + h(4.0 * x)),
        half(h(x * 4.0) - 6.0),
        half(x * 2.0),
        half(7.0 * x),
        f64::from(x).to_bits(),
        f64::from(x + 1.5).to_bits(),
        half(x) << 16 | half(1.0),
        half(1.0),
        2f64.to_bits(),
        u64::from(h(x * 100.0) as u32),
        half(65504.0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn integers_of_16_and_64_bits_wrap_and_convert_in_glsl() {
    let body = "void main() {
        uint64_t a = (uint64_t(I[0]) << 32) | 0xfffffffful; int64_t b = -5l; int16_t s = int16_t(I[1]); uint16_t u = 65535us;
        put(0, a + 1ul); put(1, a * a); put(2, uint64_t(b / 2)); put(3, uint64_t(b >> 1)); put(4, a / 10ul); put(5, uint64_t(b % 3));
        put(6, uint64_t(int64_t(s) * 3)); put(7, uint64_t(s + s)); put(8, uint64_t(int16_t(s + s))); put(9, uint64_t(u + 1us));
        put(10, uint64_t(uint16_t(u + 1us))); put(11, uint64_t(s >> 3)); put(12, uint64_t(-u)); put(13, a > 5u ? 1ul : 0ul);
        i64vec3 v = i64vec3(b, s, 7); put(14, uint64_t(v.x * v.y * v.z)); u16vec2 w = u16vec2(u, 2) << 1; put(15, uint64_t(w.x + 0u));
        put(16, uint64_t(int(a))); put(17, uint64_t(double(a))); put(18, uint64_t(float(b) * -1.0)); put(19, uint64_t(bitCount(a)));
        put(20, uint64_t(findMSB(a))); put(21, packUint2x32(uvec2(1, 2))); put(22, uint64_t(packInt2x16(i16vec2(-1, 3))));
        put(23, uint64_t(min(b, 3))); put(24, uint64_t(abs(b))); a++; put(25, a); a <<= 4; put(26, a); put(27, ~a);
        put(28, 0xffffffffffffffffUL); put(29, uint64_t(0x7fffs)); put(30, uint64_t(equal(i64vec2(b, 1), i64vec2(-5, 2)).x));
        int64_t t[2] = int64_t[](1l, b); put(31, uint64_t(t[int16_t(1)])); put(32, uint64_t(findLSB(0ul))); put(33, uint64_t(sign(b)));
        u += 2us; put(34, uint64_t(u)); int64_t c = I[0] > 0u ? 3 : b; put(35, uint64_t(c));
    }";
    let (a, b, s) = (0x0000_0003_ffff_ffffu64, -5i64, -30000i64);
    let i = |v: i64| v.cast_unsigned();
    let expected = [
        a + 1,
        a.wrapping_mul(a),
        i(-2),
        i(-3),
        a / 10,
        i(-2),
        i(s * 3),
        i(5536),
        i(5536),
        0,
        0,
        i(-3750),
        1,
        1,
        i(b * s * 7),
        0xfffe,
        i(-1),
        a,
        5,
        34,
        33,
        0x2_0000_0001,
        i(0x3_ffff),
        i(-5),
        5,
        a + 1,
        (a + 1) << 4,
        !((a + 1) << 4),
        u64::MAX,
        0x7fff,
        1,
        i(b),
        i(-1),
        i(-1),
        1,
        3,
    ];
    let found = put(body, &[3, i(s) as u32], expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(*found, expected, "{at}");
    }
}

#[test]
fn conversions_that_the_language_makes_by_itself_and_no_others() {
    let all = [
        ("int16_t", 0),
        ("uint16_t", 1),
        ("int", 2),
        ("uint", 3),
        ("int64_t", 4),
        ("uint64_t", 5),
        ("float16_t", 6),
        ("float", 7),
        ("double", 8),
        ("bool", 9),
    ];
    // Rows: from; columns: to, in the order of the list.
    let table = [
        "1111111110",
        "0111111110",
        "0011110110",
        "0001110110",
        "0000110010",
        "0000010010",
        "0000001110",
        "0000000110",
        "0000000010",
        "0000000001",
    ];
    for (from, row) in all {
        for (to, column) in all {
            let allowed = table[row].as_bytes()[column] == b'1';
            for (from, to) in [(from.to_owned(), to.to_owned()), (vector(from), vector(to))] {
                let source = glsl(1, &format!("void main() {{ {from} a = {from}(I[0]); {to} b = a; O[0] = b == b ? 1u : 0u; }}"));
                let accepted = Module::parse(&Source::glsl(&source));
                assert_eq!(accepted.is_ok(), allowed, "{from} to {to}: {:?}", accepted.err().map(|e| e.text));
            }
        }
    }
    let body = "uint f(double x) { return 1u; } uint f(int64_t x) { return 2u; } uint f(float x) { return 3u; }
        uint g(double x) { return 4u; } uint g(uint x) { return 5u; }
        void main() { put(0, uint64_t(f(1))); put(1, uint64_t(f(1.0hf))); put(2, uint64_t(f(1ul))); put(3, uint64_t(g(1.0))); put(4, uint64_t(g(1))); }";
    assert_eq!(put(body, &[0], 5), [2, 3, 1, 4, 5]);
}

fn vector(scalar: &str) -> String {
    let prefix = match scalar {
        "int16_t" => "i16",
        "uint16_t" => "u16",
        "int" => "i",
        "uint" => "u",
        "int64_t" => "i64",
        "uint64_t" => "u64",
        "float16_t" => "f16",
        "double" => "d",
        "bool" => "b",
        _ => "",
    };
    format!("{prefix}vec3")
}

const MEMBERS: &str = "float a; vec3 b; float16_t c; f16vec3 d; double e; dvec3 f; mat3 g; dmat2 h; f16mat2x3 i; int16_t j[3]; i64vec2 k; S l[2]; bool m;
    layout(row_major) mat2x3 n; vec2 o[2]; u16vec2 p; float16_t q[2];";

/// Bytes of a member, and what is expected in them: from a value of its type that is a number everywhere.
fn number(bytes: &[u8], at: usize, kind: &str) -> f64 {
    let word = |n: usize| {
        let mut word = [0; 8];
        word[..n].copy_from_slice(&bytes[at..at + n]);
        u64::from_le_bytes(word)
    };
    match kind {
        "f32" => f32::from_bits(word(4) as u32).into(),
        "f16" => half::f16::from_bits(word(2) as u16).into(),
        "f64" => f64::from_bits(word(8)),
        "i16" => f64::from(word(2) as u16),
        "i64" => word(8) as f64,
        _ => f64::from(word(4) as u32),
    }
}

#[test]
fn every_layout_puts_every_type_where_the_language_says() {
    // Where each scalar lies: in std430, std140 and scalar.
    let f32s = |at: &[usize]| at.iter().map(|at| (*at, "f32")).collect::<Vec<_>>();
    let of = |kind: &'static str, at: &[usize]| at.iter().map(|at| (*at, kind)).collect::<Vec<_>>();
    let std430 = [
        f32s(&[0, 16, 20, 24]),
        of("f16", &[28, 32, 34, 36]),
        of("f64", &[40, 64, 72, 80]),
        f32s(&[96, 100, 104, 112, 116, 120, 128, 132, 136]),
        of("f64", &[144, 152, 160, 168]),
        of("f16", &[176, 178, 180, 184, 186, 188]),
        of("i16", &[192, 194, 196]),
        of("i64", &[208, 216]),
        of("f16", &[224]),
        f32s(&[240, 244, 248]),
        of("f16", &[256]),
        f32s(&[272, 276, 280]),
        of("u32", &[288]),
        f32s(&[296, 304, 312, 300, 308, 316, 320, 324, 328, 332]),
        of("i16", &[336, 338]),
        of("f16", &[340, 342]),
    ]
    .concat();
    let std140 = [
        f32s(&[0, 16, 20, 24]),
        of("f16", &[28, 32, 34, 36]),
        of("f64", &[40, 64, 72, 80]),
        f32s(&[96, 100, 104, 112, 116, 120, 128, 132, 136]),
        of("f64", &[144, 152, 160, 168]),
        of("f16", &[176, 178, 180, 192, 194, 196]),
        of("i16", &[208, 224, 240]),
        of("i64", &[256, 264]),
        of("f16", &[272]),
        f32s(&[288, 292, 296]),
        of("f16", &[304]),
        f32s(&[320, 324, 328]),
        of("u32", &[336]),
        f32s(&[352, 368, 384, 356, 372, 388, 400, 404, 416, 420]),
        of("i16", &[432, 434]),
        of("f16", &[448, 464]),
    ]
    .concat();
    let scalar = [
        f32s(&[0, 4, 8, 12]),
        of("f16", &[16, 18, 20, 22]),
        of("f64", &[24, 32, 40, 48]),
        f32s(&[56, 60, 64, 68, 72, 76, 80, 84, 88]),
        of("f64", &[96, 104, 112, 120]),
        of("f16", &[128, 130, 132, 134, 136, 138]),
        of("i16", &[140, 142, 144]),
        of("i64", &[152, 160]),
        of("f16", &[168]),
        f32s(&[172, 176, 180]),
        of("f16", &[184]),
        f32s(&[188, 192, 196]),
        of("u32", &[200]),
        f32s(&[204, 212, 220, 208, 216, 224, 228, 232, 236, 240]),
        of("i16", &[244, 246]),
        of("f16", &[248, 250]),
    ]
    .concat();
    for (layout, places) in [("std430", std430), ("std140", std140), ("scalar", scalar)] {
        // Written member by member, read as wholes into another block of the same layout.
        let source = format!(
            "{EXTENSIONS}layout(local_size_x = 1) in;
            struct S {{ float16_t x; vec3 y; }};
            layout({layout}, binding = 0) buffer A {{ {MEMBERS} }} A1;
            layout({layout}, binding = 1) buffer B {{ {MEMBERS} }} B1;
            void main() {{
                A1.a = 1; A1.b = vec3(2, 3, 4); A1.c = 5.0hf; A1.d = f16vec3(6, 7, 8); A1.e = 9; A1.f.x = 10; A1.f.yz = dvec2(11, 12);
                for (int c = 0; c < 3; c++) for (int r = 0; r < 3; r++) A1.g[c][r] = 13 + 3 * c + r;
                A1.h = dmat2(22, 23, 24, 25); A1.i[0] = f16vec3(26, 27, 28); A1.i[1] = f16vec3(29, 30, 31);
                for (int i = 0; i < 3; i++) A1.j[i] = int16_t(32 + i);
                A1.k = i64vec2(35, 36);
                A1.l[0] = S(37.0hf, vec3(38, 39, 40)); A1.l[1].x = 41.0hf; A1.l[1].y = vec3(42, 43, 44); A1.m = true;
                A1.n = mat2x3(46, 47, 48, 49, 50, 51); A1.o[0] = vec2(52, 53); A1.o[1].x = 54; A1.o[1].y = 55;
                A1.p = u16vec2(56, 57); A1.q[0] = 58.0hf; A1.q[1] = 59.0hf;
                B1.a = A1.a; B1.b = A1.b; B1.c = A1.c; B1.d = A1.d; B1.e = A1.e; B1.f = A1.f; B1.g = A1.g; B1.h = A1.h; B1.i = A1.i; B1.j = A1.j;
                B1.k = A1.k; B1.l = A1.l; B1.m = A1.m; B1.n = A1.n; B1.o = A1.o; B1.p = A1.p; B1.q = A1.q;
            }}"
        );
        let (mut a, mut b) = (vec![0u32; 128], vec![0u32; 128]);
        Kernel::new(&source, Bounds::Checked).run([1, 1, 1], &mut [&mut a, &mut b]);
        for memory in [&a, &b] {
            let bytes: Vec<u8> = memory.iter().flat_map(|w| w.to_le_bytes()).collect();
            for (index, (at, kind)) in places.iter().enumerate() {
                let expected = if *kind == "u32" { 1.0 } else { (index + 1) as f64 };
                assert_eq!(number(&bytes, *at, kind), expected, "{layout}: number {} at byte {at}", index + 1);
            }
        }
    }
}

#[test]
fn atomics_on_64_bits_and_on_floats_work_in_glsl() {
    let source = format!(
        "{EXTENSIONS}layout(local_size_x = 32) in;
        layout(binding = 0) buffer A {{ uint64_t sum; int64_t least; float total; float last; uint64_t swap; uint64_t seen; }};
        shared uint64_t most;
        void main() {{
            uint li = gl_LocalInvocationIndex;
            atomicAdd(sum, 0x100000000ul + li);
            atomicMin(least, -int64_t(li) * 0x100000000l);
            atomicAdd(total, 0.5);
            atomicExchange(last, 7.0);
            atomicMax(most, uint64_t(li) << 40);
            if (li == 0u) {{ atomicCompSwap(swap, 0ul, 5ul); seen = atomicCompSwap(swap, 4ul, 6ul); }}
            barrier();
            if (li == 1u) swap += most;
        }}"
    );
    let mut a = vec![0u32; 10];
    Kernel::new(&source, Bounds::Checked).run([1, 1, 1], &mut [&mut a]);
    let sum: u32 = (0..32).sum();
    assert_eq!(a, [sum, 32, 0, -31i32 as u32, 16f32.to_bits(), 7f32.to_bits(), 5, 31 << 8, 5, 0]);
}

#[test]
fn specialization_constants_of_other_sizes_are_overrides() {
    let source = format!(
        "{EXTENSIONS}layout(local_size_x = 1) in; layout(binding = 0) buffer Out {{ uint o[]; }};
        layout(constant_id = 1) const double d = 0.1lf; layout(constant_id = 2) const float16_t h = 0.5hf;
        layout(constant_id = 3) const int16_t s = -3s; layout(constant_id = 4) const uint16_t u = 4us;
        void main() {{ o[0] = uint(d * 1000); o[1] = uint(h * 8.0hf); o[2] = uint(s); o[3] = uint(u); }}"
    );
    let module = Module::parse(&Source::glsl(&source)).unwrap_or_else(|e| panic!("{e}"));
    for (values, expected) in
        [(vec![], [100, 4, -3i32 as u32, 4]), (vec![("d", 0.25), ("2", 2.0), ("s", 9.0), ("u", 65535.0)], [250, 16, 9, 65535])]
    {
        let constants: Vec<Constant> = values.iter().map(|(k, v)| Constant { key: (*k).into(), value: (*v).into() }).collect();
        let entry = module.entry_point(None, &constants).unwrap_or_else(|e| panic!("{e}"));
        let mut o = vec![0; 4];
        Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut o]);
        assert_eq!(o, expected);
    }
}

#[test]
fn specialization_constants_of_64_bits_keep_every_bit() {
    let source = format!(
        "{EXTENSIONS}layout(local_size_x = 1) in; layout(binding = 0) buffer Out {{ uint64_t o[]; }};
        layout(constant_id = 1) const int64_t a = -5l; layout(constant_id = 2) const uint64_t b = 0x8123456789abcdeful;
        const uint64_t c = b / 3ul; shared uint s[uint(a * a)];
        void main() {{ s[0] = 1; o[0] = uint64_t(a); o[1] = b; o[2] = c; o[3] = s.length(); }}"
    );
    let module = Module::parse(&Source::glsl(&source)).unwrap_or_else(|e| panic!("{e}"));
    for (given, a, b) in [(false, -5i64, 0x8123_4567_89ab_cdefu64), (true, -3, u64::MAX)] {
        let constants = [("a", a.into()), ("2", b.into())].map(|(key, value)| Constant { key: key.into(), value });
        let entry = module.entry_point(None, &constants[..if given { 2 } else { 0 }]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(entry.reflection().overrides[1].default, Some(0x8123_4567_89ab_cdefu64.into()));
        let mut o = vec![0; 8];
        Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut o]);
        let got: Vec<u64> = o.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
        assert_eq!(got, [a.cast_unsigned(), b, b / 3, (a * a).cast_unsigned()]);
    }
}

#[test]
fn what_other_sizes_do_not_have_is_refused_by_name() {
    for (body, message) in [
        ("int8_t x; void main() {}", "8-bit integers are not supported yet"),
        ("layout(binding = 3) buffer B { u8vec4 x; }; void main() {}", "8-bit integers are not supported yet"),
        ("layout(binding = 3, scalar) uniform B { float x; }; void main() {}", "`scalar`"),
        (
            "layout(binding = 3) buffer B { float x; }; void main() { atomicMax(x, 1.0); }",
            "`atomicMax` and other atomics on `float`",
        ),
        ("shared float x; void main() { atomicAdd(x, 1.0); }", "shared memory"),
        ("void main() { float16_t x = 1e6hf; }", "`1e6hf` is not a number"),
        ("void main() { int16_t x = 40000s + 99999s; }", "`99999s` is not a number of 16 bits"),
        ("layout(push_constant) uniform P { float16_t x; }; void main() { O[0] = uint(x); }", "immediate"),
    ] {
        let text = refusal(&glsl(1, body));
        assert!(text.contains(message), "{body}: {text}");
    }
}

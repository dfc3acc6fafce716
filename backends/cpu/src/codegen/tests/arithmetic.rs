//! The field reports about operators and built-in functions.

use compute_kernel::math;

use super::*;

const MIN: u32 = 0x8000_0000;

fn neg(x: i32) -> u32 {
    x as u32
}

#[test]
fn kt01_integer_division_has_an_answer_in_every_corner() {
    let source = one("
        let min = bitcast<i32>(I[0]); let m1 = bitcast<i32>(I[1]); let z = bitcast<i32>(I[2]);
        let s = bitcast<i32>(I[3]); let ms = bitcast<i32>(I[4]); let two = bitcast<i32>(I[5]);
        O[0] = bitcast<u32>(min / m1); O[1] = bitcast<u32>(min % m1); O[2] = bitcast<u32>(s / z);
        O[3] = bitcast<u32>(s % z); O[4] = bitcast<u32>(ms / two); O[5] = bitcast<u32>(ms % two);
        O[6] = I[3] / I[2]; O[7] = I[3] % I[2]; O[8] = bitcast<u32>(-min); O[9] = bitcast<u32>(abs(min));
        let v = vec3<i32>(min, s, ms) / vec3<i32>(m1, z, two);
        O[10] = bitcast<u32>(v.x); O[11] = bitcast<u32>(v.y); O[12] = bitcast<u32>(v.z);
        let w = vec3<u32>(I[3], I[3], I[0]) % vec3<u32>(I[2], I[5], I[3]);
        O[13] = w.x; O[14] = w.y; O[15] = w.z;
    ");
    let input = [MIN, neg(-1), 0, 7, neg(-7), 2];
    let expected = [MIN, 0, 7, 0, neg(-3), neg(-1), 7, 0, MIN, MIN, MIN, 7, neg(-3), 0, 1, 0x8000_0000 % 7];
    assert_eq!(run_words(&source, 1, &input, 16), expected);
}

#[test]
fn kt02_shift_counts_are_taken_modulo_the_width() {
    let source = one("
        O[0] = I[0] << I[1]; O[1] = I[0] << I[2]; O[2] = I[3] >> I[4];
        O[3] = bitcast<u32>(bitcast<i32>(I[5]) >> I[2]);
        let v = vec2<u32>(I[0], I[3]) << vec2<u32>(I[1], I[4]); O[4] = v.x; O[5] = v.y;
    ");
    assert_eq!(run_words(&source, 1, &[1, 32, 33, MIN, 35, neg(-8)], 6), [1, 2, 0x1000_0000, neg(-4), 1, 0]);
}

#[test]
fn kt03_floats_out_of_range_clamp_to_the_closest_integer() {
    let source = one("
        for (var i = 0u; i < 5u; i++) { O[i] = bitcast<u32>(i32(bitcast<f32>(I[i]))); }
        for (var i = 0u; i < 5u; i++) { O[5u + i] = u32(bitcast<f32>(I[i])); }
        O[10] = u32(bitcast<f32>(I[5]));
        let v = vec2<i32>(vec2<f32>(bitcast<f32>(I[0]), bitcast<f32>(I[2]))); O[11] = bitcast<u32>(v.x); O[12] = bitcast<u32>(v.y);
    ");
    let mut input = bits(&[1e20, -1e20, 3.99, -3.99, 0.0, 3e9]);
    let expected = [2147483520, MIN, 3, neg(-3), 0, 4294967040, 0, 3, 0, 0, 3000000000, 2147483520, 3];
    assert_eq!(run_words(&source, 1, &input, 13), expected);
    input[0] = f32::NAN.to_bits();
    run_words(&source, 1, &input, 13);
}

#[test]
fn kt14_packing_puts_every_component_in_its_place() {
    let source = one("
        let v = vec4<f32>(bitcast<f32>(I[0]), bitcast<f32>(I[1]), bitcast<f32>(I[2]), bitcast<f32>(I[3]));
        O[0] = pack4x8snorm(v); O[1] = pack4x8unorm(v); O[2] = pack2x16snorm(v.xy); O[3] = pack2x16unorm(v.xy);
        O[4] = pack2x16float(v.xw);
        O[5] = bitcast<u32>(unpack4x8snorm(I[4]).x); O[6] = bitcast<u32>(unpack2x16snorm(I[5]).x);
        let h = unpack2x16float(O[4]); O[7] = bitcast<u32>(h.x); O[8] = bitcast<u32>(h.y);
        let u = unpack4x8unorm(I[6]); O[9] = bitcast<u32>(u.x); O[10] = bitcast<u32>(u.w);
        let w = unpack2x16unorm(I[6]); O[11] = bitcast<u32>(w.y);
        let b = unpack4xI8(I[4]); O[12] = bitcast<u32>(b.x); O[13] = bitcast<u32>(b.y);
        O[14] = unpack4xU8(I[6]).w;
        O[15] = pack4xI8(vec4<i32>(bitcast<i32>(I[7]), 1, 2, 3)); O[16] = pack4xI8Clamp(vec4<i32>(bitcast<i32>(I[8]), 1, 2, 3));
        O[17] = pack4xU8Clamp(vec4<u32>(I[5], 1u, 2u, 3u)); O[18] = pack4xU8(vec4<u32>(I[5] + 5u, 1u, 2u, 3u));
        O[19] = bitcast<u32>(dot4I8Packed(I[9], I[10])); O[20] = dot4U8Packed(I[9], I[10]);
        O[21] = bitcast<u32>(quantizeToF16(bitcast<f32>(I[11])));
    ");
    let mut input = bits(&[1.0, -1.0, 0.25, -2.0]);
    input.extend([0x80, 0x8000, 0xff00_00ff, neg(-1), neg(-1000), 0x01ff_0203, 0x0405_06fe, 0.1f32.to_bits()]);
    let expected = [
        0x8120_817f,
        0x0040_00ff,
        0x8001_7fff,
        0x0000_ffff,
        0xc000_3c00,
        (-1.0f32).to_bits(),
        (-1.0f32).to_bits(),
        1.0f32.to_bits(),
        (-2.0f32).to_bits(),
        1.0f32.to_bits(),
        1.0f32.to_bits(),
        (65280.0f32 / 65535.0).to_bits(),
        neg(-128),
        0,
        255,
        0x0302_01ff,
        0x0302_0180,
        0x0302_01ff,
        0x0302_0105,
        neg(4 - 5 + 12 - 6),
        4 + 255 * 5 + 12 + 3 * 254,
        0.099_975_586f32.to_bits(),
    ];
    assert_eq!(run_words(&source, 1, &input, 22), expected);
}

#[test]
fn kt22_a_choice_at_run_time_takes_the_right_side() {
    let source = format!(
        "{HEAD} fn pick(x: u32, y: u32) -> u32 {{ var r: u32; if (x != y) {{ r = 1u; }} else {{ r = 0u; }} return r; }}
        fn early(x: u32, y: u32) -> u32 {{ if (x != y) {{ return x * 2u; }} return 99u; }}
        @compute @workgroup_size(1) fn main() {{
            O[0] = pick(I[0], I[1]); O[1] = pick(I[0], I[0]);
            O[2] = select(0u, 1u, I[0] != I[1]); O[3] = select(0u, 1u, I[0] != I[0]);
            O[4] = early(I[0], I[1]); O[5] = early(I[0], I[0]);
            let v = select(vec2(I[0], I[1]), vec2(I[1], I[0]), vec2(I[0] != I[1], I[0] == I[1])); O[6] = v.x; O[7] = v.y;
        }}"
    );
    assert_eq!(run_words(&source, 1, &[5, 6], 8), [1, 0, 1, 0, 10, 99, 6, 6]);
}

#[test]
fn kt24_run_time_results_are_what_folding_gives() {
    let source = one("
        let ones = I[0]; let max = bitcast<i32>(I[1]); let sones = bitcast<i32>(ones);
        O[0] = bitcast<u32>(dot(vec2<i32>(max, 1), vec2<i32>(2, bitcast<i32>(I[2])))); O[1] = I[1] * I[1]; O[2] = bitcast<u32>(max + 1);
        O[3] = extractBits(ones, I[3], I[4]); O[4] = extractBits(ones, I[5], I[4]); O[5] = bitcast<u32>(extractBits(sones, I[3], I[4]));
        O[6] = insertBits(0u, ones, I[3], I[4]); O[7] = insertBits(I[6], ones, 3u, I[7]);
        O[8] = countLeadingZeros(I[7]); O[9] = countTrailingZeros(I[7]);
        O[10] = firstTrailingBit(I[7]); O[11] = bitcast<u32>(firstLeadingBit(sones)); O[12] = reverseBits(I[2]);
        O[13] = clamp(I[8], I[9], I[10]); O[14] = bitcast<u32>(clamp(bitcast<i32>(I[8]), bitcast<i32>(I[9]), bitcast<i32>(I[10])));
        O[15] = insertBits(I[7], ones, I[7], 32u + I[7]); O[16] = extractBits(I[1], 4u + I[7], 8u);
        O[17] = firstLeadingBit(I[1]); O[18] = firstLeadingBit(I[7]); O[19] = countOneBits(I[1]);
        O[20] = bitcast<u32>(firstLeadingBit(bitcast<i32>(I[7] - 256u)));
    ");
    let input = [u32::MAX, 0x7fff_ffff, 1, 30, 10, 35, 0x55, 0, 3, 46, 6];
    let expected = [
        neg(-1),
        1,
        MIN,
        3,
        0,
        neg(-1),
        0xc000_0000,
        0x55,
        32,
        32,
        neg(-1),
        neg(-1),
        MIN,
        6,
        6,
        u32::MAX,
        0xff,
        30,
        neg(-1),
        31,
        7,
    ];
    assert_eq!(run_words(&source, 1, &input, 21), expected);
}

/// Runs `O[i] = expression of x, y, z` on floats.
fn float_kernel(lines: &[&str], input: &[f32]) -> Vec<f32> {
    let mut body = String::from("let x = bitcast<f32>(I[0]); let y = bitcast<f32>(I[1]); let z = bitcast<f32>(I[2]);");
    for (i, line) in lines.iter().enumerate() {
        body += &format!("O[{i}] = bitcast<u32>({line});\n");
    }
    floats(&run_words(&one(&body), 1, &bits(input), lines.len()))
}

#[test]
fn functions_of_floats_are_those_of_the_language() {
    let (x, y, z) = (0.4f32, 1.75f32, -2.5f32);
    let lines = [
        "sin(x)",
        "cos(x)",
        "tan(x)",
        "asin(x)",
        "acos(x)",
        "atan(x)",
        "sinh(x)",
        "cosh(x)",
        "tanh(x)",
        "asinh(x)",
        "acosh(y)",
        "atanh(x)",
        "exp(y)",
        "exp2(y)",
        "log(y)",
        "log2(y)",
        "pow(y, z)",
        "atan2(y, z)",
        "sqrt(y)",
        "inverseSqrt(y)",
        "fract(z)",
        "floor(z)",
        "ceil(z)",
        "round(z)",
        "trunc(z)",
        "abs(z)",
        "sign(z)",
        "min(x, z)",
        "max(x, z)",
        "clamp(z, x, y)",
        "saturate(y)",
        "mix(x, y, z)",
        "step(x, y)",
        "step(y, x)",
        "smoothstep(x, y, 1.0 + x)",
        "radians(y)",
        "degrees(y)",
        "fma(x, y, z)",
        "z % y",
        "ldexp(x, 3)",
        "modf(z).fract",
        "modf(z).whole",
        "frexp(z).fract",
        "f32(frexp(z).exp)",
        "-x",
        "x / y",
    ];
    let t = ((1.0 + x - x) / (y - x)).clamp(0.0, 1.0);
    let expected = [
        math::sin(x),
        math::cos(x),
        math::tan(x),
        math::asin(x),
        math::acos(x),
        math::atan(x),
        math::sinh(x),
        math::cosh(x),
        math::tanh(x),
        math::asinh(x),
        math::acosh(y),
        math::atanh(x),
        math::exp(y),
        math::exp2(y),
        math::log(y),
        math::log2(y),
        math::pow(y, z),
        math::atan2(y, z),
        y.sqrt(),
        1.0 / y.sqrt(),
        z - z.floor(),
        z.floor(),
        z.ceil(),
        -2.0,
        z.trunc(),
        2.5,
        -1.0,
        z,
        x,
        x,
        1.0,
        x * (1.0 - z) + y * z,
        1.0,
        0.0,
        t * t * (3.0 - 2.0 * t),
        y * (std::f32::consts::PI / 180.0),
        y.to_degrees(),
        x.mul_add(y, z),
        z % y,
        8.0 * x,
        -0.5,
        -2.0,
        -0.625,
        2.0,
        -x,
        x / y,
    ];
    let got = float_kernel(&lines, &[x, y, z]);
    for ((line, got), expected) in lines.iter().zip(&got).zip(expected) {
        assert_eq!(got.to_bits(), expected.to_bits(), "{line}: {got} for {expected}");
    }
}

#[test]
fn frexp_and_ldexp_are_exact_at_the_ends_of_the_range() {
    let tiny = f32::from_bits(1);
    let lines = [
        "frexp(x).fract",
        "f32(frexp(x).exp)",
        "frexp(y).fract",
        "f32(frexp(y).exp)",
        "frexp(z).fract",
        "ldexp(0.5, -148)",
        "ldexp(1.0, 127)",
        "ldexp(z + 1.0, 200)",
        "ldexp(x, 149)",
    ];
    let got = float_kernel(&lines, &[tiny, f32::MAX, 0.0]);
    assert_eq!(got[..5], [0.5, -148.0, f32::MAX / 2f32.powi(127) / 2.0, 128.0, 0.0]);
    assert_eq!(got[5..], [tiny, 2f32.powi(127), f32::INFINITY, 1.0]);
}

#[test]
fn geometry_follows_its_formulas() {
    let lines = [
        "dot(vec3(x, y, z), vec3(z, x, y))",
        "length(vec2(x, y))",
        "length(z)",
        "distance(vec3(x, y, z), vec3(z, x, y))",
        "cross(vec3(x, y, z), vec3(z, x, y)).x",
        "cross(vec3(x, y, z), vec3(z, x, y)).y",
        "cross(vec3(x, y, z), vec3(z, x, y)).z",
        "normalize(vec2(x, y)).y",
        "faceForward(vec2(x, y), vec2(y, z), vec2(x, x)).x",
        "reflect(vec2(x, y), vec2(z, x)).x",
        "refract(vec2(x, y), vec2(0.0, 1.0), 0.5).x",
        "refract(vec2(x, y), vec2(0.0, 1.0), 0.5).y",
        "refract(vec2(x, 0.1), vec2(0.0, 1.0), 9.0).x",
        "mix(vec2(x, y), vec2(y, z), x).y",
    ];
    let (x, y, z) = (0.5f32, -0.25f32, 3.0f32);
    let d = y;
    let k = 1.0 - 0.25 * (1.0 - d * d);
    let expected = [
        x * z + y * x + z * y,
        (x * x + y * y).sqrt(),
        3.0,
        ((x - z) * (x - z) + (y - x) * (y - x) + (z - y) * (z - y)).sqrt(),
        y * y - x * z,
        z * z - y * x,
        x * x - z * y,
        y / (x * x + y * y).sqrt(),
        if y * x + z * x < 0.0 { x } else { -x },
        x - 2.0 * (z * x + x * y) * z,
        0.5 * x - (0.5 * d + k.sqrt()) * 0.0,
        0.5 * y - (0.5 * d + k.sqrt()),
        0.0,
        y * (1.0 - x) + z * x,
    ];
    assert_eq!(float_kernel(&lines, &[x, y, z]), expected);
}

#[test]
fn matrices_multiply_by_columns() {
    let source = one("
        var v: array<f32, 12>;
        for (var i = 0; i < 12; i++) { v[i] = bitcast<f32>(I[i]); }
        let a = mat3x2<f32>(v[0], v[1], v[2], v[3], v[4], v[5]);
        let b = mat2x3<f32>(v[6], v[7], v[8], v[9], v[10], v[11]);
        let c = a * b; let d = b * a; let e = a * vec3(v[0], v[1], v[2]); let f = vec2(v[0], v[1]) * a; let g = 2.0 * (a + a);
        let t = transpose(a);
        O[0] = bitcast<u32>(c[0].x); O[1] = bitcast<u32>(c[0].y); O[2] = bitcast<u32>(c[1].x); O[3] = bitcast<u32>(c[1].y);
        O[4] = bitcast<u32>(d[2].y); O[5] = bitcast<u32>(e.x); O[6] = bitcast<u32>(e.y); O[7] = bitcast<u32>(f.z);
        O[8] = bitcast<u32>(g[1][1]); O[9] = bitcast<u32>(t[1][2]); O[10] = bitcast<u32>(determinant(c));
        O[11] = bitcast<u32>(determinant(mat3x3(v[0], v[1], v[2], v[3], v[5], v[4], v[6], v[7], v[11])));
        O[12] = bitcast<u32>(determinant(mat4x4(1.0, v[1], v[2], 0.0, v[4], 1.0, 0.0, v[3], v[2], v[8], 1.0, v[7], 0.0, v[6], v[5], 1.0)));
        let m = i32(v[0]); O[13] = bitcast<u32>(c[m][m - 1]);
    ");
    let v: Vec<f32> = (1..=12).map(|i| i as f32).collect();
    let a = |c: usize, r: usize| v[c * 2 + r];
    let b = |c: usize, r: usize| v[6 + c * 3 + r];
    let c = |col: usize, row: usize| (0..3).map(|k| a(k, row) * b(col, k)).sum::<f32>();
    let d = |col: usize, row: usize| (0..2).map(|k| b(k, row) * a(col, k)).sum::<f32>();
    let det3 = |m: [f32; 9]| {
        m[0] * (m[4] * m[8] - m[5] * m[7]) - m[3] * (m[1] * m[8] - m[2] * m[7]) + m[6] * (m[1] * m[5] - m[2] * m[4])
    };
    let m4 = [1.0, v[1], v[2], 0.0, v[4], 1.0, 0.0, v[3], v[2], v[8], 1.0, v[7], 0.0, v[6], v[5], 1.0];
    let minor = |skip: usize| {
        let mut m = [0.0; 9];
        let rows: Vec<usize> = (0..4).filter(|r| *r != skip).collect();
        for col in 0..3 {
            for (i, row) in rows.iter().enumerate() {
                m[col * 3 + i] = m4[(col + 1) * 4 + row];
            }
        }
        det3(m)
    };
    let det4 = (0..4).map(|r| if r % 2 == 0 { m4[r] } else { -m4[r] } * minor(r)).sum::<f32>();
    let expected = [
        c(0, 0),
        c(0, 1),
        c(1, 0),
        c(1, 1),
        d(2, 1),
        (0..3).map(|k| a(k, 0) * v[k]).sum(),
        (0..3).map(|k| a(k, 1) * v[k]).sum(),
        v[0] * a(2, 0) + v[1] * a(2, 1),
        4.0 * a(1, 1),
        a(2, 1),
        c(0, 0) * c(1, 1) - c(1, 0) * c(0, 1),
        det3([v[0], v[1], v[2], v[3], v[5], v[4], v[6], v[7], v[11]]),
        det4,
    ];
    let got = floats(&run_words(&source, 1, &bits(&v), 14));
    assert_eq!(got[..13], expected);
    assert_eq!(got[13], c(1, 0));
}

#[test]
fn comparisons_with_nan_are_those_of_the_language() {
    let source = one("
        let n = bitcast<f32>(I[0]); let x = bitcast<f32>(I[1]);
        O[0] = u32(n == n); O[1] = u32(n != n); O[2] = u32(n < x); O[3] = u32(x >= n); O[4] = u32(x <= x); O[5] = u32(any(vec2(n, x) == vec2(x, x)));
        O[6] = u32(all(vec2(n, x) == vec2(x, x))); O[7] = u32(!(n < x)); O[8] = u32(bool(I[2])); O[9] = u32(bool(x)); O[10] = bitcast<u32>(f32(x == x));
        O[11] = u32((x == x) & (n == n)); O[12] = u32((x == x) | (n == n)); O[13] = u32((x == x) != (n == n));
    ");
    let input = [f32::NAN.to_bits(), 2f32.to_bits(), 7];
    assert_eq!(run_words(&source, 1, &input, 14), [0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0x3f80_0000, 0, 1, 1]);
}

//! What kernels compute, bit for bit: the reports of the field that any device can get wrong. The rest of the language is the translators' tests.

use super::bench::{Bench, compile, ensure, part};
use super::{Outcome, Subject};
use crate::kernel::reflection::Bounds;

const MIN: u32 = 0x8000_0000;

fn neg(x: i32) -> u32 {
    x as u32
}

/// Bits of an f32.
fn float(x: f32) -> u32 {
    x.to_bits()
}

/// Runs one invocation of `body` over `I` and `O`; `O` must be as expected then. Numbers come through `I`, or the front end would fold them.
fn check(subject: &Subject<'_>, declarations: &str, body: &str, input: &[u32], expected: &[u32]) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let kernel = bench.compile(&format!(
        "{declarations}
        @group(0) @binding(0) var<storage, read> I: array<u32>;
        @group(0) @binding(1) var<storage, read_write> O: array<u32>;
        @compute @workgroup_size(1) fn main() {{ {body} }}"
    ))?;
    let (i, o) = (bench.words(input)?, bench.words(&vec![0; expected.len()])?);
    bench.launch(kernel, [1, 1, 1], &[i, o])?;
    let got = bench.read_words(o)?;
    let wrong = got.iter().zip(expected).position(|(got, expected)| got != expected);
    ensure!(wrong.is_none(), "O[{}] is wrong: {got:#x?} for {expected:#x?}", wrong.unwrap_or_default());
    Ok(())
}

pub(super) fn kt01_integer_division_has_an_answer_in_every_corner(subject: &Subject<'_>) -> Outcome {
    let body = "let min = bitcast<i32>(I[0]); let m1 = bitcast<i32>(I[1]); let z = bitcast<i32>(I[2]);
        let s = bitcast<i32>(I[3]); let ms = bitcast<i32>(I[4]); let two = bitcast<i32>(I[5]);
        O[0] = bitcast<u32>(min / m1); O[1] = bitcast<u32>(min % m1); O[2] = bitcast<u32>(s / z); O[3] = bitcast<u32>(s % z);
        O[4] = bitcast<u32>(ms / two); O[5] = bitcast<u32>(ms % two); O[6] = I[3] / I[2]; O[7] = I[3] % I[2];
        O[8] = bitcast<u32>(-min); O[9] = bitcast<u32>(abs(min));
        let v = bitcast<vec3<u32>>(vec3(min, s, ms) / vec3(m1, z, two)); O[10] = v.x; O[11] = v.y; O[12] = v.z;";
    let input = [MIN, neg(-1), 0, 7, neg(-7), 2];
    check(subject, "", body, &input, &[MIN, 0, 7, 0, neg(-3), neg(-1), 7, 0, MIN, MIN, MIN, 7, neg(-3)])
}

pub(super) fn kt02_shift_counts_are_taken_modulo_the_width(subject: &Subject<'_>) -> Outcome {
    let body = "O[0] = I[0] << I[1]; O[1] = I[0] << I[2]; O[2] = I[3] >> I[4]; O[3] = bitcast<u32>(bitcast<i32>(I[5]) >> I[2]);
        let v = vec2(I[0], I[3]) << vec2(I[1], I[4]); O[4] = v.x; O[5] = v.y;";
    check(subject, "", body, &[1, 32, 33, MIN, 35, neg(-8)], &[1, 2, 0x1000_0000, neg(-4), 1, 0])
}

pub(super) fn kt03_floats_out_of_range_clamp_to_the_closest_integer(subject: &Subject<'_>) -> Outcome {
    let body =
        "for (var i = 0u; i < 4u; i++) { O[i] = bitcast<u32>(i32(bitcast<f32>(I[i]))); O[4u + i] = u32(bitcast<f32>(I[i])); }
        O[8] = u32(bitcast<f32>(I[4])); let trap = i32(bitcast<f32>(I[5])); O[9] = select(1u, 1u, trap == 0);";
    let input = [1e20, -1e20, 3.99, -3.99, 3e9, f32::NAN].map(float);
    check(subject, "", body, &input, &[2_147_483_520, MIN, 3, neg(-3), 4_294_967_040, 0, 3, 0, 3_000_000_000, 1])
}

pub(super) fn kt05_a_break_if_reads_its_variable_anew(subject: &Subject<'_>) -> Outcome {
    check(subject, "", "var c = I[0]; loop { c += 1u; continuing { break if c == I[1]; } } O[0] = c;", &[0, 5], &[5])
}

pub(super) fn kt07_a_compare_exchange_tells_what_was_there(subject: &Subject<'_>) -> Outcome {
    let declarations = "var<workgroup> w: atomic<u32>; var<workgroup> s: atomic<i32>;";
    let body = "atomicStore(&w, I[0]); var a = atomicCompareExchangeWeak(&w, 5u, 9u);
        while (!a.exchanged && a.old_value == 5u) { a = atomicCompareExchangeWeak(&w, 5u, 9u); }
        O[0] = a.old_value; O[1] = u32(a.exchanged); O[2] = atomicLoad(&w);
        let b = atomicCompareExchangeWeak(&w, 5u, 1u); O[3] = b.old_value; O[4] = u32(b.exchanged); O[5] = atomicLoad(&w);
        atomicStore(&s, bitcast<i32>(I[1])); O[6] = bitcast<u32>(atomicMax(&s, 3)); O[7] = bitcast<u32>(atomicMin(&s, -9));
        O[8] = bitcast<u32>(atomicExchange(&s, 4)); O[9] = bitcast<u32>(atomicSub(&s, 10)); O[10] = bitcast<u32>(atomicLoad(&s));";
    check(subject, declarations, body, &[5, neg(-5)], &[5, 1, 9, 9, 0, 9, neg(-5), 3, neg(-9), 4, neg(-6)])
}

pub(super) fn kt10_workgroup_memory_begins_with_zeros(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let kernel = bench.compile(
        "struct S { x: array<u32, 60>, v: vec3<f32>, a: atomic<u32> } var<workgroup> s: S;
        @group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3<u32>) {
            var all = atomicLoad(&s.a) | bitcast<u32>(s.v.x) | bitcast<u32>(s.v.y) | bitcast<u32>(s.v.z);
            for (var i = 0u; i < 60u; i++) { all |= s.x[i]; }
            workgroupBarrier();
            o[w.x * 32u + l] = all + 7u;
            for (var i = l; i < 60u; i += 32u) { s.x[i] = 0xdeadbeefu; }
            if (l == 0u) { s.v = vec3(bitcast<f32>(0x7fffffffu)); atomicStore(&s.a, 0xffffffffu); }
        }",
    )?;
    let view = bench.words(&[0; 40 * 32])?;
    for run in 0..2 {
        bench.launch(kernel, [40, 1, 1], &[view])?;
        let got = bench.read_words(view)?;
        let wrong = got.iter().find(|&&n| n != 7);
        ensure!(wrong.is_none(), "{wrong:x?} for 7 in run {run}");
    }
    Ok(())
}

pub(super) fn kt12_members_have_the_places_of_the_language(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let kernel = bench.compile(
        "struct S { a: f32, b: vec3<f32>, c: f32, d: vec2<f32>, m: mat3x3<f32>, z: f32 }
        @group(0) @binding(0) var<storage, read> n: array<f32>;
        @group(0) @binding(1) var<storage, read_write> s: array<S>;
        @compute @workgroup_size(1) fn main() {
            s[1].a = n[1]; s[1].b = vec3(n[2], n[3], n[4]); s[1].c = n[5]; s[1].d = vec2(n[6], n[7]);
            s[1].m = mat3x3(n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15], n[16]); s[1].z = n[17];
        }",
    )?;
    let n = bench.words(&(0..18).map(|n: u32| float(n as f32)).collect::<Vec<_>>())?;
    let s = bench.words(&[0xbad; 56])?;
    bench.launch(kernel, [1, 1, 1], &[n, s])?;
    let mut expected = vec![0xbad; 56];
    let places = [0, 4, 5, 6, 7, 8, 9, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24];
    for (place, n) in places.into_iter().zip(1..) {
        expected.get_mut(28 + place).into_iter().for_each(|word| *word = float(n as f32));
    }
    let got = bench.read_words(s)?;
    ensure!(got == expected, "{got:x?} for {expected:x?}");
    Ok(())
}

pub(super) fn kt14_packing_puts_every_component_in_its_place(subject: &Subject<'_>) -> Outcome {
    let body = "let v = vec4(bitcast<f32>(I[0]), bitcast<f32>(I[1]), bitcast<f32>(I[2]), bitcast<f32>(I[3]));
        O[0] = pack4x8snorm(v); O[1] = pack4x8unorm(v); O[2] = pack2x16snorm(v.xy); O[3] = pack2x16unorm(v.xy); O[4] = pack2x16float(v.xw);
        O[5] = bitcast<u32>(unpack4x8snorm(I[4]).x); O[6] = bitcast<u32>(unpack2x16snorm(I[5]).x);
        let h = unpack2x16float(I[6]); O[7] = bitcast<u32>(h.x); O[8] = bitcast<u32>(h.y);
        O[9] = bitcast<u32>(dot4I8Packed(I[7], I[8])); O[10] = dot4U8Packed(I[7], I[8]);";
    let input = [float(1.0), float(-1.0), float(0.25), float(-2.0), 0x80, 0x8000, 0xc000_3c00, 0xff80_7f01, 0x0102_03ff];
    let (signed, unsigned) = (-1 + 127 * 3 - 128 * 2 - 1, 255 + 127 * 3 + 128 * 2 + 255);
    let minus_one = float(-1.0);
    let expected = [
        0x8120_817f,
        0x0040_00ff,
        0x8001_7fff,
        0xffff,
        0xc000_3c00,
        minus_one,
        minus_one,
        float(1.0),
        float(-2.0),
        neg(signed),
        unsigned,
    ];
    check(subject, "", body, &input, &expected)
}

pub(super) fn kt21_an_index_out_of_range_reaches_nothing_else(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @group(0) @binding(2) var<storage, read_write> c: array<atomic<u32>>;
        @compute @workgroup_size(1) fn main() {
            var l = array<u32, 4>(1u, 2u, 3u, 4u); l[a[0]] = 9u; l[a[0] * 77u] += 1u;
            o[0] = a[100] + l[a[1]]; o[1] = l[0] + l[1] + l[2] + l[3]; o[a[0]] = 0xBADu; o[8] = 0xBADu; o[a[2]] = 0xBADu;
            atomicAdd(&c[a[0]], 1u); atomicStore(&c[8], 7u); o[2] = atomicExchange(&c[a[2]], 5u);
        }",
    )?;
    let (a, o, c) = (bench.words(&[77, 4, u32::MAX, 0, 0, 0, 0, 0])?, bench.words(&[1; 192])?, bench.words(&[1; 192])?);
    bench.launch(kernel, [1, 1, 1], &[a, part(o, 256, 32), part(c, 256, 32)])?;
    let mut expected = vec![1; 192];
    for (word, value) in [(64, 0), (65, 10), (66, 0)] {
        expected.get_mut(word).into_iter().for_each(|slot| *slot = value);
    }
    let got = bench.read_words(o)?;
    ensure!(got == expected, "{got:x?}");
    let got = bench.read_words(c)?;
    ensure!(got == [1; 192], "atomics strayed: {got:x?}");
    Ok(())
}

pub(super) fn expressions_that_nobody_uses_change_nothing(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    for bounds in [Bounds::Checked, Bounds::Validate, Bounds::Unchecked] {
        let kernel = compile(&*bench.device, include_str!("unused.wgsl"), bounds, false)?;
        let (input, output, log) = (bench.words(&[0, 0])?, bench.words(&[0; 2])?, bench.words(&[3; 4 + 4 * 16])?);
        let (words, uniform) = (bench.words(&[3; 16])?, bench.words(&[3; 64])?);
        let loose = bench.words(&[3; 4 + 4 * 16])?;
        bench.launch(kernel, [1, 1, 1], &[input, output, log, words, uniform, loose, words, uniform])?;
        let got = bench.read_words(output)?;
        ensure!(got == [11, 11], "{got:?} for 11 in the mode {bounds:?}");
        ensure!(bench.read_words(log)? == [3; 4 + 4 * 16], "what is only named was written in the mode {bounds:?}");
    }
    Ok(())
}

pub(super) fn kt22_a_side_is_picked_in_every_spelling(subject: &Subject<'_>) -> Outcome {
    let declarations = "fn pick(x: u32, y: u32) -> u32 { if (x != y) { return 1u; } else { return 0u; } }";
    let body = "var r: u32; if (I[0] != I[1]) { r = 1u; } else { r = 0u; } O[0] = r; O[1] = select(0u, 1u, I[0] != I[1]); O[2] = pick(I[0], I[1]);
        O[3] = pick(I[0], I[0]); O[4] = select(99u, I[0] * 2u, I[0] != I[1]); O[5] = select(99u, I[0] * 2u, I[0] != I[0]);";
    check(subject, declarations, body, &[5, 6], &[1, 1, 1, 0, 10, 99])
}

pub(super) fn kt24_bits_at_run_time_are_those_of_constants(subject: &Subject<'_>) -> Outcome {
    let body = "O[0] = bitcast<u32>(dot(vec2(bitcast<i32>(I[0]), 1), vec2(2, 1))); O[1] = I[0] * I[0]; O[2] = bitcast<u32>(bitcast<i32>(I[0]) + 1);
        O[3] = extractBits(I[1], 30u, 10u); O[4] = extractBits(I[1], 35u, 10u); O[5] = bitcast<u32>(extractBits(bitcast<i32>(I[1]), 30u, 10u));
        O[6] = insertBits(I[2], I[1], 30u, 10u); O[7] = insertBits(I[3], I[1], 3u, 0u); O[8] = countLeadingZeros(I[2]) + countTrailingZeros(I[2]);
        O[9] = firstTrailingBit(I[2]); O[10] = bitcast<u32>(firstLeadingBit(bitcast<i32>(I[1]))); O[11] = reverseBits(I[4]);
        O[12] = bitcast<u32>(clamp(bitcast<i32>(I[5]), 46, 6)); O[13] = clamp(I[5], 46u, 6u);";
    let input = [0x7fff_ffff, u32::MAX, 0, 0x55, 1, 3];
    let ones = u32::MAX;
    check(subject, "", body, &input, &[ones, 1, MIN, 3, 0, ones, 0xc000_0000, 0x55, 64, ones, ones, MIN, 6, 6])
}

pub(super) fn kt01_kt02_kt03_kt22_numbers_of_64_bits_keep_the_same_rules(subject: &Subject<'_>) -> Outcome {
    let declarations = "fn put(at: u32, x: u64) { O[at] = u32(x); O[at + 1u] = u32(x >> 32u); }
        fn wide(high: u32, low: u32) -> u64 { return u64(high) << 32u | u64(low); }";
    let body = "let min = bitcast<i64>(wide(I[0], 0u)); let m1 = i64(bitcast<i32>(I[1])); let z = i64(I[2]); let seven = i64(I[3]);
        put(0u, bitcast<u64>(min / m1)); put(2u, bitcast<u64>(min % m1)); put(4u, bitcast<u64>(seven / z)); put(6u, bitcast<u64>(seven % z));
        put(8u, u64(seven) << (I[4] + 61u)); put(10u, bitcast<u64>(min >> (I[4] + 67u)));
        let big = bitcast<f32>(I[5]); put(12u, bitcast<u64>(i64(big))); put(14u, u64(big)); put(16u, u64(-big)); put(18u, u64(f64(big)));
        put(20u, bitcast<u64>(atan2(f64(seven) / 7.0lf, f64(m1))));";
    let expected: [u64; 11] = [
        1 << 63,
        0,
        7,
        0,
        7 << 1,
        0xff00_0000_0000_0000,
        0x7fff_ff80_0000_0000,
        0xffff_ff00_0000_0000,
        0,
        0xffff_ffff_ffff_f800,
        2.356_194_490_192_345_f64.to_bits(),
    ];
    let expected: Vec<u32> = expected.into_iter().flat_map(|x| [x as u32, (x >> 32) as u32]).collect();
    check(subject, declarations, body, &[MIN, neg(-1), 0, 7, 4, float(1e30)], &expected)
}

pub(super) fn halves_round_after_every_operation(subject: &Subject<'_>) -> Outcome {
    let body = "let a = vec2<f16>(unpack2x16float(I[0])); let b = vec2<f16>(unpack2x16float(I[1]));
        O[0] = bitcast<u32>(f32(a.x + b.x + b.x)); O[1] = bitcast<u32>(f32(a.y * b.y)); O[2] = pack2x16float(vec2<f32>(a / b));
        O[3] = bitcast<u32>(i32(a.y)); O[4] = u32(arrayLength(&O) == 5u);";
    // 2048 and 65504, 1 and 3: 2048 + 1 is 2048 each time, 65504 * 3 infinite, 65504 / 3 is 21840 to the nearest half.
    check(
        subject,
        "enable f16;",
        body,
        &[0x7bff_6800, 0x4200_3c00],
        &[float(2048.0), float(f32::INFINITY), 0x7555_6800, 65_504, 1],
    )
}

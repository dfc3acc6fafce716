//! KT-24: an expression of constants has the bits that the same expression has at run time.

use super::*;

/// Operands of one type, as words: corners first.
const FLOATS: &[f32] = &[
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 0.1, 100.25, 1e-3, 7.0, -7.0, 2.0, 3.0, 1e10, -1e10, 1e-40,
    3.0e38, 1e-20, 0.71, 8388609.0, 16777217.0, 0.333333,
];
const SIGNED: &[i32] =
    &[0, 1, -1, 2, 3, 7, -7, 31, i32::MAX, i32::MIN, 46, 6, -128, 255, 0x1234_5678, -0x1234_5678, 1 << 20, i32::MAX - 1];
const UNSIGNED: &[u32] = &[0, 1, 2, 3, 7, 31, 46, 6, 255, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x1234_5678, 0xff00_ff00, 1 << 20];

fn literal(kind: char, word: u32) -> String {
    match kind {
        'f' => format!("({:?}f)", f32::from_bits(word)),
        'i' => format!("i32({})", word.cast_signed()),
        _ => format!("{word}u"),
    }
}

fn operands(kind: char) -> Vec<u32> {
    match kind {
        'f' => bits(FLOATS),
        'i' => SIGNED.iter().map(|i| i.cast_unsigned()).collect(),
        _ => UNSIGNED.to_vec(),
    }
}

/// Expressions of `a`, `b` and `c`, each with the kind of its operands and the words of its result.
const CASES: &[(char, usize, &str)] = &[
    ('f', 1, "a + b"),
    ('f', 1, "a - b"),
    ('f', 1, "a * b"),
    ('f', 1, "a / b"),
    ('f', 1, "a % b"),
    ('f', 1, "-a"),
    ('f', 1, "abs(a)"),
    ('f', 1, "ceil(a)"),
    ('f', 1, "floor(a)"),
    ('f', 1, "round(a)"),
    ('f', 1, "trunc(a)"),
    ('f', 1, "fract(a)"),
    ('f', 1, "sign(a)"),
    ('f', 1, "saturate(a)"),
    ('f', 1, "sqrt(a)"),
    ('f', 1, "inverseSqrt(a)"),
    ('f', 1, "min(a, b)"),
    ('f', 1, "max(a, b)"),
    ('f', 1, "clamp(a, b, c)"),
    ('f', 1, "mix(a, b, c)"),
    ('f', 1, "fma(a, b, c)"),
    ('f', 1, "step(a, b)"),
    ('f', 1, "smoothstep(a, b, c)"),
    ('f', 1, "degrees(a)"),
    ('f', 1, "radians(a)"),
    ('f', 1, "exp(a)"),
    ('f', 1, "exp2(a)"),
    ('f', 1, "log(a)"),
    ('f', 1, "log2(a)"),
    ('f', 1, "pow(a, b)"),
    ('f', 1, "sin(a)"),
    ('f', 1, "cos(a)"),
    ('f', 1, "tan(a)"),
    ('f', 1, "asin(a)"),
    ('f', 1, "acos(a)"),
    ('f', 1, "atan(a)"),
    ('f', 1, "atan2(a, b)"),
    ('f', 1, "sinh(a)"),
    ('f', 1, "cosh(a)"),
    ('f', 1, "tanh(a)"),
    ('f', 1, "asinh(a)"),
    ('f', 1, "acosh(a)"),
    ('f', 1, "atanh(a)"),
    ('f', 1, "quantizeToF16(a)"),
    ('f', 1, "ldexp(a, 3)"),
    ('f', 1, "frexp(a).fract"),
    ('f', 1, "modf(a).fract"),
    ('f', 1, "modf(a).whole"),
    ('f', 1, "dot(vec3<f32>(a, b, c), vec3<f32>(c, a, b))"),
    ('f', 3, "cross(vec3<f32>(a, b, c), vec3<f32>(c, a, b))"),
    ('f', 1, "length(vec3<f32>(a, b, c))"),
    ('f', 1, "length(vec2<f32>(a, b))"),
    ('f', 1, "length(a)"),
    ('f', 1, "distance(a, b)"),
    ('f', 1, "distance(vec2<f32>(a, b), vec2<f32>(c, a))"),
    ('f', 3, "normalize(vec3<f32>(a, b, c))"),
    ('f', 3, "reflect(vec3<f32>(a, b, c), vec3<f32>(c, a, b))"),
    ('f', 2, "refract(vec2<f32>(a, b), vec2<f32>(c, a), b)"),
    ('f', 2, "faceForward(vec2<f32>(a, b), vec2<f32>(c, a), vec2<f32>(b, c))"),
    ('f', 2, "mix(vec2<f32>(a, b), vec2<f32>(c, a), b)"),
    ('f', 2, "mat2x2<f32>(a, b, c, a) * vec2<f32>(b, c)"),
    ('f', 3, "vec2<f32>(b, c) * mat3x2<f32>(a, b, c, a, b, c)"),
    ('f', 3, "mat2x3<f32>(a, b, c, a, b, c) * vec2<f32>(b, c)"),
    ('f', 2, "(mat2x2<f32>(a, b, c, a) * mat2x2<f32>(b, c, a, b))[1]"),
    ('f', 2, "(mat2x2<f32>(a, b, c, a) + mat2x2<f32>(b, c, a, b))[1]"),
    ('f', 2, "(mat2x2<f32>(a, b, c, a) * b)[1]"),
    ('f', 2, "transpose(mat2x2<f32>(a, b, c, a))[1]"),
    ('f', 1, "determinant(mat2x2<f32>(a, b, c, a))"),
    ('f', 1, "determinant(mat3x3<f32>(a, b, c, a, c, b, b, c, a))"),
    ('f', 1, "determinant(mat4x4<f32>(a, b, c, a, c, b, b, c, a, b, b, c, a, c, c, b))"),
    ('f', 2, "vec2<f32>(a, b) % vec2<f32>(c, a)"),
    ('f', 2, "vec2<f32>(a, b) / c"),
    ('f', 2, "a - vec2<f32>(c, b)"),
    ('f', 2, "select(vec2<f32>(a, b), vec2<f32>(c, a), vec2<bool>(a < b, (b >= c)))"),
    ('f', 1, "u32(a)"),
    ('f', 1, "i32(a)"),
    ('f', 1, "bitcast<i32>(a)"),
    ('f', 1, "f32(bool(a))"),
    ('f', 1, "pack4x8snorm(vec4<f32>(a, b, c, a))"),
    ('f', 1, "pack4x8unorm(vec4<f32>(a, b, c, a))"),
    ('f', 1, "pack2x16snorm(vec2<f32>(a, b))"),
    ('f', 1, "pack2x16unorm(vec2<f32>(a, b))"),
    ('f', 1, "pack2x16float(vec2<f32>(a, b))"),
    ('f', 1, "u32(a < b) + 2u * u32(a <= b) + 4u * u32(a == b) + 8u * u32(a != b) + 16u * u32(a > b) + 32u * u32(a >= b)"),
    ('i', 1, "a + b"),
    ('i', 1, "a - b"),
    ('i', 1, "a * b"),
    ('i', 1, "a / b"),
    ('i', 1, "a % b"),
    ('i', 1, "-a"),
    ('i', 1, "~a"),
    ('i', 1, "a & b | c ^ a"),
    ('i', 1, "a << (bitcast<u32>(b) & 31u)"),
    ('i', 1, "a >> (bitcast<u32>(b) & 31u)"),
    ('i', 1, "a >> 3u"),
    ('i', 1, "a << 3u"),
    ('i', 1, "abs(a)"),
    ('i', 1, "sign(a)"),
    ('i', 1, "min(a, b)"),
    ('i', 1, "max(a, b)"),
    ('i', 1, "clamp(a, b, c)"),
    ('i', 1, "countOneBits(a)"),
    ('i', 1, "countLeadingZeros(a)"),
    ('i', 1, "countTrailingZeros(a)"),
    ('i', 1, "firstLeadingBit(a)"),
    ('i', 1, "firstTrailingBit(a)"),
    ('i', 1, "reverseBits(a)"),
    ('i', 1, "extractBits(a, 3u, 7u)"),
    ('i', 1, "extractBits(a, 30u, 10u)"),
    ('i', 1, "insertBits(a, b, 3u, 7u)"),
    ('i', 1, "insertBits(a, b, 30u, 10u)"),
    ('i', 1, "dot(vec3<i32>(a, b, c), vec3<i32>(c, a, b))"),
    ('i', 1, "f32(a)"),
    ('i', 1, "u32(a)"),
    ('i', 1, "bitcast<f32>(a & 0x3fffffff)"),
    ('i', 2, "vec2<i32>(a, b) / vec2<i32>(c, a)"),
    ('i', 2, "vec2<i32>(a, b) % c"),
    ('i', 2, "bitcast<vec2<u32>>(vec2<i32>(a, b))"),
    ('i', 1, "pack4xI8(vec4<i32>(a, b, c, a))"),
    ('i', 1, "pack4xI8Clamp(vec4<i32>(a, b, c, a))"),
    ('i', 1, "u32(a < b) + 2u * u32(a <= b) + 4u * u32(a == b) + 8u * u32(a != b)"),
    ('u', 1, "a + b"),
    ('u', 1, "a - b"),
    ('u', 1, "a * b"),
    ('u', 1, "a / b"),
    ('u', 1, "a % b"),
    ('u', 1, "~a"),
    ('u', 1, "a << (b & 31u)"),
    ('u', 1, "a >> (b & 31u)"),
    ('u', 1, "a << 3u"),
    ('u', 1, "abs(a)"),
    ('u', 1, "min(a, b)"),
    ('u', 1, "clamp(a, b, c)"),
    ('u', 1, "countOneBits(a)"),
    ('u', 1, "countLeadingZeros(a)"),
    ('u', 1, "countTrailingZeros(a)"),
    ('u', 1, "firstLeadingBit(a)"),
    ('u', 1, "firstTrailingBit(a)"),
    ('u', 1, "reverseBits(a)"),
    ('u', 1, "extractBits(a, 3u, 7u)"),
    ('u', 1, "extractBits(a, 40u, 10u)"),
    ('u', 1, "insertBits(a, b, 3u, 7u)"),
    ('u', 1, "insertBits(a, b, 0u, 32u)"),
    ('u', 1, "dot(vec3<u32>(a, b, c), vec3<u32>(c, a, b))"),
    ('u', 1, "f32(a)"),
    ('u', 1, "i32(a)"),
    ('u', 1, "dot4I8Packed(a, b)"),
    ('u', 1, "dot4U8Packed(a, b)"),
    ('u', 4, "unpack4x8snorm(a)"),
    ('u', 4, "unpack4x8unorm(a)"),
    ('u', 2, "unpack2x16snorm(a)"),
    ('u', 2, "unpack2x16unorm(a)"),
    ('u', 2, "unpack2x16float(a & 0x7bff7bffu)"),
    ('u', 4, "unpack4xI8(a)"),
    ('u', 4, "unpack4xU8(a)"),
    ('u', 1, "pack4xU8(vec4<u32>(a, b, c, a))"),
    ('u', 1, "pack4xU8Clamp(vec4<u32>(a, b, c, a))"),
    ('u', 1, "select(a, b, any(vec2<bool>(a < b, b == c)) && !all(vec2<bool>(a < c, b == c)))"),
];

fn store(words: usize) -> String {
    if words == 1 {
        return "O[0] = bitcast<u32>(r);".into();
    }
    let lanes = 0..words;
    lanes.map(|i| format!("O[{i}] = bitcast<u32>(r[{i}]);")).collect()
}

fn read(kind: char, at: usize) -> String {
    match kind {
        'f' => format!("bitcast<f32>(I[{at}])"),
        'i' => format!("bitcast<i32>(I[{at}])"),
        _ => format!("I[{at}]"),
    }
}

/// Operand triples: some corners with each other, the rest at random.
fn triples(kind: char) -> Vec<[u32; 3]> {
    let values = operands(kind);
    let mut seed = 0x2545_f491u32;
    let mut next = |n: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % n
    };
    (0..24).map(|_| [values[next(values.len())], values[next(values.len())], values[next(values.len())]]).collect()
}

fn compile(source: &str) -> Result<Kernel, String> {
    let module = Module::parse(&Source::wgsl(source)).map_err(|e| e.text)?;
    let entry = module.entry_point(None, &[]).map_err(|e| e.text)?;
    super::compile(&entry, Bounds::Checked, false).map(Kernel::of).map_err(|e| format!("{e:?}"))
}

fn run(kernel: &Kernel, input: &[u32]) -> Vec<u32> {
    let (mut input, mut output) = (input.to_vec(), vec![0; 4]);
    kernel.run([1, 1, 1], &mut [&mut input, &mut output]);
    output
}

/// What the language says has no value as a constant.
const NO_VALUE: &[&str] = &[
    "infinite",
    "NaN",
    "out of valid range",
    "overflowed",
    "division by zero",
    "remainder by zero",
    "`low` is greater",
    "has no value",
];

#[test]
fn kt24_constants_have_the_bits_of_run_time() {
    for &(kind, words, expression) in CASES {
        let names = [("a", 0), ("b", 1), ("c", 2)];
        let lets: String = names.iter().map(|(n, i)| format!("let {n} = {}; ", read(kind, *i))).collect();
        let running = compile(&one(&format!("{lets} let r = {expression}; {}", store(words)))).unwrap_or_else(|e| panic!("{e}"));
        let mut folded = 0;
        for operands in triples(kind) {
            let expected = run(&running, &operands);
            let constants: String = names.iter().map(|(n, i)| format!("const {n} = {}; ", literal(kind, operands[*i]))).collect();
            match compile(&format!("{constants} {}", one(&format!("const r = {expression}; {}", store(words))))) {
                Ok(kernel) => {
                    assert_eq!(run(&kernel, &operands), expected, "{expression} of {constants}");
                    folded += 1;
                }
                Err(e) => {
                    let wrong = e.lines().next().unwrap_or_default().to_lowercase();
                    assert!(NO_VALUE.iter().any(|n| wrong.contains(&n.to_lowercase())), "{expression} of {constants}: {e}");
                }
            }
        }
        assert!(folded >= 10, "{expression}: only {folded} were constants");
    }
}

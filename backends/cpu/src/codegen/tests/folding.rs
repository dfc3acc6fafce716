//! KT-24: an expression of constants has the bits that the same expression has at run time.

use compute_kernel::Constant;
use compute_kernel::reflection::Number;

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

/// Halves, and what the language has a function or an operator for.
const HALVES: &[f32] = &[
    0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 0.1, 2049.0, 65504.0, 6e-8, -100.25, 1.001, 3.003, 0.333, -7.7, 4e-5, 21.37, -0.0123,
    181.0,
];
const OF_HALVES: &[&str] = &[
    "dot(vec3<f16>(a, b, c), vec3<f16>(c, a, b))",
    "dot(vec2<f16>(-abs(a), 0h), vec2<f16>(0h, -abs(b)))",
    "cross(vec3h(a, b, c), vec3h(c, a, b)).y",
    "length(vec3<f16>(a, b, c))",
    "length(vec4<f16>(a, b, c, a))",
    "distance(vec3<f16>(a, b, c), vec3<f16>(c, a, b))",
    "normalize(vec3<f16>(a, b, c)).z",
    "reflect(vec2<f16>(a, b), vec2<f16>(c, a)).x",
    "mix(a, b, c)",
    "mix(vec2<f16>(a, b), vec2<f16>(c, a), b).y",
    "smoothstep(a, b, c)",
    "fma(a, b, c)",
    "min(a, b)",
    "max(a, b)",
    "clamp(a, min(b, c), max(b, c))",
    "sign(a)",
    "fract(a)",
    "sqrt(abs(a))",
    "inverseSqrt(abs(a))",
    "degrees(a)",
    "radians(a)",
    "a * b + c",
    "a % b",
    "ldexp(a, 3)",
    "frexp(a).fract",
    "modf(a).whole",
    "sin(a)",
    "tan(a)",
    "exp(a)",
    "log2(abs(a))",
    "pow(abs(a), b)",
    "atan2(a, b)",
    "tanh(a)",
    "determinant(mat3x3<f16>(a, b, c, a, c, b, b, c, a))",
    "(transpose(mat2x2<f16>(a, b, c, a)) * vec2<f16>(b, c)).x",
    "f16(i16(a))",
    "f16(i32(a))",
    "f16(f32(a) * 1.0009765f)",
    "select(a, b, a < c)",
];

/// A kernel of halves whose operands are declared by `declare`, from their name and their number.
fn of_halves(expression: &str, before: &str, declare: impl Fn(&str, usize) -> String) -> Result<Kernel, String> {
    let declared: String = [("a", 0), ("b", 1), ("c", 2)].map(|(name, i)| declare(name, i)).concat();
    let (outside, inside) = if before.is_empty() { (String::new(), declared) } else { (declared, String::new()) };
    let body = format!("{inside} let r = {expression}; O[0] = bitcast<u32>(f32(r));");
    compile(&format!("enable f16; enable wgpu_int16; {outside} {}", one(&body)))
}

#[test]
fn kt24_halves_as_constants_and_as_override_constants_have_the_bits_of_run_time() {
    let values: Vec<u32> = HALVES.iter().map(|x| compute_kernel::math::round_to_f16(*x).to_bits()).collect();
    let mut seed = 7u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        values[(seed >> 8) as usize % values.len()]
    };
    for expression in OF_HALVES {
        let running = of_halves(expression, "", |name, i| format!("let {name} = f16(bitcast<f32>(I[{i}])); "));
        let running = running.unwrap_or_else(|e| panic!("{expression}: {e}"));
        let mut folded = [0; 2];
        for _ in 0..12 {
            let operands = [next(), next(), next()];
            let literal = |i: usize| format!("({:?}h)", f32::from_bits(operands[i]));
            let expected = run(&running, &operands);
            let constant = of_halves(expression, "", |name, i| format!("const {name} = {}; ", literal(i)));
            let overriding = of_halves(expression, "outside", |name, i| format!("override {name}: f16 = {}; ", literal(i)));
            for (i, kernel) in [constant, overriding].into_iter().enumerate() {
                match kernel {
                    Ok(kernel) => {
                        assert_eq!(run(&kernel, &operands), expected, "{expression} of {:?}", operands.map(f32::from_bits));
                        folded[i] += 1;
                    }
                    Err(e) => {
                        let wrong = e.lines().next().unwrap_or_default().to_lowercase();
                        assert!(NO_VALUE.iter().any(|n| wrong.contains(&n.to_lowercase())), "{expression} of {operands:x?}: {e}");
                    }
                }
            }
        }
        assert!(folded.iter().all(|n| *n >= 3), "{expression}: only {folded:?} had values");
    }
}

#[test]
fn kt24_functions_of_override_constants_have_the_bits_of_run_time() {
    let cases =
        ["sin(a)", "exp(a)", "pow(abs(a), b)", "atan2(a, b)", "tanh(a)", "min(a, b)", "max(b, a)", "log2(abs(a))", "cos(b)"];
    for expression in cases {
        let body = |declared: &str| one(&format!("{declared} let r = {expression}; O[0] = bitcast<u32>(r);"));
        let running = compile(&body("let a = bitcast<f32>(I[0]); let b = bitcast<f32>(I[1]);")).unwrap_or_else(|e| panic!("{e}"));
        for (a, b) in [(0.1f32, 7.3f32), (-0.0, 0.0), (0.0, -0.0), (1.7, -2.4), (100.25, 0.71), (3.7, 1e-3), (0.333, 3.0)] {
            let declared = format!("override a: f32 = {a:?}f; override b: f32 = {b:?}f; {}", body(""));
            match compile(&declared) {
                Ok(kernel) => {
                    let operands = [a.to_bits(), b.to_bits()];
                    assert_eq!(run(&kernel, &operands), run(&running, &operands), "{expression} of {a} and {b}");
                }
                Err(e) => assert!(e.contains("has no value") || e.contains("log2"), "{expression} of {a} and {b}: {e}"),
            }
        }
    }
}

/// Constants that are wrong for the second entry point, in its body, in a function of its own and at module scope.
const WRONG: [(&str, &str); 6] = [
    ("", "log(b)"),
    ("fn helper() -> f32 { return log(b); }", "helper()"),
    ("override c: f32 = sqrt(b); const n = 3;", "c"),
    ("", "1.0 / (b + 1.0)"),
    ("fn helper(x: f32) -> f32 { let sin = x; return sin + 1.0 / (b + 1.0); }", "helper(2.0)"),
    ("struct S { x: f32 } fn helper() -> S { return S(acos(b - 1.0)); }", "helper().x"),
];

#[test]
fn kt24_override_constants_that_are_wrong_in_another_entry_point_leave_this_ones_bits_alone() {
    // Just above the middle of two halves: the front end rounds it to an f32 first, to the middle.
    let half = "override o: f64 = 1.0004882812500002lf;";
    let own = "O[0] = bitcast<u32>(min(-a, a)); O[1] = bitcast<u32>(asinh(a)); O[2] = bitcast<u32>(tanh(a));";
    let running = compile(&one(&format!("let a = bitcast<f32>(I[0]); {own} O[3] = {}u;", 1.000_976_6f32.to_bits())));
    let (running, own) = (running.unwrap_or_else(|e| panic!("{e}")), format!("{own} O[3] = bitcast<u32>(f32(f16(o)));"));
    for (declared, wrong) in WRONG {
        for a in [0.0f32, -0.0, 0.1, 1.7, 3.7, 0.333, -2.4, 11.3] {
            let source = format!(
                "enable f16; override a: f32 = {a:?}f; override b: f32; {half} const_assert 1 < 2; {HEAD} {declared} fn own() {{ {own} }}
                @compute @workgroup_size(1) fn first() {{ own(); }}
                @compute @workgroup_size(1) fn second() {{ let a = 1.0; O[0] = bitcast<u32>({wrong} + sin(a)); }}"
            );
            let module = Module::parse(&Source::new(source.as_bytes())).unwrap_or_else(|e| panic!("{declared}: {}", e.text));
            let b = [Constant { key: "b".into(), value: Number::Float(-1.0) }];
            let first = module.entry_point(Some("first"), &b).unwrap_or_else(|e| panic!("{declared}: {}", e.text));
            let first = Kernel::of_entry(&first, Bounds::Checked, false);
            assert_eq!(
                run(&first, &[a.to_bits()]),
                run(&running, &[a.to_bits()]),
                "{declared} {wrong} beside the functions of {a}"
            );
            let second = module.entry_point(Some("second"), &b).err().unwrap_or_else(|| panic!("{declared} {wrong} has a value"));
            assert!(second.refusal && second.list.iter().all(|d| d.location.is_some()), "{}", second.text);
        }
    }
}

#[test]
fn kt24_doubles_become_halves_with_one_rounding_as_constants_too() {
    // Just above the middle of two halves, closer to it than an f32 can tell.
    let x = "1.0004882812500002";
    let source = format!("R = f16({x}lf); S = f16({x}); T = vec2h({x}, 1.0).x; U = f16(D); V = f16(o);");
    let source = format!(
        "enable f16; override o: f64 = {x}lf; const D: f64 = {x};
        @group(0) @binding(0) var<storage, read_write> O: array<u32, 4>;
        var<private> R: f16; var<private> S: f16; var<private> T: f16; var<private> U: f16; var<private> V: f16;
        @compute @workgroup_size(1) fn main() {{ {source}
            for (var i = 0u; i < 4u; i++) {{ O[i] = bitcast<u32>(f32(array(R, S, min(T, U), V)[i])); }} }}"
    );
    let kernel = compile(&source).unwrap_or_else(|e| panic!("{e}"));
    let mut output = vec![0; 4];
    kernel.run([1, 1, 1], &mut [&mut output]);
    assert_eq!(output, [1.000_976_6f32.to_bits(); 4]);
}

#[test]
fn what_is_too_large_for_a_half_is_refused_wherever_it_is_converted() {
    let large = ["f16(100000)", "f16(100000li)", "f16(100000lu)", "f16(1e6lf)", "f16(1e6f)", "f16(o)", "f16(100000u)"];
    for from in large {
        for source in [format!("O[0] = u32({from});"), format!("let x = {from}; O[0] = u32(x);")] {
            let source = format!("enable f16; override o: f32 = 1e6f; {}", one(&source));
            let module = Module::parse(&Source::wgsl(&source)).and_then(|m| m.entry_point(None, &[]).map(|_| ()));
            let refused = module.expect_err("a value");
            assert!(refused.refusal, "{from}: {}", refused.text);
        }
    }
}

//! What graphics APIs lack or leave open is cut off into what they have, and means what it meant: by the interpreter before and after.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::sync::Arc;

use common::kernel;
use compute_interpreter::Launch;
use compute_kernel::EntryPoint;
use compute_kernel::lower::{Lowered, Lowering};
use compute_kernel::naga::{self, BinaryOperator, Expression, Handle, MathFunction, ScalarKind};
use compute_kernel::reflection::Bounds;

fn cut(entry: &Arc<EntryPoint>) -> Lowered {
    let lowering = Lowering { bounds: Bounds::Checked, deferred: false, print_room: 0, names: None };
    let lowered = entry.lower(&lowering).unwrap_or_else(|found| panic!("{found}"));
    lowered.cut(true).unwrap_or_else(|found| panic!("{found}"))
}

/// Every expression of a module, with the function that it is in.
fn each(lowered: &Lowered, mut f: impl FnMut(&naga::Function, Handle<Expression>, &dyn Fn(Handle<Expression>) -> naga::Scalar)) {
    let (module, info) = (lowered.module(), lowered.info());
    let entry = &module.entry_points[lowered.index()].function;
    let functions = module.functions.iter().map(|(handle, function)| (function, &info[handle]));
    for (function, info) in functions.chain([(entry, info.get_entry_point(lowered.index()))]) {
        let scalar = |at: Handle<Expression>| info[at].ty.inner_with(&module.types).scalar().unwrap_or(naga::Scalar::BOOL);
        function.expressions.iter().for_each(|(at, _)| f(function, at, &scalar));
    }
}

/// Runs an entry point as it is and as it is cut off; what is in `O` then.
fn run_both(source: &str, input: &[u32], output: usize) -> (Vec<u32>, Lowered) {
    let entry = kernel(source);
    let lowered = cut(&entry);
    let run = |module: &naga::Module| {
        let bindings = vec![input.iter().flat_map(|word| word.to_le_bytes()).collect(), vec![0; 4 * output]];
        let launch = Launch { grid: [1; 3], bindings, immediates: &[], steps: 10_000_000, reversed: false };
        let done = compute_interpreter::run_other(&entry, module, launch).unwrap_or_else(|stop| panic!("{stop}\n{source}"));
        let words = done.bindings[1].data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        words.collect::<Vec<_>>()
    };
    let (before, after) = (run(entry.module()), run(lowered.module()));
    let wrong = before.iter().zip(&after).position(|(before, after)| before != after);
    assert_eq!(wrong, None, "{before:x?}\n{after:x?}\n{source}");
    (after, lowered)
}

const HEAD: &str = "
@group(0) @binding(0) var<storage, read> I: array<u32>;
@group(0) @binding(1) var<storage, read_write> O: array<u32>;
var<private> next: u32;
fn word(x: u32) { O[next] = x; next += 1u; }
";

/// `scalar`, or a vector of it, of `n` components.
fn vector(scalar: &str, n: usize) -> String {
    if n == 1 { scalar.to_owned() } else { format!("vec{n}<{scalar}>") }
}

fn is_on_bits(fun: MathFunction) -> bool {
    use MathFunction as M;
    matches!(
        fun,
        M::CountOneBits
            | M::CountLeadingZeros
            | M::CountTrailingZeros
            | M::ReverseBits
            | M::FirstLeadingBit
            | M::FirstTrailingBit
            | M::ExtractBits
            | M::InsertBits
    )
}

#[test]
fn functions_on_bits_of_every_integer_are_made_of_those_of_words() {
    let mut input = vec![0, 1, 2, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0xffff, 0x8000, 0x1_0000, 0x7fff, 0xfffe_ffff, 0x0ff0_1234];
    input.extend((0..20_u32).map(|n| (n + 1).wrapping_mul(0x9e37_79b9) >> (n % 3 * 9)));
    let fields = [0, 1, 7, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, u32::MAX];
    let count = input.len();
    input.extend(fields);
    for (scalar, made, enable) in [
        ("u16", "u16(I[i % 32u])", "enable wgpu_int16;"),
        ("i16", "i16(I[i % 32u])", "enable wgpu_int16;"),
        ("u64", "(u64(I[i % 32u]) | u64(I[(i * 7u + 3u) % 32u]) << 32u)", ""),
        ("i64", "i64(u64(I[(i * 5u + 1u) % 32u]) | u64(I[i % 32u]) << 32u)", ""),
    ] {
        let wide = scalar.ends_with("64");
        for n in 1..=4 {
            let ty = vector(scalar, n);
            let parts: Vec<_> = (0..n).map(|k| format!("one(i + {k}u)")).collect();
            let number =
                |at: &str| if wide { format!("word(u32({at})); word(u32({at} >> 32u));") } else { format!("word(u32({at}));") };
            let put: String = (0..n).map(|k| number(&if n == 1 { "x".to_owned() } else { format!("x[{k}]") })).collect();
            let source = format!(
                "{enable}{HEAD}
                fn one(i: u32) -> {scalar} {{ return {made}; }}
                fn some(i: u32) -> {ty} {{ return {ty}({}); }}
                fn put(x: {ty}) {{ {put} }}
                @compute @workgroup_size(1) fn main() {{
                    for (var i = 0u; i < {count}u; i++) {{
                        let x = some(i);
                        put(countOneBits(x)); put(countLeadingZeros(x)); put(countTrailingZeros(x));
                        put(reverseBits(x)); put(firstLeadingBit(x)); put(firstTrailingBit(x));
                    }}
                    for (var i = 0u; i < 14u; i++) {{ for (var j = 0u; j < 14u; j++) {{
                        put(extractBits(some(i + j), I[32u + i], I[32u + j]));
                        put(insertBits(some(i * j), some(i + 9u), I[32u + i], I[32u + j]));
                    }} }}
                    put(extractBits(some(5u), 3u, 9u));
                }}",
                parts.join(", ")
            );
            let words = (6 * count + 2 * 14 * 14 + 1) * n * if wide { 2 } else { 1 };
            let (output, lowered) = run_both(&source, &input, words);
            assert!(
                output[words / 2..].iter().filter(|word| **word != 0).count() > words / 8,
                "{scalar}: hardly anything was written"
            );
            each(&lowered, |function, at, scalar| {
                if let Expression::Math { fun, arg, .. } = function.expressions[at]
                    && is_on_bits(fun)
                {
                    assert_eq!(scalar(arg).width, 4, "{fun:?} in\n{source}");
                }
            });
            // Graphics APIs get it: naga's writer knows no others, and ends in a panic.
            naga::back::spv::write_vec(lowered.module(), lowered.info(), &naga::back::spv::Options::default(), None)
                .unwrap_or_else(|error| panic!("{error}\n{source}"));
        }
    }
}

/// Whether a value is only ever taken where a condition holds.
fn is_guarded(function: &naga::Function, value: Handle<Expression>) -> bool {
    function.expressions.iter().any(|(_, user)| matches!(*user, Expression::Select { accept, .. } if accept == value))
}

#[test]
fn what_becomes_of_nan_is_no_function_that_leaves_it_open() {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 3.7, -2.5, 1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let input: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
    for (float, enable, integer) in
        [("f32", "", "i32"), ("f32", "", "u32"), ("f16", "enable f16;", "i32"), ("f64", "", "i64"), ("f32", "", "u64")]
    {
        for n in 1..=4 {
            let ty = vector(float, n);
            let parts: Vec<_> = (0..n).map(|k| format!("{float}(bitcast<f32>(I[(i + {k}u) % 12u]))")).collect();
            let part = |k: usize| if n == 1 { "x".to_owned() } else { format!("x[{k}]") };
            // Whatever NaN it is.
            let put: String =
                (0..n).map(|k| format!("word(select(bitcast<u32>(f32({0})), 0x7fc00000u, !({0} == {0})));", part(k))).collect();
            let told: String = (0..n).map(|k| format!("word(u32({}));", part(k))).collect();
            let whole: String = (0..n).map(|k| format!("word(u32({}));", part(k))).collect();
            let (bools, integers) = (vector("bool", n), vector(integer, n));
            let source = format!(
                "{enable}{HEAD}
                fn some(i: u32) -> {ty} {{ return {ty}({}); }}
                fn put(x: {ty}) {{ {put} }}
                fn tell(x: {bools}) {{ {told} }}
                fn give(x: {integers}) {{ {whole} }}
                @compute @workgroup_size(1) fn main() {{
                    for (var i = 0u; i < 12u; i++) {{
                        let x = some(i);
                        put(saturate(x)); put(sign(x)); tell(x != x); give({integers}(x));
                        put(max(x, {ty}({float}(0.5)))); put(min({ty}({float}(1)), x)); put(clamp(x, {ty}(-1), {ty}(1)));
                        for (var j = 0u; j < 12u; j++) {{
                            let y = some(j);
                            put(min(x, y)); put(max(x, y)); put(step(x, y)); tell(x != y);
                            for (var k = 0u; k < 12u; k += 1u) {{
                                let z = some(k);
                                put(clamp(x, y, z)); put(smoothstep(x, y, z));
                            }}
                        }}
                    }}
                }}",
                parts.join(", ")
            );
            let words = (12 * 7 + 12 * 12 * 4 + 12 * 12 * 12 * 2) * n;
            let (_, lowered) = run_both(&source, &input, words);
            let mut guarded = 0;
            each(&lowered, |function, at, scalar| {
                use MathFunction as M;
                let is_float = |at| scalar(at).kind == ScalarKind::Float;
                match function.expressions[at] {
                    Expression::Binary { op: BinaryOperator::NotEqual, left, .. } => assert!(!is_float(left), "{source}"),
                    Expression::Math { fun: fun @ (M::Clamp | M::SmoothStep | M::Step | M::Sign), arg, .. } => {
                        assert!(!is_float(arg), "{fun:?} in\n{source}");
                    }
                    Expression::Math { fun: M::Min | M::Max | M::Saturate, arg, .. } if is_float(arg) => {
                        // The inner one of two that make a `clamp` between numbers is guarded by the outer one.
                        let outer = function.expressions.iter().any(|(user, expression)| {
                            matches!(*expression, Expression::Math { fun: M::Min, arg, .. } if arg == at && is_guarded(function, user))
                        });
                        assert!(is_guarded(function, at) || outer, "{source}");
                        guarded += 1;
                    }
                    Expression::As { expr, kind: ScalarKind::Sint | ScalarKind::Uint, convert: Some(_) } if is_float(expr) => {
                        assert!(is_guarded(function, at), "{source}");
                        guarded += 1;
                    }
                    _ => {}
                }
            });
            assert!(guarded >= 10, "{guarded} in\n{source}");
        }
    }
}

#[test]
fn integers_are_widened_before_their_sign_changes() {
    let source = format!(
        "enable wgpu_int16;{HEAD}fn put(x: u64) {{ word(u32(x)); word(u32(x >> 32u)); }}
        @compute @workgroup_size(1) fn main() {{
            for (var i = 0u; i < 4u; i++) {{
                let u = I[i]; let s = bitcast<i32>(u); let h = u16(u); let g = i16(s);
                put(bitcast<u64>(i64(u))); put(u64(s)); put(u64(i64(h))); put(u64(g)); word(u32(i32(h))); word(u32(g));
                let v = vec2<i64>(vec2(u, 3u)); put(bitcast<u64>(v.x)); word(u32(i16(u)));
            }}
        }}"
    );
    let (output, lowered) = run_both(&source, &[5, 0x8000_0000, 0xffff_8001, u32::MAX], 4 * 13);
    assert_eq!(output[13..17], [0x8000_0000, 0, 0x8000_0000, u32::MAX]);
    let mut seen = 0;
    each(&lowered, |function, at, scalar| {
        if let Expression::As { expr, kind: kind @ (ScalarKind::Sint | ScalarKind::Uint), convert: Some(width) } =
            function.expressions[at]
        {
            let from = scalar(expr);
            let other = matches!(from.kind, ScalarKind::Sint | ScalarKind::Uint) && from.kind != kind;
            assert!(!other || from.width >= width, "{from:?} to {width} in\n{source}");
            seen += usize::from(from.width < width);
        }
    });
    assert!(seen >= 7, "{seen}");
}

#[test]
fn components_that_are_used_more_than_once_have_names() {
    let deep = "vec2(min(".repeat(25) + "f.x" + &", f.y), f.x).x".repeat(25);
    let source = format!(
        "{HEAD}@compute @workgroup_size(1) fn main() {{
            let f = vec2(bitcast<f32>(I[0]), bitcast<f32>(I[1])); let v = vec3<u64>(vec3(I[0], I[1], I[2]));
            word(u32({deep})); word(u32(countOneBits(v.y))); word(u32(f[I[0]]));
        }}"
    );
    let (_, lowered) = run_both(&source, &[1.5f32.to_bits(), 2.5f32.to_bits(), 7], 3);
    let mut named = 0;
    each(&lowered, |function, at, scalar| {
        if !matches!(function.expressions[at], Expression::Access { .. } | Expression::AccessIndex { .. })
            || scalar(at) == naga::Scalar::BOOL
        {
            return;
        }
        let mut users = 0;
        for (_, expression) in function.expressions.iter() {
            match *expression {
                Expression::Binary { left, right, .. } => users += usize::from(left == at) + usize::from(right == at),
                Expression::Math { arg, arg1, .. } => users += usize::from(arg == at) + usize::from(arg1 == Some(at)),
                Expression::Select { accept, reject, .. } => users += usize::from(accept == at) + usize::from(reject == at),
                Expression::As { expr, .. } => users += usize::from(expr == at),
                _ => {}
            }
        }
        assert!(users < 2 || function.named_expressions.contains_key(&at), "{:?}\n{source}", function.expressions[at]);
        named += usize::from(users >= 2);
    });
    assert!(named >= 25, "{named}");
}

#[test]
fn what_cannot_be_nan_costs_nothing() {
    let source = format!(
        "{HEAD}@compute @workgroup_size(1) fn main() {{
            let a = f32(I[0]); let b = f32(bitcast<i32>(I[1])); let v = vec2(a, b);
            word(u32(floor(a))); word(u32(max(a, -b))); word(u32(min(vec2(a, 2.0), v).y)); word(u32(a != b)); word(u32(saturate(a)));
            word(u32(clamp(a, 1.0, 5.0))); word(u32(sign(b) + step(a, b) > 0.0)); word(u32(select(a, 3.0, b < a)));
        }}"
    );
    let (_, lowered) = run_both(&source, &[7, 5], 8);
    let mut equal = 0;
    each(&lowered, |function, at, scalar| {
        if let Expression::Binary { op: BinaryOperator::Equal, left, .. } = function.expressions[at] {
            equal += usize::from(scalar(left).kind == ScalarKind::Float);
        }
    });
    assert_eq!(equal, 0, "something was compared with itself");
}

#[test]
fn kt_02_shift_counts_that_may_be_too_large_are_cut_to_the_width() {
    let source = |scalar: &str, n: usize, enable: &str| {
        let (ty, counts) = (vector(scalar, n), vector("u32", n));
        let part = |k: usize| if n == 1 { "x".to_owned() } else { format!("x[{k}]") };
        let put: String = (0..n).map(|k| format!("word(u32({})); word(u32({} >> 8u));", part(k), part(k))).collect();
        format!(
            "{enable}{HEAD}fn put(x: {ty}) {{ {put} }}
            @compute @workgroup_size(1) fn main() {{
                let far = 71u; let x = {ty}({scalar}(bitcast<i32>(I[0])));
                for (var i = 0u; i < 6u; i++) {{
                    let by = {counts}(I[i]); var y = x;
                    put(x << by); put(x >> by); put(x << {counts}(far)); y <<= by; put(y);
                    put(x >> {counts}(3u)); put(x >> (by & {counts}(15u))); put(x << ({counts}(7u) & by));
                }}
            }}"
        )
    };
    let input = [0xfedc_ba98, 0, 1, 40, 65, u32::MAX];
    for (scalar, enable) in
        [("u32", ""), ("i32", ""), ("u64", ""), ("i64", ""), ("u16", "enable wgpu_int16;"), ("i16", "enable wgpu_int16;")]
    {
        for n in [1, 3] {
            let source = source(scalar, n, enable);
            let (_, lowered) = run_both(&source, &input, 6 * 7 * 2 * n);
            let (mut cut, mut plain) = (0, 0);
            each(&lowered, |function, at, scalar| {
                let Expression::Binary { op: BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, left, right } =
                    function.expressions[at]
                else {
                    return;
                };
                let literal = |at: Handle<Expression>| {
                    let at = if let Expression::Splat { value, .. } = function.expressions[at] { value } else { at };
                    if let Expression::Literal(naga::Literal::U32(word)) = function.expressions[at] { Some(word) } else { None }
                };
                let bits = u32::from(scalar(left).width) * 8;
                match function.expressions[right] {
                    Expression::Binary { op: BinaryOperator::And, left, right } => {
                        let mask = literal(left).or_else(|| literal(right)).expect("a mask");
                        assert!(mask == bits - 1 || mask < 16, "{mask} of {bits} in\n{source}");
                        cut += usize::from(mask == bits - 1 && bits != 16);
                    }
                    _ => {
                        assert!(
                            literal(right).is_some_and(|count| count < bits),
                            "{:?} in\n{source}",
                            function.expressions[right]
                        );
                        plain += 1;
                    }
                }
            });
            assert!(plain >= 1 && (cut == 4 || scalar.ends_with("16")), "{plain} and {cut} in\n{source}");
        }
    }
    // An index that is in range because of the count stays in range.
    let entry = kernel("@group(0) @binding(0) var<storage, read_write> O: array<u32>; var<workgroup> w: array<u32, 8>;
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) li: u32) { w[li >> O[0]] = 1u; workgroupBarrier(); O[1] = w[li]; }");
    let lowered = cut(&entry);
    let mut masks = 0;
    each(&lowered, |function, at, _| {
        if let Expression::Binary { op: BinaryOperator::And, .. } = function.expressions[at] {
            masks += 1;
        }
    });
    assert_eq!(masks, 1);
}

//! What is refused, and what is only there for other languages.

use compute_kernel::Diagnostics;
use compute_kernel::naga::{self, BinaryOperator, Expression, MathFunction, RelationalFunction};

use super::super::super::{emitter, jit};
use super::*;

fn refusal(declarations: &str, statement: &str) -> Diagnostics {
    let source = format!(
        "{ENABLES}{declarations}\n@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n@compute @workgroup_size(1) fn main() {{\n{statement}\n}}"
    );
    match Module::parse(&Source::wgsl(&source)) {
        Ok(_) => panic!("accepted: {source}"),
        Err(refusal) => refusal,
    }
}

/// Compiles a kernel of WGSL in which each expression was replaced by what `change` makes of it.
fn compile_changed(source: &str, change: impl Fn(&Expression) -> Option<Expression>) -> CompiledKernel {
    let entry = entry(source);
    let mut module = entry.module().clone();
    let function = &mut module.entry_points[0].function;
    for (_, expression) in function.expressions.iter_mut() {
        if let Some(changed) = change(expression) {
            *expression = changed;
        }
    }
    let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
    let info = validator.validate(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let reflection = entry.reflection();
    let source = jit::Source { module: &module, info: &info, index: 0, reflection, record: None, reporter: None };
    let options = emitter::Options { bounds: Bounds::Checked, cancellable: false };
    let made = jit::translate(source, options).unwrap_or_else(|e| panic!("{e:?}"));
    CompiledKernel::load(made, "changed", &Default::default()).unwrap_or_else(|e| panic!("{e:?}"))
}

fn run_changed(source: &str, input: &[u32], words: usize, change: impl Fn(&Expression) -> Option<Expression>) -> Vec<u32> {
    let kernel = Kernel::of(compile_changed(source, change));
    let mut output = vec![0; words];
    kernel.run([1, 1, 1], &mut [&mut input.to_vec(), &mut output]);
    output
}

pub(super) const NAMES: &[&str] = names![
    what_is_refused_says_so_with_its_place,
    a_bitcast_that_changes_the_size_is_refused_with_both_sizes,
    inverses_and_classes_of_floats_are_there_for_other_languages,
];

#[test]
fn what_is_refused_says_so_with_its_place() {
    let float = "@group(0) @binding(1) var<storage, read_write> a: atomic<f32>;";
    let cases = [
        ("", "discard;", "`discard` statements are not supported yet", 5),
        ("", "o[0] = u32(dpdx(1.0));", "derivatives are not supported yet", 5),
        ("@group(0) @binding(1) var t: texture_2d<f32>;", "", "textures are not supported yet", 2),
        ("@group(0) @binding(1) var t: sampler;", "", "samplers are not supported yet", 2),
        (float, "atomicMin(&a, 1.0);", "Min is not supported", 5),
        (float, "let x = atomicCompareExchangeWeak(&a, 1.0, 2.0);", "Exchange", 5),
        ("var<workgroup> a: atomic<f32>;", "atomicAdd(&a, 1.0);", "WorkGroup is not supported", 5),
        ("var<immediate> i: f16;", "o[0] = u32(i);", "is not supported in immediates", 2),
        ("fn f(p: ptr<immediate, u32>) -> u32 { return *p; }", "", "such pointers cannot be parameters yet", 2),
        ("", "let x = 0x1.8p1h;", "numeric literal not representable", 5),
    ];
    for (declarations, statement, text, line) in cases {
        let refusal = refusal(declarations, statement);
        assert!(refusal.text.contains(text), "{declarations} {statement}: {refusal}");
        let place = refusal.list.first().and_then(|d| d.location.as_ref()).map(|l| (l.line, l.column > 0));
        // The directives are a line of their own.
        assert_eq!(place, Some((line, true)), "{declarations} {statement}: {refusal}");
    }
}

#[test]
fn a_bitcast_that_changes_the_size_is_refused_with_both_sizes() {
    for (statement, text) in [
        ("let v = bitcast<f16>(o[0]);", "`bitcast` keeps all bits: `u32` has 4 bytes, `f16` has 2"),
        ("let v = bitcast<vec2<u32>>(o[0]); o[1] = v.y;", "`u32` has 4 bytes, `vec2<u32>` has 8"),
        ("let v = bitcast<vec3<f16>>(vec2(o[0])); o[1] = u32(v.y);", "`vec2<u32>` has 8 bytes, `vec3<f16>` has 6"),
        ("let v = bitcast<u32>(true);", "of numbers and vectors of them, not of `bool`"),
        ("o[0] = bitcast<vec2<u32>>(7lu).x + 1.5f;", "cannot work with `u32` and `f32`"),
    ] {
        let refusal = refusal("", statement);
        assert!(refusal.text.contains(text), "{statement}: {refusal}");
        assert_eq!(refusal.list[0].location.as_ref().map(|l| l.line), Some(5), "{refusal}");
    }
    // A constant of the module has no place for what it takes.
    let refusal = refusal("const pair = bitcast<vec2<f16>>(0x3c003c00u);", "o[0] = u32(pair.x);");
    assert!(refusal.text.contains("is no constant expression yet: use `let`"), "{refusal}");
}

#[test]
fn inverses_and_classes_of_floats_are_there_for_other_languages() {
    fn check<T: Number + numbers::Float>() {
        for size in 2..=4usize {
            let elements: Vec<f64> = (0..size * size).map(|i| if i % (size + 1) == 0 { 4.0 } else { (i % 3) as f64 }).collect();
            let list: Vec<String> = (0..size * size).map(|i| format!("A[{i}]")).collect();
            let ty = format!("mat{size}x{size}<{}>", T::NAME);
            let source = format!(
                "{ENABLES}@group(0) @binding(0) var<storage, read> A: array<{}>; @group(0) @binding(1) var<storage, read_write> R: {ty};
                @compute @workgroup_size(1) fn main() {{ let m = {ty}({}); let i = transpose(m); R = m * i; }}",
                T::NAME,
                list.join(", ")
            );
            let column = size.next_power_of_two();
            let input = words_of(&elements.iter().map(|x| T::of(*x)).collect::<Vec<_>>());
            let change = |e: &Expression| match *e {
                Expression::Math { fun: MathFunction::Transpose, arg, .. } => {
                    Some(Expression::Math { fun: MathFunction::Inverse, arg, arg1: None, arg2: None, arg3: None })
                }
                _ => None,
            };
            let words = run_changed(&source, &input, size * column * T::SIZE / 4, change);
            let product = numbers_of::<T>(&words, size * column);
            let step = [2e-3, 1e-6, 1e-15][T::SIZE / 4];
            for (place, x) in product.iter().enumerate().filter(|(place, _)| place % column < size) {
                let one = if place / column == place % column { 1.0 } else { 0.0 };
                assert!((x.wide() - one).abs() < 8.0 * step, "{ty}: element {place} of the product is {x:?}");
            }
        }
        for (function, infinite) in [(RelationalFunction::IsNan, false), (RelationalFunction::IsInf, true)] {
            let source = format!(
                "{ENABLES}@group(0) @binding(0) var<storage, read> A: array<{}>; @group(0) @binding(1) var<storage, read_write> R: array<u32>;
                @compute @workgroup_size(1) fn main() {{ for (var i = 0u; i < 6u; i++) {{ let x = A[i]; let v = vec2(x, x); R[i] = u32(x != x) + 2u * u32((v != v).y); }} }}",
                T::NAME
            );
            let inputs = [1.0, f64::NAN, f64::INFINITY, 0.0, f64::NEG_INFINITY, -1.5].map(T::of);
            let change = |e: &Expression| match *e {
                Expression::Binary { op: BinaryOperator::NotEqual, left, .. } => {
                    Some(Expression::Relational { fun: function, argument: left })
                }
                _ => None,
            };
            let expected = if infinite { [0, 0, 3, 0, 3, 0] } else { [0, 3, 0, 0, 0, 0] };
            assert_eq!(run_changed(&source, &words_of(&inputs), 6, change), expected, "{function:?} of {}", T::NAME);
        }
    }
    check::<Half>();
    check::<f32>();
    check::<f64>();
}

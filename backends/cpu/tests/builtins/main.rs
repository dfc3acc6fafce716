//! Every builtin function against tables of exact values with the error that the language's specification allows (`scripts/builtin_tables.py`
//! makes them), at run time on the cpu device and, where the front end folds, as constants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

#[path = "../common/mod.rs"]
mod bench;
mod table;

use bench::Bench;
use compute_kernel::reflection::Bounds;
use table::{Allowed, Row, Section, Type};

const F32: &str = include_str!("f32.txt");
const F16: &str = include_str!("f16.txt");
const INTEGERS: &str = include_str!("integers.txt");

/// A kernel that computes the section's expression for each row of inputs.
fn run_time_source(section: &Section) -> String {
    let words: usize = section.arguments.iter().map(Type::count).sum();
    let (mut body, mut at) = (String::new(), 0);
    for (name, ty) in ["a", "b", "c", "d"].iter().zip(&section.arguments) {
        body += &format!("let {name} = {};\n", ty.load(|i| format!("I[id.x * {words}u + {}u]", at + i)));
        at += ty.count();
    }
    body += &format!("let r = {};\n", section.expression);
    let count = section.result.count();
    for (i, word) in section.result.store("r").into_iter().enumerate() {
        body += &format!("O[id.x * {count}u + {i}u] = {word};\n");
    }
    format!("{}@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n{body}}}", head(section))
}

fn head(section: &Section) -> String {
    let enable = if section.uses_f16() { "enable f16;\n" } else { "" };
    format!(
        "{enable}@group(0) @binding(0) var<storage, read> I: array<u32>;\n@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
    )
}

/// A kernel that stores the expression of each row, all inputs written down as literals; `None` when one cannot be.
fn constant_source(section: &Section, rows: &[&Row]) -> Option<String> {
    let mut body = "_ = I[0];\n".to_owned();
    let count = section.result.count();
    for (n, row) in rows.iter().enumerate() {
        let mut inputs = row.inputs.iter().copied();
        for (name, ty) in ["a", "b", "c", "d"].iter().zip(&section.arguments) {
            body += &format!("const {name}{n} = {};\n", ty.literal(&mut inputs)?);
        }
        body += &format!("const r{n} = {};\n", section.expression_of(n));
        for (i, word) in section.result.store(&format!("r{n}")).into_iter().enumerate() {
            body += &format!("O[{}u] = {word};\n", n * count + i);
        }
    }
    Some(format!("{}@compute @workgroup_size(1) fn main() {{\n{body}}}", head(section)))
}

fn launch(bench: &mut Bench, source: &str, groups: usize, input: Vec<u8>, output: usize) -> Result<Vec<u32>, String> {
    let module = bench::parse(source).map_err(|d| d.to_string())?;
    let entry = module.entry_point(None, &[]).map_err(|d| d.to_string())?;
    let (grid, bindings) = ([groups as u32, 1, 1], vec![input, vec![0xee; output * 4]]);
    let ran = bench.run(&entry, Bounds::Checked, grid, &bindings, &[])?;
    let words = |bytes: &[u8]| bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect::<Vec<_>>();
    let got = words(&ran.bindings[1]);
    let launch = compute_interpreter::Launch { grid, bindings, immediates: &[], steps: u64::MAX, reversed: false };
    match compute_interpreter::run(&entry, launch) {
        Ok(outcome) => {
            let nan = |w: u32| f32::from_bits(w).is_nan();
            let same = |(&a, &b): (&u32, &u32)| a == b || (nan(a) && nan(b));
            let expected = words(&outcome.bindings[1].data);
            assert!(expected.iter().zip(&got).all(same), "the interpreter has {expected:x?}, the device {got:x?}:\n{source}");
        }
        // Functions that no rounding rule fixes, as long as they have no definition of ours.
        Err(compute_interpreter::Stop::Unsupported(_)) => {}
        Err(stop) => panic!("{stop}\n{source}"),
    }
    Ok(got)
}

fn wrong_components(section: &Section, row: &Row, got: &[u32], how: &str, wrong: &mut Vec<String>) {
    for (i, (allowed, &got)) in row.outputs.iter().zip(got).enumerate() {
        if !allowed.holds(&section.result, got) {
            let inputs: Vec<String> = section.describe(&row.inputs);
            wrong.push(format!(
                "{} of ({}) component {i} {how}: {} is not {}",
                section.expression,
                inputs.join(", "),
                section.result.show(got),
                allowed.show(&section.result)
            ));
        }
    }
}

/// Checks one table; how many values at run time, how many as constants, and the expressions that are not folded.
fn check(text: &str) -> (usize, usize, Vec<String>) {
    let mut bench = Bench::open(1).unwrap();
    let (mut values, mut folded, mut open, mut wrong) = (0, 0, Vec::new(), Vec::new());
    for section in table::parse(text) {
        let input: Vec<u8> = section.rows.iter().flat_map(|r| r.inputs.iter().flat_map(|w| w.to_le_bytes())).collect();
        let count = section.result.count();
        let source = run_time_source(&section);
        let got = launch(&mut bench, &source, section.rows.len(), input, section.rows.len() * count)
            .unwrap_or_else(|e| panic!("{e}\n{source}"));
        for (row, got) in section.rows.iter().zip(got.chunks(count)) {
            values += count;
            wrong_components(&section, row, got, "at run time", &mut wrong);
        }
        let before = folded;
        for rows in foldable(&mut bench, &section) {
            for (row, got) in rows {
                folded += count;
                wrong_components(&section, row, &got, "as a constant", &mut wrong);
            }
        }
        if folded == before {
            open.push(format!("{} of {}", section.expression, section.arguments[0].name()));
        }
    }
    assert!(wrong.is_empty(), "{} wrong values:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
    (values, folded, open)
}

/// The rows that the front end folds, with what it makes of them.
fn foldable<'a>(bench: &mut Bench, section: &'a Section) -> Vec<Vec<(&'a Row, Vec<u32>)>> {
    let count = section.result.count();
    let mut fold = |rows: &[&'a Row]| -> Option<Vec<(&'a Row, Vec<u32>)>> {
        let source = constant_source(section, rows)?;
        let got = launch(bench, &source, 1, vec![0; 4], rows.len() * count).ok()?;
        Some(rows.iter().copied().zip(got.chunks(count).map(<[u32]>::to_vec)).collect())
    };
    let all: Vec<&Row> = section.rows.iter().collect();
    match fold(&all) {
        Some(results) => vec![results],
        // Some may be refused, for an overflow or a shift that is too far: the others count one by one.
        None => all.iter().filter_map(|row| fold(&[*row])).collect(),
    }
}

#[test]
fn builtins_of_f32_are_as_accurate_as_the_language_asks() {
    let (values, folded, open) = check(F32);
    println!("{values} values at run time, {folded} as constants; not folded: {open:?}");
    assert!(values > 2000 && folded > 700, "{values}, {folded}");
}

#[test]
fn builtins_of_integers_and_packed_formats_are_exact() {
    let (values, folded, open) = check(INTEGERS);
    println!("{values} values at run time, {folded} as constants; not folded: {open:?}");
    assert!(values > 1900 && folded > 1000, "{values}, {folded}");
}

#[test]
fn builtins_of_f16_are_as_accurate_as_the_language_asks() {
    // Until the front end takes f16 there is nothing to check, and it must say so.
    if let Err(d) = bench::parse("enable f16; @compute @workgroup_size(1) fn main() { var x: f16; x += 1h; }") {
        assert!(d.to_string().contains("not supported yet"), "{d}");
        println!("f16 is not supported yet: nothing was checked");
        return;
    }
    let (values, folded, open) = check(F16);
    println!("{values} values at run time, {folded} as constants; not folded: {open:?}");
    assert!(values > 2000, "{values}");
}

/// Outside the interval where the specification bounds the error, results must still be sane.
#[test]
fn functions_of_huge_arguments_and_outside_their_domains_stay_sane() {
    let f = |x: f32| x.to_bits();
    let range = |low: f32, high: f32| vec![Allowed::between(f(low), f(high))];
    let mut wrong = Vec::new();
    let mut bench = Bench::open(1).unwrap();
    let cases: &[(&str, &[f32], (f32, f32))] = &[
        ("sin(a)", &[1e6, -1e6, 1e10, 3e38, 22.0], (-1.0, 1.0)),
        ("cos(a)", &[1e6, -1e6, 1e10, 3e38, 22.0], (-1.0, 1.0)),
        ("atan(a)", &[f32::INFINITY], (1.570, 1.571)),
        ("tanh(a)", &[100.0, 3e38, f32::INFINITY], (0.999_99, 1.0)),
        ("exp(a)", &[89.0, 1e10, f32::INFINITY], (f32::MAX, f32::INFINITY)),
        ("exp(a)", &[-104.0, -1e10, f32::NEG_INFINITY], (0.0, 0.0)),
        ("exp2(a)", &[128.0, f32::INFINITY], (f32::MAX, f32::INFINITY)),
        ("log(a)", &[f32::INFINITY], (f32::MAX, f32::INFINITY)),
        ("log(a)", &[0.0], (f32::NEG_INFINITY, f32::MIN)),
        ("log2(a)", &[0.0], (f32::NEG_INFINITY, f32::MIN)),
        ("inverseSqrt(a)", &[0.0], (f32::MAX, f32::INFINITY)),
        ("cosh(a)", &[1000.0, -1000.0], (f32::MAX, f32::INFINITY)),
        ("fract(a)", &[1e-30, -1e-30, 1e30, -1e30], (0.0, 1.0)),
    ];
    for (expression, inputs, (low, high)) in cases {
        let rows = inputs.iter().map(|&x| Row { inputs: vec![f(x)], outputs: range(*low, *high) }).collect();
        let section = Section::of_one(expression, rows);
        let bytes: Vec<u8> = inputs.iter().flat_map(|x| x.to_le_bytes()).collect();
        let got = launch(&mut bench, &run_time_source(&section), inputs.len(), bytes, inputs.len()).unwrap();
        for (row, &got) in section.rows.iter().zip(&got) {
            wrong_components(&section, row, &[got], "at run time", &mut wrong);
        }
    }
    for (expression, inputs) in [
        ("sqrt(a)", [-1.0f32, f32::NEG_INFINITY]),
        ("log(a)", [-1.0, -1e-30]),
        ("asin(a)", [1.5, -2.0]),
        ("acosh(a)", [0.5, -3.0]),
        ("atanh(a)", [1.5, -2.0]),
        ("sin(a)", [f32::INFINITY, f32::NAN]),
    ] {
        let section =
            Section::of_one(expression, inputs.iter().map(|&x| Row { inputs: vec![f(x)], outputs: Vec::new() }).collect());
        let bytes: Vec<u8> = inputs.iter().flat_map(|x| x.to_le_bytes()).collect();
        let got = launch(&mut bench, &run_time_source(&section), 2, bytes, 2).unwrap();
        if got.iter().any(|&w| !f32::from_bits(w).is_nan()) {
            wrong.push(format!("{expression} of {inputs:?} is {got:x?}, not NaN"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

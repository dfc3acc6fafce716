//! The language, line by line: each test is named by a line of the table in `docs/kernels.md`, and each line names one of these.

mod conversions;
mod functions;
mod memory;
mod numbers;
mod operators;
mod pointers;
mod refusals;
mod statements;

use super::*;
use numbers::{Half, Number};

/// What every test of this module may use.
const ENABLES: &str = "enable f16; enable wgpu_int16;\n";

/// The names of tests, each of which must be there.
macro_rules! names {
    ($($name:ident,)*) => { &[$({ let _: fn() = $name; stringify!($name) }),*] };
}
use names;

/// Every test that a line of the table may name.
fn all_names() -> Vec<&'static str> {
    let values = [conversions::NAMES, functions::NAMES, operators::NAMES];
    let places = [memory::NAMES, pointers::NAMES, refusals::NAMES, statements::NAMES];
    let lists = values.into_iter().chain(places);
    lists.flat_map(|list| list.iter().copied()).collect()
}

#[test]
fn every_line_of_the_table_names_a_test_and_every_test_has_a_line() {
    let document = include_str!("../../../../../../docs/kernels.md");
    let mut unused = all_names();
    let (mut lines, mut unknown) = (0, Vec::new());
    let table = document.lines().skip_while(|line| *line != "## The language, line by line").skip(1);
    for line in table.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|')) {
        let last = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        if last == "test" || last.starts_with("---") {
            continue;
        }
        lines += 1;
        for name in last.split(", ").map(|name| name.trim_matches('`')) {
            if all_names().contains(&name) {
                unused.retain(|n| *n != name);
            } else {
                unknown.push(format!("{name}: {line}"));
            }
        }
    }
    assert!(unknown.is_empty(), "lines that name no test: {unknown:#?}");
    assert!(unused.is_empty(), "tests without a line: {unused:?}");
    assert!(lines > 80, "the table was not found: {lines} lines");
}

/// The bytes of numbers, padded to whole words.
fn words_of<T: Number>(numbers: &[T]) -> Vec<u32> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|n| n.bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.chunks(4).map(|c| u32::from_ne_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn numbers_of<T: Number>(words: &[u32], count: usize) -> Vec<T> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    bytes.chunks(T::SIZE).take(count).map(T::from_bytes).collect()
}

/// Runs `body` once for each workgroup, with `A: array<T>` to read and `R: array<U>` to write.
fn run_typed<T: Number, U: Number>(declarations: &str, body: &str, groups: usize, inputs: &[T], outputs: usize) -> Vec<U> {
    let source = format!(
        "{ENABLES} {declarations}
        @group(0) @binding(0) var<storage, read> A: array<{}>;
        @group(0) @binding(1) var<storage, read_write> R: array<{}>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) w: vec3<u32>) {{ {body} }}",
        T::NAME,
        U::NAME
    );
    let words = (outputs * U::SIZE).div_ceil(4);
    numbers_of(&run_words(&source, groups as u32, &words_of(inputs), words), outputs)
}

/// Evaluates an expression of `x`, `y` and `z`, which are taken from the input in groups of `arity`.
fn evaluate<T: Number, U: Number>(expression: &str, arity: usize, inputs: &[T]) -> Vec<U> {
    let at = |n: usize| format!("A[w.x * {arity}u + {}u]", n.min(arity - 1));
    let body = format!("let x = {}; let y = {}; let z = {}; R[w.x] = {expression};", at(0), at(1), at(2));
    let count = inputs.len() / arity;
    run_typed("", &body, count, inputs, count)
}

/// As [`evaluate`], and again on vectors of three equal components.
fn evaluate_with_vectors<T: Number, U: Number>(expression: &str, arity: usize, inputs: &[T]) -> Vec<U> {
    let scalars = evaluate(expression, arity, inputs);
    let at = |n: usize| format!("vec3<{}>(A[w.x * {arity}u + {}u])", T::NAME, n.min(arity - 1));
    let body = format!("let x = {}; let y = {}; let z = {}; R[w.x] = ({expression}).z;", at(0), at(1), at(2));
    let count = inputs.len() / arity;
    let vectors = run_typed::<T, U>("", &body, count, inputs, count);
    assert_same(expression, &vectors, &scalars, |i| format!("vectors, {:?}", &inputs[i * arity..(i + 1) * arity]));
    scalars
}

/// Compares bit for bit, NaNs with NaNs.
fn assert_same<T: Number>(what: &str, got: &[T], expected: &[T], inputs: impl Fn(usize) -> String) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let same = got.bytes() == expected.bytes() || got.is_nan() && expected.is_nan();
        assert!(same, "{what} in {} at {}: {got:?}, expected {expected:?}", T::NAME, inputs(i));
    }
}

/// An expression of one number, in scalars and vectors.
fn check_unary<T: Number, U: Number>(expression: &str, inputs: &[T], f: impl Fn(T) -> U) {
    let expected: Vec<U> = inputs.iter().map(|x| f(*x)).collect();
    let got = evaluate_with_vectors::<T, U>(expression, 1, inputs);
    assert_same(expression, &got, &expected, |i| format!("{:?}", inputs[i]));
}

/// An expression of two numbers, on all pairs, in scalars and vectors.
fn check_binary<T: Number, U: Number>(expression: &str, inputs: &[T], f: impl Fn(T, T) -> U) {
    let pairs: Vec<T> = inputs.iter().flat_map(|x| inputs.iter().flat_map(move |y| [*x, *y])).collect();
    let expected: Vec<U> = pairs.chunks(2).map(|p| f(p[0], p[1])).collect();
    let got = evaluate_with_vectors::<T, U>(expression, 2, &pairs);
    assert_same(expression, &got, &expected, |i| format!("{:?}", &pairs[2 * i..2 * i + 2]));
}

//! What the texts mean: compiled as plain C++ with words for one machine, and run, they leave the bytes that the interpreter leaves.

use std::fmt::Write as _;
use std::process::Command;

use compute_interpreter::Launch;
use compute_kernel::cxx::Parameter;
use compute_kernel::reflection::Bounds;

use super::tools::{Folder, for_each, run};
use super::*;

const HOST: Dialect = Dialect {
    name: "C++ for tests",
    words: include_str!("host.h"),
    more_words: "",
    subgroup_size: "#define C_WAVE 32u\n",
    offset: "__builtin_offsetof(S, M)",
    flags: &["-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-pthread"],
    strict_flags: &["-ffp-contract=off"],
    relaxed_flags: &["-ffp-contract=off"],
    declared_memory: 1 << 20,
    invocations: 256,
    parameter_size: 4096,
};

/// One launch: bytes of the bindings and of the immediate block.
struct Case {
    name: String,
    source: String,
    grid: [u32; 3],
    bindings: Vec<Vec<u8>>,
    immediates: Vec<u8>,
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn noise(count: u32) -> Vec<u8> {
    let mut x = 12345_u32;
    words((0..count).map(|_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        x >> 9
    }))
}

/// Small floats, none of them a NaN.
fn floats(count: u32) -> Vec<u8> {
    words((0..count).map(|i| ((i.wrapping_mul(2_654_435_761) >> 20) as f32 / 64.0 - 30.0).to_bits()))
}

/// The bytes of the parameters, and where addresses of bindings belong in them.
fn parameters(text: &Text, bindings: &[Vec<u8>], immediates: &[u8]) -> (Vec<u8>, Vec<(u32, usize)>) {
    let mut bytes = vec![0xee; text.parameters.size as usize];
    let mut addresses = Vec::new();
    for field in &text.parameters.fields {
        let at = field.offset as usize;
        match field.parameter {
            Parameter::Address { binding } => addresses.push((field.offset, binding)),
            Parameter::Elements { binding, start, stride } => {
                let count = (bindings[binding].len() as u32 - start) / stride;
                bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
            }
            Parameter::Record => addresses.push((field.offset, bindings.len())),
            Parameter::Immediates { size } => bytes[at..at + size as usize].copy_from_slice(&immediates[..size as usize]),
        }
    }
    (bytes, addresses)
}

/// Runs a text; the bindings afterwards.
fn execute(folder: &Folder, case: &Case, bounds: Bounds, checked: bool) -> Vec<Vec<u8>> {
    let entry = entry(&case.source);
    let text = translate(&entry, bounds, &Options { checked, strict: true, ..options(&HOST) });
    let main = include_str!("run.cpp").replace("ENTRY", &text.entry);
    let head = "#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
    let stem = format!("{}-{bounds:?}", case.name);
    let file = folder.file(
        &format!("{stem}.cpp"),
        &format!("{head}{}\n{main}\n", text.source.replace("namespace compute {", "namespace compute {\n")),
    );
    let program = folder.path(&stem);
    let own = || text.source.split("// The kernel.").last().unwrap_or_default().to_owned();
    run(Command::new("c++").args(&text.options).arg(&file).arg("-o").arg(&program), &[])
        .unwrap_or_else(|e| panic!("{stem}: {e}\n{}", own()));
    let mut all = case.bindings.clone();
    let (parameters, addresses) = parameters(&text, &case.bindings, &case.immediates);
    all.push(vec![0; 1 << 16]);
    let mut input = Vec::new();
    let number = |input: &mut Vec<u8>, n: usize| input.extend_from_slice(&(n as u64).to_le_bytes());
    number(&mut input, all.len());
    for bytes in &all {
        number(&mut input, bytes.len());
        input.extend_from_slice(bytes);
    }
    number(&mut input, 1);
    number(&mut input, parameters.len());
    input.extend_from_slice(&parameters);
    number(&mut input, addresses.len());
    for (offset, binding) in addresses {
        number(&mut input, offset as usize);
        number(&mut input, binding);
    }
    case.grid.iter().for_each(|n| number(&mut input, *n as usize));
    let output = run(&mut Command::new(&program), &input).unwrap_or_else(|e| panic!("{stem} ended with {e}\n{}", own()));
    let mut rest = output.as_slice();
    let mut take = |bytes: &Vec<u8>| {
        let (first, after) = rest.split_at(bytes.len());
        rest = after;
        first.to_vec()
    };
    case.bindings.iter().map(&mut take).collect()
}

fn check(folder: &Folder, case: &Case, bounds: Bounds, checked: bool) {
    let entry = entry(&case.source);
    let launch = Launch {
        grid: case.grid,
        bindings: case.bindings.clone(),
        immediates: &case.immediates,
        steps: 50_000_000,
        reversed: false,
    };
    let expected = compute_interpreter::run(&entry, launch).unwrap_or_else(|stop| panic!("{}: {stop}", case.name));
    let got = execute(folder, case, bounds, checked);
    for (n, (got, expected)) in got.iter().zip(&expected.bindings).enumerate() {
        let expected = &expected.data;
        if got == expected {
            continue;
        }
        let mut message = String::new();
        for (word, (a, b)) in got.chunks(4).zip(expected.chunks(4)).enumerate().filter(|(_, (a, b))| a != b).take(12) {
            let _ = writeln!(message, "  word {word}: {a:02x?}, expected {b:02x?}");
        }
        panic!("{} {bounds:?}: binding {n} differs\n{message}", case.name);
    }
}

/// The launch of a kernel of a type.
fn case_of(ty: corpus::Type, vectors: bool) -> Case {
    let (source, count) = corpus::kernel(ty, vectors);
    let samples = corpus::samples(ty);
    let launches = samples.len() / ty.size / 3;
    let padded = samples.len().next_multiple_of(4);
    let mut input = samples;
    input.resize(padded, 0);
    let kind = if vectors { "vectors" } else { "scalars" };
    Case {
        name: format!("{}-{kind}", ty.name),
        source,
        grid: [launches as u32, 1, 1],
        bindings: vec![input, vec![0; launches * count * 8]],
        immediates: Vec::new(),
    }
}

#[test]
fn every_operator_and_function_means_the_same_for_every_type() {
    let folder = Folder::new();
    let cases: Vec<Case> = corpus::TYPES.iter().flat_map(|ty| [case_of(*ty, false), case_of(*ty, true)]).collect();
    for_each(&cases, |case| check(&folder, case, Bounds::Checked, true));
}

fn small() -> Vec<Case> {
    let source = |name: &str| corpus::SMALL.iter().find(|(n, _)| *n == name).expect("a kernel of that name").1.to_owned();
    let case =
        |name: &str, grid, bindings, immediates| Case { name: name.into(), source: source(name), grid, bindings, immediates };
    vec![
        case("saxpy", [2, 1, 1], vec![floats(100), floats(90)], words([0x4020_0000])),
        case("layouts", [2, 1, 1], vec![floats(400), noise(64), vec![0xaa; 1200], vec![0xbb; 600]], vec![]),
        case("control", [4, 1, 1], vec![noise(64), vec![0; 256]], vec![]),
        case("pointers", [1, 1, 1], vec![noise(64), vec![0; 1024]], vec![]),
        case("reduce", [3, 1, 1], vec![noise(200), vec![0; 12]], vec![]),
        case("matmul", [2, 2, 1], vec![floats(256), floats(256), vec![0; 1024], words([16, 16, 16, 0])], vec![]),
        case("atomics", [2, 1, 1], vec![noise(32), noise(64)], vec![]),
        case("inputs", [2, 3, 2], vec![vec![0; 12 * 12 * 4 * 16]], words([7, 9, 0, 0])),
        case("tables", [1, 1, 1], vec![noise(64), vec![0; 64 * 4]], vec![]),
        case("matrices", [8, 1, 1], vec![floats(400), vec![0; 8 * 4 * 128]], vec![]),
        case("packing", [32, 1, 1], vec![floats(128), noise(64), vec![0; 32 * 4 * 48]], vec![]),
        case("validate", [2, 1, 1], vec![noise(20), noise(20)], vec![]),
    ]
}

#[test]
fn small_kernels_leave_the_same_bytes_checked() {
    let folder = Folder::new();
    for_each(&small(), |case| check(&folder, case, Bounds::Checked, true));
}

#[test]
fn small_kernels_leave_the_same_bytes_in_validate_mode() {
    let folder = Folder::new();
    let some: Vec<Case> =
        small().into_iter().filter(|case| ["pointers", "validate", "layouts", "control"].contains(&&*case.name)).collect();
    for_each(&some, |case| check(&folder, case, Bounds::Validate, true));
}

//! What the texts mean: compiled as plain C++ with words for one machine, and run, they leave the bytes that the interpreter leaves.

use std::fmt::Write as _;
use std::process::Command;

use compute_interpreter::Launch;
use compute_kernel::Constant;
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

/// Looks at the clock that a launch with a limit has time for behind the first, and its number.
const LIMIT: u64 = 10;
const NUMBER: u16 = 7;

/// One launch: bytes of the bindings and of the immediate block.
struct Case {
    name: String,
    source: String,
    constants: Vec<Constant>,
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
            Parameter::TimeLimit => {
                addresses.push((field.offset, bindings.len() + 1));
                addresses.push((field.offset + 8, bindings.len() + 2));
                bytes[at + 16..at + 24].copy_from_slice(&LIMIT.to_le_bytes());
                bytes[at + 24..at + 26].copy_from_slice(&NUMBER.to_le_bytes());
            }
            Parameter::Immediates { size } => bytes[at..at + size as usize].copy_from_slice(&immediates[..size as usize]),
            Parameter::Indirect | Parameter::Value { .. } | Parameter::TensorMap { .. } => {
                panic!("no text of these has such a parameter")
            }
        }
    }
    (bytes, addresses)
}

/// Runs a text; the bindings afterwards.
fn execute(folder: &Folder, case: &Case, bounds: Bounds, checked: bool) -> Vec<Vec<u8>> {
    let options = Options { checked, strict: true, ..options(&HOST) };
    let mut all = execute_with(folder, case, bounds, &options, &[]);
    all.truncate(case.bindings.len());
    all
}

/// As [`execute`], with further memory behind the record; all of it afterwards.
fn execute_with(folder: &Folder, case: &Case, bounds: Bounds, options: &Options<'_>, more: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let entry = entry_with(&case.source, &case.constants);
    let text = translate(&entry, bounds, options);
    let main = include_str!("run.cpp").replace("ENTRY", &text.entry);
    let head = "#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n";
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
    all.extend_from_slice(more);
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
    all.iter().map(&mut take).collect()
}

/// Writes what `scripts/run_texts.py` runs on an NVIDIA device: the text, what it is launched with, and what has to come out.
fn dump(place: &std::path::Path, case: &Case, bounds: Bounds, checked: bool, expected: &compute_interpreter::Outcome) {
    let entry = entry_with(&case.source, &case.constants);
    let text = translate(&entry, bounds, &Options { checked, strict: true, ..options(&compute_kernel::cxx::CUDA) });
    let (parameters, addresses) = parameters(&text, &case.bindings, &case.immediates);
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let mut out = format!("{}\t{}\n", text.entry, text.options.join("\t"));
    let _ = writeln!(out, "{:?}\t{:?}\t{}", case.grid, text.workgroup_size, text.dynamic_workgroup_memory);
    let _ = writeln!(out, "{}\t{addresses:?}", hex(&parameters));
    for (given, wanted) in case.bindings.iter().zip(&expected.bindings) {
        let _ = writeln!(out, "{}\t{}", hex(given), hex(&wanted.data));
    }
    let stem = format!("{}-{bounds:?}", case.name);
    std::fs::write(place.join(format!("{stem}.launch")), out).unwrap();
    std::fs::write(place.join(format!("{stem}.cu")), text.source).unwrap();
}

fn check(folder: &Folder, case: &Case, bounds: Bounds, checked: bool) {
    let entry = entry_with(&case.source, &case.constants);
    let launch = Launch {
        grid: case.grid,
        bindings: case.bindings.clone(),
        immediates: &case.immediates,
        steps: 50_000_000,
        reversed: false,
    };
    let expected = compute_interpreter::run(&entry, launch).unwrap_or_else(|stop| panic!("{}: {stop}", case.name));
    if let Some(place) = std::env::var_os("COMPUTE_CXX_DUMP") {
        dump(std::path::Path::new(&place), case, bounds, checked, &expected);
        return;
    }
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

/// The kernel of a seed with one of its launches, where the kernel can be said with the same bits everywhere.
fn random_case(seed: u64) -> Option<Case> {
    use crate::types::{Palette, Scalar};
    let palette = Palette {
        stored: vec![Scalar::I32, Scalar::U32, Scalar::F32, Scalar::F16, Scalar::I64, Scalar::U64, Scalar::F64],
        floats: vec![Scalar::F32, Scalar::F16, Scalar::F64],
    };
    let (program, setups) = crate::program::generate(seed, &palette);
    let (source, setup) = (program.source(), setups.into_iter().next()?);
    let entry = Module::parse(&Source::wgsl(&source)).ok()?.entry_point(None, &setup.constants).ok()?;
    let lowered = entry.lower(&Lowering { bounds: Bounds::Checked, deferred: true, print_room: 0, names: None }).ok()?;
    cxx::translate(&lowered, &Options { strict: true, ..options(&HOST) }).ok()?;
    let reflection = entry.reflection();
    let bindings = reflection.bindings.iter().map(|b| {
        let mut bytes = setup.bindings.get(b.slot as usize).cloned().unwrap_or_default();
        bytes.resize(bytes.len().max(b.min_size as usize), 0x11);
        let enough = if b.name == "cells" { setup.cells * b.tail_stride as usize } else { 0 };
        bytes.iter().copied().cycle().take(enough.max(bytes.len())).collect()
    });
    let bindings: Vec<Vec<u8>> = bindings.collect();
    let mut immediates = setup.immediates.clone();
    immediates.resize(reflection.immediate_size as usize, 0);
    let launch =
        Launch { grid: setup.grid, bindings: bindings.clone(), immediates: &immediates, steps: 400_000, reversed: false };
    compute_interpreter::run(&entry, launch).ok()?;
    Some(Case { name: format!("seed-{seed}"), source, constants: setup.constants, grid: setup.grid, bindings, immediates })
}

#[test]
fn random_kernels_leave_the_same_bytes() {
    let count = std::env::var("COMPUTE_CXX_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let cases: Vec<Case> = (1..).filter_map(random_case).take(count).collect();
    let folder = Folder::new();
    for_each(&cases, |case| {
        check(&folder, case, if case.name.ends_with('3') { Bounds::Validate } else { Bounds::Checked }, true)
    });
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
        constants: Vec::new(),
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
    let case = |name: &str, grid, bindings, immediates| Case {
        name: name.into(),
        source: source(name),
        constants: vec![],
        grid,
        bindings,
        immediates,
    };
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

#[test]
fn expressions_that_nobody_uses_change_nothing() {
    let case = Case {
        name: "unused".into(),
        source: include_str!("../../../hal/src/conformance/unused.wgsl").into(),
        constants: vec![],
        grid: [1, 1, 1],
        bindings: [8, 8, 272, 64, 256, 272, 64, 256].map(|size| vec![0; size]).to_vec(),
        immediates: vec![],
    };
    let folder = Folder::new();
    for_each(&[Bounds::Checked, Bounds::Validate], |bounds| check(&folder, &case, *bounds, true));
}

#[test]
fn strict_functions_have_the_bits_of_the_math_module() {
    const COUNT: u32 = 3000;
    // All bits, and each exponent many times.
    let input = words((0..COUNT).map(|i| i.wrapping_mul(2_654_435_761).rotate_left(7)));
    let bindings = vec![input, vec![0; COUNT as usize * 64]];
    let case = Case {
        name: "sweep".into(),
        source: corpus::SWEEP.into(),
        constants: vec![],
        grid: [COUNT, 1, 1],
        bindings,
        immediates: vec![],
    };
    check(&Folder::new(), &case, Bounds::Checked, true);
}

/// Words that a kernel of [`small`] wrote.
fn written(name: &str, grid: [u32; 3], bindings: Vec<Vec<u8>>) -> Vec<u32> {
    let source = corpus::SMALL.iter().find(|(n, _)| *n == name).map_or(name, |(_, source)| source).to_owned();
    let case = Case { name: "written".into(), source, constants: vec![], grid, bindings, immediates: vec![] };
    let all = execute(&Folder::new(), &case, Bounds::Checked, true);
    let last = all.last().expect("a binding");
    last.chunks(4).map(|w| u32::from_le_bytes(w.try_into().expect("a word"))).collect()
}

/// What lanes see in the kernel `subgroups`, for one subgroup: the interpreter knows no subgroups.
fn expected_of_subgroup(x: &[u32]) -> Vec<Vec<u32>> {
    let f: Vec<f32> = x.iter().map(|x| (x % 1000) as f32 * 0.37).collect();
    let at = |lane: usize| x.get(lane).copied().unwrap_or(0);
    let sum = x.iter().fold(0_u32, |a, b| a.wrapping_add(*b));
    let float_sum = f.iter().copied().reduce(|a, b| a + b).expect("a lane");
    let ballot = x.iter().enumerate().map(|(lane, x)| (x & 1) << lane).sum::<u32>();
    let (xor, and, or) =
        (x.iter().fold(0, |a, b| a ^ b), x.iter().fold(!0, |a, b| a & (b | 7)), x.iter().fold(0, |a, b| a | b & 0xff0f));
    let one = |lane: usize| {
        let before = x[..lane].iter().fold(0_u32, |a, b| a.wrapping_add(*b));
        let product = f[..=lane].iter().map(|f| 1.0 + f * 0.001).reduce(|a, b| a * b).expect("a lane");
        let votes = u32::from(x.iter().all(|x| *x > 5)) + 2 * u32::from(x.iter().any(|x| x % 13 == 0)) + 4 * u32::from(lane == 0);
        vec![
            sum,
            before.wrapping_add(x[lane]),
            before,
            *x.iter().min().expect("a lane"),
            *x.iter().max().expect("a lane"),
            float_sum.to_bits(),
            product.to_bits(),
            x[..lane].iter().fold(1_u32, |a, b| a.wrapping_mul(b | 1)),
            at((lane * 7 + 3) % 40),
            lane.checked_sub(3).map_or(0, at),
            at(lane + 5),
            at(lane ^ 6),
            at(9),
            at(0),
            at(lane / 4 * 4 + 2),
            at(lane ^ 3).wrapping_add(at(lane ^ 1).wrapping_mul(3)).wrapping_add(at(lane ^ 2).wrapping_mul(5)),
            ballot,
            votes,
            xor + and + or,
            32,
            (x.iter().map(|x| u64::from(*x) << 30).sum::<u64>() >> 32) as u32,
            at(lane ^ 1).wrapping_neg(),
        ]
    };
    (0..x.len()).map(one).collect()
}

#[test]
fn subgroups_exchange_among_the_lanes_that_are_there() {
    let input = noise(80);
    let x: Vec<u32> = input.chunks(4).map(|w| u32::from_le_bytes(w.try_into().expect("a word"))).collect();
    let got = written("subgroups", [1, 1, 1], vec![input, vec![0; 80 * 4 * 24]]);
    let expected: Vec<Vec<u32>> = x.chunks(32).flat_map(expected_of_subgroup).collect();
    for (lane, (got, expected)) in got.chunks(24).zip(&expected).enumerate() {
        assert_eq!(&got[..22], expected, "invocation {lane}");
    }
}

#[test]
fn determinants_and_inverses_follow_the_minors() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(1) fn main() {
            var k = 0.0;
            k += out[0];
            let a = mat4x4<f32>(2.0 + k, 0.0, 1.0, 3.0, 1.0, 1.0, 0.0, 2.0, 4.0, 1.0, 3.0, 0.0, 0.0, 5.0, 1.0, 1.0);
            let b = mat3x3<f32>(2.0 + k, 0.0, 1.0, 3.0, 1.0, 1.0, 0.0, 2.0, 4.0);
            out[0] = determinant(a);
            out[1] = determinant(b);
        }";
    let got = written(source, [1, 1, 1], vec![vec![0; 8]]);
    // The sums over all permutations.
    assert_eq!(got.iter().map(|w| f32::from_bits(*w)).collect::<Vec<_>>(), [41.0, 10.0]);
}

/// A launch with a limit whose queue has this word: what was counted, the word afterwards, and whether it was stopped.
fn limited(body: &str, groups: u32, word: u64) -> (Vec<u32>, u64, bool) {
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
        fn count(at: u32) -> u32 {{ for (var i = 0u; i < 10000u; i += 1u) {{ if atomicAdd(&out[at], 1u) == 99999u {{ return i; }} }} return 7u; }}
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) {{ {body} }}"
    );
    let (constants, bindings, immediates) = (vec![], vec![vec![0; 16]], vec![]);
    let case = Case { name: "limited".into(), source, constants, grid: [groups, 1, 1], bindings, immediates };
    let options = Options { cancellable: true, strict: true, ..options(&HOST) };
    let more = [word.to_le_bytes().to_vec(), vec![0; 4]];
    let all = execute_with(&Folder::new(), &case, Bounds::Checked, &options, &more);
    let words = |bytes: &[u8]| bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().expect("a word"))).collect::<Vec<_>>();
    let word = u64::from_le_bytes(all[2].as_slice().try_into().expect("8 bytes"));
    (words(&all[0]), word, words(&all[3]) != [0])
}

#[test]
fn t13_an_invocation_leaves_when_the_time_of_its_launch_is_over() {
    // It looks when it begins and every 256 passes; the eleventh look behind the first is too late, and finds the pass not counted yet.
    let (counted, word, stopped) = limited("loop { atomicAdd(&out[0], 1u); }", 1, 0);
    assert_eq!((counted[0], word & 0xffff, stopped), (11 * 256 - 1, u64::from(NUMBER), true));
    // Also from within a function, whose passes count with the others; a later workgroup does not begin.
    let (counted, _, stopped) = limited("loop { count(id.x); atomicAdd(&out[2], 1u); }", 2, 0);
    assert_eq!((&counted[..3], stopped), (&[11 * 256 - 2, 0, 0][..], true));
}

#[test]
fn t13_a_launch_that_keeps_its_time_is_not_touched_by_the_one_before() {
    // Another number with whatever time: it is noted anew.
    for before in [0, u64::MAX, 1 << 16 | 6, 0x7fff_ffff_ffff_0006] {
        let (counted, word, stopped) = limited("for (var i = 0u; i < 2600u; i += 1u) { atomicAdd(&out[id.x], 1u); }", 1, before);
        assert_eq!((counted[0], word & 0xffff, stopped), (2600, u64::from(NUMBER), false));
        // 1000 ticks and one look.
        assert_eq!(word >> 16, 1256 >> 8);
    }
    // A moment that is later than one's own look is no time at all.
    let (counted, _, stopped) = limited("atomicAdd(&out[0], 1u);", 1, 50 << 16 | u64::from(NUMBER));
    assert_eq!((counted[0], stopped), (1, false));
}

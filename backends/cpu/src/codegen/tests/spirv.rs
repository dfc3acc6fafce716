//! SPIR-V kernels, run: modules that naga writes from WGSL, and modules assembled by hand.

use compute_kernel::reflection::Bounds;
use compute_kernel::{Constant, Diagnostics, EntryPoint, Module, Source};
use std::sync::Arc;

use super::{HEAD, Kernel, one};

/// A module that means what WGSL text means.
fn from_wgsl(source: &str) -> Vec<u32> {
    let module = naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{e}"));
    let flags = naga::valid::ValidationFlags::all();
    let info = naga::valid::Validator::new(flags, naga::valid::Capabilities::all())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{e:?}"));
    let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
    naga::back::spv::write_vec(&module, &info, &options, None).unwrap_or_else(|e| panic!("{e}"))
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

pub(super) fn entry(words: &[u32], constants: &[Constant]) -> Result<Arc<EntryPoint>, Diagnostics> {
    Module::parse(&Source::new(&bytes(words)))?.entry_point(None, constants)
}

fn run(words: &[u32], groups: u32, input: &[u32], output: usize) -> Vec<u32> {
    let entry = entry(words, &[]).unwrap_or_else(|e| panic!("{e}"));
    let run = |bounds| {
        let (mut input, mut output) = (input.to_vec(), vec![0; output]);
        Kernel::of_entry(&entry, bounds, false).run([groups, 1, 1], &mut [&mut input, &mut output]);
        output
    };
    assert_eq!(run(Bounds::Checked), run(Bounds::Validate));
    run(Bounds::Checked)
}

#[test]
fn kt_09_loads_and_barriers_keep_their_order_in_spir_v() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {{
            s[li] = I[li];
            workgroupBarrier();
            for (var i = 0; i < 5; i++) {{ let v = s[(li + 1u) % 64u]; workgroupBarrier(); s[li] = v; workgroupBarrier(); }}
            O[li] = s[li];
        }}"
    );
    let input: Vec<u32> = (0..64).map(|i| 3 * i).collect();
    let expected: Vec<u32> = (0..64).map(|i| 3 * ((i + 5) % 64)).collect();
    assert_eq!(run(&from_wgsl(&source), 1, &input, 64), expected);
}

#[test]
fn kt_17_logical_operators_on_vectors_of_bool_are_read_back() {
    let source = one("let a = vec3(I[0], I[1], I[2]) > vec3(1u); let b = vec3(I[2], I[1], I[0]) > vec3(1u);
        let and = a & b; let or = a | b; let not = !a;
        O[0] = u32(and.x) + 2u * u32(and.y) + 4u * u32(and.z);
        O[1] = u32(or.x) + 2u * u32(or.y) + 4u * u32(or.z);
        O[2] = u32(not.x) + 2u * u32(not.y) + 4u * u32(not.z);");
    assert_eq!(run(&from_wgsl(&source), 1, &[0, 2, 5], 3), [2, 7, 1]);
}

#[test]
fn kt_17_an_atomic_inside_a_workgroup_structure_works() {
    let source = format!(
        "{HEAD} struct S {{ pad: u32, n: atomic<u32> }} var<workgroup> s: S;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) li: u32) {{
            atomicAdd(&s.n, li); workgroupBarrier(); if li == 0u {{ O[0] = atomicLoad(&s.n); }} }}"
    );
    assert_eq!(run(&from_wgsl(&source), 1, &[0], 1), [496]);
}

#[test]
fn kt_17_frexp_and_modf_of_structures_are_read_back() {
    let words = from_wgsl(&one("let r = frexp(bitcast<f32>(I[0])); O[0] = bitcast<u32>(r.fract); O[1] = u32(r.exp);
        let m = modf(vec2(bitcast<f32>(I[1]))); O[2] = bitcast<u32>(m.fract.x); O[3] = bitcast<u32>(m.whole.y);"));
    let f = f32::to_bits;
    assert_eq!(run(&words, 1, &[f(6.0), f(2.25)], 4), [f(0.75), 3, f(0.25), f(2.0)]);
}

#[test]
fn modf_and_frexp_through_pointers_store_their_second_part() {
    const F64: u32 = 90;
    let mut a = Assembler::default();
    let main = Assembler::text("main");
    a.op(17, &[1]).op(17, &[10]).op(11, &[[16].as_slice(), &Assembler::text("GLSL.std.450")].concat()).op(14, &[0, 1]);
    a.op(15, &[[5, 1].as_slice(), &main].concat()).op(16, &[1, 17, 1, 1, 1]);
    for (id, binding) in [(9, 0), (10, 1)] {
        a.op(71, &[id, 34, 0]).op(71, &[id, 33, binding]);
    }
    a.op(71, &[6, 6, 4]).op(72, &[7, 0, 35, 0]).op(71, &[7, 2]);
    a.op(19, &[2]).op(33, &[3, 2]).op(21, &[4, 32, 0]).op(22, &[5, 32]).op(29, &[6, 4]).op(30, &[7, 6]);
    a.op(32, &[8, 12, 7]).op(59, &[8, 9, 12]).op(59, &[8, 10, 12]).op(32, &[11, 12, 4]);
    a.op(21, &[17, 32, 1]).op(23, &[21, 5, 2]).op(23, &[23, 17, 2]).op(22, &[F64, 64]);
    for (id, of) in [(18, 5), (19, 17), (22, 21), (24, 23), (25, 4), (91, F64)] {
        a.op(32, &[id, 7, of]);
    }
    for n in 0..10 {
        a.op(43, &[4, 30 + n, n]);
    }
    a.op(54, &[2, 1, 0, 3]).op(248, &[20]);
    for (ty, id) in [(18, 40), (19, 41), (22, 42), (24, 43), (25, 44), (91, 45)] {
        a.op(59, &[ty, id, 7]);
    }
    a.op(65, &[11, 50, 9, 30, 30]).op(61, &[4, 51, 50]).op(124, &[5, 52, 51]).op(80, &[21, 53, 52, 52]);
    a.op(115, &[F64, 92, 52]);
    // Of a float, to a signed and an unsigned exponent; of a vector; of a double.
    a.op(12, &[5, 54, 16, 35, 52, 40]).op(61, &[5, 55, 40]);
    a.op(12, &[5, 56, 16, 51, 52, 41]).op(61, &[17, 57, 41]);
    a.op(12, &[21, 58, 16, 35, 53, 42]).op(61, &[21, 59, 42]).op(81, &[5, 60, 58, 0]).op(81, &[5, 61, 59, 1]);
    a.op(12, &[21, 62, 16, 51, 53, 43]).op(61, &[23, 63, 43]).op(81, &[5, 64, 62, 1]).op(81, &[17, 65, 63, 0]);
    a.op(12, &[5, 66, 16, 51, 52, 44]).op(61, &[4, 67, 44]);
    a.op(12, &[F64, 93, 16, 35, 92, 45]).op(61, &[F64, 94, 45]).op(115, &[5, 95, 94]);
    for (n, value) in (0..).zip([54, 55, 56, 57, 60, 61, 64, 65, 67, 95]) {
        a.op(124, &[4, 100 + n, value]).op(65, &[11, 120 + n, 10, 30, 30 + n]).op(62, &[120 + n, 100 + n]);
    }
    a.op(253, &[]).op(56, &[]);
    let words = a.finish(140);
    let [quarter, six, rest] = [0.25_f32, 6.0, 0.78125].map(f32::to_bits);
    let expected = [quarter, six, rest, 3, quarter, six, rest, 3, 3, six];
    assert_eq!(run(&words, 1, &[6.25_f32.to_bits()], 10), expected);
}

/// Writes modules by hand.
#[derive(Default)]
pub(super) struct Assembler(pub(super) Vec<u32>);

impl Assembler {
    pub(super) fn op(&mut self, opcode: u32, operands: &[u32]) -> &mut Self {
        self.0.push(((operands.len() as u32 + 1) << 16) | opcode);
        self.0.extend_from_slice(operands);
        self
    }

    pub(super) fn text(text: &str) -> Vec<u32> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    pub(super) fn finish(&self, bound: u32) -> Vec<u32> {
        [&[0x0723_0203, 0x0001_0300, 0, bound, 0], self.0.as_slice()].concat()
    }
}

/// One invocation that reads `I[0]` and stores to `O[0]`: capabilities, decorations and types; ids 1 to 20, 30 is I[0]'s pointer, 31 its value, 40 `&O[0]`.
pub(super) fn head(lines: bool) -> Assembler {
    head_with(lines, 4)
}

/// The same with elements so many bytes apart.
fn head_with(lines: bool, stride: u32) -> Assembler {
    let mut a = Assembler::default();
    let main = Assembler::text("main");
    a.op(17, &[1]).op(14, &[0, 1]).op(15, &[[5, 1].as_slice(), &main].concat()).op(16, &[1, 17, 1, 1, 1]);
    if lines {
        a.op(7, &[[50].as_slice(), &Assembler::text("there.hlsl")].concat());
    }
    for (id, binding) in [(9, 0), (10, 1)] {
        a.op(71, &[id, 34, 0]).op(71, &[id, 33, binding]);
    }
    a.op(71, &[6, 6, stride]).op(72, &[7, 0, 35, 0]).op(71, &[7, 2]);
    if lines {
        a.op(8, &[50, 7, 3]);
    }
    a.op(19, &[2]).op(33, &[3, 2]).op(21, &[4, 32, 0]).op(20, &[5]).op(29, &[6, 4]).op(30, &[7, 6]);
    if lines {
        a.op(317, &[]).op(8, &[50, 8, 1]);
    }
    a.op(32, &[8, 12, 7]).op(59, &[8, 9, 12]).op(59, &[8, 10, 12]).op(32, &[11, 12, 4]);
    for (id, value) in [(12, 0), (13, 1), (14, 9), (15, 2)] {
        a.op(43, &[4, id, value]);
    }
    a
}

pub(super) fn begin(a: &mut Assembler) {
    a.op(54, &[2, 1, 0, 3]).op(248, &[20]).op(65, &[11, 30, 9, 12, 12]).op(61, &[4, 31, 30]).op(65, &[11, 40, 10, 12, 12]);
}

#[test]
fn kt_17_lines_among_the_types_change_nothing() {
    for lines in [false, true] {
        let mut a = head(lines);
        begin(&mut a);
        if lines {
            a.op(8, &[50, 12, 5]);
        }
        a.op(128, &[4, 32, 31, 14]).op(62, &[40, 32]).op(253, &[]).op(56, &[]);
        assert_eq!(run(&a.finish(60), 1, &[4], 1), [13], "{lines}");
    }
}

#[test]
fn a_message_about_spir_v_names_the_instruction_its_word_and_the_line_that_it_came_from() {
    let mut a = head(true);
    begin(&mut a);
    // OpImageTexelPointer
    a.op(8, &[50, 12, 5]).op(60, &[11, 33, 30, 12, 12]).op(253, &[]).op(56, &[]);
    let found = entry(&a.finish(60), &[]).map(|_| ()).unwrap_err();
    assert!(found.text.contains("OpImageTexelPointer") && found.text.contains("(word"), "{found}");
    assert!(found.text.contains("there.hlsl, line 12, column 5"), "{found}");
}

#[test]
fn l5_a_violation_in_spir_v_is_told_with_the_line_that_stands_before_it() {
    let mut a = head(true);
    // A type of a function with parameters, between which naga loses count.
    a.op(33, &[42, 2, 11, 4]);
    begin(&mut a);
    a.op(8, &[50, 11, 1]).op(128, &[4, 32, 31, 14]).op(8, &[50, 12, 5]).op(65, &[11, 33, 9, 12, 14]).op(61, &[4, 34, 33]);
    a.op(8, &[50, 13, 2]).op(62, &[40, 34]).op(253, &[]).op(56, &[]);
    let kernel = Kernel::of_entry(&entry(&a.finish(60), &[]).unwrap_or_else(|e| panic!("{e}")), Bounds::Validate, false);
    kernel.run([1, 1, 1], &mut [&mut [4], &mut [0]]);
    let found = kernel.violation().expect("a violation").location;
    assert_eq!((found.line, found.column), (12, 5));
}

#[test]
fn pointers_to_buffers_are_parameters_of_functions_of_a_module() {
    let mut a = head(false);
    // add(p, n) { *p = *p + n }, for O[0], O[1] and once more O[0].
    a.op(33, &[42, 2, 11, 4]);
    begin(&mut a);
    a.op(65, &[11, 45, 10, 12, 13]).op(57, &[2, 43, 44, 40, 31]).op(57, &[2, 51, 44, 45, 14]).op(57, &[2, 52, 44, 40, 13]);
    a.op(253, &[]).op(56, &[]);
    a.op(54, &[2, 44, 0, 42]).op(55, &[11, 46]).op(55, &[4, 47]).op(248, &[48]);
    a.op(61, &[4, 49, 46]).op(128, &[4, 53, 49, 47]).op(62, &[46, 53]).op(253, &[]).op(56, &[]);
    assert_eq!(run(&a.finish(60), 1, &[5], 2), [6, 9]);
}

#[test]
fn strides_of_arrays_are_those_of_the_module_and_overlapping_ones_are_refused() {
    let made = |stride| {
        let mut a = head_with(false, stride);
        a.op(54, &[2, 1, 0, 3]).op(248, &[20]).op(65, &[11, 30, 9, 12, 13]).op(61, &[4, 31, 30]).op(65, &[11, 40, 10, 12, 15]);
        a.op(62, &[40, 31]).op(253, &[]).op(56, &[]);
        a.finish(60)
    };
    assert_eq!(run(&made(4), 1, &[1, 2, 3, 4, 5], 3), [0, 0, 2]);
    assert_eq!(run(&made(16), 1, &[1, 2, 3, 4, 5, 6, 7, 8], 12), [0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0]);
    let found = entry(&made(2), &[]).map(|_| ()).unwrap_err();
    assert!(found.text.contains("ArrayStride"), "{found}");
}

/// loop { switch(I[0]) { 0 => { O[0] = 1; branch }, default => {} } O[0] = 9; leave }
fn leaving(target: u32) -> Vec<u32> {
    let mut a = head(false);
    begin(&mut a);
    a.op(249, &[21]).op(248, &[21]).op(246, &[26, 25, 0]).op(249, &[22]).op(248, &[22]);
    a.op(247, &[24, 0]).op(251, &[31, 24, 0, 23]).op(248, &[23]).op(62, &[40, 13]).op(249, &[target]);
    a.op(248, &[24]).op(62, &[40, 14]).op(249, &[26]);
    a.op(248, &[25]).op(249, &[21]).op(248, &[26]).op(253, &[]).op(56, &[]);
    a.finish(60)
}

#[test]
fn kt_16_a_case_that_leaves_the_loop_around_its_switch_is_refused() {
    let found = entry(&leaving(26), &[]).map(|_| ()).unwrap_err();
    assert!(found.refusal && found.text.contains("leaves a switch and the one around it at once"), "{found}");
    // The same with a branch to the switch's own merge block is a plain break.
    assert_eq!(run(&leaving(24), 1, &[0], 1), [9]);
    assert_eq!(run(&leaving(24), 1, &[1], 1), [9]);
}

#[test]
fn specialization_constants_of_a_module_are_overrides() {
    let mut a = Assembler::default();
    let main = Assembler::text("main");
    a.op(17, &[1]).op(14, &[0, 1]).op(15, &[[5, 1].as_slice(), &main].concat()).op(16, &[1, 17, 1, 1, 1]);
    a.op(5, &[[16].as_slice(), &Assembler::text("N")].concat());
    a.op(71, &[16, 1, 3]).op(71, &[17, 11, 25]).op(71, &[10, 34, 0]).op(71, &[10, 33, 0]);
    a.op(71, &[6, 6, 4]).op(72, &[7, 0, 35, 0]).op(71, &[7, 2]);
    a.op(19, &[2]).op(33, &[3, 2]).op(21, &[4, 32, 0]).op(29, &[6, 4]).op(30, &[7, 6]).op(23, &[5, 4, 3]);
    a.op(32, &[8, 12, 7]).op(59, &[8, 10, 12]).op(32, &[11, 12, 4]).op(43, &[4, 12, 0]).op(43, &[4, 13, 1]);
    // N = 5; twice = N + N; the workgroup size is (N, 1, 1).
    a.op(50, &[4, 16, 5]).op(51, &[5, 17, 16, 13, 13]).op(52, &[4, 18, 128, 16, 16]);
    a.op(54, &[2, 1, 0, 3]).op(248, &[20]).op(65, &[11, 40, 10, 12, 12]).op(62, &[40, 18]).op(253, &[]).op(56, &[]);
    let words = a.finish(60);
    for (constants, n) in [
        (vec![], 5),
        (vec![Constant { key: "N".into(), value: 7.0.into() }], 7),
        (vec![Constant { key: "3".into(), value: 2.0.into() }], 2),
    ] {
        let entry = entry(&words, &constants).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(entry.reflection().workgroup_size, [n, 1, 1]);
        assert_eq!(entry.reflection().overrides[0].default, Some(5.0.into()));
        let mut o = vec![0];
        Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut o]);
        assert_eq!(o, [2 * n]);
    }
    let swapped: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
    assert!(Module::parse(&Source::new(&swapped)).is_ok(), "the other endianness");
}

#[test]
fn specialization_constants_of_every_size_are_overrides() {
    let mut a = Assembler::default();
    let main = Assembler::text("main");
    a.op(17, &[1]).op(17, &[11]).op(17, &[10]).op(14, &[0, 1]);
    a.op(15, &[[5, 1].as_slice(), &main].concat()).op(16, &[1, 17, 1, 1, 1]);
    for (id, spec) in [(30, 0), (31, 1), (32, 2), (33, 3)] {
        a.op(71, &[id, 1, spec]);
    }
    a.op(71, &[10, 34, 0]).op(71, &[10, 33, 0]).op(71, &[6, 6, 8]).op(72, &[7, 0, 35, 0]).op(71, &[7, 2]);
    // 4 u32, 5 i64, 14 u64, 15 i32, 16 f64; the block is an array of u64.
    a.op(19, &[2])
        .op(33, &[3, 2])
        .op(21, &[4, 32, 0])
        .op(21, &[5, 64, 1])
        .op(21, &[14, 64, 0])
        .op(21, &[15, 32, 1])
        .op(22, &[16, 64]);
    a.op(29, &[6, 14]).op(30, &[7, 6]).op(32, &[8, 12, 7]).op(59, &[8, 10, 12]).op(32, &[11, 12, 14]);
    for n in 0..6 {
        a.op(43, &[4, 20 + n, n]);
    }
    // a = -5, b = 2^63 + 3, s = -2, d = 0.5; sum = a + b, half = b / 2, wide = s as i64.
    a.op(50, &[5, 30, -5i32 as u32, u32::MAX])
        .op(50, &[14, 31, 3, 1 << 31])
        .op(50, &[15, 32, -2i32 as u32])
        .op(50, &[16, 33, 0, 0x3fe0_0000]);
    a.op(43, &[14, 34, 2, 0]).op(52, &[14, 35, 128, 30, 31]).op(52, &[14, 36, 134, 31, 34]).op(52, &[5, 37, 114, 32]);
    a.op(54, &[2, 1, 0, 3]).op(248, &[50]);
    a.op(124, &[14, 51, 30]).op(124, &[14, 52, 37]).op(124, &[14, 53, 33]);
    for (n, value) in [51, 31, 35, 36, 52, 53].into_iter().enumerate() {
        a.op(65, &[11, 60 + n as u32, 10, 20, 20 + n as u32]).op(62, &[60 + n as u32, value]);
    }
    a.op(253, &[]).op(56, &[]);
    let words = a.finish(80);
    for (given, a, b, s, d) in [(false, -5i64, (1u64 << 63) + 3, -2i64, 0.5f64), (true, i64::MIN, u64::MAX, -300, 1e300)] {
        let constants = [("0", a.into()), ("1", b.into()), ("2", s.into()), ("3", d.into())]
            .map(|(key, value)| Constant { key: key.into(), value });
        let entry = entry(&words, &constants[..if given { 4 } else { 0 }]).unwrap_or_else(|e| panic!("{e}"));
        let mut o = vec![0; 12];
        Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut o]);
        let got: Vec<u64> = o.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
        assert_eq!(got, [a.cast_unsigned(), b, b.wrapping_add(a.cast_unsigned()), b / 2, s.cast_unsigned(), d.to_bits()]);
    }
    let mut a = Assembler::default();
    a.op(17, &[1]).op(17, &[22]).op(14, &[0, 1]).op(15, &[[5, 1].as_slice(), &main].concat()).op(16, &[1, 17, 1, 1, 1]);
    a.op(19, &[2])
        .op(33, &[3, 2])
        .op(21, &[15, 16, 1])
        .op(43, &[15, 32, 7])
        .op(54, &[2, 1, 0, 3])
        .op(248, &[16])
        .op(253, &[])
        .op(56, &[]);
    let refused = entry(&a.finish(33), &[]).map(|_| ()).unwrap_err();
    assert!(refused.text.contains("constants of 8- and 16-bit integers are not supported in SPIR-V (word "), "{refused}");
}

/// The same kernels in WGSL, GLSL, and SPIR-V made from the WGSL.
const KERNELS: &[(&str, &str)] = &[
    ("O[i] = I[i] * 3u + 1u;", "O[i] = I[i] * 3u + 1u;"),
    ("if i < arrayLength(&O) { O[i] = i; }", "if (i < O.length()) O[i] = i;"),
    (
        "var s = 0u; for (var k = 0u; k <= i; k++) { s += I[k]; } O[i] = s;",
        "uint s = 0u; for (uint k = 0u; k <= i; k++) s += I[k]; O[i] = s;",
    ),
    (
        "O[i] = bitcast<u32>(sqrt(f32(I[i])) * 0.5 + 1.0 / (1.0 + f32(i)));",
        "O[i] = floatBitsToUint(sqrt(float(I[i])) * 0.5 + 1.0 / (1.0 + float(i)));",
    ),
    ("O[i] = u32(i32(I[i]) / -3) ^ (I[i] >> 3u);", "O[i] = uint(int(I[i]) / -3) ^ (I[i] >> 3u);"),
    (
        "switch I[i] % 4u { case 0u: { O[i] = 10u; } case 1u, 2u: { O[i] = 20u; } default: { O[i] = 30u; } }",
        "switch (I[i] % 4u) { case 0u: O[i] = 10u; break; case 1u: case 2u: O[i] = 20u; break; default: O[i] = 30u; }",
    ),
    (
        "let m = mat3x2<f32>(1, 2, 3, 4, 5, f32(I[i])); let v = m * vec3<f32>(1, 2, 3); O[i] = bitcast<u32>(v.x * v.y);",
        "mat3x2 m = mat3x2(1, 2, 3, 4, 5, float(I[i])); vec2 v = m * vec3(1, 2, 3); O[i] = floatBitsToUint(v.x * v.y);",
    ),
    (
        "atomicAdd(&s[i % 2u], I[i]); workgroupBarrier(); O[i] = atomicLoad(&s[0]) + i;",
        "atomicAdd(s[i % 2u], I[i]); barrier(); O[i] = s[0] + i;",
    ),
    ("O[i] = select(I[i], 7u, I[i] > 40u) + countOneBits(I[i]);", "O[i] = mix(I[i], 7u, I[i] > 40u) + uint(bitCount(I[i]));"),
    (
        "var a = array<u32, 4>(1u, 2u, 3u, 4u); a[I[i] % 4u] = 9u; O[i] = a[0] + a[1] * 10u + a[2] * 100u + a[3] * 1000u;",
        "uint a[4] = uint[4](1u, 2u, 3u, 4u); a[I[i] % 4u] = 9u; O[i] = a[0] + a[1] * 10u + a[2] * 100u + a[3] * 1000u;",
    ),
    (
        "O[i] = pack4x8unorm(vec4(f32(i), 0.25, 1.0, 0.6)) + extractBits(I[i], 2u, 3u);",
        "O[i] = packUnorm4x8(vec4(float(i), 0.25, 1.0, 0.6)) + bitfieldExtract(I[i], 2, 3);",
    ),
    (
        "var x = I[i]; loop { if x <= 3u { break; } if x % 2u == 0u { x = x / 2u; continue; } x = x - 1u; } O[i] = x;",
        "uint x = I[i]; while (x > 3u) { if (x % 2u == 0u) { x /= 2u; continue; } x--; } O[i] = x;",
    ),
];

#[test]
fn a_dozen_kernels_give_the_same_bytes_in_three_languages() {
    let input: Vec<u32> = (0..8).map(|i| i * 37 + 5).collect();
    for (wgsl, glsl) in KERNELS {
        let shared = if wgsl.contains("&s[") { "var<workgroup> s: array<atomic<u32>, 2>;" } else { "" };
        let wgsl = format!(
            "{HEAD} {shared} @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) g: vec3<u32>) {{ let i = g.x; {wgsl} }}"
        );
        let shared = if glsl.contains("s[0]") && glsl.contains("barrier") { "shared uint s[2];" } else { "" };
        let glsl = format!(
            "#version 450\nlayout(local_size_x = 8) in; {shared}
            layout(binding = 0) readonly buffer A {{ uint I[]; }}; layout(binding = 1) buffer B {{ uint O[]; }};
            void main() {{ uint i = gl_GlobalInvocationID.x; {glsl} }}"
        );
        let expected = super::run_words(&wgsl, 1, &input, 8);
        assert_eq!(super::run_words(&glsl, 1, &input, 8), expected, "{glsl}");
        assert_eq!(run(&from_wgsl(&wgsl), 1, &input, 8), expected, "{wgsl}");
    }
}

/// Changes instructions: those with an opcode, and of extended ones a number.
fn respelled(words: &[u32], from: (u16, Option<u32>), to: (u16, Option<u32>)) -> Vec<u32> {
    let mut words = words.to_vec();
    let (mut at, mut changed) = (5, 0);
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        if words[at] & 0xffff == u32::from(from.0) && from.1.is_none_or(|number| words[at + 4] == number) {
            words[at] = (length as u32) << 16 | u32::from(to.0);
            if let Some(number) = to.1 {
                words[at + 4] = number;
            }
            changed += 1;
        }
        at += length;
    }
    assert!(changed > 0, "{from:?} is not there");
    words
}

#[test]
fn kt_17_instructions_that_say_the_sign_are_believed_over_the_types_of_their_operands() {
    let on = |expression: &str| {
        from_wgsl(&one(&format!("let a = bitcast<i32>(I[0]); let b = bitcast<i32>(I[1]); O[0] = {expression};")))
    };
    let input = [-5i32 as u32, 3];
    let min = on("bitcast<u32>(min(a, b))");
    assert_eq!(run(&min, 1, &input, 1), [-5i32 as u32]);
    // SMin, UMin; SMax, UMax; SClamp, UClamp; FindSMsb, FindUMsb.
    assert_eq!(run(&respelled(&min, (12, Some(39)), (12, Some(38))), 1, &input, 1), [3]);
    let max = on("bitcast<u32>(max(vec2(a), vec2(b)).y)");
    assert_eq!(run(&respelled(&max, (12, Some(42)), (12, Some(41))), 1, &input, 1), [-5i32 as u32]);
    let msb = on("bitcast<u32>(firstLeadingBit(a))");
    assert_eq!(run(&msb, 1, &input, 1), [2]);
    assert_eq!(run(&respelled(&msb, (12, Some(74)), (12, Some(75))), 1, &input, 1), [31]);
    // OpConvertSToF, OpConvertUToF.
    let float = on("bitcast<u32>(f32(a))");
    assert_eq!(run(&float, 1, &input, 1), [(-5f32).to_bits()]);
    assert_eq!(run(&respelled(&float, (111, None), (112, None)), 1, &input, 1), [4_294_967_296f32.to_bits()]);
    let unsigned = from_wgsl(&one("O[0] = bitcast<u32>(f32(I[0]));"));
    assert_eq!(run(&respelled(&unsigned, (112, None), (111, None)), 1, &input, 1), [(-5f32).to_bits()]);
    // What the writer makes of these goes through unsigned instructions on signed numbers.
    assert_eq!(run(&on("bitcast<u32>(countLeadingZeros(a))"), 1, &input, 1), [0]);
    assert_eq!(run(&on("bitcast<u32>(countTrailingZeros(b - 3))"), 1, &input, 1), [32]);
    assert_eq!(run(&on("bitcast<u32>(countLeadingZeros(vec2(b, a).yxx).x)"), 1, &input, 1), [0]);
    assert_eq!(run(&on("bitcast<u32>(countTrailingZeros(vec3(a + 1)).z)"), 1, &input, 1), [2]);
    // Atomics cannot be cast: OpAtomicUMin.
    let atomic = from_wgsl(&format!(
        "{} var<workgroup> s: atomic<i32>; @compute @workgroup_size(1) fn main() {{ atomicMin(&s, -3); O[0] = bitcast<u32>(atomicLoad(&s)); }}",
        HEAD
    ));
    assert_eq!(run(&atomic, 1, &input, 1), [-3i32 as u32]);
    let found = entry(&respelled(&atomic, (236, None), (237, None)), &[]).map(|_| ()).unwrap_err();
    assert!(found.text.contains("by another sign than their type has"), "{found}");
}

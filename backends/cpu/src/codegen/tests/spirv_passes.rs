//! What naga does not translate of SPIR-V and is spelled otherwise before: matrices by rows, switches over other integers, prints.

use compute_kernel::reflection::Bounds;

use super::Kernel;
use super::spirv::{Assembler, begin, entry, head};

const F32: u32 = 5;
const WORD: u32 = 4;

/// The floats of a buffer in which `m: mat2x3` lies by rows, then two of these, then `p: mat3x2` with columns 16 bytes apart.
struct Memory {
    stride: usize,
    words: Vec<f32>,
}

impl Memory {
    fn new(stride: usize) -> Self {
        let size = (9 * stride).next_multiple_of(16) + 48;
        Self { stride: stride / 4, words: (0..size / 4).map(|n| n as f32 + 1.0).collect() }
    }

    /// `m` for 0, the others for 1 and 2.
    fn rows(&mut self, which: usize, column: usize, row: usize) -> &mut f32 {
        &mut self.words[(3 * which + row) * self.stride + column]
    }

    fn apart(&mut self, column: usize, row: usize) -> &mut f32 {
        let start = (9 * self.stride).next_multiple_of(4);
        &mut self.words[start + column * 4 + row]
    }
}

/// Types and variables: 13 is the buffer with the matrices, 17 the output of floats; constants are 30 and up, 60 is 2.0.
fn matrices(stride: u32) -> Assembler {
    let mut a = Assembler::default();
    let main = Assembler::text("main");
    a.op(17, &[1]).op(14, &[0, 1]).op(15, &[[5, 1].as_slice(), &main].concat()).op(16, &[1, 17, 1, 1, 1]);
    for (id, binding) in [(13, 0), (17, 1)] {
        a.op(71, &[id, 34, 0]).op(71, &[id, 33, binding]);
    }
    let apart = (9 * stride).next_multiple_of(16);
    a.op(71, &[8, 6, 3 * stride]).op(71, &[14, 6, 4]).op(71, &[11, 2]).op(71, &[15, 2]).op(72, &[15, 0, 35, 0]);
    for (member, offset, order, stride) in [(0, 0, 4, stride), (1, 3 * stride, 4, stride), (2, apart, 5, 16)] {
        a.op(72, &[11, member, 35, offset]).op(72, &[11, member, order]).op(72, &[11, member, 7, stride]);
    }
    a.op(19, &[2]).op(33, &[3, 2]).op(21, &[WORD, 32, 0]).op(22, &[F32, 32]);
    for n in 0..20 {
        a.op(43, &[WORD, 30 + n, n]);
    }
    a.op(43, &[F32, 60, 2.0f32.to_bits()]);
    a.op(23, &[6, F32, 3]).op(24, &[7, 6, 2]).op(28, &[8, 7, 32]).op(23, &[9, F32, 2]).op(24, &[10, 9, 3]);
    a.op(30, &[11, 7, 8, 10]).op(32, &[12, 12, 11]).op(59, &[12, 13, 12]);
    a.op(29, &[14, F32]).op(30, &[15, 14]).op(32, &[16, 12, 15]).op(59, &[16, 17, 12]);
    for (id, of) in [(18, F32), (19, 7), (20, 6), (21, 10), (22, 8), (23, 9)] {
        a.op(32, &[id, 12, of]);
    }
    a.op(54, &[2, 1, 0, 3]).op(248, &[24]);
    a
}

impl Assembler {
    /// `O[at] = value`
    fn put(&mut self, next: &mut u32, at: u32, value: u32) {
        self.op(65, &[18, *next, 17, 30, 30 + at]).op(62, &[*next, value]);
        *next += 1;
    }

    /// `O[at] = value[path]`
    fn extract(&mut self, next: &mut u32, at: u32, value: u32, path: &[u32]) {
        self.op(81, &[[F32, *next, value].as_slice(), path].concat());
        *next += 1;
        self.put(next, at, *next - 1);
    }

    /// Loads from the buffer with the matrices.
    fn load(&mut self, next: &mut u32, (pointer, ty): (u32, u32), path: &[u32]) -> u32 {
        let path: Vec<u32> = path.iter().map(|n| 30 + n).collect();
        self.op(65, &[[pointer, *next, 13].as_slice(), &path].concat()).op(61, &[ty, *next + 1, *next]);
        *next += 2;
        *next - 1
    }
}

#[test]
fn kt_15_matrices_by_rows_and_with_columns_apart_are_read_where_they_are() {
    for stride in [8, 16] {
        let mut a = matrices(stride);
        let next = &mut 100;
        let whole = a.load(next, (19, 7), &[0]);
        for (n, path) in [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]].iter().enumerate() {
            a.extract(next, n as u32, whole, path);
        }
        let column = a.load(next, (20, 6), &[0, 1]);
        a.extract(next, 6, column, &[2]);
        let element = a.load(next, (18, F32), &[0, 1, 1]);
        a.put(next, 7, element);
        // Through pointers: to the array, to its second matrix, to a column of that, to an element.
        a.op(65, &[22, 70, 13, 31]).op(65, &[19, 71, 70, 31]).op(61, &[7, 72, 71]);
        a.extract(next, 8, 72, &[1, 0]);
        a.op(65, &[20, 73, 71, 31])
            .op(65, &[18, 74, 73, 31])
            .op(61, &[F32, 75, 74])
            .op(65, &[18, 76, 71, 30, 32])
            .op(61, &[F32, 77, 76]);
        a.put(next, 9, 75);
        a.put(next, 10, 77);
        let apart = a.load(next, (21, 10), &[2]);
        a.extract(next, 11, apart, &[2, 1]);
        let column = a.load(next, (23, 9), &[2, 1]);
        a.extract(next, 12, column, &[0]);
        let element = a.load(next, (18, F32), &[2, 0, 1]);
        a.put(next, 13, element);
        a.op(253, &[]).op(56, &[]);
        let mut memory = Memory::new(stride as usize);
        let mut want = Vec::new();
        for (which, column, row) in [
            (0, 0, 0),
            (0, 0, 1),
            (0, 0, 2),
            (0, 1, 0),
            (0, 1, 1),
            (0, 1, 2),
            (0, 1, 2),
            (0, 1, 1),
            (2, 1, 0),
            (2, 1, 1),
            (2, 0, 2),
        ] {
            want.push(*memory.rows(which, column, row));
        }
        want.extend([(2, 1), (1, 0), (0, 1)].map(|(column, row)| *memory.apart(column, row)));
        let got = floats(&a.finish(*next), &mut memory, want.len());
        assert_eq!(got, want, "{stride}");
    }
}

#[test]
fn kt_15_matrices_by_rows_and_with_columns_apart_are_written_where_they_are() {
    for stride in [8, 16] {
        let mut a = matrices(stride);
        let next = &mut 100;
        let whole = a.load(next, (19, 7), &[0]);
        let column = a.load(next, (20, 6), &[0, 1]);
        a.op(143, &[7, 70, whole, 60]).op(65, &[19, 71, 13, 30]).op(62, &[71, 70]);
        a.op(65, &[20, 72, 13, 31, 30, 31]).op(62, &[72, column]);
        a.op(65, &[18, 73, 13, 31, 31, 30, 32]).op(62, &[73, 60]);
        let apart = a.load(next, (21, 10), &[2]);
        a.op(143, &[10, 74, apart, 60]).op(65, &[21, 75, 13, 32]).op(62, &[75, 74]);
        a.op(253, &[]).op(56, &[]);
        let (mut memory, mut want) = (Memory::new(stride as usize), Memory::new(stride as usize));
        for row in 0..3 {
            *want.rows(1, 1, row) = *memory.rows(0, 1, row);
            for column in 0..2 {
                *want.rows(0, column, row) *= 2.0;
                *want.apart(row, column) *= 2.0;
            }
        }
        *want.rows(2, 0, 2) = 2.0;
        floats(&a.finish(*next), &mut memory, 1);
        assert_eq!(memory.words, want.words, "{stride}");
    }
}

/// The output of a module over matrices, which may change their memory.
fn floats(words: &[u32], memory: &mut Memory, count: usize) -> Vec<f32> {
    let entry = entry(words, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut output = vec![0; count];
    let mut input: Vec<u32> = memory.words.iter().map(|f| f.to_bits()).collect();
    let kernel = Kernel::of_entry(&entry, Bounds::Validate, false);
    kernel.run([1, 1, 1], &mut [&mut input, &mut output]);
    assert!(!kernel.violated());
    memory.words = input.into_iter().map(f32::from_bits).collect();
    output.into_iter().map(f32::from_bits).collect()
}

#[test]
fn matrices_by_rows_are_refused_where_they_are_no_values() {
    let refused = |a: &Assembler, part: &str| {
        let found = entry(&a.finish(140), &[]).map(|_| ()).unwrap_err();
        assert!(found.refusal && found.text.contains(part) && found.text.contains("(word "), "{found}");
    };
    // The structure as a whole; the array as a whole.
    let mut a = matrices(8);
    a.op(61, &[11, 100, 13]).op(253, &[]).op(56, &[]);
    refused(&a, "is handled as a whole");
    let mut a = matrices(8);
    a.op(65, &[22, 100, 13, 31]).op(61, &[8, 101, 100]).op(253, &[]).op(56, &[]);
    refused(&a, "is handled as a whole");
    let mut a = matrices(8);
    a.op(65, &[19, 100, 13, 30]).op(57, &[2, 101, 102, 100]).op(253, &[]).op(56, &[]);
    refused(&a, "OpFunctionCall");
}

#[test]
fn switches_select_by_integers_of_every_size() {
    for (value, expected) in [(5u64, 1), (0x1_0000_0005, 2), (u64::MAX, 3), (6, 9), (0x2_0000_0005, 9), (0xffff_ffff, 9)] {
        for signed in [false, true] {
            let mut a = head_of_64(signed);
            a.op(247, &[55, 0]).op(251, &[48, 54, 5, 0, 51, 5, 1, 52, u32::MAX, u32::MAX, 53]);
            for (label, constant) in [(51, 60), (52, 61), (53, 62), (54, 63)] {
                a.op(248, &[label]).op(62, &[40, constant]).op(249, &[55]);
            }
            a.op(248, &[55]).op(253, &[]).op(56, &[]);
            let got = word(&a.finish(70), &[value as u32, (value >> 32) as u32]);
            assert_eq!(got, expected, "{value:#x} {signed}");
        }
    }
    for (value, signed, expected) in [(5, false, 1), (0xffff, false, 2), (0xffff, true, 3), (0x1_0005, true, 1), (7, false, 9)] {
        let mut a = head_of(17, &[22]);
        let ty = if signed { 42 } else { 41 };
        a.op(21, &[41, 16, 0]).op(21, &[42, 16, 1]);
        constants(&mut a);
        begin(&mut a);
        // Unsigned 0xffff, signed -1.
        a.op(113, &[41, 47, 31]).op(124, &[ty, 48, 47]);
        a.op(247, &[55, 0]).op(251, &[48, 54, 5, 51, 0xffff, 52, u32::MAX, 53]);
        for (label, constant) in [(51, 60), (52, 61), (53, 62), (54, 63)] {
            a.op(248, &[label]).op(62, &[40, constant]).op(249, &[55]);
        }
        a.op(248, &[55]).op(253, &[]).op(56, &[]);
        assert_eq!(word(&a.finish(70), &[value]), expected, "{value:#x} {signed}");
    }
}

/// The module of [`head`] with another capability.
fn head_of(opcode: u32, operands: &[u32]) -> Assembler {
    let mut first = Assembler::default();
    first.op(opcode, operands);
    let mut a = head(false);
    a.0.splice(0..0, first.0);
    a
}

fn constants(a: &mut Assembler) {
    for (id, value) in [(60, 1), (61, 2), (62, 3), (63, 9)] {
        a.op(43, &[WORD, id, value]);
    }
}

/// Up to a value of 64 bits, 48, made of two words of the input.
fn head_of_64(signed: bool) -> Assembler {
    let mut a = head_of(17, &[11]);
    a.op(21, &[41, 64, signed.into()]).op(43, &[41, 42, 0, 1]);
    constants(&mut a);
    begin(&mut a);
    a.op(65, &[11, 32, 9, 12, 13]).op(61, &[WORD, 33, 32]);
    a.op(113, &[41, 44, 31]).op(113, &[41, 45, 33]).op(132, &[41, 46, 45, 42]).op(128, &[41, 48, 46, 44]);
    a
}

fn word(words: &[u32], input: &[u32]) -> u32 {
    let entry = entry(words, &[]).unwrap_or_else(|e| panic!("{e}"));
    let (mut input, mut output) = (input.to_vec(), [0]);
    Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut input, &mut output]);
    output[0]
}

/// A module that prints, with a format and the values that it is given.
fn printing(format: &str, values: &[u32]) -> Assembler {
    let mut a = head(false);
    // Before OpMemoryModel, and the text before the decorations.
    let text = |id: u32, text: &str| [&[id], Assembler::text(text).as_slice()].concat();
    let mut first = Assembler::default();
    first.op(17, &[1]).op(10, &Assembler::text("SPV_KHR_non_semantic_info")).op(11, &text(56, "NonSemantic.DebugPrintf"));
    a.0.splice(0..2, first.0);
    let mut strings = Assembler::default();
    strings.op(7, &text(57, format));
    let decorations = a.0.iter().position(|w| *w == 4 << 16 | 71).unwrap_or_default();
    a.0.splice(decorations..decorations, strings.0);
    a.op(22, &[41, 32]).op(23, &[42, 41, 2]);
    begin(&mut a);
    a.op(112, &[41, 43, 31]).op(80, &[42, 44, 43, 43]);
    a.op(12, &[[2, 58, 56, 1, 57].as_slice(), values].concat()).op(62, &[40, 31]).op(253, &[]).op(56, &[]);
    a
}

#[test]
fn modules_print_what_their_formats_say() {
    for (format, values, expected) in [
        ("x = %u, %d, \"%x\"\\", vec![31, 31, 31], "x = 7, 7, \"7\"\\"),
        ("%f|%.1v2f\n", vec![43, 44], "7.000000|7.0, 7.0"),
        ("nothing 100%%", vec![], "nothing 100%"),
    ] {
        let entry = entry(&printing(format, &values).finish(60), &[]).unwrap_or_else(|e| panic!("{e}"));
        assert!(entry.prints());
        let kernel = Kernel::of_entry(&entry, Bounds::Checked, false);
        let mut output = [0];
        kernel.run([2, 1, 1], &mut [&mut [7], &mut output]);
        let printed = kernel.compiled.reports().printed(&kernel.recorded());
        let lines: Vec<_> = printed.lines.iter().map(|line| (line.invocation[0], line.text.as_str())).collect();
        assert_eq!(lines, [(0, expected), (1, expected)]);
        assert_eq!(output, [7]);
    }
    for (format, values, message) in [
        ("%f", vec![31], "value 1 is not what its format says, which is f32"),
        ("%v3f", vec![44], "value 1 is not what its format says, which is vec3<f32>"),
        ("%u %u", vec![31], "its format prints 2 values; 1 are given"),
        ("%s", vec![31], "DebugPrintf: "),
    ] {
        let found = entry(&printing(format, &values).finish(60), &[]).map(|_| ()).unwrap_err();
        assert!(found.text.contains(message) && found.text.contains("(word "), "{found}");
    }
}

//! Instructions on numbers of SPIR-V, of which each says what it does whatever the types of its operands: written by hand, one at a time.

use std::collections::HashMap;

use compute_kernel::reflection::Bounds;

use super::Kernel;
use super::spirv::{Assembler, begin, entry, head};

/// A type of numbers by its bits.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Number {
    Truth,
    Signed(u32),
    Unsigned(u32),
    Float(u32),
}

use Number::{Float, Signed, Truth, Unsigned};

/// A scalar, or a vector of several.
type Type = (Number, u32);

/// An instruction by its number, or one of GLSL.std.450.
#[derive(Clone, Copy, Debug)]
enum What {
    Core(u32),
    Extended(u32),
}

use What::{Core, Extended};

fn bits((number, _): Type) -> u32 {
    match number {
        Truth => 32,
        Signed(bits) | Unsigned(bits) | Float(bits) => bits,
    }
}

/// Bytes from one to the next in an array.
fn stride(ty: Type) -> u32 {
    bits(ty) / 8 * ty.1.next_power_of_two()
}

#[derive(Default)]
struct Writer {
    notes: Assembler,
    types: Assembler,
    code: Assembler,
    known: HashMap<(u32, Vec<u32>), u32>,
    next: u32,
}

impl Writer {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn declared(&mut self, opcode: u32, operands: &[u32]) -> u32 {
        if let Some(known) = self.known.get(&(opcode, operands.to_vec())) {
            return *known;
        }
        let id = self.fresh();
        if matches!(opcode, 43 | 44) {
            self.types.op(opcode, &[&operands[..1], &[id], &operands[1..]].concat());
        } else {
            self.types.op(opcode, &[&[id], operands].concat());
        }
        self.known.insert((opcode, operands.to_vec()), id);
        id
    }

    fn ty(&mut self, (number, count): Type) -> u32 {
        let scalar = match number {
            Truth => self.declared(20, &[]),
            Signed(bits) => self.declared(21, &[bits, 1]),
            Unsigned(bits) => self.declared(21, &[bits, 0]),
            Float(bits) => self.declared(22, &[bits]),
        };
        if count == 1 { scalar } else { self.declared(23, &[scalar, count]) }
    }

    fn constant(&mut self, value: u32, count: u32) -> u32 {
        let word = self.ty((Unsigned(32), 1));
        let one = self.declared(43, &[word, value]);
        if count == 1 {
            return one;
        }
        let ty = self.ty((Unsigned(32), count));
        self.declared(44, &[&[ty], vec![one; count as usize].as_slice()].concat())
    }

    /// The address of the only element of a buffer.
    fn buffer(&mut self, ty: Type, binding: u32) -> u32 {
        let element = self.ty(ty);
        let (array, block) = (self.fresh(), self.fresh());
        self.types.op(29, &[array, element]).op(30, &[block, array]);
        self.notes.op(71, &[array, 6, stride(ty)]).op(72, &[block, 0, 35, 0]).op(71, &[block, 2]);
        let (pointer, variable) = (self.declared(32, &[12, block]), self.fresh());
        self.types.op(59, &[pointer, variable, 12]);
        self.notes.op(71, &[variable, 34, 0]).op(71, &[variable, 33, binding]);
        let (pointer, zero, place) = (self.declared(32, &[12, element]), self.constant(0, 1), self.fresh());
        self.code.op(65, &[pointer, place, variable, zero, zero]);
        place
    }
}

/// A kernel that stores what an instruction makes of one number of each buffer to the last buffer, and truths as words.
fn written(what: What, from: &[Type], to: Type) -> Vec<u32> {
    const GLSL: u32 = 1;
    const MAIN: u32 = 2;
    let mut w = Writer { next: MAIN, ..Writer::default() };
    let void = w.declared(19, &[]);
    let function = w.declared(33, &[void]);
    w.code.op(54, &[void, MAIN, 0, function]);
    let label = w.fresh();
    w.code.op(248, &[label]);
    let mut values = Vec::new();
    for (binding, ty) in (0..).zip(from) {
        let place = w.buffer(*ty, binding);
        let (ty, value) = (w.ty(*ty), w.fresh());
        w.code.op(61, &[ty, value, place]);
        values.push(value);
    }
    let stored = if to.0 == Truth { (Unsigned(32), to.1) } else { to };
    let place = w.buffer(stored, from.len() as u32);
    let (ty, mut made) = (w.ty(to), w.fresh());
    match what {
        Core(opcode) => w.code.op(opcode, &[&[ty, made], values.as_slice()].concat()),
        Extended(number) => w.code.op(12, &[&[ty, made, GLSL, number], values.as_slice()].concat()),
    };
    if to.0 == Truth {
        let (ty, one, zero, word) = (w.ty(stored), w.constant(1, to.1), w.constant(0, to.1), w.fresh());
        w.code.op(169, &[ty, word, made, one, zero]);
        made = word;
    }
    w.code.op(62, &[place, made]).op(253, &[]).op(56, &[]);
    let mut all = Assembler::default();
    // Shader, Float16, Float64, Int64, Int16, StorageBuffer16BitAccess.
    for capability in [1, 9, 10, 11, 22, 4433] {
        all.op(17, &[capability]);
    }
    all.op(11, &[&[GLSL], Assembler::text("GLSL.std.450").as_slice()].concat()).op(14, &[0, 1]);
    all.op(15, &[&[5, MAIN], Assembler::text("main").as_slice()].concat()).op(16, &[MAIN, 17, 1, 1, 1]);
    for part in [&w.notes, &w.types, &w.code] {
        all.0.extend(&part.0);
    }
    all.finish(w.next + 1)
}

fn packed(ty: Type, numbers: &[u64]) -> Vec<u32> {
    assert_eq!(numbers.len(), ty.1 as usize);
    let mut bytes: Vec<u8> = Vec::new();
    for number in numbers {
        bytes.extend(&number.to_le_bytes()[..bits(ty) as usize / 8]);
    }
    bytes.resize(stride(ty).next_multiple_of(4) as usize, 0);
    bytes.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// What an instruction makes of numbers, without their signs.
fn result(what: What, from: &[(Type, &[u64])], to: Type) -> Vec<u64> {
    let types: Vec<Type> = from.iter().map(|(ty, _)| *ty).collect();
    let entry = entry(&written(what, &types, to), &[]).unwrap_or_else(|e| panic!("{what:?} {from:?} {to:?}: {e}"));
    let mut buffers: Vec<Vec<u32>> = from.iter().map(|(ty, numbers)| packed(*ty, numbers)).collect();
    buffers.push(packed(to, &vec![0; to.1 as usize]));
    let mut all: Vec<&mut [u32]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
    Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut all);
    let bytes: Vec<u8> = buffers.iter().next_back().unwrap().iter().flat_map(|word| word.to_le_bytes()).collect();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    bytes.chunks(bits(to) as usize / 8).take(to.1 as usize).map(number).collect()
}

fn cut(numbers: &[i64], bits: u32) -> Vec<u64> {
    numbers.iter().map(|number| number.cast_unsigned() & (u64::MAX >> (64 - bits))).collect()
}

/// The same of numbers with their signs.
fn makes(what: What, from: &[(Type, &[i64])], to: Type, expected: &[i64]) {
    let cuts: Vec<(Type, Vec<u64>)> = from.iter().map(|(ty, numbers)| (*ty, cut(numbers, bits(*ty)))).collect();
    let given: Vec<(Type, &[u64])> = cuts.iter().map(|(ty, numbers)| (*ty, numbers.as_slice())).collect();
    assert_eq!(result(what, &given, to), cut(expected, bits(to)), "{what:?} {from:?} {to:?}");
}

const S: Type = (Signed(32), 1);
const U: Type = (Unsigned(32), 1);

#[test]
fn kt_17_the_remainder_with_the_sign_of_the_divisor_is_exact_in_every_type() {
    for bits in [16, 32, 64] {
        let (least, most) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        let a = [-7, 7, -7, 7, least, most, most - 5, -6, 0, least, most, least + 1];
        let b = [3, -3, -3, 3, -1, 10, 10, 3, -5, most, least, 16];
        let remainder = |(a, b): (&i64, &i64)| {
            let rest = a.wrapping_rem(*b);
            if rest != 0 && (rest ^ b) < 0 { rest + b } else { rest }
        };
        let expected: Vec<i64> = a.iter().zip(&b).map(remainder).collect();
        assert_eq!(expected[..4], [2, -2, -1, 1]);
        for count in 1..=4 {
            for (at, expected) in expected.chunks_exact(count).enumerate() {
                let (a, b) = (&a[at * count..][..count], &b[at * count..][..count]);
                let [signed, unsigned] = [(Signed(bits), count as u32), (Unsigned(bits), count as u32)];
                makes(Core(139), &[(signed, a), (signed, b)], signed, expected);
                makes(Core(139), &[(unsigned, a), (signed, b)], unsigned, expected);
                makes(Core(139), &[(signed, a), (unsigned, b)], signed, expected);
            }
        }
    }
    makes(Core(139), &[(S, &[123_456_789]), (S, &[10])], S, &[9]);
    makes(Core(139), &[(S, &[33_554_435]), (S, &[4])], S, &[3]);
    // By zero as everywhere.
    makes(Core(139), &[(S, &[-7]), (S, &[0])], S, &[0]);
}

#[test]
fn kt_17_shifts_divisions_and_bit_fields_go_by_the_instruction_whatever_the_types_say() {
    for (bits, count) in [(32, 1), (32, 3), (64, 1), (64, 2), (16, 4)] {
        let all = |n: i64| vec![n; count as usize];
        let high = |shift: u32| (u64::MAX >> (64 - bits) >> shift).cast_signed();
        for number in [Signed, Unsigned] {
            let ty = (number(bits), count);
            let counts = (Unsigned(32), count);
            let of = |opcode, a: i64, b: i64, to: i64| {
                let (a, b, to) = (all(a), all(b), all(to));
                for result in [Signed, Unsigned] {
                    makes(Core(opcode), &[(ty, &a), (ty, &b)], (result(bits), count), &to);
                }
            };
            // OpUDiv, OpSDiv, OpUMod, OpSRem.
            of(134, -5, 3, ((high(0).cast_unsigned() - 4) / 3).cast_signed());
            of(135, -5, 3, -1);
            of(137, -5, 3, ((high(0).cast_unsigned() - 4) % 3).cast_signed());
            of(138, -5, 3, -2);
            // OpShiftRightLogical, OpShiftRightArithmetic, OpShiftLeftLogical, OpSNegate.
            for result in [Signed, Unsigned] {
                let to = (result(bits), count);
                makes(Core(194), &[(ty, &all(-5)), (counts, &all(1))], to, &all(high(1) - 2));
                makes(Core(195), &[(ty, &all(-5)), (counts, &all(1))], to, &all(-3));
                makes(Core(196), &[(ty, &all(-5)), (counts, &all(1))], to, &all(-10));
                makes(Core(126), &[(ty, &all(-5))], to, &all(5));
            }
        }
    }
    // OpBitFieldSExtract, OpBitFieldUExtract.
    for count in 1..=4 {
        for (ty, at) in [(Signed(32), S), (Unsigned(32), U), (Signed(32), U), (Unsigned(32), S)] {
            let (ty, base) = ((ty, count), vec![0x75; count as usize]);
            makes(Core(202), &[(ty, &base), (at, &[4]), (at, &[3])], ty, &vec![-1; count as usize]);
            makes(Core(203), &[(ty, &base), (at, &[4]), (at, &[3])], ty, &vec![7; count as usize]);
        }
    }
}

/// Whether all counts of shifts have 32 bits, as in every language where shifts are the IR's.
fn counts_are_words(entry: &compute_kernel::EntryPoint) -> bool {
    let (module, info) = (entry.module(), entry.info().get_entry_point(entry.index()));
    let width = |handle: naga::Handle<naga::Expression>| info[handle].ty.inner_with(&module.types).scalar_width();
    entry.function().function.expressions.iter().all(|(_, expression)| match expression {
        naga::Expression::Binary { op: naga::BinaryOperator::ShiftLeft | naga::BinaryOperator::ShiftRight, right, .. } => {
            width(*right) == Some(4)
        }
        _ => true,
    })
}

#[test]
fn kt_17_counts_of_shifts_may_be_of_any_integers() {
    for count in [Signed(16), Unsigned(16), Signed(32), Signed(64), Unsigned(64)] {
        for n in [1, 3] {
            let all = |value: i64| vec![value; n as usize];
            for bits in [16, 32, 64] {
                let (ty, count) = ((Signed(bits), n), (count, n));
                makes(Core(195), &[(ty, &all(-80)), (count, &all(3))], ty, &all(-10));
                makes(Core(196), &[(ty, &all(-80)), (count, &all(3))], ty, &all(-640));
                let entry = entry(&written(Core(194), &[ty, count], ty), &[]).unwrap_or_else(|e| panic!("{e}"));
                assert!(counts_are_words(&entry), "{count:?}");
            }
        }
    }
}

#[test]
fn kt_17_bits_are_counted_and_found_with_a_result_of_any_integers() {
    for n in [1, 2, 4] {
        let all = |value: i64| vec![value; n as usize];
        for number in [Signed, Unsigned] {
            for result in [Signed(32), Unsigned(32)] {
                // OpBitCount, FindILsb.
                for bits in [16, 32, 64] {
                    makes(Core(205), &[((number(bits), n), &all(-8))], (result, n), &all(i64::from(bits) - 3));
                }
                makes(Extended(73), &[((number(32), n), &all(-8))], (result, n), &all(3));
                makes(Extended(73), &[((number(32), n), &all(0))], (result, n), &all(-1));
            }
        }
    }
}

type Comparison = fn(f64, f64) -> bool;
type Choice = fn(f64, f64) -> f64;

/// Numbers of which some are not, as bits of a type.
fn floats(bits: u32) -> [u64; 6] {
    [f64::NAN, 1.0, 2.0, -0.0, 0.0, f64::NEG_INFINITY].map(|x| match bits {
        16 => half::f16::from_f64(x).to_bits().into(),
        32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    })
}

fn value(bits: u32, number: u64) -> f64 {
    match bits {
        16 => half::f16::from_bits(number as u16).to_f64(),
        32 => f32::from_bits(number as u32).into(),
        _ => f64::from_bits(number),
    }
}

#[test]
fn kt_24_ordered_and_unordered_comparisons_differ_on_nan() {
    let compare: [(u32, Comparison); 6] = [
        (180, |a, b| a == b),
        (182, |a, b| a != b && !a.is_nan() && !b.is_nan()),
        (184, |a, b| a < b),
        (186, |a, b| a > b),
        (188, |a, b| a <= b),
        (190, |a, b| a >= b),
    ];
    for (ordered, is) in compare {
        for bits in [16, 32, 64] {
            for a in floats(bits) {
                let (a, all) = ([a; 6], floats(bits));
                // A scalar, two, and the three others.
                for (from, to) in [(0, 1), (1, 3), (3, 6)] {
                    let ty = (Float(bits), (to - from) as u32);
                    for unordered in [0, 1] {
                        let is = |(a, b): (&u64, &u64)| {
                            let (a, b) = (value(bits, *a), value(bits, *b));
                            u64::from(is(a, b) || unordered == 1 && (a.is_nan() || b.is_nan()))
                        };
                        let (a, b) = (&a[from..to], &all[from..to]);
                        let expected: Vec<u64> = a.iter().zip(b).map(is).collect();
                        let got = result(Core(ordered + unordered), &[(ty, a), (ty, b)], (Truth, ty.1));
                        assert_eq!(got, expected, "{} {a:?} {b:?}", ordered + unordered);
                    }
                }
            }
        }
    }
}

#[test]
fn kt_24_minima_and_maxima_of_numbers_are_no_nan() {
    for bits in [16, 32, 64] {
        let all = floats(bits);
        for a in all {
            for count in [1, 2, 3] {
                let ty = (Float(bits), count as u32);
                for b in all.chunks_exact(count) {
                    let a = vec![a; count];
                    // NMin, NMax. The sign of a zero is open.
                    let pick: [(u32, Choice); 2] = [(79, f64::min), (80, f64::max)];
                    for (number, pick) in pick {
                        let got = result(Extended(number), &[(ty, &a), (ty, b)], ty);
                        for ((a, b), got) in a.iter().zip(b).zip(got) {
                            let (expected, got) = (pick(value(bits, *a), value(bits, *b)), value(bits, got));
                            assert!(got == expected || got.is_nan() && expected.is_nan(), "{number} {a} {b}: {got}");
                        }
                    }
                    // NClamp(a, b, 2).
                    let high = vec![all[2]; count];
                    let got = result(Extended(81), &[(ty, &a), (ty, b), (ty, &high)], ty);
                    for ((a, b), got) in a.iter().zip(b).zip(got) {
                        let (expected, got) = (value(bits, *a).max(value(bits, *b)).min(2.0), value(bits, got));
                        assert_eq!(got, expected, "{a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn kt_17_casts_between_numbers_of_other_components_keep_all_bits() {
    let shapes = [
        [(Unsigned(64), 1), (Signed(64), 1), (Float(64), 1)].as_slice(),
        &[(Unsigned(32), 2), (Signed(32), 2), (Float(32), 2)],
        &[(Unsigned(16), 4), (Signed(16), 4), (Float(16), 4)],
    ];
    let bits_of = |ty: Type| -> Vec<u64> {
        let whole = 0x4123_1234_4567_3801u64;
        (0..ty.1).map(|at| whole >> (at * bits(ty)) & (u64::MAX >> (64 - bits(ty)))).collect()
    };
    for from in shapes.iter().copied().flatten() {
        for to in shapes.iter().copied().flatten().filter(|to| *to != from) {
            assert_eq!(result(Core(124), &[(*from, &bits_of(*from))], *to), bits_of(*to), "{from:?} {to:?}");
        }
    }
    let (words, pair) = ((Unsigned(32), 1), (Float(16), 2));
    assert_eq!(result(Core(124), &[(words, &[0x4567_3801])], pair), [0x3801, 0x4567]);
    assert_eq!(result(Core(124), &[(pair, &[0x3801, 0x4567])], words), [0x4567_3801]);
    let (four, two) = ((Unsigned(32), 4), (Float(64), 2));
    assert_eq!(result(Core(124), &[(four, &[1, 2, 3, 4])], two), [0x2_0000_0001, 0x4_0000_0003]);
    assert_eq!(result(Core(124), &[(two, &[0x2_0000_0001, 0x4_0000_0003])], four), [1, 2, 3, 4]);
    // PackDouble2x32, UnpackDouble2x32.
    let (double, words) = ((Float(64), 1), (Unsigned(32), 2));
    assert_eq!(result(Extended(59), &[(words, &[1, 2])], double), [0x2_0000_0001]);
    assert_eq!(result(Extended(65), &[(double, &[0x2_0000_0001])], words), [1, 2]);
    let found = entry(&written(Core(124), &[(Unsigned(32), 1)], (Unsigned(32), 2)), &[]).map(|_| ()).unwrap_err();
    assert!(found.text.contains("OpBitcast: it is of 4 bytes to 8"), "{found}");
}

#[test]
fn loads_and_stores_that_say_volatile_are_refused_and_what_else_they_say_changes_nothing() {
    let made = |load: &[u32], store: &[u32], copy: &[u32]| {
        let mut a = head(false);
        begin(&mut a);
        a.op(61, &[[4, 32, 30].as_slice(), load].concat()).op(62, &[[40, 32].as_slice(), store].concat());
        a.op(63, &[[40, 30].as_slice(), copy].concat()).op(253, &[]).op(56, &[]);
        entry(&a.finish(60), &[])
    };
    for (load, store, copy) in [(&[1][..], &[][..], &[][..]), (&[], &[3, 4], &[]), (&[3, 4], &[2, 4], &[]), (&[], &[], &[1])] {
        let found = made(load, store, copy).map(|_| ()).unwrap_err();
        assert!(found.refusal && found.text.contains("volatile memory is not supported: use atomics"), "{found}");
    }
    // Aligned, Nontemporal.
    let entry = made(&[2, 4], &[6, 4], &[]).unwrap_or_else(|e| panic!("{e}"));
    let (mut input, mut output) = ([7], [0]);
    Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut input, &mut output]);
    assert_eq!(output, [7]);
}

//! One expression three times: with literals, which the front end folds; with override constants, which are folded when the entry point is made; and
//! with variables. All three must give the same bits (KT-24).

use std::fmt::Write as _;

use crate::bench::Bench;
use crate::expressions::{BITS, CHOICE, FLOAT, FLOAT_VECTOR, INTEGER, MIXED, PACKED, Pattern, SIGNED, TRANSCENDENTAL};
use crate::random::Random;
use crate::types::{Palette, Scalar, Type};
use compute_kernel::reflection::Bounds;

/// How many of the spellings were compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) constant: usize,
    pub(crate) overriding: usize,
    pub(crate) refused: usize,
}

struct Expressions<'a> {
    random: &'a mut Random,
    palette: &'a Palette,
    /// The literals, each with its type.
    leaves: Vec<(Scalar, String)>,
}

impl Expressions<'_> {
    /// An expression in which `@n@` stands for the n-th literal.
    fn expression(&mut self, ty: &Type, depth: usize) -> String {
        if depth == 0 || self.random.chance(15) {
            return self.leaf(ty);
        }
        match ty {
            Type::Scalar(Scalar::Bool) | Type::Vector(_, Scalar::Bool) => self.comparison(ty, depth),
            Type::Scalar(s) if self.random.chance(25) => self.reduced(*s, depth),
            _ if self.random.chance(12) => {
                let from = *self.random.pick(&self.palette.stored);
                let part = self.expression(&ty.with(from), depth - 1);
                format!("{}({part})", ty.name())
            }
            _ => self.operation(ty, depth),
        }
    }

    fn leaf(&mut self, ty: &Type) -> String {
        let scalar = ty.element().unwrap_or(Scalar::U32);
        let count = match ty {
            Type::Vector(n, _) => *n,
            _ => 1,
        };
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(format!("@{}@", self.leaves.len()));
            self.leaves.push((scalar, scalar.literal(self.random)));
        }
        if count == 1 { names.remove(0) } else { format!("{}({})", ty.name(), names.join(", ")) }
    }

    fn comparison(&mut self, ty: &Type, depth: usize) -> String {
        let of = ty.with(*self.random.pick(&self.palette.stored));
        let (a, b) = (self.expression(&of, depth - 1), self.expression(&of, depth - 1));
        let operator = *self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
        format!("({a} {operator} {b})")
    }

    fn reduced(&mut self, scalar: Scalar, depth: usize) -> String {
        let n = 2 + self.random.below(3);
        let vector = Type::Vector(n, scalar);
        let a = self.expression(&vector, depth - 1);
        match self.random.below(4) {
            0 => {
                let b = self.expression(&vector, depth - 1);
                format!("dot({a}, {b})")
            }
            1 if scalar.is_float() => {
                if self.random.chance(50) {
                    return format!("length({a})");
                }
                let b = self.expression(&vector, depth - 1);
                format!("distance({a}, {b})")
            }
            _ => format!("{a}.{}", self.random.pick(&["x", "y", "z", "w"][..n])),
        }
    }

    fn operation(&mut self, ty: &Type, depth: usize) -> String {
        let scalar = ty.element().unwrap_or(Scalar::U32);
        let mut tables: Vec<&[Pattern]> =
            if scalar.is_integer() { vec![INTEGER, INTEGER, BITS] } else { vec![FLOAT, FLOAT, FLOAT, TRANSCENDENTAL] };
        if scalar.is_signed() {
            tables.push(SIGNED);
        }
        if matches!(ty, Type::Vector(..)) {
            tables.push(MIXED);
            if scalar.is_float() {
                tables.push(FLOAT_VECTOR);
                if matches!(ty, Type::Vector(3, _)) {
                    tables.push(&[("cross($, $)", "tt")]);
                }
            }
        }
        if *ty == Type::Scalar(Scalar::U32) {
            tables.push(PACKED);
        }
        tables.push(CHOICE);
        let table = *self.random.pick(&tables);
        let (text, kinds) = *self.random.pick(table);
        let mut parts = kinds.chars().map(|kind| {
            let wanted = match kind.to_ascii_uppercase() {
                'T' | 'F' => ty.clone(),
                'S' => Type::Scalar(scalar),
                'U' => ty.with(Scalar::U32),
                'I' => ty.with(Scalar::I32),
                'B' => ty.with(Scalar::Bool),
                'P' => Type::Scalar(Scalar::Bool),
                '2' => Type::Vector(2, Scalar::F32),
                '4' => Type::Vector(4, Scalar::F32),
                'V' => Type::Vector(4, Scalar::I32),
                'X' => Type::Vector(4, Scalar::U32),
                _ => Type::Scalar(Scalar::U32),
            };
            self.expression(&wanted, depth - 1)
        });
        let mut out = String::new();
        for (i, piece) in text.split('$').enumerate() {
            if i > 0 {
                out.push_str(&parts.next().unwrap_or_default());
            }
            out.push_str(piece);
        }
        out
    }
}

/// The expression with what stands for each literal.
fn spelled(expression: &str, leaf: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for (i, piece) in expression.split('@').enumerate() {
        if i % 2 == 0 { out.push_str(piece) } else { out.push_str(&leaf(piece.parse().unwrap_or_default())) }
    }
    out
}

fn words(ty: &Type, name: &str) -> Vec<String> {
    let parts = match ty {
        Type::Vector(n, _) => ["x", "y", "z", "w"][..*n].iter().map(|c| format!("{name}.{c}")).collect(),
        _ => vec![name.to_owned()],
    };
    let word = |part: String| match ty.element() {
        Some(Scalar::I32) => vec![format!("bitcast<u32>({part})")],
        // The payload of a NaN is open.
        Some(Scalar::F32 | Scalar::F16) => vec![format!("select(bitcast<u32>(f32({part})), 0x7fc00000u, {part} != {part})")],
        Some(Scalar::I64 | Scalar::U64) => vec![format!("u32({part})"), format!("u32({part} >> 32u)")],
        Some(Scalar::F64) => vec![
            format!("select(u32(bitcast<u64>({part})), 0u, {part} != {part})"),
            format!("select(u32(bitcast<u64>({part}) >> 32u), 0x7ff80000u, {part} != {part})"),
        ],
        _ => vec![format!("u32({part})")],
    };
    parts.into_iter().flat_map(word).collect()
}

/// A kernel that stores the expression as it is spelled, and as it is at run time.
fn source(ty: &Type, leaves: &[(Scalar, String)], declaration: &str, run_time: &str, f16: bool, overrides: bool) -> String {
    let mut source = if f16 { "enable f16;\n".to_owned() } else { String::new() };
    source.push_str("@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n");
    for (i, (scalar, literal)) in leaves.iter().enumerate() {
        let ty = scalar.name();
        let _ = writeln!(source, "var<private> p{i}: {ty} = {literal};");
        // Not all types can be overridden.
        if overrides {
            let _ = writeln!(source, "override o{i}: {ty} = {literal};");
        }
    }
    let (once, again) = (words(ty, "r"), words(ty, "c"));
    let _ = writeln!(source, "@compute @workgroup_size(1) fn main() {{\n{declaration}\nlet r = {run_time};");
    for (i, word) in once.iter().chain(&again).enumerate() {
        let _ = writeln!(source, "O[{i}] = {word};");
    }
    source + "}\n"
}

/// One expression; what differed.
pub(crate) fn compare(bench: &mut Bench, seed: u64, palette: &Palette, compared: &mut Compared) -> Option<String> {
    let mut random = Random::new(seed ^ 0x00c0_ffee);
    let scalar = if random.chance(10) { Scalar::Bool } else { *random.pick(&palette.stored) };
    let ty = if random.chance(60) { Type::Scalar(scalar) } else { Type::Vector(2 + random.below(3), scalar) };
    let depth = 1 + random.below(3);
    let mut expressions = Expressions { random: &mut random, palette, leaves: Vec::new() };
    let expression = expressions.expression(&ty, depth);
    let leaves = expressions.leaves;
    let run_time = spelled(&expression, |i| format!("p{i}"));
    let literal = spelled(&expression, |i| leaves[i].1.clone());
    let overriding = spelled(&expression, |i| format!("o{i}"));
    let f16 = palette.stored.contains(&Scalar::F16);
    for (constant, declaration) in [(true, format!("const c = {literal};")), (false, format!("let c = {overriding};"))] {
        let source = source(&ty, &leaves, &declaration, &run_time, f16, !constant);
        let entry = match crate::bench::parse(&source).and_then(|m| m.entry_point(None, &[])) {
            Ok(entry) => entry,
            Err(d) if d.refusal => {
                compared.refused += 1;
                continue;
            }
            Err(d) => return Some(format!("seed {seed}: {d}\n{source}")),
        };
        let count = words(&ty, "c").len();
        let ran = match bench.run(&entry, Bounds::Checked, [1, 1, 1], &[vec![0xee; count * 8]], &[]) {
            Ok(ran) => ran,
            Err(e) => return Some(format!("seed {seed}: {e}\n{source}")),
        };
        let (once, again) = ran.bindings[0].split_at(count * 4);
        if once != again {
            let how = if constant { "as a constant" } else { "with override constants" };
            return Some(format!("seed {seed}: {again:x?} {how}, {once:x?} at run time: {literal}"));
        }
        let launch = compute_interpreter::Launch {
            grid: [1, 1, 1],
            bindings: vec![vec![0xee; count * 8]],
            immediates: &[],
            steps: 10_000,
            reversed: false,
        };
        match compute_interpreter::run(&entry, launch) {
            Ok(outcome) if outcome.bindings[0].data == ran.bindings[0] => {}
            Ok(outcome) => return Some(format!("seed {seed}: the interpreter has {:x?}: {literal}", outcome.bindings[0].data)),
            Err(stop) => return Some(format!("seed {seed}: {stop}: {literal}")),
        }
        if constant { compared.constant += 1 } else { compared.overriding += 1 }
    }
    None
}

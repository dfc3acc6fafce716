//! A whole kernel: declarations around random code, and what it is launched with.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use compute_kernel::Constant;

use crate::expressions::{Callee, Place, Writer, finite_name};
use crate::random::Random;
use crate::statements::Context;
use crate::tree::{Block, Piece, render};
use crate::types::{Palette, Scalar, Structs, Type};

/// Words that each invocation leaves in the output.
const WORDS: usize = 40;

#[derive(Clone)]
pub(crate) struct Function {
    head: String,
    body: Block,
    tail: String,
}

/// A kernel that can still be made smaller.
#[derive(Clone)]
pub(crate) struct Program {
    head: String,
    pub(crate) functions: Vec<Function>,
}

/// What a kernel is launched with.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) grid: [u32; 3],
    /// By slot of group 0.
    pub(crate) bindings: Vec<Vec<u8>>,
    pub(crate) immediates: Vec<u8>,
    pub(crate) constants: Vec<Constant>,
    /// How many cells there have to be.
    pub(crate) cells: usize,
}

impl Program {
    pub(crate) fn source(&self) -> String {
        let mut source = self.head.clone();
        for function in &self.functions {
            source.push_str(&function.head);
            render(&[Piece::Block(function.body.clone())], &mut source);
            source.push_str(&function.tail);
        }
        source
    }

    /// One program after the other with one change each: see `tree::reduce`.
    pub(crate) fn changed(&self, change: crate::tree::Change, mut at: usize) -> Option<Self> {
        let mut program = self.clone();
        for function in &mut program.functions {
            let mut pieces = [Piece::Block(std::mem::take(&mut function.body))];
            let done = crate::tree::reduce(&mut pieces, change, &mut at);
            if let [Piece::Block(body)] = pieces {
                function.body = body;
            }
            if done {
                return Some(program);
            }
        }
        None
    }
}

const SIZES: [[u32; 3]; 10] =
    [[1, 1, 1], [4, 1, 1], [8, 1, 1], [2, 3, 1], [5, 1, 1], [2, 2, 2], [16, 1, 1], [3, 2, 2], [9, 1, 1], [1, 4, 1]];
const GRIDS: [[u32; 3]; 5] = [[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1], [1, 1, 2]];

/// The kernel of a seed, and its launches.
pub(crate) fn generate(seed: u64, palette: &Palette) -> (Program, Vec<Setup>) {
    let mut random = Random::new(seed);
    let size = *random.pick(&SIZES);
    let barriers = random.chance(50);
    let careful = random.chance(40);
    let mut writer = Writer {
        random: &mut random,
        palette,
        structs: Structs::new(),
        scope: Vec::new(),
        functions: Vec::new(),
        names: 0,
        budget: 0,
        finite: BTreeSet::new(),
        finite_types: Vec::new(),
        shared: Vec::new(),
        private: Vec::new(),
        group: 1,
        careful,
        in_function: false,
    };
    let program = writer.program(size, barriers);
    let setups = (0..2).map(|_| setup(&mut random, size, careful)).collect();
    (program, setups)
}

impl Writer<'_> {
    fn program(&mut self, size: [u32; 3], barriers: bool) -> Program {
        let count: u32 = size.iter().product();
        self.group = count as usize;
        for _ in 0..1 + self.random.below(3) {
            let members = (0..1 + self.random.below(4))
                .map(|_| {
                    let structs = self.structs.len();
                    self.palette.any(self.random, structs, true, 2)
                })
                .collect();
            self.structs.push(members);
        }
        self.shared = (0..2).map(|_| self.palette.plain(self.random, false)).collect();
        let mut head = self.declarations(count);
        let globals = self.globals();
        let mut functions = Vec::new();
        for i in 0..self.random.below(4) {
            self.scope = globals.iter().filter(|p| p.text != "p0").cloned().collect();
            functions.push(self.function(i));
        }
        self.scope = globals;
        functions.push(self.entry(size, barriers));
        let mut helpers = String::new();
        for ty in self.finite_types.clone() {
            helper(&ty, &mut helpers);
        }
        head.push_str(&helpers);
        Program { head, functions }
    }

    /// All that every kernel declares.
    fn declarations(&mut self, count: u32) -> String {
        let mut head = String::new();
        if self.palette.stored.contains(&Scalar::F16) {
            head.push_str("enable f16;\n");
        }
        for (i, members) in self.structs.iter().enumerate() {
            let members: Vec<String> = members.iter().enumerate().map(|(m, ty)| format!("m{m}: {}", ty.name())).collect();
            let _ = writeln!(head, "struct S{i} {{ {} }}", members.join(", "));
        }
        let cell = self.structs.len() - 1;
        let _ = writeln!(
            head,
            "struct Immediates {{ a: u32, b: i32, c: f32, w: u32, d: vec2<u32> }}
struct Block {{ m0: vec4<u32>, m1: i32, m2: mat3x4<f32>, m3: array<vec4<f32>, 3> }}
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> cells: array<S{cell}>;
@group(0) @binding(3) var<uniform> un: Block;
@group(0) @binding(4) var<storage, read_write> counts: array<atomic<u32>, 8>;
@group(0) @binding(5) var<storage, read_write> signed_counts: array<atomic<i32>, 4>;
@group(0) @binding(6) var<storage, read_write> own: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> line: array<u32>;
var<immediate> im: Immediates;
override k0: u32 = 3u;
@id(7) override k1: f32 = 2.5f;
override k2: i32;
override elements: u32 = {count}u;
var<workgroup> shared_word: u32;
var<workgroup> shared_counts: array<atomic<u32>, 3>;
var<workgroup> exchange: array<u32, elements>;
fn swap(p: ptr<storage, atomic<u32>, read_write>, value: u32) -> u32 {{ return atomicExchange(p, value) ^ atomicLoad(p); }}
fn bump(p: ptr<storage, atomic<u32>, read_write>, value: u32) -> u32 {{ return swap(p, atomicAdd(p, value)) + value; }}
fn share(p: ptr<workgroup, u32>, li: u32, value: u32) -> u32 {{
    if (li == 0u) {{ *p = value; }}
    return workgroupUniformLoad(p);
}}
fn measure(p: ptr<storage, array<S{cell}>, read_write>) -> u32 {{ return arrayLength(p); }}
fn exchanged(li: u32, value: u32, at: u32) -> u32 {{
    exchange[li] = value; workgroupBarrier(); let found = exchange[at % {count}u]; workgroupBarrier(); return found;
}}"
        );
        for (i, ty) in self.shared.iter().enumerate() {
            let _ = writeln!(head, "var<workgroup> shared_{i}: array<{}, {count}>;", ty.name());
        }
        let structs = self.structs.len();
        self.private = (0..3).map(|_| self.palette.any(self.random, structs, false, 2)).collect();
        for (i, ty) in self.private.iter().enumerate() {
            let _ = writeln!(head, "var<private> p{i}: {};", ty.name());
        }
        head
    }

    fn globals(&self) -> Vec<Place> {
        let place =
            |text: &str, ty: Type, uniform| Place { text: text.into(), ty, writable: false, uniform, stored: false, space: None };
        let (u32, i32, f32) = (Type::Scalar(Scalar::U32), Type::Scalar(Scalar::I32), Type::Scalar(Scalar::F32));
        let mut globals = vec![
            place("im.a", u32.clone(), true),
            place("im.b", i32.clone(), true),
            place("im.c", f32.clone(), true),
            place("im.d", Type::Vector(2, Scalar::U32), true),
            place("un.m0", Type::Vector(4, Scalar::U32), true),
            place("un.m0.y", u32.clone(), true),
            place("arrayLength(&cells)", u32.clone(), true),
            place("measure(&cells)", u32.clone(), true),
            place("un.m1", i32, true),
            place("un.m2", Type::Matrix(3, 4, Scalar::F32), true),
            place("un.m3", Type::Array(Box::new(Type::Vector(4, Scalar::F32)), 3), true),
        ];
        for (i, ty) in self.private.iter().enumerate() {
            let space = (i == 0).then_some("private");
            globals.push(Place { writable: true, space, ..place(&format!("p{i}"), ty.clone(), false) });
        }
        globals
    }

    fn function(&mut self, index: usize) -> Function {
        let result = self.palette.plain(self.random, false);
        let values: Vec<Type> =
            (0..1 + self.random.below(3)).map(|_| self.palette.any(self.random, self.structs.len(), false, 1)).collect();
        let mut pointers = Vec::new();
        if self.random.chance(60) {
            let ty = self.palette.any(self.random, self.structs.len(), false, 1);
            pointers.push(("function", ty));
        }
        if self.random.chance(30) {
            pointers.push(("private", self.private[0].clone()));
        }
        // What a cell, or an element in workgroup memory, is, or a part of it.
        let cell = Type::Struct(self.structs.len() - 1);
        for (space, ty) in [("storage", cell), ("workgroup", self.shared[index % 2].clone())] {
            if self.random.chance(40) {
                let parts: Vec<Type> = ty.parts(&self.structs).into_iter().map(|(_, ty)| ty).collect();
                let part = if matches!(ty, Type::Vector(..)) || self.random.chance(50) { ty } else { self.part(&parts, ty) };
                pointers.push((space, part));
            }
        }
        let mut parameters = Vec::new();
        for (i, ty) in values.iter().enumerate() {
            parameters.push(format!("a{i}: {}", ty.name()));
            let place =
                Place { text: format!("a{i}"), ty: ty.clone(), writable: false, uniform: false, stored: false, space: None };
            self.scope.push(place);
        }
        for (i, (space, ty)) in pointers.iter().enumerate() {
            let (stored, access) = if *space == "storage" { (true, ", read_write") } else { (false, "") };
            parameters.push(format!("b{i}: ptr<{space}, {}{access}>", ty.name()));
            let text = format!("(*b{i})");
            self.scope.push(Place { text, ty: ty.clone(), writable: true, uniform: false, stored, space: Some(space) });
        }
        self.budget = 8;
        let context =
            Context { uniform: false, barriers: false, in_loop: None, breakable: None, result: Some(&result), depth: 2 };
        self.in_function = true;
        let mut body = self.block(context, 5);
        self.in_function = false;
        let last = self.expression(&result, 2);
        body.push(crate::tree::fill("return $;", vec![last]));
        let name = format!("f{index}");
        let head = format!("fn {name}({}) -> {} ", parameters.join(", "), result.name());
        self.functions.push(Callee { name, result, values, pointers });
        Function { head, body, tail: "\n".into() }
    }

    fn part(&mut self, parts: &[Type], whole: Type) -> Type {
        if parts.is_empty() { whole } else { self.random.pick(parts).clone() }
    }

    fn entry(&mut self, size: [u32; 3], barriers: bool) -> Function {
        let [x, y, z] = size;
        let u32 = |text: &str, uniform| Place {
            text: text.into(),
            ty: Type::Scalar(Scalar::U32),
            writable: false,
            uniform,
            stored: false,
            space: None,
        };
        let vector = |text: &str, uniform| Place { ty: Type::Vector(3, Scalar::U32), ..u32(text, uniform) };
        self.scope.extend([u32("me", false), u32("li", false), vector("lid", false), vector("gid", false)]);
        self.scope.extend([u32("wid.x", true), u32("nwg.x", true), vector("wid", true)]);
        self.scope.extend([u32("k0", true), Place { ty: Type::Scalar(Scalar::I32), ..u32("k2", true) }]);
        self.scope.push(Place { ty: Type::Scalar(Scalar::F32), ..u32("k1", true) });
        let cell = Type::Struct(self.structs.len() - 1);
        self.scope.push(Place { ty: cell, writable: true, stored: true, space: Some("storage"), ..u32("cells[me]", false) });
        // Each invocation has its own element; others look at it only between two barriers.
        for (i, ty) in self.shared.clone().into_iter().enumerate() {
            let text = format!("shared_{i}[li]");
            self.scope.push(Place { ty, writable: true, space: Some("workgroup"), ..u32(&text, false) });
        }
        let mut body = Block::new();
        // Values to look at in the end.
        let mut kept = Vec::new();
        for i in 0..5 {
            let ty = self.palette.any(self.random, self.structs.len(), false, 1);
            let value = self.expression(&ty, 2);
            body.push(crate::tree::fill(&format!("var z{i}: {} = $;", ty.name()), vec![value]));
            let place = Place { ty, writable: true, space: Some("function"), ..u32(&format!("z{i}"), false) };
            kept.push(place.clone());
            self.scope.push(place);
        }
        if self.random.chance(30) {
            let store = self.linear();
            body.push(store);
        }
        self.budget = 18;
        let context = Context { uniform: true, barriers, in_loop: None, breakable: None, result: None, depth: 3 };
        let inner = self.block(context, 12);
        body.push(vec![Piece::Block(inner)]);
        kept.extend(self.scope.iter().filter(|p| p.text.starts_with('p')).cloned());
        self.dump(&kept, &mut body);
        let head = format!(
            "@compute @workgroup_size({x}, {y}, {z})
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(local_invocation_index) li: u32, @builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {{
let me = gid.x + gid.y * (nwg.x * {x}u) + gid.z * (nwg.x * {x}u * nwg.y * {y}u);
"
        );
        Function { head, body, tail: "\n}\n".into() }
    }

    /// Stores every number of the places to the output.
    fn dump(&mut self, places: &[Place], body: &mut Block) {
        let mut at = 0;
        let mut left: Vec<(String, Type)> = places.iter().rev().map(|p| (p.text.clone(), p.ty.clone())).collect();
        while let Some((text, ty)) = left.pop() {
            let Type::Scalar(scalar) = ty else {
                left.extend(ty.parts(&self.structs).into_iter().rev().map(|(part, ty)| (format!("{text}{part}"), ty)));
                continue;
            };
            let value = crate::tree::Expression::leaf(ty.clone(), text, false);
            let value = self.finite(value);
            let patterns: &[&str] = match scalar {
                Scalar::Bool | Scalar::U32 => &["u32($)"],
                Scalar::I32 | Scalar::F32 => &["bitcast<u32>($)"],
                Scalar::F16 => &["bitcast<u32>(f32($))"],
                Scalar::I64 | Scalar::U64 => &["u32($)", "u32($ >> 32u)"],
                Scalar::F64 => &["u32(bitcast<u64>($))", "u32(bitcast<u64>($) >> 32u)"],
            };
            for pattern in patterns {
                if at < WORDS {
                    body.push(crate::tree::fill(&format!("out[me * {WORDS}u + {at}u] = {pattern};"), vec![value.clone()]));
                    at += 1;
                }
            }
        }
    }
}

/// The function that replaces NaN in a type.
fn helper(ty: &Type, out: &mut String) {
    let (name, spelled) = (finite_name(ty), ty.name());
    let half = |s: &Scalar| format!("0.5{}", s.suffix());
    let body = match ty {
        Type::Matrix(columns, rows, s) => {
            let column = |c| format!("select(x[{c}], vec{rows}<{0}>({1}), x[{c}] != x[{c}])", s.name(), half(s));
            format!("{spelled}({})", (0..*columns).map(column).collect::<Vec<_>>().join(", "))
        }
        Type::Vector(_, s) => format!("select(x, {spelled}({}), x != x)", half(s)),
        Type::Scalar(s) => format!("select(x, {}, x != x)", half(s)),
        _ => "x".into(),
    };
    let _ = writeln!(out, "fn {name}(x: {spelled}) -> {spelled} {{ return {body}; }}");
}

/// Words that make trouble as integers or as floats.
fn word(random: &mut Random) -> u32 {
    match random.below(8) {
        0 | 1 => random.below(6) as u32,
        2 => random.next(),
        3 => (random.below(2000) as f32 - 1000.0).to_bits(),
        4 => ((random.next() as f32) / 65536.0 / 65536.0).to_bits(),
        5 => *random.pick(&[0x8000_0000, 0xffff_ffff, 0x7fff_ffff, 31, 32, 64, 0xffff, 0x10000]),
        6 => *random.pick(&[
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            1,
            0x007f_ffff,
            0x0080_0000,
            0x7f7f_ffff,
            0x3f80_0001,
            0xbf00_0000,
        ]),
        _ => f32::to_bits(*random.pick(&[0.5, 1.5, 2.5, -0.5, -1.0, 2.0, 3.0, 1e-3, 65504.0, 65520.0, 1e9, 4.3e9, -2.2e9])),
    }
}

fn setup(random: &mut Random, size: [u32; 3], careful: bool) -> Setup {
    let grid = *random.pick(&GRIDS);
    let total: u32 = (0..3).map(|i| grid[i] * size[i]).product();
    let total = total as usize;
    let mut words = |n: usize| -> Vec<u8> { (0..n).flat_map(|_| word(random).to_le_bytes()).collect() };
    let input = words(48);
    let cells = words(total * 12 + 300);
    let block = words(4 + 4 + 12 + 12);
    let own = words(total);
    let mut immediates = words(6);
    let (k0, k2) = (random.below(9) as f64, random.below(100) as f64 - 50.0);
    // Widths that make whole rows, or nothing of the kind.
    let row = grid[0] * size[0];
    let width = if careful { row } else { [row, 4, 0, 1000][random.below(4)] };
    immediates[12..16].copy_from_slice(&width.to_le_bytes());
    immediates[0..4].copy_from_slice(&(random.below(5) as u32).to_le_bytes());
    let constant = |key: &str, value: f64| Constant { key: key.into(), value: value.into() };
    let constants = vec![constant("k0", k0), constant("7", [0.5, -3.0, 2.5][random.below(3)]), constant("k2", k2)];
    let elements = if careful { total + random.below(3) } else { 1 + random.below(total + 3) };
    let line = 4 * elements + random.below(4);
    let bindings = vec![input, vec![0xcc; total * WORDS * 4], cells, block, vec![0; 32], vec![0; 16], own, vec![0xcc; line]];
    Setup { grid, bindings, immediates, constants, cells: if careful { total } else { 0 } }
}

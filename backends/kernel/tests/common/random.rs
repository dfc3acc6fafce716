//! Random kernels around the shapes that the analyses know, and near misses of them.

use std::fmt::Write as _;

/// A small generator of numbers: the same seed gives the same kernel.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as usize) % n
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

pub const HEADER: &str = "
struct P { n: u32, w: u32, h: u32, k: u32 }
var<immediate> im: P;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<uniform> u: P;
@group(0) @binding(3) var<storage, read_write> f: array<u32, 20>;
var<workgroup> t: array<u32, 16>;
var<private> pv: u32;
fn put(i: u32) { o[i] = 1u; }
fn twice(i: u32) -> u32 { return i * 2u; }
fn early(i: u32) -> u32 { if (i < 2u) { return 1u; } return a[0]; }
";

/// Writes one body.
pub struct Writer<'r> {
    pub random: &'r mut Random,
    pub size: [u32; 3],
    /// Whether barriers are wanted, rather than stores.
    pub barriers: bool,
    text: String,
    names: Vec<String>,
    variables: Vec<String>,
    next: usize,
    loops: usize,
}

impl<'r> Writer<'r> {
    pub fn new(random: &'r mut Random, size: [u32; 3], barriers: bool) -> Self {
        Self { random, size, barriers, text: String::new(), names: Vec::new(), variables: Vec::new(), next: 0, loops: 0 }
    }

    pub fn kernel(mut self) -> String {
        let [x, y, z] = self.size;
        self.statements(3, 6);
        format!(
            "{HEADER}@compute @workgroup_size({x}, {y}, {z}) fn main(@builtin(global_invocation_id) gid: vec3<u32>,
@builtin(local_invocation_id) lid: vec3<u32>, @builtin(local_invocation_index) li: u32, @builtin(workgroup_id) wid: vec3<u32>,
@builtin(num_workgroups) nwg: vec3<u32>) {{\n{}}}",
            self.text
        )
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    fn statements(&mut self, depth: usize, most: usize) {
        let (names, variables) = (self.names.len(), self.variables.len());
        for _ in 0..=self.random.below(most) {
            self.statement(depth);
        }
        self.names.truncate(names);
        self.variables.truncate(variables);
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 7 } else { 13 }) {
            0 => {
                let (name, value) = (self.name(), self.index());
                let _ = writeln!(self.text, "let {name} = {value};");
                self.names.push(name);
            }
            1 => {
                let (name, value) = (self.name(), self.index());
                let _ = writeln!(self.text, "var {name} = {value};");
                self.names.push(name.clone());
                self.variables.push(name);
            }
            2 if !self.variables.is_empty() && self.random.chance(60) => {
                let at = self.random.below(self.variables.len());
                let (name, value) = (self.variables[at].clone(), self.number(1));
                let _ = writeln!(self.text, "{name} = {value};");
            }
            2..=6 => self.effect(),
            7 | 8 => {
                let condition = self.condition(2);
                let _ = writeln!(self.text, "if ({condition}) {{");
                self.statements(depth - 1, 3);
                if self.random.chance(40) {
                    let _ = writeln!(self.text, "}} else {{");
                    self.statements(depth - 1, 3);
                }
                let _ = writeln!(self.text, "}}");
            }
            9 | 10 => {
                let condition = self.condition(2);
                let jump = if self.loops > 0 { self.random.pick(&["return;", "break;", "continue;"]) } else { "return;" };
                let _ = writeln!(self.text, "if ({condition}) {{ {jump} }}");
            }
            11 => {
                let (name, bound) = (self.name(), self.number(0));
                let _ = writeln!(self.text, "for (var {name} = 0u; {name} < min({bound}, 3u); {name}++) {{");
                self.names.push(name);
                self.loops += 1;
                self.statements(depth - 1, 3);
                self.loops -= 1;
                self.names.pop();
                let _ = writeln!(self.text, "}}");
            }
            _ => {
                let selector = self.number(0);
                let _ = writeln!(self.text, "switch {selector} {{ case 1u, 2u: {{");
                self.statements(depth - 1, 2);
                let _ = writeln!(self.text, "}} default: {{");
                self.statements(depth - 1, 2);
                let _ = writeln!(self.text, "}} }}");
            }
        }
    }

    fn effect(&mut self) {
        if self.barriers {
            match self.random.below(8) {
                0..=3 => self.text.push_str("workgroupBarrier();\n"),
                4 => {
                    let (name, at) = (self.name(), self.number(0));
                    let _ = writeln!(self.text, "let {name} = workgroupUniformLoad(&t[{at} % 4u]);");
                    self.names.push(name);
                }
                5 => {
                    let value = self.number(0);
                    let _ = writeln!(self.text, "pv = {value};");
                }
                _ => {
                    let (at, value) = (self.index(), self.number(0));
                    let _ = writeln!(self.text, "o[{at}] = {value};");
                }
            }
            return;
        }
        match self.random.below(10) {
            0..=6 => {
                let (at, value) = (self.index(), self.number(1));
                let _ = writeln!(self.text, "o[{at}] = {value};");
            }
            7 | 8 => {
                let at = self.index();
                let _ = writeln!(self.text, "f[{at}] = 1u;");
            }
            _ => {
                let at = self.index();
                let _ = writeln!(self.text, "put({at});");
            }
        }
    }

    /// Mostly something that is, or nearly is, the linear id.
    fn index(&mut self) -> String {
        let [x, y, _] = self.size;
        let row = match self.random.below(6) {
            0 => "im.w".to_owned(),
            1 => "u.w".to_owned(),
            2 => format!("(nwg.x * {x}u)"),
            3 => format!("{}u", self.random.below(12)),
            4 => format!("nwg.x * {}u", x + 1),
            _ => "im.n".to_owned(),
        };
        match self.random.below(16) {
            0..=3 => "gid.x".to_owned(),
            4 | 5 => format!("gid.x + gid.y * {row}"),
            6 => format!("gid.y * {row} + gid.x"),
            7 => format!("wid.x * {x}u + lid.x"),
            8 => format!("wid.x * {}u + li", x * y),
            9 => format!("gid.x + gid.y * {row} + gid.z * {row} * (nwg.y * {y}u)"),
            10 => format!("gid.x + gid.z * {row}"),
            11 => format!("gid.x + gid.y * {row} + gid.z * 16u"),
            12 | 13 if !self.names.is_empty() => self.names[self.random.below(self.names.len())].clone(),
            _ => self.number(2),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.chance(60) {
            let (a, b) = (self.number(depth - 1), self.number(depth - 1));
            return match self.random.below(9) {
                0 | 1 => format!("({a} + {b})"),
                2 => format!("({a} - {b})"),
                3 => format!("({a} * {b})"),
                4 => format!("min({a}, {b})"),
                5 => format!("({a} % 5u)"),
                6 => format!("a[{a}]"),
                7 => format!("select({a}, {b}, {})", self.condition(0)),
                _ => format!("{}({a})", self.random.pick(&["twice", "early"])),
            };
        }
        if !self.names.is_empty() && self.random.chance(40) {
            return self.names[self.random.below(self.names.len())].clone();
        }
        let list = if self.barriers {
            &[
                "0u",
                "1u",
                "2u",
                "im.k",
                "u.h",
                "wid.x",
                "nwg.x",
                "li",
                "gid.x",
                "a[1]",
                "arrayLength(&o)",
                "o[0]",
                "t[1]",
                "pv",
                "a[wid.x]",
                "a[li]",
            ][..]
        } else {
            &[
                "0u",
                "1u",
                "3u",
                "gid.x",
                "gid.y",
                "lid.x",
                "li",
                "wid.x",
                "nwg.x",
                "im.n",
                "im.w",
                "u.n",
                "arrayLength(&o)",
                "arrayLength(&a)",
                "a[1]",
            ][..]
        };
        self.random.pick(list).to_owned()
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.chance(45) {
            let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.random.below(6) {
                0 | 1 => format!("({a} && {b})"),
                2 | 3 => format!("({a} || {b})"),
                4 => format!("(({a}) | ({b}))"),
                _ => format!("!({a})"),
            };
        }
        let comparison = self.random.pick(&["<", "<", ">=", ">=", ">", "<=", "==", "!="]);
        if !self.barriers && self.random.chance(60) {
            let left = match self.random.below(5) {
                0 => "gid.y".to_owned(),
                1 => "gid.z".to_owned(),
                2 => "gid.x".to_owned(),
                _ => self.index(),
            };
            let right = self.random.pick(&[
                "arrayLength(&o)",
                "im.n",
                "im.w",
                "im.h",
                "u.n",
                "u.w",
                "20u",
                "arrayLength(&a)",
                "nwg.x",
                "0u",
            ]);
            return if self.random.chance(80) {
                format!("{left} {comparison} {right}")
            } else {
                format!("{right} {comparison} {left}")
            };
        }
        format!("{} {comparison} {}", self.number(1), self.number(0))
    }
}

//! Accesses that are said to be surely in range, on random kernels full of conditions and loops: the interpreter, which knows nothing of that, must never see one out
//! of range. `COMPUTE_SEED` begins elsewhere, `COMPUTE_KERNEL_SEEDS` asks for another number of kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use common::random::Random;
use common::try_kernel;
use compute_kernel::EntryPoint;
use compute_kernel::lower::Lowering;
use compute_kernel::reflection::Bounds;

const HEAD: &str = "
struct Given { x: u32, y: u32, z: u32, w: i32 }
var<immediate> g: Given;
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@group(0) @binding(2) var<uniform> u: vec4<u32>;
var<workgroup> t: array<u32, 6>;
fn bump(p: ptr<function, u32>, by: u32) { *p += by; }
fn less(i: u32) -> bool { return i < arrayLength(&a); }
";

/// Writes one kernel with many places for an access, of which one is kept.
struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    /// `u32` that may be assigned to, and those that may not.
    variables: Vec<String>,
    values: Vec<String>,
    signed: Vec<String>,
    /// What was compared with the length last.
    hot: String,
    next: usize,
    places: usize,
    budget: usize,
}

impl Writer<'_> {
    fn name(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn any(&mut self, names: &[String]) -> String {
        names[self.random.below(names.len())].clone()
    }

    fn variable(&mut self) -> String {
        let all = self.variables.clone();
        self.any(&all)
    }

    fn leaf(&mut self) -> String {
        if self.random.chance(45) {
            return self.variable();
        }
        if self.random.chance(45) {
            let all = self.values.clone();
            return self.any(&all);
        }
        self.random
            .pick(&["0u", "1u", "2u", "5u", "6u", "n", "n", "m", "arrayLength(&a)", "li", "g.x", "g.y", "0xffffffffu"])
            .to_owned()
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.chance(35) {
            return self.leaf();
        }
        let (a, b) = (self.number(depth - 1), self.number(depth - 1));
        let c = self.random.pick(&["1u", "1u", "2u", "3u", "7u"]);
        match self.random.below(16) {
            0..=2 => format!("({a} + {c})"),
            3..=5 => format!("({a} - {c})"),
            6 => format!("({a} + {b})"),
            7 => format!("({a} - {b})"),
            8 => format!("min({a}, {b})"),
            9 => format!("max({a}, {b})"),
            10 => format!("({a} % {b})"),
            11 => format!("({a} / {c})"),
            12 => format!("({a} >> {c})"),
            13 => format!("({a} & {c})"),
            14 => format!("({a} * {c})"),
            _ => {
                let condition = self.condition(1);
                format!("select({a}, {b}, {condition})")
            }
        }
    }

    fn integer(&mut self) -> String {
        let all = self.signed.clone();
        let (a, n) = (self.any(&all), self.number(1));
        match self.random.below(6) {
            0 => format!("i32({n})"),
            1 => format!("({a} - 1)"),
            2 => format!("({a} + 1)"),
            3 => self.random.pick(&["0", "-1", "1", "5", "i32(n)", "i32(n) - 1", "g.w"]).to_owned(),
            _ => a,
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.chance(40) {
            let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.random.below(6) {
                0 | 1 => format!("({a} && {b})"),
                2 | 3 => format!("({a} || {b})"),
                4 => format!("!({a})"),
                _ => format!("({a} & {b})"),
            };
        }
        let op = self.random.pick(&["<", "<", "<", "<=", ">", ">=", "==", "!="]);
        if self.random.chance(40) {
            self.hot = self.leaf();
            return format!("({} {op} {})", self.hot, self.random.pick(&["n", "n", "arrayLength(&a)", "n - 1u"]));
        }
        if self.random.chance(25) {
            let (a, b) = (self.integer(), self.integer());
            return format!("({a} {op} {b})");
        }
        let a = self.number(1);
        match self.random.below(5) {
            0 | 1 => format!("({a} {op} n)"),
            2 => format!("({a} {op} {})", self.random.pick(&["0u", "6u", "m", "arrayLength(&a)", "n - 1u", "t_count"])),
            3 => {
                let b = self.number(1);
                format!("({a} {op} {b})")
            }
            _ if self.random.chance(20) => format!("less({a})"),
            _ => format!("(n {op} {a})"),
        }
    }

    fn index(&mut self) -> String {
        if self.random.chance(60) {
            let hot = self.hot.clone();
            return match self.random.below(8) {
                0 => format!("{hot} - 1u"),
                1 => format!("{hot} + 1u"),
                2 => format!("{hot} / 2u"),
                3 => format!("n - 1u - {hot}"),
                _ => hot,
            };
        }
        match self.random.below(8) {
            0..=3 => self.leaf(),
            4 | 5 => self.number(1),
            6 => self.number(2),
            _ => self.integer(),
        }
    }

    fn access(&mut self) {
        let (at, array) = (self.index(), self.random.pick(&["a", "a", "a", "a", "b", "t"]));
        let (place, way) = (self.places, self.random.below(4));
        self.places += 1;
        let text = match way {
            0 => format!("sum += {array}[{at}];"),
            1 => format!("let p{place} = &{array}[{at}]; sum += *p{place};"),
            _ => format!("{array}[{at}] = 1u;"),
        };
        let _ = writeln!(self.text, "@{place}{{{text}}}");
    }

    fn block(&mut self, depth: usize, in_loop: bool) {
        let saved = (self.variables.len(), self.values.len(), self.signed.len());
        for _ in 0..1 + self.random.below(4) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.statement(depth, in_loop);
        }
        self.variables.truncate(saved.0);
        self.values.truncate(saved.1);
        self.signed.truncate(saved.2);
    }

    fn braced(&mut self, depth: usize, in_loop: bool) {
        self.text.push_str("{\n");
        self.block(depth, in_loop);
        self.text.push_str("}\n");
    }

    fn statement(&mut self, depth: usize, in_loop: bool) {
        match self.random.below(if depth == 0 { 9 } else { 16 }) {
            0..=3 => self.access(),
            4 => self.assign(),
            5 => {
                let (name, value) = (self.name("v"), self.number(2));
                let _ = writeln!(self.text, "var {name} = {value};");
                self.variables.push(name);
            }
            6 => {
                let (name, value) = (self.name("c"), self.number(2));
                let _ = writeln!(self.text, "let {name} = {value};");
                self.values.push(name);
            }
            7 => {
                let (name, value) = (self.name("s"), self.integer());
                let _ = writeln!(self.text, "var {name} = {value};");
                self.signed.push(name);
            }
            8 => self.leave(in_loop),
            9..=11 => self.branch(depth, in_loop),
            12 => self.switch(depth, in_loop),
            _ => self.repeat(depth),
        }
    }

    fn assign(&mut self) {
        let (variable, value) = (self.variable(), self.number(2));
        let text = match self.random.below(6) {
            0 => format!("{variable} += 1u;"),
            1 => format!("{variable} -= 1u;"),
            2 => format!("bump(&{variable}, {value});"),
            3 if !self.signed.is_empty() => {
                let all = self.signed.clone();
                let (to, value) = (self.any(&all), self.integer());
                format!("{to} = {value};")
            }
            _ => format!("{variable} = {value};"),
        };
        let _ = writeln!(self.text, "{text}");
    }

    fn leave(&mut self, in_loop: bool) {
        let condition = self.condition(2);
        let how = if in_loop { self.random.pick(&["break", "continue", "return"]) } else { "return" };
        let _ = writeln!(self.text, "if {condition} {{ {how}; }}");
    }

    fn branch(&mut self, depth: usize, in_loop: bool) {
        let condition = self.condition(2);
        let _ = write!(self.text, "if {condition} ");
        self.braced(depth - 1, in_loop);
        if self.random.chance(40) {
            self.text.push_str("else ");
            self.braced(depth - 1, in_loop);
        }
    }

    fn switch(&mut self, depth: usize, in_loop: bool) {
        let by = self.leaf();
        let _ = write!(self.text, "switch {by} {{ case 0u, 1u: ");
        self.braced(depth - 1, in_loop);
        self.text.push_str("case 2u: ");
        self.braced(depth - 1, in_loop);
        self.text.push_str("default: ");
        self.braced(depth - 1, in_loop);
        self.text.push_str("}\n");
    }

    fn repeat(&mut self, depth: usize) {
        let start = self.number(1);
        match self.random.below(4) {
            0 | 1 => {
                let k = self.name("k");
                let end = self.random.pick(&["n", "n", "n - 1u", "m", "6u", "arrayLength(&a)", "g.x"]);
                let op = self.random.pick(&["<", "<", "<", "<=", "!=", ">"]);
                let step = self.random.pick(&["+= 1u", "+= 1u", "+= 2u", "-= 1u", ">>= 1u"]);
                let start =
                    if self.random.chance(60) { self.random.pick(&["0u", "li", "1u", "4u", "n"]).to_owned() } else { start };
                let _ = write!(self.text, "for (var {k} = {start}; {k} {op} {end}; {k} {step}) ");
                self.hot.clone_from(&k);
                // Often nobody else touches a counter.
                if self.random.chance(70) {
                    self.values.push(k)
                } else {
                    self.variables.push(k)
                }
                self.braced(depth - 1, true);
            }
            2 => {
                let k = self.name("s");
                let end = self.random.pick(&["i32(n)", "i32(n)", "6", "g.w", "i32(n) - 1"]);
                let (from, op) = (self.random.pick(&["0", "0", "1", "-1", "g.w"]), self.random.pick(&["<", "<", "<="]));
                let _ = write!(self.text, "for (var {k} = {from}; {k} {op} {end}; {k}++) ");
                self.hot = format!("u32({k})");
                self.signed.push(k);
                self.braced(depth - 1, true);
            }
            _ => {
                let condition = self.condition(1);
                let variable = self.variable();
                let _ = writeln!(self.text, "loop {{ if {condition} {{ break; }}");
                self.block(depth - 1, true);
                let _ = writeln!(self.text, "continuing {{ {variable} += 1u;");
                self.access();
                self.text.push_str("} }\n");
            }
        }
    }
}

/// A kernel with the access at one place, or at all. Every line stays where it is.
fn keep(text: &str, place: Option<usize>) -> String {
    let marked = |line: &str| {
        let (number, access) = line.strip_prefix('@')?.split_once('{')?;
        let access = access.strip_suffix('}')?;
        Some(if place.is_none_or(|place| number.parse() == Ok(place)) { access.to_owned() } else { ";".to_owned() })
    };
    text.lines().map(|line| marked(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

fn generate(random: &mut Random) -> (String, usize) {
    let mut writer = Writer {
        random,
        text: String::new(),
        variables: vec!["x".into(), "y".into()],
        values: vec!["i".into(), "li".into()],
        signed: vec!["j".into()],
        hot: "i".into(),
        next: 0,
        places: 0,
        budget: 14,
    };
    writer.block(3, false);
    writer.block(3, false);
    let (body, places) = (writer.text, writer.places);
    let text = format!(
        "{HEAD} @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
        let n = arrayLength(&a); let m = arrayLength(&b); let i = id.x; let t_count = 6u; var sum = 0u;
        var x = u.x + i; var y = g.z; var j = bitcast<i32>(u.y) + i32(li);\n{body}}}"
    );
    (text, places)
}

/// The lines of what is checked.
fn checked(entry: &Arc<EntryPoint>) -> HashSet<usize> {
    let lowering = Lowering { bounds: Bounds::Validate, deferred: false, print_room: 0, names: None };
    let lowered = entry.lower(&lowering).unwrap_or_else(|d| panic!("{d}"));
    lowered.reports().sites().iter().map(|site| site.location.line as usize).collect()
}

/// Whether a launch goes out of range; `None` if it takes too long.
fn goes_wrong(entry: &EntryPoint, random: &mut Random) -> Option<bool> {
    let numbers = [0, 1, 2, 3, 4, 5, 6, 7, 9, 1 << 31, (1 << 31) - 1, u32::MAX, u32::MAX - 1, u32::MAX - 4];
    let words =
        |random: &mut Random| -> Vec<u8> { (0..4).flat_map(|_| (numbers[random.below(numbers.len())]).to_le_bytes()).collect() };
    let (immediates, uniform) = (words(random), words(random));
    let lengths = [1 + random.below(8), 1 + random.below(8)];
    let bindings = entry.reflection().bindings.iter().map(|b| match b.slot {
        2 => uniform.clone(),
        slot => vec![1; 4 * lengths[slot as usize % 2]],
    });
    let launch = compute_interpreter::Launch {
        grid: [2, 1, 1],
        bindings: bindings.collect(),
        immediates: immediates.get(..entry.reflection().immediate_size as usize).unwrap_or(&immediates),
        steps: 4000,
        reversed: false,
    };
    compute_interpreter::run(entry, launch).ok().map(|outcome| outcome.out_of_range)
}

#[test]
fn l5_what_is_proven_is_never_out_of_range() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (first, count) = (number("COMPUTE_SEED").unwrap_or(1), number("COMPUTE_KERNEL_SEEDS").unwrap_or(300));
    let (mut proven, mut open, mut wild) = (0, 0, 0_u64);
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let (text, places) = generate(&mut random);
        // What the language refuses is not asked here: shadowed counters, constants out of range.
        let Ok(all) = try_kernel(&keep(&text, None), &[]) else { continue };
        let lines = checked(&all);
        for place in 0..places {
            let line = 1 + text.lines().position(|line| line.starts_with(&format!("@{place}{{"))).unwrap();
            let seems_open = lines.contains(&line);
            if seems_open && !random.chance(10) {
                continue;
            }
            let kept = keep(&text, Some(place));
            let entry = try_kernel(&kept, &[]).unwrap();
            let surely = checked(&entry).is_empty();
            if surely {
                proven += 1
            } else {
                open += 1
            }
            let out = (0..6).any(|_| goes_wrong(&entry, &mut random).unwrap_or(false));
            assert!(!(out && surely), "seed {seed} is said to be in range and is not:\n{kept}");
            wild += u64::from(out);
        }
    }
    println!("{proven} proven, {open} not, of which {wild} went out of range");
    // Were nothing proven, or nothing wrong, this would test nothing.
    assert!(count < 200 || proven > count / 5 && wild > count / 20, "{proven} proven, {open} not, {wild} out of range");
}

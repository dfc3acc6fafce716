//! Random kernels with barriers and subgroup operations against an interpreter that runs the invocations in lockstep.
//!
//! The generator makes race-free programs, but does not care whether control flow around barriers is uniform: creation refuses
//! those where it is not, and they are left out.

use std::fmt::Write as _;

use super::*;

/// A whole subgroup and a part of one.
const SIZE: usize = 40;
const SUBGROUP: usize = super::super::SUBGROUP_SIZE as usize;
const LOCALS: usize = 3;
const UNIFORMS: usize = 2;

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as u32) % n
    }
    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

enum Ex {
    Number(u32),
    Local(usize),
    Uniform(usize),
    Id,
    Table(Box<Ex>),
    Private,
    Binary(&'static str, Box<Ex>, Box<Ex>),
}

enum St {
    Local(usize, Ex),
    Uniform(usize, Ex),
    Table(Ex, Ex),
    Private(Ex),
    /// `s[li] = value; barrier; let x = s[(li + by) % SIZE]; barrier; local = x + let`
    Exchange(usize, Ex, u32),
    /// local = a subgroup operation on a value
    Subgroup(usize, Operation, Ex),
    If(Ex, Vec<St>, Vec<St>),
    /// A loop of at most so many passes; the second list is the continuing block.
    Loop(u32, Vec<St>, Vec<St>),
    Switch(Ex, Vec<St>, Vec<St>, Vec<St>),
    /// local = the function's result of a value
    Call(usize, Ex),
    Break,
    Continue,
    Return,
}

/// What a subgroup operation gives to a lane, of the lanes' arguments and the lane's id.
type Model = fn(&[u32], usize, u32) -> u32;
/// How an operation is spelled around its argument, and what it does.
type Operation = &'static (&'static str, &'static str, Model);

/// Those that take an id take it from `l0`.
const OPERATIONS: &[(&str, &str, Model)] = &[
    ("subgroupAdd(", ")", |x, _, _| x.iter().fold(0, |a, b| a.wrapping_add(*b))),
    ("subgroupInclusiveAdd(", ")", |x, n, _| x[..=n].iter().fold(0, |a, b| a.wrapping_add(*b))),
    ("subgroupExclusiveMul(", ")", |x, n, _| x[..n].iter().fold(1, |a, b| a.wrapping_mul(*b))),
    ("subgroupMax(", ")", |x, _, _| x.iter().copied().max().unwrap_or(0)),
    ("subgroupXor(", ")", |x, _, _| x.iter().fold(0, |a, b| a ^ b)),
    ("u32(subgroupAny(7u < ", "))", |x, _, _| u32::from(x.iter().any(|x| 7 < *x))),
    ("subgroupBallot(7u < ", ").x", |x, _, _| x.iter().enumerate().map(|(n, x)| u32::from(7 < *x) << n).sum()),
    ("subgroupBroadcastFirst(", ")", |x, _, _| x[0]),
    ("subgroupBroadcast(", ", 9u)", |x, _, _| x.get(9).copied().unwrap_or(0)),
    ("subgroupShuffle(", ", l0)", |x, _, id| x.get(id as usize).copied().unwrap_or(0)),
    ("subgroupShuffleXor(", ", 2u)", |x, n, _| x.get(n ^ 2).copied().unwrap_or(0)),
    ("subgroupShuffleUp(", ", 3u)", |x, n, _| n.checked_sub(3).map_or(0, |n| x[n])),
    ("quadBroadcast(", ", 1u)", |x, n, _| x[n / 4 * 4 + 1]),
];

struct Generator {
    random: Random,
    budget: u32,
}

impl Generator {
    fn expression(&mut self, uniform: bool, depth: u32) -> Ex {
        if depth == 0 || self.random.chance(30) {
            return match self.random.below(if uniform { 2 } else { 6 }) {
                0 => Ex::Number(self.random.below(9)),
                1 => Ex::Uniform(self.random.below(UNIFORMS as u32) as usize),
                2 => Ex::Id,
                3 => Ex::Table(Box::new(self.expression(false, 0))),
                4 => Ex::Private,
                _ => Ex::Local(self.random.below(LOCALS as u32) as usize),
            };
        }
        let operators = ["+", "*", "^", "-", "/", "%", "&", ">>"];
        let op = operators[self.random.below(operators.len() as u32) as usize];
        Ex::Binary(op, Box::new(self.expression(uniform, depth - 1)), Box::new(self.expression(uniform, depth - 1)))
    }

    /// `uniform`: whether all invocations get here together.
    fn block(&mut self, uniform: bool, in_loop: bool, depth: u32) -> Vec<St> {
        let mut out = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            out.push(self.statement(uniform, in_loop, depth));
            if matches!(out.last(), Some(St::Break | St::Continue | St::Return)) {
                break;
            }
        }
        out
    }

    fn statement(&mut self, uniform: bool, in_loop: bool, depth: u32) -> St {
        let local = self.random.below(LOCALS as u32) as usize;
        if uniform && self.random.chance(30) {
            return match self.random.below(4) {
                0 => St::Uniform(self.random.below(UNIFORMS as u32) as usize, self.expression(true, 2)),
                2 => {
                    let operation = &OPERATIONS[self.random.below(OPERATIONS.len() as u32) as usize];
                    St::Subgroup(local, operation, self.expression(false, 2))
                }
                1 => St::Call(local, self.expression(false, 1)),
                _ => St::Exchange(local, self.expression(false, 2), self.random.below(SIZE as u32)),
            };
        }
        if depth == 0 || self.random.chance(40) {
            return match self.random.below(if in_loop { 7 } else { 5 }) {
                0 => St::Table(self.expression(false, 1), self.expression(false, 2)),
                1 => St::Private(self.expression(false, 2)),
                4 if self.random.chance(30) => St::Return,
                5 => St::Break,
                6 => St::Continue,
                _ => St::Local(local, self.expression(false, 3)),
            };
        }
        let same = uniform && self.random.chance(70);
        match self.random.below(4) {
            0 => {
                let passes = 1 + self.random.below(3);
                let continuing = vec![St::Local(local, self.expression(false, 2))];
                St::Loop(passes, self.block(uniform, true, depth - 1), continuing)
            }
            1 => {
                let selector = self.expression(same, 1);
                let mut case = || self.block(same, in_loop, depth - 1);
                St::Switch(selector, case(), case(), case())
            }
            _ => {
                let condition = self.expression(same, 2);
                St::If(condition, self.block(same, in_loop, depth - 1), self.block(same, in_loop, depth - 1))
            }
        }
    }
}

fn show_expression(e: &Ex) -> String {
    match e {
        Ex::Number(n) => format!("(I[0] + {n}u)"),
        Ex::Local(i) => format!("l{i}"),
        Ex::Uniform(i) => format!("u{i}"),
        Ex::Id => "li".into(),
        Ex::Table(i) => format!("t[{} % 4u]", show_expression(i)),
        Ex::Private => "p".into(),
        Ex::Binary(op, a, b) => format!("({} {op} {})", show_expression(a), show_expression(b)),
    }
}

fn show(block: &[St], function: bool, names: &mut u32, out: &mut String) {
    for statement in block {
        *names += 1;
        let name = *names;
        let _ = match statement {
            St::Local(i, e) => writeln!(out, "l{i} = {};", show_expression(e)),
            St::Uniform(i, e) => writeln!(out, "u{i} = {};", show_expression(e)),
            St::Table(i, e) => writeln!(out, "t[{} % 4u] = {};", show_expression(i), show_expression(e)),
            St::Private(e) => writeln!(out, "p = {};", show_expression(e)),
            St::Exchange(i, e, by) => writeln!(
                out,
                "let k{name} = l{i} ^ t[{by}u % 4u]; s[li] = {}; workgroupBarrier(); let x{name} = s[(li + {by}u) % {SIZE}u]; \
                 workgroupBarrier(); l{i} = x{name} + k{name};",
                show_expression(e)
            ),
            St::Subgroup(i, (before, after, _), e) => writeln!(out, "l{i} = {before}{}{after};", show_expression(e)),
            St::Call(i, e) => writeln!(out, "l{i} = f(li, {}, &t, &l{});", show_expression(e), (i + 1) % LOCALS),
            St::If(c, a, b) => {
                let _ = writeln!(out, "if ({} % 2u == 1u) {{", show_expression(c));
                show(a, function, names, out);
                out.push_str("} else {\n");
                show(b, function, names, out);
                writeln!(out, "}}")
            }
            St::Loop(n, body, continuing) => {
                let _ = writeln!(out, "var c{name} = 0u; loop {{ if (c{name} >= {n}u) {{ break; }}");
                show(body, function, names, out);
                let _ = writeln!(out, "continuing {{ c{name} += 1u;");
                show(continuing, function, names, out);
                writeln!(out, "}} }}")
            }
            St::Switch(e, a, b, d) => {
                let _ = writeln!(out, "switch ({} % 4u) {{ case 1u: {{", show_expression(e));
                show(a, function, names, out);
                out.push_str("} case 0u, 2u: {\n");
                show(b, function, names, out);
                out.push_str("} default: {\n");
                show(d, function, names, out);
                writeln!(out, "}} }}")
            }
            St::Break => writeln!(out, "break;"),
            St::Continue => writeln!(out, "continue;"),
            St::Return if function => writeln!(out, "return l0;"),
            St::Return => writeln!(out, "finish(li, l0, l1, l2, t, u0); return;"),
        };
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
    Return,
}

#[derive(Clone, Default)]
struct Invocation {
    locals: [u32; LOCALS],
    uniforms: [u32; UNIFORMS],
    table: [u32; 4],
}

struct Interpreter<'a> {
    function: &'a [St],
    shared: [u32; SIZE],
    private: [u32; SIZE],
}

fn evaluate(e: &Ex, li: usize, state: &Invocation, private: u32) -> u32 {
    match e {
        Ex::Number(n) => *n,
        Ex::Local(i) => state.locals[*i],
        Ex::Uniform(i) => state.uniforms[*i],
        Ex::Id => li as u32,
        Ex::Table(i) => state.table[evaluate(i, li, state, private) as usize % 4],
        Ex::Private => private,
        Ex::Binary(op, a, b) => {
            let (a, b) = (evaluate(a, li, state, private), evaluate(b, li, state, private));
            match *op {
                "+" => a.wrapping_add(b),
                "*" => a.wrapping_mul(b),
                "-" => a.wrapping_sub(b),
                "^" => a ^ b,
                "&" => a & b,
                "/" => a.checked_div(b).unwrap_or(a),
                "%" => a.checked_rem(b).unwrap_or(0),
                _ => a.wrapping_shr(b),
            }
        }
    }
}

type States = [Invocation; SIZE];
type Flows = [Flow; SIZE];

impl Interpreter<'_> {
    fn block(&mut self, block: &[St], states: &mut States, flows: &mut Flows) {
        for statement in block {
            self.statement(statement, states, flows);
        }
    }

    fn values(&self, e: &Ex, states: &States) -> [u32; SIZE] {
        std::array::from_fn(|li| evaluate(e, li, &states[li], self.private[li]))
    }

    /// Runs a branch for those of the active whose `taken` is set.
    fn branch(&mut self, block: &[St], taken: [bool; SIZE], states: &mut States, flows: &mut Flows) {
        let mut inner: Flows = std::array::from_fn(|li| if taken[li] { flows[li] } else { Flow::Return });
        self.block(block, states, &mut inner);
        for li in 0..SIZE {
            if taken[li] {
                flows[li] = inner[li];
            }
        }
    }

    fn statement(&mut self, statement: &St, states: &mut States, flows: &mut Flows) {
        let on: [bool; SIZE] = std::array::from_fn(|li| flows[li] == Flow::On);
        let active: Vec<usize> = (0..SIZE).filter(|li| on[*li]).collect();
        match statement {
            St::Local(i, e) => {
                let values = self.values(e, states);
                active.iter().for_each(|li| states[*li].locals[*i] = values[*li]);
            }
            St::Uniform(i, e) => {
                let values = self.values(e, states);
                active.iter().for_each(|li| states[*li].uniforms[*i] = values[*li]);
            }
            St::Table(i, e) => {
                let (places, values) = (self.values(i, states), self.values(e, states));
                active.iter().for_each(|li| states[*li].table[places[*li] as usize % 4] = values[*li]);
            }
            St::Private(e) => {
                let values = self.values(e, states);
                active.iter().for_each(|li| self.private[*li] = values[*li]);
            }
            St::Exchange(i, e, by) => {
                let values = self.values(e, states);
                let kept: Vec<u32> = states.iter().map(|s| s.locals[*i] ^ s.table[*by as usize % 4]).collect();
                active.iter().for_each(|li| self.shared[*li] = values[*li]);
                active.iter().for_each(|li| {
                    states[*li].locals[*i] = self.shared[(li + *by as usize) % SIZE].wrapping_add(kept[*li]);
                });
            }
            St::Subgroup(i, (_, _, model), e) => {
                // All or none: others are refused.
                let (values, ids) = (self.values(e, states), states.clone().map(|s| s.locals[0]));
                active.iter().for_each(|li| {
                    let first = li / SUBGROUP * SUBGROUP;
                    let lanes = &values[first..SIZE.min(first + SUBGROUP)];
                    states[*li].locals[*i] = model(lanes, li - first, ids[*li]);
                });
            }
            St::If(c, a, b) => {
                let conditions = self.values(c, states).map(|v| v % 2 == 1);
                let take = |which| std::array::from_fn(|li| on[li] && conditions[li] == which);
                self.branch(a, take(true), states, flows);
                self.branch(b, take(false), states, flows);
            }
            St::Loop(n, body, continuing) => self.repeat(*n, body, continuing, on, states, flows),
            St::Switch(e, a, b, d) => {
                let cases = self.values(e, states).map(|v| [1, 0, 1, 2][v as usize % 4]);
                for (case, block) in [a, b, d].into_iter().enumerate() {
                    self.branch(block, std::array::from_fn(|li| on[li] && cases[li] == case), states, flows);
                }
                flows.iter_mut().zip(on).filter(|(f, on)| *on && **f == Flow::Break).for_each(|(f, _)| *f = Flow::On);
            }
            St::Call(i, e) => {
                let arguments = self.values(e, states);
                let mut inner = states.clone();
                for li in 0..SIZE {
                    let next = states[li].locals[(i + 1) % LOCALS];
                    inner[li] = Invocation { locals: [arguments[li], next, 0], uniforms: [1, 2], table: states[li].table };
                }
                let mut inside: Flows = std::array::from_fn(|li| if on[li] { Flow::On } else { Flow::Return });
                let function = self.function;
                self.block(function, &mut inner, &mut inside);
                for li in active {
                    states[li].table = inner[li].table;
                    states[li].locals[(i + 1) % LOCALS] = inner[li].locals[1];
                    states[li].locals[*i] = inner[li].locals[0];
                }
            }
            St::Break => active.iter().for_each(|li| flows[*li] = Flow::Break),
            St::Continue => active.iter().for_each(|li| flows[*li] = Flow::Continue),
            St::Return => active.iter().for_each(|li| flows[*li] = Flow::Return),
        }
    }

    fn repeat(&mut self, passes: u32, body: &[St], continuing: &[St], on: [bool; SIZE], states: &mut States, flows: &mut Flows) {
        let mut inner: Flows = std::array::from_fn(|li| if on[li] { Flow::On } else { Flow::Break });
        for _ in 0..passes {
            self.block(body, states, &mut inner);
            inner.iter_mut().filter(|f| **f == Flow::Continue).for_each(|f| *f = Flow::On);
            self.block(continuing, states, &mut inner);
        }
        for li in 0..SIZE {
            if on[li] {
                flows[li] = if inner[li] == Flow::Return { Flow::Return } else { Flow::On };
            }
        }
    }
}

fn source(main: &[St], function: &[St]) -> String {
    let (mut names, mut body, mut callee) = (0, String::new(), String::new());
    show(main, false, &mut names, &mut body);
    show(function, true, &mut names, &mut callee);
    format!(
        "{HEAD} var<workgroup> s: array<u32, {SIZE}>; var<private> p: u32;
        fn finish(li: u32, a: u32, b: u32, c: u32, t: array<u32, 4>, u: u32) {{
            O[li] = a * 3u + b * 5u + c * 7u + t[0] * 11u + t[1] * 13u + t[2] * 17u + t[3] * 19u + u * 23u + p;
        }}
        fn f(li: u32, a: u32, table: ptr<function, array<u32, 4>>, other: ptr<function, u32>) -> u32 {{
            var l0 = a; var l1 = *other; var l2 = 0u; var u0 = 1u; var u1 = 2u; var t = *table;
            {callee}
            *table = t; *other = l1;
            return l0;
        }}
        @compute @workgroup_size({SIZE}) fn main(@builtin(local_invocation_index) li: u32) {{
            var l0 = I[li + 1u]; var l1 = li; var l2 = 5u; var u0 = I[9]; var u1 = 3u;
            var t = array<u32, 4>(li, 1u, 2u, 3u);
            {body}
            finish(li, l0, l1, l2, t, u0);
        }}"
    )
}

/// Returns inside the function leave its pointers as they were.
fn without_returns(block: &mut Vec<St>) {
    block.retain(|s| !matches!(s, St::Return | St::Call(..)));
    for statement in block {
        match statement {
            St::If(_, a, b) | St::Loop(_, a, b) => [a, b].into_iter().for_each(without_returns),
            St::Switch(_, a, b, c) => [a, b, c].into_iter().for_each(without_returns),
            _ => {}
        }
    }
}

fn expected(main: &[St], function: &[St], input: &[u32]) -> Vec<u32> {
    let mut states: States = std::array::from_fn(|li| Invocation {
        locals: [input[li + 1], li as u32, 5],
        uniforms: [input[9], 3],
        table: [li as u32, 1, 2, 3],
    });
    let mut interpreter = Interpreter { function, shared: [0; SIZE], private: [0; SIZE] };
    interpreter.block(main, &mut states, &mut [Flow::On; SIZE]);
    let sum = |(s, p): (&Invocation, &u32)| {
        let words = s.locals.iter().chain(&s.table).chain([&s.uniforms[0]]);
        let sum = words.zip([3u32, 5, 7, 11, 13, 17, 19, 23]).fold(0u32, |sum, (w, f)| sum.wrapping_add(w.wrapping_mul(f)));
        sum.wrapping_add(*p)
    };
    states.iter().zip(&interpreter.private).map(sum).collect()
}

/// Cancels what does not end.
fn within_two_seconds(kernel: &Kernel, run: impl FnOnce()) {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(std::time::Duration::from_secs(2)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                kernel.cancel.store(1, Ordering::Relaxed);
            }
        });
        run();
        drop(done);
    });
}

#[test]
fn random_kernels_do_what_lockstep_does() {
    let count = std::env::var("RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let first = std::env::var("RANDOM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1u64);
    let input: Vec<u32> = [0, 9, 4, 7, 0, 3, 8, 1, 6, 2].into_iter().chain((0..SIZE as u32).map(|n| n * n % 23)).collect();
    let (mut ran, mut with_barriers, mut with_subgroups) = (0, 0, 0);
    for seed in first..first + count {
        let mut generator = Generator { random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), budget: 24 };
        let main = generator.block(true, false, 3);
        generator.budget = 8;
        let mut function = generator.block(true, false, 2);
        without_returns(&mut function);
        let source = source(&main, &function);
        let Ok(module) = Module::parse(&Source::wgsl(&source)) else { continue };
        let Ok(entry) = module.entry_point(None, &[]) else { continue };
        ran += 1;
        with_barriers += u32::from(source.matches("workgroupBarrier").count() > 2);
        with_subgroups += u32::from(OPERATIONS.iter().any(|(before, ..)| source.contains(before)));
        for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
            let compiled = compile(&entry, bounds, bounds == Bounds::Checked).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
            let kernel = Kernel::of(compiled);
            let mut output = vec![0; SIZE];
            within_two_seconds(&kernel, || kernel.run([1, 1, 1], &mut [&mut input.clone(), &mut output]));
            assert_eq!(output, expected(&main, &function, &input), "seed {seed}, {bounds:?}\n{source}");
        }
    }
    println!("{ran} of {count} ran, {with_barriers} with barriers, {with_subgroups} with subgroup operations");
    let enough = ran * 4 > count && with_barriers > 0 && u64::from(with_subgroups) * 10 > count;
    assert!(enough, "too few of the kernels were accepted: {ran}, {with_barriers}, {with_subgroups}");
}

//! Any bytes give an answer, in bounded time, also from a thread with a small stack.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use compute_kernel::{Diagnostics, Module, Source};
use proptest::prelude::*;

/// Parses, and resolves each entry point, on a thread whose stack is small. Panics on anything but an answer; `Ok` when all is accepted.
fn answer(source: &str) -> Result<(), Diagnostics> {
    let work = || -> Result<(), Diagnostics> {
        let module = Module::parse(&Source::wgsl(source))?;
        for entry in module.entry_points() {
            module.entry_point(Some(entry), &[])?;
        }
        Ok(())
    };
    let started = Instant::now();
    let answer = thread::scope(|scope| {
        let small = thread::Builder::new().stack_size(256 << 10);
        small.spawn_scoped(scope, work).expect("a thread").join().expect("no panic reaches the caller")
    });
    assert!(started.elapsed() < Duration::from_secs(20), "took {:?}", started.elapsed());
    answer
}

fn in_main(body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n@compute @workgroup_size(1) fn main() {{ var x = 1u; {body} }}"
    )
}

fn refused(source: &str) -> Diagnostics {
    let d = answer(source).expect_err("refused");
    assert!(d.refusal, "not the fault of the source: {d}");
    d
}

#[test]
fn deep_and_long_expressions_are_refused_with_a_place() {
    let n = 100_000;
    for body in [
        format!("x = {}1u{};", "(".repeat(n), ")".repeat(n)),
        format!("x = 1u{};", " + 1u".repeat(n)),
        format!("x = {}1u;", "-".repeat(n)),
        format!("x = {}x;", "!".repeat(n)),
        format!("x = {}x;", "&*".repeat(n)),
        format!("x = o{};", "[0]".repeat(n)),
        format!("x = o{};", ".x".repeat(n)),
        format!("x = {}1u{};", "f(".repeat(n), ")".repeat(n)),
        format!("x = {}1u{};", "vec4<".repeat(n), ">".repeat(n)),
        format!("x = {}1u{};", "u<".repeat(n), ">".repeat(n)),
        format!("x = {}1u;", "1u<<".repeat(n)),
    ] {
        let d = refused(&in_main(&body));
        assert_eq!(common::place(&d).0, 2, "{}", &d.text[..d.text.len().min(300)]);
    }
}

#[test]
fn deep_and_long_statements_are_refused_with_a_place() {
    let n = 100_000;
    for body in [
        format!("if x == 0u {{}} {}", "else if x == 1u {}".repeat(n / 2)),
        format!("{}{}", "{".repeat(n), "}".repeat(n)),
        format!("{}{}", "if true {".repeat(n / 2), "}".repeat(n / 2)),
        format!("{}{}", "loop {".repeat(n / 2), "}".repeat(n / 2)),
        format!("{}{}", "switch x { default: {".repeat(n / 10), "}}".repeat(n / 10)),
        format!("{}{}", "if true {} else {".repeat(n / 10), "}".repeat(n / 10)),
        format!("{}{}", "for (;;) {".repeat(n / 10), "}".repeat(n / 10)),
    ] {
        let d = refused(&in_main(&body));
        assert_eq!(common::place(&d).0, 2, "{}", &d.text[..d.text.len().min(300)]);
    }
}

/// What is just within every bound at once must not need more stack than there is.
#[test]
fn the_deepest_source_that_passes_the_scan_is_answered() {
    let deep = |wrap: &str, close: &str, n: usize, inner: &str| format!("{}{inner}{}", wrap.repeat(n), close.repeat(n));
    let sum = format!("1u{}", " + x".repeat(1000));
    for body in [
        deep("if x == 1u {", "}", 90, &format!("x = {sum};")),
        deep("loop {", "break; }", 90, &format!("x = {sum};")),
        deep("switch x { case 1u: {", "} default: {} }", 45, "x = 2u;"),
        format!("x = {};", deep("(x + x * x - ", ")", 60, "1u")),
        format!("x = {};", deep("max(x, ", ")", 60, "1u")),
        format!("x = {}1u;", "~".repeat(1000)),
        format!("if x == 0u {{}} {}", "else if x == 1u { x = 2u; }".repeat(90)),
        format!("if x == 0u {{}} {}", deep("else { if x == 1u {} ", "}", 90, "")),
    ] {
        let source = in_main(&body);
        match answer(&source) {
            Ok(()) => {}
            Err(d) => assert!(d.refusal, "{d}"),
        }
    }
    answer(&in_main(&format!("x = {sum};"))).expect("a thousand terms are fine");
}

#[test]
fn long_chains_of_declarations_are_answered() {
    let lets: String = (1..9_000).map(|i| format!("let a{i} = a{} + 1u;", i - 1)).collect();
    answer(&in_main(&format!("let a0 = x; {lets} o[0] = a8999;"))).expect("a long chain of lets is fine");
    let constants: String = (1..500).rev().map(|i| format!("const c{i} = c{} + 1u;", i - 1)).collect();
    answer(&format!("const c0 = 1u; {constants} {}", in_main("o[0] = c499;"))).expect("a long chain of constants is fine");
    let aliases: String = (1..700).rev().map(|i| format!("alias t{i} = t{};", i - 1)).collect();
    answer(&format!("alias t0 = u32; {aliases} {}", in_main("var y: t699; o[0] = y;"))).expect("a long chain of aliases is fine");
    let structures: String = (1..4000).rev().map(|i| format!("struct s{i} {{ m: s{} }}", i - 1)).collect();
    refused(&format!("struct s0 {{ m: u32 }} {structures} {}", in_main("var y: s3999;")));
    let functions: String = (1..4000).map(|i| format!("fn f{i}() {{ f{}(); }}", i - 1)).collect();
    refused(&format!("fn f0() {{}} {functions} {}", in_main("f3999();")));
    let cases: String = (0..4_000).map(|i| format!("case {i}u: {{ x = {i}u; }}")).collect();
    answer(&in_main(&format!("switch x {{ {cases} default: {{}} }} o[0] = x;"))).expect("many cases are fine");
}

/// Where a language has no fall-through what follows is written out again, twice as much with each switch inside.
#[test]
fn groups_that_fall_through_inside_each_other_are_bounded() {
    let nested = |n: usize| {
        let (heads, ends) = ("switch (x) { case 0: y++; case 1: y += x; ".repeat(n), "break; }".repeat(n));
        format!("{heads} y++; {ends}")
    };
    let in_a_row: String = (0..300).map(|i| format!("case {i}: y++;")).collect();
    let apart: String = (0..3000).map(|i| format!("case {i}: y++; break;")).collect();
    let empty: String = (0..4000).map(|i| format!("case {i}:")).collect();
    let source = |body: &str| {
        format!(
            "#version 450\nlayout(local_size_x = 1) in; layout(binding = 0) buffer Out {{ uint O[]; }};
             void main() {{ int x = int(O[0]); int y = x;\n{body}\nO[1] = uint(y); }}"
        )
    };
    for (body, fits) in [
        (nested(10), true),
        (nested(20), false),
        (nested(90), false),
        (format!("switch (x) {{ {in_a_row} }}"), true),
        (format!("switch (x) {{ {apart} }}"), true),
        (format!("switch (x) {{ {empty} y++; }}"), true),
    ] {
        match Module::parse(&Source::glsl(&source(&body))) {
            Ok(_) => assert!(fits, "{}", &body[..body.len().min(300)]),
            Err(wrong) => {
                let told = wrong.list.iter().filter(|told| told.message.contains("too much is fallen into")).count();
                assert!(!fits && wrong.refusal && (told, wrong.list.len(), common::place(&wrong).0) == (1, 1, 4), "{wrong}");
            }
        }
    }
}

/// Whoever looks at the operands of a condition must not look at those of a shared one again and again.
#[test]
fn conditions_that_double_are_answered() {
    for (operator, init, branch) in [
        ("&", "true", "if x24 { o[x] = 0u; }"),
        ("&&", "true", "if x24 { o[x] = 0u; }"),
        ("|", "false", "if !x24 { o[x] = 0u; }"),
    ] {
        let doubled: String = (1..=24).map(|i| format!("let x{i} = x{} {operator} x{};", i - 1, i - 1)).collect();
        let body = format!("{{ let x0 = {init}; {doubled} {branch} }}").repeat(20);
        answer(&in_main(&body)).expect("a condition that is made of one again and again is fine");
    }
}

/// Functions that are called with ever other arguments uniform, walked once more for each private variable: what is small as text takes long to follow.
fn contexts(levels: usize, privates: usize, end: &str) -> String {
    let names = |of: &str, from: usize| (0..levels).map(|n| format!("{of}{}", (n + from) % levels)).collect::<Vec<_>>();
    let mut text = String::from("@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n");
    text.extend((0..privates).map(|n| format!("var<private> p{n}: u32;\n")));
    text.push_str("fn g0(x: u32) { p0 = x; }\n");
    text.extend((1..privates).map(|n| format!("fn g{n}() {{ p{n} = p{}; }}\n", n - 1)));
    let parameters = names("a", 0).join(": u32, ") + ": u32";
    for level in (0..levels).rev() {
        let next = level + 1;
        let turned = names("a", 1);
        let body = match next == levels {
            true => "o[a0 & 1u] = a1;".to_owned(),
            false => format!("l{next}({}); l{next}({}, 0u);", turned.join(", "), turned[..levels - 1].join(", ")),
        };
        text.push_str(&format!("fn l{level}({parameters}) {{ {body} }}\n"));
    }
    let calls: String = (1..privates).rev().map(|n| format!("g{n}(); ")).collect();
    let given = vec!["id.x"; levels].join(", ");
    text + &format!(
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {calls} g0(id.x); l0({given}); {end} }}"
    )
}

#[test]
fn calls_in_ever_other_contexts_are_followed_for_a_bounded_time() {
    // Nobody has to arrive together: there is nothing to find out.
    let started = Instant::now();
    answer(&contexts(14, 48, "")).expect("no barrier");
    assert!(started.elapsed() < Duration::from_secs(2), "took {:?}", started.elapsed());
    answer(&contexts(6, 12, "workgroupBarrier();")).expect("all arrive");
    for levels in [14, 20] {
        let started = Instant::now();
        let d = refused(&contexts(levels, 48, "workgroupBarrier();"));
        assert!(started.elapsed() < Duration::from_secs(10), "took {:?}", started.elapsed());
        assert!(d.text.contains("too many") && d.text.contains("barrier"), "{d}");
        assert!(d.text.contains("at most 4194304 steps") && d.text.contains("give it fewer arguments"), "{d}");
        assert_ne!(common::place(&d).0, 0, "{d}");
    }
}

/// What is told of one source is found in the time that one entry point may take, however many there are.
#[test]
fn entry_points_of_a_refused_source_are_followed_for_a_bounded_time_in_all() {
    let text = contexts(14, 48, "workgroupBarrier();");
    let (functions, main) = text.split_at(text.find("@compute").expect("an entry point"));
    let mains: String = (0..200).map(|n| main.replace("fn main(", &format!("fn main{n}("))).collect();
    let started = Instant::now();
    let d = refused(&format!("{functions}{mains}fn wrong() -> u32 {{}}"));
    assert!(started.elapsed() < Duration::from_secs(10), "took {:?}", started.elapsed());
    assert!(d.text.contains("`wrong`"), "{d}");
    // Of the first it is known that it takes too many steps.
    assert_eq!(d.text.matches("takes too many steps").count(), 1, "{d}");
}

/// Whoever looks for halves that become integers must not look for the end of a call where there is none.
#[test]
fn many_names_of_types_beside_halves_are_answered() {
    let members: String = (0..60_000).map(|n| format!("m{n}:vec2i,")).collect();
    let _ = answer(&format!("enable f16; @compute @workgroup_size(1) fn main() {{}} struct S {{ {members} }}"));
}

#[test]
fn types_that_need_themselves_or_are_many_are_answered() {
    let main = "@compute @workgroup_size(1) fn main() {}";
    for types in [
        "struct S { a: array<u32, u32(S())> }",
        "struct S { a: array<u32, T()> } struct T { b: array<u32, S().a[0]> }",
        "alias A = array<u32, A()[0]>; const c = A();",
    ] {
        refused(&format!("{types} {main}"));
    }
    let members = |of: usize| (0..12).map(|m| format!("m{m}: S{of},")).collect::<String>();
    let types: String = (1..15).map(|n| format!("struct S{n} {{ {} }}\n", members(n - 1))).collect();
    let _ = answer(&format!("struct S0 {{ m: u32 }}\n{types}const c = S14().m0; {main}"));
}

#[test]
fn sizes_that_could_exhaust_memory_are_refused() {
    refused(&in_main("let a = -array<u32, 4294967295>();"));
    refused(&in_main("let a = array<u32, 1u << 31>() == array<u32, 1u << 31>();"));
    refused(&in_main("let a = !array<array<u32, 16777216>, 16777216>();"));
    let mut source = String::from("const c0 = array(1, 2, 3, 4);");
    for i in 1..12 {
        source += &format!("const c{i} = array({});", vec![format!("c{}", i - 1); 16].join(","));
    }
    refused(&format!("{source} {}", in_main("let y = c11; o[0] = u32(y[0][0][0][0][0][0][0][0][0][0][0][0]);")));
    let mut source = String::from("struct s0 { a: u32 }");
    for i in 1..28 {
        source += &format!("struct s{i} {{ a: s{}, b: s{} }}", i - 1, i - 1);
    }
    refused(&format!("{source} {}", in_main("let y = -s27();")));
    let again = |declare: &str, make: &str| format!("{declare} {}", in_main(&format!("let y = {make} == {make};").repeat(5000)));
    refused(&again("", "array<u32, 1000000>()"));
    refused(&again("struct S { a: array<u32, 1000000> }", "S()"));
    refused(&again("alias A = array<u32, 1000000>;", "A()"));
    answer(&in_main("let a = -array<u32, 16777216>();")).expect_err("no such operator");
}

/// The search for all mistakes is bounded too.
#[test]
fn sources_with_many_mistakes_are_answered() {
    let functions =
        |body: &str| (0..300).map(|i| format!("fn f{i}(a: u32) -> u32 {{ {} }}\n", body.replace('#', &i.to_string()))).collect();
    let source: String = functions("return unknown#;");
    assert_eq!(refused(&source).list.len(), 64);
    let source: String = functions("return 1i;");
    assert_eq!(refused(&source).list.len(), 64);
    let lets: String =
        (1..2000).map(|i| if i == 1 { "let a1 = oops;".into() } else { format!("let a{i} = a{} + 1u;", i - 1) }).collect();
    assert_eq!(refused(&in_main(&lets)).list.len(), 1);
    for source in
        ["}".repeat(20_000), "fn f( {".repeat(3000), "fn f() { if ".repeat(60), "@".repeat(10_000), "fn f() -> { ( ; ".repeat(60)]
    {
        refused(&source);
    }
    let sums = format!("x = x{};", " + x".repeat(1000)).repeat(60);
    assert!(refused(&in_main(&sums)).text.contains("names and numbers"));
}

#[test]
fn odd_bytes_are_answered() {
    for source in [
        "",
        "\0",
        "\u{feff}",
        "/*",
        "/*/",
        "//",
        "é",
        "@",
        "\"",
        "fn",
        "fn f",
        "fn f(",
        "}",
        ">",
        "<",
        ">>>>",
        "array<",
        "array<,>",
        "0x",
        "1e",
        "1e+",
        "0x1p",
        "0xfffffffffffffffffffffffffffff",
        "1e999999999f",
        "\r\n\u{2028}",
        "enable",
        "enable ;",
        "diagnostic(off, x);",
        "requires x;",
        "const a = 0x1.fffffffffffffffffffp-999999999;",
        "const_assert false;",
        "@id(99999) override a: u32;",
        "override a: vec2<f32>;",
        "@compute fn f() {}",
        "@compute @workgroup_size() fn f() {}",
        "@compute @workgroup_size(-1) fn f() {}",
        "@compute @workgroup_size(0) fn f() {}",
        "@compute @workgroup_size(1,2,3,4) fn f() {}",
        "@group(0) @binding(0) var<storage> x: u32;",
        "var<workgroup> x: array<u32>;",
        "alias a = a;",
        "fn f() { f(); }",
        "struct s { a: s }",
        "const a = 1 / 0; const b = i32(1e38);",
        "const a = 1u << 40u;",
        "const a = array<u32, 0>();",
        "const a = array<u32, -1>();",
    ] {
        let _ = answer(source);
    }
}

/// Words, operators and brackets that real sources are made of.
const SOUP: &[&str] = &[
    "fn",
    "var",
    "let",
    "const",
    "struct",
    "override",
    "alias",
    "if",
    "else",
    "loop",
    "for",
    "while",
    "switch",
    "case",
    "default",
    "break",
    "continue",
    "return",
    "continuing",
    "array",
    "vec4",
    "u32",
    "f32",
    "i32",
    "bool",
    "atomic",
    "ptr",
    "function",
    "storage",
    "read_write",
    "workgroup",
    "uniform",
    "immediate",
    "@compute",
    "@workgroup_size(1)",
    "@group(0)",
    "@binding(0)",
    "@builtin(global_invocation_id)",
    "main",
    "a",
    "b",
    "x",
    "i",
    "1",
    "2u",
    "3.0",
    "0x7fffffff",
    "1e9",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "!",
    "~",
    "->",
    ".",
    "==",
    "<=",
    "&&",
    "||",
    "<<",
    ">>",
    "+=",
    "++",
    "workgroupBarrier()",
    "arrayLength(&x)",
    "max(",
    "select(",
    "true",
    "_",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(source in ".{0,200}") {
        let _ = answer(&source);
    }

    #[test]
    fn any_soup_of_tokens_is_answered(picks in prop::collection::vec(0..SOUP.len(), 0..120)) {
        let soup: Vec<&str> = picks.iter().map(|&i| SOUP[i]).collect();
        let soup = soup.join(" ");
        if let Err(d) = answer(&soup) { prop_assert!(d.refusal, "{}\n{}", soup, d) }
        let _ = answer(&in_main(&soup));
    }

    /// A real kernel with a few bytes changed gets past the parser far more often than noise does.
    #[test]
    fn a_damaged_kernel_is_answered(edits in prop::collection::vec((0usize..1100, 0..SOUP.len(), 0usize..12), 1..4)) {
        let mut source = String::from(REAL);
        for (at, word, cut) in edits {
            let from = at.min(source.len());
            let to = (from + cut).min(source.len());
            source.replace_range(from..to, SOUP[word]);
        }
        if let Err(d) = answer(&source) { prop_assert!(d.refusal && !d.list.is_empty(), "{}\n{}", source, d) }
    }
}

const REAL: &str = "
struct P { n: u32, k: f32, v: vec3<f32> }
@group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> o: array<f32>;
var<workgroup> t: array<f32, 64>;
override S: u32 = 2u;
const W = array<f32, 3>(0.25, 0.5, 0.25);
fn w(i: u32) -> f32 { return W[i % 3u] * p.k + p.v.y; }
fn keep(q: ptr<storage, f32, read_write>, t: ptr<workgroup, array<f32, 64>>, i: u32) { (*t)[i % 64u] = *q; *q += (*t)[0]; }
fn keep_at(q: ptr<storage, array<f32>, read_write>, i: u32) { keep(&(*q)[i], &t, i); }
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) li: u32) {
    let i = gid.x;
    if (i >= arrayLength(&o)) { return; }
    var s = 0.0;
    for (var j = 0u; j < 3u; j++) { s += a[min(i + j, p.n - 1u)] * w(j); }
    o[i * S / S] = s;
    keep_at(&o, i);
    let pair = bitcast<vec2<u32>>(u64(li)) / vec2(S, 0u);
    o[pair.x] += 1.0;
}";

#[test]
fn the_kernel_that_is_damaged_is_accepted_whole() {
    answer(REAL).expect("accepted");
}

#[test]
fn immediate_blocks_over_the_bound_are_refused_in_every_language() {
    for (size, fits) in [(16, true), (17, false), (1000, false)] {
        let wgsl = format!(
            "struct P {{ a: array<vec4<u32>, {size}> }} var<immediate> p: P; @group(0) @binding(0) var<storage, read_write> o: array<u32>;
             @compute @workgroup_size(1) fn main() {{ o[0] = p.a[{size} - 1].w; }}"
        );
        let glsl = format!(
            "#version 450\nlayout(local_size_x = 1) in;\nlayout(push_constant) uniform P {{ uvec4 a[{size}]; }} p;
             layout(std430, binding = 0) buffer O {{ uint o[]; }};\nvoid main() {{ o[0] = p.a[{size} - 1].w; }}"
        );
        for source in [Source::wgsl(&wgsl), Source::glsl(&glsl)] {
            match Module::parse(&source) {
                Ok(_) => assert!(fits, "{source:?}"),
                Err(wrong) => assert!(!fits && wrong.refusal && wrong.text.contains("at most 256"), "{source:?}: {wrong}"),
            }
        }
    }
}

//! Everything that is wrong is told, each once, in words that help; nothing is told that only follows from something told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::refusal;

/// Line and start of the message of each diagnostic.
fn told(source: &str) -> Vec<(u32, String)> {
    let list = refusal(source).list;
    list.into_iter().map(|d| (d.location.map_or(0, |l| l.line), d.message)).collect()
}

/// Checks that exactly these are told: line, and a part of the message.
fn expect(source: &str, expected: &[(u32, &str)]) {
    let found = told(source);
    let fits = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.0 == e.0 && f.1.contains(e.1));
    assert!(fits, "expected {expected:#?}\nfound {found:#?}\n{source}");
}

const MAIN: &str = "@group(0) @binding(0) var<storage, read_write> O: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
";

/// Statements of an entry point: the first is on line 3.
fn body(statements: &str) -> String {
    format!("{MAIN}{statements}\n}}\n")
}

#[test]
fn independent_mistakes_are_all_told_in_the_order_of_the_source() {
    expect(
        "struct S { a: flot }
const A = missing + 1;
fn g() -> f32 { return 1u; }
fn h() {
    let x = 1u
    let y: f32 = x;
    unknown1();
    if (bad) { x = 3u; }
    for (var i = 0u; i < count; i++) { O[i] = 1u; }
    int k = 3;
    return;
}
var<storage, read_write> unbound: array<u32>;
@group(0) @binding(0) var<storage, read_write> O: array<u32>;
@group(0) @binding(9) var d: sampler;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {
    if li > 3u { workgroupBarrier(); }
    O[0] = li;
}
@compute @workgroup_size(1) fn second() {
    O[0] = max(1u, 2i);
    let w = 1.0f + 2i;
}
",
        &[
            (1, "nothing is declared with the name `flot`"),
            (2, "nothing is declared with the name `missing`"),
            (3, "expected `f32`, found `u32`"),
            (5, "expected `;`"),
            (6, "expected `f32`, found `u32`"),
            (7, "`unknown1`"),
            (8, "`bad`"),
            (8, "`x` cannot be assigned to"),
            (9, "`count`"),
            (10, "the type stands behind the name"),
            (13, "`unbound` needs"),
            (15, "samplers"),
            (17, "this barrier"),
            (21, "argument 2 of `max`"),
            (22, "`+`"),
        ],
    );
}

#[test]
fn what_is_wrong_in_one_place_is_told_once_however_often_it_is_used() {
    let uses = "fn u1(s: S) -> u32 { return s.a + N; } fn u2() -> u32 { let s = S(N); return u1(s); } var<private> p: S;
        const M = N + 1u; const L = M; fn u3() -> u32 { var t: array<u32, L>; return t[0] + f() + p.a; }
        @compute @workgroup_size(N) fn main() { _ = u3() + u2() + f() + f(); let s = S(1u); var q: S; q.a = f(); }";
    let good = |part: &str| part.to_owned();
    let (s, n, f) = (good("struct S { a: u32 }"), good("const N = 4u;"), good("fn f() -> u32 { return 1u; }"));
    for (s, n, f) in [
        ("struct S { a: nonsense }", n.as_str(), f.as_str()),
        (&s, "const N = nonsense;", &f),
        (&s, &n, "fn f() -> u32 { return nonsense; }"),
        (&s, &n, "fn f() -> nonsense { return 1u; }"),
        (&s, &n, "fn f(a: nonsense) -> u32 { return 1u; }"),
        (&s, &n, "fn f() -> u32 { let a = nonsense; let b = a + 1u; var c = b; c += a; return c; }"),
        (&s, &n, "fn f() -> u32 { return 1.0; }"),
        (&s, &n, "fn f() -> u32 { if (1u) { return 2u; } return 1u; }"),
        (&s, &n, "fn f() -> u32 { return 1u }"),
        (&s, &n, "fn f() -> u32 { return (1u; }"),
        (&s, &n, "fn f() -> u32 { let x = 1u; }"),
        (&s, &n, "fn f() -> u32 { for (var i = 0; i < nonsense; i++) { _ = i; } return 1u; }"),
        (&s, &n, "fn f() -> u32 { switch nonsense { case 0: { } default: { } } return 1u; }"),
        (&s, &n, "fn f() -> u32 { while (nonsense) { let a = 1u; _ = a; } return 1u; }"),
        (&s, &n, "fn f() -> u32 { if true { } else if nonsense { } else { } return 1u; }"),
        (&s, &n, "fn f() -> u32 { loop { continuing { break if nonsense; } } return 1u; }"),
    ] {
        let source = format!("{s}\n{n}\n{f}\n{uses}");
        let found = told(&source);
        assert_eq!(found.len(), 1, "{found:#?}\n{source}");
    }
}

#[test]
fn a_function_that_is_not_closed_is_told_and_the_rest_is_looked_at() {
    expect(
        "fn f() -> u32 {\n    if true { return 1u;\n    return 2u;\n}\n@compute @workgroup_size(1) fn main() { _ = f() + oops; }",
        &[(1, "never closed"), (5, "`oops`")],
    );
    expect("fn f() { } }\n@compute @workgroup_size(1) fn main() { oops(); }", &[(1, "closes nothing"), (2, "`oops`")]);
}

#[test]
fn the_number_of_mistakes_that_are_told_is_bounded() {
    let source: String = (0..500).map(|i| format!("fn f{i}() {{ let x = unknown{i}; }}\n")).collect();
    let found = told(&format!("{source}@compute @workgroup_size(1) fn main() {{ }}"));
    assert_eq!(found.len(), 64);
    assert!(found.iter().enumerate().all(|(i, f)| f.1.contains(&format!("`unknown{i}`"))), "{found:#?}");
}

/// Complete texts: what a person reads.
#[test]
fn common_mistakes_are_told_in_full() {
    let cases: &[(&str, &str)] = &[
        (
            "let velocity = 1u; O[0] = velocty;",
            "error: nothing is declared with the name `velocty`
 --> line 3, column 27
  |
3 | let velocity = 1u; O[0] = velocty;
  |                           ^^^^^^^ unknown name
  = did you mean `velocity`?
",
        ),
        (
            "let x: f32 = 1i;",
            "error: expected `f32`, found `i32`
 --> line 3, column 14
  |
3 | let x: f32 = 1i;
  |              ^^ this is `i32`
 ::: line 3, column 5
  |
3 | let x: f32 = 1i;
  |     ^ `x` is declared as `f32`
",
        ),
        (
            "let x = 1.0f + gid.x;",
            "error: `+` cannot work with `f32` and `u32`
 --> line 3, column 9
  |
3 | let x = 1.0f + gid.x;
  |         ^^^^^^^^^^^^
  = there are no implicit conversions: write `f32(x)`, `i32(x)` or `u32(x)`
",
        ),
        (
            "var x = 1.0f; x = 2i;",
            "error: expected `f32`, found `i32`
 --> line 3, column 19
  |
3 | var x = 1.0f; x = 2i;
  |                   ^^ this is `i32`
 ::: line 3, column 15
  |
3 | var x = 1.0f; x = 2i;
  |               ^ this needs `f32`
",
        ),
        (
            "let x = 1u\nlet y = 2u; O[0] = x + y;",
            "error: expected `;` at the end of this statement
 --> line 3, column 10
  |
3 | let x = 1u
  |          ^ `;` is missing after this
",
        ),
        (
            "O[0] = max(1u);",
            "error: wrong number of arguments: expected 2, found 1
 --> line 3, column 8
  |
3 | O[0] = max(1u);
  |        ^^^ wrong number of arguments
",
        ),
        (
            "let x = 1u; x = 2u;",
            "error: `x` cannot be assigned to: it is a `let`
 --> line 3, column 13
  |
3 | let x = 1u; x = 2u;
  |             ^
 ::: line 3, column 5
  |
3 | let x = 1u; x = 2u;
  |     ^ declared here
  = declare `x` with `var`
",
        ),
        (
            "gid = vec3<u32>();",
            "error: `gid` cannot be assigned to: it is a parameter
 --> line 3, column 1
  |
3 | gid = vec3<u32>();
  | ^^^
 ::: line 2, column 68
  |
2 | @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  |                                                                    ^^^ declared here
  = copy it first: `var copy = gid;`
",
        ),
        (
            "let active = 1u;",
            "error: `active` is a reserved word and cannot be a name
 --> line 3, column 5
  |
3 | let active = 1u;
  |     ^^^^^^ definition of `active`
",
        ),
        (
            "float x = 1.0;",
            "error: the type stands behind the name, not before it
 --> line 3, column 1
  |
3 | float x = 1.0;
  | ^^^^^^^
  = variables are declared as `var x: f32`, constants as `let x: f32`
",
        ),
        (
            "let i = gl_GlobalInvocationID.x;",
            "error: nothing is declared with the name `gl_GlobalInvocationID`
 --> line 3, column 9
  |
3 | let i = gl_GlobalInvocationID.x;
  |         ^^^^^^^^^^^^^^^^^^^^^ unknown name
  = take a parameter `@builtin(global_invocation_id) id: vec3<u32>`
",
        ),
        (
            "let v = float4(1.0, 2.0, 3.0, 4.0);",
            "error: nothing is declared with the name `float4`
 --> line 3, column 9
  |
3 | let v = float4(1.0, 2.0, 3.0, 4.0);
  |         ^^^^^^ unknown name
  = vectors of floats are `vec2<f32>`, `vec3<f32>` and `vec4<f32>`
",
        ),
        (
            "for (int i = 0; i < 4; i++) { O[i] = 1u; }",
            "error: the type stands behind the name, not before it
 --> line 3, column 6
  |
3 | for (int i = 0; i < 4; i++) { O[i] = 1u; }
  |      ^^^^^
  = variables are declared as `var i: i32`, constants as `let i: i32`
",
        ),
        (
            "O[0] = gid.x > 1u ? 1u : 2u;",
            "error: there is no operator `?:`
 --> line 3, column 19
  |
3 | O[0] = gid.x > 1u ? 1u : 2u;
  |                   ^
  = use `select(value_if_false, value_if_true, condition)`
",
        ),
        (
            "if gid.x { O[0] = 1u; }",
            "error: expected `bool` as the condition, found `u32`
 --> line 3, column 4
  |
3 | if gid.x { O[0] = 1u; }
  |    ^^^^^
  = there is no conversion to `bool`: compare it, `x != 0`
",
        ),
        (
            "O[0] = max(1u, 2u;",
            "error: expected `)`, found `;`
 --> line 3, column 18
  |
3 | O[0] = max(1u, 2u;
  |                  ^
",
        ),
        (
            "O[0] = gid.w;",
            "error: there is no member or component `w` here
 --> line 3, column 12
  |
3 | O[0] = gid.w;
  |            ^ invalid accessor
",
        ),
        (
            "O[0] = gid.x / 0u;",
            "error: this divides by zero
 --> line 3, column 8
  |
3 | O[0] = gid.x / 0u;
  |        ^^^^^^^^^^
",
        ),
        (
            "var v = vec4<f32>(); v.xyx = vec3(1.0);",
            "error: the component `x` is assigned twice
 --> line 3, column 26
  |
3 | var v = vec4<f32>(); v.xyx = vec3(1.0);
  |                          ^
",
        ),
        (
            "debugPrintf(\"%u and %d\\n\", O[0], 1); const q = quantizeToF16(1e6);",
            "error: quantizeToF16 of 1000000.0 has no value: a 16-bit float holds at most 65504
 --> line 3, column 48
  |
3 | debugPrintf(\"%u and %d\\n\", O[0], 1); const q = quantizeToF16(1e6);
  |                                                ^^^^^^^^^^^^^^^^^^
",
        ),
        (
            "const q = quantizeToF16(1e6);",
            "error: quantizeToF16 of 1000000.0 has no value: a 16-bit float holds at most 65504
 --> line 3, column 11
  |
3 | const q = quantizeToF16(1e6);
  |           ^^^^^^^^^^^^^^^^^^
",
        ),
    ];
    for (statements, expected) in cases {
        let d = refusal(&body(statements));
        assert_eq!(d.text, format!("{expected}\n"), "{statements}");
    }
}

#[test]
fn common_mistakes_of_declarations_are_told_in_full() {
    let end = "@compute @workgroup_size(1) fn main() { }";
    let cases: &[(&str, &str)] = &[
        (
            "fn f(a: u32, b: f32) -> u32 { return a; }\nfn g() -> u32 { return f(1u); }",
            "error: `f` takes 2 arguments, but 1 are given
 --> line 2, column 24
  |
2 | fn g() -> u32 { return f(1u); }
  |                        ^^^^^
 ::: line 1, column 1
  |
1 | fn f(a: u32, b: f32) -> u32 { return a; }
  | ^^ `f` is declared here
",
        ),
        (
            "fn f(a: u32, b: f32) -> u32 { return a; }\nfn g() -> u32 { return f(1u, 2u); }",
            "error: expected `f32` for the parameter `b` of `f`, found `u32`
 --> line 2, column 30
  |
2 | fn g() -> u32 { return f(1u, 2u); }
  |                              ^^
 ::: line 1, column 1
  |
1 | fn f(a: u32, b: f32) -> u32 { return a; }
  | ^^ `f` is declared here
",
        ),
        (
            "var<storage> b: array<u32>;",
            "error: `b` needs `@group(...)` and `@binding(...)`: it is a storage variable
 --> line 1, column 1
  |
1 | var<storage> b: array<u32>;
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^
",
        ),
        (
            "@group(0) @binding(0) var<storage> b: array<u32>;\nfn f() { b[0] = 1u; }",
            "error: this cannot be written to
 --> line 2, column 10
  |
2 | fn f() { b[0] = 1u; }
  |          ^^^^
  = `b` is read only: declare it as `var<storage, read_write>`
",
        ),
        (
            "#define N 4",
            "error: there is no preprocessor
 --> line 1, column 1
  |
1 | #define N 4
  | ^
  = use `const` for constants, `override` for those given at run time
",
        ),
        (
            "uint f(uint a) { return a; }",
            "error: functions begin with `fn`, and their type stands behind
 --> line 1, column 1
  |
1 | uint f(uint a) { return a; }
  | ^^^^^^
  = write `fn f(...) -> u32`
",
        ),
        (
            "fn f() -> u32 { let x = 1u; }",
            "error: `f` returns `u32`, but not on every way through it
 --> line 1, column 1
  |
1 | fn f() -> u32 { let x = 1u; }
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
",
        ),
        (
            "fn f() : u32 { return 1u; }",
            "error: the type that a function returns stands behind `->`
 --> line 1, column 8
  |
1 | fn f() : u32 { return 1u; }
  |        ^
",
        ),
    ];
    for (declarations, expected) in cases {
        let d = refusal(&format!("{declarations}\n{end}"));
        assert_eq!(d.text, format!("{expected}\n"), "{declarations}");
    }
}

#[test]
fn places_are_those_of_what_was_written_also_after_repairs() {
    let repaired = "const A = mix(0.0, 1.0, 0.123456789); const B = extractBits(0xffu, 4u, 4u);";
    let source = format!(
        "{repaired} fn f() {{ let x = nonsense; }}\n@compute @workgroup_size(1) fn main() {{ let z = 0u; _ = 1u / z; oops(); }}"
    );
    let d = refusal(&source);
    let places: Vec<_> = d.list.iter().map(|d| d.location.as_ref().map_or((0, 0), |l| (l.line, l.column))).collect();
    let column =
        |word: &str| u32::try_from(source.lines().map(|l| l.find(word)).find_map(|c| c).expect("a place") + 1).expect("small");
    assert_eq!(places, [(1, column("nonsense")), (2, column("oops"))], "{d}");
    assert!(
        d.text.contains(&format!("1 | {}", &source.lines().next().expect("a line")[..40])) || d.text.contains("let x = nonsense"),
        "{d}"
    );
}

#[test]
fn assignments_of_components_are_refused_where_they_are_wrong() {
    expect(&body("var v = vec4<f32>();\nv.xg = vec2(1.0);"), &[(4, "`xg` mixes components of `xyzw` and of `rgba`")]);
    expect(&body("var v = vec4<f32>();\nv.xyz += vec2(missing);"), &[(4, "`missing`")]);
    expect(&body("var v = vec4<f32>();\nv.xx =\nvec2(missing);"), &[(4, "`x` is assigned twice"), (5, "`missing`")]);
    expect(
        &body("var v = vec2<f32>();\nfor (v.xy = vec2(1.0);\nv.x > 2.0;\nv.yx = v.xy) { }"),
        &[(4, "at once in the head of a `for`"), (6, "at once in the head of a `for`")],
    );
    expect(&body("var v = vec4<f32>();\nv.xy = vec3(1.0);"), &[(4, "the value has 3 components, and 2 are assigned")]);
    expect(&body("var v = vec4<f32>();\nv.xy = 1.0;"), &[(4, "the value has 1 component, and 2 are assigned")]);
    expect(&body("var v = vec4<f32>();\nv.xy = v.xyz;"), &[(4, "the value has not as many components as are assigned")]);
    expect(&body("var v = vec4<f32>();\nv.xyz = v.xy;"), &[(4, "the value has not as many components as are assigned")]);
    expect(&body("let v = vec2<f32>();\nv.xy = vec2(1.0);"), &[(4, "`v` cannot be assigned to: it is a `let`")]);
    expect(&body("var v = vec2<f32>();\nv.xz = vec2(1.0);"), &[(4, "`z`")]);
    expect(&body("var v = vec2<f32>();\nv.xy = vec2<i32>(1);"), &[(4, "")]);
    expect(&body("var v = vec2<i32>();\nv.xy++;"), &[(4, "")]);
    // A member of this name is one.
    assert!(common::try_kernel(&format!("struct S {{ xy: u32 }}\n{}", body("var s: S; s.xy = 3u; O[0] = s.xy;")), &[]).is_ok());
}

#[test]
fn aliases_of_what_a_function_writes_are_refused_with_both_places() {
    let module = "var<private> g: array<u32, 4>; var<private> n: u32;
fn copy(to: ptr<private, u32>, by: ptr<private, u32>) { *to = *by; }
fn both(a: ptr<private, u32>, b: ptr<private, u32>) -> u32 { return *a + *b; }
fn one(a: ptr<private, u32>, b: ptr<private, u32>) { *a = 1u; }
fn direct(a: ptr<private, u32>) { *a += n; }
fn reads(a: ptr<private, u32>) -> u32 { return *a + n; }
fn writes(a: ptr<private, u32>) -> u32 { n = 1u; return *a; }
fn deep(a: ptr<private, u32>) { var u = 1u; u += writes(a); } fn outer(a: ptr<private, u32>, b: ptr<private, u32>) { copy(a, b); }
fn local(a: ptr<function, u32>, b: ptr<function, u32>) { *b = *a; }
fn stored(a: ptr<storage, u32, read_write>, b: ptr<storage, u32, read_write>) { *b = *a; }
fn forward(a: ptr<function, u32>) { local(a, a); }
";
    let with = |statements: &str| format!("{module}{}", body(statements));
    for (statements, line, message) in [
        ("copy(&n, &n);", 14, "`copy` is given two pointers to `n`, as `to` and `by`, and writes through one of them"),
        ("copy(&g[1], &g[2]);", 14, "two pointers to `g`"),
        ("let i = gid.x; outer(&g[i], &g[i + 1u]);", 14, "`outer` is given two pointers to `g`, as `a` and `b`"),
        ("var v = array<u32, 2>(); local(&v[0], &v[1]);", 14, "two pointers to `v`"),
        ("stored(&O[0], &O[1]);", 14, "two pointers to `O`"),
        ("direct(&n);", 14, "`direct` is given a pointer to `n`, as `a`, and also uses `n` itself"),
        ("deep(&n);", 14, "`deep` is given a pointer to `n`, as `a`, and also uses `n` itself"),
        ("_ = writes(&n);", 14, "`writes` is given a pointer to `n`"),
    ] {
        let list = refusal(&with(statements)).list;
        // The function that hands one pointer on twice is always told.
        let found: Vec<_> = list.iter().filter(|d| d.location.as_ref().is_some_and(|l| l.line == line)).collect();
        assert!(found.len() == 1 && found[0].message.contains(message), "{statements}: {list:#?}");
        assert!(
            list.iter().any(|d| d.location.as_ref().is_some_and(|l| l.line == 11) && d.message.contains("two pointers to `a`")),
            "{list:#?}"
        );
    }
    let text = refusal(&with("copy(&g[1], &g[2]);")).text;
    assert!(text.contains("written here") && text.contains("--> line 14, column") && text.contains("line 2, column"), "{text}");
    let fine = with(
        "O[0] = both(&n, &n) + reads(&n); one(&n, &n); copy(&n, &g[1]); direct(&g[0]); var a = 1u; var b = 2u; local(&a, &b);",
    );
    let fine = fine.replace(
        "fn forward(a: ptr<function, u32>) { local(a, a); }",
        "fn forward(a: ptr<function, u32>) { var b = *a; local(a, &b); }",
    );
    if let Err(found) = common::try_kernel(&fine, &[]) {
        panic!("{found}");
    }
}

#[test]
fn whole_numbers_that_are_no_halves_are_refused_where_they_become_some() {
    const HALVES: &str = "enable f16; struct S { a: f16 } alias H = f16; const many = 50000;";
    let number = |n: i32| format!("{n} is not a value of f16, which holds at most 65504");
    for (declaration, n, column) in [
        ("const x: f16 = 100000;", 100_000, 16),
        ("const x: H = many * 2; const y = x;", 100_000, 14),
        ("const v: vec2<f16> = vec2(1, -70000); const x = v.x;", -70_000, 22),
        ("const x = S(0x1ffff).a;", 0x1ffff, 11),
        ("const x = array<f16, 2>(1, 65520)[1];", 65_520, 11),
        ("const x = 3; const y = u32(S(100000).a) + u32(x);", 100_000, 24),
        ("override x: f16 = 100000;", 0, 19),
        ("var<private> x: f16 = 100000;", 0, 23),
        ("fn f() -> f16 { return 100000; } const x = 3;", 0, 24),
    ] {
        let source = format!("{HALVES}\n{declaration}\n{}", body("O[0] = u32(x);"));
        let found = refusal(&source).list;
        let wanted = if n == 0 { "this number is not a value of f16, which holds at most 65504".to_owned() } else { number(n) };
        let place = found.first().and_then(|d| d.location.as_ref()).map(|l| (l.line, l.column));
        assert!(found.len() == 1 && found[0].message == wanted && place == Some((2, column)), "{declaration}: {found:#?}");
    }
    for (statements, told) in [
        ("const x: f16 = 100000;\nO[0] = u32(x) + u32(x);", number(100_000)),
        ("let x = vec2<u32>(array<f16, 2>(-70000, 1)[0]);\nO[0] = x.x;", number(-70_000)),
        ("let x = max(1h, 100000);\nO[0] = u32(x);", number(100_000)),
        ("let x: f16 = 100000;\nO[0] = u32(x);", "this number is not a value of f16".to_owned()),
        ("var x = 1h; x += 99999;\nO[0] = u32(x);", "this number is not a value of f16".to_owned()),
    ] {
        expect(&format!("enable f16; {}", body(statements)), &[(3, &told)]);
    }
    // The largest ones that are: 65519 is rounded to 65504.
    let near = "enable f16; const a: f16 = 65519; const b: vec2<f16> = vec2(-65504, 1); const big = 100000;";
    assert!(common::try_kernel(&format!("{near} {}", body("O[0] = u32(a) + u32(b.y) + u32(big);")), &[]).is_ok());
}

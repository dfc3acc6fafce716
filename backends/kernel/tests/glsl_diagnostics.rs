//! Everything that is wrong with a GLSL source is told, each once, in words that help; nothing is told that only follows from something told.
#![allow(clippy::expect_used, clippy::panic, reason = "tests end that way")]

use compute_kernel::{Diagnostics, IncludeRequest, Included, Module, Source};

fn refused(source: &Source<'_>) -> Diagnostics {
    match Module::parse(source).and_then(|module| module.entry_point(None, &[])) {
        Ok(_) => panic!("was accepted:\n{source:?}"),
        Err(found) => {
            assert!(found.refusal, "not the fault of the source: {found}");
            found
        }
    }
}

/// Line and message of each diagnostic.
fn told(source: &str) -> Vec<(u32, String)> {
    let list = refused(&Source::glsl(source)).list;
    list.into_iter().map(|d| (d.location.map_or(0, |l| l.line), d.message)).collect()
}

/// Checks that exactly these are told: line, and a part of the message.
fn expect(source: &str, expected: &[(u32, &str)]) {
    let found = told(source);
    let fits = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.0 == e.0 && f.1.contains(e.1));
    assert!(fits, "expected {expected:?}\nfound {found:?}\n{source}");
}

const HEAD: &str = "#version 450\nlayout(local_size_x = 1) in; layout(binding = 0) buffer Out { uint O[]; };\n";

/// Statements of the entry point: the first is on line 4.
fn body(statements: &str) -> String {
    format!("{HEAD}void main() {{\n{statements}\n}}\n")
}

#[test]
fn independent_mistakes_are_all_told_in_the_order_of_the_source() {
    expect(
        "#version 450
layout(local_size_x = 0) in;
#deifne N 4
struct S { flaot a; int b; };
const int size = 3.5;
layout(binding = 0) buffer Out { uint O[]; };
layout(binding = 1) buffer Bad { uint a b; };
layout(std430) buffer Unbound { uint u[]; };
uint g() { return 1.5; }
uint h(flot x) { uint y = missing; return y; }
void k(uint x {
    x = wrong1;
}
void main() {
    uint x = 1u
    float y = x + unknown1(2);
    if (x) { O[0] = bad; }
    for (int i = 0 i < 3; i++) { O[1] = other; }
    O[2] = max(1u, 2u, 3u) + oen;
    int z = @ 3;
    uint oen = 0x1g;
    O[3] = (1u + ;
    O[4] = vec2(1).z;
    for (uint i = 0u; i < count; i++) O[5] = i;
    switch (x) { case 1u: O[6] = nothing; break; case 1u: break; }
}
",
        &[
            (2, "`local_size_x` must be at least 1"),
            (3, "`#deifne` is not a directive"),
            (4, "`flaot` is not a type"),
            (5, "`float` is no `int`"),
            (7, "`;` is expected here, but `b` stands"),
            (8, "a block needs `layout(binding = ...)`"),
            (9, "`float` is no `uint`"),
            (10, "`flot` is not a type"),
            (10, "`missing`"),
            (11, "`,` is expected here, but `{` stands"),
            (12, "`wrong1`"),
            (15, "`;` is expected at the end of this"),
            (16, "no function `unknown1`"),
            (17, "must be `bool`"),
            (17, "`bad`"),
            (18, "`;` is expected here, but `i` stands"),
            (18, "`other`"),
            (19, "no function `max(uint, uint, uint)`"),
            (19, "`oen`"),
            (20, "`@`"),
            (21, "`0x1g`"),
            (22, "an expression is expected here, but `;` stands"),
            (23, "has no member `z`"),
            (24, "`count`"),
            (25, "`nothing`"),
            (25, "this label is there twice"),
        ],
    );
}

#[test]
fn what_is_wrong_in_one_place_is_told_once_however_often_it_is_used() {
    let uses = "uint u1(S s) { return s.a + N; } uint u2() { S s = S(N); return u1(s); } S p; const uint M = N + 1u, L = M;
        uint u3() { uint t[L]; return t[0] + f(1u) + p.a + T.length(); }
        void main() { O[0] = u3() + u2() + f(2u) + f(N) + MACRO(3u); S s = S(1u); S q; q.a = f(0u); T[1] = q.a; q = s; }";
    let good = [
        "struct S { uint a; };",
        "const uint N = 4u;",
        "uint f(uint x) { return x; }",
        "layout(binding = 1) buffer B { uint T[]; };",
        "#define MACRO(x) (x)",
    ];
    for (index, wrong) in [
        (0, "struct S { nonsense a; };"),
        (0, "struct S { uint a[nonsense]; };"),
        (0, "struct S { uint a b; };"),
        (0, "struct S { uint a };"),
        (0, "struct S { uint a; uint a; };"),
        (1, "const uint N = nonsense;"),
        (1, "const uint N = 4.0;"),
        (1, "const nonsense N = 4u;"),
        (1, "const uint N = 4u 5u;"),
        (1, "const uint N = 4u"),
        (1, "const uint N = ;"),
        (1, "const uint N = (4u;"),
        (2, "uint f(uint x) { return nonsense; }"),
        (2, "uint f(uint x) { uint nonsense = 1.0; nonsense += 1u; return nonsense + nonsense; }"),
        (2, "uint f(uint x) { return nonsense + nonsense * (nonsense + 1u); }"),
        (2, "uint f(nonsense x) { return x; }"),
        (2, "nonsense f(uint x) { return x; }"),
        (2, "uint f(uint x y) { return x; }"),
        (2, "uint f(uint x) { return 1.0; }"),
        (2, "uint f(uint x) { if (1u) { return 2u; } return 1u; }"),
        (2, "uint f(uint x) { return 1u }"),
        (2, "uint f(uint x) { return (1u; }"),
        (2, "uint f(uint x) { return 1u;"),
        (2, "uint f(uint x) { if (true) { return 1u; }"),
        (2, "uint f(uint x) { do { x++; } while (x < ) ; return x; }"),
        (2, "uint f(uint x) { for (int i = 0; i < nonsense; i++) { x += uint(i); } return x; }"),
        (2, "uint f(uint x) { for (nonsense i = 0; i < 3; i++) { x += uint(i); } return x; }"),
        (2, "uint f(uint x) { if (true) {} else if (nonsense) {} else {} return x; }"),
        (2, "uint f(uint x) { if (x = = 1u) { x = 2u; } else { x = 3u; } return x; }"),
        (2, "uint f(uint x) { switch (nonsense) { case 0: x = 1u; default: x = 2u; } return x; }"),
        (2, "uint f(uint x) { while (nonsense > 0) { x++; } return x; }"),
        (2, "uint f(uint x) { uint a[2] = { nonsense, 1u }; return a[0] + a[1]; }"),
        (2, "uint f(uint x) { uint a[2] = { 1u 1u }; return a[0] + a[1]; }"),
        (2, "uint f(uint x) { uint y = x ` 3u; return y; }"),
        (2, "uint f(uint x) { break; return x; }"),
        (3, "layout(binding = 1) buffer B { nonsense T[]; };"),
        (3, "layout(binding = nonsense) buffer B { uint T[]; };"),
        (3, "layout(binding = 1, nonsense) buffer B { uint T[]; };"),
        (3, "layout(binding = 1) buffer B { uint T[]; }"),
        (3, "layout(binding = 1) buffer B { uint T[]; uint after; };"),
        (3, "buffer B { uint T[]; };"),
        (4, "#define MACRO(x (x)"),
        (4, "#define MACRO(x, y) (x)"),
        (4, "#include \"nonsense\""),
        (4, "#error nonsense"),
        (4, "#if nonsense(\n#define MACRO(x) (x)\n#endif"),
    ] {
        let mut parts = good;
        parts[index] = wrong;
        let source = format!("{HEAD}{}\n{uses}\n", parts.join("\n"));
        let found = told(&source);
        assert_eq!(found.len(), 1, "{found:#?}\n{source}");
    }
    let source = format!("{HEAD}{}\n{uses}\n", good.join("\n"));
    let accepted = Module::parse(&Source::glsl(&source)).and_then(|module| module.entry_point(None, &[]));
    accepted.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_function_that_is_not_closed_is_told_and_the_rest_is_looked_at() {
    let source =
        format!("{HEAD}uint f() {{\n    if (true) {{ O[1] = 1u;\n    return two;\n}}\nvoid main() {{ O[0] = f() + oops; }}\n");
    expect(&source, &[(3, "never closed"), (5, "`two`"), (7, "`oops`")]);
    expect(
        &format!("{HEAD}uint f() {{ return 1u; }} }}\nvoid main() {{ O[0] = oops; }}\n"),
        &[(3, "closes nothing"), (4, "`oops`")],
    );
    expect(&format!("{HEAD}void main() {{ O[0] = 1u +"), &[(3, "never closed")]);
}

#[test]
fn mistakes_in_included_files_are_told_with_their_places() {
    let files = |request: &IncludeRequest<'_>| {
        let text = if request.path == "a" { "uint f() {\n return first; }\n#include \"b\"\n" } else { "\nconst int x = 1.5;\n" };
        Ok(Included { name: String::new(), text: text.as_bytes().to_vec() })
    };
    let text = format!("{HEAD}#include \"a\"\nvoid main() {{\n O[0] = f() + second; }}\n");
    let found = refused(&Source { include: Some(&files), ..Source::glsl(&text) });
    let places: Vec<_> =
        found.list.iter().map(|d| (d.file.as_deref(), d.location.as_ref().map(|l| (l.line, l.column)))).collect();
    assert_eq!(places, [(None, Some((5, 15))), (Some("a"), Some((2, 9))), (Some("b"), Some((2, 15)))], "{found}");
}

#[test]
fn the_number_of_mistakes_that_are_told_is_bounded() {
    let functions: String = (0..500).map(|i| format!("void f{i}() {{ uint x = unknown{i}; }}\n")).collect();
    let found = told(&format!("{HEAD}{functions}void main() {{ }}"));
    assert_eq!(found.len(), 64);
    assert!(found.iter().enumerate().all(|(i, f)| f.1.contains(&format!("`unknown{i}`"))), "{found:#?}");
    for statement in
        ["uint = 1;", "@", "#nothing\n", "x y z;", "float();", "if (", "}", "{", "#if\n", "#else\n", "M();", "nothing();"]
    {
        let source = format!("{HEAD}#define M(x) x\nvoid main() {{\n{}\n}}", statement.repeat(20_000));
        let found = told(&source);
        assert!(!found.is_empty() && found.len() <= 64, "{statement}");
    }
}

/// Complete texts: what a person reads.
#[test]
fn common_mistakes_are_told_in_full() {
    let cases: &[(&str, &str)] = &[
        (
            "uint velocity = 1u; O[0] = velocty;",
            "error: `velocty` is not declared
 --> line 4, column 28
  |
4 | uint velocity = 1u; O[0] = velocty;
  |                            ^^^^^^^
  = did you mean `velocity`?
",
        ),
        (
            "vec3 p = vec3(lerp(0.0, 1.0, 0.5));",
            "error: there is no function `lerp`
 --> line 4, column 15
  |
4 | vec3 p = vec3(lerp(0.0, 1.0, 0.5));
  |               ^^^^^^^^^^^^^^^^^^^
  = use `mix`
",
        ),
        (
            "float3 p = vec3(1.0);",
            "error: `float3` is not a type
 --> line 4, column 1
  |
4 | float3 p = vec3(1.0);
  | ^^^^^^
  = vectors of floats are `vec2`, `vec3` and `vec4`
",
        ),
        (
            "uint x = 1u\nuint y = 2u; O[0] = x + y;",
            "error: `;` is expected at the end of this
 --> line 4, column 10
  |
4 | uint x = 1u
  |          ^^ `;` is missing after this
",
        ),
        (
            "O[0] = gl_GlobalInvocationId.x;",
            "error: `gl_GlobalInvocationId` is not declared
 --> line 4, column 8
  |
4 | O[0] = gl_GlobalInvocationId.x;
  |        ^^^^^^^^^^^^^^^^^^^^^
  = did you mean `gl_GlobalInvocationID`?
",
        ),
        (
            "vex2 v = vec2(1);",
            "error: `vex2` is not a type
 --> line 4, column 1
  |
4 | vex2 v = vec2(1);
  | ^^^^
  = did you mean `vec2`?
",
        ),
    ];
    for (statements, expected) in cases {
        let found = refused(&Source::glsl(&body(statements)));
        assert_eq!(found.text, format!("{expected}\n"), "{statements}");
    }
    let source = format!("{HEAD}uint f(uint a, vec2 b) {{ return a; }}\nvoid main() {{ O[0] = f(1u); }}");
    let found = refused(&Source::glsl(&source));
    let expected = "error: no function fits `f(uint)`
 --> line 4, column 22
  |
4 | void main() { O[0] = f(1u); }
  |                      ^^^^^
  = there is `f(uint, vec2)`

";
    assert_eq!(found.text, expected);
}

#[test]
fn barriers_are_told_together_with_other_mistakes() {
    let wide = |statements: &str| body(statements).replace("local_size_x = 1", "local_size_x = 64");
    expect(
        &wide(
            "if (gl_LocalInvocationID.x > 3u) barrier();\nO[0] = missing;\nfor (uint i = 0u; i < O[1]; i++) {\nbarrier(); }\nO[2] = 1.5;",
        ),
        &[(4, "barrier"), (5, "missing"), (7, "barrier"), (8, "")],
    );
    // What depends on a statement that was wrong may be uniform.
    expect(&wide("uint n = missing;\nif (n > 0u) barrier();"), &[(4, "missing")]);
}

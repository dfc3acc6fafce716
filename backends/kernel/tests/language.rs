//! What people write every day is accepted, and what the language forbids is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{constant, refusal, try_kernel};

fn with(declarations: &str, statements: &str) -> String {
    format!(
        "{declarations}\n@group(0) @binding(0) var<storage, read_write> O: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {{\n{statements}\n}}\n"
    )
}

fn accepted(declarations: &str, statements: &str) {
    let source = with(declarations, statements);
    if let Err(d) = try_kernel(&source, &[]) {
        panic!("{d}\n{source}");
    }
}

#[test]
fn builtin_functions_are_constant_expressions_everywhere() {
    for constant in [
        "mix(0.0, 1.0, 0.5)",
        "mix(vec2(0.0), vec2(1.0, 2), 0.5).y",
        "smoothstep(0.0, 1.0, 0.3)",
        "bitcast<f32>(0x3f800000u)",
        "bitcast<vec2<f32>>(vec2<u32>(1065353216u, 0u)).x",
        "frexp(1.5).fract",
        "f32(frexp(1.5f).exp)",
        "modf(vec2(1.5, 2.5)).whole.y",
        "ldexp(1.5, 3)",
        "determinant(mat2x2<f32>(1, 2, 3, 4))",
        "transpose(mat2x3<f32>(1, 2, 3, 4, 5, 6))[2].x",
        "reflect(vec3(1.0, 2, 3), vec3(0.0, 1, 0)).y",
        "refract(vec2(1.0, 2), vec2(0.0, 1), 0.5).y",
        "faceForward(vec2(1.0, 2), vec2(0.0, 1), vec2(1.0)).y",
        "quantizeToF16(1.1)",
        "unpack4x8unorm(pack4x8unorm(vec4(1.0, 0, 0.5, 0.25))).z",
        "unpack2x16float(pack2x16float(vec2(1.5, 2.5))).y",
        "f32(unpack4xU8(pack4xI8Clamp(vec4(1, 200, -3, 4))).y)",
        "f32(insertBits(extractBits(0xffi, 2, 3), 1, 3, 2))",
        "(mat2x2<f32>(1, 2, 3, 4) * vec2(mix(0.0, 2.0, 0.5), 2.0)).x",
        "T[u32(mix(0.0, 2.0, 0.5))] + S(1.0, vec2(2.0, mix(0, 1, 0.5))).b.y",
    ] {
        let declarations = "const T = array(0.5, 1.5, 2.5); struct S { a: f32, b: vec2<f32> }";
        accepted(&format!("{declarations} const C: f32 = {constant}; var<private> P: f32 = C;"), "O[0] = u32(C + P);");
        accepted(
            declarations,
            &format!("const c: f32 = {constant}; let l = {constant}; var v: f32 = {constant}; O[0] = u32(c + l + v);"),
        );
    }
    accepted("const N = extractBits(0xf5u, 0, 3); var<private> a: array<u32, N>;", "const_assert N == 5u; O[0] = a[gid.x];");
    accepted("", "switch gid.x { case bitcast<u32>(1.0f), insertBits(0u, 1u, 3, 1): { O[0] = 1u; } default: { } }");
}

#[test]
fn names_that_hide_builtin_functions_are_left_alone() {
    accepted("fn mix(a: u32, b: u32) -> u32 { return a + b; }", "O[0] = mix(1u, 2u);");
    accepted("const reflect = 3u;", "let smoothstep = 4u; O[0] = reflect + smoothstep;");
    accepted("fn f(mix: u32) -> u32 { return mix + 1u; }", "O[0] = f(1u);");
    accepted("const N = 2.0;", "let N = f32(gid.x); let x = mix(N, 1.0, 0.5); O[0] = u32(x);");
    accepted("const N = 2.0; fn f(N: f32) -> f32 { return mix(N, 1.0, 0.5); }", "O[0] = u32(f(3.0));");
    accepted("const N = 2.0;", "for (var N = 0.0; N < 2.0; N += 1.0) { O[0] = u32(mix(N, 1.0, 0.5)); }");
}

#[test]
fn array_sizes_may_be_any_constant_expression() {
    for count in [
        "K.y",
        "u32(pow(2.0, 3.0))",
        "T[1]",
        "select(3u, 5u, true)",
        "clamp(9, 1, 4)",
        "countOneBits(7u)",
        "u32(ceil(2.5))",
        "abs(-3)",
    ] {
        let declarations = format!("const K = vec2<u32>(3, 4); const T = array(1, 2, 3); var<private> a: array<u32, {count}>;");
        accepted(&declarations, "O[0] = a[gid.x];");
    }
    let source = with(
        "override N: u32 = 4; override M = countOneBits(N) + max(N, 3u); var<workgroup> w: array<u32, M + clamp(N, 1u, 2u)>;",
        "w[0] = 1u; O[0] = w[0];",
    );
    let kernel = try_kernel(&source, &[constant("N", 7.0)]).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(kernel.reflection().workgroup_memory, (3 + 7 + 2) * 4);
    refusal(&with("var<private> a: array<u32, u32(pow(2.0, 30.0))>;", "O[0] = a[0];"));
}

#[test]
fn kt19_override_expressions_may_call_every_builtin_function() {
    let source = with(
        "@id(7) override N: f32 = 1.5; override F: bool = true; override I: i32;
         override M = frexp(N).exp + I; override P: f32 = select(0.0, mix(1.0, N, 0.5), F); override Q: u32 = extractBits(u32(P * 16.0), 2, 30);
         var<workgroup> w: array<u32, Q>;",
        "w[0] = u32(M) + Q; O[0] = w[0];",
    );
    let memory = |constants: &[_]| try_kernel(&source, constants).unwrap_or_else(|d| panic!("{d}")).reflection().workgroup_memory;
    assert_eq!(memory(&[constant("I", -3.0)]), 5 * 4, "1.25 times 16, shifted by 2");
    assert_eq!(memory(&[constant("I", -3.0), constant("7", 4.0)]), 10 * 4);
    let kernel = try_kernel(&source, &[constant("I", -3.0)]).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(kernel.reflection().overrides.len(), 6, "they are still told");
    let d = try_kernel(&source, &[]).err().expect("no value for I");
    assert!(d.text.contains("`I` has no default"), "{d}");
    let d = try_kernel(&source, &[constant("I", 0.0), constant("F", 0.0)]).err().expect("an array of no elements");
    assert!(d.refusal, "{d}");
}

#[test]
fn a_let_is_no_constant() {
    for statements in [
        "let i = 5u; var a: array<u32, 4>; a[i] = 1u; O[0] = a[i];",
        "let i = -1; var a: vec4<u32>; O[0] = a[i];",
        "let i = 4; let a = array<u32, 4>(1, 2, 3, gid.x); O[0] = a[i];",
        "let i = 5; var m: mat2x2<f32>; O[0] = u32(m[i].x);",
        "let z = 0u; O[0] = gid.x / z; O[1] = gid.x % z; O[2] = 5u / z;",
        "let z = vec2(0, 1); let v = vec2<i32>(gid.xy); let q = v / z; O[0] = u32(q.x);",
        "let z = vec2<u32>(); O[0] = (gid.xy % z).x;",
        "let s = 40u; O[0] = gid.x << s; O[1] = 1u >> s;",
        "let s = 40u; O[0] = (gid.xy << vec2(s)).x;",
        "const N = 0u; let z = N; let y = z; O[0] = gid.x / y;",
    ] {
        accepted("", statements);
    }
    for statements in [
        "var a: array<u32, 4>; O[0] = a[4];",
        "const i = 4; var a: array<u32, 4>; O[0] = a[i];",
        "O[0] = gid.x / 0u;",
        "const z = 0u; O[0] = gid.x % z;",
        "O[0] = gid.x << 32u;",
    ] {
        refusal(&with("", statements));
    }
}

#[test]
fn scopes_are_those_of_the_language() {
    accepted("fn f(i: u32) -> u32 { var s = 0u; for (var i = 0u; i < 4u; i++) { s += i; } return s + i; }", "O[0] = f(3u);");
    accepted("", "for (var i = 0u; i < 4u; i++) { var i = 7u; i += 1u; O[0] += i; }");
    accepted("const N = 4u;", "let N = N + 1u; O[0] = N; { let N = N + 1u; O[1] = N; }");
    accepted("", "let max = 5u; let f32 = 6u; let vec3 = 7u; O[0] = max + f32 + vec3;");
    accepted("alias vec3f = vec2<f32>;", "let v = vec3f(1.0, 2.0); O[0] = u32(v.x);");
    accepted("", "let x = O[0]; { var O = 4u; O += x; }");
    accepted(
        "fn f() -> u32 { return g() + C; } fn g() -> u32 { return D.x; } const C = E + 1u; const E = 2u; var<private> D: S;
         struct S { x: T } alias T = u32;",
        "O[0] = f();",
    );
    refusal(&with("", "let a = 1u; let a = 2u;"));
    refusal(&with("", "{ let a = 1u; } O[0] = a;"));
    refusal(&with("", "O[0] = a; let a = 1u;"));
}

#[test]
fn the_grammar_is_that_of_the_language() {
    for (declarations, statements) in [
        ("fn f() -> u32 { return 1u; }", "_ = f(); _ = gid; _ = O[0]; _ = &O; f();"),
        (
            "",
            "var a: array<vec2<u32>, 4>; let b = array<array<u32, 2>, 2>(); let c: bool = 4u>>1u >= 2u; let d = vec2<u32>(1u>>1u, 2u); O[0] = b[0][1] + d.x;",
        ),
        (
            "",
            "let x: vec2<u32>= vec2<u32>(1u); var y: array<u32,(4>>1)>; let q = gid.x<gid.y||gid.x>gid.z; O[0] = x.x + y[1] + u32(q);",
        ),
        ("", "/* a /* b */ c */ O[0] = 1u; // end"),
        (
            "struct S { a: u32, b: u32, } fn f(a: u32, b: u32,) -> u32 { return a + b; };",
            "let s = S(1u, 2u,); O[0] = f(s.a, s.b,); let v = vec2<u32,>(1u, 2u,); var q: array<u32, 4,>;",
        ),
        (
            "@must_use fn f() -> u32 { return 1u; } struct S { @align(16) @size(32) a: u32, @align(16,) b: u32 } @id(3) override X: u32 = 2u; @diagnostic(off, derivative_uniformity) fn g() {}",
            "var s: S; O[0] = f() + s.a + X; g();",
        ),
        (
            "",
            "@diagnostic(off, derivative_uniformity) if gid.x > 1u { } @diagnostic(off, derivative_uniformity) { } @diagnostic(off,derivative_uniformity) for (;;) { break; } @diagnostic(off,derivative_uniformity) switch gid.x { default {} } @diagnostic(off,derivative_uniformity) loop { break; }",
        ),
        (
            "diagnostic(off, foo.bar); diagnostic(info, subgroup_uniformity); requires readonly_and_readwrite_storage_textures, pointer_composite_access,; requires packed_4x8_integer_dot_product;",
            "O[0] = 1u;",
        ),
        ("const_assert 1 < 2; const_assert(true);", "const_assert 3u > 2u; O[0] = 1u;"),
        (
            "alias A = array<u32, 4>; alias C = ptr<function, u32>; fn f(p: C) { *p = 1u; }",
            "var a: A; var x = 0u; f(&x); O[0] = a[0] + x;",
        ),
        (
            "var<private> a = 1; var<private> b = 1.5; var<private> c = vec3(1, 2.5, 3); var<private> d: array<f32, 2> = array(1, 2);",
            "var e = mat2x2(1, 2, 3, 4); const g = 1; var h = g; var k: vec2<f32> = vec2(1, 2); O[0] = u32(a) + u32(b + c.x + d[1] + e[0].x) + u32(h) + u32(k.x);",
        ),
        (
            "",
            "var i = 1; i++; i--; var a: array<u32, 2>; a[0]++; a[gid.x]--; O[0]++; let p = &a; (*p)[1]++; p[1]++; var v = vec2<u32>(); v.x++; v[1]--;",
        ),
        (
            "",
            "var v = vec4<f32>(); v.x += 1.0; v[1] *= 2.0; v *= 2.0; var m = mat2x2<f32>(); m[0].x += 1.0; m[1] *= 2.0; m *= m; m *= 2.0; var u = 4u; u <<= 1u; u >>= 1u; u |= 1u; u &= 3u; u ^= 1u; u %= 3u; u /= 2u; v *= mat4x4<f32>();",
        ),
        (
            "const A = 4u;",
            "switch gid.x { case 1u, 2u, { O[0] = 1u; } case 3u, default: { O[0] = 2u; } } switch (gid.y) { case A: { } case A + 1, 0x10: { break; } default { } }",
        ),
        (
            "",
            "var i = 0u; loop { if i == 2u { i = 9u; continue; } O[i] = 1u; continuing { i++; break if i > 4u; } } while i < 4u { i++; } for (; i < 9u; ) { i++; } for (let j = 3u; i > j; i--) { }",
        ),
        (
            "fn f(p: ptr<function, u32>, q: ptr<private, u32>) -> u32 { return *p + *q; } var<private> P: u32;",
            "var x = 1u; let q: ptr<storage, array<u32>, read_write> = &O; (*q)[1] = f(&x, &P); let r: ptr<storage, u32, read_write> = &O[0]; *r = 5u;",
        ),
        (
            "const a = 0x1p4; const b = 0x1.8p1f; const c = 0x.8p0; const d = 0x1.p3; const e = 0xAp-2f; const f = 0X1P+3;",
            "let g = 1. + .5 + 1e3; let h = 1E-3f + 1f + 0f + 1.5e+2; let i = 01.5; O[0] = u32(a + b + c + d + e + f + g + h + i);",
        ),
        (
            "",
            "let a = -2147483648; let b: i32 = -2147483648; let c = 0xffffffffu; let d: u32 = 4294967295; O[0] = u32(a) + u32(b) + c + d;",
        ),
        (
            "fn größe(Δ: u32) -> u32 { return Δ; } struct 構造 { フィールド: u32 }",
            "let été = größe(1u); let s = 構造(3u); O[0] = été + s.フィールド; let _a = 1u; let a_ = 1u; let a__b = 2u;",
        ),
        (
            "",
            "let align = 1u; let binding = 1u; let size = 2u; let read_write = 2u; let xyz = 1u; let storage = 3u; let function = 2u; O[0] = align;",
        ),
    ] {
        accepted(declarations, statements);
    }
}

#[test]
fn line_endings_and_marks_at_the_start_are_no_matter() {
    let source = with("// comment\nconst A = 1u; /* of\nseveral lines */", "// one\nlet x = A;\n\n    O[0] = x;");
    for ending in ["\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let source = source.replace('\n', ending);
        try_kernel(&source, &[]).unwrap_or_else(|d| panic!("{ending:?}: {d}"));
    }
    try_kernel(&format!("\u{feff}{source}"), &[]).unwrap_or_else(|d| panic!("{d}"));
}

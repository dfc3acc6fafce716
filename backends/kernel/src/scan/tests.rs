use super::*;

fn first(source: &str) -> String {
    check(source).first().map(|f| f.message.clone()).unwrap_or_default()
}

#[test]
fn ordinary_kernels_pass_the_scan() {
    let table: String = (0..20_000).map(|i| format!("vec2<f32>({i}.0, -{i}.5e-3),")).collect();
    assert_eq!(first(&format!("const T = array<vec2<f32>, 20000>({table});")), "");
    let switch: String = (0..3000).map(|i| format!("case {i}u: {{ x = x + {i}u * 2u; }}")).collect();
    assert_eq!(first(&format!("fn f() {{ var x = 0u; switch x {{ {switch} default: {{}} }} }}")), "");
    assert_eq!(first("const N = 16u; const M = N * N; var<workgroup> t: array<array<f32, N + 1>, M>;"), "");
    let statements = "x = f(a, b[i].c) + 1; if (a < b && c > d) { y = max(a, b); } else { z = 1; } ".repeat(1500);
    assert_eq!(first(&format!("fn f() {{ {statements} }}")), "");
}

#[test]
fn brackets_operators_blocks_and_chains_are_bounded() {
    let deep = |n: usize| format!("fn f() {{ x = {}1{}; }}", "(".repeat(n), ")".repeat(n));
    assert_eq!(first(&deep(64)), "");
    assert!(first(&deep(65)).contains("brackets are nested too deeply"));
    let long = |n: usize| format!("fn f() {{ x = 1{}; }}", " + 1".repeat(n));
    assert_eq!(first(&long(1000)), "");
    assert!(first(&long(1100)).contains("too long"));
    assert!(first(&format!("fn f() {{ x = {}1; }}", "-".repeat(2000))).contains("too long"));
    assert!(first(&format!("fn f() {{ x = a{}; }}", "[0]".repeat(2000))).contains("too long"));
    assert!(first(&format!("fn f() {{ x = a{}; }}", ".x".repeat(2000))).contains("too long"));
    let blocks = |n: usize| format!("fn f() {{ {} {} }}", "{".repeat(n), "}".repeat(n));
    assert_eq!(first(&blocks(90)), "");
    assert!(first(&blocks(100)).contains("blocks are nested"));
    let chain = |n: usize| format!("fn f() {{ if a {{}} {} }}", "else if b {}".repeat(n));
    assert_eq!(first(&chain(90)), "");
    assert!(first(&chain(100)).contains("blocks are nested"));
    assert_eq!(first(&format!("fn f() {{ {} }}", "if a {} else if b {} else {} ".repeat(2000))), "", "chains end");
}

#[test]
fn a_comma_inside_a_template_list_does_not_start_the_count_again() {
    let source = format!("fn f() {{ x = 0{}; }}", " + array<f32, 3>(1.0, 2.0, 3.0)[0]".repeat(500));
    assert!(first(&source).contains("too long"));
    let source = format!("fn f() {{ x = 0{}; }}", " + (a < b, c > d)".repeat(2000));
    assert!(first(&source).contains("too long"));
    let source = format!("fn f() {{ x = g(0{}); }}", " + u<b, c>(d)".repeat(2000));
    assert!(first(&source).contains("too long"));
}

#[test]
fn the_elements_of_an_array_are_bounded_before_anything_expands_them() {
    for count in [
        "4294967295",
        "0xffffffffu",
        "1u << 31",
        "N",
        "4096 * 4096 + 1",
        "max(3, M)",
        "N,",
        "20000000 ,",
        "2 * (8388608 + 1)",
        "u32(N)",
    ] {
        let source = format!("const M = N; const N = 20000000; fn f() {{ let x = -array<u32, {count}>(); }}");
        assert!(first(&source).contains("too large"), "{count}: {}", first(&source));
    }
    for count in ["16777216", "1 << 24", "N", "N * 4", "(N + 1) / 2", "N - 1", "O * 1000000", "min(N, 4)", "N,"] {
        let source = format!("override O = 4; const N = 4; var<workgroup> a: array<f32, {count}>;");
        assert_eq!(first(&source), "", "{count}");
    }
    assert_eq!(
        first(
            "@group(0) @binding(0) var<storage> a: array<f32, 16777216>; struct S { b: array<u32, 16777216> } fn f(p: ptr<storage, S>) {}"
        ),
        ""
    );
    let again =
        |declare: &str, make: &str| format!("{declare} fn f() {{ {} }}", format!("let x = {make} == {make};").repeat(100));
    assert!(first(&again("", "array<u32, 1000000>()")).contains("stand for"));
    assert!(first(&again("alias A = array<u32, 1000000>;", "A()")).contains("stand for"));
    assert!(first(&again("struct S { a: array<u32, 1000000> }", "S()")).contains("stand for"));
    assert!(first(&again("const C = array<u32, 1000000>();", "C")).contains("stand for"));
    assert_eq!(first(&again("", "array<u32, 100>()")), "");
    assert!(first("var<private> a: array<f32, u32(sqrt(1e20))>;").contains("not supported yet"));
    assert!(first("const N = 4; fn f() { const N = N * 100000000; let x = -array<u32, N>(); }").contains("not supported yet"));
}

#[test]
fn constants_and_types_that_mention_each_other_are_bounded() {
    let mut source = String::from("const c0 = array(1, 2, 3, 4);");
    for i in 1..30 {
        source += &format!("const c{i} = array(c{}, c{});", i - 1, i - 1);
    }
    assert!(first(&source).contains("stand for more than"));
    let mut source = String::from("struct s0 { a: f32, b: f32 }");
    for i in (1..30).rev() {
        source += &format!("struct s{i} {{ a: s{}, b: s{} }}", i - 1, i - 1);
    }
    assert!(first(&source).contains("stand for more than"));
    assert!(first("const A = 1; fn f() { const A = array(A, A); let x = A; }").contains("stand for more than"));
    assert_eq!(first("const A = A + 1;"), "", "a plain cycle is the front end's to explain");
    assert_eq!(first("struct P { x: f32 } fn f() { const x = P(1); } fn g() { const x = P(2); }"), "");
    let chain: String = (1..100_000).map(|i| format!("const a{i}=a{};", i - 1)).take(50_000).collect();
    check(&format!("fn f() {{ const a0 = 1; {chain} }}"));
}

#[test]
fn too_many_bytes_or_declarations_are_refused() {
    assert!(first(&" ".repeat(MAX_SOURCE + 1)).contains("bytes"));
    assert!(first(&"const a = 1;".repeat(5000)).contains("too many declarations"));
    assert!(first(&format!("fn f() {{ {} }}", "x = 1;".repeat(10_001))).contains("too long"));
    assert_eq!(first(&format!("fn f() {{ {0} }} fn g() {{ {0} }}", "x = 1;".repeat(9990))), "", "each function for itself");
}

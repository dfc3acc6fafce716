//! Functions with pointers to storage, uniform and workgroup memory: what is known of kernels that use them, and what is wrong with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{access, constant, kernel, place, refusal, try_kernel};
use compute_kernel::reflection::Access::{Read, ReadWrite, Unused, Write};

const HEAD: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<u32>;
@group(0) @binding(3) var<storage, read_write> d: array<atomic<u32>>;
var<workgroup> w: array<u32, 4>;
";

fn source(functions: &str, body: &str) -> String {
    format!("{HEAD}{functions}\n@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {body} }}")
}

#[test]
fn t6_pointers_count_for_the_variable_that_they_lead_to() {
    let functions = "
        fn fetch(p: ptr<storage, u32>) -> u32 { return *p; }
        fn assign(p: ptr<storage, u32, read_write>) { *p = 1u; }
        fn count(p: ptr<storage, array<u32>, read_write>) -> u32 { return arrayLength(p); }
        fn add(p: ptr<storage, atomic<u32>, read_write>) { atomicAdd(p, 1u); }
        fn nothing(p: ptr<storage, array<u32>, read_write>) {}
        fn move_to(p: ptr<storage, array<u32>, read_write>, q: ptr<storage, array<u32>, read_write>, i: u32) { assign(&(*p)[i]); (*p)[0] = (*q)[i]; }";
    let uses = |body: &str| {
        let k = kernel(&source(functions, body));
        [0, 1, 2, 3].map(|slot| access(&k, slot))
    };
    assert_eq!(uses(""), [Unused; 4]);
    assert_eq!(uses("assign(&b[id.x]);"), [Unused, Write, Unused, Unused]);
    assert_eq!(uses("assign(&c[id.x]);"), [Unused, Unused, Write, Unused]);
    assert_eq!(uses("move_to(&b, &c, id.x);"), [Unused, Write, Read, Unused]);
    assert_eq!(uses("c[0] = fetch(&a[1]) + count(&b);"), [Read, Read, Write, Unused]);
    assert_eq!(uses("add(&d[id.y]);"), [Unused, Unused, Unused, ReadWrite]);
    assert_eq!(uses("nothing(&b);"), [Unused; 4]);
}

#[test]
fn bindings_of_other_entry_points_stay_unused_and_nothing_is_added() {
    let text = source("fn assign(p: ptr<storage, u32, read_write>) { *p = 1u; }", "assign(&b[0]);")
        + "@compute @workgroup_size(1) fn other() { assign(&c[0]); }";
    let module = compute_kernel::Module::parse(&compute_kernel::Source::wgsl(&text)).unwrap();
    let other = module.entry_point(Some("other"), &[]).unwrap();
    assert_eq!([0, 1, 2, 3].map(|slot| access(&other, slot)), [Unused, Unused, Write, Unused]);
    assert_eq!(other.reflection().bindings.len(), 4);
}

#[test]
fn an_element_that_is_the_same_for_all_callers_is_written_by_the_function() {
    // A function is made once for each way: the two calls of `b[..]` stand at two places, those of the whole variable share one.
    let functions = "fn assign(p: ptr<storage, u32, read_write>) { *p = 1u; } fn fill(p: ptr<storage, array<u32>, read_write>) { p[0] = 1u; }";
    let made = |body: &str| kernel(&source(functions, body)).module().functions.len();
    assert_eq!(made("fill(&b); fill(&b); fill(&b);"), 1);
    assert_eq!(made("fill(&b); fill(&c);"), 2);
    assert_eq!(made("assign(&b[id.x]); assign(&b[id.y]);"), 2);
    // A loop calls from one place.
    assert_eq!(made("for (var i = 0u; i < 9u; i++) { assign(&b[i]); }"), 1);
}

#[test]
fn barriers_behind_pointers_are_refused_where_only_some_arrive() {
    let functions = "fn last(p: ptr<workgroup, array<u32, 4>>) -> u32 { return p[3]; }
fn one(p: ptr<workgroup, u32>) -> u32 {
    return workgroupUniformLoad(p);
}";
    kernel(&source(functions, "if (one(&w[0]) == 1u) { workgroupBarrier(); }"));
    let d = refusal(&source(functions, "if (last(&w) == 1u) { workgroupBarrier(); }"));
    assert!(d.text.contains("depends on the result of `last`"), "{d}");
    let d = refusal(&source(functions, "if (id.x == 1u) { b[0] = one(&w[1]); }"));
    assert_eq!(place(&d).0, 9, "{d}");
}

#[test]
fn override_constants_reach_functions_with_pointers() {
    let text = source(
        "override n: u32 = 2u; var<workgroup> big: array<u32, n>; fn assign(p: ptr<workgroup, u32>, v: u32) { *p = v * n; } const half = 0.5; override scale = mix(1.0, 3.0, half);",
        "assign(&big[id.x], u32(scale)); b[0] = big[1];",
    );
    let made = try_kernel(&text, &[constant("n", 8.0)]).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(made.reflection().workgroup_memory, 32);
}

#[test]
fn a_pointer_of_another_type_is_refused_with_both_types() {
    let functions = "fn assign(p: ptr<storage, u32, read_write>) { *p = 1u; }\nfn fetch(p: ptr<storage, array<u32>>) -> u32 { return p[0]; }\nfn put(p: ptr<workgroup, u32>) { *p = 1u; }\n";
    for (body, text) in [
        (
            "assign(&a[0]);",
            "expected `ptr<storage, u32, read_write>` for the parameter `p` of `assign`, found `ptr<storage, u32>`",
        ),
        (
            "_ = fetch(&b);",
            "expected `ptr<storage, array<u32>>` for the parameter `p` of `fetch`, found `ptr<storage, array<u32>, read_write>`",
        ),
        ("assign(&w[0]);", "found `ptr<workgroup, u32>`"),
        ("put(&w);", "expected `ptr<workgroup, u32>` for the parameter `p` of `put`, found `ptr<workgroup, array<u32, 4>>`"),
        ("var x = 1u; put(&x);", "found `ptr<function, u32>`"),
        ("put(w[0]);", "found `u32`"),
    ] {
        let d = refusal(&source(functions, body));
        assert!(d.list.len() == 1 && d.text.contains(text), "{body}: {d}");
        assert_eq!(place(&d).0, 11, "{d}");
    }
    let d = refusal(&source(functions, "assign(&b[0], 1u); assign();"));
    assert!(d.text.contains("`assign` takes 1 argument"), "{d}");
}

#[test]
fn aliases_of_a_type_fit() {
    let functions = "alias Word = u32; alias Words = array<Word>; fn assign(p: ptr<storage, Words, read_write>, q: ptr<workgroup, array<Word, 4>>) { p[0] = q[1]; }";
    kernel(&source(functions, "assign(&b, &w);"));
}

#[test]
fn everything_wrong_in_functions_with_pointers_is_told_once() {
    let functions = "
fn used(p: ptr<storage, array<u32>, read_write>, i: u32) {
    let x = p[0] + 1.0;
    p[i] = true;
}
fn unused(p: ptr<storage, array<u32>>) {
    p[1] = 2u;
}
";
    let d = refusal(&source(functions, "used(&b, 1u); used(&c, 2u); used(&b, 3u);"));
    let lines: Vec<u32> = d.list.iter().filter_map(|d| Some(d.location.as_ref()?.line)).collect();
    assert_eq!(lines, [9, 10, 13], "{d}");
    assert!(!d.text.contains("4294967295"), "{d}");
    // Nobody calls it, and it is wrong all the same.
    let d = refusal(&source("fn unused(p: ptr<workgroup, array<u32, 4>>) -> f32 {\n    return p[1];\n}", ""));
    assert_eq!(place(&d).0, 8, "{d}");
    kernel(&source(
        "fn unused(p: ptr<workgroup, u32>) -> u32 { return *p; } fn idle(q: ptr<workgroup, u32>) -> u32 { return unused(q); }",
        "",
    ));
}

#[test]
fn values_of_lets_are_no_constants_behind_pointers_either() {
    let functions = "fn fetch(p: ptr<storage, array<u32>>) -> u32 { let zero = 0u; return p[0] / zero; }
        fn idle(p: ptr<workgroup, array<u32, 4>>) -> u32 { let far = 9u; return p[far]; }";
    kernel(&source(functions, "b[0] = fetch(&a);"));
    kernel(&source(functions, ""));
}

#[test]
fn too_many_copies_are_refused_and_many_calls_are_not() {
    let buffers: String =
        (0..40).map(|n| format!("@group(1) @binding({n}) var<storage, read_write> x{n}: array<u32>;\n")).collect();
    let functions = format!(
        "{buffers}fn add(p: ptr<storage, array<u32>, read_write>, q: ptr<storage, array<u32>, read_write>) {{ p[0] += q[0]; }}
        fn element(p: ptr<storage, u32, read_write>) {{ *p += 1u; }}"
    );
    let all: String =
        (0..40).flat_map(|n| (0..40).filter(move |m| *m != n).map(move |m| format!("add(&x{n}, &x{m});\n"))).collect();
    let d = refusal(&source(&functions, &all));
    assert!(d.text.contains("`add` is called with too many combinations of pointers"), "{d}");
    // Beyond the bound the places of calls do not make copies of their own.
    let calls: String = (0..3000).map(|n| format!("element(&x{}[id.x + {n}u]);\n", n % 40)).collect();
    assert_eq!(kernel(&source(&functions, &calls)).module().functions.len(), 40);
}

#[test]
fn copies_of_copies_are_bounded() {
    let mut functions = String::from("fn f0(p: ptr<storage, u32, read_write>) { *p += 1u; }\n");
    for n in 1..40 {
        let inner = n - 1;
        let call = format!("f{inner}(&(*p)[q]);");
        functions += &match n {
            1 => format!("fn f1(p: ptr<storage, array<u32>, read_write>, q: u32) {{ {call} {call} }}\n"),
            _ => format!("fn f{n}(p: ptr<storage, array<u32>, read_write>, q: u32) {{ f{inner}(p, q); f{inner}(p, q + 1u); }}\n"),
        };
    }
    // Two calls on each of forty levels are two to the fortieth ways down, and one copy of each function.
    let d = refusal(&source(&functions, "f39(&b, id.x);"));
    assert!(d.text.contains("operations"), "the limit of expanded calls: {d}");
    assert_eq!(kernel(&source(&functions, "f9(&b, id.x);")).module().functions.len(), 11);
}

//! Barriers in uniform control flow only: what must pass, and what must not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{place, refusal, try_kernel};

const HEADER: &str = "
struct P { n: u32, m: u32 }
@group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read> r: array<u32>;
@group(0) @binding(2) var<storage, read_write> o: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: atomic<u32>;
var<immediate> k: u32;
var<private> pv: u32;
var<workgroup> w: array<u32, 256>;
var<workgroup> limit: u32;
override N: u32 = 8u;
";

fn source(functions: &str, body: &str) -> String {
    format!(
        "{HEADER}{functions}
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) li: u32,
    @builtin(local_invocation_id) lid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {{
{body}
}}"
    )
}

fn passes_with(functions: &str, body: &str) {
    if let Err(d) = try_kernel(&source(functions, body), &[]) {
        panic!("refused:\n{body}\n{d}");
    }
}

fn passes(body: &str) {
    passes_with("", body);
}

/// Refused, because of `cause`.
fn fails_with(functions: &str, body: &str, cause: &str) {
    let d = refusal(&source(functions, body));
    assert!(d.text.contains("workgroup"), "{d}");
    assert!(d.text.contains(cause), "{cause} is not named:\n{body}\n{d}");
}

fn fails(body: &str, cause: &str) {
    fails_with("", body, cause);
}

#[test]
fn barriers_pass_at_the_top_and_under_uniform_conditions() {
    passes("workgroupBarrier(); storageBarrier();");
    for condition in [
        "wid.x == 0u",
        "nwg.y > 1u",
        "p.n > 3u",
        "k == 1u",
        "r[p.n] == 1u",
        "r[wid.x] > arrayLength(&o)",
        "N > 4u",
        "p.n > 1u && k < 3u",
    ] {
        passes(&format!("if ({condition}) {{ workgroupBarrier(); }}"));
        passes(&format!("if ({condition}) {{ return; }} workgroupBarrier();"));
    }
    passes("switch p.n { case 1u: { workgroupBarrier(); } case 2u: { if k == 1u { break; } workgroupBarrier(); } default: {} }");
}

#[test]
fn barriers_fail_under_conditions_that_differ() {
    for (condition, cause) in [
        ("gid.x == 0u", "global_invocation_id"),
        ("lid.y == 0u", "local_invocation_id"),
        ("li < 32u", "local_invocation_index"),
        ("o[0] == 0u", "`o`"),
        ("w[0] == 0u", "`w`"),
        ("limit == 0u", "`limit`"),
        ("atomicLoad(&c) == 0u", "`c`"),
        ("atomicAdd(&c, 1u) == 0u", "atomic"),
        ("r[li] == 0u", "local_invocation_index"),
        ("wid.x + li > 3u", "local_invocation_index"),
        ("p.n > 1u && li < 3u", "local_invocation_index"),
        ("vec2<u32>(k, li).x == 1u", "local_invocation_index"),
        ("select(k, li, true) == 1u", "local_invocation_index"),
    ] {
        fails(&format!("if ({condition}) {{ workgroupBarrier(); }}"), cause);
        fails(&format!("if ({condition}) {{ }} else {{ storageBarrier(); }}"), cause);
        fails(&format!("if ({condition}) {{ return; }} workgroupBarrier();"), cause);
        fails(&format!("if (k == 1u) {{ if ({condition}) {{ return; }} }} workgroupBarrier();"), cause);
        fails(&format!("while ({condition}) {{ workgroupBarrier(); }}"), cause);
    }
    fails("switch li { case 1u: { workgroupBarrier(); } default: {} }", "local_invocation_index");
}

#[test]
fn the_refusal_names_both_places() {
    let d = refusal(&source("", "let first = li == 0u;\nif (first) {\n  workgroupBarrier();\n}"));
    let line = place(&d).0;
    assert!(d.text.contains(&format!("{line} |   workgroupBarrier();")), "{d}");
    assert!(d.text.contains("::: line") && d.text.contains("let first = li == 0u;"), "{d}");
}

#[test]
fn tree_reductions_and_tiles_pass() {
    passes(
        "w[li] = r[gid.x]; workgroupBarrier(); for (var s = 128u; s > 0u; s >>= 1u) { if (li < s) { w[li] += w[li + s]; } workgroupBarrier(); } if (li == 0u) { o[wid.x] = w[0]; }",
    );
    passes("var s = 128u; loop { if (s == 0u) { break; } if (li < s) { w[li] += w[li + s]; } workgroupBarrier(); s = s / 2u; }");
    passes(
        "let tiles = (p.n + 15u) / 16u; var sum = 0u; for (var t = 0u; t < tiles; t++) { w[li] = r[t * 16u + li]; workgroupBarrier(); for (var i = 0u; i < 16u; i++) { sum += w[i]; } workgroupBarrier(); } o[gid.x] = sum;",
    );
    passes(
        "for (var t = 0u; t < arrayLength(&r); t += 256u) { w[li] = r[t + li]; workgroupBarrier(); o[t + li] = w[255u - li]; workgroupBarrier(); }",
    );
    passes("var s = N; while (s > 1u) { workgroupBarrier(); s = s - 1u; }");
    passes("loop { workgroupBarrier(); continuing { break if p.n > 0u; } }");
    passes("for (var i = wid.x; i < p.n; i += nwg.x) { w[li] = i; workgroupBarrier(); }");
    passes("for (var i = 0u; i < 4u; i++) { if (i == p.n) { continue; } workgroupBarrier(); }");
}

#[test]
fn a_uniform_load_is_uniform() {
    passes(
        "if (li == 0u) { limit = 32u; } loop { let s = workgroupUniformLoad(&limit); if (s == 0u) { break; } if (li < s) { w[li] += w[li + s]; } workgroupBarrier(); if (li == 0u) { limit = limit / 2u; } }",
    );
    passes("let s = workgroupUniformLoad(&w[p.n]); if (s > 1u) { workgroupBarrier(); }");
    fails("if (li == 0u) { let s = workgroupUniformLoad(&limit); o[0] = s; }", "local_invocation_index");
    fails("let s = workgroupUniformLoad(&w[li]); o[gid.x] = s;", "local_invocation_index");
}

#[test]
fn loops_that_some_leave_early_fail() {
    fails("loop { workgroupBarrier(); if (li == 3u) { break; } }", "local_invocation_index");
    fails("loop { workgroupBarrier(); if (o[k] == 3u) { return; } }", "`o`");
    fails("for (var i = 0u; i < li; i++) { workgroupBarrier(); }", "local_invocation_index");
    fails("for (var i = li; i < 256u; i++) { workgroupBarrier(); }", "local_invocation_index");
    fails("loop { workgroupBarrier(); continuing { break if li == 2u; } }", "local_invocation_index");
    fails("for (var i = 0u; i < 4u; i++) { if (li == i) { continue; } workgroupBarrier(); }", "local_invocation_index");
    fails(
        "loop { switch li { case 1u: { continue; } default: {} } workgroupBarrier(); if (k == 1u) { break; } }",
        "local_invocation_index",
    );
    fails(
        "loop { loop { if (li == 1u) { return; } if (k == 1u) { break; } } workgroupBarrier(); if (k == 2u) { break; } }",
        "local_invocation_index",
    );
    // The second time round only some are there.
    fails("var n = 0u; loop { if (n == 1u) { workgroupBarrier(); } n++; if (li < n) { break; } }", "local_invocation_index");
}

#[test]
fn those_that_skip_the_rest_of_a_pass_meet_the_others_at_its_end() {
    passes("for (var i = 0u; i < 4u; i++) { workgroupBarrier(); if (li == i) { continue; } o[li] = i; }");
    passes(
        "loop { workgroupBarrier(); if (li == k) { continue; } o[li] = 1u; continuing { workgroupBarrier(); break if p.n > 1u; } }",
    );
    fails(
        "for (var i = 0u; i < 4u; i++) { switch li { case 1u: { continue; } default: { } } workgroupBarrier(); }",
        "local_invocation_index",
    );
    fails(
        "var a = 0u; for (var i = 0u; i < 4u; i++) { if (a == 2u) { workgroupBarrier(); } if (li == i) { continue; } a++; }",
        "local_invocation_index",
    );
    fails(
        "loop { for (var i = 0u; i < 4u; i++) { if (li == i) { continue; } if (k == 1u) { return; } } workgroupBarrier(); if (k == 2u) { break; } }",
        "local_invocation_index",
    );
}

#[test]
fn after_a_loop_or_a_switch_all_are_together_again() {
    passes("for (var i = 0u; i < li; i++) { o[i] = i; } workgroupBarrier();");
    passes("loop { if (li == 3u) { break; } if (k == 1u) { break; } } workgroupBarrier();");
    passes("switch li { case 1u: { o[0] = 1u; break; } default: { } } workgroupBarrier();");
    passes("if (li == 0u) { o[0] = 1u; } workgroupBarrier();");
}

#[test]
fn variables_are_uniform_only_if_all_that_is_stored_is() {
    passes("var a = p.n; a = a * 2u; if (a > 3u) { workgroupBarrier(); }");
    fails("var a = p.n; a = li; if (a > 3u) { workgroupBarrier(); }", "local_invocation_index");
    fails("var a = p.n; if (li == 0u) { a = 1u; } if (a == 1u) { workgroupBarrier(); }", "local_invocation_index");
    fails(
        "var a = 0u; for (var i = 0u; i < li; i++) { a = a + 1u; } if (a == 1u) { workgroupBarrier(); }",
        "local_invocation_index",
    );
    fails("var a = 0u; loop { a++; if (a > li) { break; } } if (a == 1u) { workgroupBarrier(); }", "local_invocation_index");
    fails("var a: array<u32, 4>; a[li] = 1u; if (a[0] == 1u) { workgroupBarrier(); }", "local_invocation_index");
    fails("var a: array<u32, 4>; a[0] = p.n; if (a[li] == 1u) { workgroupBarrier(); }", "local_invocation_index");
    passes("var a: array<u32, 4>; a[k] = p.n; if (a[p.m] == 1u) { workgroupBarrier(); }");
    fails("var a: vec2<u32>; a.x = li; if (a.y == 1u) { workgroupBarrier(); }", "local_invocation_index");
    fails("var a = 0u; let q = &a; *q = li; if (a == 1u) { workgroupBarrier(); }", "local_invocation_index");
    fails("pv = li; if (pv == 1u) { workgroupBarrier(); }", "`pv`");
    passes("pv = p.n; if (pv == 1u) { workgroupBarrier(); }");
    fails(
        "var a = k; var b = k; loop { if (a == 1u) { workgroupBarrier(); } a = b; b = li; if (k == 9u) { break; } }",
        "local_invocation_index",
    );
}

#[test]
fn calls_are_followed_with_their_context() {
    let f = "fn sync() { workgroupBarrier(); } fn deep() { sync(); }
        fn early(x: u32) { if (x == 1u) { return; } workgroupBarrier(); }
        fn twice(x: u32) -> u32 { return x * 2u; }
        fn pick(x: u32) -> u32 { if (x == 1u) { return 2u; } return 3u; }
        fn bump(q: ptr<function, u32>) { *q = *q + 1u; }
        fn mix(q: ptr<function, u32>, x: u32) { *q = x; }
        fn spoil() { pv = w[0]; }
        fn counted(n: u32) -> u32 { var s = 0u; for (var i = 0u; i < n; i++) { s += i; } return s; }
        fn both(a: ptr<function, u32>, b: ptr<function, u32>) -> bool { return *a == *b; }";
    passes_with(f, "sync(); deep(); early(p.n);");
    fails_with(f, "if (li == 0u) { deep(); }", "local_invocation_index");
    fails_with(f, "early(li);", "local_invocation_index");
    fails_with(f, "early(p.n); early(twice(li));", "twice");
    passes_with(f, "if (twice(p.n) == pick(k)) { workgroupBarrier(); } o[gid.x] = twice(li) + pick(li);");
    fails_with(f, "if (twice(li) == 2u) { workgroupBarrier(); }", "twice");
    fails_with(f, "if (pick(li) == 2u) { workgroupBarrier(); }", "pick");
    passes_with(f, "if (counted(p.n) == 2u) { workgroupBarrier(); }");
    fails_with(f, "if (counted(li) == 2u) { workgroupBarrier(); }", "counted");
    passes_with(f, "var a = k; bump(&a); if (a == 1u) { workgroupBarrier(); }");
    passes_with(f, "var a = k; mix(&a, p.n); if (a == 1u) { workgroupBarrier(); }");
    fails_with(f, "var a = k; mix(&a, li); if (a == 1u) { workgroupBarrier(); }", "workgroup");
    fails_with(f, "var a = k; if (li == 1u) { bump(&a); } if (a == 1u) { workgroupBarrier(); }", "local_invocation_index");
    fails_with(f, "spoil(); if (pv == 1u) { workgroupBarrier(); }", "`pv`");
    fails_with(f, "if (pv == 1u) { workgroupBarrier(); } spoil();", "`pv`");
    passes_with(f, "if (li == 0u) { early(2u); }".replace("early(2u)", "o[0] = pick(2u)").as_str());
    passes_with(f, "var a = k; var b = p.n; if (both(&a, &b)) { workgroupBarrier(); }");
    fails_with(f, "var a = k; var b = li; if (both(&a, &b)) { workgroupBarrier(); }", "both");
}

#[test]
fn structures_of_builtins_are_taken_apart() {
    let kernel = |member: &str| {
        format!(
            "struct In {{ @builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) li: u32 }}
             @compute @workgroup_size(64) fn main(in: In) {{ if ({member} == 1u) {{ workgroupBarrier(); }} }}"
        )
    };
    assert!(try_kernel(&kernel("in.wid.x"), &[]).is_ok());
    assert!(refusal(&kernel("in.li")).text.contains("local_invocation_index"));
}

#[test]
fn an_entry_point_without_fault_is_not_blamed_for_another() {
    let source = "@compute @workgroup_size(64) fn good() { workgroupBarrier(); }
        @compute @workgroup_size(64) fn bad(@builtin(local_invocation_index) li: u32) { if (li == 0u) { workgroupBarrier(); } }";
    let module = compute_kernel::Module::parse(&compute_kernel::Source::wgsl(source)).expect("parses");
    assert!(module.entry_point(Some("good"), &[]).is_ok());
    assert!(module.entry_point(Some("bad"), &[]).is_err());
}

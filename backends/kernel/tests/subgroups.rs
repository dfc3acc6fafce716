//! Subgroup operations in the front end: what is taken, what is refused, and in which words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{kernel, place, refusal, try_kernel};

const HEADER: &str = "
struct P { n: u32, m: u32 }
@group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
var<workgroup> w: array<u32, 64>;
";

fn source(functions: &str, body: &str) -> String {
    format!(
        "enable subgroups;{HEADER}{functions}
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32, @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_id) sid: u32,
    @builtin(num_subgroups) count: u32) {{
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

#[track_caller]
fn fails_with(functions: &str, body: &str, message: &str) {
    let d = refusal(&source(functions, body));
    assert_eq!(d.list[0].message, message, "{body}\n{d}");
}

#[track_caller]
fn fails(body: &str, message: &str) {
    fails_with("", body, message);
}

/// All operations, each as a value of u32.
const ALL: &[&str] = &[
    "subgroupAdd(li)",
    "subgroupInclusiveAdd(li)",
    "subgroupExclusiveAdd(li)",
    "subgroupMul(li)",
    "subgroupInclusiveMul(li)",
    "subgroupExclusiveMul(li)",
    "subgroupMin(li)",
    "subgroupMax(li)",
    "subgroupAnd(li)",
    "subgroupOr(li)",
    "subgroupXor(li)",
    "u32(subgroupAll(li > 3u))",
    "u32(subgroupAny(li > 3u))",
    "u32(subgroupElect())",
    "subgroupBallot(li > 3u).x",
    "subgroupBroadcast(li, 3u)",
    "subgroupBroadcastFirst(li)",
    "subgroupShuffle(li, 3u)",
    "subgroupShuffleXor(li, 3u)",
    "subgroupShuffleUp(li, 3u)",
    "subgroupShuffleDown(li, 3u)",
    "quadBroadcast(li, 3u)",
    "quadSwapX(li)",
    "quadSwapY(li)",
    "quadSwapDiagonal(li)",
];

fn name(call: &str) -> &str {
    let call = call.strip_prefix("u32(").unwrap_or(call);
    &call[..call.find('(').unwrap()]
}

#[test]
fn every_operation_is_taken_where_the_whole_workgroup_is_together() {
    for call in ALL {
        passes(&format!("o[li] = {call};"));
        passes(&format!("if (wid.x > p.n) {{ for (var i = 0u; i < p.m; i++) {{ o[li] += {call}; }} }}"));
        passes_with(&format!("fn f(li: u32) -> u32 {{ return {call}; }}"), "o[li] = f(lane);");
    }
    passes("subgroupBarrier(); workgroupBarrier(); subgroupBarrier();");
}

#[test]
fn every_operation_is_refused_where_only_a_part_of_the_workgroup_may_be() {
    for call in ALL {
        let message = format!(
            "`{}` may be reached by a part of the workgroup only: control flow depends on `local_invocation_index`",
            name(call)
        );
        fails(&format!("if (li > 3u) {{ o[li] = {call}; }}"), &message);
        fails(&format!("for (var i = 0u; i < p.n; i++) {{ if (li == i) {{ break; }} o[li] = {call}; }}"), &message);
        let function = format!("fn f(li: u32) -> u32 {{ return {call}; }}");
        fails_with(&function, "if (li > 3u) { o[li] = f(li); }", &message);
    }
    let message =
        "`subgroupBarrier` may be reached by a part of the workgroup only: control flow depends on `subgroup_invocation_id`";
    fails("if (lane == 0u) { subgroupBarrier(); }", message);
}

#[test]
fn a_refused_operation_is_shown_with_the_condition() {
    let d = refusal(
        "var<private> x: u32;\n@compute @workgroup_size(64)\nfn main(@builtin(subgroup_id) s: u32) {\n    if s == 0u {\n        x = subgroupAdd(1u);\n    }\n}",
    );
    assert_eq!(place(&d), (5, 13), "{d}");
    assert!(d.text.contains("depends on `subgroup_id`"), "{d}");
    assert!(d.text.contains("4 |     if s == 0u {") && d.text.contains("not uniform from here"), "{d}");
    let d = refusal(
        "@compute @workgroup_size(64)\nfn main(@builtin(subgroup_id) s: u32) {\n    if s == 0u {\n        let e = subgroupElect();\n    }\n}",
    );
    assert_eq!(place(&d), (4, 17), "the function that stands for it has no place in the source: {d}");
}

#[test]
fn the_result_of_an_operation_is_never_the_same_for_a_workgroup() {
    let cause = "control flow depends on the result of a subgroup operation";
    for call in ALL.iter().filter(|c| !c.contains("Elect")) {
        fails(
            &format!("if ({call} > 0u) {{ workgroupBarrier(); }}"),
            &format!("this barrier may be reached by a part of the workgroup only: {cause}"),
        );
        fails(
            &format!("let x = {call}; if (x > 0u) {{ o[li] = subgroupAdd(li); }}"),
            &format!("`subgroupAdd` may be reached by a part of the workgroup only: {cause}"),
        );
    }
    fails(
        "if (subgroupElect()) { workgroupBarrier(); }",
        "this barrier may be reached by a part of the workgroup only: control flow depends on the result of `subgroupElect`",
    );
    fails(
        "if (sid == 0u) { workgroupBarrier(); }",
        "this barrier may be reached by a part of the workgroup only: control flow depends on `subgroup_id`",
    );
    // Nor through variables, loops and calls.
    fails(
        "var x = 1u; for (var i = 0u; i < 3u; i++) { if (x == 1u) { workgroupBarrier(); } x = subgroupAdd(li); }",
        &format!("this barrier may be reached by a part of the workgroup only: {cause}"),
    );
    fails_with(
        "fn f(x: u32) -> u32 { return subgroupBroadcastFirst(x); }",
        "if (f(li) == 1u) { workgroupBarrier(); }",
        "this barrier may be reached by a part of the workgroup only: control flow depends on the result of `f`",
    );
    // Through workgroup memory it can be made so.
    passes(
        "let s = subgroupAdd(li); if (li == 0u) { w[0] = s; } \
         if (workgroupUniformLoad(&w[0]) > 3u) { o[li] = subgroupMax(s); }",
    );
}

#[test]
fn the_size_and_the_number_of_subgroups_are_the_same_for_a_workgroup() {
    passes("if (size > 8u) { workgroupBarrier(); } if (count == 2u) { o[li] = subgroupAdd(li); }");
    passes("for (var d = 1u; d < size; d <<= 1u) { o[li] += subgroupShuffleXor(li, d); }");
    fails(
        "for (var d = 1u; d < lane; d <<= 1u) { o[li] += subgroupShuffleXor(li, d); }",
        "`subgroupShuffleXor` may be reached by a part of the workgroup only: control flow depends on `subgroup_invocation_id`",
    );
}

#[test]
fn distances_and_masks_are_the_same_for_a_subgroup() {
    for (call, what) in [("subgroupShuffleUp", "distance"), ("subgroupShuffleDown", "distance"), ("subgroupShuffleXor", "mask")] {
        for value in [
            "1u",
            "p.n",
            "wid.x",
            "size / 2u",
            "sid",
            "sid + subgroupMax(li) * 2u",
            "subgroupBallot(li > 3u).x",
            "subgroupBroadcastFirst(li)",
            "subgroupBroadcast(lane, 1u)",
        ] {
            passes(&format!("o[li] = {call}(li, {value});"));
        }
        for (value, cause) in [
            ("lane", "`subgroup_invocation_id`"),
            ("li / size", "`local_invocation_index`"),
            ("subgroupInclusiveAdd(1u)", "the result of a subgroup operation"),
            ("subgroupShuffle(li, 1u)", "the result of a subgroup operation"),
            ("quadSwapX(li)", "the result of a subgroup operation"),
            ("quadBroadcast(li, 1u)", "the result of a subgroup operation"),
        ] {
            let message = format!(
                "the {what} of `{call}` must be the same for a whole subgroup, but it depends on {cause}; `subgroupShuffle` takes any id"
            );
            fails(&format!("o[li] = {call}(li, {value});"), &message);
        }
        // Not followed through variables: what was stored may be another invocation's doing.
        let d = refusal(&source("", &format!("var d = sid; o[li] = {call}(li, d);")));
        assert!(d.text.contains("must be the same for a whole subgroup"), "{d}");
    }
    passes("o[li] = subgroupShuffle(li, lane ^ (li & 3u));");
}

#[test]
fn ids_may_be_signed_and_literals_without_a_type() {
    for call in ["subgroupBroadcast", "subgroupShuffle", "quadBroadcast"] {
        for id in ["2", "2i", "2u", "C", "S"] {
            passes_with("const C = 1; const S = 3i;", &format!("o[li] = {call}(li, {id});"));
        }
    }
    for call in ["subgroupShuffleUp", "subgroupShuffleDown", "subgroupShuffleXor"] {
        passes(&format!("o[li] = {call}(li, 2);"));
    }
    passes("let back = 3 - i32(lane); o[li] = subgroupShuffle(li, back) + subgroupShuffle(lane, back);");
    passes("for (var i = 0; i < 4; i++) { o[li] += subgroupShuffle(li, i); }");
    passes_with("fn f(x: f32, i: i32) -> f32 { return subgroupShuffle(x, i); }", "o[li] = u32(f(1.0, i32(p.n)));");
    let d = refusal(&source("", "let d = i32(p.n); o[li] = subgroupShuffleUp(li, d);"));
    assert_eq!(place(&d).0, 10, "distances are unsigned: {d}");
    let d = refusal(&source("", "o[li] = subgroupShuffle(li, 1.0);"));
    assert_eq!(place(&d).0, 10, "{d}");
}

#[test]
fn ids_that_no_subgroup_has_are_refused_where_they_are_constant() {
    fails("o[li] = subgroupBroadcast(li, 128u);", "the id of `subgroupBroadcast` is 128; it must be at least 0 and below 128");
    fails("o[li] = subgroupBroadcast(li, -1);", "the id of `subgroupBroadcast` is -1; it must be at least 0 and below 128");
    fails("o[li] = subgroupShuffle(li, 128);", "the id of `subgroupShuffle` is 128; it must be at least 0 and below 128");
    fails(
        "o[li] = subgroupShuffleUp(li, 128u);",
        "the distance of `subgroupShuffleUp` is 128; it must be at least 0 and below 128",
    );
    fails(
        "o[li] = subgroupShuffleXor(li, 999u);",
        "the mask of `subgroupShuffleXor` is 999; it must be at least 0 and below 128",
    );
    fails("o[li] = quadBroadcast(li, 4u);", "the id of `quadBroadcast` is 4; it must be at least 0 and below 4");
    passes("o[li] = subgroupBroadcast(li, 127u) + subgroupShuffleDown(li, 127u) + quadBroadcast(li, 3u);");
    let d = refusal(&source("", "o[li] = subgroupBroadcast(li, p.n);"));
    assert_eq!(place(&d).0, 10, "{d}");
}

#[test]
fn operations_take_the_types_of_the_language_and_no_others() {
    for ty in ["u32", "i32", "f32", "vec2<u32>", "vec3<i32>", "vec4<f32>"] {
        for call in ["subgroupAdd(x)", "subgroupMax(x)", "subgroupExclusiveMul(x)", "subgroupShuffle(x, lane)", "quadSwapX(x)"] {
            passes(&format!("var x: {ty}; x = {call};"));
        }
    }
    for call in [
        "subgroupAnd(1.0)",
        "subgroupAdd(true)",
        "subgroupAll(1u)",
        "subgroupAny(vec2(true))",
        "subgroupBallot(1u)",
        "subgroupShuffle(true, 0u)",
        "subgroupAdd(mat2x2<f32>())",
    ] {
        let d = refusal(&source("", &format!("let x = {call};")));
        assert_eq!(place(&d).0, 10, "{call}: {d}");
    }
}

#[test]
fn the_extension_may_be_enabled_in_any_company() {
    let body = "@compute @workgroup_size(32) fn main() { let x = subgroupAdd(1u); }";
    for head in [
        "",
        "enable subgroups;",
        "enable subgroups,;",
        "enable\n subgroups\n;",
        "/* enable */ enable subgroups; // subgroups",
        "enable subgroups; enable subgroups;",
        "requires subgroup_id; enable subgroups;",
        "enable subgroups; requires pointer_composite_access, subgroup_id;",
        "requires subgroup_id, pointer_composite_access;",
        "diagnostic(off, subgroup_uniformity); enable subgroups;",
    ] {
        if let Err(d) = try_kernel(&format!("{head}\n{body}"), &[]) {
            panic!("refused: {head}\n{d}");
        }
    }
    let d = refusal(&format!("enable subgroups, nonsense;\n{body}"));
    assert_eq!(place(&d).0, 1, "{d}");
    assert!(d.text.contains("nonsense") && d.text.contains("enable subgroups, nonsense;"), "the source is shown as it is: {d}");
    let d = refusal(&format!("enable subgroups;\n\n{body}\n what"));
    assert_eq!(place(&d).0, 4, "places are those of the source: {d}");
    refusal(&format!("{body} enable subgroups;"));
}

#[test]
fn turning_the_diagnostic_off_does_not_make_a_part_of_a_workgroup_enough() {
    let d =
        refusal(&format!("diagnostic(off, subgroup_uniformity); {}", source("", "if (lane == 0u) { o[li] = subgroupAdd(li); }")));
    assert!(d.text.contains("`subgroupAdd` may be reached by a part"), "{d}");
}

#[test]
fn a_function_may_have_the_name_of_an_operation() {
    passes_with("fn subgroupElect() -> bool { return true; }", "if (subgroupElect()) { workgroupBarrier(); }");
    passes_with("fn subgroupAdd(x: u32) -> u32 { return x; }", "if (subgroupAdd(p.n) > 3u) { workgroupBarrier(); }");
    passes("let subgroupElect = 3u; o[li] = subgroupElect;");
    fails_with(
        "fn subgroupElect() -> u32 { return subgroupAdd(1u); }",
        "if (li == 0u) { o[0] = subgroupElect(); }",
        "`subgroupAdd` may be reached by a part of the workgroup only: control flow depends on `local_invocation_index`",
    );
}

#[test]
fn a_source_that_ends_in_a_comment_may_elect() {
    kernel("@compute @workgroup_size(32) fn main() { if subgroupElect() { return; } } // the end");
    refusal("@compute @workgroup_size(32) fn main() { if subgroupElect() { return; } } /* no end");
}

#[test]
fn t6_an_operation_reads_and_writes_no_binding() {
    use compute_kernel::reflection::Access;
    let k = kernel(&source("", "o[li] = subgroupAdd(subgroupShuffle(li, lane));"));
    assert_eq!(common::access(&k, 1), Access::Write);
    assert_eq!(common::access(&k, 0), Access::Unused);
}

#[test]
fn t6a_operations_neither_hide_whole_writes_nor_make_them() {
    let whole = |body: &str| {
        let k = kernel(&format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
            fn sum(x: u32) -> u32 {{ return subgroupAdd(x); }}
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>,
                @builtin(subgroup_id) sid: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32) {{
                {body}
            }}"
        ));
        k.coverage().stores[0].is_some()
    };
    assert!(whole("o[g.x] = subgroupAdd(g.x);"));
    assert!(whole("let s = sum(1u); subgroupBarrier(); if (g.x < arrayLength(&o)) { o[g.x] = s; }"));
    assert!(whole("var x = subgroupMax(g.x); x += subgroupShuffle(x, lane); o[g.x] = x;"));
    for body in [
        "o[subgroupBroadcastFirst(g.x)] = 1u;",
        "o[subgroupShuffle(g.x, lane)] = 1u;",
        "o[subgroupExclusiveAdd(1u) + wid.x * 64u] = 1u;",
        "if (subgroupElect()) { o[g.x] = 1u; }",
        "if (subgroupAny(g.x > 3u)) { o[g.x] = 1u; }",
        "if (g.x < subgroupMax(g.x)) { o[g.x] = 1u; }",
        "if (subgroupAll(g.x > 3u)) { return; } o[g.x] = 1u;",
        // True where nothing is missing from a subgroup, which nobody promises.
        "o[wid.x * 64u + sid * size + lane] = 1u;",
        "o[lane] = 1u;",
    ] {
        assert!(!whole(body), "{body}");
    }
}

#[test]
fn inputs_that_number_subgroups_want_workgroups_of_one_axis() {
    for builtin in ["subgroup_id", "subgroup_invocation_id"] {
        let d = refusal(&format!("@compute @workgroup_size(8, 8) fn main(@builtin({builtin}) x: u32) {{ }}"));
        assert!(d.text.contains("multi dimensional") && d.text.contains(builtin), "{d}");
        kernel(&format!("@compute @workgroup_size(64, 1, 1) fn main(@builtin({builtin}) x: u32) {{ }}"));
    }
    kernel(
        "@compute @workgroup_size(8, 8) fn main(@builtin(subgroup_size) x: u32, @builtin(num_subgroups) y: u32) {
            let s = subgroupAdd(x) + subgroupExclusiveAdd(y);
        }",
    );
}

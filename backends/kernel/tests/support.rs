//! What is refused, and how the refusal reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{place, refusal};

#[test]
fn a_refusal_shows_the_place_in_the_source() {
    let d = refusal("@compute @workgroup_size(1)\nfn main() {\n    let x = y + 1;\n}");
    assert_eq!(place(&d), (3, 13), "{d}");
    assert!(d.text.contains("3 |     let x = y + 1;\n  |             ^"), "{d}");
    let d = refusal("@compute @workgroup_size(1)\nfn main() {\n    var v = 1u;\n    v[0] = 1u;\n}");
    assert!(!d.text.contains(" ["), "numbers of the IR mean nothing: {d}");
    let d = refusal("@compute @workgroup_size(1)\nfn main() {\n    var v = vec2<u32>();\n    v.x = v;\n}");
    assert_eq!(place(&d).0, 4, "{d}");
    let d = refusal("var<private> a: array<u32, 3>;\n@compute @workgroup_size(1)\nfn main() {\n    if a[0] { return; }\n}");
    assert_eq!(place(&d).0, 4, "{d}");
    assert!(!d.text.contains(" ["), "{d}");
}

#[test]
fn what_is_not_supported_yet_is_named_with_its_place() {
    let body = |declarations: &str, statements: &str| {
        format!(
            "{declarations}\n@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {{\n{statements}\n}}"
        )
    };
    let cases = [
        (body("@group(0) @binding(0) var t: texture_2d<f32>;", ""), "textures", 1),
        (body("@group(0) @binding(0) var s: sampler;", ""), "samplers", 1),
        (body("enable wgpu_ray_query;\n@group(0) @binding(0) var a: acceleration_structure;", ""), "ray queries", 1),
    ];
    for (source, construct, line) in cases {
        let d = refusal(&source);
        assert!(d.text.contains(construct) && d.text.contains("not supported yet"), "{construct}: {d}");
        assert!(line == 0 || place(&d).0 == line, "{construct} on line {line}: {d}");
    }
}

#[test]
fn all_that_is_not_supported_is_listed_at_once() {
    let d = refusal(
        "@group(0) @binding(0) var t: texture_2d<f32>;
@group(0) @binding(1) var s: sampler;
fn f() { discard; }
@compute @workgroup_size(1) fn main() {}",
    );
    assert!(d.list.len() >= 3, "{d}");
    let lines: Vec<_> = d.list.iter().map(|d| d.location.as_ref().map_or(0, |l| l.line)).collect();
    assert!(lines.is_sorted(), "in the order of the source: {lines:?}");
}

#[test]
fn entry_points_of_other_stages_are_refused() {
    let d = refusal("@fragment fn shade() -> @location(0) vec4<f32> { return vec4<f32>(); }");
    assert!(d.text.contains("`shade` is not a compute entry point"), "{d}");
    assert_eq!(place(&d), (1, 14));
}

#[test]
fn what_an_invocation_needs_is_bounded() {
    let d = refusal("@compute @workgroup_size(1) fn main() { var a: array<u32, 20000>; a[0] = 1u; }");
    assert!(d.text.contains("bytes of variables"), "{d}");
    let d = refusal("var<private> p: array<u32, 20000>; @compute @workgroup_size(1) fn main() { p[0] = 1u; }");
    assert!(d.text.contains("bytes of variables"), "{d}");
    let d = refusal(
        "fn a() { var x: array<u32, 9000>; x[0] = 1u; } fn b() { var x: array<u32, 9000>; x[1] = 1u; a(); }
         @compute @workgroup_size(1) fn main() { b(); }",
    );
    assert!(d.text.contains("bytes of variables"), "{d}");
    let mut calls = String::from("fn f0() {}");
    for i in 1..70 {
        calls += &format!("fn f{i}() {{ f{}(); }}", i - 1);
    }
    let d = refusal(&format!("{calls} @compute @workgroup_size(1) fn main() {{ f69(); }}"));
    assert!(d.text.contains("calls in"), "{d}");
    let mut calls = String::from("fn f0() { var x = 1u; x = 2u; }");
    for i in 1..30 {
        calls += &format!("fn f{i}() {{ f{}(); f{}(); }}", i - 1, i - 1);
    }
    let d = refusal(&format!("{calls} @compute @workgroup_size(1) fn main() {{ f29(); }}"));
    assert!(d.text.contains("too large"), "{d}");
}

#[test]
fn sizes_that_no_device_has_are_refused() {
    let d = refusal("@compute @workgroup_size(16384, 16384, 64) fn main() { }");
    assert!(d.text.contains("invocations"), "{d}");
    refusal("@compute @workgroup_size(100000) fn main() { }");
    let d = refusal(
        "struct S { a: array<array<vec4<f32>, 16777216>, 1024> } @group(0) @binding(0) var<storage> s: S; @compute @workgroup_size(1) fn main() { let x = s.a[0][0]; }",
    );
    assert!(d.text.contains("exceeds") || d.text.contains("too large"), "{d}");
    let nested = format!("var<private> x: {}u32{};", "array<".repeat(20), ", 1>".repeat(20));
    let d = refusal(&format!("{nested} @compute @workgroup_size(1) fn main() {{ }}"));
    assert!(d.text.contains("nested too deeply"), "{d}");
}

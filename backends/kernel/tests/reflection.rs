//! L10 and KT-19: what a kernel is, and how its override constants are resolved.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{constant, kernel, place, refusal, try_kernel};
use compute_kernel::reflection::{Access, BindingKind, OverrideType};
use compute_kernel::{Module, Source};

const MIXED: &str = "
struct Params { scale: f32, offset: vec3<f32>, n: u32 }
struct Tail { count: u32, items: array<vec4<f32>> }
var<immediate> now: vec4<u32>;
@group(1) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(7) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> tail: Tail;
@group(0) @binding(5) var<storage, read_write> fixed: array<u32, 10>;
var<workgroup> a: array<u32, 3>;
var<workgroup> b: vec4<f32>;
var<workgroup> unused_memory: array<u32, 1000>;
@compute @workgroup_size(8, 4, 2)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) li: u32) {
    a[li % 3u] = now.x; b.x = 1.0;
    out[gid.x] = params.scale * tail.items[gid.x].y + f32(a[0]) + b.x;
}";

#[test]
fn l10_a_kernel_tells_its_entry_size_and_sorted_bindings() {
    let k = kernel(MIXED);
    let r = k.reflection();
    assert_eq!((r.entry.as_str(), r.workgroup_size, r.invocations()), ("main", [8, 4, 2], 64));
    let places: Vec<_> = r.bindings.iter().map(|b| (b.group, b.slot, b.name.as_str(), b.kind, b.access)).collect();
    assert_eq!(
        places,
        [
            (0, 2, "tail", BindingKind::Storage, Access::Read),
            (0, 5, "fixed", BindingKind::Storage, Access::Unused),
            (0, 7, "params", BindingKind::Uniform, Access::Read),
            (1, 3, "out", BindingKind::Storage, Access::Write),
        ]
    );
    assert_eq!(r.immediate_size, 16);
    assert_eq!(r.workgroup_memory, 32, "12 bytes, aligned to 16, and 16 more");
    assert!(r.overrides.is_empty());
    assert_eq!(k.function().name, "main");
}

#[test]
fn l10_sizes_alignments_and_tails_are_those_of_the_language() {
    let k = kernel(MIXED);
    let facts: Vec<_> = k.reflection().bindings.iter().map(|b| (b.min_size, b.alignment, b.tail_stride, b.tail_offset)).collect();
    assert_eq!(facts, [(32, 16, 16, 16), (40, 4, 0, 0), (32, 16, 0, 0), (4, 4, 4, 0)]);
}

#[test]
fn l10_align_moves_members_of_glsl_also_from_declared_offsets() {
    let parse = |block: &str| {
        Module::parse(&Source::glsl(&format!(
            "#version 450\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0{block}\nvoid main() {{ first = last; }}"
        )))
    };
    // Where the last member lies follows from how large the block is.
    for (block, size) in [
        (") buffer B { float first; layout(offset = 20, align = 16) float last; };", 36),
        (") buffer B { float first; layout(align = 16, offset = 4) float last; };", 20),
        (") buffer B { float first; layout(offset = 32, align = 16) float last; };", 36),
        (") buffer B { float first; layout(align = 16) float last; };", 20),
        (") buffer B { float first; layout(offset = 20, align = 2) float last; };", 24),
        (") buffer B { float first; layout(offset = 4) float last; };", 8),
        (", align = 32) buffer B { float first; float last; };", 36),
        (", align = 32) buffer B { float first; layout(offset = 8) float last; };", 36),
        (", align = 32) buffer B { float first; layout(align = 16) float last; };", 20),
        (", align = 4) buffer B { vec4 first; vec4 last; };", 32),
    ] {
        let module = parse(block).unwrap_or_else(|wrong| panic!("{block}: {wrong}"));
        let k = module.entry_point(None, &[]).unwrap_or_else(|wrong| panic!("{block}: {wrong}"));
        assert_eq!(k.reflection().bindings[0].min_size, size, "{block}");
    }
    for (block, message) in [
        (") buffer B { vec4 first; layout(offset = 12, align = 16) float last; };", "not below 16"),
        (") buffer B { float first; layout(offset = 6, align = 16) float last; };", "multiple of 4"),
        (") buffer B { float first; layout(offset = 9223372036854775804l, align = 16) float last; };", "too large"),
        (", align = 3) buffer B { float first; float last; };", "no align in bytes"),
        (", offset = 16) buffer B { float first; float last; };", "no layout of a block"),
    ] {
        let wrong = parse(block).err().unwrap_or_else(|| panic!("accepted: {block}"));
        assert!(wrong.refusal && wrong.text.contains(message), "{block}: {wrong}");
    }
}

#[test]
fn l10_workgroup_memory_and_immediates_count_only_what_is_used() {
    let k = kernel(
        "var<workgroup> w: array<u32, 64>; var<immediate> i: u32;
         @compute @workgroup_size(1) fn main() {}",
    );
    assert_eq!((k.reflection().workgroup_memory, k.reflection().immediate_size), (0, 0));
}

#[test]
fn l10_a_module_with_several_entries_resolves_each_with_its_own_uses() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @group(0) @binding(0) var<storage, read> y: array<vec2<f32>>;
        @group(0) @binding(1) var<storage, read_write> z: array<f32>;
        @compute @workgroup_size(1) fn first() { x[0] = 1u; }
        @compute @workgroup_size(2) fn second() { z[0] = y[0].x; }";
    let module = Module::parse(&Source::wgsl(source)).expect("parses");
    assert_eq!(module.entry_points(), ["first", "second"]);
    let names = |entry| {
        let k = module.entry_point(Some(entry), &[]).expect("resolves");
        k.reflection().bindings.iter().map(|b| (b.name.clone(), b.access)).collect::<Vec<_>>()
    };
    assert_eq!(names("first"), [("x".to_owned(), Access::Write), ("z".to_owned(), Access::Unused)]);
    assert_eq!(names("second"), [("y".to_owned(), Access::Read), ("z".to_owned(), Access::Write)]);
    let unknown = module.entry_point(Some("third"), &[]).err().expect("refused");
    assert_eq!(unknown.list[0].message, "there is no entry point `third`; there is `first`, `second`");
    let ambiguous = module.entry_point(None, &[]).err().expect("refused");
    assert_eq!(ambiguous.list[0].message, "the source has several entry points, say which: `first`, `second`");
}

#[test]
fn l10_two_used_variables_at_one_place_are_refused() {
    let d = refusal(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() { x[0] = y[0]; }",
    );
    assert_eq!(place(&d).0, 2, "{d}");
}

#[test]
fn l10_a_source_without_entry_points_is_refused_at_the_entry() {
    let module = Module::parse(&Source::wgsl("fn f() {}")).expect("parses");
    assert!(module.entry_point(None, &[]).err().expect("refused").text.contains("@compute"));
}

const SIZED: &str = "
override N: u32 = 4;
@id(7) override scale: f32;
override on = true;
override derived: u32 = N * 2u;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
var<workgroup> w: array<u32, N>;
@compute @workgroup_size(N) fn main(@builtin(local_invocation_index) li: u32) {
    w[li] = li + 1u;
    workgroupBarrier();
    if (on) { o[li] = w[N - 1u - li] + u32(scale) + derived; }
}";

#[test]
fn kt19_override_constants_set_workgroup_sizes_and_memory() {
    let k = try_kernel(SIZED, &[constant("N", 32.0), constant("scale", 2.0)]).expect("resolves");
    assert_eq!((k.reflection().workgroup_size, k.reflection().workgroup_memory), ([32, 1, 1], 128));
    let k = try_kernel(SIZED, &[constant("7", 2.0)]).expect("an id is a key too");
    assert_eq!((k.reflection().workgroup_size, k.reflection().workgroup_memory), ([4, 1, 1], 16));
    let o = &k.reflection().overrides;
    let list: Vec<_> = o.iter().map(|o| (o.name.as_str(), o.id, o.ty, o.default, o.has_default)).collect();
    assert_eq!(
        list,
        [
            ("N", None, OverrideType::U32, Some(4.0.into()), true),
            ("scale", Some(7), OverrideType::F32, None, false),
            ("on", None, OverrideType::Bool, Some(1.0.into()), true),
            ("derived", None, OverrideType::U32, None, true),
        ]
    );
}

#[test]
fn kt19_wrong_override_constants_are_clean_errors() {
    let wrong = |constants: &[_]| {
        let d = try_kernel(SIZED, constants).err().expect("refused");
        assert!(d.refusal, "{d}");
        d.list[0].message.clone()
    };
    assert!(wrong(&[]).contains("`scale` has no default"));
    let s = constant("scale", 1.0);
    assert_eq!(
        wrong(&[constant("M", 1.0), s.clone()]),
        "there is no override constant `M`; there is `N`, `scale`, `on`, `derived`"
    );
    assert!(wrong(&[s.clone(), constant("7", 1.0)]).contains("given twice"));
    for bad in [0.5, -1.0, 4_294_967_296.0, f64::NAN, f64::INFINITY] {
        assert!(
            wrong(&[constant("N", bad), s.clone()]).contains("not a value of the override constant `N`, which is u32"),
            "{bad}"
        );
    }
    assert!(wrong(&[constant("scale", 1e39)]).contains("f32"));
    assert!(wrong(&[constant("scale", f64::NAN)]).contains("f32"));
    assert!(wrong(&[constant("on", 2.0), s.clone()]).contains("bool"));
    assert!(!wrong(&[constant("N", 0.0), s.clone()]).is_empty(), "a workgroup size of zero");
    assert!(!wrong(&[constant("N", 4e9), s]).is_empty(), "a workgroup size that no device has");
}

#[test]
fn kt19_an_array_length_of_zero_is_a_clean_error() {
    let source = "override N: u32; var<workgroup> w: array<u32, N>;
        @compute @workgroup_size(1) fn main() { w[0] = 1u; }";
    let d = try_kernel(source, &[constant("N", 0.0)]).err().expect("refused");
    assert!(d.refusal, "{d}");
    let d = try_kernel(source, &[constant("N", 4_000_000_000.0)]).err().expect("refused");
    assert!(d.refusal, "{d}");
    assert!(try_kernel(source, &[constant("N", 5.0)]).is_ok());
}

#[test]
fn the_hash_covers_source_entry_and_constants() {
    let hash = |source: &str, c: &[_]| try_kernel(source, c).expect("resolves").hash();
    let (a, b) = (constant("N", 8.0), constant("scale", 1.0));
    let first = hash(SIZED, &[a.clone(), b.clone()]);
    assert_eq!(first, hash(SIZED, &[b.clone(), a.clone()]), "order does not matter");
    assert_eq!(first, hash(SIZED, &[a, constant("7", 1.0)]), "neither does the spelling of a key");
    assert_ne!(first, hash(SIZED, &[constant("N", 9.0), b.clone()]));
    assert_ne!(first, hash(&format!("{SIZED} "), &[constant("N", 8.0), b]));
}

#[test]
fn spans_of_the_ir_lead_back_to_the_source() {
    let k = kernel("\n@compute @workgroup_size(1)\nfn main() {\n  var x = 1u;\n  x = 2u;\n}");
    let stores =
        k.function().function.body.span_iter().filter(|(s, _)| matches!(s, compute_kernel::naga::Statement::Store { .. }));
    let lines: Vec<_> = stores.map(|(_, span)| k.location(*span).line).collect();
    assert_eq!(lines, [5]);
    assert_eq!(k.location(compute_kernel::naga::Span::default()).line, 0);
    k.location(compute_kernel::naga::Span::new(1 << 30, u32::MAX));
}

#[test]
fn modules_and_entry_points_go_to_any_thread() {
    fn any_thread<T: Send + Sync>() {}
    any_thread::<Module>();
    any_thread::<compute_kernel::EntryPoint>();
}

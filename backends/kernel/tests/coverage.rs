//! T6a: which grids are known to write every byte of a binding.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::kernel;
use compute_kernel::reflection::{Extent, Guard, LinearStore};
use compute_kernel::{EntryPoint, Module, Source};

const HEADER: &str = "
struct P { n: u32, w: u32, h: u32, v: vec2<u32> }
var<immediate> im: P;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<uniform> u: P;
@group(0) @binding(3) var<storage, read_write> v3: array<vec3<f32>>;
@group(0) @binding(4) var<storage, read_write> fixed: array<u32, 100>;
struct S { x: u32, y: vec3<f32> }
@group(0) @binding(5) var<storage, read_write> s: array<S>;
struct One { data: array<u32> }
@group(0) @binding(6) var<storage, read_write> one: One;
struct Late { n: u32, data: array<u32> }
@group(0) @binding(7) var<storage, read_write> late: Late;
@group(0) @binding(8) var<storage, read_write> sum: u32;
fn put(i: u32) { o[i] = 1u; }
const TILE = 64;
struct Signs { a: i32, n: i32 }
@group(0) @binding(9) var<uniform> signs: Signs;
fn put_signed(i: i32, id: vec2<i32>) { let k = i + id.y - id.y; o[k] = 1u; }
fn place(id: vec3<u32>, width: u32) -> u32 { let row = id.y * width; return row + id.x; }
fn early(id: u32) -> u32 { if (id > 5u) { return 0u; } return id; }
fn guarded(i: u32) { if (i >= arrayLength(&o)) { return; } put(i); }
fn half(i: u32) { if (a[i] == 0u) { return; } o[i] = 1u; }
fn through(p: ptr<function, u32>) { *p = 3u; }
fn element(p: ptr<storage, array<u32>, read_write>, i: u32) { (*p)[i] = 2u; }
";

const SLOTS: [&str; 10] = ["o", "a", "u", "v3", "fixed", "s", "one", "late", "sum", "signs"];

fn entry(size: &str, body: &str) -> std::sync::Arc<EntryPoint> {
    let source = format!(
        "{HEADER}
@compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) li: u32,
    @builtin(local_invocation_id) lid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {{
{body}
}}"
    );
    kernel(&source)
}

/// The store that covers `name` in a body, with a workgroup size.
fn found(size: &str, body: &str, name: &str) -> Option<LinearStore> {
    let k = entry(size, body);
    let slot = SLOTS.iter().position(|s| *s == name).unwrap_or(99);
    assert_eq!(k.coverage().stores.len(), SLOTS.len());
    k.coverage().stores[slot].clone()
}

fn proven(body: &str) -> LinearStore {
    found("64", body, "o").unwrap_or_else(|| panic!("not found in {body}"))
}

fn not_proven(body: &str) {
    assert_eq!(found("64", body, "o"), None, "{body}");
    assert_eq!(found("8, 8", body, "o"), None, "{body}");
}

/// Whether the store of `o` covers, for a one-dimensional grid of 64s and a view in elements.
fn covers(body: &str, groups: u32, elements: u64) -> bool {
    let k = entry("64", body);
    let store = k.coverage().stores[0].clone().unwrap_or_else(|| panic!("not found in {body}"));
    store.covers(k.reflection(), [groups, 1, 1], elements * 4, &[0; 24], &|_| None)
}

#[test]
fn t6a_a_store_at_the_linear_id_is_whole() {
    for body in [
        "o[gid.x] = 1u;",
        "let i = gid.x; o[i] = i;",
        "var i = gid.x; o[i] = i;",
        "let p = &o[gid.x]; *p = 2u;",
        "o[wid.x * 64u + lid.x] = 1u;",
        "o[wid.x * 64u + li] = 1u;",
        "o[(wid.x << 6u) + li] = 1u;",
        "let g = gid.xy; o[g.x] = 1u;",
        "var g = gid; o[g.x] = 1u;",
        "let q = wid * vec3<u32>(64u, 1u, 1u) + lid; o[q.x] = 1u;",
        "o[gid.x + 0u] = a[gid.x] * 2u;",
        "if (a[gid.x] > 3u) { o[gid.x] = 1u; } else { o[gid.x] = 0u; }",
        "var r = 0u; for (var k = 0u; k < a[gid.x]; k++) { r += k; } o[gid.x] = r;",
        "switch a[0] { case 1u: { sum = 2u; } default: { } } o[gid.x] = 1u;",
        "let big = a[gid.x] > 3u && a[0] == 2u; o[gid.x] = select(0u, 1u, big);",
    ] {
        let store = proven(body);
        assert_eq!(
            (store.row, store.plane, store.guard, store.axis_guards),
            (Extent::Unused, Extent::Unused, Guard::None, [Guard::None; 3]),
            "{body}"
        );
        assert!(covers(body, 2, 128) && covers(body, 2, 100) && !covers(body, 2, 129), "{body}");
    }
}

#[test]
fn t6a_guards_by_the_own_length_or_an_inline_value_are_understood() {
    for (guard, want) in [
        ("if (gid.x >= arrayLength(&o)) { return; } o[gid.x] = 1u;", Guard::OwnLength),
        ("if (gid.x < arrayLength(&o)) { o[gid.x] = 1u; }", Guard::OwnLength),
        ("let i = gid.x; let n = arrayLength(&o); if (n > i) { o[i] = 1u; }", Guard::OwnLength),
        ("if (!(gid.x >= arrayLength(&o))) { o[gid.x] = 1u; }", Guard::OwnLength),
        ("if (gid.x < 100u) { o[gid.x] = 1u; }", Guard::Below(Extent::Constant(100))),
        ("if (gid.x >= im.n) { return; } o[gid.x] = 1u;", Guard::Below(Extent::Immediate(0))),
        ("let q = im; if (gid.x >= q.h) { return; } o[gid.x] = 1u;", Guard::Below(Extent::Immediate(8))),
        ("if (gid.x >= u.w) { return; } o[gid.x] = 1u;", Guard::Below(Extent::Uniform(2, 4))),
        ("if (u.v.y <= gid.x) { return; } o[gid.x] = 1u;", Guard::Below(Extent::Uniform(2, 20))),
        ("if (gid.x >= arrayLength(&o) || gid.x >= im.n) { return; } o[gid.x] = 1u;", Guard::Below(Extent::Immediate(0))),
        ("if (gid.x < im.n) { if (gid.x < arrayLength(&o)) { o[gid.x] = 1u; } }", Guard::Below(Extent::Immediate(0))),
        ("if (gid.x < im.n && gid.x < im.n) { o[gid.x] = 1u; }", Guard::Below(Extent::Immediate(0))),
        ("if (gid.x < nwg.x * 64u) { o[gid.x] = 1u; }", Guard::Below(Extent::GridWidth)),
    ] {
        assert_eq!(proven(guard).guard, want, "{guard}");
    }
    let own = "if (gid.x >= arrayLength(&o)) { return; } o[gid.x] = 1u;";
    assert!(covers(own, 2, 100) && covers(own, 2, 128) && !covers(own, 2, 129));
    let fixed = "if (gid.x < 100u) { o[gid.x] = 1u; }";
    assert!(covers(fixed, 2, 100) && !covers(fixed, 2, 101));
}

#[test]
fn t6a_inline_values_decide_at_the_launch() {
    let k = entry("64", "if (gid.x >= im.n) { return; } o[gid.x] = 1u;");
    let store = k.coverage().stores[0].clone().expect("found");
    let with = |n: u32, view: u64| {
        let mut bytes = [0u8; 24];
        bytes[..4].copy_from_slice(&n.to_le_bytes());
        store.covers(k.reflection(), [4, 1, 1], view, &bytes, &|_| None)
    };
    assert!(with(256, 1024) && with(1000, 1024) && with(100, 400) && with(100, 403));
    assert!(!with(255, 1024) && !with(0, 4) && !with(u32::MAX, 1028));
    assert!(!store.covers(k.reflection(), [4, 1, 1], 1024, &[], &|_| None), "the value is not there");

    let k = entry("64", "if (gid.x >= u.w) { return; } o[gid.x] = 1u;");
    let store = k.coverage().stores[0].clone().expect("found");
    let block: Vec<u8> = [0u32, 256, 0, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert!(store.covers(k.reflection(), [4, 1, 1], 1024, &[], &|index| (index == 2).then_some(block.as_slice())));
    assert!(!store.covers(k.reflection(), [4, 1, 1], 1024, &[], &|_| None), "bound by view");
    assert!(!store.covers(k.reflection(), [4, 1, 1], 1024, &[], &|_| Some(&block[..6])), "too short");
}

#[test]
fn t6a_rows_and_planes_are_understood() {
    let grid2 = |row: &str| format!("o[gid.x + gid.y * {row}] = 1u;");
    for (row, want) in [
        ("32u", Extent::Constant(32)),
        ("im.w", Extent::Immediate(4)),
        ("u.w", Extent::Uniform(2, 4)),
        ("(nwg.x * 8u)", Extent::GridWidth),
        ("nwg.x * 8u", Extent::GridWidth),
    ] {
        let store = found("8, 8", &grid2(row), "o").unwrap_or_else(|| panic!("{row}"));
        assert_eq!((store.row, store.plane), (want, Extent::Unused), "{row}");
    }
    let body = "if (gid.x >= im.w || gid.y >= im.h) { return; } o[gid.y * im.w + gid.x] = 1u;";
    let store = found("8, 8", body, "o").expect("found");
    assert_eq!(store.axis_guards, [Guard::Below(Extent::Immediate(4)), Guard::Below(Extent::Immediate(8)), Guard::None]);
    let k = entry("8, 8", body);
    let with = |w: u32, h: u32, grid: [u32; 3], elements: u64| {
        let bytes: Vec<u8> = [0, w, h, 0, 0, 0].iter().flat_map(|n: &u32| n.to_le_bytes()).collect();
        store.covers(k.reflection(), grid, elements * 4, &bytes, &|_| None)
    };
    assert!(with(10, 10, [2, 2, 1], 100));
    assert!(!with(10, 10, [1, 2, 1], 100), "rows with gaps");
    assert!(!with(10, 10, [2, 1, 1], 100), "too few rows");
    assert!(!with(10, 10, [2, 2, 1], 101), "too long a view");
    assert!(!with(17, 10, [2, 2, 1], 170), "rows longer than the grid");
    assert!(with(17, 1, [2, 2, 1], 16), "one row is enough for its start");
    assert!(!with(0, 10, [2, 2, 1], 1));
    assert!(!with(u32::MAX, 10, [2, 2, 1], 20));

    let body = "o[gid.x + gid.y * 16u + gid.z * 256u] = 1u;";
    let k = entry("4, 4, 4", body);
    let store = k.coverage().stores[0].clone().expect("found");
    let with = |grid: [u32; 3], elements: u64| store.covers(k.reflection(), grid, elements * 4, &[], &|_| None);
    assert!(with([4, 4, 1], 1024) && !with([4, 4, 1], 1025) && with([4, 4, 2], 2048));
    assert!(!with([3, 4, 1], 1024) && !with([4, 3, 1], 1024) && with([4, 3, 1], 192));

    let body = "o[gid.x + gid.y * (nwg.x * 4u) + gid.z * (nwg.x * 4u) * (nwg.y * 4u)] = 1u;";
    assert_eq!(found("4, 4, 4", body, "o").map(|s| (s.row, s.plane)), Some((Extent::GridWidth, Extent::GridPlane)));
}

#[test]
fn t6a_short_circuits_are_understood_on_both_sides() {
    for body in [
        "if (gid.x >= im.w || gid.y >= im.h) { return; } o[gid.x + gid.y * im.w] = 1u;",
        "if (gid.x < im.w && gid.y < im.h) { o[gid.x + gid.y * im.w] = 1u; }",
        "if (gid.x < im.w) { if (gid.y < im.h) { o[gid.x + gid.y * im.w] = 1u; } }",
        "if (gid.x >= im.w) { return; } if (gid.y >= im.h) { return; } o[gid.x + gid.y * im.w] = 1u;",
        "let inside = gid.x < im.w && gid.y < im.h; if (!inside) { return; } o[gid.x + gid.y * im.w] = 1u;",
        "if ((gid.x < im.w) & (gid.y < im.h)) { o[gid.x + gid.y * im.w] = 1u; }",
        "if (!(gid.x >= im.w || gid.y >= im.h)) { let i = gid.x + gid.y * im.w; o[i] = 1u; }",
    ] {
        let store = found("8, 8", body, "o").unwrap_or_else(|| panic!("not found in {body}"));
        assert_eq!(
            store.axis_guards,
            [Guard::Below(Extent::Immediate(4)), Guard::Below(Extent::Immediate(8)), Guard::None],
            "{body}"
        );
    }
}

#[test]
fn t6a_what_may_skip_the_store_is_not_whole() {
    for body in [
        "",
        "if (a[gid.x] == 1u) { o[gid.x] = 1u; }",
        "if (a[gid.x] == 1u) { return; } o[gid.x] = 1u;",
        "if (gid.x == 5u) { return; } o[gid.x] = 1u;",
        "if (gid.x < 5u) { return; } o[gid.x] = 1u;",
        "if (gid.x < arrayLength(&a)) { o[gid.x] = 1u; }",
        "if (gid.x > 5u) { o[gid.x] = 1u; }",
        "if (gid.x < im.n) { } else { o[gid.x] = 1u; }",
        "if (gid.x < a[0]) { o[gid.x] = 1u; }",
        "if (lid.x < 3u) { o[gid.x] = 1u; }",
        "if (gid.x + 1u < im.n) { o[gid.x] = 1u; }",
        "if (a[0] == 1u || gid.x < im.n) { o[gid.x] = 1u; }",
        "if (gid.x >= im.n || gid.x >= im.w) { return; } o[gid.x] = 1u;",
        "if (gid.x < 8u) { if (gid.x < im.w) { o[gid.x] = 1u; } }",
        "if (gid.x < im.n && a[0] == 1u) { o[gid.x] = 1u; }",
        "if (gid.x >= im.n || a[0] == 1u) { return; } o[gid.x] = 1u;",
        "for (var k = 0u; k < im.n; k++) { o[gid.x] = k; }",
        "loop { if (a[0] == 1u) { break; } o[gid.x] = 1u; if (a[1] == 1u) { break; } }",
        "loop { if (a[0] == 1u) { return; } if (a[1] == 1u) { break; } } o[gid.x] = 1u;",
        "switch a[0] { case 1u: { return; } default: { } } o[gid.x] = 1u;",
        "switch a[0] { case 1u: { o[gid.x] = 1u; } default: { } }",
        "put(gid.x + 1u);",
        "return; o[gid.x] = 1u;",
        "if (im.n == 1u) { if (a[0] == 2u) { return; } } o[gid.x] = 1u;",
        "if (im.n == 1u) { o[gid.x] = 1u; return; } ",
        "if (a[0] > 3u) { o[gid.x] = 1u; } else { o[gid.x + 1u] = 0u; }",
        "if (a[0] > 3u) { o[gid.x] = 1u; } else if (a[0] > 2u) { o[gid.x] = 0u; }",
        "let i = gid.x; let n = arrayLength(&o); var ok: bool; if (i < n) { if (ok) { o[i] = 1u; } ok = i < n; } else { ok = false; }",
        "let i = i32(gid.x); if (i < -2147483648) { o[i] = 1u; }",
        "let b = -1i; let c = 1i; if (c < b) { o[gid.x] = 1u; }",
        "let b = i32(-2147483648); let c = 5i; if (c < b) { o[gid.x] = 1u; }",
    ] {
        not_proven(body);
    }
}

#[test]
fn t6a_what_is_not_the_linear_id_is_not_whole() {
    for body in [
        "o[gid.x * 2u] = 1u;",
        "o[gid.x + 1u] = 1u;",
        "o[gid.x - 1u] = 1u;",
        "o[gid.y] = 1u;",
        "o[gid.x ^ 1u] = 1u;",
        "o[gid.x % 64u] = 1u;",
        "o[a[gid.x]] = 1u;",
        "o[min(gid.x, 10u)] = 1u;",
        "o[gid.x * im.n] = 1u;",
        "o[gid.x + gid.y * gid.x] = 1u;",
        "o[gid.x + gid.y * a[0]] = 1u;",
        "o[gid.x + gid.y * im.w * im.h] = 1u;",
        "o[wid.x * 32u + lid.x] = 1u;",
        "o[wid.x * 65u + lid.x] = 1u;",
        "var i = gid.x; i = i + 1u; o[i] = 1u;",
        "var i = gid.x; if (a[0] == 1u) { i = 3u; } o[i] = 1u;",
        "var i = 0u; if (a[0] == 1u) { i = gid.x; } o[i] = 1u;",
        "var i = gid.x; for (var k = 0u; k < 3u; k++) { o[i] = 1u; i += 64u; }",
        "var i = gid.x; { let q = &i; *q = 7u; } o[i] = 1u;",
        "var i: u32; loop { i = gid.x; break; } o[i] = 1u;",
        "var g = gid; g.x = 3u; o[g.x] = 1u;",
        "let i = u32(f32(gid.x)); o[i] = 1u;",
    ] {
        not_proven(body);
    }
    // A store to another part of the view than its start, or to a part of an element.
    assert_eq!(found("64", "late.data[gid.x] = 1u;", "late"), None);
    assert_eq!(found("64", "s[gid.x].x = 1u; s[gid.x].y = vec3<f32>();", "s"), None);
    assert_eq!(found("64", "v3[gid.x].x = 1.0;", "v3"), None);
    assert_eq!(found("64", "o[gid.x] = a[gid.x];", "a"), None);
}

#[test]
fn t6a_elements_of_any_size_count_with_their_padding() {
    let cases = [
        ("v3", "v3[gid.x] = vec3<f32>(1.0);", 16u64),
        ("s", "s[gid.x] = S(1u, vec3<f32>());", 32),
        ("one", "one.data[gid.x] = 1u;", 4),
    ];
    for (name, body, stride) in cases {
        let store = found("64", body, name).unwrap_or_else(|| panic!("{name}"));
        let k = entry("64", body);
        assert_eq!(store.stride, stride, "{name}");
        let with = |view: u64| store.covers(k.reflection(), [1, 1, 1], view, &[], &|_| None);
        assert!(with(stride) && with(64 * stride) && with(63 * stride + 1), "{name}");
        assert!(!with(65 * stride) && !with(0) && !with(stride - 1), "{name}: a view without a whole element is never written");
        assert!(with(64 * stride + stride - 1), "{name}: the tail counts");
    }
}

#[test]
fn t6a_what_lies_past_a_fixed_size_is_not_written() {
    let k = entry("64", "fixed[gid.x] = 1u; sum = 2u;");
    let store = k.coverage().stores[4].clone().expect("found");
    let with = |groups: u32, view: u64| store.covers(k.reflection(), [groups, 1, 1], view, &[], &|_| None);
    assert!(with(2, 400) && !with(2, 401) && !with(2, 404) && !with(1, 400) && with(9, 400));
    let sum = k.coverage().stores[8].clone().expect("found");
    assert!(sum.covers(k.reflection(), [1, 1, 1], 4, &[], &|_| None));
    assert!(!sum.covers(k.reflection(), [1, 1, 1], 8, &[], &|_| None));

    let k = entry("64", "if (gid.x == 0u) { o[0] = 5u; sum = 1u; }");
    let first = k.coverage().stores[0].clone().expect("found");
    assert!(first.covers(k.reflection(), [3, 1, 1], 4, &[], &|_| None));
    assert!(!first.covers(k.reflection(), [3, 1, 1], 8, &[], &|_| None));
    assert!(k.coverage().stores[8].is_some());
    assert_eq!(found("64", "if (gid.x == 1u) { sum = 1u; }", "sum"), None);
    assert_eq!(found("64", "o[1] = 1u;", "o"), None);
}

#[test]
fn t6a_override_constants_decide_what_is_stored() {
    let source = "override ON = true; override W: u32 = 8u;
        @group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
            if (!ON) { return; }
            if (ON) { o[gid.x + gid.y * W] = 1u; }
        }";
    let with = |name: &str, value: f64| {
        let k = common::try_kernel(source, &[common::constant(name, value)]).expect("resolves");
        k.coverage().stores[0].clone()
    };
    assert_eq!(with("W", 16.0).map(|s| s.row), Some(Extent::Constant(16)));
    assert_eq!(with("ON", 0.0), None);
}

#[test]
fn t6a_extreme_numbers_never_wrap_into_a_yes() {
    let k = entry("64", "o[gid.x] = 1u;");
    let store = k.coverage().stores[0].clone().expect("found");
    assert!(!store.covers(k.reflection(), [u32::MAX, 1, 1], 4, &[], &|_| None), "more invocations than there are ids");
    assert!(!store.covers(k.reflection(), [0, 1, 1], 4, &[], &|_| None));
    assert!(!store.covers(k.reflection(), [1, 1, 1], u64::MAX, &[], &|_| None));
    assert!(store.covers(k.reflection(), [1 << 26, 1, 1], (1 << 34) - 4, &[], &|_| None));
    assert!(!store.covers(k.reflection(), [1 << 26, 1, 1], 1 << 34, &[], &|_| None), "a length that is no u32");
    for extent in [
        Extent::Constant(u64::MAX),
        Extent::Constant(1 << 32),
        Extent::Immediate(u32::MAX),
        Extent::Uniform(9, u32::MAX),
        Extent::GridPlane,
    ] {
        for (row, plane, guard) in
            [(extent, Extent::Unused, Guard::None), (Extent::Unused, extent, Guard::None), (extent, extent, Guard::Below(extent))]
        {
            let elements = Some(u64::MAX);
            let odd = LinearStore {
                stride: 1,
                dense: true,
                offset: 0,
                elements,
                row,
                plane,
                guard,
                axis_guards: [guard; 3],
                signed: false,
                groups: false,
            };
            let _ = odd.covers(k.reflection(), [u32::MAX, u32::MAX, u32::MAX], u64::MAX, &[1; 8], &|_| Some(&[]));
            let _ = odd.covers(k.reflection(), [1 << 20, 1 << 20, 1 << 20], 1 << 40, &[1; 8], &|_| None);
        }
    }
}

#[test]
fn t6a_indices_with_a_sign_are_understood_below_two_to_the_31() {
    for (body, guard) in [
        ("o[i32(gid.x)] = 1u;", Guard::None),
        ("let i = i32(gid.x); o[i] = 1u;", Guard::None),
        ("let i = i32(wid.x) * 64 + i32(lid.x); o[i] = 1u;", Guard::None),
        ("let id = vec3<i32>(gid); o[u32(id.x)] = 1u;", Guard::None),
        ("let i = i32(gid.x); if (i < i32(arrayLength(&o))) { o[i] = 1u; }", Guard::OwnLength),
        ("let i = bitcast<i32>(gid.x); if (i >= i32(im.n)) { return; } o[i] = 1u;", Guard::Below(Extent::Immediate(0))),
        ("let i = i32(gid.x); if (i < 100) { o[i] = 1u; }", Guard::Below(Extent::Constant(100))),
        ("let i = i32(gid.x); if (i <= 99) { o[i] = 1u; }", Guard::Below(Extent::Constant(100))),
        ("let i = i32(gid.x); if (i >= 0 && i < 100) { o[i] = 1u; }", Guard::Below(Extent::Constant(100))),
        ("let i = i32(gid.x); if (i < 0 || i > i32(im.n) - 1) { return; } o[i] = 1u;", Guard::Below(Extent::Immediate(0))),
        ("let i = i32(gid.x); if (i < signs.n) { o[i] = 1u; }", Guard::Below(Extent::Uniform(9, 4))),
        ("let i = i32(wid.x) * TILE + i32(lid.x); o[i] = 1u;", Guard::None),
        ("put_signed(i32(gid.x), vec2<i32>(gid.xy));", Guard::None),
    ] {
        let store = proven(body);
        assert_eq!((store.guard, store.signed), (guard, true), "{body}");
    }
    for body in [
        "o[-i32(gid.x)] = 1u;",
        "o[i32(gid.x) - 1] = 1u;",
        "o[i32(gid.x) / 1] = 1u;",
        "o[abs(i32(gid.x))] = 1u;",
        "o[i32(f32(gid.x))] = 1u;",
        "let i = i32(gid.x); if (i > 3) { o[i] = 1u; }",
        "let i = i32(gid.x); if (i != 3) { o[i] = 1u; }",
        "let i = i32(gid.x); if (i - 5 >= 0) { o[i] = 1u; }",
        "let i = i32(gid.x); if (i >= 1) { o[i] = 1u; }",
        "let i = i32(wid.x) * (TILE - 1) + i32(lid.x); o[i] = 1u;",
        "put_signed(-i32(gid.x), vec2<i32>(gid.xy));",
    ] {
        not_proven(body);
    }
    let k = entry("64", "let i = i32(gid.x); if (i < i32(im.n)) { o[i] = 1u; }");
    let store = k.coverage().stores[0].clone().expect("found");
    let with = |groups: u32, elements: u64, n: u32| {
        store.covers(k.reflection(), [groups, 1, 1], elements * 4, &[n.to_le_bytes(), [0; 4], [0; 4]].concat(), &|_| None)
    };
    assert!(with(2, 128, 128) && with(2, 100, i32::MAX as u32) && !with(2, 100, 99));
    // Negative for the kernel, which then stores nothing.
    assert!(!with(2, 128, 0x8000_0000) && !with(2, 128, u32::MAX));
    let free = entry("64", "o[i32(gid.x)] = 1u;");
    let store = free.coverage().stores[0].clone().expect("found");
    let with = |groups: u32, elements: u64| store.covers(free.reflection(), [groups, 1, 1], elements * 4, &[], &|_| None);
    assert!(with(1 << 25, (1 << 31) - 1) && !with((1 << 25) + 1, 1 << 31) && !with(1 << 26, (1 << 31) + 64));
}

/// The store that covers the only binding, an array of `ty`.
fn of_type(ty: &str, body: &str) -> (std::sync::Arc<EntryPoint>, Option<LinearStore>) {
    let k = kernel(&format!(
        "enable f16; enable wgpu_int16; @group(0) @binding(0) var<storage, read_write> o: array<{ty}>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {{ {body} }}"
    ));
    let store = k.coverage().stores[0].clone();
    (k, store)
}

#[test]
fn t6a_elements_of_two_and_eight_bytes_are_counted_as_such() {
    let types =
        [("f16", 2), ("i16", 2), ("u16", 2), ("vec2<f16>", 4), ("vec3<f16>", 8), ("mat3x2<f16>", 12), ("mat2x3<f16>", 16)];
    let wide = [("f64", 8), ("i64", 8), ("u64", 8), ("vec3<u64>", 32), ("mat4x4<f64>", 128)];
    for (ty, size) in types.into_iter().chain(wide) {
        for guard in ["", "if (gid.x < arrayLength(&o))"] {
            let (k, store) = of_type(ty, &format!("{guard} {{ o[gid.x] = {ty}(); }}"));
            let store = store.unwrap_or_else(|| panic!("{ty} {guard}"));
            assert_eq!(store.stride, size, "{ty}");
            let with = |view: u64| store.covers(k.reflection(), [2, 1, 1], view, &[], &|_| None);
            assert!(with(128 * size) && with(127 * size) && with(size), "{ty} {guard}");
            assert!(!with(129 * size) && !with(256 * size), "{ty} {guard}");
        }
    }
}

#[test]
fn t6a_indices_that_wrap_elsewhere_prove_nothing() {
    for index in [
        "u16(gid.x)",
        "u32(u16(gid.x))",
        "u64(gid.x) * 0x100000001lu",
        "u32(u64(gid.x) * 3lu / 3lu)",
        "i16(gid.x)",
        "u32(f16(gid.x))",
    ] {
        assert_eq!(of_type("f16", &format!("o[{index}] = 1h;")).1, None, "{index}");
    }
    for guard in ["u16(gid.x) < u16(100)", "u64(gid.x) < 100lu", "f16(gid.x) < 100h", "u16(gid.x) < u16(arrayLength(&o))"] {
        assert_eq!(of_type("f16", &format!("if ({guard}) {{ o[gid.x] = 1h; }}")).1, None, "{guard}");
    }
    // Components and halves of elements are no elements.
    assert_eq!(of_type("vec4<f16>", "o[gid.x].x = 1h;").1, None);
    assert_eq!(of_type("mat2x2<f16>", "o[gid.x][1] = vec2<f16>();").1, None);
}

#[test]
fn t6a_stores_of_called_functions_count() {
    for (body, guard) in [
        ("put(gid.x);", Guard::None),
        ("guarded(gid.x);", Guard::OwnLength),
        ("if (gid.x < im.n) { put(gid.x); }", Guard::Below(Extent::Immediate(0))),
        ("element(&o, gid.x);", Guard::None),
        ("let i = place(gid, 0u); o[i] = 1u;", Guard::None),
        ("half(gid.x); o[gid.x] = 1u;", Guard::None),
        ("if (a[0] == 1u) { put(gid.x); } else { o[gid.x] = 1u; }", Guard::None),
    ] {
        assert_eq!(proven(body).guard, guard, "{body}");
    }
    let rows = found("8, 8", "put(place(gid, im.w));", "o").expect("found");
    assert_eq!(rows.row, Extent::Immediate(4));
    for body in [
        "half(gid.x);",
        "put(gid.x * 2u);",
        "put(a[gid.x]);",
        "o[early(gid.x)] = 1u;",
        "o[place(gid.yxz, 8u)] = 1u;",
        "var i = gid.x; through(&i); o[i] = 1u;",
        "for (var k = 0u; k < im.n; k++) { put(gid.x); }",
        "if (a[0] == 1u) { put(gid.x); }",
        "if (a[0] == 1u) { put(gid.x); } else { put(gid.y); }",
        "element(&o, gid.x + 1u);",
    ] {
        not_proven(body);
    }
}

#[test]
fn t6a_one_store_of_each_workgroup_is_whole() {
    for (body, guard) in [
        ("o[wid.x] = 1u;", Guard::None),
        ("if (li == 0u) { o[wid.x] = 1u; }", Guard::None),
        ("if (li != 0u) { return; } o[wid.x] = 1u;", Guard::None),
        ("if (lid.x == 0u && lid.y == 0u) { o[wid.x] = 1u; }", Guard::None),
        ("if (li < 1u) { put(wid.x); }", Guard::None),
        ("if (li <= 3u) { o[wid.x] = 1u; }", Guard::None),
        ("workgroupBarrier(); if (li == 0u) { if (wid.x < arrayLength(&o)) { o[wid.x] = 1u; } }", Guard::OwnLength),
        ("if (li == 0u && wid.x < im.n) { o[wid.x] = 1u; }", Guard::Below(Extent::Immediate(0))),
        ("o[wid.x + li] = 1u;", Guard::None),
        ("o[gid.x / 64u] = 1u; o[wid.x] = 1u;", Guard::None),
    ] {
        for size in ["64", "8, 8"] {
            let store = found(size, body, "o").unwrap_or_else(|| panic!("not found in {body}"));
            assert_eq!((store.guard, store.groups), (guard, true), "{body}");
        }
    }
    for body in [
        "if (li == 1u) { o[wid.x] = 1u; }",
        "if (li == 63u) { o[wid.x] = 1u; }",
        "if (li > 0u) { o[wid.x] = 1u; }",
        "if (li == 0u) { return; } o[wid.x] = 1u;",
        "if (gid.x == 0u) { o[wid.x] = 1u; }",
        "if (li == a[0]) { o[wid.x] = 1u; }",
        "if (li == 0u && a[0] == 1u) { o[wid.x] = 1u; }",
        "o[wid.x + li + 1u] = 1u;",
        "o[wid.x * 2u + li] = 1u;",
        "o[wid.y] = 1u;",
        "o[wid.x ^ li] = 1u;",
        "if (li == 0u) { o[gid.x] = 1u; }",
        "if (li == 0u) { for (var k = 0u; k < 4u; k++) { o[wid.x] = 1u; } }",
        "if (li + wid.x == 1u) { o[wid.x] = 1u; }",
    ] {
        not_proven(body);
    }
    let k = entry("64", "if (li == 0u) { o[wid.x + wid.y * nwg.x] = 1u; }");
    let store = k.coverage().stores[0].clone().expect("found");
    assert_eq!(store.row, Extent::GridWidth);
    let with = |grid: [u32; 3], elements: u64| store.covers(k.reflection(), grid, elements * 4, &[], &|_| None);
    assert!(with([5, 3, 1], 15) && with([5, 3, 9], 15) && with([5, 3, 1], 14));
    assert!(!with([5, 3, 1], 16) && !with([5, 3, 1], 64) && !with([0, 3, 1], 1));
    // What each invocation stores somewhere covers the place of the first one.
    let k = entry("64", "o[lid.x] = 1u;");
    let store = k.coverage().stores[0].clone().expect("found");
    assert!(store.covers(k.reflection(), [2, 1, 1], 4, &[], &|_| None));
    assert!(!store.covers(k.reflection(), [2, 1, 1], 8, &[], &|_| None));
}

/// The stride of the only store of a kernel, and whether it leaves no byte of that alone.
fn density(k: &EntryPoint) -> Option<(u64, bool)> {
    let store = k.coverage().stores.first()?.as_ref()?;
    Some((store.stride, store.dense))
}

#[test]
fn t6a_a_store_is_dense_when_it_leaves_no_byte_of_an_element_alone() {
    let types = [
        ("u32", 4, true),
        ("f16", 2, true),
        ("vec2<f32>", 8, true),
        ("vec4<u32>", 16, true),
        ("vec3<f32>", 16, false),
        ("vec3<f16>", 8, false),
        ("vec4<f16>", 8, true),
        ("vec3<u64>", 32, false),
        ("mat2x2<f32>", 16, true),
        ("mat3x2<f16>", 12, true),
        ("mat4x2<f32>", 32, true),
        ("mat3x3<f32>", 48, false),
        ("mat2x3<f16>", 16, false),
        ("mat4x4<f64>", 128, true),
        ("array<u32, 3>", 12, true),
        ("array<array<vec2<f32>, 2>, 3>", 48, true),
        ("array<array<vec3<f32>, 2>, 3>", 96, false),
        ("Filled", 16, true),
        ("Hole", 32, false),
        ("Tail", 16, false),
        ("Halves", 8, false),
        ("HalvesOnly", 6, true),
        ("Sized", 20, false),
        ("LastSized", 16, false),
        ("Aligned", 32, false),
        ("AlignedAll", 16, false),
        ("Nested", 32, true),
        ("NestedHole", 32, false),
        ("InArray", 32, true),
        ("InArrayHole", 64, false),
    ];
    for (ty, stride, dense) in types {
        let source = |whole: bool| {
            let (binding, store) = if whole { (ty.to_owned(), "o") } else { (format!("array<{ty}>"), "o[gid.x]") };
            format!(
                "enable f16; {STRUCTURES} @group(0) @binding(0) var<storage, read_write> o: {binding};
                @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {{ {store} = {ty}(); }}"
            )
        };
        assert_eq!(density(&kernel(&source(false))), Some((stride, dense)), "{ty}");
        // A vector alone is as large as its components: nothing follows them.
        let (stride, dense) = match ty {
            "vec3<f32>" => (12, true),
            "vec3<f16>" => (6, true),
            "vec3<u64>" => (24, true),
            _ => (stride, dense),
        };
        assert_eq!(density(&kernel(&source(true))), Some((stride, dense)), "the whole of {ty}");
    }
}

const STRUCTURES: &str = "
struct Filled { a: vec3<f32>, b: f32 }
struct Hole { a: f32, b: vec3<f32>, c: f32 }
struct Tail { a: vec3<f32> }
struct Halves { a: f16, b: f32 }
struct HalvesOnly { a: f16, b: f16, c: f16 }
struct Sized { @size(16) a: f32, b: f32 }
struct LastSized { a: f32, @size(12) b: f32 }
struct Aligned { a: f32, @align(16) b: vec4<f32> }
struct AlignedAll { @align(16) a: f32 }
struct Nested { a: Filled, b: vec4<u32> }
struct NestedHole { a: Tail, b: vec4<f32> }
struct InArray { a: array<Filled, 2> }
struct InArrayHole { a: array<Tail, 3>, b: vec4<f32> }
";

#[test]
fn t6a_elements_of_glsl_are_dense_by_the_rule_of_their_block() {
    for (packing, ty, value, want) in [
        ("std430", "float", "1.0", Some((4, true))),
        ("std430", "vec3", "vec3(1.0)", Some((16, false))),
        ("std430", "mat2", "mat2(1.0)", Some((16, true))),
        ("std430", "mat3", "mat3(1.0)", Some((48, false))),
        ("std140", "vec4", "vec4(1.0)", Some((16, true))),
        ("std140", "vec3", "vec3(1.0)", Some((16, false))),
        // Such an element is stored as the first part of a larger one: no store of a whole element.
        ("std140", "float", "1.0", None),
        ("std140", "vec2", "vec2(1.0)", None),
    ] {
        let source = format!(
            "#version 450\nlayout(local_size_x = 64) in;\nlayout({packing}, binding = 0) buffer O {{ {ty} o[]; }};
            void main() {{ o[gl_GlobalInvocationID.x] = {value}; }}"
        );
        let module = Module::parse(&Source::glsl(&source)).unwrap_or_else(|e| panic!("{e}"));
        let k = module.entry_point(None, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(density(&k), want, "{packing} {ty}");
    }
}

#[test]
fn t6a_strides_of_spirv_beyond_the_element_are_not_dense() {
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) gid: vec3<u32>) { o[gid.x] = 1u; }";
    for stride in [4, 8, 12] {
        let mut words = common::mutate::spirv(source).expect("a module");
        let mut at = 5;
        while at < words.len() {
            let (length, opcode) = (words[at] >> 16, words[at] & 0xffff);
            // OpDecorate, ArrayStride.
            if opcode == 71 && words[at + 2] == 6 {
                words[at + 3] = stride;
            }
            at += length as usize;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let module = Module::parse(&Source::spirv(&bytes)).unwrap_or_else(|e| panic!("{e}"));
        let k = module.entry_point(None, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(density(&k), Some((u64::from(stride), stride == 4)), "{stride}");
    }
}

//! Lowered modules: that they are valid whatever the kernel, and what is checked and what is not. What they do is tested where they run.

use std::sync::Arc;

use super::*;

const HEAD: &str = "
    struct Part { mass: f32, at: vec3<f32>, history: array<vec2<u32>, 5> }
    struct Tail { count: u32, parts: array<Part> }
    @group(0) @binding(0) var<storage, read> I: array<u32>;
    @group(0) @binding(1) var<storage, read_write> O: array<u32>;
    @group(0) @binding(2) var<storage, read_write> A: array<atomic<u32>>;
    @group(1) @binding(0) var<storage, read_write> T: Tail;
    @group(0) @binding(4) var<uniform> U: array<vec4<u32>, 6>;
    var<workgroup> w: array<u32, 4>;
    var<private> p: array<array<u32, 3>, 2>;
";

fn entry(body: &str) -> Arc<EntryPoint> {
    source(&format!("{HEAD} @compute @workgroup_size(8, 2) fn main(@builtin(local_invocation_id) l: vec3<u32>) {{ {body} }}"))
}

fn source(source: &str) -> Arc<EntryPoint> {
    let module = crate::Module::parse(&crate::Source::wgsl(source)).unwrap_or_else(|e| panic!("{e}"));
    module.entry_point(None, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn lower(entry: &Arc<EntryPoint>, deferred: bool) -> Lowered {
    entry.lower(&Lowering { bounds: Bounds::Validate, deferred, print_room: 4096, names: None }).unwrap_or_else(|e| panic!("{e}"))
}

/// What is checked in a kernel, in its order.
fn sites(body: &str) -> Vec<String> {
    let entry = entry(body);
    let lowered = lower(&entry, false);
    lower(&entry, true);
    lowered.reports().sites().iter().map(|site| site.what.clone()).collect()
}

#[test]
fn l5_every_kind_of_access_is_checked_and_named() {
    for (body, expected) in [
        ("O[I[2]] = 1u;", vec!["I", "O"]),
        ("let i = I[0]; O[i] += 1u;", vec!["O"]),
        (
            "let i = I[0]; let j = I[0] + 1u; T.parts[i].history[j][i] = 1u;",
            vec!["T.parts", "T.parts[..].history", "T.parts[..].history[..]"],
        ),
        ("let i = I[0]; p[i][i + 1u] = 2u; O[0] = p[1][i];", vec!["p", "p[..]", "p[1]"]),
        ("let i = I[0]; w[i] = 1u; workgroupBarrier(); O[0] = w[i + 1u];", vec!["w", "w"]),
        ("let i = I[0]; O[0] = U[i][i + 1u];", vec!["U", "U[..]"]),
        ("let i = I[0]; atomicAdd(&A[i], 1u); O[0] = atomicLoad(&A[i + 1u]);", vec!["A", "A"]),
        ("let v = vec4(I[0]); O[0] = v[v.x];", vec!["v"]),
        ("let i = I[0]; let a = array(1u, 2u, i); O[0] = a[i];", vec!["a"]),
        ("let i = I[0]; var m = mat3x2<f32>(); m[i][i + 1u] = 1.0; O[0] = u32(m[0][i]);", vec!["m", "m[..]", "m[0]"]),
        ("let i = bitcast<i32>(I[0]); O[i] = 1u;", vec!["O"]),
    ] {
        assert_eq!(sites(body), expected, "{body}");
    }
}

#[test]
fn what_is_surely_in_range_is_not_checked() {
    for body in [
        "O[0] = I[0];",
        "w[I[0] & 3u] = 1u; w[I[0] % 4u] = 1u; w[I[0] >> 30u] = 1u; w[min(I[0], 3u)] = 1u;",
        "w[l.y + 2u * l.y] = 1u; p[l.y][0] = 1u;",
        "for (var k = 0u; k < 4u; k++) { w[k] = 1u; }",
        "for (var k = 0; k < 4; k++) { w[k] = 1u; }",
        "for (var k = 0; k <= 3; k += 2) { w[k] = 1u; }",
        "let i = clamp(bitcast<i32>(I[0]), 0, 3); w[i] = 1u;",
        "let v = vec3(I[0]); O[0] = v[l.y];",
    ] {
        assert_eq!(sites(body), [""; 0], "{body}");
    }
    for body in [
        "w[I[0] & 7u] = 1u;",
        "w[l.x] = 1u;",
        "w[min(bitcast<i32>(I[0]), 3)] = 1u;",
        "for (var k = 0; k < 5; k++) { w[k] = 1u; }",
        "for (var k = bitcast<i32>(I[0]); k < 4; k++) { w[k] = 1u; }",
        "for (var k = 0; k < 4; k++) { w[k] = 1u; if (I[0] == 1u) { k -= 3; } }",
        "for (var k = 3; k < 4; k--) { w[k] = 1u; }",
        "var k = 0; for (; k < 4; k++) { } w[k] = 1u;",
        "O[l.y] = 1u;",
    ] {
        assert_eq!(sites(body).len(), 1, "{body}");
    }
}

#[test]
fn arguments_of_functions_are_known_by_all_their_callers() {
    let at = |calls: &str| {
        let text = format!(
            "{HEAD} fn fetch(i: u32) -> u32 {{ return w[i]; }}
            @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) li: u32) {{ O[0] = {calls}; }}"
        );
        lower(&source(&text), false).reports().sites().len()
    };
    assert_eq!(at("fetch(li) + fetch(3u)"), 0);
    assert_eq!(at("fetch(li) + fetch(4u)"), 1);
    assert_eq!(at("fetch(li) + fetch(I[0])"), 1);
}

#[test]
fn pointers_with_indices_carry_what_is_wrong_with_them() {
    let text = format!(
        "{HEAD}
        fn inner(q: ptr<function, u32>, on: bool) {{ if (on) {{ *q += 1u; }} }}
        fn outer(q: ptr<function, array<u32, 3>>, i: u32, on: bool) {{ inner(&(*q)[i], on); inner(&(*q)[1], on); }}
        @compute @workgroup_size(4) fn main() {{
            var a: array<array<u32, 3>, 2>;
            outer(&a[I[0]], I[0] + 1u, I[0] == 7u);
            outer(&a[1], 2u, true);
        }}"
    );
    for deferred in [false, true] {
        let lowered = lower(&source(&text), deferred);
        let what: Vec<_> = lowered.reports().sites().iter().map(|site| site.what.as_str()).collect();
        assert_eq!(what, ["q", "a"]);
        let hidden = |name: &str| {
            let found = lowered.module().functions.iter().find(|(_, f)| f.name.as_deref() == Some(name));
            found.map_or(0, |(_, f)| f.arguments.len())
        };
        // The invocation, and one for the pointer.
        assert_eq!((hidden("inner"), hidden("outer")), (4, 5));
    }
}

#[test]
fn a_kernel_with_nothing_to_report_is_left_as_it_is() {
    let entry = entry("O[0] = I[0];");
    for bounds in [Bounds::Checked, Bounds::Unchecked] {
        let lowered = entry.lower(&Lowering { bounds, deferred: false, print_room: 4096, names: None }).expect("lowers");
        assert!(std::ptr::eq(lowered.module(), entry.module()) && lowered.reports().record().is_none());
    }
    let lowered = lower(&entry, false);
    assert!(lowered.reports().record().is_none() && lowered.record_variable().is_none());
}

#[test]
fn the_record_lies_where_the_kernel_has_no_binding() {
    let record = lower(&entry("O[I[0]] = 1u;"), false).reports().record().expect("one");
    assert_eq!((record.group, record.binding, record.size), (0, 3, RECORD_HEAD));
}

#[test]
fn prints_are_left_out_when_nobody_listens() {
    let entry = entry("debugPrintf(\"%u\", I[0]); O[0] = 1u;");
    let lowered =
        entry.lower(&Lowering { bounds: Bounds::Checked, deferred: false, print_room: 0, names: None }).expect("lowers");
    assert!(!lowered.reports().prints() && lowered.reports().record().is_none());
    let lowered =
        entry.lower(&Lowering { bounds: Bounds::Checked, deferred: false, print_room: 400, names: None }).expect("lowers");
    assert!(lowered.reports().prints());
    assert_eq!(lowered.reports().record().map(|record| record.size), Some(RECORD_HEAD + 400));
    assert_eq!(entry.reflection().bindings.iter().filter(|b| b.access.writes()).count(), 1, "a print writes no binding");
}

#[test]
fn t6a_prints_do_not_hide_whole_writes_and_change_the_hash() {
    let text = |print: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {{ {print} o[g.x] = g.x; {print} }}"
        )
    };
    let (without, with) = (source(&text("")), source(&text("debugPrintf(\"%v3u\\n\", g);")));
    assert!(without.coverage().stores[0].is_some());
    assert_eq!(without.coverage(), with.coverage());
    assert_eq!(without.reflection().bindings, with.reflection().bindings);
    assert_ne!(with.hash(), source(&text("debugPrintf(\"%v3u\", g);")).hash());
}

#[test]
fn a_print_with_values_of_other_types_is_refused_at_the_value() {
    let refused = |body: &str| {
        let text = format!("{HEAD}\n@compute @workgroup_size(1) fn main() {{\n{body}\n}}");
        let found = crate::Module::parse(&crate::Source::wgsl(&text)).err().expect("refused");
        let first = found.list.first().cloned().expect("one");
        let line = HEAD.lines().count() as u32 + 3;
        assert_eq!(first.location.as_ref().map(|at| at.line), Some(line), "{found}");
        (first.location.map_or(0, |at| at.column), first.message)
    };
    let (column, message) = refused("debugPrintf(\"%d\", I[0]);");
    assert!(column == 19 && message.contains("`i32`"), "{column} {message}");
    let (column, message) = refused("debugPrintf(\"%u %v3f\", I[0], vec4(1.0));");
    assert!(column == 30 && message.contains("`vec3<f32>`"), "{column} {message}");
    let (column, message) = refused("debugPrintf(\"%u\", I[0], 2u);");
    assert!(column == 13 && message.contains("2 are given"), "{column} {message}");
}

#[test]
fn any_bytes_as_a_record_give_an_answer() {
    let entry = entry("debugPrintf(\"%u %v4f %d\", I[I[0]], vec4(1.0), 3); debugPrintf(\"x\");");
    let reports = Arc::clone(lower(&entry, false).reports());
    let mut state = 7_u64;
    for size in 0..600 {
        let bytes: Vec<u8> = (0..size)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Small numbers are what means something.
                if state >> 63 == 0 { (state >> 40) as u8 & 3 } else { (state >> 40) as u8 }
            })
            .collect();
        let printed = reports.printed(&bytes);
        assert!(printed.lines.len() <= size / 16 + 1);
        let _ = (reports.violation(&bytes), reports.used(&bytes));
    }
}

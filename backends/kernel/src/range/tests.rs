//! What is proven to be in range, and what must not be. That what is proven is so is tested where kernels run, on random ones.

use std::sync::Arc;

use naga::{Expression, Statement};

use super::ModuleRanges;
use crate::lower::{Lowering, MAX_PRINT_ROOM};
use crate::reflection::Bounds;
use crate::{EntryPoint, Module, Source};

const HEAD: &str = "
    struct Tail { count: u32, parts: array<vec2<u32>> }
    struct Given { count: u32, more: vec2<u32>, signed: i32 }
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    @group(0) @binding(2) var<storage, read_write> t: Tail;
    @group(0) @binding(3) var<uniform> u: vec4<u32>;
    var<immediate> given: Given;
    var<workgroup> w: array<u32, 256>;
    var<private> free: u32;
    fn change(p: ptr<function, u32>) { *p += 1u; }
    fn keep(p: ptr<function, u32>) -> u32 { return *p; }
";

fn source(text: &str) -> Arc<EntryPoint> {
    let module = Module::parse(&Source::wgsl(text)).unwrap_or_else(|e| panic!("{e}"));
    module.entry_point(None, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// What is checked in a kernel, in its order.
fn checked(text: &str) -> Vec<String> {
    let lowering = Lowering { bounds: Bounds::Validate, deferred: false, print_room: MAX_PRINT_ROOM, names: None };
    let lowered = source(text).lower(&lowering).unwrap_or_else(|e| panic!("{e}"));
    lowered.reports().sites().iter().map(|site| site.what.clone()).collect()
}

fn body(text: &str) -> String {
    format!(
        "{HEAD} @compute @workgroup_size(16, 8) fn main(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) li: u32,
            @builtin(local_invocation_id) l: vec3<u32>) {{
            let i = id.x; let j = bitcast<i32>(id.y); let n = arrayLength(&a); {text} }}"
    )
}

fn proven(bodies: &[&str]) {
    for text in bodies {
        assert_eq!(checked(&body(text)), [""; 0], "not proven: {text}");
    }
}

fn open(bodies: &[&str]) {
    for text in bodies {
        assert_ne!(checked(&body(text)), [""; 0], "said to be proven: {text}");
    }
}

#[test]
fn l5_an_index_below_the_length_is_proven_where_the_condition_holds() {
    proven(&[
        "if (i < arrayLength(&a)) { a[i] = 1u; }",
        "if (arrayLength(&a) > i) { a[i] = 1u; }",
        "if (i < n) { a[i] = a[i] + 1u; }",
        "if (i >= n) { return; } a[i] = 1u;",
        "if (!(i < n)) { return; } a[i] = 1u;",
        "if (n <= i) { return; } else { a[i] = 1u; }",
        "if (i < n) { } else { return; } a[i] = 1u;",
        "if (i <= n - 1u) { a[i] = 1u; }",
        "if (i == n) { return; } if (i > n) { return; } if (i == 0u) { a[i] = 1u; }",
        "let ok = i < n; if (ok) { a[i] = 1u; }",
        "var k = i; if (k < n) { a[k] = 1u; k = 7u; }",
        "let at = id; if (at.x < n) { a[id.x] = 1u; }",
        "if (i < arrayLength(&t.parts)) { t.parts[i].y = 1u; }",
        "if (i < n) { if (i < arrayLength(&b)) { a[i] = b[i]; } }",
        "if (i < n) { free = 1u; a[i] = 1u; }",
        "if (n > 5u) { a[5] = 1u; }",
        "{ if (i >= n) { return; } } a[i] = 1u;",
        "if (i >= n) { if (li == 0u) { return; } else { return; } } a[i] = 1u;",
    ]);
    open(&[
        "a[i] = 1u;",
        "if (i <= n) { a[i] = 1u; }",
        "if (i > n) { return; } a[i] = 1u;",
        "if (i < n) { a[i + 1u] = 1u; }",
        "if (i < n) { a[i - 1u] = 1u; }",
        "if (i < n) { } a[i] = 1u;",
        "if (i < n) { } else { a[i] = 1u; }",
        "if (i >= n) { if (li == 0u) { return; } } a[i] = 1u;",
        "if (i >= n) { a[0] = 1u; } a[i] = 1u;",
        "if (i < arrayLength(&b)) { a[i] = 1u; }",
        "if (i < arrayLength(&t.parts)) { a[i] = 1u; }",
        "if (id.y < n) { a[id.x] = 1u; }",
        "if (n > 5u) { a[6] = 1u; }",
        "if (n != 5u) { a[5] = 1u; }",
        "if (f32(i) < f32(n)) { a[i] = 1u; }",
        "if (i != n) { a[i] = 1u; }",
        "if (i < n - 1u) { } else { a[i] = 1u; }",
        "let p = &a[i]; if (i < n) { *p = 1u; }",
    ]);
}

#[test]
fn l5_a_variable_counts_as_what_it_was_when_it_was_compared() {
    proven(&[
        "var k = i; if (k >= n) { return; } a[k] = 1u;",
        "var k = i; let was = k; k += 9u; if (was < n) { a[was] = 1u; }",
        "var k = i; if (k < n) { if (li == 0u) { free = 1u; } a[k] = 1u; }",
        "var k = i; if (k < n) { if (li == 0u) { k = 0u; } else { k = 0u; } a[k] = 1u; }",
        "var v = id; if (v.x < n) { a[v.x] = 1u; }",
    ]);
    open(&[
        "var k = i; if (k < n) { k += 1u; a[k] = 1u; }",
        "var k = i; let was = k; k += 1u; if (was < n) { a[k] = 1u; }",
        "var k = i; if (k < n) { if (li == 0u) { k = id.y; } a[k] = 1u; }",
        "var k = i; if (li == 0u) { k = 0u; } else { k = id.y; } a[k] = 1u;",
        "var k = i; if (k < n) { switch (li) { case 1u: { k = id.y; } default: { } } a[k] = 1u; }",
        "var k = i; if (k < n) { switch (li) { case 1u: { k = id.y; } case 2u: { a[k] = 1u; } default: { } } a[k] = 1u; }",
        "var k = i; if (k < n) { change(&k); a[k] = 1u; }",
        "var k = i; if (k < n) { let p = &k; *p = id.y; a[k] = 1u; }",
        "var v = id; if (v.x < n) { v.x = id.y; a[v.x] = 1u; }",
        "var v = id; if (v.x < n) { v[li & 1u] = id.y; a[v.x] = 1u; }",
        "var v = id; if (v.x < n) { v = v.yxz; a[v.x] = 1u; }",
        "if (free < n) { a[free] = 1u; }",
        "if (b[0] < n) { a[b[0]] = 1u; }",
        "if (u.x < n) { a[u.x] = 1u; }",
        "let k = i; if (k < n) { let k = id.y; a[k] = 1u; }",
        "var m = n; if (i < m) { } m = 3u; if (i < m) { a[i] = 1u; }",
        "var m = n; m += 1u; if (i < m) { a[i] = 1u; }",
    ]);
}

#[test]
fn l5_arithmetic_on_a_proven_index_must_not_wrap() {
    proven(&[
        "if (i + 1u < n) { a[i + 1u] = 1u; }",
        "if (i < n && i > 0u) { a[i - 1u] = 1u; }",
        "if (i < n) { if (i != 0u) { a[i - 1u] = 1u; } }",
        "if (i >= 3u) { if (i - 3u < n) { a[i - 3u] = 1u; } }",
        "if (i < n) { a[i / 2u] = 1u; a[i >> 1u] = 1u; a[i & 6u] = 1u; a[i % 3u] = 1u; }",
        "if (i < n) { a[n - 1u - i] = 1u; }",
        "if (i < n - 1u) { a[i + 1u] = 1u; }",
        "a[i % n] = 1u; a[min(i, n - 1u)] = 1u; a[n - 1u] = 1u; a[n / 2u] = 1u;",
        "a[min(i, arrayLength(&a) - 1u)] = 1u;",
        "a[clamp(i, 0u, n - 1u)] = 1u;",
        "if (li + 1u < n) { a[li] = 1u; a[li + 1u] = 1u; }",
        "if (i < n) { a[max(i, 0u)] = 1u; a[select(i, 0u, li == 1u)] = 1u; }",
        "if (i < min(n, given.count)) { a[i] = 1u; }",
        "if (i >= li && i < n) { a[i - li] = 1u; }",
    ]);
    open(&[
        "if (i + 1u < n) { a[i] = 1u; }",
        "if (i < n) { a[i - 1u] = 1u; }",
        "if (i < n && i >= 0u) { a[i - 1u] = 1u; }",
        "if (i - 3u < n) { a[i] = 1u; }",
        "if (i < n - 2u) { a[i] = 1u; }",
        "if (i < n) { a[n - i] = 1u; }",
        "if (i <= n) { a[n - 1u - i] = 1u; }",
        "if (i < n - 1u) { a[i + 2u] = 1u; }",
        "a[min(i, n)] = 1u;",
        "a[max(i, n - 1u)] = 1u;",
        "a[n - 2u] = 1u;",
        "a[i % (n + 1u)] = 1u;",
        "a[n * 2u / 2u] = 1u;",
        "if (i * 2u < n) { a[i] = 1u; }",
        "if (i < n) { a[i * 1u] = 1u; a[i << 1u] = 1u; }",
        "if (i < n) { a[select(i, id.y, li == 1u)] = 1u; }",
        "if (i < n) { a[max(i, id.y)] = 1u; }",
        "if (i < max(n, given.count)) { a[i] = 1u; }",
        "if (i < n) { a[i - li] = 1u; }",
        "if (i < n) { a[i + li] = 1u; }",
        "if (i < n) { a[i ^ 1u] = 1u; a[i | 1u] = 1u; }",
        "if (i < n) { a[~i] = 1u; }",
        "if (i > 65535u) { w[min(i * 65536u, 300u) - 300u] = 1u; }",
        "a[n / 1u] = 1u;",
        "a[n >> 0u] = 1u;",
        "a[i % n + 1u] = 1u;",
        "w[i % min(id.y, 7u)] = 1u;",
    ]);
}

#[test]
fn l5_signed_indices_need_both_ends() {
    proven(&[
        "if (j >= 0 && j < i32(n)) { a[j] = 1u; }",
        "if (j < 0 || j >= i32(n)) { return; } a[j] = 1u;",
        "if (j >= 0 && u32(j) < n) { a[j] = 1u; }",
        "if (0 <= j) { if (j < i32(n)) { a[u32(j)] = 1u; } }",
        "for (var k = 0; k < i32(n); k++) { if (li == 1u) { continue; } a[k] = 1u; }",
        "if (j > 0 && j < i32(n)) { a[j - 1] = 1u; }",
        "for (var k = 0; k < i32(n); k++) { a[k] = 1u; }",
        "for (var k = 0; k < i32(arrayLength(&a)); k += 1) { a[k] = 1u; }",
        "for (var k = 3; k < i32(n); k++) { a[k - 3] = 1u; }",
        "for (var k = 255; k >= 0; k--) { w[k] = 1u; }",
    ]);
    open(&[
        "if (j < i32(n)) { a[j] = 1u; }",
        "if (j < 4) { w[u32(j)] = 1u; }",
        "if (j < 5) { w[j & i32(i & 1023u)] = 1u; }",
        "if (j >= 0) { a[j] = 1u; }",
        "if (j >= -1 && j < i32(n)) { a[j] = 1u; }",
        "if (u32(j) < n) { a[j + 1] = 1u; }",
        "if (j >= 0 && j <= i32(n)) { a[j] = 1u; }",
        "if (j >= 0 && j < i32(n)) { a[j - 1] = 1u; }",
        "if (j >= 0 && j < i32(n)) { a[j + 1] = 1u; }",
        "for (var k = -1; k < i32(n); k++) { a[k] = 1u; }",
        "for (var k = 0; k < i32(n); k += 2) { a[k] = 1u; }",
        "for (var k = 0; k < i32(n); k++) { if (li == 1u) { k -= 3; } a[k] = 1u; }",
        "for (var k = j; k < i32(n); k++) { a[k] = 1u; }",
        "for (var k = 256; k >= 0; k--) { w[k] = 1u; }",
        "for (var k = 255; k >= -1; k--) { w[k] = 1u; }",
        "var k = 0; loop { a[min(k, i32(n) - 1)] = 1u; k += 1; if (k == 7) { break; } }",
    ]);
}

#[test]
fn l5_loops_up_to_a_length_are_proven() {
    proven(&[
        "for (var k = 0u; k < n; k++) { a[k] = 1u; }",
        "for (var k = 0u; k < arrayLength(&a); k++) { a[k] = 1u; }",
        "for (var k = li; k < n; k += 128u) { a[k] += 1u; }",
        "var k = i; while (k < n) { a[k] = 1u; k += 7u; }",
        "var k = 0u; loop { if (k >= n) { break; } a[k] = 1u; if (li == 3u) { continue; } continuing { k++; } }",
        "var k = 0u; loop { if (k >= n) { break; } continuing { a[k] = 1u; k++; } }",
        "for (var k = 0u; k < n; k++) { for (var m = 0u; m < k; m++) { a[m] = a[k]; } }",
        "if (i < n) { for (var k = 0u; k < 9u; k++) { a[i] += k; } }",
        "var k = i; if (k >= n) { return; } for (var m = 0u; m < 9u; m++) { a[k] += m; }",
        "for (var s = 64u; s > 0u; s >>= 1u) { if (li < s) { w[li] += w[li + s]; } workgroupBarrier(); }",
        "for (var s = 128u; s > 0u; s /= 2u) { if (li < s) { w[li] += w[li + s]; } workgroupBarrier(); }",
        "for (var k = 0u; k < given.count; k++) { if (given.count <= n) { a[k] = 1u; } }",
        "for (var k = li; k < 256u; k += 128u) { w[k] = 1u; }",
        "for (var k = 0u; k + 1u < n; k += 2u) { a[k + 1u] = 1u; }",
        "for (var k = 0u; k < n; k++) { switch (li) { case 1u: { continue; } case 2u: { a[k] = 1u; } default: { a[k] = 2u; } } }",
    ]);
    open(&[
        "for (var k = 0u; k <= n; k++) { a[k] = 1u; }",
        "for (var k = 0u; k < n; k++) { a[k + 1u] = 1u; }",
        "for (var k = 0u; k < n; k++) { k++; a[k] = 1u; }",
        "for (var k = 0u; k < n; k++) { if (li == 0u) { k += 5u; } a[k] = 1u; }",
        "for (var k = 0u; k < n; k++) { } a[n] = 1u;",
        "var k = 0u; for (; k < n; k++) { } a[k] = 1u;",
        "var k = 0u; loop { a[k] = 1u; if (k >= n) { break; } continuing { k++; } }",
        "var k = 0u; if (k < n) { loop { a[k] = 1u; k++; if (li == 1u) { break; } } }",
        "var k = 0u; loop { if (k >= n) { break; } continuing { k++; a[k] = 1u; } }",
        "var k = 0u; loop { if (li == 1u) { continue; } if (k >= n) { break; } continuing { a[k] = 1u; k++; } }",
        "var k = 0u; loop { if (k >= n) { break; } if (li == 1u) { k++; continue; } continuing { a[k] = 1u; k++; } }",
        "var k = i; if (k < n) { for (var m = 0u; m < 9u; m++) { a[k] += m; k++; } }",
        "var k = i; if (k < n) { for (var m = 0u; m < 9u; m++) { a[k] += m; change(&k); } }",
        "var k = i; if (k < n) { loop { if (li == 0u) { break; } loop { k++; break; } } a[k] = 1u; }",
        "loop { if (i >= n) { break; } if (li == 1u) { break; } } a[i] = 1u;",
        "for (var m = n; m > 0u; m--) { a[m] = 1u; }",
        "for (var k = 0u; k < n; k--) { a[k - 1u] = 1u; }",
        "var m = n; for (var k = 0u; k < m; k++) { a[k] = 1u; m = id.y; }",
        "for (var s = 128u; s > 0u; s >>= 1u) { if (li < s) { w[li + s + 1u] = 1u; } workgroupBarrier(); }",
        "for (var s = 129u; s > 0u; s >>= 1u) { if (li < s) { w[li + s] = 1u; } workgroupBarrier(); }",
        "for (var s = 1u; s < 500u; s *= 2u) { w[s] = 1u; }",
        "for (var k = 0u; k != n; k++) { a[k + 1u] = 1u; }",
        "for (var k = given.count; k < given.more.x; k++) { if (given.count <= n) { a[k] = 1u; } }",
    ]);
}

#[test]
fn l5_conditions_are_taken_apart() {
    proven(&[
        "if (i < n && li == 3u) { a[i] = 1u; }",
        "if (li == 3u && i < n) { a[i] = 1u; }",
        "if (li == 3u || i >= n) { return; } a[i] = 1u;",
        "if (i < n && a[i] == 3u) { b[0] = 1u; }",
        "if (i >= n || a[i] == 3u) { return; } a[i] = 1u;",
        "if (i < n && id.y < n && id.z < n) { a[i] = a[id.y] + a[id.z]; }",
        "if (!(i >= n || li == 2u)) { a[i] = 1u; }",
        "if ((i < n) & (li == 2u)) { a[i] = 1u; }",
        "if ((i >= n) | (li == 2u)) { return; } a[i] = 1u;",
        "let ok = i < n && li > 2u; let other = id.y < n; if (ok && other) { a[i] = a[id.y]; }",
        "if (select(false, i < n, li == 1u)) { a[i] = 1u; }",
        "var k = 0u; while (k < n && a[k] != 0u) { k++; }",
    ]);
    open(&[
        "if (i < n || li == 3u) { a[i] = 1u; }",
        "if (li == 3u && i >= n) { return; } a[i] = 1u;",
        "if (!(i >= n && li == 2u)) { a[i] = 1u; }",
        "if (a[i] == 3u && i < n) { b[0] = 1u; }",
        "if (i >= n && a[i] == 3u) { return; }",
        "if ((i < n) | (li == 2u)) { a[i] = 1u; }",
        "if ((i >= n) | (li == 2u)) { a[i] = 1u; }",
        "if ((i < n) != (li == 2u)) { a[i] = 1u; }",
        "if (select(true, i < n, li == 1u)) { a[i] = 1u; }",
        "var ok = i < n; if (li == 1u) { ok = true; } if (ok) { a[i] = 1u; }",
        "var ok = i < n; loop { if (li == 1u) { break; } ok = true; if (id.y == 2u) { break; } } if (ok) { a[i] = 1u; }",
    ]);
}

#[test]
fn f1_conditions_that_exclude_each_other_are_followed_without_wrapping() {
    let never = |text: &str| {
        let made = body(&format!("if i < 5u {{ if i > 2000000000u {{ let y = i * i; let z = y + y; let w = z + y; {text} }} }}"));
        // Which accesses are proven where nobody comes does not matter.
        assert!(checked(&made).len() < 8, "{text}");
    };
    never("a[w] = 1u;");
    never("a[w + z] = 1u;");
    never("let v = w + z; if v < n { a[v] = 1u; } if n > v { a[n - v] = 1u; }");
    never("let v = w + z; if v != 7u { if v < u.x { if u.x < n { a[u.x - v] = 1u; } } }");
    never("let v = 3u - (w + z); a[v + v] = 1u; if v >= w { a[v - w] = 1u; }");
}

#[test]
fn l5_what_all_callers_know_holds_in_a_function() {
    let at = |functions: &str, calls: &str| checked(&format!("{}{functions}", body(calls))).len();
    let fetch = "fn fetch(k: u32) -> u32 { return a[k]; }";
    assert_eq!(at(fetch, "if (i < n) { b[0] = fetch(i); }"), 0);
    assert_eq!(at(fetch, "if (i < n) { b[0] = fetch(i) + fetch(n - 1u) + fetch(0u); }"), 0);
    assert_eq!(at(fetch, "if (i < n) { b[0] = fetch(i); } b[0] = fetch(i);"), 1);
    assert_eq!(at(fetch, "if (i < n) { b[0] = fetch(i + 1u); }"), 1);
    assert_eq!(at(fetch, "if (i < arrayLength(&b)) { b[0] = fetch(i); }"), 1);
    let two =
        "fn inner(k: u32) -> u32 { return a[k]; } fn outer(k: u32) -> u32 { if (k > 3u) { return inner(k - 1u); } return 0u; }";
    assert_eq!(at(two, "if (i < n) { b[0] = outer(i); }"), 0);
    assert_eq!(at(two, "if (i < n) { b[0] = outer(i); } b[1] = inner(i);"), 1 + 1);
    let guarded = "fn guarded(k: u32) -> bool { return k < arrayLength(&a); }";
    assert_eq!(at(guarded, "if (guarded(i)) { a[i] = 1u; }"), 1, "results are not followed");
    let early = "fn early(k: u32) -> u32 { if (k >= arrayLength(&a)) { return 0u; } return a[k]; }";
    assert_eq!(at(early, "b[0] = early(i) + early(id.y);"), 0);
    let signed = "fn signed(k: i32) -> u32 { return w[k]; }";
    assert_eq!(at(signed, "b[0] = signed(i32(li)) + signed(255);"), 0);
    assert_eq!(at(signed, "b[0] = signed(i32(li)) + signed(-1);"), 1);
    assert_eq!(at(signed, "b[0] = signed(i32(li)) + signed(256);"), 1);
    // In code that is never reached nothing is known, and nothing runs.
    assert_eq!(at(fetch, "return; b[0] = fetch(i);"), 1);
}

/// A `continue` may lead past what a continuing block uses.
#[test]
fn l5_what_a_continue_leads_past_is_not_known_behind_it() {
    proven(&["var k = i; loop { let m = k & 7u; if (li == 1u) { break; } continuing { w[m] = 1u; k++; } }"]);
    let text =
        "var k = i; loop { if (li == 1u) { continue; } let m = k & 7u; if (k > 9u) { break; } continuing { w[m] = 1u; k++; } }";
    if Module::parse(&Source::wgsl(&body(text))).is_ok() {
        open(&[text]);
    }
}

/// The IR may have one expression emitted in several blocks, though no front end does it: what holds in one of them does not in the others.
#[test]
fn l5_an_access_that_is_emitted_twice_needs_proof_both_times() {
    let text = "var<workgroup> w: array<u32, 8>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { if (i < 8u) { w[i] = 1u; } w[0] = 2u; }";
    for (before, after, in_range) in [(false, false, true), (false, true, false), (true, false, false), (true, true, false)] {
        let mut module = naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{e}"));
        let function = &mut module.entry_points[0].function;
        let body = function.body.clone();
        let inside = body.iter().find_map(|statement| match statement {
            Statement::If { accept, .. } => Some(accept.clone()),
            _ => None,
        });
        let again = |wanted: bool| inside.clone().filter(|_| wanted).map(Statement::Block);
        let mut all: Vec<_> = again(before).into_iter().collect();
        for statement in body.iter() {
            all.push(statement.clone());
            // Behind a return nothing runs.
            all.extend(again(after && matches!(statement, Statement::If { .. })));
        }
        function.body = naga::Block::from_vec(all);
        let access = function.expressions.iter().find(|(_, e)| matches!(e, Expression::Access { .. })).map(|(at, _)| at);
        let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
        let info = validator.validate(&module).unwrap_or_else(|e| panic!("{e:?}"));
        let ranges = ModuleRanges::find(&module, &info, 0);
        assert_eq!(access.map(|at| ranges.entry.in_range(at)), Some(in_range), "{before} {after}");
    }
}

/// Work is bounded, whatever the source says: then nothing is proven.
#[test]
fn hostile_kernels_take_bounded_time() {
    let deep = |levels: usize| {
        let mut text = "var k = i;".to_owned();
        (0..levels).for_each(|level| text += &format!("for (var v{level} = 0u; v{level} < n; v{level}++) {{ k += a[v{level}];"));
        text += "a[k] = 1u;";
        text + &"}".repeat(levels)
    };
    let long = |count: usize| (0..count).map(|at| format!("if (i + {at}u < n) {{ a[i + {at}u] = 1u; }}")).collect::<String>();
    let sum = (0..400).map(|at| format!("(i / {}u)", at + 1)).collect::<Vec<_>>().join(" + ");
    let and = (0..200).map(|at| format!("i + {at}u < n")).collect::<Vec<_>>().join(" && ");
    // A chain of subtractions, about which much is asked.
    let chain: String = (0..12).map(|at| format!("let c{} = c{at}{};", at + 1, " - 1u".repeat(400))).collect();
    let asked = "if (c12 < 1u) { a[0] = 1u; }".repeat(1500);
    let subtracted = format!("let c0 = a[li]; {chain} {asked}");
    let cases = [
        deep(60),
        subtracted,
        long(1500),
        format!("if ({sum} < n) {{ a[{sum}] = 1u; }}"),
        format!("if ({and}) {{ a[i] = 1u; }}"),
    ];
    for text in cases {
        let begin = std::time::Instant::now();
        checked(&body(&text));
        let took = begin.elapsed();
        assert!(took.as_secs() < 20, "{took:?}: {}", &text[..100]);
    }
}

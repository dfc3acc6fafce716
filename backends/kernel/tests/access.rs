//! T6: reads and writes per binding and entry point.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use common::{access, kernel};
use compute_kernel::reflection::Access::{self, Read, ReadWrite, Unused, Write};

/// The access of `x` at binding 0, `a` at 1 and `c` at 2 in a body.
fn uses(body: &str) -> [Access; 3] {
    let k = kernel(&format!(
        "struct S {{ u: u32, v: vec4<f32>, t: array<u32> }}
         @group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @group(0) @binding(1) var<storage, read_write> a: array<atomic<u32>>;
         @group(0) @binding(2) var<storage, read_write> c: S;
         fn fetch(i: u32) -> u32 {{ return x[i]; }}
         fn put(i: u32) {{ x[i] = i; }}
         fn twice(i: u32) {{ put(i); put(i + 1u); }}
         fn idle(i: u32) -> u32 {{ return i; }}
         fn assign(p: ptr<function, u32>) {{ *p = 1u; }}
         @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {{ let i = gid.x; {body} }}"
    ));
    [access(&k, 0), access(&k, 1), access(&k, 2)]
}

#[test]
fn t6_loads_read_stores_write_and_nothing_is_unused() {
    assert_eq!(uses(""), [Unused, Unused, Unused]);
    assert_eq!(uses("x[i] = 1u;"), [Write, Unused, Unused]);
    assert_eq!(uses("let v = x[i]; c.u = v;"), [Read, Unused, Write]);
    assert_eq!(uses("x[i] += 1u;"), [ReadWrite, Unused, Unused]);
    assert_eq!(uses("x[i] = x[i + 1u];"), [ReadWrite, Unused, Unused]);
}

#[test]
fn t6_parts_of_elements_count_as_the_whole_binding() {
    assert_eq!(uses("c.v.x = 1.0;"), [Unused, Unused, Write]);
    assert_eq!(uses("c.t[i] = 1u; c.u = u32(c.v.y);"), [Unused, Unused, ReadWrite]);
    assert_eq!(uses("let p = &c.t[i]; *p = 3u;"), [Unused, Unused, Write]);
}

#[test]
fn t6_atomics_read_and_write() {
    assert_eq!(uses("atomicAdd(&a[i], 1u);"), [Unused, ReadWrite, Unused]);
    assert_eq!(uses("atomicStore(&a[i], 1u);")[1], ReadWrite);
    assert_eq!(uses("x[0] = atomicLoad(&a[i]);"), [Write, ReadWrite, Unused]);
    assert_eq!(uses("let r = atomicCompareExchangeWeak(&a[i], 1u, 2u);")[1], ReadWrite);
}

#[test]
fn t6_a_length_alone_is_a_read_and_beside_stores_is_none() {
    assert_eq!(uses("let n = arrayLength(&x); c.u = n;"), [Read, Unused, Write]);
    assert_eq!(uses("if (i < arrayLength(&x)) { x[i] = 1u; }"), [Write, Unused, Unused]);
}

#[test]
fn t6_calls_and_pointers_are_followed() {
    assert_eq!(uses("put(i);"), [Write, Unused, Unused]);
    assert_eq!(uses("twice(i);"), [Write, Unused, Unused]);
    assert_eq!(uses("c.u = fetch(i);"), [Read, Unused, Write]);
    assert_eq!(uses("twice(fetch(i));"), [ReadWrite, Unused, Unused]);
    assert_eq!(uses("c.u = idle(i);"), [Unused, Unused, Write]);
    assert_eq!(uses("var v = 0u; assign(&v); x[v] = v;"), [Write, Unused, Unused]);
}

#[test]
fn t6_code_that_may_not_run_counts_as_run() {
    assert_eq!(uses("if (i > 1000u) { c.u = x[0]; }"), [Read, Unused, Write]);
    assert_eq!(uses("loop { if (i == 3u) { x[i] = 1u; break; } continuing { c.u = x[1]; } }"), [ReadWrite, Unused, Write]);
    assert_eq!(uses("switch i { case 1u: { x[0] = 1u; } default: { c.u = 1u; } }"), [Write, Unused, Write]);
}

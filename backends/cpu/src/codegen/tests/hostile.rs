//! Kernels that are as large as the front end lets them be, of shapes that a pass could lose itself in.

use std::time::{Duration, Instant};

use super::*;
use crate::codegen::jit::Source as Translated;
use crate::codegen::layout::Layout;
use crate::codegen::plan::Plan;
use crate::codegen::program::Program;

/// Plans a kernel on a thread whose stack is small: neither depth nor time may follow what the source says.
fn planned(source: &str) {
    let entry = entry(source);
    let lowered = lowered(&entry, Bounds::Checked);
    let started = Instant::now();
    let plan = || {
        let source = Translated::new(&lowered);
        let layout = Layout::new(source.module).unwrap_or_else(|_| panic!("a layout"));
        let mut program = Program::build(source, &layout).unwrap_or_else(|_| panic!("a program"));
        Plan::build(&mut program, &layout, source.index).unwrap_or_else(|_| panic!("a plan"));
    };
    std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(512 << 10);
        small.spawn_scoped(scope, plan).expect("a thread").join().expect("no panic");
    });
    assert!(started.elapsed() < Duration::from_secs(15), "took {:?}", started.elapsed());
}

const BINDING: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;";

#[test]
fn a_long_chain_of_operands_through_calls_needs_no_stack() {
    let chain: String =
        (1..=16).map(|at| format!("let a{at} = {}a{}{};", "max(x, ".repeat(60), at - 1, ")".repeat(60))).collect();
    let function = |at: usize, next: &str| {
        format!(
            "fn f{at}(y: u32, x: u32) {{ let a0 = y; {chain} var v = a16; if v == 7u {{ workgroupBarrier(); }} o[v] = v; {next} }}"
        )
    };
    let functions: String =
        (0..10).map(|at| function(at, &if at == 0 { String::new() } else { format!("f{}(a16, x);", at - 1) })).collect();
    let main = "@compute @workgroup_size(64) fn main(@builtin(workgroup_id) w: vec3<u32>) { f9(w.x, w.y); }";
    planned(&format!("{BINDING} {functions} {main}"));
}

#[test]
fn many_variables_and_branches_take_bounded_time() {
    let variables: String = (0..500).map(|at| format!("var v{at} = x; if x == {at}u {{ v{at} = 1u; }}")).collect();
    let calls = "f(o[0]);".repeat(35);
    planned(&format!("{BINDING} fn f(x: u32) {{ {variables} }} @compute @workgroup_size(1) fn main() {{ {calls} }}"));
}

#[test]
fn what_is_set_for_the_whole_workgroup_between_other_statements_takes_bounded_time() {
    let steps: String = (0..500).map(|at| format!("u = w + {at}u; *p = l + {at}u;")).collect();
    let calls = "f(&x, w.x, l);".repeat(20);
    planned(&format!(
        "{BINDING} fn f(p: ptr<function, u32>, w: u32, l: u32) {{ var u = 0u; {steps} if u == 3u {{ workgroupBarrier(); }} }}
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3<u32>) {{
            var x = 0u; {calls} o[l] = x; }}"
    ));
}

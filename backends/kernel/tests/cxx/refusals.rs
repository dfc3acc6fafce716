//! What cannot be said in a text yet is refused with its place, and nothing else comes out.

use compute_kernel::Diagnostics;
use compute_kernel::cxx::{CUDA, HIP};

use super::*;

fn refusal(source: &str, options: &Options<'_>) -> Diagnostics {
    let lowering = Lowering { bounds: Bounds::Checked, deferred: false, print_room: 0, names: None };
    let lowered = entry(source).lower(&lowering).unwrap_or_else(|e| panic!("{e}"));
    let Err(refusal) = cxx::translate(&lowered, options) else { panic!("was translated:\n{source}") };
    assert!(refusal.refusal, "not the fault of the kernel: {refusal}");
    refusal
}

const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> o: array<f32>;\n";

#[test]
fn strict_kernels_with_functions_that_are_not_there_are_refused_with_the_place() {
    for (body, name) in [
        ("o[0] = asin(o[1]);", "`asin`"),
        ("o[0] = f32(exp(f64(o[1])));", "`exp` of `f64`"),
        ("o[0] = atan2(o[1], o[2]);", "`atan2`"),
    ] {
        let source = format!("{HEAD}@compute @workgroup_size(1)\nfn main() {{ {body} }}");
        for dialect in [&CUDA, &HIP] {
            let refusal = refusal(&source, &Options { strict: true, ..options(dialect) });
            assert!(refusal.text.contains(name) && refusal.text.contains("line 3"), "{refusal}");
            translate(&entry(&source), Bounds::Checked, &options(dialect));
        }
    }
}

#[test]
fn a_workgroup_larger_than_the_device_has_is_refused() {
    let source = format!("{HEAD}@compute @workgroup_size(64, 32) fn main() {{ o[0] = 1.0; }}");
    let refusal = refusal(&source, &options(&CUDA));
    assert!(refusal.text.contains("2048 invocations") && refusal.text.contains("1024"), "{refusal}");
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let mut source = String::new();
    let mut body = String::new();
    for n in 0..400 {
        source.push_str(&format!("@group(0) @binding({n}) var<storage, read_write> o{n}: array<f32>;\n"));
        body.push_str(&format!("o{n}[0] = 1.0; "));
    }
    let refusal = refusal(&format!("{source}@compute @workgroup_size(1) fn main() {{ {body} }}"), &options(&CUDA));
    assert!(refusal.text.contains("4096 bytes"), "{refusal}");
}

#[test]
fn subgroups_of_an_unknown_size_are_refused() {
    let source = format!("{HEAD}@compute @workgroup_size(1) fn main() {{ o[0] = 1.0; }}");
    let refusal = refusal(&source, &Options { subgroup_size: Some(16), ..options(&HIP) });
    assert!(refusal.text.contains("16"), "{refusal}");
}

#[test]
fn workgroup_memory_that_a_kernel_may_not_declare_is_asked_for() {
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<f32>; var<workgroup> t: array<f32, 15000>;
        @compute @workgroup_size(1) fn main() { t[3] = o[0]; workgroupBarrier(); o[1] = t[u32(o[2])]; }";
    let cuda = translate(&entry(source), Bounds::Checked, &options(&CUDA));
    assert_eq!(cuda.dynamic_workgroup_memory, 60_000);
    assert!(cuda.source.contains("C_DYNAMIC Workgroup w[];"));
    assert_eq!(translate(&entry(source), Bounds::Checked, &options(&HIP)).dynamic_workgroup_memory, 0);
}

/// What surely ends is told the compiler, and only that: a counter that may be the largest number wraps.
#[test]
fn l5_a_compiler_is_told_of_a_counter_only_where_it_cannot_wrap() {
    let text = |condition: &str| {
        let source = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n@group(0) @binding(1) var<uniform> p: vec4<u32>;\n\
             @compute @workgroup_size(1) fn main() {{ let m = p.y; var n = 0u; for (var i = p.x; {condition}; i++) {{ if (n == 9u) {{ break; }} out[n] = i; n++; }} }}"
        );
        translate(&entry(&source), Bounds::Checked, &options(&CUDA)).source
    };
    for (condition, told) in
        [("i < 4294967295u", true), ("i <= 4294967294u", true), ("i <= 4294967295u", false), ("i < m", true), ("i <= m", false)]
    {
        assert_eq!(text(condition).contains("__builtin_unreachable"), told, "{condition}");
    }
}

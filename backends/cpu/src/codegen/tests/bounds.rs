//! Out-of-range accesses, cancelling, refusals.

use super::*;

const WILD: &str = "
    @group(0) @binding(0) var<storage, read> I: array<u32>;
    @group(0) @binding(1) var<storage, read_write> O: array<u32>;
    @group(0) @binding(2) var<storage, read_write> A: array<atomic<u32>>;
    var<workgroup> w: array<u32, 4>;
    @compute @workgroup_size(1) fn main() {
        let far = I[0];
        O[0] = I[far] + 1u;
        O[far] = 0xbadu; O[8] = 0xbadu; O[0x7fffffffu] = 0xbadu;
        var l = array<u32, 4>(1u, 2u, 3u, 4u);
        O[1] = l[far] + 1u; l[far] = 9u; O[2] = l[0] + l[1] + l[2] + l[3];
        w[far] = 5u; O[3] = w[0] + w[3] + w[far] + 1u;
        let v = vec4(I[1]); O[4] = v[far] + 1u;
        let n = bitcast<i32>(I[2]); O[5] = I[n] + 1u; O[n] = 0xbadu;
        O[6] = atomicAdd(&A[far], 7u) + 1u; atomicStore(&A[far], 3u);
        let r = atomicCompareExchangeWeak(&A[far], 3u, 1u); O[7] = r.old_value + u32(r.exchanged) + atomicLoad(&A[far]) + 1u;
    }";

#[test]
fn kt21_out_of_range_reads_give_zero_and_writes_are_dropped() {
    for bounds in [Bounds::Checked, Bounds::Validate] {
        for far in [100, 8, 4, 0x4000_0000, 0xffff_ffff] {
            let kernel = Kernel::new(WILD, bounds);
            let mut input = vec![far, 55, -1i32 as u32, 77];
            let (mut output, mut atomics) = (vec![0; 8], vec![11; 4]);
            kernel.run([1, 1, 1], &mut [&mut input, &mut output, &mut atomics]);
            if far == 4 {
                output[4] = 1;
            }
            assert_eq!(output, [1, 1, 10, 1, 1, 1, 1, 1], "index {far}");
            assert_eq!(atomics, [11; 4]);
            assert_eq!(kernel.violated(), bounds == Bounds::Validate);
        }
    }
}

#[test]
fn l5_validate_names_the_first_violation() {
    let source = "
        @group(0) @binding(0) var<storage, read> offsets: array<u32>;
        @group(0) @binding(1) var<storage, read_write> O: array<u32>;
        @compute @workgroup_size(4, 2) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
            var table = array<u32, 3>(1u, 2u, 3u);
            let i = g.x + 10u * g.y;
            if (i == 17u) {
                O[0] = table[offsets[0]];
            }
        }";
    let kernel = Kernel::new(source, Bounds::Validate);
    kernel.run([2, 1, 1], &mut [&mut [2, 0], &mut [0]]);
    assert!(!kernel.violated());
    let mut output = [7];
    kernel.run([2, 1, 1], &mut [&mut [5, 0], &mut output]);
    assert!(kernel.violated());
    assert_eq!(output, [0]);
    let violation = kernel.violation().expect("one");
    assert_eq!((violation.what.as_str(), violation.location.line, violation.location.column), ("table", 8, 24));
    assert_eq!((violation.index, violation.length, violation.invocation), (5, 3, [7, 1, 0]));
}

#[test]
fn l5_a_negative_index_is_reported_as_it_is() {
    let kernel = Kernel::new(&one("O[bitcast<i32>(I[0])] = 1u;"), Bounds::Validate);
    kernel.run([1, 1, 1], &mut [&mut [-3i32 as u32], &mut [0; 5]]);
    assert_eq!(kernel.violation().map(|v| (v.index, v.length)), Some((-3, 5)));
}

#[test]
fn l5_a_pointer_that_is_not_used_violates_nothing() {
    let source = one("let p = &O[I[0]]; if (I[1] == 1u) { *p = 1u; }");
    let kernel = Kernel::new(&source, Bounds::Validate);
    kernel.run([1, 1, 1], &mut [&mut [9, 0], &mut [0; 5]]);
    assert!(!kernel.violated());
    kernel.run([1, 1, 1], &mut [&mut [9, 1], &mut [0; 5]]);
    assert!(kernel.violated());
}

#[test]
fn kt23_an_endless_loop_can_be_cancelled() {
    let bodies = [
        "loop { if (I[0] == 99u) { break; } }",
        "var i = I[0]; loop { if (i < 10u) { O[i] = 1u; break; } }",
        "for (;;) { for (var k = 0u; k < 3u; k++) { if (I[0] == 99u) { return; } } }",
        "while (true) { workgroupBarrier(); if (I[0] == 99u) { return; } }",
    ];
    for body in bodies {
        let kernel = Kernel::with(&one(body), Bounds::Checked, true);
        let started = std::time::Instant::now();
        let mut output = [0; 10];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                kernel.cancel.store(1, Ordering::Relaxed);
            });
            kernel.run([1, 1, 1], &mut [&mut [1_000_000], &mut output]);
        });
        assert!(started.elapsed() >= std::time::Duration::from_millis(30), "{body}");
        assert_eq!(output, [0; 10]);
    }
}

#[test]
fn a_kernel_that_needs_too_much_scratch_is_refused_with_its_numbers() {
    let source = format!(
        "{HEAD} @compute @workgroup_size(1024) fn main(@builtin(local_invocation_index) li: u32) {{
            var big: array<u32, 10000>;
            big[li] = I[0];
            let copy = big;
            workgroupBarrier();
            O[li] = big[I[1]] + copy[I[1]];
        }}"
    );
    let error = compile(&entry(&source), Bounds::Checked, false).err().expect("refused");
    let compute_hal::DeviceError::Compile { log, refusal, .. } = error else { panic!("{error:?}") };
    assert!(refusal && log.contains("64 MiB") && log.contains("1024 invocations"), "{log}");
}

#[test]
fn a_kernel_whose_calls_explode_is_refused() {
    let mut source = format!("{HEAD} fn f0(x: u32) -> u32 {{ return x * 3u + 1u; }}");
    for i in 1..16 {
        source += &format!("fn f{i}(x: u32) -> u32 {{ return f{}(x) + f{}(x + 1u); }}", i - 1, i - 1);
    }
    source += "@compute @workgroup_size(1) fn main() { O[0] = f15(I[0]); }";
    let error = compile(&entry(&source), Bounds::Checked, false).err().expect("refused");
    let compute_hal::DeviceError::Compile { log, refusal, .. } = error else { panic!("{error:?}") };
    assert!(refusal && log.contains("too large"), "{log}");
}

#[test]
fn a_kernel_of_few_expressions_that_are_very_many_instructions_is_refused() {
    let mut source =
        format!("enable f16; {HEAD} fn f0(m: mat4x4h) -> mat4x4h {{ var a = m; {} return a; }}", "a = a * a;".repeat(8));
    for i in 1..4 {
        source += &format!("fn f{i}(m: mat4x4h) -> mat4x4h {{ return {}m{}; }}", format!("f{}(", i - 1).repeat(8), ")".repeat(8));
    }
    source += "@compute @workgroup_size(1) fn main() { var m = mat4x4h(); m[0][0] = f16(I[0]); O[0] = u32(f3(m)[0][0]); }";
    let error = compile(&entry(&source), Bounds::Checked, false).err().expect("refused");
    let compute_hal::DeviceError::Compile { log, refusal, .. } = error else { panic!("{error:?}") };
    assert!(refusal && log.contains("too large") && log.contains("instructions"), "{log}");
}

#[test]
fn the_cost_of_a_kernel_is_known_when_its_loops_are_counted() {
    let cheap = Kernel::new(&one("O[0] = I[0];"), Bounds::Checked).compiled.cost().expect("known");
    let dear = Kernel::new(&one("O[0] = I[0] * I[1] + I[2] / I[3];"), Bounds::Checked).compiled.cost().expect("known");
    assert!(cheap > 0 && cheap < dear && dear < 1000, "{cheap} {dear}");
    let cost = |body: &str| Kernel::new(&one(body), Bounds::Checked).compiled.cost();
    assert_eq!(cost("for (var i = 0u; i < I[0]; i++) { O[i] = 1u; }"), None);
    assert_eq!(cost("for (var i = 0u; i < 8u; i += I[0]) { O[i] = 1u; }"), None);
    assert_eq!(cost("for (var i = 0u; i < 8u; i += 0xffffffffu) { O[i] = 1u; }"), None);
    assert_eq!(cost("let z = I[0] + 1u; var i = z; for (; i < 8u; i = z + 1u) { O[i] = 1u; }"), None);
    let ten = cost("for (var i = 0u; i < 10u; i++) { O[i] = 1u; }").expect("known");
    let thousand = cost("for (var i = 0u; i < 10u; i++) { for (var j = 0u; j < 100u; j += 1u) { O[i] += j; } }").expect("known");
    assert!(ten > 10 * 5 && ten < 10 * 60 && thousand > 1000 * 5 && thousand < 1000 * 60, "{ten} {thousand}");
    let tiles = cost("for (var i = 0u; i < 10u; i++) { O[0] = i; workgroupBarrier(); }").expect("known");
    assert!(tiles > 10 * 5 && tiles < 10 * 100, "{tiles}");
}

#[test]
fn checks_that_cannot_fail_are_left_out() {
    let bodies = [
        "var l: array<u32, 16>; l[I[0] & 15u] = 1u; O[0] = l[I[0] % 16u] + l[(I[0] >> 30u) * 4u + 2u];",
        "var l: array<u32, 16>; for (var k = 0u; k < 16u; k++) { l[k] = I[0]; } O[0] = l[min(I[0], 15u)];",
        "var l: array<u32, 16>; l[i32(I[0] & 7u) + 8] = 1u; O[0] = l[select(3u, I[0] / 0x20000000u, I[0] == 1u)];",
        "var l: array<u32, 16>; l[max(I[0] & 7u, 9u)] = 1u; O[0] = l[clamp(I[0], 2u, 15u)] + l[clamp(i32(I[0]), 1, 15)];",
    ];
    for body in bodies {
        let size = |bounds| Kernel::new(&one(body), bounds).compiled.code_size();
        assert_eq!(Kernel::new(&one(body), Bounds::Validate).compiled.reports().sites().len(), 0, "{body}");
        assert!(size(Bounds::Checked) <= size(Bounds::Unchecked), "{body}");
    }
}

#[test]
fn an_index_computed_from_the_counter_of_a_loop_that_never_runs_is_translated() {
    let source = one("
        var l = array<u32, 4>(1u, 2u, 3u, 4u);
        for (var i = 0u; i < 0u; i++) { O[0] = l[i / 2u] + l[i >> 1u] + l[i + i] + l[i * 2u]; }
        O[0] += 7u;
    ");
    assert_eq!(run_words(&source, 1, &[0], 1), [7]);
}

#[test]
fn checks_that_may_fail_are_kept() {
    let bodies = [
        // The condition is older than the loop.
        "var i = I[1]; let c = i < 4u; loop { if (c) {} else { break; } l[i] = 1u; continuing { i += 1u; break if i > 5u; } }",
        // The counter changes in the body.
        "for (var i = I[1]; i < 4u; i++) { i += I[2]; l[i] = 1u; }",
        // The counter may be negative.
        "for (var i = bitcast<i32>(I[3]); i < 4; i++) { l[i] = 1u; }",
        // The last pass has been left.
        "var i = 0u; for (; i < 4u; i++) {} l[i] = 1u;",
        "l[(I[0] & 7u) + 1u] = 1u;",
        "l[bitcast<i32>(I[3]) % 4] = 1u;",
        "l[bitcast<i32>(I[3]) >> 31u] = 1u;",
        "l[I[0] & 15u] = 1u;",
        "l[max(I[1], I[0])] = 1u;",
        "l[max(bitcast<i32>(I[3]), -3)] = 1u;",
        "l[clamp(bitcast<i32>(I[3]), -3, 3)] = 1u;",
        "l[I[0] % (I[1] + 4u + I[4])] = 1u;",
    ];
    for body in bodies {
        let kernel = Kernel::new(&one(&format!("var l: array<u32, 4>; {body} O[0] = l[0];")), Bounds::Validate);
        kernel.run([1, 1, 1], &mut [&mut [7, 0, 5, -3i32 as u32, 5], &mut [0; 1]]);
        assert!(kernel.violated(), "{body}");
    }
}

#[test]
fn kt21_the_bytes_around_a_binding_stay_as_they_are_in_every_checking_mode() {
    // 1024-byte buffers, bindings of 32 bytes at 256: the guards of the harness are the surroundings.
    let source = one("let far = I[0];
        O[0] = I[far] + 1u; O[far] = 0xbadu; O[far - 92u] = 0xbadu;
        var l = array<u32, 4>(1u, 2u, 3u, 4u); l[I[1]] = 0xbadu;
        O[1] = l[I[1]]; O[2] = l[0] + l[1] + l[2] + l[3];");
    for bounds in [Bounds::Checked, Bounds::Validate] {
        let kernel = Kernel::new(&source, bounds);
        let mut output = [9; 8];
        kernel.run([1, 1, 1], &mut [&mut [100, 77, 5, 5, 5, 5, 5, 5], &mut output]);
        assert_eq!(output, [1, 0, 10, 9, 9, 9, 9, 9]);
        let first = kernel.violation().map(|v| (v.what, v.index, v.length));
        assert_eq!(first, (bounds == Bounds::Validate).then(|| ("I".into(), 100, 8)));
    }
}

#[test]
fn kt23_a_loop_that_never_ends_loses_no_check() {
    for bounds in [Bounds::Checked, Bounds::Validate] {
        let source = one("var i = I[0]; loop { if (i < 10u) { O[i] = 1u; break; } O[i] = 2u; }");
        let kernel = Kernel::with(&source, bounds, true);
        let mut output = [0; 10];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                kernel.cancel.store(1, Ordering::Relaxed);
            });
            kernel.run([1, 1, 1], &mut [&mut [1_000_000], &mut output]);
        });
        assert_eq!(output, [0; 10]);
        assert_eq!(kernel.violation().map(|v| v.index), (bounds == Bounds::Validate).then_some(1_000_000));
    }
}

/// What the first violation of a kernel is, both when it is reported at once and when the invocation keeps it.
fn first(source: &str, input: &[u32]) -> Option<(String, i64, u64)> {
    let entry = entry(source);
    let [now, later] = [false, true].map(|deferred| {
        let lowering = Lowering { bounds: Bounds::Validate, deferred, print_room: 0, names: None };
        let lowered = entry.lower(&lowering).unwrap_or_else(|e| panic!("{}", e.text));
        let kernel = Kernel::of(CompiledKernel::compile(lowered, Bounds::Validate, false).unwrap_or_else(|e| panic!("{e:?}")));
        kernel.run([1, 1, 1], &mut [&mut input.to_vec(), &mut [0; 8]]);
        kernel.violation().map(|v| (v.what, v.index, v.length))
    });
    assert_eq!(now, later, "{source}");
    now
}

#[test]
fn l5_every_kind_of_access_reports() {
    let some = |what: &str, index: i64, length: u64| Some((what.to_owned(), index, length));
    for (body, expected) in [
        ("O[0] = I[I[0]];", some("I", 5, 3)),
        ("O[I[1]] = 1u;", some("O", 8, 8)),
        ("O[8] = 1u;", some("O", 8, 8)),
        ("var a: array<array<u32, 3>, 2>; a[1][I[0]] = 1u; O[0] = a[0][0];", some("a[1]", 5, 3)),
        ("var a: array<array<u32, 3>, 2>; O[0] = a[I[0]][I[1]];", some("a", 5, 2)),
        ("var a: array<array<u32, 3>, 2>; let p = &a[I[2]]; O[0] = (*p)[I[1]];", some("p", 8, 3)),
        ("let v = vec3(I[0]); O[0] = v[I[1]];", some("v", 8, 3)),
        ("var m = mat2x3<f32>(); m[I[2]][I[0]] = 1.0; O[0] = u32(m[0][0]);", some("m[..]", 5, 3)),
        ("let i = bitcast<i32>(I[0]) - 9; O[i] = 1u;", some("O", -4, 8)),
        ("if (I[0] == 4u) { O[I[1]] = 1u; } O[1] = 1u;", None),
        ("for (var i = 6u; i < I[1] + 1u; i++) { O[i] = 1u; }", some("O", 8, 8)),
        ("switch (I[0]) { case 5u: { O[I[0] + 4u] = 1u; } default: { O[I[1]] = 1u; } }", some("O", 9, 8)),
        ("if (I[0] == 5u) { O[I[1]] = 1u; return; } O[0] = 1u;", some("O", 8, 8)),
        // The second is not the first.
        ("O[I[1] + 1u] = 1u; O[I[1] + 2u] = 1u;", some("O", 9, 8)),
    ] {
        assert_eq!(first(&one(body), &[5, 8, 0]), expected, "{body}");
    }
}

#[test]
fn l5_a_pointer_handed_to_functions_reports_where_it_is_used_and_only_then() {
    let source = |on: &str| {
        format!(
            "{HEAD}
            fn inner(q: ptr<function, u32>, on: bool) -> u32 {{ if (on) {{ *q += 1u; return *q; }} return 0u; }}
            fn outer(q: ptr<function, array<u32, 3>>, i: u32, on: bool) -> u32 {{ return inner(&(*q)[i], on); }}
            @compute @workgroup_size(1) fn main() {{
                var a: array<array<u32, 3>, 2>;
                O[0] = {on};
                O[1] = a[0][1] + a[1][1];
            }}"
        )
    };
    let some = |what: &str, index: i64, length: u64| Some((what.to_owned(), index, length));
    let input = [5, 8, 0, 1];
    assert_eq!(first(&source("outer(&a[I[0]], I[1], I[3] == 1u)"), &input), some("a", 5, 2));
    assert_eq!(first(&source("outer(&a[I[3]], I[1], I[3] == 1u)"), &input), some("q", 8, 3));
    assert_eq!(first(&source("outer(&a[I[3]], I[3], I[3] == 1u)"), &input), None);
    assert_eq!(first(&source("outer(&a[I[0]], I[1], I[3] == 2u)"), &input), None);
}

#[test]
fn l5_side_effects_of_indices_happen_once() {
    let source = format!(
        "{HEAD} var<private> n: u32;
        fn next() -> u32 {{ n += 1u; O[n] = n; return n + 6u; }}
        @compute @workgroup_size(1) fn main() {{ O[next()] = 50u; O[next()] = 60u; O[next()] += 1u; O[0] = n; }}"
    );
    let run = |bounds| {
        let kernel = Kernel::new(&source, bounds);
        let mut output = [0; 8];
        kernel.run([1, 1, 1], &mut [&mut [0], &mut output]);
        (output, kernel.violation().map(|v| v.index))
    };
    assert_eq!(run(Bounds::Checked), ([3, 1, 2, 3, 0, 0, 0, 50], None));
    assert_eq!(run(Bounds::Validate), ([3, 1, 2, 3, 0, 0, 0, 50], Some(8)));
}

#[test]
fn l5_atomics_and_uniform_loads_report_across_barriers() {
    let source = "
        @group(0) @binding(0) var<storage, read> I: array<u32>;
        @group(0) @binding(1) var<storage, read_write> A: array<atomic<u32>>;
        var<workgroup> w: array<u32, 4>;
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) li: u32) {
            w[li % 4u] = li;
            workgroupBarrier();
            let x = workgroupUniformLoad(&w[I[0]]);
            for (var i = 0u; i < I[1]; i++) { workgroupBarrier(); if (li == 3u) { atomicAdd(&A[i], x); } }
        }";
    assert_eq!(first(source, &[1, 8]), None);
    assert_eq!(first(source, &[7, 8]), Some(("w".into(), 7, 4)));
    assert_eq!(first(source, &[1, 11]), Some(("A".into(), 8, 8)));
}

#[test]
fn kernels_print_what_their_formats_say() {
    let source = format!(
        "{HEAD}
        fn tell(at: vec2<f32>) {{ if (at.x > 0.0) {{ debugPrintfEXT(\"at %.2v2f\", at); }} }}
        @compute @workgroup_size(2) fn main(@builtin(global_invocation_id) g: vec3<u32>) {{
            debugPrintf(\"%u %d %x|%v3u\\n\", I[0], bitcast<i32>(I[1]), I[2], g);
            workgroupBarrier();
            tell(vec2(f32(g.x), 0.25));
            O[g.x] = 1u;
        }}"
    );
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        let kernel = Kernel::new(&source, bounds);
        let mut output = [0; 3];
        kernel.run([1, 1, 1], &mut [&mut [7, -7_i32 as u32, 255], &mut output]);
        let printed = kernel.compiled.reports().printed(&kernel.recorded());
        let lines: Vec<_> =
            printed.lines.iter().map(|line| (line.invocation[0], line.text.as_str(), line.location.line)).collect();
        assert_eq!(lines, [(0, "7 -7 ff|0, 0, 0", 7), (1, "7 -7 ff|1, 0, 0", 7), (1, "at 1.00, 0.25", 5)]);
        assert_eq!((printed.lost, output), (0, [1, 1, 0]));
        assert!(!kernel.violated());
    }
}

#[test]
fn kt18_a_kernel_with_names_of_the_target_runs() {
    let entry = entry(include_str!("../../../../kernel/src/lower/names/kt18.wgsl"));
    for names in [None, Some(compute_kernel::lower::names::Family::Cuda)] {
        let lowering = Lowering { bounds: Bounds::Validate, deferred: false, print_room: 0, names };
        let lowered = entry.lower(&lowering).unwrap_or_else(|e| panic!("{}", e.text));
        assert_eq!(lowered.reflection().entry, "kernel");
        assert_eq!(lowered.entry_name() == "kernel", names.is_none());
        let kernel = Kernel::of(CompiledKernel::compile(lowered, Bounds::Validate, false).unwrap_or_else(|e| panic!("{e:?}")));
        let mut output = [0; 2];
        kernel.run([1, 1, 1], &mut [&mut [3, 4], &mut output]);
        assert_eq!(output, [8, 4]);
    }
}

/// Keeps `count` vectors at once.
fn keeping(count: usize) -> String {
    let lines = |line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    format!(
        "@group(0) @binding(0) var<storage, read_write> O: array<vec4<u32>>;
        @compute @workgroup_size(1) fn main() {{ {} {} }}",
        lines(&|n| format!("let a{n} = O[{n}];\n")),
        lines(&|n| format!("O[{n}] = a{};\n", count - 1 - n))
    )
}

#[test]
fn the_stack_that_a_kernel_takes_is_known_and_bounded() {
    assert!(Kernel::new(&keeping(4), Bounds::Unchecked).compiled.frame() < 1 << 10);
    let kernel = Kernel::new(&keeping(1500), Bounds::Unchecked);
    let frame = kernel.compiled.frame();
    assert!((crate::kernel::GUEST_FRAME..64 << 10).contains(&frame), "{frame}");
    let mut words: Vec<u32> = (0..6000).collect();
    kernel.run([1, 1, 1], &mut [&mut words]);
    assert_eq!((words[0], words[5999]), (5996, 3));
    let most = super::super::MOST_FRAME;
    assert_eq!(super::super::jit::fitting(most).ok(), Some(most));
    let refused = super::super::jit::fitting(most + 1).expect_err("too much");
    assert!(refused.refusal && refused.log.contains("at most 2097152 are allowed"), "{}", refused.log);
}

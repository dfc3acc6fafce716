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
    ];
    for body in bodies {
        let size = |bounds| Kernel::new(&one(body), bounds).compiled.code_size();
        assert_eq!(Kernel::new(&one(body), Bounds::Validate).compiled.reports().sites().len(), 0, "{body}");
        assert!(size(Bounds::Checked) <= size(Bounds::Unchecked), "{body}");
    }
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
        "l[I[0] % (I[1] + 4u + I[4])] = 1u;",
    ];
    for body in bodies {
        let kernel = Kernel::new(&one(&format!("var l: array<u32, 4>; {body} O[0] = l[0];")), Bounds::Validate);
        kernel.run([1, 1, 1], &mut [&mut [7, 0, 5, -3i32 as u32, 5], &mut [0; 1]]);
        assert!(kernel.violated(), "{body}");
    }
}

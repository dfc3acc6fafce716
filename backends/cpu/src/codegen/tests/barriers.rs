//! Barriers, workgroup memory and atomics: what makes a workgroup more than its invocations.

use super::*;

#[test]
fn kt08_a_barrier_in_a_loop_of_uniform_length_works() {
    for size in [1u32, 2, 64, 256] {
        let source = format!(
            "{HEAD}
            var<workgroup> acc: array<u32, {size}>; var<workgroup> lim: u32;
            @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) li: u32) {{
                acc[li] = I[li];
                if (li == 0u) {{ lim = {size}u / 2u; }}
                workgroupBarrier();
                loop {{
                    let s = workgroupUniformLoad(&lim);
                    if (s == 0u) {{ break; }}
                    if (li < s) {{ acc[li] += acc[li + s]; }}
                    workgroupBarrier();
                    if (li == 0u) {{ lim = lim / 2u; }}
                }}
                if (li == 0u) {{ O[0] = acc[0]; }}
            }}"
        );
        let input: Vec<u32> = (0..size).collect();
        assert_eq!(run_words(&source, 1, &input, 1), [size * (size - 1) / 2], "{size} invocations");
    }
}

#[test]
fn kt09_a_value_loaded_before_a_barrier_keeps_its_value() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {{
            s[li] = I[li];
            workgroupBarrier();
            for (var i = 0; i < 5; i++) {{
                let v = s[(li + 1u) % 64u];
                workgroupBarrier();
                s[li] = v;
                workgroupBarrier();
            }}
            O[li] = s[li];
        }}"
    );
    let input: Vec<u32> = (0..64).map(|i| 3 * i).collect();
    let expected: Vec<u32> = (0..64).map(|i| 3 * ((i + 5) % 64)).collect();
    assert_eq!(run_words(&source, 1, &input, 64), expected);
}

#[test]
fn kt10_workgroup_memory_is_zero_at_the_start_of_every_workgroup() {
    let source = format!(
        "{HEAD} struct S {{ x: array<u32, 60>, v: vec3<f32>, a: atomic<u32> }}
        var<workgroup> s: S; var<workgroup> b: array<bool, 3>;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) li: u32, @builtin(workgroup_id) w: vec3<u32>) {{
            var all = 0u;
            for (var i = 0u; i < 60u; i++) {{ all |= s.x[i]; }}
            all |= bitcast<u32>(s.v.x) | bitcast<u32>(s.v.y) | bitcast<u32>(s.v.z) | atomicLoad(&s.a) | u32(b[0]) | u32(b[2]);
            workgroupBarrier();
            O[w.x * 32u + li] = all + I[0];
            for (var i = 0u; i < 60u; i++) {{ s.x[i] = 0xdeadbeefu; }}
            s.v = vec3(1.0); atomicStore(&s.a, 0xffffffffu); b[0] = true; b[2] = true;
        }}"
    );
    let kernel = Kernel::new(&source, Bounds::Checked);
    for _ in 0..2 {
        let mut output = vec![0; 40 * 32];
        kernel.run([40, 1, 1], &mut [&mut [7], &mut output]);
        assert!(output.iter().all(|o| *o == 7), "{output:x?}");
    }
}

#[test]
fn kt07_compare_exchange_tells_what_happened() {
    for space in
        ["var<workgroup> u: atomic<u32>; var<workgroup> s: atomic<i32>;", "@group(0) @binding(2) var<storage, read_write> A: S; "]
    {
        let storage = space.contains("storage");
        let (u, s) = if storage { ("A.u", "A.s") } else { ("u", "s") };
        let source = format!(
            "{HEAD} struct S {{ u: atomic<u32>, s: atomic<i32> }} {space}
            @compute @workgroup_size(1) fn main() {{
                atomicStore(&{u}, I[0]);
                var r = atomicCompareExchangeWeak(&{u}, I[0], I[1]);
                loop {{ if (r.exchanged) {{ break; }} r = atomicCompareExchangeWeak(&{u}, I[0], I[1]); }}
                O[0] = r.old_value; O[1] = u32(r.exchanged); O[2] = atomicLoad(&{u});
                let q = atomicCompareExchangeWeak(&{u}, I[0], 1u);
                O[3] = q.old_value; O[4] = u32(q.exchanged); O[5] = atomicLoad(&{u});
                atomicStore(&{s}, bitcast<i32>(I[2]));
                O[6] = bitcast<u32>(atomicMax(&{s}, 3)); O[7] = bitcast<u32>(atomicMin(&{s}, -9));
                O[8] = bitcast<u32>(atomicExchange(&{s}, 4)); O[9] = bitcast<u32>(atomicSub(&{s}, 10)); O[10] = bitcast<u32>(atomicLoad(&{s}));
                O[11] = atomicAdd(&{u}, 5u); O[12] = atomicAnd(&{u}, 12u); O[13] = atomicOr(&{u}, 3u); O[14] = atomicXor(&{u}, 5u);
                O[15] = atomicMax(&{u}, 0xfffffff0u); O[16] = atomicMin(&{u}, 2u); O[17] = atomicLoad(&{u});
            }}"
        );
        let n = |x: i32| x as u32;
        let expected = [5, 1, 9, 9, 0, 9, n(-5), 3, n(-9), 4, n(-6), 9, 14, 12, 15, 10, 0xffff_fff0, 2];
        for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
            let (mut output, mut atomics) = (vec![0; 18], [0; 2]);
            let mut buffers: Vec<&mut [u32]> = Vec::new();
            let mut input = [5, 9, n(-5)];
            buffers.push(&mut input);
            buffers.push(&mut output);
            if storage {
                buffers.push(&mut atomics);
            }
            Kernel::new(&source, bounds).run([1, 1, 1], &mut buffers);
            assert_eq!(output, expected, "{space}");
        }
    }
}

#[test]
fn a_tiled_product_of_matrices_matches_the_plain_one() {
    let source = "
        @group(0) @binding(0) var<storage, read> a: array<f32>;
        @group(0) @binding(1) var<storage, read> b: array<f32>;
        @group(0) @binding(2) var<storage, read_write> c: array<f32>;
        var<workgroup> ta: array<array<f32, 8>, 8>; var<workgroup> tb: array<array<f32, 8>, 8>;
        @compute @workgroup_size(8, 8) fn main(@builtin(local_invocation_id) l: vec3<u32>, @builtin(global_invocation_id) g: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>) {
            let n = groups.x * 8u;
            var acc = 0.0;
            for (var t = 0u; t < groups.x; t++) {
                ta[l.y][l.x] = a[g.y * n + t * 8u + l.x];
                tb[l.y][l.x] = b[(t * 8u + l.y) * n + g.x];
                workgroupBarrier();
                for (var k = 0u; k < 8u; k++) { acc = acc + ta[l.y][k] * tb[k][l.x]; }
                workgroupBarrier();
            }
            c[g.y * n + g.x] = acc;
        }";
    let n = 24;
    let a: Vec<f32> = (0..n * n).map(|i| ((i * 7) % 13) as f32 - 5.0).collect();
    let b: Vec<f32> = (0..n * n).map(|i| ((i * 5) % 11) as f32 * 0.5).collect();
    let mut expected = vec![0.0; n * n];
    for y in 0..n {
        for x in 0..n {
            expected[y * n + x] = (0..n).map(|k| a[y * n + k] * b[k * n + x]).sum::<f32>();
        }
    }
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        let mut c = vec![0; n * n];
        Kernel::new(source, bounds).run([3, 3, 1], &mut [&mut bits(&a), &mut bits(&b), &mut c]);
        assert_eq!(floats(&c), expected);
    }
}

#[test]
fn a_function_with_a_barrier_is_run_by_all_before_any_goes_on() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 16>;
        fn rotate(li: u32, by: u32, seed: ptr<function, u32>) -> u32 {{
            var mine = *seed;
            s[li] = mine;
            workgroupBarrier();
            let other = s[(li + by) % 16u];
            workgroupBarrier();
            *seed = other + 1u;
            mine += other;
            return mine;
        }}
        @compute @workgroup_size(16) fn main(@builtin(local_invocation_index) li: u32) {{
            var seed = I[li];
            var sum = 0u;
            for (var i = 1u; i < 4u; i++) {{ sum += rotate(li, i, &seed); }}
            O[li] = sum; O[16u + li] = seed;
        }}"
    );
    let input: Vec<u32> = (0..16).map(|i| i * i).collect();
    let mut seeds = input.clone();
    let mut sums = [0; 16];
    for by in 1..4 {
        let old = seeds.clone();
        for li in 0..16 {
            let other = old[(li + by) % 16];
            sums[li] += old[li] + other;
            seeds[li] = other + 1;
        }
    }
    let expected: Vec<u32> = sums.iter().chain(&seeds).copied().collect();
    assert_eq!(run_words(&source, 1, &input, 32), expected);
}

#[test]
fn nested_loops_and_branches_around_barriers_are_taken_together() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 8>;
        @compute @workgroup_size(4, 2) fn main(@builtin(local_invocation_index) li: u32) {{
            var table: array<u32, 4>;
            var total = 0u;
            for (var i = 0u; i < I[0]; i++) {{
                for (var j = 0u; j < 3u; j++) {{
                    if (j == I[1]) {{ continue; }}
                    s[li] = li * 10u + i * 3u + j;
                    workgroupBarrier();
                    var local = 0u;
                    for (var k = 0u; k < 8u; k++) {{ if (k % 2u == li % 2u) {{ local += s[k]; }} }}
                    table[(i + j) % 4u] += local;
                    workgroupBarrier();
                    if (i + j == I[2]) {{ break; }}
                }}
                if (i == 1u) {{ workgroupBarrier(); total += 1000u; }}
            }}
            switch (I[3]) {{
                case 1u: {{ s[li] = 1u; workgroupBarrier(); total += s[7u - li]; }}
                case 2u, 3u: {{ s[li] = li; workgroupBarrier(); if (li == 3u) {{ break; }} total += s[7u - li]; }}
                default: {{ total = 0u; }}
            }}
            for (var k = 0u; k < 4u; k++) {{ total = total * 3u + table[k]; }}
            O[li] = total;
        }}"
    );
    for selector in [1, 2, 3, 9] {
        let input = [3, 1, 2, selector];
        let mut expected = Vec::new();
        for li in 0..8u32 {
            let (mut table, mut total) = ([0u32; 4], 0u32);
            for i in 0..3 {
                for j in 0..3 {
                    if j == 1 {
                        continue;
                    }
                    let local: u32 = (0..8).filter(|k| k % 2 == li % 2).map(|k| k * 10 + i * 3 + j).sum();
                    table[(i + j) as usize % 4] += local;
                    if i + j == 2 {
                        break;
                    }
                }
                if i == 1 {
                    total += 1000;
                }
            }
            match selector {
                1 => total += 1,
                2 | 3 if li != 3 => total += 7 - li,
                2 | 3 => {}
                _ => total = 0,
            }
            for t in table {
                total = total.wrapping_mul(3).wrapping_add(t);
            }
            expected.push(total);
        }
        assert_eq!(run_words(&source, 1, &input, 8), expected, "selector {selector}");
    }
}

#[test]
fn an_invocation_that_returns_after_the_last_barrier_does_nothing_more() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 8>;
        fn late(li: u32) -> u32 {{
            s[li] = I[li];
            workgroupBarrier();
            if (li < 3u) {{ return 5u; }}
            return s[7u - li];
        }}
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) li: u32) {{
            let x = late(li);
            if (I[0] == 100u) {{
                workgroupBarrier();
                O[li] = 1u;
                if (li % 2u == 0u) {{ return; }}
                O[li] += x;
            }}
            O[li] += 10u;
        }}"
    );
    let input: Vec<u32> = (0..8).map(|i| 100 + i).collect();
    let expected: Vec<u32> = (0..8)
        .map(|li| {
            let x = if li < 3 { 5 } else { input[7 - li] };
            if li % 2 == 0 { 1 } else { 11 + x }
        })
        .collect();
    assert_eq!(run_words(&source, 1, &input, 8), expected);
    let mut other = input.clone();
    other[0] = 7;
    assert_eq!(run_words(&source, 1, &other, 8), [10; 8]);
}

#[test]
fn pointers_private_variables_and_arrays_survive_barriers() {
    let source = format!(
        "{HEAD} var<private> p: array<u32, 5>; var<private> q = 3u; var<workgroup> s: array<vec3<u32>, 8>;
        struct T {{ a: u32, b: array<u32, 3> }}
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) li: u32) {{
            var t: array<T, 2>;
            let e = &t[li % 2u];
            let w = &s[(li + 1u) % 8u];
            p[li % 5u] = li;
            q += li;
            (*e).b[li % 3u] = I[li];
            s[li] = vec3(li, li + 1u, li + 2u);
            workgroupBarrier();
            let v = *w;
            let copy = t;
            workgroupBarrier();
            (*w).y = 77u;
            (*e).a = q + p[li % 5u];
            workgroupBarrier();
            O[li] = t[li % 2u].a * 100000u + copy[li % 2u].b[li % 3u] * 100u + v.y + s[li].y + copy[li % 2u].a;
        }}"
    );
    let input: Vec<u32> = (0..8).map(|i| i + 20).collect();
    let expected: Vec<u32> = (0..8).map(|li| (3 + 2 * li) * 100000 + (li + 20) * 100 + ((li + 1) % 8 + 1) + 77).collect();
    assert_eq!(run_words(&source, 1, &input, 8), expected);
}

#[test]
fn uniform_conditions_may_come_from_anywhere_uniform() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 4>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) li: u32, @builtin(workgroup_id) w: vec3<u32>) {{
            var n = 0u;
            var steps = I[w.x];
            if (w.x == 1u) {{ return; }}
            while (steps > 0u) {{
                s[li] += li;
                workgroupBarrier();
                n += s[(li + 1u) % 4u];
                steps -= 1u;
                if (steps == I[3]) {{ O[w.x * 4u + li] = n; return; }}
                workgroupBarrier();
            }}
            O[w.x * 4u + li] = n + 1000u;
        }}"
    );
    let sum = |li: u32, steps: u32| (1..=steps).map(|i| i * ((li + 1) % 4)).sum::<u32>();
    let expected: Vec<u32> = (0..4).map(|li| 1000 + sum(li, 2)).chain([0; 4]).chain((0..4).map(|li| sum(li, 5 - 3))).collect();
    assert_eq!(run_words(&source, 3, &[2, 9, 5, 3], 12), expected);
}

#[test]
fn those_that_skip_the_rest_of_a_pass_or_of_a_call_meet_the_others_again() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {{
            s[li] = li; var sum = 0u;
            for (var i = 0u; i < 5u; i++) {{
                workgroupBarrier();
                let v = s[(li + 1u) % 64u];
                workgroupBarrier();
                s[li] = v;
                if (li % 5u == i) {{ continue; }}
                sum += v;
            }}
            O[li] = sum;
        }}"
    );
    let want: Vec<u32> = (0..64u32).map(|li| (0..5u32).filter(|i| li % 5 != *i).map(|i| (li + i + 1) % 64).sum()).collect();
    assert_eq!(run_words(&source, 1, &[0; 64], 64), want);
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 64>;
        fn f(li: u32, i: u32) {{ workgroupBarrier(); if (li % 5u == i) {{ return; }} s[li] = i + 1u; }}
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {{
            f(li, 1u); workgroupBarrier(); O[li] = s[(li + 1u) % 64u];
        }}"
    );
    let want: Vec<u32> = (0..64u32).map(|li| if ((li + 1) % 64) % 5 == 1 { 0 } else { 2 }).collect();
    assert_eq!(run_words(&source, 1, &[0; 64], 64), want);
}

#[test]
fn a_jump_past_a_switch_with_barriers_skips_the_rest_of_the_pass() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 4>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) li: u32) {{
            var n = 0u;
            for (var i = 0u; i < 2u; i++) {{
                switch (I[i]) {{
                    case 1u: {{ s[li] = 1u; workgroupBarrier(); n += s[3u - li]; continue; }}
                    default: {{ s[li] = 2u; workgroupBarrier(); if (li < 2u) {{ break; }} n += 100u; }}
                }}
                n += 10u;
            }}
            O[li] = n;
        }}"
    );
    assert_eq!(run_words(&source, 1, &[1, 0], 4), [11, 11, 111, 111]);
    assert_eq!(run_words(&source, 1, &[1, 1], 4), [2; 4]);
    assert_eq!(run_words(&source, 1, &[0, 1], 4), [11, 11, 111, 111]);
}

#[test]
fn who_leaves_a_run_early_keeps_what_it_had() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 4>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) li: u32) {{
            var x = I[0] + li;
            s[li] = x;
            workgroupBarrier();
            switch (I[1]) {{
                default: {{ s[li] = 1u; workgroupBarrier(); if (li < 2u) {{ break; }} x = 5u; }}
            }}
            if (I[0] == 7u) {{ s[li] = x; workgroupBarrier(); }}
            O[li] = x;
        }}"
    );
    assert_eq!(run_words(&source, 1, &[3, 0], 4), [3, 4, 5, 5]);
    assert_eq!(run_words(&source, 1, &[7, 0], 4), [7, 8, 5, 5]);
}

#[test]
fn a_loop_without_a_barrier_is_left_together_when_one_follows() {
    let source = format!(
        "{HEAD} var<workgroup> s: array<u32, 4>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) li: u32) {{
            var i = 0u;
            loop {{
                if (I[0] == i + 100u) {{ O[li] = 7u; return; }}
                i += 1u;
                if (i == I[1]) {{ break; }}
            }}
            s[li] = i;
            workgroupBarrier();
            O[li] = s[3u - li] + li;
        }}"
    );
    assert_eq!(run_words(&source, 1, &[0, 5], 4), [5, 6, 7, 8]);
    assert_eq!(run_words(&source, 1, &[102, 5], 4), [7; 4]);
}

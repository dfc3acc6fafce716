//! Launches of portable kernels. What a kernel computes in detail is the translators' tests; here it is about grids, bindings and limits.

use std::fmt::Write as _;

use super::bench::{Bench, compile, ensure, part, whole};
use super::{Failed, Outcome, Subject};
use crate::kernel::reflection::Bounds;
use crate::{Binding, Grid};

/// A device for portable kernels, or nothing to check.
fn portable(subject: &Subject<'_>) -> Result<Option<Bench>, Failed> {
    let bench = Bench::new(subject)?;
    Ok(bench.device.capabilities().portable.then_some(bench))
}

macro_rules! portable {
    ($subject:expr) => {
        match portable($subject)? {
            Some(bench) => bench,
            None => return Ok(()),
        }
    };
}

/// Counts in word 0 what runs.
const COUNT: &str = "@group(0) @binding(0) var<storage, read_write> o: array<atomic<u32>>;
    @compute @workgroup_size(1) fn count() { atomicAdd(&o[0], 1u); }";

const ADD: &str = "@group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read> b: array<u32>;
    @group(0) @binding(2) var<storage, read_write> o: array<u32>;
    @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < arrayLength(&o)) { o[id.x] = a[id.x] + b[id.x]; }
    }";

pub(super) fn a_launch_computes(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(ADD)?;
    for count in [1_u32, 63, 64, 1000, 1_000_000] {
        let (a, b): (Vec<u32>, Vec<u32>) = (0..count).map(|n| (n.wrapping_mul(7), u32::MAX - n)).unzip();
        let views = [bench.words(&a)?, bench.words(&b)?, bench.words(&vec![0; count as usize])?];
        bench.launch(kernel, [count.div_ceil(64), 1, 1], &views)?;
        let got = bench.read_words(views[2])?;
        let wrong = (0..count as usize).find(|&n| got.get(n) != a.get(n).zip(b.get(n)).map(|(a, b)| a.wrapping_add(*b)).as_ref());
        ensure!(wrong.is_none(), "element {wrong:?} of {count}");
    }
    Ok(())
}

pub(super) fn dl02_a_grid_of_several_axes_has_every_invocation_once(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read_write> o: array<atomic<u32>>;
        @compute @workgroup_size(2, 3, 1) fn mark(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
            atomicAdd(&o[id.x + n.x * 2u * (id.y + n.y * 3u * id.z)], 1u);
        }",
    )?;
    let count = 3 * 5 * 7 * 6;
    let view = bench.words(&vec![0; count])?;
    bench.launch(kernel, [3, 5, 7], &[view])?;
    let got = bench.read_words(view)?;
    ensure!(got.iter().all(|&n| n == 1), "{} of {count} ran not exactly once", got.iter().filter(|&&n| n != 1).count());
    Ok(())
}

pub(super) fn l4_uniform_bytes_are_given_inline_or_by_view(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(
        "struct P { scale: u32, more: vec3<u32> }
        @group(0) @binding(0) var<uniform> p: P;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn scale(@builtin(workgroup_id) id: vec3<u32>) { o[id.x] = id.x * p.scale + p.more.z; }",
    )?;
    let parameters: Vec<u8> = [3_u32, 0, 0, 0, 0, 0, 100, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    let (by_view, view) = (bench.block(&parameters)?, bench.words(&[0; 100])?);
    for parameters in [Binding::Inline(&parameters), Binding::Buffer(by_view)] {
        bench.queue.fill(bench.at(), view, &[0])?;
        bench.launch_with(kernel, Grid::Direct([100, 1, 1]), &[parameters, Binding::Buffer(view)], 0)?;
        let got = bench.read_words(view)?;
        ensure!(got.iter().zip(0..).all(|(&n, id)| n == id * 3 + 100), "with {parameters:?}: {got:?}");
    }
    Ok(())
}

pub(super) fn kt11_the_length_of_an_array_is_that_of_its_view(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn length() { o[0] = arrayLength(&a); o[1] = a[1].y; o[2] = arrayLength(&o); }",
    )?;
    let (a, o) = (bench.words(&(0..256).collect::<Vec<u32>>())?, bench.words(&[0; 64])?);
    bench.launch(kernel, [1, 1, 1], &[part(a, 256, 100), part(o, 0, 16)])?;
    let got = bench.read_words(part(o, 0, 12))?;
    ensure!(got == [6, 69, 4], "{got:?} for [6, 69, 4]");
    Ok(())
}

pub(super) fn dl01_dl06_grids_of_exactly_the_limits_run_whole(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(COUNT)?;
    let view = bench.words(&[0])?;
    for (axis, limit) in bench.device.limits().grid.into_iter().enumerate() {
        let grid = [0, 1, 2].map(|n| if n == axis { limit } else { 1 });
        bench.queue.fill(bench.at(), view, &[0])?;
        bench.launch(kernel, grid, &[view])?;
        let got = bench.read_words(view)?;
        ensure!(got == [limit], "{got:?} workgroups of {grid:?}");
    }
    Ok(())
}

pub(super) fn dl06_workgroups_of_exactly_the_limits_run(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let limits = bench.device.limits();
    let [x, y, z] = limits.workgroup_size;
    let all = limits.workgroup_invocations;
    for [x, y, z] in [[x, 1, 1], [1, y, 1], [1, 1, z], [all.min(x), all / all.min(x), 1]] {
        let kernel = bench.compile(&format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<atomic<u32>>;
            @compute @workgroup_size({x}, {y}, {z}) fn count() {{ atomicAdd(&o[0], 1u); }}"
        ))?;
        let view = bench.words(&[0])?;
        bench.launch(kernel, [3, 1, 1], &[view])?;
        let got = bench.read_words(view)?;
        ensure!(got == [3 * x * y * z], "{got:?} invocations of 3 groups of {x} by {y} by {z}");
    }
    Ok(())
}

pub(super) fn dl05_dl06_as_many_bindings_as_are_reported_work(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let count = bench.device.limits().bindings.min(1000);
    let (mut source, mut sum) = (String::new(), String::from("0u"));
    for n in 0..count - 1 {
        let _ = writeln!(source, "@group(0) @binding({n}) var<storage, read> b{n}: array<u32>;");
        let _ = write!(sum, " + b{n}[1]");
    }
    let _ = write!(
        source,
        "@group(0) @binding({}) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn sum() {{ o[0] = {sum}; }}",
        count - 1
    );
    let kernel = bench.compile(&source)?;
    let mut views = Vec::new();
    for n in 0..count {
        views.push(bench.words(&[0, n])?);
    }
    bench.launch(kernel, [1, 1, 1], &views)?;
    let expected: u32 = (0..count - 1).sum();
    let got = views.last().map(|o| bench.read_words(part(*o, 0, 4))).transpose()?;
    ensure!(got.as_deref() == Some(&[expected]), "{got:?} for {expected} over {count} bindings");
    Ok(())
}

pub(super) fn dl06_as_much_workgroup_memory_as_is_reported_works(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let words = bench.device.limits().workgroup_memory / 4;
    let kernel = bench.compile(&format!(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        var<workgroup> w: array<u32, {words}>;
        @compute @workgroup_size(64) fn sum(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) id: vec3<u32>) {{
            for (var n = l; n < {words}u; n += 64u) {{ w[n] += n; }}
            workgroupBarrier();
            if (l == 0u) {{
                var s = 0u;
                for (var n = 0u; n < {words}u; n += 1u) {{ s += w[n]; }}
                o[id.x] = s;
            }}
        }}"
    ))?;
    let view = bench.words(&[0; 20])?;
    bench.launch(kernel, [20, 1, 1], &[view])?;
    let expected = (0..words).fold(0_u32, |sum, n| sum.wrapping_add(n as u32));
    let got = bench.read_words(view)?;
    ensure!(got.iter().all(|&sum| sum == expected), "{got:?} for {expected} over {words} words");
    Ok(())
}

pub(super) fn dl09_dependent_launches_count_right(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn step() { o[0] += 1u; }",
    )?;
    let view = bench.words(&[0])?;
    for _ in 0..20_000 {
        bench.launch(kernel, [1, 1, 1], &[view])?;
    }
    let got = bench.read_words(view)?;
    ensure!(got == [20_000], "{got:?} for 20000");
    Ok(())
}

pub(super) fn l2_an_indirect_grid_is_read_when_its_turn_comes(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    if !bench.device.capabilities().indirect {
        return Ok(());
    }
    // The grid is made by a kernel just before.
    let make = bench.compile(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn make() { o[4] = 3u; o[5] = 5u; o[6] = 7u; }",
    )?;
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read_write> o: array<atomic<u32>>;
        @compute @workgroup_size(1) fn count(@builtin(num_workgroups) n: vec3<u32>) {
            atomicAdd(&o[0], 1u);
            for (var axis = 0u; axis < 3u; axis++) { atomicMax(&o[axis + 1u], n[axis]); }
        }",
    )?;
    let (grid, view) = (bench.words(&[1000; 16])?, bench.words(&[0; 4])?);
    bench.launch(make, [1, 1, 1], &[grid])?;
    bench.launch_with(kernel, Grid::Indirect(part(grid, 16, 12)), &[Binding::Buffer(view)], 0)?;
    bench.queue.fill(bench.at(), grid, &[0])?;
    let got = bench.read_words(view)?;
    ensure!(got == [105, 3, 5, 7], "{got:?}: workgroups of 105, and what they were told");
    Ok(())
}

pub(super) fn l2_an_indirect_grid_with_a_zero_runs_nothing(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    if !bench.device.capabilities().indirect {
        return Ok(());
    }
    let kernel = bench.compile(COUNT)?;
    let view = bench.words(&[0])?;
    for axes in [[0, 5, 7], [5, 0, 7], [5, 7, 0], [0, 0, 0]] {
        let grid = bench.words(&axes)?;
        bench.launch_with(kernel, Grid::Indirect(grid), &[Binding::Buffer(view)], 0)?;
    }
    let got = bench.read_words(view)?;
    ensure!(got == [0], "{got:?} workgroups of none");
    ensure!(bench.queue.take_late().is_empty(), "no work is no failure");
    Ok(())
}

pub(super) fn l5_checked_kernels_stay_in_their_views(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn stray(@builtin(workgroup_id) id: vec3<u32>) {
            o[id.x * 3u] = a[id.x * 1000000u] + 1u;
        }",
    )?;
    let (a, o) = (bench.words(&[7; 64])?, bench.words(&[0xBAD; 192])?);
    bench.launch(kernel, [1000, 1, 1], &[part(a, 0, 4), part(o, 256, 32)])?;
    let got = bench.read_words(o)?;
    let mut expected = vec![0xBAD; 192];
    for (word, value) in [(64, 8), (67, 1), (70, 1)] {
        expected.get_mut(word).into_iter().for_each(|slot| *slot = value);
    }
    ensure!(got == expected, "words around the view changed, or a stray read was not zero: {got:x?}");
    Ok(())
}

pub(super) fn kernels_are_compiled_on_several_threads_at_once(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let device = &*bench.device;
    let answers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let source = format!(
                    "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
                    @compute @workgroup_size(1) fn put() {{ o[{n}] = {n}u + 10u; }}"
                );
                scope.spawn(move || compile(device, &source, Bounds::Checked, false))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failed("a thread panicked".into()))))
            .collect::<Vec<_>>()
    });
    let view = bench.words(&[0; 8])?;
    for kernel in answers {
        bench.launch(kernel?, [1, 1, 1], &[view])?;
    }
    let got = bench.read_words(view)?;
    ensure!(got == [10, 11, 12, 13, 14, 15, 16, 17], "{got:?}");
    Ok(())
}

pub(super) fn a_kernel_dropped_leaves_the_others_alone(subject: &Subject<'_>) -> Outcome {
    let bench = portable!(subject);
    let view = whole(bench.words(&[0])?.memory, 4);
    let kept = bench.compile(COUNT)?;
    for _ in 0..20 {
        let gone = bench.compile(COUNT)?;
        ensure!(gone != kept, "two kernels under one id");
        bench.launch(gone, [1, 1, 1], &[view])?;
        bench.launch(kept, [1, 1, 1], &[view])?;
        bench.wait()?;
        bench.device.drop_kernel(gone);
    }
    ensure!(bench.device.kernel_facts(kept).max_invocations.is_none_or(|most| most >= 1), "a kernel that no workgroup can run");
    let got = bench.read_words(view)?;
    ensure!(got == [40], "{got:?} for 40");
    Ok(())
}

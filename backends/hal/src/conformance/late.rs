//! Failures of work that was accepted (T13).

use std::time::Instant;

use super::bench::{Bench, PATIENCE, compile, ensure};
use super::{Failed, Outcome, Subject};
use crate::kernel::reflection::Bounds;
use crate::{Binding, Grid, LateCause, LateFailure, Position};

/// Polls until `at` completes, and takes what failed: it must be there by then.
fn late_when_done(bench: &Bench, at: Position) -> Result<Vec<LateFailure>, Failed> {
    bench.queue.submit()?;
    let start = Instant::now();
    while bench.queue.completed() < at {
        ensure!(start.elapsed() < PATIENCE, "position {at} did not complete");
        std::thread::yield_now();
    }
    Ok(bench.queue.take_late())
}

pub(super) fn t13_l2_an_indirect_grid_over_the_limits_runs_nothing(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let capabilities = bench.device.capabilities();
    if !capabilities.portable || !capabilities.indirect {
        return Ok(());
    }
    let kernel = bench.compile(
        "@group(0) @binding(0) var<storage, read_write> o: array<atomic<u32>>;
        @compute @workgroup_size(1) fn count() { atomicAdd(&o[0], 1u); }",
    )?;
    let view = bench.words(&[0])?;
    for (axis, limit) in bench.device.limits().grid.into_iter().enumerate() {
        let Some(beyond) = limit.checked_add(1) else { continue };
        let asked = [0, 1, 2].map(|n| if n == axis { beyond } else { 1 });
        let grid = bench.words(&asked)?;
        let at = bench.launch_with(kernel, Grid::Indirect(grid), &[Binding::Buffer(view)], 0)?;
        let late = late_when_done(&bench, at)?;
        let told = matches!(&late[..], [LateFailure { position, cause: LateCause::GridLimit { asked: told, .. } }] if *position == at && *told == asked);
        ensure!(told == capabilities.indirect_reports, "asked for {asked:?}, told {late:?}");
    }
    let got = bench.read_words(view)?;
    ensure!(got == [0], "{got:?} workgroups of none");
    ensure!(bench.device.fault().is_none(), "the device is lost by it");
    Ok(())
}

pub(super) fn t13_l5_a_validated_kernel_reports_its_first_violation(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable || !bench.device.capabilities().validate {
        return Ok(());
    }
    let source = "@group(0) @binding(0) var<storage, read> index: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(4) fn scatter(@builtin(global_invocation_id) id: vec3<u32>) {
    output[index[id.x]] = id.x;
}";
    let kernel = compile(&*bench.device, source, Bounds::Validate, false)?;
    let (good, bad) = (bench.words(&[0, 1, 2, 3, 4, 5, 6, 7])?, bench.words(&[0, 1, 2, 3, 4, 99, 6, 7])?);
    let output = bench.words(&[0xF00; 8])?;
    let at = bench.launch(kernel, [2, 1, 1], &[good, output])?;
    ensure!(late_when_done(&bench, at)?.is_empty(), "a kernel that stays inside was reported");
    let at = bench.launch(kernel, [2, 1, 1], &[bad, output])?;
    let late = late_when_done(&bench, at)?;
    let [LateFailure { position, cause: LateCause::OutOfBounds { location, index: 99, length: 8, invocation: [5, 0, 0], what } }] =
        &late[..]
    else {
        return Err(Failed(format!("a store at 99 of 8 by invocation 5: {late:?}")));
    };
    ensure!(*position == at && location.line == 4 && what.contains("output"), "{late:?}");
    ensure!(bench.queue.take_late().is_empty(), "it was told twice");
    ensure!(bench.device.fault().is_none(), "the device is lost by it");
    Ok(())
}

/// A kernel over `I` (bound as 5, 9, 0, 0) and `O` (8 words) whose entry point has this body.
fn validated(bench: &Bench, body: &str) -> Result<(Position, Vec<LateFailure>), Failed> {
    let source = format!(
        "@group(0) @binding(0) var<storage, read> I: array<u32>;
@group(0) @binding(1) var<storage, read_write> O: array<u32>;
@group(0) @binding(2) var<storage, read_write> A: array<atomic<u32>>;
struct Part {{ mass: u32, history: array<vec2<u32>, 4> }}
var<workgroup> shared_words: array<u32, 4>;
var<private> own: array<array<u32, 3>, 2>;
fn add(to: ptr<function, u32>, really: bool) {{ if (really) {{ *to += 1u; }} }}
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    if (id.x != 6u) {{ return; }}
{body}
}}"
    );
    let kernel = compile(&*bench.device, &source, Bounds::Validate, false)?;
    let (input, output) = (bench.words(&[5, 9, 0, 0])?, bench.words(&[0; 8])?);
    let atomics = bench.words(&[0; 4])?;
    // What the kernel does not mention is not bound.
    let region = |name: &str, region| if body.contains(name) { Binding::Buffer(region) } else { Binding::Inline(&[]) };
    let bindings = [region("I[", input), region("O[", output), region("A[", atomics)];
    let at = bench.launch_with(kernel, Grid::Direct([2, 1, 1]), &bindings, 0)?;
    Ok((at, late_when_done(bench, at)?))
}

pub(super) fn l5_every_kind_of_access_is_reported(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable || !bench.device.capabilities().validate {
        return Ok(());
    }
    // Body, and of its first violation: column, name, index, length.
    let cases: &[(&str, u32, &str, i64, u64)] = &[
        ("O[0] = I[I[0]];", 8, "I", 5, 4),
        ("O[I[1]] = 1u;", 1, "O", 9, 8),
        ("O[bitcast<i32>(I[0]) - 9] = 1u;", 1, "O", -4, 8),
        ("atomicAdd(&A[I[0]], 1u); O[0] = 1u;", 12, "A", 5, 4),
        ("shared_words[I[0]] = 1u;", 1, "shared_words", 5, 4),
        ("own[I[2]][I[0]] = 1u;", 1, "own[..]", 5, 3),
        ("own[I[0]][I[1]] = 1u;", 1, "own", 5, 2),
        ("var p: Part; p.history[I[0]][I[1]] = 1u; O[0] = p.mass;", 14, "p.history", 5, 4),
        ("var p: Part; p.history[I[2]][I[1]] = 1u; O[0] = p.mass;", 14, "p.history[..]", 9, 2),
        ("let v = vec3(I[0]); O[0] = v[I[1]];", 28, "v", 9, 3),
        ("var m = mat2x3<f32>(); m[I[2]][I[0]] = 1.0; O[0] = u32(m[0][0]);", 24, "m[..]", 5, 3),
        ("var a: array<u32, 3>; add(&a[I[0]], I[1] == 9u); O[0] = a[0];", 28, "a", 5, 3),
        ("var i = 0u; loop { O[i] = 1u; i++; if (i > I[1]) { break; } }", 20, "O", 8, 8),
    ];
    for &(body, column, name, wrong, limit) in cases {
        let (at, late) = validated(&bench, body)?;
        let [LateFailure { position, cause: LateCause::OutOfBounds { location, index, length, invocation, what } }] = &late[..]
        else {
            return Err(Failed(format!("`{body}`: {late:?}")));
        };
        let place = (location.line, location.column) == (10, column);
        let numbers = (*index, *length, *invocation) == (wrong, limit, [6, 0, 0]);
        ensure!(*position == at && place && numbers && what == name, "`{body}`: {late:?}");
    }
    Ok(())
}

pub(super) fn l5_an_index_that_is_not_used_is_not_reported(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable || !bench.device.capabilities().validate {
        return Ok(());
    }
    for body in [
        "let p = &O[I[1]]; if (I[0] == 4u) { *p = 1u; }",
        "if (I[0] == 4u) { O[I[1]] = 1u; }",
        "var a: array<u32, 3>; add(&a[I[0]], I[1] == 8u); O[0] = a[0];",
        "O[I[0]] = I[I[2]]; shared_words[I[0] & 3u] = 1u;",
    ] {
        let (_, late) = validated(&bench, body)?;
        ensure!(late.is_empty(), "`{body}`: {late:?}");
    }
    Ok(())
}

pub(super) fn t13_a_kernel_past_its_time_limit_is_stopped(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable || !bench.device.capabilities().time_limit {
        return Ok(());
    }
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn spin() { while (o[0] != 1u) { o[1] += 1u; } }";
    let kernel = compile(&*bench.device, source, Bounds::Checked, true)?;
    let (endless, short) = (bench.words(&[0, 0])?, bench.words(&[1, 0])?);
    let (limit, start) = (30_000_000, Instant::now());
    let at = bench.launch_with(kernel, Grid::Direct([3, 1, 1]), &[Binding::Buffer(endless)], limit)?;
    let after = bench.at();
    bench.queue.fill(after, endless, &[9])?;
    let late = late_when_done(&bench, after)?;
    ensure!(start.elapsed().as_nanos() >= u128::from(limit), "it was stopped before its time");
    let told = matches!(&late[..], [LateFailure { position, cause: LateCause::TimeLimit { limit: told } }] if *position == at && *told == limit);
    ensure!(told, "{late:?}");
    let got = bench.read_words(endless)?;
    ensure!(got == [0x0909_0909; 2], "work after it was lost: {got:x?}");
    let at = bench.launch_with(kernel, Grid::Direct([3, 1, 1]), &[Binding::Buffer(short)], u64::from(u32::MAX))?;
    ensure!(late_when_done(&bench, at)?.is_empty(), "a kernel that ended in time was reported");
    ensure!(bench.device.fault().is_none(), "the device is lost by it");
    Ok(())
}

pub(super) fn t13_nothing_fails_late_without_a_cause(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let block = bench.block(&[0; 100_000])?;
    for _ in 0..100 {
        bench.queue.fill(bench.at(), block, &[1])?;
        bench.queue.mark(bench.at());
    }
    bench.wait()?;
    let late = bench.queue.take_late();
    ensure!(late.is_empty(), "{late:?}");
    Ok(())
}

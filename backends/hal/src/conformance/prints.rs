//! What kernels print.

use std::time::Instant;

use super::bench::{Bench, PATIENCE, compile_to_print, ensure};
use super::{Failed, Outcome, Subject};
use crate::kernel::reflection::Bounds;
use crate::{Binding, Grid, Position, Printed};

const SOURCE: &str = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(4) fn tell(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x % 3u == 2u) {
        debugPrintf(\"%u: %d %.2v2f\\n\", o[id.x], -i32(id.x), vec2(f32(id.x), 0.5));
    }
    o[id.x * 2u] = 1u;
}";

/// Polls until `at` completes, and takes what was printed: it must be there by then.
fn printed_when_done(bench: &Bench, at: Position) -> Result<Vec<Printed>, Failed> {
    bench.queue.submit()?;
    let start = Instant::now();
    while bench.queue.completed() < at {
        ensure!(start.elapsed() < PATIENCE, "position {at} did not complete");
        std::thread::yield_now();
    }
    Ok(bench.queue.take_printed())
}

pub(super) fn a_kernel_prints_before_its_position_completes(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let kernel = compile_to_print(&*bench.device, SOURCE, Bounds::Checked, false, 4096)?;
    let view = bench.words(&[7; 24])?;
    for _ in 0..3 {
        let first = bench.launch_with(kernel, Grid::Direct([1, 1, 1]), &[Binding::Buffer(view)], 0)?;
        let second = bench.launch_with(kernel, Grid::Direct([2, 1, 1]), &[Binding::Buffer(view)], 0)?;
        let printed = printed_when_done(&bench, second)?;
        let positions: Vec<Position> = printed.iter().map(|printed| printed.position).collect();
        ensure!(positions == [first, second], "printed by {positions:?}, not {first} and {second}");
        for (printed, expected) in printed.iter().zip([&[2][..], &[2, 5]]) {
            let mut lines: Vec<_> = printed.output.lines.iter().map(|line| (line.invocation, line.text.clone())).collect();
            lines.sort();
            // The first launch has stored to word 2 before the second reads it, which itself stores there in another invocation.
            let ids: Vec<u32> = lines.iter().map(|(id, _)| id[0]).collect();
            ensure!(ids == expected && printed.output.lost == 0, "{printed:?}");
            for (id, text) in &lines {
                let rest = text.split_once(": ").map(|(_, rest)| rest);
                ensure!(rest == Some(&format!("-{} {}.00, 0.50", id[0], id[0])), "{text}");
            }
            ensure!(printed.output.lines.iter().all(|line| (line.location.line, line.location.column) == (4, 21)), "{printed:?}");
        }
    }
    ensure!(bench.queue.take_printed().is_empty(), "it was told twice");
    Ok(())
}

pub(super) fn prints_without_room_are_counted(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let source =
        "@compute @workgroup_size(32) fn many(@builtin(global_invocation_id) id: vec3<u32>) { debugPrintf(\"%u\", id.x); }";
    let kernel = compile_to_print(&*bench.device, source, Bounds::Checked, false, 104)?;
    let at = bench.launch_with(kernel, Grid::Direct([10, 1, 1]), &[], 0)?;
    let printed = printed_when_done(&bench, at)?;
    let [Printed { output, .. }] = &printed[..] else { return Err(Failed(format!("{printed:?}"))) };
    ensure!(output.lines.len() == 5 && output.lost == 315, "{} lines, {} lost", output.lines.len(), output.lost);
    let right = output.lines.iter().all(|line| line.text == line.invocation[0].to_string());
    ensure!(right, "{output:?}");
    Ok(())
}

pub(super) fn a_kernel_prints_and_validates(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable || !bench.device.capabilities().validate {
        return Ok(());
    }
    let kernel = compile_to_print(&*bench.device, SOURCE, Bounds::Validate, false, 4096)?;
    // Invocation 2 is the last whose store fits.
    let view = bench.words(&[7; 5])?;
    let at = bench.launch_with(kernel, Grid::Direct([1, 1, 1]), &[Binding::Buffer(view)], 0)?;
    let printed = printed_when_done(&bench, at)?;
    ensure!(printed.len() == 1 && printed.iter().all(|printed| printed.output.lines.len() == 1), "{printed:?}");
    let late = bench.queue.take_late();
    ensure!(late.len() == 1 && late.iter().all(|failure| failure.position == at), "{late:?}");
    Ok(())
}

pub(super) fn a_kernel_without_a_listener_prints_nothing(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if !bench.device.capabilities().portable {
        return Ok(());
    }
    let kernel = compile_to_print(&*bench.device, SOURCE, Bounds::Checked, false, 0)?;
    let view = bench.words(&[7; 24])?;
    let at = bench.launch_with(kernel, Grid::Direct([1, 1, 1]), &[Binding::Buffer(view)], 0)?;
    let printed = printed_when_done(&bench, at)?;
    ensure!(printed.is_empty(), "{printed:?}");
    let got = bench.read_words(view)?;
    ensure!(got.iter().step_by(2).take(4).all(|word| *word == 1), "its stores went with its prints: {got:?}");
    Ok(())
}

//! Figures of the pools alone: nanoseconds of allocate and release with few and with many live slices, and what the traces take.
//!
//! `cargo bench -p compute-memory`

#![allow(clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::traces::{Event, frames, training};
use common::{Done, allocate, replay, settings};
use compute_memory::{Layout, Mode, Placement, Pools, Settings};

const ROUNDS: u32 = 500;
const RUNS: u32 = 1000;

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Pools with `live` slices of 256 to 4096 bytes, and as much again free between them.
fn filled(live: usize) -> (Pools<()>, Vec<Placement>) {
    let mut pools = Pools::new(Layout::standard(Layout::LARGEST_SLICE), settings()).unwrap();
    let (mut state, mut made) = (5, 0);
    let mut all: Vec<_> =
        (0..live * 2).map(|_| allocate(&mut pools, 1 + random(&mut state) % 4096, Mode::Auto, &mut made)).collect();
    for index in (0..live).rev() {
        let gone = all.swap_remove(index * 2);
        pools.release(gone, 0, None, &Done);
    }
    (pools, all)
}

/// The median of many short runs, which another program seldom interrupts, in nanoseconds for each round.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| run());
            start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    for live in [1000, 10_000, 100_000, 1_000_000] {
        let (mut pools, mut all) = filled(live);
        let (mut state, mut made) = (9, 1 << 40);
        let pair = median(|| {
            let placed = allocate(&mut pools, 1000, Mode::Auto, &mut made);
            pools.release(black_box(placed), 0, None, &Done);
        });
        let replace = median(|| {
            let index = random(&mut state) as usize % all.len();
            let gone = all.swap_remove(index);
            pools.release(gone, 0, None, &Done);
            all.push(allocate(&mut pools, 1 + random(&mut state) % 4096, Mode::Auto, &mut made));
        });
        println!("{live:>8} live: allocate and release {pair:6.1} ns, any one replaced by another size {replace:6.1} ns");
    }
    let traces: [(&str, Vec<Event>); 2] = [("training", training(40)), ("frames", frames(2000))];
    for (name, events) in &traces {
        for idle in [64 << 20, 1 << 40] {
            trace(name, events, idle);
        }
    }
}

fn trace(name: &str, events: &[Event], idle_cap: u64) {
    let start = Instant::now();
    let (taken, _) = replay(events, Layout::standard(Layout::LARGEST_SLICE), Settings { idle_cap, ..settings() });
    let each = start.elapsed().as_nanos() as f64 / events.len() as f64;
    println!(
        "{name}, up to {} MiB idle: peak live {} MiB, peak reserved / peak live {:.3}, {} pages made ({} in the second half), {each:.0} ns an event",
        idle_cap >> 20,
        taken.peak_live >> 20,
        taken.ratio(),
        taken.pages_made,
        taken.pages_made_late
    );
}

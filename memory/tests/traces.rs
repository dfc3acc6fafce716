//! How much more than the live bytes the pools take from the driver, on traces of whole programs.

mod common;

use common::traces::{Event, frames, same_steps, training};
use common::{replay, settings};
use compute_memory::{Layout, Settings};

#[test]
fn a_trace_is_the_same_each_time_and_releases_only_what_it_allocated() {
    for trace in [training(3), frames(50)] {
        let mut live = std::collections::HashSet::new();
        for event in &trace {
            match event {
                Event::Allocate { id, size, .. } => assert!(live.insert(*id) && *size > 0),
                Event::Release { id } => assert!(live.remove(id)),
            }
        }
    }
    assert_eq!(training(2), training(2));
    assert_eq!(frames(20), frames(20));
}

fn check(name: &str, trace: &[Event], idle_cap: u64) {
    let (taken, _) = replay(trace, Layout::standard(Layout::LARGEST_SLICE), Settings { idle_cap, ..settings() });
    println!("{name}, idle up to {idle_cap}: {} events, ratio {:.3}, {taken:?}", trace.len(), taken.ratio());
    assert!(taken.ratio() <= 1.15, "{name}: {:.3}, {taken:?}", taken.ratio());
}

#[test]
fn peak_reserved_of_training_steps_is_at_most_115_percent_of_peak_live() {
    check("training", &training(40), 64 << 20);
    check("training, idle pages uncapped", &training(40), u64::MAX);
}

#[test]
fn peak_reserved_of_a_frame_loop_is_at_most_115_percent_of_peak_live() {
    check("frames", &frames(2000), 64 << 20);
    check("frames, idle pages uncapped", &frames(2000), u64::MAX);
}

#[test]
fn peak_reserved_under_the_page_rule_of_a_device_that_tracks_pages_is_at_most_115_percent_of_peak_live() {
    for (name, trace) in [("training", training(20)), ("frames", frames(1000))] {
        let (taken, _) = replay(&trace, Layout::standard(1 << 20), settings());
        assert!(taken.ratio() <= 1.15, "{name}: {:.3}, {taken:?}", taken.ratio());
    }
}

#[test]
fn a_loop_that_repeats_itself_asks_the_driver_for_nothing_more() {
    let (taken, _) =
        replay(&same_steps(20), Layout::standard(Layout::LARGEST_SLICE), Settings { idle_cap: u64::MAX, ..settings() });
    assert_eq!(taken.pages_made_late, 0, "{taken:?}");
}

/// A program that allocates and releases at random, of all sizes.
fn random_program(seed: u64) -> Vec<Event> {
    let (mut state, mut events, mut live) = (seed, Vec::new(), Vec::new());
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for id in 0..4000 {
        let bits = 4 + below(24);
        events.push(Event::Allocate { id, size: 1 + below(1 << bits), persistent: below(10) == 0 });
        live.push(id);
        while live.len() > 10 && below(100) < if id / 400 % 2 == 0 { 40 } else { 55 } {
            let index = below(live.len() as u64) as usize;
            events.push(Event::Release { id: live.swap_remove(index) });
        }
    }
    events
}

#[test]
fn m5_random_programs_run_again_in_the_caps_of_their_dry_run() {
    for seed in 1..60 {
        let (layout, trace) = (Layout::standard(1 << (17 + seed % 10)), random_program(seed));
        let (dry, pools) = replay(&trace, layout.clone(), settings());
        let plan = layout.capped(&pools.report());
        plan.check(256).unwrap();
        let (capped, _) = replay(&trace, plan, settings());
        assert_eq!((capped.peak_live, capped.peak_reserved), (dry.peak_live, dry.peak_reserved), "seed {seed}");
    }
}

#[test]
fn m5_a_dry_run_gives_caps_in_which_the_same_work_runs_again() {
    for trace in [same_steps(4), frames(300)] {
        let layout = Layout::standard(Layout::LARGEST_SLICE);
        // No page of a dry run has memory behind it: nothing is paid for.
        let (dry, pools) = replay(&trace, layout.clone(), settings());
        let plan = layout.capped(&pools.report());
        plan.check(256).unwrap();
        // `replay` panics on a refusal.
        let (capped, pools) = replay(&trace, plan.clone(), settings());
        assert_eq!((capped.peak_live, capped.peak_reserved), (dry.peak_live, dry.peak_reserved));
        assert!(pools.report().iter().zip(&plan.pools).all(|(report, spec)| report.peak_reserved <= spec.cap));
    }
}

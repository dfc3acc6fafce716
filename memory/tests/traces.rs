//! How much more than the live bytes the pools take from the driver, on traces of whole programs.

mod common;

use common::traces::{Event, frames, training};
use common::{replay, settings};
use compute_memory::Layout;

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

fn check(name: &str, trace: &[Event]) {
    let (taken, _) = replay(trace, Layout::standard(1 << 20), settings());
    println!("{name}: {} events, ratio {:.3}, {taken:?}", trace.len(), taken.ratio());
    assert!(taken.ratio() <= 1.15, "{name}: {:.3}, {taken:?}", taken.ratio());
}

#[test]
fn peak_reserved_of_training_steps_is_at_most_115_percent_of_peak_live() {
    check("training", &training(40));
}

#[test]
fn peak_reserved_of_a_frame_loop_is_at_most_115_percent_of_peak_live() {
    check("frames", &frames(2000));
}

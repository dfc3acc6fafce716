//! Makes a kernel smaller for as long as it goes wrong in the same way.

use std::time::{Duration, Instant};

use compute_kernel::reflection::Bounds;

use crate::bench::Bench;
use crate::check::{Verdict, check};
use crate::program::{Program, Setup};
use crate::tree::Change;

/// In the order in which they take most away.
const CHANGES: [Change; 8] = [
    Change::Remove,
    Change::Inner(0),
    Change::Inner(1),
    Change::Zero,
    Change::Part(0),
    Change::Part(1),
    Change::Part(2),
    Change::Remove,
];

pub(crate) fn minimise(
    bench: &mut Bench,
    program: Program,
    setup: &Setup,
    bounds: Bounds,
    wrong: &'static str,
) -> (Program, String) {
    let end = Instant::now() + Duration::from_secs(60);
    let (mut best, mut detail) = (program, String::new());
    loop {
        let mut smaller = false;
        for change in CHANGES {
            let mut at = 0;
            while let Some(next) = best.changed(change, at) {
                if Instant::now() > end {
                    return (best, detail);
                }
                match check(bench, &next.source(), setup, bounds) {
                    Verdict::Wrong(same, text) if same == wrong => (best, detail, smaller) = (next, text, true),
                    _ => at += 1,
                }
            }
        }
        if !smaller {
            return (best, detail);
        }
    }
}

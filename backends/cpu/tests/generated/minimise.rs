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

/// What is left of a kernel that is wrong, and what is wrong with it.
pub(crate) fn minimise(
    bench: &mut Bench,
    program: Program,
    setup: &Setup,
    bounds: Bounds,
    wrong: &'static str,
) -> (Program, String) {
    smaller(program, |program| match check(bench, &program.source(), setup, bounds) {
        Verdict::Wrong(same, text) if same == wrong => Some(text),
        _ => None,
    })
}

/// The same by any measure: `goes_wrong` says in which way.
pub(crate) fn smaller(program: Program, mut goes_wrong: impl FnMut(&Program) -> Option<String>) -> (Program, String) {
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
                match goes_wrong(&next) {
                    Some(text) => (best, detail, smaller) = (next, text, true),
                    None => at += 1,
                }
            }
        }
        if !smaller {
            return (best, detail);
        }
    }
}

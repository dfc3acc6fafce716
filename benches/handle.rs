//! What a look-up of a handle costs, with and without other threads on the same object. One line per case: the median of several runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

#[path = "../src/capi/handle/mod.rs"]
#[allow(dead_code, unused_imports)]
mod handle;

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use handle::{Table, Tag};

const ROUNDS: u32 = 2_000_000;

/// Nanoseconds per round: the median of nine runs.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    static TABLE: Table<Arc<u64>> = Table::new(Tag::Buffer);
    let handles: Vec<u64> = (0..1000).filter_map(|n| TABLE.insert(Arc::new(n)).ok()).collect();
    let one = handles[500];
    let arc = Arc::new(7_u64);
    let lookups = |handle: u64| {
        for _ in 0..ROUNDS {
            black_box(TABLE.get(black_box(handle)));
        }
    };
    println!("look-up and drop, one object      {:6.1} ns", median(|| lookups(one)));
    let mut n = 0;
    let many = median(|| {
        for _ in 0..ROUNDS {
            n = (n + 7) % handles.len();
            black_box(TABLE.get(black_box(handles[n])));
        }
    });
    println!("look-up and drop, 1000 objects    {many:6.1} ns");
    println!("look-up of a stale handle         {:6.1} ns", median(|| lookups(one ^ (1 << 30))));
    let clone = median(|| {
        for _ in 0..ROUNDS {
            black_box(Arc::clone(black_box(&arc)));
        }
    });
    println!("Arc clone and drop, for scale     {clone:6.1} ns");
    let churn = median(|| {
        for _ in 0..ROUNDS {
            if let Ok(handle) = TABLE.insert(Arc::clone(&arc)) {
                TABLE.destroy(black_box(handle));
            }
        }
    });
    println!("make and destroy                  {churn:6.1} ns");
    for threads in [2, 8] {
        let shared = median(|| {
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| lookups(one));
                }
            });
        });
        println!("look-up and drop, {threads} threads on one {shared:6.1} ns (wall time per round of all)");
    }
}

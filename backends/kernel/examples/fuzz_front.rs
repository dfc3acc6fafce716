//! Feeds wrong sources in all languages to the front ends: `cargo run --example fuzz_front -p compute-kernel -- [seconds] [seed]`. Says what came of them, and
//! writes each source that crashed a front end or took too long to a file.
#![allow(clippy::panic, reason = "a tool for developers")]

#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../tests/common/mutate.rs"]
mod mutate;

use std::time::{Duration, Instant};

use mutate::Tally;

fn main() {
    let number = |at: usize, default: u64| std::env::args().nth(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (seconds, seed) = (number(1, 60), number(2, 1));
    let corpus = mutate::corpus();
    let mut dice = mutate::Dice::new(seed);
    let mut tally = Tally::default();
    for source in &corpus {
        mutate::feed(source, &mut tally);
    }
    println!("corpus: {} accepted, {} refused, {} wrong", tally.accepted, tally.refused, tally.wrong.len());
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        mutate::feed(&mutate::mutate(&corpus, &mut dice), &mut tally);
    }
    let Tally { accepted, refused, crashed, slowest, .. } = &tally;
    println!(
        "{accepted} accepted, {refused} refused ({crashed} by a caught panic), {} wrong, slowest {slowest:?}",
        tally.wrong.len()
    );
    for (index, (what, source)) in tally.wrong.iter().enumerate() {
        let path = std::env::temp_dir().join(format!("fuzz_front_{seed}_{index}"));
        println!("{}: {}", path.display(), what.lines().next().unwrap_or_default());
        if let Err(error) = std::fs::write(&path, source) {
            println!("could not be written: {error}");
        }
    }
    if !tally.wrong.is_empty() {
        panic!("something is wrong");
    }
}

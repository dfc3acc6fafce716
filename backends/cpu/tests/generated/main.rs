//! Generated kernels on the cpu device against the interpreter, bit for bit.
//!
//! A core set of seeds is the same for ever; the others change with the commit (`COMPUTE_SHARD`, any number; `make rust-test` makes one from it). `COMPUTE_SEED` runs one seed alone, `COMPUTE_KERNELS` another number of kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

#[path = "../common/mod.rs"]
mod bench;
mod check;
mod constants;
mod expressions;
mod minimise;
mod program;
mod random;
mod spirv;
mod statements;
mod tree;
mod types;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bench::Bench;
use check::{Verdict, check};
use compute_kernel::reflection::Bounds;
use types::{Palette, Scalar};

/// Seeds that every run has, and as many again that change.
const CORE: u64 = 1000;
const ROTATING: u64 = 1000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What has to be in the environment for the same seeds again.
fn again(count: &str, seeds: u64) -> String {
    format!("COMPUTE_SHARD={} {count}={seeds}", number("COMPUTE_SHARD").unwrap_or(0))
}

/// Types that the front end takes by now.
fn palette() -> Palette {
    let takes = |source: &str| bench::parse(source).is_ok();
    let kernel = |ty: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> o: {ty}; @compute @workgroup_size(1) fn main() {{ o += {ty}(1); }}"
        )
    };
    let mut palette = Palette { stored: vec![Scalar::I32, Scalar::U32, Scalar::F32], floats: vec![Scalar::F32] };
    for (scalar, head) in [(Scalar::F16, "enable f16; "), (Scalar::I64, ""), (Scalar::U64, ""), (Scalar::F64, "")] {
        if takes(&format!("{head}{}", kernel(scalar.name()))) {
            palette.stored.push(scalar);
            if scalar.is_float() {
                palette.floats.push(scalar);
            }
        }
    }
    palette
}

#[derive(Default)]
struct Tally {
    same: usize,
    whole: usize,
    out_of_range: usize,
    too_long: usize,
    refused: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

fn bounds_of(seed: u64) -> Bounds {
    [Bounds::Validate, Bounds::Unchecked][(seed % 2) as usize]
}

fn one(bench: &mut Bench, seed: u64, palette: &Palette, tally: &Mutex<Tally>) {
    let (program, setups) = program::generate(seed, palette);
    let source = program.source();
    for setup in &setups {
        let verdict = check(bench, &source, setup, bounds_of(seed));
        let mut report = None;
        if let Verdict::Wrong(wrong, detail) = &verdict {
            let (small, text) = minimise::minimise(bench, program.clone(), setup, bounds_of(seed), wrong);
            let words: Vec<u32> =
                setup.bindings[0].chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap_or_default())).collect();
            println!("seed {seed} is wrong: {wrong}");
            report = Some(format!(
                "seed {seed} (again: COMPUTE_SEED={seed}), {wrong}: {}\ngrid {:?}, input {words:x?}\n{}\n",
                if text.is_empty() { detail } else { &text },
                setup.grid,
                small.source()
            ));
        }
        let mut tally = tally.lock().unwrap();
        match verdict {
            Verdict::Same { whole, out_of_range } => {
                tally.same += 1;
                tally.whole += usize::from(whole);
                tally.out_of_range += usize::from(out_of_range);
            }
            Verdict::TooLong => tally.too_long += 1,
            Verdict::Refused(text) => {
                let line = text.lines().next().unwrap_or_default().to_owned();
                if std::env::var_os("COMPUTE_SHOW_REFUSED").is_some() {
                    println!("seed {seed}: {text}");
                }
                *tally.refused.entry(line).or_default() += 1;
                return;
            }
            Verdict::Wrong(..) => {
                tally.wrong.extend(report);
                return;
            }
        }
    }
}

fn run(seeds: &[u64]) -> Tally {
    let palette = palette();
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut bench = Bench::open(2).expect("the cpu device");
                while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if tally.lock().unwrap().wrong.len() >= 3 {
                        break;
                    }
                    one(&mut bench, seed, &palette, &tally);
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

#[test]
fn generated_kernels_do_to_the_bit_what_the_interpreter_says() {
    let shard = number("COMPUTE_SHARD").unwrap_or(0);
    let first = number("COMPUTE_SEED");
    let count = number("COMPUTE_KERNELS");
    let seeds: Vec<u64> = match (first, count) {
        (Some(first), count) => (first..first + count.unwrap_or(1)).collect(),
        (None, Some(count)) => (0..count).collect(),
        (None, None) => (0..CORE).chain((0..ROTATING).map(|i| CORE + shard.wrapping_mul(ROTATING) + i)).collect(),
    };
    let tally = run(&seeds);
    let refused: usize = tally.refused.values().sum();
    println!(
        "{} kernels, shard {shard}: {} launches the same, {} with whole writes, {} with accesses out of range, {refused} kernels refused, {} too long",
        seeds.len(),
        tally.same,
        tally.whole,
        tally.out_of_range,
        tally.too_long
    );
    let pointers = check::POINTERS.load(Ordering::Relaxed);
    println!("  {pointers} launches the same with pointers to shared memory as parameters and without");
    for (why, count) in &tally.refused {
        println!("  refused {count}: {why}");
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    if first.is_none() {
        assert!(tally.same > seeds.len(), "too few were taken to mean anything");
        assert!(tally.whole * 50 > seeds.len() && tally.out_of_range * 10 > seeds.len(), "too few of what matters");
        assert!(pointers * 2 > seeds.len(), "too few with pointers");
    }
}

#[test]
fn kt_24_constants_and_run_time_give_the_same_bits() {
    let (palette, shard) = (palette(), number("COMPUTE_SHARD").unwrap_or(0));
    let count = number("COMPUTE_CONSTANTS").unwrap_or(800);
    let seeds: Vec<u64> = (0..count / 2).chain((0..count / 2).map(|i| (1 + shard) * 1_000_000 + i)).collect();
    let halves = std::thread::scope(|scope| {
        let palette = &palette;
        let half = |seeds: &[u64]| {
            let mut bench = Bench::open(1).expect("the cpu device");
            let mut compared = constants::Compared::default();
            let wrong: Vec<String> =
                seeds.iter().filter_map(|&seed| constants::compare(&mut bench, seed, palette, &mut compared)).collect();
            (compared, wrong)
        };
        let threads: Vec<_> = seeds.chunks(seeds.len().div_ceil(2)).map(|seeds| scope.spawn(move || half(seeds))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
    });
    let sum = |of: fn(&constants::Compared) -> usize| halves.iter().map(|(c, _)| of(c)).sum::<usize>();
    let (constant, overriding, refused) = (sum(|c| c.constant), sum(|c| c.overriding), sum(|c| c.refused));
    let wrong: Vec<&str> = halves.iter().flat_map(|(_, wrong)| wrong.iter().map(String::as_str)).collect();
    println!("{constant} constants and {overriding} override constants the same as at run time, {refused} refused");
    let again = again("COMPUTE_CONSTANTS", count);
    assert!(wrong.is_empty(), "{} wrong, again with {again}:\n{}", wrong.len(), wrong[..wrong.len().min(25)].join("\n"));
    assert!(constant * 3 > seeds.len(), "too few are folded to mean anything");
}

#[derive(Default)]
struct Trips {
    same: usize,
    left_out: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// One kernel through SPIR-V, with each of its setups.
fn trip(bench: &mut Bench, seed: u64, palette: &Palette, shared: &Mutex<Trips>) {
    let (program, setups) = program::generate(seed, palette);
    let source = program.source();
    let Ok(module) = bench::parse(&source) else { return };
    for setup in &setups {
        let Ok(entry) = module.entry_point(None, &setup.constants) else { continue };
        let made = spirv::round_trip(bench, &entry, setup);
        let mut trips = shared.lock().unwrap();
        let why = match made {
            spirv::Trip::Same => {
                trips.same += 1;
                continue;
            }
            spirv::Trip::NoAnswer => continue,
            spirv::Trip::LeftOpen => "an index past the end of a vector".to_owned(),
            spirv::Trip::NotWritten(why) | spirv::Trip::NotRead(why) => why,
            spirv::Trip::Wrong(_) => {
                drop(trips);
                let (small, why) = minimise::smaller(program.clone(), |program| spirv::goes_wrong(bench, program, setup));
                let text = format!("seed {seed} (again: COMPUTE_SEED={seed}): {why}\n{}", small.source());
                shared.lock().unwrap().wrong.push(text);
                return;
            }
        };
        *trips.left_out.entry(why.split(" (word").next().unwrap_or_default().to_owned()).or_default() += 1;
    }
}

#[test]
fn generated_kernels_mean_the_same_when_they_went_through_spir_v() {
    // Left out: numbers of 64 bits, for the writer panics at `firstLeadingBit` of them, and halves, for matrices of them are refused in SPIR-V.
    let palette = Palette { stored: vec![Scalar::I32, Scalar::U32, Scalar::F32], floats: vec![Scalar::F32] };
    let shard = number("COMPUTE_SHARD").unwrap_or(0);
    let count = number("COMPUTE_TRIPS").unwrap_or(200);
    let seeds: Vec<u64> = match number("COMPUTE_SEED") {
        Some(seed) => vec![seed],
        None => (0..count / 2).chain((0..count / 2).map(|i| CORE + shard.wrapping_mul(ROTATING) + i)).collect(),
    };
    let trips = Mutex::new(Trips::default());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut bench = Bench::open(1).expect("the cpu device");
                while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    trip(&mut bench, seed, &palette, &trips);
                }
            });
        }
    });
    let trips = trips.into_inner().unwrap();
    println!("{} launches the same after SPIR-V", trips.same);
    for (why, count) in &trips.left_out {
        println!("  left out {count}: {why}");
    }
    assert!(trips.wrong.is_empty(), "{} wrong:\n{}", trips.wrong.len(), trips.wrong[..trips.wrong.len().min(5)].join("\n"));
    assert!(seeds.len() == 1 || trips.same * 4 > seeds.len(), "too few came back to mean anything");
}

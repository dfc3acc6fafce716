//! The analyses against an interpreter, on random kernels: whatever T6a calls whole must have been stored wholly, and whatever passes the check of
//! barriers must reach the same barriers in every invocation of a workgroup.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::collections::{HashMap, HashSet};

use common::interpreter::{Invocation, Value};
use common::random::{Random, Writer};
use common::try_kernel;
use compute_kernel::EntryPoint;

/// What one launch is given.
struct Launch {
    grid: [u32; 3],
    immediates: [u32; 4],
    uniform: [u32; 4],
    elements: usize,
    a: Vec<u32>,
}

impl Launch {
    fn random(random: &mut Random) -> Self {
        let mut small = |n: usize| random.below(n) as u32;
        let grid = [1 + small(3), 1 + small(3), 1 + small(2)];
        let numbers = [1u32, 2, 4, 6, 8, 12, 16, 20, 24, 40, 100, u32::MAX];
        let mut number = || numbers[small(numbers.len()) as usize];
        let immediates = [number(), number(), number(), number() % 4];
        let uniform = [number(), number(), number() % 4, number()];
        let elements = [1, 2, 4, 6, 8, 11, 12, 16, 20, 24, 48, 96][small(12) as usize];
        let a = (0..5).map(|_| small(4)).collect();
        Self { grid, immediates, uniform, elements, a }
    }

    fn invocation<'a>(&self, k: &'a EntryPoint, group: [u32; 3], local: [u32; 3], noisy: &'a [&'a str]) -> Invocation<'a> {
        let size = k.reflection().workgroup_size;
        let list = |values: &[u32]| Value::List(values.iter().map(|&v| Value::U(v)).collect());
        let id = [0, 1, 2].map(|i| group[i] * size[i] + local[i]);
        let index = local[0] + size[0] * (local[1] + size[1] * local[2]);
        let builtins = HashMap::from([
            ("gid".into(), list(&id)),
            ("lid".into(), list(&local)),
            ("li".into(), Value::U(index)),
            ("wid".into(), list(&group)),
            ("nwg".into(), list(&self.grid)),
        ]);
        let memory = HashMap::from([
            ("im".into(), list(&self.immediates)),
            ("u".into(), list(&self.uniform)),
            ("a".into(), list(&self.a)),
            ("o".into(), list(&vec![0; self.elements])),
            ("f".into(), list(&[0; 20])),
            ("t".into(), list(&[0; 16])),
            ("pv".into(), Value::U(0)),
        ]);
        let noise = index.wrapping_mul(2_654_435_761).wrapping_add(group[0]);
        Invocation { module: k.module(), builtins, memory, noise, noisy, fuel: 4000, stored: Vec::new(), trace: Vec::new() }
    }
}

fn each(bounds: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..bounds[2]).flat_map(move |z| (0..bounds[1]).flat_map(move |y| (0..bounds[0]).map(move |x| [x, y, z])))
}

/// How many kernels to try; `COMPUTE_KERNEL_SEEDS` asks for more.
fn seeds() -> u64 {
    std::env::var("COMPUTE_KERNEL_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(800)
}

const SIZES: [[u32; 3]; 6] = [[4, 1, 1], [2, 2, 1], [8, 1, 1], [1, 1, 1], [3, 2, 2], [4, 4, 1]];

/// Everything that a launch stored, by name and index; `None` when some invocation never ended.
fn stored(k: &EntryPoint, launch: &Launch) -> Option<HashSet<(String, usize)>> {
    let mut all = HashSet::new();
    for group in each(launch.grid) {
        for local in each(k.reflection().workgroup_size) {
            let mut invocation = launch.invocation(k, group, local, &[]);
            if !invocation.run(k.function()) {
                return None;
            }
            all.extend(invocation.stored);
        }
    }
    Some(all)
}

/// Checks one seed; how many times the answer was yes, and whether there was a proof at all.
fn check_coverage(seed: u64) -> (usize, bool) {
    let mut random = Random::new(seed);
    let size = SIZES[random.below(SIZES.len())];
    let source = Writer::new(&mut random, size, false).kernel();
    // A few overflow in their constants, which the language refuses.
    let Ok(k) = try_kernel(&source, &[]) else { return (0, false) };
    let mut yes = 0;
    for _ in 0..6 {
        let launch = Launch::random(&mut random);
        let bytes = |values: &[u32; 4]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let (immediates, uniform) = (bytes(&launch.immediates), bytes(&launch.uniform));
        let lookup = |index: u32| (index == 2).then_some(uniform.as_slice());
        let tail = random.below(4) as u64;
        for (binding, name, elements) in [(0, "o", launch.elements), (3, "f", 20)] {
            let Some(store) = &k.coverage().stores[binding] else { continue };
            let view = if name == "o" { elements as u64 * 4 + tail } else { 80 };
            if !store.covers(k.reflection(), launch.grid, view, &immediates, &lookup) {
                continue;
            }
            yes += 1;
            let Some(all) = stored(&k, &launch) else { continue };
            let missing = (0..elements).find(|&i| !all.contains(&(name.to_owned(), i)));
            assert_eq!(
                missing, None,
                "seed {seed}: {name}[{missing:?}] of {elements} is never stored over {:?} with {:?} and {:?}, but {store:?} covers:\n{source}",
                launch.grid, launch.immediates, launch.uniform
            );
        }
    }
    (yes, k.coverage().stores.iter().any(Option::is_some))
}

#[test]
fn t6a_whatever_is_called_whole_is_stored_wholly() {
    let (mut yes, mut proofs) = (0, 0);
    for seed in 0..seeds() {
        let (more, proof) = check_coverage(seed);
        yes += more;
        proofs += usize::from(proof);
    }
    assert!(yes > 150 && proofs > 150, "too few to mean anything: {yes} yes, {proofs} proofs");
}

/// Checks one seed; whether the kernel was accepted, and whether it met barriers.
fn check_barriers(seed: u64) -> (bool, bool) {
    let mut random = Random::new(seed);
    let size = SIZES[random.below(SIZES.len())];
    let source = Writer::new(&mut random, size, true).kernel();
    let Ok(k) = try_kernel(&source, &[]) else { return (false, false) };
    let mut met = false;
    for _ in 0..3 {
        let launch = Launch::random(&mut random);
        for group in each(launch.grid).take(4) {
            let mut first: Option<Vec<_>> = None;
            for local in each(size) {
                let mut invocation = launch.invocation(&k, group, local, &["o", "f", "t"]);
                if !invocation.run(k.function()) {
                    break;
                }
                let trace = invocation.trace;
                met |= !trace.is_empty();
                match &first {
                    None => first = Some(trace),
                    Some(first) => assert_eq!(
                        *first, trace,
                        "seed {seed}: invocation {local:?} of group {group:?} meets other barriers:\n{source}"
                    ),
                }
            }
        }
    }
    (true, met)
}

#[test]
fn whatever_passes_meets_the_same_barriers_everywhere() {
    let (mut accepted, mut met) = (0, 0);
    for seed in 0..seeds() {
        let (one, other) = check_barriers(seed);
        accepted += usize::from(one);
        met += usize::from(other);
    }
    assert!(
        accepted > 100 && met > 50 && accepted < 780 * seeds() as usize / 800,
        "too few to mean anything: {accepted} accepted, {met} with barriers"
    );
}

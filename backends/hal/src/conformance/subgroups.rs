//! Subgroup operations. Sizes differ from device to device, so what is expected is computed from the ids that the device itself reports.

use std::collections::BTreeMap;

use super::bench::{Bench, ensure};
use super::{Failed, Outcome, Subject};

/// Words that an invocation writes about where it is.
const IDS: usize = 4;
/// The operations, as expressions of u32 over `x`, the invocation's value, and `pick`, a lane that may not be there.
const CALLS: &[(&str, Model)] = &[
    ("subgroupAdd(x)", |s, _| s.values.values().fold(0, |a, b| a.wrapping_add(*b))),
    ("subgroupInclusiveAdd(x)", |s, lane| s.values.range(..=lane).fold(0, |a, (_, b)| a.wrapping_add(*b))),
    ("subgroupExclusiveAdd(x)", |s, lane| s.values.range(..lane).fold(0, |a, (_, b)| a.wrapping_add(*b))),
    ("subgroupMul(x)", |s, _| s.values.values().fold(1, |a, b| a.wrapping_mul(*b))),
    ("subgroupInclusiveMul(x)", |s, lane| s.values.range(..=lane).fold(1, |a, (_, b)| a.wrapping_mul(*b))),
    ("subgroupExclusiveMul(x)", |s, lane| s.values.range(..lane).fold(1, |a, (_, b)| a.wrapping_mul(*b))),
    ("u32(subgroupAdd(f32(x & 0xffffu)))", |s, _| s.values.values().map(|x| x & 0xffff).sum()),
    ("subgroupMin(x)", |s, _| s.values.values().copied().min().unwrap_or(0)),
    ("u32(subgroupMax(i32(x)))", |s, _| s.values.values().map(|x| *x as i32).max().unwrap_or(0) as u32),
    ("subgroupAnd(x)", |s, _| s.values.values().fold(u32::MAX, |a, b| a & b)),
    ("subgroupOr(x)", |s, _| s.values.values().fold(0, |a, b| a | b)),
    ("subgroupXor(x)", |s, _| s.values.values().fold(0, |a, b| a ^ b)),
    ("u32(subgroupAll((x & 3u) != 0u))", |s, _| u32::from(s.values.values().all(|x| x & 3 != 0))),
    ("u32(subgroupAny((x & 63u) == 0u))", |s, _| u32::from(s.values.values().any(|x| x & 63 == 0))),
    ("u32(subgroupElect())", |s, lane| u32::from(s.values.keys().next() == Some(&lane))),
    ("subgroupBallot((x & 1u) == 0u).x", |s, _| s.ballot(0)),
    ("subgroupBallot((x & 1u) == 0u).y", |s, _| s.ballot(1)),
    ("subgroupBallot((x & 1u) == 0u).z", |s, _| s.ballot(2)),
    ("subgroupBallot((x & 1u) == 0u).w", |s, _| s.ballot(3)),
    ("subgroupBroadcastFirst(x)", |s, _| s.values.values().next().copied().unwrap_or(0)),
    ("subgroupBroadcast(x, 3u)", |s, _| s.at(Some(3))),
    ("subgroupShuffle(x, x & 127u)", |s, lane| s.at(Some(s.at(Some(lane)) & 127))),
    ("subgroupShuffleXor(x, 5u)", |s, lane| s.at(Some(lane ^ 5))),
    ("subgroupShuffleUp(x, 2u)", |s, lane| s.at(lane.checked_sub(2))),
    ("subgroupShuffleDown(x, 2u)", |s, lane| s.at(lane.checked_add(2))),
    // So far away is nobody, also where numbers begin anew at zero.
    ("subgroupShuffleUp(x, 0xffffffffu - (n & 0u))", |_, _| 0),
    ("subgroupShuffleUp(x, 0xfffffffbu - (n & 0u))", |_, _| 0),
    ("subgroupShuffleUp(x, 0x80000000u - (n & 0u))", |_, _| 0),
    ("subgroupShuffleDown(x, 0xffffffffu - (n & 0u))", |_, _| 0),
    ("subgroupShuffleDown(x, 0xfffffffbu - (n & 0u))", |_, _| 0),
    ("quadBroadcast(x, 2u)", |s, lane| s.at(Some(lane / 4 * 4 + 2))),
    ("quadSwapX(x)", |s, lane| s.at(Some(lane ^ 1))),
    ("quadSwapY(x)", |s, lane| s.at(Some(lane ^ 2))),
    ("quadSwapDiagonal(x)", |s, lane| s.at(Some(lane ^ 3))),
];

/// What a lane of a subgroup gets.
type Model = fn(&Subgroup, u32) -> u32;

/// The values of a subgroup by lane.
#[derive(Default)]
struct Subgroup {
    values: BTreeMap<u32, u32>,
}

impl Subgroup {
    fn at(&self, lane: Option<u32>) -> u32 {
        lane.and_then(|lane| self.values.get(&lane)).copied().unwrap_or(0)
    }

    fn ballot(&self, word: u32) -> u32 {
        let set = self.values.iter().filter(|(lane, x)| **lane / 32 == word && **x & 1 == 0);
        set.fold(0, |mask, (lane, _)| mask | 1 << (lane % 32))
    }
}

/// A device for portable kernels with subgroups, or nothing to check.
fn with_subgroups(subject: &Subject<'_>) -> Result<Option<Bench>, Failed> {
    let bench = Bench::new(subject)?;
    let there = bench.device.capabilities().portable && bench.device.properties().subgroup_sizes[1] > 1;
    Ok(there.then_some(bench))
}

fn source(size: u32, stores: &str) -> String {
    format!(
        "enable subgroups;
        @group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) g: vec3<u32>, @builtin(subgroup_id) id: u32,
            @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) width: u32, @builtin(num_subgroups) count: u32) {{
            let n = arrayLength(&a);
            let x = a[g.x];
            o[g.x] = lane; o[n + g.x] = id; o[2u * n + g.x] = width; o[3u * n + g.x] = count;
            {stores}
        }}"
    )
}

pub(super) fn l12_subgroup_operations_are_those_of_the_lanes_that_are_there(subject: &Subject<'_>) -> Outcome {
    let Some(bench) = with_subgroups(subject)? else { return Ok(()) };
    let stores: String =
        CALLS.iter().enumerate().map(|(n, (call, _))| format!("o[{}u * n + g.x] = {call};\n", n + IDS)).collect();
    let most = bench.device.limits().workgroup_invocations;
    for size in [1, 3, 64, 65, 100, 256] {
        let size = u32::min(size, most);
        let kernel = bench.compile(&source(size, &stores))?;
        let values: Vec<u32> = (1..=size * 3).map(|n| n.wrapping_mul(0x9e37_79b1) >> 7).collect();
        let outputs = values.len() * (CALLS.len() + IDS);
        let (a, o) = (bench.words(&values)?, bench.words(&vec![0; outputs])?);
        bench.launch(kernel, [3, 1, 1], &[a, o])?;
        let got = bench.read_words(o)?;
        let columns: Vec<&[u32]> = got.chunks(values.len()).collect();
        for (group, values) in values.chunks(size as usize).enumerate() {
            let from = group * size as usize;
            let columns: Vec<&[u32]> = columns.iter().filter_map(|c| c.get(from..from + values.len())).collect();
            workgroup(&bench, values, &columns)?;
        }
    }
    Ok(())
}

/// Checks one workgroup: what its invocations wrote, by column.
fn workgroup(bench: &Bench, values: &[u32], columns: &[&[u32]]) -> Outcome {
    let [lanes, ids, widths, counts, results @ ..] = columns else { return Err(Failed("too little was written".into())) };
    let [least, most] = bench.device.properties().subgroup_sizes;
    let mut subgroups: BTreeMap<u32, Subgroup> = BTreeMap::new();
    for (n, value) in values.iter().enumerate() {
        let (Some(lane), Some(id), Some(width)) = (lanes.get(n), ids.get(n), widths.get(n)) else { continue };
        ensure!(
            (least..=most).contains(width) && width.is_power_of_two(),
            "a subgroup of {width}, {least} to {most} were reported"
        );
        ensure!(widths.first() == Some(width), "subgroups of {widths:?} in one workgroup");
        ensure!(lane < width, "lane {lane} of a subgroup of {width}");
        let before = subgroups.entry(*id).or_default().values.insert(*lane, *value);
        ensure!(before.is_none(), "two invocations are lane {lane} of subgroup {id}");
    }
    let number = subgroups.len() as u32;
    ensure!(subgroups.keys().copied().eq(0..number), "subgroups {:?}", subgroups.keys());
    ensure!(counts.iter().all(|count| *count == number), "{counts:?} for {number} subgroups");
    for ((call, model), got) in CALLS.iter().zip(results) {
        for (n, got) in got.iter().enumerate() {
            let (Some(lane), Some(subgroup)) = (lanes.get(n), ids.get(n).and_then(|id| subgroups.get(id))) else { continue };
            let expected = model(subgroup, *lane);
            let there = subgroup.values.len();
            ensure!(
                *got == expected,
                "{call} is {got:#x} for {expected:#x} in lane {lane} of {there} in a workgroup of {}",
                values.len()
            );
        }
    }
    Ok(())
}

pub(super) fn l12_what_subgroups_find_is_combined_through_workgroup_memory(subject: &Subject<'_>) -> Outcome {
    let Some(bench) = with_subgroups(subject)? else { return Ok(()) };
    let size = bench.device.limits().workgroup_invocations.min(256);
    let kernel = bench.compile(&format!(
        "enable subgroups;
        @group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        var<workgroup> partial: array<u32, {size}>;
        @compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) g: vec3<u32>, @builtin(workgroup_id) w: vec3<u32>,
            @builtin(local_invocation_index) li: u32, @builtin(subgroup_id) id: u32, @builtin(num_subgroups) count: u32) {{
            var x = a[g.x];
            for (var round = 0u; round < 3u; round++) {{
                let s = subgroupAdd(x);
                if (subgroupElect()) {{ partial[id] = s; }}
                workgroupBarrier();
                x = 0u;
                for (var n = 0u; n < count; n++) {{ x += partial[n]; }}
                workgroupBarrier();
            }}
            if (li == 0u) {{ o[w.x] = x; }}
        }}"
    ))?;
    let values: Vec<u32> = (0..size * 5).map(|n| n * 7 + 1).collect();
    let (a, o) = (bench.words(&values)?, bench.words(&[0; 5])?);
    bench.launch(kernel, [5, 1, 1], &[a, o])?;
    let sum = |values: &[u32]| values.iter().fold(0, |a: u32, b| a.wrapping_add(*b)).wrapping_mul(size).wrapping_mul(size);
    let expected: Vec<u32> = values.chunks(size as usize).map(sum).collect();
    let got = bench.read_words(o)?;
    ensure!(got == expected, "{got:?} for {expected:?}");
    Ok(())
}

//! Subgroup operations against plain models: all of them, over full and partial subgroups, and among everything that cuts a kernel into runs.

use super::super::SUBGROUP_SIZE;
use super::*;

const SIZE: usize = SUBGROUP_SIZE as usize;
/// One lane, a few, whole subgroups, one lane more than whole subgroups, many subgroups.
const WORKGROUPS: [u32; 5] = [1, 3, 64, 65, 256];
const GROUPS: u32 = 3;

/// Numbers that look like noise, the same on every run.
fn noise(count: usize) -> Vec<u32> {
    let mut state = 0x9e37_79b9_u32;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
        .collect()
}

/// Floats of mixed sizes and signs, whose sum depends on the order.
fn float_noise(count: usize) -> Vec<u32> {
    noise(count)
        .into_iter()
        .map(|n| ((n % 4001) as f32 * 0.37 - 740.0) * f32::exp2((n >> 28) as f32 - 8.0))
        .map(f32::to_bits)
        .collect()
}

/// What one lane gets: from all values of its subgroup, and its own number.
type Model = fn(&[u32], usize) -> u32;

/// Runs all calls, on `x` of a type and the builtins, in one kernel of each workgroup size.
fn check(ty: &str, cases: &[(&str, Model)], values: fn(usize) -> Vec<u32>) {
    for size in WORKGROUPS {
        let stores: String =
            cases.iter().enumerate().map(|(n, (call, _))| format!("O[{n}u * total + g] = bitcast<u32>({call});\n")).collect();
        let source = format!(
            "enable subgroups; enable wgpu_int16; {HEAD}
            @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) li: u32, @builtin(workgroup_id) wid: vec3<u32>,
                @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) width: u32) {{
                let total = arrayLength(&I);
                let g = wid.x * {size}u + li;
                let x = bitcast<{ty}>(I[g]);
                {stores}
            }}"
        );
        let input = values((size * GROUPS) as usize);
        let output = run_words(&source, GROUPS, &input, input.len() * cases.len());
        for ((call, model), got) in cases.iter().zip(output.chunks(input.len())) {
            let expected: Vec<u32> = input
                .chunks(size as usize)
                .flat_map(|group| group.chunks(SIZE))
                .flat_map(|lanes| (0..lanes.len()).map(|lane| model(lanes, lane)))
                .collect();
            assert_eq!(got, expected, "{call} of {ty} in workgroups of {size}");
        }
    }
}

fn ints(lanes: &[u32]) -> impl Iterator<Item = i32> {
    lanes.iter().map(|x| *x as i32)
}

fn float(word: u32) -> f32 {
    f32::from_bits(word)
}

fn at(lanes: &[u32], lane: usize) -> u32 {
    lanes.get(lane).copied().unwrap_or(0)
}

#[test]
fn reductions_and_scans_of_integers_are_those_of_the_lanes_that_are_there() {
    check(
        "u32",
        &[
            ("subgroupAdd(x)", |l, _| l.iter().fold(0, |a: u32, b| a.wrapping_add(*b))),
            ("subgroupInclusiveAdd(x)", |l, n| l[..=n].iter().fold(0, |a: u32, b| a.wrapping_add(*b))),
            ("subgroupExclusiveAdd(x)", |l, n| l[..n].iter().fold(0, |a: u32, b| a.wrapping_add(*b))),
            ("subgroupMul(x | 1u)", |l, _| l.iter().fold(1, |a: u32, b| a.wrapping_mul(*b | 1))),
            ("subgroupInclusiveMul(x | 1u)", |l, n| l[..=n].iter().fold(1, |a: u32, b| a.wrapping_mul(*b | 1))),
            ("subgroupExclusiveMul(x | 1u)", |l, n| l[..n].iter().fold(1, |a: u32, b| a.wrapping_mul(*b | 1))),
            ("subgroupMin(x)", |l, _| *l.iter().min().expect("a lane")),
            ("subgroupMax(x)", |l, _| *l.iter().max().expect("a lane")),
            ("subgroupAnd(x | 0x40100u)", |l, _| l.iter().fold(!0, |a, b| a & (b | 0x40100))),
            ("subgroupOr(x & 0xf0f0u)", |l, _| l.iter().fold(0, |a, b| a | (b & 0xf0f0))),
            ("subgroupXor(x)", |l, _| l.iter().fold(0, |a, b| a ^ b)),
        ],
        noise,
    );
    check(
        "i32",
        &[
            ("subgroupAdd(x)", |l, _| ints(l).fold(0, i32::wrapping_add) as u32),
            ("subgroupInclusiveAdd(x)", |l, n| ints(&l[..=n]).fold(0, i32::wrapping_add) as u32),
            ("subgroupExclusiveAdd(x)", |l, n| ints(&l[..n]).fold(0, i32::wrapping_add) as u32),
            ("subgroupMul(x | 1)", |l, _| ints(l).fold(1, |a: i32, b| a.wrapping_mul(b | 1)) as u32),
            ("subgroupInclusiveMul(x | 1)", |l, n| ints(&l[..=n]).fold(1, |a: i32, b| a.wrapping_mul(b | 1)) as u32),
            ("subgroupExclusiveMul(x | 1)", |l, n| ints(&l[..n]).fold(1, |a: i32, b| a.wrapping_mul(b | 1)) as u32),
            ("subgroupMin(x)", |l, _| ints(l).min().expect("a lane") as u32),
            ("subgroupMax(x)", |l, _| ints(l).max().expect("a lane") as u32),
            ("subgroupAnd(x | 0x40100)", |l, _| ints(l).fold(!0, |a, b| a & (b | 0x40100)) as u32),
            ("subgroupOr(x & 0xf0f0)", |l, _| ints(l).fold(0, |a, b| a | (b & 0xf0f0)) as u32),
            ("subgroupXor(x)", |l, _| ints(l).fold(0, |a, b| a ^ b) as u32),
        ],
        noise,
    );
}

#[test]
fn reductions_of_bits_take_integers_of_16_bits() {
    fn signed(x: u32) -> u32 {
        x as i16 as u32
    }
    check(
        "u32",
        &[
            ("u32(subgroupAnd(u16(x | 0x4101u)))", |l, _| l.iter().fold(0xffff, |a, b| a & (b | 0x4101))),
            ("u32(subgroupOr(u16(x & 0x90f0u)))", |l, _| l.iter().fold(0, |a, b| a | (b & 0x90f0))),
            ("u32(subgroupXor(u16(x)))", |l, _| l.iter().fold(0, |a, b| a ^ b) & 0xffff),
            ("u32(subgroupAnd(i16(x | 0x8101u)))", |l, _| signed(l.iter().fold(!0, |a, b| a & (b | 0x8101)))),
            ("u32(subgroupOr(i16(x & 0x90f0u)))", |l, _| signed(l.iter().fold(0, |a, b| a | (b & 0x90f0)))),
            ("u32(subgroupXor(i16(x)))", |l, _| signed(l.iter().fold(0, |a, b| a ^ b))),
            // Of vectors, and of one another.
            ("u32(subgroupXor(vec3<i16>(vec3(x, x >> 5u, x >> 16u))).z)", |l, _| signed(l.iter().fold(0, |a, b| a ^ b) >> 16)),
            ("u32(subgroupXor(subgroupAdd(subgroupOr(u16(x & 0x10fu)))))", |l, _| {
                let lanes = l.len() as u32;
                let sum = l.iter().fold(0, |a, b| a | (b & 0x10f)).wrapping_mul(lanes) & 0xffff;
                if lanes % 2 == 1 { sum } else { 0 }
            }),
        ],
        noise,
    );
}

#[test]
fn reductions_and_scans_of_floats_go_by_the_order_of_the_lanes() {
    fn sum(lanes: &[u32]) -> f32 {
        lanes.iter().map(|w| float(*w)).reduce(|a, b| a + b).unwrap_or(0.0)
    }
    fn product(lanes: &[u32]) -> f32 {
        lanes.iter().map(|w| 1.0 + float(*w) * 0.001).reduce(|a, b| a * b).unwrap_or(1.0)
    }
    check(
        "f32",
        &[
            ("subgroupAdd(x)", |l, _| sum(l).to_bits()),
            ("subgroupInclusiveAdd(x)", |l, n| sum(&l[..=n]).to_bits()),
            ("subgroupExclusiveAdd(x)", |l, n| sum(&l[..n]).to_bits()),
            ("subgroupMul(1.0 + x * 0.001)", |l, _| product(l).to_bits()),
            ("subgroupInclusiveMul(1.0 + x * 0.001)", |l, n| product(&l[..=n]).to_bits()),
            ("subgroupExclusiveMul(1.0 + x * 0.001)", |l, n| product(&l[..n]).to_bits()),
            ("subgroupMin(x)", |l, _| l.iter().map(|w| float(*w)).fold(f32::INFINITY, f32::min).to_bits()),
            ("subgroupMax(x)", |l, _| l.iter().map(|w| float(*w)).fold(f32::NEG_INFINITY, f32::max).to_bits()),
        ],
        float_noise,
    );
    fn odd_numbers(count: usize) -> Vec<u32> {
        let odd = [0.0, -0.0, f32::NAN, 1.0, f32::INFINITY, -1.0, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE / 4.0];
        noise(count).into_iter().map(|n| odd[n as usize % odd.len()].to_bits()).collect()
    }
    check(
        "f32",
        &[
            ("subgroupMin(x)", |l, _| {
                l.iter().map(|w| float(*w)).reduce(|a, b| if b < a { b } else { a }).map_or(0, f32::to_bits)
            }),
            ("subgroupMax(x)", |l, _| {
                l.iter().map(|w| float(*w)).reduce(|a, b| if a < b { b } else { a }).map_or(0, f32::to_bits)
            }),
            ("subgroupMin(abs(x))", |l, _| {
                l.iter().map(|w| float(*w).abs()).reduce(|a, b| if b < a { b } else { a }).map_or(0, f32::to_bits)
            }),
        ],
        odd_numbers,
    );
    // The order shows: these values have another sum backwards.
    let words = float_noise(SIZE);
    let backwards = words.iter().rev().map(|w| float(*w)).reduce(|a, b| a + b).expect("a lane");
    assert_ne!(sum(&words), backwards);
}

#[test]
fn votes_and_ballots_ask_the_lanes_that_are_there() {
    fn bits(lanes: &[u32], set: impl Fn(u32) -> bool) -> u32 {
        (0..lanes.len()).filter(|n| set(lanes[*n])).map(|n| 1 << n).sum()
    }
    check(
        "u32",
        &[
            ("u32(subgroupAll(x > 0u))", |l, _| u32::from(l.iter().all(|x| *x > 0))),
            ("u32(subgroupAll((x & 31u) != 0u))", |l, _| u32::from(l.iter().all(|x| x & 31 != 0))),
            ("u32(subgroupAny((x & 31u) == 0u))", |l, _| u32::from(l.iter().any(|x| x & 31 == 0))),
            ("u32(subgroupAny(x == 0u))", |_, _| 0),
            ("u32(subgroupElect())", |_, n| u32::from(n == 0)),
            ("subgroupBallot((x & 1u) == 0u).x", |l, _| bits(l, |x| x & 1 == 0)),
            ("subgroupBallot(true).x", |l, _| bits(l, |_| true)),
            ("subgroupBallot().x", |l, _| bits(l, |_| true)),
            ("subgroupBallot(x > 1u).y | subgroupBallot(x > 1u).z | subgroupBallot(x > 1u).w", |_, _| 0),
            ("countOneBits(subgroupBallot(x > 0x80000000u).x & ((1u << lane) - 1u))", |l, n| {
                l[..n].iter().filter(|x| **x > 0x8000_0000).count() as u32
            }),
        ],
        noise,
    );
}

#[test]
fn shuffles_take_from_other_lanes_and_zero_where_there_is_none() {
    check(
        "u32",
        &[
            ("subgroupBroadcastFirst(x)", |l, _| l[0]),
            ("subgroupBroadcast(x, 2u)", |l, _| at(l, 2)),
            ("subgroupBroadcast(x, 31)", |l, _| at(l, 31)),
            ("subgroupBroadcast(x, 32u)", |_, _| 0),
            ("subgroupBroadcast(x, 127u)", |_, _| 0),
            ("subgroupShuffle(x, 5u)", |l, _| at(l, 5)),
            ("subgroupShuffle(x, width - 1u - lane)", |l, n| at(l, SIZE - 1 - n)),
            ("subgroupShuffle(x, x & 63u)", |l, n| at(l, l[n] as usize & 63)),
            ("subgroupShuffle(x, 3 - i32(lane))", |l, n| if n <= 3 { at(l, 3 - n) } else { 0 }),
            ("subgroupShuffle(x, 0xffffffffu - lane)", |_, _| 0),
            ("subgroupShuffleXor(x, 1u)", |l, n| at(l, n ^ 1)),
            ("subgroupShuffleXor(x, 32u)", |_, _| 0),
            ("subgroupShuffleUp(x, 0u)", |l, n| l[n]),
            ("subgroupShuffleUp(x, 1u)", |l, n| n.checked_sub(1).map_or(0, |n| l[n])),
            ("subgroupShuffleUp(x, 127u)", |_, _| 0),
            ("subgroupShuffleDown(x, 1u)", |l, n| at(l, n + 1)),
            ("subgroupShuffleDown(x, 31)", |l, n| at(l, n + 31)),
            ("subgroupShuffleDown(x, subgroupMax(0xffffffffu))", |_, _| 0),
        ],
        noise,
    );
    let floats: &[(&str, Model)] = &[
        ("subgroupBroadcastFirst(x)", |l, _| l[0]),
        ("subgroupShuffle(x, width - 1u - lane)", |l, n| at(l, SIZE - 1 - n)),
        ("subgroupShuffleXor(x, 2u)", |l, n| at(l, n ^ 2)),
        ("subgroupShuffleUp(x, 2u)", |l, n| n.checked_sub(2).map_or(0, |n| l[n])),
        ("subgroupShuffleDown(x, 2u)", |l, n| at(l, n + 2)),
        ("quadSwapX(x)", |l, n| at(l, n ^ 1)),
    ];
    check("f32", floats, float_noise);
    check("i32", floats, noise);
}

#[test]
fn quads_are_four_neighbours() {
    check(
        "u32",
        &[
            ("quadBroadcast(x, 0u)", |l, n| at(l, n & !3)),
            ("quadBroadcast(x, 2)", |l, n| at(l, (n & !3) + 2)),
            ("quadBroadcast(x, 3u)", |l, n| at(l, (n & !3) + 3)),
            ("quadSwapX(x)", |l, n| at(l, [1, 0, 3, 2][n % 4] + n / 4 * 4)),
            ("quadSwapY(x)", |l, n| at(l, [2, 3, 0, 1][n % 4] + n / 4 * 4)),
            ("quadSwapDiagonal(x)", |l, n| at(l, [3, 2, 1, 0][n % 4] + n / 4 * 4)),
        ],
        noise,
    );
}

#[test]
fn vectors_go_by_component() {
    for size in WORKGROUPS {
        let source = format!(
            "enable subgroups; {HEAD}
            @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_invocation_id) lane: u32) {{
                let a = subgroupInclusiveAdd(vec3<f32>(f32(li), f32(I[li] & 7u), 1.0));
                let b = subgroupShuffle(vec4<i32>(i32(li), -i32(li), 7, i32(I[li])), lane ^ 1u);
                let c = subgroupMax(vec2<u32>(I[li], li));
                for (var n = 0u; n < 3u; n++) {{ O[li * 9u + n] = u32(a[n]); }}
                for (var n = 0u; n < 4u; n++) {{ O[li * 9u + 3u + n] = u32(b[n]); }}
                O[li * 9u + 7u] = c.x;
                O[li * 9u + 8u] = c.y;
            }}"
        );
        let input = noise(size as usize);
        let got = run_words(&source, 1, &input, size as usize * 9);
        for (start, lanes) in input.chunks(SIZE).enumerate().map(|(n, lanes)| (n * SIZE, lanes)) {
            for n in 0..lanes.len() {
                let ids = start..start + lanes.len();
                let other = ids.clone().find(|id| id - start == n ^ 1);
                let expected = [
                    (start..=start + n).sum::<usize>() as u32,
                    lanes[..=n].iter().map(|x| x & 7).sum(),
                    n as u32 + 1,
                    other.map_or(0, |id| id as u32),
                    other.map_or(0, |id| (id as u32).wrapping_neg()),
                    if other.is_some() { 7 } else { 0 },
                    other.map_or(0, |id| input[id]),
                    *lanes.iter().max().expect("a lane"),
                    ids.end as u32 - 1,
                ];
                assert_eq!(got[(start + n) * 9..][..9], expected, "invocation {} of {size}", start + n);
            }
        }
    }
}

#[test]
fn invocations_are_numbered_in_the_order_of_their_index() {
    for size in WORKGROUPS {
        let source = format!(
            "enable subgroups; requires subgroup_id; {HEAD}
            struct Ids {{ @builtin(subgroup_id) id: u32, @builtin(num_subgroups) count: u32 }}
            @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) li: u32, ids: Ids,
                @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) width: u32) {{
                O[li * 4u] = lane; O[li * 4u + 1u] = ids.id; O[li * 4u + 2u] = width; O[li * 4u + 3u] = ids.count + I[0];
            }}"
        );
        let got = run_words(&source, 1, &[0], size as usize * 4);
        let expected: Vec<u32> = (0..size)
            .flat_map(|li| [li % SUBGROUP_SIZE, li / SUBGROUP_SIZE, SUBGROUP_SIZE, size.div_ceil(SUBGROUP_SIZE)])
            .collect();
        assert_eq!(got, expected, "workgroups of {size}");
    }
}

#[test]
fn subgroups_of_a_workgroup_of_several_axes_go_by_the_index() {
    let (x, y, z) = (5u32, 3, 5);
    let source = format!(
        "enable subgroups; {HEAD}
        @compute @workgroup_size({x}, {y}, {z}) fn main(@builtin(local_invocation_index) li: u32, @builtin(local_invocation_id) l: vec3<u32>) {{
            let first = subgroupMin(li);
            let before = subgroupExclusiveAdd(1u);
            let corner = subgroupBroadcastFirst(l.x + 100u * l.y + 10000u * l.z);
            O[li * 3u] = first; O[li * 3u + 1u] = before; O[li * 3u + 2u] = corner + I[0];
        }}"
    );
    let got = run_words(&source, 1, &[0], (x * y * z) as usize * 3);
    let expected: Vec<u32> = (0..x * y * z)
        .flat_map(|li| {
            let first = li / SUBGROUP_SIZE * SUBGROUP_SIZE;
            [first, li - first, first % x + 100 * (first / x % y) + 10000 * (first / (x * y))]
        })
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn arguments_may_be_constants_inputs_and_values_of_the_whole_workgroup() {
    let source = format!(
        "enable subgroups; {HEAD}
        fn count() -> u32 {{ return subgroupAdd(1u); }}
        fn twice(x: u32) -> u32 {{ return subgroupAdd(x) + subgroupAdd(x + 1u); }}
        @compute @workgroup_size(65) fn main(@builtin(local_invocation_index) li: u32, @builtin(workgroup_id) wid: vec3<u32>) {{
            var limit = I[0];
            var sum = 0u;
            for (var i = 0u; i < limit; i++) {{
                sum += subgroupAdd(i) + subgroupAdd(limit) + subgroupShuffleUp(li, i);
                sum += u32(subgroupAny(i == 2u));
            }}
            O[li * 4u] = count();
            O[li * 4u + 1u] = subgroupAdd(li);
            O[li * 4u + 2u] = twice(wid.x + 3u);
            O[li * 4u + 3u] = sum;
        }}"
    );
    let got = run_words(&source, 1, &[4], 65 * 4);
    for li in 0..65u32 {
        let lanes = if li < 64 { 32 } else { 1 };
        let first = li / 32 * 32;
        let ids: u32 = (first..first + lanes).sum();
        let shuffled: u32 = (0..4).map(|i| if li - first >= i { li - i } else { 0 }).sum();
        let expected = [lanes, ids, 7 * lanes, lanes * (6 + 16) + shuffled + 1];
        assert_eq!(got[li as usize * 4..][..4], expected, "invocation {li}");
    }
}

#[test]
fn operations_feed_operations() {
    let source = format!(
        "enable subgroups; {HEAD}
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_invocation_id) lane: u32) {{
            let a = subgroupInclusiveAdd(I[li]);
            let b = subgroupShuffle(a, 31u - lane);
            let c = subgroupMax(b) - subgroupMin(a);
            let d = subgroupShuffle(subgroupShuffleXor(b, 5u), subgroupExclusiveAdd(1u) ^ 5u);
            let unused = subgroupAdd(d);
            O[li * 3u] = b; O[li * 3u + 1u] = c; O[li * 3u + 2u] = d;
        }}"
    );
    let input: Vec<u32> = noise(64).into_iter().map(|n| n >> 16).collect();
    let got = run_words(&source, 1, &input, 192);
    for (start, lanes) in [(0, &input[..32]), (32, &input[32..])] {
        let sums: Vec<u32> = (0..32).map(|n| lanes[..=n].iter().sum()).collect();
        for n in 0..32 {
            let expected = [sums[31 - n], sums[31] - sums[0], sums[31 - n]];
            assert_eq!(got[(start + n) * 3..][..3], expected, "invocation {}", start + n);
        }
    }
}

#[test]
fn values_of_invocations_that_went_different_ways_meet() {
    let source = format!(
        "enable subgroups; {HEAD}
        @compute @workgroup_size(96) fn main(@builtin(local_invocation_index) li: u32) {{
            var x = 0u;
            if (li % 3u == 0u) {{ x = I[li]; }} else if (li % 3u == 1u) {{ x = I[li] * 2u; }}
            for (var i = 0u; i < li % 5u; i++) {{ x += 1u; }}
            let s = subgroupAdd(x);
            if (li % 2u == 0u) {{ O[li] = s; return; }}
            O[li] = s - x;
        }}"
    );
    let input: Vec<u32> = noise(96).into_iter().map(|n| n >> 8).collect();
    let x: Vec<u32> = (0..96u32).map(|li| input[li as usize] * [1, 2, 0][li as usize % 3] + li % 5).collect();
    let got = run_words(&source, 1, &input, 96);
    for li in 0..96 {
        let s: u32 = x[li / 32 * 32..][..32].iter().fold(0, |a, b| a.wrapping_add(*b));
        assert_eq!(got[li], if li % 2 == 0 { s } else { s.wrapping_sub(x[li]) }, "invocation {li}");
    }
}

#[test]
fn operations_in_loops_switches_and_functions_see_each_pass() {
    let source = format!(
        "enable subgroups; {HEAD}
        var<workgroup> shared_sum: array<u32, 3>;
        fn rotate(x: u32, by: u32, lane: u32) -> u32 {{
            if (by == 0u) {{ return x; }}
            return subgroupShuffle(x, (lane + by) % 32u);
        }}
        @compute @workgroup_size(96) fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_invocation_id) lane: u32,
            @builtin(subgroup_id) id: u32) {{
            var x = I[li];
            for (var i = 0u; i < 7u; i++) {{
                if (i == 3u) {{ continue; }}
                switch (i % 3u) {{
                    case 0u: {{ x = rotate(x, i, lane) + i; }}
                    case 1u: {{ let m = subgroupMax(x); workgroupBarrier(); x = m - x; }}
                    default: {{ x += subgroupExclusiveAdd(x & 15u); }}
                }}
                let s = subgroupXor(x);
                workgroupBarrier();
                if (subgroupElect()) {{ shared_sum[id] = s; }}
                workgroupBarrier();
                x ^= shared_sum[(id + 1u) % 3u];
                if (workgroupUniformLoad(&shared_sum[0]) == 0xffffffffu) {{ break; }}
            }}
            O[li] = x;
        }}"
    );
    let input: Vec<u32> = noise(96).into_iter().map(|n| n >> 4).collect();
    let mut x = input.clone();
    for i in (0..7u32).filter(|i| *i != 3) {
        let old = x.clone();
        for (n, x) in x.iter_mut().enumerate() {
            let (start, lane) = (n / 32 * 32, n % 32);
            let lanes = &old[start..start + 32];
            *x = match i % 3 {
                0 => lanes[(lane + i as usize) % 32].wrapping_add(i),
                1 => lanes.iter().max().expect("a lane") - old[n],
                _ => old[n].wrapping_add(lanes[..lane].iter().map(|v| v & 15).sum()),
            };
        }
        let sums: Vec<u32> = x.chunks(32).map(|lanes| lanes.iter().fold(0, |a, b| a ^ b)).collect();
        x.iter_mut().enumerate().for_each(|(n, x)| *x ^= sums[(n / 32 + 1) % 3]);
    }
    assert_eq!(run_words(&source, 1, &input, 96), x);
}

#[test]
fn a_workgroup_of_the_largest_size_is_reduced_in_two_operations() {
    for size in [33u32, 256, 1000, 1024] {
        let source = format!(
            "enable subgroups; {HEAD}
            var<workgroup> partial: array<f32, 32>;
            @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_id) id: u32,
                @builtin(subgroup_invocation_id) lane: u32, @builtin(num_subgroups) count: u32) {{
                let s = subgroupAdd(bitcast<f32>(I[li]));
                if (lane == 0u) {{ partial[id] = s; }}
                workgroupBarrier();
                var p = 0.0;
                if (lane < count) {{ p = partial[lane]; }}
                let all = subgroupAdd(p);
                if (li == 0u) {{ O[0] = bitcast<u32>(all); }}
            }}"
        );
        let input = float_noise(size as usize);
        let sum = |values: &[f32]| values.iter().copied().reduce(|a, b| a + b).expect("a value");
        let mut partial: Vec<f32> = floats(&input).chunks(32).map(sum).collect();
        partial.resize(32, 0.0);
        let got = run_words(&source, 1, &input, 1);
        assert_eq!(float(got[0]), sum(&partial), "{size} invocations");
    }
}

#[test]
fn a_sort_by_shuffles_and_workgroup_memory_sorts() {
    let size = 256u32;
    let source = format!(
        "enable subgroups; {HEAD}
        var<workgroup> w: array<u32, {size}>;
        @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_size) width: u32) {{
            var x = I[li];
            for (var k = 2u; k <= {size}u; k <<= 1u) {{
                for (var j = k >> 1u; j > 0u; j >>= 1u) {{
                    var other = 0u;
                    if (j < width) {{
                        other = subgroupShuffleXor(x, j);
                    }} else {{
                        w[li] = x;
                        workgroupBarrier();
                        other = w[li ^ j];
                        workgroupBarrier();
                    }}
                    let smaller = ((li & j) == 0u) == ((li & k) == 0u);
                    x = select(max(x, other), min(x, other), smaller);
                }}
            }}
            O[li] = x;
        }}"
    );
    let input = noise(size as usize);
    let mut sorted = input.clone();
    sorted.sort_unstable();
    assert_eq!(run_words(&source, 1, &input, size as usize), sorted);
}

#[test]
fn a_loop_until_all_are_done_ends_by_workgroup_memory() {
    // A vote decides for a subgroup only; what it finds has to go through memory to decide for a workgroup.
    let source = format!(
        "enable subgroups; {HEAD}
        var<workgroup> busy: atomic<u32>;
        @compute @workgroup_size(65) fn main(@builtin(local_invocation_index) li: u32) {{
            var left = I[li];
            var passes = 0u;
            loop {{
                atomicStore(&busy, 0u);
                workgroupBarrier();
                if (left > 0u) {{ left -= 1u; }}
                let any = subgroupAny(left > 0u);
                if (subgroupElect() && any) {{ atomicAdd(&busy, 1u); }}
                passes += 1u;
                if (workgroupUniformLoad(&busy) == 0u) {{ break; }}
            }}
            O[li] = passes;
        }}"
    );
    let input: Vec<u32> = (0..65).map(|n| n % 7 + u32::from(n == 64) * 9).collect();
    let longest = *input.iter().max().expect("a value");
    assert_eq!(run_words(&source, 1, &input, 65), vec![longest; 65]);
}

#[test]
fn a_subgroup_barrier_orders_memory_of_the_workgroup() {
    let source = format!(
        "enable subgroups; {HEAD}
        var<workgroup> w: array<u32, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_size) width: u32) {{
            for (var i = 0u; i < 3u; i++) {{
                w[li] = I[li] + i;
                subgroupBarrier();
                O[li] += w[li ^ (width - 1u)];
                subgroupBarrier();
            }}
        }}"
    );
    let input = noise(64);
    let expected: Vec<u32> = (0..64).map(|li| (0..3).fold(0u32, |s, i| s.wrapping_add(input[li ^ 31]).wrapping_add(i))).collect();
    assert_eq!(run_words(&source, 1, &input, 64), expected);
}

#[test]
fn results_that_nobody_uses_cost_nothing() {
    let with = |statement: &str| {
        let source = format!(
            "enable subgroups; {HEAD} @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) li: u32) {{
                {statement} O[li] = I[li];
            }}"
        );
        Kernel::new(&source, Bounds::Checked).compiled.code_size()
    };
    assert_eq!(with("let unused = subgroupAdd(3u);"), with(""));
    assert!(with("O[li] = subgroupAdd(3u);") > with(""));
}

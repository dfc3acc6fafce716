//! Subgroup operations of GLSL, against plain models: full and partial subgroups of 32.

use super::super::SUBGROUP_SIZE;
use super::run_words;

const SIZE: usize = SUBGROUP_SIZE as usize;
const WORKGROUPS: [u32; 4] = [1, 32, 45, 128];

/// What one lane gets: from all values of its subgroup, and its own number.
type Model = fn(&[u32], usize) -> u32;

fn noise(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| (i + 7).wrapping_mul(0x9e37_79b9).rotate_left(i % 31)).collect()
}

/// Runs all expressions of `x`, an uint, in one kernel of each workgroup size; once in `main` and once in a function.
fn check(declarations: &str, cases: &[(&str, Model)]) {
    for size in WORKGROUPS {
        let stores: String =
            cases.iter().enumerate().map(|(n, (call, _))| format!("O[{n}u * {size}u + li] = uint({call});\n")).collect();
        for main in ["void main() { uint li = gl_LocalInvocationIndex; uint x = I[li];", "void f(uint li, uint x) {"] {
            let end = if main.starts_with("void f") {
                "void main() { f(gl_LocalInvocationIndex, I[gl_LocalInvocationIndex]); }"
            } else {
                ""
            };
            let source = format!(
                "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\n#extension GL_KHR_shader_subgroup_vote : enable
                #extension GL_KHR_shader_subgroup_arithmetic : require\n#extension GL_KHR_shader_subgroup_ballot : require
                #extension GL_KHR_shader_subgroup_shuffle : require\n#extension GL_KHR_shader_subgroup_shuffle_relative : require
                #extension GL_KHR_shader_subgroup_quad : require
                layout(local_size_x = {size}) in;
                layout(std430, binding = 0) readonly buffer In {{ uint I[]; }};
                layout(std430, binding = 1) buffer Out {{ uint O[]; }};
                {declarations}\n{main} {stores} }}\n{end}"
            );
            let input = noise(size as usize);
            let output = run_words(&source, 1, &input, input.len() * cases.len());
            for ((call, model), got) in cases.iter().zip(output.chunks(input.len())) {
                let expected: Vec<u32> =
                    input.chunks(SIZE).flat_map(|lanes| (0..lanes.len()).map(|lane| model(lanes, lane))).collect();
                assert_eq!(got, expected, "{call} in workgroups of {size}");
            }
        }
    }
}

fn other(lanes: &[u32], id: usize) -> u32 {
    lanes.get(id).copied().unwrap_or(0)
}

fn folded(lanes: &[u32], f: fn(u32, u32) -> u32) -> u32 {
    lanes.iter().copied().reduce(f).unwrap_or(0)
}

#[test]
fn inputs_votes_and_barriers_of_subgroups_work_in_glsl() {
    check(
        "shared uint s[128];",
        &[
            ("gl_SubgroupSize", |_, _| 32),
            ("gl_SubgroupInvocationID", |_, lane| lane as u32),
            ("gl_SubgroupID * 32u + gl_SubgroupInvocationID - li", |_, _| 0),
            ("gl_NumSubgroups - (gl_WorkGroupSize.x + 31u) / 32u", |_, _| 0),
            ("subgroupElect()", |_, lane| u32::from(lane == 0)),
            ("subgroupAll((x & 1u) == 0u)", |lanes, _| u32::from(lanes.iter().all(|x| x & 1 == 0))),
            ("subgroupAny((x & 15u) == 3u)", |lanes, _| u32::from(lanes.iter().any(|x| x & 15 == 3))),
            ("subgroupAllEqual(x)", |lanes, _| u32::from(lanes.iter().all(|x| *x == lanes[0]))),
            ("subgroupAllEqual(uvec2(gl_SubgroupID, 7u))", |_, _| 1),
            ("subgroupAllEqual(x > 5u)", |lanes, _| u32::from(lanes.iter().all(|x| (*x > 5) == (lanes[0] > 5)))),
            ("(s[li] = x, subgroupBarrier(), subgroupMemoryBarrier(), subgroupMemoryBarrierShared(), s[li ^ 0u])", |l, i| l[i]),
        ],
    );
}

#[test]
fn reductions_and_scans_of_subgroups_work_in_glsl() {
    let add: Model = |lanes, lane| lanes[..lane].iter().fold(0, |a, b| u32::wrapping_add(a, *b));
    check(
        "",
        &[
            ("subgroupAdd(x)", |lanes, _| folded(lanes, u32::wrapping_add)),
            ("subgroupMul(x | 1u)", |lanes, _| lanes.iter().fold(1, |a, b| u32::wrapping_mul(a, b | 1))),
            ("subgroupMin(x)", |lanes, _| folded(lanes, u32::min)),
            ("subgroupMax(int(x))", |lanes, _| lanes.iter().map(|x| x.cast_signed()).max().unwrap_or(0).cast_unsigned()),
            ("subgroupAnd(x | 0xff00u)", |lanes, _| lanes.iter().fold(u32::MAX, |a, b| a & (b | 0xff00))),
            ("subgroupOr(x & 0xf0fu)", |lanes, _| lanes.iter().fold(0, |a, b| a | (b & 0xf0f))),
            ("subgroupXor(x)", |lanes, _| folded(lanes, |a, b| a ^ b)),
            ("subgroupAnd(x > 9u)", |lanes, _| u32::from(lanes.iter().all(|x| *x > 9))),
            ("subgroupXor((x & 2u) != 0u)", |lanes, _| lanes.iter().filter(|x| *x & 2 != 0).count() as u32 & 1),
            ("subgroupInclusiveAdd(x)", |lanes, lane| folded(&lanes[..=lane], u32::wrapping_add)),
            ("subgroupExclusiveAdd(x)", add),
            ("subgroupExclusiveMul(x | 1u)", |lanes, lane| lanes[..lane].iter().fold(1, |a, b| u32::wrapping_mul(a, b | 1))),
            ("subgroupInclusiveMin(x)", |lanes, lane| folded(&lanes[..=lane], u32::min)),
            ("subgroupInclusiveMax(uvec2(x, ~x)).y", |lanes, lane| lanes[..=lane].iter().map(|x| !x).max().unwrap_or(0)),
            ("subgroupInclusiveXor(x)", |lanes, lane| folded(&lanes[..=lane], |a, b| a ^ b)),
            ("subgroupInclusiveAnd(x)", |lanes, lane| folded(&lanes[..=lane], |a, b| a & b)),
            ("subgroupExclusiveMin(x)", |lanes, lane| lanes[..lane].iter().copied().min().unwrap_or(u32::MAX)),
            ("subgroupExclusiveMin(int(x))", |lanes, lane| {
                lanes[..lane].iter().map(|x| x.cast_signed()).min().unwrap_or(i32::MAX).cast_unsigned()
            }),
            ("subgroupExclusiveMax(int(x))", |lanes, lane| {
                lanes[..lane].iter().map(|x| x.cast_signed()).max().unwrap_or(i32::MIN).cast_unsigned()
            }),
            ("subgroupExclusiveAnd(x)", |lanes, lane| lanes[..lane].iter().fold(u32::MAX, |a, b| a & b)),
            ("subgroupExclusiveOr(x)", |lanes, lane| lanes[..lane].iter().fold(0, |a, b| a | b)),
            ("floatBitsToUint(subgroupExclusiveMax(float(x & 255u)))", |lanes, lane| {
                lanes[..lane].iter().map(|x| (x & 255) as f32).fold(f32::NEG_INFINITY, f32::max).to_bits()
            }),
        ],
    );
}

#[test]
fn ballots_and_masks_of_subgroups_work_in_glsl() {
    fn votes(lanes: &[u32]) -> u32 {
        lanes.iter().enumerate().map(|(i, x)| (x & 1) << i).sum()
    }
    const BALLOT: &str = "subgroupBallot((x & 1u) != 0u)";
    let of = |name: &str| -> &'static str { Box::leak(format!("{name}({BALLOT})").into_boxed_str()) };
    check(
        "",
        &[
            (Box::leak(format!("{BALLOT}.x").into_boxed_str()), |lanes, _| votes(lanes)),
            (Box::leak(format!("{BALLOT}.y + {BALLOT}.w").into_boxed_str()), |_, _| 0),
            (of("subgroupInverseBallot"), |lanes, lane| lanes[lane] & 1),
            (Box::leak(format!("subgroupBallotBitExtract({BALLOT}, 3u)").into_boxed_str()), |lanes, _| votes(lanes) >> 3 & 1),
            (of("subgroupBallotBitCount"), |lanes, _| votes(lanes).count_ones()),
            ("subgroupBallotBitCount(uvec4(~0u))", |_, _| 32),
            (of("subgroupBallotInclusiveBitCount"), |lanes, lane| votes(&lanes[..=lane]).count_ones()),
            (of("subgroupBallotExclusiveBitCount"), |lanes, lane| votes(&lanes[..lane]).count_ones()),
            ("subgroupBallotFindLSB(uvec4(x | 0x8000u, x, x, x))", |lanes, lane| (lanes[lane] | 0x8000).trailing_zeros()),
            ("subgroupBallotFindMSB(uvec4(x | 1u, x, x, x))", |lanes, lane| (lanes[lane] | 1).ilog2()),
            ("gl_SubgroupEqMask.x", |_, lane| 1 << lane),
            ("gl_SubgroupLtMask.x", |_, lane| (1 << lane) - 1),
            ("gl_SubgroupLeMask.x", |_, lane| (2u32.wrapping_shl(lane as u32)).wrapping_sub(1) | (1 << lane)),
            ("gl_SubgroupGtMask.x", |_, lane| !((1u32 << lane) | ((1 << lane) - 1))),
            ("gl_SubgroupGeMask.x + gl_SubgroupGeMask.z", |_, lane| !((1u32 << lane) - 1)),
            ("subgroupBroadcast(x, 0u)", |lanes, _| lanes[0]),
            ("subgroupBroadcast(vec2(x & 255u), 0).y", |lanes, _| lanes[0] & 255),
            ("subgroupBroadcastFirst(x)", |lanes, _| lanes[0]),
            ("subgroupBroadcastFirst((x & 1u) != 0u)", |lanes, _| lanes[0] & 1),
        ],
    );
}

#[test]
fn shuffles_and_quads_of_subgroups_work_in_glsl() {
    check(
        "",
        &[
            ("subgroupShuffle(x, 31u - gl_SubgroupInvocationID)", |lanes, lane| other(lanes, 31 - lane)),
            ("subgroupShuffle(ivec3(x), 2).z", |lanes, _| other(lanes, 2)),
            ("subgroupShuffleXor(x, 5u)", |lanes, lane| other(lanes, lane ^ 5)),
            ("subgroupShuffleXor(x, gl_SubgroupInvocationID & 1u)", |lanes, lane| other(lanes, lane ^ (lane & 1))),
            ("subgroupShuffleUp(x, 3u)", |lanes, lane| lane.checked_sub(3).map_or(0, |id| lanes[id])),
            ("subgroupShuffleDown(x, 3)", |lanes, lane| other(lanes, lane + 3)),
            ("subgroupShuffleDown(x, I[0] & 7u)", |lanes, lane| other(lanes, lane + (noise(1)[0] & 7) as usize)),
            ("subgroupShuffleUp(x, gl_SubgroupInvocationID)", |lanes, _| lanes[0]),
            // So far away is nobody, also where numbers begin anew at zero.
            ("subgroupShuffleUp(x, 0xffffffffu - (I[0] & 0u))", |_, _| 0),
            ("subgroupShuffleUp(x, 0xfffffffbu - (I[0] & 0u))", |_, _| 0),
            ("subgroupShuffleDown(x, 0xffffffffu - (I[0] & 0u))", |_, _| 0),
            ("subgroupShuffleDown(x, 0xfffffffbu - (I[0] & 0u))", |_, _| 0),
            ("subgroupQuadBroadcast(x, 2u)", |lanes, lane| other(lanes, (lane & !3) + 2)),
            ("subgroupQuadSwapHorizontal(x)", |lanes, lane| other(lanes, lane ^ 1)),
            ("subgroupQuadSwapVertical(x)", |lanes, lane| other(lanes, lane ^ 2)),
            ("subgroupQuadSwapDiagonal(x)", |lanes, lane| other(lanes, lane ^ 3)),
        ],
    );
}

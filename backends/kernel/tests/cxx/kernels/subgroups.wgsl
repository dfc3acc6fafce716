// 80 invocations: the last subgroup has 16.
enable subgroups;
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(80)
fn main(@builtin(local_invocation_index) index: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32) {
    let x = input[index];
    let f = f32(x % 1000u) * 0.37;
    var at = index * 24u;
    out[at] = subgroupAdd(x);
    out[at + 1u] = subgroupInclusiveAdd(x);
    out[at + 2u] = subgroupExclusiveAdd(x);
    out[at + 3u] = subgroupMin(x);
    out[at + 4u] = subgroupMax(x);
    out[at + 5u] = bitcast<u32>(subgroupAdd(f));
    out[at + 6u] = bitcast<u32>(subgroupInclusiveMul(1.0 + f * 0.001));
    out[at + 7u] = subgroupExclusiveMul(x | 1u);
    out[at + 8u] = subgroupShuffle(x, (lane * 7u + 3u) % 40u);
    out[at + 9u] = subgroupShuffleUp(x, 3u);
    out[at + 10u] = subgroupShuffleDown(x, 5u);
    out[at + 11u] = subgroupShuffleXor(x, 6u);
    out[at + 12u] = subgroupBroadcast(x, 9u);
    out[at + 13u] = subgroupBroadcastFirst(x);
    out[at + 14u] = quadBroadcast(x, 2u);
    out[at + 15u] = quadSwapDiagonal(x) + quadSwapX(x) * 3u + quadSwapY(x) * 5u;
    let votes = subgroupBallot((x & 1u) == 1u);
    out[at + 16u] = votes.x;
    out[at + 17u] = u32(subgroupAll(x > 5u)) + 2u * u32(subgroupAny(x % 13u == 0u)) + 4u * u32(subgroupElect());
    out[at + 18u] = subgroupXor(x) + subgroupAnd(x | 7u) + subgroupOr(x & 0xff0fu);
    out[at + 19u] = size;
    let wide = subgroupAdd(u64(x) << 30u);
    out[at + 20u] = u32(wide >> 32u);
    let three = subgroupShuffleXor(vec3<i32>(i32(x), -i32(x), 5), 1u);
    out[at + 21u] = u32(three.y);
}

struct Counters { sum: atomic<u32>, least: atomic<i32>, most: atomic<i32>, wide: atomic<u64>, signed: atomic<i64>, flips: atomic<u32>, kept: atomic<u32>, bits: array<atomic<u32>, 8> }
@group(0) @binding(0) var<storage, read_write> all: Counters;
@group(0) @binding(1) var<storage, read> input: array<u32>;
var<workgroup> local: atomic<u32>;

@compute @workgroup_size(16)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = input[id.x];
    atomicAdd(&all.sum, x);
    atomicMin(&all.least, i32(x) - 100000);
    atomicMax(&all.most, i32(x));
    atomicAdd(&all.wide, u64(x) << 20u);
    atomicSub(&all.signed, i64(x));
    atomicOr(&all.bits[x % 2u + 10u * (lane % 2u)], 1u << (x % 32u));
    atomicXor(&all.flips, x);
    atomicAnd(&all.kept, ~(1u << lane));
    atomicAdd(&local, x);
    workgroupBarrier();
    if (lane == 0u && id.x == 0u) {
        atomicAdd(&all.bits[2], atomicLoad(&local));
        atomicStore(&all.bits[3], 5u);
        let old = atomicExchange(&all.bits[4], 9u);
        let tried = atomicCompareExchangeWeak(&all.bits[5], 123456u, 1u);
        if (!tried.exchanged) { atomicAdd(&all.bits[6], tried.old_value + old); }
        atomicStore(&all.bits[5], 77u);
        while (!atomicCompareExchangeWeak(&all.bits[5], 77u, 78u).exchanged) {}
        let missed = atomicCompareExchangeWeak(&all.bits[x % 3u + 9u], 0u, 1u);
        atomicAdd(&all.bits[7], missed.old_value + 1u);
    }
}

// How often each brightness occurs. Each workgroup counts its pixels in workgroup memory, where atomics are cheap, and then adds its 256 counts to the
// ones of the whole picture. The caller sets those to zero first.

const BINS: u32 = 256u;
const PER_INVOCATION: u32 = 16u;

@group(0) @binding(0) var<storage, read> luma: array<u32>;
@group(0) @binding(1) var<storage, read_write> totals: array<atomic<u32>, BINS>;

var<workgroup> counts: array<atomic<u32>, BINS>; // zero at the start, as all workgroup memory

@compute @workgroup_size(BINS)
fn histogram(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * BINS * PER_INVOCATION + local;
    for (var i = 0u; i < PER_INVOCATION; i += 1u) {
        let at = first + i * BINS;
        if at < arrayLength(&luma) {
            atomicAdd(&counts[luma[at] & 0xffu], 1u);
        }
    }
    workgroupBarrier();

    let count = atomicLoad(&counts[local]);
    if count > 0u {
        atomicAdd(&totals[local], count);
    }
}

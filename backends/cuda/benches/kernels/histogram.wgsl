@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
var<workgroup> own: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn histogram(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var at = group.x * 256u + local; at < arrayLength(&words); at += groups.x * 256u) {
        let word = words[at];
        for (var shift = 0u; shift < 32u; shift += 8u) {
            atomicAdd(&own[(word >> shift) & 255u], 1u);
        }
    }
    workgroupBarrier();
    atomicAdd(&counts[local], atomicLoad(&own[local]));
}

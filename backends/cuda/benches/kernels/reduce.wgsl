// One sum for each workgroup.
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
var<workgroup> parts: array<f32, 256>;

@compute @workgroup_size(256)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    var sum = 0.0;
    for (var at = group.x * 256u + local; at < arrayLength(&x); at += groups.x * 256u) {
        sum += x[at];
    }
    parts[local] = sum;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if local < half {
            parts[local] += parts[local + half];
        }
        workgroupBarrier();
    }
    if local == 0u {
        sums[group.x] = parts[0];
    }
}

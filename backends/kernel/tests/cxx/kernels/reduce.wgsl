@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
var<workgroup> partial: array<u32, 64>;
var<workgroup> last: u32;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(global_invocation_id) id: vec3<u32>) {
    partial[lane] = input[id.x];
    for (var width = 32u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if (lane < width) { partial[lane] += partial[lane + width]; }
    }
    if (lane == 0u) { last = partial[0]; }
    let total = workgroupUniformLoad(&last);
    if (lane == 5u) { sums[group.x] = total; }
}

// Numbers for the others to work on: between -1 and 1, or any words.
struct Given { seed: u32, words: u32 }
var<immediate> given: Given;
@group(0) @binding(0) var<storage, read_write> to: array<u32>;

@compute @workgroup_size(256)
fn fill(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    for (var at = group.x * 256u + local; at < arrayLength(&to); at += groups.x * 256u) {
        var x = at * 747796405u + given.seed;
        x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
        x = (x >> 22u) ^ x;
        to[at] = select(bitcast<u32>(f32(x >> 8u) / 8388608.0 - 1.0), x, given.words == 1u);
    }
}

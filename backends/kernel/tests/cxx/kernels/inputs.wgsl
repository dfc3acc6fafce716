struct Ids { @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) index: u32 }
struct Block { a: u32, b: u32 }
var<immediate> block: Block;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(3, 2, 2)
fn main(ids: Ids, @builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let linear = group.x + groups.x * (group.y + groups.y * group.z);
    let at = (linear * 12u + ids.index) * 8u;
    out[at] = ids.id.x + 100u * ids.id.y + 10000u * ids.id.z;
    out[at + 1u] = local.x + 100u * local.y + 10000u * local.z;
    out[at + 2u] = groups.z * block.a + block.b;
}

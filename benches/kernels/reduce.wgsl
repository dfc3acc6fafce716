@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
var<workgroup> tile: array<f32, 256>;

@compute @workgroup_size(256)
fn reduce(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) id: vec3<u32>) {
    let group = id.y * 256u + id.x;
    let value = values[group * 256u + local];
    tile[local] = value * value;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if local < half {
            tile[local] += tile[local + half];
        }
        workgroupBarrier();
    }
    if local == 0u {
        sums[group] = tile[0];
    }
}

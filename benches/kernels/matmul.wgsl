@group(0) @binding(0) var<storage, read> size: u32;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
var<workgroup> tile_a: array<f32, 256>;
var<workgroup> tile_b: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn matmul(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let row = group.y * 16u + local.y;
    let column = group.x * 16u + local.x;
    var sum = 0.0;
    for (var t = 0u; t < size; t += 16u) {
        tile_a[local.y * 16u + local.x] = a[row * size + t + local.x];
        tile_b[local.y * 16u + local.x] = b[(t + local.y) * size + column];
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            sum += tile_a[local.y * 16u + k] * tile_b[k * 16u + local.x];
        }
        workgroupBarrier();
    }
    c[row * size + column] = sum;
}

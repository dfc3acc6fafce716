// Square matrices whose side is a multiple of the tile's.
struct Given { side: u32 }
var<immediate> given: Given;
@group(0) @binding(0) var<storage, read> left: array<f32>;
@group(0) @binding(1) var<storage, read> right: array<f32>;
@group(0) @binding(2) var<storage, read_write> product: array<f32>;
var<workgroup> rows: array<array<f32, 16>, 16>;
var<workgroup> columns: array<array<f32, 16>, 16>;

@compute @workgroup_size(16, 16)
fn matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let row = group.y * 16u + local.y;
    let column = group.x * 16u + local.x;
    var sum = 0.0;
    for (var start = 0u; start < given.side; start += 16u) {
        rows[local.y][local.x] = left[row * given.side + start + local.x];
        columns[local.y][local.x] = right[(start + local.y) * given.side + column];
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            sum += rows[local.y][k] * columns[k][local.x];
        }
        workgroupBarrier();
    }
    product[row * given.side + column] = sum;
}

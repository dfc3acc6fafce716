// As matmul, with tiles of 64x64 and 4x4 results an invocation.
struct Given { side: u32 }
var<immediate> given: Given;
@group(0) @binding(0) var<storage, read> left: array<f32>;
@group(0) @binding(1) var<storage, read> right: array<f32>;
@group(0) @binding(2) var<storage, read_write> product: array<f32>;
var<workgroup> rows: array<array<f32, 64>, 16>;
var<workgroup> columns: array<array<f32, 64>, 16>;

@compute @workgroup_size(16, 16)
fn gemm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    let top = group.y * 64u;
    let side = group.x * 64u;
    var sums: array<array<f32, 4>, 4>;
    for (var start = 0u; start < given.side; start += 16u) {
        for (var part = 0u; part < 4u; part++) {
            let at = index + part * 256u;
            rows[at % 16u][at / 16u] = left[(top + at / 16u) * given.side + start + at % 16u];
            columns[at / 64u][at % 64u] = right[(start + at / 64u) * given.side + side + at % 64u];
        }
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            var a: array<f32, 4>;
            var b: array<f32, 4>;
            for (var i = 0u; i < 4u; i++) {
                a[i] = rows[k][local.y * 4u + i];
                b[i] = columns[k][local.x * 4u + i];
            }
            for (var i = 0u; i < 4u; i++) {
                for (var j = 0u; j < 4u; j++) {
                    sums[i][j] += a[i] * b[j];
                }
            }
        }
        workgroupBarrier();
    }
    for (var i = 0u; i < 4u; i++) {
        for (var j = 0u; j < 4u; j++) {
            product[(top + local.y * 4u + i) * given.side + side + local.x * 4u + j] = sums[i][j];
        }
    }
}

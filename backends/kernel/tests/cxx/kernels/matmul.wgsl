struct Size { m: u32, n: u32, k: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;
var<workgroup> left: array<array<f32, 8>, 8>;
var<workgroup> right: array<array<f32, 8>, 8>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    var sum = 0.0;
    for (var start = 0u; start < size.k; start += 8u) {
        left[local.y][local.x] = a[id.y * size.k + start + local.x];
        right[local.y][local.x] = b[(start + local.y) * size.n + id.x];
        workgroupBarrier();
        for (var k = 0u; k < 8u; k++) { sum += left[local.y][k] * right[k][local.x]; }
        workgroupBarrier();
    }
    if (id.y < size.m && id.x < size.n) { c[id.y * size.n + id.x] = sum; }
}

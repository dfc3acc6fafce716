@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn sigmoid(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.y * 65536u + id.x;
    if i < arrayLength(&y) {
        y[i] = 1.0 / (1.0 + exp(0.0 - x[i] * 8.0));
    }
}

struct Parameters {
    factor: f32,
    count: u32,
}
@group(0) @binding(0) var<storage, read> parameters: Parameters;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.y * 65536u + id.x;
    if i < parameters.count {
        y[i] = parameters.factor * x[i] + y[i];
    }
}

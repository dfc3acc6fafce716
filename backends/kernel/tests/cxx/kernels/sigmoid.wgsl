enable f16;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f16>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let v = 1.0 / (1.0 + exp(-x[id.x]));
    y[id.x] = vec2<f16>(f16(v), sin(f16(v)));
}

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3<u32>) {
    let o = w.x * 16u;
    let v = vec4(input[o], input[o + 1u], input[o + 2u], input[o + 3u]);
    let u = vec4(input[o + 4u], input[o + 5u], input[o + 6u], input[o + 7u]);
    let a = mat3x4<f32>(v, u, v.wzyx);
    let b = mat4x3<f32>(u.xyz, v.yzw, v.xxy, u.wzz);
    let c = a * b;
    let at = w.x * 8u;
    out[at] = c * v;
    out[at + 1u] = v * c;
    out[at + 2u] = vec4(determinant(mat2x2<f32>(v.xy, u.xy)), 1.0, 2.0, 3.0);
    out[at + 3u] = vec4((transpose(a) * v).xyz, 2.0);
    out[at + 4u] = (c + c * 2.0 - a * b)[w.x % 5u];
    out[at + 6u] = (c * c)[1];
    out[at + 5u] = vec4(b[2], c[1][w.x % 5u]);
}

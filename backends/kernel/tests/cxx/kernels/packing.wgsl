@group(0) @binding(0) var<storage, read> f: array<f32>;
@group(0) @binding(1) var<storage, read> n: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn keep(at: u32, v: vec4<f32>) {
    out[at] = bitcast<u32>(v.x);
    out[at + 1u] = bitcast<u32>(v.y);
    out[at + 2u] = bitcast<u32>(v.z);
    out[at + 3u] = bitcast<u32>(v.w);
}

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3<u32>) {
    let v = vec4(f[4u * w.x], f[4u * w.x + 1u], f[4u * w.x + 2u] / 40.0, f[4u * w.x + 3u] / 30.0);
    let x = n[2u * w.x] * 1234567u;
    let y = n[2u * w.x + 1u] * 7654321u;
    let at = w.x * 48u;
    out[at] = pack4x8snorm(v / 20.0);
    out[at + 1u] = pack4x8unorm(v / 20.0);
    out[at + 2u] = pack2x16snorm(v.zw);
    out[at + 3u] = pack2x16unorm(v.zw);
    out[at + 4u] = pack2x16float(v.xz * 3000.0);
    let i = vec4<i32>(v * 20.0);
    out[at + 5u] = pack4xI8(i);
    out[at + 6u] = pack4xI8Clamp(i);
    out[at + 7u] = pack4xU8(vec4<u32>(i));
    out[at + 8u] = pack4xU8Clamp(vec4<u32>(abs(i)));
    out[at + 9u] = u32(dot4I8Packed(x, y));
    out[at + 10u] = dot4U8Packed(x, y);
    keep(at + 12u, unpack4x8snorm(x));
    keep(at + 16u, unpack4x8unorm(x));
    keep(at + 20u, vec4(unpack2x16snorm(x), unpack2x16unorm(y)));
    keep(at + 24u, vec4(unpack2x16float(x & 0x7bff7bffu), unpack2x16float(y & 0x83ff83ffu)));
    keep(at + 28u, vec4<f32>(unpack4xI8(x)));
    keep(at + 32u, vec4<f32>(unpack4xU8(y)));
}

// The result: the photograph with its brightness evened out by the table, and its edges drawn over it in orange.

struct Overlay {
    width: u32,
    height: u32,
    gain: f32, // edge strength times this is the ink's share of a pixel
}

@group(0) @binding(0) var<uniform> settings: Overlay;
@group(0) @binding(1) var<storage, read> photo: array<u32>;
@group(0) @binding(2) var<storage, read> luma: array<u32>;
@group(0) @binding(3) var<storage, read> edges: array<f32>;
@group(0) @binding(4) var<storage, read> table: array<u32, 256>;
@group(0) @binding(5) var<storage, read_write> result: array<u32>;

const INK: vec3<u32> = vec3<u32>(255u, 150u, 30u);

@compute @workgroup_size(16, 16)
fn overlay(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= settings.width || id.y >= settings.height {
        return;
    }
    let i = id.y * settings.width + id.x;
    let pixel = photo[i];
    let colour = vec3<u32>(pixel & 0xffu, (pixel >> 8u) & 0xffu, (pixel >> 16u) & 0xffu);
    let was = max(luma[i], 1u);
    let evened = min(colour * table[was] / was, vec3<u32>(255u));

    let ink = u32(clamp(edges[i] * settings.gain, 0.0, 1.0) * 256.0);
    let mixed = (evened * (256u - ink) + INK * ink) >> vec3<u32>(8u);
    result[i] = mixed.x | (mixed.y << 8u) | (mixed.z << 16u) | 0xff000000u;
}

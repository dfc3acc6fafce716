// Strength of the edges: the length of the brightness gradient by Sobel's two 3 by 3 masks.

struct Frame {
    width: u32,
    height: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> blurred: array<f32>;
@group(0) @binding(2) var<storage, read_write> edges: array<f32>;

@compute @workgroup_size(16, 16)
fn sobel(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= frame.width || id.y >= frame.height {
        return;
    }
    let left = max(id.x, 1u) - 1u;
    let right = min(id.x + 1u, frame.width - 1u);
    let above = (max(id.y, 1u) - 1u) * frame.width;
    let here = id.y * frame.width;
    let below = min(id.y + 1u, frame.height - 1u) * frame.width;

    let across = (blurred[above + right] - blurred[above + left]) + 2.0 * (blurred[here + right] - blurred[here + left])
        + (blurred[below + right] - blurred[below + left]);
    let down = (blurred[below + left] - blurred[above + left]) + 2.0 * (blurred[below + id.x] - blurred[above + id.x])
        + (blurred[below + right] - blurred[above + right]);
    edges[here + id.x] = sqrt(across * across + down * down);
}

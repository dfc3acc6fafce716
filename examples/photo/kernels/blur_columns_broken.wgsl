// blur_columns.wgsl with a slip in it, for the demo's second failure: it reads `RADIUS` rows too far down, past the end of the picture. In checked mode
// such a read gives zero and nobody notices; in validate mode the launch fails and tells where.

const RADIUS: u32 = 4u;

struct Blur {
    width: u32,
    height: u32,
    weights: array<vec4<f32>, 2>,
}

@group(0) @binding(0) var<uniform> blur: Blur;
@group(0) @binding(1) var<storage, read> rows: array<f32>;
@group(0) @binding(2) var<storage, read_write> blurred: array<f32>;

@compute @workgroup_size(16, 16)
fn blur_columns_broken(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= blur.width || id.y >= blur.height {
        return;
    }
    var sum = 0.0;
    for (var d = 0u; d <= 2u * RADIUS; d += 1u) {
        let distance = u32(abs(i32(d) - i32(RADIUS)));
        sum += blur.weights[distance / 4u][distance % 4u] * rows[(id.y + d) * blur.width + id.x];
    }
    blurred[id.y * blur.width + id.x] = sum;
}

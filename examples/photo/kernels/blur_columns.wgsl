// Second half of the Gaussian blur: along the columns. The tile is 16 by 16 pixels and four rows more above and below.

const RADIUS: u32 = 4u;
const TILE: u32 = 16u;
const SPAN: u32 = TILE + 2u * RADIUS;

struct Blur {
    width: u32,
    height: u32,
    weights: array<vec4<f32>, 2>,
}

@group(0) @binding(0) var<uniform> blur: Blur;
@group(0) @binding(1) var<storage, read> rows: array<f32>;
@group(0) @binding(2) var<storage, read_write> blurred: array<f32>;

var<workgroup> tile: array<array<f32, TILE>, SPAN>;

fn weight(distance: u32) -> f32 {
    return blur.weights[distance / 4u][distance % 4u];
}

@compute @workgroup_size(TILE, TILE)
fn blur_columns(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let x = min(id.x, blur.width - 1u);
    for (var at = local.y; at < SPAN; at += TILE) {
        let y = i32(group.y * TILE + at) - i32(RADIUS);
        let inside = u32(clamp(y, 0, i32(blur.height) - 1));
        tile[at][local.x] = rows[inside * blur.width + x];
    }
    workgroupBarrier();

    if id.x >= blur.width || id.y >= blur.height {
        return;
    }
    let centre = local.y + RADIUS;
    var sum = weight(0u) * tile[centre][local.x];
    for (var d = 1u; d <= RADIUS; d += 1u) {
        sum += weight(d) * (tile[centre - d][local.x] + tile[centre + d][local.x]);
    }
    blurred[id.y * blur.width + id.x] = sum;
}

// First half of a Gaussian blur: along the rows. A workgroup loads its stretch of a row, and four pixels more on either side, into workgroup
// memory once; without that, every pixel would be loaded nine times.

const RADIUS: u32 = 4u;
const TILE: u32 = 64u;
const ROWS: u32 = 4u;
const SPAN: u32 = TILE + 2u * RADIUS;

struct Blur {
    width: u32,
    height: u32,
    weights: array<vec4<f32>, 2>, // for the distances 0 to 4 (a uniform array's elements are 16 bytes apart, so they come in fours)
}

@group(0) @binding(0) var<uniform> blur: Blur;
@group(0) @binding(1) var<storage, read> luma: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<f32>;

var<workgroup> tile: array<array<f32, SPAN>, ROWS>;

fn weight(distance: u32) -> f32 {
    return blur.weights[distance / 4u][distance % 4u];
}

@compute @workgroup_size(TILE, ROWS)
fn blur_rows(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    // Past an edge of the picture its last pixel is repeated. Nobody returns early: all must reach the barrier.
    let y = min(id.y, blur.height - 1u);
    for (var at = local.x; at < SPAN; at += TILE) {
        let x = i32(group.x * TILE + at) - i32(RADIUS);
        let inside = u32(clamp(x, 0, i32(blur.width) - 1));
        tile[local.y][at] = f32(luma[y * blur.width + inside]);
    }
    workgroupBarrier();

    if id.x >= blur.width || id.y >= blur.height {
        return;
    }
    let centre = local.x + RADIUS;
    var sum = weight(0u) * tile[local.y][centre];
    for (var d = 1u; d <= RADIUS; d += 1u) {
        sum += weight(d) * (tile[local.y][centre - d] + tile[local.y][centre + d]);
    }
    rows[id.y * blur.width + id.x] = sum;
}

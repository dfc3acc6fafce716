struct Parameters {
    size: u32,
    rounds: u32,
}
@group(0) @binding(0) var<storage, read> parameters: Parameters;
@group(0) @binding(1) var<storage, read_write> image: array<u32>;

@compute @workgroup_size(16, 16)
fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
    let scale = 1.0 / f32(parameters.size);
    let c = vec2f(f32(id.x) * scale * 3.0 - 2.0, f32(id.y) * scale * 2.0 - 1.0);
    var x = 0.0;
    var y = 0.0;
    var round = 0u;
    while round < parameters.rounds {
        let xx = x * x;
        let yy = y * y;
        if xx + yy > 4.0 {
            break;
        }
        y = 2.0 * x * y + c.y;
        x = xx - yy + c.x;
        round += 1u;
    }
    image[id.y * parameters.size + id.x] = round;
}

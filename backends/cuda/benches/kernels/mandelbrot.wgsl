struct Given { side: u32, most: u32, step: f32 }
var<immediate> given: Given;
@group(0) @binding(0) var<storage, read_write> passes: array<u32>;

@compute @workgroup_size(16, 16)
fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= given.side || id.y >= given.side {
        return;
    }
    let c = vec2(f32(id.x) * given.step - 2.2, f32(id.y) * given.step - 1.5);
    var z = vec2(0.0);
    var n = 0u;
    while n < given.most {
        let squares = z * z;
        if squares.x + squares.y > 4.0 {
            break;
        }
        z = vec2(squares.x - squares.y, 2.0 * z.x * z.y) + c;
        n++;
    }
    passes[id.y * given.side + id.x] = n;
}

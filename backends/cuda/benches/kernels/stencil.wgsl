struct Given { width: u32, height: u32 }
var<immediate> given: Given;
@group(0) @binding(0) var<storage, read> from_: array<f32>;
@group(0) @binding(1) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(32, 8)
fn stencil(@builtin(global_invocation_id) id: vec3<u32>) {
    let x = id.x + 1u;
    let y = id.y + 1u;
    if x >= given.width - 1u || y >= given.height - 1u {
        return;
    }
    let at = y * given.width + x;
    to[at] = 0.2 * (from_[at] + from_[at - 1u] + from_[at + 1u] + from_[at - given.width] + from_[at + given.width]);
}

struct Given { soft: f32 }
var<immediate> given: Given;
@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> pulls: array<vec4<f32>>;

@compute @workgroup_size(256)
fn nbody(@builtin(global_invocation_id) id: vec3<u32>) {
    let count = arrayLength(&bodies);
    if id.x >= count {
        return;
    }
    let own = bodies[id.x].xyz;
    var pull = vec3(0.0);
    for (var n = 0u; n < count; n++) {
        let other = bodies[n];
        let way = other.xyz - own;
        let inverse = inverseSqrt(dot(way, way) + given.soft);
        pull += way * (other.w * inverse * inverse * inverse);
    }
    pulls[id.x] = vec4(pull, 0.0);
}

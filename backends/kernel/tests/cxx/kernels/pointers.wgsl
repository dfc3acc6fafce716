struct Pair { a: u32, b: array<vec4<u32>, 3> }
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<private> state: array<Pair, 2>;
var<private> seed: u32 = 7u;

fn bump(p: ptr<function, u32>, by: u32) -> u32 {
    *p += by;
    return *p + 1u;
}

fn deep(p: ptr<private, Pair>, at: u32) {
    (*p).b[at].y += seed;
    (*p).a = (*p).b[at].y;
    seed = seed * 3u + 1u;
}

@compute @workgroup_size(1)
fn main() {
    var local = array<u32, 4>(1u, 2u, 3u, 4u);
    for (var i = 0u; i < 12u; i++) {
        // Some of these lead to nothing.
        let index = input[i] % 7u;
        out[4u * i] = bump(&local[index], i);
        out[4u * i + 1u] = local[i % 4u];
        deep(&state[input[i + 1u] % 3u], index);
        out[4u * i + 2u] = state[i % 2u].a;
        out[4u * i + 3u] = state[i % 2u].b[1][index];
    }
}

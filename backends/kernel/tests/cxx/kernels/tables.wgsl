const PRIMES = array<u32, 6>(2u, 3u, 5u, 7u, 11u, 13u);
const TURNS = array<vec3<f32>, 2>(vec3(1.0, 2.0, 3.0), vec3(-4.0, 0.5, 1e30));
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(16)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = input[i] % 8u;
    let own = array<u32, 3>(i, x, 9u);
    out[i] = PRIMES[x];
    out[i + 16u] = bitcast<u32>(TURNS[x % 3u].z) + own[x % 4u];
    let v = vec4<u32>(i, x, 1u, 2u);
    out[i + 32u] = v[x % 6u];
    out[i + 48u] = u32(TURNS[x & 1u][i % 4u]);
}

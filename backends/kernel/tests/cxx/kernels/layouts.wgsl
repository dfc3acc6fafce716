// Three components and what follows them, matrices of odd shapes, arrays inside of structures.
struct Inner { p: vec3<f32>, w: f32, @size(32) q: vec2<f32>, m: mat3x3<f32> }
struct Item { id: u32, v: vec3<f32>, inner: array<Inner, 2>, t: mat2x3<f32>, s: mat4x2<f32> }
struct Head { count: u32, @align(16) first: u32, items: array<Item> }
@group(0) @binding(0) var<storage, read> head: Head;
@group(0) @binding(1) var<uniform> factors: array<vec4<u32>, 16>;
@group(0) @binding(2) var<storage, read_write> out: array<Item>;
@group(0) @binding(3) var<storage, read_write> rows: array<vec3<f32>>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3<u32>) {
    let i = w.x;
    var item = head.items[i];
    item.id += factors[i].z + head.first + arrayLength(&head.items);
    item.v = item.inner[1].m * item.v + vec3(item.inner[0].w);
    item.inner[i].q = item.v.zx;
    item.t[1].z = 4.0;
    out[i] = item;
    out[i].inner[0].m[i + 1u][2] = -1.0;
    rows[i] = item.v.yyx;
    rows[i + 2u] = (item.t * vec2(1.0, 2.0)) + out[i].inner[0].m[2];
    rows[i + 500u] = item.v;
}

// Pointers into every memory, by constant and by other indices, in functions, in loops and around barriers, and values: none is used. What `loose` variables hold is not
// even given a name: pointers into them are nothing but arguments.
struct Cell { n: u32, v: vec3<f32>, t: array<mat2x4<f32>, 3>, a: atomic<u32>, b: array<i32, 5> }
struct Plain { v: vec3<u32>, t: array<mat2x4<f32>, 3>, b: array<bool, 5> }
struct Log { head: vec4<u32>, tail: array<Line> } struct Line { m: mat3x3<f32>, n: i32 }
const size = 6u;
@group(0) @binding(0) var<storage, read> I: array<u32>;
@group(0) @binding(1) var<storage, read_write> O: array<u32>;
@group(0) @binding(2) var<storage, read_write> log: Log;
@group(0) @binding(3) var<storage, read> words: array<vec4<u32>>;
@group(0) @binding(4) var<uniform> un: array<vec4<u32>, 2>;
var<workgroup> cells: array<Cell, 4>; var<workgroup> sized: array<vec2<f32>, size>; var<workgroup> flag: bool;
var<workgroup> loose: array<Cell, 4>; var<workgroup> loose_flags: array<bool, size>; var<private> loose_plain: array<Plain, 2>;
@group(0) @binding(5) var<storage, read_write> loose_log: Log;
@group(0) @binding(6) var<storage, read> loose_words: array<array<vec4<u32>, 2>>;
@group(0) @binding(7) var<uniform> loose_un: array<vec4<u32>, 2>;
var<workgroup> once: u32; var<workgroup> used: array<Cell, 2>; var<private> own: Plain; var<private> bit: bool;
fn none(c: ptr<workgroup, Cell>, f: ptr<workgroup, bool>, m: ptr<storage, mat3x3<f32>, read_write>, w: ptr<storage, array<vec4<u32>>>,
        u: ptr<uniform, vec4<u32>>, p: ptr<private, Plain>, l: ptr<function, Plain>, i: u32) -> u32 {
    let c1 = &c.t[i]; let c2 = &c.a; let m1 = &m[1]; let w1 = &w[i]; let u1 = u; let p1 = &p.t[i]; let l1 = &l.b[i]; let f1 = f; return 1u;
}
fn onward(c: ptr<workgroup, array<Cell, 4>>, i: u32) -> u32 {
    var spare: Plain; let c1 = &c[i].b[i];
    return none(&c[i], &flag, &log.tail[i].m, &words, &un[i], &own, &spare, i);
}
fn ignore(c: ptr<workgroup, Cell>, f: ptr<workgroup, bool>, m: ptr<storage, mat3x3<f32>, read_write>, w: ptr<storage, array<vec4<u32>, 2>>,
        u: ptr<uniform, vec4<u32>>, p: ptr<private, Plain>, i: u32) -> u32 {
    return deeper(&c.t[i], &m[i], &w[i], i);
}
fn deeper(c: ptr<workgroup, mat2x4<f32>>, m: ptr<storage, vec3<f32>, read_write>, w: ptr<storage, vec4<u32>>, i: u32) -> u32 { return 1u; }
@compute @workgroup_size(2) fn main(@builtin(local_invocation_index) li: u32) {
    var local: Plain; let x = I[0] + li;
    let a = &cells; let b = &cells[2]; let c = &cells[x].t[1]; let d = &cells[x].t[x]; let e = &cells[1].a; let f = &sized[x]; let g = &flag;
    let h = &log; let i = &log.tail; let j = &log.tail[x]; let k = &log.tail[3].m; let l = &log.tail[x].m[x]; let m = &words[x]; let n = &un[x];
    let o = &own; let p = &own.t[x]; let q = &own.b[1]; let r = &local.t[x]; let s = &local.v; let t = &bit; let u = &sized;
    let v = arrayLength(&log.tail); let w = arrayLength(&words);
    let y = vec4(x) / vec4(I[1]); let z = array<vec3<f32>, 40>(); let z1 = z[x]; let z2 = sqrt(f32(x) - 9.0) / 0.0 * f32(y.x);
    _ = &cells[x].b; _ = &log.tail[x]; _ = log.tail[x].n; _ = used[x].b[x]; _ = &un; _ = own.t; _ = local.b; _ = atomicLoad(&used[x].a);
    var sum = none(&cells[x], &flag, &log.tail[x].m, &words, &un[x], &own, &local, x) + onward(&cells, x);
    for (var n = 0u; n < 2u; n++) {
        let a1 = &cells[n + x]; let b1 = &log.tail[n]; sum += none(a1, &flag, &b1.m, &words, &un[n], &own, &local, n);
        workgroupBarrier();
        let d1 = &a1.b[n]; let e1 = &j.m; once = 5u;
        sum += ignore(&loose[n + x], &loose_flags[n], &loose_log.tail[n].m, &loose_words[n], &loose_un[n], &loose_plain[n], x);
    }
    O[li] = sum + workgroupUniformLoad(&once);
}

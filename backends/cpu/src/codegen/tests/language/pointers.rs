//! Pointers to storage, uniform and workgroup memory as parameters: a function means the same for whatever variable it is given.

use super::*;

pub(super) const NAMES: &[&str] = names![
    pointers_to_every_memory_are_parameters,
    pointers_pass_through_calls_with_their_indices,
    atomics_and_lengths_are_behind_pointers,
    uniform_loads_and_barriers_work_through_pointers,
    indices_of_pointers_are_evaluated_once_where_they_stand,
    kt_21_pointers_out_of_range_read_zero_and_write_nothing,
    memory_that_only_unread_pointers_name_needs_no_place,
];

const BUFFERS: &str = "
    struct Cell { n: u32, v: vec3<u32>, t: array<u32, 3>, m: mat2x2<f32> }
    struct Log { count: u32, lines: array<Cell> }
    @group(0) @binding(0) var<storage, read> I: array<u32>;
    @group(0) @binding(1) var<storage, read_write> O: array<u32>;
    @group(0) @binding(2) var<storage, read_write> log: Log;
    @group(0) @binding(3) var<uniform> un: array<vec4<u32>, 2>;
    @group(0) @binding(4) var<storage, read_write> hits: array<atomic<u32>, 4>;
    var<workgroup> w: array<Cell, 2>; var<workgroup> word: u32; var<workgroup> count: atomic<i32>;
    var<private> p: Cell;
";

/// What a kernel with these functions and body leaves in the first words of `O`; the same in every bounds mode.
fn run(functions: &str, body: &str, size: u32, words: usize) -> Vec<u32> {
    let source = format!(
        "{BUFFERS}\n{functions}\n@compute @workgroup_size({size})
        fn main(@builtin(local_invocation_index) li: u32) {{ {body} }}"
    );
    let run = |bounds| {
        let kernel = Kernel::new(&source, bounds);
        let mut buffers: [Vec<u32>; 5] =
            [vec![5, 1, 2, 3, 0, 7], vec![0; words], vec![0; 16 * 3 + 4], (10..18).collect(), vec![0; 4]];
        let mut bound: Vec<&mut [u32]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
        kernel.run([1, 1, 1], &mut bound);
        assert_eq!(kernel.violation(), None);
        buffers[1].clone()
    };
    let checked = run(Bounds::Checked);
    assert_eq!(checked, run(Bounds::Validate), "validate");
    assert_eq!(checked, run(Bounds::Unchecked), "unchecked");
    checked
}

#[test]
fn memory_that_only_unread_pointers_name_needs_no_place() {
    let functions = "
        var<workgroup> unread: array<mat2x4<f32>, 8>; var<workgroup> bound: array<u32, 4>;
        fn ignores(c: ptr<workgroup, mat2x4<f32>>, n: ptr<workgroup, array<u32, 4>>, h: ptr<storage, atomic<u32>, read_write>, r: ptr<private, u32>) -> u32 { return 7u; }";
    let body = "let r = ignores(&unread[li], &bound, &hits[li], &p.t[li]); var n = 0u;
        while (n < 2u) { n += 1u; O[n] = r + ignores(&unread[n + 7u], &bound, &hits[n + 3u], &p.t[n + 9u]) + li; }";
    assert_eq!(run(functions, body, 1, 3), [0, 14, 14]);
}

#[test]
fn pointers_to_every_memory_are_parameters() {
    let functions = "
        fn sum(a: ptr<storage, array<u32>>) -> u32 { return (*a)[0] + a[1]; }
        fn sum_rw(a: ptr<storage, array<u32>, read_write>, n: u32) -> u32 { a[n] += 1u; return a[n]; }
        fn cell(c: ptr<storage, Cell, read_write>) { (*c).n = 4u; c.v.y = 5u; c.t[2] = 6u; (*c).m[1] = vec2(7.0, 8.0); }
        fn shared_cell(c: ptr<workgroup, Cell>) -> u32 { (*c).t[1] = 9u; let q = &(*c).t; return (*q)[1] + (*c).n; }
        fn row(v: ptr<uniform, vec4<u32>>) -> u32 { return (*v).x + v.w; }
        fn own(c: ptr<private, Cell>, d: ptr<function, Cell>) { *d = *c; (*c).n = 1u; }
        fn copy(source: ptr<storage, Cell, read_write>, to: ptr<workgroup, Cell>, d: ptr<function, Cell>) { *to = *source; *d = *to; }
        fn never(c: ptr<storage, array<Cell, 9>>) -> u32 { return (*c)[8].n; }";
    let body = "O[0] = sum(&I); O[1] = sum_rw(&O, 2u); cell(&log.lines[1]); O[3] = log.lines[1].n + log.lines[1].v.y * 10u + log.lines[1].t[2] * 100u + u32(log.lines[1].m[1].y) * 1000u;
        O[4] = shared_cell(&w[1]); O[5] = row(&un[1]); var d: Cell; p.n = 3u; own(&p, &d); O[6] = d.n * 10u + p.n;
        copy(&log.lines[1], &w[0], &d); O[7] = d.t[2] * 10u + w[0].n; let q = &log.lines[2]; cell(q); O[8] = (*q).n;";
    assert_eq!(run(functions, body, 1, 9), [6, 1, 1, 8654, 9, 14 + 17, 31, 64, 4]);
}

#[test]
fn pointers_pass_through_calls_with_their_indices() {
    let functions = "
        fn put(x: ptr<storage, u32, read_write>, v: u32) { *x = *x * 10u + v; }
        fn put_w(x: ptr<workgroup, u32>, v: u32) -> u32 { *x += v; return *x; }
        fn part(c: ptr<storage, Cell, read_write>, i: u32) { put(&(*c).t[i], i + 1u); put(&(*c).n, 9u); }
        fn both(l: ptr<storage, Log, read_write>, i: u32, j: i32) { part(&(*l).lines[j], i); part(&(*l).lines[0], i); put(&(*l).count, 1u); }
        fn deep(c: ptr<workgroup, array<Cell, 2>>, i: u32, k: u32) -> u32 { return put_w(&(*c)[i].t[k], 3u) + put_w(&word, 4u); }";
    let body = "both(&log, I[1], i32(I[2])); both(&log, I[2], 0); put(&O[I[4]], 7u); put(&O[I[4]], 8u);
        O[1] = log.count; O[2] = log.lines[2].t[1]; O[3] = log.lines[0].t[1] * 1000u + log.lines[0].t[2]; O[4] = log.lines[0].n;
        O[5] = deep(&w, I[1], I[2]) + deep(&w, I[1], I[2]) * 100u; O[6] = w[1].t[2]; O[7] = log.lines[2].n;";
    assert_eq!(run(functions, body, 1, 8), [78, 11, 2, 2033, 999, 7 + 1400, 6, 9]);
}

#[test]
fn atomics_and_lengths_are_behind_pointers() {
    let functions = "
        fn hit(c: ptr<storage, atomic<u32>, read_write>, n: u32) -> u32 { return atomicAdd(c, n); }
        fn hit_any(c: ptr<storage, array<atomic<u32>, 4>, read_write>, i: u32) { let before = hit(&(*c)[i], 1u); if (before > 100u) { atomicStore(&(*c)[0], 7u); } }
        fn tick(c: ptr<workgroup, atomic<i32>>) { atomicSub(c, 2); }
        fn length(a: ptr<storage, array<u32>>) -> u32 { return arrayLength(a); }
        fn lines(l: ptr<storage, Log, read_write>) -> u32 { return arrayLength(&(*l).lines); }
        fn cells(l: ptr<storage, array<Cell>, read_write>) -> u32 { return arrayLength(l); }
        fn swap(c: ptr<storage, atomic<u32>, read_write>) -> u32 { let r = atomicCompareExchangeWeak(c, 4u, 50u); return r.old_value + u32(r.exchanged) * 100u; }";
    let body = "_ = hit(&hits[1], 2u); hit_any(&hits, li); tick(&count); storageBarrier(); workgroupBarrier();
        if (li == 0u) { O[0] = atomicLoad(&hits[1]); O[1] = atomicLoad(&hits[3]); O[2] = u32(-atomicLoad(&count)); O[3] = length(&I); O[4] = lines(&log); O[5] = cells(&log.lines); atomicStore(&hits[2], 4u); O[6] = swap(&hits[2]); O[7] = atomicLoad(&hits[2]); }";
    // The log has four words before its lines of sixteen.
    assert_eq!(run(functions, body, 4, 8), [9, 1, 8, 6, 3, 3, 104, 50]);
}

#[test]
fn uniform_loads_and_barriers_work_through_pointers() {
    let functions = "
        fn share(x: ptr<workgroup, u32>, li: u32, v: u32) -> u32 { if (li == 1u) { *x = v; } return workgroupUniformLoad(x); }
        fn again(c: ptr<workgroup, array<Cell, 2>>, li: u32) -> u32 { return share(&(*c)[1].n, li, 30u + li); }";
    let body = "let n = share(&word, li, 20u + li); for (var i = 0u; i < n - 20u; i++) { workgroupBarrier(); } O[li] = n + again(&w, li) * 100u;";
    assert_eq!(run(functions, body, 4, 4), [3121; 4]);
}

#[test]
fn indices_of_pointers_are_evaluated_once_where_they_stand() {
    let functions = "
        fn next() -> u32 { p.n += 1u; return p.n; }
        fn assign(x: ptr<storage, u32, read_write>, v: u32) { p.n = 0u; *x = v; *x += 1u; }";
    let body = "var i = 1u; let q = &O[i]; i = 2u; assign(q, 10u); assign(&O[next() + 1u], 20u); assign(&O[i + 1u], p.n + 30u); O[0] = p.n;";
    assert_eq!(run(functions, body, 1, 4), [0, 11, 21, 31]);
}

#[test]
fn kt_21_pointers_out_of_range_read_zero_and_write_nothing() {
    let head = format!(
        "{HEAD}
        fn fetch(x: ptr<storage, u32>) -> u32 {{ return *x; }}
        fn put(x: ptr<storage, u32, read_write>, on: bool) {{
            if (on) {{ *x = 9u; }}
        }}
        fn through(a: ptr<storage, array<u32>, read_write>, i: i32, on: bool) {{
            put(&(*a)[i], on);
        }}"
    );
    for (body, expected) in [
        ("O[0] = fetch(&I[I[1]]);", Some(("I", 8, 3, 12))),
        ("put(&O[I[1]], I[0] == 5u);", Some(("O", 8, 2, 12))),
        ("put(&O[I[1]], I[0] == 6u);", None),
        // The index is told where it stands, not where the pointer is used.
        ("through(&O, -4 * i32(I[2]), true);", Some(("O", -4, 2, 10))),
        ("through(&O, 1, true); put(&O[3], I[2] == 1u);", Some(("O", 3, 2, 12))),
        ("put(&O[1], true); put(&O[3], I[2] == 0u);", None),
    ] {
        let source = format!("{head}\n@compute @workgroup_size(1) fn main() {{ {body} }}");
        let mut output = [1, 2];
        let checked = Kernel::new(&source, Bounds::Checked);
        checked.run([1, 1, 1], &mut [&mut [5, 8, 1], &mut output]);
        let kernel = Kernel::new(&source, Bounds::Validate);
        let mut validated = [1, 2];
        kernel.run([1, 1, 1], &mut [&mut [5, 8, 1], &mut validated]);
        assert_eq!(output, validated, "{body}");
        let found = kernel.violation().map(|v| (v.what, v.index, v.length, v.location.line));
        let expected = expected.map(|(what, index, length, line)| (what.to_owned(), index, length, line));
        assert_eq!(found, expected, "{body}");
    }
}

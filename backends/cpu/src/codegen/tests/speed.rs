//! Measurements, run by hand: `cargo test --release -p compute-cpu -- --ignored --nocapture speed`.

use std::hint::black_box;
use std::time::Duration;

use super::*;

const SAXPY: &str = "
    struct Parameters { a: f32, n: u32 }
    @group(0) @binding(0) var<uniform> p: Parameters;
    @group(0) @binding(1) var<storage, read> x: array<f32>;
    @group(0) @binding(2) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
        let i = gid.x;
        if (i < p.n) { y[i] = p.a * x[i] + y[i]; }
    }";

const MATMUL: &str = "
    @group(0) @binding(0) var<uniform> n: vec4<u32>;
    @group(0) @binding(1) var<storage, read> a: array<f32>;
    @group(0) @binding(2) var<storage, read> b: array<f32>;
    @group(0) @binding(3) var<storage, read_write> c: array<f32>;
    var<workgroup> ta: array<array<f32, 16>, 16>; var<workgroup> tb: array<array<f32, 16>, 16>;
    @compute @workgroup_size(16, 16) fn main(@builtin(local_invocation_id) l: vec3<u32>, @builtin(global_invocation_id) g: vec3<u32>) {
        var acc = 0.0;
        for (var t = 0u; t < n.x / 16u; t++) {
            ta[l.y][l.x] = a[g.y * n.x + t * 16u + l.x];
            tb[l.y][l.x] = b[(t * 16u + l.y) * n.x + g.x];
            workgroupBarrier();
            for (var k = 0u; k < 16u; k++) { acc = acc + ta[l.y][k] * tb[k][l.x]; }
            workgroupBarrier();
        }
        c[g.y * n.x + g.x] = acc;
    }";

const REDUCE: &str = "
    @group(0) @binding(0) var<storage, read> I: array<f32>;
    @group(0) @binding(1) var<storage, read_write> O: array<f32>;
    var<workgroup> s: array<f32, 256>;
    @compute @workgroup_size(256) fn main(@builtin(local_invocation_index) li: u32, @builtin(global_invocation_id) g: vec3<u32>,
        @builtin(workgroup_id) w: vec3<u32>) {
        s[li] = I[g.x];
        workgroupBarrier();
        for (var k = 128u; k > 0u; k >>= 1u) {
            if (li < k) { s[li] += s[li + k]; }
            workgroupBarrier();
        }
        if (li == 0u) { O[w.x] = s[0]; }
    }";

const SUBGROUP_REDUCE: &str = "
    enable subgroups;
    @group(0) @binding(0) var<storage, read> I: array<f32>;
    @group(0) @binding(1) var<storage, read_write> O: array<f32>;
    var<workgroup> partial: array<f32, 32>;
    @compute @workgroup_size(256) fn main(@builtin(local_invocation_index) li: u32, @builtin(global_invocation_id) g: vec3<u32>,
        @builtin(workgroup_id) w: vec3<u32>, @builtin(subgroup_id) id: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(num_subgroups) count: u32) {
        let s = subgroupAdd(I[g.x]);
        if (lane == 0u) { partial[id] = s; }
        workgroupBarrier();
        let all = subgroupAdd(select(0.0, partial[lane], lane < count));
        if (li == 0u) { O[w.x] = all; }
    }";

const SUBGROUP_SUMS: &str = "
    enable subgroups;
    @group(0) @binding(0) var<storage, read> I: array<f32>;
    @group(0) @binding(1) var<storage, read_write> O: array<f32>;
    @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) g: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32) {
        let s = subgroupAdd(I[g.x]);
        if (lane == 0u) { O[g.x / 32u] = s; }
    }";

/// The sums of each 32 without subgroup operations.
const MEMORY_SUMS: &str = "
    @group(0) @binding(0) var<storage, read> I: array<f32>;
    @group(0) @binding(1) var<storage, read_write> O: array<f32>;
    var<workgroup> s: array<f32, 256>;
    @compute @workgroup_size(256) fn main(@builtin(local_invocation_index) li: u32, @builtin(global_invocation_id) g: vec3<u32>) {
        s[li] = I[g.x];
        workgroupBarrier();
        for (var k = 16u; k > 0u; k >>= 1u) {
            if (li % 32u < k) { s[li] += s[li + k]; }
            workgroupBarrier();
        }
        if (li % 32u == 0u) { O[g.x / 32u] = s[li]; }
    }";

/// Processor time of this thread, so that neighbours do not count.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(mut f: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..9)
        .map(|_| {
            let start = now();
            f();
            now() - start
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Runs a grid without copying anything.
fn time(source: &str, bounds: Bounds, groups: [u32; 3], buffers: &mut [&mut [u32]]) -> Duration {
    let kernel = Kernel::new(source, bounds);
    let mut scratch = Memory::new(kernel.compiled.scratch_size(), 0);
    let ranges: Vec<_> =
        buffers.iter_mut().map(|b| BoundRange { pointer: b.as_mut_ptr().cast(), size: b.len() as u64 * 4 }).collect();
    let context = Context {
        scratch: scratch.pointer(),
        bindings: ranges.as_ptr(),
        immediates: std::ptr::null(),
        record: kernel.record(),
        cancel: &kernel.cancel,
        workgroups: groups,
    };
    median(|| {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                // SAFETY: everything in the context lives until the end of this function.
                unsafe { kernel.compiled.run(&context, [x, y, 0]) };
            }
        }
    })
}

#[test]
#[ignore = "a measurement"]
fn speed_of_compiled_kernels() {
    for (name, source) in [("saxpy", SAXPY), ("matmul", MATMUL), ("reduce", REDUCE)] {
        let entry = entry(source);
        let compile = median(|| {
            black_box(CompiledKernel::compile(lowered(&entry, Bounds::Checked), Bounds::Checked, false).expect("compiles"));
        });
        let kernel = Kernel::new(source, Bounds::Checked);
        println!(
            "{name}: compile {compile:?}, {} bytes of code, {} of scratch",
            kernel.compiled.code_size(),
            kernel.compiled.scratch_size()
        );
    }
    let mut calls = format!("{HEAD} fn f0(x: u32) -> u32 {{ return x * 3u + 1u; }}");
    for i in 1..12 {
        calls += &format!("fn f{i}(x: u32) -> u32 {{ return f{}(x) + f{}(x + 1u); }}", i - 1, i - 1);
    }
    calls += "@compute @workgroup_size(1) fn main() { O[0] = f11(I[0]); }";
    let entry = entry(&calls);
    let started = std::time::Instant::now();
    let compiled = compile(&entry, Bounds::Checked, false).expect("compiles");
    println!("4095 calls: compile {:?}, {} bytes of code", started.elapsed(), compiled.code_size());

    let n = 1 << 20;
    let mut p = [2f32.to_bits(), n as u32];
    let (mut x, mut y) = (vec![1f32.to_bits(); n], vec![0u32; n]);
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        let t = time(SAXPY, bounds, [n as u32 / 256, 1, 1], &mut [&mut p, &mut x, &mut y]);
        println!("saxpy {bounds:?}: {t:?}, {:.3} ns an element", t.as_nanos() as f64 / n as f64);
    }
    let (xs, mut ys) = (vec![1f32; n], vec![0f32; n]);
    let t = median(|| black_box(&mut ys).iter_mut().zip(black_box(&xs)).for_each(|(y, x)| *y += 2.0 * x));
    println!("saxpy in Rust: {t:?}, {:.3} ns an element", t.as_nanos() as f64 / n as f64);

    let n = 512;
    let (mut a, mut b, mut c) = (vec![1f32.to_bits(); n * n], vec![1f32.to_bits(); n * n], vec![0u32; n * n]);
    let cubed = (n * n * n) as f64;
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        let mut size = [n as u32, 0, 0, 0];
        let groups = [n as u32 / 16, n as u32 / 16, 1];
        let t = time(MATMUL, bounds, groups, &mut [&mut size, &mut a, &mut b, &mut c]);
        println!("matmul {bounds:?}: {t:?}, {:.3} ns a step", t.as_nanos() as f64 / cubed);
    }
    let (a, b, mut c) = (vec![1f32; n * n], vec![1f32; n * n], vec![0f32; n * n]);
    let t = median(|| {
        let (a, b) = (black_box(&a), black_box(&b));
        for y in 0..n {
            for x in 0..n {
                c[y * n + x] = (0..n).map(|k| a[y * n + k] * b[k * n + x]).sum();
            }
        }
        black_box(&mut c);
    });
    println!("matmul in plain Rust: {t:?}, {:.3} ns a step", t.as_nanos() as f64 / cubed);

    let n = 1 << 20;
    let (mut input, mut output) = (vec![1f32.to_bits(); n], vec![0u32; n / 256]);
    for bounds in [Bounds::Checked, Bounds::Unchecked] {
        let t = time(REDUCE, bounds, [n as u32 / 256, 1, 1], &mut [&mut input, &mut output]);
        println!("reduce {bounds:?}: {t:?}, {:.3} ns an element", t.as_nanos() as f64 / n as f64);
    }
}

#[test]
#[ignore = "a measurement"]
fn speed_of_subgroup_reductions() {
    let n = 16 << 20;
    let mut input = bits(&(0..n).map(|i| (i % 1000) as f32).collect::<Vec<_>>());
    for (name, source, outputs) in [
        ("a sum per workgroup, by subgroups", SUBGROUP_REDUCE, n / 256),
        ("a sum per workgroup, by workgroup memory", REDUCE, n / 256),
        ("sums of 32, by subgroups", SUBGROUP_SUMS, n / 32),
        ("sums of 32, by workgroup memory", MEMORY_SUMS, n / 32),
    ] {
        let mut output = vec![0u32; outputs];
        for bounds in [Bounds::Checked, Bounds::Unchecked] {
            let t = time(source, bounds, [n as u32 / 256, 1, 1], &mut [&mut input, &mut output]);
            println!("{name} {bounds:?}: {t:?}, {:.3} ns an element", t.as_nanos() as f64 / n as f64);
        }
    }
}

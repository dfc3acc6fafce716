//! Arithmetic, memory layout, locals, functions and control flow without barriers.

use super::*;

const SAXPY: &str = "
    struct Parameters { a: f32, n: u32 }
    @group(0) @binding(0) var<uniform> p: Parameters;
    @group(0) @binding(1) var<storage, read> x: array<f32>;
    @group(0) @binding(2) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
        let i = gid.x;
        if (i >= p.n) { return; }
        y[i] = p.a * x[i] + y[i];
    }
";

#[test]
fn saxpy_matches_plain_arithmetic() {
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        let n = 1000;
        let mut p = [2.5f32.to_bits(), n as u32, 0, 0];
        let mut x = bits(&(0..n).map(|i| i as f32 * 0.25).collect::<Vec<_>>());
        let mut y = bits(&(0..n).map(|i| 7.0 - i as f32).collect::<Vec<_>>());
        let expected: Vec<f32> = (0..n).map(|i| 2.5 * (i as f32 * 0.25) + (7.0 - i as f32)).collect();
        Kernel::new(SAXPY, bounds).run([16, 1, 1], &mut [&mut p, &mut x, &mut y]);
        assert_eq!(floats(&y), expected);
    }
}

#[test]
fn invocation_ids_of_three_axes_cover_the_grid() {
    let source = format!(
        "{HEAD} @compute @workgroup_size(3, 2, 4) fn main(@builtin(global_invocation_id) g: vec3<u32>,
            @builtin(num_workgroups) n: vec3<u32>, @builtin(local_invocation_index) li: u32,
            @builtin(local_invocation_id) l: vec3<u32>, @builtin(workgroup_id) w: vec3<u32>) {{
            let width = n.x * 3u; let height = n.y * 2u;
            let i = (g.z * height + g.y) * width + g.x;
            O[i] = li + 100u * (l.x + 3u * l.y + 6u * l.z) + 10000u * (w.x + w.y + w.z) + I[0];
        }}"
    );
    let groups = [2, 3, 2];
    let mut output = vec![0; 24 * 12];
    Kernel::new(&source, Bounds::Checked).run(groups, &mut [&mut [1], &mut output]);
    for z in 0..8 {
        for y in 0..6 {
            for x in 0..6 {
                let li = (x % 3) + 3 * (y % 2) + 6 * (z % 4);
                let w = x / 3 + y / 2 + z / 4;
                assert_eq!(output[((z * 6 + y) * 6 + x) as usize], li + 100 * li + 10000 * w + 1);
            }
        }
    }
}

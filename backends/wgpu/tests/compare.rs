//! The wgpu device against the cpu device: the same kernels over the same bytes, equal to the bit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "ends at the first thing that is wrong"
)]

mod common;

use common::Bench;
use compute_cpu::CpuDriver;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::{Binding, DeviceError, Grid, Launch};
use compute_wgpu::WgpuDriver;

impl Bench {
    /// Runs one kernel over `I` and `O`; what is in `O` then.
    fn run(&mut self, kernel: &Kernel<'_>) -> Result<Vec<u32>, DeviceError> {
        let id = self.compile(&kernel.source(), kernel.bounds)?;
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let (input, output) = (self.block(&bytes(kernel.input)), self.block(&bytes(&vec![0; kernel.output])));
        let at = self.at();
        let bindings = [Binding::Buffer(input), Binding::Buffer(output)];
        let launch = Launch { kernel: id, grid: Grid::Direct([1, 1, 1]), bindings: &bindings, immediates: &[], time_limit: 0 };
        self.queue.launch(at, &launch)?;
        let got = self.read(output);
        assert!(self.queue.take_late().is_empty() || kernel.bounds == Bounds::Validate);
        for region in [input, output] {
            self.device.free(region.memory);
        }
        self.device.drop_kernel(id);
        Ok(got.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect())
    }
}

struct Kernel<'a> {
    declarations: &'a str,
    body: &'a str,
    size: u32,
    bounds: Bounds,
    input: &'a [u32],
    output: usize,
}

impl Kernel<'_> {
    fn source(&self) -> String {
        format!(
            "{}
@group(0) @binding(0) var<storage, read> I: array<u32>;
@group(0) @binding(1) var<storage, read_write> O: array<u32>;
fn f(at: u32) -> f32 {{ return bitcast<f32>(I[at]); }}
fn put(at: u32, x: f32) {{ O[at] = bitcast<u32>(x); }}
@compute @workgroup_size({}) fn main(@builtin(local_invocation_index) li: u32) {{
    O[0] = I[0];
{}
}}",
            self.declarations, self.size, self.body
        )
    }
}

/// Runs kernels on the cpu and on every adapter.
fn same_everywhere(kernels: &[Kernel<'_>]) {
    let adapters = common::adapters();
    let mut cpu = Bench::open(&CpuDriver, 0);
    let expected: Vec<_> = kernels.iter().map(|kernel| cpu.run(kernel).unwrap()).collect();
    for (index, name) in adapters {
        let mut bench = Bench::open(&WgpuDriver, index);
        for (kernel, expected) in kernels.iter().zip(&expected) {
            match bench.run(kernel) {
                Ok(got) => {
                    let wrong = got.iter().zip(expected).position(|(got, expected)| got != expected);
                    assert_eq!(wrong, None, "{name}: O of\n{}\nis\n{got:x?} for\n{expected:x?}", kernel.body);
                }
                // An adapter may lack what a kernel needs, and says so.
                Err(DeviceError::Compile { refusal: true, log, .. }) => eprintln!("NOT TESTED on {name}: {log}"),
                Err(error) => panic!("{name}: {error}\n{}", kernel.body),
            }
        }
    }
}

/// `I` of the tests of bounds: indices that are in range and others that are not.
const INDICES: [u32; 8] = [1, 3, 4, 77, 0x8000_0000, u32::MAX, 0, 2];

#[test]
fn l5_kt_21_every_kind_of_access_out_of_range_gives_zero_and_writes_nothing() {
    let declarations = "
struct Part { mass: u32, history: array<vec2<u32>, 4>, m: mat3x2<f32> }
var<workgroup> w: array<u32, 4>;
var<workgroup> wa: array<atomic<u32>, 4>;
var<private> own: array<array<u32, 3>, 2>;
fn add(to: ptr<function, u32>) -> u32 { *to += 5u; return *to; }
fn add_own(to: ptr<private, u32>) -> u32 { *to += 5u; return *to; }
const TABLE = array<vec2<u32>, 3>(vec2(1u, 2u), vec2(3u, 4u), vec2(5u, 6u));";
    let bodies = [
        "for (var i = 0u; i < 8u; i++) { O[1u + i] = I[I[i] + 1u]; O[I[i] + 60u] = 9u; }",
        "for (var i = 0u; i < 8u; i++) { O[1u + i] = I[bitcast<i32>(I[i]) - 2]; O[bitcast<i32>(I[i]) - 4 + 1] = 7u; }",
        "var a = array<u32, 4>(1u, 2u, 3u, 4u); for (var i = 0u; i < 8u; i++) { a[I[i]] += 10u; O[8u + i] = a[I[i]]; }
         for (var i = 0u; i < 4u; i++) { O[1u + i] = a[i]; }",
        "var p: Part; for (var i = 0u; i < 8u; i++) { p.history[I[i]][I[7u - i]] += 3u + i; p.m[I[i]][I[7u - i]] = f32(i); }
         for (var i = 0u; i < 4u; i++) { O[1u + 2u * i] = p.history[i].x; O[2u + 2u * i] = p.history[i].y; }
         for (var i = 0u; i < 3u; i++) { put(9u + 2u * i, p.m[i].x); put(10u + 2u * i, p.m[i][1]); }",
        "for (var i = 0u; i < 8u; i++) { w[I[i]] = i + 1u; O[8u + i] = w[I[i]]; } for (var i = 0u; i < 4u; i++) { O[1u + i] = w[i]; }",
        "for (var i = 0u; i < 8u; i++) { O[8u + i] = atomicAdd(&wa[I[i]], i + 1u); atomicMax(&wa[I[i]], 100u); atomicStore(&wa[I[i]], atomicLoad(&wa[I[i]]) + 1u); }
         for (var i = 0u; i < 4u; i++) { O[1u + i] = atomicLoad(&wa[i]); }",
        "for (var i = 0u; i < 8u; i++) { let r = atomicCompareExchangeWeak(&wa[I[i]], 0u, i + 1u); O[8u + i] = r.old_value;
         if (I[i] > 3u) { O[16u + i] = u32(r.exchanged); } } for (var i = 0u; i < 4u; i++) { O[1u + i] = atomicLoad(&wa[i]); }",
        "for (var i = 0u; i < 8u; i++) { own[I[i]][I[7u - i]] += i + 1u; O[8u + i] = own[I[i]][I[7u - i]]; }
         for (var i = 0u; i < 2u; i++) { for (var j = 0u; j < 3u; j++) { O[1u + i * 3u + j] = own[i][j]; } }",
        "let v = vec3(5u, 6u, 7u) + I[6]; let t = TABLE; for (var i = 0u; i < 8u; i++) { O[1u + i] = v[I[i]]; O[9u + i] = TABLE[I[i]].y + t[I[i]][I[7u - i]]; }",
        "var a = array<u32, 4>(1u, 2u, 3u, 4u); for (var i = 0u; i < 8u; i++) { let r = add(&a[I[i]]); if (I[i] < 4u) { O[8u + i] = r; } }
         for (var i = 0u; i < 4u; i++) { O[1u + i] = a[i]; }",
        "for (var i = 0u; i < 8u; i++) { let r = add_own(&own[1][I[i]]); if (I[i] < 3u) { O[8u + i] = r; } } for (var j = 0u; j < 3u; j++) { O[1u + j] = own[1][j]; }",
        "w[1] = 3u; w[3] = 4u; workgroupBarrier(); for (var i = 0u; i < 8u; i++) { O[1u + i] = workgroupUniformLoad(&w[workgroupUniformLoad(&w[2]) + i]); }",
        "var v = vec4(1u, 2u, 3u, 4u); for (var i = 0u; i < 8u; i++) { v[I[i]] += 10u; } O[1] = v.x; O[2] = v.y; O[3] = v.z; O[4] = v.w;",
        "var i = 0u; loop { O[1u + i] = I[i]; i++; continuing { break if i >= 20u; } }",
        "switch I[1] { case 3u: { O[I[3]] = 1u; O[5] = I[I[3]]; return; } default: { O[6] = I[I[4]]; } }",
    ];
    same_everywhere(&bodies.map(|body| Kernel {
        declarations,
        body,
        size: 1,
        bounds: Bounds::Checked,
        input: &INDICES,
        output: 64,
    }));
    // And what it computes while it reports.
    same_everywhere(&bodies.map(|body| Kernel {
        declarations,
        body,
        size: 1,
        bounds: Bounds::Validate,
        input: &INDICES,
        output: 64,
    }));
}

#[test]
fn kt_21_pointers_to_parts_of_variables_are_handed_to_functions() {
    let declarations = "
struct Part { mass: u32, history: array<vec2<u32>, 4>, numbers: array<u32, 4> }
var<private> own: Part;
var<private> added: u32;
fn add(to: ptr<function, u32>) -> u32 { *to += 5u; return *to; }
fn add_own(to: ptr<private, u32>) { *to += 5u; added += 1u; }
fn turn(to: ptr<function, vec2<u32>>) { *to = (*to).yx + 1u; }
fn both(to: ptr<function, Part>) -> u32 { turn(&(*to).history[1]); return add(&(*to).numbers[2]) + add(&(*to).mass); }
fn never_called(to: ptr<function, Part>) -> u32 { return add(&(*to).mass); }";
    let bodies = [
        "var p: Part; p.mass = I[0]; O[1] = add(&p.mass); O[2] = p.mass; O[3] = add(&p.numbers[1]) + add(&p.numbers[1]); O[4] = p.numbers[1];",
        "var p: Part; p.history[1] = vec2(I[1], I[3]); O[1] = both(&p); O[2] = p.history[1].x; O[3] = p.history[1].y; O[4] = p.numbers[2]; O[5] = p.mass;",
        "add_own(&own.mass); add_own(&own.numbers[I[0]]); O[1] = own.mass; O[2] = own.numbers[1]; O[3] = added;",
    ];
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        same_everywhere(&bodies.map(|body| Kernel { declarations, body, size: 1, bounds, input: &INDICES, output: 16 }));
    }
}

/// Numbers that show how floats are rounded, cut and compared.
fn floats() -> Vec<u32> {
    let mut words: Vec<u32> = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        -2.5,
        3.999_999_8,
        1e20,
        -1e20,
        2_147_483_600.0,
        4.3e9,
        1e-30,
        0.1,
        16_777_217.0,
        f32::MAX,
    ]
    .map(f32::to_bits)
    .to_vec();
    words.extend((0..48_u32).map(|n| 0x3000_0000 + n.wrapping_mul(0x9e37_79b9) % 0x2000_0000));
    words
}

#[test]
fn numbers_are_those_of_the_cpu_device() {
    let input = floats();
    let integers = "for (var i = 0u; i < 60u; i++) { let a = I[i]; let b = I[i + 1u]; let s = bitcast<i32>(a); let t = bitcast<i32>(b);
        O[1u + i] = (a + b) ^ (a * b) ^ (a / (b & 3u)) ^ (a % (b & 7u)) ^ (a << (b & 63u)) ^ (a >> (b & 63u)) ^ bitcast<u32>(s / (t | 1))
            ^ bitcast<u32>(s % (t >> 28u)) ^ bitcast<u32>(s >> (b & 63u)) ^ bitcast<u32>(-s) ^ bitcast<u32>(abs(s))
            ^ countOneBits(a) ^ reverseBits(a) ^ firstLeadingBit(b) ^ bitcast<u32>(firstTrailingBit(t)) ^ extractBits(a, b & 31u, 9u)
            ^ insertBits(a, b, 5u, a & 31u) ^ bitcast<u32>(clamp(s, -5, t)) ^ dot(vec3(a, b, 3u), vec3(b, a, 9u)) ^ min(a, b) ^ bitcast<u32>(max(s, t)); }";
    let conversions = "for (var i = 0u; i < 64u; i++) { O[1u + i] = bitcast<u32>(i32(f(i))) ^ (u32(f(i)) * 3u);
        put(65u + i, f32(I[i])); put(129u + i, f32(bitcast<i32>(I[i]))); }";
    let sums = "for (var i = 0u; i < 63u; i++) { put(1u + i, f(i) + f(i + 1u)); put(65u + i, f(i) - f(i + 1u)); put(129u + i, f(i) * f(i + 1u)); }";
    let whole = "for (var i = 0u; i < 64u; i++) { put(1u + i, floor(f(i))); put(65u + i, ceil(f(i))); put(129u + i, trunc(f(i)) + round(f(i))); }";
    let compared = "for (var i = 0u; i < 63u; i++) { let a = f(i); let b = f(i + 1u);
        O[1u + i] = u32(a < b) | u32(a <= b) << 1u | u32(a == b) << 2u | u32(a != b) << 3u | u32(a > b) << 4u | u32(a >= b) << 5u;
        put(65u + i, max(a, b) + abs(a)); put(129u + i, select(a, b, a < b) + sign(b)); }";
    let packed = "for (var i = 0u; i < 60u; i++) { let v = vec4(f(i), f(i + 1u), f(i + 2u), f(i + 3u)) * 0.001;
        O[1u + i] = pack4xI8(vec4<i32>(v)) ^ pack4xU8(vec4<u32>(abs(v)));  O[65u + i] = bitcast<u32>(dot4I8Packed(I[i], I[i + 1u]));
        O[129u + i] = dot4U8Packed(I[i], I[i + 1u]); }";
    let bodies = [integers, conversions, sums, whole, compared, packed];
    let kernels: Vec<Kernel<'_>> = bodies
        .iter()
        .map(|body| Kernel { declarations: "", body, size: 1, bounds: Bounds::Checked, input: &input, output: 200 })
        .collect();
    same_everywhere(&kernels);
}

#[test]
fn nan_is_told_apart_as_on_the_cpu_device() {
    let numbers = [0.0, 1.0, -1.0, 0.5, 3.7, -2.5, 1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let input: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
    // Whatever NaN, and whatever zero.
    let declarations = "var<private> next: u32 = 1u;
        fn word(x: u32) { O[next] = x; next += 1u; }
        fn tell(x: f32) { let b = bitcast<u32>(x) & 0x7fffffffu; word(select(select(bitcast<u32>(x), 0x7fc00000u, b > 0x7f800000u), 0u, b == 0u)); }";
    let single = "for (var i = 0u; i < 10u; i++) { let x = f(i); word(u32(x != x)); tell(saturate(x)); tell(sign(x)); word(bitcast<u32>(i32(x))); word(u32(x));
        tell(max(x, 0.0)); tell(max(0.0, x)); tell(min(x, 2.0)); tell(clamp(x, -1.0, 1.0)); tell(clamp(0.5, x, 1.0)); }";
    let pairs = "for (var i = 0u; i < 10u; i++) { for (var j = 0u; j < 10u; j++) { let x = f(i); let y = f(j);
        word(u32(x != y)); tell(min(x, y)); tell(max(x, y)); tell(step(x, y)); tell(max(vec2(x, y), vec2(y, 1.0)).y); } }";
    let triples = "for (var i = 0u; i < 10u; i++) { for (var j = 0u; j < 10u; j++) { for (var k = 0u; k < 10u; k++) { tell(clamp(f(i), f(j), f(k))); } } }";
    same_everywhere(&[single, pairs, triples].map(|body| Kernel {
        declarations,
        body,
        size: 1,
        bounds: Bounds::Checked,
        input: &input,
        output: 1002,
    }));
}

#[test]
fn functions_on_the_bits_of_other_integers_are_those_of_the_cpu_device() {
    let input = floats();
    let calls = [
        "countOneBits(a)",
        "countLeadingZeros(b)",
        "countTrailingZeros(b)",
        "reverseBits(a)",
        "firstLeadingBit(a)",
        "firstLeadingBit(b)",
        "firstTrailingBit(b)",
        "extractBits(a, I[i] & 63u, I[i + 1u] & 127u)",
        "insertBits(b, a, I[i + 2u] & 63u, I[i] & 127u)",
        "firstLeadingBit(vec3(a, b, a ^ b)).z ^ countOneBits(vec2(b, a)).x ^ insertBits(vec2(a, b), vec2(b), 5u, 9u).y",
    ];
    let mut bodies = Vec::new();
    for scalar in ["u64", "i64", "u16", "i16"] {
        let wide = scalar.ends_with("64");
        let (a, high) = if wide {
            (format!("{scalar}(u64(I[i]) << 32u | u64(I[i + 3u]))"), "O[65u + i] = u32(x >> 32u);")
        } else {
            (format!("{scalar}(I[i] >> 7u)"), "")
        };
        for call in calls {
            let body = format!(
                "for (var i = 0u; i < 60u; i++) {{ let a = {a}; let b = {scalar}(I[i + 1u]) << (I[i] & 63u); let x = {call}; O[1u + i] = u32(x); {high} }}"
            );
            bodies.push((if wide { "" } else { "enable wgpu_int16;" }, body));
        }
    }
    let kernels: Vec<Kernel<'_>> = bodies
        .iter()
        .map(|(declarations, body)| Kernel { declarations, body, size: 1, bounds: Bounds::Checked, input: &input, output: 200 })
        .collect();
    same_everywhere(&kernels);
}

#[test]
fn integers_are_widened_by_their_own_sign_as_on_the_cpu_device() {
    let input = [5, 0x8000_0000, 0xffff_8001, u32::MAX];
    let wide = "for (var i = 0u; i < 4u; i++) { let u = I[i]; let s = bitcast<i32>(u); let a = bitcast<u64>(i64(u)); let b = u64(s); let c = bitcast<vec2<u64>>(vec2<i64>(vec2(u, 1u)));
        O[1u + i] = u32(a) ^ u32(c.x); O[5u + i] = u32(a >> 32u); O[9u + i] = u32(b); O[13u + i] = u32(b >> 32u); O[17u + i] = u32(c.x >> 32u); }";
    let short = "for (var i = 0u; i < 4u; i++) { let h = u16(I[i]); let g = i16(bitcast<i32>(I[i])); O[1u + i] = bitcast<u32>(i32(h)); O[5u + i] = u32(g); }";
    same_everywhere(&[("", wide), ("enable wgpu_int16;", short)].map(|(declarations, body)| Kernel {
        declarations,
        body,
        size: 1,
        bounds: Bounds::Checked,
        input: &input,
        output: 24,
    }));
}

#[test]
fn kt_02_counts_past_the_width_are_taken_modulo_the_width() {
    let body = "let far = 71u; let v = vec2(I[0], I[3]); for (var i = 0u; i < 8u; i++) { let s = bitcast<i32>(I[0]);
        O[1u + i] = I[0] << I[i]; O[9u + i] = I[0] >> I[i]; O[17u + i] = bitcast<u32>(s >> I[i]); O[25u + i] = (I[0] << far) ^ (v >> vec2(far, I[i])).y;
        var x = I[0]; x <<= I[i] + far; O[33u + i] = x; }";
    let wide = "for (var i = 0u; i < 8u; i++) { let a = u64(I[0]) | u64(I[1]) << 32u; let x = (a << I[i]) ^ (a >> I[7u - i]) ^ bitcast<u64>(bitcast<i64>(a) >> I[i]);
        O[1u + i] = u32(x); O[9u + i] = u32(x >> 32u); }";
    let input = [0xfedc_ba98, 1, 31, 32, 40, 64, 95, u32::MAX];
    same_everywhere(&[body, wide].map(|body| Kernel {
        declarations: "",
        body,
        size: 1,
        bounds: Bounds::Checked,
        input: &input,
        output: 48,
    }));
}

#[test]
fn numbers_of_other_sizes_are_those_of_the_cpu_device() {
    let input = floats();
    let wide = "for (var i = 0u; i < 60u; i++) { let a = u64(I[i]) << 32u | u64(I[i + 1u]); let b = u64(I[i + 2u]) << 17u; let s = bitcast<i64>(a);
        let x = (a + b) ^ (a * b) ^ (a / (b & 255lu)) ^ (a % (b | 3lu)) ^ (a >> (I[i] & 63u)) ^ bitcast<u64>(s / 7li) ^ bitcast<u64>(s >> (I[i] & 63u)) ^ bitcast<u64>(abs(s));
        O[1u + i] = u32(x); O[65u + i] = u32(x >> 32u); }";
    let double = "for (var i = 0u; i < 60u; i++) { let a = f64(f(i)); let b = f64(f(i + 1u)); put(1u + i, f32(a + b)); put(65u + i, f32(a * b - 1.0lf)); }";
    let half = "for (var i = 0u; i < 60u; i++) { let a = f16(f32(i) * 0.375); O[1u + i] = u32(a); }";
    let short = "for (var i = 0u; i < 60u; i++) { let a = f32(f16(f32(i) * 0.375) * f16(3.0)); put(1u + i, a); }";
    let kernels: Vec<Kernel<'_>> = [("", wide), ("", double), ("enable f16;", half), ("enable f16;", short)]
        .into_iter()
        .map(|(declarations, body)| Kernel { declarations, body, size: 1, bounds: Bounds::Checked, input: &input, output: 200 })
        .collect();
    same_everywhere(&kernels);
}

#[test]
fn long_loops_run_to_their_end() {
    let body = "var x = I[1]; for (var n = 0u; n < I[0]; n += 1u) { x = x * 1664525u + 1013904223u; } O[1] = x;
        var y = 1u; loop { if (y > I[0]) { break; } y = y * 3u; if (y == I[1]) { continue; } } O[2] = y;";
    // llvmpipe leaves its loops after 65,535 turns in all.
    let kernel = Kernel { declarations: "", body, size: 1, bounds: Bounds::Checked, input: &[65_000, 42], output: 4 };
    same_everywhere(&[kernel]);
}

#[test]
fn kt_08_workgroups_work_together_as_on_the_cpu_device() {
    let input: Vec<u32> = (0..256).map(|n| n * 7 + 1).collect();
    let declarations = "var<workgroup> acc: array<u32, 64>; var<workgroup> lim: u32; var<private> p: vec3<u32>;";
    let reduce = "if (li == 0u) { lim = 32u; } acc[li] = I[li]; workgroupBarrier();
        loop { let s = workgroupUniformLoad(&lim); if (s == 0u) { break; } if (li < s) { acc[li] += acc[li + s]; } workgroupBarrier(); if (li == 0u) { lim = s / 2u; } workgroupBarrier(); }
        O[64u + li] = acc[0] + acc[li];";
    let rotate = "acc[li] = I[li]; workgroupBarrier(); for (var n = 0u; n < 5u; n++) { let v = acc[(li + 1u) % 64u]; workgroupBarrier(); acc[li] = v; workgroupBarrier(); }
        p += vec3(acc[li]); O[128u + li] = p.x + p.z;";
    let kernels: Vec<Kernel<'_>> = [reduce, rotate]
        .into_iter()
        .map(|body| Kernel { declarations, body, size: 64, bounds: Bounds::Checked, input: &input, output: 200 })
        .collect();
    same_everywhere(&kernels);
}

/// The distance of two numbers, in steps of the first.
fn steps(a: u32, b: u32) -> u64 {
    let place = |bits: u32| if bits >> 31 == 1 { -i64::from(bits & 0x7fff_ffff) } else { i64::from(bits) };
    place(a).abs_diff(place(b))
}

#[test]
fn functions_that_are_left_to_drivers_are_close_to_the_cpu_device() {
    let input: Vec<u32> = (0..64).map(|n| (n as f32).mul_add(0.11, 0.013).to_bits()).collect();
    // Steps that the language allows, where it states them so; for numbers as in `input`.
    let cases = [
        ("f(i) / f(63u - i)", 3),
        ("sqrt(f(i))", 4),
        ("inverseSqrt(f(i))", 2),
        ("exp(f(i))", 18),
        ("exp2(f(i))", 18),
        ("fma(f(i), 3.7, f(63u - i))", 1),
        ("f(i) * 3.7 + f(63u - i)", 1),
        ("atan(f(i))", 4096),
    ];
    let mut cpu = Bench::open(&CpuDriver, 0);
    for (index, name) in common::adapters() {
        let mut bench = Bench::open(&WgpuDriver, index);
        for (call, allowed) in cases {
            let body = format!("for (var i = 0u; i < 63u; i++) {{ put(1u + i, {call}); }}");
            let kernel = Kernel { declarations: "", body: &body, size: 1, bounds: Bounds::Checked, input: &input, output: 64 };
            let (expected, got) = (cpu.run(&kernel).unwrap(), bench.run(&kernel).unwrap());
            let most = expected.iter().zip(&got).map(|(a, b)| steps(*a, *b)).max().unwrap();
            eprintln!("{name}: {call} differs by up to {most} steps");
            assert!(most <= allowed, "{name}: {call} is {most} steps away, {allowed} are allowed");
        }
    }
}

//! The kernels: a dozen that are small enough to read, and one for each type with every operator and function on it.

use std::fmt::Write as _;

/// Kernels to read, by name.
pub(crate) const SMALL: &[(&str, &str)] = &[
    ("saxpy", include_str!("kernels/saxpy.wgsl")),
    ("layouts", include_str!("kernels/layouts.wgsl")),
    ("control", include_str!("kernels/control.wgsl")),
    ("pointers", include_str!("kernels/pointers.wgsl")),
    ("reduce", include_str!("kernels/reduce.wgsl")),
    ("matmul", include_str!("kernels/matmul.wgsl")),
    ("atomics", include_str!("kernels/atomics.wgsl")),
    ("subgroups", include_str!("kernels/subgroups.wgsl")),
    ("inputs", include_str!("kernels/inputs.wgsl")),
    ("tables", include_str!("kernels/tables.wgsl")),
    ("matrices", include_str!("kernels/matrices.wgsl")),
    ("packing", include_str!("kernels/packing.wgsl")),
    ("validate", include_str!("kernels/validate.wgsl")),
    ("sigmoid", include_str!("kernels/sigmoid.wgsl")),
];

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    float: bool,
    signed: bool,
}

const fn integer(name: &'static str, size: usize, signed: bool) -> Type {
    Type { name, size, float: false, signed }
}

const fn float(name: &'static str, size: usize) -> Type {
    Type { name, size, float: true, signed: true }
}

pub(crate) const TYPES: [Type; 9] = [
    integer("i32", 4, true),
    integer("u32", 4, false),
    integer("i64", 8, true),
    integer("u64", 8, false),
    integer("i16", 2, true),
    integer("u16", 2, false),
    float("f32", 4),
    float("f64", 8),
    float("f16", 2),
];

/// Of each width, bits that are a corner of some type, and some that are none.
fn patterns(size: usize) -> Vec<u64> {
    let f = |x: f64| match size {
        8 => x.to_bits(),
        4 => u64::from((x as f32).to_bits()),
        _ => u64::from(compute_kernel::math::f16_bits(x as f32)),
    };
    let bits = size as u32 * 8;
    let ones = u64::MAX >> (64 - bits);
    let mut all =
        vec![0, 1, 2, 7, 33, ones, ones - 1, ones >> 1, 1 << (bits - 1), (1 << (bits - 1)) + 1, 0x1234_5678_9abc_def1 & ones];
    all.extend(
        [1.0, -1.0, 0.5, -2.5, 1.5, 3.7, -0.0, 1e-7, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 65504.0, 3e9, -3e9, 1e19, -1e19]
            .map(f),
    );
    all.dedup();
    all
}

/// The samples of a type as bytes: all pairs of some, each once.
pub(crate) fn samples(ty: Type) -> Vec<u8> {
    let patterns = patterns(ty.size);
    let mut out = Vec::new();
    for (i, x) in patterns.iter().enumerate() {
        for (j, y) in patterns.iter().enumerate() {
            let z = patterns[(i * 7 + j * 3) % patterns.len()];
            for v in [*x, *y, z] {
                out.extend_from_slice(&v.to_le_bytes()[..ty.size]);
            }
        }
    }
    out
}

/// Expressions of `x`, `y`, `z` with the type of their value; `#name` is a type of the arity at hand, `@` the element type.
fn expressions(ty: Type) -> Vec<(String, &'static str)> {
    let mut all: Vec<(String, &'static str)> = Vec::new();
    let own = ty.name;
    let mut add = |of: &'static str, list: &[&str]| all.extend(list.iter().map(|e| ((*e).to_owned(), of)));
    add(
        own,
        &[
            "x + y",
            "x - y",
            "x * y",
            "x / y",
            "x % y",
            "min(x, y)",
            "max(x, y)",
            "clamp(x, y, z)",
            "abs(x)",
            "select(x, y, x < y)",
        ],
    );
    add("bool", &["x < y", "x <= y", "x > y", "x >= y", "x == y", "x != y"]);
    if ty.signed {
        add(own, &["-x", "sign(x)"]);
    }
    if ty.float {
        add(
            own,
            &["floor(x)", "ceil(x)", "trunc(x)", "round(x)", "fract(x)", "sqrt(x)", "inverseSqrt(x)", "degrees(x)", "radians(x)"],
        );
        add(
            own,
            &[
                "saturate(x)",
                "mix(x, y, z)",
                "step(x, y)",
                "smoothstep(x, y, z)",
                "fma(x, y, z)",
                "modf(x).fract",
                "modf(x).whole",
            ],
        );
        add(own, &["frexp(x).fract", "ldexp(x, #i32(k))", "ldexp(x, #i32(k * 20))"]);
        if own == "f32" {
            add(own, &["quantizeToF16(x)", "bitcast<#f32>(bitcast<#u32>(x) ^ bitcast<#u32>(y))"]);
            add("i32", &["frexp(x).exp", "bitcast<#i32>(x)"]);
        }
        if own != "f64" {
            add(
                own,
                &[
                    "sin(x)",
                    "cos(x)",
                    "tan(x)",
                    "sinh(x)",
                    "cosh(x)",
                    "tanh(x)",
                    "exp(x)",
                    "exp2(x)",
                    "log(x)",
                    "log2(x)",
                    "pow(x, y)",
                ],
            );
            add(own, &["sin(x + y)", "cos(x * y)", "tan(x * y)", "exp(x * z)", "pow(abs(x), y * z)"]);
        }
    } else {
        add(own, &["x & y", "x | y", "x ^ y", "~x", "x << #u32(y)", "x >> #u32(y)", "countOneBits(x)", "countLeadingZeros(x)"]);
        add(own, &["countTrailingZeros(x)", "reverseBits(x)", "firstLeadingBit(x)", "firstTrailingBit(x)"]);
        add(
            own,
            &[
                "extractBits(x, u32(k), 5u)",
                "extractBits(x, 3u, u32(k))",
                "insertBits(x, y, u32(k), 5u)",
                "insertBits(x, y, 2u, u32(k))",
            ],
        );
    }
    for to in TYPES.iter().filter(|to| to.name != own) {
        all.push((format!("#{}(x)", to.name), to.name));
    }
    all.push(("#bool(x)".to_owned(), "bool"));
    all
}

/// Expressions of vectors `x`, `y` of three components.
fn of_vectors(ty: Type) -> Vec<(String, &'static str)> {
    let mut all = vec![("dot(x, y)".to_owned(), ty.name), ("x[u32(k) % 5u]".to_owned(), ty.name)];
    if ty.float {
        for e in [
            "length(x)",
            "distance(x, y)",
            "cross(x, y).y",
            "reflect(x, y).y",
            "refract(x, y, z.x).y",
            "faceForward(x, y, z).y",
            "normalize(x).y",
        ] {
            all.push((e.to_owned(), ty.name));
        }
    }
    all
}

/// Puts the bits of a value into two words, the same bits for each NaN.
const KEEP: &str = "
    fn keep_bool(n: u32, v: bool) { put(n, u32(v), 0u); }
    fn keep_i16(n: u32, v: i16) { put(n, u32(i32(v)), 0u); }
    fn keep_u16(n: u32, v: u16) { put(n, u32(v), 0u); }
    fn keep_i32(n: u32, v: i32) { put(n, u32(v), 0u); }
    fn keep_u32(n: u32, v: u32) { put(n, v, 0u); }
    fn keep_u64(n: u32, v: u64) { put(n, u32(v), u32(v >> 32u)); }
    fn keep_i64(n: u32, v: i64) { keep_u64(n, bitcast<u64>(v)); }
    fn keep_f16(n: u32, v: f16) { put(n, select(pack2x16float(vec2<f32>(f32(v), 0f)), 0x7e00u, v != v), 0u); }
    fn keep_f32(n: u32, v: f32) { put(n, select(bitcast<u32>(v), 0x7fc00000u, v != v), 0u); }
    fn keep_f64(n: u32, v: f64) { if (v != v) { put(n, 0u, 0x7ff80000u); } else { keep_u64(n, bitcast<u64>(v)); } }
";

/// The kernel of a type, for scalars or for vectors: its source, and how many values it makes of each sample.
pub(crate) fn kernel(ty: Type, vectors: bool) -> (String, usize) {
    let own = ty.name;
    let mut list = expressions(ty);
    if vectors {
        list = list.into_iter().map(|(e, of)| (format!("({e}).y"), of)).chain(of_vectors(ty)).collect();
    }
    let count = list.len();
    let mut body = String::new();
    for (n, (expression, of)) in list.iter().enumerate() {
        let mut text = expression.clone();
        for name in TYPES.iter().map(|t| t.name).chain(["bool"]) {
            let spelled = if vectors { format!("vec3<{name}>") } else { name.to_owned() };
            text = text.replace(&format!("#{name}"), &spelled);
        }
        let _ = writeln!(body, "keep_{of}({n}u, {text});");
    }
    let operands = if vectors {
        format!("let x = vec3<{own}>(b, a, c); let y = vec3<{own}>(c, b, a); let z = vec3<{own}>(a, c, b);")
    } else {
        "let x = a; let y = b; let z = c;".to_owned()
    };
    let source = format!(
        "enable f16; enable wgpu_int16;
        @group(0) @binding(0) var<storage, read> A: array<{own}>;
        @group(0) @binding(1) var<storage, read_write> O: array<u32>;
        var<private> at: u32;
        fn put(n: u32, low: u32, high: u32) {{ O[2u * (at * {count}u + n)] = low; O[2u * (at * {count}u + n) + 1u] = high; }}
        {KEEP}
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) w: vec3<u32>) {{
        at = w.x; let a = A[3u * w.x]; let b = A[3u * w.x + 1u]; let c = A[3u * w.x + 2u]; let k = i32(w.x % 41u) - 3;
        {operands}\n{body} }}"
    );
    (source, count)
}

/// All kernels of types, by name.
pub(crate) fn generated() -> Vec<(String, String)> {
    let both = |ty: &Type| {
        [false, true]
            .map(|vectors| (format!("{}-{}", ty.name, if vectors { "vectors" } else { "scalars" }), kernel(*ty, vectors).0))
    };
    let more = [("sweep", SWEEP), ("own", OWN)].map(|(name, source)| (name.to_owned(), source.to_owned()));
    TYPES.iter().flat_map(both).chain(more).collect()
}

/// Every function of f32 whose bits are the same everywhere, on any bits: one value for each function and word of the input.
pub(crate) const SWEEP: &str = "
    @group(0) @binding(0) var<storage, read> A: array<u32>;
    @group(0) @binding(1) var<storage, read_write> O: array<u32>;
    fn keep(at: u32, v: f32) { O[at] = select(bitcast<u32>(v), 0x7fc00000u, v != v); }
    @compute @workgroup_size(1) fn main(@builtin(workgroup_id) w: vec3<u32>) {
        let x = bitcast<f32>(A[w.x]);
        let y = bitcast<f32>((A[w.x] * 747796405u + 2891336453u) % 0x10000000u + 0x38000000u);
        let at = w.x * 16u;
        keep(at, sin(x)); keep(at + 1u, cos(x)); keep(at + 2u, tan(x)); keep(at + 3u, sinh(x)); keep(at + 4u, cosh(x));
        keep(at + 5u, tanh(x)); keep(at + 6u, exp(x)); keep(at + 7u, exp2(x)); keep(at + 8u, log(x)); keep(at + 9u, log2(x));
        keep(at + 10u, pow(y, x)); keep(at + 11u, sin(y)); keep(at + 12u, tan(y)); keep(at + 13u, log(y)); keep(at + 14u, pow(x, round(y)));
    }";

/// Functions that only a device's own library has.
pub(crate) const OWN: &str = "
    enable f16;
    @group(0) @binding(0) var<storage, read_write> A: array<f32>;
    @group(0) @binding(1) var<storage, read_write> D: array<f64>;
    @group(0) @binding(2) var<storage, read_write> H: array<vec4<f16>>;
    @compute @workgroup_size(1) fn main() {
        let x = A[0]; let y = D[0]; let z = H[0];
        A[1] = asin(x) + acos(x) + atan(x) + asinh(x) + acosh(x) + atanh(x) + atan2(x, 2.0);
        D[1] = asin(y) + acos(y) + atan(y) + asinh(y) + acosh(y) + atanh(y) + atan2(y, y) + pow(y, y);
        D[2] = sin(y) + cos(y) + tan(y) + sinh(y) + cosh(y) + tanh(y) + exp(y) + exp2(y) + log(y) + log2(y);
        H[1] = asin(z) + acos(z) + atan(z) + asinh(z) + acosh(z) + atanh(z) + atan2(z, z);
    }";

//! Sources made wrong at random: what the front ends are fuzzed with.

use std::time::{Duration, Instant};

use compute_kernel::{Module, Source};

/// Sources that are right, in all languages.
pub fn corpus() -> Vec<Vec<u8>> {
    let head =
        "#version 450\n#extension GL_GOOGLE_include_directive : enable\n#define N 4\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n";
    let blocks = "layout(local_size_x = 8, local_size_y = 1) in;\nlayout(constant_id = 3) const uint K = 2;\n\
        struct S { vec3 a; float b[3]; mat2 m; uint n; };\nshared S s[2]; shared uint t[N * 2];\n\
        layout(std140, binding = 0) uniform U { float a[3]; mat2 m; S s; layout(offset = 256) vec2 late; } u;\n\
        layout(std430, row_major, binding = 1) buffer B { mat4x3 m; ivec2 v; uint data[]; } b;\n\
        layout(push_constant) uniform P { uint n; };\n";
    let bodies = [
        "float f(inout float x, out int y) { y = int(x); x *= 2.0; return x; }\nvoid main() { int y; float x = u.a[1]; b.data[gl_GlobalInvocationID.x] = uint(f(x, y)) + uint(y); barrier(); }",
        "const uint table[3] = uint[](1u, 2u, 3u);\nvoid main() { uint i = gl_GlobalInvocationID.x; if (i < b.data.length() && b.data[i] > 0u) { for (int k = 0; k < N; ++k) { if (k == 2) continue; b.data[i] += table[k % 3]; } } }",
        "void main() { atomicAdd(t[gl_LocalInvocationIndex % 8u], K); memoryBarrierShared(); barrier(); switch (t[0]) { case 0u: case 1u: b.v = ivec2(1); break; default: b.v.yx += 2; } }",
        "void main() { mat2 m = inverse(u.m) * transpose(u.m); vec4 v = vec4(m[0], m[1].yx); v.xz = mix(v.xy, v.zw, vec2(0.5)); b.m[gl_LocalInvocationID.x] = v.xyz; b.data[0] = packUnorm4x8(v); do { s[1].n++; } while (s[1].n < MAX(K, 3u)); S c = u.s; b.data[1] = c == u.s ? 1u : 0u; }",
        "uint g(uint x); uint h(uint x) { return g(x) + 1u; } uint g(uint x) { return x << 1; }\n#if defined(VULKAN) && N == 4\nvoid main() { uint lo, hi; umulExtended(h(n), 7u, hi, lo); int e; b.data[2] = hi ^ lo ^ uint(frexp(float(n), e) > 0.5); }\n#else\n#error no\n#endif",
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\nlayout(scalar, binding = 3) buffer W { double d; f16vec3 h; int64_t l; dmat2 m; u16vec2 w[2]; } w;\nvoid main() { w.d = fma(w.d, 1.5lf, n) - w.m[1].x; w.l = (w.l << 3) + int64_t(w.d) - 7l; w.h.xz = f16vec2(w.h.y) * 2.0hf; w.w[1].x += 3us; atomicAdd(w.l, 1l); w.m = inverse(w.m); b.data[0] = unpackUint2x32(uint64_t(w.l)).x + uint(isnan(w.d)); }",
        "#extension GL_KHR_shader_subgroup_ballot : require\nvoid main() { uint x = b.data[gl_LocalInvocationIndex]; x += subgroupAdd(x) + subgroupInclusiveMax(x) + subgroupExclusiveMul(x); uvec4 m = subgroupBallot(x > n); x ^= subgroupBallotBitCount(m) + gl_SubgroupLtMask.x + uint(subgroupElect()); x = subgroupShuffleXor(x, x & 1u) + subgroupShuffleDown(x, 2u) + subgroupQuadSwapDiagonal(x); bool all = subgroupAllEqual(vec2(x)); uint y = subgroupBroadcast(x, 3u); if (all) b.data[0] = y; }",
    ];
    let mut all: Vec<Vec<u8>> = bodies.iter().map(|body| format!("{head}{blocks}{body}\n").into_bytes()).collect();
    let wgsl = [
        "struct S { x: u32, n: atomic<u32>, v: vec3<f32> } var<workgroup> s: array<S, 2>; override K = 2u;
         @group(0) @binding(0) var<storage, read> I: array<u32>; @group(0) @binding(1) var<storage, read_write> O: array<u32>;
         fn f(p: ptr<function, u32>) -> u32 { *p += 1u; return *p * 2u; }
         @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
             var x = I[g.x]; let y = f(&x); atomicAdd(&s[0].n, y); workgroupBarrier();
             loop { if x > 100u { break; } switch x % 3u { case 0u: { x += 7u; continue; } default: { x *= 2u; } } continuing { x += 1u; } }
             let b = vec3<bool>(x > 1u, y > 2u, true) & vec3(true); let r = frexp(f32(x));
             if g.x < arrayLength(&O) { O[g.x] = select(x, y, all(b)) + u32(r.exp) + atomicLoad(&s[0].n); } }",
        "@group(0) @binding(0) var<uniform> u: mat4x4<f32>; @group(0) @binding(1) var<storage, read_write> o: array<vec4<f32>>;
         @compute @workgroup_size(4, 2) fn a(@builtin(local_invocation_id) l: vec3<u32>) { for (var i = 0u; i < 4u; i++) { o[i] = u * vec4(f32(l.x)) / o[l.y]; } }
         @compute @workgroup_size(1) fn c() { o[0] = normalize(o[1]) + vec4(unpack2x16float(7u), 1.0, 2.0); }",
        "struct M { m: mat4x4<f32>, a: array<mat3x3<f32>, 2>, n: u32 } @group(0) @binding(0) var<storage, read_write> b: M;
         @compute @workgroup_size(1) fn main() { b.m = b.m * b.m; b.a[b.n][1] = b.a[1][b.n] * 2.0; b.a[0][b.n].x += b.m[2].y; }",
        "override W: i64 = -3li; override V = W * 2li + 1li; @group(0) @binding(0) var<storage, read_write> o: array<vec4<u32>>;
         fn put(to: ptr<storage, vec4<u32>, read_write>, n: u32) { (*to).zx = vec2(n, u32(V)); (*to).yw += (*to).xy; }
         @compute @workgroup_size(u32(4li - W)) fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) l: u32) {
             var v = vec3<f32>(1.0); v.yx = vec2(2, 3); debugPrintf(\"%v3f %ld\", v, W); if (l == 0u) { put(&o[w.x], u32(v.y)); } }",
    ];
    for source in wgsl {
        all.push(source.as_bytes().to_vec());
        if let Some(words) = spirv(&source.replace("override", "const")) {
            let turned = by_rows(&words);
            all.extend([words, turned].iter().map(|words| words.iter().flat_map(|w| w.to_le_bytes()).collect()));
        }
    }
    all
}

/// A module that means what WGSL text means.
pub fn spirv(source: &str) -> Option<Vec<u32>> {
    let module = naga::front::wgsl::parse_str(source).ok()?;
    let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
    let info = validator.validate(&module).ok()?;
    naga::back::spv::write_vec(&module, &info, &naga::back::spv::Options::default(), None).ok()
}

/// A module with its matrices by rows.
pub fn by_rows(words: &[u32]) -> Vec<u32> {
    let mut words = words.to_vec();
    let mut at = 5;
    while let Some(first) = words.get(at).copied() {
        // OpMemberDecorate, and ColMajor.
        if first == 4 << 16 | 72 && words.get(at + 3) == Some(&5) {
            words[at + 3] = 4;
        }
        at += (first >> 16).max(1) as usize;
    }
    words
}

/// A small generator; the same seed gives the same run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Bytes of some tokens that decide much.
const WORDS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "0",
    "4294967295u",
    "1e38",
    "-",
    "&&",
    "?",
    ":",
    "=",
    "++",
    "\n#",
    "#if 1\n",
    "#define X(a) a##a\n",
    "struct",
    "void",
    "uint",
    "mat3x2",
    "[]",
    "const",
    "shared",
    "inout",
    "return",
    "break",
    "continue",
    "case 1:",
    "b.data",
    "main",
    "/*",
    "//",
    ".xy",
    ".zy = ",
    "i64",
    "1li",
    "override",
    "&o[1]",
    ".length()",
    "layout(",
    "std140",
    "0x",
    "1u",
    "2.0",
    "%",
    "<<",
    "while (true)",
    "\u{e9}",
];

/// One source made wrong in a few places.
pub fn mutate(all: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = all[dice.below(all.len())].clone();
    let binary = bytes.first() == Some(&3);
    for _ in 0..=dice.below(6) {
        if binary { mutate_words(&mut bytes, all, dice) } else { mutate_text(&mut bytes, all, dice) }
    }
    bytes
}

fn mutate_text(bytes: &mut Vec<u8>, all: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + dice.below(30)).min(bytes.len());
    match dice.below(6) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => drop(bytes.splice(at..at, WORDS[dice.below(WORDS.len())].bytes())),
        3 => drop(bytes.splice(at..end, WORDS[dice.below(WORDS.len())].bytes())),
        4 => {
            let other = &all[dice.below(all.len())];
            let from = dice.below(other.len());
            let to = (from + dice.below(80)).min(other.len());
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        _ => {
            let part = bytes[at..end].to_vec();
            let to = dice.below(bytes.len() + 1);
            bytes.splice(to..to, part);
        }
    }
}

/// Keeps the length a multiple of four, and mostly the lengths of instructions.
fn mutate_words(bytes: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
    let words = bytes.len() / 4;
    if words == 0 {
        return;
    }
    let at = dice.below(words) * 4;
    match dice.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..(at + 4 * dice.below(6)).min(words * 4))),
        2 => bytes[at + dice.below(4)] ^= 1 << dice.below(8),
        3 => {
            let from = dice.below(words) * 4;
            let word = bytes[from..from + 4].to_vec();
            bytes[at..at + 4].copy_from_slice(&word);
        }
        // A small id, or a small number, in place of another.
        _ => bytes[at..at + 4].copy_from_slice(&(dice.below(120) as u32).to_le_bytes()),
    }
}

/// What became of a source.
#[derive(Default, Debug)]
pub struct Tally {
    pub accepted: u64,
    pub refused: u64,
    /// Of those, the ones on which naga's SPIR-V front end panicked.
    pub crashed: u64,
    /// Crashes of a front end, and answers that took too long, each with its source.
    pub wrong: Vec<(String, Vec<u8>)>,
    pub slowest: Duration,
}

/// Feeds one source to the front end and takes down the answer.
pub fn feed(bytes: &[u8], tally: &mut Tally) {
    let started = Instant::now();
    let answer = Module::parse(&Source::new(bytes)).and_then(|module| {
        let names: Vec<String> = module.entry_points().into_iter().map(str::to_owned).collect();
        names.iter().try_for_each(|name| module.entry_point(Some(name), &[]).map(|_| ()))
    });
    let took = started.elapsed();
    tally.slowest = tally.slowest.max(took);
    match answer {
        Ok(()) => tally.accepted += 1,
        Err(found) if found.refusal => {
            tally.refused += 1;
            tally.crashed += u64::from(found.text.contains("front end crashed"));
        }
        Err(found) => tally.wrong.push((found.text, bytes.to_vec())),
    }
    if took > Duration::from_secs(10) {
        tally.wrong.push((format!("took {took:?}"), bytes.to_vec()));
    }
}

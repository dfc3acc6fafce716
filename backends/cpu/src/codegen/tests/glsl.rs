//! GLSL kernels, run: what the language means here, and what other front ends get wrong.

use compute_kernel::reflection::Bounds;
use compute_kernel::{Constant, Module, Source};

use super::{Kernel, run_words};

/// `I` read, `O` written; `main` is given.
fn glsl(group: u32, body: &str) -> String {
    format!(
        "#version 450\nlayout(local_size_x = {group}) in;\n\
         layout(std430, binding = 0) readonly buffer In {{ uint I[]; }};\n\
         layout(std430, binding = 1) buffer Out {{ uint O[]; }};\n{body}"
    )
}

fn run(group: u32, body: &str, input: &[u32], output: usize) -> Vec<u32> {
    run_words(&glsl(group, body), 1, input, output)
}

fn refusal(source: &str) -> String {
    match Module::parse(&Source::glsl(source)).and_then(|m| m.entry_point(None, &[]).map(|_| ())) {
        Ok(()) => panic!("was accepted: {source}"),
        Err(found) => {
            assert!(found.refusal, "{found}");
            found.text
        }
    }
}

const ROTATE: &str = "
    shared uint s[64];
    void main() {
        uint li = gl_LocalInvocationIndex;
        s[li] = I[li];
        barrier();
        for (int i = 0; i < 5; i++) {
            uint v = s[(li + 1u) % 64u];
            FENCE
            barrier();
            s[li] = v;
            FENCE
            barrier();
        }
        O[li] = s[li];
    }";

#[test]
fn kt_09_kt_15_loads_and_barriers_keep_their_order_in_glsl() {
    let input: Vec<u32> = (0..64).map(|i| 3 * i).collect();
    let expected: Vec<u32> = (0..64).map(|i| 3 * ((i + 5) % 64)).collect();
    for fence in ["", "memoryBarrierShared();", "groupMemoryBarrier();", "memoryBarrier(); memoryBarrierBuffer();"] {
        assert_eq!(run(64, &ROTATE.replace("FENCE", fence), &input, 64), expected, "{fence}");
    }
}

#[test]
fn kt_14_glsl_packs_snorm_as_snorm_and_unorm_as_unorm() {
    let body = "void main() {
        vec2 v = vec2(uintBitsToFloat(I[0]), uintBitsToFloat(I[1]));
        O[0] = packSnorm2x16(v);
        O[1] = packUnorm2x16(v);
        vec4 w = vec4(v, uintBitsToFloat(I[2]), uintBitsToFloat(I[3]));
        O[2] = packSnorm4x8(w.xyzw);
        O[3] = packUnorm4x8(w);
        O[4] = packHalf2x16(vec2(1.0, -2.0));
        O[5] = floatBitsToUint(unpackSnorm4x8(0x80u).x);
        O[6] = floatBitsToUint(unpackSnorm2x16(0x8000u).x);
    }";
    let input = [1.0f32, 0.0, 0.25, -2.0].map(f32::to_bits);
    let minus_one = (-1.0f32).to_bits();
    let expected = [0x0000_7fff, 0x0000_ffff, 0x8120_007f, 0x0040_00ff, 0xc000_3c00, minus_one, minus_one];
    assert_eq!(run(1, body, &input, 7), expected);
}

#[test]
fn kt_15_a_row_major_matrix_is_read_and_written_by_rows() {
    let source = "#version 450
        layout(local_size_x = 1) in;
        layout(std430, row_major, binding = 0) buffer In { mat4x3 m; float t; };
        layout(std430, binding = 1) buffer Out { float o[]; };
        layout(std430, binding = 2) buffer Also { layout(row_major) mat2x3 turned; layout(column_major) mat2x3 plain; };
        void main() {
            o[0] = m[1][2];
            o[1] = t;
            vec3 column = m[3];
            o[2] = column.x; o[3] = column.y; o[4] = column.z;
            mat4x3 whole = m;
            o[5] = whole[2][1];
            int k = int(t) - 11;
            o[6] = m[k][k];
            turned = mat2x3(1, 2, 3, 4, 5, 6);
            turned[1].z = 7.0;
            turned[0].xy = vec2(8, 9);
            plain = turned;
        }";
    let mut m: Vec<u32> = (0..12u8).map(|i| f32::from(i).to_bits()).collect();
    m.push(12.0f32.to_bits());
    m.resize(16, 0);
    let (mut o, mut also) = (vec![0u32; 7], vec![0u32; 16]);
    Kernel::new(source, Bounds::Checked).run([1, 1, 1], &mut [&mut m, &mut o, &mut also]);
    // Row r, column c lies at 4 r + c.
    let floats = |words: &[u32]| words.iter().map(|w| f32::from_bits(*w)).collect::<Vec<_>>();
    assert_eq!(floats(&o), [9.0, 12.0, 3.0, 7.0, 11.0, 6.0, 5.0]);
    assert_eq!(floats(&also)[..6], [8.0, 4.0, 9.0, 5.0, 3.0, 7.0]);
    assert_eq!(floats(&also)[8..15], [8.0, 9.0, 3.0, 0.0, 4.0, 5.0, 7.0]);
}

#[test]
fn std140_puts_elements_and_structures_sixteen_bytes_apart() {
    let source = "#version 450
        layout(local_size_x = 1) in;
        struct S { float x; };
        layout(std140, binding = 0) uniform U { float a[3]; vec2 b[2]; mat2 m; float c; S s; float d; vec3 e; float f; bool g; };
        layout(std430, binding = 1) buffer Out { float o[]; };
        void main() {
            float local[3] = a;
            o[0] = local[2]; o[1] = b[1].y; o[2] = m[1][0]; o[3] = c; o[4] = s.x; o[5] = d; o[6] = e.z; o[7] = f;
            mat2 whole = m;
            o[8] = whole[1].y;
            S copy = s;
            o[9] = copy.x;
            for (int i = 0; i < 3; ++i) o[10 + i] = a[i];
            o[13] = g ? 1.0 : 2.0;
        }";
    // a: 0, 16, 32; b: 48, 64; m: 80, 96; c: 112; s: 128; d: 144; e: 160; f: 172; g: 176
    let mut words = vec![0u32; 48];
    for (index, word) in words.iter_mut().enumerate() {
        *word = (index as f32).to_bits();
    }
    words[44] = 5;
    let mut o = vec![0u32; 14];
    Kernel::new(source, Bounds::Checked).run([1, 1, 1], &mut [&mut words, &mut o]);
    let found: Vec<f32> = o.iter().map(|w| f32::from_bits(*w)).collect();
    assert_eq!(found, [8.0, 17.0, 24.0, 28.0, 32.0, 36.0, 42.0, 43.0, 25.0, 32.0, 0.0, 4.0, 8.0, 1.0]);
}

#[test]
fn a_block_of_nothing_but_structures_without_number_holds_them() {
    for packing in ["std140", "std430"] {
        let source = format!(
            "#version 450\nlayout(local_size_x = 1) in;\nstruct Particle {{ vec4 at; vec4 speed; }};
             layout({packing}, binding = 0) readonly buffer In {{ Particle from[]; }};
             layout({packing}, binding = 1) buffer Out {{ Particle to[]; }};
             void main() {{
                 uint i = gl_GlobalInvocationID.x;
                 to[i].at = from[i].at + from[i].speed;
                 to[i].speed.x = float(from.length() * 10 + to.length());
             }}"
        );
        let input: Vec<u32> = (0..24u8).map(|n| f32::from(n).to_bits()).collect();
        let output = run_words(&source, 2, &input, 16);
        let expected = |n: u8| f32::from(16 * (n / 4) + 2 * (n % 4) + 4).to_bits();
        assert_eq!(output[..4], [0, 1, 2, 3].map(expected), "{packing}");
        assert_eq!(output[8..12], [4, 5, 6, 7].map(expected), "{packing}");
        assert_eq!([output[4], output[12]], [32f32.to_bits(); 2], "{packing}");
    }
}

#[test]
fn a_computed_index_into_chosen_components_reads_one_of_them() {
    let body = "layout(std430, binding = 2) buffer Also { vec4 b; mat4 m; };
        struct S { vec3 v; };
        shared vec4 s;
        float f(inout vec4 v, uint i) { v.w += 1.0; return v.wzyx[i]; }
        void main() {
            vec4 v = vec4(1.0, 2.0, 3.0, 4.0); v.y += float(I[5]); b = v; s = v; m = mat4(v, v, v, v); S t; t.v = v.xyz;
            for (uint i = 0u; i < 5u; i++) {
                O[i] = uint(v.zyx[I[i]]) + 16u * uint(b.wz[I[i]]) + 256u * uint(s.xxyy[i]) + 4096u * uint(m[1].yx[int(i)]) + 65536u * uint(t.v.zx[i]);
            }
            O[5] = uint(f(v, 0u)) + 16u * uint(v.wzyx.yx[I[0]]);
        }";
    let source = glsl(1, body);
    let kernel = Kernel::new(&source, Bounds::Checked);
    let (mut input, mut output, mut also) = ([0, 1, 2, 3, 4, 0], [0; 6], [0; 20]);
    kernel.run([1, 1, 1], &mut [&mut input, &mut output, &mut also]);
    // What lies past the last component is zero.
    assert_eq!(output, [0x3_2143, 0x1_1132, 0x0_0201, 0x0_0200, 0, 0x35]);
    for write in ["v.zyx[i] = 1.0;", "v.zyx[i]++;", "f(v.zyx[i]);"] {
        let source =
            glsl(1, &format!("void f(inout float x) {{ x = 1.0; }} void main() {{ vec4 v = vec4(1); uint i = I[0]; {write} }}"));
        assert!(refusal(&source).contains("computed index into a choice of components cannot be written"), "{write}");
    }
}

#[test]
fn kt_24_folded_minima_and_maxima_give_the_zero_of_run_time() {
    let of = ["0.0", "-0.0"];
    let mut calls = Vec::new();
    for a in of {
        for b in of {
            calls.extend([vec!["min", a, b], vec!["max", a, b]]);
            calls.extend(of.map(|c| vec!["clamp", a, b, c]));
        }
    }
    let (mut known, mut asked) = (String::new(), String::new());
    for (at, call) in calls.iter().enumerate() {
        let given =
            call[1..].iter().map(|value| if value.starts_with('-') { "uintBitsToFloat(I[1])" } else { "uintBitsToFloat(I[0])" });
        let given: Vec<_> = given.collect();
        known += &format!("const float c{at} = {}({}); O[{}] = floatBitsToUint(c{at});", call[0], call[1..].join(", "), 2 * at);
        asked += &format!("O[{}] = floatBitsToUint({}({}));", 2 * at + 1, call[0], given.join(", "));
    }
    let body = format!("void main() {{ {known} {asked} }}");
    let output = run(1, &body, &[0.0f32, -0.0].map(f32::to_bits), 2 * calls.len());
    for (pair, call) in output.chunks(2).zip(&calls) {
        assert_eq!(pair[0], pair[1], "{call:?}");
    }
    let zeros = output.iter().filter(|word| **word == 0).count();
    assert!((1..output.len()).contains(&zeros), "zeros of one sign only");
}

#[test]
fn kt_01_kt_02_constants_that_divide_by_zero_or_shift_too_far_have_their_answers() {
    let body = "layout(constant_id = 0) const int zero = 0; layout(constant_id = 1) const uint far = 33u; const ivec2 some = ivec2(0, 2);
        void main() {
            int i = int(I[0]); ivec2 v = ivec2(i) / some; ivec2 w = ivec2(i) % some;
            O[0] = uint(i / zero); O[1] = uint(i % zero); O[2] = I[0] << far; O[3] = I[0] >> 35; O[4] = I[0] / 0u;
            O[5] = uint(v.x); O[6] = uint(v.y); O[7] = uint(w.x); O[8] = uint(w.y);
        }";
    assert_eq!(run(1, body, &[7], 9), [7, 0, 14, 0, 7, 7, 3, 0, 1]);
}

#[test]
fn the_right_side_of_a_logical_operator_runs_only_when_it_is_needed() {
    let body = "
        uint calls = 0u;
        bool touch(bool answer) { calls++; return answer; }
        void main() {
            bool no = I[0] != 0u, yes = I[0] == 0u;
            if (no && touch(true)) { O[7] = 1u; }
            if (yes || touch(true)) { O[0] = 1u; }
            uint pick = yes ? 5u : (calls += 100u);
            O[1] = pick;
            if (no && atomicAdd(O[6], 1u) == 0u) { O[7] = 2u; }
            O[2] = calls;
            if (yes && touch(true) && touch(false) && touch(true)) { O[7] = 3u; }
            O[3] = calls;
            bool exclusive = yes ^^ touch(true);
            O[4] = exclusive ? 1u : 0u;
            O[5] = calls;
        }";
    assert_eq!(run(1, body, &[0], 8), [1, 5, 0, 2, 0, 3, 0, 0]);
}

#[test]
fn an_operand_with_effects_is_evaluated_once() {
    let body = "
        uint n = 0u;
        uint next() { return n++; }
        void put(inout uint x, uint by) { x += by; }
        void main() {
            uint a[4] = uint[](10u, 20u, 30u, 40u);
            a[next()] += 5u;
            a[next()]++;
            put(a[next()], 7u);
            for (int i = 0; i < 4; i++) O[i] = a[i];
            O[4] = n;
            uint i = 1u;
            O[5] = i++ + i++ * 10u;
            O[6] = i;
            O[7] = --i;
        }";
    assert_eq!(run(1, body, &[0], 8), [15, 21, 37, 40, 3, 21, 3, 2]);
}

#[test]
fn loops_switches_and_jumps_mean_what_they_say() {
    let body = "
        uint f(uint x) {
            switch (x) {
                case 0u: return 100u;
                case 1u:
                case 2u: { x += 10u; break; }
                case 3u: x += 1u;
                case 4u: x *= 2u; break;
                default: x = 7u;
            }
            return x;
        }
        void main() {
            for (uint i = 0u; i < 6u; i++) O[i] = f(I[i]);
            int n = 0, sum = 0;
            do { n++; if (n == 2) continue; sum += n; } while (n < 5);
            O[6] = uint(sum);
            uint k = 0u, t = 0u;
            while (true) {
                switch (k) { case 3u: k = 10u; continue; default: break; }
                if (k >= 12u) break;
                t += k; k++;
            }
            O[7] = t;
            uint odd = 0u;
            for (uint i = 0u, j = 10u; i < j; i++, j--) { if ((i & 1u) == 0u) continue; odd += i * j; }
            O[8] = odd;
        }";
    assert_eq!(run(1, body, &[0, 1, 2, 3, 4, 9], 9), [100, 11, 12, 8, 8, 7, 13, 24, 9 + 3 * 7]);
}

#[test]
fn functions_overload_by_type_and_copy_their_arguments_in_and_out() {
    let body = "
        struct P { vec2 xy; uint tag[2]; };
        float g(float x); int g(int x);
        uint both(out uint a, inout uint b) { uint old = b; a = b + 1u; b = 99u; return old; }
        P make(uint t) { P p; p.xy = vec2(t, t + 1u); p.tag[0] = t; p.tag[1] = t * 2u; return p; }
        void change(P p) { p.tag[0] = 77u; }
        int g(int x) { return x + 1; }
        float g(float x) { return x * 2.0; }
        void main() {
            O[0] = uint(g(int(I[0])));
            O[1] = uint(g(float(I[0])));
            uint a, b = 5u;
            O[2] = both(a, b); O[3] = a; O[4] = b;
            uint same = 1u;
            both(same, same);
            O[5] = same;
            P p = make(3u);
            change(p);
            O[6] = p.tag[0] + p.tag[1] + uint(p.xy.y);
            P q = p;
            O[7] = q == p ? 1u : 0u;
            q.tag[1] = 0u;
            O[8] = q != p ? 1u : 0u;
        }";
    assert_eq!(run(1, body, &[4], 9), [5, 8, 5, 6, 99, 99, 3 + 6 + 4, 1, 1]);
}

#[test]
fn integers_and_bits_have_the_answers_of_every_other_language_here() {
    let body = "void main() {
        int min = int(I[0]), minus = int(I[1]); uint zero = I[2];
        O[0] = uint(min / minus); O[1] = uint(min % minus); O[2] = 7u / zero; O[3] = 7u % zero;
        O[4] = 1u << I[3]; O[5] = uint(-8 >> I[3]);
        O[6] = uint(findMSB(I[4])); O[7] = uint(findLSB(zero)); O[8] = uint(findMSB(minus)); O[9] = uint(bitCount(I[1]));
        O[10] = bitfieldExtract(I[1], 30, 10); O[11] = bitfieldInsert(zero, I[1], 30, 10); O[12] = bitfieldReverse(1u);
        uint carry, borrow, high, low; int ihigh, ilow;
        O[13] = uaddCarry(I[1], 2u, carry); O[14] = carry;
        O[15] = usubBorrow(zero, 1u, borrow); O[16] = borrow;
        umulExtended(I[1], I[1], high, low); O[17] = high; O[18] = low;
        imulExtended(min, minus, ihigh, ilow); O[19] = uint(ihigh); O[20] = uint(ilow);
        O[21] = uint(-minus); O[22] = -I[4]; O[23] = ~I[2];
        O[24] = 0xffffffffu; O[25] = uint(0x7fffffff + int(I[4] >> 4u));
    }";
    let found = run(1, body, &[0x8000_0000, 0xffff_ffff, 0, 33, 16], 26);
    let expected = [
        0x8000_0000,
        0,
        7,
        0,
        2,
        0xffff_fffc,
        4,
        0xffff_ffff,
        0xffff_ffff,
        32,
        3,
        0xc000_0000,
        0x8000_0000,
        1,
        1,
        0xffff_ffff,
        1,
        0xffff_fffe,
        1,
        0,
        0x8000_0000,
        1,
        0xffff_fff0,
        0xffff_ffff,
        0xffff_ffff,
        0x8000_0000,
    ];
    assert_eq!(found, expected);
}

#[test]
fn floats_vectors_and_matrices_compute_as_written() {
    let body = "
        void put(int at, float v) { O[at] = floatBitsToUint(v); }
        void main() {
            float x = uintBitsToFloat(I[0]);
            vec3 v = vec3(x, 2, 3), w = v.zyx;
            put(0, dot(v, w)); put(1, cross(v, w).y); put(2, mod(-x, 4.0)); put(3, mix(x, 9.0, 0.5));
            v.xz += 1.0; v.y *= 3; put(4, v.x + v.y + v.z);
            mat2 m = mat2(1, 2, 3, 4); vec2 p = m * vec2(x, 1); put(5, p.x); put(6, p.y);
            vec2 q = vec2(x, 1) * m; put(7, q.y);
            mat2 i = inverse(m) * m; put(8, i[0][0] + i[1][1]);
            put(9, determinant(m)); put(10, transpose(m)[0][1]);
            int e; put(11, frexp(x * 3.0, e)); O[12] = uint(e);
            float whole; put(13, modf(x + 0.5, whole)); put(14, whole);
            O[15] = isnan(x / (x - x) - x / (x - x)) ? 1u : 0u; O[16] = isinf(x / (x - x)) ? 1u : 0u;
            bvec3 b = lessThan(v, vec3(4, 100, 1)); O[17] = (any(b) ? 1u : 0u) + (all(b) ? 2u : 0u) + (b.y ? 4u : 0u);
            put(18, float(m == mat2(1, 2, 3, 4)) + float(ivec2(1, 2) != ivec2(1, 3)));
            mat3 big = mat3(m); put(19, big[2][2] + big[1][1]);
            mat2 d = mat2(2.0) + 1.0; put(20, d[0][1] + d[0][0]);
            put(21, atan(1.0, -1.0)); put(22, ldexp(x, 3)); put(23, clamp(x, 3.0, 4.0)); put(24, (-m)[1][0]);
            uvec2 u = uvec2(vec2(3.7, 5)); O[25] = u.x * 10u + u.y;
            const float three = 3.0; x.x += x.xxx.y; x.r -= three.x - 1.0; put(26, mix(1.0, 2.0, x > 1.0)); put(27, step(2.0, x)); put(28, float(I[1]));
        }";
    let found = run(1, body, &[2.0f32.to_bits(), 3_000_000_000], 29);
    let f = |v: f32| v.to_bits();
    let expected = [
        f(16.0),
        f(5.0),
        f(2.0),
        f(5.5),
        f(3.0 + 6.0 + 4.0),
        f(5.0),
        f(8.0),
        f(10.0),
        f(2.0),
        f(-2.0),
        f(3.0),
        f(0.75),
        3,
        f(0.5),
        f(2.0),
        1,
        1,
        1 + 4,
        f(2.0),
        f(5.0),
        f(4.0),
        f(f32::atan2(1.0, -1.0)),
        f(16.0),
        f(3.0),
        f(-3.0),
        35,
        f(2.0),
        f(1.0),
        f(3e9),
    ];
    assert_eq!(found, expected);
}

#[test]
fn atomics_work_on_buffers_and_shared_structures() {
    let body = "
        struct Cell { uint pad; int n; uint m[2]; };
        shared Cell cells[2];
        shared uint turn;
        void main() {
            uint li = gl_LocalInvocationIndex;
            atomicAdd(cells[1].n, -1);
            atomicMax(cells[0].m[li & 1u], li);
            atomicAdd(turn, 1u);
            barrier();
            if (li == 0u) {
                O[0] = uint(cells[1].n); O[1] = cells[0].m[0]; O[2] = cells[0].m[1]; O[3] = turn;
                O[4] = atomicCompSwap(O[7], 0u, 9u); O[5] = atomicCompSwap(O[7], 0u, 8u); O[6] = atomicExchange(O[7], 3u);
                Cell copy = cells[1];
                O[8] = uint(copy.n);
                cells[0] = copy;
                O[9] = uint(cells[0].n) + cells[0].m[1];
            }
        }";
    assert_eq!(run(32, body, &[0], 10), [-32i32 as u32, 30, 31, 32, 0, 9, 9, 3, -32i32 as u32, -32i32 as u32]);
}

#[test]
fn constants_arrays_macros_and_conditions_of_the_preprocessor() {
    let body = "
        #define MAX(a, b) ((a) > (b) ? (a) : (b))
        #define CAT(a, b) a ## b
        #define N 3
        #define LOOP for (int i = 0; \\
            i < N; i++)
        #if defined(VULKAN) && N * 2 == 6 && !defined(NOT)
        const uint table[N] = uint[N](1u, 2u, 4u);
        #else
        #error wrong
        #endif
        const uint grid[2][3] = { { 1u, 2u, 3u }, { 4u, 5u, 6u } };
        const int size = N + table.length();
        const vec2 pair = vec2(1, 2) * 2.0;
        void main() {
            uint sum = 0u;
            LOOP sum += table[i];
            O[0] = MAX(MAX(sum, 3u), 5u);
            uint CAT(x, y) = 8u;
            O[1] = xy + uint(size);
            O[2] = grid[I[0]][2];
            float a[size];
            O[3] = uint(a.length()) + uint(a[2]);
            O[4] = uint(pair.y) + gl_WorkGroupSize.x;
            O[5] = uint(O.length());
        }";
    assert_eq!(run(1, body, &[1], 6), [7, 14, 6, 6, 5, 6]);
}

#[test]
fn specialization_constants_are_overrides() {
    let source = "#version 460
        layout(local_size_x_id = 7, local_size_y = 2) in;
        layout(constant_id = 1) const uint N = 4;
        layout(constant_id = 2) const bool flip = false;
        layout(constant_id = 3) const float scale = 0.5;
        shared uint s[N * 2u];
        layout(binding = 0) buffer Out { uint o[]; };
        void main() {
            s[gl_LocalInvocationIndex % N] = 1u;
            barrier();
            if (gl_LocalInvocationIndex == 0u) {
                o[0] = N; o[1] = uint(s.length()); o[2] = flip ? 1u : 0u; o[3] = uint(scale * 100.0); o[4] = gl_WorkGroupSize.x;
                const uint doubled[N] = uint[N](N, N, N, N);
                o[5] = doubled[3];
            }
        }";
    let module = Module::parse(&Source::glsl(source)).unwrap_or_else(|e| panic!("{e}"));
    let constants =
        |list: &[(&str, f64)]| list.iter().map(|(k, v)| Constant { key: (*k).into(), value: (*v).into() }).collect::<Vec<_>>();
    let entry = module.entry_point(None, &constants(&[])).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(entry.reflection().workgroup_size, [1, 2, 1]);
    assert_eq!(entry.reflection().workgroup_memory, 32);
    let names: Vec<_> = entry.reflection().overrides.iter().map(|o| (o.name.as_str(), o.id, o.default)).collect();
    assert_eq!(
        names,
        [
            ("", Some(7), Some(1.0.into())),
            ("N", Some(1), Some(4.0.into())),
            ("flip", Some(2), Some(0.0.into())),
            ("scale", Some(3), Some(0.5.into()))
        ]
    );
    let entry = module.entry_point(None, &constants(&[("7", 8.0), ("flip", 1.0), ("3", 0.25)])).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(entry.reflection().workgroup_size, [8, 2, 1]);
    let mut o = vec![0; 6];
    Kernel::of_entry(&entry, Bounds::Checked, false).run([1, 1, 1], &mut [&mut o]);
    assert_eq!(o, [4, 8, 1, 25, 8, 4]);
    let error = module.entry_point(None, &constants(&[("N", 5.0)])).map(|_| ()).unwrap_err().text;
    assert!(error.contains("takes 5 values, 4 are given"), "{error}");
    assert!(module.entry_point(None, &constants(&[("M", 5.0)])).is_err());
}

#[test]
fn push_constants_are_the_immediate_block() {
    let source = "#version 450
        layout(local_size_x = 4) in;
        layout(push_constant) uniform P { uint n; float f[2]; } p;
        layout(binding = 0) writeonly coherent restrict buffer Out { uint o[]; } outb;
        void main() { uint i = gl_GlobalInvocationID.x; if (i < p.n) outb.o[i] = uint(p.f[1]) + i; }";
    let mut kernel = Kernel::new(source, Bounds::Validate);
    kernel.immediates = vec![3, 0, 5.0f32.to_bits()];
    let mut o = vec![0; 4];
    kernel.run([1, 1, 1], &mut [&mut o]);
    assert_eq!(o, [5, 6, 7, 0]);
}

#[test]
fn what_is_not_supported_is_refused_by_name_with_its_place() {
    let cases = [
        ("void main() { int8_t i = 1; }", "8-bit integers are not supported yet", (5, 15)),
        (
            "void main() {\n  O[0] = subgroupClusteredAdd(1u, 4u);\n}",
            "subgroup operations like `subgroupClusteredAdd` are not supported yet",
            (6, 10),
        ),
        ("void main() { I[0] = 1u; }", "read-only", (5, 15)),
        ("void main() { O[0] = x; }", "`x` is not declared", (5, 22)),
        ("void main() { uint x = 1.5; }", "`float` is no `uint`", (5, 24)),
        ("void main() { if (1) O[0] = 1u; }", "must be `bool`", (5, 19)),
        ("uint f(uint x) { return f(x); } void main() { O[0] = f(1u); }", "calls itself", (5, 25)),
        ("volatile uint x; void main() {}", "`volatile`", (5, 1)),
        ("void main() { O[0] = 1u }", "`;` is expected", (5, 22)),
        ("void main() { uint a[2]; O[0] = a[2]; }", "out of range", (5, 35)),
        ("void main() { atomicAdd(1u, 2u); }", "cannot be assigned", (5, 25)),
        ("uniform sampler2D t; void main() {}", "samplers", (5, 9)),
        (
            "layout(binding = 3, rgba8) uniform writeonly image2D t;\nvoid main() { imageStore(t, ivec2(0), vec4(1)); }",
            "textures are not supported yet",
            (5, 46),
        ),
        ("void main() {\n  vec4 v = texelFetch(O, ivec2(0), 0);\n}", "textures are not supported yet", (6, 12)),
        ("layout(binding = 3, packed) buffer B { float x; }; void main() {}", "`packed`", (5, 21)),
        ("layout(binding = 3) buffer B { float x; } b[2]; void main() {}", "arrays of bindings", (5, 28)),
        ("#extension GL_NV_thing : require\nvoid main() {}", "GL_NV_thing", (5, 1)),
        ("#error told you\nvoid main() {}", "told you", (5, 1)),
        ("void main() { barrier(); if (gl_LocalInvocationIndex == 0u) barrier(); }", "barrier", (5, 61)),
    ];
    for (body, message, place) in cases {
        let source = glsl(2, body);
        let found = Module::parse(&Source::glsl(&source)).and_then(|m| m.entry_point(None, &[]).map(|_| ()));
        let Err(found) = found else { panic!("accepted: {body}") };
        assert!(found.text.contains(message), "{body}: {found}");
        let at = found.list[0].location.as_ref().map(|l| (l.line, l.column));
        assert_eq!(at, Some(place), "{body}: {found}");
    }
    assert!(refusal("#version 310 es\nvoid main() {}").contains("310 es"));
    assert!(refusal("#version 450\nfloat f;").contains("void main()"));
}

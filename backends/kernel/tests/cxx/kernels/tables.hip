// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 20, parameter: Elements { binding: 1, start: 0, stride: 4 } }] }
struct A1 { u32 e[6]; };
static_assert(sizeof(A1) == 24, "size of A1");
struct A3 { c_cell<vec<f32, 3>, 4> e[2]; };
static_assert(sizeof(A3) == 32, "size of A3");
C_FN void c_store(A3* to, const A3& from) { for (u32 i = 0; i < 2u; i++) to->e[i].v = from.e[i].v; }
struct A5 { u32 e[3]; };
static_assert(sizeof(A5) == 12, "size of A5");
struct alignas(16) Parameters { const u32* b0_input; u32* b1_out; u32 n0_input; u32 n1_out; };
static_assert(C_OFFSET(Parameters, b0_input) == 0, "offset of b0_input");
static_assert(C_OFFSET(Parameters, b1_out) == 8, "offset of b1_out");
static_assert(C_OFFSET(Parameters, n0_input) == 16, "offset of n0_input");
static_assert(C_OFFSET(Parameters, n1_out) == 20, "offset of n1_out");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
C_TABLE A1 k0_PRIMES = A1{{2u, 3u, 5u, 7u, 11u, 13u}};
C_TABLE A3 k1_TURNS = A3{{{vec<f32, 3>{1.0f, 2.0f, 3.0f}}, {vec<f32, 3>{(-4.0f), 0.5f, 1e30f}}}};
C_KERNEL(16) kernel_main(C_PARAMETER Parameters c) {
  const u32 a0_i = c_local_index();
  const u32 e3 = a0_i < c.n0_input ? c_constant(&c.b0_input[a0_i]) : u32{};
  const u32 e5 = c_rem(e3, 8u);
  const A5 e7 = A5{{a0_i, e5, 9u}};
  const u32 e11 = e5 < 6u ? k0_PRIMES.e[e5] : u32{};
  if (a0_i < c.n1_out) c.b1_out[a0_i] = e11;
  const u32 e14 = a0_i + 16u;
  const u32 e18 = c_rem(e5, 3u);
  const vec<f32, 3> e19 = e18 < 2u ? k1_TURNS.e[e18].v : vec<f32, 3>{};
  const f32 e20 = e19.z;
  const u32 e21 = c_bitcast<u32>(e20);
  const u32 e23 = c_rem(e5, 4u);
  const u32 e24 = e23 < 3u ? e7.e[e23] : u32{};
  const u32 e25 = e21 + e24;
  if (e14 < c.n1_out) c.b1_out[e14] = e25;
  const vec<u32, 4> e28 = vec<u32, 4>{a0_i, e5, 1u, 2u};
  const u32 e31 = a0_i + 32u;
  const u32 e34 = c_rem(e5, 6u);
  const u32 e35 = c_at(e28, (u64)e34);
  if (e31 < c.n1_out) c.b1_out[e31] = e35;
  const u32 e38 = a0_i + 48u;
  const u32 e42 = e5 & 1u;
  const vec<f32, 3> e43 = k1_TURNS.e[e42].v;
  const u32 e45 = c_rem(a0_i, 4u);
  const f32 e46 = c_at(e43, (u64)e45);
  const u32 e47 = c_to<u32>(e46);
  if (e38 < c.n1_out) c.b1_out[e38] = e47;
  return;
}
}

// kernel_main ["--std=c++17", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--fmad=true"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 20, parameter: Elements { binding: 1, start: 0, stride: 4 } }] }
struct A2 { vec<u32, 4> e[3]; };
static_assert(sizeof(A2) == 48, "size of A2");
struct S3_Pair { u32 m0_a; A2 m1_b; };
static_assert(C_OFFSET(S3_Pair, m0_a) == 0, "offset of S3_Pair::m0_a");
static_assert(C_OFFSET(S3_Pair, m1_b) == 16, "offset of S3_Pair::m1_b");
static_assert(sizeof(S3_Pair) == 64, "size of S3_Pair");
C_FN void c_store(S3_Pair* to, const S3_Pair& from) { to->m0_a = from.m0_a; to->m1_b = from.m1_b; }
struct A5 { S3_Pair e[2]; };
static_assert(sizeof(A5) == 128, "size of A5");
C_FN void c_store(A5* to, const A5& from) { for (u32 i = 0; i < 2u; i++) c_store(&to->e[i], from.e[i]); }
struct A8 { u32 e[4]; };
static_assert(sizeof(A8) == 16, "size of A8");
struct alignas(16) Parameters { const u32* b0_input; u32* b1_out; u32 n0_input; u32 n1_out; };
static_assert(C_OFFSET(Parameters, b0_input) == 0, "offset of b0_input");
static_assert(C_OFFSET(Parameters, b1_out) == 8, "offset of b1_out");
static_assert(C_OFFSET(Parameters, n0_input) == 16, "offset of n0_input");
static_assert(C_OFFSET(Parameters, n1_out) == 20, "offset of n1_out");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
struct Private { A5 p2_state; u32 p3_seed; };
C_FUNCTION u32 f0_bump(const Parameters& c, u32* a0_p, u32 a1_by) {
  const u32 e2 = a0_p != 0 ? (*a0_p) : u32{};
  const u32 e3 = e2 + a1_by;
  if (a0_p != 0) (*a0_p) = e3;
  const u32 e4 = a0_p != 0 ? (*a0_p) : u32{};
  const u32 e6 = e4 + 1u;
  return e6;
}
C_FUNCTION void f1_deep(const Parameters& c, Private& p, S3_Pair* a0_p, u32 a1_at) {
  const u32 e5 = a0_p != 0 && a1_at < 3u ? (*a0_p).m1_b.e[a1_at].y : u32{};
  const u32 e7 = p.p3_seed;
  const u32 e8 = e5 + e7;
  if (a0_p != 0 && a1_at < 3u) (*a0_p).m1_b.e[a1_at].y = e8;
  const u32 e13 = a0_p != 0 && a1_at < 3u ? (*a0_p).m1_b.e[a1_at].y : u32{};
  if (a0_p != 0) (*a0_p).m0_a = e13;
  const u32 e16 = p.p3_seed;
  const u32 e18 = e16 * 3u;
  const u32 e20 = e18 + 1u;
  p.p3_seed = e20;
  return;
}
C_KERNEL(1) kernel_main(C_PARAMETER Parameters c) {
  Private p = {A5{}, 7u};
  A8 l0_local = A8{{1u, 2u, 3u, 4u}};
  u32 l1_i = 0u;
  const A8 e4 = A8{{1u, 2u, 3u, 4u}};
  #pragma unroll
  for (;;) {
    {
      const u32 e8 = l1_i;
      const bool e10 = e8 < 12u;
      if (!(e10)) {
        break;
      }
      {
        const u32 e12 = l1_i;
        const u32 e14 = e12 < c.n0_input ? c_constant(&c.b0_input[e12]) : u32{};
        const u32 e16 = c_rem(e14, 7u);
        const u32 e19 = l1_i;
        const u32 e20 = 4u * e19;
        const u32 e23 = l1_i;
        const u32 e24 = f0_bump(c, e16 < 4u ? &l0_local.e[e16] : 0, e23);
        if (e20 < c.n1_out) c.b1_out[e20] = e24;
        const u32 e27 = l1_i;
        const u32 e28 = 4u * e27;
        const u32 e30 = e28 + 1u;
        const u32 e32 = l1_i;
        const u32 e34 = c_rem(e32, 4u);
        const u32 e36 = l0_local.e[e34];
        if (e30 < c.n1_out) c.b1_out[e30] = e36;
        const u32 e39 = l1_i;
        const u32 e41 = e39 + 1u;
        const u32 e43 = e41 < c.n0_input ? c_constant(&c.b0_input[e41]) : u32{};
        const u32 e45 = c_rem(e43, 3u);
        f1_deep(c, p, e45 < 2u ? &p.p2_state.e[e45] : 0, e16);
        const u32 e49 = l1_i;
        const u32 e50 = 4u * e49;
        const u32 e52 = e50 + 2u;
        const u32 e55 = l1_i;
        const u32 e57 = c_rem(e55, 2u);
        const u32 e60 = p.p2_state.e[e57].m0_a;
        if (e52 < c.n1_out) c.b1_out[e52] = e60;
        const u32 e63 = l1_i;
        const u32 e64 = 4u * e63;
        const u32 e66 = e64 + 3u;
        const u32 e69 = l1_i;
        const u32 e71 = c_rem(e69, 2u);
        const u32 e76 = e16 < 4u ? p.p2_state.e[e71].m1_b.e[1u][(u32)e16] : u32{};
        if (e66 < c.n1_out) c.b1_out[e66] = e76;
      }
    }
    {
      const u32 e78 = l1_i;
      const u32 e79 = e78 + 1u;
      l1_i = e79;
      if (e79 == 0u) __builtin_unreachable();
    }
  }
  return;
}
}

// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 48, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Address { binding: 2 } }, Field { offset: 24, parameter: Address { binding: 3 } }, Field { offset: 32, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 36, parameter: Elements { binding: 1, start: 0, stride: 4 } }, Field { offset: 40, parameter: Elements { binding: 2, start: 0, stride: 4 } }] }
struct S1_Size { u32 m0_m; u32 m1_n; u32 m2_k; };
static_assert(C_OFFSET(S1_Size, m0_m) == 0, "offset of S1_Size::m0_m");
static_assert(C_OFFSET(S1_Size, m1_n) == 4, "offset of S1_Size::m1_n");
static_assert(C_OFFSET(S1_Size, m2_k) == 8, "offset of S1_Size::m2_k");
static_assert(sizeof(S1_Size) == 12, "size of S1_Size");
struct A4 { f32 e[8]; };
static_assert(sizeof(A4) == 32, "size of A4");
struct A5 { A4 e[8]; };
static_assert(sizeof(A5) == 256, "size of A5");
struct alignas(16) Parameters { const f32* b0_a; const f32* b1_b; f32* b2_c; const S1_Size* b3_size; u32 n0_a; u32 n1_b; u32 n2_c; };
static_assert(C_OFFSET(Parameters, b0_a) == 0, "offset of b0_a");
static_assert(C_OFFSET(Parameters, b1_b) == 8, "offset of b1_b");
static_assert(C_OFFSET(Parameters, b2_c) == 16, "offset of b2_c");
static_assert(C_OFFSET(Parameters, b3_size) == 24, "offset of b3_size");
static_assert(C_OFFSET(Parameters, n0_a) == 32, "offset of n0_a");
static_assert(C_OFFSET(Parameters, n1_b) == 36, "offset of n1_b");
static_assert(C_OFFSET(Parameters, n2_c) == 40, "offset of n2_c");
static_assert(sizeof(Parameters) == 48, "size of the parameters");
struct alignas(32) Workgroup { alignas(16) A5 w4_left; alignas(16) A5 w5_right; };
static_assert(sizeof(Workgroup) == 512, "size of Workgroup");
C_SHARED Workgroup w;
C_KERNEL(64) kernel_main(C_PARAMETER Parameters c) {
  for (u32 n = c_local_index(); n < 32u; n += C_INVOCATIONS) ((vec<u32, 4>*)&w)[n] = vec<u32, 4>{};
  c_barrier();
  const vec<u32, 3> a0_id = vec<u32, 3>{C_GROUP_X * C_SIZE_X + C_THREAD_X, C_GROUP_Y * C_SIZE_Y + C_THREAD_Y, C_GROUP_Z * C_SIZE_Z + C_THREAD_Z};
  const vec<u32, 3> a1_local = vec<u32, 3>{C_THREAD_X, C_THREAD_Y, C_THREAD_Z};
  f32 l0_sum = 0.0f;
  u32 l1_start = 0u;
  u32 l2_k = u32{};
  bool l3 = bool{};
  for (;;) {
    C_ENDLESS
    {
      const u32 e6 = l1_start;
      const u32 e9 = c_constant(&(*c.b3_size).m2_k);
      const bool e10 = e6 < e9;
      if (!(e10)) {
        break;
      }
      {
        const u32 e12 = a1_local.y;
        const u32 e14 = a1_local.x;
        const u32 e17 = a0_id.y;
        const u32 e20 = c_constant(&(*c.b3_size).m2_k);
        const u32 e21 = e17 * e20;
        const u32 e22 = l1_start;
        const u32 e23 = e21 + e22;
        const u32 e24 = a1_local.x;
        const u32 e25 = e23 + e24;
        const f32 e27 = e25 < c.n0_a ? c_constant(&c.b0_a[e25]) : f32{};
        w.w4_left.e[e12].e[e14] = e27;
        const u32 e29 = a1_local.y;
        const u32 e31 = a1_local.x;
        const u32 e34 = l1_start;
        const u32 e35 = a1_local.y;
        const u32 e36 = e34 + e35;
        const u32 e39 = c_constant(&(*c.b3_size).m1_n);
        const u32 e40 = e36 * e39;
        const u32 e41 = a0_id.x;
        const u32 e42 = e40 + e41;
        const f32 e44 = e42 < c.n1_b ? c_constant(&c.b1_b[e42]) : f32{};
        w.w5_right.e[e29].e[e31] = e44;
        c_barrier();
        l2_k = 0u;
        #pragma unroll
        for (;;) {
          {
            const u32 e47 = l2_k;
            const bool e49 = e47 < 8u;
            if (!(e49)) {
              break;
            }
            {
              const f32 e50 = l0_sum;
              const u32 e52 = a1_local.y;
              const u32 e54 = l2_k;
              const f32 e56 = w.w4_left.e[e52].e[e54];
              const u32 e58 = l2_k;
              const u32 e60 = a1_local.x;
              const f32 e62 = w.w5_right.e[e58].e[e60];
              const f32 e63 = e56 * e62;
              const f32 e64 = e50 + e63;
              l0_sum = e64;
            }
          }
          {
            const u32 e66 = l2_k;
            const u32 e67 = e66 + 1u;
            l2_k = e67;
            if (e67 == 0u) __builtin_unreachable();
          }
        }
        c_barrier();
      }
    }
    {
      const u32 e68 = l1_start;
      const u32 e70 = e68 + 8u;
      l1_start = e70;
    }
  }
  const u32 e71 = a0_id.y;
  const u32 e74 = c_constant(&(*c.b3_size).m0_m);
  const bool e75 = e71 < e74;
  if (e75) {
    const u32 e78 = a0_id.x;
    const u32 e81 = c_constant(&(*c.b3_size).m1_n);
    const bool e82 = e78 < e81;
    l3 = e82;
  } else {
    l3 = false;
  }
  const bool e84 = l3;
  if (e84) {
    const u32 e86 = a0_id.y;
    const u32 e89 = c_constant(&(*c.b3_size).m1_n);
    const u32 e90 = e86 * e89;
    const u32 e91 = a0_id.x;
    const u32 e92 = e90 + e91;
    const f32 e94 = l0_sum;
    if (e92 < c.n2_c) c.b2_c[e92] = e94;
    return;
  } else {
    return;
  }
}
}

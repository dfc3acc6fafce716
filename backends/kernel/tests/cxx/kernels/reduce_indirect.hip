// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 64, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 20, parameter: Elements { binding: 1, start: 0, stride: 4 } }, Field { offset: 24, parameter: Indirect }] }
struct A2 { u32 e[64]; };
static_assert(sizeof(A2) == 256, "size of A2");
struct alignas(16) Parameters { const u32* b0_input; u32* b1_sums; u32 n0_input; u32 n1_sums; Indirect grid; };
static_assert(C_OFFSET(Parameters, b0_input) == 0, "offset of b0_input");
static_assert(C_OFFSET(Parameters, b1_sums) == 8, "offset of b1_sums");
static_assert(C_OFFSET(Parameters, n0_input) == 16, "offset of n0_input");
static_assert(C_OFFSET(Parameters, n1_sums) == 20, "offset of n1_sums");
static_assert(C_OFFSET(Parameters, grid) == 24, "offset of grid");
static_assert(sizeof(Parameters) == 64, "size of the parameters");
struct alignas(32) Workgroup { alignas(16) A2 w2_partial; alignas(16) u32 w3_last; };
static_assert(sizeof(Workgroup) == 288, "size of Workgroup");
C_SHARED Workgroup w;
C_FN void c_turn(const Parameters& c, const Counts& group, const Counts& groups) {
  for (u32 n = c_local_index(); n < 18u; n += C_INVOCATIONS) ((vec<u32, 4>*)&w)[n] = vec<u32, 4>{};
  c_barrier();
  const u32 a0_lane = c_local_index();
  const vec<u32, 3> a1_group = vec<u32, 3>{group.x, group.y, group.z};
  const vec<u32, 3> a2_id = vec<u32, 3>{group.x * C_SIZE_X + C_THREAD_X, group.y * C_SIZE_Y + C_THREAD_Y, group.z * C_SIZE_Z + C_THREAD_Z};
  u32 l0_width = 32u;
  const u32 e6 = a2_id.x;
  const u32 e8 = e6 < c.n0_input ? c_constant(&c.b0_input[e6]) : u32{};
  w.w2_partial.e[a0_lane] = e8;
  for (;;) {
    C_ENDLESS
    {
      const u32 e11 = l0_width;
      const bool e13 = e11 > 0u;
      if (!(e13)) {
        break;
      }
      {
        c_barrier();
        const u32 e14 = l0_width;
        const bool e15 = a0_lane < e14;
        if (e15) {
          const u32 e18 = w.w2_partial.e[a0_lane];
          const u32 e20 = l0_width;
          const u32 e21 = a0_lane + e20;
          const u32 e23 = w.w2_partial.e[e21];
          const u32 e24 = e18 + e23;
          w.w2_partial.e[a0_lane] = e24;
        }
      }
    }
    {
      const u32 e25 = l0_width;
      const u32 e27 = c_div(e25, 2u);
      l0_width = e27;
    }
  }
  const bool e29 = a0_lane == 0u;
  if (e29) {
    const u32 e33 = w.w2_partial.e[0u];
    w.w3_last = e33;
  }
  c_barrier();
  const u32 e35 = w.w3_last;
  c_barrier();
  const bool e37 = a0_lane == 5u;
  if (e37) {
    const u32 e39 = a1_group.x;
    if (e39 < c.n1_sums) c.b1_sums[e39] = e35;
    return;
  } else {
    return;
  }
}
C_KERNEL(64) kernel_main(C_PARAMETER Parameters c) {
  const Counts groups = c_counts(c.grid);
  const u64 all = (u64)groups.x * groups.y * groups.z;
  for (u64 at = C_GROUP_X; at < all; at += C_GROUPS_X) {
    c_turn(c, c_group_at(at, groups), groups);
    c_barrier();
  }
}
}

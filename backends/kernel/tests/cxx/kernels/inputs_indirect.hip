// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 64, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 16, parameter: Indirect }, Field { offset: 48, parameter: Immediates { size: 8 } }] }
struct S2_Ids { vec<u32, 3> m0_id; u32 m1_index; };
static_assert(C_OFFSET(S2_Ids, m0_id) == 0, "offset of S2_Ids::m0_id");
static_assert(C_OFFSET(S2_Ids, m1_index) == 12, "offset of S2_Ids::m1_index");
static_assert(sizeof(S2_Ids) == 16, "size of S2_Ids");
struct S3_Block { u32 m0_a; u32 m1_b; };
static_assert(C_OFFSET(S3_Block, m0_a) == 0, "offset of S3_Block::m0_a");
static_assert(C_OFFSET(S3_Block, m1_b) == 4, "offset of S3_Block::m1_b");
static_assert(sizeof(S3_Block) == 8, "size of S3_Block");
struct alignas(16) Parameters { u32* b1_out; u32 n1_out; Indirect grid; S3_Block i0_block; };
static_assert(C_OFFSET(Parameters, b1_out) == 0, "offset of b1_out");
static_assert(C_OFFSET(Parameters, n1_out) == 8, "offset of n1_out");
static_assert(C_OFFSET(Parameters, grid) == 16, "offset of grid");
static_assert(C_OFFSET(Parameters, i0_block) == 48, "offset of i0_block");
static_assert(sizeof(Parameters) == 64, "size of the parameters");
C_FN void c_turn(const Parameters& c, const Counts& group, const Counts& groups) {
  const S2_Ids a0_ids = S2_Ids{vec<u32, 3>{group.x * C_SIZE_X + C_THREAD_X, group.y * C_SIZE_Y + C_THREAD_Y, group.z * C_SIZE_Z + C_THREAD_Z}, c_local_index()};
  const vec<u32, 3> a1_local = vec<u32, 3>{C_THREAD_X, C_THREAD_Y, C_THREAD_Z};
  const vec<u32, 3> a2_group = vec<u32, 3>{group.x, group.y, group.z};
  const vec<u32, 3> a3_groups = vec<u32, 3>{groups.x, groups.y, groups.z};
  const u32 e4 = a2_group.x;
  const u32 e5 = a3_groups.x;
  const u32 e6 = a2_group.y;
  const u32 e7 = a3_groups.y;
  const u32 e8 = a2_group.z;
  const u32 e9 = e7 * e8;
  const u32 e10 = e6 + e9;
  const u32 e11 = e5 * e10;
  const u32 e12 = e4 + e11;
  const u32 e14 = e12 * 12u;
  const u32 e15 = a0_ids.m1_index;
  const u32 e16 = e14 + e15;
  const u32 e18 = e16 * 8u;
  const vec<u32, 3> e21 = a0_ids.m0_id;
  const u32 e22 = e21.x;
  const vec<u32, 3> e24 = a0_ids.m0_id;
  const u32 e25 = e24.y;
  const u32 e26 = 100u * e25;
  const u32 e27 = e22 + e26;
  const vec<u32, 3> e29 = a0_ids.m0_id;
  const u32 e30 = e29.z;
  const u32 e31 = 10000u * e30;
  const u32 e32 = e27 + e31;
  if (e18 < c.n1_out) c.b1_out[e18] = e32;
  const u32 e35 = e18 + 1u;
  const u32 e37 = a1_local.x;
  const u32 e39 = a1_local.y;
  const u32 e40 = 100u * e39;
  const u32 e41 = e37 + e40;
  const u32 e43 = a1_local.z;
  const u32 e44 = 10000u * e43;
  const u32 e45 = e41 + e44;
  if (e35 < c.n1_out) c.b1_out[e35] = e45;
  const u32 e48 = e18 + 2u;
  const u32 e50 = a3_groups.z;
  const u32 e53 = c.i0_block.m0_a;
  const u32 e54 = e50 * e53;
  const u32 e57 = c.i0_block.m1_b;
  const u32 e58 = e54 + e57;
  if (e48 < c.n1_out) c.b1_out[e48] = e58;
  return;
}
C_KERNEL(12) kernel_main(C_PARAMETER Parameters c) {
  const Counts groups = c_counts(c.grid);
  const u64 all = (u64)groups.x * groups.y * groups.z;
  for (u64 at = C_GROUP_X; at < all; at += C_GROUPS_X) {
    c_turn(c, c_group_at(at, groups), groups);
  }
}
}

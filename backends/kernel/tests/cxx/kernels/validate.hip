// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Record }, Field { offset: 24, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 28, parameter: Elements { binding: 1, start: 0, stride: 4 } }] }
struct S5_compute_record { u32 m0_taken; u32 m1_site; u32 m2_index_low; u32 m3_index_high; u32 m4_length; u32 m5_x; u32 m6_y; u32 m7_z; u32 m8_cursor; u32 m9_lost; };
static_assert(C_OFFSET(S5_compute_record, m0_taken) == 0, "offset of S5_compute_record::m0_taken");
static_assert(C_OFFSET(S5_compute_record, m1_site) == 4, "offset of S5_compute_record::m1_site");
static_assert(C_OFFSET(S5_compute_record, m2_index_low) == 8, "offset of S5_compute_record::m2_index_low");
static_assert(C_OFFSET(S5_compute_record, m3_index_high) == 12, "offset of S5_compute_record::m3_index_high");
static_assert(C_OFFSET(S5_compute_record, m4_length) == 16, "offset of S5_compute_record::m4_length");
static_assert(C_OFFSET(S5_compute_record, m5_x) == 20, "offset of S5_compute_record::m5_x");
static_assert(C_OFFSET(S5_compute_record, m6_y) == 24, "offset of S5_compute_record::m6_y");
static_assert(C_OFFSET(S5_compute_record, m7_z) == 28, "offset of S5_compute_record::m7_z");
static_assert(C_OFFSET(S5_compute_record, m8_cursor) == 32, "offset of S5_compute_record::m8_cursor");
static_assert(C_OFFSET(S5_compute_record, m9_lost) == 36, "offset of S5_compute_record::m9_lost");
static_assert(sizeof(S5_compute_record) == 40, "size of S5_compute_record");
struct alignas(16) Parameters { const u32* b0_input; u32* b1_out; S5_compute_record* b2_compute_record; u32 n0_input; u32 n1_out; };
static_assert(C_OFFSET(Parameters, b0_input) == 0, "offset of b0_input");
static_assert(C_OFFSET(Parameters, b1_out) == 8, "offset of b1_out");
static_assert(C_OFFSET(Parameters, b2_compute_record) == 16, "offset of b2_compute_record");
static_assert(C_OFFSET(Parameters, n0_input) == 24, "offset of n0_input");
static_assert(C_OFFSET(Parameters, n1_out) == 28, "offset of n1_out");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
struct Private { vec<u32, 4> p3_compute_kept; };
C_FUNCTION void f0_compute_violation(const Parameters& c, u32 a0_site, u32 a1_index_low, u32 a2_index_high, u32 a3_length, vec<u32, 3> a4_invocation) {
  const u32 e3 = c_atomic_load(&(*c.b2_compute_record).m0_taken);
  const bool e4 = e3 == 0u;
  if (e4) {
    const u32 e7 = c_atomic_or(&(*c.b2_compute_record).m0_taken, 1u);
    const bool e8 = e7 == 0u;
    if (e8) {
      (*c.b2_compute_record).m1_site = a0_site;
      (*c.b2_compute_record).m2_index_low = a1_index_low;
      (*c.b2_compute_record).m3_index_high = a2_index_high;
      (*c.b2_compute_record).m4_length = a3_length;
      const u32 e19 = a4_invocation.x;
      (*c.b2_compute_record).m5_x = e19;
      const u32 e21 = a4_invocation.y;
      (*c.b2_compute_record).m6_y = e21;
      const u32 e23 = a4_invocation.z;
      (*c.b2_compute_record).m7_z = e23;
    }
  }
}
C_FN void f1_compute_keep(const Parameters& c, Private& p, u32 a0_site, u32 a1_index_low, u32 a2_index_high, u32 a3_length) {
  const u32 e2 = p.p3_compute_kept.x;
  const bool e4 = e2 == 0u;
  if (e4) {
    const vec<u32, 4> e9 = vec<u32, 4>{a0_site, a1_index_low, a2_index_high, a3_length};
    p.p3_compute_kept = e9;
  }
}
C_KERNEL(8) kernel_main(C_PARAMETER Parameters c) {
  Private p = {vec<u32, 4>{}};
  const vec<u32, 3> a0_id = vec<u32, 3>{C_GROUP_X * C_SIZE_X + C_THREAD_X, C_GROUP_Y * C_SIZE_Y + C_THREAD_Y, C_GROUP_Z * C_SIZE_Z + C_THREAD_Z};
  const u32 e2 = a0_id.x;
  const u32 e4 = e2 + 6u;
  const u32 e7 = a0_id.x;
  const u32 e9 = e7 * 3u;
  const u32 e12 = c.n0_input;
  const bool e13 = e9 < e12;
  if (!(e13)) {
    const u32 e16 = c.n0_input;
    f1_compute_keep(c, p, 1u, e9, 0u, e16);
  }
  const u32 e11 = e9 < c.n0_input ? c_constant(&c.b0_input[e9]) : u32{};
  const u32 e17 = c.n1_out;
  const bool e18 = e4 < e17;
  if (!(e18)) {
    const u32 e21 = c.n1_out;
    f1_compute_keep(c, p, 2u, e4, 0u, e21);
  }
  if (e4 < c.n1_out) c.b1_out[e4] = e11;
  const vec<u32, 4> e23 = p.p3_compute_kept;
  const u32 e24 = e23.x;
  const bool e26 = e24 != 0u;
  if (e26) {
    const u32 e27 = e23.x;
    const u32 e28 = e23.y;
    const u32 e29 = e23.z;
    const u32 e30 = e23.w;
    f0_compute_violation(c, e27, e28, e29, e30, a0_id);
  }
  return;
}
}

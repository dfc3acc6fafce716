// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 1, start: 0, stride: 4 } }] }
struct A8 { u32 e[8]; };
static_assert(sizeof(A8) == 32, "size of A8");
struct S9_Counters { u32 m0_sum; i32 m1_least; i32 m2_most; u64 m3_wide; i64 m4_signed; u32 m5_flips; u32 m6_kept; A8 m7_bits; };
static_assert(C_OFFSET(S9_Counters, m0_sum) == 0, "offset of S9_Counters::m0_sum");
static_assert(C_OFFSET(S9_Counters, m1_least) == 4, "offset of S9_Counters::m1_least");
static_assert(C_OFFSET(S9_Counters, m2_most) == 8, "offset of S9_Counters::m2_most");
static_assert(C_OFFSET(S9_Counters, m3_wide) == 16, "offset of S9_Counters::m3_wide");
static_assert(C_OFFSET(S9_Counters, m4_signed) == 24, "offset of S9_Counters::m4_signed");
static_assert(C_OFFSET(S9_Counters, m5_flips) == 32, "offset of S9_Counters::m5_flips");
static_assert(C_OFFSET(S9_Counters, m6_kept) == 36, "offset of S9_Counters::m6_kept");
static_assert(C_OFFSET(S9_Counters, m7_bits) == 40, "offset of S9_Counters::m7_bits");
static_assert(sizeof(S9_Counters) == 72, "size of S9_Counters");
C_FN void c_store(S9_Counters* to, const S9_Counters& from) { to->m0_sum = from.m0_sum; to->m1_least = from.m1_least; to->m2_most = from.m2_most; to->m3_wide = from.m3_wide; to->m4_signed = from.m4_signed; to->m5_flips = from.m5_flips; to->m6_kept = from.m6_kept; to->m7_bits = from.m7_bits; }
struct S13_atomic_compare_exchange_result_Uint_4 { u32 m0_old_value; bool m1_exchanged; };
static_assert(C_OFFSET(S13_atomic_compare_exchange_result_Uint_4, m0_old_value) == 0, "offset of S13_atomic_compare_exchange_result_Uint_4::m0_old_value");
static_assert(C_OFFSET(S13_atomic_compare_exchange_result_Uint_4, m1_exchanged) == 4, "offset of S13_atomic_compare_exchange_result_Uint_4::m1_exchanged");
static_assert(sizeof(S13_atomic_compare_exchange_result_Uint_4) == 8, "size of S13_atomic_compare_exchange_result_Uint_4");
C_FN void c_store(S13_atomic_compare_exchange_result_Uint_4* to, const S13_atomic_compare_exchange_result_Uint_4& from) { to->m0_old_value = from.m0_old_value; to->m1_exchanged = from.m1_exchanged; }
struct alignas(16) Parameters { S9_Counters* b0_all; const u32* b1_input; u32 n1_input; };
static_assert(C_OFFSET(Parameters, b0_all) == 0, "offset of b0_all");
static_assert(C_OFFSET(Parameters, b1_input) == 8, "offset of b1_input");
static_assert(C_OFFSET(Parameters, n1_input) == 16, "offset of n1_input");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
struct alignas(32) Workgroup { alignas(16) u32 w2_local; };
static_assert(sizeof(Workgroup) == 32, "size of Workgroup");
C_SHARED Workgroup w;
C_KERNEL(16) kernel_main(C_PARAMETER Parameters c) {
  for (u32 n = c_local_index(); n < 2u; n += C_INVOCATIONS) ((vec<u32, 4>*)&w)[n] = vec<u32, 4>{};
  c_barrier();
  const vec<u32, 3> a0_id = vec<u32, 3>{C_GROUP_X * C_SIZE_X + C_THREAD_X, C_GROUP_Y * C_SIZE_Y + C_THREAD_Y, C_GROUP_Z * C_SIZE_Z + C_THREAD_Z};
  const u32 a1_lane = c_local_index();
  bool l0 = bool{};
  const u32 e3 = a0_id.x;
  const u32 e5 = e3 < c.n1_input ? c_constant(&c.b1_input[e3]) : u32{};
  c_atomic_add(&(*c.b0_all).m0_sum, e5);
  const i32 e11 = c_to<i32>(e5);
  const i32 e13 = c_sub(e11, 100000);
  c_atomic_min(&(*c.b0_all).m1_least, e13);
  const i32 e17 = c_to<i32>(e5);
  c_atomic_max(&(*c.b0_all).m2_most, e17);
  const u64 e21 = c_to<u64>(e5);
  const u64 e23 = c_shl(e21, 20u);
  c_atomic_add(&(*c.b0_all).m3_wide, e23);
  const i64 e27 = c_to<i64>(e5);
  c_atomic_sub(&(*c.b0_all).m4_signed, e27);
  const u32 e32 = c_rem(e5, 2u);
  const u32 e35 = c_rem(a1_lane, 2u);
  const u32 e36 = 10u * e35;
  const u32 e37 = e32 + e36;
  const u32 e41 = c_rem(e5, 32u);
  const u32 e42 = c_shl(1u, e41);
  if (e37 < 8u) c_atomic_or(&(*c.b0_all).m7_bits.e[e37], e42);
  c_atomic_xor(&(*c.b0_all).m5_flips, e5);
  const u32 e50 = c_shl(1u, a1_lane);
  const u32 e51 = c_not(e50);
  c_atomic_and(&(*c.b0_all).m6_kept, e51);
  c_atomic_add(&w.w2_local, e5);
  c_barrier();
  const bool e56 = a1_lane == 0u;
  if (e56) {
    const u32 e59 = a0_id.x;
    const bool e61 = e59 == 0u;
    l0 = e61;
  } else {
    l0 = false;
  }
  const bool e63 = l0;
  if (e63) {
    const u32 e68 = c_atomic_load(&w.w2_local);
    c_atomic_add(&(*c.b0_all).m7_bits.e[2u], e68);
    c_atomic_store(&(*c.b0_all).m7_bits.e[3u], 5u);
    const u32 e78 = c_atomic_exchange(&(*c.b0_all).m7_bits.e[4u], 9u);
    const u32 old84 = c_atomic_compare(&(*c.b0_all).m7_bits.e[5u], 123456u, 1u);
    const S13_atomic_compare_exchange_result_Uint_4 e84 = S13_atomic_compare_exchange_result_Uint_4{old84, old84 == 123456u};
    const bool e85 = e84.m1_exchanged;
    const bool e86 = c_not(e85);
    if (e86) {
      const u32 e90 = e84.m0_old_value;
      const u32 e91 = e90 + e78;
      c_atomic_add(&(*c.b0_all).m7_bits.e[6u], e91);
    }
    c_atomic_store(&(*c.b0_all).m7_bits.e[5u], 77u);
    for (;;) {
      C_ENDLESS
      {
        const u32 old102 = c_atomic_compare(&(*c.b0_all).m7_bits.e[5u], 77u, 78u);
        const S13_atomic_compare_exchange_result_Uint_4 e102 = S13_atomic_compare_exchange_result_Uint_4{old102, old102 == 77u};
        const bool e103 = e102.m1_exchanged;
        const bool e104 = c_not(e103);
        if (!(e104)) {
          break;
        }
        {
        }
      }
    }
    const u32 e108 = c_rem(e5, 3u);
    const u32 e110 = e108 + 9u;
    const u32 old114 = e110 < 8u ? c_atomic_compare(&(*c.b0_all).m7_bits.e[e110], 0u, 1u) : u32{};
    const S13_atomic_compare_exchange_result_Uint_4 e114 = S13_atomic_compare_exchange_result_Uint_4{old114, e110 < 8u && old114 == 0u};
    const u32 e118 = e114.m0_old_value;
    const u32 e120 = e118 + 1u;
    c_atomic_add(&(*c.b0_all).m7_bits.e[7u], e120);
    return;
  } else {
    return;
  }
}
}

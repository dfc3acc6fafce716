// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 20, parameter: Elements { binding: 1, start: 0, stride: 4 } }] }
struct alignas(16) Parameters { const f32* b0_x; vec<f16, 2>* b1_y; u32 n0_x; u32 n1_y; };
static_assert(C_OFFSET(Parameters, b0_x) == 0, "offset of b0_x");
static_assert(C_OFFSET(Parameters, b1_y) == 8, "offset of b1_y");
static_assert(C_OFFSET(Parameters, n0_x) == 16, "offset of n0_x");
static_assert(C_OFFSET(Parameters, n1_y) == 20, "offset of n1_y");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
C_KERNEL(256) kernel_main(C_PARAMETER Parameters c) {
  const vec<u32, 3> a0_id = vec<u32, 3>{C_GROUP_X * C_SIZE_X + C_THREAD_X, C_GROUP_Y * C_SIZE_Y + C_THREAD_Y, C_GROUP_Z * C_SIZE_Z + C_THREAD_Z};
  const u32 e2 = a0_id.x;
  const f32 e4 = e2 < c.n0_x ? c_constant(&c.b0_x[e2]) : f32{};
  const f32 e5 = c_neg(e4);
  const f32 e6 = c_exp(e5);
  const f32 e8 = 1.0f + e6;
  const f32 e10 = 1.0f / e8;
  const u32 e12 = a0_id.x;
  const f16 e14 = c_to<f16>(e10);
  const f16 e15 = c_to<f16>(e10);
  const f16 e16 = c_sin(e15);
  const vec<f16, 2> e17 = vec<f16, 2>{e14, e16};
  if (e12 < c.n1_y) c.b1_y[e12] = e17;
  return;
}
}

// kernel_main ["--std=c++17", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--fmad=true"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 20, parameter: Elements { binding: 1, start: 0, stride: 4 } }, Field { offset: 24, parameter: Immediates { size: 4 } }] }
struct S1_Scale { f32 m0_a; };
static_assert(C_OFFSET(S1_Scale, m0_a) == 0, "offset of S1_Scale::m0_a");
static_assert(sizeof(S1_Scale) == 4, "size of S1_Scale");
struct alignas(16) Parameters { const f32* b0_x; f32* b1_y; u32 n0_x; u32 n1_y; S1_Scale i2_scale; };
static_assert(C_OFFSET(Parameters, b0_x) == 0, "offset of b0_x");
static_assert(C_OFFSET(Parameters, b1_y) == 8, "offset of b1_y");
static_assert(C_OFFSET(Parameters, n0_x) == 16, "offset of n0_x");
static_assert(C_OFFSET(Parameters, n1_y) == 20, "offset of n1_y");
static_assert(C_OFFSET(Parameters, i2_scale) == 24, "offset of i2_scale");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
C_KERNEL(64) kernel_main(C_PARAMETER Parameters c) {
  const vec<u32, 3> a0_id = vec<u32, 3>{C_GROUP_X * C_SIZE_X + C_THREAD_X, C_GROUP_Y * C_SIZE_Y + C_THREAD_Y, C_GROUP_Z * C_SIZE_Z + C_THREAD_Z};
  const u32 e2 = a0_id.x;
  const f32 e6 = c.i2_scale.m0_a;
  const u32 e8 = a0_id.x;
  const f32 e10 = e8 < c.n0_x ? c_constant(&c.b0_x[e8]) : f32{};
  const f32 e11 = e6 * e10;
  const u32 e13 = a0_id.x;
  const f32 e15 = e13 < c.n1_y ? c.b1_y[e13] : f32{};
  const f32 e16 = e11 + e15;
  if (e2 < c.n1_y) c.b1_y[e2] = e16;
  return;
}
}

// kernel_main ["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast"]
// Parameters { size: 48, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Address { binding: 2 } }, Field { offset: 24, parameter: Address { binding: 3 } }, Field { offset: 32, parameter: Elements { binding: 0, start: 32, stride: 288 } }, Field { offset: 36, parameter: Elements { binding: 2, start: 0, stride: 288 } }, Field { offset: 40, parameter: Elements { binding: 3, start: 0, stride: 16 } }] }
struct S4_Inner { vec<f32, 3> m0_p; f32 m1_w; vec<f32, 2> m2_q; unsigned char pad3[24]; mat<f32, 3, 3> m3_m; };
static_assert(C_OFFSET(S4_Inner, m0_p) == 0, "offset of S4_Inner::m0_p");
static_assert(C_OFFSET(S4_Inner, m1_w) == 12, "offset of S4_Inner::m1_w");
static_assert(C_OFFSET(S4_Inner, m2_q) == 16, "offset of S4_Inner::m2_q");
static_assert(C_OFFSET(S4_Inner, m3_m) == 48, "offset of S4_Inner::m3_m");
static_assert(sizeof(S4_Inner) == 96, "size of S4_Inner");
C_FN void c_store(S4_Inner* to, const S4_Inner& from) { to->m0_p = from.m0_p; to->m1_w = from.m1_w; to->m2_q = from.m2_q; c_store(&to->m3_m, from.m3_m); }
struct A6 { S4_Inner e[2]; };
static_assert(sizeof(A6) == 192, "size of A6");
C_FN void c_store(A6* to, const A6& from) { for (u32 i = 0; i < 2u; i++) c_store(&to->e[i], from.e[i]); }
struct S9_Item { u32 m0_id; unsigned char pad1[12]; vec<f32, 3> m1_v; A6 m2_inner; mat<f32, 2, 3> m3_t; mat<f32, 4, 2> m4_s; };
static_assert(C_OFFSET(S9_Item, m0_id) == 0, "offset of S9_Item::m0_id");
static_assert(C_OFFSET(S9_Item, m1_v) == 16, "offset of S9_Item::m1_v");
static_assert(C_OFFSET(S9_Item, m2_inner) == 32, "offset of S9_Item::m2_inner");
static_assert(C_OFFSET(S9_Item, m3_t) == 224, "offset of S9_Item::m3_t");
static_assert(C_OFFSET(S9_Item, m4_s) == 256, "offset of S9_Item::m4_s");
static_assert(sizeof(S9_Item) == 288, "size of S9_Item");
C_FN void c_store(S9_Item* to, const S9_Item& from) { to->m0_id = from.m0_id; to->m1_v = from.m1_v; c_store(&to->m2_inner, from.m2_inner); c_store(&to->m3_t, from.m3_t); to->m4_s = from.m4_s; }
struct S11_Head { u32 m0_count; unsigned char pad1[12]; u32 m1_first; };
static_assert(C_OFFSET(S11_Head, m0_count) == 0, "offset of S11_Head::m0_count");
static_assert(C_OFFSET(S11_Head, m1_first) == 16, "offset of S11_Head::m1_first");
struct A13 { vec<u32, 4> e[16]; };
static_assert(sizeof(A13) == 256, "size of A13");
struct alignas(16) Parameters { const S11_Head* b0_head; const A13* b1_factors; S9_Item* b2_out; c_cell<vec<f32, 3>, 4>* b3_rows; u32 n0_head; u32 n2_out; u32 n3_rows; };
static_assert(C_OFFSET(Parameters, b0_head) == 0, "offset of b0_head");
static_assert(C_OFFSET(Parameters, b1_factors) == 8, "offset of b1_factors");
static_assert(C_OFFSET(Parameters, b2_out) == 16, "offset of b2_out");
static_assert(C_OFFSET(Parameters, b3_rows) == 24, "offset of b3_rows");
static_assert(C_OFFSET(Parameters, n0_head) == 32, "offset of n0_head");
static_assert(C_OFFSET(Parameters, n2_out) == 36, "offset of n2_out");
static_assert(C_OFFSET(Parameters, n3_rows) == 40, "offset of n3_rows");
static_assert(sizeof(Parameters) == 48, "size of the parameters");
C_KERNEL(1) kernel_main(C_PARAMETER Parameters c) {
  const vec<u32, 3> a0_w = vec<u32, 3>{C_GROUP_X, C_GROUP_Y, C_GROUP_Z};
  S9_Item l0_item = S9_Item{};
  const u32 e1 = a0_w.x;
  const S9_Item e5 = e1 < c.n0_head ? c_constant(&c_tail<const S9_Item>(&(*c.b0_head), 32u)[e1]) : S9_Item{};
  c_store(&l0_item, e5);
  const u32 e8 = l0_item.m0_id;
  const u32 e12 = e1 < 16u ? c_constant(&(*c.b1_factors).e[e1].z) : u32{};
  const u32 e15 = c_constant(&(*c.b0_head).m1_first);
  const u32 e16 = e12 + e15;
  const u32 e19 = c.n0_head;
  const u32 e20 = e16 + e19;
  const u32 e21 = e8 + e20;
  l0_item.m0_id = e21;
  const mat<f32, 3, 3> e26 = l0_item.m2_inner.e[1u].m3_m;
  const vec<f32, 3> e28 = l0_item.m1_v;
  const vec<f32, 3> e29 = c_mul(e26, e28);
  const f32 e33 = l0_item.m2_inner.e[0u].m1_w;
  const vec<f32, 3> e34 = c_splat3(e33);
  const vec<f32, 3> e35 = c_add(e29, e34);
  l0_item.m1_v = e35;
  const vec<f32, 3> e40 = l0_item.m1_v;
  const vec<f32, 2> e41 = vec<f32, 2>{e40.z, e40.x};
  if (e1 < 2u) l0_item.m2_inner.e[e1].m2_q = e41;
  l0_item.m3_t.c[1].v.z = 4.0f;
  const S9_Item e48 = l0_item;
  if (e1 < c.n2_out) c_store(&c.b2_out[e1], e48);
  const u32 e55 = e1 + 1u;
  if (e1 < c.n2_out && e55 < 3u) c.b2_out[e1].m2_inner.e[0u].m3_m.c[e55].v.z = (-1.0f);
  const vec<f32, 3> e62 = l0_item.m1_v;
  const vec<f32, 3> e63 = vec<f32, 3>{e62.y, e62.y, e62.x};
  if (e1 < c.n3_rows) c.b3_rows[e1].v = e63;
  const u32 e66 = e1 + 2u;
  const mat<f32, 2, 3> e69 = l0_item.m3_t;
  const vec<f32, 2> e72 = vec<f32, 2>{1.0f, 2.0f};
  const vec<f32, 3> e73 = c_mul(e69, e72);
  const vec<f32, 3> e80 = e1 < c.n2_out ? c.b2_out[e1].m2_inner.e[0u].m3_m.c[2].v : vec<f32, 3>{};
  const vec<f32, 3> e81 = c_add(e73, e80);
  if (e66 < c.n3_rows) c.b3_rows[e66].v = e81;
  const u32 e84 = e1 + 500u;
  const vec<f32, 3> e87 = l0_item.m1_v;
  if (e84 < c.n3_rows) c.b3_rows[e84].v = e87;
  return;
}
}

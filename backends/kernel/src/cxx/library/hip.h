// The words of HIP C++, in builtins of its compiler: no header is needed, and those that hiprtc brings along do not matter.
#define C_FN static __attribute__((device, always_inline, unused)) inline
#define C_METHOD __attribute__((device, always_inline)) inline
#define C_FUNCTION static __attribute__((device, unused))
#define C_COLD static __attribute__((device, noinline, unused))
#define C_TABLE static __attribute__((device, unused)) const
#define C_SHARED static __attribute__((shared))
#define C_DYNAMIC extern __attribute__((shared))
#define C_KERNEL(COUNT) extern "C" __attribute__((global, amdgpu_flat_work_group_size(COUNT, COUNT))) void
#define C_PARAMETER const
#define C_UNROLL _Pragma("unroll")
// A clock of its own, which runs as fast whatever the processors do.
#if __has_builtin(__builtin_readsteadycounter)
#define C_CLOCK() ((u64)__builtin_readsteadycounter())
#else
#define C_CLOCK() ((u64)__builtin_amdgcn_s_memrealtime())
#endif
// All of the wavefront ends: in a launch that is stopped nobody is missed. Barriers go on without it.
#define C_LEAVE __builtin_amdgcn_endpgm()
// Or a loop that never ends would be taken for one that is never begun.
#define C_ENDLESS asm volatile("");
#define C_THREAD_X ((u32)__builtin_amdgcn_workitem_id_x())
#define C_THREAD_Y ((u32)__builtin_amdgcn_workitem_id_y())
#define C_THREAD_Z ((u32)__builtin_amdgcn_workitem_id_z())
#define C_GROUP_X ((u32)__builtin_amdgcn_workgroup_id_x())
#define C_GROUP_Y ((u32)__builtin_amdgcn_workgroup_id_y())
#define C_GROUP_Z ((u32)__builtin_amdgcn_workgroup_id_z())
#define C_GROUPS_X ((u32)__builtin_amdgcn_grid_size_x() / C_SIZE_X)
#define C_GROUPS_Y ((u32)__builtin_amdgcn_grid_size_y() / C_SIZE_Y)
#define C_GROUPS_Z ((u32)__builtin_amdgcn_grid_size_z() / C_SIZE_Z)
C_FN u32 c_kept(u32 x) { return x; }
C_FN void c_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
C_FN void c_subgroup_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
}
C_FN void c_fence_workgroup() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
C_FN void c_fence_device() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

C_FN _Float16 c_half(u16 x) { return __builtin_bit_cast(_Float16, x); }
C_FN u16 c_half_bits(_Float16 x) { return __builtin_bit_cast(u16, x); }
C_FN f32 c_half_to_f32(u16 x) { return (f32)c_half(x); }
C_FN u16 c_half_from_f32(f32 x) { return c_half_bits((_Float16)x); }
C_FN u16 c_half_from_f64(f64 x) { return c_half_bits((_Float16)x); }
C_FN u16 c_half_add(u16 a, u16 b) { return c_half_bits(c_half(a) + c_half(b)); }
C_FN u16 c_half_sub(u16 a, u16 b) { return c_half_bits(c_half(a) - c_half(b)); }
C_FN u16 c_half_mul(u16 a, u16 b) { return c_half_bits(c_half(a) * c_half(b)); }
C_FN u16 c_half_fma(u16 a, u16 b, u16 c) { return c_half_bits(__builtin_fmaf16(c_half(a), c_half(b), c_half(c))); }
C_FN i32 c_to_i32(f32 x) { return x != x ? 0 : x < -2147483648.0f ? -2147483647 - 1 : (i32)x; }
C_FN u32 c_to_u32(f32 x) { return x > 0.0f ? (u32)x : 0u; }
C_FN f32 c_floor(f32 x) { return __builtin_floorf(x); }
C_FN f64 c_floor(f64 x) { return __builtin_floor(x); }
C_FN f32 c_ceil(f32 x) { return __builtin_ceilf(x); }
C_FN f64 c_ceil(f64 x) { return __builtin_ceil(x); }
C_FN f32 c_trunc(f32 x) { return __builtin_truncf(x); }
C_FN f64 c_trunc(f64 x) { return __builtin_trunc(x); }
C_FN f32 c_round(f32 x) { return __builtin_rintf(x); }
C_FN f64 c_round(f64 x) { return __builtin_rint(x); }
C_FN f32 c_sqrt(f32 x) { return __builtin_sqrtf(x); }
C_FN f64 c_sqrt(f64 x) { return __builtin_sqrt(x); }
C_FN f32 c_fma(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
C_FN f64 c_fma(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
extern "C" __attribute__((device)) float __ocml_fmod_f32(float, float);
extern "C" __attribute__((device)) double __ocml_fmod_f64(double, double);
C_FN f32 c_fmod(f32 x, f32 y) { return __ocml_fmod_f32(x, y); }
C_FN f64 c_fmod(f64 x, f64 y) { return __ocml_fmod_f64(x, y); }
C_FN f64 c_ldexp(f64 x, i32 e) { return __builtin_amdgcn_ldexp(x, e); }
C_FN u32 c_ones(u32 x) { return (u32)__builtin_popcount(x); }
C_FN u32 c_ones(u64 x) { return (u32)__builtin_popcountll(x); }
C_FN u32 c_zeros(u32 x) { return x == 0u ? 32u : (u32)__builtin_clz(x); }
C_FN u32 c_zeros(u64 x) { return x == 0ull ? 64u : (u32)__builtin_clzll(x); }
C_FN u32 c_reversed(u32 x) { return __builtin_bitreverse32(x); }
C_FN u64 c_reversed(u64 x) { return __builtin_bitreverse64(x); }
#define C_OWN1(F, NAME) \
  extern "C" __attribute__((device)) float __ocml_##NAME##_f32(float); \
  extern "C" __attribute__((device)) double __ocml_##NAME##_f64(double); \
  C_FN f32 F(f32 x) { return __ocml_##NAME##_f32(x); } \
  C_FN f64 F(f64 x) { return __ocml_##NAME##_f64(x); }
#define C_OWN2(F, NAME) \
  extern "C" __attribute__((device)) float __ocml_##NAME##_f32(float, float); \
  extern "C" __attribute__((device)) double __ocml_##NAME##_f64(double, double); \
  C_FN f32 F(f32 x, f32 y) { return __ocml_##NAME##_f32(x, y); } \
  C_FN f64 F(f64 x, f64 y) { return __ocml_##NAME##_f64(x, y); }
#define C_OWN_MATH \
  C_OWN1(c_sin, sin) C_OWN1(c_cos, cos) C_OWN1(c_tan, tan) C_OWN1(c_asin, asin) C_OWN1(c_acos, acos) C_OWN1(c_atan, atan) \
  C_OWN1(c_sinh, sinh) C_OWN1(c_cosh, cosh) C_OWN1(c_tanh, tanh) C_OWN1(c_asinh, asinh) C_OWN1(c_acosh, acosh) \
  C_OWN1(c_atanh, atanh) C_OWN1(c_exp, exp) C_OWN1(c_exp2, exp2) C_OWN1(c_log, log) C_OWN1(c_log2, log2) \
  C_OWN2(c_atan2, atan2) C_OWN2(c_pow, pow)

#define C_AGENT __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
template<class T> C_FN T c_atomic_load(const T* at) { return __hip_atomic_load(at, C_AGENT); }
template<class T> C_FN void c_atomic_store(T* at, T x) { __hip_atomic_store(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_add(T* at, T x) { return __hip_atomic_fetch_add(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_and(T* at, T x) { return __hip_atomic_fetch_and(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_or(T* at, T x) { return __hip_atomic_fetch_or(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_xor(T* at, T x) { return __hip_atomic_fetch_xor(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_min(T* at, T x) { return __hip_atomic_fetch_min(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_max(T* at, T x) { return __hip_atomic_fetch_max(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_exchange(T* at, T x) { return __hip_atomic_exchange(at, x, C_AGENT); }
template<class T> C_FN T c_atomic_compare(T* at, T old, T x) {
  __hip_atomic_compare_exchange_strong(at, &old, x, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return old;
}
#define C_ATOMIC_ADD_FLOAT(at, x) __hip_atomic_fetch_add(at, x, C_AGENT)

C_FN u32 c_word_from(u32 word, u32 lane, u32) { return (u32)__builtin_amdgcn_ds_bpermute((i32)(lane * 4u), (i32)word); }
C_FN u64 c_ballot(bool x, u32) {
#if !__has_builtin(__builtin_amdgcn_ballot_w64)
  // The compiler of HIP 5.2 has a comparison instead (33: not equal), with a bit for each lane.
  return __builtin_amdgcn_uicmp((u32)x, 0u, 33);
#elif C_WAVE_IS_64
  return __builtin_amdgcn_ballot_w64(x);
#else
  return __builtin_amdgcn_ballot_w32(x);
#endif
}

// The device of HIP C++ in plain C++: what stands before the text of every kernel. Invocations of a workgroup are fibers of one thread, so workgroup
// memory is what belongs to a thread.
typedef unsigned long hip_size;

#ifdef __AMDGCN_WAVEFRONT_SIZE
#define HIP_WAVE ((unsigned)__AMDGCN_WAVEFRONT_SIZE)
#endif

#define __builtin_amdgcn_workitem_id_x() (hip_lane->x)
#define __builtin_amdgcn_workitem_id_y() (hip_lane->y)
#define __builtin_amdgcn_workitem_id_z() (hip_lane->z)
#define __builtin_amdgcn_workgroup_id_x() (hip_lane->group->at[0])
#define __builtin_amdgcn_workgroup_id_y() (hip_lane->group->at[1])
#define __builtin_amdgcn_workgroup_id_z() (hip_lane->group->at[2])
#define __builtin_amdgcn_workgroup_size_x() (hip_lane->group->block[0])
#define __builtin_amdgcn_workgroup_size_y() (hip_lane->group->block[1])
#define __builtin_amdgcn_workgroup_size_z() (hip_lane->group->block[2])
#define __builtin_amdgcn_grid_size_x() (hip_lane->group->grid[0] * hip_lane->group->block[0])
#define __builtin_amdgcn_grid_size_y() (hip_lane->group->grid[1] * hip_lane->group->block[1])
#define __builtin_amdgcn_grid_size_z() (hip_lane->group->grid[2] * hip_lane->group->block[2])
#define __builtin_amdgcn_fence(ORDER, ...) __atomic_thread_fence(ORDER)
#define __builtin_amdgcn_s_barrier() hip_meet(HIP_MEETS_GROUP)
#define __builtin_amdgcn_wave_barrier() hip_meet(HIP_MEETS_SUBGROUP)
#define __builtin_readsteadycounter() hip_clock()
#define __builtin_amdgcn_s_memrealtime() hip_clock()
#define __builtin_amdgcn_endpgm() hip_leave()
#define __builtin_amdgcn_s_sleep(N) ((void)0)
#define __builtin_amdgcn_ldexp(X, E) __builtin_ldexp(X, E)
#define __builtin_amdgcn_ldexpf(X, E) __builtin_ldexpf(X, E)

// Another lane of this subgroup, or none where there is none or it has ended.
static inline HipLane* hip_other(unsigned lane) {
  unsigned index = (hip_lane->index & ~(HIP_WAVE - 1u)) + (lane & (HIP_WAVE - 1u));
  HipLane* other = hip_lane->group->lanes + index;
  return index < hip_lane->group->count && other->state != HIP_DONE ? other : nullptr;
}
static inline int hip_from(unsigned lane, int word) {
  hip_lane->word = (unsigned)word;
  hip_meet(HIP_MEETS_SUBGROUP);
  HipLane* other = hip_other(lane);
  int found = other ? (int)other->word : 0;
  hip_meet(HIP_MEETS_SUBGROUP);
  return found;
}
static inline int __builtin_amdgcn_ds_bpermute(int address, int word) { return hip_from((unsigned)address / 4u, word); }
static inline unsigned long hip_ballot(bool x) {
  hip_lane->word = x;
  hip_meet(HIP_MEETS_SUBGROUP);
  unsigned long all = 0;
  for (unsigned n = 0; n < HIP_WAVE; n++) {
    HipLane* other = hip_other(n);
    all |= (unsigned long)(other ? other->word & 1u : 0u) << n;
  }
  hip_meet(HIP_MEETS_SUBGROUP);
  return all;
}
static inline unsigned long __builtin_amdgcn_ballot_w64(bool x) { return hip_ballot(x); }
static inline unsigned __builtin_amdgcn_ballot_w32(bool x) { return (unsigned)hip_ballot(x); }
static inline unsigned long __builtin_amdgcn_uicmp(unsigned a, unsigned b, int) { return hip_ballot(a != b); } // 33: not equal

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
// AMD's library of functions, correctly rounded but for the last bit: single precision is done in double precision.
#define HIP_OCML1(NAME) \
  extern "C" inline float __ocml_##NAME##_f32(float x) { return (float)__builtin_##NAME((double)x); } \
  extern "C" inline double __ocml_##NAME##_f64(double x) { return __builtin_##NAME(x); }
#define HIP_OCML2(NAME) \
  extern "C" inline float __ocml_##NAME##_f32(float x, float y) { return (float)__builtin_##NAME((double)x, (double)y); } \
  extern "C" inline double __ocml_##NAME##_f64(double x, double y) { return __builtin_##NAME(x, y); }
HIP_OCML1(sin) HIP_OCML1(cos) HIP_OCML1(tan) HIP_OCML1(asin) HIP_OCML1(acos) HIP_OCML1(atan) HIP_OCML1(sinh) HIP_OCML1(cosh) HIP_OCML1(tanh)
HIP_OCML1(asinh) HIP_OCML1(acosh) HIP_OCML1(atanh) HIP_OCML1(exp) HIP_OCML1(exp2) HIP_OCML1(log) HIP_OCML1(log2)
HIP_OCML2(atan2) HIP_OCML2(pow) HIP_OCML2(fmod)

// A fused operation of halves rounds once, which a detour over single precision would not: the product is exact in 80 bits, and a sum that is not is
// made odd, so that the last rounding sees it.
static inline _Float16 hip_fma(_Float16 a, _Float16 b, _Float16 c) {
  long double sum = (long double)a * (long double)b + (long double)c;
  double near = (double)sum;
  unsigned long bits = __builtin_bit_cast(unsigned long, near);
  if ((long double)near != sum && !(bits & 1)) near = __builtin_nextafter(near, sum > near ? __builtin_inf() : -__builtin_inf());
  return (_Float16)near;
}
#define __builtin_fmaf16(A, B, C) hip_fma(A, B, C)

// What hiprtc has built in and kernels in HIP C++ use.
struct HipIndex { unsigned x, y, z; };
#define threadIdx (HipIndex{hip_lane->x, hip_lane->y, hip_lane->z})
#define blockIdx (HipIndex{hip_lane->group->at[0], hip_lane->group->at[1], hip_lane->group->at[2]})
#define blockDim (HipIndex{hip_lane->group->block[0], hip_lane->group->block[1], hip_lane->group->block[2]})
#define gridDim (HipIndex{hip_lane->group->grid[0], hip_lane->group->grid[1], hip_lane->group->grid[2]})
#define warpSize ((int)HIP_WAVE)
#define __global__ extern "C"
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __forceinline__ inline
#define __syncthreads() hip_meet(HIP_MEETS_GROUP)
static inline int __shfl(int x, int lane) { return hip_from((unsigned)lane, x); }
static inline int __shfl_xor(int x, int mask) { return hip_from((hip_lane->index & (HIP_WAVE - 1u)) ^ (unsigned)mask, x); }
static inline unsigned long __ballot(int x) { return hip_ballot(x != 0); }
template<class T> inline T atomicAdd(T* at, T x) { return __hip_atomic_fetch_add(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
extern "C" int printf(const char*, ...);
#define sinf __builtin_sinf
#define sqrtf __builtin_sqrtf

// How arguments lie in their block: each at a multiple of its alignment.
template<class T, T... N> struct HipNumbers {};
template<class... A> struct HipLayout {
  unsigned at[sizeof...(A) + 1], size;
  constexpr HipLayout() : at{}, size(0) {
    unsigned sizes[] = {0u, (unsigned)sizeof(A)...}, aligns[] = {1u, (unsigned)alignof(A)...};
    for (unsigned n = 1; n <= sizeof...(A); n++) {
      size = (size + aligns[n] - 1) & ~(aligns[n] - 1);
      at[n - 1] = size;
      size += sizes[n];
    }
  }
};
template<auto F> struct HipThunk;
template<class... A, void (*F)(A...)> struct HipThunk<F> {
  static constexpr HipLayout<A...> layout = {};
  template<unsigned... N> static void call(const char* arguments, HipNumbers<unsigned, N...>) { F(*(const A*)(arguments + layout.at[N])...); }
  static void run(const char* arguments) { call(arguments, __make_integer_seq<HipNumbers, unsigned, sizeof...(A)>{}); }
};
#define HIP_KERNEL(NAME, MOST) HipKernel{#NAME, HipThunk<&NAME>::run, HipThunk<&NAME>::layout.size, MOST}
namespace compute {}

// Attributes of HIP's, by the first of a list.
#define __attribute__(LIST) HIP_FIRST LIST
#define HIP_FIRST(NAME, ...) HIP_ATTRIBUTE_##NAME
#define HIP_ATTRIBUTE_device
#define HIP_ATTRIBUTE_host
#define HIP_ATTRIBUTE_global
#define HIP_ATTRIBUTE_constant
#define HIP_ATTRIBUTE_shared thread_local
#define HIP_ATTRIBUTE_always_inline
#define HIP_ATTRIBUTE_noinline
#define HIP_ATTRIBUTE_unused
#define HIP_ATTRIBUTE_aligned(N) alignas(N)

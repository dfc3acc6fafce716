// The device of HIP C++ in CUDA C++: what stands before the text of every kernel when it is compiled by NVRTC. A wavefront is a warp of 32.
#define __AMDGCN_WAVEFRONT_SIZE 32

// --- Words of the language. Those that both compilers have under the same name (__device__, threadIdx, __syncthreads, atomicAdd and so on) need nothing.

#define amdgpu_flat_work_group_size(LEAST, MOST) launch_bounds(MOST)
#define __builtin_offsetof(S, M) __INTADDR__(&((S*)0)->M)

#define __builtin_amdgcn_workitem_id_x() threadIdx.x
#define __builtin_amdgcn_workitem_id_y() threadIdx.y
#define __builtin_amdgcn_workitem_id_z() threadIdx.z
#define __builtin_amdgcn_workgroup_id_x() blockIdx.x
#define __builtin_amdgcn_workgroup_id_y() blockIdx.y
#define __builtin_amdgcn_workgroup_id_z() blockIdx.z
#define __builtin_amdgcn_workgroup_size_x() blockDim.x
#define __builtin_amdgcn_workgroup_size_y() blockDim.y
#define __builtin_amdgcn_workgroup_size_z() blockDim.z
// AMD counts invocations.
#define __builtin_amdgcn_grid_size_x() (gridDim.x * blockDim.x)
#define __builtin_amdgcn_grid_size_y() (gridDim.y * blockDim.y)
#define __builtin_amdgcn_grid_size_z() (gridDim.z * blockDim.z)

// --- Barriers and fences. The order is always the strongest.

#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#define __ATOMIC_CONSUME 1
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#endif
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

#define HIP_FN static __device__ __forceinline__
HIP_FN void hip_fence(const char* scope) {
  if (scope[0] == 'w') __threadfence_block(); // workgroup, wavefront
  else __threadfence(); // agent
}
#define __builtin_amdgcn_fence(ORDER, SCOPE) hip_fence(SCOPE)
#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __builtin_amdgcn_s_sleep(N) __nanosleep(64 * (N))

// --- Time, in nanoseconds, and leaving.

HIP_FN unsigned long long hip_clock() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}
#define __builtin_readsteadycounter() hip_clock()
#define __builtin_amdgcn_s_memrealtime() hip_clock()
#define __builtin_amdgcn_endpgm() asm volatile("exit;")

// --- Other lanes. CUDA wants to be told who takes part: all of the warp that there are.

HIP_FN unsigned hip_lanes() {
  unsigned index = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned rest = blockDim.x * blockDim.y * blockDim.z - (index & ~31u);
  return rest < 32u ? (1u << rest) - 1u : ~0u;
}
template<class T> HIP_FN T hip_from(T x, int lane) { return __shfl_sync(hip_lanes(), x, lane); }
#define __builtin_amdgcn_ds_bpermute(ADDRESS, WORD) hip_from((int)(WORD), (int)((unsigned)(ADDRESS) / 4u))
#define __builtin_amdgcn_ballot_w32(X) __ballot_sync(hip_lanes(), X)
#define __builtin_amdgcn_uicmp(A, B, NOT_EQUAL) ((unsigned long long)__ballot_sync(hip_lanes(), (A) != (B)))
#define __shfl(X, LANE) hip_from(X, LANE)
#define __shfl_xor(X, MASK) __shfl_xor_sync(hip_lanes(), X, MASK)
#define __shfl_up(X, BY) __shfl_up_sync(hip_lanes(), X, BY)
#define __shfl_down(X, BY) __shfl_down_sync(hip_lanes(), X, BY)
#define __ballot(X) ((unsigned long long)__ballot_sync(hip_lanes(), X))

// --- Numbers.

#define __builtin_floorf floorf
#define __builtin_floor floor
#define __builtin_ceilf ceilf
#define __builtin_ceil ceil
#define __builtin_truncf truncf
#define __builtin_trunc trunc
#define __builtin_rintf rintf
#define __builtin_rint rint
#define __builtin_sqrtf __fsqrt_rn
#define __builtin_sqrt __dsqrt_rn
#define __builtin_fmaf __fmaf_rn
#define __builtin_fma __fma_rn
#define __builtin_amdgcn_ldexp ldexp
#define __builtin_amdgcn_ldexpf ldexpf
#define __builtin_popcount(X) __popc(X)
#define __builtin_popcountll(X) __popcll(X)
#define __builtin_clz(X) __clz((int)(X))
#define __builtin_clzll(X) __clzll((long long)(X))
#define __builtin_bitreverse32 __brev
#define __builtin_bitreverse64 __brevll

// Halves: NVIDIA's own type for them is in a header.
struct HipHalf {
  unsigned short bits;
  HipHalf() = default;
  __device__ explicit HipHalf(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ explicit HipHalf(double x) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x)); }
  __device__ explicit operator float() const { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits)); return y; }
};
#define HIP_HALF(OPERATOR, NAME) \
  HIP_FN HipHalf operator OPERATOR(HipHalf a, HipHalf b) { \
    HipHalf c; \
    asm(NAME ".rn.f16 %0, %1, %2;" : "=h"(c.bits) : "h"(a.bits), "h"(b.bits)); \
    return c; \
  }
HIP_HALF(+, "add") HIP_HALF(-, "sub") HIP_HALF(*, "mul")
HIP_FN HipHalf __builtin_fmaf16(HipHalf a, HipHalf b, HipHalf c) {
  HipHalf d;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(d.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return d;
}
#define _Float16 HipHalf

// AMD's library of functions.
#define HIP_OCML1(NAME) \
  extern "C" __device__ __forceinline__ float __ocml_##NAME##_f32(float x) { return NAME##f(x); } \
  extern "C" __device__ __forceinline__ double __ocml_##NAME##_f64(double x) { return NAME(x); }
#define HIP_OCML2(NAME) \
  extern "C" __device__ __forceinline__ float __ocml_##NAME##_f32(float x, float y) { return NAME##f(x, y); } \
  extern "C" __device__ __forceinline__ double __ocml_##NAME##_f64(double x, double y) { return NAME(x, y); }
HIP_OCML1(sin) HIP_OCML1(cos) HIP_OCML1(tan) HIP_OCML1(asin) HIP_OCML1(acos) HIP_OCML1(atan) HIP_OCML1(sinh) HIP_OCML1(cosh) HIP_OCML1(tanh)
HIP_OCML1(asinh) HIP_OCML1(acosh) HIP_OCML1(atanh) HIP_OCML1(exp) HIP_OCML1(exp2) HIP_OCML1(log) HIP_OCML1(log2)
HIP_OCML2(atan2) HIP_OCML2(pow) HIP_OCML2(fmod)

// --- Atomic operations: on words of 32 and of 64 bits, by what CUDA has for the unsigned one, or for the type itself.

template<class T, int SIZE = sizeof(T)> struct HipWord;
template<class T> struct HipWord<T, 4> { typedef unsigned type; };
template<class T> struct HipWord<T, 8> { typedef unsigned long long type; };
// The word that the bits of a number are, and back.
template<class To, class From> HIP_FN To hip_bits(From from) {
  union { From from; To to; } both = {from};
  return both.to;
}
#define HIP_ATOMIC(NAME, OWN) \
  template<class T> HIP_FN T NAME(T* at, T x) { \
    typedef typename HipWord<T>::type Word; \
    return hip_bits<T>(OWN((Word*)at, hip_bits<Word>(x))); \
  }
HIP_ATOMIC(hip_add, atomicAdd) HIP_ATOMIC(hip_and, atomicAnd) HIP_ATOMIC(hip_or, atomicOr) HIP_ATOMIC(hip_xor, atomicXor)
HIP_ATOMIC(hip_exchange, atomicExch)
HIP_FN float hip_add(float* at, float x) { return atomicAdd(at, x); }
HIP_FN double hip_add(double* at, double x) { return atomicAdd(at, x); }
template<class T> HIP_FN T hip_load(const T* at) { return *(const volatile T*)at; }
template<class T> HIP_FN void hip_store(T* at, T x) { *(volatile T*)at = x; }
template<class T> HIP_FN bool hip_compare_exchange(T* at, T* old, T x) {
  typedef typename HipWord<T>::type Word;
  T expected = *old;
  *old = hip_bits<T>(atomicCAS((Word*)at, hip_bits<Word>(expected), hip_bits<Word>(x)));
  return hip_bits<Word>(*old) == hip_bits<Word>(expected);
}
// What follows is the order and the scope: CUDA's are relaxed, and the device's.
#define __hip_atomic_load(AT, ...) hip_load(AT)
#define __hip_atomic_store(AT, X, ...) hip_store(AT, X)
#define __hip_atomic_fetch_add(AT, X, ...) hip_add(AT, X)
#define __hip_atomic_fetch_and(AT, X, ...) hip_and(AT, X)
#define __hip_atomic_fetch_or(AT, X, ...) hip_or(AT, X)
#define __hip_atomic_fetch_xor(AT, X, ...) hip_xor(AT, X)
// These know numbers with a sign by themselves.
#define __hip_atomic_fetch_min(AT, X, ...) atomicMin(AT, X)
#define __hip_atomic_fetch_max(AT, X, ...) atomicMax(AT, X)
#define __hip_atomic_exchange(AT, X, ...) hip_exchange(AT, X)
#define __hip_atomic_compare_exchange_strong(AT, OLD, X, ...) hip_compare_exchange(AT, OLD, X)

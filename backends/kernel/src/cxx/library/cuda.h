// The words of CUDA C++. No header of the toolkit is needed.
#define C_FN static __device__ __forceinline__
#define C_METHOD __device__ __forceinline__
#define C_FUNCTION static __device__
#define C_COLD static __device__ __noinline__
#define C_TABLE static __device__ const
#define C_SHARED static __shared__
#define C_DYNAMIC extern __shared__
#define C_KERNEL(COUNT) extern "C" __global__ void __launch_bounds__(COUNT)
#define C_PARAMETER const __grid_constant__
#define C_UNROLL _Pragma("unroll")
// Nanoseconds.
C_FN u64 c_clock() { u64 now; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); return now; }
#define C_CLOCK() c_clock()
// Barriers and the operations of a subgroup go on without those that have left.
#define C_LEAVE asm volatile("exit;")
// The compiler keeps loops that never end.
#define C_ENDLESS
#define C_THREAD_X threadIdx.x
#define C_THREAD_Y threadIdx.y
#define C_THREAD_Z threadIdx.z
#define C_GROUP_X blockIdx.x
#define C_GROUP_Y blockIdx.y
#define C_GROUP_Z blockIdx.z
#define C_GROUPS_X gridDim.x
#define C_GROUPS_Y gridDim.y
#define C_GROUPS_Z gridDim.z
C_FN void c_barrier() { __syncthreads(); }
// A number that the compiler knows nothing about.
C_FN u32 c_kept(u32 x) { asm("" : "+r"(x)); return x; }
C_FN void c_subgroup_barrier() { __syncwarp(); }
C_FN void c_fence_workgroup() { __threadfence_block(); }
C_FN void c_fence_device() { __threadfence(); }

C_FN f32 c_half_to_f32(u16 x) { f32 y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
C_FN u16 c_half_from_f32(f32 x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
C_FN u16 c_half_from_f64(f64 x) { u16 y; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y) : "d"(x)); return y; }
C_FN u16 c_half_add(u16 a, u16 b) { u16 y; asm("add.rn.f16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b)); return y; }
C_FN u16 c_half_sub(u16 a, u16 b) { u16 y; asm("sub.rn.f16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b)); return y; }
C_FN u16 c_half_mul(u16 a, u16 b) { u16 y; asm("mul.rn.f16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b)); return y; }
C_FN u16 c_half_fma(u16 a, u16 b, u16 c) { u16 y; asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(y) : "h"(a), "h"(b), "h"(c)); return y; }
// These saturate, and make 0 of what is no number.
C_FN i32 c_to_i32(f32 x) { return __float2int_rz(x); }
C_FN u32 c_to_u32(f32 x) { return __float2uint_rz(x); }
C_FN f32 c_floor(f32 x) { return floorf(x); }
C_FN f64 c_floor(f64 x) { return floor(x); }
C_FN f32 c_ceil(f32 x) { return ceilf(x); }
C_FN f64 c_ceil(f64 x) { return ceil(x); }
C_FN f32 c_trunc(f32 x) { return truncf(x); }
C_FN f64 c_trunc(f64 x) { return trunc(x); }
C_FN f32 c_round(f32 x) { return rintf(x); }
C_FN f64 c_round(f64 x) { return rint(x); }
C_FN f32 c_sqrt(f32 x) { return __fsqrt_rn(x); }
C_FN f64 c_sqrt(f64 x) { return __dsqrt_rn(x); }
// Within 2 units of the last place, as the language allows, at a third of the time of a root and a division.
#define C_INVERSE_SQRT(x) rsqrtf(x)
C_FN f32 c_fma(f32 x, f32 y, f32 z) { return __fmaf_rn(x, y, z); }
C_FN f64 c_fma(f64 x, f64 y, f64 z) { return __fma_rn(x, y, z); }
C_FN f32 c_fmod(f32 x, f32 y) { return fmodf(x, y); }
C_FN f64 c_fmod(f64 x, f64 y) { return fmod(x, y); }
C_FN f64 c_ldexp(f64 x, i32 e) { return ldexp(x, e); }
C_FN u32 c_ones(u32 x) { return (u32)__popc(x); }
C_FN u32 c_ones(u64 x) { return (u32)__popcll(x); }
C_FN u32 c_zeros(u32 x) { return (u32)__clz((i32)x); }
C_FN u32 c_zeros(u64 x) { return (u32)__clzll((i64)x); }
C_FN u32 c_reversed(u32 x) { return __brev(x); }
C_FN u64 c_reversed(u64 x) { return __brevll(x); }
#define C_OWN1(F, SINGLE, DOUBLE) \
  C_FN f32 F(f32 x) { return SINGLE(x); } \
  C_FN f64 F(f64 x) { return DOUBLE(x); }
#define C_OWN2(F, SINGLE, DOUBLE) \
  C_FN f32 F(f32 x, f32 y) { return SINGLE(x, y); } \
  C_FN f64 F(f64 x, f64 y) { return DOUBLE(x, y); }
#define C_OWN_MATH \
  C_OWN1(c_sin, sinf, sin) C_OWN1(c_cos, cosf, cos) C_OWN1(c_tan, tanf, tan) C_OWN1(c_asin, asinf, asin) \
  C_OWN1(c_acos, acosf, acos) C_OWN1(c_atan, atanf, atan) C_OWN1(c_sinh, sinhf, sinh) C_OWN1(c_cosh, coshf, cosh) \
  C_OWN1(c_tanh, tanhf, tanh) C_OWN1(c_asinh, asinhf, asinh) C_OWN1(c_acosh, acoshf, acosh) C_OWN1(c_atanh, atanhf, atanh) \
  C_OWN1(c_exp, expf, exp) C_OWN1(c_exp2, exp2f, exp2) C_OWN1(c_log, logf, log) C_OWN1(c_log2, log2f, log2) \
  C_OWN2(c_atan2, atan2f, atan2) C_OWN2(c_pow, powf, pow)

template<class T> C_FN T c_atomic_load(const T* at) { return *(const volatile T*)at; }
template<class T> C_FN void c_atomic_store(T* at, T x) { *(volatile T*)at = x; }
C_FN u32 c_atomic_add(u32* at, u32 x) { return atomicAdd(at, x); }
C_FN i32 c_atomic_add(i32* at, i32 x) { return atomicAdd(at, x); }
C_FN u64 c_atomic_add(u64* at, u64 x) { return atomicAdd(at, x); }
C_FN i64 c_atomic_add(i64* at, i64 x) { return (i64)atomicAdd((u64*)at, (u64)x); }
#define C_ATOMIC(F, OWN) \
  C_FN u32 F(u32* at, u32 x) { return OWN(at, x); } \
  C_FN i32 F(i32* at, i32 x) { return OWN(at, x); } \
  C_FN u64 F(u64* at, u64 x) { return OWN(at, x); }
C_ATOMIC(c_atomic_and, atomicAnd) C_ATOMIC(c_atomic_or, atomicOr) C_ATOMIC(c_atomic_xor, atomicXor)
C_ATOMIC(c_atomic_min, atomicMin) C_ATOMIC(c_atomic_max, atomicMax) C_ATOMIC(c_atomic_exchange, atomicExch)
C_FN i64 c_atomic_and(i64* at, i64 x) { return (i64)atomicAnd((u64*)at, (u64)x); }
C_FN i64 c_atomic_or(i64* at, i64 x) { return (i64)atomicOr((u64*)at, (u64)x); }
C_FN i64 c_atomic_xor(i64* at, i64 x) { return (i64)atomicXor((u64*)at, (u64)x); }
C_FN i64 c_atomic_min(i64* at, i64 x) { return atomicMin(at, x); }
C_FN i64 c_atomic_max(i64* at, i64 x) { return atomicMax(at, x); }
C_FN i64 c_atomic_exchange(i64* at, i64 x) { return (i64)atomicExch((u64*)at, (u64)x); }
C_FN f32 c_atomic_exchange(f32* at, f32 x) { return __uint_as_float(atomicExch((u32*)at, __float_as_uint(x))); }
C_FN u32 c_atomic_compare(u32* at, u32 old, u32 x) { return atomicCAS(at, old, x); }
C_FN i32 c_atomic_compare(i32* at, i32 old, i32 x) { return atomicCAS(at, old, x); }
C_FN u64 c_atomic_compare(u64* at, u64 old, u64 x) { return atomicCAS(at, old, x); }
C_FN i64 c_atomic_compare(i64* at, i64 old, i64 x) { return (i64)atomicCAS((u64*)at, (u64)old, (u64)x); }
// The processor's own addition makes zeros of subnormal numbers, so it is for kernels that do not want the same bits everywhere.
#define C_ATOMIC_ADD_FLOAT(at, x) atomicAdd(at, x)

C_FN u32 c_word_from(u32 word, u32 lane, u32 lanes) {
  return __shfl_sync(lanes == 32u ? 0xffffffffu : (1u << lanes) - 1u, word, (i32)lane);
}
C_FN u64 c_ballot(bool x, u32 lanes) { return __ballot_sync(lanes == 32u ? 0xffffffffu : (1u << lanes) - 1u, x); }

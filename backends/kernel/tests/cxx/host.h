// The words of plain C++ for one machine, for tests: a thread for each invocation of a workgroup.
#define C_FN static inline
#define C_METHOD inline
#define C_FUNCTION static
#define C_COLD static
#define C_TABLE static const
#define C_SHARED static
#define C_DYNAMIC extern
#define C_KERNEL(COUNT) extern "C" void
#define C_PARAMETER const
#define C_UNROLL
#define C_CLOCK() host_clock()
#define C_LEAVE throw HostLeft()
#define C_ENDLESS __asm__ volatile("");
#define C_THREAD_X host_thread[0]
#define C_THREAD_Y host_thread[1]
#define C_THREAD_Z host_thread[2]
#define C_GROUP_X host_group[0]
#define C_GROUP_Y host_group[1]
#define C_GROUP_Z host_group[2]
#define C_GROUPS_X host_groups[0]
#define C_GROUPS_Y host_groups[1]
#define C_GROUPS_Z host_groups[2]
static thread_local u32 host_thread[3];
static u32 host_group[3], host_groups[3];
static pthread_barrier_t host_barrier;
static pthread_barrier_t host_subgroup_barriers[(C_INVOCATIONS + C_WAVE - 1u) / C_WAVE];
static u32 host_words[C_INVOCATIONS];
// Each look at the clock takes 256 ticks, which is what limits count.
static u64 host_time = 1000;
C_FN u64 host_clock() { return __atomic_add_fetch(&host_time, 256, __ATOMIC_RELAXED); }
struct HostLeft {};
C_FN u32 c_kept(u32 x) { return x; }
C_FN void c_barrier() { pthread_barrier_wait(&host_barrier); }
C_FN void c_subgroup_barrier() { c_barrier(); }
C_FN void c_fence_workgroup() { __sync_synchronize(); }
C_FN void c_fence_device() { __sync_synchronize(); }

C_FN u64 host_bits(f64 x) { u64 bits; memcpy(&bits, &x, 8); return bits; }
// A half has 11 digits above its least one, 2^-24.
C_FN f64 host_half(u16 x) {
  u32 exponent = x >> 10 & 31u, fraction = x & 1023u;
  f64 size = exponent == 31u ? (fraction ? NAN : INFINITY) : exponent ? ldexp(1024.0 + fraction, (i32)exponent - 25) : ldexp(fraction, -24);
  return x & 0x8000u ? -size : size;
}
C_FN u16 c_half_from_f64(f64 x) {
  u16 sign = host_bits(x) >> 63 ? 0x8000u : 0u;
  f64 size = fabs(x);
  if (size != size) return sign | 0x7e00u;
  if (size >= 65520.0) return sign | 0x7c00u;
  i32 exponent = 0;
  frexp(size, &exponent);
  i32 least = exponent - 11 > -24 ? exponent - 11 : -24;
  f64 digits = rint(ldexp(size, -least));
  u32 bits = digits < 1024.0 ? (u32)digits : ((u32)(least + 25) << 10) + (u32)(digits - 1024.0);
  return sign | (u16)bits;
}
C_FN f32 c_half_to_f32(u16 x) { return (f32)host_half(x); }
C_FN u16 c_half_from_f32(f32 x) { return c_half_from_f64(x); }
C_FN u16 c_half_add(u16 a, u16 b) { return c_half_from_f64(host_half(a) + host_half(b)); }
C_FN u16 c_half_sub(u16 a, u16 b) { return c_half_from_f64(host_half(a) - host_half(b)); }
C_FN u16 c_half_mul(u16 a, u16 b) { return c_half_from_f64(host_half(a) * host_half(b)); }
// The product is exact, and the sum of numbers of 80 bits is for all halves of a like size; the rest does not reach the last digit.
C_FN u16 c_half_fma(u16 a, u16 b, u16 c) {
  long double sum = (long double)(host_half(a) * host_half(b)) + (long double)host_half(c);
  f64 near = (f64)sum;
  if ((long double)near != sum && !(host_bits(near) & 1)) near = nextafter(near, sum > near ? INFINITY : -INFINITY);
  return c_half_from_f64(near);
}
C_FN i32 c_to_i32(f32 x) { return x != x ? 0 : x < -2147483648.0f ? -2147483647 - 1 : (i32)x; }
C_FN u32 c_to_u32(f32 x) { return x > 0.0f ? (u32)x : 0u; }
C_FN f32 c_floor(f32 x) { return floorf(x); }
C_FN f64 c_floor(f64 x) { return floor(x); }
C_FN f32 c_ceil(f32 x) { return ceilf(x); }
C_FN f64 c_ceil(f64 x) { return ceil(x); }
C_FN f32 c_trunc(f32 x) { return truncf(x); }
C_FN f64 c_trunc(f64 x) { return trunc(x); }
C_FN f32 c_round(f32 x) { return rintf(x); }
C_FN f64 c_round(f64 x) { return rint(x); }
C_FN f32 c_sqrt(f32 x) { return sqrtf(x); }
C_FN f64 c_sqrt(f64 x) { return sqrt(x); }
C_FN f32 c_fma(f32 x, f32 y, f32 z) { return fmaf(x, y, z); }
C_FN f64 c_fma(f64 x, f64 y, f64 z) { return fma(x, y, z); }
C_FN f32 c_fmod(f32 x, f32 y) { return fmodf(x, y); }
C_FN f64 c_fmod(f64 x, f64 y) { return fmod(x, y); }
C_FN f64 c_ldexp(f64 x, i32 e) { return ldexp(x, e); }
C_FN u32 c_ones(u64 x) { return (u32)__builtin_popcountll(x); }
C_FN u32 c_ones(u32 x) { return c_ones((u64)x); }
C_FN u32 c_zeros(u64 x) { return x ? (u32)__builtin_clzll(x) : 64u; }
C_FN u32 c_zeros(u32 x) { return c_zeros((u64)x) - 32u; }
C_FN u64 c_reversed(u64 x) {
  u64 out = 0;
  for (int i = 0; i < 64; i++) out |= (x >> i & 1) << (63 - i);
  return out;
}
C_FN u32 c_reversed(u32 x) { return (u32)(c_reversed((u64)x) >> 32); }
#define C_OWN_MATH
template<class T> C_FN T c_atomic_load(const T* at) { T x; __atomic_load(at, &x, __ATOMIC_RELAXED); return x; }
template<class T> C_FN void c_atomic_store(T* at, T x) { __atomic_store(at, &x, __ATOMIC_RELAXED); }
template<class T> C_FN T c_atomic_add(T* at, T x) { return __atomic_fetch_add(at, x, __ATOMIC_RELAXED); }
template<class T> C_FN T c_atomic_and(T* at, T x) { return __atomic_fetch_and(at, x, __ATOMIC_RELAXED); }
template<class T> C_FN T c_atomic_or(T* at, T x) { return __atomic_fetch_or(at, x, __ATOMIC_RELAXED); }
template<class T> C_FN T c_atomic_xor(T* at, T x) { return __atomic_fetch_xor(at, x, __ATOMIC_RELAXED); }
template<class T> C_FN T c_atomic_compare(T* at, T old, T x) {
  __atomic_compare_exchange(at, &old, &x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}
template<class T> C_FN T c_atomic_exchange(T* at, T x) { T old; __atomic_exchange(at, &x, &old, __ATOMIC_RELAXED); return old; }
template<class T> C_FN T c_atomic_min(T* at, T x) {
  for (T old = c_atomic_load(at);;) { T was = c_atomic_compare(at, old, x < old ? x : old); if (was == old) return old; old = was; }
}
template<class T> C_FN T c_atomic_max(T* at, T x) {
  for (T old = c_atomic_load(at);;) { T was = c_atomic_compare(at, old, x > old ? x : old); if (was == old) return old; old = was; }
}
C_FN u32 host_index() { return host_thread[0] + C_SIZE_X * (host_thread[1] + C_SIZE_Y * host_thread[2]); }
C_FN void host_meet() { pthread_barrier_wait(&host_subgroup_barriers[host_index() / C_WAVE]); }
C_FN u32 c_word_from(u32 word, u32 lane, u32 lanes) {
  u32 first = host_index() & ~(C_WAVE - 1u);
  host_words[host_index()] = word;
  host_meet();
  u32 found = lane < lanes ? host_words[first + lane] : 0xdeadbeefu;
  host_meet();
  return found;
}
C_FN u64 c_ballot(bool x, u32 lanes) {
  u64 all = 0;
  host_words[host_index()] = x;
  host_meet();
  for (u32 n = 0; n < lanes; n++) all |= (u64)host_words[(host_index() & ~(C_WAVE - 1u)) + n] << n;
  host_meet();
  return all;
}

// Scalars, vectors and matrices, and the operators of the language on them, for every dialect.
// A half is its bits.
struct f16 { u16 bits; };

template<class To, class From> C_FN To c_bits_as(From from) {
  union { From from; To to; } both = {from};
  return both.to;
}
C_FN f32 c_f32(f16 x) { return c_half_to_f32(x.bits); }
C_FN f16 c_f16(f32 x) { return f16{c_half_from_f32(x)}; }
C_FN bool operator<(f16 a, f16 b) { return c_f32(a) < c_f32(b); }
C_FN bool operator<=(f16 a, f16 b) { return c_f32(a) <= c_f32(b); }
C_FN bool operator>(f16 a, f16 b) { return c_f32(a) > c_f32(b); }
C_FN bool operator>=(f16 a, f16 b) { return c_f32(a) >= c_f32(b); }
C_FN bool operator==(f16 a, f16 b) { return c_f32(a) == c_f32(b); }
C_FN bool operator!=(f16 a, f16 b) { return c_f32(a) != c_f32(b); }
C_FN f16 operator+(f16 a, f16 b) { return f16{c_half_add(a.bits, b.bits)}; }
C_FN f16 operator-(f16 a, f16 b) { return f16{c_half_sub(a.bits, b.bits)}; }
C_FN f16 operator*(f16 a, f16 b) { return f16{c_half_mul(a.bits, b.bits)}; }
C_FN f16 operator/(f16 a, f16 b) { return c_f16(c_f32(a) / c_f32(b)); }
C_FN f16 operator-(f16 a) { return f16{(u16)(a.bits ^ 0x8000u)}; }

template<class T, int N> struct vec;
template<class T> struct alignas(2 * sizeof(T)) vec<T, 2> {
  T x, y;
  C_METHOD T& operator[](u32 i) { return (&x)[i]; }
  C_METHOD const T& operator[](u32 i) const { return (&x)[i]; }
};
// Three components are no more than three: what follows them in a structure may begin in the fourth place.
template<class T> struct vec<T, 3> {
  T x, y, z;
  C_METHOD T& operator[](u32 i) { return (&x)[i]; }
  C_METHOD const T& operator[](u32 i) const { return (&x)[i]; }
};
template<class T> struct alignas(4 * sizeof(T)) vec<T, 4> {
  T x, y, z, w;
  C_METHOD T& operator[](u32 i) { return (&x)[i]; }
  C_METHOD const T& operator[](u32 i) const { return (&x)[i]; }
};
template<class T, int R> struct c_column { vec<T, R> v; };
template<class T> struct alignas(4 * sizeof(T)) c_column<T, 3> { vec<T, 3> v; };
template<class T, int C, int R> struct mat { c_column<T, R> c[C]; };
template<class T, u32 PAD> struct c_cell { T v; unsigned char pad[PAD]; };

template<class T, int C, int R> C_FN void c_store(mat<T, C, R>* to, const mat<T, C, R>& from) {
  C_UNROLL for (int i = 0; i < C; i++) to->c[i].v = from.c[i].v;
}
// What stands behind the fixed part of a structure.
template<class T, class S> C_FN T* c_tail(S* start, u32 offset) { return (T*)((char*)start + offset); }
// What the read-only path of the memory system may serve.
template<class T> C_FN T c_constant(const T* at) { return *at; }

// The type that arithmetic of a type is done in: integers wrap, and none is narrower than an int.
template<class T> struct c_of { typedef T wide; };
template<> struct c_of<i16> { typedef u32 wide; };
template<> struct c_of<u16> { typedef u32 wide; };
template<> struct c_of<i32> { typedef u32 wide; };
template<> struct c_of<i64> { typedef u64 wide; };
#define C_WIDE typename c_of<T>::wide

template<class T> C_FN T c_number(f64 x) { return (T)x; }
template<> C_METHOD f16 c_number<f16>(f64 x) { return c_f16((f32)x); }

template<class T> C_FN T c_add(T a, T b) { return (T)((C_WIDE)a + (C_WIDE)b); }
template<class T> C_FN T c_sub(T a, T b) { return (T)((C_WIDE)a - (C_WIDE)b); }
template<class T> C_FN T c_mul(T a, T b) { return (T)((C_WIDE)a * (C_WIDE)b); }
template<class T> C_FN T c_neg(T a) { return (T)((C_WIDE)0 - (C_WIDE)a); }
// NVIDIA's compiler takes the least of them, negated in 16 bits and widened again, for a positive number.
C_FN i16 c_neg(i16 a) { return (i16)c_kept(0u - (u32)a); }
C_FN f32 c_neg(f32 a) { return -a; }
C_FN f64 c_neg(f64 a) { return -a; }
C_FN f16 c_neg(f16 a) { return -a; }
template<class T> C_FN T c_not(T a) { return (T)~a; }
C_FN bool c_not(bool a) { return !a; }

// Divided by zero a number stays what it is and leaves nothing; so does the least number divided by -1.
C_FN f32 c_div(f32 a, f32 b) { return a / b; }
C_FN f64 c_div(f64 a, f64 b) { return a / b; }
C_FN f16 c_div(f16 a, f16 b) { return a / b; }
C_FN f32 c_rem(f32 a, f32 b) { return c_fmod(a, b); }
C_FN f64 c_rem(f64 a, f64 b) { return c_fmod(a, b); }
C_FN f16 c_rem(f16 a, f16 b) { return c_f16(c_fmod(c_f32(a), c_f32(b))); }
#define C_UNSIGNED(T) \
  C_FN T c_div(T a, T b) { return b == 0 ? a : (T)(a / b); } \
  C_FN T c_rem(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); }
#define C_SIGNED(T, LEAST) \
  C_FN T c_div(T a, T b) { return b == 0 || (b == -1 && a == (T)(LEAST)) ? a : (T)(a / b); } \
  C_FN T c_rem(T a, T b) { return b == 0 || b == -1 ? (T)0 : (T)(a % b); }
C_UNSIGNED(u16) C_UNSIGNED(u32) C_UNSIGNED(u64)
C_SIGNED(i16, -32768) C_SIGNED(i32, -2147483647 - 1) C_SIGNED(i64, -9223372036854775807ll - 1)

// Counts are taken modulo the width.
template<class T> C_FN T c_shl(T a, u32 n) { return (T)((C_WIDE)a << (n & (8u * (u32)sizeof(T) - 1u))); }
template<class T> C_FN T c_shr(T a, u32 n) { return (T)(a >> (n & (8u * (u32)sizeof(T) - 1u))); }
template<class T> C_FN T c_and(T a, T b) { return (T)(a & b); }
template<class T> C_FN T c_or(T a, T b) { return (T)(a | b); }
template<class T> C_FN T c_xor(T a, T b) { return (T)(a ^ b); }
template<class T> C_FN bool c_eq(T a, T b) { return a == b; }
template<class T> C_FN bool c_ne(T a, T b) { return a != b; }
template<class T> C_FN bool c_lt(T a, T b) { return a < b; }
template<class T> C_FN bool c_le(T a, T b) { return a <= b; }
template<class T> C_FN bool c_gt(T a, T b) { return a > b; }
template<class T> C_FN bool c_ge(T a, T b) { return a >= b; }
template<class T> C_FN T c_select(bool c, T a, T b) { return c ? a : b; }

// By component.
#define C_EACH1(F, R) \
  template<class T> C_FN vec<R, 2> F(vec<T, 2> a) { return vec<R, 2>{F(a.x), F(a.y)}; } \
  template<class T> C_FN vec<R, 3> F(vec<T, 3> a) { return vec<R, 3>{F(a.x), F(a.y), F(a.z)}; } \
  template<class T> C_FN vec<R, 4> F(vec<T, 4> a) { return vec<R, 4>{F(a.x), F(a.y), F(a.z), F(a.w)}; }
#define C_EACH2(F, R, U) \
  template<class T> C_FN vec<R, 2> F(vec<T, 2> a, vec<U, 2> b) { return vec<R, 2>{F(a.x, b.x), F(a.y, b.y)}; } \
  template<class T> C_FN vec<R, 3> F(vec<T, 3> a, vec<U, 3> b) { return vec<R, 3>{F(a.x, b.x), F(a.y, b.y), F(a.z, b.z)}; } \
  template<class T> C_FN vec<R, 4> F(vec<T, 4> a, vec<U, 4> b) { \
    return vec<R, 4>{F(a.x, b.x), F(a.y, b.y), F(a.z, b.z), F(a.w, b.w)}; \
  }
#define C_EACH3(F, A, R) \
  template<class T> C_FN vec<R, 2> F(vec<A, 2> a, vec<T, 2> b, vec<T, 2> c) { \
    return vec<R, 2>{F(a.x, b.x, c.x), F(a.y, b.y, c.y)}; \
  } \
  template<class T> C_FN vec<R, 3> F(vec<A, 3> a, vec<T, 3> b, vec<T, 3> c) { \
    return vec<R, 3>{F(a.x, b.x, c.x), F(a.y, b.y, c.y), F(a.z, b.z, c.z)}; \
  } \
  template<class T> C_FN vec<R, 4> F(vec<A, 4> a, vec<T, 4> b, vec<T, 4> c) { \
    return vec<R, 4>{F(a.x, b.x, c.x), F(a.y, b.y, c.y), F(a.z, b.z, c.z), F(a.w, b.w, c.w)}; \
  }
C_EACH1(c_neg, T) C_EACH1(c_not, T)
C_EACH2(c_add, T, T) C_EACH2(c_sub, T, T) C_EACH2(c_mul, T, T) C_EACH2(c_div, T, T) C_EACH2(c_rem, T, T)
C_EACH2(c_shl, T, u32) C_EACH2(c_shr, T, u32) C_EACH2(c_and, T, T) C_EACH2(c_or, T, T) C_EACH2(c_xor, T, T)
C_EACH2(c_eq, bool, T) C_EACH2(c_ne, bool, T) C_EACH2(c_lt, bool, T) C_EACH2(c_le, bool, T) C_EACH2(c_gt, bool, T)
C_EACH2(c_ge, bool, T) C_EACH3(c_select, bool, T)
template<class T, int N> C_FN vec<T, N> c_select(bool c, vec<T, N> a, vec<T, N> b) { return c ? a : b; }
template<class T> C_FN vec<T, 2> c_splat2(T x) { return vec<T, 2>{x, x}; }
template<class T> C_FN vec<T, 3> c_splat3(T x) { return vec<T, 3>{x, x, x}; }
template<class T> C_FN vec<T, 4> c_splat4(T x) { return vec<T, 4>{x, x, x, x}; }
template<class T, int N> C_FN vec<T, N> c_mul(vec<T, N> a, T b) {
  C_UNROLL for (int i = 0; i < N; i++) a[i] = c_mul(a[i], b);
  return a;
}
template<class T, int N> C_FN vec<T, N> c_mul(T a, vec<T, N> b) { return c_mul(b, a); }
template<int N> C_FN bool c_all(vec<bool, N> a) {
  bool all = a[0];
  C_UNROLL for (int i = 1; i < N; i++) all = all & a[i];
  return all;
}
template<int N> C_FN bool c_any(vec<bool, N> a) {
  bool any = a[0];
  C_UNROLL for (int i = 1; i < N; i++) any = any | a[i];
  return any;
}
C_FN bool c_all(bool a) { return a; }
C_FN bool c_any(bool a) { return a; }

// A component or column of a value; zero past the last.
template<class T, int N> C_FN T c_at(vec<T, N> a, u64 index) {
  T found = T{};
  C_UNROLL for (int i = 0; i < N; i++) found = index == (u64)i ? a[i] : found;
  return found;
}
template<class T, int C, int R> C_FN vec<T, R> c_at(const mat<T, C, R>& a, u64 index) {
  vec<T, R> found = vec<T, R>{};
  C_UNROLL for (int i = 0; i < C; i++) found = index == (u64)i ? a.c[i].v : found;
  return found;
}

// Floats become integers towards zero, no further than to the nearest number that both types have; what is no number becomes 0.
template<class To, class From> struct c_convert { C_METHOD static To of(From x) { return (To)x; } };
template<class From> struct c_convert<bool, From> { C_METHOD static bool of(From x) { return x != From{}; } };
template<> struct c_convert<bool, bool> { C_METHOD static bool of(bool x) { return x; } };
#define C_CLAMPED(FROM, TO, LEAST, MOST) \
  template<> struct c_convert<TO, FROM> { \
    C_METHOD static TO of(FROM x) { \
      if (!(x == x)) return 0; \
      return x > (FROM)(MOST) ? (TO)(MOST) : x < (FROM)(LEAST) ? (TO)(LEAST) : (TO)x; \
    } \
  };
C_CLAMPED(f32, i16, -32768, 32767) C_CLAMPED(f32, u16, 0, 65535)
C_CLAMPED(f32, i64, -9223372036854775807ll - 1, 9223371487098961920ll) C_CLAMPED(f32, u64, 0, 18446742974197923840ull)
C_CLAMPED(f64, i16, -32768, 32767) C_CLAMPED(f64, u16, 0, 65535)
C_CLAMPED(f64, i32, -2147483647 - 1, 2147483647) C_CLAMPED(f64, u32, 0, 4294967295u)
C_CLAMPED(f64, i64, -9223372036854775807ll - 1, 9223372036854774784ll) C_CLAMPED(f64, u64, 0, 18446744073709549568ull)
template<> struct c_convert<i32, f32> { C_METHOD static i32 of(f32 x) { return c_to_i32(x > 2147483520.0f ? 2147483520.0f : x); } };
template<> struct c_convert<u32, f32> { C_METHOD static u32 of(f32 x) { return c_to_u32(x > 4294967040.0f ? 4294967040.0f : x); } };
#define C_FROM_HALF(TO, LEAST, MOST) \
  template<> struct c_convert<TO, f16> { \
    C_METHOD static TO of(f16 half) { \
      f32 x = c_f32(half); \
      if (!(x == x)) return 0; \
      return (TO)(x > MOST ? MOST : x < LEAST ? LEAST : x); \
    } \
  };
C_FROM_HALF(i16, -32768.0f, 32752.0f) C_FROM_HALF(u16, 0.0f, 65504.0f)
C_FROM_HALF(i32, -65504.0f, 65504.0f) C_FROM_HALF(u32, 0.0f, 65504.0f)
C_FROM_HALF(i64, -65504.0f, 65504.0f) C_FROM_HALF(u64, 0.0f, 65504.0f)
template<> struct c_convert<f32, f16> { C_METHOD static f32 of(f16 x) { return c_f32(x); } };
template<> struct c_convert<f64, f16> { C_METHOD static f64 of(f16 x) { return (f64)c_f32(x); } };
template<> struct c_convert<f16, f16> { C_METHOD static f16 of(f16 x) { return x; } };
// By way of f32 it would be rounded twice.
template<> struct c_convert<f16, f64> { C_METHOD static f16 of(f64 x) { return f16{c_half_from_f64(x)}; } };
// What an f32 cannot hold exactly is far past the largest half.
template<class From> struct c_convert<f16, From> { C_METHOD static f16 of(From x) { return c_f16((f32)x); } };
template<class To, class From> C_FN To c_to(From x) { return c_convert<To, From>::of(x); }
#define C_EACH_TO(F) \
  template<class To, class T> C_FN vec<To, 2> F(vec<T, 2> a) { return vec<To, 2>{F<To>(a.x), F<To>(a.y)}; } \
  template<class To, class T> C_FN vec<To, 3> F(vec<T, 3> a) { return vec<To, 3>{F<To>(a.x), F<To>(a.y), F<To>(a.z)}; } \
  template<class To, class T> C_FN vec<To, 4> F(vec<T, 4> a) { return vec<To, 4>{F<To>(a.x), F<To>(a.y), F<To>(a.z), F<To>(a.w)}; }
C_EACH_TO(c_to)
template<class To, class From> C_FN To c_bitcast(From x) { return c_bits_as<To>(x); }
C_EACH_TO(c_bitcast)
template<class To, class T, int C, int R> C_FN mat<To, C, R> c_to(const mat<T, C, R>& a) {
  mat<To, C, R> out;
  C_UNROLL for (int i = 0; i < C; i++) out.c[i].v = c_to<To>(a.c[i].v);
  return out;
}

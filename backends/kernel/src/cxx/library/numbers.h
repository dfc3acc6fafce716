// Functions on numbers. `min`, `max` and `clamp` are what their comparisons say, which decides for NaN and zeros of both signs.
template<class T> C_FN T c_min(T a, T b) { return b < a ? b : a; }
template<class T> C_FN T c_max(T a, T b) { return b > a ? b : a; }
template<class T> C_FN T c_clamp(T x, T low, T high) { return c_min(c_max(x, low), high); }
template<class T> C_FN T c_abs(T x) { return x < 0 ? c_neg(x) : x; }
C_FN f32 c_abs(f32 x) { return c_bits_as<f32>(c_bits_as<u32>(x) & 0x7fffffffu); }
C_FN f64 c_abs(f64 x) { return c_bits_as<f64>(c_bits_as<u64>(x) & 0x7fffffffffffffffull); }
C_FN f16 c_abs(f16 x) { return f16{(u16)(x.bits & 0x7fffu)}; }
template<class T> C_FN T c_sign(T x) {
  T zero = T{};
  return x > zero ? c_number<T>(1.0) : x < zero ? c_number<T>(-1.0) : zero;
}
template<class T> C_FN T c_saturate(T x) { return c_clamp(x, c_number<T>(0.0), c_number<T>(1.0)); }
// Functions of halves are those of f32, rounded.
#define C_HALF1(F) C_FN f16 F(f16 x) { return c_f16(F(c_f32(x))); }
#define C_HALF2(F) C_FN f16 F(f16 x, f16 y) { return c_f16(F(c_f32(x), c_f32(y))); }
C_HALF1(c_floor) C_HALF1(c_ceil) C_HALF1(c_trunc) C_HALF1(c_round) C_HALF1(c_sqrt)
template<class T> C_FN T c_fract(T x) { return x - c_floor(x); }
template<class T> C_FN T c_inverse_sqrt(T x) { return c_number<T>(1.0) / c_sqrt(x); }
#if !C_STRICT && defined(C_INVERSE_SQRT)
C_FN f32 c_inverse_sqrt(f32 x) { return C_INVERSE_SQRT(x); }
#endif
// As for f32 before it is rounded: the root is not rounded on its own.
C_FN f16 c_inverse_sqrt(f16 x) { return c_f16(1.0f / c_sqrt(c_f32(x))); }
// The factor has the precision of f32 at least.
C_FN f32 c_radians(f32 x) { return x * 0.017453292519943295f; }
C_FN f64 c_radians(f64 x) { return x * 0.017453292519943295; }
C_FN f32 c_degrees(f32 x) { return x * 57.29577951308232f; }
C_FN f64 c_degrees(f64 x) { return x * 57.29577951308232; }
C_HALF1(c_radians) C_HALF1(c_degrees)
C_FN f16 c_fma(f16 x, f16 y, f16 z) { return f16{c_half_fma(x.bits, y.bits, z.bits)}; }
template<class T> C_FN T c_mix(T x, T y, T t) { return x * (c_number<T>(1.0) - t) + y * t; }
template<class T> C_FN T c_step(T edge, T x) { return edge <= x ? c_number<T>(1.0) : c_number<T>(0.0); }
template<class T> C_FN T c_smoothstep(T low, T high, T x) {
  T t = c_saturate<T>((x - low) / (high - low));
  return (t * t) * (c_number<T>(3.0) - c_number<T>(2.0) * t);
}
template<class T> C_FN T c_modf_fract(T x) { return x - c_trunc(x); }
template<class T> C_FN T c_modf_whole(T x) { return c_trunc(x); }
// Fraction and exponent of a number with 53 bits at most; of zero, infinity and NaN the number itself and 0.
C_FN bool c_has_exponent(f64 x) { return x != 0.0 && (c_bits_as<u64>(x) >> 52 & 0x7ffu) != 0x7ffu; }
C_FN f64 c_scaled_up(f64 x) { return c_abs(x) < 2.2250738585072014e-308 ? x * 18446744073709551616.0 : x; }
C_FN f64 c_frexp_fract(f64 x) {
  if (!c_has_exponent(x)) return x;
  u64 bits = c_bits_as<u64>(c_scaled_up(x));
  return c_bits_as<f64>((bits & ~(0x7ffull << 52)) | (1022ull << 52));
}
C_FN i32 c_frexp_exp(f64 x) {
  if (!c_has_exponent(x)) return 0;
  i32 shift = c_abs(x) < 2.2250738585072014e-308 ? 64 : 0;
  return (i32)(c_bits_as<u64>(c_scaled_up(x)) >> 52 & 0x7ffu) - 1022 - shift;
}
C_FN f32 c_frexp_fract(f32 x) { return (f32)c_frexp_fract((f64)x); }
C_FN i32 c_frexp_exp(f32 x) { return c_frexp_exp((f64)x); }
C_FN f16 c_frexp_fract(f16 x) { return c_f16(c_frexp_fract(c_f32(x))); }
C_FN i32 c_frexp_exp(f16 x) { return c_frexp_exp(c_f32(x)); }
// Exact in f64, whose range holds that of the narrower types doubled, and rounded once.
C_FN f64 c_power_of_two(i32 exponent) { return c_bits_as<f64>((u64)((i64)exponent + 1023) << 52); }
C_FN f32 c_ldexp(f32 x, i32 e) { return (f32)((f64)x * c_power_of_two(e < -400 ? -400 : e > 400 ? 400 : e)); }
C_FN f16 c_ldexp(f16 x, i32 e) {
  return f16{c_half_from_f64((f64)c_f32(x) * c_power_of_two(e < -100 ? -100 : e > 100 ? 100 : e))};
}
C_FN f32 c_quantize(f32 x) { return c_f32(c_f16(x)); }
template<class T> C_FN bool c_is_nan(T x) { return x != x; }
template<class T> C_FN bool c_is_inf(T x) { return c_abs(x) == c_number<T>(c_bits_as<f64>(0x7ff0000000000000ull)); }
template<> C_METHOD bool c_is_inf<f16>(f16 x) { return (x.bits & 0x7fffu) == 0x7c00u; }
C_EACH1(c_abs, T) C_EACH1(c_sign, T) C_EACH1(c_saturate, T) C_EACH1(c_floor, T) C_EACH1(c_ceil, T) C_EACH1(c_trunc, T)
C_EACH1(c_round, T) C_EACH1(c_sqrt, T) C_EACH1(c_fract, T) C_EACH1(c_inverse_sqrt, T) C_EACH1(c_radians, T) C_EACH1(c_degrees, T)
C_EACH1(c_modf_fract, T) C_EACH1(c_modf_whole, T) C_EACH1(c_frexp_fract, T) C_EACH1(c_frexp_exp, i32) C_EACH1(c_quantize, T)
C_EACH1(c_is_nan, bool) C_EACH1(c_is_inf, bool)
C_EACH2(c_min, T, T) C_EACH2(c_max, T, T) C_EACH2(c_step, T, T) C_EACH2(c_ldexp, T, i32)
C_EACH3(c_clamp, T, T) C_EACH3(c_fma, T, T) C_EACH3(c_mix, T, T) C_EACH3(c_smoothstep, T, T)
template<class T, int N> C_FN vec<T, N> c_mix(vec<T, N> x, vec<T, N> y, T t) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_mix(x[i], y[i], t);
  return x;
}

// Geometry: sums go from the first component to the last.
template<class T, int N> C_FN T c_dot(vec<T, N> a, vec<T, N> b) {
  T sum = c_mul(a[0], b[0]);
  C_UNROLL for (int i = 1; i < N; i++) sum = c_add(sum, c_mul(a[i], b[i]));
  return sum;
}
template<class T> C_FN T c_length(T x) { return c_abs(x); }
template<class T, int N> C_FN T c_length(vec<T, N> x) { return c_sqrt(c_dot(x, x)); }
template<class T> C_FN auto c_distance(T a, T b) -> decltype(c_length(a)) { return c_length(c_sub(a, b)); }
template<class T, int N> C_FN vec<T, N> c_normalize(vec<T, N> x) {
  T length = c_length(x);
  C_UNROLL for (int i = 0; i < N; i++) x[i] = x[i] / length;
  return x;
}
template<class T> C_FN vec<T, 3> c_cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>{a.y * b.z - b.y * a.z, a.z * b.x - b.z * a.x, a.x * b.y - b.x * a.y};
}
template<class T, int N> C_FN vec<T, N> c_faceforward(vec<T, N> x, vec<T, N> i, vec<T, N> n) {
  bool facing = c_dot(i, n) < c_number<T>(0.0);
  return facing ? x : c_neg(x);
}
template<class T, int N> C_FN vec<T, N> c_reflect(vec<T, N> x, vec<T, N> n) {
  T twice = c_dot(n, x) * c_number<T>(2.0);
  C_UNROLL for (int i = 0; i < N; i++) x[i] = x[i] - twice * n[i];
  return x;
}
template<class T, int N> C_FN vec<T, N> c_refract(vec<T, N> x, vec<T, N> n, T eta) {
  T one = c_number<T>(1.0), dot = c_dot(n, x);
  T k = one - eta * eta * (one - dot * dot);
  T along = eta * dot + c_sqrt(k);
  C_UNROLL for (int i = 0; i < N; i++) x[i] = k < c_number<T>(0.0) ? c_number<T>(0.0) : eta * x[i] - along * n[i];
  return x;
}

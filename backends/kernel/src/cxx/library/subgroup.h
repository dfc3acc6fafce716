// Subgroup operations. The whole workgroup arrives at each, so the lanes that take part are those that are there: all but those that the
// last subgroup lacks.
C_FN u32 c_lane() { return c_local_index() & (C_WAVE - 1u); }
C_FN u32 c_lanes() {
  u32 rest = C_INVOCATIONS - (c_local_index() & ~(C_WAVE - 1u));
  return rest < C_WAVE ? rest : C_WAVE;
}
C_FN u32 c_bits_from(u32 bits, u32 lane) { return c_word_from(bits, lane, c_lanes()); }
C_FN u64 c_bits_from(u64 bits, u32 lane) {
  u32 low = c_bits_from((u32)bits, lane), high = c_bits_from((u32)(bits >> 32), lane);
  return (u64)high << 32 | low;
}
// A lane's value, whichever lane it is that is there.
C_FN u32 c_raw_from(u32 x, u32 lane) { return c_bits_from(x, lane); }
C_FN i32 c_raw_from(i32 x, u32 lane) { return (i32)c_bits_from((u32)x, lane); }
C_FN f32 c_raw_from(f32 x, u32 lane) { return c_bits_as<f32>(c_bits_from(c_bits_as<u32>(x), lane)); }
C_FN u64 c_raw_from(u64 x, u32 lane) { return c_bits_from(x, lane); }
C_FN i64 c_raw_from(i64 x, u32 lane) { return (i64)c_bits_from((u64)x, lane); }
C_FN f64 c_raw_from(f64 x, u32 lane) { return c_bits_as<f64>(c_bits_from(c_bits_as<u64>(x), lane)); }
C_FN u16 c_raw_from(u16 x, u32 lane) { return (u16)c_bits_from((u32)x, lane); }
C_FN i16 c_raw_from(i16 x, u32 lane) { return (i16)c_bits_from((u32)x, lane); }
C_FN f16 c_raw_from(f16 x, u32 lane) { return f16{(u16)c_bits_from((u32)x.bits, lane)}; }
C_FN bool c_raw_from(bool x, u32 lane) { return c_bits_from((u32)x, lane) != 0u; }
// From a lane that is not there comes zero.
template<class T> C_FN T c_shuffle(T x, u32 lane) {
  T found = c_raw_from(x, lane & (C_WAVE - 1u));
  return lane < c_lanes() ? found : T{};
}
template<class T, int N> C_FN vec<T, N> c_shuffle(vec<T, N> x, u32 lane) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_shuffle(x[i], lane);
  return x;
}
template<class T> C_FN T c_broadcast(T x, u32 lane) { return c_shuffle(x, lane); }
template<class T> C_FN T c_shuffle_up(T x, u32 distance) {
  return c_shuffle(x, distance <= c_lane() ? c_lane() - distance : C_WAVE);
}
template<class T> C_FN T c_shuffle_down(T x, u32 distance) {
  return c_shuffle(x, distance < C_WAVE ? c_lane() + distance : C_WAVE);
}
template<class T> C_FN T c_shuffle_xor(T x, u32 mask) { return c_shuffle(x, c_lane() ^ mask); }
template<class T> C_FN T c_quad_broadcast(T x, u32 id) { return c_shuffle(x, (c_lane() & ~3u) + id); }
C_FN vec<u32, 4> c_subgroup_ballot(bool x) {
  u64 found = c_ballot(x, c_lanes());
  return vec<u32, 4>{(u32)found, (u32)(found >> 32), 0u, 0u};
}
C_FN bool c_subgroup_all(bool x) { return c_ballot(!x, c_lanes()) == 0ull; }
C_FN bool c_subgroup_any(bool x) { return c_ballot(x, c_lanes()) != 0ull; }

// How two lanes are combined, and what an exclusive scan gives to the first.
#define C_COMBINE(NAME, F, FIRST) \
  struct NAME { \
    enum { first = FIRST }; \
    template<class T> C_METHOD static T of(T a, T b) { return F(a, b); } \
  };
C_COMBINE(c_by_add, c_add, 0) C_COMBINE(c_by_mul, c_mul, 1) C_COMBINE(c_by_min, c_min, 0) C_COMBINE(c_by_max, c_max, 0)
C_COMBINE(c_by_and, c_and, 0) C_COMBINE(c_by_or, c_or, 0) C_COMBINE(c_by_xor, c_xor, 0)
// Whether the order in which lanes are combined is the same everywhere: one by one.
template<class T> struct c_ordered { enum { yes = 0 }; };
#if C_STRICT
template<> struct c_ordered<f32> { enum { yes = 1 }; };
template<> struct c_ordered<f64> { enum { yes = 1 }; };
template<> struct c_ordered<f16> { enum { yes = 1 }; };
#endif
template<class O, class T> C_FN T c_inclusive(T x) {
  u32 lane = c_lane();
  if (c_ordered<T>::yes) {
    T all = c_raw_from(x, 0u), found = all;
    for (u32 n = 1; n < c_lanes(); n++) {
      all = O::of(all, c_raw_from(x, n));
      found = n == lane ? all : found;
    }
    return found;
  }
  C_UNROLL for (u32 d = 1; d < C_WAVE; d *= 2) {
    T before = c_raw_from(x, (lane - d) & (C_WAVE - 1u));
    x = lane >= d ? O::of(before, x) : x;
  }
  return x;
}
template<class O, class T> C_FN T c_exclusive(T x) {
  T found = c_shuffle_up(c_inclusive<O>(x), 1u);
  return c_lane() == 0u ? c_number<T>((f64)O::first) : found;
}
template<class O, class T> C_FN T c_reduce(T x) {
  if (c_ordered<T>::yes) return c_raw_from(c_inclusive<O>(x), c_lanes() - 1u);
  C_UNROLL for (u32 d = C_WAVE / 2u; d > 0u; d /= 2u) {
    T after = c_raw_from(x, (c_lane() + d) & (C_WAVE - 1u));
    x = c_lane() + d < c_lanes() ? O::of(x, after) : x;
  }
  return c_raw_from(x, 0u);
}
template<class O, class T, int N> C_FN vec<T, N> c_reduce(vec<T, N> x) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_reduce<O>(x[i]);
  return x;
}
template<class O, class T, int N> C_FN vec<T, N> c_inclusive(vec<T, N> x) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_inclusive<O>(x[i]);
  return x;
}
template<class O, class T, int N> C_FN vec<T, N> c_exclusive(vec<T, N> x) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_exclusive<O>(x[i]);
  return x;
}

// Loads of bindings that nobody writes while the kernel runs.
C_FN f32 c_constant(const f32* at) { return __ldg(at); }
C_FN f64 c_constant(const f64* at) { return __ldg(at); }
C_FN i32 c_constant(const i32* at) { return __ldg(at); }
C_FN u32 c_constant(const u32* at) { return __ldg(at); }
C_FN i64 c_constant(const i64* at) { return __ldg(at); }
C_FN u64 c_constant(const u64* at) { return __ldg(at); }
C_FN u16 c_constant(const u16* at) { return __ldg(at); }
C_FN i16 c_constant(const i16* at) { return __ldg(at); }
C_FN f16 c_constant(const f16* at) { return f16{__ldg(&at->bits)}; }
#define C_LOADS(T, OWN) \
  C_FN vec<T, 2> c_constant(const vec<T, 2>* at) { OWN##2 v = __ldg((const OWN##2*)at); return vec<T, 2>{v.x, v.y}; } \
  C_FN vec<T, 4> c_constant(const vec<T, 4>* at) { OWN##4 v = __ldg((const OWN##4*)at); return vec<T, 4>{v.x, v.y, v.z, v.w}; }
C_LOADS(f32, float) C_LOADS(i32, int) C_LOADS(u32, uint)
template<class T> C_FN vec<T, 3> c_constant(const vec<T, 3>* at) {
  return vec<T, 3>{c_constant(&at->x), c_constant(&at->y), c_constant(&at->z)};
}

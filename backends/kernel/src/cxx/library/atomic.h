// Atomic operations that are made of others.
template<class T> C_FN T c_atomic_sub(T* at, T x) { return c_atomic_add(at, c_neg(x)); }
C_FN f32 c_atomic_add_float(f32* at, f32 x) {
#if C_STRICT
  u32 old = c_atomic_load((const u32*)at);
  for (;;) {
    u32 found = c_atomic_compare((u32*)at, old, c_bits_as<u32>(c_bits_as<f32>(old) + x));
    if (found == old) return c_bits_as<f32>(old);
    old = found;
  }
#else
  return C_ATOMIC_ADD_FLOAT(at, x);
#endif
}
C_FN f32 c_atomic_sub_float(f32* at, f32 x) { return c_atomic_add_float(at, -x); }

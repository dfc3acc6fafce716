// Functions on bits, and packing.
C_FN u32 c_ones(u16 x) { return c_ones((u32)x); }
C_FN u32 c_zeros(u16 x) { return c_zeros((u32)x) - 16u; }
C_FN u16 c_reversed(u16 x) { return (u16)(c_reversed((u32)x) >> 16); }
template<class T> struct c_plain { typedef T type; };
template<> struct c_plain<i16> { typedef u16 type; };
template<> struct c_plain<i32> { typedef u32 type; };
template<> struct c_plain<i64> { typedef u64 type; };
#define C_PLAIN typename c_plain<T>::type
template<class T> C_FN T c_count_ones(T x) { return (T)c_ones((C_PLAIN)x); }
template<class T> C_FN T c_leading_zeros(T x) { return (T)c_zeros((C_PLAIN)x); }
template<class T> C_FN T c_trailing_zeros(T x) { return (T)c_zeros(c_reversed((C_PLAIN)x)); }
template<class T> C_FN T c_reverse_bits(T x) { return (T)c_reversed((C_PLAIN)x); }
// Of a negative number the highest bit that is 0; -1 where there is none.
template<class T> C_FN T c_first_leading_bit(T x) {
  C_PLAIN bits = (C_PLAIN)(x < 0 ? (T)~x : x);
  return (T)(8u * (u32)sizeof(T) - 1u - c_zeros(bits));
}
template<> C_METHOD i64 c_first_leading_bit<i64>(i64 x) { return 63 - (i64)c_zeros((u64)(x < 0 ? ~x : x)); }
template<> C_METHOD u64 c_first_leading_bit<u64>(u64 x) { return 63ull - (u64)c_zeros(x); }
template<class T> C_FN T c_first_trailing_bit(T x) { return x == 0 ? (T)-1 : c_trailing_zeros(x); }
// A field is kept inside of the type.
template<class T> C_FN T c_extract_bits(T x, u32 offset, u32 count) {
  u32 width = 8u * (u32)sizeof(T);
  offset = offset < width ? offset : width;
  u32 rest = width - offset;
  count = count < rest ? count : rest;
  if (count == 0u) return (T)0;
  T up = (T)((C_PLAIN)x << (width - count - offset));
  return (T)(up >> (width - count));
}
template<class T> C_FN T c_insert_bits(T x, T field, u32 offset, u32 count) {
  u32 width = 8u * (u32)sizeof(T);
  offset = offset < width ? offset : width;
  u32 rest = width - offset;
  count = count < rest ? count : rest;
  if (count == 0u) return x;
  C_PLAIN ones = (C_PLAIN)((C_PLAIN)~(C_PLAIN)0 >> (width - count));
  C_PLAIN mask = (C_PLAIN)(ones << offset);
  return (T)(((C_PLAIN)x & ~mask) | ((C_PLAIN)((C_PLAIN)field << offset) & mask));
}
C_EACH1(c_count_ones, T) C_EACH1(c_leading_zeros, T) C_EACH1(c_trailing_zeros, T) C_EACH1(c_reverse_bits, T)
C_EACH1(c_first_leading_bit, T) C_EACH1(c_first_trailing_bit, T)
template<class T, int N> C_FN vec<T, N> c_extract_bits(vec<T, N> x, u32 offset, u32 count) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_extract_bits(x[i], offset, count);
  return x;
}
template<class T, int N> C_FN vec<T, N> c_insert_bits(vec<T, N> x, vec<T, N> field, u32 offset, u32 count) {
  C_UNROLL for (int i = 0; i < N; i++) x[i] = c_insert_bits(x[i], field[i], offset, count);
  return x;
}

C_FN i32 c_signed_byte(u32 word, u32 n) { return (i32)(word << (24u - 8u * n)) >> 24; }
C_FN u32 c_byte(u32 word, u32 n) { return word >> (8u * n) & 255u; }
C_FN i32 c_dot4_i8(u32 a, u32 b) {
  i32 sum = 0;
  C_UNROLL for (u32 n = 0; n < 4; n++) sum += c_signed_byte(a, n) * c_signed_byte(b, n);
  return sum;
}
C_FN u32 c_dot4_u8(u32 a, u32 b) {
  u32 sum = 0;
  C_UNROLL for (u32 n = 0; n < 4; n++) sum += c_byte(a, n) * c_byte(b, n);
  return sum;
}
C_FN u32 c_fixed(f32 x, f32 least, f32 scale) {
  f32 clamped = c_clamp(x, least, 1.0f);
  return (u32)c_to<i32>(c_floor(clamped * scale + 0.5f));
}
template<int N> C_FN u32 c_pack_fixed(vec<f32, N> x, f32 least, f32 scale) {
  u32 word = 0, width = 32 / N;
  C_UNROLL for (u32 n = 0; n < N; n++) word |= (c_fixed(x[n], least, scale) & ((1u << width) - 1u)) << (n * width);
  return word;
}
C_FN u32 c_pack4x8snorm(vec<f32, 4> x) { return c_pack_fixed(x, -1.0f, 127.0f); }
C_FN u32 c_pack4x8unorm(vec<f32, 4> x) { return c_pack_fixed(x, 0.0f, 255.0f); }
C_FN u32 c_pack2x16snorm(vec<f32, 2> x) { return c_pack_fixed(x, -1.0f, 32767.0f); }
C_FN u32 c_pack2x16unorm(vec<f32, 2> x) { return c_pack_fixed(x, 0.0f, 65535.0f); }
C_FN vec<f32, 4> c_unpack4x8snorm(u32 w) {
  vec<f32, 4> out;
  C_UNROLL for (u32 n = 0; n < 4; n++) out[n] = c_max((f32)c_signed_byte(w, n) / 127.0f, -1.0f);
  return out;
}
C_FN vec<f32, 4> c_unpack4x8unorm(u32 w) {
  vec<f32, 4> out;
  C_UNROLL for (u32 n = 0; n < 4; n++) out[n] = (f32)c_byte(w, n) / 255.0f;
  return out;
}
C_FN vec<f32, 2> c_unpack2x16snorm(u32 w) {
  return vec<f32, 2>{c_max((f32)((i32)(w << 16) >> 16) / 32767.0f, -1.0f), c_max((f32)((i32)w >> 16) / 32767.0f, -1.0f)};
}
C_FN vec<f32, 2> c_unpack2x16unorm(u32 w) { return vec<f32, 2>{(f32)(w & 0xffffu) / 65535.0f, (f32)(w >> 16) / 65535.0f}; }
C_FN u32 c_pack2x16float(vec<f32, 2> x) { return (u32)c_f16(x.x).bits | (u32)c_f16(x.y).bits << 16; }
C_FN vec<f32, 2> c_unpack2x16float(u32 w) { return vec<f32, 2>{c_f32(f16{(u16)w}), c_f32(f16{(u16)(w >> 16)})}; }
template<class T> C_FN u32 c_pack_bytes(vec<T, 4> x) {
  u32 word = 0;
  C_UNROLL for (u32 n = 0; n < 4; n++) word |= ((u32)x[n] & 255u) << (8u * n);
  return word;
}
C_FN u32 c_pack4x_i8(vec<i32, 4> x) { return c_pack_bytes(x); }
C_FN u32 c_pack4x_u8(vec<u32, 4> x) { return c_pack_bytes(x); }
C_FN u32 c_pack4x_i8_clamp(vec<i32, 4> x) { return c_pack_bytes(c_clamp(x, c_splat4(-128), c_splat4(127))); }
C_FN u32 c_pack4x_u8_clamp(vec<u32, 4> x) { return c_pack_bytes(c_min(x, c_splat4(255u))); }
C_FN vec<i32, 4> c_unpack4x_i8(u32 w) {
  return vec<i32, 4>{c_signed_byte(w, 0), c_signed_byte(w, 1), c_signed_byte(w, 2), c_signed_byte(w, 3)};
}
C_FN vec<u32, 4> c_unpack4x_u8(u32 w) { return vec<u32, 4>{c_byte(w, 0), c_byte(w, 1), c_byte(w, 2), c_byte(w, 3)}; }

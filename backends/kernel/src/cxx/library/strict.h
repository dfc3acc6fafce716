// The transcendental functions of f32 with the bits of every device: those of `math` in C++, step by step. They work in f64, whose sums, products
// and quotients are rounded alike everywhere as long as none is contracted. The tables c_powers and c_logarithms stand before this.
C_FN f64 c_signed(f64 size, f64 sign) {
  return c_bits_as<f64>((c_bits_as<u64>(size) & 0x7fffffffffffffffull) | (c_bits_as<u64>(sign) & 0x8000000000000000ull));
}
C_FN f64 c_wide_exp2(f64 x) {
  const f64 round = 211106232532992.0;
  x = x < -200.0 ? -200.0 : x > 200.0 ? 200.0 : x;
  f64 rounded = x + round;
  i32 steps = (i32)(u32)c_bits_as<u64>(rounded);
  f64 r = (x - (rounded - round)) * 0.69314718055994530942;
  f64 square = r * r;
  f64 low = 1.0 + r;
  f64 high = (1.0 / 2.0 + r * (1.0 / 6.0)) + square * ((1.0 / 24.0 + r * (1.0 / 120.0)) + square * (1.0 / 720.0));
  f64 scale = c_bits_as<f64>(c_powers[steps & 31]) * c_power_of_two(steps >> 5);
  return scale * (low + square * high);
}
// Exponent, and logarithm of the rest.
C_FN void c_wide_log(f64 x, f64& k, f64& log) {
  u64 bits = c_bits_as<u64>(x);
  u64 above = bits - c_bits_as<u64>((f64)c_bits_as<f32>(0x3f330000u));
  f64 z = c_bits_as<f64>(bits - (above & (0xfffull << 52)));
  u32 step = (u32)(above >> 47) % 32u;
  f64 r = z * c_bits_as<f64>(c_logarithms[2u * step]) - 1.0;
  f64 square = r * r;
  f64 low = -1.0 / 2.0 + r * (1.0 / 3.0);
  f64 middle = -1.0 / 4.0 + r * (1.0 / 5.0);
  f64 high = (-1.0 / 6.0 + r * (1.0 / 7.0)) + square * (-1.0 / 8.0 + r * (1.0 / 9.0));
  k = (f64)((i64)above >> 52);
  log = c_bits_as<f64>(c_logarithms[2u * step + 1u]) + (r + square * (low + square * (middle + square * high)));
}
C_FN f64 c_wide_infinity() { return c_bits_as<f64>(0x7ff0000000000000ull); }
C_FN f64 c_wide_nan() { return c_bits_as<f64>(0x7ff8000000000000ull); }
C_FN bool c_has_log(f64 x) { return x > 0.0 && x < c_wide_infinity(); }
C_FN f64 c_log_edge(f64 x) { return x == 0.0 ? -c_wide_infinity() : x < 0.0 ? c_wide_nan() : x; }
C_FN f64 c_wide_exp(f64 x) { return c_wide_exp2(x * 1.4426950408889634074); }
C_FN f64 c_wide_ln(f64 x) {
  if (!c_has_log(x)) return c_log_edge(x);
  f64 k, log;
  c_wide_log(x, k, log);
  return k * 0.69314718055994530942 + log;
}
C_FN f64 c_wide_log2(f64 x) {
  if (!c_has_log(x)) return c_log_edge(x);
  f64 k, log;
  c_wide_log(x, k, log);
  return k + log * 1.4426950408889634074;
}
C_FN bool c_wide_finite(f64 x) { return c_abs(x) < c_wide_infinity(); }
C_FN bool c_is_odd(f64 y) { return c_abs(y) < 16777216.0 && c_trunc(y) == y && ((i32)y & 1) == 1; }
C_FN f64 c_power_of(f64 size, f64 y) {
  f64 k, log;
  c_wide_log(size, k, log);
  f64 exponent = (k + log * 1.4426950408889634074) * y;
  return exponent != exponent ? 1.0 : c_wide_exp2(exponent);
}
C_FN f64 c_wide_pow(f64 x, f64 y) {
  if (c_has_log(x) && c_wide_finite(y)) return c_power_of(x, y);
  if (x == 1.0 || y == 0.0) return 1.0;
  if (x != x || y != y) return c_wide_nan();
  f64 size = c_abs(x);
  bool negative = (c_bits_as<u64>(x) >> 63) != 0ull && c_is_odd(y);
  f64 power;
  if (size == 0.0 || size == c_wide_infinity()) {
    power = (size == 0.0) == (y > 0.0) ? 0.0 : c_wide_infinity();
  } else if (x < 0.0 && c_wide_finite(y) && c_trunc(y) != y) {
    return c_wide_nan();
  } else {
    power = c_power_of(size, y);
  }
  return negative ? -power : power;
}
C_FN f64 c_wide_sinh(f64 x) {
  if (c_abs(x) < 0.5) {
    f64 square = x * x;
    f64 terms = square * (1.0 / 6.0 + square * (1.0 / 120.0 + square * (1.0 / 5040.0 + square * (1.0 / 362880.0))));
    return x + x * (terms + square * square * square * square * square * (1.0 / 39916800.0));
  }
  f64 power = c_wide_exp2(c_abs(x) * 1.4426950408889634074);
  return c_signed(0.5 * (power - 1.0 / power), x);
}
C_FN f64 c_wide_cosh(f64 x) {
  f64 power = c_wide_exp2(c_abs(x) * 1.4426950408889634074);
  return 0.5 * (power + 1.0 / power);
}
C_FN f64 c_wide_tanh(f64 x) {
  if (c_abs(x) < 0.55) {
    f64 s = x * x;
    f64 above = 135135.0 + s * (17325.0 + s * (378.0 + s));
    f64 below = 135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0));
    return x * (above / below);
  }
  f64 power = c_wide_exp2(c_abs(x) * (2.0 * 1.4426950408889634074));
  return c_signed(1.0 - 2.0 / (power + 1.0), x);
}

// 256 bits of 2/pi behind the point.
C_TABLE u32 c_quarters[9] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0u};
C_FN u32 c_digits(u32 start) {
  u32 word = start / 32u, shift = start % 32u;
  return shift == 0u ? c_quarters[word] : c_quarters[word] << shift | c_quarters[word + 1u] >> (32u - shift);
}
// A number of 96 bits, rounded once.
C_FN f64 c_from_words(u64 high, u32 low) {
  if (high == 0ull) return (f64)low;
  u32 zeros = c_zeros(high);
  u64 digits = high << zeros;
  if (zeros <= 32u) {
    u32 cut = 32u - zeros;
    digits |= (u64)low >> cut;
    if (((u64)low & ((1ull << cut) - 1ull)) != 0ull) digits |= 1ull;
  } else {
    digits |= (u64)low << (zeros - 32u);
  }
  return (f64)digits * c_power_of_two(32 - (i32)zeros);
}
C_FN u32 c_reduce_large(f32 x, f64& rest) {
  u32 bits = c_bits_as<u32>(x);
  u64 mantissa = (bits & 0x7fffffu) | 0x800000u;
  i32 exponent = (i32)(bits >> 23 & 0xffu) - 150;
  u32 start = exponent > 2 ? (u32)(exponent - 2) : 0u, missing = exponent < 2 ? (u32)(2 - exponent) : 0u;
  u32 d2 = c_digits(start), d1 = c_digits(start + 32u), d0 = c_digits(start + 64u);
  if (missing != 0u) {
    d0 = d0 >> missing | d1 << (32u - missing);
    d1 = d1 >> missing | d2 << (32u - missing);
    d2 = d2 >> missing;
  }
  u64 p0 = mantissa * d0, p1 = mantissa * d1 + (p0 >> 32), p2 = mantissa * d2 + (p1 >> 32);
  u32 w0 = (u32)p0, w1 = (u32)p1, w2 = (u32)p2;
  u32 quarters = (u32)(((u64)w2 + (1ull << 29)) >> 30);
  i64 top = (i64)w2 - ((i64)quarters << 30);
  u64 high = (u64)top << 32 | w1;
  bool below = top < 0;
  if (below) {
    high = ~high + (w0 == 0u ? 1ull : 0ull);
    w0 = 0u - w0;
  }
  f64 size = c_from_words(high, w0) * c_power_of_two(-94) * 1.57079632679489661923;
  rest = below != (x < 0.0f) ? -size : size;
  return x < 0.0f ? 0u - quarters : quarters;
}
// Quarter turns, and what is left.
C_FN u32 c_reduce_turns(f64 x, f64& rest) {
  const f64 round = 6755399441055744.0;
  if (!c_wide_finite(x)) {
    rest = c_wide_nan();
    return 0u;
  }
  if (c_abs(x) >= 1048576.0) return c_reduce_large((f32)x, rest);
  f64 rounded = x * 0.63661977236758134308 + round;
  f64 quarters = rounded - round;
  rest = (x - quarters * 1.5707963109016418) - quarters * 1.5893254773528196e-8;
  return (u32)c_bits_as<u64>(rounded);
}
C_FN f64 c_sine(f64 r) {
  f64 s = r * r;
  f64 low = -1.0 / 6.0 + s * (1.0 / 120.0);
  f64 middle = -1.0 / 5040.0 + s * (1.0 / 362880.0);
  f64 high = -1.0 / 39916800.0 + s * (1.0 / 6227020800.0);
  f64 fourth = s * s;
  return r + r * s * (low + fourth * (middle + fourth * high));
}
C_FN f64 c_cosine(f64 r) {
  f64 s = r * r;
  f64 low = 1.0 / 24.0 + s * (-1.0 / 720.0);
  f64 middle = 1.0 / 40320.0 + s * (-1.0 / 3628800.0);
  f64 high = 1.0 / 479001600.0 + s * (-1.0 / 87178291200.0);
  f64 fourth = s * s;
  return (1.0 - 0.5 * s) + fourth * (low + fourth * (middle + fourth * high));
}
C_FN f64 c_wide_sin(f64 x) {
  if (x == 0.0) return x;
  f64 rest;
  u32 quarters = c_reduce_turns(x, rest);
  f64 size = (quarters & 1u) == 0u ? c_sine(rest) : c_cosine(rest);
  return (quarters & 2u) == 0u ? size : -size;
}
C_FN f64 c_wide_cos(f64 x) {
  f64 rest;
  u32 quarters = c_reduce_turns(x, rest);
  f64 size = (quarters & 1u) == 0u ? c_cosine(rest) : c_sine(rest);
  return ((quarters + 1u) & 2u) == 0u ? size : -size;
}
C_FN f64 c_wide_tan(f64 x) {
  if (x == 0.0) return x;
  f64 rest;
  u32 quarters = c_reduce_turns(x, rest);
  f64 sine = c_sine(rest), cosine = c_cosine(rest);
  return (quarters & 1u) == 0u ? sine / cosine : -cosine / sine;
}
#define C_ROUNDED(F, WIDE) \
  C_FN f32 F(f32 x) { return (f32)WIDE((f64)x); } \
  C_HALF1(F) C_EACH1(F, T)
C_ROUNDED(c_sin, c_wide_sin) C_ROUNDED(c_cos, c_wide_cos) C_ROUNDED(c_tan, c_wide_tan) C_ROUNDED(c_sinh, c_wide_sinh)
C_ROUNDED(c_cosh, c_wide_cosh) C_ROUNDED(c_tanh, c_wide_tanh) C_ROUNDED(c_exp, c_wide_exp) C_ROUNDED(c_exp2, c_wide_exp2)
C_ROUNDED(c_log, c_wide_ln) C_ROUNDED(c_log2, c_wide_log2)
C_FN f32 c_pow(f32 x, f32 y) { return (f32)c_wide_pow((f64)x, (f64)y); }
C_HALF2(c_pow) C_EACH2(c_pow, T, T)

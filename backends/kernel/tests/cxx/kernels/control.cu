// kernel_main ["--std=c++17", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--fmad=true"]
// Parameters { size: 32, fields: [Field { offset: 0, parameter: Address { binding: 0 } }, Field { offset: 8, parameter: Address { binding: 1 } }, Field { offset: 16, parameter: Elements { binding: 0, start: 0, stride: 4 } }, Field { offset: 20, parameter: Elements { binding: 1, start: 0, stride: 4 } }] }
struct alignas(16) Parameters { const u32* b0_input; u32* b1_out; u32 n0_input; u32 n1_out; };
static_assert(C_OFFSET(Parameters, b0_input) == 0, "offset of b0_input");
static_assert(C_OFFSET(Parameters, b1_out) == 8, "offset of b1_out");
static_assert(C_OFFSET(Parameters, n0_input) == 16, "offset of n0_input");
static_assert(C_OFFSET(Parameters, n1_out) == 20, "offset of n1_out");
static_assert(sizeof(Parameters) == 32, "size of the parameters");
C_FUNCTION u32 f0_collatz(const Parameters& c, u32 a0_start) {
  u32 l0_n = u32{};
  u32 l1_steps = 0u;
  bool l2 = bool{};
  l0_n = a0_start;
  for (;;) {
    C_ENDLESS
    {
      const u32 e4 = l0_n;
      const bool e6 = e4 > 1u;
      if (e6) {
        const u32 e9 = l1_steps;
        const bool e11 = e9 < 500u;
        l2 = e11;
      } else {
        l2 = false;
      }
      const bool e13 = l2;
      if (!(e13)) {
        break;
      }
      {
        const u32 e15 = l1_steps;
        const u32 e16 = e15 + 1u;
        l1_steps = e16;
        const u32 e17 = l0_n;
        const u32 e19 = c_rem(e17, 2u);
        const bool e21 = e19 == 0u;
        if (e21) {
          const u32 e22 = l0_n;
          const u32 e24 = c_div(e22, 2u);
          l0_n = e24;
          goto next0;
        }
        const u32 e26 = l0_n;
        const u32 e27 = 3u * e26;
        const u32 e29 = e27 + 1u;
        l0_n = e29;
      }
    }
    next0:;
  }
  const u32 e30 = l1_steps;
  return e30;
}
C_FUNCTION u32 f1_walk(const Parameters& c, u32 a0_limit) {
  u32 l0_sum = 0u;
  u32 l1_i = 0u;
  u32 l2_k = u32{};
  u32 e5;
  u32 e7;
  u32 e9;
  for (;;) {
    C_ENDLESS
    {
      e5 = l1_i;
      e7 = c_rem(e5, 3u);
      e9 = e7 + 1u;
      const u32 e10 = l1_i;
      const u32 e12 = c_rem(e10, 5u);
      const bool e14 = e12 == 4u;
      if (e14) {
        goto next0;
      }
      const u32 e15 = l1_i;
      const u32 e17 = c_rem(e15, 7u);
      switch (e17) {
      case 0u: {
        const u32 e18 = l0_sum;
        const u32 e20 = e18 + 1u;
        l0_sum = e20;
        break;
      }
      case 1u:
      case 2u: {
        const u32 e21 = l0_sum;
        const bool e23 = e21 > 50u;
        if (e23) {
          goto next0;
        }
        const u32 e24 = l0_sum;
        const u32 e26 = e24 + 10u;
        l0_sum = e26;
        break;
      }
      default: {
        const u32 e27 = l0_sum;
        const bool e29 = e27 > 1000u;
        if (e29) {
          break;
        }
        const u32 e30 = l0_sum;
        const u32 e32 = e30 + 100u;
        l0_sum = e32;
        break;
      }
      case 3u: {
        const u32 e33 = l0_sum;
        const u32 e35 = e33 + 2u;
        l0_sum = e35;
        break;
      }
      }
      l2_k = 0u;
      #pragma unroll
      for (;;) {
        {
          const u32 e38 = l2_k;
          const bool e40 = e38 < 4u;
          if (!(e40)) {
            break;
          }
          {
            const u32 e41 = l0_sum;
            const u32 e42 = l2_k;
            const u32 e43 = l1_i;
            const u32 e44 = e42 * e43;
            const u32 e45 = e41 + e44;
            l0_sum = e45;
          }
        }
        {
          const u32 e47 = l2_k;
          const u32 e48 = e47 + 1u;
          l2_k = e48;
          if (e48 == 0u) __builtin_unreachable();
        }
      }
    }
    next0:;
    {
      const u32 e49 = l1_i;
      const u32 e50 = e49 + e9;
      l1_i = e50;
      const u32 e51 = l1_i;
      const bool e52 = e51 >= a0_limit;
      if (e52) break;
    }
  }
  const u32 e53 = l0_sum;
  return e53;
}
C_KERNEL(16) kernel_main(C_PARAMETER Parameters c) {
  const vec<u32, 3> a0_id = vec<u32, 3>{C_GROUP_X * C_SIZE_X + C_THREAD_X, C_GROUP_Y * C_SIZE_Y + C_THREAD_Y, C_GROUP_Z * C_SIZE_Z + C_THREAD_Z};
  const u32 e2 = a0_id.x;
  const u32 e4 = e2 < c.n0_input ? c_constant(&c.b0_input[e2]) : u32{};
  const u32 e6 = c_rem(e4, 1000u);
  const u32 e8 = a0_id.x;
  const u32 e10 = f0_collatz(c, e6);
  const u32 e13 = c_rem(e6, 40u);
  const u32 e14 = f1_walk(c, e13);
  const u32 e15 = 1000u * e14;
  const u32 e16 = e10 + e15;
  if (e8 < c.n1_out) c.b1_out[e8] = e16;
  return;
}
}

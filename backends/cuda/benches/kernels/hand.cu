// The algorithms of the WGSL files beside this one, as somebody who writes CUDA would write them.
typedef unsigned u32;

extern "C" __global__ void __launch_bounds__(256) saxpy(const float* __restrict__ x, float* __restrict__ y, u32 n, float factor) {
  u32 at = blockIdx.x * 256 + threadIdx.x;
  if (at < n) y[at] += factor * x[at];
}

extern "C" __global__ void __launch_bounds__(256) saxpy4(const float4* __restrict__ x, float4* __restrict__ y, u32 n, float factor) {
  u32 at = blockIdx.x * 256 + threadIdx.x;
  if (at >= n) return;
  float4 a = x[at], b = y[at];
  y[at] = make_float4(b.x + factor * a.x, b.y + factor * a.y, b.z + factor * a.z, b.w + factor * a.w);
}

extern "C" __global__ void __launch_bounds__(256)
matmul(const float* __restrict__ left, const float* __restrict__ right, float* __restrict__ product, u32 side) {
  __shared__ float rows[16][16], columns[16][16];
  u32 x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (u32 start = 0; start < side; start += 16) {
    rows[y][x] = left[row * side + start + x];
    columns[y][x] = right[(start + y) * side + column];
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 16; k++) sum += rows[y][k] * columns[k][x];
    __syncthreads();
  }
  product[row * side + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
gemm(const float* __restrict__ left, const float* __restrict__ right, float* __restrict__ product, u32 side) {
  __shared__ __align__(16) float rows[16][64];
  __shared__ __align__(16) float columns[16][64];
  u32 x = threadIdx.x, y = threadIdx.y, index = y * 16 + x, top = blockIdx.y * 64, across = blockIdx.x * 64;
  float sums[4][4] = {};
  for (u32 start = 0; start < side; start += 16) {
#pragma unroll
    for (u32 part = 0; part < 4; part++) {
      u32 at = index + part * 256;
      rows[at % 16][at / 16] = left[(top + at / 16) * side + start + at % 16];
      columns[at / 64][at % 64] = right[(start + at / 64) * side + across + at % 64];
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 16; k++) {
      float4 a = *(const float4*)&rows[k][y * 4], b = *(const float4*)&columns[k][x * 4];
      const float as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (u32 i = 0; i < 4; i++)
#pragma unroll
        for (u32 j = 0; j < 4; j++) sums[i][j] += as[i] * bs[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (u32 i = 0; i < 4; i++)
#pragma unroll
    for (u32 j = 0; j < 4; j++) product[(top + y * 4 + i) * side + across + x * 4 + j] = sums[i][j];
}

extern "C" __global__ void __launch_bounds__(256) reduce(const float* __restrict__ x, float* __restrict__ sums, u32 n) {
  __shared__ float parts[256];
  u32 local = threadIdx.x;
  float sum = 0;
  for (u32 at = blockIdx.x * 256 + local; at < n; at += gridDim.x * 256) sum += x[at];
  parts[local] = sum;
  __syncthreads();
  for (u32 half = 128; half > 0; half /= 2) {
    if (local < half) parts[local] += parts[local + half];
    __syncthreads();
  }
  if (local == 0) sums[blockIdx.x] = parts[0];
}

extern "C" __global__ void __launch_bounds__(256) mandelbrot(u32* __restrict__ passes, u32 side, u32 most, float step) {
  u32 px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 16 + threadIdx.y;
  if (px >= side || py >= side) return;
  float cx = px * step - 2.2f, cy = py * step - 1.5f, x = 0, y = 0;
  u32 n = 0;
  for (; n < most; n++) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
  }
  passes[py * side + px] = n;
}

extern "C" __global__ void __launch_bounds__(256) nbody(const float4* __restrict__ bodies, float4* __restrict__ pulls, u32 count, float soft) {
  u32 id = blockIdx.x * 256 + threadIdx.x;
  if (id >= count) return;
  float4 own = bodies[id];
  float px = 0, py = 0, pz = 0;
  for (u32 n = 0; n < count; n++) {
    float4 other = bodies[n];
    float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
    float inverse = rsqrtf(x * x + y * y + z * z + soft);
    float strength = other.w * inverse * inverse * inverse;
    px += x * strength;
    py += y * strength;
    pz += z * strength;
  }
  pulls[id] = make_float4(px, py, pz, 0);
}

extern "C" __global__ void __launch_bounds__(256) stencil(const float* __restrict__ from, float* __restrict__ to, u32 width, u32 height) {
  u32 x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  u32 at = y * width + x;
  to[at] = 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at - width] + from[at + width]);
}

extern "C" __global__ void __launch_bounds__(256) histogram(const u32* __restrict__ words, u32* __restrict__ counts, u32 n) {
  __shared__ u32 own[256];
  u32 local = threadIdx.x;
  own[local] = 0;
  __syncthreads();
  for (u32 at = blockIdx.x * 256 + local; at < n; at += gridDim.x * 256) {
    u32 word = words[at];
#pragma unroll
    for (u32 shift = 0; shift < 32; shift += 8) atomicAdd(&own[(word >> shift) & 255], 1u);
  }
  __syncthreads();
  atomicAdd(&counts[local], own[local]);
}

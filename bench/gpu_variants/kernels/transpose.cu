// Transposition of a matrix whose sides are multiples of 128.
#include "common.cuh"

// Tiles of 32 x 32, 4 bytes a lane, each load followed by its store to shared memory.
// ROLLED: one load in flight; else four.
template <bool ROLLED>
KERNEL(256)
transpose_scalar(const float* x, float* y, int rows, int columns) {
  SHARED float tile[32][33];
  const int column = int(blockIdx.x) * 32, row = int(blockIdx.y) * 32, lane = int(threadIdx.x) % 32;
  const int warp = int(threadIdx.x) / 32;
#pragma unroll(ROLLED ? 1 : 4)
  for (int r = warp; r < 32; r += 8) tile[r][lane] = x[i64(row + r) * columns + column + lane];
  __syncthreads();
#pragma unroll(ROLLED ? 1 : 4)
  for (int c = warp; c < 32; c += 8) y[i64(column + c) * rows + row + lane] = tile[lane][c];
}

// The four columns of four vectors.
DEVICE void transpose_four(float4 (&v)[4]) {
  const float4 a = v[0], b = v[1], c = v[2], d = v[3];
  v[0] = {a.x, b.x, c.x, d.x};
  v[1] = {a.y, b.y, c.y, d.y};
  v[2] = {a.z, b.z, c.z, d.z};
  v[3] = {a.w, b.w, c.w, d.w};
}

// Tiles of SIDE x SIDE with 16 bytes a lane on both sides, SIDE * SIDE / 4 / THREADS vectors in flight.
// LAYOUT padded: single floats in rows of SIDE + 1. swizzled: vectors in shared memory, the place of column group g in
// row r is g xor (r / 4 mod 8), so that eight lanes in a row or in a column use all banks; four rows are transposed in
// registers. ALONG: neighbouring blocks follow the rows of y instead of those of x.
constexpr int padded = 0, swizzled = 1;
template <int SIDE, int THREADS, int LAYOUT, bool ALONG>
KERNEL(THREADS)
transpose_tile(const float* x, float* y, int rows, int columns) {
  constexpr int across = SIDE / 4, flight = SIDE * across / THREADS, thread_rows = THREADS / across;
  static_assert(flight % 4 == 0 || LAYOUT == padded, "four vectors are transposed together");
  const int column = int(ALONG ? blockIdx.y : blockIdx.x) * SIDE, row = int(ALONG ? blockIdx.x : blockIdx.y) * SIDE;
  const int lane = int(threadIdx.x) % across, line = int(threadIdx.x) / across;
  const float4* from = (const float4*)(x + i64(row + line) * columns + column) + lane;
  float4 v[flight];
#pragma unroll
  for (int i = 0; i < flight; ++i) v[i] = from[i64(i) * thread_rows * (columns / 4)];
  float4* tile = dynamic_shared();
  float* single = (float*)tile;
#pragma unroll
  for (int i = 0; i < flight; ++i) {
    const int r = line + i * thread_rows;
    if (LAYOUT == padded) {
      float* to = single + r * (SIDE + 1) + 4 * lane;
      to[0] = v[i].x;
      to[1] = v[i].y;
      to[2] = v[i].z;
      to[3] = v[i].w;
    } else {
      tile[r * across + (lane ^ (r / 4 % 8))] = v[i];
    }
  }
  __syncthreads();
  if (LAYOUT == padded) {
#pragma unroll
    for (int i = 0; i < flight; ++i) {
      const int c = line + i * thread_rows;
      const float* at = single + 4 * lane * (SIDE + 1) + c;
      ((float4*)(y + i64(column + c) * rows + row))[lane] = {at[0], at[SIDE + 1], at[2 * (SIDE + 1)],
                                                             at[3 * (SIDE + 1)]};
    }
  } else {
#pragma unroll
    for (int i = 0; i < flight / 4; ++i) {
      const int group = line + i * thread_rows;  // of four columns; `lane`: of four rows
      float4 four[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) four[k] = tile[(4 * lane + k) * across + (group ^ (lane % 8))];
      transpose_four(four);
#pragma unroll
      for (int k = 0; k < 4; ++k) ((float4*)(y + i64(column + 4 * group + k) * rows + row))[lane] = four[k];
    }
  }
}

// Without shared memory: a lane transposes 4 x 4 floats. ACROSS lanes are along a row of x (16 * ACROSS
// bytes), 32 / ACROSS along a row of y.
template <int ACROSS, int THREADS>
KERNEL(THREADS)
transpose_registers(const float* x, float* y, int rows, int columns) {
  constexpr int down = 32 / ACROSS, warps = THREADS / 32;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int column = int(blockIdx.x) * 4 * ACROSS + lane % ACROSS * 4;
  const int row = (int(blockIdx.y) * warps + warp) * 4 * down + lane / ACROSS * 4;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = *(const float4*)(x + i64(row + k) * columns + column);
  transpose_four(v);
#pragma unroll
  for (int k = 0; k < 4; ++k) *(float4*)(y + i64(column + k) * rows + row) = v[k];
}

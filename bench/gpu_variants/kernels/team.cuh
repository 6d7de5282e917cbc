// A row that a team of warps holds in registers, and its maximum and sum.
#ifndef VARIANTS_TEAM
#define VARIANTS_TEAM
#include "common.cuh"

// VECTORS of 16 bytes a thread. FIXED: the tree of rows.cu, where a warp takes whole blocks of 1024, so that VECTORS is
// a multiple of 8; else a thread takes every (32 WARPS)th vector and adds them in order: a tree that depends on WARPS.
template <int WARPS, int VECTORS, bool FIXED>
struct Team {
  static constexpr int threads = 32 * WARPS, length = 128 * WARPS * VECTORS;

  // Which vector of the row is this thread's k-th.
  static __device__ __forceinline__ int vector(int k) {
    const int thread = int(threadIdx.x) % threads;
    return FIXED ? thread / 32 * 32 * VECTORS + 32 * k + thread % 32 : threads * k + thread;
  }
  static __device__ __forceinline__ void load(float4 (&v)[VECTORS], const float* row) {
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) v[k] = ((const float4*)row)[vector(k)];
  }

  // `slot`: which of the arrays in shared memory; of two consecutive reductions each wants its own.
  template <int slot>
  static __device__ __forceinline__ float max(float own) {
    const float of_warp = max_of_lanes(own);
    if (WARPS == 1) return of_warp;
    SHARED float warps[WARPS];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = of_warp;
    __syncthreads();
    return max_of_lanes<WARPS>(warps[threadIdx.x % WARPS]);
  }

  // Sums of `value(k)`, a float4 each, over the row: COUNT sums at once, `value(which, k)`.
  template <int slot, int COUNT, class F>
  static __device__ __forceinline__ void sums(float (&totals)[COUNT], const F& value) {
    float own[COUNT];
#pragma unroll
    for (int s = 0; s < COUNT; ++s) own[s] = of_warp([&](int k) { return value(s, k); });
    if (WARPS == 1) {
#pragma unroll
      for (int s = 0; s < COUNT; ++s) totals[s] = own[s];
      return;
    }
    SHARED float warps[COUNT][WARPS];
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int s = 0; s < COUNT; ++s) warps[s][threadIdx.x / 32] = own[s];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < COUNT; ++s) totals[s] = join_neighbours<WARPS>(warps[s][threadIdx.x % WARPS]);
  }
  template <int slot, class F>
  static __device__ __forceinline__ float sum(const F& value) {
    float totals[1];
    sums<slot>(totals, [&](int, int k) { return value(k); });
    return totals[0];
  }

  // The sum of the part of the row that this warp has.
  template <class F>
  static __device__ __forceinline__ float of_warp(const F& value) {
    constexpr int block = FIXED ? 8 : VECTORS;
    float blocks[VECTORS / block];
#pragma unroll
    for (int b = 0; b < VECTORS / block; ++b) {
      float4 sum = value(b * block);
#pragma unroll
      for (int k = 1; k < block; ++k) sum = add(sum, value(b * block + k));
      blocks[b] = sum_of_lanes((sum.x + sum.z) + (sum.y + sum.w));
    }
#pragma unroll
    for (int step = 1; step < VECTORS / block; step *= 2)
#pragma unroll
      for (int b = 0; b + step < VECTORS / block; b += 2 * step) blocks[b] += blocks[b + step];
    return blocks[0];
  }
};

#endif

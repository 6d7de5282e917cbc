// Softmax of rows: where a row is held, how many threads share it, which exp, which division.
// Croton's exp, with what must come before it.
#include "device_cuda.cuh"

#include "numeric.cuh"

#include "math.cuh"

#include "team.cuh"

// EXP: Croton's (an error of one unit in the last place or so), the library's, the approximation of the
// hardware.
constexpr int exp_croton = 0, exp_library = 1, exp_fast = 2;

template <int EXP>
DEVICE float exponential(float x) {
  return EXP == exp_croton ? ct::exp(x) : EXP == exp_library ? expf(x) : __expf(x);
}
template <int EXP>
DEVICE float4 exponentials(float4 v, float largest) {
  return {exponential<EXP>(v.x - largest), exponential<EXP>(v.y - largest), exponential<EXP>(v.z - largest),
          exponential<EXP>(v.w - largest)};
}
DEVICE float largest_of(float4 v) { return maximum(maximum(v.x, v.y), maximum(v.z, v.w)); }

// Division rounded as IEEE 754 says, or one reciprocal a row.
template <bool DIVIDE>
struct Quotient {
  float total, reciprocal;
  __device__ explicit Quotient(float sum) : total(sum), reciprocal(1.0f / sum) {}
  __device__ float4 operator()(float4 v) const {
    if (DIVIDE) return {v.x / total, v.y / total, v.z / total, v.w / total};
    return {v.x * reciprocal, v.y * reciprocal, v.z * reciprocal, v.w * reciprocal};
  }
};

template <int EXP, bool DIVIDE, int WARPS, int VECTORS, bool FIXED>
DEVICE void softmax_of(float4 (&v)[VECTORS], float* y) {
  typedef Team<WARPS, VECTORS, FIXED> Row;
  float own = largest_of(v[0]);
#pragma unroll
  for (int k = 1; k < VECTORS; ++k) own = maximum(own, largest_of(v[k]));
  const float largest = Row::template max<0>(own);
#pragma unroll
  for (int k = 0; k < VECTORS; ++k) v[k] = exponentials<EXP>(v[k], largest);
  const Quotient<DIVIDE> quotient(Row::template sum<1>([&](int k) { return v[k]; }));
#pragma unroll
  for (int k = 0; k < VECTORS; ++k) ((float4*)y)[Row::vector(k)] = quotient(v[k]);
}

// --- The row in registers --------------------------------------------------------------------------------------------

// A block has TEAMS rows at a time, more than one only for teams of one warp. AHEAD: the next row is loaded before this
// one is reduced.
template <int TEAMS, int WARPS, int VECTORS, bool FIXED, int EXP, bool DIVIDE, bool AHEAD, int BLOCKS>
KERNEL_OF(32 * TEAMS * WARPS, BLOCKS)
softmax_registers(const float* x, float* y, int rows) {
  typedef Team<WARPS, VECTORS, FIXED> Row;
  int row = int(blockIdx.x) * TEAMS + int(threadIdx.x) / Row::threads;
  const int step = int(gridDim.x) * TEAMS;
  float4 v[VECTORS];
  if (AHEAD && row < rows) Row::load(v, x + i64(row) * Row::length);
  for (; row < rows; row += step) {
    if (AHEAD) {
      float4 now[VECTORS];
#pragma unroll
      for (int k = 0; k < VECTORS; ++k) now[k] = v[k];
      if (row + step < rows) Row::load(v, x + i64(row + step) * Row::length);
      softmax_of<EXP, DIVIDE, WARPS, VECTORS, FIXED>(now, y + i64(row) * Row::length);
    } else {
      Row::load(v, x + i64(row) * Row::length);
      softmax_of<EXP, DIVIDE, WARPS, VECTORS, FIXED>(v, y + i64(row) * Row::length);
    }
  }
}

// --- The row in shared memory ----------------------------------------------------------------------------------------

// The present row in registers, the next one on its way to shared memory.
template <int WARPS, int VECTORS, bool FIXED, int EXP, bool DIVIDE>
KERNEL(32 * WARPS)
softmax_registers_and_shared(const float* x, float* y, int rows) {
  typedef Team<WARPS, VECTORS, FIXED> Row;
  float4* next = dynamic_shared();
  const auto fetch = [&](int row) {
    if (row < rows) {
#pragma unroll
      for (int k = 0; k < VECTORS; ++k)
        copy_async(next + Row::vector(k), (const float4*)(x + i64(row) * Row::length) + Row::vector(k));
    }
    commit_copies();
  };
  fetch(int(blockIdx.x));
  for (int row = int(blockIdx.x); row < rows; row += int(gridDim.x)) {
    wait_copies<0>();  // each thread reads what it has copied
    float4 v[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) v[k] = next[Row::vector(k)];
    __syncthreads();
    fetch(row + int(gridDim.x));
    softmax_of<EXP, DIVIDE, WARPS, VECTORS, FIXED>(v, y + i64(row) * Row::length);
  }
}

// The row in shared memory alone, each thread in its own places.
template <int WARPS, int VECTORS, int EXP, bool DIVIDE>
KERNEL(32 * WARPS)
softmax_shared(const float* x, float* y, int rows) {
  typedef Team<WARPS, 8, true> Row;  // eight vectors at a time; its length is not that of the row
  constexpr int blocks = VECTORS / 8;
  float4* held = dynamic_shared() + threadIdx.x / 32 * 32 * VECTORS + threadIdx.x % 32;
  for (int row = int(blockIdx.x); row < rows; row += int(gridDim.x)) {
    const i64 start = i64(row) * (32 * WARPS * VECTORS) + threadIdx.x / 32 * 32 * VECTORS + threadIdx.x % 32;
#pragma unroll 8
    for (int k = 0; k < VECTORS; ++k) copy_async(held + 32 * k, (const float4*)x + start + 32 * k);
    commit_copies();
    wait_copies<0>();
    float own = largest_of(held[0]);
#pragma unroll 8
    for (int k = 1; k < VECTORS; ++k) own = maximum(own, largest_of(held[32 * k]));
    const float largest = Row::template max<0>(own);
    Pairwise<float, 5> pieces;
    for (int b = 0; b < blocks; ++b) {
      pieces.push(Row::of_warp([&](int k) {
                    const float4 e = exponentials<EXP>(held[32 * (8 * b + k)], largest);
                    held[32 * (8 * b + k)] = e;
                    return e;
                  }),
                  b);
    }
    SHARED float warps[WARPS];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = pieces.total(blocks);
    __syncthreads();
    const Quotient<DIVIDE> quotient(join_neighbours<WARPS>(warps[threadIdx.x % WARPS]));
#pragma unroll 8
    for (int k = 0; k < VECTORS; ++k) ((float4*)y)[start + 32 * k] = quotient(held[32 * k]);
  }
}

// --- The row read several times --------------------------------------------------------------------------------------

// Three times: for the maximum, for the sum, for the result.
template <int WARPS, int EXP, bool DIVIDE>
KERNEL(32 * WARPS)
softmax_three_reads(const float* x, float* y, int rows, int blocks) {
  typedef Team<WARPS, 8, true> Row;
  const int each = blocks / WARPS;  // blocks of 1024 a warp
  for (int row = int(blockIdx.x); row < rows; row += int(gridDim.x)) {
    const i64 start = (i64(row) * blocks + threadIdx.x / 32 * each) * 256 + threadIdx.x % 32;
    const float4* from = (const float4*)x + start;
    float own = __uint_as_float(0xff800000u);
#pragma unroll 8
    for (int k = 0; k < 8 * each; ++k) own = maximum(own, largest_of(from[32 * k]));
    const float largest = Row::template max<0>(own);
    Pairwise<float, 5> pieces;
    for (int b = 0; b < each; ++b)
      pieces.push(Row::of_warp([&](int k) { return exponentials<EXP>(from[32 * (8 * b + k)], largest); }), b);
    SHARED float warps[WARPS];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = pieces.total(each);
    __syncthreads();
    const Quotient<DIVIDE> quotient(join_neighbours<WARPS>(warps[threadIdx.x % WARPS]));
#pragma unroll 8
    for (int k = 0; k < 8 * each; ++k)
      ((float4*)y)[start + 32 * k] = quotient(exponentials<EXP>(from[32 * k], largest));
  }
}

// Twice: sums of blocks of 1024 relative to the maximum of the block are scaled to that of the row.
template <int WARPS, int EXP, bool DIVIDE>
KERNEL(32 * WARPS)
softmax_two_reads(const float* x, float* y, int rows, int blocks) {
  typedef Team<WARPS, 8, true> Row;
  const int each = blocks / WARPS;
  SHARED float maxima[32], totals[32];
  for (int row = int(blockIdx.x); row < rows; row += int(gridDim.x)) {
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const i64 start = (i64(row) * blocks + warp * each) * 256 + lane;
    const float4* from = (const float4*)x + start;
    for (int b = 0; b < each; ++b) {
      float4 v[8];
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = from[32 * (8 * b + k)];
      float own = largest_of(v[0]);
#pragma unroll
      for (int k = 1; k < 8; ++k) own = maximum(own, largest_of(v[k]));
      own = max_of_lanes(own);
      const float total = Row::of_warp([&](int k) { return exponentials<EXP>(v[k], own); });
      if (lane == 0) {
        maxima[warp * each + b] = own;
        totals[warp * each + b] = total;
      }
    }
    __syncthreads();
    const float of_block = lane < blocks ? maxima[lane] : maxima[0], largest = max_of_lanes(of_block);
    const float scaled = lane < blocks ? totals[lane] * exponential<EXP>(of_block - largest) : 0.0f;
    const Quotient<DIVIDE> quotient(join_neighbours(scaled));
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 8 * each; ++k)
      ((float4*)y)[start + 32 * k] = quotient(exponentials<EXP>(from[32 * k], largest));
  }
}

// --- The row in registers of a cluster of blocks ---------------------------------------------------------------------

template <int CLUSTER, int WARPS, int VECTORS, int EXP, bool DIVIDE>
CLUSTER_KERNEL(CLUSTER, 32 * WARPS)
softmax_cluster(const float* x, float* y) {
  typedef Team<WARPS, VECTORS, true> Part;
  float* exchanged = (float*)dynamic_shared();  // CLUSTER maxima, then CLUSTER sums
  const u32 rank = cluster_rank();
  const i64 start = i64(blockIdx.x) * Part::length;
  cluster_arrive();  // the others must have started before anything is stored there
  float4 v[VECTORS];
  Part::load(v, x + start);
  float own = largest_of(v[0]);
#pragma unroll
  for (int k = 1; k < VECTORS; ++k) own = maximum(own, largest_of(v[k]));
  own = Part::template max<0>(own);
  cluster_wait();
  if (threadIdx.x < CLUSTER) store_to_block(exchanged + rank, threadIdx.x, own);
  cluster_arrive();
  cluster_wait();
  const float largest = max_of_lanes<CLUSTER>(exchanged[threadIdx.x % CLUSTER]);
#pragma unroll
  for (int k = 0; k < VECTORS; ++k) v[k] = exponentials<EXP>(v[k], largest);
  const float total = Part::template sum<1>([&](int k) { return v[k]; });
  if (threadIdx.x < CLUSTER) store_to_block(exchanged + CLUSTER + rank, threadIdx.x, total);
  cluster_arrive();
  cluster_wait();
  const Quotient<DIVIDE> quotient(join_neighbours<CLUSTER>(exchanged[CLUSTER + threadIdx.x % CLUSTER]));
#pragma unroll
  for (int k = 0; k < VECTORS; ++k) ((float4*)(y + start))[Part::vector(k)] = quotient(v[k]);
}

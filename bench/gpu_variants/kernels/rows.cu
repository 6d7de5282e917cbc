// Sums over axis 1 and over whole arrays, of lengths that are powers of two. The tree: in blocks of 1024, element e
// goes to accumulator e mod 128 of lane (e mod 128) / 4, in order; a lane joins (0 + 2) + (1 + 3); lanes join by
// halves; blocks join pairwise.
#include "common.cuh"

DEVICE float of_lane(float4 sums) { return (sums.x + sums.z) + (sums.y + sums.w); }

// --- Rows of at most 1024 --------------------------------------------------------------------------------------------

// LANES threads a row, ROWS rows at a time for each. A thread has the work of several of the tree's lanes: l, l +
// LANES...
template <int LENGTH, int LANES, int ROWS, int THREADS>
KERNEL(THREADS)
sum_short_rows(const float* x, float* out, int rows) {
  constexpr int tree_lanes = LENGTH < 128 ? LENGTH / 4 : 32, own = tree_lanes / LANES,
                steps = LENGTH / (4 * tree_lanes);
  const int lane = int(threadIdx.x) % LANES, team = (int(blockIdx.x) * THREADS + int(threadIdx.x)) / LANES;
  const i64 row = i64(team) * ROWS;
  if (row >= rows) return;  // for whole warps: rows are a multiple of what a warp takes
  const float4* from = (const float4*)(x + row * LENGTH) + lane;
  float4 v[ROWS][own][steps];
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
#pragma unroll
    for (int k = 0; k < own; ++k)
#pragma unroll
      for (int i = 0; i < steps; ++i) v[r][k][i] = from[r * (LENGTH / 4) + i * tree_lanes + k * LANES];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float sums[own];
#pragma unroll
    for (int k = 0; k < own; ++k) {
      float4 sum = v[r][k][0];
#pragma unroll
      for (int i = 1; i < steps; ++i) sum = add(sum, v[r][k][i]);
      sums[k] = of_lane(sum);
    }
#pragma unroll
    for (int half = own / 2; half > 0; half /= 2)
#pragma unroll
      for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
    const float total = sum_of_lanes<LANES>(sums[0]);
    if (lane == 0) out[row + r] = total;
  }
}

// --- Blocks of 1024 by warps -----------------------------------------------------------------------------------------

// The sum of `count` consecutive blocks of 1024, a power of two, by a warp. FLIGHT: vectors a lane loads before it adds
// the first, 2 to 16. AHEAD: the next ones are loaded before the present ones are added.
template <int FLIGHT, bool AHEAD>
DEVICE float sum_of_blocks(const float4* from, u32 count) {
  constexpr int together = FLIGHT > 8 ? FLIGHT / 8 : 1, parts = FLIGHT < 8 ? 8 / FLIGHT : 1;
  const float4* p = from + threadIdx.x % 32;
  Pairwise<float, 7> pieces;
  float4 next[FLIGHT], sum;
  if (AHEAD) {
#pragma unroll
    for (int i = 0; i < FLIGHT; ++i) next[i] = p[32 * i];
  }
  for (u32 block = 0; block < count; block += together) {
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      float4 v[FLIGHT];
#pragma unroll
      for (int i = 0; i < FLIGHT; ++i) v[i] = AHEAD ? next[i] : p[32 * i];
      p += 32 * FLIGHT;
      if (AHEAD && (part + 1 < parts || block + together < count)) {
#pragma unroll
        for (int i = 0; i < FLIGHT; ++i) next[i] = p[32 * i];
      }
#pragma unroll
      for (int b = 0; b < together; ++b) {
#pragma unroll
        for (int i = 0; i < FLIGHT / together; ++i) sum = part == 0 && i == 0 ? v[8 * b] : add(sum, v[8 * b + i]);
        if (together > 1) pieces.push(sum_of_lanes(of_lane(sum)), block + b);
      }
    }
    if (together == 1) pieces.push(sum_of_lanes(of_lane(sum)), block);
  }
  return pieces.total(count);
}

// The consecutive pieces of all warps of a block, joined pairwise; the first warp gets the result.
template <int WARPS>
DEVICE float join_warps(float piece) {
  if (WARPS == 1) return piece;
  SHARED float pieces[32];
  if (threadIdx.x % 32 == 0) pieces[threadIdx.x / 32] = piece;
  __syncthreads();
  return threadIdx.x < 32 ? join_neighbours<WARPS>(pieces[threadIdx.x % WARPS]) : 0.0f;
}

// A warp a row. `blocks`: of 1024, of a row.
template <int FLIGHT, bool AHEAD, int WARPS>
KERNEL(32 * WARPS)
sum_rows_by_warp(const float* x, float* out, int rows, int blocks) {
  for (int row = int(blockIdx.x) * WARPS + int(threadIdx.x) / 32; row < rows; row += int(gridDim.x) * WARPS) {
    const float total = sum_of_blocks<FLIGHT, AHEAD>((const float4*)x + i64(row) * blocks * 256, blocks);
    if (threadIdx.x % 32 == 0) out[row] = total;
  }
}

// A block a row.
template <int FLIGHT, bool AHEAD, int WARPS>
KERNEL(32 * WARPS)
sum_rows_by_block(const float* x, float* out, int blocks) {
  const int each = blocks / WARPS, warp = int(threadIdx.x) / 32;
  const float4* from = (const float4*)x + (i64(blockIdx.x) * blocks + warp * each) * 256;
  const float total = join_warps<WARPS>(sum_of_blocks<FLIGHT, AHEAD>(from, each));
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

// --- Whole arrays ----------------------------------------------------------------------------------------------------

// Joins `count` consecutive pieces, a power of two and at least 128, by one block.
template <int WARPS>
DEVICE void join_pieces(const float* pieces, float* out, u32 count) {
  const u32 warp = threadIdx.x / 32, warps = count / 128 < WARPS ? count / 128 : WARPS, each = count / 128 / warps;
  Pairwise<float, 8> joined;
  if (warp < warps) {
    const float4* from = (const float4*)pieces + i64(warp) * each * 32 + threadIdx.x % 32;
#pragma unroll 8
    for (u32 i = 0; i < each; ++i) {
      const float4 v = __ldcg(from + 32 * i);
      joined.push(join_neighbours((v.x + v.y) + (v.z + v.w)), i);
    }
  }
  SHARED float of_warps[32];
  if (threadIdx.x < 32) of_warps[threadIdx.x] = 0;
  __syncthreads();
  if (warp < warps && threadIdx.x % 32 == 0) of_warps[warp] = joined.total(each);
  __syncthreads();
  if (threadIdx.x < 32) {
    const float total = join_neighbours(of_warps[threadIdx.x]);
    if (threadIdx.x == 0) *out = total;
  }
}

// FINISH: nothing (a second kernel joins), the last block (with fences, or an ordering atomic), a barrier of the grid.
constexpr int nothing = 0, last_block = 1, last_block_in_order = 2, grid_wide = 3;

// Runs of `run` blocks of 1024 go to warps in turn, each to `pieces[its number]`.
template <int WARPS, int FLIGHT, bool AHEAD, int FINISH>
KERNEL(32 * WARPS)
sum_all(const float* x, float* pieces, float* out, u32* counter, u32 runs, u32 run) {
  wait_for_previous();  // nothing unless the launch asks for an early start
  for (u32 i = blockIdx.x * WARPS + threadIdx.x / 32; i < runs; i += gridDim.x * WARPS) {
    const float piece = sum_of_blocks<FLIGHT, AHEAD>((const float4*)x + i64(i) * run * 256, run);
    if (threadIdx.x % 32 == 0) pieces[i] = piece;
  }
  let_next_start();
  if (FINISH == last_block || FINISH == last_block_in_order) {
    if (arrives_last < FINISH == last_block_in_order > (counter, gridDim.x)) join_pieces<WARPS>(pieces, out, runs);
  } else if (FINISH == grid_wide) {
    grid_barrier(counter, gridDim.x);
    if (blockIdx.x == 0) join_pieces<WARPS>(pieces, out, runs);
  }
}

// The second kernel.
template <int WARPS>
KERNEL(32 * WARPS)
sum_pieces(const float* pieces, float* out, u32 runs) {
  wait_for_previous();
  let_next_start();
  join_pieces<WARPS>(pieces, out, runs);
}

// The upper part of the tree of columns: groups of a block, then partial sums of blocks.
#ifndef VARIANTS_COLUMN_TREE
#define VARIANTS_COLUMN_TREE
#include "common.cuh"

// Joins the values of `count` groups of X threads, a power of two, pairwise. Group 0 gets the result. Between two calls
// there must be a barrier.
template <int VEC, int X, int Y>
DEVICE Floats<VEC> join_groups(Floats<VEC> value, int count) {
  SHARED Floats<VEC> values[X * Y];
  const int thread = int(threadIdx.x), group = thread / X;
  for (int step = 1; step < count; step *= 2) {
    if (group % (2 * step) == step) values[thread] = value;
    __syncthreads();
    if (group % (2 * step) == 0 && group + step < count) value = join(value, values[thread + step * X]);
  }
  return value;
}

// Joins partial[0..splits) of the columns of one tile, pairwise.
template <int VEC, int X, int Y>
DEVICE void join_partials(const float* partial, float* out, int columns, int splits, int tile) {
  const int lane = int(threadIdx.x) % X, group = int(threadIdx.x) / X;
  const int column = (tile * X + lane) * VEC, count = splits < Y ? splits : Y, each = splits / count;
  Pairwise<Floats<VEC>, 8> pieces;
  if (group < count) {
    const float* from = partial + i64(group) * each * columns + column;
#pragma unroll 4
    for (int i = 0; i < each; ++i, from += columns) {
      Floats<VEC> piece;
      if constexpr (VEC == 4) {
        const float4 v = __ldcg((const float4*)from);
        piece = {v.x, v.y, v.z, v.w};
      } else {
#pragma unroll
        for (int k = 0; k < VEC; ++k) piece.at[k] = __ldcg(from + k);
      }
      pieces.push(piece, i);
    }
  }
  const Floats<VEC> sum = join_groups<VEC, X, Y>(pieces.total(each), count);
  if (group == 0) *(Floats<VEC>*)(out + column) = sum;
}

#endif

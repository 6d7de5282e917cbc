// Sums over axis 0. The tree, whatever the split: chunks of 16 rows in order, then chunks pairwise.
#include "column_tree.cuh"
#include "common.cuh"

// A block has X lanes of VEC columns by Y groups of rows; grid.x are tiles of columns, grid.y splits the rows. The sum
// of a block's rows goes to `partial[split][column]`. BLOCKS an SM at least: this bounds the registers, and so how many
// of a chunk's 16 loads are in flight. LAST: the last block of a column tile joins the partial sums.
template <int VEC, int X, int Y, int BLOCKS, bool LAST>
KERNEL_OF(X* Y, BLOCKS)
column_sum(const float* x, float* partial, float* out, u32* counters, int columns, int chunks) {
  const int lane = int(threadIdx.x) % X, group = int(threadIdx.x) / X, splits = int(gridDim.y);
  const int column = (int(blockIdx.x) * X + lane) * VEC;
  const i64 row = (i64(blockIdx.y) * Y + group) * chunks * 16;
  const auto* from = (const Floats<VEC>*)(x + row * columns + column);
  const i64 step = columns / VEC;
  Pairwise<Floats<VEC>, 6> pieces;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    Floats<VEC> sum;
    Floats<VEC> rows[16];
#pragma unroll
    for (int r = 0; r < 16; ++r) rows[r] = from[r * step];
#pragma unroll
    for (int r = 0; r < 16; ++r) sum = r == 0 ? rows[0] : join(sum, rows[r]);
    from += 16 * step;
    pieces.push(sum, chunk);
  }
  const Floats<VEC> sum = join_groups<VEC, X, Y>(pieces.total(chunks), Y);
  if (group == 0) *(Floats<VEC>*)((splits == 1 ? out : partial + i64(blockIdx.y) * columns) + column) = sum;
  if (LAST && splits > 1 && arrives_last(counters + blockIdx.x, splits))
    join_partials<VEC, X, Y>(partial, out, columns, splits, int(blockIdx.x));
}

// The second stage as a kernel of its own: a block per tile of X * VEC columns.
template <int VEC, int X, int Y>
KERNEL(X* Y)
column_join(const float* partial, float* out, int columns, int splits) {
  join_partials<VEC, X, Y>(partial, out, columns, splits, int(blockIdx.x));
}

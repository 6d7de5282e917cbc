// Contractions on a GPU: a block computes tiles of the result, threads / 4 rows by 64 columns, of which each thread has
// 4 by 4. The operands are copied to shared memory, sixteen k at a time. The order of each sum is the same as on the
// CPU (contract_depth). Positions are `Base`, of 32 bits where all positions and offsets fit, but for those that loops
// over the grid may advance beyond the last one.
namespace ct {

constexpr int contract_step = 16;

template <class T, int tall>
struct ContractTile {
  // One element more than the number of rows, so that neighbouring threads write to different banks.
  T left[contract_step * (tall + 1)];
  T right[contract_step * (gpu_contract_columns + 1)];
};

template <class Body>
CT_DEVICE void contract(const Body& body, index points) {
  typedef typename Body::Value T;
  typedef typename Body::Base Base;
  constexpr int threads = Body::threads, tall = gpu_contract_rows(threads), apart = tall + 1;
  CT_SHARED ContractTile<T, tall> tile;
  const int me = int(thread_index());
  const int my_row = me / gpu_contract_across, my_column = me % gpu_contract_across;
  const Base rows = body.rows(), columns = body.columns(), length = body.length();
  if (const T* there = body.sums()) {
#pragma unroll 1
    for (index i = index(block_index()) * threads + me; i < points; i += index(block_count()) * threads) {
      const Base line = body.by_columns().divide(Base(i)), batch = body.by_rows().divide(line);
      body.finish(batch, line - batch * rows, Base(i) - line * columns, there[i]);
    }
    return;
  }
  const Base row_tiles = (rows + tall - 1) / tall, column_tiles = (columns + gpu_contract_columns - 1) / gpu_contract_columns;
  const index tiles = points == 0 ? 0 : index(body.batches()) * row_tiles * column_tiles;
  for (index t = block_index(); t < tiles; t += block_count()) {
    const Base row_tile = body.by_column_tiles().divide(Base(t)), batch = body.by_row_tiles().divide(row_tile);
    const Base row = (row_tile - batch * row_tiles) * tall;
    const Base column = (Base(t) - row_tile * column_tiles) * gpu_contract_columns;
    T total[gpu_contract_side][gpu_contract_side], sum[gpu_contract_side][gpu_contract_side];
#pragma unroll
    for (int i = 0; i < gpu_contract_side; ++i) {
#pragma unroll
      for (int j = 0; j < gpu_contract_side; ++j) total[i][j] = sum[i][j] = T(0);
    }
    for (Base k = 0; k < length; k += contract_step) {
      // Missing elements are zeros, which do not change the sums.
      for (int i = me; i < contract_step * tall; i += threads) {
        const int l = i % contract_step, r = i / contract_step;
        const bool there = row + r < rows && k + l < length;
        tile.left[l * apart + r] = there ? body.left(batch, row + r, k + l) : T(0);
      }
      for (int i = me; i < contract_step * gpu_contract_columns; i += threads) {
        const int l = i / gpu_contract_columns, c = i % gpu_contract_columns;
        const bool there = column + c < columns && k + l < length;
        tile.right[l * (gpu_contract_columns + 1) + c] = there ? body.right(batch, column + c, k + l) : T(0);
      }
      barrier();
#pragma unroll
      for (int l = 0; l < contract_step; ++l) {
        T a[gpu_contract_side], b[gpu_contract_side];
#pragma unroll
        for (int i = 0; i < gpu_contract_side; ++i) {
          a[i] = tile.left[l * apart + my_row * gpu_contract_side + i];
          b[i] = tile.right[l * (gpu_contract_columns + 1) + my_column + i * gpu_contract_across];
        }
#pragma unroll
        for (int i = 0; i < gpu_contract_side; ++i) {
#pragma unroll
          for (int j = 0; j < gpu_contract_side; ++j) sum[i][j] = fma(a[i], b[j], sum[i][j]);
        }
      }
      barrier();
      if ((k + contract_step) % contract_depth<T> == 0 || k + contract_step >= length) {
#pragma unroll
        for (int i = 0; i < gpu_contract_side; ++i) {
#pragma unroll
          for (int j = 0; j < gpu_contract_side; ++j) {
            total[i][j] += sum[i][j];
            sum[i][j] = T(0);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < gpu_contract_side; ++i) {
      const Base r = row + my_row * gpu_contract_side + i;
#pragma unroll
      for (int j = 0; j < gpu_contract_side; ++j) {
        const Base c = column + my_column + j * gpu_contract_across;
        if (r < rows && c < columns) body.finish(batch, r, c, total[i][j]);
      }
    }
  }
}

}  // namespace ct

// Contractions on the CPU: sums over k of left(row, k) right(k, column). For one tile of the result at a time, the
// operands are packed in pieces that stay in the caches, in the order of multiplication; then register tiles add up the
// products, and the body processes the sums. The order of each sum: one chain of multiply-adds for each
// `contract_depth` neighbouring k, and the chains in order. It depends neither on tiles nor on threads.
namespace ct {

CT_DEVICE index smaller(index a, index b) { return a < b ? a : b; }
CT_DEVICE index pieces(index n, index size) { return (n + size - 1) / size; }

// tile_rows rows by `vectors` vectors of sums; `b` has the columns of one k side by side.
template <class T, int vectors>
__attribute__((noinline)) static void contract_tile(const T* a, index a_row, index a_k, const T* b, T* c, index c_row,
                                                    index k, bool add) {
  typedef typename VectorOf<T>::Type Vector;
  constexpr int width = vector_bytes / int(sizeof(T));
  Vector sum[tile_rows][vectors];
  multiply_tile<T, tile_rows, vectors>(a, a_row, a_k, b, vectors * width, k, sum);
#pragma clang loop unroll(full)
  for (int r = 0; r < tile_rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      Vector* to = reinterpret_cast<Vector*>(c + r * c_row + v * width);
      *to = add ? *to + sum[r][v] : sum[r][v];
    }
  }
}

template <class T, int vectors>
CT_DEVICE void contract_panel(const T* a, index a_row, index a_k, const T* b, T* c, index rows, index k, bool add) {
  for (index r = 0; r < rows; r += tile_rows)
    contract_tile<T, vectors>(a + r * a_row, a_row, a_k, b, c + r * cpu_contract_columns, cpu_contract_columns, k, add);
}

// The items [begin, end): tiles of the result.
template <class Body>
CT_DEVICE void contract(const Body& body, index begin, index end) {
  typedef typename Body::Value T;
  constexpr index width = vector_bytes / index(sizeof(T)), depth = contract_depth<T>;
  const index rows = body.rows(), columns = body.columns(), length = body.length();
  const index column_blocks = pieces(columns, cpu_contract_columns);
  const index block_rows = cpu_contract_block_rows(rows, body.batches() * column_blocks);
  const index row_blocks = pieces(rows, block_rows);
  alignas(64) T left[cpu_contract_rows * depth];
  alignas(64) T right[tile_vectors * width * depth];
  alignas(64) T sums[cpu_contract_rows * cpu_contract_columns];
  const index a_row = Body::left_by_lines ? 1 : depth, a_k = Body::left_by_lines ? cpu_contract_rows : 1;
  for (index item = begin; item < end; ++item) {
    const index batch = item / (row_blocks * column_blocks);
    const index row = item / column_blocks % row_blocks * block_rows,
                column = item % column_blocks * cpu_contract_columns;
    const index tall = smaller(rows - row, block_rows), wide = smaller(columns - column, cpu_contract_columns);
    if (const T* there = body.sums()) {
      body.finish(batch, row, tall, column, wide, there + (batch * rows + row) * columns + column, columns);
      continue;
    }
    const index padded = pieces(tall, tile_rows) * tile_rows;
    if (length == 0) {
      for (index i = 0; i < tall * cpu_contract_columns; ++i) sums[i] = T(0);
    }
    for (index k = 0; k < length; k += depth) {
      const index deep = smaller(length - k, depth);
      if constexpr (Body::left_by_lines)
        body.left(batch, k, deep, row, tall, left, a_k, a_row);
      else
        body.left(batch, row, tall, k, deep, left, a_row, a_k);
      for (index l = 0; l < deep; ++l) {
        for (index r = tall; r < padded; ++r) left[r * a_row + l * a_k] = T(0);
      }
      for (index j = 0; j < wide; j += tile_vectors * width) {
        const index narrow = smaller(wide - j, tile_vectors * width), vectors = pieces(narrow, width);
        const index b_k = vectors * width;
        if constexpr (Body::right_by_lines)
          body.right(batch, k, deep, column + j, narrow, right, b_k, index(1));
        else
          body.right(batch, column + j, narrow, k, deep, right, index(1), b_k);
        if (narrow < b_k) {
          for (index l = 0; l < deep; ++l) {
            for (index t = narrow; t < b_k; ++t) right[l * b_k + t] = T(0);
          }
        }
        T* to = sums + j;
        if (vectors == tile_vectors)
          contract_panel<T, tile_vectors>(left, a_row, a_k, right, to, padded, deep, k > 0);
        else if (vectors == 2)
          contract_panel<T, 2>(left, a_row, a_k, right, to, padded, deep, k > 0);
        else
          contract_panel<T, 1>(left, a_row, a_k, right, to, padded, deep, k > 0);
      }
    }
    body.finish(batch, row, tall, column, wide, sums, cpu_contract_columns);
  }
}

}  // namespace ct

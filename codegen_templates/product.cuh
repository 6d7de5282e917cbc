// Matrix products inside larger kernels on a GPU: a thread per element, neighbouring threads along the result's rows,
// so that reads of the right matrix are coalesced. Each sum is in the order of k, as on the CPU.
namespace ct {

// c = a b. Strides count elements. Index: as wide as positions and offsets need.
template <class T, class Index>
struct MatrixProduct {
  const T* p0;  // a
  const T* p1;  // b
  T* p2;        // c
  index n0, k, columns;  // rows of a and c, columns of a, columns of c
  index a_row, a_k, b_k, b_column, c_row;
  Divisor<Index> by_columns;
};

template <class ThreadGroup, class T, class Index>
CT_DEVICE void matrix_product(const ThreadGroup& group, const MatrixProduct<T, Index>& p) {
  const Index a_k = Index(p.a_k), b_k = Index(p.b_k), k = Index(p.k);
#pragma unroll 1
  for (index i = group.thread(); i < p.n0 * p.columns; i += group.threads()) {
    const Index row = p.by_columns.divide(Index(i)), column = Index(i) - row * Index(p.columns);
    const T *a = p.p0 + row * Index(p.a_row), *b = p.p1 + column * Index(p.b_column);
    T sum = 0;
    // The loads of eight multiplications are under way at once: the sum itself has to wait for each.
#pragma unroll 8
    for (Index l = 0; l < k; ++l) sum = fma(a[l * a_k], b[l * b_k], sum);
    p.p2[row * Index(p.c_row) + column] = sum;
  }
}

}  // namespace ct

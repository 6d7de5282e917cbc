// Matrix products inside larger kernels on a GPU: a thread per element, neighbouring threads along the result's rows,
// so that reads of the right matrix are coalesced. Each sum is in the order of k, as on the CPU.
namespace ct {

// c = a b. Strides count elements.
template <class T>
struct MatrixProduct {
  const T* p0;  // a
  const T* p1;  // b
  T* p2;        // c
  index n0, k, columns;  // rows of a and c, columns of a, columns of c
  index a_row, a_k, b_k, b_column, c_row;
};

template <class ThreadGroup, class T>
CT_DEVICE void matrix_product(const ThreadGroup& group, const MatrixProduct<T>& p) {
  for (index i = group.thread(); i < p.n0 * p.columns; i += group.threads()) {
    const index row = i / p.columns, column = i % p.columns;
    const T *a = p.p0 + row * p.a_row, *b = p.p1 + column * p.b_column;
    T sum = 0;
    // The loads of eight multiplications are under way at once: the sum itself has to wait for each.
#pragma unroll 8
    for (index l = 0; l < p.k; ++l) sum = fma(a[l * p.a_k], b[l * p.b_k], sum);
    p.p2[row * p.c_row + column] = sum;
  }
}

}  // namespace ct

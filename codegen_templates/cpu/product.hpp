// Matrix products on the CPU for matrices that stay in the caches: tiles of the result in vector registers, the right
// matrix read along its rows. Each element is one sum in the order of k, wherever its tile begins, so the bits do not
// depend on how rows are shared out. (A library wins where panels have to be packed: large right matrices.)
namespace ct {

// c = a b. Strides count elements; the columns of b and c lie side by side.
template <class T>
struct MatrixProduct {
  const T* p0;  // a
  const T* p1;  // b
  T* p2;        // c
  index n0, k, columns;  // rows of a and c, columns of a, columns of c
  index a_row, a_k, b_k, b_column, c_row;
};

// Tiles that fill the registers, of 32 or 16 vectors: sums, one part of a row of b, and one element of a.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64, tile_rows = 8, tile_vectors = 2;
#elif defined(__AVX__)
constexpr int vector_bytes = 32, tile_rows = 4, tile_vectors = 3;
#else
constexpr int vector_bytes = 16, tile_rows = 4, tile_vectors = 2;
#endif

// A tile of `rows` rows and `vectors` vectors. Its function is a real one: sixteen of them inline are slow to compile.
template <class T, int rows, int vectors>
__attribute__((noinline)) static void product_tile(const T* a, index a_row, index a_k, const T* b, index b_k, T* c,
                                                   index c_row, index k) {
#pragma clang fp contract(fast)
  typedef T Vector __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
  constexpr int width = vector_bytes / int(sizeof(T));
  Vector sum[rows][vectors];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) sum[r][v] = Vector{};
  }
#pragma clang loop unroll(disable)
  for (index l = 0; l < k; ++l) {
    Vector right[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) right[v] = *reinterpret_cast<const Vector*>(b + l * b_k + v * width);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const Vector left = a[r * a_row + l * a_k] - Vector{};
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sum[r][v] += left * right[v];
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Vector*>(c + r * c_row + v * width) = sum[r][v];
  }
}

template <class T, int rows>
__attribute__((noinline)) static void product_rows(const MatrixProduct<T>& p, const T* a, T* c) {
  constexpr int width = vector_bytes / int(sizeof(T));
  index j = 0;
  if (p.b_column == 1) {
    for (; j + tile_vectors * width <= p.columns; j += tile_vectors * width)
      product_tile<T, rows, tile_vectors>(a, p.a_row, p.a_k, p.p1 + j, p.b_k, c + j, p.c_row, p.k);
    for (; j + 2 * width <= p.columns; j += 2 * width)
      product_tile<T, rows, 2>(a, p.a_row, p.a_k, p.p1 + j, p.b_k, c + j, p.c_row, p.k);
    for (; j + width <= p.columns; j += width)
      product_tile<T, rows, 1>(a, p.a_row, p.a_k, p.p1 + j, p.b_k, c + j, p.c_row, p.k);
  }
  for (; j < p.columns; ++j) {
    for (int r = 0; r < rows; ++r) {
#pragma clang fp contract(fast)
      T sum = 0;
#pragma clang loop vectorize(disable) unroll(disable)
      for (index l = 0; l < p.k; ++l) sum += a[r * p.a_row + l * p.a_k] * p.p1[l * p.b_k + j * p.b_column];
      c[r * p.c_row + j] = sum;
    }
  }
}

template <class T>
__attribute__((noinline)) static void matrix_product(const MatrixProduct<T>& p) {
  index i = 0;
  for (; i + tile_rows <= p.n0; i += tile_rows) product_rows<T, tile_rows>(p, p.p0 + i * p.a_row, p.p2 + i * p.c_row);
  for (; i + 2 <= p.n0; i += 2) product_rows<T, 2>(p, p.p0 + i * p.a_row, p.p2 + i * p.c_row);
  for (; i < p.n0; ++i) product_rows<T, 1>(p, p.p0 + i * p.a_row, p.p2 + i * p.c_row);
}

}  // namespace ct

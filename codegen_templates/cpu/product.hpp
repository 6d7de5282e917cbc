// Matrix products on the CPU for matrices that stay in the caches: tiles of the result in vector registers, the right
// matrix read along its rows. Each element is one sum in the order of k, wherever its tile begins, so the bits do not
// depend on the partition of the rows. (A library is faster if panels must be packed, for large right matrices.)
namespace ct {

// c = a b. Strides count elements; the columns of b and c are adjacent.
template <class T>
struct MatrixProduct {
  const T* p0;  // a
  const T* p1;  // b
  T* p2;        // c
  index n0, k, columns;  // rows of a and c, columns of a, columns of c
  index a_row, a_k, b_k, b_column, c_row;
  T* panels;  // room for b in panels, of each share of a loop; null: b is read where it is
};

// Tiles that fill the registers, of 32 or 16 vectors: sums, one part of a row of b, and one element of a.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64, tile_rows = 8, tile_vectors = 2;
#elif defined(__AVX__)
constexpr int vector_bytes = 32, tile_rows = 4, tile_vectors = 3;
#else
constexpr int vector_bytes = 16, tile_rows = 4, tile_vectors = 2;
#endif

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
};

// The sums of a tile of `rows` rows and `vectors` vectors: each is one chain of multiply-adds.
template <class T, int rows, int vectors>
CT_DEVICE void multiply_tile(const T* a, index a_row, index a_k, const T* b, index b_k, index k,
                             typename VectorOf<T>::Type (&sum)[rows][vectors]) {
  typedef typename VectorOf<T>::Type Vector;
  constexpr int width = vector_bytes / int(sizeof(T));
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
      for (int v = 0; v < vectors; ++v) sum[r][v] = __builtin_elementwise_fma(left, right[v], sum[r][v]);
    }
  }
}

// A tile of the result. Its function is a real one: sixteen of them inline are slow to compile.
template <class T, int rows, int vectors>
__attribute__((noinline)) static void product_tile(const T* a, index a_row, index a_k, const T* b, index b_k, T* c,
                                                   index c_row, index k) {
  typedef typename VectorOf<T>::Type Vector;
  constexpr int width = vector_bytes / int(sizeof(T));
  Vector sum[rows][vectors];
  multiply_tile<T, rows, vectors>(a, a_row, a_k, b, b_k, k, sum);
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Vector*>(c + r * c_row + v * width) = sum[r][v];
  }
}

// A tile of one element.
template <class T>
static T product_element(const T* a, index a_k, const T* b, index b_k, index k) {
  T sum = 0;
#pragma clang loop vectorize(disable) unroll(disable)
  for (index l = 0; l < k; ++l) sum = fma(a[l * a_k], b[l * b_k], sum);
  return sum;
}

// How many of the columns that are left a panel takes: as many as a tile has. Fewer than a vector are the last panel.
template <class T>
static index panel_columns(index left) {
  constexpr index width = vector_bytes / index(sizeof(T));
  return left >= tile_vectors * width ? tile_vectors * width : left >= 2 * width ? 2 * width : left < width ? left : width;
}

template <class T, int rows>
__attribute__((noinline)) static void product_rows(const MatrixProduct<T>& p, const T* a, T* c) {
  constexpr index width = vector_bytes / index(sizeof(T));
  for (index j = 0, columns; j < p.columns; j += columns) {
    columns = p.panels || p.b_column == 1 ? panel_columns<T>(p.columns - j) : 1;
    const T* b = p.panels ? p.panels + j * p.k : p.p1 + j * p.b_column;
    const index b_k = p.panels ? columns : p.b_k;
    if (columns == tile_vectors * width) {
      product_tile<T, rows, tile_vectors>(a, p.a_row, p.a_k, b, b_k, c + j, p.c_row, p.k);
    } else if (columns == 2 * width) {
      product_tile<T, rows, 2>(a, p.a_row, p.a_k, b, b_k, c + j, p.c_row, p.k);
    } else if (columns == width) {
      product_tile<T, rows, 1>(a, p.a_row, p.a_k, b, b_k, c + j, p.c_row, p.k);
    } else {
      for (index i = 0; i < columns; ++i) {
        for (int r = 0; r < rows; ++r)
          c[r * p.c_row + j + i] = product_element(a + r * p.a_row, p.a_k, b + i, b_k, p.k);
      }
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

// Copies b to panels of columns, one after another, each with adjacent rows. A loop reads b in every step, and few rows
// at a distance of a power of two stay in a first-level cache.
template <class T>
__attribute__((noinline)) static void make_panels(MatrixProduct<T>& p, index share) {
  if (!p.panels) return;
  constexpr index alignment = 64 / index(sizeof(T));
  p.panels += share * ((p.k * p.columns + alignment - 1) / alignment * alignment);
  T* to = p.panels;
  for (index j = 0, columns; j < p.columns; j += columns) {
    columns = panel_columns<T>(p.columns - j);
    for (index l = 0; l < p.k; ++l) {
      for (index i = 0; i < columns; ++i) *to++ = p.p1[l * p.b_k + (j + i) * p.b_column];
    }
  }
}

}  // namespace ct

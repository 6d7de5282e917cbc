// Compiled for AVX-512, with multiply-adds as one operation: 32 registers of 64 bytes hold a tile of sums, the part of
// B for it, and an element of A.
#include "runtime/cpu/blas/few_rows_kernels.hpp"

namespace croton::runtime::cpu {
namespace {

using std::int64_t;

constexpr int vector_bytes = 64;

template <class T, int bytes = vector_bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
};
template <class T>
constexpr int64_t width{vector_bytes / sizeof(T)};

// Tiles of 8 rows by 3 vectors (or columns, of B transposed) fill the registers best, and 12 by 2 read B once for 9 to
// 12 rows.
constexpr int tile_rows = 8, tile_vectors = 3, long_tile_rows = 12, long_tile_vectors = 2;

// So many rows of a tile's part of B stay in the second-level cache while the other rows of A are read.
constexpr int64_t max_depth = 1024;

// The number of rows of B that are prefetched into the second-level cache: they are too far apart for the processor's
// own prefetcher. A matrix from main memory takes half as long as with 16 rows, or none.
constexpr int64_t rows_ahead = 64;
constexpr int for_reading = 0, second_level = 2;

/// A part of the product: these rows and columns, over `depth` of its inner dimension.
template <class T>
struct Part {
  const T *a, *b;
  T* c;
  int64_t depth;
  T beta;
  int64_t skipped;  // columns of the tile that belong to another one
};

template <class T>
void store(const FewRows<T>& p, const Part<T>& part, T* c, T sum) {
  *c = part.beta == 0 ? p.alpha * sum : p.alpha * sum + part.beta * *c;
}

// ---- B by rows: the columns of a tile are neighbours ----

template <class T, int rows, int vectors>
void multiply_tile(const FewRows<T>& p, const Part<T>& part) {
  typedef typename VectorOf<T>::Type Vector;
  Vector sum[rows][vectors];
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) sum[r][v] = Vector{};
  }
  for (int64_t l = 0; l < part.depth; ++l) {
    const T* b = part.b + l * p.b_row;
    Vector right[vectors];
    for (int v = 0; v < vectors; ++v) {
      right[v] = *reinterpret_cast<const Vector*>(b + v * width<T>);
      __builtin_prefetch(b + rows_ahead * p.b_row + v * width<T>, for_reading, second_level);
    }
    for (int r = 0; r < rows; ++r) {
      const Vector left = part.a[r * p.a_row + l * p.a_k] - Vector{};
      for (int v = 0; v < vectors; ++v) sum[r][v] += left * right[v];
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      T* c = part.c + r * p.c_row + v * width<T>;
      if (part.skipped > 0) {
        T lanes[width<T>];
        __builtin_memcpy(lanes, &sum[r][v], vector_bytes);
        for (int64_t i = part.skipped; i < width<T>; ++i) store(p, part, c + i, lanes[i]);
        continue;
      }
      Vector& all = *reinterpret_cast<Vector*>(c);
      all = part.beta == 0 ? p.alpha * sum[r][v] : p.alpha * sum[r][v] + part.beta * all;
    }
  }
}

// ---- B transposed: each element a sum along rows of both ----

template <class T, int bytes>
T total(typename VectorOf<T, bytes>::Type sum) {
  if constexpr (bytes == int{sizeof(T)}) {
    return sum[0];
  } else {
    typename VectorOf<T, bytes / 2>::Type half[2];
    __builtin_memcpy(&half, &sum, bytes);
    return total<T, bytes / 2>(half[0] + half[1]);
  }
}

template <class T, int rows, int columns>
void multiply_transposed_tile(const FewRows<T>& p, const Part<T>& part) {
  typedef typename VectorOf<T>::Type Vector;
  Vector sum[rows][columns];
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) sum[r][j] = Vector{};
  }
  int64_t l = 0;
  for (; l + width<T> <= part.depth; l += width<T>) {
    Vector right[columns];
    for (int j = 0; j < columns; ++j) right[j] = *reinterpret_cast<const Vector*>(part.b + j * p.b_row + l);
    for (int r = 0; r < rows; ++r) {
      const Vector left = *reinterpret_cast<const Vector*>(part.a + r * p.a_row + l);
      for (int j = 0; j < columns; ++j) sum[r][j] += left * right[j];
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) {
      T whole = total<T, vector_bytes>(sum[r][j]);
      for (int64_t i = l; i < part.depth; ++i) whole += part.a[r * p.a_row + i] * part.b[j * p.b_row + i];
      store(p, part, part.c + r * p.c_row + j, whole);
    }
  }
}

// ---- tiles of as many rows as there are ----

template <class T, bool transposed, int rows, int vectors>
void run_tile(const FewRows<T>& p, const Part<T>& part) {
  if constexpr (transposed)
    multiply_transposed_tile<T, rows, vectors>(p, part);
  else
    multiply_tile<T, rows, vectors>(p, part);
}

template <class T, bool transposed, int vectors, int rows>
void run_rows(const FewRows<T>& p, const Part<T>& part, int64_t wanted) {
  if (wanted == rows)
    run_tile<T, transposed, rows, vectors>(p, part);
  else if constexpr (rows > 1)
    run_rows<T, transposed, vectors, rows - 1>(p, part, wanted);
}

/// All rows of the tile's columns, in even groups.
template <class T, bool transposed, int vectors>
void run_columns(const FewRows<T>& p, Part<T> part) {
  constexpr int max_rows = vectors <= long_tile_vectors ? long_tile_rows : tile_rows;
  const int64_t groups = (p.m + max_rows - 1) / max_rows;
  const Part<T> first = part;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = g * p.m / groups, end = (g + 1) * p.m / groups;
    part.a = first.a + begin * p.a_row;
    part.c = first.c + begin * p.c_row;
    run_rows<T, transposed, vectors, max_rows>(p, part, end - begin);
  }
}

template <class T, bool transposed>
void multiply(const FewRows<T>& p) {
  const int64_t tile_width = transposed ? 1 : width<T>, b_k = transposed ? 1 : p.b_row,
                b_column = transposed ? p.b_row : 1;
  const bool is_long = p.m > tile_rows && p.m <= long_tile_rows;
  for (int64_t l = 0; l < p.k; l += max_depth) {
    Part<T> part{};
    part.depth = p.k - l < max_depth ? p.k - l : max_depth;
    part.beta = l == 0 ? p.beta : 1;
    const auto place = [&](int64_t column) {
      part.a = p.a + l * p.a_k;
      part.b = p.b + l * b_k + column * b_column;
      part.c = p.c + column;
    };
    int64_t j = 0;
    const int64_t vectors = is_long ? long_tile_vectors : tile_vectors;
    for (; j + vectors * tile_width <= p.n; j += vectors * tile_width) {
      place(j);
      if (is_long)
        run_columns<T, transposed, long_tile_vectors>(p, part);
      else
        run_columns<T, transposed, tile_vectors>(p, part);
    }
    for (; j + tile_width <= p.n; j += tile_width) {
      place(j);
      run_columns<T, transposed, 1>(p, part);
    }
    if (j == p.n) continue;
    // Fewer columns than a vector has: the columns before them are computed once more.
    place(p.n - tile_width);
    part.skipped = tile_width - (p.n - j);
    run_columns<T, transposed, 1>(p, part);
  }
}

}  // namespace

void multiply_few_rows_avx512(const FewRows<float>& product) { multiply<float, false>(product); }
void multiply_few_rows_avx512(const FewRows<double>& product) { multiply<double, false>(product); }
void multiply_few_rows_transposed_avx512(const FewRows<float>& product) { multiply<float, true>(product); }
void multiply_few_rows_transposed_avx512(const FewRows<double>& product) { multiply<double, true>(product); }

}  // namespace croton::runtime::cpu

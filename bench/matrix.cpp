#include "matrix.hpp"

#include <algorithm>
#include <cmath>

namespace bench {

namespace {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CROTON_BENCH_WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define CROTON_BENCH_WIDE
#endif

/// to[j] += sum over k of scale[k] * from[k * stride + j], for four k: the products need seconds if it is not
/// vectorised.
CROTON_BENCH_WIDE void add_four(double* to, const double* scale, const double* from, std::size_t stride,
                                std::size_t n) {
  const double *a = from, *b = a + stride, *c = b + stride, *d = c + stride;
  for (std::size_t j = 0; j < n; ++j) {
    to[j] += scale[0] * a[j] + scale[1] * b[j] + scale[2] * c[j] + scale[3] * d[j];
  }
}

}  // namespace

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (std::size_t block = 0; block < a.columns; block += 64) {  // 64 rows of b stay in the cache
    const std::size_t end = std::min(block + 64, a.columns);
    for (std::size_t i = 0; i < a.rows; ++i) {
      std::size_t k = block;
      for (; k + 4 <= end; k += 4) add_four(c.row(i), a.row(i) + k, b.row(k), b.columns, b.columns);
      for (; k < end; ++k) {
        for (std::size_t j = 0; j < b.columns; ++j) c.row(i)[j] += a.row(i)[k] * b.row(k)[j];
      }
    }
  }
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) t.row(j)[i] = a.row(i)[j];
  }
  return t;
}

void relu(Matrix& a) {
  for (double& v : a.data) v = std::max(v, 0.0);
}

void mask(Matrix& slope, const Matrix& activation) {
  for (std::size_t i = 0; i < slope.data.size(); ++i) slope.data[i] *= activation.data[i] > 0;
}

void softmax(double* row, std::size_t n) {
  const double top = *std::max_element(row, row + n);
  double total = 0;
  for (std::size_t j = 0; j < n; ++j) total += row[j] = std::exp(row[j] - top);
  for (std::size_t j = 0; j < n; ++j) row[j] /= total;
}

double cross_entropy(Matrix& z, const Values& targets) {
  const double count = static_cast<double>(z.rows);
  double loss = 0;
  for (std::size_t i = 0; i < z.rows; ++i) {
    double* p = z.row(i);
    const auto target = static_cast<std::size_t>(targets[i]);
    softmax(p, z.columns);
    loss -= std::log(p[target]) / count;
    p[target] -= 1;
    for (std::size_t j = 0; j < z.columns; ++j) p[j] /= count;
  }
  return loss;
}

}  // namespace bench

#include "runtime/cpu/blas/few_rows.hpp"

#include "runtime/cpu/blas/few_rows_kernels.hpp"
#include "runtime/cpu/blas/openblas.hpp"

namespace croton::runtime::cpu {

#ifdef CROTON_HAS_AVX512_KERNELS

namespace {

// Measured on one AMD EPYC (2 cores, 1000 x 1024) beside OpenBLAS 0.3.21: 10 rows take 0.6 of its time in float64 and
// 0.5 in float32, by a transposed matrix 0.7 and 0.8; up to so many rows it pays.
constexpr std::int64_t least_rows = 5;
std::int64_t most_rows(DType dtype, bool transpose_b) {
  if (!transpose_b) return 64;
  return dtype == DType::float32 ? 16 : 20;
}

template <class T>
void multiply(const MatrixProduct& p) {
  const FewRows<T> rows{.a = static_cast<const T*>(p.a),
                        .a_row = p.transpose_a ? 1 : p.lda,
                        .a_k = p.transpose_a ? p.lda : 1,
                        .b = static_cast<const T*>(p.b),
                        .b_row = p.ldb,
                        .c = static_cast<T*>(p.c),
                        .c_row = p.ldc,
                        .m = p.m,
                        .n = p.n,
                        .k = p.k,
                        .alpha = static_cast<T>(p.alpha),
                        .beta = static_cast<T>(p.beta)};
  if (p.transpose_b)
    multiply_few_rows_transposed_avx512(rows);
  else
    multiply_few_rows_avx512(rows);
}

}  // namespace

bool has_few_rows() noexcept {
  static const bool has = vector_width() == VectorWidth::bits512;
  return has;
}

bool few_rows_pay(const MatrixProduct& p) noexcept {
  // Where little is added up, or there are few columns, the time goes into reading A and writing C.
  constexpr std::int64_t least_depth = 32, least_columns = 32;
  if (!has_few_rows() || p.k < least_depth || p.n < least_columns || p.alpha == 0 || (p.transpose_a && p.transpose_b))
    return false;
  return least_rows <= p.m && p.m <= most_rows(p.dtype, p.transpose_b);
}

void multiply_few_rows(const MatrixProduct& block) noexcept {
  if (block.dtype == DType::float32)
    multiply<float>(block);
  else
    multiply<double>(block);
}

#else

bool has_few_rows() noexcept { return false; }
bool few_rows_pay(const MatrixProduct&) noexcept { return false; }
void multiply_few_rows(const MatrixProduct&) noexcept {}

#endif

std::int64_t few_rows_columns(DType dtype) noexcept { return dtype == DType::float32 ? 192 : 96; }  // whole tiles

}  // namespace croton::runtime::cpu

#include "runtime/cpu/blas/few_rows.hpp"

#include "runtime/cpu/blas/few_rows_kernels.hpp"
#include "runtime/cpu/blas/openblas.hpp"

namespace croton::runtime::cpu {

#ifdef CROTON_HAS_AVX512_KERNELS

namespace {

// Measured on an AMD EPYC (2 cores, 1000 x 1024) against OpenBLAS 0.3.21: 10 rows take 0.6 of its time in float64 and
// 0.5 in float32, with a transposed matrix 0.7 and 0.8. With more rows than these OpenBLAS is faster.
constexpr std::int64_t min_rows = 5;
std::int64_t max_rows(DType dtype, bool transpose_b) {
  if (!transpose_b) return 64;
  return dtype == DType::float32 ? 16 : 20;
}

template <class T>
void multiply(const MatrixProduct& p) {
  const TypedOperands<T> of(p);
  const FewRows<T> rows{.a = of.a,
                        .a_row = p.transpose_a ? 1 : p.lda,
                        .a_k = p.transpose_a ? p.lda : 1,
                        .b = of.b,
                        .b_row = p.ldb,
                        .c = of.c,
                        .c_row = p.ldc,
                        .m = p.m,
                        .n = p.n,
                        .k = p.k,
                        .alpha = of.alpha,
                        .beta = of.beta};
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
  // With a short inner dimension or few columns, most of the time goes into reading A and writing C.
  constexpr std::int64_t min_depth = 32, min_columns = 32;
  if (!has_few_rows() || p.k < min_depth || p.n < min_columns || p.alpha == 0 || (p.transpose_a && p.transpose_b))
    return false;
  return min_rows <= p.m && p.m <= max_rows(p.dtype, p.transpose_b);
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

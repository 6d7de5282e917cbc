// A matrix product as libraries of all devices take it.
#pragma once

#include <croton/type.hpp>

#include <cstddef>
#include <cstdint>

#include "runtime/device/elements.hpp"

namespace croton::runtime {

/// Whether libraries compute products of this dtype; generated kernels compute the others.
inline bool has_library_products(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// C = alpha op(A) op(B) + beta C, where op transposes if asked for, op(A) is m x k, op(B) is k x n and C is m x n, all
/// stored by rows. lda, ldb, ldc count the elements from one stored row to the next. C overlaps neither A nor B. As in
/// BLAS, A and B are not read if alpha is 0 or k is 0, and C is not read if beta is 0. There are `batch` such products,
/// whose matrices are `stride_` elements apart; 0: the same one for all.
struct MatrixProduct {
  DType dtype = DType::float32;  ///< float32 or float64, of A, B, C, alpha and beta
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  double beta = 0;
  void* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;

  /// The memory from the first element of an operand to its last, over the whole batch; 0 if it has no element.
  std::size_t a_bytes() const { return span_bytes(transpose_a ? k : m, transpose_a ? m : k, lda, stride_a); }
  std::size_t b_bytes() const { return span_bytes(transpose_b ? n : k, transpose_b ? k : n, ldb, stride_b); }
  std::size_t c_bytes() const { return span_bytes(m, n, ldc, stride_c); }

 private:
  std::size_t span_bytes(std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t stride) const {
    if (rows <= 0 || columns <= 0 || batch <= 0) return 0;
    return size_in_bytes(dtype, (batch - 1) * stride + (rows - 1) * leading + columns);
  }
};

/// The operands and factors of a product in the type of its elements.
template <class T>
struct TypedOperands {
  const T* a;
  const T* b;
  T* c;
  T alpha, beta;

  explicit TypedOperands(const MatrixProduct& p)
      : a(static_cast<const T*>(p.a)),
        b(static_cast<const T*>(p.b)),
        c(static_cast<T*>(p.c)),
        alpha(static_cast<T>(p.alpha)),
        beta(static_cast<T>(p.beta)) {}
};

}  // namespace croton::runtime

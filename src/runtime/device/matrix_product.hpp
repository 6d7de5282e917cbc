// A matrix product as libraries of all devices take it.
#pragma once

#include <croton/type.hpp>

#include <cstdint>

namespace croton::runtime {

/// C = alpha op(A) op(B) + beta C, where op transposes if asked for, op(A) is m x k, op(B) is k x n and C is m x n, all
/// stored by rows. lda, ldb, ldc count the elements from one stored row to the next. C overlaps neither A nor B. As in
/// BLAS, A and B are not read if alpha is 0 or k is 0, and C is not read if beta is 0. There are `batch` such products,
/// whose matrices lie `stride_` elements apart; 0: the same one for all.
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
};

}  // namespace croton::runtime

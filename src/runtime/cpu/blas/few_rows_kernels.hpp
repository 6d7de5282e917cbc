// The arithmetic of few_rows.hpp, compiled for one width of registers. It includes nothing with functions that a file
// for all processors may define as well: the linker might keep the wrong ones.
#pragma once

#include <cstdint>

namespace croton::runtime::cpu {

/// C = alpha A op(B) + beta C, of m rows. Strides count elements; C is not read if beta is 0. `b_row` is the distance
/// from one stored row of B to the next.
template <class T>
struct FewRows {
  const T* a;
  std::int64_t a_row, a_k;
  const T* b;
  std::int64_t b_row;
  T* c;
  std::int64_t c_row;
  std::int64_t m, n, k;
  T alpha, beta;
};

/// B as it is, k x n.
void multiply_few_rows_avx512(const FewRows<float>& product);
void multiply_few_rows_avx512(const FewRows<double>& product);
/// B transposed, stored n x k; a_k is 1.
void multiply_few_rows_transposed_avx512(const FewRows<float>& product);
void multiply_few_rows_transposed_avx512(const FewRows<double>& product);

}  // namespace croton::runtime::cpu

// Products of a few rows, such as a small batch, with a matrix. A library packs the matrix first, which takes as long
// as the product of ten rows; here the matrix is read once, in place.
#pragma once

#include "runtime/cpu/blas/blas.hpp"

namespace croton::runtime::cpu {

/// Whether this processor has AVX-512, which is needed: registers of 256 bits are too few for a tile of ten rows.
bool has_few_rows() noexcept;

/// Whether a product of these sizes is faster here than by OpenBLAS.
bool few_rows_pay(const MatrixProduct& product) noexcept;

/// The number of columns of C that are enough work for a thread at a time.
std::int64_t few_rows_columns(DType dtype) noexcept;

/// Computes a block of a product on the calling thread, if has_few_rows(). No size is 0, at most one matrix is
/// transposed, and `batch` is ignored. The bits of an element do not depend on the other columns of the block.
void multiply_few_rows(const MatrixProduct& block) noexcept;

}  // namespace croton::runtime::cpu

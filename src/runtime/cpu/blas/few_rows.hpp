// Products of a few rows, such as a small batch, with a matrix. A library packs the matrix first, which takes as long
// as multiplying it with ten rows; here it is read once, where it lies.
#pragma once

#include "runtime/cpu/blas/blas.hpp"

namespace croton::runtime::cpu {

/// Whether this processor has what it takes: AVX-512. (Registers of 256 bits are too few for a tile of ten rows.)
bool has_few_rows() noexcept;

/// Whether the product is faster this way than by OpenBLAS, by its sizes.
bool few_rows_pay(const MatrixProduct& product) noexcept;

/// So many columns of C at a time are enough for a thread.
std::int64_t few_rows_columns(DType dtype) noexcept;

/// A block of a product of any sizes but none of 0, on a processor that has what it takes (`batch` is not looked at),
/// on the calling thread; not of two transposed matrices. The bits of an element do not depend on
/// which other columns are in the block.
void multiply_few_rows(const MatrixProduct& block) noexcept;

}  // namespace croton::runtime::cpu

// Writing at computed rows.
#pragma once

#include <croton/variable.hpp>

namespace croton::ops {

/// x (n, ...) with the rows y (m, ...) put at rows idx (int64, m), or added to those with `inc`. Where a row is named
/// again, the last one stays, or all are added in their order: the bits are the same on every device. Rows outside x
/// are passed over, so that whoever wants an error checks idx. dtypes of x and y are equal.
Variable scatter(const Variable& x, const Variable& idx, const Variable& y, bool inc);

}  // namespace croton::ops

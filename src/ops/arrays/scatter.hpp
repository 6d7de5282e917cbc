// Writes to computed rows.
#pragma once

#include <croton/variable.hpp>

namespace croton::ops {

/// x (n, ...) with the rows y (m, ...) written to the rows idx (int64, m), or added to them with `inc`. For repeated
/// rows the last one is written, or all are added in their order: the bits are the same on every device. Rows outside
/// of x are skipped: for an error the caller checks idx. x and y have the same dtype.
Variable scatter(const Variable& x, const Variable& idx, const Variable& y, bool inc);

}  // namespace croton::ops

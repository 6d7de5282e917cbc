// Writing at computed positions of the first axis.
#pragma once

#include <croton/variable.hpp>

namespace croton::ops {

/// x (n, rest...) with row y[i] of y (m, rest...) written, or with `inc` added, at row positions[i]; `positions` is an
/// int64 vector (m) of numbers from 0 to n - 1, made sure before. Of positions that are there twice the last is
/// written; all are added. One dtype.
Variable scatter(const Variable& x, const Variable& positions, const Variable& y, bool inc);

}  // namespace croton::ops

// Windows that slide along axes; window.cpp defines which element of an axis is element k of window i.
#pragma once

#include <croton/variable.hpp>

#include <vector>

#include "expr/attrs.hpp"

namespace croton::ops {

/// The steps of each axis. No step is 0 or larger than max_step; spreads are at least 1.
struct Steps {
  expr::Ints strides, dilations, spreads;
};
inline constexpr std::int64_t max_step = 1 << 30;

/// The inverse relation, the window whose k-th element is given: i = (spread element - dilation k + before) / stride,
/// for steps of either sign. `before` is changed to that of the inverse.
Steps inverse(const Steps& steps, std::vector<Variable>& before);

/// The value of elements of a window outside of the axis: 0, or the lowest value of the dtype (-inf).
enum class Outside { zero, lowest };

/// x with counts[j] windows along axes[j] instead of its elements. Axis taps[j] of x has the elements of a window: the
/// result at (i, k) is x at (position of element k of window i, k).
Variable slide(const Variable& x, const expr::Ints& axes, const expr::Ints& taps, const Steps& steps,
               const std::vector<Variable>& counts, const std::vector<Variable>& before, Outside outside, Where where);

/// Sums of products: x (batch, groups, channels, sizes...) and filters (groups, results, channels, window...) become
/// (batch, groups, results, windows...), or with channels_last (batch, windows..., groups, results).
Variable convolve(const Variable& x, const Variable& filters, const Steps& steps, const std::vector<Variable>& counts,
                  const std::vector<Variable>& before, bool channels_last, Where where);

}  // namespace croton::ops

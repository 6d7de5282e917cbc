// Lists of axes: orders, their inverses, patterns of dimshuffles. Attributes hold them as Ints; the public interface
// has axes of type int.
#pragma once

#include "base/index.hpp"
#include "expr/attrs.hpp"

#include <algorithm>
#include <concepts>
#include <numeric>
#include <utility>
#include <vector>

namespace croton::expr {

/// `count` axes from `first` on.
template <std::integral T>
std::vector<T> axes_from(T first, T count) {
  std::vector<T> axes(base::to_size(count));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// All axes of a variable of that rank.
inline Ints all_axes(std::size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Whether the list has the axis.
template <std::integral T, std::integral Axis>
bool contains(const std::vector<T>& axes, Axis axis) {
  return std::ranges::any_of(axes, [&](T each) { return std::cmp_equal(each, axis); });
}

/// All axes of a variable of that rank except these.
inline Ints other_axes(std::size_t rank, const Ints& axes) {
  Ints others = all_axes(rank);
  std::erase_if(others, [&](std::int64_t axis) { return contains(axes, axis); });
  return others;
}

/// The pattern of two dimshuffles: first `inner`, then `outer`.
inline Ints composed_pattern(Ints outer, const Ints& inner) {
  for (std::int64_t& axis : outer) axis = axis < 0 ? -1 : base::nth(inner, axis);
  return outer;
}

/// The pattern that inverts a dimshuffle of a variable of `rank` axes: for each axis its position in the pattern, -1 if
/// it has none.
template <std::integral T>
std::vector<T> inverse_pattern(const std::vector<T>& pattern, std::size_t rank) {
  std::vector<T> back(rank, T{-1});
  T place = 0;
  for (const T axis : pattern) {
    if (axis >= 0) base::nth(back, axis) = place;
    ++place;
  }
  return back;
}

/// The inverse of an order of axes.
template <std::integral T>
std::vector<T> inverse_order(const std::vector<T>& order) {
  return inverse_pattern(order, order.size());
}

}  // namespace croton::expr

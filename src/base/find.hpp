// The index of a value in a range.
#pragma once

#include <cstddef>

namespace croton::base {

/// The index of the first element that equals the value; the number of elements if none does.
template <class Range, class Value>
std::size_t index_of(const Range& range, const Value& value) {
  std::size_t index = 0;
  for (const auto& element : range) {
    if (element == value) break;
    ++index;
  }
  return index;
}

}  // namespace croton::base

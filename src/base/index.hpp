// Conversions between the signed numbers or enumerations of sizes, axes and places and the std::size_t of containers.
// Their names mark each conversion in the code, and a build with assertions checks that no value changes.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace croton::base {

/// A count or an index, which is not negative, as the type of containers.
template <std::integral T>
constexpr std::size_t to_size(T number) {
  assert(std::in_range<std::size_t>(number));
  return static_cast<std::size_t>(number);
}

/// A number of axes, inputs or lines, which always fits in an int.
template <std::integral T>
constexpr int to_int(T number) {
  assert(std::in_range<int>(number));
  return static_cast<int>(number);
}

/// Element `i` of a container, counted from 0.
template <class Range, std::integral T>
constexpr decltype(auto) nth(Range&& range, T i) {
  return std::forward<Range>(range)[to_size(i)];
}

/// Whether the number is an index of `count` elements: 0 <= number < count.
template <std::integral T>
constexpr bool is_index(T number, std::size_t count) {
  return std::cmp_greater_equal(number, 0) && std::cmp_less(number, count);
}

/// The position of an enumerator in its enumeration, as an index of a table.
template <class Enum>
  requires std::is_enum_v<Enum>
constexpr std::size_t ordinal(Enum value) {
  return static_cast<std::size_t>(value);
}

}  // namespace croton::base

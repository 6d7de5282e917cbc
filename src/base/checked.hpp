// Integer arithmetic that says when it does not fit. Sizes come from users and files, so every product and sum of them
// goes through here before it reaches an allocation.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

namespace croton::base {

/// a + b, or nothing if it does not fit in T.
template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a - b, or nothing if it does not fit in T.
template <std::integral T>
constexpr std::optional<T> checked_sub(T a, T b) {
  T result{};
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a * b, or nothing if it does not fit in T.
template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// The value as To, or nothing if To does not have it.
template <std::integral To, std::integral From>
constexpr std::optional<To> checked_cast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace croton::base

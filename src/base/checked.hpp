// Integer arithmetic with overflow checks, and integer arithmetic that wraps. Sizes come from users and files, so every
// product and sum of them is checked before it reaches an allocation. Arithmetic on data wraps.
#pragma once

#include <concepts>
#include <cstdint>
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

/// a + b, a - b and a * b modulo 2^n for integers of n bits, as processors compute them.
template <std::integral T>
constexpr T wrapped_add(T a, T b) {
  T result{};
  __builtin_add_overflow(a, b, &result);
  return result;
}
template <std::integral T>
constexpr T wrapped_sub(T a, T b) {
  T result{};
  __builtin_sub_overflow(a, b, &result);
  return result;
}
template <std::integral T>
constexpr T wrapped_mul(T a, T b) {
  T result{};
  __builtin_mul_overflow(a, b, &result);
  return result;
}

/// |value|, unsigned, because no int64 holds the magnitude of the lowest int64.
template <std::integral T>
constexpr std::uint64_t magnitude(T value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

/// The value as To, or nothing if it does not fit.
template <std::integral To, std::integral From>
constexpr std::optional<To> checked_cast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace croton::base

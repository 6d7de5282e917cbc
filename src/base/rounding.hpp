// Division and rounding upwards, of sizes.
#pragma once

#include <type_traits>

namespace croton::base {

/// The smallest integer of at least a / b, for a >= 0 and b > 0. It does not overflow.
template <class A, class B>
constexpr std::common_type_t<A, B> ceil_div(A a, B b) {
  static_assert(std::is_integral_v<A> && std::is_integral_v<B> && std::is_signed_v<A> == std::is_signed_v<B>);
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The smallest multiple of `step` that is at least `n`, for n >= 0 and step > 0.
template <class A, class B>
constexpr std::common_type_t<A, B> round_up(A n, B step) {
  return ceil_div(n, step) * step;
}

}  // namespace croton::base

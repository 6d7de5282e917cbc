// Division and rounding upwards, of sizes.
#pragma once

namespace croton::base {

/// The smallest integer of at least a / b, for a >= 0 and b > 0. It does not overflow.
template <class T>
constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The smallest multiple of `step` that is at least `n`, for n >= 0 and step > 0.
template <class T>
constexpr T round_up(T n, T step) {
  return ceil_div(n, step) * step;
}

}  // namespace croton::base

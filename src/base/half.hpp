// float16 (IEEE 754 binary16) and bfloat16 as storage types, with conversions that give the same bits on every
// compiler and processor. Rounding is to nearest, ties to even; overflow gives infinity; NaN stays NaN (quiet, upper
// payload kept).
#pragma once

#include "base/checked.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace croton::base {

/// The bits of a float16 number.
struct Half {
  std::uint16_t bits = 0;
};

/// The bits of a bfloat16 number: the upper half of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;
};

/// A float or double rounded to 16 bits with `exponent_bits` and `mantissa_bits` (their sum is 15), in one rounding.
template <int exponent_bits, int mantissa_bits, class Source>
constexpr auto rounded_bits(Source value) {
  using Bits = std::conditional_t<sizeof(Source) == 4, std::uint32_t, std::uint64_t>;
  constexpr int source_mantissa = std::numeric_limits<Source>::digits - 1;
  constexpr int source_bias = std::numeric_limits<Source>::max_exponent - 1;
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr int top_exponent = (1 << exponent_bits) - 1;
  constexpr Bits infinity = Bits{top_exponent} << mantissa_bits;

  const Bits bits = std::bit_cast<Bits>(value);
  const Bits sign = bits >> (sizeof(Source) * 8 - 1) << 15;
  const Bits fraction = bits & ((Bits{1} << source_mantissa) - 1);
  const int stored_exponent = static_cast<int>((bits >> source_mantissa) & (2 * source_bias + 1));
  if (stored_exponent == 2 * source_bias + 1) {
    if (fraction == 0) return sign | infinity;
    constexpr Bits quiet = Bits{1} << (mantissa_bits - 1);
    const Bits payload = fraction >> (source_mantissa - mantissa_bits);
    return sign | infinity | quiet | payload;
  }

  const bool normal = stored_exponent != 0;
  const Bits significand = normal ? fraction | (Bits{1} << source_mantissa) : fraction;
  const int exponent = (normal ? stored_exponent : 1) - source_bias + bias;  // biased as in the result
  if (exponent >= top_exponent) return sign | infinity;
  int shift = source_mantissa - mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
  if (shift > source_mantissa + 2) shift = source_mantissa + 2;  // all bits are shifted out: rounds to zero
  const Bits rest = significand & ((Bits{1} << shift) - 1);
  const Bits half = Bits{1} << (shift - 1);
  Bits kept = significand >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // `kept` carries the implicit bit of a normal number, so it adds one to the exponent field, and so does a carry of
  // the rounding.
  const Bits base_exponent = exponent < 1 ? 0 : static_cast<Bits>(exponent - 1) << mantissa_bits;
  return sign | (base_exponent + kept);
}
template <int exponent_bits, int mantissa_bits, class Source>
constexpr std::uint16_t round_to_16_bits(Source value) {
  return static_cast<std::uint16_t>(rounded_bits<exponent_bits, mantissa_bits>(value));
}

/// Rounds to odd at 53 bits, so that a later rounding to 16 bits equals a single rounding (Boldo and Melquiond 2008).
constexpr double to_double_for_rounding(std::uint64_t magnitude) {
  if (magnitude >= (std::uint64_t{1} << 53)) {
    const bool inexact = (magnitude & 0x7FF) != 0;
    magnitude = (magnitude & ~std::uint64_t{0x7FF}) | (inexact ? 0x800 : 0);
  }
  return static_cast<double>(magnitude);
}

/// An integer, float or double as a double that rounds to 16 bits as the number itself does.
template <class Source>
constexpr auto for_rounding(Source value) {
  if constexpr (std::is_floating_point_v<Source>) {
    return value;
  } else if constexpr (std::is_signed_v<Source>) {
    const double rounded = to_double_for_rounding(magnitude(value));
    return value < 0 ? -rounded : rounded;
  } else {
    return to_double_for_rounding(value);
  }
}

/// The float16 nearest to an integer, bool, float or double.
template <class Source>
constexpr Half to_half(Source value) {
  return Half{round_to_16_bits<5, 10>(for_rounding(value))};
}

/// The bfloat16 nearest to an integer, bool, float or double.
template <class Source>
constexpr BFloat16 to_bfloat16(Source value) {
  return BFloat16{round_to_16_bits<8, 7>(for_rounding(value))};
}

/// Exact.
constexpr float to_float(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1F;
  const std::uint32_t mantissa = value.bits & 0x3FF;
  if (exponent == 0x1F) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0;
    return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13) | quiet);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// Exact.
constexpr float to_float(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

}  // namespace croton::base

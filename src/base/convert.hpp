// Copies elements between strided blocks and converts them from one dtype to another; `astype` and `copy` use it. Float
// to integer truncates and saturates, NaN gives 0; integer to integer wraps; any dtype to bool compares with 0; complex
// to a real dtype (other than bool) is an error. Elements need no alignment.
#pragma once

#include "base/half.hpp"

#include <croton/type.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace croton::base {

/// Calls f(std::type_identity<T>{}) with the C++ type of an element; float16 and bfloat16 are Half and BFloat16.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(std::type_identity<bool>{});
    case DType::int8:
      return f(std::type_identity<std::int8_t>{});
    case DType::int16:
      return f(std::type_identity<std::int16_t>{});
    case DType::int32:
      return f(std::type_identity<std::int32_t>{});
    case DType::int64:
      return f(std::type_identity<std::int64_t>{});
    case DType::uint8:
      return f(std::type_identity<std::uint8_t>{});
    case DType::uint16:
      return f(std::type_identity<std::uint16_t>{});
    case DType::uint32:
      return f(std::type_identity<std::uint32_t>{});
    case DType::uint64:
      return f(std::type_identity<std::uint64_t>{});
    case DType::float16:
      return f(std::type_identity<Half>{});
    case DType::bfloat16:
      return f(std::type_identity<BFloat16>{});
    case DType::float32:
      return f(std::type_identity<float>{});
    case DType::float64:
      return f(std::type_identity<double>{});
    case DType::complex64:
      return f(std::type_identity<std::complex<float>>{});
    case DType::complex128:
      break;
  }
  return f(std::type_identity<std::complex<double>>{});
}

/// Truncates; a value out of range gives the nearest limit, NaN gives 0.
template <class To, class From>
To saturate(From value) {
  constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
  // The largest value plus one: a power of two, so exact in any float.
  constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (value != value) return 0;
  if (value <= lowest) return std::numeric_limits<To>::min();
  if (value >= above) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

/// A strided block to read from; one stride for each axis, in bytes.
struct ConstBlock {
  const void* data;
  DType dtype;
  std::span<const std::int64_t> strides;
};

/// A strided block to write to.
struct Block {
  void* data;
  DType dtype;
  std::span<const std::int64_t> strides;
};

/// to[...] = from[...], converted. The blocks do not overlap. TypeError for complex to real.
void convert_elements(std::span<const std::int64_t> shape, Block to, ConstBlock from);

/// Raises the TypeError that convert_elements raises for these dtypes.
void check_conversion(DType to, DType from);

}  // namespace croton::base

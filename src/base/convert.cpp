#include "base/convert.hpp"

#include "base/index.hpp"
#include "base/strided.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <tuple>
#include <utility>

namespace croton::base {
namespace {

// In the order of DType.
using ElementTypes =
    std::tuple<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
               std::uint64_t, Half, BFloat16, float, double, std::complex<float>, std::complex<double>>;
static_assert(std::tuple_size_v<ElementTypes> == dtype_count);

template <class T>
constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool is_complex_type = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Uses memcpy, because elements of a caller's memory may be unaligned; the byte of a bool may have any value.
template <class T>
T load(const std::byte* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_small_float<From>) {
    return converted<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (is_complex_type<To> && is_complex_type<From>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
  } else if constexpr (is_complex_type<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<To, Half>) {
    return to_half(value);
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat16(value);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

using RowFunction = void (*)(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                             std::int64_t n);

template <class To, class From>
void convert_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                 std::int64_t n) {
  constexpr std::int64_t to_bytes{sizeof(To)}, from_bytes{sizeof(From)};
  if (to_stride == to_bytes && from_stride == from_bytes) {
    if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
      std::memcpy(to, from, to_size(n) * sizeof(To));
    } else {  // constant strides, so that the loop vectorises
      for (std::int64_t i = 0; i < n; ++i) store(to + i * to_bytes, converted<To>(load<From>(from + i * from_bytes)));
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) store(to + i * to_stride, converted<To>(load<From>(from + i * from_stride)));
}

template <std::size_t pair>
constexpr RowFunction row_function() {
  using To = std::tuple_element_t<pair / dtype_count, ElementTypes>;
  using From = std::tuple_element_t<pair % dtype_count, ElementTypes>;
  if constexpr (is_complex_type<From> && !is_complex_type<To> && !std::is_same_v<To, bool>) {
    return nullptr;
  } else {
    return &convert_row<To, From>;
  }
}

template <std::size_t... pair>
constexpr std::array<RowFunction, sizeof...(pair)> row_function_table(std::index_sequence<pair...>) {
  return {row_function<pair>()...};
}

constexpr auto row_functions = row_function_table(std::make_index_sequence<dtype_count * dtype_count>{});

RowFunction row_function_for(DType to, DType from) { return row_functions[ordinal(to) * dtype_count + ordinal(from)]; }

}  // namespace

void check_conversion(DType to, DType from) {
  if (row_function_for(to, from) != nullptr) return;
  throw TypeError(
      fmt::format("{} cannot be cast to {}: select a part with real, imag or abs", name_of(from), name_of(to)));
}

void convert_elements(std::span<const std::int64_t> shape, Block to, ConstBlock from) {
  check_conversion(to.dtype, from.dtype);
  const RowFunction convert = row_function_for(to.dtype, from.dtype);
  auto* to_data = static_cast<std::byte*>(to.data);
  const auto* from_data = static_cast<const std::byte*>(from.data);
  for_each_row(
      shape, to.strides, from.strides, [&](std::int64_t to_offset, std::int64_t from_offset, const PairAxis& axis) {
        convert(to_data + to_offset, axis.first_stride, from_data + from_offset, axis.second_stride, axis.size);
        return true;
      });
}

}  // namespace croton::base

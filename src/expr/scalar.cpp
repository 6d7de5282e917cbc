#include "expr/op.hpp"

#include "base/half.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace croton::expr {
namespace {

/// Wraps modulo 2^bits, as conversions between integer types do.
std::int64_t wrap(std::int64_t value, DType to) {
  switch (to) {
    case DType::bool_:
      return value != 0;
    case DType::int8:
      return static_cast<std::int8_t>(value);
    case DType::int16:
      return static_cast<std::int16_t>(value);
    case DType::int32:
      return static_cast<std::int32_t>(value);
    case DType::uint8:
      return static_cast<std::uint8_t>(value);
    case DType::uint16:
      return static_cast<std::uint16_t>(value);
    case DType::uint32:
      return static_cast<std::uint32_t>(value);
    default:
      return value;
  }
}

template <class T>
std::int64_t saturate(double value) {
  if (std::isnan(value)) return 0;
  // The limits as doubles may round up to one past the type, so compare with >=.
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return static_cast<std::int64_t>(std::numeric_limits<T>::max());
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return static_cast<std::int64_t>(std::numeric_limits<T>::min());
  return static_cast<std::int64_t>(static_cast<T>(value));
}

std::int64_t truncate(double value, DType to) {
  switch (to) {
    case DType::bool_:
      return value != 0;
    case DType::int8:
      return saturate<std::int8_t>(value);
    case DType::int16:
      return saturate<std::int16_t>(value);
    case DType::int32:
      return saturate<std::int32_t>(value);
    case DType::uint8:
      return saturate<std::uint8_t>(value);
    case DType::uint16:
      return saturate<std::uint16_t>(value);
    case DType::uint32:
      return saturate<std::uint32_t>(value);
    case DType::uint64:
      return saturate<std::uint64_t>(value);
    default:
      return saturate<std::int64_t>(value);
  }
}

double round_to(double value, DType to) {
  switch (to) {
    case DType::float32:
      return static_cast<float>(value);
    case DType::float16:
      return base::to_float(base::to_half(value));
    case DType::bfloat16:
      return base::to_float(base::to_bfloat16(value));
    default:
      return value;
  }
}

}  // namespace

Scalar Scalar::of_double(double value, DType dtype) { return {dtype, 0, round_to(value, dtype)}; }
Scalar Scalar::of_int(std::int64_t value, DType dtype) { return {dtype, value, 0}; }

double Scalar::as_double() const {
  if (is_float(dtype)) return d;
  return dtype == DType::uint64 ? static_cast<double>(static_cast<std::uint64_t>(i)) : static_cast<double>(i);
}

Scalar Scalar::cast(DType to) const {
  if (is_float(to)) return of_double(as_double(), to);
  return of_int(is_float(dtype) ? truncate(d, to) : wrap(i, to), to);
}

std::int64_t apply_integers(std::string_view name, std::int64_t a, std::int64_t b) {
  const std::array operands = {Scalar::of_int(a, DType::int64), Scalar::of_int(b, DType::int64)};
  return op(name).map->reference(operands, DType::int64).i;
}

}  // namespace croton::expr

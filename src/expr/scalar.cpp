#include "expr/op.hpp"

#include "base/convert.hpp"
#include "base/half.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

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

std::int64_t truncate(double value, DType to) {
  switch (to) {
    case DType::bool_:
      return value != 0;
    case DType::int8:
      return base::saturate<std::int8_t>(value);
    case DType::int16:
      return base::saturate<std::int16_t>(value);
    case DType::int32:
      return base::saturate<std::int32_t>(value);
    case DType::uint8:
      return base::saturate<std::uint8_t>(value);
    case DType::uint16:
      return base::saturate<std::uint16_t>(value);
    case DType::uint32:
      return base::saturate<std::uint32_t>(value);
    case DType::uint64:
      return std::bit_cast<std::int64_t>(base::saturate<std::uint64_t>(value));
    default:
      return base::saturate<std::int64_t>(value);
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
Scalar Scalar::of_unsigned(std::uint64_t value, DType dtype) { return {dtype, std::bit_cast<std::int64_t>(value), 0}; }
Scalar Scalar::of_complex(std::complex<double> value, DType dtype) {
  const DType part = dtype == DType::complex64 ? DType::float32 : DType::float64;
  return {dtype, 0, round_to(value.real(), part), round_to(value.imag(), part)};
}

double Scalar::as_double() const {
  if (is_float(dtype)) return d;
  if (is_complex(dtype)) return im == 0 ? d : std::numeric_limits<double>::quiet_NaN();
  return dtype == DType::uint64 ? static_cast<double>(as_unsigned()) : static_cast<double>(i);
}

Scalar Scalar::cast(DType to) const {
  if (is_complex(to)) return of_complex(as_complex(), to);
  if (is_complex(dtype)) {
    base::check_conversion(to, dtype);
    return of_int(d != 0 || im != 0, to);
  }
  if (is_float(to)) return of_double(as_double(), to);
  return of_int(is_float(dtype) ? truncate(d, to) : wrap(i, to), to);
}

namespace {

bool any_complex(std::span<const Scalar> values) {
  return std::ranges::any_of(values, [](const Scalar& value) { return is_complex(value.dtype); });
}

/// Whether results of this kind consist of elements of the inputs.
bool moves_elements(Kind kind) {
  switch (kind) {
    case Kind::View:
    case Kind::Join:
    case Kind::Window:
    case Kind::Gather:
    case Kind::Check:
    case Kind::Transfer:
      return true;
    default:
      return false;
  }
}

}  // namespace

MapInfo::Types MapInfo::types(std::span<const DType> inputs) const {
  if (std::ranges::none_of(inputs, is_complex)) return real_types(inputs);
  if (complex == nullptr) throw TypeError("complex numbers are not accepted; take real, imag, abs or angle of them");
  return complex->types(inputs);
}

Scalar MapInfo::reference(std::span<const Scalar> operands, DType result) const {
  const bool by_complex = complex != nullptr && complex->reference != nullptr && any_complex(operands);
  return (by_complex ? complex->reference : real_reference)(operands, result);
}

void refuse_complex(const Op& op, const InferContext& context) {
  const auto complex = [](const InferredType& input) { return is_complex(input.dtype); };
  if (std::ranges::none_of(context.inputs, complex)) return;
  if (op.kind == Kind::Map || op.takes_complex || op.expand_at_import || moves_elements(op.kind)) return;
  context.type_error("complex numbers are not accepted; take real, imag, abs or angle of them");
}

bool is_exact(const Op& op, std::span<const Scalar> operands, DType result) {
  if (result != DType::int64 || op.kind != Kind::Map || op.map->exact == nullptr) return true;
  return op.map->exact(operands);
}

std::optional<std::int64_t> exact_integers(const Op& op, std::int64_t a, std::int64_t b) {
  const std::array operands = {Scalar::of_int(a, DType::int64), Scalar::of_int(b, DType::int64)};
  if (!is_exact(op, operands, DType::int64)) return std::nullopt;
  return apply_integers(op, a, b);
}

std::int64_t apply_integers(const Op& op, std::int64_t a, std::int64_t b) {
  const std::array operands = {Scalar::of_int(a, DType::int64), Scalar::of_int(b, DType::int64)};
  return op.map->reference(operands, DType::int64).i;
}

}  // namespace croton::expr

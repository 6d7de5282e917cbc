// Names of dtypes and the rules of type promotion.
#include <croton/error.hpp>
#include <croton/type.hpp>

#include "base/index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

namespace croton {
namespace {

struct DTypeRow {
  std::string_view name;
  std::string_view short_name;
  std::size_t size;
};

// In the order of the enumeration.
constexpr std::array<DTypeRow, dtype_count> rows{{
    {"bool", "bool", 1},
    {"int8", "i8", 1},
    {"int16", "i16", 2},
    {"int32", "i32", 4},
    {"int64", "i64", 8},
    {"uint8", "u8", 1},
    {"uint16", "u16", 2},
    {"uint32", "u32", 4},
    {"uint64", "u64", 8},
    {"float16", "f16", 2},
    {"bfloat16", "bf16", 2},
    {"float32", "f32", 4},
    {"float64", "f64", 8},
    {"complex64", "c64", 8},
    {"complex128", "c128", 16},
}};

const DTypeRow& row(DType dtype) { return rows[base::ordinal(dtype)]; }

/// The signed integer of that many bytes; float64 if there is none, as in NumPy.
DType signed_of_size(std::size_t bytes) {
  if (bytes == 2) return DType::int16;
  if (bytes == 4) return DType::int32;
  return bytes == 8 ? DType::int64 : DType::float64;
}

DType promote_integers(DType a, DType b) {
  if (is_signed_int(a) == is_signed_int(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType with_sign = is_signed_int(a) ? a : b;
  const DType without = is_signed_int(a) ? b : a;
  if (size_of(with_sign) > size_of(without)) return with_sign;
  return signed_of_size(2 * size_of(without));
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  // float16 and bfloat16 cannot represent each other's values.
  if (size_of(a) == size_of(b)) return DType::float32;
  return size_of(a) > size_of(b) ? a : b;
}

/// NumPy's rule: an integer of one byte fits any float, one of two bytes needs float32, and a wider one needs float64.
DType promote_float_with_integer(DType floating, DType integer) {
  if (size_of(integer) == 1) return floating;
  return promote_floats(floating, size_of(integer) == 2 ? DType::float32 : DType::float64);
}

/// The float dtype of a complex dtype's parts; any other dtype itself.
DType part_of(DType dtype) {
  if (!is_complex(dtype)) return dtype;
  return dtype == DType::complex64 ? DType::float32 : DType::float64;
}

}  // namespace

std::size_t size_of(DType dtype) { return row(dtype).size; }

std::string_view name_of(DType dtype) { return row(dtype).name; }

std::string_view short_name_of(DType dtype) { return row(dtype).short_name; }

DType dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name || rows[i].short_name == name) return static_cast<DType>(i);
  }
  std::vector<std::string_view> names;
  for (const DTypeRow& known : rows) names.push_back(known.name);
  throw TypeError(fmt::format("\"{}\" is not a dtype; the dtypes are {}", name, fmt::join(names, ", ")));
}

DType promote(DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  if (is_complex(a) || is_complex(b)) {
    return promote(part_of(a), part_of(b)) == DType::float64 ? DType::complex128 : DType::complex64;
  }
  if (is_float(a) && is_float(b)) return promote_floats(a, b);
  if (is_float(a)) return promote_float_with_integer(a, b);
  if (is_float(b)) return promote_float_with_integer(b, a);
  return promote_integers(a, b);
}

bool can_cast_safely(DType from, DType to) { return promote(from, to) == to; }

DType smallest_int(std::int64_t value) {
  const auto fits = [value](auto limits) { return value >= limits.min() && value <= limits.max(); };
  if (fits(std::numeric_limits<std::int8_t>{})) return DType::int8;
  if (fits(std::numeric_limits<std::int16_t>{})) return DType::int16;
  if (fits(std::numeric_limits<std::int32_t>{})) return DType::int32;
  return DType::int64;
}

std::string Type::to_string() const {
  std::vector<std::string> sizes(shape.size());
  std::transform(shape.begin(), shape.end(), sizes.begin(),
                 [](std::int64_t size) { return size == unknown_size ? std::string("?") : std::to_string(size); });
  return fmt::format("{}[{}]", short_name_of(dtype), fmt::join(sizes, ", "));
}

}  // namespace croton

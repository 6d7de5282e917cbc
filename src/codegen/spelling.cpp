#include "codegen/spelling.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/index.hpp"

namespace croton::codegen {

std::string_view stored_type(DType t) {
  static constexpr std::string_view names[] = {"bool",
                                               "ct::i8",
                                               "ct::i16",
                                               "ct::i32",
                                               "ct::i64",
                                               "ct::u8",
                                               "ct::u16",
                                               "ct::u32",
                                               "ct::u64",
                                               "ct::f16",
                                               "ct::bf16",
                                               "float",
                                               "double",
                                               "ct::complex<float>",
                                               "ct::complex<double>"};
  return names[base::ordinal(t)];
}

std::string sanitized(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 160)) result += c >= ' ' && c < 127 && c != '\\' ? c : '?';
  return result;
}

std::size_t operand_of_hole(char digit) { return base::to_size(digit - '0'); }

std::string_view value_type(DType t) { return stored_type(compute_dtype(t)); }

std::string number(double value, DType dtype) {
  const std::string_view type = value_type(dtype);
  if (std::isnan(value)) return fmt::format("ct::nan<{}>()", type);
  if (std::isinf(value)) return value < 0 ? fmt::format("(-ct::inf<{}>())", type) : fmt::format("ct::inf<{}>()", type);
  std::string text =
      compute_dtype(dtype) == DType::float32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (compute_dtype(dtype) == DType::float32) text += 'f';
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

std::string number(const expr::Scalar& value) {
  if (is_float(value.dtype)) return number(value.d, value.dtype);
  if (is_complex(value.dtype)) {
    const DType part = value.dtype == DType::complex64 ? DType::float32 : DType::float64;
    return fmt::format("{}({}, {})", stored_type(value.dtype), number(value.d, part), number(value.im, part));
  }
  if (is_bool(value.dtype)) return value.i ? "true" : "false";
  if (value.dtype == DType::uint64) return fmt::format("{}ull", static_cast<std::uint64_t>(value.i));
  if (value.i == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
  const std::string digits = value.dtype == DType::int64 ? fmt::format("{}ll", value.i)
                                                         : fmt::format("{}({})", stored_type(value.dtype), value.i);
  return value.i < 0 ? "(" + digits + ")" : digits;
}

}  // namespace croton::codegen

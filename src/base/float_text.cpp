// The choice between plain and scientific notation, and the alignment, are those of NumPy 2 with its default settings
// (8 digits after the point).
#include "base/float_text.hpp"

#include "base/half.hpp"
#include "base/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace croton::base {
namespace {

constexpr int precision = 8;

/// |value| = 0.d1 d2 d3... times 10^point, digits without trailing zeros.
struct Decimal {
  std::string digits;
  int point = 0;
};

Decimal parse_scientific(std::string_view text) {
  const std::size_t e = text.find('e');
  Decimal decimal;
  for (const char c : text.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  decimal.point = std::atoi(text.data() + e + 1) + 1;
  decimal.digits.erase(std::max<std::size_t>(decimal.digits.find_last_not_of('0') + 1, 1));
  return decimal;
}

template <class T>
Decimal shortest_by_library(T value) {
  std::array<char, 64> buffer{};
  std::to_chars(buffer.data(), buffer.data() + buffer.size() - 1, value, std::chars_format::scientific);
  return parse_scientific(buffer.data());
}

/// For dtypes of 16 bits: the smallest number of digits that rounds back to the value; five are always enough.
Decimal shortest_by_trial(double value, DType dtype) {
  const auto round_back = [dtype](double x) -> double {
    return dtype == DType::float16 ? to_float(to_half(x)) : to_float(to_bfloat16(x));
  };
  for (int digits = 0;; ++digits) {
    const std::string text = fmt::format("{:.{}e}", value, digits);
    if (digits == precision || round_back(std::strtod(text.c_str(), nullptr)) == value) return parse_scientific(text);
  }
}

Decimal shortest(double magnitude, DType dtype) {
  if (dtype == DType::float64) return shortest_by_library(magnitude);
  if (dtype == DType::float32) return shortest_by_library(static_cast<float>(magnitude));
  return shortest_by_trial(magnitude, dtype);
}

/// Parts of a printed number, to be aligned at the point.
struct NumberText {
  std::string whole;     ///< sign and digits before the point
  std::string fraction;  ///< digits after the point
  std::string exponent;  ///< "e+05", or nothing
};

std::string sign_text(double value, bool plus) {
  if (std::signbit(value)) return "-";
  return plus ? "+" : "";
}

void strip_zeros(std::string& text) { text.erase(text.find_last_not_of('0') + 1); }

NumberText split(const std::string& text) {
  const std::size_t e = std::min(text.find('e'), text.size());
  const std::size_t point = std::min(text.find('.'), e);
  return {text.substr(0, point), point < e ? text.substr(point + 1, e - point - 1) : "", text.substr(e)};
}

/// All digits of the shortest form.
NumberText positional_text(double magnitude, DType dtype) {
  const Decimal decimal = shortest(magnitude, dtype);
  const std::string& digits = decimal.digits;
  if (decimal.point <= 0) return {"0", std::string(to_size(-decimal.point), '0') + digits, ""};
  const std::size_t point = to_size(decimal.point);
  if (point >= digits.size()) return {digits + std::string(point - digits.size(), '0'), "", ""};
  return {digits.substr(0, point), digits.substr(point), ""};
}

NumberText scientific_text(double magnitude, DType dtype) {
  const Decimal decimal = shortest(magnitude, dtype);
  const int exponent = decimal.digits == "0" ? 0 : decimal.point - 1;
  return {decimal.digits.substr(0, 1), decimal.digits.substr(1), fmt::format("e{:+03d}", exponent)};
}

/// The shortest digits, cut to the precision by rounding the exact value.
NumberText cut_text(double magnitude, DType dtype, bool scientific) {
  NumberText text = scientific ? scientific_text(magnitude, dtype) : positional_text(magnitude, dtype);
  if (text.fraction == "0") text.fraction.clear();
  if (text.fraction.size() <= precision) return text;
  text =
      split(scientific ? fmt::format("{:.{}e}", magnitude, precision) : fmt::format("{:.{}f}", magnitude, precision));
  strip_zeros(text.fraction);
  return text;
}

/// x rounded to the dtype, for comparisons that NumPy makes in the dtype.
double rounded(double x, DType dtype) {
  if (dtype == DType::float32) return static_cast<float>(x);
  if (dtype == DType::float16) return to_float(to_half(x));
  if (dtype == DType::bfloat16) return to_float(to_bfloat16(x));
  return x;
}

/// The smallest magnitude that has insignificant digits before the point in this dtype.
double scientific_from(DType dtype, double for_double) {
  if (dtype == DType::float64) return for_double;
  return dtype == DType::float32 ? 1e6 : 1e3;
}

bool wants_scientific(const std::vector<double>& values, DType dtype) {
  double largest = 0;
  double smallest = HUGE_VAL;
  for (const double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  if (largest == 0) return false;
  return largest >= scientific_from(dtype, 1e8) || smallest < rounded(1e-4, dtype) ||
         rounded(largest / smallest, dtype) > 1000;
}

struct Widths {
  std::size_t whole = 0;
  std::size_t fraction = 0;
  std::size_t exponent = 0;
};

Widths widths_of(const std::vector<NumberText>& texts) {
  Widths widths;
  for (const NumberText& text : texts) {
    widths.whole = std::max(widths.whole, text.whole.size());
    widths.fraction = std::max(widths.fraction, text.fraction.size());
    widths.exponent = std::max(widths.exponent, text.exponent.size());
  }
  return widths;
}

std::string non_finite_text(double value, bool plus) {
  if (std::isnan(value)) return plus ? "+nan" : "nan";
  return sign_text(value, plus) + "inf";
}

}  // namespace

std::vector<std::string> aligned_float_texts(const std::vector<double>& values, DType dtype, bool plus) {
  const bool scientific = wants_scientific(values, dtype);
  std::vector<NumberText> finite;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    finite.push_back(cut_text(std::abs(value), dtype, scientific));
    finite.back().whole.insert(0, sign_text(value, plus));
  }
  const Widths widths = widths_of(finite);
  std::size_t total = widths.whole + 1 + widths.fraction + widths.exponent;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      // The width includes the sign of an infinity, but that of a NaN only if signs are always written.
      const bool counts_sign = std::isinf(value) || plus;
      total = std::max(total, counts_sign ? non_finite_text(value, plus).size() : 3);
    }
  }
  const std::size_t whole_width = total - 1 - widths.fraction - widths.exponent;

  std::vector<std::string> texts;
  std::size_t next = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      texts.push_back(fmt::format("{:>{}}", non_finite_text(value, plus), total));
      continue;
    }
    const NumberText& text = finite[next++];
    if (scientific) {
      // Every number gets as many digits as the longest: digits of the exact value, not zeros. Exponents get zeros.
      NumberText full = split(fmt::format("{:#.{}e}", std::abs(value), widths.fraction));
      full.exponent.insert(2, widths.exponent - full.exponent.size(), '0');
      texts.push_back(
          fmt::format("{:>{}}.{}{}", sign_text(value, plus) + full.whole, whole_width, full.fraction, full.exponent));
    } else {
      texts.push_back(fmt::format("{:>{}}.{:<{}}", text.whole, whole_width, text.fraction, widths.fraction));
    }
  }
  return texts;
}

std::string short_float_text(double value, DType dtype) {
  if (!std::isfinite(value)) return non_finite_text(value, false);
  const double magnitude = std::abs(value);
  const bool scientific = magnitude != 0 && (magnitude < 1e-4 || magnitude >= scientific_from(dtype, 1e16));
  const NumberText text = scientific ? scientific_text(magnitude, dtype) : positional_text(magnitude, dtype);
  const bool has_fraction = !text.fraction.empty() && text.fraction != "0";
  return sign_text(value, false) + text.whole + (has_fraction ? "." + text.fraction : "") + text.exponent;
}

std::string scalar_float_text(double value, DType dtype) {
  std::string text = short_float_text(value, dtype);
  if (text.find_first_of(".enf") == std::string::npos) text += ".0";
  return text;
}

}  // namespace croton::base

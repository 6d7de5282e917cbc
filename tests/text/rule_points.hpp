// Shared code of the tests of all rewrite rules: their lines, and the points at which they are tested.
#pragma once

#include <croton/array.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "folders.hpp"
#include "rewrite/rewriter.hpp"
#include "rule_lines.hpp"

namespace croton::test {

inline std::vector<RuleLine> all_rule_lines() {
  std::vector<RuleLine> all;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/tests/text")) {
    if (entry.path().extension() != ".test") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("rule ")) all.push_back(parse_rule_line(line));
    }
  }
  return all;
}

/// The text with another dtype for every f32, of variables and constants.
inline std::string in_dtype(std::string text, const std::string& dtype) {
  for (std::size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32", at + dtype.size()))
    text.replace(at, 3, dtype);
  return text;
}

/// Very large, very small, near the overflow of exp, and ordinary numbers, in a different order for each input.
inline Array extremes(DType dtype, const Sizes& shape, std::size_t input) {
  static constexpr std::array values{1e30, -1e-30, 90.0, 0.5, -90.0, 1e-42, -1e30, 2.0, 3e38, -1.0, 1e-30, 0.0, -30.0};
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  Array all = Array::empty(DType::float64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i) * (input + 1) + 3 * input;
    all.data<double>()[static_cast<std::size_t>(i)] = values[at % values.size()];
  }
  return all.astype(dtype).reshape(shape);
}

/// Reordered products, scaled filters and sums of shifts overflow at other points: docs/internals/rewrites.md.
inline bool overflows_elsewhere(const rewrite::Fired& fired) {
  return fired.contains("dot-dot") || fired.contains("scale-in-filters") || fired.contains("shifts-in-one");
}

inline bool near(double got, double truth) {
  return got == truth || std::abs(got - truth) <= 1e-4 * std::abs(truth) + 1e-37 ||
         (std::isnan(got) && std::isnan(truth));
}

}  // namespace croton::test

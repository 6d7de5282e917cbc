#include <croton/io.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "io/digits_csv.hpp"

namespace croton::io {
namespace {

constexpr int original_side = 8;
constexpr int original_pixels = original_side * original_side;
constexpr int max_ink = 16;

/// Removes the next number and the character after it from the front of the text. The data belong to the library, so a
/// fault is a bug.
int take_number(std::string_view& text, char end, int highest) {
  int value = -1;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::size_t length = base::to_size(at - text.data());
  if (error != std::errc{} || value < 0 || value > highest || length == text.size() || *at != end) {
    throw InternalError(fmt::format("data/digits.csv is damaged, {} bytes before its end", text.size()));
  }
  text.remove_prefix(length + 1);
  return value;
}

struct Original {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
};

Original read_original() {
  Original original;
  for (std::string_view text = digits_csv(); !text.empty();) {
    for (int i = 0; i < original_pixels; ++i) {
      original.pixels.push_back(static_cast<float>(take_number(text, ',', max_ink)) / max_ink);
    }
    original.labels.push_back(take_number(text, '\n', 9));
  }
  return original;
}

/// A position of the enlarged axis between two positions of the original one: (1 - weight) [low] + weight [high].
struct Interpolation {
  std::size_t low;
  std::size_t high;
  float weight;
};

std::vector<Interpolation> positions(int side) {
  std::vector<Interpolation> result;
  for (int i = 0; i < side; ++i) {
    const double centre = (i + 0.5) * original_side / side - 0.5;
    const double inside = std::clamp(centre, 0.0, original_side - 1.0);
    const auto low = static_cast<std::size_t>(inside);
    result.push_back({low, std::min<std::size_t>(low + 1, original_side - 1),
                      static_cast<float>(inside - static_cast<double>(low))});
  }
  return result;
}

void enlarge(std::span<const float> from, std::span<float> to, const std::vector<Interpolation>& positions) {
  auto out = to.begin();
  for (const Interpolation& y : positions) {
    for (const Interpolation& x : positions) {
      const auto mixed = [&](std::size_t row) {
        const float left = from[row * original_side + x.low];
        return left + x.weight * (from[row * original_side + x.high] - left);
      };
      const float top = mixed(y.low);
      *out++ = top + y.weight * (mixed(y.high) - top);
    }
  }
}

}  // namespace

Digits digits(int side) {
  if (side < original_side || side > 128) {
    throw ValueError(fmt::format("digits: side is {}; it must be 8 (the original) to 128", side));
  }
  const Original original = read_original();
  const std::size_t pixels = base::to_size(side * side);
  Digits result{Array::empty(DType::float32, {std::ssize(original.labels), side * side}), Array(original.labels)};
  const std::span<const float> from = original.pixels;
  const std::span<float> to = result.images.data<float>();
  const std::vector<Interpolation> where = positions(side);
  for (std::size_t i = 0; i < original.labels.size(); ++i) {
    enlarge(from.subspan(i * original_pixels, original_pixels), to.subspan(i * pixels, pixels), where);
  }
  return result;
}

}  // namespace croton::io

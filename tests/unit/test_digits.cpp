// The digits data set in the repository: the file is read without loss, and digits are enlarged as Pillow 12 does.
#include <croton/io.hpp>

#include <array>
#include <cstdint>

#include "catch.hpp"
#include "contains.hpp"

using croton::Array;
using croton::DType;
using croton::io::Digits;

TEST_CASE("the digits are those of the file", "[digits]") {
  const Digits digits = croton::io::digits();
  REQUIRE(digits.images.dtype() == DType::float32);
  REQUIRE(digits.images.shape() == croton::Sizes{1797, 64});
  REQUIRE(digits.labels.dtype() == DType::int32);
  REQUIRE(digits.labels.shape() == croton::Sizes{1797});

  const std::array<float, 10> start{0, 0, 5, 13, 9, 1, 0, 0, 0, 0};  // the first line of data/digits.csv
  for (std::size_t i = 0; i < start.size(); ++i) CHECK(digits.images.at<float>(0, i) == start[i] / 16);

  // Sums of the integers of the file with weights that depend on the position, from NumPy.
  std::int64_t plain = 0, weighted = 0, weighted_labels = 0, position = 0;
  for (const float pixel : digits.images.data<float>()) {
    REQUIRE((pixel >= 0 && pixel <= 1));
    const auto value = static_cast<std::int64_t>(pixel * 16);
    plain += value;
    weighted += value * (position++ % 251 + 1);
  }
  position = 0;
  for (const std::int32_t label : digits.labels.data<std::int32_t>()) weighted_labels += label * (position++ % 251 + 1);
  CHECK(plain == 561718);
  CHECK(weighted == 70784718);
  CHECK(weighted_labels == 978534);
}

TEST_CASE("each digit is there about as often", "[digits]") {
  std::array<int, 10> histogram{};
  const Digits digits = croton::io::digits();
  for (const std::int32_t label : digits.labels.data<std::int32_t>()) ++histogram.at(static_cast<std::size_t>(label));
  CHECK(histogram == std::array<int, 10>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("digits are enlarged bilinearly", "[digits]") {
  const Digits digits = croton::io::digits(28);
  REQUIRE(digits.images.shape() == croton::Sizes{1797, 784});
  CHECK(digits.labels.equals(croton::io::digits().labels));
  const auto pixel = [&](int image, int row, int column) { return digits.images.at<float>(image, row * 28 + column); };
  CHECK(pixel(0, 0, 0) == 0.0f);
  CHECK(pixel(0, 3, 10) == Approx(0.71875));
  CHECK(pixel(0, 14, 5) == Approx(0.31154338));
  CHECK(pixel(0, 20, 9) == Approx(0.6167092));
  CHECK(pixel(0, 27, 12) == Approx(0.79910713));
  CHECK(pixel(1796, 9, 16) == Approx(0.6635842));
  CHECK(pixel(1796, 26, 11) == Approx(0.6964286));
  double first = 0, last = 0;
  for (int i = 0; i < 784; ++i) {
    first += digits.images.at<float>(0, i);
    last += digits.images.at<float>(1796, i);
  }
  CHECK(first == Approx(225.09375));
  CHECK(last == Approx(300.125));
}

TEST_CASE("a side that is too small or too large is refused", "[digits]") {
  for (const int side : {-1, 0, 7, 129}) CHECK_THROWS_AS(croton::io::digits(side), croton::ValueError);
  CHECK_THROWS_WITH(croton::io::digits(7), contains("side is 7") && contains("8"));
  CHECK(croton::io::digits(128).images.shape(1) == 128 * 128);
}

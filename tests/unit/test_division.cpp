// The divisors that kernels get (codegen/division.hpp), by the arithmetic of codegen_templates/common/division.cuh.
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "codegen/division.hpp"

using croton::codegen::divisor_words;
using croton::codegen::IndexWidth;
using croton::codegen::make_divisor;

namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t divide_narrow(std::uint64_t n, std::uint64_t word) {
  const std::uint64_t multiplier = word & 0xffffffffu, shift = word >> 32;
  return (multiplier * n) >> shift;
}

std::uint64_t divide_wide(std::uint64_t n, std::uint64_t multiplier, std::uint64_t shift) {
  if (shift == 0) return n;
  return static_cast<std::uint64_t>((static_cast<Wide>(multiplier) * n) >> 64) >> (shift - 1);
}

/// Numbers around powers of two and around multiples of `d`, below 2^bits.
std::vector<std::uint64_t> dividends(std::uint64_t d, int bits) {
  const std::uint64_t end = std::uint64_t{1} << bits;
  std::vector<std::uint64_t> all;
  const auto add = [&](std::uint64_t n) {
    for (const std::uint64_t near : {n - 1, n, n + 1}) {
      if (near < end) all.push_back(near);
    }
  };
  for (int b = 0; b <= bits; ++b) add(std::uint64_t{1} << b);
  for (const std::uint64_t q : {1ull, 2ull, 3ull, 1000ull, 1234567ull}) add(q * d);
  add((end - 1) / d * d);
  return all;
}

}  // namespace

TEST_CASE("a divisor divides positions below 2^31 as the division of integers does") {
  CHECK(divisor_words(IndexWidth::narrow) == 1);
  int wrong = 0, count = 0;
  for (const std::uint64_t d : {1ull, 2ull, 3ull, 5ull, 7ull, 10ull, 784ull, 1000ull, 1024ull, 65535ull, 65537ull,
                                1000003ull, (1ull << 30) - 1, 1ull << 30, (1ull << 30) + 1, (1ull << 31) - 1}) {
    const auto words = make_divisor(static_cast<std::int64_t>(d), IndexWidth::narrow);
    for (const std::uint64_t n : dividends(d, 31)) {
      ++count;
      if (divide_narrow(n, words[0]) != n / d) ++wrong;
    }
  }
  CHECK(count > 1000);
  CHECK(wrong == 0);
}

TEST_CASE("a wide divisor divides positions below 2^63") {
  CHECK(divisor_words(IndexWidth::based) == 2);
  int wrong = 0, count = 0;
  for (const std::uint64_t d : {1ull, 2ull, 3ull, 7ull, 10ull, 1000003ull, (1ull << 31) - 1, (1ull << 31) + 1,
                                (1ull << 40) + 123, (1ull << 62) - 1, 1ull << 62, (1ull << 62) + 1}) {
    const auto words = make_divisor(static_cast<std::int64_t>(d), IndexWidth::wide);
    for (const std::uint64_t n : dividends(d, 63)) {
      ++count;
      if (divide_wide(n, words[0], words[1]) != n / d) ++wrong;
    }
  }
  CHECK(count > 1000);
  CHECK(wrong == 0);
}

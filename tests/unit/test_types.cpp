// Names of dtypes, their promotion, and the 16-bit floats.
#include <croton/error.hpp>
#include <croton/type.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/half.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "folders.hpp"

using croton::can_cast_safely;
using croton::DType;
using croton::promote;
namespace base = croton::base;

namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < croton::dtype_count; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

/// docs/use/types.md: the result of promote for every pair.
std::string types_page() {
  std::ostringstream page;
  page << "# Element types\n\n"
          "This page has the dtype of a result for each pair of operand dtypes. The rules are NumPy's for arrays, "
          "which are\n"
          "Theano's; bfloat16, which NumPy lacks, has corresponding rules: it represents every int8, uint8 and bool, "
          "but not every\n"
          "float16. [complex.md](complex.md) lists the uses of complex numbers.\n\n"
          "**Plain numbers** get a dtype before these rules apply, by Theano's rules:\n\n"
          "- A whole number gets the smallest signed dtype that represents it: `uint8 - 1` is i16, and `uint64 + 1` "
          "is f64, because\n"
          "  no integer dtype represents both i8 and u64 (`np.uint64(1)` keeps u64). Only for `& | ^ << >>`, `gcd` "
          "and `lcm` is a\n"
          "  number that is not negative u64 next to a u64 operand.\n"
          "- A real number is floatX, by default float32: `dvector * 0.1` has the digits of float32's 0.1. Under "
          "`floatX=float64`\n"
          "  it is float32 if that is exact (0.5), else float64 (0.1). A number that would be infinite in floatX "
          "gets the next\n"
          "  dtype that represents it: `fvector * 1e300` is f64.\n"
          "- `np.float64(0.1)` is a Python float, with the same rule. Other scalars and all arrays of NumPy keep "
          "their dtype:\n"
          "  `fvector * np.array(0.1)` is f64.\n\n"
          "Short names, as in printed graphs:";
  for (const DType t : all_dtypes())
    page << (t == DType::bool_ ? " " : ", ") << short_name_of(t) << " (" << name_of(t) << ")";
  page << ".\n\n|   |";
  for (const DType t : all_dtypes()) page << " " << short_name_of(t) << " |";
  page << "\n|---|";
  for (int i = 0; i < croton::dtype_count; ++i) page << "---|";
  page << "\n";
  for (const DType a : all_dtypes()) {
    page << "| **" << short_name_of(a) << "** |";
    for (const DType b : all_dtypes()) page << " " << short_name_of(promote(a, b)) << " |";
    page << "\n";
  }
  page << "\nA test compares this page with the function `promote`; `CROTON_UPDATE_DOCS=1` makes the test write it.\n";
  return page.str();
}

}  // namespace

TEST_CASE("dtypes have names and sizes", "[types]") {
  CHECK(croton::name_of(DType::bool_) == "bool");
  CHECK(croton::short_name_of(DType::bfloat16) == "bf16");
  CHECK(croton::size_of(DType::complex128) == 16);
  for (const DType t : all_dtypes()) {
    CHECK(croton::dtype_from_name(croton::name_of(t)) == t);
    CHECK(croton::dtype_from_name(croton::short_name_of(t)) == t);
  }
  CHECK_THROWS_AS(croton::dtype_from_name("float"), croton::TypeError);
  CHECK_THROWS_WITH(croton::dtype_from_name("float"), contains("\"float\" is not a dtype") && contains("float32"));
}

TEST_CASE("types print with their sizes", "[types]") {
  CHECK(croton::Type{DType::float32, {croton::unknown_size, 10}}.to_string() == "f32[?, 10]");
  CHECK(croton::Type{DType::int64, {}}.to_string() == "i64[]");
}

TEST_CASE("promotion follows Theano's table", "[types]") {
  using enum DType;
  CHECK(promote(int8, uint8) == int16);
  CHECK(promote(int32, uint32) == int64);
  CHECK(promote(int64, uint64) == float64);
  CHECK(promote(int32, float32) == float64);
  CHECK(promote(int16, float32) == float32);
  CHECK(promote(uint8, float16) == float16);
  CHECK(promote(int16, float16) == float32);
  CHECK(promote(bool_, int8) == int8);
  CHECK(promote(float64, complex64) == complex128);
  CHECK(promote(int32, complex64) == complex128);
  CHECK(promote(int16, complex64) == complex64);
  CHECK(promote(bool_, complex64) == complex64);
  CHECK(promote(uint16, int8) == int32);
  CHECK(promote(uint8, int32) == int32);
  CHECK(promote(float16, bfloat16) == float32);
  CHECK(promote(bfloat16, float64) == float64);
  CHECK(promote(bfloat16, int8) == bfloat16);
  CHECK(promote(bfloat16, int16) == float32);
  CHECK(promote(bfloat16, uint32) == float64);
  CHECK(promote(bfloat16, bool_) == bfloat16);
  for (const DType a : all_dtypes()) {
    CHECK(promote(a, a) == a);
    for (const DType b : all_dtypes()) CHECK(promote(a, b) == promote(b, a));
  }
}

TEST_CASE("safe casts lose nothing", "[types]") {
  using enum DType;
  CHECK(can_cast_safely(uint8, int16));
  CHECK_FALSE(can_cast_safely(uint8, int8));
  CHECK_FALSE(can_cast_safely(int8, uint64));
  CHECK(can_cast_safely(int64, float64));
  CHECK_FALSE(can_cast_safely(int32, float32));
  CHECK_FALSE(can_cast_safely(float16, bfloat16));
  CHECK_FALSE(can_cast_safely(complex64, float64));
  CHECK_FALSE(can_cast_safely(int8, bool_));
  CHECK(can_cast_safely(float32, complex64));
}

TEST_CASE("the smallest integer dtype of a constant", "[types]") {
  CHECK(croton::smallest_int(3) == DType::int8);
  CHECK(croton::smallest_int(-128) == DType::int8);
  CHECK(croton::smallest_int(128) == DType::int16);
  CHECK(croton::smallest_int(300) == DType::int16);
  CHECK(croton::smallest_int(-32769) == DType::int32);
  CHECK(croton::smallest_int(std::int64_t{1} << 31) == DType::int64);
}

TEST_CASE("docs/use/types.md is what promote does", "[types]") {
  const auto file = std::filesystem::path(croton::test::source_folder()) / "docs/use/types.md";
  if (std::getenv("CROTON_UPDATE_DOCS") != nullptr) std::ofstream(file) << types_page();
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  CHECK(text.str() == types_page());
}

TEST_CASE("every 16-bit float survives a way through float and double", "[types]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const base::Half half{static_cast<std::uint16_t>(bits)};
    const base::BFloat16 brain{static_cast<std::uint16_t>(bits)};
    const bool half_nan = (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0;
    const bool brain_nan = (bits & 0x7F80) == 0x7F80 && (bits & 0x7F) != 0;
    // A signalling NaN becomes the quiet one of the same payload.
    wrong += base::to_half(base::to_float(half)).bits != (half_nan ? bits | 0x200 : bits);
    wrong += !half_nan && base::to_half(static_cast<double>(base::to_float(half))).bits != bits;
    wrong += base::to_bfloat16(base::to_float(brain)).bits != (brain_nan ? bits | 0x40 : bits);
    wrong += !brain_nan && base::to_bfloat16(static_cast<double>(base::to_float(brain))).bits != bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rounding to 16 bits is to nearest, ties to even", "[types]") {
  // Between any two neighbours: just below the midpoint, the midpoint, just above.
  int wrong = 0;
  const auto check_between = [&](auto small, auto to_small) {
    for (std::uint16_t bits = 0; std::isfinite(base::to_float(decltype(small){static_cast<std::uint16_t>(bits + 1)}));
         ++bits) {
      const double low = base::to_float(decltype(small){bits});
      const double high = base::to_float(decltype(small){static_cast<std::uint16_t>(bits + 1)});
      const double middle = (low + high) / 2;
      const std::uint16_t even = (bits & 1) == 0 ? bits : static_cast<std::uint16_t>(bits + 1);
      wrong += to_small(middle).bits != even;
      wrong += to_small(static_cast<float>(middle)).bits != even;
      wrong += to_small(std::nextafter(middle, 0)).bits != bits;
      wrong += to_small(std::nextafter(middle, HUGE_VAL)).bits != bits + 1;
      wrong += to_small(-middle).bits != (even | 0x8000);
    }
  };
  check_between(base::Half{}, [](auto x) { return base::to_half(x); });
  check_between(base::BFloat16{}, [](auto x) { return base::to_bfloat16(x); });
  CHECK(wrong == 0);
}

TEST_CASE("overflow, tiny numbers and integers to 16 bits", "[types]") {
  CHECK(base::to_half(65519.99f).bits == 0x7BFF);
  CHECK(base::to_half(65520.0f).bits == 0x7C00);
  CHECK(base::to_half(-1e300).bits == 0xFC00);
  CHECK(base::to_half(0x1p-25).bits == 0);
  CHECK(base::to_half(std::nextafter(0x1p-25, 1.0)).bits == 1);
  CHECK(base::to_half(5e-324).bits == 0);
  CHECK(base::to_half(-0.0f).bits == 0x8000);
  CHECK(base::to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7F80);
  CHECK(base::to_bfloat16(std::numeric_limits<float>::denorm_min()).bits == 0);
  CHECK(std::isnan(base::to_float(base::to_half(std::numeric_limits<double>::quiet_NaN()))));
  // 2^60 + 2^52 is a tie of bfloat16; one more must round up, although a double cannot distinguish them.
  CHECK(base::to_bfloat16((std::int64_t{1} << 60) + (std::int64_t{1} << 52)).bits == base::to_bfloat16(0x1p60).bits);
  CHECK(base::to_bfloat16((std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1).bits ==
        base::to_bfloat16(0x1p60).bits + 1);
  CHECK(base::to_float(base::to_bfloat16(std::numeric_limits<std::int64_t>::min())) == -0x1p63f);
  CHECK(base::to_half(2049).bits == base::to_half(2048.0).bits);
  CHECK(base::to_half(true).bits == 0x3C00);
}

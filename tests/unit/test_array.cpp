// Making, viewing, converting and comparing arrays.
#include <croton/array.hpp>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <sstream>

#include "catch.hpp"
#include "contains.hpp"

using croton::Array;
using croton::DType;
using croton::Sizes;

namespace {

/// The elements in C order, as doubles.
std::vector<double> values(const Array& array) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < array.size(); ++i) result.push_back(array.as_double(i));
  return result;
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("arrays are made of values", "[array]") {
  CHECK(Array().shape() == Sizes{0});
  CHECK(Array().dtype() == DType::float32);
  CHECK(Array{1.f, 2.f, 3.f}.dtype() == DType::float32);
  CHECK(Array{1, 2}.dtype() == DType::int32);
  CHECK(Array{true, false}.dtype() == DType::bool_);
  CHECK(Array(2.5).shape().empty());
  CHECK(Array(2.5).item<double>() == 2.5);
  CHECK(Array(std::vector<std::uint8_t>{1, 2}).dtype() == DType::uint8);
  const Array matrix{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}};
  CHECK(matrix.shape() == Sizes{3, 2});
  CHECK(values(matrix) == Values{1, 2, 3, 4, 5, 6});
  CHECK_THROWS_AS((Array{{1.f, 2.f}, {3.f}}), croton::ShapeError);
}

TEST_CASE("new arrays are aligned, filled and C ordered", "[array]") {
  const Array array = Array::zeros(DType::int16, {3, 5});
  CHECK(reinterpret_cast<std::uintptr_t>(array.raw()) % 64 == 0);
  CHECK(array.strides() == Sizes{10, 2});
  CHECK(array.bytes() == 30);
  CHECK(values(array) == Values(15, 0));
  CHECK(values(Array::full(DType::float16, {2}, 1.5)) == Values{1.5, 1.5});
  CHECK(Array::full(DType::bool_, {1}, 7).item<int>() == 1);
  CHECK(Array::empty(DType::float64, {0, 3}).size() == 0);
}

TEST_CASE("sizes are checked before anything is allocated", "[array]") {
  CHECK_THROWS_AS(Array::empty(DType::float32, {-1}), croton::ShapeError);
  CHECK_THROWS_AS(Array::empty(DType::float32, {std::int64_t{1} << 32, std::int64_t{1} << 31}), croton::ShapeError);
  CHECK_THROWS_AS(Array::empty(DType::float32, {0, std::int64_t{1} << 32, std::int64_t{1} << 32}), croton::ShapeError);
  CHECK_THROWS_AS(Array::empty(DType::int8, {(std::int64_t{1} << 62) + 1}), croton::OutOfMemory);
}

TEST_CASE("arange counts as NumPy does", "[array]") {
  CHECK(values(Array::arange(4)) == Values{0, 1, 2, 3});
  CHECK(Array::arange(4).dtype() == DType::int64);
  CHECK(Array::arange(-3).size() == 0);
  CHECK(values(Array::arange(0, 1, 0.25, DType::float32)) == Values{0, 0.25, 0.5, 0.75});
  CHECK(Array::arange(0, 1, 0.1, DType::float64).size() == 10);
  CHECK(Array::arange(1, 1.3, 0.1, DType::float64).size() == 4);  // ceil(0.3000...04 / 0.1)
  CHECK(values(Array::arange(3, 0, -1, DType::int8)) == Values{3, 2, 1});
  CHECK_THROWS_AS(Array::arange(0, 1, 0, DType::float64), croton::ValueError);
  CHECK_THROWS_AS(Array::arange(0, 1e300, 1, DType::float64), croton::ShapeError);
}

TEST_CASE("random numbers depend on the seed alone", "[array]") {
  // First outputs of SplitMix64 with seed 0 are 0xE220A8397B1DCDAF and 0x6E789E6AA1B965F4.
  const Array u = Array::uniform(DType::float64, {2}, 0);
  CHECK(u.at<double>(0) == static_cast<double>(0xE220A8397B1DCDAFu >> 11) * 0x1p-53);
  CHECK(u.at<double>(1) == static_cast<double>(0x6E789E6AA1B965F4u >> 11) * 0x1p-53);
  const Array shifted = Array::uniform(DType::float64, {2}, 0, -1, 3);
  CHECK(shifted.at<double>(0) == -1 + 4 * u.at<double>(0));

  const Array normal = Array::normal(DType::float64, {100001}, 7);
  double sum = 0;
  double squares = 0;
  for (const double x : normal.data<double>()) {
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / 100001) < 0.015);
  CHECK(std::abs(squares / 100001 - 1) < 0.02);
  CHECK(normal.same_bits(Array::normal(DType::float64, {100001}, 7)));
  CHECK_FALSE(normal.equals(Array::normal(DType::float64, {100001}, 8)));
}

TEST_CASE("views share memory, read-only ones refuse writing", "[array]") {
  float memory[] = {1, 2, 3, 4, 5, 6};
  Array view = Array::view_of(memory, DType::float32, {2, 2}, {12, 8});
  CHECK(values(view) == Values{1, 3, 4, 6});
  CHECK_FALSE(view.is_contiguous());
  view.at<float>(1, -1) = 60;
  CHECK(memory[5] == 60);

  Array fixed = Array::view_of(static_cast<const float*>(memory), DType::float32, {6});
  CHECK_FALSE(fixed.writable());
  CHECK_THROWS_AS(fixed.raw(), croton::ValueError);
  CHECK_THROWS_AS(fixed.at<float>(0) = 1, croton::ValueError);
  CHECK_THROWS_AS(fixed.data<float>(), croton::ValueError);
  CHECK_THROWS_AS(fixed.copy_from(Array::zeros(DType::float32, {6})), croton::ValueError);
  CHECK(std::as_const(fixed).at<float>(0) == 1);
  CHECK_THROWS_AS(Array::view_of(memory, DType::float32, {6}, {4, 4}), croton::ShapeError);
  CHECK_THROWS_AS(Array::view_of(memory, DType::float32, {3}, {INT64_MAX}), croton::ShapeError);
  CHECK_THROWS_AS(Array::view_of(static_cast<void*>(nullptr), DType::float32, {3}), croton::ValueError);
}

TEST_CASE("adopt releases the owner with the last reference", "[array]") {
  auto owner = std::make_shared<std::vector<int>>(std::vector<int>{1, 2, 3});
  const std::weak_ptr<std::vector<int>> watch = owner;
  int* data = owner->data();
  {
    Array row;
    {
      const Array array = Array::adopt(std::move(owner), data, DType::int32, {3});
      row = array.slice(0, 1, 3);
    }
    CHECK(values(row) == Values{2, 3});
    CHECK_FALSE(watch.expired());
  }
  CHECK(watch.expired());
}

TEST_CASE("elements are reached by index", "[array]") {
  Array array = Array::arange(6, DType::int32).reshape({2, 3});
  CHECK(array.at<std::int32_t>(1, 0) == 3);
  CHECK(array.at<std::int32_t>(-1, -1) == 5);
  CHECK_THROWS_AS(array.at<std::int32_t>(2, 0), croton::IndexError);
  CHECK_THROWS_AS(array.at<std::int32_t>(0, -4), croton::IndexError);
  CHECK_THROWS_AS(array.at<std::int32_t>(0), croton::IndexError);
  CHECK_THROWS_AS(array.at<float>(0, 0), croton::TypeError);
  CHECK_THROWS_AS(array.as_double(6), croton::IndexError);
  CHECK(array.shape(-1) == 3);
  CHECK_THROWS_AS(array.shape(2), croton::IndexError);
  CHECK_THROWS_AS(array.item<int>(), croton::ValueError);
  CHECK_THROWS_AS(array.data<float>(), croton::TypeError);
  CHECK_THROWS_AS(array.transpose().data<std::int32_t>(), croton::ValueError);
}

TEST_CASE("elements of unaligned memory can be copied but not referred to", "[array]") {
  alignas(8) std::byte memory[9] = {};
  const float number = 2.5f;
  std::memcpy(memory + 1, &number, sizeof(number));
  const Array array = Array::view_of(static_cast<void*>(memory + 1), DType::float32, {2});
  CHECK(array.as_double(0) == 2.5);
  CHECK(array.copy().at<float>(0) == 2.5f);
  CHECK_THROWS_AS(array.at<float>(0), croton::ValueError);
  CHECK_THROWS_AS(array.data<float>(), croton::ValueError);
  CHECK(array.contiguous().data<float>()[0] == 2.5f);
}

TEST_CASE("casts truncate, saturate and wrap", "[array]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Array numbers{1.9, -1.9, 300.0, -300.0, nan, inf, -inf, 1e30};
  CHECK(values(numbers.astype(DType::int8)) == Values{1, -1, 127, -128, 0, 127, -128, 127});
  CHECK(values(numbers.astype(DType::uint8)) == Values{1, 0, 255, 0, 0, 255, 0, 255});
  const Array wide = numbers.astype(DType::int64);
  CHECK(wide.at<std::int64_t>(5) == INT64_MAX);
  CHECK(wide.at<std::int64_t>(6) == INT64_MIN);
  CHECK(numbers.astype(DType::uint64).at<std::uint64_t>(7) == UINT64_MAX);
  CHECK(numbers.astype(DType::float32).astype(DType::int32).at<std::int32_t>(7) == INT32_MAX);
  CHECK(Array{9223372036854774784.0, 0x1p63}.astype(DType::int64).at<std::int64_t>(0) == 9223372036854774784);
  CHECK(Array{2147483520.f, 0x1p31f}.astype(DType::int32).at<std::int32_t>(0) == 2147483520);

  CHECK(values(Array{300, -1, 128}.astype(DType::uint8)) == Values{44, 255, 128});
  CHECK(values(Array{300, -1, 128}.astype(DType::int8)) == Values{44, -1, -128});
  CHECK(values(Array{0.0, 0.5, nan, -0.0}.astype(DType::bool_)) == Values{0, 1, 1, 0});
  CHECK(values(Array{256, 0}.astype(DType::bool_)) == Values{1, 0});
  CHECK(values(Array{true, false}.astype(DType::float16)) == Values{1, 0});
  CHECK(values(Array{1e5, 1e-9, 2.5}.astype(DType::float16)) == Values{inf, 0, 2.5});
}

TEST_CASE("complex numbers keep their parts or are refused", "[array]") {
  const std::complex<float> z[] = {{1, 2}, {0, 3}, {0, 0}};
  const Array array = Array::copy_of(z, DType::complex64, {3});
  CHECK(array.astype(DType::complex128).at<std::complex<double>>(1) == std::complex<double>(0, 3));
  CHECK(array.at<std::complex<float>>(0) == z[0]);
  CHECK(values(array.astype(DType::bool_)) == Values{1, 1, 0});
  CHECK(Array{2, 3}.astype(DType::complex64).at<std::complex<float>>(1) == std::complex<float>(3, 0));
  CHECK(array.as_double(0) == 1);
  CHECK_THROWS_AS(array.astype(DType::float32), croton::TypeError);
  CHECK_THROWS_WITH(array.astype(DType::float64), contains("real, imag or abs"));
  CHECK_THROWS_AS(array.slice(0, 0, 1).item<double>(), croton::TypeError);
  CHECK(array.slice(0, 0, 1).item<std::complex<double>>() == std::complex<double>(1, 2));
}

TEST_CASE("every dtype converts small numbers to every other and back", "[array]") {
  const Array small{0, 1, 2, 3, 100, 127};
  for (int a = 0; a < croton::dtype_count; ++a) {
    for (int b = 0; b < croton::dtype_count; ++b) {
      const auto first = static_cast<DType>(a);
      const auto second = static_cast<DType>(b);
      if (is_complex(first) && !is_complex(second) && !is_bool(second)) continue;
      const Values expected =
          is_bool(first) || is_bool(second) ? Values{0, 1, 1, 1, 1, 1} : Values{0, 1, 2, 3, 100, 127};
      CHECK(values(small.astype(first).astype(second)) == expected);
      // The same with strides for which there is no fast path.
      const Array reversed = small.astype(first).slice(0, 5, -7, -1).astype(second);
      CHECK(values(reversed.slice(0, 5, -7, -1)) == expected);
    }
  }
}

TEST_CASE("shapes change by view where they can", "[array]") {
  const Array array = Array::arange(24, DType::int32);
  const Array box = array.reshape({2, -1, 4});
  CHECK(box.shape() == Sizes{2, 3, 4});
  CHECK(box.raw() == array.raw());
  CHECK(box.transpose().strides() == Sizes{4, 16, 48});
  CHECK(values(box.transpose({2, 0, 1}).row(1)) == Values{1, 5, 9, 13, 17, 21});
  CHECK(values(box.transpose({-1, 0, 1}).row(1)) == Values{1, 5, 9, 13, 17, 21});
  CHECK(box.transpose().reshape({24}).raw() != array.raw());
  CHECK(box.transpose().reshape({24}).at<std::int32_t>(1) == 12);
  CHECK_THROWS_AS(array.reshape({5, 5}), croton::ShapeError);
  CHECK_THROWS_AS(array.reshape({-1, -1}), croton::ShapeError);
  CHECK_THROWS_AS(array.reshape({-1, 5}), croton::ShapeError);
  CHECK_THROWS_AS(array.reshape({-2, -12}), croton::ShapeError);
  CHECK_THROWS_AS(Array::zeros(DType::int8, {0}).reshape({0, -1}), croton::ShapeError);
  CHECK_THROWS_AS(box.transpose({0, 1}), croton::ShapeError);
  CHECK_THROWS_AS(box.transpose({0, 1, 1}), croton::ShapeError);
  CHECK_THROWS_AS(box.transpose({0, 1, 3}), croton::IndexError);
  CHECK(Array(3.f).reshape({1, 1}).shape() == Sizes{1, 1});
}

TEST_CASE("slices follow NumPy", "[array]") {
  const Array array = Array::arange(10);
  CHECK(values(array.slice(0, 2, 5)) == Values{2, 3, 4});
  CHECK(values(array.slice(0, -3, 100)) == Values{7, 8, 9});
  CHECK(values(array.slice(0, 1, 8, 3)) == Values{1, 4, 7});
  CHECK(values(array.slice(0, 8, 1, -3)) == Values{8, 5, 2});
  CHECK(values(array.slice(0, 2, -100, -1)) == Values{2, 1, 0});
  CHECK(values(array.slice(0, 100, -3, -1)) == Values{9, 8});
  CHECK(values(array.slice(0, INT64_MIN, INT64_MAX, INT64_MAX)) == Values{0});
  CHECK(values(array.slice(0, INT64_MAX, INT64_MIN, INT64_MIN)) == Values{9});
  CHECK(array.slice(0, 5, 2).size() == 0);
  CHECK(array.slice(0, 12, 20).size() == 0);
  CHECK_THROWS_AS(array.slice(0, 0, 1, 0), croton::ValueError);
  CHECK_THROWS_AS(array.slice(1, 0, 1), croton::IndexError);
  CHECK(values(array.reshape({2, 5}).row(-1)) == Values{5, 6, 7, 8, 9});
  CHECK_THROWS_AS(array.reshape({2, 5}).row(2), croton::IndexError);
  CHECK_THROWS_AS(Array(1.f).row(0), croton::IndexError);
}

TEST_CASE("contiguous means C order, sizes 0 and 1 aside", "[array]") {
  const Array matrix = Array::zeros(DType::float32, {3, 4});
  CHECK(matrix.is_contiguous());
  CHECK_FALSE(matrix.transpose().is_contiguous());
  CHECK(matrix.slice(0, 1, 3).is_contiguous());
  CHECK_FALSE(matrix.slice(1, 0, 2).is_contiguous());
  CHECK(matrix.slice(0, 1, 2).transpose().is_contiguous());
  CHECK(matrix.slice(1, 2, 2).is_contiguous());
  CHECK(matrix.contiguous().raw() == matrix.raw());
  CHECK(matrix.slice(0, 1, 3).contiguous().raw() == matrix.slice(0, 1, 3).raw());
  CHECK(matrix.transpose().contiguous().is_contiguous());
}

TEST_CASE("copy_from converts and minds overlap", "[array]") {
  Array array = Array::arange(5, DType::float32);
  array.slice(0, 1, 5).copy_from(array.slice(0, 0, 4));
  CHECK(values(array) == Values{0, 0, 1, 2, 3});
  Array bytes = Array::zeros(DType::uint8, {2, 2});
  bytes.copy_from(Array{{1.5, -1.0}, {256.0, 3.0}});
  CHECK(values(bytes) == Values{1, 0, 255, 3});
  CHECK_THROWS_AS(bytes.copy_from(Array{1, 2}), croton::ShapeError);
  Array square = Array::arange(4).reshape({2, 2});
  square.copy_from(square.transpose());
  CHECK(values(square) == Values{0, 2, 1, 3});
}

TEST_CASE("arrays compare by value, by bits and nearly", "[array]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  CHECK(Array{1.f, 2.f}.equals(Array{1.f, 2.f}));
  CHECK_FALSE(Array{1.f, 2.f}.equals(Array{1.f, 3.f}));
  CHECK_FALSE(Array{1.f}.equals(Array{1.0}));
  CHECK_FALSE(Array{1.f}.equals(Array(1.f)));
  CHECK_FALSE(Array{nan}.equals(Array{nan}));
  CHECK_FALSE(Array{nan}.astype(DType::float16).equals(Array{nan}.astype(DType::float16)));
  CHECK(Array{nan}.same_bits(Array{nan}));
  CHECK(Array{0.f}.equals(Array{-0.f}));
  CHECK(Array{0.f}.astype(DType::bfloat16).equals(Array{-0.f}.astype(DType::bfloat16)));
  CHECK_FALSE(Array{0.f}.same_bits(Array{-0.f}));
  CHECK(Array{{1, 2}, {3, 4}}.transpose().equals(Array{{1, 3}, {2, 4}}));
  CHECK(Array{{1, 2}, {3, 4}}.transpose().same_bits(Array{{1, 3}, {2, 4}}));

  CHECK(Array{1.f, nan, inf, -inf}.all_close(Array{1.000005f, nan, inf, -inf}));
  CHECK_FALSE(Array{1.f}.all_close(Array{1.1f}));
  CHECK_FALSE(Array{inf}.all_close(Array{-inf}));
  CHECK_FALSE(Array{1.f}.all_close(Array{inf}));
  CHECK_FALSE(Array{nan}.all_close(Array{1.f}));
  CHECK_FALSE(Array{1.f}.all_close(Array(1.f)));
  CHECK(Array{1.f}.all_close(Array{1.5}, 0, 0.5));
  CHECK_FALSE(Array{1.f}.all_close(Array{1.5}, 0, 0.4));
  const Array z = Array{1.f}.astype(DType::complex64);
  CHECK(z.all_close(Array{1.000001f}));
  CHECK_FALSE(z.all_close(Array{1.1f}));
}

TEST_CASE("copies of strided arrays are right for any order of axes", "[array]") {
  const Array box = Array::arange(2 * 3 * 4 * 5).reshape({2, 3, 4, 5});
  for (const std::vector<int>& axes : {std::vector<int>{3, 2, 1, 0}, {1, 0, 2, 3}, {2, 3, 0, 1}, {0, 2, 1, 3}}) {
    const Array view = box.transpose(axes).slice(1, -1, -100, -2);
    const Array copy = view.copy();
    CHECK(copy.is_contiguous());
    CHECK(values(copy) == values(view));
  }
}

TEST_CASE("arrays go to streams", "[array]") {
  std::ostringstream out;
  out << Array{{1.f, 2.f}, {3.f, 4.f}};
  CHECK(out.str() == "[[1. 2.]\n [3. 4.]]");
}

// Numbers of MRG31k3p against those that Theano 1.0.5 drew (MRG_RandomStreams on the CPU, its C code; for float16 its
// Python code), bit for bit.
#include "base/mrg31k3p.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "base/half.hpp"
#include "catch.hpp"

using croton::Array;
using croton::DType;
using croton::Sizes;
using croton::TypeError;
using croton::ValueError;
using croton::base::Mrg31k3p;
using croton::base::mrg_stream_count;
using croton::base::mrg_uniform;

namespace {

std::uint64_t fingerprint(const Array& array, std::uint64_t result = 0) {
  const auto fold = [&](auto zero) {
    const auto* elements = static_cast<const decltype(zero)*>(array.raw());
    for (std::int64_t i = 0; i < array.size(); ++i) {
      result = result * 6364136223846793005u + elements[i] + 1442695040888963407u;
    }
  };
  const std::size_t size = array.size() == 0 ? 0 : array.bytes() / static_cast<std::size_t>(array.size());
  if (size == 2) fold(std::uint16_t{});
  if (size == 4) fold(std::uint32_t{});
  if (size == 8) fold(std::uint64_t{});
  return result;
}

/// The arguments of a program's first draw.
Array first_streams(Mrg31k3p generator, const Sizes& shape) { return generator.streams(mrg_stream_count(shape)); }

Array matrix(const std::vector<std::int32_t>& values) {
  return Array(values).reshape({static_cast<std::int64_t>(values.size() / 6), 6});
}

struct Expected {
  std::vector<std::int64_t> seed;
  DType dtype;
  std::vector<double> numbers;  ///< from two calls of a function that draws three
};

const Expected first_numbers[] = {
    {{1}, DType::float32, {0x1.f803fep-10, 0x1.790422p-1, 0x1.6a4cc2p-2, 0x1.f57196p-10, 0x1.8e9218p-2, 0x1.28f9c4p-2}},
    {{1},
     DType::float64,
     {0x1.f804p-10, 0x1.79042374p-1, 0x1.6a4cc3c8p-2, 0x1.f57198p-10, 0x1.8e921a18p-2, 0x1.28f9c598p-2}},
    {{1}, DType::float16, {0x1.018p-8, 0x1.1b4p-4, 0x1.86cp-3, 0x1.71p-2, 0x1.0c8p-1, 0x1.c4cp-2}},
    {{12345},
     DType::float32,
     {0x1.787c70p-1, 0x1.08c632p-2, 0x1.635e8ap-1, 0x1.3a7964p-1, 0x1.e5e310p-1, 0x1.71996ap-3}},
    {{12345},
     DType::float64,
     {0x1.787c725cp-1, 0x1.08c633d8p-2, 0x1.635e8b5p-1, 0x1.3a7965c8p-1, 0x1.e5e311ccp-1, 0x1.71996c3p-3}},
    {{12345}, DType::float16, {0x1.c88p-3, 0x1.198p-1, 0x1.16p-2, 0x1.65p-1, 0x1.114p-1, 0x1.6b8p-3}},
    {{42}, DType::float32, {0x1.4ac29ep-4, 0x1.da80cep-1, 0x1.b82d32p-1, 0x1.49128ap-4, 0x1.63adb2p-2, 0x1.718df6p-3}},
    {{1, 2, 3, 4, 5, 6},
     DType::float32,
     {0x1.ec05f2p-9, 0x1.aea2a8p-1, 0x1.ee0a5cp-1, 0x1.c72bdep-10, 0x1.9b0a78p-1, 0x1.8cfbf4p-3}},
    {{1, 2, 3, 4, 5, 6},
     DType::float64,
     {0x1.ec05f4p-9, 0x1.aea2a974p-1, 0x1.ee0a5edcp-1, 0x1.c72bep-10, 0x1.9b0a7aap-1, 0x1.8cfbf5fp-3}},
};

}  // namespace

TEST_CASE("the first numbers are Theano's", "[mrg31k3p]") {
  for (const Expected& expected : first_numbers) {
    const std::vector<std::int64_t>& seed = expected.seed;
    Array states = first_streams(seed.size() == 1 ? Mrg31k3p(seed[0]) : Mrg31k3p(seed), {3});
    CHECK(states.shape() == Sizes{3, 6});
    std::int64_t place = 0;
    for (int call = 0; call < 2; ++call) {
      const Array numbers = mrg_uniform(states, {3}, expected.dtype);
      REQUIRE(numbers.dtype() == expected.dtype);
      for (std::int64_t i = 0; i < 3; ++i) {
        CHECK(numbers.as_double(i) == expected.numbers[static_cast<std::size_t>(place++)]);
      }
    }
  }
  CHECK(Mrg31k3p().streams(1).same_bits(Mrg31k3p(12345).streams(1)));
}

TEST_CASE("streams and draws begin where Theano's do", "[mrg31k3p]") {
  Mrg31k3p generator(42);
  CHECK(generator.streams(1).same_bits(matrix({42, 42, 42, 42, 42, 42})));
  CHECK(generator.streams(3).same_bits(matrix({1880389375, 174769481, 1230626336, 212165870, 1957720154, 961091436,  //
                                               56271738, 194434635, 1983961201, 887934210, 1543900154, 1436618615,   //
                                               1948531860, 1916348424, 1574802657, 418607837, 1033031978, 646744652})));
  CHECK(
      generator.streams(1).same_bits(matrix({1613755883, 1653600134, 692937715, 1396874306, 1421801870, 1870112232})));

  CHECK(Mrg31k3p(2147462578)
            .streams(2)
            .same_bits(matrix({2147462578, 2147462578, 2147462578, 2147462578, 2147462578, 2147462578,  //
                               1788380295, 278970112, 1158772927, 614974784, 257735698, 1392799825})));
  const Array many = Mrg31k3p(1).streams(15360);
  CHECK(many.slice(0, 15359, 15360)
            .copy()
            .same_bits(matrix({939516206, 1236118684, 998036015, 712388549, 191886248, 1744234119})));
  CHECK(fingerprint(many) == 11236571838567630530u);
}

TEST_CASE("long runs are Theano's, and so are the states after them", "[mrg31k3p]") {
  const auto check = [](std::int64_t seed, const Sizes& shape, DType dtype, int calls, std::uint64_t drawn,
                        std::uint64_t after) {
    Array states = first_streams(Mrg31k3p(seed), shape);
    std::uint64_t result = 0;
    for (int i = 0; i < calls; ++i) {
      const Array numbers = mrg_uniform(states, shape, dtype);
      CHECK(numbers.shape() == shape);
      result = fingerprint(numbers, result);
    }
    CHECK(result == drawn);
    if (after != 0) CHECK(fingerprint(states) == after);
  };
  check(42, {100, 7}, DType::float32, 3, 14907169094754098472u, 10838170853914585146u);
  check(42, {100, 7}, DType::float64, 3, 8760657372546263972u, 10838170853914585146u);
  check(12345, {200000}, DType::float32, 1, 17752607896469565195u, 17748757217099445617u);
  check(12345, {200000}, DType::float64, 1, 7713523558184362560u, 17748757217099445617u);
  check(12345, {1000}, DType::float16, 1, 12031588545387961559u, 0);
}

TEST_CASE("elements are taken from the streams in turn", "[mrg31k3p]") {
  const Array streams = Mrg31k3p(5).streams(3);
  Array all = streams.copy();
  const Array numbers = mrg_uniform(all, {2, 4}, DType::float64).reshape({8});
  for (std::int64_t stream = 0; stream < 3; ++stream) {
    Array one = streams.slice(0, stream, stream + 1).copy();
    const std::int64_t count = stream < 2 ? 3 : 2;
    const Array own = mrg_uniform(one, {count}, DType::float64);
    for (std::int64_t i = 0; i < count; ++i) CHECK(own.as_double(i) == numbers.as_double(3 * i + stream));
    CHECK(one.same_bits(all.slice(0, stream, stream + 1).copy()));
  }
  Array untouched = streams.copy();
  CHECK(mrg_uniform(untouched, {0, 3}, DType::float32).shape() == Sizes{0, 3});
  CHECK(untouched.same_bits(streams));
  CHECK(mrg_uniform(untouched, {}, DType::float32).rank() == 0);
}

TEST_CASE("numbers stay between 0 and 1 where a recurrence is at its ends", "[mrg31k3p]") {
  // After (x1, x2, x3) = (a, b, 0) of the first comes 2^22 b; after (y1, 0, 0) of the second 2^15 y1: 0 and 0 give
  // the largest number, 1 and 0 the smallest.
  Array largest = matrix({1, 0, 0, 0, 1, 0});
  CHECK(mrg_uniform(largest, {1}, DType::float64).as_double(0) == 1 - 0x1p-31);
  largest = matrix({1, 0, 0, 0, 1, 0});
  CHECK(mrg_uniform(largest, {1}, DType::float32).as_double(0) == 1 - 0x1p-24);
  largest = matrix({1, 0, 0, 0, 1, 0});
  CHECK(mrg_uniform(largest, {1}, DType::float16).as_double(0) == 511.0 / 512);
  Array smallest = matrix({0, 512, 0, 0, 1, 0});
  CHECK(mrg_uniform(smallest, {1}, DType::float64).as_double(0) == 0x1p-31);
  CHECK(smallest.equals(matrix({1, 0, 512, 0, 0, 1})));
}

TEST_CASE("the steps are the recurrences", "[mrg31k3p]") {
  constexpr std::int64_t m1 = 2147483647, m2 = 2147462579;
  std::vector<std::int64_t> x{m1 - 1, m1 - 1, m1 - 1}, y{m2 - 1, m2 - 1, m2 - 1};  // the oldest first
  Array states = matrix({m1 - 1, m1 - 1, m1 - 1, m2 - 1, m2 - 1, m2 - 1});
  for (int i = 0; i < 2000; ++i) {
    const std::size_t n = x.size();
    x.push_back(((x[n - 2] << 22) + 129 * x[n - 3]) % m1);
    y.push_back(((y[n - 1] << 15) + 32769 * y[n - 3]) % m2);
    const std::int64_t z = x.back() - y.back() + (x.back() <= y.back() ? m1 : 0);
    const double drawn = mrg_uniform(states, {1}, DType::float64).as_double(0);
    if (drawn != static_cast<double>(z) / 0x1p31) FAIL("step " << i << " draws " << drawn);
  }
}

TEST_CASE("how many streams a draw gets", "[mrg31k3p]") {
  const std::pair<Sizes, std::int64_t> cases[] = {
      {{}, 1},         {{1}, 1},         {{2, 3}, 6},      {{7}, 1},         {{3, 4}, 2},
      {{100, 7}, 116}, {{92159}, 15359}, {{92160}, 15360}, {{92165}, 15360}, {{1 << 20, 1 << 20, 1 << 30}, 15360}};
  for (const auto& [sizes, count] : cases) CHECK(mrg_stream_count(sizes) == count);
  CHECK(croton::base::mrg_most_streams == 15360);
  CHECK_THROWS_AS(mrg_stream_count(Sizes{3, 0}), ValueError);
  CHECK_THROWS_AS(mrg_stream_count(Sizes{-1}), ValueError);
}

TEST_CASE("MRG31k3p rejects wrong arguments", "[mrg31k3p]") {
  const auto refused = [](const std::vector<std::int64_t>& seeds) { CHECK_THROWS_AS(Mrg31k3p(seeds), ValueError); };
  for (const std::int64_t seed : {0, -1, 2147462579}) CHECK_THROWS_AS(Mrg31k3p(seed), ValueError);
  refused({});
  refused({1, 2, 3, 4, 5});
  refused({0, 0, 0, 1, 1, 1});
  refused({1, 1, 1, 0, 0, 0});
  refused({2147483647, 1, 1, 1, 1, 1});
  refused({1, 1, 1, 1, 1, 2147462579});
  refused({1, 1, 1, -1, 1, 1});
  CHECK(Mrg31k3p(std::vector<std::int64_t>{2147483646, 0, 0, 0, 0, 2147462578}).streams(1).size() == 6);
  CHECK_THROWS_AS(Mrg31k3p().streams(0), ValueError);
  CHECK_THROWS_AS(Mrg31k3p().streams(std::int64_t{1} << 31), ValueError);

  Array states = Mrg31k3p().streams(2);
  CHECK_THROWS_AS(mrg_uniform(states, {3}, DType::bfloat16), TypeError);
  CHECK_THROWS_AS(mrg_uniform(states, {3}, DType::int32), TypeError);
  CHECK_THROWS_AS(mrg_uniform(states, {1 << 16, 1 << 15}, DType::float32), ValueError);
  for (Array bad :
       {Array::zeros(DType::int32, {2, 6}), Array::zeros(DType::int32, {0, 6}), Array::zeros(DType::int64, {2, 6}),
        Array::zeros(DType::int32, {2, 5}), Array::zeros(DType::int32, {6}), matrix({1, 2, 3, 4, 5, -6})}) {
    CHECK_THROWS_AS(mrg_uniform(bad, {3}, DType::float32), ValueError);
  }
  try {
    Array bad = matrix({1, 2, 3, 4, 5, 6, 0, 0, 0, 1, 2, 3});
    mrg_uniform(bad, {3}, DType::float32);
    FAIL("a state of zeros is taken");
  } catch (const ValueError& error) {
    CHECK(std::string(error.what()) ==
          "stream 1 of MRG31k3p is in state 0, 0, 0, 1, 2, 3; a state is six numbers, the first three from 0 to "
          "2147483646, the last three from 0 to 2147462578, and neither three all 0");
  }
}

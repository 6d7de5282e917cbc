// Numbers of NumPy's RandomState against those that NumPy printed (expected_numpy_random.hpp), bit for bit.
#include "base/numpy_random.hpp"

#include <bit>
#include <vector>

#include "catch.hpp"
#include "expected_numpy_random.hpp"

using croton::Array;
using croton::DType;
using croton::ShapeError;
using croton::ValueError;
using croton::base::NumpyRandom;
using namespace croton_test;

namespace {

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t bits_of(std::uint32_t value) { return value; }

/// The same as fingerprint() of make_numpy_random.py.
template <class T>
std::uint64_t fingerprint(std::span<const T> values) {
  std::uint64_t result = 0;
  for (const T value : values) result = result * 6364136223846793005u + bits_of(value) + 1442695040888963407u;
  return result;
}

std::uint64_t state_fingerprint(const NumpyRandom& random) {
  const Array state = random.state();
  return fingerprint(state.data<std::uint32_t>());
}

std::vector<double> draw_numbers(NumpyRandom& random, const NumpyDraw& draw) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < draw.count; ++i) {
    if (draw.method == "random_sample") numbers.push_back(random.random_sample());
    if (draw.method == "uniform") numbers.push_back(random.uniform(draw.x, draw.y));
    if (draw.method == "standard_normal") numbers.push_back(random.standard_normal());
    if (draw.method == "normal") numbers.push_back(random.normal(draw.x, draw.y));
  }
  return numbers;
}

std::vector<std::int64_t> draw_integers(NumpyRandom& random, const NumpyDraw& draw) {
  std::vector<std::int64_t> integers;
  const auto append = [&](const Array& array) {
    const auto values = array.data<std::int64_t>();
    integers.insert(integers.end(), values.begin(), values.end());
  };
  if (draw.method.starts_with("choice")) {
    const std::optional<Array> p = draw.p.empty() ? std::nullopt : std::optional(Array(draw.p));
    append(random.choice(draw.a, draw.count, draw.method == "choice", p));
    return integers;
  }
  for (std::int64_t i = 0; i < draw.count; ++i) {
    if (draw.method == "binomial") integers.push_back(random.binomial(draw.a, draw.x));
    if (draw.method == "poisson") integers.push_back(random.poisson(draw.x));
    if (draw.method == "randint") integers.push_back(random.randint(draw.a, draw.b));
    if (draw.method == "random_integers") integers.push_back(random.random_integers(draw.a, draw.b));
    if (draw.method == "multinomial") append(random.multinomial(draw.a, draw.p));
    if (draw.method == "permutation") append(random.permutation(draw.a));
  }
  return integers;
}

std::uint64_t drawn_fingerprint(NumpyRandom& random, const NumpyDraw& draw) {
  const std::vector<double> numbers = draw_numbers(random, draw);
  if (!numbers.empty()) return fingerprint(std::span(numbers));
  const std::vector<std::int64_t> integers = draw_integers(random, draw);
  return fingerprint(std::span(integers));
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && fingerprint(std::span(a)) == fingerprint(std::span(b));
}

void check_draws(NumpyRandom& random) {
  for (const NumpyDraw& draw : expected_draws) {
    CAPTURE(draw.method, draw.a, draw.b, draw.x, draw.y, draw.count);
    const std::vector<double> numbers = draw_numbers(random, draw);
    const std::vector<std::int64_t> integers = draw_integers(random, draw);
    CHECK(numbers == draw.numbers);
    CHECK(same_bits(numbers, draw.numbers));
    CHECK(integers == draw.integers);
  }
  CHECK(state_fingerprint(random) == expected_last_state);
}

/// A state with one word changed.
Array changed(int place, std::uint32_t word) {
  Array state = NumpyRandom(1).state();
  state.at<std::uint32_t>(place) = word;
  return state;
}

}  // namespace

TEST_CASE("seeds give NumPy's states", "[numpy_random]") {
  const auto check = [](NumpyRandom random, const NumpySeed& seed) {
    CHECK(state_fingerprint(random) == seed.state);
    for (const double number : seed.numbers) CHECK(random.random_sample() == number);
  };
  for (const NumpySeed& seed : expected_seeds) check(NumpyRandom(seed.seeds[0]), seed);
  for (const NumpySeed& seed : expected_seed_lists) check(NumpyRandom(seed.seeds), seed);
}

TEST_CASE("draws of all methods, one after the other, are NumPy's", "[numpy_random]") {
  NumpyRandom random(2024);
  check_draws(random);
}

TEST_CASE("a generator goes on from its state", "[numpy_random]") {
  NumpyRandom random(2024);
  for (const NumpyDraw& draw : expected_draws) {  // saved and loaded before each draw, also with a spare normal number
    random = NumpyRandom::from_state(random.state());
    draw_numbers(random, draw);
    draw_integers(random, draw);
  }
  CHECK(state_fingerprint(random) == expected_last_state);

  const Array state = random.state();
  CHECK(state.dtype() == DType::uint32);
  CHECK(state.shape() == croton::Sizes{NumpyRandom::state_size});
  CHECK(NumpyRandom::from_state(state).state().same_bits(state));
  Array spread = Array::zeros(DType::uint32, {NumpyRandom::state_size, 2}).transpose().row(0);
  spread.copy_from(state);
  CHECK(NumpyRandom::from_state(spread).state().same_bits(state));
  CHECK(NumpyRandom(5).state().at<std::uint32_t>(624) == 624);
}

TEST_CASE("long runs are NumPy's", "[numpy_random]") {
  for (const NumpyRun& run : expected_runs) {
    CAPTURE(run.draw.method, run.draw.a, run.draw.b, run.draw.x);
    NumpyRandom random(7);
    CHECK(drawn_fingerprint(random, run.draw) == run.drawn);
    CHECK(state_fingerprint(random) == run.state);
  }
}

TEST_CASE("an integer that is certain takes nothing from the stream", "[numpy_random]") {
  NumpyRandom random(3);
  const Array before = random.state();
  CHECK(random.randint(5, 6) == 5);
  CHECK(random.random_integers(-2, -2) == -2);
  CHECK(random.choice(1, 4).equals(Array::zeros(DType::int64, {4})));
  CHECK(random.permutation(1).equals(Array::zeros(DType::int64, {1})));
  CHECK(random.poisson(0) == 0);
  CHECK(random.state().same_bits(before));
}

TEST_CASE("elements are shuffled as the numbers of a permutation are", "[numpy_random]") {
  NumpyRandom random(9);
  const Array order = random.permutation(100);
  std::vector<float> elements(100);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i) / 4;
  random = NumpyRandom(9);
  random.shuffle(std::span(elements));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    CHECK(elements[i] == static_cast<float>(order.at<std::int64_t>(i)) / 4);
  }
}

TEST_CASE("probabilities of a narrower dtype may be less exact", "[numpy_random]") {
  const Array p = Array{0.3f, 0.3f, 0.4001f};
  CHECK(NumpyRandom(1).choice(3, 5, true, p).size() == 5);
  CHECK_THROWS_AS(NumpyRandom(1).choice(3, 5, true, p.astype(DType::float64)), ValueError);
  CHECK(NumpyRandom(1).choice(2, 5, true, Array{0.49f, 0.49f}.astype(DType::float16)).size() == 5);
  CHECK(NumpyRandom(1).choice(2, 2, true, Array{0, 1}).equals(Array(std::vector<std::int64_t>{1, 1})));
}

TEST_CASE("NumPy's generator rejects wrong arguments", "[numpy_random]") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(NumpyRandom(-1), ValueError);
  CHECK_THROWS_AS(NumpyRandom(std::int64_t{1} << 32), ValueError);
  CHECK_THROWS_AS(NumpyRandom(std::span<const std::uint32_t>()), ValueError);

  NumpyRandom random(1);
  CHECK_THROWS_AS(random.uniform(0, infinity), ValueError);
  CHECK_THROWS_AS(random.uniform(-1e308, 1e308), ValueError);
  CHECK_THROWS_AS(random.normal(0, -1), ValueError);
  CHECK_THROWS_AS(random.normal(0, -0.0), ValueError);
  CHECK_THROWS_AS(random.binomial(-1, 0.5), ValueError);
  for (const double p : {-0.1, 1.1, nan}) CHECK_THROWS_AS(random.binomial(1, p), ValueError);
  for (const double lambda : {-1.0, 9.3e18, nan}) CHECK_THROWS_AS(random.poisson(lambda), ValueError);
  CHECK_THROWS_AS(random.randint(3, 3), ValueError);
  CHECK_THROWS_AS(random.randint(least, least), ValueError);
  CHECK_THROWS_AS(random.random_integers(3, 2), ValueError);
  CHECK_THROWS_AS(random.permutation(-1), ShapeError);
  CHECK_THROWS_AS(random.multinomial(-1, uneven), ValueError);
  CHECK_THROWS_AS(random.multinomial(1, std::vector{0.5, 0.6, 0.0}), ValueError);
  CHECK_THROWS_AS(random.multinomial(1, std::vector{-0.5, 0.6}), ValueError);
  CHECK_THROWS_AS(random.multinomial(1, std::vector{0.5, nan}), ValueError);
  CHECK(random.multinomial(1, std::vector<double>{}).size() == 0);

  CHECK_THROWS_AS(random.choice(0, 1), ValueError);
  CHECK_THROWS_AS(random.choice(3, -1), ShapeError);
  CHECK_THROWS_AS(random.choice(3, 4, false), ValueError);
  CHECK_THROWS_AS(random.choice(3, 1, true, Array(uneven)), ValueError);  // four of them
  CHECK_THROWS_AS(random.choice(2, 1, true, Array{0.5, 0.6}), ValueError);
  CHECK_THROWS_AS(random.choice(2, 1, true, Array{-0.5, 1.5}), ValueError);
  CHECK_THROWS_AS(random.choice(2, 1, true, Array{nan, 1.0}), ValueError);
  CHECK_THROWS_AS(random.choice(6, 4, false, Array(holes)), ValueError);  // three above 0
  CHECK(random.choice(0, 0).size() == 0);
  CHECK(random.state().same_bits(NumpyRandom(1).state()));  // an error does not advance the stream
}

TEST_CASE("states that are none are refused", "[numpy_random]") {
  const auto message = [](const Array& state) -> std::string {
    try {
      NumpyRandom::from_state(state);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message(Array::zeros(DType::uint32, {624})) ==
        "a state of NumPy's generator is uint32 (628,): 624 words that are not all 0, a position of at most 624, 0 or "
        "1, and two halves of a finite float64; this one is uint32 (624,)");
  CHECK(message(Array::zeros(DType::int32, {628})).ends_with("this one is int32 (628,)"));
  CHECK(message(Array::zeros(DType::uint32, {628, 1})).ends_with("this one is uint32 (628, 1)"));
  CHECK(message(Array::zeros(DType::uint32, {628})).ends_with("this one has no word that is not 0"));
  CHECK(message(changed(624, 625)).ends_with("this one has position 625"));
  CHECK(message(changed(625, 2)).ends_with("this one has 2 where 0 or 1 is expected"));
  Array infinite = changed(625, 1);
  infinite.at<std::uint32_t>(627) = 0x7FF00000;
  CHECK(message(infinite).ends_with("this one keeps the normal number inf"));
  CHECK(message(changed(624, 0)).empty());
  CHECK(message(changed(627, 0x7FF00000)).empty());  // not kept, so not checked
}

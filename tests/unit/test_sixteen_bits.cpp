// Floats of 16 bits: every op rounds its result, so that values do not depend on what shares a kernel.
#include <croton/croton.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backends.hpp"
#include "base/half.hpp"
#include "catch.hpp"
#include "expr/parse.hpp"
#include "run_graph.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

constexpr DType narrow[] = {DType::float16, DType::bfloat16};

/// Numbers of several magnitudes, one in `special_one` a special one.
Array numbers(DType dtype, const ct::Sizes& shape, std::uint64_t seed, std::uint64_t special_one) {
  const double special[] = {0.0,   -0.0, 65504, -65504, 6e-8, 6.1e-5, std::numeric_limits<double>::infinity(),
                            300.5, 1,    -1,    1e-3,   2049, 257,    std::nan("")};
  std::vector<double> values;
  const std::int64_t count = shape[0] * shape[1];
  std::uint64_t state = seed;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto bits = static_cast<double>(state >> 40) / (1 << 24);
    values.push_back((state >> 33) % special_one != 0
                         ? (bits - 0.5) * std::exp2(static_cast<double>(state >> 28 & 7) - 3)
                         : special[(state >> 24 & 0xffff) % std::size(special)]);
  }
  return Array(values).reshape(shape).astype(dtype);
}

/// Whether the elements have the same bits, or are both NaN, whose sign is lost when 16 bits are stored.
bool are_same(const Array& a, const Array& b) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as_double(i), y = b.as_double(i);
    if (std::isnan(x) ? !std::isnan(y) : x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return a.dtype() == b.dtype() && a.shape() == b.shape();
}

using Results = std::vector<Variable> (*)(const Variable& x, const Variable& y);

Variable column(const Variable& v) { return ct::dimshuffle(v, {0, ct::broadcast_axis}); }

std::vector<Variable> chains(const Variable& x, const Variable& y) {
  const Variable a = x * y + x, b = ct::exp(a - y) / (a + 1), c = ct::sqrt(ct::abs(b)) * a - x;
  return {c, ct::tanh(c * y) + b, ct::where(a > y, b * x, c * c), (x + y) - x};
}
std::vector<Variable> rows(const Variable& x, const Variable& y) {
  const Variable total = ct::sum(x * y, 1), centred = x - column(total / 64), most = ct::max(centred + y, 1);
  return {centred * y, ct::sum(ct::exp(centred - column(most)), 1) + total, ct::prod(1 + x * 0.01f, 1) * most};
}
std::vector<Variable> columns(const Variable& x, const Variable& y) {
  const Variable total = ct::sum(x + y * y, 0);
  return {total * total + 1, ct::max(x * y, 0) - total, ct::sum(ct::sqr(x), 0) / total};
}
std::vector<Variable> whole(const Variable& x, const Variable& y) {
  const Variable total = ct::sum(x * y) * 1.5f;
  return {total * total - 1, x * total + y, ct::max(x + y) * total};
}

}  // namespace

TEST_CASE("rounding to 16 bits inside a kernel is that of the stored type") {
  // Around every number of 16 bits, and halfway to the next one.
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x2000u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u})
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  const Array given(values);
  for (const std::string& backend : croton_test::compiled_backends()) {
    const ct::change_flags flags(backend);
    for (const DType dtype : narrow) {
      INFO(backend << " " << ct::name_of(dtype));
      const Variable x = ct::vector("x", DType::float32);
      // The sum reads the rounded value, which is not stored; the cast is stored.
      const ct::Function f = ct::function({x}, {ct::cast(ct::cast(x, dtype), DType::float32), ct::cast(x, dtype)});
      const ct::Outputs outputs = f(given);
      const Array inside = Array(outputs[0]).copy(), stored = Array(outputs[1]).astype(DType::float32);
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = [&](const Array& a) { return std::bit_cast<std::uint32_t>(a.data<float>()[i]); };
        const float expected = dtype == DType::float16 ? ct::base::to_float(ct::base::to_half(values[i]))
                                                       : ct::base::to_float(ct::base::to_bfloat16(values[i]));
        const bool is_nan = std::isnan(expected);
        if (is_nan ? !std::isnan(inside.data<float>()[i]) : bits(inside) != std::bit_cast<std::uint32_t>(expected))
          ++wrong;
        if (!is_nan && bits(stored) != bits(inside)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("results of 16 bits do not depend on what shares a kernel, on any device") {
  struct Named {
    const char* name;
    Results results;
    std::uint64_t special_one;  // of so many elements
  };
  for (const Named& named : {Named{"chains", chains, 16}, Named{"rows", rows, 1000}, Named{"columns", columns, 500},
                             Named{"whole", whole, 1'000'000}}) {
    for (const DType dtype : narrow) {
      INFO(named.name << " " << ct::name_of(dtype));
      std::string text;
      {
        const ct::change_flags flags("optimizer=none,mode=run");
        const Variable x = ct::matrix("x", dtype), y = ct::matrix("y", dtype);
        text = ct::function({x, y}, ct::OutputList(named.results(x, y))).graph();
      }
      const Array x = numbers(dtype, {37, 130}, 1, named.special_one),
                  y = numbers(dtype, {37, 130}, 2, named.special_one);
      const std::vector<Array> inputs{x, y};
      const ct::change_flags host("mode=run");
      const std::vector<Array> expected = ct::detail::run_graph(ct::expr::parse_graph(text), inputs, {.join = false});
      std::int64_t numbers_among_them = 0;
      for (const Array& array : expected) {
        for (std::int64_t i = 0; i < array.size(); ++i) numbers_among_them += std::isfinite(array.as_double(i)) ? 1 : 0;
      }
      CHECK(numbers_among_them > 0);
      for (const std::string& backend : croton_test::compiled_backends()) {
        const ct::change_flags flags(backend);
        const std::vector<Array> joined = ct::detail::run_graph(ct::expr::parse_graph(text), inputs, {.join = true});
        REQUIRE(joined.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          INFO(backend << ", result " << i);
          CHECK(are_same(joined[i], expected[i]));
        }
      }
    }
  }
}

TEST_CASE("sums, products and quotients of 16 bits are those of IEEE 754 for the type") {
  for (const std::string& backend : croton_test::backends()) {
    const ct::change_flags flags(backend);
    INFO(backend);
    const Variable x = ct::vector("x", DType::float16), y = ct::vector("y", DType::float16),
                   z = ct::vector("z", DType::float16);
    const ct::Function f = ct::function({x, y, z}, ct::OutputList({(x + y) + z, (x * y) / z}));
    const auto halves = [](const std::vector<double>& values) { return Array(values).astype(DType::float16); };
    // 2048 + 1 is 2048; 70000 is beyond the largest number; a half of the last place of 1 is rounded to even.
    const ct::Outputs outputs =
        f(halves({2048, 60000, 1, 6e-8}), halves({1, 10000, 4.8828125e-4, 0.5}), halves({-2048, -60000, -1, 0.25}));
    const Array sums = Array(outputs[0]), products = Array(outputs[1]);
    CHECK(sums.as_double(0) == 0);
    CHECK(std::isinf(sums.as_double(1)));
    CHECK(sums.as_double(2) == 0);
    CHECK(std::isinf(products.as_double(1)));
    CHECK(products.as_double(3) == 0);  // half of the least number is 0
  }
}

TEST_CASE("operations of several steps compute 16 bits in float32 and round at their end") {
  const auto value = [](Variable (*f)(const Variable&), double x) {
    const Variable v = ct::vector("v", DType::float16);
    return Array(ct::function({v}, f(v))(Array(std::vector<double>{x, 0, 0, 0}).astype(DType::float16))).as_double(0);
  };
  for (const std::string& backend : croton_test::backends()) {
    const ct::change_flags flags(backend);
    INFO(backend);
    // Steps in 16 bits would overflow. The results are those in float32, rounded to 16 bits.
    CHECK(value([](const Variable& v) { return ct::nnet::squareplus(v); }, 300) == 300);
    CHECK(value([](const Variable& v) { return ct::nnet::hard_silu(v); }, 20000) == 20000);
    CHECK(value([](const Variable& v) { return ct::nnet::relu(v); }, 40000) == 40000);
    CHECK(value([](const Variable& v) { return ct::nnet::mean_squared_error(v, ct::zeros_like(v)); }, 300) == 22496);
    CHECK(value([](const Variable& v) { return ct::norm(v, 3); }, 300) == 300);
    // The probability is clipped to 1e-7: log(1e7) is 16.118; the other terms are 0.
    const auto divergence = [](const Variable& v) { return ct::nnet::kl_divergence(ct::zeros_like(v), v); };
    CHECK(value(divergence, 1) == Catch::Detail::Approx(16.118).margin(0.02));
  }
}

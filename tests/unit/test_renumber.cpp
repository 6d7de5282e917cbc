// Functions that take the batches of a data set by number: one bound plan serves them all, and gives the same results
// as separate plans.
#include <croton/croton.hpp>

#include <algorithm>

#include "backends.hpp"
#include "base/memory.hpp"
#include "catch.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::slice;
using ct::Variable;

namespace {

using Variables = std::vector<Variable>;
using Arrays = std::vector<Array>;
using Results = std::vector<ct::HostOp::Result>;

constexpr std::int64_t rows = 23, features = 5, batch = 4;

Array data() { return Array::arange(rows * features, DType::float32).reshape({rows, features}); }

Array batch_of(const Array& all, std::int64_t i) {
  const std::int64_t first = std::clamp<std::int64_t>(i * batch, 0, rows);
  return all.slice(0, first, std::clamp<std::int64_t>(first + batch, 0, rows)).copy();
}

}  // namespace

TEST_CASE("batches by number are those of the data, also the last, smaller one and the empty ones after it") {
  const ct::change_flags flags(GENERATE(from_range(croton_test::backends())));
  const auto all = ct::shared(data(), {.name = "all"});
  const auto i = ct::lscalar("i");
  const Variable x = all.at({slice(i * batch, (i + 1) * batch)});
  const auto f = ct::function({i}, {x * 2, ct::sum(x, 0), ct::dot(x, ct::transpose(x)), x.shape(0) + i});
  for (const std::int64_t number : {0, 1, 4, 5, 6, 2, 5, 0, 3}) {
    INFO(number);
    const Array wanted = batch_of(data(), number);
    const auto plain = ct::matrix("plain");
    const auto g = ct::function({plain}, {plain * 2, ct::sum(plain, 0), ct::dot(plain, ct::transpose(plain))});
    const auto found = f(Array(number)), expected = g(wanted);
    for (std::size_t k = 0; k < 3; ++k) CHECK(found[k].equals(expected[k]));
    CHECK(found[3].item<std::int64_t>() == wanted.shape(0) + number);
  }
}

TEST_CASE("a row by number: positions count from the end too, and one outside is an error that changes nothing") {
  const ct::change_flags flags(GENERATE(from_range(croton_test::backends())));
  const auto all = ct::shared(data(), {.name = "all"}), seen = ct::shared(Array(std::int64_t{0}), {.name = "seen"});
  const auto i = ct::lscalar("i");
  const auto f = ct::function({i}, {all[i] + 1, all.at({i, slice({}, {}, -1)})}, {.updates = {{seen, seen + 1}}});
  std::int64_t calls = 0;
  for (const std::int64_t number : {3, 22, -1, -23, 23, 7, -24, 7, 8}) {
    INFO(number);
    if (number < -rows || number >= rows) {
      CHECK_THROWS_AS(f(Array(number)), ct::IndexError);
    } else {
      ++calls;
      const Array row = data().slice(0, (number + rows) % rows, (number + rows) % rows + 1).copy().reshape({features});
      const auto found = f(Array(number));
      for (std::int64_t k = 0; k < features; ++k) {
        CHECK(found[0].as_double(k) == row.as_double(k) + 1);
        CHECK(found[1].copy().as_double(k) == row.as_double(features - 1 - k));
      }
    }
    CHECK(seen.get_value().item<std::int64_t>() == calls);
  }
}

TEST_CASE("a loop that runs over a batch and is given its number") {
  const ct::change_flags flags(GENERATE(from_range(croton_test::backends())));
  const bool calls_back = GENERATE(false, true);  // a callback is a separate step, which the host runs
  const ct::HostOp half(
      {.name = "half",
       .results = [](const Variables&) { return Results{{DType::float32, {}}}; },
       .compute = [](const Arrays& in) { return Arrays{Array(static_cast<float>(in[0].as_double(0) / 2))}; }});
  const auto all = ct::shared(data(), {.name = "all"});
  const auto i = ct::lscalar("i");
  const Variable x = all.at({slice(i * batch, (i + 1) * batch)});
  const auto step = [&](const Variables& in) {
    const Variable next = in[1] + ct::sum(in[0]) + ct::cast(in[2], DType::float32);
    return ct::Step(calls_back ? half(next) : next / 2);
  };
  const auto scan = ct::scan(step, {x}, {ct::OutputInfo(ct::constant(0.f))}, {i});
  const auto f = ct::function({i}, {scan.outputs[0], scan.outputs[0][-1]});
  for (const std::int64_t number : {0, 1, 2, 5, 4, 1}) {
    INFO(number << (calls_back ? " with callbacks" : ""));
    const Array given = batch_of(data(), number);
    float state = 0;
    const auto found = f(Array(number));
    REQUIRE(found[0].shape(0) == given.shape(0));
    for (std::int64_t t = 0; t < given.shape(0); ++t) {
      float sum = 0;
      for (std::int64_t k = 0; k < features; ++k) sum += static_cast<float>(given.as_double(t * features + k));
      state = (state + sum + static_cast<float>(number)) / 2;
      CHECK(found[0].as_double(t) == state);  // sums of small whole numbers and halves: exact
    }
    CHECK(found[1].as_double(0) == state);
  }
}

TEST_CASE("a branch that depends on the number") {
  const ct::change_flags flags(GENERATE(from_range(croton_test::backends())));
  const auto all = ct::shared(data(), {.name = "all"});
  const auto i = ct::lscalar("i");
  const auto f = ct::function({i}, ct::ifelse(ct::eq(i % 2, 0), ct::sum(all[i]), ct::max(all[i])));
  for (const std::int64_t number : {0, 1, 2, 7, 8}) {
    INFO(number);
    const double first = static_cast<double>(number * features);
    CHECK(f(Array(number)).only().as_double(0) == (number % 2 == 0 ? 5 * first + 10 : first + 4));
  }
}

TEST_CASE("more batches of one size take no more memory") {
  const ct::change_flags flags("mode=run");
  const ct::HostOp same({.name = "same",
                         .results = [](const Variables& in) { return Results{{in[0].dtype(), {in[0].shape(0)}}}; },
                         .compute = [](const Arrays& in) { return Arrays{in[0].copy()}; }});
  constexpr std::int64_t many = 64, wide = 10000;
  const auto all = ct::shared(Array::zeros(DType::float32, {many, wide}), {.name = "all"});
  const auto i = ct::lscalar("i");
  const auto scan = ct::scan([&](const Variables& in) { return ct::Step(same(in[0] + 1) * 2); }, {},
                             {ct::OutputInfo(all[i])}, {}, {.n_steps = 3});
  const auto f = ct::function({i}, ct::sum(scan.outputs[0][-1]));
  f(Array(std::int64_t{0}));
  f(Array(std::int64_t{1}));
  const std::size_t before = ct::base::memory_counters().bytes_in_use;
  for (std::int64_t number = 2; number < many; ++number) CHECK(f(Array(number)).only().as_double(0) == 14.0 * wide);
  CHECK(ct::base::memory_counters().bytes_in_use < before + 4 * wide * sizeof(float));
}

TEST_CASE("neither do more passes over a data set whose last batch is smaller") {
  const ct::change_flags flags("mode=run");
  constexpr std::int64_t many = 10, wide = 10000;
  const ct::HostOp same(
      {.name = "same_rows",
       .results = [](const Variables& in) { return Results{{in[0].dtype(), {in[0].shape(0), wide}}}; },
       .compute = [](const Arrays& in) { return Arrays{in[0].copy()}; }});
  const auto all = ct::shared(Array::full(DType::float32, {many, wide}, 1.0), {.name = "all"});
  const auto i = ct::lscalar("i");
  const Variable x = all.at({slice(i * batch, (i + 1) * batch)});
  const auto scan = ct::scan([&](const Variables& in) { return ct::Step(same(in[0]) * 2); }, {}, {ct::OutputInfo(x)},
                             {}, {.n_steps = 2});
  const auto f = ct::function({i}, ct::sum(scan.outputs[0][-1]));
  const auto pass = [&] {
    for (const std::int64_t number : {0, 1, 2}) {
      const double rows_there = number == 2 ? 2 : 4;
      CHECK(f(Array(number)).only().as_double(0) == 4 * rows_there * wide);
    }
  };
  pass();
  pass();
  const std::size_t before = ct::base::memory_counters().bytes_in_use;
  for (int k = 0; k < 20; ++k) pass();
  CHECK(ct::base::memory_counters().bytes_in_use < before + 2 * batch * wide * sizeof(float));
}

// Loops: scan and the functions based on it against plain loops, gradients against finite differences, on every
// back-end.
#include "samples.hpp"

#include "builder/node.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "runtime/device/device.hpp"

#include <functional>
#include <iostream>
#include <numeric>

using namespace croton_test;
using ct::RandomStreams;
using ct::ScanResult;
using ct::SharedVariable;
using ct::Step;
using Vars = std::vector<Variable>;
using Doubles = std::vector<double>;
using Longs = std::vector<std::int64_t>;
using Updates = decltype(ct::FunctionOptions{}.updates);

namespace {

Doubles doubles_of(const Array& array) {
  Doubles all;
  for (std::int64_t i = 0; i < array.size(); ++i) all.push_back(array.as_double(i));
  return all;
}

Updates as_updates(const ScanResult& scan) {
  Updates updates;
  for (const auto& [target, value] : scan.updates) updates.emplace_back(target, value);
  return updates;
}

/// The distance of f's gradients from finite differences, on each back-end, up to this order.
void check_gradients(const std::function<Variable(const Vars&)>& f, const std::vector<Array>& points, int order = 1) {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    CHECK(grad_error(f, points, order) < 1e-6);
  }
}

Array reals(const Sizes& shape, std::uint64_t seed, double low = -1, double high = 1) {
  return Array::uniform(DType::float64, shape, seed, low, high);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ct::Error& error) {
    return error.what();
  }
  return "no error";
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("the programs of Theano's tutorial on scan", "[scan]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const Variable a = ct::dvector("a"), k = ct::iscalar("k"), x = ct::dscalar("x"), c = ct::dvector("c");
    const ScanResult power =
        ct::scan([&](const Vars& in) { return Step(in[0] * a); }, {}, {ct::ones_like(a)}, {}, {.n_steps = k});
    const auto f =
        compile(backend, {a, k}, {power.outputs[0][-1], power.outputs[0], ct::grad(ct::sum(power.outputs[0][-1]), a)});
    const ct::Outputs cubes = f(Array{1.0, 2.0, 3.0}, 3);
    CHECK(cubes[0].equals(Array{1.0, 8.0, 27.0}));
    CHECK(cubes[1].equals(Array{{1.0, 2.0, 3.0}, {1.0, 4.0, 9.0}, {1.0, 8.0, 27.0}}));
    CHECK(cubes[2].equals(Array{3.0, 12.0, 27.0}));

    const ScanResult terms =
        ct::map([&](const Vars& in) { return Step(in[0] * ct::pow(x, in[1])); }, {c, ct::arange(c.shape(0))});
    const auto polynomial = compile(backend, {c, x}, {ct::sum(terms.outputs[0])});
    CHECK(polynomial(Array{1.0, 0.0, 2.0}, 3.0).item<double>() == 19);

    const Variable limit = ct::lscalar("limit");
    const ScanResult doubled = ct::scan(
        [&](const Vars& in) {
          const Variable next = in[0] * 2;
          return ct::until({next}, next > limit);
        },
        {}, {ct::constant(Array(std::int64_t{1}))}, {}, {.n_steps = 1024});
    const auto g = compile(backend, {limit}, {doubled.outputs[0]});
    CHECK(g(20).only().equals(Array(Longs{2, 4, 8, 16, 32})));
    CHECK(g(1).only().equals(Array(Longs{2})));

    // d(w^4)/dw, through all steps and through the last ones.
    const Variable w = ct::dscalar("w");
    for (const auto& [steps, slope] : {std::pair{-1, 32.0}, {4, 32.0}, {9, 32.0}, {2, 16.0}, {1, 8.0}}) {
      const ScanResult fourth = ct::scan([&](const Vars& in) { return Step(in[0] * w); }, {}, {ct::ones_like(w)}, {},
                                         {.n_steps = 4, .truncate_gradient = steps});
      CHECK(compile(backend, {w}, {ct::grad(fourth.outputs[0][-1], w)})(2.0).item<double>() == slope);
    }
  }
}

TEST_CASE("taps of sequences and states", "[scan]") {
  const Variable u = ct::dvector("u"), v = ct::dvector("v"), y = ct::dvector("y"), w = ct::dscalar("w");
  const ScanResult both = ct::scan(
      [&](const Vars& in) {
        // u[t-4], u[t], v[t], y[t-1], y[t-3]
        const Variable next = ct::tanh(w * in[3] + in[0] - 0.5 * in[4] + in[1] * in[2]);
        return Step{next, next + in[4]};
      },
      {{u, {-4, 0}}, v}, {{y, {-1, -3}}, std::nullopt}, {w});
  const Array u0 = reals({9}, 1), v0 = reals({6}, 2), y0 = reals({3}, 3);
  Doubles states = doubles_of(y0), others;
  const std::size_t steps = 5;  // nine elements with taps four apart
  for (std::size_t t = 0; t < steps; ++t) {
    const double next =
        std::tanh(0.7 * states[t + 2] + u0.as_double(static_cast<std::int64_t>(t)) - 0.5 * states[t] +
                  u0.as_double(static_cast<std::int64_t>(t) + 4) * v0.as_double(static_cast<std::int64_t>(t)));
    others.push_back(next + states[t]);
    states.push_back(next);
  }
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {u, v, y, w}, both.outputs);
    const ct::Outputs got = f(u0, v0, y0, 0.7);
    CHECK(got[0].all_close(Array(Doubles(states.begin() + 3, states.end())), 1e-12, 0));
    CHECK(got[1].all_close(Array(others), 1e-12, 0));
  }
  check_gradients(
      [&](const Vars& in) {
        const ScanResult s = ct::scan(
            [&](const Vars& step) {
              const Variable next = ct::tanh(in[3] * step[3] + step[0] - 0.5 * step[4] + step[1] * step[2]);
              return Step{next, next + step[4]};
            },
            {{in[0], {-4, 0}}, in[1]}, {{in[2], {-1, -3}}, std::nullopt});
        return ct::sum(ct::sqr(s.outputs[0])) + ct::sum(s.outputs[1]);
      },
      {u0, v0, y0, reals({}, 4)});
  // Fewer steps than the taps reach back.
  for (const int steps_given : {0, 1, 2, 3, 5}) {
    check_gradients(
        [&](const Vars& in) {
          const ScanResult s = ct::scan([&](const Vars& step) { return Step(step[0] * step[1] + in[0]); }, {},
                                        {{in[1], {-2, -4}}}, {}, {.n_steps = steps_given});
          return ct::sum(ct::sqr(s.outputs[0])) + ct::sum(in[1]) * in[0];
        },
        {reals({}, 5), reals({4}, 6)});
  }
}

TEST_CASE("the order of steps, and lengths that differ", "[scan]") {
  const Variable x = ct::lvector("x"), y = ct::lvector("y"), n = ct::lscalar("n");
  const auto list = [](const Vars& in) { return Step(in[0] * 10 + in[1]); };
  const Array a(Longs{1, 2, 3, 4}), b(Longs{5, 6, 7});
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f =
        compile(backend, {x, y, n},
                {ct::scan(list, {x, y}).outputs[0], ct::scan(list, {x, y}, {}, {}, {.n_steps = n}).outputs[0],
                 ct::scan(list, {x, y}, {}, {}, {.n_steps = n, .go_backwards = true}).outputs[0]});
    const ct::Outputs two = f(a, b, 2);
    CHECK(two[0].equals(Array(Longs{15, 26, 37})));  // the shortest determines the length
    CHECK(two[1].equals(Array(Longs{15, 26})));
    CHECK(two[2].equals(Array(Longs{47, 36})));  // from the end; results in the order of the steps
    CHECK(f(a, b, 0)[1].shape() == Sizes{0});
    CHECK_THROWS_AS(f(a, b, 4), ct::ShapeError);
    CHECK_THROWS_AS(f(a, b, -1), ct::ShapeError);
    CHECK(f(Array::zeros(DType::int64, {0}), b, 0)[0].shape() == Sizes{0});
  }
  const Variable v = ct::dvector("v");
  for (const bool backwards : {false, true}) {
    check_gradients(
        [&](const Vars& in) {
          const ScanResult s = ct::scan([&](const Vars& step) { return Step(step[1] * step[0] + step[0]); }, {in[0]},
                                        {in[1]}, {}, {.go_backwards = backwards});
          return ct::sum(ct::sqr(s.outputs[0]) * ct::arange(1.0, 6.0));
        },
        {reals({5}, 1), reals({}, 2)}, 2);
  }
}

TEST_CASE("no steps, one step, many steps, no elements", "[scan]") {
  const Variable x = ct::dmatrix("x"), h = ct::dvector("h"), w = ct::dmatrix("w");
  const ScanResult rnn = ct::scan([&](const Vars& in) { return Step(ct::tanh(in[0] + ct::dot(in[1], w))); }, {x}, {h});
  const ScanResult end =
      ct::reduce([&](const Vars& in) { return Step(ct::tanh(in[0] + ct::dot(in[1], w))); }, {x}, {h});
  const Variable cost = ct::sum(ct::sqr(rnn.outputs[0])) + ct::sum(end.outputs[0] * 3);
  const Vars gradients = ct::grad(cost, Vars{x, h, w});
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f =
        compile(backend, {x, h, w}, {rnn.outputs[0], end.outputs[0], gradients[0], gradients[1], gradients[2]});
    for (const auto& [steps, size] : {std::pair{0, 3}, {1, 3}, {7, 3}, {3, 1}, {3, 0}, {100, 2}}) {
      INFO(steps << " steps of " << size);
      const Array x0 = reals({steps, size}, 1), h0 = reals({size}, 2), w0 = reals({size, size}, 3);
      const ct::Outputs got = f(x0, h0, w0);
      Doubles state = doubles_of(h0), all;
      for (std::int64_t t = 0; t < steps; ++t) {
        Doubles next;
        for (std::int64_t j = 0; j < size; ++j) {
          double sum = x0.at<double>(t, j);
          for (std::int64_t i = 0; i < size; ++i) sum += state[static_cast<std::size_t>(i)] * w0.at<double>(i, j);
          next.push_back(std::tanh(sum));
        }
        state = next;
        all.insert(all.end(), next.begin(), next.end());
      }
      CHECK(got[0].shape() == Sizes{steps, size});
      CHECK(got[0].all_close(Array(all).reshape({steps, size}), 1e-11, 1e-14));
      CHECK(got[1].all_close(Array(state).reshape({size}), 1e-11, 1e-14));
      CHECK(got[2].shape() == Sizes{steps, size});
      if (steps == 0) CHECK(got[3].equals(Array::full(DType::float64, {size}, 3)));
      if (steps == 0) CHECK(got[4].equals(Array::zeros(DType::float64, {size, size})));
    }
  }
  check_gradients(
      [&](const Vars& in) {
        const auto step = [&](const Vars& s) { return Step(ct::tanh(s[0] + ct::dot(s[1], in[2]))); };
        return ct::sum(ct::sqr(ct::scan(step, {in[0]}, {in[1]}).outputs[0])) +
               ct::sum(ct::reduce(step, {in[0]}, {in[1]}).outputs[0] * 3);
      },
      {reals({4, 3}, 1), reals({3}, 2), reals({3, 3}, 3)}, 2);
}

TEST_CASE("nan and infinities go through the steps that they reach", "[scan]") {
  const Variable x = ct::dvector("x");
  const ScanResult sums =
      ct::scan([&](const Vars& in) { return Step(in[0] + in[1]); }, {x}, {ct::constant(Array(0.0))});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {x}, {sums.outputs[0]});
    CHECK(f(Array{1.0, inf, 1.0, -inf, 2.0}).only().all_close(Array{1.0, inf, inf, nan, nan}, 0, 0));
    CHECK(f(Array{1.0, nan, 1.0}).only().all_close(Array{1.0, nan, nan}, 0, 0));
  }
}

TEST_CASE("loops in loops", "[scan]") {
  const auto table = [](const Variable& x, const Variable& y) {
    return ct::scan(
               [&](const Vars& row) {
                 const ScanResult inner =
                     ct::scan([&](const Vars& in) { return Step(in[1] * row[0] + ct::sin(in[0])); }, {y}, {row[1]});
                 return Step{inner.outputs[0][-1], ct::sum(inner.outputs[0])};
               },
               {x}, {ct::constant(Array(0.5)), std::nullopt})
        .outputs;
  };
  const Variable x = ct::dvector("x"), y = ct::dvector("y");
  const Array x0 = reals({4}, 1), y0 = reals({3}, 2);
  Doubles states, sums;
  double state = 0.5;
  for (const double row : doubles_of(x0)) {
    double sum = 0;
    for (const double each : doubles_of(y0)) sum += state = state * row + std::sin(each);
    states.push_back(state);
    sums.push_back(sum);
  }
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::Outputs got = compile(backend, {x, y}, table(x, y))(x0, y0);
    CHECK(got[0].all_close(Array(states), 1e-12, 0));
    CHECK(got[1].all_close(Array(sums), 1e-12, 0));
  }
  check_gradients(
      [&](const Vars& in) {
        const Vars both = table(in[0], in[1]);
        return ct::sum(ct::sqr(both[0])) + ct::sum(both[1]);
      },
      {x0, y0});
}

TEST_CASE("the gradient of a loop that stops", "[scan]") {
  const auto total = [](const Vars& in) {
    const ScanResult s = ct::scan(
        [&](const Vars& step) {
          const Variable next = step[1] * in[1] + step[0];
          return ct::until({next, next * next}, ct::abs(next) > 4);
        },
        {in[0]}, {ct::ones_like(in[1]), std::nullopt});
    return ct::sum(s.outputs[0]) + ct::sum(s.outputs[1]) * 0.1;
  };
  check_gradients(total, {reals({12}, 1, 0.2, 0.4), Array(1.3)});
  for (const std::string& backend : backends()) {
    INFO(backend);
    const Variable x = ct::dvector("x");
    const Variable s = total({x, ct::constant(Array(1.3))});
    // Elements that no step reads have the gradient 0.
    const Array slope = compile(backend, {x}, {ct::grad(s, x)})(Array::full(DType::float64, {12}, 0.3));
    CHECK(slope.as_double(0) != 0);
    CHECK(slope.as_double(11) == 0);
  }
}

TEST_CASE("map, reduce, foldl and foldr", "[scan]") {
  const Variable x = ct::lvector("x");
  const auto digits = [](const Vars& in) { return Step(in[1] * 10 + in[0]); };
  const Vars zero{ct::constant(Array(std::int64_t{0}))};
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {x},
                           {ct::map([](const Vars& in) { return Step(in[0] * in[0]); }, {x}).outputs[0],
                            ct::reduce(digits, {x}, zero).outputs[0], ct::foldl(digits, {x}, zero).outputs[0],
                            ct::foldr(digits, {x}, zero).outputs[0]});
    const ct::Outputs got = f(Array(Longs{1, 2, 3}));
    CHECK(got[0].equals(Array(Longs{1, 4, 9})));
    CHECK(got[1].item<std::int64_t>() == 123);
    CHECK(got[2].item<std::int64_t>() == 123);
    CHECK(got[3].item<std::int64_t>() == 321);
    CHECK(f(Array::zeros(DType::int64, {0}))[1].item<std::int64_t>() == 0);  // the initial value
  }
}

TEST_CASE("checkpoints give what scan gives, and keep less", "[scan]") {
  const auto step = [](const Variable& w) {
    return [&w](const Vars& in) { return Step(ct::tanh(in[1] * w + in[0])); };
  };
  const Variable x = ct::dvector("x"), h = ct::dscalar("h"), w = ct::dscalar("w");
  const Variable all = ct::scan(step(w), {x}, {h}).outputs[0];
  const Variable few = ct::scan_checkpoints(step(w), {x}, {h}, {}, 3).outputs[0];
  const Array x0 = reals({12}, 1);
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {x, h, w}, {all, few, ct::grad(all[-1], w), ct::grad(few[-1], w)});
    const ct::Outputs got = f(x0, 0.3, 0.8);
    CHECK(got[1].equals(got[0].slice(0, 2, 12, 3).copy()));
    CHECK(got[3].all_close(got[2], 1e-12, 0));
    CHECK_THROWS_AS(f(reals({11}, 1), 0.3, 0.8), ct::ShapeError);
  }
  check_gradients(
      [&](const Vars& in) {
        return ct::sum(ct::sqr(ct::scan_checkpoints(step(in[2]), {in[0]}, {in[1]}, {}, 4).outputs[0]));
      },
      {x0, reals({}, 2), reals({}, 3)});
}

TEST_CASE("scan_checkpoints rejects other arguments, and the shortest sequence gives the number of steps", "[scan]") {
  const Variable x = ct::dvector("x"), y = ct::dvector("y"), h = ct::dscalar("h");
  const auto add = [](const Vars& in) { return Step(in[0] + in[1]); };
  CHECK_THAT(error_of([&] {
               ct::scan_checkpoints([](const Vars& in) { return ct::until({in[0] + in[1]}, in[1] > 2); }, {x}, {h}, {},
                                    2);
             }),
             Contains("scan_checkpoints (test_scan.cpp:") && Contains("condition"));
  CHECK_THAT(error_of([&] { ct::scan_checkpoints(add, {x}, {h}, {}, 2, {.truncate_gradient = 3}); }),
             Contains("not truncated"));
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const Variable sums =
        ct::scan_checkpoints([](const Vars& in) { return Step(in[0] * in[1] + in[2]); }, {x, y}, {h}, {}, 2).outputs[0];
    const auto f = ct::function({x, y, h}, sums);
    CHECK(f(Array{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, Array{1.0, 1.0, 1.0, 1.0}, 0.0).only().equals(Array{3.0, 10.0}));
    // A stream that is used inside advances.
    RandomStreams streams(3);
    const Variable walk =
        ct::scan_checkpoints([&](const Vars& in) { return Step(in[0] + streams.uniform({}, 0, 1, DType::float64)); },
                             {}, {h}, {}, 2, {.n_steps = 4})
            .outputs[0];
    const auto g = ct::function({h}, walk);
    const Array one = g(0.0).only(), two = g(0.0).only();
    CHECK((one.as_double(0) > 0 && one.as_double(1) > one.as_double(0)));
    CHECK(one.as_double(0) != two.as_double(0));
  }
}

TEST_CASE("a state keeps its size, also where only the step finds it", "[scan]") {
  const Variable k = ct::lvector("k"), h = ct::dvector("h"), x = ct::dmatrix("x");
  const Variable longer =
      ct::scan([](const Vars& in) { return Step(ct::concatenate({in[1], ct::ones({in[0]}, DType::float64)}) * 2.0); },
               {k}, {h})
          .outputs[0];
  const Variable shorter =
      ct::scan([](const Vars& in) { return Step(in[1][ct::slice({}, in[0])] * 2.0); }, {k}, {h}).outputs[0];
  const Variable either =
      ct::scan([](const Vars& in) { return Step(ct::ifelse(in[0] > 2, in[1] * 2.0, in[1][ct::slice(1, {})])); }, {k},
               {h})
          .outputs[0];
  const Variable found = ct::scan([](const Vars& in) { return Step(ct::nonzero_values(in[0])); }, {x}, {h}).outputs[0];
  const auto longs = [](const Longs& values) { return Array(values); };
  const auto rows = [](const Doubles& two) {
    return Array(two).reshape({2, static_cast<std::int64_t>(two.size()) / 2});
  };
  const Array h0{1.0, 2.0, 3.0};
  const auto refuses = [&](const std::function<void()>& call) {
    CHECK_THAT(error_of(call),
               Contains("state 0 must keep its size from step to step") && Contains("scan (test_scan.cpp:"));
  };
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto grows = ct::function({k, h}, longer), cuts = ct::function({k, h}, shorter),
               chooses = ct::function({k, h}, either), finds = ct::function({x, h}, found);
    CHECK(grows(longs({0, 0}), h0).only().equals(rows({2.0, 4.0, 6.0, 4.0, 8.0, 12.0})));
    CHECK(cuts(longs({3, 7}), h0).only().equals(rows({2.0, 4.0, 6.0, 4.0, 8.0, 12.0})));
    CHECK(chooses(longs({3, 3}), h0).only().equals(rows({2.0, 4.0, 6.0, 4.0, 8.0, 12.0})));
    CHECK(
        finds(rows({0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 5.0, 6.0}), h0).only().equals(rows({1.0, 2.0, 3.0, 4.0, 5.0, 6.0})));
    refuses([&] { grows(longs({0, 1}), h0); });
    refuses([&] { grows(longs({100000, 0}), h0); });
    refuses([&] { cuts(longs({3, 2}), h0); });
    refuses([&] { chooses(longs({3, 1}), h0); });
    refuses([&] { finds(rows({0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 6.0}), h0); });
    CHECK(grows(longs({}), h0).only().shape(0) == 0);
    // So does a shared variable that the steps update.
    const SharedVariable all = ct::shared(Array{1.0, 2.0}, {.name = "all"});
    const ScanResult updates = ct::scan(
        [&](const Vars& in) {
          return Step(Vars{}, {{all, ct::concatenate({all, ct::ones({in[0]}, DType::float64)})}});
        },
        {k});
    const auto grows_shared = ct::function({k}, std::vector<ct::Out>{}, {.updates = as_updates(updates)});
    CHECK_THAT(error_of([&] { grows_shared(longs({0, 2})); }), Contains("all") && Contains("must keep its size"));
    CHECK(all.get_value().equals(Array{1.0, 2.0}));
  }
}

TEST_CASE("non_sequences are what they are in front of the loop", "[scan]") {
  SharedVariable w = ct::shared(Array(1.0), {.name = "w"});
  const Variable tenfold = w * 10.0;
  const ScanResult scan = ct::scan([&](const Vars& in) { return Step(Vars{in[0], w + 0.0}, {{w, w + 1.0}}); }, {}, {},
                                   {tenfold}, {.n_steps = 3});
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Outputs got = ct::function({}, scan.outputs, {.updates = as_updates(scan)})();
    CHECK(got[0].equals(Array{10.0, 10.0, 10.0}));
    CHECK(got[1].equals(Array{1.0, 2.0, 3.0}));
    CHECK(w.get_value().item<double>() == 4);
    w.set_value(Array(1.0));
  }
}

TEST_CASE("shared variables that the steps update", "[scan]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const SharedVariable count = ct::shared(Array(std::int64_t{0}), {.name = "count"});
    const ScanResult counted =
        ct::scan([&](const Vars&) { return Step(Vars{count * 1}, {{count, count + 2}}); }, {}, {}, {}, {.n_steps = 4});
    REQUIRE(counted.updates.size() == 1);
    const auto f = ct::function({}, counted.outputs[0], {.updates = as_updates(counted)});
    CHECK(f().only().equals(Array(Longs{0, 2, 4, 6})));
    CHECK(count.get_value().item<std::int64_t>() == 8);
    CHECK(f().only().equals(Array(Longs{8, 10, 12, 14})));
    // A step without outputs, only with an update.
    const ScanResult silent =
        ct::scan([&](const Vars&) { return Step(Vars{}, {{count, count - 1}}); }, {}, {}, {}, {.n_steps = 16});
    ct::function({}, std::vector<ct::Out>{}, {.updates = as_updates(silent)})();
    CHECK(count.get_value().item<std::int64_t>() == 0);
  }
  // Forgotten updates raise an error.
  const SharedVariable count = ct::shared(Array(std::int64_t{0}), {.name = "count"});
  const ScanResult counted =
      ct::scan([&](const Vars&) { return Step(Vars{count * 1}, {{count, count + 1}}); }, {}, {}, {}, {.n_steps = 3});
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  ct::function({}, counted.outputs[0]);
  const std::string forgotten = said.str();
  ct::function({}, counted.outputs[0], {.updates = as_updates(counted)});
  std::cerr.rdbuf(before);
  CHECK_THAT(forgotten, Contains("warning") && Contains("count") && Contains("test_scan.cpp"));
  CHECK(said.str() == forgotten);
}

TEST_CASE("random numbers are drawn again in each step", "[scan]") {
  std::vector<Array> first;
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    RandomStreams streams(4);
    const Variable outside = streams.uniform({2}), w = ct::dscalar("w");
    const ScanResult drawn =
        ct::scan([&](const Vars&) { return Step{streams.uniform({2}), outside + 0}; }, {}, {}, {}, {.n_steps = 3});
    const auto f = ct::function({}, drawn.outputs);
    const ct::Outputs one = f(), two = f();
    // Six different numbers per call, twelve in two; a draw outside the loop is the same in all steps.
    Doubles all = doubles_of(one[0]);
    for (const double each : doubles_of(two[0])) all.push_back(each);
    std::ranges::sort(all);
    CHECK(std::ranges::adjacent_find(all) == all.end());
    CHECK(one[1].row(0).copy().equals(one[1].row(2).copy()));
    CHECK_FALSE(one[1].equals(two[1]));
    if (first.empty()) first = one.arrays();
    CHECK(one[0].equals(first[0]));
    // The gradient uses the loop's random numbers.
    const ScanResult walk =
        ct::scan([&](const Vars& in) { return Step(in[0] * w + streams.normal({}, 0, 1, DType::float64)); }, {},
                 {ct::zeros_like(w)}, {}, {.n_steps = 5});
    const auto g = ct::function({w}, std::vector<ct::Out>{walk.outputs[0], ct::grad(walk.outputs[0][-1], w)});
    const ct::Outputs got = g(0.5);
    double state = 0, slope = 0;
    for (std::int64_t t = 0; t < 5; ++t) {
      slope = slope * 0.5 + state;
      state = got[0].as_double(t);
    }
    CHECK(std::abs(got[1].item<double>() - slope) < 1e-12);
  }
}

TEST_CASE("random numbers of a loop inside a loop are drawn once each", "[scan]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    for (const bool handed_on : {true, false}) {
      RandomStreams streams(4);
      const ScanResult drawn = ct::scan(
          [&](const Vars&) {
            const ScanResult inner =
                ct::scan([&](const Vars&) { return Step(streams.uniform({})); }, {}, {}, {}, {.n_steps = 2});
            return Step(Vars{inner.outputs[0]}, handed_on ? inner.updates : decltype(inner.updates){});
          },
          {}, {}, {}, {.n_steps = 3});
      for (const bool given : {true, false}) {
        const auto f = ct::function({}, drawn.outputs, {.updates = given ? as_updates(drawn) : Updates{}});
        Doubles all = doubles_of(f().only());
        for (const double each : doubles_of(f().only())) all.push_back(each);
        std::ranges::sort(all);
        CHECK(all.size() == 12);
        CHECK(std::ranges::adjacent_find(all) == all.end());
      }
    }
  }
}

TEST_CASE("shared variables whose default updates need each other are freed", "[scan]") {
  std::vector<std::weak_ptr<const ct::builder::Node>> states;
  {
    ct::SharedVariable a = ct::shared(Array(1.0)), b = ct::shared(Array(2.0));
    a.set_default_update(a + b);
    b.set_default_update(a * b);
    const ct::Function f = ct::function({}, a + b);
    CHECK(f().item<double>() == 3);
    CHECK(f().item<double>() == 3 + 2);
    CHECK((a.get_value().item<double>() == 5 && b.get_value().item<double>() == 6));
    // The steps of one loop advance both.
    ct::RandomStreams streams(3);
    const ScanResult drawn = ct::scan(
        [&](const Vars& in) { return Step(in[0] + streams.uniform({}) * streams.normal({})); }, {ct::fvector("x")});
    for (const auto& [state, next] : drawn.updates) states.push_back(state.node()->weak_from_this());
    states.push_back(a.node()->weak_from_this());
    states.push_back(b.node()->weak_from_this());
    CHECK(states.size() == 4);
    // With a dependence in only one direction, nothing is lost when no handle is left.
    ct::SharedVariable count = ct::shared(Array(0.0));
    {
      const ct::SharedVariable step = ct::shared(Array(2.0));
      count.set_default_update(count + step);
    }
    const ct::Function counts = ct::function({}, count);
    counts();
    CHECK(counts().item<double>() == 2);
  }
  for (const auto& state : states) CHECK(state.expired());
  const ct::SharedVariable left = [] {
    ct::SharedVariable a = ct::shared(Array(1.0), {.name = "a"}), b = ct::shared(Array(2.0), {.name = "b"});
    a.set_default_update(a + b);
    b.set_default_update(a * b);
    return b;
  }();
  CHECK_THROWS_WITH(ct::function({}, left), Contains("the default update of b") && Contains("needs a"));
}

TEST_CASE("recurrent layers", "[scan]") {
  constexpr std::int64_t steps = 6, batch = 3, in_size = 4, size = 5;
  const auto part = [](const Variable& z, long k) {
    return z.at({ct::slice({}, {}), ct::slice(k * static_cast<long>(size), (k + 1) * static_cast<long>(size))});
  };
  const auto lstm = [&](const Vars& in) {  // x, w, u, b
    const Variable projected = ct::dot(in[0], in[1]) + in[3];
    const Variable zero = ct::zeros({in[0].shape(1), size}, DType::float64);
    return ct::scan(
               [&](const Vars& s) {
                 const Variable z = s[0] + ct::dot(s[1], in[2]);
                 const Variable c = ct::sigmoid(part(z, 1)) * s[2] + ct::sigmoid(part(z, 0)) * ct::tanh(part(z, 2));
                 return Step{ct::sigmoid(part(z, 3)) * ct::tanh(c), c};
               },
               {projected}, {zero, zero})
        .outputs[0];
  };
  const auto gru = [&](const Vars& in) {
    const Variable projected = ct::dot(in[0], in[1]) + in[3];
    return ct::scan(
               [&](const Vars& s) {
                 const Variable both = s[0].at({ct::slice({}, {}), ct::slice({}, 2 * size)}) +
                                       ct::dot(s[1], in[2].at({ct::slice({}, {}), ct::slice({}, 2 * size)}));
                 const Variable z = ct::sigmoid(part(both, 0)), r = ct::sigmoid(part(both, 1));
                 const Variable h = ct::tanh(part(s[0], 2) + ct::dot(r * s[1], part(in[2], 2)));
                 return Step(z * s[1] + (1 - z) * h);
               },
               {projected}, {ct::zeros({in[0].shape(1), size}, DType::float64)})
        .outputs[0];
  };
  const auto points = [&](std::int64_t gates) {
    return std::vector<Array>{reals({steps, batch, in_size}, 1), reals({in_size, gates * size}, 2),
                              reals({size, gates * size}, 3), reals({gates * size}, 4)};
  };
  // The LSTM in plain C++.
  const std::vector<Array> at = points(4);
  Doubles h(batch * size, 0), c(batch * size, 0), all;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (std::int64_t t = 0; t < steps; ++t) {
    Doubles next = h;
    for (std::int64_t b = 0; b < batch; ++b) {
      Doubles z;
      for (std::int64_t g = 0; g < 4 * size; ++g) {
        double sum = at[3].at<double>(g);
        for (std::int64_t i = 0; i < in_size; ++i) sum += at[0].at<double>(t, b, i) * at[1].at<double>(i, g);
        for (std::int64_t i = 0; i < size; ++i)
          sum += h[static_cast<std::size_t>(b * size + i)] * at[2].at<double>(i, g);
        z.push_back(sum);
      }
      for (std::int64_t i = 0; i < size; ++i) {
        const auto gate = [&](std::int64_t k) { return z[static_cast<std::size_t>(k * size + i)]; };
        double& cell = c[static_cast<std::size_t>(b * size + i)];
        cell = sigmoid(gate(1)) * cell + sigmoid(gate(0)) * std::tanh(gate(2));
        next[static_cast<std::size_t>(b * size + i)] = sigmoid(gate(3)) * std::tanh(cell);
      }
    }
    h = next;
    all.insert(all.end(), h.begin(), h.end());
  }
  const Variable x = ct::dtensor3("x"), w = ct::dmatrix("w"), u = ct::dmatrix("u"), bias = ct::dvector("bias");
  for (const std::string& backend : backends()) {
    INFO(backend);
    const Array got = compile(backend, {x, w, u, bias}, {lstm({x, w, u, bias})})(at[0], at[1], at[2], at[3]);
    CHECK(got.all_close(Array(all).reshape({steps, batch, size}), 1e-12, 1e-14));
  }
  check_gradients([&](const Vars& in) { return ct::sum(ct::sqr(lstm(in)[-1])); }, points(4));
  check_gradients([&](const Vars& in) { return ct::mean(ct::sqr(gru(in))); }, points(3));
}

TEST_CASE("R-operator, Jacobians and batches of loops", "[scan]") {
  const auto f = [](const Variable& x, const Variable& w) {
    return ct::scan([&](const Vars& in) { return Step(ct::tanh(in[1] * w + in[0])); }, {x}, {ct::zeros_like(w)})
        .outputs[0];
  };
  const Variable x = ct::dvector("x"), w = ct::dscalar("w"), dx = ct::dvector("dx"), dw = ct::dscalar("dw");
  const Array x0 = reals({5}, 1), dx0 = reals({5}, 2);
  const double eps = 1e-6;
  Array plus = x0.copy(), minus = x0.copy();
  for (std::int64_t i = 0; i < 5; ++i) {
    plus.at<double>(i) += eps * dx0.at<double>(i);
    minus.at<double>(i) -= eps * dx0.at<double>(i);
  }
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto value = compile(backend, {x, w}, {f(x, w)});
    const Array up = value(plus, 0.7 + eps * 0.3), down = value(minus, 0.7 - eps * 0.3);
    const Array along =
        compile(backend, {x, w, dx, dw}, {ct::Rop(Vars{f(x, w)}, Vars{x, w}, Vars{dx, dw})[0]})(x0, 0.7, dx0, 0.3);
    const Array jacobian = compile(backend, {x, w}, {ct::jacobian(f(x, w), x)})(x0, 0.7);
    for (std::int64_t i = 0; i < 5; ++i) {
      CHECK(std::abs(along.as_double(i) - (up.as_double(i) - down.as_double(i)) / (2 * eps)) < 1e-8);
      for (std::int64_t j = i + 1; j < 5; ++j) CHECK(jacobian.at<double>(i, j) == 0);  // steps do not look ahead
      CHECK(jacobian.at<double>(i, i) > 0);
    }
    const Variable many = ct::dmatrix("many");
    const Array batch = compile(backend, {many, w}, {ct::vectorize({f(x, w)}, {{x, many}})[0]})(reals({4, 5}, 3), 0.7);
    for (std::int64_t row = 0; row < 4; ++row)
      CHECK(batch.row(row).copy().all_close(value(reals({4, 5}, 3).row(row).copy(), 0.7).only(), 1e-13, 0));
  }
}

TEST_CASE("values from outside are computed once, and given to the body", "[scan]") {
  const Variable x = ct::dvector("x"), w = ct::dmatrix("w");
  const ScanResult s = ct::scan([&](const Vars& in) { return Step(ct::dot(in[0], ct::exp(w)) + ct::sum(w)); }, {}, {x},
                                {}, {.n_steps = 3});
  const auto f = ct::function({x, w}, s.outputs[0]);
  const std::string graph = f.graph(),
                    body = graph.substr(graph.find("body step0"), graph.find("\n}") - graph.find("body step0"));
  CHECK_THAT(body, !Contains("exp(") && !Contains("sum("));
  CHECK_THAT(graph, Contains("exp(w)"));
  CHECK_THAT(f.plan(), Contains("loop("));
  // It prints and parses back.
  const croton::expr::Graph read = croton::expr::parse_graph(graph);
  CHECK(croton::expr::print(read) == croton::expr::print(croton::expr::parse_graph(croton::expr::print(read))));
  // Equal loops are merged.
  const ScanResult again = ct::scan([&](const Vars& in) { return Step(ct::dot(in[0], ct::exp(w)) + ct::sum(w)); }, {},
                                    {x}, {}, {.n_steps = 3});
  const std::string both = ct::function({x, w}, s.outputs[0] + again.outputs[0]).graph();
  CHECK(both.find("body step1") == std::string::npos);
  // strict
  CHECK_THAT(error_of([&] {
               ct::scan([&](const Vars& in) { return Step(in[0] * w); }, {}, {w}, {}, {.n_steps = 2, .strict = true});
             }),
             Contains("w is f64[?, ?]") && Contains("non_sequences"));
  CHECK_NOTHROW(
      ct::scan([&](const Vars& in) { return Step(in[0] * in[1]); }, {}, {w}, {w}, {.n_steps = 2, .strict = true}));
}

TEST_CASE("mistakes with scan are named", "[scan]") {
  const Variable x = ct::fvector("x"), d = ct::dvector("d"), n = ct::fscalar("n");
  const auto same = [](const Vars& in) { return Step(in[0]); };
  CHECK_THAT(error_of([&] { ct::scan([&](const Vars& in) { return Step(in[0] + d); }, {}, {x}, {}, {.n_steps = 2}); }),
             Contains("state 0, which begins as x is f32[?]") && Contains("its dtype must stay float32") &&
                 Contains(".astype(float64)") && Contains("test_scan.cpp"));
  const Variable row = ct::row("row", DType::float64), m = ct::dmatrix("m");
  CHECK_THAT(
      error_of([&] { ct::scan([&](const Vars& in) { return Step(in[0] + m); }, {}, {row}, {}, {.n_steps = 2}); }),
      Contains("stated size 1") && Contains("unbroadcast"));
  CHECK_THAT(
      error_of([&] { ct::scan([&](const Vars& in) { return Step(ct::sum(in[0])); }, {}, {x}, {}, {.n_steps = 2}); }),
      Contains("1 dimension(s)"));
  CHECK_THAT(error_of([&] { ct::scan(same, {}, {x}); }), Contains("number of steps"));
  CHECK_THAT(error_of([&] { ct::scan(same, {n}); }), Contains("at least one axis") && Contains("n is"));
  CHECK_THAT(error_of([&] { ct::scan(same, {x}, {}, {}, {.n_steps = n}); }),
             Contains("n_steps must be an integer scalar"));
  CHECK_THAT(error_of([&] { ct::scan(same, {x}, {}, {}, {.n_steps = -3}); }), Contains("-3 steps"));
  CHECK_THAT(error_of([&] { ct::scan(same, {x}, {std::nullopt, std::nullopt}); }),
             Contains("2 outputs_info for 1 output(s)"));
  CHECK_THAT(error_of([&] { ct::scan(same, {}, {{x, {0}}}, {}, {.n_steps = 2}); }), Contains("steps before"));
  CHECK_THAT(error_of([&] {
               ct::scan([&](const Vars& in) { return ct::until({in[0]}, in[0]); }, {}, {x}, {}, {.n_steps = 2});
             }),
             Contains("until must be a scalar"));
  CHECK_THAT(error_of([&] { ct::scan([&](const Vars&) { return Step(Variable()); }, {x}); }),
             Contains("empty Variable"));
  // Sizes that differ between steps are found when the loop is built, or when it runs.
  const Variable k = ct::lvector("k");
  CHECK_THAT(error_of([&] { ct::scan([&](const Vars& in) { return Step(ct::arange(in[0])); }, {k}); }),
             Contains("may differ from step to step"));
  const Variable v = ct::dvector("v"), count = ct::lscalar("count");
  const auto counted = ct::function({v, count}, ct::scan(same, {}, {v}, {}, {.n_steps = count}).outputs[0]);
  CHECK_THAT(error_of([&] { counted(reals({3}, 1), std::int64_t{-3}); }),
             Contains("the number of steps is negative: -3") && Contains("test_scan.cpp"));
  const ScanResult grows =
      ct::scan([&](const Vars& in) { return Step(ct::concatenate({in[0], in[0]})); }, {}, {v}, {}, {.n_steps = 2});
  CHECK_THROWS_AS(ct::function({v}, grows.outputs[0])(reals({3}, 1)), ct::ShapeError);
  const ScanResult picks = ct::scan([&](const Vars& in) { return Step(v[in[0]]); }, {k});
  const auto f = ct::function({k, v}, picks.outputs[0]);
  CHECK_THAT(error_of([&] { f(Array(Longs{0, 1, 7}), reals({3}, 1)); }), Contains("test_scan.cpp"));
  CHECK(f(Array(Longs{2, 0}), Array{1.0, 2.0, 3.0}).only().equals(Array{3.0, 1.0}));
}

TEST_CASE("bodies whose sizes differ from step to step inside", "[scan]") {
  const Variable k = ct::lvector("k"), v = ct::dvector("v");
  // Sums of the first k elements, and of those above a mean: sizes that are numbers of the step, and computed ones.
  const ScanResult s = ct::scan(
      [&](const Vars& in) {
        const Variable first = v[ct::slice({}, in[0])];
        return Step{ct::sum(first), ct::sum(ct::nonzero_values(v * (v > in[0] * 0.1)))};
      },
      {k});
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::Outputs got = compile(backend, {k, v}, s.outputs)(Array(Longs{0, 3, 1, 3}), Array{0.05, 0.2, 0.4});
    CHECK(got[0].all_close(Array{0.0, 0.65, 0.05, 0.65}, 1e-12, 0));
    CHECK(got[1].all_close(Array{0.65, 0.4, 0.6, 0.4}, 1e-12, 0));
  }
}

TEST_CASE("slices with bounds from outside have one size in all steps", "[scan]") {
  const Variable x = ct::dvector("x"), v = ct::dvector("v"), n = ct::lscalar("n");
  // The gradient of each element of a join is a slice of x's size, which the body has only as a number.
  const Variable y = ct::concatenate({x, v});
  const Variable rows =
      ct::scan([&](const Vars& in) { return Step(ct::grad(y[in[0]], x)); }, {ct::arange(y.shape(0))}, {}, {y, x})
          .outputs[0];
  const Variable heads = ct::scan([&](const Vars& in) { return Step(v[ct::slice({}, n)] * in[0]); }, {x}).outputs[0];
  for (const std::string& backend : backends()) {
    INFO(backend);
    const Array jacobian = compile(backend, {x, v}, {rows})(reals({2}, 1), reals({3}, 2));
    CHECK(jacobian.equals(Array{1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}.reshape({5, 2})));
    const auto f = compile(backend, {x, v, n}, {heads});
    const Array x0{2.0, 3.0}, v0{1.0, 10.0, 100.0};
    for (const std::int64_t bound : {2, -1})
      CHECK(f(x0, v0, bound).only().equals(Array{2.0, 20.0, 3.0, 30.0}.reshape({2, 2})));
    CHECK(f(x0, v0, std::int64_t{-9}).only().shape() == ct::Sizes{2, 0});
    CHECK(f(x0, v0, std::int64_t{9}).only().shape() == ct::Sizes{2, 3});
  }
}

TEST_CASE("functions with loops: copies, givens, verification, names", "[scan]") {
  const Variable x = ct::fmatrix("x");
  const SharedVariable w = ct::shared(Array::uniform(DType::float32, {3, 3}, 1), {.name = "w"});
  const ScanResult s = ct::scan([&](const Vars& in) { return Step((ct::tanh(ct::dot(in[0], w))).named("h")); }, {}, {x},
                                {}, {.n_steps = 4});
  CHECK(s.outputs[0].name() == "h");
  const Variable cost = ct::sum(ct::sqr(s.outputs[0]));
  const auto train = ct::function({x}, cost, {.updates = {{w, w - 0.01 * ct::grad(cost, w)}}});
  const Array x0 = Array::uniform(DType::float32, {2, 3}, 2), w0 = w.get_value();
  const double first = train(x0).item<float>(), second = train(x0).item<float>();
  CHECK(second < first);
  SharedVariable(w).set_value(w0);
  const ct::Function other = train.copy();
  CHECK(other(x0).item<float>() == static_cast<float>(first));
  const Variable v = ct::fmatrix("v");
  const auto given = ct::function({x, v}, cost, {.givens = {{w, v}}});
  CHECK(given(x0, w0).item<float>() == static_cast<float>(first));
  const ct::change_flags flags("mode=verify");
  CHECK(ct::function({x, v}, cost, {.givens = {{w, v}}})(x0, w0).item<float>() == static_cast<float>(first));
}

// Lazy branches: the selected side, the side that is not computed, gradients, on every back-end.
#include "samples.hpp"

using namespace croton_test;
using Vars = std::vector<Variable>;

namespace {

Array reals(const Sizes& shape, std::uint64_t seed) { return Array::uniform(DType::float64, shape, seed, 0.2, 1); }

}  // namespace

TEST_CASE("ifelse takes one side, and lists of both", "[ifelse]") {
  const Variable c = ct::iscalar("c"), x = ct::dvector("x"), y = ct::dvector("y");
  const Vars both = ct::ifelse(c, Vars{x + y, ct::sum(x)}, Vars{x * y, ct::sum(y)});
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {c, x, y}, {both[0], both[1]});
    CHECK(f(1, Array{1.0, 2.0}, Array{3.0, 5.0})[0].equals(Array{4.0, 7.0}));
    CHECK(f(0, Array{1.0, 2.0}, Array{3.0, 5.0})[0].equals(Array{3.0, 10.0}));
    CHECK(f(-7, Array{1.0, 2.0}, Array{3.0, 5.0})[1].item<double>() == 3);
    CHECK(f(0, Array{1.0, 2.0}, Array{3.0, 5.0})[1].item<double>() == 8);
    // A condition that a kernel computes.
    const auto g = compile(backend, {x, y}, {ct::ifelse(ct::sum(x) > ct::sum(y), ct::exp(x), ct::log(y))});
    CHECK(g(Array{0.0, 0.0}, Array{1.0, -3.0}).only().equals(Array{1.0, 1.0}));
    CHECK(g(Array{0.0, -9.0}, Array{1.0, 1.0}).only().equals(Array{0.0, 0.0}));
    // A float as condition: nan is not 0.
    const Variable r = ct::dscalar("r");
    const auto k = compile(backend, {r, x, y}, {ct::ifelse(r, x, y)});
    for (const double number : {-0.5, std::nan(""), 1e-320})
      CHECK(k(number, Array{1.0}, Array{2.0}).only().equals(Array{1.0}));
    for (const double zero : {0.0, -0.0}) CHECK(k(zero, Array{1.0}, Array{2.0}).only().equals(Array{2.0}));
    // Different sizes.
    const auto h = compile(backend, {c, x, y}, {ct::ifelse(c, x * 2, y), ct::sum(ct::ifelse(c, x * 2, y * 1))});
    CHECK(h(1, Array{1.0, 2.0, 3.0}, Array{5.0})[0].equals(Array{2.0, 4.0, 6.0}));
    CHECK(h(0, Array{1.0, 2.0, 3.0}, Array{5.0})[0].equals(Array{5.0}));
    CHECK(h(0, Array{1.0, 2.0, 3.0}, Array{5.0})[1].item<double>() == 5);
  }
}

TEST_CASE("results of a branch whose sizes are known at different times", "[ifelse]") {
  // The sizes of the first one depend on the condition, which a kernel computes; those of the second one are declared.
  const Variable a = ct::dmatrix("a"), b = ct::dmatrix("b"), v = ct::dvector("v"), z = ct::dmatrix("z");
  const Variable condition = ct::sum(ct::pow(1.0, z)) > 0.25;
  const Vars both = ct::ifelse(condition, Vars{a, v}, Vars{b, v});
  const Array A = reals({2, 3}, 1), B = reals({4, 1}, 2), V = reals({5}, 3);
  for (const std::string& backend : backends()) {
    INFO(backend);
    for (const bool swapped : {false, true}) {
      const auto f = compile(backend, {a, b, v, z}, {both[swapped ? 1 : 0], both[swapped ? 0 : 1]});
      for (const bool taken : {true, false}) {
        const auto results = f(A, B, V, taken ? reals({1, 1}, 4) : Array::zeros(DType::float64, {0, 1}));
        CHECK(results[swapped ? 1 : 0].equals(taken ? A : B));
        CHECK(results[swapped ? 0 : 1].equals(V));
      }
    }
  }
}

TEST_CASE("the side that is not taken is not computed, and its sizes need not fit", "[ifelse]") {
  int calls = 0;
  const ct::HostOp counted(
      {.name = "counted",
       .results = [](const Vars& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}}; },
       .compute =
           [&](const std::vector<Array>& in) {
             ++calls;
             return std::vector<Array>{in[0].copy()};
           },
       .gradient = [](const Vars&, const Vars&, const Vars& g) { return g; }});
  const Variable c = ct::iscalar("c"), x = ct::dvector("x"), y = ct::dvector("y");
  for (const std::string& backend : backends()) {
    INFO(backend);
    const Variable z = ct::ifelse(c, ct::sum(ct::exp(counted(x)) + y), ct::sum(x));
    const ct::change_flags flags(backend);
    const auto f = ct::function({c, x, y}, std::vector<ct::Out>{z, ct::grad(z, x)});
    calls = 0;
    CHECK(f(0, Array{1.0, 2.0}, Array{1.0, 2.0, 3.0})[1].equals(Array{1.0, 1.0}));
    CHECK(calls == 0);
    CHECK_THROWS_AS(f(1, Array{1.0, 2.0}, Array{1.0, 2.0, 3.0}), ct::ShapeError);
    calls = 0;
    f(1, Array{1.0, 2.0}, Array{1.0, 2.0});
    CHECK(calls > 0);
    // The gradient of the other side does not come through: sqrt has no slope below 0.
    const Variable s = ct::dscalar("s");
    const Variable root = ct::ifelse(s > 0, ct::sqrt(s), 0.0 * s);
    const auto g = compile(backend, {s}, {ct::grad(root, s)});
    CHECK(g(4.0).item<double>() == 0.25);
    CHECK(g(-4.0).item<double>() == 0);
  }
}

TEST_CASE("gradients through ifelse, nested and in loops", "[ifelse]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    for (const int taken : {0, 1}) {
      const Variable c = ct::constant(Array(taken));
      const auto f = [&](const Vars& in) {
        const Variable h = ct::tanh(in[0]);
        const Vars two = ct::ifelse(ct::sum(h) > -100 * taken + 50, Vars{ct::sin(h) * in[1], h},
                                    Vars{ct::ifelse(c, ct::cos(h * in[1]), ct::sqr(h)), h * in[1]});
        return ct::sum(two[0]) + ct::sum(two[1] * h);
      };
      CHECK(grad_error(f, {reals({3}, 1), reals({3}, 2)}, 2) < 1e-6);
    }
    const auto loop = [](const Vars& in) {
      return ct::sum(
          ct::scan([&](const Vars& s) { return ct::Step(ct::ifelse(s[1] > 0.7, s[1] * in[1], s[0] + s[1])); }, {in[0]},
                   {in[2]})
              .outputs[0]);
    };
    CHECK(grad_error(loop, {reals({6}, 3), Array(0.4), Array(0.35)}) < 1e-6);
  }
}

TEST_CASE("mistakes with ifelse are named", "[ifelse]") {
  using Catch::Matchers::Contains;
  const Variable c = ct::iscalar("c"), x = ct::dvector("x"), m = ct::dmatrix("m"), f = ct::fvector("f");
  CHECK_THROWS_WITH(ct::ifelse(c, x, m), Contains("one dtype and number of dimensions") && Contains("test_ifelse.cpp"));
  CHECK_THROWS_WITH(ct::ifelse(c, x, f), Contains("one dtype and number of dimensions"));
  CHECK_THROWS_WITH(ct::ifelse(x, x, x), Contains("must be a real scalar") && Contains("where("));
  CHECK_THROWS_WITH(ct::ifelse(c, Vars{x, x}, Vars{x}), Contains("2 variable(s) for one branch and 1"));
  CHECK_THROWS_WITH(ct::ifelse(c, ct::drow("r"), m), Contains("stated size 1"));
}

TEST_CASE("a branch inside a branch of the same condition is the side that is taken", "[ifelse]") {
  const Variable c = ct::iscalar("c"), x = ct::dmatrix("x"), y = ct::dmatrix("y"), z = ct::dmatrix("z");
  const Variable inner = ct::ifelse(c, Vars{x, y}, Vars{z, z})[0];
  const Variable outer = ct::ifelse(c, Vars{inner, y}, Vars{z, z})[0];
  const Vars two = ct::ifelse(c, Vars{x, y}, Vars{z, x + 0.5});
  const Variable slope = ct::grad(ct::sum(ct::sin(two[0])) + ct::sum(ct::sin(two[1])), x);
  const Array a = reals({2, 3}, 1), b = reals({2, 3}, 2), d = reals({2, 3}, 3);
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {c, x, y, z}, {outer, ct::ifelse(c, ct::exp(inner), inner * 2), slope});
    const ct::Outputs then = f(1, a, b, d), otherwise = f(0, a, b, d);
    CHECK(then[0].equals(a));
    CHECK(otherwise[0].equals(d));
    for (std::int64_t i = 0; i < 6; ++i) {
      CHECK(then[1].as_double(i) == Approx(std::exp(a.as_double(i))));
      CHECK(otherwise[1].as_double(i) == Approx(2 * d.as_double(i)));
      CHECK(then[2].as_double(i) == Approx(std::cos(a.as_double(i))));
      CHECK(otherwise[2].as_double(i) == Approx(std::cos(a.as_double(i) + 0.5)));
    }
  }
}

TEST_CASE("branches inside branches, of several sizes", "[ifelse]") {
  const Variable p = ct::variable({DType::bool_, {}}, "p"), n = ct::lscalar("n");
  const Variable x = ct::dmatrix("x"), y = ct::dmatrix("y"), z = ct::dmatrix("z");
  const Variable inner = ct::ifelse(n > 2, Vars{x * 2, y}, Vars{y, x})[0];
  const Variable outer = ct::ifelse(p, Vars{inner, y}, Vars{z, z})[0];
  // The same condition, built twice.
  const Variable same = ct::ifelse(p, Vars{ct::ifelse(p, Vars{x, y}, Vars{z, z})[0], y}, Vars{z, z})[0];
  const Vars slopes = ct::grad(ct::sum(ct::sqr(outer)), {x, y, z});
  const Array a = reals({2, 3}, 1), b = reals({4, 1}, 2), c = reals({1, 5}, 3);
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {p, n, x, y, z}, {outer, same, slopes[0], slopes[1], slopes[2]});
    for (const bool first : {true, false}) {
      for (const std::int64_t second : {3, 2}) {
        CAPTURE(first, second);
        const ct::Outputs got = f(first, second, a, b, c);
        const Array& taken = !first ? c : second > 2 ? a : b;
        const double factor = first && second > 2 ? 2 : 1;
        CHECK(got[0].shape() == taken.shape());
        CHECK(got[1].equals(first ? a : c));
        for (std::int64_t i = 0; i < taken.size(); ++i) CHECK(got[0].as_double(i) == factor * taken.as_double(i));
        for (const auto& [slope, of] : {std::pair(got[2], &a), std::pair(got[3], &b), std::pair(got[4], &c)}) {
          CHECK(slope.shape() == of->shape());
          for (std::int64_t i = 0; i < of->size(); ++i) {
            const double wanted = of == &taken ? 2 * factor * factor * of->as_double(i) : 0;
            CHECK(slope.as_double(i) == Approx(wanted).margin(1e-30));
          }
        }
      }
    }
  }
}

TEST_CASE("results of one ifelse stay together where another one needs some of them", "[ifelse]") {
  const Variable p = ct::variable({DType::bool_, {}}, "p"), q = ct::variable({DType::bool_, {}}, "q");
  const Variable x = ct::dmatrix("x"), y = ct::dmatrix("y");
  const Vars both = ct::ifelse(p, Vars{ct::sin(x), y}, Vars{y, x + 1});
  for (const Variable& condition : {p, q}) {
    const Variable outer = ct::ifelse(condition, Vars{both[0] * 2, y}, Vars{y, x})[0];
    const Array a = reals({2, 3}, 1), b = reals({4, 1}, 2);
    for (const std::string& backend : backends()) {
      const auto f = compile(backend, {p, q, x, y}, {both[1], outer});
      for (const bool first : {true, false}) {
        for (const bool second : {true, false}) {
          INFO(backend << " " << first << " " << second);
          const ct::Outputs got = f(first, second, a, b);
          const bool taken = condition == p ? first : second;
          CHECK(got[0].shape() == (first ? b : a).shape());
          CHECK(got[0].as_double(1) == (first ? b.as_double(1) : a.as_double(1) + 1));
          CHECK(got[1].shape() == (taken && first ? a : b).shape());
          CHECK(got[1].as_double(1) == Approx(!taken  ? b.as_double(1)
                                              : first ? 2 * std::sin(a.as_double(1))
                                                      : 2 * b.as_double(1)));
        }
      }
    }
  }
}

TEST_CASE("results whose size only the side that is taken finds", "[ifelse]") {
  const Variable c = ct::iscalar("c"), x = ct::dvector("x"), limit = ct::dscalar("limit");
  const Variable positive = ct::extract(x > 0, x);
  const Variable doubled = ct::scan(
                               [&](const Vars& s) {
                                 const Variable next = s[0] * 2;
                                 return ct::until({next}, next > limit);
                               },
                               {}, {limit / 10}, {}, {.n_steps = 50})
                               .outputs[0];
  const Vars one = ct::ifelse(c, Vars{positive * 2, ct::sum(positive)}, Vars{x, limit});
  const Vars other =
      ct::ifelse(c > 1, Vars{x, ct::outer(x, x)}, Vars{ct::ifelse(c, doubled, positive), ct::outer(positive, doubled)});
  const Variable slope = ct::grad(ct::sum(one[0] * one[0]) + ct::sum(ct::ifelse(c > 1, x, doubled)), x);
  const Array some{-1.0, 2.0, 3.0, -4.0, 5.0}, none{-1.0, -2.0};
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f =
        compile(backend, {c, x, limit}, {one[0], one[1], other[0], other[1], slope, ct::sum(one[0]) + one[0].shape(0)});
    const ct::Outputs at_0 = f(0, some, 10.0), at_1 = f(1, some, 10.0), at_2 = f(2, none, 10.0);
    CHECK(at_0[0].equals(some));
    CHECK(at_0[1].item<double>() == 10);
    CHECK(at_0[2].equals(Array{2.0, 3.0, 5.0}));
    CHECK(at_0[3].shape() == Sizes{3, 4});
    CHECK(at_0[3].as_double(11) == 5 * 16);
    CHECK(at_0[4].equals(Array{-2.0, 4.0, 6.0, -8.0, 10.0}));
    CHECK(at_0[5].item<double>() == 10);
    CHECK(at_1[0].equals(Array{4.0, 6.0, 10.0}));
    CHECK(at_1[1].item<double>() == 10);
    CHECK(at_1[2].equals(Array{2.0, 4.0, 8.0, 16.0}));
    CHECK(at_1[4].equals(Array{0.0, 16.0, 24.0, 0.0, 40.0}));
    CHECK(at_1[5].item<double>() == 23);
    CHECK(at_2[0].shape() == Sizes{0});
    CHECK(at_2[2].equals(none));
    CHECK(at_2[3].shape() == Sizes{2, 2});
    CHECK(at_2[5].item<double>() == 0);
    // In the steps of a loop, and with draws, which are equal if they are built twice.
    const Variable n = ct::sum(
        ct::scan([&](const Vars& s) { return ct::Step(ct::sum(ct::ifelse(s[0] > 0, ct::extract(x > s[0], x), x))); },
                 {x})
            .outputs[0]);
    ct::RandomStreams streams(3);
    const Variable u = streams.uniform({200}, 0, 1, DType::float64);
    const Vars large =
        ct::ifelse(c, Vars{ct::extract(u > 0.5, u), ct::sum(u > 0.5)}, Vars{x, ct::cast(c, DType::int64)});
    const ct::change_flags flags(backend);
    const auto g = ct::function({c, x}, Vars{n, large[0], large[1]});
    const ct::Outputs drawn = g(1, some);
    CHECK(drawn[0].item<double>() == 5 + 8 + 5 + 5 + 0);
    CHECK(drawn[1].size() == drawn[2].item<std::int64_t>());
    for (std::int64_t i = 0; i < drawn[1].size(); ++i) CHECK(drawn[1].as_double(i) > 0.5);
    CHECK(g(0, some)[1].equals(some));
  }
}

TEST_CASE("sizes in a branch that may differ each time they are computed are rejected", "[ifelse]") {
  const ct::HostOp coin(
      {.name = "coin",
       .results = [](const Vars& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}}; },
       .compute = [](const std::vector<Array>& in) { return in; },
       .pure = false});
  const Variable c = ct::iscalar("c"), x = ct::dvector("x");
  const Variable thrown = coin(x);
  CHECK_THROWS_WITH(ct::function({c, x}, ct::ifelse(c, ct::extract(thrown > 0, thrown), x)),
                    Catch::Matchers::Contains("compute it outside"));
  CHECK(ct::function({c, x}, ct::ifelse(c, ct::sum(thrown), ct::sum(x)))(1, Array{3.0}).item<double>() == 3);
}

TEST_CASE("a function with branches may be made where another device is asked for", "[ifelse]") {
  const Variable c = ct::iscalar("c"), x = ct::dvector("x");
  const Variable y = ct::ifelse(c, ct::exp(x), x);
  const ct::change_flags flags("device=cpu,logical_devices=cpu:2");
  const ct::device_scope scope("cpu1");
  CHECK_THAT(ct::function({c, x}, y).plan(), !Catch::Matchers::Contains("cpu1"));
}

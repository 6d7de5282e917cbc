// User-defined operations: elementwise bodies as text that fuse, graphs as operations, copies of graphs.
#include <croton/croton.hpp>

#include "../backends.hpp"
#include "../catch.hpp"

#include <cmath>
#include <functional>
#include <future>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;
using Variables = std::vector<Variable>;

namespace {

ct::KernelOp gate() {
  return ct::KernelOp(
      {.name = "gate",
       .operands = {"x", "limit"},
       .body = "  // Below the limit a tenth.\n  return x > limit ? exp(x) : T(0.1) * x;",
       .gradient =
           [](const Variables& in, const Variable& out, const Variable& g) {
             return Variables{g * ct::where(in[0] > in[1], out, ct::Array(0.1)), Variable()};
           },
       .reference = [](std::span<const double> v) { return v[0] > v[1] ? std::exp(v[0]) : 0.1 * v[0]; }});
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const ct::Error& e) {
    return e.what();
  }
  return "no error";
}

/// A callback with a number as argument and result.
ct::HostOp of_a_number(std::function<std::vector<Array>(const std::vector<Array>&)> compute) {
  return ct::HostOp(
      {.name = "callback",
       .results = [](const Variables& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {}}}; },
       .compute = std::move(compute)});
}

/// The exit status of a child of this process.
int status_of(pid_t child) {
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a body given as text fuses, broadcasts and has a gradient", "[user_ops]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const DType dtype = GENERATE(DType::float16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const ct::change_flags flags(mode);
  const ct::KernelOp op = gate();
  const Variable x = ct::matrix("x", dtype), limit = ct::vector("limit", dtype);
  const Variable y = op(x, limit);
  CHECK(y.dtype() == dtype);
  const Variable total = ct::sum(ct::sqr(y + 1));
  const ct::Function f = ct::function({x, limit}, {y, total, ct::grad(total, x)});
  const Array a = Array{{-1., 0.5, 2.}, {1., 0.25, -3.}}.astype(dtype), l = Array{0., 0.5, 0.}.astype(dtype);
  const auto r = f(a, l);
  const double tolerance = dtype == DType::float16 ? 2e-3 : dtype == DType::float32 ? 1e-6 : 1e-14;
  double wanted_total = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    const double v = a.as_double(i), bound = l.as_double(i % 3);
    const double value = v > bound ? std::exp(v) : 0.1 * v, slope = v > bound ? value : 0.1;
    wanted_total += (value + 1) * (value + 1);
    CHECK(r[0].as_double(i) == Approx(value).epsilon(tolerance));
    CHECK(r[2].as_double(i) == Approx(2 * (value + 1) * slope).epsilon(4 * tolerance));
  }
  CHECK(r[1].as_double(0) == Approx(wanted_total).epsilon(4 * tolerance));
  CHECK(f(Array::zeros(dtype, {0, 3}), l)[0].shape() == ct::Sizes{0, 3});
}

TEST_CASE("a body given as text is part of one kernel", "[user_ops]") {
  const ct::KernelOp op = gate();
  const Variable x = ct::vector("x");
  const ct::Function f = ct::function({x}, ct::tanh(op(x * 2, 1) + 1));
  const auto kernels = f.kernels("cuda:sm_90");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].source.find("user_gate_") != std::string::npos);
  CHECK(kernels[0].source.find("Below the limit") != std::string::npos);
  CHECK(f.graph().find("gate_") != std::string::npos);
}

TEST_CASE("two operations of one name, and the result's dtype", "[user_ops]") {
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  const ct::change_flags flags(mode);
  const ct::KernelOp twice({.name = "f", .operands = {"x"}, .body = "return x + x;"}),
      is_big({.name = "f", .operands = {"x"}, .body = "return x > T(3);", .result = DType::bool_});
  const Variable x = ct::vector("x"), n = ct::lvector("n");
  const ct::Function f = ct::function({x, n}, {twice(x), is_big(twice(x)), twice(n)});
  const auto r = f(Array{1.f, 2.f}, Array{std::int64_t{4}, std::int64_t{1} << 60});
  CHECK(r[0].equals(Array{2.f, 4.f}));
  CHECK(r[1].equals(Array{false, true}));
  CHECK(r[2].equals(Array{std::int64_t{8}, std::int64_t{1} << 61}));
}

TEST_CASE("KernelOp rejects wrong definitions", "[user_ops]") {
  const auto made = [](ct::KernelOp::Definition d) { return message_of([&] { ct::KernelOp op(std::move(d)); }); };
  CHECK(made({.name = "a b", .operands = {"x"}, .body = "return x;"}).find("must be a C++ identifier") !=
        std::string::npos);
  CHECK(made({.name = "f", .operands = {"x", "x"}, .body = "return x;"}).find("used twice") != std::string::npos);
  CHECK(made({.name = "f", .operands = {"T"}, .body = "return 1;"}).find("used twice") != std::string::npos);
  CHECK(made({.name = "f", .operands = {}, .body = "return 1;"}).find("at least one operand") != std::string::npos);
  CHECK(made({.name = "f", .operands = {"x"}, .body = " \n"}).find("body is empty") != std::string::npos);
  const ct::KernelOp plain({.name = "plain", .operands = {"x"}, .body = "return x * x;"});
  const Variable x = ct::vector("x");
  CHECK(message_of([&] { plain(x, x); }).find("2 operand(s) are given, where 1 are expected") != std::string::npos);
  CHECK_THROWS_AS(ct::grad(ct::sum(plain(x)), x), ct::NotImplementedError);
  {
    const ct::change_flags flags("mode=reference");
    CHECK_THROWS_AS(ct::function({x}, plain(x))(Array{1.f}), ct::NotImplementedError);
  }
  const ct::change_flags no_dump("dump_kernels=");  // dumped texts must compile
  const ct::KernelOp broken({.name = "broken", .operands = {"x"}, .body = "return y;"});
  const std::string message = message_of([&] { ct::function({x}, broken(x))(Array{1.f}); });
  CHECK(message.find("undeclared identifier 'y'") != std::string::npos);
}

TEST_CASE("constants through an operation of the user", "[user_ops]") {
  // Without a reference function nothing can be folded; with one it is.
  const ct::KernelOp without({.name = "without", .operands = {"x"}, .body = "return x * x;"});
  const Variable x = ct::vector("x");
  const ct::Function f = ct::function({x}, x + without(ct::constant(Array(3.f))) + gate()(Array(-1.f), 0));
  CHECK(f(Array{1.f}).only().all_close(Array{9.9f}, 1e-6));
}

TEST_CASE("operations of the user are made and used by several threads", "[user_ops]") {
  std::vector<float> results(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const ct::KernelOp op({.name = "sum_of", .operands = {"a", "b"}, .body = "return a + b;"});
      const Variable x = ct::vector("x");
      results[t] = ct::function({x}, op(x, static_cast<int>(t)))(Array{1.f}).only().item<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("a graph as an operation", "[user_ops]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const Variable a = ct::dvector("a"), b = ct::dvector("b");
  const Variable w = ct::shared(Array{2., 3.}, {.name = "w"});
  const ct::OpFromGraph op({a, b}, {a * b + w, ct::sum(a)});
  const Variable x = ct::dvector("x"), y = ct::dvector("y");
  const auto first = op.apply({x, y}), second = op.apply({first[0], x});
  const Variable cost = ct::sum(second[0]) + second[1];
  const ct::Function f = ct::function({x, y}, {second[0], second[1], ct::grad(cost, x)});
  const auto r = f(Array{1., 2.}, Array{5., 7.});
  // first = x y + w = (7, 17); second = first x + w
  CHECK(r[0].equals(Array{9., 37.}));
  CHECK(r[1].item<double>() == 24);
  // d/dx (x (x y + w) + x y + w) = 2 x y + w + y
  CHECK(r[2].equals(Array{2 * 1 * 5 + 2. + 5, 2 * 2 * 7 + 3. + 7}));
}

TEST_CASE("a graph with a gradient of its own", "[user_ops]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const Variable a = ct::dvector("a"), b = ct::dvector("b");
  // The straight-through estimator, and a second output whose gradient is tripled.
  const ct::OpFromGraph op(
      {a, b}, {ct::round(a), a * b},
      {.name = "straight", .gradient = [](const Variables& in, const Variables&, const Variables& g) {
         return Variables{g[0] + 3 * g[1] * in[1], 3 * g[1] * in[0]};
       }});
  const Variable x = ct::dvector("x"), y = ct::dvector("y");
  const auto out = op.apply({x * x, y});
  const Variable cost = ct::sum(out[0] * out[1]);
  const auto g = ct::grad(cost, {x, y});
  const ct::Function f = ct::function({x, y}, {out[0], g[0], g[1]});
  const auto r = f(Array{1.2, 2.}, Array{5., 7.});
  CHECK(r[0].equals(Array{1., 4.}));
  // u = x^2: d/du = v + 3 round(u) y, v = u y; times 2 x. d/dy = 3 round(u) u.
  CHECK(r[1].all_close(Array{(1.44 * 5 + 3 * 1 * 5) * 2.4, (4 * 7. + 3 * 4 * 7) * 4}, 1e-12));
  CHECK(r[2].all_close(Array{3 * 1.44, 3 * 4 * 4.}, 1e-12));
  // The gradient is an ordinary expression: its own gradient follows.
  const Variable again = ct::grad(ct::sum(g[1]), x);
  CHECK(ct::function({x, y}, again, {.on_unused_input = ct::UnusedInput::ignore})(Array{1.2, 2.}, Array{5., 7.})
            .only()
            .all_close(Array{(3 * 1.44 + 3 * 1) * 2.4, (3 * 4 + 3 * 4) * 4.}, 1e-12));
}

TEST_CASE("the gradient lives as long as what was made with it", "[user_ops]") {
  Variable x = ct::dvector("x"), y;
  {
    const Variable a = ct::dvector("a");
    const ct::OpFromGraph op({a}, {ct::floor(a)},
                             {.gradient = [](const Variables&, const Variables&, const Variables& g) { return g; }});
    y = op(x);
  }
  const Variable copy = ct::clone(y, {{x, x * 2}});
  CHECK(ct::function({x}, {y, ct::grad(ct::sum(copy), x)})(Array{1.5})[1].equals(Array{2.}));
}

TEST_CASE("a gradient of one's own in a batch", "[user_ops]") {
  const Variable a = ct::dvector("a"), b = ct::dscalar("b");
  // 3 times the gradient, and for b the sum of the gradient.
  const ct::OpFromGraph op(
      {a, b}, {a * b}, {.name = "tripled", .gradient = [](const Variables& in, const Variables&, const Variables& g) {
                          return Variables{3 * g[0] * in[1], 3 * ct::sum(g[0] * in[0])};
                        }});
  const Variable x = ct::dvector("x"), k = ct::dscalar("k"), all = ct::dmatrix("all"), ks = ct::dvector("ks");
  const Variable y = op(x, k);
  const Variable same = ct::vectorize({y}, {{x, all}})[0], own = ct::vectorize({y}, {{x, all}, {k, ks}})[0];
  const auto of_same = ct::grad(ct::sum(ct::sqr(same)), {all, k}), of_own = ct::grad(ct::sum(ct::sqr(own)), {all, ks});
  const ct::Function f = ct::function({all, k, ks}, {same, of_same[0], of_same[1], own, of_own[0], of_own[1]});
  const auto r = f(Array{{1., 2.}, {3., -1.}}, 2.0, Array{2., 5.});
  CHECK(r[0].equals(Array{{2., 4.}, {6., -2.}}));
  CHECK(r[1].equals(Array{{24., 48.}, {72., -24.}}));  // 2 (2 x) 3 k
  CHECK(r[2].item<double>() == 6 * 2 * (1 + 4 + 9 + 1));
  CHECK(r[3].equals(Array{{2., 4.}, {15., -5.}}));
  CHECK(r[4].equals(Array{{24., 48.}, {450., -150.}}));
  CHECK(r[5].equals(Array{6 * 2 * 5., 6 * 5 * 10.}));
}

TEST_CASE("OpFromGraph and clone reject wrong arguments", "[user_ops]") {
  const Variable a = ct::dvector("a"), m = ct::dmatrix("m"), f = ct::fvector("f");
  CHECK(message_of([&] { ct::OpFromGraph op({a}, {}); }).find("no outputs") != std::string::npos);
  CHECK(message_of([&] { ct::OpFromGraph op({a, a}, {a}); }).find("twice") != std::string::npos);
  CHECK(message_of([&] { ct::OpFromGraph op({a + 1}, {a}); }).find("inputs are variables") != std::string::npos);
  const ct::OpFromGraph op({a}, {a * 2}, {.name = "twice"});
  CHECK(message_of([&] { op(m); }).find("m is f64[?, ?]") != std::string::npos);
  CHECK(message_of([&] { op(f); }).find("dtype and number of dimensions must agree") != std::string::npos);
  CHECK(message_of([&] { op(a, a); }).find("2 argument(s) are given, where 1 are expected") != std::string::npos);
  const ct::OpFromGraph two({a}, {a, a});
  CHECK(message_of([&] { two(a); }).find("`apply` gives them all") != std::string::npos);
  const ct::OpFromGraph wrong(
      {a}, {a}, {.gradient = [](const Variables&, const Variables&, const Variables&) { return Variables{}; }});
  CHECK(message_of([&] { ct::grad(ct::sum(wrong(a)), a); }).find("gave 0 variable(s) for 1 input(s)") !=
        std::string::npos);
  CHECK_THROWS_AS(ct::clone(a * 2, {{a, m}}), ct::TypeError);
  CHECK_THROWS_AS(ct::clone(a * 2, {{a, a}, {a, a}}), ct::ValueError);
}

TEST_CASE("clone replaces at once and keeps names and sharing", "[user_ops]") {
  const Variable x = ct::dscalar("x"), y = ct::dscalar("y");
  Variable s = x + y;
  s.named("s");
  const Variable other = ct::exp(y);
  const auto copies = ct::clone(std::vector<Variable>{s * s, other, x}, {{x, y}, {y, x * 3}});
  CHECK(copies[2] == y);
  const ct::Function f = ct::function({x, y}, {copies[0], copies[1]});
  const auto r = f(2., 5.);
  CHECK(r[0].item<double>() == 121);
  CHECK(r[1].item<double>() == Approx(std::exp(6.)));
  CHECK(ct::clone(std::vector<Variable>{other}, {{x, y}})[0] == other);
}

namespace {

/// Sums and largest elements of rows, by a loop; counts its calls.
ct::HostOp row_facts(int& calls, bool pure = true) {
  return ct::HostOp(
      {.name = "row_facts",
       .results =
           [](const Variables& in) {
             const Variable rows = in[0].shape(0);
             return std::vector<ct::HostOp::Result>{{in[0].dtype(), {rows}}, {DType::int64, {rows, 2}}};
           },
       .compute =
           [&calls](const std::vector<Array>& in) {
             ++calls;
             const std::int64_t rows = in[0].shape(0), columns = in[0].shape(1);
             Array sums = Array::zeros(in[0].dtype(), {rows}), facts = Array::zeros(DType::int64, {rows, 2});
             for (std::int64_t i = 0; i < rows; ++i) {
               double sum = 0;
               for (std::int64_t j = 0; j < columns; ++j) sum += in[0].as_double(i * columns + j) * in[1].as_double(0);
               sums.slice(0, i, i + 1).copy_from(Array(std::vector<double>{sum}).astype(in[0].dtype()));
               facts.at<std::int64_t>(i, 0) = i;
               facts.at<std::int64_t>(i, 1) = columns;
             }
             return std::vector<Array>{sums, facts};
           },
       .gradient =
           [](const Variables& in, const Variables&, const Variables& g) {
             return Variables{ct::dimshuffle(g[0], {0, ct::broadcast_axis}) * in[1] * ct::ones_like(in[0]), Variable()};
           },
       .pure = pure});
}

}  // namespace

TEST_CASE("a function of the user runs on the host, once for all its results", "[user_ops]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  int calls = 0;
  const ct::HostOp op = row_facts(calls);
  const Variable x = ct::dmatrix("x"), s = ct::dscalar("s");
  const auto facts = op.apply({ct::exp(x), s});
  const Variable cost = ct::sum(facts[0] * facts[0]);
  const ct::Function f = ct::function({x, s}, {facts[0] + 1, facts[1], ct::grad(cost, x)});
  const Array a{{0., 1., -1.}, {0.5, 0., 2.}};
  const auto r = f(a, 2.);
  for (std::int64_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 3; ++j) sum += 2 * std::exp(a.at<double>(i, j));
    CHECK(r[0].as_double(i) == Approx(sum + 1));
    CHECK(r[1].as_double(2 * i) == static_cast<double>(i));
    CHECK(r[1].as_double(2 * i + 1) == 3);
    for (std::int64_t j = 0; j < 3; ++j)
      CHECK(r[2].as_double(3 * i + j) == Approx(2 * sum * 2 * std::exp(a.at<double>(i, j))));
  }
  if (mode != "mode=reference") CHECK(calls == 1);
  CHECK(f(Array::zeros(DType::float64, {0, 3}), 1.)[1].shape() == ct::Sizes{0, 2});
}

TEST_CASE("functions of the user between devices", "[user_ops]") {
  const ct::change_flags flags("cuda_simulator=1,device=cuda0,log_device_placement=false");
  int calls = 0;
  const ct::HostOp op = row_facts(calls);
  const Variable x = ct::fmatrix("x");
  const Variable w = ct::shared(Array::full(DType::float32, {2}, 1), {.name = "w"});
  const Variable y = op.apply({ct::tanh(x), 1.0})[0];
  const ct::Function f = ct::function({x}, ct::sum(y), {.updates = {{w, w + y}}});
  CHECK(f(Array{{0.f, 1.f}, {2.f, 0.f}}).only().as_double(0) == Approx(std::tanh(1.) + std::tanh(2.)));
  CHECK(calls == 1);
  CHECK(static_cast<const ct::SharedVariable&>(w).get_value().as_double(1) == Approx(1 + std::tanh(2.)));
  CHECK(f.counts().callbacks == 1);
}

TEST_CASE("equal applications are computed once, unless they are not pure", "[user_ops]") {
  const Variable x = ct::dmatrix("x");
  int pure_calls = 0, other_calls = 0;
  const ct::HostOp pure = row_facts(pure_calls), other = row_facts(other_calls, false);
  const ct::Function f = ct::function({x}, {pure.apply({x, 1.0})[0], pure.apply({x, 1.0})[0], other.apply({x, 1.0})[0],
                                            other.apply({x, 1.0})[0], other.apply({x, 1.0})[1]});
  f(Array{{1., 2.}});
  CHECK(pure_calls == 1);
  CHECK(other_calls == 3);
  other.apply({x, 1.0});  // used by no expression
  f(Array{{1., 2.}});
  CHECK(other_calls == 6);
}

TEST_CASE("a function of the user that fails changes nothing", "[user_ops]") {
  const ct::HostOp fails(
      {.name = "fails",
       .results =
           [](const Variables& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}}; },
       .compute = [](const std::vector<Array>& in) -> std::vector<Array> {
         if (in[0].as_double(0) < 0) throw ct::ValueError("a negative first element");
         if (in[0].as_double(0) == 0) return {};
         if (in[0].as_double(0) == 1) return {in[0].astype(DType::int32)};
         return {Array::zeros(DType::float32, {7})};
       }});
  const Variable x = ct::fvector("x");
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w"}), v = ct::shared(Array{5.f, 5.f}, {.name = "v"});
  const ct::Function f = ct::function({x}, ct::sum(x), {.updates = {{w, w + 1}, {v, v + fails(x)}}});
  const std::string own = message_of([&] { f(Array{-1.f, 0.f}); });
  CHECK(own.find("a negative first element (") != std::string::npos);
  CHECK(own.find("test_user_ops.cpp:") != std::string::npos);
  CHECK(message_of([&] { f(Array{0.f, 0.f}); }).find("gave 0 result(s), where 1 were declared") != std::string::npos);
  CHECK(message_of([&] { f(Array{1.f, 0.f}); }).find("result 0 is int32, where float32 was declared") !=
        std::string::npos);
  const std::string shape = message_of([&] { f(Array{2.f, 0.f}); });
  INFO(shape);
  CHECK(shape.find("has the shape (7,), where (2,) was declared") != std::string::npos);
  CHECK(shape.find("test_user_ops.cpp:") != std::string::npos);
  CHECK(w.get_value().equals(Array{1.f, 2.f}));
  CHECK(v.get_value().equals(Array{5.f, 5.f}));
  CHECK_THROWS_AS(ct::grad(ct::sum(fails(x)), x), ct::NotImplementedError);
  CHECK_THROWS_AS(ct::HostOp({.name = "f g", .results = {}, .compute = {}}), ct::ValueError);
  CHECK_THROWS_AS(ct::HostOp({.name = "f", .results = {}, .compute = {}}), ct::ValueError);
}

TEST_CASE("sizes that a function of the user promises may be computed", "[user_ops]") {
  const ct::HostOp head(
      {.name = "head",
       .results = [](const Variables& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[1]}}}; },
       .compute =
           [](const std::vector<Array>& in) {
             return std::vector<Array>{in[0].slice(0, 0, in[1].item<std::int64_t>()).copy()};
           }});
  const Variable x = ct::fvector("x");
  const Variable count = ct::sum(ct::cast(x > 0, DType::int64));
  const ct::Function f = ct::function({x}, {head(x, count) * 2, head(x, x.shape(0))});
  const auto r = f(Array{1.f, -1.f, 3.f});
  CHECK(r[0].equals(Array{2.f, -2.f}));
  CHECK(r[1].equals(Array{1.f, -1.f, 3.f}));
}

TEST_CASE("a callback that calls its own function is an error and no deadlock", "[user_ops]") {
  ct::Function f;
  const ct::HostOp again = of_a_number([&](const std::vector<Array>& in) {
    const float x = in[0].item<float>();
    Array result(x);
    if (x > 0) result = f(x - 1).only();
    if (x < 0) f.counts();
    return std::vector<Array>{result};
  });
  const Variable x = ct::scalar("x");
  const auto w = ct::shared(Array(1.f), {.name = "w"});
  f = ct::function({x}, again(x) * 2, {.updates = {{w, w + 1}}, .name = "f"});
  CHECK(f(0.f).only().item<float>() == 0);
  const std::string own = message_of([&] { f(1.f); });
  CHECK(own.find("the function f is called, or inspected, by one of its own callbacks") != std::string::npos);
  CHECK(own.find("test_user_ops.cpp:") != std::string::npos);
  CHECK(message_of([&] { f(-1.f); }).find("by one of its own callbacks") != std::string::npos);
  CHECK(w.get_value().item<float>() == 2);  // calls that failed have changed nothing
  CHECK(f(0.f).only().item<float>() == 0);  // and the next one works
}

TEST_CASE("calls go on in a child, but not of a function that another thread was calling", "[user_ops]") {
  std::promise<void> begun, released;
  pid_t child = -1;
  const ct::HostOp callback = of_a_number([&](const std::vector<Array>& in) {
    const float x = in[0].item<float>();
    if (x == 1) begun.set_value(), released.get_future().wait();
    if (x == 2 && (child = fork()) == 0) alarm(20);  // a hanging child is a failure, not a hanging test
    return std::vector<Array>{in[0].copy()};
  });
  const Variable x = ct::scalar("x");
  const ct::Function f = ct::function({x}, callback(x) * 2, {.name = "f"});
  const ct::Function other = f.copy();
  CHECK(other(0.f).only().item<float>() == 0);

  std::thread caller([&] { f(1.f); });
  begun.get_future().wait();
  child = fork();
  if (child == 0) {
    alarm(20);
    const bool refused = message_of([&] { f(0.f); }).find("when this process was forked") != std::string::npos;
    _exit(refused && other(3.f).only().item<float>() == 6 ? 0 : 1);
  }
  released.set_value();
  caller.join();
  CHECK(status_of(child) == 0);

  const float result = f(2.f).only().item<float>();  // forks within the callback: both processes continue
  if (child == 0) _exit(result == 4 && f(3.f).only().item<float>() == 6 ? 0 : 1);
  CHECK(result == 4);
  CHECK(status_of(child) == 0);
}

TEST_CASE("a callback that waits for a thread that calls its function does not wait for ever", "[user_ops][slow]") {
  ct::Function f;
  const ct::HostOp again = of_a_number([&](const std::vector<Array>& in) {
    std::string message;
    if (in[0].item<float>() > 0) {
      std::thread other([&] { message = message_of([&] { f(0.f); }); });
      other.join();
    }
    if (!message.empty()) throw ct::ValueError(message);
    return std::vector<Array>{in[0].copy()};
  });
  const Variable x = ct::scalar("x");
  f = ct::function({x}, again(x) * 2, {.name = "f"});
  CHECK(message_of([&] { f(1.f); }).find("must not wait for a thread that calls its own function") !=
        std::string::npos);
  CHECK(f(0.f).only().item<float>() == 0);
}

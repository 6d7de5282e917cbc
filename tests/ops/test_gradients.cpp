// Gradients: every differentiable op against differences in double precision (a fifth of them to the second order), and
// each convention at kinks and special points.
#include "samples.hpp"

#include "builder/node.hpp"

#include <set>

using namespace croton_test;
namespace expr = croton::expr;

namespace {

constexpr double tolerance = 1e-5;
const std::vector<std::string> modes = backends();
using Inputs = std::vector<Variable>;

struct Case {
  std::string name;
  std::function<Variable(const Inputs&)> f;
  std::vector<Array> points;
  bool second_order = false;
};

Array real(const Sizes& shape, std::uint64_t seed, double low = -2, double high = 2) {
  return Array::uniform(DType::float64, shape, seed, low, high);
}

/// The ops of the table, at points of their domains; every fifth to the second order, and with an operand that
/// broadcasts.
std::vector<Case> elementwise_cases() {
  std::vector<Case> all;
  for (const expr::Op* op : expr::all_ops()) {
    // Not differentiated with respect to their order; they are in the other list.
    static const std::set<std::string_view> of_an_order{"polygamma", "gammainc", "gammaincc", "chi2sf",
                                                        "gamma_pdf", "jv",       "iv"};
    if (op->kind != expr::Kind::Map || op->name == "cast" || of_an_order.contains(op->name)) continue;
    const std::vector<DType> dtypes(static_cast<std::size_t>(op->arity), DType::float64);
    try {
      if (!is_float(op->map->types(dtypes).result)) continue;
    } catch (const ct::TypeError&) {
      continue;
    }
    std::vector<Array> points;
    for (std::size_t i = 0; i < dtypes.size(); ++i)
      points.push_back(real({3}, 5 + i, op->map->domains[i].low, op->map->domains[i].high));
    all.push_back(
        {std::string(op->name),
         [op](const Inputs& x) { return croton::builder::apply(*op, x, {}, std::source_location::current()); }, points,
         all.size() % 5 == 0});
  }
  return all;
}

std::vector<Case> other_cases() {
  using ct::broadcast_axis;
  using ct::ReduceOptions;
  using ct::slice;
  const std::vector<Array> matrix = {real({3, 4}, 1)}, positive = {real({3, 4}, 2, 0.3, 2)},
                           pair = {real({3, 4}, 3), real({4, 2}, 4)};
  const Array targets = Array{std::int64_t{1}, std::int64_t{0}, std::int64_t{3}};
  return {
      {"cast down and up", [](const Inputs& x) { return ct::cast(ct::cast(x[0], DType::float64) * 2, DType::float64); },
       matrix},
      {"broadcast row",
       [](const Inputs& x) { return x[0] * ct::dimshuffle(x[1], {broadcast_axis, 0}); },
       {real({3, 4}, 1), real({4}, 2)},
       true},
      {"broadcast column",
       [](const Inputs& x) { return x[0] / ct::dimshuffle(x[1], {0, broadcast_axis}); },
       {real({3, 4}, 1), real({3}, 2, 1, 2)}},
      {"broadcast scalar",
       [](const Inputs& x) { return ct::exp(x[0] * x[1]) + x[1]; },
       {real({3, 4}, 1), real({}, 2)},
       true},
      {"broadcast missing axis", [](const Inputs& x) { return x[0] - ct::sqr(x[1]); }, {real({3, 4}, 1), real({4}, 2)}},
      {"polygamma", [](const Inputs& x) { return ct::polygamma(1, x[0]) + ct::polygamma(3, x[0]); }, positive, true},
      {"gammainc", [](const Inputs& x) { return ct::gammainc(2.5, x[0]) * ct::gammal(0.7, x[0]); }, positive, true},
      {"gammaincc", [](const Inputs& x) { return ct::gammaincc(2.5, x[0]) * ct::gammau(0.7, x[0]); }, positive, true},
      {"chi2sf", [](const Inputs& x) { return ct::chi2sf(x[0], 3); }, positive, true},
      {"jv and iv", [](const Inputs& x) { return ct::jv(1.5, x[0]) * ct::iv(0.5, x[0]) + ct::jv(0, x[0]); }, positive,
       true},
      {"ldexp", [](const Inputs& x) { return ct::ldexp(ct::sqr(x[0]), Array{2, -1, 0, 1}); }, matrix, true},
      {"clip", [](const Inputs& x) { return ct::clip(x[0], -1.03, 1.01); }, matrix},
      {"sum", [](const Inputs& x) { return ct::sqr(ct::sum(ct::sqr(x[0]), 1)); }, matrix, true},
      {"sum of all", [](const Inputs& x) { return ct::sum(ct::exp(x[0])); }, matrix},
      {"sum keepdims", [](const Inputs& x) { return x[0] / ct::sum(x[0], ReduceOptions(std::vector<int>{0}, true)); },
       positive},
      {"mean", [](const Inputs& x) { return ct::sqr(x[0] - ct::mean(x[0])); }, matrix},
      {"var", [](const Inputs& x) { return ct::sqrt(ct::var(x[0], 1)); }, matrix, true},
      {"prod", [](const Inputs& x) { return ct::prod(x[0], 1); }, positive, true},
      {"prod with a zero", [](const Inputs& x) { return ct::prod(x[0]); }, {Array{0., 2., 3.}}, true},
      {"prod with two zeros",
       [](const Inputs& x) { return ct::prod(x[0], 0); },
       {Array{{0., 2.}, {3., 0.}, {0., 4.}}},
       true},
      {"prod over two axes with a zero",
       [](const Inputs& x) { return ct::prod(x[0], ct::ReduceOptions(std::vector<int>{0, 2})); },
       {Array{1., 2., 0., 3., -1., 4., 2., 5.}.reshape({2, 2, 2})},
       true},
      {"max", [](const Inputs& x) { return ct::max(ct::sqr(x[0]), 0); }, matrix},
      {"min", [](const Inputs& x) { return ct::min(x[0], 1) * ct::max(x[0]); }, matrix},
      {"all, any",
       [](const Inputs& x) {
         return x[0] * ct::cast(ct::any(x[0] > 0), DType::float64) + ct::cast(ct::all(x[0] > 0), DType::float64);
       },
       matrix},
      {"argmax, argmin",
       [](const Inputs& x) { return x[0] * ct::cast(ct::argmax(x[0]) - ct::argmin(x[0]), DType::float64); }, matrix},
      {"dot", [](const Inputs& x) { return ct::sqr(ct::dot(x[0], x[1])); }, pair, true},
      {"dot of vectors",
       [](const Inputs& x) { return ct::dot(x[0], x[1]) * ct::dot(x[1], x[1]); },
       {real({5}, 1), real({5}, 2)}},
      {"dot matrix vector",
       [](const Inputs& x) { return ct::tanh(ct::dot(x[0], x[1])); },
       {real({3, 4}, 1), real({4}, 2)}},
      {"dot vector matrix",
       [](const Inputs& x) { return ct::tanh(ct::dot(x[1], x[0])); },
       {real({3, 4}, 1), real({3}, 2)}},
      {"dot of itself", [](const Inputs& x) { return ct::dot(x[0], ct::transpose(x[0])); }, matrix},
      {"batched_dot",
       [](const Inputs& x) { return ct::batched_dot(x[0], x[1]); },
       {real({2, 2, 3}, 1), real({2, 3, 2}, 2)},
       true},
      {"transpose", [](const Inputs& x) { return ct::exp(ct::transpose(x[0])) * 2; }, matrix},
      {"dimshuffle", [](const Inputs& x) { return ct::sqr(ct::dimshuffle(x[0], {1, broadcast_axis, 0})); }, matrix,
       true},
      {"reshape", [](const Inputs& x) { return ct::sqr(ct::reshape(x[0], {2, -1})); }, matrix},
      {"slices", [](const Inputs& x) { return ct::sqr(x[0].at({slice(1, {}), slice({}, {}, -2)})); }, matrix, true},
      {"index", [](const Inputs& x) { return ct::exp(x[0][1]) * x[0].at({0, 2}); }, matrix},
      {"overlapping slices", [](const Inputs& x) { return x[0].at({slice(1, {})}) * x[0].at({slice({}, -1)}); },
       matrix},
      {"alloc", [](const Inputs& x) { return ct::sqr(ct::alloc(x[0], {2, 3, 4})); }, matrix},
      {"alloc of a scalar", [](const Inputs& x) { return ct::exp(ct::alloc(x[0], {2, 3})); }, {real({}, 1)}},
      {"arange", [](const Inputs& x) { return ct::sqr(ct::arange(3)) * x[0]; }, {real({}, 1)}},
      {"concatenate",
       [](const Inputs& x) { return ct::sqr(ct::concatenate({x[0], x[1], x[0]})); },
       {real({3, 4}, 1), real({2, 4}, 2)},
       true},
      {"stack and split",
       [](const Inputs& x) {
         const auto parts = ct::split(ct::stack({x[0], ct::sqr(x[0])}, 1), {1, 2}, 0);
         return parts[0] * parts[1];
       },
       matrix},
      {"tile and repeat", [](const Inputs& x) { return ct::exp(ct::tile(x[0], {2, 1})) * ct::repeat(x[0], 2, 0); },
       matrix},
      {"roll, flip and diff",
       [](const Inputs& x) {
         return ct::sqr(ct::roll(x[0], 3, 1)) * ct::flip(x[0]) + ct::diff(ct::sqr(ct::pad(x[0], {{0, 1}})));
       },
       matrix, true},
      {"pad by reflection",
       [](const Inputs& x) { return ct::sqr(ct::pad(x[0], {{2, 1}, {5, 4}}, ct::PadMode::reflect)); }, matrix},
      {"set_subtensor",
       [](const Inputs& x) { return ct::sqr(ct::set_subtensor(x[0].at({slice(1, {}), slice({}, {}, -2)}), x[1])); },
       {real({3, 4}, 1), real({2}, 2)},
       true},
      {"inc_subtensor",
       [](const Inputs& x) { return ct::sqr(ct::inc_subtensor(x[0][1], x[1] * x[1])); },
       {real({3, 4}, 1), real({4}, 2)},
       true},
      {"a step that is a variable", [](const Inputs& x) { return ct::sqr(x[0][slice({}, {}, x[0].shape(0) - 5)]); },
       matrix, true},
      {"positions", [](const Inputs& x) { return ct::sqr(x[0].at({Array{2, 0, 2}, Array{{1}, {-1}}})); }, matrix, true},
      {"take_along_axis",
       [](const Inputs& x) { return ct::exp(ct::take_along_axis(x[0], Array{{0, 0}, {3, 1}, {-1, 2}}, 1)); }, matrix},
      {"set_subtensor at positions",
       [](const Inputs& x) { return ct::sqr(ct::set_subtensor(x[0][Array{2, 0, 2}], x[1])); },
       {real({3, 4}, 1), real({3, 4}, 2)},
       true},
      {"diagonals",
       [](const Inputs& x) { return ct::dot(ct::diag(ct::diagonal(ct::sqr(x[0]), 1)), ct::tril(x[0], 1)); }, matrix,
       true},
      {"linspace", [](const Inputs& x) { return ct::sqr(ct::linspace(x[0], x[1], 4)); }, {real({}, 1), real({}, 2)}},
      {"softmax", [](const Inputs& x) { return ct::nnet::softmax(x[0]); }, matrix, true},
      {"softmax along rows", [](const Inputs& x) { return ct::sqr(ct::nnet::softmax(x[0], 0)); }, matrix},
      {"log_softmax", [](const Inputs& x) { return ct::nnet::log_softmax(x[0]); }, matrix, true},
      {"logsumexp", [](const Inputs& x) { return ct::nnet::logsumexp(x[0], 0); }, matrix, true},
      {"logsumexp keepdims", [](const Inputs& x) { return x[0] - ct::nnet::logsumexp(x[0], -1, true); }, matrix},
      {"relu", [](const Inputs& x) { return ct::nnet::relu(x[0], 0.1) + ct::nnet::relu(x[0]); }, matrix},
      {"cross-entropy of a softmax",
       [](const Inputs& x) { return ct::nnet::categorical_crossentropy(ct::nnet::softmax(x[0]), x[1]); },
       {real({3, 4}, 1), targets},
       true},
      {"cross-entropy",
       [](const Inputs& x) { return ct::nnet::categorical_crossentropy(x[0], x[1]); },
       {real({3, 4}, 1, 0.1, 0.9), targets},
       true},
      {"cross-entropy of distributions",
       [](const Inputs& x) { return ct::nnet::categorical_crossentropy(x[0], x[1]); },
       {real({3, 4}, 1, 0.1, 0.9), real({3, 4}, 2, 0.1, 0.9)}},
      {"binary cross-entropy",
       [](const Inputs& x) { return ct::nnet::binary_crossentropy(ct::sigmoid(x[0]), x[1]); },
       {real({3, 4}, 1), real({3, 4}, 2, 0, 1)},
       true},
      {"layer_norm", [](const Inputs& x) { return ct::nnet::layer_norm(x[0]); }, matrix, true},
      {"conv",
       [](const Inputs& x) { return ct::sqr(ct::nnet::conv(x[0], x[1], {.border = "half", .strides = {2}})); },
       {real({1, 2, 5}, 1), real({2, 2, 3}, 2)},
       true},
      {"pool",
       [](const Inputs& x) {
         return ct::sqr(ct::nnet::pool(x[0], {2}, {.strides = {1}, .mode = ct::nnet::PoolMode::average_exc_pad})) *
                ct::nnet::pool(x[0], {2}, {.strides = {1}});
       },
       matrix, true},
      {"a network",
       [](const Inputs& x) {
         return ct::nnet::log_softmax(ct::dot(ct::tanh(ct::dot(x[0], x[1])), ct::transpose(x[1])));
       },
       pair, true},
  };
}

Array gradient_at(const std::string& mode, const Variable& x, const Variable& cost, const Array& value) {
  return compile(mode, {x}, {ct::grad(cost, x)})(value)[0];
}

}  // namespace

TEST_CASE("gradients of all ops", "[ops]") {
  const bool compiled = GENERATE(false, true);
  const ct::change_flags flags(compiled ? "mode=run" : "mode=reference");
  const std::size_t every = compiled ? 6 : 1;  // compiled, all of them take longer: see [slow] below
  for (const auto& list : {elementwise_cases(), other_cases()}) {
    for (std::size_t i = 0; i < list.size(); i += every) {
      INFO(list[i].name);
      CHECK(grad_error(list[i].f, list[i].points, list[i].second_order ? 2 : 1) < tolerance);
    }
  }
}

TEST_CASE("gradients of elementwise ops to the second order", "[ops][slow]") {
  const ct::change_flags flags("mode=reference");
  for (const Case& c : elementwise_cases()) {
    INFO(c.name);
    CHECK(grad_error(c.f, c.points, 2, 9) < tolerance);
  }
}

TEST_CASE("gradients compiled, on the simulated GPU and without rewrites", "[ops][slow]") {
  const ct::change_flags flags(GENERATE(as<std::string>(), "mode=run", "mode=simulate", "optimizer=none",
                                        "mode=reference,optimizer=none", "special_values=ieee"));
  for (const auto& list : {elementwise_cases(), other_cases()}) {
    for (const Case& c : list) {
      INFO(c.name);
      CHECK(grad_error(c.f, c.points, c.second_order ? 2 : 1, 3) < tolerance);
    }
  }
}

TEST_CASE("every op with a gradient is in the list above", "[ops]") {
  std::set<std::string_view> seen;
  for (const auto& list : {elementwise_cases(), other_cases()}) {
    for (const Case& c : list) {
      Inputs inputs;
      for (const Array& point : c.points)
        inputs.push_back(ct::variable({point.dtype(), Sizes(point.shape().size(), ct::unknown_size)}));
      const std::vector<ct::Variable> roots{c.f(inputs)};  // keeps the nodes alive
      for (const croton::builder::Node* node : croton::builder::topological_order(roots)) seen.insert(node->op->name);
    }
  }
  // These occur only in gradients, which the second order tests, or in expansions of others.
  const std::set<std::string_view> inner = {
      "softmax_grad",  "crossentropy_grad", "crossentropy_logits", "crossentropy_logits_grad",
      "checked_index", "subtensor_grad",    "max_or_lowest",       "gamma_pdf"};
  const std::set<std::string_view> elsewhere = {"transfer",   // unit/test_devices.cpp
                                                "ctc_paths",  // test_ctc.cpp
                                                "cumsum",
                                                "cumprod",
                                                "linear_recurrence",
                                                "pick",
                                                "scatter",  // test_routines.cpp
                                                "disconnected_grad",
                                                "zero_grad",
                                                "grad_clip",
                                                "grad_scale",
                                                "undefined_grad",  // test_derivatives.cpp
                                                "random_bits"};    // which has none
  // Of whole numbers, which differences cannot test (test_random.cpp).
  const std::set<std::string_view> of_random_bits = {
      "philox_low",   "philox_high",    "unit32",           "unit64",         "normal32",       "normal64",
      "random_below", "bits_of_double", "sample_log_gamma", "sample_poisson", "sample_binomial"};
  for (const expr::Op* op : expr::all_ops()) {
    if (op->gradient == nullptr || inner.contains(op->name) || elsewhere.contains(op->name)) continue;
    if (op->kind == expr::Kind::Map && !seen.contains(op->name)) {
      if (of_random_bits.contains(op->name)) continue;
      // Comparisons and bitwise ops give no floats: they have no derivative.
      const std::vector<DType> integers(static_cast<std::size_t>(op->arity), DType::int64);
      const bool takes_integers = op->name != "true_divide";
      if (takes_integers && !is_float(op->map->types(integers).result)) continue;
    }
    INFO(op->name);
    CHECK(seen.contains(op->name));
  }
}

TEST_CASE("ops of gradients give on every back-end what the reference evaluator gives", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const Variable x = ct::matrix("x", DType::float64);
  std::vector<Variable> outputs = {ct::cumprod(x, 1), ct::nnet::log_softmax(x), ct::specify_shape(x, {3, std::nullopt}),
                                   x.at({ct::slice(1, {}), ct::slice({}, {}, -2)})};
  for (std::size_t i = 0; i < 4; ++i) outputs.push_back(ct::grad(ct::sum(ct::sqr(outputs[i])), x));
  const Array point = real({3, 4}, 1);
  const auto wanted = compile("mode=reference", {x}, outputs)(point), got = compile(mode, {x}, outputs)(point);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    INFO("output " << i);
    CHECK(got[i].all_close(wanted[i], 1e-12, 1e-12));
  }
}

TEST_CASE("verify_grad finds wrong gradients and refuses nonsense", "[ops]") {
  const ct::change_flags flags("mode=reference");
  // A gradient that is cut differs on purpose: differences see only part of the path through floor(x) + x.
  const auto wrong = [](const Inputs& x) { return ct::cast(ct::floor(x[0] * 1e6), DType::float64) * 1e-6; };
  CHECK(ct::verify_grad(wrong, {Array{0.5, 0.7}}) > 0.5);
  const auto square = [](const Inputs& x) { return ct::sqr(x[0]); };
  CHECK(ct::verify_grad(square, {Array{0.5f, 0.7f}}) < 1e-9);
  CHECK_THROWS_AS(ct::verify_grad(square, {Array{1, 2}}), ct::ValueError);
  CHECK_THROWS_AS(ct::verify_grad(square, {Array{1.}}, 3), ct::ValueError);
  CHECK_THROWS_AS(ct::verify_grad([](const Inputs& x) { return x[0] > 0; }, {Array{1.}}), ct::TypeError);
}

TEST_CASE("gradients at ties and kinks", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto v = ct::vector("v");
  const float inf = std::numeric_limits<float>::infinity();
  const auto at = [&](const Variable& y, const Array& value) { return gradient_at(mode, v, ct::sum(y), value); };
  CHECK(at(ct::max(v, 0), Array{3.f, 3.f, 1.f}).equals(Array{1.f, 1.f, 0.f}));
  CHECK(at(ct::min(v), Array{3.f, 1.f, 1.f}).equals(Array{0.f, 1.f, 1.f}));
  CHECK(at(ct::maximum(v, 1), Array{1.f, 2.f, 0.f}).equals(Array{1.f, 1.f, 0.f}));
  CHECK(at(ct::minimum(v, 1), Array{1.f, 2.f, 0.f}).equals(Array{1.f, 0.f, 1.f}));
  CHECK(at(ct::maximum(1, v), Array{1.f, 2.f, 0.f}).equals(Array{0.f, 1.f, 0.f}));
  CHECK(at(ct::abs(v), Array{0.f, -2.f, 5.f}).equals(Array{0.f, -1.f, 1.f}));
  CHECK(at(ct::nnet::relu(v), Array{0.f, -2.f, 5.f}).equals(Array{0.5f, 0.f, 1.f}));
  CHECK(at(ct::clip(v, -1, 1), Array{-1.f, 1.f, 0.f, 2.f, -2.f}).equals(Array{1.f, 1.f, 1.f, 0.f, 0.f}));
  CHECK(at(ct::sqrt(v), Array{0.f, 4.f}).equals(Array{inf, 0.25f}));
  CHECK(at(ct::pow(v, 0), Array{0.f, 3.f}).equals(Array{0.f, 0.f}));
  CHECK(at(ct::pow(v, 2), Array{-3.f, 0.f}).equals(Array{-6.f, 0.f}));
  CHECK(at(ct::pow(v, 1), Array{0.f, 2.f}).equals(Array{1.f, 1.f}));
  CHECK(at(ct::prod(v), Array{0.f, 2.f, 3.f}).equals(Array{6.f, 0.f, 0.f}));
  CHECK(at(ct::prod(v), Array{0.f, 2.f, 0.f}).equals(Array{0.f, 0.f, 0.f}));
  CHECK(at(ct::sgn(v) + ct::floor(v) + ct::round(v) + ct::trunc(v) + ct::ceil(v), Array{0.f, 1.5f})
            .equals(Array{0.f, 0.f}));
}

TEST_CASE("the gradient of a switch around a log", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto v = ct::vector("v");
  const auto cost = ct::sum(ct::where(v > 0, ct::log(v), 0));
  CHECK(gradient_at(mode, v, cost, Array{0.f, 2.f, -1.f}).equals(Array{0.f, 0.5f, 0.f}));
  const auto root = ct::sum(ct::switch_(v > 0, ct::sqrt(v), 0.f));
  CHECK(gradient_at(mode, v, root, Array{0.f, 4.f}).equals(Array{0.f, 0.25f}));
}

TEST_CASE("constants and connections", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  CAPTURE(mode);
  const auto v = ct::scalar("v"), w = ct::scalar("w");
  const auto sq = v * v;
  const auto value = [&](const Variable& g) { return compile(mode, {v, w}, {g})(2.f, 3.f)[0].item<float>(); };
  CHECK(value(ct::grad(v * sq, v)) == 12);
  CHECK(value(ct::grad(v * sq, v, {.consider_constant = {sq}})) == 4);
  CHECK(value(ct::grad(v * sq, v, {.consider_constant = {v}})) == 12);  // listing the variable itself changes nothing
  CHECK(value(ct::grad(v * sq, sq)) == 2);                              // with respect to an inner variable
  try {
    ct::grad(sq, w);
    FAIL("w is not connected");
  } catch (const ct::DisconnectedInputError& e) {
    CHECK_THAT(e.what(), Catch::Contains("w is f32[]") && Catch::Contains("test_gradients.cpp"));
  }
  CHECK_THROWS_AS(ct::grad(sq, v, {.consider_constant = {sq}}), ct::DisconnectedInputError);
  CHECK(value(ct::grad(sq, w, {.disconnected_inputs = ct::Disconnected::ignore})) == 0);
  const auto m = ct::matrix("m");
  const auto zeros = compile(mode, {m, v}, {ct::grad(sq, m, {.disconnected_inputs = ct::Disconnected::ignore})})(
      Array::full(DType::float32, {2, 3}, 5), 1.f);
  CHECK(zeros[0].equals(Array::zeros(DType::float32, {2, 3})));
  // Requested twice: two results. With respect to itself: 1.
  const auto twice = ct::grad(sq * w, std::vector<Variable>{v, v, w});
  REQUIRE(twice.size() == 3);
  CHECK(value(twice[0]) == 12);
  CHECK(value(twice[1]) == 12);
  CHECK(value(twice[2]) == 4);
  CHECK(value(ct::grad(v, v)) == 1);
  const auto [gv, gw] = ct::grad(sq * w, v, w);
  CHECK(value(gv + gw) == 16);
  CHECK_THROWS_AS(ct::grad(m, m), ct::TypeError);
  CHECK_THROWS_AS(ct::grad(ct::iscalar("i"), v), ct::TypeError);
}

TEST_CASE("gradients through comparisons and integers are zero, but connected", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  CAPTURE(mode);
  const auto v = ct::vector("v");
  const Array value{0.5f, -2.f};
  CHECK(gradient_at(mode, v, ct::sum(ct::cast(v > 0, DType::float32)), value).equals(Array{0.f, 0.f}));
  CHECK(gradient_at(mode, v, ct::sum(ct::floor(v)), value).equals(Array{0.f, 0.f}));
  CHECK(gradient_at(mode, v, ct::sum(ct::cast(ct::cast(v, DType::int32), DType::float32)), value)
            .equals(Array{0.f, 0.f}));
  CHECK(gradient_at(mode, v, ct::cast(ct::argmax(v), DType::float32), value).equals(Array{0.f, 0.f}));
  CHECK(gradient_at(mode, v, ct::sum(v * (v > 0)), value).equals(Array{1.f, 0.f}));
  const auto i = ct::ivector("i");
  const auto of_int = ct::grad(ct::sum(ct::sqr(ct::cast(i, DType::float32)) * 0.5f), i);
  CHECK(of_int.dtype() == DType::float32);
  CHECK(compile(mode, {i}, {of_int})(Array{3, -4})[0].equals(Array{3.f, -4.f}));
  const auto through = ct::grad(ct::sum(ct::exp(ct::cast(i, DType::float64))), i);
  CHECK(through.dtype() == DType::float32);
  CHECK(compile(mode, {i}, {through})(Array{0, 1})[0].all_close(Array{1.f, 2.7182817f}));
}

TEST_CASE("gradients have the dtype and the shape of their variables", "[ops]") {
  const auto d = ct::dvector("d"), f = ct::fvector("f");
  const auto h = ct::vector("h", DType::float16);
  const auto r = ct::row("r"), c = ct::col("c");
  const auto cost = ct::sum(d * f * h) + ct::sum(r * c);
  const auto g = ct::grad(cost, {d, f, h, r, c});
  CHECK(g[0].dtype() == DType::float64);
  CHECK(g[1].dtype() == DType::float32);
  CHECK(g[2].dtype() == DType::float16);
  const std::string mode = GENERATE(from_range(modes));
  const auto result =
      compile(mode, {d, f, h, r, c}, g)(Array{1., 2.}, Array{3.f, 4.f}, Array{5.f, 6.f}.astype(DType::float16),
                                        Array{{1.f, 2.f, 3.f}}, Array{{4.f}, {5.f}});
  CHECK(result[0].equals(Array{15., 24.}));
  CHECK(result[1].equals(Array{5.f, 12.f}));
  CHECK(result[2].equals(Array{3.f, 8.f}.astype(DType::float16)));
  CHECK(result[3].equals(Array{{9.f, 9.f, 9.f}}));
  CHECK(result[4].equals(Array{{6.f}, {6.f}}));
}

TEST_CASE("a gradient of a gradient, and a long chain", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  const auto x = ct::scalar("x", DType::float64);
  auto y = ct::pow(x, 4);
  for (int order = 0; order < 3; ++order) y = ct::grad(y, x);
  CHECK(compile(mode, {x}, {y})(2.)[0].item<double>() == Approx(48));
  Variable chain = x;
  for (int i = 0; i < 3000; ++i) chain = chain * 1.001;
  CHECK(compile(mode + std::string(",optimizer=fast_compile"), {x}, {ct::grad(chain, x)})(1.)[0].item<double>() ==
        Approx(std::pow(static_cast<double>(1.001f), 3000)).epsilon(1e-3));
}

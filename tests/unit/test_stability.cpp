// Losses and functions at extreme arguments: finite and right with the stability rules, forward and backward, fused and
// on the simulated GPU; and the results without the rules, to show that the rules are necessary.
#include <croton/croton.hpp>

#include "backends.hpp"
#include "catch.hpp"

#include <cmath>
#include <limits>

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

const std::vector<std::string> modes =
    croton_test::with_devices({"mode=run", "mode=simulate", "mode=reference", "mode=run,optimizer=fast_compile"});

std::vector<Array> run(const std::string& flags, std::vector<ct::In> inputs, const std::vector<Variable>& outputs,
                       const std::vector<Array>& values) {
  const ct::change_flags scope(flags);
  return ct::function(std::move(inputs), outputs)(std::as_const(values)[0]).arrays();
}

bool finite(const Array& a) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a.as_double(i))) return false;
  }
  return true;
}

/// y and its summed gradient, at the values of x.
std::pair<Array, Array> both(const std::string& flags, const Variable& x, const Variable& y, const Array& value) {
  const std::vector<Array> r = run(flags, {x}, {y, ct::grad(ct::sum(y), x)}, {value});
  return {r[0], r[1]};
}

}  // namespace

TEST_CASE("cross-entropy of huge logits", "[stability]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto z = ct::matrix("z");
  const auto t = ct::ivector("t");
  const float big = 5e4f;
  const Array logits{{big, -big, 0.f}, {big, -big, 0.f}, {0.f, 0.f, 0.f}}, targets{0, 1, 2};
  const auto per_row = ct::nnet::categorical_crossentropy(ct::nnet::softmax(z), t);
  const auto loss = ct::mean(per_row);
  const ct::change_flags flags(mode);
  const auto f = ct::function({z, t}, {per_row, loss, ct::grad(loss, z)});
  const auto r = f(logits, targets);
  CHECK(r[0].all_close(Array{0.f, 2 * big, std::log(3.f)}, 1e-6));
  CHECK(r[1].item<float>() == Approx((2 * big + std::log(3.0)) / 3));
  const float third = 1.f / 3;
  CHECK(r[2].all_close(Array{{0.f, 0.f, 0.f}, {third, -third, 0.f}, {third / 3, third / 3, third / 3 - third}}, 1e-6,
                       1e-7));
  // After a product and a bias, as in a network.
  const auto x = ct::matrix("x");
  const auto w = ct::shared(Array::full(DType::float32, {2, 3}, 1), {.name = "w"});
  const auto net_loss =
      ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(ct::dot(x, w) * Array{1.f, -1.f, 2.f}), t));
  const auto g = ct::function({x, t}, {net_loss, ct::grad(net_loss, w)});
  const auto s = g(Array{{1e4f, 2e4f}, {-3e4f, 0.f}}, Array{1, 2});
  CHECK(s[0].item<float>() == Approx((9e4 + 9e4) / 2));
  CHECK(finite(s[1]));
}

TEST_CASE("the same loss without rules overflows", "[stability]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const auto z = ct::matrix("z");
  const auto t = ct::ivector("t");
  const Array logits{{5e4f, -5e4f, 0.f}}, targets{1};
  const auto loss = ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(z), t));
  const auto at = [&](const std::string& flags, const Variable& y) {
    const ct::change_flags scope(flags);
    return ct::function({z, t}, y, {.on_unused_input = ct::UnusedInput::ignore})(logits, targets).only();
  };
  CHECK(std::isinf(at(mode + ",optimizer=none", loss).item<float>()));
  CHECK(at(mode, loss).item<float>() == 1e5f);
  const auto plain = -ct::log(ct::nnet::softmax(z));
  CHECK(std::isinf(at(mode + ",optimizer=none", plain).as_double(1)));
  CHECK(at(mode, plain).as_double(1) == 1e5);
  const auto by_hand = -ct::log(ct::exp(z) / ct::sum(ct::exp(z), ct::ReduceOptions(std::vector<int>{1}, true)));
  CHECK(at(mode, by_hand).as_double(1) == 1e5);
  CHECK_FALSE(std::isfinite(at(mode + ",optimizer=none", by_hand).as_double(1)));
}

TEST_CASE("training with unscaled weights stays finite", "[stability]") {
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::matrix("x");
  const auto y = ct::ivector("y");
  const auto w1 = ct::shared(Array::normal(DType::float32, {50, 40}, 1), {.name = "w1"}),
             w2 = ct::shared(Array::normal(DType::float32, {40, 10}, 2), {.name = "w2"});
  const auto p = ct::nnet::softmax(ct::dot(ct::nnet::relu(ct::dot(x * 100, w1)), w2));
  const auto loss = ct::mean(ct::nnet::categorical_crossentropy(p, y));
  const auto gradients = ct::grad(loss, {w1, w2});
  const auto train =
      ct::function({x, y}, loss, {.updates = {{w1, w1 - 0.1 * gradients[0]}, {w2, w2 - 0.1 * gradients[1]}}});
  const Array data = Array::normal(DType::float32, {30, 50}, 3);
  const Array labels = Array::uniform(DType::float64, {30}, 4, 0, 10).astype(DType::int32);
  bool all_finite = true;
  for (int i = 0; i < 10; ++i) all_finite = all_finite && std::isfinite(train(data, labels).item<float>());
  CHECK(all_finite);
  CHECK(finite(w1.get_value()));
  CHECK(finite(w2.get_value()));
}

TEST_CASE("log of a sigmoid, and binary cross-entropy", "[stability]") {
  // Their gradients need the cancellation of the canonical rules, which fast_compile omits.
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const Array values{-100.f, 100.f, 0.f, -1000.f, 1000.f};
  const float log2 = std::log(2.f);
  const auto [log_sigmoid, slope] = both(mode, x, ct::log(ct::sigmoid(x)), values);
  CHECK(log_sigmoid.all_close(Array{-100.f, -3.720076e-44f, -log2, -1000.f, 0.f}, 1e-6));
  CHECK(slope.all_close(Array{1.f, 0.f, 0.5f, 1.f, 0.f}, 1e-6));
  const auto of_one = both(mode, x, ct::nnet::binary_crossentropy(ct::sigmoid(x), 1), values);
  CHECK(of_one.first.all_close(Array{100.f, 0.f, log2, 1000.f, 0.f}, 1e-6));
  CHECK(of_one.second.all_close(Array{-1.f, 0.f, -0.5f, -1.f, 0.f}, 1e-6));
  const auto of_zero = both(mode, x, ct::nnet::binary_crossentropy(ct::sigmoid(x), 0), values);
  CHECK(of_zero.first.all_close(Array{0.f, 100.f, log2, 0.f, 1000.f}, 1e-6));
  CHECK(of_zero.second.all_close(Array{0.f, 1.f, 0.5f, 0.f, 1.f}, 1e-6));
  const auto mixed = both(mode, x, ct::nnet::binary_crossentropy(ct::sigmoid(x), 0.25), values);
  CHECK(mixed.first.all_close(Array{25.f, 75.f, log2, 250.f, 750.f}, 1e-6));
  CHECK(mixed.second.all_close(Array{-0.25f, 0.75f, 0.25f, -0.25f, 0.75f}, 1e-6));
}

TEST_CASE("softplus, logsumexp and log_softmax far out", "[stability]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const auto [soft, slope] = both(mode, x, ct::log(1 + ct::exp(x)), Array{-100.f, 0.f, 100.f, 1000.f});
  CHECK(soft.all_close(Array{3.8e-44f, std::log(2.f), 100.f, 1000.f}, 1e-6, 1e-43));
  CHECK(soft.as_double(0) > 0);
  CHECK(slope.all_close(Array{0.f, 0.5f, 1.f, 1.f}, 1e-6));
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [values, wanted] : std::vector<std::pair<Array, float>>{{Array{1e4f, 1e4f}, 1e4f + std::log(2.f)},
                                                                           {Array{-1e4f, -1e4f}, -1e4f + std::log(2.f)},
                                                                           {Array{1e4f, -1e4f}, 1e4f},
                                                                           {Array{-inf, 0.f}, 0.f}}) {
    const auto [built_in, gradient] = both(mode, x, ct::nnet::logsumexp(x, 0), values);
    CHECK(built_in.item<float>() == Approx(wanted));
    CHECK(gradient.as_double(0) + gradient.as_double(1) == Approx(1));
    CHECK(both(mode, x, ct::log(ct::sum(ct::exp(x), 0)), values).first.item<float>() == Approx(wanted));
  }
  CHECK(run(mode, {x}, {ct::nnet::logsumexp(x, 0)}, {Array{-inf, -inf}})[0].item<float>() == -inf);
  CHECK(run(mode, {x}, {ct::nnet::logsumexp(x, 0)}, {Array{inf, 1.f}})[0].item<float>() == inf);
  const auto [ls, ls_slope] = both(mode, x, ct::log(ct::nnet::softmax(x, 0)), Array{1e5f, 0.f, -1e5f});
  CHECK(ls.equals(Array{0.f, -1e5f, -2e5f}));
  CHECK(ls_slope.all_close(Array{-2.f, 1.f, 1.f}, 1e-6));
  const auto [s, s_slope] = both(mode, x, ct::nnet::softmax(x, 0), Array{1e5f, 0.f, 1e5f});
  CHECK(s.equals(Array{0.5f, 0.f, 0.5f}));
  CHECK(s_slope.all_close(Array{0.f, 0.f, 0.f}, 0, 1e-7));
}

TEST_CASE("small numbers are not rounded away", "[stability]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const Array tiny{1e-10f, -1e-10f, 1e-20f};
  const auto same = [&](const Variable& y) { return both(mode, x, y, tiny); };
  const Array ones{1.f, 1.f, 1.f};
  for (const Variable& y : {ct::log1p(x), ct::expm1(x), ct::log(1 + x), ct::log(x + 1), ct::exp(x) - 1, ct::sin(x),
                            ct::tanh(x), ct::sinh(x)}) {
    INFO(ct::debugprint(y));
    const auto [value, slope] = same(y);
    CHECK(value.all_close(tiny, 1e-6, 0));
    CHECK(slope.all_close(ones, 1e-6));
  }
  CHECK(both(mode, x, ct::log(1 - x), tiny).first.all_close(Array{-1e-10f, 1e-10f, -1e-20f}, 1e-6, 0));
  // 1 - sigmoid(x) does not cancel.
  CHECK(both(mode, x, 1 - ct::sigmoid(x), Array{50.f, 30.f, -50.f})
            .first.all_close(Array{1.9287498e-22f, 9.357623e-14f, 1.f}, 1e-5, 0));
}

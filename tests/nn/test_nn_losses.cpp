// Losses against Keras's numbers and plain formulas, with every reduction, at extreme numbers, and rejected arguments.
// The numbers are Keras 3.15.1's (jax, on the CPU), to float32, the precision of its means.
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include "backends.hpp"
#include "catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ct = croton;
namespace nn = croton::nn;
using croton_test::backends;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

using Numbers = std::vector<double>;

/// The values of outputs, computed and compiled under the flags.
std::vector<Array> run(const std::string& settings, const std::vector<ct::Binding>& inputs,
                       const std::vector<Variable>& outputs) {
  const ct::change_flags flags(settings);
  std::vector<ct::In> variables;
  std::vector<ct::Argument> values;
  for (const ct::Binding& input : inputs) {
    variables.emplace_back(input.first);
    values.emplace_back(input.second);
  }
  const ct::Function f = ct::function(variables, outputs, {.on_unused_input = ct::UnusedInput::ignore});
  std::vector<Array> results;
  for (const Array& result : f.call(values)) results.push_back(result.to_host());
  return results;
}

void check(const Array& got, const Numbers& wanted, double tolerance = 2e-6) {
  REQUIRE(got.size() == static_cast<std::int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("number " << i << " of " << got.to_string());
    CHECK(got.as_double(static_cast<std::int64_t>(i)) == Approx(wanted[i]).epsilon(tolerance).margin(1e-12));
  }
}

Array in(DType dtype, const Array& x) { return x.astype(dtype).copy(); }

const Array truth{{0.5, -1., 2.}, {1.25, 0., -0.75}}, guess{{0.25, -1.5, 4.}, {1., -0.125, 0.5}};
const Array positive_truth{{0.5, 1., 2.}, {1.25, 0., 0.75}}, positive_guess{{0.25, 1.5, 4.}, {1., 0.125, 0.5}};
/// The sum of the second row is not 1.
const Array probabilities{{0.2, 0.7, 0.1}, {0.5, 0.125, 0.5}}, turned{{0.5, 0.125, 0.5}, {0.2, 0.7, 0.1}};
const Array one_hot{{0., 1., 0.}, {1., 0., 0.}}, plus_minus{{-1., 1., -1.}, {1., -1., -1.}};
const Array classes{1, 0};

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const ct::Error& error) {
    return error.what();
  }
  return "no error";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

// truth, guess, ... are t, p = np.array(...); keras.losses.get(name)(t, p), with floatx float64.
TEST_CASE("losses by name are Keras's", "[nn]") {
  struct Case {
    const char* name;
    Array target, prediction;
    Numbers keras;
  };
  const std::vector<Case> cases = {
      {"mse", truth, guess, {1.4375, 0.546875}},
      {"mean_squared_error", truth, guess, {1.4375, 0.546875}},
      {"mae", truth, guess, {0.9166666865348816, 0.5416666865348816}},
      {"mean_absolute_error", truth, guess, {0.9166666865348816, 0.5416666865348816}},
      {"mape", truth, guess, {66.66666865348816, 41666731.25}},
      {"mean_absolute_percentage_error", truth, guess, {66.66666865348816, 41666731.25}},
      {"msle", positive_truth, positive_guess, {0.11465900391340256, 0.017169367522001266}},
      {"mean_squared_logarithmic_error", positive_truth, positive_guess, {0.11465900391340256, 0.017169367522001266}},
      {"huber", truth, guess, {0.5520833730697632, 0.2630208432674408}},
      {"log_cosh", truth, guess, {0.49201568961143494, 0.224821537733078}},
      {"cosine_similarity", truth, guess, {-0.9816287456628998, -0.5335511537766942}},
      {"poisson", positive_truth, positive_guess, {1.0883643627166748, 0.7149534225463867}},
      {"kl_divergence", one_hot, probabilities, {0.35667211152190276, 0.6931442341996873}},
      {"kl_divergence", turned, probabilities, {1.0475184974364897, 0.8617346808005312}},
      {"hinge", one_hot, guess, {2.9166667461395264, 0.7916666865348816}},
      {"hinge", plus_minus, guess, {2.9166667461395264, 0.7916666865348816}},
      {"hinge", truth, guess, {0.2916666865348816, 0.7916666865348816}},
      {"squared_hinge", one_hot, guess, {10.9375, 1.0052083730697632}},
      {"squared_hinge", plus_minus, guess, {10.9375, 1.0052083730697632}},
      {"categorical_hinge", one_hot, guess, {6.5, 0.5}},
      {"binary_crossentropy", one_hot, probabilities, {0.22839300334453583, 0.5066086053848267}},
      {"categorical_crossentropy", one_hot, probabilities, {0.3566749439387323, 0.8109302162163288}},
      {"sparse_categorical_crossentropy", classes, probabilities, {0.3566749439387323, 0.8109302162163288}},
  };
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  std::vector<ct::Binding> inputs;
  std::vector<Variable> outputs;
  for (const Case& c : cases) {
    const bool whole = c.target.dtype() == DType::int32;
    const Variable t = whole ? ct::vector("t", DType::int32) : ct::matrix("t", dtype), p = ct::matrix("p", dtype);
    inputs.emplace_back(t, whole ? c.target : in(dtype, c.target));
    inputs.emplace_back(p, in(dtype, c.prediction));
    const nn::Loss loss = c.name;
    CHECK(loss.name() == c.name);
    CHECK(loss.takes_classes() == whole);
    outputs.push_back(loss.samples(t, p));
    outputs.push_back(loss(t, p));
    CHECK(outputs.back().rank() == 0);
    CHECK(outputs.back().dtype() == dtype);
  }
  const std::vector<Array> results = run(mode, inputs, outputs);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].name);
    check(results[2 * i], cases[i].keras);
    check(results[2 * i + 1], {(cases[i].keras[0] + cases[i].keras[1]) / 2});
  }
}

// keras.losses.Huber(0.5, reduction="none")(t, p), BinaryCrossentropy(from_logits=..., label_smoothing=...), and so on.
TEST_CASE("losses with options are Keras's", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable t = ct::matrix("t", dtype), p = ct::matrix("p", dtype), hot = ct::matrix("hot", dtype);
  const Variable c = ct::ivector("c"), column = ct::imatrix("column"), floats = ct::vector("floats", dtype);
  const Variable bytes = ct::vector("bytes", DType::uint8), q = ct::matrix("q", dtype);
  const auto options = [](bool from_logits, double smoothing = 0) {
    return nn::ProbabilityLossOptions{
        .from_logits = from_logits, .label_smoothing = smoothing, .reduction = "none", .name = "x"};
  };
  const nn::SparseCategoricalCrossentropy sparse(options(false)), sparse_logits(options(true));
  const std::vector<std::pair<Variable, Numbers>> cases = {
      {nn::Huber(0.5, {.reduction = "none"})(t, p), {0.34375, 0.1796875}},
      {nn::CosineSimilarity(1, {.reduction = "none"})(t, p), {-0.9816287456628998, -0.5335511537766942}},
      {nn::BinaryCrossentropy(options(true))(hot, p), {2.1818342208862305, 0.6399792432785034}},
      {nn::BinaryCrossentropy(options(false, 0.1))(hot, q), {0.30223995447158813, 0.5390404462814331}},
      {nn::BinaryCrossentropy(options(true, 0.1))(hot, p), {2.086000919342041, 0.650395929813385}},
      {nn::CategoricalCrossentropy(options(true))(hot, p), {5.527230382209746, 0.658132834305037}},
      {nn::CategoricalCrossentropy(options(false, 0.1))(hot, q), {0.4632973811904217, 0.8571400282536584}},
      {nn::CategoricalCrossentropy(options(true, 0.1))(hot, p), {5.28556371554308, 0.7122995009717037}},
      {sparse_logits(c, p), {5.527230382209746, 0.658132834305037}},
      {nn::SparseCategoricalCrossentropy(options(true, 0.1))(c, p), {5.28556371554308, 0.7122995009717037}},
      {sparse(column, q), {0.3566749439387323, 0.8109302162163288}},
      {sparse(floats, q), {0.3566749439387323, 0.8109302162163288}},
      {sparse(bytes, q), {0.3566749439387323, 0.8109302162163288}},
  };
  std::vector<Variable> outputs;
  for (const auto& [loss, keras] : cases) outputs.push_back(loss);
  const std::vector<Array> results = run(mode,
                                         {{t, in(dtype, truth)},
                                          {p, in(dtype, guess)},
                                          {hot, in(dtype, one_hot)},
                                          {q, in(dtype, probabilities)},
                                          {c, classes},
                                          {column, classes.reshape({2, 1})},
                                          {floats, in(dtype, classes)},
                                          {bytes, in(DType::uint8, classes)}},
                                         outputs);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO("case " << i);
    check(results[i], cases[i].second);
  }
  CHECK(sparse.name() == "x");
}

// t = np.arange(12.).reshape(2, 3, 2) / 4; p = t**2 - 1; reduce_weighted_values of MeanSquaredError(reduction="none").
TEST_CASE("losses are weighted, masked and reduced as in Keras", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable t = ct::tensor3("t"), p = ct::tensor3("p"), w = ct::matrix("w"), m = ct::matrix("m", DType::bool_);
  const Variable each = ct::vector("each"), column = ct::col("column");
  const Array at = ct::Array::arange(12, DType::float32).reshape({2, 3, 2});
  Array target = at.copy(), prediction = at.copy();
  for (std::size_t i = 0; i < 12; ++i) {
    const float x = static_cast<float>(i) / 4;
    target.data<float>()[i] = x;
    prediction.data<float>()[i] = x * x - 1;
  }
  const std::vector<std::pair<std::string, std::vector<Numbers>>> cases = {
      {"sum_over_batch_size", {{2.783203125}, {2.101806640625}, {0.923828125}, {0.6494140625}, {1.8076171875}}},
      {"sum", {{16.69921875}, {12.61083984375}, {2.771484375}, {1.9482421875}, {5.4228515625}}},
      {"none",
       {{1.205078125, 1.486328125, 0.736328125, 0.080078125, 2.142578125, 11.048828125},
        {1.205078125, 0.7431640625, 1.47265625, 0.0, 6.427734375, 2.76220703125},
        {1.205078125, 1.486328125, 0.0, 0.080078125, 0.0, 0.0},
        {1.205078125, 0.7431640625, 0.0, 0.0, 0.0, 0.0},
        {2.41015625, 2.97265625, 0.0, 0.0400390625, 0.0, 0.0}}}};
  std::vector<Variable> outputs;
  for (const auto& [reduction, keras] : cases) {
    const nn::MeanSquaredError loss({.reduction = reduction});
    for (const Variable& output :
         {loss(t, p), loss(t, p, w), loss(t, p, {}, m), loss(t, p, w, m), loss(t, p, each, m), loss(t, p, column, m)})
      outputs.push_back(output);
  }
  const std::vector<Array> results = run(mode,
                                         {{t, target},
                                          {p, prediction},
                                          {w, Array{{1.f, 0.5f, 2.f}, {0.f, 3.f, 0.25f}}},
                                          {m, Array{{true, true, false}, {true, false, false}}},
                                          {each, Array{2.f, 0.5f}},
                                          {column, Array{2.f, 0.5f}.reshape({2, 1})}},
                                         outputs);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t k = 0; k < 6; ++k) {
      INFO(cases[i].first << ", case " << k);
      // Keras accepts a weight per sample only as a column.
      check(results[6 * i + k], cases[i].second[std::min<std::size_t>(k, 4)]);
      CHECK(results[6 * i + k].rank() == (cases[i].first == "none" ? 2 : 0));
    }
  }
}

TEST_CASE("a mask hides nan, its gradient too, and nothing counted is 0", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable t = ct::tensor3("t"), p = ct::tensor3("p"), m = ct::matrix("m", DType::bool_);
  const Variable loss = nn::Loss("mse")(t, p, {}, m);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array target = Array{1.f, nan}.reshape({1, 2, 1}), prediction = Array{3.f, 5.f}.reshape({1, 2, 1});
  std::vector<Array> results =
      run(mode, {{t, target}, {p, prediction}, {m, Array{{true, false}}}}, {loss, ct::grad(loss, p)});
  check(results[0], {4});
  CHECK(results[1].as_double(0) == 4);
  results = run(mode, {{t, target}, {p, prediction}, {m, Array{{false, false}}}}, {loss});
  CHECK(results[0].item<float>() == 0);
}

TEST_CASE("losses of no samples are 0", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable t = ct::matrix("t"), p = ct::matrix("p"), c = ct::lvector("c"), w = ct::vector("w");
  const Array none = Array::zeros(DType::float32, {0, 3});
  std::vector<Variable> outputs;
  for (const char* reduction : {"sum_over_batch_size", "sum", "none"}) {
    outputs.push_back(nn::MeanSquaredError({.reduction = reduction})(t, p, w));
    outputs.push_back(nn::SparseCategoricalCrossentropy({.reduction = reduction})(c, p));
    outputs.push_back(nn::Hinge({.reduction = reduction})(t, p));
  }
  const auto results =
      run(mode, {{t, none}, {p, none}, {c, Array::zeros(DType::int64, {0})}, {w, Array::zeros(DType::float32, {0})}},
          outputs);
  for (std::size_t i = 0; i < 6; ++i) CHECK(results[i].item<float>() == 0);
  for (std::size_t i = 6; i < 9; ++i) CHECK(results[i].shape() == ct::Sizes{0});
}

TEST_CASE("C2.3, C5.7: cross-entropies after a softmax or sigmoid, and with from_logits, are computed from logits",
          "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float32, DType::float16);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable z = ct::matrix("z", dtype), c = ct::ivector("c"), hot = ct::matrix("hot");
  const nn::ProbabilityLossOptions logits{.from_logits = true};
  const Variable soft = ct::nnet::softmax(z), sure = ct::nnet::sigmoid(z);
  const std::vector<Variable> losses = {
      nn::Loss("sparse_categorical_crossentropy")(c, soft), nn::SparseCategoricalCrossentropy(logits)(c, z),
      nn::Loss("categorical_crossentropy")(hot, soft),      nn::CategoricalCrossentropy(logits)(hot, z),
      nn::Loss("binary_crossentropy")(hot, sure),           nn::BinaryCrossentropy(logits)(hot, z)};
  std::vector<Variable> outputs = losses;
  for (const Variable& loss : losses) {
    CHECK(loss.dtype() == DType::float32);
    outputs.push_back(ct::grad(loss, z));
  }
  const auto results = run(mode,
                           {{z, in(dtype, Array{{1e4, -1e4, 0.}, {-1e4, 1e4, 1e4}})},
                            {c, Array{1, 1}},
                            {hot, Array{{0.f, 1.f, 0.f}, {0.f, 1.f, 0.f}}}},
                           outputs);
  const double ten = Array(1e4).astype(dtype).as_double(0);
  for (std::size_t i = 0; i < 4; ++i) {
    INFO("loss " << i);
    check(results[i], {(2 * ten + std::log(2)) / 2}, 1e-6);
    check(results[6 + i], {0.5, -0.5, 0, 0, -0.25, 0.25}, 1e-6);
  }
  for (std::size_t i = 4; i < 6; ++i) {
    INFO("loss " << i);
    check(results[i], {(3 * ten + std::log(2)) / 6}, 1e-6);
    // (sigmoid(z) - t) / 6
    check(results[6 + i], {1. / 6, -1. / 6, 0.5 / 6, 0, 0, 1. / 6}, dtype == DType::float16 ? 1e-3 : 1e-6);
  }
}

TEST_CASE("a softmax along another axis is no softmax of classes", "[nn]") {
  const Variable z = ct::matrix("z"), c = ct::ivector("c");
  const Variable loss = nn::Loss("sparse_categorical_crossentropy")(c, ct::nnet::softmax(z, 0));
  // softmax along the columns: {e, 1} / (e + 1) and {1, 1} / 2; then each row is divided by its sum.
  const double e = std::exp(1), top = e / (e + 1), low = 1 / (e + 1);
  const auto results = run("mode=run", {{z, Array{{1.f, 0.f}, {0.f, 0.f}}}, {c, Array{0, 0}}}, {loss});
  check(results[0], {-(std::log(top / (top + 0.5)) + std::log(low / (low + 0.5))) / 2}, 1e-5);
}

TEST_CASE("cross-entropies of probabilities 0 and 1 are finite, with their gradients", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float32, DType::float64, DType::float16);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable p = ct::matrix("p", dtype), c = ct::ivector("c"), hot = ct::matrix("hot");
  std::vector<Variable> outputs;
  for (const Variable& loss :
       {nn::SparseCategoricalCrossentropy({.reduction = "none"})(c, p),
        nn::CategoricalCrossentropy({.reduction = "none"})(hot, p), nn::KLDivergence({.reduction = "none"})(hot, p),
        nn::Poisson({.reduction = "none"})(hot, p), nn::BinaryCrossentropy({.reduction = "none"})(hot, p)}) {
    outputs.push_back(loss);
    outputs.push_back(ct::grad(ct::sum(loss), p));
  }
  const auto results = run(mode,
                           {{p, in(dtype, Array{{0., 1.}, {0., 1.}, {0., 0.}})},
                            {c, Array{0, 1, 0}},
                            {hot, Array{{1.f, 0.f}, {0.f, 1.f}, {1.f, 0.f}}}},
                           outputs);
  for (std::size_t k = 0; k < results.size(); ++k) {
    INFO("output " << k << ": " << results[k].to_string());
    if (k == 7 && dtype == DType::float16) continue;  // poisson's slope is 1 / (p + 1e-7), above the largest float16
    for (std::int64_t i = 0; i < results[k].size(); ++i) CHECK(std::isfinite(results[k].as_double(i)));
  }
  const bool wide = dtype == DType::float64;
  const double least = -std::log(1e-7), none = wide ? 1e-7 : 0x1p-23;  // 1 minus the float32 next to 1 - 1e-7
  for (std::size_t i : {0u, 2u}) {
    check(results[i], {least, -std::log1p(-none), least}, 1e-5);
    CHECK(results[i].dtype() == (wide ? DType::float64 : DType::float32));
  }
  // log(1 - p) for p clipped to the float next to 1, and for p clipped to 1e-7.
  check(results[8], {(least - std::log(none)) / 2, (none + 1e-7) / 2, least / 2}, 1e-5);
}

TEST_CASE("elementwise losses of large errors are finite", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable t = ct::matrix("t"), p = ct::matrix("p");
  std::vector<Variable> outputs;
  for (const char* name : {"mae", "huber", "log_cosh", "cosine_similarity", "categorical_hinge", "msle"}) {
    const Variable loss = nn::Loss(name)(t, p);
    outputs.push_back(loss);
    outputs.push_back(ct::grad(loss, p));
  }
  const auto results = run(mode, {{t, Array{{1.f, 0.f}, {0.f, 0.f}}}, {p, Array{{1e4f, -1e4f}, {0.f, 1e4f}}}}, outputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    INFO("output " << i << ": " << results[i].to_string());
    for (std::int64_t k = 0; k < results[i].size(); ++k) CHECK(std::isfinite(results[i].as_double(k)));
  }
}

TEST_CASE("a last axis of size 1 can be missing", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable v = ct::vector("v"), column = ct::matrix("column"), u = ct::vector("u");
  const Variable stated = ct::variable({DType::float32, {ct::unknown_size, 1}}, "stated");
  const Variable steps = ct::matrix("steps"), stepwise = ct::tensor3("stepwise"), w = ct::vector("w");
  const nn::MeanSquaredError loss({.reduction = "none"});
  const auto results = run(mode,
                           {{v, Array{1.f, 2.f, 3.f}},
                            {u, Array{3.f, 2.f, 5.f}},
                            {column, Array{3.f, 2.f, 5.f}.reshape({3, 1})},
                            {stated, Array{3.f, 2.f, 5.f}.reshape({3, 1})},
                            {steps, Array{{1.f, 2.f, 3.f}}},
                            {stepwise, Array{3.f, 2.f, 5.f}.reshape({1, 3, 1})},
                            {w, Array{1.f, 10.f, 0.5f}}},
                           {loss(v, column), loss(column, v), loss(v, stated), loss(stated, v), loss(v, u),
                            loss(v, u, w), loss(v, column, w), loss(v, column, stated), loss(steps, stepwise)});
  for (const std::size_t i : {0u, 1u, 2u, 3u, 4u}) check(results[i], {4, 0, 4});
  check(results[5], {4, 0, 2});
  check(results[6], {4, 0, 2});
  check(results[7], {12, 0, 20});
  check(results[8], {4, 0, 4});
  CHECK(results[8].shape() == ct::Sizes{1, 3});
}

TEST_CASE("sequences of classes have a loss for each step", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable c = ct::imatrix("c"), column = ct::itensor3("column"), p = ct::tensor3("p");
  const nn::SparseCategoricalCrossentropy loss({.reduction = "none"});
  const Array at = Array{0.5f, 0.5f, 0.25f, 0.75f, 0.875f, 0.125f}.reshape({1, 3, 2});
  const auto results = run(mode, {{c, Array{{0, 1, 1}}}, {column, Array{0, 1, 1}.reshape({1, 3, 1})}, {p, at}},
                           {loss(c, p), loss(column, p)});
  for (const Array& result : results) {
    CHECK(result.shape() == ct::Sizes{1, 3});
    check(result, {std::log(2), -std::log(0.75), std::log(8)});
  }
}

TEST_CASE("a loss is any function", "[nn]") {
  const Variable t = ct::vector("t"), p = ct::vector("p"), w = ct::vector("w");
  const nn::Loss cubes([](const Variable& a, const Variable& b) { return ct::pow(ct::abs(a - b), 3); },
                       {.reduction = "sum", .name = "cubes"});
  const nn::Loss whole([](const Variable& a, const Variable& b) { return ct::max(ct::abs(a - b)); });
  CHECK(cubes.name() == "cubes");
  CHECK(cubes.reduction() == nn::Reduction::sum);
  CHECK(whole.name() == "loss");
  const auto results = run("mode=run", {{t, Array{1.f, 2.f}}, {p, Array{3.f, 1.f}}, {w, Array{1.f, 3.f}}},
                           {cubes(t, p), cubes(t, p, w), whole(t, p), whole(t, p, w)});
  check(results[0], {9});
  check(results[1], {11});
  check(results[2], {2});
  check(results[3], {4});
}

TEST_CASE("C2.4: the average losses of replicas add up to that of the batch", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  // Replicas of 3 and 5 samples, with halves and quarters, whose sums are exact in any order.
  const Variable a = ct::vector("a"), b = ct::vector("b");
  const Array first{1.f, 2.5f, 5.f}, second{0.25f, 4.f, 0.5f, 3.f, 7.f};
  const nn::AverageLossOptions whole{.global_batch_size = 8};
  const auto shares =
      run(mode, {{a, first}, {b, second}}, {nn::compute_average_loss(a, whole), nn::compute_average_loss(b, whole)});
  CHECK(shares[0].item<float>() == 8.5f / 8);  // not 8.5 / 3
  CHECK(shares[0].item<float>() + shares[1].item<float>() == (8.5f + 14.75f) / 8);
  // The losses of a batch, without reduction, in parts.
  const nn::SparseCategoricalCrossentropy loss_of({.reduction = "none"}), mean_of;
  const Variable c = ct::ivector("c"), p = ct::matrix("p");
  const Variable each = loss_of(c, p);
  REQUIRE(each.rank() == 1);
  const auto sums =
      run(mode, {{c, Array{2, 0, 1}}, {p, Array{{0.5f, 0.25f, 0.25f}, {0.5f, 0.25f, 0.25f}, {1.f, 0.f, 0.f}}}},
          {nn::compute_average_loss(each, {.global_batch_size = 3}), mean_of(c, p)});
  CHECK(sums[0].item<float>() == Approx(sums[1].item<float>()).epsilon(1e-6));
}

TEST_CASE("C2.4: arguments of an average loss", "[nn]") {
  const Variable v = ct::vector("v");
  const Variable loss = nn::compute_average_loss(v, {.global_batch_size = 8});
  CHECK(run("mode=run", {{v, Array{1.f, 2.f, 5.f}}}, {loss})[0].item<float>() == 1);
  CHECK(run("mode=run", {{v, Array::zeros(DType::float32, {0})}}, {loss})[0].item<float>() == 0);
  CHECK(nn::compute_average_loss(ct::vector("half", DType::float16), {.global_batch_size = 8}).dtype() ==
        DType::float32);
  const std::string text = message([&] { nn::compute_average_loss(v, {}); });
  CHECK(has(text, "a global_batch_size of 0, where 1 or more is expected"));
  CHECK(has(text, "v is f32[?]"));
}

TEST_CASE("C2.3: class numbers against probabilities, a loss for each sample", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType labels = GENERATE(DType::int32, DType::int64, DType::uint8, DType::float32);
  CAPTURE(mode, ct::name_of(labels));
  const Variable p = ct::matrix("p"), y = ct::variable({labels, {ct::unknown_size}}, "y");
  const nn::SparseCategoricalCrossentropy each({.reduction = "none"}), mean, total({.reduction = "sum"});
  const auto results = run(mode,
                           {{p, Array{{0.25f, 0.5f, 0.25f}, {0.125f, 0.125f, 0.75f}, {1.f, 0.f, 0.f}, {1.f, 0.f, 0.f}}},
                            {y, Array{1, 2, 1, 0}.astype(labels).copy()}},
                           {each(y, p), mean(y, p), total(y, p), ct::grad(mean(y, p), p)});
  // Probabilities are clipped to 1e-7 ... 1 - 1e-7, which in float32 is 1 - 1.19e-7.
  const double least = -std::log(1e-7), most = -std::log1p(-1.1920929e-7), half = std::log(2), high = -std::log(0.75);
  check(results[0], {half, high, least, most}, 1e-5);
  check(results[1], {(half + high + least + most) / 4}, 1e-5);
  check(results[2], {half + high + least + most}, 1e-5);
  for (std::int64_t i = 0; i < 12; ++i) CHECK(std::isfinite(results[3].as_double(i)));
}

TEST_CASE("class numbers in floats are whole", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType labels = GENERATE(DType::float32, DType::float64, DType::float16);
  CAPTURE(mode, ct::name_of(labels));
  const Variable p = ct::matrix("p"), y = ct::variable({labels, {ct::unknown_size}}, "y"), w = ct::vector("w");
  const Variable loss = nn::SparseCategoricalCrossentropy()(y, p);
  const std::vector<Variable> counts = {nn::Metric("sparse_categorical_accuracy").counts(y, p, w),
                                        nn::Metric("sparse_top_k_categorical_accuracy").counts(y, p, w)};
  const Array rows{{0.25f, 0.75f}, {0.5f, 0.5f}}, ones{1.f, 1.f};
  const auto refusal = [&](double bad, const Variable& result, bool weighted) {
    const Array values = Array{0., bad}.astype(labels);
    std::vector<ct::Binding> given{{p, rows}, {y, values}};
    if (weighted) given.emplace_back(w, ones);
    return message([&] { run(mode, given, {result}); });
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [bad, text] : std::vector<std::pair<double, std::string>>{
           {0.75, "0.75"}, {-0.5, "-0.5"}, {1.5, "1.5"}, {nan, "nan"}, {inf, "inf"}, {-inf, "-inf"}}) {
    CAPTURE(text);
    CHECK(has(refusal(bad, loss, false), "sparse_categorical_crossentropy: a target of " + text +
                                             " is not a class; classes are whole numbers from 0 on"));
    CHECK(has(refusal(bad, counts[0], true),
              "sparse_categorical_accuracy: a target of " + text + " is not a class; classes are whole numbers"));
    CHECK(has(refusal(bad, counts[1], true), "a target of " + text + " is not a class"));
  }
  if (labels == DType::float32) CHECK(has(refusal(0.7, loss, false), "a target of 0.7 is not a class"));
  CHECK(has(refusal(-1, loss, false), "a target of -1 is not a class"));
  CHECK(refusal(-0., loss, false) == "no error");
}

TEST_CASE("losses say what they do not take", "[nn]") {
  CHECK_THROWS_AS(nn::Loss("rms"), ct::ValueError);
  CHECK(has(message([] { nn::Loss("rms"); }), "there is no loss \"rms\"; there are: mse, mean_squared_error, "));
  CHECK_THROWS_AS(nn::Hinge({.reduction = "mean"}), ct::ValueError);
  CHECK(message([] { nn::Hinge({.reduction = "mean"}); }) ==
        "there is no reduction \"mean\"; there are: sum_over_batch_size, sum, none");

  const Variable t = ct::tensor3("t"), p = ct::matrix("p"), v = ct::vector("v"), s = ct::scalar("s");
  const Variable z = ct::zmatrix("z"), c = ct::imatrix("c"), w = ct::matrix("w");
  const Variable ten = ct::variable({DType::float32, {ct::unknown_size, 10}}, "ten");
  const auto refused = [](const std::string& name, const Variable& target, const Variable& prediction) {
    CHECK_THROWS_AS(nn::Loss{name}(target, prediction), ct::TypeError);
    return message([&] { nn::Loss{name}(target, prediction); });
  };
  const std::string mse = refused("mse", v, ten);
  CHECK(has(mse, "mean_squared_error: target v is f32[?] (test_nn_losses.cpp:"));
  CHECK(has(mse, "prediction ten is f32[?, 10] (test_nn_losses.cpp:"));
  CHECK(has(mse, "one shape except for a last axis of size 1"));
  refused("mse", ten, v);
  refused("mse", v, t);
  refused("mse", s, s);
  CHECK(has(refused("mae", z, p), "complex numbers are not accepted"));
  CHECK(has(refused("categorical_crossentropy", v, p), "class numbers need the sparse version"));
  refused("categorical_crossentropy", v, v);
  refused("categorical_hinge", t, p);
  const std::string sparse = refused("sparse_categorical_crossentropy", ten, p);
  CHECK(has(sparse, "sparse_categorical_crossentropy: target ten is"));
  CHECK(has(sparse, "a target is the number of one class"));
  refused("sparse_categorical_crossentropy", t, p);
  refused("sparse_categorical_crossentropy", s, v);
  CHECK(has(message([&] { nn::Loss("mse")(p, p, t); }), "mse: t is f32[?, ?, ?] (test_nn_losses.cpp:"));
  CHECK_THROWS_AS(nn::Loss("mse")(p, p, t), ct::TypeError);
  CHECK_THROWS_AS(nn::CategoricalCrossentropy({.label_smoothing = 2})(p, p), ct::ValueError);

  const Variable three = ct::variable({DType::float32, {ct::unknown_size, 3}}, "three");
  CHECK_THROWS_AS(nn::Loss("mse")(three, ten), ct::ShapeError);
  const std::string sizes = message([&] { nn::Loss("mse")(three, ten); });
  CHECK(has(sizes, "target three is f32[?, 3] (test_nn_losses.cpp:"));
  CHECK(has(sizes, "prediction ten is f32[?, 10] (test_nn_losses.cpp:"));
  CHECK(has(sizes, ": a target has the sizes of the prediction"));

  // Sizes that are known only in the call.
  const Array one{{1.f}}, two{{1.f, 2.f}}, column = Array{1.f, 2.f}.reshape({2, 1});
  CHECK_THROWS_AS(run("mode=run", {{p, two}, {w, one}}, {nn::Loss("mse")(w, p)}), ct::ShapeError);
  CHECK_THROWS_AS(run("mode=run", {{p, one}, {w, column}}, {nn::Loss("mse")(w, p)}), ct::ShapeError);
  const Variable stated = ct::variable({DType::float32, {ct::unknown_size, 1}}, "stated");
  CHECK_THROWS_AS(run("mode=run", {{stated, one}, {w, two}}, {nn::Loss("mse")(w, stated)}), ct::ShapeError);
  CHECK_THROWS_AS(run("mode=run", {{v, Array{1.f}}, {w, two}}, {nn::Loss("mse")(v, w)}), ct::ShapeError);
  CHECK(has(message([&] { run("mode=run", {{v, Array{1.f}}, {w, two}}, {nn::Loss("mse")(v, w)}); }),
            "mean_squared_error: an axis that another lacks has size 1"));
  CHECK_THROWS_AS(run("mode=run", {{c, Array{{1, 0}}}, {w, two}}, {nn::Loss("sparse_categorical_crossentropy")(c, w)}),
                  ct::ShapeError);
  CHECK_THROWS_AS(run("mode=run", {{c, Array{{2}}}, {w, two}}, {nn::Loss("sparse_categorical_crossentropy")(c, w)}),
                  ct::IndexError);
}

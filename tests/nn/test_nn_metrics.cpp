// Metrics against Keras's numbers, over several batches, with weights, ties and nan. The numbers are those of
// keras.metrics of Keras 3.15.1 (jax, on the CPU): m.update_state(target, prediction, weight); m.result().
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include "../../src/nn/accuracy.hpp"
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

struct Part {
  Array target, prediction;
  std::optional<Array> weight = {};
};

double counted(const nn::Metric& metric, const std::vector<Part>& parts) {
  nn::Counter counter(metric);
  for (const Part& part : parts) counter.update(part.target, part.prediction, part.weight);
  return counter.result();
}

const Array classes{0, 2, 1, 3, 2};
const Array scores{{0.4f, 0.3f, 0.2f, 0.1f},
                   {0.1f, 0.2f, 0.3f, 0.4f},
                   {0.3f, 0.3f, 0.2f, 0.2f},
                   {0.25f, 0.25f, 0.25f, 0.25f},
                   {0.1f, 0.1f, 0.7f, 0.1f}};
const Array one_hot{
    {1.f, 0.f, 0.f, 0.f}, {0.f, 0.f, 1.f, 0.f}, {0.f, 1.f, 0.f, 0.f}, {0.f, 0.f, 0.f, 1.f}, {0.f, 0.f, 1.f, 0.f}};
const Array weights{1.f, 2.f, 0.5f, 3.f, 0.25f};

const Array labels{{1.f, 0.f}, {0.f, 0.f}, {1.f, 1.f}, {0.f, 1.f}};
const Array chances{{0.6f, 0.5f}, {0.3f, 0.9f}, {0.2f, 0.51f}, {0.5f, 0.8f}};
const Array label_weights{1.f, 2.f, 0.5f, 3.f};

const Array truth{{0.5f, -1.f, 2.f}, {1.25f, 0.f, -0.75f}}, guess{{0.25f, -1.5f, 4.f}, {1.f, -0.125f, 0.5f}};
const Array truth_weights{3.f, 0.5f};

Array columns(const Array& x, std::int64_t from, std::int64_t to) { return x.slice(0, from, to).copy(); }

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

TEST_CASE("metrics are Keras's, with and without weights", "[nn]") {
  struct Case {
    nn::Metric metric;
    Array target, prediction, weight;
    double plain, weighted;
  };
  const std::vector<Case> cases = {
      {"sparse_categorical_accuracy", classes, scores, weights, 0.4, 0.18518518518518517},
      {"categorical_accuracy", one_hot, scores, weights, 0.4, 0.18518518518518517},
      {nn::SparseTopKCategoricalAccuracy(1), classes, scores, weights, 0.8, 0.7037037037037037},
      {nn::TopKCategoricalAccuracy(1), one_hot, scores, weights, 0.8, 0.7037037037037037},
      {nn::SparseTopKCategoricalAccuracy(2), classes, scores, weights, 1, 1},
      {"top_k_categorical_accuracy", one_hot, scores, weights, 1, 1},
      {"sparse_top_k_categorical_accuracy", classes, scores, weights, 1, 1},
      {"binary_accuracy", labels, chances, label_weights, 0.75, 0.8076923076923077},
      {"precision", labels, chances, label_weights, 0.75, 0.6923076923076923},
      {"recall", labels, chances, label_weights, 0.75, 0.9},
      {"auc", labels, chances, label_weights, 0.5625, 0.675},
      {"rmse", truth, guess, truth_weights, 0.9960860906568267, 1.144669322181239},
      {"root_mean_squared_error", truth, guess, truth_weights, 0.9960860906568267, 1.144669322181239},
      {"mae", truth, guess, truth_weights, 0.7291666865348816, 0.863095257963453},
      {"sparse_categorical_crossentropy", Array{1, 0}, Array{{0.2f, 0.7f, 0.1f}, {0.5f, 0.125f, 0.5f}}, truth_weights,
       0.5838025, 0.4215685542641032},
  };
  const std::string mode = GENERATE(from_range(backends()));
  const ct::change_flags flags(mode);
  for (const Case& c : cases) {
    CAPTURE(mode, c.metric.name());
    CHECK(counted(c.metric, {{c.target, c.prediction}}) == Approx(c.plain).epsilon(1e-6));
    CHECK(counted(c.metric, {{c.target, c.prediction, c.weight}}) == Approx(c.weighted).epsilon(1e-6));
    const Array wide = c.prediction.astype(DType::float64).copy();
    CHECK(counted(c.metric, {{c.target, wide, c.weight}}) == Approx(c.weighted).epsilon(1e-6));
    const std::int64_t rows = c.target.shape(0);
    CHECK(counted(c.metric, {{columns(c.target, 0, 1), columns(c.prediction, 0, 1), columns(c.weight, 0, 1)},
                             {columns(c.target, 1, rows), columns(c.prediction, 1, rows), columns(c.weight, 1, rows)},
                             {columns(c.target, 0, 0), columns(c.prediction, 0, 0), columns(c.weight, 0, 0)}}) ==
          Approx(c.weighted).epsilon(1e-6));
    CHECK(counted(c.metric, {}) == 0);
    CHECK(counted(c.metric, {{columns(c.target, 0, 0), columns(c.prediction, 0, 0)}}) == 0);
  }
}

TEST_CASE("the metric of cosines is 1 for equal vectors, the loss -1", "[nn]") {
  CHECK(counted("cosine_similarity", {{truth, truth}}) == Approx(1));
  CHECK(counted("cosine_similarity", {{truth, guess}}) ==
        Approx((9.625 / std::sqrt(5.25 * 18.3125) + 0.875 / std::sqrt(2.125 * 1.265625)) / 2));
  CHECK(nn::Loss("cosine_similarity")(ct::constant(truth), ct::constant(truth)).eval().as_double(0) == Approx(-1));
  CHECK(nn::Metric("cosine_similarity").better() == nn::Better::larger);
}

TEST_CASE("metrics with another threshold are Keras's", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const ct::change_flags flags(mode);
  CAPTURE(mode);
  const std::vector<Part> batch = {{labels, chances, label_weights}};
  CHECK(counted(nn::BinaryAccuracy(0.25), batch) == Approx(0.34615384615384615));
  CHECK(counted(nn::Precision(0.25), batch) == Approx(0.36));
  CHECK(counted(nn::Recall(0.55), batch) == Approx(0.8));
}

TEST_CASE("the area under the curve is Keras's", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const ct::change_flags flags(mode);
  CAPTURE(mode);
  CHECK(counted(nn::AUC(5), {{labels, chances, label_weights}}) == Approx(0.75));
  CHECK(counted(nn::AUC(2), {{labels, chances}}) == Approx(0.5));
  // i = np.arange(60); t = ((i * i) % 7 < 3).astype(float); p = ((i * 37) % 101) / 101. * .7 + .3 * t * ((i % 5) > 1)
  std::vector<float> t, p;
  for (int i = 0; i < 60; ++i) {
    const int yes = i * i % 7 < 3;
    t.push_back(static_cast<float>(yes));
    p.push_back(static_cast<float>((i * 37 % 101) / 101. * 0.7 + 0.3 * yes * (i % 5 > 1)));
  }
  CHECK(counted("auc", {{t, p}}) == Approx(0.6196990424076607).epsilon(1e-6));
  CHECK(counted(nn::AUC(11), {{t, p}}) == Approx(0.6333789329685363).epsilon(1e-6));
  const Array halves{0, 0, 1, 1};
  CHECK(counted("auc", {{halves, Array{0.f, 0.5f, 0.3f, 0.9f}}}) == Approx(0.75));
  CHECK(counted("auc", {{halves, Array{0.f, 0.f, 1.f, 1.f}}}) == 1);
  CHECK(counted("auc", {{Array{1, 1, 1}, Array{0.f, 0.f, 1.f}}}) == 0);
  // Values below 0 or above 1 are 0 or 1.
  CHECK(counted("auc", {{halves, Array{-5.f, 0.f, 1.f, 7.f}}}) == 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(counted("auc", {{halves, Array{nan, nan, nan, nan}}}) == 0);
}

TEST_CASE("sequences count step by step", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const ct::change_flags flags(mode);
  CAPTURE(mode);
  const Array target{{0, 1}, {2, 0}};
  const Array prediction =
      Array{0.5f, 0.3f, 0.2f, 0.1f, 0.8f, 0.1f, 0.4f, 0.4f, 0.2f, 0.1f, 0.3f, 0.6f}.reshape({2, 2, 3});
  const nn::SparseCategoricalAccuracy accuracy;
  CHECK(counted(accuracy, {{target, prediction}}) == 0.5);
  CHECK(counted(accuracy, {{target, prediction, Array{{1.f, 2.f}, {3.f, 0.5f}}}}) == Approx(0.46153846153846156));
  CHECK(counted(accuracy, {{target, prediction, Array{1.f, 3.f}}}) == Approx(0.25));
  CHECK(counted(accuracy, {{target.reshape({2, 2, 1}), prediction, Array{1.f, 3.f}}}) == Approx(0.25));
  CHECK(counted(nn::SparseTopKCategoricalAccuracy(2), {{target, prediction}}) == 0.5);
  // A mask as weights: the two unmasked steps are right.
  CHECK(counted(accuracy, {{target, prediction, Array{{true, true}, {false, false}}}}) == 1);
  CHECK(counted(accuracy, {{target, prediction, Array{{false, false}, {false, false}}}}) == 0);
}

TEST_CASE("predictions with nan, and classes that there are not, are never right", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  const ct::change_flags flags(mode);
  CAPTURE(mode);
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Array rows{{nan, 1.f}, {1.f, nan}, {nan, nan}, {1.f, 0.f}}, hot{{1.f, 0.f}, {1.f, 0.f}, {1.f, 0.f}, {1.f, 0.f}};
  const Array first{0, 0, 0, 0};
  CHECK(counted("sparse_categorical_accuracy", {{first, rows}}) == 0.25);
  CHECK(counted("categorical_accuracy", {{hot, rows}}) == 0.25);
  CHECK(counted("sparse_top_k_categorical_accuracy", {{first, rows}}) == 0.25);
  CHECK(counted("top_k_categorical_accuracy", {{hot, rows}}) == 0.25);
  CHECK(counted("binary_accuracy", {{Array{0, 1, 0}, Array{nan, nan, 0.f}}}) == Approx(1. / 3));
  const Array good{{1.f, 0.f}, {0.f, 1.f}, {inf, 0.f}, {0.f, -inf}};
  CHECK(counted("sparse_categorical_accuracy", {{Array{-1, 2, 0, 0}, good}}) == 0.5);
  CHECK(counted("sparse_top_k_categorical_accuracy", {{Array{-1, 2, 0, 1}, good}}) == 0.5);
}

TEST_CASE("targets and predictions of metrics have the shapes of losses", "[nn]") {
  const Array t{1.f, 0.f, 1.f, 1.f}, p{0.9f, 0.1f, 0.2f, 0.8f};
  const Array column = p.reshape({4, 1}), target = t.reshape({4, 1}), w{1.f, 1.f, 2.f, 1.f};
  for (const Part& part : std::vector<Part>{{t, p}, {t, column}, {target, p}, {target, column}}) {
    CHECK(counted("binary_accuracy", {part}) == 0.75);
    CHECK(counted("recall", {part}) == Approx(2. / 3));
    CHECK(counted("precision", {part}) == 1);
    CHECK(counted("accuracy", {part}) == 0.75);
    CHECK(counted("auc", {{part.target, part.prediction, w}}) == 1);
    CHECK(counted("recall", {{part.target, part.prediction, w}}) == 0.5);
    CHECK(counted("recall", {{part.target, part.prediction, w.reshape({4, 1})}}) == 0.5);
    CHECK(counted("mae", {{part.target, part.prediction, w.reshape({4, 1})}}) == Approx((0.1 + 0.1 + 1.6 + 0.2) / 5));
  }
  CHECK(counted("binary_accuracy", {{Array{true, false, true, true}, p}}) == 0.75);
  CHECK(counted("recall", {{Array{1, 0, 1, 1}, p.astype(DType::float16).copy()}}) == Approx(2. / 3));
}

TEST_CASE("accuracy is the one that fits", "[nn]") {
  const nn::Metric any = "accuracy";
  CHECK(any.is_any_accuracy());
  CHECK(nn::Metric("acc").is_any_accuracy());
  CHECK(nn::Metric("acc").name() == "acc");
  CHECK(any.states() == 2);
  const nn::Loss binary = "binary_crossentropy", sparse = "sparse_categorical_crossentropy",
                 rows = "categorical_crossentropy", mse = "mse";
  const nn::BinaryCrossentropy own({.name = "own"});
  // Its arguments determine its kind.
  const auto kind = [&](const nn::Loss* loss, int target, int prediction, std::optional<std::int64_t> size) {
    const nn::Metric metric = nn::resolved_accuracy(any, loss, target, prediction, size);
    CHECK(metric.name() == "accuracy");
    CHECK(!metric.is_any_accuracy());
    const Variable p = ct::matrix("p"), w = ct::vector("w");
    const std::string refused = message([&] { metric.counts(ct::tensor4("t"), p, w); });
    return refused.substr(0, refused.find(':'));
  };
  CHECK(kind(&binary, 2, 2, 3) == "binary_accuracy");
  CHECK(kind(&own, 2, 2, 3) == "binary_accuracy");
  CHECK(kind(&mse, 2, 2, 1) == "binary_accuracy");
  CHECK(kind(nullptr, 1, 2, 1) == "binary_accuracy");
  CHECK(kind(nullptr, 1, 1, {}) == "binary_accuracy");
  CHECK(kind(&sparse, 2, 2, 3) == "sparse_categorical_accuracy");
  CHECK(kind(&sparse, 1, 2, {}) == "sparse_categorical_accuracy");
  CHECK(kind(&mse, 1, 2, 3) == "sparse_categorical_accuracy");
  CHECK(kind(&rows, 2, 2, 3) == "categorical_accuracy");
  CHECK(kind(&mse, 3, 3, 5) == "categorical_accuracy");
  CHECK(kind(nullptr, 2, 2, {}) == "categorical_accuracy");

  CHECK(counted(any, {{classes, scores}}) == 0.4);
  CHECK(counted(any, {{classes.reshape({5, 1}), scores}}) == 0.4);
  CHECK(counted(any, {{one_hot, scores}}) == 0.4);
}

TEST_CASE("C5.7: counters are merged by their counts, and reset", "[nn]") {
  const nn::Metric accuracy = nn::SparseCategoricalAccuracy("mine");
  nn::Counter a(accuracy), b(accuracy);
  a.update(columns(classes, 0, 2), columns(scores, 0, 2), columns(weights, 0, 2));
  b.update(columns(classes, 2, 5), columns(scores, 2, 5), columns(weights, 2, 5));
  a.merge(b);
  CHECK(a.result() == Approx(0.18518518518518517));
  nn::Counter copy = a;
  a.reset();
  CHECK(a.result() == 0);
  CHECK(copy.result() == Approx(0.18518518518518517));
  a.update(Array{3}, columns(scores, 1, 2));
  CHECK(a.result() == 1);
  // Other dtypes and ranks have separate functions.
  a.update(Array{std::int64_t{0}}, columns(scores, 1, 2).astype(DType::float64).copy());
  a.update(Array{{3}}, columns(scores, 1, 2), Array{2.});
  CHECK(a.result() == 0.75);
  CHECK(message([&] { a.merge(nn::Counter("auc")); }) == "counts of mine and of auc are not of one metric");
  CHECK_THROWS_AS(a.merge(nn::Counter("auc")), ct::ValueError);
}

TEST_CASE("a metric is any function", "[nn]") {
  const nn::Metric worst(
      "worst", 1,
      [](const Variable& t, const Variable& p, const Variable&) {
        return ct::expand_dims(ct::cast(ct::max(ct::abs(t - p)), DType::float64), 0);
      },
      [](std::span<const double> counts) { return counts[0]; });
  CHECK(counted(worst, {{truth, guess}}) == 2);
  const nn::Metric mean("mean", [](const Variable& t, const Variable& p) { return ct::max(ct::abs(t - p), -1); });
  CHECK(mean.states() == 2);
  CHECK(counted(mean, {{truth, guess, truth_weights}}) == Approx((3 * 2 + 0.5 * 1.25) / 3.5));
}

TEST_CASE("counts are float64, whatever they count", "[nn]") {
  const Variable p = ct::matrix("p", DType::float16), t = ct::matrix("t", DType::int8), w = ct::vector("w");
  for (const char* name : {"binary_accuracy", "precision", "recall", "auc", "rmse", "mse", "categorical_accuracy"}) {
    const nn::Metric metric = name;
    const Variable counts = metric.counts(t, p, w);
    INFO(name);
    CHECK(counts.dtype() == DType::float64);
    CHECK(counts.rank() == 1);
    CHECK(metric.states() == (std::string(name) == "auc" ? 400 : 2));
  }
}

TEST_CASE("metrics say what they do not take", "[nn]") {
  CHECK_THROWS_AS(nn::Metric("f1"), ct::ValueError);
  const std::string unknown = message([] { nn::Metric("f1"); });
  CHECK(has(unknown, "there is no metric \"f1\"; there are: accuracy, binary_accuracy, "));
  CHECK(has(unknown, ", auc, "));
  CHECK(has(unknown, ", cosine_similarity"));
  CHECK(message([] { nn::AUC(1); }) == "auc: 1 thresholds, where 2 or more are expected");
  CHECK_THROWS_AS(nn::AUC(1), ct::ValueError);
  CHECK(message([] { nn::TopKCategoricalAccuracy(0); }) ==
        "top_k_categorical_accuracy: k is 0, where 1 or more is expected");
  CHECK_THROWS_AS(nn::SparseTopKCategoricalAccuracy(0), ct::ValueError);

  nn::Counter precision("precision");
  CHECK_THROWS_AS(precision.update(Array{1.f}, guess), ct::ShapeError);
  CHECK(has(message([&] { precision.update(Array(1.f), guess); }),
            "precision: target target is f32[] (test_nn_metrics.cpp:"));
  CHECK(has(message([&] { precision.update(Array(1.f), Array(1.f)); }), "the prediction is one number"));
  CHECK(has(message([&] { precision.update(truth, guess, Array::zeros(DType::float32, {2, 3, 1, 1})); }),
            "precision: weight is f32[?, ?, ?, ?] (test_nn_metrics.cpp:"));
  nn::Counter sparse("sparse_categorical_accuracy");
  CHECK(has(message([&] { sparse.update(Array::zeros(DType::int32, {2, 2, 2}), guess); }),
            "sparse_categorical_accuracy: target target is i32[?, ?, ?]"));
  CHECK_THROWS_AS(sparse.update(Array{1, 2, 3}, guess), ct::ShapeError);
  // A failed update counts nothing.
  CHECK(sparse.result() == 0);
}

// Training: steps, counts of epochs, and continuing from a checkpoint.
#include "catch.hpp"

#include <croton/croton.hpp>
#include <croton/io.hpp>
#include <croton/nn.hpp>

#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "backends.hpp"

namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;
using ct::DType;

namespace {

Array numbers(ct::Sizes shape, std::uint64_t seed) {
  return Array::uniform(DType::float32, std::move(shape), seed, -1, 1);
}

/// Class numbers determined by x: the index of the largest of its first three columns.
Array classes_of(const Array& x) {
  Array y = Array::zeros(DType::int32, {x.shape(0)});
  for (std::int64_t i = 0; i < x.shape(0); ++i) {
    int best = 0;
    for (int j = 1; j < 3; ++j) {
      if (x.at<float>(i, j) > x.at<float>(i, best)) best = j;
    }
    y.at<std::int32_t>(i) = best;
  }
  return y;
}

nn::Sequential small_model(std::uint64_t seed = 1) {
  nn::set_seed(seed);
  return nn::Sequential{nn::Dense(16, {.activation = "relu", .input_shape = {5}}),
                        nn::Dense(3, {.activation = "softmax"})};
}

const nn::FitOptions quiet{.verbose = nn::Verbose::silent};

nn::FitOptions epochs(std::int64_t count, std::int64_t batch = 32) {
  nn::FitOptions options = quiet;
  options.epochs = count;
  options.batch_size = batch;
  return options;
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("croton_fit_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const ct::Error& error) {
    return error.what();
  }
  return "nothing was raised";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Everything that is trained and counted, on data of few rows.
nn::Sequential model_with_everything() {
  nn::set_seed(7);
  return nn::Sequential{nn::Conv1D(6, 3, {.padding = "same", .activation = "relu", .input_shape = {8, 2}}),
                        nn::BatchNormalization(), nn::Dropout(0.25), nn::LSTM(5, {.dropout = 0.2}),
                        nn::Dense(3, {.activation = "softmax", .kernel_regularizer = "l2"})};
}

}  // namespace

TEST_CASE("C5.3: losses and optimizers by name", "[nn]") {
  const Array x = numbers({64, 5}, 1), y = classes_of(x);
  Array hot = Array::zeros(DType::float32, {64, 3});
  for (std::int64_t i = 0; i < 64; ++i) hot.at<float>(i, y.at<std::int32_t>(i)) = 1;
  for (const char* optimizer : {"sgd", "rmsprop", "adam", "adamw", "adagrad", "adadelta"}) {
    nn::Sequential model = small_model();
    model.compile({.loss = "categorical_crossentropy", .optimizer = optimizer});
    const nn::History history = model.fit(x, hot, epochs(2));
    INFO(optimizer);
    CHECK(history["loss"].size() == 2);
    CHECK(history["loss"][1] < history["loss"][0]);
  }
  const nn::Optimizer rmsprop("rmsprop");
  CHECK(rmsprop.learning_rate() == Approx(1e-3));
  CHECK(contains(message_of([] { nn::Optimizer("rmsprob"); }), "rmsprop"));
  CHECK(contains(message_of([] { nn::Loss("mean_cubed_error"); }), "mean_squared_error"));
  CHECK(contains(message_of([] { nn::Metric("acuracy"); }), "sparse_categorical_accuracy"));
  // The first step: s = 0.1 g^2, w -= 1e-3 g / sqrt(s + 1e-7).
  const ct::SharedVariable w = ct::shared(Array{1.f, 1.f}, {.name = "w"});
  const Array g{2.f, 1e-4f};
  ct::function({}, ct::OutputList(std::vector<ct::Variable>{}),
               {.updates = rmsprop.apply_gradients({{ct::constant(g), w}})})();
  for (std::int64_t i = 0; i < 2; ++i) {
    const double slope = g.as_double(i);
    CHECK(1 - w.get_value().as_double(i) == Approx(1e-3 * slope / std::sqrt(0.1 * slope * slope + 1e-7)).epsilon(1e-3));
  }
}

TEST_CASE("C5.4: the last batch is smaller, and counts as much as it has", "[nn]") {
  const Array x = numbers({100, 5}, 2), y = classes_of(x);
  for (const std::string& backend : croton_test::compiled_backends()) {
    const ct::change_flags flags(backend);
    INFO(backend);
    nn::Sequential model = small_model();
    // With a rate of 0 the loss of an epoch is that of all samples, for every division into batches.
    model.compile({.loss = "sparse_categorical_crossentropy",
                   .optimizer = nn::SGD({.learning_rate = 0.0}),
                   .metrics = {"sparse_categorical_accuracy"}});
    const nn::History cut = model.fit(x, y, epochs(1, 32)), whole = model.fit(x, y, epochs(1, 100));
    CHECK(cut["loss"][0] == Approx(whole["loss"][0]).epsilon(1e-6));
    CHECK(cut["sparse_categorical_accuracy"][0] == Approx(whole["sparse_categorical_accuracy"][0]));
    const nn::Logs evaluated = model.evaluate(x, y, {.batch_size = 7});
    CHECK(evaluated["loss"] == Approx(whole["loss"][0]).epsilon(1e-6));
    const Array p = model.predict(x, {.batch_size = 33});
    REQUIRE(p.shape() == ct::Sizes{100, 3});
    double loss = 0, right = 0;
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::int32_t target = y.at<std::int32_t>(i);
      loss -= std::log(static_cast<double>(p.at<float>(i, target))) / 100;
      bool best = true;
      for (int j = 0; j < 3; ++j) best = best && p.at<float>(i, j) <= p.at<float>(i, target);
      right += best ? 0.01 : 0;
    }
    CHECK(evaluated["loss"] == Approx(loss).epsilon(1e-5));
    CHECK(evaluated["sparse_categorical_accuracy"] == Approx(right));
  }
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy"});
  std::int64_t batches = 0;
  nn::LambdaCallback count;
  count.batch_end = [&](nn::Model&, std::int64_t, const nn::Logs&) { ++batches; };
  nn::FitOptions options = epochs(3, 32);
  options.callbacks = {count};
  const nn::History history = model.fit(x, y, options);
  CHECK(batches == 12);
  CHECK(history.epochs == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("a step of training is one function", "[nn]") {
  const Array x = numbers({64, 5}, 3), y = classes_of(x);
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "adam", .metrics = {"accuracy"}});
  model.fit(x, y, epochs(2, 16));
  const ct::Function step = model.train_function();
  CHECK(step.counts().calls == 8);  // for 2 epochs of 4 batches
  // One launch for all parameters and the optimizer's states of them.
  CHECK(contains(step.plan(), "one launch of"));
  // A step keeps only what changes: no result returns to the caller.
  CHECK(!contains(step.plan(), " output "));
}

TEST_CASE("C5.6: the activation of a convolution under a global maximum is not stored", "[nn]") {
  nn::set_seed(3);
  nn::Sequential model{nn::Conv2D(32, 3, {.activation = "relu", .input_shape = {28, 28, 1}}), nn::GlobalMaxPooling2D(),
                       nn::Dense(10)};
  CHECK(model.count_params() == 650);
  model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}), .optimizer = "adam"});
  Array images = Array::uniform(DType::float32, {8, 28, 28, 1}, 5, 0, 1);
  Array labels = Array::zeros(DType::int32, {8});
  model.fit(images, labels, epochs(1, 8));
  // Neither in the forward pass nor in the gradient.
  CHECK(!contains(model.train_function().plan(), "26, 26, 32"));
}

TEST_CASE("C5.7: logits, SparseCategoricalAccuracy and Adam", "[nn]") {
  const Array x = numbers({96, 5}, 4), y = classes_of(x);
  for (const std::string& backend : croton_test::compiled_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    nn::set_seed(2);
    nn::Sequential model{nn::Dense(3, {.kernel_initializer = "zeros", .input_shape = {5}})};
    model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                   .optimizer = nn::Adam({.learning_rate = 0.5}),
                   .metrics = {nn::SparseCategoricalAccuracy()}});
    const nn::History history = model.fit(x, y, epochs(4));
    CHECK(history["sparse_categorical_accuracy"][3] > 0.9);
    CHECK(history["loss"][3] < history["loss"][0]);
    // Logits without a finite softmax in float32: 1e4 times the columns.
    Array kernel = Array::zeros(DType::float32, {5, 3});
    for (std::int64_t i = 0; i < 3; ++i) kernel.at<float>(i, i) = -1e4f;
    model.set_weights({kernel, Array::zeros(DType::float32, {3})});
    double loss = 0;
    for (std::int64_t i = 0; i < 96; ++i) {
      const std::int32_t target = y.at<std::int32_t>(i);
      const float least = std::min({x.at<float>(i, 0), x.at<float>(i, 1), x.at<float>(i, 2)});
      loss += 1e4 * (double{x.at<float>(i, target)} - least) / 96;
    }
    const nn::Logs logs = model.evaluate(x, y);
    CHECK(logs["loss"] == Approx(loss).epsilon(1e-3));
    CHECK(logs["sparse_categorical_accuracy"] == 0);
    CHECK(std::isfinite(model.fit(x, y, epochs(1))["loss"][0]));
  }
}

TEST_CASE("C2.1, C2.3, C2.4, C2.5, C2.6: a step of training written out", "[nn]") {
  // As in the original programs, on one device.
  const Array images = numbers({16, 5}, 6), labels = classes_of(images);
  for (const std::string& backend : croton_test::compiled_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto make = [] {
      nn::set_seed(8);
      return nn::Sequential{nn::Dense(12, {.activation = "relu", .input_shape = {5}}),
                            nn::Dense(3, {.activation = "softmax"})};
    };
    nn::Sequential model = make(), fitted = make();
    nn::Adam adam;
    nn::SparseCategoricalCrossentropy loss_of({.reduction = "none"});
    const ct::Variable x = ct::matrix("x"), y = ct::ivector("y");
    const ct::Variable loss = nn::compute_average_loss(loss_of(y, model(x)), {.global_batch_size = 16});
    const ct::Function train = ct::function(
        {x, y}, loss,
        {.updates =
             adam.apply_gradients(nn::zip(ct::grad(loss, model.trainable_variables()), model.trainable_variables()))});
    fitted.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "adam"});
    for (int step = 0; step < 5; ++step) {
      const double written = train(images, labels).item<float>();
      CHECK(written == Approx(fitted.train_on_batch({{images}, {labels}})["loss"]).epsilon(1e-5));
    }
    CHECK(adam.iterations() == 5);
    const std::vector<Array> a = model.get_weights(), b = fitted.get_weights();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].all_close(b[i], 1e-4, 1e-6));
  }
}

TEST_CASE("C5.7: metrics are reset in each epoch", "[nn]") {
  const Array x = numbers({96, 5}, 4), y = classes_of(x);
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy",
                 .optimizer = nn::Adam({.learning_rate = 0.02}),
                 .metrics = {nn::SparseCategoricalAccuracy()}});
  const nn::History history = model.fit(x, y, epochs(30, 16));
  const std::vector<double> accuracy = history["sparse_categorical_accuracy"];
  CHECK(accuracy.front() < 0.7);
  CHECK(accuracy.back() > 0.9);
}

TEST_CASE("metrics of one name are counted each, and none takes the place of the loss", "[nn]") {
  nn::set_seed(1);
  nn::Sequential model{nn::Dense(1, {.activation = "sigmoid", .input_shape = {3}})};
  const Array x = numbers({32, 3}, 1), y = Array::uniform(DType::float32, {32, 1}, 2, 0, 1.99).astype(DType::int32);
  model.compile({.loss = "binary_crossentropy",
                 .optimizer = nn::SGD({.learning_rate = 0.0}),
                 .metrics = {nn::Precision(0.3), nn::Precision(0.6), "accuracy", nn::Precision(0.5), "accuracy"}});
  const nn::History history = model.fit(x, y, epochs(1, 8));
  CHECK(history.names() ==
        std::vector<std::string>{"loss", "precision", "precision_1", "accuracy", "precision_2", "accuracy_1"});
  const Array chances = model.predict(x);
  const auto precision = [&](double threshold) {
    nn::Counter counter{nn::Precision(threshold)};
    counter.update(y, chances);
    return counter.result();
  };
  CHECK(history["precision"][0] == Approx(precision(0.3)));
  CHECK(history["precision_1"][0] == Approx(precision(0.6)));
  CHECK(history["precision_2"][0] == Approx(precision(0.5)));
  CHECK(precision(0.3) != precision(0.6));
  CHECK(model.better("val_precision_1") == nn::Better::larger);
  const auto named = [&](const char* name) {
    return message_of([&] {
      model.compile({.loss = "mse", .metrics = {nn::Metric(name, [](const ct::Variable& t, const ct::Variable& p) {
                                      return ct::mean(p - t, -1);
                                    })}});
    });
  };
  CHECK(named("loss") ==
        "sequential: a metric is named \"loss\", which is reserved for the loss; give it another name");
  CHECK(contains(named("val_loss"), "which is reserved for a number of the validation data"));
}

TEST_CASE("weights of samples and classes are for the metrics that asked for them", "[nn]") {
  nn::Sequential model{nn::Dense(2, {.activation = "softmax",
                                     .kernel_initializer = "zeros",
                                     .bias_initializer = nn::values_of(Array{1.f, 0.f}),
                                     .input_shape = {1}})};
  model.compile({.loss = "sparse_categorical_crossentropy",
                 .optimizer = nn::SGD({.learning_rate = 0.0}),
                 .metrics = {"accuracy"},
                 .weighted_metrics = {"accuracy", "acc", "accuracy"}});
  const Array x = numbers({4, 1}, 1), y{0, 0, 1, 1};
  // The predicted class is 0: as in Keras 3.15, half of the samples, and the same share of their weights.
  nn::FitOptions by_class = epochs(1), by_sample = epochs(1);
  by_class.class_weight = {{1, 3.0}};
  by_sample.sample_weight = Array{1.f, 1.f, 0.f, 0.f};
  const auto check = [](const nn::Logs& logs, double weighted) {
    CHECK(logs["accuracy"] == 0.5);
    CHECK(logs["weighted_accuracy"] == Approx(weighted));
    CHECK(logs["acc"] == Approx(weighted));
    CHECK(logs["weighted_accuracy_1"] == Approx(weighted));
  };
  check(model.fit(x, y, by_class).logs[0], 0.25);
  check(model.fit(x, y, by_sample).logs[0], 1);
  check(model.evaluate(x, y, {.sample_weight = Array{1.f, 1.f, 0.f, 0.f}}), 1);
  check(model.fit(x, y, epochs(1)).logs[0], 0.5);
  CHECK(model.better("val_weighted_accuracy") == nn::Better::larger);

  // A mask applies to both: the steps after it have no target.
  nn::Sequential masked{nn::Masking(0.0, nn::Shape{2, 1}),
                        nn::Dense(2, {.activation = "softmax",
                                      .kernel_initializer = "zeros",
                                      .bias_initializer = nn::values_of(Array{1.f, 0.f})})};
  masked.compile(
      {.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}, .weighted_metrics = {"accuracy"}});
  const Array steps = Array{1.f, 0.f, 1.f, 1.f}.reshape({2, 2, 1}), classes = Array{0, 1, 0, 1}.reshape({2, 2});
  const nn::Logs plain = masked.evaluate(steps, classes);
  CHECK(plain["accuracy"] == Approx(2. / 3));
  CHECK(plain["weighted_accuracy"] == Approx(2. / 3));
  const nn::Logs logs = masked.evaluate(steps, classes, {.sample_weight = Array{4.f, 1.f}});
  CHECK(logs["accuracy"] == Approx(2. / 3));
  CHECK(logs["weighted_accuracy"] == Approx(5. / 6));
}

TEST_CASE("C5.8: any sequence of batches is learnt from, and callbacks hear of it in order", "[nn]") {
  const Array x = numbers({40, 5}, 5), y = classes_of(x);
  std::vector<std::pair<Array, Array>> batches;
  for (std::int64_t i = 0; i < 40; i += 10) batches.emplace_back(x.slice(0, i, i + 10), y.slice(0, i, i + 10));
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "sgd"});
  std::string heard;
  nn::LambdaCallback listener;
  listener.train_begin = [&](nn::Model&) { heard += "("; };
  listener.epoch_begin = [&](nn::Model&, std::int64_t) { heard += "["; };
  listener.batch_begin = [&](nn::Model&, std::int64_t batch) { heard += std::to_string(batch); };
  listener.batch_end = [&](nn::Model& m, std::int64_t batch, const nn::Logs& logs) {
    heard += logs.find("loss") ? "." : "?";
    if (heard.size() > 15 && batch == 1) m.stop_training();
  };
  listener.epoch_end = [&](nn::Model&, std::int64_t, nn::Logs& logs) {
    logs.set("own", 1);
    heard += "]";
  };
  listener.train_end = [&](nn::Model&, const nn::History&) { heard += ")"; };
  nn::FitOptions options = epochs(12);
  options.callbacks = {listener};
  const nn::History history = model.fit(nn::Dataset(batches), options);
  CHECK(heard == "([0.1.2.3.][0.1.])");
  CHECK(history["own"] == std::vector<double>{1, 1});
  const nn::Logs logs = model.evaluate(nn::Dataset(batches));
  CHECK(std::isfinite(logs["loss"]));
}

TEST_CASE("a training goes on from a checkpoint with the same bits", "[nn]") {
  const Array x = numbers({50, 8, 2}, 6);
  const Array y = classes_of(numbers({50, 5}, 7));
  const Folder folder;
  const std::string kind = GENERATE(std::string("state.safetensors"), "state.npz");
  CAPTURE(kind);
  const std::filesystem::path file = folder / kind.c_str();
  for (const std::string& backend : croton_test::compiled_backends()) {
    const ct::change_flags flags(backend);
    INFO(backend);
    const auto compiled = [] {
      nn::Sequential model = model_with_everything();
      model.compile({.loss = "sparse_categorical_crossentropy",
                     .optimizer = nn::Adam({.learning_rate = nn::ExponentialDecay(0.01, 10, 0.9)}),
                     .metrics = {"accuracy"}});
      return model;
    };
    nn::Sequential whole = compiled(), first = compiled(), second = compiled();
    const nn::History all = whole.fit(x, y, epochs(4, 16));
    first.fit(x, y, epochs(2, 16));
    first.save_checkpoint(file);
    // Other weights, which loading replaces.
    for (const ct::SharedVariable& weight : second.trainable_variables())
      ct::SharedVariable(weight).set_value(Array::zeros(DType::float32, weight.get_value().shape()));
    second.load_checkpoint(file);
    const nn::History rest = second.fit(x, y, epochs(4, 16));
    CHECK(rest.epochs == std::vector<std::int64_t>{2, 3});
    CHECK(rest["loss"][1] == all["loss"][3]);
    const std::vector<Array> a = whole.get_weights(), b = second.get_weights();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].same_bits(b[i]));
    // Weights alone can be read from it too.
    nn::Sequential third = compiled();
    third.load_weights(file);
    CHECK(third.get_weights()[0].same_bits(first.get_weights()[0]));
  }
  nn::Sequential other = small_model();
  other.compile({.loss = "mse"});
  CHECK(contains(message_of([&] { other.load_checkpoint(file); }), "does not fit the model"));
  other.fit(numbers({4, 5}, 1), numbers({4, 3}, 2), epochs(1));
  const std::filesystem::path weights = folder / "weights.npz";
  other.save_weights(weights);
  CHECK(contains(message_of([&] { other.load_checkpoint(weights); }), "is not a checkpoint of a training"));
}

TEST_CASE("an epoch of so many steps goes on where the one before ended", "[nn]") {
  // The loss of batch i is i * i.
  std::vector<std::pair<Array, Array>> batches;
  for (int i = 1; i <= 5; ++i)
    batches.emplace_back(Array::full(DType::float32, {2, 1}, i), Array::full(DType::float32, {2, 1}, i));
  nn::Sequential model{nn::Dense(1, {.kernel_initializer = "zeros", .input_shape = {1}})};
  model.compile({.loss = "mse", .optimizer = nn::SGD({.learning_rate = 0.0})});
  nn::FitOptions options = epochs(4);
  options.steps_per_epoch = 2;
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  const std::vector<double> losses = model.fit(nn::Dataset(batches), options)["loss"];
  options.steps_per_epoch = 5;
  model.fit(nn::Dataset(batches), options);
  std::cerr.rdbuf(before);
  CHECK(losses == std::vector<double>{2.5, 12.5, 25, 2.5});
  CHECK(said.str() ==
        "croton: warning: sequential: the data ended after 1 of the 2 steps of epoch 3; the next epoch begins with its "
        "first batch again (Dataset::repeat makes data longer)\n");
  options.steps_per_epoch = 0;
  CHECK(contains(message_of([&] { model.fit(nn::Dataset(batches), options); }), "0 steps_per_epoch, where 1 or more"));
}

TEST_CASE("a second training has other orders of samples, and a checkpoint of it the same ones", "[nn]") {
  const Array x = numbers({50, 5}, 8), y = classes_of(x);
  const Folder folder;
  const std::string kind = GENERATE(std::string("state.safetensors"), "state.npz");
  const std::optional<std::int64_t> steps = GENERATE(std::optional<std::int64_t>(), 2, 3);
  CAPTURE(kind, steps.value_or(0));
  const ct::change_flags quietly("warn=false");  // data of 5 batches ends within an epoch
  const std::filesystem::path file = folder / kind.c_str();
  const auto compiled = [] {
    nn::Sequential model = small_model();
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "adam"});
    return model;
  };
  const auto fit = [&](nn::Sequential& model, std::int64_t count, std::optional<std::int64_t> initial = {}) {
    nn::FitOptions options = epochs(count, 10);
    options.steps_per_epoch = steps;
    options.initial_epoch = initial;
    return model.fit(x, y, options);
  };
  const auto same = [](const nn::Sequential& a, const nn::Sequential& b) {
    return a.get_weights()[0].same_bits(b.get_weights()[0]);
  };
  nn::Sequential whole = compiled(), again = compiled(), one_by_one = compiled();
  const std::vector<Array> start = whole.get_weights();
  fit(whole, 7);
  fit(again, 7);
  CHECK(same(whole, again));  // a new model has the same orders
  // In parts, with the number of the first epoch.
  fit(one_by_one, 3);
  fit(one_by_one, 4, 3);
  fit(one_by_one, 7, 4);
  CHECK(same(whole, one_by_one));

  // A second training from the same weights, without the optimizer's states.
  const auto trained_twice = [&](std::int64_t passes_before) {
    nn::Sequential model = compiled();
    if (passes_before > 0) fit(model, passes_before);
    model.set_weights(start);
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "adam"});
    fit(model, 7);
    return model;
  };
  CHECK(same(trained_twice(0), whole));
  CHECK_FALSE(same(trained_twice(3), whole));
  // It continues from a checkpoint with the same bits, and so does a third one after it.
  nn::Sequential second = compiled(), resumed = compiled();
  fit(second, 4);
  fit(second, 5);
  second.save_checkpoint(file);
  fit(second, 7, 5);
  fit(second, 1);
  resumed.load_checkpoint(file);
  fit(resumed, 7);
  fit(resumed, 1);
  CHECK(same(second, resumed));
}

TEST_CASE("weights of samples and classes, and what is kept for validation", "[nn]") {
  const Array x = numbers({60, 5}, 8), y = classes_of(x);
  const auto rest = [](double rate) {
    nn::Sequential model = small_model();
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::SGD({.learning_rate = rate})});
    return model;
  };
  // Weights of 0 omit samples: the sum is divided by the number of all samples.
  Array weights = Array::full(DType::float32, {60}, 1);
  weights.slice(0, 30, 60).copy_from(Array::zeros(DType::float32, {30}));
  nn::FitOptions options = epochs(1, 20);
  options.sample_weight = weights;
  nn::Sequential model = rest(0);
  const double weighted = model.fit(x, y, options)["loss"][0];
  const double half = model.evaluate(x.slice(0, 0, 30), y.slice(0, 0, 30))["loss"];
  CHECK(weighted == Approx(half / 2).epsilon(1e-5));
  // Class weights are weights of samples.
  nn::FitOptions by_class = epochs(1, 20);
  by_class.class_weight = {{0, 2.0}, {2, 0.5}};
  Array same = Array::full(DType::float32, {60}, 1);
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::int32_t c = y.at<std::int32_t>(i);
    same.at<float>(i) = c == 0 ? 2.f : c == 2 ? 0.5f : 1.f;
  }
  nn::FitOptions by_sample = epochs(1, 20);
  by_sample.sample_weight = same;
  CHECK(model.fit(x, y, by_class)["loss"][0] == Approx(model.fit(x, y, by_sample)["loss"][0]).epsilon(1e-6));
  // The same with rows as targets, one-hot and fractional.
  Array rows = Array::full(DType::float32, {60, 3}, 0.125);
  for (std::int64_t i = 0; i < 60; ++i) rows.at<float>(i, y.at<std::int32_t>(i)) = 0.75;
  nn::Sequential of_rows = small_model();
  of_rows.compile({.loss = "categorical_crossentropy", .optimizer = nn::SGD({.learning_rate = 0.0})});
  CHECK(of_rows.fit(x, rows, by_class)["loss"][0] == Approx(of_rows.fit(x, rows, by_sample)["loss"][0]).epsilon(1e-6));
  CHECK(of_rows.fit(x, rows, by_class)["loss"][0] != Approx(of_rows.fit(x, rows, epochs(1, 20))["loss"][0]));
  CHECK(contains(message_of([&] { model.fit(x, rows, by_class); }), "class weights are for targets"));
  // The last quarter is evaluated, and not used for training.
  nn::FitOptions split = epochs(2, 20);
  split.validation_split = 0.25;
  nn::Sequential learning = rest(0.1);
  const nn::History history = learning.fit(x, y, split);
  CHECK(history["val_loss"].size() == 2);
  CHECK(history["val_loss"][1] ==
        Approx(learning.evaluate(x.slice(0, 45, 60), y.slice(0, 45, 60))["loss"]).epsilon(1e-6));
  // With separate validation data, all data is used for training.
  split.validation_data = std::pair{x.slice(0, 0, 7), y.slice(0, 0, 7)};
  nn::FitOptions unsplit = split;
  unsplit.validation_split = 0;
  nn::Sequential a = rest(0.1), b = rest(0.1);
  CHECK(a.fit(x, y, split)["val_loss"] == b.fit(x, y, unsplit)["val_loss"]);
  CHECK(a.get_weights()[0].same_bits(b.get_weights()[0]));
}

TEST_CASE("several inputs and outputs, a loss for each", "[nn]") {
  nn::set_seed(4);
  const nn::Tensor a = nn::Input({3}), b = nn::Input({4});
  const nn::Tensor both =
      nn::concatenate({nn::Dense(8, {.activation = "tanh"})(a), nn::Dense(8, {.activation = "tanh"})(b)});
  const nn::Tensor number = nn::Dense(1)(both), kind = nn::Dense(2, {.activation = "softmax"})(both);
  nn::Model model({a, b}, {number, kind});
  model.compile({.loss = {"mse", "sparse_categorical_crossentropy"}, .optimizer = "adam", .loss_weights = {1, 0.5}});
  const Array x = numbers({32, 3}, 1), z = numbers({32, 4}, 2), t = numbers({32, 1}, 3);
  Array k = Array::zeros(DType::int64, {32});
  const nn::History history = model.fit({x, z}, {t, k}, epochs(5, 8));
  const nn::Logs& last = history.logs.back();
  // Each loss has the name of the layer of its output.
  CHECK(history.names() == std::vector<std::string>{"loss", "dense_2_loss", "dense_3_loss"});
  CHECK(last["loss"] == Approx(last["dense_2_loss"] + 0.5 * last["dense_3_loss"]).epsilon(1e-5));
  CHECK(model.better("val_dense_3_loss") == nn::Better::smaller);
  CHECK(history["loss"][4] < history["loss"][0]);
  const nn::Logs evaluated = model.evaluate({x, z}, {t, k}, {.batch_size = 7});
  CHECK(evaluated["loss"] == Approx(model.test_on_batch({{x, z}, {t, k}})["loss"]).epsilon(1e-5));
  const std::vector<Array> outputs = model.predict({x, z});
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[1].shape() == ct::Sizes{32, 2});
  CHECK(contains(message_of([&] { model.fit({x}, {t, k}, quiet); }), "1 input array(s)"));
  nn::FitOptions by_class = quiet;
  by_class.class_weight = {{0, 2.0}};
  CHECK(
      contains(message_of([&] { model.fit({x, z}, {t, k}, by_class); }), "class_weight is for a model of one output"));
  CHECK(contains(message_of([&] { model.compile({.loss = {"mse", "mse", "mse"}}); }), "3 losses for 2 output(s)"));
}

TEST_CASE("regularisers add to the loss, and to the gradients", "[nn]") {
  nn::set_seed(5);
  nn::Sequential model{nn::Dense(1, {.use_bias = false,
                                     .kernel_initializer = "ones",
                                     .kernel_regularizer = nn::l1_l2(0.5, 0.25),
                                     .input_shape = {4}})};
  model.compile({.loss = "mse", .optimizer = nn::SGD({.learning_rate = 0.1})});
  const Array x = Array::zeros(DType::float32, {8, 4}), y = Array::zeros(DType::float32, {8, 1});
  const nn::Logs logs = model.train_on_batch({{x}, {y}});
  CHECK(logs["loss"] == Approx(0.5 * 4 + 0.25 * 4));
  CHECK(model.get_weights()[0].as_double(0) == Approx(1 - 0.1 * (0.5 + 2 * 0.25)));
}

TEST_CASE("fit rejects wrong arguments", "[nn]") {
  const Array x = numbers({10, 5}, 1), y = classes_of(x);
  nn::Sequential model = small_model();
  CHECK(contains(message_of([&] { model.fit(x, y, quiet); }), "compile"));
  CHECK(contains(message_of([&] { model.compile({}); }), "needs a loss"));
  model.compile({.loss = "sparse_categorical_crossentropy"});
  const std::vector<Array> before = model.get_weights();
  CHECK(contains(message_of([&] { model.fit(x, y, epochs(1, 0)); }), "batch_size"));
  CHECK(contains(message_of([&] { model.fit(x.slice(0, 0, 0), y.slice(0, 0, 0), quiet); }), "no batches"));
  CHECK(contains(message_of([&] { model.fit(numbers({10, 6}, 1), y, quiet); }), "5"));
  CHECK_THROWS_AS(model.fit(x, y.slice(0, 0, 9), quiet), ct::ShapeError);
  Array outside = y.copy();
  outside.at<std::int32_t>(3) = 3;
  CHECK_THROWS_AS(model.fit(x, outside, quiet), ct::IndexError);
  nn::FitOptions split = quiet;
  split.validation_split = 1;
  CHECK(contains(message_of([&] { model.fit(x, y, split); }), "validation_split"));
  split.validation_split = 0.5;
  const nn::Dataset data = nn::Dataset::from_arrays(x, y, {});
  CHECK(contains(message_of([&] { model.fit(x, y, epochs(-1)); }), "sequential: -1 epochs, from 0 on: both are 0 or"));
  CHECK_THROWS_AS(model.fit(x, y, epochs(-1)), ct::ValueError);
  CHECK(model.fit(x, y, epochs(0)).epochs.empty());
  // Arrays without axes, and a number of target rows that differs from that of the inputs.
  const Array one(1.f);
  CHECK(message_of([&] { model.fit(one, y, quiet); }) ==
        "arrays need equal numbers of rows: x is one number, y has 10");
  CHECK(contains(message_of([&] { model.fit(x, one, quiet); }), "x has 10, y is one number"));
  CHECK(contains(message_of([&] { model.predict(one); }), "x is one number"));
  CHECK(contains(message_of([&] { model.evaluate(x, one); }), "x has 10, y is one number"));
  CHECK(contains(message_of([&] { model.train_on_batch({{one}, {y}}); }), "x is one number, y has 10"));
  CHECK(contains(message_of([&] { model.test_on_batch({{x}, {y.slice(0, 0, 3)}}); }), "x has 10, y has 3"));
  const nn::Dataset numbers_alone(std::vector<std::pair<Array, Array>>{{one, one}});
  CHECK(contains(message_of([&] { model.fit(numbers_alone, quiet); }), "x is one number, y is one number"));
  CHECK(contains(message_of([&] { model.predict(numbers_alone); }), "x is one number"));
  nn::FitOptions never = quiet;
  never.validation_freq = 0;
  CHECK(contains(message_of([&] { model.fit(x, y, never); }), "a validation_freq of 0 and 1 validation_steps"));
  CHECK(contains(message_of([&] { model.fit(data, split); }), "validation_split is for arrays"));
  CHECK_THROWS_AS(model.fit(data, split), ct::ValueError);
  CHECK_THROWS_AS(small_model().train_function(), ct::TypeError);
  // No weight has changed.
  const std::vector<Array> after = model.get_weights();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].same_bits(before[i]));
}

TEST_CASE("a training that is stopped before its first batch ends quietly", "[nn]") {
  const Array x = numbers({10, 5}, 1), y = classes_of(x);
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy"});
  std::int64_t ended = 0;
  nn::LambdaCallback stop;
  stop.epoch_begin = [](nn::Model& m, std::int64_t epoch) {
    if (epoch == 1) m.stop_training();
  };
  stop.train_end = [&](nn::Model&, const nn::History&) { ++ended; };
  nn::FitOptions options = epochs(5);
  options.callbacks = {stop};
  CHECK(model.fit(x, y, options).epochs == std::vector<std::int64_t>{0});
  CHECK(ended == 1);
}

TEST_CASE("names in the spellings of Keras", "[nn]") {
  for (const char* name : {"Adam", "ADAM", "RMSprop", "AdamW", "SGD", "Adagrad", "Adadelta"})
    CHECK_NOTHROW(nn::Optimizer(name));
  CHECK(nn::Optimizer("AdamW").name() == "adamw");
  for (const char* name : {"MSE", "MAE", "MAPE", "MSLE", "bce", "BCE", "kld", "KLD", "MeanSquaredError", "KLDivergence",
                           "SparseCategoricalCrossentropy", "LogCosh", "CosineSimilarity"}) {
    CHECK(nn::Loss(name).name() == name);
    CHECK(nn::Metric(name).name() == name);
  }
  CHECK(nn::Loss("SparseCategoricalCrossentropy").takes_classes());
  CHECK(nn::Loss("BCE").targets() == nn::Targets::yes_or_no);
  for (const char* name : {"AUC", "Precision", "TopKCategoricalAccuracy", "RootMeanSquaredError", "RMSE"})
    CHECK(nn::Metric(name).name() == name);
  CHECK(nn::Metric("AUC").states() == 400);
  CHECK(nn::Metric("Accuracy").is_any_accuracy());
  CHECK(nn::Metric("ACC").name() == "ACC");
  CHECK_THROWS_AS(nn::Loss("MeanSquared"), ct::ValueError);
  CHECK_THROWS_AS(nn::Metric(""), ct::ValueError);
}

TEST_CASE("a dataset is predicted batch by batch", "[nn]") {
  const Array x = numbers({23, 5}, 1), y = classes_of(x);
  nn::Sequential model = small_model();
  const std::vector<Array> whole = model.predict(nn::Dataset::from_arrays(x, y, {.batch_size = 7}));
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].same_bits(model.predict(x, {.batch_size = 7})));
  CHECK(contains(message_of([&] { model.predict(nn::Dataset(std::vector<nn::Batch>())); }), "no batches to predict"));
  // Several outputs; and rows that do not come from one array.
  const nn::Tensor in = nn::Input({nn::any_size, 2});
  nn::Model two(std::vector<nn::Tensor>{in}, {nn::GlobalMaxPooling1D()(in), in});
  const Array a = numbers({2, 3, 2}, 1), b = numbers({2, 4, 2}, 2);
  const std::vector<Array> both = two.predict(nn::Dataset(std::vector<nn::Batch>{{{a}, {}}, {{a}, {}}}));
  REQUIRE(both.size() == 2);
  CHECK(both[0].shape() == ct::Sizes{4, 2});
  CHECK(both[1].slice(0, 2, 4).same_bits(a));
  CHECK(contains(message_of([&] { two.predict(nn::Dataset(std::vector<nn::Batch>{{{a}, {}}, {{b}, {}}})); }),
                 "batches give rows of (3, 2) and of (4, 2)"));
}

TEST_CASE("validation reads some batches, and does not run after each epoch", "[nn]") {
  const Array x = numbers({40, 5}, 1), y = classes_of(x);
  const nn::Dataset data = nn::Dataset::from_arrays(x, y, {.batch_size = 8});
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::SGD({.learning_rate = 0.0})});
  nn::FitOptions options = epochs(4, 10);
  options.validation_dataset = data;
  options.validation_steps = 2;
  options.validation_freq = 2;
  const Folder folder;
  nn::ModelCheckpoint best((folder / "{epoch}.npz").string(), {.save_best_only = true});
  options.callbacks = {nn::EarlyStopping({.patience = 2}), nn::ReduceLROnPlateau(), best};
  const std::vector<double> losses = model.fit(x, y, options)["val_loss"];
  REQUIRE(losses.size() == 4);
  for (const std::size_t epoch : {0, 2}) CHECK(std::isnan(losses[epoch]));
  for (const std::size_t epoch : {1, 3})
    CHECK(losses[epoch] == Approx(model.evaluate(data.take(2))["loss"]).epsilon(1e-6));
  CHECK(losses[1] != Approx(model.evaluate(data)["loss"]));
  CHECK(!std::filesystem::exists(folder / "1.npz"));
  CHECK(std::filesystem::exists(folder / "2.npz"));
  // Even if there never is one, the missing number is reported.
  options.validation_dataset.reset();
  CHECK(contains(message_of([&] { model.fit(x, y, options); }), "EarlyStopping: there is no number 'val_loss'"));
}

TEST_CASE("files of kinds that are not written are refused by name", "[nn]") {
  nn::Sequential model = small_model();
  model.compile({.loss = "mse"});
  for (const char* name : {"a.h5", "a.hdf5", "a.weights.h5", "a.keras"}) {
    const std::string said = message_of([&] { model.save_weights(name); });
    CHECK(contains(said, std::string(name) + ": files of kind ."));
    CHECK(contains(said, "are neither written nor read; .safetensors and .npz are"));
    CHECK(message_of([&] { model.load_weights(name); }) == said);
    CHECK(message_of([&] { model.save_checkpoint(name); }) == said);
    CHECK(message_of([&] { model.load_checkpoint(name); }) == said);
    CHECK(message_of([&] { nn::ModelCheckpoint{name}; }) == said);
    CHECK(!std::filesystem::exists(name));
  }
}

TEST_CASE("a plot of a training", "[nn]") {
  const Array x = numbers({32, 5}, 9), y = classes_of(x);
  nn::Sequential model = small_model();
  model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  nn::FitOptions options = epochs(3);
  options.validation_data = std::pair{x, y};
  const nn::History history = model.fit(x, y, options);
  const Folder folder;
  history.plot(folder / "history.svg");
  CHECK(std::filesystem::file_size(folder / "history.svg") == history.svg().size());
  for (const char* part : {"<svg", "loss", "val_loss", "accuracy", "</svg>"}) CHECK(contains(history.svg(), part));
}

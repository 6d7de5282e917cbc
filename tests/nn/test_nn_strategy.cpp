// Training on several devices: copies, transfers, and bits that depend only on the number of shards; on parts of the
// host and on simulated GPUs.
#include "catch.hpp"

#include <croton/croton.hpp>
#include <croton/io.hpp>
#include <croton/nn.hpp>
#include <croton/trace.hpp>

#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>

#include "backends.hpp"
#include "unit/contains.hpp"

namespace ct = croton;
namespace nn = croton::nn;

using ct::Array;
using ct::DType;

namespace {

/// Four devices of one kind, which flags create.
struct Machine {
  std::string flag, device;
  std::vector<std::string> first(int count) const {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(i == 0 && device == "cpu" ? "cpu" : device + std::to_string(i));
    return names;
  }
};
const Machine host{"logical_devices=cpu:4", "cpu"};
/// Parts of the host, simulated GPUs, and parts of a real GPU if the tests have one.
std::vector<Machine> machines() {
  std::vector<Machine> all{host, {"cuda_simulator=4", "cuda"}};
  for (const std::string& device : croton_test::devices()) {
    if (device == "device=cuda0") all.push_back({"logical_devices=cuda0:4", "cuda"});
  }
  return all;
}

Array numbers(ct::Sizes shape, std::uint64_t seed) {
  return Array::uniform(DType::float32, std::move(shape), seed, -1, 1);
}
/// Class numbers below `count` that are a function of x.
Array classes_of(const Array& x, int count) {
  Array y = Array::zeros(DType::int32, {x.shape(0)});
  for (std::int64_t i = 0; i < x.shape(0); ++i) {
    int best = 0;
    for (int j = 1; j < count; ++j) best = x.at<float>(i, j) > x.at<float>(i, best) ? j : best;
    y.at<std::int32_t>(i) = best;
  }
  return y;
}

/// Everything that makes bits depend on a shard: statistics of batches, and random numbers.
nn::Sequential noisy_model() {
  nn::set_seed(3);
  return nn::Sequential{nn::Dense(8, {.activation = "relu", .input_shape = {6}}), nn::BatchNormalization(),
                        nn::Dropout(0.4), nn::Dense(3, {.activation = "softmax"})};
}
nn::Sequential plain_model() {
  nn::set_seed(3);
  return nn::Sequential{nn::Dense(8, {.activation = "relu", .input_shape = {6}}),
                        nn::Dense(3, {.activation = "softmax"})};
}
nn::CompileOptions classifier() {
  return {.loss = "sparse_categorical_crossentropy",
          .optimizer = nn::Adam({.learning_rate = 0.05}),
          .metrics = {"accuracy"}};
}
nn::FitOptions epochs(std::int64_t count, std::int64_t batch) {
  return {.epochs = count, .batch_size = batch, .verbose = nn::Verbose::silent};
}

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::ranges::equal(a, b, [](const Array& x, const Array& y) { return x.same_bits(y); });
}
bool copies_agree(const nn::Model& model) {
  for (const ct::SharedVariable& weight : model.weights()) {
    for (const ct::SharedVariable& copy : weight.copies()) {
      if (!copy.get_value().same_bits(weight.get_value())) return false;
    }
  }
  return true;
}
double largest_difference(const std::vector<Array>& a, const std::vector<Array>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::int64_t k = 0; k < a[i].size(); ++k)
      largest = std::max(largest, std::abs(a[i].as_double(k) - b.at(i).as_double(k)));
  }
  return largest;
}

/// The data that the last call of a step sent between devices, except its arguments.
std::size_t bytes_of(const ct::Function& step, ct::TransferInfo::Kind kind) {
  std::size_t bytes = 0;
  for (const ct::TransferInfo& sent : step.transfers()) bytes += sent.kind == kind ? sent.bytes : 0;
  return bytes;
}

template <class Error, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no such error";
}

std::string bytes_in(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("C2.2 variables made in a strategy's scope have a copy on each device, all of the same bits") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  const nn::MirroredStrategy strategy(machine.first(3));
  CHECK(strategy.num_replicas_in_sync() == 3);
  CHECK(strategy.devices() == machine.first(3));
  CHECK_FALSE(nn::MirroredStrategy::current());
  ct::SharedVariable free, pinned, weight;
  {
    const auto scope = strategy.scope();
    REQUIRE(nn::MirroredStrategy::current());
    weight = ct::shared(numbers({4, 3}, 1), {.name = "w"});
    pinned = ct::shared(numbers({2}, 1), {.name = "p", .target = machine.first(2)[1]});
    const nn::Sequential model = plain_model();
    for (const ct::SharedVariable& w : model.weights()) {
      CHECK(w.copies().size() == 2);
      CHECK(w.home() == machine.first(1)[0]);
    }
    CHECK(copies_agree(model));
  }
  free = ct::shared(numbers({2}, 1));
  CHECK(free.copies().empty());
  CHECK(pinned.copies().empty());
  REQUIRE(weight.copies().size() == 2);
  for (int i : {0, 1}) {
    const ct::SharedVariable copy = weight.copies()[static_cast<std::size_t>(i)];
    CHECK(copy.home() == machine.first(3)[static_cast<std::size_t>(i) + 1]);
    CHECK(copy.pinned());
    CHECK(copy.get_value().same_bits(weight.get_value()));
  }
  // Setting the variable, or one of its copies, sets all.
  weight.copies()[1].set_value(numbers({4, 3}, 2));
  CHECK(weight.get_value().same_bits(numbers({4, 3}, 2)));
  CHECK(weight.copies()[0].get_value().same_bits(numbers({4, 3}, 2)));
  // So does a function without a strategy, by an update or a default update.
  ct::function({}, {}, {.updates = {{weight, weight * 2.F}}})();
  const Array doubled = weight.get_value();
  CHECK(doubled.as_double(0) == 2 * numbers({4, 3}, 2).as_double(0));
  for (const ct::SharedVariable& copy : weight.copies()) CHECK(copy.get_value().same_bits(doubled));
  weight.set_default_update(weight + 1.F);
  ct::function({}, ct::sum(weight))();
  for (const ct::SharedVariable& copy : weight.copies()) CHECK(copy.get_value().same_bits(weight.get_value()));
  CHECK(weight.get_value().as_double(0) == static_cast<double>(static_cast<float>(doubled.as_double(0)) + 1.F));
}

TEST_CASE("C2.2 without devices a strategy takes all GPUs, or the host") {
  {
    const ct::change_flags flags{"cuda_simulator=2"};
    CHECK(nn::MirroredStrategy().devices() == std::vector<std::string>{"cuda0", "cuda1"});
  }
  if (std::ranges::none_of(ct::devices(), [](const ct::DeviceInfo& d) { return d.name == "cuda0"; }))
    CHECK(nn::MirroredStrategy().devices() == std::vector<std::string>{"cpu"});
}

TEST_CASE("C2.5 C2.6 C2.7 a step of one's own, summed over shards, learns what one device learns") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  const Array x = numbers({10, 6}, 5), y = classes_of(x, 3);
  struct Result {
    std::vector<Array> weights;
    double loss = 0;
    std::int64_t steps = 0;
  };
  const auto train = [&](const std::vector<std::string>& devices, std::size_t shards) {
    const nn::MirroredStrategy strategy(devices, {.shards = shards});
    const auto scope = strategy.scope();
    const nn::Sequential model = plain_model();
    const nn::Adam adam({.learning_rate = 0.05});
    const nn::SparseCategoricalCrossentropy loss_of({.reduction = "none"});
    const auto step = [&](ct::Variable images, ct::Variable labels) {
      auto loss = nn::compute_average_loss(loss_of(labels, model(images)), {.global_batch_size = 10});
      const auto made =
          adam.apply_gradients(nn::zip(nn::gradients(loss, model.trainable_variables()), model.trainable_variables()));
      CHECK(made.empty());
      return loss;
    };
    const auto a = ct::matrix("x"), b = ct::ivector("y");
    const auto total = strategy.reduce(nn::ReduceOp::sum, strategy.run(step, {a, b}));
    const nn::DistributedFunction learn = strategy.function({a, b}, total);
    Result result;
    for (int i = 0; i < 4; ++i) result.loss = learn(strategy.split(x), strategy.split(y)).item<float>();
    CHECK(copies_agree(model));
    result.weights = model.get_weights();
    result.steps = adam.iterations();
    return result;
  };
  const Result one = train(machine.first(1), 1), four = train(machine.first(1), 4), two = train(machine.first(2), 4),
               all = train(machine.first(4), 4);
  CHECK(four.steps == 4);
  CHECK(same_bits(four.weights, two.weights));
  CHECK(same_bits(four.weights, all.weights));
  CHECK(four.loss == two.loss);
  CHECK(four.loss == all.loss);
  CHECK(largest_difference(one.weights, four.weights) < 1e-5);
  CHECK_THAT(four.loss, Catch::Matchers::WithinAbs(one.loss, 1e-5));
  // And equal to the same step without a strategy.
  const nn::Sequential model = plain_model();
  const auto a = ct::matrix("x"), b = ct::ivector("y");
  const auto loss = nn::compute_average_loss(nn::SparseCategoricalCrossentropy({.reduction = "none"})(b, model(a)),
                                             {.global_batch_size = 10});
  const auto learn = ct::function(
      {a, b}, loss, {.updates = nn::Adam({.learning_rate = 0.05}).minimize(loss, model.trainable_variables())});
  double last = 0;
  for (int i = 0; i < 4; ++i) last = learn(x, y).item<float>();
  CHECK_THAT(last, Catch::Matchers::WithinAbs(one.loss, 1e-6));
  CHECK(largest_difference(model.get_weights(), one.weights) < 1e-6);
}

TEST_CASE("C2.4 C2.8 results of shards are reduced by elements, or over their rows") {
  const ct::change_flags flags{host.flag};
  const nn::MirroredStrategy strategy({"cpu", "cpu1"}, {.shards = 3, .main_device = "cpu1"});
  const auto x = ct::matrix("x"), w = ct::scalar("w");
  const Array rows = numbers({7, 2}, 4);
  const auto total =
      strategy.run([](ct::Variable v, ct::Variable by) { return ct::sum(v, ct::ReduceOptions(0)) * by; }, {x, w});
  const auto same = strategy.run([](ct::Variable v) { return v * 2.F; }, {x});
  const auto both = strategy.run([](ct::Variable v) { return std::vector<ct::Variable>{v, ct::exp(v)}; }, {x});
  REQUIRE(both.size() == 3);
  CHECK(both[0].size() == 2);
  const nn::DistributedFunction f =
      strategy.function({x, w}, {strategy.reduce(nn::ReduceOp::sum, total), strategy.reduce(nn::ReduceOp::mean, total),
                                 strategy.reduce(nn::ReduceOp::sum, same, 0),
                                 strategy.reduce(nn::ReduceOp::mean, same, 0), strategy.gather(same)});
  // C2.7b: a split value is divided among shards (here of 3, 2 and 2 rows); another value is whole in each.
  const nn::PerReplica<Array> parts = strategy.split(rows);
  CHECK(parts[0].shape(0) == 3);
  CHECK(parts[2].shape(0) == 2);
  const ct::Outputs results = f(parts, 3.F);
  for (int column : {0, 1}) {
    double sum = 0;
    for (int i = 0; i < 7; ++i) sum += rows.at<float>(i, column);
    using Catch::Matchers::WithinAbs;
    CHECK_THAT(results[0].as_double(column), WithinAbs(3 * sum, 1e-5));
    CHECK_THAT(results[1].as_double(column), WithinAbs(sum, 1e-5));
    CHECK_THAT(results[2].as_double(column), WithinAbs(2 * sum, 1e-5));
    CHECK_THAT(results[3].as_double(column), WithinAbs(2 * sum / 7, 1e-6));  // each row has the same weight
  }
  for (std::int64_t i = 0; i < rows.size(); ++i) CHECK(results[4].as_double(i) == 2 * rows.as_double(i));
  // Without a split, each of the three shards gets all rows.
  CHECK_THAT(f(rows, 1.F)[0].as_double(0), Catch::Matchers::WithinAbs(results[0].as_double(0), 1e-5));
  CHECK_THAT(f.function().placement(), contains("(ordered_add): cpu1"));
  CHECK_THAT(error_of<ct::ValueError>([&] { f(nn::PerReplica<Array>({rows, rows}), 1.F); }),
             contains("2 parts of x, where there are 3 shards"));
  CHECK_THROWS_AS(f(parts), ct::TypeError);
}

TEST_CASE("C2.7b a dataset in parts, whose sizes differ by 1 at most") {
  const ct::change_flags flags{host.flag};
  const nn::MirroredStrategy strategy(host.first(4));
  const Array x = numbers({11, 2}, 1), y = numbers({11}, 2);
  const nn::DistributedDataset data = strategy.distribute_dataset(nn::Dataset::from_arrays(x, y, {.batch_size = 6}));
  CHECK(data.batches() == 2);
  const auto next = data.begin();
  std::vector<std::vector<std::int64_t>> sizes;
  std::int64_t row = 0;
  while (const auto batch = next()) {
    sizes.emplace_back();
    CHECK(batch->x[0].size() == 4);
    CHECK(batch->y[0][3].shape(0) == batch->x[0][3].shape(0));
    for (const Array& part : batch->x[0].values()) {
      sizes.back().push_back(part.shape(0));
      if (part.shape(0) > 0) CHECK(part.at<float>(0, 0) == x.at<float>(row, 0));
      row += part.shape(0);
    }
    CHECK(batch->size() == (sizes.size() == 1 ? 6 : 5));
  }
  CHECK(row == 11);
  CHECK(sizes == std::vector<std::vector<std::int64_t>>{{2, 2, 1, 1}, {2, 1, 1, 1}});
}

TEST_CASE("C2.9 C5.1 C5.4 fit gives the same bits on 1, 2 and 4 devices, uneven and empty shards included") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  // Batches of 8, 8 and 3 rows: one shard of the last one has no rows.
  const Array x = numbers({19, 6}, 7), y = classes_of(x, 3);
  struct Result {
    std::vector<Array> weights;
    std::vector<double> logs;
    Array predicted;
  };
  const auto train = [&](const std::vector<std::string>& devices, std::size_t shards, auto make) {
    const nn::MirroredStrategy strategy(devices, {.shards = shards});
    const auto scope = strategy.scope();
    nn::Sequential model = make();
    model.compile(classifier());
    const nn::History history = model.fit(x, y, epochs(3, 8));
    CHECK(history.logs.size() == 3);
    CHECK(copies_agree(model));
    Result result{model.get_weights(), {}, model.predict(x, {.batch_size = 19})};
    for (const nn::Logs& logs : history.logs) {
      for (const auto& [name, value] : logs) result.logs.push_back(value);
    }
    for (const auto& [name, value] : model.evaluate(x, y)) result.logs.push_back(value);
    for (const double number : result.logs) CHECK(std::isfinite(number));
    return result;
  };
  const Result one = train(machine.first(1), 4, noisy_model), two = train(machine.first(2), 4, noisy_model),
               four = train(machine.first(4), 4, noisy_model);
  CHECK(same_bits(one.weights, two.weights));
  CHECK(same_bits(one.weights, four.weights));
  CHECK(one.predicted.same_bits(two.predicted));
  CHECK(one.predicted.same_bits(four.predicted));
  CHECK(one.logs == two.logs);
  CHECK(one.logs == four.logs);

  // Without statistics of batches and random numbers, a training of one shard is the same except for rounding. Adam
  // divides by the size of gradients: if these consist of rounding errors, so do its steps.
  const Result whole = train(machine.first(1), 1, plain_model), parts = train(machine.first(2), 2, plain_model);
  CHECK(largest_difference(whole.weights, parts.weights) < 1e-4);
  REQUIRE(whole.logs.size() == parts.logs.size());
  for (std::size_t i = 0; i < whole.logs.size(); ++i)
    CHECK_THAT(parts.logs[i], Catch::Matchers::WithinAbs(whole.logs[i], 1e-4));
  nn::Sequential plain = plain_model();
  plain.compile(classifier());
  plain.fit(x, y, epochs(3, 8));
  CHECK(same_bits(plain.get_weights(), whole.weights));
}

TEST_CASE("a sample draws the numbers of its place in the whole batch") {
  const ct::change_flags flags{host.flag};
  const auto drawn = [](std::size_t shards) {
    const nn::MirroredStrategy strategy({"cpu", "cpu1"}, {.shards = shards});
    const auto scope = strategy.scope();
    nn::set_seed(5);
    const nn::Layer dropout = nn::Dropout(0.5), noise = nn::GaussianNoise(1);
    const auto x = ct::matrix("x");
    const auto parts = strategy.run(
        [&](ct::Variable v) {
          nn::CallContext context{.training = true};
          return dropout(noise(v, context), context);
        },
        {x});
    const auto f = strategy.function({x}, strategy.gather(parts));
    f(strategy.split(Array::full(DType::float32, {9, 4}, 1)));
    return f(strategy.split(Array::full(DType::float32, {9, 4}, 1))).only();
  };
  const Array two = drawn(2), three = drawn(3), nine = drawn(9), twelve = drawn(12);
  CHECK(two.same_bits(three));
  CHECK(two.same_bits(nine));
  CHECK(two.same_bits(twelve));
  int zeros = 0;
  for (std::int64_t i = 0; i < two.size(); ++i) zeros += two.as_double(i) == 0 ? 1 : 0;
  CHECK(zeros > 5);
  CHECK(zeros < 31);
  CHECK_FALSE(two.slice(0, 0, 4).same_bits(two.slice(0, 4, 8)));
}

TEST_CASE("a step sends each device its rows, and gradients in buckets; no weight is sent after the first one") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  const Array x = numbers({8, 6}, 7), y = classes_of(x, 3);
  // All gradients at once, or each separately.
  const auto bucket = GENERATE(std::size_t{1} << 20, std::size_t{1});
  const nn::MirroredStrategy strategy(machine.first(2), {.bucket_bytes = bucket});
  const auto scope = strategy.scope();
  nn::Sequential model = plain_model();
  model.compile(classifier());
  model.train_on_batch({{x}, {y}});
  model.train_on_batch({{x}, {y}});
  const ct::Function step = model.train_function();
  const std::string second = machine.first(2)[1];
  std::size_t arguments = 0, values = 0, gradients = 0;
  for (const ct::TransferInfo& sent : step.transfers()) {
    CAPTURE(sent.what, sent.from, sent.to, sent.bytes);
    CHECK(sent.kind != ct::TransferInfo::Kind::shared);  // no weight, no state of the optimizer
    CHECK(sent.kind != ct::TransferInfo::Kind::constant);
    if (sent.kind == ct::TransferInfo::Kind::input) {
      // The second device gets rows 4 to 7 only.
      CHECK(sent.to == (sent.what.ends_with("/0") ? machine.first(1)[0] : second));
      arguments += sent.bytes;
    }
    if (sent.kind == ct::TransferInfo::Kind::value) {
      ++values;
      if (sent.what.starts_with("gradients of ")) {
        ++gradients;
      } else {
        CHECK(sent.what == "counts");
      }
    }
  }
  const std::size_t rows = machine.device == "cpu" ? 4 : 8;  // the first part of the host has its rows already
  CHECK(arguments == rows * (6 * 4 + 4));
  // In both directions the gradients of 8 * 6 + 8 + 3 * 8 + 3 numbers, and to the main device the counts of loss and
  // accuracy.
  CHECK(bytes_of(step, ct::TransferInfo::Kind::value) == 2 * 83 * 4 + 4 * 8);
  CHECK(gradients == (bucket > 1 ? 2 : 8));
  CHECK(values == gradients + 1);
  CHECK(copies_agree(model));
}

TEST_CASE("of more than two devices each adds up a piece of large gradients") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  const Array x = numbers({9, 100}, 7), y = classes_of(x, 3);
  const auto train = [&](int devices, bool joined) {
    const nn::MirroredStrategy strategy(machine.first(devices),
                                        {.shards = 4, .bucket_bytes = joined ? std::size_t{1} << 20 : std::size_t{1}});
    const auto scope = strategy.scope();
    nn::set_seed(3);
    nn::Sequential model{nn::Dense(90, {.activation = "relu", .input_shape = {100}}),
                         nn::Dense(3, {.activation = "softmax"})};
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::SGD({.momentum = 0.9})});
    model.train_on_batch({{x}, {y}});
    model.train_on_batch({{x}, {y}});
    CHECK(copies_agree(model));
    // Of 9363 numbers, 9000 are in one array. A device sends 3 of 4 pieces of it twice; it sends small arrays whole to
    // 3 others.
    const std::size_t counts = static_cast<std::size_t>(devices - 1) * 2 * 8;
    const std::size_t values = bytes_of(model.train_function(), ct::TransferInfo::Kind::value) - counts;
    if (devices == 2) CHECK(values == std::size_t{2} * 4 * 9363);
    if (devices == 4 && joined) CHECK(values == std::size_t{6} * 4 * 9363);
    if (devices == 4 && !joined) CHECK(values == std::size_t{6} * 4 * 9000 + std::size_t{12} * 4 * 363);
    return model.get_weights();
  };
  const std::vector<Array> one = train(1, true);
  for (const int devices : {2, 3, 4}) {
    CHECK(same_bits(one, train(devices, true)));
    CHECK(same_bits(one, train(devices, false)));
  }
}

TEST_CASE("gradients of last layers are sent while those of first ones are computed") {
  // In the order of the plan; lanes run independent work at the same time (test_lanes.cpp).
  const ct::change_flags flags{"logical_devices=cpu:2,device_threads=off"};
  const Array x = numbers({8, 64}, 7), y = classes_of(x, 3);
  const auto train = [&](const nn::MirroredOptions& options) {
    const nn::MirroredStrategy strategy({"cpu", "cpu1"}, options);
    const auto scope = strategy.scope();
    nn::set_seed(3);
    nn::Sequential model{nn::Dense(64, {.activation = "relu", .input_shape = {64}, .name = "first"}),
                         nn::Dense(64, {.activation = "relu", .name = "second"}),
                         nn::Dense(3, {.activation = "softmax", .name = "last"})};
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::Adam()});
    model.train_on_batch({{x}, {y}});
    ct::Trace trace;
    model.train_on_batch({{x}, {y}});
    trace.stop();
    return trace.events();
  };
  const auto shards = GENERATE(std::size_t{2}, std::size_t{4});
  const std::vector<ct::TraceEvent> events = train({.shards = shards, .bucket_bytes = 1});
  const auto sent = [&](const std::string& what) {
    const auto found = std::ranges::find_if(
        events, [&](const ct::TraceEvent& e) { return e.what == "transfer" && e.name == "gradients of " + what; });
    REQUIRE(found != events.end());
    return found - events.begin();
  };
  std::ptrdiff_t product = 0;  // the last one: for the first layer's gradient
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].what == "product") product = static_cast<std::ptrdiff_t>(i);
  }
  CHECK(sent("last/kernel") < product);
  if (shards == 2) CHECK(sent("second/kernel") < product);
  CHECK(sent("first/kernel") > product);
}

TEST_CASE("a fault in one shard has the same effect on all devices") {
  const ct::change_flags flags{host.flag};
  const Array x = numbers({8, 6}, 7), y = classes_of(x, 3);
  const auto train = [&](const std::vector<std::string>& devices, float spoilt) {
    const nn::MirroredStrategy strategy(devices, {.shards = 4});
    const auto scope = strategy.scope();
    nn::Sequential model = plain_model();
    model.compile(classifier());
    Array rows = x.copy();
    rows.at<float>(5, 2) = spoilt;  // of the third shard
    model.train_on_batch({{rows}, {y}});
    CHECK(copies_agree(model));
    return model.get_weights();
  };
  const std::vector<Array> fine = train(host.first(4), x.at<float>(5, 2)), other = train(host.first(4), 100),
                           nan = train(host.first(4), std::nanf(""));
  CHECK_FALSE(same_bits(fine, other));
  CHECK(same_bits(other, train(host.first(1), 100)));
  CHECK(std::isnan(nan[2].as_double(0)));
  CHECK(same_bits(nan, train(host.first(2), std::nanf(""))));
}

TEST_CASE("C5.2 a parallel model shares its template's weights and gives its results in order") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  const Array x = numbers({10, 6}, 7), y = classes_of(x, 3);
  nn::Sequential model = plain_model();
  const Array before = model.predict(x);
  nn::Model parallel = nn::multi_gpu_model(model, 4);
  CHECK(parallel.predict(x).same_bits(before));
  CHECK(parallel.predict(x, {.batch_size = 3}).same_bits(before));
  CHECK(nn::multi_gpu_model(model, std::vector<int>{1, 3}).predict(x).same_bits(before));
  CHECK(
      nn::multi_gpu_model(model, machine.first(2), {.main_device = machine.first(2)[1]}).predict(x).same_bits(before));
  parallel.compile(classifier());
  const nn::History history = parallel.fit(x, y, epochs(2, 8));
  CHECK(history.logs.size() == 2);
  CHECK(same_bits(parallel.get_weights(), model.get_weights()));
  CHECK_FALSE(model.predict(x).same_bits(before));
  CHECK(model.predict(x).same_bits(parallel.predict(x)));
  // The reverse: the copies get values that are set in the template.
  std::vector<Array> others;
  for (const Array& weight : model.get_weights()) others.push_back(Array::full(DType::float32, weight.shape(), 0.25));
  model.set_weights(others);
  CHECK(parallel.predict(x).same_bits(model.predict(x)));
}

TEST_CASE("C5.2 a parallel model is refused on fewer than two devices, and on more than there are") {
  const ct::change_flags flags{"logical_devices=cpu:3"};
  const nn::Sequential model = plain_model();
  const std::string there =
      std::ranges::any_of(ct::devices(), [](const auto& d) { return d.name == "cuda0"; }) ? "cuda0" : "cpu, cpu1, cpu2";
  CHECK_THAT(error_of<ct::ValueError>([&] { nn::multi_gpu_model(model, 8); }), contains(there));
  CHECK_THAT(error_of<ct::ValueError>([&] { nn::multi_gpu_model(model, 1); }), contains("1 devices"));
  CHECK_THAT(error_of<ct::ValueError>([&] { nn::multi_gpu_model(model, std::vector<std::string>{"cpu", "cpu7"}); }),
             contains("there is no cpu7") && contains("cpu, cpu1, cpu2"));
  CHECK_THROWS_AS(nn::multi_gpu_model(model, std::vector<int>{0, -1}), ct::ValueError);
  const nn::Sequential open{nn::Dense(2)};
  CHECK_THROWS_AS(nn::multi_gpu_model(open, std::vector<std::string>{"cpu", "cpu1"}), ct::ValueError);
}

TEST_CASE("C5.3 C5.4 C5.8 fit of 256 samples on eight devices, with its callbacks") {
  const ct::change_flags flags{"logical_devices=cpu:8"};
  const Array x = numbers({600, 6}, 7), classes = classes_of(x, 3);
  Array hot = Array::zeros(DType::float32, {600, 3});
  for (std::int64_t i = 0; i < 600; ++i) hot.at<float>(i, classes.at<std::int32_t>(i)) = 1;
  nn::Model parallel = nn::multi_gpu_model(
      plain_model(), std::vector<std::string>{"cpu", "cpu1", "cpu2", "cpu3", "cpu4", "cpu5", "cpu6", "cpu7"});
  parallel.compile({.loss = "categorical_crossentropy", .optimizer = "rmsprop", .metrics = {"accuracy"}});
  nn::FitOptions options = epochs(20, 256);
  std::vector<std::int64_t> batches;
  struct Count : nn::Callback {
    std::vector<std::int64_t>* batches = nullptr;
    void on_batch_end(nn::Model&, std::int64_t, const nn::Logs&) override { ++batches->back(); }
    void on_epoch_begin(nn::Model&, std::int64_t) override { batches->push_back(0); }
  };
  auto count = std::make_shared<Count>();
  count->batches = &batches;
  options.callbacks = {count};
  const nn::History history = parallel.fit(x, hot, options);
  CHECK(history.logs.size() == 20);
  CHECK(batches == std::vector<std::int64_t>(20, 3));
  CHECK(history.logs.back()["loss"] < history.logs.front()["loss"]);
  // The last batch of 88 rows has parts of 11; earlier batches, of 256, have parts of 32.
  std::size_t sent = 0;
  for (const ct::TransferInfo& one : parallel.train_function().transfers()) {
    if (one.kind != ct::TransferInfo::Kind::input) continue;
    ++sent;
    CHECK(one.bytes == (one.what.starts_with("input") ? std::size_t{11} * 6 * 4 : std::size_t{11} * 3 * 4));
  }
  CHECK(sent == 14);
  // As on one device: 32 samples each, with correct counts.
  nn::Sequential single = plain_model();
  single.compile({.loss = "categorical_crossentropy", .optimizer = "rmsprop", .metrics = {"accuracy"}});
  const nn::History alone = single.fit(x, hot, epochs(20, 256));
  CHECK_THAT(history.logs.back()["loss"], Catch::Matchers::WithinAbs(alone.logs.back()["loss"], 1e-5));
  CHECK_THAT(history.logs[0]["accuracy"], Catch::Matchers::WithinAbs(alone.logs[0]["accuracy"], 1e-9));
}

TEST_CASE("C5.6 C5.7 a net of convolutions learns from logits on two devices, its metrics merged by counts") {
  const Machine machine = GENERATE(from_range(machines()));
  const ct::change_flags flags{machine.flag};
  const int side = machine.device == "cpu" ? 28 : 8;  // the simulator is slow
  const Array x = Array::uniform(DType::float32, {6, side, side, 1}, 4, 0, 1);
  Array y = Array::zeros(DType::int32, {6});
  for (int i = 0; i < 6; ++i) y.at<std::int32_t>(i) = i;
  const auto train = [&](const std::vector<std::string>& devices) {
    const nn::MirroredStrategy strategy(devices, {.shards = 2});
    const auto scope = strategy.scope();
    nn::set_seed(2);
    nn::Sequential model{nn::Conv2D(32, 3, {.activation = "relu", .input_shape = {side, side, 1}}),
                         nn::GlobalMaxPooling2D(), nn::Dense(10)};
    CHECK(model.count_params() == 650);
    model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                   .optimizer = nn::Adam(),
                   .metrics = {nn::SparseCategoricalAccuracy()}});
    const nn::History history = model.fit(x, y, epochs(2, 6));
    CHECK(copies_agree(model));
    const double accuracy = history.logs.back()["sparse_categorical_accuracy"];
    CHECK_THAT(accuracy * 6, Catch::Matchers::WithinAbs(std::round(accuracy * 6), 1e-9));
    return model.get_weights();
  };
  CHECK(same_bits(train(machine.first(1)), train(machine.first(2))));
}

TEST_CASE("C5.5 a parallel model and its template are saved as the same file; checkpoints know their shards") {
  const ct::change_flags flags{host.flag};
  const auto folder = std::filesystem::temp_directory_path() / ("croton_strategy_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const Array x = numbers({8, 6}, 7), y = classes_of(x, 3);
  nn::Sequential model = plain_model();
  nn::Model parallel = nn::multi_gpu_model(model, std::vector<std::string>{"cpu", "cpu1"});
  parallel.compile(classifier());
  parallel.fit(x, y, epochs(1, 8));
  for (const char* kind : {".safetensors", ".npz"}) {
    model.save_weights(folder / (std::string("template") + kind));
    parallel.save_weights(folder / (std::string("parallel") + kind));
    const std::string bytes = bytes_in(folder / (std::string("template") + kind));
    CHECK(bytes.size() > 300);
    CHECK(bytes == bytes_in(folder / (std::string("parallel") + kind)));
  }
  parallel.save_checkpoint(folder / "two.safetensors");
  // A training on other devices continues with the same bits.
  const auto resumed = [&](const std::vector<std::string>& devices, std::size_t shards, std::string& warning) {
    const nn::MirroredStrategy strategy(devices, {.shards = shards});
    const auto scope = strategy.scope();
    nn::Sequential other = plain_model();
    other.compile(classifier());
    const std::ostringstream text;
    std::streambuf* const outer = std::cerr.rdbuf(text.rdbuf());
    other.load_checkpoint(folder / "two.safetensors");
    std::cerr.rdbuf(outer);
    warning = text.str();
    CHECK(copies_agree(other));
    other.fit(x, y, epochs(3, 8));
    return other.get_weights();
  };
  std::string one, two, four;
  const std::vector<Array> on_one = resumed({"cpu"}, 2, one), on_two = resumed({"cpu", "cpu1"}, 2, two),
                           on_four = resumed(host.first(4), 4, four);
  parallel.fit(x, y, {.epochs = 3, .batch_size = 8, .verbose = nn::Verbose::silent, .initial_epoch = 1});
  CHECK(same_bits(on_one, on_two));
  CHECK(same_bits(on_one, parallel.get_weights()));
  CHECK(one.empty());
  CHECK(two.empty());
  CHECK_THAT(four, contains("a training of 2 shard(s), and this one has 4"));
  CHECK(largest_difference(on_one, on_four) < 1e-3);
  std::filesystem::remove_all(folder);
}

TEST_CASE("functions made before a copy was there update it too") {
  const ct::change_flags flags{host.flag};
  const Array x = numbers({8, 6}, 7), y = classes_of(x, 3);
  nn::Sequential model = plain_model();
  model.compile(classifier());
  model.train_on_batch({{x}, {y}});  // its function has no copies
  nn::Model parallel = nn::multi_gpu_model(model, std::vector<std::string>{"cpu", "cpu1"});
  parallel.compile(classifier());
  parallel.train_on_batch({{x}, {y}});
  nn::Model others = nn::multi_gpu_model(model, std::vector<std::string>{"cpu2", "cpu3"});
  others.compile(classifier());
  others.train_on_batch({{x}, {y}});
  for (const nn::Model& one : {nn::Model(model), parallel, others, parallel, nn::Model(model)}) {
    nn::Model(one).train_on_batch({{x}, {y}});
    CHECK(copies_agree(model));
    CHECK(model.weights()[0].copies().size() == 2);  // its main copy is on the first device of both strategies
    CHECK(largest_difference({model.predict(x)}, {parallel.predict(x)}) < 1e-6);
    CHECK(largest_difference({model.predict(x)}, {others.predict(x)}) < 1e-6);
  }
  // One optimizer of two models, and a function of the user's.
  const nn::Adam adam;
  const ct::SharedVariable w = ct::shared(numbers({3}, 1), {.name = "w"});
  const ct::Function plain = ct::function({}, {}, {.updates = adam.minimize(ct::sum(w * w), {w})});
  plain();
  const nn::MirroredStrategy strategy({"cpu1", "cpu2"});
  const auto v = ct::vector("v");
  strategy.run([&](ct::Variable part) { adam.minimize(ct::sum(part) * ct::sum(w * w), {w}); }, {v});
  const nn::DistributedFunction learn = strategy.function({v}, {});
  const Array ones = Array::full(DType::float32, {2}, 0.5);
  for (int i = 0; i < 3; ++i) {
    learn(strategy.split(ones));
    plain();
    for (const ct::SharedVariable& state : adam.variables()) {
      for (const ct::SharedVariable& copy : state.copies()) CHECK(copy.get_value().same_bits(state.get_value()));
    }
    REQUIRE(w.copies().size() == 1);
    CHECK(w.copies()[0].get_value().same_bits(w.get_value()));
  }
  CHECK(adam.iterations() == 7);
}

TEST_CASE("numbers of 16 bits are added up in float32: devices agree, and bits do not depend on them") {
  const ct::change_flags flags{host.flag + ",floatX=float16"};
  const Array x = numbers({16, 6}, 7), y = classes_of(x, 3);
  const auto train = [&](int devices) {
    const nn::MirroredStrategy strategy(host.first(devices), {.shards = 4});
    const auto scope = strategy.scope();
    nn::Sequential model = plain_model();
    CHECK(model.weights()[0].dtype() == DType::float16);
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::SGD({.learning_rate = 0.1})});
    model.fit(x, y, epochs(4, 8));
    CHECK(copies_agree(model));
    return model.get_weights();
  };
  const std::vector<Array> one = train(1);
  for (const int devices : {2, 3, 4}) CHECK(same_bits(one, train(devices)));
}

TEST_CASE("C5.4 losses that are sums, or means over what a mask lets count, are those of the whole batch") {
  const ct::change_flags flags{host.flag};
  const auto compare = [](auto make, const nn::Loss& loss, const Array& x, const Array& y) {
    struct Result {
      std::vector<Array> weights;
      std::vector<double> losses;
    };
    const auto train = [&](std::size_t shards) {
      const nn::MirroredStrategy strategy(host.first(shards == 1 ? 1 : 2), {.shards = shards});
      const auto scope = strategy.scope();
      nn::set_seed(4);
      nn::Sequential model = make();
      model.compile({.loss = loss, .optimizer = nn::SGD({.learning_rate = 0.01}), .metrics = {"mean_absolute_error"}});
      const nn::History history = model.fit(x, y, epochs(3, 7));
      Result result{model.get_weights(), history["loss"]};
      for (const auto& [name, value] : model.evaluate(x, y, {.batch_size = 20})) result.losses.push_back(value);
      return result;
    };
    const Result one = train(1);
    for (const std::size_t shards : {2, 4}) {
      const Result parts = train(shards);
      CHECK(largest_difference(one.weights, parts.weights) < 1e-5);
      REQUIRE(one.losses.size() == parts.losses.size());
      for (std::size_t i = 0; i < one.losses.size(); ++i) CHECK(parts.losses[i] == Approx(one.losses[i]).epsilon(1e-5));
    }
  };
  const nn::MeanSquaredError sum({.reduction = "sum"}), mean;
  compare(
      [] {
        return nn::Sequential{nn::Dense(4, {.kernel_regularizer = nn::l2(0.1), .input_shape = {6}}), nn::Dense(2)};
      },
      sum, numbers({17, 6}, 1), numbers({17, 2}, 2));
  // Steps of zeros do not count; most of the others are in the first shard of the first batch.
  Array steps = Array::zeros(DType::int32, {17, 5});
  for (std::int64_t i = 0; i < 17; ++i) {
    for (std::int64_t k = 0; k < (i < 3 ? 5 : i % 3); ++k)
      steps.at<std::int32_t>(i, k) = static_cast<int>(1 + (i + k) % 7);
  }
  compare(
      [] {
        return nn::Sequential{nn::Embedding(8, 4, {.mask_zero = true, .input_shape = {5}}),
                              nn::GRU(3, {.return_sequences = true}), nn::Dense(2)};
      },
      mean, steps, numbers({17, 5, 2}, 3));
}

TEST_CASE("scopes of strategies may end in any order") {
  const ct::change_flags flags{host.flag};
  const nn::MirroredStrategy first({"cpu", "cpu1"}), second({"cpu", "cpu1", "cpu2"});
  auto outer = std::make_unique<nn::MirroredStrategy::Scope>(first);
  auto inner = std::make_unique<nn::MirroredStrategy::Scope>(second);
  CHECK(ct::shared(numbers({2}, 1)).copies().size() == 2);
  outer.reset();
  CHECK(ct::shared(numbers({2}, 1)).copies().size() == 2);
  inner.reset();
  CHECK(ct::shared(numbers({2}, 1)).copies().empty());
  CHECK_FALSE(nn::MirroredStrategy::current());
}

TEST_CASE("variables are mirrored while others set and update them") {
  const ct::change_flags flags{host.flag};
  for (int round = 0; round < 30; ++round) {
    const ct::SharedVariable w = ct::shared(Array::zeros(DType::float32, {100}), {.name = "w"});
    const ct::Function add = ct::function({}, {}, {.updates = {{w, w + 1.F}}});
    const std::string seen = host.flag;
    std::jthread adds([&] {
      const ct::change_flags here{seen};
      for (int i = 0; i < 20; ++i) add();
    });
    std::jthread sets([&] {
      const ct::change_flags here{seen};
      for (int i = 0; i < 20; ++i) ct::SharedVariable(w).set_value(Array::full(DType::float32, {100}, i));
    });
    const nn::MirroredStrategy strategy(host.first(3));
    const nn::SGD sgd;
    strategy.run([&](ct::Variable v) { sgd.minimize(ct::sum(v) * ct::sum(w), {w}); }, {ct::vector("v")});
    adds.join();
    sets.join();
    REQUIRE(w.copies().size() == 2);
    for (const ct::SharedVariable& copy : w.copies()) CHECK(copy.get_value().same_bits(w.get_value()));
  }
}

TEST_CASE("a strategy says what is wrong") {
  const ct::change_flags flags{"logical_devices=cpu:2"};
  CHECK_THAT(error_of<ct::DeviceError>([] { nn::MirroredStrategy strategy({"cpu", "cpu5"}); }),
             contains("no device cpu5") && contains("cpu, cpu1"));
  CHECK_THROWS_AS(nn::MirroredStrategy(std::vector<std::string>{}), ct::ValueError);
  CHECK_THAT(error_of<ct::ValueError>([] { nn::MirroredStrategy strategy({"cpu1", "cpu:1"}); }),
             contains("cpu1 is named twice"));
  CHECK_THAT(error_of<ct::ValueError>([] { nn::MirroredStrategy strategy({"cpu", "cpu1"}, {.shards = 1}); }),
             contains("1 shards for 2 devices"));
  const nn::MirroredStrategy strategy({"cpu", "cpu1"});
  const auto scope = strategy.scope();
  const auto x = ct::matrix("x");
  const ct::SharedVariable w = ct::shared(numbers({6}, 1), {.name = "w"}),
                           v = ct::shared(numbers({6}, 1), {.name = "v"});
  const nn::SGD sgd;
  bool first = true;
  CHECK_THAT(error_of<ct::ValueError>([&] {
               strategy.run(
                   [&](ct::Variable part) {
                     const ct::SharedVariable& parameter = std::exchange(first, false) ? w : v;
                     const auto loss = ct::sum(ct::dot(part, parameter));
                     sgd.minimize(loss, {parameter});
                     return loss;
                   },
                   {x});
             }),
             contains("shard 1"));
  CHECK_THROWS_AS(strategy.run([](ct::Variable y) { return y; }, {ct::Variable()}), ct::TypeError);
  CHECK_THROWS_AS(nn::MirroredStrategy::keep_averages({}), ct::TypeError);
  CHECK_THROWS_AS(strategy.reduce(nn::ReduceOp::sum, nn::PerReplica<ct::Variable>({x})), ct::ValueError);
  CHECK_THROWS_AS(strategy.split(Array(1.F)), ct::ShapeError);
  const auto wrong = [&](ct::Variable part) { return nn::MeanSquaredError()(part, part); };
  CHECK_THAT(error_of<ct::ValueError>([&] { strategy.run(wrong, {x}); }), contains("compute_average_loss"));
  CHECK_THAT(error_of<ct::ValueError>([&] { strategy.run([](ct::Variable part) { return part; }, {x * 2.F}); }),
             contains("depends on the input x"));
  CHECK_THROWS_AS(strategy.gather(nn::PerReplica<ct::Variable>({x})), ct::ValueError);
  // A step without results is a part of functions of its inputs.
  strategy.run([&](ct::Variable part) { sgd.minimize(ct::sum(ct::dot(part, w)), {w}); }, {x});
  const nn::DistributedFunction learn = strategy.function({x}, {});
  const Array before = w.get_value();
  learn(strategy.split(Array::full(DType::float32, {3, 6}, 1)));
  CHECK_THAT(w.get_value().as_double(0), Catch::Matchers::WithinAbs(before.as_double(0) - 0.03, 1e-6));
  CHECK(sgd.iterations() == 1);
  // And of no function that has another output.
  const auto doubled = strategy.run([](ct::Variable part) { return part * 2.F; }, {x});
  strategy.function({x}, strategy.gather(doubled))(strategy.split(Array::full(DType::float32, {3, 6}, 1)));
  CHECK(sgd.iterations() == 1);
  CHECK(w.copies().at(0).get_value().same_bits(w.get_value()));
}

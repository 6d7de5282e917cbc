// Callbacks and history: numbers and their plots, and each callback, mostly in trainings with predetermined numbers.
#include <croton/nn.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "unit/contains.hpp"
#include "unit/temporary_folder.hpp"

using namespace croton::nn;
using croton::Array;
using croton::DType;
using croton::test::get_file;
using croton::test::put_file;
using croton::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Logs logs_of(const std::vector<std::pair<std::string, double>>& values) {
  Logs logs;
  for (const auto& [name, value] : values) logs.set(name, value);
  return logs;
}

/// For callbacks that do not use the model.
struct NoModel : Model {
  NoModel() : Model(std::shared_ptr<State>()) {}
};

Sequential small_model(double rate = 0.125, const std::vector<Metric>& metrics = {}) {
  Sequential model{Dense(1, {.input_shape = {2}})};
  model.compile({.loss = "mse", .optimizer = SGD({.learning_rate = rate}), .metrics = metrics});
  return model;
}

/// A model that has the monitored metric, if there is such a metric.
Sequential model_for(const std::string& monitor, double rate = 0.125) {
  const std::string name = monitor.starts_with("val_") ? monitor.substr(4) : monitor;
  for (const char* known : {"acc", "accuracy", "recall", "auc", "mae", "rmse"}) {
    if (name == known) return small_model(rate, {name});
  }
  return small_model(rate);
}

const Array x = Array::uniform(DType::float32, {8, 2}, 1), y = Array::uniform(DType::float32, {8, 1}, 2);

/// Trains for as many epochs as there are numbers; the metric `name` has these values, one per epoch.
History scripted(Model& model, const std::string& name, const std::vector<double>& numbers,
                 const std::vector<CallbackRef>& callbacks) {
  LambdaCallback script;
  script.epoch_end = [&](Model&, std::int64_t epoch, Logs& logs) {
    logs.set(name, numbers.at(static_cast<std::size_t>(epoch)));
  };
  std::vector<CallbackRef> all{script};
  all.insert(all.end(), callbacks.begin(), callbacks.end());
  return model.fit(x, y,
                   {.epochs = static_cast<std::int64_t>(numbers.size()),
                    .batch_size = 4,
                    .verbose = Verbose::silent,
                    .callbacks = all});
}

/// The number of epochs until it stops.
std::size_t epochs_of(const EarlyStoppingOptions& options, const std::vector<double>& numbers) {
  Sequential model = model_for(options.monitor);
  return scripted(model, options.monitor, numbers, {EarlyStopping(options)}).epochs.size();
}

/// The rates that ReduceLROnPlateau logs.
std::vector<double> rates_of(const PlateauOptions& options, const std::vector<double>& numbers) {
  Sequential model = model_for(options.monitor, 1);
  return scripted(model, options.monitor, numbers, {ReduceLROnPlateau(options)})["learning_rate"];
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

void check_well_formed(std::string_view svg) {
  std::vector<std::string_view> open;
  for (std::size_t at = svg.find('<'); at != svg.npos; at = svg.find('<', at)) {
    const std::size_t end = svg.find('>', at);
    REQUIRE(end != svg.npos);
    const std::string_view tag = svg.substr(at + 1, end - at - 1);
    CHECK(count(tag, "\"") % 2 == 0);
    if (tag.starts_with('/')) {
      REQUIRE(!open.empty());
      CHECK(open.back() == tag.substr(1));
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  CHECK(open.empty());
}

}  // namespace

TEST_CASE("C5.8: logs are named numbers in order") {
  Logs logs;
  CHECK(logs.empty());
  CHECK_THROWS_WITH(logs["loss"], contains("there is no number 'loss'; there are: none"));
  logs.set("loss", 0.5);
  logs.set("accuracy", 0.98765);
  logs.set("loss", 0.25);
  CHECK(logs.size() == 2);
  CHECK(logs["loss"] == 0.25);
  CHECK(logs.find("accuracy") == 0.98765);
  CHECK_FALSE(logs.find("acc"));
  CHECK_THROWS_AS(logs["val_loss"], croton::ValueError);
  CHECK_THROWS_WITH(logs["val_loss"],
                    contains("no number 'val_loss'; there are: loss, accuracy (names with val_ need validation data)"));
  logs.set("val_loss", 1);
  CHECK_THROWS_WITH(logs["val_accuracy"], !contains("need validation data"));
  logs.set("learning_rate", 0.00012);
  logs.set("zero", 0);
  CHECK(to_string(logs) ==
        "loss: 0.2500 - accuracy: 0.9877 - val_loss: 1.0000 - learning_rate: 1.2000e-04 - zero: 0.0000");
  std::ostringstream text;
  text << logs_of({{"loss", not_a_number}, {"other", -infinity}});
  CHECK(text.str() == "loss: nan - other: -inf");
}

TEST_CASE("C5.4: a history has one entry for each epoch, and a plot") {
  History history;
  CHECK_THROWS_AS(history["loss"], croton::ValueError);
  check_well_formed(history.svg());
  history.epochs = {0, 1, 2};
  history.logs = {logs_of({{"loss", 3}, {"accuracy", 0.25}, {"val_loss", 4}, {"val_accuracy", 0.125}}),
                  logs_of({{"loss", 2}, {"accuracy", not_a_number}, {"val_loss", 3.5}, {"val_accuracy", 0.25}}),
                  logs_of({{"loss", 1}, {"accuracy", 0.75}, {"val_loss", 3}, {"rate", 0.1}})};
  CHECK(history.names() == std::vector<std::string>{"loss", "accuracy", "val_loss", "val_accuracy", "rate"});
  CHECK(history["val_loss"] == std::vector<double>{4, 3.5, 3});
  CHECK(std::isnan(history["rate"][1]));
  CHECK(history["rate"][2] == 0.1);
  CHECK_THROWS_WITH(history["acc"], contains("'acc'; there are: loss, accuracy, val_loss, val_accuracy, rate"));

  const std::string svg = history.svg();
  check_well_formed(svg);
  CHECK(count(svg, "<g ") == 3);  // loss, accuracy, rate
  const std::size_t second = svg.find("<g ", svg.find("<g ") + 1), third = svg.find("<g ", second + 1);
  const std::string loss = svg.substr(0, second), accuracy = svg.substr(second, third - second),
                    rate = svg.substr(third);
  CHECK(count(loss, ">loss<") + count(loss, ">val_loss<") == 2);
  CHECK(count(accuracy, ">accuracy<") + count(accuracy, ">val_accuracy<") == 2);
  CHECK(count(rate, ">rate<") == 1);
  CHECK(count(svg, ">epoch<") == 3);

  const TemporaryFolder folder;
  history.plot(folder / "plots/of/today.svg");
  CHECK(get_file(folder / "plots/of/today.svg") == svg);
  put_file(folder / "file", "");
  CHECK_THROWS_AS(history.plot(folder / "file/plot.svg"), croton::FileError);
}

TEST_CASE("C5.8: callbacks hear of the begin and the end of training, epochs and batches") {
  std::string heard;
  LambdaCallback ear;
  ear.train_begin = [&](Model&) { heard += "["; };
  ear.train_end = [&](Model&, const History& history) { heard += std::to_string(history.epochs.size()) + "]"; };
  ear.epoch_begin = [&](Model&, std::int64_t epoch) { heard += "(" + std::to_string(epoch); };
  ear.epoch_end = [&](Model&, std::int64_t epoch, Logs& logs) {
    heard += std::to_string(epoch) + (logs.find("val_loss") ? "v" : "") + ")";
    logs.set("own", static_cast<double>(epoch));
  };
  ear.batch_begin = [&](Model&, std::int64_t batch) { heard += " " + std::to_string(batch); };
  CHECK_FALSE(ear.wants_batch_logs());
  Sequential model = small_model();
  const FitOptions options{
      .epochs = 2, .batch_size = 3, .verbose = Verbose::silent, .callbacks = {ear}, .validation_data = {{x, y}}};
  const History history = model.fit(x, y, options);
  CHECK(heard == "[(0 0 1 20v)(1 0 1 21v)2]");
  CHECK(history["own"] == std::vector<double>{0, 1});

  std::vector<double> losses;
  ear = LambdaCallback();
  ear.batch_end = [&](Model&, std::int64_t, const Logs& logs) { losses.push_back(logs["loss"]); };
  CHECK(ear.wants_batch_logs());
  model.fit(x, y, {.epochs = 1, .batch_size = 3, .verbose = Verbose::silent, .callbacks = {ear}});
  CHECK(losses.size() == 3);
  // An exception from a callback ends the training; a shared callback keeps its records.
  const auto shared = std::make_shared<LambdaCallback>();
  shared->epoch_end = [](Model&, std::int64_t, Logs&) { throw std::out_of_range("enough"); };
  CHECK_THROWS_AS(model.fit(x, y, {.verbose = Verbose::silent, .callbacks = {shared}}), std::out_of_range);
  NoModel none;
  History empty;
  Logs logs;
  LambdaCallback nothing;
  nothing.on_train_begin(none);
  nothing.on_epoch_begin(none, 0);
  nothing.on_batch_begin(none, 0);
  nothing.on_batch_end(none, 0, logs);
  nothing.on_epoch_end(none, 0, logs);
  nothing.on_train_end(none, empty);
}

TEST_CASE("C5.8: EarlyStopping waits for `patience` epochs") {
  const std::vector<double> worse{1, 2, 3, 4, 5, 6}, better{6, 5, 4, 3, 2, 1};
  CHECK(epochs_of({.patience = 0}, worse) == 2);
  CHECK(epochs_of({.patience = 1}, worse) == 2);
  CHECK(epochs_of({.patience = 3}, worse) == 4);
  CHECK(epochs_of({.patience = 9}, worse) == 6);
  CHECK(epochs_of({}, better) == 6);
  CHECK(epochs_of({.patience = 2}, {3, 4, 2, 3, 1, 2, 3, 0}) == 7);
  // The direction comes from the metric, or from the option.
  CHECK(epochs_of({.monitor = "val_accuracy"}, better) == 2);
  CHECK(epochs_of({.monitor = "val_accuracy"}, worse) == 6);
  CHECK(epochs_of({.monitor = "auc"}, worse) == 6);
  CHECK(epochs_of({.monitor = "gain", .better = Better::smaller}, worse) == 2);
  CHECK(epochs_of({.monitor = "gain", .better = Better::larger}, worse) == 6);
  CHECK(epochs_of({.monitor = "val_accuracy", .better = Better::smaller}, better) == 6);
  // Equality is no improvement, nor is a change less than min_delta, nor NaN.
  CHECK(epochs_of({.patience = 2}, {1, 1, 1, 1}) == 3);
  CHECK(epochs_of({.min_delta = 0.5, .patience = 2}, {3, 2.75, 2.5, 2.25}) == 3);
  CHECK(epochs_of({.min_delta = -0.5, .patience = 2}, {3, 2.75, 2.5, 2.25}) == 3);
  CHECK(epochs_of({.min_delta = 0.25, .patience = 2}, {3, 2.5, 2, 1.5}) == 4);
  CHECK(epochs_of({.monitor = "recall", .min_delta = 0.5}, {1, 1.25, 2, 3}) == 2);
  CHECK(epochs_of({.monitor = "recall", .min_delta = -0.5}, {1, 1.25, 2, 3}) == 2);
  CHECK(epochs_of({.patience = 2}, {not_a_number, not_a_number, not_a_number, not_a_number}) == 2);
  CHECK(epochs_of({.patience = 2}, {not_a_number, 2, 1, 0}) == 4);
  CHECK(epochs_of({.patience = 0}, {not_a_number, not_a_number, 1}) == 2);  // never after one epoch
  // No epoch before start_from_epoch counts.
  CHECK(epochs_of({.start_from_epoch = 3}, worse) == 5);
  // The wait continues until the baseline is beaten, and ends with the first epoch that is no better (as in Keras).
  CHECK(epochs_of({.patience = 3}, {5, 4, 3, 4, 2, 1}) == 6);
  CHECK(epochs_of({.patience = 3, .baseline = 0.5}, {5, 4, 3, 4, 2, 1}) == 4);
  CHECK(epochs_of({.patience = 3, .baseline = 3.5}, {5, 4, 3, 4, 2, 1}) == 6);
  CHECK(epochs_of({.patience = 5, .baseline = 0.5}, {5, 4, 3, 3.5, 3.25, 3.125}) == 5);
}

TEST_CASE("C5.8: EarlyStopping gives back the best weights") {
  std::vector<std::vector<Array>> weights;
  LambdaCallback record;
  record.epoch_end = [&](Model& model, std::int64_t, Logs&) { weights.push_back(model.get_weights()); };
  const auto best_epoch = [&](EarlyStoppingOptions options, const std::vector<double>& numbers) {
    weights.clear();
    options.restore_best_weights = true;
    Sequential model = model_for(options.monitor);
    scripted(model, options.monitor, numbers, {record, EarlyStopping(options)});
    const std::vector<Array> now = model.get_weights();
    for (std::size_t epoch = 0; epoch < weights.size(); ++epoch) {
      if (now[0].same_bits(weights[epoch][0]) && now[1].same_bits(weights[epoch][1])) return static_cast<int>(epoch);
    }
    return -1;
  };
  CHECK(best_epoch({.patience = 2}, {3, 1, 2, 3, 4}) == 1);
  CHECK(best_epoch({.patience = 9}, {3, 2, 1, 2, 3}) == 2);  // without an early stop
  CHECK(best_epoch({.monitor = "accuracy", .patience = 2}, {1, 2, 5, 4, 3}) == 2);
  CHECK(best_epoch({.patience = 3, .baseline = 0}, {5, 4, 3, 6, 2}) == 2);
  CHECK(best_epoch({.patience = 2}, {not_a_number, not_a_number, not_a_number}) == 0);
  CHECK(best_epoch({.start_from_epoch = 2}, {0, 0, 2, 1, 3}) == 3);

  // A callback may be reused.
  const auto stopping = std::make_shared<EarlyStopping>(EarlyStoppingOptions{.patience = 1});
  Sequential model = small_model();
  CHECK(scripted(model, "val_loss", {0, 1, 2}, {stopping}).epochs.size() == 2);
  CHECK(scripted(model, "val_loss", {5, 4, 3}, {stopping}).epochs.size() == 3);
}

TEST_CASE("whether more is better is what the metric says, and where none says it, an error") {
  const auto metric = [](const char* name, Better better) {
    return Metric(
        name, [](const croton::Variable& t, const croton::Variable& p) { return croton::mean(p - t, -1); }, better);
  };
  Sequential model = small_model(0.125, {"acc", "auc", "mae", "rmse", "mse", metric("val", Better::larger),
                                         metric("f1", Better::larger), metric("own", Better::automatic)});
  CHECK(model.better("loss") == Better::smaller);
  CHECK(model.better("acc") == Better::automatic);  // before the first batch
  scripted(model, "own_loss", {1}, {});
  for (const char* name : {"acc", "val_acc", "auc", "val_auc", "f1", "val_f1", "val", "val_val"})
    CHECK(model.better(name) == Better::larger);
  for (const char* name : {"loss", "val_loss", "mae", "val_mae", "rmse", "val_rmse", "mse"})
    CHECK(model.better(name) == Better::smaller);
  for (const char* name : {"own", "val_own", "recall", "own_loss", ""}) CHECK(model.better(name) == Better::automatic);

  const std::vector<double> more{1, 2, 3};
  const TemporaryFolder folder;
  CHECK(epochs_of({.monitor = "acc"}, more) == 3);
  CHECK(rates_of({.monitor = "val_acc", .factor = 0.5, .patience = 1}, more) == std::vector<double>{1, 1, 1});
  CHECK_THROWS_AS(scripted(model, "val_own", more, {EarlyStopping({.monitor = "val_own"})}), croton::ValueError);
  CHECK_THROWS_WITH(epochs_of({.monitor = "val_f2"}, more),
                    contains("EarlyStopping: it is not known whether a smaller or a larger 'val_f2' is better, as it "
                             "is no metric of sequential: give .better, Better::smaller or Better::larger"));
  CHECK_THROWS_WITH(rates_of({.monitor = "val_f2"}, more),
                    contains("ReduceLROnPlateau: it is not known whether a smaller"));
  const ModelCheckpoint best((folder / "best").string(), {.monitor = "val_f2", .save_best_only = true});
  CHECK_THROWS_WITH(scripted(model, "val_f2", more, {best}),
                    contains("ModelCheckpoint: it is not known whether a smaller"));
  CHECK(files_in(folder.path()).empty());
  CHECK(epochs_of({.monitor = "val_f2", .better = Better::larger}, more) == 3);
}

TEST_CASE("C5.8: a monitored number that is not there is named") {
  Sequential model = small_model();
  const auto fit = [&](const CallbackRef& callback) {
    model.fit(x, y, {.batch_size = 4, .verbose = Verbose::silent, .callbacks = {callback}});
  };
  CHECK_THROWS_AS(fit(EarlyStopping()), croton::ValueError);
  CHECK_THROWS_WITH(fit(EarlyStopping({.start_from_epoch = 5})),
                    contains("EarlyStopping: there is no number 'val_loss'; there are: loss (names with val_ need"));
  CHECK_THROWS_WITH(fit(ReduceLROnPlateau({.monitor = "acc"})),
                    contains("ReduceLROnPlateau: there is no number 'acc'"));
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(fit(ModelCheckpoint((folder / "a.safetensors").string(), {.save_best_only = true})),
                    contains("ModelCheckpoint: there is no number 'val_loss'"));
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("C5.8: LearningRateScheduler sets the rate before each epoch") {
  Sequential model = small_model(1);
  std::vector<double> during;
  LambdaCallback look;
  look.batch_begin = [&](Model& m, std::int64_t) { during.push_back(m.optimizer().learning_rate()); };
  const LearningRateScheduler halved([](std::int64_t epoch, double rate) { return epoch < 2 ? rate : rate / 2; });
  const History history =
      model.fit(x, y, {.epochs = 4, .batch_size = 8, .verbose = Verbose::silent, .callbacks = {look, halved}});
  CHECK(history["learning_rate"] == std::vector<double>{1, 1, 0.5, 0.25});
  CHECK(during == std::vector<double>{1, 1, 0.5, 0.25});
  CHECK(model.optimizer().learning_rate() == 0.25);
  // A rate that is a function of the step cannot be set.
  model.compile({.loss = "mse", .optimizer = SGD({.learning_rate = ExponentialDecay(0.1, 10, 0.5)})});
  CHECK_THROWS_AS(model.fit(x, y, {.verbose = Verbose::silent, .callbacks = {halved}}), croton::ValueError);
}

TEST_CASE("ReduceLROnPlateau reduces the rate where nothing gets better") {
  const std::vector<double> flat{1, 1, 1, 1, 1, 1, 1};
  CHECK(rates_of({.factor = 0.5, .patience = 2}, flat) == std::vector<double>{1, 1, 1, 0.5, 0.5, 0.25, 0.25});
  CHECK(rates_of({.factor = 0.5, .patience = 1}, {3, 2, 2, 1, 1}) == std::vector<double>{1, 1, 1, 0.5, 0.5});
  CHECK(rates_of({.factor = 0.5, .min_rate = 0.25, .patience = 1}, flat) ==
        std::vector<double>{1, 1, 0.5, 0.25, 0.25, 0.25, 0.25});
  CHECK(rates_of({.factor = 0.125, .min_rate = 0.5, .patience = 1}, {1, 1, 1}) == std::vector<double>{1, 1, 0.5});
  CHECK(rates_of({.factor = 0.5, .patience = 1, .cooldown = 2}, flat) ==
        std::vector<double>{1, 1, 0.5, 0.5, 0.25, 0.25, 0.125});
  CHECK(rates_of({.factor = 0.5, .min_delta = 0.5, .patience = 1}, {3, 2.75, 2, 1.75}) ==
        std::vector<double>{1, 1, 0.5, 0.5});
  CHECK(rates_of({.monitor = "val_accuracy", .factor = 0.5, .patience = 1}, {1, 2, 3, 2, 1}) ==
        std::vector<double>{1, 1, 1, 1, 0.5});
  // A rate below the least one does not change.
  CHECK(rates_of({.factor = 0.5, .min_rate = 2, .patience = 1}, {1, 1, 1}) == std::vector<double>{1, 1, 1});
  // A callback may be reused.
  const auto shared = std::make_shared<ReduceLROnPlateau>(PlateauOptions{.factor = 0.5, .patience = 2, .cooldown = 3});
  Sequential model = small_model(1);
  for (int run = 0; run < 2; ++run) {
    model.optimizer().set_learning_rate(1);
    CHECK(scripted(model, "val_loss", {1, 1, 1}, {shared})["learning_rate"] == std::vector<double>{1, 1, 1});
    CHECK(model.optimizer().learning_rate() == 0.5);
  }
  CHECK_THROWS_AS(ReduceLROnPlateau({.factor = 1}), croton::ValueError);
  CHECK_THROWS_WITH(ReduceLROnPlateau({.factor = not_a_number}), contains("factor is nan"));
}

TEST_CASE("C5.8: ModelCheckpoint writes what training goes on from") {
  const TemporaryFolder folder;
  Sequential model = small_model();
  scripted(model, "val_loss", {0.5, 0.25, 0.125},
           {ModelCheckpoint((folder / "deep/{epoch:02d}/{val_loss:.2f}-{epoch}.safetensors").string()),
            ModelCheckpoint((folder / "weights{epoch:3}").string(), {.save_weights_only = true})});
  CHECK(files_in(folder.path()) == std::vector<std::string>{"deep/01/0.50-1.safetensors", "deep/02/0.25-2.safetensors",
                                                            "deep/03/0.12-3.safetensors", "weights  1", "weights  2",
                                                            "weights  3"});
  Sequential other = small_model();
  other.load_weights(folder / "weights  3");
  CHECK(other.get_weights()[0].same_bits(model.get_weights()[0]));
  // From the second epoch on, the numbers are those of a training without a break.
  Sequential resumed = small_model();
  resumed.load_checkpoint(folder / "deep/02/0.25-2.safetensors");
  CHECK(scripted(resumed, "val_loss", {0.5, 0.25, 0.125}, {}).epochs == std::vector<std::int64_t>{2});
  CHECK(resumed.get_weights()[0].same_bits(model.get_weights()[0]));
}

TEST_CASE("C5.8: ModelCheckpoint keeps the best") {
  const auto written = [](const CheckpointOptions& options, const std::vector<double>& numbers) {
    const TemporaryFolder folder;
    Sequential model = model_for(options.monitor);
    scripted(model, options.monitor, numbers, {ModelCheckpoint((folder / "{epoch}").string(), options)});
    return files_in(folder.path());
  };
  using Names = std::vector<std::string>;
  CHECK(written({.save_best_only = true}, {3, 4, 2, 2, not_a_number, 1}) == Names{"1", "3", "6"});
  CHECK(written({.save_best_only = false}, {3, 4, 2}) == Names{"1", "2", "3"});
  CHECK(written({.monitor = "val_recall", .save_best_only = true}, {3, 4, 2, 5}) == Names{"1", "2", "4"});
  CHECK(written({.save_best_only = true, .better = Better::larger}, {3, 4, 2, 5}) == Names{"1", "2", "4"});
}

TEST_CASE("mistakes about the paths of checkpoints are named") {
  const TemporaryFolder folder;
  Sequential model = small_model();
  const auto fit = [&](const std::string& path) {
    model.fit(x, y, {.verbose = Verbose::silent, .callbacks = {ModelCheckpoint((folder / path).string())}});
  };
  CHECK_THROWS_AS(fit("{val_loss}"), croton::ValueError);
  CHECK_THROWS_WITH(fit("{val_loss}"), contains("ModelCheckpoint: there is no number 'val_loss'; there are: loss"));
  CHECK_THROWS_WITH(fit("{}"), contains("there is no number ''"));
  CHECK_THROWS_WITH(fit("{epoch"), contains("has a { without a }"));
  CHECK_THROWS_AS(fit("{loss:d}"), croton::ValueError);
  CHECK_THROWS_WITH(fit("{epoch:{}}"), contains("'{epoch:{}' in '"));
  CHECK(files_in(folder.path()).empty());
  put_file(folder / "file", "");
  CHECK_THROWS_AS(fit("file/{epoch}"), croton::FileError);
  fs::create_directory(folder / "folder");
  CHECK_THROWS_AS(fit("folder"), croton::FileError);
}

TEST_CASE("C5.8: CSVLogger writes a line for each epoch") {
  const TemporaryFolder folder;
  const fs::path file = folder / "logs/run.csv";
  NoModel model;
  CSVLogger logger(file);
  const auto log = [&](CSVLogger& to, std::int64_t epoch, const std::vector<std::pair<std::string, double>>& values) {
    Logs logs = logs_of(values);
    to.on_epoch_end(model, epoch, logs);
  };
  logger.on_train_begin(model);
  CHECK(get_file(file).empty());
  log(logger, 0, {{"loss", 0.1}, {"a,\"b\"", 1}, {"accuracy", 1.0 / 3}});
  CHECK(get_file(file) == "epoch,\"a,\"\"b\"\"\",accuracy,loss\n0,1,0.3333333333333333,0.1\n");
  log(logger, 1, {{"loss", not_a_number}, {"new", 5}, {"accuracy", 1e-300}});
  CHECK(get_file(file) == "epoch,\"a,\"\"b\"\"\",accuracy,loss\n0,1,0.3333333333333333,0.1\n1,NA,1e-300,nan\n");
  CHECK(files_in(folder.path()) == std::vector<std::string>{"logs/run.csv"});

  // A new training begins a new file, unless it must append to the old one.
  logger.on_train_begin(model);
  log(logger, 0, {{"loss", 5}});
  CHECK(get_file(file) == "epoch,loss\n0,5\n");
  CSVLogger appending(file, true);
  for (const std::int64_t epoch : {1, 2}) {
    appending.on_train_begin(model);
    log(appending, epoch, {{"loss", 4}});
  }
  CHECK(get_file(file) == "epoch,loss\n0,5\n1,4\n2,4\n");
  put_file(file, "epoch,loss\r\n0,5");  // from another program, which was killed
  appending.on_train_begin(model);
  log(appending, 1, {{"loss", 4}});
  CHECK(get_file(file) == "epoch,loss\r\n0,5\n1,4\n");
  appending.on_train_begin(model);
  CHECK_THROWS_AS(log(appending, 2, {{"accuracy", 1}}), croton::FileError);
  CHECK_THROWS_WITH(log(appending, 2, {{"accuracy", 1}}), contains("its first line is 'epoch,loss'"));
  CHECK(get_file(file) == "epoch,loss\r\n0,5\n1,4\n");
  CSVLogger fresh(folder / "fresh.csv", true);
  log(fresh, 0, {{"loss", 1}});
  CHECK(get_file(folder / "fresh.csv") == "epoch,loss\n0,1\n");

  CSVLogger nowhere(file / "under a file.csv");
  CHECK_THROWS_AS(nowhere.on_train_begin(model), croton::FileError);
  CSVLogger a_folder(folder / "logs");
  CHECK_THROWS_AS(a_folder.on_train_begin(model), croton::FileError);
  CHECK(files_in(folder.path()) == std::vector<std::string>{"fresh.csv", "logs/run.csv"});

  Sequential real = small_model();
  const History history = scripted(real, "val_loss", {3, 2}, {CSVLogger(folder / "fresh.csv")});
  CHECK(count(get_file(folder / "fresh.csv"), "\n") == 3);
  CHECK_THAT(get_file(folder / "fresh.csv"), contains("epoch,loss,val_loss\n0,"));
}

TEST_CASE("C5.8: StreamLogger writes a line for each epoch") {
  Sequential model = small_model();
  std::ostringstream out;
  const History history = scripted(model, "val_loss", {0.5, 2e-5}, {StreamLogger(out)});
  const std::string first = croton::nn::to_string(history.logs[0]), second = croton::nn::to_string(history.logs[1]);
  CHECK(out.str() ==
        "epoch 1: " + first + " - learning_rate: 0.1250\nepoch 2: " + second + " - learning_rate: 0.1250\n");
  CHECK_THAT(second, contains("val_loss: 2.0000e-05"));
  CHECK(!history.logs[0].find("learning_rate"));  // it only writes
  out.str("");
  StreamLogger logger(out);
  Logs logs = logs_of({{"learning_rate", 0.5}});
  logger.on_epoch_end(model, 6, logs);
  CHECK(out.str() == "epoch 7: learning_rate: 0.5000\n");
}

TEST_CASE("C5.8: TensorBoard writes curves of training and validation") {
  const TemporaryFolder folder;
  const auto text_of = [&](const std::string& part) {
    std::string text;
    for (const std::string& name : files_in(folder / part)) text += get_file(folder / part / name);
    return text;
  };
  NoModel none;
  TensorBoard board(folder / "runs");
  board.on_train_begin(none);
  CHECK(files_in(folder.path()).size() == 1);
  CHECK_THAT(files_in(folder.path())[0], contains("runs/train/events.out.tfevents."));
  Logs logs = logs_of({{"loss", 1}, {"accuracy", 0.5}, {"learning_rate", 0.1}});
  board.on_epoch_end(none, 0, logs);
  CHECK_FALSE(fs::exists(folder / "runs/validation"));
  logs.set("val_loss", 2);
  board.on_epoch_end(none, 1, logs);
  const std::string train = text_of("runs/train"), validation = text_of("runs/validation");
  CHECK(count(train, "epoch_loss") == 2);
  CHECK(count(train, "epoch_accuracy") == 2);
  CHECK(count(train, "epoch_learning_rate") == 2);
  CHECK(count(train, "val_") == 0);
  CHECK(count(validation, "epoch_loss") == 1);
  CHECK(count(validation, "epoch_") == 1);

  Sequential model = small_model();
  scripted(model, "val_loss", {3, 2, 1}, {TensorBoard(folder / "fit")});
  CHECK(count(text_of("fit/train"), "epoch_loss") == 3);
  CHECK(count(text_of("fit/train"), "epoch_learning_rate") == 3);
  CHECK(count(text_of("fit/validation"), "epoch_loss") == 3);
  put_file(folder / "file", "");
  TensorBoard nowhere(folder / "file");
  CHECK_THROWS_AS(nowhere.on_train_begin(none), croton::FileError);
}

TEST_CASE("TerminateOnNaN ends the training after the batch") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Array inputs = x.copy();
    inputs.at<float>(5, 0) = bad;
    Sequential model = small_model();
    std::int64_t batches = 0;
    LambdaCallback count_batches;
    count_batches.batch_begin = [&](Model&, std::int64_t) { ++batches; };
    const History history = model.fit(inputs, y,
                                      {.epochs = 3,
                                       .batch_size = 2,
                                       .verbose = Verbose::silent,
                                       .callbacks = {count_batches, TerminateOnNaN()},
                                       .shuffle = false});
    CHECK(batches == 3);
    CHECK(history.epochs.size() == 1);
    CHECK_FALSE(std::isfinite(history["loss"][0]));
  }
  NoModel none;
  TerminateOnNaN().on_batch_end(none, 0, logs_of({{"loss", 1}}));
  TerminateOnNaN().on_batch_end(none, 0, logs_of({{"accuracy", not_a_number}}));
}

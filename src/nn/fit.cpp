// Learning: the loops around the functions of steps.cpp.
#include <croton/nn/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/config.hpp"
#include "builder/node.hpp"
#include "nn/epochs.hpp"
#include "nn/floats.hpp"
#include "nn/model_state.hpp"
#include "nn/progress.hpp"
#include "nn/rows.hpp"
#include "nn/steps.hpp"

namespace croton::nn {
namespace {

using State = Model::State;

void check_batch(const State& model, const Batch& batch) {
  if (batch.x.size() != model.inputs.size())
    throw ValueError(fmt::format("{}: {} input array(s), where the model has {} input(s)", model.name, batch.x.size(),
                                 model.inputs.size()));
  if (batch.y.size() != model.outputs.size())
    throw ValueError(fmt::format("{}: {} target array(s), where the model has {} output(s)", model.name, batch.y.size(),
                                 model.outputs.size()));
  common_rows(batch);
}

/// For batches of a dataset, which may be of no rows; what has none at all is left to checks.
bool is_empty(const Batch& batch) { return !batch.x.empty() && batch.x[0].rank() > 0 && batch.x[0].shape(0) == 0; }

const CompileOptions& compiled(const State& model) {
  if (model.options) return *model.options;
  throw TypeError(fmt::format("{}: compile says what to minimise, and is called first", model.name));
}

// ---- counts ----

void reset_counts(State& model) {
  if (model.counts.defined())
    model.counts.set_value(Array::zeros(DType::float64, model.counts.get_value(true).shape()));
}

Logs logs_of(const State& model) {
  Logs logs;
  if (!model.counts.defined()) return logs;
  const Array values = model.counts.get_value();
  std::span<const double> counts = values.data<double>();
  const auto take_mean = [&](const std::string& name) {
    logs.set(name, counts[1] == 0 ? 0 : counts[0] / counts[1]);
    counts = counts.subspan(2);
  };
  take_mean("loss");
  for (const std::string& name : model.loss_names) take_mean(name);
  for (const auto& [metric, name, weighted] : model.metrics) {
    const auto count = static_cast<std::size_t>(metric.states());
    logs.set(name, metric.result(counts.first(count)));
    counts = counts.subspan(count);
  }
  return logs;
}

// ---- data ----

Dataset batches(const std::vector<Array>& x, const std::vector<Array>& y, const std::optional<Array>& weights,
                const Dataset::ArrayOptions& options) {
  return Dataset::from_arrays(x, y, weights, options);
}

/// The class of each sample: targets are class numbers, or rows of one-hot or the like, whose largest number says it.
std::vector<std::int64_t> classes_of(const Array& targets, bool are_classes) {
  const std::int64_t rows = targets.shape(0), columns = rows == 0 ? 1 : targets.size() / rows;
  if (columns != 1 && (targets.rank() != 2 || are_classes))
    throw ValueError(
        "class weights are for targets that are class numbers, one for each sample, or rows of one number for each "
        "class");
  const Array values = targets.to_host().contiguous();
  std::vector<std::int64_t> classes;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto value = [&](std::int64_t column) { return values.as_double(row * columns + column); };
    std::int64_t best = 0;
    for (std::int64_t column = 1; column < columns; ++column) best = value(column) > value(best) ? column : best;
    classes.push_back(columns == 1 ? std::llround(value(0)) : best);
  }
  return classes;
}

/// Weights by class numbers, times those that the batch has.
Dataset with_class_weights(const State& model, const Dataset& data,
                           const std::vector<std::pair<std::int64_t, double>>& table) {
  if (table.empty()) return data;
  if (model.is_connected() && model.outputs.size() > 1)
    throw ValueError(fmt::format("{}: class_weight is for a model of one output, and this has {}", model.name,
                                 model.outputs.size()));
  return data.map([table, are_classes = loss_of(model, 0).takes_classes()](Batch batch) {
    common_rows(batch);
    if (batch.y.size() != 1) return batch;  // an error, which the model has the words for
    if (batch.weights && batch.weights->size() != batch.size())
      throw ValueError("class weights are for samples, and the weights that the batch has are for their steps");
    Array weights = Array::full(float_dtype(), {batch.size()}, 1);
    std::int64_t row = 0;
    for (const std::int64_t own : classes_of(batch.y.at(0), are_classes)) {
      const auto found = std::ranges::find(table, own, &std::pair<std::int64_t, double>::first);
      const double weight = found == table.end() ? 1 : found->second;
      const double given = batch.weights ? batch.weights->as_double(row) : 1;
      weights.slice(0, row, row + 1).copy_from(Array::full(float_dtype(), {1}, weight * given));
      ++row;
    }
    batch.weights = weights;
    return batch;
  });
}

/// Counts of all batches of a pass.
Logs evaluated(State& model, const Dataset& data, Verbose verbose) {
  std::int64_t done = 0;
  EpochProgress progress(verbose, "Evaluate", data.batches());
  const Dataset::Next next = data.prefetch(2).begin();
  bool fresh = true;
  while (const std::optional<Batch> batch = next()) {
    model.connect(batch->x);
    check_batch(model, *batch);
    const Function step = test_step(model, *batch);
    if (std::exchange(fresh, false)) reset_counts(model);
    call_step(model, step, *batch);
    progress.update(++done, [&] { return logs_of(model); });
  }
  if (done == 0) throw ValueError(fmt::format("{}: there are no batches to evaluate", model.name));
  const Logs logs = logs_of(model);
  progress.finish(done, logs);
  return logs;
}

void warn_of_end(const State& model, std::int64_t epoch, std::int64_t done, std::int64_t steps) {
  if (!base::config().warn) return;
  std::cerr << fmt::format(
      "croton: warning: {}: the data ended behind {} of the {} steps of epoch {}; the next epoch begins with its first "
      "batch again (Dataset::repeat makes data longer)\n",
      model.name, done, steps, epoch + 1);
}

std::vector<Array> sliced(const std::vector<Array>& arrays, std::int64_t begin, std::int64_t end) {
  std::vector<Array> result;
  result.reserve(arrays.size());
  for (const Array& array : arrays) result.push_back(array.slice(0, begin, end));
  return result;
}

/// ShapeError for rows of other shapes.
Array one_below_another(const std::vector<Array>& parts) {
  Sizes shape = parts[0].shape();
  shape[0] = 0;
  for (const Array& part : parts) {
    if (!std::ranges::equal(part.shape().begin() + 1, part.shape().end(), shape.begin() + 1, shape.end()))
      throw ShapeError(fmt::format("predict: batches give rows of {} and of {}, which are no rows of one array",
                                   to_string(Sizes(shape.begin() + 1, shape.end())),
                                   to_string(Sizes(part.shape().begin() + 1, part.shape().end()))));
    shape[0] += part.shape(0);
  }
  Array result = Array::empty(parts[0].dtype(), shape);
  std::int64_t begin = 0;
  for (const Array& part : parts) {
    result.slice(0, begin, begin + part.shape(0)).copy_from(part);
    begin += part.shape(0);
  }
  return result;
}

}  // namespace

void Model::compile(const CompileOptions& options, Where where) {
  if (options.loss.list.empty()) throw ValueError(fmt::format("{}: compile needs a loss", name()));
  const std::size_t outputs = state_->is_connected() ? state_->outputs.size() : 1;
  if (options.loss.list.size() != 1 && options.loss.list.size() != outputs)
    throw ValueError(fmt::format("{}: {} losses for {} output(s)", name(), options.loss.list.size(), outputs));
  if (!options.loss_weights.empty() && options.loss_weights.size() != outputs)
    throw ValueError(fmt::format("{}: {} loss weights for {} output(s)", name(), options.loss_weights.size(), outputs));
  for (const std::vector<Metric>* list : {&options.metrics, &options.weighted_metrics}) {
    for (const Metric& metric : *list) {
      if (metric.name() == "loss" || metric.name().starts_with("val_"))
        throw ValueError(fmt::format("{}: a metric is named \"{}\", which stands for {}; give it another name", name(),
                                     metric.name(),
                                     metric.name() == "loss" ? "the loss" : "a number of the validation data"));
    }
  }
  for (const SharedVariable& v : options.optimizer.variables()) {
    if (!v.where().known()) v.node()->where = where;  // of the default optimizer
  }
  state_->options = options;
  state_->compiled_at = where;
  state_->functions.clear();
  state_->counts = SharedVariable();
  if (MirroredStrategy::current()) state_->set_shards(current_shards());
}

History Model::fit(const Array& x, const Array& y, const FitOptions& options) {
  return fit(std::vector<Array>{x}, std::vector<Array>{y}, options);
}

History Model::fit(const std::vector<Array>& x, const std::vector<Array>& y, const FitOptions& options) {
  if (options.batch_size < 1) throw ValueError(fmt::format("{}: a batch_size of {}", name(), options.batch_size));
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    throw ValueError(
        fmt::format("{}: a validation_split of {}; it is at least 0 and below 1", name(), options.validation_split));
  FitOptions rest = options;
  const std::int64_t rows = common_rows({x, y, options.sample_weight});
  const auto kept = static_cast<std::int64_t>(static_cast<double>(rows) * (1 - options.validation_split));
  std::vector<Array> train_x = x, train_y = y;
  std::optional<Array> weights = options.sample_weight;
  rest.sample_weight = {};
  rest.validation_split = 0;
  const Dataset::ArrayOptions in_order{.batch_size = options.batch_size};
  if (options.validation_split > 0 && !options.validation_data && !options.validation_dataset) {
    train_x = sliced(x, 0, kept);
    train_y = sliced(y, 0, kept);
    std::optional<Array> last_weights;
    if (weights) last_weights = weights->slice(0, kept, rows);
    rest.validation_dataset = batches(sliced(x, kept, rows), sliced(y, kept, rows), last_weights, in_order);
    if (weights) weights = weights->slice(0, 0, kept);
  }
  if (options.validation_data) {
    rest.validation_dataset =
        batches({options.validation_data->first}, {options.validation_data->second}, {}, in_order);
  }
  return fit(batches(train_x, train_y, weights,
                     {.batch_size = options.batch_size, .shuffle = options.shuffle, .seed = options.seed}),
             rest);
}

History Model::fit(const Dataset& dataset, const FitOptions& options) {
  State& model = *state_;
  compiled(model);
  if (options.sample_weight)
    throw ValueError(fmt::format("{}: the batches of a dataset bring their own weights", model.name));
  if (options.validation_split != 0 && !options.validation_data && !options.validation_dataset)
    throw ValueError(
        fmt::format("{}: validation_split splits arrays, no Dataset; validation_dataset is for one", model.name));
  const std::int64_t first = options.initial_epoch.value_or(model.resumed_epochs.value_or(0));
  if (options.epochs < 0 || first < 0)
    throw ValueError(fmt::format("{}: {} epochs, from {} on: both are 0 or more", model.name, options.epochs, first));
  if (options.validation_freq < 1 || options.validation_steps.value_or(1) < 1)
    throw ValueError(fmt::format("{}: a validation_freq of {} and {} validation_steps: both are 1 or more", model.name,
                                 options.validation_freq, options.validation_steps.value_or(1)));
  if (options.steps_per_epoch && *options.steps_per_epoch < 1)
    throw ValueError(
        fmt::format("{}: {} steps_per_epoch, where 1 or more are taken", model.name, *options.steps_per_epoch));
  const Dataset data = with_class_weights(model, dataset, options.class_weight).prefetch(2);
  std::optional<Dataset> validation = options.validation_dataset;
  if (!validation && options.validation_data)
    validation = batches({options.validation_data->first}, {options.validation_data->second}, {},
                         {.batch_size = options.batch_size});
  if (validation && options.validation_steps) validation = validation->take(*options.validation_steps);
  model.resumed_epochs.reset();
  model.stop = false;
  // A training that goes on has the passes that it would have had; another one has passes of its own.
  if (first == 0 || first != model.epochs_done) model.first_pass = model.next_pass;
  model.epochs_done = first;
  EpochBatches epochs(data, options.steps_per_epoch, model.first_pass);
  bool warned = false;
  std::optional<std::int64_t> steps = data.batches();
  if (options.steps_per_epoch) steps = steps ? std::min(*steps, *options.steps_per_epoch) : options.steps_per_epoch;
  const bool batch_logs =
      std::ranges::any_of(options.callbacks, [](const CallbackRef& c) { return c->wants_batch_logs(); });

  History history;
  for (const CallbackRef& callback : options.callbacks) callback->on_train_begin(*this);
  for (std::int64_t epoch = first; epoch < options.epochs && !model.stop; ++epoch) {
    for (const CallbackRef& callback : options.callbacks) callback->on_epoch_begin(*this, epoch);
    EpochProgress progress(options.verbose, fmt::format("Epoch {}/{}", epoch + 1, options.epochs), steps);
    epochs.begin(epoch);
    std::int64_t done = 0;
    bool fresh = true;
    while (!model.stop) {
      const std::optional<Batch> batch = epochs.next();
      if (!batch) break;
      if (is_empty(*batch)) continue;
      model.connect(batch->x);
      check_batch(model, *batch);
      for (const CallbackRef& callback : options.callbacks) callback->on_batch_begin(*this, done);
      model.last_train = train_step(model, *batch);
      if (std::exchange(fresh, false)) reset_counts(model);
      call_step(model, model.last_train, *batch);
      const Logs now = batch_logs ? logs_of(model) : Logs();
      for (const CallbackRef& callback : options.callbacks) callback->on_batch_end(*this, done, now);
      progress.update(++done, [&] { return logs_of(model); });
    }
    if (done == 0 && model.stop) break;  // before the first batch
    if (done == 0) throw ValueError(fmt::format("{}: there are no batches to learn from", model.name));
    if (epochs.ran_out() && !std::exchange(warned, true)) warn_of_end(model, epoch, done, *options.steps_per_epoch);
    Logs logs = logs_of(model);
    model.leaves_out_validation = validation && (epoch + 1) % options.validation_freq != 0;
    if (validation && !model.leaves_out_validation) {
      for (const auto& [name, value] : evaluated(model, *validation, Verbose::silent)) logs.set("val_" + name, value);
    }
    model.epochs_done = epoch + 1;
    model.next_pass = epochs.next_pass();
    progress.finish(done, logs);
    for (const CallbackRef& callback : options.callbacks) callback->on_epoch_end(*this, epoch, logs);
    history.epochs.push_back(epoch);
    history.logs.push_back(logs);
  }
  for (const CallbackRef& callback : options.callbacks) callback->on_train_end(*this, history);
  return history;
}

Logs Model::evaluate(const Array& x, const Array& y, const EvaluateOptions& options) {
  return evaluate(std::vector<Array>{x}, std::vector<Array>{y}, options);
}

Logs Model::evaluate(const std::vector<Array>& x, const std::vector<Array>& y, const EvaluateOptions& options) {
  return evaluate(batches(x, y, options.sample_weight, {.batch_size = options.batch_size}), options);
}

Logs Model::evaluate(const Dataset& dataset, const EvaluateOptions& options) {
  compiled(*state_);
  return evaluated(*state_, dataset, options.verbose);
}

Array Model::predict(const Array& x, const PredictOptions& options) {
  std::vector<Array> results = predict(std::vector<Array>{x}, options);
  if (results.size() != 1)
    throw TypeError(fmt::format("{}: {} outputs; predict(std::vector) gives all of them", name(), results.size()));
  return results[0];
}

std::vector<Array> Model::predict(const std::vector<Array>& x, const PredictOptions& options) {
  State& model = *state_;
  if (options.batch_size < 1) throw ValueError(fmt::format("{}: a batch_size of {}", model.name, options.batch_size));
  model.connect(x);
  const std::int64_t rows = common_rows({x, {}});
  const Dataset data = batches(x, {}, {}, {.batch_size = options.batch_size});
  const Function step = predict_step(model);
  std::vector<Array> results;
  EpochProgress progress(options.verbose, "Predict", data.batches());
  std::int64_t done = 0;
  for (std::int64_t begin = 0; begin < rows || begin == 0; begin += options.batch_size) {
    const std::vector<Array> part = sliced(x, begin, std::min(rows, begin + options.batch_size));
    const Outputs outputs = call_step(model, step, {part, {}});
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (begin == 0) {
        Sizes shape = outputs[i].shape();
        shape[0] = rows;
        results.push_back(Array::empty(outputs[i].dtype(), shape));
      }
      results[i].slice(0, begin, begin + outputs[i].shape(0)).copy_from(outputs[i].to_host());
    }
    progress.update(++done, [] { return Logs(); });
  }
  return results;
}

std::vector<Array> Model::predict(const Dataset& dataset, const PredictOptions& options) {
  State& model = *state_;
  std::vector<std::vector<Array>> parts;  // of each output
  EpochProgress progress(options.verbose, "Predict", dataset.batches());
  const Dataset::Next next = dataset.prefetch(2).begin();
  std::int64_t done = 0;
  while (const std::optional<Batch> batch = next()) {
    common_rows({batch->x, {}});
    model.connect(batch->x);
    const Outputs outputs = call_step(model, predict_step(model), {batch->x, {}});
    parts.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(outputs[i].to_host());
    progress.update(++done, [] { return Logs(); });
  }
  if (done == 0) throw ValueError(fmt::format("{}: there are no batches to predict", model.name));
  std::vector<Array> results;
  results.reserve(parts.size());
  for (const std::vector<Array>& list : parts) results.push_back(one_below_another(list));
  return results;
}

Logs Model::train_on_batch(const Batch& batch) {
  State& model = *state_;
  compiled(model);
  model.connect(batch.x);
  check_batch(model, batch);
  model.last_train = train_step(model, batch);
  reset_counts(model);
  call_step(model, model.last_train, batch);
  return logs_of(model);
}

Logs Model::test_on_batch(const Batch& batch) {
  State& model = *state_;
  compiled(model);
  model.connect(batch.x);
  check_batch(model, batch);
  const Function step = test_step(model, batch);
  reset_counts(model);
  call_step(model, step, batch);
  return logs_of(model);
}

void Model::stop_training() { state_->stop = true; }
Optimizer Model::optimizer() const { return compiled(*state_).optimizer; }

bool Model::leaves_out_validation() const { return state_->leaves_out_validation; }

Better Model::better(std::string_view number) const {
  if (number.starts_with("val_")) number.remove_prefix(4);
  if (number == "loss" || std::ranges::count(state_->loss_names, number) > 0) return Better::smaller;
  const auto found = std::ranges::find(state_->metrics, number, &State::CountedMetric::name);
  return found == state_->metrics.end() ? Better::automatic : found->metric.better();
}

Function Model::train_function() const {
  if (!state_->last_train.defined())
    throw TypeError(fmt::format("{}: no step of training has been made yet", state_->name));
  return state_->last_train;
}

}  // namespace croton::nn

#include "nn/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/config.hpp"
#include "nn/class_weights.hpp"
#include "nn/evaluate.hpp"
#include "nn/learning.hpp"
#include "nn/steps.hpp"

namespace croton::nn {
namespace {

using State = Model::State;

/// The first epoch, after a check of all options.
std::int64_t checked_first_epoch(const State& model, const FitOptions& options) {
  if (options.sample_weight)
    throw ValueError(fmt::format("{}: the batches of a dataset have their own weights", model.name));
  if (options.validation_split != 0 && !options.validation_data && !options.validation_dataset)
    throw ValueError(
        fmt::format("{}: validation_split is for arrays, not for a Dataset; use validation_dataset", model.name));
  const std::int64_t first = options.initial_epoch.value_or(model.resumed_epochs.value_or(0));
  if (options.epochs < 0 || first < 0)
    throw ValueError(fmt::format("{}: {} epochs, from {} on: both are 0 or more", model.name, options.epochs, first));
  if (options.validation_freq < 1 || options.validation_steps.value_or(1) < 1)
    throw ValueError(fmt::format("{}: a validation_freq of {} and {} validation_steps: both are 1 or more", model.name,
                                 options.validation_freq, options.validation_steps.value_or(1)));
  if (options.steps_per_epoch && *options.steps_per_epoch < 1)
    throw ValueError(
        fmt::format("{}: {} steps_per_epoch, where 1 or more are expected", model.name, *options.steps_per_epoch));
  return first;
}

std::optional<Dataset> validation_of(const FitOptions& options) {
  std::optional<Dataset> validation = options.validation_dataset;
  if (!validation && options.validation_data) validation = validation_of_arrays(options);
  if (validation && options.validation_steps) validation = validation->take(*options.validation_steps);
  return validation;
}

/// Records in the model that a training begins with the epoch `first`, and returns the pass of the data that its epoch
/// 0 begins. A training that resumes continues its passes; a new one begins with a new pass.
std::int64_t first_pass_from(State& model, std::int64_t first) {
  model.resumed_epochs.reset();
  model.stop = false;
  if (first == 0 || first != model.epochs_done) model.first_pass = model.next_pass;
  model.epochs_done = first;
  return model.first_pass;
}

/// The steps of an epoch, if known.
std::optional<std::int64_t> steps_of(const Dataset& data, const FitOptions& options) {
  const std::optional<std::int64_t> batches = data.batches();
  if (!options.steps_per_epoch) return batches;
  return batches ? std::min(*batches, *options.steps_per_epoch) : options.steps_per_epoch;
}

/// Whether a batch of a dataset has no rows. Invalid batches are left to check_batch.
bool is_empty(const Batch& batch) { return !batch.x.empty() && batch.x[0].rank() > 0 && batch.x[0].shape(0) == 0; }

}  // namespace

Dataset validation_of_arrays(const FitOptions& options) {
  return Dataset::from_arrays(options.validation_data->first, options.validation_data->second,
                              {.batch_size = options.batch_size});
}

Training::Training(Model& model, State& state, const Dataset& dataset, const FitOptions& options)
    : model_(model),
      state_(state),
      options_(options),
      first_(checked_first_epoch(state, options)),
      data_(with_class_weights(state, dataset, options.class_weight).prefetch(2)),
      validation_(validation_of(options)),
      epochs_(data_, options.steps_per_epoch, first_pass_from(state, first_)),
      steps_(steps_of(data_, options)),
      has_batch_logs_(
          std::ranges::any_of(options.callbacks, [](const CallbackRef& c) { return c->wants_batch_logs(); })) {}

/// Calls `event` with each callback.
template <class Event>
void Training::notify_callbacks(const Event& event) const {
  for (const CallbackRef& callback : options_.callbacks) event(*callback);
}

History Training::run() {
  History history;
  notify_callbacks([&](Callback& callback) { callback.on_train_begin(model_); });
  for (std::int64_t epoch = first_; epoch < options_.epochs && !state_.stop; ++epoch) {
    const std::optional<Logs> logs = run_epoch(epoch);
    if (!logs) break;
    history.epochs.push_back(epoch);
    history.logs.push_back(*logs);
  }
  notify_callbacks([&](Callback& callback) { callback.on_train_end(model_, history); });
  return history;
}

/// The logs, which callbacks may change; nothing if the training ends before the first batch.
std::optional<Logs> Training::run_epoch(std::int64_t epoch) {
  notify_callbacks([&](Callback& callback) { callback.on_epoch_begin(model_, epoch); });
  EpochProgress progress(options_.verbose, fmt::format("Epoch {}/{}", epoch + 1, options_.epochs), steps_);
  epochs_.begin(epoch);
  const std::int64_t done = learn(progress);
  if (done == 0 && state_.stop) return std::nullopt;
  if (done == 0) throw ValueError(fmt::format("{}: there are no batches to learn from", state_.name));
  if (epochs_.ran_out() && !std::exchange(warned_, true)) warn_of_end(epoch, done);
  Logs logs = logs_of(state_);
  validate(epoch, logs);
  state_.epochs_done = epoch + 1;
  state_.next_pass = epochs_.next_pass();
  progress.finish(done, logs);
  notify_callbacks([&](Callback& callback) { callback.on_epoch_end(model_, epoch, logs); });
  return logs;
}

/// Trains on the batches of one epoch, and returns their number.
std::int64_t Training::learn(EpochProgress& progress) {
  std::int64_t done = 0;
  while (!state_.stop) {
    const std::optional<Batch> batch = epochs_.next();
    if (!batch) break;
    if (is_empty(*batch)) continue;
    learn_batch(*batch, done);
    progress.update(++done, [&] { return logs_of(state_); });
  }
  return done;
}

/// One step; `number` is its position in the epoch, from 0 on.
void Training::learn_batch(const Batch& batch, std::int64_t number) {
  state_.connect(batch.x);
  check_batch(state_, batch);
  notify_callbacks([&](Callback& callback) { callback.on_batch_begin(model_, number); });
  state_.last_train = train_step(state_, batch);
  if (number == 0) reset_counts(state_);
  call_step(state_, state_.last_train, batch);
  const Logs now = has_batch_logs_ ? logs_of(state_) : Logs();
  notify_callbacks([&](Callback& callback) { callback.on_batch_end(model_, number, now); });
}

/// Adds the numbers of the validation data, in epochs with validation.
void Training::validate(std::int64_t epoch, Logs& logs) {
  state_.leaves_out_validation = validation_ && (epoch + 1) % options_.validation_freq != 0;
  if (!validation_ || state_.leaves_out_validation) return;
  for (const auto& [name, value] : evaluated(state_, *validation_, Verbose::silent)) logs.set("val_" + name, value);
}

void Training::warn_of_end(std::int64_t epoch, std::int64_t done) const {
  if (!base::config().warn) return;
  std::cerr << fmt::format(
      "croton: warning: {}: the data ended after {} of the {} steps of epoch {}; the next epoch begins with its first "
      "batch again (Dataset::repeat makes data longer)\n",
      state_.name, done, *options_.steps_per_epoch, epoch + 1);
}

}  // namespace croton::nn

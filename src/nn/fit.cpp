// Training on arrays and datasets; training.cpp has the loop over epochs.
#include <croton/nn/model.hpp>

#include <fmt/format.h>

#include "nn/learning.hpp"
#include "nn/model_state.hpp"
#include "nn/rows.hpp"
#include "nn/steps.hpp"
#include "nn/training.hpp"

namespace croton::nn {

History Model::fit(const Array& x, const Array& y, const FitOptions& options) {
  return fit(std::vector<Array>{x}, std::vector<Array>{y}, options);
}

History Model::fit(const std::vector<Array>& x, const std::vector<Array>& y, const FitOptions& options) {
  if (options.batch_size < 1) throw ValueError(fmt::format("{}: a batch_size of {}", name(), options.batch_size));
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    throw ValueError(
        fmt::format("{}: a validation_split of {}; it is at least 0 and below 1", name(), options.validation_split));
  Batch learnt{x, y, options.sample_weight};
  const std::int64_t rows = common_rows(learnt);
  FitOptions rest = options;
  rest.sample_weight = {};
  rest.validation_split = 0;
  if (options.validation_split > 0 && !options.validation_data && !options.validation_dataset) {
    const auto kept = static_cast<std::int64_t>(static_cast<double>(rows) * (1 - options.validation_split));
    const Batch last = rows_between(learnt, kept, rows);
    rest.validation_dataset = Dataset::from_arrays(last.x, last.y, last.weights, {.batch_size = options.batch_size});
    learnt = rows_between(learnt, 0, kept);
  }
  // validation_data takes precedence over validation_dataset.
  if (options.validation_data) rest.validation_dataset = validation_of_arrays(options);
  const Dataset::ArrayOptions order{.batch_size = options.batch_size, .shuffle = options.shuffle, .seed = options.seed};
  return fit(Dataset::from_arrays(learnt.x, learnt.y, learnt.weights, order), rest);
}

History Model::fit(const Dataset& dataset, const FitOptions& options) {
  compiled(*state_);
  return Training(*this, *state_, dataset, options).run();
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

void Model::stop_training() { state_->stop = true; }

bool Model::leaves_out_validation() const { return state_->leaves_out_validation; }

Function Model::train_function() const {
  if (!state_->last_train.defined())
    throw TypeError(fmt::format("{}: no step of training has been made yet", state_->name));
  return state_->last_train;
}

}  // namespace croton::nn

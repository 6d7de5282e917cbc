#include "nn/evaluate.hpp"

#include <fmt/format.h>

#include <utility>

#include "nn/learning.hpp"
#include "nn/progress.hpp"
#include "nn/steps.hpp"

namespace croton::nn {

Logs evaluated(Model::State& model, const Dataset& data, Verbose verbose) {
  std::int64_t done = 0;
  EpochProgress progress(verbose, "Evaluate", data.batches());
  const Dataset::Next next = data.prefetch(2).begin();
  bool is_first = true;
  while (const std::optional<Batch> batch = next()) {
    model.connect(batch->x);
    check_batch(model, *batch);
    const Function step = test_step(model, *batch);
    if (std::exchange(is_first, false)) reset_counts(model);
    call_step(model, step, *batch);
    progress.update(++done, [&] { return logs_of(model); });
  }
  if (done == 0) throw ValueError(fmt::format("{}: there are no batches to evaluate", model.name));
  const Logs logs = logs_of(model);
  progress.finish(done, logs);
  return logs;
}

Logs Model::evaluate(const Array& x, const Array& y, const EvaluateOptions& options) {
  return evaluate(std::vector<Array>{x}, std::vector<Array>{y}, options);
}

Logs Model::evaluate(const std::vector<Array>& x, const std::vector<Array>& y, const EvaluateOptions& options) {
  return evaluate(Dataset::from_arrays(x, y, options.sample_weight, {.batch_size = options.batch_size}), options);
}

Logs Model::evaluate(const Dataset& dataset, const EvaluateOptions& options) {
  compiled(*state_);
  return evaluated(*state_, dataset, options.verbose);
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

}  // namespace croton::nn

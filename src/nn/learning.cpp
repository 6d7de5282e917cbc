#include "nn/learning.hpp"

#include <fmt/format.h>

#include <span>

#include "nn/rows.hpp"

namespace croton::nn {

using State = Model::State;

const CompileOptions& compiled(const State& model) {
  if (model.options) return *model.options;
  throw TypeError(fmt::format("{}: call compile first, with the loss to minimise", model.name));
}

void check_batch(const State& model, const Batch& batch) {
  if (batch.x.size() != model.inputs.size())
    throw ValueError(fmt::format("{}: {} input array(s), where the model has {} input(s)", model.name, batch.x.size(),
                                 model.inputs.size()));
  if (batch.y.size() != model.outputs.size())
    throw ValueError(fmt::format("{}: {} target array(s), where the model has {} output(s)", model.name, batch.y.size(),
                                 model.outputs.size()));
  common_rows(batch);
}

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

}  // namespace croton::nn

// The graphs of steps: model, loss, gradients, optimizer and counts of metrics in one graph, for each shard of a batch.
#include "nn/steps.hpp"

#include <croton/grad.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/device_name.hpp"
#include "base/index.hpp"
#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"
#include "builder/mirrors.hpp"
#include "nn/accuracy.hpp"
#include "nn/floats.hpp"
#include "nn/names.hpp"
#include "nn/replica.hpp"

namespace croton::nn {
namespace {

using State = Model::State;

/// Inputs, targets and weights of a shard as variables, with the dtypes and ranks of a batch.
struct StepInputs {
  std::vector<Variable> x, y;
  Variable weights;  // may be empty
};

/// The inputs of all shards, shard by shard.
std::vector<In> flat_inputs(const std::vector<StepInputs>& inputs) {
  std::vector<In> result;
  for (const StepInputs& shard : inputs) {
    for (const Variable& v : shard.x) {
      In& in = result.emplace_back(v);
      in.allow_downcast = true;  // for images in float64
    }
    for (const Variable& v : shard.y) result.emplace_back(v);
    if (shard.weights.defined()) result.emplace_back(shard.weights);
  }
  return result;
}

/// A variable with the dtype and rank of an array.
Variable variable_like(const Array& array, const std::string& name, Where where) {
  return variable({array.dtype(), Sizes(array.shape().size(), unknown_size)}, name, where);
}

StepInputs shard_inputs(const State& model, const Batch& batch) {
  StepInputs inputs{model.input_variables(), {}, {}};
  for (std::size_t i = 0; i < batch.y.size(); ++i)
    inputs.y.push_back(
        variable_like(batch.y[i], batch.y.size() == 1 ? "y" : fmt::format("y{}", i), model.outputs.at(i).node().where));
  if (batch.weights) {
    inputs.weights = variable({float_dtype(), Sizes(batch.weights->shape().size(), unknown_size)}, "sample_weight",
                              model.compiled_at);
  }
  return inputs;
}

std::vector<StepInputs> step_inputs(const State& model, const Batch& batch) {
  std::vector<StepInputs> all;
  for (std::size_t shard = 0; shard < model.shards.count(); ++shard) {
    StepInputs& inputs = all.emplace_back(shard_inputs(model, batch));
    if (model.shards.count() == 1) break;
    const auto rename = [&](Variable& v) { v.named(fmt::format("{}/{}", v.name(), shard)); };
    std::ranges::for_each(inputs.x, rename);
    std::ranges::for_each(inputs.y, rename);
    if (inputs.weights.defined()) rename(inputs.weights);
  }
  return all;
}

/// Builds a step for each shard. A single shard gets no rows, so it is not weighted.
ReplicatedStep built(const State& model, const std::vector<StepInputs>& inputs,
                     const std::function<std::vector<Variable>(const StepInputs&)>& build) {
  std::vector<Variable> rows;
  if (inputs.size() > 1) {
    for (const StepInputs& shard : inputs) rows.push_back(shard.x[0].shape(0, shard.x[0].where()));
  }
  return replicated(model.shards, rows, [&](std::size_t shard) { return build(inputs[shard]); });
}

/// The key of a function in the model's cache.
std::string key_of(const std::string& what, const Batch& batch) {
  std::string key = what;
  for (const Array& y : batch.y) key += fmt::format(" {}:{}", short_name_of(y.dtype()), y.rank());
  if (batch.weights) key += fmt::format(" w{}", batch.weights->rank());
  return key;
}

/// The counts of one batch: of the loss, then (with several outputs) of each output's loss, then of the metrics.
struct StepCounts {
  Variable loss;     // with regularizers; of several shards, this shard's share
  Variable counts;   // a vector
  Variable divisor;  // its sum over all shards divides the loss and the counts of the loss; may be empty
};

/// The weight of a shard's loss. The shares of all shards add up to the loss of the whole batch; or to its sum, if the
/// loss is a mean over the elements that a mask counts, because a shard does not know their number in other shards.
class LossShares {
 public:
  LossShares(const State& model, const std::vector<Flow>& outputs) : replica_(*Replica::current()) {
    const Variable& mask = outputs[0].mask;
    if (!in_shards() || outputs.size() != 1 || !mask.defined() ||
        loss_of(model, 0).reduction() != Reduction::sum_over_batch_size)
      return;
    const builder::OriginScope origin(mask.where());
    counted_ = sum(cast(mask, DType::float32));
  }
  Variable operator()(const Variable& loss, Reduction reduction) const {
    if (!in_shards()) return loss;
    const Variable known = replica_.or_zero(loss);
    if (reduction == Reduction::sum) return known;
    return known * (counted_.defined() ? cast(counted_, loss.dtype()) : replica_.share(loss));
  }
  /// The loss times the rows, and the rows: the logs have the mean over batches, by their rows.
  Variable sum_and_size(const Variable& share, const Variable& size) const {
    const Variable rows = !in_shards() ? size : replica_.all_rows;
    return stack({cast(counted_.defined() ? share : share * rows, DType::float64), cast(size, DType::float64)});
  }
  /// The number of elements that the mask counts; empty if shares add up to the loss itself.
  const Variable& counted() const { return counted_; }

 private:
  bool in_shards() const { return replica_.rows.defined(); }
  const Replica& replica_;
  Variable counted_;
};

StepCounts step_counts(const State& model, const std::vector<Flow>& outputs, const StepInputs& inputs) {
  const Variable size = inputs.x[0].shape(0, inputs.x[0].where());
  std::vector<Variable> counts;
  const LossShares share_of(model, outputs);
  Variable total;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Variable loss = loss_of(model, i)(inputs.y[i], outputs[i].value, inputs.weights, outputs[i].mask);
    if (loss.rank() != 0)
      throw ValueError(fmt::format("{}: the loss {} is not reduced to one number; fit needs one that is", model.name,
                                   loss_of(model, i).name()));
    const builder::OriginScope origin(loss.where());
    const Variable share = share_of(loss, loss_of(model, i).reduction());
    if (outputs.size() > 1) counts.push_back(share_of.sum_and_size(share, size));
    const auto& weights = model.options->loss_weights;
    const Variable weighted = weights.empty() ? share : share * builder::number(weights[i], share);
    total = total.defined() ? total + weighted : weighted;
  }
  for (const State::NamedWeight& weight : model.weights()) {
    if (!weight.trained || !weight.regularizer.defined()) continue;
    const Variable penalty = weight.regularizer(weight.variable);
    const builder::OriginScope origin(penalty.where());
    total = total + share_of(penalty, Reduction::sum_over_batch_size);
  }
  const builder::OriginScope origin(model.compiled_at);  // each loss has the line of its output's layer
  counts.insert(counts.begin(), share_of.sum_and_size(total, size));
  // Metrics do not count masked elements; only weighted metrics use the weights of samples.
  const Flow& first = outputs[0];
  const Variable plain = first.mask.defined() ? cast(first.mask, float_dtype()) : Variable(ones({size}, float_dtype()));
  Variable weight = inputs.weights;
  if (!weight.defined()) {
    weight = plain;
  } else if (first.mask.defined()) {
    weight = weight.rank() < plain.rank() ? plain * shape_padright(weight) : plain * weight;
  }
  for (const auto& [metric, name, weighted] : model.metrics)
    counts.push_back(metric.counts(inputs.y[0], first.value, weighted ? weight : plain));
  return {total, counts.size() == 1 ? counts[0] : croton::concatenate(counts), share_of.counted()};
}

/// The name of an output, which is that of its layer.
std::string name_of(const State& model, const Tensor& output) {
  const std::optional<Layer>& layer = output.node().layer;
  const auto at = layer ? std::ranges::find(model.layers, *layer) : model.layers.end();
  return at == model.layers.end() ? output.node().name : base::nth(model.names, at - model.layers.begin());
}

/// Sets the model's metrics, before each compilation of a step: "accuracy" becomes the one that fits the targets, and
/// names are made unique as in Keras: "precision", "precision_1", "weighted_precision".
void resolve_metrics(State& model, const Batch& batch) {
  std::vector<State::CountedMetric> resolved;
  std::set<std::string> taken;
  model.loss_names.clear();
  if (model.outputs.size() > 1) {
    for (const Tensor& output : model.outputs)
      model.loss_names.push_back(unique_name(name_of(model, output) + "_loss", taken));
  }
  const Shape& output = model.outputs[0].shape();
  std::optional<std::int64_t> last;
  if (!output.empty() && output.back() != any_size) last = output.back();
  const auto add = [&](const Metric& metric, bool weighted) {
    const std::string name = weighted && taken.contains(metric.name()) ? "weighted_" + metric.name() : metric.name();
    resolved.push_back({metric.is_any_accuracy() ? resolved_accuracy(metric, &loss_of(model, 0), batch.y.at(0).rank(),
                                                                     base::to_int(output.size()) + 1, last)
                                                 : metric,
                        unique_name(name, taken), weighted});
  };
  for (const Metric& metric : model.options->metrics) add(metric, false);
  for (const Metric& metric : model.options->weighted_metrics) add(metric, true);
  model.metrics = std::move(resolved);
  std::int64_t states = 2 + (model.outputs.size() > 1 ? 2 * std::ssize(model.outputs) : 0);
  for (const State::CountedMetric& counted : model.metrics) states += counted.metric.states();
  const Array zeros = Array::zeros(DType::float64, {states});
  if (model.counts.defined() && model.counts.get_value(true).shape() == zeros.shape()) return;
  const builder::MirrorScope one({});
  const std::uint16_t place = model.shards.main_device;
  model.counts = shared(zeros,
                        {.name = model.name + "/counts",
                         .target = place == base::unplaced ? "" : base::DeviceName::of_place(place).to_string()},
                        model.compiled_at);
}

std::vector<Variable> results_of(const StepCounts& step) {
  if (step.divisor.defined()) return {step.counts, step.divisor};
  return {step.counts};
}

/// The update of the counts by all shards.
std::pair<Variable, Variable> count_update(const State& model, const ReplicatedStep& step) {
  const builder::OriginScope origin(model.compiled_at);
  std::vector<Variable> counts;
  counts.reserve(step.results.size());
  for (const std::vector<Variable>& results : step.results) counts.push_back(results[0]);
  Variable all = ordered_sum(counts, "counts", model.shards, model.shards.main_device);
  const builder::PlaceScope place(model.shards.main_device);
  if (step.results[0].size() > 1) {  // with a divisor: the sum of the loss becomes its mean times the rows
    std::vector<Variable> divisors;
    divisors.reserve(step.results.size());
    for (const std::vector<Variable>& results : step.results) divisors.push_back(results[1]);
    const Variable divisor = ordered_sum(divisors, "what counts", model.shards, model.shards.main_device);
    const Variable counted = cast(maximum(divisor, builder::number(1, divisor)), DType::float64);
    all = croton::concatenate({shape_padleft(all[0] / counted * all[1]), all[slice(1, {})]});
  }
  return {model.counts, model.counts + all};
}

}  // namespace

const Loss& loss_of(const State& model, std::size_t output) {
  const std::vector<Loss>& all = model.options->loss.list;
  return all.size() == 1 ? all[0] : all[output];
}

Function train_step(State& model, const Batch& batch) {
  const std::string key = key_of("train", batch);
  if (const auto found = model.functions.find(key); found != model.functions.end()) return found->second;
  resolve_metrics(model, batch);
  const std::vector<StepInputs> inputs = step_inputs(model, batch);
  std::vector<SharedVariable> parameters;
  ReplicatedStep step = built(model, inputs, [&](const StepInputs& own) -> std::vector<Variable> {
    CallContext context{.training = true};
    const StepCounts result = step_counts(model, model.run(own.x, context), own);
    parameters.clear();  // weights are made when the model first runs
    for (const State::NamedWeight& weight : model.weights()) {
      if (weight.trained) parameters.push_back(weight.variable);
    }
    if (!parameters.empty()) model.options->optimizer.minimize(result.loss, parameters);
    Replica::current()->averages = context.updates;
    Replica::current()->divisor = result.divisor;
    return results_of(result);
  });
  step.updates.push_back(count_update(model, step));
  return model.functions[key] =
             function(flat_inputs(inputs), OutputList(),
                      {.updates = step.updates, .name = model.name + "_train", .on_unused_input = UnusedInput::ignore},
                      model.compiled_at);
}

Function test_step(State& model, const Batch& batch) {
  const std::string key = key_of("test", batch);
  if (const auto found = model.functions.find(key); found != model.functions.end()) return found->second;
  resolve_metrics(model, batch);
  const std::vector<StepInputs> inputs = step_inputs(model, batch);
  const ReplicatedStep step = built(model, inputs, [&](const StepInputs& own) -> std::vector<Variable> {
    CallContext context;
    return results_of(step_counts(model, model.run(own.x, context), own));
  });
  return model.functions[key] = function(flat_inputs(inputs), OutputList(),
                                         {.updates = {count_update(model, step)},
                                          .name = model.name + "_test",
                                          .on_unused_input = UnusedInput::ignore},
                                         model.compiled_at);
}

Function predict_step(State& model) {
  if (const auto found = model.functions.find("predict"); found != model.functions.end()) return found->second;
  const std::vector<StepInputs> inputs = step_inputs(model, {});
  const ReplicatedStep step = built(model, inputs, [&](const StepInputs& own) {
    CallContext context;
    std::vector<Variable> outputs;
    for (const Flow& flow : model.run(own.x, context)) outputs.push_back(flow.value);
    return outputs;
  });
  std::vector<Variable> outputs = step.results[0];
  if (model.shards.count() > 1) {
    const builder::PlaceScope place(model.shards.main_device);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::vector<Variable> parts;
      parts.reserve(step.results.size());
      for (const std::vector<Variable>& results : step.results) parts.push_back(results[i]);
      outputs[i] = croton::concatenate(parts, 0, parts[0].where());
    }
  }
  return model.functions["predict"] = function(
             flat_inputs(inputs), outputs, {.name = model.name + "_predict", .on_unused_input = UnusedInput::ignore},
             model.outputs[0].node().where);
}

Outputs call_step(const State& model, const Function& step, const Batch& batch) {
  std::vector<Array> whole = batch.x;
  whole.insert(whole.end(), batch.y.begin(), batch.y.end());
  if (batch.weights) whole.push_back(batch.weights->astype(float_dtype()));
  if (model.shards.count() == 1) return step.call(std::vector<Argument>(whole.begin(), whole.end()));
  const std::vector<std::int64_t> bounds = bounds_of(batch.size(), model.shards.count());
  std::vector<Argument> arguments;
  arguments.reserve(whole.size() * model.shards.count());
  for (std::size_t shard = 0; shard < model.shards.count(); ++shard) {
    for (const Array& array : whole) arguments.emplace_back(array.slice(0, bounds[shard], bounds[shard + 1]));
  }
  return step.call(arguments);
}

}  // namespace croton::nn

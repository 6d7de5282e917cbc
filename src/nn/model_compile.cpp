// Model::compile: the loss, the optimizer and the metrics of a model.
#include <croton/nn/model.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/node.hpp"
#include "nn/learning.hpp"
#include "nn/model_state.hpp"

namespace croton::nn {

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
        throw ValueError(fmt::format("{}: a metric is named \"{}\", which is reserved for {}; give it another name",
                                     name(), metric.name(),
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

Optimizer Model::optimizer() const { return compiled(*state_).optimizer; }

Better Model::better(std::string_view number) const {
  if (number.starts_with("val_")) number.remove_prefix(4);
  if (number == "loss" || std::ranges::count(state_->loss_names, number) > 0) return Better::smaller;
  const auto found = std::ranges::find(state_->metrics, number, &State::CountedMetric::name);
  return found == state_->metrics.end() ? Better::automatic : found->metric.better();
}

}  // namespace croton::nn

#include <croton/grad.hpp>
#include <croton/nn/optimizers.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/gradient_context.hpp"
#include "builder/node.hpp"
#include "nn/by_name.hpp"
#include "nn/replica.hpp"

namespace croton::nn {
namespace {

using builder::scalar_constant;
using Pairs = std::vector<std::pair<Variable, SharedVariable>>;

/// A number in the dtype of `like`. Plain C++ numbers would be floatX, and 0.999 in float32 differs from 0.999 by 1e-8.
Variable number(double value, const Variable& like) { return scalar_constant(value, like.dtype()); }

/// decay old + (1 - decay) value.
Variable moving_average(double decay, const Variable& old, const Variable& value) {
  return number(decay, old) * old + number(1 - decay, old) * value;
}

double checked_decay(const char* option, double value) {
  if (!(value >= 0 && value < 1)) throw ValueError(fmt::format("{} must be in [0, 1), and is {}", option, value));
  return value;
}
double checked_rate(double rate) {
  if (!(rate >= 0)) throw ValueError(fmt::format("a learning rate must be 0 or more, and is {}", rate));
  return rate;
}
void check_clip(const char* option, const std::optional<double>& bound) {
  if (bound && !(*bound > 0)) throw ValueError(fmt::format("{} must be above 0, and is {}", option, *bound));
}

/// The sum of squares in at least float32, as squares of float16 overflow from 256 on.
Variable sum_of_squares(const Variable& x) { return sum(sqr(cast(x, promote(x.dtype(), DType::float32)))); }

/// x, scaled so that the vector with this sum of squares, of which x is a part, has at most the norm.
Variable clip_norm(const Variable& x, const Variable& squares, double norm) {
  const Variable longest = number(norm, squares);
  return x * cast(longest / maximum(sqrt(squares), longest), x.dtype());
}

void clip_all(const Clip& how, Pairs& pairs) {
  for (auto& [gradient, parameter] : pairs) {
    if (how.value) gradient = clip(gradient, number(-*how.value, gradient), number(*how.value, gradient));
    if (how.norm) gradient = clip_norm(gradient, sum_of_squares(gradient), *how.norm);
  }
  if (!how.global_norm) return;
  Variable squares = sum_of_squares(pairs[0].first);
  for (std::size_t i = 1; i < pairs.size(); ++i) squares = squares + sum_of_squares(pairs[i].first);
  for (auto& [gradient, parameter] : pairs) gradient = clip_norm(gradient, squares, *how.global_norm);
}

/// The parameters that have a gradient, with the gradient in the parameter's dtype.
Pairs checked(const Pairs& given) {
  Pairs pairs;
  for (const auto& [gradient, parameter] : given) {
    if (!gradient.defined()) continue;
    if (!is_float(parameter.dtype()))
      throw TypeError(fmt::format("an optimizer changes parameters of floats: {}", builder::describe(parameter)));
    if (gradient.rank() != parameter.rank())
      throw TypeError(fmt::format("a gradient must have its parameter's rank: the gradient {}; the parameter {}",
                                  builder::describe(gradient), builder::describe(parameter)));
    pairs.emplace_back(cast(gradient, parameter.dtype()), parameter);
  }
  if (pairs.empty()) throw TypeError("no parameter has a gradient: the loss depends on none of them");
  return pairs;
}

std::string name_or(const std::string& name, const char* kind) { return name.empty() ? kind : name; }

class SGDDefinition : public OptimizerDefinition {
 public:
  SGDDefinition(const SGDOptions& o, Where where)
      : OptimizerDefinition(name_or(o.name, "sgd"), o.learning_rate, o.clip, where),
        momentum_(checked_decay("momentum", o.momentum)),
        nesterov_(o.nesterov) {}
  void update(const SharedVariable& w, const Variable& g, const Step& step, Updates& updates) override {
    const Variable change = cast(step.rate, w.dtype()) * g;
    if (momentum_ == 0) {
      updates.emplace_back(w, w - change);
      return;
    }
    const SharedVariable v = slot(w, "v");
    const Variable momentum = number(momentum_, w), next = momentum * v - change;
    updates.emplace_back(v, next);
    updates.emplace_back(w, nesterov_ ? w + (momentum * next - change) : w + next);
  }

 private:
  double momentum_;
  bool nesterov_;
};

class RMSpropDefinition : public OptimizerDefinition {
 public:
  RMSpropDefinition(const RMSpropOptions& o, Where where)
      : OptimizerDefinition(name_or(o.name, "rmsprop"), o.learning_rate, o.clip, where),
        rho_(checked_decay("rho", o.rho)),
        momentum_(checked_decay("momentum", o.momentum)),
        epsilon_(o.epsilon),
        centered_(o.centered) {}
  void update(const SharedVariable& w, const Variable& g, const Step& step, Updates& updates) override {
    const SharedVariable s = slot(w, "s");
    const Variable next = moving_average(rho_, s, sqr(g));
    updates.emplace_back(s, next);
    Variable square = next;
    if (centered_) {
      const SharedVariable m = slot(w, "m");
      const Variable mean = moving_average(rho_, m, g);
      updates.emplace_back(m, mean);
      square = next - sqr(mean);
    }
    Variable change = cast(step.rate, w.dtype()) * g / sqrt(square + number(epsilon_, w));
    if (momentum_ > 0) {
      const SharedVariable v = slot(w, "v");
      change = number(momentum_, w) * v + change;
      updates.emplace_back(v, change);
    }
    updates.emplace_back(w, w - change);
  }

 private:
  double rho_, momentum_, epsilon_;
  bool centered_;
};

/// Adam, and AdamW, which has a weight decay.
class AdamDefinition : public OptimizerDefinition {
 public:
  AdamDefinition(const AdamWOptions& o, const char* kind, Where where)
      : OptimizerDefinition(name_or(o.name, kind), o.learning_rate, o.clip, where),
        beta_1_(checked_decay("beta_1", o.beta_1)),
        beta_2_(checked_decay("beta_2", o.beta_2)),
        epsilon_(o.epsilon),
        weight_decay_(o.weight_decay),
        amsgrad_(o.amsgrad) {}
  void update(const SharedVariable& w, const Variable& g, const Step& step, Updates& updates) override {
    const SharedVariable m = slot(w, "m"), v = slot(w, "v");
    const Variable mean = moving_average(beta_1_, m, g), square = moving_average(beta_2_, v, sqr(g));
    updates.emplace_back(m, mean);
    updates.emplace_back(v, square);
    Variable largest = square;
    if (amsgrad_) {
      const SharedVariable v_max = slot(w, "v_max");
      largest = maximum(v_max, square);
      updates.emplace_back(v_max, largest);
    }
    const Variable& t = step.count;
    const Variable one = number(1, t);
    // In float64: 1 - 0.999^t would lose most of its digits in float32.
    const Variable rate = step.rate * sqrt(one - pow(number(beta_2_, t), t)) / (one - pow(number(beta_1_, t), t));
    Variable kept = w;
    if (weight_decay_ != 0) kept = w - cast(step.rate, w.dtype()) * number(weight_decay_, w) * w;
    updates.emplace_back(w, kept - cast(rate, w.dtype()) * mean / (sqrt(largest) + number(epsilon_, w)));
  }

 private:
  double beta_1_, beta_2_, epsilon_, weight_decay_;
  bool amsgrad_;
};

class AdagradDefinition : public OptimizerDefinition {
 public:
  AdagradDefinition(const AdagradOptions& o, Where where)
      : OptimizerDefinition(name_or(o.name, "adagrad"), o.learning_rate, o.clip, where),
        first_(o.initial_accumulator),
        epsilon_(o.epsilon) {}
  void update(const SharedVariable& w, const Variable& g, const Step& step, Updates& updates) override {
    const SharedVariable s = slot(w, "s", first_);
    const Variable next = s + sqr(g);
    updates.emplace_back(s, next);
    updates.emplace_back(w, w - cast(step.rate, w.dtype()) * g / sqrt(next + number(epsilon_, w)));
  }

 private:
  double first_, epsilon_;
};

class AdadeltaDefinition : public OptimizerDefinition {
 public:
  AdadeltaDefinition(const AdadeltaOptions& o, Where where)
      : OptimizerDefinition(name_or(o.name, "adadelta"), o.learning_rate, o.clip, where),
        rho_(checked_decay("rho", o.rho)),
        epsilon_(o.epsilon) {}
  void update(const SharedVariable& w, const Variable& g, const Step& step, Updates& updates) override {
    const SharedVariable s = slot(w, "s"), u = slot(w, "u");
    const Variable epsilon = number(epsilon_, w), next = moving_average(rho_, s, sqr(g));
    const Variable change = sqrt(u + epsilon) / sqrt(next + epsilon) * g;
    updates.emplace_back(s, next);
    updates.emplace_back(u, moving_average(rho_, u, sqr(change)));
    updates.emplace_back(w, w - cast(step.rate, w.dtype()) * change);
  }

 private:
  double rho_, epsilon_;
};

template <class Kind>
std::shared_ptr<OptimizerDefinition> with_defaults(Where where) {
  return Kind({}, where).handle();
}
using Make = std::shared_ptr<OptimizerDefinition> (*)(Where where);
constexpr Named<Make> optimizers[] = {{"sgd", with_defaults<SGD>},         {"rmsprop", with_defaults<RMSprop>},
                                      {"adam", with_defaults<Adam>},       {"adamw", with_defaults<AdamW>},
                                      {"adagrad", with_defaults<Adagrad>}, {"adadelta", with_defaults<Adadelta>}};

}  // namespace

OptimizerDefinition::OptimizerDefinition(std::string name, LearningRate rate, const Clip& clip, Where where)
    : name_(std::move(name)), rate_(std::move(rate)), clip_(clip) {
  check_clip("the largest element of a gradient", clip.value);
  check_clip("the largest norm of a gradient", clip.norm);
  check_clip("the largest norm of all gradients", clip.global_norm);
  iterations_ = shared(Array(std::int64_t{0}), {.name = name_ + "/iterations"}, where);
  if (!rate_.schedule())
    rate_variable_ = shared(Array(checked_rate(rate_.rate())), {.name = name_ + "/learning_rate"}, where);
}

SharedVariable OptimizerDefinition::slot(const SharedVariable& parameter, const std::string& name, double first) {
  for (const auto& [key, state] : slots_) {
    if (key.first == parameter && key.second == name) return state;
  }
  const SharedVariable state =
      shared(Array::full(parameter.dtype(), parameter.get_value(true).shape(), first),
             {.name = fmt::format("{}/{}{}{}", name_, name, parameter.name().empty() ? "" : "/", parameter.name()),
              .target = parameter.pinned() ? parameter.home() : ""},
             parameter.where());
  slots_.emplace_back(std::pair(parameter, name), state);
  return state;
}

Optimizer::Optimizer(std::string_view name, Where where)
    : definition_(by_name(std::span<const Named<Make>>(optimizers), name, "optimizer", same_spelled)(where)) {}

Updates Optimizer::apply_gradients(const Pairs& gradients_and_parameters) const {
  if (Replica* replica = Replica::current()) {  // replicated() sums over all shards later
    replica->steps.push_back({*this, gradients_and_parameters});
    return {};
  }
  OptimizerDefinition& d = *definition_;
  std::optional<builder::OriginScope> own(d.iterations_.where());
  Pairs pairs = checked(gradients_and_parameters);
  clip_all(d.clip_, pairs);
  const Variable done = cast(d.iterations_, DType::float64), count = done + number(1, done);
  Updates updates{{d.iterations_, d.iterations_ + number(1, d.iterations_)}};
  own.reset();  // a schedule of the user has its own lines
  const OptimizerDefinition::Step step{count, d.rate_.schedule() ? d.rate_.schedule()(done) : d.rate_variable_};
  for (const auto& [gradient, parameter] : pairs) {
    const builder::OriginScope origin(parameter.where());
    d.update(parameter, gradient, step, updates);
  }
  return updates;
}

Updates Optimizer::minimize(const Variable& loss, const std::vector<SharedVariable>& parameters) const {
  return apply_gradients(zip(gradients(loss, parameters), parameters));
}

const std::string& Optimizer::name() const { return definition_->name_; }

std::vector<SharedVariable> Optimizer::variables() const {
  std::vector<SharedVariable> all{definition_->iterations_};
  if (definition_->rate_variable_.defined()) all.push_back(definition_->rate_variable_);
  for (const auto& [key, state] : definition_->slots_) all.push_back(state);
  return all;
}

std::int64_t Optimizer::iterations() const { return definition_->iterations_.get_value().item<std::int64_t>(); }

double Optimizer::learning_rate() const {
  const OptimizerDefinition& d = *definition_;
  if (!d.rate_.schedule()) return d.rate_variable_.get_value().item<double>();
  const Where where = d.iterations_.where();
  const Variable done = constant(Array(static_cast<double>(iterations())), "", where);
  return d.rate_.schedule()(done).eval({}, where).item<double>();
}

void Optimizer::set_learning_rate(double rate) const {
  if (!definition_->rate_variable_.defined())
    throw ValueError(fmt::format("the learning rate of {} is a schedule, which cannot be set", name()));
  definition_->rate_variable_.set_value(Array(checked_rate(rate)));
}

SGD::SGD(const SGDOptions& options, Where where) : Optimizer(std::make_shared<SGDDefinition>(options, where)) {}
RMSprop::RMSprop(const RMSpropOptions& options, Where where)
    : Optimizer(std::make_shared<RMSpropDefinition>(options, where)) {}
Adam::Adam(const AdamOptions& o, Where where)
    : Optimizer(std::make_shared<AdamDefinition>(AdamWOptions{.learning_rate = o.learning_rate,
                                                              .weight_decay = 0,
                                                              .beta_1 = o.beta_1,
                                                              .beta_2 = o.beta_2,
                                                              .epsilon = o.epsilon,
                                                              .amsgrad = o.amsgrad,
                                                              .clip = o.clip,
                                                              .name = o.name},
                                                 "adam", where)) {}
AdamW::AdamW(const AdamWOptions& options, Where where)
    : Optimizer(std::make_shared<AdamDefinition>(options, "adamw", where)) {}
Adagrad::Adagrad(const AdagradOptions& options, Where where)
    : Optimizer(std::make_shared<AdagradDefinition>(options, where)) {}
Adadelta::Adadelta(const AdadeltaOptions& options, Where where)
    : Optimizer(std::make_shared<AdadeltaDefinition>(options, where)) {}

std::vector<std::pair<Variable, SharedVariable>> zip(const std::vector<Variable>& gradients,
                                                     const std::vector<SharedVariable>& parameters) {
  if (gradients.size() != parameters.size())
    throw ValueError(fmt::format("zip takes as many gradients as parameters: {} and {} were given", gradients.size(),
                                 parameters.size()));
  Pairs pairs;
  for (std::size_t i = 0; i < gradients.size(); ++i) pairs.emplace_back(gradients[i], parameters[i]);
  return pairs;
}

std::vector<Variable> gradients(const Variable& loss, const std::vector<SharedVariable>& variables,
                                bool zeros_for_unconnected) {
  return grad(loss, {variables.begin(), variables.end()},
              {.disconnected_inputs = Disconnected::ignore,
               .return_disconnected = zeros_for_unconnected ? ReturnDisconnected::zero : ReturnDisconnected::none},
              loss.where());
}

}  // namespace croton::nn

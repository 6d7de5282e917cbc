// Optimizers: they compute new values of parameters from gradients, as updates of one function. Formulas and defaults
// are Keras's.
#pragma once

#include <croton/grad.hpp>
#include <croton/nn/layer.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::nn {

/// A learning rate: a number (0 or more, ValueError), which can be changed between steps, or a function of the number
/// of completed steps (a float64 scalar to a float64 scalar).
class LearningRate {
 public:
  using Schedule = std::function<Variable(const Variable& step)>;
  LearningRate(double rate) : rate_(rate) {}
  LearningRate(Schedule schedule) : schedule_(std::move(schedule)) {}
  double rate() const { return rate_; }
  const Schedule& schedule() const { return schedule_; }

 private:
  double rate_ = 0;
  Schedule schedule_;
};
inline constexpr bool default_staircase = false;
/// initial rate^(step / steps), by whole powers with `staircase`.
LearningRate ExponentialDecay(double initial, double steps, double rate, bool staircase = default_staircase);
/// initial / (1 + rate step / steps).
LearningRate InverseTimeDecay(double initial, double steps, double rate, bool staircase = default_staircase);
inline constexpr double default_end_rate = 1e-4, default_decay_power = 1;
/// From initial to end in `steps` steps, by a power of the remaining fraction.
LearningRate PolynomialDecay(double initial, double steps, double end = default_end_rate,
                             double power = default_decay_power);
/// values[i] up to step boundaries[i], then the last value; ValueError unless there is one more value than boundaries.
LearningRate PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries, const std::vector<double>& values);
inline constexpr double default_cosine_alpha = 0, default_warmup_steps = 0;
/// Half a cosine from initial to alpha initial in `steps` steps (Loshchilov and Hutter 2017), after a linear warm-up
/// from 0 (if warm-up steps are given).
LearningRate CosineDecay(double initial, double steps, double alpha = default_cosine_alpha,
                         double warmup_steps = default_warmup_steps);

/// Clipping of gradients before they are used, in this order.
struct Clip {
  std::optional<double> value = {};        ///< each element to -value ... value
  std::optional<double> norm = {};         ///< each gradient to this norm
  std::optional<double> global_norm = {};  ///< all gradients together to this norm
};

class OptimizerDefinition;

/// An optimizer. Copies are the same optimizer with the same state. Names: "sgd", "rmsprop", "adam", "adamw",
/// "adagrad", "adadelta", in any case (ValueError, with the list, for another). The nodes of the step count, the rate
/// and clipping have the line that makes the optimizer, those of new values of a parameter and its state the line of
/// the parameter.
class Optimizer {
 public:
  Optimizer(const char* name, Where where = std::source_location::current())
      : Optimizer(std::string_view(name), where) {}
  Optimizer(std::string_view name, Where where = std::source_location::current());
  Optimizer(const std::string& name, Where where = std::source_location::current())
      : Optimizer(std::string_view(name), where) {}
  explicit Optimizer(std::shared_ptr<OptimizerDefinition> definition) : definition_(std::move(definition)) {}

  /// The updates of one step: parameters, their state in the optimizer (made when first needed, with the parameter's
  /// dtype and device) and the step count. Parameters with an empty gradient do not change; TypeError if all gradients
  /// are empty. In a step of a MirroredStrategy the gradients are summed over all shards first, and the result is
  /// empty: the updates become those of the strategy's function.
  Updates apply_gradients(const std::vector<std::pair<Variable, SharedVariable>>& gradients_and_parameters) const;
  /// The same with the gradients of a loss.
  Updates minimize(const Variable& loss, const std::vector<SharedVariable>& parameters) const;

  const std::string& name() const;
  /// The step count (int64), the rate if it is a number, and the state of parameters.
  std::vector<SharedVariable> variables() const;
  std::int64_t iterations() const;
  /// The rate of the next step.
  double learning_rate() const;
  /// ValueError if the rate is a schedule, and for a negative rate.
  void set_learning_rate(double rate) const;

  const std::shared_ptr<OptimizerDefinition>& handle() const { return definition_; }

 private:
  std::shared_ptr<OptimizerDefinition> definition_;
};

/// The base class of a kind of optimizer: derive from it for your own.
class OptimizerDefinition {
 public:
  /// The count of steps including this one (float64) and the rate of the step, scalars.
  struct Step {
    Variable count, rate;
  };
  static constexpr double default_slot = 0;
  OptimizerDefinition(std::string name, LearningRate rate, const Clip& clip,
                      Where where = std::source_location::current());
  virtual ~OptimizerDefinition() = default;
  OptimizerDefinition(const OptimizerDefinition&) = delete;
  OptimizerDefinition& operator=(const OptimizerDefinition&) = delete;

  /// Adds the new values of the parameter and of its state.
  virtual void update(const SharedVariable& parameter, const Variable& gradient, const Step& step,
                      Updates& updates) = 0;

 protected:
  /// The state of a parameter with this name, of the parameter's shape, initially `first`.
  SharedVariable slot(const SharedVariable& parameter, const std::string& name, double first = default_slot);

 private:
  friend class Optimizer;
  std::string name_;
  LearningRate rate_;
  Clip clip_;
  SharedVariable iterations_, rate_variable_;
  std::vector<std::pair<std::pair<SharedVariable, std::string>, SharedVariable>> slots_;
};

// Decays (momentum, rho, beta) must be in [0, 1), clips positive: ValueError.

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  Clip clip = {};
  std::string name = {};
};
/// v = momentum v - rate g; w += v (nesterov: momentum v - rate g).
struct SGD : Optimizer {
  explicit SGD(const SGDOptions& options = {}, Where where = std::source_location::current());
};
struct RMSpropOptions {
  LearningRate learning_rate = 1e-3;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  Clip clip = {};
  std::string name = {};
};
/// s = rho s + (1 - rho) g^2; w -= rate g / sqrt(s + epsilon) (Tieleman and Hinton 2012; epsilon as in Keras 3).
struct RMSprop : Optimizer {
  explicit RMSprop(const RMSpropOptions& options = {}, Where where = std::source_location::current());
};
struct AdamOptions {
  LearningRate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  Clip clip = {};
  std::string name = {};
};
/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon)
/// (Kingma and Ba 2015).
struct Adam : Optimizer {
  explicit Adam(const AdamOptions& options = {}, Where where = std::source_location::current());
};
struct AdamWOptions {
  LearningRate learning_rate = 1e-3;
  double weight_decay = 0.004, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  Clip clip = {};
  std::string name = {};
};
/// Adam after w -= rate weight_decay w (Loshchilov and Hutter 2019).
struct AdamW : Optimizer {
  explicit AdamW(const AdamWOptions& options = {}, Where where = std::source_location::current());
};
struct AdagradOptions {
  LearningRate learning_rate = 1e-3;
  double initial_accumulator = 0.1, epsilon = 1e-7;
  Clip clip = {};
  std::string name = {};
};
/// s += g^2; w -= rate g / sqrt(s + epsilon) (Duchi et al. 2011).
struct Adagrad : Optimizer {
  explicit Adagrad(const AdagradOptions& options = {}, Where where = std::source_location::current());
};
struct AdadeltaOptions {
  LearningRate learning_rate = 1e-3;
  double rho = 0.95, epsilon = 1e-7;
  Clip clip = {};
  std::string name = {};
};
/// s = rho s + (1 - rho) g^2; d = sqrt(u + epsilon) / sqrt(s + epsilon) g; u = rho u + (1 - rho) d^2; w -= rate d
/// (Zeiler 2012).
struct Adadelta : Optimizer {
  explicit Adadelta(const AdadeltaOptions& options = {}, Where where = std::source_location::current());
};

/// Pairs for apply_gradients; ValueError unless both lists have the same length.
std::vector<std::pair<Variable, SharedVariable>> zip(const std::vector<Variable>& gradients,
                                                     const std::vector<SharedVariable>& parameters);

inline constexpr bool default_zeros_for_unconnected = false;
/// The gradients of a loss with respect to variables, in their order, like TensorFlow's tape: an empty Variable if the
/// loss does not depend on one (zeros with `zeros_for_unconnected`).
std::vector<Variable> gradients(const Variable& loss, const std::vector<SharedVariable>& variables,
                                bool zeros_for_unconnected = default_zeros_for_unconnected);

}  // namespace croton::nn

namespace croton {

/// The gradients with respect to a model's variables, in their order: `grad(loss, model.trainable_variables())`. For
/// other variables see croton/grad.hpp; this is a template so that lists in braces are lists of Variables.
template <std::same_as<std::vector<SharedVariable>> Variables>
std::vector<Variable> grad(const Variable& cost, const Variables& wrt, const GradOptions& options = {},
                           Where where = std::source_location::current()) {
  return grad(cost, std::vector<Variable>(wrt.begin(), wrt.end()), options, where);
}

}  // namespace croton

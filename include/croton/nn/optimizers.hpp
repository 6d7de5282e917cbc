// Optimizers: from gradients to new values of parameters, as updates of one function. Formulas and first values are
// Keras's.
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
/// of steps done, counted from 0 (a float64 scalar to a float64 scalar).
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
/// initial rate^(step / steps), by whole powers with `staircase`.
LearningRate ExponentialDecay(double initial, double steps, double rate, bool staircase = false);
/// initial / (1 + rate step / steps).
LearningRate InverseTimeDecay(double initial, double steps, double rate, bool staircase = false);
/// From initial to end in `steps`, by a power of what is left.
LearningRate PolynomialDecay(double initial, double steps, double end = 1e-4, double power = 1);
/// values[i] up to step boundaries[i], the last one beyond; ValueError unless there is one more value.
LearningRate PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries, const std::vector<double>& values);
/// Half a cosine from initial to alpha initial in `steps` (Loshchilov and Hutter 2017), behind a linear warm-up from 0
/// (where warm-up steps are given).
LearningRate CosineDecay(double initial, double steps, double alpha = 0, double warmup_steps = 0);

/// How gradients are cut before they are used, in this order.
struct Clip {
  std::optional<double> value = {};        ///< each element to -value ... value
  std::optional<double> norm = {};         ///< each gradient to this norm
  std::optional<double> global_norm = {};  ///< all together to this norm
};

class OptimizerDefinition;

/// Copies are the same optimizer with the same state. Text: "sgd", "rmsprop", "adam", "adamw", "adagrad", "adadelta"
/// in small letters or not (ValueError, with the list, for another).
/// The count of steps, the rate and how gradients are cut come from the line that makes it, new values of a parameter
/// and of what is kept for it from the parameter's.
class Optimizer {
 public:
  Optimizer(const char* name, Where where = std::source_location::current())
      : Optimizer(std::string_view(name), where) {}
  Optimizer(std::string_view name, Where where = std::source_location::current());
  Optimizer(const std::string& name, Where where = std::source_location::current())
      : Optimizer(std::string_view(name), where) {}
  explicit Optimizer(std::shared_ptr<OptimizerDefinition> definition) : definition_(std::move(definition)) {}

  /// The updates of one step: parameters, the optimizer's state of them (made when first needed, of the parameter's
  /// dtype and device) and the count of steps. Parameters with an empty gradient stay as they are; TypeError if there
  /// is none at all. In a step of a MirroredStrategy the gradients are summed over all shards first, and nothing is
  /// given: the updates become those of the strategy's function.
  Updates apply_gradients(const std::vector<std::pair<Variable, SharedVariable>>& gradients_and_parameters) const;
  /// The same from a loss.
  Updates minimize(const Variable& loss, const std::vector<SharedVariable>& parameters) const;

  const std::string& name() const;
  /// The count of steps (int64), the rate where it is a number, and the state of parameters.
  std::vector<SharedVariable> variables() const;
  std::int64_t iterations() const;
  /// The rate of the next step.
  double learning_rate() const;
  /// ValueError where the rate is a schedule, and for a rate below 0.
  void set_learning_rate(double rate) const;

  const std::shared_ptr<OptimizerDefinition>& handle() const { return definition_; }

 private:
  std::shared_ptr<OptimizerDefinition> definition_;
};

/// What a kind of optimizer is: derive from it for one of your own.
class OptimizerDefinition {
 public:
  /// What a step knows: the count of steps with this one (float64) and its rate, scalars.
  struct Step {
    Variable count, rate;
  };
  OptimizerDefinition(std::string name, LearningRate rate, const Clip& clip,
                      Where where = std::source_location::current());
  virtual ~OptimizerDefinition() = default;
  OptimizerDefinition(const OptimizerDefinition&) = delete;
  OptimizerDefinition& operator=(const OptimizerDefinition&) = delete;

  /// Adds the new value of the parameter and of what is kept for it.
  virtual void update(const SharedVariable& parameter, const Variable& gradient, const Step& step,
                      Updates& updates) = 0;

 protected:
  /// What is kept of a parameter under this name, of its shape, all `first`.
  SharedVariable slot(const SharedVariable& parameter, const std::string& name, double first = 0);

 private:
  friend class Optimizer;
  std::string name_;
  LearningRate rate_;
  Clip clip_;
  SharedVariable iterations_, rate_variable_;
  std::vector<std::pair<std::pair<SharedVariable, std::string>, SharedVariable>> slots_;
};

// Decays (momentum, rho, beta) lie in [0, 1), clips above 0: ValueError.

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
/// Adam behind w -= rate weight_decay w (Loshchilov and Hutter 2019).
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

/// Pairs for apply_gradients; ValueError unless there are as many of both.
std::vector<std::pair<Variable, SharedVariable>> zip(const std::vector<Variable>& gradients,
                                                     const std::vector<SharedVariable>& parameters);

/// The gradients of a loss by variables in their order, as TensorFlow's tape gives them: an empty Variable where the
/// loss does not depend on one (zeros with `zeros_for_unconnected`).
std::vector<Variable> gradients(const Variable& loss, const std::vector<SharedVariable>& variables,
                                bool zeros_for_unconnected = false);

}  // namespace croton::nn

namespace croton {

/// The gradients by a model's variables, in their order: `grad(loss, model.trainable_variables())`. For others see
/// croton/grad.hpp; it is a template so that lists in braces are lists of Variables.
template <std::same_as<std::vector<SharedVariable>> Variables>
std::vector<Variable> grad(const Variable& cost, const Variables& wrt, const GradOptions& options = {},
                           Where where = std::source_location::current()) {
  return grad(cost, std::vector<Variable>(wrt.begin(), wrt.end()), options, where);
}

}  // namespace croton

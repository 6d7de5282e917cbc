// Optimizers, learning rates, and gradients by a model's variables.
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// A number, a LearningRate, or a function of the count of steps.
nn::LearningRate to_rate(nb::handle object) {
  if (nb::isinstance<nn::LearningRate>(object)) return nb::cast<nn::LearningRate>(object);
  if (!PyCallable_Check(object.ptr())) return to_double(object, "a learning rate");
  return nn::LearningRate([function = make_ref(nb::borrow(object))](const Variable& step) {
    const AcquireGil gil;
    return to_variable(call_python(*function, step));
  });
}

}  // namespace

template <>
struct Keyword<nn::LearningRate> : ObjectKeyword<&to_rate> {
  static double shown(const nn::LearningRate& rate) { return rate.rate(); }
};

namespace {

void bind_rates(nb::module_& m) {
  nb::class_<nn::LearningRate>(m, "LearningRate",
                               "A learning rate: a number (not negative, else ValueError), or a function of the number "
                               "of steps done so far, a float64 scalar Variable.")
      .def(
          "__init__", [](nn::LearningRate* self, nb::handle rate) { new (self) nn::LearningRate(to_rate(rate)); },
          "rate"_a);
  m.def("ExponentialDecay", &nn::ExponentialDecay, "initial_learning_rate"_a, "decay_steps"_a, "decay_rate"_a,
        "staircase"_a = nn::default_staircase,
        "The schedule initial rate^(step / steps), in whole powers with staircase.");
  m.def("InverseTimeDecay", &nn::InverseTimeDecay, "initial_learning_rate"_a, "decay_steps"_a, "decay_rate"_a,
        "staircase"_a = nn::default_staircase, "The schedule initial / (1 + rate step / steps).");
  m.def("PolynomialDecay", &nn::PolynomialDecay, "initial_learning_rate"_a, "decay_steps"_a,
        "end_learning_rate"_a = nn::default_end_rate, "power"_a = nn::default_decay_power,
        "A polynomial schedule from the initial to the end rate in `decay_steps`, by a power of the remaining fraction "
        "of steps.");
  m.def("PiecewiseConstantDecay", &nn::PiecewiseConstantDecay, "boundaries"_a, "values"_a,
        "The schedule values[i] up to step boundaries[i], then the last value; ValueError unless there is one more "
        "value than boundaries.");
  m.def("CosineDecay", &nn::CosineDecay, "initial_learning_rate"_a, "decay_steps"_a,
        "alpha"_a = nn::default_cosine_alpha, "warmup_steps"_a = nn::default_warmup_steps,
        "A cosine schedule from the initial rate to alpha times it in `decay_steps`, after a linear warm-up from 0.");
}

void bind_optimizer(nb::module_& m) {
  nb::class_<nn::Optimizer>(
      m, "Optimizer",
      "An optimizer: computes new values of parameters from gradients. Optimizer('adam') is the one of that name: "
      "'sgd', 'rmsprop', 'adam', 'adamw', 'adagrad' or 'adadelta' (a ValueError lists them).")
      .def(
          "__init__", [](nn::Optimizer* self, const std::string& name) { new (self) nn::Optimizer(name, here()); },
          "name"_a)
      .def(
          "apply_gradients",
          [](const nn::Optimizer& optimizer, nb::handle pairs) {
            return from_updates(optimizer.apply_gradients(to_gradients_and_parameters(pairs)));
          },
          "grads_and_vars"_a,
          "The updates of one step from pairs (gradient, parameter): a list of pairs (variable, new value), for "
          "`updates` of croton.function. Parameters whose gradient is None are not changed; TypeError if all are None. "
          "In a step of a MirroredStrategy the gradients are summed over all shards first, and the list is empty: the "
          "updates become those of the strategy's function.")
      .def(
          "minimize",
          [](const nn::Optimizer& optimizer, nb::handle loss, nb::handle variables) {
            return from_updates(optimizer.minimize(to_variable(loss), to_shared_variables(variables)));
          },
          "loss"_a, "var_list"_a, "The updates of one step from a loss, as apply_gradients.")
      .def_prop_ro("name", &nn::Optimizer::name)
      .def_prop_ro("variables", &nn::Optimizer::variables,
                   "The count of steps, the learning rate if it is a number, and the state of parameters.")
      .def_prop_ro(
          "iterations", [](const nn::Optimizer& optimizer) { return released([&] { return optimizer.iterations(); }); },
          "The number of steps done.")
      .def_prop_rw(
          "learning_rate",
          [](const nn::Optimizer& optimizer) { return released([&] { return optimizer.learning_rate(); }); },
          [](nn::Optimizer& optimizer, double rate) { released([&] { optimizer.set_learning_rate(rate); }); },
          "The learning rate of the next step. Setting it raises ValueError if it is a schedule, and for a negative "
          "rate.")
      .def("__repr__", [](const nn::Optimizer& optimizer) { return "<croton.nn.Optimizer " + optimizer.name() + ">"; });
}

/// A number in the Clip of the options.
template <class O>
struct ClipField {
  using Options = O;
  using Python = std::optional<double>;
  const char* name;
  std::optional<double> nn::Clip::* member;

  auto argument(const O& /*defaults*/) const { return nb::arg(name) = nb::none(); }
  void set(O& options, Python value) const { options.clip.*member = value; }
};

/// Binds a kind of optimizer: the learning rate, its own options, and the keyword-only options of all kinds.
template <class Kind, class O, class... Fields>
void bind_kind(nb::module_& m, const char* name, const char* doc, const Field<O, Fields>&... own) {
  nb::class_<Kind, nn::Optimizer> c(m, name, doc);
  def_init(
      c,
      keywords(std::tuple{Field{"learning_rate", &O::learning_rate}, own...},
               std::tuple{ClipField<O>{"clipvalue", &nn::Clip::value}, ClipField<O>{"clipnorm", &nn::Clip::norm},
                          ClipField<O>{"global_clipnorm", &nn::Clip::global_norm}, OptionalField{"name", &O::name}}),
      "learning_rate: a number, a schedule (ExponentialDecay and so on) or a function of the count of steps. "
      "clipvalue, clipnorm, global_clipnorm: clip each element, the norm of each gradient, or the norm of all "
      "gradients together.");
}

void bind_kinds(nb::module_& m) {
  using SGD = nn::SGDOptions;
  bind_kind<nn::SGD>(m, "SGD", "v = momentum v - rate g; w += v (nesterov: momentum v - rate g).",
                     Field{"momentum", &SGD::momentum}, Field{"nesterov", &SGD::nesterov});
  using RMSprop = nn::RMSpropOptions;
  bind_kind<nn::RMSprop>(m, "RMSprop", "s = rho s + (1 - rho) g^2; w -= rate g / sqrt(s + epsilon).",
                         Field{"rho", &RMSprop::rho}, Field{"momentum", &RMSprop::momentum},
                         Field{"epsilon", &RMSprop::epsilon}, Field{"centered", &RMSprop::centered});
  using Adagrad = nn::AdagradOptions;
  bind_kind<nn::Adagrad>(m, "Adagrad", "s += g^2; w -= rate g / sqrt(s + epsilon).",
                         Field{"initial_accumulator_value", &Adagrad::initial_accumulator},
                         Field{"epsilon", &Adagrad::epsilon});
  using Adadelta = nn::AdadeltaOptions;
  bind_kind<nn::Adadelta>(
      m, "Adadelta",
      "s = rho s + (1 - rho) g^2; d = sqrt(u + epsilon) / sqrt(s + epsilon) g; u = rho u + (1 - rho) d^2; w -= rate d.",
      Field{"rho", &Adadelta::rho}, Field{"epsilon", &Adadelta::epsilon});
  using Adam = nn::AdamOptions;
  bind_kind<nn::Adam>(m, "Adam",
                      "m = beta_1 m + (1 - beta_1) g; v = beta_2 v + (1 - beta_2) g^2; w -= rate sqrt(1 - beta_2^t) / "
                      "(1 - beta_1^t) m / (sqrt(v) + epsilon).",
                      Field{"beta_1", &Adam::beta_1}, Field{"beta_2", &Adam::beta_2}, Field{"epsilon", &Adam::epsilon},
                      Field{"amsgrad", &Adam::amsgrad});
  using AdamW = nn::AdamWOptions;
  bind_kind<nn::AdamW>(m, "AdamW", "Adam, after w -= rate weight_decay w.", Field{"weight_decay", &AdamW::weight_decay},
                       Field{"beta_1", &AdamW::beta_1}, Field{"beta_2", &AdamW::beta_2},
                       Field{"epsilon", &AdamW::epsilon}, Field{"amsgrad", &AdamW::amsgrad});
}

/// An optimizer whose step is a Python function.
class PythonOptimizer : public nn::OptimizerDefinition {
 public:
  PythonOptimizer(std::string name, nb::object update, nn::LearningRate rate, const nn::Clip& clip)
      : OptimizerDefinition(std::move(name), std::move(rate), clip, here()), update_(make_ref(std::move(update))) {}

  void update(const SharedVariable& parameter, const Variable& gradient, const Step& step,
              nn::Updates& updates) override {
    const AcquireGil gil;
    const nb::object slot = nb::cpp_function(
        [this, parameter](const std::string& name, double first) { return this->slot(parameter, name, first); },
        "name"_a, "first"_a = default_slot);
    const nb::object result = call_python(*update_, parameter, gradient, step.rate, step.count, slot);
    for (auto& pair : to_pairs(result, "the result of an optimizer's update")) updates.push_back(std::move(pair));
  }

 private:
  ObjectRef update_;
};

}  // namespace

void bind_nn_optimizers(nb::module_& m) {
  bind_rates(m);
  bind_optimizer(m);
  bind_kinds(m);
  m.def(
      "own_optimizer",
      [](nb::object update, nb::handle rate, const std::string& name, std::optional<double> clipvalue,
         std::optional<double> clipnorm, std::optional<double> global_clipnorm) {
        const nn::Clip clip{.value = clipvalue, .norm = clipnorm, .global_norm = global_clipnorm};
        return nn::Optimizer(std::make_shared<PythonOptimizer>(name, std::move(update), to_rate(rate), clip));
      },
      "update"_a, "learning_rate"_a = 0.01, "name"_a = "own", nb::kw_only(), "clipvalue"_a = nb::none(),
      "clipnorm"_a = nb::none(), "global_clipnorm"_a = nb::none(),
      "A custom optimizer: update(parameter, gradient, rate, count, slot) returns the updates of one parameter as a "
      "dict or pairs (variable, new value). rate and count (the number of steps, including this one) are scalars; "
      "slot(name, first=0.0) is a shared variable of the parameter's state.");
  m.def(
      "gradients",
      [](nb::handle loss, nb::handle variables, bool zeros) {
        nb::list list;
        for (const Variable& g : nn::gradients(to_variable(loss), to_shared_variables(variables), zeros)) {
          if (g.defined()) {
            list.append(g);
          } else {
            list.append(nb::none());
          }
        }
        return list;
      },
      "loss"_a, "variables"_a, "zeros_for_unconnected"_a = nn::default_zeros_for_unconnected,
      "The gradients of a loss by variables, in their order; None (or zeros) for variables that the loss does not "
      "depend on.");
}

}  // namespace croton::python

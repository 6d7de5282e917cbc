// Losses of models.
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

Variable to_empty_or_variable(nb::handle object) { return object.is_none() ? Variable() : to_variable(object); }

const char* name_of_reduction(nn::Reduction reduction) {
  static constexpr const char* names[] = {"sum_over_batch_size", "sum", "none"};
  return names[static_cast<std::size_t>(reduction)];
}

/// None means 'none', as in Keras.
std::string to_reduction(std::optional<std::string> text) { return std::move(text).value_or("none"); }

/// The reduction of a loss, a text or None.
template <class O>
struct ReductionField {
  using Options = O;
  using Python = std::optional<std::string>;

  auto argument(const O& defaults) const { return nb::arg("reduction").none() = defaults.reduction; }
  void set(O& options, Python value) const { options.reduction = to_reduction(std::move(value)); }
};

/// Binds a loss that is constructed from `Own` and the options of all losses. `arguments`: the names of `Own`.
template <class L, class... Own, class... Arguments>
void bind_loss(nb::module_& m, const char* name, const char* doc, const Arguments&... arguments) {
  using O = nn::LossOptions;
  nb::class_<L, nn::Loss> c(m, name, doc);
  def_init<Own...>(c, keywords(std::tuple{ReductionField<O>(), OptionalField{"name", &O::name}}), arguments...);
}

template <class L>
void bind_of_probabilities(nb::module_& m, const char* name, const char* doc) {
  using O = nn::ProbabilityLossOptions;
  nb::class_<L, nn::Loss> c(m, name, doc);
  def_init(c,
           keywords(std::tuple{Field{"from_logits", &O::from_logits}, Field{"label_smoothing", &O::label_smoothing},
                               ReductionField<O>(), OptionalField{"name", &O::name}}),
           "from_logits: predictions are logits; else probabilities, which are clipped to 1e-7 ... 1 - 1e-7. Directly "
           "after a softmax or sigmoid, the stable form is computed from its logits, which needs no clipping.");
}

}  // namespace

void bind_nn_losses(nb::module_& m) {
  nb::class_<nn::Loss>(m, "Loss",
                       "A loss, a function of (target, prediction): a number for each sample, weighted, then reduced "
                       "by `reduction`: 'sum_over_batch_size' (their mean), 'sum', or 'none' (no reduction). Made from "
                       "a name such as 'mse' or 'categorical_crossentropy' (a ValueError lists them), or from a "
                       "function (target, prediction) that returns a number for each sample.")
      .def(
          "__init__",
          [](nn::Loss* self, nb::handle loss, std::optional<std::string> reduction, std::optional<std::string> name) {
            const bool function = !PyUnicode_Check(loss.ptr()) && !nb::isinstance<nn::Loss>(loss);
            if (!function || !PyCallable_Check(loss.ptr())) {
              new (self) nn::Loss(to_loss(loss));
              return;
            }
            new (self) nn::Loss(to_samples(nb::borrow(loss)),
                                nn::LossOptions{to_reduction(std::move(reduction)), text_or_empty(std::move(name))});
          },
          "loss"_a, nb::kw_only(), ReductionField<nn::LossOptions>().argument({}), "name"_a = nb::none(),
          "reduction and name are for functions; named losses have their own.")
      .def(
          "__call__",
          [](const nn::Loss& loss, nb::handle target, nb::handle prediction, nb::handle weight, nb::handle mask) {
            return loss(to_variable(target), to_variable(prediction), to_empty_or_variable(weight),
                        to_empty_or_variable(mask));
          },
          "y_true"_a, "y_pred"_a, "sample_weight"_a = nb::none(), "mask"_a = nb::none(),
          "The reduced loss. Targets have the shape of the prediction, except for a last axis of size 1; class numbers "
          "have one axis less (TypeError or ShapeError for others: there is no broadcasting). sample_weight has one "
          "number for each sample, or each step, and does not change the divisor; mask (bool) selects the steps that "
          "count.")
      .def(
          "samples",
          [](const nn::Loss& loss, nb::handle target, nb::handle prediction) {
            return loss.samples(to_variable(target), to_variable(prediction));
          },
          "y_true"_a, "y_pred"_a, "The losses of the samples, without reduction.")
      .def_prop_ro("name", &nn::Loss::name)
      .def_prop_ro("reduction", [](const nn::Loss& loss) { return name_of_reduction(loss.reduction()); })
      .def("__repr__", [](const nn::Loss& loss) { return "<croton.nn.Loss " + loss.name() + ">"; });
  bind_of_probabilities<nn::SparseCategoricalCrossentropy>(m, "SparseCategoricalCrossentropy",
                                                           "-log(p[target]) of class numbers and class probabilities.");
  bind_of_probabilities<nn::CategoricalCrossentropy>(m, "CategoricalCrossentropy",
                                                     "-sum(target log(p)) of one-hot rows and class probabilities.");
  bind_of_probabilities<nn::BinaryCrossentropy>(m, "BinaryCrossentropy",
                                                "mean(-(target log(p) + (1 - target) log(1 - p))) of targets 0 and 1.");
  bind_loss<nn::MeanSquaredError>(m, "MeanSquaredError", "mean((p - t)^2) along the last axis.");
  bind_loss<nn::MeanAbsoluteError>(m, "MeanAbsoluteError", "mean(|p - t|) along the last axis.");
  bind_loss<nn::KLDivergence>(m, "KLDivergence", "sum(t log(t / p)), both clipped to 1e-7 ... 1.");
  bind_loss<nn::Poisson>(m, "Poisson", "mean(p - t log(p + 1e-7)).");
  bind_loss<nn::Hinge>(m, "Hinge", "mean(max(1 - t p, 0)) of targets -1 and 1; if all are 0 or 1, 0 counts as -1.");
  bind_loss<nn::Huber, double>(m, "Huber",
                               "The mean of 0.5 e^2 where |e| <= delta, else delta |e| - 0.5 delta^2, with e = p - t.",
                               "delta"_a = nn::Huber::default_delta);
  bind_loss<nn::CosineSimilarity, int>(m, "CosineSimilarity", "-sum(p t) / (|p| |t|) along the axis.",
                                       "axis"_a = nn::CosineSimilarity::default_axis);
  m.def(
      "compute_average_loss",
      [](nb::handle per_sample, std::int64_t size) {
        return nn::compute_average_loss(to_variable(per_sample), {.global_batch_size = size});
      },
      "per_example_loss"_a, "global_batch_size"_a,
      "sum(per_example_loss) / global_batch_size, a replica's part of the loss of the whole batch. ValueError for a "
      "size below 1.");
}

}  // namespace croton::python

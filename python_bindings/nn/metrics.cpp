// Metrics of models.
#include "core/arrays.hpp"
#include "core/gil.hpp"
#include "core/kept.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

template <class M>
using MetricClass = nb::class_<M, nn::Metric>;

template <class M>
void bind_named(nb::module_& m, const char* name, const char* log_name, const char* doc) {
  MetricClass<M>(m, name, doc)
      .def("__init__", [](M* self, const std::string& its_name) { new (self) M(its_name); }, "name"_a = log_name);
}

/// With one number in front of the name.
template <class M, class T>
void bind_with(nb::module_& m, const char* name, const char* log_name, const char* parameter, T value,
               const char* doc) {
  MetricClass<M>(m, name, doc)
      .def(
          "__init__", [](M* self, T number, const std::string& its_name) { new (self) M(number, its_name); },
          nb::arg(parameter) = value, "name"_a = log_name);
}

nn::Metric of_counts(std::string name, std::int64_t states, nb::object counts, nb::object result,
                     const std::string& mode) {
  return nn::Metric(
      std::move(name), states,
      [counts = keep(std::move(counts))](const Variable& target, const Variable& prediction, const Variable& weight) {
        const AcquireGil gil;
        return to_variable(call_python(*counts, target, prediction, weight));
      },
      [result = keep(std::move(result))](std::span<const double> numbers) {
        const AcquireGil gil;
        return to_double(call_python(*result, nb::cast(std::vector<double>(numbers.begin(), numbers.end()))),
                         "the result of a metric");
      },
      to_better(mode));
}

void bind_metric(nb::module_& m) {
  nb::class_<nn::Metric>(
      m, "Metric",
      "A number made of counts that batches add to. Made of a name ('accuracy', 'auc', the names of losses and so on; "
      "ValueError, with the list, for another), or of a function (target, prediction) that gives a number for each "
      "sample, whose mean it is.")
      .def(
          "__init__",
          [](nn::Metric* self, nb::handle metric, std::optional<std::string> name, const std::string& mode) {
            const bool function = !PyUnicode_Check(metric.ptr()) && !nb::isinstance<nn::Metric>(metric);
            if (!function || !PyCallable_Check(metric.ptr()) || (!name && mode == "auto")) {
              new (self) nn::Metric(to_metric(metric));
              return;
            }
            new (self)
                nn::Metric(name ? *name : to_metric(metric).name(), to_samples(nb::borrow(metric)), to_better(mode));
          },
          "metric"_a, nb::kw_only(), "name"_a = nb::none(), "mode"_a = "auto",
          "name, mode ('min' or 'max': which numbers are better) are those of a function.")
      .def_static("of_counts", &of_counts, "name"_a, "states"_a, "counts"_a, "result"_a, "mode"_a = "auto",
                  "A metric of your own: counts(target, prediction, weight) gives a float64 vector of `states` numbers "
                  "that a batch adds, and result(list of the sums) the metric.")
      .def_prop_ro("name", &nn::Metric::name)
      .def("__repr__", [](const nn::Metric& metric) { return "<croton.nn.Metric " + metric.name() + ">"; });
}

void bind_counter(nb::module_& m) {
  nb::class_<nn::Counter>(m, "Counter", "A metric that is counted by hand. 'accuracy' is chosen by the first arrays.")
      .def(
          "__init__", [](nn::Counter* self, nb::handle metric) { new (self) nn::Counter(to_metric(metric)); },
          "metric"_a)
      .def(
          "update_state",
          [](nn::Counter& self, nb::handle target, nb::handle prediction, nb::handle weight) {
            const Array t = to_array(target), p = to_array(prediction);
            released([&, w = to_optional_array(weight), where = here()] { self.update(t, p, w, where); });
          },
          "y_true"_a, "y_pred"_a, "sample_weight"_a = nb::none(), "Adds the counts of these arrays.")
      .def("result", &nn::Counter::result, "The metric of all arrays so far.")
      .def("reset_state", &nn::Counter::reset, "Begins anew.")
      .def("merge_state", &nn::Counter::merge, "other"_a,
           "Adds the counts of another of the same metric (ValueError).");
}

}  // namespace

void bind_nn_metrics(nb::module_& m) {
  bind_metric(m);
  bind_named<nn::SparseCategoricalAccuracy>(m, "SparseCategoricalAccuracy", "sparse_categorical_accuracy",
                                            "How often the largest prediction is that of the class number.");
  bind_named<nn::CategoricalAccuracy>(m, "CategoricalAccuracy", "categorical_accuracy",
                                      "How often the largest prediction is where the largest target is.");
  bind_with<nn::BinaryAccuracy>(m, "BinaryAccuracy", "binary_accuracy", "threshold", 0.5,
                                "How often predictions are above the threshold where targets are 1, and not where 0.");
  bind_with<nn::TopKCategoricalAccuracy>(m, "TopKCategoricalAccuracy", "top_k_categorical_accuracy", "k",
                                         std::int64_t{5},
                                         "How often fewer than k classes are above the target's; ties count for it.");
  bind_with<nn::SparseTopKCategoricalAccuracy>(m, "SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy",
                                               "k", std::int64_t{5}, "The same of class numbers.");
  bind_with<nn::Precision>(m, "Precision", "precision", "thresholds", 0.5,
                           "Of the predictions above the threshold: the share of those whose target is 1.");
  bind_with<nn::Recall>(m, "Recall", "recall", "thresholds", 0.5,
                        "Of the targets 1: the share of those whose prediction is above the threshold.");
  bind_with<nn::AUC>(m, "AUC", "auc", "num_thresholds", 200,
                     "The area under the curve of true against false positives, by the trapezoidal rule over so many "
                     "thresholds (2 at least, ValueError).");
  bind_named<nn::RootMeanSquaredError>(m, "RootMeanSquaredError", "root_mean_squared_error", "sqrt(mean((p - t)^2)).");
  bind_counter(m);
}

}  // namespace croton::python

// Metrics of models.
#include "core/arrays.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

template <class M>
using MetricClass = nb::class_<M, nn::Metric>;

template <class M>
void bind_named(nb::module_& m, const char* name, const char* doc) {
  MetricClass<M>(m, name, doc)
      .def(
          "__init__", [](M* self, const std::string& metric_name) { new (self) M(metric_name); },
          "name"_a = M::default_name);
}

/// A metric with a number of type `T` before its name.
template <class M, class T>
void bind_with(nb::module_& m, const char* name, const nb::arg_v& parameter, const char* doc) {
  MetricClass<M>(m, name, doc)
      .def(
          "__init__", [](M* self, T number, const std::string& metric_name) { new (self) M(number, metric_name); },
          parameter, "name"_a = M::default_name);
}

nn::Metric of_counts(std::string name, std::int64_t states, nb::object counts, nb::object result,
                     const std::string& mode) {
  return nn::Metric(
      std::move(name), states,
      [counts = make_ref(std::move(counts))](const Variable& target, const Variable& prediction,
                                             const Variable& weight) {
        const AcquireGil gil;
        return to_variable(call_python(*counts, target, prediction, weight));
      },
      [result = make_ref(std::move(result))](std::span<const double> numbers) {
        const AcquireGil gil;
        return to_double(call_python(*result, nb::cast(std::vector<double>(numbers.begin(), numbers.end()))),
                         "the result of a metric");
      },
      to_better(mode));
}

void bind_metric(nb::module_& m) {
  nb::class_<nn::Metric>(m, "Metric",
                         "A number computed from counts that batches accumulate. Made from a name such as 'accuracy', "
                         "'auc' or that of a loss (a ValueError lists them), or from a function (target, prediction) "
                         "that returns a number for each sample; the metric is their mean.")
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
          "metric"_a, nb::kw_only(), "name"_a = nb::none(), argument("mode", nn::Metric::default_better),
          "name and mode ('min' or 'max': which values are better) are for functions.")
      .def_static("of_counts", &of_counts, "name"_a, "states"_a, "counts"_a, "result"_a,
                  argument("mode", nn::Metric::default_better),
                  "A custom metric: counts(target, prediction, weight) returns a float64 vector of `states` numbers "
                  "that a batch adds, and result(list of the sums) returns the metric.")
      .def_prop_ro("name", &nn::Metric::name)
      .def("__repr__", [](const nn::Metric& metric) { return "<croton.nn.Metric " + metric.name() + ">"; });
}

void bind_counter(nb::module_& m) {
  nb::class_<nn::Counter>(
      m, "Counter",
      "A metric that accumulates arrays outside of a model. The first arrays decide which kind of 'accuracy' it is.")
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
      .def("reset_state", &nn::Counter::reset, "Sets all counts to 0.")
      .def("merge_state", &nn::Counter::merge, "other"_a,
           "Adds the counts of another Counter of the same metric (else ValueError).");
}

}  // namespace

void bind_nn_metrics(nb::module_& m) {
  bind_metric(m);
  bind_named<nn::SparseCategoricalAccuracy>(
      m, "SparseCategoricalAccuracy", "The fraction of samples whose largest prediction is that of the class number.");
  bind_named<nn::CategoricalAccuracy>(m, "CategoricalAccuracy",
                                      "The fraction of samples whose largest prediction is at the largest target.");
  bind_with<nn::BinaryAccuracy, double>(m, "BinaryAccuracy", "threshold"_a = nn::BinaryAccuracy::default_threshold,
                                        "The fraction of predictions that are above the threshold where the target is "
                                        "1, and not above it where it is 0.");
  bind_with<nn::TopKCategoricalAccuracy, std::int64_t>(
      m, "TopKCategoricalAccuracy", "k"_a = nn::TopKCategoricalAccuracy::default_k,
      "The fraction of samples for which fewer than k classes have a larger prediction than the target's class.");
  bind_with<nn::SparseTopKCategoricalAccuracy, std::int64_t>(m, "SparseTopKCategoricalAccuracy",
                                                             "k"_a = nn::SparseTopKCategoricalAccuracy::default_k,
                                                             "As TopKCategoricalAccuracy, for class numbers.");
  bind_with<nn::Precision, double>(m, "Precision", "thresholds"_a = nn::Precision::default_threshold,
                                   "The fraction of the predictions above the threshold whose target is 1.");
  bind_with<nn::Recall, double>(m, "Recall", "thresholds"_a = nn::Recall::default_threshold,
                                "The fraction of the targets 1 whose prediction is above the threshold.");
  bind_with<nn::AUC, int>(
      m, "AUC", "num_thresholds"_a = nn::AUC::default_thresholds,
      "The area under the ROC curve, by the trapezoidal rule over num_thresholds thresholds (at least 2, else "
      "ValueError).");
  bind_named<nn::RootMeanSquaredError>(m, "RootMeanSquaredError", "sqrt(mean((p - t)^2)).");
  bind_counter(m);
}

}  // namespace croton::python

// Initializers and regularizers.
#include "core/arrays.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

nn::Fan to_fan(const std::string& mode) {
  return choice<nn::Fan>(mode, "mode",
                         {{"fan_in", nn::Fan::in}, {"fan_out", nn::Fan::out}, {"fan_avg", nn::Fan::average}});
}

const char* name_of_fan(nn::Fan fan) {
  static constexpr const char* names[] = {"fan_in", "fan_out", "fan_avg"};
  return names[static_cast<std::size_t>(fan)];
}

void bind_initializers(nb::module_& m) {
  nb::class_<nn::Initializer>(m, "Initializer",
                              "The initial values of a weight: a name such as 'glorot_uniform' or 'zeros' (a "
                              "ValueError lists them), or a function (shape, dtype, seed) that returns an array.")
      .def(
          "__init__",
          [](nn::Initializer* self, nb::handle object) { new (self) nn::Initializer(to_initializer(object)); },
          "initializer"_a)
      .def(
          "__call__",
          [](const nn::Initializer& self, nb::handle shape, nb::handle dtype, std::uint64_t seed) {
            return to_numpy(self(to_numbers(shape, "a size"), to_dtype(dtype), seed));
          },
          "shape"_a, "dtype"_a = "floatX", "seed"_a = 0,
          "The initial values. ShapeError if a function returns another shape.")
      .def_prop_ro("name", &nn::Initializer::name)
      .def("__repr__", [](const nn::Initializer& self) { return "<croton.nn.Initializer " + self.name() + ">"; });
  m.def("Constant", &nn::constant_values, "value"_a = nn::default_constant,
        "An initializer that sets all elements to the value.");
  m.def(
      "ValuesOf", [](nb::handle values) { return nn::values_of(to_array(values).copy()); }, "values"_a,
      "An initializer with these values, converted to the weight's dtype; ShapeError for a weight of another shape.");
  m.def("RandomUniform", &nn::uniform_between, "minval"_a = nn::default_uniform_low,
        "maxval"_a = nn::default_uniform_high,
        "An initializer with uniformly distributed numbers between minval and maxval.");
  m.def("RandomNormal", &nn::normal_around, "mean"_a = nn::default_normal_mean,
        "stddev"_a = nn::default_normal_deviation, "An initializer with normally distributed numbers.");
  m.def("TruncatedNormal", &nn::truncated_normal_around, "mean"_a = nn::default_normal_mean,
        "stddev"_a = nn::default_normal_deviation,
        "An initializer with normally distributed numbers within two standard deviations.");
  m.def(
      "VarianceScaling",
      [](double scale, const std::string& mode, const std::string& distribution) {
        const bool uniform =
            choice<bool>(distribution, "distribution", {{"truncated_normal", false}, {"uniform", true}});
        return nn::variance_scaling(scale, to_fan(mode), uniform);
      },
      "scale"_a = nn::default_variance_scale, "mode"_a = name_of_fan(nn::default_variance_fan),
      "distribution"_a = nn::default_variance_uniform ? "uniform" : "truncated_normal",
      "An initializer with random numbers of variance scale / n, where n is the number of the weight's inputs "
      "('fan_in'), outputs ('fan_out') or their mean ('fan_avg').");
  m.def("Orthogonal", &nn::orthogonal_matrix, "gain"_a = nn::default_orthogonal_gain,
        "An initializer with gain times a matrix of orthonormal rows or columns; all axes but the last count as rows.");
  m.def("set_seed", &nn::set_seed, "seed"_a,
        "Sets the seed of the weights of models that this thread makes from now on.");
}

void bind_regularizers(nb::module_& m) {
  nb::class_<nn::Regularizer>(m, "Regularizer",
                              "A penalty, a scalar that is added to the loss for a weight: 'l1', 'l2' or 'l1_l2' by "
                              "name, or a function of the weight.")
      .def(
          "__init__",
          [](nn::Regularizer* self, nb::handle object) { new (self) nn::Regularizer(to_regularizer(object)); },
          "regularizer"_a)
      .def(
          "__call__",
          [](const nn::Regularizer& self, nb::handle weight) -> nb::object {
            return self.defined() ? nb::cast(self(to_variable(weight))) : nb::none();
          },
          "weight"_a, "The penalty of a variable.");
  m.def("l1", &nn::l1, "l1"_a = nn::default_penalty, "The penalty l1 sum(|w|).");
  m.def("l2", &nn::l2, "l2"_a = nn::default_penalty, "The penalty l2 sum(w^2).");
  m.def("l1_l2", &nn::l1_l2, "l1"_a = nn::default_penalty, "l2"_a = nn::default_penalty,
        "The penalty l1 sum(|w|) + l2 sum(w^2).");
}

}  // namespace

void bind_nn_initializers(nb::module_& m) {
  bind_initializers(m);
  bind_regularizers(m);
}

}  // namespace croton::python

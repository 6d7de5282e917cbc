// What all layers have: Layer, the tensors that flow between them, and inputs of models.
#include "core/arrays.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/nn.hpp"
#include "nn/own_layers.hpp"

namespace croton::python {
namespace {

bool are_tensors(nb::handle list) {
  if (!is_list(list) || nb::len(list) == 0) return false;
  for (const nb::handle item : list) {
    if (!nb::isinstance<nn::Tensor>(item)) return false;
  }
  return true;
}

/// On tensors a tensor of a model; on variables a variable.
nb::object call(const nn::Layer& layer, nb::handle x, nn::CallContext* context) {
  if (nb::isinstance<nn::Tensor>(x)) return nb::cast(layer(nb::cast<nn::Tensor>(x), here()));
  if (are_tensors(x)) return nb::cast(layer(nb::cast<std::vector<nn::Tensor>>(x), here()));
  if (!is_operand(x) || is_list(x))
    throw TypeError(layer.name() + ": a layer is called with a tensor, a list of tensors or a variable, not with " +
                    name_of_type(x));
  const Variable variable = to_variable(x);
  return nb::cast(context == nullptr ? layer(variable, here()) : layer(variable, *context, here()));
}

void bind_tensor(nb::module_& m) {
  nb::class_<nn::Tensor>(m, "Tensor",
                         "A value in a model that is being put together: what a layer gives, or an input. Layers are "
                         "called with it; + - * are Add, Subtract and Multiply.")
      .def_prop_ro(
          "shape", [](const nn::Tensor& x) { return from_shape(x.shape()); },
          "Without the batch; None is a size that differs from batch to batch.")
      .def_prop_ro("dtype", [](const nn::Tensor& x) { return std::string(name_of(x.dtype())); })
      .def_prop_ro(
          "layer", [](const nn::Tensor& x) { return from_layer(x.layer()); },
          "The layer that gives it; TypeError for an input.")
      .def(
          "__add__", [](const nn::Tensor& a, const nn::Tensor& b) { return a + b; }, nb::is_operator())
      .def(
          "__sub__", [](const nn::Tensor& a, const nn::Tensor& b) { return a - b; }, nb::is_operator())
      .def(
          "__mul__", [](const nn::Tensor& a, const nn::Tensor& b) { return a * b; }, nb::is_operator())
      .def(
          "__eq__",
          [](const nn::Tensor& a, nb::handle b) {
            return nb::isinstance<nn::Tensor>(b) && a == nb::cast<const nn::Tensor&>(b);
          },
          nb::arg().none(), "True for the same tensor.")
      .def("__hash__", [](const nn::Tensor& x) { return std::hash<const void*>()(&x.node()); })
      .def("__repr__", [](const nn::Tensor& x) {
        return "<croton.nn.Tensor " + nn::to_string(x.shape()) + " " + std::string(name_of(x.dtype())) + ">";
      });
  m.def(
      "Input",
      [](nb::handle shape, std::optional<std::string> name, nb::handle dtype) {
        return nn::Input(to_shape(shape), {text_or_empty(std::move(name)), to_optional_dtype(dtype)}, here());
      },
      "shape"_a, "name"_a = nb::none(), "dtype"_a = nb::none(),
      "An input of a model: batches of arrays of this shape, which is told without the batch; None is a size that "
      "differs from batch to batch. Its dtype is floatX unless given.");
}

void bind_context(nb::module_& m) {
  nb::class_<nn::CallContext>(m, "CallContext",
                              "One call of a model or layer on variables. training: dropout drops, and batch "
                              "normalisation takes the statistics of the batch.")
      .def(
          "__init__", [](nn::CallContext* self, bool training) { new (self) nn::CallContext{.training = training}; },
          "training"_a = false)
      .def_ro("training", &nn::CallContext::training)
      .def_prop_ro(
          "updates", [](const nn::CallContext& context) { return from_updates(context.updates); },
          "What the call changes beside parameters (running averages), as pairs (variable, new value): to be passed to "
          "croton.function.");
}

using LayerBase = nb::class_<nn::Layer>;

void add_weights(LayerBase& c) {
  c.def_prop_ro("weights", &nn::Layer::weights, "All weights, in the order in which they were made.");
  c.def_prop_ro("trainable_weights", &nn::Layer::trainable_weights, "Those that are trained.");
  c.def_prop_ro("trainable_variables", &nn::Layer::trainable_weights, "Those that are trained.");
  c.def_prop_ro("non_trainable_weights", &nn::Layer::non_trainable_weights, "The others, such as running averages.");
  c.def_prop_rw(
      "trainable", &nn::Layer::trainable, [](nn::Layer& layer, bool on) { layer.set_trainable(on); },
      "Do optimizers change its weights? Counts for functions that are made later: compile a model again.");
  c.def("count_params", &nn::Layer::count_params, "The number of elements of all weights.");
  c.def(
      "get_weights",
      [](const nn::Layer& layer) { return from_array_list(released([&] { return layer.get_weights(); })); },
      "The values of all weights, as NumPy arrays.");
  c.def(
      "set_weights",
      [](const nn::Layer& layer, nb::list values) {
        std::vector<Array> arrays;
        for (const nb::handle value : values) arrays.push_back(to_array(value));
        released([&] { layer.set_weights(arrays); });
      },
      "weights"_a, "New values of all weights. ValueError or ShapeError, and nothing is changed, unless all fit.");
}

}  // namespace

void bind_nn_layer(nb::module_& m) {
  bind_tensor(m);
  bind_context(m);
  LayerBase c(m, "Layer",
              "A function with weights, which are made when it first learns what sizes it takes. It has one set of "
              "them however often it is called. == is true for handles of the same layer.",
              nb::type_slots(layer_slots));
  c.def("__call__", &call, "x"_a, "context"_a.none() = nb::none(),
        "On a tensor (or a list of them): the layer in a model that is being put together. On a variable with a batch "
        "in front: the variable that the layer computes; a CallContext says whether for training. ShapeError for sizes "
        "that it does not take.");
  c.def(
      "build",
      [](const nn::Layer& layer, nb::handle shape) {
        released([&, shapes = to_shapes(shape)] { layer.build(shapes); });
      },
      "input_shape"_a,
      "Makes the weights for inputs of this shape (a list of shapes: for several), without the batch; nothing if they "
      "are there.");
  c.def(
      "compute_output_shape",
      [](const nn::Layer& layer, nb::handle shape) {
        return from_shape(layer.definition().output_shape(to_shapes(shape)));
      },
      "input_shape"_a, "The shape that it gives for these, without the batch. ShapeError for those it does not take.");
  c.def_prop_ro("built", &nn::Layer::built, "Have its weights been made?");
  c.def_prop_ro("name", &nn::Layer::name, "'dense_1'.");
  c.def_prop_ro("type", &nn::Layer::type, "'Dense'.");
  add_weights(c);
  add_own_methods(c);
  c.def(
      "__eq__",
      [](const nn::Layer& a, nb::handle b) {
        return nb::isinstance<nn::Layer>(b) && a == nb::cast<const nn::Layer&>(b);
      },
      nb::arg().none());
  c.def("__hash__", [](const nn::Layer& layer) { return std::hash<const void*>()(&layer.definition()); });
  c.def("__repr__", [](const nn::Layer& layer) { return "<croton.nn." + layer.type() + " " + layer.name() + ">"; });
}

}  // namespace croton::python

// Layer, the base of all layers; tensors, the symbolic values between layers; and inputs of models.
#include "core/arrays.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/nn.hpp"
#include "nn/python_layers.hpp"

namespace croton::python {
namespace {

bool are_tensors(nb::handle list) {
  if (!is_list(list) || nb::len(list) == 0) return false;
  for (const nb::handle item : list) {
    if (!nb::isinstance<nn::Tensor>(item)) return false;
  }
  return true;
}

/// Calls the layer: a tensor for tensors, a variable for a variable.
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
                         "A symbolic value in a model: the output of a layer, or an input. Layers are called with "
                         "tensors; + - * are Add, Subtract and Multiply.")
      .def_prop_ro(
          "shape", [](const nn::Tensor& x) { return from_shape(x.shape()); },
          "The shape without the batch; None is a size that may differ between batches.")
      .def_prop_ro("dtype", [](const nn::Tensor& x) { return std::string(name_of(x.dtype())); })
      .def_prop_ro(
          "layer", [](const nn::Tensor& x) { return from_layer(x.layer()); },
          "The layer with this output; TypeError for an input.")
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
      "An input of a model, for batches of arrays of this shape. The shape is without the batch; None is a size that "
      "may differ between batches. The dtype is floatX by default.");
}

void bind_context(nb::module_& m) {
  nb::class_<nn::CallContext>(m, "CallContext",
                              "One call of a model or layer on variables. training: dropout is active, and batch "
                              "normalisation uses the statistics of the batch.")
      .def(
          "__init__", [](nn::CallContext* self, bool training) { new (self) nn::CallContext{.training = training}; },
          "training"_a = nn::CallContext().training)
      .def_ro("training", &nn::CallContext::training)
      .def_prop_ro(
          "updates", [](const nn::CallContext& context) { return from_updates(context.updates); },
          "The updates of the call's state other than parameters (running averages), as pairs (variable, new value) "
          "for croton.function.");
}

using LayerBase = nb::class_<nn::Layer>;

void add_weights(LayerBase& c) {
  c.def_prop_ro("weights", &nn::Layer::weights, "All weights, in the order of their creation.");
  c.def_prop_ro("trainable_weights", &nn::Layer::trainable_weights, "The weights that are trained.");
  c.def_prop_ro("trainable_variables", &nn::Layer::trainable_weights, "The weights that are trained.");
  c.def_prop_ro("non_trainable_weights", &nn::Layer::non_trainable_weights,
                "The weights that are not trained, such as running averages.");
  c.def_prop_rw(
      "trainable", &nn::Layer::trainable, [](nn::Layer& layer, bool on) { layer.set_trainable(on); },
      "Whether optimizers change the weights. It affects functions that are compiled later: compile a model again.");
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
      "weights"_a, "Sets the values of all weights. ValueError or ShapeError, with no change, unless all match.");
}

}  // namespace

void bind_nn_layer(nb::module_& m) {
  bind_tensor(m);
  bind_context(m);
  LayerBase c(m, "Layer",
              "A function with weights, which are created when the sizes of its input are first known. It has one set "
              "of weights, shared by all its calls. == is true for handles of the same layer.",
              nb::type_slots(layer_slots));
  c.def("__call__", &call, "x"_a, "context"_a.none() = nb::none(),
        "The output of the layer. For a tensor (or a list of tensors): a tensor of a model. For a variable whose first "
        "axis is the batch: a variable, for training if the CallContext says so. ShapeError for sizes that do not "
        "match the layer.");
  c.def(
      "build",
      [](const nn::Layer& layer, nb::handle shape) {
        released([&, shapes = to_shapes(shape)] { layer.build(shapes); });
      },
      "input_shape"_a,
      "Creates the weights, if there are none yet, for an input of this shape without the batch (several inputs: a "
      "list of shapes).");
  c.def(
      "compute_output_shape",
      [](const nn::Layer& layer, nb::handle shape) {
        return from_shape(layer.definition().output_shape(to_shapes(shape)));
      },
      "input_shape"_a,
      "The output shape for an input shape, both without the batch. ShapeError for shapes that do not match the "
      "layer.");
  c.def_prop_ro("built", &nn::Layer::built, "Whether the weights have been created.");
  c.def_prop_ro("name", &nn::Layer::name, "The layer's name: 'dense_1'.");
  c.def_prop_ro("type", &nn::Layer::type, "The kind of layer: 'Dense'.");
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

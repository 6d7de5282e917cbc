#include "nn/python_layers.hpp"

#include "core/arrays.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/layer_class.hpp"

namespace croton::python {
namespace {

nb::object from_shapes(const std::vector<nn::Shape>& shapes) {
  if (shapes.size() == 1) return from_shape(shapes[0]);
  nb::list list;
  for (const nn::Shape& shape : shapes) list.append(from_shape(shape));
  return list;
}

PythonLayer& own(const nn::Layer& layer) {
  auto* const definition = dynamic_cast<PythonLayer*>(&layer.definition());
  if (definition == nullptr) throw TypeError(layer.name() + ": only layers written in Python have add_weight");
  return *definition;
}

/// The layer if this object holds the only reference to it, else null: only then are the layer's references the
/// object's for the garbage collector.
PythonLayer* uniquely_owned(PyObject* self) {
  if (!nb::inst_ready(self)) return nullptr;
  const nn::Layer& layer = *nb::inst_ptr<nn::Layer>(self);
  if (layer.handle().use_count() != 1) return nullptr;
  return dynamic_cast<PythonLayer*>(layer.handle().get());
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const PythonLayer* const layer = uniquely_owned(self)) Py_VISIT(layer->self().ptr());
  return 0;
}

int clear(PyObject* self) {
  if (PythonLayer* const layer = uniquely_owned(self)) layer->release();
  return 0;
}

}  // namespace

PyType_Slot layer_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&clear)}, {0, nullptr}};

PythonLayer::PythonLayer(nb::handle self, std::string name, nn::OptionalShape input_shape)
    : LayerDefinition(name_of_type(self), std::move(name)), self_(make_ref(nb::borrow(self))) {
  input_shape_ = input_shape.shape();
}

bool PythonLayer::overrides(const char* method) const {
  return !self_->type().attr(method).is(nb::type<nn::Layer>().attr(method));
}

nn::Shape PythonLayer::output_shape(const std::vector<nn::Shape>& inputs) const {
  const AcquireGil gil;
  if (!overrides("compute_output_shape")) return inputs.at(0);
  return to_shape(call_python(self_->attr("compute_output_shape"), from_shapes(inputs)));
}

void PythonLayer::make_weights(const std::vector<nn::Shape>& inputs) {
  const AcquireGil gil;
  if (overrides("make_weights")) call_python(self_->attr("make_weights"), from_shapes(inputs));
}

nn::Flow PythonLayer::call(const std::vector<nn::Flow>& inputs, nn::CallContext& context) {
  const AcquireGil gil;
  nb::list values;
  for (const nn::Flow& input : inputs) values.append(input.value);
  const nb::object x = inputs.size() == 1 ? nb::object(values[0]) : nb::object(values);
  const nb::object context_object = nb::cast(&context, nb::rv_policy::reference);
  return {to_variable(call_python(self_->attr("call"), x, context_object)), inputs[0].mask};
}

std::map<std::string, nb::object (*)(const nn::Layer&)>& handles_by_kind() {
  static auto& handles = *new std::map<std::string, nb::object (*)(const nn::Layer&)>;
  return handles;
}

nb::object from_layer(const nn::Layer& layer) {
  const auto* const definition = dynamic_cast<const PythonLayer*>(&layer.definition());
  if (definition != nullptr && definition->self().is_valid()) return nb::borrow(definition->self());
  const auto handle = handles_by_kind().find(layer.type());
  return handle == handles_by_kind().end() ? nb::cast(layer) : handle->second(layer);
}

nb::list from_layers(const std::vector<nn::Layer>& layers) {
  nb::list list;
  for (const nn::Layer& layer : layers) list.append(from_layer(layer));
  return list;
}

void add_own_methods(nb::class_<nn::Layer>& c) {
  c.def(
      "__init__",
      [](nb::pointer_and_handle<nn::Layer> self, std::optional<std::string> name, nb::handle input_shape) {
        if (self.h.type().is(nb::type<nn::Layer>()))
          throw TypeError("Layer is the base of layers: derive from it, with a method call(x, context)");
        const nn::LayerLine line(here());
        new (self.p) nn::Layer(
            std::make_shared<PythonLayer>(self.h, text_or_empty(std::move(name)), to_optional_shape(input_shape)));
      },
      "name"_a = nb::none(), "input_shape"_a = nb::none(),
      "The constructor of custom layers. A subclass has call(x, context), which returns a variable for a variable (or "
      "for a list of variables, if it is called with several). It overrides compute_output_shape(input_shape) if the "
      "output has another shape than the input, and make_weights(input_shape), which calls add_weight, if it has "
      "weights. Shapes are without the batch.");
  using Weight = nn::WeightOptions;
  def_with<const nn::Layer&, const std::string&, nb::handle>(
      c, "add_weight",
      keywords(std::tuple{Field{"initializer", &Weight::initializer},
                          OptionalField{"regularizer", &Weight::regularizer}, Field{"trainable", &Weight::trainable},
                          OptionalField{"dtype", &Weight::dtype}}),
      [](const nn::Layer& layer, const std::string& name, nb::handle shape, const Weight& options) {
        return own(layer).add(name, to_shape(shape), options);
      },
      "name"_a, "shape"_a, "Adds a weight named 'layer/name', a shared variable. For make_weights of a custom layer.");
  c.def(
      "make_weights", [](const nn::Layer&, nb::handle) {}, "input_shape"_a,
      "Creates the weights of a custom layer, which overrides it. Called once, when the input shape is known.");
}

void bind_nn_python_layers(nb::module_& m) {
  LayerClass<nn::Lambda>(m, "Lambda",
                         "A function of a variable as a layer without weights. output_shape: the output's shape "
                         "without the batch, or a function of the input's shape, if the function changes it.")
      .def(
          "__init__",
          [](Handle<nn::Lambda>* self, nb::object function, nb::object output_shape, std::optional<std::string> name) {
            std::function<nn::Shape(const nn::Shape&)> shape;
            if (!output_shape.is_none()) {
              shape = [object = make_ref(std::move(output_shape))](const nn::Shape& in) {
                const AcquireGil gil;
                return to_shape(PyCallable_Check(object->ptr()) ? call_python(*object, from_shape(in)) : *object);
              };
            }
            make(
                self,
                [function = make_ref(std::move(function))](const Variable& x) {
                  const AcquireGil gil;
                  return to_variable(call_python(*function, x));
                },
                std::move(shape), text_or_empty(std::move(name)));
          },
          "function"_a, "output_shape"_a = nb::none(), nb::kw_only(), "name"_a = nb::none());
}

}  // namespace croton::python

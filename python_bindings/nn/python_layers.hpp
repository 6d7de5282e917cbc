// Layers written in Python.
#pragma once

#include "core/object_ref.hpp"
#include "nn/nn.hpp"

namespace croton::python {

/// An instance of a Python subclass of croton.nn.Layer. It and the Python object refer to each other; `layer_slots` let
/// Python's garbage collector break the cycle.
class PythonLayer : public nn::LayerDefinition {
 public:
  PythonLayer(nb::handle self, std::string name, nn::OptionalShape input_shape);

  nn::Shape output_shape(const std::vector<nn::Shape>& inputs) const override;
  void make_weights(const std::vector<nn::Shape>& inputs) override;
  nn::Flow call(const std::vector<nn::Flow>& inputs, nn::CallContext& context) override;
  std::pair<std::size_t, std::size_t> arity() const override { return {1, 1000}; }

  SharedVariable add(const std::string& name, const Sizes& shape, const nn::WeightOptions& options) {
    return add_weight(name, shape, options);
  }
  nb::handle self() const { return self_ ? nb::handle(*self_) : nb::handle(); }
  void release() { self_.reset(); }

 private:
  bool overrides(const char* method) const;

  ObjectRef self_;
};

/// The slots of class Layer for Python's garbage collector.
extern PyType_Slot layer_slots[];

/// The methods of Layer that are for subclasses.
void add_own_methods(nb::class_<nn::Layer>& c);

}  // namespace croton::python

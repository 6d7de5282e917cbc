// Layers whose functions are methods of a Python object.
#pragma once

#include "core/kept.hpp"
#include "nn/nn.hpp"

namespace croton::python {

/// A subclass of croton.nn.Layer that Python wrote. It and the Python object hold each other; Python's collector is
/// told of that (`layer_slots`).
class OwnLayer : public nn::LayerDefinition {
 public:
  OwnLayer(nb::handle self, std::string name, nn::OptionalShape input_shape);

  nn::Shape output_shape(const std::vector<nn::Shape>& inputs) const override;
  void make_weights(const std::vector<nn::Shape>& inputs) override;
  nn::Flow call(const std::vector<nn::Flow>& inputs, nn::CallContext& context) override;
  std::pair<std::size_t, std::size_t> arity() const override { return {1, 1000}; }

  SharedVariable add(const std::string& name, const Sizes& shape, const nn::WeightOptions& options) {
    return add_weight(name, shape, options);
  }
  nb::handle self() const { return self_ ? nb::handle(*self_) : nb::handle(); }
  void let_go() { self_.reset(); }

 private:
  bool overrides(const char* method) const;

  Kept self_;
};

/// What the class Layer tells Python's collector.
extern PyType_Slot layer_slots[];

/// The methods of Layer that are for subclasses.
void add_own_methods(nb::class_<nn::Layer>& c);

}  // namespace croton::python

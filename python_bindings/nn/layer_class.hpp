// What the classes of layers are bound with.
#pragma once

#include <map>
#include <new>
#include <string>
#include <utility>

#include "core/where.hpp"
#include "nn/nn.hpp"

namespace croton::python {

/// A layer of a kind, as Python has it: made by the kind's constructor, or of a layer that says that it is of the kind.
template <class Kind>
struct Handle : nn::Layer {
  explicit Handle(nn::Layer layer) : Layer(std::move(layer)) {}
};

/// By the names of kinds what makes their handles.
std::map<std::string, nb::object (*)(const nn::Layer&)>& handles_by_kind();

template <class Kind>
class LayerClass : public nb::class_<Handle<Kind>, nn::Layer> {
 public:
  LayerClass(nb::module_& m, const char* name, const char* doc) : nb::class_<Handle<Kind>, nn::Layer>(m, name, doc) {
    handles_by_kind()[name] = [](const nn::Layer& layer) { return nb::cast(Handle<Kind>(layer)); };
  }
};

/// In place, as nanobind asks for it: a layer that comes from the user's line.
template <class Kind, class... Arguments>
void make(Handle<Kind>* self, Arguments&&... arguments) {
  new (self) Handle<Kind>(Kind(std::forward<Arguments>(arguments)..., here()));
}

}  // namespace croton::python

// Helpers to bind the classes of layers.
#pragma once

#include <map>
#include <new>
#include <string>
#include <utility>

#include "core/where.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {

/// A layer of a kind as a Python object: made by the kind's constructor, or from a layer whose type is the kind's name.
template <class Kind>
struct Handle : nn::Layer {
  explicit Handle(nn::Layer layer) : Layer(std::move(layer)) {}
};

/// Functions that make handles, by the names of kinds.
std::map<std::string, nb::object (*)(const nn::Layer&)>& handles_by_kind();

template <class Kind>
class LayerClass : public nb::class_<Handle<Kind>, nn::Layer> {
 public:
  LayerClass(nb::module_& m, const char* name, const char* doc) : nb::class_<Handle<Kind>, nn::Layer>(m, name, doc) {
    handles_by_kind()[name] = [](const nn::Layer& layer) { return nb::cast(Handle<Kind>(layer)); };
  }
};

/// Constructs a layer with the user's line.
template <class Kind, class... Arguments>
void make(Handle<Kind>* self, Arguments&&... arguments) {
  new (self) Handle<Kind>(Kind(std::forward<Arguments>(arguments)..., here()));
}

/// Binds the class of layers that are constructed from `Own` and options. `arguments`: the names of `Own`, and a
/// docstring.
template <class Kind, class... Own, class K, class... Arguments>
void bind_layer(nb::module_& m, const char* name, const char* doc, const K& keywords, const Arguments&... arguments) {
  def_init<Own...>(LayerClass<Kind>(m, name, doc), keywords, arguments...);
}

/// Binds the class of layers that are constructed from `Own` and a name.
template <class Kind, class... Own, class... Arguments>
void bind_named(nb::module_& m, const char* name, const char* doc, const Arguments&... arguments) {
  LayerClass<Kind>(m, name, doc)
      .def(
          "__init__",
          [](Handle<Kind>* self, typename Keyword<Own>::Python... own, std::optional<std::string> layer_name) {
            make(self, Keyword<Own>::from(std::move(own))..., text_or_empty(std::move(layer_name)));
          },
          arguments..., nb::kw_only(), "name"_a = nb::none());
}

/// As bind_named, for layers that also accept an input_shape.
template <class Kind, class... Own, class... Arguments>
void bind_shaped(nb::module_& m, const char* name, const char* doc, const Arguments&... arguments) {
  LayerClass<Kind>(m, name, doc)
      .def(
          "__init__",
          [](Handle<Kind>* self, typename Keyword<Own>::Python... own, nb::handle input_shape,
             std::optional<std::string> layer_name) {
            make(self, Keyword<Own>::from(std::move(own))..., to_optional_shape(input_shape),
                 text_or_empty(std::move(layer_name)));
          },
          arguments..., nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none());
}

}  // namespace croton::python

// Options of layers, optimizers and others as Python keywords. One list of fields for each options struct gives the
// names, the defaults (those of the struct) and the conversions. Defaults of other arguments are constants of the
// public headers.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/nn.hpp"

namespace croton::python {

// ---- the Python type for a C++ type, its conversion, and the text of a default ----

template <class T>
struct Keyword {
  using Python = T;
  static T from(T value) { return value; }
  static const T& shown(const T& value) { return value; }
};

template <class T>
struct Keyword<std::optional<T>> : Keyword<T> {};

/// For types that convert from any object.
template <auto convert>
struct ObjectKeyword {
  using Python = nb::handle;
  static auto from(nb::handle object) { return convert(object); }
};

/// For types that are texts in Python.
template <auto convert>
struct TextKeyword {
  using Python = std::string;
  static auto from(const std::string& text) { return convert(text); }
};

/// One number as a scalar, several as a list.
template <class T>
nb::object one_or_list(const std::vector<T>& numbers) {
  return numbers.size() == 1 ? nb::cast(numbers[0]) : nb::cast(numbers);
}

template <>
struct Keyword<nn::Activation> : ObjectKeyword<&to_activation> {
  static const std::string& shown(const nn::Activation& activation) { return activation.name(); }
};
template <>
struct Keyword<nn::Initializer> : ObjectKeyword<&to_initializer> {
  static const std::string& shown(const nn::Initializer& initializer) { return initializer.name(); }
};
template <>
struct Keyword<nn::Regularizer> : ObjectKeyword<&to_regularizer> {};
template <>
struct Keyword<nn::Shape> : ObjectKeyword<&to_shape> {};
template <>
struct Keyword<nn::OptionalShape> : ObjectKeyword<&to_optional_shape> {};
template <>
struct Keyword<nn::PerAxis> : ObjectKeyword<&to_per_axis> {
  static nb::object shown(const nn::PerAxis& per_axis) { return one_or_list(per_axis.numbers()); }
};
template <>
struct Keyword<std::vector<int>> : ObjectKeyword<&to_axes> {
  static nb::object shown(const std::vector<int>& axes) { return one_or_list(axes); }
};
template <>
struct Keyword<DType> : ObjectKeyword<&to_dtype> {};
template <>
struct Keyword<nn::Layout> : TextKeyword<&to_data_format> {
  static const char* shown(nn::Layout layout) {
    return layout == nn::Layout::channels_last ? "channels_last" : "channels_first";
  }
};
template <>
struct Keyword<nn::Interpolation> : TextKeyword<&to_interpolation> {
  static const char* shown(nn::Interpolation interpolation) {
    return interpolation == nn::Interpolation::nearest ? "nearest" : "linear";
  }
};
template <>
struct Keyword<nn::Better> : TextKeyword<&to_better> {
  static const char* shown(nn::Better better) {
    static constexpr const char* names[] = {"auto", "min", "max"};
    return names[static_cast<std::size_t>(better)];
  }
};

/// An argument with a default of C++.
template <class T>
auto argument(const char* name, const T& default_value) {
  return nb::arg(name) = Keyword<T>::shown(default_value);
}

// ---- fields ----

/// A field as an argument whose default is the struct's.
template <class O, class T>
struct Field {
  using Options = O;
  using Python = typename Keyword<T>::Python;
  const char* name;
  T O::* member;

  auto argument(const O& defaults) const { return python::argument(name, defaults.*member); }
  void set(O& options, Python value) const { options.*member = Keyword<T>::from(std::move(value)); }
};

/// A field as an argument that is None by default, which leaves the field unchanged.
template <class O, class T>
struct OptionalField {
  using Options = O;
  using Value = typename Keyword<T>::Python;
  static constexpr bool is_object = std::is_same_v<Value, nb::handle>;
  using Python = std::conditional_t<is_object, Value, std::optional<Value>>;
  const char* name;
  T O::* member;

  auto argument(const O& /*defaults*/) const { return nb::arg(name) = nb::none(); }
  void set(O& options, Python value) const {
    if constexpr (is_object) {
      if (!value.is_none()) options.*member = Keyword<T>::from(value);
    } else {
      if (value) options.*member = Keyword<T>::from(std::move(*value));
    }
  }
};

// ---- lists of fields ----

template <class Positional, class Named>
struct Keywords;

template <class... P, class... N>
struct Keywords<std::tuple<P...>, std::tuple<N...>> {
  using Options = typename std::tuple_element_t<0, std::tuple<P..., N...>>::Options;
  std::tuple<P...> positional;
  std::tuple<N...> named;  ///< only by name

  /// The options of a call.
  Options options(typename P::Python... first, typename N::Python... rest) const {
    Options all;
    std::apply([&](const P&... fields) { (fields.set(all, std::move(first)), ...); }, positional);
    std::apply([&](const N&... fields) { (fields.set(all, std::move(rest)), ...); }, named);
    return all;
  }

  /// The annotations of the arguments for nanobind.
  auto arguments() const {
    const auto each = [defaults = Options()](const auto&... fields) {
      return std::tuple(fields.argument(defaults)...);
    };
    if constexpr (sizeof...(N) == 0) {
      return std::apply(each, positional);
    } else {
      return std::tuple_cat(std::apply(each, positional), std::tuple(nb::kw_only()), std::apply(each, named));
    }
  }

  /// function(own..., options) as a function for Python; `Own` are the types of the arguments before the options.
  template <class... Own, class F>
  auto function(F function) const {
    return [keywords = *this, function](Own... own, typename P::Python... first, typename N::Python... rest) {
      return function(std::forward<Own>(own)..., keywords.options(std::move(first)..., std::move(rest)...));
    };
  }
};

/// The fields of an options struct in Python's order, and the keyword-only ones.
template <class... P, class... N>
Keywords<std::tuple<P...>, std::tuple<N...>> keywords(const std::tuple<P...>& positional,
                                                      const std::tuple<N...>& named = std::tuple<>()) {
  return {positional, named};
}

/// Constructs the object in place, as nanobind requires, with the user's line if the class takes one.
template <class T, class... Arguments>
void make(T* self, Arguments&&... arguments) {
  if constexpr (std::is_constructible_v<T, Arguments..., Where>) {
    new (self) T(std::forward<Arguments>(arguments)..., here());
  } else {
    new (self) T(std::forward<Arguments>(arguments)...);
  }
}

/// Defines function(own..., options) in a module or class. `arguments`: the names of `Own`, and a docstring.
template <class... Own, class Scope, class K, class F, class... Arguments>
void def_with(Scope& scope, const char* name, const K& keywords, F function, const Arguments&... arguments) {
  const auto called = keywords.template function<Own...>(function);
  std::apply([&](const auto&... fields) { scope.def(name, called, arguments..., fields...); }, keywords.arguments());
}

/// Defines `__init__` of a class that is constructed from `Own` and options.
template <class... Own, class Class, class K, class... Arguments>
void def_init(Class&& c, const K& keywords, const Arguments&... arguments) {
  using T = typename std::remove_reference_t<Class>::Type;
  const auto init = [](T* self, typename Keyword<Own>::Python... own, const typename K::Options& options) {
    make(self, Keyword<Own>::from(std::move(own))..., options);
  };
  def_with<T*, typename Keyword<Own>::Python...>(c, "__init__", keywords, init, arguments...);
}

}  // namespace croton::python

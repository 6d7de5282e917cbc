// Options of layers, optimizers and the like as keywords of Python: one list of fields for each options struct, from
// which come names, defaults (the values of a struct that was told nothing) and conversions.
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

// ---- what is an argument of a C++ type in Python: its type there, the conversion, and how a default is shown ----

template <class T>
struct Keyword {
  using Python = T;
  static T from(T given) { return given; }
  static const T& shown(const T& value) { return value; }
};

template <class T>
struct Keyword<std::optional<T>> : Keyword<T> {};

/// Of types that any object may be converted to.
template <auto convert>
struct ObjectKeyword {
  using Python = nb::handle;
  static auto from(nb::handle given) { return convert(given); }
};

/// Of types that are texts in Python.
template <auto convert>
struct TextKeyword {
  using Python = std::string;
  static auto from(const std::string& given) { return convert(given); }
};

/// One number by itself, others as a list.
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
struct Keyword<nn::Better> : TextKeyword<&to_better> {
  static const char* shown(nn::Better better) {
    static constexpr const char* names[] = {"auto", "min", "max"};
    return names[static_cast<std::size_t>(better)];
  }
};

// ---- fields ----

/// A field as an argument whose default is the field's first value.
template <class O, class T>
struct Field {
  using Options = O;
  using Python = typename Keyword<T>::Python;
  const char* name;
  T O::* member;

  auto argument(const O& first) const { return nb::arg(name) = Keyword<T>::shown(first.*member); }
  void set(O& options, Python given) const { options.*member = Keyword<T>::from(std::move(given)); }
};

/// A field as an argument that is None by default, and then left as it is.
template <class O, class T>
struct OptionalField {
  using Options = O;
  using Given = typename Keyword<T>::Python;
  static constexpr bool is_object = std::is_same_v<Given, nb::handle>;
  using Python = std::conditional_t<is_object, Given, std::optional<Given>>;
  const char* name;
  T O::* member;

  auto argument(const O& /*first*/) const { return nb::arg(name) = nb::none(); }
  void set(O& options, Python given) const {
    if constexpr (is_object) {
      if (!given.is_none()) options.*member = Keyword<T>::from(given);
    } else {
      if (given) options.*member = Keyword<T>::from(std::move(*given));
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

  /// What nanobind is told of the arguments.
  auto arguments() const {
    const auto each = [first = Options()](const auto&... fields) { return std::tuple(fields.argument(first)...); };
    if constexpr (sizeof...(N) == 0) {
      return std::apply(each, positional);
    } else {
      return std::tuple_cat(std::apply(each, positional), std::tuple(nb::kw_only()), std::apply(each, named));
    }
  }

  /// function(own..., options) as what Python calls: `Own` are the types of what stands in front of the options.
  template <class... Own, class F>
  auto function(F function) const {
    return [keywords = *this, function](Own... own, typename P::Python... first, typename N::Python... rest) {
      return function(std::forward<Own>(own)..., keywords.options(std::move(first)..., std::move(rest)...));
    };
  }
};

/// The fields of an options struct in Python's order; those that are only taken by name.
template <class... P, class... N>
Keywords<std::tuple<P...>, std::tuple<N...>> keywords(const std::tuple<P...>& positional,
                                                      const std::tuple<N...>& named = std::tuple<>()) {
  return {positional, named};
}

/// In place, as nanobind asks for it; from the user's line, where the class asks for one.
template <class T, class... Arguments>
void make(T* self, Arguments&&... arguments) {
  if constexpr (std::is_constructible_v<T, Arguments..., Where>) {
    new (self) T(std::forward<Arguments>(arguments)..., here());
  } else {
    new (self) T(std::forward<Arguments>(arguments)...);
  }
}

/// A function of a module, or a method, of `Own` and options: function(own..., options). `arguments`: the names of
/// `Own`, a docstring.
template <class... Own, class Scope, class K, class F, class... Arguments>
void def_with(Scope& scope, const char* name, const K& keywords, F function, const Arguments&... arguments) {
  const auto called = keywords.template function<Own...>(function);
  std::apply([&](const auto&... fields) { scope.def(name, called, arguments..., fields...); }, keywords.arguments());
}

/// `__init__` of a class that is made of `Own` and options.
template <class... Own, class Class, class K, class... Arguments>
void def_init(Class&& c, const K& keywords, const Arguments&... arguments) {
  using T = typename std::remove_reference_t<Class>::Type;
  const auto init = [](T* self, typename Keyword<Own>::Python... own, const typename K::Options& options) {
    make(self, Keyword<Own>::from(std::move(own))..., options);
  };
  def_with<T*, typename Keyword<Own>::Python...>(c, "__init__", keywords, init, arguments...);
}

}  // namespace croton::python

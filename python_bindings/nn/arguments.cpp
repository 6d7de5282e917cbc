// Conversion of Python objects to arguments of layers and models.
#include "core/arrays.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

bool is_text(nb::handle object) { return PyUnicode_Check(object.ptr()) != 0; }

bool is_function(nb::handle object) { return PyCallable_Check(object.ptr()) != 0; }

[[noreturn]] void throw_type_error(const char* what, nb::handle object) {
  throw TypeError(std::string(what) + ", not " + name_of_type(object));
}

[[noreturn]] void throw_type_error(const char* what, const char* kind, nb::handle object) {
  throw TypeError(std::string(what) + " is " + kind + ", not " + name_of_type(object));
}

/// A function of one variable.
std::function<Variable(const Variable&)> to_function(nb::handle object) {
  return [function = make_ref(nb::borrow(object))](const Variable& x) {
    const AcquireGil gil;
    return to_variable(call_python(*function, x));
  };
}

std::int64_t to_size(nb::handle object) {
  if (object.is_none()) return nn::any_size;
  return to_int(object, "a size");
}

/// Whether it is a list or tuple of arrays, and not one array.
bool are_arrays(nb::handle object) {
  if (!is_list(object) || nb::len(object) == 0) return false;
  for (const nb::handle item : object) {
    if (!nb::hasattr(item, "shape") || nb::len(nb::object(item.attr("shape"))) == 0) return false;
  }
  return true;
}

}  // namespace

std::string name_of_type(nb::handle object) { return nb::cast<std::string>(nb::str(object.type().attr("__name__"))); }

nn::Shape to_shape(nb::handle object) {
  if (!is_list(object)) return {to_size(object)};
  nn::Shape shape;
  for (const nb::handle item : object) shape.push_back(to_size(item));
  return shape;
}

std::vector<nn::Shape> to_shapes(nb::handle object) {
  const bool several = is_list(object) && nb::len(object) > 0 && is_list(object[0]);
  if (!several) return {to_shape(object)};
  std::vector<nn::Shape> shapes;
  for (const nb::handle item : object) shapes.push_back(to_shape(item));
  return shapes;
}

nn::OptionalShape to_optional_shape(nb::handle object) {
  return object.is_none() ? nn::OptionalShape() : nn::OptionalShape(to_shape(object));
}

nb::tuple from_shape(const nn::Shape& shape) {
  nb::list sizes;
  for (const std::int64_t size : shape) {
    if (size == nn::any_size) {
      sizes.append(nb::none());
    } else {
      sizes.append(size);
    }
  }
  return nb::tuple(sizes);
}

nn::PerAxis to_per_axis(nb::handle object) {
  return object.is_none() ? nn::PerAxis() : nn::PerAxis(to_numbers(object, "a number of an axis"));
}

nn::Layout to_data_format(const std::string& text) {
  return choice<nn::Layout>(
      text, "data_format",
      {{"channels_last", nn::Layout::channels_last}, {"channels_first", nn::Layout::channels_first}});
}

nn::Interpolation to_interpolation(const std::string& text) {
  using nn::Interpolation;
  return choice<Interpolation>(
      text, "interpolation",
      {{"nearest", Interpolation::nearest}, {"linear", Interpolation::linear}, {"bilinear", Interpolation::linear}});
}

nn::Activation to_activation(nb::handle object) {
  if (object.is_none()) return {};
  if (is_text(object)) return nb::cast<std::string>(object);
  if (!is_function(object)) throw_type_error("an activation is a name or a function", object);
  return nn::Activation(to_function(object));
}

nn::Initializer to_initializer(nb::handle object) {
  if (is_text(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nn::Initializer>(object)) return nb::cast<nn::Initializer>(object);
  if (!is_function(object)) return nn::values_of(to_array(object).copy());
  return nn::Initializer(
      [function = make_ref(nb::borrow(object))](const Sizes& shape, DType dtype, std::uint64_t seed) {
        const AcquireGil gil;
        return to_array(call_python(*function, nb::tuple(nb::cast(shape)), std::string(name_of(dtype)), seed))
            .copy()
            .astype(dtype);
      });
}

nn::Regularizer to_regularizer(nb::handle object) {
  if (object.is_none()) return {};
  if (is_text(object)) return nb::cast<std::string>(object).c_str();
  if (nb::isinstance<nn::Regularizer>(object)) return nb::cast<nn::Regularizer>(object);
  if (!is_function(object)) throw_type_error("a regularizer is a name, a Regularizer or a function", object);
  return nn::Regularizer(to_function(object));
}

nn::Loss::Samples to_samples(nb::object function) {
  return [function = make_ref(std::move(function))](const Variable& target, const Variable& prediction) {
    const AcquireGil gil;
    return to_variable(call_python(*function, target, prediction));
  };
}

nn::Loss to_loss(nb::handle object) {
  if (is_text(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nn::Loss>(object)) return nb::cast<nn::Loss>(object);
  if (!is_function(object)) throw_type_error("a loss is a name, a Loss or a function (target, prediction)", object);
  return nn::Loss(to_samples(nb::borrow(object)));
}

nn::Metric to_metric(nb::handle object) {
  if (is_text(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nn::Metric>(object)) return nb::cast<nn::Metric>(object);
  if (!is_function(object)) throw_type_error("a metric is a name, a Metric or a function (target, prediction)", object);
  const std::string name = nb::cast<std::string>(nb::getattr(object, "__name__", nb::str("metric")));
  return nn::Metric(name == "<lambda>" ? "metric" : name, to_samples(nb::borrow(object)));
}

nn::Optimizer to_optimizer(nb::handle object) {
  if (is_text(object)) return {nb::cast<std::string>(object), here()};
  if (!nb::isinstance<nn::Optimizer>(object)) throw_type_error("an optimizer is a name or an Optimizer", object);
  return nb::cast<nn::Optimizer>(object);
}

nn::Better to_better(const std::string& mode) {
  return choice<nn::Better>(
      mode, "mode", {{"auto", nn::Better::automatic}, {"min", nn::Better::smaller}, {"max", nn::Better::larger}});
}

std::vector<Array> to_array_list(nb::handle object) {
  if (!are_arrays(object)) return {to_array(object)};
  std::vector<Array> arrays;
  for (const nb::handle item : object) arrays.push_back(to_array(item));
  return arrays;
}

std::optional<Array> to_optional_array(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(to_array(object));
}

nb::list from_array_list(const std::vector<Array>& arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(to_numpy(array));
  return list;
}

nb::object from_arrays(const std::vector<Array>& arrays) {
  if (arrays.size() == 1) return to_numpy(arrays[0]);
  return from_array_list(arrays);
}

nb::list from_updates(const nn::Updates& updates) {
  nb::list list;
  for (const auto& [variable, value] : updates) list.append(nb::make_tuple(variable, value));
  return list;
}

std::vector<std::pair<Variable, SharedVariable>> to_gradients_and_parameters(nb::handle object) {
  std::vector<std::pair<Variable, SharedVariable>> pairs;
  for (const nb::handle item : object) {
    if (!is_list(item) || nb::len(item) != 2 || !nb::isinstance<SharedVariable>(item[1]))
      throw TypeError("apply_gradients takes pairs (gradient, parameter): zip(gradients, model.trainable_variables)");
    pairs.emplace_back(nb::object(item[0]).is_none() ? Variable() : to_variable(item[0]),
                       nb::cast<SharedVariable>(item[1]));
  }
  return pairs;
}

std::vector<SharedVariable> to_shared_variables(nb::handle object) {
  std::vector<SharedVariable> variables;
  if (!is_list(object)) throw_type_error("a list of shared variables is needed", object);
  for (const nb::handle item : object) {
    if (!nb::isinstance<SharedVariable>(item)) throw_type_error("a list of shared variables is needed", item);
    variables.push_back(nb::cast<SharedVariable>(item));
  }
  return variables;
}

double to_double(nb::handle object, const char* what) {
  double number = 0;
  if (nb::isinstance<nb::str>(object) || !nb::try_cast(object, number)) throw_type_error(what, "a number", object);
  return number;
}

std::vector<std::string> to_texts(nb::handle object, const char* what) {
  std::vector<std::string> texts;
  if (!is_list(object)) throw_type_error(what, "a list", object);
  for (const nb::handle item : object) {
    if (!is_text(item)) throw_type_error(what, "a list of texts", object);
    texts.push_back(nb::cast<std::string>(item));
  }
  return texts;
}

nb::dict from_logs(const nn::Logs& logs) {
  nb::dict numbers;
  for (const auto& [name, value] : logs) numbers[nb::str(name.c_str(), name.size())] = value;
  return numbers;
}

}  // namespace croton::python

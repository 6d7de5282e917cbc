// The parts of the module croton.nn, and their conversions of Python objects to arguments of layers and models.
#pragma once

#include <croton/nn.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/bindings.hpp"
#include "core/gil.hpp"

namespace croton::python {

// ---- the parts; nn.cpp calls them ----
/// Tensor, Input, Layer, CallContext.
void bind_nn_layer(nb::module_& m);
/// The layers of <croton/nn/layers.hpp>, except the recurrent ones.
void bind_nn_layers(nb::module_& m);
void bind_nn_recurrent_layers(nb::module_& m);
/// The layers of <croton/nn/image_layers.hpp>.
void bind_nn_image_layers(nb::module_& m);
/// Layers whose methods are written in Python.
void bind_nn_python_layers(nb::module_& m);
/// Initializers and regularizers.
void bind_nn_initializers(nb::module_& m);
void bind_nn_losses(nb::module_& m);
void bind_nn_metrics(nb::module_& m);
/// Optimizers and learning rates.
void bind_nn_optimizers(nb::module_& m);
void bind_nn_data(nb::module_& m);
/// History, and the callbacks that Croton ships.
void bind_nn_callbacks(nb::module_& m);
void bind_nn_models(nb::module_& m);
void bind_nn_strategy(nb::module_& m);

// ---- sizes ----
/// Sizes without the batch: a number or a list of numbers; None is a size that may differ between batches.
nn::Shape to_shape(nb::handle object);
std::vector<nn::Shape> to_shapes(nb::handle object);
/// As to_shape, or None for no shape.
nn::OptionalShape to_optional_shape(nb::handle object);
/// The shape as a tuple: (28, 28, None).
nb::tuple from_shape(const nn::Shape& shape);
/// One number for all axes, or one for each; None for the layer's default.
nn::PerAxis to_per_axis(nb::handle object);
/// 'channels_first' or 'channels_last', Keras's data_format.
nn::Layout to_data_format(const std::string& text);
/// 'nearest', 'linear' or 'bilinear'.
nn::Interpolation to_interpolation(const std::string& text);

// ---- objects that may be given by name ----
/// A name, a function of a variable, or None (linear).
nn::Activation to_activation(nb::handle object);
/// A name, an Initializer, an array, or a function (shape, dtype, seed) that returns an array.
nn::Initializer to_initializer(nb::handle object);
/// A name, a Regularizer, a function of a variable that returns a scalar, or None.
nn::Regularizer to_regularizer(nb::handle object);
/// A name, a Loss, or a function (target, prediction) that returns a number for each sample.
nn::Loss to_loss(nb::handle object);
/// A name, a Metric, or a function (target, prediction), whose mean over samples is the metric.
nn::Metric to_metric(nb::handle object);
/// A name, or an Optimizer.
nn::Optimizer to_optimizer(nb::handle object);
/// 'auto', 'min' or 'max', Keras's mode.
nn::Better to_better(const std::string& mode);
/// A Python function (target, prediction).
nn::Loss::Samples to_samples(nb::object function);

// ---- data ----
/// An array, or a list or tuple of arrays.
std::vector<Array> to_array_list(nb::handle object);
std::optional<Array> to_optional_array(nb::handle object);
nb::list from_array_list(const std::vector<Array>& arrays);
/// One array as it is, several as a list.
nb::object from_arrays(const std::vector<Array>& arrays);
/// A Dataset, or an iterable of (x, y) or (x, y, weights).
nn::Dataset to_dataset(nb::handle object);

// ---- callbacks ----
/// A callback of Croton, or an object with some of the methods of croton.nn.Callback, which gets the model.
nn::CallbackRef to_callback(nb::handle object, nb::handle model);

/// Pairs (variable, new value), for the `updates` of croton.function.
nb::list from_updates(const nn::Updates& updates);
/// Pairs (gradient, parameter); a gradient may be None.
std::vector<std::pair<Variable, SharedVariable>> to_gradients_and_parameters(nb::handle object);
std::vector<SharedVariable> to_shared_variables(nb::handle object);
/// {name: number}.
nb::dict from_logs(const nn::Logs& logs);

/// A number of Python or NumPy; TypeError "`what` is a number, not str".
double to_double(nb::handle object, const char* what);
/// A list or tuple of texts; `what` is the argument's name in errors.
std::vector<std::string> to_texts(nb::handle object, const char* what);
/// The Python object of a layer: for a layer written in Python, the object itself.
nb::object from_layer(const nn::Layer& layer);
nb::list from_layers(const std::vector<nn::Layer>& layers);
/// Calls a function without the GIL, because it may wait for a call in another thread that needs the GIL.
template <class F>
auto released(F&& function) {
  const ReleaseGil no_gil;
  return function();
}
/// The name of an object's Python type.
std::string name_of_type(nb::handle object);
inline std::string text_or_empty(std::optional<std::string> text) { return std::move(text).value_or(""); }

}  // namespace croton::python

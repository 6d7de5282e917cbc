// Models: graphs of layers that are trained. Training runs without the GIL.
#include <nanobind/stl/filesystem.h>

#include "core/arrays.hpp"
#include "core/callable.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

std::vector<nn::Tensor> to_tensors(nb::handle object, const char* what) {
  std::vector<nn::Tensor> tensors;
  const auto add = [&](nb::handle item) {
    if (!nb::isinstance<nn::Tensor>(item))
      throw TypeError(std::string(what) + " of a model are tensors, not " + name_of_type(item));
    tensors.push_back(nb::cast<nn::Tensor>(item));
  };
  if (is_list(object)) {
    for (const nb::handle item : object) add(item);
  } else {
    add(object);
  }
  return tensors;
}

/// Calls the model: as a layer for tensors; for variables, it returns the variables of its outputs.
nb::object call(const nn::Model& model, nb::handle x, nn::CallContext* context) {
  const bool tensors =
      nb::isinstance<nn::Tensor>(x) || (is_list(x) && nb::len(x) > 0 && nb::isinstance<nn::Tensor>(nb::object(x[0])));
  if (tensors) return nb::cast(model.layer()(to_tensors(x, "inputs"), here()));
  std::vector<Variable> inputs;
  if (is_list(x)) {
    inputs = to_variables(x);
  } else {
    inputs.push_back(to_variable(x));
  }
  nn::CallContext own;
  const std::vector<Variable> outputs = model.call(inputs, context == nullptr ? own : *context);
  return outputs.size() == 1 ? nb::cast(outputs[0]) : nb::cast(outputs);
}

nn::Losses to_losses(nb::handle object) {
  if (object.is_none()) return {};
  if (!is_list(object)) return to_loss(object);
  std::vector<nn::Loss> losses;
  for (const nb::handle item : object) losses.push_back(to_loss(item));
  return losses;
}

std::vector<nn::Metric> to_metrics(nb::handle object) {
  std::vector<nn::Metric> metrics;
  if (object.is_none()) return metrics;
  if (!is_list(object)) return {to_metric(object)};
  for (const nb::handle item : object) metrics.push_back(to_metric(item));
  return metrics;
}

/// 0, 1, 2 or 'auto', the default of fit, as in Keras.
nn::Verbose to_verbose(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    return choice<nn::Verbose>(nb::cast<std::string>(object), "verbose",
                               {{"auto", nn::FitOptions().verbose},
                                {"silent", nn::Verbose::silent},
                                {"bar", nn::Verbose::bar},
                                {"line", nn::Verbose::line}});
  }
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True ? nn::Verbose::bar : nn::Verbose::silent;
  switch (to_int(object, "verbose")) {
    case 0:
      return nn::Verbose::silent;
    case 1:
      return nn::Verbose::bar;
    case 2:
      return nn::Verbose::line;
    default:
      throw ValueError("verbose is 0 (nothing), 1 (a bar) or 2 (a line for each epoch)");
  }
}

/// The number of Keras's `verbose`.
int number_of(nn::Verbose verbose) { return static_cast<int>(verbose); }

std::vector<nn::CallbackRef> to_callbacks(nb::handle callbacks, nb::handle model) {
  std::vector<nn::CallbackRef> all;
  if (callbacks.is_none()) return all;
  if (!is_list(callbacks)) {
    all.push_back(to_callback(callbacks, model));
    return all;
  }
  for (const nb::handle callback : callbacks) all.push_back(to_callback(callback, model));
  return all;
}

/// (x, y) or (x, y, weights) of arrays, or batches.
void set_validation(nb::handle data, nn::FitOptions& options) {
  if (data.is_none()) return;
  const bool arrays = PyTuple_Check(data.ptr()) && (nb::len(data) == 2 || nb::len(data) == 3) &&
                      !PyTuple_Check(nb::object(data[0]).ptr());
  options.validation_dataset =
      arrays ? nn::Dataset::from_arrays(to_array_list(data[0]), to_array_list(data[1]),
                                        nb::len(data) == 3 ? to_optional_array(nb::object(data[2])) : std::nullopt,
                                        {.batch_size = options.batch_size})
             : to_dataset(data);
}

nn::History fit(nb::object self, nb::handle x, nb::handle y, std::int64_t batch_size, std::int64_t epochs,
                nb::handle verbose, nb::handle callbacks, double validation_split, nb::handle validation_data,
                bool shuffle, nb::handle class_weight, nb::handle sample_weight,
                std::optional<std::int64_t> initial_epoch, std::optional<std::int64_t> steps_per_epoch,
                std::optional<std::int64_t> validation_steps, std::int64_t validation_freq, std::uint64_t seed) {
  nn::Model& model = nb::cast<nn::Model&>(self);
  nn::FitOptions options{.epochs = epochs,
                         .batch_size = batch_size,
                         .verbose = to_verbose(verbose),
                         .callbacks = to_callbacks(callbacks, self),
                         .validation_split = validation_split,
                         .shuffle = shuffle,
                         .seed = seed,
                         .sample_weight = to_optional_array(sample_weight),
                         .initial_epoch = initial_epoch,
                         .steps_per_epoch = steps_per_epoch,
                         .validation_steps = validation_steps,
                         .validation_freq = validation_freq};
  if (!class_weight.is_none()) {
    if (!nb::isinstance<nb::dict>(class_weight)) throw TypeError("class_weight is a dict {class: weight}");
    for (const auto [number, weight] : nb::borrow<nb::dict>(class_weight))
      options.class_weight.emplace_back(to_int(number, "a class"), to_double(weight, "the weight of a class"));
  }
  set_validation(validation_data, options);
  if (y.is_none()) {
    const nn::Dataset data = to_dataset(x);
    const ReleaseGil no_gil;
    return model.fit(data, options);
  }
  const std::vector<Array> inputs = to_array_list(x), targets = to_array_list(y);
  const ReleaseGil no_gil;
  return model.fit(inputs, targets, options);
}

/// Results in Keras's forms: {name: number}, the loss, or a list of the loss and the metrics.
nb::object from_results(const nn::Logs& logs, bool as_dict) {
  if (as_dict) return from_logs(logs);
  nb::list numbers;
  for (const auto& [name, value] : logs) numbers.append(value);
  return nb::len(numbers) == 1 ? nb::object(numbers[0]) : nb::object(numbers);
}

nb::object evaluate(nn::Model& model, nb::handle x, nb::handle y, std::int64_t batch_size, nb::handle verbose,
                    nb::handle sample_weight, bool return_dict) {
  const nn::EvaluateOptions options{
      .batch_size = batch_size, .verbose = to_verbose(verbose), .sample_weight = to_optional_array(sample_weight)};
  nn::Logs logs;
  if (y.is_none()) {
    const nn::Dataset data = to_dataset(x);
    const ReleaseGil no_gil;
    logs = model.evaluate(data, options);
  } else {
    const std::vector<Array> inputs = to_array_list(x), targets = to_array_list(y);
    const ReleaseGil no_gil;
    logs = model.evaluate(inputs, targets, options);
  }
  return from_results(logs, return_dict);
}

bool is_data(nb::handle x) {
  const bool array = nb::hasattr(x, "__array__") || PyObject_CheckBuffer(x.ptr());
  return !array && !is_list(x) && !is_number(x);
}

nb::object predict(nn::Model& model, nb::handle x, std::int64_t batch_size, nb::handle verbose) {
  const nn::PredictOptions options{.batch_size = batch_size, .verbose = to_verbose(verbose)};
  std::vector<Array> outputs;
  if (is_data(x)) {
    const nn::Dataset data = to_dataset(x);
    const ReleaseGil no_gil;
    outputs = model.predict(data, options);
  } else {
    const std::vector<Array> inputs = to_array_list(x);
    const ReleaseGil no_gil;
    outputs = model.predict(inputs, options);
  }
  return from_arrays(outputs);
}

template <nn::Logs (nn::Model::*Step)(const nn::Batch&)>
nb::object step(nn::Model& model, nb::handle x, nb::handle y, nb::handle sample_weight, bool return_dict) {
  const nn::Batch batch{to_array_list(x), to_array_list(y), to_optional_array(sample_weight)};
  nn::Logs logs;
  {
    const ReleaseGil no_gil;
    logs = (model.*Step)(batch);
  }
  return from_results(logs, return_dict);
}

using ModelClass = nb::class_<nn::Model>;

void add_parts(ModelClass& c) {
  c.def_prop_ro("name", &nn::Model::name);
  c.def_prop_ro(
      "layers", [](const nn::Model& model) { return from_layers(model.layers()); },
      "The layers, in the order of their creation.");
  c.def(
      "get_layer", [](const nn::Model& model, const std::string& name) { return from_layer(model.layer(name)); },
      "name"_a, "The layer of this name; a ValueError lists the names.");
  c.def("as_layer", [](const nn::Model& model) { return model.layer(); }, "The model as a layer of another one.");
  const auto shapes = [](std::vector<nn::Shape> (nn::Model::*get)() const) {
    return [get](const nn::Model& model) {
      nb::list list;
      for (const nn::Shape& shape : (model.*get)()) list.append(from_shape(shape));
      return list;
    };
  };
  c.def_prop_ro("input_shapes", shapes(&nn::Model::input_shapes), "The shapes of the inputs, without the batch.");
  c.def_prop_ro("output_shapes", shapes(&nn::Model::output_shapes), "The shapes of the outputs, without the batch.");
  c.def_prop_ro("weights", &nn::Model::weights, "All weights, in the order of the layers.");
  c.def_prop_ro("trainable_variables", &nn::Model::trainable_variables, "The weights that are trained.");
  c.def_prop_ro("trainable_weights", &nn::Model::trainable_variables, "The weights that are trained.");
  c.def_prop_ro("non_trainable_variables", &nn::Model::non_trainable_variables, "The weights that are not trained.");
  c.def("count_params", &nn::Model::count_params, "The number of elements of all weights.");
  c.def(
      "get_weights",
      [](const nn::Model& model) { return from_array_list(released([&] { return model.get_weights(); })); },
      "The values of all weights, as NumPy arrays.");
  c.def(
      "set_weights",
      [](const nn::Model& model, nb::handle values) {
        std::vector<Array> arrays;
        for (const nb::handle value : values) arrays.push_back(to_array(value));
        released([&] { model.set_weights(arrays); });
      },
      "weights"_a, "Sets the values of all weights. ValueError or ShapeError, with no change, unless all match.");
  c.def(
      "summary",
      [](const nn::Model& model, nb::handle print_fn) {
        const nb::object print =
            print_fn.is_none() ? nb::module_::import_("builtins").attr("print") : nb::borrow(print_fn);
        std::string text = model.summary();
        if (text.ends_with('\n')) text.pop_back();
        print(text);
      },
      "print_fn"_a = nb::none(),
      "Prints a table of the layers with their output shapes and numbers of parameters; print_fn is called with its "
      "text.");
  c.def("__repr__", [](const nn::Model& model) { return "<croton.nn.Model " + model.name() + ">"; });
}

void add_learning(ModelClass& c) {
  c.def(
      "compile",
      [](nn::Model& model, nb::handle optimizer, nb::handle loss, nb::handle metrics, nb::handle loss_weights,
         nb::handle weighted_metrics) {
        nn::CompileOptions options{.loss = to_losses(loss),
                                   .optimizer = to_optimizer(optimizer),
                                   .metrics = to_metrics(metrics),
                                   .weighted_metrics = to_metrics(weighted_metrics)};
        if (!loss_weights.is_none()) {
          for (const nb::handle weight : loss_weights)
            options.loss_weights.push_back(to_double(weight, "the weight of a loss"));
        }
        const Where where = here();
        const ReleaseGil no_gil;
        model.compile(options, where);
      },
      "optimizer"_a = nn::CompileOptions::default_optimizer, "loss"_a = nb::none(), "metrics"_a = nb::none(),
      "loss_weights"_a = nb::none(), "weighted_metrics"_a = nb::none(),
      "Configures training. loss: a name, a Loss or a function (target, prediction); a list for several outputs. "
      "optimizer: a name or an Optimizer. metrics: a list of names, Metrics or functions; only weighted_metrics weight "
      "samples by sample_weight and class_weight. Discards functions that were compiled before. Regularizers of layers "
      "are added to the loss. A ValueError for an unknown name lists the known ones.");
  const nn::FitOptions fit_defaults;
  c.def("fit", &fit, "x"_a, "y"_a = nb::none(), "batch_size"_a = fit_defaults.batch_size,
        "epochs"_a = fit_defaults.epochs, "verbose"_a = "auto", "callbacks"_a = nb::none(),
        "validation_split"_a = fit_defaults.validation_split, "validation_data"_a = nb::none(),
        "shuffle"_a = fit_defaults.shuffle, "class_weight"_a = nb::none(), "sample_weight"_a = nb::none(),
        "initial_epoch"_a = nb::none(), "steps_per_epoch"_a = nb::none(), "validation_steps"_a = nb::none(),
        "validation_freq"_a = fit_defaults.validation_freq, nb::kw_only(), "seed"_a = fit_defaults.seed,
        "Trains the model and returns the History. x and y: arrays, or lists of arrays for several inputs or outputs; "
        "or only x, a Dataset or an iterable of (x, y) or (x, y, weights).\n\n"
        "verbose: 0 prints nothing, 1 ('auto') a bar, 2 a line for each epoch. validation_split: the fraction of the "
        "samples, from the end, that is used for validation. validation_data: (x, y), (x, y, weights) or batches. "
        "seed: that of the order of samples, which differs between epochs. class_weight: {class: weight}. "
        "initial_epoch: the number of epochs done before; None: that of the last loaded checkpoint. steps_per_epoch: "
        "the number of batches in an epoch; the next epoch continues after them. An exception of a callback ends the "
        "training and is raised unchanged, as is KeyboardInterrupt, after a batch.");
  const nn::EvaluateOptions evaluate_defaults;
  c.def("evaluate", &evaluate, "x"_a, "y"_a = nb::none(), "batch_size"_a = evaluate_defaults.batch_size,
        "verbose"_a = number_of(evaluate_defaults.verbose), "sample_weight"_a = nb::none(), "return_dict"_a = false,
        "The loss of the data, or a list of the loss and the metrics if there are any; with return_dict {name: "
        "number}. Data as in fit.");
  const nn::PredictOptions predict_defaults;
  c.def("predict", &predict, "x"_a, "batch_size"_a = predict_defaults.batch_size,
        "verbose"_a = number_of(predict_defaults.verbose),
        "The outputs for the data, with the rows of all batches concatenated (several outputs: a list). x: an array, a "
        "list of arrays for several inputs, a Dataset or an iterable, whose y is not read.");
  c.def("train_on_batch", &step<&nn::Model::train_on_batch>, "x"_a, "y"_a, "sample_weight"_a = nb::none(),
        "return_dict"_a = false,
        "Does one step of training; the loss and metrics of this batch alone, in the form of evaluate.");
  c.def("test_on_batch", &step<&nn::Model::test_on_batch>, "x"_a, "y"_a, "sample_weight"_a = nb::none(),
        "return_dict"_a = false, "The loss and metrics of this batch alone, in the form of evaluate.");
  c.def_prop_rw(
      "stop_training",
      [](const nn::Model&) -> bool {
        throw nb::attribute_error("stop_training can only be set, to True, and not read");
      },
      [](nn::Model& model, bool stop) {
        if (stop) model.stop_training();
      },
      "Set to True in a callback, it ends the training after the current batch.");
  c.def(
      "better",
      [](const nn::Model& model, const std::string& number) {
        return Keyword<nn::Better>::shown(model.better(number));
      },
      "number"_a,
      "Whether smaller ('min') or larger ('max') values of a log are better, by the metric of this name; 'auto' for "
      "names that the model does not know (it knows metrics once it has been trained or evaluated).");
  c.def_prop_ro("leaves_out_validation", &nn::Model::leaves_out_validation,
                "In a callback: whether the epoch that ends has no validation because of validation_freq.");
  c.def_prop_ro("optimizer", &nn::Model::optimizer, "The optimizer; TypeError before compile.");
  c.def_prop_ro(
      "train_function", [](const nn::Model& model) { return inspectable(model.train_function()); },
      "The compiled function of a training step, after the first one: for inspection of its plan, kernels and "
      "transfers.");
}

void add_files(ModelClass& c) {
  c.def("save_weights", &nn::Model::save_weights, "filepath"_a, nb::call_guard<ReleaseGil>(),
        "Writes the weights, by their names: as safetensors, or as NPZ if the file name ends in .npz. FileError if it "
        "cannot be written; ValueError for file names that end in .h5, .hdf5 or .keras.");
  c.def("load_weights", &nn::Model::load_weights, "filepath"_a, nb::call_guard<ReleaseGil>(),
        "Reads the weights of a file. A ValueError, with no change, lists weights that are missing, unknown or of "
        "another shape; FileError if the file cannot be read.");
  c.def("save_checkpoint", &nn::Model::save_checkpoint, "filepath"_a, nb::call_guard<ReleaseGil>(),
        "Writes the weights, states of layers, the optimizer, and the position in epochs and data: a training that "
        "resumes from it gives the same bits as one that was never interrupted. FileError if it cannot be written.");
  c.def("load_checkpoint", &nn::Model::load_checkpoint, "filepath"_a, nb::call_guard<ReleaseGil>(),
        "Reads a checkpoint of save_checkpoint; the next fit resumes from there. ValueError for the checkpoint of "
        "another model; FileError if the file cannot be read.");
}

/// Adds a layer, a model as a layer, or the input of the first layer.
void add(nn::Sequential& model, nb::handle part) {
  if (nb::isinstance<nn::Tensor>(part)) return model.add(nb::cast<nn::Tensor>(part));
  if (nb::isinstance<nn::Model>(part)) return model.add(nb::cast<const nn::Model&>(part).layer());
  if (!nb::isinstance<nn::Layer>(part))
    throw TypeError("Sequential is made of layers, models, and an Input before them, not of " + name_of_type(part));
  model.add(nb::cast<const nn::Layer&>(part));
}

}  // namespace

void bind_nn_models(nb::module_& m) {
  ModelClass c(m, "Model", "A graph of layers from inputs to outputs. ValueError for outputs that need another input.");
  c.def(
      "__init__",
      [](nn::Model* self, nb::handle inputs, nb::handle outputs, std::optional<std::string> name) {
        new (self)
            nn::Model(to_tensors(inputs, "inputs"), to_tensors(outputs, "outputs"), text_or_empty(std::move(name)));
      },
      "inputs"_a, "outputs"_a, "name"_a = nb::none(), "inputs, outputs: a tensor, or a list of tensors.");
  c.def("__call__", &call, "x"_a, "context"_a.none() = nb::none(),
        "The outputs of the model (several: a list). For tensors: the model is a layer. For variables whose first axis "
        "is the batch: variables, for training if the CallContext says so. For arrays use predict.");
  add_parts(c);
  add_learning(c);
  add_files(c);
  nb::class_<nn::Sequential, nn::Model>(
      m, "Sequential",
      "A sequence of layers, optionally with an Input before them. If neither the Input nor the first layer has a "
      "shape, the model is built when it first sees data.")
      .def(
          "__init__",
          [](nn::Sequential* self, nb::handle layers, std::optional<std::string> name) {
            nn::Sequential model(std::initializer_list<nn::Sequential::Part>{}, text_or_empty(std::move(name)));
            if (!layers.is_none()) {
              for (const nb::handle part : layers) add(model, part);
            }
            new (self) nn::Sequential(std::move(model));
          },
          "layers"_a = nb::none(), "name"_a = nb::none())
      .def("add", &add, "layer"_a, "Appends a layer; an Input only as the first (else ValueError).");
}

}  // namespace croton::python

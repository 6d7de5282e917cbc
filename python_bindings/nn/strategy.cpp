// Training on several devices at once.
#include <algorithm>
#include <variant>

#include "core/arrays.hpp"
#include "core/callable.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "nn/data.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// A PerReplica as a Python object: a value for each shard of a batch; variables while a step is built, arrays in a
/// call.
struct Replicas {
  std::variant<nn::PerReplica<Variable>, nn::PerReplica<Array>> values;

  std::size_t size() const {
    return std::visit([](const auto& all) { return all.size(); }, values);
  }
  nb::object at(std::size_t shard) const {
    if (const auto* variables = std::get_if<nn::PerReplica<Variable>>(&values)) return nb::cast((*variables)[shard]);
    return to_numpy(std::get<nn::PerReplica<Array>>(values)[shard]);
  }
  nb::list list() const {
    nb::list all;
    for (std::size_t shard = 0; shard < size(); ++shard) all.append(at(shard));
    return all;
  }
};

Replicas to_replicas(nb::handle list) {
  std::vector<Variable> variables;
  std::vector<Array> arrays;
  for (const nb::handle item : list) {
    if (nb::isinstance<Variable>(item)) {
      variables.push_back(nb::cast<Variable>(item));
    } else {
      arrays.push_back(to_array(item));
    }
  }
  if (!variables.empty() && !arrays.empty()) throw TypeError("a PerReplica has variables or arrays, but not both");
  if (variables.empty()) return {nn::PerReplica<Array>(std::move(arrays))};
  return {nn::PerReplica<Variable>(std::move(variables))};
}

const nn::PerReplica<Variable>& variables_of(const Replicas& replicas) {
  if (const auto* variables = std::get_if<nn::PerReplica<Variable>>(&replicas.values)) return *variables;
  throw TypeError("a PerReplica of variables is needed, as MirroredStrategy.run returns; this one has arrays");
}

void bind_replicas(nb::module_& m) {
  nb::class_<Replicas>(m, "PerReplica",
                       "A value for each shard of a batch, made from a list: variables while a step is built, arrays "
                       "in a call of a function.")
      .def(
          "__init__", [](Replicas* self, nb::handle list) { new (self) Replicas(to_replicas(list)); }, "values"_a)
      .def_prop_ro("values", &Replicas::list, "The values as a list.")
      .def("__len__", &Replicas::size)
      .def("__getitem__",
           [](const Replicas& self, std::int64_t shard) {
             const auto size = static_cast<std::int64_t>(self.size());
             if (shard < -size || shard >= size) throw nb::index_error("there are not that many shards");
             return self.at(static_cast<std::size_t>(shard < 0 ? shard + size : shard));
           })
      .def("__repr__",
           [](const Replicas& self) { return "<croton.nn.PerReplica of " + std::to_string(self.size()) + ">"; });
}

// ---- distributed data
// ------------------------------------------------------------------------------------------------

nb::object from_parts(const std::vector<nn::PerReplica<Array>>& parts) {
  if (parts.size() == 1) return nb::cast(Replicas{parts[0]});
  nb::list list;
  for (const nn::PerReplica<Array>& part : parts) list.append(Replicas{part});
  return list;
}

nb::tuple from_batch(const nn::DistributedBatch& batch) {
  const nb::object x = from_parts(batch.x), y = from_parts(batch.y);
  return batch.weights ? nb::make_tuple(x, y, Replicas{*batch.weights}) : nb::make_tuple(x, y);
}

struct DistributedPass {
  ReleasedNext<nn::DistributedBatch> next;
};

/// A distributed data set, and the number of passes of `for` so far.
struct PythonDistributed {
  nn::DistributedDataset dataset;
  std::int64_t passes = 0;
};

void bind_distributed_data(nb::module_& m) {
  nb::class_<DistributedPass>(m, "DistributedPass", "One pass over a DistributedDataset: an iterator.")
      .def("__iter__", [](nb::object self) { return self; })
      .def("__next__", [](DistributedPass& pass) {
        const std::optional<nn::DistributedBatch> batch = pass.next();
        if (!batch) throw nb::stop_iteration();
        return from_batch(*batch);
      });
  nb::class_<PythonDistributed>(m, "DistributedDataset",
                                "Batches split into parts whose sizes differ by at most 1: (x, y) or (x, y, weights) "
                                "of PerReplicas. Each pass of `for` is the next epoch.")
      .def(
          "begin",
          [](const PythonDistributed& d, std::int64_t epoch) {
            return DistributedPass{ReleasedNext<nn::DistributedBatch>([&] { return d.dataset.begin(epoch); })};
          },
          "epoch"_a = nn::Dataset::default_epoch, "The pass of an epoch: an iterator.")
      .def("__iter__",
           [](PythonDistributed& d) {
             return DistributedPass{ReleasedNext<nn::DistributedBatch>([&] { return d.dataset.begin(d.passes++); })};
           })
      .def_prop_ro(
          "batches", [](const PythonDistributed& d) { return d.dataset.batches(); },
          "How many batches a pass has; None where that is not known.");
}

// ---- functions ----------------------------------------------------------------------------------------------------

/// The compiled steps, and the inputs, whose types convert arguments.
struct PythonDistributedFunction {
  nn::DistributedFunction function;
  std::vector<In> inputs;
};

nb::object call(const PythonDistributedFunction& f, const nb::args& args) {
  std::vector<nn::DistributedArgument> arguments;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const nb::handle value = args[i];
    if (nb::isinstance<Replicas>(value)) {
      const auto* parts = std::get_if<nn::PerReplica<Array>>(&nb::cast<const Replicas&>(value).values);
      if (parts == nullptr) throw TypeError("a function is called with a PerReplica of arrays, not of variables");
      arguments.emplace_back(*parts);
    } else {
      arguments.emplace_back(i < f.inputs.size() ? to_argument(value, f.inputs[i].variable.type(), f.inputs[i].strict)
                                                 : Argument(to_array(value)));
    }
  }
  const Outputs outputs = [&] {
    const ReleaseGil no_gil;
    return f.function.call(arguments);
  }();
  if (!outputs.is_list()) return to_numpy(outputs.only());
  nb::list list;
  for (const Array& array : outputs) list.append(to_numpy(array));
  return list;
}

PythonDistributedFunction compile(const nn::MirroredStrategy& strategy, nb::handle inputs, nb::handle outputs,
                                  nb::handle updates, nb::handle givens, std::optional<std::string> name,
                                  std::optional<bool> allow_input_downcast) {
  std::vector<In> ins;
  for (const nb::handle item : inputs)
    ins.push_back(nb::isinstance<In>(item) ? nb::cast<In>(item) : In(to_variable(item)));
  OutputList outs;
  if (is_list(outputs)) {
    outs = std::vector<Out>();
    std::vector<Out> all;
    for (const nb::handle item : outputs)
      all.push_back(nb::isinstance<Out>(item) ? nb::cast<Out>(item) : Out(to_variable(item)));
    outs = std::move(all);
  } else if (!outputs.is_none()) {
    outs = nb::isinstance<Out>(outputs) ? nb::cast<Out>(outputs) : Out(to_variable(outputs));
  }
  FunctionOptions options;
  options.updates = to_pairs(updates, "updates");
  options.givens = to_pairs(givens, "givens");
  options.name = text_or_empty(std::move(name));
  options.allow_input_downcast = allow_input_downcast;
  const Where where = here();
  const ReleaseGil no_gil;
  return {strategy.function(ins, outs, std::move(options), where), ins};
}

void bind_function(nb::module_& m) {
  nb::class_<PythonDistributedFunction>(m, "DistributedFunction", "The steps of all shards, compiled as one function.")
      .def("__call__", &call, "args"_a,
           "Calls the function with its inputs in order: each a PerReplica of arrays, or one value that all shards get "
           "whole. TypeError for a PerReplica for an input that the shards do not split, ValueError for another number "
           "of parts.")
      .def_prop_ro(
          "function", [](const PythonDistributedFunction& f) { return inspectable(f.function.function()); },
          "The function itself, whose inputs are the parts of each input in order: for inspection of its plan, "
          "placement, transfers and kernels.");
}

// ---- the strategy -------------------------------------------------------------------------------------------------

/// `with strategy.scope():`
class PythonScope {
 public:
  PythonScope(PythonScope&&) noexcept = default;
  explicit PythonScope(nn::MirroredStrategy strategy) : strategy_(std::move(strategy)) {}
  nn::MirroredStrategy enter() {
    open_.push_back(std::make_unique<nn::MirroredStrategy::Scope>(strategy_));
    return strategy_;
  }
  void exit() { open_.pop_back(); }

 private:
  nn::MirroredStrategy strategy_;
  std::vector<std::unique_ptr<nn::MirroredStrategy::Scope>> open_;
};

nn::MirroredOptions to_options(std::optional<std::size_t> shards, std::string main_device, std::size_t bucket_bytes) {
  return {.shards = shards, .main_device = std::move(main_device), .bucket_bytes = bucket_bytes};
}

/// The results of a step: None, a PerReplica, or a tuple of PerReplicas.
nb::object from_results(const nn::PerReplica<std::vector<Variable>>& results, bool single) {
  if (results.size() == 0 || results[0].empty()) return nb::none();
  nb::list list;
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    std::vector<Variable> parts;
    for (const std::vector<Variable>& shard : results.values()) parts.push_back(shard.at(i));
    list.append(Replicas{nn::PerReplica<Variable>(std::move(parts))});
  }
  return single ? nb::object(list[0]) : nb::tuple(list);
}

nb::object run(const nn::MirroredStrategy& strategy, nb::callable step, nb::handle args) {
  std::vector<nn::ReplicaArgument> arguments;
  if (!is_list(args)) throw TypeError("the arguments of a step are a tuple: strategy.run(step, (x, y))");
  for (const nb::handle item : args) {
    if (nb::isinstance<Replicas>(item)) {
      arguments.emplace_back(variables_of(nb::cast<const Replicas&>(item)));
    } else {
      arguments.emplace_back(to_variable(item));
    }
  }
  bool single = false;
  const auto results = strategy.run_list(
      [&](const std::vector<Variable>& x) -> std::vector<Variable> {
        nb::list values;
        for (const Variable& variable : x) values.append(variable);
        const nb::object result = step(*values);
        if (result.is_none()) return {};
        single = !is_list(result);
        if (single) return {to_variable(result)};
        return to_variables(result);
      },
      arguments);
  return from_results(results, single);
}

nn::ReduceOp to_reduce_op(nb::handle object) {
  if (nb::isinstance<nn::ReduceOp>(object)) return nb::cast<nn::ReduceOp>(object);
  std::string text = nb::cast<std::string>(nb::str(object));
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return choice<nn::ReduceOp>(text, "a reduction", {{"sum", nn::ReduceOp::sum}, {"mean", nn::ReduceOp::mean}});
}

nn::MirroredStrategy make_strategy(nb::handle devices, std::optional<std::size_t> shards, std::string main_device,
                                   std::size_t bucket_bytes) {
  nn::MirroredOptions options = to_options(shards, std::move(main_device), bucket_bytes);
  if (!devices.is_none()) return nn::MirroredStrategy(to_texts(devices, "`devices`"), options);
  const nn::MirroredStrategy all;  // on all devices
  return nn::MirroredStrategy(all.devices(), options);
}

void bind_strategy(nb::module_& m) {
  nb::enum_<nn::ReduceOp>(m, "ReduceOp", "The reduction of the values of shards; its name is accepted as a text too.")
      .value("SUM", nn::ReduceOp::sum)
      .value("MEAN", nn::ReduceOp::mean);
  nb::class_<PythonScope>(m, "StrategyScope", "A context manager: `with strategy.scope(): ...`.")
      .def("__enter__", &PythonScope::enter)
      .def("__exit__", [](PythonScope& scope, nb::args) { scope.exit(); });
  nb::class_<nn::MirroredStrategy>(m, "MirroredStrategy",
                                   "Synchronous data parallelism: every device has a copy of each parameter and "
                                   "computes its part of a batch; gradients are summed, and each device makes the same "
                                   "step. Results depend on the number of shards, and not on the devices.")
      .def(
          "__init__",
          [](nn::MirroredStrategy* self, nb::handle devices, std::optional<std::size_t> shards, std::string main_device,
             std::size_t bucket_bytes) {
            new (self) nn::MirroredStrategy(make_strategy(devices, shards, std::move(main_device), bucket_bytes));
          },
          "devices"_a = nb::none(), nb::kw_only(), "shards"_a = nb::none(),
          "main_device"_a = nn::MirroredOptions().main_device, "bucket_bytes"_a = nn::MirroredOptions().bucket_bytes,
          "devices: names; None: all visible GPUs (or simulated ones, if there are any), or the host if there is none. "
          "A DeviceError for an unknown device lists the devices; ValueError for no devices, or one twice. shards: the "
          "number of parts of a batch; by default, and at least (ValueError), the number of devices. main_device: the "
          "device where results are combined; by default the first one. bucket_bytes: smaller gradients are sent "
          "together, up to this size.")
      .def(
          "scope", [](const nn::MirroredStrategy& strategy) { return PythonScope(strategy); },
          "A context manager: shared variables that are made in it without a target have a copy on each device, and "
          "models that are made or compiled in it are trained by this strategy.")
      .def_static("current", &nn::MirroredStrategy::current,
                  "The strategy of the scope that this thread is in, or None.")
      .def_prop_ro("devices", &nn::MirroredStrategy::devices)
      .def_prop_ro("main_device", &nn::MirroredStrategy::main_device, "The device where results are combined.")
      .def_prop_ro("num_replicas_in_sync", &nn::MirroredStrategy::num_replicas_in_sync, "The number of shards.")
      .def("device_of", &nn::MirroredStrategy::device_of, "shard"_a, "The device of a shard.")
      .def(
          "split",
          [](const nn::MirroredStrategy& strategy, nb::handle batch) {
            return Replicas{strategy.split(to_array(batch))};
          },
          "batch"_a, "A PerReplica of the parts of an array along axis 0, whose sizes differ by at most 1.")
      .def(
          "distribute_dataset",
          [](const nn::MirroredStrategy& strategy, nb::handle batches) {
            return PythonDistributed{strategy.distribute_dataset(to_dataset(batches))};
          },
          "dataset"_a, "A DistributedDataset: the batches of a Dataset, or of an iterable of (x, y), in parts.")
      .def("run", &run, "step"_a, "args"_a,
           "Builds a step once for each shard, in the scope of its device. Inputs of a function become inputs of each "
           "shard, and the first of them that has axes gives the number of a shard's rows; other variables are the "
           "same for all; of a PerReplica, each shard gets its part. Optimizers in the step get the sum of the "
           "gradients over all shards: their updates become those of `function`. Returns the step's result as "
           "PerReplica: one for a variable, a tuple for a tuple or list, None for None.")
      .def_static(
          "keep_averages",
          [](nb::handle updates) {
            nn::MirroredStrategy::keep_averages(nb::isinstance<nn::CallContext>(updates)
                                                    ? nb::cast<const nn::CallContext&>(updates).updates
                                                    : to_pairs(updates, "updates"));
          },
          "updates"_a,
          "In a step: the mean over shards, weighted by rows, of the new values of running averages (a CallContext, or "
          "its updates) becomes an update. TypeError outside of a step.")
      .def(
          "reduce",
          [](const nn::MirroredStrategy& strategy, nb::handle op, const Replicas& values, std::optional<int> axis) {
            return strategy.reduce(to_reduce_op(op), variables_of(values), axis);
          },
          "reduce_op"_a, "value"_a, "axis"_a = nb::none(),
          "The sum of the values of all shards ('sum'), or their mean ('mean') with equal weights, on the main device. "
          "With axis=0 also over their rows; the mean then weights all rows equally.")
      .def(
          "gather",
          [](const nn::MirroredStrategy& strategy, const Replicas& values, int axis) {
            return strategy.gather(variables_of(values), axis);
          },
          "value"_a, "axis"_a = nn::MirroredStrategy::default_gather_axis,
          "The values of all shards concatenated along the axis, on the main device.")
      .def("function", &compile, "inputs"_a, "outputs"_a = nb::none(), "updates"_a = nb::none(),
           "givens"_a = nb::none(), "name"_a = nb::none(), "allow_input_downcast"_a = nb::none(),
           "A function of the inputs that steps were built for; arguments as for croton.function. It has the updates "
           "of all steps that its outputs depend on; the updates of a step without results go to functions of its "
           "inputs without outputs. ValueError for inputs with default values.")
      .def("__repr__", [](const nn::MirroredStrategy& strategy) {
        std::string devices;
        for (const std::string& device : strategy.devices()) devices += " " + device;
        return "<croton.nn.MirroredStrategy" + devices + ", " + std::to_string(strategy.num_replicas_in_sync()) +
               " shards>";
      });
}

template <class Devices>
nn::Model parallel_on(const nn::Model& model, const Devices& devices, const nn::MirroredOptions& options) {
  return released([&] { return nn::multi_gpu_model(model, devices, options); });
}

nn::Model parallel(const nn::Model& model, nb::handle gpus, const std::string& main_device,
                   std::optional<std::size_t> shards, std::size_t bucket_bytes) {
  const nn::MirroredOptions options = to_options(shards, main_device, bucket_bytes);
  if (!is_list(gpus)) return parallel_on(model, to_int(gpus, "the number of GPUs"), options);
  if (nb::len(gpus) > 0 && PyUnicode_Check(nb::object(gpus[0]).ptr()))
    return parallel_on(model, to_texts(gpus, "`gpus`"), options);
  return parallel_on(model, to_axes(gpus), options);
}

}  // namespace

void bind_nn_strategy(nb::module_& m) {
  bind_replicas(m);
  bind_distributed_data(m);
  bind_function(m);
  bind_strategy(m);
  m.def("multi_gpu_model", &parallel, "model"_a, "gpus"_a, nb::kw_only(),
        "main_device"_a = nn::default_multi_gpu_main_device, "shards"_a = nb::none(),
        "bucket_bytes"_a = nn::MirroredOptions().bucket_bytes,
        "A model with the same layers and weights that trains and predicts on several devices: each computes its part "
        "of a batch. gpus: a number of GPUs, or of parts of the host (logical_devices=cpu:8) if there is no GPU; a "
        "list of their numbers; or a list of names. main_device: the device where results are combined. The new model "
        "must be compiled. ValueError, with a list of the devices, for fewer than 2 and for more than there are.");
  nb::borrow<nb::class_<nn::Model>>(nb::type<nn::Model>())
      .def(
          "with_strategy",
          [](const nn::Model& model, const nn::MirroredStrategy& strategy) {
            return released([&] { return model.with_strategy(strategy); });
          },
          "strategy"_a,
          "A model with the same layers and weights that trains and predicts by this strategy; it must be compiled.");
}

}  // namespace croton::python

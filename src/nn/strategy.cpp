#include <croton/nn/strategy.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "base/device_name.hpp"
#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"
#include "nn/floats.hpp"
#include "nn/replica.hpp"
#include "nn/rows.hpp"

namespace croton::nn {

struct MirroredStrategy::State {
  std::vector<std::string> devices;
  std::string main_device;
  Shards shards;

  struct Run {
    std::vector<Variable> inputs;   // sharded inputs
    std::vector<Variable> results;  // of all shards
    Updates updates;
  };
  std::mutex mutex;
  std::vector<Run> runs;
  std::vector<std::pair<Variable, std::vector<Variable>>> inputs;  // {input, its part for each shard}

  /// The parts of an input; empty for other variables.
  std::vector<Variable> parts_of(const Variable& input) {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(inputs, input, &decltype(inputs)::value_type::first);
    return found == inputs.end() ? std::vector<Variable>() : found->second;
  }
  std::vector<Variable> make_parts(const Variable& input);
  /// The sharded inputs on which the values of shards depend.
  std::vector<Variable> inputs_of(const std::vector<Variable>& values) {
    std::vector<Variable> found;
    const std::lock_guard lock(mutex);
    for (const builder::Node* node : builder::topological_order(values)) {
      for (const auto& [input, parts] : inputs) {
        if (parts[0].node() == node) found.push_back(input);
      }
    }
    return found;
  }
  /// Adds to a function's options the updates of the steps that it contains.
  void add_updates(const std::vector<In>& of, const OutputList& outputs, FunctionOptions& options);
};

namespace {

std::vector<const MirroredStrategy*>& open_scopes() {
  thread_local std::vector<const MirroredStrategy*> scopes;
  return scopes;
}

std::vector<std::string> names_of(const std::vector<DeviceInfo>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const DeviceInfo& device : devices) names.push_back(device.name);
  return names;
}

/// All GPUs, or without GPUs the parts of the host.
std::vector<std::string> workers() {
  std::vector<std::string> gpus, all = names_of(devices());
  for (const std::string& name : all) {
    if (base::parse_device(name).is_gpu()) gpus.push_back(name);
  }
  return gpus.empty() ? all : gpus;
}

std::uint16_t place_of(const std::string& device) {
  const base::DeviceName name = base::parse_device(device);
  const std::vector<std::string> all = names_of(devices());
  if (std::ranges::find(all, name.to_string()) == all.end())
    throw DeviceError(
        fmt::format("MirroredStrategy: there is no device {}; there are {}", device, fmt::join(all, ", ")));
  return name.place();
}

bool is_input(const Variable& v) {
  return v.node()->op->kind == expr::Kind::Leaf && !v.node()->shared && !v.is_constant();
}

/// ValueError for an argument of a step that is computed from an input: each shard would compute it, for all rows.
void check_no_inputs(const Variable& variable) {
  for (builder::Node* node : builder::topological_order({variable})) {
    const Variable v(node->shared_from_this());
    if (!is_input(v)) continue;
    throw ValueError(
        fmt::format("MirroredStrategy::run: {} depends on the input {}, and each shard would compute all of it; pass "
                    "the input itself to the step",
                    builder::describe(variable), builder::describe(v)));
  }
}

std::string name_of(const Variable& input, std::size_t shard) {
  return fmt::format("{}/{}", input.name().empty() ? "input" : input.name(), shard);
}

}  // namespace

std::vector<Variable> MirroredStrategy::State::make_parts(const Variable& input) {
  if (std::vector<Variable> known = parts_of(input); !known.empty()) return known;
  std::vector<Variable> parts;
  if (shards.count() == 1) {
    parts.push_back(input);
  } else {
    Type type = input.type();
    if (!type.shape.empty()) type.shape[0] = unknown_size;  // of a part, not of the whole
    for (std::size_t shard = 0; shard < shards.count(); ++shard)
      parts.push_back(variable(type, name_of(input, shard), input.where()));
  }
  const std::lock_guard lock(mutex);
  inputs.emplace_back(input, parts);
  return parts;
}

// ---- the strategy ----

MirroredStrategy::MirroredStrategy()
    : MirroredStrategy([] {
        std::vector<std::string> devices = workers();
        if (base::parse_device(devices[0]).kind == base::DeviceName::Kind::cpu) devices.resize(1);
        return devices;
      }()) {}

MirroredStrategy::MirroredStrategy(const std::vector<std::string>& devices, const MirroredOptions& options)
    : state_(std::make_shared<State>()) {
  if (devices.empty()) throw ValueError("MirroredStrategy: no devices");
  State& state = *state_;
  state.shards.devices.clear();
  for (const std::string& device : devices) {
    const std::uint16_t place = place_of(device);
    const std::string name = base::DeviceName::of_place(place).to_string();
    if (std::ranges::find(state.devices, name) != state.devices.end())
      throw ValueError(
          fmt::format("MirroredStrategy: {} is named twice; a device has several shards by {{.shards = N}}", name));
    state.devices.push_back(name);
    state.shards.devices.push_back(place);
  }
  const std::size_t count = options.shards.value_or(devices.size());
  if (count < devices.size())
    throw ValueError(
        fmt::format("MirroredStrategy: {} shards for {} devices; each has one at least", count, devices.size()));
  state.shards.device_of.clear();
  for (std::size_t shard = 0; shard < count; ++shard) state.shards.device_of.push_back(shard * devices.size() / count);
  state.shards.main_device = options.main_device.empty() ? state.shards.devices[0] : place_of(options.main_device);
  state.main_device = base::DeviceName::of_place(state.shards.main_device).to_string();
  state.shards.bucket_bytes = options.bucket_bytes;
}

struct MirroredStrategy::Scope::Open {
  explicit Open(const MirroredStrategy& one) : strategy(one), mirrors(one.state_->shards.devices) {
    open_scopes().push_back(&strategy);
  }
  ~Open() { std::erase(open_scopes(), &strategy); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  MirroredStrategy strategy;
  builder::MirrorScope mirrors;
};
MirroredStrategy::Scope::Scope(const MirroredStrategy& strategy) : open_(std::make_unique<Open>(strategy)) {}
MirroredStrategy::Scope::~Scope() = default;
MirroredStrategy::Scope MirroredStrategy::scope() const { return Scope(*this); }
std::optional<MirroredStrategy> MirroredStrategy::current() {
  return open_scopes().empty() ? std::nullopt : std::optional(*open_scopes().back());
}

const std::vector<std::string>& MirroredStrategy::devices() const { return state_->devices; }
const std::string& MirroredStrategy::main_device() const { return state_->main_device; }
std::size_t MirroredStrategy::num_replicas_in_sync() const { return state_->shards.count(); }
const std::string& MirroredStrategy::device_of(std::size_t shard) const {
  return state_->devices.at(state_->shards.device_of.at(shard));
}

Shards current_shards() { return open_scopes().empty() ? Shards() : shards_of(*open_scopes().back()); }
const Shards& shards_of(const MirroredStrategy& strategy) { return strategy.state().shards; }

// ---- data ----

namespace {

PerReplica<Array> parts_of(const Array& batch, std::size_t shards) {
  if (batch.rank() == 0) throw ShapeError("a batch is cut along axis 0, and this array has no axes");
  const std::vector<std::int64_t> bounds = bounds_of(batch.shape(0), shards);
  std::vector<Array> parts;
  for (std::size_t shard = 0; shard < shards; ++shard)
    parts.push_back(batch.slice(0, bounds[shard], bounds[shard + 1]));
  return PerReplica(std::move(parts));
}

}  // namespace

PerReplica<Array> MirroredStrategy::split(const Array& batch) const { return parts_of(batch, num_replicas_in_sync()); }

DistributedDataset MirroredStrategy::distribute_dataset(const Dataset& batches) const {
  return {batches, num_replicas_in_sync()};
}

std::int64_t DistributedBatch::size() const {
  std::int64_t rows = 0;
  if (!x.empty()) {
    for (const Array& part : x[0].values()) rows += part.shape(0);
  }
  return rows;
}

DistributedDataset::Next DistributedDataset::begin(std::int64_t epoch) const {
  return [next = whole_.begin(epoch), shards = shards_]() -> std::optional<DistributedBatch> {
    const std::optional<Batch> batch = next();
    if (!batch) return std::nullopt;
    common_rows(*batch);
    DistributedBatch parts;
    for (const Array& x : batch->x) parts.x.push_back(parts_of(x, shards));
    for (const Array& y : batch->y) parts.y.push_back(parts_of(y, shards));
    if (batch->weights) parts.weights = parts_of(*batch->weights, shards);
    return parts;
  };
}

// ---- steps ----

PerReplica<std::vector<Variable>> MirroredStrategy::run_list(
    const std::function<std::vector<Variable>(const std::vector<Variable>&)>& step,
    const std::vector<ReplicaArgument>& arguments) const {
  State& state = *state_;
  const std::size_t count = state.shards.count();
  State::Run run;
  std::vector<std::vector<Variable>> of_shard(count);
  std::vector<Variable> rows, other_rows;
  const auto find_rows = [](std::vector<Variable>& found, const std::vector<Variable>& parts) {
    if (!found.empty() || parts[0].rank() == 0) return;
    for (const Variable& part : parts) found.push_back(part.shape(0, part.where()));
  };
  for (const ReplicaArgument& argument : arguments) {
    std::vector<Variable> parts;
    if (const auto* variable = std::get_if<Variable>(&argument)) {
      if (!variable->defined()) throw TypeError("MirroredStrategy::run: an empty Variable was given");
      if (is_input(*variable)) {
        parts = state.make_parts(*variable);
        run.inputs.push_back(*variable);
        find_rows(rows, parts);
      } else {
        check_no_inputs(*variable);
        parts.assign(count, *variable);
      }
    } else {
      parts = std::get<PerReplica<Variable>>(argument).values();
      if (parts.size() != count)
        throw ValueError(
            fmt::format("MirroredStrategy::run: values of {} shards, where the strategy has {}", parts.size(), count));
      find_rows(other_rows, parts);
      for (const Variable& input : state.inputs_of(parts)) run.inputs.push_back(input);
    }
    for (std::size_t shard = 0; shard < count; ++shard) of_shard[shard].push_back(parts[shard]);
  }
  if (rows.empty()) rows = other_rows;
  if (count == 1) rows.clear();
  ReplicatedStep built = replicated(state.shards, rows, [&](std::size_t shard) { return step(of_shard[shard]); }, true);
  for (const std::vector<Variable>& results : built.results)
    run.results.insert(run.results.end(), results.begin(), results.end());
  run.updates = std::move(built.updates);
  const std::lock_guard lock(state.mutex);
  state.runs.push_back(std::move(run));
  return PerReplica(std::move(built.results));
}

void MirroredStrategy::keep_averages(const Updates& updates) {
  Replica* replica = Replica::current();
  if (replica == nullptr) throw TypeError("MirroredStrategy::keep_averages is for steps, and none is being built");
  replica->averages.insert(replica->averages.end(), updates.begin(), updates.end());
}

Variable MirroredStrategy::reduce(ReduceOp op, const PerReplica<Variable>& values, std::optional<int> axis) const {
  const Shards& shards = state_->shards;
  if (values.size() != shards.count())
    throw ValueError(fmt::format("MirroredStrategy::reduce: values of {} shards, where the strategy has {}",
                                 values.size(), shards.count()));
  std::vector<Variable> parts = values.values();
  const builder::OriginScope origin(parts[0].where());
  Variable count;
  if (axis) {
    for (std::size_t shard = 0; shard < parts.size(); ++shard) {
      const builder::PlaceScope place(shards.place(shard));
      const Variable rows = parts[shard].shape(*axis);
      count = count.defined() ? count + rows : rows;
      parts[shard] = sum(parts[shard], ReduceOptions(*axis));
    }
  }
  const Variable total = ordered_sum(parts, "reduced", shards, shards.main_device);
  if (op == ReduceOp::sum) return total;
  const builder::PlaceScope place(shards.main_device);
  const Variable in_floats_total = in_floats(total);
  return in_floats_total / (count.defined() ? cast(count, in_floats_total.dtype())
                                            : builder::number(static_cast<double>(shards.count()), in_floats_total));
}

Variable MirroredStrategy::gather(const PerReplica<Variable>& values, int axis) const {
  if (values.size() != state_->shards.count())
    throw ValueError(fmt::format("MirroredStrategy::gather: values of {} shards, where the strategy has {}",
                                 values.size(), state_->shards.count()));
  const builder::PlaceScope place(state_->shards.main_device);
  return values.size() == 1 ? values[0] : concatenate(values.values(), axis, values[0].where());
}

// ---- functions ----

void MirroredStrategy::State::add_updates(const std::vector<In>& of, const OutputList& outputs,
                                          FunctionOptions& options) {
  std::vector<Variable> roots;
  for (const Out& out : outputs.outputs) roots.push_back(out.variable);
  for (const auto& [target, value] : options.updates) roots.push_back(value);
  if (!std::ranges::all_of(roots, &Variable::defined)) return;  // croton::function raises the error
  const auto is_input_of = [&](const Variable& x) {
    return std::ranges::any_of(of, [&](const In& in) { return in.variable == x; });
  };
  std::unique_lock lock(mutex);
  std::vector<Run> left = runs;
  lock.unlock();
  // Updates may depend on the results of other steps; then the updates of these are added too.
  for (bool found = true; std::exchange(found, false);) {
    std::unordered_set<const builder::Node*> reached;
    for (const builder::Node* node : builder::topological_order(roots)) reached.insert(node);
    std::erase_if(left, [&](const Run& run) {
      // A step without results belongs to each function that has one of its inputs and no outputs: such a function can
      // only be for training.
      const bool is_part =
          run.results.empty()
              ? outputs.outputs.empty() && std::ranges::any_of(run.inputs, is_input_of)
              : std::ranges::any_of(run.results, [&](const Variable& v) { return reached.contains(v.node()); });
      if (!is_part) return false;
      options.updates.insert(options.updates.end(), run.updates.begin(), run.updates.end());
      for (const auto& [target, value] : run.updates) roots.push_back(value);
      return found = true;
    });
  }
}

DistributedFunction MirroredStrategy::function(const std::vector<In>& inputs, const OutputList& outputs,
                                               FunctionOptions options, Where where) const {
  State& state = *state_;
  state.add_updates(inputs, outputs, options);
  std::vector<In> all;
  std::vector<DistributedFunction::Input> shown;
  for (const In& in : inputs) {
    if (in.value)
      throw ValueError(
          fmt::format("MirroredStrategy::function: inputs cannot have default values, but this one has: {}",
                      in.variable.defined() ? builder::describe(in.variable) : in.name));
    const std::vector<Variable> parts = in.variable.defined() ? state.parts_of(in.variable) : std::vector<Variable>();
    shown.push_back({in.name.empty() && in.variable.defined() ? in.variable.name() : in.name, parts.size()});
    if (parts.empty()) all.push_back(in);
    for (std::size_t shard = 0; shard < parts.size(); ++shard) {
      In& part = all.emplace_back(in);
      part.variable = parts[shard];
      if (!in.name.empty() && parts.size() > 1) part.name = fmt::format("{}/{}", in.name, shard);
    }
  }
  return {croton::function(all, outputs, std::move(options), where), std::move(shown)};
}

Outputs DistributedFunction::call(const std::vector<DistributedArgument>& arguments) const {
  if (arguments.size() != inputs_.size())
    throw TypeError(
        fmt::format("{}: {} argument(s), where it takes {}", function_.name(), arguments.size(), inputs_.size()));
  std::vector<Argument> all;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& [name, shards] = inputs_[i];
    if (arguments[i].whole()) {
      all.insert(all.end(), std::max<std::size_t>(shards, 1), *arguments[i].whole());
      continue;
    }
    const std::vector<Array>& parts = arguments[i].parts();
    if (shards == 0)
      throw TypeError(
          fmt::format("{}: {} is not an input of the steps: it takes one value, not parts", function_.name(), name));
    if (parts.size() != shards)
      throw ValueError(
          fmt::format("{}: {} parts of {}, where there are {} shards", function_.name(), parts.size(), name, shards));
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return function_.call(all);
}

// ---- parallel models ----

Model multi_gpu_model(const Model& model, const std::vector<std::string>& names, const MirroredOptions& options) {
  const std::vector<std::string> all = names_of(devices());
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (std::ranges::find(all, base::parse_device(name).to_string()) == all.end()) unknown.push_back(name);
  }
  if (names.size() < 2 || !unknown.empty())
    throw ValueError(fmt::format("multi_gpu_model: {}; it takes two or more of these devices: {}",
                                 unknown.empty() ? fmt::format("{} device(s)", names.size())
                                                 : fmt::format("there is no {}", fmt::join(unknown, ", ")),
                                 fmt::join(all, ", ")));
  return model.with_strategy(MirroredStrategy(names, options));
}

Model multi_gpu_model(const Model& model, const std::vector<int>& gpus, const MirroredOptions& options) {
  const char* kind = base::parse_device(workers()[0]).is_gpu() ? "cuda" : "cpu";
  std::vector<std::string> names;
  for (const int gpu : gpus) {
    if (gpu < 0) throw ValueError(fmt::format("multi_gpu_model: a device of number {}", gpu));
    names.push_back(fmt::format("{}{}", kind, gpu));
  }
  return multi_gpu_model(model, names, options);
}

Model multi_gpu_model(const Model& model, int gpus, const MirroredOptions& options) {
  const std::vector<std::string> all = workers();
  if (gpus < 2 || std::cmp_greater(gpus, all.size()))
    throw ValueError(
        fmt::format("multi_gpu_model: {} devices; it takes 2 or more, and there {} {}: {} (logical_devices=cpu:{} "
                    "makes parts of the host)",
                    gpus, all.size() == 1 ? "is" : "are", all.size(), fmt::join(all, ", "), std::max(gpus, 2)));
  return multi_gpu_model(model, std::vector<std::string>(all.begin(), all.begin() + gpus), options);
}

}  // namespace croton::nn

// Training on several devices at once, in the terms of TensorFlow's strategies: every device has a copy of each
// parameter and computes its part of a batch; gradients are added up, and each device makes the same step.
//
// A batch is cut along axis 0 into shards, neighbouring ones on one device. Numbers depend on how many shards there are
// and not on the devices: sums over shards are made in one order, statistics of batches are those of a shard, and a
// sample draws the random numbers of its place in the whole batch. So MirroredStrategy({"cuda0", "cuda1"}) and
// MirroredStrategy({"cpu"}, {.shards = 2}) differ in no bit where the devices compute alike.
#pragma once

#include <croton/device.hpp>
#include <croton/function.hpp>
#include <croton/nn/data.hpp>
#include <croton/nn/model.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace croton::nn {

enum class ReduceOp { sum, mean };

/// A value for each shard of a batch: variables while a step is built, arrays when it is called.
template <class T>
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<T> values) : values_(std::move(values)) {}
  const std::vector<T>& values() const { return values_; }
  const T& operator[](std::size_t shard) const { return values_.at(shard); }
  std::size_t size() const { return values_.size(); }

 private:
  std::vector<T> values_;
};

/// What a step is given: an input, of which each shard has its own; another variable, which all have; or values that a
/// step before gave.
using ReplicaArgument = std::variant<Variable, PerReplica<Variable>>;

/// A part of a batch for each shard; sizes differ by 1 at most.
struct DistributedBatch {
  std::vector<PerReplica<Array>> x, y;
  std::optional<PerReplica<Array>> weights = {};
  std::int64_t size() const;  ///< rows of all shards
};
/// Batches in parts, as Dataset has them whole.
class DistributedDataset {
 public:
  using Next = std::function<std::optional<DistributedBatch>()>;
  DistributedDataset(Dataset whole, std::size_t shards) : whole_(std::move(whole)), shards_(shards) {}
  Next begin(std::int64_t epoch = 0) const;
  std::optional<std::int64_t> batches() const { return whole_.batches(); }

 private:
  Dataset whole_;
  std::size_t shards_;
};

/// An argument of a function of a strategy: parts, one for each shard, or one value that all shards get whole.
class DistributedArgument {
 public:
  DistributedArgument(PerReplica<Array> parts) : parts_(parts.values()) {}
  template <class T>
    requires std::constructible_from<Argument, T&&> && (!std::same_as<std::remove_cvref_t<T>, DistributedArgument>)
  DistributedArgument(T&& whole) : whole_(std::forward<T>(whole)) {}
  const std::optional<Argument>& whole() const { return whole_; }
  const std::vector<Array>& parts() const { return parts_; }

 private:
  std::optional<Argument> whole_;
  std::vector<Array> parts_;
};

/// The steps of all shards, compiled as one function.
class DistributedFunction {
 public:
  /// Calls with the inputs in order. TypeError for parts where an input is not one of the shards', ValueError for
  /// another number of them.
  template <class... A>
  Outputs operator()(A&&... arguments) const {
    return call({DistributedArgument(std::forward<A>(arguments))...});
  }
  Outputs call(const std::vector<DistributedArgument>& arguments) const;
  /// The function itself, which takes the parts of each input one after another: for its plan, placement and kernels.
  const Function& function() const { return function_; }

  struct Input {
    std::string name;
    std::size_t shards = 0;  ///< how many arguments it is; 0: one, for something else than steps
  };
  DistributedFunction(Function function, std::vector<Input> inputs)
      : function_(std::move(function)), inputs_(std::move(inputs)) {}

 private:
  Function function_;
  std::vector<Input> inputs_;
};

struct MirroredOptions {
  std::optional<std::size_t> shards = {};  ///< of a batch; as many as devices unless given, and no fewer (ValueError)
  std::string main_device = {};            ///< where results are put together; empty: the first device
  /// Gradients of fewer bytes are sent together, up to so many; each larger one is sent as soon as it is there.
  std::size_t bucket_bytes = std::size_t{1} << 20;
};

/// Copies are the same strategy.
class MirroredStrategy {
 public:
  /// On all GPUs that can be seen (simulated ones where there are such), or on the host where there is none.
  MirroredStrategy();
  /// DeviceError, with those that there are, for another device; ValueError for none, or one twice.
  explicit MirroredStrategy(const std::vector<std::string>& devices, const MirroredOptions& options = {});

  class Scope;
  /// While it lives, shared variables that this thread makes without a target have a copy on each device, and models
  /// made or compiled by it learn by this strategy.
  [[nodiscard]] Scope scope() const;
  /// The one in whose scope this thread is.
  static std::optional<MirroredStrategy> current();

  const std::vector<std::string>& devices() const;
  const std::string& main_device() const;
  /// The number of shards.
  std::size_t num_replicas_in_sync() const;
  /// Of a shard.
  const std::string& device_of(std::size_t shard) const;

  /// An array in parts along axis 0, which share its memory.
  PerReplica<Array> split(const Array& batch) const;
  DistributedDataset distribute_dataset(const Dataset& batches) const;

  /// Builds a step once for each shard, in the scope of its device: `run(step, {x, y})`. Inputs of a function (`x`)
  /// become inputs of each shard, and the first of them that has axes says how many rows a shard has; other variables
  /// are the same for all. Optimizers that the step asks for updates
  /// (`apply_gradients`, `minimize`) get the gradients' sum over all shards: the updates become those of `function`,
  /// and the step gets none. What the step gives, for each shard; steps give a Variable, several, or nothing.
  template <class Step, std::size_t N>
  auto run(Step&& step, const ReplicaArgument (&arguments)[N]) const {
    return run_step(step, {arguments, arguments + N}, std::make_index_sequence<N>());
  }
  /// The same of a step that takes a list.
  PerReplica<std::vector<Variable>> run_list(
      const std::function<std::vector<Variable>(const std::vector<Variable>&)>& step,
      const std::vector<ReplicaArgument>& arguments) const;
  /// In a step: new values of running averages (CallContext::updates) of this shard, of which their mean by rows
  /// becomes an update.
  static void keep_averages(const Updates& updates);

  /// The values of all shards added up on the main device, or their mean, in which each shard counts alike. With axis 0
  /// over its rows too, the mean counting each row alike.
  Variable reduce(ReduceOp op, const PerReplica<Variable>& values, std::optional<int> axis = {}) const;
  /// The values of all shards one behind another along the axis, on the main device.
  Variable gather(const PerReplica<Variable>& values, int axis = 0) const;

  /// A function of the inputs that steps were built for. The updates of all steps that its outputs (or updates) come
  /// from are its own; those of a step without results become those of functions of its inputs that have no outputs.
  /// Inputs have no default values (ValueError). A strategy keeps the steps that were built by it as long as it lives.
  DistributedFunction function(const std::vector<In>& inputs, const OutputList& outputs, FunctionOptions options = {},
                               Where where = std::source_location::current()) const;

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit MirroredStrategy(std::shared_ptr<State> state) : state_(std::move(state)) {}

  template <class Step, std::size_t... I>
  auto run_step(Step&& step, const std::vector<ReplicaArgument>& arguments, std::index_sequence<I...>) const {
    using Result = std::remove_cvref_t<decltype(step((static_cast<void>(I), Variable())...))>;
    const PerReplica<std::vector<Variable>> results = run_list(
        [&step](const std::vector<Variable>& x) -> std::vector<Variable> {
          if constexpr (std::is_void_v<Result>) {
            step(x[I]...);
            return {};
          } else if constexpr (std::convertible_to<Result, Variable>) {
            return {step(x[I]...)};
          } else {
            return step(x[I]...);
          }
        },
        arguments);
    if constexpr (std::is_void_v<Result> || !std::convertible_to<Result, Variable>) {
      return results;
    } else {
      std::vector<Variable> single;
      single.reserve(results.size());
      for (const std::vector<Variable>& values : results.values()) single.push_back(values.at(0));
      return PerReplica<Variable>(std::move(single));
    }
  }

  std::shared_ptr<State> state_;
};

class MirroredStrategy::Scope {
 public:
  explicit Scope(const MirroredStrategy& strategy);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

/// The model with its weights, which learns and predicts on several devices: each takes its part of a batch. Without a
/// main device the host puts results together. On so many GPUs, or parts of the host (logical_devices=cpu:8) where
/// there is no GPU; by their numbers; or by names. ValueError, with the devices that there are, for fewer than 2 and
/// for more than there are.
Model multi_gpu_model(const Model& model, int gpus, const MirroredOptions& options = {.main_device = "cpu"});
Model multi_gpu_model(const Model& model, const std::vector<int>& gpus,
                      const MirroredOptions& options = {.main_device = "cpu"});
Model multi_gpu_model(const Model& model, const std::vector<std::string>& devices,
                      const MirroredOptions& options = {.main_device = "cpu"});

}  // namespace croton::nn

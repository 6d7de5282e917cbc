// Training on several devices at once, in the terms of TensorFlow's strategies: every device has a copy of each
// parameter and computes its part of a batch; gradients are added up, and each device makes the same step.
//
// A batch is split along axis 0 into shards, neighbouring ones on one device. Results depend on the number of shards
// and not on the devices: sums over shards have a fixed order, statistics of batches are those of a shard, and a sample
// draws the random numbers of its position in the whole batch. So MirroredStrategy({"cuda0", "cuda1"}) and
// MirroredStrategy({"cpu"}, {.shards = 2}) give the same bits if the devices compute alike.
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

/// An argument of a step: an input, of which each shard has its own part; another variable, the same for all shards; or
/// the results of an earlier step.
using ReplicaArgument = std::variant<Variable, PerReplica<Variable>>;

/// A batch in parts, one for each shard; sizes differ by at most 1.
struct DistributedBatch {
  std::vector<PerReplica<Array>> x, y;
  std::optional<PerReplica<Array>> weights = {};
  std::int64_t size() const;  ///< rows of all shards
};
/// A dataset whose batches are in parts.
class DistributedDataset {
 public:
  using Next = std::function<std::optional<DistributedBatch>()>;
  DistributedDataset(Dataset whole, std::size_t shards) : whole_(std::move(whole)), shards_(shards) {}
  Next begin(std::int64_t epoch = Dataset::default_epoch) const;
  std::optional<std::int64_t> batches() const { return whole_.batches(); }

 private:
  Dataset whole_;
  std::size_t shards_;
};

/// An argument of a function of a strategy: parts, one for each shard, or one value for all shards.
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
  /// Calls with the inputs in order. TypeError for parts if the input is not split, ValueError for a wrong number of
  /// parts.
  template <class... A>
  Outputs operator()(A&&... arguments) const {
    return call({DistributedArgument(std::forward<A>(arguments))...});
  }
  Outputs call(const std::vector<DistributedArgument>& arguments) const;
  /// The underlying function, whose arguments are the parts of each input in order: for its plan, placement and
  /// kernels.
  const Function& function() const { return function_; }

  struct Input {
    std::string name;
    std::size_t shards = 0;  ///< number of arguments; 0: one, for an input that steps do not use
  };
  DistributedFunction(Function function, std::vector<Input> inputs)
      : function_(std::move(function)), inputs_(std::move(inputs)) {}

 private:
  Function function_;
  std::vector<Input> inputs_;
};

struct MirroredOptions {
  std::optional<std::size_t> shards = {};  ///< of a batch; by default the number of devices, and not fewer (ValueError)
  std::string main_device = {};            ///< where results are combined; empty: the first device
  /// Smaller gradients are sent together, up to this number of bytes; a larger one is sent as soon as it is computed.
  std::size_t bucket_bytes = std::size_t{1} << 20;
};

/// Data-parallel training on several devices. Copies are the same strategy.
class MirroredStrategy {
 public:
  /// On all visible GPUs (simulated ones if there are any), or on the host if there is none.
  MirroredStrategy();
  /// DeviceError, with the available devices, for a missing device; ValueError for an empty list or a repeated device.
  explicit MirroredStrategy(const std::vector<std::string>& devices, const MirroredOptions& options = {});

  class Scope;
  static constexpr int default_gather_axis = 0;
  /// During its lifetime, shared variables that this thread makes without a target have a copy on each device, and
  /// models that it makes or compiles are trained with this strategy.
  [[nodiscard]] Scope scope() const;
  /// The strategy in whose scope this thread is.
  static std::optional<MirroredStrategy> current();

  const std::vector<std::string>& devices() const;
  const std::string& main_device() const;
  /// The number of shards.
  std::size_t num_replicas_in_sync() const;
  /// The device of a shard.
  const std::string& device_of(std::size_t shard) const;

  /// Splits an array along axis 0 into parts, which share its memory.
  PerReplica<Array> split(const Array& batch) const;
  DistributedDataset distribute_dataset(const Dataset& batches) const;

  /// Builds a step once for each shard, in the scope of its device: `run(step, {x, y})`. Inputs of a function (`x`)
  /// become inputs of each shard, and the first of them with axes determines the number of rows of a shard; other
  /// variables are the same for all. Optimizers that the step uses (`apply_gradients`, `minimize`) get the gradients'
  /// sum over all shards: the updates become those of `function`, and the step gets none. Returns the results of the
  /// step for each shard; steps return a Variable, several, or nothing.
  template <class Step, std::size_t N>
  auto run(Step&& step, const ReplicaArgument (&arguments)[N]) const {
    return run_step(step, {arguments, arguments + N}, std::make_index_sequence<N>());
  }
  /// The same for a step that takes a list.
  PerReplica<std::vector<Variable>> run_list(
      const std::function<std::vector<Variable>(const std::vector<Variable>&)>& step,
      const std::vector<ReplicaArgument>& arguments) const;
  /// In a step: new values of running averages (CallContext::updates) of this shard; their mean over shards, weighted
  /// by rows, becomes an update.
  static void keep_averages(const Updates& updates);

  /// The sum of the values of all shards on the main device, or their mean, where all shards have the same weight. With
  /// axis 0 also over rows; the mean then weights all rows equally.
  Variable reduce(ReduceOp op, const PerReplica<Variable>& values, std::optional<int> axis = {}) const;
  /// The values of all shards joined along the axis, on the main device.
  Variable gather(const PerReplica<Variable>& values, int axis = default_gather_axis) const;

  /// A function of the inputs for which steps were built. It has the updates of all steps on which its outputs (or
  /// updates) depend; those of a step without results belong to functions of its inputs without outputs. Inputs have no
  /// default values (ValueError). A strategy keeps its steps for its lifetime.
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

inline constexpr const char* default_multi_gpu_main_device = "cpu";
/// A model with the same weights that trains and predicts on several devices, each with its part of a batch. Without a
/// main device the host combines the results. The devices are a number of GPUs, or of parts of the host
/// (logical_devices=cpu:8) if there is no GPU; or are given by their numbers, or by names. ValueError, with the
/// available devices, for fewer than 2 and for too many.
Model multi_gpu_model(const Model& model, int gpus,
                      const MirroredOptions& options = {.main_device = default_multi_gpu_main_device});
Model multi_gpu_model(const Model& model, const std::vector<int>& gpus,
                      const MirroredOptions& options = {.main_device = default_multi_gpu_main_device});
Model multi_gpu_model(const Model& model, const std::vector<std::string>& devices,
                      const MirroredOptions& options = {.main_device = default_multi_gpu_main_device});

}  // namespace croton::nn

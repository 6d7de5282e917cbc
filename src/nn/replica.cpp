#include "nn/replica.hpp"

#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"

namespace croton::nn {
namespace {

thread_local Replica* innermost = nullptr;

class ReplicaScope {
 public:
  explicit ReplicaScope(Replica* replica) : outer_(std::exchange(innermost, replica)) {}
  ~ReplicaScope() { innermost = outer_; }
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;

 private:
  Replica* outer_;
};

/// The value with the parameter's present sizes stated: training does not change them.
Variable in_shape_of(const Variable& value, const SharedVariable& parameter) {
  builder::SharedState& state = *parameter.node()->shared;
  const std::shared_lock lock(state.mutex);
  if (value.rank() != parameter.rank()) return value;  // the optimizer raises the error
  const builder::OriginScope origin(value.where());
  std::vector<std::optional<Operand>> sizes;
  for (const std::int64_t size : state.value.shape()) sizes.emplace_back(Operand(size));
  return specify_shape(value, sizes);
}

/// ValueError unless all shards update the same variables in the same order.
void check_same_steps(const std::vector<Replica>& replicas) {
  const Replica& first = replicas[0];
  const auto same_step = [](const Replica::Step& a, const Replica::Step& b) {
    return a.optimizer.handle() == b.optimizer.handle() &&
           std::ranges::equal(a.gradients, b.gradients, [](const auto& x, const auto& y) {
             return x.second == y.second && x.first.defined() == y.first.defined();
           });
  };
  for (const Replica& other : replicas) {
    if (!std::ranges::equal(first.steps, other.steps, same_step) ||
        !std::ranges::equal(first.averages, other.averages,
                            [](const auto& a, const auto& b) { return a.first == b.first; }))
      throw ValueError(fmt::format(
          "the step of shard {} uses other optimizers, parameters or averages, or another order, than that of shard 0; "
          "a step of a strategy does the same for each shard, with optimizers that were made before it",
          other.shard));
  }
}

/// values(replica) for each shard.
template <class Values>
std::vector<std::vector<Variable>> by_shard(const std::vector<Replica>& replicas, Values values) {
  std::vector<std::vector<Variable>> all;
  all.reserve(replicas.size());
  for (const Replica& replica : replicas) all.push_back(values(replica));
  return all;
}

/// Appends the updates of the variables' copies on one device.
void update_on(const Shards& shards, std::size_t device, const Updates& updates, Updates& all) {
  for (const auto& [target, value] : updates) {
    all.emplace_back(builder::copy_at(target, shards.devices[device]), value);
  }
}

void mirror_all(const Shards& shards, const std::vector<SharedVariable>& variables) {
  if (shards.devices.size() < 2) return;
  for (const SharedVariable& variable : variables) builder::mirror(variable, shards.devices);
}

std::vector<std::string> names_of(const std::vector<SharedVariable>& variables) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const SharedVariable& v : variables) names.push_back(v.name().empty() ? builder::describe(v) : v.name());
  return names;
}

/// The rows of the shards; empty for a step without sharded inputs.
std::vector<Variable> rows_of(const std::vector<Replica>& replicas) {
  std::vector<Variable> rows;
  for (const Replica& replica : replicas) {
    if (replica.rows.defined()) rows.push_back(replica.rows);
  }
  return rows;
}

/// Appends one call of an optimizer: the sums of the gradients on every device, and the updates there.
void add_step(const Shards& shards, const std::vector<Replica>& replicas, std::size_t step, Updates& all) {
  const Replica::Step& first = replicas[0].steps[step];
  std::vector<SharedVariable> parameters;
  parameters.reserve(first.gradients.size());
  for (const auto& [gradient, parameter] : first.gradients) parameters.push_back(parameter);
  mirror_all(shards, parameters);
  const auto gradients = by_shard(replicas, [&](const Replica& replica) {
    const builder::PlaceScope place(shards.place(replica.shard));
    std::vector<Variable> values;
    for (const auto& [gradient, parameter] : replica.steps[step].gradients) {
      Variable& value = values.emplace_back(gradient);
      if (!gradient.defined() || shards.count() == 1) continue;
      value = in_shape_of(gradient, parameter);
    }
    return values;
  });
  const std::vector<std::vector<Variable>> sums =
      all_reduce({gradients, "gradients", names_of(parameters), rows_of(replicas)}, shards);
  std::vector<Variable> divisors;
  for (const Replica& replica : replicas) {
    if (replica.divisor.defined()) divisors.push_back(replica.divisor);
  }
  for (std::size_t device = 0; device < shards.devices.size(); ++device) {
    const builder::PlaceScope place(shards.devices[device]);
    std::vector<Variable> gradients_here = sums[device];
    if (!divisors.empty()) {
      const builder::OriginScope origin(divisors[0].where());
      const Variable divisor = ordered_sum(divisors, "what counts", shards, shards.devices[device]);
      const Variable least = maximum(divisor, builder::number(1, divisor));
      for (Variable& gradient : gradients_here) {
        if (gradient.defined()) gradient = gradient / cast(least, gradient.dtype());
      }
    }
    const Updates updates = first.optimizer.apply_gradients(zip(gradients_here, parameters));
    if (device == 0) mirror_all(shards, first.optimizer.variables());  // made by its first step
    update_on(shards, device, updates, all);
  }
}

/// Appends the averages: for floats their mean over the shards by rows, for other dtypes the first shard's value.
void add_averages(const Shards& shards, const std::vector<Replica>& replicas, Updates& all) {
  const Updates& first = replicas[0].averages;
  if (first.empty()) return;
  std::vector<SharedVariable> targets;
  for (const auto& [target, value] : first) targets.emplace_back(target.handle());
  mirror_all(shards, targets);
  const auto shares = by_shard(replicas, [&](const Replica& replica) {
    const builder::PlaceScope place(shards.place(replica.shard));
    std::vector<Variable> values;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const Variable& value = replica.averages[i].second;
      if (!is_float(value.dtype()) || !replica.rows.defined()) {
        values.emplace_back();
        continue;
      }
      const builder::OriginScope origin(value.where());
      values.push_back(in_shape_of(value * replica.share(value), targets[i]));
    }
    return values;
  });
  const std::vector<std::vector<Variable>> sums =
      all_reduce({shares, "means", names_of(targets), rows_of(replicas)}, shards);
  for (std::size_t device = 0; device < shards.devices.size(); ++device) {
    const builder::PlaceScope place(shards.devices[device]);
    Updates updates;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const Variable& sum = sums[device][i];
      if (sum.defined()) updates.emplace_back(first[i].first, cast(Operand(sum, sum.where()), first[i].first.dtype()));
    }
    update_on(shards, device, updates, all);
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!sums[0][i].defined()) all.push_back(first[i]);  // function() gives it to the copies
  }
}

}  // namespace

Replica* Replica::current() { return innermost; }

Variable Replica::share(const Variable& like) const {
  const Variable one = constant(Array(std::int64_t{1}));
  return cast(cast(rows, DType::float64) / cast(maximum(all_rows, one), DType::float64), like.dtype());
}

Variable Replica::or_zero(const Variable& x) const {
  return where(rows > constant(Array(std::int64_t{0})), x, builder::number(0, x));
}

std::pair<Variable, Variable> Replica::positions(const Variable& size) const {
  const Variable one = constant(Array(std::int64_t{1}));
  const Variable of_row = floor_divide(size, maximum(rows, one));
  return {first_row * of_row, all_rows * of_row};
}

ReplicatedStep replicated(const Shards& shards, const std::vector<Variable>& rows,
                          const std::function<std::vector<Variable>(std::size_t shard)>& build, bool is_users) {
  if (Replica::current() != nullptr) throw TypeError("a step of a strategy is built inside of another step");
  std::vector<Replica> replicas(shards.count());
  Variable before;
  for (std::size_t shard = 0; shard < shards.count(); ++shard) {
    replicas[shard].shard = shard;
    replicas[shard].is_users = is_users && shards.count() > 1;
    if (rows.empty()) continue;
    const Where where = rows[shard].where();
    replicas[shard].rows = rows[shard];
    replicas[shard].first_row = shard == 0 ? constant(Array(std::int64_t{0}), "", where) : before;
    before = shard == 0 ? rows[0] : Operand(before, where) + rows[shard];
  }
  ReplicatedStep result;
  for (Replica& replica : replicas) {
    if (!rows.empty()) replica.all_rows = before;
    const builder::PlaceScope place(shards.place(replica.shard));
    const ReplicaScope scope(&replica);
    result.results.push_back(build(replica.shard));
  }
  check_same_steps(replicas);
  for (std::size_t step = 0; step < replicas[0].steps.size(); ++step) add_step(shards, replicas, step, result.updates);
  add_averages(shards, replicas, result.updates);
  return result;
}

std::vector<std::int64_t> bounds_of(std::int64_t rows, std::size_t shards) {
  const auto count = static_cast<std::int64_t>(shards);
  std::vector<std::int64_t> bounds{0};
  for (std::int64_t shard = 0; shard < count; ++shard)
    bounds.push_back(bounds.back() + rows / count + (shard < rows % count ? 1 : 0));
  return bounds;
}

}  // namespace croton::nn

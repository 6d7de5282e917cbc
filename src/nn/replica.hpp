// Steps that are built once for each shard of a batch. While a step is built, its Replica collects the work that all
// shards do together, which is built after all of them.
#pragma once

#include <croton/nn/optimizers.hpp>
#include <croton/nn/strategy.hpp>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "nn/all_reduce.hpp"

namespace croton::nn {

class Replica {
 public:
  /// The replica whose step this thread builds; null outside of such steps.
  static Replica* current();

  std::size_t shard = 0;
  /// The rows (int64) of this shard, of the shards before it, and of all; empty for steps without sharded inputs.
  Variable rows, first_row, all_rows;

  /// Whether the step is one of the user's, in which a loss must not be a mean over the shard.
  bool is_users = false;
  /// The gradients' sum over all shards is divided by the sum of these scalars; empty: it is not divided.
  Variable divisor;

  /// A call of `Optimizer::apply_gradients`.
  struct Step {
    Optimizer optimizer;
    std::vector<std::pair<Variable, SharedVariable>> gradients;
  };
  std::vector<Step> steps;
  /// New values of statistics of batches, such as running averages; their mean over the shards, by rows, is stored.
  Updates averages;

  /// rows / all_rows in the dtype of `like`: 0 for a shard without rows.
  Variable share(const Variable& like) const;
  /// x, but 0 for a shard without rows, whose means are nan, as are gradients through them.
  Variable or_zero(const Variable& x) const;
  /// {begin, total} along axis 0 of the whole batch's value, of which the shard has `size` positions.
  std::pair<Variable, Variable> positions(const Variable& size) const;
};

/// A step that is built for all shards.
struct ReplicatedStep {
  std::vector<std::vector<Variable>> results;  // [shard][result]
  Updates updates;                             // of parameters, optimizers and averages, on all devices
};
/// Calls `build` for each shard, in the scope of its device. `rows` has the sizes of the shards, or is empty.
/// ValueError if shards do not use the same optimizers and parameters in the same order.
ReplicatedStep replicated(const Shards& shards, const std::vector<Variable>& rows,
                          const std::function<std::vector<Variable>(std::size_t shard)>& build, bool is_users = false);

/// The first row of each shard of `rows` rows, then the end of the last; sizes differ by at most 1, larger ones first.
std::vector<std::int64_t> bounds_of(std::int64_t rows, std::size_t shards);

/// The shards of the strategy whose scope is open in this thread, else one shard on any device.
Shards current_shards();
const Shards& shards_of(const MirroredStrategy& strategy);

}  // namespace croton::nn

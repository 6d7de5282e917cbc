// Steps that are built once for each shard of a batch. While one is built, what all shards have to do together is left
// with its Replica, and is built behind them all.
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
  /// The one whose step this thread builds; null outside of such steps.
  static Replica* current();

  std::size_t shard = 0;
  /// Rows (int64) of this shard, of those in front of it, and of all; empty where a step has no inputs by shards.
  Variable rows, first_row, all_rows;

  /// A step of the user's, in which a loss may not be a mean over the shard.
  bool is_users = false;
  /// What the gradients' sum over all shards is divided by is the sum of these (scalars); empty: nothing.
  Variable divisor;

  /// What `Optimizer::apply_gradients` was asked for.
  struct Step {
    Optimizer optimizer;
    std::vector<std::pair<Variable, SharedVariable>> gradients;
  };
  std::vector<Step> steps;
  /// New values of what is kept of batches, such as running averages: their mean by rows counts.
  Updates averages;

  /// rows / all_rows in the dtype of `like`: 0 for a shard without rows.
  Variable share(const Variable& like) const;
  /// x, but 0 for a shard without rows, whose means are nan, and so are gradients that go through them.
  Variable or_zero(const Variable& x) const;
  /// The positions of the shard's rows in a value that has `size` positions of axis 0 for them, counted in the whole
  /// batch: from where on, and how many the batch has.
  std::pair<Variable, Variable> positions(const Variable& size) const;
};

/// A step built for all shards.
struct ReplicatedStep {
  std::vector<std::vector<Variable>> results;  // [shard][result]
  Updates updates;                             // of parameters, optimizers and averages, on all devices
};
/// Calls `build` for each shard, in the scope of its device. `rows` has the sizes of the shards, or is empty.
/// ValueError where shards ask their optimizers for different things.
ReplicatedStep replicated(const Shards& shards, const std::vector<Variable>& rows,
                          const std::function<std::vector<Variable>(std::size_t shard)>& build, bool is_users = false);

/// Where of `rows` rows the shards begin, and where the last ends: sizes differ by 1 at most, larger ones first.
std::vector<std::int64_t> bounds_of(std::int64_t rows, std::size_t shards);

/// The shards of the strategy in whose scope this thread is, else one shard on any device.
Shards current_shards();
const Shards& shards_of(const MirroredStrategy& strategy);

}  // namespace croton::nn

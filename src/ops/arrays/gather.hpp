// Reads and writes at positions from integer arrays, for indexing by arrays, take and their gradients.
#pragma once

#include <croton/indexing.hpp>

#include "expr/arena.hpp"

#include <vector>

namespace croton::ops {

/// x[..., indices, ...]: indices[i] along axis axes[i] (increasing), broadcast together; their axes are inserted before
/// axis `at` of the other axes.
struct GatherPlan {
  expr::Ints axes;
  std::int64_t at = 0;
  IndexMode mode = IndexMode::raise;
  /// x is the result of the basic indices of the same x[...]: a write to the part writes to the variable below x.
  bool nested = false;
};
Variable gather(const Variable& x, const std::vector<Variable>& indices, const GatherPlan& plan, Where where);
/// The plan of a gather node.
GatherPlan plan_of(const expr::Attrs& attrs);

/// x with `y` (of the shape of the gather) written or added at the positions. For repeated positions all values are
/// added, or the last one is written.
Variable write_gathered(const Variable& x, const std::vector<Variable>& indices, const GatherPlan& plan,
                        const Variable& y, bool inc);

/// The indices as int64 positions from 0 to size - 1: wrapped, clipped or checked by mode (IndexError that names the
/// axis).
Variable normal_positions(const Variable& indices, const Variable& size, IndexMode mode, std::int64_t axis);

/// The message for a position outside of an axis; {} is the position, {size} the size of the axis.
std::string outside_message(std::int64_t axis);
/// The message with {size} replaced by a number, or by {e3}, a size that the launch fills in.
std::string name_size(std::string message, const expr::Arena& body, expr::NodeId size);
std::string name_size(std::string message, std::int64_t size);

}  // namespace croton::ops

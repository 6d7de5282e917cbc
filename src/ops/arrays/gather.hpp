// Reading at positions that integer arrays give, and writing there: what indexing by arrays, take and their gradients
// are made of.
#pragma once

#include <croton/indexing.hpp>

#include "expr/arena.hpp"

#include <vector>

namespace croton::ops {

/// x[..., indices, ...]: indices[i] along axis axes[i] (rising), all broadcast; their axes stand before axis `at` of
/// those that are left.
struct GatherPlan {
  expr::Ints axes;
  std::int64_t at = 0;
  IndexMode mode = IndexMode::raise;
  bool nested = false;  // x is itself made by the same x[...] of the user: writing to the part writes to what x is of
};
Variable gather(const Variable& x, const std::vector<Variable>& indices, const GatherPlan& plan, Where where);
/// The plan of a gather node.
GatherPlan plan_of(const expr::Attrs& attrs);

/// x with `y` (of the shape of the gather) written or added there. Positions that are named twice: all are added, the
/// last is written.
Variable write_gathered(const Variable& x, const std::vector<Variable>& indices, const GatherPlan& plan,
                        const Variable& y, bool inc);

/// int64 positions from 0 to size - 1: by mode wrapped, clipped or checked (IndexError that names the axis).
Variable normal_positions(const Variable& indices, const Variable& size, IndexMode mode, std::int64_t axis);

/// What a position outside an axis raises; {} is the position, {size} the axis's size.
std::string outside_message(std::int64_t axis);
/// The message with {size} filled in: a number, or {e3}, which stands for what the launch is given.
std::string name_size(std::string message, const expr::Arena& body, expr::NodeId size);
std::string name_size(std::string message, std::int64_t size);

}  // namespace croton::ops

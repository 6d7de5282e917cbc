// The part of an array that a subtensor reads or a set_subtensor writes, by axis.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// The index of one axis: a number or a slice.
struct Axis {
  bool index = false;
  std::optional<expr::NodeId> start = {}, stop = {};  // an index has its number in start
  std::int64_t step = 1;                              // 0: it is step_input
  std::optional<expr::NodeId> step_input = {};
  bool is_whole() const { return !index && !start && !stop && step == 1; }
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// The indices of a subtensor, subtensor_grad, set_subtensor or inc_subtensor, one for each axis of the array.
std::vector<Axis> axes_of(const expr::Arena& arena, expr::NodeId node);

/// Whether the indices cover all of an array of that shape.
bool cover_all(const expr::Arena& arena, std::span<const Axis> axes, std::span<const expr::NodeId> shape);

/// The inputs and the spec of x[axes]; the spec is empty if that is x.
std::pair<std::vector<expr::NodeId>, expr::Ints> subtensor_inputs(expr::NodeId x, std::span<const Axis> axes);

/// x[axes], which is x if all axes are whole.
expr::NodeId make_subtensor(Rewriter& rewriter, expr::NodeId x, std::span<const Axis> axes);

}  // namespace croton::rewrite

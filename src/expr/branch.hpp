// What a node of the op `branch` says: a result of one of two bodies, of which one alone runs. Inputs: the condition, a
// discrete scalar, and what the bodies capture; both bodies have an input for each capture and the same number of
// outputs. A node is the output `index` of whichever body runs; those of one branch have equal inputs and bodies.
#pragma once

#include "expr/body.hpp"

#include <vector>

namespace croton::expr {

struct Branch {
  /// Of a node's attributes and number of inputs; AttrFault where they do not fit together.
  Branch(const Attrs& attrs, std::size_t inputs);

  BodyPtr then, otherwise;
  std::size_t captures = 0, results = 0;
  std::size_t index = 0;

  static constexpr std::size_t condition_input = 0;
  static std::size_t capture_input(std::size_t k) { return 1 + k; }
  const BodyPtr& body(bool condition) const { return condition ? then : otherwise; }
};

Attrs branch_attrs(BodyPtr then, BodyPtr otherwise, std::size_t index);

}  // namespace croton::expr

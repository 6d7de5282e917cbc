// The attributes of a node of the op `branch`: a result of one of two bodies, of which only one runs. Inputs: the
// condition, a discrete scalar, and the captures of the bodies; both bodies have an input for each capture and the
// same number of outputs. A node is the output `index` of the body that runs; the nodes of one branch have equal
// inputs and bodies.
#pragma once

#include "expr/body.hpp"

#include <vector>

namespace croton::expr {

struct Branch {
  /// Reads a node's attributes and number of inputs; AttrFault if they are inconsistent.
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

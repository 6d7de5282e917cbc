// Stable forms, which grad differentiates instead of expressions of the user whose parts overflow.
#pragma once

#include <croton/variable.hpp>

#include "builder/node.hpp"

#include <vector>

namespace croton::builder {

struct StableForm {
  Variable function;  // not defined if the expression has no stable form
  /// If the user wrote a part twice: the nodes of both copies, of which one is skipped, and the nodes where they join.
  std::vector<const Node*> twins, ends;
};

/// The stable form of `y`, such as softmax(x) for exp(x) / sum(exp(x)): the same function, whose derivative is finite
/// where the derivative through the parts is not.
StableForm stable_form(const Variable& y);

/// Sets the function that finds stable forms, before the first node is made. It is in ops/, which knows the ops.
void set_stable_forms(StableForm (*find)(const Variable& y));

}  // namespace croton::builder

// What grad differentiates where the user wrote a stable function in parts that overflow.
#pragma once

#include <croton/variable.hpp>

#include "builder/node.hpp"

#include <vector>

namespace croton::builder {

struct StableForm {
  Variable function;  // not defined where the expression is no such form
  /// What the user wrote twice: the nodes of either, of which one is passed over, and where they meet again.
  std::vector<const Node*> twins, ends;
};

/// softmax(x) where `y` is exp(x) / sum(exp(x)), and the like: the same function, whose derivative is finite where that
/// by way of the parts is not. Defined in ops/, which knows the functions.
StableForm stable_form(const Variable& y);

}  // namespace croton::builder

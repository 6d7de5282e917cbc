// Copies of the user's graph with some variables replaced.
#pragma once

#include "builder/node.hpp"

#include <unordered_map>

namespace croton::builder {

/// The replacement of each variable.
using Replacements = std::unordered_map<const Node*, Variable>;

/// `outputs` after the replacements: nodes that depend on a replaced variable are copied, with their names, lines and
/// places; the other nodes are shared. Iterative.
std::vector<Variable> clone(const std::vector<Variable>& outputs, const Replacements& replace);

/// A free variable with the type, name and line of x.
Variable placeholder(const Variable& x);

}  // namespace croton::builder

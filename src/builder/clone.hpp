// Copies of the user's graph with some variables in the places of others.
#pragma once

#include "builder/node.hpp"

#include <unordered_map>

namespace croton::builder {

/// What stands in for a variable.
using Replacements = std::unordered_map<const Node*, Variable>;

/// `outputs` with the replacements made: what depends on one is built again, with the names, lines and places it had;
/// the rest is shared. Iterative.
std::vector<Variable> clone(const std::vector<Variable>& outputs, const Replacements& replace);

/// A free variable of the type, name and line of x.
Variable stand_in(const Variable& x);

}  // namespace croton::builder

// The parts of the user's graph that only one side of an `ifelse` needs. They are not computed if the other side
// is chosen.
#pragma once

#include "builder/node.hpp"
#include "expr/body.hpp"

#include <functional>
#include <map>
#include <unordered_set>
#include <vector>

namespace croton::builder {

/// The inputs of an ifelse node; all nodes of one application have the same.
std::vector<const Node*> application_of(const Node& node);

/// One application: the nodes that are computed for only one side, inputs first, and the bodies and captures that
/// import has made. Two applications of one condition may share nodes.
struct BranchParts {
  std::vector<const Node*> inside;
  expr::BodyPtr then, otherwise;
  std::vector<expr::NodeId> captures;
};

struct Branches {
  /// Branches inside a side of another one with the same condition, and the result by which that side replaces each.
  std::unordered_map<const Node*, Variable> replaced_by;
  std::unordered_set<const Node*> inside;  // of all branches, including nested ones
  std::map<std::vector<const Node*>, BranchParts> parts;
  BranchParts& of(const Node& node) { return parts.at(application_of(node)); }
};

/// The parts of a graph whose nodes are `all`, inputs first. Those of `kept` are needed unconditionally. `resolve`
/// returns the node that replaces a variable.
Branches find_branches(const std::vector<Node*>& all, const std::vector<const Node*>& kept,
                       const std::function<Node*(const Variable&)>& resolve);

}  // namespace croton::builder

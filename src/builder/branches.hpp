// Which parts of the user's graph only one side of an `ifelse` needs. They are not computed where the other is taken.
#pragma once

#include "builder/node.hpp"
#include "expr/body.hpp"

#include <functional>
#include <map>
#include <unordered_set>
#include <vector>

namespace croton::builder {

/// The inputs of the ifelse nodes of one application, which are equal.
std::vector<const Node*> application_of(const Node& node);

/// One application: the nodes that are computed for either side alone, inputs first, and what import has made of it.
/// Two applications of one condition may have nodes in common.
struct BranchParts {
  std::vector<const Node*> inside;
  expr::BodyPtr then, otherwise;
  std::vector<expr::NodeId> captures;
};

struct Branches {
  /// Branches inside a side of another one with the same condition are what that side takes of them.
  std::unordered_map<const Node*, Variable> taken;
  std::unordered_set<const Node*> inside;  // of any, those that lie in others included
  std::map<std::vector<const Node*>, BranchParts> parts;
  BranchParts& of(const Node& node) { return parts.at(application_of(node)); }
};

/// The parts of a graph whose nodes are `all`, inputs first. Those of `kept` are needed in any case. `resolve` says
/// which node stands where a variable is read.
Branches find_branches(const std::vector<Node*>& all, const std::vector<const Node*>& kept,
                       const std::function<Node*(const Variable&)>& resolve);

}  // namespace croton::builder

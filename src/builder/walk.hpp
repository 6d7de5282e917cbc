// The walk over the user's graph.
#pragma once

#include "builder/node.hpp"

#include <algorithm>
#include <unordered_set>

namespace croton::builder {

/// The nodes that `from` depend on and themselves, inputs first, as far as they are new to `seen` and `within` holds on
/// the way; what was met is put into `seen`. Iterative.
template <class Within>
std::vector<Node*> reachable(const std::vector<Variable>& from, std::unordered_set<const Node*>& seen, Within within) {
  std::vector<Node*> found, pending;
  const auto visit = [&](const Variable& v) {
    if (seen.insert(v.node()).second && within(*v.node())) pending.push_back(v.node());
  };
  for (const Variable& one : from) visit(one);
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    found.push_back(node);
    for (const Variable& input : node->inputs) visit(input);
  }
  // Serial numbers grow with every new node and a node's inputs exist before it, so sorting by them is enough.
  std::ranges::sort(found, {}, &Node::serial);
  return found;
}

}  // namespace croton::builder

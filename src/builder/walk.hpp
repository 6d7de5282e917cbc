// Traversal of the user's graph.
#pragma once

#include "builder/node.hpp"

#include <algorithm>
#include <unordered_set>

namespace croton::builder {

/// The nodes of `from` and the nodes that they depend on, inputs first. The traversal stops at nodes in `seen` or for
/// which `within` is false, and adds all visited nodes to `seen`. Iterative.
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
  // Every new node has a larger serial number, and a node's inputs exist before it, so sorting by serial numbers
  // is enough.
  std::ranges::sort(found, {}, &Node::serial);
  return found;
}

}  // namespace croton::builder

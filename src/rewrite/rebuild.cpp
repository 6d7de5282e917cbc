#include "rewrite/rebuild.hpp"

#include <algorithm>

namespace croton::rewrite {

using expr::NodeId;

bool has_node(const expr::Graph& graph, const std::function<bool(NodeId)>& matches) {
  for (NodeId id = 0; id < graph.arena.size(); ++id) {
    if (matches(id)) return true;
  }
  return false;
}

bool rebuild(expr::Graph& graph, const std::function<NodeId(NodeId, const std::vector<NodeId>&)>& make) {
  expr::Arena& arena = graph.arena;
  const std::vector<bool> needed = expr::reachable(graph);
  std::vector<NodeId> to(arena.size());
  bool changed = false;
  for (NodeId id = 0; id < to.size(); ++id) {
    to[id] = id;
    if (!needed[id] || arena.op(id).kind == expr::Kind::Leaf) continue;
    std::vector<NodeId> inputs;
    for (const NodeId input : arena.inputs(id)) inputs.push_back(to[input]);
    arena.set_origin(arena.origin_id(id));
    to[id] = make(id, inputs);
    if (to[id] == expr::no_node && std::ranges::equal(inputs, arena.inputs(id))) {
      to[id] = id;
    } else if (to[id] == expr::no_node) {
      const expr::Attrs attrs = arena.attrs(id);  // making a node may reallocate the arena
      to[id] = arena.make(arena.op(id), inputs, attrs, arena.node(id).place);
    }
    changed = changed || to[id] != id;
  }
  if (!changed) return false;
  for (NodeId& output : graph.outputs) output = to[output];
  for (expr::Update& update : graph.updates) update.value = to[update.value];
  arena.renew_requirements(to);
  return true;
}

}  // namespace croton::rewrite

#include "rewrite/rebuild.hpp"

#include <algorithm>

namespace croton::rewrite {

using expr::NodeId;

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
    if (to[id] == expr::no_node) {
      const bool moved = !std::ranges::equal(inputs, arena.inputs(id));
      const expr::Attrs attrs = arena.attrs(id);  // making a node may move those that are there
      to[id] = moved ? arena.make(arena.op(id), inputs, attrs, arena.node(id).place) : id;
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

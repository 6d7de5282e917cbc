#include "rewrite/bodies.hpp"

#include <utility>
#include <vector>

#include "expr/body.hpp"

namespace croton::rewrite {

using expr::BodyPtr;
using expr::NodeId;

void change_bodies(expr::Graph& graph, const std::function<expr::Graph(const expr::Graph&)>& change) {
  expr::Arena& arena = graph.arena;
  std::vector<std::pair<BodyPtr, BodyPtr>> changed;
  const auto new_body = [&](const BodyPtr& old) {
    for (const auto& [from, to] : changed) {
      if (expr::same(*from, *old)) return to;
    }
    changed.emplace_back(old, std::make_shared<const expr::Body>(change(old->graph())));
    return changed.back().second;
  };
  const auto count = static_cast<NodeId>(arena.size());
  NodeId first = 0;
  while (first < count && !expr::has_body(arena.op(first))) ++first;
  if (first == count) return;
  const std::vector<bool> needed = expr::reachable(graph);
  std::vector<NodeId> to(count);
  for (NodeId id = 0; id < count; ++id) {
    to[id] = id;
    if (!needed[id] || arena.op(id).kind == expr::Kind::Leaf) continue;
    std::vector<NodeId> inputs;
    bool moved = false;
    for (const NodeId input : arena.inputs(id)) {
      inputs.push_back(to[input]);
      moved = moved || to[input] != input;
    }
    const bool has_body = expr::has_body(arena.op(id));
    if (!moved && !has_body) continue;
    const expr::Attrs old = arena.attrs(id);
    expr::Attrs attrs = old;
    for (const auto& [name, value] : old.items()) {
      if (const auto* body = std::get_if<BodyPtr>(&value)) attrs.set(name, new_body(*body));
    }
    arena.set_origin(arena.origin_id(id));
    to[id] = arena.make(arena.op(id), inputs, attrs, arena.node(id).place);
  }
  if (changed.empty()) return;
  for (NodeId& output : graph.outputs) output = to[output];
  for (expr::Update& update : graph.updates) update.value = to[update.value];
  arena.renew_requirements(to);
}

}  // namespace croton::rewrite

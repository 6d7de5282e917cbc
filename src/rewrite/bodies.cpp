#include "rewrite/bodies.hpp"

#include <utility>
#include <vector>

#include "expr/body.hpp"
#include "rewrite/rebuild.hpp"

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
  if (!has_node(graph, [&](NodeId id) { return expr::has_body(arena.op(id)); })) return;
  rebuild(graph, [&](NodeId id, const std::vector<NodeId>& inputs) {
    if (!expr::has_body(arena.op(id))) return expr::no_node;
    const expr::Attrs old = arena.attrs(id);
    expr::Attrs attrs = old;
    for (const auto& [name, value] : old.items()) {
      if (const auto* body = std::get_if<BodyPtr>(&value)) attrs.set(name, new_body(*body));
    }
    return arena.make(arena.op(id), inputs, attrs, arena.node(id).place);
  });
}

}  // namespace croton::rewrite

#include "expr/body.hpp"

#include <algorithm>

#include "expr/print.hpp"

namespace croton::expr {

Body::Body(Graph graph, std::shared_ptr<const void> source)
    : graph_(std::move(graph)), source_(std::move(source)), text_(print(graph_)) {}

bool operator==(const Body& a, const Body& b) {
  // The text has only the first elements of long constants.
  return a.text_ == b.text_ && std::ranges::equal(a.graph_.constants, b.graph_.constants,
                                                  [](const Array& x, const Array& y) { return x.same_bits(y); });
}

std::vector<bool> computable_from_inputs(const Graph& graph) {
  const Arena& arena = graph.arena;
  std::vector<bool> found(arena.size(), false);
  for (NodeId id = 0; id < arena.size(); ++id) {
    const TensorType& type = arena.type(id);
    if (type.rank() != 0 || !is_discrete(type.dtype)) continue;
    const Op& op = arena.op(id);
    const auto inputs = arena.inputs(id);
    // Bounds of slices count from the end by size * (bound < 0).
    const bool integers = type.dtype == DType::int64 && (inputs.size() == 2 || op.is(Core::cast));
    const bool arithmetic = op.kind == Kind::Map && (integers || op.is(Core::lt));
    found[id] = op.is(Core::size, Core::input) || arena.scalar_value(id) ||
                (arithmetic && std::ranges::all_of(inputs, [&](NodeId input) { return found[input]; }));
  }
  return found;
}

std::uint64_t hash_of(const Body& body) { return std::hash<std::string>{}(body.text()); }
const std::string& text_of(const Body& body) { return body.text(); }
bool same(const Body& a, const Body& b) { return &a == &b || a == b; }

}  // namespace croton::expr

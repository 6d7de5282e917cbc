#include "expr/graph.hpp"

namespace croton::expr {

NodeId Graph::add_input(std::string name, const Type& type, Role role, Place place) {
  const std::size_t index = inputs.size();
  const TypeId size_type = arena.intern_type({DType::int64, {}});
  TensorType sized{type.dtype, {}};
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    const std::int64_t size = type.shape[axis];
    sized.shape.push_back(size != unknown_size
                              ? arena.integer(size)
                              : arena.make_typed(Core::size, {}, {{"input", index}, {"axis", axis}}, size_type));
  }
  const NodeId node = arena.make_typed(Core::input, {}, {{"index", index}}, arena.intern_type(sized), place);
  inputs.push_back({.name = std::move(name), .node = node, .role = role, .place = place});
  return node;
}

NodeId Graph::add_constant(const Array& value) {
  if (value.rank() == 0) {
    if (is_complex(value.dtype())) return arena.scalar(Scalar::of_complex(value.as_complex(0), value.dtype()));
    if (is_float(value.dtype())) return arena.scalar(Scalar::of_double(value.as_double(0), value.dtype()));
    return arena.scalar(Scalar::of_int(value.astype(DType::int64).item<std::int64_t>(), value.dtype()));
  }
  TensorType type{value.dtype(), {}};
  for (const std::int64_t size : value.shape()) type.shape.push_back(arena.integer(size));
  const std::size_t index = constants.size();
  constants.push_back(value);
  return arena.make_typed(Core::constant, {}, {{"index", index}}, arena.intern_type(type));
}

std::vector<NodeId> Graph::roots() const {
  std::vector<NodeId> all = outputs;
  for (const Update& update : updates) all.push_back(update.value);
  return all;
}

std::vector<bool> reachable(const Graph& graph) {
  const Arena& arena = graph.arena;
  std::vector<bool> needed(arena.size(), false);
  for (const NodeId root : graph.roots()) needed[root] = true;
  for (const Requirement& r : arena.requirements()) needed[r.left] = needed[r.right] = true;
  // Ids are topological, so one pass from the last to the first marks all needed nodes; sizes also come before
  // their users.
  for (NodeId id = arena.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const NodeId input : arena.inputs(id)) needed[input] = true;
    for (const NodeId dim : arena.type(id).shape) needed[arena.representative(dim)] = needed[dim] = true;
  }
  return needed;
}

std::vector<std::uint32_t> count_uses(const Graph& graph) {
  const Arena& arena = graph.arena;
  const std::vector<bool> needed = reachable(graph);
  std::vector<std::uint32_t> uses(arena.size(), 0);
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!needed[id]) continue;
    for (const NodeId input : arena.inputs(id)) ++uses[input];
  }
  for (const NodeId root : graph.roots()) ++uses[root];
  return uses;
}

}  // namespace croton::expr

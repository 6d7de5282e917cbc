#include "expr/verify.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include "expr/body.hpp"
#include "expr/print.hpp"

namespace croton::expr {
namespace {

std::string broken_by_leaf(const Graph& graph, NodeId id) {
  const Arena& arena = graph.arena;
  const Op& op = arena.op(id);
  const Attrs& attrs = arena.attrs(id);
  const auto below = [](std::int64_t k, std::size_t count) { return k >= 0 && k < static_cast<std::int64_t>(count); };
  if (op.is(Core::input)) {
    const std::int64_t index = attrs.integer("index");
    if (!below(index, graph.inputs.size()) || graph.inputs[static_cast<std::size_t>(index)].node != id)
      return "an input leaf is in the list of inputs";
  } else if (op.is(Core::constant)) {
    const std::int64_t index = attrs.integer("index");
    if (!below(index, graph.constants.size())) return "a constant leaf is in the list of constants";
    if (graph.constants[static_cast<std::size_t>(index)].dtype() != arena.type(id).dtype)
      return "a constant has its array's dtype";
  } else if (op.is(Core::size)) {
    const std::int64_t input = attrs.integer("input");
    if (!below(input, graph.inputs.size())) return "a size is of an input";
    if (!below(attrs.integer("axis"), arena.type(graph.inputs[static_cast<std::size_t>(input)].node).rank()))
      return "a size is of an axis of its input";
  } else if (!op.is(Core::const_)) {
    return fmt::format("a graph does not hold {}", op.name);
  }
  return "";
}

/// `scratch` is a copy of the graph's arena: type rules may add sizes.
std::string broken_by_type(const Arena& arena, Arena& scratch, NodeId id) {
  const std::vector<NodeId> inputs(arena.inputs(id).begin(), arena.inputs(id).end());
  const TensorType& stated = arena.type(id);
  try {
    const TensorType again = scratch.infer(arena.op(id), inputs, arena.attrs(id));
    if (again.dtype != stated.dtype || again.rank() != stated.rank()) {
      return fmt::format("a node has the type that its op's rule gives it ({}: {}, not {})", arena.op(id).name,
                         arena.type_text(id), type_text(scratch, again));
    }
    for (std::size_t axis = 0; axis < again.rank(); ++axis) {
      const auto was = arena.known(stated.shape[axis]), is = scratch.known(again.shape[axis]);
      if (was && is && *was != *is)
        return fmt::format("a node has the sizes that its op's rule gives it ({}: {} along axis {}, not {})",
                           arena.op(id).name, *was, axis, *is);
    }
  } catch (const Error& e) {
    return fmt::format("a node's type follows from its op's rule ({})", e.what());
  }
  return "";
}

std::string broken_by_node(const Graph& graph, Arena& scratch, NodeId id) {
  const Arena& arena = graph.arena;
  for (const NodeId input : arena.inputs(id)) {
    if (input >= id) return "the inputs of a node come before it";
  }
  for (const NodeId dim : arena.type(id).shape) {
    if (dim >= id) return "the sizes of a node come before it";
    if (arena.type(dim).dtype != DType::int64 || arena.type(dim).rank() != 0) return "a size is an int64 scalar";
    if (const auto number = arena.known(dim); number && *number < 0) return "a size is not negative";
  }
  const Op& op = arena.op(id);
  if (op.arity >= 0 && std::cmp_not_equal(arena.inputs(id).size(), op.arity))
    return fmt::format("{} has {} input(s)", op.name, op.arity);
  for (const auto& [name, value] : arena.attrs(id).items()) {
    const auto* body = std::get_if<BodyPtr>(&value);
    if (body == nullptr) continue;
    if (std::string promise = broken_promise((*body)->graph()); !promise.empty()) return promise;
  }
  return op.kind == Kind::Leaf ? broken_by_leaf(graph, id) : broken_by_type(arena, scratch, id);
}

std::string broken_by_update(const Graph& graph, const Update& update) {
  const Arena& arena = graph.arena;
  if (update.input >= graph.inputs.size() || graph.inputs[update.input].role != Role::shared)
    return "an update is of a shared input";
  const TensorType &variable = arena.type(graph.inputs[update.input].node), &value = arena.type(update.value);
  if (variable.dtype != value.dtype || variable.rank() != value.rank()) {
    return fmt::format("an update has its variable's type ({}: {}, not {})", graph.inputs[update.input].name,
                       type_text(arena, value), type_text(arena, variable));
  }
  return "";
}

}  // namespace

std::string broken_promise(const Graph& graph) {
  const Arena& arena = graph.arena;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const NodeId node = graph.inputs[i].node;
    if (node >= arena.size() || !arena.op(node).is(Core::input)) return "an input is an input leaf";
    if (std::cmp_not_equal(arena.attrs(node).integer("index"), i)) return "an input leaf knows its place in the list";
  }
  for (const NodeId root : graph.roots()) {
    if (root >= arena.size()) return "outputs and updates are nodes";
  }
  for (const Requirement& r : arena.requirements()) {
    if (r.left >= arena.size() || r.right >= arena.size()) return "requirements are of nodes";
  }
  const std::vector<bool> needed = reachable(graph);
  Arena scratch = arena;
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!needed[id]) continue;
    if (std::string promise = broken_by_node(graph, scratch, id); !promise.empty()) return promise;
  }
  for (const Update& update : graph.updates) {
    if (std::string promise = broken_by_update(graph, update); !promise.empty()) return promise;
  }
  return "";
}

void verify(const Graph& graph) {
  const std::string promise = broken_promise(graph);
  if (!promise.empty()) throw InternalError(fmt::format("a graph violates an invariant: {}", promise));
}

}  // namespace croton::expr

#include "runtime/bound/sizes.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/checked.hpp"
#include "base/shape.hpp"
#include "expr/evaluate.hpp"
#include "expr/requirement.hpp"

namespace croton::runtime {

using expr::Arena;

namespace {

/// Per input of the graph: whether it is among the nodes, or the nodes depend on its sizes or values.
std::vector<bool> inputs_of(const expr::Graph& graph, std::span<const NodeId> nodes) {
  const Arena& arena = graph.arena;
  std::vector<bool> seen(arena.size()), result(graph.inputs.size());
  std::vector<NodeId> pending(nodes.begin(), nodes.end());
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const expr::Op& op = arena.op(id);
    if (op.is(expr::Core::size)) result[arena.attrs(id).index("input")] = true;
    if (op.is(expr::Core::input)) result[arena.attrs(id).index("index")] = true;
    const auto inputs = arena.inputs(id);
    pending.insert(pending.end(), inputs.begin(), inputs.end());
  }
  return result;
}

}  // namespace

std::string describe_inputs(const Executable& executable, const CallArrays& arrays, std::span<const NodeId> of) {
  std::string text;
  const expr::Graph& graph = executable.program.graph;
  const std::vector<bool> is_involved = inputs_of(graph, of);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    // Shared variables are only described if the error is about them: a model has hundreds of parameters.
    if (executable.inputs[i].shared && !is_involved[i]) continue;
    const expr::GraphInput& input = graph.inputs[i];
    const Array& array = arrays.of(executable.inputs[i]);
    text += fmt::format(
        "{}{} is {} ({})", text.empty() ? "" : ", ", input.name.empty() ? "an unnamed input" : input.name,
        Type{array.dtype(), array.shape()}.to_string(), line_of({"", graph.arena.origin(input.node).where}));
  }
  return text;
}

namespace {

void find_size(const Executable& executable, const CallArrays& arrays, NodeId id, bool smallest, SizeTable& sizes) {
  const Arena& arena = executable.program.graph.arena;
  const expr::Op& op = arena.op(id);
  if (const auto value = arena.scalar_value(id)) return sizes.set(id, value->as_int());
  if (op.is(expr::Core::size)) {
    const InputRef input = executable.inputs[arena.attrs(id).index("input")];
    if (smallest && !input.shared) return sizes.set(id, 1);
    return sizes.set(id, arrays.of(input).shape()[arena.attrs(id).index("axis")]);
  }
  if (op.is(expr::Core::input)) {
    return sizes.set(id, arrays.number(executable.inputs[arena.attrs(id).index("index")]));
  }
  const DType dtype = arena.type(id).dtype;
  std::vector<expr::Scalar> operands;
  bool too_large = false;
  for (const NodeId input : arena.inputs(id)) {
    operands.push_back(expr::Scalar::of_int(sizes[input], arena.type(input).dtype));
    too_large = too_large || sizes.is_too_large(input);
  }
  too_large = too_large || !expr::is_exact(op, operands, dtype);
  sizes.set(id, expr::apply_map(op, operands, dtype).as_int(), too_large);
}

}  // namespace

void find_sizes(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment, SizeTable& sizes) {
  const fuse::HostValues& host = executable.program.host;
  sizes.resize(executable.program.graph.arena.size());
  for (NodeId id = 0; id < sizes.size(); ++id) {
    if (host.known[id] && host.known_from[id] == segment && !host.is_fresh(id))
      find_size(executable, arrays, id, false, sizes);
  }
}

SizeTable smallest_sizes(const Executable& executable, const CallArrays& arrays) {
  const fuse::HostValues& host = executable.program.host;
  SizeTable sizes(executable.program.graph.arena.size());
  for (NodeId id = 0; id < sizes.size(); ++id) {
    if (host.is_fresh(id))
      sizes.set(id, 1);
    else if (host.known[id])
      find_size(executable, arrays, id, true, sizes);
  }
  return sizes;
}

namespace {

void check_requirement(const Executable& executable, const CallArrays& arrays, const expr::Requirement& r,
                       const SizeTable& sizes) {
  const std::int64_t left = sizes[r.left], right = sizes[r.right];
  const bool too_large = sizes.is_too_large(r.left) || sizes.is_too_large(r.right);
  if (expr::is_satisfied(r, left, right, too_large)) return;
  const NodeId sides[] = {r.left, r.right};
  const Arena& arena = executable.program.graph.arena;
  expr::throw_unsatisfied(r, left, right, too_large, fmt::format(" ({})", line_of(arena.origin_of(r.origin))),
                          describe_inputs(executable, arrays, sides));
}

}  // namespace

std::optional<SizeTable> renumbered_sizes(const Executable& executable, const CallArrays& arrays,
                                          const SizeTable& before) {
  SizeTable sizes = before;
  const Numbered& numbered = executable.numbered;
  for (const NodeId id : numbered.nodes) find_size(executable, arrays, id, false, sizes);
  for (const NodeId id : numbered.sizes) {
    if (sizes[id] != before[id] || sizes.is_too_large(id)) return {};
  }
  for (const std::size_t r : numbered.requirements)
    check_requirement(executable, arrays, executable.program.graph.arena.requirements()[r], sizes);
  return sizes;
}

namespace {

/// Checks the sizes of a node of which at least one is new: they must be at least 0, and an index must be able to count
/// the bytes. (That covers kernels that store fewer elements, because they iterate over the elements of some node.)
template <class IsNew>
void check_shape(const Executable& executable, const CallArrays& arrays, NodeId id, const SizeTable& sizes,
                 const IsNew& is_new) {
  const Arena& arena = executable.program.graph.arena;
  const auto fail = [&](const std::string& what, std::span<const NodeId> of) {
    const std::string inputs = describe_inputs(executable, arrays, of);
    throw ShapeError(fmt::format("{} ({}): {}{}{}", arena.op(id).name, line_of(arena.origin(id)), what,
                                 inputs.empty() ? "" : "; ", inputs));
  };
  bool any_new = false, all_known = true;
  std::vector<NodeId> dims;
  for (const NodeId stated : arena.type(id).shape) dims.push_back(arena.representative(stated));
  for (const NodeId dim : dims) {
    all_known = all_known && executable.program.host.known[dim];
    if (!is_new(dim)) continue;
    any_new = true;
    if (sizes.is_too_large(dim)) fail("a size that is more than an index can count", {&dim, 1});
    if (sizes[dim] < 0) fail(fmt::format("a size of {}; sizes are at least 0", sizes[dim]), {&dim, 1});
  }
  if (!any_new || !all_known) return;
  std::optional<std::int64_t> bytes = static_cast<std::int64_t>(size_of(arena.type(id).dtype));
  for (const NodeId dim : dims)
    bytes = bytes ? base::checked_mul(*bytes, std::max<std::int64_t>(1, sizes[dim])) : bytes;
  if (bytes) return;
  Sizes shape;
  for (const NodeId dim : dims) shape.push_back(sizes[dim]);
  fail(fmt::format("an array of {} and shape {} has more bytes than an index can count", name_of(arena.type(id).dtype),
                   base::shape_text(shape)),
       dims);
}

}  // namespace

void check_requirements(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                        const SizeTable& sizes) {
  const Arena& arena = executable.program.graph.arena;
  const fuse::HostValues& host = executable.program.host;
  for (const expr::Requirement& r : arena.requirements()) {
    if (std::max(host.known_from[r.left], host.known_from[r.right]) == segment)
      check_requirement(executable, arrays, r, sizes);
  }
  // Stated and computed sizes must be valid, and reductions such as max need at least one element.
  const auto is_new = [&](NodeId dim) { return host.known[dim] && host.known_from[dim] == segment; };
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!executable.needed[id]) continue;
    check_shape(executable, arrays, id, sizes, is_new);
    const expr::Op& op = arena.op(id);
    if (op.reduce == nullptr || !op.reduce->needs_elements) continue;
    const auto& shape = arena.type(arena.input(id, 0)).shape;
    for (const std::int64_t axis : arena.attrs(id).ints("axes")) {
      const NodeId dim = arena.representative(shape[static_cast<std::size_t>(axis)]);
      if (is_new(dim) && sizes[dim] == 0) {
        throw ValueError(fmt::format("{} ({}): axis {} has no elements, and {} of nothing is not defined; {}", op.name,
                                     line_of(arena.origin(id)), axis, op.name,
                                     describe_inputs(executable, arrays, {&dim, 1})));
      }
    }
  }
}

}  // namespace croton::runtime

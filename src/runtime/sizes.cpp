#include "runtime/sizes.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "expr/evaluate.hpp"

namespace croton::runtime {

using expr::Arena;

namespace {

/// Which inputs of the graph are among the nodes, or have sizes or values that the nodes are computed from.
std::vector<bool> inputs_of(const expr::Graph& graph, std::span<const NodeId> nodes) {
  const Arena& arena = graph.arena;
  std::vector<bool> seen(arena.size()), result(graph.inputs.size());
  std::vector<NodeId> left(nodes.begin(), nodes.end());
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const std::string_view name = arena.op(id).name;
    if (name == "size") result[static_cast<std::size_t>(arena.attrs(id).integer("input"))] = true;
    if (name == "input") result[static_cast<std::size_t>(arena.attrs(id).integer("index"))] = true;
    const auto inputs = arena.inputs(id);
    left.insert(left.end(), inputs.begin(), inputs.end());
  }
  return result;
}

}  // namespace

std::string describe_inputs(const Executable& executable, const CallArrays& arrays, std::span<const NodeId> of) {
  std::string text;
  const expr::Graph& graph = executable.program.graph;
  const std::vector<bool> is_behind = inputs_of(graph, of);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    // Of what the call was not given only what the fault is about: a model has hundreds of parameters.
    if (executable.inputs[i].shared && !is_behind[i]) continue;
    const expr::GraphInput& input = graph.inputs[i];
    const Array& array = arrays.of(executable.inputs[i]);
    text += fmt::format(
        "{}{} is {} ({})", text.empty() ? "" : ", ", input.name.empty() ? "an unnamed input" : input.name,
        Type{array.dtype(), array.shape()}.to_string(), line_of({"", graph.arena.origin(input.node).where}));
  }
  return text;
}

namespace {

std::int64_t find_size(const Executable& executable, const CallArrays& arrays, NodeId id, bool smallest,
                       const SizeTable& sizes) {
  const Arena& arena = executable.program.graph.arena;
  const expr::Op& op = arena.op(id);
  if (const auto value = arena.scalar_value(id)) return value->as_int();
  if (op.name == "size") {
    const InputRef input = executable.inputs[static_cast<std::size_t>(arena.attrs(id).integer("input"))];
    if (smallest && !input.shared) return 1;
    return arrays.of(input).shape()[static_cast<std::size_t>(arena.attrs(id).integer("axis"))];
  }
  if (op.name == "input") {
    return arrays.number(executable.inputs[static_cast<std::size_t>(arena.attrs(id).integer("index"))]);
  }
  std::vector<expr::Scalar> operands;
  for (const NodeId input : arena.inputs(id))
    operands.push_back(expr::Scalar::of_int(sizes[input], arena.type(input).dtype));
  if (op.name == "mul" && arena.type(id).dtype == DType::int64) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(operands[0].cast(DType::int64).i, operands[1].cast(DType::int64).i, &product)) {
      throw ShapeError(fmt::format("{} times {} is more than an index can count ({}); {}", operands[0].i, operands[1].i,
                                   line_of(arena.origin(id)), describe_inputs(executable, arrays, {&id, 1})));
    }
    return product;
  }
  return expr::apply_map(op, operands, arena.type(id).dtype).as_int();
}

}  // namespace

void find_sizes(const Executable& executable, const CallArrays& arrays, int segment, SizeTable& sizes) {
  const fuse::HostValues& host = executable.program.host;
  sizes.resize(executable.program.graph.arena.size(), 0);
  for (NodeId id = 0; id < sizes.size(); ++id) {
    if (host.known[id] && host.known_from[id] == segment && !host.is_fresh(id))
      sizes[id] = find_size(executable, arrays, id, false, sizes);
  }
}

SizeTable smallest_sizes(const Executable& executable, const CallArrays& arrays) {
  const fuse::HostValues& host = executable.program.host;
  SizeTable sizes(executable.program.graph.arena.size(), 0);
  for (NodeId id = 0; id < sizes.size(); ++id) {
    if (host.known[id]) sizes[id] = host.is_fresh(id) ? 1 : find_size(executable, arrays, id, true, sizes);
  }
  return sizes;
}

namespace {

void check_requirement(const Executable& executable, const CallArrays& arrays, const expr::Requirement& r,
                       const SizeTable& sizes) {
  const Arena& arena = executable.program.graph.arena;
  const std::int64_t left = sizes[r.left], right = sizes[r.right];
  const NodeId sides[] = {r.left, r.right};
  if (r.kind == expr::Requirement::Kind::index) {
    if (left >= -right && left < right) return;
    throw IndexError(fmt::format("{}: index {} of an axis of size {} ({}); {}", r.why, left, right,
                                 line_of(arena.origin_of(r.origin)), describe_inputs(executable, arrays, sides)));
  }
  if (left == right) return;
  throw ShapeError(fmt::format("{}: {} is not {} ({}); {}", r.why, left, right, line_of(arena.origin_of(r.origin)),
                               describe_inputs(executable, arrays, sides)));
}

}  // namespace

std::optional<SizeTable> renumbered_sizes(const Executable& executable, const CallArrays& arrays,
                                          const SizeTable& before) {
  SizeTable sizes = before;
  const Numbered& numbered = executable.numbered;
  for (const NodeId id : numbered.nodes) sizes[id] = find_size(executable, arrays, id, false, sizes);
  for (const NodeId id : numbered.sizes) {
    if (sizes[id] != before[id]) return {};
  }
  for (const std::size_t r : numbered.requirements)
    check_requirement(executable, arrays, executable.program.graph.arena.requirements()[r], sizes);
  return sizes;
}

void check_requirements(const Executable& executable, const CallArrays& arrays, int segment, const SizeTable& sizes) {
  const Arena& arena = executable.program.graph.arena;
  const fuse::HostValues& host = executable.program.host;
  for (const expr::Requirement& r : arena.requirements()) {
    if (std::max(host.known_from[r.left], host.known_from[r.right]) == segment)
      check_requirement(executable, arrays, r, sizes);
  }
  // Sizes that types state or ops computed must be sizes; and what has no elements has no largest one.
  const auto is_new = [&](NodeId dim) { return host.known[dim] && host.known_from[dim] == segment; };
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!executable.needed[id]) continue;
    for (const NodeId stated : arena.type(id).shape) {
      const NodeId dim = arena.representative(stated);
      if (is_new(dim) && sizes[dim] < 0) {
        throw ShapeError(fmt::format("{} ({}): a size of {}; {}", arena.op(id).name, line_of(arena.origin(id)),
                                     sizes[dim], describe_inputs(executable, arrays, {&dim, 1})));
      }
    }
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

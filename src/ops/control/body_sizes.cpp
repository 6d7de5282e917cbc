#include "ops/control/body_sizes.hpp"

#include <fmt/format.h>

#include <utility>

namespace croton::ops {

using expr::Dim;
using expr::NodeId;

BodySizes::BodySizes(expr::InferContext& c, const expr::Graph& body, std::vector<BodyRead> reads)
    : c_(c), graph_(body), reads_(std::move(reads)), dims_(body.arena.size()) {
  bind_inputs();
  const std::vector<bool> found = expr::computable_from_inputs(graph_);
  for (NodeId id = 0; id < found.size(); ++id) {
    if (found[id]) dims_[id] = translated(id);
  }
}

void BodySizes::add_requirements() {
  for (const expr::Requirement& r : graph_.arena.requirements()) {
    const auto left = dims_[r.left], right = dims_[r.right];
    if (!left || !right) continue;
    if (r.kind == expr::Requirement::Kind::index)
      c_.require_index(*left, *right, r.why);
    else if (r.kind == expr::Requirement::Kind::number)
      c_.require_size(*left);
    else
      c_.require_equal(*left, *right, r.why);
  }
}

std::optional<Dim> BodySizes::of(NodeId size) const {
  const NodeId equal = graph_.arena.representative(size);
  return dims_[equal] ? dims_[equal] : dims_[size];
}

void BodySizes::bind_inputs() {
  for (std::size_t b = 0; b < graph_.inputs.size(); ++b) {
    const auto [input, axes_out] = reads_[b];
    const expr::InferredType& given = c_.inputs[input];
    const expr::TensorType& own = graph_.arena.type(graph_.inputs[b].node);
    if (given.dtype != own.dtype || given.shape.size() != own.rank() + axes_out)
      c_.type_error(fmt::format("input {} of the body is {}, which does not fit the value that it reads", b,
                                graph_.arena.type_text(graph_.inputs[b].node)));
    for (std::size_t axis = 0; axis < own.rank(); ++axis) {
      if (const auto stated = graph_.arena.known(own.shape[axis]))
        c_.require_equal(given.shape[axis + axes_out], c_.constant(*stated), "a size that the body states");
    }
  }
}

std::optional<Dim> BodySizes::translated(NodeId id) {
  const expr::Arena& arena = graph_.arena;
  if (const auto number = arena.scalar_value(id)) return c_.constant(number->as_int());
  const expr::Op& op = arena.op(id);
  const auto read = [&](std::string_view attribute) { return reads_[arena.attrs(id).index(attribute)]; };
  if (op.is(expr::Core::size)) {
    const auto [input, axes_out] = read("input");
    return c_.inputs[input].shape[arena.attrs(id).index("axis") + axes_out];
  }
  if (op.is(expr::Core::input)) {
    const auto [input, axes_out] = read("index");
    if (axes_out != 0) return std::nullopt;
    return c_.value_of(input);
  }
  const auto inputs = arena.inputs(id);
  if (op.is(expr::Core::cast)) return dims_[inputs[0]];
  if (!dims_[inputs[0]] || !dims_[inputs[1]]) return std::nullopt;
  return c_.apply(op.name, *dims_[inputs[0]], *dims_[inputs[1]]);
}

}  // namespace croton::ops

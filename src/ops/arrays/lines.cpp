#include "ops/arrays/lines.hpp"

#include <croton/ops.hpp>

#include <fmt/format.h>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/evaluate.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/scatter.hpp"
#include "ops/axes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using expr::ElementContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::NodeId;

// ---- pick: vector x, int64 positions ----

InferredType infer_pick(InferContext& c) {
  if (c.inputs[0].shape.size() != 1 || c.inputs[1].dtype != DType::int64 || c.inputs[1].shape.empty())
    c.type_error("a vector and an array of int64 positions are expected");
  return {c.inputs[0].dtype, c.inputs[1].shape};
}

NodeId pick_element(ElementContext& c) {
  const NodeId at = c.read(1, c.index);
  // A position that fails a check of the same kernel is read too: the check fails the call, but does not prevent the
  // read.
  const NodeId inside =
      c.body.make("and", {c.body.make("ge", {at, c.body.integer(0)}), c.body.make("lt", {at, c.input_shapes[0][0]})});
  return c.read_if(inside, 0, {at});
}

Array evaluate_pick(const EvaluateContext& c) {
  const auto at = c.inputs[1].data<std::int64_t>();
  std::vector<expr::Scalar> result(at.size(), expr::Scalar::of_int(0, DType::int64).cast(c.dtype));
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] >= 0 && at[i] < c.inputs[0].size()) result[i] = expr::element_of(c.inputs[0], at[i]);
  }
  return expr::array_of(result, c.dtype, c.shape);
}

std::vector<Variable> pick_gradient(const builder::GradientContext& c) {
  const Variable none = alloc(builder::scalar_constant(0, c.gradient.dtype()), {c.input(0).shape(0)});
  return {scatter(none, flatten(c.input(1)), flatten(c.gradient), true), {}};
}

/// Positions 0 ... size-1 along one of `rank` axes, broadcastable along the others.
Variable positions(const Variable& size, int rank, int axis) { return along_axis(arange(size), axis, rank); }

/// The C-order position in x of element (i0, ..., at, ...): `at` broadcasts along the axes of x.
Variable linear(const Variable& x, const Variable& at, int axis) {
  Variable position;
  for (int d = 0; d < x.rank(); ++d) {
    const Variable along = d == axis ? at : positions(x.shape(d), x.rank(), d);
    position = d == 0 ? along : position * x.shape(d) + along;
  }
  return position;
}

}  // namespace

std::size_t line_axis(const expr::InferContext& c, std::size_t input) {
  const std::int64_t axis = c.attrs.integer("axis");
  if (!base::is_index(axis, c.inputs[input].shape.size()))
    c.type_error(fmt::format("axis {} of {} dimension(s)", axis, c.inputs[input].shape.size()));
  return base::to_size(axis);
}

std::pair<Variable, int> flat_or_axis(const Operand& x, std::optional<int> axis, std::string_view op) {
  if (axis && x.variable.rank() > 0) return {x.variable, normal_axis(*axis, x.variable.rank(), op, x)};
  if (axis) normal_axes({*axis}, 0, op, x);  // throws
  return {x.variable.rank() == 1 ? x.variable : flatten(x), 0};
}

Variable pick(const Variable& x, const Variable& at) { return builder::apply("pick", {x, at}, {}, x.where()); }

Variable take_along(const Variable& x, const Variable& at, int axis) {
  return pick(flatten(x), linear(x, along_axis(at, axis, x.rank()), axis));
}

Variable take_in_lines(const Variable& x, const Variable& at, int axis) {
  return pick(flatten(x), linear(x, at, axis));
}

void register_lines(Registry& registry) {
  static const expr::Op op{.name = "pick",
                           .kind = expr::Kind::View,
                           .arity = 2,
                           .doc = "elements of a vector at positions; 0 for positions outside",
                           .infer = infer_pick,
                           .gradient = pick_gradient,
                           .evaluate = evaluate_pick,
                           .element = pick_element,
                           .values = 1,
                           .batch = batch_pick};
  registry.add(op);
}

}  // namespace croton::ops

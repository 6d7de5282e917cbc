// gather: elements at positions from integer arrays. Kernels read through it as through a view; each position is
// checked where it is used, and no read is out of bounds.
#include "ops/arrays/gather.hpp"

#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/array_bytes.hpp"
#include "base/index.hpp"
#include "base/shape.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/axes.hpp"
#include "expr/evaluate.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/arrays/scatter.hpp"
#include "ops/axes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::Arena;
using expr::Dim;
using expr::ElementContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::NodeId;

std::size_t block_rank(const auto& shapes) {  // of the inputs after the first
  std::size_t rank = 0;
  for (std::size_t i = 1; i < shapes.size(); ++i) rank = std::max(rank, shapes[i].size());
  return rank;
}

void check_plan(const InferContext& c, const GatherPlan& plan) {
  const std::int64_t rank = std::ssize(c.inputs[0].shape), count = std::ssize(plan.axes);
  if (count == 0 || c.inputs.size() != plan.axes.size() + 1) c.type_error("an index for each of the axes is expected");
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    if (plan.axes[i] < 0 || plan.axes[i] >= rank || (i > 0 && plan.axes[i] <= plan.axes[i - 1]))
      c.type_error("the axes are invalid");
    if (!is_integer(c.inputs[i + 1].dtype)) c.type_error("indices are integers");
  }
  if (plan.at < 0 || plan.at > rank - count) c.type_error("the position of the indices' axes is invalid");
}

/// The broadcast sizes of all indices, by the rule of elementwise ops.
std::vector<Dim> block_shape(InferContext& c) {
  std::size_t rank = 0;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) rank = std::max(rank, c.inputs[i].shape.size());
  std::vector<Dim> block;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::optional<Dim> size;
    for (std::size_t i = 1; i < c.inputs.size(); ++i) {
      const auto& shape = c.inputs[i].shape;
      if (axis + shape.size() < rank) continue;
      const Dim dim = shape[axis + shape.size() - rank];
      if (c.known(dim) == 1) continue;
      size = size ? c.require_equal(*size, dim, fmt::format("sizes along axis {} of the indices must be equal", axis))
                  : dim;
    }
    block.push_back(size ? *size : c.constant(1));
  }
  return block;
}

InferredType infer_gather(InferContext& c) {
  const GatherPlan plan = plan_of(c.attrs);
  check_plan(c, plan);
  const std::vector<Dim> block = block_shape(c);
  const std::vector<Dim>& sizes = c.inputs[0].shape;
  InferredType result{c.inputs[0].dtype, {}};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (!expr::contains(plan.axes, axis)) result.shape.push_back(sizes[axis]);
  }
  result.shape.insert(result.shape.begin() + plan.at, block.begin(), block.end());
  if (plan.mode == IndexMode::raise) return result;
  // An empty axis has no elements to take; only a gather of no elements is valid.
  Dim count = c.constant(1);
  for (const Dim size : block) count = c.apply("mul", count, size);
  const Dim none = c.apply("eq", count, c.constant(0));
  for (const std::int64_t axis : plan.axes) {
    const Dim size = base::nth(sizes, axis);
    c.require_index(c.constant(0), c.apply("maximum", size, c.apply("mul", none, c.constant(1))),
                    fmt::format("axis {} has no elements to take", axis));
  }
  return result;
}

/// The index of x that an element of the result reads, and the condition of the read (no_node: always).
struct ReadIndex {
  std::vector<NodeId> at;
  NodeId inside = expr::no_node;
};

ReadIndex read_index(ElementContext& c, const GatherPlan& plan) {
  Arena& body = c.body;
  const std::size_t block = block_rank(c.input_shapes), first = base::to_size(plan.at);
  ReadIndex place{std::vector<NodeId>(c.input_shapes[0].size(), expr::no_node)};
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const std::size_t axis = base::to_size(plan.axes[i]);
    const auto& shape = c.input_shapes[i + 1];
    std::vector<NodeId> index;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool one = body.known(shape[d]) == 1;
      index.push_back(one ? body.integer(0) : c.index[first + block - shape.size() + d]);
    }
    const NodeId given = body.cast(c.read(i + 1, index), DType::int64), size = c.input_shapes[0][axis];
    const NodeId zero = body.integer(0);
    NodeId& at = place.at[axis];
    // The index along an axis of the same size is always inside.
    const auto counted = std::ranges::find(c.index, given);
    if (given == zero ? body.known(size).value_or(0) > 0
                      : counted != c.index.end() && base::nth(c.shape, counted - c.index.begin()) == size) {
      at = given;
    } else if (plan.mode == IndexMode::wrap) {
      at = body.make("mod", {given, size});
    } else if (plan.mode == IndexMode::clip) {
      at = body.make("maximum",
                     {body.make("minimum", {given, body.size_arithmetic("sub", size, body.integer(1))}), zero});
    } else {
      at = body.make("where", {body.make("lt", {given, zero}), body.make("add", {given, size}), given});
      const NodeId inside = body.make("and", {body.make("ge", {at, zero}), body.make("lt", {at, size})});
      c.check(inside, given, name_size(outside_message(plan.axes[i]), body, size));
      place.inside = place.inside == expr::no_node ? inside : body.make("and", {place.inside, inside});
    }
  }
  std::size_t next = 0;
  for (NodeId& at : place.at) {
    if (next == first) next += block;
    if (at == expr::no_node) at = c.index[next++];
  }
  return place;
}

NodeId gather_element(ElementContext& c) {
  const ReadIndex place = read_index(c, plan_of(c.attrs));
  return place.inside == expr::no_node ? c.read(0, place.at) : c.read_if(place.inside, 0, place.at);
}

std::int64_t normal_position(std::int64_t given, std::int64_t size, const GatherPlan& plan, std::size_t i) {
  if (plan.mode == IndexMode::wrap) return expr::apply_integers(expr::op(expr::Core::mod), given, size);
  if (plan.mode == IndexMode::clip) return std::max<std::int64_t>(0, std::min(given, size - 1));
  const std::int64_t at = given < 0 ? given + size : given;
  if (at >= 0 && at < size) return at;
  throw IndexError(expr::fill_message(name_size(outside_message(plan.axes[i]), size), given));
}

Array evaluate_gather(const EvaluateContext& c) {
  const GatherPlan plan = plan_of(c.attrs);
  const Array& x = c.inputs[0];
  std::vector<Array> positions;
  std::size_t block = 0;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    positions.push_back(c.inputs[i].astype(DType::int64));
    block = std::max(block, c.inputs[i].shape().size());
  }
  Array result = Array::empty(c.dtype, c.shape);
  const std::size_t first = base::to_size(plan.at);
  const std::int64_t bytes = base::element_size(c.dtype);
  Sizes index(c.shape.size(), 0);
  for (std::int64_t n = 0; n < result.size(); ++n) {
    std::int64_t rest = n;
    for (std::size_t d = index.size(); d-- > 0; rest /= c.shape[d]) index[d] = rest % c.shape[d];
    std::int64_t at = 0;
    std::size_t next = 0, k = 0;
    for (std::size_t axis = 0; axis < x.shape().size(); ++axis) {
      if (next == first) next += block;
      std::int64_t position = 0;
      if (k < plan.axes.size() && std::cmp_equal(plan.axes[k], axis)) {
        const Array& p = positions[k];
        std::int64_t from = 0;
        for (std::size_t d = 0; d < p.shape().size(); ++d) {
          from = from * p.shape()[d] + (p.shape()[d] == 1 ? 0 : index[first + block - p.shape().size() + d]);
        }
        position = normal_position(base::nth(p.data<std::int64_t>(), from), x.shape()[axis], plan, k++);
      } else {
        position = index[next++];
      }
      at = at * x.shape()[axis] + position;
    }
    std::memcpy(base::writable_bytes_of(result) + n * bytes, base::bytes_of(x) + at * bytes, size_of(c.dtype));
  }
  return result;
}

std::vector<Variable> gather_gradient(const GradientContext& c) {
  std::vector<Variable> result(c.inputs.size());
  const std::vector<Variable> indices(c.inputs.begin() + 1, c.inputs.end());
  const Variable zeros = zeros_like(cast(c.input(0), c.gradient.dtype()));
  result[0] = write_gathered(zeros, indices, plan_of(c.node.attrs), c.gradient, true);
  return result;
}

}  // namespace

std::string outside_message(std::int64_t axis) {
  return fmt::format("index {{}} is out of bounds for axis {} of size {{size}}", axis);
}

std::string name_size(std::string message, std::int64_t size) {
  if (const auto hole = message.find("{size}"); hole != std::string::npos)
    message.replace(hole, 6, std::to_string(size));
  return message;
}

std::string name_size(std::string message, const Arena& body, NodeId size) {
  if (const auto number = body.known(size)) return name_size(std::move(message), *number);
  const auto hole = message.find("{size}");
  if (hole == std::string::npos || !body.op(size).is(expr::Core::extent)) return message;
  return message.replace(hole, 6, fmt::format("{{e{}}}", body.attrs(size).integer("k")));
}

GatherPlan plan_of(const expr::Attrs& attrs) {
  const std::int64_t mode = attrs.integer_or("mode", 0);
  return {attrs.ints("axes"), attrs.integer("at"), static_cast<IndexMode>(std::clamp<std::int64_t>(mode, 0, 2)),
          attrs.integer_or("nested", 0) != 0};
}

Variable gather(const Variable& x, const std::vector<Variable>& indices, const GatherPlan& plan, Where where) {
  std::vector<Variable> inputs{x};
  for (const Variable& index : indices) inputs.push_back(builder::as_index(index));
  expr::Attrs attrs{{"axes", plan.axes}, {"at", plan.at}};
  if (plan.mode != IndexMode::raise) attrs.set("mode", base::ordinal(plan.mode));
  if (plan.nested) attrs.set("nested", std::int64_t{1});
  return builder::apply("gather", inputs, attrs, where);
}

Variable normal_positions(const Variable& indices, const Variable& size, IndexMode mode, std::int64_t axis) {
  const Variable wide = whole_index(indices);
  if (mode == IndexMode::wrap) return wide % size;
  if (mode == IndexMode::clip) return maximum(minimum(wide, size - 1), 0);
  return builder::apply("checked_index", {wide, cast(size, DType::int64)},
                        {{"message", outside_message(axis)}, {"from_end", std::int64_t{1}}}, size.where());
}

Variable write_gathered(const Variable& x, const std::vector<Variable>& indices, const GatherPlan& plan,
                        const Variable& y, bool inc) {
  // Moves the indexed axes to the front and merges them; computes the positions along the merged axis.
  const int rank = x.rank(), count = base::to_int(plan.axes.size());
  std::vector<int> order(plan.axes.begin(), plan.axes.end());
  for (int axis = 0; axis < rank; ++axis) {
    if (!std::ranges::binary_search(plan.axes, axis)) order.push_back(axis);
  }
  const Variable front = transpose(x, order);
  std::vector<Operand> merged{-1}, apart;
  Variable positions, n = builder::scalar_constant(1, DType::int64);
  for (int axis = 0; axis < rank; ++axis) {
    apart.emplace_back(front.shape(axis));
    if (axis >= count) merged.emplace_back(front.shape(axis));
  }
  for (int i = 0; i < count; ++i) {
    const Variable size = front.shape(i);
    const Variable at = normal_positions(base::nth(indices, i), size, plan.mode, base::nth(plan.axes, i));
    positions = i == 0 ? at : positions * size + at;
    n = n * size;
  }
  merged[0] = n;
  // Moves the axes of the indices to the front of y and merges them. The number of rows is the size of the positions.
  const int block = positions.rank();
  std::vector<int> y_order = expr::axes_from(base::to_int(plan.at), block);
  for (int axis = 0; axis < y.rank(); ++axis) {
    if (axis < plan.at || axis >= plan.at + block) y_order.push_back(axis);
  }
  const Variable rows = transpose(y, y_order);
  std::vector<Operand> rows_shape{positions.size()};
  for (int axis = block; axis < y.rank(); ++axis) rows_shape.emplace_back(front.shape(axis - block + count));
  const Variable written =
      scatter(reshape(front, merged), reshape(positions, {positions.size()}), reshape(rows, rows_shape), inc);
  return transpose(reshape(written, apart), expr::inverse_order(order));
}

void register_gather(Registry& registry) {
  static const expr::Op op{.name = "gather",
                           .kind = expr::Kind::Gather,
                           .arity = -1,
                           .doc = "elements at the positions in integer arrays",
                           .infer = infer_gather,
                           .gradient = gather_gradient,
                           .evaluate = evaluate_gather,
                           .element = gather_element,
                           .batch = batch_gather};
  registry.add(op);
}

}  // namespace croton::ops

namespace croton {
namespace {

using builder::describe;

void demand_positions(std::string_view op, const Operand& x, const Operand& indices) {
  if (is_integer(indices.variable.dtype())) return;
  throw TypeError(fmt::format("{} ({}): {}: positions are integers, but {}", op, describe(x.where),
                              describe(x.variable), describe(indices.variable)));
}

}  // namespace

Variable take(Operand x, Operand indices, IndexMode mode) {
  const builder::OriginScope origin(x.where);
  return take(flatten(x), indices, 0, mode);
}

Variable take(Operand x, Operand indices, int axis, IndexMode mode) {
  const builder::OriginScope origin(x.where);
  demand_positions("take", x, indices);
  const int at = ops::normal_axis(axis, x.variable.rank(), "take", x);
  return ops::gather(x.variable, {indices.variable}, {.axes = {at}, .at = at, .mode = mode}, x.where);
}

Variable take_along_axis(Operand x, Operand indices, int axis) {
  const builder::OriginScope origin(x.where);
  demand_positions("take_along_axis", x, indices);
  const int rank = x.variable.rank();
  const int along = ops::normal_axis(axis, rank, "take_along_axis", x);
  if (indices.variable.rank() != rank) {
    throw TypeError(fmt::format("take_along_axis ({}): {}, {}: both must have the same number of dimensions",
                                describe(x.where), describe(x.variable), describe(indices.variable)));
  }
  ops::GatherPlan plan;
  std::vector<Variable> all;
  for (int d = 0; d < rank; ++d) {
    // An axis of x of size 1 is broadcast.
    const bool repeats = x.variable.type().broadcasts(d);
    plan.axes.push_back(d);
    if (d == along) {
      all.push_back(indices.variable);
    } else {
      const Variable count = arange(x.variable.shape(d));
      all.push_back(repeats ? builder::scalar_constant(0, DType::int64) : shape_padright(count, rank - 1 - d));
    }
  }
  return ops::gather(x.variable, all, plan, x.where);
}

Variable choose(Operand a, const std::vector<Variable>& choices, IndexMode mode) {
  const builder::OriginScope origin(a.where);
  demand_positions("choose", a, a);
  if (choices.empty())
    throw ValueError(
        fmt::format("choose ({}): {}: there is nothing to choose from", describe(a.where), describe(a.variable)));
  // Broadcasts all choices to one shape.
  Variable zero = zeros_like(cast(a, DType::bool_));
  for (const Variable& choice : choices) zero = zero & zeros_like(cast(choice, DType::bool_));
  std::vector<Operand> shape = builder::shape_of(zero);
  std::vector<Variable> whole;
  for (const Variable& choice : choices) whole.push_back(alloc(choice, shape));
  Variable at = alloc(a, shape);
  const Variable count = builder::scalar_constant(static_cast<double>(whole.size()), DType::int64);
  if (mode == IndexMode::raise) {
    const std::string message = "choose: {} is not a choice; there are {size}, counted from 0";
    at = builder::apply("checked_index", {at, count}, {{"message", message}}, a.where);
  } else {
    at = ops::normal_positions(at, count, mode, 0);
  }
  const Variable chosen = take_along_axis(stack(whole), expand_dims(at, 0), 0);
  return chosen[0];
}

}  // namespace croton

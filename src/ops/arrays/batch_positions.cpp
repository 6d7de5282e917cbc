// Batching rules of reads and writes at positions: positions that differ within the batch get one more index, the
// element of the batch.
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <algorithm>

#include "base/index.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/gather.hpp"
#include "ops/arrays/scatter.hpp"

namespace croton::ops {

using builder::BatchContext;
using builder::Batched;

namespace {

std::vector<int> moved(int rank, int from, int to) {
  std::vector<int> order;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != from) order.push_back(axis);
  }
  order.insert(order.begin() + to, from);
  return order;
}

/// The batch axis, followed by `rank` axes, of which `x` may lack the first ones.
Variable aligned(const Variable& x, int rank) {
  std::vector<int> pattern{0};
  for (int axis = x.rank(); axis < rank + 1; ++axis) pattern.push_back(broadcast_axis);
  for (int axis = 1; axis < x.rank(); ++axis) pattern.push_back(axis);
  return dimshuffle(x, pattern);
}

}  // namespace

Batched batch_gather(const BatchContext& c) {
  GatherPlan plan = plan_of(c.node.attrs);
  std::vector<Variable> indices(c.inputs.begin() + 1, c.inputs.end());
  const bool own_positions = std::ranges::find(c.batched.begin() + 1, c.batched.end(), true) != c.batched.end();
  const int at = base::to_int(plan.at);
  if (c.batched[0]) {
    for (std::int64_t& axis : plan.axes) ++axis;
  }
  if (!own_positions) {
    ++plan.at;
    return {gather(c.inputs[0], indices, plan, c.node.where)};
  }
  // The number of axes of the positions without the batch.
  const int block = base::to_int(c.node.type.rank() + indices.size() - c.node.inputs[0].type().rank());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (c.batched[i + 1]) indices[i] = aligned(indices[i], block);
  }
  if (!c.batched[0]) {
    const Variable result = gather(c.inputs[0], indices, plan, c.node.where);
    return {dimshuffle(result, moved(result.rank(), at, 0))};
  }
  indices.insert(indices.begin(), aligned(arange(c.size), block));
  plan.axes.insert(plan.axes.begin(), 0);
  plan.at = 0;
  // The result has the batch, the axes of the positions, then the others; the axes of the positions go back to their
  // place.
  const Variable result = gather(c.inputs[0], indices, plan, c.node.where);
  std::vector<int> order{0};
  for (int axis = 0; axis < at; ++axis) order.push_back(1 + block + axis);
  for (int axis = 0; axis < block; ++axis) order.push_back(1 + axis);
  for (int axis = 1 + block + at; axis < result.rank(); ++axis) order.push_back(axis);
  return {dimshuffle(result, order)};
}

Batched batch_pick(const BatchContext& c) {
  if (!c.batched[0]) return {builder::apply(*c.node.op, c.inputs, c.node.attrs, c.node.where)};
  const int block = base::to_int(c.node.type.rank());
  // Each vector is read at its own positions; outside of it the result is 0.
  const Variable &at = c.inputs[1], n = c.inputs[0].shape(1);
  const Variable positions = at + aligned(arange(c.size), block) * n;
  const Variable inside = (at >= 0) & (at < n);
  return {builder::apply(*c.node.op, {flatten(c.inputs[0]), where(inside, positions, -1)}, {}, c.node.where)};
}

Batched batch_scatter(const BatchContext& c) {
  // The inputs are x, idx, the order of idx, y.
  const bool inc = c.node.attrs.integer("inc") != 0;
  if (!c.batched[1]) {
    const Variable x = c.repeated(0), y = c.repeated(3);
    const Variable result = builder::apply(
        *c.node.op,
        {dimshuffle(x, moved(x.rank(), 0, 1)), c.inputs[1], c.inputs[2], dimshuffle(y, moved(y.rank(), 0, 1))},
        c.node.attrs, c.node.where);
    return {dimshuffle(result, moved(result.rank(), 1, 0))};
  }
  // The rows of the whole batch become one list of rows; a position outside of its element stays outside of the list.
  const Variable x = c.repeated(0), y = c.repeated(3), idx = c.inputs[1];
  const Variable rows = x.shape(1);
  const Variable inside = (idx >= 0) & (idx < rows);
  const Variable own = where(inside, idx + expand_dims(arange(c.size), 1) * rows, -1);
  const auto merged = [](const Variable& v) {
    std::vector<Operand> shape{v.shape(0) * v.shape(1)};
    for (int axis = 2; axis < v.rank(); ++axis) shape.emplace_back(v.shape(axis));
    return reshape(v, shape);
  };
  const Variable result = scatter(merged(x), flatten(own), merged(y), inc);
  return {reshape(result, builder::shape_of(x))};
}

}  // namespace croton::ops

#include "ops/arrays/batch_rules.hpp"

#include <croton/ops.hpp>

namespace croton::ops {

using builder::apply;
using builder::BatchContext;
using builder::Batched;

namespace {

/// Attributes of an indexing with one more first axis, which is read whole.
expr::Attrs with_whole_axis(const expr::Attrs& attrs) {
  expr::Attrs result = attrs;
  expr::Ints spec = attrs.ints("spec");
  spec.insert(spec.begin(), {1, 0, 0, 1});
  result.set("spec", spec);
  return result;
}

}  // namespace

Batched batch_dimshuffle(const BatchContext& c) {
  expr::Ints pattern{0};
  for (const std::int64_t axis : c.node.attrs.ints("pattern")) pattern.push_back(axis < 0 ? axis : axis + 1);
  return {apply(*c.node.op, c.inputs, {{"pattern", pattern}}, c.node.where)};
}

Batched batch_reshape(const BatchContext& c) {
  c.require_same(1, "a size");
  std::vector<Variable> inputs = c.inputs;
  inputs.insert(inputs.begin() + 1, c.size);
  return {apply(*c.node.op, inputs, {}, c.node.where)};
}

Batched batch_alloc(const BatchContext& c) {
  c.require_same(1, "a size");
  // The value's own axes stay aligned with the last ones.
  std::vector<int> pattern(c.node.type.rank() - c.node.inputs[0].type().rank() + 1, broadcast_axis);
  pattern[0] = 0;
  for (int axis = 1; axis < c.inputs[0].rank(); ++axis) pattern.push_back(axis);
  std::vector<Variable> inputs = c.inputs;
  inputs[0] = dimshuffle(inputs[0], pattern);
  inputs.insert(inputs.begin() + 1, c.size);
  return {apply(*c.node.op, inputs, {}, c.node.where)};
}

Batched batch_subtensor(const BatchContext& c) {
  c.require_same(1, "an index or bound");
  return {apply(*c.node.op, c.inputs, with_whole_axis(c.node.attrs), c.node.where)};
}

Batched batch_subtensor_grad(const BatchContext& c) {
  c.require_same(1, "a size, index or bound");
  expr::Attrs attrs = with_whole_axis(c.node.attrs);
  attrs.set("rank", attrs.integer("rank") + 1);
  std::vector<Variable> inputs = c.inputs;
  inputs.insert(inputs.begin() + 1, c.size);
  return {apply(*c.node.op, inputs, attrs, c.node.where)};
}

Batched batch_set_subtensor(const BatchContext& c) {
  c.require_same(2, "an index or bound");
  std::vector<Variable> inputs = c.inputs;
  inputs[0] = c.repeated(0);
  inputs[1] = c.repeated(1);
  return {apply(*c.node.op, inputs, with_whole_axis(c.node.attrs), c.node.where)};
}

Batched batch_specify_shape(const BatchContext& c) {
  c.require_same(1, "a size");
  expr::Attrs attrs = c.node.attrs;
  expr::Ints axes = attrs.ints("axes");
  for (std::int64_t& axis : axes) ++axis;
  attrs.set("axes", axes);
  return {apply(*c.node.op, c.inputs, attrs, c.node.where)};
}

Batched batch_shape_of(const BatchContext& c) {
  return {c.inputs[0].shape(c.node.attrs.axis() + 1, c.node.where), false};
}

Batched batch_arange(const BatchContext& c) {
  if (c.batched[0]) c.require_same(0, "the count");
  // start + step i, with start and step as columns if they have the batch axis.
  const auto column = [&](std::size_t i) { return c.batched[i] ? expand_dims(c.inputs[i], 1) : c.inputs[i]; };
  const Variable start = column(1), step = column(2);
  const Variable at = cast(arange(c.inputs[0]), c.node.type.dtype);
  return {start + step * at};
}

/// The size must be the same in the whole batch.
Batched batch_checked_index(const BatchContext& c) {
  c.require_same(1, "the size");
  return {apply(*c.node.op, c.inputs, c.node.attrs, c.node.where)};
}

}  // namespace croton::ops

#include "builder/batch.hpp"

#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/index.hpp"
#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"

namespace croton {
namespace builder {
namespace {

/// Operands of maps are aligned at their last axes, so the new axis is put before the missing ones.
Batched batch_map(const BatchContext& c) {
  std::vector<Variable> inputs = c.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int own = c.node.inputs[i].rank(), missing = base::to_int(c.node.type.rank()) - own;
    if (!c.batched[i] || missing == 0) continue;
    std::vector<int> pattern(base::to_size(missing + 1), broadcast_axis);
    pattern[0] = 0;
    for (int axis = 1; axis <= own; ++axis) pattern.push_back(axis);
    inputs[i] = dimshuffle(inputs[i], pattern);
  }
  return {apply(*c.node.op, inputs, c.node.attrs, c.node.where)};
}

Batched batch_reduce(const BatchContext& c) {
  expr::Attrs attrs = c.node.attrs;
  expr::Ints axes = attrs.ints("axes");
  for (std::int64_t& axis : axes) ++axis;
  attrs.set("axes", axes);
  return {apply(*c.node.op, c.inputs, attrs, c.node.where)};
}

Batched batch_node(const BatchContext& c) {
  const expr::Op& op = *c.node.op;
  if (op.batch != nullptr) return op.batch(c);
  switch (op.kind) {
    case expr::Kind::Map:
      return batch_map(c);
    case expr::Kind::Reduce:
      return batch_reduce(c);
    case expr::Kind::Transfer:
      return batch_each(c);
    default:
      throw NotImplementedError(
          fmt::format("{} ({}) has no rule for a batch of its inputs, which vectorize, jacobian and hessian need",
                      op.name, describe(c.node.where)));
  }
}

/// Builds the nodes that depend on replaced variables again.
class Vectorizer {
 public:
  Vectorizer(const std::vector<std::pair<Variable, Variable>>& replaced, Variable size) : size_(std::move(size)) {
    for (const auto& [old, with] : replaced) values_[old.node()] = {with, true};
  }

  void visit(Node* node) {
    if (values_.contains(node)) return;
    std::vector<Variable> inputs;
    std::vector<bool> batched;
    bool changed = false;
    for (const Variable& input : node->inputs) {
      const auto at = values_.find(input.node());
      changed = changed || at != values_.end();
      inputs.push_back(at != values_.end() ? at->second.value : input);
      batched.push_back(at != values_.end() && at->second.batched);
    }
    if (!changed) return;
    const OriginScope origin(node->where);
    const PlaceScope place(node->place);
    if (std::ranges::find(batched, true) == batched.end())
      values_[node] = {apply(*node->op, inputs, node->attrs, node->where), false};
    else
      values_[node] = batch_node({*node, inputs, batched, size_});
  }

  Variable result(const Variable& output) const {
    const auto at = values_.find(output.node());
    if (at != values_.end() && at->second.batched) return at->second.value;
    const Variable same = at == values_.end() ? output : at->second.value;
    std::vector<Operand> shape{size_};
    for (const Variable& size : same.shape()) shape.emplace_back(size);
    return alloc(same, shape);
  }

 private:
  Variable size_;
  std::unordered_map<const Node*, Batched> values_;
};

}  // namespace

Variable BatchContext::repeated(std::size_t input) const {
  const Variable& x = inputs[input];
  if (batched[input]) return x;
  std::vector<Operand> shape{size};
  for (const Variable& each : x.shape()) shape.emplace_back(each);
  return alloc(x, shape);
}

void BatchContext::require_same(std::size_t first, std::string_view what) const {
  for (std::size_t i = first; i < inputs.size(); ++i) {
    if (!batched[i]) continue;
    throw NotImplementedError(fmt::format("{} ({}): {} would differ along the batch: {}", node.op->name,
                                          describe(node.where), what, describe(node.inputs[i])));
  }
}

Batched batch_each(const BatchContext& c) {
  std::vector<Variable> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(c.repeated(i));
  return {apply(*c.node.op, inputs, c.node.attrs, c.node.where)};
}

Batched batch_along_axis(const BatchContext& c) {
  std::vector<Variable> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(c.repeated(i));
  expr::Attrs attrs = c.node.attrs;
  attrs.set("axis", attrs.integer("axis") + 1);
  return {apply(*c.node.op, inputs, attrs, c.node.where)};
}

}  // namespace builder

std::vector<Variable> vectorize(const std::vector<Variable>& outputs,
                                const std::vector<std::pair<Variable, Variable>>& batched, Where where) {
  const builder::OriginScope origin(where);
  const auto fail = [&](const Variable& old, const Variable& with, std::string_view message) {
    throw TypeError(fmt::format("vectorize ({}): {} for {}: {}", builder::describe(where), builder::describe(with),
                                builder::describe(old), message));
  };
  if (batched.empty())
    throw ValueError(
        fmt::format("vectorize ({}): no input is given as a batch; at least one is needed", builder::describe(where)));
  for (const auto& [old, with] : batched) {
    if (with.rank() != old.rank() + 1) fail(old, with, "a batch has one more axis, the first");
    if (with.dtype() != old.dtype()) fail(old, with, "a batch has the dtype of the variable that it replaces");
    for (int axis = 0; axis < old.rank(); ++axis) {
      if (old.type().broadcasts(axis) && !with.type().broadcasts(axis + 1))
        fail(old, with, fmt::format("axis {} must keep its stated size of 1", axis));
    }
  }
  // All batches have the size of the first.
  const Variable size = batched[0].second.shape(0);
  std::vector<std::pair<Variable, Variable>> replaced = batched;
  for (auto& [old, with] : replaced) {
    const expr::Attrs first{{"axes", expr::Ints{0}}, {"why", "vectorize: the batches must have one size"}};
    if (with.node() != batched[0].second.node())
      with = builder::apply(expr::Core::specify_shape, {with, size}, first, where);
  }
  builder::Vectorizer vectorizer(replaced, size);
  for (builder::Node* node : builder::topological_order(outputs)) vectorizer.visit(node);
  std::vector<Variable> results;
  for (const Variable& output : outputs) results.push_back(vectorizer.result(output));
  return results;
}

}  // namespace croton

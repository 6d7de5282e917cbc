#include "ops/custom_gradient.hpp"

#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;

/// Inputs: the output that the op returns, all outputs, all arguments. Attributes: the number of the output, the number
/// of outputs.
struct WithGradient : expr::Op {
  std::string graph_name;
  OpFromGraph::Gradient function;
};

std::vector<Variable> gradient(const GradientContext& c) {
  const auto& op = static_cast<const WithGradient&>(*c.node.op);
  const std::size_t which = c.node.attrs.index("output");
  const auto first_argument = c.inputs.begin() + 1 + c.node.attrs.integer("outputs");
  const std::vector<Variable> outputs(c.inputs.begin() + 1, first_argument);
  const std::vector<Variable> arguments(first_argument, c.inputs.end());
  // The function is linear in the gradients: the other outputs have their own identity ops.
  std::vector<Variable> gradients;
  for (const Variable& output : outputs) gradients.push_back(zeros_like(output));
  gradients[which] = c.gradient;
  const std::vector<Variable> parts = op.function(arguments, outputs, gradients);
  check_gradients(op.graph_name, c.node.where, arguments, parts, outputs[which]);
  std::vector<Variable> result(c.inputs.size());
  std::ranges::copy(parts, result.end() - std::ssize(parts));
  return result;
}

/// In a batch the function is called for one element, and its result is vectorized.
builder::Batched batch(const builder::BatchContext& c) {
  const auto& op = static_cast<const WithGradient&>(*c.node.op);
  const std::size_t results = 1 + c.node.attrs.index("outputs");
  std::vector<Variable> inputs;
  std::vector<bool> batched;  // of the arguments
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(i < results ? c.repeated(i) : c.inputs[i]);
    if (i >= results) batched.push_back(c.batched[i]);
  }
  const auto of_batch = [function = op.function, batched](const std::vector<Variable>& arguments,
                                                          const std::vector<Variable>& outputs,
                                                          const std::vector<Variable>& gradients) {
    std::vector<std::pair<Variable, Variable>> stand_ins;
    const auto one_of = [&](const Variable& all) {
      Type type = all.type();
      type.shape.erase(type.shape.begin());
      stand_ins.emplace_back(variable(type), all);
      return stand_ins.back().first;
    };
    std::vector<Variable> own_arguments, own_outputs, own_gradients;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      own_arguments.push_back(batched[i] ? one_of(arguments[i]) : arguments[i]);
    for (const Variable& output : outputs) own_outputs.push_back(one_of(output));
    for (const Variable& gradient : gradients) own_gradients.push_back(one_of(gradient));
    std::vector<Variable> parts = function(own_arguments, own_outputs, own_gradients);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].defined()) continue;
      parts[i] = vectorize({parts[i]}, stand_ins)[0];
      if (i < batched.size() && !batched[i])
        parts[i] = sum(parts[i], 0);  // the argument is shared by all elements of the batch
    }
    return parts;
  };
  const std::shared_ptr<const expr::Op> carrier = gradient_carrier(of_batch, op.graph_name);
  const Variable value = builder::apply(*carrier, inputs, c.node.attrs, c.node.where);
  value.node()->own_op = carrier;
  return {value};
}

}  // namespace

void check_gradients(std::string_view name, Where where, std::span<const Variable> inputs,
                     std::span<const Variable> gradients, const Variable& result) {
  if (gradients.size() != inputs.size()) {
    throw ValueError(fmt::format("the gradient of {} ({}) gave {} variable(s) for {} input(s)", name,
                                 builder::describe(where), gradients.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Variable &input = inputs[i], &gradient = gradients[i];
    if (!gradient.defined()) continue;
    const auto given = [&] {
      return fmt::format("the gradient of {} ({}) by input {}: {}, but the gradient given for it: {}", name,
                         builder::describe(where), i, builder::describe(input), builder::describe(gradient));
    };
    const bool zero = gradient.rank() == 0 && gradient.is_constant() && gradient.node()->value.as_double(0) == 0;
    if (zero) continue;
    if (gradient.rank() > input.rank() && gradient.rank() == result.rank()) continue;
    if (gradient.rank() != input.rank()) {
      throw ValueError(fmt::format("{}; it must have {} dimension(s), not {}", given(), input.rank(), gradient.rank()));
    }
    for (std::size_t axis = 0; axis < input.type().rank(); ++axis) {
      const std::int64_t size = gradient.type().shape[axis], wanted = input.type().shape[axis];
      if (size == wanted || size == unknown_size || wanted == unknown_size || size == 1 || wanted == 1) continue;
      throw ShapeError(fmt::format("{}; axis {} must have size {}, not {}", given(), axis, wanted, size));
    }
  }
}

std::shared_ptr<const expr::Op> gradient_carrier(OpFromGraph::Gradient function, std::string name) {
  auto op = std::make_shared<WithGradient>();
  op->graph_name = std::move(name);
  op->function = std::move(function);
  op->name = "with_gradient";
  op->kind = expr::Kind::Expand;
  op->arity = -1;
  op->doc = "the first input, with a gradient of the user's";
  op->infer = [](expr::InferContext& c) { return c.inputs[0]; };
  op->gradient = gradient;
  op->expand = [](expr::Arena& arena, expr::NodeId node) { return arena.input(node, 0); };
  op->expand_at_import = true;
  op->takes_complex = true;
  op->batch = batch;
  return op;
}

std::vector<Variable> with_gradient(const std::vector<Variable>& results, const std::vector<Variable>& arguments,
                                    std::shared_ptr<const expr::Op> carrier, Where where) {
  std::vector<Variable> carried;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<Variable> inputs{results[i]};
    inputs.insert(inputs.end(), results.begin(), results.end());
    inputs.insert(inputs.end(), arguments.begin(), arguments.end());
    carried.push_back(builder::apply(*carrier, inputs, {{"output", i}, {"outputs", results.size()}}, where));
    carried.back().node()->own_op = carrier;
  }
  return carried;
}

}  // namespace croton::ops

// A graph as an operation. A call copies the graph; where it has a gradient of its own, each output goes through an
// identity that carries it, and that is gone when the graph is imported.
#include <croton/error.hpp>
#include <croton/op.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/clone.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"

namespace croton {
namespace {

using builder::GradientContext;

/// Inputs: the output that it passes on, all outputs, all arguments. Attributes: which output, how many there are.
struct WithGradient : expr::Op {
  std::string graph_name;
  OpFromGraph::Gradient function;
};

std::vector<Variable> gradient(const GradientContext& c) {
  const auto& op = static_cast<const WithGradient&>(*c.node.op);
  const auto which = static_cast<std::size_t>(c.node.attrs.integer("output"));
  const auto count = static_cast<std::ptrdiff_t>(c.node.attrs.integer("outputs"));
  const std::vector<Variable> outputs(c.inputs.begin() + 1, c.inputs.begin() + 1 + count);
  const std::vector<Variable> arguments(c.inputs.begin() + 1 + count, c.inputs.end());
  // The function is linear in the gradients: those of the other outputs come by their own identities.
  std::vector<Variable> gradients;
  for (const Variable& output : outputs) gradients.push_back(zeros_like(output));
  gradients[which] = c.gradient;
  const std::vector<Variable> parts = op.function(arguments, outputs, gradients);
  if (parts.size() != arguments.size()) {
    throw ValueError(fmt::format("the gradient of {} ({}) gave {} variable(s) for {} input(s)", op.graph_name,
                                 builder::describe(c.node.where), parts.size(), arguments.size()));
  }
  std::vector<Variable> result(c.inputs.size());
  std::ranges::copy(parts, result.begin() + 1 + count);
  return result;
}

std::shared_ptr<const expr::Op> identity_with(OpFromGraph::Gradient function, std::string name) {
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
  return op;
}

}  // namespace

OpFromGraph::OpFromGraph(std::vector<Variable> inputs, std::vector<Variable> outputs, Options options, Where where)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)), name_(std::move(options.name)) {
  const auto fail = [&](const std::string& message) {
    throw TypeError(fmt::format("OpFromGraph '{}' ({}): {}", name_, builder::describe(where), message));
  };
  if (outputs_.empty()) fail("no outputs are given");
  for (const Variable& output : outputs_) {
    if (!output.defined()) fail("an output is an empty Variable");
  }
  builder::Replacements seen;
  for (const Variable& input : inputs_) {
    if (!input.defined()) fail("an input is an empty Variable");
    if (input.node()->op->name != "input")
      fail(builder::describe(input) + ": inputs are variables made by matrix() and the like");
    if (!seen.emplace(input.node(), input).second) fail(builder::describe(input) + " stands twice among the inputs");
  }
  if (options.gradient) with_gradient_ = identity_with(std::move(options.gradient), name_);
}

std::vector<Variable> OpFromGraph::apply(const std::vector<Operand>& arguments) const {
  const Where where = arguments.empty() ? Where() : arguments[0].where;
  const auto fail = [&](const std::string& message) {
    throw TypeError(
        fmt::format("{} ({}): {}", name_.empty() ? "OpFromGraph" : name_, builder::describe(where), message));
  };
  if (arguments.size() != inputs_.size())
    fail(fmt::format("{} argument(s) are given, where {} are taken", arguments.size(), inputs_.size()));
  builder::Replacements replace;
  std::vector<Variable> given;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Variable& argument = arguments[i].variable;
    if (argument.dtype() != inputs_[i].dtype() || argument.rank() != inputs_[i].rank()) {
      fail(fmt::format("{} for {}: dtype and number of dimensions must agree", builder::describe(argument),
                       builder::describe(inputs_[i])));
    }
    replace[inputs_[i].node()] = argument;
    given.push_back(argument);
  }
  std::vector<Variable> outputs = builder::clone(outputs_, replace);
  if (!with_gradient_) return outputs;
  const std::vector<Variable> plain = outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<Variable> inputs{plain[i]};
    inputs.insert(inputs.end(), plain.begin(), plain.end());
    inputs.insert(inputs.end(), given.begin(), given.end());
    outputs[i] = builder::apply(
        *with_gradient_, inputs,
        {{"output", static_cast<std::int64_t>(i)}, {"outputs", static_cast<std::int64_t>(plain.size())}}, where);
    outputs[i].node()->own_op = with_gradient_;
  }
  return outputs;
}

Variable OpFromGraph::only(const std::vector<Variable>& outputs, Where where) {
  if (outputs.size() == 1) return outputs[0];
  throw TypeError(
      fmt::format("OpFromGraph ({}): {} outputs; `apply` gives them all", builder::describe(where), outputs.size()));
}

}  // namespace croton

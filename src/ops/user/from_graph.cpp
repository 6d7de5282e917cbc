// A graph as an operation: each call copies the graph.
#include <croton/error.hpp>
#include <croton/op.hpp>

#include <fmt/format.h>

#include "builder/clone.hpp"
#include "ops/custom_gradient.hpp"

namespace croton {

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
    if (!input.node()->op->is(expr::Core::input))
      fail(builder::describe(input) + ": inputs are variables made by matrix() and the like");
    if (!seen.emplace(input.node(), input).second) fail(builder::describe(input) + " is listed twice among the inputs");
  }
  if (options.gradient) with_gradient_ = ops::gradient_carrier(std::move(options.gradient), name_);
}

std::vector<Variable> OpFromGraph::apply(const std::vector<Operand>& arguments) const {
  const Where where = arguments.empty() ? Where() : arguments[0].where;
  const auto fail = [&](const std::string& message) {
    throw TypeError(
        fmt::format("{} ({}): {}", name_.empty() ? "OpFromGraph" : name_, builder::describe(where), message));
  };
  if (arguments.size() != inputs_.size())
    fail(fmt::format("{} argument(s) are given, where {} are expected", arguments.size(), inputs_.size()));
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
  const std::vector<Variable> outputs = builder::clone(outputs_, replace);
  return with_gradient_ ? ops::with_gradient(outputs, given, with_gradient_, where) : outputs;
}

Variable OpFromGraph::only(const std::vector<Variable>& outputs, Where where) {
  if (outputs.size() == 1) return outputs[0];
  throw TypeError(
      fmt::format("OpFromGraph ({}): {} outputs; `apply` gives them all", builder::describe(where), outputs.size()));
}

}  // namespace croton

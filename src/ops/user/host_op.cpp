// Functions of the user as operations. Each result of an application is a separate node, whose inputs are the arguments
// and its sizes, so that its type is inferred from them as for other ops.
#include <croton/error.hpp>
#include <croton/op.hpp>

#include <fmt/format.h>

#include <atomic>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/evaluate.hpp"
#include "ops/custom_gradient.hpp"
#include "ops/registry.hpp"
#include "ops/user/identifier.hpp"

namespace croton {
namespace {

using Definition = HostOp::Definition;

struct HostOperation : expr::Op {
  std::string own_name;
  expr::HostInfo facts;
  std::shared_ptr<const expr::Op> carrier;  // of the gradient
};

expr::InferredType infer(expr::InferContext& c) {
  expr::InferredType result{c.attrs.dtype("dtype"), {}};
  if (!base::is_index(c.attrs.integer("rank"), c.inputs.size() + 1)) c.type_error("there are fewer inputs than sizes");
  const std::size_t rank = c.attrs.index("rank");
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const expr::Dim size = c.value_of(c.inputs.size() - rank + axis);
    if (const auto number = c.known(size); number && *number < 0)
      c.shape_error(fmt::format("a size of {}; sizes are at least 0", *number));
    result.shape.push_back(size);
  }
  return result;
}

/// The reference evaluator calls this for each result.
Array evaluate(const expr::EvaluateContext& c) {
  std::vector<Array> arguments;
  for (std::size_t i = 0; i + c.shape.size() < c.inputs.size(); ++i) arguments.push_back(c.inputs[i].contiguous());
  return expr::host_result(*c.op, c.attrs, c.op->host->compute(arguments), c.dtype, c.shape, "");
}

}  // namespace

HostOp::HostOp(Definition definition, Where where) : definition_(std::make_shared<Definition>(std::move(definition))) {
  const auto fail = [&](std::string_view message) {
    throw ValueError(fmt::format("HostOp '{}' ({}): {}", definition_->name, builder::describe(where), message));
  };
  if (!ops::is_identifier(definition_->name)) fail("the name must be an identifier");
  if (!definition_->results) fail("`results`, which gives the types of the results, is missing");
  if (!definition_->compute) fail("`compute`, which gives the values, is missing");
  static std::atomic<int> count{0};
  auto& op = ops::new_user_op<HostOperation>();
  op.own_name = fmt::format("{}_h{}", definition_->name, ++count);
  op.name = op.own_name;
  op.kind = expr::Kind::Host;
  op.arity = -1;
  op.doc = "the user's";
  op.infer = infer;
  op.evaluate = evaluate;
  op.takes_complex = true;
  op.facts.compute = definition_->compute;
  op.host = &op.facts;
  if (definition_->gradient) op.carrier = ops::gradient_carrier(definition_->gradient, definition_->name);
  ops::Registry::add_user_op(op);
  op_ = &op;
}

std::vector<Variable> HostOp::apply(const std::vector<Operand>& arguments, Where where) const {
  std::vector<Variable> given;
  for (const Operand& argument : arguments) given.push_back(argument.variable);
  std::vector<Result> results;
  {
    const builder::OriginScope origin(where);  // of the sizes
    results = definition_->results(given);
  }
  if (results.empty())
    throw TypeError(fmt::format("{} ({}): `results` returned none", definition_->name, builder::describe(where)));
  static std::atomic<std::int64_t> applications{0};
  const std::int64_t application = definition_->pure ? 0 : ++applications;
  std::vector<Variable> made;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<Variable> inputs = given;
    for (const Operand& size : results[i].shape) {
      if (!is_discrete(size.variable.dtype()) || size.variable.rank() != 0) {
        throw TypeError(fmt::format("{} ({}): a size must be an integer scalar, but {}", definition_->name,
                                    builder::describe(where), builder::describe(size.variable)));
      }
      inputs.push_back(size.variable);
    }
    made.push_back(builder::apply(*op_, inputs,
                                  {{"application", application},
                                   {"dtype", results[i].dtype},
                                   {"output", i},
                                   {"outputs", results.size()},
                                   {"rank", results[i].shape.size()}},
                                  where));
  }
  const auto& carrier = static_cast<const HostOperation&>(*op_).carrier;
  return carrier ? ops::with_gradient(made, given, carrier, where) : made;
}

Variable HostOp::only(const std::vector<Variable>& results, Where where) {
  if (results.size() == 1) return results[0];
  throw TypeError(
      fmt::format("HostOp ({}): {} results; `apply` gives them all", builder::describe(where), results.size()));
}

}  // namespace croton

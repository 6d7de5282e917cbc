// Lazy branches. The builder has `ifelse`, whose inputs are the condition and the results of both sides; import
// converts it to a `branch` (expr/branch.hpp), whose bodies contain the nodes that only one side needs.
#include <croton/error.hpp>
#include <croton/ifelse.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "builder/node.hpp"
#include "expr/branch.hpp"
#include "expr/evaluate.hpp"
#include "ops/control/body_sizes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::describe;
using expr::Branch;
using expr::Dim;
using expr::InferContext;
using expr::InferredType;

/// a if the condition is 1, b if it is 0.
Dim chosen(InferContext& c, Dim condition, Dim a, Dim b) {
  if (a == b) return a;
  const auto x = c.known(a), y = c.known(b);
  if (x && y && *x == *y) return a;
  return c.apply("add", b, c.apply("mul", condition, c.apply("sub", a, b)));
}

InferredType infer_ifelse(InferContext& c) {
  const std::size_t count = (c.inputs.size() - 1) / 2, index = c.attrs.index("index");
  if (!c.inputs[0].shape.empty()) c.type_error("the condition must be a scalar");
  const InferredType &a = c.inputs[1 + index], &b = c.inputs[1 + count + index];
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size())
    c.type_error("both branches must have one dtype and number of dimensions; cast one of them");
  InferredType result{a.dtype, {}};
  for (std::size_t axis = 0; axis < a.shape.size(); ++axis) {
    if ((c.known(a.shape[axis]) == 1) != (c.known(b.shape[axis]) == 1))
      c.type_error(
          fmt::format("axis {} has the stated size 1 in only one branch; unbroadcast(x, {}) removes it", axis, axis));
    result.shape.push_back(chosen(c, c.value_of(0), a.shape[axis], b.shape[axis]));
  }
  return result;
}

InferredType infer_branch(InferContext& c) {
  const Branch branch(c.attrs, c.inputs.size());
  if (!c.inputs[0].shape.empty() || !is_discrete(c.inputs[0].dtype)) c.type_error("the condition is a discrete scalar");
  std::vector<BodyRead> reads;
  for (std::size_t k = 0; k < branch.captures; ++k) reads.push_back({Branch::capture_input(k)});
  InferredType result;
  std::vector<std::optional<Dim>> of_then;
  for (const bool condition : {true, false}) {
    const expr::Graph& graph = branch.body(condition)->graph();
    const BodySizes sizes(c, graph, reads);
    const expr::TensorType& type = graph.arena.type(graph.outputs[branch.index]);
    if (!condition && (type.dtype != result.dtype || type.rank() != of_then.size()))
      c.type_error("both bodies must give one dtype and number of dimensions");
    result.dtype = type.dtype;
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      const auto size = sizes.of(type.shape[axis]);
      if (!size) {
        c.shape_error(fmt::format("a branch gives {}, whose size is found by computing it; compute it outside",
                                  graph.arena.type_text(graph.outputs[branch.index])));
      }
      if (condition) {
        of_then.push_back(size);
      } else {
        result.shape.push_back(*of_then[axis] == *size ? *size : chosen(c, c.value_of(0), *of_then[axis], *size));
      }
    }
  }
  return result;
}

std::vector<Array> evaluate_body(const Branch& branch, const std::vector<Array>& inputs) {
  const std::vector<Array> captured(inputs.begin() + 1, inputs.end());
  return expr::evaluate(branch.body(inputs[0].as_double(0) != 0)->graph(), captured);
}
Array evaluate_branch(const expr::EvaluateContext& c) {
  const Branch branch(c.attrs, c.inputs.size());
  return evaluate_body(branch, c.inputs)[branch.index];
}

builder::Batched batch_ifelse(const builder::BatchContext& c) {
  if (c.batched[0])
    c.require_same(0, "the condition of ifelse, which selects one branch for all (where selects element by element),");
  std::vector<Variable> inputs{c.inputs[0]};
  for (std::size_t i = 1; i < c.inputs.size(); ++i) inputs.push_back(c.repeated(i));
  return {builder::apply(*c.node.op, inputs, c.node.attrs, c.node.where)};
}

}  // namespace

void register_branch(Registry& registry) {
  static const expr::Op ops[] = {{.name = "ifelse",
                                  .kind = expr::Kind::Branch,
                                  .arity = -1,
                                  .doc = "one of two variables; the other one is not computed",
                                  .infer = infer_ifelse,
                                  .takes_complex = true,
                                  .batch = batch_ifelse},
                                 {.name = "branch",
                                  .kind = expr::Kind::Branch,
                                  .arity = -1,
                                  .doc = "a result of one of two bodies; the other one does not run",
                                  .infer = infer_branch,
                                  .evaluate = evaluate_branch,
                                  .takes_complex = true}};
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops

namespace croton {

std::vector<Variable> ifelse(Operand condition, const std::vector<Variable>& then,
                             const std::vector<Variable>& otherwise) {
  const builder::OriginScope origin(condition.where);
  const auto where = builder::describe(condition.where);
  if (then.size() != otherwise.size() || then.empty()) {
    throw ValueError(fmt::format("ifelse ({}): {} variable(s) for one branch and {} for the other", where, then.size(),
                                 otherwise.size()));
  }
  if (condition.variable.rank() != 0 || is_complex(condition.variable.dtype())) {
    throw TypeError(
        fmt::format("ifelse ({}): {}: the condition must be a real scalar; where(condition, a, b) chooses "
                    "element by element",
                    where, builder::describe(condition.variable)));
  }
  std::vector<Variable> inputs{cast(neq(condition, 0), DType::int64)};
  inputs.insert(inputs.end(), then.begin(), then.end());
  inputs.insert(inputs.end(), otherwise.begin(), otherwise.end());
  std::vector<Variable> results;
  for (std::size_t i = 0; i < then.size(); ++i)
    results.push_back(builder::apply("ifelse", inputs, {{"index", i}}, condition.where));
  return results;
}

Variable ifelse(Operand condition, Operand then, Operand otherwise) {
  return ifelse(condition, std::vector{then.variable}, std::vector{otherwise.variable})[0];
}

}  // namespace croton

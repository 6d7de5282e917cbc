// Identity ops that change the gradient of their input. They are removed when a graph is compiled.
#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <cmath>

#include "base/config.hpp"
#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "ops/registry.hpp"

namespace croton {
namespace ops {
namespace {

using builder::GradientContext;

expr::Op mark(std::string_view name, std::string_view doc, decltype(expr::Op::gradient) gradient) {
  return {.name = name,
          .kind = expr::Kind::Expand,
          .doc = doc,
          .infer = [](expr::InferContext& c) { return c.inputs[0]; },
          .gradient = gradient,
          .expand = [](expr::Arena& arena, expr::NodeId node) { return arena.input(node, 0); },
          .evaluate = [](const expr::EvaluateContext& c) { return c.inputs[0]; },
          .expand_at_import = true,
          .batch = builder::batch_each};
}

std::vector<Variable> no_gradient(const GradientContext&) { return std::vector<Variable>(1); }
std::vector<Variable> zero_gradient(const GradientContext&) {
  return {builder::scalar_constant(0, base::config().float_x())};
}
std::vector<Variable> clipped_gradient(const GradientContext& c) {
  const auto bound = [&](std::string_view name) {
    return builder::scalar_constant(c.node.attrs.real(name), c.gradient.dtype());
  };
  return {clip(c.gradient, bound("low"), bound("high"))};
}
std::vector<Variable> scaled_gradient(const GradientContext& c) {
  return {c.gradient * builder::scalar_constant(c.node.attrs.real("factor"), c.gradient.dtype())};
}
std::vector<Variable> undefined_gradient(const GradientContext& c) {
  const std::string& reason = c.node.attrs.text("reason");
  throw NullTypeGradError(fmt::format("the gradient of {} is not defined ({}){}{}", builder::describe(c.input(0)),
                                      builder::describe(c.node.where), reason.empty() ? "" : ": ", reason));
}

}  // namespace

void register_gradient_marks(Registry& registry) {
  static const expr::Op ops[] = {
      mark("disconnected_grad", "x, which no gradient flows through", no_gradient),
      mark("zero_grad", "x, whose gradient is 0", zero_gradient),
      mark("grad_clip", "x, whose gradient is clipped", clipped_gradient),
      mark("grad_scale", "x, whose gradient is multiplied by a number", scaled_gradient),
      mark("undefined_grad", "x, whose gradient must not be used", undefined_gradient),
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace ops

Variable disconnected_grad(Operand x) { return builder::apply("disconnected_grad", {x.variable}, {}, x.where); }
Variable zero_grad(Operand x) { return builder::apply("zero_grad", {x.variable}, {}, x.where); }
Variable consider_constant(Operand x) { return zero_grad(x); }
Variable grad_clip(Operand x, double low, double high) {
  if (!(low <= high)) {
    throw ValueError(fmt::format("grad_clip ({}): {}: the bounds {} and {}; the first must not be above the second",
                                 builder::describe(x.where), builder::describe(x.variable), low, high));
  }
  return builder::apply("grad_clip", {x.variable}, {{"low", low}, {"high", high}}, x.where);
}
Variable grad_scale(Operand x, double factor) {
  return builder::apply("grad_scale", {x.variable}, {{"factor", factor}}, x.where);
}
Variable undefined_grad(Operand x, const std::string& reason) {
  return builder::apply("undefined_grad", {x.variable}, {{"reason", reason}}, x.where);
}

}  // namespace croton

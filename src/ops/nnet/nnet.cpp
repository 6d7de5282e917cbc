// Functions for networks. softmax, log_softmax, logsumexp and the cross-entropy of integer targets are Expand ops: the
// stability rules (rewrite/rules/stability.cpp) match them, then they are expanded to maps and reductions that fuse
// into row kernels.
#include <croton/nnet.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/axes.hpp"
#include "ops/axes.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/nnet/crossentropy.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::Arena;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::NodeId;

/// Short names for the nodes that expansions build.
struct Build {
  Arena& a;
  NodeId map(std::string_view op, NodeId x) { return a.make(op, {x}); }
  NodeId map(std::string_view op, NodeId x, NodeId y) { return a.make(op, {x, y}); }
  NodeId constant(double value, NodeId like) { return a.scalar(expr::Scalar::of_double(value, a.type(like).dtype)); }
  /// A reduction over one axis that keeps it with size 1.
  NodeId reduce(std::string_view op, NodeId x, std::int64_t axis) {
    const NodeId reduced = a.make(op, {x}, {{"axes", expr::Ints{axis}}});
    expr::Ints pattern;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < std::ssize(a.type(x).shape); ++i) pattern.push_back(i == axis ? -1 : next++);
    return a.make("dimshuffle", {reduced}, {{"pattern", pattern}});
  }
  NodeId drop(NodeId x, std::int64_t axis) {
    expr::Ints pattern = expr::all_axes(a.type(x).rank());
    std::erase(pattern, axis);
    return a.make("dimshuffle", {x}, {{"pattern", pattern}});
  }
  /// Whether the position along the last axis is the target, as bool of the shape of p. Targets outside fail the call.
  NodeId one_hot(NodeId target, NodeId p) {
    const std::int64_t rank = std::ssize(a.type(p).shape);
    const NodeId size = a.type(p).shape.back();
    const NodeId checked =
        a.make("checked_index", {target, size},
               {{"message", std::string("categorical_crossentropy: a target of {} is not a class; classes count from 0 "
                                        "to the size of the last axis less 1")}});
    expr::Ints pattern;
    for (std::int64_t i = 0; i + 1 < rank; ++i) pattern.push_back(i);
    pattern.push_back(-1);
    const NodeId column =
        a.make("dimshuffle", {a.make("cast", {checked}, {{"dtype", DType::int64}})}, {{"pattern", pattern}});
    const NodeId classes = a.make("arange", {size, a.integer(0), a.integer(1)});
    return a.make("eq", {column, classes});
  }
};

std::int64_t axis_of(const Arena& arena, NodeId node) { return arena.attrs(node).integer("axis"); }

InferredType infer_same(InferContext& c) {
  for (const InferredType& input : c.inputs) {
    if (!is_float(input.dtype)) c.type_error("floats are expected; cast integers first");
  }
  if (!base::is_index(c.attrs.integer("axis"), c.inputs[0].shape.size())) c.type_error("no such axis");
  return c.inputs[0];
}
InferredType infer_reduced(InferContext& c) {
  InferredType result = infer_same(c);
  result.shape.erase(result.shape.begin() + c.attrs.integer("axis"));
  return result;
}

// ---- expansions: the maximum is subtracted, so that the largest exponent is 0 ----

/// {x - max, log(sum(exp(x - max)))} with the axis kept.
std::pair<NodeId, NodeId> shifted(Build& b, NodeId x, std::int64_t axis) {
  const NodeId centred = b.map("sub", x, b.reduce("max_or_lowest", x, axis));
  return {centred, b.map("log", b.reduce("sum", b.map("exp", centred), axis))};
}

NodeId expand_softmax(Arena& arena, NodeId node) {
  Build b{arena};
  const NodeId x = arena.input(node, 0);
  const NodeId e = b.map("exp", b.map("sub", x, b.reduce("max_or_lowest", x, axis_of(arena, node))));
  // The sum is 1 or more, or nan: its reciprocal does not overflow, and a product for each element costs less than a
  // quotient.
  return b.map("mul", e, b.map("reciprocal", b.reduce("sum", e, axis_of(arena, node))));
}
NodeId expand_log_softmax(Arena& arena, NodeId node) {
  Build b{arena};
  const auto [centred, log_total] = shifted(b, arena.input(node, 0), axis_of(arena, node));
  return b.map("sub", centred, log_total);
}
NodeId expand_logsumexp(Arena& arena, NodeId node) {
  // A row of -inf, or with +inf, has no finite maximum: then the result is the maximum.
  Build b{arena};
  const NodeId x = arena.input(node, 0);
  const std::int64_t axis = axis_of(arena, node);
  const NodeId top = b.reduce("max_or_lowest", x, axis);
  const NodeId safe = arena.make("where", {b.map("isinf", top), b.constant(0, x), top});
  const NodeId total = b.map("log", b.reduce("sum", b.map("exp", b.map("sub", x, safe)), axis));
  return b.drop(b.map("add", total, safe), axis);
}
NodeId expand_softmax_grad(Arena& arena, NodeId node) {
  Build b{arena};
  const NodeId g = arena.input(node, 0), s = arena.input(node, 1);
  return b.map("mul", b.map("sub", g, b.reduce("sum", b.map("mul", g, s), axis_of(arena, node))), s);
}
NodeId expand_crossentropy(Arena& arena, NodeId node) {
  Build b{arena};
  const NodeId p = arena.input(node, 0);
  const std::int64_t axis = std::ssize(arena.type(p).shape) - 1;
  const NodeId chosen = arena.make("where", {b.one_hot(arena.input(node, 1), p), p, b.constant(0, p)});
  return b.map("neg", b.map("log", b.drop(b.reduce("sum", chosen, axis), axis)));
}
NodeId expand_crossentropy_grad(Arena& arena, NodeId node) {
  Build b{arena};
  const NodeId g = arena.input(node, 0), p = arena.input(node, 1);
  expr::Ints pattern = expr::all_axes(arena.type(g).rank());
  pattern.push_back(-1);
  const NodeId column = arena.make("dimshuffle", {g}, {{"pattern", pattern}});
  return arena.make(
      "where", {b.one_hot(arena.input(node, 2), p), b.map("neg", b.map("true_divide", column, p)), b.constant(0, p)});
}
/// logsumexp(z) - z[target], from logits.
NodeId expand_crossentropy_logits(Arena& arena, NodeId node) {
  Build b{arena};
  const NodeId z = arena.input(node, 0);
  const std::int64_t axis = std::ssize(arena.type(z).shape) - 1;
  const auto [centred, log_total] = shifted(b, z, axis);
  const NodeId chosen = arena.make("where", {b.one_hot(arena.input(node, 1), z), centred, b.constant(0, z)});
  return b.drop(b.map("sub", log_total, b.reduce("sum", chosen, axis)), axis);
}
NodeId expand_crossentropy_logits_grad(Arena& arena, NodeId node) {
  // g (softmax(z) - one_hot)
  Build b{arena};
  const NodeId g = arena.input(node, 0), z = arena.input(node, 1);
  const std::int64_t axis = std::ssize(arena.type(z).shape) - 1;
  expr::Ints pattern = expr::axes_from<std::int64_t>(0, axis);
  pattern.push_back(-1);
  const NodeId column = arena.make("dimshuffle", {g}, {{"pattern", pattern}});
  const NodeId s = expand_softmax(arena, arena.make("softmax", {z}, {{"axis", axis}}));
  const NodeId hot = arena.make("cast", {b.one_hot(arena.input(node, 2), z)}, {{"dtype", arena.type(z).dtype}});
  return b.map("mul", column, b.map("sub", s, hot));
}

InferredType infer_crossentropy(InferContext& c) {
  const bool grad = c.inputs.size() == 3;
  const InferredType &p = c.inputs[grad ? 1 : 0], &target = c.inputs[grad ? 2 : 1];
  if (!is_float(p.dtype) || p.shape.empty()) c.type_error("probabilities are floats with at least one axis");
  if (!is_integer(target.dtype)) c.type_error("integer targets are class numbers");
  if (target.shape.size() + 1 != p.shape.size()) c.type_error("one target for each row of probabilities");
  InferredType rows{p.dtype, {}};
  for (std::size_t axis = 0; axis < target.shape.size(); ++axis) {
    rows.shape.push_back(
        c.require_equal(p.shape[axis], target.shape[axis], "one target for each row of probabilities"));
  }
  return grad ? p : rows;
}

// ---- gradients ----

Variable softmax_grad(const Variable& g, const Variable& s, const builder::Node& of) {
  return builder::apply("softmax_grad", {g, s}, {{"axis", of.attrs.integer("axis")}}, of.where);
}
ReduceOptions along(const GradientContext& c) { return {std::vector<int>{c.node.attrs.axis()}, true}; }

std::vector<Variable> softmax_gradient(const GradientContext& c) {
  return {softmax_grad(c.gradient, c.output, c.node)};
}
std::vector<Variable> log_softmax_gradient(const GradientContext& c) {
  return {c.gradient - nnet::softmax(c.input(0), c.node.attrs.axis()) * sum(c.gradient, along(c))};
}
std::vector<Variable> logsumexp_gradient(const GradientContext& c) {
  const int axis = c.node.attrs.axis();
  return {expand_dims(c.gradient, axis) * nnet::softmax(c.input(0), axis)};
}
/// The gradient of (g - sum(g s)) s.
std::vector<Variable> softmax_grad_gradient(const GradientContext& c) {
  const Variable &g = c.input(0), &s = c.input(1), &up = c.gradient;
  return {softmax_grad(up, s, c.node), up * (g - sum(g * s, along(c))) - g * sum(up * s, along(c))};
}
std::vector<Variable> crossentropy_gradient(const GradientContext& c) {
  return {builder::apply("crossentropy_grad", {c.gradient, c.input(0), c.input(1)}, {}, c.node.where), Variable()};
}
/// The gradient of -g / p at the target.
std::vector<Variable> crossentropy_grad_gradient(const GradientContext& c) {
  const Variable &g = c.input(0), &p = c.input(1);
  const Variable at_target =
      builder::apply("crossentropy_grad", {ones_like(g), p, c.input(2)}, {}, c.node.where);  // -1 / p there
  return {sum(c.gradient * at_target, ReduceOptions(-1)), c.gradient * expand_dims(g, -1) * sqr(at_target), Variable()};
}
std::vector<Variable> crossentropy_logits_gradient(const GradientContext& c) {
  return {builder::apply("crossentropy_logits_grad", {c.gradient, c.input(0), c.input(1)}, {}, c.node.where),
          Variable()};
}
/// The gradient of g (softmax(z) - one-hot).
std::vector<Variable> crossentropy_logits_grad_gradient(const GradientContext& c) {
  const Variable &g = c.input(0), &z = c.input(1), &up = c.gradient;
  const Variable of_ones = builder::apply("crossentropy_logits_grad", {ones_like(g), z, c.input(2)}, {}, c.node.where);
  const Variable s = nnet::softmax(z);
  return {sum(up * of_ones, ReduceOptions(-1)),
          builder::apply("softmax_grad", {up * expand_dims(g, -1), s}, {{"axis", std::int64_t{s.rank()} - 1}},
                         c.node.where),
          Variable()};
}

// ---- references ----

/// Calls `f(row, length, stride)` for each line of `x` (double, in place) along `axis`.
template <class F>
Array along_lines(const Array& input, int axis, F f) {
  Array x = input.astype(DType::float64).copy();
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.shape(i);
  const std::int64_t length = x.shape(axis), lines = length == 0 ? 0 : x.size() / length;
  double* data = x.size() == 0 ? nullptr : x.data<double>().data();
  for (std::int64_t line = 0; line < lines; ++line)
    f(data + line / inner * inner * length + line % inner, length, inner);
  return x;
}
/// The largest element; nan if there is one.
double largest(const double* row, std::int64_t n, std::int64_t stride) {
  double top = row[0];
  for (std::int64_t i = 0; i < n; ++i)
    top = row[i * stride] != row[i * stride] ? row[i * stride] : std::max(top, row[i * stride]);
  return top;
}
/// Subtracts the largest element; returns the sum of the exponentials of the differences.
double shift(double* row, std::int64_t n, std::int64_t stride) {
  const double top = largest(row, n, stride);
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(row[i * stride] -= top);
  return total;
}
Array evaluate_softmax(const EvaluateContext& c) {
  return along_lines(c.inputs[0], c.attrs.axis(),
                     [](double* row, std::int64_t n, std::int64_t stride) {
                       const double total = shift(row, n, stride);
                       for (std::int64_t i = 0; i < n; ++i) row[i * stride] = std::exp(row[i * stride]) / total;
                     })
      .astype(c.dtype);
}
Array evaluate_log_softmax(const EvaluateContext& c) {
  return along_lines(c.inputs[0], c.attrs.axis(),
                     [](double* row, std::int64_t n, std::int64_t stride) {
                       const double log_total = std::log(shift(row, n, stride));
                       for (std::int64_t i = 0; i < n; ++i) row[i * stride] -= log_total;
                     })
      .astype(c.dtype);
}
Array evaluate_logsumexp(const EvaluateContext& c) {
  const int axis = c.attrs.axis();
  if (c.inputs[0].shape(axis) == 0) return Array::full(c.dtype, c.shape, -std::numeric_limits<double>::infinity());
  const Array totals = along_lines(c.inputs[0], axis, [](double* row, std::int64_t n, std::int64_t stride) {
    // An infinite maximum is the result.
    const double top = largest(row, n, stride), total = std::isinf(top) ? top : top + std::log(shift(row, n, stride));
    for (std::int64_t i = 0; i < n; ++i) row[i * stride] = total;
  });
  return totals.slice(axis, 0, 1).copy().reshape(c.shape).astype(c.dtype);
}

/// 16-bit floats are computed in float32 and rounded once, also for sums and logarithms that several kernels share.
template <NodeId (*expand)(Arena&, NodeId)>
NodeId in_float32(Arena& arena, NodeId node) {
  const DType dtype = arena.type(node).dtype;
  if (compute_dtype(dtype) == dtype) return expand(arena, node);
  std::vector<NodeId> inputs(arena.inputs(node).begin(), arena.inputs(node).end());
  for (NodeId& input : inputs) {
    if (is_float(arena.type(input).dtype)) input = arena.make("cast", {input}, {{"dtype", DType::float32}});
  }
  const NodeId wide = arena.make(arena.op(node), inputs, expr::Attrs(arena.attrs(node)));
  return arena.make("cast", {expand(arena, wide)}, {{"dtype", dtype}});
}

expr::Op expand_op(std::string_view name, int arity, std::string_view doc, decltype(expr::Op::infer) infer,
                   decltype(expr::Op::gradient) gradient, decltype(expr::Op::expand) expand,
                   decltype(expr::Op::evaluate) evaluate = nullptr, decltype(expr::Op::batch) batch = nullptr) {
  return {.name = name,
          .kind = expr::Kind::Expand,
          .arity = arity,
          .doc = doc,
          .infer = infer,
          .gradient = gradient,
          .expand = expand,
          .evaluate = evaluate,
          .batch = batch};
}

}  // namespace

void register_nnet(Registry& registry) {
  static const expr::Op ops[] = {
      expand_op("softmax", 1, "exp(x) / sum(exp(x)) along an axis", infer_same, softmax_gradient,
                in_float32<expand_softmax>, evaluate_softmax, builder::batch_along_axis),
      expand_op("log_softmax", 1, "x - log(sum(exp(x))) along an axis", infer_same, log_softmax_gradient,
                in_float32<expand_log_softmax>, evaluate_log_softmax, builder::batch_along_axis),
      expand_op("logsumexp", 1, "log(sum(exp(x))) along an axis", infer_reduced, logsumexp_gradient,
                in_float32<expand_logsumexp>, evaluate_logsumexp, builder::batch_along_axis),
      expand_op("softmax_grad", 2, "(g - sum(g s)) s along an axis", infer_same, softmax_grad_gradient,
                in_float32<expand_softmax_grad>, nullptr, builder::batch_along_axis),
      expand_op("crossentropy", 2, "-log of the target's probability, a row", infer_crossentropy, crossentropy_gradient,
                in_float32<expand_crossentropy>, nullptr, builder::batch_each),
      expand_op("crossentropy_grad", 3, "-g / p at the target, 0 elsewhere", infer_crossentropy,
                crossentropy_grad_gradient, in_float32<expand_crossentropy_grad>, nullptr, builder::batch_each),
      expand_op("crossentropy_logits", 2, "logsumexp(z) - z at the target", infer_crossentropy,
                crossentropy_logits_gradient, in_float32<expand_crossentropy_logits>, nullptr, builder::batch_each),
      expand_op("crossentropy_logits_grad", 3, "g (softmax(z) - one-hot target)", infer_crossentropy,
                crossentropy_logits_grad_gradient, in_float32<expand_crossentropy_logits_grad>, nullptr,
                builder::batch_each),
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops

namespace croton::ops {

void check_crossentropy(std::string_view op, const Operand& p, const Operand& target,
                        const nnet::CrossentropyOptions& options, bool classes) {
  demand_real(p, op);
  demand_real(target, op);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(fmt::format("{} ({}): a label_smoothing of {}; it is from 0 to 1", op, builder::describe(p.where),
                                 options.label_smoothing));
  if (options.ignore_class && !classes)
    throw TypeError(fmt::format("{} ({}): {}: ignore_class is for targets that are class numbers", op,
                                builder::describe(p.where), builder::describe(target.variable)));
}

bool are_classes(const Operand& p, const Operand& target) {
  return is_integer(target.variable.dtype()) && target.variable.rank() + 1 == p.variable.rank();
}

void demand_targets(std::string_view op, const Operand& p, const Operand& target) {
  if (are_classes(p, target) || target.variable.rank() == p.variable.rank()) return;
  throw TypeError(
      fmt::format("{} ({}): {}, {}: the targets must be integer class numbers (one dimension less than the "
                  "probabilities) or have the probabilities' shape",
                  op, builder::describe(p.where), builder::describe(p.variable), builder::describe(target.variable)));
}

Variable smoothed(const Variable& target, double smoothing, const Operand& classes) {
  if (smoothing == 0) return target;
  return builder::number(1 - smoothing, target) * target +
         builder::number(smoothing, target) / cast(classes, target.dtype());
}

}  // namespace croton::ops

namespace croton::nnet {
namespace {

Variable along_axis(std::string_view op, const Operand& x, int axis) {
  const int at = ops::normal_axis(axis, x.variable.rank(), op, x);
  return builder::apply(op, {ops::in_floats(x)}, {{"axis", at}}, x.where);
}

}  // namespace

/// The op over several axes, which are moved to the end and merged.
Variable over_axes(std::string_view op, const Operand& x, const std::vector<int>& given) {
  const std::vector<int> axes = ops::normal_axes(given, x.variable.rank(), op, x);
  const builder::OriginScope origin(x.where);
  if (axes.empty()) throw TypeError(fmt::format("{} ({}): no axes are named", op, builder::describe(x.where)));
  if (axes.size() == 1) return along_axis(op, x, axes[0]);
  std::vector<int> order;
  for (int axis = 0; axis < x.variable.rank(); ++axis) {
    if (!std::ranges::binary_search(axes, axis)) order.push_back(axis);
  }
  std::vector<Operand> lines;
  for (const int axis : order) lines.emplace_back(x.variable.shape(axis));
  Variable length = x.variable.shape(axes[0]);
  for (std::size_t i = 1; i < axes.size(); ++i) length = length * x.variable.shape(axes[i]);
  lines.emplace_back(length);
  order.insert(order.end(), axes.begin(), axes.end());
  const Variable moved = dimshuffle(x, order);
  const std::vector<Operand> shape = builder::shape_of(moved);
  return dimshuffle(reshape(along_axis(op, Operand(reshape(moved, lines), x.where), -1), shape),
                    expr::inverse_order(order));
}

/// Whether a target is not the ignored class.
Variable is_counted(const Variable& target, const CrossentropyOptions& options) {
  return neq(target, Operand(*options.ignore_class));
}

/// -log of the target's probability, per row; from_logits: of the softmax.
Variable of_classes(const Operand& p, const Variable& target, const CrossentropyOptions& options) {
  const Variable v = options.from_logits ? softmax(p) : p.variable;
  if (!options.ignore_class) return builder::apply("crossentropy", {v, target}, {}, p.where);
  // An ignored target reads the most probable class, because the gradient divides by the probability, which may be 0
  // elsewhere.
  const Variable read_class =
      where(is_counted(target, options), cast(target, DType::int64), argmax(p.variable, ReduceOptions(-1)));
  return builder::apply("crossentropy", {v, read_class}, {}, p.where);
}

Variable softmax(Operand x, int axis) { return along_axis("softmax", x, axis); }
Variable softmax(Operand x, const std::vector<int>& axes) { return over_axes("softmax", x, axes); }
Variable log_softmax(Operand x, int axis) { return along_axis("log_softmax", x, axis); }
Variable log_softmax(Operand x, const std::vector<int>& axes) { return over_axes("log_softmax", x, axes); }
Variable logsumexp(Operand x, int axis, bool keepdims) {
  const Variable result = along_axis("logsumexp", x, axis);
  return keepdims ? expand_dims(Operand(result, x.where), axis) : result;
}
Variable relu(Operand x, double alpha) {
  ops::demand_real(x, "relu");
  return ops::in_one_rounding(x, [&](const Variable& v) {
    if (alpha == 0) return builder::number(0.5, v) * (v + abs(v));
    // alpha x below 0: 0.5 (1 + alpha) x + 0.5 (1 - alpha) |x|
    return builder::number(0.5 * (1 + alpha), v) * v + builder::number(0.5 * (1 - alpha), v) * abs(v);
  });
}
Variable relu(Operand x, const ReluOptions& options) {
  ops::demand_real(x, "relu");
  return ops::in_one_rounding(x, [&](const Variable& v) {
    const Variable threshold = builder::number(options.threshold, v);
    Variable above = v;
    if (options.max_value) {
      const Variable most = builder::number(*options.max_value, v);
      above = where(v >= most, most, v);
    }
    return where(v <= threshold, builder::number(options.negative_slope, v) * (v - threshold), above);
  });
}
Variable sigmoid(Operand x) { return croton::sigmoid(x); }
Variable softplus(Operand x) { return croton::softplus(x); }

Variable categorical_crossentropy(Operand p, Operand target, const CrossentropyOptions& options) {
  const builder::OriginScope origin(p.where);
  constexpr std::string_view op = "categorical_crossentropy";
  const bool classes = ops::are_classes(p, target);
  ops::check_crossentropy(op, p, target, options, classes);
  ops::demand_targets(op, p, target);
  const ReduceOptions last(-1);
  const auto logs = [&] { return options.from_logits ? log_softmax(p) : log(p); };
  const double smoothing = options.label_smoothing;
  if (!classes) {
    // The logarithms are rounded, since rules look for those of a softmax.
    const Variable log_p = logs();
    const Variable t =
        smoothing == 0 ? target.variable : ops::smoothed(ops::in_floats(target), smoothing, p.variable.shape(-1));
    return ops::narrowed(-sum(ops::widened(t) * ops::widened(log_p), last), promote(t.dtype(), log_p.dtype()));
  }
  Variable loss = of_classes(p, target.variable, options);
  if (smoothing != 0)
    loss = builder::number(1 - smoothing, loss) * loss - builder::number(smoothing, loss) * mean(logs(), last);
  return options.ignore_class ? where(is_counted(target.variable, options), loss, zeros_like(loss)) : loss;
}

Variable binary_crossentropy(Operand p, Operand target, const CrossentropyOptions& options) {
  const builder::OriginScope origin(p.where);
  ops::check_crossentropy("binary_crossentropy", p, target, options, false);
  const auto smoothed = [&](const Variable& t) { return ops::smoothed(t, options.label_smoothing, 2); };
  if (options.from_logits) {
    // Both terms are exact for targets 0 and 1, and their derivatives are continuous.
    return ops::in_one_rounding(p, target, [&](const Variable& z, const Variable& given) {
      const Variable t = smoothed(given);
      return t * croton::softplus(-z) + (1 - t) * croton::softplus(z);
    });
  }
  // The logarithms are rounded, since rules look for those of a sigmoid.
  const Variable log_p = log(p), log_of_other = log(1 - p);
  const Variable t = options.label_smoothing == 0 ? target.variable : smoothed(ops::in_floats(target));
  const Variable of = ops::widened(t);
  return ops::narrowed(-(of * ops::widened(log_p) + (1 - of) * ops::widened(log_of_other)),
                       promote(t.dtype(), log_p.dtype()));
}

Variable layer_norm(Operand x, double eps) {
  const builder::OriginScope origin(x.where);
  ops::demand_real(x, "layer_norm");
  const ReduceOptions last(std::vector<int>{-1}, true);
  // The squares of float16 overflow from 256 on.
  const Variable values = cast(x, compute_dtype(x.variable.dtype())), centred = values - mean(values, last);
  const DType own = compute_dtype(x.variable.dtype()) == x.variable.dtype() ? centred.dtype() : x.variable.dtype();
  return cast(centred / sqrt(mean(sqr(centred), last) + builder::number(eps, centred)), own);
}

}  // namespace croton::nnet

// Forms that overflow or cancel, replaced by forms that do not. Each rule is tested by value at an extreme point, as is
// its gradient: `grad` itself replaces the forms that cannot be corrected after differentiation
// (ops/elementwise/stable_forms.cpp).
#include <algorithm>
#include <optional>

#include "rewrite/nary.hpp"
#include "rewrite/rules/factors.hpp"
#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::NodeId;

bool last_axis(const Arena& arena, NodeId softmax) {
  return arena.attrs(softmax).integer("axis") + 1 == std::ssize(arena.type(softmax).shape);
}

/// -log(softmax(z)[target]) from the logits: exp never overflows and log never sees 0.
NodeId crossentropy_of_softmax(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId p = arena.input(root, 0);
  if (arena.op(p).name != "softmax" || !last_axis(arena, p)) return expr::no_node;
  return r.make("crossentropy_logits", {arena.input(p, 0), arena.input(root, 1)});
}

/// log(p) where p is softmax(x), or parts of it, such as the probabilities of the target classes.
NodeId log_of_parts_of_softmax(Rewriter& r, NodeId p) {
  Arena& arena = r.arena();
  const expr::Op& op = arena.op(p);
  if (op.name == "softmax") return r.make("log_softmax", {arena.input(p, 0)}, expr::Attrs(arena.attrs(p)));
  if (op.kind != expr::Kind::Gather && op.kind != expr::Kind::View) return expr::no_node;
  std::vector<NodeId> inputs(arena.inputs(p).begin(), arena.inputs(p).end());
  inputs[0] = log_of_parts_of_softmax(r, inputs[0]);
  return inputs[0] == expr::no_node ? expr::no_node : r.make(op, inputs, expr::Attrs(arena.attrs(p)));
}
NodeId log_of_softmax(Rewriter& r, NodeId root) { return log_of_parts_of_softmax(r, r.arena().input(root, 0)); }

/// log(sum(exp(x))) over several axes, one after another.
NodeId log_sum_exp(Rewriter& r, NodeId x, const expr::Ints& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) x = r.make("logsumexp", {x}, {{"axis", axes[i]}});
  return x;
}

/// The pattern of the dimshuffle that restores the axes of a reduction, as keepdims does.
expr::Ints kept_pattern(const expr::Ints& axes, std::int64_t rank) {
  expr::Ints pattern;
  std::int64_t next = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis)
    pattern.push_back(std::ranges::binary_search(axes, axis) ? -1 : next++);
  return pattern;
}

/// The node without a cast from or to a 16-bit float: sums of these are computed in float32, with casts around them.
NodeId uncast(const Arena& arena, NodeId node) {
  if (arena.op(node).name != "cast") return node;
  const DType to = arena.type(node).dtype, from = arena.type(arena.input(node, 0)).dtype;
  return is_float(to) && is_float(from) && (compute_dtype(to) == from || compute_dtype(from) == to)
             ? arena.input(node, 0)
             : node;
}

/// A sum of exp(x), or a dimshuffle of it.
struct Total {
  NodeId x;
  expr::Ints axes;
  std::optional<expr::Ints> pattern;  // of a dimshuffle of the sum, such as that of keepdims
};
std::optional<Total> total_of(const Arena& arena, NodeId root) {
  const NodeId outer = uncast(arena, root);
  const bool shuffled = arena.op(outer).name == "dimshuffle";
  const NodeId sum = shuffled ? uncast(arena, arena.input(outer, 0)) : outer;
  if (arena.op(sum).name != "sum") return std::nullopt;
  const NodeId e = uncast(arena, arena.input(sum, 0));
  if (arena.op(e).name != "exp") return std::nullopt;
  const DType dtype = arena.type(arena.input(e, 0)).dtype;
  if (!is_float(dtype) || dtype != arena.type(root).dtype) return std::nullopt;
  Total total{arena.input(e, 0), arena.attrs(sum).ints("axes"), {}};
  if (shuffled) total.pattern = arena.attrs(outer).ints("pattern");
  return total.axes.empty() ? std::nullopt : std::optional(total);
}

NodeId logsumexp_by_hand(Rewriter& r, NodeId root) {
  const auto total = total_of(r.arena(), r.arena().input(root, 0));
  if (!total) return expr::no_node;
  const NodeId result = log_sum_exp(r, total->x, total->axes);
  return total->pattern ? r.make("dimshuffle", {result}, {{"pattern", *total->pattern}}) : result;
}

/// exp(x) / sum(exp(x)) as users write it. A total without the summed axes is broadcast along the first axes, so the
/// summed axes must be the first ones.
NodeId softmax_by_hand(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId e = arena.input(root, 0);
  const auto total = total_of(arena, arena.input(root, 1));
  if (!total || arena.op(e).name != "exp" || arena.input(e, 0) != total->x) return expr::no_node;
  const expr::Ints kept = kept_pattern(total->axes, std::ssize(arena.type(e).shape));
  const bool first_ones = total->axes.back() + 1 == std::ssize(total->axes);
  if (total->pattern ? *total->pattern != kept : !first_ones) return expr::no_node;
  if (total->axes.size() == 1) return r.make("softmax", {total->x}, {{"axis", total->axes[0]}});
  const NodeId all_summed = r.make("dimshuffle", {log_sum_exp(r, total->x, total->axes)}, {{"pattern", kept}});
  return r.make("exp", {r.make("sub", {total->x, all_summed})});
}

}  // namespace

std::span<const Rule> stability_rules() {
  static const Rule rules[] = {
      {"crossentropy-softmax", "crossentropy", "", "log of a probability that underflows to 0", false,
       crossentropy_of_softmax},
      {"log-softmax", "log", "", "log of a probability that underflows to 0", false, log_of_softmax},
      {"softmax-by-hand", "true_divide", "", "exp overflows", true, softmax_by_hand},
      {"logsumexp-by-hand", "log", "", "exp overflows", false, logsumexp_by_hand},
      {"log-mean-exp", "log(true_divide(sum(exp(x), axes=A), n)) => sub(log(sum(exp(x), axes=A)), log(n))", "",
       "exp overflows; but n may be -0", true},
      {"log-mean-exp-kept",
       "log(true_divide(dimshuffle(sum(exp(x), axes=A), pattern=P), n)) => "
       "sub(dimshuffle(log(sum(exp(x), axes=A)), pattern=P), log(n))",
       "", "exp overflows; but n may be -0", true},
      {"log-add-exp", "log(add(exp(x), exp(y))) => logaddexp(x, y)", "float(x), float(y)", "exp overflows"},
      {"log2-add-exp2", "log2(add(exp2(x), exp2(y))) => logaddexp2(x, y)", "float(x), float(y)", "exp2 overflows"},
      {"log-sigmoid", "log(sigmoid(x)) => neg(softplus(neg(x)))", "", "log of 0 for x below -90"},
      {"log1p-minus-sigmoid", "log1p(neg(sigmoid(x))) => neg(softplus(x))", "", "log of 0 for x above 17"},
      {"one-minus-sigmoid", "sub(1, sigmoid(x)) => sigmoid(neg(x))", "", "cancels for x above 17"},
      {"sigmoid-minus-one", "sub(sigmoid(x), 1) => neg(sigmoid(neg(x)))", "", "cancels for x above 17"},
      {"sigmoid-minus-one-add", "add(sigmoid(x), -1) => neg(sigmoid(neg(x)))", "", "cancels for x above 17"},
      {"softplus-by-hand", "log1p(exp(x)) => softplus(x)", "", "exp overflows"},
      // The canonical form of log(1 - exp(x)), and its form with log1p; far below 0, -expm1(x) is 1.
      {"log1mexp", "log(neg(expm1(x))) => log1mexp(x)", "float(x)", "log of 1 for x far below 0"},
      {"log1mexp-log1p", "log1p(neg(exp(x))) => log1mexp(x)", "float(x)", "log of 0 for x near 0"},
      {"log-expm1", "log(expm1(x)) => add(x, log1mexp(neg(x)))", "float(x)", "exp overflows"},
      {"log1p", "log(add(x, 1)) => log1p(x)", "float(x)", "1 + x rounds for small x"},
      {"log1p-sub", "log(sub(1, x)) => log1p(neg(x))", "float(x)", "1 - x rounds for small x"},
      {"log-exp-constant", "log | log2", "", "exp overflows", false, log_of_exp_and_constant},
      {"expm1", "sub(exp(x), 1) => expm1(x)", "float(x)", "cancels for small x"},
      {"expm1-add", "add(exp(x), -1) => expm1(x)", "float(x)", "cancels for small x"},
      {"one-minus-exp", "sub(1, exp(x)) => neg(expm1(x))", "float(x)", "cancels for small x"},
      {"expm1-plus-one", "add(expm1(x), 1) => exp(x)", "float(x)", "cancels for x far below 0"},
      {"exp-over-expm1", "true_divide | mul", "", "exp overflows", true, exp_over_expm1},
      {"exp-times-exp-neg", "mul | true_divide", "", "exp overflows", true, exp_times_exp_of_minus},
      {"erfc", "sub(1, erf(x)) => erfc(x)", "float(x)", "cancels for x above 2"},
      {"one-plus-erf", "add(erf(x), 1) => erfc(neg(x))", "float(x)", "cancels for x below -2"},
      {"erf-minus-one", "sub(erf(x), 1) => neg(erfc(x))", "float(x)", "cancels for x above 2"},
      {"erf-minus-one-add", "add(erf(x), -1) => neg(erfc(x))", "float(x)", "cancels for x above 2"},
      {"minus-one-minus-erf", "sub(-1, erf(x)) => neg(erfc(neg(x)))", "float(x)", "cancels for x below -2"},
      {"one-minus-erfc", "sub(1, erfc(x)) => erf(x)", "float(x)", "cancels for small x"},
      {"erfc-minus-one", "sub(erfc(x), 1) => neg(erf(x))", "float(x)", "cancels for small x"},
      {"erfc-minus-one-add", "add(erfc(x), -1) => neg(erf(x))", "float(x)", "cancels for small x"},
      {"two-minus-erfc", "sub(2, erfc(x)) => erfc(neg(x))", "float(x)", "cancels for x below -2"},
      {"erfcx", "mul | true_divide", "", "exp(x x) overflows where erfc(x) underflows", true, erfc_times_exp},
      {"erfcx-exp", "mul(erfcx(x), exp(neg(sqr(x)))) => erfc(x)", "float(x)", "erfcx overflows for x far below 0",
       true},
      {"log-erfc", "log(erfc(x)) => where(ge(x, 1), sub(log(erfcx(x)), sqr(x)), log1p(neg(erf(x))))", "float(x)",
       "log of 0 for x above 10"},
      // As in the logarithm of the normal distribution function.
      {"log-erfc-mul", "log(mul(erfc(x), c:const)) => add(log(erfc(x)), {log(c)})", "float(x)", "erfc underflows"},
      {"log-erfc-div", "log(true_divide(erfc(x), c:const)) => sub(log(erfc(x)), {log(c)})", "float(x)",
       "erfc underflows; but c may be -0", true},
      {"sigmoid-by-hand", "true_divide(1, add(exp(neg(x)), 1)) => sigmoid(x)", "", "one function with good tails"},
      {"sigmoid-by-hand-2", "reciprocal(add(exp(neg(x)), 1)) => sigmoid(x)", "", "one function with good tails"},
      {"sigmoid-by-hand-3", "true_divide(exp(x), add(exp(x), 1)) => sigmoid(x)", "", "exp overflows", true},
      {"sigmoid-of-minus", "true_divide(1, add(exp(x), 1)) => sigmoid(neg(x))", "float(x)",
       "one function with good tails"},
      {"sigmoid-of-minus-2", "reciprocal(add(exp(x), 1)) => sigmoid(neg(x))", "float(x)",
       "one function with good tails"},
      {"div-one-plus-exp-neg", "true_divide(y, add(exp(neg(x)), 1)) => mul(y, sigmoid(x))", "float(y)",
       "a factor that does not overflow"},
      {"div-one-plus-exp", "true_divide(y, add(exp(x), 1)) => mul(y, sigmoid(neg(x)))", "float(y)",
       "a factor that does not overflow"},
      {"sigmoid-exp", "mul | true_divide", "", "exp overflows", true, sigmoid_times_exp},
      {"cancel-unstable", "mul | true_divide", "", "x y / x is y, whose x may underflow, but 0 / 0 is nan", true,
       cancel_factors},
      {"argmax-rising", "argmax | argmin", "",
       "which x is largest, where rounding makes several of its images equal; "
       "but these may be nan for an infinite x",
       true, argmax_of_increasing},
  };
  return rules;
}

}  // namespace croton::rewrite

// Forms that overflow or cancel, replaced by forms that do not. Each rule is tested by value at an extreme point, and
// backward too: gradients are built before rewriting, so their unstable forms are listed here as well.
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
  return arena.attrs(softmax).integer("axis") + 1 == static_cast<std::int64_t>(arena.type(softmax).rank());
}

/// -log(softmax(z)[target]) from the logits: exp never overflows and log never sees 0.
NodeId crossentropy_of_softmax(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId p = arena.input(root, 0);
  if (arena.op(p).name != "softmax" || !last_axis(arena, p)) return expr::no_node;
  return r.make("crossentropy_logits", {arena.input(p, 0), arena.input(root, 1)});
}

/// ... and its gradient: g (softmax(z) - one-hot), without the 1 / p that overflows.
NodeId crossentropy_gradient_of_softmax(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId g = arena.input(root, 0), s = arena.input(root, 1);
  if (arena.op(s).name != "softmax" || !last_axis(arena, s)) return expr::no_node;
  if (arena.op(g).name == "crossentropy_grad" && arena.input(g, 1) == s) {
    return r.make("crossentropy_logits_grad", {arena.input(g, 0), arena.input(s, 0), arena.input(g, 2)});
  }
  return expr::no_node;
}

/// The gradient of sum(t log(softmax(z))): g / s times ds is g - s sum(g).
NodeId softmax_gradient_of_quotient(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId s = arena.input(root, 1);
  NodeId quotient = arena.input(root, 0);
  const bool negative = arena.op(quotient).name == "neg";
  if (negative) quotient = arena.input(quotient, 0);
  if (arena.op(quotient).name != "true_divide" || arena.input(quotient, 1) != s) return expr::no_node;
  NodeId g = arena.input(quotient, 0);
  const std::int64_t axis = arena.attrs(root).integer("axis");
  const DType dtype = arena.type(root).dtype;
  if (arena.type(g).dtype != dtype)
    g = r.make("cast", {g}, {{"dtype", dtype}});  // sums are made in the dtype of their operand
  if (!arena.same_shape(arena.type(g).shape,
                        arena.type(s).shape)) {  // maps repeat their operands by themselves, sums do not
    std::vector<NodeId> repeated{g};
    for (const NodeId size : arena.type(s).shape) repeated.push_back(size);
    g = r.make(expr::op("alloc"), repeated);
  }
  const NodeId total = r.make("sum", {g}, {{"axes", expr::Ints{axis}}});
  expr::Ints pattern;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(arena.type(s).rank()); ++i)
    pattern.push_back(i == axis ? -1 : next++);
  const NodeId kept = r.make("dimshuffle", {total}, {{"pattern", pattern}});
  const NodeId result = r.make("sub", {g, r.make("mul", {kept, s})});
  return negative ? r.make("neg", {result}) : result;
}

/// exp(x) / sum(exp(x)) along one axis, as users write softmax.
NodeId softmax_by_hand(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId e = arena.input(root, 0);
  NodeId total = arena.input(root, 1);
  if (arena.op(e).name != "exp" || arena.op(total).name != "dimshuffle") return expr::no_node;
  const expr::Ints pattern = arena.attrs(total).ints("pattern");
  total = arena.input(total, 0);
  if (arena.op(total).name != "sum" || arena.input(total, 0) != e) return expr::no_node;
  const expr::Ints axes = arena.attrs(total).ints("axes");
  if (axes.size() != 1 || !is_float(arena.type(arena.input(e, 0)).dtype)) return expr::no_node;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(pattern.size()); ++i) {
    if (pattern[static_cast<std::size_t>(i)] != (i == axes[0] ? -1 : next++)) return expr::no_node;
  }
  if (pattern.size() != arena.type(e).rank()) return expr::no_node;
  return r.make("softmax", {arena.input(e, 0)}, {{"axis", axes[0]}});
}

/// log(sum(exp(x))) over several axes, one after another.
NodeId log_sum_exp(Rewriter& r, NodeId x, const expr::Ints& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) x = r.make("logsumexp", {x}, {{"axis", axes[i]}});
  return x;
}

NodeId logsumexp_by_hand(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId total = arena.input(root, 0);
  if (arena.op(total).name != "sum" || arena.op(arena.input(total, 0)).name != "exp") return expr::no_node;
  const expr::Ints axes = arena.attrs(total).ints("axes");
  if (!is_float(arena.type(arena.input(arena.input(total, 0), 0)).dtype)) return expr::no_node;
  return axes.empty() ? expr::no_node : log_sum_exp(r, arena.input(arena.input(total, 0), 0), axes);
}

/// The axes of a reduction put back: the pattern of the dimshuffle that keepdims makes.
expr::Ints kept_pattern(const expr::Ints& axes, std::int64_t rank) {
  expr::Ints pattern;
  std::int64_t next = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis)
    pattern.push_back(std::ranges::binary_search(axes, axis) ? -1 : next++);
  return pattern;
}

/// A sum of exponentials, with or without the axes put back.
struct Total {
  expr::Ints axes, kept;  // kept: the pattern that puts them back
  bool keeps;
};
std::optional<Total> total_of(const Arena& arena, NodeId node, NodeId e) {
  const bool keeps = arena.op(node).name == "dimshuffle";
  const NodeId sum = keeps ? arena.input(node, 0) : node;
  if (arena.op(sum).name != "sum" || arena.input(sum, 0) != e) return std::nullopt;
  const expr::Ints axes = arena.attrs(sum).ints("axes");
  const expr::Ints kept = kept_pattern(axes, static_cast<std::int64_t>(arena.type(e).rank()));
  if (axes.empty() || (keeps && arena.attrs(node).ints("pattern") != kept)) return std::nullopt;
  return Total{axes, kept, keeps};
}

/// exp(x) / sum(exp(x)) over the axes of the total.
NodeId softmax_over(Rewriter& r, NodeId x, const Total& total) {
  if (total.axes.size() == 1) return r.make("softmax", {x}, {{"axis", total.axes[0]}});
  const NodeId all_summed = r.make("dimshuffle", {log_sum_exp(r, x, total.axes)}, {{"pattern", total.kept}});
  return r.make("exp", {r.make("sub", {x, all_summed})});
}

/// What multiplies softmax(x) where `factor` multiplies e = exp(x): g of g / sum(e), in the forms that gradients of
/// log(sum(e)) have. Repeated along the axes of the sum; with the axes put back below the quotient, or above it; or
/// summed again, where the logarithm with its axes back was repeated along them.
struct OverTotal {
  NodeId g;
  Total total;
};
std::optional<OverTotal> over_total(Rewriter& r, NodeId factor, NodeId e) {
  Arena& arena = r.arena();
  const auto rank = arena.type(e).rank();
  if (arena.op(factor).name == "alloc") factor = arena.input(factor, 0);
  expr::Ints pattern;
  const bool shuffled = arena.op(factor).name == "dimshuffle";
  if (shuffled) {
    pattern = arena.attrs(factor).ints("pattern");
    factor = arena.input(factor, 0);
  } else {
    for (std::size_t axis = 0; axis < arena.type(factor).rank(); ++axis)
      pattern.push_back(static_cast<std::int64_t>(axis));
  }
  if (pattern.size() > rank) return std::nullopt;
  pattern.insert(pattern.begin(), rank - pattern.size(), -1);  // as maps repeat what has fewer axes
  const bool summed = arena.op(factor).name == "sum";
  const NodeId quotient = summed ? arena.input(factor, 0) : factor;
  if (arena.op(quotient).name != "true_divide") return std::nullopt;
  const NodeId g = arena.input(quotient, 0);
  const auto total = total_of(arena, arena.input(quotient, 1), e);
  if (!total) return std::nullopt;
  const auto put_back = [&](NodeId x) { return r.make("dimshuffle", {x}, {{"pattern", total->kept}}); };
  if (summed) {
    const bool same_axes = arena.attrs(factor).ints("axes") == total->axes && pattern == total->kept;
    if (!total->keeps || !same_axes || !arena.same_shape(arena.type(g).shape, arena.type(quotient).shape))
      return std::nullopt;
    return OverTotal{put_back(r.make("sum", {g}, {{"axes", total->axes}})), *total};
  }
  if (total->keeps) return shuffled ? std::nullopt : std::optional(OverTotal{g, *total});
  if (pattern != total->kept) return std::nullopt;
  if (arena.type(g).rank() == 0) return OverTotal{g, *total};
  if (arena.type(g).rank() != arena.type(quotient).rank()) return std::nullopt;
  return OverTotal{put_back(g), *total};
}

/// The gradient of log(sum(exp(x))): exp(x) times g / sum(exp(x)) is softmax(x) g.
NodeId logsumexp_gradient_by_hand(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeId e = arena.input(root, i);
    if (arena.op(e).name != "exp") continue;
    const NodeId x = arena.input(e, 0);
    if (!is_float(arena.type(x).dtype)) continue;
    const auto found = over_total(r, arena.input(root, 1 - i), e);
    if (!found || arena.type(found->g).dtype != arena.type(root).dtype) continue;
    return r.make("mul", {softmax_over(r, x, found->total), found->g});
  }
  return expr::no_node;
}

/// (a / p + b / q) p q is a q + b p: the gradient of binary cross-entropy, whose p or q underflows to 0. Done where
/// each quotient of the sum loses a divisor.
NodeId distribute_over_quotients(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  if (!is_float(arena.type(root).dtype)) return expr::no_node;
  const Factors outer = factors_of(r, root);
  for (std::size_t i = 0; i < outer.above.size() && outer.above.size() > 1; ++i) {
    const NodeId sum = outer.above[i];
    const std::string_view name = arena.op(sum).name;
    if (name != "add" && name != "sub") continue;
    std::vector<Factors> terms;
    bool helps = false, all = true;
    for (const NodeId term : {arena.input(sum, 0), arena.input(sum, 1)}) {
      if (arena.type(term).dtype != arena.type(root).dtype) break;
      Factors f = factors_of(r, term);
      const bool divides = !f.below.empty();
      for (std::size_t k = 0; k < outer.above.size(); ++k) {
        if (k != i) f.above.push_back(outer.above[k]);
      }
      const bool cancelled = cancel(f) > 0;
      helps = helps || cancelled;
      all = all && (cancelled || !divides);
      f.below.insert(f.below.end(), outer.below.begin(), outer.below.end());
      terms.push_back(std::move(f));
    }
    // Nodes are made only where it helps: most products are none of these.
    if (terms.size() != 2 || !helps || !all) continue;
    NodeId result = r.make(name, {product(r, terms[0], root), product(r, terms[1], root)});
    if (outer.negative) result = r.make("neg", {result});
    if (arena.same_shape(arena.type(result).shape, arena.type(root).shape)) return result;
  }
  return expr::no_node;
}

}  // namespace

std::span<const Rule> stability_rules() {
  static const Rule rules[] = {
      {"crossentropy-softmax", "crossentropy", "", "log of a probability that underflows to 0", false,
       crossentropy_of_softmax},
      {"crossentropy-softmax-grad", "softmax_grad", "", "1 / p of a probability that underflows to 0", false,
       crossentropy_gradient_of_softmax},
      {"log-softmax", "log(softmax(x, axis=A)) => log_softmax(x, axis=A)", "",
       "log of a probability that underflows to 0"},
      {"log-softmax-grad", "softmax_grad", "", "1 / p of a probability that underflows to 0; but inf 0 is nan", true,
       softmax_gradient_of_quotient},
      {"softmax-by-hand", "true_divide", "", "exp overflows", true, softmax_by_hand},
      {"logsumexp-by-hand", "log", "", "exp overflows", false, logsumexp_by_hand},
      {"logsumexp-grad", "mul", "", "exp overflows", true, logsumexp_gradient_by_hand},
      {"log-of-kept-sum", "log(dimshuffle(sum(x, axes=A), pattern=P)) => dimshuffle(log(sum(x, axes=A)), pattern=P)",
       "", "rules about logarithms of sums see them through the axes that keepdims puts back"},
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
      {"softplus-by-hand", "log1p(exp(x)) => softplus(x)", "", "exp overflows"},
      // What 1 - exp(x) has become, and as it is written; far below 0 -expm1(x) is 1.
      {"log1mexp", "log(neg(expm1(x))) => log1mexp(x)", "float(x)", "log of 1 for x far below 0"},
      {"log1mexp-log1p", "log1p(neg(exp(x))) => log1mexp(x)", "float(x)", "log of 0 for x near 0"},
      {"log-expm1", "log(expm1(x)) => add(x, log1mexp(neg(x)))", "float(x)", "exp overflows"},
      {"log1p", "log(add(x, 1)) => log1p(x)", "float(x)", "1 + x rounds for small x"},
      {"log1p-sub", "log(sub(1, x)) => log1p(neg(x))", "float(x)", "1 - x rounds for small x"},
      {"log-exp-constant", "log | log2", "", "exp overflows", false, log_of_exp_and_constant},
      {"expm1", "sub(exp(x), 1) => expm1(x)", "float(x)", "cancels for small x"},
      {"expm1-add", "add(exp(x), -1) => expm1(x)", "float(x)", "cancels for small x"},
      {"one-minus-exp", "sub(1, exp(x)) => neg(expm1(x))", "float(x)", "cancels for small x"},
      {"one-minus-exp-add", "add(neg(exp(x)), 1) => neg(expm1(x))", "float(x)", "cancels for small x"},
      {"expm1-plus-one", "add(expm1(x), 1) => exp(x)", "float(x)", "cancels for x far below 0"},
      {"exp-over-expm1", "true_divide | mul", "", "exp overflows", true, exp_over_expm1},
      {"exp-times-exp-neg", "mul | true_divide", "", "exp overflows", true, exp_times_exp_of_minus},
      {"erfc", "sub(1, erf(x)) => erfc(x)", "float(x)", "cancels for x above 2"},
      {"one-plus-erf", "add(erf(x), 1) => erfc(neg(x))", "float(x)", "cancels for x below -2"},
      {"erf-minus-one", "sub(erf(x), 1) => neg(erfc(x))", "float(x)", "cancels for x above 2"},
      {"one-minus-erfc", "sub(1, erfc(x)) => erf(x)", "float(x)", "cancels for small x"},
      {"erfc-minus-one", "sub(erfc(x), 1) => neg(erf(x))", "float(x)", "cancels for small x"},
      {"erfcx", "mul | true_divide", "", "exp(x x) overflows where erfc(x) underflows", true, erfc_times_exp},
      {"erfcx-exp", "mul(erfcx(x), exp(neg(sqr(x)))) => erfc(x)", "float(x)", "erfcx overflows for x far below 0",
       true},
      {"log-erfc", "log(erfc(x)) => where(ge(x, 1), sub(log(erfcx(x)), sqr(x)), log1p(neg(erf(x))))", "float(x)",
       "log of 0 for x above 10"},
      // As the logarithm of a normal distribution has it.
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
      {"distribute", "mul", "", "a quotient by a probability that underflows to 0", true, distribute_over_quotients},
      {"argmax-rising", "argmax | argmin", "",
       "which x is largest, where rounding makes several of its images equal; "
       "but these may be nan for an infinite x",
       true, extreme_of_rising},
  };
  return rules;
}

}  // namespace croton::rewrite

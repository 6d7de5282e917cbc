// Forms that overflow or cancel, replaced by forms that do not. Each rule is tested by value at an extreme point, and backward
// too: gradients are built before rewriting, so their unstable forms are listed here as well.
#include "rewrite/rewriter.hpp"

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
  const NodeId g = arena.input(quotient, 0);
  const std::int64_t axis = arena.attrs(root).integer("axis");
  if (!arena.same_shape(arena.type(g).shape, arena.type(s).shape)) return expr::no_node;
  const NodeId total = r.make("sum", {g}, {{"axes", expr::Ints{axis}}});
  expr::Ints pattern;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(arena.type(s).rank()); ++i) pattern.push_back(i == axis ? -1 : next++);
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
  if (axes.size() != 1) return expr::no_node;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(pattern.size()); ++i) {
    if (pattern[static_cast<std::size_t>(i)] != (i == axes[0] ? -1 : next++)) return expr::no_node;
  }
  if (pattern.size() != arena.type(e).rank()) return expr::no_node;
  return r.make("softmax", {arena.input(e, 0)}, {{"axis", axes[0]}});
}

/// log(sum(exp(x))) along one axis.
NodeId logsumexp_by_hand(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId total = arena.input(root, 0);
  if (arena.op(total).name != "sum" || arena.op(arena.input(total, 0)).name != "exp") return expr::no_node;
  const expr::Ints axes = arena.attrs(total).ints("axes");
  if (axes.size() != 1) return expr::no_node;
  return r.make("logsumexp", {arena.input(arena.input(total, 0), 0)}, {{"axis", axes[0]}});
}

}  // namespace

std::span<const Rule> stability_rules() {
  static const Rule rules[] = {
      {"crossentropy-softmax", "crossentropy", "", "log of a probability that underflows to 0", false, crossentropy_of_softmax},
      {"crossentropy-softmax-grad", "softmax_grad", "", "1 / p of a probability that underflows to 0", false, crossentropy_gradient_of_softmax},
      {"log-softmax", "log(softmax(x, axis=A)) => log_softmax(x, axis=A)", "", "log of a probability that underflows to 0"},
      {"log-softmax-grad", "softmax_grad", "", "1 / p of a probability that underflows to 0", false, softmax_gradient_of_quotient},
      {"softmax-by-hand", "true_divide", "", "exp overflows", false, softmax_by_hand},
      {"logsumexp-by-hand", "log", "", "exp overflows", false, logsumexp_by_hand},
      {"log-sigmoid", "log(sigmoid(x)) => neg(softplus(neg(x)))", "", "log of 0 for x below -90"},
      {"one-minus-sigmoid", "sub(1, sigmoid(x)) => sigmoid(neg(x))", "", "cancels for x above 17"},
      {"softplus-by-hand", "log1p(exp(x)) => softplus(x)", "", "exp overflows"},
      {"log1p", "log(add(x, 1)) => log1p(x)", "float(x)", "1 + x rounds for small x"},
      {"log1p-sub", "log(sub(1, x)) => log1p(neg(x))", "float(x)", "1 - x rounds for small x"},
      {"expm1", "sub(exp(x), 1) => expm1(x)", "float(x)", "cancels for small x"},
      {"sigmoid-by-hand", "true_divide(1, add(exp(neg(x)), 1)) => sigmoid(x)", "", "one function with good tails"},
      {"sigmoid-by-hand-2", "reciprocal(add(exp(neg(x)), 1)) => sigmoid(x)", "", "one function with good tails"},
  };
  return rules;
}

}  // namespace croton::rewrite

// Forms that overflow or cancel, replaced by forms that do not. Each rule is tested by value at an extreme point, and
// backward too: gradients are built before rewriting, so their unstable forms are listed here as well.
#include <algorithm>

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

/// What a product multiplies and divides by, and its sign.
struct Factors {
  std::vector<NodeId> above, below;
  bool negative = false;
};

Factors factors_of(Rewriter& r, NodeId root) {
  constexpr std::size_t max_factors = 16;
  Arena& arena = r.arena();
  const DType dtype = arena.type(root).dtype;
  Factors f;
  std::vector<std::pair<NodeId, bool>> pending{{root, true}};
  while (!pending.empty()) {
    const auto [node, up] = pending.back();
    pending.pop_back();
    const std::string_view name = arena.op(node).name;
    const bool open = f.above.size() + f.below.size() + pending.size() < max_factors && arena.type(node).dtype == dtype;
    if (open && (name == "mul" || name == "true_divide")) {
      pending.emplace_back(arena.input(node, 0), up);
      pending.emplace_back(arena.input(node, 1), name == "mul" ? up : !up);
    } else if (open && name == "neg") {
      pending.emplace_back(arena.input(node, 0), up);
      f.negative = !f.negative;
    } else {
      (up ? f.above : f.below)
          .push_back(arena.type(node).dtype == dtype ? node : r.make("cast", {node}, {{"dtype", dtype}}));
    }
  }
  return f;
}

/// Takes from `f` what stands on both sides of its line; how many.
int cancel(Factors& f) {
  int cancelled = 0;
  std::erase_if(f.above, [&](NodeId factor) {
    const auto at = std::ranges::find(f.below, factor);
    if (at == f.below.end()) return false;
    f.below.erase(at);
    ++cancelled;
    return true;
  });
  return cancelled;
}

NodeId product(Rewriter& r, const Factors& f, NodeId root) {
  NodeId total = f.above.empty() ? r.constant(1, root) : f.above[0];
  for (std::size_t i = 1; i < f.above.size(); ++i) total = r.make("mul", {total, f.above[i]});
  for (const NodeId divisor : f.below) total = r.make("true_divide", {total, divisor});
  return f.negative ? r.make("neg", {total}) : total;
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
    std::vector<NodeId> terms;
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
      terms.push_back(product(r, f, root));
    }
    if (terms.size() != 2 || !helps || !all) continue;
    NodeId result = r.make(name, {terms[0], terms[1]});
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
      {"log-softmax-grad", "softmax_grad", "", "1 / p of a probability that underflows to 0", false,
       softmax_gradient_of_quotient},
      {"softmax-by-hand", "true_divide", "", "exp overflows", false, softmax_by_hand},
      {"logsumexp-by-hand", "log", "", "exp overflows", false, logsumexp_by_hand},
      {"log-sigmoid", "log(sigmoid(x)) => neg(softplus(neg(x)))", "", "log of 0 for x below -90"},
      {"one-minus-sigmoid", "sub(1, sigmoid(x)) => sigmoid(neg(x))", "", "cancels for x above 17"},
      {"softplus-by-hand", "log1p(exp(x)) => softplus(x)", "", "exp overflows"},
      {"log1p", "log(add(x, 1)) => log1p(x)", "float(x)", "1 + x rounds for small x"},
      {"log1p-sub", "log(sub(1, x)) => log1p(neg(x))", "float(x)", "1 - x rounds for small x"},
      {"expm1", "sub(exp(x), 1) => expm1(x)", "float(x)", "cancels for small x"},
      {"sigmoid-by-hand-3", "true_divide(exp(x), add(exp(x), 1)) => sigmoid(x)", "", "exp overflows"},
      {"softplus-grad", "mul(exp(x), true_divide(y, add(exp(x), 1))) => mul(y, sigmoid(x))", "float(y)",
       "exp overflows"},
      {"distribute", "mul", "", "a quotient by a probability that underflows to 0", true, distribute_over_quotients},
      {"sigmoid-by-hand", "true_divide(1, add(exp(neg(x)), 1)) => sigmoid(x)", "", "one function with good tails"},
      {"sigmoid-by-hand-2", "reciprocal(add(exp(neg(x)), 1)) => sigmoid(x)", "", "one function with good tails"},
  };
  return rules;
}

}  // namespace croton::rewrite

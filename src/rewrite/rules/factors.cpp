#include "rewrite/rules/factors.hpp"

#include <algorithm>
#include <array>

namespace croton::rewrite {

using expr::Arena;
using expr::NodeId;

namespace {

constexpr std::size_t max_factors = 16;

/// Whether a factor of `root`, or the base of a square, has one of the `ops`.
bool has_factor(const Arena& arena, NodeId root, std::initializer_list<const expr::Op*> ops) {
  static const expr::Op *const mul = &expr::op("mul"), *const divide = &expr::op("true_divide"),
                               *const neg = &expr::op("neg"), *const sqr = &expr::op("sqr");
  std::array<NodeId, 2 * max_factors> pending;
  std::size_t count = 1;
  pending[0] = root;
  for (std::size_t visited = 0; count > 0 && visited < 2 * max_factors; ++visited) {
    const NodeId node = pending[--count];
    const expr::Op* const op = &arena.op(node);
    if (std::ranges::find(ops, op) != ops.end()) return true;
    if (op != mul && op != divide && op != neg && op != sqr) continue;
    for (const NodeId input : arena.inputs(node)) {
      if (count < pending.size()) pending[count++] = input;
    }
  }
  return false;
}

}  // namespace

Factors factors_of(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const DType dtype = arena.type(root).dtype;
  Factors f;
  std::vector<std::pair<NodeId, bool>> pending{{root, true}};
  while (!pending.empty()) {
    const auto [node, up] = pending.back();
    pending.pop_back();
    const std::string_view name = arena.op(node).name;
    const bool splits =
        f.numerator.size() + f.denominator.size() + pending.size() < max_factors && arena.type(node).dtype == dtype;
    if (splits && (name == "mul" || name == "true_divide")) {
      pending.emplace_back(arena.input(node, 0), up);
      pending.emplace_back(arena.input(node, 1), name == "mul" ? up : !up);
    } else if (splits && name == "neg") {
      pending.emplace_back(arena.input(node, 0), up);
      f.negative = !f.negative;
    } else {
      (up ? f.numerator : f.denominator)
          .push_back(arena.type(node).dtype == dtype ? node : r.make("cast", {node}, {{"dtype", dtype}}));
    }
  }
  return f;
}

std::optional<Factors> factors_with(Rewriter& r, NodeId root, std::initializer_list<const expr::Op*> ops) {
  if (!is_float(r.arena().type(root).dtype) || !has_factor(r.arena(), root, ops)) return std::nullopt;
  return factors_of(r, root);
}

int cancel(Factors& f) {
  int cancelled = 0;
  std::erase_if(f.numerator, [&](NodeId factor) {
    const auto at = std::ranges::find(f.denominator, factor);
    if (at == f.denominator.end()) return false;
    f.denominator.erase(at);
    ++cancelled;
    return true;
  });
  return cancelled;
}

NodeId product(Rewriter& r, const Factors& f, NodeId root) {
  NodeId total = f.numerator.empty() ? r.constant(1, root) : f.numerator[0];
  for (std::size_t i = 1; i < f.numerator.size(); ++i) total = r.make("mul", {total, f.numerator[i]});
  for (const NodeId divisor : f.denominator) total = r.make("true_divide", {total, divisor});
  return f.negative ? r.make("neg", {total}) : total;
}

}  // namespace croton::rewrite

// Exponentials in products and logarithms, which overflow or underflow although the whole expression does not.
// Gradients are built before rewriting, and the factors of a pair may be far apart in their long products.
#include <algorithm>
#include <cmath>

#include "rewrite/rules/factors.hpp"
#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::NodeId;

namespace {

bool is_op(const Arena& arena, NodeId node, std::string_view name) { return arena.op(node).name == name; }

bool is_negative_of(const Arena& arena, NodeId a, NodeId b) {
  return is_op(arena, a, "neg") && arena.input(a, 0) == b && is_float(arena.type(b).dtype);  // unsigned integers wrap
}

bool are_opposite(const Arena& arena, NodeId a, NodeId b) {
  return is_negative_of(arena, a, b) || is_negative_of(arena, b, a);
}

/// Removes one power of a factor: the factor itself, or the square of sqr(x).
void remove_one(const Arena& arena, std::vector<NodeId>& factors, std::vector<NodeId>::iterator factor) {
  if (is_op(arena, *factor, "sqr"))
    *factor = arena.input(*factor, 0);
  else
    factors.erase(factor);
}

/// The first factor for which `is_wanted` holds, or its square.
template <class Wanted>
std::vector<NodeId>::iterator find_factor(const Arena& arena, std::vector<NodeId>& factors, Wanted is_wanted) {
  return std::ranges::find_if(factors, [&](NodeId factor) {
    return is_wanted(factor) || (is_op(arena, factor, "sqr") && is_wanted(arena.input(factor, 0)));
  });
}

/// The other operand of `sum`, one of whose operands is `e`, an exp or exp2: the same function, or a positive constant;
/// else no_node.
NodeId other_exponential(const Arena& arena, NodeId sum, NodeId e) {
  if (!is_op(arena, sum, "add")) return expr::no_node;
  const NodeId a = arena.input(sum, 0), b = arena.input(sum, 1), other = a == e ? b : a;
  if (a != e && b != e) return expr::no_node;
  if (const auto constant = arena.scalar_value(other)) return constant->as_double() > 0 ? other : expr::no_node;
  const bool same_kind = &arena.op(other) == &arena.op(e) && is_float(arena.type(arena.input(other, 0)).dtype) &&
                         is_float(arena.type(arena.input(e, 0)).dtype);
  return same_kind ? other : expr::no_node;
}

/// e / (e + other), as a sigmoid of the difference of the exponents.
NodeId sigmoid_of_difference(Rewriter& r, NodeId e, NodeId other) {
  const Arena& arena = r.arena();
  const bool base_two = is_op(arena, e, "exp2");
  NodeId difference = arena.input(e, 0);
  if (const auto constant = arena.scalar_value(other)) {
    const double exponent = base_two ? std::log2(constant->as_double()) : std::log(constant->as_double());
    if (exponent != 0) difference = r.make("sub", {difference, r.constant(exponent, e)});
  } else {
    difference = r.make("sub", {difference, arena.input(other, 0)});
  }
  return r.make("sigmoid", {base_two ? r.make("mul", {difference, r.constant(std::log(2.0), e)}) : difference});
}

/// Whether `e` is exp(x x), or exp(-x x).
bool is_exp_of_square(const Arena& arena, NodeId e, NodeId x, bool negative) {
  if (!is_op(arena, e, "exp")) return false;
  NodeId square = arena.input(e, 0);
  if (negative != is_op(arena, square, "neg")) return false;
  if (negative) square = arena.input(square, 0);
  const bool is_square =
      is_op(arena, square, "sqr") || (is_op(arena, square, "mul") && arena.input(square, 0) == arena.input(square, 1));
  if (!is_square) return false;
  const NodeId root = arena.input(square, 0);
  return root == x || are_opposite(arena, root, x);
}

}  // namespace

NodeId sigmoid_times_exp(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  static const expr::Op &exp = expr::op("exp"), &exp2 = expr::op("exp2");
  auto factors = factors_with(r, root, {&exp, &exp2});
  if (!factors) return expr::no_node;
  Factors& f = *factors;
  for (std::size_t i = 0; i < f.numerator.size(); ++i) {
    const NodeId e = f.numerator[i];
    if (&arena.op(e) != &exp && &arena.op(e) != &exp2) continue;
    const NodeId y = arena.input(e, 0);
    const auto sigmoid = find_factor(arena, f.numerator, [&](NodeId s) {
      return &arena.op(e) == &exp && is_op(arena, s, "sigmoid") && are_opposite(arena, arena.input(s, 0), y);
    });
    if (sigmoid != f.numerator.end()) {
      f.numerator[i] = r.make("sigmoid", {y});
      remove_one(arena, f.numerator, sigmoid);
      return product(r, f, root);
    }
    NodeId other = expr::no_node;
    const auto divisor = find_factor(arena, f.denominator, [&](NodeId d) {
      const NodeId found = other_exponential(arena, d, e);
      if (found != expr::no_node) other = found;
      return found != expr::no_node;
    });
    if (divisor == f.denominator.end()) continue;
    f.numerator[i] = sigmoid_of_difference(r, e, other);
    remove_one(arena, f.denominator, divisor);
    return product(r, f, root);
  }
  return expr::no_node;
}

NodeId exp_over_expm1(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  static const expr::Op& expm1 = expr::op("expm1");
  auto factors = factors_with(r, root, {&expm1});
  if (!factors) return expr::no_node;
  Factors& f = *factors;
  const auto exponent_of = [&](NodeId d) { return &arena.op(d) == &expm1 ? arena.input(d, 0) : expr::no_node; };
  for (auto e = f.numerator.begin(); e != f.numerator.end(); ++e) {
    if (!is_op(arena, *e, "exp") || !is_float(arena.type(arena.input(*e, 0)).dtype)) continue;
    const NodeId y = arena.input(*e, 0);
    const auto divisor = find_factor(arena, f.denominator, [&](NodeId d) { return exponent_of(d) == y; });
    if (divisor == f.denominator.end()) continue;
    f.numerator.erase(e);
    remove_one(arena, f.denominator, divisor);
    f.denominator.push_back(r.make("expm1", {r.make("neg", {y})}));
    f.negative = !f.negative;
    return product(r, f, root);
  }
  return expr::no_node;
}

NodeId exp_times_exp_of_minus(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  static const expr::Op& exp = expr::op("exp");
  auto factors = factors_with(r, root, {&exp});
  if (!factors) return expr::no_node;
  Factors& f = *factors;
  for (auto e = f.numerator.begin(); e != f.numerator.end(); ++e) {
    const auto is_inverse = [&](NodeId other) {
      return &arena.op(other) == &exp && are_opposite(arena, arena.input(other, 0), arena.input(*e, 0));
    };
    if (&arena.op(*e) != &exp) continue;
    const auto inverse = std::find_if(e + 1, f.numerator.end(), is_inverse);
    if (inverse == f.numerator.end()) continue;
    f.numerator.erase(inverse);
    f.numerator.erase(e);
    return product(r, f, root);
  }
  return expr::no_node;
}

NodeId erfc_times_exp(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  static const expr::Op& erfc = expr::op("erfc");
  auto factors = factors_with(r, root, {&erfc});
  if (!factors) return expr::no_node;
  Factors& f = *factors;
  for (auto* side : {&f.numerator, &f.denominator}) {
    auto* const opposite = side == &f.numerator ? &f.denominator : &f.numerator;
    for (NodeId& c : *side) {
      if (&arena.op(c) != &erfc || !is_float(arena.type(arena.input(c, 0)).dtype)) continue;
      const NodeId x = arena.input(c, 0);
      for (auto* const exps : {side, opposite}) {
        const auto e = std::ranges::find_if(
            *exps, [&](NodeId factor) { return is_exp_of_square(arena, factor, x, exps == opposite); });
        if (e == exps->end()) continue;
        c = r.make("erfcx", {x});
        exps->erase(e);
        return product(r, f, root);
      }
    }
  }
  return expr::no_node;
}

NodeId log_of_exp_and_constant(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId sum = arena.input(root, 0);
  const std::string_view exponential = is_op(arena, root, "log") ? "exp" : "exp2";
  if (!is_op(arena, sum, "add")) return expr::no_node;
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeId e = arena.input(sum, i);
    const auto constant = arena.scalar_value(arena.input(sum, 1 - i));
    if (!is_op(arena, e, exponential) || !constant || !(constant->as_double() > 0)) continue;
    const NodeId x = arena.input(e, 0);
    if (arena.type(x).dtype != arena.type(root).dtype) continue;
    const double c = constant->as_double();
    if (exponential == "exp") return r.make("logaddexp", {x, r.constant(std::log(c), x)});
    return r.make("logaddexp2", {x, r.constant(std::log2(c), x)});
  }
  return expr::no_node;
}

}  // namespace croton::rewrite

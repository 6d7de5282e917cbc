// Forms that only help the generated code.
#include <algorithm>
#include <cmath>

#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::NodeId;

/// x^n for whole n from 3 to 8 by products, instead of a logarithm and an exponential.
NodeId small_power(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  const auto exponent = arena.scalar_value(arena.input(root, 1));
  const DType dtype = arena.type(root).dtype;
  if (!exponent || arena.type(x).dtype != dtype || is_bool(dtype)) return expr::no_node;
  if (compute_dtype(dtype) != dtype) return expr::no_node;  // in 16 bits every product would be rounded
  const double value = exponent->as_double();
  const auto whole = static_cast<int>(std::floor(std::clamp(value, 0.0, 9.0)));
  if (value != whole || whole < 3 || whole > 8) return expr::no_node;
  const NodeId square = r.make("sqr", {x});
  NodeId power = whole >= 4 ? r.make("sqr", {square}) : square;  // x^4 or x^2
  if (whole == 8) power = r.make("sqr", {power});
  if (whole == 6 || whole == 7) power = r.make("mul", {power, square});
  return whole % 2 == 0 ? power : r.make("mul", {power, x});
}

/// x^1.5 is x sqrt(x), likewise 2.5 and -1.5.
NodeId half_power(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  const auto exponent = arena.scalar_value(arena.input(root, 1));
  if (!exponent || !is_float(arena.type(root).dtype) || arena.type(x).dtype != arena.type(root).dtype)
    return expr::no_node;
  if (exponent->d == 1.5) return r.make("mul", {x, r.make("sqrt", {x})});
  if (exponent->d == 2.5) return r.make("mul", {r.make("sqr", {x}), r.make("sqrt", {x})});
  if (exponent->d == -1.5) return r.make("true_divide", {r.make("rsqrt", {x}), x});
  return expr::no_node;
}

}  // namespace

std::span<const Rule> specialise_rules() {
  static const Rule rules[] = {
      {"transpose-product", "dimshuffle", "", "the product writes the order that is wanted", false,
       transpose_of_product},
      // After the rules for products with `where`: where(c, 1, 0) y is 0 if c is false, for all y.
      {"where-one-zero", "where(c, 1, 0) => c", "logical(c)", "a cast"},
      {"pow-small", "pow", "", "products are cheaper than exp and log", false, small_power},
      {"pow-halves", "pow", "", "a root is cheaper than exp and log; but (-inf)^1.5 is inf", true, half_power},
  };
  return rules;
}

}  // namespace croton::rewrite

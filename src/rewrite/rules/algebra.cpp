// Algebra that makes the graph cheaper.
#include <algorithm>
#include <cmath>

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::NodeId;

/// x / c is x * (1 / c) where that is exact: c a power of two.
NodeId divide_by_power_of_two(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const auto divisor = arena.scalar_value(arena.input(root, 1));
  if (!divisor || !is_float(divisor->dtype)) return expr::no_node;
  int exponent = 0;
  if (std::abs(std::frexp(divisor->d, &exponent)) != 0.5 || std::abs(exponent) > 100) return expr::no_node;
  return r.make("mul", {arena.input(root, 0), r.constant(1 / divisor->d, root)});
}

/// sum(x c) is c sum(x): one product instead of many.
NodeId factor_out_of_sum(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId product = arena.input(root, 0);
  if (arena.op(product).name != "mul" || !r.one_use(product) || !is_float(arena.type(root).dtype)) return expr::no_node;
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeId factor = arena.input(product, i), rest = arena.input(product, 1 - i);
    if (arena.type(rest).dtype != arena.type(root).dtype) continue;
    if (!arena.scalar_value(factor) || !arena.same_shape(arena.type(rest).shape, arena.type(product).shape)) continue;
    return r.make("mul", {r.make("sum", {rest}, expr::Attrs(arena.attrs(root))), factor});
  }
  return expr::no_node;
}

/// The sum of a repeated value is the value times how often it is there.
NodeId sum_of_repeated(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  if (arena.op(x).name != "alloc" || arena.type(arena.input(x, 0)).rank() != 0) return expr::no_node;
  const expr::Ints axes = arena.attrs(root).ints("axes");
  NodeId count = arena.integer(1);
  std::vector<NodeId> inputs{expr::no_node};
  for (std::size_t axis = 0; axis < arena.type(x).rank(); ++axis) {
    const NodeId size = arena.type(x).shape[axis];
    if (std::ranges::binary_search(axes, static_cast<std::int64_t>(axis)))
      count = arena.size_arithmetic("mul", count, size);
    else
      inputs.push_back(size);
  }
  inputs[0] = r.make("mul", {arena.input(x, 0), r.make("cast", {count}, {{"dtype", arena.type(root).dtype}})});
  return inputs.size() == 1 ? inputs[0] : r.make(expr::op("alloc"), inputs);
}

}  // namespace

std::span<const Rule> algebra_rules() {
  static const Rule rules[] = {
      {"div-power-of-two", "true_divide", "", "exact, and a product is cheaper", false, divide_by_power_of_two},
      {"div-div", "true_divide(true_divide(x, y), z) => true_divide(x, mul(y, z))", "float(x)",
       "a product is cheaper than a quotient"},
      {"sum-factor", "sum", "", "one product instead of many", false, factor_out_of_sum},
      {"sum-repeated", "sum", "", "nothing to add up", false, sum_of_repeated},
      {"sqr-neg", "sqr(neg(x)) => sqr(x)"},
      {"mul-reciprocal", "mul(x, reciprocal(y)) => true_divide(x, y)", "float(x)", "one rounding less"},
      {"rsqrt", "reciprocal(sqrt(x)) => rsqrt(x)"},
  };
  return rules;
}

}  // namespace croton::rewrite

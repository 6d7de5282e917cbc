// Algebra that makes the graph cheaper.
#include <cmath>

#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::NodeId;

/// x / c is x * (1 / c) if that is exact, for powers of two c.
NodeId divide_by_power_of_two(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const auto divisor = arena.scalar_value(arena.input(root, 1));
  if (!divisor || !is_float(divisor->dtype)) return expr::no_node;
  // The reciprocal must be a normal number too.
  const int most = divisor->dtype == DType::float16 ? 14 : 100;
  int exponent = 0;
  if (std::abs(std::frexp(divisor->d, &exponent)) != 0.5 || std::abs(exponent) > most) return expr::no_node;
  return r.make("mul", {arena.input(root, 0), r.constant(1 / divisor->d, root)});
}

/// where(c, exp(x), exp(y)) is exp(where(c, x, y)).
NodeId where_of_maps(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId a = arena.input(root, 1), b = arena.input(root, 2);
  if (arena.op(a).kind != expr::Kind::Map || &arena.op(a) != &arena.op(b) || arena.inputs(a).size() != 1)
    return expr::no_node;
  const NodeId x = arena.input(a, 0), y = arena.input(b, 0);
  const bool same = arena.type(x).dtype == arena.type(y).dtype && arena.type(a).dtype == arena.type(b).dtype;
  if (!same || !r.one_use(a) || !r.one_use(b)) return expr::no_node;
  return r.make(arena.op(a), std::vector{r.make("where", {arena.input(root, 0), x, y})}, expr::Attrs(arena.attrs(a)));
}

}  // namespace

std::span<const Rule> algebra_rules() {
  static const Rule rules[] = {
      {"div-power-of-two", "true_divide", "", "exact, and a product is cheaper", false, divide_by_power_of_two},
      {"div-div", "true_divide(true_divide(x, y), z) => true_divide(x, mul(y, z))", "float(x)",
       "a product is cheaper than a quotient, but y z may overflow", true},
      {"div-by-div", "true_divide(x, true_divide(y, z)) => true_divide(mul(x, z), y)", "float(x)",
       "a product is cheaper than a quotient, but y / z may be infinite or 0", true},
      {"div-rsqrt", "true_divide(x, rsqrt(y)) => mul(x, sqrt(y))", "float(x)",
       "a product is cheaper than a quotient; but y may be -0", true},
      {"mul-reciprocal", "mul(x, reciprocal(y)) => true_divide(x, y)", "float(x), same_shape(x, y)",
       "one rounding less; but 1 / y that serves many x is cheaper"},
      {"rsqrt", "reciprocal(sqrt(x)) => rsqrt(x)", "", "one function"},
      {"reciprocal-exp", "reciprocal(exp(x)) => exp(neg(x))", "float(x)", "no quotient; but exp(x) may overflow", true},
      {"div-exp", "true_divide(x, exp(y)) => mul(x, exp(neg(y)))", "float(x)", "no quotient; but exp(y) may overflow",
       true},
      {"sqrt-exp", "sqrt(exp(x)) => exp(mul(x, 0.5))", "float(x)", "one function less; but exp(x) may overflow", true},
      {"log-sqrt", "log(sqrt(x)) => mul(log(x), 0.5)", "float(x)", "a product for a root"},
      {"sqr-neg", "sqr(neg(x)) => sqr(x)", "", "the sign does not count"},
      {"logaddexp-zero", "logaddexp(x, 0) => softplus(x)", "float(x)", "one function"},
      {"where-maps", "where", "", "one function instead of two", false, where_of_maps},
      {"sum-one-place", "sum", "", "one term instead of many zeros; but nan and inf times 0 are nan", true,
       sum_of_one_place},
      {"max-at-argmax", "max | min", "", "one element computed again instead of all", false, max_at_argmax},
      {"sum-neg", "sum(neg(x), axes=A) => neg(sum(x, axes=A))", "", "one sign instead of many"},
      {"sum-factor", "sum", "",
       "one product instead of many; but sum(x) may overflow, and a sum of nothing over 0 is nan", true,
       factor_out_of_sum},
      {"sum-repeated", "sum | prod", "", "nothing to add up; but nan 0 times is nan", true, reduce_of_repeated},
      {"max-repeated", "max | min | all | any", "", "nothing to compare", false, reduce_of_repeated},
      {"max-neg", "max(neg(x), axes=A) => neg(min(x, axes=A))", "float(x)", "one sign instead of many"},
      {"min-neg", "min(neg(x), axes=A) => neg(max(x, axes=A))", "float(x)", "one sign instead of many"},
      {"argmax-neg", "argmax(neg(x), axes=A) => argmin(x, axes=A)", "float(x)", "no signs"},
      {"argmin-neg", "argmin(neg(x), axes=A) => argmax(x, axes=A)", "float(x)", "no signs"},
      {"all-not", "all(invert(x), axes=A) => invert(any(x, axes=A))", "logical(x)", "one not instead of many"},
      {"any-not", "any(invert(x), axes=A) => invert(all(x, axes=A))", "logical(x)", "one not instead of many"},
      {"subtensor-map", "subtensor", "", "only the elements that are read are computed", false, subtensor_of_map},
      {"subtensor-reduce", "subtensor", "", "only the elements that are read are computed", false, subtensor_of_reduce},
      {"subtensor-dot", "subtensor", "", "only the elements that are read are computed", false, subtensor_of_product},
      {"dot-zeros", "dot", "", "nothing to compute; but nan and inf times 0 are nan", true, product_with_zeros},
      {"dot-outer", "dot", "", "nothing to add up, and a map fuses", false, outer_product},
      {"dot-scaled", "dot", "",
       "the factor goes into the routine, or is applied to the result; but sums of unscaled products may overflow",
       true, scaled_product},
      {"dot-dot", "dot", "", "fewer multiplications in the other order; but inf 0 is nan, and other sums may overflow",
       true, chain_of_products},
      {"dot-powers", "dot", "", "powers by squaring need fewer products; but inf 0 is nan", true, power_by_squaring},
  };
  return rules;
}

}  // namespace croton::rewrite

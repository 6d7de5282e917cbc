// The canonical form of equal expressions: constants are folded, neutral elements and repeated work removed, views
// merged.
#include <algorithm>

#include "expr/axes.hpp"
#include "rewrite/nary.hpp"
#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Kind;
using expr::NodeId;

std::vector<expr::Ints::value_type> pattern_of(const Arena& arena, NodeId node) {
  return arena.attrs(node).ints("pattern");
}

/// Simplifies comparisons of sizes with numbers: a size is at least 0.
NodeId compare_size(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const std::string_view name = arena.op(root).name;
  const NodeId size = arena.input(root, 0);
  const auto bound = arena.scalar_value(arena.input(root, 1));
  if (arena.op(size).name != "size" || !bound || !is_discrete(bound->dtype)) return expr::no_node;
  if (name == "maximum") return bound->as_int() <= 0 && bound->dtype != DType::uint64 ? size : expr::no_node;
  return bound->as_double() == 0 ? r.constant(name == "ge" ? 1 : 0, root) : expr::no_node;
}

/// A map over constants is a constant.
NodeId fold(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const expr::Op& op = arena.op(root);
  std::vector<DType> dtypes;
  std::vector<expr::Scalar> values;
  for (const NodeId input : arena.inputs(root)) {
    const auto value = arena.scalar_value(input);
    if (!value) return expr::no_node;
    values.push_back(*value);
    dtypes.push_back(value->dtype);
  }
  if (values.empty() || !op.map->foldable) return expr::no_node;
  const DType result = arena.type(root).dtype;
  if (op.name != "cast") {
    const DType operand = op.map->types(dtypes).operand;
    for (std::size_t i = op.name == "where" ? 1 : 0; i < values.size(); ++i) values[i] = values[i].cast(operand);
  }
  // Integers that wrap may be sizes, where that is an error: it is reported where they are used as sizes.
  if (!expr::is_exact(op, values, result)) return expr::no_node;
  return arena.scalar(op.map->reference(values, result));
}

/// Casts constant operands to the dtype in which the op computes: x / 2 of floats divides by 2.0, whatever the dtype of
/// the 2.
NodeId constant_dtype(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const expr::Op& op = arena.op(root);
  if (op.name == "cast") return expr::no_node;
  std::vector<NodeId> inputs(arena.inputs(root).begin(), arena.inputs(root).end());
  std::vector<DType> dtypes;
  for (const NodeId input : inputs) dtypes.push_back(arena.type(input).dtype);
  const DType operand = op.map->types(dtypes).operand;
  bool changed = false;
  for (std::size_t i = op.name == "where" ? 1 : 0; i < inputs.size(); ++i) {
    const auto value = arena.scalar_value(inputs[i]);
    if (!value || value->dtype == operand) continue;
    inputs[i] = arena.scalar(value->cast(operand));
    changed = true;
  }
  return changed ? r.make(op, inputs) : expr::no_node;
}

/// Uses a value instead of its alloc, or of its view with new leading axes, if another operand has the sizes.
NodeId drop_broadcast(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const auto count = arena.inputs(root).size();
  if (count < 2) return expr::no_node;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId input = arena.input(root, i);
    NodeId inner = expr::no_node;
    if (arena.op(input).name == "alloc") inner = arena.input(input, 0);
    if (arena.op(input).name == "dimshuffle") {
      // Only leading new axes: the other axes are aligned at the end as before.
      const auto pattern = pattern_of(arena, input);
      const auto first = std::ranges::find_if(pattern, [](std::int64_t axis) { return axis >= 0; });
      const bool in_order = std::ranges::is_sorted(first, pattern.end()) &&
                            pattern.end() - first == std::ssize(arena.type(arena.input(input, 0)).shape);
      if (pattern.size() > arena.type(arena.input(input, 0)).rank() && in_order) inner = arena.input(input, 0);
    }
    if (inner == expr::no_node) continue;
    std::vector<NodeId> inputs(arena.inputs(root).begin(), arena.inputs(root).end());
    inputs[i] = inner;
    // The other operands must have all sizes of the result.
    std::size_t rank = 0;
    for (const NodeId other : inputs) rank = std::max(rank, arena.type(other).rank());
    const auto& shape = arena.type(root).shape;
    if (rank != shape.size()) continue;
    bool same = true;
    for (std::size_t axis = 0; axis < rank && same; ++axis) {
      same = arena.known(shape[axis]) == 1;
      for (const NodeId other : inputs) {
        const auto& sizes = arena.type(other).shape;
        const std::size_t missing = rank - sizes.size();
        same = same || (axis >= missing && arena.same_dim(sizes[axis - missing], shape[axis]));
      }
    }
    if (same) return r.make(arena.op(root), inputs, expr::Attrs(arena.attrs(root)));
  }
  return expr::no_node;
}

/// Orders operands: constants last, before them later nodes.
NodeId order_operands(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId a = arena.input(root, 0), b = arena.input(root, 1);
  const bool a_constant = arena.scalar_value(a).has_value(), b_constant = arena.scalar_value(b).has_value();
  const bool swap = a_constant != b_constant ? a_constant : a > b;
  return swap && a != b ? r.make(arena.op(root), std::vector{b, a}) : expr::no_node;
}

NodeId identity_view(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  if (arena.op(root).name == "dimshuffle") {
    const auto pattern = pattern_of(arena, root);
    const auto& shape = arena.type(x).shape;
    if (pattern.size() != shape.size()) return expr::no_node;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const bool added_again =
          pattern[i] == -1 && arena.known(shape[i]) == 1;  // an axis of size 1 is dropped and added again
      if (std::cmp_not_equal(pattern[i], i) && !added_again) return expr::no_node;
    }
    return x;
  }
  return arena.same_shape(arena.type(x).shape, arena.type(root).shape) ? x : expr::no_node;
}

NodeId merge_dimshuffles(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (arena.op(inner).name != "dimshuffle") return expr::no_node;
  const expr::Ints merged = expr::composed_pattern(pattern_of(arena, root), pattern_of(arena, inner));
  return r.make("dimshuffle", {arena.input(inner, 0)}, {{"pattern", merged}});
}

/// reshape(reshape(x)) is reshape(x); so is the reshape of a view that only adds or drops axes of size 1.
NodeId merge_reshapes(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (arena.op(inner).name == "dimshuffle") {
    auto pattern = pattern_of(arena, inner);
    std::erase(pattern, -1);
    if (!std::ranges::is_sorted(pattern)) return expr::no_node;
  } else if (arena.op(inner).name != "reshape") {
    return expr::no_node;
  }
  std::vector<NodeId> inputs(arena.inputs(root).begin(), arena.inputs(root).end());
  inputs[0] = arena.input(inner, 0);
  return r.make(arena.op(root), inputs);
}

/// alloc(alloc(x)) is one alloc.
NodeId merge_allocs(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (arena.op(inner).name != "alloc") return expr::no_node;
  std::vector<NodeId> inputs(arena.inputs(root).begin(), arena.inputs(root).end());
  inputs[0] = arena.input(inner, 0);
  return r.make(arena.op(root), inputs);
}

NodeId repeated_scalar(const Arena& arena, NodeId node) {
  while (arena.type(node).rank() > 0 && (arena.op(node).name == "alloc" || arena.op(node).name == "dimshuffle"))
    node = arena.input(node, 0);
  return arena.type(node).rank() == 0 ? node : expr::no_node;
}

/// `scalar` with the sizes of `root`.
NodeId repeat(Rewriter& r, NodeId scalar, NodeId root) {
  std::vector<NodeId> inputs{scalar};
  for (const NodeId size : r.arena().type(root).shape) inputs.push_back(r.arena().representative(size));
  return inputs.size() == 1 ? scalar : r.make(expr::op("alloc"), inputs);
}

/// A view of a repeated scalar is the scalar repeated with other sizes.
NodeId view_of_repeated(Rewriter& r, NodeId root) {
  const NodeId x = r.arena().input(root, 0);
  if (r.arena().type(x).rank() == 0) return expr::no_node;
  const NodeId scalar = repeated_scalar(r.arena(), x);
  return scalar == expr::no_node ? expr::no_node : repeat(r, scalar, root);
}

/// A map of repeated scalars, or of one repeated operand, is computed once and repeated.
NodeId map_of_repeated(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  if (arena.type(root).rank() == 0) return expr::no_node;
  const auto operands = arena.inputs(root);
  if (operands.size() == 1 && arena.op(operands[0]).name == "alloc") {
    std::vector<NodeId> inputs(arena.inputs(operands[0]).begin(), arena.inputs(operands[0]).end());
    inputs[0] = r.make(arena.op(root), std::vector{inputs[0]}, expr::Attrs(arena.attrs(root)));
    return r.make(expr::op("alloc"), inputs);
  }
  std::vector<NodeId> scalars;
  for (const NodeId input : arena.inputs(root)) {
    scalars.push_back(repeated_scalar(arena, input));
    if (scalars.back() == expr::no_node) return expr::no_node;
  }
  return repeat(r, r.make(arena.op(root), scalars, expr::Attrs(arena.attrs(root))), root);
}

/// Whether `to` can represent every value of `from`.
bool can_represent(DType to, DType from) {
  const bool rounds = is_integer(from) && size_of(from) == 8 && !is_discrete(to);  // 53 bits of 64
  return can_cast_safely(from, to) && !rounds;
}

/// Whether a cast through an intermediate type equals the direct cast. Integers wrap and casts from floats saturate, so
/// a cast from an integer through a float to a narrower integer does not.
bool is_one_cast(DType from, DType intermediate, DType to) {
  if (!can_represent(intermediate, from)) return false;
  const bool saturates = is_integer(from) && !is_discrete(intermediate) && is_integer(to);
  return !saturates || can_represent(to, from);
}

/// cast(cast(x)) is one cast if the first does not change the result.
NodeId merge_casts(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  const DType to = arena.type(root).dtype;
  if (arena.type(inner).dtype == to) return inner;
  if (arena.op(inner).name != "cast") return expr::no_node;
  const NodeId x = arena.input(inner, 0);
  if (!is_one_cast(arena.type(x).dtype, arena.type(inner).dtype, to)) return expr::no_node;
  return r.make("cast", {x}, {{"dtype", to}});
}

}  // namespace

std::span<const Rule> canonical_rules() {
  static const std::string maps = [] {
    std::string names;
    for (const expr::Op* op : expr::all_ops()) {
      if (op->kind == Kind::Map) names += (names.empty() ? "" : " | ") + std::string(op->name);
    }
    return names;
  }();
  static const Rule rules[] = {
      {"fold", maps, "", "arithmetic on constants is done once", false, fold},
      {"constant-dtype", maps, "", "one constant for equal values", false, constant_dtype},
      {"cast-cast", "cast", "", "a cast to the same type, or after one that loses nothing", false, merge_casts},
      {"add-zero", "add(x, 0) => x", "", "the neutral element; but -0 + 0 is 0", true},
      {"sub-zero", "sub(x, 0) => x", "", "the neutral element"},
      {"zero-sub", "sub(0, x) => neg(x)", "signed(x)",
       "a sign is cheaper, and combines with other signs; but 0 - 0 is 0", true},
      {"mul-one", "mul(x, 1) => x", "", "the neutral element"},
      {"mul-zero", "mul(x, 0) => 0", "", "nothing is left; but nan and inf times 0 are nan", true},
      {"div-one", "true_divide(x, 1) => x", "", "the neutral element"},
      {"zero-div", "true_divide(0, x) => 0", "", "nothing is left; but 0 / 0 is nan", true},
      {"sub-self", "sub(x, x) => 0", "", "nothing is left; but inf - inf is nan", true},
      {"div-self", "true_divide(x, x) => 1", "", "nothing is left; but 0 / 0 is nan", true},
      {"neg-neg", "neg(neg(x)) => x", "", "the second undoes the first"},
      {"add-neg", "add(x, neg(y)) => sub(x, y)", "", "no separate sign"},
      {"sub-neg", "sub(x, neg(y)) => add(x, y)", "", "no separate sign"},
      {"neg-sub", "neg(sub(x, y)) => sub(y, x)", "", "no separate sign; but -(x - x) is -0", true},
      {"mul-neg", "mul(x, neg(y)) => neg(mul(x, y))", "", "signs move outwards, where they cancel"},
      {"div-neg", "true_divide(neg(x), y) => neg(true_divide(x, y))", "", "signs move outwards, where they cancel"},
      {"div-by-neg", "true_divide(x, neg(y)) => neg(true_divide(x, y))", "", "signs move outwards, where they cancel"},
      {"mul-constants", "mul(mul(x, a:const), b:const) => mul(x, {mul(a, b)})", "", "rounds once instead of twice"},
      {"add-constants", "add(add(x, a:const), b:const) => add(x, {add(a, b)})", "", "one constant instead of two"},
      {"neg-mul-constant", "neg(mul(x, a:const)) => mul(x, {neg(a)})", "", "one constant instead of two"},
      {"mul-minus-one", "mul(x, -1) => neg(x)", "", "a sign is cheaper, and combines with other signs"},
      {"floor-divide-one", "floor_divide(x, 1) => x", "discrete(x)", "the neutral element"},
      {"zero-floor-divide", "floor_divide(0, x) => 0", "discrete(x)", "0 // 0 is 0"},
      {"mod-one", "mod(x, 1) => 0", "discrete(x)", "whole numbers leave no remainder"},
      {"zero-mod", "mod(0, x) => 0", "discrete(x)", "0 % 0 is 0"},
      {"pow-one", "pow(x, 1) => x", "", "the neutral element"},
      {"pow-zero", "pow(x, 0) => 1", "", "1 whatever x is, nan too, as C's pow"},
      {"one-pow", "pow(1, x) => 1", "", "1 whatever x is, nan too, as C's pow"},
      {"pow-two", "pow(x, 2) => sqr(x)", "", "one operation instead of a function"},
      {"pow-minus-one", "pow(x, -1) => reciprocal(x)", "float(x)", "one operation instead of a function"},
      {"pow-minus-two", "pow(x, -2) => reciprocal(sqr(x))", "float(x)",
       "a quotient instead of a function; but x x may overflow", true},
      {"pow-half", "pow(x, 0.5) => sqrt(x)", "float(x)",
       "a root instead of a function; but (-inf)^0.5 is inf and (-0)^0.5 is 0", true},
      {"pow-minus-half", "pow(x, -0.5) => rsqrt(x)", "float(x)",
       "a root instead of a function; but (-inf)^-0.5 is 0 and (-0)^-0.5 is inf", true},
      {"two-pow", "pow(2, x) => exp2(x)", "float(x)", "one function instead of two"},
      {"pow-exp", "pow(exp(x), c:const) => exp(mul(x, c))", "float(x)",
       "a product instead of a function; but exp(x) may overflow", true},
      {"reciprocal-reciprocal", "reciprocal(reciprocal(x)) => x", "float(x)",
       "the second undoes the first; but 1 / x may overflow", true},
      {"reciprocal-div", "reciprocal(true_divide(x, y)) => true_divide(y, x)", "float(x)",
       "one quotient instead of two; but x / y may overflow", true},
      {"div-reciprocal", "true_divide(x, reciprocal(y)) => mul(x, y)", "float(x)",
       "a product instead of two quotients; but 1 / y may overflow", true},
      {"mul-self", "mul(x, x) => sqr(x)", "", "one operand, and one form that other rules recognise"},
      {"sqrt-sqr", "sqrt(sqr(x)) => abs(x)", "float(x)", "a root undoes a square; but x x may overflow", true},
      {"sqr-sqrt", "sqr(sqrt(x)) => where(ge(x, 0), x, nan)", "float(x)", "a square undoes a root; but of -0 it is 0",
       true},
      {"sqr-abs", "sqr(abs(x)) => sqr(x)", "", "the sign does not count"},
      {"abs-abs", "abs(abs(x)) => abs(x)", "", "it is not negative"},
      {"abs-neg", "abs(neg(x)) => abs(x)", "signed(x)", "the sign does not count"},
      {"abs-sqr", "abs(sqr(x)) => sqr(x)", "float(x)", "integers wrap"},
      {"abs-exp", "abs(exp(x)) => exp(x)", "float(x)", "it is not negative"},
      {"abs-sigmoid", "abs(sigmoid(x)) => sigmoid(x)", "float(x)", "it is not negative"},
      {"mul-abs", "mul(abs(x), abs(y)) => abs(mul(x, y))", "float(x)", "one op less; integers wrap"},
      {"div-abs", "true_divide(abs(x), abs(y)) => abs(true_divide(x, y))", "float(x)", "one op less"},
      {"sgn-sgn", "sgn(sgn(x)) => sgn(x)", "", "it is a sign already"},
      {"log-exp", "log(exp(x)) => x", "float(x)", "the function undoes the other; but exp(x) may overflow", true},
      {"log2-exp2", "log2(exp2(x)) => x", "float(x)", "the function undoes the other; but exp2(x) may overflow", true},
      {"log1p-expm1", "log1p(expm1(x)) => x", "float(x)", "the function undoes the other; but expm1(x) may overflow",
       true},
      {"exp-log", "exp(log(x)) => where(ge(x, 0), x, nan)", "float(x)", "log is nan below 0"},
      {"exp2-log2", "exp2(log2(x)) => where(ge(x, 0), x, nan)", "float(x)", "log2 is nan below 0"},
      {"expm1-log1p", "expm1(log1p(x)) => where(ge(x, -1), x, nan)", "float(x)", "log1p is nan below -1"},
      {"exp-log1p", "exp(log1p(x)) => where(ge(x, -1), add(x, 1), nan)", "float(x)", "log1p is nan below -1"},
      {"exp-log1mexp", "exp(log1mexp(x)) => where(le(x, 0), neg(expm1(x)), nan)", "float(x)",
       "log1mexp is nan above 0"},
      {"exp-logaddexp", "exp(logaddexp(x, y)) => add(exp(x), exp(y))", "float(x), float(y)",
       "the function undoes the logarithm"},
      {"logaddexp-self", "logaddexp(x, x) => add(x, 0.6931471805599453)", "float(x)", "log(2 exp(x))"},
      {"floor-whole", "floor(x) => x", "discrete(x)", "it is whole already"},
      {"ceil-whole", "ceil(x) => x", "discrete(x)", "it is whole already"},
      {"trunc-whole", "trunc(x) => x", "discrete(x)", "it is whole already"},
      {"round-whole", "round(x) => x", "discrete(x)", "it is whole already"},
      {"max-same", "maximum(x, x) => x", "", "both are the same"},
      {"min-same", "minimum(x, x) => x", "", "both are the same"},
      {"max-constants", "maximum(maximum(x, a:const), b:const) => maximum(x, {maximum(a, b)})", "",
       "one constant instead of two"},
      {"min-constants", "minimum(minimum(x, a:const), b:const) => minimum(x, {minimum(a, b)})", "",
       "one constant instead of two"},
      {"maximum-neg", "maximum(neg(x), neg(y)) => neg(minimum(x, y))", "float(x)", "one sign instead of two"},
      {"minimum-neg", "minimum(neg(x), neg(y)) => neg(maximum(x, y))", "float(x)", "one sign instead of two"},
      // A gradient that is 0 where a condition fails stays 0 whatever it is multiplied with: where(x > 0, log(x), 0)
      // has one at 0.
      {"where-mul", "mul(where(c, x, 0), y) => where(c, mul(x, y), 0)", "",
       "the branch that is not chosen is not multiplied; but nan and inf times 0 are nan", true},
      {"where-div", "true_divide(where(c, x, 0), y) => where(c, true_divide(x, y), 0)", "",
       "the branch that is not chosen is not divided; but 0 / 0 is nan", true},
      {"where-mul-else", "mul(where(c, 0, x), y) => where(c, 0, mul(x, y))", "",
       "the branch that is not chosen is not multiplied; but nan and inf times 0 are nan", true},
      {"where-div-else", "true_divide(where(c, 0, x), y) => where(c, 0, true_divide(x, y))", "",
       "the branch that is not chosen is not divided; but 0 / 0 is nan", true},
      {"where-add", "add(where(c, x, 0), where(c, 0, y)) => where(c, x, y)", "",
       "each of them is 0 where the other is not; but -0 + 0 is 0", true},
      {"where-same", "where(c, x, x) => x", "", "both are the same"},
      {"where-true", "where(1, x, y) => x", "", "the condition is known"},
      {"where-false", "where(0, x, y) => y", "", "the condition is known"},
      {"where-not", "where(invert(c), x, y) => where(c, y, x)", "logical(c)", "one operation less"},
      {"where-then", "where(c, where(c, x, y), z) => where(c, x, z)", "", "the same condition was tested before"},
      {"where-else", "where(c, x, where(c, y, z)) => where(c, x, z)", "", "the same condition was tested before"},
      {"not-not", "invert(invert(x)) => x", "", "the second undoes the first"},
      {"not-eq", "invert(eq(x, y)) => neq(x, y)", "", "one operation less"},
      {"not-neq", "invert(neq(x, y)) => eq(x, y)", "", "one operation less"},
      {"not-lt", "invert(lt(x, y)) => ge(x, y)", "discrete(x)", "nan is neither"},
      {"not-le", "invert(le(x, y)) => gt(x, y)", "discrete(x)", "nan is neither"},
      {"not-gt", "invert(gt(x, y)) => le(x, y)", "discrete(x)", "nan is neither"},
      {"not-ge", "invert(ge(x, y)) => lt(x, y)", "discrete(x)", "nan is neither"},
      {"lt-self", "lt(x, x) => 0", "", "nothing is less than itself, nan neither"},
      {"gt-self", "gt(x, x) => 0", "", "nothing is less than itself, nan neither"},
      {"size-sign", "lt | ge | maximum", "", "sizes are at least 0", false, compare_size},
      {"le-self", "le(x, x) => 1", "", "nothing to compare; but nan is not", true},
      {"ge-self", "ge(x, x) => 1", "", "nothing to compare; but nan is not", true},
      {"eq-self", "eq(x, x) => 1", "", "nothing to compare; but nan is not", true},
      {"neq-self", "neq(x, x) => 0", "", "nothing to compare; but nan is", true},
      {"neq-false", "neq(x, 0) => x", "logical(x)", "a bool is the result itself"},
      {"eq-false", "eq(x, 0) => invert(x)", "logical(x)", "a bool is the result itself"},
      {"and-same", "and(x, x) => x", "", "both are the same"},
      {"or-same", "or(x, x) => x", "", "both are the same"},
      {"xor-same", "xor(x, x) => 0", "", "each bit is combined with itself"},
      {"and-zero", "and(x, 0) => 0", "", "every x gives this result"},
      {"or-zero", "or(x, 0) => x", "", "the neutral element"},
      {"xor-zero", "xor(x, 0) => x", "", "the neutral element"},
      {"and-true", "and(x, 1) => x", "logical(x)", "the neutral element"},
      {"or-true", "or(x, 1) => 1", "logical(x)", "every x gives this result"},
      {"cancel", "mul | true_divide", "", "x y / x is y, but 0 / 0 is nan", true, cancel_factors},
      {"cancel-powers", "mul | true_divide", "", "x^a / x is x^(a - 1), but 0 / 0 is nan", true, cancel_powers},
      {"collect-constants", "mul | true_divide", "", "one constant for a whole product; but a part of it may overflow",
       true, collect_constants},
      {"cancel-terms", "add | sub | neg", "", "x + y - x is y, but inf - inf is nan", true, cancel_terms},
      {"collect-terms", "add | sub | neg", "", "one term for equal ones in a whole sum", false, collect_terms},
      {"order", "add | mul | maximum | minimum | eq | neq | and | or | xor", "", "constants last, then by age", false,
       order_operands},
      {"drop-broadcast", maps, "", "maps broadcast their operands", false, drop_broadcast},
      {"map-repeated", maps, "", "a repeated value is computed once", false, map_of_repeated},
      {"same-view", "dimshuffle | reshape | alloc | specify_shape", "", "a view that changes nothing", false,
       identity_view},
      {"whole-part", "subtensor", "", "all of it", false, whole_subtensor},
      {"added-axis-read", "subtensor", "", "the only row of an axis that was added", false, subtensor_of_added_axis},
      {"read-back", "subtensor", "", "the value that was written there", false, read_written_part},
      {"part-of-join", "subtensor", "", "one part instead of all", false, subtensor_of_join},
      {"join", "concatenate", "", "fewer parts: without empty ones, and neighbours in one array together", false,
       simplify_join},
      {"write-all", "set_subtensor | inc_subtensor | subtensor_grad", "", "nothing is left of x", false, write_to_all},
      {"write-same", "set_subtensor | inc_subtensor", "", "x is read only where it is written", false,
       write_same_value},
      {"write-again", "set_subtensor | inc_subtensor", "", "written once", false, write_again},
      {"write-zeros", "set_subtensor | inc_subtensor", "", "zeros are not read", false, write_among_zeros},
      {"dimshuffles", "dimshuffle", "", "two shuffles are one", false, merge_dimshuffles},
      {"reshapes", "reshape", "", "only the last shape counts", false, merge_reshapes},
      {"allocs", "alloc", "", "only the last sizes count", false, merge_allocs},
      {"view-repeated", "dimshuffle | reshape | subtensor", "", "all elements are the same", false, view_of_repeated},
      {"subtensors", "subtensor", "", "one index instead of two", false, subtensor_of_subtensor},
      {"reduce-one", "sum | prod | max | min | all | any", "", "an axis of one element is its element", false,
       reduce_unit_axes},
      {"reduce-reduce", "sum | prod | max | min | all | any", "", "one pass over the elements", false,
       reduce_of_reduce},
      {"reduce-dimshuffle", "sum | prod | max | min | all | any | argmax | argmin", "", "read in the order of memory",
       false, reduce_of_dimshuffle},
  };
  return rules;
}

}  // namespace croton::rewrite

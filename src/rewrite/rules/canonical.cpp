// One form for equal things: constants folded, neutral elements and double work gone, views merged.
#include <algorithm>

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Kind;
using expr::NodeId;

std::vector<expr::Ints::value_type> pattern_of(const Arena& arena, NodeId node) {
  return arena.attrs(node).ints("pattern");
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
  return arena.scalar(op.map->reference(values, result));
}

/// A constant operand in the dtype in which the op computes: x / 2 of floats divides by 2.0, however the 2 was written.
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

/// A repeated value or a scalar under new axes is the value itself, where another operand has the sizes.
NodeId drop_broadcast(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const auto count = arena.inputs(root).size();
  if (count < 2) return expr::no_node;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId input = arena.input(root, i);
    NodeId inner = expr::no_node;
    if (arena.op(input).name == "alloc") inner = arena.input(input, 0);
    if (arena.op(input).name == "dimshuffle") {
      // Only leading new axes: what is left is aligned at the end as before.
      const auto pattern = pattern_of(arena, input);
      const auto first = std::ranges::find_if(pattern, [](std::int64_t axis) { return axis >= 0; });
      const bool in_order = std::ranges::is_sorted(first, pattern.end()) &&
                            static_cast<std::size_t>(pattern.end() - first) == arena.type(arena.input(input, 0)).rank();
      if (pattern.size() > arena.type(arena.input(input, 0)).rank() && in_order) inner = arena.input(input, 0);
    }
    if (inner == expr::no_node) continue;
    std::vector<NodeId> inputs(arena.inputs(root).begin(), arena.inputs(root).end());
    inputs[i] = inner;
    // Do the others still give the sizes? Then nothing else changes.
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

/// Constants and then later nodes to the right.
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
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != static_cast<std::int64_t>(i)) return expr::no_node;
    }
    return pattern.size() == arena.type(x).rank() ? x : expr::no_node;
  }
  return arena.same_shape(arena.type(x).shape, arena.type(root).shape) ? x : expr::no_node;
}

/// x[:, :] is x.
NodeId whole_part(Rewriter& r, NodeId root) {
  const expr::Ints& spec = r.arena().attrs(root).ints("spec");
  for (std::size_t i = 0; i < spec.size(); i += 4) {
    if (spec[i] != 1 || spec[i + 1] != 0 || spec[i + 2] != 0 || spec[i + 3] != 1) return expr::no_node;
  }
  return r.arena().input(root, 0);
}

NodeId merge_dimshuffles(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (arena.op(inner).name != "dimshuffle") return expr::no_node;
  const auto outer_pattern = pattern_of(arena, root), inner_pattern = pattern_of(arena, inner);
  expr::Ints merged;
  for (const std::int64_t axis : outer_pattern)
    merged.push_back(axis < 0 ? -1 : inner_pattern[static_cast<std::size_t>(axis)]);
  return r.make("dimshuffle", {arena.input(inner, 0)}, {{"pattern", merged}});
}

NodeId merge_reshapes(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (arena.op(inner).name != "reshape") return expr::no_node;
  std::vector<NodeId> inputs(arena.inputs(root).begin(), arena.inputs(root).end());
  inputs[0] = arena.input(inner, 0);
  return r.make(arena.op(root), inputs);
}

/// A reduction over axes of size 1, or over none, only drops them.
NodeId reduce_nothing(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  if (arena.op(root).reduce->yields_index) return expr::no_node;
  expr::Ints left, dropped;
  for (const std::int64_t axis : arena.attrs(root).ints("axes")) {
    const bool one = arena.known(arena.type(x).shape[static_cast<std::size_t>(axis)]) == 1;
    (one ? dropped : left).push_back(axis);
  }
  if (!left.empty() && dropped.empty()) return expr::no_node;
  expr::Ints pattern;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(arena.type(x).rank()); ++axis) {
    if (!std::ranges::binary_search(dropped, axis)) pattern.push_back(axis);
  }
  const NodeId squeezed = r.make("dimshuffle", {x}, {{"pattern", pattern}});
  if (left.empty()) return squeezed;
  expr::Ints moved;
  for (const std::int64_t axis : left) moved.push_back(std::ranges::find(pattern, axis) - pattern.begin());
  return r.make(arena.op(root), std::vector{squeezed}, {{"axes", moved}});
}

/// cast(cast(x)) is one cast where the first loses nothing.
NodeId merge_casts(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  const DType to = arena.type(root).dtype;
  if (arena.type(inner).dtype == to) return inner;
  if (arena.op(inner).name != "cast") return expr::no_node;
  const NodeId x = arena.input(inner, 0);
  if (!can_cast_safely(arena.type(x).dtype, arena.type(inner).dtype)) return expr::no_node;
  return r.make("cast", {x}, {{"dtype", to}});
}

/// Shared factors above and below the line cancel, and signs gather at the front: one pass over the whole product.
NodeId cancel_factors(Rewriter& r, NodeId root) {
  constexpr std::size_t max_factors = 32;
  Arena& arena = r.arena();
  const DType dtype = arena.type(root).dtype;
  if (!is_float(dtype)) return expr::no_node;
  std::vector<NodeId> above, below;
  bool negative = false;
  std::vector<std::pair<NodeId, bool>> pending{{root, true}};
  bool divides = false;
  while (!pending.empty()) {
    const auto [node, up] = pending.back();
    pending.pop_back();
    const std::string_view name = arena.op(node).name;
    const bool open = above.size() + below.size() + pending.size() < max_factors && arena.type(node).dtype == dtype;
    if (open && name == "mul") {
      pending.emplace_back(arena.input(node, 0), up);
      pending.emplace_back(arena.input(node, 1), up);
    } else if (open && name == "true_divide") {
      pending.emplace_back(arena.input(node, 0), up);
      pending.emplace_back(arena.input(node, 1), !up);
      divides = true;
    } else if (open && name == "neg") {
      pending.emplace_back(arena.input(node, 0), up);
      negative = !negative;
    } else {
      // A factor of another dtype would multiply its like in that dtype.
      const NodeId factor = arena.type(node).dtype == dtype ? node : r.make("cast", {node}, {{"dtype", dtype}});
      (up ? above : below).push_back(factor);
    }
  }
  if (!divides) return expr::no_node;
  bool cancelled = false;
  std::erase_if(above, [&](NodeId factor) {
    const auto at = std::ranges::find(below, factor);
    if (at == below.end() || arena.scalar_value(factor)) return false;
    below.erase(at);
    cancelled = true;
    return true;
  });
  if (!cancelled) return expr::no_node;
  const auto product = [&](const std::vector<NodeId>& factors) {
    if (factors.empty()) return r.constant(1, root);
    NodeId total = factors[0];
    for (std::size_t i = 1; i < factors.size(); ++i) total = r.make("mul", {total, factors[i]});
    return total;
  };
  NodeId result = product(above);
  if (!below.empty()) result = r.make("true_divide", {result, product(below)});
  return negative ? r.make("neg", {result}) : result;
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
      {"add-zero", "add(x, 0) => x"},
      {"sub-zero", "sub(x, 0) => x"},
      {"zero-sub", "sub(0, x) => neg(x)", "signed(x)"},
      {"mul-one", "mul(x, 1) => x"},
      {"mul-zero", "mul(x, 0) => 0", "", "but nan and inf times 0 are nan", true},
      {"div-one", "true_divide(x, 1) => x"},
      {"zero-div", "true_divide(0, x) => 0", "", "but 0 / 0 is nan", true},
      {"sub-self", "sub(x, x) => 0", "", "but inf - inf is nan", true},
      {"div-self", "true_divide(x, x) => 1", "", "but 0 / 0 is nan", true},
      {"neg-neg", "neg(neg(x)) => x"},
      {"add-neg", "add(x, neg(y)) => sub(x, y)"},
      {"sub-neg", "sub(x, neg(y)) => add(x, y)"},
      {"mul-neg", "mul(x, neg(y)) => neg(mul(x, y))"},
      {"div-neg", "true_divide(neg(x), y) => neg(true_divide(x, y))"},
      {"mul-constants", "mul(mul(x, a:const), b:const) => mul(x, {mul(a, b)})", "float(x)",
       "rounds once instead of twice"},
      {"add-constants", "add(add(x, a:const), b:const) => add(x, {add(a, b)})"},
      {"neg-mul-constant", "neg(mul(x, a:const)) => mul(x, {neg(a)})"},
      {"mul-minus-one", "mul(x, -1) => neg(x)"},
      {"pow-one", "pow(x, 1) => x"},
      {"pow-zero", "pow(x, 0) => 1"},
      {"pow-two", "pow(x, 2) => sqr(x)"},
      {"pow-minus-one", "pow(x, -1) => reciprocal(x)", "float(x)"},
      {"pow-half", "pow(x, 0.5) => sqrt(x)", "float(x)", "but (-inf)^0.5 is inf and (-0)^0.5 is 0", true},
      {"mul-self", "mul(x, x) => sqr(x)"},
      {"sqrt-sqr", "sqrt(sqr(x)) => abs(x)", "float(x)", "but x x may overflow", true},
      {"sqr-abs", "sqr(abs(x)) => sqr(x)"},
      {"abs-abs", "abs(abs(x)) => abs(x)"},
      {"abs-neg", "abs(neg(x)) => abs(x)", "signed(x)"},
      {"log-exp", "log(exp(x)) => x", "float(x)", "but exp(x) may overflow", true},
      {"max-same", "maximum(x, x) => x"},
      {"min-same", "minimum(x, x) => x"},
      // A gradient that is 0 where a condition fails stays 0 whatever it is multiplied with: where(x > 0, log(x), 0)
      // has one at 0.
      {"where-mul", "mul(where(c, x, 0), y) => where(c, mul(x, y), 0)", "", "but nan and inf times 0 are nan", true},
      {"where-div", "true_divide(where(c, x, 0), y) => where(c, true_divide(x, y), 0)", "", "but 0 / 0 is nan", true},
      {"where-same", "where(c, x, x) => x"},
      {"where-true", "where(1, x, y) => x"},
      {"where-false", "where(0, x, y) => y"},
      {"not-not", "invert(invert(x)) => x"},
      {"cancel", "mul | true_divide", "", "x y / x is y, but 0 / 0 is nan", true, cancel_factors},
      {"order", "add | mul | maximum | minimum | eq | neq | and | or | xor", "", "constants last, then by age", false,
       order_operands},
      {"drop-broadcast", maps, "", "maps repeat their operands by themselves", false, drop_broadcast},
      {"same-view", "dimshuffle | reshape | alloc | specify_shape", "", "a view that changes nothing", false,
       identity_view},
      {"whole-part", "subtensor", "", "all of it", false, whole_part},
      {"dimshuffles", "dimshuffle", "", "two shuffles are one", false, merge_dimshuffles},
      {"reshapes", "reshape", "", "only the last shape counts", false, merge_reshapes},
      {"reduce-one", "sum | prod | max | min | all | any", "", "an axis of one element is its element", false,
       reduce_nothing},
  };
  return rules;
}

}  // namespace croton::rewrite

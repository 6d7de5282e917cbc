// Matrix products.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/index.hpp"
#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::Ints;
using expr::NodeId;

namespace {

/// Whether `x` is in memory anyway: an input or a constant, or a view of one.
bool is_stored(const Arena& arena, NodeId x) {
  while (arena.op(x).name == "dimshuffle") x = arena.input(x, 0);
  return arena.op(x).kind == expr::Kind::Leaf;
}

NodeId zeros(Rewriter& r, NodeId like) {
  std::vector<NodeId> inputs{r.constant(0, like)};
  for (const NodeId size : r.arena().type(like).shape) inputs.push_back(r.arena().representative(size));
  return r.make(expr::op("alloc"), inputs);
}

/// Whether (m, k) by (k, n) by (n, p) is known to need fewer multiplications from the right than from the left.
bool cheaper_from_right(const Arena& arena, NodeId m, NodeId k, NodeId n, NodeId p) {
  const auto a = arena.known(m), b = arena.known(k), c = arena.known(n), d = arena.known(p);
  // With a column at the end, both products are of a matrix and a column.
  if (!a || !b || !c || !d) return d == 1 && c != 1 && a != 1;
  const auto work = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    double all = 1;
    for (const std::int64_t size : {x, y, z}) all *= static_cast<double>(size);
    return all;
  };
  return work(*b, *c, *d) + work(*a, *b, *d) < work(*a, *b, *c) + work(*a, *c, *d);
}

}  // namespace

/// dot(a, b).T is dot(b.T, a.T), where the transpositions may cancel: dot(a.T, b.T).T = dot(b, a).
NodeId transpose_of_product(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId product = arena.input(root, 0);
  if (arena.op(product).name != "dot" || arena.attrs(root).ints("pattern") != Ints{1, 0} || !r.one_use(product))
    return expr::no_node;
  const auto transposed = [&](NodeId x) { return r.make("dimshuffle", {x}, {{"pattern", Ints{1, 0}}}); };
  return r.make("dot", {transposed(arena.input(product, 1)), transposed(arena.input(product, 0))});
}

/// dot(c a, b) is c dot(a, b), if a is in memory: otherwise the factor c costs nothing in the kernel that computes c a.
NodeId scaled_product(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeId scaled = arena.input(root, i);
    const std::string_view name = arena.op(scaled).name;
    const NodeId factor = name == "mul" ? arena.input(scaled, 1) : expr::no_node;
    if (name != "neg" && (name != "mul" || !arena.scalar_value(factor))) continue;
    const NodeId x = arena.input(scaled, 0);
    if (!is_stored(arena, x) || arena.type(x).dtype != arena.type(root).dtype || !r.one_use(scaled)) continue;
    std::vector<NodeId> sides(arena.inputs(root).begin(), arena.inputs(root).end());
    sides[i] = x;
    const NodeId product = r.make(arena.op(root), sides);
    return name == "neg" ? r.make("neg", {product}) : r.make("mul", {product, factor});
  }
  return expr::no_node;
}

/// A product with zeros is zeros.
NodeId product_with_zeros(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  for (const NodeId side : arena.inputs(root)) {
    if (arena.op(side).name != "alloc") continue;
    const auto value = arena.scalar_value(arena.input(side, 0));
    if (value && value->as_double() == 0) return zeros(r, root);
  }
  return expr::no_node;
}

/// (m, 1) by (1, n) has no sums: it is a map, which fuses.
NodeId outer_product(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId a = arena.input(root, 0), b = arena.input(root, 1);
  return arena.known(arena.type(a).shape[1]) == 1 ? r.make("mul", {a, b}) : expr::no_node;
}

/// dot(dot(a, b), c) in the order that needs fewer multiplications.
NodeId chain_of_products(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId left = arena.input(root, 0), right = arena.input(root, 1);
  const auto shape = [&](NodeId x, std::size_t axis) { return arena.type(x).shape[axis]; };
  if (arena.op(left).name == "dot" && r.one_use(left)) {
    const NodeId a = arena.input(left, 0), b = arena.input(left, 1);
    if (cheaper_from_right(arena, shape(a, 0), shape(a, 1), shape(b, 1), shape(right, 1)))
      return r.make("dot", {a, r.make("dot", {b, right})});
  }
  if (arena.op(right).name == "dot" && r.one_use(right)) {
    const NodeId b = arena.input(right, 0), c = arena.input(right, 1);
    if (cheaper_from_right(arena, shape(c, 1), shape(b, 1), shape(left, 1), shape(left, 0)))  // the mirror image
      return r.make("dot", {r.make("dot", {left, b}), c});
  }
  return expr::no_node;
}

namespace {

/// A product whose factors are all the same matrix, in any order of multiplication.
struct Power {
  NodeId base = expr::no_node;
  std::int64_t exponent = 0;
  std::vector<NodeId> products;  // each product once; the root is last
};

/// `root` as a power; base is no_node if its factors are not one matrix. Products with other readers count as matrices,
/// because they are computed in any case.
Power power_of(const Rewriter& r, const Arena& arena, NodeId root) {
  const auto is_inside = [&](NodeId x) { return arena.op(x).name == "dot" && (x == root || r.one_use(x)); };
  Power power;
  std::unordered_map<NodeId, std::int64_t> exponents;
  std::vector<NodeId> pending{root};
  while (!pending.empty()) {
    const NodeId x = pending.back();
    if (exponents.contains(x)) {
      pending.pop_back();
    } else if (!is_inside(x)) {
      if (power.base != expr::no_node && power.base != x) return {};
      power.base = x;
      exponents[x] = 1;
    } else {
      std::int64_t exponent = 0;
      bool ready = true;
      for (const NodeId side : arena.inputs(x)) {
        const auto known = exponents.find(side);
        ready = ready && known != exponents.end();
        if (known == exponents.end())
          pending.push_back(side);
        else if (__builtin_add_overflow(exponent, known->second, &exponent))
          return {};
      }
      if (!ready) continue;
      exponents[x] = power.exponent = exponent;
      power.products.push_back(x);
    }
  }
  return power;
}

}  // namespace

/// a a a a is (a a) (a a): by squaring, a^n needs at most 2 log2(n) products.
NodeId power_by_squaring(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const Power power = power_of(r, arena, root);
  if (power.base == expr::no_node) return expr::no_node;
  // Only the longest product of a chain is rewritten.
  const NodeId reader = r.only_reader();
  if (reader != expr::no_node && arena.op(reader).name == "dot" &&
      std::ranges::find(arena.inputs(reader), power.base) != arena.inputs(reader).end())
    return expr::no_node;
  const auto n = static_cast<std::uint64_t>(power.exponent);
  const std::size_t needed = base::to_size(std::bit_width(n)) + base::to_size(std::popcount(n)) - 2;
  if (needed >= power.products.size()) return expr::no_node;
  NodeId square = power.base, result = expr::no_node;
  for (std::uint64_t rest = n; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result == expr::no_node ? square : r.make("dot", {result, square});
    if (rest != 1) square = r.make("dot", {square, square});
  }
  return result;
}

}  // namespace croton::rewrite

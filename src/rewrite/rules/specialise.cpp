// Forms that only the generated code gains from.
#include "rewrite/rewriter.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::NodeId;

/// A product of two views that only transpose is a product of the originals, transposed: dot(a.T, b.T).T = dot(b, a).
NodeId transpose_of_product(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId product = arena.input(root, 0);
  if (arena.op(product).name != "dot" || arena.attrs(root).ints("pattern") != expr::Ints{1, 0} || !r.one_use(product))
    return expr::no_node;
  const auto transposed = [&](NodeId x) { return r.make("dimshuffle", {x}, {{"pattern", expr::Ints{1, 0}}}); };
  return r.make("dot", {transposed(arena.input(product, 1)), transposed(arena.input(product, 0))});
}

}  // namespace

std::span<const Rule> specialise_rules() {
  static const Rule rules[] = {
      {"transpose-product", "dimshuffle", "", "the product writes the order that is wanted", false,
       transpose_of_product},
  };
  return rules;
}

}  // namespace croton::rewrite

#include "fuse/fold_updates.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "fuse/product.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using expr::Kind;

/// An update as beta * target + a sum of terms, if it has that form.
class SumOfProducts {
 public:
  struct Term {
    NodeId left, right;
    double alpha;
    std::vector<NodeId> factors;  // scalars that are known only in a call
  };

  SumOfProducts(const expr::Graph& graph, const std::vector<std::uint32_t>& uses, const expr::Update& update)
      : arena_(graph.arena), uses_(uses), target_(graph.inputs[update.input].node) {
    if (!arena_.op(update.value).is(Core::add, Core::sub) || is_complex(arena_.type(target_).dtype)) return;
    pending_.push_back({update.value, 1, {}});
    while (!pending_.empty()) {
      const Scaled next = std::move(pending_.back());
      pending_.pop_back();
      if (!add(next)) return;
    }
    matches_ = targets_ == 1 && !terms_.empty();
    std::ranges::reverse(terms_);  // in the order of the user's expression
  }

  bool matches() const { return matches_; }
  double beta() const { return beta_; }
  const std::vector<Term>& terms() const { return terms_; }

 private:
  struct Scaled {
    NodeId node;
    double alpha;
    std::vector<NodeId> factors;
  };

  bool add(const Scaled& x) {
    if (x.node == target_) {
      beta_ = x.alpha;
      return ++targets_ == 1 && x.factors.empty();
    }
    const expr::TensorType &type = arena_.type(x.node), &wanted = arena_.type(target_);
    if (uses_[x.node] > 1 || type.dtype != wanted.dtype || !arena_.same_shape(type.shape, wanted.shape)) return false;
    const expr::Op& op = arena_.op(x.node);
    const auto input = [&](std::size_t i) { return arena_.input(x.node, i); };
    if (op.is(Core::dot)) {
      terms_.push_back({input(0), input(1), x.alpha, x.factors});
      return true;
    }
    if (op.is(Core::add, Core::sub)) {
      pending_.push_back({input(0), x.alpha, x.factors});
      pending_.push_back({input(1), op.is(Core::sub) ? -x.alpha : x.alpha, x.factors});
      return true;
    }
    if (op.is(Core::neg)) {
      pending_.push_back({input(0), -x.alpha, x.factors});
      return true;
    }
    return op.is(Core::mul) && (add_factor(x, input(0), input(1)) || add_factor(x, input(1), input(0)));
  }
  bool add_factor(const Scaled& x, NodeId factor, NodeId rest) {
    Scaled left{rest, x.alpha, x.factors};
    if (const auto value = arena_.scalar_value(factor))
      left.alpha *= value->as_double();
    else if (arena_.type(factor).rank() == 0 && arena_.type(factor).dtype == arena_.type(x.node).dtype)
      left.factors.push_back(factor);
    else
      return false;
    pending_.push_back(std::move(left));
    return true;
  }

  const Arena& arena_;
  const std::vector<std::uint32_t>& uses_;
  NodeId target_;
  std::vector<Scaled> pending_;
  std::vector<Term> terms_;
  int targets_ = 0;
  double beta_ = 0;
  bool matches_ = false;
};

/// The elementwise node below views that at most transpose it: an additional factor costs nothing there. no_node if
/// there is none.
NodeId map_below(const Arena& arena, NodeId side) {
  while (arena.op(side).is(Core::dimshuffle) && matrix_view(arena, side)) side = arena.input(side, 0);
  return arena.op(side).kind == Kind::Map ? side : expr::no_node;
}

/// Whether the stated sizes imply that the array has more elements than the other.
bool is_larger(const Arena& arena, NodeId array, NodeId other) {
  const auto elements = [&](NodeId node) -> std::optional<double> {
    double count = 1;
    for (const NodeId dim : arena.type(node).shape) {
      const auto size = arena.known(dim);
      if (!size) return std::nullopt;
      count *= static_cast<double>(*size);
    }
    return count;
  };
  const auto own = elements(array), others = elements(other);
  return own && others && *own > *others;
}

/// The side times the factors, which are multiplied below its views.
NodeId scaled(Arena& arena, NodeId side, const std::vector<NodeId>& factors) {
  std::vector<NodeId> views;
  for (; arena.op(side).kind != Kind::Map; side = arena.input(side, 0)) views.push_back(side);
  const expr::Place place = arena.node(side).place;
  for (const NodeId factor : factors) side = arena.make(Core::mul, {side, factor}, {}, place);
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    const expr::Attrs attrs = arena.attrs(*view);
    side = arena.make(arena.op(*view), std::vector{side}, attrs, place);
  }
  return side;
}

/// Multiplies one side of the product by the term's factors. False if neither side can be multiplied at no cost.
bool scale_side(Arena& arena, SumOfProducts::Term& term, NodeId target) {
  for (NodeId* side : {&term.right, &term.left}) {
    const NodeId map = map_below(arena, *side);
    const auto is_at_map = [&](NodeId factor) { return arena.node(factor).place == arena.node(map).place; };
    if (map == expr::no_node || is_larger(arena, map, target) || !std::ranges::all_of(term.factors, is_at_map))
      continue;
    *side = scaled(arena, *side, term.factors);
    return true;
  }
  return false;
}

}  // namespace

void fold_updates(expr::Graph& graph, bool special_values) {
  const std::vector<std::uint32_t> uses = expr::count_uses(graph);
  Arena& arena = graph.arena;
  for (expr::Update& update : graph.updates) {
    const SumOfProducts sum(graph, uses, update);
    if (!sum.matches()) continue;
    const NodeId target = graph.inputs[update.input].node;
    const expr::Place place = arena.node(update.value).place;
    arena.set_origin(arena.origin_id(update.value));
    std::vector<SumOfProducts::Term> terms = sum.terms();
    if (!special_values && (terms.size() > 1 || !terms[0].factors.empty())) continue;
    const bool scaled =
        std::ranges::all_of(terms, [&](auto& term) { return term.factors.empty() || scale_side(arena, term, target); });
    if (!scaled) continue;
    NodeId value = target;
    double beta = sum.beta();
    for (const SumOfProducts::Term& term : terms) {
      value = arena.make(Core::gemm, {value, term.left, term.right}, {{"alpha", term.alpha}, {"beta", beta}}, place);
      beta = 1;
    }
    update.value = value;
  }
}

}  // namespace croton::fuse

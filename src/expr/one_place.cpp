#include "expr/one_place.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/index.hpp"

namespace croton::expr {
namespace {

bool is_zero(const Arena& arena, NodeId node) {
  while (arena.op(node).is(Core::alloc, Core::dimshuffle, Core::cast)) node = arena.input(node, 0);
  const auto value = arena.scalar_value(node);
  return value && !is_complex(arena.type(node).dtype) && value->as_double() == 0;
}

/// The axis along which the node counts 0, 1, 2, ..., if its value is only that.
std::optional<std::size_t> counted_axis(const Arena& arena, NodeId node) {
  std::size_t axis = 0;
  bool found = arena.op(node).is(Core::arange);
  for (; !found; node = arena.input(node, 0)) {
    const Op& op = arena.op(node);
    if (op.is(Core::arange)) break;
    if (op.is(Core::cast)) continue;
    if (!op.is(Core::dimshuffle)) return std::nullopt;
    const Ints& pattern = arena.attrs(node).ints("pattern");
    if (!arena.op(arena.input(node, 0)).is(Core::arange)) return std::nullopt;
    const auto at = std::ranges::find(pattern, 0);
    if (at == pattern.end()) return std::nullopt;
    axis = base::to_size(at - pattern.begin());
  }
  const auto first = arena.scalar_value(arena.input(node, 1)), step = arena.scalar_value(arena.input(node, 2));
  return first && step && first->as_double() == 0 && step->as_double() == 1 ? std::optional(axis) : std::nullopt;
}

class Finder {
 public:
  explicit Finder(const Arena& arena) : arena_(arena) {}

  /// Adds the places of a node. `axes`: for each axis of the node the corresponding axis of the original node, or -1.
  void value(NodeId node, const Ints& axes) {
    if (++visited_ > max_visited) return;
    const Op& op = arena_.op(node);
    if (op.is(Core::where)) {
      const NodeId chosen = arena_.input(node, 1), other = arena_.input(node, 2);
      if (is_zero(arena_, other)) {
        condition(arena_.input(node, 0), aligned(arena_.input(node, 0), axes));
        value(chosen, aligned(chosen, axes));
      } else if (is_zero(arena_, chosen)) {
        value(other, aligned(other, axes));
      } else {
        common_places(chosen, other, axes);
      }
    } else if (op.is(Core::add, Core::sub)) {
      common_places(arena_.input(node, 0), arena_.input(node, 1), axes);
    } else if (op.is(Core::mul)) {
      for (const NodeId factor : arena_.inputs(node)) value(factor, aligned(factor, axes));
    } else if (op.is(Core::neg, Core::cast, Core::true_divide)) {
      value(arena_.input(node, 0), aligned(arena_.input(node, 0), axes));
    } else if (op.is(Core::dimshuffle)) {
      value(arena_.input(node, 0), input_axes(node, axes));
    }
  }

  std::vector<OnePlace> found;

 private:
  void condition(NodeId node, const Ints& axes) {
    if (++visited_ > max_visited) return;
    const Op& op = arena_.op(node);
    if (op.is(Core::and_)) {
      for (const NodeId part : arena_.inputs(node)) condition(part, aligned(part, axes));
    } else if (op.is(Core::dimshuffle)) {
      condition(arena_.input(node, 0), input_axes(node, axes));
    } else if (op.is(Core::eq)) {
      for (std::size_t i = 0; i < 2; ++i) equality(node, arena_.input(node, i), arena_.input(node, 1 - i), axes);
    }
  }

  /// Adds the places that both operands of a choice, a sum or a difference have.
  void common_places(NodeId a, NodeId b, const Ints& axes) {
    std::vector<OnePlace> before = std::exchange(found, {});
    value(a, aligned(a, axes));
    const std::vector<OnePlace> of_a = std::exchange(found, {});
    value(b, aligned(b, axes));
    for (const OnePlace& place : std::exchange(found, std::move(before))) {
      const bool same = std::ranges::any_of(
          of_a, [&](const OnePlace& other) { return other.equal == place.equal && other.axis == place.axis; });
      if (same) found.push_back(place);
    }
  }

  void equality(NodeId node, NodeId counter, NodeId position, const Ints& axes) {
    const auto counted = counted_axis(arena_, counter);
    if (!counted) return;
    const std::size_t rank = arena_.type(node).rank();
    const std::size_t at = rank - arena_.type(counter).rank() + *counted;
    if (axes[at] < 0) return;
    const std::size_t own = arena_.type(position).rank();
    const bool varies =
        at + own >= rank && arena_.known(arena_.type(position).shape[at + own - rank]) != std::int64_t{1};
    if (!varies) found.push_back({base::to_size(axes[at]), node, position, axes});
  }

  /// The axes of an operand of a map, which are its last axes.
  Ints aligned(NodeId operand, const Ints& axes) const {
    const auto own = std::span(axes).last(arena_.type(operand).rank());
    return {own.begin(), own.end()};
  }
  Ints input_axes(NodeId dimshuffle, const Ints& axes) const {
    const Ints& pattern = arena_.attrs(dimshuffle).ints("pattern");
    Ints result(arena_.type(arena_.input(dimshuffle, 0)).rank(), -1);
    for (std::size_t d = 0; d < pattern.size(); ++d) {
      if (pattern[d] >= 0) base::nth(result, pattern[d]) = axes[d];
    }
    return result;
  }

  // Enough for gradients, and a bound for expressions that read the same node many times.
  static constexpr int max_visited = 64;
  const Arena& arena_;
  int visited_ = 0;
};

}  // namespace

std::vector<OnePlace> one_places(const Arena& arena, NodeId node) {
  Finder finder(arena);
  Ints axes(arena.type(node).rank());
  std::iota(axes.begin(), axes.end(), 0);
  finder.value(node, axes);
  return finder.found;
}

}  // namespace croton::expr

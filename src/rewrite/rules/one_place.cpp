// Sums of arrays that are zero except at one position: the sum is the value at that position. The gradient of a maximum
// over all positions of an image is such an array; without this rule its convolution would add up zeros.
#include <algorithm>
#include <map>
#include <span>

#include "expr/axes.hpp"
#include "expr/one_place.hpp"
#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Ints;
using expr::Kind;
using expr::NodeId;
using expr::OnePlace;

/// A dimshuffle of `x`, merged with the dimshuffles of `x` itself.
NodeId shuffled(Rewriter& r, NodeId x, Ints pattern) {
  const Arena& arena = r.arena();
  while (arena.op(x).name == "dimshuffle") {
    pattern = expr::composed_pattern(pattern, arena.attrs(x).ints("pattern"));
    x = arena.input(x, 0);
  }
  const bool same = pattern == expr::all_axes(arena.type(x).rank());
  return same ? x : r.make("dimshuffle", {x}, {{"pattern", pattern}});
}

/// The value repeated to these sizes.
NodeId repeated(Rewriter& r, NodeId value, const std::vector<NodeId>& sizes) {
  if (r.arena().same_shape(r.arena().type(value).shape, sizes)) return value;
  std::vector<NodeId> inputs{value};
  for (const NodeId size : sizes) inputs.push_back(r.arena().representative(size));
  return r.make(expr::op("alloc"), inputs);
}

/// Computes an expression at given positions. The position along each axis of a node is a value over a block of axes:
/// 0, a counter along one axis of the block, or any node that varies along some of its axes.
class AtPositions {
 public:
  struct Position {
    enum class Kind { zero, counter, node } kind = Kind::zero;
    std::size_t axis = 0;         // of the block
    NodeId node = expr::no_node;  // with all axes of the block

    friend auto operator<=>(const Position&, const Position&) = default;
  };
  using Positions = std::vector<Position>;

  AtPositions(Rewriter& rewriter, std::vector<NodeId> block) : r_(rewriter), block_(std::move(block)) {}

  /// States that the condition is true at the positions.
  void assume(NodeId condition) { true_conditions_.push_back(condition); }

  /// The value of the node at the positions. It has all axes of the block (of size 1 where it does not vary), or none.
  NodeId at(NodeId node, const Positions& positions) {
    const auto key = std::pair(node, positions);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    // Deeper nodes are stored and read: the depth of users' expressions is not limited.
    constexpr int max_depth = 64;
    ++depth_;
    const NodeId result =
        depth_ > max_depth && !positions.empty() ? read(node, positions) : at_used_axes(node, positions);
    --depth_;
    values_.emplace(key, result);
    return result;
  }

  NodeId counter(std::size_t axis) {
    Ints pattern(block_.size(), -1);
    pattern[axis] = 0;
    const NodeId count =
        r_.make("arange", {r_.arena().representative(block_[axis]), r_.arena().integer(0), r_.arena().integer(1)});
    return shuffled(r_, count, pattern);
  }

 private:
  Arena& arena() { return r_.arena(); }

  static bool is_view(const Positions& positions) {
    return std::ranges::none_of(positions, [](const Position& p) { return p.kind == Position::Kind::node; });
  }

  /// Computes the value over the axes of the block along which the positions vary, so that several blocks share one
  /// node.
  NodeId at_used_axes(NodeId node, const Positions& positions) {
    std::vector<bool> used(block_.size(), false);
    for (const Position& p : positions) {
      if (p.kind == Position::Kind::counter) used[p.axis] = true;
      for (std::size_t axis = 0; p.kind == Position::Kind::node && axis < block_.size(); ++axis)
        used[axis] = used[axis] || arena().known(arena().type(p.node).shape[axis]) != 1;
    }
    std::vector<NodeId> fewer;
    Ints kept;
    for (const std::int64_t axis : expr::all_axes(block_.size())) {
      if (!base::nth(used, axis)) continue;
      kept.push_back(axis);
      fewer.push_back(base::nth(block_, axis));
    }
    const Ints back = expr::inverse_pattern(kept, block_.size());
    if (fewer.size() == block_.size() || positions.empty()) return make(node, positions);
    Positions own = positions;
    for (Position& p : own) {
      if (p.kind == Position::Kind::counter) p.axis = base::to_size(back[p.axis]);
      if (p.kind == Position::Kind::node) p.node = shuffled(r_, p.node, kept);
    }
    AtPositions small(r_, fewer);
    small.true_conditions_ = true_conditions_;
    small.depth_ = depth_;
    const NodeId value = small.at(node, own);
    return arena().type(value).rank() == 0 ? value : shuffled(r_, value, back);
  }

  /// The positions of an operand of a map: its axes are aligned at the end, and broadcast where their size is 1.
  Positions operand_positions(NodeId operand, const Positions& positions) {
    const auto& shape = arena().type(operand).shape;
    const auto last = std::span(positions).last(shape.size());
    Positions own(last.begin(), last.end());
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (arena().known(shape[d]) == 1) own[d] = {};
    }
    return own;
  }

  NodeId make(NodeId node, const Positions& positions) {
    if (std::ranges::find(true_conditions_, node) != true_conditions_.end())
      return arena().scalar(expr::Scalar::of_int(1, DType::bool_));
    const expr::Op& op = arena().op(node);
    if (positions.empty()) return node;
    if (is_view(positions)) return read(node, positions);
    if (op.kind == Kind::Map) {
      const std::vector<NodeId> inputs(arena().inputs(node).begin(), arena().inputs(node).end());
      std::vector<NodeId> values;
      values.reserve(inputs.size());
      for (const NodeId input : inputs) values.push_back(at(input, operand_positions(input, positions)));
      if (op.name == "and" && is_true(values[0])) return values[1];
      if (op.name == "and" && is_true(values[1])) return values[0];
      if (op.name == "where" && is_true(values[0])) return values[1];
      return r_.make(op, values, expr::Attrs(arena().attrs(node)));
    }
    if (op.name == "dimshuffle") {
      const NodeId x = arena().input(node, 0);
      const Ints pattern = arena().attrs(node).ints("pattern");
      Positions below(arena().type(x).rank());
      for (std::size_t d = 0; d < pattern.size(); ++d) {
        if (pattern[d] >= 0) base::nth(below, pattern[d]) = positions[d];
      }
      return at(x, below);
    }
    if (op.name == "alloc") {
      const NodeId x = arena().input(node, 0);
      return at(x, operand_positions(x, positions));
    }
    if (op.name == "sum") {
      if (const NodeId sum = summed(node, positions); sum != expr::no_node) return sum;
    }
    return read(node, positions);
  }

  bool is_true(NodeId node) {
    const auto value = arena().scalar_value(node);
    return value && value->i != 0;
  }

  /// A sum, over new axes after those of the block.
  NodeId summed(NodeId node, const Positions& positions) {
    const NodeId x = arena().input(node, 0);
    const Ints axes = arena().attrs(node).ints("axes");
    const std::vector<NodeId> shape = arena().type(x).shape;
    std::vector<NodeId> larger = block_;
    Ints longer = expr::all_axes(block_.size());
    for (const std::int64_t axis : axes) {
      larger.push_back(base::nth(shape, axis));
      longer.push_back(-1);
    }
    Positions inside;
    std::size_t next = 0, extra = block_.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (expr::contains(axes, d)) {
        inside.push_back({Position::Kind::counter, extra++});
        continue;
      }
      Position position = positions[next++];
      if (position.kind == Position::Kind::node) position.node = shuffled(r_, position.node, longer);
      inside.push_back(position);
    }
    AtPositions all(r_, larger);
    all.true_conditions_ = true_conditions_;
    all.depth_ = depth_;
    const NodeId value = all.at(x, inside);
    const Ints over = expr::axes_from(std::ssize(block_), std::ssize(axes));
    for (const std::int64_t d : over) {
      if (arena().type(value).rank() != larger.size() ||
          !arena().same_dim(base::nth(arena().type(value).shape, d), base::nth(larger, d)))
        return expr::no_node;  // a value that does not vary would have to be multiplied by the size
    }
    return r_.make("sum", {value}, {{"axes", over}});
  }

  /// Reads the elements of a stored node: by a dimshuffle or a gather.
  NodeId read(NodeId node, const Positions& positions) {
    if (is_view(positions)) {
      Ints pattern(block_.size(), -1);
      for (std::int64_t d = 0; const Position& p : positions) {
        if (p.kind == Position::Kind::counter) pattern[p.axis] = d;
        ++d;
      }
      return shuffled(r_, node, pattern);
    }
    std::vector<NodeId> inputs{node};
    const Ints axes = expr::all_axes(positions.size());
    for (const Position& p : positions) {
      inputs.push_back(p.kind == Position::Kind::zero      ? arena().integer(0)
                       : p.kind == Position::Kind::counter ? counter(p.axis)
                                                           : p.node);
    }
    constexpr std::int64_t clip = 2;  // IndexMode::clip: no checks, because the sum's condition checks the bounds
    const NodeId read = r_.make(expr::op("gather"), inputs, {{"axes", axes}, {"at", std::int64_t{0}}, {"mode", clip}});
    // The indices may have fewer axes than the block.
    const std::size_t rank = arena().type(read).rank();
    if (rank == block_.size()) return read;
    Ints pattern = expr::all_axes(rank);
    pattern.insert(pattern.begin(), block_.size() - rank, -1);
    return shuffled(r_, read, pattern);
  }

  Rewriter& r_;
  std::vector<NodeId> block_;  // sizes of the block's axes
  std::vector<NodeId> true_conditions_;
  int depth_ = 0;
  std::map<std::pair<NodeId, Positions>, NodeId> values_;
};

/// Whether the node depends on windows: sums of other nodes fuse well with the ops around them.
bool has_windows(const Arena& arena, NodeId node, int depth = 12) {
  if (arena.op(node).kind == Kind::Window) return true;
  const Kind kind = arena.op(node).kind;
  if (depth == 0 || (kind != Kind::Map && kind != Kind::View && kind != Kind::Reduce)) return false;
  return std::ranges::any_of(arena.inputs(node), [&](NodeId x) { return has_windows(arena, x, depth - 1); });
}

}  // namespace

NodeId sum_of_one_place(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  const Ints axes = arena.attrs(root).ints("axes");
  const std::vector<NodeId> shape = arena.type(x).shape;
  const auto is_summed = [&](std::size_t axis) { return expr::contains(axes, axis); };
  std::vector<const OnePlace*> hot(shape.size(), nullptr);
  const std::vector<OnePlace> found = expr::one_places(arena, x);
  for (const OnePlace& place : found) {
    if (is_summed(place.axis) && arena.known(shape[place.axis]) != 1) hot[place.axis] = &place;
  }
  if (std::ranges::all_of(hot, [](const OnePlace* p) { return p == nullptr; }) || !has_windows(arena, x))
    return expr::no_node;

  // The block has all other axes, except those of size 1.
  std::vector<NodeId> block;
  AtPositions::Positions positions(shape.size());
  Ints over, back;  // the summed axes of the block, and its axes in the result
  std::int64_t kept = 0;
  using Position = AtPositions::Position;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (hot[axis] != nullptr || arena.known(shape[axis]) == 1) {
      if (!is_summed(axis)) back.push_back(-1);
      continue;
    }
    is_summed(axis) ? over.push_back(std::ssize(block)) : back.push_back(kept++);
    positions[axis] = {Position::Kind::counter, block.size()};
    block.push_back(shape[axis]);
  }
  AtPositions all(r, block);
  NodeId inside = expr::no_node;
  const auto require = [&](NodeId condition) {
    inside = inside == expr::no_node ? condition : r.make("and", {inside, condition});
  };
  for (const OnePlace* place : hot) {
    if (place == nullptr) continue;
    // The position over the block's axes; it must not vary along another of the one-place axes.
    const NodeId position = place->position;
    const auto& own = arena.type(position).shape;
    AtPositions::Positions of_position(own.size());
    for (std::size_t d = 0; d < own.size(); ++d) {
      const std::int64_t axis = place->axes[place->axes.size() - own.size() + d];
      if (arena.known(own[d]) == 1) continue;
      if (axis < 0 || base::nth(hot, axis) != nullptr) return expr::no_node;
      of_position[d] = base::nth(positions, axis);
    }
    const NodeId whole = arena.cast(position, DType::int64);
    const NodeId fits = r.make("and", {r.make("ge", {whole, arena.integer(0)}),
                                       r.make("lt", {whole, arena.representative(shape[place->axis])})});
    const auto in_block = [&](NodeId node) {
      const NodeId value = all.at(node, of_position);
      if (arena.type(value).rank() == block.size()) return value;
      return shuffled(r, value, Ints(block.size(), -1));
    };
    positions[place->axis] = {Position::Kind::node, 0, in_block(whole)};
    require(in_block(fits));
  }
  for (const OnePlace* place : hot) {
    if (place != nullptr) all.assume(place->equal);
  }
  const NodeId value = all.at(x, positions);
  const NodeId chosen = r.make("where", {inside, value, r.constant(0, value)});
  const NodeId whole = repeated(r, chosen, block);
  return shuffled(r, over.empty() ? whole : r.make("sum", {whole}, {{"axes", over}}), back);
}

NodeId max_at_argmax(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  const Ints axes = arena.attrs(root).ints("axes");
  if (!has_windows(arena, x)) return expr::no_node;
  const std::string_view place_op = arena.op(root).name == "max" ? "argmax" : "argmin";
  const NodeId place = arena.make(place_op, {x}, {{"axes", axes}}, arena.node(root).place);
  if (!r.is_read(place)) return expr::no_node;  // no node needs it
  const std::vector<NodeId> shape = arena.type(x).shape;
  std::vector<NodeId> block;
  AtPositions::Positions positions(shape.size());
  using Position = AtPositions::Position;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (expr::contains(axes, axis)) continue;
    positions[axis] = {Position::Kind::counter, block.size()};
    block.push_back(shape[axis]);
  }
  // The position is the index in C order.
  NodeId rest = place;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::size_t axis = base::to_size(axes[i]);
    const NodeId size = arena.representative(shape[axis]);
    positions[axis] = {Position::Kind::node, 0, i == 0 ? rest : r.make("mod", {rest, size})};
    if (i > 0) rest = r.make("floor_divide", {rest, size});
  }
  return repeated(r, AtPositions(r, block).at(x, positions), block);
}

}  // namespace croton::rewrite

// Simplification of joins and of writes to parts of arrays, and of reads from both.
#include <algorithm>

#include "rewrite/rules/functions.hpp"
#include "rewrite/rules/part.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::Ints;
using expr::NodeId;

namespace {

bool is_op(const Arena& arena, NodeId node, std::string_view name) { return arena.op(node).name == name; }

/// Whether two bounds are known to be equal; constants may differ in dtype.
bool same_bound(const Arena& arena, NodeId a, NodeId b) {
  return arena.same_dim(a, b) || (arena.known(a) && arena.known(a) == arena.known(b));
}

/// Whether the node is 0, or an array of zeros.
bool is_zeros(const Arena& arena, NodeId node) {
  const auto value = arena.scalar_value(is_op(arena, node, "alloc") ? arena.input(node, 0) : node);
  return value && value->as_complex() == 0.0;
}

bool writes(const Arena& arena, NodeId node) {
  return is_op(arena, node, "set_subtensor") || is_op(arena, node, "inc_subtensor");
}

/// A set_subtensor or inc_subtensor with another op, array and value.
NodeId make_write(Rewriter& r, NodeId node, std::string_view op, NodeId x, NodeId y) {
  const Arena& arena = r.arena();
  std::vector<NodeId> inputs(arena.inputs(node).begin(), arena.inputs(node).end());
  inputs[0] = x;
  inputs[1] = y;
  return r.make(expr::op(op), inputs, expr::Attrs(arena.attrs(node)));
}

/// x[a:b] and x[b:c] as x[a:c], along the axis `joined` of the parts. Only if a <= b <= c is known: otherwise the
/// slices may overlap, or count from the end.
std::optional<std::vector<Axis>> merge_slices(const Arena& arena, NodeId left, NodeId right, std::size_t joined) {
  if (!is_op(arena, left, "subtensor") || !is_op(arena, right, "subtensor")) return std::nullopt;
  if (arena.input(left, 0) != arena.input(right, 0)) return std::nullopt;
  std::vector<Axis> axes = axes_of(arena, left);
  const std::vector<Axis> others = axes_of(arena, right);
  std::size_t at = 0;  // axis of x
  for (std::size_t sliced = 0; at < axes.size(); ++at) {
    if (!axes[at].index && sliced++ == joined) break;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (i != at && axes[i] != others[i]) return std::nullopt;
  }
  if (at == axes.size()) return std::nullopt;
  Axis& a = axes[at];
  const Axis& b = others[at];
  if (a.index || b.index || a.step != 1 || b.step != 1 || !a.stop || !b.start) return std::nullopt;
  const auto between = arena.known(*a.stop);
  if (!same_bound(arena, *a.stop, *b.start)) return std::nullopt;
  if (a.start || b.stop) {
    const auto low = a.start ? arena.known(*a.start) : 0, high = b.stop ? arena.known(*b.stop) : between;
    if (!low || !high || !between || *low < 0 || *low > *between || *between > *high) return std::nullopt;
  }
  a.stop = b.stop;
  return axes;
}

/// A slice or index of a join as one of its part from `start` to `end`, if that part contains it; `last` for the last
/// part.
std::optional<Axis> axis_in_part(Arena& arena, Axis axis, NodeId start, NodeId end, bool last) {
  const auto first = arena.known(start), last_plus_one = arena.known(end);
  const auto from = axis.start ? arena.known(*axis.start) : 0;
  if (axis.index) {
    if (!from || !first || !last_plus_one || *from < *first || *from >= *last_plus_one) return std::nullopt;
    axis.start = arena.integer(*from - *first);
    return axis;
  }
  if (axis.step < 1) return std::nullopt;
  const NodeId begin = axis.start ? *axis.start : arena.integer(0);
  const bool at_start = same_bound(arena, begin, start), at_end = axis.stop ? same_bound(arena, *axis.stop, end) : last;
  if (!at_start && (!from || !first || *from < *first)) return std::nullopt;
  if (!at_end) {
    const auto to = axis.stop ? arena.known(*axis.stop) : std::nullopt;
    if (!to || !first || !last_plus_one || *to < *first || *to > *last_plus_one) return std::nullopt;
    axis.stop = arena.integer(*to - *first);
  } else {
    axis.stop.reset();
  }
  axis.start.reset();
  if (!at_start && *from != *first) axis.start = arena.integer(*from - *first);
  return axis;
}

}  // namespace

/// Drops parts without elements, and merges adjacent slices of one array.
NodeId simplify_join(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const std::size_t axis = arena.attrs(root).index("axis");
  const std::vector<NodeId> parts(arena.inputs(root).begin(), arena.inputs(root).end());
  std::vector<NodeId> left;
  for (const NodeId part : parts) {
    if (arena.known(arena.type(part).shape[axis]) == 0) continue;
    const auto both = left.empty() ? std::nullopt : merge_slices(arena, left.back(), part, axis);
    if (both)
      left.back() = make_subtensor(r, arena.input(part, 0), *both);
    else
      left.push_back(part);
  }
  if (left.empty()) left.push_back(parts[0]);
  if (left.size() == 1) return left[0];
  return left.size() == parts.size() ? expr::no_node : r.make(arena.op(root), left, expr::Attrs(arena.attrs(root)));
}

/// concatenate(a, b)[i] is a[i] if a is known to have more than i elements.
NodeId subtensor_of_join(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId join = arena.input(root, 0);
  if (!is_op(arena, join, "concatenate")) return expr::no_node;
  const std::size_t along = arena.attrs(join).index("axis");
  std::vector<Axis> axes = axes_of(arena, root);
  if (axes[along].is_whole()) return expr::no_node;
  const std::vector<NodeId> parts(arena.inputs(join).begin(), arena.inputs(join).end());
  NodeId start = arena.integer(0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const NodeId end = arena.size_arithmetic("add", start, arena.type(parts[i]).shape[along]);
    if (const auto axis = axis_in_part(arena, axes[along], start, end, i + 1 == parts.size())) {
      axes[along] = *axis;
      return make_subtensor(r, parts[i], axes);
    }
    start = end;
  }
  return expr::no_node;
}

/// A write to all of x is the written value, or the sum.
NodeId write_to_all(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  if (!cover_all(arena, axes_of(arena, root), arena.type(root).shape)) return expr::no_node;
  if (is_op(arena, root, "subtensor_grad")) return arena.input(root, 0);
  const NodeId x = arena.input(root, 0), y = arena.input(root, 1);
  return is_op(arena, root, "set_subtensor") ? y : r.make("add", {x, y});
}

/// x[i] = x[i] and x[i] += 0 change nothing; x[i] = x[i] + y is x[i] += y.
NodeId write_same_value(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0), y = arena.input(root, 1);
  if (is_op(arena, root, "inc_subtensor")) return is_zeros(arena, y) ? x : expr::no_node;
  const auto is_old_part = [&](NodeId part) {
    return is_op(arena, part, "subtensor") && arena.input(part, 0) == x && axes_of(arena, part) == axes_of(arena, root);
  };
  if (is_old_part(y)) return x;
  if (!is_op(arena, y, "add")) return expr::no_node;
  for (std::size_t i = 0; i < 2; ++i) {
    NodeId added = arena.input(y, 1 - i);
    if (!is_old_part(arena.input(y, i)) || arena.type(added).dtype != arena.type(x).dtype) continue;
    if (!arena.same_shape(arena.type(added).shape, arena.type(y).shape)) {
      std::vector<NodeId> repeated{added};
      for (const NodeId size : arena.type(y).shape) repeated.push_back(arena.representative(size));
      added = r.make(expr::op("alloc"), repeated);
    }
    return make_write(r, root, "inc_subtensor", x, added);
  }
  return expr::no_node;
}

/// Merges two writes to the same part: the second one replaces the first, or is added to its value.
NodeId write_again(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId before = arena.input(root, 0), y = arena.input(root, 1);
  if (!writes(arena, before) || axes_of(arena, before) != axes_of(arena, root)) return expr::no_node;
  const NodeId x = arena.input(before, 0);
  if (is_op(arena, root, "set_subtensor")) return make_write(r, root, "set_subtensor", x, y);
  if (!is_op(arena, before, "set_subtensor") || !r.one_use(before)) return expr::no_node;
  return make_write(r, root, "set_subtensor", x, r.make("add", {arena.input(before, 1), y}));
}

/// A write into zeros is a subtensor_grad, which does not read the zeros.
NodeId write_among_zeros(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  if (!is_zeros(arena, x) || arena.type(x).rank() == 0) return expr::no_node;
  std::vector<NodeId> inputs{arena.input(root, 1)};
  for (const NodeId size : arena.type(root).shape) inputs.push_back(arena.representative(size));
  const auto bounds = arena.inputs(root).subspan(2);
  inputs.insert(inputs.end(), bounds.begin(), bounds.end());
  expr::Attrs attrs = arena.attrs(root);
  attrs.set("rank", arena.type(root).rank());
  return r.make(expr::op("subtensor_grad"), inputs, attrs);
}

/// A read of the written part is the written value.
NodeId read_written_part(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId written = arena.input(root, 0);
  const bool is_gradient = is_op(arena, written, "subtensor_grad");
  if (!is_gradient && !writes(arena, written)) return expr::no_node;
  const std::vector<Axis> axes = axes_of(arena, root);
  if (axes != axes_of(arena, written)) return expr::no_node;
  if (is_gradient) return arena.input(written, 0);
  const NodeId x = arena.input(written, 0), y = arena.input(written, 1);
  if (is_op(arena, written, "set_subtensor")) return y;
  return r.one_use(written) ? r.make("add", {make_subtensor(r, x, axes), y}) : expr::no_node;
}

}  // namespace croton::rewrite

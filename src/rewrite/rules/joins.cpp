// Joins, and arrays with a part written: what is read of them, and what of them is nothing new.
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

/// 0, or that repeated.
bool is_zeros(const Arena& arena, NodeId node) {
  const auto value = arena.scalar_value(is_op(arena, node, "alloc") ? arena.input(node, 0) : node);
  return value && value->as_complex() == 0.0;
}

bool writes(const Arena& arena, NodeId node) {
  return is_op(arena, node, "set_subtensor") || is_op(arena, node, "inc_subtensor");
}

/// The node of a set_subtensor or inc_subtensor, with another op, array and value.
NodeId written_anew(Rewriter& r, NodeId node, std::string_view op, NodeId x, NodeId y) {
  const Arena& arena = r.arena();
  std::vector<NodeId> inputs(arena.inputs(node).begin(), arena.inputs(node).end());
  inputs[0] = x;
  inputs[1] = y;
  return r.make(expr::op(op), inputs, expr::Attrs(arena.attrs(node)));
}

/// x[a:b] and x[b:c] as x[a:c], along the axis `joined` of the parts. Where b is not known to lie between a and c, the
/// two may repeat some of x, or count from its end.
std::optional<std::vector<Axis>> neighbours(const Arena& arena, NodeId left, NodeId right, std::size_t joined) {
  if (!is_op(arena, left, "subtensor") || !is_op(arena, right, "subtensor")) return std::nullopt;
  if (arena.input(left, 0) != arena.input(right, 0)) return std::nullopt;
  std::vector<Axis> axes = axes_of(arena, left);
  const std::vector<Axis> others = axes_of(arena, right);
  std::size_t at = 0;  // of x
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

/// Where a slice or index of a join of parts lies in the one from `start` to `end`; `last` where nothing comes behind.
std::optional<Axis> inside(Arena& arena, Axis axis, NodeId start, NodeId end, bool last) {
  const auto first = arena.known(start), behind = arena.known(end);
  const auto from = axis.start ? arena.known(*axis.start) : 0;
  if (axis.index) {
    if (!from || !first || !behind || *from < *first || *from >= *behind) return std::nullopt;
    axis.start = arena.integer(*from - *first);
    return axis;
  }
  if (axis.step < 1) return std::nullopt;
  const NodeId begin = axis.start ? *axis.start : arena.integer(0);
  const bool at_start = same_bound(arena, begin, start), at_end = axis.stop ? same_bound(arena, *axis.stop, end) : last;
  if (!at_start && (!from || !first || *from < *first)) return std::nullopt;
  if (!at_end) {
    const auto to = axis.stop ? arena.known(*axis.stop) : std::nullopt;
    if (!to || !first || !behind || *to < *first || *to > *behind) return std::nullopt;
    axis.stop = arena.integer(*to - *first);
  } else {
    axis.stop.reset();
  }
  axis.start.reset();
  if (!at_start && *from != *first) axis.start = arena.integer(*from - *first);
  return axis;
}

}  // namespace

/// Parts without elements are left out, and neighbours in one array are one part.
NodeId shorter_join(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const std::size_t axis = arena.attrs(root).index("axis");
  const std::vector<NodeId> parts(arena.inputs(root).begin(), arena.inputs(root).end());
  std::vector<NodeId> left;
  for (const NodeId part : parts) {
    if (arena.known(arena.type(part).shape[axis]) == 0) continue;
    const auto both = left.empty() ? std::nullopt : neighbours(arena, left.back(), part, axis);
    if (both)
      left.back() = make_subtensor(r, arena.input(part, 0), *both);
    else
      left.push_back(part);
  }
  if (left.empty()) left.push_back(parts[0]);
  if (left.size() == 1) return left[0];
  return left.size() == parts.size() ? expr::no_node : r.make(arena.op(root), left, expr::Attrs(arena.attrs(root)));
}

/// concatenate(a, b)[i] is a[i] where a is known to have that many.
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
    if (const auto axis = inside(arena, axes[along], start, end, i + 1 == parts.size())) {
      axes[along] = *axis;
      return make_subtensor(r, parts[i], axes);
    }
    start = end;
  }
  return expr::no_node;
}

/// All of x written is what is written, or the sum.
NodeId write_to_all(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  if (!take_all(arena, axes_of(arena, root), arena.type(root).shape)) return expr::no_node;
  if (is_op(arena, root, "subtensor_grad")) return arena.input(root, 0);
  const NodeId x = arena.input(root, 0), y = arena.input(root, 1);
  return is_op(arena, root, "set_subtensor") ? y : r.make("add", {x, y});
}

/// x[i] = x[i] and x[i] += 0 change nothing; x[i] = x[i] + y is x[i] += y.
NodeId write_what_is_there(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0), y = arena.input(root, 1);
  if (is_op(arena, root, "inc_subtensor")) return is_zeros(arena, y) ? x : expr::no_node;
  const auto is_there = [&](NodeId part) {
    return is_op(arena, part, "subtensor") && arena.input(part, 0) == x && axes_of(arena, part) == axes_of(arena, root);
  };
  if (is_there(y)) return x;
  if (!is_op(arena, y, "add")) return expr::no_node;
  for (std::size_t i = 0; i < 2; ++i) {
    NodeId added = arena.input(y, 1 - i);
    if (!is_there(arena.input(y, i)) || arena.type(added).dtype != arena.type(x).dtype) continue;
    if (!arena.same_shape(arena.type(added).shape, arena.type(y).shape)) {
      std::vector<NodeId> repeated{added};
      for (const NodeId size : arena.type(y).shape) repeated.push_back(arena.representative(size));
      added = r.make(expr::op("alloc"), repeated);
    }
    return written_anew(r, root, "inc_subtensor", x, added);
  }
  return expr::no_node;
}

/// What is written over is not needed; what is added to it is added before.
NodeId write_again(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId before = arena.input(root, 0), y = arena.input(root, 1);
  if (!writes(arena, before) || axes_of(arena, before) != axes_of(arena, root)) return expr::no_node;
  const NodeId x = arena.input(before, 0);
  if (is_op(arena, root, "set_subtensor")) return written_anew(r, root, "set_subtensor", x, y);
  if (!is_op(arena, before, "set_subtensor") || !r.one_use(before)) return expr::no_node;
  return written_anew(r, root, "set_subtensor", x, r.make("add", {arena.input(before, 1), y}));
}

/// Zeros need not be read: the same op as of gradients.
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

/// The part that was written is what was written there.
NodeId read_what_was_written(Rewriter& r, NodeId root) {
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

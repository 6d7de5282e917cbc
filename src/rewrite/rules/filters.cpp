// Scales and shifts of the channels of a convolution, or the columns of a product, as in batch normalization outside of
// training: the scale is applied to the filters, and shifts are merged.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "expr/axes.hpp"
#include "rewrite/rewriter.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Ints;
using expr::NodeId;

// Parameters are combined by a few ops; longer expressions are not searched.
constexpr std::size_t max_parameter_nodes = 32;

/// The role of an axis of a result: positions have no axis in the filters; groups and outputs are its first two axes;
/// both is their merged axis.
enum class AxisRole : std::uint8_t { positions, groups, outputs, both };

/// A convolution or matrix product, and the roles of the axes of its outermost view. The views between them keep
/// channels and positions in different axes.
struct Channels {
  NodeId product;               // convolve or dot
  std::vector<AxisRole> roles;  // for each axis of the outermost view
};

/// The roles after a reshape that keeps the first and last axes. The axes between are all positions, or all channels,
/// or have one element and are dropped.
std::optional<std::vector<AxisRole>> roles_after_reshape(const Arena& arena, const std::vector<AxisRole>& inner,
                                                         NodeId view) {
  const auto& from = arena.type(arena.input(view, 0)).shape;
  const auto& to = arena.type(view).shape;
  const std::size_t most = std::min(from.size(), to.size());
  std::size_t front = 0, back = 0;
  while (front < most && arena.same_dim(from[front], to[front])) ++front;
  while (back < most - front && arena.same_dim(from[from.size() - 1 - back], to[to.size() - 1 - back])) ++back;
  const std::span<const AxisRole> all(inner), kept = all.first(front), last = all.last(back);
  const std::span<const AxisRole> cut = all.subspan(front, all.size() - front - back);
  std::vector<AxisRole> result(kept.begin(), kept.end());
  const std::size_t made = to.size() - front - back;
  const auto is_one = [&](NodeId size) { return arena.known(size) == 1; };
  const auto sizes = std::span(from).subspan(front, cut.size());
  if (made == 0 && std::ranges::all_of(sizes, is_one)) {
    // axes of one element are dropped
  } else if (std::ranges::equal(cut, std::array{AxisRole::groups, AxisRole::outputs}) && made == 1) {
    result.push_back(AxisRole::both);
  } else if (std::ranges::all_of(cut, [](AxisRole role) { return role == AxisRole::positions; })) {
    result.insert(result.end(), made, AxisRole::positions);
  } else {
    return std::nullopt;
  }
  result.insert(result.end(), last.begin(), last.end());
  return result;
}

/// The convolution or product under the views `node`, if it has no other readers.
std::optional<Channels> channels_of(Rewriter& r, NodeId node) {
  const Arena& arena = r.arena();
  std::vector<NodeId> views;
  for (; r.one_use(node); node = arena.input(node, 0)) {
    const std::string_view name = arena.op(node).name;
    if (name == "convolve" || name == "dot") break;
    if (name != "dimshuffle" && name != "reshape") return std::nullopt;
    views.push_back(node);
  }
  if (!r.one_use(node)) return std::nullopt;
  Channels c{node, std::vector<AxisRole>(arena.type(node).rank(), AxisRole::positions)};
  if (arena.op(node).name == "dot") {
    c.roles.back() = AxisRole::outputs;
  } else {
    const std::size_t first = arena.attrs(node).integer("channels_last") != 0 ? c.roles.size() - 2 : 1;
    c.roles[first] = AxisRole::groups;
    c.roles[first + 1] = AxisRole::outputs;
  }
  while (!views.empty()) {
    const NodeId view = views.back();
    views.pop_back();
    if (arena.op(view).name == "reshape") {
      auto roles = roles_after_reshape(arena, c.roles, view);
      if (!roles) return std::nullopt;
      c.roles = std::move(*roles);
      continue;
    }
    std::vector<AxisRole> roles;
    for (const std::int64_t axis : arena.attrs(view).ints("pattern"))
      roles.push_back(axis < 0 ? AxisRole::positions : base::nth(c.roles, axis));
    c.roles = std::move(roles);
  }
  return c;
}

/// Whether the node is computed elementwise from inputs and constants. In training, the scale of normalization depends
/// on sums.
bool is_made_of_parameters(const Arena& arena, NodeId node) {
  std::vector<NodeId> pending{node};
  for (std::size_t visited = 0; !pending.empty(); ++visited) {
    if (visited == max_parameter_nodes) return false;
    const NodeId next = pending.back();
    pending.pop_back();
    const expr::Kind kind = arena.op(next).kind;
    if (kind == expr::Kind::Leaf) continue;
    if (kind != expr::Kind::Map && kind != expr::Kind::View) return false;
    pending.insert(pending.end(), arena.inputs(next).begin(), arena.inputs(next).end());
  }
  return true;
}

/// Whether `x`, the other operand of a result, is the same at all positions, and computed from parameters in the
/// result's dtype.
bool is_parameter(const Arena& arena, NodeId x, const Channels& c) {
  const auto& shape = arena.type(x).shape;
  if (shape.size() > c.roles.size() || arena.type(x).dtype != arena.type(c.product).dtype) return false;
  const std::size_t missing = c.roles.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (c.roles[missing + axis] == AxisRole::positions && arena.known(shape[axis]) != 1) return false;
  }
  return is_made_of_parameters(arena, x);
}

/// A result plus or minus a shift per channel; without a shift, its node is no_node.
struct Shifted {
  Channels channels;
  NodeId result, shift = expr::no_node;
  bool minus = false;  // the shift is subtracted
};

/// `node` as a result and a shift; the result has the same dtype and shape. `allow_unshifted`: the shift may be absent.
std::optional<Shifted> shifted(Rewriter& r, NodeId node, bool allow_unshifted) {
  const Arena& arena = r.arena();
  const DType dtype = arena.type(node).dtype;
  if (!is_float(dtype) || compute_dtype(dtype) != dtype || !r.one_use(node)) return std::nullopt;
  const std::string_view name = arena.op(node).name;
  if (name != "add" && name != "sub") {
    const auto channels = allow_unshifted ? channels_of(r, node) : std::nullopt;
    return channels ? std::optional(Shifted{*channels, node}) : std::nullopt;
  }
  for (std::size_t i = 0; i < (name == "add" ? 2U : 1U); ++i) {
    const NodeId result = arena.input(node, i), shift = arena.input(node, 1 - i);
    const auto channels = channels_of(r, result);
    if (channels && is_parameter(arena, shift, *channels) &&
        arena.same_shape(arena.type(result).shape, arena.type(node).shape))
      return Shifted{*channels, result, shift, name == "sub"};
  }
  return std::nullopt;
}

/// Whether scaling the filters is cheaper than scaling the result: a filter has fewer elements than the result has
/// positions, or their number is unknown.
bool has_small_filters(const Arena& arena, NodeId product) {
  const auto number = [&](std::span<const NodeId> sizes) {
    std::optional<double> result = 1;
    for (const NodeId size : sizes) {
      const auto known = arena.known(size);
      result = result && known ? std::optional(*result * static_cast<double>(*known)) : std::nullopt;
    }
    return result;
  };
  const std::span<const NodeId> shape = arena.type(product).shape, filters = arena.type(arena.input(product, 1)).shape;
  std::vector<NodeId> positions{shape[0]};
  std::optional<double> size;
  if (arena.op(product).name == "dot") {
    size = number(filters.first(1));
  } else {
    const std::size_t first = arena.attrs(product).integer("channels_last") != 0 ? 1 : 3;
    const auto windows = shape.subspan(first, shape.size() - 3);
    positions.insert(positions.end(), windows.begin(), windows.end());
    size = number(filters.subspan(2));
  }
  const auto uses = number(positions);
  // An unknown number of rows may be one: then scaling the matrix costs as much as the product.
  constexpr double max_matrix_elements = 1 << 14;
  if (arena.op(product).name == "dot" && !uses)
    return number(filters).value_or(max_matrix_elements) < max_matrix_elements;
  return size && (!uses || *size < *uses);
}

/// A factor of the result as a factor of the filters.
NodeId factor_of_filters(Rewriter& r, NodeId factor, const Channels& c) {
  Arena& arena = r.arena();
  const NodeId filters = arena.input(c.product, 1);
  Ints pattern(arena.type(filters).rank(), -1);
  const std::size_t missing = c.roles.size() - arena.type(factor).rank();
  for (const std::int64_t own : expr::all_axes(arena.type(factor).rank())) {
    const std::size_t axis = base::to_size(own);
    const AxisRole role = c.roles[missing + axis];
    if (role == AxisRole::positions || arena.known(arena.type(factor).shape[axis]) == 1) continue;
    if (role == AxisRole::both) {
      const auto& shape = arena.type(filters).shape;
      const NodeId channels = r.make("dimshuffle", {factor}, {{"pattern", Ints{own}}});
      factor = r.make("reshape", {channels, arena.representative(shape[0]), arena.representative(shape[1])});
      pattern[0] = 0;
      pattern[1] = 1;
      break;  // no other axis has channels
    }
    pattern[role == AxisRole::groups ? 0 : 1] = own;
  }
  return r.make("dimshuffle", {factor}, {{"pattern", pattern}});
}

/// The views `view` of another product.
NodeId rebuild_views(Rewriter& r, NodeId view, NodeId product, NodeId fresh) {
  if (view == product) return fresh;
  const Arena& arena = r.arena();
  std::vector<NodeId> inputs(arena.inputs(view).begin(), arena.inputs(view).end());
  inputs[0] = rebuild_views(r, inputs[0], product, fresh);
  return r.make(arena.op(view), inputs, expr::Attrs(arena.attrs(view)));
}

/// (conv(x, w) + b) s is conv(x, w s) + b s.
NodeId scale_in_filters(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const expr::Op& op = arena.op(root);
  for (std::size_t i = 0; i < (op.name == "mul" ? 2U : 1U); ++i) {
    const NodeId factor = arena.input(root, 1 - i);
    const auto scaled = shifted(r, arena.input(root, i), true);
    if (!scaled || !is_parameter(arena, factor, scaled->channels)) continue;
    const Channels& c = scaled->channels;
    const auto& sizes = arena.type(factor).shape;
    const bool one_number = std::ranges::all_of(sizes, [&](NodeId size) { return arena.known(size) == 1; });
    const bool same_shape = arena.same_shape(arena.type(scaled->result).shape, arena.type(root).shape);
    if (one_number || !same_shape || !has_small_filters(arena, c.product)) continue;
    std::vector<NodeId> inputs(arena.inputs(c.product).begin(), arena.inputs(c.product).end());
    inputs[1] = r.make(op, std::vector{inputs[1], factor_of_filters(r, factor, c)});
    const NodeId product = r.make(arena.op(c.product), inputs, expr::Attrs(arena.attrs(c.product)));
    const NodeId result = rebuild_views(r, scaled->result, c.product, product);
    if (scaled->shift == expr::no_node) return result;
    return r.make(scaled->minus ? "sub" : "add", {result, r.make(op, std::vector{scaled->shift, factor})});
  }
  return expr::no_node;
}

/// (conv(x, w) + b) + c is conv(x, w) + (b + c).
NodeId shifts_in_one(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const bool adds = arena.op(root).name == "add";
  for (std::size_t i = 0; i < (adds ? 2U : 1U); ++i) {
    const NodeId shift = arena.input(root, 1 - i);
    const auto sum = shifted(r, arena.input(root, i), false);
    if (!sum || !is_parameter(arena, shift, sum->channels)) continue;
    if (!arena.same_shape(arena.type(sum->result).shape, arena.type(root).shape)) continue;
    if (sum->minus && !adds) return r.make("sub", {sum->result, r.make("add", {sum->shift, shift})});
    const NodeId total =
        sum->minus ? r.make("sub", {shift, sum->shift}) : r.make(adds ? "add" : "sub", {sum->shift, shift});
    return r.make("add", {sum->result, total});
  }
  return expr::no_node;
}

}  // namespace

std::span<const Rule> filter_rules() {
  static const Rule rules[] = {
      {"scale-in-filters", "mul | true_divide", "",
       "the scale of a channel is one of its filters, which are fewer; but inf 0 is nan, and other products may "
       "overflow",
       true, scale_in_filters},
      {"shifts-in-one", "add | sub", "", "one sum for each element instead of two; but other sums may overflow", true,
       shifts_in_one},
  };
  return rules;
}

}  // namespace croton::rewrite

#include "fuse/contraction.hpp"

#include <algorithm>

#include "fuse/region.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;
using expr::NodeId;

/// What an element is brought from, and not computed of.
bool is_read_through(const expr::Op& op) {
  return op.kind == Kind::View || op.kind == Kind::Window || op.kind == Kind::Generate || op.name == "cast";
}

bool reads_windows(const Arena& arena, NodeId node) {
  while (is_read_through(arena.op(node)) && !arena.inputs(node).empty()) {
    if (arena.op(node).kind == Kind::Window) return true;
    node = arena.input(node, 0);
  }
  return false;
}

}  // namespace

bool is_contraction(const Arena& arena, NodeId node) {
  if (arena.op(node).name != "sum" || !reduces(arena, node)) return false;
  const NodeId product = arena.input(node, 0);
  const DType dtype = arena.type(product).dtype;
  if (arena.op(product).name != "mul" || (dtype != DType::float32 && dtype != DType::float64)) return false;
  const NodeId left = arena.input(product, 0), right = arena.input(product, 1);
  if (!reads_windows(arena, left) && !reads_windows(arena, right)) return false;
  const auto& shape = arena.type(product).shape;
  const auto moves = [&](NodeId factor, std::size_t axis) {
    const auto& own = arena.type(factor).shape;
    const std::size_t missing = shape.size() - own.size();
    return axis >= missing && arena.known(own[axis - missing]) != 1;
  };
  const expr::Ints& summed = arena.attrs(node).ints("axes");
  bool of_left = false, of_right = false, last_is_shared = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (arena.known(shape[axis]) == 1 || std::ranges::binary_search(summed, static_cast<std::int64_t>(axis))) continue;
    const bool by_left = moves(left, axis), by_right = moves(right, axis);
    of_left = of_left || (by_left && !by_right);
    of_right = of_right || (by_right && !by_left);
    last_is_shared = by_left == by_right;
  }
  return of_left && of_right && !last_is_shared;
}

std::vector<NodeId> contraction_operands(const Arena& arena, NodeId node) {
  std::vector<NodeId> operands;
  for (NodeId factor : arena.inputs(arena.input(node, 0))) {
    while (is_read_through(arena.op(factor)) && !arena.inputs(factor).empty()) factor = arena.input(factor, 0);
    operands.push_back(factor);
  }
  return operands;
}

}  // namespace croton::fuse

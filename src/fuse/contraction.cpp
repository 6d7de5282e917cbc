#include "fuse/contraction.hpp"

#include <algorithm>

#include "expr/axes.hpp"
#include "fuse/node_work.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;
using expr::NodeId;

/// Whether the op only moves or converts elements, so that a kernel reads through it.
bool is_read_through(const expr::Op& op) {
  return op.kind == Kind::View || op.kind == Kind::Window || op.kind == Kind::Generate || op.is(expr::Core::cast);
}

bool reads_windows(const Arena& arena, NodeId node) {
  while (is_read_through(arena.op(node)) && !arena.inputs(node).empty()) {
    if (arena.op(node).kind == Kind::Window) return true;
    node = arena.input(node, 0);
  }
  return false;
}

/// Whether the factor is not repeated along an axis of the product.
bool moves(const Arena& arena, NodeId product, NodeId factor, std::size_t axis) {
  const auto& own = arena.type(factor).shape;
  const std::size_t missing = arena.type(product).rank() - own.size();
  return axis >= missing && arena.known(own[axis - missing]) != 1;
}

NodeId read_through(const Arena& arena, NodeId node) {
  while (is_read_through(arena.op(node)) && !arena.inputs(node).empty()) node = arena.input(node, 0);
  return node;
}

}  // namespace

bool is_contraction(const Arena& arena, NodeId node) {
  if (!arena.op(node).is(expr::Core::sum) || !reduces(arena, node)) return false;
  const NodeId product = arena.input(node, 0);
  const DType dtype = arena.type(product).dtype;
  if (!arena.op(product).is(expr::Core::mul) || (dtype != DType::float32 && dtype != DType::float64)) return false;
  const NodeId left = arena.input(product, 0), right = arena.input(product, 1);
  if (!reads_windows(arena, left) && !reads_windows(arena, right)) return false;
  const auto& shape = arena.type(product).shape;
  const expr::Ints& summed = arena.attrs(node).ints("axes");
  bool of_left = false, of_right = false, last_is_shared = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (arena.known(shape[axis]) == 1 || expr::contains(summed, axis)) continue;
    const bool by_left = moves(arena, product, left, axis), by_right = moves(arena, product, right, axis);
    of_left = of_left || (by_left && !by_right);
    of_right = of_right || (by_right && !by_left);
    last_is_shared = by_left == by_right;
  }
  return of_left && of_right && !last_is_shared;
}

std::vector<NodeId> contraction_operands(const Arena& arena, NodeId node) {
  std::vector<NodeId> operands;
  for (const NodeId factor : arena.inputs(arena.input(node, 0))) operands.push_back(read_through(arena, factor));
  return operands;
}

bool computes_filters(const Arena& arena, NodeId node) {
  if (!arena.op(node).is(expr::Core::sum) || unrolled_count(arena, node) == 0) return false;
  const NodeId product = arena.input(node, 0);
  if (!arena.op(product).is(expr::Core::mul)) return false;
  const expr::Ints& summed = arena.attrs(node).ints("axes");
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeId slid = arena.input(product, i), filters = arena.input(product, 1 - i);
    if (!reads_windows(arena, slid) || arena.op(read_through(arena, filters)).kind != Kind::Map) continue;
    for (std::size_t axis = 0; axis < arena.type(product).rank(); ++axis) {
      if (!expr::contains(summed, axis) && moves(arena, product, slid, axis) && !moves(arena, product, filters, axis))
        return true;
    }
  }
  return false;
}

}  // namespace croton::fuse

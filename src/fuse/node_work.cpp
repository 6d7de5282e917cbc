#include "fuse/node_work.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;

/// Whether all reduced axes have the stated size 1.
bool reduces_unit_axes(const Arena& arena, NodeId reduction) {
  const auto& shape = arena.type(arena.input(reduction, 0)).shape;
  return std::ranges::all_of(arena.attrs(reduction).ints("axes"),
                             [&](std::int64_t axis) { return arena.known(base::nth(shape, axis)) == 1; });
}

/// Whether the node consists of elements of windows, or is a map of such elements.
bool reads_window_elements(const Arena& arena, NodeId node) {
  const auto slides = [&](NodeId x) {
    while (arena.op(x).is(expr::Core::dimshuffle)) x = arena.input(x, 0);
    return arena.op(x).kind == Kind::Window;
  };
  return slides(node) || (arena.op(node).kind == Kind::Map && std::ranges::any_of(arena.inputs(node), slides));
}

}  // namespace

bool is_call(const expr::Op& op) {
  return op.kind == Kind::Contract || op.kind == Kind::Transfer || op.kind == Kind::Host || op.kind == Kind::Loop ||
         op.kind == Kind::Branch || op.routine != nullptr;
}

std::int64_t unrolled_count(const Arena& arena, NodeId node) {
  // The kernel has this many copies of the expression that it reduces.
  constexpr std::int64_t most = 32;
  if (arena.op(node).kind != Kind::Reduce || reduces_unit_axes(arena, node)) return 0;
  const NodeId input = arena.input(node, 0);
  std::int64_t count = 1;
  for (const std::int64_t axis : arena.attrs(node).ints("axes")) {
    const auto size = arena.known(base::nth(arena.type(input).shape, axis));
    if (!size || *size < 1 || *size > most / count) return 0;
    count *= *size;
  }
  return reads_window_elements(arena, input) ? count : 0;
}

bool reduces(const Arena& arena, NodeId node) {
  return arena.op(node).kind == Kind::Reduce && !reduces_unit_axes(arena, node) && unrolled_count(arena, node) == 0;
}

std::span<const NodeId> value_inputs(const Arena& arena, NodeId node) {
  const expr::Op& op = arena.op(node);
  const bool constant = op.reduce != nullptr && op.reduce->yields_index && reduces_unit_axes(arena, node);
  return constant ? std::span<const NodeId>{} : arena.inputs(node);
}

}  // namespace croton::fuse
